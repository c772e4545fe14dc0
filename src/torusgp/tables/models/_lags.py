"""Moving means of columns: what a value has been over the hours or days before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.tables.words import word

_HOURS = {"min": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?) *([a-z]+)", re.IGNORECASE)
_ENOUGH = 0.5  # of the rows that a window should have: with fewer the mean is not known

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lag:
    """A moving mean of a column, over a window that ends with the row itself.

    Attributes
    ----------
    column : str
        Column of the table.
    text : str
        The window as it was given, such as "24h".
    window : float
        Its length: in hours, or in the units of numbers that order the rows.
    """

    column: str
    text: str
    window: float

    @property
    def name(self) -> str:
        """Name of the input."""
        return f"{self.column}_{self.text}"


def parse_lags(lags: Any) -> tuple[Lag, ...]:
    """Lags from what a user gives.

    Parameters
    ----------
    lags : dict of str to str, number or a sequence of these, or None
        Columns and windows: spans such as "3h", "24h" or "7d", or numbers where numbers order the rows.

    Returns
    -------
    tuple of Lag

    Examples
    --------
    >>> [(lag.name, lag.window) for lag in parse_lags({"temperature": ["3h", "2d"]})]
    [('temperature_3h', 3.0), ('temperature_2d', 48.0)]
    """
    if lags is None:
        return ()
    if not hasattr(lags, "items"):
        raise ValueError(f"lags must name columns and windows, as in {{'temperature': ['3h', '24h']}}, got {lags!r}.")
    found = []
    for column, given in lags.items():
        several = not isinstance(given, str) and isinstance(given, Sequence)
        windows = list(given) if several else [given]
        found += [Lag(str(column), str(one).replace(" ", ""), _window(column, one)) for one in windows]
    names = [lag.name for lag in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"The lag {twice[0]} is given twice.")
    return tuple(found)


def _window(column: Any, given: Any) -> float:
    span = _SPAN.fullmatch(str(given).strip())
    try:
        value = float(given) if span is None else float(span[1]) * _HOURS[span[2].lower()]
    except (KeyError, TypeError, ValueError):
        value = np.nan
    if not (np.isfinite(value) and value > 0):
        raise ValueError(
            f"The lag {given!r} of {column!r} must be a span such as 3h, 24h or 7d ({', '.join(_HOURS)}): "
            f"{word('lags', column)}."
        )
    return value


@dataclass(frozen=True)
class History:
    """Last values of columns whose moving means are inputs, for rows that come after them.

    Attributes
    ----------
    times : tuple of float
        Times of rows: hours since 1970, or numbers.
    values : dict of str to tuple of float
        Values of the columns at these times, not a number where they are missing.
    spacing : float
        Time from one row to the next.
    """

    times: tuple[float, ...]
    values: dict[str, tuple[float, ...]]
    spacing: float

    @classmethod
    def from_rows(cls, order: Any, columns: dict[str, Any], lags: Sequence[Lag]) -> History:
        """What later rows need to know of some.

        Parameters
        ----------
        order : pandas.Series
            Times of the rows.
        columns : dict of str to pandas.Series
            The columns.
        lags : sequence of Lag
            The moving means.
        """
        times, values = _sorted(order, columns)
        spacing = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
        kept = times > times[-1] - max(lag.window for lag in lags)
        last = {name: tuple(one[kept].tolist()) for name, one in values.items()}
        return cls(tuple(times[kept].tolist()), last, spacing)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> History:
        """History from what :meth:`to_json` gave."""
        values = {name: tuple(np.nan if v is None else v for v in one) for name, one in content["values"].items()}
        return cls(tuple(content["times"]), values, content["spacing"])

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold of it."""
        values = {name: [None if np.isnan(v) else v for v in one] for name, one in self.values.items()}
        return {"times": list(self.times), "values": values, "spacing": self.spacing}

    def moving_mean(self, lag: Lag, order: Any, column: Any) -> Any:
        """Moving mean of a column, not a number where too little of its window is known.

        Parameters
        ----------
        lag : Lag
            Column and window.
        order : pandas.Series
            Times of the rows.
        column : pandas.Series
            Values of the column, in the same rows.

        Returns
        -------
        pandas.Series
        """
        import pandas

        times, values = _sorted(order, {lag.column: column})
        own = values[lag.column]
        before = np.array(self.times)
        is_new = ~np.isin(before, times)  # values of the table come first
        all_times = np.concatenate([before[is_new], times])
        all_values = np.concatenate([np.array(self.values[lag.column])[is_new], own])
        where = np.argsort(all_times, kind="stable")
        all_times, all_values = all_times[where], all_values[where]
        mean = window_means(all_times, all_values, lag.window, self.spacing)
        hours = to_hours(order)
        known = np.isfinite(hours)
        result = np.full(len(order), np.nan)
        result[known] = mean[np.searchsorted(all_times, hours[known])]
        return pandas.Series(result, index=column.index, name=lag.name)


