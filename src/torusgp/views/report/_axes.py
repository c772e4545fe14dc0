"""Axes of charts: what the values along an input are called, and how they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from torusgp.views.dimensions import Dimension
from torusgp.views.numbers import number, with_unit

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_STARTS = np.cumsum([0, 31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30])  # days of an average year
# Inputs that a calendar gives, whose values have names, by their periods.
_CALENDAR = {"hour_of_day": (24.0, "hour"), "day_of_week": (7.0, "weekday"), "day_of_year": (365.25, "yearday")}
_NEARLY = 1e-6  # of a period: less is rounding
_MILLISECONDS = 365.25 * 86_400_000  # of a year


@dataclass(frozen=True)
class Axis:
    """Axis of a chart.

    Times are milliseconds since 1970 on their own clock, categories positions of labels; ends that are None are those
    of what is drawn.
    """

    name: str
    unit: str = ""
    kind: str = "number"
    low: float | None = None
    high: float | None = None
    labels: tuple[str, ...] = ()
    log: bool = False
    zero: bool = False

    @classmethod
    def of_dimension(cls, one: Dimension, unit: str = "", clock: Clock | None = None) -> Self:
        """Axis of a dimension of a fitted function."""
        if one.kind == "category":
            return cls(one.name, unit, "category", labels=tuple(map(str, one.levels)))
        if clock is not None and not one.is_periodic:
            return cls(one.name, "", "time", *clock(np.array([one.low, one.high])).tolist())
        period, kind = _CALENDAR.get(one.name, (None, "number"))
        if one.kind == "circle" and one.period == period:
            return cls(one.name, "", kind, 0.0, period)
        if one.period is not None:
            return cls(one.name, unit, "number", 0.0, abs(one.period))
        return cls(one.name, unit, "number", one.low, one.high)

    def to_json(self) -> dict[str, Any]:
        """Content for the script of the page."""
        given = {name: value for name, value in vars(self).items() if value not in (None, "", (), False)}
        return given | ({"labels": list(self.labels)} if self.labels else {})

    def describe(self, value: float) -> str:
        """A value in words: a time of day, a weekday, a date, a level, or a number with its unit.

        Examples
        --------
        >>> Axis("hour_of_day", "", "hour").describe(18.25), Axis("day_of_year", "", "yearday").describe(31.5)
        ('18:15', '1 Feb')
        """
        if self.kind == "category":
            return self.labels[int(value)]
        if self.kind == "hour":
            return _clock_time(value)
        if self.kind == "weekday":
            turned = (value + 7 * _NEARLY) % 7
            clock = _clock_time(24 * (turned - int(turned)))
            return WEEKDAYS[int(turned)] + ("" if clock == "0:00" else f" {clock}")
        if self.kind == "yearday":
            turned = (value + 365 * _NEARLY) % 365.25
            month = int(np.searchsorted(_MONTH_STARTS, turned, side="right")) - 1
            return f"{int(turned - _MONTH_STARTS[month]) + 1} {_MONTHS[month]}"
        if self.kind == "time":
            return describe_moment(value)
        return with_unit(number(value, 4), self.unit)


@dataclass(frozen=True)
class Clock:
    """Clock of an input, from its numbers to moments: years since one, in milliseconds since 1970."""

    zero: float

    def __call__(self, years: NDArray[np.float64]) -> NDArray[np.float64]:
        """Moments of numbers."""
        return self.zero + _MILLISECONDS * np.asarray(years)


def describe_moment(milliseconds: float) -> str:
    """A moment on its own clock, without seconds.

    Examples
    --------
    >>> describe_moment(0.0), describe_moment(86_400_000.0 * 1.5)
    ('1970-01-01', '1970-01-02 12:00')
    """
    text = np.datetime_as_string(np.datetime64(round(milliseconds), "ms"), unit="m").replace("T", " ")
    return str(text.removesuffix(" 00:00"))


def _clock_time(hours: float) -> str:
    minutes = round(60 * hours) % (24 * 60)
    return f"{minutes // 60}:{minutes % 60:02d}"
