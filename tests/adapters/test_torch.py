import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from tests.adapters.cases import (
    CASES,
    EXPRESSIONS,
    OBLIQUE,
    TOLERANCE,
    expected_slopes,
    expected_std,
    expected_sum_slopes,
    expected_sum_std,
    inputs,
    sum_case,
    sum_inputs,
)
from torusgp import Circle, IndexSetFourierFeatures, Line, TorusKernel
from torusgp.engine.basis import reference_columns
from torusgp.kernels.axes import Product
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torusgp.adapters.torch import TorusFeatures  # noqa: E402  # after the skip

KERNEL = TorusKernel(length_scale=[0.5, 0.8], period=[2.0, 3.0])


@pytest.fixture(autouse=True)
def double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def single_precision():
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("name", CASES)
def test_features(name):
    kernel, index_set = CASES[name]
    X = inputs(kernel, index_set)
    expected = expected_std(kernel, index_set) * reference_columns(kernel.phases(X), index_set.frequencies)
    for learn in ((), ("length_scale",)):
        found = TorusFeatures(kernel, index_set=index_set, learn=learn)(torch.tensor(X)).detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])


def test_features_of_a_name_are_those_of_the_transformer():
    X = inputs(KERNEL, tensor(2, 1))
    for index_set in ("adaptive", "hyperbolic_cross"):
        features = TorusFeatures(KERNEL, index_set=index_set, n_components=45)
        transformer = IndexSetFourierFeatures(
            period=[2.0, 3.0], length_scale=[0.5, 0.8], index_set=index_set, n_components=45
        ).fit(X)
        assert features.index_set == transformer.index_set_
        found = features(torch.tensor(X)).detach().numpy()
        np.testing.assert_allclose(found, transformer.transform(X), rtol=0, atol=TOLERANCE["columns"])


@pytest.mark.parametrize("name", CASES)
def test_slopes_in_the_length_scale(name):
    kernel, index_set = CASES[name]
    features = TorusFeatures(kernel, index_set=index_set, learn=())
    X = torch.zeros(1, index_set.dimension)  # where every cosine is one

    kept = expected_std(kernel, index_set) > 0
    kept[2::2] = False  # sines, which are zero there

    def log_std(log_length_scale):
        return features(X, length_scale=log_length_scale.exp())[0, torch.tensor(kept)].log()

    start = torch.tensor(np.log(np.atleast_1d(kernel.length_scale)))
    found = torch.autograd.functional.jacobian(log_std, start).numpy()
    expected = expected_slopes(kernel, index_set)[kept]
    error = np.abs(found - expected) / np.maximum(1, np.abs(expected))
    assert error.max() < TOLERANCE["slope"]


