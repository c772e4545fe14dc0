"""Columns whose values are levels without a distance: text, booleans or whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.data.tables import TableError, as_written, checked_column, is_text, place_of_row, short

_LARGEST = 2**53  # whole numbers beyond it are rounded


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
    values = _with_exact_integers(column.astype(object), frame, name, path)
    texts = values.map(to_level, na_action="ignore")
    strange = column.notna().to_numpy() & np.array([text == "" for text in texts])
    if strange.any():
        row = int(np.argmax(strange))
        raise TableError(
            f"{place_of_row(column.index[row], path)}: {short(values.iloc[row])} in column {name!r} is no level of a "
            "category: those are text, booleans or whole numbers."
        )
    return texts


def _with_exact_integers(values: Any, frame: Any, name: str, path: Any) -> Any:
    """Values with whole numbers as a file has them, where floats do not tell them apart; an error if there is none."""
    rounded = values.map(lambda value: isinstance(value, float) and abs(value) > _LARGEST and value.is_integer())
    if not rounded.any():
        return values
    if is_text(path):
        numbers = frame[[name]].assign(**{name: values.where(rounded, None)})
        return values.mask(rounded, as_written(numbers, name, path).map(str.strip, na_action="ignore"))
    first = values.index[int(np.argmax(rounded))]
    raise TableError(
        f"{place_of_row(first, path)}: {values[first]:.0f} in column {name!r} is a number of decimals, which does not "
        "tell such large whole numbers apart: make the column text, or of type Int64."
    )


def to_level(value: Any) -> str:
    """A level as text; empty if it is none.

    Examples
    --------
    >>> [to_level(value) for value in ("Easter", True, 3, 3.0, 3.5)]
    ['Easter', 'True', '3', '3', '']
    """
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    if isinstance(value, int | np.integer):  # which a float may round
        return str(int(value))
    try:
        return str(int(value)) if float(value) == int(value) else ""
    except (TypeError, ValueError, OverflowError):
        return ""
