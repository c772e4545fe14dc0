"""Births in the USA: does the difference between weekdays drift? The last two years are held out.

Both models have a slow and a quicker trend and a season; one has a weekday that stays as it is, the other one whose
strength changes over the years. Losses are compared week by week, and the standard error is that of weeks. Earlier
pairs of years, predicted from those before them, show how much the outcome depends on the years: a weekday that drifts
has a slow trend of its own, which sometimes goes the wrong way.
"""

import numpy as np
import pandas as pd

from benchmarks.engine import figure
from benchmarks.open.common import log_losses, r2, timed_fit
from torusgp import Circle, Line, TorusGPRegressor

FILE = "births/us_births_1969_1988.csv.gz"
TITLE = "births in the USA, 1987 and 1988 held out"
YEAR = 365.25
N_COMPONENTS = 801
LAST, EARLIER = 1987, (1979, 1981, 1983, 1985)  # first years of the pairs that are held out


def read(path):
    """Day and day of the year, births in thousands, and the year of each row."""
    table = pd.read_csv(path, parse_dates=["date"])
    date = table.date.dt
    length = np.where(date.is_leap_year, 366, 365)
    X = pd.DataFrame({"day": np.arange(len(table), dtype=float), "year": (date.day_of_year - 1) / length * YEAR})
    return X, table.births.to_numpy() / 1000, date.year.to_numpy()


def make_models():
    """Models by name, which differ in the weekday alone."""
    slow = Line("day", length_scale=10 * YEAR, length_scale_bounds=(5 * YEAR, 100 * YEAR))
    quick = Line("day", length_scale=YEAR / 2, length_scale_bounds=(30, 5 * YEAR))
    others = slow + quick + Circle("year", YEAR)
    drifting = Line("day", length_scale=5 * YEAR, length_scale_bounds=(YEAR, 100 * YEAR))
    kernels = {"the same weekday": others + Circle("day", 7.0), "drifting": others + Circle("day", 7.0) * drifting}
    return {name: TorusGPRegressor(kernel, n_components=N_COMPONENTS, n_threads=1) for name, kernel in kernels.items()}


def run(path):
    """Scores of both, and their difference."""
    X, y, year = read(path)
    figures, losses = compare(X, y, year, LAST)
    gain, error = paired_difference(*losses)
    figures += [
        figure("log loss that drifting saves", gain),
        figure("its standard error, over weeks", error),
        figure("standard errors", gain / error, at_least=2),
    ]
    for first in EARLIER:
        gain, error = paired_difference(*compare(X, y, year, first)[1])
        figures.append(figure(f"the same for {first} and {first + 1}: standard errors", gain / error))
    return figures


def compare(X, y, year, first):
    """Figures of both models for two years, predicted from those before, and the losses of all days."""
    known, held_out = year < first, (year >= first) & (year < first + 2)
    figures, losses = [], []
    for name, model in make_models().items():
        model, seconds = timed_fit(model, X[known], y[known])
        mean, std = model.predict(X[held_out], return_std=True)
        losses.append(log_losses(y[held_out], mean, std))
        figures += [
            figure(f"log evidence, {name}", model.log_marginal_likelihood_),
            figure(f"R2, {name}", r2(y[held_out], mean)),
            figure(f"log loss, {name}", losses[-1].mean()),
            figure(f"in 95 % intervals, {name}", np.mean(np.abs(y[held_out] - mean) < 1.96 * std)),
            figure(f"fit, {name} (s)", seconds),
        ]
    return figures, losses


def paired_difference(first, second, length=7):
    """Mean difference of losses, and its standard error from means of so many rows."""
    whole = len(first) // length * length
    means = (first - second)[:whole].reshape(-1, length).mean(axis=1)
    return means.mean(), means.std(ddof=1) / np.sqrt(len(means))
