"""Columns of numbers, with a point or a comma before the decimals."""

import re

import numpy as np

from torusgp.tables.reading._columns import AUTO, checked_column, is_number
from torusgp.tables.reading._errors import TableError, short
from torusgp.tables.reading._files import as_written, import_pandas, is_comma_separated, is_text, place_of_row

_COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_LIKE_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", re.ASCII)  # 1,234 may be a number of four digits
_GROUPED = re.compile(r"\s*[+-]?\d{1,3}(?:([.,' \u2019\u00a0\u202f])\d{3})+(?:[.,]\d*)?\s*", re.ASCII)
_SAY_COMMA = "If the comma marks decimals, say so: --decimal , (in Python decimal=',')"
_SAY_WHICH = "say which of them marks decimals (--decimal), and leave out marks between thousands."
_POINT_BESIDE_COMMAS = "has a point, but a comma marks decimals (--decimal ,). Leave out marks between thousands."


def numeric_column(frame, name, path, decimal=AUTO):
    r"""A column of numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``read_table``.
    name : str
        Name of the column.
    path : str or Path
        File of the table, where an error looks for the line.
    decimal : {"auto", ".", ","}, default="auto"
        Sign before the decimals of numbers that are text. "auto" takes a comma for it where nothing else can be meant:
        semicolons or tabs part the columns, all values can be read so, none has a point, and some comma of the table
        cannot part thousands. Thousands marks are not understood.

    Returns
    -------
    pandas.Series
        float64, on the index of the table. Missing values are NaN; at least one is there, and none is infinite.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from torusgp.tables.reading import read_table, time_column
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "last.csv"
    ...     _ = path.write_text("Datum;Last\n31.01.2024 13:30;4,5\n")
    ...     frame = read_table(path)
    ...     load, time = numeric_column(frame, "Last", path), time_column(frame, "Datum", path)
    >>> load.tolist(), str(time[0])
    ([4.5], '2024-01-31 13:30:00')
    """
    check_decimal(decimal)
    column = checked_column(frame, name, path)
    if column.dtype.kind in "Mm":
        raise TableError(f"Column {name!r} of {path} holds times ({column.dtype}), not numbers.")
    pandas = import_pandas()
    if column.dtype.kind in "biuf":
        numbers = pandas.to_numeric(column)
        if column.dtype.kind == "f":
            _check_points(frame, name, path, decimal)
    else:
        numbers = pandas.to_numeric(column.astype(object), errors="coerce")
        if decimal == "," or (column.notna() & numbers.isna()).any():
            numbers = _with_commas(frame, name, path, decimal, numbers)
    numbers = numbers.astype(float)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise TableError(
            f"{place_of_row(column.index[infinite[0]], path)}: {short(column.iloc[infinite[0]])} in column {name!r} is "
            "infinite. Leave it empty if it is not known."
        )
    return numbers


def holds_numbers(frame, name):
    """Whether a column of a table holds numbers, or text that begins with one.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"hour": [None, "0,5"], "time": ["2024-01-31", "today"]})
    >>> holds_numbers(frame, "hour"), holds_numbers(frame, "time"), holds_numbers(frame, "absent")
    (True, False, False)
    """
    if name not in frame.columns or not frame[name].notna().any():
        return False
    first = frame[name].dropna().iloc[0]
    return frame[name].dtype.kind in "iuf" or (isinstance(first, str) and is_number(first.replace(",", ".")))


def check_decimal(decimal):
    """Raise if a sign before decimals is none that is known."""
    if decimal not in (AUTO, ".", ","):
        raise ValueError(f"decimal (--decimal) must be a point, a comma or 'auto', got {decimal!r}.")


def comma_column(frame):
    """Name of a column of numbers some of whose commas cannot part thousands; None if there is none."""
    for name in frame.columns:
        column = frame[name].dropna()
        if column.dtype.kind != "O" or not len(column) or not _COMMA_NUMBER.fullmatch(str(column.iloc[0])):
            continue
        texts = column.astype(str)
        commas = texts.str.contains(",", regex=False)
        if texts.str.fullmatch(_COMMA_NUMBER).all() and not texts[commas].str.fullmatch(_LIKE_GROUPS).all():
            return name
    return None


def _with_commas(frame, name, path, decimal, numbers):
    """Numbers of a column of text, some of which could not be read as they are; those with decimal commas, too."""
    column = frame[name]
    texts = column[[isinstance(value, str) for value in column]]
    commas = texts.str.fullmatch(_COMMA_NUMBER) & texts.str.contains(",", regex=False)
    strange = column.notna() & numbers.isna() & ~commas.reindex(column.index, fill_value=False)
    if strange.any():
        value = column[strange].iloc[0]
        marks = " Leave out marks between thousands." if _GROUPED.fullmatch(str(value)) else ""
        others = f" {strange.sum()} values of this column are not." if strange.sum() > 1 else ""
        refused, reason = strange, f"is not a number.{others}{marks}"
    else:
        points = texts.str.contains(".", regex=False)
        refused, reason = _objection(frame, path, decimal, texts, commas, points)
    if refused is not None:
        row = refused.index[np.argmax(refused)]
        raise TableError(f"{place_of_row(row, path)}: {short(column[row])} in column {name!r} {reason}")
    numbers = numbers.copy()
    numbers[commas.index[commas]] = texts[commas].str.replace(",", ".", regex=False).astype(float)
    return numbers


def _objection(frame, path, decimal, texts, commas, points):
    """Which texts of a column may not be read with commas before decimals, and why; None where all may."""
    if decimal == "," and points.any():
        return points, _POINT_BESIDE_COMMAS
    if not commas.any() or decimal == ",":
        return None, ""
    if decimal == ".":
        return commas, "is not a number, as a point marks decimals (--decimal .)."
    if is_comma_separated(path):
        return commas, f"is not a number. {_SAY_COMMA}."
    if points.any():
        point = short(texts[points].iloc[0])
        return commas, f"has a comma, but {point} a point: {_SAY_WHICH}"
    if comma_column(frame) is None:
        reason = "may have three decimals or be in thousands, and no other value of the table tells which"
        return commas, f"{reason}. {_SAY_COMMA}; otherwise leave it out."
    return None, ""


def _check_points(frame, name, path, decimal):
    """Raise if numbers that were read with decimal points may have been written with points between thousands."""
    if not is_text(path) or decimal == ".":
        return
    other = None
    if decimal == AUTO:
        other = None if is_comma_separated(path) else comma_column(frame)
        if other is None:
            return
    texts = as_written(frame, name, path)
    points = texts.str.contains(".", regex=False, na=False).to_numpy()
    if not points.any():
        return
    position = np.argmax(points)
    reason = _POINT_BESIDE_COMMAS
    if other is not None:
        reason = f"has a point, but column {other!r} has decimal commas: {_SAY_WHICH}"
    shown = short(texts.iloc[position])
    raise TableError(f"{place_of_row(texts.index[position], path)}: {shown} in column {name!r} {reason}")
