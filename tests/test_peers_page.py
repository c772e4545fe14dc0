"""The page beside other libraries: it says what it was made by, and agrees with itself and with what is quick."""

import os
import re
from pathlib import Path

import pytest

from benchmarks.peers.tables import page

TEXT = (Path(__file__).parents[1] / "docs/peers.md").read_text(encoding="utf-8")
TITLES = re.findall(r"^## (.*)$", TEXT, flags=re.MULTILINE)


def results(title):
    """The table of a problem, by method; values that are in bold, and what is said below it."""
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    header, _, *lines = re.findall(r"^\| (.*) \|$|^\|---.*$", section, flags=re.MULTILINE)
    keys, rows, best = header.split(" | ")[1:], {}, {}
    for line in lines:
        label, *cells = line.split(" | ")
        rows[label] = {key: to_number(cell) for key, cell in zip(keys, cells, strict=True)}
        best |= {key: label for key, cell in zip(keys, cells, strict=True) if cell.startswith("**")}
    (said,) = re.findall(r"^torusgp loses .*$", section, flags=re.MULTILINE)
    return rows, best, said


def to_number(cell):
    text = cell.strip("* ")
    if not text:
        return None
    return float(text.removesuffix(" %")) / 100 if text.endswith("%") else float(text)


def test_it_says_the_command_and_the_commit():
    head = TEXT.partition("\n## ")[0]
    assert "`make bench-peers-tables`" in head
    assert re.search(r"commits? `[0-9a-f]{7,12}`", head)
    assert "with changes" not in head


@pytest.mark.parametrize("title", TITLES)
def test_every_loss_is_named_and_the_best_is_bold(title):
    rows, best, said = results(title)
    assert len(rows) > 2
    assert set(rows) & set(page.OURS)
    for key in next(iter(rows.values())):
        values = {label: row[key] for label, row in rows.items() if row[key] is not None}
        if values and not key.startswith("coverage"):
            assert values[best[key]] == (max if key == "R2" else min)(values.values()), key
    assert said == page._losses(rows)


@pytest.mark.skipif("TORUSGP_DATA" not in os.environ, reason="published data are in the folder TORUSGP_DATA")
def test_naive_forecasts_are_what_the_page_says():
    pytest.importorskip("pandas", reason="tables need pandas")
    from benchmarks.peers.tables import next_day

    labels = ["the day before", "the week before"]
    case = next_day.run("next day", os.environ["TORUSGP_DATA"], labels, lambda line: None)
    rows, _, _ = results(case["title"])
    for label in labels:
        for key, value in rows[label].items():
            if key != "seconds":
                assert value == pytest.approx(case["results"][label][key], rel=1e-3), (label, key)
