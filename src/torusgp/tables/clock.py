"""Times as text, datetimes or columns of a table: their zones, their wall clock, and the cycles that it goes through.

Times without a zone need NumPy alone. pandas is imported to move text and Python's datetimes from one zone to another;
install it with ``pip install "torusgp[io]"``.
"""

import datetime
import difflib
import functools
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from torusgp.checks import check_flag
from torusgp.data.tables import (
    AUTO,
    TableError,
    as_written,
    checked_column,
    import_pandas,
    is_text,
    one_line,
    place_of_row,
    short,
)
from torusgp.libraries import require
from torusgp.tables.words import TABLE

FIXED_OFFSETS = "fixed offsets"  # such as +10:00: one zone has several of them in the course of a year
_OFFSET = r"(?: ?(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d){0,2}))?"  # seconds: before zones, towns had clocks of their own
_TIME = re.compile(
    rf"(\d{{4}}-\d{{2}}-\d{{2}})(?:[T ](\d{{2}}(?::\d{{2}}(?::\d{{2}}(?:\.\d{{1,9}})?)?)?){_OFFSET})?", re.ASCII
)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)  # a whole month, which is told by its first day
_DOTTED_TIME = re.compile(  # who parts them by dots writes the day first
    rf"(\d{{1,2}})\.(\d{{1,2}})\.(\d{{4}})(?: +(\d{{1,2}})(:\d{{2}}(?::\d{{2}}(?:\.\d{{1,9}})?)?){_OFFSET})?", re.ASCII
)
_LAYOUTS = {len(layout): layout for layout in ("0000-00", "0000-00-00", "0000-00-00 00:00", "0000-00-00 00:00:00")}
_LENGTH_WITH_MICROSECONDS = len("2024-01-31T13:30:00.123456")
_NANOSECOND_YEARS = range(1678, 2262)  # whole years that 64 bits hold in nanoseconds


class UnreadableTimeError(ValueError):
    """A value is no time.

    Parameters
    ----------
    position : int
        Which of the values, counted from 0.
    message : str
        What is wrong with it.
    """

    def __init__(self, position, message):
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class Times:
    """Times as they are written.

    Attributes
    ----------
    stamps : ndarray of datetime64
        What the wall clock shows; NaT where a time is missing.
    offsets : ndarray of timedelta64, or None
        How far the clock is ahead of UTC; None for times without a zone.
    zone : str or None
        Name of the zone, or "fixed offsets".
    """

    stamps: np.ndarray
    offsets: np.ndarray | None
    zone: str | None

    def moved_to(self, zone):
        """The same moments on the clock of a zone, as a pandas DatetimeIndex that knows it."""
        pandas = require("pandas", "io", "Moving times to another time zone needs")
        return pandas.DatetimeIndex(self.stamps - self.offsets).tz_localize("UTC").tz_convert(zone)


def read_times(values):
    """Read text, Python's datetimes and dates, or a mixture of them.

    Parameters
    ----------
    values : sequence
        Times. Text follows ISO 8601: a date, or date and time, which may end in Z or an offset such as +10:00; a month,
        such as 2024-01, is its first day. Dates with dots, such as 31.1.2024, have the day first; those with slashes
        are not read, as either may come first. None, NaN and NaT are missing times.

    Returns
    -------
    Times

    Examples
    --------
    >>> times = read_times(["2024-01-31T13:30+01:00", None])
    >>> times.zone, str(times.stamps[1])
    ('fixed offsets', 'NaT')
    >>> bool(times.stamps[0] == np.datetime64("2024-01-31T13:30"))
    True
    >>> str(read_times(["1.2.2024 13:30"]).stamps[0].astype("datetime64[m]"))
    '2024-02-01T13:30'
    >>> str(read_times(["2024-02"]).stamps[0].astype("datetime64[D]"))
    '2024-02-01'
    """
    stamps = _read_alike(values)
    if stamps is not None:
        return Times(stamps, None, None)
    texts, offsets = [], []
    zones: dict[str | None, int] = {}  # and where each comes first
    for position, value in enumerate(values):
        try:
            text, offset, zone = _read_time(value)
        except ValueError as error:
            raise UnreadableTimeError(position, str(error)) from None
        texts.append(text)
        offsets.append(offset)
        if text != "NaT":
            zones.setdefault(zone, position)
    if None in zones and len(zones) > 1:
        (first, _), (other, position) = list(zones.items())[:2]
        raise UnreadableTimeError(
            position,
            f"{values[position]!r} has {other or 'no time zone'}, but times before it have {first or 'no time zone'}.",
        )
    stamps = _to_stamps(texts, values)
    if not zones or None in zones:
        return Times(stamps, None, None)
    zone = next(iter(zones)) if len(zones) == 1 else FIXED_OFFSETS
    return Times(stamps, np.array(offsets, dtype="timedelta64[us]"), zone)


