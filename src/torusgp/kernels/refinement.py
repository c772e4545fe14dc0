r"""Refinement weights of an index set: how far it goes along each axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.checks import check_count
from torusgp.kernels.index_sets import IndexSet, named_set

_FIRST_STEP = 2.0  # factor of a weight
_LAST_STEP = 2.0 ** (1 / 8)


def best_weights(
    kernel: Any, index_set: str | Callable[..., IndexSet], n_components: int, dimension: int, cuts: NDArray[Any]
) -> NDArray[np.float64]:
    r"""Weights whose set has the smallest expected Frobenius error, by a compass search.

    The error of a set follows from the coefficients alone, so weights are compared by what they are for. It is a step
    function of them: the search tries a factor on each weight and on all together, and takes its root where none is
    better. It begins at the better of :math:`\gamma = 1` and of given weights, and only ever improves.

    Parameters
    ----------
    kernel : ProductKernel
        Kernel to approximate.
    index_set : str or callable
        Name of a function of :mod:`torusgp.kernels.index_sets`, or a function that takes a dimension, ``n_components``,
        ``weights`` and ``max_interaction``.
    n_components : int
        Largest number of components.
    dimension : int
        Number of axes.
    cuts : ndarray of shape (dimension,)
        Weights to begin with beside one.

    Returns
    -------
    ndarray of shape (dimension,)
    """
    if not isinstance(index_set, str) and (isinstance(index_set, type) or not callable(index_set)):
        raise ValueError(
            "index_set must be the name of a function of torusgp.kernels.index_sets, or a function like them, got "
            f"{index_set!r}."
        )
    budget = check_count(n_components, "n_components")
    known: dict[bytes, float] = {}

    def error(weights: NDArray[np.float64]) -> float:
        key = weights.tobytes()
        if key not in known:
            known[key] = _error(kernel, index_set, budget, dimension, weights)
        return known[key]

    best = min(np.ones(dimension), np.asarray(cuts, dtype=float), key=error)
    moves = [*np.eye(dimension), np.ones(dimension)] if dimension > 1 else [np.ones(1)]
    step = _FIRST_STEP
    while step >= _LAST_STEP:
        before = best
        for move in moves:
            for sign in (1, -1):
                best = min(best, np.minimum(best * step ** (sign * move), 1.0), key=error)  # of equal ones the first
        if best is before:
            step = np.sqrt(step)
    if not np.isfinite(error(best)):
        _build(index_set, budget, dimension, best, kernel.max_interaction)  # raises, and says why
    return best


def _build(index_set, n_components, dimension, weights, max_interaction):
    """The set of these weights within the budget."""
    if isinstance(index_set, str):
        return named_set(index_set, dimension, n_components, weights=weights, max_interaction=max_interaction)
    return index_set(dimension, n_components=n_components, weights=weights, max_interaction=max_interaction)


def _error(kernel, index_set, n_components, dimension, weights):
    """Expected Frobenius error of the set of these weights, infinite where none fits into the budget."""
    try:
        return kernel.frobenius_error(_build(index_set, n_components, dimension, weights, kernel.max_interaction))
    except ValueError:
        return np.inf
