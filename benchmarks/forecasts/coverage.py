"""Intervals of forecasts at every horizon, on made-up daily sales: seasons, and noise that is autocorrelated.

Each simulation draws weekly and monthly seasons and two years of noise, fits a table and compares the forecast of the
next 50 days with what comes. Coverage of 95 % intervals has to be within three Monte Carlo errors of 90 to 97 %; that
of random walks is reported.
"""

import warnings

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from benchmarks.engine import figure
from torusgp import TableModel

N_KNOWN, N_AHEAD = 400, 50
HORIZONS = (1, 2, 5, 10, 20, 50)
LOWEST, HIGHEST = 0.90, 0.97
_BURN_IN = 300


def white(rng, n):
    return rng.normal(size=n)


def ar1(rng, n):
    return lfilter([0.6], [1, -0.8], rng.normal(size=n + _BURN_IN))[_BURN_IN:]


def white_and_slow(rng, n):
    """Independent errors beside an Ornstein-Uhlenbeck process that lasts ten days."""
    memory = np.exp(-1 / 10)
    slow = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n + _BURN_IN))[_BURN_IN:]
    return slow + 0.7 * rng.normal(size=n)


def random_walk(rng, n):
    return np.cumsum(0.15 * rng.normal(size=n))


KINDS = {"white": white, "AR(1)": ar1, "white + OU": white_and_slow, "random walk": random_walk}


def simulate(kind, seed):
    """A table of sales, whose last rows are to come."""
    rng, n = np.random.default_rng(seed), N_KNOWN + N_AHEAD
    date = pd.Series(pd.date_range("2023-01-01", periods=n, freq="D"))
    week = rng.normal(size=7)[date.dt.day_of_week]
    month = rng.normal() * np.cos(2 * np.pi * (date.dt.day / 30.4 - rng.uniform()))
    return pd.DataFrame({"date": date, "sales": 10 + 2 * week + month + KINDS[kind](rng, n)})


def forecast(frame):
    """Forecast of the last rows from those before."""
    table = TableModel("sales", calendar={"date": ["week", "month"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return table.fit(frame[:N_KNOWN]).forecast(N_AHEAD, quantiles=(0.025, 0.975))


def run(options):
    """Shares of the rows inside their intervals, by kind of noise and horizon."""
    groups = {}
    for kind in KINDS:
        inside, widths = [], []
        for seed in range(options.simulations):
            frame = simulate(kind, seed)
            lower, upper = forecast(frame).interval(0.95)
            observed = frame["sales"].to_numpy()[N_KNOWN:]
            inside.append((observed >= lower) & (observed <= upper))
            widths.append(upper - lower)
        shares, width = np.mean(inside, axis=0), np.mean(widths, axis=0)
        groups[f"coverage of forecasts, {kind}, {options.simulations} simulations"] = figures_of(kind, shares, width)
    return groups


def figures_of(kind, shares, width):
    limited, figures = kind != "random walk", []
    for horizon in HORIZONS:
        share = float(shares[horizon - 1])
        figures.append(figure(f"{horizon} days ahead", share, at_least=LOWEST if limited else None))
        if limited:
            figures.append(figure(f"{horizon} days ahead, not too many", share, at_most=HIGHEST))
    figures.append(figure("width of the first interval over that of the last", width[0] / width[-1]))
    return figures
