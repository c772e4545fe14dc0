"""Distributions of rows along the axes that do not repeat, in sums that add over chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.kernels.torus import Torus

_BINS = 1024  # of a line; with two nodes each, waves of a hundred turns over the range are averaged to 1e-5
_BLOCK_ROWS = 2**19  # rows that are worked on at once


class Marginals:
    """Weighted histograms of the coordinates on lines and categories.

    Of the rows in each bin the weight, mean and variance are kept. Two points in each bin have the same, so that
    averages of smooth functions are right to the third order of the width of a bin. Every level of a category has a bin
    of its own; so have the values of a line that are few and far apart, whose averages are then exact.

    Parameters
    ----------
    bins : array-like of shape (n_histograms, 4)
        Axis of the torus, start of the first bin, width and number of bins of each histogram.
    sums : array-like of shape (3, n_bins), optional
        Sums of weights, and of offsets from the middle of the bin and their squares, in units of its width, of all
        histograms one after the other; by default those of no rows.
    """

    def __init__(self, bins: Any, sums: Any = None):
        self.bins = np.array(bins, dtype=float).reshape(-1, 4)
        total = int(self.bins[:, 3].sum())
        self.sums = np.zeros((3, total)) if sums is None else np.array(sums, dtype=float)

    @classmethod
    def of(cls, torus: Torus) -> Marginals | None:
        """Histograms of no rows for the lines and categories of a torus; None if all axes are periodic."""
        bins = []
        for d, axis in enumerate(torus.axes):
            if axis.kind in ("line", "walk"):
                bins.append((d, 0.0, axis.extent / _BINS, _BINS))
            elif axis.kind == "category":
                bins.append((d, -0.5, 1.0, axis.modulus))
        return cls(bins) if bins else None

    def empty(self) -> Marginals:
        """The same of no rows."""
        return Marginals(self.bins)

    def with_rows(self, X: NDArray[np.float64], weight: NDArray[np.float64]) -> Marginals:
        """Histograms with rows added.

        Parameters
        ----------
        X : ndarray of shape (n_samples, dimension)
            Coordinates on the axes.
        weight : ndarray of shape (n_samples,)
            Weights of the rows.
        """
        sums, first = self.sums.copy(), 0
        for axis, start, width, count in self.bins.tolist():
            size, own = int(count), slice(first, first + int(count))
            for begin in range(0, len(X), _BLOCK_ROWS):
                rows = slice(begin, begin + _BLOCK_ROWS)
                place = (X[rows, int(axis)] - start) / width
                where = np.clip(place.astype(np.int64), 0, size - 1)
                offset = place - where - 0.5
                for power, values in enumerate((weight[rows], weight[rows] * offset, weight[rows] * offset**2)):
                    sums[power, own] += np.bincount(where, values, size)
            first += size
        return Marginals(self.bins, sums)

    def __add__(self, other: Marginals) -> Marginals:
        if not np.array_equal(self.bins, other.bins):
            raise ValueError("Histograms can be added only if their bins agree: these are of other axes or ranges.")
        return Marginals(self.bins, self.sums + other.sums)

    def nodes(self, axis: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Points along an axis, and their weights, which add up to one; None without rows or a histogram of it."""
        first = 0
        for found, start, width, count in self.bins.tolist():
            if found == axis:
                return self._nodes(slice(first, first + int(count)), start, width)
            first += int(count)
        return None

    def _nodes(self, own: slice, start: float, width: float) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        weight, offset, square = self.sums[:, own]
        used = np.flatnonzero(weight > 0)
        if not len(used):
            return None
        weight = weight[used]
        mean = offset[used] / weight
        variance = square[used] / weight - mean**2
        spread = np.sqrt(np.where(variance > 1e-12, variance, 0.0))  # less is rounding
        places = start + width * (used + 0.5 + np.stack([mean - spread, mean + spread]))
        return places.ravel(), np.tile(weight / (2 * weight.sum()), 2)

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Arrays to store, by name."""
        return {"marginal_bins": self.bins, "marginal_sums": self.sums}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Marginals | None:
        """Invert :meth:`to_arrays`; None from files that do not have them."""
        if "marginal_bins" not in arrays:
            return None
        bins, sums = arrays["marginal_bins"], arrays["marginal_sums"]
        if not (bins.ndim == 2 and bins.shape[1:] == (4,) and np.isfinite(bins).all() and (bins[:, 2:] > 0).all()):
            raise ValueError(f"the stored bins of histograms are {bins}.")
        if sums.shape != (3, bins[:, 3].sum()) or not np.isfinite(sums).all():
            raise ValueError(f"stored histograms have the shape {sums.shape}, or are not finite.")
        return cls(bins, sums)
