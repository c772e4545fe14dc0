"""Made-up hourly demand: writes demand.csv, and weather.csv with the temperatures of the week after it.

    python examples/demand.py

Evenings of working days, heating and cooling that depend on the hour, and weather that lasts.
"""

import numpy as np
import pandas as pd


def make_demand(n_weeks=40, seed=3):
    """Times, temperature and demand in MW, hour by hour."""
    rng = np.random.default_rng(seed)
    time = pd.date_range("2024-01-01", periods=n_weeks * 168, freq="h")
    hour, weekend = time.hour.to_numpy(), time.day_of_week.to_numpy() >= 5
    season = -np.cos(2 * np.pi * time.day_of_year.to_numpy() / 366)
    weather = np.zeros(len(time))
    for i in range(1, len(time)):  # days of warm and of cold weather
        weather[i] = 0.985 * weather[i - 1] + rng.normal(0, 0.6)
    temperature = 12 + 9 * season + weather + 4 * np.cos(2 * np.pi * (hour - 15) / 24)
    evening = np.exp(3 * (np.cos(2 * np.pi * (hour - 19) / 24) - 1))
    morning = np.exp(4 * (np.cos(2 * np.pi * (hour - 8) / 24) - 1))
    demand = 400 + np.where(weekend, 60, 140) * evening + np.where(weekend, 10, 90) * morning
    demand += 6 * np.maximum(15 - temperature, 0) * (0.6 + evening) + 7 * np.maximum(temperature - 22, 0)
    error = np.zeros(len(time))
    for i in range(1, len(time)):  # what nobody measures lasts for hours
        error[i] = 0.9 * error[i - 1] + rng.normal(0, 6)
    return pd.DataFrame({"time": time, "temperature": temperature, "demand": demand + error})


def write_tables():
    """Write both tables; returns the rows that are known, and the week after them."""
    table = make_demand()
    known, future = table[:-168], table[-168:]
    known.to_csv("demand.csv", index=False, float_format="%.2f")
    future.drop(columns="demand").to_csv("weather.csv", index=False, float_format="%.2f")
    return known, future


if __name__ == "__main__":
    write_tables()
    print("Written: demand.csv, weather.csv")
