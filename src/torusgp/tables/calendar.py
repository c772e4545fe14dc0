"""Where times fall in the day, the week, the month and the year.

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

from torusgp.libraries import require

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
_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class CalendarPhases(TransformerMixin, BaseEstimator):
    """Times, turned into where they fall in the day, the week, the month and the year.

    ======== ================ ======== ===================================================
    cycle    column           period   meaning
    ======== ================ ======== ===================================================
    "day"    ``hour_of_day``  24       hours since midnight
    "week"   ``day_of_week``  7        days since the midnight before Monday
    "month"  ``day_of_month`` 30.4375  days since the month began, stretched to one length
    "year"   ``day_of_year``  365.25   days since New Year, stretched to one length
    ======== ================ ======== ===================================================

    All are read off the wall clock: 8 in the morning is hour 8 in summer and in winter, and also on the days of 23 or
    25 hours, on which the clocks change. Each month and each year is exactly one turn: whatever its length, it is
    stretched or shrunk to a twelfth of 365.25 days, or to 365.25 days.

    With "day" among the cycles, the others count whole days: they stand still from midnight to midnight, so that the
    hour and the date are inputs of their own. If they moved on with every hour, the hour would be part of them, and
    effects of the one could not be told from effects of the other. Without "day" they move on all the time.

    Parameters
    ----------
    cycles : sequence of {"day", "week", "month", "year"}, default=("day", "week", "year")
        What to compute, in this order.
    timezone : str or tzinfo, optional
        Zone whose wall clock is read, such as "Australia/Melbourne". Times that know their zone are moved there; by
        default they stay in their own. Times without a zone are wall-clock times already, and stay as they are.
    column : str or int, optional
        Column of the times, by name or position, where the inputs have several.
    whole_days : bool, default=True
        Whether the other cycles count whole days beside "day". False lets them move on through the day. That suits what
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
        self.timezone_ = zone if self.timezone is None else _zone_name(to_timezone(self.timezone))
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
        clock = _Clock.from_stamps(stamps)
        day = _CYCLES["day"]
        dates = clock.at_midnight() if self.whole_days and day in cycles else clock
        return np.column_stack([cycle.phase(clock if cycle is day else dates) for cycle in cycles])

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
            stamps, zone = _wall_clock(values, to_timezone(self.timezone))
        except UnreadableTimeError as error:
            raise ValueError(f"Row {error.position} (counted from 0){of_column}: {error}") from error
        missing = np.flatnonzero(np.isnat(stamps))
        if len(missing):
            raise ValueError(
                f"Row {missing[0]} (counted from 0){of_column} has no time (NaT), as have {len(missing)} of "
                f"{len(stamps)} rows. Leave them out first."
            )
        return stamps, zone


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
        zone = None if offset is None else _zone_name(value.tzinfo)
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
    """How far Z, or an offset such as +10, +10:00 or +1000, is ahead of UTC."""
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


def _wall_clock(values, zone):
    """What the clock of a zone, or their own, shows at certain times, as datetime64; and the name of the zone."""
    if hasattr(values, "to_series"):
        values = values.to_series()  # an index of pandas; a series has no such method
    kind = values.dtype.kind
    if kind == "M" and hasattr(values, "dt") and values.dt.tz is not None:
        # before version 3, pandas takes zones from pytz, which knows of no daylight saving time after 2037, ...
        zone = zone or to_timezone(getattr(values.dt.tz, "zone", None)) or values.dt.tz
        if hasattr(values.dtype, "pyarrow_dtype"):  # ... and takes the zone off Arrow's times by moving them to UTC
            values = values.astype(f"datetime64[{values.dtype.pyarrow_dtype.unit}, UTC]")
        return values.dt.tz_convert(zone).dt.tz_localize(None).to_numpy(), _zone_name(zone)
    if kind == "M":
        return np.asarray(values), None
    times = read_times(np.asarray(values).tolist())
    if zone is None or times.offsets is None:
        return times.stamps, times.zone
    return times.moved_to(zone).tz_localize(None).to_numpy(), _zone_name(zone)


def _zone_name(zone):
    if isinstance(zone, datetime.timezone):
        return FIXED_OFFSETS if zone.utcoffset(None) else "UTC"
    return getattr(zone, "key", None) or str(zone)


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

    def hour_of_day(self):
        return self.tick / (self.ticks_per_day // 24)

    def day_of_week(self):
        return ((self.day + 3) % 7 * self.ticks_per_day + self.tick) / self.ticks_per_day  # 1970 began on a Thursday

    def stretched_day(self, unit, n_days):
        """Days since the month ("M") or year ("Y") began, stretched to a mean length."""
        start = self.day.astype("datetime64[D]").astype(f"datetime64[{unit}]")
        first, after = (bound.astype("datetime64[D]").astype(np.int64) for bound in (start, start + 1))
        passed = ((self.day - first) * self.ticks_per_day + self.tick) / ((after - first) * self.ticks_per_day)
        return np.minimum(passed * n_days, np.nextafter(n_days, 0.0))  # the last nanoseconds might be rounded up


@dataclass(frozen=True)
class _Cycle:
    column: str
    period: float
    phase: Callable[[_Clock], np.ndarray]


_CYCLES = {
    "day": _Cycle("hour_of_day", 24.0, _Clock.hour_of_day),
    "week": _Cycle("day_of_week", 7.0, _Clock.day_of_week),
    "month": _Cycle("day_of_month", 30.4375, lambda clock: clock.stretched_day("M", 30.4375)),
    "year": _Cycle("day_of_year", 365.25, lambda clock: clock.stretched_day("Y", 365.25)),
}


def _resolve_cycles(cycles):
    known = ", ".join(map(repr, _CYCLES))
    names = [] if isinstance(cycles, str) or not np.iterable(cycles) else list(cycles)
    if not names or any(name not in list(_CYCLES) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"cycles must be a sequence of some of {known}, each once, got {cycles!r}.")
    return [_CYCLES[name] for name in names]
