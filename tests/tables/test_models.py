import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import norm
from sklearn.base import clone

from tests.published_data import needs_demand
from torusgp import CalendarPhases, Category, Circle, Line, Slope, TorusGPRegressor
from torusgp.data.datasets import load_electricity_demand
from torusgp.data.tables import TableError
from torusgp.tables.backtest import hold_out
from torusgp.tables.clock import to_moment
from torusgp.tables.forecast import quantile_name
from torusgp.tables.inputs import Options, TableInputs, choose_inputs
from torusgp.tables.model import TableModel, load_regressor
from torusgp.tables.regressors import length_scales
from torusgp.tables.words import command_words
from torusgp.views.summary import to_plain

PERIOD = [24.0, 1600.0]


def make_noise(memory, n_rows, seed=0):
    """Noise of variance one that keeps a share of itself from row to row."""
    white = np.random.default_rng(seed).normal(size=n_rows + 2000)
    return lfilter([np.sqrt(1 - memory**2)], [1, -memory], white)[2000:]


def make_frame(n_days=40, noise=0.2, seed=0):
    """Hours of some weeks with a quiet weekend, without memory in their noise."""
    time = pd.date_range("2024-01-01", periods=24 * n_days, freq="h")
    weight = np.where(time.day_of_week < 5, 2.0, 1.0)
    signal = weight * np.cos(2 * np.pi * time.hour / 24)
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"time": time, "hour": time.hour.astype(float), "y": signal + rng.normal(0, noise, len(time))})


def make_function(n_rows, length_scale, seed):
    """A function drawn from the prior along two periods of one time."""
    hours = np.arange(float(n_rows))[:, None]
    first, second = (Circle(0, *one) for one in zip(PERIOD, ["squared_exponential"] * 2, length_scale, strict=True))
    prior = TorusGPRegressor(first * second, learn=(), n_components=301, intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prior.fit(hours[:1], [0.0], sample_weight=[1e-9])
    return hours, prior.sample_y(hours, random_state=seed)[:, 0]


def fit_to_noise(memory, seed, errors="auto", n_rows=4800, n_components=301):
    hours, function = make_function(n_rows, [0.8, 0.7], seed)
    y = function + 0.5 * make_noise(memory, n_rows, seed + 100)
    frame = pd.DataFrame({"hours": hours[:, 0], "y": y})
    table = TableModel("y", {"hours": PERIOD}, time="hours", errors=errors, n_components=n_components)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table.fit(frame)
    mean, std = table.model_.predict(frame[["hours"]], return_std=True, include_noise=False)
    return table, np.mean(np.abs(mean - function) < 1.96 * std), np.sqrt(np.mean((mean - function) ** 2))


class TestCorrelatedNoise:
    def test_nothing_changes_without_correlation(self):
        table, coverage, _ = fit_to_noise(0.0, seed=0)
        plain, _, _ = fit_to_noise(0.0, seed=0, errors="independent")
        assert table.redundancy_ == 1.0
        assert table.summary()["rows"]["errors"] == "not clearly autocorrelated"
        assert table.n_effective_ == table.n_rows_
        np.testing.assert_array_equal(table.model_.coef_, plain.model_.coef_)
        assert coverage > 0.85

    def test_length_scales_and_coverage_come_back(self):
        plain, narrow, error_of_plain = fit_to_noise(0.97, seed=1, errors="independent")
        table, coverage, error = fit_to_noise(0.97, seed=1)
        assert table.summary()["rows"]["errors"] == "autocorrelated"
        assert plain.model_.kernel_.length_scale[1] < 0.5  # far below the truth: it follows the noise
        assert narrow < 0.6
        assert coverage > 0.85
        assert error < error_of_plain
        # what is predicted is a single row, whose noise is what it is
        assert np.sqrt(table.model_.noise_variance_) == pytest.approx(0.5, rel=0.15)

    @pytest.mark.slow
    @pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.97])
    def test_over_many_draws(self, memory):
        results = [fit_to_noise(memory, seed) for seed in range(10)]
        found = [table.summary()["rows"]["errors"] == "autocorrelated" for table, _, _ in results]
        assert np.mean([coverage for _, coverage, _ in results]) > (0.9 if memory < 0.9 else 0.8)
        assert sum(found) <= 2 if memory == 0 else all(found)

    def test_without_order_rows_are_independent(self):
        table = TableModel("y", {"hour": 24}).fit(make_frame(10))
        assert table.redundancy_ == 1.0
        assert table.summary()["rows"]["errors"] == "independent"

    def test_few_rows_are_independent(self):
        with pytest.warns(UserWarning, match="cannot show how their noise is correlated"):
            table = TableModel("y", {"hour": 24}, time="time").fit(make_frame(2))
        assert table.redundancy_ == 1.0


