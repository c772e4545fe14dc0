"""Columns of numbers, with a point or a comma before the decimals."""

import re

import numpy as np

from torusgp.data.tables._columns import AUTO, checked_column
from torusgp.data.tables._errors import NotNumbersError, TableError, short
from torusgp.data.tables._files import as_written, is_comma_separated, place_of_row
from torusgp.data.tables._missing import looks_missing
from torusgp.data.tables._text import import_pandas, is_number, is_text

_COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_LIKE_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", re.ASCII)  # 1,234 may be a number of four digits
_LIKE_POINT_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2}\.\d{3}\s*", re.ASCII)
_IN_THOUSANDS = "may have three decimals or be in thousands, and no other value of the table tells which"
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
        cannot part thousands. Where commas do not part the columns, a point is taken for it by the same rule. Thousands
        marks are not understood.

    Returns
    -------
    pandas.Series
        float64, on the index of the table. Missing values are NaN; at least one is there, and none is infinite.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from torusgp.data.tables import read_table
    >>> from torusgp.tables.clock import time_column
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
    """True if a column of a table holds numbers, or text that begins with one.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"hour": [None, "0,5"], "time": ["2024-01-31", "today"]})
    >>> holds_numbers(frame, "hour"), holds_numbers(frame, "time"), holds_numbers(frame, "absent")
    (True, False, False)
    """
    if name not in frame.columns or not frame[name].notna().any():
        return False
    values = frame[name].dropna()
    others = values[~looks_missing(values)]
    first = (others if len(others) else values).iloc[0]
    return frame[name].dtype.kind in "iuf" or (isinstance(first, str) and is_number(first.replace(",", ".")))


def check_decimal(decimal):
    """Raise if a decimal separator is unknown."""
    if not isinstance(decimal, str) or decimal not in (AUTO, ".", ","):
        raise ValueError(f"decimal (--decimal) must be a point, a comma or 'auto', got {decimal!r}.")


def comma_column(frame):
    """Name of a column of numbers some of whose commas cannot separate thousands; None if there is none."""
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
        place = place_of_row(column[strange].index[0], path)
        raise NotNumbersError(
            f"{place}: {short(value)} in column {name!r} is not a number.{others}{marks}", column[strange]
        )
    points = texts.str.contains(".", regex=False)
    refused, reason = _objection(frame, path, decimal, texts, commas, points)
    if refused is not None:
        row = refused.index[np.argmax(refused)]
        raise TableError(f"{place_of_row(row, path)}: {short(column[row])} in column {name!r} {reason}")
    numbers = numbers.copy()
    numbers[commas.index[commas]] = texts[commas].str.replace(",", ".", regex=False).astype(float)
    return numbers


def _objection(frame, path, decimal, texts, commas, points):
    """Texts of a column that may not be read with commas before decimals, and why; None where all may."""
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
        return commas, f"{_IN_THOUSANDS}. {_SAY_COMMA}; otherwise leave it out."
    return None, ""


def _check_points(frame, name, path, decimal):
    """Raise if numbers that were read with decimal points may have been written with points between thousands."""
    if not is_text(path) or decimal == "." or (decimal == AUTO and is_comma_separated(path)):
        return
    other = comma_column(frame) if decimal == AUTO else None
    if decimal == AUTO and other is None and _has_decimal_points(frame, path, name):
        return
    texts = as_written(frame, name, path)
    points = texts.str.contains(".", regex=False, na=False).to_numpy()
    if not points.any():
        return
    position = np.argmax(points)
    if decimal == ",":
        reason = _POINT_BESIDE_COMMAS
    elif other is None:
        reason = f"{_IN_THOUSANDS}. If the point marks decimals, say so: --decimal . (in Python decimal='.'); otherwise"
        reason = f"{reason} leave it out."
    else:
        reason = f"has a point, but column {other!r} has decimal commas: {_SAY_WHICH}"
    shown = short(texts.iloc[position])
    raise TableError(f"{place_of_row(texts.index[position], path)}: {shown} in column {name!r} {reason}")


def _has_decimal_points(frame, path, first):
    """True if a number of a table, those of one column before others, has a point that cannot separate thousands."""
    for name in (first, *frame.columns.drop(first)):
        if frame[name].dtype.kind != "f":
            continue
        size = np.abs(frame[name].dropna().to_numpy())
        thousands = 1000 * size
        fine = np.abs(thousands - np.rint(thousands)) > 1e-6 * np.maximum(size, 1)  # digits beyond the third
        if (fine | ((size > 0) & (size < 1)) | ((size >= 1000) & (size != np.rint(size)))).any():
            return True
        texts = as_written(frame, name, path).dropna()
        if (texts.str.contains(".", regex=False) & ~texts.str.fullmatch(_LIKE_POINT_GROUPS)).any():
            return True
    return False
