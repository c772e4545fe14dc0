"""Columns of a table: what they are by their values, levels of categories, and the layout of text files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from torusgp.data.tables import (
    AUTO,
    TableError,
    TextFile,
    as_written,
    checked_column,
    comma_column,
    holds_numbers,
    is_text,
    looks_missing,
    numeric_column,
    place_of_row,
    short,
)
from torusgp.tables.clock import is_unix_time, read_times


@dataclass(frozen=True)
class TextLayout:
    """Separator of the columns of a text file, and the sign before decimals.

    Attributes
    ----------
    delimiter : str, default=","
        Separator of columns.
    decimal : str, default="."
        Sign before decimals.
    """

    delimiter: str = ","
    decimal: str = "."

    def to_csv(self, frame, numbers):
        """Text of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table. Its columns are written as they are, ...
        numbers : sequence of str
            ... but for the decimals of these, of floats.

        Returns
        -------
        str

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"Datum": ["31.01.2024"], "mean": [4.5]})
        >>> TextLayout(";", ",").to_csv(frame, ["mean"]).splitlines()
        ['Datum;mean', '31.01.2024;4,5']
        """
        if self.decimal != ".":
            written = {name: [_written(value, self.decimal) for value in frame[name]] for name in numbers}
            frame = frame.assign(**written)
        return frame.to_csv(index=False, sep=self.delimiter)


def text_layout(frame, path, decimal=AUTO, default=None):
    """Layout of the text of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``read_table``.
    path : str or Path
        File of the table.
    decimal : {"auto", ".", ","}, default="auto"
        What was said of the sign before decimals.
    default : TextLayout, optional
        The layout of a table that does not show its own: of one column, or no text file.

    Returns
    -------
    TextLayout
    """
    shows_layout = is_text(path) and len(frame.columns) > 1
    if not shows_layout and default is not None:
        return default
    delimiter = TextFile(path).delimiter if is_text(path) else ","
    if decimal == AUTO:
        decimal = "," if delimiter != "," and comma_column(frame) is not None else "."
    return TextLayout(delimiter, decimal)


def _written(value, decimal):
    return None if value != value else repr(float(value)).replace(".", decimal)


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


MOST_LEVELS = 50  # of a category that nobody named: each multiplies the components of its partners
_SLASHED = re.compile(r"\s*\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}\b.*")


@dataclass(frozen=True)
class ColumnKind:
    """Kind of a column.

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
    """Kind of a column of a table, by its values.

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
    """True if a value is a time, or was meant for one."""
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
