"""Regression on any transformer's columns, against the torus regressor and against linear algebra."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from torusgp import BayesianFeatureRegressor, IndexSetFourierFeatures, TorusGPRegressor
from torusgp.index_sets import hyperbolic_cross

pytestmark = pytest.mark.filterwarnings("ignore:The .* columns leave out")  # on purpose: small sets are quick


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


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_fourier_columns_give_the_torus_regressor(rows, center, weighted):
    X, y = rows
    weight = np.random.default_rng(1).integers(0, 3, 150) if weighted else None
    shared = {"period": [1.0, 2.0], "length_scale": [0.8, 1.1], "index_set": hyperbolic_cross(2, 4)}
    variances = {"signal_variance": 2.0, "noise_variance": 0.05, "learn": (), "center": center}
    features = BayesianFeatureRegressor(IndexSetFourierFeatures(**shared), **variances).fit(X, y, weight)
    torus = TorusGPRegressor(**shared, **variances).fit(X, y, weight)
    assert features.log_marginal_likelihood_ == pytest.approx(torus.log_marginal_likelihood_, rel=1e-10)
    for noise in (True, False):
        pairs = zip(
            features.predict(X, return_std=True, include_noise=noise),
            torus.predict(X, return_std=True, include_noise=noise),
            strict=True,
        )
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_learned_variances_are_a_maximum_of_the_evidence(rows):
    X, y = rows
    transformer = IndexSetFourierFeatures(n_components=41)
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
    model = BayesianFeatureRegressor(FunctionTransformer()).fit(X, y)
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


@pytest.mark.parametrize("learn", [("length_scale",), "noise_variance"])
def test_unknown_names_are_refused(rows, learn):
    with pytest.raises(ValueError, match="learn may hold 'signal_variance' and 'noise_variance', got"):
        BayesianFeatureRegressor(learn=learn).fit(*rows)


def test_zero_weights_are_refused(rows):
    with pytest.raises(ValueError, match="zero"):
        BayesianFeatureRegressor().fit(*rows, sample_weight=np.zeros(150))


def test_predict_needs_fit():
    with pytest.raises(NotFittedError):
        BayesianFeatureRegressor().predict([[0.0]])
