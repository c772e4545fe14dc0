"""Pages of table models, as the command makes them."""

import re
import warnings

import numpy as np
import pytest
from scipy.signal import lfilter

from tests.views.report.pages import Page, charts
from torusgp import Slope
from torusgp.cli._report import report_file
from torusgp.tables.models import TableModel, words_of_the_command
from torusgp.views.analysis import effect
from torusgp.views.report._numbers import percent

pandas = pytest.importorskip("pandas")

HOURS = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+:\d\d")
NAMES_OF = ("RMSE", "R²", "RMSE of their mean")


def make_table(n_days=100, memory=0.7, first=0):
    """Hours whose noise remembers so much of the hour before."""
    hours = np.arange(24 * first, 24 * (first + n_days))
    noise = lfilter([1], [1, -memory], np.random.default_rng(first).normal(size=len(hours)))
    load = 30 + 5 * np.cos(2 * np.pi * hours / 24) + np.where(hours // 24 % 7 < 5, 2.0, 0.0) + noise
    return pandas.DataFrame({"time": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(hours, "h"), "load": load})


@pytest.fixture(scope="module")
def correlated(tmp_path_factory):
    place = tmp_path_factory.mktemp("correlated")
    table = TableModel("load", calendar={"time": ["day", "week"]}, n_components=101).fit_and_evaluate(make_table())
    table.save(place / "model.npz")
    make_table().to_csv(place / "all.csv", index=False)
    later = make_table(20, first=100)
    later.loc[later.index % 5 == 0, "load"] = np.nan  # rows of which nothing is known do not count
    later.to_csv(place / "later.csv", index=False)
    return table, place


def make_page(place, *rows, **arguments):
    report_file(place / "model.npz", place / "page.html", *rows, **arguments)
    return Page((place / "page.html").read_text(encoding="utf-8"))


def text_of(page):
    return page.root.find("body").all_text().replace("\N{NO-BREAK SPACE}", " ")


def test_without_rows_it_tells_what_was_noted_at_the_fit(correlated):
    table, place = correlated
    page = make_page(place)
    assert table.redundancy_ > 1.5
    worth = f"2,400 rows, worth {table.n_effective_:,.0f} independent ones, how load"
    assert worth in page.root.find("p", class_="opening").text
    assert "does not say how good" not in text_of(page)
    assert f"On {table.scores_.n_rows} rows held out when it was fitted ({table.scores_.rows})" in text_of(page)
    names = list(page.facts())
    assert len(names) == len(set(names))
    assert not {"function", "noise", "signal, noise"} & set(names)  # which have rows of their own
    assert page.facts()["rows fitted"][0].text == "2,400"
    noted = float(page.facts()["held out at the fit: RMSE"][0].attributes["data-value"])
    assert noted == pytest.approx(table.scores_.rmse)


def test_new_rows_are_compared_with_what_the_table_model_predicts(correlated):
    table, place = correlated
    page = make_page(place, place / "later.csv", new=True)
    frame = pandas.read_csv(place / "later.csv").dropna()
    wanted = table.evaluate(frame)
    facts = page.facts()
    assert facts["these rows"][0].text == f"{len(frame)}, new to the model"
    for name, value in (("RMSE", wanted.rmse), ("R²", wanted.r2), ("mean negative log loss", wanted.mnll)):
        assert float(facts[f"these rows: {name}"][0].attributes["data-value"]) == pytest.approx(value, rel=1e-9)
    inside = facts["these rows: in 95\N{NO-BREAK SPACE}% intervals"][0].attributes["data-value"]
    assert float(inside) == pytest.approx(wanted.coverage)
    assert f"The model counts {table.redundancy_:.3g} rows as one" in text_of(page)
    assert "takes for independent" not in text_of(page)


def test_the_rows_of_the_fit_are_recognised(correlated):
    _, place = correlated
    assert "On the 2,400 rows it was fitted to" in text_of(make_page(place, place / "all.csv"))


def test_noise_alone_is_called_so(tmp_path):
    frame = make_table(60, memory=0.0)
    frame["load"] = np.random.default_rng(1).normal(size=len(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # which say the same
        table = TableModel("load", calendar={"time": ["day", "week"]}, n_components=51, redundancy=1)
        table.fit_and_evaluate(frame).save(tmp_path / "model.npz")
    assert table.scores_.r2 < 0.01
    page = make_page(tmp_path)
    assert page.root.find("strong").text.startswith("The model explains n")
    assert "matters most" not in text_of(page)
    assert page.section("attribution").find("table") is None


def make_days(n_days=5 * 182, first=0, every="D"):
    """Days that grow along a line, the weekday of which is as rough as seven values can be."""
    time = pandas.date_range(pandas.Timestamp("2020-01-01") + pandas.Timedelta(days=first), periods=n_days, freq=every)
    week = np.array([0, -5, -3, 4, 25, 45, -40])[time.day_of_week]
    days = (time - pandas.Timestamp("2020-01-01")) / pandas.Timedelta(days=1)
    year = 40 * np.cos(2 * np.pi * time.day_of_year / 365.25)
    sales = 300 + week + year + 0.08 * days + np.random.default_rng(first).normal(0, 15, n_days)
    return pandas.DataFrame({"time": time, "sales": np.asarray(sales)})


@pytest.fixture(scope="module")
def daily(tmp_path_factory):
    place = tmp_path_factory.mktemp("daily")
    table = TableModel("sales", calendar={"time": ["week", "year"]}, n_components=101, terms=Slope("time"))
    table.fit_and_evaluate(make_days()).save(place / "model.npz")
    make_days(182, 5 * 182).to_csv(place / "later.csv", index=False)
    return table, place


class TestDays:
    def test_a_line_is_part_of_what_is_explained(self, daily):
        table, place = daily
        page = make_page(place, place / "later.csv", new=True)
        frame = pandas.read_csv(place / "later.csv")
        wanted = table.evaluate(frame)
        assert table.slopes_[0].slope > 0
        found = {name: float(page.facts()[f"these rows: {name}"][0].attributes["data-value"]) for name in NAMES_OF}
        assert found["RMSE"] == pytest.approx(wanted.rmse, rel=1e-9)
        assert found["R²"] == pytest.approx(wanted.r2, rel=1e-9)
        assert found["RMSE of their mean"] == pytest.approx(frame["sales"].std(ddof=0), rel=1e-9)
        scatter = charts(page.section("predictions"))[0]
        np.testing.assert_allclose(scatter.y_values(), frame["sales"], atol=1.0)
        np.testing.assert_allclose(scatter.x_values(), table.predict(frame)["mean"], atol=1.0)

    def test_days_have_no_hours(self, daily):
        table, place = daily
        mean = effect(table.model_, 0)(np.arange(7.0))
        assert (mean.argmin(), mean.argmax()) == (6, 5)
        for rows in ((), (place / "later.csv",)):
            page = make_page(place, *rows)
            assert not HOURS.search(page.source)
            (caption,) = (one.caption for one in charts(page.section("effects")) if "day_of_week" in one.title)
            assert "(Sun) to" in caption
            assert "(Sat)" in caption

    @pytest.mark.parametrize("n_components", [7, 31])  # three waves do not tell where the rows lay
    def test_hours_are_told_where_rows_have_them(self, n_components, tmp_path):
        for every, has_hours in (("D", False), ("h", True)):
            frame = make_days(24 * 60 if has_hours else 210, every=every)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                table = TableModel("sales", calendar={"time": ["week"]}, n_components=n_components, redundancy=1)
                table.fit(frame).save(tmp_path / "model.npz")
            frame.to_csv(tmp_path / "rows.csv", index=False)
            is_known = n_components > 7
            assert bool(HOURS.search(make_page(tmp_path).source)) is (has_hours and is_known)
            page = make_page(tmp_path, tmp_path / "rows.csv")
            assert bool(HOURS.search(page.section("effects").find("script").text)) is has_hours

    def test_intervals_of_shares_are_those_of_the_summary(self, daily):
        table, place = daily
        rows = list(make_page(place).section("attribution").find("tbody").find_all("tr"))
        said = [row.children[3].text.replace("\N{NO-BREAK SPACE}", " ") for row in rows]
        summary = table.summary()["attribution"]
        assert len(said) == len(summary)
        for text, one in zip(said, summary, strict=True):
            assert text == f"{percent(one['lower'])} to {percent(one['upper'])}".replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.filterwarnings("ignore:Errors come in runs")
def test_what_to_do_about_a_level_that_changes_is_what_the_fit_says(tmp_path):
    table, frame = TableModel("sales", calendar={"time": ["week", "year"]}, n_components=51), make_days(4 * 365)
    with words_of_the_command(), pytest.warns(UserWarning, match="The level has changed") as caught:
        table.fit_and_evaluate(frame)
    table.save(tmp_path / "model.npz")
    (message,) = (str(one.message) for one in caught if "The level has changed" in str(one.message))
    remedy = message[message.index("If it goes on") :]
    assert '--terms "slope(time)"' in remedy
    with words_of_the_command():
        assert remedy in text_of(make_page(tmp_path))


def test_a_level_that_stays_needs_no_advice(correlated):
    assert '--terms "slope(time)"' not in text_of(make_page(correlated[1]))
    assert "slope(time)" not in text_of(make_page(correlated[1]))
