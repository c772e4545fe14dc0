"""The family of a kernel, chosen by evidence."""

import warnings

import numpy as np
import pytest

from torusgp import TorusGPRegressor
from torusgp.estimators.families import FAMILIES


def kinks(n_rows, seed=0):
    """A function with a kink, its values at rows with noise, and the function."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2 * np.pi, (n_rows, 1))
    truth = lambda x: np.abs(np.sin((x[:, 0] - 1) / 2))  # noqa: E731
    return X, truth(X) + 0.1 * rng.normal(size=n_rows), truth


@pytest.mark.parametrize("index_set", ["adaptive", "learned"])
def test_the_family_of_the_most_evidence_is_taken(index_set):
    X, y, _ = kinks(400)
    chosen = TorusGPRegressor("auto", period=2 * np.pi, index_set=index_set).fit(X, y)
    each = [TorusGPRegressor(one, period=2 * np.pi, index_set=index_set).fit(X, y) for one in FAMILIES]
    best = max(each, key=lambda one: one.log_marginal_likelihood_)
    assert chosen.log_marginal_likelihood_ == best.log_marginal_likelihood_
    assert repr(chosen.kernel_) == repr(best.kernel_)
    np.testing.assert_array_equal(chosen.predict(X[:20]), best.predict(X[:20]))


def test_a_kink_is_not_taken_for_smooth():
    X, y, truth = kinks(4000)
    smooth, chosen = (TorusGPRegressor(one, period=2 * np.pi).fit(X, y) for one in (None, "auto"))
    assert "matern" in repr(chosen.kernel_).lower()
    grid = np.linspace(0, 2 * np.pi, 400)[:, None]
    held = []
    for model in (smooth, chosen):
        mean, std = model.predict(grid, return_std=True, include_noise=False)
        held.append(np.mean(np.abs(mean - truth(grid)) < 1.96 * std))
    assert held[1] > max(held[0], 0.88)


def test_a_smooth_function_keeps_the_smooth_family():
    X, _, _ = kinks(500)
    y = np.exp(np.cos(X[:, 0])) + 0.1 * np.random.default_rng(1).normal(size=500)
    models = [TorusGPRegressor(one, period=2 * np.pi).fit(X, y) for one in ("auto", None)]
    assert repr(models[0].kernel_) == repr(models[1].kernel_)


def test_only_warnings_of_the_chosen_fit_are_shown():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(100, 1)), rng.normal(size=100)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TorusGPRegressor("auto", period=1.0).fit(X, y)
    assert sum("little evidence" in str(one.message) for one in caught) == 1


def test_a_stored_model_predicts_the_same(tmp_path):
    X, y, _ = kinks(200)
    model = TorusGPRegressor("auto", period=2 * np.pi).fit(X, y)
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(TorusGPRegressor.load(tmp_path / "model.npz").predict(X[:9]), model.predict(X[:9]))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda X, y: TorusGPRegressor("auto", period=1.0).fit(iter([(X, y)])),
        lambda X, y: TorusGPRegressor("auto", period=1.0).partial_fit(X, y),
        lambda X, y: TorusGPRegressor("auto", period=1.0, likelihood="student_t").fit(X, y),
        lambda X, y: TorusGPRegressor("auto", period=1.0, noise="correlated").fit(X, y),
    ],
    ids=["stream", "partial_fit", "likelihood", "noise"],
)
def test_rows_that_cannot_be_fitted_again_are_refused(attempt):
    X, y, _ = kinks(50)
    with pytest.raises(ValueError, match="kernel='auto' compares families"):
        attempt(X, y)
