from itertools import product

import numpy as np
import pytest

from torusgp.kernels.lattices import (
    by_length,
    canonical_signs,
    fold,
    lattice_points,
    reduced_basis,
    short_bases,
    shortest_basis,
    sublattice_changes,
)

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


# --- shortest bases ----------------------------------------------------------------------------------------------

MORE_BASES = BASES | {
    "one period": np.array([[-3.7]]),
    "face-centred": np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]]),
    "body-centred": np.array([[-1.0, 1, 1], [1, -1, 1], [1, 1, -1]]),
    "monoclinic": np.array([[1.0, 0, 0], [0, 1.7, 0], [-0.4, 0, 2.1]]),
}
WITHOUT_TIES = (
    "one period",
    "sheared",
    "triclinic",
    "monoclinic",
)  # vectors of different lengths, so there is one shortest basis


def unimodular(dimension, seed, n_steps=6):
    """A random integer matrix of determinant one or minus one."""
    rng = np.random.default_rng(seed)
    change = np.eye(dimension, dtype=int)[rng.permutation(dimension)] * rng.choice([-1, 1], dimension)
    for _ in range(n_steps if dimension > 1 else 0):
        i, j = rng.choice(dimension, 2, replace=False)
        change[i] += rng.integers(-2, 3) * change[j]
    return change


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", BASES)
def test_reduction_has_the_conditions_of_lenstra_lenstra_and_lovasz(name, seed):
    basis = unimodular(len(BASES[name]), seed, n_steps=12) @ BASES[name]
    change = reduced_basis(basis)
    assert abs(round(np.linalg.det(change))) == 1
    triangle = np.linalg.cholesky((change @ basis) @ (change @ basis).T)
    lengths = np.diagonal(triangle)
    assert (np.abs(triangle / lengths)[np.tril_indices(len(basis), -1)] <= 0.5 + 1e-9).all()
    ratios = np.diagonal(triangle, -1) / lengths[:-1]
    assert (lengths[1:] ** 2 >= (0.99 - ratios**2 - 1e-9) * lengths[:-1] ** 2).all()


def index_in(basis, lattice):
    """Index of the lattice of a basis in another lattice, as a sublattice of it."""
    change = basis @ np.linalg.inv(lattice)
    np.testing.assert_allclose(change, np.rint(change), atol=1e-8)
    return abs(round(np.linalg.det(change)))


def assert_canonical(basis):
    lengths = np.linalg.norm(basis, axis=1)
    assert (np.diff(lengths) > -1e-8 * lengths.max()).all()
    assert np.linalg.det(basis) > 0
    for row in basis[:-1]:
        assert row[np.abs(row) > 1e-9 * np.abs(row).max()][0] > 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", MORE_BASES)
def test_the_shortest_basis_has_the_successive_minima_of_the_lattice(name, seed):
    lattice = MORE_BASES[name]
    dimension = len(lattice)
    found = shortest_basis(unimodular(dimension, seed) @ lattice)
    assert index_in(found, lattice) == 1
    assert_canonical(found)
    radius = np.linalg.norm(found, axis=1).max() * (1 + 1e-9)
    vectors = lattice_points(lattice, radius) @ lattice
    lengths = np.linalg.norm(vectors, axis=1)
    for i, length in enumerate(np.linalg.norm(found, axis=1)):
        assert np.linalg.matrix_rank(vectors[lengths < length * (1 - 1e-9)], tol=1e-8) <= i


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", WITHOUT_TIES)
def test_the_shortest_basis_does_not_depend_on_the_given_one(name, seed):
    lattice = MORE_BASES[name]
    other = unimodular(len(lattice), seed) @ lattice
    np.testing.assert_allclose(shortest_basis(other), shortest_basis(lattice), atol=1e-9)


