"""Terms beside what repeats: columns of numbers and of levels, time, and products with the calendar's cycles."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from torusgp import Category, Circle, Line, Slope, TorusGPRegressor
from torusgp.data.tables import TableError
from torusgp.kernels.axes import Product
from torusgp.tables.clock import YEAR
from torusgp.tables.inputs import (
    check_terms,
    named_inputs,
    rename_time,
    with_single_effects,
)
from torusgp.tables.model import TableModel


def make_frame(n_days=60, seed=0):
    """Hours whose level also depends on a temperature, a shop and a price, and grows."""
    rng = np.random.default_rng(seed)
    when = pd.date_range("2024-01-01", periods=24 * n_days, freq="h")
    frame = pd.DataFrame({"when": when})
    frame["temperature"] = rng.uniform(-5, 35, len(when))
    frame["shop"] = rng.choice(["north", "south", "east"], len(when))
    frame["price"] = rng.normal(10, 2, len(when))
    frame["y"] = (
        np.cos(2 * np.pi * when.hour / 24)
        + 2 * np.cos(frame["temperature"] / 8)
        + frame["shop"].map({"north": -1.0, "south": 0.0, "east": 1.0})
        - 0.5 * frame["price"]
        + 3 * np.arange(len(when)) / 24 / YEAR
        + 0.2 * rng.normal(size=len(when))
    )
    return frame


TERMS = Slope("time") + Slope("price") + Line("temperature") + Category("shop")


@pytest.fixture(scope="module")
def frame():
    return make_frame()


@pytest.fixture(scope="module")
def fitted(frame):
    return TableModel("y", calendar={"when": ["day"]}, terms=TERMS, n_components=101).fit_and_evaluate(frame)


class TestTerms:
    def test_they_explain_what_they_should(self, fitted):
        assert fitted.scores_.r2 > 0.97
        assert 0.9 < fitted.scores_.coverage <= 1
        slopes = {slope.column: slope for slope in fitted.slopes_}
        assert abs(slopes["price"].slope + 0.5) < 4 * slopes["price"].std < 0.1
        assert abs(slopes["when"].slope - 3) < 4 * slopes["when"].std
        assert (slopes["when"].per, slopes["price"].per) == ("year", "unit of price")
        told = {term["name"]: term for term in fitted.summary()["terms"]}
        assert list(told) == ["temperature", "shop"]
        assert told["temperature"]["std"] == pytest.approx(np.sqrt(2), rel=0.1)
        assert told["shop"]["std"] == pytest.approx(np.sqrt(2 / 3), rel=0.1)
        (scale,) = told["temperature"]["length_scales"]
        assert 3 < scale["value"] < 30  # degrees
        assert told["shop"]["length_scales"] == []

    def test_it_is_the_regressor_on_these_columns(self, fitted, frame):
        X, y = fitted.read(frame)
        assert X.columns.tolist() == ["hour_of_day", "when", "price", "temperature", "shop"]
        assert X["when"].iloc[24] == pytest.approx(1 / YEAR)
        kernel = Product((Circle("hour_of_day", 24),)) + Slope("when") + Slope("price")
        kernel = kernel + Line("temperature") + Category("shop")
        model = TorusGPRegressor(kernel, n_components=101).fit(X, y)
        plain = clone(fitted).set_params(errors="independent").fit(frame)
        np.testing.assert_allclose(plain.model_.coef_, model.coef_, rtol=1e-8, atol=1e-10)

    def test_forecasts_need_the_columns_and_take_new_levels(self, fitted, frame):
        later = frame[:4].assign(shop=["north", "east", "west", "north"])
        forecast = fitted.predict(later)
        assert forecast["std"][2] > 1.5 * forecast["std"][0]  # nothing is known of this one
        with pytest.raises(TableError, match="has no column 'price'"):
            fitted.predict(frame.drop(columns="price"))
        with pytest.raises(TableError, match=r"1 of 4 rows .*'shop' 1"):
            fitted.predict(later.assign(shop=["north", None, "east", "north"]))

    def test_files(self, fitted, frame, tmp_path):
        fitted.save(tmp_path / "model.npz")
        loaded = TableModel.load(tmp_path / "model.npz")
        pd.testing.assert_frame_equal(loaded.predict(frame[::50]), fitted.predict(frame[::50]), rtol=1e-9)
        assert loaded.summary() == fitted.summary()
        assert repr(loaded.terms) == repr(TERMS)

    def test_levels_are_the_same_however_they_are_written(self, frame, tmp_path):
        number = frame["shop"].map({"north": 1, "south": 2, "east": 3})
        options = {
            "calendar": {"when": ["day"]},
            "terms": Category("shop"),
            "n_components": 41,
            "errors": "independent",
        }
        forms = [number, number.astype(float), number.astype(str)]
        found = [TableModel("y", **options).fit(frame.assign(shop=shop)) for shop in forms]
        for other in found[1:]:
            np.testing.assert_allclose(other.model_.coef_, found[0].model_.coef_)
        frame.assign(shop=number).to_csv(tmp_path / "data.csv", index=False)
        missing = frame.assign(shop=number.where(number.index != 3))  # which makes pandas take them for floats
        missing.to_csv(tmp_path / "missing.csv", index=False)
        table = found[0].set_params(drop_missing=True)
        expected = table.predict(tmp_path / "data.csv").drop(index=3)
        pd.testing.assert_frame_equal(table.predict(tmp_path / "missing.csv"), expected)
        with pytest.raises(TableError, match=r"row 3: 1\.5 in column 'shop' is no level of a category"):
            table.predict(frame.assign(shop=number.astype(float).where(number.index != 2, 1.5)))

    def test_products_with_the_calendar(self, frame):
        hour = frame["when"].dt.hour
        warm = frame.assign(y=np.cos(2 * np.pi * hour / 24) * frame["temperature"] / 10 + 0.1 * frame["y"])
        alone = TableModel("y", calendar={"when": ["day"]}, terms=Line("temperature"), n_components=101)
        both = clone(alone).set_params(terms=Circle("hour_of_day", 24) * Line("temperature"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = (one.fit_and_evaluate(warm).scores_ for one in (alone, both))
        assert second.r2 > first.r2 + 0.3
        names = [axis.name for axis in both.model_.fitted_.prior.torus.axes]
        assert names == ["hour_of_day", "temperature"]  # the cycle is one axis

    def test_time_may_be_a_line_and_a_number(self, frame):
        hours = frame.assign(t=np.arange(len(frame)) * 1.0)
        table = TableModel("y", {"t": 24}, time="t", terms=Line("time") + Slope("time"), n_components=61).fit(hours)
        X, _ = table.read(hours)
        assert X.columns.tolist() == ["t"]
        assert table.slopes_[0].per == "unit of t"
        assert table.summary()["terms"][0]["length_scales"][0]["value"] >= 24  # no faster than what repeats

    def test_periods_are_learned_beside_them(self):
        rng = np.random.default_rng(0)
        t, x = np.sort(rng.uniform(0, 300, 500)), rng.uniform(size=500)
        y = np.sin(2 * np.pi * t / 11.7) + 3 * x + 0.3 * rng.normal(size=500)
        data = pd.DataFrame({"t": t, "x": x, "y": y, "hour": rng.uniform(0, 24, 500)})
        about = Circle("t", 11.65, period_bounds=(6.0, 24.0)) * Circle("hour", 24)
        for options in ({"periods": {"t": "auto"}, "terms": Slope("x")}, {"terms": about + Slope("x")}):
            table = TableModel("y", **options).fit(data)
            found = table.summary()["inputs"][0]
            assert abs(found["period"] - 11.7) < 4 * found["period_std"] < 0.2
            assert table.slopes_[0].slope == pytest.approx(3, abs=4 * table.slopes_[0].std)


class TestExpressions:
    def test_names(self):
        terms = Slope("time") + Line("time") * Category("shop")
        assert named_inputs(terms) == ["time", "shop"]
        assert named_inputs(rename_time(terms, "date")) == ["date", "shop"]
        assert rename_time(None, "date") is None
        check_terms(terms)

    def test_products_have_the_effects_of_their_inputs_beside_them(self):
        day, week, line = Circle("t", 24), Circle("t", 168), Line("t")
        given = day * week + day * line + line + Slope("t")
        kernel = with_single_effects(given)
        assert kernel.terms[:4] == given.terms
        assert [term.factors for term in kernel.terms[4:]] == [(day,), (week,)]
        many = day * Line("a") * Line("b") * Line("c")
        for kernel in (
            day,
            day + week,
            (day * week).limited(1),
            day * line + day + line,
            Circle("t", "auto") * day,
            many,
            many + day * week,
        ):
            assert with_single_effects(kernel) is kernel


class TestTwoPeriodsThatAreFound:
    @pytest.fixture(scope="class")
    def model(self):
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(0, 60, 250))
        y = np.sin(2 * np.pi * t / 3.7) + 0.6 * np.sin(2 * np.pi * t / 1.43) + 0.1 * rng.normal(size=250)
        terms = "circle(bjd, auto) + circle(bjd, auto)"
        return TableModel("y", terms=terms, n_components=101).fit(pd.DataFrame({"bjd": t, "y": y}))

    def test_the_second_is_no_slow_change(self, model):
        assert sorted(model.model_.period_) == pytest.approx([1.43, 3.7], rel=1e-3)
        summary = model.summary()
        assert summary["slow_change_std"] < 0.1
        assert "slow change" not in model.findings().facts
        (second,) = summary["terms"]
        assert second["std"] == pytest.approx(0.6 / np.sqrt(2), rel=0.1)
        assert "varies by 0.4" in model.findings().facts[second["name"]]

    def test_one_period_has_all_of_its_slow_change(self):
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(0, 60, 250))
        y = np.sin(2 * np.pi * t / 3.7) + 2 * (t / 60) ** 2 + 0.1 * rng.normal(size=250)
        model = TableModel("y", {"t": "auto"}, n_components=101).fit(pd.DataFrame({"t": t, "y": y}))
        summary = model.summary()
        assert summary["terms"] == []
        assert summary["slow_change_std"] == pytest.approx(np.std(2 * (t / 60) ** 2), rel=0.1)
