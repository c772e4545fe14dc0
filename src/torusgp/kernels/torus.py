"""The torus of a model: how the inputs of a table are laid on its axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from torusgp.checks import holds_times

MAX_LEVELS = 1000  # of a category: each has a column of its own, for every frequency of its partners


@dataclass(frozen=True)
class Axis:
    """One dimension of the torus.

    Attributes
    ----------
    name : str
        What it is called in results.
    kind : {"circle", "line", "category", "lattice", "walk"}
        How the input is laid on it; a walk holds its last level beyond its range.
    input : int
        Position of the input.
    low, high : float
        Range of a line or a walk; of a circle that of the data, which says from where to where it is shown.
    levels : tuple
        Levels of a category.
    step : float
        Step of the even grid on which the numbers of the data lie; 0 if they lie on none, or there were none.
    positions : int
        Evenly spaced positions on a circle of given period on which the data lie; 0 if they lie on none.
    """

    name: str
    kind: Literal["circle", "line", "category", "lattice", "walk"]
    input: int
    low: float = 0.0
    high: float = 0.0
    levels: tuple[Any, ...] = ()
    step: float = 0.0
    positions: int = 0

    @property
    def nyquist(self) -> float:
        """Highest frequency that the data can show, in cycles per unit."""
        return 1 / (2 * self.step) if self.step else np.inf

    @property
    def extent(self) -> float:
        """Length of the range of a line."""
        return self.high - self.low

    @property
    def modulus(self) -> int:
        """Positions of a category on its circle: odd, and at least one is never used."""
        return len(self.levels) + 1 + len(self.levels) % 2

    def window(self, period: float) -> tuple[float, float]:
        """The period of a circle that is shown: around zero if the data lie there, as from -180 to 180, else from zero.

        Examples
        --------
        >>> Axis("torsion", "circle", 0, -175.0, 170.0).window(360.0)
        (-180.0, 180.0)
        """
        half = abs(period) / 2
        centred = self.low < 0 and self.low >= -half * (1 + 1e-9) and self.high <= half * (1 + 1e-9)
        return (-half, half) if centred else (0.0, 2 * half)

    def reach(self, period: float) -> float:
        """Distance beyond its range to which a line is distinct on a circle of this length: farther inputs are clamped.

        The circle is longer than the range by three reaches: one on each side, and one between the two clamps.
        """
        return (period - self.extent) / 3


LARGEST_INTEGER = 2**53  # beyond it numbers do not tell integers apart


class LargeIntegerError(ValueError):
    """Different integers would be the same number."""


class OutsideError(ValueError):
    """Training rows that lie beyond the range of a line, or hold levels that were not there before."""


@dataclass(frozen=True)
class Sharing:
    """Axes that share an input: their coordinates differ by constants, unless a line clamps.

    Attributes
    ----------
    lead : tuple of int
        For each axis the one that stands for its input.
    shift : tuple of float
        Coordinate of each axis less that of its lead.
    clamps : tuple of bool
        Which axes stop following their input beyond a range.
    """

    lead: tuple[int, ...]
    shift: tuple[float, ...]
    clamps: tuple[bool, ...]

    @classmethod
    def none(cls, dimension: int) -> Sharing:
        """Every axis has an input of its own."""
        return cls(tuple(range(dimension)), (0.0,) * dimension, (False,) * dimension)


@dataclass(frozen=True)
class Torus:
    """Axes, and the inputs that feed them.

    Attributes
    ----------
    axes : tuple of Axis
        One for each dimension.
    names : tuple of str
        Names of all inputs, used or not.
    """

    axes: tuple[Axis, ...]
    names: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return len(self.axes)

    @property
    def inputs(self) -> NDArray[np.int64]:
        """Position of the input of each axis."""
        return np.array([axis.input for axis in self.axes], dtype=np.int64)

    def kinds(self, *kinds: str) -> NDArray[np.int64]:
        """Positions of the axes of one of some kinds."""
        return np.array([d for d, axis in enumerate(self.axes) if axis.kind in kinds], dtype=np.int64)

    @property
    def is_periodic(self) -> bool:
        """True if every axis is a circle or belongs to a lattice."""
        return len(self.kinds("circle", "lattice")) == self.dimension

    def shows(
        self, frequencies: NDArray[np.int64], period: NDArray[np.float64], axes: NDArray[np.int64] | slice = slice(None)
    ) -> NDArray[np.bool_]:
        """Mask of the whole frequencies, on circles or a cell of these lengths, that the grids of the data can show.

        Those beyond the Nyquist frequency of an input look like lower ones in every row. Only some of the axes may
        count.
        """
        cell = period if period.ndim == 2 else np.diag(period)
        turns = frequencies @ np.linalg.inv(cell).T  # for each unit of the inputs
        nyquist = np.array([axis.nyquist for axis in self.axes])
        return np.asarray((np.abs(turns) <= nyquist * (1 + 1e-9))[:, axes].all(axis=1))

    def coordinates(
        self, X: NDArray[Any], period: Any, training: bool = False, first_row: int = 0
    ) -> NDArray[np.float64]:
        """Coordinates on the axes, of which ``2 pi X @ inv(cell)`` are the phases.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_inputs)
            All inputs: numbers, or objects where a category has strings.
        period : ndarray of shape (dimension,) or (dimension, dimension)
            Periods or cell of the axes.
        training : bool, default=False
            Refuse rows beyond the range of a line, and levels that are not known. Otherwise the first are clamped where
            the kernel has fallen to nothing, and the second share the position of an unseen level.
        first_row : int, default=0
            Number of the first row, for errors.

        Returns
        -------
        ndarray of shape (n_samples, dimension)
        """
        if self.is_periodic and X.dtype == np.float64:
            return X[:, self.inputs]
        result = np.empty((X.shape[0], self.dimension))
        for d, axis in enumerate(self.axes):
            column = X[:, axis.input]
            if axis.kind == "category":
                result[:, d] = _positions(column, axis, training, first_row)
                continue
            values = to_numbers(column, axis.name)
            if axis.kind == "line":
                reach = axis.reach(float(np.diagonal(period)[d] if np.ndim(period) == 2 else period[d]))
                if training:
                    _check_range(values, axis, self.names[axis.input], first_row)
                values = np.clip(values, axis.low - reach, axis.high + reach) - axis.low
            elif axis.kind == "walk":
                values = np.clip(values, axis.low, axis.high) - axis.low
            result[:, d] = values
        return result

    def sharing(self, period: Any) -> Sharing:
        """Axes that share an input, on circles of these lengths: the lead is what clamps last, on both sides."""
        lengths = np.diagonal(period) if np.ndim(period) == 2 else np.broadcast_to(period, self.dimension)
        reaches = [axis.reach(float(length)) for axis, length in zip(self.axes, lengths, strict=True)]
        free = [
            (axis.low - reach, axis.high + reach) if axis.kind == "line" else (-np.inf, np.inf)
            for axis, reach in zip(self.axes, reaches, strict=True)
        ]
        leads = []
        for d, axis in enumerate(self.axes):
            same = [e for e, other in enumerate(self.axes) if other.input == axis.input and other.kind != "category"]
            lead = d if axis.kind == "category" else max(same, key=lambda e: (free[e][1] - free[e][0], -e))
            leads.append(lead if free[lead][0] <= free[d][0] and free[d][1] <= free[lead][1] else d)
        shift = tuple(self.axes[lead].low - axis.low for lead, axis in zip(leads, self.axes, strict=True))
        return Sharing(tuple(leads), shift, tuple(axis.kind == "line" for axis in self.axes))

    def outside(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Mask of the rows that lie beyond the range of a line."""
        result = np.zeros(len(X), dtype=bool)
        for axis in self.axes:
            if axis.kind == "line":
                values = to_numbers(X[:, axis.input], axis.name)
                result |= (values < axis.low) | (values > axis.high)
        return result


