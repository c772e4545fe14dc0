"""Coverage of 95 % intervals of the function, for every likelihood, and whether quantiles of counts are calibrated.

Functions are drawn from the prior of a circle; all hyperparameters are learned.
"""

import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
from scipy.stats import kstest

from benchmarks.engine import figure
from torusgp import TorusGPRegressor, TorusKernel
from torusgp.fitting.likelihoods import Bernoulli, Gamma, NegativeBinomial, Normal, Poisson, StudentT
from torusgp.kernels.index_sets import tensor

LIKELIHOODS = (Normal(0.25), Poisson(), NegativeBinomial(0.4), Gamma(1.7), Bernoulli(), StudentT(0.2, 4.0))
ROWS = (200, 2000, 20_000)
SET = tensor(1, 20)
LENGTH_SCALE = 0.5  # of the phase


def draw_function(rng):
    """A function from the prior."""
    frequencies = SET.frequencies
    coefficients = TorusKernel("squared_exponential", LENGTH_SCALE, 1.0).coefficients(frequencies)
    twice = np.where(np.arange(len(frequencies)), 2.0, 1.0)
    a, b = np.sqrt(coefficients * twice) * rng.normal(size=(2, len(frequencies)))

    def function(X):
        angles = 2 * np.pi * X @ frequencies.T
        return 0.5 + np.cos(angles) @ a + np.sin(angles) @ b

    return function


def simulate(likelihood, n_rows, seed):
    """Share of points inside the intervals, and the randomised probability integral transform of new counts."""
    rng = np.random.default_rng(seed)
    function = draw_function(rng)
    X, points = rng.uniform(0, 1, (n_rows, 1)), rng.uniform(0, 1, (200, 1))
    state = np.random.RandomState(seed)
    y = likelihood.sample(function(X), state)
    if likelihood.name == "bernoulli" and len(np.unique(y)) < 2:
        return np.nan, np.array([])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = TorusGPRegressor(period=1.0, likelihood=likelihood.name, index_set=SET, n_threads=1).fit(X, y)
    truth = function(points)
    mean, std = model.predict_latent(points, return_std=True)
    if likelihood.name not in ("poisson", "negative_binomial"):
        return np.mean(np.abs(mean - truth) < 1.96 * std), np.array([])
    new = likelihood.sample(truth, state)[:20]
    below, up_to = (model.predict_cumulative(points[:20], value) for value in (new - 1, new))
    return np.mean(np.abs(mean - truth) < 1.96 * std), below + rng.uniform(size=20) * (up_to - below)


def run(simulations, processes=1):
    if processes == 1:
        return _run(simulations, map)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return _run(simulations, partial(pool.map, chunksize=4))


def _run(simulations, each):
    figures = []
    for likelihood in LIKELIHOODS:
        for n_rows in ROWS:
            found = list(each(partial(simulate, likelihood, n_rows), range(simulations)))
            inside = np.array([one for one, _ in found if np.isfinite(one)])
            error = 3 * inside.std() / np.sqrt(len(inside))
            limits = {} if n_rows < 2000 else {"at_least": 0.92 - error, "at_most": 0.97 + error}
            figures.append(figure(f"{likelihood.name}, {n_rows} rows", inside.mean(), **limits))
            print(f"{likelihood.name}, {n_rows}: {inside.mean():.4f} +- {error / 3:.4f}", flush=True)
            levels = np.concatenate([one for _, one in found])
            if len(levels):
                # neighbouring points share a function: chance is that of the simulations, roughly
                value = kstest(levels[:: 20 // 4], "uniform").pvalue
                print(
                    f"  randomised transform of new counts: p value {value:.3f}, mean {levels.mean():.4f}", flush=True
                )
                figures.append(
                    figure(f"  the same: calibrated quantiles, p value, {n_rows} rows", value, at_least=0.001)
                )
    return {f"coverage of 95 % intervals of the function, {simulations} simulations": figures}
