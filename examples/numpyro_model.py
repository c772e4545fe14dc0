"""A function of two periodic inputs inside a NumPyro model: its length scales are sampled, not only optimised.

The output of a wind turbine is made up, by hour of the day and direction of the wind. The model samples the weights of
the columns together with length scales, signal and noise. The evidence optimum of TorusGPRegressor lies in the middle
of what it finds; here its uncertainty is known too.

    pip install "torusgp[numpyro]"
    python examples/numpyro_model.py
"""

import argparse

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

from torusgp import TorusGPRegressor, TorusKernel
from torusgp.adapters.numpyro import prior_linearized
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


def make_model(kernel, index_set):
    """Model of outputs y at X: a function on the torus, observed with noise."""

    def model(X, y=None):
        length_scale = numpyro.sample("length_scale", dist.LogNormal(0, 1).expand([2]).to_event(1))
        signal_std = numpyro.sample("signal_std", dist.LogNormal(0, 1))
        noise_std = numpyro.sample("noise_std", dist.LogNormal(-1, 1))
        columns, std = prior_linearized(X, kernel, index_set, length_scale)
        standard = numpyro.sample("standard", dist.Normal().expand([index_set.n_components]).to_event(1))
        weights = numpyro.deterministic("weights", signal_std * std * standard)
        numpyro.sample("y", dist.Normal(columns @ weights, noise_std).to_event(1), obs=y)

    return model


def main(n_samples=300, n_draws=300, n_components=61):
    """Sample the model, compare it with the evidence optimum and the truth; returns what is printed."""
    X, y = make_data(n_samples)
    kernel = TorusKernel(length_scale=[0.6, 0.9], period=PERIOD)  # shorter than expected, so that the columns suffice
    index_set = adaptive(kernel, n_components)
    sampler = MCMC(NUTS(make_model(kernel, index_set)), num_warmup=n_draws, num_samples=n_draws, progress_bar=False)
    sampler.run(jax.random.PRNGKey(0), X, y)
    draws = {name: np.asarray(values) for name, values in sampler.get_samples().items()}
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
    values = draws["weights"] @ np.asarray(columns).T
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
