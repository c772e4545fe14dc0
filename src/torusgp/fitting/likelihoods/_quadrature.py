"""Averages over a normal function, and quantiles of mixtures, for many rows at once.

The trapezoidal rule converges faster than any power for smooth functions times a normal density: sixteen standard
deviations in steps of a half are exact to rounding unless the function is steeper than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]

_REACH = 8.0  # standard deviations on each side
_FAR_REACH = 40.0  # the same below, where a tail falls as an exponential only
_STEP = 0.5  # standard deviations
_MOST_NODES = 1025
_NEWTON = 50  # steps towards a mode, at most
_ROOT_STEPS = 80


def _nodes(steepness: float = 0.0, below: float = _REACH) -> Array:
    """Nodes in standard deviations: closer where something changes within one over the steepness of them."""
    step = _STEP / max(1.0, 2 * steepness)
    n_nodes = min(int(np.ceil((_REACH + below) / step)) + 1, _MOST_NODES)
    return np.linspace(-below, _REACH, n_nodes)


def _steepness(std: Array, width: Any) -> float:
    return float(np.max(std / width, initial=0.0)) if np.all(np.isfinite(width)) else 0.0


def average(
    function: Callable[[Array], Array], mean: Array, variance: Array, width: Any = np.inf, information: Any = None
) -> Array:
    r"""Average of a function of normal variables, one for each row.

    Parameters
    ----------
    function : callable
        Of the variables.
    mean, variance : ndarray
        Of the variables.
    width : float or ndarray
        Change of them over which the function changes.
    information : ndarray, optional
        Where it is given, the part w of the precision that counts gave. Their log likelihood is not the parabola
        :math:`-w \delta^2 / 2` around the mode but :math:`-w (e^\delta - 1 - \delta)`, which cuts the upper tail off.
        It matters where the function is hardly known: where its variance is above a half, more and more of that takes
        the place of the parabola, and above one all.
    """
    std = np.sqrt(variance)
    share = 0.0 if information is None else np.clip(2 * variance - 1, 0.0, 1.0)
    skewed = bool(np.any(share > 0))
    nodes = _nodes(_steepness(std, width), _FAR_REACH if skewed else _REACH)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    total, cut, mass = np.zeros(np.shape(mean)), 0.0, 0.0
    for node, weight in zip(nodes, weights, strict=True):  # one node at a time: memory as for the rows alone
        delta = node * std
        value = function(mean + delta)
        total = total + weight * value
        if skewed:
            with np.errstate(over="ignore"):
                parabola = -(node**2) / 2 + information * delta**2 / 2
                density = np.exp(parabola - information * (np.expm1(delta) - delta))
            cut, mass = cut + density * value, mass + density
    return (1 - share) * total + share * cut / mass if skewed else total


def log_average(
    log_function: Callable[[Array], Array],
    mean: Array,
    variance: Array,
    center: Array,
    spread: Array,
    width: Any = np.inf,
) -> Array:
    """Logarithm of the average of a positive function, on nodes around a center with a spread, a variance."""
    std = np.sqrt(spread)
    nodes = _nodes(_steepness(std, width))
    step = nodes[1] - nodes[0]
    tiny = np.finfo(float).tiny
    safe = np.maximum(variance, tiny)
    terms = []
    for node in nodes:
        f = center + node * std
        terms.append(log_function(f) - (f - mean) ** 2 / (2 * safe) - 0.5 * np.log(2 * np.pi * safe))
    found = logsumexp(np.stack(terms), axis=0) + np.log(step * np.maximum(std, tiny))
    return np.where(variance > tiny, found, log_function(mean))


def mode_of(derivatives: Callable[[Array], Any], mean: Array, variance: Array) -> tuple[Array, Array]:
    """Mode of a concave log density plus that of a normal function, and the inverse curvature there."""
    precision = 1 / np.maximum(variance, np.finfo(float).tiny)
    f = mean.copy()
    here = derivatives(f)
    value = here.log_density
    for _ in range(_NEWTON):
        step = (here.first - (f - mean) * precision) / (precision - here.second)
        step = np.clip(step, -3.0 * np.sqrt(variance) - 1.0, 3.0 * np.sqrt(variance) + 1.0)
        for _ in range(20):  # halve where it would go down
            there = derivatives(f + step)
            new = there.log_density - (f + step - mean) ** 2 * precision / 2
            falls = new < value - 1e-12 * (1 + np.abs(value))
            if not falls.any():
                break
            step = np.where(falls, step / 2, step)
        f, here, value = f + step, there, new
        if np.max(np.abs(step) * np.sqrt(precision - here.second), initial=0.0) < 1e-6:
            break
    return f, 1 / (precision - here.second)


def roots(function: Callable[[Array], Array], level: float, low: Array, high: Array, whole: bool) -> Array:
    """Where rising functions, one for each row, reach a level; of whole numbers the smallest that does."""
    if whole:
        low, high = np.maximum(np.floor(low), 0.0) - 1, np.maximum(np.ceil(high), 1.0)
    width = np.maximum(high - low, 1e-300)
    for _ in range(200):
        beyond = function(high) < level
        if not beyond.any():
            break
        high, width = np.where(beyond, high + width, high), 2 * width
    width = np.maximum(high - low, 1e-300)
    for _ in range(200):
        below = function(low) >= level
        if whole:
            below &= low >= 0
        if not below.any():
            break
        low, width = np.where(below, low - width, low), 2 * width
        low = np.maximum(low, -1.0) if whole else low
    for _ in range(_ROOT_STEPS):
        middle = np.floor((low + high) / 2) if whole else (low + high) / 2
        if np.all(high - low <= (1.0 if whole else 1e-12 * (1 + np.abs(high)))):
            break
        reached = function(middle) >= level
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high
