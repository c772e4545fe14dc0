import re
import sys

import numpy as np
import pytest

from tests.cli.runner import assert_fails, run, tree
from torusgp.cli import _demo
from torusgp.cli._demo import compare_models, summarise
from torusgp.datasets import make_perforated_plate

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PLATE = make_perforated_plate((100, 100))
FIGURES_SHOWN = 6e-3  # at least two digits of a logarithm, three of an error


def table_rows(text):
    """Lines of the table as (label, columns, RMSE, MNLL, seconds)."""
    found = re.findall(r"^ *(\w[\w, ]*?) +(\d+) +([\d.]+) +(-?[\d.]+) +([\d.]+) *$", text, flags=re.MULTILINE)
    return [(label, int(size), *map(float, rest)) for label, size, *rest in found]


@pytest.fixture(scope="module")
def rows():
    return compare_models(PLATE.image, (25, 61))


@pytest.mark.slow
class TestComparison:
    def test_the_lattice_is_found_and_columns_help(self, rows):
        along_axes, *_, few, many = rows
        assert along_axes.label == "a period for each axis"
        assert {row.label for row in (few, many)} == {"learned lattice, index set"}
        assert (few.n_components, many.n_components) == (25, 61)
        assert many.result.rmse < few.result.rmse
        assert many.result.mnll < few.result.mnll
        # on a tilted lattice nothing need repeat along the axes
        assert along_axes.result is None or few.result.rmse < 0.5 * along_axes.result.rmse
        change = many.result.cell @ np.linalg.inv(PLATE.cell)
        np.testing.assert_allclose(change, np.rint(change), atol=2e-3)

    def test_baselines_differ_in_their_features_alone(self, rows):
        few, many = rows[-2:]
        baselines = rows[1:-2]
        assert [row.label for row in baselines] == [
            "learned lattice, random features",
            "learned lattice, Halton features",
            "learned lattice, generalised Halton",
        ]
        for row in baselines:
            assert row.n_components == 60  # as many as the largest index set, in pairs
            assert row.result.rmse < few.result.rmse
            assert row.result.rmse == pytest.approx(many.result.rmse, rel=0.15)
            transformer = row.result.estimator.regressor.transformer_
            np.testing.assert_array_equal(transformer.kernel_.period, many.result.estimator.kernel_.period)
            assert not np.allclose(transformer.length_scale, many.result.estimator.kernel_.length_scale, rtol=1e-3)
        assert len({row.result.rmse for row in baselines}) == 3

    def test_summary(self, rows):
        lines = summarise(PLATE, rows)
        assert lines[0].startswith("2304 missing pixels from 7696 known ones")
        vectors = np.array(re.findall(r"\((-?[\d.]+), (-?[\d.]+)\)", lines[-1]), dtype=float)
        np.testing.assert_allclose(vectors, rows[-1].result.cell, atol=0.02)
        change = vectors @ np.linalg.inv(PLATE.cell)
        np.testing.assert_allclose(change, np.rint(change), atol=1e-4)

    @pytest.mark.parametrize("found", [True, False])
    def test_table_and_picture(self, rows, found, tmp_path, monkeypatch):
        along_axes = rows[1].result if found else None  # any will do
        rows = [_demo.DemoRow(rows[0].label, rows[0].n_components, along_axes), *rows[1:]]
        monkeypatch.setattr(_demo, "compare_models", lambda image, verbose: rows)
        output = tmp_path / "new" / "plate.png"
        result = run("demo", "-o", output)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert result.stdout.endswith(f"Picture: {output}\n")
        assert output.read_bytes().startswith(PNG_SIGNATURE)
        assert ("none found" in result.stdout) == (not found)
        printed = table_rows(result.stdout)
        told = [row for row in rows if row.result is not None]
        for (label, size, rmse, mnll, _), row in zip(printed, told, strict=True):
            assert (label, size) == (row.label, row.n_components)
            assert rmse == pytest.approx(row.result.rmse, rel=FIGURES_SHOWN)
            assert mnll == pytest.approx(row.result.mnll, rel=FIGURES_SHOWN)


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0
    assert len(table_rows(result.stdout)) >= 6  # without the periods along the axes, if there are none
    assert (tmp_path / "torusgp-demo" / "inpainting.png").read_bytes().startswith(PNG_SIGNATURE)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("a_file/below/plate.png", "a_file is not a folder. Name another place."),
        ("a_folder.png", "It is there already, and is not a file"),
        ("plate", "has to end in .png, .pdf, .svg"),
        ("plate.xyz", "has to end in .png, .pdf, .svg"),
    ],
)
def test_output_that_cannot_be_written_is_told_before_the_work(tmp_path, place, message):
    (tmp_path / "a_file").write_text("kept")
    (tmp_path / "a_folder.png").mkdir()
    before = tree(tmp_path)
    result = run("demo", "-o", tmp_path / place)
    assert_fails(result, message)
    assert result.stderr.startswith(f"Error: Cannot write {tmp_path / place}: ")
    assert tree(tmp_path) == before


def test_without_matplotlib_the_install_line_is_given(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo", "-o", tmp_path / "plate.png")
    assert_fails(result, 'Plots need matplotlib. Install it with: pip install "torusgp[plot]"')
    assert list(tmp_path.iterdir()) == []
