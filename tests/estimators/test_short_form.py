"""The short form of a model: families and periods for all inputs."""

import numpy as np
import pytest

from tests.exact_regression import HEXAGONAL
from torusgp import Circle
from torusgp.estimators.short_form import is_searched, resolve_kernel
from torusgp.kernels.spectra import Heat

X = np.random.default_rng(0).uniform(0, [90, 50], (40, 2))


def short(kernel=None, period=None, length_scale=1.0, learn=()):
    return resolve_kernel(kernel, period, length_scale, X, None, frozenset(learn))


@pytest.mark.parametrize("period", ["auto", [24, "auto"], [None, 7.0], [np.nan, 7.0], ("auto",)])
def test_some_of_a_period_is_searched(period):
    assert is_searched(period)


@pytest.mark.parametrize("period", [None, 1.0, 24, [24, 7], np.array([24.0, 7.0]), np.eye(2), [[1, 0], [0, 1]]])
def test_numbers_are_not_searched(period):
    assert not is_searched(period)


def test_other_words_are_refused():
    with pytest.raises(ValueError, match=r"period must be numbers or 'auto', got 'weekly'"):
        is_searched("weekly")
    with pytest.raises(ValueError, match=r"period holds 'weekly'"):
        is_searched([24, "weekly"])


def test_without_a_period_every_input_is_a_line():
    model = short()
    assert [axis.kind for axis in model.torus.axes] == ["line", "line"]
    np.testing.assert_allclose(model.terms[0].length_scale, 0.25 * np.ptp(X, axis=0))
    np.testing.assert_array_equal(short(length_scale=[3.0, 4.0]).terms[0].length_scale, [3.0, 4.0])


def test_with_a_period_every_input_is_a_circle():
    model = short(["heat", "matern32"], [24, 7], [0.5, 2.0])
    assert [axis.kind for axis in model.torus.axes] == ["circle", "circle"]
    np.testing.assert_array_equal(model.period, [24, 7])
    np.testing.assert_array_equal(model.terms[0].length_scale, [0.5, 2.0])
    assert not model.moving.any()
    assert not model.has_trend


@pytest.mark.parametrize("kernel", [None, Heat("cartesian")], ids=["phase", "Cartesian"])
def test_a_cell_is_a_lattice(kernel):
    model = short(kernel, HEXAGONAL)
    assert [axis.kind for axis in model.torus.axes] == ["lattice", "lattice"]
    np.testing.assert_array_equal(model.period, HEXAGONAL)
    assert len(model.terms[0].length_scale) == (2 if kernel is None else 1)


def test_slow_change_stands_beside_a_period_that_is_to_be_found():
    model = short(period="auto")
    assert [term.name for term in model.terms] == ["x0 * x1", "slow change"]
    assert [column.name for column in model.columns] == ["slope of x0", "slope of x1"]
    assert model.has_trend
    slow = model.terms[1]
    np.testing.assert_allclose(slow.length_scale, np.ptp(X, axis=0) / 2)
    np.testing.assert_allclose(slow.bounds, np.outer(np.ptp(X, axis=0), [0.25, 10.0]))


def test_what_moves_is_what_is_learned_or_was_to_be_found():
    assert short(period=[24, 7], learn=["period"]).moving.all()
    assert short(period=[24, 7], learn=["lattice"]).moving.all()
    assert not short(period="auto").moving.any()
    np.testing.assert_array_equal(short(period=[24, "auto"], learn=["period"]).moving, [False, True, False, False])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"period": 24, "learn": ("period", "lattice")}, "learn holds both 'period' and 'lattice'"),
        ({"period": HEXAGONAL, "learn": ("period",)}, "learn holds 'period', but period is a cell: use 'lattice'"),
        ({"period": [4.0, "auto"], "learn": ("lattice",)}, "which needs period='auto' or a whole cell"),
        ({"period": [4.0, "auto", 3.0]}, r"period of length 3 cannot describe 2 periodic input\(s\)"),
        ({"period": np.eye(3)}, r"a cell of 3 lattice vectors, but there are 2 input\(s\)"),
        ({"period": HEXAGONAL, "kernel": ["heat", "heat"]}, "A lattice has one family for all of its axes"),
        ({"period": HEXAGONAL, "kernel": Heat("cartesian"), "length_scale": [1.0, 2.0]}, "it takes one length_scale"),
        ({"kernel": ["heat"]}, r"kernel has 1 families for 2 input\(s\)"),
        ({"length_scale": [1.0]}, r"length_scale has 1 entries for 2 input\(s\)"),
        ({"kernel": Circle(0, 24), "period": 24}, "period and length_scale belong to the short form"),
        ({"kernel": Circle(0, 24), "length_scale": 0.5}, "period and length_scale belong to the short form"),
    ],
)
def test_what_makes_no_sense_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        short(**parameters)


def test_an_input_that_does_not_vary_has_no_period():
    with pytest.raises(ValueError, match="Input 1 has the value 3 in every row: it has no period"):
        resolve_kernel(None, "auto", 1.0, np.column_stack([X[:, 0], np.full(40, 3.0)]), None)
