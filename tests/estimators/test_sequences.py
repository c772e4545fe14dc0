"""Halton sequences against their definition, digit by digit, and against scipy."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import qmc

from torusgp.estimators.sequences import halton, halton_permutations

ROUNDING = 1e-14  # a sum of at most twelve digits


def radical_inverse(n, base, permutation):
    """The digits of n, permuted, mirrored at the point: a fraction."""
    value, place = Fraction(0), Fraction(1, base)
    while n:
        n, digit = divmod(n, base)
        value += int(permutation[digit]) * place
        place /= base
    return value


@pytest.mark.parametrize("dimension", [1, 2, 7, 30, 60])
def test_it_is_the_sequence_of_scipy_without_the_point_zero(dimension):
    expected = qmc.Halton(dimension, scramble=False).random(2001)
    assert not expected[0].any()
    np.testing.assert_allclose(halton(2000, dimension), expected[1:], rtol=0, atol=ROUNDING)


def test_published_first_points():
    first = halton(8, 3)
    base_2 = [1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8, 1 / 16]
    base_3 = [1 / 3, 2 / 3, 1 / 9, 4 / 9, 7 / 9, 2 / 9, 5 / 9, 8 / 9]
    base_5 = [1 / 5, 2 / 5, 3 / 5, 4 / 5, 1 / 25, 6 / 25, 11 / 25, 16 / 25]
    np.testing.assert_allclose(first.T, [base_2, base_3, base_5], rtol=0, atol=ROUNDING)


def test_first_points_with_permuted_digits():
    # by hand: 1 and 2 change places in base 3, 1 and 4 in base 5; base 2 leaves no choice
    first = halton(7, 3, generalized=True)
    base_2 = [1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8]
    base_3 = [2 / 3, 1 / 3, 2 / 9, 8 / 9, 5 / 9, 1 / 9, 7 / 9]
    base_5 = [4 / 5, 2 / 5, 3 / 5, 1 / 5, 4 / 25, 24 / 25, 14 / 25]
    np.testing.assert_allclose(first.T, [base_2, base_3, base_5], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("generalized", [False, True])
def test_every_digit_is_in_its_place(generalized):
    points = halton(1000, 60, generalized=generalized)
    chosen = [0, 1, 2, 6, 100, 280, 281, 624, 999]
    for d, (base, permutation) in enumerate(halton_permutations().items()):
        digits = permutation if generalized else range(base)
        expected = [float(radical_inverse(n + 1, base, digits)) for n in chosen]
        np.testing.assert_allclose(points[chosen, d], expected, rtol=0, atol=ROUNDING)


def test_permutations_belong_to_the_first_sixty_primes():
    table = halton_permutations()
    primes = [n for n in range(2, 282) if all(n % m for m in range(2, n))]
    assert list(table) == primes
    assert len(primes) == 60
    for prime, permutation in table.items():
        assert permutation[0] == 0  # or the sum over the digits would not end
        assert sorted(permutation.tolist()) == list(range(prime))


@pytest.mark.parametrize("generalized", [False, True])
def test_each_coordinate_fills_its_interval_evenly(generalized):
    points = halton(2 * 3 * 5 * 7 * 11 - 1, 5, generalized=generalized)
    for d, base in enumerate([2, 3, 5, 7, 11]):
        counts = np.bincount(np.floor(points[:, d] * base + 1e-9).astype(int), minlength=base)
        assert np.ptp(counts) <= 1  # the point zero, left out, would be in the first part
    assert (points > 0).all()
    assert (points < 1).all()


@pytest.mark.parametrize("generalized", [False, True])
def test_longer_and_wider_sequences_begin_alike(generalized):
    whole = halton(500, 9, generalized=generalized)
    np.testing.assert_array_equal(halton(20, 4, generalized=generalized), whole[:20, :4])


@pytest.mark.parametrize("dimension", [0, -1, 61])
def test_other_dimensions_are_refused(dimension):
    with pytest.raises(ValueError, match=f"dimension must be 1 to 60, for which permutations exist, got {dimension}"):
        halton(5, dimension)
