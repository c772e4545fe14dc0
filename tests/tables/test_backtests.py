"""Forecasts of the past from several origins."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from torusgp import TableModel
from torusgp.data.tables import TableError
from torusgp.tables.backtest import Backtest, Fold, group_folds, make_folds
from torusgp.tables.timeline import Horizon
from torusgp.views.scores import LEVELS

CALENDAR = {"time": ["day", "week"]}


def make_table(n_days=35):
    time = pd.date_range("2024-01-01", periods=24 * n_days, freq="h")
    busy = np.where(time.day_of_week < 5, 2.0, 1.0) * np.cos(2 * np.pi * time.hour / 24)
    noise = np.random.default_rng(0).normal(0, 0.3, len(time))
    return pd.DataFrame({"time": time, "demand": 5 + busy + noise})


def quick(**options):
    return TableModel("demand", calendar=CALENDAR, errors="independent", n_components=41, **options)


@pytest.fixture(scope="module")
def found():
    return quick().backtest(make_table(), "24h", 5)


def known_of(found):
    return [str(origin) for origin in found.origins]


class TestForecasts:
    def test_they_are_those_of_a_model_that_knows_the_rows_before(self, found):
        frame = make_table()
        assert known_of(found)[0] == "2024-01-30 23:00:00"
        assert found.n_fits == len(found.origins) == 5
        before = quick().fit(frame[frame["time"] <= "2024-02-01 23:00"]).forecast("24h")
        third = found.forecasts[found.forecasts["origin"] == "2024-02-01 23:00"]
        np.testing.assert_allclose(third[["mean", "std", "q05"]], before.to_frame()[["mean", "std", "q05"]], rtol=1e-6)
        assert third["time"].tolist() == before.times.tolist()
        np.testing.assert_array_equal(third["step"], np.arange(1, 25))
        np.testing.assert_array_equal(third["observed"], frame["demand"][24 * 32 : 24 * 33])

    def test_no_row_after_an_origin_is_used(self):
        """What comes after an origin may be anything: its forecast stays the same."""
        frame = make_table()
        first = quick().backtest(frame, "24h", ["2024-01-20 23:00"]).forecasts
        frame.loc[frame["time"] > "2024-01-20 23:00", "demand"] = np.random.default_rng(1).normal(0, 100, 24 * 15)
        second = quick().backtest(frame, "24h", ["2024-01-20 23:00"]).forecasts
        columns = ["mean", "std", "q05", "q50", "q95", "naive"]
        np.testing.assert_allclose(first[columns], second[columns], rtol=1e-12)

    def test_fits_are_shared_between_origins(self, found):
        frame = make_table()
        weekly = quick().backtest(frame, "24h", 5, refit="3d")
        assert weekly.n_fits == 2
        assert known_of(weekly) == known_of(found)
        fitted = quick().fit(frame[frame["time"] <= "2024-01-30 23:00"])
        second = weekly.forecasts[24:48]
        np.testing.assert_allclose(second["mean"], fitted.predict(second[["time"]])["mean"], rtol=1e-6)

    def test_the_model_itself_stays_as_it_is(self):
        table = quick()
        table.backtest(make_table(), "24h", 1)
        assert not hasattr(table, "model_")
        assert not hasattr(table, "inputs_")

    @pytest.mark.slow  # starting processes takes longer than these fits
    def test_processes_change_nothing(self, found):
        again = quick().backtest(make_table(), "24h", 3, refit=1, n_jobs=2)
        np.testing.assert_allclose(again.forecasts["mean"], found.forecasts["mean"][48:], rtol=1e-6)

    def test_counts(self):
        frame = make_table(20)
        frame["demand"] = np.random.default_rng(0).poisson(np.exp(np.cos(2 * np.pi * frame["time"].dt.hour / 24)))
        table = TableModel(
            "demand", calendar={"time": ["day"]}, likelihood="poisson", errors="independent", n_components=15
        )
        found = table.backtest(frame, "24h", 3, refit=False)
        assert found.scores.deviance > 0
        assert found.scores.middle is None
        assert 0.8 < found.scores.coverage <= 1
        assert found.scores.crps < found.naive.crps


class TestScores:
    def test_they_are_those_of_the_table_of_forecasts(self, found):
        table = found.forecasts
        error = table["observed"] - table["mean"]
        scores, naive = found.scores, found.naive
        assert scores.n_rows == naive.n_rows == 120
        assert scores.mae == pytest.approx(error.abs().mean())
        assert scores.rmse == pytest.approx(np.sqrt((error**2).mean()))
        assert scores.wape == pytest.approx(error.abs().sum() / table["observed"].abs().sum())
        assert scores.coverage == pytest.approx(np.mean(error.abs() <= 1.959964 * table["std"]))
        assert scores.coverage80 == pytest.approx(np.mean(error.abs() <= 1.281552 * table["std"]))
        assert scores.middle == pytest.approx(np.mean(error.abs() <= 0.6744898 * table["std"]))
        assert naive.mae == pytest.approx((table["observed"] - table["naive"]).abs().mean())
        history = make_table()["demand"].to_numpy()[: 24 * 30]
        lag = {"day": 24, "week": 168}[found.season]
        scale = np.mean(np.abs(history[lag:] - history[:-lag]))
        assert (scores.mase, naive.mase) == pytest.approx((scores.mae / scale, naive.mae / scale))

    def test_pinball_and_crps_by_their_definitions(self, found):
        table, levels = found.forecasts, np.linspace(0.0005, 0.9995, 1000)
        z = np.vectorize(NormalDist().inv_cdf)
        quantiles = table["mean"].to_numpy()[:, None] + z(levels) * table["std"].to_numpy()[:, None]
        missed = table["observed"].to_numpy()[:, None] - quantiles
        loss = np.maximum(levels * missed, (levels - 1) * missed)
        assert found.scores.crps == pytest.approx(2 * loss.mean(), rel=1e-3)
        deciles = np.arange(1, 10) / 10
        assert set(deciles) <= set(LEVELS)
        missed = table["observed"].to_numpy()[:, None] - (
            table["mean"].to_numpy()[:, None] + z(deciles) * table["std"].to_numpy()[:, None]
        )
        assert found.scores.pinball == pytest.approx(np.maximum(deciles * missed, (deciles - 1) * missed).mean())

    def test_by_horizon(self, found):
        assert [one.name for one in found.by_horizon] == [str(step) for step in range(1, 25)]
        third = found.forecasts[found.forecasts["step"] == 3]
        assert found.by_horizon[2].scores.mae == pytest.approx((third["observed"] - third["mean"]).abs().mean())
        frame = found.to_frame()
        assert len(frame) == 24
        assert {"steps", "mae", "mase", "pinball", "crps", "coverage", "naive_mae"} <= set(frame.columns)
        long = quick().backtest(make_table(), "14d", 1)
        assert long.by_horizon[0].name == "1 to 14"
        assert sum(one.scores.n_rows for one in long.by_horizon) == 336

    def test_a_season_is_beaten_and_a_walk_is_not(self, found):
        assert found.beats_naive
        walk = make_table().assign(demand=np.cumsum(np.random.default_rng(2).normal(size=840)))
        assert not quick().backtest(walk, "24h", 5, refit=False).beats_naive

    def test_they_are_kept_in_json(self, found):
        again = Backtest.from_json(found.to_json())
        assert again.to_json() == found.to_json()
        pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())


class TestOrigins:
    order = pd.Series(pd.date_range("2024-01-01", periods=240, freq="h"), name="time")

    def folds(self, horizon, origins, every=None):
        horizon = Horizon.parse(horizon)
        return make_folds(self.order, horizon, origins, horizon if every is None else Horizon.parse(every))

    def test_the_last_horizon_ends_with_the_rows(self):
        assert self.folds("24h", 3) == [Fold(168, 192), Fold(192, 216), Fold(216, 240)]
        assert self.folds(24, 2) == [Fold(192, 216), Fold(216, 240)]
        assert self.folds("2d", 3, "1d") == [Fold(144, 192), Fold(168, 216), Fold(192, 240)]

    def test_times_that_are_given_are_the_last_known(self):
        assert self.folds(6, ["2024-01-05 00:00", "2024-01-03 12:00"]) == [Fold(61, 67), Fold(97, 103)]

    @pytest.mark.parametrize(
        ("horizon", "origins", "every", "message"),
        [
            ("24h", 0, None, "1 or more"),
            ("24h", True, None, "must be a number or a list of times"),
            ("24h", [], None, "got none"),
            ("24h", 11, None, r"too few for 11 origins with a horizon of 24h: give fewer \(origins=9\)"),
            ("24h", ["2023-01-01"], None, "has no rows before or after it"),
            ("24h", ["2024-01-01 05:00"], None, "has 6 rows before it; 20 or more are needed"),
            ("24h", 2, 12, "both as numbers of rows, or both as spans"),
            ("2024-01-05", 2, None, "A backtest has several horizons"),
            ("0h", 2, None, "The horizon must be positive"),
            (-1, 2, None, "The horizon must be positive"),
        ],
    )
    def test_what_cannot_be_is_told(self, horizon, origins, every, message):
        with pytest.raises(ValueError, match=message):
            self.folds(horizon, origins, every)

    def test_origins_in_a_gap_are_left_out_with_a_word(self):
        order = self.order.drop(index=range(192, 216)).reset_index(drop=True)
        with pytest.warns(UserWarning, match="1 of 2 origins have no rows within 24h"):
            assert make_folds(order, Horizon.parse("24h"), 2, Horizon.parse("24h")) == [Fold(192, 216)]

    def test_groups_of_a_fit(self):
        folds = self.folds("24h", 5)
        assert [len(group) for group in group_folds(folds, self.order, True)] == [1] * 5
        assert [len(group) for group in group_folds(folds, self.order, False)] == [5]
        assert [len(group) for group in group_folds(folds, self.order, 2)] == [2, 2, 1]
        assert [len(group) for group in group_folds(folds, self.order, "3d")] == [3, 2]
        with pytest.raises(ValueError, match="refit must be"):
            group_folds(folds, self.order, 0)

    def test_rows_without_order_have_no_past(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"phi": rng.uniform(0, 360, 100), "y": rng.normal(size=100)})
        with pytest.raises(TableError, match="Nothing orders the rows, so they have no past"):
            TableModel("y", {"phi": 360}).backtest(frame, 5)


class TestFit:
    def test_it_evaluates_itself_in_the_same_way(self):
        frame = make_table()
        table = quick().fit_and_evaluate(frame, refit=False)
        origin = table.evaluation_.origins[0]
        found = quick().backtest(frame, len(frame) - table.n_rows_, [str(origin)])
        for name in ("mae", "rmse", "mnll", "r2", "coverage", "mase", "crps", "bias", "skill"):
            assert getattr(table.scores_, name) == pytest.approx(getattr(found.scores, name))
            if name in ("mae", "rmse", "mase", "crps"):
                assert getattr(table.evaluation_.naive, name) == pytest.approx(getattr(found.naive, name))

    def test_a_stored_model_keeps_it(self, tmp_path):
        table = quick().fit_and_evaluate(make_table())
        table.save(tmp_path / "model.npz")
        again = TableModel.load(tmp_path / "model.npz")
        assert again.evaluation_.to_json() == table.evaluation_.to_json()
        assert again.scores_ == table.scores_
