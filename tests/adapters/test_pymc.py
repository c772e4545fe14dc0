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

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
pymc = pytest.importorskip("pymc", reason="PyMC is not installed")
import pytensor.tensor as pt  # noqa: E402  # after the skip

from torusgp.adapters.pymc import prior_linearized  # noqa: E402  # after the skip

KERNEL = TorusKernel(length_scale=[0.5, 0.8], period=[2.0, 3.0])
FAST = "FAST_COMPILE"  # without a compiler


def evaluate(outputs, values):
    """Values of variables, given those that they depend on."""
    return pytensor.function(list(values), outputs, mode=FAST)(*values.values())


@pytest.mark.parametrize("name", CASES)
def test_columns_standard_deviations_and_their_slopes(name):
    kernel, index_set = CASES[name]
    X, start = inputs(kernel, index_set), np.log(np.atleast_1d(kernel.length_scale))
    log_length_scale = pt.vector(shape=start.shape)
    columns, std = prior_linearized(X, kernel, index_set, pt.exp(log_length_scale))
    expected = expected_std(kernel, index_set)
    kept = np.flatnonzero(expected)
    slopes = pt.jacobian(pt.log(std[kept]), log_length_scale, vectorize=True)
    columns, std, slopes = evaluate([columns, std, slopes], {log_length_scale: start})
    expected_columns = reference_columns(kernel.phases(X), index_set.frequencies)
    np.testing.assert_allclose(columns, expected_columns, rtol=0, atol=TOLERANCE["columns"])
    np.testing.assert_allclose(std, expected, rtol=1e-9)
    expected = expected_slopes(kernel, index_set)[kept]
    error = np.abs(slopes - expected) / np.maximum(1, np.abs(expected))
    assert error.max() < TOLERANCE["slope"]


@pytest.mark.parametrize("period", [2.0, [2.0, 3.0], OBLIQUE], ids=["number", "vector", "cell"])
def test_variable_inputs_and_periods(period):
    kernel, index_set = TorusKernel(length_scale=0.5, period=period), hyperbolic_cross(2, 3)
    X, period = inputs(kernel, index_set, 3), np.asarray(period)
    expected = reference_columns(kernel.phases(X), index_set.frequencies)
    variable_X, variable_period = pt.matrix(shape=(None, 2)), pt.tensor(dtype="float64", shape=period.shape)

    def columns(X, period):
        return prior_linearized(X, kernel, index_set, 0.5, period=period)[0]

    for graph in (columns(variable_X, variable_period), columns(variable_X, None), columns(X, variable_period)):
        values = {variable_X: X, variable_period: period}
        found = pytensor.function(list(values), graph, mode=FAST, on_unused_input="ignore")(*values.values())
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])
    weights = np.random.default_rng(0).normal(size=expected.shape)
    both = [variable_X, variable_period]
    total = (columns(*both) * weights).sum()
    value = pytensor.function(both, total, mode=FAST)
    gradients = pytensor.function(both, pytensor.grad(total, both), mode=FAST)(X, period)
    step = 1e-6
    for position, (point, gradient) in enumerate(zip((X, period), gradients, strict=True)):
        for index in np.ndindex(point.shape):
            ends = []
            for sign in (1, -1):
                moved = [X.copy(), period.astype(float).copy()]
                moved[position][index] += sign * step
                ends.append(value(*moved))
            np.testing.assert_allclose(gradient[index], (ends[0] - ends[1]) / (2 * step), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["squared_exponential", "matern32", "heat"])
def test_extreme_length_scales_have_finite_gradients(family):
    length_scale = pt.vector(shape=(1,))
    _, std = prior_linearized(np.zeros((1, 1)), TorusKernel(family, [1.0], 1.0), tensor(1, 30), length_scale)
    function = pytensor.function([length_scale], [std, pytensor.grad(std.sum(), length_scale)], mode=FAST)
    for value in (1e-6, 1e-3, 0.01, 100.0, 1e3, 1e6):
        assert all(np.isfinite(found).all() for found in function([value]))


