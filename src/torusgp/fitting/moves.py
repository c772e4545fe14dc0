"""How a period or cell may move while it is learned."""

import numpy as np

from torusgp.kernels.lattices import cell_errors


class PeriodMoves:
    r"""Which entries of the inverse cell are learned, in steps that suit the data.

    A step of one turns the phase along an input by one radian over the extent of the data.

    Parameters
    ----------
    free : ndarray of bool, shape (dimension, dimension)
        Entries of :math:`\text{cell}^{-1}` that may move.
    extent : ndarray of shape (dimension,)
        Extents of the inputs of the dimensions.
    bounds : ndarray of shape (dimension, 2), optional
        Bounds of the periods; half a turn over the data is the farthest in any case.
    """

    def __init__(self, free, extent, bounds=None):
        self._free, self._extent, self._bounds = free, extent, bounds
        self._where = np.nonzero(free)
        self._unit = 1 / (2 * np.pi * np.asarray(extent)[self._where[0]])
        self._whole = bool((free & ~np.eye(len(free), dtype=bool)).any())
        self._dimension = len(free)
        self.size = len(self._unit)

    def inverse_cell(self, steps, period):
        """Inverse cell, some steps from that of a period or cell."""
        inverse = inverse_cell(period, self._dimension)
        inverse[self._where] += steps * self._unit
        return inverse

    def period(self, steps, period):
        """Period or cell, some steps from another."""
        inverse = self.inverse_cell(steps, period)
        if self._whole or np.ndim(period) == 2:
            return np.linalg.inv(inverse)
        return 1 / np.diag(inverse)

    def restricted(self, axes):
        """The moves of some of the axes."""
        bounds = None if self._bounds is None else self._bounds[axes]
        return PeriodMoves(self._free[np.ix_(axes, axes)], np.asarray(self._extent)[axes], bounds)

    def within(self, coherence):
        """The same in steps of one radian over these lengths, where they are shorter than the extents."""
        return PeriodMoves(self._free, np.minimum(self._extent, coherence), self._bounds)

    def are_limited(self, coherence):
        """Whether one of the axes that move repeats over a part of the data alone."""
        return bool((np.minimum(self._extent, coherence) < self._extent)[self._where[0]].any())

    def limits(self, period):
        """Bounds of the steps from a period, shape (size, 2)."""
        limits = np.tile([-np.pi, np.pi], (self.size, 1))
        if self._bounds is None or np.ndim(period) == 2:
            return limits
        here = inverse_cell(period, self._dimension)[self._where]
        with np.errstate(divide="ignore"):
            inverse = 1 / np.asarray(self._bounds)[self._where[0], ::-1]  # the longest period is the lowest frequency
        return np.clip((inverse - here[:, None]) / self._unit[:, None], *limits[0])

    def gradient(self, by_inverse_cell):
        """Derivatives in the steps, from those in the entries of the inverse cell."""
        return by_inverse_cell[self._where] * self._unit

    def standard_errors(self, covariance, period):
        """Standard errors of the entries of the period or cell, from the covariance of the steps."""
        inverse = np.zeros((self.size, self._dimension, self._dimension))
        inverse[np.arange(self.size), *self._where] = self._unit
        cell = np.linalg.inv(inverse_cell(period, self._dimension))
        errors = cell_errors(cell, inverse, covariance)
        if np.ndim(period) == 2:
            return errors
        return np.diag(errors).copy()


def inverse_cell(period, dimension):
    """Matrix W of the phases ``2 pi X @ W``."""
    if np.ndim(period) == 2:
        return np.linalg.inv(period)
    return np.diag(1 / np.broadcast_to(np.asarray(period, dtype=float), (dimension,)))
