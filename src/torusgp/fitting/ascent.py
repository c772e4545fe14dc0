"""Maximising the evidence by its average information: far fewer evaluations than without second derivatives.

The average of observed and expected information needs no more than the factor that the evidence is made of, and is
never indefinite. Steps are those of Newton's method with it in place of the curvature, kept within a radius in which it
has predicted the gain well, and within bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.inference import NotPositiveDefiniteError

_FIRST_RADIUS = 1.0  # of the logarithms of parameters
_LARGEST_RADIUS = 4.0
_LEAST_RADIUS = 1e-6
_GOOD, _POOR = 0.75, 0.25  # ratios of gain to predicted gain from which on, and up to which, the radius changes
_ACCEPTED = 1e-4  # ratio from which on a step is taken
_HOPE = 10.0  # times the gain predicted for a step that no radius limits is the most that is still to be gained
_FLAT = 1e-9  # information, relative to the largest, that is rounding


class Point(Protocol):
    """A value to be maximised at a point, with derivatives that are computed when they are asked for."""

    @property
    def value(self) -> float:
        """The value."""

    @property
    def gradient(self) -> NDArray[np.float64]:
        """Its gradient."""

    @property
    def information(self) -> NDArray[np.float64]:
        """A positive semidefinite matrix near the negative of its second derivatives."""


@dataclass(frozen=True)
class Ascent:
    """Where an ascent has ended.

    Attributes
    ----------
    vector : ndarray
        The point.
    value : float
        The value there.
    converged : bool
        Whether it was a maximum that ended it.
    """

    vector: NDArray[np.float64]
    value: float
    converged: bool


def ascend(
    evaluate: Callable[[NDArray[np.float64]], Point],
    start: NDArray[np.float64],
    limits: NDArray[np.float64],
    max_iter: int = 100,
    value_tolerance: float = 1e-6,
    gradient_tolerance: float = 1e-5,
    negligible: float | None = None,
    goal: float = -np.inf,
) -> Ascent:
    """Maximise a function within bounds.

    Parameters
    ----------
    evaluate : callable
        The function, as a :class:`Point`. It may raise :class:`~torusgp.engine.inference.NotPositiveDefiniteError`
        anywhere but at the start: steps turn back from there.
    start : ndarray of shape (n,)
        Where to begin, within the bounds.
    limits : ndarray of shape (n, 2)
        Bounds.
    max_iter : int, default=100
        Largest number of steps that are tried.
    value_tolerance : float, default=1e-6
        Predicted gain, relative to what was gained in all and at least one, that ends the ascent; its step is taken.
    gradient_tolerance : float, default=1e-5
        Largest derivative that points inwards at the end.
    negligible : float, optional
        Predicted gain that ends the ascent instead, whatever was gained.
    goal : float, optional
        Value without which the maximum is of no use: an ascent ends that is not going to reach it.

    Returns
    -------
    Ascent
    """
    here, point = start, evaluate(start)
    first, radius, rest = point.value, _FIRST_RADIUS, np.zeros((len(start), len(start)))
    for _ in range(max_iter):
        gradient = point.gradient
        inwards = np.where(gradient > 0, here < limits[:, 1], here > limits[:, 0])
        if not (np.abs(gradient[inwards]) > gradient_tolerance).any():
            return Ascent(here, point.value, True)
        curvature = _positive(point.information, rest, float(np.abs(gradient).max()))
        while True:
            lower, upper = np.maximum(limits[:, 0] - here, -radius), np.minimum(limits[:, 1] - here, radius)
            step = _best_step(gradient, curvature, lower, upper)
            predicted = float(gradient @ step - step @ curvature @ step / 2)
            least = value_tolerance * max(1.0, point.value - first) if negligible is None else negligible
            if predicted <= least:  # too little to be checked
                return Ascent(np.clip(here + step, limits[:, 0], limits[:, 1]), point.value + predicted, True)
            if radius < _LEAST_RADIUS:
                return Ascent(here, point.value, True)
            if np.abs(step).max() < radius and point.value + _HOPE * predicted < goal:
                return Ascent(here, point.value, False)
            there = np.clip(here + step, limits[:, 0], limits[:, 1])
            try:
                trial = evaluate(there)
                ratio = (trial.value - point.value) / predicted
            except NotPositiveDefiniteError:
                ratio = -1.0
            if not ratio > _POOR:  # also where it is not a number
                radius = min(radius, float(np.abs(step).max())) / 4
            elif ratio > _GOOD:
                radius = min(max(radius, 2 * float(np.abs(step).max())), _LARGEST_RADIUS)
            if ratio > _ACCEPTED:
                break
        rest = _updated(rest, there - here, gradient - trial.gradient, trial.information)
        here, point = there, trial
    return Ascent(here, point.value, False)


def _updated(
    rest: NDArray[np.float64],
    step: NDArray[np.float64],
    change: NDArray[np.float64],
    information: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What second derivatives have beyond the information, by the change of the gradient along a step.

    The update of Dennis, Gay and Welsch (1981), which makes the sum of both right along the step.
    """
    along = float(change @ step)
    if along <= _FLAT * float(np.linalg.norm(change) * np.linalg.norm(step)):
        return rest
    missing = change - information @ step
    size = float(step @ rest @ step)
    if size:
        rest = rest * min(1.0, abs(float(missing @ step) / size))
    error = missing - rest @ step
    outer = np.outer(error, change) / along
    return rest + outer + outer.T - float(error @ step) * np.outer(change, change) / along**2


def _positive(information: NDArray[np.float64], rest: NDArray[np.float64], steepest: float) -> NDArray[np.float64]:
    """Information with as much of the rest as leaves it positive definite, and steps of numbers."""
    flat = _FLAT * max(float(np.trace(information)), steepest)
    ridge = information + flat * np.eye(len(information))
    for share in (1.0, 0.5, 0.25):
        whole = ridge + share * rest
        if np.linalg.eigvalsh(whole)[0] >= flat:
            return whole
    return ridge


def _best_step(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Maximum of the quadratic model in a box that contains zero, by the set of active bounds."""
    step = np.zeros_like(gradient)
    free = upper > lower
    for _ in range(8 * len(step)):
        slope = gradient - curvature @ step
        move = np.zeros_like(step)
        if free.any():
            move[free] = np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(move > 0, (upper - step) / move, np.where(move < 0, (lower - step) / move, np.inf))
        shortest = int(np.argmin(np.where(free, reach, np.inf)))
        if free.any() and reach[shortest] < 1:
            step = np.clip(step + max(reach[shortest], 0.0) * move, lower, upper)
            step[shortest] = upper[shortest] if move[shortest] > 0 else lower[shortest]  # not only up to rounding
            free[shortest] = False
            continue
        step = np.clip(step + move, lower, upper)
        slope = gradient - curvature @ step
        release = np.where(step >= upper, -slope, slope) * (~free & (upper > lower))  # bounds that hold it back
        worst = int(np.argmax(release))
        if release[worst] <= _FLAT * np.abs(gradient).max():
            break
        free[worst] = True
    return step
