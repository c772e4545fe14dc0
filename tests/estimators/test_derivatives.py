"""Observed derivatives: against a dense Gaussian process, and identities of their sums."""

import warnings
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from tests.dense_derivatives import DenseDerivativeGP, Factor, TruncatedKernelGP
from torusgp import Category, Circle, Line, Slope, Torch, TorusGPRegressor
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.learning import log_evidence_and_gradient

NOISE, GRADIENT_NOISE, VARIANCE = 0.1, 0.2, 1.3
CIRCLE, LINE = 3.0, (0.0, 2.0)  # period, range


def make_rows(dimension, n_values=12, n_gradient=10, seed=0):
    rng = np.random.default_rng(seed)
    X, Z = rng.uniform(0, 2, (n_values, dimension)), rng.uniform(0, 2, (n_gradient, dimension))
    y = 2 + np.sin(2 * np.pi * X / CIRCLE).sum(axis=1) + 0.1 * rng.normal(size=n_values)
    gradient = 2 * np.pi / CIRCLE * np.cos(2 * np.pi * Z / CIRCLE) + 0.1 * rng.normal(size=Z.shape)
    gradient[rng.uniform(size=gradient.shape) < 0.2] = np.nan
    return X, y, Z, gradient


def make_factors(kinds, family, scales):
    """Factors of an expression, and those of the dense one."""
    expression = [
        Circle(d, CIRCLE, family, scale, "fixed")
        if kind == "circle"
        else Line(d, family, scale, "fixed", range=LINE, tolerance=1e-8)
        for d, (kind, scale) in enumerate(zip(kinds, scales, strict=True))
    ]
    dense = [Factor(s, CIRCLE if kind == "circle" else None, family) for kind, s in zip(kinds, scales, strict=True)]
    return expression, dense


def product(factors):
    result = VARIANCE * factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


CASES = {
    "circle": (("circle",), "squared_exponential", (0.9,), 101),
    "line": (("line",), "squared_exponential", (0.7,), 201),
    "circle, Matern": (("circle",), "matern52", (1.5,), 1001),
    "line, Matern": (("line",), "matern52", (2.5,), 2001),
    "two circles": (("circle", "circle"), "squared_exponential", (1.1, 0.9), 401),
    "circle and line": (("circle", "line"), "squared_exponential", (1.1, 1.5), 701),
    "two lines": (("line", "line"), "squared_exponential", (2.0, 2.0), 1301),
    "three circles": (("circle", "circle", "circle"), "squared_exponential", (2.2, 2.5, 2.0), 1001),
    "circles and line": (("circle", "line", "circle"), "squared_exponential", (3.5, 2.0, 4.0), 1301),
}
SETTINGS = {"learn": (), "noise_variance": NOISE}
RELATIVE = np.sqrt(GRADIENT_NOISE / NOISE)  # standard deviation of the noise of derivatives


def fit_both(case, intercept=False):
    kinds, family, scales, n_components = CASES[case]
    rows = make_rows(len(kinds))
    expression, factors = make_factors(kinds, family, scales)
    model = TorusGPRegressor(product(expression), n_components=n_components, intercept=intercept, **SETTINGS)
    X, y, Z, gradient = rows
    model.fit(X, y, X_gradient=Z, gradient=gradient, gradient_noise_scale=np.full(len(Z), RELATIVE))
    broad = float(model.intercept_variance_) if intercept else 0.0
    dense = DenseDerivativeGP(factors, VARIANCE, NOISE, np.full(len(kinds), GRADIENT_NOISE), broad)
    return model, dense.fit(*rows), rows


