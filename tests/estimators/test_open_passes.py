"""Open models in every way rows come in and models are kept: the same sums, the same predictions."""

import pickle
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, WhiteKernel

from torusgp import Category, Circle, Lattice, Line, Slope, Torch, TorusGPRegressor
from torusgp.engine.statistics import SufficientStatistics
from torusgp.kernels.index_sets import tensor

EXPRESSION = (
    Circle(0, 24, length_scale=0.9) * Line(1, length_scale=12.0, range=(-5, 35))
    + Category(2, levels=[0, 1, 2]) * Circle(0, 24, length_scale=1.2)
    + Slope(3)
)
pytestmark = pytest.mark.filterwarnings("ignore:The .* components leave out")  # on purpose: small sets are quick


def rows(n=400, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 96, n), rng.uniform(-5, 35, n), rng.integers(0, 3, n), rng.normal(3, 2, n)])
    wave = np.sin(2 * np.pi * X[:, :1] / 24 + np.arange(n_outputs)) * np.tanh((X[:, 1:2] - 18) / 8)
    return X, wave + 0.1 * X[:, 3:] + (X[:, 2:3] == 1) + 0.2 * rng.normal(size=(n, n_outputs))


def model(**changes):
    return TorusGPRegressor(EXPRESSION, **{"n_components": 101, "learn": ("noise_variance",)} | changes)


def assert_same(one, other, X, error=1e-6):
    for ours, theirs in zip(one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=error)
    np.testing.assert_allclose(one.predict_parts(X), other.predict_parts(X), rtol=0, atol=error)


@pytest.fixture(scope="module")
def whole():
    X, y = rows()
    return model().fit(X, y)


def test_sums_with_plain_columns_merge_exactly():
    X, y = rows()
    phases, plain = X[:, :2], X[:, 2:]
    index_set, period = tensor(2, 2), [24.0, 60.0]
    together = SufficientStatistics.from_data(phases, y, index_set, period=period, plain=plain)
    for backend in ("dense", "finufft"):
        parts = SufficientStatistics(index_set, period, n_outputs=2, n_plain=2, backend=backend)
        for some in np.array_split(np.arange(len(X)), 7):
            piece = parts.empty().update(phases[some], y[some], plain=plain[some])
            parts += piece
        one, two = together.linear()[0], parts.linear()[0]
        np.testing.assert_allclose(two.gram, one.gram, rtol=0, atol=1e-9 * len(X))
        np.testing.assert_allclose(two.moments, one.moments, rtol=0, atol=1e-9 * len(X))
    columns = np.hstack([together.linear()[0].gram[:0], np.empty((0, 0))])
    assert columns.shape[1] == 27
    standard = (plain - plain.mean(axis=0)) / plain.std(axis=0)
    np.testing.assert_allclose(one.gram[-2:, -2:], standard.T @ standard, rtol=0, atol=1e-9 * len(X))
    np.testing.assert_allclose(one.moments[-2:], standard.T @ (y - y.mean(axis=0)), rtol=0, atol=1e-9 * len(X))


@pytest.mark.parametrize("backend", ["dense", Torch("cpu", transforms=False)], ids=["dense", "torch"])
def test_every_backend_gives_the_same(whole, backend):
    X, y = rows()
    assert_same(model(backend=backend).fit(X, y), whole, X, 1e-8)


