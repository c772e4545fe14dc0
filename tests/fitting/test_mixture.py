"""Predictions that integrate over what is uncertain of the learned hyperparameters."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import logsumexp, ndtr

from torusgp import Circle, Line, Slope, TorusGPRegressor, TorusKernel
from torusgp.engine.dual import RowStatistics, few_rows
from torusgp.engine.inference import evidence
from torusgp.fitting.mixture import PRIOR_STD

rng = np.random.default_rng(0)
X = rng.uniform(size=(30, 2))
POINTS = rng.uniform(size=(15, 2))
SIGNAL = np.sin(2 * np.pi * X[:, 0]) + 0.5 * np.cos(2 * np.pi * X[:, 1])
Y = np.stack([SIGNAL + 0.3 * rng.normal(size=30), 5 + 2 * SIGNAL * X[:, 1] + rng.normal(size=30)], axis=1)


@pytest.fixture(scope="module")
def model():
    """Two terms and a plain component, two outputs."""
    kernel = Circle(0, 1.0) + Line(1, length_scale=0.15, range=(0, 1)) + Slope(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TorusGPRegressor(kernel, n_components=61, integrate=True).fit(X, Y)


def mixed(fitted, of_component):
    """Mean over components, and their covariance around it, of a mean and a covariance of each."""
    parts = [of_component(one) for one in fitted.components()]
    weights = fitted.component_weights
    mean = np.einsum("i,i...->...", weights, [one for one, _ in parts])
    spread = [covariance + outer(one - mean) for one, covariance in parts]
    return mean, np.einsum("i,i...->...", weights, spread)


def outer(values):
    return values[:, None] * values[None]


def test_mean_and_covariance_are_those_of_the_mixture(model):
    fitted = model.fitted_
    assert len(fitted.component_weights) > 5
    mean, covariance = mixed(fitted, lambda one: (one.mean(POINTS), one.covariance(POINTS)))
    np.testing.assert_allclose(fitted.mean(POINTS), mean, rtol=1e-9)
    np.testing.assert_allclose(fitted.covariance(POINTS), covariance, rtol=1e-6, atol=1e-9)
    _, variance = fitted.mean_and_variance(POINTS)
    np.testing.assert_allclose(variance, np.einsum("nnq->nq", covariance), rtol=1e-6)


def test_gradients_are_those_of_the_mixture(model):
    fitted = model.fitted_
    parts = [(one.gradient(POINTS), one.gradient_variance(POINTS)) for one in fitted.components()]
    mean = np.einsum("i,i...->...", fitted.component_weights, [one for one, _ in parts])
    np.testing.assert_allclose(fitted.gradient(POINTS), mean, rtol=1e-8, atol=1e-8)
    variance = [own + (one - mean) ** 2 for one, own in parts]
    variance = np.einsum("i,i...->...", fitted.component_weights, variance)
    np.testing.assert_allclose(fitted.gradient_variance(POINTS), variance, rtol=1e-6, atol=1e-8)


def test_parts_add_up_and_have_the_covariance_of_the_whole(model):
    fitted = model.fitted_
    np.testing.assert_allclose(fitted.parts.mean(POINTS).sum(axis=1) + fitted.intercept, fitted.mean(POINTS), rtol=1e-9)
    covariance = fitted.parts.covariance(POINTS)
    draws = fitted.parts.sample(POINTS, 4000, np.random.RandomState(0))
    ratio = draws.var(axis=-1) / np.einsum("nppq->npq", covariance)
    assert np.abs(ratio - 1).max() < 0.25


def test_draws_come_from_the_mixture_and_are_the_sums_of_those_of_parts(model):
    fitted = model.fitted_
    draws = fitted.sample(POINTS, 5000, np.random.RandomState(1))
    mean, variance = fitted.mean_and_variance(POINTS)
    assert np.abs((draws.mean(axis=-1) - mean) / np.sqrt(variance)).max() < 0.1
    assert np.abs(draws.var(axis=-1) / variance - 1).max() < 0.2
    few, parts = (method(POINTS, 7, np.random.RandomState(3)) for method in (fitted.sample, fitted.parts.sample))
    constant = few - parts.sum(axis=1)
    assert np.ptp(constant, axis=0).max() < 1e-8  # the intercept of each draw


def test_quantiles_are_near_those_of_the_mixture(model):
    fitted, quantiles = model.fitted_, np.array([0.025, 0.5, 0.975])
    values = model.predict_quantiles(POINTS, quantiles)
    probability = 0.0
    for weight, one in zip(fitted.component_weights, fitted.components(), strict=True):
        mean, variance = one.mean_and_variance(POINTS)
        std = np.sqrt(variance + one.expected_noise_variance)
        probability = probability + weight * ndtr((values - mean[..., None]) / std[..., None])
    assert np.abs(probability - quantiles).max() < 0.03
    assert np.abs(probability - quantiles)[..., [0, 2]].max() < 0.012


def test_noise_of_predictions_is_its_average(model):
    fitted = model.fitted_
    expected = fitted.component_weights @ [one.expected_noise_variance for one in fitted.components()]
    assert not np.allclose(expected, model.noise_variance_)
    with_noise, without = (model.predict(POINTS, return_std=True, include_noise=flag)[1] for flag in (True, False))
    np.testing.assert_allclose(with_noise**2 - without**2, np.broadcast_to(expected, without.shape), rtol=1e-9)
    _, covariance = model.predict(POINTS, return_cov=True)
    np.testing.assert_allclose(np.einsum("nnq->nq", covariance), with_noise**2, rtol=1e-6)


def test_intervals_of_the_function_count_what_the_set_leaves_out_of_plausible_parameters():
    kernel = Circle(0, 1.0, family="matern12", length_scale=0.3)
    y = np.random.default_rng(1).normal(size=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = TorusGPRegressor(kernel, n_components=9, integrate=True).fit(X[:, :1], y).fitted_
    left_out = [fitted.prior.truncation_error(one, fitted.index_set) for one in fitted.mixture.parameters]
    np.testing.assert_allclose(fitted.rest_variance, fitted.component_weights @ left_out, rtol=1e-6)
    assert fitted.rest_variance > 0.01 * fitted.expected_noise_variance
    _, of_set = fitted.mean_and_variance_at(fitted.prior.torus.coordinates(X[:, :1], fitted.parameters.period), None)
    _, variance = fitted.mean_and_variance(X[:, :1])
    np.testing.assert_allclose(variance, of_set + fitted.rest_variance, rtol=1e-12)


def test_drawn_observations_have_what_the_set_leaves_out_and_drawn_functions_do_not():
    kernel = Circle(0, 1.0, family="matern12", length_scale=0.3)
    y = np.random.default_rng(1).normal(size=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TorusGPRegressor(kernel, n_components=9, integrate=True).fit(X[:, :1], y)
    rest = model.fitted_.rest_variance[0]
    for include_noise in (False, True):
        _, std = model.predict(POINTS[:, :1], return_std=True, include_noise=include_noise)
        drawn = model.sample_y(POINTS[:, :1], 20_000, random_state=0, include_noise=include_noise).var(axis=1)
        expected = std**2 if include_noise else std**2 - rest
        np.testing.assert_allclose(drawn, expected, rtol=0.06)  # five standard errors
    assert rest > 0.2 * std[0] ** 2


def test_files_keep_it(model, tmp_path):
    model.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    for ours, theirs in zip(
        loaded.predict(POINTS, return_std=True), model.predict(POINTS, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_known_noise_is_not_integrated_over(model):
    fitted = model.fitted_.with_noise_variance(np.array([0.1, 1.0]))
    assert len(fitted.centre) == len(model.fitted_.centre) - 2
    for one in fitted.components():
        np.testing.assert_array_equal(one.noise_variance, [0.1, 1.0])


def test_what_was_learned_stays_the_most_likely(model):
    alone = TorusGPRegressor(model.kernel, n_components=61, integrate=False).fit(X, Y)
    assert alone.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_, abs=1e-9)
    np.testing.assert_allclose(alone.noise_variance_, model.noise_variance_, rtol=1e-9)
    assert alone.fitted_.mixture is None


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_it_is_the_integral_over_a_grid(noise):
    """Over length scale, variance and noise, of an exact process."""
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(20, 1))
    y = np.sin(2 * np.pi * x[:, 0]) + noise * rng.normal(size=20)
    points = np.linspace(0, 1, 9)[:, None]
    model = TorusGPRegressor(period=1.0, n_components=41, integrate=True).fit(x, y)
    mean, std = model.predict(points, return_std=True, include_noise=False)
    variance, n = y.var(), len(y)
    centre = np.log([1.0, variance, 0.1 * variance])
    around = np.linspace(-4, 4, 11)
    scales, signals, noises = centre[0] + 0.5 * around, centre[1] + around, np.log(noise**2) + 0.4 * around
    logs, means, variances = [], [], []
    everything = np.concatenate([x, points])
    for scale in scales:
        gram = TorusKernel("squared_exponential", np.exp(scale), 1.0)(everything)
        for signal, log_noise in itertools.product(signals, noises):
            prior = np.exp(signal) * gram + 100 * variance
            K = prior[:n, :n] + np.exp(log_noise) * np.eye(n)
            weights = np.linalg.solve(K, prior[:n, n:])
            off = np.array([scale, signal, log_noise]) - centre
            fit = (y - y.mean()) @ np.linalg.solve(K, y - y.mean())
            logs.append(-0.5 * (fit + np.linalg.slogdet(K)[1]) - 0.5 * off @ off / PRIOR_STD**2)
            means.append(weights.T @ (y - y.mean()) + y.mean())
            variances.append(np.diagonal(prior[n:, n:]) - (prior[:n, n:] * weights).sum(axis=0))
    weights = np.exp(np.array(logs) - logsumexp(logs))
    expected = weights @ np.array(means)
    spread = np.sqrt(weights @ (np.array(variances) + (np.array(means) - expected) ** 2))
    assert np.abs((mean - expected) / spread).max() < 0.25  # twelve points stand for the integral
    assert np.abs(std / spread - 1).max() < 0.2


@pytest.mark.parametrize("weight", [None, rng.uniform(0.5, 2, 30)])
def test_few_rows_have_the_evidence_of_the_sums(weight):
    model = TorusGPRegressor(period=1.0, n_components=201, learn=(), noise_variance=0.2)
    linear = model.fit(X, Y, sample_weight=weight, noise_scale=np.linspace(1, 2, 30)).fitted_.linear
    rows = few_rows(linear)
    assert isinstance(rows, RowStatistics)
    for output in range(2):
        prior = model.fitted_.prior_variances[:, output]
        ours, theirs = evidence(rows, prior, 0.2, output), evidence(linear, prior, 0.2, output)
        assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-7)
        np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-8)
        for one, other in zip(ours.gradient(), theirs.gradient(), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-7)
        np.testing.assert_allclose(ours.covariance(), theirs.covariance(), atol=1e-8)


def test_many_rows_take_what_was_learned_as_certain():
    X = rng.uniform(size=(301, 1))
    y = np.sin(2 * np.pi * X[:, 0]) + 0.1 * rng.normal(size=301)
    assert TorusGPRegressor(period=1.0).fit(X[:300], y[:300]).fitted_.mixture is not None
    assert TorusGPRegressor(period=1.0).fit(X, y).fitted_.mixture is None
    assert TorusGPRegressor(period=1.0, learn=()).fit(X[:300], y[:300]).fitted_.mixture is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"integrate": "yes"}, "integrate must be True, False or 'auto'"),
        ({"integrate": 2}, "integrate"),
        ({"integrate": True, "index_set": "learned"}, "index_set='learned'"),
        ({"integrate": True, "learn": ("spectrum",)}, "spectrum"),
        ({"integrate": True, "likelihood": "poisson"}, "poisson"),
    ],
)
def test_what_is_not_possible_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        TorusGPRegressor(period=1.0, **parameters).fit(X, np.round(np.abs(Y[:, 0])))


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "n_rows", "least"), [(1, 30, 0.9), (2, 30, 0.9), (3, 50, 0.9), (3, 100, 0.93)])
def test_intervals_of_the_function_hold_it_with_few_rows(dimension, n_rows, least):
    from benchmarks.calibration import coverage_of_set

    rng = np.random.default_rng(1)
    found = [
        coverage_of_set(rng, dimension, n_rows, family, noise, True)
        for family, noise in itertools.product(("squared_exponential", "matern52"), (0.1, 0.5))
        for _ in range(20)
    ]
    assert least - 0.02 < np.mean(found) < 0.985  # two Monte Carlo errors
    assert min(found) >= 0.5
