"""Tides of a port: a year ahead from two, by circles of the moon and the sun, beside least squares on constituents."""

import time
import warnings
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.open.common import locate, log_losses, r2
from torusgp import Circle, TorusGPRegressor
from torusgp.kernels.index_sets import from_frequencies

# hours: lunar day, month, year and the moon's perigee; all tidal frequencies are whole combinations of theirs, but for
# the node of 18.6 years, whose side lines a few years cannot tell from the lines themselves
PERIODS = {"day": 24.84120241, "month": 27.321582 * 24, "year": 365.242199 * 24, "perigee": 3232.6 * 24}
# multiples of these: slow, daily and half-daily lines, and as far from them as the standard lists reach
MULTIPLES = range(3), range(-3, 4), range(-3, 4), range(-1, 2)
LEARN = ("length_scale", "signal_variance", "noise_variance", "spectrum")

# speeds in degrees an hour: the 37 of the tables of NOAA, and 23 more of the standard lists
STANDARD = """28.9841042 30.0 28.4397295 15.0410686 57.9682084 13.9430356 86.9523127 44.0251729 60.0 57.4238337
28.5125831 90.0 27.9682084 27.8953548 16.1391017 29.4556253 15.0 14.4966939 15.5854433 0.5443747 0.0821373 0.0410686
1.0158958 1.0980331 13.4715145 13.3986609 29.9589333 30.0410667 12.8542862 14.9589314 31.0158958 43.4761563 29.5284789
42.9271398 30.0821373 115.9364169 58.9841042"""
MORE = """12.9271398 14.5695476 14.9178647 15.1232059 15.5125897 16.0569644 16.6834764 14.0251729 14.4145567 27.4238337
30.6265120 30.5443747 29.0662415 43.9430356 45.0410686 58.4397295 59.0662415 60.0821373 73.0092770 75.0410686 86.4079380
87.9682084 88.9841042"""


def main(*_):
    path, reason = locate("tides/portland.csv.gz")
    if path is None:
        print(f"tides: left out, {reason}")
        return
    evaluate(pd.read_csv(path), "Portland")


def evaluate(frame, name):
    """Fit to all years but the last, and compare forecasts of that one."""
    moments = pd.to_datetime(frame["time_utc"], utc=True)
    hours = ((moments - moments.iloc[0]) / pd.Timedelta(hours=1)).to_numpy()
    level = frame["sea_level_m"].to_numpy(dtype=float)
    known, last = np.isfinite(level), moments.dt.year == moments.dt.year.max()
    train, test = known & ~last, known & last
    print(f"{name}: {train.sum()} hours to learn from, {test.sum()} a year ahead")
    for number, speeds in ((37, STANDARD), (60, STANDARD + " " + MORE)):
        predicted = least_squares(hours[train], level[train], hours[test], speeds)
        print(f"  least squares on {number} constituents: R2 {r2(level[test], predicted):.4f}")
    circles = {circle: Circle("time", period) for circle, period in PERIODS.items()}
    kernel = circles["day"] * circles["month"] * circles["year"] * circles["perigee"]
    kernel = kernel + circles["year"] + circles["month"]
    for noise in ("white", "correlated"):
        begun = time.process_time()
        model = TorusGPRegressor(kernel, noise=noise, index_set=tidal_set(), learn=LEARN)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(pd.DataFrame({"time": hours[train]}), level[train])
        mean, std = model.predict(pd.DataFrame({"time": hours[test]}), return_std=True)
        inside = np.mean(np.abs(level[test] - mean) < 1.96 * std)
        loss = np.mean(log_losses(level[test], mean, std))
        print(
            f"  {noise} noise: R2 {r2(level[test], mean):.4f}, log loss {loss:.3f}, 95 % intervals hold "
            f"{100 * inside:.1f} %, {time.process_time() - begun:.0f} s of processor",
            flush=True,
        )
    for multiples, amplitude, error in constituents(model, hours[train].mean())[:5]:
        print(f"  {multiples}  amplitude {100 * amplitude:.2f} +- {100 * error:.2f} cm")


def tidal_set():
    """All combinations of multiples, those of slow lines without the perigee."""
    found = [one for one in product(*MULTIPLES) if one[0] or (not one[3] and one[1:3] > (0, 0))]
    return from_frequencies(np.array(found))


def least_squares(past, level, future, speeds):
    """Predictions by ordinary least squares on constituents of these speeds."""

    def columns(hours):
        angle = np.deg2rad(np.outer(hours, [float(one) for one in speeds.split()]))
        return np.column_stack([np.ones(len(hours)), np.cos(angle), np.sin(angle)])

    return columns(future) @ np.linalg.lstsq(columns(past), level, rcond=None)[0]


def constituents(model, middle):
    """Lines of a fitted model: Doodson multiples of day, month and year, amplitudes and their errors, largest first.

    Lines that differ by the perigee alone are one for a few years: their sum in the middle of them.
    """
    fitted = model.fitted_
    frequencies, weights = fitted.index_set.frequencies, fitted.posterior.weights[:, 0]
    covariance = fitted.posterior.covariance(0)
    axes = [np.flatnonzero(np.isclose(fitted.parameters.period, one))[0] for one in PERIODS.values()]
    multiples = frequencies[:, axes]
    slow = 2 * np.pi * multiples[:, 3] * middle / PERIODS["perigee"]
    found = []
    for key in np.unique(multiples[1:, :3], axis=0):
        if not key[0]:
            continue
        lines = np.flatnonzero((multiples[:, :3] == key).all(axis=1))
        pairs = np.stack([2 * lines - 1, 2 * lines], axis=1).ravel()
        cos, sin = np.cos(slow[lines]), np.sin(slow[lines])
        turn = np.stack([np.column_stack([cos, sin]).ravel(), np.column_stack([-sin, cos]).ravel()])
        a, b = turn @ weights[pairs]
        amplitude = np.hypot(a, b)
        direction = np.array([a, b]) / amplitude if amplitude else np.zeros(2)
        spread = direction @ turn @ covariance[np.ix_(pairs, pairs)] @ turn.T @ direction
        found.append((tuple(key.tolist()), float(amplitude), float(np.sqrt(max(spread, 0.0)))))
    return sorted(found, key=lambda one: -one[1])