class TestTables:
    def test_is_the_regressor_on_the_calendar(self):
        frame = make_frame(21)
        table = TableModel("y", calendar={"time": ["day", "week"]}, errors="independent").fit(frame)
        phases = CalendarPhases(["day", "week"])
        X = phases.fit_transform(frame["time"])
        model = TorusGPRegressor(period=phases.period_).fit(X, frame["y"])
        np.testing.assert_allclose(table.model_.coef_, model.coef_, rtol=1e-12)
        mean, std = model.predict(X[:5], return_std=True)
        forecast = table.predict(frame[:5])
        np.testing.assert_allclose(forecast["mean"], mean, rtol=1e-12)
        np.testing.assert_allclose(forecast["std"], std, rtol=1e-12)
        assert table.model_.feature_names_in_.tolist() == ["hour_of_day", "day_of_week"]

    def test_quantiles_are_those_of_a_normal_distribution(self):
        frame = make_frame(10)
        table = TableModel("y", {"hour": 24}).fit(frame)
        forecast = table.predict(frame[3:9], [0.025, 0.5, 0.9])
        assert forecast.columns.tolist() == ["mean", "std", "q02.5", "q50", "q90"]
        assert forecast.index.tolist() == list(range(3, 9))
        for name, quantile in (("q02.5", 0.025), ("q50", 0.5), ("q90", 0.9)):
            np.testing.assert_allclose(norm.cdf(forecast[name], forecast["mean"], forecast["std"]), quantile)
        with pytest.raises(ValueError, match="between 0 and 1, got 95"):
            table.predict(frame, [95])

    @given(st.integers(1, 999))
    def test_names_of_quantiles_tell_them(self, thousandths):
        name = quantile_name(thousandths / 1000)
        assert float(name.removeprefix("q")) == pytest.approx(thousandths / 10)
        assert len(name.partition(".")[0]) == 3

    def test_the_order_of_rows_in_the_file_does_not_matter(self):
        frame = make_frame(15)
        shuffled = frame.sample(frac=1, random_state=0)
        table = TableModel("y", calendar={"time": ["day", "week"]}, n_components=51)
        tables = [clone(table).fit_and_evaluate(one) for one in (frame, shuffled)]
        np.testing.assert_allclose(tables[0].model_.coef_, tables[1].model_.coef_, rtol=1e-9, atol=1e-9)
        assert tables[0].scores_ == tables[1].scores_

    def test_a_column_with_two_periods(self):
        hours = np.arange(2000.0)
        y = np.cos(2 * np.pi * hours / 24) * (1 + 0.5 * np.sin(2 * np.pi * hours / 168))
        frame = pd.DataFrame({"hours": hours, "y": y + np.random.default_rng(0).normal(0, 0.1, 2000)})
        table = TableModel("y", {"hours": [24, 168]}).fit(frame)
        assert [one["name"] for one in table.summary()["inputs"]] == ["hours", "hours"]
        assert table.model_.n_features_in_ == 1
        labels = [one["component"] for one in table.summary()["attribution"]]
        assert labels[:2] == ["hours (period 24)", "hours (period 24) \N{MULTIPLICATION SIGN} hours (period 168)"]

    @pytest.mark.parametrize(
        "options", [{"periods": {"t": "auto"}}, {"terms": "circle(t, auto)"}, {"terms": "circle(t, 11.6, learned)"}]
    )
    def test_a_period_is_learned(self, options):
        t = np.sort(np.random.default_rng(0).uniform(0, 300, 400))
        y = np.sin(2 * np.pi * t / 11.7) + 0.3 * np.random.default_rng(1).normal(size=400)
        table = TableModel("y", **options).fit(pd.DataFrame({"t": t, "y": y}))
        found = table.summary()["inputs"][0]
        assert found["period_is"] == "learned"
        assert abs(found["period"] - 11.7) < 4 * found["period_std"] < 0.2

    def test_a_period_found_among_correlated_rows_has_wider_errors(self):
        t = np.arange(1500.0)
        y = np.sin(2 * np.pi * t / 23.7) + 0.5 * make_noise(0.8, 1500, seed=3)
        frame = pd.DataFrame({"t": t, "y": y})
        plain, table = (
            TableModel("y", {"t": "auto"}, time="t", errors=errors, n_components=51).fit(frame).summary()
            for errors in ("independent", "auto")
        )
        ratio = table["inputs"][0]["period_std"] / plain["inputs"][0]["period_std"]
        assert table["rows"]["redundancy"] > 1.5
        assert ratio == pytest.approx(np.sqrt(table["rows"]["redundancy"]), rel=0.2)

    def test_rows_that_miss_a_value(self):
        frame = make_frame(10)
        frame.loc[[3, 7], "y"] = np.nan
        frame.loc[9, "hour"] = np.nan
        table = TableModel("y", {"hour": 24})
        with pytest.raises(TableError, match=r"^1 of 238 rows .*'hour' 1.*That is what drop_missing=True does"):
            table.fit(frame)
        known = TableModel("y", {"hour": 24}).fit(frame.drop(index=9))  # rows without a target teach nothing
        assert (known.n_rows_, known.n_dropped_) == (237, 2)
        table.set_params(drop_missing=True).fit(frame)
        assert (table.n_rows_, table.n_dropped_) == (237, 3)
        assert 9 not in table.predict(frame).index
        assert {3, 7} <= set(table.predict(frame).index)
        assert table.evaluate(frame).n_rows == 237

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"inputs": []}, r"Nothing to learn from: .*periods=\{'hour': 24\}.*calendar=\{'time': \['day', 'week'"),
            ({"periods": {"hour": "often"}}, "period of 'hour' must be a positive number or 'auto', got 'often'"),
            ({"periods": {"hour": 0}}, "must be a positive number or 'auto', got 0"),
            ({"periods": {"hour": [24, 24.0]}}, "'hour' is given the period 24 twice"),
            ({"periods": {"huor": 24}}, "Did you mean 'hour'"),
            ({"periods": {"time": 24}}, "contains times, such as 2024-01-01"),
            ({"periods": {"y": 24}}, "'y' is the target"),
            ({"calendar": {"time": ["dya"]}}, "calendar of 'time' is dya: cycles must be"),
            ({"calendar": {"time": ["day"], "hour": ["day"]}}, "must name one column"),
            ({"calendar": {"hour": ["day"]}}, "the table, row 1: 0.0 in column 'hour' is not a time"),
            ({"calendar": {"time": ["day"]}, "timezone": "Nowhere"}, "timezone 'Nowhere' is not known"),
            ({"calendar": {"time": ["day"]}, "errors": 0.5}, "errors must be 'auto' or 'independent', got 0.5"),
            ({"periods": {"hour": 24}, "terms": 24}, "terms must be a formula such as"),
            ({"periods": {"hour": 24}, "terms": Slope(0)}, "terms name columns of the table, got the position 0"),
            ({"periods": {"hour": 24}, "terms": Slope("huor")}, "Did you mean 'hour'"),
            ({"periods": {"hour": 24}, "terms": Slope("y")}, "'y' is the target"),
            ({"periods": {"hour": 24}, "terms": Category("hour")}, "'hour' has a period or is the time"),
            (
                {"calendar": {"time": ["day"]}, "terms": Category("hour") + Line("hour")},
                "as a category and as a number",
            ),
        ],
    )
    def test_what_is_wrong_is_told(self, options, message):
        with pytest.raises(ValueError, match=message):
            TableModel("y", **options).fit(make_frame(3))

    def test_targets_that_teach_nothing(self):
        frame = make_frame(3)
        with pytest.raises(TableError, match="5 complete rows; 20 or more"):
            TableModel("y", {"hour": 24}).fit(frame[:5])
        with pytest.raises(
            TableError, match=r"5 of 23 rows are held out, which leaves 18 .*use fit instead of fit_and"
        ):
            TableModel("y", {"hour": 24}).fit_and_evaluate(frame[:23])
        with pytest.raises(TableError, match="'y' is 3 in all 72 rows"):
            TableModel("y", {"hour": 24}).fit(frame.assign(y=3.0))

    def test_names_that_meet_the_calendars(self):
        frame = make_frame(3).rename(columns={"hour": "hour_of_day"})
        with pytest.raises(ValueError, match="'hour_of_day' is a column with a period and part of the calendar"):
            TableModel("y", {"hour_of_day": 24}, {"time": ["day"]}).fit(frame)

    def test_inputs_survive_json(self):
        options = Options(
            "y", None, "slope(time) + circle(c, auto)", {"a": [2, "auto"], "b": 3}, {"t": ["day", "year"]}
        )
        frame = pd.DataFrame({name: np.arange(40.0) for name in "abcy"})
        frame["t"] = pd.date_range("2024-01-01", periods=40, freq="h")
        inputs = choose_inputs(options, frame, "the table")
        again = TableInputs.from_json(to_plain(inputs.to_json()))
        assert again.to_json() == inputs.to_json()
        assert inputs.names == ["a", "b", "hour_of_day", "day_of_year", "t", "c"]
        assert [circle.input for circle in again.circles] == ["a", "a", "b", "hour_of_day", "day_of_year", "c"]
        assert [circle.period for circle in again.circles] == [2.0, "auto", 3.0, 24.0, 365.25, "auto"]
        assert inputs.time == "t"


