"""Times at which a table has rows, how they go on, and horizons: how far ahead a forecast goes."""

from __future__ import annotations

import datetime
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import bdtr

from torusgp.data.tables import TableError
from torusgp.tables.clock import in_utc, on_wall, to_moment, to_zone, zone_name

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
    """Distance that a forecast goes ahead.

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
        """True if its last time is a date, of which all hours are meant."""
        return self.end is not None and _DATE.fullmatch(self.end) is not None

    def __str__(self) -> str:
        return f"{self.rows} rows" if self.rows is not None else self.text


def _positive(number, shown):
    if not number > 0:
        raise ValueError(f"The horizon must be positive, got {shown!r}. {_EXAMPLES}")
    return number


_DAY, _WEEK = 86400, 7 * 86400  # seconds
_CYCLES = {"week": _WEEK, "day": _DAY}
_ON_GRID = 0.05  # of a step by which a time may be beside the grid: clocks are read late
_REGULAR = 0.9  # share of the times that must be on the grid
_RECENT = 8 * _WEEK  # of the rows that say at which times of the week there are rows: opening hours change
_RARE = 0.25  # of the rows of the commonest time of the week: less is no time at which there are rows, ...
_CHANCE = 0.01  # ... if it is less likely that this is due to gaps at random, in any time of the week
_FEWEST_YEARS = 2  # in which a day of the year is without rows, for it to be so in every year
_FEWEST_GAPS = 0.02  # share of gaps at random that tables have at least, also those that have shown none
MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class Timeline:
    """Times at which a table has rows, in the units of its clock.

    Attributes
    ----------
    column : str
        Column of the times.
    last : str or float
        The last of them.
    unit : {"number", "second", "day", "month"} or None
        What steps are counted in; None if the times have no regular step. Days and months are those of the wall clock.
    step : float
        Units from one time to the next.
    zone : str
        Zone of the clock; empty if times have none.
    day : int
        Of months: their day, 31 for the last.
    cycle : {"week", "day"} or None
        What is not complete, such as a week without nights or without weekends.
    slots : tuple of int
        Steps since the cycle began at which there are rows; empty if there are rows at all of them.
    closed : tuple of str
        Days of the year without rows in every year, such as "12-25".
    """

    column: str
    last: str | float
    unit: str | None
    step: float
    zone: str = ""
    day: int = 0
    cycle: str | None = None
    slots: tuple[int, ...] = ()
    closed: tuple[str, ...] = ()

    @classmethod
    def from_order(cls, order: Any) -> Timeline:
        """Timeline of the times of rows.

        Parameters
        ----------
        order : pandas.Series
            Times or numbers, all known.

        Returns
        -------
        Timeline

        Examples
        --------
        >>> import pandas as pd
        >>> open_hours = [time for time in pd.date_range("2024-01-01", "2024-02-01", freq="h") if 8 <= time.hour < 20]
        >>> timeline = Timeline.from_order(pd.Series(open_hours, name="time"))
        >>> timeline.after(3).dt.strftime("%d %H:%M").tolist()
        ['01 08:00', '01 09:00', '01 10:00']
        """
        column = str(order.name)
        if order.dtype.kind != "M":
            numbers = np.unique(order.to_numpy(dtype=float))
            step = _regular_step(numbers)
            return cls(column, float(numbers[-1]), None if step is None else "number", step or 0.0)
        zone = zone_name(order)
        wall = np.unique(wall_stamps(order))
        last = order.max()
        last = last.isoformat() if not zone else last.tz_convert("UTC").isoformat()
        seconds_of_day = (wall - wall.astype("datetime64[D]")) / np.timedelta64(1, "s")
        if len(wall) > 1 and np.all(seconds_of_day == seconds_of_day[0]):
            months, day = _monthly(wall)
            if months:
                return cls(column, last, "month", float(months), zone, day)
            days = np.round((wall - wall[0]) / np.timedelta64(1, "D"))
            step = _regular_step(days)
            found = cls(column, last, None if step is None else "day", step or 0.0, zone)
            return found._with_slots(wall, _DAY)._with_closed(wall)
        times = in_utc(order)
        seconds = np.unique((times - times.min()).dt.total_seconds().to_numpy())
        step = _regular_step(seconds)
        found = cls(column, last, None if step is None else "second", step or 0.0, zone)
        return found._with_slots(wall, 1)._with_closed(wall)

    def _with_slots(self, wall, unit):
        """The same, knowing at which times of the week or of the day there are rows."""
        if self.unit is None:
            return self
        step, span = self.step * unit, (wall[-1] - wall[0]) / np.timedelta64(1, "s")
        cycle = "week" if span >= 2 * _WEEK else "day"
        length = _CYCLES[cycle]
        if span < 2 * length or length % step or length // step < 2:
            return self
        n_turns = min(_RECENT, int(span)) // length
        recent = wall[wall > wall[-1] - np.timedelta64(n_turns * length, "s")]
        counts = np.bincount(_slots(recent, cycle, step), minlength=int(length // step))
        is_empty = _never_used(counts, n_turns)
        if cycle == "week" and _DAY % step == 0:  # hours at which no day has rows, though weeks are too few to tell
            is_empty |= np.tile(_never_used(counts.reshape(7, -1).sum(axis=0), 7 * n_turns), 7)
        if not is_empty.any():
            return self
        return replace(self, cycle=cycle, slots=tuple(np.flatnonzero(~is_empty).tolist()))

    def _with_closed(self, wall):
        """The same, knowing on which days of the year there are no rows, in two years or more."""
        if self.unit is None or self.step * (_DAY if self.unit == "day" else 1) > _DAY:
            return self
        days = np.arange(wall[0].astype("datetime64[D]") + 1, wall[-1].astype("datetime64[D]"))
        if self.slots and self.cycle == "week":  # days of the week without rows are no exception
            used = np.unique(np.array(self.slots) // (len(self._slots_of_a_week()) // 7))
            days = days[np.isin(_weekday(days), used)]
        is_missing = ~np.isin(days, wall.astype("datetime64[D]"))
        names = np.array([str(day)[5:] for day in days])
        seen, where = np.unique(names, return_inverse=True)
        years = np.bincount(where)
        always = (np.bincount(where, is_missing) == years) & (years >= _FEWEST_YEARS)
        others = is_missing & ~always[where]
        n_gaps = np.sum(others[1:] & ~others[:-1]) + 1  # at least one, as any table may have
        by_chance = len(seen) * (n_gaps / max(len(days), 1)) ** _FEWEST_YEARS
        return replace(self, closed=tuple(seen[always].tolist())) if by_chance < _CHANCE else self

    def _slots_of_a_week(self):
        return range(int(_WEEK // (self.step * (_DAY if self.unit == "day" else 1))))

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Timeline:
        """Timeline from what :meth:`to_json` gave."""
        return cls(**(content | {"slots": tuple(content["slots"]), "closed": tuple(content["closed"])}))

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        return asdict(self) | {"slots": list(self.slots), "closed": list(self.closed)}

    @property
    def last_time(self) -> Any:
        """The last time, as pandas' Timestamp on the clock of the table, or a number."""
        import pandas

        if isinstance(self.last, float):
            return self.last
        time = pandas.Timestamp(self.last)
        return time.tz_convert(to_zone(self.zone)) if self.zone else time

    @property
    def is_regular(self) -> bool:
        """True if the times have a step."""
        return self.unit is not None

    @property
    def words(self) -> str:
        """The step in words."""
        if self.unit is None:
            return "no regular step"
        unit, size = "", self.step
        if self.unit != "number":
            unit = self.unit
            for name, length in (("day", _DAY), ("hour", 3600), ("minute", 60)):
                if unit == "second" and size % length == 0:
                    unit, size = name, size / length
            for part, whole, length in (("day", "week", 7), ("month", "year", 12)):
                if unit == part and size % length == 0:
                    unit, size = whole, size / length
            unit = f" {unit}{'s' * (size != 1)}"
        return f"{size:g}{unit}"

    def end(self, horizon: Horizon) -> Any:
        """Last time of a horizon, at which there may be no row; None of a number of rows.

        Parameters
        ----------
        horizon : Horizon
            How far ahead.

        Returns
        -------
        pandas.Timestamp or float or None
        """
        import pandas

        if horizon.rows is not None:
            return None
        last = self.last_time
        if isinstance(last, float):
            raise ValueError(
                f"The horizon is {horizon.text!r}, but column {self.column!r} has numbers, not times: give a number of "
                "rows."
            )
        if horizon.end is not None:
            empty = pandas.Series([last], name=self.column)
            end = to_moment(horizon.end, empty)
            end = end + pandas.DateOffset(days=1) - pandas.Timedelta(1, "us") if horizon.is_whole_day else end
            if end <= last:
                raise ValueError(f"The horizon ends at {horizon.end}, which is not after the last row, at {last}.")
            return end
        try:
            if horizon.unit == "seconds":
                return last + pandas.Timedelta(seconds=horizon.amount)
            return last + pandas.DateOffset(**{str(horizon.unit): horizon.amount})
        except (ValueError, OverflowError) as error:
            raise ValueError(f"The horizon {horizon.text!r} is beyond the times of a calendar: {error}.") from error

    def expected(self, first: Any) -> Any:
        """Times from one on, up to the last, at which rows are to be expected.

        Parameters
        ----------
        first : pandas.Timestamp
            The first of them.

        Returns
        -------
        pandas.DatetimeIndex
        """
        times = self._steps(-self._n_steps(self.last_time + (self.last_time - first)), -1)
        return times[(times >= first) & self._has_rows(times)]

    def after(self, horizon: Any, closed: bool = True) -> Any:
        """Times of the rows that come next.

        Parameters
        ----------
        horizon : int, str, timedelta, datetime or Horizon
            How far ahead: rows, a span such as "28d", or the last time.
        closed : bool, default=True
            Leave out days of the year on which there are never rows.

        Returns
        -------
        pandas.Series
            Named after the column.
        """
        import pandas

        horizon = Horizon.parse(horizon)
        if not self.is_regular:
            raise TableError(
                f"The times in column {self.column!r} have no regular step: give a table with the times to forecast."
            )
        end = self.end(horizon)
        if horizon.rows is not None and horizon.rows > MOST_ROWS:
            raise ValueError(f"The horizon is {horizon.rows:,} rows; at most {MOST_ROWS:,} are made.")
        parts, found, start = [], 0, 1
        while True:
            n_steps = self._n_steps(end) if horizon.rows is None else 2 * (horizon.rows - found) + 16
            if n_steps > 4 * MOST_ROWS:
                raise ValueError(
                    f"The horizon {horizon} has more than {MOST_ROWS:,} steps of {self.words}: give a shorter one."
                )
            times = self._steps(start, start + n_steps - 1)
            times = times[self._has_rows(times, closed)]
            parts.append(times)
            found, start = found + len(times), start + n_steps
            if horizon.rows is None or found >= horizon.rows:
                break
        times = pandas.Series(parts[0].append(parts[1:]) if len(parts) > 1 else parts[0], name=self.column)
        times = times[: horizon.rows] if horizon.rows is not None else times[times <= end]
        if not len(times):
            raise ValueError(f"The horizon {horizon} is shorter than the step of {self.words} to the next row.")
        return times

    def _n_steps(self, end):
        """Steps after the last time that are enough to reach another."""
        seconds = {"second": 1.0, "day": 0.95 * _DAY, "month": 28.0 * _DAY}[str(self.unit)] * self.step
        return int((end - self.last_time).total_seconds() / seconds) + 2

    def _steps(self, start, stop):
        """Some of the steps after the last time, which has the number 0."""
        import pandas

        numbers = np.arange(start, stop + 1)
        last = self.last_time
        if self.unit == "number":
            return pandas.Index(last + self.step * numbers)
        if self.unit == "second":
            return last + pandas.to_timedelta(self.step * numbers, unit="s")
        wall = last.tz_localize(None) if self.zone else last
        if self.unit == "day":
            times = wall + pandas.to_timedelta(self.step * numbers, unit="D")
        else:
            times = _months_after(wall, int(self.step) * numbers, self.day)
        if not self.zone:
            return times
        # an hour that the clock leaps over is told by the next one, an hour that comes twice by the first
        return times.tz_localize(last.tz, nonexistent="shift_forward", ambiguous=np.ones(len(times), dtype=bool))

    def _has_rows(self, times, closed=True):
        """Mask of the times at a slot at which there are rows, and on a day that has some."""
        found = np.ones(len(times), dtype=bool)
        if self.slots:
            step = self.step * (_DAY if self.unit == "day" else 1)
            found &= np.isin(_slots(wall_stamps(times.to_series()), self.cycle, step), self.slots)
        return found & ~self.on_closed_days(times) if closed and self.closed else found

    def on_closed_days(self, times: Any) -> Any:
        """Mask of the times on a day of the year that never has rows."""
        if not self.closed:
            return np.zeros(len(times), dtype=bool)
        days = times.dt if hasattr(times, "dt") else times
        return np.isin(days.strftime("%m-%d"), self.closed)


