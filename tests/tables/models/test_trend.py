"""A line beside what repeats: an exact oracle, and what tables say of it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter
from sklearn.base import clone

from torusgp import TorusGPRegressor
from torusgp.tables.models import TableModel
from torusgp.tables.models._correlation import redundancy_along
from torusgp.tables.models._judgement import Judgement
from torusgp.tables.models._time_axis import YEAR, TimeAxis
from torusgp.tables.models._trend import Line
from torusgp.tables.reading import TableError

AXIS = TimeAxis("t", 0.0, "number")


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


def fixed_regressor(**changes):
    options = {
        "period": [1.0, 7.0],
        "length_scale": [0.8, 1.2],
        "signal_variance": 2.0,
        "noise_variance": 0.3,
        "n_components": 41,
        "learn": (),
    }
    return TorusGPRegressor(**(options | changes))


def dense_posterior(model, X, y, time, points, times, weight, slope_prior):
    """The exact Gaussian process whose covariance holds a broad prior on the slope, on targets less their mean."""

    def covariance(A, B):
        columns = [model.kernel_.phases(one) for one in (A, B)]
        angles = columns[0][:, None, :] - columns[1][None, :, :]
        waves = np.cos(np.einsum("abd,kd->abk", angles, model.index_set_.frequencies))
        # the variance of a frequency is that of its cosine, and of its sine
        variance = np.concatenate([model.prior_variance_[:1], model.prior_variance_[1::2]])
        return waves @ variance

    center, origin = np.average(y, weights=weight), np.average(time, weights=weight)
    here, there = time - origin, times - origin
    noise = np.diag(model.noise_variance_ / weight)
    of_rows = covariance(X, X) + slope_prior * np.outer(here, here) + noise
    across = covariance(points, X) + slope_prior * np.outer(there, here)
    mean = center + across @ np.linalg.solve(of_rows, y - center)
    prior = np.diag(covariance(points, points)) + slope_prior * there**2
    return mean, prior - np.sum(across * np.linalg.solve(of_rows, across.T).T, axis=1)


def make_rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, 3, n_rows))
    X = np.stack([time, rng.uniform(0, 7, n_rows)], axis=1)
    y = 5 + 2 * time + np.sin(2 * np.pi * X[:, 0]) * np.cos(2 * np.pi * X[:, 1] / 7) + 0.5 * rng.normal(size=n_rows)
    later = np.stack([np.linspace(2.5, 6, 9), rng.uniform(0, 7, 9)], axis=1)
    return X, y, time, later, later[:, 0]


@pytest.mark.filterwarnings("ignore:The .* columns leave out")
class TestOracle:
    @given(st.integers(0, 1000), st.sampled_from([1.0, 3.5]), st.sampled_from([0.0, 1.4, 7.0]), st.booleans())
    @settings(max_examples=15, deadline=None)
    def test_it_is_the_gaussian_process_with_a_flat_prior_on_the_slope(self, seed, redundancy, taken_off, scaled):
        X, y, time, points, times = make_rows(60, seed)
        scale = np.random.default_rng(seed).uniform(0.5, 2, 60) if scaled else None
        model = fixed_regressor()
        model.fit(X, y - taken_off * time, sample_weight=np.full(60, 1 / redundancy), noise_scale=scale)
        line = Line.from_rows(
            AXIS, model, X, y - taken_off * time, time, taken_off=taken_off, redundancy=redundancy, noise_scale=scale
        )
        mean, std = model.predict(points, return_std=True, include_noise=False)
        mean, std = line.add_to(model, points, times, mean, std)
        weight = np.ones(60) / redundancy / (1.0 if scale is None else scale**2)
        expected, variance = dense_posterior(model, X, y, time, points, times, weight, slope_prior=1e7)
        np.testing.assert_allclose(mean, expected, rtol=1e-5)
        np.testing.assert_allclose(std**2, variance, rtol=1e-4)

    def test_slope_and_error_are_those_of_generalised_least_squares(self):
        X, y, time, _, _ = make_rows(50, 3)
        model = fixed_regressor().fit(X, y)
        line = Line.from_rows(AXIS, model, X, y, time)
        F = model.kernel_.phases(X)[:, None, :] - model.kernel_.phases(X)[None]
        variance = np.concatenate([model.prior_variance_[:1], model.prior_variance_[1::2]])
        C = np.cos(np.einsum("abd,kd->abk", F, model.index_set_.frequencies)) @ variance + 0.3 * np.eye(50)
        here = time - time.mean()
        precision = here @ np.linalg.solve(C, here)
        assert line.slope == pytest.approx(here @ np.linalg.solve(C, y - y.mean()) / precision, rel=1e-8)
        assert line.variance == pytest.approx(1 / precision, rel=1e-8)

    def test_what_was_taken_off_first_does_not_matter(self, monkeypatch):
        monkeypatch.setattr("torusgp.estimators.regressor.BROAD", 1e8)  # else relative to what is left of the targets
        X, y, time, points, times = make_rows(80, 5)
        results = []
        for taken_off in (0.0, 2.0, -30.0):
            model = fixed_regressor().fit(X, y - taken_off * time)
            line = Line.from_rows(AXIS, model, X, y - taken_off * time, time, taken_off=taken_off)
            results.append(line.add_to(model, points, times, *model.predict(points, return_std=True)))
        np.testing.assert_allclose(results[1], results[0], rtol=1e-8)
        np.testing.assert_allclose(results[2], results[0], rtol=1e-8)

    def test_correlation_that_a_slope_sees_is_that_of_slow_noise(self):
        n_rows, memory = 20000, 0.8
        X = np.arange(float(n_rows))[:, None]
        noise = make_noise(memory, n_rows)
        model = fixed_regressor(period=24.0, length_scale=1.0, n_components=5).fit(X, noise)
        direction = X[:, 0] - X.mean()
        found = redundancy_along(model, X, noise, direction, 50)
        assert found == pytest.approx((1 + memory) / (1 - memory), rel=0.2)  # the integrated correlation time


@pytest.fixture(scope="module")
def sales():
    return make_sales()


@pytest.fixture(scope="module")
def fitted(sales):
    table = TableModel("sales", calendar={"date": ["week", "year"]}, trend="linear", n_components=101)
    return table.fit_and_judge(sales, start="2023-01-01")


class TestTables:
    def test_forecasts_of_what_grows(self, sales, fitted):
        plain = TableModel("sales", calendar={"date": ["week", "year"]}, n_components=101)
        with pytest.warns(UserWarning, match=r"level has changed.*above.*trend='linear'"):
            plain.fit_and_judge(sales, start="2023-01-01")
        assert plain.judgement_.coverage < 0.85
        assert plain.judgement_.drifts
        assert fitted.judgement_.r2 > 0.9
        assert 0.9 < fitted.judgement_.coverage < 0.98
        assert not fitted.judgement_.drifts

    def test_tables_predict_what_the_learned_hyperparameters_imply(self, sales):
        some = sales[:900]
        table = TableModel("sales", calendar={"date": ["week", "year"]}, trend="linear", n_components=51, redundancy=2)
        model = table.fit(some).model_
        X, _ = table.read(some)
        again = TorusGPRegressor(
            period=model.kernel_.period,
            length_scale=model.kernel_.length_scale,
            signal_variance=model.signal_variance_,
            noise_variance=model.noise_variance_,
            index_set=model.index_set_,
            learn=(),
        )
        time, y = np.arange(900) / YEAR, some["sales"].to_numpy()
        again.fit(X, y, sample_weight=np.full(900, 0.5))  # the line is still in the targets
        line = Line.from_rows(table.trend_.axis, again, X, y, time, redundancy=2)
        assert table.trend_.slope == pytest.approx(line.slope, rel=1e-8)
        assert table.trend_.std == pytest.approx(line.std, rel=1e-8)
        later = sales[900:1200]
        mean, std = line.add_to(
            again,
            table.read(later)[0],
            np.arange(900, 1200) / YEAR,
            *again.predict(table.read(later)[0], return_std=True),
        )
        np.testing.assert_allclose(table.predict(later)["mean"], mean, rtol=1e-8)
        np.testing.assert_allclose(table.predict(later)["std"], std, rtol=1e-8)

    def test_the_slope_is_told_per_year(self, sales, fitted):
        told = fitted.summary()["trend"]
        assert told["per"] == "year"
        assert abs(told["slope"] - 10) < 4 * told["slope_std"] < 2
        hours = sales.assign(t=np.arange(len(sales)) * 24.0)
        other = TableModel("sales", {"t": [168, 24 * YEAR]}, time="t", trend="linear", n_components=101).fit(hours)
        told = other.summary()["trend"]
        assert told["per"] == "unit of t"
        assert told["slope"] * 24 * YEAR == pytest.approx(10, abs=0.5)

    def test_the_line_goes_on(self, fitted):
        later = pd.DataFrame({"date": ["2031-03-03", "2059-03-03"]})  # the same day of the week and of the year
        forecast = fitted.predict(later)
        assert forecast["mean"][1] - forecast["mean"][0] == pytest.approx(28 * fitted.trend_.slope, rel=1e-3)
        assert forecast["std"][1] > forecast["std"][0]
        np.testing.assert_allclose(forecast["q50"], forecast["mean"])

    def test_it_is_stored(self, fitted, sales, tmp_path):
        fitted.save(tmp_path / "model.npz")
        loaded = TableModel.load(tmp_path / "model.npz")
        pd.testing.assert_frame_equal(loaded.predict(sales[::50]), fitted.predict(sales[::50]), rtol=1e-9)
        assert loaded.summary() == fitted.summary()
        assert loaded.trend == "linear"

    def test_targets_of_the_regressor_leave_the_errors_as_they_are(self, fitted, sales):
        X, y = fitted.read(sales)
        errors = sales["sales"].to_numpy() - fitted.predict(sales)["mean"].to_numpy()
        np.testing.assert_allclose(y - fitted.model_.predict(X), errors, atol=1e-8)

    def test_nothing_changes_without_it(self, sales):
        table = TableModel("sales", calendar={"date": ["week"]}, n_components=21, redundancy=1).fit(sales)
        assert table.trend_ is None
        assert table.summary()["trend"] is None
        X, y = table.read(sales)
        np.testing.assert_array_equal(y, sales["sales"])
        np.testing.assert_array_equal(table.predict(sales)["mean"], table.model_.predict(X))

    def test_where_there_is_no_trend_none_is_found(self):
        table = TableModel("sales", calendar={"date": ["week", "year"]}, trend="linear", n_components=51)
        table.fit(make_sales(growth=0.0, memory=0.0, seed=7))
        assert abs(table.trend_.slope) < 3 * table.trend_.std

    def test_zones_and_numbers_are_not_mixed(self, fitted, sales):
        zoned = sales[:400].assign(date=sales["date"][:400].dt.tz_localize("Asia/Tokyo"))
        table = TableModel("sales", calendar={"date": ["week"]}, trend="linear", n_components=21).fit(zoned)
        elsewhere = zoned.assign(date=zoned["date"].dt.tz_convert("UTC"))
        np.testing.assert_allclose(table.predict(elsewhere)["mean"], table.predict(zoned)["mean"])
        t = pd.DataFrame({"t": np.arange(60.0), "x": np.arange(60.0) % 7, "y": np.arange(60) % 5})
        other = TableModel("y", {"x": 7}, time="t", trend="linear").fit(t)
        with pytest.raises(TableError, match="'t' of the table has times without a time zone, but the trend"):
            other.predict(t.assign(t=sales["date"][:60]))

    def test_a_forecast_needs_the_time(self):
        frame = pd.DataFrame({"t": np.arange(60.0), "x": np.arange(60.0) % 7, "y": np.arange(60) % 5})
        table = TableModel("y", {"x": 7}, time="t", trend="linear").fit(frame)
        with pytest.raises(TableError, match="has no column 't'"):
            table.predict(frame[["x"]])
        with pytest.raises(TableError, match="1 of 60 rows"):
            table.predict(frame.assign(t=frame["t"].where(frame["t"] != 3)))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"periods": {"x": 7}, "trend": "linear"}, "trend='linear' needs a column that orders the rows"),
            ({"periods": {"x": 7}, "time": "same", "trend": "linear"}, "'same' is the same in all 60 rows"),
            ({"periods": {"x": 7}, "time": "t", "trend": "quadratic"}, "trend must be 'linear' or None, got 'quad"),
            ({"periods": {"x": 7}, "time": "y", "trend": "linear"}, "cannot be the time of the trend"),
        ],
    )
    def test_what_is_wrong_is_told(self, options, message):
        frame = pd.DataFrame({"t": np.arange(60.0), "x": np.arange(60.0) % 7, "y": np.arange(60) % 5, "same": 1.0})
        with pytest.raises(ValueError, match=message):
            TableModel("y", **options).fit(frame)

    def test_few_rows_and_exact_lines(self):
        frame = pd.DataFrame({"t": np.arange(24.0), "x": np.arange(24.0) % 7, "y": 3 * np.arange(24.0) - 5})
        table = TableModel("y", {"x": 7}, time="t", trend="linear").fit(frame)
        assert table.trend_.slope == pytest.approx(3)
        np.testing.assert_allclose(table.predict(frame)["mean"], frame["y"], atol=1e-3)

    def test_a_period_is_found_beside_it(self):
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(0, 300, 400))
        y = 0.05 * t + np.sin(2 * np.pi * t / 11.7) + 0.3 * rng.normal(size=400)
        frame = pd.DataFrame({"t": t, "y": y})
        table = TableModel("y", {"t": "auto"}, time="t", trend="linear", redundancy=1).fit(frame)
        assert table.model_.trend_ is None
        assert table.summary()["inputs"][0]["period"] == pytest.approx(11.7, abs=0.05)
        assert table.trend_.slope == pytest.approx(0.05, abs=4 * table.trend_.std)


class TestWarnings:
    def test_part_of_a_season_is_no_trend(self, sales):
        table = TableModel("sales", calendar={"date": ["week", "year"]}, trend="linear", n_components=51)
        with pytest.warns(UserWarning, match=r"less than one turn of year, .* Leave out trend='linear'"):
            table.fit(sales[:200])
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*less than one turn")
            table.fit(sales[:365])
        days = sales[:200].assign(t=np.arange(200.0))
        with pytest.warns(UserWarning, match=r"less than one turn of 365\.25,"):
            TableModel("sales", {"t": [7, YEAR]}, time="t", trend="linear", n_components=51).fit(days)

    def test_runs_are_told_once_for_the_final_model(self):
        frame = make_sales(3, growth=0, seed=1)
        frame["sales"] += 0.5 * np.cumsum(np.random.default_rng(2).normal(size=len(frame)))
        table = TableModel("sales", calendar={"date": ["week"]}, n_components=21)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            clone(table).fit_and_judge(frame)
        runs = [str(one.message) for one in told if "come in runs" in str(one.message)]
        assert len(runs) == 1
        assert f"longer than {len(frame)} rows can tell" in runs[0]
        assert "trend='linear'" in runs[0]

    def test_chance_is_no_drift(self):
        rng = np.random.default_rng(0)
        drifts = []
        for seed in range(200):
            error = make_noise(0.9, 400, seed)
            drifts.append(
                Judgement.from_predictions(error, np.zeros(400), np.ones(400), "", noise_std=1.0, redundancy=1.0).drifts
            )
        assert np.mean(drifts) < 0.05
        shifted = make_noise(0.9, 400) + 3
        found = Judgement.from_predictions(shifted, np.zeros(400), np.ones(400), "", noise_std=1.0, redundancy=1.0)
        assert found.drifts
        assert found.bias == pytest.approx(shifted.mean())
        uncertain = Judgement.from_predictions(shifted, np.zeros(400), np.full(400, 3.0), "", redundancy=1.0)
        assert not uncertain.drifts
        white = rng.normal(size=400)
        known = Judgement.from_predictions(white, np.zeros(400), np.ones(400), "", noise_std=1.0, redundancy=4.0)
        assert known.bias_std == pytest.approx(white.std() * np.sqrt(4 / 400), rel=1e-6)
        assert Judgement.from_predictions(white, np.zeros(400), np.ones(400), "").bias is None
