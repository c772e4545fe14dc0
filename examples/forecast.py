"""A table of hourly demand: fit it, forecast the next week from a weather forecast, and see what drives it.

    python examples/forecast.py [picture.png]

The demand is made up, by demand.py beside this file: its table is written to demand.csv and the weather of the next
week to weather.csv, to try the command on.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from demand import write_tables

from torusgp import TableModel

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"


def main(picture="forecast.png"):
    known, future = write_tables()
    model = TableModel("demand", terms="hour * weekday + hour * temperature + time").fit(known)
    forecast = model.forecast("7d", future=future.drop(columns="demand"), quantiles=(0.025, 0.5, 0.975))
    inside = np.mean((future["demand"] >= forecast.quantiles[:, 0]) & (future["demand"] <= forecast.quantiles[:, 2]))
    error = np.mean(np.abs(future["demand"].to_numpy() - forecast.mean))
    print(f"mean absolute error {error:.1f} MW; 95 % intervals contain {inside:.0%} of the week")

    figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1.15, 1))
    axes = top.subplots()
    recent = known[-4 * 24 :]
    axes.plot(recent["time"], recent["demand"], color=GREY, label="history")
    axes.fill_between(forecast.times, *forecast.quantiles[:, [0, 2]].T, color=BLUE, alpha=0.25, label="95 % interval")
    axes.plot(forecast.times, forecast.mean, color=BLUE, label="forecast")
    axes.plot(future["time"], future["demand"], ".", color=ORANGE, markersize=3, label="what happened")
    axes.set(ylabel="demand (MW)", title="The next week, from a forecast of the temperature")
    axes.legend(ncols=4, loc="upper center", frameon=False)
    axes.set_ylim(top=axes.get_ylim()[1] + 0.15 * np.ptp(axes.get_ylim()))
    left, right = bottom.subplots(1, 2)
    hours = pd.date_range("2024-05-06", periods=168, freq="h")
    week = model.predict(pd.DataFrame({"time": hours, "temperature": 15.0}))["mean"].to_numpy()
    for day, name, colour in ((0, "Monday", BLUE), (5, "Saturday", ORANGE)):
        left.plot(range(24), week[24 * day : 24 * (day + 1)], color=colour, label=name)
    left.set(xlabel="hour of the day", ylabel="demand (MW)", title="At 15 °C", xticks=range(0, 25, 6))
    left.legend(frameon=False)
    degrees = np.linspace(known["temperature"].quantile(0.01), known["temperature"].quantile(0.99), 60)
    for hour, colour in ((3, BLUE), (19, ORANGE)):
        at = pd.DataFrame({"time": pd.Timestamp("2024-05-06") + pd.Timedelta(hours=hour), "temperature": degrees})
        right.plot(degrees, model.predict(at)["mean"], color=colour, label=f"{hour}:00")
    right.set(xlabel="temperature (°C)", ylabel="demand (MW)", title="On a Monday")
    right.legend(frameon=False)
    figure.savefig(picture, dpi=110)
    print(f"Written: demand.csv, weather.csv, {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
