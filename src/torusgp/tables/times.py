"""Times as text, Python's datetimes or arrays, with or without a zone.

Times without a zone need NumPy alone. pandas is imported to move text and Python's datetimes from one zone to another;
install it with ``pip install "torusgp[io]"``.
"""

import datetime
import difflib
import functools
import re
import zoneinfo
from dataclasses import dataclass

import numpy as np

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


def wall_clock(values, zone):
    """What the clock of a zone, or their own, shows at certain times, as datetime64; and the name of the zone."""
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
