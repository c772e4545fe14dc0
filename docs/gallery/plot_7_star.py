"""
A rotating star: something that turns, and forgets
==================================================

Spots on a star make it fainter whenever they face us. The light therefore repeats with the rotation, but not for long:
spots grow, fade and drift. Such a signal is *quasi-periodic*: a circle for the turn, times a line for how long the
pattern lasts. Neither the period nor the time after which the star forgets is known; both are learned.
"""

# %%
# Data
# ----
# The brightness of the star KIC 1430163, as the Kepler telescope saw it, if it is at hand; otherwise a
# made-up star with spots that come and go. Brightness is in parts per thousand around its median, time in days.

# sphinx_gallery_thumbnail_number = 1
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from torusgp import Circle, Line, TorusGPRegressor, find_period


def make_star(period=3.9, n=5000, noise_std=0.05):
    """A made-up star: spots at changing longitudes that live for some weeks."""
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0, 100, n))
    flux = np.zeros(n)
    for born in np.arange(-20, 110, 9.0):
        age = (time - born - rng.uniform(0, 9)) / rng.uniform(8, 16)
        longitude = 2 * np.pi * time / (period * rng.normal(1, 0.01)) + rng.uniform(0, 2 * np.pi)
        flux -= rng.uniform(1, 3) * np.exp(-0.5 * age**2) * np.exp(2 * (np.cos(longitude) - 1))
    return time, flux - np.median(flux) + rng.normal(0, noise_std, n)


file = Path(os.environ.get("TORUSGP_DATA", ""), "kepler/kic_1430163.csv.gz")
time, flux = pd.read_csv(file).to_numpy().T[:2] if file.is_file() else make_star()
time = time - time[0]

# %%
# The brightness of every six hours, of the first hundred days, is enough to see a star turn in days. Ten days are held
# out to be filled.

WIDTH = 0.25  # days
first = time < 100
means = pd.DataFrame({"time": time[first], "flux": flux[first]}).groupby(np.floor(time[first] / WIDTH)).mean()
t, y = means[["time"]].to_numpy(), means["flux"].to_numpy()
gap = (t[:, 0] > 50) & (t[:, 0] < 60)
print(f"{len(y)} values over {np.ptp(t):.0f} days, spread {y.std():.2f} parts per thousand, {gap.sum()} held out")

# %%
# Does it repeat?
# ---------------
# Not strictly: :func:`torusgp.find_period` looks for what repeats as long as there are data, and finds nothing.

print(f"{len(find_period(t, y))} strict periods found")

# %%
# Fit
# ---
# The product of a circle and a line of the same input: brightness is alike after a turn, and less so after several. The
# period is learned within bounds, by the gradient of the evidence; the length scale of the line is how long the pattern
# lasts. By default it would be at least one period; here the bounds are given.

turn = Circle("time", 4.0, period_bounds=(2, 8), name="turn")
memory = Line("time", length_scale=12, length_scale_bounds=(1, 100), name="memory")
X = pd.DataFrame({"time": t[:, 0]})
model = TorusGPRegressor(turn * memory, n_components=801).fit(X[~gap], y[~gap])
_, lasting = model.kernel_.length_scale["turn * memory"]
print(f"period {model.period_:.3f} +- {model.period_std_:.3f} days, the pattern lasts for {lasting:.1f} days")
print(f"noise {np.sqrt(model.noise_variance_):.3f} parts per thousand, {model.index_set_.n_components} components")

# %%
# The standard error holds all else as it was learned, and takes the model for true; real stars are not that simple. The
# published period of KIC 1430163, by another Gaussian process (celerite), is 3.80 +- 0.15 days.
#
# The light
# ---------
# Near its edges the gap is filled from the turns around it. In the middle the star has forgotten, as far as its memory
# is short, and the band is as wide as the prior.

grid = pd.DataFrame({"time": np.linspace(35, 75, 800)})
mean, std = model.predict(grid, return_std=True)
figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
ax.axvspan(50, 60, color="0.93", lw=0)
ax.fill_between(grid["time"], mean - 1.96 * std, mean + 1.96 * std, color="#0072B2", alpha=0.25, lw=0, label="95 %")
ax.plot(grid["time"], mean, color="#0072B2", label="prediction")
ax.plot(t[~gap], y[~gap], ".", color="0.2", markersize=4, label="observed")
ax.plot(t[gap], y[gap], "x", color="#D55E00", markersize=5, label="held out")
ax.set(xlim=(35, 75), xlabel="time (days)", ylabel="brightness (parts per thousand)", title="a star with spots")
ax.grid(alpha=0.3)
ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, -0.34), frameon=False)
_, std = model.predict(X[gap], return_std=True)
inside = np.mean(abs(y[gap] - model.predict(X[gap])) < 1.96 * std)
print(f"95 % intervals contain {inside:.0%} of the values held out")

# %%
# How long is the memory?
# -----------------------
# The learned kernel says how alike the light is after some days: a comb with the period, under the curve of the line.

lag = np.linspace(0, 25, 501)
alike = model.kernel_(pd.DataFrame({"time": lag}), pd.DataFrame({"time": [0.0]}))[:, 0]
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(lag, alike, color="#0072B2", label="kernel")
ax.plot(lag, np.exp(-0.5 * (lag / lasting) ** 2), "--", color="#D55E00", label="memory alone")
ax.set(
    xlim=(0, 25),
    ylim=(0, 1.02),
    xlabel="days between two moments",
    ylabel="correlation",
    title="turning and forgetting",
)
ax.grid(alpha=0.3)
ax.legend(frameon=False)
