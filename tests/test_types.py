"""What a type checker says of a user's script: every call is typed, and nothing that comes out of a model is Any."""

import re
import sys

import pytest

SCRIPT = """
import numpy as np
from torusgp import Category, Circle, IndexSetFourierFeatures, Line, Slope, TorusGPRegressor, TorusKernel

X = np.random.default_rng(0).uniform(0, 24, (100, 3))
y = np.sin(X[:, 0])
model = TorusGPRegressor(Circle(0, 24) * Line(1) + 2.0 * Line(2) + Slope(1) + Category(2))
fitted = model.fit(X, y)
reveal_type(fitted)
reveal_type(fitted.fitted_)
reveal_type(fitted.kernel_)
reveal_type(fitted.predict(X))
mean, std = fitted.predict(X, return_std=True)
reveal_type(std)
reveal_type(fitted.predict(X, return_cov=True))
reveal_type(fitted.predict_parts(X))
reveal_type(fitted.predict_quantiles(X, [0.1, 0.9]))
reveal_type(fitted.predict_gradient(X))
reveal_type(fitted.sample_y(X, 3))
fitted.save("model.npz")
reveal_type(TorusGPRegressor.load("model.npz"))
reveal_type(TorusKernel(Circle(0, 24) * Line(1, range=(0, 10)))(X))
reveal_type(IndexSetFourierFeatures(period=24.0).fit(X).transform(X))
"""


def test_a_script_is_typed_throughout(tmp_path):
    api = pytest.importorskip("mypy.api")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    output, errors, _ = api.run(
        ["--strict", "--python-executable", sys.executable, "--cache-dir", str(tmp_path / "cache"), str(script)]
    )
    own = [line for line in output.splitlines() if line.startswith(str(script))]
    revealed = [line for line in own if "Revealed type" in line]
    assert len(revealed) == SCRIPT.count("reveal_type"), output + errors
    assert not [line for line in own if "error" in line]
    assert not [line for line in revealed if re.search(r'is "(builtins\.)?Any"', line)]
