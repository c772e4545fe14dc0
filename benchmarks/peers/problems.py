"""The problems on which methods are compared: made functions on a torus, a robot arm, and demand for electricity."""

from dataclasses import dataclass

import numpy as np

from benchmarks.learned import ARM_NOISE, arm_rows
from torusgp import datasets

N_TEST = 10_000  # rows of a made problem that are held out
NOISE_STD = 0.3  # of the made problems


@dataclass(frozen=True)
class Problem:
    """Training rows, held-out rows and the periods of the inputs, which every method is told."""

    name: str
    period: np.ndarray
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    truth_test: np.ndarray | None = None  # held-out values without noise, where they are known
    noise_std: float | None = None  # where it is known


class MissingDataError(Exception):
    """Data that cannot be read; the text says why and what to do."""


def toy_function(phases):
    """Two angles: one shifts and scales the wave of the other, and a wave runs obliquely to both."""
    first, second = phases.T
    return np.exp(np.cos(first - np.cos(second))) * (1.5 + np.cos(second)) + np.sin(2 * first + 3 * second)


def ring_function(phases):
    """Six angles in a ring, each shifting the wave of the one before; one wave of three angles and one of two."""
    waves = np.exp(np.cos(phases - np.cos(np.roll(phases, -1, axis=1)))).sum(axis=1)
    return waves / 2 + np.sin(phases[:, 0] + phases[:, 2] - phases[:, 4]) + np.cos(2 * phases[:, 1] - phases[:, 5])


def make_rows(function, dimension, n_samples, random_state):
    """Uniform inputs of period one, values of a function of their phases with noise, and values without."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0, 1, (n_samples, dimension))
    truth = function(2 * np.pi * X)
    return X, truth + NOISE_STD * rng.normal(size=n_samples), truth


def _made(name, function, dimension, n_samples, n_test):
    X, y, _ = make_rows(function, dimension, n_samples, random_state=0)
    held_out = make_rows(function, dimension, n_test, random_state=1)
    return Problem(name, np.ones(dimension), X, y, *held_out, NOISE_STD)


def toy(n_samples, n_test=N_TEST):
    """Two inputs whose effects do not add up."""
    return _made("toy", toy_function, 2, n_samples, n_test)


def ring(n_samples, n_test=N_TEST):
    """Six inputs with interactions of two and three."""
    return _made("ring", ring_function, 6, n_samples, n_test)


def arm(n_samples, n_test=4_000):
    """Eight joints of a robot arm and the distance of its end from a point."""
    return Problem("arm", np.full(8, 2 * np.pi), *arm_rows(n_samples, n_test, with_truth=True), ARM_NOISE)


def electricity(n_samples=None, n_test=None):
    """Half-hourly demand in MW: two years to learn from, the third held out.

    Fewer rows than there are stand at equal distances.
    """
    try:
        data = datasets.load_electricity_demand()
    except (OSError, ValueError) as error:
        raise MissingDataError(str(error)) from error
    X, X_test, y, y_test = data.split()
    some, others = _spread(len(X), n_samples), _spread(len(X_test), n_test)
    return Problem("electricity", np.array(data.period), X[some], y[some], X_test[others], y_test[others])


def _spread(n_all, n_some):
    """Positions of so many of all rows, at equal distances."""
    return np.arange(n_all) if n_some is None else np.linspace(0, n_all - 1, min(n_some, n_all)).round().astype(int)


PROBLEMS = {"toy": toy, "electricity": electricity, "ring": ring, "arm": arm}
TITLES = {
    "toy": "Two inputs whose effects do not add up",
    "electricity": "Demand for electricity by hour, weekday and day of the year",
    "ring": "Six inputs with interactions of two and three",
    "arm": "Eight joints of a robot arm",
}
