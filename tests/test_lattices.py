from itertools import product

import numpy as np
import pytest

from torusgp.lattices import fold, lattice_points, reduced_basis

BASES = {
    "square": np.eye(2),
    "hexagonal": np.array([[1, 0], [0.5, np.sqrt(3) / 2]]),
    "sheared": np.array([[1.0, 0.0], [7.3, 1.0]]),
    "triclinic": np.array([[1.0, 0, 0], [0.3, 0.8, 0], [4.2, 0.1, 1.5]]),
}


@pytest.mark.parametrize("name", BASES)
def test_points_in_a_ball_equal_brute_force(name):
    basis = BASES[name]
    found = {tuple(row) for row in lattice_points(basis, 3.0).tolist()}
    grid = np.array(list(product(range(-30, 31), repeat=len(basis))))
    inside = grid[np.linalg.norm(grid @ basis, axis=1) <= 3.0]
    assert found == {tuple(row) for row in inside.tolist()}


@pytest.mark.parametrize("name", BASES)
def test_reduction_is_unimodular_and_not_longer(name):
    basis = BASES[name]
    change = reduced_basis(basis)
    assert abs(round(np.linalg.det(change))) == 1
    assert np.linalg.norm(change @ basis, axis=1).sum() <= np.linalg.norm(basis, axis=1).sum() + 1e-12


@pytest.mark.parametrize("name", BASES)
def test_folding_moves_by_lattice_vectors(name):
    basis = BASES[name]
    fractional = np.random.default_rng(0).normal(size=(50, len(basis))) * 5
    folded = fold(fractional, basis)
    steps = (fractional @ basis - folded) @ np.linalg.inv(basis)
    assert np.abs(steps - np.rint(steps)).max() < 1e-12
    reach = 0.5 * np.linalg.norm(reduced_basis(basis) @ basis, axis=1).sum()
    assert np.linalg.norm(folded, axis=1).max() <= reach + 1e-12


def test_too_many_points_are_refused():
    with pytest.raises(ValueError, match="lattice points"):
        lattice_points(np.eye(2), 1e5)