def to_timezone(timezone):
    """A time zone from its name, or the zone itself.

    Parameters
    ----------
    timezone : str, tzinfo or None
        Such as "Europe/Berlin".

    Returns
    -------
    tzinfo or None
    """
    if timezone is None or isinstance(timezone, datetime.tzinfo):
        return timezone
    if not isinstance(timezone, str):
        raise ValueError(f"timezone must be a name such as 'Europe/Berlin' or a tzinfo, got {timezone!r}.")
    try:
        return zoneinfo.ZoneInfo(timezone)
    except (KeyError, ValueError, OSError) as error:  # unknown, malformed, or the name of a whole region
        near = difflib.get_close_matches(timezone, zoneinfo.available_timezones(), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Give a name such as 'Europe/Berlin' or 'UTC'."
        raise ValueError(f"timezone {timezone!r} is not known. {hint}") from error


def _read_alike(values):
    """Times of texts of ISO 8601 that are all of one common length, at once; None where one of them is not."""
    layout = _LAYOUTS.get(len(values[0])) if len(values) and type(values[0]) is str else None
    if layout is None or not all(type(value) is str for value in values):
        return None
    texts = np.array(values)
    if texts.itemsize != 4 * len(layout):
        return None
    signs = texts.view(np.uint32).reshape(len(texts), len(layout))  # one code for each sign, 0 where a text is shorter
    for sign, column in zip(layout, signs.T, strict=True):
        if sign == "0":
            fits = (column >= ord("0")) & (column <= ord("9"))
        else:
            fits = (column == ord(sign)) | ((column == ord("T")) & (sign == " "))
        if not fits.all():
            return None
    try:
        return texts.astype("datetime64[us]")
    except ValueError:  # such as the 30th of February
        return None


def _read_time(value):
    """ISO text without offset, offset and name of the zone of one time."""
    if isinstance(value, str):
        if _MONTH.fullmatch(value.strip()):
            return f"{value.strip()}-01", None, None
        match = _TIME.fullmatch(value.strip())
        day, time, offset = _dotted_time(value) if match is None else match.groups()
        text = day if time is None else f"{day}T{time}"
        if offset is None:
            return text, None, None
        shift = _to_shift(offset)
        return text, shift, FIXED_OFFSETS if shift else "UTC"
    if _is_missing(value):
        return "NaT", None, None
    if isinstance(value, datetime.datetime):  # a pandas Timestamp is one, too
        offset = value.utcoffset()
        zone = None if offset is None else name_of_zone(value.tzinfo)
        return value.replace(tzinfo=None).isoformat(), offset, zone
    if isinstance(value, datetime.date):
        return value.isoformat(), None, None
    if isinstance(value, np.datetime64):
        return str(value), None, None
    raise ValueError(_not_a_time(value))


def _dotted_time(text):
    """Date, time and offset, as in ISO 8601, of text with dots such as 31.1.2024 9:30."""
    match = _DOTTED_TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(_not_a_time(text))
    day, month, year, hour, rest, offset = match.groups()
    return f"{year}-{month:0>2}-{day:0>2}", None if hour is None else f"{hour:0>2}{rest}", offset


@functools.cache  # a column has few of them
def _to_shift(offset):
    """Distance from UTC of Z, or of an offset such as +10, +10:00 or +1000."""
    digits = offset[1:].replace(":", "").ljust(6, "0")
    shift = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:]))
    return -shift if offset[0] == "-" else shift


def _not_a_time(value):
    return f"{value!r} is not a time. Write it like 2024-01-31 13:30 (ISO 8601) or 31.01.2024 13:30."


def _is_missing(value):
    if value is None or type(value).__name__ in ("NaTType", "NAType"):  # those of pandas, which need not be there
        return True
    return isinstance(value, float | np.datetime64) and value != value


def _to_stamps(texts, values):
    """ISO texts of values as datetime64, in nanoseconds where they are that fine."""
    unit = "ns" if any(len(text) > _LENGTH_WITH_MICROSECONDS for text in texts) else "us"
    if unit == "ns":
        for position, text in enumerate(texts):
            if text != "NaT" and int(text[:4]) not in _NANOSECOND_YEARS:  # NumPy would wrap around
                raise UnreadableTimeError(position, f"{text!r} is out of the range of nanoseconds, 1678 to 2261.")
    try:
        return np.array(texts, dtype=f"datetime64[{unit}]")
    except ValueError:
        for position, text in enumerate(texts):
            try:
                np.array([text], dtype=f"datetime64[{unit}]")
            except ValueError:  # such as the 30th of February
                raise UnreadableTimeError(position, _not_a_time(values[position])) from None
        raise


