import calendar
import datetime
import math
import os
import pickle
import sys
import warnings
from fractions import Fraction
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from torusgp import IndexSetFourierFeatures, TorusGPRegressor, find_period
from torusgp.data.datasets import load_electricity_demand
from torusgp.data.datasets._sources import DATA_FOLDER
from torusgp.tables.clock import CalendarPhases, UnreadableTimeError, cycle_of, read_times, to_timezone

CYCLES = ("day", "week", "month", "year")
PERIODS = np.array([24.0, 7.0, 30.4375, 365.25])
ROUNDING = 2 * np.finfo(float).eps  # of the period: an integer above 2**53 becomes a float, is divided and multiplied
ZONES = [
    "UTC",
    "America/New_York",
    "America/St_Johns",  # half an hour
    "America/Santiago",  # south, clocks change at midnight
    "Asia/Kathmandu",  # three quarters of an hour
    "Asia/Kolkata",
    "Australia/Lord_Howe",  # south, daylight saving of half an hour
    "Australia/Melbourne",
    "Europe/Dublin",  # winter time is the exception by law
    "Pacific/Apia",  # left out a day in 2011
]
moments = st.tuples(
    st.datetimes(datetime.datetime(1700, 1, 2), datetime.datetime(2199, 12, 30)), st.integers(0, 999)
)  # microseconds, and nanoseconds beyond them
zones = st.sampled_from(ZONES)
MovingPhases = partial(CalendarPhases, whole_days=False)


def to_numpy(moment):
    return np.datetime64(moment[0], "ns") + np.timedelta64(moment[1], "ns")


