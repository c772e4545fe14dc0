import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from typer.testing import CliRunner

from torusgp.cli import compare_index_sets, main, make_app, summarise, write_picture

README = Path(__file__).parents[1] / "README.md"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
FIGURES_SHOWN = 6e-3  # the table has three digits: half a unit of the last, relative to the smallest mantissa


def run(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(make_app(), [str(a) for a in arguments])


def table_rows(text):
    """Lines of the table as (label, columns, four errors)."""
    found = re.findall(r"^(\w+(?: \*)?) +(\d+)((?: +\d\.\d\de[-+]\d\d){4})$", text, flags=re.MULTILINE)
    return [(label, int(n), [float(x) for x in errors.split()]) for label, n, errors in found]


class TestDemo:
    def test_table_picture_and_exit_code(self, tmp_path):
        output = tmp_path / "new" / "folder" / "sets.png"
        result = run("demo", "-o", output, "--columns", 61)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert result.stdout.endswith(f"Picture: {output}\n")
        assert output.read_bytes().startswith(PNG_SIGNATURE)
        assert [path.name for path in output.parent.iterdir()] == ["sets.png"]

        kernel, rows = compare_index_sets(61)
        printed = table_rows(result.stdout)
        assert len(printed) == len(rows) == 8
        for (label, n_columns, errors), row in zip(printed, rows, strict=True):
            assert label == row.label
            assert n_columns == row.index_set.n_components <= 61
            assert errors[0] == pytest.approx(kernel.truncation_error(row.index_set), rel=FIGURES_SHOWN)
            assert errors[1] == pytest.approx(row.measured_largest_error, rel=FIGURES_SHOWN)
            assert errors[2] == pytest.approx(kernel.frobenius_error(row.index_set, 1000), rel=FIGURES_SHOWN)
            assert errors[3] == pytest.approx(row.measured_frobenius_error, rel=FIGURES_SHOWN)
        flat = " ".join(result.stdout.split())
        for sentence in summarise(rows):
            assert sentence in flat

    def test_picture_goes_to_its_default_place(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = run("demo", "--columns", 25)
        assert result.exit_code == 0
        assert (tmp_path / "torusgp-demo" / "index_sets.png").read_bytes().startswith(PNG_SIGNATURE)

    @pytest.mark.parametrize("columns", [9, 1001])
    def test_ends_of_the_range(self, tmp_path, columns):
        result = run("demo", "--columns", columns, "-o", tmp_path / "sets.svg")
        assert result.exit_code == 0
        assert len(table_rows(result.stdout)) == 8
        assert b"<svg" in (tmp_path / "sets.svg").read_bytes()

    def test_an_existing_picture_is_replaced(self, tmp_path):
        output = tmp_path / "sets.png"
        output.write_text("old")
        assert run("demo", "--columns", 25, "-o", output).exit_code == 0
        assert output.read_bytes().startswith(PNG_SIGNATURE)

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ("a_file/below/sets.png", "Not a directory"),
            ("a_folder.png", "not a file"),
            ("sets", "has to end in .png, .pdf, .svg"),
            ("sets.xyz", "has to end in .png, .pdf, .svg"),
        ],
    )
    def test_output_that_cannot_be_written(self, tmp_path, place, message):
        (tmp_path / "a_file").write_text("kept")
        (tmp_path / "a_folder.png").mkdir()
        result = run("demo", "--columns", 25, "-o", tmp_path / place)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith(f"Error: Cannot write {tmp_path / place}: ")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["a_file", "a_folder.png"]
        assert (tmp_path / "a_file").read_text() == "kept"

    @pytest.mark.parametrize("columns", [-3, 8, 1002])
    def test_columns_out_of_range(self, tmp_path, columns):
        result = run("demo", "--columns", columns, "-o", tmp_path / "sets.png")
        assert result.exit_code == 2
        assert result.stderr == f"Error: The demonstration takes 9 to 1001 columns, got {columns}.\n"
        assert list(tmp_path.iterdir()) == []

    def test_columns_that_are_no_number(self):
        result = run("demo", "--columns", "many")
        assert result.exit_code == 2
        assert "Invalid value for '--columns'" in result.stderr

    def test_without_matplotlib_the_install_line_is_given(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        result = run("demo", "-o", tmp_path / "sets.png")
        assert result.exit_code == 2
        assert result.stderr == 'Error: Plots need matplotlib. Install it with: pip install "torusgp[plot]"\n'
        assert list(tmp_path.iterdir()) == []


class TestComparison:
    def test_certificates_hold_and_the_adaptive_set_is_best(self):
        _, rows = compare_index_sets(101)
        assert rows[-1].label == "adaptive"
        for row in rows:
            assert row.measured_largest_error == pytest.approx(row.largest_error, abs=1e-13)
            # an expectation, over 1000 points: 3 % is far outside their scatter, 0.3 % is what is seen
            assert row.measured_frobenius_error == pytest.approx(row.frobenius_error, rel=0.03)
            assert rows[-1].largest_error <= row.largest_error
            assert rows[-1].frobenius_error <= row.frobenius_error

    def test_summary_names_the_second_and_the_last(self):
        _, rows = compare_index_sets(121)
        first, second = summarise(rows)
        ranked = sorted(rows, key=lambda row: row.largest_error)
        for row in (ranked[0], ranked[1], ranked[-1]):
            assert f"{row.largest_error:.1e}" in first
        assert ranked[1].label in first
        assert ranked[-1].label in first
        stated = float(re.search(r"([\d.e-]+) %", second).group(1)) / 100
        gap = max(abs(row.measured_frobenius_error / row.frobenius_error - 1) for row in rows)
        assert stated == pytest.approx(gap, rel=0.5)  # one digit


class FailingFigure:
    """Stands for a figure that cannot be drawn."""

    def savefig(self, *args, **kwargs):
        raise OSError("no")


class BytesFigure:
    def savefig(self, buffer, **kwargs):
        buffer.write(b"picture")


class TestWritePicture:
    def test_a_failure_leaves_what_was_there(self, tmp_path):
        output = tmp_path / "sets.png"
        output.write_text("old")
        with pytest.raises(OSError, match="no"):
            write_picture(FailingFigure(), output)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]

    def test_a_full_disk_leaves_no_part_and_no_folder(self, tmp_path, monkeypatch):
        def write_half(path, data):
            path.write_text("half")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", write_half)
        with pytest.raises(OSError, match=r"Cannot write .*No space left on device\. Name another place"):
            write_picture(BytesFigure(), tmp_path / "a" / "b" / "sets.png")
        assert list(tmp_path.iterdir()) == []


