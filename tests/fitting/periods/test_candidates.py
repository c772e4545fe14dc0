"""Lattices that hold given waves: nearest points, least squares, and candidates that include the right one."""

from itertools import product

import numpy as np
import pytest

from torusgp.fitting.periods._candidates import Sinusoids, axis_candidates, lattice_candidates, same_lattice
from torusgp.kernels.lattices import shortest_basis

OBLIQUE = np.array([[6.0, 1.0], [-2.0, 7.5]])  # turns over the data
TRICLINIC = np.array([[4.0, 0.5, 0.0], [0.3, 5.0, 1.0], [-1.0, 0.7, 6.0]])
BASES = {1: np.array([[5.3]]), 2: OBLIQUE, 3: TRICLINIC}


def make_waves(basis, indices, miss=0.0, shares=None):
    """Sinusoids at points of a lattice, each missing it by some turns."""
    indices = np.asarray(indices)
    rng = np.random.default_rng(0)
    frequencies = indices @ basis + miss * rng.uniform(-1, 1, (len(indices), basis.shape[1]))
    shares = np.linspace(0.3, 0.1, len(indices)) if shares is None else np.asarray(shares)
    return Sinusoids(frequencies, shares * min(1, 0.9 / shares.sum()), 400.0)


def everything(dimension):
    return {"fewest_turns": 2.0, "highest": np.full(dimension, 40.0), "most": 12}


# --- same lattice ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3])
def test_bases_of_a_lattice_are_the_same_lattice_and_sublattices_are_not(dimension):
    basis = BASES[dimension]
    unimodular = np.eye(dimension, dtype=int)
    unimodular[0, -1], unimodular[-1] = 3, -unimodular[-1]
    assert same_lattice(basis, unimodular @ basis)
    assert same_lattice(unimodular @ basis, basis)
    for factor in (2, 3):
        coarse = np.diag([factor, *[1] * (dimension - 1)]) @ basis
        assert not same_lattice(basis, coarse)
        assert not same_lattice(coarse, basis)


def test_nearly_the_same_lattice_is_the_same():
    assert same_lattice(OBLIQUE, 1.01 * OBLIQUE)
    assert not same_lattice(OBLIQUE, 1.03 * OBLIQUE)
    assert same_lattice(np.array([[5.0]]), np.array([[-5.01]]))


# --- assignment and refinement -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_waves_are_assigned_to_the_points_they_are_near_to(dimension):
    indices = np.array([k for k in product(range(-2, 3), repeat=dimension) if any(k)])
    waves = make_waves(BASES[dimension], indices, miss=0.2)
    found, met = waves.assign(BASES[dimension])
    np.testing.assert_array_equal(found, indices)
    assert met.all()


def test_waves_between_points_at_zero_or_far_out_are_not_met():
    waves = make_waves(BASES[1], [[0.0], [0.5], [1.1], [40.0], [1.0], [-5.0]])
    _, met = waves.assign(BASES[1])
    np.testing.assert_array_equal(met, [False, False, False, False, True, True])


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_refinement_recovers_the_basis_of_exact_waves(dimension):
    true = BASES[dimension]
    indices = np.array([k for k in product(range(-1, 2), repeat=dimension) if any(k)])
    off = true + 0.05 * np.random.default_rng(1).uniform(-1, 1, true.shape)
    refined = make_waves(true, indices).refined(off, np.ones(true.shape, bool))
    np.testing.assert_allclose(refined, true, atol=1e-10)


def test_refinement_is_weighted_least_squares():
    indices = np.array([[1, 0], [0, 1], [1, 1], [2, -1], [1, -1]])
    waves = make_waves(OBLIQUE, indices, miss=0.2)
    refined = waves.refined(OBLIQUE, np.ones((2, 2), bool))
    residual = waves.frequencies - indices @ refined
    np.testing.assert_allclose((indices.T * waves.shares) @ residual, 0, atol=1e-12)  # the normal equations


@pytest.mark.parametrize("basis", [np.diag([6.0, 7.5]), OBLIQUE], ids=["diagonal", "oblique"])
@pytest.mark.parametrize("axis", [0, 1])
def test_refinement_leaves_what_is_not_free(axis, basis):
    indices = np.array([[1, 0], [0, 1], [1, 1], [2, -1]])
    waves = make_waves(basis, indices, miss=0.2)
    free = np.zeros((2, 2), bool)
    free[axis, axis] = True
    refined = waves.refined(basis, free)
    np.testing.assert_array_equal(refined[~free], basis[~free])
    assert refined[axis, axis] != basis[axis, axis]
    residual = waves.frequencies[:, axis] - indices @ refined[:, axis]
    assert (indices[:, axis] * waves.shares) @ residual == pytest.approx(0, abs=1e-12)  # the normal equation


def test_refinement_does_nothing_without_waves_that_tell():
    waves = make_waves(OBLIQUE, [[1, 0], [2, 0]], miss=0.1)
    refined = waves.refined(OBLIQUE, np.ones((2, 2), bool))
    np.testing.assert_array_equal(refined, OBLIQUE)


@pytest.mark.parametrize("dimension", [1, 2])
def test_the_lattice_itself_scores_better_than_finer_and_coarser_ones(dimension):
    basis = BASES[dimension]
    indices = [k for k in product(range(-2, 3), repeat=dimension) if any(k) and k > (0,) * dimension]
    waves = make_waves(basis, indices)
    assert waves.score(basis) > waves.score(basis / 2)
    assert waves.score(basis) > waves.score(np.diag([2, *[1] * (dimension - 1)]) @ basis)


