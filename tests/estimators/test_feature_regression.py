"""Regression on any transformer's columns, against the torus regressor and against linear algebra."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.exact_regression import HEXAGONAL, central_differences
from tests.expressions import circles
from torusgp import (
    BayesianFeatureRegressor,
    IndexSetFourierFeatures,
    TorusGPRegressor,
    TorusKernel,
    WarpedFourierFeatures,
)
from torusgp.estimators.feature_regression import _TransformerProblem
from torusgp.kernels.index_sets import hyperbolic_cross

pytestmark = pytest.mark.filterwarnings("ignore:The .* components leave out")  # on purpose: small sets are quick


@parametrize_with_checks([BayesianFeatureRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=[None, 2], ids=["one output", "two outputs"])
def rows(request):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (150, 2))
    y = np.sin(2 * np.pi * X[:, [0]]) * np.exp(np.cos(2 * np.pi * X[:, [1]])) + 5
    y = y + 0.1 * rng.normal(size=(150, request.param or 1))
    return X, y if request.param else y[:, 0]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_fourier_columns_give_the_torus_regressor(rows, intercept, weighted):
    X, y = rows
    weight = np.random.default_rng(1).integers(0, 3, 150) if weighted else None
    shared = {"period": [1.0, 2.0], "length_scale": [0.8, 1.1], "index_set": hyperbolic_cross(2, 4)}
    fixed = {"noise_variance": 0.05, "learn": (), "intercept": intercept}
    features = BayesianFeatureRegressor(IndexSetFourierFeatures(**shared), signal_variance=2.0, **fixed).fit(
        X, y, weight
    )
    kernel = circles(shared["period"], length_scale=shared["length_scale"], variance=2.0)
    torus = TorusGPRegressor(kernel, index_set=shared["index_set"], **fixed).fit(X, y, weight)
    assert features.log_marginal_likelihood_ == pytest.approx(torus.log_marginal_likelihood_, rel=1e-10)
    for noise in (True, False):
        pairs = zip(
            features.predict(X, return_std=True, include_noise=noise),
            torus.predict(X, return_std=True, include_noise=noise),
            strict=True,
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


def test_learned_variances_are_a_maximum_of_the_evidence(rows):
    X, y = rows
    transformer = IndexSetFourierFeatures(n_components=41, period=1.0)
    model = BayesianFeatureRegressor(transformer).fit(X, y)
    signal, noise = np.atleast_1d(model.signal_variance_), np.atleast_1d(model.noise_variance_)
    targets = y.reshape(150, -1)
    for output in range(targets.shape[1]):

        def value(signal_variance, noise_variance, output=output):
            fixed = BayesianFeatureRegressor(
                transformer, signal_variance=signal_variance, noise_variance=noise_variance, learn=()
            )
            return fixed.fit(X, targets[:, output]).log_marginal_likelihood_

        best = value(signal[output], noise[output])
        for factor in (0.97, 1.03):
            assert value(factor * signal[output], noise[output]) < best
            assert value(signal[output], factor * noise[output]) < best


def test_learned_evidence_is_at_least_that_of_bayesian_ridge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = X @ [1.0, 2.0, 0.0, -1.0, 0.5] + 0.3 * rng.normal(size=100)
    y -= y.mean()
    ridge = BayesianRidge(fit_intercept=False, lambda_1=0, lambda_2=0, alpha_1=0, alpha_2=0, tol=1e-8).fit(X, y)
    model = BayesianFeatureRegressor(FunctionTransformer(), intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-3, atol=1e-4)
    assert model.noise_variance_ == pytest.approx(1 / ridge.alpha_, rel=1e-3)
    assert model.signal_variance_ == pytest.approx(1 / ridge.lambda_, rel=1e-2)


@pytest.mark.parametrize("name", ["signal_variance", "noise_variance"])
def test_only_what_is_asked_for_is_learned(rows, name):
    kept = ({"signal_variance", "noise_variance"} - {name}).pop()
    model = BayesianFeatureRegressor(**{kept: 0.37}, learn=[name]).fit(*rows)
    np.testing.assert_allclose(getattr(model, f"{kept}_"), 0.37, rtol=1e-12)
    assert not np.allclose(getattr(model, f"{name}_"), getattr(model, name))


def test_many_rows_pass_in_chunks(rows):
    X, y = rows
    repeated = BayesianFeatureRegressor(learn=()).fit(np.tile(X, (10, 1)), np.concatenate([y] * 10))
    weighted = BayesianFeatureRegressor(learn=()).fit(X, y, np.full(150, 10.0))
    np.testing.assert_allclose(repeated.predict(np.tile(X, (10, 1)))[:150], weighted.predict(X), atol=1e-9)


@pytest.mark.parametrize("learn", [("lattice",), ("noise_variance", "cell"), "noise_variance", "period"])
def test_unknown_names_are_refused(rows, learn):
    names = "'signal_variance', 'noise_variance', 'length_scale', 'period'"
    with pytest.raises(ValueError, match=f"learn may hold {names}, got"):
        BayesianFeatureRegressor(learn=learn).fit(*rows)


def test_zero_weights_are_refused(rows):
    with pytest.raises(ValueError, match="zero"):
        BayesianFeatureRegressor().fit(*rows, sample_weight=np.zeros(150))


def test_predict_needs_fit():
    with pytest.raises(NotFittedError):
        BayesianFeatureRegressor().predict([[0.0]])


# --- length scales and periods of the transformer ---------------------------------------------------------------

VARIANCES = ("signal_variance", "noise_variance")
NOISE_VARIANCE = 0.01


def draw(n_samples, length_scale, period, n_outputs=1, seed=0):
    """Inputs over four periods, and draws of a Gaussian process with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4 * np.max(period), (n_samples, len(length_scale)))
    gram = TorusKernel("squared_exponential", length_scale, period)(X)
    factor = np.linalg.cholesky(gram + 1e-9 * np.eye(n_samples))  # of full rank
    noise = np.sqrt(NOISE_VARIANCE) * rng.normal(size=(n_samples, n_outputs))
    return X, factor @ rng.normal(size=(n_samples, n_outputs)) + noise