class TestApplication:
    def test_help_and_unknown_commands(self):
        assert "demo" in run("--help").stdout
        assert run("demo", "--help").exit_code == 0
        assert run("dmeo").exit_code == 2

    @pytest.mark.parametrize("missing", ["typer", "rich.console"])
    def test_missing_extra_is_told_in_one_line(self, missing, monkeypatch, capsys):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == 2
        line = 'Error: The command needs typer and rich. Install them with: pip install "torusgp[cli,plot]"\n'
        assert capsys.readouterr().err == line

    def test_entry_point(self):
        code = "import sys; sys.argv = ['torusgp', '--help']; from torusgp.cli import main; main()"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert result.returncode == 0
        assert "demo" in result.stdout


class TestReadme:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)

    def test_first_example_prints_what_it_says(self, capsys):
        names: dict[str, object] = {}
        exec(self.blocks[0], names)
        stated = re.search(r"print\(.*\)  # (.*)", self.blocks[0]).group(1)
        assert capsys.readouterr().out.strip() == stated

        from sklearn.base import clone

        hours, y = names["hours"], names["y"]
        additive = clone(names["model"]).set_params(max_interaction=1)
        score = additive.fit(hours[:17532], y[:17532]).score(hours[17532:], y[17532:])
        assert f"do not interact, R² is {score:.3f}." in README.read_text(encoding="utf-8")

    def test_second_example_runs(self, tmp_path, monkeypatch):
        matplotlib.use("Agg")
        monkeypatch.chdir(tmp_path)
        names: dict[str, object] = {}
        exec(self.blocks[1], names)
        assert (tmp_path / "kernel.png").read_bytes().startswith(PNG_SIGNATURE)

    def test_pictures_and_links_exist(self):
        targets = re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
        assert targets
        assert all((README.parent / target).is_file() for target in targets)

    def test_picture_is_what_the_demonstration_draws(self, tmp_path):
        run("demo", "-o", tmp_path / "sets.png")
        from PIL import Image

        shown = Image.open(README.parent / "docs" / "images" / "index_sets.png").convert("L").resize((150, 70))
        drawn = Image.open(tmp_path / "sets.png").convert("L").resize((150, 70))
        # Grey levels of 255. Coarse, since text differs between versions of matplotlib: it finds a picture of another
        # kernel or layout (145 columns: 8.5), not one of nearly the same sets (113 columns: 0.9).
        assert np.abs(np.asarray(shown, float) - np.asarray(drawn, float)).mean() < 3
