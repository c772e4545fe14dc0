"""Forecasts of tables whose errors are autocorrelated: they go on from the last rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from torusgp import TableModel
from torusgp.data.tables import TableError
from torusgp.tables.model import _compared

MEMORY = 0.9


def make_table(n_days=40, seed=0):
    time = pd.date_range("2024-01-01", periods=24 * n_days, freq="h")
    noise = lfilter([0.5], [1, -MEMORY], np.random.default_rng(seed).normal(size=len(time) + 200))[200:]
    return pd.DataFrame({"time": time, "load": 20 + 3 * np.cos(2 * np.pi * time.hour / 24) + noise})


def model():
    return TableModel("load", calendar={"time": ["day"]}, n_components=21)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(make_table())


def at_any_time(fitted, times):
    """Predictions that know nothing of the errors of other rows."""
    X = fitted._read_inputs(pd.DataFrame({"time": times}), "times")[0].X
    return pd.DataFrame(dict(zip(("mean", "std"), fitted.model_.predict(X, return_std=True), strict=True)))


def test_intervals_start_narrow_and_grow_to_those_of_any_time(fitted):
    forecast = fitted.forecast("14d")
    far = at_any_time(fitted, forecast.times)
    assert (np.diff(forecast.std[:12]) > 0).all()
    assert forecast.std[0] < 0.6 * far["std"][0]
    np.testing.assert_allclose(forecast.std[-24:], far["std"][-24:], rtol=0.02)
    np.testing.assert_allclose(forecast.mean[-24:], far["mean"][-24:], atol=0.05)
    # of noise that remembers 0.9 of the hour before, with innovations of 0.5
    expected = 0.5 * np.sqrt((1 - MEMORY ** (2 * np.arange(1, 11))) / (1 - MEMORY**2))
    np.testing.assert_allclose(forecast.std[:10], expected, rtol=0.15)


def test_means_start_from_where_the_series_is(fitted):
    frame = make_table()
    last = frame["load"].iloc[-1] - fitted.predict(frame[["time"]][-1:])["mean"].iloc[0]
    forecast = fitted.forecast("14d")
    apart = forecast.mean - at_any_time(fitted, forecast.times)["mean"].to_numpy()
    assert np.sign(apart[0]) == np.sign(last)
    assert abs(apart[0] - MEMORY * last) < 0.15 * abs(last)
    assert np.abs(apart[-24:]).max() < 0.1 * abs(apart[0])


def test_predictions_of_what_comes_are_forecasts(fitted):
    forecast = fitted.forecast("2d", quantiles=(0.05, 0.5, 0.95))
    frame = pd.DataFrame({"time": forecast.times}).sample(frac=1, random_state=0)
    predicted = fitted.predict(frame).sort_index()
    np.testing.assert_allclose(predicted["mean"], forecast.mean)
    np.testing.assert_allclose(predicted[["q05", "q50", "q95"]], forecast.quantiles)


def test_predictions_in_a_gap_start_narrow_on_both_sides(tmp_path):
    frame = make_table()
    gap = slice(400, 500)
    table = model().fit(frame.drop(index=range(400, 500)))
    inside = table.predict(frame[["time"]][gap])
    beside = table.predict(frame[["time"]][:400])  # rows of the fit: another observation at the same time
    assert inside["std"].iloc[[0, -1]].max() < 0.6 * beside["std"].min()
    assert inside["std"].max() == pytest.approx(beside["std"].median(), rel=0.05)
    assert (np.diff(inside["std"][:20]) > 0).all()
    assert (np.diff(inside["std"][-20:]) < 0).all()
    both = table.predict(frame[["time"]])
    pd.testing.assert_frame_equal(both[gap], inside, rtol=1e-8)
    error = (frame["load"] - both["mean"])[gap].to_numpy()
    plain = frame["load"][gap].to_numpy() - at_any_time(table, frame["time"][gap])["mean"].to_numpy()
    assert np.mean(error[[0, 1, -2, -1]] ** 2) < 0.5 * np.mean(plain[[0, 1, -2, -1]] ** 2)
    table.save(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(TableModel.load(tmp_path / "model.npz").predict(frame[["time"]]), both, rtol=1e-8)


def test_the_order_of_rows_does_not_matter(fitted):
    shuffled = model().fit(make_table().sample(frac=1, random_state=0))
    np.testing.assert_allclose(shuffled.forecast(24).mean, fitted.forecast(24).mean, rtol=1e-6)


def test_a_stored_model_goes_on_from_the_same_rows(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    again = TableModel.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(again.forecast("2d").to_frame(3), fitted.forecast("2d").to_frame(3))


def test_paths_hang_together_as_errors_do(fitted):
    forecast = fitted.forecast("2d")
    paths = forecast.sample(4000)
    np.testing.assert_allclose((paths.mean(axis=0) - forecast.mean) / forecast.std, 0, atol=4.5 / np.sqrt(4000))
    np.testing.assert_allclose(paths.std(axis=0), forecast.std, rtol=0.06)
    away = (paths - forecast.mean) / forecast.std
    assert np.mean(away[:, 30] * away[:, 31]) == pytest.approx(MEMORY, abs=0.08)
    alone = np.sqrt(np.sum(forecast.std[:24] ** 2))
    assert forecast.aggregate("day").std[0] > 2 * alone


@pytest.fixture(scope="module")
def table_with_gap():
    frame = make_table()
    frame["x"] = np.random.default_rng(1).normal(size=len(frame))
    frame["load"] += frame["x"]
    return frame


def ordered(frame, **options):
    """A model whose times only order the rows."""
    return TableModel("load", terms="x", time="time", n_components=21, **options).fit(frame.drop(index=range(400, 420)))


@pytest.fixture(scope="module")
def ordered_model(table_with_gap):
    return ordered(table_with_gap)


def moved(frame, zone="Europe/Berlin"):
    return frame.assign(time=frame["time"].dt.tz_localize(zone))


class TestClocks:
    def test_times_that_only_order_rows_are_on_the_clock_of_the_fit(self, table_with_gap, ordered_model):
        rows = table_with_gap[395:425]
        later = rows.assign(time=rows["time"] + pd.Timedelta("60D"))
        differ = "'time' of the table have the time zone Europe/Berlin, but those .* have no time zone: their clocks"
        for read in (ordered_model.predict, ordered_model.evaluate, ordered_model.read):
            with pytest.raises(TableError, match=differ):
                read(moved(rows))
        with pytest.raises(TableError, match=differ):
            ordered_model.forecast("2d", moved(later))
        for read in (ordered_model.predict, lambda frame: ordered_model.forecast("2d", frame)):
            with pytest.raises(TableError, match="'time' of the table has numbers, but the model was fitted to times"):
                read(later.assign(time=np.arange(30.0)))

    def test_of_zones_it_does_not_matter_which(self, table_with_gap):
        table, rows = ordered(moved(table_with_gap)), moved(table_with_gap[395:425])
        elsewhere = rows.assign(time=rows["time"].dt.tz_convert("America/Lima"))
        pd.testing.assert_frame_equal(table.predict(elsewhere), table.predict(rows))
        with pytest.raises(TableError, match=r"have no time zone, but those .* have the time zone Europe/Berlin"):
            table.predict(table_with_gap[395:425])

    def test_a_common_clock_of_the_calendar_is_no_common_moment(self, table_with_gap):
        """Hours of the day agree, but the errors of rows two hours away do not."""
        table = TableModel("load", calendar={"time": ["day"]}, timezone="Europe/Berlin", n_components=21)
        with pytest.raises(TableError, match="their clocks differ"):
            table.fit(table_with_gap).predict(moved(table_with_gap[395:425]))

    def test_moving_means_are_on_it_too(self, table_with_gap):
        table = TableModel("load", lags={"x": "3h"}, terms="x_3h", time="time", errors="independent", n_components=21)
        with pytest.raises(TableError, match="their clocks differ"):
            table.fit(table_with_gap).predict(moved(table_with_gap[395:425]))


class TestMissingTimes:
    def test_rows_without_a_time_are_predicted_alone(self, table_with_gap, ordered_model):
        rows = table_with_gap[395:425]
        whole, alone = ordered_model.predict(rows), ordered_model.predict(rows[["x", "load"]])
        is_missing = rows.index % 3 == 0
        some = rows.assign(time=rows["time"].mask(is_missing))
        expected = pd.concat([whole[~is_missing], alone[is_missing]]).sort_index()
        assert not np.allclose(expected["std"], alone["std"])
        assert not np.allclose(expected["std"], whole["std"])
        pd.testing.assert_frame_equal(ordered_model.predict(some), expected)
        pd.testing.assert_frame_equal(ordered_model.predict(rows.assign(time=None)), alone)
        assert np.isfinite(ordered_model.evaluate(some).rmse)
        dropping = ordered(table_with_gap, drop_missing=True)
        pd.testing.assert_frame_equal(dropping.predict(some), expected)

    def test_numbers_that_order_rows_may_be_missing_too(self, table_with_gap):
        frame = table_with_gap.assign(time=np.arange(len(table_with_gap), dtype=float))
        table, rows = ordered(frame), frame[398:422]
        some = rows.assign(time=rows["time"].mask(rows.index == 410))
        predicted, whole = table.predict(some), table.predict(rows)
        pd.testing.assert_frame_equal(predicted.drop(index=410), whole.drop(index=410))
        pd.testing.assert_frame_equal(predicted.loc[[410]], table.predict(rows[["x"]]).loc[[410]])

    def test_text_that_is_no_time_is_named(self, table_with_gap, ordered_model):
        with pytest.raises(TableError, match="row 1, column 'time': 'soon' is not a time"):
            ordered_model.predict(table_with_gap[:5].assign(time="soon"))

    def test_those_that_inputs_need_are_missed(self, table_with_gap, fitted):
        some = table_with_gap[:5].assign(time=table_with_gap["time"][:5].mask(table_with_gap.index[:5] == 2))
        with pytest.raises(TableError, match="'time' 1; the first is row 3"):
            fitted.predict(some)

    @pytest.mark.parametrize("errors", ["auto", "independent"])
    def test_reports_draw_the_other_rows(self, table_with_gap, tmp_path, errors):
        table, rows = ordered(table_with_gap, errors=errors), table_with_gap[395:425]
        some = rows.assign(time=rows["time"].mask(rows.index % 3 == 0))
        table.report(tmp_path / "report.html", some, new_rows=True)
        _, record = _compared(table, some, "the table", True)
        assert record.place.min() == some["time"].min().timestamp() * 1000
        assert len(record.place) == 20


class TestBacktests:
    def test_forecasts_between_fits_go_on_from_the_rows_before_them(self):
        frame = make_table()
        found = model().backtest(frame, 12, 4, refit=False)
        assert found.n_fits == 1
        first = found.origins[0]
        table = model().fit(frame[frame["time"] <= first])
        third = found.forecasts[found.forecasts["origin"] == found.origins[2]]
        residual = frame.set_index("time")["load"][found.origins[2]]
        residual -= table.predict(pd.DataFrame({"time": [found.origins[2]]}))["mean"][0]
        plain = table.predict(third[["time"]])["mean"].to_numpy()
        assert third["mean"].to_numpy()[0] - plain[0] == pytest.approx(MEMORY * residual, abs=0.2 * abs(residual) + 0.1)
        # the first row ahead of every origin is as certain as that of the first
        firsts = found.forecasts[found.forecasts["step"] == 1]
        np.testing.assert_allclose(firsts["std"], firsts["std"].iloc[0], rtol=0.02)

    def test_they_equal_those_of_new_fits_but_for_what_is_learned(self):
        frame = make_table()
        once, each = (model().backtest(frame, 12, 3, refit=refit).forecasts for refit in (False, True))
        assert (np.abs(once["mean"] - each["mean"]) / once["std"]).max() < 0.2

    def test_the_next_hours_are_better_known_than_those_of_tomorrow(self):
        found = model().backtest(make_table(60), 24, 20, refit=False).to_frame()
        assert found["mae"][:3].mean() < 0.7 * found["mae"][-6:].mean()
        assert found["mae"][0] < found["naive_mae"][0]


@pytest.mark.slow
def test_intervals_hold_at_every_horizon():
    inside = []
    for seed in range(60):
        frame = make_table(21, seed)
        forecast = model().fit(frame[: 24 * 20]).forecast(24, quantiles=(0.025, 0.975))
        lower, upper = forecast.interval(0.95)
        observed = frame["load"].to_numpy()[24 * 20 :]
        inside.append((observed >= lower) & (observed <= upper))
    shares = np.mean(inside, axis=0)
    error = np.sqrt(0.95 * 0.05 / 60)
    assert (shares > 0.90 - 3 * error).all()
    assert 0.90 < shares.mean() < 0.98


def test_future_rows_are_still_checked(fitted):
    with pytest.raises(TableError, match="overlap the past"):
        fitted.forecast("1d", make_table()[["time"]][-3:])


def test_scattered_rows_that_vary_quickly_are_fitted():
    """Rows that share a cell of time are almost the same where noise is smooth, but no covariance is singular."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 1, 600))
    frame = pd.DataFrame({"x": x, "y": np.cos(2 * np.pi * 40 * x) + 0.1 * rng.normal(size=600)})
    with pytest.warns(UserWarning, match="little evidence that y repeats"):
        table = TableModel("y", {"x": 1}, time="x", n_components=21).fit(frame)
    assert np.isfinite(table.predict(frame)["std"]).all()
