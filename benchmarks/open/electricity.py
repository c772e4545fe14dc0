"""Demand for electricity in Victoria from calendar, temperature and holidays, by terms that are named; 2014 held out.

Rows in time have errors that are alike: each half hour counts as a 24th, as twelve hours that count as one observation.
"""

import numpy as np
import pandas as pd

from benchmarks.engine import figure
from benchmarks.open.common import log_losses, r2, timed_fit
from torusgp import Category, Circle, Line, TorusGPRegressor
from torusgp.data.datasets import load_electricity_demand

FILE = "vic_elec/vic_elec.csv.gz"
TITLE = "electricity, half-hourly, 2014 held out"
ROWS_PER_OBSERVATION = 24
HALF_HOURS = 48  # of a day
N_COMPONENTS = 1001


def read():
    """Inputs, demand in GW and which rows are held out."""
    data = load_electricity_demand()
    temperature = pd.Series(data.temperature)
    days = (data.time - data.time[0]) / np.timedelta64(1, "D")
    X = pd.DataFrame(
        {
            "hour": data.hour_of_day,
            "weekday": np.floor(data.day_of_week),
            "day of year": np.floor(data.day_of_year),
            "temperature": temperature,
            "mean of 24 hours": temperature.rolling(HALF_HOURS, min_periods=1).mean(),
            "holiday": data.holiday.astype(int),
            "years": days / 365.25,
        }
    )
    n_train = len(data.split()[2])
    return X, data.demand / 1000, np.arange(len(X)) >= n_train


def make_model():
    hour, temperature, mean = Circle("hour", 24.0), Line("temperature"), Line("mean of 24 hours")
    kernel = (
        hour * Circle("weekday", 7.0)
        + hour * Circle("day of year", 365.25)
        + hour * temperature
        + hour * mean
        + temperature * mean
        + Category("holiday") * hour
        + Line("years", length_scale_bounds=(1.0, 20.0))  # faster change is the season's
    )
    return TorusGPRegressor(kernel, n_components=N_COMPONENTS, n_threads=1)


def run(path):
    """Scores of the year that was held out."""
    X, y, held_out = read()
    weight = np.full(np.count_nonzero(~held_out), 1 / ROWS_PER_OBSERVATION)
    model, seconds = timed_fit(make_model(), X[~held_out], y[~held_out], sample_weight=weight)
    mean, std = model.predict(X[held_out], return_std=True)
    error = y[held_out] - mean
    return [
        figure("columns", model.index_set_.n_components),
        figure("log evidence", model.log_marginal_likelihood_),
        figure("R2", r2(y[held_out], mean), at_least=0.93),
        figure("error (MW)", 1000 * np.sqrt(np.mean(error**2))),
        figure("log loss, in MW", log_losses(y[held_out], mean, std).mean() + np.log(1000), at_most=6.84),
        figure("in 95 % intervals", np.mean(np.abs(error) < 1.96 * std)),
        figure("fit (s)", seconds),
    ]
