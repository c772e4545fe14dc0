"""What a model needs to know of its periods before it can learn: found, given, or partly each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.advice import advise
from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.periods._changing import ChangingPeriod, find_changing_period
from torusgp.fitting.periods._results import PeriodSearch, describe
from torusgp.fitting.periods._sampling import Sampling
from torusgp.fitting.periods._search import find_period
from torusgp.fitting.rows import Rows
from torusgp.kernels.lattices import short_bases
from torusgp.kernels.resolve import Model

_MOST_INPUTS = 3  # that are searched together


@dataclass(frozen=True)
class PeriodSetup:
    """Where learning of the periods starts, and how they may move.

    Attributes
    ----------
    periods : list of ndarray
        Periods or cells of the axes to start from; several where the kernel tells the bases of a lattice apart.
    moves : PeriodMoves or None
        How they are learned, if they are.
    search : PeriodSearch or None
        Outcome of the search, if there was one.
    period_std : ndarray or None
        Standard errors of what the search found, of the shape of the period.
    axes : ndarray of int or None
        Axes whose coordinates were searched.
    """

    periods: list[NDArray[np.float64]]
    moves: PeriodMoves | None = None
    search: PeriodSearch | None = None
    period_std: NDArray[np.float64] | None = None
    axes: NDArray[np.int64] | None = None


def set_up_period(model: Model, rows: Rows, report: Callable[[str], None]) -> PeriodSetup:
    """Find what is unknown of the periods of a model, and say how they may move.

    Parameters
    ----------
    model : Model
        The model, its periods not a number where they are unknown.
    rows : Rows
        The data.
    report : callable
        Takes lines of progress.

    Returns
    -------
    PeriodSetup
    """
    known = np.diagonal(model.period) if model.period.ndim == 2 else model.period
    unknown = np.isnan(known)
    if not unknown.any() and not model.moving.any():
        return PeriodSetup([model.period])
    periodic = model.torus.kinds("circle", "lattice")
    sampling = Sampling.from_inputs(rows.X[:, periodic])
    moves = _moves(model, rows, sampling, periodic) if model.moving.any() else None
    if not unknown.any():
        return PeriodSetup([model.period], moves)
    lattice = model.torus.kinds("lattice")
    if unknown[lattice].any():
        repeating = _search(model, lattice, "auto", True, rows, report)
        assert repeating is not None
        search, found, axes = repeating
        cells = [found[0].period]
        if not any(factor.is_cartesian for term in model.terms for factor in term.factors):
            unit = Sampling.from_inputs(rows.X[:, lattice]).unit
            cells = [basis * unit for basis in short_bases(found[0].period / unit)]
        periods = [_placed(model.period, lattice, cell) for cell in cells]
        std = _placed(np.zeros_like(model.period), lattice, found[0].period_std)
        return PeriodSetup(periods, moves, search, std, axes)
    changing = _changing_period(model, unknown, rows, report)
    circles = _circles_to_search(model, unknown)
    repeating = None
    if changing is None or not changing.is_clear:
        repeating = _search(model, circles, known[circles], False, rows, report, changing is None)
    period, std = model.period.copy(), np.zeros_like(model.period)
    where = circles[unknown[circles]]
    place: Any = (where, where) if period.ndim == 2 else where
    if repeating is None:
        assert changing is not None
        changing.warn()
        period[place], std[place] = changing.period, changing.period_std
        return PeriodSetup([period], None, None, std)
    search, found, axes = repeating
    values, errors = (_merged(found, name, unknown[circles]) for name in ("period", "period_std"))
    period[place], std[place] = values, errors
    return PeriodSetup([period], moves, search, std, axes)


def _changing_period(
    model: Model, unknown: NDArray[np.bool_], rows: Rows, report: Callable[[str], None]
) -> ChangingPeriod | None:
    """Period of a single circle whose products all have a line of its input: it need not last.

    It is not learned with the rest: its evidence has several maxima where a shape is forgotten after few turns, of
    which one would be taken, with its own small standard error.
    """
    if unknown.sum() != 1 or (model.moving & ~unknown).any():
        return None
    axes, (circle,) = model.torus.axes, np.flatnonzero(unknown)
    products = [term for term in model.terms if circle in term.axes]
    for term in products:
        if not any(one.is_line and axes[one.axes[0]].input == axes[circle].input for one in term.factors):
            return None
    limits = [float(one) if np.isfinite(one) and one > 0 else None for one in model.period_bounds[circle]]
    precision = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
    if rows.noise_scale is not None:
        precision = precision / rows.noise_scale**2
    found = find_changing_period(rows.X[:, circle], rows.y, precision, *limits)
    if found is not None:
        report(f"a shape that lasts {found.turns:g} turns: period {found.period:.5g} +- {found.period_std:.2g}")
    return found


def _moves(model: Model, rows: Rows, sampling: Sampling, periodic: NDArray[np.int64]) -> PeriodMoves:
    dimension = model.torus.dimension
    extent = np.ones(dimension)
    extent[periodic] = sampling.extent
    lattice = np.isin(np.arange(dimension), model.torus.kinds("lattice"))
    free = np.diag(model.moving & ~lattice)
    free |= np.outer(model.moving & lattice, model.moving & lattice)
    return PeriodMoves(free, extent, model.period_bounds)


def _placed(period: NDArray[np.float64], where: NDArray[np.int64], block: NDArray[np.float64]) -> NDArray[np.float64]:
    result = period.copy()
    result[np.ix_(where, where)] = block
    return result


def _circles_to_search(model: Model, unknown: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Circles that are looked at together: unknown ones, and known ones of the same products or the same inputs."""
    inputs, circles = model.torus.inputs, model.torus.kinds("circle")
    partners = {axis for term in model.terms if unknown[list(term.axes)].any() for axis in term.axes}
    together = circles[np.isin(circles, list(partners))]
    if len(set(inputs[together])) == len(together) <= _MOST_INPUTS:
        return together
    searched = np.unique(inputs[unknown])
    circles = circles[np.isin(inputs[circles], searched)]
    if len(np.unique(inputs[circles])) < len(circles) and len(searched) > 1:
        names = [model.torus.axes[circle].name for circle in circles]
        raise ValueError(
            f"The periods of {names} are to be found, but an input has several beside those of others: give some of "
            "them, which find_period finds for one input at a time."
        )
    return circles