def window_means(times: Array, values: Array, window: float, spacing: float) -> Array:
    """Means over the window that ends with each row.

    Parameters
    ----------
    times : ndarray of shape (n_rows,)
        Distinct times in their order.
    values : ndarray of shape (n_rows,)
        Values, not a number where they are missing.
    window, spacing : float
        Length of the window, and of the step from one row to the next.

    Returns
    -------
    ndarray of shape (n_rows,)
        Not a number where fewer than half of the rows that the window should have are known.

    Examples
    --------
    >>> window_means(np.arange(5.0), np.array([1.0, 2.0, np.nan, 4.0, 6.0]), 2.0, 1.0).tolist()
    [1.0, 1.5, 2.0, 4.0, 5.0]
    """
    is_known = np.isfinite(values)
    count = np.concatenate([[0], np.cumsum(is_known)])
    start = np.searchsorted(times, times - window * (1 - 1e-9), side="right")
    end = np.arange(1, len(times) + 1)
    n_known = count[end] - count[start]
    wanted = max(1.0, window / spacing) if spacing > 0 else 1.0
    total, rounding = window_sums(np.where(is_known, values, 0.0), start, end)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n_known + rounding / n_known
    return np.where(n_known >= _ENOUGH * wanted, mean, np.nan)


def window_sums(values: Array, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[Array, Array]:
    """Sums of values from one row to before another, and what rounding has taken from each.

    A window is a sum of stretches of 1, 2, 4, ... rows, each of which is a sum of two halves: no value enters a sum
    whose window does not have it, as it would the difference of two running sums.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Finite values.
    start, end : ndarray of shape (n_windows,)
        First row of each window, and the row after its last.

    Returns
    -------
    sum, rounding : ndarray of shape (n_windows,)
    """
    left, place = end - start, start.copy()
    total, rounding = np.zeros(len(start)), np.zeros(len(start))
    stretch, lost, size = values, np.zeros(len(values)), 1
    while True:
        has = (left & size) > 0
        total[has], error = _exact_sum(total[has], stretch[place[has]])
        rounding[has] += error + lost[place[has]]
        place[has] += size
        if not (left >= 2 * size).any():
            return total, rounding
        stretch, error = _exact_sum(stretch[:-size], stretch[size:])
        lost, size = lost[:-size] + lost[size:] + error, 2 * size


def _exact_sum(one: Array, other: Array) -> tuple[Array, Array]:
    """The sum of two numbers, and what its rounding has taken from it (Knuth's two-sum)."""
    total = one + other
    shadow = total - one
    return total, (one - (total - shadow)) + (other - shadow)


def to_hours(order: Any) -> Array:
    """Times as hours since 1970, numbers as they are."""
    if order.dtype.kind != "M":
        return order.to_numpy(dtype=float)
    times = order if order.dt.tz is None else order.dt.tz_convert("UTC").dt.tz_localize(None)
    hours = times.to_numpy().astype("datetime64[us]").astype(np.int64) / 3.6e9
    return np.where(order.isna().to_numpy(), np.nan, hours)


def _sorted(order: Any, columns: dict[str, Any]) -> tuple[Array, dict[str, Array]]:
    """Distinct times in their order, and means of the values that columns have at each."""
    hours = to_hours(order)
    known = np.isfinite(hours)
    times, where = np.unique(hours[known], return_inverse=True)
    found = {}
    for name, column in columns.items():
        values = column.to_numpy(dtype=float)[known]
        is_there = np.isfinite(values)
        count = np.bincount(where[is_there], minlength=len(times))
        total = np.bincount(where[is_there], weights=values[is_there], minlength=len(times))
        with np.errstate(invalid="ignore"):
            found[name] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return times, found
