r"""Sums over points of the columns of the basis times values, for many frequencies whose entries repeat.

A frequency is split before its last entry that is not zero, into a and b. Then

.. math:: \sum_i v_i e^{i (a + b) \cdot \theta_i} = \sum_i (v_i e^{i a \cdot \theta_i}) \, e^{i b \cdot \theta_i}

is an entry of a matrix product. Low frequencies of few axes and their neighbours have few such a and b, so that
products serve many of them at once, and no column is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import ColumnPlan

_CHUNK_BYTES = 2**23  # exponentials of a chunk of rows: enough rows for products
_LEAST_SHARE = 1 / 8  # of the entries of a product that are asked for


@dataclass(frozen=True)
class _Group:
    """Frequencies with the same last axis and the same number of axes.

    Shapes: numbers (n_frequencies,); places (n_frequencies,).
    """

    numbers: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    places: NDArray[np.int64]

    def sums(self, exponentials: NDArray[Any], values: NDArray[np.float64]) -> NDArray[Any]:
        """Sums of the products times values (n_rows, n_functions), shape (n_left, n_right, n_functions)."""
        left, (n_rows, n_functions) = exponentials[self.left], values.shape
        if not len(self.right):
            return (left @ values)[:, None]
        right = exponentials[self.right][:, None] * values.T
        sums = left @ right.reshape(len(right) * n_functions, n_rows).T
        return sums.reshape(len(left), len(right), n_functions)


def column_sums(
    phases: NDArray[np.float64], frequencies: NDArray[np.int64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sums over points of the columns of the basis times values: ``columns(phases, frequencies).T @ values``.

    Parameters
    ----------
    phases : ndarray of shape (n_samples, dimension)
        Phases in radians.
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of an index set, the zero vector first.
    values : ndarray of shape (n_samples, n_functions)
        The values, of few functions.

    Returns
    -------
    ndarray of shape (2 * n_frequencies - 1, n_functions)
    """
    factors, groups = _grouped(frequencies[1:])
    n_functions = values.shape[1]
    sums = [np.zeros((len(one.left), max(1, len(one.right)), n_functions), dtype=complex) for one in groups]
    plan = ColumnPlan(np.vstack([0 * frequencies[:1], factors]), len(phases), chunk_bytes=_CHUNK_BYTES)
    for rows, exponentials in plan.exponentials(phases):
        for i, one in enumerate(groups):
            sums[i] += one.sums(exponentials, values[rows])
    result = np.empty((len(frequencies) - 1, 2, n_functions))
    for one, total in zip(groups, sums, strict=True):
        own = np.concatenate(list(total))[one.places]
        result[one.numbers, 0], result[one.numbers, 1] = own.real, own.imag
    return np.vstack([values.sum(axis=0), result.reshape(2 * len(result), n_functions)])


def _grouped(frequencies: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[_Group]]:
    """Frequencies, none of them zero, of which all others are sums of two, and how."""
    if not len(frequencies):
        return frequencies, []
    is_on = frequencies != 0
    orders, last = is_on.sum(axis=1), frequencies.shape[1] - 1 - np.argmax(is_on[:, ::-1], axis=1)
    right = np.where(np.arange(frequencies.shape[1]) == last[:, None], frequencies, 0)
    found = []  # numbers, and distinct left and right factors with the places of the products
    for order, axis in np.unique(np.column_stack([orders, last]), axis=0):
        numbers = np.flatnonzero((orders == order) & (last == axis))
        rights, of_right = np.unique(right[numbers], axis=0, return_inverse=True)
        lefts, of_left = np.unique((frequencies - right)[numbers], axis=0, return_inverse=True)
        if order == 1 or len(numbers) < _LEAST_SHARE * len(lefts) * len(rights):
            found.append((numbers, frequencies[numbers], rights[:0], np.arange(len(numbers))))
        else:
            found.append((numbers, lefts, rights, of_left.ravel() * len(rights) + of_right.ravel()))
    factors, which = np.unique(np.vstack([one for _, *parts, _ in found for one in parts]), axis=0, return_inverse=True)
    groups, start = [], 0
    for numbers, lefts, rights, places in found:
        middle, end = start + len(lefts), start + len(lefts) + len(rights)
        groups.append(_Group(numbers, which.ravel()[start:middle], which.ravel()[middle:end], places))
        start = end
    return factors, groups
