import re
import subprocess
import sys

import pytest

from tests.test_examples import EXAMPLES, load


def test_gpytorch_model(capsys):
    pytest.importorskip("gpytorch", reason="GPyTorch is not installed")
    scores = load("gpytorch_model").main(n_samples=250)
    both, truth = scores["seasons + trend"], scores["the truth"]
    for alone in ("seasons", "trend"):
        assert both["log_evidence"] > scores[alone]["log_evidence"] + 50
        assert both["log_loss"] < scores[alone]["log_loss"] - 0.2
    assert both["r2"] == pytest.approx(truth["r2"], abs=0.05)
    assert both["noise_std"] == pytest.approx(0.4, abs=0.1)
    assert f"{both['r2']:.3f}" in capsys.readouterr().out


@pytest.mark.parametrize("library", ["numpyro", "pymc"])
def test_sampled_model(library, capsys):
    pytest.importorskip(library, reason=f"{library} is not installed")
    found = load(f"{library}_model").main()
    printed = capsys.readouterr().out
    for name in ("length scale, hour", "length scale, direction", "signal", "noise"):
        parameter = found[name]
        distance = abs(parameter["optimum"] - parameter["mean"]) / parameter["std"]
        assert distance < 2
        assert re.search(rf"^{name} .* {distance:.1f} sd$", printed, flags=re.MULTILINE)
    assert found["error"] < 0.15  # half the noise of one observation
    assert found["coverage"] == pytest.approx(0.9, abs=0.06)
    assert found["noise"]["mean"] == pytest.approx(0.3, abs=3 * found["noise"]["std"])


@pytest.mark.parametrize("library", ["gpytorch", "numpyro", "pymc"])
def test_scripts_say_what_they_do(library):
    pytest.importorskip(library, reason=f"{library} is not installed")
    command = [sys.executable, str(EXAMPLES / f"{library}_model.py"), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert f'pip install "torusgp[{library}]"' in result.stdout
