import copy
import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.adapters.cases import CASES, EXPRESSIONS, OBLIQUE, REFUSED, inputs, sum_case, sum_inputs, with_limit
from torusgp import Circle, Line, TorusGPRegressor, TorusKernel
from torusgp.kernels.axes import Product
from torusgp.kernels.index_sets import adaptive, tensor
from torusgp.kernels.spectra import Heat

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
gpytorch = pytest.importorskip("gpytorch", reason="GPyTorch is not installed")
from gpytorch.kernels import AdditiveStructureKernel, RBFKernel, ScaleKernel  # noqa: E402  # after the skip

from torusgp.adapters.gpytorch import TorusFeatureKernel  # noqa: E402  # after the skip

PERIOD = [24.0, 7.0]
MIXED = EXPRESSIONS["sum"]
KERNEL = TorusKernel(length_scale=[0.7, 1.1], period=PERIOD)
# Both solve the same equations in double precision, one by Woodbury's identity on rows, one by columns
SAME = {"rtol": 0, "atol": 1e-9}


@pytest.fixture(autouse=True)
def double_precision():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class Model(gpytorch.models.ExactGP):
    def __init__(self, X, y, kernel, noise):
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        super().__init__(torch.tensor(X), torch.tensor(y), likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = kernel
        likelihood.noise = noise

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))

    def evidence(self):
        self.train()
        likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self)
        return len(self.train_targets) * likelihood(self(*self.train_inputs), self.train_targets)


def make_data(n_samples=200, random_state=0):
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0, 50, (n_samples, 2))
    hour, day = 2 * np.pi * X.T / np.array(PERIOD)[:, None]
    y = np.exp(np.cos(hour)) * np.sin(day + np.cos(hour))
    return X, y + 0.3 * rng.normal(size=n_samples)


def make_mixed_data(n_samples=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (n_samples, 2)) * [100, 10]
    y = np.exp(np.cos(2 * np.pi * X[:, 0] / 24)) * np.sin(X[:, 1] / 2) + np.cos(3 * X[:, 1])
    return X, y + 0.2 * rng.normal(size=n_samples)


def scaled(base, signal_variance):
    kernel = ScaleKernel(base)
    kernel.outputscale = signal_variance
    return kernel


@pytest.mark.parametrize("name", CASES)
def test_matrices_are_those_of_the_kernel(name):
    kernel, index_set = CASES[name]
    X = torch.tensor(inputs(kernel, index_set))
    base = TorusFeatureKernel(kernel, index_set=index_set)
    truncation_error = with_limit(kernel, index_set).truncation_error(index_set)
    for found, expected in (
        (base(X).to_dense(), with_limit(kernel, index_set)(X)),
        (base(X, X[:7]).to_dense(), with_limit(kernel, index_set)(X, X[:7])),
        (base(X, diag=True), np.ones(len(X))),
    ):
        np.testing.assert_allclose(found.detach(), expected, rtol=0, atol=truncation_error + 1e-10)


def test_one_dimension_is_the_periodic_kernel_of_gpytorch():
    theirs = gpytorch.kernels.PeriodicKernel()
    theirs.period_length, theirs.lengthscale = 2.5, 0.6**2
    ours = TorusFeatureKernel(TorusKernel(length_scale=0.6, period=[2.5]), n_components=61)
    X = 10 * torch.rand(20, 1)
    np.testing.assert_allclose(ours(X).to_dense().detach(), theirs(X).to_dense().detach(), atol=1e-12)


