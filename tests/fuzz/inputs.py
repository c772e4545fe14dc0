"""Estimators with hostile parameters and rows: finite numbers, or an error that says what is wrong."""

import numpy as np

from tests.fuzz.verdicts import check_finite, outcome
from torusgp import (
    BayesianFeatureRegressor,
    Circle,
    IndexSetFourierFeatures,
    Line,
    TorusGPRegressor,
    TorusKernel,
    WarpedFourierFeatures,
    find_period,
)

HOSTILE = (
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    1e-300,
    1e300,
    0.5,
    float("nan"),
    float("inf"),
    "",
    "auto",
    "text",
    (),
    [],
    {},
    [1],
    [1, 2],
    ("length_scale",),
    [float("nan")],
    [[1, 0], [0, 1]],
    np.zeros(0),
    np.zeros((2, 2)),
    np.array([1j]),
    object,
    len,
    b"bytes",
    {"a": 1},
)
CLASSES = (TorusGPRegressor, BayesianFeatureRegressor, IndexSetFourierFeatures, WarpedFourierFeatures, TorusKernel)


def draw(rng):
    return HOSTILE[int(rng.integers(len(HOSTILE)))]


def rows(rng):
    """Good rows, of which something may be spoilt."""
    n = int(rng.choice([0, 1, 2, 3, 20, 60]))
    X, y = rng.uniform(0, 10, (n, 2)), rng.normal(size=n)
    spoilt = rng.integers(12)
    if spoilt == 0 and n:
        X[rng.integers(n), 0] = rng.choice([np.nan, np.inf, 1e200, -1e200, 1e18])
    elif spoilt == 1 and n:
        y[rng.integers(n)] = rng.choice([np.nan, np.inf, 1e200, 1e-200])
    elif spoilt == 2:
        X = np.ma.masked_greater(X, 5)
    elif spoilt == 3:
        y = y.astype("M8[s]")
    elif spoilt == 4:
        X = X.astype(object)
    elif spoilt == 5:
        X = np.full_like(X, 3.0)
    elif spoilt == 6:
        y = np.full_like(y, rng.choice([0.0, 1e12, -3.0]))
    elif spoilt == 7:
        X, y = X * 10.0 ** rng.integers(-200, 200), y * 10.0 ** rng.integers(-200, 200)
    elif spoilt == 8:
        y = y + 10.0 ** rng.integers(5, 18)
    elif spoilt == 9:
        y = draw(rng)
    elif spoilt == 10:
        X = draw(rng)
    return X, y


def parameters(rng):
    """A class with one or two hostile parameters, and otherwise small and quick."""
    kind = CLASSES[int(rng.integers(len(CLASSES)))]
    given = {"period": 10.0}
    if kind is BayesianFeatureRegressor:
        given = {"transformer": IndexSetFourierFeatures(period=10.0, n_components=9)}
    elif kind is not TorusKernel:
        given["n_components"] = 9
    names = [name for name in kind.__init__.__annotations__ if name != "return"]
    names = names or list(kind().get_params(deep=False))
    if "kernel" in names and rng.random() < 0.3:
        given = {"kernel": (Circle(0, 10.0) + Line(1), Line(1), Circle(1, 5.0) * Circle(0, 3.0))[int(rng.integers(3))]}
    for name in rng.choice(names, int(rng.integers(0, 3))):
        if name not in ("verbose", "backend", "n_threads"):
            given[str(name)] = draw(rng)
    return kind, given


def case(rng):
    """Make, fit, predict."""
    kind, given = parameters(rng)
    X, y = rows(rng)
    good = rng.uniform(0, 10, (3, 2))

    def use():
        estimator = kind(**given)
        if kind is TorusKernel:
            check_finite(estimator(X))
        elif hasattr(estimator, "predict"):
            extras = {}
            if rng.random() < 0.2:
                extras[rng.choice(["sample_weight", "noise_scale"][: 1 + (kind is TorusGPRegressor)])] = draw(rng)
            estimator.fit(X, y, **extras)
            check_finite(*estimator.predict(good, return_std=True))
        else:
            check_finite(estimator.fit(X).transform(good))

    outcome(use)
    return kind.__name__


def search(rng):
    """A search for periods in anything."""
    X, y = rows(rng)
    options = {}
    if rng.random() < 0.3:
        name = rng.choice(["period", "max_periods", "min_period", "max_period", "min_gain", "lattice"])
        options[str(name)] = draw(rng)
    result = outcome(lambda: find_period(X, y, **options))
    return "refused" if result == "refused" else "searched"
