"""The level of a function: a constant of broad variance, estimated with the rest, whose error is part of intervals."""

import warnings

import numpy as np
import pytest

from tests.exact_regression import (
    HEXAGONAL,
    exact_log_evidence,
    exact_posterior,
)
from tests.expressions import circles, lattice
from torusgp import BayesianFeatureRegressor, IndexSetFourierFeatures, TorusGPRegressor
from torusgp.fitting.prior import BROAD
from torusgp.fitting.rows import INEXACT
from torusgp.kernels.index_sets import from_frequencies, hyperbolic_cross, tensor
from torusgp.views.analysis import sobol_indices

BACKENDS = ["dense", "finufft"]
pytestmark = pytest.mark.filterwarnings("ignore:The .* components leave out")  # on purpose: small sets are quick
POINTS = np.random.default_rng(9).uniform(-3, 3, (12, 2))


def make_rows(n=90, n_outputs=None, level=40.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    waves = np.stack([np.sin(2 * np.pi * X[:, 0] + i) * np.exp(np.cos(np.pi * X[:, 1])) for i in range(n_outputs or 1)])
    y = level + waves.T + 0.3 * rng.normal(size=waves.T.shape)
    return X, y if n_outputs else y[:, 0]


def fixed(period=(1.0, 2.0), signal_variance=1.7, **changes):
    make = circles if np.ndim(period) == 1 else lattice
    scale = [0.8, 1.1] if np.ndim(period) == 1 else 0.9
    options = {"learn": (), "index_set": "adaptive", "n_components": 501, "noise_variance": 0.05}
    return TorusGPRegressor(make(period, length_scale=scale, variance=signal_variance), **options | changes)


# --- the exact Gaussian process with a constant kernel -----------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("known_noise", [False, True])
@pytest.mark.parametrize("period", [[1.0, 2.0], HEXAGONAL], ids=["vector", "cell"])
def test_it_is_the_gaussian_process_with_a_constant_kernel_around_the_mean(backend, known_noise, period):
    X, y = make_rows()
    scale = np.random.default_rng(1).uniform(0.5, 3, len(y)) if known_noise else np.ones(len(y))
    model = fixed(backend=backend, period=period).fit(X, y, noise_scale=scale if known_noise else None)
    center = np.average(y, weights=scale**-2)
    variance = np.average((y - center) ** 2, weights=scale**-2)
    assert model.intercept_variance_ == pytest.approx(BROAD * variance, rel=1e-12)
    noise = 0.05 * scale**2
    exact = [1.7, noise, BROAD * variance]
    mean, covariance = exact_posterior(model.kernel_, X, y - center, POINTS, *exact)
    found, found_covariance = model.predict(POINTS, return_cov=True, include_noise=False)
    np.testing.assert_allclose(found, mean + center, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found_covariance, covariance, rtol=0, atol=1e-8)
    expected = exact_log_evidence(model.kernel_, X, y - center, *exact)
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_it_the_prior_mean_is_zero_and_nothing_is_subtracted(backend):
    X, y = make_rows(level=3.0)
    model = fixed(backend=backend, intercept=False).fit(X, y)
    mean, covariance = exact_posterior(model.kernel_, X, y, POINTS, 1.7, 0.05)
    found, found_covariance = model.predict(POINTS, return_cov=True, include_noise=False)
    np.testing.assert_allclose(found, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found_covariance, covariance, rtol=0, atol=1e-8)
    expected = exact_log_evidence(model.kernel_, X, y, 1.7, 0.05)
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-8)
    assert model.intercept_variance_ == 0.0


def test_every_output_has_its_own():
    X, y = make_rows(n_outputs=2)
    y *= [1.0, 30.0]
    together = fixed().fit(X, y)
    np.testing.assert_allclose(together.intercept_variance_, BROAD * y.var(axis=0), rtol=1e-12)
    parts = [fixed().fit(X, y[:, output]).log_marginal_likelihood_ for output in range(2)]
    assert together.log_marginal_likelihood_ == pytest.approx(sum(parts), rel=1e-10)


# --- coverage ----------------------------------------------------------------------------------------------------


