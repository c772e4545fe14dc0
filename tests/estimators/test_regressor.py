"""The regressor against exact Gaussian processes, and against itself fitted in other ways."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Hyperparameter, Kernel, StationaryKernelMixin, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.exact_regression import HEXAGONAL, exact_log_evidence, exact_optimum, exact_posterior
from tests.expressions import circles, lattice
from torusgp import Circle, IndexSetFourierFeatures, TorusGPRegressor, TorusKernel, mean_negative_log_loss_scorer
from torusgp.fitting.prior import BROAD
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.index_sets._names import NAMES
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic

BACKENDS = ["dense", "finufft"]


@parametrize_with_checks([TorusGPRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def wavy(n=200, dimension=2, n_outputs=None, seed=0, noise=0.1):
    """Rows of a smooth function of period one in every input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, dimension))
    y = np.stack(
        [np.sin(2 * np.pi * X[:, 0] + i) * np.exp(np.cos(2 * np.pi * X[:, -1])) for i in range(n_outputs or 1)], 1
    )
    y = y + noise * rng.normal(size=y.shape)
    return X, y if n_outputs else y[:, 0]


def fixed(**changes):
    """A model that learns nothing, on a fixed set: of period one unless the changes hold another, or a kernel."""
    given = {"learn": (), "index_set": hyperbolic_cross(2, 5), "noise_variance": 0.05}
    short = {} if "kernel" in changes else {"period": 1.0, "length_scale": [0.8, 1.1]}
    return TorusGPRegressor(**given | short | changes)


# --- the exact Gaussian process ----------------------------------------------------------------------------------

EXACT = {
    "1-D": (circles(2.0, length_scale=0.4), 61),
    "2-D": (circles([24.0, 7.0], length_scale=[0.8, 1.2]), 501),
    "3-D": (circles([1.0, 2.0, 3.0], length_scale=[1.5, 1.8, 2.0]), 2401),
    "hexagonal cell": (lattice(HEXAGONAL, length_scale=0.8), 601),
    "Cartesian": (lattice(HEXAGONAL, family=Heat("cartesian"), length_scale=0.15), 401),
    "mixed families": (circles([1.5, 1.5], family=["squared_exponential", "heat"], length_scale=[1.0, 0.9]), 501),
    "periods of one input": (circles([24.0, 7.0], inputs=[0, 0]), 501),
}
ONE_INPUT = ("1-D", "periods of one input")
VARIANCES = {"signal_variance": 1.7, "noise_variance": 0.2}


def with_intercept(kernel, broad):
    """The kernel of variance 1.7, and a constant beside it, as what variance 1.7 is given to."""
    return lambda X, Y=None: kernel(X, Y) + broad / VARIANCES["signal_variance"]


@pytest.fixture(scope="module", params=EXACT)
def exact_case(request):
    """Kernel, number of columns, rows and points, and what the n x n kernel matrix gives without and with intercept."""
    expression, n_components = EXACT[request.param]
    kernel = TorusKernel(expression)
    n_features = 1 if request.param in ONE_INPUT else kernel.dimension
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-50, 50, (400, n_features)), rng.normal(size=400)
    points = rng.uniform(-50, 50, (30, n_features))
    expected = {}
    for intercept in (False, True):
        # the mean is subtracted first, and a broad prior of what is left of it is part of the model
        here = with_intercept(kernel, BROAD * y.var()) if intercept else kernel
        center = y.mean() if intercept else 0.0
        mean, covariance = exact_posterior(here, X, y - center, points, **VARIANCES)
        expected[intercept] = mean + center, covariance, exact_log_evidence(here, X, y - center, **VARIANCES)
    return VARIANCES["signal_variance"] * expression, n_components, X, y, points, expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("intercept", [False, True])
def test_enough_columns_give_the_exact_gaussian_process(exact_case, backend, intercept):
    kernel, n_components, X, y, points, everything = exact_case
    expected_mean, expected_covariance, log_evidence = everything[intercept]
    noise, variance = VARIANCES["noise_variance"], np.diag(expected_covariance)
    model = TorusGPRegressor(
        kernel, n_components=n_components, noise_variance=noise, learn=(), intercept=intercept, backend=backend
    ).fit(X, y)
    mean, covariance = model.predict(points, return_cov=True, include_noise=False)
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(covariance, expected_covariance, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.predict(points, return_std=True)[1], np.sqrt(variance + noise), rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        model.predict(points, return_std=True, include_noise=False)[1], np.sqrt(variance), rtol=0, atol=1e-8
    )
    assert model.log_marginal_likelihood_ == pytest.approx(log_evidence, rel=1e-8)
    assert model.backend_ == backend


