"""Low-discrepancy sequences: Halton's, and its generalisation with permuted digits."""

# By hand: scipy.stats.qmc.Halton takes no permutations, and the published ones decide the figures of the paper.

import json
from functools import lru_cache
from importlib.resources import files

import numpy as np


@lru_cache(maxsize=1)
def halton_permutations():
    """Permutations of the digits for the first 60 primes (De Rainville and others, 2012), by prime."""
    table = json.loads(files("torusgp.estimators").joinpath("halton_permutations.json").read_text(encoding="utf-8"))
    return {prime: np.array(digits) for prime, digits in zip(table["primes"], table["permutations"], strict=True)}


def halton(n_points, dimension, *, generalized=False):
    r"""Points of a Halton sequence, from the first on; the point 0 before it is left out.

    Coordinate d of point n is :math:`\sum_j \pi(a_j) b^{-j-1}` with the digits :math:`a_j` of n in the d-th prime b and
    :math:`\pi` the identity, or for the generalised sequence a permutation of the digits.

    Parameters
    ----------
    n_points : int
        Number of points.
    dimension : int
        Number of coordinates, at most 60.
    generalized : bool, default=False
        Permute digits.

    Returns
    -------
    ndarray of shape (n_points, dimension)

    Examples
    --------
    >>> halton(3, 2).round(4).tolist()
    [[0.5, 0.3333], [0.25, 0.6667], [0.75, 0.1111]]
    """
    permutations = halton_permutations()
    if not isinstance(n_points, int | np.integer) or n_points < 0:
        raise ValueError(f"n_points must be a non-negative integer, got {n_points!r}.")
    if not isinstance(dimension, int | np.integer) or not 1 <= dimension <= len(permutations):
        raise ValueError(
            f"dimension must be 1 to {len(permutations)}, for which permutations exist, got {dimension!r}."
        )
    points = np.zeros((n_points, dimension))
    for d, (base, permutation) in enumerate(list(permutations.items())[:dimension]):
        rest, place = np.arange(1, n_points + 1), 1.0
        while rest.any():
            place /= base
            digits = rest % base
            points[:, d] += place * (permutation[digits] if generalized else digits)
            rest //= base
    return points
