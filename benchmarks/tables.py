"""The command on published tables: one line for each, as a user would write it, beside boosting in the same run.

Parts: electricity (demand in Victoria, 2014 held out, from calendar, temperature with its means, and holidays; also
with noise that changes), inputs (the same with nothing said of terms), nox (London, alternate fortnights held out, from
wind, calendar and slow time, against boosting with the same inputs). Data are read from the folder that TORUSGP_DATA
names. Times are those of processors, on one thread.

    python -m benchmarks tables                 # all
    python -m benchmarks tables electricity
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from benchmarks.engine import figure, format_table
from benchmarks.open.common import locate, log_losses, r2

ELECTRICITY = (
    "hour * weekday + hour * year + hour * temperature_C + hour * temperature_C_3h + hour * temperature_C_24h"
    " + temperature_C * temperature_C_24h + holiday * hour + time"
)
OPTIONS = ("--target", "demand_MW", "--time", "time_utc", "--timezone", "Australia/Melbourne")
OPTIONS = (*OPTIONS, "--lags", "temperature_C=3h,24h", "--holdout-from", "2014-01-01", "--no-refit")
BAM = {"R2": 0.938, "log loss": 6.807, "log loss with a variance model": 6.726}  # mgcv's, terms by hand, as published


def command(*words):
    """What a command prints as JSON, and the seconds of its processor."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [sys.executable, "-m", "torusgp", *map(str, words), "--json"],
        capture_output=True,
        text=True,
        env=os.environ | threads,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def held_out(words, r2_limit, loss_limit):
    """Figures of a fit of electricity demand whose last year is held out."""
    path = locate("vic_elec/vic_elec.csv.gz")[0]
    with tempfile.TemporaryDirectory() as folder:
        content, seconds = command("fit", path, *OPTIONS, *words, "-o", Path(folder, "model.npz"))
    scores = content["holdout"]
    return [
        figure("components", content["n_components"]),
        figure("R2", scores["r2"], at_least=r2_limit),
        figure("log loss, in MW", scores["mnll"], at_most=loss_limit),
        figure("in 95 % intervals", scores["coverage"], at_least=0.93, at_most=0.97),
        figure("fit and evaluation (s)", seconds, at_most=60.0),
    ]


def electricity():
    terms = ("--terms", ELECTRICITY, "--components", "1001")
    limits = BAM["R2"] - 0.005, BAM["log loss"] + 0.03, BAM["log loss with a variance model"] + 0.03
    changing = (*terms, *(word for name in ("hour", "temperature_C", "year") for word in ("--noise-by", name)))
    return {
        "electricity, 2014 held out": held_out(terms, limits[0], limits[1]),
        "electricity, noise that changes": held_out(changing, limits[0], limits[2]),
    }


def inputs():
    names = "hour,weekday,year,temperature_C,holiday,time"
    words = ("--inputs", names, "--components", "1001", "--likelihood", "log_normal")
    return {"electricity, inputs alone": held_out(words, 0.92, 6.9)}


def nox():
    """Logarithms of NOx; every other fortnight is held out."""
    data = pd.read_csv(locate("openair/london_nox.csv.gz")[0], parse_dates=["time_utc"])
    data = data[["time_utc", "wind_speed_m_s", "wind_direction_deg", "nox_ppb"]].dropna()
    data = data[data["nox_ppb"] > 0].assign(log_nox=lambda one: np.log(one["nox_ppb"])).drop(columns="nox_ppb")
    fortnight = ((data["time_utc"] - data["time_utc"].min()) // pd.Timedelta(days=14)).to_numpy()
    test = fortnight % 2 == 1
    y = data["log_nox"].to_numpy()
    with tempfile.TemporaryDirectory() as folder:
        train_file, test_file, model = (Path(folder, name) for name in ("train.csv", "test.csv", "model.npz"))
        data[~test].to_csv(train_file, index=False)
        data[test].to_csv(test_file, index=False)
        words = ("--period", "wind_direction_deg=360", "--inputs", "time_utc,wind_speed_m_s", "--components", 1001)
        words = (*words, "--timezone", "Europe/London", "--holdout", 0, "-o", model)
        _, seconds = command("fit", train_file, "--target", "log_nox", *words)
        command("predict", model, test_file, "-o", Path(folder, "out.csv"))
        found = pd.read_csv(Path(folder, "out.csv"))
    ours = log_losses(y[test], found["mean"].to_numpy(), found["std"].to_numpy())
    mean, std = boosting(data, y, test, fortnight)
    theirs = log_losses(y[test], mean, std)
    gain = theirs - ours
    by_block = pd.Series(gain).groupby(fortnight[test]).sum().to_numpy()
    error = np.sqrt(len(by_block) * np.var(by_block, ddof=1)) / len(gain)  # rows of a fortnight resemble each other
    inside = np.abs(y[test] - found["mean"]) < 1.96 * found["std"]
    return {
        "NOx (log), alternate fortnights held out": [
            figure("boosting: R2", r2(y[test], mean)),
            figure("R2", r2(y[test], found["mean"].to_numpy()), at_least=r2(y[test], mean)),
            figure("boosting: log loss", theirs.mean()),
            figure("log loss", ours.mean()),
            figure("gain over its standard error", gain.mean() / error, at_least=2.0),
            figure("in 95 % intervals", inside.mean(), at_least=0.93, at_most=0.97),
            figure("fit (s)", seconds),
        ]
    }


def boosting(data, y, test, fortnight):
    """Predictions of boosting, and the standard deviation that left-out fortnights show."""
    clock = data["time_utc"].dt.tz_convert("Europe/London")
    X = np.column_stack(
        [
            clock.dt.hour,
            clock.dt.dayofweek,
            clock.dt.dayofyear,
            (data["time_utc"] - data["time_utc"].min()).dt.days,
            data["wind_speed_m_s"],
            data["wind_direction_deg"],
        ]
    )
    model = HistGradientBoostingRegressor(max_iter=400, learning_rate=0.05, random_state=0)
    folds = GroupKFold(5).split(X[~test], groups=fortnight[~test])
    left_out = cross_val_predict(model, X[~test], y[~test], cv=list(folds))
    return model.fit(X[~test], y[~test]).predict(X[test]), np.sqrt(np.mean((y[~test] - left_out) ** 2))


PARTS = {"electricity": electricity, "inputs": inputs, "nox": nox}
FILES = {"nox": "openair/london_nox.csv.gz"}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "tables", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; by default all")
    chosen = parser.parse_args(arguments).parts
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; known are {', '.join(PARTS)}")
    for name in chosen or PARTS:
        path, reason = locate(FILES.get(name, "vic_elec/vic_elec.csv.gz"))
        if path is None:
            print(f"{name}: left out, {reason}")
            continue
        print(format_table(PARTS[name]()), flush=True)
