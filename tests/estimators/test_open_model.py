"""Sums of products of circles, lines and categories with plain columns, against an independent dense process."""

import warnings

import numpy as np
import pytest

from tests.dense_oracle import DenseGP, category, circle, line, product
from torusgp import Category, Circle, Line, Slope, TorusGPRegressor
from torusgp.fitting.prior import BROAD

EXACT = 1e-8  # tolerance of lines
LEVELS = np.array(["bank", "holiday", "usual"])


def rows(n=400, seed=0):
    """Hours, temperatures, levels and prices, and a target of variance about one."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, 0], X[:, 1] = rng.uniform(0, 96, n), rng.uniform(-5, 35, n)
    X[:, 2], X[:, 3] = LEVELS[rng.integers(0, 3, n)], rng.normal(3, 2, n)
    hour, temperature = X[:, 0].astype(float), X[:, 1].astype(float)
    y = np.sin(2 * np.pi * hour / 24) * np.tanh((temperature - 18) / 8) + 0.5 * (X[:, 2] == "holiday")
    return X, 5 + y + 0.1 * X[:, 3].astype(float) + 0.2 * rng.normal(size=n)


def points(n=40, seed=1):
    X, _ = rows(n, seed)
    X[:, 0] = X[:, 0] + 1000
    return X


# Expressions with everything given, and the same from the formulas.
CASES = {
    "circle times line": (
        1.3 * Circle(0, 24, length_scale=0.9) * Line(1, length_scale=12.0, tolerance=EXACT),
        [product(1.3, circle(0, 24, 0.9), line(1, 12.0))],
        (),
    ),
    "lines of two families": (
        0.8 * Line(1, length_scale=9.0, tolerance=EXACT) + 0.4 * Line(3, "matern52", length_scale=4.0, tolerance=EXACT),
        [product(0.8, line(1, 9.0)), product(0.4, line(3, 4.0, "matern52"))],
        (),
    ),
    "category alone and in a product": (
        0.7 * Category(2) + 0.9 * (Category(2, correlation=0.3) * Circle(0, 24, length_scale=1.1)),
        [product(0.7, category(2, 0.0)), product(0.9, category(2, 0.3), circle(0, 24, 1.1))],
        (),
    ),
    "everything": (
        1.1 * Circle(0, 24, length_scale=1.2) * Line(1, length_scale=15.0, tolerance=EXACT)
        + 0.5 * Circle(0, 24, length_scale=0.8)
        + 0.6 * Category(2) * Circle(0, 24, length_scale=1.3)
        + 0.3 * Line(1, length_scale=10.0, tolerance=EXACT)
        + Slope(3, variance=2.0),
        [
            product(1.1, circle(0, 24, 1.2), line(1, 15.0)),
            product(0.5, circle(0, 24, 0.8)),
            # beside the same product without it, a category shares nothing
            product(0.6, category(2, 0.0), circle(0, 24, 1.3)),
            product(0.3, line(1, 10.0)),
        ],
        ((3, 2.0),),
    ),
}


def both(name, intercept=True, noise=0.04, **changes):
    expression, terms, slopes = CASES[name]
    X, y = rows()
    model = TorusGPRegressor(
        expression, learn=(), noise_variance=noise, intercept=intercept, n_components=2401, **changes
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    oracle = DenseGP(terms, noise, slopes, BROAD * y.var() if intercept else 0.0).fit(X, y)
    return model, oracle, y


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_predictions_and_evidence_are_those_of_the_dense_process(name, intercept):
    model, oracle, y = both(name, intercept)
    signal = np.sqrt(model.signal_variance_)
    mean, covariance = model.predict(points(), return_cov=True, include_noise=False)
    expected_mean, expected_covariance = oracle.predict(points())
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-6 * signal)
    np.testing.assert_allclose(covariance, expected_covariance, rtol=0, atol=1e-6 * signal**2)
    std = model.predict(points(), return_std=True, include_noise=False)[1]
    np.testing.assert_allclose(std, np.sqrt(np.diag(expected_covariance)), rtol=0, atol=1e-6 * signal)
    assert model.log_marginal_likelihood_ == pytest.approx(oracle.log_evidence, rel=0, abs=1e-6 * len(y))


@pytest.mark.parametrize("name", CASES)
def test_parts_are_those_of_the_dense_process(name):
    model, oracle, _ = both(name)
    X = points(12)
    mean, covariance = model.predict_parts(X, return_cov=True)
    expected_mean, expected_covariance = oracle.centred_parts(X)
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(covariance, expected_covariance, rtol=0, atol=1e-6)
    std = model.predict_parts(X, return_std=True)[1]
    np.testing.assert_allclose(std**2, np.einsum("ijj->ij", expected_covariance), rtol=0, atol=1e-6)
    np.testing.assert_allclose(mean.sum(axis=1) + model.fitted_.intercept, model.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["everything", "lines of two families"])
def test_at_learned_values_the_dense_process_agrees(name):
    X, y = rows()
    expression, _, _ = CASES[name]
    model = TorusGPRegressor(expression, n_components=2401).fit(
        X, y
    )  # learned lines are long, and so are their circles
    fitted = model.fitted_
    variances, scales = fitted.prior.signal_variances(fitted.parameters)[:, 0], fitted.prior.scales(fitted.parameters)
    made = {
        "everything": lambda: [
            product(variances[0], circle(0, 24, scales[0][0]), line(1, scales[0][1])),
            product(variances[1], circle(0, 24, scales[1][0])),
            product(variances[2], category(2, 0.0), circle(0, 24, scales[2][1])),
            product(variances[3], line(1, scales[3][0])),
        ],
        "lines of two families": lambda: [
            product(variances[0], line(1, scales[0][0])),
            product(variances[1], line(3, scales[1][0], "matern52")),
        ],
    }[name]()
    slopes = [(3, fitted.parameters["slope of x3: variance"][0])] if name == "everything" else []
    oracle = DenseGP(made, model.noise_variance_, tuple(slopes), BROAD * y.var()).fit(X, y)
    mean, covariance = model.predict(points(), return_cov=True, include_noise=False)
    expected_mean, expected_covariance = oracle.predict(points())
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-6 * np.sqrt(model.signal_variance_))
    np.testing.assert_allclose(covariance, expected_covariance, rtol=0, atol=1e-6 * model.signal_variance_)
    assert model.log_marginal_likelihood_ == pytest.approx(oracle.log_evidence, rel=0, abs=1e-6 * len(y))


@pytest.mark.parametrize("family", ["matern12", "matern32"])
def test_rough_lines_are_within_their_certificate(family):
    X = np.random.default_rng(0).uniform(0, 10, (400, 1))
    model = TorusGPRegressor(
        Line(0, family, length_scale=1.0, variance=1.0, tolerance=1e-8), n_components=2001, learn=(), intercept=False
    )
    y = np.sin(X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    oracle = product(1.0, line(0, 1.0, family))
    grid = np.linspace(-3, 13, 50)[:, None]
    features = model.fitted_
    kernel = features.prior.sum_kernel(features.parameters)
    frequencies = features.index_set.frequencies
    weights = np.where(np.arange(len(frequencies)), 2.0, 1.0) * kernel.coefficients(frequencies)
    angles = features.phases(grid) @ frequencies.T, features.phases(X) @ frequencies.T
    approximate = (np.cos(angles[0]) * weights) @ np.cos(angles[1]).T + (np.sin(angles[0]) * weights) @ np.sin(
        angles[1]
    ).T
    assert np.abs(approximate - oracle(grid, X)).max() <= model.truncation_error_ * (1 + 1e-9) + 1e-12
    assert model.truncation_error_ < (0.05 if family == "matern12" else 1e-4)


def test_far_beyond_a_line_the_prior_returns():
    X, y = rows()
    model = TorusGPRegressor(Line(1, length_scale=8.0, tolerance=EXACT), intercept=False).fit(
        X[:, :2].astype(float), y - 5
    )
    far = np.column_stack([np.zeros(3), [-500.0, 300.0, 1e6]])
    mean, std = model.predict(far, return_std=True, include_noise=False)
    np.testing.assert_allclose(mean, 0.0, atol=1e-6)
    np.testing.assert_allclose(std**2, model.signal_variance_, rtol=1e-6)
    with pytest.warns(UserWarning, match=r"3 points lie beyond the range of the data on 'x1'.*range="):
        model.predict(far, return_cov=True)
    with pytest.warns(UserWarning, match="beyond the range"):
        model.sample_y(far, random_state=0)


def test_a_wider_range_makes_joint_predictions_right():
    X, y = rows()
    X = X[:, 1:2].astype(float)
    given = {"length_scale": 8.0, "tolerance": EXACT, "range": (-60.0, 90.0), "variance": 1.0}
    model = TorusGPRegressor(Line(0, **given), learn=(), noise_variance=0.04, intercept=False, n_components=801).fit(
        X, y
    )
    oracle = DenseGP([product(1.0, line(0, 8.0))], 0.04).fit(X, y)
    far = np.array([[-59.0], [-57.0], [40.0], [88.0], [90.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        covariance = model.predict(far, return_cov=True, include_noise=False)[1]
    np.testing.assert_allclose(covariance, oracle.predict(far)[1], rtol=0, atol=1e-6)


def test_an_unseen_level_is_what_the_formula_gives():
    model, oracle, _ = both("category alone and in a product")
    X = points(10)
    X[:, 2] = "never seen"
    mean, covariance = model.predict(X, return_cov=True, include_noise=False)
    expected_mean, expected_covariance = oracle.predict(X)
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(covariance, expected_covariance, rtol=0, atol=1e-6)


def test_the_order_of_the_levels_changes_nothing():
    X, y = rows()
    expression = Category(2, correlation=0.3) * Circle(0, 24, length_scale=1.1) + Category(2)
    swapped = X.copy()
    swapped[:, 2] = [{"bank": "z", "holiday": "a", "usual": "m"}[level] for level in X[:, 2]]
    other = points()
    renamed = other.copy()
    renamed[:, 2] = [{"bank": "z", "holiday": "a", "usual": "m"}[level] for level in other[:, 2]]
    for n_components in (41, 77):
        one, two = (TorusGPRegressor(expression, n_components=n_components).fit(rows_, y) for rows_ in (X, swapped))
        np.testing.assert_allclose(one.predict(other), two.predict(renamed), rtol=0, atol=1e-6)
        assert one.log_marginal_likelihood_ == pytest.approx(two.log_marginal_likelihood_, abs=1e-4)


def test_a_plain_column_with_a_broad_prior_is_universal_kriging():
    X, y = rows()
    X = X[:, [0, 3]].astype(float)
    # a prior so broad that it is flat for these data
    expression = 0.8 * Circle(0, 24, length_scale=1.0) + Slope(1, variance=1e6)
    model = TorusGPRegressor(expression, learn=(), noise_variance=0.04, intercept=False, n_components=101).fit(X, y)
    K = product(0.8, circle(0, 24, 1.0))(X, X) + 0.04 * np.eye(len(X))
    Z = ((X[:, 1] - X[:, 1].mean()) / X[:, 1].std())[:, None]
    information = Z.T @ np.linalg.solve(K, Z)
    slope = np.linalg.solve(information, Z.T @ np.linalg.solve(K, y))
    assert model.coef_[-1] == pytest.approx(slope[0], rel=1e-6)
    assert model.fitted_.posterior.covariance(0)[-1, -1] == pytest.approx(1 / information[0, 0], rel=1e-6)


def test_draws_of_parts_add_up_to_draws_of_the_whole():
    model, oracle, _ = both("category alone and in a product")
    X = points(6)
    parts, whole = model.sample_parts(X, 3, random_state=0), model.sample_y(X, 3, random_state=0)
    rows_, _ = rows()
    average = model.sample_y(rows_, 3, random_state=0).mean(axis=0)
    np.testing.assert_allclose(parts.sum(axis=1) + average, whole, rtol=0, atol=1e-8)
    draws = model.sample_parts(X, 4000, random_state=1)
    _, covariance = oracle.centred_parts(X)
    found = np.einsum("nis,njs->nij", draws - draws.mean(-1, keepdims=True), draws - draws.mean(-1, keepdims=True))
    np.testing.assert_allclose(found / 4000, covariance, atol=0.1 * covariance.max())


def test_a_constant_has_honest_intervals():
    """The error of the mean is part of every interval."""
    held = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 1000, (100, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = TorusGPRegressor(period=24, n_components=11, integrate=False)
            model.fit(X, 5 + 0.3 * rng.normal(size=100))
        mean, std = model.predict([[3.0]], return_std=True, include_noise=False)
        held.append(abs(mean[0] - 5) < 1.96 * std[0])
    assert 0.93 <= np.mean(held) <= 0.97


def test_terms_that_explain_nothing_shrink():
    X, y = rows(300)
    X = X[:, [0, 1, 3]].astype(float)
    model = TorusGPRegressor(Circle(0, 24) * Line(1) + Line(2)).fit(X, np.sin(2 * np.pi * X[:, 0] / 24) + 0.1 * y)
    variances = model.fitted_.prior.signal_variances(model.fitted_.parameters)[:, 0]
    useless = TorusGPRegressor(Circle(0, 24) + Circle(0, 7.3)).fit(X, np.sin(2 * np.pi * X[:, 0] / 24))
    shrunk = useless.fitted_.prior.signal_variances(useless.fitted_.parameters)[:, 0]
    assert variances[0] > 0.01
    assert shrunk[1] < 1e-4 * shrunk[0]


def test_a_logarithm_of_the_target_is_brought_back():
    X, y = rows()
    X = X[:, :2].astype(float)
    positive = np.exp(y / 2)
    model = TorusGPRegressor(Circle(0, 24) * Line(1), likelihood="log_normal").fit(X, positive)
    plain = TorusGPRegressor(Circle(0, 24) * Line(1)).fit(X, y / 2)
    mean, std = plain.predict(X, return_std=True)
    quantiles = model.predict_quantiles(X, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(quantiles[:, 1], np.exp(mean), rtol=1e-8)
    np.testing.assert_allclose(model.predict(X), np.exp(mean + std**2 / 2), rtol=1e-8)
    inside = np.mean((quantiles[:, 0] < positive) & (positive < quantiles[:, 2]))
    assert 0.75 < inside < 0.85
    with pytest.raises(ValueError, match=r"log_normal.*row 0 has -"):
        TorusGPRegressor(period=24, likelihood="log_normal").fit(X[:, :1], -positive)