class TestGradients:
    @pytest.mark.parametrize("name", ["squared_exponential", "families", "pairs", "heat"])
    def test_inputs_length_scales_and_periods(self, name):
        kernel, _ = CASES[name]
        features = TorusFeatures(kernel, n_components=13, learn=())
        arguments = (
            torch.tensor(inputs(kernel, features.index_set, 3), requires_grad=True),
            torch.tensor(kernel.length_scale, requires_grad=True),
            torch.tensor(kernel.period, requires_grad=True),
        )
        assert torch.autograd.gradcheck(features, arguments, atol=1e-7)

    def test_second_derivatives(self):
        features = TorusFeatures(KERNEL, n_components=5, learn=())
        arguments = tuple(
            torch.tensor(value, requires_grad=True) for value in ([[0.3, 4.1]], KERNEL.length_scale, KERNEL.period)
        )
        assert torch.autograd.gradgradcheck(features, arguments, atol=1e-6)

    def test_cell(self):
        features = TorusFeatures(TorusKernel(length_scale=[0.5, 0.8], period=OBLIQUE), n_components=13, learn=())
        arguments = (
            torch.tensor(inputs(KERNEL, features.index_set, 3), requires_grad=True),
            torch.tensor(0.6, requires_grad=True),
            torch.tensor(OBLIQUE, requires_grad=True),
        )
        assert torch.autograd.gradcheck(features, arguments, atol=1e-6)

    @pytest.mark.parametrize("name", ["cartesian_heat", "cartesian_matern"])
    def test_cartesian(self, name):
        kernel, _ = CASES[name]
        features = TorusFeatures(kernel, n_components=9, learn=())
        X = torch.tensor(inputs(kernel, features.index_set, 2), requires_grad=True)
        assert torch.autograd.gradcheck(features, (X, torch.tensor(0.5, requires_grad=True)), atol=1e-6)

    @pytest.mark.parametrize("period", [2.0, [2.0, 3.0], OBLIQUE], ids=["number", "vector", "cell"])
    def test_parameters(self, period):
        kernel = TorusKernel(length_scale=[0.5, 0.8], period=period)
        features = TorusFeatures(kernel, n_components=9, learn=("length_scale", "period"))
        names = [name for name, _ in features.named_parameters()]
        assert sorted(names) == ["log_length_scale", "period_change"]
        X = torch.tensor([[0.3, 4.1], [11.0, -3.0]])

        def evaluate(*values):
            return torch.func.functional_call(features, dict(zip(names, values, strict=True)), (X,))

        start = [(parameter.detach() + 0.01).requires_grad_() for parameter in features.parameters()]
        assert torch.autograd.gradcheck(evaluate, start, atol=1e-6)

    @pytest.mark.parametrize("length_scale", [1e-6, 1e-3, 0.01, 100.0, 1e3, 1e6])
    @pytest.mark.parametrize("family", ["squared_exponential", "matern32", "rational_quadratic", "heat"])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_extreme_length_scales_have_finite_gradients(self, family, length_scale, dtype):
        kernel = TorusKernel(family, [1.0, 1.0], 1.0, max_interaction=1)
        features = TorusFeatures(kernel, index_set=hyperbolic_cross(2, 30), learn=())
        scale = torch.tensor([length_scale, 1.0], dtype=getattr(torch, dtype), requires_grad=True)
        X = torch.tensor([[0.2, 0.7]], dtype=getattr(torch, dtype))
        phi = features(X, scale)
        phi.sum().backward()  # one that is not finite would spoil the sum
        assert torch.isfinite(phi).all()
        assert torch.isfinite(scale.grad).all()

    def test_coefficients_far_below_rounding_have_their_slope(self):
        kernel = TorusKernel(length_scale=[50.0], period=1.0)
        features = TorusFeatures(kernel, index_set=tensor(1, 40), learn=())
        scale = torch.tensor([50.0], requires_grad=True)
        last = features(torch.zeros(1, 1), scale)[0, -2]
        (slope,) = torch.autograd.grad(last.log(), scale)
        assert 0 < last < 1e-80  # the coefficient is its square
        np.testing.assert_allclose(50.0 * slope.item(), -40.0, rtol=1e-4)  # c_k falls with the 2k-th power


