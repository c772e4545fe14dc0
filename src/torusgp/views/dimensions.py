r"""The dimensions of a fitted function: how it varies along each, and how that is averaged.

A fitted function is a sum of products of functions of one dimension each: sinusoids on circles, on lines and on
levels, straight lines of plain columns. Averages over independent dimensions are products of averages, so all
that an analysis needs are the means and covariances of these few functions along each dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.fitted import FittedTorusGP
from torusgp.kernels.product import to_phases
from torusgp.kernels.torus import Axis, Torus, to_numbers

UNIFORM, ROWS, RANGE = "uniform", "rows", "uniform over the range"
_RANGE_NODES = 512  # of a range whose rows are not known


@dataclass(frozen=True)
class Dimension:
    """One dimension of a fitted function.

    Attributes
    ----------
    name : str
        Its name: that of its input, with a period or a kind where the input has several dimensions.
    kind : {"circle", "lattice", "line", "category", "slope"}
        How the function depends on it. A line may have a slope beside it; "slope" has nothing else.
    axes : tuple of int
        Axes of the torus that it feeds: one, or all lines of an input.
    columns : tuple of int
        Plain columns that it feeds.
    input : int
        Position of the input.
    period : float or None
        Period of a circle, or length of a lattice vector.
    low, high : float
        Range of values that are drawn: a period, the range of a line, of a slope its mean and two standard deviations.
    levels : tuple
        Levels of a category.
    measure : {"uniform", "rows", "uniform over the range"}
        How its values are weighted in averages.
    """

    name: str
    kind: Literal["circle", "lattice", "line", "category", "slope"]
    axes: tuple[int, ...]
    columns: tuple[int, ...]
    input: int
    period: float | None
    low: float
    high: float
    levels: tuple[Any, ...]
    measure: str

    @property
    def is_periodic(self) -> bool:
        """True if it is a circle or a direction of a lattice."""
        return self.kind in ("circle", "lattice")

    def grid(self, n_points: int) -> NDArray[Any]:
        """Values over its range; all levels of a category."""
        if self.kind == "category":
            return to_levels(self.levels)
        return np.linspace(self.low, self.high, n_points)


def periodic_cell(fitted: FittedTorusGP) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Axes of a fitted model that are circles or belong to a lattice, and their cell.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.

    Returns
    -------
    axes : ndarray of int, shape (n_axes,)
        Positions among the axes of the torus.
    cell : ndarray of shape (n_axes, n_axes)
        Lattice vectors as rows; diagonal for circles.
    """
    axes = fitted.prior.torus.kinds("circle", "lattice")
    period = fitted.parameters.period
    return axes, period[np.ix_(axes, axes)] if period.ndim == 2 else np.diag(period[axes])


def to_levels(levels: Any) -> NDArray[Any]:
    """Levels as an array that keeps their types."""
    result = np.empty(len(levels), dtype=object)
    result[:] = list(levels)
    return result


def find_dimensions(fitted: FittedTorusGP) -> tuple[Dimension, ...]:
    """Dimensions of a fitted function: circles and directions of lattices, then inputs that do not repeat.

    All lines of an input, its category and its slope are one dimension: they are functions of the same number.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.

    Returns
    -------
    tuple of Dimension
        In the order of the axes; slopes of inputs without an axis that does not repeat come last.
    """
    torus, columns = fitted.prior.torus, fitted.prior.columns
    plain: dict[int, list[int]] = {}
    for i, column in enumerate(columns):
        plain.setdefault(column.input, []).append(i)
    grouped: dict[int, list[int]] = {}
    for d, axis in enumerate(torus.axes):
        if axis.kind in ("line", "walk", "category"):
            grouped.setdefault(axis.input, []).append(d)
    found: list[Dimension] = []
    for d, axis in enumerate(torus.axes):
        if axis.kind in ("circle", "lattice"):
            found.append(_periodic(fitted, d, axis))
        elif grouped[axis.input][0] == d:
            axes = tuple(grouped[axis.input])
            found.append(_straight(fitted, axes, tuple(plain.pop(axis.input, ()))))
    found += [_slope(fitted, tuple(positions)) for positions in plain.values()]
    return _named(found, fitted)


