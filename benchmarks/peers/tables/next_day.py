"""The load of the PJM grid: the next day from each of the last days, hour by hour.

Statistical methods are fitted again every day to the weeks before it; methods that take longer every week.
"""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri

from benchmarks.peers.tables.methods import timed
from benchmarks.peers.tables.predictions import LEVELS
from benchmarks.peers.tables.problems import calendar_inputs

DAY, WEEK = 24, 168
N_DAYS = {"next day": 28, "next day, half a year": 182}  # coverage of 28 origins is known to some 4 % only
WEEKS_OF_STATISTICS = {"MSTL": 52, "AutoETS": 8, "DynamicOptimizedTheta": 8}  # more does not help them, and takes hours
HORIZONS = (1, 6, 12, 24)


def read(folder):
    """The load on a grid of hours; the few that are missing are interpolated."""
    table = pd.read_csv(Path(folder, "pjm/pjm_load_hourly.csv.gz"), parse_dates=["time_local"])
    load = table.groupby("time_local")["load_MW"].mean().asfreq("h").interpolate()
    return load.rename_axis("time").reset_index()


def origins(table, n_days):
    """First rows of the last days."""
    return len(table) - DAY * np.arange(n_days, 0, -1)


def _normal(mean, std):
    return mean, mean[..., None] + np.broadcast_to(std, mean.shape)[..., None] * ndtri(LEVELS)


def _naive(lag):
    def method(table, starts):
        """The value of so many hours before; errors as in the past at the same lag."""
        y = table["load_MW"].to_numpy()
        mean = np.array([[y[start + h - lag] for h in range(DAY)] for start in starts])
        return _normal(mean, np.std(y[lag : starts[0]] - y[: starts[0] - lag]))

    return method


def _statistical(name):
    def method(table, starts):
        from statsforecast import models
        from statsforecast.models import MSTL

        y = table["load_MW"].to_numpy()
        levels = [round(100 * (1 - 2 * level)) for level in LEVELS[:3]]
        means, quantiles = [], []
        for start in starts:
            known = y[start - WEEK * WEEKS_OF_STATISTICS[name] : start]
            model = MSTL([DAY, WEEK]) if name == "MSTL" else getattr(models, name)(season_length=DAY)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = model.forecast(known, DAY, level=sorted(levels))
            means.append(found["mean"])
            low, high = [found[f"lo-{one}"] for one in levels], [found[f"hi-{one}"] for one in levels[::-1]]
            quantiles.append(np.column_stack([*low, found["mean"], *high]))
        return np.array(means), np.array(quantiles)

    return method


def lightgbm(table, starts):
    """Boosting on calendar and lags of a day and more; noise by horizon from the last weeks before each fit."""
    from lightgbm import LGBMRegressor

    y = table["load_MW"]
    X = calendar_inputs(table["time"]).drop(columns="years")
    for lag in (DAY, 2 * DAY, WEEK):
        X[f"lag {lag}"] = y.shift(lag)
    midnight = (np.arange(len(y)) - len(y)) // DAY * DAY + len(y)  # origin of the day of each row
    for back in (1, 2, 3):  # what is known last at the origin
        X[f"last {back}"] = np.where(midnight >= back, y.to_numpy()[np.maximum(midnight - back, 0)], np.nan)
    horizon = np.arange(len(y)) - midnight

    def fitted(stop):
        model = LGBMRegressor(n_estimators=600, learning_rate=0.05, num_leaves=63, n_jobs=1, random_state=0)
        return model.set_params(verbosity=-1).fit(X[WEEK:stop], y[WEEK:stop])

    means, stds = [], []
    for i, start in enumerate(starts):
        if i % 7 == 0:
            tail = slice(start - 8 * WEEK, start)
            error = (y[tail] - fitted(start - 8 * WEEK).predict(X[tail])).to_numpy()
            std = np.sqrt(np.bincount(horizon[tail], error**2) / np.bincount(horizon[tail]))
            model = fitted(start)
        means.append(model.predict(X[start : start + DAY]))
        stds.append(std)
    return _normal(np.array(means), np.array(stds))


def prophet(table, starts):
    """Seasons by their defaults, fitted every week."""
    import logging

    from prophet import Prophet

    logging.getLogger("cmdstanpy").setLevel(logging.ERROR)
    frame = table.set_axis(["ds", "y"], axis=1)
    means, stds = [], []
    for i, start in enumerate(starts):
        if i % 7 == 0:
            model = Prophet(interval_width=0.95, uncertainty_samples=300).fit(frame[:start], seed=0)
        found = model.predict(frame[start : start + DAY])
        means.append(found["yhat"].to_numpy())
        stds.append((found["yhat_upper"] - found["yhat_lower"]).to_numpy() / (2 * 1.959964))
    return _normal(np.array(means), np.array(stds))


def torusgp(table, starts, noise_by=None):
    """The command's backtest with the calendar alone, fitted every week."""
    from torusgp import TableModel

    model = TableModel("load_MW", calendar={"time": ["day", "week", "year"]}, noise_by=noise_by)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the scores show what they warn of
        found = model.backtest(table, f"{DAY}h", len(starts), refit="7d", quantiles=tuple(LEVELS), n_jobs=1).forecasts
    columns = [name for name in found if name[0] == "q" and name[1].isdigit()]
    shape = len(starts), DAY
    return found["mean"].to_numpy().reshape(shape), found[columns].to_numpy().reshape(*shape, len(LEVELS))


METHODS = {
    "torusgp": torusgp,
    "torusgp, noise that changes": partial(torusgp, noise_by="auto"),
    "the day before": _naive(DAY),
    "the week before": _naive(WEEK),
    "MSTL": _statistical("MSTL"),
    "AutoETS": _statistical("AutoETS"),
    "DynamicOptimizedTheta": _statistical("DynamicOptimizedTheta"),
    "LightGBM": lightgbm,
    "Prophet": prophet,
}


def run(name, folder, methods, report):
    """Scores by horizon of each method."""
    table = read(folder)
    starts = origins(table, N_DAYS[name])
    y = table["load_MW"].to_numpy()
    truth = np.array([y[start : start + DAY] for start in starts])
    before = y[: starts[0]]
    scale = np.mean(np.abs(before[DAY:] - before[:-DAY]))  # of the day before, on the rows learned from
    case = {"title": f"Load of the PJM grid, hourly; the next day from each of the last {len(starts)}", "unit": "MW"}
    case |= {"rows": len(before), "held out": truth.size, "results": {}, "failed": {}}
    for label in methods:
        try:
            (mean, quantiles), processor, clock = timed(METHODS[label], table, starts)
        except Exception as error:  # one method must not end a long run; the page says what happened
            case["failed"][label] = repr(error)[:300]
            report(f"  {label}: {error!r}")
            continue
        inside = (truth >= quantiles[..., 0]) & (truth <= quantiles[..., -1])
        below = truth[..., None] - quantiles
        found = {
            "MASE": float(np.mean(np.abs(truth - mean)) / scale),
            "MAE": float(np.mean(np.abs(truth - mean))),
            "pinball": float(2 * np.mean(np.maximum(LEVELS * below, (LEVELS - 1) * below))),
            "coverage": float(inside.mean()),
            **{f"coverage, {h} h": float(inside[:, h - 1].mean()) for h in HORIZONS},
        }
        case["results"][label] = found | {"seconds": processor, "clock": clock, "details": {}}
        report(f"  {label}: " + ", ".join(f"{key} {value:.4g}" for key, value in found.items()))
    return case
