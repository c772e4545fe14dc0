r"""Averages over a normal function, and quantiles of mixtures, for many rows at once.

The posterior of the function is normal, but where counts tell little of it. The log likelihood of the counts is not
the parabola :math:`-w \delta^2 / 2` around the mode, but :math:`-w (e^\delta - 1 - \delta)`, which cuts the upper tail
off. Where the variance is above a half, more and more of that takes the place of the parabola, and above one all:
every prediction is of this one mixture. There, ``information`` is the part w of the precision that counts gave.

The trapezoidal rule converges faster than any power for smooth functions times a normal density: sixteen standard
deviations in steps of a half are exact to rounding unless the function is steeper than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

Array = NDArray[np.float64]

_REACH = 8.0  # standard deviations on each side
_FAR_REACH = 40.0  # the same below, where a tail falls as an exponential only
_STEP = 0.5  # standard deviations
_RANK_NODES = 1921  # where probabilities are interpolated between nodes: a fortieth of a standard deviation apart
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


def skewed_share(variance: Array, information: Any) -> Array:
    """Share of the skewed part of the posterior, in which the likelihood of counts is exact."""
    return np.zeros(np.shape(variance)) if information is None else np.clip(2 * variance - 1, 0.0, 1.0)


def skewed_values(values: Array, mean: Array, variance: Array, information: Any) -> Array:
    """Values of a normal function, in a last axis, moved to where the mixture has the same probability."""
    share = skewed_share(variance, information)
    chosen = np.argwhere(share > 0)
    if not len(chosen):
        return values
    values = values.copy()
    nodes = np.linspace(-_FAR_REACH, _REACH, _RANK_NODES)
    for place in map(tuple, chosen):
        std, w = np.sqrt(variance[place]), information[place]
        delta = nodes * std
        with np.errstate(over="ignore"):
            density = np.exp(-(nodes**2) / 2 + w * delta**2 / 2 - w * (np.expm1(delta) - delta))
        below = np.cumsum(density) - density / 2
        rank = (1 - share[place]) * ndtr(nodes) + share[place] * below / density.sum()
        wanted = ndtr((values[place] - mean[place]) / std)
        values[place] = mean[place] + std * np.interp(wanted, rank, nodes)
    return values


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
        The part of the precision that counts gave.
    """
    std = np.sqrt(variance)
    share = skewed_share(variance, information)
    skewed = bool(np.any(share > 0))
    steepness = _steepness(std, np.minimum(width, 1.0) if skewed else width)  # exponentials change over one
    nodes = _nodes(steepness, _FAR_REACH if skewed else _REACH)
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
    skewed: bool = False,
) -> Array:
    """Logarithm of the average of a positive function, on nodes around a center with a spread, a variance."""
    std = np.sqrt(spread)
    nodes = _nodes(_steepness(std, 1.0 if skewed else width), _FAR_REACH if skewed else _REACH)
    step = nodes[1] - nodes[0]
    tiny = np.finfo(float).tiny
    safe = np.maximum(variance, tiny)
    terms = []
    for node in nodes:
        f = center + node * std
        terms.append(log_function(f) - (f - mean) ** 2 / (2 * safe) - 0.5 * np.log(2 * np.pi * safe))
    found = logsumexp(np.stack(terms), axis=0) + np.log(step * np.maximum(std, tiny))
    return np.where(variance > tiny, found, log_function(mean))


def latent_mode(derivatives: Callable[[Array], Any], mean: Array, variance: Array) -> tuple[Array, Array]:
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