@pytest.mark.parametrize("backend", BACKENDS)
def test_noise_scale_is_the_exact_gaussian_process_with_known_noise(backend):
    X, y = wavy(100)
    scale, points = np.random.default_rng(0).uniform(0.5, 3, 100), X[:20] + 0.1
    model = fixed(index_set="adaptive", n_components=501, intercept=False, backend=backend).fit(X, y, noise_scale=scale)
    kernel = TorusKernel(length_scale=[0.8, 1.1], period=1.0)
    mean, covariance = exact_posterior(kernel, X, y, points, 1.0, 0.05 * scale**2)
    np.testing.assert_allclose(model.predict(points), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.predict(points, return_cov=True, include_noise=False)[1], covariance, atol=1e-8)
    exact = exact_log_evidence(kernel, X, y, 1.0, 0.05 * scale**2)
    assert model.log_marginal_likelihood_ == pytest.approx(exact, rel=1e-8)


class ProductPeriodic(StationaryKernelMixin, Kernel):
    """ExpSineSquared of period one for each column, multiplied: scikit-learn's own takes the norm of a row."""

    def __init__(self, length_scale=(1.0, 1.0)):
        self.length_scale = length_scale

    @property
    def hyperparameter_length_scale(self):
        return Hyperparameter("length_scale", "numeric", (1e-2, 1e2), len(self.length_scale))

    def __call__(self, X, Y=None, eval_gradient=False):
        difference = X[:, None] - (X if Y is None else Y)
        exponents = -2 * (np.sin(np.pi * difference) / self.length_scale) ** 2
        gram = np.exp(exponents.sum(axis=-1))
        return (gram, -2 * exponents * gram[..., None]) if eval_gradient else gram

    def diag(self, X):
        return np.ones(len(X))


def test_scikit_learn_finds_the_same_optimum():
    X, y = wavy(150)
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * ProductPeriodic() + WhiteKernel(0.1)
    reference = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    model = TorusGPRegressor(n_components=501, intercept=False, integrate=False, period=1.0).fit(X, y)
    assert model.log_marginal_likelihood_ == pytest.approx(reference.log_marginal_likelihood_value_, abs=1e-4)
    learned = [model.signal_variance_, *model.kernel_.length_scale, model.noise_variance_]
    np.testing.assert_allclose(learned, np.exp(reference.kernel_.theta), rtol=1e-2)
    mean, std = model.predict(X[:20] + 0.05, return_std=True)
    expected_mean, expected_std = reference.predict(X[:20] + 0.05, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-3)
    np.testing.assert_allclose(std, expected_std, rtol=1e-2)


