"""Columns become inputs by their type, by their names, or by a formula."""

import numpy as np
import pandas as pd
import pytest

from torusgp import Category, Circle, Line, TableModel
from torusgp.data.tables import TableError
from torusgp.tables.inputs import Options, choose_inputs, parse_formula
from torusgp.tables.table import MOST_LEVELS, column_kind


def make_frame(n_days=800, step="6h", seed=0):
    rng = np.random.default_rng(seed)
    when = pd.date_range("2022-01-01", periods=int(pd.Timedelta(days=n_days) / pd.Timedelta(step)), freq=step)
    n = len(when)
    return pd.DataFrame(
        {
            "when": when,
            "temperature": rng.uniform(-5, 30, n),
            "shop": rng.choice(["north", "south"], n),
            "open": rng.choice([True, False], n),
            "promotion": rng.integers(0, 2, n),
            "wind speed": rng.uniform(0, 10, n),
            "receipt": [f"r{i}" for i in range(n)],
            "country": "AU",
            "remark": None,
            "y": rng.normal(size=n),
        }
    )


def choose(frame, source="sales.csv", **options):
    return choose_inputs(Options("y", **options), frame, source)


def shown(inputs):
    """The model, without bounds of slow change."""
    return " + ".join(
        " * ".join(f"{type(one).__name__} {one.used[0]}" for one in term.factors)
        if hasattr(term, "factors")
        else f"Slope {term.input}"
        for term in inputs.model.terms
    )


class TestByType:
    def test_every_column_is_used_or_named(self):
        inputs = choose(make_frame())
        assert shown(inputs) == (
            "Circle hour_of_day * Circle day_of_week + Circle hour_of_day * Circle day_of_year + "
            "Circle hour_of_day * Line temperature + Circle hour_of_day * Category shop + "
            "Circle hour_of_day * Category open + Circle hour_of_day * Category promotion + "
            "Circle hour_of_day * Line wind speed + "
            "Line temperature * Category shop * Category open * Category promotion * Line wind speed + Line when + "
            "Circle hour_of_day * Circle day_of_week * Circle day_of_year * Line temperature * Category shop * "
            "Category open * Category promotion * Line wind speed * Line when"
        )
        assert inputs.calendar == ("when", ("day", "week", "year"))
        assert inputs.time == "when"
        assert dict(inputs.unused) == {
            "receipt": "it has 3,200 different values, too many for a category",
            "country": "it is AU in every row",
            "remark": "it is empty",
        }

    @pytest.mark.parametrize(
        ("n_days", "step", "cycles"),
        [(13, "h", ["day"]), (14, "h", ["day", "week"]), (740, "D", ["week", "year"]), (1500, "MS", ["year"])],
    )
    def test_cycles_are_those_that_the_times_have_gone_through_twice(self, n_days, step, cycles):
        when = pd.date_range("2022-01-01", pd.Timestamp("2022-01-01") + pd.Timedelta(days=n_days), freq=step)
        frame = pd.DataFrame({"t": when[:-1], "y": np.arange(len(when) - 1.0)})
        assert list(choose(frame).calendar[1]) == cycles

    def test_slow_change_is_slower_than_every_cycle(self):
        low, high = choose(make_frame(900)).model.terms[-1].factors[-1].length_scale_bounds  # in years
        assert low == 1
        assert high == pytest.approx(10 * 900 / 365.25, rel=1e-3)
        low, _ = choose(make_frame(30, "1h")).model.terms[-1].factors[-1].length_scale_bounds
        assert low == pytest.approx(30 / 4 / 365.25, rel=0.01)

    def test_columns_that_the_calendar_has_are_read_off_the_times(self):
        frame = make_frame(20, "1h")[["when", "y"]]
        inputs = choose(frame.assign(hour_of_day=frame["when"].dt.hour))
        assert dict(inputs.unused) == {"hour_of_day": "it is read off 'when'"}

    def test_without_times(self):
        frame = make_frame()[["temperature", "shop", "y"]]
        inputs = choose(frame)
        assert shown(inputs) == "Line temperature * Category shop"
        assert (inputs.time, inputs.calendar) == (None, None)

    def test_other_roles_are_no_inputs(self):
        inputs = choose(make_frame(), reserved=("temperature", "wind speed"))
        assert "temperature" not in inputs.names
        assert "temperature" not in dict(inputs.unused)

    @pytest.mark.parametrize("unit", ["s", "ms"])
    def test_unix_times_are_recognised(self, unit):
        frame = make_frame(20, "1h")[["when", "y"]]
        number = frame["when"].astype(f"datetime64[{unit}]").astype("int64")
        assert column_kind(frame.assign(timestamp=number), "timestamp", "").name == "time"
        assert column_kind(frame.assign(income=number), "income", "").name == "number"
        text = TableModel("y", calendar={"when": ["day"]}, n_components=21).fit(frame)
        unix = TableModel("y", calendar={"when": ["day"]}, n_components=21).fit(frame.assign(when=number))
        np.testing.assert_allclose(unix.model_.coef_, text.model_.coef_)
        assert unix.inputs_.zone == "UTC"
        assert shown(choose(frame.assign(when=number))) == "Circle hour_of_day * Circle day_of_week + Line when"

    def test_two_columns_of_times(self):
        frame = make_frame(20)
        frame["ordered"] = frame["when"] - pd.Timedelta(days=1)
        with pytest.raises(TableError, match=r"several columns of times, 'when', 'ordered'.*\(time='when'\)"):
            choose(frame)
        unused = dict(choose(frame, time="when").unused)
        assert unused["ordered"] == "its times do not order the rows, as those of 'when' do"

    def test_dates_that_can_be_read_in_two_ways_are_no_names(self):
        frame = make_frame(30, "1D")
        frame["when"] = frame["when"].dt.strftime("%d/%m/%Y")
        with pytest.raises(TableError, match=r'which number is the day, with --date-format "%d/%m/%Y"'):
            choose(frame, "the table")
        assert choose(frame, "the table", date_format="%d/%m/%Y").time == "when"

    def test_nothing_at_all(self):
        with pytest.raises(ValueError, match=r"no column of sales.csv beside 'y' can be an input; 'country': it is AU"):
            choose(make_frame()[["country", "y"]])

    def test_many_levels_are_left_out_unless_they_are_named(self):
        frame = make_frame(30, "1h")
        frame["town"] = [f"town {i % (MOST_LEVELS + 1)}" for i in range(len(frame))]
        assert "51 different values" in dict(choose(frame).unused)["town"]
        assert shown(choose(frame, terms="category(town)")) == "Category town"

    def test_an_empty_field_of_a_category_is_a_level(self):
        frame = make_frame(40, "1h")
        frame["y"] += 5 * frame["promotion"]
        frame["promotion"] = np.where(frame["promotion"] == 1, "half price", None)
        assert column_kind(frame, "promotion", "").name == "category"
        frame.loc[3, "promotion"] = "special"
        model = TableModel("y", terms="promotion", n_components=21).fit(frame)
        assert model.inputs_.empty_levels == ("promotion",)
        high, low = (
            model.predict(frame[frame["promotion"] != "special"])["mean"].groupby(frame["promotion"].isna()).mean()
        )
        assert high - low == pytest.approx(5, abs=0.5)
        with pytest.raises(TableError, match="'shop' of the table is empty"):
            TableModel("y", terms="shop", n_components=21).fit(frame).predict(
                frame.assign(shop=None, when="2024-01-01")
            )


