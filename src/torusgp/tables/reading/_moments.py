"""Zones of columns of times by their names, and moments that a user gives."""

import datetime
import re

from torusgp.data.tables import TableError
from torusgp.tables.times import read_times, to_timezone

_FIXED_OFFSET = re.compile(r"UTC([+-])(\d{2}):(\d{2})")


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