def _merged(found: list[Any], name: str, unknown: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What was found, for each unknown circle."""
    values = [getattr(one, name) for one in found]
    return np.array(values, dtype=float) if np.ndim(values[0]) == 0 else np.asarray(values[0])[unknown]


def _search(
    model: Model,
    axes: NDArray[np.int64],
    period: Any,
    whole: bool,
    rows: Rows,
    report: Callable[[str], None],
    needed: bool = True,
) -> tuple[PeriodSearch, list[Any], NDArray[np.int64]] | None:
    """Search for what repeats; if that is not needed, None where it is not clear."""
    superposed = len(np.unique(model.torus.inputs[axes])) == 1
    inputs = axes[:1] if superposed else axes
    unknown = len(axes) if whole else int(np.isnan(period).sum())
    limits = [None if not np.isfinite(one).all() or not one.all() else one for one in model.period_bounds[axes].T]
    if superposed:  # of one input the limits are numbers
        limits = [None if one is None else float(one[0]) for one in limits]
    search = find_period(
        rows.X[:, inputs],
        rows.y,
        period=period,
        lattice=whole,
        max_periods=unknown,
        min_period=limits[0],
        max_period=limits[1],
        sample_weight=rows.sample_weight,
        noise_scale=rows.noise_scale,
        report=report,
    )
    wanted = unknown if superposed else 1
    if not needed and len(search) < wanted:
        return None
    candidates = [one for one in search.candidates if one.gain > 0]  # the best, reported or not
    if len(candidates) < wanted:
        shortest, longest = (", ".join(f"{limit:.4g}" for limit in limits) for limits in search.searched)
        raise ValueError(
            f"period='auto' found {len(candidates)} of {wanted} periods: nothing{' else' if candidates else ''} "
            f"repeats, that is, gains log evidence over a model without period. Searched were periods from {shortest} "
            f"to {longest}; find_period takes other limits and shows what was tried. More data may show it, too: fewer "
            "than about three turns are seldom told from slow change."
        )
    for one in candidates[len(search) : wanted]:
        advise(
            f"period='auto' takes {describe(one.period)}, but its gain in log evidence of {one.gain:.3g} over a random "
            f"field is below {search.min_gain:g}: the data may not repeat at all. See find_period.",
        )
    return search, candidates[:wanted], inputs
