"""Bicycles over the Fremont bridge, hour by hour, from calendar and daily weather; a year is held out."""

import numpy as np
import pandas as pd
from pandas.tseries.holiday import USFederalHolidayCalendar
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.engine import figure
from benchmarks.open.common import locate, r2, timed_fit
from torusgp import Category, Circle, Line, TorusGPRegressor

COUNTS, WEATHER = "fremont/fremont_bridge_hourly.csv.gz", "fremont/seatac_weather_daily.csv.gz"
START, END = "2014-09-01", "2015-09-01"
N_COMPONENTS = 801


def read(counts, weather):
    """Inputs, counts of both directions, and which rows are learned from and held out."""
    table = pd.read_csv(counts, parse_dates=["time_local"])
    table["date"] = table["time_local"].dt.normalize()
    table["count"] = table["west"] + table["east"]
    table = table.merge(pd.read_csv(weather, parse_dates=["date"]), on="date").dropna(subset=["count"])
    time = table["time_local"]
    holiday = table["date"].isin(USFederalHolidayCalendar().holidays("2012-01-01", "2016-12-31"))
    weekday = time.dt.day_of_week
    X = pd.DataFrame(
        {
            "hour": time.dt.hour.astype(float),
            "weekday": weekday.astype(float),
            "day of year": time.dt.day_of_year.astype(float),
            "day": np.select([holiday, weekday == 5, weekday == 6], ["holiday", "Saturday", "Sunday"], "working day"),
            "rain": np.log1p(table["rain_tenth_mm"] / 10),
            "warmest": table["max_tenth_C"] / 10,
            "coldest": table["min_tenth_C"] / 10,
            "wind": table["wind_tenth_m_s"] / 10,
            "years": (time - time.min()).dt.total_seconds() / (365.25 * 86400),
        }
    )
    held_out = ((time >= START) & (time < END)).to_numpy()
    return X, table["count"].to_numpy(), (time < START).to_numpy(), held_out


def make_model():
    hour = Circle("hour", 24.0)
    kernel = (
        hour * Category("day")
        + hour * Circle("weekday", 7.0)
        + hour * Circle("day of year", 365.25)
        + hour * Line("rain")
        + hour * Line("warmest")
        + Line("coldest")
        + Line("wind")
        + Line("years", length_scale_bounds=(1.0, 20.0))  # faster change is the season's
    )
    return TorusGPRegressor(kernel, likelihood="negative_binomial", n_components=N_COMPONENTS, n_threads=1)


def boosting(X, y, train):
    """Means of Poisson boosting, and the dispersion that its training rows have around them."""
    table = X.astype({"day": "category"})
    model = HistGradientBoostingRegressor(loss="poisson", categorical_features="from_dtype", random_state=0)
    mean = model.fit(table[train], y[train]).predict(table)
    found = minimize_scalar(
        lambda log: -log_probability(y[train], mean[train], np.exp(log)).mean(), bounds=(-8, 3), method="bounded"
    )
    return mean, float(np.exp(found.x))


def log_probability(y, mean, dispersion):
    return nbinom.logpmf(y, 1 / dispersion, 1 / (1 + dispersion * mean))


def run(_simulations):
    (counts, reason), (weather, _) = locate(COUNTS), locate(WEATHER)
    if counts is None:
        print(f"bicycles: left out, {reason}")
        return {}
    X, y, train, held_out = read(counts, weather)
    model, seconds = timed_fit(make_model(), X[train], y[train])
    found = model.log_predictive_density(X[held_out], y[held_out]).mean()
    low, _, high = model.predict_quantiles(X[held_out]).T
    mean, dispersion = boosting(X, y, train)
    theirs = log_probability(y[held_out], mean[held_out], dispersion).mean()
    return {
        "bicycles, hourly, a year held out": [
            figure("mean log predictive probability", found, at_least=theirs),
            figure("the same of boosting", theirs),
            figure("in 95 % intervals", np.mean((y[held_out] >= low) & (y[held_out] <= high)), at_least=0.93),
            figure("R2", r2(y[held_out], model.predict(X[held_out]))),
            figure("R2 of boosting", r2(y[held_out], mean[held_out])),
            figure("dispersion", model.likelihood_.dispersion),
            figure("fit (s)", seconds),
            figure("passes", model.fitted_.n_passes),
        ]
    }
