"""Pages of table models, as the command makes them."""

import warnings

import numpy as np
import pytest
from scipy.signal import lfilter

from tests.report.pages import Page
from torusgp.cli._report import report_file
from torusgp.table_models import TableModel

pandas = pytest.importorskip("pandas")


def make_table(n_days=100, memory=0.7, first=0):
    """Hours whose noise remembers so much of the hour before."""
    hours = np.arange(24 * first, 24 * (first + n_days))
    noise = lfilter([1], [1, -memory], np.random.default_rng(first).normal(size=len(hours)))
    load = 30 + 5 * np.cos(2 * np.pi * hours / 24) + np.where(hours // 24 % 7 < 5, 2.0, 0.0) + noise
    return pandas.DataFrame({"time": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(hours, "h"), "load": load})


@pytest.fixture(scope="module")
def correlated(tmp_path_factory):
    place = tmp_path_factory.mktemp("correlated")
    table = TableModel("load", calendar={"time": ["day", "week"]}, n_components=101).fit_and_judge(make_table())
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
    assert f"On {table.judgement_.n_rows} rows held out when it was fitted ({table.judgement_.rows})" in text_of(page)
    names = list(page.facts())
    assert len(names) == len(set(names))
    assert page.facts()["rows fitted"][0].text == "2,400"
    noted = float(page.facts()["held out at the fit: RMSE"][0].attributes["data-value"])
    assert noted == pytest.approx(table.judgement_.rmse)


def test_new_rows_are_compared_with_what_the_table_model_predicts(correlated):
    table, place = correlated
    page = make_page(place, place / "later.csv", new=True)
    frame = pandas.read_csv(place / "later.csv").dropna()
    wanted = table.judge(frame)
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
        table.fit_and_judge(frame).save(tmp_path / "model.npz")
    assert table.judgement_.r2 < 0.01
    page = make_page(tmp_path)
    assert page.root.find("strong").text.startswith("The model explains n")
    assert "matters most" not in text_of(page)
    assert page.section("attribution").find("table") is None
