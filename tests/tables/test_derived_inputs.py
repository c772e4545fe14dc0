"""Inputs that are made of columns: moving means and holidays."""

import math
import sys

import numpy as np
import pandas as pd
import pytest

from torusgp import TableModel
from torusgp.data.tables import TableError
from torusgp.tables.inputs import History, check_holidays, holiday_levels, parse_lags, window_means


def make_frame(n_days=40, seed=0):
    """Hours whose level follows the mean temperature of a day."""
    rng = np.random.default_rng(seed)
    when = pd.date_range("2024-12-01", periods=24 * n_days, freq="h")
    temperature = pd.Series(10 + np.cumsum(rng.normal(size=len(when))))
    mean = temperature.rolling(24, min_periods=1).mean()
    y = np.cos(2 * np.pi * when.hour / 24) + 0.5 * mean + 0.1 * rng.normal(size=len(when))
    return pd.DataFrame({"when": when, "temperature": temperature, "y": y})


class TestLags:
    @pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
    def test_they_are_trailing_means_in_time(self, zone):
        frame = make_frame(6)
        rng = np.random.default_rng(1)
        frame = frame[rng.uniform(size=len(frame)) < 0.9].sample(frac=1, random_state=0)  # gaps, in any order
        frame.loc[rng.uniform(size=len(frame)) < 0.1, "temperature"] = np.nan
        order = frame["when"].dt.tz_localize(zone)
        lags = parse_lags({"temperature": "5h"})
        history = History.from_rows(order, {"temperature": frame["temperature"]}, lags)
        found = history.moving_mean(lags[0], order, frame["temperature"])
        for row in frame.index:
            inside = (frame["when"] <= frame.loc[row, "when"]) & (
                frame["when"] > frame.loc[row, "when"] - pd.Timedelta("5h")
            )
            values = frame.loc[inside, "temperature"].dropna()
            if len(values) >= 2.5:
                assert found[row] == pytest.approx(values.mean())
            else:
                assert np.isnan(found[row])

    @pytest.mark.parametrize(
        "level", ["usual", "offset 1e12", "offset -1e15", "one 1e20", "a few 1e300", "ten decades", "some missing"]
    )
    @pytest.mark.parametrize("window", [1.0, 24.0, 100.0, 1e6])
    def test_each_is_the_mean_of_its_own_values_alone(self, level, window):
        rng = np.random.default_rng(2)
        times = np.cumsum(rng.uniform(0.5, 1.5, 700))
        values = rng.normal(size=700)
        if level.startswith("offset"):
            values += float(level.split()[1])
        elif level == "one 1e20":
            values[50] = 1e20
        elif level == "a few 1e300":
            values[[10, 300, 301]] = 1e300, -1e300, 1e300
        elif level == "ten decades":
            values *= 10.0 ** rng.uniform(-5, 5, 700)
        elif level == "some missing":
            values[rng.uniform(size=700) < 0.3] = np.nan
        found = window_means(times, values, window, 0.0)
        for row in range(0, 700, 7):
            inside = values[: row + 1][times[: row + 1] > times[row] - window * (1 - 1e-9)]
            inside = inside[~np.isnan(inside)]
            if len(inside):
                expected = math.fsum(inside) / len(inside)  # exact but for the last rounding
                assert found[row] == pytest.approx(expected, rel=1e-14, abs=1e-28 * np.abs(inside).max())
            else:
                assert np.isnan(found[row])

    def test_they_go_on_from_the_rows_that_were_fitted(self, tmp_path):
        frame = make_frame()
        options = {"lags": {"temperature": "24h"}, "errors": "independent", "n_components": 61}
        model = TableModel("y", terms="hour + temperature_24h", **options)
        model.fit(frame[:800]).save(tmp_path / "model.npz")
        assert model.n_dropped_ == 11  # at the beginning
        loaded = TableModel.load(tmp_path / "model.npz")
        later = loaded.predict(frame[800:810])
        longer = loaded.set_params(drop_missing=True).predict(frame[700:])
        pd.testing.assert_frame_equal(later, longer.loc[800:809])
        loaded.set_params(drop_missing=False)
        forecast = loaded.forecast("10h", future=frame[800:][["when", "temperature"]])
        np.testing.assert_allclose(forecast.mean, later["mean"])
        assert model.evaluate(frame[800:]).r2 > 0.95
        with pytest.raises(TableError, match=r"miss a value \(by column: 'temperature_24h' 11"):
            loaded.predict(frame[900:])

    def test_numbers_order_rows_too(self):
        frame = make_frame(20)
        frame["hours"] = np.arange(len(frame))
        options = {"periods": {"hours": 24}, "time": "hours", "n_components": 61}
        model = TableModel("y", inputs=[], lags={"temperature": 24}, **options).fit(frame)
        assert model.inputs_.names == ["hours", "temperature_24"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"lags": {"temperature": "3 moons"}}, r"'3 moons' of 'temperature' must be a span such as 3h"),
            ({"lags": {"temperature": ["3h", "3h"]}}, "temperature_3h is given twice"),
            ({"lags": {"temperature": -1}}, "must be a span"),
            ({"lags": {"temperature": 3}}, "must be a span such as 24h"),
            ({"lags": {"temprature": "3h"}}, "Did you mean 'temperature'"),
            ({"lags": "temperature"}, "lags must name columns and windows"),
            ({"holidays": "Neverland"}, "no country 'Neverland'"),
            ({"holidays": "AU-VICTORIA"}, "AU has no part 'VICTORIA'; it has ACT"),
        ],
    )
    def test_what_is_wrong_is_told(self, options, message):
        with pytest.raises(ValueError, match=message):
            TableModel("y", **options).fit(make_frame(3))

    def test_they_need_the_time(self):
        frame = make_frame(3).drop(columns="when")
        with pytest.raises(TableError, match="time needs a column of times"):
            TableModel("y", inputs=["temperature"], lags={"temperature": "3h"}).fit(frame)