def assert_same_predictions(model, dense, tolerance=1e-6):
    points = np.random.default_rng(1).uniform(0, 2, (7, dense.X.shape[1]))
    mean, std = model.predict(points, return_std=True, include_noise=False)
    slopes, slopes_std = model.predict_gradient(points, return_std=True)
    expected, variance = dense.predict(points)
    np.testing.assert_allclose(mean, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(std**2, variance, rtol=tolerance, atol=tolerance)
    for d in range(points.shape[1]):
        expected, variance = dense.predict(points, d)
        # derivatives leave out more of the kernel than values do
        np.testing.assert_allclose(slopes[:, d], expected, rtol=10 * tolerance, atol=10 * tolerance)
        np.testing.assert_allclose(slopes_std[:, d] ** 2, variance, rtol=10 * tolerance, atol=10 * tolerance)
    assert model.log_marginal_likelihood_ == pytest.approx(dense.log_evidence, rel=tolerance)


@pytest.mark.parametrize("case", CASES)
def test_energies_with_gradients_equal_a_dense_process(case):
    model, dense, _ = fit_both(case)
    assert_same_predictions(model, dense)


def test_an_intercept_is_no_part_of_the_gradients():
    model, dense, _ = fit_both("circle and line", intercept=True)
    assert_same_predictions(model, dense, 1e-5)  # whose variance is a hundred times that of the targets


@pytest.mark.parametrize("dimension", [2, 3])
def test_matern_in_several_dimensions_equals_a_dense_process_of_its_set(dimension):
    rows = make_rows(dimension)
    expression = product([Circle(d, CIRCLE, "matern52", 0.8, "fixed") for d in range(dimension)])
    model = TorusGPRegressor(expression, n_components=301, intercept=False, **SETTINGS)
    X, y, Z, gradient = rows
    model.fit(X, y, X_gradient=Z, gradient=gradient, gradient_noise_scale=np.full(len(Z), RELATIVE))
    variances = np.append(model.prior_variance_[0], model.prior_variance_[1::2])
    dense = TruncatedKernelGP(
        [None] * dimension,
        VARIANCE,
        NOISE,
        np.full(dimension, GRADIENT_NOISE),
        frequencies=model.index_set_.frequencies,
        coefficients=variances,
        periods=np.full(dimension, CIRCLE),
    )
    assert_same_predictions(model, dense.fit(*rows), 1e-8)


@pytest.mark.parametrize("case", ["circle", "circle and line", "three circles"])
def test_the_gradient_of_the_evidence_is_that_of_the_dense_process(case):
    model, dense, rows = fit_both(case)
    fitted = model.fitted_
    _, gradient = log_evidence_and_gradient(
        fitted.linear, fitted.prior, fitted.index_set.frequencies, fitted.parameters
    )

    def difference(name, index=None):
        """Slope of the dense evidence in the logarithm of one of its parameters."""
        step, values = 1e-5, []
        for sign in (1, -1):
            value = copy(getattr(dense, name))
            if name == "factors":
                value[index] = replace(value[index], length_scale=value[index].length_scale * np.exp(sign * step))
            elif index is not None:
                value[index] *= np.exp(sign * step)
            else:
                value = value * np.exp(sign * step)
            values.append(replace(dense, **{name: value}).fit(*rows).log_evidence)
        return (values[0] - values[1]) / (2 * step)

    (term,) = fitted.prior.terms
    for d, slope in enumerate(gradient[f"{term.name}: length_scale"]):
        assert slope == pytest.approx(difference("factors", d), abs=2e-6)
        assert gradient[f"x{d}: gradient_noise_variance"][0] == pytest.approx(difference("gradient_noise", d), abs=2e-6)
    assert gradient[f"{term.name}: variance"][0] == pytest.approx(difference("variance"), abs=2e-6)
    assert gradient["noise_variance"][0] == pytest.approx(difference("noise"), abs=2e-6)


# Sums ----------------------------------------------------------------------------------------------------------------


def small_model(**options):
    return TorusGPRegressor(Circle(0, CIRCLE) * Circle(1, CIRCLE), n_components=61, **options)


def fit_small(rows, scale=None, **options):
    X, y, Z, gradient = rows
    return small_model(**options).fit(X, y, X_gradient=Z, gradient=gradient, gradient_noise_scale=scale)


@pytest.mark.parametrize("backend", ["finufft", "torch"])
def test_backends_agree(backend):
    pytest.importorskip("torch" if backend == "torch" else "finufft")
    rows = make_rows(2, 40, 30)
    scale = np.random.default_rng(2).uniform(0.5, 2, 30)
    models = [fit_small(rows, scale, backend=name, **SETTINGS) for name in ("dense", backend)]
    assert models[1].backend_ == backend
    assert models[0].log_marginal_likelihood_ == pytest.approx(models[1].log_marginal_likelihood_, rel=1e-9)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-9)


