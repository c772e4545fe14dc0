"""Every field of ``--json`` and every column of a written table is described on the page of the command."""

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.runner import run
from tests.views.report.cases import SHORT, fitted, make_case
from torusgp import TableModel

PAGE = runpy.run_path(str(Path(__file__).parents[3] / "docs/_extensions/json_fields.py"))
MODEL = ("--target", "demand", "--calendar", "time=day,week", "--components", 21)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables and models of the commands."""
    folder = tmp_path_factory.mktemp("json")
    make_case("periodic")[1].iloc[: 14 * 24].to_csv(folder / "one.csv", index=False)
    stores = make_case("two stores")[1]
    stores[stores["time"] < "2024-01-12"].to_csv(folder / "stores.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def outputs(folder):
    """What commands print, with the names of their objects."""
    one, stores = folder / "one.csv", folder / "stores.csv"
    commands = [
        ("torusgp fit", ("fit", one, *MODEL, "-o", folder / "one.npz")),
        ("torusgp fit --by", ("fit", stores, *MODEL, "--by", "store", "-o", folder / "stores.npz")),
        ("torusgp info", ("info", folder / "one.npz")),
        ("torusgp report", ("report", folder / "one.npz", "-o", folder / "page.html")),
        ("torusgp predict", ("predict", folder / "one.npz", one)),
        ("torusgp forecast", ("forecast", folder / "one.npz", "--horizon", "1d")),
        ("torusgp backtest", ("backtest", one, *MODEL, "--horizon", "1d", "--origins", 2, "--jobs", 1)),
    ]
    return [(json.loads(run(*arguments, "--json").stdout), name) for name, arguments in commands]


def told(model):
    """What ``info --json`` prints of a model, apart from names of files."""
    return json.loads(json.dumps(model.summary() | model.findings().to_json())), "Model"


def test_every_field_is_described(outputs):
    assert not [path for content, name in outputs for path in PAGE["missing"](content, name)]


def test_a_field_that_is_not_described_is_found(outputs):
    content, name = outputs[0]
    changed = content | {"moon": 1, "rows": content["rows"] | {"lost": 2}, "noise_std": {"a": 1}}
    expected = {"torusgp fit: moon", "Rows: lost", "torusgp fit: what is in noise_std"}
    assert set(PAGE["missing"](changed, name)) == expected


def test_scores_of_levels_are_scores(folder, outputs):
    content = json.loads(run("predict", folder / "stores.npz", folder / "stores.csv", "--json").stdout)
    for scores in content.pop("scores").values():
        assert not PAGE["missing"](scores, "Scores")
    assert not PAGE["missing"](content, "torusgp predict")


@pytest.mark.slow
def test_every_case_is_described_and_nothing_is_described_that_does_not_exist(outputs):
    contents = [*outputs, *(told(fitted(name)[0]) for name in SHORT)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, (1000, 5)), columns=list("abcde"))
    frame["y"] = np.cos(2 * np.pi * (frame["a"] + frame["d"] - frame["e"])) + 0.1 * rng.normal(size=1000)
    learned = TableModel("y", dict.fromkeys("abcde", 1.0)).fit_and_evaluate(frame)
    weather = make_case("periodic")[1].iloc[: 14 * 24].assign(temperature=lambda table: np.sin(table.index))
    alone = TableModel("demand", terms="hour * temperature", likelihood="student_t", n_components=21)
    contents += [told(learned), told(alone.fit_and_evaluate(weather))]
    assert "reason" in contents[-1][0]["forecast"]
    assert not [path for content, name in contents for path in PAGE["missing"](content, name)]
    assert not PAGE["unused"](contents)


@pytest.mark.parametrize(
    ("command", "arguments", "own"),
    [
        ("predict", ("one.npz", "one.csv"), {"time", "demand"}),
        ("forecast", ("one.npz", "--horizon", "2d"), {"time"}),
        ("forecast", ("stores.npz", "--horizon", "1d", "--draws", 2), {"time", "store"}),
        ("forecast", ("one.npz", "--horizon", "2d", "--aggregate", "day=max"), {"time"}),
        ("backtest", ("one.csv", *MODEL, "--horizon", "1d", "--origins", 2, "--jobs", 1), {"time"}),
    ],
    ids=["predict", "forecast", "levels", "aggregate", "backtest"],
)
def test_every_column_is_described(command, arguments, own, folder, outputs):
    places = [folder / one if str(one).endswith(("npz", "csv")) else one for one in arguments]
    assert run(command, *places, "-o", folder / "out.csv").exit_code == 0
    columns = set(pd.read_csv(folder / "out.csv").columns) - own
    described = {name for names in PAGE["COLUMNS"][f"torusgp {command}"] for name in names.split(", ")}
    quantiles = {name for name in columns if name[0] == "q" and name[1:].isdigit()}
    assert quantiles
    assert columns - quantiles <= described


def test_the_page_has_a_table_for_each_object():
    page = PAGE["json_page"]()
    for name in PAGE["OBJECTS"]:
        assert f"### {name}" in page
    for line in page.splitlines():
        assert not line.startswith("|") or line.count("|") == 3
