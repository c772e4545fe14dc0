"""Frequencies that may join a set."""

import numpy as np
import pytest

from torusgp.kernels.candidates import Candidates, Patterns
from torusgp.kernels.torus import Axis, Torus

PLANE = Torus((Axis("a", "circle", 0), Axis("b", "circle", 1)), ("a", "b"))
SHOP = Axis("shop", "category", 1, levels=("x", "y", "z"))  # on a circle of five
MIXED = Torus((Axis("hour", "circle", 0), SHOP), ("hour", "shop"))


def ones(frequencies):
    return np.ones(len(frequencies) - 1)


def test_opposite_frequencies_are_one_pattern_and_zero_is_none():
    found = Patterns.of(np.array([[1, -2], [-1, 2], [0, 0], [0, -3]]), PLANE)
    assert found.values.tolist() == [[0, 3], [1, -2]]


def test_a_category_is_in_with_all_of_its_frequencies():
    found = Patterns.of(np.array([[2, 1], [2, -2], [0, 1]]), MIXED)
    assert found.values.tolist() == [[0, 1], [2, 1]]
    assert [len(block) for block in found.blocks] == [2, 4]
    assert found.to_index_set().n_components == 13
    assert [one.tolist() for one in found.columns()] == [list(range(1, 5)), list(range(5, 13))]


def test_neighbours_are_one_step_away_and_new():
    torus = PLANE
    candidates = Candidates.of(torus, np.ones(2), n_rows=2)  # so few rows that only the lowest are scanned
    chosen = Patterns.of(np.array([[3, 5]]), torus)
    found = {tuple(row) for row in candidates.beside(chosen, ones).values.tolist()}
    assert {(2, 5), (4, 5), (3, 4), (3, 6), (1, 0), (0, 1), (1, 1), (1, -1)} == found


def test_the_strongest_have_candidates_two_steps_away_and_their_harmonics():
    """A function of a difference of angles moves along two axes at once."""
    candidates = Candidates.of(PLANE, np.ones(2), n_rows=2)
    chosen = Patterns.of(np.array([[3, 5]]), PLANE)
    near = {tuple(row) for row in candidates.beside(chosen, ones).values.tolist()}
    found = {tuple(row) for row in candidates.beside(chosen, ones, np.ones(1)).values.tolist()}
    two_steps = {(4, 4), (2, 6), (4, 6), (2, 4), (1, 5), (5, 5), (3, 3), (3, 7)}
    assert found - near == two_steps | {(3 * m, 5 * m) for m in (2, 3, 4, 5)}


def test_a_cycle_inside_a_cycle_gives_its_whole_multiples():
    clock = Torus((Axis("day", "circle", 0), Axis("week", "circle", 0)), ("time",))
    steps = Candidates.of(clock, np.array([24.0, 168.0])).steps
    assert [0, 7] in steps.tolist()
    assert [7, 0] not in steps.tolist()


def test_what_the_prior_rules_out_is_no_candidate():
    candidates = Candidates.of(PLANE, np.ones(2), n_rows=2)
    found = candidates.beside(Patterns.none(PLANE), lambda one: (one[1:] != 0).sum(axis=1) == 1)
    assert found.values.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 8, 20])
def test_the_scan_is_bounded_and_has_all_triples_of_eight_axes(dimension):
    names = tuple(map(str, range(dimension)))
    torus = Torus(tuple(Axis(name, "circle", d) for d, name in enumerate(names)), names)
    scanned = Candidates.of(torus, np.ones(dimension)).scanned
    assert dimension <= len(scanned) <= 8000
    assert len(np.unique(scanned.values, axis=0)) == len(scanned)
    if dimension == 8:
        assert (2, -2, 0, 0, 0, 1, 0, 0) in {tuple(row) for row in scanned.values.tolist()}


def test_the_best_fit_into_the_room():
    found = Patterns(np.array([[0, 1], [2, 1], [1, 0]]), MIXED).best(np.array([3.0, 2.0, 1.0]), 3)
    assert found.values.tolist() == [[0, 1]]  # the next has four frequencies, and the order is kept
