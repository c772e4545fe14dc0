"""Columns whose values are levels without a distance: text, booleans or whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.data.tables import TableError, checked_column, place_of_row, short


def level_column(frame: Any, name: str, path: Any) -> Any:
    """A column of levels, as text.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``read_table``.
    name : str
        Name of the column.
    path : str or Path
        File of the table, where an error looks for the line.

    Returns
    -------
    pandas.Series
        Text, missing where the table misses it, on the index of the table. A whole number is written without decimals,
        whatever numbers a file has beside it.

    Examples
    --------
    >>> import pandas as pd
    >>> level_column(pd.DataFrame({"shop": [3.0, None, 12.0]}), "shop", "shops.csv").dropna().tolist()
    ['3', '12']
    """
    column = checked_column(frame, name, path)
    if column.dtype.kind in "Mm":
        raise TableError(f"Column {name!r} of {path} holds times ({column.dtype}), which are no levels of a category.")
    values = column.astype(object)
    texts = values.map(to_level, na_action="ignore")
    strange = column.notna().to_numpy() & np.array([text == "" for text in texts])
    if strange.any():
        row = int(np.argmax(strange))
        raise TableError(
            f"{place_of_row(column.index[row], path)}: {short(values.iloc[row])} in column {name!r} is no level of a "
            "category: those are text, booleans or whole numbers."
        )
    return texts


def to_level(value: Any) -> str:
    """A level as text; empty if it is none.

    Examples
    --------
    >>> [to_level(value) for value in ("Easter", True, 3, 3.0, 3.5)]
    ['Easter', 'True', '3', '3', '']
    """
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    try:
        return str(int(value)) if float(value) == int(value) else ""
    except (TypeError, ValueError, OverflowError):
        return ""
