r"""Sums of product coefficients over everything that an index set leaves out.

One minus the sum of what is kept cannot fall below rounding. Here the complement itself is summed, as small as it
is: the kept frequencies form a tree, one level for each dimension, and what is missing below a node is the mass of
its missing children (tails and gaps of a one-dimensional series, times all that the later dimensions hold) plus what is
missing below its children.
"""

import numpy as np


def mass_by_order(at_zero, beyond_zero):
    """Mass of the last dimensions with a limited number of non-zero entries.

    Parameters
    ----------
    at_zero, beyond_zero : ndarray of shape (dimension,)
        Coefficient at zero and sum of all others, for each dimension.

    Returns
    -------
    ndarray of shape (dimension + 1, dimension + 2)
        Entry (d, m) is the sum over the dimensions from d on with at most m non-zero entries. The last column, which
        index -1 reaches, is zero: no entry is left to spend.
    """
    dimension = len(at_zero)
    exact = np.zeros((dimension + 1, dimension + 2))
    exact[dimension, 0] = 1.0
    for d in range(dimension - 1, -1, -1):
        exact[d] = at_zero[d] * exact[d + 1]
        exact[d, 1:] += beyond_zero[d] * exact[d + 1, :-1]
    cumulative = np.cumsum(exact, axis=1)
    cumulative[:, -1] = 0.0
    return cumulative


def mass_without_each(at_zero, beyond_zero, order):
    """Mass of all dimensions but one, with n non-zero entries, for each dimension that is left out.

    Parameters
    ----------
    at_zero, beyond_zero : ndarray of shape (dimension,)
        See :func:`mass_by_order`.
    order : int
        Number of non-zero entries.

    Returns
    -------
    ndarray of shape (dimension,)
    """

    def before(zero, beyond):
        exact = np.zeros((len(zero) + 1, order + 1))
        exact[0, 0] = 1.0
        for d, (constant, rest) in enumerate(zip(zero, beyond, strict=True)):
            exact[d + 1] = constant * exact[d]
            exact[d + 1, 1:] += rest * exact[d, :-1]
        return exact[:-1]

    after = before(at_zero[::-1], beyond_zero[::-1])[::-1]
    return (before(at_zero, beyond_zero) * after[:, ::-1]).sum(axis=1)


def dropped_sum(frequencies, values, tails, max_interaction):
    """Sum of a product of one-dimensional even series over all frequencies outside a set.

    Parameters
    ----------
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        The set, one of each pair of opposite vectors and the zero vector.
    values : list of ndarray
        For each dimension, the terms at frequencies 0, 1, ...
    tails : list of ndarray
        For each dimension, the sums of the terms beyond 0, 1, ... on one side.
    max_interaction : int or None
        Frequencies with more non-zero entries than this do not exist.

    Returns
    -------
    float
    """
    dimension = frequencies.shape[1]
    most = dimension if max_interaction is None else min(max_interaction, dimension)
    later = mass_by_order(np.array([v[0] for v in values]), np.array([2 * t[0] for t in tails]))
    nodes = np.concatenate([frequencies, -frequencies[frequencies.any(axis=1)]])
    nodes = nodes[np.lexsort(nodes.T[::-1])]
    differs = nodes[1:] != nodes[:-1]
    branching = np.where(differs.any(axis=1), differs.argmax(axis=1), dimension)  # first column that differs
    n_nonzero = np.concatenate([np.zeros((len(nodes), 1), int), np.cumsum(nodes != 0, axis=1)], axis=1)
    leader = np.concatenate([[0], 1 + np.flatnonzero(branching < dimension)])  # first row of each node
    missing = np.zeros(len(leader))
    for d in range(dimension - 1, -1, -1):
        child = nodes[leader, d]
        starts = np.concatenate([[0], 1 + np.flatnonzero(branching[leader[1:] - 1] < d)])  # first child of each parent
        ends = np.append(starts[1:], len(leader)) - 1
        below = np.add.reduceat(values[d][np.abs(child)] * missing, starts)
        gaps = np.zeros(len(leader))
        gaps[1:] = _between(child[:-1], child[1:], tails[d])
        gaps[starts] = _below(child[starts], tails[d])
        nonzero_gap = np.add.reduceat(gaps, starts) + _below(-child[ends], tails[d])
        zero_gap = np.where(np.logical_or.reduceat(child == 0, starts), 0.0, values[d][0])
        left = most - n_nonzero[leader[starts], d]  # non-zero entries that the parent may still spend
        missing = below + zero_gap * later[d + 1, left] + nonzero_gap * later[d + 1, left - 1]
        leader = leader[starts]
    return float(missing[0])


def _below(value, tail):
    """Sum over the non-zero frequencies below a value."""
    return np.where(value <= 0, tail[np.maximum(-value, 0)], 2 * tail[0] - tail[np.maximum(value - 1, 0)])


def _between(low, high, tail):
    """Sum over the non-zero frequencies strictly between two values, of which the first is the smaller."""

    def tail_from(value):
        return tail[np.maximum(value, 0)]

    right = tail_from(low) - tail_from(high - 1)
    left = tail_from(-high) - tail_from(-low - 1)
    return np.where(low >= 0, right, np.where(high <= 0, left, left + right))
