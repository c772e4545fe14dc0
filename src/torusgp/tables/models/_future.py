"""Rows of the future: their times, and covariates that a user knows of them."""

import warnings

import numpy as np

from torusgp.data.tables import TableError, place_of_row
from torusgp.tables.forecasting import Horizon
from torusgp.tables.models._rows import check_order, numbered, to_table
from torusgp.tables.words import TABLE, word

_MATCH = 1e-6  # of a step: numbers of two tables that are the same time
_MOST_DAYS = 5  # days that a warning names
_SHOWN = 3  # times that an error names


def future_table(table, horizon, future, source=TABLE):
    """Table of the rows that come after those that a model has seen.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    horizon : int, str, timedelta, datetime or None
        How far ahead; None to the end of the table of the future.
    future : pandas.DataFrame, str, Path or None
        What is known of the future.
    source : str or Path
        File that it was read from.

    Returns
    -------
    frame : pandas.DataFrame
        Rows with all columns that predictions need.
    times : pandas.Series
        Their times, on the clock of the model.
    source : str or Path
        What errors call the table.
    """
    import pandas

    timeline = _timeline(table)
    needed = [name for name in table.inputs_.columns if name != timeline.column]
    if future is None:
        if needed:
            raise TableError(_unknown_future(timeline, horizon, needed))
        if horizon is None:
            raise ValueError(f"Say how far ahead: {word('horizon', '28d')}.")
        times = timeline.after(horizon)
        _tell_closed(timeline, horizon)
        return pandas.DataFrame({timeline.column: times.array}), times, TABLE
    frame, source = to_table(future, source, table.missing)
    frame = numbered(frame, source)
    absent = [name for name in [timeline.column, *needed] if name not in frame.columns]
    if absent:
        raise TableError(f"{source} lacks {_names(absent)}, which the forecast needs.")
    if not len(frame):
        raise TableError(f"{source} has no rows.")
    known = _read_times(table, timeline, frame, source)
    times = _wanted(timeline, horizon, known, source)
    positions = _match(times, known, timeline)
    there = _check_gaps(timeline, times, positions, needed, source)
    times, positions = times[there].reset_index(drop=True), positions[there]
    chosen = frame.iloc[positions]
    _check_values(table, chosen, needed, times, source)
    chosen = chosen.assign(**{timeline.column: times.array})
    return chosen, times, source


def _unknown_future(timeline, horizon, needed):
    """What has to be known of the time to come, and of which times if the horizon says so."""
    when = f"after {_shown(timeline.last_time)}"
    if horizon is not None:
        times = timeline.after(horizon)
        when = f"for the {len(times)} rows from {_shown(times.iloc[0])} to {_shown(times.iloc[-1])}"
    return (
        f"The model has {_names(needed)} as input{'s' * (len(needed) > 1)}, which must be known {when}: give a table "
        f"that has them, with a column {timeline.column!r} ({word('future')})."
    )


def _timeline(table):
    """Times of the rows that a model has seen; an error if they have none."""
    if table.inputs_.time is None:
        raise TableError(
            f"Nothing orders the rows, so nothing comes after them: name the column of times ({word('time', 'date')}) "
            "and fit again, or predict the rows of a table."
        )
    return table.timeline_


def _read_times(table, timeline, frame, source):
    """Times of a table of the future, checked: known, each once, and after the past; in their order."""
    times = table.inputs_.read_order(frame, source)
    missing = times.index[times.isna()]
    if len(missing):
        raise TableError(f"{place_of_row(missing[0], source)}: column {timeline.column!r} has no time.")
    last = timeline.last_time
    check_order(times, timeline, source)
    twice = times[times.duplicated()]
    if len(twice):
        raise TableError(
            f"{place_of_row(twice.index[0], source)}: {_shown(twice.iloc[0])} is there twice in column "
            f"{timeline.column!r}. A forecast has one row at a time."
        )
    past = times[times <= last]
    if len(past):
        raise TableError(
            f"{place_of_row(past.index[0], source)}: {_shown(past.iloc[0])} is not after the last row that was fitted, "
            f"at {_shown(last)}. {len(past)} of {len(times)} rows of {source} overlap the past: leave them out."
        )
    return times


