"""Coverage of seasonal effects and of forecasts, on simulated series whose noise is known."""

import time
import warnings

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from torusgp import Circle, TorusGPRegressor
from torusgp.fitting.curvature import standard_errors

WEEK, MONTH = 7.0, 30.0
HORIZONS = np.array([1, 2, 5, 10, 20, 50])
LIMITS = 0.90, 0.97
_BURN_IN = 500


def ar1(n, rng):
    return lfilter([0.6], [1, -0.8], rng.normal(size=n + _BURN_IN))[_BURN_IN:]


def ar2(n, rng):
    """A damped oscillation of about ten days."""
    return lfilter([0.4], [1, -1.4, 0.75], rng.normal(size=n + _BURN_IN))[_BURN_IN:]


def white_and_ou(n, rng):
    """Independent errors beside an Ornstein-Uhlenbeck process that lasts twenty days."""
    memory = np.exp(-1 / 20)
    slow = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n + _BURN_IN))[_BURN_IN:]
    return slow + 0.7 * rng.normal(size=n)


def random_walk(n, rng):
    return np.cumsum(0.15 * rng.normal(size=n))


def step(n, rng):
    """One step in the level, of four times the season, anywhere in the middle of the series."""
    place = rng.integers(int(0.2 * n), int(0.6 * n))
    return np.where(np.arange(n) < place, 0.0, rng.choice([-1, 1]) * 8.0) + rng.normal(size=n)


KINDS = {"AR(1)": ar1, "AR(2)": ar2, "white + OU": white_and_ou, "random walk": random_walk, "step": step}


def season(time, period, rng):
    """A random season of three harmonics, of amplitude about two, without a mean."""
    k = np.arange(1, 4)
    weights = rng.normal(size=(2, 3)) * 1.5 / k**1.5
    angle = 2 * np.pi * np.outer(time, k) / period
    return np.cos(angle) @ weights[0] + np.sin(angle) @ weights[1]


def simulate(kind, n_rows, seed, noise="correlated"):
    """One series: whether intervals of the weekly effect and of forecasts hold the truth.

    Returns
    -------
    effects : float
        Share of the seven days whose 95 % interval holds the true weekly effect.
    forecasts : ndarray of bool
        Whether the interval of each horizon holds what came.
    """
    rng = np.random.default_rng(seed)
    days = np.arange(float(n_rows + HORIZONS[-1]))
    week = season(days, WEEK, rng)
    y = 10 + week + season(days, MONTH, rng) + kind(len(days), rng)
    X = pd.DataFrame({"time": days})
    model = TorusGPRegressor(Circle("time", WEEK) + Circle("time", MONTH), noise=noise, n_components=31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:n_rows], y[:n_rows])
        effect, std = model.predict_parts(X[:7], return_std=True)
        mean, spread = model.forecast(X.iloc[n_rows - 1 + HORIZONS], return_std=True)
    truth = week[:7] - week[:n_rows].mean()
    effects = np.mean(np.abs(effect[:, 0] - truth) < 1.96 * std[:, 0])
    return effects, np.abs(y[n_rows - 1 + HORIZONS] - mean) < 1.96 * spread


def main(n_simulations=100, n_rows=420):
    print(f"{n_simulations} series of {n_rows} days each: share of 95 % intervals that hold the truth")
    print(
        f"{'noise':>12s}  {'weekly effect':>16s}  forecasts "
        + " ".join(f"{one:4d}" for one in HORIZONS)
        + " days ahead"
    )
    for name, kind in KINDS.items():
        begun = time.process_time()
        results = [simulate(kind, n_rows, seed) for seed in range(n_simulations)]
        effects = np.array([one for one, _ in results])
        forecasts = np.mean([one for _, one in results], axis=0)
        error = effects.std() / np.sqrt(n_simulations)
        seconds = (time.process_time() - begun) / n_simulations
        print(
            f"{name:>12s}   {effects.mean():.3f} +- {error:.3f}            "
            + " ".join(f"{one:.2f}" for one in forecasts)
            + f"   ({seconds:.2f} s each)",
            flush=True,
        )
    _week_beside_step(n_simulations, n_rows)


def _week_beside_step(n_simulations, n_rows):
    """A weekly amplitude of 10 beside a step of 40."""
    errors = []
    for seed in range(max(1, n_simulations // 10)):
        rng, days = np.random.default_rng(seed), np.arange(float(n_rows))
        truth = 10 * np.sin(2 * np.pi * days / WEEK)
        y = truth + 3 * rng.normal(size=n_rows) + 40 * (days >= n_rows // 2)
        model = TorusGPRegressor(Circle("time", WEEK), noise="correlated", n_components=21)
        model.fit(pd.DataFrame({"time": days}), y)
        effect = model.predict_parts(pd.DataFrame({"time": days[:7]}))[:, 0]
        errors.append(np.abs(effect - (truth[:7] - truth.mean())).max())
    print(f"weekly amplitude 10 beside a step of 40: largest error {max(errors):.2f} of {len(errors)} series")


def white(n_simulations=100, n_rows=420):
    """Independent errors: what is lost if they might be correlated."""
    shifts, losses, noticed = [], [], 0
    for seed in range(n_simulations):
        rng, days = np.random.default_rng(seed), np.arange(float(2 * n_rows))
        y = 10 + season(days, WEEK, rng) + season(days, MONTH, rng) + rng.normal(size=len(days))
        X = pd.DataFrame({"time": days})
        models = []
        for noise in ("white", "correlated"):
            model = TorusGPRegressor(Circle("time", WEEK) + Circle("time", MONTH), noise=noise, n_components=31)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                models.append(model.fit(X[:n_rows], y[:n_rows]))
        noticed += models[1].noise_process_ is not None
        scales = [np.concatenate(one.fitted_.prior.scales(one.fitted_.parameters)) for one in models]
        names = [f"{term}: length_scale" for term in models[0].term_names_]
        errors = np.concatenate([standard_errors(models[0].fitted_)[name] for name in names])
        shifts.append(np.abs(scales[1] - scales[0]) / errors)
        density = [np.mean(one.log_predictive_density(X[n_rows:], y[n_rows:])) for one in models]
        losses.append(density[0] - density[1])
    print(
        f"white noise, {n_simulations} series: taken for correlated in {noticed}; length scales move by "
        f"{np.nanmean(shifts):.3f} of their standard errors on average (largest {np.nanmax(shifts):.2f}), log loss "
        f"rises by {np.mean(losses):.5f} +- {np.std(losses) / np.sqrt(n_simulations):.5f}"
    )
