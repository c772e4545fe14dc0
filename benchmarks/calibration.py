"""Coverage of 95 % intervals of the function, on draws from the prior, by dimension, rows, family, noise and learning.

python -m benchmarks calibration [--sets N] [--rows N ...] [--dimensions D ...] [--quick]

Every data set is a draw of the exact kernel, so that the model is right and only its calibration is tested. Coverage is
averaged over points of a set, and its Monte Carlo error is that of the mean over sets.
"""

import argparse
import itertools
import warnings

import numpy as np
from scipy.special import ndtri

from torusgp import TorusGPRegressor, TorusKernel

LENGTH_SCALES = {1: 0.6, 2: 0.9, 3: 1.2}
N_POINTS, COVERAGE, JITTER = 50, 0.95, 1e-10
FAMILIES, NOISES = ("squared_exponential", "matern52"), (0.1, 0.5)
POOR = 0.5  # coverage of a single set that would mislead


def coverage_of_set(rng, dimension, n_rows, family, noise, learned):
    """Share of points whose interval holds the function."""
    scale = LENGTH_SCALES[dimension]
    X = rng.uniform(size=(n_rows + N_POINTS, dimension))
    gram = TorusKernel(family, period=1.0, length_scale=scale)(X)
    function = np.linalg.cholesky(gram + JITTER * np.eye(len(gram))) @ rng.normal(size=len(gram)) + rng.normal()
    y = function[:n_rows] + noise * rng.normal(size=n_rows)
    given = {} if learned else {"length_scale": scale, "learn": (), "noise_variance": noise**2, "n_components": 601}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TorusGPRegressor(family, period=1.0, **given).fit(X[:n_rows], y)
    mean, std = model.predict(X[n_rows:], return_std=True, include_noise=False)
    return np.mean(np.abs(function[n_rows:] - mean) <= ndtri(0.5 + COVERAGE / 2) * std)


def main(words):
    parser = argparse.ArgumentParser(prog="python -m benchmarks calibration")
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 100, 300])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few sets of few rows")
    chosen = parser.parse_args(words)
    if chosen.quick:
        chosen.sets, chosen.rows, chosen.dimensions = 5, [30], [1]
    print(
        f"{'D':>2} {'rows':>5}  {'family':20} {'noise':>5}  {'learned':8} {'coverage':>16}  {'worst':>5}  below {POOR}"
    )
    cases = itertools.product(chosen.dimensions, chosen.rows, FAMILIES, NOISES, (True, False))
    for number, (dimension, n_rows, family, noise, learned) in enumerate(cases):
        rng = np.random.default_rng([chosen.seed, number])
        found = np.array([coverage_of_set(rng, dimension, n_rows, family, noise, learned) for _ in range(chosen.sets)])
        error = found.std(ddof=1) / np.sqrt(len(found))
        what = "learned" if learned else "given"
        print(
            f"{dimension:2} {n_rows:5}  {family:20} {noise:5}  {what:8} {found.mean():8.3f} ± {error:.3f}  "
            f"{found.min():5.2f}  {np.sum(found < POOR)} of {len(found)}",
            flush=True,
        )