def wall_clock(values, zone):
    """Times on the clock of a zone, or their own, as datetime64; and the name of the zone."""
    if hasattr(values, "to_series"):
        values = values.to_series()  # an index of pandas; a series has no such method
    kind = values.dtype.kind
    if kind == "M" and hasattr(values, "dt") and values.dt.tz is not None:
        # before version 3, pandas takes zones from pytz, which knows of no daylight saving time after 2037, ...
        zone = zone or to_timezone(getattr(values.dt.tz, "zone", None)) or values.dt.tz
        if hasattr(values.dtype, "pyarrow_dtype"):  # ... and takes the zone off Arrow's times by moving them to UTC
            values = values.astype(f"datetime64[{values.dtype.pyarrow_dtype.unit}, UTC]")
        return values.dt.tz_convert(zone).dt.tz_localize(None).to_numpy(), name_of_zone(zone)
    if kind == "M":
        return np.asarray(values), None
    times = read_times(np.asarray(values).tolist())
    if zone is None or times.offsets is None:
        return times.stamps, times.zone
    return times.moved_to(zone).tz_localize(None).to_numpy(), name_of_zone(zone)


def name_of_zone(zone):
    """Name of a tzinfo; "fixed offsets" for one that is no zone."""
    if isinstance(zone, datetime.timezone):
        return FIXED_OFFSETS if zone.utcoffset(None) else "UTC"
    return getattr(zone, "key", None) or str(zone)


_FIXED_OFFSET = re.compile(r"UTC([+-])(\d{2}):(\d{2})")


def on_wall(times):
    """Times of a column as a clock on the wall shows them, without a zone."""
    return times if times.dt.tz is None else times.dt.tz_localize(None)


def in_utc(times):
    """Times of a column without a zone: those of UTC where they have one."""
    return times if times.dt.tz is None else on_wall(times.dt.tz_convert("UTC"))


def zone_name(times):
    """Name of the zone of a column of times, empty if they have none."""
    zone = times.dt.tz
    return "" if zone is None else str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)


def check_zone(times, zone, source):
    """Raise if times of a table have a zone where those of a fit had none, or none where they had one.

    Parameters
    ----------
    times : pandas.Series
        A column of the table.
    zone : str
        Zone of the fit, empty if there was none.
    source : str or Path
        What errors call the table.
    """
    found = zone_name(times)
    if bool(found) != bool(zone):
        have, had = (f"the time zone {name}" if name else "no time zone" for name in (found, zone))
        raise TableError(
            f"Times in column {times.name!r} of {source} have {have}, but those that the model was fitted to have "
            f"{had}: their clocks differ."
        )


def to_moment(text, order):
    """A time or number that a user gives, to compare with a column that orders rows.

    Parameters
    ----------
    text : str or number
        Such as "2014-01-01", on the clock of the column's zone, or 1500.
    order : pandas.Series
        Times or numbers.

    Returns
    -------
    pandas.Timestamp or float
    """
    if order.dtype.kind != "M":
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"{text!r} is no number, but column {order.name!r} has numbers.") from None
    import pandas

    try:
        moment = pandas.Timestamp(read_times([str(text)]).stamps[0])
        offset = read_times([str(text)]).offsets
    except ValueError as error:
        raise ValueError(str(error)) from None
    if offset is not None:
        if order.dt.tz is None:
            raise ValueError(f"{text!r} has a time zone, but the times in column {order.name!r} have none.")
        return (moment - offset[0]).tz_localize("UTC")
    return moment if order.dt.tz is None else moment.tz_localize(order.dt.tz)


def to_zone(name):
    """Zone of a name that ``zone_name`` gave."""
    offset = _FIXED_OFFSET.fullmatch(name)
    if offset is None:
        return to_timezone(name)
    sign, hours, minutes = offset.groups()
    shift = datetime.timedelta(hours=int(hours), minutes=int(minutes))
    return datetime.timezone(-shift if sign == "-" else shift)


