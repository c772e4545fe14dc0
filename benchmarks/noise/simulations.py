"""Coverage of seasonal effects and of forecasts, on simulated series whose noise is known."""

import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from torusgp import Circle, TorusGPRegressor
from torusgp.fitting.curvature import standard_errors

WEEK, MONTH = 7.0, 30.0
HORIZONS = np.array([1, 2, 5, 10, 20, 50])
GAP, FROM_EDGE = 30, np.array([1, 2, 5, 10, 15])  # days
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
    """One series: whether intervals of seasonal effects and of forecasts hold the truth.

    Returns
    -------
    effects : list of float
        Share of the days of a week whose 95 % interval holds the true weekly effect, and the same for the month.
    forecasts : ndarray of bool
        Whether the interval of each horizon holds what came.
    """
    rng = np.random.default_rng(seed)
    days = np.arange(float(n_rows + HORIZONS[-1]))
    seasons = [season(days, period, rng) for period in (WEEK, MONTH)]
    y = 10 + sum(seasons) + kind(len(days), rng)
    X = pd.DataFrame({"time": days})
    model = TorusGPRegressor(Circle("time", WEEK) + Circle("time", MONTH), noise=noise, n_components=31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:n_rows], y[:n_rows])
        parts, stds = model.predict_parts(X[: int(MONTH)], return_std=True)
        mean, spread = model.forecast(X.iloc[n_rows - 1 + HORIZONS], return_std=True)
    effects = []
    for truth, period, part, std in zip(seasons, (WEEK, MONTH), parts.T, stds.T, strict=True):
        error = part - (truth[: len(part)] - truth[:n_rows].mean())
        effects.append(np.mean((np.abs(error) < 1.96 * std)[: int(period)]))
    return effects, np.abs(y[n_rows - 1 + HORIZONS] - mean) < 1.96 * spread


def _each(function, n_simulations, n_jobs):
    """A function of so many seeds, on one thread in each of some processes; and seconds of processor for each."""

    def timed(seed):
        begun = time.process_time()
        with threadpool_limits(1):
            return function(seed), time.process_time() - begun

    found = Parallel(n_jobs=n_jobs)(delayed(timed)(seed) for seed in range(n_simulations))
    return [one for one, _ in found], float(np.mean([seconds for _, seconds in found]))


