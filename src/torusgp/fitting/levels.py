r"""Steps in the level of a series: noise that is stationary, and has another level from certain times on.

The level of each stretch between two steps is drawn from a normal density. A step is looked for where it adds most to
the density of the rows, by the noise that they show if there is none. A large innovation of noise that lasts looks like
a step as well: so what rows after the first of a stretch say has to be evidence by itself, by the noise that they show
if there is the step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.series import Autocovariance, TimeGrid
from torusgp.fitting.leftover import SURE
from torusgp.fitting.noise_process import Levels, Predecessors

Array = NDArray[np.float64]

_MOST_CELLS = 500  # means of consecutive rows: the noise of more would be known over a small share of a stretch only
_SHORTEST = 0.1  # of the rows, that a level lasts: what varies within a block that is left out is noise


def find_levels(
    residuals: Array, times: Array, grid: TimeGrid, noise: Callable[[Array, TimeGrid], Autocovariance]
) -> Levels | None:
    """The levels of a series; None if it has the same all along.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples,)
        Residuals, in the order of time.
    times : ndarray of shape (n_samples,)
        Their times.
    grid : TimeGrid
        The same, as cells.
    noise : callable
        The autocovariance that residuals show on a grid.
    """
    rows, size = residuals, -(-len(residuals) // _MOST_CELLS)
    if size > 1:
        starts = np.arange(0, len(rows), size)
        residuals = np.add.reduceat(rows, starts) / np.diff(np.append(starts, len(rows)))
        grid = TimeGrid(np.arange(len(starts)), 1.0, True)
    edges, means, before = [0, len(residuals)], np.zeros(1), noise(residuals, grid)
    while (step := _likely_step(residuals - np.repeat(means, np.diff(edges)), grid, before, edges)) is not None:
        closer = sorted([*edges, step])
        found = np.add.reduceat(residuals, closer[:-1]) / np.diff(closer)
        after = noise(residuals - np.repeat(found, np.diff(closer)), grid)
        _, later = _gains(residuals - np.repeat(means, np.diff(edges)), grid, after)
        if later[step] < SURE + np.log(len(residuals)):
            break
        edges, means, before = closer, found, after
    if len(means) == 1:
        return None
    firsts = np.array([_first_row(rows, one, size, *means[i : i + 2]) for i, one in enumerate(edges[1:-1])])
    return Levels(times[firsts - 1], times[firsts], float(np.var(means, ddof=1)))


def _first_row(residuals: Array, cell: int, size: int, before: float, after: float) -> int:
    """The first row of a level that starts in a cell of so many rows, or next to it: where residuals are nearest."""
    if size == 1:
        return cell
    first, end = (cell - 1) * size + 1, min((cell + 1) * size, len(residuals))
    near = residuals[first:end]
    return first + int(np.argmin(np.append(0.0, np.cumsum((near - before) ** 2 - (near - after) ** 2))))


def _likely_step(residuals: Array, grid: TimeGrid, noise: Autocovariance, edges: list[int]) -> int | None:
    """The row from which on another level is most likely, as far from other steps as a level lasts; None if chance."""
    rows = np.arange(len(residuals))
    distances = np.abs(rows[:, None] - edges).min(axis=1)
    gains, _ = _gains(residuals, grid, noise)
    gains[distances < _SHORTEST * len(rows)] = 0.0
    return int(gains.argmax()) if gains.max() > SURE + np.log(len(rows)) else None


def _gains(residuals: Array, grid: TimeGrid, noise: Autocovariance) -> tuple[Array, Array]:
    """What another level from each row on adds to the log density of the rows, and to that of those after it."""
    before = Predecessors.of(noise, grid)
    return before.gains(before.innovations(residuals))
