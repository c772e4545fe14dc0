"""Laplace's approximation equals one with an n x n kernel matrix, for every likelihood."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared

from tests.dense_laplace import DenseLaplace
from torusgp import Circle, Line, Slope, TorusGPRegressor
from torusgp.engine.inference import evidence
from torusgp.fitting.laplace import Laplace
from torusgp.fitting.likelihoods import (
    Bernoulli,
    Gamma,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    likelihood_to_json,
)
from torusgp.fitting.row_passes import RowPasses
from torusgp.fitting.rows import Rows
from torusgp.kernels.index_sets import tensor

OBJECTS = [
    Poisson(),
    NegativeBinomial(dispersion=0.4),
    Gamma(shape=1.7),
    Bernoulli(),
    StudentT(noise_variance=0.2, dof=4.0),
]
N = 300


def make_data(likelihood, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 2))
    f = 0.5 + np.sin(2 * np.pi * X[:, 0]) + 0.7 * np.cos(2 * np.pi * (X[:, 0] - X[:, 1]))
    scale = rng.uniform(0.5, 2.0, n) if likelihood.takes else np.ones(n)
    return X, likelihood.sample(f, np.random.RandomState(seed), scale), scale


def fit(likelihood, X, y, scale, **options):
    extra = {likelihood.takes: scale} if likelihood.takes else {}
    options = {"period": 1.0, "length_scale": 1.5, "index_set": tensor(2, 8), "learn": (), **options}
    return TorusGPRegressor(likelihood=likelihood, **options).fit(X, y, **extra)


def dense(model, likelihood, X, y, scale):
    own = {name: value for name, value in likelihood_to_json(likelihood).items() if name != "name"}
    intercept = model.intercept_variance_
    signal = model.signal_variance_
    kernel = model.kernel_
    oracle = DenseLaplace(
        lambda A, B: signal * kernel(A, B) + intercept, likelihood.name, own, float(model.fitted_.offset[0])
    )
    return oracle.fit(X, y, scale, start=model.predict_latent(X) if likelihood.name == "student_t" else None)


@pytest.mark.parametrize("backend", ["dense", "finufft"])
@pytest.mark.parametrize("likelihood", OBJECTS, ids=lambda one: one.name)
@pytest.mark.parametrize("intercept", [True, False])
def test_mode_evidence_and_predictions_equal_those_of_a_kernel_matrix(likelihood, intercept, backend):
    X, y, scale = make_data(likelihood)
    model = fit(likelihood, X, y, scale, intercept=intercept, backend=backend)
    oracle = dense(model, likelihood, X, y, scale)
    np.testing.assert_allclose(model.predict_latent(X), oracle.f, atol=1e-6)
    assert model.log_marginal_likelihood_ == pytest.approx(oracle.log_evidence, abs=1e-6)
    points = np.random.default_rng(1).uniform(0, 1, (20, 2))
    mean, covariance = oracle.predict(points)
    ours, std = model.predict_latent(points, return_std=True)
    np.testing.assert_allclose(ours, mean, atol=1e-6)
    np.testing.assert_allclose(std**2, np.diag(covariance), atol=1e-6)


def test_weights_are_repetitions():
    likelihood = NegativeBinomial(dispersion=0.4)
    X, y, _ = make_data(likelihood, 60)
    weight = np.random.default_rng(2).integers(0, 4, len(y))
    options = {"likelihood": likelihood, "period": 1.0, "index_set": tensor(2, 3)}
    weighted = TorusGPRegressor(**options).fit(X, y, sample_weight=weight)
    repeated = TorusGPRegressor(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.log_marginal_likelihood_ == pytest.approx(repeated.log_marginal_likelihood_, abs=1e-8)
    np.testing.assert_allclose(weighted.predict_latent(X), repeated.predict_latent(X), atol=1e-7)


def test_with_normal_noise_laplace_is_exact():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (200, 2))
    y = np.sin(2 * np.pi * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=200)
    kernel = Circle(0, 1.0) + Slope(1)
    model = TorusGPRegressor(kernel, intercept=False, noise_variance=0.02, integrate=False).fit(X, y)
    fitted = model.fitted_
    mean, spread = fitted.statistics.plain_units()
    laplace = Laplace(
        RowPasses(Rows(X[:, :1], y[:, None], plain=X[:, 1:])), fitted.prior, fitted.compute, 0.0, (mean, spread)
    )
    likelihood = Normal(float(fitted.noise_variance[0]))
    from torusgp.engine.working import WorkingStatistics

    empty = WorkingStatistics(fitted.index_set, fitted.parameters.period, n_plain=1, units=(mean, spread))
    sums = laplace.gather(empty, likelihood, laplace.constant(), False)
    mode = laplace.find_mode(fitted.parameters, fitted.index_set, likelihood, laplace.constant(), sums)
    assert mode.log_evidence == pytest.approx(fitted.log_evidence, abs=1e-8)
    np.testing.assert_allclose(mode.result.weights, fitted.posterior.weights[:, 0], atol=1e-9)


@pytest.mark.parametrize("likelihood", OBJECTS, ids=lambda one: one.name)
def test_few_rows_as_rows_say_what_their_sums_say(likelihood):
    X, y, scale = make_data(likelihood, 40)
    X = np.column_stack([X, X[:, 0]])
    kernel = Circle(0, 1.0) * Circle(1, 1.0) + Slope(2, variance=2.0)
    extra = {likelihood.takes: scale} if likelihood.takes else {}
    weight = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    model = TorusGPRegressor(kernel, likelihood=likelihood, n_components=101, learn=()).fit(X, y, weight, **extra)
    fitted, (coordinates, plain) = model.fitted_, model.fitted_.layout(X)
    rows = Rows(coordinates, y[:, None], weight, scale if likelihood.takes else None, plain)
    units, offset = fitted.statistics.plain_units(), float(fitted.offset[0])
    laplace = Laplace(RowPasses(rows), fitted.prior, fitted.compute, offset, units)
    latent = laplace.latent(fitted.parameters, fitted.index_set, 0.5 * fitted.posterior.weights[:, 0])
    sums = laplace.gather(fitted.statistics.empty(), likelihood, latent, True)
    unit = float(fitted.noise_variance[0])
    variances = fitted.prior.variances(fitted.parameters, fitted.index_set.frequencies)[:, 0]
    few = laplace.working_rows(rows, fitted.index_set, fitted.parameters, likelihood, latent, unit)
    by_sums = laplace.solve(fitted.parameters, fitted.index_set, sums.statistics)
    by_rows = evidence(few, variances, unit)
    assert by_rows.log_evidence == pytest.approx(by_sums.log_evidence, abs=1e-8)
    np.testing.assert_allclose(by_rows.weights, by_sums.weights, atol=1e-9)
    np.testing.assert_allclose(by_rows.gradient()[0], by_sums.gradient()[0], atol=1e-9)


@pytest.mark.parametrize("likelihood", OBJECTS, ids=lambda one: one.name)
def test_the_gradient_of_the_evidence_equals_its_differences(likelihood):
    """Of length scales, variances, a plain column's, and the likelihood's own parameters."""
    X, y, scale = make_data(likelihood, 200)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    kernel = (
        Circle(0, 1.0, length_scale=0.9) * Circle(1, 1.0, length_scale=1.1) + 0.7 * Line(2) + Slope(1, variance=2.0)
    )
    extra = {likelihood.takes: scale} if likelihood.takes else {}
    model = TorusGPRegressor(kernel, likelihood=likelihood, n_components=151, learn=()).fit(X, y, **extra)
    fitted = model.fitted_
    coordinates, plain = fitted.layout(X)
    rows = Rows(coordinates, y[:, None], noise_scale=scale if likelihood.takes else None, plain=plain)
    units = fitted.statistics.plain_units()
    laplace = Laplace(
        RowPasses(rows), fitted.prior, fitted.compute, fitted.statistics.offset, units, tuple(likelihood.own)
    )

    def mode_at(parameters, likelihood):
        sums = laplace.gather(fitted.statistics.empty(), likelihood, start, False)
        return laplace.find_mode(parameters, fitted.index_set, likelihood, start, sums, 1e-13)

    start = laplace.latent(fitted.parameters, fitted.index_set, fitted.posterior.weights[:, 0])
    mode = mode_at(fitted.parameters, likelihood)
    gradient = laplace.gradient(mode)
    by_name = fitted.prior.at(fitted.parameters, fitted.index_set.frequencies).gradient(gradient.by_column[:, None])
    step = 1e-4
    for name, slope in by_name.items():
        for i in range(len(slope)):
            value = fitted.parameters[name]
            unit = np.eye(len(value))[i]
            ahead, behind = (
                mode_at(fitted.parameters.with_value(name, value * np.exp(sign * step * unit)), likelihood).log_evidence
                for sign in (1, -1)
            )
            assert slope[i] == pytest.approx((ahead - behind) / (2 * step), abs=1e-5), name
    for slope, name in zip(gradient.by_own, likelihood.own, strict=True):
        value = getattr(likelihood, name)
        ahead, behind = (
            mode_at(fitted.parameters, likelihood.with_own(**{name: value * np.exp(sign * step)})).log_evidence
            for sign in (1, -1)
        )
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-5), name


class TestAgainstScikitLearn:
    """Its kernel on a circle is ours, with the same length scale."""

    @staticmethod
    def data():
        rng = np.random.default_rng(0)
        X = rng.uniform(0, 1, (200, 1))
        return X, (rng.uniform(size=200) < 1 / (1 + np.exp(-3 * np.sin(2 * np.pi * X[:, 0])))).astype(float)

    def test_the_evidence_is_the_same(self):
        X, y = self.data()
        theirs = ConstantKernel(2.0) * ExpSineSquared(0.8, 1.0, "fixed", "fixed")
        classifier = GaussianProcessClassifier(theirs, optimizer=None, max_iter_predict=200).fit(X, y)
        kernel = 2.0 * Circle(0, 1.0, length_scale=0.8)
        ours = TorusGPRegressor(kernel, likelihood="bernoulli", intercept=False, learn=(), n_components=61).fit(X, y)
        assert ours.log_marginal_likelihood_ == pytest.approx(classifier.log_marginal_likelihood_value_, abs=1e-6)
        latent, _ = ours.predict_latent(X, return_std=True)
        np.testing.assert_allclose(latent, classifier.base_estimator_.f_cached, atol=1e-5)

    def test_so_is_the_optimum(self):
        X, y = self.data()
        theirs = ConstantKernel(2.0, (1e-4, 1e4)) * ExpSineSquared(0.8, 1.0, (5e-3, 50.0), "fixed")
        classifier = GaussianProcessClassifier(theirs, max_iter_predict=200).fit(X, y)
        kernel = 2.0 * Circle(0, 1.0, length_scale=0.8)
        ours = TorusGPRegressor(kernel, likelihood="bernoulli", intercept=False, n_components=61).fit(X, y)
        assert ours.log_marginal_likelihood_ == pytest.approx(classifier.log_marginal_likelihood_value_, abs=1e-5)
        variance, scale = np.exp(classifier.kernel_.theta)
        assert ours.kernel_.length_scale == pytest.approx(scale, rel=1e-3)
        assert ours.signal_variance_ == pytest.approx(variance, rel=5e-3)


def test_learning_ends_where_the_gradient_vanishes():
    X, y, scale = make_data(NegativeBinomial(dispersion=0.4), 500)
    model = TorusGPRegressor(period=1.0, likelihood="negative_binomial", index_set=tensor(2, 4)).fit(
        X, y, exposure=scale
    )
    fitted = model.fitted_
    laplace = Laplace(
        RowPasses(Rows(X, y[:, None], noise_scale=scale)),
        fitted.prior,
        fitted.compute,
        fitted.statistics.offset,
        fitted.statistics.plain_units(),
        ("dispersion",),
    )
    latent = laplace.latent(fitted.parameters, fitted.index_set, fitted.posterior.weights[:, 0])
    sums = laplace.gather(fitted.statistics.empty(), fitted.likelihood, latent, False)
    mode = laplace.find_mode(fitted.parameters, fitted.index_set, fitted.likelihood, latent, sums)
    assert mode.log_evidence == pytest.approx(model.log_marginal_likelihood_, abs=1e-6)
    gradient = laplace.gradient(mode)
    by_name = fitted.prior.at(fitted.parameters, fitted.index_set.frequencies).gradient(gradient.by_column[:, None])
    assert max(np.abs(value).max() for value in by_name.values()) < 0.05
    assert abs(gradient.by_own[0]) < 0.1


def test_what_was_not_reached_is_said(monkeypatch):
    X, y, scale = make_data(NegativeBinomial(dispersion=0.4), 300)
    monkeypatch.setattr("torusgp.fitting.latent_fitter._EXACT_ROUNDS", 1)
    monkeypatch.setattr("torusgp.fitting.latent_fitter._TOLD", 1e-15)
    model = TorusGPRegressor(period=1.0, likelihood="negative_binomial", index_set=tensor(2, 4))
    with pytest.warns(ConvergenceWarning, match="largest number of iterations"):
        model.fit(X, y, exposure=scale)
