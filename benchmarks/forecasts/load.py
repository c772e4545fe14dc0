"""PJM's hourly load: the next day from each of the last 28 days, fitted every week, beside seasonal naive forecasts."""

import time

import numpy as np
import pandas as pd

from benchmarks.engine import figure
from benchmarks.open.common import locate
from torusgp import TableModel

FILE = "pjm/pjm_load_hourly.csv.gz"
TITLE = "PJM load, the next day from each of the last 28 days"
HORIZONS = (1, 6, 12, 24)  # hours
LOWEST, HIGHEST = 0.88, 0.97  # coverage of 95 % intervals


def run(options):
    """Scores of the model, and of the same hour of yesterday and of a week ago."""
    path, reason = locate(FILE)
    if path is None:
        print(f"load: left out, {reason}")
        return {}
    began = time.process_time()
    table = TableModel("load_MW", calendar={"time_local": ["day", "week", "year"]})
    found = table.backtest(path, "24h", 28, refit="7d", n_jobs=1)
    seconds = time.process_time() - began
    naive = naive_errors(path, found.forecasts)
    scale = found.scores.mae / found.scores.mase
    figures = [
        figure("MASE", found.scores.mase, at_most=min(naive.values()) / scale),
        *(figure(f"MASE of {name}", error / scale) for name, error in naive.items()),
        figure("CRPS, MW", found.scores.crps),
        figure(f"CRPS of the naive forecast ({found.season}), MW", found.naive.crps),
    ]
    inside = inside_95(found.forecasts)
    for step in HORIZONS:
        chosen = (found.forecasts["step"] == step).to_numpy()
        figures.append(figure(f"MAE {step} hours ahead, MW", np.mean(np.abs(errors(found.forecasts)[chosen]))))
    # 28 days say little of one hour: three neighbouring hours are taken together
    for step in HORIZONS:
        near = (np.abs(found.forecasts["step"] - np.clip(step, 2, 23)) <= 1).to_numpy()
        share = float(np.mean(inside[near]))
        figures += [
            figure(f"95 % intervals around {step} hours ahead contain", share, at_least=LOWEST),
            figure(f"the same for {step} hours, not too many", share, at_most=HIGHEST),
        ]
    figures.append(figure("processor time of four fits and all forecasts, s", seconds))
    return {TITLE: figures}


def errors(forecasts):
    return (forecasts["observed"] - forecasts["mean"]).to_numpy()


def inside_95(forecasts):
    return np.abs(errors(forecasts)) <= 1.959964 * forecasts["std"].to_numpy()


def naive_errors(path, forecasts):
    """Mean absolute errors of the same hour of yesterday, and of a week ago."""
    rows = pd.read_csv(path, parse_dates=["time_local"]).set_index("time_local")["load_MW"]
    found = {}
    for name, days in (("yesterday's value", 1), ("last week's value", 7)):
        before = rows.reindex(pd.DatetimeIndex(forecasts["time_local"]) - pd.Timedelta(days=days)).to_numpy()
        found[name] = float(np.nanmean(np.abs(forecasts["observed"].to_numpy() - before)))
    return found
