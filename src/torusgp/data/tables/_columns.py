"""Columns of a table: whether they are there, and which rows miss nothing in them."""

import numpy as np

from torusgp.data.tables._errors import TableError, did_you_mean
from torusgp.data.tables._files import place_of_row
from torusgp.data.tables._text import is_number, is_text

AUTO = "auto"  # how values are written is not said
_MAX_COLUMNS = 12  # of a table that an error shows


def complete_rows(columns, path, *, drop=False):
    """Mask of the rows that miss nothing.

    Parameters
    ----------
    columns : sequence of pandas.Series
        Columns of one table, from ``numeric_column`` and ``time_column``.
    path : str or Path
        File of the table, where an error looks for the line.
    drop : bool, default=False
        Whether rows may be left out. If not, a missing value is an error, which counts them.

    Returns
    -------
    ndarray of bool
        True for each row that is complete; at least one is.
    """
    missing = {column.name: column.isna().to_numpy() for column in columns}
    complete = ~np.logical_or.reduce(list(missing.values()))
    if complete.all() or (drop and complete.any()):
        return complete
    counts = ", ".join(f"{name!r} {mask.sum()}" for name, mask in missing.items() if mask.any())
    first = place_of_row(columns[0].index[np.argmin(complete)], path)
    raise TableError(
        f"{np.sum(~complete)} of {len(complete)} rows of {path} miss a value (by column: {counts}; the first is "
        f"{first.removeprefix(f'{path}, ')}). "
        + ("No row is left." if drop else "Fill them in, or say that such rows are to be left out.")
    )


def checked_column(frame, name, path):
    """A column of that name that is not empty throughout."""
    if name not in frame.columns:
        names = list(map(str, frame.columns))
        raise TableError(
            f"{path} has no column {name!r}.{did_you_mean(name, names)} Its columns are {_listed(names)}."
            + (" Its first line has to name them." if is_text(path) and all(map(is_number, names)) else "")
        )
    column = frame[name]
    if column.isna().all():
        raise TableError(f"Column {name!r} of {path} is empty: no row has a value in it.")
    return column


def _listed(names):
    more = f" and {len(names) - _MAX_COLUMNS} more" if len(names) > _MAX_COLUMNS else ""
    return ", ".join(map(repr, names[:_MAX_COLUMNS])) + more
