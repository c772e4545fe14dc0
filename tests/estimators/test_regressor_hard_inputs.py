"""Inputs that break regressors: each gives a sensible model, a warning or an error that says what to do."""

import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tests.expressions import circles, column_variances
from torusgp import Circle, IndexSetFourierFeatures, Lattice, Line, Slope, TorusGPRegressor, TorusKernel, WhiteNoise
from torusgp.engine.inference import NotPositiveDefiniteError
from torusgp.fitting import problem
from torusgp.fitting.prior import BROAD
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.spectra import SquaredExponential, Warped

BACKENDS = ["dense", "finufft"]
pytestmark = pytest.mark.filterwarnings("ignore:The .* components leave out")  # on purpose: small sets are quick


def wavy(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * np.pi * X[:, 0]) * np.exp(np.cos(2 * np.pi * X[:, 1])) + 0.1 * rng.normal(size=n)


def assert_sensible(model, X, y):
    """Finite predictions of the size of the targets, with positive standard deviations of no more than their size."""
    mean, std = model.predict(X, return_std=True)
    size = np.abs(y - np.mean(y)).max() + 1e-6 * (1 + np.abs(y).max())
    assert np.isfinite(mean).all()
    assert (np.abs(mean - np.mean(y)) < 10 * size).all()
    assert ((std > 0) & (std < 10 * size)).all()
    assert np.isfinite(model.log_marginal_likelihood_)