_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class CalendarPhases(TransformerMixin, BaseEstimator):
    """Times, turned into where they fall in the hour, the day, the week, the month, the quarter and the year.

    ========= ================== ======== =====================================================
    cycle     column             period   meaning
    ========= ================== ======== =====================================================
    "hour"    ``minute_of_hour`` 60       minutes since the full hour
    "day"     ``hour_of_day``    24       hours since midnight
    "week"    ``day_of_week``    7        days since the midnight before Monday
    "month"   ``day_of_month``   30.4375  days since the month began, stretched to one length
    "quarter" ``day_of_quarter`` 91.3125  days since the quarter began, stretched to one length
    "year"    ``day_of_year``    365.25   days since New Year, stretched to one length
    ========= ================== ======== =====================================================

    All are read off the wall clock: 8 in the morning is hour 8 in summer and in winter, and also on the days of 23 or
    25 hours, on which the clocks change. Each month, quarter and year is exactly one turn: whatever its length, it is
    stretched or shrunk to a twelfth or a quarter of 365.25 days, or to 365.25 days.

    With "day" among the cycles, longer ones count whole days: they stand still from midnight to midnight, so that the
    hour and the date are inputs of their own. If they moved on with every hour, the hour would be part of them, and
    effects of the one could not be told from effects of the other. Without "day" they move on all the time.

    Parameters
    ----------
    cycles : sequence of {"hour", "day", "week", "month", "quarter", "year"}, default=("day", "week", "year")
        What to compute, in this order.
    timezone : str or tzinfo, optional
        Zone whose wall clock is read, such as "Australia/Melbourne". Times that know their zone are moved there; by
        default they stay in their own. Times without a zone are wall-clock times already, and stay as they are.
    column : str or int, optional
        Column of the times, by name or position, where the inputs have several.
    whole_days : bool, default=True
        Whether longer cycles count whole days beside "day". False lets them move on through the day. That suits what
        goes on around midnight, such as a busy night from Friday to Saturday: where days are whole, the end of Friday
        is next to its beginning, while it is next to Saturday where they move on.

    Attributes
    ----------
    period_ : ndarray of shape (n_cycles,)
        Period of each column, to give to :class:`TorusGPRegressor`. It is there before ``fit``, too.
    timezone_ : str or None
        Zone whose wall clock is read: ``timezone``, or else the zone of the times that were fitted; "fixed offsets"
        where each came with an offset such as +10:00, and None where they have no zone. Other times have to agree.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the inputs, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from torusgp import TorusGPRegressor
    >>> phases = CalendarPhases(["day", "week"])
    >>> phases.fit_transform(["2024-01-31 12:00", "2024-02-05"])  # a Wednesday, a Monday
    array([[12.,  2.],
           [ 0.,  0.]])
    >>> CalendarPhases(["week"]).fit_transform(["2024-01-31 12:00"])
    array([[2.5]])

    Three weeks whose weekends are quieter, and the fourth, which follows from them:

    >>> times = np.datetime64("2024-01-01") + np.arange(28 * 24).astype("timedelta64[h]")
    >>> hour, weekday = phases.fit_transform(times).T
    >>> demand = np.cos(2 * np.pi * hour / 24) * np.where(weekday < 5, 2.0, 1.0)
    >>> model = make_pipeline(phases, TorusGPRegressor(period=phases.period_)).fit(times[:504], demand[:504])
    >>> bool(model.score(times[504:], demand[504:]) > 0.99)
    True
    """

    def __init__(self, cycles=("day", "week", "year"), *, timezone=None, column=None, whole_days=True):
        self.cycles = cycles
        self.timezone = timezone
        self.column = column
        self.whole_days = whole_days

    @property
    def period_(self):
        """Period of each column."""
        return np.array([cycle.period for cycle in _resolve_cycles(self.cycles)])

    def fit(self, X, y=None):
        """Check the times, and remember their zone.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)
            Times: datetime64 of pandas or NumPy, Python's datetimes, or text such as ``2024-01-31 13:30`` or
            ``2024-01-31T13:30:00+01:00`` (ISO 8601), or ``31.01.2024 13:30``, where the day comes first.
        y : ignored
            Present for the interface.

        Returns
        -------
        self
        """
        _resolve_cycles(self.cycles)
        X = _to_table(X)
        # a sequence is one input without a name, so that any other sequence may follow it
        validate_data(self, X if X.ndim == 2 else np.empty((len(X), 1)), skip_check_array=True)
        zone = self._stamps(X)[1]
        self.timezone_ = zone if self.timezone is None else name_of_zone(to_timezone(self.timezone))
        return self

    def transform(self, X):
        """Place times in the cycles.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)
            Times, as in ``fit``; in the same zone, unless ``timezone`` is given.

        Returns
        -------
        ndarray of shape (n_samples, n_cycles)
            Numbers from 0 up to the period of their column, which they do not reach.
        """
        check_is_fitted(self)
        X = _to_table(X)
        if X.ndim == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        stamps, zone = self._stamps(X)
        if self.timezone is None and zone != self.timezone_:
            raise ValueError(
                f"These times have {zone or 'no time zone'}, but CalendarPhases was fitted to times with "
                f"{self.timezone_ or 'no time zone'}: their clocks differ. Say with timezone= whose clock matters."
            )
        cycles = _resolve_cycles(self.cycles)
        check_flag(self.whole_days, "whole_days")
        clock = _Clock.from_stamps(stamps)
        dates = clock.at_midnight() if self.whole_days and CYCLES["day"] in cycles else clock
        return np.column_stack([cycle.phase(dates if cycle.counts_days else clock) for cycle in cycles])

    def get_feature_names_out(self, input_features=None):
        """Names of the columns, such as ``hour_of_day``.

        Parameters
        ----------
        input_features : ignored
            Present for the interface.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        return np.array([cycle.column for cycle in _resolve_cycles(self.cycles)], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = True  # scikit-learn's checks hand over numbers, which are no times
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _stamps(self, X):
        """Wall-clock times as datetime64 without NaT, and the name of their zone."""
        values, of_column = _select(X, self.column)
        if not len(values):
            raise ValueError("CalendarPhases needs at least one time, got 0 sample(s).")
        if values.dtype.kind not in "MOUT":
            raise ValueError(
                f"X{of_column} holds {values.dtype}, which is no type of times. If these are seconds since 1970: "
                "pandas.to_datetime(..., unit='s')."
            )
        try:
            stamps, zone = wall_clock(values, to_timezone(self.timezone))
        except UnreadableTimeError as error:
            raise ValueError(f"Row {error.position} (counted from 0){of_column}: {error}") from error
        missing = np.flatnonzero(np.isnat(stamps))
        if len(missing):
            raise ValueError(
                f"Row {missing[0]} (counted from 0){of_column} has no time (NaT), as have {len(missing)} of "
                f"{len(stamps)} rows. Leave them out first."
            )
        return stamps, zone


def _to_table(X):
    """X itself if it is of pandas, else as an array; of one or two dimensions."""
    X = X.to_pandas() if hasattr(X, "to_pandas") else X  # of polars; its array would have lost the zone
    X = X if hasattr(X, "to_frame") or hasattr(X, "iloc") else np.asarray(X)
    if X.ndim not in (1, 2):
        raise ValueError(f"Times must be a sequence or a column of a table, got an array of shape {X.shape}.")
    return X


def _select(X, column):
    """The column of the times, and words that name it."""
    if X.ndim == 1:
        return X, ""
    names = list(getattr(X, "columns", []))
    n_columns = X.shape[1]
    if column is None and n_columns == 1:
        position = 0
    elif column is None:
        raise ValueError(f"X has {n_columns} columns {names or ''}: say with column= which of them has the times.")
    elif isinstance(column, str) and column in names:
        position = names.index(column)
    elif isinstance(column, int | np.integer) and -n_columns <= column < n_columns:
        position = int(column) % n_columns
    else:
        raise ValueError(f"column is {column!r}, but X has {n_columns} columns {names or 'without names'}.")
    if not names:
        return X[:, position], f" of column {position}"
    return X.iloc[:, position], f" of column {names[position]!r}"


@dataclass(frozen=True)
class _Clock:
    """Times taken apart in integers, so that a phase is rounded a few times, whatever the year.

    Attributes
    ----------
    day : ndarray of int64
        Days since 1970 began.
    tick : ndarray of int64
        Ticks since midnight.
    ticks_per_day : int
        Length of a day in the same unit.
    """

    day: np.ndarray
    tick: np.ndarray
    ticks_per_day: int

    @classmethod
    def from_stamps(cls, stamps):
        unit, _ = np.datetime_data(stamps.dtype)
        if unit not in _TICKS_PER_SECOND:
            unit = "s" if unit in ("Y", "M", "W", "D", "h", "m") else "ns"
        stamps = stamps.astype(f"datetime64[{unit}]", copy=False)  # also from multiples, such as 15 minutes
        ticks_per_day = 86400 * _TICKS_PER_SECOND[unit]
        day, tick = np.divmod(stamps.astype(np.int64), ticks_per_day)
        return cls(day, tick, ticks_per_day)

    def at_midnight(self):
        """The clock at the beginning of each day."""
        return _Clock(self.day, np.zeros_like(self.tick), self.ticks_per_day)

    def minute_of_hour(self):
        ticks_per_hour = self.ticks_per_day // 24
        return self.tick % ticks_per_hour / (ticks_per_hour // 60)

    def hour_of_day(self):
        return self.tick / (self.ticks_per_day // 24)

    def day_of_week(self):
        return ((self.day + 3) % 7 * self.ticks_per_day + self.tick) / self.ticks_per_day  # 1970 began on a Thursday

    def stretched_day(self, n_months, n_days):
        """Days since a span of so many months began, stretched to a mean length."""
        month = self.day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        start = month - month % n_months  # months since 1970, which began a year and its quarters
        first, after = (_first_day(bound) for bound in (start, start + n_months))
        passed = ((self.day - first) * self.ticks_per_day + self.tick) / ((after - first) * self.ticks_per_day)
        return np.minimum(passed * n_days, np.nextafter(n_days, 0.0))  # the last nanoseconds might be rounded up


def _first_day(month):
    """Days since 1970 of the beginnings of months, counted from that year on."""
    return month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


YEAR = 365.25  # days


@dataclass(frozen=True)
class Cycle:
    """A cycle of the calendar.

    Attributes
    ----------
    column : str
        What the clock shows of it: the name of the input.
    period : float
        Its length in the units of that column.
    n_days : float
        Its length in days.
    phase : callable
        Place in the cycle of a clock.
    words : tuple of str
        What people call the input.
    """

    column: str
    period: float
    n_days: float
    phase: Callable[[_Clock], np.ndarray]
    words: tuple[str, ...]

    @property
    def counts_days(self) -> bool:
        """True if it is longer than a day."""
        return self.n_days > 1


CYCLES = {
    "hour": Cycle("minute_of_hour", 60.0, 1 / 24, _Clock.minute_of_hour, ("minute",)),
    "day": Cycle("hour_of_day", 24.0, 1.0, _Clock.hour_of_day, ("hour", "day")),
    "week": Cycle("day_of_week", 7.0, 7.0, _Clock.day_of_week, ("weekday", "week")),
    "month": Cycle("day_of_month", YEAR / 12, YEAR / 12, lambda clock: clock.stretched_day(1, YEAR / 12), ("month",)),
    "quarter": Cycle(
        "day_of_quarter", YEAR / 4, YEAR / 4, lambda clock: clock.stretched_day(3, YEAR / 4), ("quarter",)
    ),
    "year": Cycle("day_of_year", YEAR, YEAR, lambda clock: clock.stretched_day(12, YEAR), ("year", "season")),
}


def _resolve_cycles(cycles):
    known = ", ".join(map(repr, CYCLES))
    names = [] if isinstance(cycles, str) or not np.iterable(cycles) else list(cycles)
    are_known = all(isinstance(name, str) and name in CYCLES for name in names)
    if not names or not are_known or len(set(names)) < len(names):
        raise ValueError(f"cycles must be a sequence of some of {known}, each once, got {cycles!r}.")
    return [CYCLES[name] for name in names]


def cycle_of(word):
    """Name of the cycle that a word stands for in a formula, None if it is none.

    Parameters
    ----------
    word : str
        Such as "hour" (of the day), "weekday", "day of year", "day_of_year" or "year".

    Returns
    -------
    str or None

    Examples
    --------
    >>> [cycle_of(word) for word in ("hour", "weekday", "day of year", "minute", "price")]
    ['day', 'week', 'year', 'hour', None]
    """
    spoken = word.strip().lower().replace(" ", "_")
    return next((name for name, one in CYCLES.items() if spoken in (one.column, *one.words)), None)


_HOUR_SIGNS = re.compile("%[HIMSfpcX]")
_UNIX_RANGE = (946_684_800, 4_102_444_800)  # seconds from 1970 to 2000 and to 2100
_UNIX_UNITS = {"s": 1, "ms": 1000}
_LIKE_TIME = re.compile("time|date|stamp|unix|epoch|when|^ts$|^t$", re.IGNORECASE)
_PROBE = datetime.datetime(2019, 11, 23, tzinfo=datetime.UTC)  # a date that every format has to return


def time_column(frame, name, path, timezone=None, date_format=AUTO):
    """A column of times.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``read_table``.
    name : str
        Name of the column. Text follows ISO 8601, such as ``2024-01-31 13:30`` or ``2024-01-31T13:30:00+01:00``, or has
        dots and the day first, such as ``31.01.2024 13:30``. Months, such as ``2024-01``, are told by their first days.
        Numbers are seconds or milliseconds since 1970, if all fall between 2000 and 2100: times of UTC.
    path : str or Path
        File of the table, where an error looks for the line.
    timezone : str or tzinfo, optional
        Zone to which times that know theirs are moved. Times without a zone stay as they are.
    date_format : str, default="auto"
        How times that are text are written, such as ``%d/%m/%Y %H:%M``, in the signs of Python's ``strptime``. Months
        need no day, as in ``%m/%Y``.

    Returns
    -------
    pandas.Series
        datetime64 with or without zone, on the index of the table, for :class:`CalendarPhases`. Missing times are NaT;
        at least one is there.
    """
    pandas = import_pandas()
    check_date_format(date_format)
    column = checked_column(frame, name, path)
    zone = to_timezone(timezone)
    kind = column.dtype.kind
    if kind == "M":
        return column if zone is None or column.dt.tz is None else column.dt.tz_convert(zone)
    if date_format != AUTO:
        column = _formatted_times(frame, name, path, date_format)
        if column.dtype.kind == "M":
            return column
    elif is_unix_time(column.dropna()):
        return _unix_times(column, zone)
    elif kind != "O":
        value = column.dropna().iloc[:1]
        raise TableError(
            f"{place_of_row(value.index[0], path)}: {short(value.iloc[0])} in column {name!r} is not a time. Write it "
            'like 2024-01-31 13:30 (ISO 8601), or say how it is written, such as --date-format "%Y%m%d".'
        )
    try:
        times = read_times(column.astype(object).tolist())
    except UnreadableTimeError as error:
        place = place_of_row(column.index[error.position], path)
        raise TableError(
            f"{place}, column {name!r}: {one_line(error)}{_date_hint(column.iloc[error.position])}."
        ) from error
    if times.offsets is None:
        return pandas.Series(times.stamps, index=column.index, name=name)
    if zone is None:
        offsets = np.unique(times.offsets[~np.isnat(times.offsets)])
        if len(offsets) > 1:
            shown = ", ".join(str(datetime.timezone(offset.item())) for offset in offsets[:3])
            raise TableError(
                f"Column {name!r} of {path} has times with several offsets ({shown}): give the time zone whose clock "
                "matters, such as Europe/Berlin."
            )
        zone = datetime.timezone(offsets[0].item())
    return pandas.Series(times.moved_to(zone), index=column.index, name=name)


def is_unix_time(values, name=""):
    """True if numbers are seconds or milliseconds since 1970, of the years from 2000 to 2100.

    Parameters
    ----------
    values : pandas.Series
        Values that are there.
    name : str, default=""
        Name of the column, if nobody said that it has times: then it has to sound like it.

    Returns
    -------
    bool

    Examples
    --------
    >>> import pandas as pd
    >>> is_unix_time(pd.Series([1706708700])), is_unix_time(pd.Series([1706708700]), "income")
    (True, False)
    """
    if values.dtype.kind not in "iuf" or not len(values) or (name and not _LIKE_TIME.search(name)):
        return False
    low, high = _UNIX_RANGE
    return any(values.between(factor * low, factor * high).all() for factor in _UNIX_UNITS.values())


def _unix_times(column, zone):
    """Times of a column of seconds or milliseconds since 1970, which are those of UTC."""
    size = column.dropna().iloc[0]
    unit = next(name for name, factor in _UNIX_UNITS.items() if size <= factor * _UNIX_RANGE[1])
    times = import_pandas().to_datetime((column * (1e3 / _UNIX_UNITS[unit])).round(), unit="ms", utc=True)
    return times if zone is None else times.dt.tz_convert(zone)


def check_date_format(date_format):
    """Raise if a format of times is none, or leaves out year or month; or the day, though it has hours."""
    if date_format == AUTO:
        return
    example = 'Give one such as "%d/%m/%Y %H:%M".'
    if not isinstance(date_format, str) or "%" not in date_format:
        raise ValueError(f"date_format (--date-format) must be a format or 'auto', got {date_format!r}. {example}")
    try:
        returned = datetime.datetime.strptime(_PROBE.strftime(date_format), date_format)
    except ValueError as error:
        raise ValueError(
            f"date_format (--date-format) {date_format!r} is no format of times: {one_line(error)}. {example}"
        ) from error
    is_month = returned.date() == _PROBE.date().replace(day=1) and not _HOUR_SIGNS.search(date_format)
    if returned.date() != _PROBE.date() and not is_month:
        raise ValueError(
            f"date_format (--date-format) {date_format!r} does not tell year, month and day. {example} For months, "
            '"%Y-%m" will do; years alone are numbers.'
        )


def _formatted_times(frame, name, path, date_format):
    """Times of a column that is written in a certain format: datetime64 without a zone, or Python's datetimes."""
    pandas = import_pandas()
    column = frame[name]
    if column.dtype.kind != "O":
        if not is_text(path):
            raise TableError(f"Column {name!r} of {path} holds {column.dtype}: a date format is for text.")
        column = as_written(frame, name, path)  # digits alone were taken for numbers, which have no leading zeros
    if not re.search("%[zZ]", date_format) and all(isinstance(value, str) for value in column.dropna()):
        times = pandas.to_datetime(column.str.strip(), format=date_format, errors="coerce")  # fast
        if (times.notna() == column.notna()).all():
            return times
    times = []
    for row, value in column.items():
        if not isinstance(value, str):
            times.append(None if value != value else value)
            continue
        try:
            times.append(datetime.datetime.strptime(value.strip(), date_format))
        except ValueError:
            raise TableError(
                f"{place_of_row(row, path)}, column {name!r}: {short(value)} is not a time as {date_format!r} writes "
                "it (--date-format){_missing_hint(value)}."
            ) from None
    return pandas.Series(times, index=column.index, dtype=object)