class TestClocks:
    def test_the_zone_decides_the_clock(self):
        frame = make_frame(20)
        local = TableModel("y", calendar={"time": ["day"]}, errors="independent").fit(frame)
        moved = frame.assign(time=frame["time"].dt.tz_localize("Asia/Tokyo").dt.tz_convert("UTC"))
        aware = TableModel("y", calendar={"time": ["day"]}, timezone="Asia/Tokyo", errors="independent").fit(moved)
        np.testing.assert_allclose(aware.model_.coef_, local.model_.coef_, rtol=1e-12)
        text = pd.DataFrame({"time": ["2024-01-05T03:00Z", "2024-01-05T12:00+09:00"]})
        forecast = aware.predict(text)["mean"]
        assert forecast[0] == pytest.approx(forecast[1])
        assert forecast[0] == pytest.approx(local.predict(pd.DataFrame({"time": ["2024-01-05 12:00"]}))["mean"][0])

    @pytest.mark.parametrize("offset", ["+10:00", "-03:30", "Z"])
    def test_a_model_keeps_the_offset_of_its_times(self, tmp_path, offset):
        frame = make_frame(10)
        frame["time"] = frame["time"].dt.strftime("%Y-%m-%dT%H:%M") + offset
        TableModel("y", calendar={"time": ["day"]}, errors="independent").fit(frame).save(tmp_path / "model.npz")
        table = TableModel.load(tmp_path / "model.npz")
        moment = pd.Timestamp(f"2024-01-03T08:00{offset}")
        elsewhere = pd.DataFrame({"time": [moment.tz_convert("America/Lima").isoformat()]})
        here = table.predict(frame[frame["time"] == f"2024-01-03T08:00{offset}"])
        assert table.predict(elsewhere)["mean"][0] == pytest.approx(here["mean"].iloc[0])

    def test_times_with_and_without_a_zone_do_not_mix(self):
        frame = make_frame(4)
        table = TableModel("y", calendar={"time": ["day"]}).fit(frame)
        with pytest.raises(TableError, match=r"have the time zone UTC, but those .* have no time zone"):
            table.predict(pd.DataFrame({"time": ["2024-01-01T00:00Z"]}))
        aware = TableModel("y", calendar={"time": ["day"]}).fit(frame.assign(time=frame["time"].dt.tz_localize("UTC")))
        with pytest.raises(TableError, match=r"have no time zone, but those .* have the time zone UTC"):
            aware.predict(frame)

    def test_several_offsets_need_a_zone(self):
        frame = make_frame(4)
        text = frame["time"].dt.strftime("%Y-%m-%dT%H:%M") + np.where(frame.index < 50, "+01:00", "+02:00")
        with pytest.raises(TableError, match=r"several offsets .*\(timezone='Europe/Berlin'\)\.$"):
            TableModel("y", calendar={"time": ["day"]}).fit(frame.assign(time=text))
        with command_words(), pytest.raises(TableError, match=r"\(--timezone Europe/Berlin\)\.$"):
            TableModel("y", {"hour": 24}, time="time").fit(frame.assign(time=text))

    def test_moments_are_on_the_clock_of_the_column(self):
        naive = pd.Series(pd.to_datetime(["2024-01-01 00:00"]), name="time")
        aware = naive.dt.tz_localize("Asia/Tokyo")
        assert to_moment("2024-01-01", naive) == naive[0]
        assert to_moment("2024-01-01", aware) == aware[0]
        assert to_moment("2023-12-31T15:00Z", aware) == aware[0]
        assert to_moment("7", pd.Series([1.0, 2.0], name="t")) == 7.0
        with pytest.raises(ValueError, match="has a time zone, but"):
            to_moment("2024-01-01T00:00Z", naive)
        with pytest.raises(ValueError, match="'noon' is not a time"):
            to_moment("noon", naive)
        with pytest.raises(ValueError, match="'noon' is no number"):
            to_moment("noon", pd.Series([1.0], name="t"))


