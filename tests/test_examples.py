import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["seasons", "angle_surface"])
def test_scripts_run(name, tmp_path):
    output = tmp_path / "picture.png"
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--output", str(output)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert output.read_bytes().startswith(PNG_SIGNATURE)
