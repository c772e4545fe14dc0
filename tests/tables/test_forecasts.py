"""Forecasts of table models: their rows, what is known of the future, paths and aggregates."""

import numpy as np
import pandas as pd
import pytest

from torusgp import Category, Line, Slope, TableModel
from torusgp.data.tables import TableError
from torusgp.tables.forecast import Forecast

CALENDAR = {"time": ["day", "week"]}


def make_table(n_days=28, zone=None):
    time = pd.date_range("2024-02-01", periods=24 * n_days, freq="h", tz=zone)
    rng = np.random.default_rng(0)
    temperature, sale = rng.normal(15, 5, len(time)), rng.random(len(time)) < 0.2
    busy = np.where(time.day_of_week < 5, 2.0, 1.0) * np.cos(2 * np.pi * time.hour / 24)
    y = 5 + busy + 0.1 * temperature + sale + rng.normal(0, 0.2, len(time))
    return pd.DataFrame({"time": time, "temperature": temperature, "sale": sale, "demand": y})


def quick(**options):
    return TableModel("demand", calendar=CALENDAR, errors="independent", n_components=41, **options)


@pytest.fixture(scope="module")
def model():
    return quick().fit(make_table())


@pytest.fixture(scope="module")
def open_model():
    return quick(terms=Line("temperature") + Category("sale")).fit(make_table()[:504])


@pytest.fixture
def future():
    return make_table()[504:].drop(columns="demand")


class TestRows:
    def test_a_forecast_is_a_prediction_of_the_next_rows(self, model):
        forecast = model.forecast("7d", quantiles=(0.1, 0.9))
        later = pd.DataFrame({"time": pd.date_range("2024-02-29", periods=168, freq="h")})
        frame = forecast.to_frame()
        assert frame.columns.tolist() == ["time", "mean", "std", "q10", "q90"]
        pd.testing.assert_series_equal(frame["time"], later["time"], check_dtype=False, check_freq=False)
        predicted = model.predict(later, (0.1, 0.9))
        np.testing.assert_allclose(frame[predicted.columns], predicted, rtol=1e-10)
        assert (forecast.target, len(forecast)) == ("demand", 168)

    def test_a_stored_model_forecasts_the_same(self, model, tmp_path):
        model.save(tmp_path / "model.npz")
        again = TableModel.load(tmp_path / "model.npz").forecast("2w", quantiles=(0.25,))
        first = model.forecast("2w", quantiles=(0.25,))
        pd.testing.assert_frame_equal(again.to_frame(3), first.to_frame(3))

    def test_summer_time_begins_on_the_clock_of_the_table(self):
        table = quick().fit(make_table(58, "Europe/Berlin"))  # to the end of March 29th; clocks change on the 31st
        forecast = table.forecast("3d")
        assert len(forecast) == 71
        hours = forecast.times.dt.hour.tolist()
        assert hours[24:30] == [0, 1, 3, 4, 5, 6]
        # the mean follows the wall clock: April 1st is a Monday like the one before
        before = table.predict(
            pd.DataFrame({"time": pd.date_range("2024-03-25", periods=24, freq="h", tz="Europe/Berlin")})
        )
        np.testing.assert_allclose(forecast.mean[47:71], before["mean"], atol=1e-6)

    def test_numbers_that_order_rows(self):
        t = np.arange(500.0)
        frame = pd.DataFrame({"t": t, "y": np.sin(2 * np.pi * t / 25) + np.random.default_rng(0).normal(0, 0.1, 500)})
        forecast = TableModel("y", {"t": 25}, time="t", errors="independent").fit(frame).forecast(50)
        assert forecast.times.tolist() == list(range(500, 550))
        np.testing.assert_allclose(forecast.mean, np.sin(2 * np.pi * np.arange(500, 550) / 25), atol=0.1)
        sums = forecast.aggregate(25, "sum")
        assert sums.times.tolist() == [500, 525]

    def test_rows_without_order_have_no_next(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"phi": rng.uniform(0, 360, 100)})
        frame["y"] = np.cos(np.radians(frame["phi"]))
        table = TableModel("y", {"phi": 360}, n_components=21).fit(frame)
        with pytest.raises(TableError, match=r"Nothing orders the rows.*time='date'"):
            table.forecast(3)