class TestNames:
    def test_inputs(self):
        inputs = choose(make_frame(), inputs="hour, day of year,temperature")
        assert shown(inputs) == "Circle hour_of_day * Circle day_of_year + Circle hour_of_day * Line temperature"
        assert inputs.calendar == ("when", ("day", "year"))
        assert dict(inputs.unused)["shop"] == "it is not named"

    def test_time_is_an_input(self):
        assert shown(choose(make_frame(20), inputs=["time", "shop"])) == (
            "Circle hour_of_day * Circle day_of_week + Circle hour_of_day * Category shop + Line when + "
            "Circle hour_of_day * Circle day_of_week * Category shop * Line when"
        )

    def test_the_product_of_all_inputs_is_rougher_and_as_slow_in_time(self):
        pair, _, slow, together = choose(make_frame(20), inputs=["time", "shop"]).model.terms
        assert pair.factors[0].family == slow.factors[0].family == "squared_exponential"
        assert [one.family for one in together.factors if not isinstance(one, Category)] == 3 * ["matern52"]
        assert together.factors[-1].length_scale_bounds == slow.factors[0].length_scale_bounds
        terms = choose(make_frame(20), inputs=["time", "shop"], kernel="matern32").model.terms
        assert {one.family for term in terms for one in term.factors if not isinstance(one, Category)} == {"matern32"}

    def test_three_inputs_that_interact_are_found(self):
        rng, n_rows = np.random.default_rng(0), 1000
        when = pd.date_range("2024-01-01", periods=n_rows, freq="3h")
        frame = pd.DataFrame({"when": when, "u": rng.normal(size=n_rows), "v": rng.normal(size=n_rows)})
        mean = np.sin(2 * np.pi * when.hour / 24) * np.tanh(frame["u"]) * frame["v"]
        frame["y"] = mean + rng.normal(0, 0.3, n_rows)
        learned = np.arange(n_rows) % 4 > 0
        inputs = ["hour", "weekday", "u", "v"]
        table = TableModel("y", inputs=inputs, errors="independent", n_components=151).fit(frame[learned])
        error = table.predict(frame[~learned])["mean"] - mean[~learned]
        assert np.mean(error**2) < 0.3 * np.mean(mean**2)  # pairs of inputs explain nothing

    def test_few_inputs_have_pairs_alone(self):
        assert shown(choose(make_frame(), inputs="hour, weekday, temperature")) == (
            "Circle hour_of_day * Circle day_of_week + Circle hour_of_day * Line temperature"
        )

    def test_periods_and_calendar_name_inputs_too(self):
        inputs = choose(make_frame(), periods={"temperature": 12}, calendar={"when": ["month"]}, inputs=["shop"])
        assert shown(inputs) == (
            "Circle day_of_month * Circle temperature + Circle day_of_month * Category shop + "
            "Circle temperature * Category shop"
        )
        assert [term.max_interaction for term in inputs.model.terms] == [None, None, 2]

    def test_cycles_interact_in_pairs_beside_other_inputs(self):
        assert shown(choose(make_frame(), inputs="year, hour, weekday")) == (
            "Circle day_of_year * Circle hour_of_day * Circle day_of_week"
        )
        assert shown(choose(make_frame(), inputs="year, hour, weekday, temperature")) == (
            "Circle hour_of_day * Circle day_of_year + Circle hour_of_day * Circle day_of_week + "
            "Circle hour_of_day * Line temperature + "
            "Circle day_of_year * Circle hour_of_day * Circle day_of_week * Line temperature"
        )

    def test_without_a_rhythm_everything_interacts(self):
        frame = make_frame()[["temperature", "shop", "wind speed", "y"]]
        assert shown(choose(frame)) == "Line temperature * Category shop * Line wind speed"

    def test_what_terms_leave_out_is_beside_them(self):
        inputs = choose(make_frame(), calendar={"when": ["day", "week"]}, terms="slope(time) + hour * temperature")
        assert shown(inputs) == "Circle day_of_week + Slope when + Circle hour_of_day * Line temperature"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"inputs": ["temprature"]}, "no column 'temprature'. Did you mean 'temperature'"),
            ({"inputs": [3]}, r"inputs must be names of columns, got \[3\]"),
            ({"inputs": ["remark"]}, "'remark' of sales.csv cannot be an input: it is empty"),
            ({"terms": "hour * tempreature"}, "no column 'tempreature'"),
            ({"terms": "y ~ hour"}, r"\+ adds and \* multiplies"),
            ({"terms": "hour *"}, "ends too early"),
            ({"terms": "(hour + shop"}, "a parenthesis that is not closed"),
            ({"terms": "hour + 'shop"}, "a quote that is not closed"),
            ({"terms": ""}, "The formula is empty"),
            ({"terms": "log(temperature)"}, "no function 'log'"),
            ({"terms": "circle(temperature)"}, "needs a period"),
            ({"terms": "circle(temperature, long)"}, "must be a positive number or 'auto', got 'long'"),
            ({"terms": "line(shop, 3)"}, "has too many parts"),
            ({"terms": "slope(temperature) * hour"}, "cannot be multiplied"),
            ({"terms": "shop + line(shop)"}, "as a category and as a number"),
        ],
    )
    def test_what_is_wrong_is_told(self, options, message):
        with pytest.raises(ValueError, match=message):
            choose(make_frame(20), **options)

    def test_a_column_with_the_name_of_a_cycle(self):
        frame = make_frame(20, "1h")
        frame["hour"] = frame["when"].dt.hour
        with pytest.raises(ValueError, match=r"'hour' is a column .* write hour_of_day .* circle\(hour, 24\)"):
            choose(frame, terms="hour * shop")
        assert shown(choose(frame, terms="circle(hour, 24) * shop")) == "Circle hour * Category shop"
        assert shown(choose(frame, terms="hour_of_day * shop")) == "Circle hour_of_day * Category shop"
        assert shown(choose(frame.drop(columns="when"), terms="hour")) == "Line hour"