class TestHolidays:
    def test_days_before_and_after(self):
        texts = ["2024-12-23T12:00", "2024-12-24T00:00", "2024-12-25T23:59", "2024-12-27T00:00", "2025-01-01T00:00"]
        times = pd.Series(pd.to_datetime(texts))
        assert holiday_levels(times, "AU-VIC").tolist() == ["no", "day before", "holiday", "day after", "holiday"]
        missing = holiday_levels(times.where(times.index != 1), "AU-VIC")
        assert missing.isna().tolist() == [False, True, False, False, False]

    def test_the_clock_of_the_zone_decides(self):
        midnight = pd.Series(pd.to_datetime(["2024-12-24 14:00"], utc=True))
        assert holiday_levels(midnight.dt.tz_convert("Australia/Melbourne"), "AU").tolist() == ["holiday"]
        assert holiday_levels(midnight, "AU").tolist() == ["day before"]

    def test_they_are_an_input(self):
        when = pd.date_range("2020-01-01", "2024-12-31", freq="D")
        level = holiday_levels(pd.Series(when), "DE")
        y = np.where(level == "holiday", -5.0, 0) + np.where(level == "day before", 3.0, 0)
        frame = pd.DataFrame({"when": when, "y": y + np.random.default_rng(0).normal(0, 0.5, len(when))})
        model = TableModel("y", terms="weekday + holidays", holidays="DE", n_components=21).fit(frame)
        found = model.predict(pd.DataFrame({"when": ["2025-12-23", "2025-12-24", "2025-12-25"]}))["mean"]
        np.testing.assert_allclose(found, [0, 3, -5], atol=0.5)
        assert model.forecast("3d").mean[0] < -4  # New Year's Day

    def test_the_library_is_asked_for(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "holidays", None)
        with pytest.raises(ImportError, match=r'pip install "torusgp\[holidays\]"'):
            check_holidays("DE")
