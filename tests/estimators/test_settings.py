"""Parameters of estimators that say how sums are computed."""

import numpy as np
import pytest

from torusgp import TorusGPRegressor, WhiteNoise
from torusgp.estimators.settings import Torch, make_compute, make_settings

pytest.importorskip("torch")


def make_rows(n=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (n, 2))
    return X, np.sin(2 * np.pi * X[:, 0]) * np.cos(2 * np.pi * X[:, 1] / 2) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(("precision", "error"), [("float64", 1e-8), ("float32", 1e-3)])
def test_torch_gives_the_same_model(precision, error, tmp_path):
    X, y = make_rows()
    same = {"period": [1, 2], "n_components": 61, "learn": ()}
    expected = TorusGPRegressor(backend="dense", **same).fit(X, y)
    model = TorusGPRegressor(backend=Torch("cpu", precision, transforms=False), **same).fit(X, y)
    assert model.backend_ == "torch"
    assert model.statistics_.precision == precision
    model.save(tmp_path / "model")
    loaded = TorusGPRegressor.load(tmp_path / "model")
    assert loaded.backend == model.backend
    for one in (model, loaded):
        for ours, theirs in zip(one.predict(X, return_std=True), expected.predict(X, return_std=True), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=error)


def test_transforms_may_serve_beside_a_device():
    assert make_compute(Torch("cpu"), None).backend == "auto"
    assert make_compute(Torch("cpu", transforms=False), None).backend == "torch"
    assert make_compute(Torch("cpu", "float32"), None).backend == "torch"


@pytest.mark.parametrize(
    ("backend", "message"),
    [("gpu", "backend must be"), (Torch("nowhere"), "nowhere"), (Torch("cpu", "float16"), "precision")],
)
def test_what_cannot_be_had_is_named(backend, message):
    X, y = make_rows(20)
    with pytest.raises((ValueError, RuntimeError), match=message):
        TorusGPRegressor(period=1.0, backend=backend).fit(X, y)


def test_bounds_of_the_noise_are_checked_kept_and_stored(tmp_path):
    for bounds in ((2.0, 1.0), (0.0, 1.0), 1.0):
        with pytest.raises(ValueError, match="variance_bounds"):
            make_settings(TorusGPRegressor(noise=WhiteNoise(bounds)))
    X, y = make_rows()
    model = TorusGPRegressor(period=[1, 2], n_components=61, noise=WhiteNoise((0.5, 0.7))).fit(X, y)
    assert 0.5 * (1 - 1e-9) <= model.noise_variance_ <= 0.75  # what the set leaves out is added
    model.save(tmp_path / "model.npz")
    assert TorusGPRegressor.load(tmp_path / "model.npz").noise == WhiteNoise((0.5, 0.7))
    assert model.partial_fit(X, y).noise_variance_ <= 0.75


def test_the_regressor_has_few_parameters():
    assert len(TorusGPRegressor().get_params(deep=False)) <= 15


def test_a_device_with_transforms_fits_rows_and_streams():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    y = np.cos(2 * np.pi * X[:, 0]) + 0.1 * rng.normal(size=3000)
    plain, there = (
        TorusGPRegressor(period=1.0, n_components=31, backend=backend).fit(X, y) for backend in ("auto", Torch("cpu"))
    )
    np.testing.assert_allclose(there.predict(X[:20]), plain.predict(X[:20]), rtol=1e-6)
    chunks = [(X[:1000], y[:1000]), (X[1000:], y[1000:])]
    stream = TorusGPRegressor(period=1.0, n_components=31, backend=Torch("cpu")).fit(chunks)
    np.testing.assert_allclose(stream.predict(X[:20]), plain.predict(X[:20]), atol=1e-3)
