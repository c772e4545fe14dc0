"""Columns of times, in any format and zone."""

import datetime
import re

import numpy as np

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
from torusgp.tables.times import UnreadableTimeError, read_times, to_timezone

_HOURS = re.compile("%[HIMSfpcX]")
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
    """Whether numbers are seconds or milliseconds since 1970, of the years from 2000 to 2100.

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
    is_month = returned.date() == _PROBE.date().replace(day=1) and not _HOURS.search(date_format)
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
    """What to do if a value that is no time stands for one that is missing."""
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