def test_data_of_a_model_can_be_replaced():
    index_set = adaptive(KERNEL, 9)
    with pymc.Model() as model:
        X = pymc.Data("X", np.zeros((4, 2)))
        columns, std = prior_linearized(X, KERNEL, index_set, pymc.LogNormal("length_scale", shape=2))
        pymc.Deterministic("f", columns @ (std * pymc.Normal("z", size=9)))
    new = inputs(KERNEL, index_set, 6)
    with model:
        pymc.set_data({"X": new})
    point = {"length_scale": np.array([0.4, 0.9]), "z": np.arange(9.0)}
    with model:
        function = model.compile_fn(model["f"], inputs=model.free_RVs, mode=FAST, on_unused_input="ignore")
    expected = TorusKernel(length_scale=[0.4, 0.9], period=[2.0, 3.0])
    columns = reference_columns(expected.phases(new), index_set.frequencies)
    np.testing.assert_allclose(function(point), columns @ (expected_std(expected, index_set) * point["z"]), rtol=1e-9)


class TestExpressions:
    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_columns_standard_deviations_and_their_slopes(self, name):
        kernel, index_set = sum_case(name, 61)
        X, terms = sum_inputs(kernel), kernel.sum.terms
        scales = [pt.vector(shape=term.length_scale.shape) for term in terms]
        variance = pt.vector(shape=(len(terms),))
        columns, std = prior_linearized(
            X, EXPRESSIONS[name], index_set, [pt.exp(one) for one in scales], variance=pt.exp(variance)
        )
        slopes = pt.concatenate([pt.jacobian(pt.log(std), one, vectorize=True) for one in (*scales, variance)], axis=1)
        values = dict(zip(scales, map(np.log, kernel.sum.scales), strict=True))
        columns, std, slopes = evaluate([columns, std, slopes], {**values, variance: np.log(kernel.sum.variances)})
        expected = reference_columns(kernel.phases(X), index_set.frequencies)
        np.testing.assert_allclose(columns, expected, rtol=0, atol=TOLERANCE["columns"])
        np.testing.assert_allclose(std, expected_sum_std(kernel, index_set), rtol=1e-9)
        expected = expected_sum_slopes(kernel, index_set)
        assert (np.abs(slopes - expected) / np.maximum(1, np.abs(expected))).max() < 2 * TOLERANCE["slope"]

    def test_variable_inputs_and_periods(self):
        kernel, index_set = sum_case("one_input", 31)
        X, circles = sum_inputs(kernel, 5), kernel.period[kernel.sum.torus.kinds("circle")]
        variable_X, period = pt.matrix(shape=(None, 1)), pt.vector(shape=circles.shape)
        expected = reference_columns(kernel.phases(X), index_set.frequencies)
        for given in ({"period": period}, {}):
            graph, _ = prior_linearized(variable_X, kernel, index_set, kernel.length_scale, **given)
            variables = [variable_X, period] if given else [variable_X]
            found = pytensor.function(variables, graph, mode=FAST)(*[X, circles][: len(variables)])
            np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])

    def test_a_model_with_sampled_variances(self):
        kernel, index_set = sum_case("sum", 61)
        X = sum_inputs(kernel)
        with pymc.Model() as model:
            scales = {name: pymc.LogNormal(f"l {name}", shape=len(one)) for name, one in kernel.length_scale.items()}
            variance = [pymc.HalfNormal(f"variance of {name}") for name in kernel.terms]
            columns, std = prior_linearized(X, kernel, index_set, scales, variance=variance)
            pymc.Deterministic("f", columns @ (std * pymc.Normal("z", size=index_set.n_components)))
            values = [*kernel.length_scale.values(), *kernel.sum.variances, np.ones(index_set.n_components)]
            point = {variable.name: value for variable, value in zip(model.free_RVs, values, strict=True)}
            function = model.compile_fn(model["f"], inputs=model.free_RVs, mode=FAST, on_unused_input="ignore")
        expected = reference_columns(kernel.phases(X), index_set.frequencies) @ expected_sum_std(kernel, index_set)
        np.testing.assert_allclose(function(point), expected, rtol=1e-9)


class TestErrors:
    def test_inputs_of_another_dimension(self):
        index_set = adaptive(KERNEL, 9)
        for X in (np.zeros((4, 1)), pt.matrix(shape=(None, 1))):
            with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 2\)"):
                prior_linearized(X, KERNEL, index_set, 0.5)

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
