"""How far ahead a forecast goes: a number of rows, a span of time, or its last time."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

_UNITS = {
    "s": ("seconds", 1),
    "min": ("seconds", 60),
    "h": ("seconds", 3600),
    "d": ("days", 1),
    "w": ("days", 7),
    "mo": ("months", 1),
    "y": ("months", 12),
}
_SPAN = re.compile(r"(\d+) *([a-z]+)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}\.\d{1,2}\.\d{4}")
_EXAMPLES = 'Give a number of rows, a span such as "24h", "28d", "4w" or "6mo", or the last time, such as "2025-01-31".'


@dataclass(frozen=True)
class Horizon:
    """How far ahead a forecast goes.

    Attributes
    ----------
    text : str
        As it was given.
    rows : int or None
        Number of rows.
    unit : {"seconds", "days", "months"} or None
        Unit of a span. Days and months are those of the calendar.
    amount : int
        Number of units.
    end : str or None
        Last time.
    """

    text: str
    rows: int | None = None
    unit: str | None = None
    amount: int = 0
    end: str | None = None

    @classmethod
    def parse(cls, value: Any) -> Horizon:
        """Horizon from what a user gives.

        Parameters
        ----------
        value : int, str, timedelta, datetime or Horizon
            Rows, a span, or the last time.

        Returns
        -------
        Horizon

        Examples
        --------
        >>> Horizon.parse("4w")
        Horizon(text='4w', rows=None, unit='days', amount=28, end=None)
        >>> Horizon.parse("2025-01-31").end
        '2025-01-31'
        """
        if isinstance(value, Horizon):
            return value
        if isinstance(value, bool | np.bool_) or value is None:
            raise ValueError(f"The horizon must be positive, got {value!r}. {_EXAMPLES}")
        if isinstance(value, np.timedelta64):  # which is one of NumPy's integers
            value = value.astype("timedelta64[us]").item()
        if isinstance(value, int | np.integer):
            return cls(str(value), rows=_positive(int(value), value))
        if isinstance(value, datetime.timedelta):
            seconds = value.total_seconds()
            _positive(seconds, value)
            if seconds % 86400 == 0:
                return cls(str(value), unit="days", amount=int(seconds // 86400))
            return cls(str(value), unit="seconds", amount=int(np.ceil(seconds)))
        if isinstance(value, datetime.date):
            return cls(str(value), end=value.isoformat())
        if isinstance(value, str):
            return cls._from_text(value.strip())
        raise ValueError(f"The horizon cannot be {value!r}. {_EXAMPLES}")

    @classmethod
    def _from_text(cls, text: str) -> Horizon:
        if re.fullmatch(r"[+-]?\d+", text):
            return cls(text, rows=_positive(int(text), text))
        span = _SPAN.fullmatch(text)
        if span is not None:
            amount, name = int(span[1]), span[2].lower()
            if name in _UNITS:
                unit, size = _UNITS[name]
                return cls(text, unit=unit, amount=_positive(amount, text) * size)
            hint = ' "m" could be minutes ("min") or months ("mo").' if name == "m" else ""
            raise ValueError(f"The horizon {text!r} has an unknown unit; known are {', '.join(_UNITS)}.{hint}")
        if _DATE.match(text):
            return cls(text, end=text)
        if text.startswith("-"):
            _positive(-1, text)
        raise ValueError(f"The horizon cannot be {text!r}. {_EXAMPLES}")

    @property
    def is_whole_day(self) -> bool:
        """Whether its last time is a date, of which all hours are meant."""
        return self.end is not None and _DATE.fullmatch(self.end) is not None

    def __str__(self) -> str:
        return f"{self.rows} rows" if self.rows is not None else self.text


def _positive(number, shown):
    if not number > 0:
        raise ValueError(f"The horizon must be positive, got {shown!r}. {_EXAMPLES}")
    return number