def exact_phases(local, nanoseconds=0):
    """Phases of what a wall clock shows, from Python's own calendar, without rounding."""
    since_midnight = local - datetime.datetime.combine(local.date(), datetime.time())
    day = Fraction(since_midnight // datetime.timedelta(microseconds=1) * 1000 + nanoseconds, 86400 * 10**9)
    n_days = 366 if calendar.isleap(local.year) else 365
    return [
        24 * day,
        local.weekday() + day,
        Fraction(487, 16) * (local.day - 1 + day) / calendar.monthrange(local.year, local.month)[1],
        Fraction(1461, 4) * (local.toordinal() - datetime.date(local.year, 1, 1).toordinal() + day) / n_days,
    ]


def assert_exact(phases, expected):
    for row, exact in zip(phases, expected, strict=True):
        for value, reference, period in zip(row, exact, PERIODS, strict=True):
            assert abs(Fraction(float(value)) - reference) <= ROUNDING * period
            assert 0 <= value < period


def on_the_clock(moment, zone):
    """What the clock of a zone shows at a moment of UTC."""
    return moment.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


class TestOracle:
    @given(st.lists(moments, min_size=1, max_size=20))
    @example(
        [(datetime.datetime(year, month, day), 0) for year in (1900, 2000, 2024) for month, day in ((2, 28), (3, 1))]
    )
    @example([(datetime.datetime(2000, 2, 29, 23, 59, 59, 999999), 999), (datetime.datetime(1999, 12, 31, 23, 59), 0)])
    def test_times_without_a_zone(self, some):
        phases = MovingPhases(CYCLES).fit_transform(np.array([to_numpy(moment) for moment in some]))
        assert_exact(phases, [exact_phases(*moment) for moment in some])

    @given(st.lists(moments, min_size=1, max_size=20), zones)
    def test_times_of_a_zone_on_its_own_clock(self, some, zone):
        utc = pd.Series([to_numpy(moment) for moment in some]).dt.tz_localize("UTC")
        phases = MovingPhases(CYCLES).fit(utc.dt.tz_convert(zone))
        assert phases.timezone_ == zone
        expected = [exact_phases(on_the_clock(moment, zone), nanoseconds) for moment, nanoseconds in some]
        assert_exact(phases.transform(utc.dt.tz_convert(zone)), expected)

    @given(st.lists(moments, min_size=1, max_size=20), zones, zones)
    def test_times_of_a_zone_on_the_clock_of_another(self, some, own, zone):
        given_times = pd.DatetimeIndex([to_numpy(moment) for moment in some]).tz_localize("UTC").tz_convert(own)
        expected = [exact_phases(on_the_clock(moment, zone), nanoseconds) for moment, nanoseconds in some]
        assert_exact(MovingPhases(CYCLES, timezone=zone).fit_transform(given_times), expected)

    @given(st.lists(moments, min_size=1, max_size=20), zones)
    def test_all_kinds_of_times_agree(self, some, zone):
        aware = [moment.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(zone)) for moment, _ in some]
        expected = [exact_phases(time.replace(tzinfo=None)) for time in aware]
        series = pd.Series(aware, dtype=pd.DatetimeTZDtype("us", ZoneInfo(zone)))
        texts = [time.isoformat() for time in aware]
        frame = pd.DataFrame({"time": series, "text": texts})
        for times in (series, series.array, series.astype(object), frame[["time"]], frame["text"], aware, texts):
            assert_exact(MovingPhases(CYCLES).fit_transform(times), expected)
            assert_exact(MovingPhases(CYCLES, timezone=zone).fit_transform(times), expected)
        local = [time.replace(tzinfo=None) for time in aware]
        stamps = np.array(local, dtype="datetime64[us]")
        naive_texts = [time.isoformat(" ") for time in local]
        for times in (
            stamps,
            stamps[:, None],
            list(stamps),
            pd.Series(stamps),
            local,
            naive_texts,
            np.array(naive_texts),
        ):
            assert_exact(MovingPhases(CYCLES).fit_transform(times), expected)
            # a wall clock without a zone is taken at its word
            assert_exact(MovingPhases(CYCLES, timezone="Asia/Kolkata").fit_transform(times), expected)

    def test_other_types_of_pandas(self):
        pytest.importorskip("pyarrow", reason="these types need pyarrow")
        aware = pd.Series(pd.date_range("2024-01-01", periods=400, freq="23h", tz="Australia/Melbourne"))
        expected = MovingPhases(CYCLES).fit_transform(aware)
        text = aware.astype(str)
        others = [
            aware.astype("timestamp[ns, tz=Australia/Melbourne][pyarrow]"),
            aware.dt.tz_localize(None).astype("timestamp[us][pyarrow]"),
            aware.astype("category"),
            text.astype("category"),
            text.astype("string[pyarrow]"),
            text.astype(object),
        ]
        for times in others:
            assert np.array_equal(MovingPhases(CYCLES).fit_transform(times), expected)

    @given(moments)
    def test_nanoseconds_of_text_and_pandas_are_kept(self, moment):
        stamp = to_numpy(moment)
        expected = MovingPhases(CYCLES).fit_transform(np.array([stamp]))
        for times in ([str(stamp)], [pd.Timestamp(stamp)], pd.Series([pd.Timestamp(stamp)]), np.array([stamp], object)):
            assert np.array_equal(MovingPhases(CYCLES).fit_transform(times), expected)

    @pytest.mark.parametrize("year", [1, 1582, 9999])
    def test_years_that_nanoseconds_do_not_reach(self, year):
        time = datetime.datetime(year, 12, 30, 23, 59, 59, 999999)
        for times in ([time], [time.isoformat()], np.array([time], "datetime64[us]")):
            assert_exact(MovingPhases(CYCLES).fit_transform(times), [exact_phases(time)])

    @given(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2199, 12, 31)))
    def test_the_unit_of_numpy_does_not_matter(self, time):
        whole = time.replace(minute=0, second=0, microsecond=0)
        expected = MovingPhases(CYCLES).fit_transform(np.array([whole], "datetime64[s]"))
        for unit in ("h", "m", "s", "ms", "us", "ns", "15m", "10ms"):
            assert np.array_equal(
                MovingPhases(CYCLES).fit_transform(np.array([whole], f"datetime64[{unit}]")), expected
            )
        months = np.array([whole], "datetime64[M]")
        begun = CalendarPhases(["day", "month"]).fit_transform(months)
        assert np.array_equal(begun, np.zeros((1, 2)))

    @pytest.mark.skipif(
        not Path(os.environ.get(DATA_FOLDER, ""), "vic_elec").is_dir(), reason=f"{DATA_FOLDER} names no such folder"
    )
    def test_published_phases_of_electricity_demand(self):
        demand = load_electricity_demand()
        times = pd.Series(demand.time).dt.tz_localize("UTC")
        phases = MovingPhases(timezone="Australia/Melbourne").fit_transform(times)
        published = np.column_stack([demand.hour_of_day, demand.day_of_week, demand.day_of_year])
        assert np.abs(phases - published).max() < 1e-5  # the file has five decimals
        assert CalendarPhases().period_.tolist() == list(demand.period)


