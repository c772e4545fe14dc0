"""Random open models with given parameters, against the dense process of :mod:`tests.dense_oracle`."""

import numpy as np

from tests.dense_oracle import DenseGP, category, circle, line, product
from tests.fuzz.verdicts import FindingError
from torusgp import Category, Circle, Line, Slope, SufficientStatistics, TorusGPRegressor
from torusgp.fitting.prior import BROAD
from torusgp.kernels.index_sets import hyperbolic_cross

LEVELS = np.array(["a", "b", "c", "d"])
EXACT = 1e-8  # tolerance of lines
ROUNDING = 1e-9  # of predictions, relative to the targets


def rows(rng, n):
    X = np.empty((n, 4), dtype=object)
    X[:, 0], X[:, 1] = rng.uniform(-100, 100, n), rng.uniform(-1, 1, n)
    X[:, 2], X[:, 3] = LEVELS[rng.integers(0, 4, n)], rng.normal(size=n)
    return X


def factor(rng, kind, alone):
    """A factor, and the same from its formula."""
    if kind == 0:
        period, scale = rng.uniform(5, 50), rng.uniform(0.8, 2)
        return Circle(0, period, length_scale=scale), circle(0, period, scale)
    if kind == 1:
        scale = rng.uniform(0.6, 2)
        return Line(1, length_scale=scale, tolerance=EXACT, range=(-1, 1)), line(1, scale)
    if alone:  # then the intercept has what levels share
        return Category(2), category(2, 0.0)
    correlation = rng.uniform(0.1, 0.9)
    return Category(2, correlation=correlation), category(2, correlation)


def term(rng, kinds):
    variance = rng.uniform(0.3, 2)
    ours, theirs = zip(*(factor(rng, kind, len(kinds) == 1) for kind in kinds), strict=True)
    whole = ours[0]
    for one in ours[1:]:
        whole = whole * one
    return variance * whole, product(variance, *theirs)


def case(rng):
    """Compare mean, covariance and evidence."""
    X, points = rows(rng, int(rng.integers(5, 120))), rows(rng, 12)
    X[: len(LEVELS), 2] = LEVELS
    y = rng.normal(size=len(X)) + rng.uniform(-3, 3)
    # a category beside the same product without it would share nothing with it, by design
    choices = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    chosen = [choices[i] for i in rng.choice(len(choices), int(rng.integers(1, 3)), replace=False)]
    if any(2 in one for one in chosen):
        chosen = chosen[:1]
    terms = [term(rng, one) for one in chosen]
    expression = terms[0][0]
    for ours, _ in terms[1:]:
        expression = expression + ours
    slopes = ()
    if rng.random() < 0.3:
        slopes = ((3, float(rng.uniform(0.5, 2))),)
        expression = expression + Slope(3, variance=slopes[0][1])
    noise, intercept = float(rng.uniform(0.05, 1)), bool(rng.random() < 0.7)
    model = TorusGPRegressor(expression, learn=(), noise_variance=noise, intercept=intercept, n_components=2001)
    model.fit(X, y)
    if model.truncation_error_ > 1e-5:  # the columns are too few for this kernel, and say so
        return "truncated"
    oracle = DenseGP([theirs for _, theirs in terms], noise, slopes, BROAD * y.var() if intercept else 0.0).fit(X, y)
    mean, covariance = model.predict(points, return_cov=True, include_noise=False)
    expected_mean, expected_covariance = oracle.predict(points)
    scale = 1 + np.abs(expected_mean).max()
    # errors of the kernel reach predictions through the inverse of the kernel matrix, of norm 1 / noise at most
    size = model.truncation_error_ * (1 + len(X) / noise) + ROUNDING
    compare("mean", mean, expected_mean, size * scale)
    compare("covariance", covariance, expected_covariance, size * np.diag(expected_covariance).max())
    compare("evidence", model.log_marginal_likelihood_, oracle.log_evidence, size * len(X))
    return "agrees"


def compare(what, ours, theirs, tolerance):
    worst = np.max(np.abs(np.asarray(ours) - theirs))
    if not worst <= tolerance:
        raise FindingError(f"{what} differs from the dense process by {worst:.3g}, allowed is {tolerance:.3g}")


def counted(rng):
    """Sums of chunks, in any order, backend and number of threads, are those of all rows: each counted once."""
    n, dimension = int(rng.integers(1, 3000)), int(rng.integers(1, 4))
    X, y = rng.uniform(-5, 5, (n, dimension)), rng.normal(size=(n, 2))
    weight, scale = rng.integers(0, 3, n).astype(float), rng.uniform(0.5, 2, n)
    weight[0] = 1.0
    index_set, period = hyperbolic_cross(dimension, 3), rng.uniform(0.5, 3, dimension)
    whole = SufficientStatistics.from_data(
        X, y, index_set, period=period, sample_weight=weight, noise_scale=scale, backend="dense"
    )
    backend = ("dense", "finufft")[int(rng.integers(2))]
    cuts = np.sort(rng.integers(0, n + 1, int(rng.integers(0, 6))))
    parts = [part for part in np.split(np.arange(n), cuts) if len(part)]
    rng.shuffle(parts)
    total = None
    for part in parts:
        one = SufficientStatistics.from_data(
            X[part],
            y[part],
            index_set,
            period=period,
            sample_weight=weight[part],
            noise_scale=scale[part],
            backend=backend,
            n_threads=(None, 1, -1)[int(rng.integers(3))],
        )
        total = one if total is None else total + one
    ours, theirs = total.linear()[0], whole.linear()[0]
    compare("number of rows", total.n_samples, weight.sum(), 0)
    compare("gram", ours.gram, theirs.gram, 1e-9 * theirs.gram[0, 0])
    compare("moments", ours.moments, theirs.moments, 1e-9 * theirs.gram[0, 0])
    return backend
