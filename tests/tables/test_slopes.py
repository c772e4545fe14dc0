"""Slopes beside what repeats: an exact oracle, and what tables say of them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter
from sklearn.base import clone

from torusgp import Circle, Slope, TorusGPRegressor
from torusgp.data.tables import TableError
from torusgp.engine.basis import columns as basis_columns
from torusgp.tables.clock import YEAR
from torusgp.tables.inputs import TableInputs
from torusgp.tables.model import TableModel
from torusgp.tables.regressors import estimate_slopes


def make_noise(memory, n_rows, seed=0):
    """Noise of variance one that keeps a share of itself from row to row."""
    white = np.random.default_rng(seed).normal(size=n_rows + 2000)
    return lfilter([np.sqrt(1 - memory**2)], [1, -memory], white)[2000:]


def make_sales(n_years=5, growth=10.0, noise=4.0, memory=0.5, seed=0):
    """Daily sales that grow by a tenth of their first level each year, with quiet weekends and a season."""
    date = pd.date_range("2019-01-01", periods=round(n_years * YEAR), freq="D")
    years = np.arange(len(date)) / YEAR
    season = 15 * np.cos(2 * np.pi * years) + np.where(date.day_of_week < 5, 6.0, -15.0)
    return pd.DataFrame(
        {"date": date, "sales": 100 + growth * years + season + noise * make_noise(memory, len(date), seed)}
    )


def fixed_regressor():
    """Two circles and a slope, of which nothing is learned."""
    kernel = 2.0 * Circle("x", 1.0, length_scale=0.8) * Circle("w", 7.0, length_scale=1.2) + Slope("t")
    return TorusGPRegressor(kernel, noise_variance=0.3, n_components=41, learn=())


def make_rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, 3, n_rows))
    X = pd.DataFrame({"x": time, "w": rng.uniform(0, 7, n_rows), "t": time})
    signal = np.sin(2 * np.pi * X["x"]) * np.cos(2 * np.pi * X["w"] / 7)
    return X, (5 + 2 * time + signal + 0.5 * rng.normal(size=n_rows)).to_numpy()


def all_columns(model, X):
    """Columns of a regressor: those of the frequencies, and the plain ones."""
    fitted = model.fitted_
    fourier = basis_columns(fitted.phases(X.to_numpy()), fitted.index_set.frequencies)
    return np.hstack([fourier, fitted.plain(X.to_numpy())])


INPUTS = TableInputs(Circle("x", 1.0) * Circle("w", 7.0) + Slope("t"), None, "t", None)


@pytest.mark.filterwarnings("ignore:The .* components leave out")
class TestOracle:
    @given(st.integers(0, 1000), st.sampled_from([1.0, 3.5]), st.booleans())
    @settings(max_examples=15, deadline=None)
    def test_slope_and_error_are_those_of_generalised_least_squares(self, seed, redundancy, scaled):
        X, y = make_rows(60, seed)
        scale = np.random.default_rng(seed).uniform(0.5, 2, 60) if scaled else None
        model = fixed_regressor().fit(X, y, sample_weight=np.full(60, 1 / redundancy), noise_scale=scale)
        (found,) = estimate_slopes(model, INPUTS.with_axis(X["t"]))
        fitted = model.fitted_
        F = all_columns(model, X)[:, :-1]
        noise = 0.3 * redundancy * (np.ones(60) if scale is None else scale**2)
        C = F @ np.diag(fitted.prior_variances[:-1, 0]) @ F.T + np.diag(noise)
        here = (X["t"] - np.average(X["t"], weights=1 / noise)).to_numpy()
        precision = here @ np.linalg.solve(C, here)
        expected = here @ np.linalg.solve(C, y - fitted.offset) / precision
        # its prior is broad, not flat
        assert found.slope == pytest.approx(expected, abs=0.02 * found.std)
        assert found.std == pytest.approx(precision**-0.5, rel=1e-3)
        assert (found.column, found.per, found.is_time) == ("t", "unit of t", True)


@pytest.fixture(scope="module")
def sales():
    return make_sales()


@pytest.fixture(scope="module")
def fitted(sales):
    table = TableModel("sales", calendar={"date": ["week", "year"]}, terms=Slope("time"), n_components=101)
    return table.fit_and_evaluate(sales, start="2023-01-01")


class TestTables:
    def test_forecasts_of_what_grows(self, sales, fitted):
        plain = TableModel("sales", calendar={"date": ["week", "year"]}, n_components=101)
        with pytest.warns(UserWarning, match=r"are autocorrelated over.*terms='slope\(time\)'"):
            plain.fit_and_evaluate(sales, start="2023-01-01")
        assert plain.scores_.coverage < 0.9
        assert plain.scores_.r2 < 0
        assert fitted.scores_.r2 > 0.9
        assert 0.9 < fitted.scores_.coverage < 0.98
        assert not fitted.scores_.is_biased

    def test_the_slope_is_told_per_year(self, sales, fitted):
        (told,) = fitted.summary()["slopes"]
        assert told["per"] == "year"
        assert abs(told["slope"] - 10) < 4 * told["std"] < 2
        hours = sales.assign(t=np.arange(len(sales)) * 24.0)
        other = TableModel("sales", {"t": [168, 24 * YEAR]}, time="t", terms=Slope("time"), n_components=101).fit(hours)
        (told,) = other.summary()["slopes"]
        assert told["per"] == "unit of t"
        assert told["slope"] * 24 * YEAR == pytest.approx(10, abs=0.5)

    def test_the_line_goes_on(self, fitted):
        later = pd.DataFrame({"date": ["2031-03-03", "2059-03-03"]})  # the same day of the week and of the year
        forecast = fitted.predict(later)
        assert forecast["mean"][1] - forecast["mean"][0] == pytest.approx(28 * fitted.slopes_[0].slope, rel=1e-3)
        assert forecast["std"][1] > forecast["std"][0]
        np.testing.assert_allclose(forecast["q50"], forecast["mean"])

    def test_it_is_stored(self, fitted, sales, tmp_path):
        fitted.save(tmp_path / "model.npz")
        loaded = TableModel.load(tmp_path / "model.npz")
        pd.testing.assert_frame_equal(loaded.predict(sales[::50]), fitted.predict(sales[::50]), rtol=1e-9)
        assert loaded.summary() == fitted.summary()
        assert loaded.slopes_ == fitted.slopes_
        assert repr(loaded.terms) == "Slope('time')"

    def test_the_regressor_predicts_what_the_table_does(self, fitted, sales):
        X, y = fitted.read(sales)
        errors = sales["sales"].to_numpy() - fitted.predict(sales)["mean"].to_numpy()
        np.testing.assert_allclose(y - fitted.model_.predict(X), errors, atol=1e-8)

    def test_nothing_changes_without_it(self, sales):
        table = TableModel("sales", calendar={"date": ["week"]}, n_components=21, errors="independent").fit(sales)
        assert table.slopes_ == []
        assert table.summary()["slopes"] == []
        X, y = table.read(sales)
        np.testing.assert_array_equal(y, sales["sales"])
        np.testing.assert_array_equal(table.predict(sales)["mean"], table.model_.predict(X))

    def test_where_there_is_no_trend_none_is_found(self):
        table = TableModel("sales", calendar={"date": ["week", "year"]}, terms=Slope("time"), n_components=51)
        table.fit(make_sales(growth=0.0, memory=0.0, seed=7))
        assert abs(table.slopes_[0].slope) < 3 * table.slopes_[0].std

    def test_zones_and_numbers_are_not_mixed(self, fitted, sales):
        zoned = sales[:400].assign(date=sales["date"][:400].dt.tz_localize("Asia/Tokyo"))
        table = TableModel("sales", calendar={"date": ["week"]}, terms=Slope("time"), n_components=21).fit(zoned)
        elsewhere = zoned.assign(date=zoned["date"].dt.tz_convert("UTC"))
        np.testing.assert_allclose(table.predict(elsewhere)["mean"], table.predict(zoned)["mean"])
        t = pd.DataFrame({"t": np.arange(60.0), "x": np.arange(60.0) % 7, "y": np.arange(60) % 5})
        other = TableModel("y", {"x": 7}, time="t", terms=Slope("time")).fit(t)
        with pytest.raises(TableError, match="'t' of the table has times, but the model was fitted to numbers"):
            other.predict(t.assign(t=sales["date"][:60]))

    def test_a_forecast_needs_the_time(self):
        frame = pd.DataFrame({"t": np.arange(60.0), "x": np.arange(60.0) % 7, "y": np.arange(60) % 5})
        table = TableModel("y", {"x": 7}, time="t", terms=Slope("time")).fit(frame)
        with pytest.raises(TableError, match="has no column 't'"):
            table.predict(frame[["x"]])
        with pytest.raises(TableError, match="1 of 60 rows"):
            table.predict(frame.assign(t=frame["t"].where(frame["t"] != 3)))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"periods": {"x": 7}}, "time needs a column of times, but the table has none"),
            ({"periods": {"x": 7}, "time": "same"}, "The plain column 'same' has one distinct value"),
            ({"periods": {"x": 7}, "time": "y"}, "is the target, so it cannot be an input"),
        ],
    )
    def test_what_is_wrong_is_told(self, options, message):
        frame = pd.DataFrame({"t": np.arange(60.0), "x": np.arange(60.0) % 7, "y": np.arange(60) % 5, "same": 1.0})
        with pytest.raises(ValueError, match=message):
            TableModel("y", terms=Slope("time"), **options).fit(frame)

    def test_few_rows_and_exact_lines(self):
        frame = pd.DataFrame({"t": np.arange(24.0), "x": np.arange(24.0) % 7, "y": 3 * np.arange(24.0) - 5})
        table = TableModel("y", {"x": 7}, time="t", terms=Slope("time")).fit(frame)
        assert table.slopes_[0].slope == pytest.approx(3)
        np.testing.assert_allclose(table.predict(frame)["mean"], frame["y"], atol=1e-3)

    def test_a_period_is_found_beside_it(self):
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(0, 300, 400))
        y = 0.05 * t + np.sin(2 * np.pi * t / 11.7) + 0.3 * rng.normal(size=400)
        frame = pd.DataFrame({"t": t, "y": y})
        table = TableModel("y", {"t": "auto"}, time="t", terms=Slope("time"), errors="independent").fit(frame)
        assert not table.summary()["has_slow_change"]
        assert table.summary()["inputs"][0]["period"] == pytest.approx(11.7, abs=0.05)
        assert table.slopes_[0].slope == pytest.approx(0.05, abs=4 * table.slopes_[0].std)


class TestWarnings:
    def test_part_of_a_season_is_no_trend(self, sales):
        table = TableModel("sales", calendar={"date": ["week", "year"]}, terms=Slope("time"), n_components=51)
        with pytest.warns(UserWarning, match=r"less than one turn of year, .* Leave out terms='slope"):
            table.fit(sales[:200])
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*less than one turn")
            table.fit(sales[:365])
        days = sales[:200].assign(t=np.arange(200.0))
        with pytest.warns(UserWarning, match=r"less than one turn of 365\.25,"):
            TableModel("sales", {"t": [7, YEAR]}, time="t", terms=Slope("time"), n_components=51).fit(days)

    def test_runs_are_told_once_for_the_final_model(self):
        frame = make_sales(3, growth=0, seed=1)
        frame["sales"] += 0.5 * np.cumsum(np.random.default_rng(2).normal(size=len(frame)))
        table = TableModel("sales", calendar={"date": ["week"]}, n_components=21)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            clone(table).fit_and_evaluate(frame)
        runs = [str(one.message) for one in told if "are autocorrelated over" in str(one.message)]
        assert len(runs) == 1
        assert f"too long for {len(frame)} rows to show" in runs[0]
        assert "terms='slope(time)'" in runs[0]
