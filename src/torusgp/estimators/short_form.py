"""The short form of a model: a family, periods and length scales, one product over all inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.kernels.axes import Circle, Expression, Factor, Input, Lattice, Line, Product, Slope, Sum
from torusgp.kernels.checks import check_family, check_period, check_positive_array
from torusgp.kernels.resolve import Model, resolve

DEFAULT_FAMILY = "squared_exponential"
MOST_LINES = 3  # that all interact: each multiplies the columns by twenty or so, however little it matters
SLOW_CHANGE = "slow change"  # name of that term
# Slow change is rough, like a random walk, and lies on circles a few times as long as the data: on longer ones its few
# columns would hold nothing but lines.
_SLOW_TOLERANCE = 0.2
_SLOW = (0.25, 10.0)  # bounds of the length scale of slow change, relative to the range of the input


def resolve_kernel(
    kernel: Any,
    period: Any,
    length_scale: Any,
    X: NDArray[Any],
    names: list[str] | None,
    learn: frozenset[str] = frozenset(),
    max_interaction: int | None = None,
    margin: float = 0.0,
) -> Model:
    """The model of an expression, or of the short form, for the inputs of a data set.

    Parameters
    ----------
    kernel : Expression, str, Spectrum, sequence of these or None
        An expression, or a family: without a period every input is a line, with one a circle.
    period : "auto", float, array-like or None
        Periods or a cell.
    length_scale : float or array-like of shape (n_inputs,)
        Where length scales start.
    X : ndarray of shape (n_samples, n_inputs)
        Inputs.
    names : list of str or None
        Their names.
    learn : frozenset of str
        What is learned.
    max_interaction : int, optional
        Largest number of inputs that interact.
    margin : float, default=0.0
        See :func:`~torusgp.kernels.resolve.resolve`.
    """
    if isinstance(kernel, Expression):
        if period is not None or np.ndim(length_scale) or length_scale != 1.0 or max_interaction is not None:
            raise ValueError(
                "period and length_scale belong to the short form; in an expression every axis has its own, as in "
                "Circle('hour', 24, length_scale=0.5)."
            )
        model = resolve(kernel, X, names, margin)
        return replace(model, has_trend=_is_beside_slow_change(model))
    family = check_family(DEFAULT_FAMILY if kernel is None else kernel)
    n_inputs = X.shape[1]
    families = family if isinstance(family, tuple) else (family,) * n_inputs
    if len(families) != n_inputs:
        raise ValueError(f"kernel has {len(families)} families for {n_inputs} input(s): give one for each, or one.")
    scales = check_positive_array(length_scale, "length_scale", max_ndim=1)
    if np.ndim(scales) and len(scales) != n_inputs:
        raise ValueError(f"length_scale has {len(scales)} entries for {n_inputs} input(s): give one for each, or one.")
    scales = np.broadcast_to(scales, n_inputs)
    if period is None:
        given = np.ndim(length_scale) > 0 or length_scale != 1.0
        factors: list[Factor] = [
            Line(d, families[d], length_scale=float(scales[d]) if given else None) for d in range(n_inputs)
        ]
        return resolve(Product(tuple(factors), max_interaction=max_interaction), X, names, margin)
    return _periodic(family, families, period, scales, X, names, learn, max_interaction, margin)


def _periodic(
    family: Any,
    families: tuple[Any, ...],
    period: Any,
    scales: NDArray[np.float64],
    X: NDArray[Any],
    names: list[str] | None,
    learn: frozenset[str],
    max_interaction: int | None,
    margin: float,
) -> Model:
    n_inputs = X.shape[1]
    whole = "lattice" in learn
    searched = is_searched(period)
    if {"period", "lattice"} <= learn:
        raise ValueError("learn holds both 'period' and 'lattice': a lattice has its periods, so name one of them.")
    is_cell = not searched and np.ndim(period) == 2
    if "period" in learn and is_cell:
        raise ValueError("learn holds 'period', but period is a cell: use 'lattice' to learn a whole cell.")
    cartesian = not isinstance(family, tuple) and family.metric == "cartesian"
    if is_cell or whole or (cartesian and n_inputs > 1):
        if searched and not isinstance(period, str):
            raise ValueError("learn holds 'lattice', which needs period='auto' or a whole cell.")
        if isinstance(family, tuple):
            raise ValueError(f"A lattice has one family for all of its axes, got {family!r}.")
        cell = period if isinstance(period, str) else _to_cell(period, n_inputs)
        if n_inputs == 1:
            one = Circle(0, "auto" if isinstance(cell, str) else float(cell[0, 0]), family, float(scales[0]))
            expression: Expression = Product((one,), max_interaction=max_interaction)
        else:
            if cartesian and len(set(scales.tolist())) > 1:
                raise ValueError("A Cartesian kernel is a function of the lattice alone: it takes one length_scale.")
            inputs = tuple(range(n_inputs))
            lattice = Lattice(inputs, cell, family, float(scales[0]))
            expression = Product((lattice,), max_interaction=max_interaction)
    else:
        periods: list[Any] = ["auto"] * n_inputs if isinstance(period, str) else _entries(period, n_inputs)
        circles = [Circle(d, periods[d], families[d], float(scales[d])) for d in range(n_inputs)]
        expression = Product(tuple(circles), max_interaction=max_interaction)
    if searched:
        expression = Sum((*expression.terms, *slow_change(X).terms))
    model = resolve(expression, X, names, margin)
    first = model.terms[0]
    if len(first.length_scale) == n_inputs:  # a lattice is given one number for all of its axes
        factors = first.factors
        if len(factors) == 1 and len(factors[0].length_scale) == n_inputs:
            factors = (replace(factors[0], length_scale=np.array(scales)),)
            model = replace(model, terms=(replace(first, factors=factors), *model.terms[1:]))
    learned = bool({"period", "lattice"} & learn)
    known = np.diagonal(model.period) if model.period.ndim == 2 else model.period
    periodic = np.array([axis.kind in ("circle", "lattice") for axis in model.torus.axes])
    # all periods are learned, or of some that were to be found only those
    moving = periodic & (np.isnan(known) if searched else True) if learned else np.zeros_like(periodic)
    return replace(model, moving=moving, has_trend=searched)


def slow_change(X: NDArray[Any], inputs: Sequence[Input] | None = None) -> Expression:
    """Slow change beside a period that is to be found: a line, and what varies over a quarter of the range or more.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_inputs)
        Inputs whose periods are to be found.
    inputs : sequence of str or int, optional
        Their names or positions in the model; by default all, in their order.

    Returns
    -------
    Expression
    """
    extent = np.ptp(np.asarray(X, dtype=float), axis=0)
    inputs = range(len(extent)) if inputs is None else inputs
    if not (extent > 0).all():
        constant = int(np.flatnonzero(extent <= 0)[0])
        raise ValueError(f"Input {inputs[constant]} has the value {X[0, constant]:g} in every row: it has no period.")
    lines = tuple(
        Line(
            one,
            "matern32",
            length_scale=size / 2,
            length_scale_bounds=(_SLOW[0] * size, _SLOW[1] * size),
            tolerance=_SLOW_TOLERANCE,
        )
        for one, size in zip(inputs, extent.tolist(), strict=True)
    )
    slopes = tuple(Slope(one, name=f"slope of {one if isinstance(one, str) else f'x{one}'}") for one in inputs)
    return Sum((Product(lines, name=SLOW_CHANGE), *slopes))


def _is_beside_slow_change(model: Model) -> bool:
    """True if all beside the first term, whose periods are to be found, are lines and slopes of the same inputs."""
    axes, known = model.torus.axes, np.diagonal(model.period) if model.period.ndim == 2 else model.period
    first = list(model.terms[0].axes)
    others = [axes[axis] for term in model.terms[1:] for axis in term.axes]
    searched = {axes[axis].input for axis in first}
    return (
        bool(np.isnan(known[first]).all())
        and bool(others or model.columns)
        and all(axis.kind == "line" and axis.input in searched for axis in others)
        and all(column.input in searched for column in model.columns)
    )


def is_searched(period: Any) -> bool:
    """True if some of a period is to be found."""
    if isinstance(period, str):
        if period != "auto":
            raise ValueError(f"period must be numbers or 'auto', got {period!r}.")
        return True
    return period is not None and np.ndim(period) == 1 and any(_is_unknown(entry) for entry in period)


def _is_unknown(entry: Any) -> bool:
    if isinstance(entry, str) and entry != "auto":
        raise ValueError(f"period holds {entry!r}; entries are numbers, or 'auto' where they are to be found.")
    return entry is None or isinstance(entry, str) or (isinstance(entry, float) and bool(np.isnan(entry)))


def _entries(period: Any, n_inputs: int) -> list[Any]:
    """Periods of the inputs, "auto" where they are to be found."""
    if np.ndim(period) == 0:
        return [float(check_period(period))] * n_inputs
    if len(period) != n_inputs:
        raise ValueError(
            f"period of length {len(period)} cannot describe {n_inputs} periodic input(s): give one entry for each of "
            "them, or a number for all."
        )
    return ["auto" if _is_unknown(entry) else float(check_period(entry)) for entry in period]


def _to_cell(period: Any, n_inputs: int) -> NDArray[np.float64]:
    array = check_period(period)
    if np.ndim(array) == 2:
        if array.shape != (n_inputs, n_inputs):
            raise ValueError(f"period is a cell of {len(array)} lattice vectors, but there are {n_inputs} input(s).")
        return np.array(array)
    return np.diag(np.array(_entries(period, n_inputs), dtype=float))
