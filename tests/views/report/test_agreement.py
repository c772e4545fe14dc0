"""Page, terminal and JSON say the same, sentence by sentence, and do not contradict themselves."""

import json
import warnings

import numpy as np
import pytest

from tests.cli.runner import run
from tests.views.report.cases import CASES, SHORT, Text, fitted, make_case, one_line, written
from torusgp import Slope, TableModel, TorusGPRegressor
from torusgp.views.analysis import effect
from torusgp.views.findings import PROBLEM, Finding, Findings

SLOW = [pytest.param(name, marks=pytest.mark.slow) if name not in SHORT else name for name in CASES]


def strings(content):
    """All text in JSON."""
    if isinstance(content, dict):
        content = content.values()
    elif isinstance(content, str):
        return [content]
    elif not isinstance(content, list):
        return []
    return [text for one in content for text in strings(one)]


@pytest.mark.parametrize("name", SLOW)
def test_every_sentence_is_on_the_page_in_the_terminal_and_in_json(name, tmp_path):
    model, told = fitted(name)
    page, terminal, content = written(name, tmp_path)
    found = model.findings()
    texts = {one.text for one in found.findings}
    assert set(told) <= texts  # all warnings of the fit
    assert len(found.figures) == 4
    for sentence in found.sentences():
        assert one_line(sentence) in str(Text(page))
        assert one_line(sentence) in one_line(terminal)
        assert sentence in strings(content)
    for figure in found.figures:
        for text in (figure.name, figure.value, figure.remark):
            assert text in str(Text(page))
            assert text in strings(content)
    column = max(map(len, (*found.facts, "fitted from")))  # of the names of facts, before their values
    values = one_line(" ".join(line[column:] for line in terminal.split("\n")))
    for fact, value in found.facts.items():
        assert one_line(f"{fact} {value}") in str(Text(page))
        assert one_line(value) in values
        assert content["facts"][fact] == value


@pytest.mark.parametrize("level", ["problem", "note"])
def test_a_finding_that_is_added_reaches_all_three(level, tmp_path, monkeypatch):
    model, _ = fitted("periodic")
    summary = model.summary()
    said = {"level": level, "about": "data", "text": "The <moon> & its phase are not in the table."}
    monkeypatch.setattr(model, "_summary", summary | {"findings": [*summary["findings"], said]})
    page, terminal, content = written("periodic", tmp_path)
    assert said["text"] in str(Text(page))
    assert f"{level.capitalize()}: {said['text']}" in one_line(terminal)
    assert said in content["findings"]


def test_a_warning_that_nobody_foresaw_reaches_all_three(tmp_path, monkeypatch):
    _, frame = make_case("one input")
    said = "The moon was not in its usual place: 3.5 instead of 4. Look again."

    def warning(method):
        def fit_and_warn(self, *arguments, **options):
            warnings.warn(said, UserWarning, stacklevel=2)
            return method(self, *arguments, **options)

        return fit_and_warn

    for name in ("fit", "refit"):
        monkeypatch.setattr(TorusGPRegressor, name, warning(getattr(TorusGPRegressor, name)))
    frame.to_csv(tmp_path / "table.csv", index=False)
    model = tmp_path / "model.npz"
    fitting = run("fit", tmp_path / "table.csv", "--target", "y", "--components", 21, "-o", model)
    page = run("report", model, "-o", tmp_path / "page.html")
    assert (fitting.exit_code, page.exit_code) == (0, 0)
    assert said in one_line(fitting.stdout)
    assert said in str(Text((tmp_path / "page.html").read_text(encoding="utf-8")))
    assert said in one_line(run("info", model).stdout)
    content = json.loads(run("info", model, "--json").stdout)
    assert said in [one["text"] for one in content["findings"]]


