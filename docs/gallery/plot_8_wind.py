"""
Where the air comes from: NOx over wind direction and speed
===========================================================

A monitor beside a busy street measures nitrogen oxides. From which direction do they come, and does more wind carry
them in or away? Direction is a circle and speed is not, and the two interact: wind across the street canyon brings the
exhaust to the monitor, wind from the other side clears it away. Concentrations are positive and vary by factors, so
their logarithm is modelled. What traffic does at each hour is a second term.
"""

# %%
# Data
# ----
# Hourly values from Marylebone Road in London, 1998 to 2005, if they are at hand; otherwise made-up ones of that kind.
# Alternate fortnights are held out.

# sphinx_gallery_thumbnail_number = 1
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from torusgp import Circle, Line, TorusGPRegressor

NAMES = {"wind_direction_deg": "direction", "wind_speed_m_s": "speed", "nox_ppb": "nox"}


def make_nox(n=20_000, noise_std=0.4):
    """Made-up hours: a street canyon that runs from west to east, with the monitor on its southern side."""
    rng = np.random.default_rng(0)
    time = pd.date_range("1998-01-01", periods=n, freq="h", tz="UTC")
    hour = time.hour.to_numpy()
    direction = np.degrees(rng.vonmises(np.radians(230), 0.8, n)) % 360
    speed = rng.gamma(4.0, 1.1, n)
    across = np.cos(np.radians(direction - 190)) * speed / (2 + speed)
    traffic = 0.6 * np.cos(2 * np.pi * (hour - 14) / 24) + 0.25 * np.cos(4 * np.pi * (hour - 8) / 24)
    nox = np.exp(5.0 + 0.9 * across - 0.05 * speed + traffic + rng.normal(0, noise_std, n))
    return pd.DataFrame({"time": time, "direction": direction, "speed": speed, "nox": nox})


file = Path(os.environ.get("TORUSGP_DATA", ""), "openair/london_nox.csv.gz")
if file.is_file():
    air = pd.read_csv(file, parse_dates=["time_utc"]).rename(columns={"time_utc": "time", **NAMES})
    air = air[["time", "direction", "speed", "nox"]].dropna()
    air = air[(air["nox"] > 0) & (air["speed"] < 12)].reset_index(drop=True)  # storms are few
else:
    air = make_nox()
air["hour"] = air["time"].dt.hour
fortnight = (air["time"] - air["time"].min()).dt.days // 14
train, test = air[fortnight % 2 == 0], air[fortnight % 2 == 1]
print(f"{len(train)} hours to learn from, {len(test)} held out")

# %%
# Fit
# ---
# ``Circle * Line`` holds the effect of the direction, that of the speed, and what they do together.

inputs = ["direction", "speed", "hour"]
wind = (Circle("direction", 360) * Line("speed")).named("wind")
hour = Circle("hour", 24)
for name, kernel in (
    ("wind", wind + hour),
    ("direction and speed, added", Circle("direction", 360) + Line("speed") + hour),
):
    model = TorusGPRegressor(kernel, likelihood="log_normal", n_components=401).fit(train[inputs], train["nox"])
    low, median, high = model.predict_quantiles(test[inputs], [0.05, 0.5, 0.95]).T
    error = np.log(test["nox"] / median)
    inside = np.mean((test["nox"] > low) & (test["nox"] < high))
    r2 = 1 - np.mean(error**2) / np.var(np.log(test["nox"]))
    print(f"{name:27} R2 of the logarithm {r2:.3f}, {inside:.1%} inside 90 % intervals")
    if name == "wind":
        chosen = model

# %%
# The wind
# --------
# The part of the term, as a factor by which NOx is above or below its average: on the logarithm parts add up, on the
# concentration they multiply. On the right by how many per cent that factor may be off, one standard deviation; there
# are few strong winds from the north-east. The distance from the middle is the speed.

direction, speed = np.linspace(0, 360, 73), np.linspace(air["speed"].min(), air["speed"].quantile(0.99), 40)
grid = np.stack(np.meshgrid(direction, speed, indexing="ij"), -1).reshape(-1, 2)
grid = pd.DataFrame({"direction": grid[:, 0], "speed": grid[:, 1], "hour": 12.0})
mean, std = (values[:, 0].reshape(73, 40) for values in chosen.predict_parts(grid, return_std=True))
figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.6), subplot_kw={"projection": "polar"}, layout="constrained")
angle = np.radians(direction)
limit = np.abs(mean).max()
pictures = (
    axes[0].pcolormesh(
        angle, speed, mean.T, cmap="PuOr_r", vmin=-limit, vmax=limit, shading="gouraud", rasterized=True
    ),
    axes[1].pcolormesh(angle, speed, 100 * std.T, cmap="cividis", shading="gouraud", rasterized=True),
)
for ax, title in zip(axes, ("NOx, relative to its average", "its standard deviation"), strict=True):
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)  # a compass
    ax.set_xticks(np.radians(np.arange(0, 360, 90)), ["N", "E", "S", "W"])
    ax.set(title=title, rlabel_position=110, yticks=[3, 6, 9])
    for label in ax.set_yticklabels(["3 m/s", "6 m/s", "9 m/s"]):
        label.set_bbox({"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1})
    ax.grid(alpha=0.4)
factors = [factor for factor in (1 / 4, 1 / 3, 1 / 2, 2 / 3, 1, 1.5, 2, 3, 4) if abs(np.log(factor)) <= limit]
bar = figure.colorbar(pictures[0], ax=axes[0], shrink=0.75, ticks=np.log(factors), label="times the average")
bar.ax.set_yticklabels([f"{factor:.2g}" for factor in factors])
bar = figure.colorbar(pictures[1], ax=axes[1], shrink=0.75, label="per cent")

# %%
# The hour
# --------
# Traffic, with its 95 % band.

hours = np.linspace(0, 24, 97)
rows = pd.DataFrame({"direction": 180.0, "speed": 4.0, "hour": hours})
mean, std = (values[:, 1] for values in chosen.predict_parts(rows, return_std=True))
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.plot(hours, np.exp(mean), color="#0072B2")
ax.fill_between(hours, np.exp(mean - 1.96 * std), np.exp(mean + 1.96 * std), color="#0072B2", alpha=0.25, lw=0)
ax.axhline(1, color="0.3", lw=0.8)
ax.set(xlim=(0, 24), xticks=np.arange(0, 25, 4), xlabel="hour of day (UTC)", ylabel="NOx (times the average)")
ax.set_title("what the hour does")
ax.grid(alpha=0.3)
