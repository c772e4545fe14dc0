"""The formulas that all adapters share, evaluated by NumPy."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tests.adapters.cases import (
    CASES,
    EXPRESSIONS,
    HEXAGON,
    REFUSED,
    TOLERANCE,
    expected_std,
    expected_sum_std,
    inputs,
    sum_case,
    sum_inputs,
    with_limit,
)
from torusgp import Circle, IndexSetFourierFeatures, Line, TorusGPRegressor, TorusKernel
from torusgp.adapters._expansion import Expansion, index_set_at, prior_linearized
from torusgp.adapters._libraries import NUMPY
from torusgp.adapters._tables import tabulate
from torusgp.engine.basis import reference_columns
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern, Warped

FAMILIES = [
    SquaredExponential(),
    Matern(0.5),
    Matern(2.5),
    Matern(40.0),
    RationalQuadratic(2.0),
    Heat(),
    TorusMatern(0.8),
]


def log_error(found, expected):
    """Largest error of log coefficients, relative to them if they are large, from standard deviations."""
    assert np.array_equal(found > 0, expected > 0)
    found, expected = 2 * np.log(found[expected > 0]), 2 * np.log(expected[expected > 0])
    return (np.abs(found - expected) / np.maximum(1, np.abs(expected))).max()


@pytest.mark.parametrize("name", CASES)
def test_standard_deviations_are_those_of_the_kernel(name):
    kernel, index_set = CASES[name]
    found = Expansion(kernel, index_set).standard_deviations(NUMPY, np.asarray(kernel.length_scale))
    assert log_error(found, expected_std(kernel, index_set)) < TOLERANCE["log_coefficient"]


@pytest.mark.parametrize("name", CASES)
def test_columns_are_those_of_the_basis(name):
    kernel, index_set = CASES[name]
    X, expansion = inputs(kernel, index_set), Expansion(kernel, index_set)
    expected = reference_columns(kernel.phases(X), index_set.frequencies)
    period = np.asarray(kernel.period)
    for found in (expansion.columns(NUMPY, X, period, period.ndim == 2), expansion.constant_columns(X, period)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("long", "heat_long")])
def test_features_times_themselves_are_the_kernel(name):
    kernel, index_set = CASES[name]
    limited = with_limit(kernel, index_set)
    X, expansion = inputs(kernel, index_set), Expansion(kernel, index_set)
    std = expansion.standard_deviations(NUMPY, np.asarray(kernel.length_scale))
    features = std * expansion.constant_columns(X, np.asarray(kernel.period))
    error = np.abs(features @ features.T - limited(X))
    truncation_error = limited.truncation_error(index_set)
    assert error.max() < truncation_error + 1e-10
    np.testing.assert_allclose(error.diagonal(), truncation_error, rtol=0, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@given(log_length_scale=st.floats(np.log(1e-2), np.log(1e2)))
def test_every_length_scale_within_the_bounds(family, log_length_scale):
    index_set = tensor(1, 30)
    kernel = TorusKernel(family, [np.exp(log_length_scale)])
    found = Expansion(kernel, index_set).standard_deviations(NUMPY, kernel.length_scale)
    expected = expected_std(kernel, index_set)
    large = expected > 1e-290  # smaller numbers have fewer digits
    assert log_error(found[large], expected[large]) < TOLERANCE["log_coefficient"]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_coefficients_of_a_batch(family):
    kernel, length_scale = TorusKernel(family, [0.5, 0.7]), np.array([[[0.5, 0.7]], [[0.1, 2.0]], [[3.0, 3.0]]])
    expansion = Expansion(kernel, hyperbolic_cross(2, 5))
    found = expansion.standard_deviations(NUMPY, length_scale)
    assert found.shape == (3, 1, expansion.index_set.n_components)
    for one, scales in zip(found, length_scale, strict=True):
        np.testing.assert_allclose(one[0], expansion.standard_deviations(NUMPY, scales[0]), rtol=1e-13)
    shared = expansion.standard_deviations(NUMPY, np.array([[3.0]]))
    np.testing.assert_allclose(shared[0], found[2, 0], rtol=1e-13)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_beyond_the_bounds_they_go_on_smoothly(family):
    bounds = (0.1, 10.0)
    expansion = Expansion(TorusKernel(family, [1.0]), tensor(1, 3), bounds)

    def log_std(length_scale):
        return np.log(expansion.standard_deviations(NUMPY, np.array([length_scale])))

    for bound in bounds:
        inner, outer = (log_std(bound * np.exp(step)) - log_std(bound) for step in (-1e-5, 1e-5))
        np.testing.assert_allclose(inner, -outer, rtol=1e-3, atol=1e-9)
    # a straight line in logarithms, except for the closed form of image sums, which is exact anyway
    if not isinstance(family, Heat | TorusMatern):
        first, second, third = (log_std(10.0 * 2.0**step) for step in (1, 2, 3))
        np.testing.assert_allclose(third - second, second - first, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length_scale", [1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_extreme_length_scales_give_numbers(family, length_scale):
    found = Expansion(TorusKernel(family, [1.0]), tensor(1, 20)).standard_deviations(NUMPY, np.array([length_scale]))
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_large_time_stamps_keep_their_phase():
    kernel, index_set = TorusKernel(length_scale=[0.5], period=[0.1]), tensor(1, 3)
    X = 1e9 + np.random.default_rng(0).uniform(size=(20, 1))
    found = Expansion(kernel, index_set).columns(NUMPY, X, np.array([0.1]), False)
    expected = reference_columns(kernel.phases(X), index_set.frequencies)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])


def test_cartesian_bounds_follow_the_cell():
    small, large = (
        Expansion(TorusKernel(Heat("cartesian"), size, size * HEXAGON), tensor(2, 2)) for size in (1e-4, 1e4)
    )
    np.testing.assert_allclose(np.array(large.limits) / np.array(small.limits), 1e8)
    np.testing.assert_allclose(
        small.standard_deviations(NUMPY, np.array(1e-4)), large.standard_deviations(NUMPY, np.array(1e4)), rtol=1e-11
    )


def features_of(kernel, index_set, X):
    expansion = Expansion(kernel, index_set)
    std = expansion.standard_deviations(NUMPY, list(kernel.sum.scales), kernel.sum.variances)
    return std * expansion.constant_columns(X, kernel.period)


class TestExpressions:
    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_features_are_those_of_the_transformer(self, name):
        kernel, index_set = sum_case(name)
        X = sum_inputs(kernel)
        named = pd.DataFrame(X, columns=kernel.sum.torus.names)
        expected = IndexSetFourierFeatures(EXPRESSIONS[name], index_set=index_set).fit_transform(named)
        np.testing.assert_allclose(features_of(kernel, index_set, X), expected, rtol=0, atol=1e-10)

    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_features_times_themselves_are_the_kernel(self, name):
        kernel, index_set = sum_case(name)
        X = sum_inputs(kernel)
        phi = features_of(kernel, index_set, X)
        bound = kernel.truncation_error(index_set) + kernel.aliasing_error()
        assert np.abs(phi @ phi.T - kernel(X)).max() < bound + 1e-10
        assert bound < 0.3

    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_standard_deviations_at_other_length_scales_and_variances(self, name):
        kernel, index_set = sum_case(name, 101)
        scales = [scale * factor for scale, factor in zip(kernel.sum.scales, (0.8, 1.3, 0.9), strict=False)]
        variances = kernel.sum.variances * np.array([2.0, 0.1, 3.0])[: len(scales)]
        other = TorusKernel.from_sum(replace(kernel.sum, scales=tuple(scales), variances=variances))
        found = Expansion(kernel, index_set).standard_deviations(NUMPY, scales, variances)
        np.testing.assert_allclose(found, expected_sum_std(other, index_set), rtol=1e-10, atol=1e-200)

    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_columns_of_a_library_are_those_of_the_basis(self, name):
        kernel, index_set = sum_case(name, 61)
        X = 30 * np.random.default_rng(1).normal(size=(25, len(kernel.sum.torus.names)))  # many beyond the ranges
        expansion = Expansion(kernel, index_set)
        expected = reference_columns(kernel.phases(X), index_set.frequencies)
        period = kernel.period
        for found in (expansion.columns(NUMPY, X, period, period.ndim == 2), expansion.constant_columns(X, period)):
            np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])

    def test_evidence_is_that_of_the_regressor(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(0, 10, (200, 2))
        y = np.sin(X[:, 0]) * X[:, 1] / 10 + np.cos(X[:, 1]) + 0.1 * rng.normal(size=200)
        model = TorusGPRegressor(EXPRESSIONS["sum"], noise_variance=0.02, learn=(), intercept=False, n_components=501)
        fitted = model.fit(X, y).fitted_
        kernel = TorusKernel.from_sum(
            replace(model.kernel_.sum, variances=model.signal_variance_ * model.kernel_.sum.variances)
        )
        phi = features_of(kernel, fitted.index_set, X)
        expected = multivariate_normal(np.zeros(200), phi @ phi.T + 0.02 * np.eye(200)).logpdf(y)
        assert model.log_marginal_likelihood_ == pytest.approx(expected, abs=1e-9)

    def test_a_set_for_shorter_length_scales_on_the_same_circles(self):
        expression = Circle(0, 24.0) * Line(1, range=(0, 10), length_scale=5.0)
        kernel, shortest = TorusKernel(expression), [np.array([1.0, 3.0])]
        chosen = index_set_at(expression, 401, {"x0 * x1": shortest[0]})
        assert chosen == index_set_at(kernel, 401, shortest)
        short = TorusKernel.from_sum(replace(kernel.sum, scales=tuple(shortest)))
        assert short.truncation_error(chosen) < 1e-4 < short.truncation_error(adaptive(kernel, 401))
        X = sum_inputs(kernel)
        std = Expansion(kernel, chosen).standard_deviations(NUMPY, shortest, np.ones(1))
        phi = std * Expansion(kernel, chosen).constant_columns(X, kernel.period)
        np.testing.assert_allclose(phi @ phi.T, short(X), atol=1e-4)

    def test_periods_of_circles(self):
        kernel, index_set = sum_case("one_input", 61)
        expansion = Expansion(kernel, index_set)
        assert expansion.n_circles == 2
        found = expansion.with_circles(NUMPY, np.array([3.5, 8.0]))
        expected = kernel.period.copy()
        expected[kernel.sum.torus.kinds("circle")] = 3.5, 8.0
        np.testing.assert_array_equal(found, expected)

    def test_rows_beyond_a_range_are_named(self):
        kernel, index_set = sum_case("circle_by_line", 61)
        with pytest.warns(UserWarning, match="1 rows lie beyond the range of a line"):
            prior_linearized(
                NUMPY,
                lambda _: False,
                np.array([[1.0, 5.0], [1.0, 11.0]]),
                kernel,
                index_set,
                [1.0],
                None,
                None,
                (0.01, 100),
            )

    @pytest.mark.parametrize("name", REFUSED)
    def test_what_is_refused_says_what_to_do(self, name):
        expression, message = REFUSED[name]
        with pytest.raises(ValueError, match=message):
            Expansion(expression, tensor(2, 2))

    def test_a_category_in_a_kernel_is_refused(self):
        kernel = TorusKernel(REFUSED["Category"][0])
        with pytest.raises(ValueError, match="category 'x1' cannot be used here"):
            Expansion(kernel, tensor(2, 1))

    def test_length_scales_of_another_number(self):
        kernel, index_set = sum_case("sum", 61)
        expansion = Expansion(kernel, index_set)
        with pytest.raises(ValueError, match=r"length_scale of the term 'x0 \* x1' must be .* 2 entries"):
            expansion.standard_deviations(NUMPY, [np.ones(3), np.ones(1)], np.ones(2))
        with pytest.raises(ValueError, match="length_scale must have one entry for each of the terms"):
            index_set_at(kernel, 61, [1.0])
        with pytest.raises(ValueError, match="length_scale must have the keys"):
            index_set_at(kernel, 61, {"hour": 1.0})

    def test_inputs_are_named(self):
        kernel, index_set = sum_case("one_input", 61)
        with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 1\), with time, got \(4, 2\)"):
            Expansion(kernel, index_set).constant_columns(np.zeros((4, 2)), kernel.period)


class TestTables:
    def test_series_and_slopes_of_known_functions(self):
        table = tabulate(lambda scale: np.array([np.log(scale), np.log1p(scale**2), 3.0]), (0.01, 100.0), "test")
        scale = np.geomspace(0.01, 100.0, 50)[:, None]
        found = table(NUMPY, np.log(scale))
        expected = np.hstack([np.log(scale), np.log1p(scale**2), np.full_like(scale, 3.0)])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)
        ends = table.end_slopes / table.half_width
        np.testing.assert_allclose(ends[:, 0], 1.0, rtol=1e-11)
        np.testing.assert_allclose(ends[:, 1], [2e-4 / 1.0001, 2e4 / 10001], rtol=1e-9, atol=1e-9)

    def test_wide_bounds_take_more_terms(self):
        def narrow_and_wide(scale):
            return SquaredExponential().log_coefficients(np.arange(3), scale)

        narrow, wide = (tabulate(narrow_and_wide, bounds, "test") for bounds in ((0.1, 10.0), (1e-5, 1e5)))
        assert len(narrow.coefficients) < len(wide.coefficients)
        np.testing.assert_allclose(wide(NUMPY, np.zeros(1)), narrow(NUMPY, np.zeros(1)), rtol=1e-11)

    def test_a_kink_is_refused(self):
        with pytest.raises(ValueError, match="test is not smooth enough in the length scale within"):
            tabulate(lambda scale: np.array([abs(np.log(scale) - 0.3)]), (0.01, 100.0), "test")

    def test_zeros_are_refused(self):
        own = TorusKernel(Warped(lambda distance: np.exp(-(distance**2) / 2)), [0.5])
        with pytest.raises(ValueError, match="too small to be known"):
            Expansion(own, tensor(1, 20))

    def test_an_own_function_within_narrow_bounds(self):
        def bump(distance):
            return np.exp(-(distance**2) / 2)

        index_set = tensor(1, 3)
        expansions = [
            Expansion(TorusKernel(family, [0.5]), index_set, (0.2, 1.0))
            for family in (Warped(bump), SquaredExponential())
        ]
        own, known = (expansion.standard_deviations(NUMPY, np.array([0.4])) for expansion in expansions)
        np.testing.assert_allclose(own, known, rtol=1e-8)


class TestErrors:
    kernel = TorusKernel(length_scale=[0.5, 0.7], period=[2.0, 3.0])

    def test_not_a_kernel(self):
        with pytest.raises(ValueError, match=r"kernel must be a torusgp\.TorusKernel or an expression, got 'matern32'"):
            Expansion("matern32", tensor(2, 2))

    def test_not_an_index_set(self):
        with pytest.raises(ValueError, match=r"index_set must be an IndexSet, .* got 'adaptive'"):
            Expansion(self.kernel, "adaptive")

    def test_index_set_of_another_dimension(self):
        with pytest.raises(ValueError, match="of length 2 cannot describe 3 periodic"):
            Expansion(self.kernel, tensor(3, 2))

    @pytest.mark.parametrize("bounds", [(0.0, 1.0), (2.0, 1.0), (1.0,), 3.0, (0.1, np.inf), (np.nan, 1.0)], ids=str)
    def test_bounds(self, bounds):
        with pytest.raises(ValueError, match="length_scale_bounds must be two positive numbers"):
            Expansion(self.kernel, tensor(2, 2), bounds)

    @pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)], ids=str)
    def test_inputs_of_another_shape(self, shape):
        expansion = Expansion(self.kernel, adaptive(self.kernel, 9))
        for evaluate in (
            lambda X: expansion.columns(NUMPY, X, np.array([2.0, 3.0]), False),
            lambda X: expansion.constant_columns(X, np.array([2.0, 3.0])),
        ):
            with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 2\)"):
                evaluate(np.zeros(shape))

    @pytest.mark.parametrize(
        ("kernel", "length_scale"),
        [(kernel, np.ones(3)), (TorusKernel(Heat("cartesian"), 1.0, HEXAGON), np.ones(2))],
        ids=["product", "cartesian"],
    )
    def test_length_scales_of_another_number(self, kernel, length_scale):
        with pytest.raises(ValueError, match="length_scale must be a number or an array with"):
            Expansion(kernel, tensor(2, 2)).standard_deviations(NUMPY, length_scale)
