"""Interacting seasons and a trend in one GPyTorch model.

Three years of scattered measurements are made up: the shape of the day changes over the year, and beside it there is a
slow drift. A kernel on the torus of day and year is added to one of GPyTorch's own, and both learn by its gradients.
Times in between are predicted better than by either alone.

    pip install "torusgp[gpytorch]"
    python examples/gpytorch_model.py
"""

import argparse

import gpytorch
import numpy as np
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from sklearn.metrics import r2_score

from torusgp import TorusKernel, mean_negative_log_loss
from torusgp.adapters.gpytorch import TorusFeatureKernel

PERIOD = (1.0, 365.25)  # days
NOISE_STD = 0.4


def make_data(n_samples, random_state=0):
    """Scattered times in days, measurements, and what they measure without noise."""
    rng = np.random.default_rng(random_state)
    time = rng.uniform(0, 3 * 365.25, n_samples)
    day, year = 2 * np.pi * time / PERIOD[0], 2 * np.pi * time / PERIOD[1]
    seasons = np.exp(np.cos(day - np.cos(year))) * (1.5 + np.cos(year))
    signal = seasons + 2 * np.sin(time / 150) * time / 1000  # a drift that does not repeat
    return time[:, None], signal + rng.normal(0, NOISE_STD, n_samples), signal


class Model(gpytorch.models.ExactGP):
    """Gaussian process with the kernel given, around a constant that is learned."""

    def __init__(self, X, y, kernel):
        super().__init__(torch.as_tensor(X), torch.as_tensor(y), gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernel
        self.double()  # times and periods need it

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def make_kernels():
    """The seasons: one input with two periods. The trend: GPyTorch's own kernel of the same input."""
    torus = TorusKernel(length_scale=[1.0, 1.0], period=PERIOD)
    seasons = ScaleKernel(TorusFeatureKernel(torus, n_components=101, active_dims=(0, 0)))
    trend = RBFKernel(lengthscale_constraint=gpytorch.constraints.GreaterThan(30.0))
    trend.lengthscale = 100.0
    return seasons, ScaleKernel(trend)


def learn(model):
    """Maximise the evidence; returns its logarithm."""
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = -evidence(model(*model.train_inputs), model.train_targets)
        value.backward()
        return value

    optimizer.step(loss)
    return -len(model.train_targets) * loss().item()


def predict(model, X):
    """Mean and standard deviation of new measurements."""
    model.eval()
    with torch.no_grad():
        predicted = model.likelihood(model(torch.as_tensor(X)))
    return predicted.mean.numpy(), predicted.stddev.numpy()


def main(n_samples=500):
    """Learn three models, print how they predict times in between; returns what is printed."""
    X, y, _ = make_data(n_samples)
    new_X, new_y, new_signal = make_data(1000, random_state=1)
    print(f"{n_samples} measurements in three years, 1000 more to predict")
    print(f"{'kernel':18}{'log evidence':>14}{'R2':>8}{'log loss':>10}")
    scores = {}
    for name in ("seasons + trend", "seasons", "trend"):
        seasons, trend = make_kernels()
        model = Model(X, y, {"seasons + trend": seasons + trend, "seasons": seasons, "trend": trend}[name])
        log_evidence = learn(model)
        mean, std = predict(model, new_X)
        scores[name] = {
            "log_evidence": log_evidence,
            "r2": r2_score(new_y, mean),
            "log_loss": mean_negative_log_loss(new_y, mean, std),
            "noise_std": model.likelihood.noise.sqrt().item(),
        }
        print(f"{name:18}{log_evidence:14.1f}{scores[name]['r2']:8.3f}{scores[name]['log_loss']:10.3f}")
    limit = mean_negative_log_loss(new_y, new_signal, np.full(len(new_y), NOISE_STD))
    scores["the truth"] = {"r2": r2_score(new_y, new_signal), "log_loss": limit}
    print(f"{'the truth':32}{scores['the truth']['r2']:8.3f}{limit:10.3f}")
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500, help="number of measurements")
    main(parser.parse_args().rows)
