"""Minimum-energy paths between minima: down from every pass, and over the lowest passes from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from torusgp.checks import to_floats
from torusgp.fitting.curvature import log_covariance
from torusgp.surfaces._field import Array, Field
from torusgp.surfaces._stationary import StationaryPoint, StationaryPoints, find_stationary_points

_FIRST_STEP = 1e-3  # away from a saddle point, in fractional coordinates
_PARAMETER_STEP = 1e-2  # of the logarithm of a parameter
_NEAR = 1e-2  # to a minimum, from where the rest is a straight line
_LONGEST = 20.0  # way down that is followed, in fractional coordinates


@dataclass(frozen=True)
class MinimumEnergyPath:
    """A path of steepest descent from passes down to minima, one after the other.

    Attributes
    ----------
    points : ndarray of shape (n_points, dimension)
        Points along it, without jumps: beyond a period it goes on.
    values, std : ndarray of shape (n_points,)
        Predicted function along it, and its standard error.
    minima, saddles : StationaryPoints or tuple of StationaryPoint
        What it passes, in order: one minimum more than saddle points.
    barrier, barrier_std : float
        Highest point of it over the first minimum, and its standard error.
    """

    points: Array
    values: Array
    std: Array
    minima: tuple[StationaryPoint, ...]
    saddles: tuple[StationaryPoint, ...]
    barrier: float
    barrier_std: float

    @property
    def highest(self) -> StationaryPoint:
        """The highest saddle point."""
        return max(self.saddles, key=lambda point: point.value)

    def __repr__(self) -> str:
        return f"<path over {len(self.saddles)} saddle point(s): barrier {self.barrier:.5g} +- {self.barrier_std:.2g}>"


def barrier(model: Any, minimum: StationaryPoint, saddle: StationaryPoint, output: int = 0) -> tuple[float, float]:
    """Height of a saddle point over a minimum, and its standard error.

    The errors of the two are correlated, which makes that of the difference smaller. What is uncertain of the learned
    length scales and variances is part of it, to first order.

    Parameters
    ----------
    model : TorusGPRegressor or FittedTorusGP
        Fitted model.
    minimum, saddle : StationaryPoint
        Two of its stationary points.
    output : int, default=0
        Which target, where there are several.

    Returns
    -------
    height, std : float
    """
    return _height(Field(model, output), minimum, saddle)


def _height(field: Field, minimum: StationaryPoint, saddle: StationaryPoint) -> tuple[float, float]:
    """A barrier and its standard error: of the function, and of what was learned of length scales and variances."""
    ends = np.vstack([saddle.position, minimum.position])
    columns = field.columns(ends)
    variance = float(field.covariance(columns[:1] - columns[1:])[0, 0])
    free, covariance = log_covariance(field.fitted)
    is_counted = field.fitted.mixture is not None  # what was learned is uncertain in every variance then
    if covariance is not None and field.fitted.spectrum is None and not is_counted:
        # where the function is stationary, a shift of the ends changes nothing
        vector, slopes = free.to_vector(), []
        for unit in _PARAMETER_STEP * np.eye(len(vector)):
            ahead, behind = (field.with_parameters(free.with_vector(vector + sign * unit)) for sign in (1, -1))
            slopes.append((ahead.difference(ends) - behind.difference(ends)) / (2 * _PARAMETER_STEP))
        variance += float(np.array(slopes) @ covariance @ np.array(slopes))
    return saddle.value - minimum.value, float(np.sqrt(variance))


def minimum_energy_path(
    model: Any,
    start: StationaryPoint | ArrayLike,
    end: StationaryPoint | ArrayLike,
    *,
    points: StationaryPoints | None = None,
    output: int = 0,
) -> MinimumEnergyPath:
    """The path between two minima whose highest point is the lowest.

    From every saddle point the steepest descent leads to two minima. Of the ways from minimum to minimum over these
    passes, the one is taken whose highest pass is the lowest, and of its parts each again. Steepest means: per unit of
    the cell, that is per period of a circle and per range of a line.

    Parameters
    ----------
    model : TorusGPRegressor or FittedTorusGP
        Fitted model, of circles, lines or a lattice.
    start, end : StationaryPoint or array-like of shape (dimension,)
        Two minima, or points near them: the nearest minimum is taken.
    points : StationaryPoints, optional
        What :func:`find_stationary_points` found; by default it is called.
    output : int, default=0
        Which target, where there are several.

    Returns
    -------
    MinimumEnergyPath

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> angle = np.arange(-180.0, 180.0, 15.0)[:, None]
    >>> model = TorusGPRegressor(period=360).fit(angle, np.cos(np.radians(3 * angle[:, 0])))
    >>> path = minimum_energy_path(model, [60.0], [180.0])
    >>> len(path.saddles), round(path.barrier, 2)
    (1, 2.0)
    """
    field = Field(model, output)
    points = find_stationary_points(model, output=output) if points is None else points
    minima = list(points.minima)
    if len(minima) < 2:
        raise ValueError(f"A path needs two minima, but {len(minima)} were found; see min_significance.")
    first, last = (_nearest(field, minima, one) for one in (start, end))
    if first == last:
        raise ValueError(f"start and end lead to the same minimum, at {minima[first].position}.")
    passes = [_descend(field, saddle, minima) for saddle in points.saddles]
    way = _lowest_way([one for one in passes if one is not None], first, last)
    if way is None:
        raise ValueError(
            f"No saddle point that was found connects the minima at {minima[first].position} and "
            f"{minima[last].position}: look for less certain ones, with find_stationary_points(min_significance=0)."
        )
    pieces, at = [minima[first].position[None]], first
    passed = [minima[first]]
    for one in way:
        piece = one.points if one.ends[0] == at else one.points[::-1]
        at = one.ends[1] if one.ends[0] == at else one.ends[0]
        # the piece begins at an image of where the path is
        shift = np.round(field.domain.to_unit(pieces[-1][-1]) - field.domain.to_unit(piece[0]))
        pieces.append((piece + shift @ field.domain.cell)[1:])
        passed.append(minima[at])
    together = np.concatenate(pieces)
    mean, variance = field.fitted.mean_and_variance(together)
    saddles = tuple(one.saddle for one in way)
    height, std = _height(field, minima[first], max(saddles, key=lambda saddle: saddle.value))
    return MinimumEnergyPath(
        together, mean[:, output], np.sqrt(variance[:, output]), tuple(passed), saddles, height, std
    )


@dataclass(frozen=True)
class _Pass:
    """A saddle point, the two minima below it, and the points from one to the other."""

    saddle: StationaryPoint
    ends: tuple[int, int]
    points: Array


def _nearest(field: Field, minima: list[StationaryPoint], wanted: StationaryPoint | ArrayLike) -> int:
    position = wanted.position if isinstance(wanted, StationaryPoint) else to_floats(wanted, "A point")
    if position.shape != (field.domain.dimension,):
        raise ValueError(f"A point has {field.domain.dimension} coordinates, got {wanted!r}.")
    return int(np.argmin([np.linalg.norm(field.domain.step(position, one.position)) for one in minima]))


def _descend(field: Field, saddle: StationaryPoint, minima: list[StationaryPoint]) -> _Pass | None:
    """The steepest ways down on both sides of a saddle point; None if one leaves the range of a line."""
    domain = field.domain
    curves = domain.cell @ field.hessian(saddle.position[None])[0] @ domain.cell.T
    away = np.linalg.eigh(curves)[1][:, 0]
    halves, ends = [], []
    for sign in (1, -1):
        found = _follow(field, domain.to_unit(saddle.position) + sign * _FIRST_STEP * away, minima)
        if found is None:
            return None
        halves.append(found[0])
        ends.append(found[1])
    points = np.concatenate([halves[0][::-1], domain.to_unit(saddle.position)[None], halves[1]])
    return _Pass(saddle, (ends[0], ends[1]), domain.from_unit(points))


def _follow(field: Field, start: Array, minima: list[StationaryPoint]) -> tuple[Array, int] | None:
    """Steepest descent in fractional coordinates, by arc length, up to a minimum and which one that is."""
    domain = field.domain
    ends = np.array([domain.to_unit(one.position) for one in minima])

    def distance(unit: Array) -> Array:
        difference = unit - ends
        difference = np.where(domain.is_periodic, difference - np.round(difference), difference)
        return np.linalg.norm(difference, axis=1)

    def slope(_: float, unit: Array) -> Array:
        gradient = field.gradient(domain.from_unit(unit)[None])[0] @ domain.cell.T
        return -gradient / max(np.linalg.norm(gradient), 1e-300)

    def arrived(_: float, unit: Array) -> float:
        return float(distance(unit).min() - _NEAR)

    def left(_: float, unit: Array) -> float:
        bounded = unit[~domain.is_periodic]
        return float(np.minimum(bounded, 1 - bounded).min(initial=1.0) + 1e-9)

    arrived.terminal = left.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(slope, (0, _LONGEST), start, events=[arrived, left], max_step=0.02, rtol=1e-6, atol=1e-8)
    if not found.t_events[0].size and distance(found.y[:, -1]).min() > _NEAR:
        return None
    which = int(np.argmin(distance(found.y[:, -1])))
    last = found.y[:, -1]
    step = np.where(domain.is_periodic, np.round(last - ends[which]), 0.0)
    return np.vstack([found.y.T, ends[which] + step]), which


def _lowest_way(passes: list[_Pass], first: int, last: int) -> list[_Pass] | None:
    """Fewest passes from one minimum to another whose highest one is the lowest, up to its standard deviation."""
    lowest = _way(passes, first, last, lambda highest, length: (highest, length))
    if lowest is None:
        return None
    top = max((one.saddle for one in lowest), key=lambda saddle: saddle.value)
    as_low = [one for one in passes if one.saddle.value <= top.value + top.value_std]
    return _way(as_low, first, last, lambda highest, length: (length, highest))


def _way(passes: list[_Pass], first: int, last: int, key: Callable[[float, int], Any]) -> list[_Pass] | None:
    """Passes from one minimum to another with the least key of the highest one and their number."""
    queue: list[tuple[Any, int, float, int, list[_Pass]]] = [(key(-np.inf, 0), 0, -np.inf, first, [])]
    reached: set[int] = set()
    count = 0
    while queue:
        _, _, highest, at, way = heappop(queue)
        if at == last:
            return way
        if at in reached:
            continue
        reached.add(at)
        for one in passes:
            if at in one.ends and one.ends[0] != one.ends[1]:
                count += 1
                other = one.ends[1] if one.ends[0] == at else one.ends[0]
                higher = max(highest, one.saddle.value)
                heappush(queue, (key(higher, len(way) + 1), count, higher, other, [*way, one]))
    return None
