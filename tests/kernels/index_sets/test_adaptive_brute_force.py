"""The adaptive set against a sort of all coefficients of a box: members, order, ties and optimality."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import oracles
from torusgp import TorusKernel
from torusgp.kernels.index_sets import adaptive
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern, Warped


def rising(distance):
    """Coefficients 0.2, 0.1, 0.3, 0, ...: they do not fall, and end."""
    cosine = 1 - distance**2 / 2
    return 0.2 + 0.2 * cosine + 0.6 * (2 * cosine**2 - 1)


def bumpy(distance):
    """Mixture of a smooth kernel and one cosine: coefficient 5 stands out."""
    angle = 2 * np.arcsin(np.minimum(1, distance / 2))
    return 0.7 * np.exp(-(distance**2) / 0.5) + 0.3 * np.cos(5 * angle)


SMOOTH = [SquaredExponential(), Matern(1.5), RationalQuadratic(), Heat(), TorusMatern(2.5)]
BOX = {1: 60, 2: 14, 3: 7, 4: 4}


@st.composite
def problems(draw):
    """Kernel, dimension, interaction limit and budget; equal scales are common, for ties."""
    dimension = draw(st.integers(1, 4))
    warped = draw(st.booleans())
    own = [Warped(rising), Warped(bumpy)] if dimension < 3 else [Warped(rising)]  # a bump at 5 leaves smaller boxes
    families = st.sampled_from(own if warped else SMOOTH)
    scales = st.just(1.0) if warped else st.sampled_from([0.5, 0.8, 0.8, 1.0, 1.7])
    one_family = draw(st.booleans())
    family = draw(families) if one_family else [draw(families) for _ in range(dimension)]
    kernel = TorusKernel(family, [draw(scales) for _ in range(dimension)], period=1.0)
    limit = draw(st.sampled_from([None, None, *range(1, dimension + 1)]))
    # the series that ends has 5^D columns; the boxes do not hold as many of the others
    return kernel, dimension, limit, draw(st.integers(1, 5**dimension if warped else 120))


def ranked(kernel, dimension, max_interaction):
    """Non-zero frequencies of a box that have a coefficient, by falling coefficient, with their groups of ties."""
    box = oracles.half_space_box([BOX[dimension]] * dimension, max_interaction)
    box = box[box.any(axis=1)]
    cost = -kernel.log_coefficients(box)
    box, cost = box[np.isfinite(cost)], cost[np.isfinite(cost)]
    groups = oracles.tie_groups(cost)
    order = np.lexsort((*box.T[::-1], groups))
    edge = np.abs(box[order]).max(axis=1) == BOX[dimension]
    n_certain = int(edge.argmax()) if edge.any() else len(box)  # before any that the box might cut off
    return box[order], groups[order], n_certain


@given(problem=problems())
def test_members_and_order_equal_a_sort_of_all_coefficients(problem):
    kernel, dimension, max_interaction, n_components = problem
    frequencies, _, n_certain = ranked(kernel, dimension, max_interaction)
    n_pairs = (n_components - 1) // 2
    assume(n_pairs <= n_certain or n_certain == len(frequencies))
    found = adaptive(kernel, n_components, max_interaction=max_interaction)
    assert not found.frequencies[0].any()
    np.testing.assert_array_equal(found.frequencies[1:], frequencies[:n_pairs])


@given(problem=problems())
def test_sign_symmetric_sets_are_whole_orbits_in_order_while_they_fit(problem):
    kernel, dimension, max_interaction, n_components = problem
    frequencies, groups, n_certain = ranked(kernel, dimension, max_interaction)
    positive = (frequencies >= 0).all(axis=1)
    orbits = frequencies[positive][np.lexsort((*frequencies[positive].T[::-1], groups[positive]))]
    columns = 1 + np.cumsum(2 ** np.count_nonzero(orbits, axis=1))
    n_orbits = int((columns <= n_components).sum())
    assume(columns[:n_orbits].max(initial=1) <= 2 * n_certain + 1)
    found = adaptive(kernel, n_components, max_interaction=max_interaction, sign_symmetric=True)
    np.testing.assert_array_equal(found.indices[1:], orbits[:n_orbits])
    assert found.n_components == columns[:n_orbits].max(initial=1)


@pytest.mark.parametrize(
    "kernel",
    [
        TorusKernel(length_scale=[0.5, 1.3], period=1.0),
        TorusKernel("heat", [0.8, 0.8], period=1.0),
        TorusKernel(Warped(bumpy), [1.0, 1.0], period=1.0),
    ],
    ids=["unequal", "ties", "not monotone"],
)
def test_every_odd_budget_drops_the_least_sum_and_the_least_sum_of_squares(kernel):
    box = oracles.half_space_box([25, 25])
    pairs = np.sort(kernel.coefficients(box[box.any(axis=1)]))
    for n_components in range(1, 80, 2):
        n_dropped = len(pairs) - n_components // 2
        found = adaptive(kernel, n_components)
        assert found.n_components == n_components
        assert kernel.truncation_error(found) == pytest.approx(2 * pairs[:n_dropped].sum(), rel=1e-9, abs=1e-12)
        squares = kernel.coefficients(box[:1] * 0) ** 2 + 2 * (pairs**2).sum()
        expected = np.sqrt(2 * (pairs[:n_dropped] ** 2).sum() / squares)
        assert kernel.frobenius_error(found) == pytest.approx(expected[0], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "cell", [oracles.HEXAGONAL, oracles.OBLIQUE, oracles.TRICLINIC], ids=["hexagonal", "oblique", "triclinic"]
)
@pytest.mark.parametrize("family", [Heat("cartesian"), TorusMatern(1.5, "cartesian")], ids=["heat", "matern"])
def test_cartesian_sets_hold_the_largest_coefficients(family, cell):
    kernel = TorusKernel(family, 0.3, cell)
    box = oracles.half_space_box([9] * len(cell))
    largest = np.sort(kernel.log_coefficients(box[box.any(axis=1)]))[::-1]
    for n_components in (1, 3, 8, 25, 100):
        found = adaptive(kernel, n_components)
        chosen = kernel.log_coefficients(found.frequencies[1:])
        np.testing.assert_allclose(chosen, largest[: (n_components - 1) // 2], rtol=1e-10)
        assert len(np.unique(np.vstack([found.frequencies, -found.frequencies]), axis=0)) == found.n_components


def test_a_tie_larger_than_the_budget_is_cut():
    found = adaptive(TorusKernel(length_scale=1.0, period=1.0), 21, dimension=100)
    expected = np.zeros((11, 100), int)
    expected[np.arange(1, 11), 100 - np.arange(1, 11)] = 1  # lexicographic: the last axis comes first
    np.testing.assert_array_equal(found.frequencies, expected)
