import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
FIGURES_SHOWN = 6e-3  # tables have three digits: half a unit of the last, relative to the smallest mantissa


def load(name):
    specification = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_seasons(tmp_path, capsys):
    output = tmp_path / "new" / "seasons.png"
    scores = load("seasons").main(output, n_years=2, n_components=301)
    assert output.read_bytes().startswith(PNG_SIGNATURE)
    interacting, additive, truth = scores["interacting"], scores["additive"], scores["the truth"]
    assert interacting["r2"] > additive["r2"] + 0.1
    assert interacting["log_loss"] < additive["log_loss"] - 0.2
    assert interacting["r2"] == pytest.approx(truth["r2"], abs=0.02)  # nothing more can be had
    assert interacting["coverage"] == pytest.approx(0.9, abs=0.02)
    printed = capsys.readouterr().out
    assert f"{interacting['r2']:.3f}" in printed
    assert printed.endswith(f"Picture: {output}\n")


def test_forecast(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it writes tables beside the picture
    monkeypatch.syspath_prepend(EXAMPLES)  # where Python looks when it runs a script there
    output = tmp_path / "forecast.png"
    load("forecast").main(output)
    assert output.read_bytes().startswith(PNG_SIGNATURE)
    error, share = re.search(r"error ([\d.]+) MW; .* contain (\d+)%", capsys.readouterr().out).groups()
    assert float(error) < 14  # its own noise is 11 of standard deviation
    assert int(share) >= 90
    assert (tmp_path / "demand.csv").read_text().startswith("time,temperature,demand\n2024-01-01 00:00:00,")
    assert len((tmp_path / "weather.csv").read_text().splitlines()) == 169


def test_angle_surface(tmp_path, capsys):
    output = tmp_path / "new" / "surface.png"
    found = load("angle_surface").main(output, n_samples=400)
    assert output.read_bytes().startswith(PNG_SIGNATURE)
    assert found["noise_std"] == pytest.approx(1.0, abs=0.15)
    assert found["energy_error"] < 0.7  # below the noise of one observation
    assert found["force_error"] < 0.15
    assert found["force_coverage"] > 0.88
    percent = re.search(r"intervals of the forces hold ([\d.]+)%", capsys.readouterr().out).group(1)
    assert float(percent) == pytest.approx(100 * found["force_coverage"], abs=0.06)


def test_forces_are_the_derivatives_of_the_energy():
    surface = load("angle_surface")
    angles = surface.np.random.default_rng(0).uniform(-180, 180, (20, 2))
    step = 1e-3
    for d in (0, 1):
        shift = step * surface.np.eye(2)[d]
        slope = (surface.energy(angles + shift) - surface.energy(angles - shift)) / (2 * step)
        surface.np.testing.assert_allclose(surface.forces(angles)[:, d], -slope, atol=1e-6)


class TestIndexSets:
    def test_table_is_what_was_compared(self, tmp_path, capsys):
        output = tmp_path / "new" / "sets.png"
        kernel, rows = load("index_sets").main(output, 61)
        assert output.read_bytes().startswith(PNG_SIGNATURE)
        text = capsys.readouterr().out
        assert text.endswith(f"Picture: {output}\n")
        printed = re.findall(r"^(\w+(?: \*)?) +(\d+)((?: +\d\.\d\de[-+]\d\d){4})$", text, flags=re.MULTILINE)
        assert len(printed) == len(rows) == 8
        for (label, n_columns, errors), row in zip(printed, rows, strict=True):
            assert label == row.label
            assert int(n_columns) == row.index_set.n_components <= 61
            certified, measured, expected, found = (float(error) for error in errors.split())
            assert certified == pytest.approx(kernel.truncation_error(row.index_set), rel=FIGURES_SHOWN)
            assert measured == pytest.approx(row.measured_largest_error, rel=FIGURES_SHOWN)
            assert expected == pytest.approx(kernel.frobenius_error(row.index_set, 1000), rel=FIGURES_SHOWN)
            assert found == pytest.approx(row.measured_frobenius_error, rel=FIGURES_SHOWN)

    def test_certificates_hold_and_the_adaptive_set_is_best(self):
        _, rows = load("index_sets").compare_index_sets(101)
        assert rows[-1].label == "adaptive"
        for row in rows:
            assert row.measured_largest_error == pytest.approx(row.largest_error, abs=1e-13)
            # an expectation, over 1000 points: 3 % is far outside their scatter, 0.3 % is what is seen
            assert row.measured_frobenius_error == pytest.approx(row.frobenius_error, rel=0.03)
            assert rows[-1].largest_error <= row.largest_error
            assert rows[-1].frobenius_error <= row.frobenius_error

    def test_summary_names_the_second_and_the_last(self):
        example = load("index_sets")
        _, rows = example.compare_index_sets(121)
        first, second = example.summarise(rows)
        ranked = sorted(rows, key=lambda row: row.largest_error)
        for row in (ranked[0], ranked[1], ranked[-1]):
            assert f"{row.largest_error:.1e}" in first
        assert ranked[1].label in first
        assert ranked[-1].label in first
        stated = float(re.search(r"([\d.e-]+) %", second).group(1)) / 100
        gap = max(abs(row.measured_frobenius_error / row.frobenius_error - 1) for row in rows)
        assert stated == pytest.approx(gap, rel=0.5)  # one digit

    @pytest.mark.parametrize("n_components", [9, 1001])
    def test_ends_of_the_range(self, n_components, tmp_path):
        _, rows = load("index_sets").main(tmp_path / "sets.svg", n_components)
        assert len(rows) == 8
        assert b"<svg" in (tmp_path / "sets.svg").read_bytes()

    @pytest.mark.parametrize("n_components", [-3, 8, 1002])
    def test_columns_out_of_range(self, n_components):
        with pytest.raises(ValueError, match=f"takes 9 to 1001 columns, got {n_components}"):
            load("index_sets").main(None, n_components)

    def test_picture_of_the_documentation_is_what_is_drawn(self, tmp_path):
        from PIL import Image

        load("index_sets").main(tmp_path / "sets.png")
        shown, drawn = (
            np.asarray(Image.open(path).convert("L").resize((150, 70)), dtype=float)
            for path in (EXAMPLES.parent / "docs" / "images" / "index_sets.png", tmp_path / "sets.png")
        )
        # Grey levels of 255. Coarse, since text differs between versions of matplotlib: it finds a picture of another
        # kernel or layout (145 columns: 8.5), not one of nearly the same sets (113 columns: 0.9).
        assert np.abs(shown - drawn).mean() < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seasons", "angle_surface", "index_sets"])
def test_scripts_run(name, tmp_path):
    output = tmp_path / "picture.png"
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--output", str(output)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert output.read_bytes().startswith(PNG_SIGNATURE)