@pytest.mark.parametrize("n_components", [101, 301], ids=["woodbury", "more_columns_than_rows"])
def test_same_predictions_and_evidence_as_the_regressor(n_components):
    X, y = make_data()
    base = TorusFeatureKernel(KERNEL, n_components=n_components)
    model = Model(X, y, scaled(base, 1.7), 0.2)
    regressor = TorusGPRegressor(
        1.7 * Circle(0, PERIOD[0], length_scale=0.7) * Circle(1, PERIOD[1], length_scale=1.1),
        noise_variance=0.2,
        index_set=base.features.index_set,
        learn=(),
        intercept=False,
    ).fit(X, y)
    np.testing.assert_allclose(model.evidence().item(), regressor.log_marginal_likelihood_, **SAME)
    new = np.random.default_rng(1).uniform(-50, 50, (30, 2))
    model.eval()
    with torch.no_grad():
        function = model(torch.tensor(new))
        observation = model.likelihood(function)
    mean, covariance = regressor.predict(new, return_cov=True, include_noise=False)
    np.testing.assert_allclose(function.mean, mean, **SAME)
    np.testing.assert_allclose(function.covariance_matrix, covariance, **SAME)
    np.testing.assert_allclose(observation.stddev, regressor.predict(new, return_std=True)[1], **SAME)


def learn(model):
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=300, line_search_fn="strong_wolfe", tolerance_grad=1e-8, tolerance_change=1e-11
    )

    def closure():
        optimizer.zero_grad()
        loss = -model.evidence() / len(model.train_targets)
        loss.backward()
        return loss

    optimizer.step(closure)


@pytest.mark.parametrize("factors", [(4, 4, 4, 4), (0.25, 0.25, 0.25, 0.25), (4, 0.25, 0.25, 4)], ids=str)
def test_training_from_far_off_reaches_the_optimum_of_the_regressor(factors):
    X, y = make_data()
    index_set = adaptive(KERNEL, 61)
    regressor = TorusGPRegressor(period=PERIOD, index_set=index_set, intercept=False).fit(X, y)
    optimum = regressor.kernel_.length_scale
    start = TorusKernel(length_scale=optimum * factors[:2], period=PERIOD)
    base = TorusFeatureKernel(start, index_set=index_set)
    kernel = scaled(base, factors[2] * regressor.signal_variance_)
    model = Model(X, y, kernel, factors[3] * regressor.noise_variance_)
    assert model.evidence() < regressor.log_marginal_likelihood_ - 10
    learn(model)
    np.testing.assert_allclose(model.evidence().item(), regressor.log_marginal_likelihood_, atol=1e-5)
    np.testing.assert_allclose(base.lengthscale.detach()[0], optimum, rtol=1e-3)
    np.testing.assert_allclose(kernel.outputscale.item(), regressor.signal_variance_, rtol=1e-3)
    np.testing.assert_allclose(model.likelihood.noise.item(), regressor.noise_variance_, rtol=1e-3)


@pytest.mark.parametrize("factors", [(4, 4, 4, 4), (0.25, 0.25, 0.25, 0.25), (4, 0.25, 4, 0.25)], ids=str)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_frequencies_follow_the_length_scales_from_far_off(dimension, factors):
    rng = np.random.default_rng(dimension)
    period = np.array([24.0, 7.0, 2.0])[:dimension]
    X = rng.uniform(0, 50, (250, dimension))
    truth = TorusKernel(length_scale=np.array([0.8, 1.2, 1.6])[:dimension], period=period)
    y = rng.multivariate_normal(np.zeros(len(X)), truth(X) + 0.01 * np.eye(len(X)), method="cholesky")
    regressor = TorusGPRegressor(period=period, intercept=False, n_components=801).fit(X, y)
    optimum = np.atleast_1d(regressor.kernel_.length_scale)
    base = TorusFeatureKernel(TorusKernel(length_scale=optimum * factors[:dimension], period=period))
    model = Model(X, y, scaled(base, factors[2] * regressor.signal_variance_), factors[3] * regressor.noise_variance_)
    learn(model)
    np.testing.assert_allclose(model.evidence().item(), regressor.log_marginal_likelihood_, atol=0.05)
    np.testing.assert_allclose(base.lengthscale.detach()[0], optimum, rtol=0.01)
    np.testing.assert_allclose(model.likelihood.noise.item(), regressor.noise_variance_, rtol=0.02)