def main(n_simulations=100, n_rows=420, n_jobs=1):
    print(f"{n_simulations} series of {n_rows} days each: share of 95 % intervals that hold the truth")
    print(
        f"{'noise':>12s}  {'weekly effect':>14s}  {'monthly effect':>14s}  forecasts "
        + " ".join(f"{one:5d}" for one in HORIZONS)
        + " days ahead"
    )
    for name, kind in KINDS.items():
        results, seconds = _each(partial(simulate, kind, n_rows), n_simulations, n_jobs)
        effects = np.array([one for one, _ in results])
        forecasts = np.mean([one for _, one in results], axis=0)
        errors = effects.std(axis=0) / np.sqrt(n_simulations)
        shown = [f"{mean:.3f} +- {error:.3f}" for mean, error in zip(effects.mean(axis=0), errors, strict=True)]
        print(
            f"{name:>12s}  {shown[0]:>14s}  {shown[1]:>14s}            "
            + " ".join(f"{one:.3f}" for one in forecasts)
            + f"   ({seconds:.2f} s each)",
            flush=True,
        )
    errors, _ = _each(partial(_week_beside_step, n_rows), max(1, n_simulations // 10), n_jobs)
    print(f"weekly amplitude 10 beside a step of 40: largest error {max(errors):.2f} of {len(errors)} series")


def _week_beside_step(n_rows, seed):
    """Largest error of a weekly effect of amplitude 10 beside a step of 40."""
    rng, days = np.random.default_rng(seed), np.arange(float(n_rows))
    truth = 10 * np.sin(2 * np.pi * days / WEEK)
    y = truth + 3 * rng.normal(size=n_rows) + 40 * (days >= n_rows // 2)
    model = TorusGPRegressor(Circle("time", WEEK), noise="correlated", n_components=21)
    model.fit(pd.DataFrame({"time": days}), y)
    effect = model.predict_parts(pd.DataFrame({"time": days[:7]}))[:, 0]
    return np.abs(effect - (truth[:7] - truth.mean())).max()


def gaps(n_simulations=100, n_rows=420, n_jobs=1):
    """Rows of two gaps of thirty days: whether intervals hold them, and how much is known of them."""
    print(f"{n_simulations} series of {n_rows} days each, of which two gaps of {GAP} are predicted")
    print(f"{'noise':>12s}  share in 95 % intervals by days from the next row   squared errors over those of predict")
    for name, kind in KINDS.items():
        if name == "step":
            continue
        results, seconds = _each(partial(_of_gaps, kind, n_rows), n_simulations, n_jobs)
        inside, ratio = (np.mean(one, axis=0) for one in zip(*results, strict=True))
        print(
            f"{name:>12s}  "
            + " ".join(f"{day}: {share:.3f}" for day, share in zip(FROM_EDGE, inside, strict=True))
            + f"   {' '.join(f'{one:.2f}' for one in ratio[0] / ratio[1])}   ({seconds:.2f} s each)",
            flush=True,
        )


def _of_gaps(kind, n_rows, seed):
    """By distance from the edge of a gap: shares inside intervals, and squared errors with noise and without."""
    rng, days = np.random.default_rng(seed), np.arange(float(n_rows))
    y = 10 + season(days, WEEK, rng) + season(days, MONTH, rng) + kind(n_rows, rng)
    starts = int(0.3 * n_rows), int(0.7 * n_rows)
    is_missing = np.zeros(n_rows, dtype=bool)
    for start in starts:
        is_missing[start : start + GAP] = True
    X = pd.DataFrame({"time": days})
    model = TorusGPRegressor(Circle("time", WEEK) + Circle("time", MONTH), noise="correlated", n_components=31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[~is_missing], y[~is_missing])
    edge = np.concatenate([start + np.array([FROM_EDGE - 1, GAP - FROM_EDGE]).T for start in starts])
    shares, errors, others = [], [], []
    for rows in edge.reshape(len(starts), len(FROM_EDGE), 2).transpose(1, 0, 2).reshape(len(FROM_EDGE), -1):
        mean, std = model.forecast(X.iloc[rows], return_std=True)
        shares.append(np.mean(np.abs(y[rows] - mean) < 1.96 * std))
        errors.append(np.mean((y[rows] - mean) ** 2))
        others.append(np.mean((y[rows] - model.predict(X.iloc[rows])) ** 2))
    return shares, (errors, others)


def white(n_simulations=100, n_rows=420, n_jobs=1):
    """Independent errors: what is lost if they might be correlated."""
    results, _ = _each(partial(_white_and_correlated, n_rows), n_simulations, n_jobs)
    noticed, shifts, losses = (np.array(one) for one in zip(*results, strict=True))
    noticed = noticed.sum()
    print(
        f"white noise, {n_simulations} series: taken for correlated in {noticed}; length scales move by "
        f"{np.nanmean(shifts):.3f} of their standard errors on average (largest {np.nanmax(shifts):.2f}), log loss "
        f"rises by {np.mean(losses):.5f} +- {np.std(losses) / np.sqrt(n_simulations):.5f}"
    )


def _white_and_correlated(n_rows, seed):
    """Of one series: whether noise was taken for correlated, how far length scales moved, and what was lost."""
    rng, days = np.random.default_rng(seed), np.arange(float(2 * n_rows))
    y = 10 + season(days, WEEK, rng) + season(days, MONTH, rng) + rng.normal(size=len(days))
    X = pd.DataFrame({"time": days})
    models = []
    for noise in ("white", "correlated"):
        model = TorusGPRegressor(Circle("time", WEEK) + Circle("time", MONTH), noise=noise, n_components=31)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(model.fit(X[:n_rows], y[:n_rows]))
    scales = [np.concatenate(one.fitted_.prior.scales(one.fitted_.parameters)) for one in models]
    names = [f"{term}: length_scale" for term in models[0].term_names_]
    errors = np.concatenate([standard_errors(models[0].fitted_)[name] for name in names])
    density = [np.mean(one.log_predictive_density(X[n_rows:], y[n_rows:])) for one in models]
    return models[1].noise_process_ is not None, np.abs(scales[1] - scales[0]) / errors, density[0] - density[1]