def small_problem(names, n_outputs, period=(1.0, 7.0), seed=0):
    """A problem on few weighted rows, away from its optimum, and a point to look at."""
    rng = np.random.default_rng(seed)
    X, targets = draw(60, [0.8, 1.2], [1.0, 7.0], n_outputs)
    transformer = WarpedFourierFeatures(period=period, length_scale=[0.7, 1.4], n_components=12, random_state=0)
    regressor = BayesianFeatureRegressor(transformer, learn=(*VARIANCES, *names))
    regressor.transformer_ = transformer.fit(X)
    weight = rng.uniform(0.5, 2.0, len(X))
    regressor._set_variance(targets, weight)
    problem = _TransformerProblem(regressor, X, targets, weight)
    moves = rng.normal(scale=0.02, size=2 * len(names))
    return problem, np.concatenate([moves, np.log(rng.uniform(0.05, 0.5, 2 * n_outputs))])


class TestLearnedTransformer:
    @pytest.mark.parametrize("n_outputs", [1, 3])
    @pytest.mark.parametrize("names", [("length_scale",), ("period",), ("length_scale", "period")])
    def test_gradient_is_the_difference_of_the_evidence(self, names, n_outputs):
        problem, point = small_problem(names, n_outputs)
        differences = central_differences(lambda vector: problem._loss(vector)[0], point, step=1e-6)
        # values of a few hundred, differenced over 2e-6
        np.testing.assert_allclose(problem._loss(point)[1], differences, rtol=1e-5, atol=1e-5)

    def test_gradient_on_a_cell(self):
        problem, point = small_problem(("length_scale",), 2, period=HEXAGONAL)
        differences = central_differences(lambda vector: problem._loss(vector)[0], point, step=1e-6)
        np.testing.assert_allclose(problem._loss(point)[1], differences, rtol=1e-5, atol=1e-5)

    def test_the_loss_is_the_evidence_of_the_regressor(self):
        X, y = draw(80, [0.8, 1.2], [1.0, 7.0], n_outputs=2)
        weight = np.random.default_rng(1).integers(0, 3, 80).astype(float)
        transformer = WarpedFourierFeatures(period=[1.0, 7.0], n_components=20, random_state=0)
        fixed = {"signal_variance": 0.3, "noise_variance": 0.2, "intercept": False}
        model = BayesianFeatureRegressor(transformer, learn=(), **fixed).fit(X, y, weight)
        problem = _TransformerProblem(model, X, y, weight)
        loss, _ = problem._loss(np.log([0.3, 0.2, 0.3, 0.2]))
        assert loss == pytest.approx(-model.log_marginal_likelihood_, rel=1e-10)

    @pytest.mark.parametrize("sequence", ["random", "halton", "generalized_halton"])
    @pytest.mark.parametrize("kernel", ["squared_exponential", "matern32"])
    def test_evidence_grows_from_the_start(self, kernel, sequence):
        X, y = draw(200, [0.5, 1.5], [1.0, 1.0], n_outputs=2)
        transformer = WarpedFourierFeatures(kernel, sequence=sequence, n_components=60, random_state=0)
        values = [
            BayesianFeatureRegressor(transformer, learn=(*VARIANCES, *more)).fit(X, y).log_marginal_likelihood_
            for more in ((), ("length_scale",), ("length_scale", "period"))
        ]
        assert values[1] > values[0] + 10
        assert values[2] > values[0] + 10

    def test_at_the_optimum_evidence_is_flat(self):
        X, y = draw(200, [0.7, 1.3], [1.0, 1.0])
        transformer = WarpedFourierFeatures(n_components=60, random_state=0)
        model = BayesianFeatureRegressor(transformer, learn=(*VARIANCES, "length_scale")).fit(X, y)
        for d in (0, 1):
            for factor in (0.9, 1.1):
                scales = model.transformer_.length_scale * np.where(np.arange(2) == d, factor, 1.0)
                other = BayesianFeatureRegressor(transformer.set_params(length_scale=scales)).fit(X, y)
                assert other.log_marginal_likelihood_ < model.log_marginal_likelihood_

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_length_scales_of_made_data(self, seed):
        X, y = draw(400, [0.5, 1.5], [1.0, 1.0], seed=seed)
        transformer = WarpedFourierFeatures(sequence="generalized_halton", n_components=200)
        model = BayesianFeatureRegressor(transformer, learn=(*VARIANCES, "length_scale")).fit(X, y)
        first, second = model.transformer_.length_scale
        assert 2 < second / first < 5  # 3 in truth; one draw tells a length scale to some ten per cent
        assert model.noise_variance_ == pytest.approx(NOISE_VARIANCE, rel=0.35)
        np.testing.assert_array_equal(model.transformer_.period, 1.0)

    @pytest.mark.parametrize("off", [0.98, 1.02])
    def test_period_of_made_data(self, off):
        X, y = draw(300, [0.8], [24.0])
        transformer = WarpedFourierFeatures(sequence="halton", n_components=100, period=24 * off)
        model = BayesianFeatureRegressor(transformer, learn=(*VARIANCES, "length_scale", "period")).fit(X, y)
        # one draw of 300 rows over four periods tells it to about 1e-3, from either side
        assert model.transformer_.period == pytest.approx(24.0, rel=2e-3)
        assert model.transformer_.kernel_.period == pytest.approx(model.transformer_.period)
        assert model.score(X, y) > 0.95

    def test_only_what_is_asked_for_is_learned(self):
        X, y = draw(150, [0.8], [24.0])
        transformer = WarpedFourierFeatures(n_components=40, period=24.3, random_state=0)
        for name in ("length_scale", "period"):
            model = BayesianFeatureRegressor(transformer, noise_variance=0.02, learn=["signal_variance", name])
            fitted = model.fit(X, y)
            kept = {"length_scale": "period", "period": "length_scale"}[name]
            np.testing.assert_array_equal(getattr(fitted.transformer_.kernel_, kept), getattr(transformer, kept))
            assert not np.allclose(getattr(fitted.transformer_.kernel_, name), getattr(transformer, name))
            assert fitted.noise_variance_ == pytest.approx(0.02, rel=1e-12)

    def test_what_was_given_stays_as_it_was(self):
        X, y = draw(100, [0.8], [24.0])
        transformer = WarpedFourierFeatures(n_components=20, period=24.0, random_state=0)
        BayesianFeatureRegressor(transformer, learn=(*VARIANCES, "length_scale", "period")).fit(X, y)
        assert transformer.get_params()["length_scale"] == 1.0
        assert not hasattr(transformer, "frequencies_")

    def test_a_cell_keeps_its_place(self):
        X, y = draw(200, [0.6, 1.1], HEXAGONAL)
        transformer = WarpedFourierFeatures(period=HEXAGONAL, n_components=80, random_state=0)
        start = BayesianFeatureRegressor(transformer).fit(X, y)
        model = BayesianFeatureRegressor(transformer, learn=(*VARIANCES, "length_scale")).fit(X, y)
        np.testing.assert_array_equal(model.transformer_.kernel_.period, HEXAGONAL)
        assert model.log_marginal_likelihood_ > start.log_marginal_likelihood_

    def test_many_rows_are_thinned_out_for_the_transformer_alone(self):
        X, y = draw(300, [0.5, 1.5], [1.0, 1.0])
        transformer = WarpedFourierFeatures(n_components=40, random_state=0)
        learn = (*VARIANCES, "length_scale")
        few = BayesianFeatureRegressor(transformer, learn=learn, max_samples=100).fit(X, y)
        again = BayesianFeatureRegressor(transformer, learn=learn, max_samples=100).fit(X, y)
        every = BayesianFeatureRegressor(transformer, learn=learn, max_samples=300).fit(X, y)
        np.testing.assert_array_equal(few.transformer_.length_scale, again.transformer_.length_scale)
        assert not np.allclose(few.transformer_.length_scale, every.transformer_.length_scale)
        assert every.log_marginal_likelihood_ > BayesianFeatureRegressor(transformer).fit(X, y).log_marginal_likelihood_
        afresh = BayesianFeatureRegressor(clone(few.transformer_)).fit(X, y)  # the variances: on all rows
        assert few.log_marginal_likelihood_ == pytest.approx(afresh.log_marginal_likelihood_, rel=1e-10)

    def test_a_cell_is_not_learned(self):
        X, y = draw(50, [0.6, 1.1], HEXAGONAL)
        model = BayesianFeatureRegressor(WarpedFourierFeatures(period=HEXAGONAL), learn=["period"])
        with pytest.raises(ValueError, match="learn holds 'period', but the transformer has a cell"):
            model.fit(X, y)

    @pytest.mark.parametrize("transformer", [None, FunctionTransformer()])
    def test_other_transformers_are_refused(self, rows, transformer):
        with pytest.raises(ValueError, match=r"needs a transformer that tells.*WarpedFourierFeatures; .* does not"):
            BayesianFeatureRegressor(transformer, learn=["length_scale"]).fit(*rows)
