"""Public functions, axes and families with hostile arguments: finite numbers, or an error that says what is wrong."""

import inspect

import numpy as np

from tests.fuzz.inputs import draw
from tests.fuzz.verdicts import check_finite, outcome
from torusgp import (
    ARNoise,
    CalendarPhases,
    Category,
    Circle,
    CorrelatedNoise,
    Lattice,
    Line,
    Slope,
    TorusGPRegressor,
    TorusKernel,
    WhiteNoise,
    index_sets,
    mean_negative_log_loss,
    spectra,
)

# Arguments without which nothing can be called.
NEEDED = {
    "kernel": TorusKernel(length_scale=[1.0, 0.5]),
    "n_components": 9,
    "dimension": 2,
    "frequencies": np.array([[0, 0], [1, 0]]),
    "indices": None,
    "name": "tensor",
    "input": 1,
    "inputs": (0, 1),
    "cell": [[7.0, 0.0], [1.0, 9.0]],
    "period": 7.0,
    "modulus": 3,
    "family": spectra.Heat(),
    "positions": 24,
    "function": np.cos,
    "y_true": np.zeros(3),
    "y_mean": np.zeros(3),
    "y_std": np.ones(3),
}
AXES = (Circle, Line, Category, Lattice, Slope)
NOISES = (WhiteNoise, CorrelatedNoise, ARNoise)
SETS = tuple(getattr(index_sets, name) for name in index_sets.__all__ if name != "NAMES")
FAMILIES = tuple(one for one in vars(spectra).values() if inspect.isclass(one) and not inspect.isabstract(one))
CALLED = (*AXES, *NOISES, *SETS, *FAMILIES, CalendarPhases, mean_negative_log_loss)


def make_rows():
    """Two inputs, of which the second has levels, too."""
    k = np.arange(40)
    X = np.column_stack([k * 7 % 40 / 4, k * 11 % 5])
    return X, np.sin(X[:, 0]) + X[:, 1] / 4


def case(rng):
    """Call something with one or two hostile arguments, and fit what models are made of."""
    called = CALLED[int(rng.integers(len(CALLED)))]
    accepted = list(inspect.signature(called).parameters.values())
    given = {one.name: NEEDED[one.name] for one in accepted if one.default is inspect.Parameter.empty}
    if "radius" in inspect.signature(called).parameters:
        given["n_components"] = 9
    for name in rng.choice([one.name for one in accepted], min(len(accepted), int(rng.integers(1, 3)))):
        given[str(name)] = draw(rng)
    X, y = make_rows()

    def use():
        made = called(**given)
        if called in AXES:
            kernel = made + Line(0) if rng.random() < 0.5 else made
            model = TorusGPRegressor(kernel, n_components=9).fit(X, y)
        elif called in NOISES:
            model = TorusGPRegressor(period=[10.0, 5.0], n_components=9, noise=made).fit(X, y)
        elif called in FAMILIES:
            model = TorusGPRegressor(made, period=[10.0, 5.0], n_components=9).fit(X, y)
        elif isinstance(made, index_sets.IndexSet):
            model = TorusGPRegressor(period=[10.0, 5.0], index_set=made).fit(X, y)
        else:
            return
        check_finite(*model.predict(X, return_std=True))

    outcome(use)
    return called.__name__
