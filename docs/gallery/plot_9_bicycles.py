"""
How many bicycles in the next hour: counts with weather
=======================================================

Counts are whole numbers, never negative, and vary more where there are more. A model of their logarithm would fail on
empty hours, and one with normal noise would promise fractions of bicycles and negative ones. The negative binomial
likelihood has none of that: its mean is the exponential of a sum of terms, and its dispersion is learned.
"""

# %%
# Data
# ----
# Bicycles over the Fremont bridge in Seattle, both directions, with daily weather, if they are at hand; otherwise
# made-up ones of that kind. The last months are held out.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from torusgp import Category, Circle, Line, TorusGPRegressor


def make_bicycles(n_days=200):
    """Made-up hours: two rush hours on working days, an afternoon at weekends, fewer bicycles in the rain."""
    rng = np.random.default_rng(0)
    time = pd.date_range("2013-03-01", periods=24 * n_days, freq="h")
    hour, day = time.hour.to_numpy(), np.arange(len(time)) // 24
    rain = np.repeat(np.maximum(rng.normal(0, 3, n_days), 0), 24)
    warmest = np.repeat(14 + 8 * np.sin(2 * np.pi * np.arange(n_days) / 365) + rng.normal(0, 3, n_days), 24)
    rush = 2.2 * np.exp(-((hour - 8) ** 2) / 3) + 2.4 * np.exp(-((hour - 17) ** 2) / 4)
    leisure = 1.8 * np.exp(-((hour - 14) ** 2) / 18)
    rate = 1.5 + np.where((day + 4) % 7 < 5, rush, leisure) - 0.12 * rain + 0.03 * (warmest - 14)
    rate += 1.2 * np.cos(2 * np.pi * (hour - 14) / 24)
    count = rng.poisson(np.exp(rate) * rng.gamma(10, 0.1, len(time)))
    return pd.DataFrame({"time": time, "count": count, "rain": rain, "warmest": warmest})


folder = Path(os.environ.get("TORUSGP_DATA", ""), "fremont")
if (folder / "fremont_bridge_hourly.csv.gz").is_file():
    table = pd.read_csv(folder / "fremont_bridge_hourly.csv.gz", parse_dates=["time_local"])
    weather = pd.read_csv(folder / "seatac_weather_daily.csv.gz", parse_dates=["date"])
    table = table.assign(date=table["time_local"].dt.normalize()).merge(weather, on="date")
    table = table.assign(count=table["west"] + table["east"]).dropna(subset=["count"])
    table = table.assign(rain=table["rain_tenth_mm"] / 10, warmest=table["max_tenth_C"] / 10)
    table = table.rename(columns={"time_local": "time"})
    table = table[table["time"] >= "2014-12-01"].reset_index(drop=True)
else:
    table = make_bicycles()
table["hour"] = table["time"].dt.hour.astype(float)
table["day"] = np.where(table["time"].dt.day_of_week < 5, "working day", "weekend")
table["rain"] = np.log1p(table["rain"])
held_out = table["time"] >= table["time"].quantile(0.8)
inputs = ["hour", "day", "rain", "warmest"]
train, test = table[~held_out], table[held_out]
print(f"{len(train)} hours to learn from, {len(test)} held out, {train['count'].mean():.0f} bicycles on average")

# %%
# Fit
# ---
# The day has another shape on working days, and rain and warmth matter more at some hours than at others.

hour = Circle("hour", 24)
kernel = hour * Category("day") + hour * Line("rain") + hour * Line("warmest")
for likelihood in ("poisson", "negative_binomial"):
    model = TorusGPRegressor(kernel, likelihood=likelihood, n_components=301).fit(train[inputs], train["count"])
    low, median, high = model.predict_quantiles(test[inputs]).T
    inside = np.mean((test["count"] >= low) & (test["count"] <= high))
    density = model.log_predictive_density(test[inputs], test["count"]).mean()
    print(f"{likelihood:18} mean log probability {density:.2f}, {inside:.1%} inside 95 % intervals")

# %%
# Poisson counts vary too little: real ones have good days and bad days. The learned dispersion says by how much, and
# its intervals contain what they promise.
#
# A week
# ------

week = slice(0, 168)
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.fill_between(test["time"][week], low[week], high[week], color="#0072B2", alpha=0.25, lw=0, label="95 % of counts")
ax.plot(test["time"][week], median[week], color="#0072B2", label="median")
ax.plot(test["time"][week], test["count"][week], ".", color="0.2", ms=4, label="counted")
ax.set(ylabel="bicycles in an hour", ylim=(0, None))
ax.legend(loc="upper right", ncols=3)
ax.grid(alpha=0.3)

# %%
# What rain does
# --------------
# On the scale of the logarithm parts add up, so each is a factor of the rate.

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for millimetres, color in ((0.0, "#E69F00"), (2.0, "#56B4E9"), (10.0, "#0072B2")):
    rows = pd.DataFrame({"hour": np.linspace(0, 24, 97), "day": "working day", "rain": np.log1p(millimetres)})
    rows["warmest"] = train["warmest"].median()
    mean, std = (values[:, 1] for values in model.predict_parts(rows, return_std=True))
    ax.plot(rows["hour"], np.exp(mean), color=color, label=f"{millimetres:g} mm in the day")
    ax.fill_between(rows["hour"], np.exp(mean - 2 * std), np.exp(mean + 2 * std), color=color, alpha=0.2, lw=0)
ax.set(xlim=(0, 24), xticks=np.arange(0, 25, 4), xlabel="hour of day", ylabel="times the average")
ax.legend()
ax.grid(alpha=0.3)