class TestFollowing:
    def test_while_training_only(self):
        base, X = TorusFeatureKernel(KERNEL), torch.rand(5, 2)
        before = base.features.index_set
        base.lengthscale = torch.tensor([0.3, 2.0])
        base.eval()(X).to_dense()
        assert base.features.index_set == before
        base.train()(X).to_dense()
        assert base.features.index_set != before
        assert TorusKernel(length_scale=[0.3, 2.0]).truncation_error(base.features.index_set) < 1e-6

    def test_small_changes_do_not_matter(self):
        base, X = TorusFeatureKernel(KERNEL), torch.rand(5, 2)
        before = base.features.index_set
        base.lengthscale = 1.2 * base.lengthscale.detach()
        base(X).to_dense()
        assert base.features.index_set == before

    @pytest.mark.parametrize("index_set", [tensor(2, 3), "hyperbolic_cross"], ids=["set", "name"])
    def test_other_sets_stay(self, index_set):
        base, X = TorusFeatureKernel(KERNEL, index_set=index_set, n_components=49), torch.rand(5, 2)
        before = base.features.index_set
        base.lengthscale = torch.tensor([0.3, 2.0])
        base(X).to_dense()
        assert base.features.index_set == before

    def test_the_number_of_columns_stays_if_it_was_given(self):
        base, X = TorusFeatureKernel(KERNEL, n_components=31), torch.rand(50, 2)
        base.lengthscale = torch.tensor([0.3, 2.0])
        base(X).to_dense()
        assert base.features.index_set == adaptive(TorusKernel(length_scale=[0.3, 2.0]), 31)


def test_a_period_is_learned():
    X, y = make_data(400)
    index_set = adaptive(KERNEL, 61)
    start = TorusKernel(length_scale=KERNEL.length_scale, period=[24.3, 6.97])
    options = {"length_scale": KERNEL.length_scale, "index_set": index_set, "intercept": False}
    names = ("period", "length_scale", "signal_variance", "noise_variance")
    regressor = TorusGPRegressor(period=[24.3, 6.97], learn=names, **options).fit(X, y)
    base = TorusFeatureKernel(start, index_set=index_set, learn_period=True)
    # GPyTorch's softplus is the identity from 20 on, its inverse is not quite
    np.testing.assert_allclose(base.period_length.detach()[0], [24.3, 6.97], rtol=1e-10)
    model = Model(X, y, scaled(base, 1.0), 0.2)
    learn(model)
    np.testing.assert_allclose(model.evidence().item(), regressor.log_marginal_likelihood_, atol=1e-2)
    np.testing.assert_allclose(base.period_length.detach()[0], regressor.kernel_.period, rtol=1e-5)
    assert (np.abs(regressor.kernel_.period - PERIOD) < 3 * regressor.period_std_).all()


class TestGradients:
    @pytest.mark.parametrize("period", [PERIOD, OBLIQUE], ids=["periods", "cell"])
    def test_evidence(self, period):
        X, y = make_data(20)
        kernel = TorusKernel(["matern52", "squared_exponential"], length_scale=[0.7, 1.1], period=period)
        base = TorusFeatureKernel(kernel, n_components=13, learn_period=True)
        model = Model(X / 10, y, scaled(base, 1.7), 0.2)
        parameters = dict(model.named_parameters())
        assert len(parameters) == 4  # length scale, period, signal variance, noise

        def evidence(*values):
            return torch.func.functional_call(_Evidence(model), dict(zip(names, values, strict=True)), ())

        names = [f"model.{name}" for name in parameters]
        values = [value.detach().clone().requires_grad_() for value in parameters.values()]
        assert torch.autograd.gradcheck(evidence, values, atol=1e-6)

    def test_inputs(self):
        kernel = scaled(TorusFeatureKernel(KERNEL, n_components=13), 1.7)
        X = torch.tensor(make_data(4)[0], requires_grad=True)
        with gpytorch.settings.lazily_evaluate_kernels(False):
            assert torch.autograd.gradcheck(lambda X: kernel(X).to_dense(), X, atol=1e-7)
            assert torch.autograd.gradcheck(lambda X: kernel(X, X[:2] + 1).to_dense(), X, atol=1e-7)
            assert torch.autograd.gradcheck(lambda X: kernel(X, X + 1, diag=True), X, atol=1e-7)


class _Evidence(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self):
        return self.model.evidence()


