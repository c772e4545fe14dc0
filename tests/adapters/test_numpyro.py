import numpy as np
import pytest

from tests.adapters.cases import (
    CASES,
    EXPRESSIONS,
    OBLIQUE,
    REFUSED,
    TOLERANCE,
    expected_slopes,
    expected_std,
    expected_sum_slopes,
    expected_sum_std,
    inputs,
    sum_case,
    sum_inputs,
)
from torusgp import TorusKernel
from torusgp.engine.basis import reference_columns
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat

jax = pytest.importorskip("jax", reason="JAX is not installed")
numpyro = pytest.importorskip("numpyro", reason="NumPyro is not installed")
from jax.test_util import check_grads  # noqa: E402  # after the skip

from torusgp.adapters.numpyro import prior_linearized  # noqa: E402  # after the skip

KERNEL = TorusKernel(length_scale=[0.5, 0.8], period=[2.0, 3.0])


def precision(is_double):
    """JAX in a precision, without what it remembers of constants in the other."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", is_double)
    jax.clear_caches()
    yield
    jax.config.update("jax_enable_x64", before)
    jax.clear_caches()


@pytest.fixture
def double_precision():
    yield from precision(True)


@pytest.fixture
def single_precision():
    yield from precision(False)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", CASES)
def test_columns_and_standard_deviations(name):
    kernel, index_set = CASES[name]
    X = inputs(kernel, index_set)
    columns, std = prior_linearized(X, kernel, index_set, kernel.length_scale)
    expected = reference_columns(kernel.phases(X), index_set.frequencies)
    np.testing.assert_allclose(columns, expected, rtol=0, atol=TOLERANCE["columns"])
    np.testing.assert_allclose(std, expected_std(kernel, index_set), rtol=1e-9)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", CASES)
def test_slopes_in_the_length_scale(name):
    kernel, index_set = CASES[name]
    kept = np.flatnonzero(expected_std(kernel, index_set))

    def log_std(log_length_scale):
        X, length_scale = np.zeros((1, index_set.dimension)), jax.numpy.exp(log_length_scale)
        _, std = prior_linearized(X, kernel, index_set, length_scale)
        return jax.numpy.log(std[kept])

    found = jax.jit(jax.jacobian(log_std))(np.log(np.atleast_1d(kernel.length_scale)))
    expected = expected_slopes(kernel, index_set)[kept]
    error = np.abs(found - expected) / np.maximum(1, np.abs(expected))
    assert error.max() < TOLERANCE["slope"]


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("period", [2.0, [2.0, 3.0], OBLIQUE], ids=["number", "vector", "cell"])
def test_traced_inputs_and_periods(period):
    kernel, index_set = TorusKernel(length_scale=0.5, period=period), hyperbolic_cross(2, 3)
    X = inputs(kernel, index_set, 5)

    def columns(X, period):
        return prior_linearized(X, kernel, index_set, 0.5, period=period)[0]

    expected = reference_columns(kernel.phases(X), index_set.frequencies)
    period = np.asarray(period)
    for found in (columns(X, period), columns(X, None), jax.jit(columns)(X, period), jax.jit(columns)(X, None)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])
    check_grads(columns, (X, period), order=1, atol=1e-5, rtol=1e-5, eps=1e-6)


@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize("name", ["squared_exponential", "families", "heat", "pairs", "cartesian_matern"])
def test_single_precision(name):
    kernel, index_set = CASES[name]
    X = 1e6 + inputs(kernel, index_set)  # numbers keep their phases
    columns, std = prior_linearized(X, kernel, index_set, kernel.length_scale)
    assert columns.dtype == std.dtype == np.float32
    expected = reference_columns(kernel.phases(X), index_set.frequencies)
    np.testing.assert_allclose(columns, expected, rtol=0, atol=TOLERANCE["single_columns"])
    np.testing.assert_allclose(std, expected_std(kernel, index_set), rtol=TOLERANCE["single_log_coefficient"])


@pytest.mark.parametrize("precision", ["single_precision", "double_precision"])
@pytest.mark.parametrize("family", ["squared_exponential", "matern32", "heat"])
def test_extreme_length_scales_have_finite_gradients(family, precision, request):
    request.getfixturevalue(precision)
    kernel, index_set = TorusKernel(family, [1.0], 1.0), tensor(1, 30)

    @jax.jit
    @jax.value_and_grad
    def total(scale):
        return prior_linearized(np.zeros((1, 1)), kernel, index_set, scale)[1].sum()

    for length_scale in (1e-6, 1e-3, 0.01, 100.0, 1e3, 1e6):
        value, gradient = total(jax.numpy.array([length_scale]))
        assert np.isfinite(value)  # one that is not finite would spoil the sum
        assert np.isfinite(gradient).all()


@pytest.mark.usefixtures("double_precision")
class TestExpressions:
    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_columns_standard_deviations_and_their_slopes(self, name):
        kernel, index_set = sum_case(name, 61)
        X, sizes = sum_inputs(kernel), np.cumsum([len(scales) for scales in kernel.sum.scales])

        def linearized(vector):
            scales = jax.numpy.split(jax.numpy.exp(vector[: sizes[-1]]), sizes[:-1])
            variance = jax.numpy.exp(vector[sizes[-1] :])
            return prior_linearized(X, EXPRESSIONS[name], index_set, scales, variance=variance)

        start = np.log(np.concatenate([*kernel.sum.scales, kernel.sum.variances]))
        columns, std = linearized(start)
        expected = reference_columns(kernel.phases(X), index_set.frequencies)
        np.testing.assert_allclose(columns, expected, rtol=0, atol=TOLERANCE["columns"])
        np.testing.assert_allclose(std, expected_sum_std(kernel, index_set), rtol=1e-9)
        found = jax.jit(jax.jacobian(lambda vector: jax.numpy.log(linearized(vector)[1])))(start)
        expected = expected_sum_slopes(kernel, index_set)
        assert (np.abs(found - expected) / np.maximum(1, np.abs(expected))).max() < 2 * TOLERANCE["slope"]

    def test_traced_inputs_and_periods(self):
        kernel, index_set = sum_case("one_input", 31)
        X, circles = sum_inputs(kernel, 5), kernel.period[kernel.sum.torus.kinds("circle")]

        def columns(X, period):
            return prior_linearized(X, kernel, index_set, kernel.length_scale, period=period)[0]

        expected = reference_columns(kernel.phases(X), index_set.frequencies)
        for found in (columns(X, circles), columns(X, None), jax.jit(columns)(X, circles), jax.jit(columns)(X, None)):
            np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])
        check_grads(columns, (X, circles), order=1, atol=1e-5, rtol=1e-5, eps=1e-6)

    def test_by_names_of_the_terms_and_without_variances(self):
        kernel, index_set = sum_case("sum", 61)
        _, found = prior_linearized(sum_inputs(kernel), kernel, index_set, kernel.length_scale)
        np.testing.assert_allclose(found, expected_sum_std(kernel, index_set), rtol=1e-9)


class TestErrors:
    def test_inputs_of_another_dimension(self):
        def columns(X):
            return prior_linearized(X, KERNEL, adaptive(KERNEL, 9), 0.5)[0]

        for function in (columns, jax.jit(columns)):
            with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 2\)"):
                function(np.zeros((4, 1)))

    def test_period_of_a_cartesian_kernel(self):
        kernel = TorusKernel(Heat("cartesian"), 0.5, OBLIQUE)
        with pytest.raises(ValueError, match="period of a Cartesian kernel cannot be a variable"):
            prior_linearized(np.zeros((4, 2)), kernel, adaptive(kernel, 9), 0.5, period=OBLIQUE)

    def test_length_scales_of_another_number(self):
        with pytest.raises(ValueError, match="an array with 2 entries"):
            prior_linearized(np.zeros((4, 2)), KERNEL, adaptive(KERNEL, 9), np.ones(3))

    @pytest.mark.parametrize("name", REFUSED)
    def test_expressions_that_are_refused(self, name):
        expression, message = REFUSED[name]
        with pytest.raises(ValueError, match=message):
            prior_linearized(np.zeros((4, 2)), expression, tensor(2, 2), [1.0])

    def test_variance_of_one_product(self):
        with pytest.raises(ValueError, match="variance is for the terms of an expression"):
            prior_linearized(np.zeros((4, 2)), KERNEL, adaptive(KERNEL, 9), 0.5, variance=[1.0])