def to_numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """A column as floats, or an error that names what is no number."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64, copy=False)
    try:
        if column.dtype.kind in "mM" or holds_times(column):  # which NumPy would cast
            raise TypeError
        values = column.astype(np.float64)
        if column.dtype.kind == "O":  # whole columns of integers are made objects where they are large
            _check_distinct(column, values, name)
    except LargeIntegerError:
        raise
    except (TypeError, ValueError, OverflowError):
        bad = next(value for value in column.tolist() if holds_times(np.array([value], object)) or not _is_real(value))
        raise ValueError(
            f"The input {name!r} holds {bad!r}, which is no number: turn times into numbers (days, hours) first, and "
            "use Category for levels without a distance."
        ) from None
    return values


def to_finite_numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """A column as finite floats, or an error that names the first row that has none."""
    values = to_numbers(column, name)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ValueError(
            f"Input X contains NaN or infinity: the input {name!r} is {values[row]} in row {row}. Leave such rows out, "
            "or fill them in."
        )
    return values


def _check_distinct(column: NDArray[Any], values: NDArray[np.float64], name: str) -> None:
    """Raise if different integers have become the same number."""
    large = np.abs(values) > LARGEST_INTEGER
    found: dict[float, Any] = {}
    for exact, rounded in zip(column[large].tolist(), values[large].tolist(), strict=True):
        if found.setdefault(rounded, exact) != exact:
            raise LargeIntegerError(
                f"The input {name!r} has the integers {found[rounded]} and {exact}, which are the same as numbers: "
                "subtract a constant, or use Category if they are names."
            )


def _is_real(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def find_levels(column: NDArray[Any], name: str) -> tuple[Any, ...]:
    """Levels of a category, in a fixed order, or an error that says what is wrong with them."""
    if column.dtype.kind in "fiub":
        typed = {(type(value), value) for value in np.unique(column).tolist()}
    else:
        typed = {(type(value), value) for value in column.tolist()}  # the type too: True == 1 == 1.0
    if any(value is None or value != value for _, value in typed):  # only NaN differs from itself
        row = next(row for row, value in enumerate(column.tolist()) if value is None or value != value)
        raise ValueError(
            f"The category {name!r} has no value in row {row}: give missing values a level of their own, such as "
            "'missing', or leave these rows out."
        )
    distinct = {value for _, value in typed}
    kinds = {_kind(value, name): value for _, value in typed}
    if len(kinds) > 1:
        examples = " and ".join(repr(kinds[kind]) for kind in sorted(kinds))
        raise ValueError(
            f"The category {name!r} mixes {' and '.join(sorted(kinds))}, such as {examples}: are they "
            "the same level or not? Turn all into strings or all into integers."
        )
    if len(distinct) > MAX_LEVELS:
        raise ValueError(
            f"The category {name!r} has {len(distinct)} levels, and at most {MAX_LEVELS} are possible: every level "
            "costs a component for each frequency it is combined with. Group rare levels, or use Line if they have an "
            "order."
        )
    if len(distinct) < 2:
        raise ValueError(
            f"The category {name!r} has a single level, {next(iter(distinct), None)!r}: nothing can be learned of it. "
            "Leave it out."
        )
    return tuple(sorted(int(level) if isinstance(level, float) else level for level in distinct))


def _kind(value: Any, name: str) -> str:
    if isinstance(value, bool | np.bool_):
        return "booleans"
    if isinstance(value, str):
        return "strings"
    if isinstance(value, int | np.integer) or (isinstance(value, float) and value.is_integer()):
        return "integers"
    raise ValueError(
        f"The category {name!r} holds {value!r}: levels are strings, booleans or integers. Use Line for real numbers."
    )


def _positions(column: NDArray[Any], axis: Axis, training: bool, first_row: int) -> NDArray[np.float64]:
    """Positions of levels on their circle; those that were never seen share the last one, which none has."""
    unseen = axis.modulus - 1
    where = {level: position for position, level in enumerate(axis.levels)}
    kind = _kind(axis.levels[0], axis.name)
    if column.dtype.kind in "fiub":
        distinct, inverse = np.unique(column, return_inverse=True)
        found = np.array([where.get(value, unseen) for value in distinct.tolist()], dtype=float)[inverse]
        numbers = distinct.astype(float)  # an array of numbers does not tell booleans from integers
        for value in numbers[~np.isnan(numbers)].tolist():
            _check_kind(value, axis, "strings" if kind == "strings" else "integers")
    else:
        found = np.array([where.get(value, unseen) for value in column.tolist()], dtype=float)
        there = [(type(value), value) for value in column.tolist() if value is not None and value == value]
        for _, value in dict.fromkeys(there):  # in the order of the rows
            _check_kind(value, axis, kind)
    if np.isnan(column).any() if column.dtype.kind == "f" else any(v is None or v != v for v in column.tolist()):
        raise ValueError(f"The category {axis.name!r} holds missing values: give them a level of their own.")
    if training and (found == unseen).any():
        row = int(np.argmax(found == unseen))
        level = column[[row]].tolist()[0]
        raise OutsideError(
            f"Row {first_row + row} has the level {level!r} of the category {axis.name!r}, which the first rows "
            f"did not have: they had {_some(axis.levels)}. Fit again with all levels."
        )
    return found


def _check_kind(value: Any, axis: Axis, kind: str) -> None:
    """Raise if a value cannot be a level of this kind: ``True == 1`` in Python, but not here, and "1" may be either."""
    if _kind(value, axis.name) != kind:
        raise ValueError(
            f"The category {axis.name!r} holds {value!r}, but the levels of the fit are {kind}: {_some(axis.levels)}. "
            f"Turn them into {kind}, too."
        )


def _some(levels: tuple[Any, ...], most: int = 6) -> str:
    shown = ", ".join(map(repr, levels[:most]))
    return shown if len(levels) <= most else f"{shown} and {len(levels) - most} more"


def _check_range(values: NDArray[np.float64], axis: Axis, name: str, first_row: int) -> None:
    slack = 1e-9 * axis.extent  # a range may have been written down with fewer digits
    beyond = (values < axis.low - slack) | (values > axis.high + slack)
    if beyond.any():
        row = int(np.argmax(beyond))
        raise OutsideError(
            f"Row {first_row + row} has {name!r} = {values[row]:.6g}, beyond the range from {axis.low:.6g} to "
            f"{axis.high:.6g} of that line: say the whole range, as in Line({name!r}, range=(low, high))."
        )
