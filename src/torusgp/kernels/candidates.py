"""Frequencies that may join a set: neighbours of its members, and low ones of few axes.

Of a category all frequencies but zero are in or out together, so what joins is a *pattern*: a frequency whose entries
on categories are 0 or 1, where 1 stands for all but zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.index_sets._index_set import half_space
from torusgp.kernels.torus import Torus

_RADII = {1: (1000,), 2: (48, 24), 3: (12, 6, 4)}  # of the scan of low frequencies, by the number of axes
_MANY_AXES = (40, 3, 2)  # the same for more of them: single axes, pairs, triples; of all others the lowest
_MOST_SCANNED = 8000
_MOST_FROM_TWO_STEPS = 5000
_HARMONICS = (2, 3, 4, 5)
_WHOLE = 1e-6  # relative deviation up to which a ratio of periods is a whole number


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct patterns on a torus.

    Attributes
    ----------
    values : ndarray of int, shape (n_patterns, dimension)
        The patterns, none of them zero.
    torus : Torus
        Its axes.
    """

    values: NDArray[np.int64]
    torus: Torus

    @classmethod
    def of(cls, frequencies: NDArray[np.int64], torus: Torus) -> Patterns:
        """Patterns of frequencies, without zero, in lexicographic order."""
        values = frequencies.copy()
        categories = torus.kinds("category")
        values[:, categories] = values[:, categories] != 0
        others = np.delete(np.arange(torus.dimension), categories)
        if len(others):
            values[:, others] = half_space(values[:, others])
        values = np.unique(values, axis=0)
        return cls(values[values.any(axis=1)], torus)

    @classmethod
    def none(cls, torus: Torus) -> Patterns:
        """No patterns."""
        return cls(np.zeros((0, torus.dimension), dtype=np.int64), torus)

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: Patterns) -> Patterns:
        return Patterns(np.vstack([self.values, other.values]), self.torus)

    def take(self, chosen: Any) -> Patterns:
        """Some of the patterns."""
        return Patterns(self.values[chosen], self.torus)

    def without(self, others: Patterns) -> Patterns:
        """Those that are not among others."""
        known = {row.tobytes() for row in others.values}
        return self.take(np.array([row.tobytes() not in known for row in self.values], dtype=bool))

    @cached_property
    def blocks(self) -> list[NDArray[np.int64]]:
        """Frequencies of each pattern, one of each pair of opposite ones.

        Examples
        --------
        >>> from torusgp.kernels.torus import Axis
        >>> shop = Axis("shop", "category", 1, levels=("a", "b", "c", "d"))
        >>> torus = Torus((Axis("hour", "circle", 0), shop), ("hour", "shop"))
        >>> Patterns(np.array([[2, 0], [2, 1]]), torus).blocks[1].tolist()
        [[2, -2], [2, -1], [2, 1], [2, 2]]
        """
        rows, numbers = self.values, np.arange(len(self))
        for axis in self.torus.kinds("category"):
            half, on = self.torus.axes[axis].modulus // 2, rows[:, axis] != 0
            levels = np.delete(np.arange(-half, half + 1), half)
            repeated = np.repeat(rows[on], len(levels), axis=0)
            repeated[:, axis] = np.tile(levels, np.count_nonzero(on))
            rows = np.vstack([rows[~on], repeated])
            numbers = np.concatenate([numbers[~on], np.repeat(numbers[on], len(levels))])
        if rows is self.values:
            return list(rows[:, None])
        numbered = np.unique(np.column_stack([numbers, half_space(rows)]), axis=0)
        starts, ends = (np.searchsorted(numbered[:, 0], np.arange(len(self)), side) for side in ("left", "right"))
        return [numbered[start:end, 1:] for start, end in zip(starts, ends, strict=True)]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of frequencies of each pattern."""
        return np.array([len(block) for block in self.blocks], dtype=np.int64)

    @property
    def n_frequencies(self) -> int:
        """Number of frequencies of all patterns."""
        return int(self.sizes.sum())

    def contained_in(self, frequencies: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mask of the patterns all of whose frequencies are among these."""
        known = {row.tobytes() for row in half_space(frequencies)}
        return np.array([all(row.tobytes() in known for row in block) for block in self.blocks], dtype=bool)

    def frequencies(self, chosen: Any = slice(None)) -> NDArray[np.int64]:
        """Frequencies of all or some of the patterns, the zero vector first."""
        blocks = self.blocks if isinstance(chosen, slice) else [self.blocks[i] for i in chosen]
        return np.vstack([np.zeros((1, self.torus.dimension), dtype=np.int64), *blocks])

    def to_index_set(self) -> IndexSet:
        """The set of their frequencies."""
        return IndexSet(self.frequencies(), None, "learned")

    def columns(self) -> list[NDArray[np.int64]]:
        """Numbers of the columns of each pattern in that set."""
        ends = 2 * np.cumsum(self.sizes)
        return [np.arange(end - 2 * size, end) + 1 for end, size in zip(ends, self.sizes, strict=True)]

    def best(self, values: NDArray[np.float64], n_frequencies: int, least: float = 0.0) -> Patterns:
        """Those of the highest values above a least one, with at most n frequencies."""
        order = np.argsort(-values, kind="stable")
        order = order[values[order] > least]
        return self.take(order[np.cumsum(self.sizes[order]) <= n_frequencies])