class TestClock:
    @given(
        zones,
        st.dates(datetime.date(1980, 1, 1), datetime.date(2100, 12, 31)),
        st.dates(datetime.date(1980, 1, 1), datetime.date(2100, 12, 31)),
        st.times(),
    )
    def test_the_same_hour_has_the_same_phase_on_any_day(self, zone, one, other, time):
        aware = [datetime.datetime.combine(day, time, ZoneInfo(zone)) for day in (one, other)]
        utc = [moment.astimezone(datetime.UTC) for moment in aware]
        for moment, shown in zip(utc, aware, strict=True):  # the clock skips some times on the days it changes
            assume(moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == shown.replace(tzinfo=None))
        hours = CalendarPhases(["day"], timezone=zone).fit_transform(utc)[:, 0]
        assert hours[0] == hours[1]

    @pytest.mark.parametrize(
        ("zone", "change", "before", "after"),
        [
            ("Australia/Lord_Howe", "2024-10-05T15:30", 2.0, 2.5),
            ("Australia/Lord_Howe", "2024-04-06T15:00", 2.0, 1.5),
            ("Australia/Melbourne", "2024-10-05T16:00", 2.0, 3.0),
            ("Australia/Melbourne", "2024-04-06T16:00", 3.0, 2.0),
            ("Europe/Berlin", "2024-03-31T01:00", 2.0, 3.0),
            ("America/Santiago", "2024-09-08T04:00", 24.0, 1.0),
        ],
    )
    def test_days_on_which_the_clock_changes(self, zone, change, before, after):
        moment = pd.Timestamp(change, tz="UTC")
        times = [moment - pd.Timedelta(1, "s"), moment, moment + pd.Timedelta(12, "h")]
        hours = CalendarPhases(["day"], timezone=zone).fit_transform(times)[:, 0]
        assert np.allclose(hours, [before - 1 / 3600, after, after + 12], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("n_hours", [23, 25])
    def test_short_and_long_days_end_at_midnight(self, n_hours):
        start = {23: "2024-10-05T14:00", 25: "2024-04-06T13:00"}[n_hours]  # midnight in Melbourne
        times = pd.date_range(start, periods=n_hours, freq="h", tz="UTC")
        phases = MovingPhases(["day", "week"], timezone="Australia/Melbourne")
        hours, weekdays = phases.fit_transform(times).T
        assert hours[0] == 0.0
        assert hours[-1] == 23.0
        assert np.array_equal(6 + hours / 24, weekdays)  # a Sunday
        whole = phases.set_params(whole_days=True).fit_transform(times)
        assert np.array_equal(whole, np.column_stack([hours, np.full(n_hours, 6.0)]))
        assert np.array_equal(phases.transform([times[-1] + pd.Timedelta(1, "h")]), [[0.0, 0.0]])


class TestCycles:
    def test_minutes_of_the_hour_and_days_of_the_quarter(self):
        times = pd.date_range("2023-01-01", "2025-01-01", freq="37min", inclusive="left")
        minute, hour, day = CalendarPhases(["hour", "day", "quarter"]).fit_transform(times).T
        assert np.array_equal(minute, times.minute)
        np.testing.assert_allclose(hour, times.hour + times.minute / 60)
        start = times.to_period("Q").start_time
        lengths = (times.to_period("Q").end_time - start).days + 1
        np.testing.assert_allclose(day, (times.normalize() - start).days / lengths * 91.3125, atol=1e-12)

    @pytest.mark.parametrize(
        ("word", "cycle"),
        [("hour", "day"), ("Hour of day", "day"), ("weekday", "week"), ("minute", "hour"), ("season", "year")],
    )
    def test_words_for_cycles(self, word, cycle):
        assert cycle_of(word) == cycle
        assert cycle_of(f"{word} of the moon") is None

    def test_a_year_is_one_turn_and_so_is_a_month(self):
        for year in range(1700, 2200):
            start, end = np.datetime64(f"{year}-01-01", "D"), np.datetime64(f"{year + 1}-01-01", "D")
            days = np.arange(start, end)
            assert len(days) == 365 + calendar.isleap(year)
            month, day = CalendarPhases(["month", "year"]).fit_transform(days).T
            assert np.array_equal(day, np.arange(len(days)) / len(days) * 365.25)
            lengths = [calendar.monthrange(year, number)[1] for number in range(1, 13)]
            assert np.array_equal(month, np.concatenate([np.arange(length) / length * 30.4375 for length in lengths]))

    @pytest.mark.parametrize(("year", "n_days"), [(1900, 365), (2000, 366), (2023, 365), (2024, 366)])
    def test_leap_years(self, year, n_days):
        times = [f"{year}-03-01", f"{year}-12-31 12:00"]
        turns = CalendarPhases(["year"]).fit_transform(times)[:, 0] / 365.25
        assert np.allclose(turns, [(n_days - 306) / n_days, (n_days - 0.5) / n_days], rtol=0, atol=ROUNDING)

    @pytest.mark.parametrize("cycle", CYCLES)
    def test_the_last_nanosecond_is_below_the_period(self, cycle):
        phases = CalendarPhases([cycle])
        ends = np.array(["1900-01-01", "2001-01-01", "2024-01-01"], "datetime64[ns]")  # and all three are Mondays
        assert np.array_equal(phases.fit_transform(ends), np.zeros((3, 1)))
        last = phases.transform(ends - np.timedelta64(1, "ns"))
        assert (last < phases.period_).all()
        assert np.allclose(last, phases.period_, rtol=1e-13, atol=0)

    @given(moments, st.integers(0, 10**18))
    def test_phases_are_continuous_also_where_a_cycle_ends(self, moment, step):
        start = to_numpy(moment)
        phases = MovingPhases(CYCLES).fit_transform(np.array([start, start + np.timedelta64(step, "ns")]))
        distance = np.abs(np.diff(phases / PERIODS, axis=0)[0])
        shortest = np.array([1, 7, 28, 365]) * 86400e9
        assert (np.minimum(distance, 1 - distance) <= step / shortest + 2 * ROUNDING).all()

    @given(moments, st.lists(st.integers(0, 4 * 10**16), min_size=2, max_size=30), st.sampled_from([1, 30, 10000]))
    def test_phases_grow_within_a_cycle(self, moment, steps, finer):
        times = to_numpy(moment) + np.sort(np.array(steps) // finer).astype("timedelta64[ns]")
        phases = MovingPhases(CYCLES).fit_transform(times)
        days = times.astype("datetime64[D]")
        numbers = (days, (days.astype(int) + 3) // 7, times.astype("datetime64[M]"), times.astype("datetime64[Y]"))
        for phase, number in zip(phases.T, numbers, strict=True):
            same = number[1:] == number[:-1]
            assert (np.diff(phase)[same] >= 0).all()

    @given(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(1799, 12, 31)))
    def test_whole_cycles_change_nothing(self, time):
        start = np.datetime64(time, "us")
        later = start + np.array([1, 7, 146097], dtype="timedelta64[D]")  # the last is 400 years
        phases = MovingPhases(CYCLES).fit_transform(np.append(start, later))
        assert (phases[1:, 0] == phases[0, 0]).all()
        assert (phases[2:, 1] == phases[0, 1]).all()
        assert (phases[3] == phases[0]).all()

    def test_monday_begins_the_week(self):
        week = CalendarPhases(["week"]).fit_transform([f"2024-01-{day:02d} 06:00" for day in range(1, 8)])
        assert np.array_equal(week[:, 0], np.arange(7) + 0.25)


class TestInterface:
    @pytest.mark.parametrize(
        "name",
        [
            "check_do_not_raise_errors_in_init_or_set_params",
            "check_estimator_cloneable",
            "check_estimator_repr",
            "check_estimators_unfitted",
            "check_get_params_invariance",
            "check_mixin_order",
            "check_no_attributes_set_in_init",
            "check_parameters_default_constructible",
            "check_set_params",
            "check_transformers_unfitted",
            "check_valid_tag_types",
        ],
    )
    def test_checks_of_scikit_learn_that_need_no_numbers(self, name):
        getattr(estimator_checks, name)("CalendarPhases", CalendarPhases())

    def test_order_names_and_periods(self):
        phases = CalendarPhases(["year", "day"])
        assert phases.period_.tolist() == [365.25, 24.0]
        table = phases.set_output(transform="pandas").fit_transform(pd.Series(["2024-07-02"], index=["a"]))
        assert table.columns.tolist() == phases.get_feature_names_out().tolist() == ["day_of_year", "hour_of_day"]
        assert table.index.tolist() == ["a"]
        assert table.to_numpy().tolist() == [[182.625, 0.0]]
        with pytest.raises(NotFittedError):
            CalendarPhases().transform(["2024-01-01"])

    def test_clone_and_pickle(self):
        phases = CalendarPhases(["day"], timezone=ZoneInfo("Asia/Tokyo"))
        copy = pickle.loads(pickle.dumps(clone(phases).fit(["2024-01-01 12:00Z"])))
        assert copy.transform(["2024-01-01 12:00Z"]) == 21.0
        assert copy.timezone_ == "Asia/Tokyo"

    def test_a_column_among_others(self):
        frame = pd.DataFrame({"y": [1.0, 2.0], "time": pd.to_datetime(["2024-01-01 06:00", "2024-01-02 00:00"])})
        by_name = CalendarPhases(["day"], column="time").fit(frame)
        by_position = CalendarPhases(["day"], column=-1).fit(frame)
        assert by_name.feature_names_in_.tolist() == ["y", "time"]
        for phases in (by_name, by_position):
            assert phases.transform(frame).ravel().tolist() == [6.0, 0.0]
            with warnings.catch_warnings():  # one sequence of times needs no name
                warnings.simplefilter("error")
                assert phases.transform(frame["time"]).ravel().tolist() == [6.0, 0.0]
        array = np.array([["x", "2024-01-01 06:00"]], dtype=object)
        assert CalendarPhases(["day"], column=1).fit_transform(array) == 6.0

    def test_sequences_of_any_name_follow_each_other(self):
        series = pd.Series(pd.date_range("2024-01-01", periods=3), name="time")
        phases = CalendarPhases().fit(series)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            expected = phases.transform(series)
            for times in (series.rename("other"), pd.DatetimeIndex(series), series.to_numpy(), series.tolist()):
                assert np.array_equal(phases.transform(times), expected)

    def test_in_a_pipeline_before_the_regressor(self):
        times = pd.Series(pd.date_range("2023-01-01", periods=1500, freq="7h", tz="UTC"))
        phases = CalendarPhases(["day", "year"], timezone="Australia/Melbourne")
        hour, year = phases.fit_transform(times).T
        y = np.cos(2 * np.pi * hour / 24) * (1 + np.cos(2 * np.pi * year / 365.25))
        y += np.random.default_rng(0).normal(0, 0.05, len(y))
        model = make_pipeline(phases, TorusGPRegressor(period=phases.period_)).fit(times[:1300], y[:1300])
        assert model.score(times[1300:], y[1300:]) > 0.98
        table = clone(model).set_output(transform="pandas").fit(times[:1300], y[:1300])
        assert table[-1].feature_names_in_.tolist() == ["hour_of_day", "day_of_year"]
        assert np.allclose(table.predict(times[1300:]), model.predict(times[1300:]))

    @pytest.mark.parametrize("selector", ["time", ["time"]], ids=["series", "frame"])
    def test_in_a_column_transformer(self, selector):
        frame = pd.DataFrame(
            {"angle": np.linspace(0, 360, 50), "time": pd.date_range("2024-01-01", periods=50, freq="5h")},
            index=np.arange(100, 150),
        )
        phases = CalendarPhases(["day"])
        columns = make_column_transformer((phases, selector), remainder="passthrough", verbose_feature_names_out=False)
        period = [*phases.period_, 360.0]
        y = np.sin(2 * np.pi * frame["time"].dt.hour / 24) + np.random.default_rng(0).normal(0, 0.05, 50)
        model = make_pipeline(columns, TorusGPRegressor(period=period)).fit(frame, y)
        assert model.score(frame, y) > 0.98
        table = columns.set_output(transform="pandas").fit_transform(frame)
        assert table.columns.tolist() == ["hour_of_day", "angle"]
        assert table.index.tolist() == frame.index.tolist()
        assert isinstance(columns, ColumnTransformer)


class TestZones:
    def test_times_of_another_zone_are_refused(self):
        melbourne = pd.date_range("2024-01-01", periods=3, tz="Australia/Melbourne")
        phases = CalendarPhases().fit(melbourne)
        with pytest.raises(ValueError, match=r"have UTC, but .* fitted to times with Australia/Melbourne.*timezone="):
            phases.transform(melbourne.tz_convert("UTC"))
        with pytest.raises(ValueError, match=r"have no time zone, but .* Australia/Melbourne"):
            phases.transform(melbourne.tz_localize(None))
        with pytest.raises(ValueError, match=r"have UTC, but .* no time zone"):
            CalendarPhases().fit(["2024-01-01"]).transform(["2024-01-01T00:00Z"])
        phases = CalendarPhases(timezone="Australia/Melbourne").fit(melbourne)
        assert phases.timezone_ == "Australia/Melbourne"
        assert np.array_equal(phases.transform(melbourne.tz_convert("UTC")), phases.transform(melbourne))
        assert np.array_equal(phases.transform(melbourne.tz_localize(None)), phases.transform(melbourne))

    def test_offsets_of_one_zone_go_together(self):
        phases = CalendarPhases(["day"]).fit(["2024-07-01T08:00+10:00"])
        assert phases.timezone_ == "fixed offsets"
        assert phases.transform(["2024-01-01T08:00+11:00", "2024-07-01T08:00+1000"]).ravel().tolist() == [8.0, 8.0]

    @pytest.mark.parametrize(
        ("text", "hours"),
        [
            ("Z", 0),
            ("+00:00", 0),
            ("+05:30", 5.5),
            ("-0330", -3.5),
            ("+10", 10),
            (" -01:00", -1),
            ("+09:39:52", 9 + 2392 / 3600),
        ],
    )
    def test_offsets_are_ahead_of_utc(self, text, hours):
        phases = CalendarPhases(["day"], timezone="UTC").fit_transform([f"2024-01-02 12:00{text}"])
        assert np.isclose(phases[0, 0], 12 - hours, rtol=0, atol=1e-12)

    def test_an_hour_that_comes_twice(self):
        twice = [
            datetime.datetime(2024, 4, 7, 2, 30, tzinfo=ZoneInfo("Australia/Melbourne"), fold=fold) for fold in (0, 1)
        ]
        assert CalendarPhases(["day"]).fit_transform(twice).ravel().tolist() == [2.5, 2.5]
        assert CalendarPhases(["day"], timezone="UTC").fit_transform(twice).ravel().tolist() == [15.5, 16.5]

    @pytest.mark.parametrize(
        ("timezone", "message"),
        [
            ("Australia/Melborne", "'Australia/Melborne' is not known. Did you mean 'Australia/Melbourne'"),
            ("Europe", "'Europe' is not known"),
            ("../etc/passwd", "'../etc/passwd' is not known"),
            ("qqqqqqqq", "'qqqqqqqq' is not known. Give a name such as"),
            (10, "timezone must be a name .* got 10"),
        ],
    )
    def test_unknown_zones(self, timezone, message):
        with pytest.raises(ValueError, match=message):
            to_timezone(timezone)
        with pytest.raises(ValueError, match=message):
            CalendarPhases(timezone=timezone).fit(["2024-01-01"])


class TestWholeDays:
    @given(st.lists(moments, min_size=1, max_size=20), zones)
    def test_beside_hours_the_others_are_those_of_midnight(self, some, zone):
        utc = pd.Series([to_numpy(moment) for moment in some]).dt.tz_localize("UTC")
        local = [on_the_clock(moment, zone) for moment, _ in some]
        hours = [exact_phases(time, nanoseconds)[0] for time, (_, nanoseconds) in zip(local, some, strict=True)]
        dates = [exact_phases(datetime.datetime.combine(time.date(), datetime.time()))[1:] for time in local]
        phases = CalendarPhases(CYCLES, timezone=zone).fit_transform(utc)
        assert_exact(phases, [[hour, *date] for hour, date in zip(hours, dates, strict=True)])

    @given(st.lists(moments, min_size=1, max_size=20), st.permutations(CYCLES))
    def test_order_does_not_matter(self, some, cycles):
        times = np.array([to_numpy(moment) for moment in some])
        phases = dict(zip(CYCLES, CalendarPhases(CYCLES).fit_transform(times).T, strict=True))
        other = dict(zip(cycles, CalendarPhases(cycles).fit_transform(times).T, strict=True))
        assert all(np.array_equal(phases[cycle], other[cycle]) for cycle in CYCLES)

    @given(st.lists(moments, min_size=1, max_size=20))
    def test_without_hours_the_others_move_on(self, some):
        times = np.array([to_numpy(moment) for moment in some])
        cycles = [cycle for cycle in CYCLES if cycle != "day"]
        expected = MovingPhases(CYCLES).fit_transform(times)[:, 1:]
        for whole_days in (True, False):
            assert np.array_equal(CalendarPhases(cycles, whole_days=whole_days).fit_transform(times), expected)

    def test_hours_and_dates_are_not_correlated(self):
        times = np.datetime64("2024-01-01") + np.arange(364 * 24).astype("timedelta64[h]")
        hours, weekdays = CalendarPhases(["day", "week"]).fit_transform(times).T
        assert set(weekdays) == set(range(7))
        # each hour occurs as often on each weekday: waves of the one are orthogonal to waves of the other
        waves = [
            np.exp(2j * np.pi * np.outer(np.arange(1, 4), one / period)) for one, period in ((hours, 24), (weekdays, 7))
        ]
        assert np.abs(waves[0] @ waves[1].conj().T).max() < 1e-9 * len(times)


class TestErrors:
    @pytest.mark.parametrize(
        ("times", "message"),
        [
            (
                ["2024-01-01", "31/01/2024"],
                r"Row 1 \(counted from 0\): '31/01/2024' is not a time. Write it like 2024-.* or 31.01.2024",
            ),
            (["2024-01-01", "2024-02-30"], "Row 1 .*'2024-02-30' is not a time"),
            (["31.01.24"], "Row 0 .*'31.01.24' is not a time"),
            (["2024.01.31"], "Row 0 .*'2024.01.31' is not a time"),
            (["29.02.2023"], "Row 0 .*'29.02.2023' is not a time"),
            (["31.01.2024 24:00"], "Row 0 .*'31.01.2024 24:00' is not a time"),
            (["2024-01-01 25:00"], "Row 0 .*'2024-01-01.25:00' is not a time"),
            (["2024-01-01 10:00+25:00"], "Row 0 .*25:00' is not a time"),
            (["2024-01-01+10:00"], r"Row 0 .*'2024-01-01\+10:00' is not a time"),
            (["20240101"], "Row 0 .*'20240101' is not a time"),
            (["today"], "Row 0 .*'today' is not a time"),
            (["NaT"], "Row 0 .*'NaT' is not a time"),
            ([""], "Row 0 .*'' is not a time"),
            (
                ["1600-01-01", "2024-01-01 00:00:00.123456789"],
                "Row 0 .*'1600-01-01' is out of the range of nanoseconds",
            ),
            ([datetime.datetime(2024, 1, 1), 5], "Row 1 .*5 is not a time"),
            (
                [datetime.datetime(2024, 1, 1), None],
                r"Row 1 \(counted from 0\) has no time \(NaT\), as have 1 of 2 rows",
            ),
            (np.array(["2024-01-01", "NaT", "NaT"], "datetime64[s]"), "Row 1 .* has no time .* 2 of 3 rows"),
            (pd.Series(["2024-01-01", None]), "Row 1 .* has no time"),
            (pd.to_datetime(pd.Series(["2024-01-01", None])).dt.tz_localize("UTC"), "Row 1 .* has no time"),
            (
                ["2024-01-01", "2024-01-01T00:00Z"],
                "Row 1 .*'2024-01-01T00:00Z' has UTC, but times before it have no time",
            ),
            (["2024-01-01T00:00+01:00", "2024-01-02"], "Row 1 .*'2024-01-02' has no time zone, but .* fixed offsets"),
            ([1.5, 2.5], r"X holds float64, which is no type of times.*pandas.to_datetime"),
            (pd.DataFrame({"t": [1, 2]}), "X of column 't' holds int64"),
            (pd.DataFrame({"t": ["2024-01-01", "x"]}), "Row 1 .* of column 't': 'x' is not a time"),
            (pd.DataFrame({"t": ["2024-01-01"], "y": [1]}), r"X has 2 columns \['t', 'y'\]: say with column="),
            (np.array([["2024-01-01", "2024-01-01"]]), "X has 2 columns : say with column="),
            ([], "at least one time, got 0 sample"),
            ("2024-01-01", r"a sequence or a column of a table, got an array of shape \(\)"),
        ],
        ids=lambda value: value if isinstance(value, str) else "times",
    )
    def test_bad_times_are_named(self, times, message):
        with pytest.raises(ValueError, match=message):
            CalendarPhases().fit(times)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"cycles": "day"}, "cycles must be a sequence .* got 'day'"),
            ({"cycles": []}, r"cycles .* got \[\]"),
            ({"cycles": None}, "cycles .* got None"),
            ({"cycles": ["day", "decade"]}, "'hour', 'day', .*'quarter', 'year', each once, got .*'decade'"),
            ({"cycles": ["day", "day"]}, "each once"),
            ({"cycles": [["day"]]}, "each once"),
            ({"column": "tme"}, r"column is 'tme', but X has 2 columns \['time', 'y'\]"),
            ({"column": 2}, "column is 2, but X has 2 columns"),
            ({"column": 0.5}, "column is 0.5"),
        ],
    )
    def test_bad_parameters_are_named(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            CalendarPhases(**parameters).fit(pd.DataFrame({"time": ["2024-01-01"], "y": [1.0]}))

    def test_without_pandas_only_other_zones_are_missing(self, monkeypatch):
        monkeypatch.delitem(sys.modules, "pandas")  # scikit-learn looks for it there
        monkeypatch.setattr(sys, "meta_path", [_Without("pandas"), *sys.meta_path])
        for times in (
            np.array(["2024-01-01T12"], "datetime64[ns]"),
            ["2024-01-01T12:00+10:00"],
            [datetime.datetime(2024, 1, 1, 12)],
        ):
            assert CalendarPhases(["day"]).fit_transform(times) == 12.0
        with pytest.raises(ImportError, match=r'pip install "torusgp\[io\]"'):
            CalendarPhases(timezone="UTC").fit(["2024-01-01T12:00+10:00"])


class _Without:
    """A finder of modules that finds one missing."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}")


def test_text_is_read_as_it_is_written():
    times = read_times([" 2024-01-31T13:30+01:00 ", None, math.nan, pd.NaT, pd.NA, np.datetime64("NaT")])
    assert times.stamps[0] == np.datetime64("2024-01-31T13:30")
    assert times.offsets[0] == np.timedelta64(1, "h")
    assert np.isnat(times.stamps[1:]).all()
    assert read_times([datetime.date(2024, 1, 31)]).stamps[0] == np.datetime64("2024-01-31")
    assert read_times([None]).zone is None


def test_a_month_is_its_first_day():
    assert read_times(["2024-02", "2024-02-01", " 2024-12 ", None]).stamps.astype("datetime64[D]").tolist() == [
        *(datetime.date(2024, month, 1) for month in (2, 2, 12)),
        None,
    ]
    for text in ("2024-02 13:30", "2024-02T13", "2024-02Z", "2024-2", "2024", "202402"):
        with pytest.raises(UnreadableTimeError, match="is not a time"):
            read_times([text])


@given(st.datetimes(datetime.datetime(1, 1, 1)), st.booleans())
def test_dots_mean_that_the_day_comes_first(moment, pads):
    pad = 2 if pads else 1
    date = f"{moment.day:0{pad}d}.{moment.month:0{pad}d}.{moment.year:04d}"
    texts = [
        date,
        f"{date} {moment.hour:0{pad}d}:{moment:%M}",
        f"{date}  {moment:%H:%M:%S.%f}",
        f"{date} {moment:%H:%M}Z",
    ]
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    minute = moment.replace(second=0, microsecond=0)
    assert read_times(texts[:3]).stamps.tolist() == [day, minute, moment]
    assert read_times(texts[3:]).zone == "UTC"


@given(
    st.lists(st.datetimes(datetime.datetime(1000, 1, 1)), min_size=1, max_size=10),
    st.sampled_from(["%Y-%m", "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S"]),
    st.sampled_from([None, " ", "+", "T"]),
)
def test_texts_of_one_length_are_read_as_each_alone(moments, date_format, odd):
    texts = [moment.strftime(date_format) for moment in moments]
    together, alone = read_times(texts), [read_times([f" {text}"]) for text in texts]
    assert together.stamps.tolist() == [one.stamps[0].item() for one in alone]
    assert together.stamps.dtype == alone[0].stamps.dtype
    if odd is not None:
        broken = [*texts, texts[0][:4] + odd + texts[0][5:]]
        with pytest.raises(UnreadableTimeError) as caught:
            read_times(broken)
        assert caught.value.position == len(texts)


@pytest.mark.parametrize(
    "text",
    ["2024-13", "2024-00", "2024-02-30", "2024-13-01", "2024-01-01 24:00", "2024-01-01 10:60", "\uff12024-01-01"],
)
def test_texts_of_one_length_that_are_no_times(text):
    fine = "2024-01-01 00:00"[: len(text)]
    with pytest.raises(UnreadableTimeError, match=f"'{text}' is not a time") as caught:
        read_times([fine, fine, text])
    assert caught.value.position == 2


def test_the_calendar_of_python_is_not_hidden():
    assert calendar.__name__ == "calendar"
    assert calendar.isleap(2024)


class TestNoTimes:
    TIMES = np.datetime64("2024-01-01") + np.arange(48).astype("timedelta64[h]")

    @pytest.mark.parametrize(
        "X",
        [TIMES[:, None], TIMES[:, None] - TIMES[0], pd.DataFrame({"t": TIMES}), TIMES[:, None].tolist()],
        ids=["times", "differences", "frame", "list"],
    )
    @pytest.mark.parametrize(
        "use",
        [
            lambda X, y: TorusGPRegressor(period=24).fit(X, y),
            lambda X, y: TorusGPRegressor(period=24).fit(np.arange(48.0)[:, None], y).predict(X),
            lambda X, y: IndexSetFourierFeatures(period=24).fit(X),
            find_period,
        ],
        ids=["fit", "predict", "features", "find_period"],
    )
    def test_times_are_not_taken_for_numbers(self, X, use):
        with pytest.raises((ValueError, TypeError), match=r"X holds times|must be a string or a real number"):
            use(X, np.sin(np.arange(48.0)))
