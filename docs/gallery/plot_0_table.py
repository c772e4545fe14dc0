"""
A table in, a forecast out: next week's demand
==============================================

Most forecasts begin with a table: a column of times, a column to forecast, and columns that may matter. ``TableModel``
takes it as it is. Here it is the demand for electricity, hour by hour, with the temperature. We forecast a week, and
ask how sure that is, whether the model is any good, and what drives it.
"""

# %%
# Data
# ----
# Eight weeks of hourly demand with the temperature, made up: evenings of working days, heating that depends on the
# hour, and errors that last for hours. The last week plays the future: of it only the temperature is known.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from torusgp import TableModel
from torusgp.views.plotting import AttributionDisplay


def made_up_table(n_rows):
    """Evenings of working days, heating that depends on the hour, and weather and errors that last."""
    rng = np.random.default_rng(3)
    time = pd.date_range("2014-05-05", periods=n_rows, freq="h")
    hour, weekend = time.hour.to_numpy(), time.day_of_week.to_numpy() >= 5
    weather, error = np.zeros(n_rows), np.zeros(n_rows)
    for i in range(1, n_rows):
        weather[i] = 0.985 * weather[i - 1] + rng.normal(0, 0.5)
        error[i] = 0.9 * error[i - 1] + rng.normal(0, 0.04)
    temperature = 12 + weather + 4 * np.cos(2 * np.pi * (hour - 15) / 24)
    evening = np.exp(3 * (np.cos(2 * np.pi * (hour - 19) / 24) - 1))
    heating = 0.05 * np.maximum(16 - temperature, 0) * (0.6 + evening)
    demand = 4 + np.where(weekend, 0.6, 1.2) * evening + heating + error
    return pd.DataFrame({"time": time, "temperature": temperature.round(1), "demand": demand.round(3)})


table = made_up_table(56 * 24)
known, week = table[:-168], table[-168:]
print(known.tail(3).to_string(index=False))

# %%
# A forecast
# ----------
# A formula says which inputs interact: the hour with the weekday, and with the temperature. ``time`` is slow change.
# Errors of neighbouring hours are alike; the model learns for how long, so that the band starts narrow and grows.

model = TableModel("demand", terms="hour * weekday + hour * temperature + time", unit="GW")
model.fit_and_evaluate(known)
forecast = model.forecast("7d", future=week.drop(columns="demand"), quantiles=(0.025, 0.5, 0.975))
inside = np.mean((week["demand"] >= forecast.quantiles[:, 0]) & (week["demand"] <= forecast.quantiles[:, 2]))
error = np.mean(np.abs(week["demand"] - forecast.mean))
print(f"mean absolute error {error:.3f} GW; 95 % intervals contain {inside:.0%} of the week")

figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
recent = known[-5 * 24 :]
ax.plot(recent["time"], recent["demand"], color="0.4", label="history")
ax.fill_between(forecast.times, *forecast.quantiles[:, [0, 2]].T, alpha=0.25, label="95 % interval")
ax.plot(forecast.times, forecast.mean, color="C0", label="forecast")
ax.plot(week["time"], week["demand"], ".", color="C1", markersize=3, label="what happened")
ax.set(ylabel="demand (GW)", title="The next week, given its temperature")
ax.legend(ncols=4, loc="upper center", frameon=False)
ax.set_ylim(top=ax.get_ylim()[1] + 0.15 * np.ptp(ax.get_ylim()))
figure.autofmt_xdate()

# %%
# Is it any good?
# ---------------
# What the report and the command line say, as an object. The verdict is about the rows held out, beside a forecast that
# repeats the last season.

found = model.findings()
print(found.verdict)
print(found.drivers)
for one in found.findings:
    print(f"{one.level}: {one.text}")

# %%
# What drives it
# --------------
# Shares of the variance of the predictions. ``model.report("demand.html")`` writes a page with this, each effect, where
# errors are large, and what is wrong with the data; ``model.plot()`` draws the rows held out.

AttributionDisplay.from_estimator(model).plot()
model.plot()
plt.show()
