"""Calls of a fitted regressor with arguments that cannot be right: each is refused by name, and nothing is ignored."""

import dask.array as dask_array
import numpy as np
import pytest

from torusgp import Circle, Line, TorusGPRegressor
from torusgp.engine.backends import BACKENDS

N = 60
X = np.column_stack([np.arange(N) * 1.5, np.arange(N) * 7 % 10])
Y = np.sin(2 * np.pi * X[:, 0] / 24) + 0.1 * np.cos(np.arange(N) ** 2)
pytestmark = pytest.mark.filterwarnings("ignore:The .* components leave out")


def regressor(**given):
    return TorusGPRegressor(**{"kernel": Circle(0, 24) + Line(1), "n_components": 9, **given})


@pytest.fixture(scope="module")
def fitted():
    return regressor(learn=()).fit(X, Y)


@pytest.mark.parametrize("switch", [np.zeros(2), "yes", None, 2])
@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("predict", "return_std"),
        ("predict", "return_cov"),
        ("predict", "include_noise"),
        ("predict_latent", "return_std"),
        ("predict_quantiles", "include_noise"),
        ("predict_parts", "return_std"),
        ("predict_parts", "return_cov"),
        ("predict_gradient", "return_std"),
        ("sample_y", "include_noise"),
        ("forecast", "return_std"),
    ],
)
def test_a_switch_is_on_or_off(fitted, method, name, switch):
    with pytest.raises(ValueError, match=f"{name} must be True or False"):
        getattr(fitted, method)(X, **{name: switch})


@pytest.mark.parametrize("method", ["sample_y", "sample_parts"])
@pytest.mark.parametrize("number", [0, -1, 1.5, "many", np.zeros((2, 2))])
def test_draws_are_counted(fitted, method, number):
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        getattr(fitted, method)(X, number)


@pytest.mark.parametrize("method", ["log_predictive_density", "predict_cumulative"])
@pytest.mark.parametrize("y", ["text", 0.5, Y[:3], np.zeros((N, 2)), np.zeros(0)])
def test_observations_are_one_for_each_point(fitted, method, y):
    with pytest.raises(ValueError, match="y must hold"):
        getattr(fitted, method)(X, y)


@pytest.mark.parametrize("quantiles", ["text", object, {"a": 1}, [[0.5]], [0.0]])
def test_quantiles_are_probabilities(fitted, quantiles):
    with pytest.raises(ValueError, match="quantiles must be probabilities"):
        fitted.predict_quantiles(X, quantiles)


@pytest.mark.parametrize("method", ["forecast", "forecast_quantiles", "sample_forecast"])
@pytest.mark.parametrize("name", ["time", "noise_scale"])
def test_what_independent_rows_cannot_use_is_not_ignored(fitted, method, name):
    with pytest.raises(ValueError, match=f"{name} is for correlated noise"):
        getattr(fitted, method)(X, **{name: np.ones(N)})


@pytest.mark.parametrize("value", [[1.0, 2.0], np.ones((2, 2)), "text"])
def test_a_noise_variance_that_is_set_is_one_for_each_target(fitted, value):
    with pytest.raises(ValueError, match="noise_variance must be"):
        fitted.set_noise_variance(value)


def test_a_noise_variance_that_is_set_is_saved_with_a_model_that_integrates(tmp_path):
    model = regressor(integrate=True).fit(X, Y).set_noise_variance(0.3)
    model.save(tmp_path / "model")
    loaded = TorusGPRegressor.load(tmp_path / "model")
    for ours, theirs in zip(loaded.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)


class TestParametersThatChangeAfterTheFit:
    def test_predictions_are_those_of_the_likelihood_of_the_fit(self):
        model = regressor().fit(X, Y)
        before = model.predict(X)
        np.testing.assert_array_equal(model.set_params(likelihood="log_normal").predict(X), before)
        assert model.likelihood_.name == "normal"

    @pytest.mark.parametrize("changed", [{"likelihood": "log_normal"}, {"kernel": Line(0)}, {"noise_variance": 2.0}])
    def test_rows_are_not_added_to_sums_of_another_model(self, changed):
        model = regressor().partial_fit(X, np.exp(Y)).set_params(**changed)
        with pytest.raises(ValueError, match=f"{next(iter(changed))} changed after the fit"):
            model.partial_fit(X, np.exp(Y))

    def test_a_refit_does_not_go_on_from_another_model(self):
        model = regressor().fit(X, Y).set_params(kernel=Line(0))
        with pytest.raises(ValueError, match="kernel changed after the fit"):
            model.refit(X, Y)

    def test_noise_that_is_none_is_named_where_a_model_is_saved(self, tmp_path):
        model = regressor().fit(X, Y).set_params(noise=3)
        with pytest.raises(ValueError, match="noise must be one of"):
            model.save(tmp_path / "model")


def test_a_refit_does_not_lose_observed_derivatives():
    slopes = np.column_stack([2 * np.pi / 24 * np.cos(2 * np.pi * X[:, 0] / 24), np.zeros(N)])
    model = regressor().fit(X, Y, X_gradient=X, gradient=slopes)
    with pytest.raises(ValueError, match="fitted with observed derivatives too: use fit"):
        model.refit(X, Y)


@pytest.mark.parametrize("gradient", [{"a": 1}, len, b"bytes"])
def test_derivatives_are_numbers(gradient):
    with pytest.raises(TypeError, match="gradient must be an array of numbers"):
        regressor().fit(X, Y, X_gradient=X, gradient=gradient)


@pytest.mark.parametrize("name", ["sample_weight", "noise_scale"])
@pytest.mark.parametrize("values", [np.ones(N), [1.0], 3, {}])
def test_weights_of_a_collection_are_collections(name, values):
    rows, targets = dask_array.from_array(X, chunks=30), dask_array.from_array(Y, chunks=30)
    with pytest.raises(ValueError, match=f"{name} must be a Dask collection like X"):
        regressor().fit(rows, targets, **{name: values})


@pytest.mark.parametrize("name", ["backend", "verbose", "n_threads"])
@pytest.mark.parametrize("value", [np.zeros(0), np.zeros((2, 2)), {}, "text"])
def test_what_says_how_is_checked(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        regressor(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("backend", sorted(set(BACKENDS) - {"torch"}))
def test_every_backend_computes_likelihoods_that_need_passes(backend):
    counts = np.random.default_rng(0).poisson(np.exp(Y)).astype(float)
    model = regressor(likelihood="poisson", learn=())
    ours = model.set_params(backend=backend).fit(X, counts).predict(X)
    np.testing.assert_allclose(ours, model.set_params(backend="dense").fit(X, counts).predict(X), rtol=1e-6)


class TestLogNormal:
    def test_nothing_lies_below_zero(self):
        model = regressor(likelihood="log_normal").fit(X, np.exp(Y))
        np.testing.assert_array_equal(model.predict_cumulative(X, np.linspace(-1, 0, N)), 0.0)

    def test_a_target_that_cannot_be_has_no_density(self):
        model = regressor(likelihood="log_normal").fit(X, np.exp(Y))
        with pytest.raises(ValueError, match="needs positive targets, but row 0"):
            model.log_predictive_density(X, -np.exp(Y))