@dataclass(frozen=True, eq=False)
class Candidates:
    """Patterns that may join others.

    Attributes
    ----------
    torus : Torus
        Its axes.
    steps : ndarray of int, shape (n_steps, dimension)
        What makes a neighbour.
    scanned : Patterns
        Candidates in any case: interactions that none of their parts announces have no neighbour that shows them.
    period : ndarray of shape (dimension,) or (dimension, dimension)
        Periods or cell of the axes.
    """

    torus: Torus
    steps: NDArray[np.int64]
    scanned: Patterns
    period: NDArray[np.float64]

    @classmethod
    def of(cls, torus: Torus, period: NDArray[np.float64], n_rows: float = np.inf) -> Candidates:
        """Candidates on a torus, for a number of rows."""
        scanned = _low_frequencies(torus, n_rows)
        return cls(torus, _steps(torus, period), scanned.take(torus.shows(scanned.values, period)), period)

    def beside(
        self,
        patterns: Patterns,
        variances: Callable[[NDArray[np.int64]], NDArray[np.float64]],
        strengths: NDArray[np.float64] | None = None,
    ) -> Patterns:
        """Patterns near those given or zero, and those scanned, if their prior variance is not zero.

        Near is one step; of the strongest also two steps and multiples. A function of a difference of angles moves
        along two axes at once and has nothing in between, and one of a combination of angles has its harmonics.
        """
        dimension = self.torus.dimension
        steps = np.vstack([self.steps, -self.steps])
        around = np.vstack([np.zeros((1, dimension), dtype=np.int64), patterns.values])
        around = (around[:, None] + steps).reshape(-1, dimension)
        if strengths is not None:
            two = np.unique((steps[:, None] + steps).reshape(-1, dimension), axis=0)
            strongest = patterns.values[np.argsort(-strengths, kind="stable")[: _MOST_FROM_TWO_STEPS // len(two)]]
            harmonics = [number * strongest for number in _HARMONICS]
            around = np.vstack([around, (strongest[:, None] + two).reshape(-1, dimension), *harmonics])
        around = around[(around[:, self.torus.kinds("category")] >= 0).all(axis=1)]
        found = Patterns.of(np.vstack([around, self.scanned.values]), self.torus).without(patterns)
        found = found.take(self.torus.shows(found.values, self.period))
        if not len(found):
            return found
        first = np.vstack([np.zeros((1, dimension), dtype=np.int64), *(block[:1] for block in found.blocks)])
        return found.take(variances(first) > 0)


def _steps(torus: Torus, period: NDArray[np.float64]) -> NDArray[np.int64]:
    """A step along each axis; along a cycle that holds another of the same input also a whole turn of that."""
    units = list(np.eye(torus.dimension, dtype=np.int64))
    steps, lengths = units.copy(), np.diagonal(period) if period.ndim == 2 else period
    circles = torus.kinds("circle")
    for outer, inner in product(circles, circles):
        turns = lengths[outer] / lengths[inner]
        same = torus.axes[outer].input == torus.axes[inner].input
        if same and turns > 1.5 and abs(turns / np.rint(turns) - 1) < _WHOLE:
            steps.append(int(np.rint(turns)) * units[outer])
    return np.array(steps)


def _low_frequencies(torus: Torus, n_rows: float) -> Patterns:
    """Patterns of few axes: entries of single axes up to a first radius, of pairs up to a second, and so on."""
    dimension = torus.dimension
    radii = _RADII.get(dimension, _MANY_AXES + (1,) * (dimension - len(_MANY_AXES)))
    is_category = np.isin(np.arange(dimension), torus.kinds("category"))
    found, size = Patterns.none(torus), 0
    for order, radius in enumerate(radii, start=1):
        radius, number = int(min(radius, max(1, n_rows / 2))), comb(dimension, order)
        while radius > 1 and size + (2 * radius) ** order * number // 2 > _MOST_SCANNED:
            radius -= 1
        size += (2 * radius) ** order * number // 2
        if size > _MOST_SCANNED:
            break
        blocks = []
        for axes in combinations(range(dimension), order):
            values = [[1] if is_category[axis] else [k for k in range(-radius, radius + 1) if k] for axis in axes]
            entries = np.array(list(product(*values)), dtype=np.int64)
            block = np.zeros((len(entries), dimension), dtype=np.int64)
            block[:, list(axes)] = entries
            blocks.append(block)
        found = found + Patterns.of(np.vstack(blocks), torus)
    return found