def _wanted(timeline, horizon, known, source):
    """Times to forecast."""
    last_known = known.max()
    if timeline.is_regular:
        if horizon is not None:
            return timeline.after(horizon, closed=False)
        if isinstance(last_known, float):
            return timeline.after(max(1, int(np.floor((last_known - timeline.last) / timeline.step + _MATCH))))
        return timeline.after(Horizon(str(last_known), end=last_known.isoformat()), closed=False)
    times = known.sort_values().reset_index(drop=True)
    if horizon is None:
        return times
    horizon = Horizon.parse(horizon)
    if horizon.rows is not None:
        if horizon.rows > len(times):
            raise TableError(f"The horizon is {horizon}, but {source} has {len(times)}.")
        return times[: horizon.rows]
    end = timeline.end(horizon)
    if not (times <= end).any():
        raise TableError(f"The horizon ends at {_shown(end)}, before the first row of {source}.")
    return times[times <= end]


def _match(times, known, timeline):
    """Position in the table of each time; -1 if it is not there."""
    wanted, there = _to_numbers(times, timeline), _to_numbers(known, timeline)
    order = np.argsort(there)
    tolerance = _MATCH * (timeline.step if timeline.unit == "number" else 1.0)
    nearest = np.searchsorted(there[order], wanted - tolerance)
    inside = nearest < len(order)
    positions = order[np.minimum(nearest, len(order) - 1)]
    return np.where(inside & (np.abs(there[positions] - wanted) <= tolerance), positions, -1)


def _to_numbers(times, timeline):
    """Times as seconds, or the numbers that they are."""
    if times.dtype.kind != "M":
        return times.to_numpy(dtype=float)
    return (times - timeline.last_time).dt.total_seconds().to_numpy()


def _tell_closed(timeline, horizon):
    """Say which days of the horizon are left out, as the table never has rows on them."""
    if timeline.closed:
        whole = timeline.after(horizon, closed=False)
        days = whole[timeline.on_closed_days(whole)].dt.strftime("%Y-%m-%d").unique()
        if len(days):
            warnings.warn(
                f"Nothing is forecast for {_listed(days)}: on this day of the year the table never has rows. Should "
                f"there be some, give a table that has them ({word('future')}).",
                stacklevel=6,
            )


def _check_gaps(timeline, times, positions, needed, source):
    """Which times the table of the future has; those of days off are left out, and an error tells of all others.

    A day off has no row at all, or none before or after a certain time.
    """
    there = positions >= 0
    if there.all():
        return there
    is_off = np.zeros(len(times), dtype=bool)
    if times.dtype.kind == "M" and timeline.unit != "month" and there.any():
        days = times.dt.strftime("%Y-%m-%d").to_numpy()
        first, last = np.flatnonzero(there)[[0, -1]]
        is_off = ~there & _outside(there, days)
        is_off[:first] &= days[:first] != days[first]  # a table that begins too late
        is_off[last + 1 :] &= timeline.on_closed_days(times[last + 1 :])
    gaps = times[~there & ~is_off]
    if len(gaps):
        what = f" {_names(needed)} must be known there." if needed else ""
        raise TableError(
            f"{source} has no row for {len(gaps)} of the {len(times)} times to forecast: {_first(gaps)}.{what}"
        )
    days = times[is_off].dt.strftime("%Y-%m-%d").unique()
    warnings.warn(
        f"{source} has no rows on {_listed(days)}, or on a part of it: nothing is forecast there.", stacklevel=6
    )
    return there


def _outside(there, days):
    """Which times are before the first or after the last of those of their day that are there."""
    found = np.zeros(len(days), dtype=bool)
    for day in np.unique(days[~there]):
        own = np.flatnonzero(days == day)
        inside = own[there[own]]
        found[own] = True if not len(inside) else (own < inside[0]) | (own > inside[-1])
    return found


def _listed(days):
    more = f" and {len(days) - _MOST_DAYS} more days" if len(days) > _MOST_DAYS else ""
    return ", ".join(days[:_MOST_DAYS]) + more


def _check_values(table, frame, needed, times, source):
    """Raise if covariates are missing in some rows, with the names and times of all that miss some."""
    told = []
    needed = [name for name in needed if name not in table.inputs_.empty_levels]
    for name in needed:
        missing = frame[name].isna().to_numpy()
        if missing.any():
            told.append(f"{name!r} is missing at {missing.sum()} of {len(times)} times ({_first(times[missing])})")
    if told:
        first = min(int(np.argmax(frame[name].isna())) for name in needed if frame[name].isna().any())
        raise TableError(
            f"{place_of_row(frame.index[first], source)}: {'; '.join(told)}. A forecast needs all of them."
        )


def _first(times):
    shown = ", ".join(_shown(time) for time in times[:_SHOWN])
    return shown + (", ..." if len(times) > _SHOWN else "")


def _shown(time):
    return time.isoformat(sep=" ", timespec="minutes") if hasattr(time, "isoformat") else f"{time:.10g}"


def _names(columns):
    names = [repr(name) for name in columns]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