class TestWhatIsKnownOfTheFuture:
    def test_it_is_matched_by_time(self, open_model, future):
        shuffled = future.sample(frac=1, random_state=0)
        forecast = open_model.forecast("5d", shuffled)
        predicted = open_model.predict(future[:120])
        np.testing.assert_allclose(forecast.mean, predicted["mean"])
        assert forecast.times.tolist() == future["time"][:120].tolist()

    def test_without_horizon_it_goes_to_its_end(self, open_model, future):
        assert len(open_model.forecast(future=future)) == 168

    def test_it_may_know_more_times(self, open_model, future):
        between = future.assign(time=future["time"] + pd.Timedelta(minutes=30))
        forecast = open_model.forecast("2d", pd.concat([future, between]))
        np.testing.assert_allclose(forecast.mean, open_model.predict(future[:48])["mean"])

    def test_files_are_read(self, open_model, future, tmp_path):
        future.to_csv(tmp_path / "weather.csv", index=False)
        forecast = open_model.forecast("2d", tmp_path / "weather.csv")
        np.testing.assert_allclose(forecast.mean, open_model.predict(future[:48])["mean"])

    def test_missing_covariates_are_named(self, open_model, future):
        with pytest.raises(
            TableError,
            match=r"'temperature' and 'sale' as inputs.* 48 rows from 2024-02-22 00:00 to 2024-02-23 23:00.*future=",
        ):
            open_model.forecast("2d")
        with pytest.raises(TableError, match="the table lacks 'sale', which the forecast needs"):
            open_model.forecast("2d", future.drop(columns="sale"))
        with pytest.raises(TableError, match="the table lacks 'time' and 'sale'"):
            open_model.forecast("2d", future[["temperature"]])

    def test_missing_values_are_told_with_their_times(self, open_model, future):
        future = future.astype({"sale": object})
        future.iloc[5, 1] = np.nan
        future.iloc[[7, 8], 2] = None
        message = r"row 6: 'temperature' is missing at 1 of 48 times \(2024-02-22 05:00\); 'sale' is missing at 2"
        with pytest.raises(TableError, match=message):
            open_model.forecast("2d", future)

    def test_gaps_are_told(self, open_model, future):
        with pytest.raises(
            TableError, match=r"no row for 2 of the 48 times to forecast: 2024-02-22 03:00, 2024-02-22 04"
        ):
            open_model.forecast("2d", future.drop(index=[507, 508]))
        with pytest.raises(TableError, match="no row for 168 of the 336 times"):
            open_model.forecast("2w", future)

    def test_days_off_are_left_out_with_a_word(self, open_model, future):
        day = future["time"].dt.strftime("%m-%d")
        early = future["time"].dt.hour >= 14
        kept = future[(day != "02-25") & ~((day == "02-24") & early)]
        with pytest.warns(UserWarning, match="no rows on 2024-02-24, 2024-02-25, or on a part of it"):
            forecast = open_model.forecast("7d", kept)
        assert forecast.times.tolist() == kept["time"].tolist()
        hole = future[(future["time"] < "2024-02-24 10:00") | (future["time"] > "2024-02-24 12:00")]
        with pytest.raises(TableError, match="no row for 3 of the 168 times to forecast: 2024-02-24 10:00"):
            open_model.forecast("7d", hole)

    def test_the_past_is_refused(self, open_model):
        with pytest.raises(
            TableError,
            match=r"row 1: 2024-02-21 23:00 is not after the last row.*1 of 169 rows of the table overlap the past",
        ):
            open_model.forecast("2d", make_table()[503:])

    def test_times_that_are_there_twice_are_refused(self, open_model, future):
        with pytest.raises(TableError, match="row 169: 2024-02-22 00:00 is there twice"):
            open_model.forecast("2d", pd.concat([future, future[:1]]))

    def test_no_rows_and_no_times(self, open_model, future):
        with pytest.raises(TableError, match="has no rows"):
            open_model.forecast("2d", future[:0])
        future.loc[505, "time"] = pd.NaT
        with pytest.raises(TableError, match="row 2: column 'time' has no time"):
            open_model.forecast("2d", future)

    def test_zones_have_to_agree(self, open_model, future):
        with pytest.raises(TableError, match="zone"):
            open_model.forecast("2d", future.assign(time=future["time"].dt.tz_localize("UTC")))

    def test_irregular_times_are_taken_from_it(self):
        frame = make_table(20)
        rng = np.random.default_rng(1)
        frame["time"] += pd.to_timedelta(rng.uniform(0, 3000, len(frame)), unit="s")
        table = quick().fit(frame[:400])
        with pytest.raises(TableError, match="no regular step"):
            table.forecast("1d")
        forecast = table.forecast("1d", frame[400:])
        within = frame["time"][frame["time"] <= frame["time"][399] + pd.Timedelta(days=1)]
        assert forecast.times.tolist() == within[400:].tolist()
        assert len(table.forecast(30, frame[400:])) == 30
        with pytest.raises(TableError, match="The horizon is 100 rows, but the table has 80"):
            table.forecast(100, frame[400:])