# --- sensible models ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", [0.0, 3.0, -1e9, 1e-9])
def test_constant_targets(value, backend):
    X, _ = wavy()
    model = TorusGPRegressor(n_components=61, backend=backend, period=1.0).fit(X, np.full(len(X), value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-12, atol=1e-12)
    assert_sensible(model, X, np.full(len(X), value))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_offset_of_the_targets_only_shifts_predictions(backend):
    X, y = wavy()
    rounded = (y + 1e9) - 1e9  # what is left of y after the offset
    plain = TorusGPRegressor(n_components=101, backend=backend, period=1.0).fit(X, rounded)
    shifted = TorusGPRegressor(n_components=101, backend=backend, period=1.0).fit(X, rounded + 1e9)
    np.testing.assert_allclose(shifted.predict(X) - 1e9, plain.predict(X), rtol=0, atol=1e-6)
    np.testing.assert_allclose(shifted.predict(X, return_std=True)[1], plain.predict(X, return_std=True)[1], rtol=1e-5)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
@pytest.mark.parametrize("backend", BACKENDS)
def test_units_of_the_targets_do_not_matter(factor, backend):
    X, y = wavy()
    plain = TorusGPRegressor(n_components=101, backend=backend, period=1.0).fit(X, y)
    scaled = TorusGPRegressor(n_components=101, backend=backend, period=1.0).fit(X, factor * y)
    for one, other in zip(scaled.predict(X, return_std=True), plain.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one / factor, other, rtol=0, atol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [2, 3, 10])
def test_few_rows(n, backend):
    X, y = wavy()
    model = TorusGPRegressor(backend=backend, period=1.0).fit(X[:n], y[:n])
    assert_sensible(model, X, y[:n])
    assert model.n_samples_seen_ == n


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_one_row_keeps_what_was_given(method, backend):
    """Its variance is zero, but that says nothing of the noise: intervals must not vanish."""
    X, y = wavy()
    model = TorusGPRegressor(2.0 * Circle(0, 1.0), noise_variance=0.3, backend=backend)
    with pytest.warns(
        UserWarning, match=r"single row tells nothing of variances.*noise_variance=0\.3.* of 2,"
    ) as caught:
        assert getattr(model, method)(X[:1], y[:1]).noise_variance_ == 0.3
    assert caught[0].filename == __file__
    assert model.signal_variance_ == 2.0
    mean, std = model.predict([X[0], X[0] + 0.5], return_std=True, include_noise=False)
    np.testing.assert_allclose(mean, y[0], atol=1e-9)
    prior = 2.0 + 100 * 2.3  # with the intercept, whose breadth is that of signal and noise
    assert std[0] ** 2 == pytest.approx(1 / (1 / prior + 1 / 0.3), rel=1e-6)
    assert std[1] > 1.4
    assert model.n_samples_seen_ == 1


def test_one_row_and_more_to_come():
    X, y = wavy(300)
    model = TorusGPRegressor(n_components=101, period=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
        assert model.noise_variance_ == pytest.approx(0.01, rel=0.5)


@pytest.mark.parametrize("kernel", [Line(0), Slope(0) + Line(1), None], ids=["line", "slope", "default"])
def test_one_row_has_no_range(kernel):
    with pytest.raises(ValueError, match="has one distinct value"):
        TorusGPRegressor(kernel).fit([[1.0, 2.0]], [3.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_columns_than_rows(backend):
    X, y = wavy(40)
    model = TorusGPRegressor(index_set=hyperbolic_cross(2, 12), backend=backend, period=1.0).fit(X, y)
    assert model.index_set_.n_components > 5 * len(X) / 2
    assert_sensible(model, X, y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_duplicated_rows(backend):
    X, y = wavy(30)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20) + 0.1 * np.random.default_rng(1).normal(size=600)
    assert_sensible(TorusGPRegressor(n_components=101, backend=backend, period=1.0).fit(X, y), X, y)


@pytest.mark.filterwarnings("ignore:'x.' spans")
@pytest.mark.parametrize("backend", BACKENDS)
def test_all_rows_equal(backend):
    X, y = np.full((50, 2), 0.3), np.random.default_rng(0).normal(size=50)
    model = TorusGPRegressor(n_components=61, backend=backend, period=1.0).fit(X, y)
    assert_sensible(model, X, y)
    assert model.predict(X)[0] == pytest.approx(y.mean(), abs=0.5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_data_on_a_tenth_of_the_period_leave_the_rest_uncertain(backend):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 0.1, (200, 1))
    y = np.sin(20 * np.pi * X[:, 0]) + 0.1 * rng.normal(size=200)
    model = TorusGPRegressor(length_scale=0.3, learn=("noise_variance",), backend=backend, period=1.0).fit(X, y)
    std = model.predict([[0.05], [0.55]], return_std=True, include_noise=False)[1]
    assert std[0] < 0.1
    assert std[1] > 0.9 * np.sqrt(model.signal_variance_)


def exact_variances(X, points, prior, noise, digits=50):
    """Posterior variances of the linear model on the columns of the frequencies 0, 1, ..., in many digits."""
    with mpmath.workdps(digits):
        n_frequencies = (len(prior) + 1) // 2

        def columns(x):
            angles = [2 * mpmath.pi * k * mpmath.mpf(float(x)) for k in range(1, n_frequencies)]
            return [mpmath.mpf(1), *(f(a) for a in angles for f in (mpmath.cos, mpmath.sin))]

        # products of columns are sums of exponentials up to twice the largest frequency
        turns = [mpmath.expjpi(2 * mpmath.mpf(float(x))) for x in X]
        sums, powers = [], [mpmath.mpc(1)] * len(turns)
        for _ in range(2 * n_frequencies - 1):
            sums.append(mpmath.fsum(powers))
            powers = [power * turn for power, turn in zip(powers, turns, strict=True)]
        precision = mpmath.matrix(len(prior), len(prior))
        kinds = [(0, "cos"), *((k, kind) for k in range(1, n_frequencies) for kind in ("cos", "sin"))]
        for i, (k, kind) in enumerate(kinds):
            for j, (m, other) in enumerate(kinds):
                total, difference = sums[k + m], sums[k - m] if k >= m else mpmath.conj(sums[m - k])
                product = {
                    "coscos": (difference.real + total.real) / 2,
                    "sinsin": (difference.real - total.real) / 2,
                    "sincos": (total.imag + difference.imag) / 2,
                    "cossin": (total.imag - difference.imag) / 2,
                }[kind + other]
                precision[i, j] = product / mpmath.mpf(noise)
            precision[i, i] += 1 / mpmath.mpf(float(prior[i]))
        variances = []
        for x in points:
            phi = mpmath.matrix(columns(x))
            variances.append(float((phi.T * mpmath.lu_solve(precision, phi))[0]))
    return np.array(variances)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("n", "n_frequencies"), [(200, 6), (200, 13), (2500, 6), (10_000, 6)])
def test_little_noise_on_little_of_the_circle_is_right_or_warned_of(backend, n, n_frequencies):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 0.1, (n, 1)), rng.normal(size=n)
    points = np.array([0.0, 0.03, 0.05, 0.11, 0.15, 0.3, 0.6])
    index_set = tensor(1, n_frequencies)
    model = TorusGPRegressor(
        learn=(), length_scale=0.5, noise_variance=1e-8, index_set=index_set, backend=backend, period=1.0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    prior = column_variances(TorusKernel(length_scale=0.5, period=1.0), index_set.frequencies)
    prior[0] += BROAD * y.var()  # of the intercept
    exact = exact_variances(X[:, 0], points, prior, 1e-8)
    std = model.predict(points[:, None], return_std=True, include_noise=False)[1]
    warned = any("Rounding in the statistics" in str(one.message) for one in caught)
    assert warned or np.abs(std**2 / exact - 1).max() < 0.01


@pytest.mark.parametrize("backend", BACKENDS)
def test_data_without_noise(backend):
    X, _ = wavy()
    y = np.sin(2 * np.pi * X[:, 0])
    model = TorusGPRegressor(backend=backend, n_components=101, period=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-2)


def test_length_scales_stay_within_their_bounds():
    X, y = wavy()
    bounds = (0.9, 1.1)
    model = TorusGPRegressor(circles([1.0, 1.0], bounds=bounds), n_components=61).fit(X, y)
    assert (model.kernel_.length_scale >= bounds[0] * (1 - 1e-9)).all()
    assert (model.kernel_.length_scale <= bounds[1] * (1 + 1e-9)).all()
    noise = np.random.default_rng(0).normal(size=len(X))
    assert_sensible(TorusGPRegressor(n_components=61, period=1.0).fit(X, noise), X, noise)


def test_an_input_that_does_not_matter_gets_a_long_length_scale():
    X, _ = wavy(300)
    y = np.sin(2 * np.pi * X[:, 0]) + np.cos(6 * np.pi * X[:, 0]) + 0.05 * np.random.default_rng(1).normal(size=300)
    model = TorusGPRegressor(period=1.0).fit(X, y)
    assert model.kernel_.length_scale[1] > 5 * model.kernel_.length_scale[0]


# --- kinds of arrays ---------------------------------------------------------------------------------------------


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "convert",
    [np.asfortranarray, frozen, lambda a: a.tolist(), lambda a: np.repeat(a, 2, axis=0)[::2], pd.DataFrame],
    ids=["Fortran order", "read only", "lists", "strided", "pandas"],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_kind_of_array_does_not_matter(convert, backend):
    X, y = wavy()
    model = TorusGPRegressor(n_components=61, backend=backend, learn=(), period=1.0).fit(X, y[:, None])
    given_X = pd.DataFrame(X, columns=["a", "b"]) if convert is pd.DataFrame else convert(X)
    other = TorusGPRegressor(n_components=61, backend=backend, learn=(), period=1.0).fit(given_X, convert(y[:, None]))
    np.testing.assert_allclose(other.predict(given_X), model.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("backend", BACKENDS)
def test_single_precision_inputs_are_used_in_double(backend):
    X, y = (values.astype(np.float32) for values in wavy())
    single = TorusGPRegressor(n_components=61, backend=backend, learn=(), period=1.0).fit(X, y)
    double = TorusGPRegressor(n_components=61, backend=backend, learn=(), period=1.0).fit(
        X.astype(float), y.astype(float)
    )
    np.testing.assert_allclose(single.predict(X), double.predict(X.astype(float)), rtol=0, atol=1e-12)


def test_integers_are_numbers():
    X, y = np.arange(96)[:, None], (np.arange(96) % 24 > 12).astype(int)
    model = TorusGPRegressor(period=24).fit(X, y)
    np.testing.assert_allclose(model.predict(X), TorusGPRegressor(period=24.0).fit(1.0 * X, 1.0 * y).predict(X))
    assert model.score(X, y) > 0.9


def test_large_time_stamps_keep_their_phase():
    X, y = wavy(200)
    X = np.round(X * 1024) / 1024  # so that whole periods can be added exactly
    model = TorusGPRegressor(n_components=61, learn=(), period=1.0)
    np.testing.assert_allclose(model.fit(X + 2.0**30, y).predict(X), model.fit(X, y).predict(X), rtol=0, atol=1e-9)


def test_columns_by_name():
    X, y = wavy()
    frame = pd.DataFrame(np.column_stack([X[:, 1], np.zeros(len(X)), X[:, 0]]), columns=["week", "unused", "day"])
    model = TorusGPRegressor(Circle("day", 1.0) * Circle("week", 1.0), n_components=61, learn=()).fit(frame, y)
    plain = TorusGPRegressor(n_components=61, learn=(), period=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(frame), plain.predict(X), atol=1e-10)


# --- errors ------------------------------------------------------------------------------------------------------

X, Y = wavy(20)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"X": np.where(X > 1.5, np.nan, X)}, "Input X contains NaN"),
        ({"X": np.where(X > 1.5, np.inf, X)}, "Input X contains NaN or infinity: the input .x0. is inf in row"),
        ({"y": np.where(Y > 1, np.nan, Y)}, "Input y contains NaN"),
        ({"y": np.where(Y > 1, np.inf, Y)}, "Input y contains infinity"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"X": X[:0], "y": Y[:0]}, r"Found array with 0 sample\(s\)"),
        ({"X": X[:, 0]}, "Expected 2D array, got 1D array"),
        ({"sample_weight": -np.ones(20)}, "sample_weight must be finite and at least zero, but row 0 has -1"),
        ({"sample_weight": np.zeros(20)}, "sample_weight is zero for every row|at least one non-zero"),
        ({"sample_weight": np.ones(19)}, "sample_weight must hold one number for each of the 20 rows"),
        ({"sample_weight": np.full(20, np.nan)}, "sample_weight must be finite and at least zero, but row 0 has nan"),
        ({"noise_scale": np.zeros(20)}, "noise_scale must be finite and positive, but row 0 has 0"),
        ({"noise_scale": -np.ones(20)}, "noise_scale must be finite and positive"),
        ({"noise_scale": np.ones(19)}, "noise_scale must hold one number for each of the 20 rows, got"),
        ({"noise_scale": np.full(20, np.nan)}, "noise_scale must be finite and positive, but row 0 has nan"),
    ],
)
def test_impossible_rows_are_refused(rows, message, method):
    with pytest.raises(ValueError, match=message):
        getattr(TorusGPRegressor(period=1.0), method)(**{"X": X, "y": Y} | rows)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learn": ("lengthscale",)}, r"learn holds \['lengthscale'\]; it may hold \['length_scale'"),
        ({"learn": "length_scale"}, "collection of names"),
        ({"backend": "gpu"}, "backend must be 'auto', 'dense', 'finufft', 'type3', 'blocks', 'torch', got 'gpu'"),
        ({"kernel": "rbf"}, "Unknown family 'rbf'"),
        ({"index_set": "cross"}, "index_set must be an IndexSet or one of"),
        ({"index_set": tensor(3, 1)}, "index_set has dimension 3, but the torus has 2"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": "many"}, "n_components"),
        ({"period": -1.0}, "period must be positive"),
        ({"period": [1.0, 2.0, 3.0]}, "of length 3 cannot describe 2 periodic input"),
        ({"length_scale": 0.0}, "length_scale must be positive"),
        ({"noise_variance": 0.0}, "noise_variance must be positive"),
        ({"noise_variance": [0.1, 0.2]}, r"noise_variance must be one number, or one for each of 1 target\(s\)"),
        ({"noise": WhiteNoise((2.0, 1.0))}, "variance_bounds must be two positive numbers, the lower one first"),
        ({"kernel": Circle(2, 24)}, r"There is no input 2: X has 2 column\(s\)"),
        ({"kernel": Circle("hour", 24)}, "There is no input 'hour': the inputs are without names"),
        ({"kernel": Circle(0, 24), "period": 24}, "period and length_scale belong to the short form"),
        ({"kernel": Slope(0)}, "A model needs at least one axis beside its plain columns"),
        ({"likelihood": "cauchy"}, "likelihood must be one of 'normal', 'log_normal', .* got 'cauchy'"),
        ({"likelihood": "log_normal"}, "needs positive targets, but row"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        TorusGPRegressor(**({} if "kernel" in parameters else {"period": 1.0}) | parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: -1.0 * Circle(0, 24), "must be a positive finite number, got -1.0"),
        (lambda: Circle(0, 24, variance=0.0), "variance must be a positive finite number"),
        (lambda: Circle(0, 24, length_scale_bounds=(0.0, 1.0)), "length_scale_bounds must be two positive numbers"),
        (lambda: Circle(0, 24, length_scale_bounds=(2.0, 1.0)), "length_scale_bounds"),
        (lambda: Circle(0, 24, length_scale_bounds=1.0), "length_scale_bounds"),
        (lambda: Line(0, length_scale=0.0), "length_scale must be a positive finite number"),
        (lambda: Lattice((0,), np.eye(1)), "two or more names or positions"),
        (lambda: Circle(0, 24) * Circle(0, 24), "two factors on the same axis"),
        (lambda: Circle(0, 24) * Slope(0), "is a plain column, which cannot be multiplied"),
    ],
)
def test_impossible_expressions_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_transforms_in_four_dimensions_are_refused():
    with pytest.raises(ValueError, match=r"at most 3 dimensions, here are 4\. Use backend='dense'"):
        TorusGPRegressor(backend="finufft", period=1.0).fit(np.hstack([X, X]), Y)


@pytest.mark.parametrize("method", ["predict", "sample_y", "predict_gradient", "save"])
def test_nothing_works_before_fit(method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(TorusGPRegressor(period=1.0), method)(X)


@pytest.mark.parametrize("name", ["kernel_", "coef_", "log_marginal_likelihood_", "backend_", "n_samples_seen_"])
def test_nothing_is_known_before_fit(name):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(TorusGPRegressor(period=1.0), name)


@pytest.mark.parametrize("method", ["predict", "sample_y", "predict_gradient"])
def test_another_number_of_features_is_refused(method):
    model = TorusGPRegressor(n_components=21, learn=(), period=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but TorusGPRegressor is expecting 2"):
        getattr(model, method)(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="X has 3 features, but TorusGPRegressor is expecting 2"):
        model.partial_fit(np.zeros((4, 3)), np.zeros(4))


def test_another_number_of_outputs_is_refused():
    model = TorusGPRegressor(n_components=21, learn=(), period=1.0).partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"y must have shape \(20, 1\), got \(20, 2\)"):
        model.partial_fit(X, np.column_stack([Y, Y]))


def test_std_and_covariance_together_are_refused():
    model = TorusGPRegressor(n_components=21, learn=(), period=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="return_std and return_cov cannot both be true"):
        model.predict(X, return_std=True, return_cov=True)


def test_a_failed_fit_does_not_leave_an_old_model_half_replaced():
    model = TorusGPRegressor(n_components=21, learn=(), period=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_statistics_too_inexact_for_the_noise_fail_or_warn():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 0.1, (20_000, 1)), rng.normal(size=20_000)
    model = TorusGPRegressor(noise_variance=1e-14, learn=(), index_set=tensor(1, 30), backend="finufft", period=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except NotPositiveDefiniteError as error:
            assert "Raise the noise variance" in str(error)  # noqa: PT017 - either outcome is fine
        else:
            assert any("Rounding in the statistics" in str(one.message) for one in caught)


def test_a_users_own_kernel_cannot_be_saved(tmp_path):
    model = TorusGPRegressor(Warped(lambda r: np.exp(-(r**2) / 2)), n_components=21, learn=(), period=1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"cannot be saved: .* Use pickle"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# --- warnings ----------------------------------------------------------------------------------------------------


def test_hours_with_period_one_are_warned_of():
    with pytest.warns(UserWarning, match="48 distinct values of 'x0' fall onto 1 phase"):
        TorusGPRegressor(n_components=21, period=1.0).fit(np.arange(48.0)[:, None], np.sin(np.arange(48.0)))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_column_that_spans_little_of_its_period_is_warned_of(method):
    with pytest.warns(UserWarning, match=r"'x1' spans 0\.0\d+ of its period"):
        getattr(TorusGPRegressor(period=[1.0, 400.0], n_components=21), method)(X, Y)


def test_truncation_that_is_not_small_against_the_noise_is_warned_of():
    with pytest.warns(UserWarning, match=r"5 components leave out 0\.\d+ of the signal variance.*Raise n_components"):
        TorusGPRegressor(n_components=5, length_scale=0.3, learn=(), period=1.0).fit(X, Y)


def test_the_cap_of_auto_is_warned_of(monkeypatch):
    monkeypatch.setattr(problem, "MAX_COMPONENTS", 121)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(800, 2))
    features = IndexSetFourierFeatures(length_scale=0.2, n_components=801, period=1.0).fit_transform(X)
    y = features @ rng.normal(size=801) + 0.1 * rng.normal(size=800)
    with pytest.warns(ConvergenceWarning, match="stopped at its cap of 121 components"):
        TorusGPRegressor(period=1.0).fit(X, y)


def test_a_sound_fit_is_silent():
    X, y = wavy(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TorusGPRegressor(SquaredExponential(), period=[1.0, 2.0]).fit(X, y).predict(X, return_std=True)


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.fit(X, Y),
        lambda model: model.fit([(X[:10], Y[:10]), (X[10:], Y[10:])]),
        lambda model: model.partial_fit(X, Y).predict(X),
        lambda model: model.partial_fit(X, Y).kernel_,
    ],
    ids=["fit", "chunks", "predict after partial_fit", "kernel after partial_fit"],
)
def test_warnings_point_to_the_line_of_the_user(use):
    with pytest.warns(UserWarning, match="leave out") as caught:
        use(TorusGPRegressor(n_components=5, length_scale=0.3, learn=(), period=1.0))
    assert {one.filename for one in caught} == {__file__}


@pytest.mark.parametrize("period", [1.0, 2 * np.pi], ids=["default", "radians"])
def test_a_period_in_other_units_is_warned_of(period):
    rng = np.random.default_rng(0)
    degrees = rng.uniform(0, 360, (500, 1))
    y = np.sin(np.radians(degrees[:, 0])) + 0.1 * rng.normal(size=500)
    with pytest.warns(UserWarning, match="little evidence that y repeats with period .* in the units of X"):
        TorusGPRegressor(period=period).fit(degrees, y)


def test_few_rows_given_variances_and_constants_are_not_warned_of():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(100, 1)), rng.normal(size=100)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TorusGPRegressor(n_components=31, period=1.0).fit(X[:15], y[:15])
        TorusGPRegressor(n_components=31, learn=("length_scale",), period=1.0).fit(X, y)
        targets = np.stack([np.sin(2 * np.pi * X[:, 0]), np.full(100, 0.7)], axis=1)
        TorusGPRegressor(n_components=31, period=1.0).fit(X, targets, sample_weight=rng.uniform(size=100))
    assert not [one for one in caught if "little evidence" in str(one.message)]