def _missing_hint(value):
    """Advice for a value that is no time and may stand for one that is missing."""
    if not isinstance(value, str) or any(sign.isdigit() for sign in value):
        return ""
    mark = value.strip()
    return f"; if it stands for a missing time, say so, with --missing {mark!r} (in Python missing=[{mark!r}])"


def _date_hint(value):
    if _missing_hint(value):
        return _missing_hint(value)
    if isinstance(value, str) and value.count("/") == 2:
        return (
            '; or say which number is the day, with --date-format "%d/%m/%Y" or "%m/%d/%Y" (followed by " %H:%M" if '
            "there are hours)"
        )
    return ', or say how times are written, with --date-format (such as "%d/%m/%Y %H:%M")'


@dataclass(frozen=True)
class TimeAxis:
    """Times as numbers, in which a slope is told: years of dates, or the units of a column of numbers.

    Attributes
    ----------
    column : str
        Column of the table.
    zero : str or float
        Time that is counted as 0.
    kind : {"number", "time", "zoned time"}
        What the column holds.
    """

    column: str
    zero: str | float
    kind: str

    @classmethod
    def from_order(cls, order):
        """Axis of a column that orders rows: it begins with the first of them."""
        first, kind = order.min(), _kind(order)
        if kind == "number":
            return cls(str(order.name), float(first), kind)
        return cls(str(order.name), (first if kind == "time" else first.tz_convert("UTC")).isoformat(), kind)

    @property
    def unit(self):
        """Unit of time of a slope."""
        return f"unit of {self.column}" if self.kind == "number" else "year"

    def to_numbers(self, order, source):
        """Numbers of the times of a column.

        Parameters
        ----------
        order : pandas.Series
            Times or numbers, all known.
        source : str or Path
            What errors call their table.

        Returns
        -------
        ndarray of float
        """
        import pandas

        if _kind(order) != self.kind:
            names = {"number": "numbers", "time": "times without a time zone", "zoned time": "times with a time zone"}
            raise TableError(
                f"Column {self.column!r} of {source} has {names[_kind(order)]}, but the model was fitted "
                f"to {names[self.kind]}."
            )
        if self.kind == "number":
            return order.to_numpy() - self.zero
        times = order if self.kind == "time" else order.dt.tz_convert("UTC")
        return ((times - pandas.Timestamp(self.zero)) / pandas.Timedelta(days=YEAR)).to_numpy(dtype=float)


