"""Minimising the negative log evidence by its gradient, and its second derivatives from differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from torusgp.engine.inference import NotPositiveDefiniteError

Array = NDArray[np.float64]
Loss = Callable[[Array], tuple[float, Array]]  # value and gradient at a point


@dataclass(frozen=True)
class Descent:
    """Where a descent has ended.

    Attributes
    ----------
    vector : ndarray
        The point.
    value : float
        The loss there.
    converged : bool
        Whether it was not the number of steps that ended it.
    """

    vector: Array
    value: float
    converged: bool


def descend(loss: Loss, start: Array, limits: Array, max_iter: int = 15_000, value_tolerance: float = 1e-7) -> Descent:
    """Minimise a loss within bounds, by L-BFGS.

    Parameters
    ----------
    loss : callable
        Value and gradient at a point; it may raise :class:`~torusgp.engine.inference.NotPositiveDefiniteError` anywhere
        but at the start.
    start : ndarray of shape (n,)
        Where to begin, within the bounds.
    limits : ndarray of shape (n, 2)
        Bounds.
    max_iter : int, default=15000
        Largest number of steps.
    value_tolerance : float, default=1e-7
        Gain of a step, relative to what was gained in all and at least one, that ends the descent.

    Returns
    -------
    Descent
    """
    relative, reference = with_wall(loss, start)
    options = {"maxiter": max_iter, "ftol": value_tolerance, "gtol": 1e-5}
    result = minimize(relative, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return Descent(result.x, float(result.fun + reference), bool(result.status != 1))


def with_wall(loss: Loss, start: Array) -> tuple[Loss, float]:
    """A loss relative to its value at a start, and high where rounding makes the posterior precision indefinite.

    Line searches turn back from such a wall. Values are relative because differences of the evidence matter, while a
    tolerance of an optimiser is often relative to the size.

    Parameters
    ----------
    loss : callable
        Value and gradient at a point.
    start : ndarray
        A point where the loss can be had; it raises if not.

    Returns
    -------
    relative : callable
        Value less that at the start, and gradient.
    reference : float
        Value at the start.
    """
    reference = loss(start)[0]

    def relative(point: Array) -> tuple[float, Array]:
        try:
            value, gradient = loss(point)
        except NotPositiveDefiniteError:
            return 1e6 + abs(reference), np.zeros_like(point)
        return value - reference, gradient

    return relative, reference


def curvature(gradient: Callable[[Array], Array], point: Array, step: float = 1e-3) -> Array:
    """Matrix of second derivatives at a point, from differences of a gradient."""
    units = step * np.eye(len(point))
    slopes = np.array([gradient(point + unit) - gradient(point - unit) for unit in units]) / (2 * step)
    return (slopes + slopes.T) / 2