class TestExpressions:
    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_features(self, name):
        kernel, index_set = sum_case(name, 61)
        X = sum_inputs(kernel)
        expected = expected_sum_std(kernel, index_set) * reference_columns(kernel.phases(X), index_set.frequencies)
        for given in (kernel, EXPRESSIONS[name]):
            features = TorusFeatures(given, index_set=index_set)
            assert sorted(dict(features.named_parameters())) == ["log_length_scale", "log_variance"]
            found = features(torch.tensor(X)).detach().numpy()
            np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["columns"])

    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_slopes_in_length_scales_and_variances(self, name):
        kernel, index_set = sum_case(name, 61)
        features = TorusFeatures(kernel, index_set=index_set, learn=())
        X = np.zeros((1, len(kernel.sum.torus.names)))  # where every cosine is one

        def log_std(log_length_scale, log_variance):
            phi = features(torch.tensor(X), log_length_scale.exp(), None, log_variance.exp())
            return torch.cat([phi[0, :1], phi[0, 1::2]]).log()

        start = torch.tensor(np.log(np.concatenate(kernel.sum.scales))), torch.tensor(np.log(kernel.sum.variances))
        found = torch.cat(torch.autograd.functional.jacobian(log_std, start), dim=1).numpy()
        expected = expected_sum_slopes(kernel, index_set)
        expected = np.vstack([expected[:1], expected[1::2]])
        assert (np.abs(found - expected) / np.maximum(1, np.abs(expected))).max() < 2 * TOLERANCE["slope"]

    @pytest.mark.parametrize("name", ["circle_by_line", "sum", "one_input"])
    def test_gradients_of_all_parameters(self, name):
        kernel, _ = sum_case(name)
        features = TorusFeatures(kernel, n_components=13, learn=("length_scale", "variance", "period"))
        names = [name for name, _ in features.named_parameters()]
        X = torch.tensor(sum_inputs(kernel, 3), requires_grad=True)

        def evaluate(X, *values):
            return torch.func.functional_call(features, dict(zip(names, values, strict=True)), (X,))

        start = [(parameter.detach() + 0.01).requires_grad_() for parameter in features.parameters()]
        assert torch.autograd.gradcheck(evaluate, (X, *start), atol=1e-6)

    def test_coefficients_that_no_term_has_are_zero_with_finite_gradients(self):
        kernel, _ = sum_case("three")
        features = TorusFeatures(kernel, index_set=tensor(kernel.dimension, 1))
        phi = features(torch.tensor(sum_inputs(kernel, 3)))
        phi.sum().backward()
        empty = kernel.coefficients(features.index_set.frequencies) == 0
        assert empty.any()
        assert (phi[:, 1:][:, np.repeat(empty[1:], 2)] == 0).all()
        assert all(torch.isfinite(parameter.grad).all() for parameter in features.parameters())

    def test_what_is_fixed_stays(self):
        line = Line(0, range=(0, 10), length_scale=2.0, length_scale_bounds="fixed")
        expression = Product((line,), 1.5, "fixed") + Circle(0, 24.0)
        features = TorusFeatures(expression, n_components=21)
        features(torch.rand(5, 1)).sum().backward()
        assert features.log_length_scale.grad[0] == features.log_variance.grad[0] == 0
        assert features.log_length_scale.grad[1] != 0
        assert features.log_variance.grad[1] != 0

    @pytest.mark.parametrize("factor", [0.5, 5.0])
    def test_circles_and_frequencies_follow(self, factor):
        kernel, _ = sum_case("sum")
        features = TorusFeatures(kernel, n_components="auto")
        before = features.kernel.period
        with torch.no_grad():
            features.log_length_scale += np.log(factor)
            features.log_variance += torch.tensor([0.7, -0.3])
        features.choose_index_set("auto")
        assert (np.sign(features.kernel.period - before)[1:] == np.sign(factor - 1)).all()
        X = sum_inputs(kernel)
        phi = features(torch.tensor(X)).detach().numpy()
        scales = tuple(factor * scale for scale in kernel.sum.scales)
        present = TorusKernel.from_sum(
            replace(
                kernel.sum, scales=scales, variances=features.variance.detach().numpy(), period=features.kernel.period
            )
        )
        bound = present.truncation_error(features.index_set) + present.aliasing_error()
        assert np.abs(phi @ phi.T - present(X)).max() < bound + 1e-10
        assert bound < 0.01

    def test_state_carries_circles(self, tmp_path):
        features = TorusFeatures(EXPRESSIONS["sum"], n_components=31)
        with torch.no_grad():
            features.log_length_scale += 0.7
        features.choose_index_set(45)
        torch.save(features.state_dict(), tmp_path / "state.pt")
        restored = TorusFeatures(EXPRESSIONS["sum"], n_components=31)
        restored.load_state_dict(torch.load(tmp_path / "state.pt"))
        X = torch.tensor(sum_inputs(features.kernel))
        assert torch.equal(restored(X), features(X))

    def test_happens_on_the_device_of_the_inputs(self):
        features = TorusFeatures(EXPRESSIONS["sum"], n_components=21, learn=("length_scale", "variance", "period"))
        found = features.to("meta")(torch.empty(5, 2, device="meta"))
        assert found.device.type == "meta"
        assert found.shape == (5, 21)

    def test_variance_of_one_product(self):
        with pytest.raises(ValueError, match="One product has variance one"):
            TorusFeatures(KERNEL, learn=("variance",))

    def test_period_without_circles(self):
        with pytest.raises(ValueError, match="Only periods of circles can be learned here"):
            TorusFeatures(EXPRESSIONS["line"], learn=("period",))