@pytest.mark.parametrize("name", WITHOUT_TIES)
def test_the_shortest_basis_is_its_own_and_grows_with_the_lattice(name):
    shortest = shortest_basis(MORE_BASES[name])
    np.testing.assert_allclose(shortest_basis(shortest), shortest, atol=1e-12)
    np.testing.assert_allclose(shortest_basis(4.0 * MORE_BASES[name]), 4 * shortest, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_canonical_signs_flip_vectors_only(seed):
    basis = np.random.default_rng(seed).normal(size=(3, 3))
    basis[0, 0] = 0.0
    found = canonical_signs(basis)
    signs = (found / np.where(basis == 0, 1, basis)).round(12)
    assert set(signs[basis != 0].tolist()) <= {1.0, -1.0}
    assert np.linalg.det(found) > 0
    assert found[0, 1] > 0
    assert found[1, 0] > 0
    np.testing.assert_array_equal(canonical_signs(-basis), found)


@pytest.mark.parametrize("name", MORE_BASES)
def test_ordering_by_length_keeps_the_vectors(name):
    basis = MORE_BASES[name]
    found = by_length(basis)
    assert_canonical(found)
    change = np.abs(found @ np.linalg.inv(basis)).round(9)
    assert sorted(map(tuple, change.tolist())) == sorted(map(tuple, np.eye(len(basis)).tolist()))


def test_ordering_by_length_does_not_depend_on_the_order_of_different_vectors():
    basis = MORE_BASES["monoclinic"]
    for order in ([1, 0, 2], [2, 1, 0], [1, 2, 0]):
        np.testing.assert_array_equal(by_length(basis[order]), by_length(basis))


@pytest.mark.parametrize("name", [name for name, basis in MORE_BASES.items() if len(basis) > 1])
def test_short_bases_span_the_lattice_and_the_centred_one_has_index_two(name):
    lattice = MORE_BASES[name]
    bases = short_bases(lattice)
    primitive, centred = (bases[:-1], bases[-1:]) if len(lattice) == 2 else (bases, [])
    for basis in primitive:
        assert index_in(basis, lattice) == 1
    for basis in centred:
        assert index_in(basis, lattice) == 2
    for i, basis in enumerate(bases):
        assert_canonical(basis)
        assert not any(np.allclose(basis, other, atol=1e-9) for other in bases[:i])
    totals = [np.linalg.norm(basis, axis=1).sum() for basis in primitive]
    assert (np.diff(totals) > -1e-9).all()
    assert totals[0] == pytest.approx(np.linalg.norm(shortest_basis(lattice), axis=1).sum())


def test_in_two_dimensions_the_shortest_three_vectors_make_three_bases():
    lattice = np.array([[1.0, 0.1], [0.3, 1.4]])
    assert len(short_bases(lattice)) == 4
    vectors = lattice_points(lattice, 3.0) @ lattice
    lengths = np.unique(np.linalg.norm(vectors, axis=1).round(9))[1:4]
    used = {length for basis in short_bases(lattice)[:3] for length in np.linalg.norm(basis, axis=1).round(9)}
    assert used == set(lengths)


def test_the_centred_cell_of_a_rhombus_is_a_rectangle():
    rhombus = np.array([[1.0, 1.3], [1.0, -1.3]])
    *_, rectangle = short_bases(unimodular(2, 1) @ rhombus)
    np.testing.assert_allclose(rectangle, [[2, 0], [0, 2.6]], atol=1e-12)


def test_the_number_of_short_bases_is_bounded():
    assert len(short_bases(BASES["triclinic"], most=3)) == 3
    assert len(short_bases(BASES["triclinic"])) == 16


# --- sublattices -------------------------------------------------------------------------------------------------


def divisors(number):
    return [d for d in range(1, number + 1) if number % d == 0]


@pytest.mark.parametrize("index", range(1, 9))
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_sublattices_of_an_index_are_counted_by_sums_of_divisors(dimension, index):
    expected = {
        1: 1,
        2: sum(divisors(index)),
        3: sum(d * sum(divisors(d)) for d in divisors(index)),
    }[dimension]
    assert len(sublattice_changes(dimension, index)) == expected


@pytest.mark.parametrize(("dimension", "index"), [(1, 5), (2, 2), (2, 6), (3, 2), (3, 4)])
def test_sublattices_are_different_and_have_the_index(dimension, index):
    changes = sublattice_changes(dimension, index)
    for i, change in enumerate(changes):
        assert round(np.linalg.det(change)) == index
        for other in changes[:i]:
            relation = change @ np.linalg.inv(other)
            assert np.abs(relation - np.rint(relation)).max() > 1e-6


def test_lengths_are_compared_in_any_units():
    basis = np.array([[0, 2.0], [1, 0.3]])
    np.testing.assert_allclose(shortest_basis(1e-10 * basis), 1e-10 * shortest_basis(basis))
    np.testing.assert_allclose(shortest_basis(np.eye(3)), np.eye(3))


def test_a_rhombus_is_the_centring_of_a_rectangle():
    np.testing.assert_allclose(short_bases([[1, 2.3], [1, -2.3]])[-1], [[2, 0], [0, 4.6]], atol=1e-12)
