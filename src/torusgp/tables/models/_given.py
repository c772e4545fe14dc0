"""What users say of the inputs of a table, checked: calendars, periods and names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from torusgp.kernels.axes import Circle
from torusgp.tables.clock import CalendarPhases


def check_calendar(calendar: Any) -> tuple[str | None, list[str] | None]:
    """Column and cycles of a calendar."""
    if calendar is None or not calendar:
        return None, None
    if not hasattr(calendar, "items") or len(calendar) > 1:
        raise ValueError(f"calendar must name one column and its cycles, as in {{'time': ['day']}}, got {calendar!r}.")
    ((column, cycles),) = calendar.items()
    cycles = list(cycles) if np.iterable(cycles) and not isinstance(cycles, str) else [cycles]
    try:
        _ = CalendarPhases(cycles).period_
    except ValueError as error:
        raise ValueError(f"The calendar of {column!r} is {', '.join(map(str, cycles))}: {error}") from error
    return str(column), cycles


def check_period(column: str, period: Any) -> Any:
    """A period as a number, or "auto"."""
    if isinstance(period, str) and period.strip() == "auto":
        return "auto"
    try:
        number = float(period)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"The period of {column!r} must be a positive number or 'auto', got {period!r}.")
    return number


def known_circles(periods: Any, family: str) -> dict[str, list[Circle]]:
    """Circles of columns with known or unknown periods, from a dictionary or pairs."""
    found: dict[str, list[Circle]] = {}
    are_pairs = periods is None or hasattr(periods, "items") or _are_pairs(periods)
    if not are_pairs:
        raise ValueError(f"periods must name columns and their periods, as in {{'hour': 24}}, got {periods!r}.")
    for column, given in [] if periods is None else list(periods.items() if hasattr(periods, "items") else periods):
        several = not isinstance(given, str) and np.iterable(given)
        for period in given if several else [given]:
            circle = Circle(str(column), check_period(column, period), family)
            known = found.setdefault(str(column), [])
            if circle.period != "auto" and circle.period in [one.period for one in known]:
                raise ValueError(f"Column {column!r} is given the period {circle.period:g} twice.")
            known.append(circle)
    return found


def _are_pairs(periods: Any) -> bool:
    is_some = np.iterable(periods) and not isinstance(periods, str | bytes)
    return is_some and all(isinstance(one, tuple | list) and len(one) == 2 for one in periods)


def listed_names(inputs: Any) -> list[str] | None:
    """Names of columns, from a list or a line with commas."""
    if inputs is None:
        return None
    names = inputs.split(",") if isinstance(inputs, str) else inputs
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"inputs must be names of columns, got {inputs!r}.")
    return [name.strip() for name in names if name.strip()]