@pytest.mark.gpu
def test_a_gpu_gives_the_same():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    rows = make_rows(2, 40, 30)
    models = [fit_small(rows, backend=backend, **SETTINGS) for backend in ("dense", Torch("cuda", transforms=False))]
    assert models[1].backend_ == "torch"
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-9)


def test_a_noise_scale_is_a_weight_and_a_missing_derivative_is_no_row():
    X, y, Z, gradient = make_rows(2, 20, 15)
    once = fit_small((X, y, Z, gradient), **SETTINGS)
    twice = fit_small((X, y, np.vstack([Z, Z]), np.vstack([gradient, gradient])), np.full(30, np.sqrt(2)), **SETTINGS)
    np.testing.assert_allclose(once.coef_, twice.coef_, atol=1e-10)
    apart = [np.where(np.arange(2) == d, gradient, np.nan) for d in range(2)]
    parts = fit_small((X, y, np.vstack([Z, Z]), np.vstack(apart)), **SETTINGS)
    assert once.log_marginal_likelihood_ == pytest.approx(parts.log_marginal_likelihood_, rel=1e-10)


def test_more_rows_and_gradients_come_by_partial_fit():
    X, y, Z, gradient = rows = make_rows(2, 40, 30)
    model = small_model(**SETTINGS).partial_fit(X[:20], y[:20], X_gradient=Z[:10], gradient=gradient[:10])
    model.partial_fit(X[20:], y[20:])
    model.partial_fit(None, None, X_gradient=Z[10:], gradient=gradient[10:])
    np.testing.assert_allclose(model.predict(X), fit_small(rows, **SETTINGS).predict(X), rtol=1e-6)


def test_learning_from_sums_equals_learning_from_rows():
    X, y, Z, gradient = rows = make_rows(2, 60, 50)
    model = small_model().partial_fit(X, y).partial_fit(None, None, X_gradient=Z, gradient=gradient)
    whole = fit_small(rows)
    assert model.log_marginal_likelihood_ == pytest.approx(whole.log_marginal_likelihood_, abs=0.05)
    assert set(model.gradient_noise_variance_) == {"x0", "x1"}


def test_streams_hold_gradients():
    X, y, Z, _ = make_rows(2, 60, 50)
    gradient = np.cos(Z)
    chunks = [(X[i : i + 20], y[i : i + 20]) for i in range(0, 60, 20)]
    slopes = [(Z[i : i + 25], gradient[i : i + 25]) for i in range(0, 50, 25)]
    streamed = small_model(**SETTINGS).fit(iter(chunks), X_gradient=iter(slopes))
    np.testing.assert_allclose(streamed.predict(X), fit_small((X, y, Z, gradient), **SETTINGS).predict(X), rtol=1e-6)
    beside_arrays = small_model(**SETTINGS).fit(iter(chunks), X_gradient=Z, gradient=gradient)
    np.testing.assert_allclose(streamed.predict(X), beside_arrays.predict(X), rtol=1e-10)
    with pytest.raises(ValueError, match="one along each input"):
        small_model().fit(iter(chunks), X_gradient=iter([(Z, gradient[:, 0])]))


def test_dask_collections_hold_gradients():
    dask = pytest.importorskip("dask.array")
    X, y, Z, _ = make_rows(2, 60, 50)
    gradient = np.cos(Z)
    blocks = [dask.from_array(one, chunks=(20, *one.shape[1:])) for one in (X, y, Z, gradient)]
    expected = fit_small((X, y, Z, gradient), **SETTINGS).predict(X)
    model = small_model(**SETTINGS).fit(*blocks[:2], X_gradient=blocks[2], gradient=blocks[3])
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6)
    beside_arrays = small_model(**SETTINGS).fit(*blocks[:2], X_gradient=Z, gradient=gradient)
    np.testing.assert_allclose(beside_arrays.predict(X), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="X_gradient is a Dask collection, but X is not"):
        small_model().fit(X, y, X_gradient=blocks[2], gradient=blocks[3])


