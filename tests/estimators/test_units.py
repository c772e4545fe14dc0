"""Units and origins of inputs change nothing that is learned; positions of a circle have no more frequencies than that.

What they do change is rounding, and that is far below the tolerance.
"""

import numpy as np
import pandas as pd
import pytest

from torusgp import Category, Circle, Line, Slope, TorusGPRegressor

CHANGES = [(1e-3, 0.0), (1e3, 0.0), (1.0, 137.3), (3600.0, 1.7e9)]
FEW = 1e-3  # of a standard deviation


def data(n_days=400):
    rng = np.random.default_rng(0)
    day, numbers = np.arange(float(n_days)), rng.uniform(size=(n_days, 3))
    return rng, day, numbers


def line(**options):
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0, 20, 200))
    y = np.sin(time) + 0.3 * np.cos(3.1 * time) + 0.1 * rng.normal(size=200)
    return lambda unit, origin: (Line(0, **options), time[:, None] * unit + origin), y, {}


def circle():
    rng, day, _ = data()
    y = np.sin(2 * np.pi * day / 30.3) + 0.1 * rng.normal(size=len(day))
    return lambda unit, origin: (Circle(0, 30.3 * unit, "matern32") + Slope(0), day[:, None] * unit + origin), y, {}


def learned_set():
    rng, day, numbers = data()
    y = np.sin(day / 40) + numbers[:, 0] * numbers[:, 1] + 0.1 * rng.normal(size=len(day))
    kernel = Line(0) * Line(1) * Line(2) * Line(3)
    return lambda unit, origin: (kernel, np.column_stack([day * unit + origin, numbers])), y, {"index_set": "learned"}


def learned_period():
    rng, day, _ = data()
    y = np.sin(2 * np.pi * day / 9.3) + 0.3 * np.sin(4 * np.pi * day / 9.3) + 0.1 * rng.normal(size=len(day))
    return lambda unit, origin: (Circle(0, "auto"), day[:, None] * unit + origin), y, {}


def learned_period_and_set():
    rng, day, numbers = data(200)
    y = np.sin(2 * np.pi * day / 7) + np.cos(4 * np.pi * day / 7) * numbers[:, 0] + 0.1 * rng.normal(size=len(day))
    kernel = Circle(0, "auto") * Line(1) * Line(2) * Line(3)
    return lambda unit, origin: (kernel, np.column_stack([day * unit + origin, numbers])), y, {"index_set": "learned"}


def counts(**options):
    rng, day, numbers = data()
    y = rng.poisson(np.exp(1 + 0.5 * np.sin(2 * np.pi * day / 7) + (day % 7 == 3) + 0.5 * numbers[:, 0]))

    def at(unit, origin):
        return Circle(0, 7 * unit) * Line(1), np.column_stack([day * unit + origin, numbers[:, 0]])

    return at, y.astype(float), {"likelihood": "poisson", **options}


def weekdays():
    rng, day, _ = data()
    shop = rng.integers(0, 3, len(day))
    y = (day % 7 == 3) * (1 + shop) + 0.1 * rng.normal(size=len(day))
    return lambda unit, origin: (Circle(0, 7 * unit) * Category(1), np.column_stack([day * unit + origin, shop])), y, {}


def correlated_noise():
    rng, day, _ = data()
    noise = pd.Series(rng.normal(size=len(day))).ewm(alpha=0.3).mean().to_numpy()
    y = np.sin(2 * np.pi * day / 7) + 0.01 * day + noise
    options = {"noise": "correlated"}
    return lambda unit, origin: (Circle(0, 7 * unit) + Line(0), day[:, None] * unit + origin), y, options


KINDS = {
    "plain": line(),
    "Matern": line(family="matern32"),
    "circle": circle(),
    "learned set": learned_set(),
    "learned period": learned_period(),
    "learned period and set": learned_period_and_set(),
    "counts": counts(),
    "counts, learned set": counts(index_set="learned"),
    "weekdays": weekdays(),
    "correlated noise": correlated_noise(),
}
_FITS = {}


def predicted(kind, unit, origin):
    if (kind, unit, origin) not in _FITS:
        at, y, options = KINDS[kind]
        kernel, X = at(unit, origin)
        model = TorusGPRegressor(kernel, **options).fit(X, y)
        _FITS[kind, unit, origin] = model, *model.predict(X, return_std=True)
    return _FITS[kind, unit, origin]


def slow_kinds():
    return [pytest.param(one, marks=pytest.mark.slow) if one == "learned period and set" else one for one in KINDS]


@pytest.mark.parametrize(("unit", "origin"), CHANGES)
@pytest.mark.parametrize("kind", slow_kinds())
def test_units_and_origins_change_no_prediction(kind, unit, origin):
    _, mean, std = predicted(kind, 1.0, 0.0)
    _, other_mean, other_std = predicted(kind, unit, origin)
    assert np.abs((other_mean - mean) / std).max() < FEW
    assert np.abs(other_std / std - 1).max() < FEW


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "origin"), [(1.0, 0.0), *CHANGES])
def test_a_learned_period_is_among_what_is_chosen_in_any_unit(unit, origin):
    """In days all its frequencies were beyond the highest, in thousands of days none."""
    model, mean, _ = predicted("learned period and set", unit, origin)
    assert model.index_set_.frequencies[:, 0].any()
    assert np.std(KINDS["learned period and set"][1] - mean) < 0.2


@pytest.mark.parametrize("kind", ["counts", "counts, learned set", "weekdays", "correlated noise"])
def test_seven_weekdays_have_three_frequencies(kind):
    assert np.abs(predicted(kind, 1.0, 0.0)[0].index_set_.frequencies[:, 0]).max() == 3


@pytest.mark.parametrize("family", ["squared_exponential", "matern12"])
@pytest.mark.parametrize("length_scale", [0.1, 1.0])
def test_few_frequencies_of_weekdays_are_all_there_is(family, length_scale):
    """Against the exact regression, also where the kernel has much beyond: it is folded, not lost."""
    rng = np.random.default_rng(2)
    day = rng.integers(0, 700, 60).astype(float)
    y = rng.normal(size=7)[day.astype(int) % 7] + 0.1 * rng.normal(size=60)
    kernel = 2.0 * Circle(0, 7.0, family, length_scale)
    model = TorusGPRegressor(kernel, learn=(), noise_variance=0.01, intercept=False).fit(day[:, None], y)
    exact = model.kernel_
    week = np.arange(7.0)[:, None]
    gram = 2 * exact(day[:, None]) + 0.01 * np.eye(60)
    cross = 2 * exact(week, day[:, None])
    mean, std = model.predict(week, return_std=True)
    assert model.index_set_.n_components == 7
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(gram, y), atol=1e-4)
    variance = 2.01 - np.einsum("ij,ji->i", cross, np.linalg.solve(gram, cross.T))
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-4)
