"""A function of two periodic inputs inside a PyMC model: its length scales are sampled, not only optimised.

The output of a wind turbine is made up, by hour of the day and direction of the wind. The model samples the weights of
the columns together with length scales, signal and noise. The evidence optimum of TorusGPRegressor lies in the middle
of what it finds; here its uncertainty is known too.

    pip install "torusgp[pymc]"
    python examples/pymc_model.py
"""

import argparse

import numpy as np
import pymc as pm

from torusgp import TorusGPRegressor, TorusKernel
from torusgp.adapters.pymc import prior_linearized
from torusgp.kernels.index_sets import adaptive

PERIOD = (24.0, 360.0)  # hours, degrees
NOISE_STD = 0.3  # megawatts


def output(X):
    """Output in megawatts, without noise, at hours and directions."""
    hour, direction = 2 * np.pi * X.T / np.array(PERIOD)[:, None]
    sea_breeze = 2 * np.exp((np.cos(hour - 2 - 0.7 * np.sin(direction)) - 1) / 0.5) * (1 + 0.6 * np.cos(direction))
    return sea_breeze - 0.6 * np.exp((np.cos(hour - 5) - 1) / 0.3) * np.sin(direction)


def make_data(n_samples, random_state=0):
    """Scattered hours and directions, and the output with noise."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(size=(n_samples, 2)) * PERIOD
    return X, output(X) + rng.normal(0, NOISE_STD, n_samples)


def make_model(kernel, index_set, X, y):
    """Model of outputs y at X: a function on the torus, observed with noise."""
    with pm.Model() as model:
        length_scale = pm.LogNormal("length_scale", 0, 1, shape=2)
        signal_std = pm.LogNormal("signal_std", 0, 1)
        noise_std = pm.LogNormal("noise_std", -1, 1)
        columns, std = prior_linearized(X, kernel, index_set, length_scale)
        weights = pm.Deterministic("weights", signal_std * std * pm.Normal("standard", size=index_set.n_components))
        pm.Normal("y", columns @ weights, noise_std, observed=y)
    return model


def main(n_samples=300, n_draws=300, n_components=61):
    """Sample the model, compare it with the evidence optimum and the truth; returns what is printed."""
    X, y = make_data(n_samples)
    kernel = TorusKernel(length_scale=[0.6, 0.9], period=PERIOD)  # shorter than expected, so that the columns suffice
    index_set = adaptive(kernel, n_components)
    with make_model(kernel, index_set, X, y):
        trace = pm.sample(n_draws, tune=n_draws, chains=1, cores=1, random_seed=0, progressbar=False)
    draws = {name: values.to_numpy()[0] for name, values in trace.posterior.items()}
    optimum = TorusGPRegressor(period=PERIOD, index_set=index_set, intercept=False).fit(X, y)
    return report(draws, optimum, kernel, index_set)


def report(draws, optimum, kernel, index_set):
    """Print and return the optimum, the posterior, and the error of its mean at new points."""
    parameters = {
        "length scale, hour": (optimum.kernel_.length_scale[0], draws["length_scale"][:, 0]),
        "length scale, direction": (optimum.kernel_.length_scale[1], draws["length_scale"][:, 1]),
        "signal": (np.sqrt(optimum.signal_variance_), draws["signal_std"]),
        "noise": (np.sqrt(optimum.noise_variance_), draws["noise_std"]),
    }
    print(f"{'':25}{'evidence optimum':>18}{'posterior':>18}{'apart by':>12}")
    found = {}
    for name, (best, sampled) in parameters.items():
        best, mean, std = float(best), float(sampled.mean()), float(sampled.std())
        found[name] = {"optimum": best, "mean": mean, "std": std}
        print(f"{name:25}{best:18.3f}{mean:12.3f} +-{std:6.3f}{abs(best - mean) / std:9.1f} sd")
    new, _ = make_data(1000, random_state=1)
    columns, _ = prior_linearized(new, kernel, index_set, kernel.length_scale)
    values = draws["weights"] @ columns.eval().T
    found["error"] = float(np.sqrt(np.mean((values.mean(axis=0) - output(new)) ** 2)))
    low, high = np.quantile(values, [0.05, 0.95], axis=0)
    found["coverage"] = float(np.mean((low < output(new)) & (output(new) < high)))
    print(
        f"Error of the mean at new points {found['error']:.3f} MW, one observation {NOISE_STD} MW; "
        f"90 % intervals hold {found['coverage']:.0%}"
    )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=300, help="number of draws, and of steps before them")
    main(n_draws=parser.parse_args().draws)
