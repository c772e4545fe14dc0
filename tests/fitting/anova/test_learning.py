"""The prior, the pool and the evidence of ANOVA sums, against a dense Gaussian process."""

from itertools import pairwise

import numpy as np
import pytest

from tests import anova_oracle as oracle
from torusgp.engine.inference import evidence
from torusgp.engine.series import Autocovariance, TimeGrid
from torusgp.fitting.anova.learning import _Objective, learn
from torusgp.fitting.anova.loop import fit
from torusgp.fitting.anova.observations import NormalRows
from torusgp.fitting.anova.prior import INTERCEPT_VARIANCE, AnovaPrior
from torusgp.fitting.anova.rows import BlockedRows, Working
from torusgp.kernels.anova import CentredAxis
from torusgp.kernels.spectra import Brownian, Heat, Levels, TorusMatern
from torusgp.kernels.torus import Axis

N_ROWS = 300
TERMS = ((0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (1, 3))
NOISE = 0.2


def make_rows():
    rng = np.random.default_rng(1)
    hours, rain = rng.uniform(0, 24, N_ROWS), rng.beta(2, 5, N_ROWS)
    return np.column_stack([hours, rain, rng.integers(0, 3, N_ROWS), np.arange(N_ROWS) / 30.0])


def make_axes(rows, family=None):
    family = Heat() if family is None else family
    span = rows[-1, 3]
    made = [
        (Axis("hour", "circle", 0), 24.0, family),
        (Axis("rain", "line", 1, 0.0, 1.0), 1.6, family),
        (Axis("shop", "category", 2, levels=("a", "b", "c")), 5.0, Levels(5, False)),
        (Axis("time", "walk", 3, 0.0, span), 2 * span, Brownian()),
    ]
    return tuple(CentredAxis.of(*one, rows[:, d]) for d, one in enumerate(made))


@pytest.fixture
def rows():
    return make_rows()


@pytest.fixture
def prior(rows):
    return AnovaPrior(make_axes(rows), TERMS)


@pytest.fixture
def vector(prior):
    return prior.start + np.random.default_rng(3).normal(0, 0.5, prior.n_parameters)


@pytest.fixture
def y(rows):
    rng = np.random.default_rng(4)
    return np.sin(2 * np.pi * rows[:, 0] / 24) + rows[:, 1] * (rows[:, 2] == 1) + 0.4 * rng.normal(size=N_ROWS)


def term_kernels(prior, vector, x, y):
    """Covariances of the terms between points, from the kernels of their axes."""
    found = []
    for t, (term, places) in enumerate(zip(prior.terms, prior.places, strict=True)):
        value = np.exp(vector[t])
        for d, place in zip(term, places, strict=True):
            both = prior.axes[d].kernel(np.append(x[:, d], y[:, d]), vector[place] if place >= 0 else 0.0)
            value = value * both[: len(x), len(x) :]
        found.append(value)
    return found


def test_a_large_pool_is_the_dense_process(rows, prior, vector, y):
    """Columns of the largest variances, as many as the kernel needs, beside sums of kernels of the axes."""
    basis = prior.largest(vector, 6001)
    columns, variances = basis.columns(rows), prior.variances(basis, vector)
    dense = sum(term_kernels(prior, vector, rows, rows)) + INTERCEPT_VARIANCE
    assert (columns * variances) @ columns.T == pytest.approx(dense, abs=0.02 * np.exp(vector[: len(TERMS)]).sum())
    dropped = prior.dropped(basis, vector)
    # what is left out is known: the two differ by as much on average over the rows
    assert np.mean(np.diagonal(dense - (columns * variances) @ columns.T)) == pytest.approx(dropped.sum(), rel=0.5)


def test_evidence_and_posterior_are_those_of_the_dense_process_of_the_pool(rows, prior, vector, y):
    basis = prior.largest(vector, 501)
    columns, variances = basis.columns(rows), prior.variances(basis, vector)
    owner = np.append(-1, basis.owner[basis.group])
    terms = [(columns[:, owner == t] * variances[owner == t]) @ columns[:, owner == t].T for t in range(len(TERMS))]
    process = oracle.DenseProcess(terms, INTERCEPT_VARIANCE, NOISE * np.eye(N_ROWS), y)
    sums = BlockedRows.of(rows, rows[:, 3]).sums(basis, Working(y, np.ones(N_ROWS)))
    result = evidence(sums.total, variances, NOISE)
    assert result.log_evidence == pytest.approx(process.log_evidence(), abs=1e-6)
    points = make_rows()[:20] + np.array([0.3, 0.01, 0, 0])
    new = basis.columns(points)
    for chosen in (np.ones(basis.n_columns, bool), owner == 0, owner == 4):  # the whole, and two parts
        own = new * chosen
        across, among = (own * variances) @ columns.T, (own * variances) @ own.T
        mean, covariance = process.posterior(across, among)
        assert own @ result.weights == pytest.approx(mean, abs=1e-6)
        assert own @ result.covariance() @ own.T == pytest.approx(covariance, abs=1e-6)


def test_correlated_rows_are_the_dense_process_where_columns_span_them(rows, prior, vector, y):
    """The moments tell all that the rows do: of as many columns as rows with the dense covariance of the noise."""
    grid = TimeGrid.of(rows[:, 3])
    noise = Autocovariance(0.3 * 0.6 ** np.arange(60))
    basis = prior.largest(vector, 1201)
    blocked = BlockedRows(rows, (np.arange(N_ROWS),), grid)
    result = evidence(
        blocked.sums(basis, Working(y, np.ones(N_ROWS)), noise).total, prior.variances(basis, vector), 1.0
    )
    columns, variances = basis.columns(rows), prior.variances(basis, vector)
    covariance = (columns * variances) @ columns.T + noise.among(grid.cells)
    mean = (columns * variances) @ columns.T @ np.linalg.solve(covariance, y)
    assert columns @ result.weights == pytest.approx(mean, abs=1e-4)


def test_gradient_is_the_difference_quotient(rows, prior, vector, y):
    basis = prior.largest(vector, 201)
    sums = BlockedRows.of(rows).sums(basis, Working(y, np.ones(N_ROWS)))
    objective, start = _Objective(prior, basis, sums.total, True), np.append(vector, np.log(NOISE))
    found, step = objective.at(start).gradient, 1e-5
    for i, unit in enumerate(np.eye(len(start))):
        quotient = (objective.at(start + step * unit).value - objective.at(start - step * unit).value) / (2 * step)
        assert found[i] == pytest.approx(quotient, abs=1e-6 * max(1, abs(quotient)))


def test_average_information_is_positive_and_near_the_curvature(rows, prior, vector, y):
    basis = prior.largest(vector, 201)
    sums = BlockedRows.of(rows).sums(basis, Working(y, np.ones(N_ROWS)))
    learned = learn(prior, basis, sums.total, vector, NOISE)
    point = _Objective(prior, basis, sums.total, True).at(np.append(learned.vector, np.log(learned.noise_variance)))
    assert np.linalg.eigvalsh(point.information)[0] > 0
    assert learned.n_evaluations < 40


def test_learning_does_not_depend_on_where_it_starts(rows, prior, y):
    basis = prior.largest(prior.start, 301)
    sums = BlockedRows.of(rows).sums(basis, Working(y, np.ones(N_ROWS)))
    rng = np.random.default_rng(0)
    starts = [prior.start, prior.start + 1, prior.start + rng.normal(0, 1, prior.n_parameters)]
    found = [learn(prior, basis, sums.total, start, NOISE).log_evidence for start in starts]
    assert np.ptp(found) < 5


def test_a_pool_holds_whole_categories(rows, prior, vector):
    basis = prior.largest(vector, 57)
    assert basis.n_columns <= 57
    for t, term in enumerate(TERMS):
        if 2 in term:
            own = basis.harmonics[basis.owner == t]
            others = np.delete(own[:, : len(term)], term.index(2), axis=1)
            counts = np.unique(others, axis=0, return_counts=True)[1]
            assert set(counts) <= {prior.axes[2].n_harmonics}


def test_a_pool_has_the_largest_variances(rows, prior, vector):
    small, large = prior.largest(vector, 101), prior.largest(vector, 1001)
    kept = {(t, *h) for t, h in zip(small.owner, map(tuple, small.harmonics), strict=True)}
    values = prior.log_variances(large, vector)[0]
    is_kept = np.array([(t, *h) in kept for t, h in zip(large.owner, map(tuple, large.harmonics), strict=True)])
    assert is_kept.sum() == len(small.owner)
    assert values[is_kept].min() >= values[~is_kept].max() - 1e-9


def test_carried_vectors_keep_what_is_known(prior):
    fewer = AnovaPrior(prior.axes, TERMS[:3])
    vector = fewer.start + 1
    carried = prior.carried(fewer, vector)
    assert np.array_equal(carried[:3], vector[:3])
    assert np.array_equal(fewer.carried(prior, carried), vector)
    assert np.array_equal(carried[3 : len(TERMS)], prior.start[3 : len(TERMS)])


@pytest.mark.parametrize("in_time", [False, True], ids=["independent", "in time"])
def test_blocks_left_out_are_predicted_by_refits_without_them(rows, prior, vector, y, in_time):
    basis = prior.largest(vector, 301)
    variances, times = prior.variances(basis, vector), rows[:, 3]
    noise = Autocovariance(0.3 * 0.6 ** np.arange(20)) if in_time else None
    blocked = BlockedRows.of(rows, times)
    working = Working(y, np.ones(N_ROWS))
    sums = blocked.sums(basis, working, noise)
    size = 1.0 if in_time else NOISE
    left_out = blocked.left_out(basis, sums, variances, size, working.root_weight)
    forward = blocked.forward(basis, sums, variances, size)
    for block, held in enumerate(blocked.blocks):
        kept = [rows_of for other, rows_of in enumerate(blocked.blocks) if other != block]
        refit = _refit(rows, blocked, kept, basis, working, noise, variances, size)
        assert left_out.values[held] == pytest.approx(basis.columns(rows[held]) @ refit.weights, abs=1e-9)
        if block >= len(blocked.blocks) // 2:
            refit = _refit(rows, blocked, blocked.blocks[:block], basis, working, noise, variances, size)
            own = np.isin(forward.rows, held)
            assert forward.values[own] == pytest.approx(basis.columns(rows[held]) @ refit.weights, abs=1e-9)


def _refit(rows, blocked, kept, basis, working, noise, variances, size):
    """A fit of some of the blocks from nothing."""
    chosen = np.concatenate(kept)
    edges = np.cumsum([0, *map(len, kept)])
    blocks = tuple(np.arange(start, stop) for start, stop in pairwise(edges))
    own = BlockedRows(rows[chosen], blocks, TimeGrid.of(rows[chosen, 3], 1000))
    sums = own.sums(basis, Working(working.target[chosen], working.root_weight[chosen]), noise)
    return evidence(sums.total, variances, size)


def test_the_unknown_of_a_block_is_the_average_variance_there(rows, prior, vector, y):
    basis = prior.largest(vector, 101)
    variances, blocked = prior.variances(basis, vector), BlockedRows.of(rows, rows[:, 3])
    sums = blocked.sums(basis, Working(y, np.ones(N_ROWS)))
    left_out = blocked.left_out(basis, sums, variances, NOISE, np.ones(N_ROWS))
    covariance = np.zeros((N_ROWS, N_ROWS))
    for block, held in enumerate(blocked.blocks):
        columns = basis.columns(rows[held])
        covariance[np.ix_(held, held)] = (
            columns @ evidence(sums.without(block), variances, NOISE).covariance() @ columns.T
        )
        assert left_out.unknown[held] == pytest.approx(np.diagonal(covariance)[held].mean())
    assert left_out.covariance.images == pytest.approx(covariance @ left_out.covariance.probes, abs=1e-9)
    power = np.abs(np.fft.rfft(np.linalg.cholesky(covariance + 1e-9 * np.eye(N_ROWS)), 2 * N_ROWS, axis=0)) ** 2
    found = left_out.covariance.power(blocked.grid, 2 * N_ROWS)
    assert found.sum() == pytest.approx(power.sum(), rel=0.2)  # of 32 random vectors


@pytest.mark.parametrize(
    "function",
    [
        lambda t, u: np.cos(t) + 0.5 * np.cos(20 * t),
        lambda t, u: np.cos(20 * t) * np.cos(u),
        lambda t, u: np.exp(-(((t - 2) / (2 * np.pi / 100)) ** 2) / 2),
    ],
    ids=["two scales", "a quick wave in a product", "a peak of a hundredth of a period"],
)
def test_what_is_quick_is_found(function):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 2 * np.pi, (3000, 2))
    truth = function(*x.T)
    scale = truth.std()
    y = truth / scale + 0.3 * rng.normal(size=len(x))
    axes = tuple(
        CentredAxis.of(Axis(name, "circle", d), 2 * np.pi, TorusMatern(1.5), x[:, d]) for d, name in enumerate("tu")
    )
    state = fit(BlockedRows.of(x), axes, NormalRows((y - y.mean()) / y.std(), np.ones(len(y))))
    error = state.values * y.std() + y.mean() - truth / scale
    assert np.sqrt(np.mean(error**2)) < 0.15  # 3,000 rows of noise .3 know a few hundred columns as well


def test_an_effect_that_is_not_there_vanishes():
    """Four lines and their pairs, of which one main effect and one pair exist; parts are told by their own axes."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (1000, 4))
    pair = (x[:, 1] - 0.5) * (x[:, 2] - 0.5) * 8
    y = 2 * x[:, 0] + pair + 0.3 * rng.normal(size=len(x))
    axes = tuple(CentredAxis.of(Axis(f"x{d}", "line", d, 0.0, 1.0), 1.6, TorusMatern(1.5), x[:, d]) for d in range(4))
    state = fit(BlockedRows.of(x), axes, NormalRows((y - y.mean()) / y.std(), np.ones(len(y))))
    owner = np.append(-1, state.basis.owner[state.basis.group])
    columns, weights = state.basis.columns(x), state.learned.result.weights
    size = {term: y.var() * np.var(columns @ (weights * (owner == t))) for t, term in enumerate(state.prior.terms)}
    assert size[(0,)] == pytest.approx(1 / 3, rel=0.1)
    assert size[(1, 2)] == pytest.approx(4 / 9, rel=0.1)
    assert max(value for term, value in size.items() if term not in ((0,), (1, 2))) < 0.005