def wall_stamps(order):
    """Times as a clock on the wall shows them."""
    return on_wall(order).to_numpy().astype("datetime64[us]")


def _slots(wall, cycle, step):
    """Steps since the beginning of the week, on Monday, or of the day."""
    seconds = (wall - np.datetime64("1969-12-29")) / np.timedelta64(1, "s")  # a Monday
    return (np.mod(seconds + _ON_GRID * step, _CYCLES[cycle]) // step).astype(int)


def _weekday(days):
    """Days of the week, from 0 for Monday."""
    return (days.astype("datetime64[D]").astype(int) + 3) % 7


def _never_used(counts, n_turns):
    """Mask of the slots of a cycle that have no rows, or hardly any, for another reason than gaps at random."""
    is_rare = counts < _RARE * counts.max()
    gaps = np.clip(1 - counts[~is_rare].mean() / n_turns, _FEWEST_GAPS, 1.0)
    return is_rare & (len(counts) * bdtr(counts, n_turns, 1 - gaps) < _CHANCE)


def _regular_step(values):
    """Step of sorted numbers that have one, with gaps; None if they have none."""
    if len(values) < 2:
        return None
    gaps = np.sort(np.diff(values))
    step = float(gaps[(len(gaps) - 1) // 2])  # the median, but one of the gaps
    off = np.abs((values - values[-1]) / step - np.round((values - values[-1]) / step))
    return step if np.mean(off <= _ON_GRID) >= _REGULAR else None


def _monthly(wall):
    """Months from one time to the next, and their day, if there is one time in a month; else 0 and 0."""
    days = (wall.astype("datetime64[D]") - wall.astype("datetime64[M]")).astype(int) + 1
    months = wall.astype("datetime64[M]").astype(int)
    if len(months) < 3 or np.any(np.diff(months) == 0):
        return 0, 0
    day = int(days.max())
    lengths = ((wall.astype("datetime64[M]") + 1).astype("datetime64[D]") - wall.astype("datetime64[M]")).astype(int)
    if np.any(days != np.minimum(day, lengths)):
        return 0, 0
    step = _regular_step(months.astype(float))
    is_last = bool(np.all(days == lengths))  # of 28 to 31 days: the last one is meant
    return (0, 0) if step is None else (int(step), 31 if is_last else day)


def _months_after(wall, numbers, day):
    """The same time of day, months later."""
    import pandas

    months = np.datetime64(wall, "M") + numbers
    lengths = ((months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")).astype(int)
    dates = months.astype("datetime64[D]") + (np.minimum(day, lengths) - 1)
    return pandas.DatetimeIndex(dates) + (wall - wall.normalize())