def test_the_command_that_fits_says_the_same(tmp_path):
    _, frame = make_case("two stores")
    frame.to_csv(tmp_path / "stores.csv", index=False)
    arguments = (
        "fit",
        tmp_path / "stores.csv",
        "--target",
        "demand",
        "--calendar",
        "time=day,week",
        "--components",
        41,
    )
    result = run(*arguments, "--unit", "MW")
    assert (result.exit_code, result.stderr) == (0, "")
    content = json.loads(run("info", tmp_path / "stores-model.npz", "--json").stdout)
    assert json.loads(run(*arguments, "--unit", "MW", "--json").stdout)["sentences"] == content["sentences"]
    for sentence in content["sentences"].values():
        assert one_line(sentence) in one_line(result.stdout)
    for one in content["findings"]:
        assert f"{one['level'].capitalize()}: {one['text']}" in one_line(result.stdout)
    assert "MW" in content["sentences"]["verdict"]


class TestWhatIsSaid:
    def test_a_worthless_model_is_called_that(self, tmp_path):
        page, terminal, content = written("worthless", tmp_path)
        assert content["grade"] == "worthless"
        for text in (str(Text(page)), one_line(terminal)):
            assert "Worthless as it is" in text
            assert "matters most" not in text
            assert "share of the variance" not in text
        assert content["attribution"] == []
        assert 'id="parts"' not in page

    def test_two_stores_in_one_are_told_with_the_column_that_distinguishes_them(self):
        (text,) = [one.text for one in fitted("two stores")[0].findings_ if "several series" in one.text]
        assert "which 'store' distinguishes" in text

    def test_every_warning(self):
        model, told = fitted("warnings")
        texts = " ".join(one.text for one in model.findings_)
        for words in (
            "rest on less than two",
            "gap in time",
            "have the time of another",
            "do zeros stand for missing values?",
            "misses a value and was left out",
            "Column not used: note",
        ):
            assert words in texts.replace("rests", "rest")
        assert len(told) >= 2

    def test_a_level_that_has_changed(self):
        model, _ = fitted("drifting")
        assert any(one.level == PROBLEM and "The level has changed" in one.text for one in model.findings_)
        assert "misses its level" in model.findings().verdict
        assert "no gaps, no duplicates" in model.findings().data

    def test_a_term_that_does_not_vary_has_no_length_scale(self):
        scale = {"axis": "time", "kind": "line", "value": 0.25, "std": None, "bound": None}
        term = {"name": "time", "std": 0.0, "length_scales": [scale]}
        model, _ = fitted("periodic")
        for std in (0.0, 1e-9):  # what rounding leaves of it
            found = Findings.from_summary(model.summary() | {"terms": [term | {"std": std}]})
            assert found.facts["time"] == "no effect found"
        varies = Findings.from_summary(model.summary() | {"terms": [term | {"std": 0.5}]}).facts["time"]
        assert varies == "varies by 0.5 MW over the rows (standard deviation), length scale 0.25"

    def test_what_comes_next(self):
        model, _ = fitted("periodic")
        ahead = model.forecast(134)
        said = model.findings().next
        assert said.startswith("The next 134 rows, until 2024-02-03 13:00: ")
        assert f"{ahead.mean.mean():.4g}"[:4] in said
        assert said.count("MW") == 4

    def test_averages_with_a_trend_are_averages_over_the_rows(self):
        # effects are told around the average of the predictions of the rows, wherever the trend begins
        _, frame = make_case("drifting")
        model = TableModel("demand", calendar={"time": ["day"]}, terms=Slope("time"), n_components=41).fit(frame)
        joint = effect(model.model_, 0, joint=True)
        assert np.mean(joint.mean[:-1]) == pytest.approx(frame["demand"].mean(), abs=0.05)


def test_findings_of_a_file_that_was_written_before_there_were_any():
    model, _ = fitted("periodic")
    summary = {key: value for key, value in model.summary().items() if key not in ("findings", "quality", "forecast")}
    found = Findings.from_summary(summary)
    assert found.findings == ()
    assert found.next == ""
    assert found.problems == ()


def test_problems_come_first():
    model, _ = fitted("warnings")
    levels = [one.level for one in model.findings().findings]
    assert levels == sorted(levels, key=["problem", "note"].index)
    assert isinstance(model.findings_[0], Finding)
