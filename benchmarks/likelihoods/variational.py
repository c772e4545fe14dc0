"""GPyTorch's variational process with Poisson counts."""

import time

import gpytorch
import numpy as np
import torch

from benchmarks.peers.gpytorch_models import _VariationalModel

_N_INDUCING, _N_EPOCHS, _BATCH = 300, 15, 500


class PoissonLikelihood(gpytorch.likelihoods._OneDimensionalLikelihood):
    """Counts whose log rate is the function."""

    def forward(self, function_samples, **_):
        return torch.distributions.Poisson(torch.exp(function_samples))


def fit_svgp(X, y):
    """A function that predicts log rates, and the seconds of its fit."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    phases, counts = torch.as_tensor(2 * np.pi * X), torch.as_tensor(y)
    start = time.perf_counter()
    model = _VariationalModel(phases[torch.randperm(len(phases))[:_N_INDUCING]].clone()).double()
    likelihood = PoissonLikelihood().double()
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, len(y))
    natural = gpytorch.optim.NGD(model.variational_parameters(), num_data=len(y), lr=0.1)
    others = torch.optim.Adam(model.hyperparameters(), lr=0.01)
    model.train()
    for _ in range(_N_EPOCHS):
        for chosen in torch.randperm(len(y)).split(_BATCH):
            natural.zero_grad()
            others.zero_grad()
            loss = -bound(model(phases[chosen]), counts[chosen])
            loss.backward()
            natural.step()
            others.step()
    seconds = time.perf_counter() - start
    model.eval()

    def predict(points):
        with torch.no_grad():
            return model(torch.as_tensor(2 * np.pi * points)).mean.numpy()

    return predict, seconds
