"""A million Poisson counts on two circles: passes, and time in units of one bare transform; GPyTorch on fewer rows."""

import statistics
import time
import tracemalloc

import finufft
import numpy as np

from benchmarks.engine import figure
from torusgp import TorusGPRegressor
from torusgp.kernels.index_sets import tensor

N_ROWS, N_ROWS_SVGP = 10**6, 10**4
HARMONICS = 10  # of each circle: 441 columns


def make_data(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n_rows, 2))
    return X, rng.poisson(np.exp(log_rate(X))).astype(float)


def log_rate(X):
    a, b = 2 * np.pi * X.T
    return np.log(0.3) + 0.8 * np.sin(a) + 0.5 * np.cos(b) * np.sin(2 * a)


def bare_transform(X, y):
    """Seconds of one transform of type 1 on the box of the Gram matrix."""
    phases = [np.ascontiguousarray(2 * np.pi * column) for column in X.T]
    start = time.perf_counter()
    finufft.nufft2d1(*phases, y.astype(complex), (4 * HARMONICS + 1,) * 2, eps=1e-12, nthreads=1)
    return time.perf_counter() - start


def fit(X, y):
    model = TorusGPRegressor(period=1.0, likelihood="poisson", index_set=tensor(2, HARMONICS), n_threads=1)
    start = time.perf_counter()
    return model.fit(X, y), time.perf_counter() - start


def error(predict):
    points = np.random.default_rng(1).uniform(0, 1, (5000, 2))
    return float(np.sqrt(np.mean((predict(points) - log_rate(points)) ** 2)))


def run(_simulations):
    X, y = make_data(N_ROWS)
    bare = [bare_transform(X, y) for _ in range(3)]
    model, seconds = fit(X, y)
    bare += [bare_transform(X, y) for _ in range(3)]
    tracemalloc.start()
    few = fit(X[: N_ROWS // 4], y[: N_ROWS // 4])
    quarter = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    fit(X, y)
    whole = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del few
    figures = [
        figure("passes over the rows", model.fitted_.n_passes, at_most=15),
        figure("seconds in bare transforms of the same rows", seconds / statistics.median(bare), at_most=40),
        figure("fit (s)", seconds),
        figure("error of the log rate", error(model.predict_latent)),
        figure("peak memory of a fit (MiB), numpy's", whole / 2**20),
        figure("the same of a quarter of the rows", quarter / 2**20),
    ]
    try:
        from benchmarks.likelihoods.variational import fit_svgp
    except ImportError:
        return {"counts, a million rows": figures}
    predict, svgp_seconds = fit_svgp(X[:N_ROWS_SVGP], y[:N_ROWS_SVGP])
    svgp_error = error(predict)
    same, same_seconds = fit(X[:N_ROWS_SVGP], y[:N_ROWS_SVGP])
    figures += [
        figure("SVGP on 10,000 rows (s)", svgp_seconds),
        figure("its error of the log rate", svgp_error),
        figure("ours on the same rows (s)", same_seconds, at_most=svgp_seconds),
        figure("its error of the log rate, ours", error(same.predict_latent)),
        figure("time on all rows over SVGP's on 10,000", seconds / svgp_seconds, at_most=1),
        figure("error on all rows over SVGP's on 10,000", error(model.predict_latent) / svgp_error, at_most=1),
    ]
    return {"counts, a million rows": figures}