class TestModule:
    def test_single_precision(self, single_precision):
        kernel, index_set = CASES["squared_exponential"]
        features = TorusFeatures(kernel, index_set=index_set).to(torch.float32)
        X = torch.tensor(inputs(kernel, index_set), dtype=torch.float32)
        found = features(X)
        assert found.dtype == features.log_length_scale.dtype == torch.float32
        phases = kernel.phases(X.numpy().astype(float))
        expected = expected_std(kernel, index_set) * reference_columns(phases, index_set.frequencies)
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=TOLERANCE["single_columns"])

    def test_single_precision_resolves_small_changes_of_the_period(self, single_precision):
        features = TorusFeatures(KERNEL, learn=("period",))
        with torch.no_grad():
            features.period_change += 1e-9
        np.testing.assert_allclose(features.period.detach().numpy() / [2.0, 3.0] - 1, 1e-9, rtol=1e-6)

    @pytest.mark.parametrize("learn", [(), ("length_scale", "period")], ids=["constants", "parameters"])
    @pytest.mark.parametrize("period", [[2.0, 3.0], OBLIQUE], ids=["vector", "cell"])
    def test_all_happens_on_the_device_of_the_inputs(self, period, learn):
        kernel = TorusKernel(length_scale=[0.5, 0.8], period=period, max_interaction=1)
        features = TorusFeatures(kernel, n_components=21, learn=learn).to("meta")  # a device without numbers
        found = features(torch.empty(5, 2, device="meta"))
        assert found.device.type == "meta"
        assert found.shape == (5, 21)

    def test_batches(self):
        features = TorusFeatures(KERNEL, n_components=21, learn=())
        X = torch.tensor(inputs(KERNEL, features.index_set, 12)).reshape(3, 4, 2)
        length_scale, period = torch.rand(3, 1, 2) + 0.3, torch.rand(3, 1, 2) + 1
        together = features(X, length_scale, period)
        assert together.shape == (3, 4, 21)
        for batch in range(3):
            alone = features(X[batch], length_scale[batch], period[batch])
            np.testing.assert_allclose(together[batch], alone, rtol=0, atol=1e-14)

    def test_a_period_changes_nothing(self):
        features = TorusFeatures(KERNEL, n_components=21)
        X = torch.tensor(inputs(KERNEL, features.index_set))
        shifted = X + torch.tensor([2.0, -6.0])
        np.testing.assert_allclose(features(shifted).detach(), features(X).detach(), atol=TOLERANCE["columns"])

    def test_choose_index_set(self):
        features = TorusFeatures(KERNEL, n_components=31)
        with torch.no_grad():
            features.log_length_scale.copy_(torch.tensor([1.5, 0.2]).log())
        chosen = features.choose_index_set()
        present = TorusKernel(length_scale=[1.5, 0.2], period=[2.0, 3.0])
        assert chosen == features.index_set == adaptive(present, 31)
        assert chosen != adaptive(KERNEL, 31)
        assert features.choose_index_set(n_components=61) == adaptive(present, 61)
        X = torch.tensor(inputs(KERNEL, chosen))
        phi = features(X).detach().numpy()
        error = np.abs(phi @ phi.T - present(X.numpy())).max()
        np.testing.assert_allclose(error, present.truncation_error(features.index_set), atol=1e-10)

    @pytest.mark.parametrize("length_scale", [0.2, 0.7, 3.0])
    def test_enough_columns(self, length_scale):
        kernel = TorusKernel(length_scale=length_scale, period=[24.0, 7.0])
        chosen = TorusFeatures(kernel, n_components="auto").index_set
        assert 101 <= chosen.n_components <= 1001
        assert kernel.truncation_error(chosen) <= 1e-6 or chosen.n_components == 1001
        fewer = adaptive(kernel, chosen.n_components - 2)
        assert kernel.truncation_error(fewer) > 1e-6 or chosen.n_components == 101

    def test_enough_columns_of_another_set(self):
        with pytest.raises(ValueError, match="n_components must be"):
            TorusFeatures(KERNEL, index_set="hyperbolic_cross", n_components="auto")

    def test_choose_index_set_of_a_cartesian_kernel(self):
        kernel, index_set = CASES["cartesian_heat"]
        features = TorusFeatures(kernel, index_set=index_set)
        assert features.choose_index_set() == adaptive(kernel, index_set.n_components)

    def test_choose_index_set_keeps_the_limit_of_interactions(self):
        kernel, index_set = CASES["limit_of_the_set"]
        features = TorusFeatures(kernel, index_set=index_set)
        assert np.count_nonzero(features.choose_index_set().frequencies, axis=1).max() == 1

    def test_state_carries_the_frequencies(self, tmp_path):
        features = TorusFeatures(KERNEL, n_components=31)
        with torch.no_grad():
            features.log_length_scale += 0.7
        features.choose_index_set(45)
        torch.save(features.state_dict(), tmp_path / "state.pt")
        restored = TorusFeatures(KERNEL, n_components=31)
        restored.load_state_dict(torch.load(tmp_path / "state.pt"))
        X = torch.tensor(inputs(KERNEL, features.index_set))
        assert torch.equal(restored(X), features(X))

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
    def test_copies(self, duplicate):
        features = TorusFeatures(KERNEL, n_components=31, learn=("length_scale", "period"))
        X = torch.tensor(inputs(KERNEL, features.index_set))
        assert torch.equal(duplicate(features)(X), features(X))

    def test_representation_says_what_it_is(self):
        text = repr(TorusFeatures(KERNEL, n_components=31))
        assert "TorusKernel(SquaredExponential()" in text
        assert "n_components=31" in text