def test_few_axes_are_transformed():
    X, y = rows()
    expression = Circle(0, 24, length_scale=0.9) * Line(1, length_scale=12.0) + Slope(3)
    fast, slow = (
        TorusGPRegressor(expression, n_components=201, learn=("noise_variance",), backend=backend).fit(X, y)
        for backend in ("finufft", "dense")
    )
    assert fast.backend_ == "finufft"
    assert_same(fast, slow, X, 1e-7)
    for ours, theirs in zip(
        fast.predict_gradient(X[:20], return_std=True), slow.predict_gradient(X[:20], return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


def test_several_axes_of_one_clock_are_transformed_in_their_input(tmp_path):
    rng = np.random.default_rng(0)
    times = rng.uniform(0, 60, (3000, 1))
    y = np.sin(2 * np.pi * times[:, 0]) * np.cos(2 * np.pi * times[:, 0] / 7) + 0.1 * times[:, 0]
    y = y + 0.3 * rng.normal(size=3000)
    clock = Circle(0, 1.0) * Circle(0, 7.0) + Circle(0, 29.5) + Line(0, length_scale=20.0, range=(0, 60)) + Slope(0)
    options = {"n_components": 301, "learn": ("noise_variance",)}
    fast, slow, in_parts = (
        TorusGPRegressor(clock, backend=backend, **options) for backend in ("auto", "dense", "type3")
    )
    for one in (fast, slow):
        one.fit(times, y)
    assert fast.backend_ == "type3"
    in_parts.partial_fit(times[:2000], y[:2000]).partial_fit(times[2000:], y[2000:])
    fast.save(tmp_path / "clock.npz")
    stored = TorusGPRegressor.load(tmp_path / "clock.npz")
    beyond = np.concatenate([times[:300], rng.uniform(-500, 500, (300, 1))])  # where the line clamps, too
    for one in (fast, stored):
        assert_same(one, slow, beyond, 1e-7)
        assert one.backend_ == "type3"
    for ours, theirs in zip(
        fast.predict_gradient(beyond, return_std=True), slow.predict_gradient(beyond, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    assert in_parts.n_samples_seen_ == 3000
    assert in_parts.backend_ == "type3"


def test_parts_of_the_rows_give_the_same(whole):
    X, y = rows()
    parts = model()
    for some in np.array_split(np.arange(len(X)), 4):
        parts.partial_fit(X[some], y[some])
    assert parts.n_samples_seen_ == len(X)
    assert_same(parts, whole, X, 2e-3)  # the first chunk fixes the set and the lengths of circles


def chunks():
    X, y = rows()
    for some in np.array_split(np.arange(len(X)), 8):
        yield X[some], y[some]


def test_a_stream_gives_the_same():
    X, y = rows()
    assert_same(model(learn=()).fit(chunks), model(learn=()).fit(X, y), X, 1e-8)


def test_a_pass_that_was_broken_off_is_taken_up(tmp_path, monkeypatch):
    monkeypatch.setattr("torusgp.estimators.passes.SAMPLE_ROWS", 100)
    path = tmp_path / "pass.npz"

    def broken():
        yield from islice(chunks(), 5)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        model().fit(broken, checkpoint=path)
    resumed, direct = model().fit(chunks, checkpoint=path), model().fit(chunks)
    assert resumed.n_samples_seen_ == 400
    assert_same(resumed, direct, rows()[0], 1e-9)


def test_dask_gives_the_same():
    da = pytest.importorskip("dask.array")
    X, y = rows()
    lazy = model(learn=()).fit(da.from_array(X, chunks=(90, 4)), da.from_array(y, chunks=(90, 2)))
    assert_same(lazy, model(learn=()).fit(X, y), X, 1e-8)
    predicted = lazy.predict(da.from_array(X, chunks=(50, 4)))
    np.testing.assert_allclose(predicted.compute(), lazy.predict(X), rtol=0, atol=1e-9)


def test_files_pickles_and_clones_keep_the_model(whole, tmp_path):
    X, y = rows()
    whole.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    assert_same(loaded, whole, X, 1e-10)
    assert repr(loaded.kernel) == repr(whole.kernel)
    assert loaded.term_names_ == whole.term_names_ == ("x0 * x1", "x2 * x0", "slope of x3")
    assert_same(pickle.loads(pickle.dumps(whole)), whole, X, 0)
    assert_same(clone(whole).fit(X, y), whole, X, 0)
    more = loaded.partial_fit(X[:50], y[:50])
    assert more.n_samples_seen_ == 450
    assert np.isfinite(more.predict(X)).all()


def test_levels_of_text_are_kept_in_files(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"shop": rng.choice(["north", "south"], 80), "price": rng.uniform(1, 9, 80)})
    y = np.where(data["shop"] == "north", 1.0, -1.0) * data["price"].to_numpy() + 0.1 * rng.normal(size=80)
    fitted = TorusGPRegressor(Category("shop") * Line("price"), n_components=81).fit(data, y)
    fitted.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    np.testing.assert_allclose(loaded.predict(data), fitted.predict(data), rtol=0, atol=1e-10)
    assert loaded.fitted_.prior.torus.axes[0].levels == ("north", "south")


def test_weights_mean_repetition():
    X, y = rows(150)
    weight = np.random.default_rng(0).integers(0, 4, 150)
    weighted = model().fit(X, y, sample_weight=weight)
    repeated = model().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    assert_same(weighted, repeated, X, 1e-6)


def test_gradients_by_inputs_are_differences():
    X, y = rows(200, 1)
    fitted = model(n_components=201).fit(X, y[:, 0])
    points = X[:15].copy()
    points[:, 1] = np.clip(points[:, 1], -4, 34)
    gradient, std = fitted.predict_gradient(points, return_std=True)
    assert np.isnan(gradient[:, 2]).all()
    for d in (0, 1, 3):
        step = np.zeros(4)
        step[d] = 1e-4
        difference = (fitted.predict(points + step) - fitted.predict(points - step)) / 2e-4
        np.testing.assert_allclose(gradient[:, d], difference, rtol=1e-5, atol=1e-6)
        both = np.vstack([points + step, points - step])
        covariance = fitted.predict(both, return_cov=True, include_noise=False)[1]
        # what the set leaves out has no slope that is known: it is counted as independent between points
        covariance -= np.eye(len(both)) * fitted.fitted_.rest_variance
        n = len(points)
        variance = np.diag(covariance[:n, :n]) + np.diag(covariance[n:, n:]) - 2 * np.diag(covariance[:n, n:])
        np.testing.assert_allclose(std[:, d] ** 2, variance / 4e-8, rtol=2e-2, atol=1e-6)


def test_scikit_learn_finds_the_same_optimum():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 20, 300)
    y = np.sin(2 * np.pi * t / 2.5) * np.exp(-t / 15) + 0.3 * np.sin(t / 4) + 0.1 * rng.normal(size=300)
    theirs = (
        ConstantKernel(1.0, (1e-4, 1e4)) * RBF(5.0, (0.2, 200)) * ExpSineSquared(1.0, 2.5, (0.1, 50), "fixed")
        + ConstantKernel(0.5, (1e-4, 1e4)) * RBF(4.0, (0.2, 200))
        + WhiteKernel(0.1)
    )
    reference = GaussianProcessRegressor(theirs, alpha=0.0).fit(t[:, None], y)
    bounds = {"length_scale_bounds": (0.2, 200), "tolerance": 1e-8}
    ours = 1.0 * Circle(0, 2.5, length_scale=1.0) * Line(0, length_scale=5.0, **bounds) + 0.5 * Line(
        0, length_scale=4.0, **bounds
    )
    found = TorusGPRegressor(ours, intercept=False, n_components=801, integrate=False).fit(t[:, None], y)
    assert found.log_marginal_likelihood_ == pytest.approx(reference.log_marginal_likelihood_value_, abs=1e-2)
    points = np.linspace(0, 20, 40)[:, None]
    mean, std = reference.predict(points, return_std=True)
    np.testing.assert_allclose(found.predict(points), mean, atol=2e-3)
    np.testing.assert_allclose(found.predict(points, return_std=True)[1], std, rtol=1e-2)


def test_a_period_is_learned_beside_other_axes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 60, 500), rng.uniform(0, 10, 500)])
    y = np.sin(2 * np.pi * X[:, 0] / 7.3) * (1 + 0.1 * X[:, 1]) + 0.05 * X[:, 1] ** 2 + 0.1 * rng.normal(size=500)
    clock = Circle(0, 7.0, period_bounds=(6, 8))
    learned = TorusGPRegressor(clock * Line(1) + Line(1, length_scale=5.0), n_components=101).fit(X, y)
    assert learned.period_ == pytest.approx(7.3, abs=4 * learned.period_std_)
    assert learned.period_std_ < 0.02
    found = TorusGPRegressor(Circle(0, "auto") * Line(1) + Line(1, length_scale=5.0), n_components=101).fit(X, y)
    assert found.period_ == pytest.approx(7.3, abs=4 * found.period_std_)