def frequencies_by_order(fitted: FittedTorusGP) -> dict[int, int]:
    """Number of frequencies of a fitted model by the number of inputs that interact in them, without the constant."""
    axes = fitted.prior.torus.axes
    active = fitted.index_set.frequencies[1:] != 0
    inputs = {axis.input for axis in axes}
    counts = sum(active[:, [a for a, axis in enumerate(axes) if axis.input == one]].any(axis=1) for one in inputs)
    orders, numbers = np.unique(counts, return_counts=True)
    return dict(zip(orders.tolist(), numbers.tolist(), strict=True))


def _periodic(fitted: FittedTorusGP, d: int, axis: Axis) -> Dimension:
    period = fitted.parameters.period
    cell = period if period.ndim == 2 else np.diag(period)
    name = axis.name
    if np.count_nonzero(cell[d]) == np.count_nonzero(cell[:, d]) == 1 and cell[d, d]:
        # the phase depends on one input alone, which is alone in moving it
        length, kind = float(cell[d, d]), "circle"
    else:
        factors = (factor for term in fitted.prior.terms for factor in term.factors)
        block = next(list(factor.axes) for factor in factors if d in factor.axes)
        name = f"along ({', '.join(f'{entry:.4g}' for entry in cell[d, block])})"
        length, kind = float(np.linalg.norm(cell[d])), "lattice"
    low, high = axis.window(length)
    return Dimension(name, kind, (d,), (), axis.input, length, low, high, (), UNIFORM)  # type: ignore[arg-type]


def _straight(fitted: FittedTorusGP, axes: tuple[int, ...], columns: tuple[int, ...]) -> Dimension:
    own = [fitted.prior.torus.axes[d] for d in axes]
    marginals = fitted.statistics.marginals
    measure = RANGE if marginals is None or marginals.nodes(axes[0]) is None else ROWS
    category = next((axis for axis in own if axis.kind == "category"), None)
    if category is not None:
        return Dimension(own[0].name, "category", axes, columns, own[0].input, None, 0.0, 0.0, category.levels, measure)
    low, high = min(axis.low for axis in own), max(axis.high for axis in own)
    return Dimension(own[0].name, "line", axes, columns, own[0].input, None, low, high, (), measure)


def _slope(fitted: FittedTorusGP, columns: tuple[int, ...]) -> Dimension:
    column = fitted.prior.columns[columns[0]]
    mean, spread = (values[columns[0]] for values in fitted.statistics.plain_units())
    name = fitted.prior.torus.names[column.input]
    return Dimension(name, "slope", (), columns, column.input, None, mean - 2 * spread, mean + 2 * spread, (), ROWS)


def _named(found: list[Dimension], fitted: FittedTorusGP) -> tuple[Dimension, ...]:
    """The same with names that tell dimensions of one input apart."""
    names, inputs = fitted.prior.torus.names, [one.input for one in found]
    result = []
    for one in found:
        name = names[one.input]
        given = one.name != name and not one.name.startswith(f"{name} (")  # by the user, or a direction of a lattice
        if one.kind != "lattice" and not given:
            several = sum(other.kind != "lattice" for other in found if other.input == one.input) > 1
            what = f"period {one.period:.5g}" if one.kind == "circle" else one.kind
            one = replace(one, name=f"{name} ({what})" if several and inputs.count(one.input) > 1 else name)
        result.append(one)
    return tuple(result)