def test_a_lattice_without_waves_has_no_score():
    assert make_waves(BASES[1], [[1.0]]).score(np.array([[17.0]])) == -np.inf


# --- candidates of lattices --------------------------------------------------------------------------------------

INDICES = {
    "1-D, the first two": (1, [[1], [2]]),
    "1-D, the fundamental is missing": (1, [[2], [3]]),
    "1-D, one far harmonic": (1, [[3], [5]]),
    "2-D, a basis": (2, [[1, 0], [0, 1], [1, 1]]),
    "2-D, waves span a coarser lattice": (2, [[1, 1], [1, -1], [2, 1]]),
    "2-D, harmonics first": (2, [[2, 0], [0, 1], [1, 1], [3, 0]]),
    "3-D, a basis": (3, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]),
    "3-D, waves span a coarser lattice": (3, [[1, 1, 0], [1, -1, 0], [0, 0, 1], [1, 0, 1]]),
}


@pytest.mark.parametrize("name", INDICES)
def test_the_lattice_of_the_waves_is_the_first_candidate(name):
    dimension, indices = INDICES[name]
    waves = make_waves(BASES[dimension], indices, miss=0.02)
    candidates = lattice_candidates(waves, **everything(dimension))
    assert same_lattice(candidates[0], BASES[dimension])


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_candidates_are_different_short_bases_within_the_limits(dimension):
    indices = [k for k in product(range(-1, 3), repeat=dimension) if any(k)][:-9:-1]
    waves = make_waves(BASES[dimension], indices, miss=0.1)
    limits = {"fewest_turns": 4.0, "highest": np.full(dimension, 9.0), "most": 5}
    candidates = lattice_candidates(waves, **limits)
    assert 0 < len(candidates) <= 5
    for i, basis in enumerate(candidates):
        np.testing.assert_allclose(shortest_basis(basis), basis, atol=1e-9)
        assert np.linalg.norm(basis, axis=1).min() >= 4.0 - 0.3  # what a wave may miss a point by
        assert not any(same_lattice(basis, other) for other in candidates[:i])
    scores = [waves.score(basis) for basis in candidates]
    assert scores == sorted(scores, reverse=True)


def test_parallel_waves_span_no_lattice():
    assert lattice_candidates(make_waves(OBLIQUE, [[1, 0], [2, 0], [3, 0]]), **everything(2)) == []


# --- candidates along axes ---------------------------------------------------------------------------------------

UNKNOWN = np.full(2, np.nan)


@pytest.mark.parametrize(
    "indices",
    [[[1, 0], [0, 1]], [[1, 1], [1, -1], [0, 1]], [[2, 0], [0, 1], [3, 1]], [[1, 1], [2, 1], [1, 2]]],
    ids=["axes", "diagonals", "second harmonic first", "only mixed"],
)
def test_fundamentals_along_both_axes_are_among_the_candidates(indices):
    true = np.diag([6.2, 9.1])
    waves = make_waves(true, indices, miss=0.02)
    candidates = axis_candidates(waves, UNKNOWN, **everything(2))
    assert any(np.abs(np.diag(basis) - [6.2, 9.1]).max() < 0.05 for basis in candidates)


@pytest.mark.parametrize("fraction", [2, 3])
def test_fractions_of_a_wave_are_tried(fraction):
    waves = make_waves(np.diag([6.2, 9.1]), [[1, 0], [0, 1]])
    candidates = axis_candidates(waves, UNKNOWN, **everything(2))
    assert any(np.abs(np.diag(basis) - [6.2 / fraction, 9.1]).max() < 1e-9 for basis in candidates)


def test_candidates_along_axes_are_diagonal_different_and_bounded():
    waves = make_waves(np.diag([6.2, 9.1]), [[1, 0], [0, 1], [1, 1], [2, 1], [1, 2]], miss=0.1)
    candidates = axis_candidates(waves, UNKNOWN, 4.0, np.array([20.0, 20.0]), 3)
    assert 0 < len(candidates) <= 3
    for i, basis in enumerate(candidates):
        np.testing.assert_array_equal(basis, np.diag(np.diag(basis)))
        assert (np.diag(basis) > 0).all()
        assert not any(same_lattice(basis, other) for other in candidates[:i])


@pytest.mark.parametrize("axis", [0, 1])
def test_a_known_axis_stays_as_it_is(axis):
    true = np.array([6.2, 9.1])
    known = UNKNOWN.copy()
    known[axis] = true[axis] + 0.07  # as given, even if waves say otherwise
    waves = make_waves(np.diag(true), [[1, 0], [0, 1], [1, 1], [2, 1]], miss=0.02)
    candidates = axis_candidates(waves, known, **everything(2))
    assert candidates
    assert all(basis[axis, axis] == known[axis] for basis in candidates)
    assert any(abs(basis[1 - axis, 1 - axis] - true[1 - axis]) < 0.05 for basis in candidates)


def test_an_axis_along_which_nothing_changes_has_no_candidates():
    assert axis_candidates(make_waves(np.diag([6.2, 9.1]), [[1, 0], [2, 0]]), UNKNOWN, **everything(2)) == []