def test_a_pass_with_gradients_goes_on_after_a_crash(tmp_path, monkeypatch):
    """The gradients come last: they are neither lost nor counted twice."""
    X, y, Z, _ = make_rows(2, 60, 50)
    gradient, path = np.cos(Z), tmp_path / "pass.npz"
    expected = fit_small((X, y, Z, gradient), **SETTINGS).predict(X)

    chunks = [(X[i : i + 20], y[i : i + 20]) for i in range(0, 60, 20)]
    slopes = [(Z[:25], gradient[:25]), (Z[25:], gradient[25:])]
    model, n_seen = small_model(**SETTINGS), []

    def broken(statistics, *rows):
        n_seen.append(len(rows[0]))
        if len(n_seen) == 3:  # the first is that of the sample
            raise OSError("the disk is gone")
        return whole(statistics, *rows)

    whole = SufficientStatistics.update_gradient
    monkeypatch.setattr(SufficientStatistics, "update_gradient", broken)
    with pytest.raises(OSError, match="disk"):
        model.fit(chunks, X_gradient=slopes, checkpoint=path)
    monkeypatch.setattr(SufficientStatistics, "update_gradient", whole)
    for _ in range(2):
        model.fit(chunks, X_gradient=slopes, checkpoint=path)
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="written with observed derivatives"):
        model.fit(chunks, checkpoint=path)


def test_a_saved_model_knows_its_gradients(tmp_path):
    X, y, Z, gradient = make_rows(2, 30, 20)
    model = fit_small((X, y, Z, gradient))
    model.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    assert loaded.gradient_noise_variance_ == model.gradient_noise_variance_
    assert loaded.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_, rel=1e-10)
    for one in (model, loaded):
        one.partial_fit(X, y, X_gradient=Z, gradient=gradient)
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), rtol=1e-8)


def test_plain_columns_have_slopes_too():
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(0, 3, (50, 1)), rng.uniform(0, 3, (40, 1))
    y = 3 * X[:, 0] + np.sin(2 * np.pi * X[:, 0] / CIRCLE)
    slope = 3 + 2 * np.pi / CIRCLE * np.cos(2 * np.pi * Z / CIRCLE)
    kernel = Circle(0, CIRCLE) + Slope(0)
    model = TorusGPRegressor(kernel, n_components=41).fit(X, y, X_gradient=Z, gradient=slope)
    gradient, std = model.predict_gradient(Z, return_std=True)
    np.testing.assert_allclose(gradient, slope, atol=0.05)
    assert (std < 0.05).all()
    alone = TorusGPRegressor(kernel, n_components=41).fit(None, None, X_gradient=Z, gradient=slope)
    np.testing.assert_allclose(np.diff(alone.predict(X)), np.diff(y), atol=0.05)


def test_several_outputs_have_gradients_of_their_own():
    X, y, Z, gradient = make_rows(2, 30, 20)
    both = fit_small((X, np.column_stack([y, -y]), Z, np.stack([gradient, -gradient], axis=-1)), **SETTINGS)
    alone = fit_small((X, y, Z, gradient), **SETTINGS)
    np.testing.assert_allclose(both.predict(X), np.column_stack([alone.predict(X), -alone.predict(X)]), atol=1e-9)


# What they are for ---------------------------------------------------------------------------------------------------


def surface(angles):
    """A surface of two angles in degrees, and its derivatives."""
    a, b = np.radians(angles).T
    wells = [(4.0, -1.2, 2.0, 1.5), (3.0, 2.4, -1.0, 2.0), (2.0, 0.8, 0.6, 1.2)]
    value, slope = np.zeros(len(angles)), np.zeros((len(angles), 2))
    for depth, x, y, width in wells:
        well = -depth * np.exp(width * (np.cos(a - x) + np.cos(b - y) - 2))
        value += well
        slope += well[:, None] * width * -np.sin(np.stack([a - x, b - y], axis=1)) * np.pi / 180
    return value, slope


def grid(n):
    ticks = np.arange(n) * 360 / n - 180
    return np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)


def noisy_surface(angles, rng, noise=0.03):
    """Energies and derivatives with noise, the same for an energy and for a derivative per radian."""
    value, slope = surface(angles)
    slope = slope + noise * np.pi / 180 * rng.normal(size=slope.shape)
    return value + noise * rng.normal(size=len(value)), slope


