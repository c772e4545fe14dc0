"""One term of a kernel: a product of factors on some of the axes of a torus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from torusgp.kernels.index_sets import IndexSet, adaptive, from_frequencies
from torusgp.kernels.product import ProductKernel
from torusgp.kernels.spectra import Folded, Spectrum, TorusMatern
from torusgp.kernels.spectra._matern import matern_correlation
from torusgp.kernels.torus import Torus

_CHUNK_ENTRIES = 2**21  # entries of a Gram matrix computed at once


@dataclass(frozen=True)
class TermFactor:
    """A factor of a term: a family on one axis, or on the axes of a lattice.

    Attributes
    ----------
    axes : tuple of int
        Axes of the torus.
    family : Spectrum
        Family on the circle.
    length_scale : ndarray
        Where learning starts, in the units of the user: one number, or one for each axis of a lattice.
    bounds : pair of float
        Of the learned length scales.
    learned : bool
        Whether they are learned.
    is_line : bool
        Whether the axis is a line, whose length scales are in the units of its input.
    tolerance : float, optional
        Largest error by the circle of a line being finite.
    positions : int, default=0
        If not zero, the factor is a function of this number of evenly spaced positions on its circle.
    """

    axes: tuple[int, ...]
    family: Spectrum
    length_scale: NDArray[np.float64]
    bounds: tuple[float, float]
    learned: bool = True
    is_line: bool = False
    tolerance: float | None = None
    positions: int = 0

    @property
    def is_cartesian(self) -> bool:
        """True if the family is a function of the vector in the units of the inputs."""
        return self.family.metric == "cartesian"


@dataclass(frozen=True)
class KernelTerm:
    """A product of factors, of variance one; what is learned of it is an argument.

    Attributes
    ----------
    name : str
        What it is called in results.
    factors : tuple of TermFactor
        The factors, on different axes.
    variance : float, optional
        Variance where learning starts; by default that of the targets, shared among the terms.
    variance_bounds : pair of float, "fixed" or None
        Bounds of the learned variance.
    max_interaction : int, optional
        Largest number of axes that interact.
    """

    name: str
    factors: tuple[TermFactor, ...]
    variance: float | None = None
    variance_bounds: Any = None
    max_interaction: int | None = None

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """Axes of the torus that the term depends on."""
        return tuple(axis for factor in self.factors for axis in factor.axes)

    @cached_property
    def length_scale(self) -> NDArray[np.float64]:
        """Length scales of all factors, where learning starts."""
        return np.concatenate([factor.length_scale for factor in self.factors])

    @cached_property
    def bounds(self) -> NDArray[np.float64]:
        """Bounds of the length scales, shape (n_scales, 2)."""
        return np.array([factor.bounds for factor in self.factors for _ in factor.length_scale])

    @cached_property
    def learned(self) -> NDArray[np.bool_]:
        """Mask of the length scales that are learned."""
        return np.array([factor.learned for factor in self.factors for _ in factor.length_scale])

    def on_positions(self, torus: Torus) -> KernelTerm:
        """The term on the positions of circles on which the data lie."""
        return replace(
            self,
            factors=tuple(
                replace(factor, positions=torus.axes[factor.axes[0]].positions) if not factor.is_cartesian else factor
                for factor in self.factors
            ),
        )

    def _parts(self, scales: NDArray[np.float64], period: Any) -> list[tuple[ProductKernel, list[int], list[int]]]:
        """Product kernels of the factors, with their axes and the positions of their length scales.

        All factors of a phase are one product; every Cartesian lattice is another.
        """
        key = (scales.tobytes(), np.asarray(period).tobytes())
        latest = self._latest[0]
        if latest is None or latest[0] != key:  # a step of learning asks several times for the same
            latest = self._latest[0] = (key, self._make_parts(scales, period))
        return latest[1]

    @cached_property
    def _latest(self) -> list[Any]:
        return [None]

    def _make_parts(self, scales: NDArray[np.float64], period: Any) -> list[tuple[ProductKernel, list[int], list[int]]]:
        parts, families, axes, places, values = [], [], [], [], []
        place = 0
        for factor in self.factors:
            count = len(factor.length_scale)
            if factor.is_cartesian:
                block = np.ix_(factor.axes, factor.axes)
                cell = np.diag(np.asarray(period)) if np.ndim(period) < 2 else np.asarray(period)
                kernel = ProductKernel(factor.family, float(scales[place]), cell[block])
                parts.append((kernel, list(factor.axes), [place]))
            else:
                unit = 2 * np.pi / _period_of(period, factor.axes[0]) if factor.is_line else 1.0
                family = Folded(factor.family, factor.positions) if factor.positions else factor.family
                for i, axis in enumerate(factor.axes):
                    families.append(family)
                    axes.append(axis)
                    places.append(place + min(i, count - 1))
                    values.append(unit * scales[place + min(i, count - 1)])
            place += count
        if axes:
            kernel = ProductKernel(families, values, max_interaction=self.max_interaction)
            parts.append((kernel, axes, places))
        return parts

    def _split(self, frequencies: NDArray[np.int64]) -> Any:
        """Mask of the frequencies that lie on the axes of the term."""
        if len(self.axes) == frequencies.shape[1]:
            return slice(None)
        others = np.ones(frequencies.shape[1], dtype=bool)
        others[list(self.axes)] = False
        return np.asarray(~frequencies[:, others].any(axis=1))

    def log_coefficients(
        self, frequencies: NDArray[np.int64], scales: NDArray[np.float64], period: Any
    ) -> NDArray[np.float64]:
        """Logarithms of the coefficients at frequencies of the whole torus; minus infinity off the term's axes."""
        own = self._split(frequencies)
        result = np.full(len(frequencies), -np.inf)
        result[own] = sum(
            kernel.log_coefficients(frequencies[own][:, axes]) for kernel, axes, _ in self._parts(scales, period)
        )
        return result

    def log_coefficients_gradient(
        self, frequencies: NDArray[np.int64], scales: NDArray[np.float64], period: Any
    ) -> NDArray[np.float64]:
        """Derivatives of the log coefficients in the logarithms of the length scales, (n_frequencies, n_scales)."""
        own = self._split(frequencies)
        result = np.zeros((len(frequencies), len(scales)))
        for kernel, axes, places in self._parts(scales, period):
            slopes = kernel.log_coefficients_gradient(frequencies[own][:, axes])
            slopes = np.nan_to_num(slopes, posinf=0.0, neginf=0.0)
            for place, slope in zip(places, slopes.T, strict=True):
                result[own, place] += slope
        return result

    def truncation_error(self, index_set: IndexSet, scales: NDArray[np.float64], period: Any) -> float:
        """Sum of the coefficients that a set on the whole torus leaves out of the term."""
        frequencies = index_set.frequencies
        own = frequencies[self._split(frequencies)]
        parts = self._parts(scales, period)
        if len(parts) == 1:
            kernel, axes, _ = parts[0]
            return kernel.truncation_error(from_frequencies(own[:, axes]))
        kept = np.exp(self.log_coefficients(own, scales, period))
        return max(0.0, float(1 - kept[0] - 2 * kept[1:].sum()))

    def aliasing_error(self, torus: Torus, scales: NDArray[np.float64], period: Any) -> float:
        """Largest error of the kernel, of variance one, by the circles of lines being finite.

        Evaluated where it is largest, between a point of the range and one that is clamped beyond it. Factors are at
        most one, so their errors add.
        """
        total, place = 0.0, 0
        for factor in self.factors:
            if factor.is_line:
                axis, circle = torus.axes[factor.axes[0]], _period_of(period, factor.axes[0])
                total += _aliasing(factor.family, scales[place], circle, axis.reach(circle))
            place += len(factor.length_scale)
        return total

    def gram(
        self,
        x: NDArray[np.float64],
        y: NDArray[np.float64],
        scales: NDArray[np.float64],
        period: Any,
    ) -> NDArray[np.float64]:
        """Exact kernel between coordinates that nothing has clamped: lines are lines here."""
        result = np.empty((len(x), len(y)))
        step = max(1, _CHUNK_ENTRIES // max(1, len(y)))
        for start in range(0, len(x), step):
            result[start : start + step] = self._evaluate(x[start : start + step, None] - y, scales, period)
        return result

    def _evaluate(self, difference: NDArray[np.float64], scales: NDArray[np.float64], period: Any) -> Any:
        cell = np.diag(np.asarray(period, dtype=float)) if np.ndim(period) < 2 else np.asarray(period)
        phases = 2 * np.pi * difference @ np.linalg.inv(cell)
        lines = {
            factor.axes[0]: place for factor, place in zip(self.factors, self._places(), strict=True) if factor.is_line
        }
        values: Any = 1.0
        for kernel, axes, places in self._parts(scales, period):
            if kernel.metric == "cartesian":
                values = values * kernel.evaluate(phases[..., axes])
                continue
            parts = []
            for d, (axis, (family, scale)) in enumerate(zip(axes, kernel.axis_spectra(len(axes)), strict=True)):
                if axis in lines:
                    parts.append(line_correlation(family, np.abs(difference[..., axis]) / scales[places[d]]))
                else:
                    parts.append(family.kernel(phases[..., axis], scale))
            values = values * kernel.combine(parts)
        return values

    def _places(self) -> list[int]:
        return np.cumsum([0, *(len(factor.length_scale) for factor in self.factors)])[:-1].tolist()

    def adaptive(self, n_components: int, scales: NDArray[np.float64], period: Any) -> IndexSet:
        """The set of the largest coefficients of a term on all axes, in their order."""
        parts = self._parts(scales, period)
        if len(parts) == 1:
            return adaptive(parts[0][0], n_components, dimension=len(self.axes))
        return IndexSet(self.largest(n_components, len(self.axes), scales, period)[0], None, "adaptive")

    def largest(
        self, n_components: int, dimension: int, scales: NDArray[np.float64], period: Any
    ) -> tuple[NDArray[np.int64], float]:
        """Frequencies of the largest coefficients, the zero vector first, and a bound of all others' coefficients."""
        parts = self._parts(scales, period)
        if len(parts) == 1:
            kernel, axes, _ = parts[0]
            found = adaptive(kernel, n_components, dimension=len(axes)).frequencies
        else:
            found, axes = _largest_of_product(parts, n_components)
        result = np.zeros((len(found), dimension), dtype=np.int64)
        result[:, axes] = found
        complete = 2 * len(found) - 1 < n_components - 1  # a family with finitely many coefficients is exhausted
        bound = 0.0 if complete else float(np.exp(self.log_coefficients(result[-1:], scales, period)[0]))
        return result, bound


def _largest_of_product(
    parts: list[tuple[ProductKernel, list[int], list[int]]], n_components: int
) -> tuple[NDArray[np.int64], list[int]]:
    """Largest coefficients of a product of a phase kernel and Cartesian lattices, from the largest of each."""
    axes = [axis for _, own, _ in parts for axis in own]
    pool = np.zeros((1, 0), dtype=np.int64)
    values = np.zeros(1)
    wanted = (n_components + 1) // 2
    for kernel, own, _ in parts:
        half = adaptive(kernel, n_components, dimension=len(own)).frequencies
        both = np.vstack([half, -half[1:]])
        log_c = kernel.log_coefficients(both)
        total = values[:, None] + log_c
        order = np.argsort(-total, axis=None, kind="stable")[: 2 * wanted]
        rows, columns = np.unravel_index(order, total.shape)
        pool, values = np.hstack([pool[rows], both[columns]]), total.ravel()[order]
    return from_frequencies(pool).frequencies[:wanted], axes


def line_correlation(family: Spectrum, distance: NDArray[Any]) -> NDArray[np.float64]:
    """Kernel of the line at distances in length scales, for a family that is summed over images on a circle."""
    if isinstance(family, TorusMatern):
        return matern_correlation(distance, family.nu)
    return np.exp(-0.5 * np.asarray(distance) ** 2)


def decay_distance(family: Spectrum, tolerance: float) -> float:
    """Distance in length scales at which the kernel of the line has fallen to a tolerance.

    Examples
    --------
    >>> from torusgp.kernels.spectra import Heat
    >>> round(decay_distance(Heat(), 1e-6), 1), round(decay_distance(TorusMatern(2.5), 1e-6), 1)
    (5.3, 8.4)
    """
    if isinstance(family, TorusMatern):
        return float(brentq(lambda q: np.log(line_correlation(family, np.array(q)) / tolerance), 1e-9, 100.0))
    return float(np.sqrt(-2 * np.log(tolerance)))


def circle_length(family: Spectrum, length_scale: float, extent: float, tolerance: float) -> float:
    """Length of the circle on which a line of this extent is laid."""
    return extent + 3 * decay_distance(family, tolerance) * length_scale


def _aliasing(family: Spectrum, length_scale: float, circle: float, reach: float) -> float:
    """Kernel at one reach and its images, which a clamped point sees and the true one does not."""
    turns = np.arange(-3, 4)
    images = line_correlation(family, np.abs(reach + turns * circle) / length_scale).sum()
    others = 2 * line_correlation(family, turns[4:] * circle / length_scale).sum()  # by which variance one is exceeded
    return float(images + others)


def _period_of(period: Any, axis: int) -> float:
    return float(period[axis, axis] if np.ndim(period) == 2 else period[axis])
