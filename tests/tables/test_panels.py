"""Several series in one table: noticed, and one model for each."""

import warnings

import numpy as np
import pandas as pd
import pytest

from tests.cli.runner import assert_fails, run
from torusgp import PanelModel, TableModel
from torusgp.data.tables import TableError
from torusgp.tables.panel import load_tables


def make_stores(n_days=14, seed=0):
    rng = np.random.default_rng(seed)
    when = pd.date_range("2024-01-01", periods=24 * n_days, freq="h")
    parts = []
    for store, size in (("north", 1.0), ("south", 3.0)):
        sales = size * (5 + np.cos(2 * np.pi * when.hour / 24)) + 0.1 * rng.normal(size=len(when))
        parts.append(pd.DataFrame({"when": when, "store": store, "sales": sales}))
    return pd.concat(parts, ignore_index=True).sample(frac=1, random_state=0)


def quick():
    return TableModel("sales", terms="hour", errors="independent", n_components=15)


@pytest.fixture(scope="module")
def stores():
    return make_stores()


@pytest.fixture(scope="module")
def panel(stores):
    return PanelModel(quick(), "store", n_jobs=1).fit_and_evaluate(stores)


class TestPanels:
    def test_each_model_is_that_of_its_rows(self, panel, stores):
        for level, model in panel.models_.items():
            own = quick().fit_and_evaluate(stores[stores["store"] == level].drop(columns="store"))
            np.testing.assert_array_equal(model.model_.coef_, own.model_.coef_)
            assert model.scores_ == own.scores_
            assert "store" not in model.unused_
        predicted = panel.predict(stores)
        assert predicted.index.tolist() == stores.index.tolist()
        assert np.std(predicted["mean"] - stores["sales"]) < 0.2
        assert {level: one.n_rows for level, one in panel.evaluate(stores).items()} == {"north": 336, "south": 336}

    def test_processes_give_the_same(self, panel, stores):
        other = PanelModel(quick(), "store", n_jobs=2).fit_and_evaluate(stores)
        for level, model in panel.models_.items():
            theirs = other.models_[level].model_.coef_  # other processes have another number of threads, and so round
            np.testing.assert_allclose(model.model_.coef_, theirs, rtol=1e-3, atol=1e-4)  # where learning ends

    def test_files(self, panel, stores, tmp_path):
        panel.save(tmp_path / "stores.npz", {"data": "stores.csv"})
        loaded = load_tables(tmp_path / "stores.npz")
        assert isinstance(loaded, PanelModel)
        pd.testing.assert_frame_equal(loaded.predict(stores), panel.predict(stores))
        one = load_tables(f"{tmp_path / 'stores.npz'}:south")
        assert isinstance(one, TableModel)
        assert one.predict(stores[:3])["mean"].between(10, 20).all()
        with pytest.raises(ValueError, match=r"a model for each of 2 values of 'store'.* write .*stores.npz:north"):
            TableModel.load(tmp_path / "stores.npz")
        with pytest.raises(ValueError, match="no model of store 'east'; it has those of north, south"):
            TableModel.load(f"{tmp_path / 'stores.npz'}:east")

    def test_forecasts(self, panel):
        table = panel.forecast("1d").to_frame()
        assert table.columns.tolist() == ["store", "when", "mean", "std", "q05", "q50", "q95"]
        assert table["store"].value_counts().to_dict() == {"north": 24, "south": 24}
        sums = panel.forecast("1d").aggregate("all", "sum").to_frame().set_index("store")["mean"]
        assert sums["south"] / sums["north"] == pytest.approx(3, rel=0.05)

    def test_what_is_wrong_is_told(self, panel, stores):
        with pytest.raises(TableError, match="store east, of which there is no model; there are those of north, south"):
            panel.predict(stores.assign(store="east"))
        with pytest.raises(TableError, match="no column 'shop'"):
            PanelModel(quick(), "shop").fit(stores)
        with pytest.raises(ValueError, match="'sales' is the target"):
            PanelModel(quick(), "sales").fit(stores)
        missing = stores.reset_index(drop=True)
        missing.loc[0, "store"] = None
        with pytest.raises(TableError, match=r"1 of 672 rows of the table have no value of 'store'"):
            PanelModel(quick(), "store").fit(missing)

    def test_a_level_that_cannot_be_fitted_is_left_out_and_told(self, stores):
        few = pd.concat([stores, stores[:5].assign(store="new")])
        with pytest.warns(UserWarning, match="store new is left out: the table has 5 complete rows"):
            panel = PanelModel(quick(), "store", n_jobs=1).fit(few)
        assert list(panel.models_) == ["north", "south"]
        assert list(panel.failed_) == ["new"]
        with pytest.raises(TableError, match="No value of 'store' could be fitted"):
            PanelModel(quick(), "store", n_jobs=1).fit(stores[:8])


class TestRepeatedTimes:
    def test_several_series_are_noticed(self, stores):
        with pytest.warns(UserWarning, match=r"336 of 672 rows .* which 'store' distinguishes.* by='store'"):
            quick().fit(stores)

    def test_rows_that_are_there_twice(self, stores):
        one = stores[stores["store"] == "north"].drop(columns="store")
        with pytest.warns(UserWarning, match=r"3 of 339 rows have the time of another; the first is .*row 337"):
            quick().fit(pd.concat([one, one[:3]]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            quick().fit(one)


class TestCommand:
    def test_from_a_table_to_forecasts(self, tmp_path):
        data, model = tmp_path / "stores.csv", tmp_path / "stores.npz"
        make_stores().to_csv(data, index=False)
        options = ("--target", "sales", "--terms", "hour", "--components", 15, "--errors", "independent")
        plain = run("fit", data, *options, "-o", tmp_path / "all.npz")
        assert "--by store" in plain.stdout
        result = run("fit", data, *options, "--by", "store", "-o", model)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "north" in result.stdout
        result = run("forecast", model, "--horizon", "2d", "-o", tmp_path / "forecast.csv")
        assert (result.exit_code, result.stderr) == (0, "")
        written = pd.read_csv(tmp_path / "forecast.csv")
        assert written.columns.tolist() == ["store", "when", "mean", "std", "q05", "q50", "q95"]
        assert len(written) == 96
        result = run("predict", model, data, "-o", tmp_path / "predictions.csv")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "R2 0.9" in result.stdout
        assert "south" in run("info", model).stdout
        assert_fails(run("report", model), "stores.npz:north")
        assert run("info", f"{model}:north").exit_code == 0
