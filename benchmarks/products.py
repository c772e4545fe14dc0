"""Whether tables take a product of all inputs beside the pairs where it predicts better, and only there.

python -m benchmarks products [--simulations N] [--rows N ...]
"""

import argparse
import time
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd

from torusgp import TableModel
from torusgp.tables import regressors

KINDS = ("pairs", "three", "exceptions")
SIZES = (1500, 3000, 6000)
_FORTNIGHT = pd.Timedelta(days=14)


def simulate(kind, n_rows, seed):
    """A table of a time and two measurements, and the function behind its target.

    The function is a sum of pairs; with a product of three and one that changes over the years, if the kind is "three";
    or with kinks and a few days that are like no others, if it is "exceptions". Errors are correlated.
    """
    rng = np.random.default_rng(seed)
    when = pd.date_range("2019-01-01", periods=n_rows, freq="6h")
    hour, day = 2 * np.pi * when.hour.to_numpy() / 24, 2 * np.pi * (when.day_of_year.to_numpy() - 1) / 365.25
    is_workday, years = when.day_of_week.to_numpy() < 5, np.arange(n_rows) / n_rows
    warm, wind = _lasting(n_rows, 0.95, rng) + np.cos(day), _lasting(n_rows, 0.9, rng)
    truth = np.cos(hour - 1) * is_workday + 0.8 * np.cos(day) + 0.5 * np.cos(day) * np.sin(hour) + 0.5 * years
    truth += 0.6 * np.tanh(warm) * np.cos(hour) + 0.5 * np.tanh(warm) * wind
    if kind == "three":
        truth += np.tanh(warm) * wind * np.cos(hour - 2) + 0.7 * np.sin(2 * np.pi * years) * np.tanh(warm)
    if kind == "exceptions":
        truth += 1.2 * np.maximum(0, warm - 0.5) * (np.abs(hour - np.pi) < 1.5) - np.abs(wind) * ~is_workday
        truth += 1.5 * ((when.day_of_year < 4) | (when.day_of_year > 357)).astype(float)
    noise = 0.5 * _lasting(n_rows, 0.8, rng) + 0.5 * rng.normal(size=n_rows)
    return pd.DataFrame({"time": when, "warm": warm, "wind": wind, "target": truth + noise}), truth


def _lasting(n_rows, memory, rng):
    """An autoregression of variance one."""
    steps = rng.normal(size=n_rows) * np.sqrt(1 - memory**2)
    steps[0] = rng.normal()
    for i in range(1, n_rows):
        steps[i] += memory * steps[i - 1]
    return steps


def compare(kind, n_rows, seed):
    """Mean squared errors of the function on alternate fortnights held out, by pairs and by all, and what is taken."""
    frame, truth = simulate(kind, n_rows, seed)
    held_out = ((frame["time"] - frame["time"][0]) // _FORTNIGHT).to_numpy() % 2 == 1
    errors, rule = [], regressors.is_clearly_better
    for answer in (False, True):
        with patch.object(regressors, "is_clearly_better", return_value=answer) as asked, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = TableModel("target", time="time").fit(frame[~held_out])
            mean = model.predict(frame[held_out])["mean"]
        errors.append(float(np.mean((mean - truth[held_out]) ** 2)))
    return *errors, bool(rule(*asked.call_args.args))


def main(words=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks products")
    parser.add_argument("--simulations", type=int, default=5, help="of each kind and size")
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="of the tables; half of them are held out")
    arguments = parser.parse_args(list(words))
    print("mean square of errors of the function, on fortnights held out; that of the noise is 0.5")
    print(f"{'function':>11s} {'rows':>5s}   pairs    all   taken  lost by the choice")
    for kind in KINDS:
        for n_rows in arguments.rows:
            begun = time.process_time()
            results = [compare(kind, n_rows, seed) for seed in range(arguments.simulations)]
            pairs, everything, taken = (np.array(one) for one in zip(*results, strict=True))
            lost = np.where(taken, everything, pairs) - np.minimum(pairs, everything)
            seconds = (time.process_time() - begun) / arguments.simulations
            print(
                f"{kind:>11s} {n_rows:5d}   {pairs.mean():.4f} {everything.mean():.4f}  {taken.sum()} of {len(taken)}"
                f"  {lost.mean():.4f} (most {lost.max():.4f})   {seconds:.0f} s each",
                flush=True,
            )
