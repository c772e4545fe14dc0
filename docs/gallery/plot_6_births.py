"""
Births: a trend, a season, and a weekday whose strength drifts
==============================================================

How many children are born on a day depends on the decade, on the time of the year and on the day of the week, and the
last of these changes: ever more births are planned, and planned births do not happen on Sundays. This is the classic
decomposition by a Gaussian process (the cover of *Bayesian Data Analysis*). Here it is a sum of three terms, one of
them a product: a weekday that is multiplied with slow time.
"""

# %%
# Data
# ----
# Births in the United States on each day of 1969 to 1988 if they are at hand; otherwise twenty made-up years of that
# kind. The target is in per cent of the average day.

# sphinx_gallery_thumbnail_number = 2
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from torusgp import Category, Circle, Line, TorusGPRegressor

WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def make_births(dates, noise_std=2.5):
    """Made-up births: a dip in the seventies, more of them in September, fewer on holidays and weekends."""
    years = np.arange(len(dates)) / 365.25
    trend = 8 * np.cos(2 * np.pi * years / 25) + 0.4 * years
    season = 4 * np.cos(2 * np.pi * (years - 0.68)) + 2 * np.cos(4 * np.pi * (years - 0.65))
    holiday = np.where(dates.strftime("%d %b").isin(["01 Jan", "04 Jul", "25 Dec"]), -15.0, 0.0)
    strength = 0.7 + 0.04 * years
    weekday = np.array([1.0, 7.0, 3.0, 2.5, 3.5, -7.0, -10.0])[dates.day_of_week] * strength
    return 100 + trend + season + holiday + weekday + np.random.default_rng(0).normal(0, noise_std, len(dates))


file = Path(os.environ.get("TORUSGP_DATA", ""), "births/us_births_1969_1988.csv.gz")
if file.is_file():
    births = pd.read_csv(file, parse_dates=["date"])
    dates, y = pd.DatetimeIndex(births["date"]), 100 * births["births"].to_numpy() / births["births"].mean()
else:
    dates = pd.date_range("1969-01-01", "1988-12-31")
    y = make_births(dates)
X = pd.DataFrame({"day": np.arange(len(dates), dtype=float), "weekday": np.array(WEEKDAYS)[dates.day_of_week]})
print(f"{len(y)} days")

# %%
# Fit
# ---
# The trend is a line in time, the season a circle of 365.25 days of the same input, and the weekday a category, since
# Sunday tells nothing about Monday. Times a line in time, its effects may drift. The length scale of a line is bounded
# below by the longest period of the same input: a trend that changed within a year would compete with the season. The
# two lines start from different length scales, so each gets a circle of its own size. What all weekdays share is the
# trend's, so the weekday has nothing in common by itself: ``correlation=0``.

trend = Line("day", length_scale=500, name="trend")
season = Circle("day", 365.25, length_scale=0.5, name="time of the year")
weekday = (Category("weekday", correlation=0) * Line("day", length_scale=5000)).named("drifting weekday")
drifting = TorusGPRegressor(trend + season + weekday, n_components=501).fit(X, y)
constant = TorusGPRegressor(trend + season + Category("weekday"), n_components=501).fit(X, y)
for name, model in (("constant", constant), ("drifting", drifting)):
    evidence, noise = model.log_marginal_likelihood_, np.sqrt(model.noise_variance_)
    print(
        f"{name} weekdays: log evidence {evidence:.0f}, noise {noise:.2f} %, {model.index_set_.n_components} components"
    )

# %%
# The terms
# ---------
# ``predict_parts`` gives what each term contributes, with its uncertainty. Parts are centred on the days of the fit.
# Length scales of lines are in days; that of a circle is in radians, of which a day has 0.017. In the data of
# the United States the season has learned one of two days or so, since holidays at fixed dates belong to it: they are
# the dips on the right.

model = drifting
parts, stds = model.predict_parts(X, return_std=True)
for name, part, scales in zip(model.term_names_, parts.T, model.kernel_.length_scale.values(), strict=True):
    print(f"{name:20} varies by {part.std():4.1f} %, length scales {scales.round(2)}")

figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
axes[0].plot(dates, y - 100, ".", color="0.75", markersize=1, rasterized=True)
for ax, x, rows, part in (
    (axes[0], dates, np.arange(len(y)), 0),
    (axes[1], dates[365:731], np.arange(365, 731), 1),  # 1970
):
    ax.plot(x, parts[rows, part], color="#0072B2")
    band = 1.96 * stds[rows, part]
    ax.fill_between(x, parts[rows, part] - band, parts[rows, part] + band, color="#0072B2", alpha=0.25, lw=0)
    ax.grid(alpha=0.3)
axes[0].set(title="trend, and all days", ylabel="births (% above the average day)", ylim=(-35, 35))
axes[1].set(title="time of the year", ylabel="births (% above the average day)")
axes[1].set_xticks(dates[365:731][[0, 59, 120, 181, 243, 304]], ["Jan", "Mar", "May", "Jul", "Sep", "Nov"])

# %%
# The weekday over the years, with 95 % bands. In the data of the United States the weekend falls further behind
# from year to year. Bands are wide because a common shift of all weekdays could as well belong to the trend.

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
colours = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00"]
monthly = np.arange(0, len(y), 30)
for level, colour, dash in zip(WEEKDAYS, colours, ["-", "--", "-.", ":", (0, (5, 1)), "-", "-"], strict=True):
    rows = pd.DataFrame({"day": X["day"].iloc[monthly], "weekday": level})
    mean, std = (values[:, 2] for values in model.predict_parts(rows, return_std=True))
    ax.plot(dates[monthly], mean, color=colour, linestyle=dash, label=level)
    ax.fill_between(dates[monthly], mean - 1.96 * std, mean + 1.96 * std, color=colour, alpha=0.2, lw=0)
ax.set(title="what the weekday adds", ylabel="births (% of the average day)")
ax.grid(alpha=0.3)
ax.legend(ncols=7, loc="lower center", bbox_to_anchor=(0.5, -0.22), frameon=False)

# %%
# What the parts do not say
# -------------------------
# The standard deviation of a part says how well that part is known, and parts are known less well than their sum: what
# one of them could have more of, another could have less of. Their variances add up to more than that of the whole.

_, std = model.predict(X, return_std=True, include_noise=False)
print(
    f"standard deviation of the whole {std.mean():.2f} %, of independent parts {np.sqrt((stds**2).sum(1)).mean():.2f} %"
)