def _kind(order):
    if order.dtype.kind != "M":
        return "number"
    return "time" if order.dt.tz is None else "zoned time"


_WHOLE = 0.99  # of a turn: the lengths of months and years differ


@dataclass(frozen=True)
class Turns:
    """Number of turns of a cycle that the rows cover.

    Attributes
    ----------
    name : str
        Cycle of the calendar, or period of a column of numbers.
    input : str
        Input of the regressor that tells where in the cycle a row is.
    number : float
        Turns, the time that the last row stands for included.
    is_calendar : bool
        Whether the cycle is one of the calendar.
    """

    name: str
    input: str
    number: float
    is_calendar: bool

    @property
    def is_unfinished(self):
        """True if it has not come round once."""
        return self.number < _WHOLE

    @property
    def are_few(self):
        """True if it has not come round twice."""
        return self.number < 2 * _WHOLE

    def __str__(self):
        number = f"{self.number:.1f}" if self.number >= _WHOLE else f"{self.number:.2g}"
        return f"{number} {self.name}s" if self.is_calendar else f"{number} periods of {self.input!r} ({self.name})"


def count_turns(inputs, order):
    """Turns that rows cover of each cycle that is known and goes on in the time that orders them.

    Parameters
    ----------
    inputs : TableInputs
        Inputs of the model.
    order : pandas.Series or None
        Times or numbers of the rows.

    Returns
    -------
    list of Turns
        Cycles of the calendar if times order the rows; periods of the column of numbers that orders them.
    """
    if order is None:
        return []
    if order.dtype.kind != "M":
        known = [one.period for one in inputs.circles if one.input == order.name and one.period != "auto"]
        return [Turns(f"{period:g}", str(order.name), covered(order) / period, False) for period in known]
    cycles = [] if inputs.calendar is None else inputs.calendar[1]
    return [Turns(cycle, CYCLES[cycle].column, n_turns(order, CYCLES[cycle].n_days), True) for cycle in cycles]