def test_a_lattice_stands_beside_other_axes():
    rng = np.random.default_rng(0)
    cell = np.array([[3.0, 0.5], [0.0, 2.0]])
    X = np.column_stack([rng.uniform(0, 20, (600, 2)), rng.uniform(0, 5, 600)])
    turns = X[:, :2] @ np.linalg.inv(cell)
    y = np.cos(2 * np.pi * turns[:, 0]) * np.cos(2 * np.pi * turns[:, 1]) * X[:, 2] + 0.1 * rng.normal(size=600)
    fitted = TorusGPRegressor(Lattice((0, 1), cell) * Line(2), n_components=201).fit(X, y)
    assert fitted.score(X, y) > 0.98
    np.testing.assert_allclose(fitted.period_, cell)
    shifted = X.copy()
    shifted[:, :2] += cell[0] - 2 * cell[1]
    np.testing.assert_allclose(fitted.predict(shifted), fitted.predict(X), atol=1e-8)


def test_a_spectrum_is_learned_beside_plain_columns():
    X, y = rows(300, 1)
    names = ("length_scale", "signal_variance", "noise_variance")
    plain = model(learn=names).fit(X, y[:, 0])
    spectrum = model(learn=(*names, "spectrum")).fit(X, y[:, 0])
    assert spectrum.log_marginal_likelihood_ > plain.log_marginal_likelihood_
    assert spectrum.prior_variance_[-1] == plain.prior_variance_[-1]