def coverage_of_a_constant(n_rows, n_seeds, **options):
    """Share of the circle on which the 95 % interval of the function holds a constant, over many data."""
    points, covered = np.linspace(0, 1, 50, endpoint=False)[:, None], []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(size=(n_rows, 1)), 5 + rng.normal(size=n_rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there is nothing to be found
            model = TorusGPRegressor(period=1.0, **options).fit(X, y)
        mean, std = model.predict(points, return_std=True, include_noise=False)
        covered.append(np.abs(mean - 5) < 1.959964 * std)
    return np.mean(covered)


def test_intervals_hold_a_constant_as_often_as_they_claim():
    variances = ("signal_variance", "noise_variance")
    assert 0.93 < coverage_of_a_constant(1000, 200, index_set=tensor(1, 2), learn=variances) < 0.97


@pytest.mark.slow
def test_intervals_of_the_default_hold_a_constant_as_often_as_they_claim():
    assert 0.93 < coverage_of_a_constant(1000, 600) < 0.97


def test_the_error_of_a_constant_is_that_of_a_mean():
    X, y = make_rows()
    std = fixed(index_set=tensor(2, 0)).fit(X, y).predict(POINTS, return_std=True, include_noise=False)[1]
    np.testing.assert_allclose(std, np.sqrt(0.05 / len(y)), rtol=1e-5)


# --- learning ----------------------------------------------------------------------------------------------------


def test_a_learned_spectrum_leaves_it_as_it_is():
    X, y = make_rows()
    names = ("length_scale", "signal_variance", "noise_variance")
    plain = TorusGPRegressor(period=[1.0, 2.0], n_components=41, learn=names).fit(X, y)
    spectrum = TorusGPRegressor(period=[1.0, 2.0], n_components=41, learn=(*names, "spectrum")).fit(X, y)
    assert spectrum.prior_variance_[0] == plain.prior_variance_[0] > BROAD * y.var()
    assert not np.allclose(spectrum.prior_variance_[1:], plain.prior_variance_[1:])
    assert spectrum.log_marginal_likelihood_ > plain.log_marginal_likelihood_


def test_gain_is_over_the_best_intercept_and_noise():
    """Noise alone has no gain, and is told of; the threshold is that of the best constant."""
    X, y = make_rows(30)
    with pytest.warns(UserWarning, match="There is little evidence that y repeats"):
        TorusGPRegressor(period=[1.0, 2.0], n_components=21).fit(X, np.random.default_rng(0).normal(size=30))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="There is little evidence")
        TorusGPRegressor(period=[1.0, 2.0], n_components=21).fit(X, y)


def test_its_breadth_is_no_rounding():
    """Noise that is small against the intercept, not against the kernel, needs no warning and no finer sums."""
    X, y = make_rows(500, level=0.0)
    y += 1e4 * (X[:, 0] > 0)  # makes the variance of the targets, and with it that of the intercept, large
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Rounding in the statistics")
        model = fixed(backend="finufft", noise_variance=1e-3, signal_variance=1.0, index_set=tensor(2, 3)).fit(X, y)
    rounding = model.statistics_.linear()[0].rounding
    assert rounding * len(y) * model.prior_variance_[0] / 1e-3 > INEXACT
    dense = fixed(backend="dense", noise_variance=1e-3, signal_variance=1.0, index_set=tensor(2, 3)).fit(X, y)
    std, expected = (one.predict(POINTS, return_std=True, include_noise=False)[1] for one in (model, dense))
    np.testing.assert_allclose(std, expected, rtol=1e-5)


def test_it_has_no_share_of_the_variance():
    X, y = make_rows(level=0.0)
    near, far = (sobol_indices(fixed(n_components=41).fit(X, y + level)) for level in (0.0, 1e5))
    np.testing.assert_allclose(near.share, far.share, atol=1e-8)
    assert near.variance == pytest.approx(far.variance, rel=1e-6)


# --- the same in other ways --------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("known_noise", [False, True])
def test_parts_and_streams_give_the_same(backend, known_noise):
    X, y = make_rows(120)
    scale = np.random.default_rng(1).uniform(0.5, 3, len(y)) if known_noise else np.ones(len(y))
    options = {"backend": backend, "index_set": hyperbolic_cross(2, 5), "learn": ("noise_variance",)}
    whole = fixed(**options).fit(X, y, noise_scale=scale)
    parts = fixed(**options)
    for rows in np.array_split(np.arange(120), 5):
        parts.partial_fit(X[rows], y[rows], noise_scale=scale[rows])
    chunks = [(X[rows], y[rows], None, scale[rows]) for rows in np.array_split(np.arange(120), 3)]
    streamed = fixed(**options).fit(lambda: iter(chunks))
    expected = whole.predict(POINTS, return_std=True, include_noise=False)
    for other in (parts, streamed):
        assert other.intercept_variance_ == pytest.approx(whole.intercept_variance_, rel=1e-10)
        found = other.predict(POINTS, return_std=True, include_noise=False)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert other.log_marginal_likelihood_ == pytest.approx(whole.log_marginal_likelihood_, rel=1e-7)