class TestHoldOut:
    @given(st.integers(5, 60), st.floats(0.05, 0.9), st.integers(0, 10**6))
    def test_no_row_held_out_is_earlier_than_one_that_is_not(self, n_rows, fraction, seed):
        order = pd.Series(np.random.default_rng(seed).integers(0, 30, n_rows), name="t")
        if order.nunique() > 1 and (order > order.min()).sum() >= max(1, round(fraction * n_rows)):
            held, _ = hold_out(n_rows, order, fraction)
            assert order[held].min() > order[~held].max()  # rows of one moment stay together
            assert held.sum() >= max(1, round(fraction * n_rows))

    def test_random_rows_are_always_the_same(self):
        first, second = (hold_out(50, None, 0.3)[0] for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert first.sum() == 15
        assert not np.array_equal(first, hold_out(50, None, 0.3, random_state=1)[0])
        assert not first[-15:].all()

    def test_numbers_are_told_with_the_digits_that_matter(self):
        days = pd.Series(2457720.5 + np.arange(100) * 0.71, name="HJD")
        _, words = hold_out(100, days, 0.2)
        assert words == f"the last 20 %, from {days[80]:.1f} on"
        _, words = hold_out(100, pd.Series(np.arange(100) * 10**6), 0.5)
        assert words == "the last 50 %, from 50000000 on"
        _, words = hold_out(100, pd.Series(np.linspace(0, 1e-7, 100)), 0.5)
        assert words == f"the last 50 %, from {np.linspace(0, 1e-7, 100)[50]:.6g} on"

    def test_from_a_moment_on(self):
        frame = make_frame(4)
        held, words = hold_out(96, frame["time"], start="2024-01-03 12:00")
        np.testing.assert_array_equal(np.flatnonzero(held), np.arange(60, 96))
        assert words == "from 2024-01-03 12:00 on"

    @pytest.mark.parametrize(
        ("order", "arguments", "message"),
        [
            (None, {"start": "2024-01-01"}, "name the column that has their time"),
            ("time", {"start": "2025-01-01"}, "there are 0 of 96 rows, and 96 before"),
            ("time", {"start": "2023-01-01"}, "there are 96 of 96 rows, and 0 before"),
            ("time", {"fraction": 1.0}, "between 0 and 1, got 1.0"),
            ("flat", {}, "have the same value 0"),
        ],
    )
    def test_rows_that_cannot_be_held_out(self, order, arguments, message):
        frame = make_frame(4).assign(flat=0)
        with pytest.raises(ValueError, match=message):
            hold_out(96, None if order is None else frame[order], **arguments)

    def test_figures_come_from_a_model_that_has_not_seen_the_rows(self):
        frame = make_frame(30)
        table = TableModel("y", calendar={"time": ["day", "week"]}, n_components=61)
        evaluated = clone(table).fit_and_evaluate(frame, 0.25, refit=False)
        assert (evaluated.n_rows_, evaluated.scores_.n_rows, evaluated.is_refitted_) == (540, 180, False)
        again = clone(table).fit(frame[:540])
        np.testing.assert_array_equal(evaluated.model_.coef_, again.model_.coef_)
        other = again.evaluate(frame[540:])
        assert other.rmse == pytest.approx(evaluated.scores_.rmse)
        refitted = clone(table).fit_and_evaluate(frame, 0.25)
        assert refitted.scores_ == evaluated.scores_
        assert (refitted.n_rows_, refitted.is_refitted_) == (720, True)


class TestFiles:
    def test_tables_in_files(self, tmp_path):
        frame = make_frame(10)
        frame.to_csv(tmp_path / "table.csv", index=False)
        of_frame = TableModel("y", {"hour": 24}).fit_and_evaluate(frame)
        of_file = TableModel("y", {"hour": 24}).fit_and_evaluate(str(tmp_path / "table.csv"))
        np.testing.assert_allclose(of_file.model_.coef_, of_frame.model_.coef_, rtol=1e-9)
        of_file = TableModel("y", {"hour": 24}).fit(tmp_path / "table.csv")
        pd.testing.assert_frame_equal(of_file.predict(tmp_path / "table.csv"), of_file.predict(frame))
        assert of_file.evaluate(tmp_path / "table.csv").rmse == pytest.approx(of_file.evaluate(frame).rmse)
        np.testing.assert_allclose(of_file.read(tmp_path / "table.csv")[1], frame["y"])
        frame.astype({"y": object}).replace({"y": {frame["y"][4]: "low"}}).to_csv(tmp_path / "bad.csv", index=False)
        with pytest.raises(TableError, match=r"bad\.csv, line 6: 'low' in column 'y'"):
            of_file.fit(tmp_path / "bad.csv")
        with pytest.raises(TypeError, match="must be a pandas DataFrame or the name of a file, got list"):
            of_file.fit([1, 2])

    def test_round_trip(self, tmp_path):
        frame = make_frame(20)
        table = TableModel("y", {"hour": 24}, {"time": ["week"]}).fit_and_evaluate(frame)
        table.save(tmp_path / "model.npz", {"data": "here"})
        loaded = TableModel.load(tmp_path / "model.npz")
        pd.testing.assert_frame_equal(loaded.predict(frame), table.predict(frame))
        assert loaded.summary() == table.summary()
        assert loaded.scores_ == table.scores_
        assert loaded.notes_ == {"data": "here"}
        assert loaded.n_effective_ == table.n_effective_
        assert loaded.get_params() == table.get_params()
        plain = TorusGPRegressor.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(plain.coef_, table.model_.coef_)

    def test_other_files(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"absent\.npz does not exist"):
            load_regressor(tmp_path / "absent.npz")
        with pytest.raises(IsADirectoryError, match="is a folder"):
            load_regressor(tmp_path)
        TorusGPRegressor(period=1.0).fit([[0.1], [0.5], [0.7]], [1.0, 2.0, 3.0]).save(tmp_path / "plain.npz")
        with pytest.raises(ValueError, match="was not written by torusgp fit"):
            TableModel.load(tmp_path / "plain.npz")


class TestErrorsOfLengthScales:
    def test_they_are_those_of_the_curvature_of_the_evidence(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(400, 2))
        y = np.exp(np.cos(2 * np.pi * X[:, 0])) * np.sin(2 * np.pi * X[:, 1]) + 0.3 * rng.normal(size=400)
        model = TorusGPRegressor(period=1, n_components=81).fit(X, y)
        best = np.log([*model.kernel_.length_scale, model.signal_variance_, model.noise_variance_])

        def evidence(steps):
            first, second, signal, noise = np.exp(best + steps)
            kernel = signal * Circle(0, 1, length_scale=first) * Circle(1, 1, length_scale=second)
            other = TorusGPRegressor(kernel, noise_variance=noise, index_set=model.index_set_, learn=())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return other.fit(X, y).log_marginal_likelihood_

        h = 0.02
        unit = h * np.eye(4)
        hessian = [
            [(evidence(a + b) - evidence(a - b) - evidence(b - a) + evidence(-a - b)) / (4 * h**2) for b in unit]
            for a in unit
        ]
        expected = np.sqrt(np.diag(np.linalg.inv(-np.array(hessian))))[:2] * model.kernel_.length_scale
        (found,) = length_scales(model.fitted_)
        np.testing.assert_allclose([one.std for one in found], expected, rtol=0.02)
        np.testing.assert_allclose([one.value for one in found], model.kernel_.length_scale)

    def test_there_are_none_at_a_bound(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(300, 2))
        y = np.sin(2 * np.pi * X[:, 0]) + 0.3 * rng.normal(size=300)  # the second input does nothing
        first, second = length_scales(TorusGPRegressor(period=1).fit(X, y).fitted_)[0]
        assert (first.std > 0, first.bound) == (True, None)
        assert (np.isnan(second.std), second.bound) == (True, "upper")
        given = length_scales(TorusGPRegressor(period=1, learn=()).fit(X, y).fitted_)[0]
        assert np.isnan([one.std for one in given]).all()


def make_star(n_rows=400, factor=1.5, seed=0):
    """Brightness of a variable star whose error bars are too small by a factor."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, 100, n_rows))
    error = rng.choice([0.02, 0.3], n_rows)
    mag = 12 + 0.4 * np.cos(2 * np.pi * time / 0.57) + factor * error * rng.normal(size=n_rows)
    return pd.DataFrame({"time": time, "mag": mag, "mag_err": error})


class TestKnownNoise:
    def test_it_is_that_of_the_regressor(self):
        frame = make_star()
        table = TableModel("mag", {"time": 0.57}, noise="mag_err", n_components=21).fit(frame)
        model = TorusGPRegressor(period=0.57, n_components=21)
        typical = np.sqrt(np.mean(frame["mag_err"] ** 2))
        model.fit(frame[["time"]], frame["mag"], noise_scale=frame["mag_err"] / typical)
        np.testing.assert_allclose(table.model_.coef_, model.coef_, rtol=1e-9)
        assert table.noise_factor_ == pytest.approx(1.5, rel=0.1)
        mean, std = model.predict(frame[["time"]], return_std=True, include_noise=False)
        forecast = table.predict(frame)
        np.testing.assert_allclose(forecast["mean"], mean)
        np.testing.assert_allclose(
            forecast["std"] ** 2, std**2 + model.noise_variance_ * (frame["mag_err"] / typical) ** 2
        )
        np.testing.assert_allclose(forecast["std"] ** 2 - std**2, (table.noise_factor_ * frame["mag_err"]) ** 2)

    def test_rows_without_error_bars_are_typical(self):
        frame = make_star()
        table = TableModel("mag", {"time": 0.57}, noise="mag_err", n_components=21).fit(frame)
        typical = np.sqrt(np.mean(frame["mag_err"] ** 2))
        alike = table.predict(frame.assign(mag_err=typical))
        pd.testing.assert_frame_equal(table.predict(frame[["time"]]), alike)
        some = table.predict(frame.assign(mag_err=frame["mag_err"].where(frame.index > 0)))
        assert some["std"][0] == pytest.approx(alike["std"][0])
        assert some["std"][1] == pytest.approx(table.predict(frame)["std"][1])
        assert table.summary()["noise_std"] == pytest.approx(typical * table.noise_factor_)

    @pytest.mark.parametrize("time", [None, "time"])
    def test_it_helps_and_is_evaluated_with_its_own_noise(self, time):
        frame = make_star()
        plain = TableModel("mag", {"time": 0.57}, time=time, n_components=21).fit_and_evaluate(frame)
        table = TableModel("mag", {"time": 0.57}, time=time, noise="mag_err", n_components=21).fit_and_evaluate(frame)
        assert table.scores_.mnll < plain.scores_.mnll - 0.3
        assert 0.85 < table.scores_.coverage <= 1

    def test_files(self, tmp_path):
        frame = make_star()
        options = {"noise": "mag_err", "terms": Slope("time"), "time": "time", "n_components": 21}
        table = TableModel("mag", {"time": 0.57}, **options)
        table.fit_and_evaluate(frame).save(tmp_path / "model.npz")
        loaded = TableModel.load(tmp_path / "model.npz")
        pd.testing.assert_frame_equal(loaded.predict(frame), table.predict(frame), rtol=1e-9)
        pd.testing.assert_frame_equal(loaded.predict(frame[["time"]]), table.predict(frame[["time"]]), rtol=1e-9)
        assert loaded.noise_factor_ == pytest.approx(table.noise_factor_)

    def test_what_is_wrong_is_told(self, tmp_path):
        frame = make_star(40)
        frame.loc[[6, 9], "mag_err"] = [0.0, -1.0]
        table = TableModel("mag", {"time": 0.57}, noise="mag_err")
        with pytest.raises(TableError, match=r"row 7: 0 in column 'mag_err' is no standard deviation.* 2 values"):
            table.fit(frame)
        frame.to_csv(tmp_path / "star.csv", index=False)
        with pytest.raises(TableError, match=r"star\.csv, line 8: 0 in column 'mag_err'"):
            table.fit(frame, source=tmp_path / "star.csv")
        frame.loc[[6, 9], "mag_err"] = np.nan
        with pytest.raises(TableError, match="2 of 40 rows"):
            table.fit(frame)
        assert table.set_params(drop_missing=True).fit(frame).n_rows_ == 38
        with pytest.raises(ValueError, match="noise must be the name of a column other than the target, got 'mag'"):
            table.set_params(noise="mag").fit(frame)


def make_angles(n_rows=800, seed=0):
    """Energies over an angle in degrees."""
    rng = np.random.default_rng(seed)
    phi = rng.uniform(-180, 180, n_rows)
    return pd.DataFrame({"phi": phi, "energy": 2 * np.cos(np.radians(phi)) + 0.5 * rng.normal(size=n_rows)})


class TestWorthlessModels:
    def test_a_wrong_unit_is_told(self):
        table = TableModel("energy", {"phi": 2 * np.pi})
        with pytest.warns(UserWarning, match=r"explains nothing of the rows held out .*a turn is 360 degrees"):
            table.fit_and_evaluate(make_angles())
        assert table.scores_.explains_nothing
        assert table.summary()["explains_nothing"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table.set_params(periods={"phi": 360}).fit_and_evaluate(make_angles())
        assert not table.summary()["explains_nothing"]

    def test_a_period_at_a_peak_of_noise_has_no_error(self):
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(0, 400, 500))
        frame = pd.DataFrame({"t": t, "y": np.cos(2 * np.pi * t / 0.5723) + 0.1 * rng.normal(size=500)})
        table = TableModel("y", terms="circle(t, 0.6, learned)", n_components=101)
        with pytest.warns(UserWarning, match="explains nothing"):
            table.fit_and_evaluate(frame)
        (found,) = table.summary()["inputs"]
        assert found["period_std"] is None
        assert np.isfinite(table.model_.period_std_)

    def test_length_scales_at_a_bound_are_named(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"x": rng.uniform(size=300)})
        frame["y"] = np.sin(2 * np.pi * 140 * frame["x"]) + 0.1 * rng.normal(size=300)
        table = TableModel("y", {"x": 1}, n_components=501)
        with pytest.warns(UserWarning, match=r"length scale of 'x' is at its lower bound, 0\.01"):
            table.fit(frame)
        assert table.summary()["inputs"][0]["length_scale_bound"] == "lower"
        model = TorusGPRegressor(period=1, length_scale=0.01, learn=()).fit(frame[["x"]][:30], frame["y"][:30])
        assert length_scales(model.fitted_)[0][0].bound is None  # it was given, not reached
        frame["y"] = np.sin(2 * np.pi * 300 * frame["x"]) + 0.1 * rng.normal(size=300)
        with pytest.warns(UserWarning, match=r"length scales? of ('x' \(period (1|0\.5)\)(, )?)+ (is|are) at"):
            TableModel("y", {"x": [1, 0.5]}, n_components=701).fit(frame)


@needs_demand
def test_demand_is_forecast_from_three_hourly_rows():
    demand = load_electricity_demand()
    frame = pd.DataFrame(
        {
            "time": demand.time,
            "hour": demand.hour_of_day,
            "weekday": demand.day_of_week,
            "yearday": demand.day_of_year,
            "demand": demand.demand,
        }
    )[::6]
    table = TableModel("demand", {"hour": 24, "weekday": 7, "yearday": 365.25}, time="time", n_components=201)
    table.fit_and_evaluate(frame, start="2013-12-31T13:00", refit=False)
    assert table.scores_.n_rows == 2920
    assert table.scores_.r2 > 0.685
    assert 0.9 < table.scores_.coverage < 0.97
    assert table.summary()["rows"]["errors"] == "autocorrelated"


@pytest.mark.parametrize("method", ["fit", "fit_and_evaluate"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(method):
    rng = np.random.default_rng(0)
    hour = rng.uniform(0, 24, 100)
    frame = pd.DataFrame({"h": hour, "t": rng.uniform(0, 50, 100), "y": np.sin(2 * np.pi * hour / 24)})
    frame["y"] += 0.1 * rng.normal(size=100)
    model = TableModel("y", {"h": 24}).fit(frame)
    before = model.predict(frame)
    model.set_params(periods={"t": 50})
    with pytest.raises(TableError, match="is 1 in all"):
        getattr(model, method)(frame.assign(y=1.0))
    pd.testing.assert_frame_equal(model.predict(frame), before)
