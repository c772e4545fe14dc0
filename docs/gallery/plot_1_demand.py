"""
Electricity demand: three seasons that interact
===============================================

The demand for electricity has a daily, a weekly and a yearly season, and they do not just add up: the evening peak
belongs to winter, the afternoon peak to summer, and Sundays look like neither. Here a Gaussian process on the
three-dimensional torus (hour of the day, day of the week, day of the year) learns two years and forecasts the third.
We ask how good the forecast is, which seasons act together, and what each of them does.
"""

# %%
# Data
# ----
# Half-hourly demand in Victoria, Australia, if it is at hand; otherwise three made-up years, hour by hour. In both,
# the weekday and the day of the year are whole numbers: a weekday that moved on with every hour would carry the hour in
# itself, and no model could say which of the two does what.

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from torusgp import Circle, TorusGPRegressor, analysis, mean_negative_log_loss
from torusgp.data.datasets import load_electricity_demand
from torusgp.views.plotting import AttributionDisplay, CalibrationDisplay, EffectDisplay

PERIOD = [24.0, 7.0, 365.25]
SEASONS = ["hour of day", "day of week", "day of year"]


def make_demand(n_years=3, noise_std=0.25):
    """Made-up demand in gigawatts: winter evenings, summer afternoons, late and flat weekends."""
    hours = np.arange(int(n_years * 8766))
    hour, weekday, day = hours % 24, hours // 24 % 7, hours // 24 % 365.25
    winter = np.cos(2 * np.pi * (day - 195) / 365.25)  # southern, as in Victoria

    def bump(at, width):
        return np.exp((np.cos(2 * np.pi * (hour - at) / 24) - 1) / width**2)

    workday = 1.6 * bump(8, 0.6) + (1.4 + 0.9 * winter) * bump(19, 0.5) + (0.7 - 0.9 * winter) * bump(15, 0.8)
    day_off = 0.9 * bump(12, 0.9) + (1.0 + 0.7 * winter) * bump(20, 0.5)
    demand = 4.0 + 0.4 * winter + np.where(weekday >= 5, day_off, workday)
    noise = np.random.default_rng(0).normal(0, noise_std, len(hours))
    return np.column_stack([hour, weekday, day]), demand + noise, hours >= (n_years - 1) * 8766


if os.environ.get("TORUSGP_DATA"):
    data = load_electricity_demand()
    X = np.column_stack([data.hour_of_day, np.floor(data.day_of_week), np.floor(data.day_of_year)])
    y, is_test = data.demand / 1000, data.time >= np.datetime64("2013-12-31T13:00")
else:
    X, y, is_test = make_demand()
X = pd.DataFrame(X, columns=SEASONS)  # the names reach the plots
X_train, y_train, X_test, y_test = X[~is_test], y[~is_test], X[is_test], y[is_test]
print(f"{len(y_train)} rows to learn from, {len(y_test)} to forecast")

# %%
# Fit
# ---
# Length scales, signal and noise variance are learned from one pass over the rows. Limited to interactions of one
# season, the product is the model that adds seasons up, for comparison.

hour, weekday, day = (Circle(name, period) for name, period in zip(SEASONS, PERIOD, strict=True))
seasons = hour * weekday * day
models = {
    "interacting": TorusGPRegressor(seasons, n_components=401).fit(X_train, y_train),
    "additive": TorusGPRegressor(seasons.limited(1), n_components=101).fit(X_train, y_train),
}
print(f"{'seasons':12}{'columns':>8}{'R2':>7}{'log loss':>10}{'in 90 % intervals':>19}")
for name, model in models.items():
    mean, std = model.predict(X_test, return_std=True)
    inside = np.mean(abs(y_test - mean) < 1.645 * std)
    loss = mean_negative_log_loss(y_test, mean, std)
    print(f"{name:12}{model.index_set_.n_components:8}{model.score(X_test, y_test):7.3f}{loss:10.3f}{inside:19.1%}")

# %%
# Forecasts
# ---------
# Two weeks of the year that was not seen, one in summer and one in winter, with the band in which 95 % of new
# observations are expected. The additive model has one shape of the day for the whole year, moved up and down.

figure, axes = plt.subplots(2, 1, figsize=(9, 5.6), sharey=True, layout="constrained")
for ax, title, first in zip(axes, ("summer", "winter"), (35, 195), strict=True):
    week = ((X_test["day of year"] >= first) & (X_test["day of year"] < first + 7)).to_numpy()
    hours = np.linspace(0, 168, week.sum(), endpoint=False)
    for (name, model), colour in zip(models.items(), ("#0072B2", "#D55E00"), strict=True):
        mean, std = model.predict(X_test[week], return_std=True)
        ax.plot(hours, mean, color=colour, label=name, linestyle="-" if name == "interacting" else "--")
        if name == "interacting":
            ax.fill_between(hours, mean - 1.96 * std, mean + 1.96 * std, color=colour, alpha=0.2, lw=0, label="95 %")
    ax.plot(hours, y_test[week], ".", color="0.25", markersize=3, label="observed")
    ax.set(title=f"a week in {title}", ylabel="demand (GW)", xlim=(0, 168), xticks=np.arange(0, 169, 24))
axes[1].set_xlabel("hours since the start of the week shown")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)

# %%
# Are the intervals right? A calibrated forecast has as many observations inside its intervals as it says. Noise that is
# normal and independent, as in the made-up years, gives a straight line. Real demand has heat waves that last for days
# and that no season explains: many errors are then small and a few are very large.

ax = plt.figure(figsize=(4.6, 4.2), layout="constrained").subplots()
calibration = CalibrationDisplay.from_estimator(models["interacting"], X_test, y_test).plot(ax)
ax.set_title("calibration of the forecast")

# %%
# Attribution
# -----------
# On the torus the variance of the fitted function divides exactly among the seasons and their interactions (Sobol
# indices), with no sampling. Bars carry 95 % intervals.

model = models["interacting"]
attribution = AttributionDisplay.from_indices(analysis.sobol_indices(model)).plot()
attribution.figure_.suptitle("which seasons act, alone and together")

# %%
# Effects
# -------
# What each season does on its own, averaged over the others. Weekdays count from 0, a Monday; between them, where no
# row lies, the curve is the model's guess and its band is wider.

figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), layout="constrained")
for ax, season in zip(axes, SEASONS, strict=True):
    EffectDisplay.from_estimator(model, season, target="demand (GW)").plot(ax)
figure.suptitle("what each season does on its own")

# %%
# And what the hour and the time of the year do *together* beyond that, which no sum of seasons can have:

figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
effect = EffectDisplay.from_estimator(model, ["hour of day", "day of year"], target="demand (GW)").plot(axes)
figure.suptitle("what the hour and the time of the year do together")
