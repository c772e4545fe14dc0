"""Times that come more than once: several series in one table, or rows that are there twice."""

from __future__ import annotations

from typing import Any

from torusgp.tables.models._columns import MOST_LEVELS
from torusgp.tables.models._words import word
from torusgp.tables.reading import place_of_row

_ALONE = 0.99  # of the rows, at least, that have their time to themselves among those of a level


def repeated_times(frame: Any, order: Any, source: Any) -> str | None:
    """What to do about times that come more than once.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    order : pandas.Series or None
        Times of its rows, on the same index.
    source : str or Path
        What the message calls the table.

    Returns
    -------
    str or None
        None if there are none.
    """
    if order is None:
        return None
    again = order[order.notna() & order.duplicated()]
    if not len(again):
        return None
    share = f"{len(again):,} of {len(order):,} rows have the time of another"
    repeated = order.duplicated(keep=False) & order.notna()
    for name in frame.columns:
        if name != order.name and _parts_rows(frame[name], order) and not _repeats(frame[name], order, repeated):
            return (
                f"{share}: there are several series, which {name!r} distinguishes. Fit a model for each of its values: "
                f"{word('by', name)}."
            )
    return (
        f"{share}; the first is {place_of_row(again.index[0], source)}, {again.iloc[0]}. Leave out what is there "
        "twice, or name a column that distinguishes the rows."
    )


def _repeats(column: Any, order: Any, repeated: Any) -> bool:
    """Whether rows of one time mostly have the same level, too: they are there twice."""
    pairs = column[repeated].astype(str).str.cat(order[repeated].astype(str), sep="@")
    return bool((~pairs.duplicated(keep=False)).mean() < _ALONE)


def _parts_rows(column: Any, order: Any) -> bool:
    """Whether rows of the same level of a column have different times."""
    if column.dtype.kind == "f" or not 2 <= column.nunique() <= max(MOST_LEVELS, len(column) // 20):
        return False
    pairs = column.astype(str).str.cat(order.astype(str), sep="@")
    return bool((~pairs.duplicated()).mean() >= _ALONE)