class TestChristmas:
    """A shop that is closed at night and at Christmas."""

    @pytest.fixture
    def shop(self):
        time = pd.date_range("2022-09-01", "2024-12-10 23:00", freq="3h")
        time = time[(time.hour >= 9) & ~np.isin(time.strftime("%m-%d"), ["12-25", "12-26"])]
        sales = 5 + np.cos(2 * np.pi * time.hour / 24) + np.random.default_rng(0).normal(0, 0.2, len(time))
        return pd.DataFrame({"time": time, "demand": sales})

    def test_nothing_is_forecast_where_there_are_never_rows(self, shop):
        model = TableModel("demand", terms="hour", errors="independent", n_components=11).fit(shop)
        with pytest.warns(UserWarning, match="Nothing is forecast for 2024-12-25, 2024-12-26: on this day of the year"):
            days = model.forecast("28d").times.dt.strftime("%m-%d")
        assert days.nunique() == 26
        assert not days.isin(["12-25", "12-26"]).any()
        opened = pd.DataFrame({"time": pd.date_range("2024-12-11", "2025-01-07 23:00", freq="3h")})
        assert len(model.forecast("28d", opened[opened["time"].dt.hour >= 9])) == 28 * 5

    def test_they_are_no_gaps(self, shop):
        model = TableModel("demand", terms="hour", errors="independent", n_components=11).fit(shop)
        assert model.quality_["gaps"] == 0
        fewer = TableModel("demand", terms="hour", errors="independent", n_components=11).fit(shop.drop(index=[7, 8]))
        assert fewer.quality_["gaps"] == 1
        assert any("1 gap in time, in which about 2 rows are missing" in one.text for one in fewer.findings_)


