"""GPyTorch's exact and variational Gaussian processes with the kernel that torusgp has by default.

The kernel is evaluated on cosines and sines of phases, where it is a squared exponential with one length scale for each
pair: the same values as ``PeriodicKernel(ard_num_dims=...)`` from one matrix product.
"""

import time

import gpytorch
import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal

from benchmarks.peers.common import SEED, some_rows

_CHUNK_ROWS = 2_000  # points predicted at once


class PeriodicProductKernel(gpytorch.kernels.Kernel):
    """Product of periodic squared exponentials of inputs that are phases in radians."""

    has_lengthscale = True

    def forward(self, x1, x2, diag=False, **params):
        distance = self.covar_dist(self._circles(x1), self._circles(x2), square_dist=True, diag=diag, **params)
        return torch.exp(-distance / 2)

    def _circles(self, phases):
        return torch.cat([torch.cos(phases) / self.lengthscale, torch.sin(phases) / self.lengthscale], dim=-1)


def _make_kernel(dimension):
    kernel = PeriodicProductKernel(ard_num_dims=dimension)
    kernel.lengthscale = torch.ones(1, dimension)
    return gpytorch.kernels.ScaleKernel(kernel)


class _ExactModel(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = _make_kernel(X.shape[1])

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class _VariationalModel(gpytorch.models.ApproximateGP):
    def __init__(self, inducing_points):
        distribution = gpytorch.variational.NaturalVariationalDistribution(len(inducing_points))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing_points, distribution))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = _make_kernel(inducing_points.shape[1])

    def forward(self, x):
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


class _GPyTorch:
    """Scaling of the targets and prediction, which both models share."""

    def __init__(self, period):
        self.period = period

    def _inputs(self, X):
        return torch.as_tensor(2 * np.pi * np.asarray(X) / self.period)

    def _targets(self, y):
        self._center, self._scale = float(np.mean(y)), float(np.std(y))
        return torch.as_tensor((y - self._center) / self._scale)

    def _make_likelihood(self):
        torch.set_num_threads(1)
        torch.manual_seed(SEED)
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        likelihood.noise = 0.1
        return likelihood

    def predict(self, X):
        self._model.eval()
        self._likelihood.eval()
        means, variances = [], []
        with torch.no_grad(), gpytorch.settings.max_cholesky_size(10**6):
            for part in torch.split(self._inputs(X), _CHUNK_ROWS):
                predicted = self._likelihood(self._model(part))
                means.append(predicted.mean)
                variances.append(predicted.variance)
        mean, variance = torch.cat(means).numpy(), torch.cat(variances).numpy()
        return self._center + self._scale * mean, self._scale * np.sqrt(variance)


class GPyTorchExact(_GPyTorch):
    """Exact regression on some of the rows, hyperparameters by L-BFGS."""

    def __init__(self, period, max_rows=2_000, max_iterations=60):
        super().__init__(period)
        self.max_rows, self.max_iterations = max_rows, max_iterations

    def fit(self, X, y):
        rows = some_rows(len(X), self.max_rows)
        X, y = self._inputs(X[rows]), self._targets(y[rows])
        likelihood = self._make_likelihood()
        model = _ExactModel(X, y, likelihood).double().train()
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        optimiser = torch.optim.LBFGS(
            model.parameters(), max_iter=self.max_iterations, tolerance_change=1e-7, line_search_fn="strong_wolfe"
        )
        n_evaluations = 0

        def loss():
            nonlocal n_evaluations
            n_evaluations += 1
            optimiser.zero_grad()
            value = -evidence(model(X), y)
            value.backward()
            return value

        with gpytorch.settings.max_cholesky_size(10**6):  # beyond, its iterative solvers give noisy gradients
            optimiser.step(loss)
        self._model, self._likelihood = model, likelihood
        self.details = {"rows": len(rows), "evaluations": n_evaluations}
        return self


class GPyTorchVariational(_GPyTorch):
    """Stochastic variational regression on all rows: natural gradients for the distribution, Adam for the rest.

    Training ends when the mean loss of a window of steps is no longer lower than that of the window before by
    ``tolerance``; when that happens first, the steps become ten times shorter instead.
    """

    def __init__(
        self,
        period,
        n_inducing=300,
        batch_rows=1_000,
        natural_rate=0.1,
        rate=0.02,
        window=100,
        tolerance=5e-4,
        max_seconds=60.0,  # of the processor
    ):
        super().__init__(period)
        self.n_inducing, self.batch_rows = n_inducing, batch_rows
        self.natural_rate, self.rate = natural_rate, rate
        self.window, self.tolerance, self.max_seconds = window, tolerance, max_seconds

    def fit(self, X, y):
        start = time.process_time()
        X, y = self._inputs(X), self._targets(y)
        likelihood = self._make_likelihood().train()
        model = _VariationalModel(X[some_rows(len(X), self.n_inducing)].clone()).double().train()
        bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
        optimisers = [
            gpytorch.optim.NGD(model.variational_parameters(), num_data=len(X), lr=self.natural_rate),
            torch.optim.Adam([*model.hyperparameters(), *likelihood.parameters()], lr=self.rate),
        ]
        losses, shortened, flat = [], False, False
        batches = self._batches(len(X))
        while not flat and time.process_time() - start < self.max_seconds:
            rows = next(batches)
            for optimiser in optimisers:
                optimiser.zero_grad()
            loss = -bound(model(X[rows]), y[rows])
            loss.backward()
            for optimiser in optimisers:
                optimiser.step()
            losses.append(loss.item())
            if len(losses) % self.window == 0 and is_flat(losses, self.window, self.tolerance):
                flat, shortened = shortened, True
                for group in (group for optimiser in optimisers for group in optimiser.param_groups):
                    group["lr"] /= 10
        self._model, self._likelihood = model, likelihood
        self.details = {"rows": len(X), "inducing points": self.n_inducing, "steps": len(losses), "flat": flat}
        return self

    def _batches(self, n_rows):
        while True:
            yield from torch.split(torch.randperm(n_rows), self.batch_rows)


def is_flat(losses, window, tolerance):
    """Whether the mean of the last window of losses is not lower than that of the one before by a tolerance."""
    if len(losses) < 2 * window:
        return False
    return np.mean(losses[-window:]) > np.mean(losses[-2 * window : -window]) - tolerance