def draw(seed, n=300, n_new=200):
    """Rows of a draw from a known Gaussian process, and new observations of it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n + n_new, 2))
    gram = 1.5 * TorusKernel(length_scale=[0.5, 0.9], period=1.0)(X) + 1e-10 * np.eye(n + n_new)
    y = np.linalg.cholesky(gram) @ rng.normal(size=n + n_new) + 0.3 * rng.normal(size=n + n_new)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("n_components", [401, "auto"])
@pytest.mark.parametrize("seed", [s if s < 4 else pytest.param(s, marks=pytest.mark.slow) for s in range(30)])
def test_learned_values_are_those_of_an_exact_optimiser(seed, n_components):
    X, y, _, _ = draw(seed)
    model = TorusGPRegressor(intercept=False, n_components=n_components, period=1.0).fit(X, y)
    learned = np.array([*model.kernel_.length_scale, model.signal_variance_, model.noise_variance_])
    best = exact_optimum(
        lambda scales: TorusKernel(length_scale=scales, period=1.0), X, y, [learned, [0.5, 0.9, 1.5, 0.09]]
    )
    np.testing.assert_allclose(learned, np.exp(best), rtol=0.02)


@pytest.mark.slow
def test_intervals_cover_what_they_claim():
    covered = []
    for seed in range(30):
        X, y, new_X, new_y = draw(seed)
        mean, std = TorusGPRegressor(period=1.0).fit(X, y).predict(new_X, return_std=True)
        covered.append(np.abs(new_y - mean) < 1.959964 * std)
    assert 0.93 < np.mean(covered) < 0.97


# --- gradients ---------------------------------------------------------------------------------------------------

GRADIENTS = {
    "cell": ({"period": HEXAGONAL}, 2),
    "vector": ({"period": [24.0, 7.0]}, 2),
    "periods of one input": ({"kernel": circles([24.0, 7.0], inputs=[1, 1], length_scale=[0.8, 1.1])}, 3),
}


def extrapolated_differences(model, points, direction, step=4e-4):
    """Difference quotient of the function, its mean and its variance, with steps h and 2 h (Richardson)."""
    results = []
    for width in (step, 2 * step):
        pair = np.vstack([points + width * direction, points - width * direction])
        mean, covariance = model.predict(pair, return_cov=True, include_noise=False)
        i, j = np.arange(len(points)), np.arange(len(points)) + len(points)
        variance = covariance[i, i] + covariance[j, j] - covariance[i, j] - covariance[j, i]
        results.append(((mean[i] - mean[j]) / (2 * width), variance / (2 * width) ** 2))
    return [(4 * near - far) / 3 for near, far in zip(*results, strict=True)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_gradient_and_its_std_are_differences_of_mean_and_covariance(name, backend, n_outputs):
    parameters, n_features = GRADIENTS[name]
    rng = np.random.default_rng(0)
    X = rng.uniform(-5, 5, (60, n_features))
    y = rng.normal(size=(60, n_outputs) if n_outputs else 60)
    model = fixed(**parameters, backend=backend).fit(X, y)
    points = X[:8] + 0.1
    gradient, std = model.predict_gradient(points, return_std=True)
    assert gradient.shape == std.shape == (8, n_features, *y.shape[1:])
    for d, direction in enumerate(np.eye(n_features)):
        mean_difference, variance = extrapolated_differences(model, points, direction)
        scale = np.abs(gradient).max()
        np.testing.assert_allclose(gradient[:, d], mean_difference, rtol=0, atol=1e-6 * scale)
        np.testing.assert_allclose(std[:, d] ** 2, variance, rtol=0, atol=1e-6 * (std**2).max())


def test_gradient_without_std_is_the_same():
    model = fixed().fit(*wavy())
    X, _ = wavy(10, seed=1)
    np.testing.assert_array_equal(model.predict_gradient(X), model.predict_gradient(X, return_std=True)[0])


# --- the same model in other ways --------------------------------------------------------------------------------


def assert_same_predictions(one, other, X, error=1e-10):
    for first, second in zip(one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(first, second, rtol=4e-16, atol=error)


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sizes", [(1,) * 80, (1, 79), (79, 1), (20, 60), (2, 3, 75)])
def test_partial_fit_in_any_chunks_equals_fit(sizes, backend, offset):
    X, y = wavy(80)
    y = y + offset
    whole, parts = fixed(backend=backend).fit(X, y), fixed(backend=backend)
    for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
        parts.partial_fit(X[stop - size : stop], y[stop - size : stop])
    assert_same_predictions(parts, whole, X)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=0, atol=1e-10)
    assert parts.log_marginal_likelihood_ == pytest.approx(whole.log_marginal_likelihood_, rel=1e-9)
    assert parts.n_samples_seen_ == 80


@pytest.mark.parametrize("backend", BACKENDS)
def test_partial_fit_after_fit_adds_rows(backend):
    X, y = wavy(80)
    model = fixed(backend=backend).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    assert_same_predictions(model, fixed(backend=backend).fit(X, y), X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_partial_fit_after_load_adds_rows(backend, tmp_path):
    X, y = wavy(80)
    fixed(backend=backend).partial_fit(X[:30], y[:30]).save(tmp_path / "model")
    model = TorusGPRegressor.load(tmp_path / "model").partial_fit(X[30:], y[30:])
    assert_same_predictions(model, fixed(backend=backend).fit(X, y), X)


@pytest.mark.parametrize("first", [1, 2, 10])
def test_what_partial_fit_learns_does_not_hang_on_the_first_chunk(first):
    X, y = wavy(300)
    y[: min(first, 2)] = 0.3  # almost no spread in the first rows
    chunks = (
        TorusGPRegressor(n_components=201, period=1.0)
        .partial_fit(X[:first], y[:first])
        .partial_fit(X[first:], y[first:])
    )
    assert chunks.score(X, y) > 0.95
    assert 0.003 < chunks.noise_variance_ < 0.03  # in truth 0.01; the first chunk fixes the pool of frequencies


@pytest.mark.parametrize("backend", BACKENDS)
def test_sample_weight_means_repetition(backend):
    X, y = wavy(60)
    times = np.random.default_rng(0).integers(0, 4, 60)
    weighted = fixed(backend=backend).fit(X, y, sample_weight=times)
    repeated = fixed(backend=backend).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_same_predictions(weighted, repeated, X)
    assert weighted.log_marginal_likelihood_ == pytest.approx(repeated.log_marginal_likelihood_, rel=1e-10)


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_outputs_equal_separate_fits(backend):
    X, y = wavy(80, n_outputs=3)
    y = y * [1.0, 0.3, 2.0] + [0.0, 5.0, 0.0]
    noise = np.array([0.01, 0.9, 0.1])
    together = fixed(backend=backend, noise_variance=noise).fit(X, y)
    mean, std = together.predict(X, return_std=True)
    evidence = 0.0
    for output in range(3):
        alone = fixed(backend=backend, noise_variance=noise[output]).fit(X, y[:, output])
        spread = y[:, output].std()
        np.testing.assert_allclose(mean[:, output], alone.predict(X), rtol=0, atol=1e-9 * spread)
        np.testing.assert_allclose(std[:, output], alone.predict(X, return_std=True)[1], rtol=1e-8)
        evidence += alone.log_marginal_likelihood_
    assert together.log_marginal_likelihood_ == pytest.approx(evidence, rel=1e-9)


def test_every_output_learns_its_own_variances():
    X, y = wavy(200, n_outputs=2)
    y[:, 1] = 10 * y[:, 1] + 3 * np.random.default_rng(1).normal(size=200)
    model = TorusGPRegressor(n_components=101, period=1.0).fit(X, y)
    assert model.noise_variance_[1] > 100 * model.noise_variance_[0]
    assert model.coef_.shape == model.prior_variance_.shape == (model.index_set_.n_components, 2)


def test_shapes_follow_those_of_y():
    X, y = wavy(30)
    flat, column = fixed().fit(X, y), fixed().fit(X, y[:, None])
    assert flat.predict(X).shape == (30,)
    assert flat.predict(X, return_cov=True)[1].shape == (30, 30)
    assert flat.sample_y(X, 4).shape == (30, 4)
    assert flat.coef_.shape == (flat.index_set_.n_components,)
    assert isinstance(flat.noise_variance_, float)
    assert column.predict(X).shape == (30, 1)
    assert column.predict(X, return_cov=True)[1].shape == (30, 30, 1)
    assert column.sample_y(X, 4).shape == (30, 1, 4)
    assert column.noise_variance_.shape == (1,)


def test_a_period_changes_nothing():
    X, y = wavy()
    model = fixed(period=HEXAGONAL).fit(X, y)
    assert_same_predictions(model, fixed(period=HEXAGONAL).fit(X + 3 * np.array(HEXAGONAL[1]), y), X, error=1e-9)
    np.testing.assert_allclose(model.predict(X + HEXAGONAL[0]), model.predict(X), atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_an_intercept_is_a_broad_constant_and_its_error_is_part_of_every_interval(offset):
    X, y = wavy(30)
    X[:, 0] = 0.2 + X[:, 0] / 50  # little of the circle, where a constant is hard to tell
    model = fixed(index_set="adaptive", n_components=501).fit(X, y + offset)
    kernel = TorusKernel(length_scale=[0.8, 1.1], period=1.0)
    points = wavy(20, seed=1)[0]
    mean, covariance = exact_posterior(
        lambda X, Y=None: kernel(X, Y) + BROAD * y.var(), X, y - y.mean(), points, 1.0, 0.05
    )
    np.testing.assert_allclose(model.predict(points) - offset, mean + y.mean(), atol=1e-6 if offset else 1e-8)
    std = model.predict(points, return_std=True, include_noise=False)[1]
    np.testing.assert_allclose(std, np.sqrt(np.diag(covariance)), rtol=1e-6)
    without = fixed(index_set="adaptive", n_components=501, intercept=False).fit(X, y)
    assert (std > 1.15 * without.predict(points, return_std=True, include_noise=False)[1]).any()


@pytest.mark.slow
def test_a_million_rows_give_the_same_with_both_backends():
    X, y = wavy(1_000_000)
    models = [fixed(backend=backend).fit(X, y) for backend in BACKENDS]
    mean, std = models[0].predict(X[:1000], return_std=True, include_noise=False)
    fast_mean, fast_std = models[1].predict(X[:1000], return_std=True, include_noise=False)
    np.testing.assert_allclose(fast_mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(fast_std**2, std**2, rtol=0, atol=1e-9)


# --- draws -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_draw_is_one_function_at_any_points(backend):
    model = fixed(backend=backend).fit(*wavy())
    X, _ = wavy(20, seed=1)
    whole = model.sample_y(X, 3, random_state=7)
    np.testing.assert_allclose(model.sample_y(X[5:9], 3, random_state=7), whole[5:9], rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.sample_y(X + 1, 3, random_state=7), whole, rtol=0, atol=1e-9)
    assert not np.allclose(model.sample_y(X, 3, random_state=8), whole)


def test_draws_have_the_predicted_mean_and_covariance():
    X, y = wavy(40, n_outputs=2)
    model = fixed(noise_variance=0.5).fit(X + 0.5, y + 3)
    draws = model.sample_y(X[:6], 20_000, random_state=0)
    mean, covariance = model.predict(X[:6], return_cov=True, include_noise=False)
    for output in range(2):
        deviation = (draws[:, output].mean(axis=1) - mean[:, output]) / np.sqrt(
            np.diag(covariance[..., output]) / 20_000
        )
        assert np.abs(deviation).max() < 4.5
        error = np.abs(np.cov(draws[:, output]) - covariance[..., output]).max()
        assert error < 0.05 * covariance[..., output].max()


# --- learning ----------------------------------------------------------------------------------------------------


def test_auto_stops_small_for_a_smooth_function():
    model = TorusGPRegressor(period=1.0).fit(*wavy(500))
    assert model.index_set_.n_components <= 101
    assert model.truncation_error_ * model.signal_variance_ <= 0.01 * model.noise_variance_


def test_auto_grows_for_a_rough_function():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 1))
    features = IndexSetFourierFeatures(length_scale=0.02, n_components=401, period=1.0).fit_transform(X)
    y = features @ rng.normal(size=401) + 0.1 * rng.normal(size=500)
    model = TorusGPRegressor(period=1.0).fit(X, y)
    assert model.index_set_.n_components > 150
    assert model.score(X, y) > 0.9


def test_learning_the_spectrum_raises_the_evidence():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 1))
    y = np.sin(2 * np.pi * 9 * X[:, 0]) + 0.3 * rng.normal(size=400)  # a line, where the family has a smooth slope
    names = ("length_scale", "signal_variance", "noise_variance")
    family = TorusGPRegressor(n_components=41, learn=names, period=1.0).fit(X, y)
    spectrum = TorusGPRegressor(n_components=41, learn=(*names, "spectrum"), period=1.0).fit(X, y)
    assert spectrum.log_marginal_likelihood_ > family.log_marginal_likelihood_ + 5
    assert np.abs(spectrum.index_set_.frequencies[spectrum.prior_variance_[1::2].argmax() + 1]) == 9


def test_of_many_lines_pairs_interact():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 6))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 5 * X[:, 3] + rng.normal(size=500)
    model = TorusGPRegressor(n_components=601).fit(X[:300], y[:300])
    assert np.count_nonzero(model.index_set_.frequencies, axis=1).max() == 2
    assert model.score(X[300:], y[300:]) > 0.8


def test_learning_nothing_keeps_everything_as_given():
    model = fixed(kernel=circles([1.0, 1.0], length_scale=[0.8, 1.1], variance=2.5), noise_variance=0.7).fit(*wavy())
    assert (model.signal_variance_, model.noise_variance_) == (2.5, 0.7)
    np.testing.assert_array_equal(model.kernel_.length_scale, [0.8, 1.1])
    assert model.index_set_ == hyperbolic_cross(2, 5)


def test_many_rows_learn_the_same_as_few():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(12_000, 2))
    features = IndexSetFourierFeatures(length_scale=[0.6, 0.9], n_components=201, period=1.0).fit_transform(X)
    y = features @ rng.normal(size=201) + 0.1 * rng.normal(size=12_000)
    many, few = (TorusGPRegressor(n_components=201, period=1.0).fit(X[:n], y[:n]) for n in (12_000, 4_000))
    np.testing.assert_allclose(many.kernel_.length_scale, few.kernel_.length_scale, rtol=0.1)
    assert many.noise_variance_ == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_every_set_by_name_fits_within_its_budget(name, method):
    X, y = wavy(200)
    model = getattr(TorusGPRegressor(index_set=name, n_components=101, period=1.0), method)(X, y)
    assert model.score(X, y) > 0.95
    assert model.index_set_.n_components <= 101


def test_max_interaction_limits_the_set():
    X, y = wavy(200, dimension=3)
    model = TorusGPRegressor(circles([1.0] * 3).limited(1), n_components=41).fit(X, y)
    assert np.count_nonzero(model.index_set_.frequencies, axis=1).max() == 1
    assert model.kernel_.max_interaction == 1


def test_verbose_tells_progress(capsys):
    X, y = wavy(50)
    TorusGPRegressor(n_components=21, verbose=1, period=1.0).fit(X, y)
    assert "[torusgp] 21 components, log evidence" in capsys.readouterr().out
    TorusGPRegressor(n_components=21, period=1.0).fit(X, y)
    assert not capsys.readouterr().out


# --- scikit-learn's tools ----------------------------------------------------------------------------------------


def test_pipelines_pass_std_through():
    X, y = wavy(60)
    pipeline = make_pipeline(FunctionTransformer(lambda X: X / 24), fixed()).fit(24 * X, y)
    mean, std = pipeline.predict(24 * X, return_std=True)
    np.testing.assert_allclose(mean, fixed().fit(X, y).predict(X), atol=1e-9)
    assert std.shape == (60,)


def test_grid_search_finds_the_period():
    X, y = wavy(150)
    search = GridSearchCV(fixed(), {"period": [0.77, 1.0, 1.31]}, scoring=mean_negative_log_loss_scorer, cv=3).fit(X, y)
    assert search.best_params_ == {"period": 1.0}


def test_several_processes_after_threads_in_the_parent():
    X, y = wavy(200)
    model = fixed(backend="finufft", n_threads=2).fit(X, y)
    expected = model.predict(X)
    pool = joblib.Parallel(n_jobs=2, backend="loky", timeout=120)
    parts = pool(joblib.delayed(model.predict)(part) for part in np.array_split(X, 3))
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=0, atol=1e-10)
    scores = cross_val_score(model, X, y, cv=3, scoring=mean_negative_log_loss_scorer, n_jobs=2)
    np.testing.assert_allclose(
        scores, cross_val_score(model, X, y, cv=3, scoring=mean_negative_log_loss_scorer), atol=1e-9
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_may_predict_at_once(backend):
    X, y = wavy(300)
    expected = fixed(backend=backend).fit(X, y).predict(X, return_std=True)
    model = fixed(backend=backend).partial_fit(X, y)  # nothing is computed before the first prediction
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: model.predict(X, return_std=True), range(24)):
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-10)


# --- copies ------------------------------------------------------------------------------------------------------

MODELS = {
    "vector of periods": TorusGPRegressor(period=[1.0, 2.0], n_components=41),
    "cell": TorusGPRegressor(period=HEXAGONAL, n_components=41),
    "cell as an array": TorusGPRegressor(period=np.array(HEXAGONAL), n_components=41),
    "expression": TorusGPRegressor(circles([1.0, 2.0, 3.0], inputs=[1, 1, 0]), n_components=41),
    "sum": TorusGPRegressor(Circle(0, 1.0) * Circle(1, 2.0) + Circle(1, 1.0), n_components=41),
    "index set": TorusGPRegressor(index_set=tensor(2, 2), period=1.0),
    "additive index set": TorusGPRegressor(index_set=hyperbolic_cross(2, 4, max_interaction=1), period=1.0),
    "families": TorusGPRegressor([Matern(1.7), RationalQuadratic(0.4)], n_components=41, period=1.0),
    "Cartesian": TorusGPRegressor(Heat("cartesian"), period=HEXAGONAL, length_scale=0.2, n_components=41),
    "spectrum": TorusGPRegressor(n_components=41, learn={"spectrum", "noise_variance"}, period=1.0),
    "finufft": TorusGPRegressor(n_components=41, backend="finufft", learn=(), period=1.0),
    "no intercept": TorusGPRegressor(n_components=41, intercept=False, learn=[], period=1.0),
}
pytestmark = pytest.mark.filterwarnings("ignore:The .* components leave out")  # on purpose: small sets are quick


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = wavy(60, n_outputs=2)
    return clone(MODELS[request.param]).fit(X, y + 10), X, y + 10


def test_a_loaded_model_predicts_the_same(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model.torusgp")
    loaded = TorusGPRegressor.load(tmp_path / "model.torusgp")
    assert_same_predictions(loaded, model, X, error=1e-12)
    assert loaded.index_set_ == model.index_set_
    assert loaded.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_, rel=1e-12)
    assert str(clone(loaded).get_params()) == str(clone(model).get_params())
    np.testing.assert_array_equal(loaded.sample_y(X, 2, random_state=0), model.sample_y(X, 2, random_state=0))


def test_a_pickled_model_predicts_the_same(fitted):
    model, X, _ = fitted
    model.predict(X, return_std=True)
    assert_same_predictions(pickle.loads(pickle.dumps(model)), model, X, error=0)


def test_a_clone_learns_the_same(fitted):
    model, X, y = fitted
    assert_same_predictions(clone(model).fit(X, y), model, X, error=0)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_noise_variance_that_is_set_gives_the_posterior_of_it(n_outputs, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 2))
    y = np.sin(2 * np.pi * X[:, :n_outputs]) + 0.1 * rng.normal(size=(80, n_outputs))
    y = y[:, 0] if n_outputs == 1 else y
    model = TorusGPRegressor(n_components=25, integrate=False, period=1.0).fit(X, y).set_noise_variance(0.3)
    scales, signal = model.kernel_.length_scale, np.atleast_1d(model.signal_variance_)
    expected = [  # a given variance is that of all outputs
        TorusGPRegressor(
            circles([1.0, 1.0], length_scale=scales, variance=variance),
            noise_variance=0.3,
            index_set=model.index_set_,
            learn=(),
        ).fit(X, target)
        for variance, target in zip(signal, y.reshape(80, -1).T, strict=True)
    ]
    expected = [
        np.stack(both, axis=1) for both in zip(*(one.predict(X, return_std=True) for one in expected), strict=True)
    ]
    model.save(tmp_path / "model")
    for one in (model, TorusGPRegressor.load(tmp_path / "model")):
        for ours, theirs in zip(one.predict(X, return_std=True), expected, strict=True):
            np.testing.assert_allclose(ours.reshape(80, -1), theirs, rtol=1e-8)
        np.testing.assert_allclose(one.noise_variance_, 0.3)
    with pytest.raises(ValueError, match="noise_variance must be positive"):
        model.set_noise_variance(0.0)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("factor", [1e-3, 50.0, 1e3])
def test_a_common_factor_of_the_noise_scales_is_learned(method, factor):
    rng = np.random.default_rng(0)
    X, scale = rng.uniform(0, 10, (400, 1)), rng.uniform(0.05, 0.5, 400)
    y = np.sin(2 * np.pi * X[:, 0] / 3) + 1.5 * scale * rng.normal(size=400)
    one, model = (
        getattr(TorusGPRegressor(period=3, n_components=31), method)(X, y, noise_scale=times * scale)
        for times in (1.0, factor)
    )
    assert one.noise_variance_ == pytest.approx(1.5**2, rel=0.2)
    assert factor**2 * model.noise_variance_ == pytest.approx(one.noise_variance_, rel=1e-4)
    assert model.kernel_.length_scale == pytest.approx(one.kernel_.length_scale, rel=1e-3)