class TestFormulas:
    def test_products_and_sums(self):
        inputs = choose(
            make_frame(), terms="hour * (weekday + temperature) + time + slope(wind speed) + category(open)"
        )
        assert shown(inputs) == (
            "Circle hour_of_day * Circle day_of_week + Circle hour_of_day * Line temperature + Line when + "
            "Slope wind speed + Category open"
        )

    def test_it_is_the_expression(self):
        frame = make_frame(60, "6h")
        expression = Circle("hour_of_day", 24) * Line("temperature") + Category("shop")
        models = [
            TableModel("y", terms=terms, n_components=61).fit(frame)
            for terms in ("hour * temperature + shop", expression)
        ]
        np.testing.assert_array_equal(models[0].model_.coef_, models[1].model_.coef_)

    def test_names_with_signs_and_words(self):
        names = []

        def leaf(name):
            names.append(name)
            return Line(name)

        parse_formula("""'a*b' + "c (d)" * `e` + wind speed""", leaf, None)
        assert names == ["a*b", "c (d)", "e", "wind speed"]

    def test_slow_change_knows_cycles_that_come_later(self):
        first, second = (choose(make_frame(900), terms=terms) for terms in ("time + year", "year + time"))
        assert (
            first.model.terms[0].factors[0].length_scale_bounds == second.model.terms[1].factors[0].length_scale_bounds
        )

    def test_files(self, tmp_path):
        frame = make_frame(60)
        model = TableModel("y", terms="hour * temperature + shop + slope(time)", n_components=41).fit(frame)
        model.save(tmp_path / "model.npz")
        loaded = TableModel.load(tmp_path / "model.npz")
        pd.testing.assert_frame_equal(loaded.predict(frame[:9]), model.predict(frame[:9]))
        assert loaded.unused_ == model.unused_ != {}
        assert loaded.terms == model.terms
