"""Noise whose standard deviation changes tenfold over the day, and noise that does not change: log loss of new rows."""

import numpy as np
from scipy.stats import norm

from benchmarks.engine import figure
from torusgp import Circle, TorusGPRegressor

N_ROWS, N_NEW = 2000, 20_000


def run(_simulations, seeds=5):
    lost = {ratio: [] for ratio in (10.0, 1.0)}
    beside = []
    for seed in range(seeds):
        for ratio, losses in lost.items():
            rng = np.random.default_rng(seed)
            X = rng.uniform(0, 24, (N_ROWS + N_NEW, 1))
            f, wave = np.sin(2 * np.pi * X[:, 0] / 24), np.cos(2 * np.pi * X[:, 0] / 24)
            std = 0.1 * np.exp(0.5 * np.log(ratio) * (1 + wave))
            y = f + std * rng.normal(size=len(X))
            model = TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24)).fit(X[:N_ROWS], y[:N_ROWS])
            new = slice(N_ROWS, None)
            found = model.log_predictive_density(X[new], y[new]).mean()
            losses.append(norm.logpdf(y[new], f[new], std[new]).mean() - found)
            if ratio == 1.0:
                plain = TorusGPRegressor(Circle(0, 24)).fit(X[:N_ROWS], y[:N_ROWS])
                beside.append(plain.log_predictive_density(X[new], y[new]).mean() - found)
    return {
        "noise that changes": [
            figure("tenfold: log loss beyond the truth's", np.mean(lost[10.0]), at_most=0.02),
            figure("constant: log loss beyond the truth's", np.mean(lost[1.0])),
            figure("constant: log loss beyond that of one noise variance", np.mean(beside), at_most=0.005),
        ]
    }
