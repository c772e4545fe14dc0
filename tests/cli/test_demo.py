import re
import sys

import numpy as np
import pytest

from tests.cli.runner import assert_fails, run, tree
from torusgp.cli import _demo
from torusgp.cli._demo import compare_columns, compare_models, summarise, summarise_columns
from torusgp.data.datasets import make_perforated_plate
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.images.inpainting import hole_mask, inpaint

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PLATE = make_perforated_plate((100, 100))
EVEN_PLATE = make_perforated_plate((100, 100), gradient=0.0, vignette=0.0)
FIGURES_SHOWN = 6e-3  # at least two digits of a logarithm, three of an error


def table_rows(text):
    """Lines of the table as (label, columns, RMSE, MNLL, seconds)."""
    found = re.findall(r"^ *(\w[\w, ]*?) +(\d+) +([\d.]+) +(-?[\d.]+) +([\d.]+) *$", text, flags=re.MULTILINE)
    return [(label, int(size), *map(float, rest)) for label, size, *rest in found]


@pytest.fixture(scope="module")
def rows():
    return compare_models(PLATE.image, (25, 61))


@pytest.fixture(scope="module")
def columns():
    return compare_columns(EVEN_PLATE, 61)


@pytest.mark.slow
class TestColumns:
    def test_the_index_set_is_the_most_exact(self, columns):
        index_set, *others = columns
        assert [row.label for row in columns] == ["index set", *_demo._SEQUENCES.values()]
        assert [row.n_components for row in columns] == [61, 60, 60, 60]
        assert index_set.kernel_error < 0.01 < 0.1 < min(row.kernel_error for row in others)
        assert index_set.pattern_error < min(row.pattern_error for row in others)
        assert len({row.pattern_error for row in others}) == 3

    def test_all_learn_from_the_same_pixels_in_the_same_way(self, columns, monkeypatch):
        seen = []

        def spy(image, mask, regressor):
            seen.append((image, mask, regressor))
            return inpaint(image, mask, regressor)

        monkeypatch.setattr(_demo, "inpaint", spy)
        again = compare_columns(EVEN_PLATE, 61)
        for image, mask, regressor in seen:
            assert image is EVEN_PLATE.image
            assert mask.sum() == 48 * 48
            assert regressor.learn == _demo._LEARN
        first, *others = (regressor for _, _, regressor in seen)
        np.testing.assert_array_equal(first.kernel_.period, EVEN_PLATE.cell)
        for other in others:
            np.testing.assert_array_equal(other.transformer_.kernel_.period, EVEN_PLATE.cell)
            assert not np.allclose(other.transformer_.length_scale, first.kernel_.length_scale, rtol=1e-3)
        for before, after in zip(columns, again, strict=True):
            assert (before.kernel_error, before.pattern_error) == (after.kernel_error, after.pattern_error)

    def test_the_kernel_error_is_within_the_certificate(self, columns):
        model = TorusGPRegressor(period=EVEN_PLATE.cell, learn=_demo._LEARN, n_components=61)
        inpaint(EVEN_PLATE.image, hole_mask(_demo._HOLE, (100, 100)), model)
        # features of an index set are scaled to be one at distance 0, which shares the error out
        assert columns[0].kernel_error <= 2 * model.truncation_error_

    def test_summary(self, columns):
        ratio = min(row.pattern_error for row in columns[1:]) / columns[0].pattern_error
        assert f"has {ratio:.2f} times the error" in summarise_columns(columns)[-1]


@pytest.mark.slow
class TestComparison:
    def test_the_lattice_is_found_and_columns_help(self, rows):
        nothing, along_axes, few, many = rows
        assert along_axes.label == "a period for each axis"
        assert {row.label for row in (few, many)} == {"a learned lattice"}
        hidden = PLATE.image[many.result.mask]
        known = PLATE.image[~many.result.mask]
        expected = np.sqrt(np.mean((hidden - known.mean()) ** 2)) / np.ptp(known)
        assert nothing.result.rmse == pytest.approx(expected)
        assert many.result.rmse < 0.2 * nothing.result.rmse
        assert (few.n_components, many.n_components) == (25, 61)
        assert many.result.rmse < few.result.rmse
        assert many.result.mnll < few.result.mnll
        # on a tilted lattice nothing need repeat along the axes
        assert along_axes.result is None or few.result.rmse < 0.5 * along_axes.result.rmse
        change = many.result.cell @ np.linalg.inv(PLATE.cell)
        np.testing.assert_allclose(change, np.rint(change), atol=2e-3)

    def test_summary(self, rows):
        lines = summarise(PLATE, rows)
        best = re.search(r"knew all but the noise would reach ([\d.]+) and (-?\d+\.\d+)", " ".join(lines))
        assert 0.85 * rows[-1].result.rmse < float(best[1]) < rows[-1].result.rmse
        assert float(best[2]) < rows[-1].result.mnll
        assert lines[0].startswith("2304 missing pixels from 7696 known ones")
        vectors = np.array(re.findall(r"\((-?[\d.]+), (-?[\d.]+)\)", lines[-1]), dtype=float)
        np.testing.assert_allclose(vectors, rows[-1].result.cell, atol=0.02)
        change = vectors @ np.linalg.inv(PLATE.cell)
        np.testing.assert_allclose(change, np.rint(change), atol=1e-4)

    @pytest.mark.parametrize("found", [True, False])
    def test_table_and_picture(self, rows, columns, found, tmp_path, monkeypatch):
        along_axes = rows[-1].result if found else None  # any will do
        rows = [rows[0], _demo.DemoRow(rows[1].label, rows[1].n_components, along_axes), *rows[2:]]
        monkeypatch.setattr(_demo, "compare_models", lambda image, verbose: rows)
        monkeypatch.setattr(_demo, "compare_columns", lambda plate, verbose: columns)
        output = tmp_path / "new" / "plate.png"
        result = run("demo", "-o", output)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert result.stdout.endswith(f"Picture: {output}\n")
        assert output.read_bytes().startswith(PNG_SIGNATURE)
        assert ("none found" in result.stdout) == (not found)
        printed = table_rows(result.stdout)
        told = [row for row in rows if row.result is not None]
        for (label, size, rmse, mnll, _), row in zip(printed[: len(told)], told, strict=True):
            assert (label, size) == (row.label, row.n_components)
            assert rmse == pytest.approx(row.result.rmse, rel=FIGURES_SHOWN)
            assert mnll == pytest.approx(row.result.mnll, rel=FIGURES_SHOWN)
        shown = re.findall(r"^ *(\w[\w ]*?) +(\d+) +([\d.e-]+) +([\d.]+) +(-?[\d.]+) +[\d.]+ *$", result.stdout, re.M)
        for (label, *figures), row in zip(shown, columns, strict=True):
            expected = [row.n_components, row.kernel_error, row.pattern_error, row.mnll]
            assert label == row.label
            assert list(map(float, figures)) == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("demo")
    assert result.exit_code == 0
    assert len(table_rows(result.stdout)) >= 3  # without the periods along the axes, if there are none
    assert "Ways to choose the components" in result.stdout
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
    assert_fails(result, "Plots need matplotlib. Not installed: matplotlib. Install all that the command needs with: ")
    assert list(tmp_path.iterdir()) == []
