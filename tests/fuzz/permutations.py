"""Inputs and rows in another order: the same model of the same data, whose predictions are the same."""

import warnings

import numpy as np

from tests.fuzz.verdicts import FindingError
from torusgp import Category, Circle, Line, TorusGPRegressor
from torusgp.kernels.index_sets import euclidean, hyperbolic_cross, tensor

AGREES = 1e-3  # of a standard deviation: an optimiser stops a little elsewhere


def case(rng):
    """Compare a model of permuted inputs and rows with that of the data as they are."""
    n, dimension = int(rng.choice([30, 60, 150])), int(rng.integers(2, 4))
    X, points = rng.uniform(size=(n, dimension)), rng.uniform(size=(20, dimension))
    y = np.sin(2 * np.pi * X[:, 0] / 2) * np.cos(2 * np.pi * X[:, -1] / 2) + rng.choice([0.1, 0.5]) * rng.normal(size=n)
    columns, rows = rng.permutation(dimension), rng.permutation(n)
    kind = str(rng.choice(["torus", "expression"]))
    learn = () if rng.random() < 0.3 else ("length_scale", "noise_variance")
    if kind == "torus":  # sets without a preferred input; those of so many components part ties by their order
        radius = int(rng.integers(1, 4))
        index_set = (tensor(dimension, radius), hyperbolic_cross(dimension, radius), euclidean(dimension, radius))[
            int(rng.integers(3))
        ]
        given = [{"period": 2.0, "index_set": index_set, "learn": learn}] * 2
    else:  # with components enough that none has to be left out
        kinds = rng.integers(3, size=dimension)
        X[:, kinds == 2] = np.floor(4 * X[:, kinds == 2])
        points[:, kinds == 2] = np.floor(4 * points[:, kinds == 2])
        X[:4, kinds == 2] = np.arange(4.0)[:, None]
        given = [{"kernel": _sum(kinds, order), "n_components": 401} for order in (np.arange(dimension), columns)]
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one, order, taken in zip(given, (np.arange(dimension), columns), (np.arange(n), rows), strict=True):
            model = TorusGPRegressor(**one, integrate=False).fit(X[taken][:, order], y[taken])
            results.append(model.predict(points[:, order], return_std=True))
    difference = np.max(np.abs(results[0] - np.asarray(results[1])) / results[0][1])
    if not difference <= AGREES:
        raise FindingError(f"predictions of permuted inputs differ by {difference:.3g} standard deviations")
    return kind


def _sum(kinds, order):
    """Sum of an effect for each input, whatever its place."""
    factors = [(Line(place), Circle(place, 2.0), Category(place))[kinds[old]] for place, old in enumerate(order)]
    whole = factors[0]
    for one in factors[1:]:
        whole = whole + one
    return whole