class TestExpressions:
    @pytest.mark.parametrize("name", EXPRESSIONS)
    def test_matrices_are_those_of_the_kernel(self, name):
        kernel, index_set = sum_case(name)
        X = torch.tensor(sum_inputs(kernel))
        base = TorusFeatureKernel(EXPRESSIONS[name], index_set=index_set)
        error = kernel.truncation_error(index_set) + kernel.aliasing_error() + 1e-10
        np.testing.assert_allclose(base(X).to_dense().detach(), kernel(X.numpy()), rtol=0, atol=error)
        np.testing.assert_allclose(base(X, X[:7]).to_dense().detach(), kernel(X.numpy(), X[:7]), rtol=0, atol=error)
        np.testing.assert_allclose(base(X, diag=True).detach(), kernel.variance, rtol=0, atol=error)

    def test_same_predictions_and_evidence_as_the_regressor(self):
        X, y = make_mixed_data()
        regressor = TorusGPRegressor(MIXED, noise_variance=0.05, learn=(), intercept=False, n_components=301).fit(X, y)
        base = TorusFeatureKernel(regressor.kernel_, index_set=regressor.index_set_)
        model = Model(X, y, scaled(base, regressor.signal_variance_), 0.05)
        np.testing.assert_allclose(model.evidence().item(), regressor.log_marginal_likelihood_, **SAME)
        new = np.random.default_rng(1).uniform(0, 1, (30, 2)) * [100, 10]
        with torch.no_grad():
            function = model.eval()(torch.tensor(new))
        mean, std = regressor.predict(new, return_std=True, include_noise=False)
        np.testing.assert_allclose(function.mean, mean, **SAME)
        np.testing.assert_allclose(function.stddev, std, **SAME)

    def test_evidence_and_its_gradient(self):
        X, y = make_mixed_data(20)
        model = Model(X, y, TorusFeatureKernel(MIXED, n_components=13, learn_period=True), 0.2)
        parameters = dict(model.named_parameters())
        assert len(parameters) == 4  # length scales, variances, period, noise

        def evidence(*values):
            return torch.func.functional_call(_Evidence(model), dict(zip(names, values, strict=True)), ())

        names = [f"model.{name}" for name in parameters]
        values = [value.detach().clone().requires_grad_() for value in parameters.values()]
        assert torch.autograd.gradcheck(evidence, values, atol=1e-6)

    @pytest.mark.parametrize("factor", [0.5, 2.5])
    def test_training_from_far_off_reaches_the_optimum_of_the_regressor(self, factor):
        X, y = make_mixed_data(250)
        regressor = TorusGPRegressor(MIXED, intercept=False, n_components=601).fit(X, y)
        start = [factor * scales for scales in regressor.kernel_.sum.scales]
        far = TorusKernel.from_sum(replace(regressor.kernel_.sum, scales=tuple(start)))
        base = TorusFeatureKernel(far)
        before = base.features.index_set
        model = Model(X, y, base, 0.2)
        learn(model)
        assert base.features.index_set != before
        np.testing.assert_allclose(model.evidence().item(), regressor.log_marginal_likelihood_, atol=0.1)
        for name, found in base.term_lengthscales.items():
            np.testing.assert_allclose(found.detach()[0], regressor.kernel_.length_scale[name], rtol=0.05)
        expected = regressor.signal_variance_ * regressor.kernel_.sum.variances
        np.testing.assert_allclose(base.variance.detach()[0], expected, rtol=0.1)

    def test_what_is_fixed_stays(self):
        X, y = make_mixed_data(60)
        line = Line(1, range=(0, 10), length_scale=2.0, length_scale_bounds="fixed")
        base = TorusFeatureKernel(Circle(0, 24.0) * line + Product((Circle(0, 24.0),), 0.5, "fixed"), n_components=61)
        model = Model(X, y, base, 0.2)
        (-model.evidence()).backward()
        assert base.raw_lengthscale.grad[0, 1] == base.raw_variance.grad[0, 1] == 0
        assert (base.raw_lengthscale.grad[0, [0, 2]] != 0).all()

    def test_variances_have_constraints_and_priors(self):
        prior = gpytorch.priors.LogNormalPrior(0.0, 1.0)
        base = TorusFeatureKernel(
            MIXED, n_components=61, variance_constraint=gpytorch.constraints.Interval(0.1, 5.0), variance_prior=prior
        )
        np.testing.assert_allclose(base.variance.detach()[0], [1.3, 0.6])
        values = {name: closure(module) for name, module, _, closure, _ in base.named_priors()}
        assert torch.equal(values["variance_prior"], base.variance)
        assert base.term_names == ("x0 * x1", "x1 (2)")

    def test_batches(self):
        base = TorusFeatureKernel(MIXED, n_components=61, batch_shape=torch.Size([2]))
        base.lengthscale = torch.tensor([[[0.8, 3.0, 1.0]], [[1.5, 2.0, 1.2]]])
        base.variance = torch.tensor([[[1.0, 0.5]], [[0.3, 2.0]]])
        X = torch.tensor(make_mixed_data(6)[0])
        together = base.eval()(X).to_dense()
        for batch in range(2):
            alone = TorusFeatureKernel(MIXED, index_set=base.features.index_set)
            alone.lengthscale, alone.variance = base.lengthscale[batch].detach(), base.variance[batch].detach()
            np.testing.assert_allclose(together[batch].detach(), alone(X).to_dense().detach(), atol=1e-12)

    def test_state_is_restored(self):
        X = torch.tensor(make_mixed_data(6)[0])
        base = TorusFeatureKernel(MIXED, n_components=61)
        base.lengthscale = 1.7 * base.lengthscale.detach()
        base.choose_index_set(91)
        restored = TorusFeatureKernel(MIXED, n_components=61)
        restored.load_state_dict(base.state_dict())
        for other in (restored, copy.deepcopy(base)):
            assert torch.equal(other(X).to_dense(), base(X).to_dense())

    def test_rows_to_learn_from_beyond_a_range(self):
        base = TorusFeatureKernel(MIXED, n_components=61)
        X = torch.tensor([[1.0, 5.0], [1.0, 11.0]])
        with pytest.raises(ValueError, match="Row 1 to learn from lies beyond the range of a line"):
            base(X).to_dense()
        assert base.eval()(X).to_dense().shape == (2, 2)

    @pytest.mark.parametrize("name", REFUSED)
    def test_what_is_refused_says_what_to_do(self, name):
        expression, message = REFUSED[name]
        with pytest.raises(ValueError, match=message):
            TorusFeatureKernel(expression)

    def test_arguments_of_one_product(self):
        with pytest.raises(ValueError, match="ard_num_dims must be left out: the terms have 3 length scales"):
            TorusFeatureKernel(MIXED, ard_num_dims=2)
        with pytest.raises(ValueError, match="put a ScaleKernel around it"):
            _ = TorusFeatureKernel(KERNEL, n_components=5).variance