def test_six_by_six_points_with_gradients_beat_twelve_by_twelve_without():
    points = np.random.default_rng(5).uniform(-180, 180, (1000, 2))
    truth, errors = surface(points)[0], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        energies, slopes = noisy_surface(grid(6), rng)
        few = TorusGPRegressor(period=360).fit(grid(6), energies, X_gradient=grid(6), gradient=slopes)
        many = TorusGPRegressor(period=360).fit(grid(12), noisy_surface(grid(12), rng)[0])
        errors.append([np.std(model.predict(points) - truth) for model in (few, many)])
    few_error, many_error = np.mean(errors, axis=0)
    assert few_error < many_error


def test_gradients_alone_tell_the_surface_up_to_a_constant():
    points = np.random.default_rng(5).uniform(-180, 180, (1000, 2))
    truth = surface(points)[0]
    slopes = noisy_surface(grid(8), np.random.default_rng(0), 0.01)[1]
    model = TorusGPRegressor(period=360).fit(None, None, X_gradient=grid(8), gradient=slopes)
    mean, std = model.predict(points, return_std=True)
    assert np.std(mean - truth) < 0.02 * np.std(truth)
    assert std.min() > np.std(truth)  # which the constant is part of


def test_units_that_do_not_agree_are_told():
    X = grid(8)
    y, gradient = surface(X)
    rng = np.random.default_rng(0)
    y, gradient = y + 0.01 * rng.normal(size=len(y)), gradient + 1e-4 * rng.normal(size=gradient.shape)
    for factor in (4.184, -1.0, 180 / np.pi, 1 / 27.2):
        with pytest.warns(UserWarning, match="units of y per unit"):
            TorusGPRegressor(period=360).fit(X, y, X_gradient=X, gradient=factor * gradient)
    noisy = gradient + gradient.std() * rng.normal(size=gradient.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TorusGPRegressor(period=360).fit(X, y, X_gradient=X, gradient=noisy)


def test_bad_gradients_are_refused():
    X, y, Z, gradient = make_rows(2)
    model = small_model()
    cases = [
        ({"X_gradient": Z}, "X_gradient was given without gradient"),
        ({"gradient": gradient}, "gradient was given without X_gradient"),
        ({"gradient_noise_scale": np.ones(10)}, "without X_gradient and gradient"),
        ({"X_gradient": Z, "gradient": gradient[:, :1]}, "derivative along each input"),
        ({"X_gradient": Z, "gradient": gradient * np.nan}, "NaN everywhere"),
        ({"X_gradient": Z, "gradient": gradient, "gradient_noise_scale": np.zeros(10)}, "must be finite and positive"),
    ]
    for given, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, **given)
    with pytest.raises(ValueError, match="find_period"):
        TorusGPRegressor(period=[3.0, 3.0], learn=("period",)).fit(X, y, X_gradient=Z, gradient=gradient)
    with pytest.raises(ValueError, match="spectrum"):
        small_model(learn=("spectrum",)).fit(X, y, X_gradient=Z, gradient=gradient)
    with pytest.raises(ValueError, match="likelihood='normal'"):
        small_model(likelihood="log_normal").fit(X, np.exp(y), X_gradient=Z, gradient=gradient)


def test_a_category_has_no_derivative():
    X, y, Z, gradient = make_rows(2, 20, 20)
    X[:, 1], Z[:, 1] = np.arange(20) % 3, np.arange(20) % 3
    model = TorusGPRegressor(Circle(0, CIRCLE) * Category(1))
    with pytest.raises(ValueError, match="'x1', which is a category"):
        model.fit(X, y, X_gradient=Z, gradient=gradient)
    gradient[:, 1] = np.nan
    model.fit(X, y, X_gradient=Z, gradient=gradient)
    assert set(model.gradient_noise_variance_) == {"x0"}
    with pytest.raises(ValueError, match="'x1', which is no input of the kernel"):
        TorusGPRegressor(Circle(0, CIRCLE)).fit(X, y, X_gradient=Z, gradient=np.zeros((20, 2)))