def n_turns(order, n_days):
    """Number of times that rows have gone through a cycle of a given length.

    Parameters
    ----------
    order : pandas.Series
        Times.
    n_days : float
        Length of the cycle.

    Returns
    -------
    float
    """
    return covered(order) * YEAR / n_days


def covered(order):
    """Time that rows cover, the one that the last row stands for included: in years of dates, or units of numbers."""
    return float(np.ptp(TimeAxis.from_order(order).to_numbers(order, TABLE))) + spacing(order)


def spacing(order):
    """Time from one row to the next, the median of those that differ; zero if none do."""
    times = np.unique(TimeAxis.from_order(order).to_numbers(order, TABLE))
    return float(np.median(np.diff(times))) if len(times) > 1 else 0.0


def few_turns(inputs, order):
    """Cycles that the rows have not seen twice; see :func:`count_turns`."""
    return [turns for turns in count_turns(inputs, order) if turns.are_few]


def show_moment(value):
    """A time or number, without what goes without saying."""
    if not hasattr(value, "isoformat"):
        return f"{value:.8g}"
    text = to_minutes(value).replace("+00:00", " UTC")
    return text.removesuffix(" 00:00") if value.tzinfo is None else text


def to_minutes(value):
    """A time to the minute, or a number, as an error names it."""
    return value.isoformat(sep=" ", timespec="minutes") if hasattr(value, "isoformat") else f"{value:.10g}"
