"""Autoregressive noise: evidence and posterior against dense generalised least squares."""

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from torusgp import ARNoise, Circle, Line, TorusGPRegressor
from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.series import TimeGrid
from torusgp.fitting.ar_fitter import autoregression

COEFFICIENTS = [0.6, 0.2]
KERNEL = Circle("time", 24.0) + Circle("time", 7.0)


def series(n_rows=300, gaps=False, seed=0):
    rng = np.random.default_rng(seed)
    noise = lfilter([0.5], [1, -0.6, -0.2], rng.normal(size=n_rows + 300))[300:]
    hours = np.arange(float(n_rows))
    y = 2 + np.sin(2 * np.pi * hours / 24) + noise
    kept = np.delete(np.arange(n_rows), [40, 41, 100, 200]) if gaps else np.arange(n_rows)
    return pd.DataFrame({"time": hours[kept]}), y[kept]


@pytest.mark.parametrize("gaps", [False, True])
def test_evidence_and_posterior_are_those_of_rows_given_the_first_of_each_run(gaps):
    X, y = series(gaps=gaps)
    known = ARNoise(coefficients=COEFFICIENTS)
    learn = ("signal_variance", "noise_variance")
    model = TorusGPRegressor(KERNEL, noise=known, n_components=15, learn=learn, integrate=False)
    fitted = model.fit(X, y).fitted_
    time = X["time"].to_numpy()
    cells = time.astype(int)
    rows = np.flatnonzero(cells[2:] - cells[:-2] == 2) + 2
    F = basis_columns(fitted.phases(time[:, None]), fitted.index_set.frequencies)
    target = y - y.mean()
    white_F, white_y = (one[rows] - 0.6 * one[rows - 1] - 0.2 * one[rows - 2] for one in (F, target))
    ratio = np.sum(lfilter([1], [1, -0.6, -0.2], np.eye(1, 5000)[0]) ** 2)
    innovations = fitted.noise_variance[0] / ratio
    prior = np.diag(fitted.prior_variances[:, 0])
    whole = white_F @ prior @ white_F.T + innovations * np.eye(len(rows))
    expected = -0.5 * (white_y @ np.linalg.solve(whole, white_y) + np.linalg.slogdet(2 * np.pi * whole)[1])
    assert model.log_marginal_likelihood_ == pytest.approx(expected, abs=1e-5)
    mean = F @ prior @ white_F.T @ np.linalg.solve(whole, white_y) + y.mean()
    assert np.abs(model.predict(X) - mean).max() < 1e-8


def test_the_end_effect_is_the_density_of_the_first_rows():
    """The dense likelihood of all rows has that of the first ones beside it, and nothing else."""
    n = 120
    noise = lfilter([0.5], [1, -0.6], np.random.default_rng(1).normal(size=n + 200))[200:]
    covariance = 0.25 / (1 - 0.36) * 0.6 ** np.abs(np.arange(n)[:, None] - np.arange(n))
    dense = -0.5 * (noise @ np.linalg.solve(covariance, noise) + np.linalg.slogdet(2 * np.pi * covariance)[1])
    white = noise[1:] - 0.6 * noise[:-1]
    given = -0.5 * np.sum(np.log(2 * np.pi * 0.25) + white**2 / 0.25)
    first = -0.5 * (np.log(2 * np.pi * covariance[0, 0]) + noise[0] ** 2 / covariance[0, 0])
    assert dense == pytest.approx(given + first)


def test_coefficients_and_order_are_found():
    X, y = series(4000)
    residuals = y - 2 - np.sin(2 * np.pi * X["time"] / 24)
    found = autoregression(residuals.to_numpy(), TimeGrid.of(X["time"].to_numpy()), 2)
    assert np.allclose(found, [1, -0.6, -0.2], atol=0.06)
    best = autoregression(residuals.to_numpy(), TimeGrid.of(X["time"].to_numpy()), 30, is_best=True)
    assert 2 <= len(best) - 1 < 10


def test_forecasts_go_on_from_the_last_rows(tmp_path):
    X, y = series(600)
    model = TorusGPRegressor(KERNEL, noise="ar", n_components=15).fit(X, y)
    later = pd.DataFrame({"time": 600.0 + np.arange(60)})
    mean, std = model.forecast(later, return_std=True)
    assert std[0] == pytest.approx(0.5, rel=0.15)
    assert std[-1] == pytest.approx(model.predict(later, return_std=True)[1][-1], rel=0.02)
    model.save(tmp_path / "model.npz")
    assert np.allclose(TorusGPRegressor.load(tmp_path / "model.npz").forecast(later), mean)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": ARNoise(order=0)}, "order must be"),
        ({"noise": ARNoise(coefficients=[1.2])}, "stationary"),
        ({"kernel": KERNEL + Line("time")}, "circles of the time alone"),
        ({"index_set": "learned"}, "index_set"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options, message):
    X, y = series(100)
    with pytest.raises(ValueError, match=message):
        TorusGPRegressor(**{"kernel": KERNEL, "noise": "ar", **options}).fit(X, y)


def test_times_off_a_grid_are_refused():
    X, y = series(100)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="regular grid"):
        TorusGPRegressor(KERNEL, noise="ar").fit(X + rng.uniform(-0.4, 0.4, (100, 1)), y)
