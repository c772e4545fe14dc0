"""Fourier coefficients of a kernel as differentiable functions of its length scales, in any array library.

The numbers are those of :mod:`torusgp.kernels.spectra`, tabulated once as series in the logarithm of the length scale.
Image sums (:class:`~torusgp.kernels.spectra.Heat`, :class:`~torusgp.kernels.spectra.TorusMatern`) have a closed form up
to their normalisation, and only that is tabulated. All is done with logarithms: a coefficient of 1e-200 is as accurate,
relative to itself, as one of order one, and its square root has finite derivatives.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from torusgp.adapters._tables import ChebyshevTable, tabulate
from torusgp.kernels.product import ProductKernel
from torusgp.kernels.spectra import Heat, TorusMatern

_NOTHING = -1e30  # logarithm of no coefficient in a sum: differences of infinities would not be numbers


class LogCoefficients:
    """Logarithms of the coefficients of one product.

    Bounds of a Cartesian family are in units of the cell's size, the D-th root of its volume, over 2 pi; ``limits`` are
    in those of the kernel's length scale.
    """

    def __init__(self, kernel, frequencies, bounds, nothing=-np.inf):
        dimension = kernel.resolve_dimension(frequencies.shape[1])
        self._limit = dimension if kernel.max_interaction is None else min(kernel.max_interaction, dimension)
        beyond = np.count_nonzero(frequencies, axis=1) > self._limit
        self._outside = np.where(beyond, nothing, 0.0) if beyond.any() else None
        self.limits = bounds
        if kernel.metric == "cartesian":
            cell = kernel.cell(dimension)
            size = abs(np.linalg.det(cell)) ** (1 / dimension) / (2 * np.pi)
            self.limits = size * bounds[0], size * bounds[1]
            axes = [(_cartesian_axis(kernel.family, cell, frequencies, self.limits), np.arange(len(frequencies)))]
        else:
            axes = []
            for d, (family, _) in enumerate(kernel.axis_spectra(dimension)):
                orders, position = np.unique(np.abs(frequencies[:, d]), return_inverse=True)
                axes.append((_axis(family, tuple(orders.tolist()), bounds), position))
        self._axes = axes
        self.n_length_scales = len(axes)

    def __call__(self, xp, length_scale):
        """Logarithms of shape (..., n_frequencies) for length scales of shape (..., dimension), (..., 1) or ()."""
        log_length_scale = xp.log(length_scale) + xp.constant(np.zeros(self.n_length_scales))
        total, constants = 0.0, []
        for d, (axis, position) in enumerate(self._axes):
            log_coefficients = axis(xp, log_length_scale[..., d : d + 1])
            total = total + log_coefficients[..., xp.constant(position)]
            constants.append(xp.exp(log_coefficients[..., :1]))  # order zero is always among them
        if self._limit < len(self._axes):
            total = total - xp.log(_mass_within(constants, self._limit))
        return total if self._outside is None else total + xp.constant(self._outside)


class SumLogCoefficients:
    """Logarithms of the coefficients of a sum of products.

    Bounds of lines are in units of their circle over 2 pi; the rows of ``limits``, of shape (n_length_scales, 2), are
    in the units of the length scales.
    """

    def __init__(self, kernel, frequencies, bounds):
        self._terms = [_Term(term, frequencies, kernel.period, bounds) for term in kernel.terms]
        self.limits = np.concatenate([term.limits for term in self._terms])

    def __call__(self, xp, length_scales, variance):
        """Logarithms of shape (..., n_frequencies).

        Shapes: length_scales (..., n_length_scales), (..., 1) or (); variance (..., n_terms).
        """
        total = None
        for j, (term, scales) in enumerate(zip(self._terms, length_scales, strict=True)):
            one = term(xp, scales) + xp.log(variance[..., j : j + 1])
            total = one if total is None else _log_sum(xp, total, one)
        return total


def _log_sum(xp, first, second):
    """Logarithm of the sum of two exponentials; libraries differ in how they guard their own against underflow."""
    top = xp.maximum(first, second)  # whose derivative cancels, whatever it is where both are equal
    return top + xp.log(xp.exp(first - top) + xp.exp(second - top))


class _Term:
    """Logarithms of the coefficients of one term on the whole torus."""

    def __init__(self, term, frequencies, period, bounds):
        others = np.ones(frequencies.shape[1], dtype=bool)
        others[list(term.axes)] = False
        own = ~frequencies[:, others].any(axis=1)
        self._position = np.where(own, np.cumsum(own) - 1, 0)
        self._outside = np.where(own, 0.0, _NOTHING)
        self._n_scales = len(term.length_scale)
        self.limits = np.empty((self._n_scales, 2))
        cell = np.diag(period) if np.ndim(period) < 2 else period
        self._parts = []
        families, axes, places, units, place = [], [], [], [], 0
        for factor in term.factors:
            count = len(factor.length_scale)
            if factor.is_cartesian:
                kernel = ProductKernel(factor.family, 1.0, cell[np.ix_(factor.axes, factor.axes)])
                part = LogCoefficients(kernel, frequencies[np.ix_(own, factor.axes)], bounds)
                self._parts.append((part, np.array([place]), np.ones(1)))
                self.limits[place] = part.limits
            else:
                unit = 2 * np.pi / cell[factor.axes[0], factor.axes[0]] if factor.is_line else 1.0
                self.limits[place : place + count] = (0.0 if factor.is_line else bounds[0], bounds[1] / unit)
                for i, axis in enumerate(factor.axes):
                    families.append(factor.family)
                    axes.append(axis)
                    places.append(place + min(i, count - 1))
                    units.append(unit)
            place += count
        if axes:
            kernel = ProductKernel(families, 1.0, max_interaction=term.max_interaction)
            part = LogCoefficients(kernel, frequencies[np.ix_(own, axes)], bounds, _NOTHING)
            self._parts.append((part, np.array(places), np.array(units)))

    def __call__(self, xp, scales):
        scales = scales * xp.constant(np.ones(self._n_scales))
        total: Any = 0.0
        for part, places, units in self._parts:
            total = total + part(xp, scales[..., xp.constant(places)] * xp.constant(units))
        return total[..., xp.constant(self._position)] + xp.constant(self._outside)


def _mass_within(constants, limit):
    """Sum of the product coefficients with at most n non-zero entries, from those of order zero on each axis."""
    by_order = [1.0] + [0.0] * limit
    for constant in constants:
        by_order = [
            constant * by_order[m] + ((1.0 - constant) * by_order[m - 1] if m else 0.0) for m in range(limit + 1)
        ]
    return sum(by_order)


@dataclass(frozen=True, eq=False)
class _ImageSum:
    """Log coefficients of an image sum: that at zero from a table, relative to it in closed form."""

    family: Heat | TorusMatern
    dimension: int
    squared_waves: np.ndarray
    at_zero: ChebyshevTable

    def __call__(self, xp, log_length_scale):
        squares = xp.exp(2.0 * log_length_scale) * xp.constant(self.squared_waves)
        if isinstance(self.family, Heat):
            decay = 0.5 * squares
        else:
            nu = float(self.family.nu)
            decay = (nu + self.dimension / 2) * xp.log1p(squares / (2 * nu))
        return self.at_zero(xp, log_length_scale) - decay


@lru_cache(maxsize=64)  # a probabilistic model is traced many times
def _axis(family, orders, bounds):
    """Log coefficients of one dimension of a product kernel, at these orders."""
    if isinstance(family, Heat | TorusMatern):
        at_zero = tabulate(lambda scale: family.log_coefficients(np.zeros(1), scale), bounds, repr(family))
        return _ImageSum(family, 1, np.array(orders, dtype=float) ** 2, at_zero)
    return tabulate(lambda scale: family.log_coefficients(np.array(orders), scale), bounds, repr(family))


def _cartesian_axis(family, cell, frequencies, limits):
    waves = 2 * np.pi * frequencies @ np.linalg.inv(cell).T
    at_zero = _cartesian_table(family, tuple(map(tuple, cell.tolist())), limits)
    return _ImageSum(family, len(cell), (waves**2).sum(axis=1), at_zero)


@lru_cache(maxsize=64)
def _cartesian_table(family, cell, limits):
    zero = np.zeros((1, len(cell)))
    return tabulate(lambda scale: family.log_coefficients(zero, scale, np.array(cell)), limits, repr(family))
