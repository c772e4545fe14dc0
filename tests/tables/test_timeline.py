"""How the times of a table go on."""

import datetime

import numpy as np
import pandas as pd
import pytest

from torusgp.data.tables import TableError
from torusgp.tables.timeline import Horizon, Timeline


def series(times):
    return pd.Series(times, name="time")


def following(times, horizon):
    """Times after those of a series, by a grid that was stored in between."""
    return Timeline.from_json(Timeline.from_order(series(times)).to_json()).after(horizon)


@pytest.mark.parametrize("frequency", ["7min", "30min", "h", "6h", "D", "W-WED", "MS", "ME", "QS", "YS", "B"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_regular_times_go_on_as_pandas_goes_on(frequency, zone):
    whole = pd.date_range("2023-01-02", periods=160, freq=frequency, tz=zone)
    found = following(whole[:100], 60)
    assert found.name == "time"
    assert found.tolist() == whole[100:].tolist()


@pytest.mark.parametrize("frequency", ["h", "D", "MS"])
def test_gaps_do_not_matter(frequency):
    whole = pd.date_range("2023-01-01", periods=500, freq=frequency)
    kept = np.random.default_rng(0).random(400) < 0.8
    kept[-1] = True
    assert following(whole[:400][kept], 100).tolist() == whole[400:].tolist()


def test_hours_go_on_through_both_changes_of_the_clock():
    for day in ("2024-03-31", "2024-10-27"):
        start = pd.Timestamp(day, tz="Europe/Berlin") - pd.Timedelta(days=20)
        whole = pd.date_range(start, periods=24 * 24, freq="h")
        found = following(whole[: 20 * 24], "4d")
        steps = found.diff().dropna().unique()
        assert steps.tolist() == [pd.Timedelta(hours=1)]
        assert found.iloc[-1] == whole[20 * 24 - 1] + pd.DateOffset(days=4)  # four days on the wall clock
        assert len(found) == 96 + (1 if day.startswith("2024-10") else -1)


def test_days_begin_at_midnight_whatever_the_clock_does():
    days = pd.date_range("2024-02-01", "2024-03-20", freq="D", tz="Europe/Berlin")
    found = following(days, "4w")
    assert len(found) == 28
    assert (found == found.dt.normalize()).all()


def test_a_fixed_offset_is_kept():
    times = pd.to_datetime(["2024-01-01T00:00+02:00", "2024-01-01T01:00+02:00", "2024-01-01T02:00+02:00"])
    assert following(times, 1).tolist() == [pd.Timestamp("2024-01-01T03:00+02:00")]


class TestTimesOfTheWeek:
    def test_closed_nights_and_sundays_stay_closed(self):
        times = pd.date_range("2024-01-01", "2024-03-03 23:00", freq="h")
        is_open = (times.hour >= 8) & (times.hour < 20) & (times.day_of_week < 6)
        found = following(times[is_open], "14d")
        assert set(found.dt.hour) == set(range(8, 20))
        assert set(found.dt.day_of_week) == set(range(6))
        # 14 days from Saturday evening on, which is the last row
        assert len(found) == 12 * 12

    def test_nights_of_less_than_two_weeks(self):
        times = pd.date_range("2024-01-01", periods=24 * 5, freq="h")
        assert set(following(times[times.hour >= 6], 40).dt.hour) == set(range(6, 24))

    @pytest.mark.parametrize("n_weeks", [3, 8])
    def test_gaps_at_random_are_no_pattern_and_hide_none(self, n_weeks):
        times = pd.date_range("2024-01-01", periods=168 * n_weeks, freq="h")
        kept = (times.hour >= 8) & (np.random.default_rng(n_weeks).random(len(times)) < 0.75)
        assert following(times[kept], "7d").dt.hour.value_counts().to_dict() == dict.fromkeys(range(8, 24), 7)

    def test_one_night_that_was_open_and_a_holiday_change_nothing(self):
        times = pd.date_range("2024-01-01", "2024-03-03 23:00", freq="h")
        is_open = (times.hour >= 8) & (times.hour < 20)
        is_open |= times.normalize() == "2024-02-01"
        is_open &= times.normalize() != "2024-02-02"
        found = following(times[is_open], "7d")
        assert set(found.dt.hour) == set(range(8, 20))
        assert set(found.dt.day_of_week) == set(range(7))

    def test_only_recent_weeks_count(self):
        times = pd.date_range("2024-01-01", "2024-06-30 23:00", freq="h")
        closed = (times.hour < 8) & (times > "2024-04-01")
        assert set(following(times[~closed], "7d").dt.hour) == set(range(8, 24))

    def test_a_table_of_two_days_has_no_pattern(self):
        times = pd.date_range("2024-01-01", periods=30, freq="h")
        assert len(following(times.delete([3, 4]), "24h")) == 24


class TestNumbers:
    def test_they_go_on(self):
        assert following(np.arange(0.0, 50.0, 0.1), 3).to_numpy() == pytest.approx([50.0, 50.1, 50.2])
        assert following([1, 2, 4, 5, 6, 9], 2).tolist() == [10, 11]

    def test_they_have_no_days(self):
        with pytest.raises(ValueError, match="'time' has numbers, not times: give a number of rows"):
            following(np.arange(10.0), "2d")


class TestHorizons:
    hours = pd.date_range("2024-01-01", "2024-01-31 12:00", freq="h")

    @pytest.mark.parametrize(
        ("horizon", "last"),
        [
            (12, "2024-02-01 00:00"),
            (np.int64(12), "2024-02-01 00:00"),
            ("12", "2024-02-01 00:00"),
            ("90min", "2024-01-31 13:00"),
            ("24h", "2024-02-01 12:00"),
            ("2 d", "2024-02-02 12:00"),
            ("1W", "2024-02-07 12:00"),
            ("1mo", "2024-02-29 12:00"),
            ("1y", "2025-01-31 12:00"),
            (datetime.timedelta(hours=5), "2024-01-31 17:00"),
            (np.timedelta64(5, "h"), "2024-01-31 17:00"),
            (pd.Timedelta(2, "D"), "2024-02-02 12:00"),
            ("2024-02-03", "2024-02-03 23:00"),
            (datetime.date(2024, 2, 3), "2024-02-03 23:00"),
            ("2024-02-03 06:30", "2024-02-03 06:00"),
            (pd.Timestamp("2024-02-03 06:00"), "2024-02-03 06:00"),
            ("03.02.2024", "2024-02-03 23:00"),
        ],
    )
    def test_their_last_time(self, horizon, last):
        assert following(self.hours, horizon).iloc[-1] == pd.Timestamp(last)

    @pytest.mark.parametrize("horizon", [0, -1, "0", "-5", "0d", "-3d", "0h", datetime.timedelta(0), True, None])
    def test_what_is_not_positive_is_refused(self, horizon):
        with pytest.raises(ValueError, match="The horizon must be positive, got"):
            following(self.hours, horizon)

    @pytest.mark.parametrize(
        ("horizon", "message"),
        [
            ("5m", '"m" could be minutes'),
            ("5 fortnights", "unknown unit; known are s, min, h, d, w, mo, y"),
            ("soon", "cannot be 'soon'. Give a number of rows, a span such as"),
            (2.5, "cannot be 2.5"),
            ("2024-01-31 12:00", "not after the last row, at 2024-01-31 12:00"),
            ("2023-01-01", "not after the last row"),
            ("10min", "shorter than the step of 1 hour to the next row"),
            (10**9, "at most 10,000,000 are made"),
            ("90000y", "beyond the times of a calendar"),
        ],
    )
    def test_what_cannot_be_is_refused(self, horizon, message):
        with pytest.raises(ValueError, match=message):
            following(self.hours, horizon)

    def test_irregular_times_have_no_next(self):
        times = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.random.default_rng(0).uniform(0, 100, 200), unit="h")
        with pytest.raises(TableError, match="'time' have no regular step: give a table with the times to forecast"):
            following(times, 5)
        with pytest.raises(TableError, match="no regular step"):
            following(pd.to_datetime(["2024-01-01"]), 5)

    def test_they_are_told_as_they_were_given(self):
        assert str(Horizon.parse("4w")) == "4w"
        assert str(Horizon.parse(3)) == "3 rows"


@pytest.mark.parametrize(
    ("frequency", "words"),
    [("30min", "30 minutes"), ("h", "1 hour"), ("D", "1 day"), ("W", "1 week"), ("MS", "1 month"), ("QS", "3 months")],
)
def test_steps_in_words(frequency, words):
    assert Timeline.from_order(series(pd.date_range("2024-01-01", periods=50, freq=frequency))).words == words


class TestDaysOff:
    """Days of the year without rows in every year."""

    def make_shop(self, *off, zone=None, years=2):
        time = pd.date_range("2022-07-01", periods=8760 * years, freq="h", tz=zone)
        is_open = (time.hour >= 8) & (time.hour < 20) & ~np.isin(time.strftime("%m-%d"), off)
        return time[is_open]

    @pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
    def test_they_are_left_out_of_what_comes_next(self, zone):
        times = self.make_shop("12-25", "12-26", zone=zone)
        timeline = Timeline.from_json(Timeline.from_order(series(times)).to_json())
        assert timeline.closed == ("12-25", "12-26")
        days = timeline.after("1y").dt.strftime("%m-%d")
        assert not days.isin(["12-25", "12-26"]).any()
        assert days.nunique() == 363
        assert len(timeline.after("1y", closed=False)) == 365 * 12
        assert len(timeline.after(10)) == 10

    def test_one_year_does_not_show_them(self):
        assert Timeline.from_order(series(self.make_shop("12-25", years=1))).closed == ()

    def test_gaps_at_random_are_none(self):
        days = series(pd.date_range("2020-01-01", "2022-12-31"))
        some = days[np.random.default_rng(0).random(len(days)) > 0.05]
        assert Timeline.from_order(some).closed == ()

    def test_rows_that_are_to_be_expected(self):
        times = series(self.make_shop("12-25"))
        timeline = Timeline.from_order(times)
        assert timeline.expected(times.iloc[0]).tolist() == times.tolist()[:-1]