def test_other_noise_keeps_it():
    X, y = make_rows()
    model = fixed().fit(X, y).set_noise_variance(0.4)
    expected = fixed(noise_variance=0.4).fit(X, y)
    assert model.intercept_variance_ == expected.intercept_variance_
    np.testing.assert_allclose(
        model.predict(POINTS, return_std=True), expected.predict(POINTS, return_std=True), rtol=1e-10
    )


def test_files_hold_it(tmp_path):
    X, y = make_rows(n_outputs=2)
    model = fixed(n_components=41).fit(X, y)
    model.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.intercept_variance_, model.intercept_variance_)
    np.testing.assert_array_equal(loaded.predict(POINTS, return_std=True), model.predict(POINTS, return_std=True))
    assert loaded.log_marginal_likelihood_ == model.log_marginal_likelihood_


# --- one row -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("way", ["fit", "partial_fit", "stream", "weights"])
def test_one_row_keeps_what_was_given(backend, way):
    expression = circles(1.0, length_scale=0.7, variance=2.0)
    model = TorusGPRegressor(expression, backend=backend, noise_variance=0.3, n_components=41)
    X, y = np.array([[0.2]]), np.array([5.0])
    ways = {
        "fit": lambda: model.fit(X, y),
        "partial_fit": lambda: model.partial_fit(X, y).predict(X),
        "stream": lambda: model.fit(lambda: iter([(X, y)])),
        "weights": lambda: model.fit([[0.2], [0.6]], [5.0, 8.0], sample_weight=[1, 0]),
    }
    with pytest.warns(UserWarning, match="single row tells nothing of variances and length scales"):
        ways[way]()
    assert (model.signal_variance_, model.noise_variance_, model.kernel_.length_scale) == (2.0, 0.3, 0.7)
    assert model.intercept_variance_ == pytest.approx(BROAD * 2.3)  # what is known of the variance of the target
    points = np.array([[0.2], [0.7]])
    mean, covariance = exact_posterior(model.kernel_, X, np.zeros(1), points, 2.0, 0.3, BROAD * 2.3)
    found, std = model.predict(points, return_std=True, include_noise=False)
    np.testing.assert_allclose(found, mean + 5.0, rtol=1e-12)
    np.testing.assert_allclose(std, np.sqrt(np.diag(covariance)), rtol=1e-6)
    assert std[0] == pytest.approx(np.sqrt(0.3), rel=0.01)  # at the row, the level is known up to the noise


def test_one_row_without_learning_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed(n_components=41, index_set=tensor(2, 2), noise_variance=1.0).fit(np.zeros((1, 2)), [5.0])


def test_rows_after_the_first_are_learned_from():
    X, y = make_rows(100)
    model = TorusGPRegressor(period=[1.0, 2.0], n_components=101).partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(X, y) > 0.8
    assert model.noise_variance_ < 0.3


def test_one_row_that_counts_often_is_a_constant():
    X, y = np.array([[0.2]]), np.array([5.0])
    weighted = TorusGPRegressor(period=1.0, n_components=11).fit(X, y, sample_weight=[4.0])
    repeated = TorusGPRegressor(period=1.0, n_components=11).fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    np.testing.assert_allclose(weighted.predict(X, return_std=True), repeated.predict(X, return_std=True))
    assert weighted.predict(X, return_std=True)[1] < 1e-3


# --- any features ------------------------------------------------------------------------------------------------


class TestFeatures:
    def test_one_row_keeps_what_was_given(self):
        model = BayesianFeatureRegressor(IndexSetFourierFeatures(period=1.0, n_components=21), signal_variance=2.0)
        with pytest.warns(UserWarning, match="One row cannot show"):
            model.fit([[0.2]], [5.0])
        assert (model.signal_variance_, model.noise_variance_) == (2.0, 0.1)
        mean, std = model.predict([[0.2]], return_std=True, include_noise=False)
        assert mean[0] == pytest.approx(5.0)
        assert std[0] == pytest.approx(np.sqrt(0.1), rel=0.01)

    def test_weights_are_those_of_the_features(self):
        X, y = make_rows()
        model = BayesianFeatureRegressor(IndexSetFourierFeatures(period=1.0, n_components=21)).fit(X, y)
        assert model.coef_.shape == (21,)

    def test_intervals_hold_a_constant_as_often_as_they_claim(self):
        constant = from_frequencies(np.zeros((1, 1), dtype=int))
        transformer, covered = IndexSetFourierFeatures(period=1.0, index_set=constant), []
        for seed in range(300):
            rng = np.random.default_rng(seed)
            X, y = rng.uniform(size=(200, 1)), 5 + rng.normal(size=200)
            mean, std = BayesianFeatureRegressor(transformer).fit(X, y).predict(X[:1], True, include_noise=False)
            covered.append(abs(mean[0] - 5) < 1.959964 * std[0])
        assert 0.93 < np.mean(covered) < 0.97