class TestConventions:
    def test_few_columns_are_solved_by_woodbury(self):
        X, y = make_data()
        model = Model(X, y, scaled(TorusFeatureKernel(KERNEL, n_components=31), 1.7), 0.2)
        covariance = model.likelihood(model(*model.train_inputs)).lazy_covariance_matrix.evaluate_kernel()
        assert type(covariance).__name__ == "LowRankRootAddedDiagLinearOperator"

    @pytest.mark.parametrize("batch_shape", [(2,), (3, 2)], ids=str)
    @pytest.mark.parametrize("learn_period", [False, True], ids=["given", "learned"])
    def test_batches(self, batch_shape, learn_period):
        base = TorusFeatureKernel(
            KERNEL, n_components=21, learn_period=learn_period, batch_shape=torch.Size(batch_shape)
        )
        assert base.lengthscale.shape == (*batch_shape, 1, 2)
        base.lengthscale = torch.rand(*batch_shape, 1, 2) + 0.5
        if learn_period:
            base.period_length = torch.rand(*batch_shape, 1, 2) + 1
        kernel = ScaleKernel(base, batch_shape=torch.Size(batch_shape))
        kernel.outputscale = torch.rand(batch_shape) + 0.5
        for X in (torch.rand(5, 2), torch.rand(*batch_shape, 5, 2)):
            together = kernel(X).to_dense()
            assert together.shape == (*batch_shape, 5, 5)
            assert kernel(X, diag=True).shape == (*batch_shape, 5)
            for batch in np.ndindex(batch_shape):
                alone = TorusFeatureKernel(KERNEL, index_set=base.features.index_set, learn_period=learn_period)
                alone.lengthscale = base.lengthscale[batch].detach()
                if learn_period:
                    alone.period_length = base.period_length[batch].detach()
                rows = X if X.ndim == 2 else X[batch]
                expected = kernel.outputscale[batch] * alone(rows).to_dense()
                np.testing.assert_allclose(together[batch].detach(), expected.detach(), atol=1e-13)
                np.testing.assert_allclose(kernel[batch](rows).to_dense().detach(), expected.detach(), atol=1e-13)

    def test_batch_of_models(self):
        X, y = make_data(60)
        targets = np.stack([y, y[::-1]])
        base = TorusFeatureKernel(KERNEL, n_components=21, batch_shape=torch.Size([2]))
        base.lengthscale = torch.tensor([[[0.7, 1.1]], [[0.5, 0.4]]])
        together = Model(np.stack([X, X]), targets, base, 0.2).eval()
        new = torch.tensor(X[:5] + 1)
        with torch.no_grad():
            found = together(new.expand(2, 5, 2))
            for batch in range(2):
                alone = TorusFeatureKernel(KERNEL, index_set=base.features.index_set)
                alone.lengthscale = base.lengthscale[batch]
                expected = Model(X, targets[batch], alone, 0.2).eval()(new)
                np.testing.assert_allclose(found.mean[batch], expected.mean, atol=1e-11)
                np.testing.assert_allclose(found.variance[batch], expected.variance, atol=1e-11)

    def test_last_dimension_as_batch(self):
        base = TorusFeatureKernel(TorusKernel(length_scale=0.6, period=[2.0]), n_components=41)
        X = 5 * torch.rand(6, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # GPyTorch is about to drop it
            found = base(X, last_dim_is_batch=True).to_dense()
            diagonal = base(X, diag=True, last_dim_is_batch=True)
            total = AdditiveStructureKernel(base, num_dims=3)(X).to_dense()
        expected = torch.stack([base(X[:, d : d + 1]).to_dense() for d in range(3)])
        np.testing.assert_allclose(found.detach(), expected.detach(), atol=1e-13)
        np.testing.assert_allclose(diagonal.detach(), 1.0, atol=1e-10)
        np.testing.assert_allclose(total.detach(), expected.sum(0).detach(), atol=1e-13)

    def test_last_dimension_as_batch_with_its_own_length_scales_and_periods(self):
        base = TorusFeatureKernel(
            TorusKernel(length_scale=0.6, period=[2.0]), n_components=41, ard_num_dims=3, learn_period=True
        )
        base.lengthscale = torch.tensor([0.3, 0.6, 1.2])
        X = 5 * torch.rand(6, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found = base(X, last_dim_is_batch=True).to_dense().detach()
        for d, length_scale in enumerate([0.3, 0.6, 1.2]):
            alone = TorusFeatureKernel(
                TorusKernel(length_scale=length_scale, period=[2.0]), index_set=base.features.index_set
            )
            np.testing.assert_allclose(found[d], alone(X[:, d : d + 1]).to_dense().detach(), atol=1e-12)

    def test_one_input_with_two_periods(self):
        base = TorusFeatureKernel(KERNEL, n_components=101, active_dims=(1, 1))
        X = 100 * torch.rand(8, 3)
        expected = KERNEL(X[:, [1, 1]].numpy())
        np.testing.assert_allclose(base(X).to_dense().detach(), expected, atol=1e-3)

    def test_sum_with_another_kernel(self):
        X, y = make_data(60)
        kernel = TorusFeatureKernel(KERNEL, n_components=41) + RBFKernel(active_dims=(0,))
        model = Model(X, y, kernel, 0.2)
        matrix = (kernel(torch.tensor(X)).to_dense() + 0.2 * torch.eye(60)).detach()
        expected = torch.distributions.MultivariateNormal(torch.zeros(60), matrix).log_prob(torch.tensor(y))
        np.testing.assert_allclose(model.evidence().item(), expected.item(), atol=1e-9)

    def test_shared_length_scale_unless_asked_for(self):
        shared = TorusKernel(length_scale=0.7, period=PERIOD)
        assert TorusFeatureKernel(shared, n_components=5).lengthscale.shape == (1, 1)
        assert TorusFeatureKernel(shared, n_components=5, ard_num_dims=2).lengthscale.tolist() == [[0.7, 0.7]]
        assert TorusFeatureKernel(KERNEL, n_components=5).lengthscale.shape == (1, 2)

    def test_constraints_and_priors(self):
        prior = gpytorch.priors.LogNormalPrior(0.0, 1.0)
        base = TorusFeatureKernel(
            KERNEL,
            n_components=5,
            lengthscale_constraint=gpytorch.constraints.Interval(0.1, 5.0),
            lengthscale_prior=prior,
            learn_period=True,
            period_length_constraint=gpytorch.constraints.GreaterThan(2.0),
            period_length_prior=prior,
        )
        np.testing.assert_allclose(base.lengthscale.detach()[0], [0.7, 1.1])
        np.testing.assert_allclose(base.period_length.detach()[0], PERIOD)
        values = {name: closure(module) for name, module, _, closure, _ in base.named_priors()}
        assert torch.equal(values["lengthscale_prior"], base.lengthscale)
        assert torch.equal(values["period_length_prior"], base.period_length)
        assert TorusFeatureKernel(KERNEL, n_components=5).raw_lengthscale_constraint.lower_bound == 0.01

    def test_the_period_is_exact_unless_learned(self):
        torch.set_default_dtype(torch.float32)
        kernel = TorusKernel(length_scale=[0.7], period=[0.1])  # which single precision rounds by 1.5e-8
        base = TorusFeatureKernel(kernel, n_components=31)
        assert base.lengthscale.dtype == torch.float32
        X = torch.tensor([[0.0], [2.0**20]])  # 10485760 periods
        np.testing.assert_allclose(base(X).to_dense().detach(), kernel(X.numpy()), atol=1e-4)

    def test_choose_index_set(self):
        base = TorusFeatureKernel(KERNEL, n_components=31, batch_shape=torch.Size([2]))
        base.lengthscale = torch.tensor([[[2.0, 0.3]], [[0.9, 3.0]]])
        chosen = base.choose_index_set(61)
        assert chosen == base.features.index_set == adaptive(TorusKernel(length_scale=[0.9, 0.3]), 61)
        assert base(torch.rand(80, 2)).evaluate_kernel().root.shape == (2, 80, 61)

    def test_state_is_restored(self):
        X = torch.rand(5, 2)
        base = TorusFeatureKernel(KERNEL, n_components=31)
        base.lengthscale = torch.tensor([2.0, 0.3])
        base.choose_index_set(61)
        restored = TorusFeatureKernel(KERNEL, n_components=31)
        restored.load_state_dict(base.state_dict())
        for other in (restored, copy.deepcopy(base)):
            assert torch.equal(other(X).to_dense(), base(X).to_dense())


class TestErrors:
    def test_period_of_a_cartesian_kernel(self):
        with pytest.raises(ValueError, match="period of a Cartesian kernel cannot be learned"):
            TorusFeatureKernel(TorusKernel(Heat("cartesian"), 0.5, OBLIQUE), learn_period=True)

    def test_period_that_is_not_learned(self):
        base = TorusFeatureKernel(KERNEL, n_components=5)
        with pytest.raises(ValueError, match="make it with learn_period=True"):
            base.period_length = 3.0

    def test_inputs_of_another_dimension(self):
        base = TorusFeatureKernel(TorusKernel(length_scale=0.5, period=1.0), index_set=tensor(2, 2))
        with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 2\)"):
            base(torch.zeros(5, 3)).to_dense()
