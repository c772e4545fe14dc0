"""Evidence in the space of the rows against that in the space of the columns."""

import numpy as np
import pytest

from torusgp import Circle, Line, Slope, TorusGPRegressor
from torusgp.engine.dual import RowStatistics, are_few_rows
from torusgp.engine.inference import LinearStatistics, evidence
from torusgp.fitting import rows as rows_module


def both(n=30, n_columns=90, n_outputs=2):
    rng = np.random.default_rng(0)
    columns, targets = rng.normal(size=(n, n_columns)), rng.normal(size=(n, n_outputs))
    weight = rng.uniform(0, 2, n)
    weight[3] = 0.0
    precision = weight / rng.uniform(0.5, 2, n) ** 2
    used = weight > 0
    primal = LinearStatistics(
        columns.T @ (precision[:, None] * columns),
        columns.T @ (precision[:, None] * targets),
        precision @ targets**2,
        float(weight.sum()),
        float(weight[used] @ np.log(precision[used] / weight[used])),
    )
    return primal, RowStatistics(columns, targets, weight, precision)


@pytest.mark.parametrize("noise_variance", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("output", [0, 1])
def test_evidence_and_gradient_equal_those_of_the_columns(output, noise_variance):
    primal, dual = both()
    prior = np.geomspace(1, 1e-9, 90)
    prior[5] = 0.0
    expected, found = (evidence(one, prior, noise_variance, output) for one in (primal, dual))
    np.testing.assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-9)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.inverse_diagonal(), expected.inverse_diagonal(), atol=1e-8)
    np.testing.assert_allclose(found.covariance(), expected.covariance(), atol=1e-8)
    for one, other in zip(found.gradient(), expected.gradient(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_rows_that_outnumber_columns_are_factored_by_their_gram_matrix():
    rng = np.random.default_rng(3)
    columns, targets, ones = rng.normal(size=(50, 40)), rng.normal(size=(50, 1)), np.ones(50)
    rows = RowStatistics(columns, targets, ones, ones)
    primal = LinearStatistics(columns.T @ columns, columns.T @ targets, (targets**2).sum(axis=0), 50.0)
    expected, found = (evidence(one, np.geomspace(1, 1e-3, 40), 0.1) for one in (primal, rows))
    assert found.factor.lower.shape == (40, 40)
    np.testing.assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-12)
    np.testing.assert_allclose(found.gradient()[0], expected.gradient()[0], atol=1e-10)


def test_the_gram_matrix_is_there_when_it_is_asked_for():
    primal, dual = both()
    evidence(dual, np.ones(90), 0.1).gradient()
    assert "gram" not in vars(dual)  # learning does without
    np.testing.assert_allclose(dual.gram, primal.gram, atol=1e-12)
    np.testing.assert_allclose(dual.moments, primal.moments, atol=1e-12)
    np.testing.assert_allclose(dual.squares, primal.squares)
    assert (dual.n_samples, dual.log_precision) == (primal.n_samples, primal.log_precision)


MODELS = {
    "two circles": (Circle(0, 1.0, family="matern32") * Circle(1, 1.0, family="matern32"), True),
    "circle, line and slope": (Circle(0, 1.0, family="matern12") * Line(1) + Slope(1), False),
    "a period that is learned": (Circle(0, 1.0, period_bounds=(0.9, 1.1)) * Circle(1, 1.0), True),
}


@pytest.mark.parametrize("name", MODELS)
def test_fits_agree(name, monkeypatch):
    kernel, intercept = MODELS[name]
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, (60, 2))
    y = np.sin(2 * np.pi * X[:, 0]) * np.cos(2 * np.pi * X[:, 1]) + X[:, 1] + 0.05 * rng.normal(size=60)
    weight = rng.uniform(0.5, 1.5, 60)
    used = []

    def fit(is_dual):
        def rows_or_not(n_rows, n_columns):
            used.append(is_dual and are_few_rows(n_rows, n_columns))
            return used[-1]

        monkeypatch.setattr(rows_module, "are_few_rows", rows_or_not)
        return TorusGPRegressor(kernel, intercept=intercept, n_components=201, backend="dense").fit(
            X, y, sample_weight=weight
        )

    dual, primal = fit(True), fit(False)
    assert any(used)
    np.testing.assert_allclose(dual.log_marginal_likelihood_, primal.log_marginal_likelihood_, rtol=0, atol=0.01)
    for one, other in zip(dual.predict(X, return_std=True), primal.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=0.02)
