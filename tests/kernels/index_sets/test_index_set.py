"""The container: expansion over signs, cardinalities, canonical form."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from torusgp.kernels.index_sets import IndexSet, euclidean, from_frequencies, hyperbolic_cross, tensor, total_order
from torusgp.kernels.index_sets._index_set import expand_signs

orthants = hnp.arrays(
    np.int64,
    st.tuples(st.integers(1, 12), st.integers(1, 5)),
    elements=st.integers(0, 3),
).map(lambda rows: np.unique(np.vstack([np.zeros_like(rows[:1]), rows]), axis=0))


@pytest.mark.parametrize("wrong", [[[0, 1]], np.zeros(2, int), np.zeros((1, 2)), None, 3])
def test_frequencies_that_are_no_matrix_of_integers_are_named(wrong):
    with pytest.raises(TypeError, match="frequencies must be a matrix of integers, got"):
        IndexSet(wrong, None)


def test_the_name_of_a_set_is_text():
    with pytest.raises(TypeError, match=r"name must be text that says what built the set, got array\(\[\]"):
        IndexSet(np.zeros((1, 2), dtype=int), None, np.empty(0))


@given(indices=orthants)
def test_expansion_holds_one_of_each_pair_of_sign_changes(indices):
    signed = expand_signs(indices)
    every_change = {
        tuple(int(s) * int(k) for s, k in zip(signs, row, strict=True))
        for row in indices
        for signs in product((1, -1), repeat=indices.shape[1])
    }
    kept = list(map(tuple, signed.tolist()))
    opposite = [tuple(-k for k in row) for row in kept]
    assert len(set(kept)) == len(kept)
    assert {*kept, *opposite} == every_change
    assert set(kept) & set(opposite) == {(0,) * indices.shape[1]}


@given(indices=orthants)
def test_expansion_keeps_the_order_of_the_indices(indices):
    origin = np.abs(expand_signs(indices))
    position = [next(i for i, row in enumerate(indices) if (row == k).all()) for k in origin]
    assert position == sorted(position)


@pytest.mark.parametrize("build", [tensor, total_order, euclidean, hyperbolic_cross])
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_cardinalities_are_those_of_both_lemmas(build, dimension):
    index_set = build(dimension, 3)
    n_nonzero = np.count_nonzero(index_set.indices, axis=1)
    assert index_set.n_components == np.sum(2**n_nonzero) == 2 * len(index_set.frequencies) - 1
    assert index_set.n_components_full == 2**dimension * len(index_set.indices)
    assert len(index_set) == len(index_set.indices)


def test_frequencies_start_with_zero_and_have_a_positive_leading_entry():
    frequencies = hyperbolic_cross(3, 6).frequencies
    assert not frequencies[0].any()
    assert all(row[row != 0][0] > 0 for row in frequencies[1:])


def test_from_frequencies_completes_pairs_and_keeps_the_order():
    index_set = from_frequencies([[0, -2], [1, 0], [-1, 0], [0, 2], [1, 1]])
    assert index_set.frequencies.tolist() == [[0, 0], [0, 2], [1, 0], [1, 1]]
    assert index_set.indices is None  # (1, -1) is missing
    assert index_set.n_components_full is None
    assert len(index_set) == 4


def test_from_frequencies_recognises_a_set_closed_under_sign_changes():
    cross = hyperbolic_cross(3, 5)
    rebuilt = from_frequencies(-cross.frequencies[::-1])
    np.testing.assert_array_equal(rebuilt.indices, cross.indices)


def test_sets_are_equal_by_their_frequencies_and_cannot_be_changed():
    one, other = hyperbolic_cross(2, 5), hyperbolic_cross(2, 5)
    assert one == other
    assert hash(one) == hash(other)
    assert one != hyperbolic_cross(2, 6)
    assert isinstance(one, IndexSet)
    with pytest.raises(ValueError, match="read-only"):
        one.frequencies[0, 0] = 1
