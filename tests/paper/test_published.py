"""The reproduction of the paper in the documentation: whole, made from the saved records, and counted from them."""

import re
from pathlib import Path

import numpy as np
import pytest

from paper import claims, page
from paper.__main__ import EXPERIMENTS, PAPER, measure_experiment
from paper.common import RESULTS, Pool, read_record, to_plain

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
    """Verdicts of the claims, by their words."""
    rows = re.findall(r"^\| ([^|]*) \| ((?:\\\||[^|])*) \| .* \| \*\*([\w ,]+)\*\* \|", section("claims"), re.MULTILINE)
    return {claim.replace("\\|", "|"): verdict for _, claim, verdict in rows}


def words(path):
    """Text of a page of the repository, with single spaces."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_the_page_is_what_the_saved_records_say():
    """Each number of the page is in a record of the repository."""
    assert page.compose(RESULTS, EXPERIMENTS, "images/paper/") == TEXT
    for name in EXPERIMENTS:
        record = read_record(RESULTS, name)
        assert not record["quick"], name
        assert (RESULTS / f"{name}.json").stat().st_size < 2_000_000, name


def test_the_saved_claims_are_what_the_saved_records_say(tmp_path):
    rows = claims.run(None, False, RESULTS)["rows"]
    assert to_plain(rows) == read_record(RESULTS, "claims")["rows"]


def test_the_page_says_the_commit_and_the_command_and_is_whole():
    assert re.search(r"made by `make paper`", TEXT)
    commits = re.findall(r"`([0-9a-f]{12})`", TEXT.partition("\n## ")[0])
    assert 1 <= len(commits) <= 4  # of experiments that were measured again
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
    ["index_sets", "coefficients", "truncation", "stability", pytest.param("cardinality", marks=pytest.mark.slow)],
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
    for name in ("index_sets", "truncation", "coefficients", "stability", "cardinality", "gram"):
        measure_experiment(name, tmp_path, Pool(1), quick=True)
    rows = measure_experiment("claims", tmp_path, Pool(1), quick=True)["rows"]
    published = published_verdicts()
    assert len(published) == len(rows) == len(claims.CLAIMS)
    checked = [
        (row["verdict"], published[row["claim"]])
        for claim, row in zip(claims.CLAIMS, rows, strict=True)
        if claim.in_small and row["verdict"] != claims.OPEN
    ]
    assert len(checked) >= 14
    assert all(found == told for found, told in checked)


def test_counts_of_claims_by_class_are_those_that_other_pages_tell():
    """One source, the saved claims, for the page, the README and the promises."""
    rows = read_record(RESULTS, "claims")["rows"]
    sentence = claims.sentence(rows)
    found = claims.count(rows)
    counted = [sum(found[kind].values()) for kind in (claims.PAPER, claims.MISPRINT, claims.OURS)]
    assert counted == [sum(claim.kind == kind for claim in claims.CLAIMS) for kind in found]
    assert f"{sum(found[claims.PAPER].values())} claims of the paper" in sentence
    assert sentence in words("README.md")
    assert sentence in words("docs/promises.md")
    assert sentence[1:] in " ".join(TEXT.split())
    verdicts = published_verdicts()
    for row in rows:
        assert verdicts[row["claim"]] == row["verdict"]


def test_the_time_that_is_told_is_what_the_table_adds_up_to():
    cells = re.findall(r"^\| (\w+) \| \[[^|]*\| (\d+) \| (\d+) \| (\d+) \|$", TEXT, flags=re.MULTILINE)
    seconds = {name: int(processor) for name, _, processor, _ in cells}
    assert set(seconds) == set(EXPERIMENTS)
    minutes = sum(seconds[name] for name in (*PAPER, "claims")) / 60
    assert minutes < 25
    assert f"{minutes:.1f} minutes for the paper" in TEXT
    assert f"{minutes:.0f} minutes of processor time" in words("docs/promises.md")


def test_a_page_is_not_published_from_runs_in_small(tmp_path):
    measure_experiment("index_sets", tmp_path, Pool(1), quick=True)
    with pytest.raises(ValueError, match="was not run in full"):
        page.publish(tmp_path, {"index_sets": EXPERIMENTS["index_sets"]}, tmp_path)
