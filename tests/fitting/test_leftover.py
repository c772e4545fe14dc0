"""What the residuals still show is acted on, or said."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from torusgp import TorusGPRegressor
from torusgp.engine.basis import columns
from torusgp.fitting.gains import RowModel
from torusgp.fitting.leftover import shown_share
from torusgp.fitting.rows import Compute, Rows, RowSource
from torusgp.kernels.candidates import Candidates, Patterns


def harmonics(*parts):
    """A function on one circle: amplitudes and frequencies."""
    return lambda X: sum(amplitude * np.cos(k * X[:, 0]) for amplitude, k in parts)


STUCK = {
    "cos t + .5 cos 20 t": harmonics((1.0, 1), (0.5, 20)),
    ".3 cos 37 t + cos t": harmonics((0.3, 37), (1.0, 1)),
    "cos t + cos 52 t": harmonics((1.0, 1), (1.0, 52)),
    "cos a cos b + .5 cos 9 a": lambda X: np.cos(X[:, 0]) * np.cos(X[:, 1]) + 0.5 * np.cos(9 * X[:, 0]),
    "cos 37 t": harmonics((1.0, 37)),
    "a peak of a hundredth of a period": lambda X: np.exp(-0.5 * ((X[:, 0] - 2) / (2 * np.pi / 100)) ** 2),
}


@pytest.mark.parametrize("name", STUCK)
def test_a_default_fit_is_not_stuck_with_long_length_scales(name):
    truth = STUCK[name]
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2 * np.pi, (2000, 2 if " b " in name else 1))
    y = truth(X) + 0.1 * rng.normal(size=len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = TorusGPRegressor(period=2 * np.pi).fit(X, y)
    test = rng.uniform(0, 2 * np.pi, (500, X.shape[1]))
    mean, std = model.predict(test, return_std=True, include_noise=False)
    assert np.sqrt(np.mean((mean - truth(test)) ** 2)) < 0.04
    assert np.mean(np.abs(mean - truth(test)) < 1.96 * std) > 0.8


def test_what_given_length_scales_cannot_explain_is_said():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 24, (2000, 1))
    y = np.cos(2 * np.pi * X[:, 0] / 24) + 0.5 * np.cos(2 * np.pi * 20 * X[:, 0] / 24) + 0.1 * rng.normal(size=2000)
    model = TorusGPRegressor("squared_exponential", period=24.0, length_scale=1.0, learn=("noise_variance",))
    with pytest.warns(ConvergenceWarning, match=r"The residuals still vary with 'x0' with period 1\.2, .*learned"):
        model.fit(X, y)


def test_a_model_that_explains_everything_says_nothing():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2 * np.pi, (2000, 2))
    y = np.cos(X[:, 0]) * np.sin(X[:, 1]) + 0.1 * rng.normal(size=2000)
    assert TorusGPRegressor("squared_exponential", period=2 * np.pi).fit(X, y).fit_.learned.left_over is None


def test_residuals_show_how_much_of_the_prior_is_outside_a_set():
    """All of it if the function was drawn from the prior, nothing if it has only what is in the set."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2 * np.pi, (3000, 2))
    model = TorusGPRegressor(
        "matern32", period=2 * np.pi, length_scale=0.5, n_components=41, noise_variance=0.1, learn=()
    ).fit(X, np.zeros(3000))
    inside, prior = model.index_set_, model.fitted_.prior
    parameters = model.fitted_.parameters
    candidates = Candidates.of(prior.torus, parameters.period).scanned.without(
        Patterns.of(inside.frequencies, prior.torus)
    )
    shares = {}
    for name, index_set in {"all": candidates.to_index_set(), "none": inside}.items():
        root = np.sqrt(prior.variances(parameters, index_set.frequencies)[1:, 0])
        y = columns(X, index_set.frequencies)[:, 1:] @ (root * rng.normal(size=len(root)))
        rows = Rows(X, (y + np.sqrt(0.1) * rng.normal(size=3000))[:, None])
        source = RowSource(rows, prior, Compute(), True, inside)
        results = source.posterior(inside, parameters)
        shares[name] = shown_share(RowModel(prior, True, inside, parameters, results, rows), candidates)
    assert 0.7 <= shares["all"] <= 1
    assert shares["none"] < 0.05
