"""What the columns of a table are, by their values: times, numbers, levels, or nothing to learn from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from torusgp.tables.reading import TableError, holds_numbers, is_unix_time, looks_missing, numeric_column
from torusgp.tables.times import read_times

MOST_LEVELS = 50  # of a category that nobody named: each multiplies the components of its partners
_SLASHED = re.compile(r"\s*\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}\b.*")


@dataclass(frozen=True)
class ColumnKind:
    """What a column is.

    Attributes
    ----------
    name : {"time", "number", "category", "unused"}
        How it can be an input.
    reason : str
        Why it is none.
    """

    name: str
    reason: str = ""


def column_kind(frame: Any, name: str, source: Any, decimal: str = "auto", date_format: str = "auto") -> ColumnKind:
    """What a column of a table is, by its values.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    name : str
        Name of the column.
    source : str or Path
        What errors call the table.
    decimal, date_format : str
        How numbers and times are written.

    Returns
    -------
    ColumnKind

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"day": ["2024-01-31", "2024-02-01"], "shop": ["north", "south"], "empty": [None, None]})
    >>> [column_kind(frame, name, "shops.csv").name for name in frame]
    ['time', 'category', 'unused']
    """
    values = frame[name].dropna()
    if not len(values):
        return ColumnKind("unused", "it is empty")
    kind = values.dtype.kind
    likely = looks_missing(values)
    others = values[~likely]
    first = (others if len(others) else values).iloc[0]
    if kind == "M" or is_unix_time(values, name) or (kind not in "biuf" and _is_time(first, date_format)):
        return ColumnKind("time")
    n_levels = values.nunique()
    if n_levels == 1 and kind in "OTU" and len(values) < len(frame):
        return ColumnKind("category")  # an empty field is another level
    if n_levels == 1:
        return ColumnKind("unused", f"it is {values.iloc[0]} in every row")
    if kind == "m":
        return ColumnKind("unused", "it has durations; write them as numbers")
    if kind == "b" or (kind in "iuf" and n_levels == 2):
        return ColumnKind("category")
    # with what may stand for nothing, numbers of two values are a category, as they are without
    is_plain = not likely.any() or others.nunique() > 2
    others = frame if not likely.any() else frame.assign(**{name: others})
    if kind in "iuf" or (is_plain and holds_numbers(others, name) and _is_number(others, name, source, decimal)):
        return ColumnKind("number")
    if n_levels > MOST_LEVELS:
        return ColumnKind("unused", f"it has {n_levels:,} different values, too many for a category")
    return ColumnKind("category")


def _is_time(value: Any, date_format: str) -> bool:
    """Whether a value is a time, or was meant for one."""
    if isinstance(value, str) and (_SLASHED.fullmatch(value) is not None or date_format != "auto"):
        return _SLASHED.fullmatch(value) is not None or _has_format(value, date_format)
    try:
        read_times([value])
    except ValueError:
        return False
    return True


def _has_format(value: str, date_format: str) -> bool:
    import datetime

    try:
        datetime.datetime.strptime(value.strip(), date_format)
    except ValueError:
        return False
    return True


def _is_number(frame: Any, name: str, source: Any, decimal: str) -> bool:
    try:
        numeric_column(frame, name, source, decimal)
    except TableError:
        return False
    return True
