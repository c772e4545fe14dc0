"""Even grids on which the values of an input lie, and what they can show of a frequency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ON_GRID = 0.02  # of a step: rounding of coordinates that were printed
_ROUNDING = 1e-12  # of the extent: rounding of coordinates that were computed
_MOST_POSITIONS = 2000  # that are distinguished by no more frequencies than a set holds


def grid_step(values: NDArray[np.float64]) -> float:
    """Step of the even grid on which values lie, some of its points perhaps left out; 0 if they lie on none.

    Examples
    --------
    >>> grid_step(np.array([3.0, 0.0, 1.0, 6.0, 1.0])), grid_step(np.array([0.0, 1.0, np.pi]))
    (1.0, 0.0)
    """
    distinct = np.unique(values)
    if len(distinct) < 3:
        return 0.0
    gaps, span = np.diff(distinct), distinct[-1] - distinct[0]
    smallest = gaps[gaps > _ROUNDING * span].min()
    n_steps = round(span / np.median(gaps[np.abs(gaps - smallest) < 0.01 * smallest]))
    places = (distinct - distinct[0]) * (n_steps / span)
    even = np.abs(places - np.rint(places)).max() < _ON_GRID
    # a step far below the usual gap says how numbers were rounded, not how points were laid out
    return float(span / n_steps) if even and span / n_steps > 0.01 * np.median(gaps) else 0.0


def circle_positions(values: NDArray[np.float64], step: float, period: float) -> int:
    """Number of evenly spaced positions on a circle on which values of a grid lie; 0 if they drift along it.

    Examples
    --------
    >>> days = np.arange(100.0)
    >>> circle_positions(days, 1.0, 7.0), circle_positions(days, 1.0, 7.3)
    (7, 0)
    """
    if not step or not np.isfinite(period) or not 2 <= round(period / step) <= _MOST_POSITIONS:
        return 0
    n_positions = round(period / step)
    places = (values - values[0]) / period * n_positions
    return n_positions if np.abs(places - np.rint(places)).max() < _ON_GRID else 0


def nyquist_frequency(values: NDArray[np.float64]) -> float:
    """Highest frequency that values on an evenly spaced grid can show; infinite if they lie on none."""
    step = grid_step(values)
    return 1 / (2 * step) if step else np.inf
