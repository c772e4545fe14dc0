import re
import runpy
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title):
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_example_prints_what_it_says(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    stated = re.search(r"print\(.*\)  # (.*)", example).group(1)
    assert capsys.readouterr().out.strip() == stated

    from sklearn.base import clone

    from torusgp import Circle

    hours, y = names["hours"], names["y"]
    additive = clone(names["model"]).set_params(kernel=Circle(0, 24) + Circle(0, 8766))
    score = additive.fit(hours[:17532], y[:17532]).score(hours[17532:], y[17532:])
    assert f"do not interact, R² is {score:.3f}." in TEXT


def test_commands_have_the_options_that_are_shown():
    pytest.importorskip("typer", reason="the command needs the extra cli")
    from torusgp.cli import load_commands

    known = {command.name: {name for one in command.params for name in one.opts} for command in load_commands()}
    lines = re.findall(r"^torusgp .*$", section("Three lines of shell"), flags=re.MULTILINE)
    assert len(lines) == 3
    for _, name, *words in map(shlex.split, lines):
        assert {word for word in words if word.startswith("-")} <= known[name]


def test_the_demonstration_runs_the_commands_that_are_shown():
    made = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo: ")[2].partition("\n\n")[0]
    shown = re.findall(r"^torusgp .*$", section("Three lines of shell"), flags=re.MULTILINE)
    assert re.findall(r"/(torusgp .*)$", made, flags=re.MULTILINE) == shown
    assert "examples/demand.py" in made
    assert shown[-1].endswith(" report.html")
    assert made.splitlines()[-1] == '\t@echo "Made: open torusgp-demo/report.html in a browser."'


@pytest.mark.slow
def test_commands_run_on_the_tables_of_the_example(tmp_path, monkeypatch):
    pytest.importorskip("typer", reason="the command needs the extra cli")
    from tests.cli.runner import run

    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples/demand.py"), run_name="__main__")
    for _, *words in map(shlex.split, re.findall(r"^torusgp .*$", section("Three lines of shell"), flags=re.MULTILINE)):
        done = run(*words)
        assert (done.exit_code, done.stderr) == (0, "")
    assert len((tmp_path / "forecast.csv").read_text().splitlines()) == 169
    assert (tmp_path / "report.html").stat().st_size > 50_000


def test_every_figure_has_a_command_that_repeats_it():
    rows = re.findall(r"^\| (?!-)(.*) \|$", section("What it does better than what you use now"), flags=re.MULTILINE)[
        1:
    ]
    assert len(rows) >= 5
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for row in rows:
        command = re.search(r"`make ([a-z-]+)", row.split(" | ")[-1])
        assert command, row
        assert command[1] in targets


def test_it_is_short():
    assert len(TEXT.splitlines()) < 150


def test_pictures_and_links_exist():
    targets = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert targets
    assert all((ROOT / target).is_file() for target in targets)
