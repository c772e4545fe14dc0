"""Turns an expression and the inputs of a data set into a torus, its terms and its plain columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.kernels.axes import (
    Category,
    Circle,
    Expression,
    Factor,
    Input,
    Lattice,
    Line,
    Product,
    Slope,
)
from torusgp.kernels.checks import check_family, check_period, line_family
from torusgp.kernels.grids import circle_positions, grid_step
from torusgp.kernels.interactions import Anova, Walk
from torusgp.kernels.spectra import Brownian, Levels
from torusgp.kernels.terms import KernelTerm, TermFactor, circle_length
from torusgp.kernels.torus import MAX_LEVELS, Axis, Torus, find_levels, to_finite_numbers, to_numbers

DEFAULT_TOLERANCE = 1e-6  # of lines, as long as nothing is known of the noise
_START = 0.25  # length scale of a line at the start of learning, relative to its range
_BOUNDS = (0.01, 10.0)  # of it
_CIRCLE_OF_ANOVA = 1.6  # ranges of a line: its ends are six tenths of it apart, whatever the length scale
_SIMILAR = 2.0  # ratio of length scales up to which lines of one input share an axis


@dataclass(frozen=True)
class ColumnTerm:
    """A plain column beside the Fourier columns.

    Attributes
    ----------
    name : str
        What it is called in results.
    input : int
        Position of the input.
    variance : float or None
        Prior variance of the effect of one standard deviation of the input; None for broad.
    learned : bool
        Whether that variance is learned.
    """

    name: str
    input: int
    variance: float | None
    learned: bool


@dataclass(frozen=True)
class Layout:
    """Layout of training rows on the torus: coordinates on its axes, and plain columns.

    Attributes
    ----------
    torus : Torus
        Axes.
    plain : tuple of int
        Inputs that are plain columns.
    """

    torus: Torus
    plain: tuple[int, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Positions of the inputs in use."""
        return (*(axis.input for axis in self.torus.axes), *self.plain)

    def __call__(self, X: NDArray[Any], first_row: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Coordinates and plain columns of training rows; rows beyond a range and new levels are refused."""
        # training rows are never clamped, so the length of the circles of lines does not matter
        coordinates = self.torus.coordinates(X, np.full(self.torus.dimension, np.inf), True, first_row)
        return coordinates, self.plain_columns(X)

    def plain_columns(self, X: NDArray[Any]) -> NDArray[np.float64] | None:
        """Plain columns of rows."""
        if not self.plain:
            return None
        return np.stack([to_numbers(X[:, one], self.torus.names[one]) for one in self.plain], axis=1)


@dataclass(frozen=True)
class Model:
    """An expression applied to the inputs of a data set.

    Attributes
    ----------
    torus : Torus
        Axes.
    terms : tuple of KernelTerm
        Products on them.
    columns : tuple of ColumnTerm
        Plain columns.
    period : ndarray of shape (dimension,) or (dimension, dimension)
        Periods or cell of the axes, not a number where they are to be found.
    moving : ndarray of bool, shape (dimension,)
        Axes whose period, or lattice whose cell, is learned.
    period_bounds : ndarray of shape (dimension, 2)
        Bounds of learned periods.
    has_trend : bool, default=False
        Whether all terms but the first are slow change beside a period that is to be found.
    is_anova : bool, default=False
        Whether the terms are centred over the rows, see :class:`torusgp.Anova`.
    """

    torus: Torus
    terms: tuple[KernelTerm, ...]
    columns: tuple[ColumnTerm, ...]
    period: NDArray[np.float64]
    moving: NDArray[np.bool_]
    period_bounds: NDArray[np.float64]
    has_trend: bool = False
    is_anova: bool = False

    @property
    def layout(self) -> Layout:
        """Layout of rows on the torus."""
        return Layout(self.torus, tuple(column.input for column in self.columns))

    @property
    def limited(self) -> NDArray[np.int64]:
        """Axes whose period is not given, of which sets have no frequencies that the grids of the data cannot show."""
        lengths = np.diagonal(self.period) if self.period.ndim == 2 else self.period
        return np.flatnonzero(np.isnan(lengths) | self.moving)

    def without_grids(self) -> Model:
        """The model of rows that lie on no grid: derivatives tell frequencies apart that values on one do not."""
        axes = tuple(replace(axis, step=0.0, positions=0) for axis in self.torus.axes)
        return replace(self, torus=replace(self.torus, axes=axes))

    def first_term(self) -> tuple[Model, NDArray[np.int64]]:
        """The model of the first term alone, and its axes."""
        where = np.array(self.terms[0].axes)
        moved = {int(axis): i for i, axis in enumerate(where)}
        factors = tuple(
            replace(factor, axes=tuple(moved[axis] for axis in factor.axes)) for factor in self.terms[0].factors
        )
        period = restricted_period(self.period, where)
        torus = replace(self.torus, axes=tuple(self.torus.axes[axis] for axis in where))
        term = replace(self.terms[0], factors=factors)
        return Model(torus, (term,), (), period, self.moving[where], self.period_bounds[where]), where


def restricted_period(period: NDArray[np.float64], where: NDArray[np.int64]) -> NDArray[np.float64]:
    """Periods, or the cell, of some of the axes."""
    return period[np.ix_(where, where)] if period.ndim == 2 else period[where]


def resolve(
    expression: Expression, X: NDArray[Any] | None, names: Sequence[str] | None = None, margin: float = 0.0
) -> Model:
    """Lay the inputs of a data set on the axes of an expression.

    Parameters
    ----------
    expression : Expression
        Sum of products and plain columns.
    X : ndarray of shape (n_samples, n_inputs) or None
        Inputs, from which ranges and levels are taken; None if the expression gives them all.
    names : sequence of str, optional
        Names of the inputs.
    margin : float, default=0.0
        Widen ranges that are taken from the inputs by this part of them on each side: more rows are to come.

    Returns
    -------
    Model
    """
    return _Resolver(expression, X, names, margin).model()


class _Resolver:
    def __init__(
        self, expression: Expression, X: NDArray[Any] | None, names: Sequence[str] | None, margin: float = 0.0
    ):
        self._terms = expression.terms
        self._anova = expression if isinstance(expression, Anova) else None
        self._X, self._margin = X, margin
        inputs = [one for term in self._terms for one in _inputs(term)]
        if X is not None:
            self._n_inputs = X.shape[1]
        elif names is not None:
            self._n_inputs = len(names)
        else:  # names in order of appearance, or positions up to the largest
            by_name = list(dict.fromkeys(one for one in inputs if isinstance(one, str)))
            names = by_name or None
            self._n_inputs = max([len(by_name), *(int(one) + 1 for one in inputs if not isinstance(one, str))])
        self._has_names = names is not None
        self._names = tuple(map(str, names)) if names is not None else tuple(f"x{d}" for d in range(self._n_inputs))
        self._axes: list[Axis] = []
        self._keys: list[tuple[Any, ...]] = []
        self._period: list[float] = []
        self._moving: list[bool] = []
        self._period_bounds: list[tuple[float, float]] = []
        self._cells: list[tuple[list[int], NDArray[np.float64]]] = []

    def model(self) -> Model:
        products = [term for term in self._terms if isinstance(term, Product)]
        for term in products:  # all axes first: what a category shares depends on the other terms
            for factor in term.factors:
                self._axes_of(factor)
        axes = [tuple(axis for factor in term.factors for axis in self._axes_of(factor)) for term in products]
        terms = tuple(
            self._term(term, [set(other) for i, other in enumerate(axes) if i != j]) for j, term in enumerate(products)
        )
        columns = tuple(self._column(term) for term in self._terms if isinstance(term, Slope))
        period: NDArray[np.float64] = np.array(self._period)
        if self._cells:
            period = np.diag(period)
            for where, cell in self._cells:
                period[np.ix_(where, where)] = cell
        if not self._axes:
            raise ValueError("A model needs at least one axis beside its plain columns: add Circle, Line or Category.")
        names = _distinct([axis.name for axis in self._axes])
        named = tuple(replace(axis, name=name) for name, axis in zip(names, self._axes, strict=True))
        term_names = _distinct([term.name or " * ".join(names[a] for a in term.axes) for term in terms])
        terms = tuple(
            KernelTerm(name, term.factors, term.variance, term.variance_bounds, term.max_interaction)
            for name, term in zip(term_names, terms, strict=True)
        )
        _check_different(terms)
        return Model(
            Torus(named, self._names),
            terms,
            columns,
            period,
            np.array(self._moving),
            np.array(self._period_bounds),
            is_anova=self._anova is not None,
        )

    def _position(self, one: Input) -> int:
        if isinstance(one, str):
            if one not in self._names or not self._has_names:
                available = list(self._names) if self._has_names else "without names"
                raise ValueError(f"There is no input {one!r}: the inputs are {available}.")
            return self._names.index(one)
        if not -self._n_inputs <= one < self._n_inputs:
            raise ValueError(f"There is no input {one!r}: X has {self._n_inputs} column(s).")
        return int(one) % self._n_inputs

    def _column_of(self, position: int) -> NDArray[Any] | None:
        return None if self._X is None else self._X[:, position]

    def _axes_of(self, factor: Factor) -> tuple[int, ...]:
        """Axes of a factor, made where they do not exist yet."""
        if isinstance(factor, Lattice):
            return self._lattice_axes(factor)
        position = self._position(factor.used[0])
        name = factor.name or self._names[position]  # type: ignore[attr-defined]
        if isinstance(factor, Circle):
            key: tuple[Any, ...] = ("circle", position, id(factor) if factor.learns_period else float(factor.period))
            if key not in self._keys:
                period = np.nan if factor.period == "auto" else float(factor.period)
                grid = self._grid(position, np.nan if factor.learns_period else period)
                axis = Axis(name, "circle", position, *self._seen(position), **grid)
                self._add(key, axis, period, factor.learns_period, factor.period_bounds)
        elif isinstance(factor, Category):
            key = ("category", position)
            if key not in self._keys:
                levels = self._levels(factor, position, name)
                axis = Axis(name, "category", position, levels=levels)
                self._add(key, axis, float(axis.modulus))
        elif isinstance(factor, Walk):
            if self._anova is None:
                raise ValueError(f"{factor!r} is an axis of Anova alone: Anova([..., {factor!r}]); or use Line.")
            key = ("walk", position)
            if key not in self._keys:
                low, high = self._range(factor, position, name)
                self._add(key, Axis(name, "walk", position, low, high), 2 * (high - low))
        else:
            assert isinstance(factor, Line)
            key = self._line_key(factor, position)
            low, high = self._range(factor, position, name)
            scale = self._line_scale(factor, high - low, position)[0]
            circle = circle_length(line_family(factor.family), scale, high - low, factor.tolerance or DEFAULT_TOLERANCE)
            circle = circle if self._anova is None else _CIRCLE_OF_ANOVA * (high - low)
            if key not in self._keys:
                self._add(key, Axis(name, "line", position, low, high, **self._grid(position)), circle)
            else:
                where = self._keys.index(key)
                self._period[where] = max(self._period[where], circle)
        return (self._keys.index(key),)

    def _add(self, key: tuple[Any, ...], axis: Axis, period: float, moves: bool = False, bounds: Any = None) -> None:
        self._keys.append(key)
        self._axes.append(axis)
        self._period.append(period)
        self._moving.append(moves)
        self._period_bounds.append(tuple(bounds) if isinstance(bounds, tuple | list) else (0.0, np.inf))

    def _line_key(self, factor: Line, position: int) -> tuple[Any, ...]:
        """Lines of one input share an axis if the circles they need are of about the same length."""
        scale = factor.length_scale
        for key in self._keys:
            if key[:2] == ("line", position) and key[2] == factor.range:
                other = key[3]
                if scale == other or (scale and other and max(scale, other) <= _SIMILAR * min(scale, other)):
                    return key
        return ("line", position, factor.range, scale)

    def _grid(self, position: int, period: float = np.nan) -> dict[str, Any]:
        """Step of the grid on which the numbers of an input lie, and positions on a circle, as an axis has them."""
        column = self._column_of(position)
        if column is None or not len(column) or column.dtype.kind not in "fiub" or not np.isfinite(column).all():
            return {}
        values = np.asarray(column, dtype=float)
        step = grid_step(values)
        return {"step": step, "positions": circle_positions(values, step, period)}

    def _seen(self, position: int) -> tuple[float, float]:
        """Range of the values of a circle, as far as they are numbers."""
        column = self._column_of(position)
        if column is None or column.dtype.kind not in "fiub" or not len(column) or not np.isfinite(column).all():
            return 0.0, 0.0
        return float(column.min()), float(column.max())

    def _levels(self, factor: Category, position: int, name: str) -> tuple[Any, ...]:
        column = self._column_of(position)
        if factor.levels is not None:
            levels = find_levels(np.array(list(factor.levels), dtype=object), name)
            if column is not None:
                unknown = sorted(set(find_levels(column, name)) - set(levels))
                if unknown:
                    raise ValueError(
                        f"The category {name!r} has the level {unknown[0]!r}, which is not among {levels}."
                    )
            return levels
        if column is None:
            raise ValueError(
                f"Category({name!r}) does not know its levels: give them, as in Category({name!r}, levels=[...]), or "
                f"fit an estimator, which takes them from the data. At most {MAX_LEVELS} are possible."
            )
        return find_levels(column, name)

    def _range(self, factor: Line | Walk, position: int, name: str) -> tuple[float, float]:
        column = self._column_of(position)
        given = factor.range
        if column is None:
            if given is None:
                raise ValueError(
                    f"Line({name!r}) does not know its range: give it, as in Line({name!r}, range=(low, high)), or fit "
                    "an estimator, which takes it from the data."
                )
            return float(given[0]), float(given[1])
        values = to_finite_numbers(column, name)
        low, high = float(values.min()), float(values.max())
        if given is None:
            if not low < high:
                one_row = " (n_samples=1)" if len(values) == 1 else ""
                raise ValueError(
                    f"The line {name!r} has one distinct value, {low:.6g}{one_row}: nothing can be learned of it. "
                    f"Leave it out, or give a range, as in Line({name!r}, range=(low, high)), if more rows are to come."
                )
            room = self._margin * (high - low)
            return low - room, high + room
        if low < given[0] or high > given[1]:
            row = int(np.argmax((values < given[0]) | (values > given[1])))
            raise ValueError(
                f"range={given!r} of the line {name!r} is narrower than the data, which go from {low:.6g} to "
                f"{high:.6g}: row {row} has {values[row]:.6g}."
            )
        return float(given[0]), float(given[1])

    def _line_scale(self, factor: Line, extent: float, position: int) -> tuple[float, tuple[float, float]]:
        """Length scale of a line at the start, and its bounds.

        A line that changes faster than a circle of the same input explains the same as it: the two cancel in the data
        and part outside.
        """
        periods = [
            float(other.period)
            for term in self._terms
            if isinstance(term, Product)
            for other in term.factors
            if isinstance(other, Circle) and other.period != "auto" and self._position(other.input) == position
        ]
        low, high = _BOUNDS[0] * extent, _BOUNDS[1] * extent
        low = min(max([low, *periods]), high)
        bounds = factor.length_scale_bounds
        if isinstance(bounds, tuple | list):
            low, high = float(bounds[0]), float(bounds[1])
        scale = _START * extent if factor.length_scale is None else float(factor.length_scale)
        if factor.length_scale is None:
            scale = min(max(scale, low), high)
        return scale, (min(low, scale), max(high, scale))

    def _lattice_axes(self, factor: Lattice) -> tuple[int, ...]:
        positions = [self._position(one) for one in factor.used]
        known = not isinstance(factor.cell, str)
        cell = check_period(factor.cell) if known else None
        if cell is not None and np.shape(cell) != (len(positions),) * 2:
            raise ValueError(
                f"cell must be a square matrix of {len(positions)} lattice vectors, one for each input, got "
                f"{factor.cell!r}."
            )
        base = ("lattice", *positions, id(factor) if factor.learns_period else np.asarray(cell).tobytes())
        where = []
        for i, position in enumerate(positions):
            key = (*base, i)
            if key not in self._keys:
                name = self._names[position] if factor.name is None else f"{factor.name}[{i}]"
                axis = Axis(name, "lattice", position, **self._grid(position))
                self._add(key, axis, np.nan, factor.learns_period)
            where.append(self._keys.index(key))
        if not any(known_where == where for known_where, _ in self._cells):
            self._cells.append((where, np.full((len(where),) * 2, np.nan) if cell is None else np.array(cell)))
        return tuple(where)

    def _term(self, term: Product, others: list[set[int]]) -> KernelTerm:
        own = {axis for factor in term.factors for axis in self._axes_of(factor)}
        factors = []
        for factor in term.factors:
            axes = self._axes_of(factor)
            learned = factor.length_scale_bounds != "fixed"
            bounds, scale, is_line, tolerance = factor.length_scale_bounds, factor.length_scale, False, None
            if isinstance(factor, Line):
                axis = self._axes[axes[0]]
                scale, bounds = self._line_scale(factor, axis.extent, axis.input)
                given = factor.family if self._anova is None else self._anova.family
                family, is_line, tolerance = line_family(given), True, factor.tolerance
            elif isinstance(factor, Walk):
                family, learned = Brownian(), False
            elif isinstance(factor, Category):
                rest = own - set(axes)
                shared = bool(rest) and rest not in others and factor.correlation > 0
                family, learned = Levels(self._axes[axes[0]].modulus, shared), learned and shared
                scale = scale or 1.0
            else:
                family = check_family(factor.family) if self._anova is None else line_family(self._anova.family)
            n_scales = len(axes) if isinstance(factor, Lattice) and family.metric == "phase" else 1
            assert scale is not None
            low, high = bounds if isinstance(bounds, tuple | list) else (scale, scale)
            factors.append(
                TermFactor(
                    axes,
                    family,
                    np.full(n_scales, float(scale)),
                    (float(low), float(high)),
                    learned,
                    is_line,
                    tolerance,
                )
            )
        return KernelTerm(term.name or "", tuple(factors), term.variance, term.variance_bounds, term.max_interaction)

    def _column(self, term: Slope) -> ColumnTerm:
        position = self._position(term.input)
        column = self._column_of(position)
        if column is not None:
            values = to_finite_numbers(column, self._names[position])
            if not values.min() < values.max():
                raise ValueError(
                    f"The plain column {self._names[position]!r} has one distinct value, {values[0]:.6g}: nothing can "
                    "be learned of its slope. Leave it out."
                )
        return ColumnTerm(term.name or f"slope of {self._names[position]}", position, term.variance, term.learned)


def _inputs(term: Product | Slope) -> list[Input]:
    return [term.input] if isinstance(term, Slope) else [one for factor in term.factors for one in factor.used]


def _distinct(names: list[str]) -> list[str]:
    """Names of which those that occur repeatedly are numbered."""
    counts: dict[str, int] = {}
    result = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        result.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return result


def _check_different(terms: tuple[KernelTerm, ...]) -> None:
    """Raise if two terms are the same: only the sum of their variances would mean something."""
    seen: dict[Any, str] = {}
    for term in terms:
        key = tuple(
            sorted(
                (factor.axes, repr(factor.family), tuple(factor.length_scale), factor.bounds, factor.learned)
                for factor in term.factors
            )
        )
        if key in seen:
            raise ValueError(
                f"The terms {seen[key]!r} and {term.name!r} agree in axes, family and length scales: only the sum of "
                "their variances means something. Leave one out, or give them different length scales or bounds."
            )
        seen[key] = term.name