class Along:
    r"""The functions of one dimension that a fitted function is made of, with their means and covariances.

    The first is the constant one; then come sinusoids :math:`e^{i k \theta}` of both signs, and straight lines.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.
    dimension : Dimension
        Which dimension.

    Attributes
    ----------
    functions : ndarray of int, shape (n_frequencies + n_plain,)
        Which of the functions occurs in the sinusoid of each frequency, and in each plain column.
    conjugates : ndarray of int of the same shape
        Which is its complex conjugate.
    """

    def __init__(self, fitted: FittedTorusGP, dimension: Dimension):
        self.dimension = dimension
        axes, n_plain = list(dimension.axes), len(fitted.prior.columns)
        own = fitted.index_set.frequencies[:, axes]
        n = len(own)
        both = np.vstack([np.zeros((1, len(axes)), dtype=np.int64), own, -own])
        if axes:
            sinusoids, where = np.unique(both, axis=0, return_inverse=True)
        else:
            sinusoids, where = both[:1], np.zeros(len(both), dtype=np.int64)
        order = np.argsort(sinusoids.any(axis=1), kind="stable")  # the constant first
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        where = rank[where.ravel()]
        self._sinusoids = sinusoids[order]
        plain = np.zeros(n_plain, dtype=np.int64)
        plain[list(dimension.columns)] = len(sinusoids) + np.arange(len(dimension.columns))
        self.functions = np.append(where[1 : n + 1], plain)
        self.conjugates = np.append(where[n + 1 :], plain)
        period = fitted.parameters.period
        lengths = np.diagonal(period) if period.ndim == 2 else period
        self._lengths = np.array([dimension.period]) if dimension.is_periodic else lengths[axes]
        torus = fitted.prior.torus
        self._torus = Torus(tuple(replace(torus.axes[d], input=0) for d in axes), (dimension.name,))
        mean, spread = fitted.statistics.plain_units() if n_plain else (np.empty(0), np.empty(0))
        self._plain = np.stack([mean, spread])[:, list(dimension.columns)]
        self._nodes = self._find_nodes(fitted)

    def _find_nodes(self, fitted: FittedTorusGP) -> tuple[NDArray[Any], NDArray[np.float64]] | None:
        """Values that stand for all of a dimension that does not repeat, with weights; None where none are needed."""
        one, axes = self.dimension, fitted.prior.torus.axes
        if one.is_periodic or one.kind == "slope":
            return None
        marginals = fitted.statistics.marginals
        wanted = next(d for d in one.axes if (axes[d].kind == "category") == (one.kind == "category"))
        found = None if marginals is None else marginals.nodes(wanted)
        if one.kind == "category":
            shares: NDArray[Any] = np.ones(len(one.levels))
            if found is not None:
                shares = np.bincount(np.rint(found[0]).astype(int), found[1], len(one.levels))
            return to_levels(one.levels), shares / shares.sum()
        if found is not None:
            return axes[wanted].low + found[0], found[1]
        places, weights = np.polynomial.legendre.leggauss(_RANGE_NODES)
        return one.low + (one.high - one.low) * (places + 1) / 2, weights / 2

    def values(self, points: NDArray[Any]) -> NDArray[np.complex128]:
        """The functions at points, shape (n_points, n_functions)."""
        n_sinusoids = len(self._sinusoids)
        result = np.empty((len(points), n_sinusoids + self._plain.shape[1]), dtype=np.complex128)
        if self.dimension.is_periodic:
            phases = to_phases(to_numbers(points, self.dimension.name)[:, None], self._lengths)
        elif self._torus.axes:
            phases = 2 * np.pi * self._torus.coordinates(points[:, None], self._lengths) / self._lengths
        else:
            phases = np.zeros((len(points), 0))
        result[:, :n_sinusoids] = np.exp(1j * phases @ self._sinusoids.T)
        if self._plain.shape[1]:
            mean, spread = self._plain
            result[:, n_sinusoids:] = (to_numbers(points, self.dimension.name)[:, None] - mean) / spread
        return result

    @cached_property
    def mean(self) -> NDArray[np.complex128]:
        """Averages of the functions."""
        return self._moments[0]

    @cached_property
    def covariance(self) -> NDArray[np.complex128]:
        """Averages of products of one function with the conjugate of another, less the product of their averages."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        if self._nodes is None:  # sinusoids on the whole circle, or a straight line in standard units
            mean = np.zeros(len(self._sinusoids) + self._plain.shape[1], dtype=np.complex128)
            mean[0] = 1.0
            return mean, np.diag(1.0 - mean)
        points, weights = self._nodes
        values = self.values(points)
        mean = weights @ values
        centred = values - mean
        centred[:, 0] = 0.0
        return mean, (centred * weights[:, None]).T @ centred.conj()
