"""The reproduction of the paper in the documentation: whole, with its commit, and what is quick to compute agrees."""

import re
from pathlib import Path

import numpy as np
import pytest

from paper import claims, page
from paper.__main__ import EXPERIMENTS, measure_experiment
from paper.common import Pool, read_record

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXT = (DOCS / "paper.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
RTOL = 0.02  # figures are told with two or three digits
ROUNDING = 1e-9  # below which a figure is rounding, and differs from machine to machine


def section(name):
    """What the page says of an experiment, without its figures."""
    text = TEXT.partition(f"\n## {EXPERIMENTS[name].TITLE}\n")[2].partition("\n## ")[0]
    return without_figures(text)


def without_figures(text):
    return re.sub(r"!\[[^\]]*\]\([^)]*\)\s*", "", text).strip()


def published_verdicts():
    """Verdicts of the claims by the beginning of their rows."""
    rows = re.findall(r"^\| (.*) \| \*\*([\w ]+)\*\* \|", section("claims"), flags=re.MULTILINE)
    return [verdict for _, verdict in rows]


def test_the_page_says_the_commit_and_the_command_and_is_whole():
    assert re.search(r"made by `make paper`", TEXT)
    commits = re.findall(r"`([0-9a-f]{12})`", TEXT.partition("\n## ")[0])
    assert 1 <= len(commits) <= 2  # measured, and put into words
    for word in ("Not run", "not run", "Made in small", "with changes", "another version", "not measured"):
        assert word not in TEXT
    assert re.findall(r"^## (.*)$", TEXT, flags=re.MULTILINE) == [
        EXPERIMENTS[name].TITLE for name in ("claims", *(one for one in EXPERIMENTS if one != "claims"))
    ]


def test_figures_are_there_at_web_size_with_a_text_for_those_who_do_not_see_them():
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    figures = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", TEXT)
    assert len(figures) >= 12
    for text, path in figures:
        assert len(text) > 20, path
        with image.open(DOCS / path) as picture:
            assert max(picture.size[0], 0) <= 1001, path
        assert (DOCS / path).stat().st_size < 250_000, path
    written = {path.name for path in (DOCS / "images/paper").iterdir()}
    assert written == {Path(path).name for _, path in figures}


@pytest.mark.parametrize(
    "name",
    ["index_sets", "coefficients", "truncation", pytest.param("cardinality", marks=pytest.mark.slow)],
)
def test_what_is_quick_to_compute_is_what_the_page_says(name, tmp_path):
    measure_experiment(name, tmp_path, Pool(1), quick=False)
    record = read_record(tmp_path, name)
    found, told = without_figures(EXPERIMENTS[name].describe(record)), section(name)
    assert NUMBER.sub("#", found) == NUMBER.sub("#", told)
    values = [[float(one.replace(",", "")) for one in NUMBER.findall(text)] for text in (found, told)]
    np.testing.assert_allclose(*values, rtol=RTOL, atol=ROUNDING)


def test_numbers_that_differ_are_noticed(tmp_path):
    measure_experiment("index_sets", tmp_path, Pool(1), quick=False)
    record = read_record(tmp_path, "index_sets")
    record["rows"][0]["columns"] += 10
    found = without_figures(EXPERIMENTS["index_sets"].describe(record))
    values = [[float(one.replace(",", "")) for one in NUMBER.findall(text)] for text in (found, section("index_sets"))]
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(*values, rtol=RTOL, atol=ROUNDING)


def test_claims_that_are_quick_to_check_have_the_verdict_of_the_page(tmp_path):
    for name in ("index_sets", "truncation", "coefficients", "cardinality", "gram"):
        measure_experiment(name, tmp_path, Pool(1), quick=True)
    rows = measure_experiment("claims", tmp_path, Pool(1), quick=True)["rows"]
    published = published_verdicts()
    assert len(published) == len(rows) == len(claims.CLAIMS)
    checked = [
        (row["verdict"], told)
        for claim, row, told in zip(claims.CLAIMS, rows, published, strict=True)
        if claim.in_small and row["verdict"] != "not measured"
    ]
    assert len(checked) >= 10
    assert all(found == told for found, told in checked)


def test_counts_of_claims_are_those_that_other_pages_tell():
    found = published_verdicts()
    words = [("holds", "hold"), ("in part", "in part"), ("does not hold", "do not")]
    counts = [sum(one == word for one in found) for word, _ in words]
    told = ", ".join(f"{count} {word}" for count, (_, word) in zip(counts, words, strict=True))
    assert told in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    holds, part, fails = counts
    assert f"Of {len(found)} claims {holds} hold, {part} in part and {fails} do not" in " ".join(
        (DOCS / "promises.md").read_text(encoding="utf-8").split()
    )


def test_a_page_is_not_published_from_runs_in_small(tmp_path):
    measure_experiment("index_sets", tmp_path, Pool(1), quick=True)
    with pytest.raises(ValueError, match="was not run in full"):
        page.publish(tmp_path, {"index_sets": EXPERIMENTS["index_sets"]}, tmp_path)