class TestErrors:
    @pytest.mark.parametrize("learn", ["period", ("period", "noise")], ids=str)
    def test_learn(self, learn):
        with pytest.raises(ValueError, match="learn must be a collection of some of length_scale, period"):
            TorusFeatures(KERNEL, learn=learn)

    def test_unknown_dimension(self):
        with pytest.raises(ValueError, match="number of inputs is not known"):
            TorusFeatures(TorusKernel(length_scale=0.5))

    def test_not_a_kernel(self):
        with pytest.raises(ValueError, match=r"kernel must be a torusgp\.TorusKernel"):
            TorusFeatures("matern32")

    def test_start_outside_the_bounds(self):
        with pytest.raises(ValueError, match=r"length_scale must lie between 0.01 and 100, got .*0.001"):
            TorusFeatures(TorusKernel(length_scale=[0.001], period=[1.0]))

    def test_period_of_a_cartesian_kernel(self):
        with pytest.raises(ValueError, match="period of a Cartesian kernel cannot be learned"):
            TorusFeatures(TorusKernel(Heat("cartesian"), 0.5, OBLIQUE), learn=("period",))

    def test_inputs_of_another_dimension(self):
        with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 2\).*got \(5, 1\)"):
            TorusFeatures(KERNEL)(torch.zeros(5, 1))
