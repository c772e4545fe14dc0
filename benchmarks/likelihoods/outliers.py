"""Five percent of the rows moved by twenty standard deviations of the noise: error of the function, by likelihood."""

import numpy as np

from benchmarks.engine import figure
from torusgp import TorusGPRegressor

N_ROWS, NOISE = 2000, 0.2


def run(_simulations, seeds=range(1000, 1012)):
    errors = {"clean rows, normal": [], "outliers, normal": [], "outliers, Student-t": [], "clean rows, Student-t": []}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, points = rng.uniform(0, 1, (N_ROWS, 2)), rng.uniform(0, 1, (2000, 2))
        y = function(X) + NOISE * rng.normal(size=N_ROWS)
        moved = y.copy()
        far = rng.choice(N_ROWS, N_ROWS // 20, replace=False)
        moved[far] += 20 * NOISE * rng.choice([-1, 1], len(far))
        for name in errors:
            target = moved if name.startswith("outliers") else y
            likelihood = "normal" if name.endswith("normal") else "student_t"
            model = TorusGPRegressor(period=1.0, likelihood=likelihood).fit(X, target)
            errors[name].append(np.mean((model.predict(points) - function(points)) ** 2))
    root = {name: float(np.sqrt(np.mean(values))) for name, values in errors.items()}
    figures = [figure(f"error, {name}", value) for name, value in root.items()]
    ratio = root["outliers, Student-t"] / root["clean rows, normal"]
    figures.append(figure("Student-t with outliers over normal on clean rows", ratio, at_most=1.2))
    return {"outliers": figures}


def function(X):
    a, b = 2 * np.pi * X.T
    return np.sin(a) + 0.5 * np.cos(2 * a - b)