class TestPaths:
    def test_they_have_the_moments_of_the_forecast(self, model):
        forecast = model.forecast("2d")
        paths = forecast.sample(4000)
        assert paths.shape == (4000, 48)
        np.testing.assert_allclose((paths.mean(axis=0) - forecast.mean) / forecast.std, 0, atol=4 / np.sqrt(4000))
        np.testing.assert_allclose(paths.std(axis=0), forecast.std, rtol=0.06)
        np.testing.assert_array_equal(forecast.sample(3, 7), forecast.sample(3, 7))

    def test_their_values_belong_together(self):
        """The line of a trend is one for all rows of a path: late sums are less certain than rows alone would be."""
        frame = make_table(14)
        forecast = quick(terms=Slope("time")).fit(frame).forecast("8w")
        last = forecast.aggregate("all", "mean")
        alone = np.sqrt(np.mean(forecast.std**2) / len(forecast))
        assert last.std[0] > 3 * alone

    def test_sums_of_spans_have_their_exact_intervals(self, model):
        forecast = model.forecast("2d")
        rows, _ = model._read_inputs(forecast.times.to_frame(), "the table")
        _, covariance = model.model_.predict(rows.X, return_cov=True)
        days = forecast.aggregate("day", n_draws=8000)
        assert days.times.tolist() == [pd.Timestamp("2024-02-29"), pd.Timestamp("2024-03-01")]
        assert days.n_rows.tolist() == [24, 24]
        exact = [np.sqrt(covariance[:24, :24].sum()), np.sqrt(covariance[24:, 24:].sum())]
        np.testing.assert_allclose(
            days.mean, [forecast.mean[:24].sum(), forecast.mean[24:].sum()], atol=4 * exact[0] / 89
        )
        np.testing.assert_allclose(days.std, exact, rtol=0.04)
        assert days.to_frame().columns.tolist() == ["time", "mean", "std", "q05", "q50", "q95", "rows"]

    def test_peaks_are_above_the_peak_of_the_mean(self, model):
        forecast = model.forecast("2d")
        peaks = forecast.aggregate("day", "max")
        assert (peaks.mean > [forecast.mean[:24].max(), forecast.mean[24:].max()]).all()
        assert (forecast.aggregate("day", "min").mean < forecast.mean[:24].min()).all()
        np.testing.assert_allclose(peaks.sample(20, 3), forecast.sample(20, 3).reshape(20, 2, 24).max(axis=2))

    def test_incomplete_spans_are_counted(self, model):
        weeks = model.forecast("3w").aggregate("week")
        assert weeks.times.dt.day_of_week.eq(0).all()
        assert weeks.n_rows.tolist() == [96, 168, 168, 72]

    def test_counts_are_drawn_as_counts(self):
        frame = make_table(14)
        frame["demand"] = np.random.default_rng(0).poisson(np.exp(np.cos(2 * np.pi * frame["time"].dt.hour / 24)))
        table = TableModel(
            "demand", calendar={"time": ["day"]}, likelihood="poisson", errors="independent", n_components=15
        ).fit(frame)
        forecast = table.forecast("1d")
        paths = forecast.sample(2000)
        assert np.array_equal(paths, np.round(paths))
        np.testing.assert_allclose(paths.mean(axis=0), forecast.mean, rtol=0.15)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda one: one.sample(0), "1 or more, got 0"),
            (lambda one: one.sample(2.5), "1 or more, got 2.5"),
            (lambda one: one.sample(10**8), "draw fewer paths"),
            (lambda one: one.aggregate("fortnight"), "span must be one of hour, day"),
            (lambda one: one.aggregate("day", "median"), "how must be one of sum, mean, max, min"),
            (lambda one: one.interval(0.5), "quantiles q05, q50, q95, which do not bound 50 %"),
        ],
    )
    def test_what_cannot_be_drawn(self, model, call, message):
        with pytest.raises(ValueError, match=message):
            call(model.forecast("1d"))

    def test_intervals_are_quantiles(self, model):
        forecast = model.forecast("1d")
        lower, upper = forecast.interval(0.9)
        np.testing.assert_array_equal(np.column_stack([lower, upper]), forecast.quantiles[:, [0, 2]])
        with pytest.raises(ValueError, match="q50 is given twice"):
            model.forecast("1d", quantiles=(0.5, 0.5))


def test_a_column_of_times_that_is_called_mean():
    forecast = Forecast("y", pd.Series([1.0, 2.0], name="mean"), np.zeros(2), np.ones(2), (), np.zeros((2, 0)))
    with pytest.raises(ValueError, match="column of times is called 'mean'"):
        forecast.to_frame()
