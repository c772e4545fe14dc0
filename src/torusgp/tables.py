"""Table files, read for the command: CSV and Parquet, with errors of one line that say where to look.

Numbers with decimal commas and dates such as 31.01.2024 are read where nothing else can be meant. What could be read in
two ways, such as 03/04/2024, is refused until it is said how it is written (``decimal``, ``date_format``); no value of
a file is taken for a hint.

pandas and pyarrow are imported when a file is read; install them with ``pip install "torusgp[io]"``.
"""

import csv
import datetime
import difflib
import gzip
import re
import zlib
from pathlib import Path

import numpy as np

from torusgp.calendar import UnreadableTimeError, read_times, to_timezone

_TEXT_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_SUFFIXES = (*_TEXT_SUFFIXES, ".parquet")
_DELIMITERS = "\t;,"  # where two part as many names, the one that is less common in names
_COMMA_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_LIKE_GROUPS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*", re.ASCII)  # 1,234 may be a number of four digits
_GROUPED = re.compile(r"\s*[+-]?\d{1,3}(?:([.,' \u2019\u00a0\u202f])\d{3})+(?:[.,]\d*)?\s*", re.ASCII)
_SAY_COMMA = "If the comma marks decimals, say so: --decimal , (in Python decimal=',')"
_SAY_WHICH = "say which of them marks decimals (--decimal), and leave out marks between thousands."
_POINT_BESIDE_COMMAS = "has a point, but a comma marks decimals (--decimal ,). Leave out marks between thousands."
_AUTO = "auto"
_PROBE = datetime.datetime(2019, 11, 23, tzinfo=datetime.UTC)  # a date that every format has to return
_MAX_CHARACTERS, _MAX_COLUMNS = 60, 12  # of a value, and of a table, that an error shows


class TableError(ValueError):
    """A table file is not as it has to be; the message is one line that names the file and the place in it."""


def read_table(path):
    r"""Read a table file.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.csv`` or ``.tsv``, which may be compressed (``.csv.gz``), or in ``.parquet``. Text is
        UTF-8, its first line names the columns, and comma, semicolon or tab parts them: the one that makes most.
        Numbers with decimal commas stay text; ``numeric_column`` reads them.

    Returns
    -------
    pandas.DataFrame
        At least one row. The index counts the rows of the file from 0: keep it when you leave rows out, since errors
        find the place of a value by it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "demand.csv"
    ...     _ = path.write_text("time;demand\n2024-01-31 13:30;4.5\n")
    ...     frame = read_table(path)
    ...     demand = numeric_column(frame, "demand", path)
    >>> demand.tolist()
    [4.5]
    """
    path = Path(path)
    _import_pandas()
    try:
        _check_file(path)
        frame = _read_text(path) if _is_text(path) else _read_parquet(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {_one_line(error.strerror or error)}.") from error
    if not len(frame):
        raise TableError(f"{path} has no rows: it names {len(frame.columns)} column(s), and nothing follows.")
    return frame


def numeric_column(frame, name, path, decimal=_AUTO):
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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "last.csv"
    ...     _ = path.write_text("Datum;Last\n31.01.2024 13:30;4,5\n")
    ...     frame = read_table(path)
    ...     load, time = numeric_column(frame, "Last", path), time_column(frame, "Datum", path)
    >>> load.tolist(), str(time[0])
    ([4.5], '2024-01-31 13:30:00')
    """
    check_decimal(decimal)
    column = _column(frame, name, path)
    if column.dtype.kind in "Mm":
        raise TableError(f"Column {name!r} of {path} holds times ({column.dtype}), not numbers.")
    pandas = _import_pandas()
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
            f"{_place(column.index[infinite[0]], path)}: {_short(column.iloc[infinite[0]])} in column {name!r} is "
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
    return frame[name].dtype.kind in "iuf" or (isinstance(first, str) and _is_number(first.replace(",", ".")))


def check_decimal(decimal):
    """Raise if a sign before decimals is none that is known."""
    if decimal not in (_AUTO, ".", ","):
        raise ValueError(f"decimal (--decimal) must be a point, a comma or 'auto', got {decimal!r}.")


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
        raise TableError(f"{_place(row, path)}: {_short(column[row])} in column {name!r} {reason}")
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
    if _is_comma_separated(path):
        return commas, f"is not a number. {_SAY_COMMA}."
    if points.any():
        point = _short(texts[points].iloc[0])
        return commas, f"has a comma, but {point} a point: {_SAY_WHICH}"
    if _comma_column(frame) is None:
        reason = "may have three decimals or be in thousands, and no other value of the table tells which"
        return commas, f"{reason}. {_SAY_COMMA}; otherwise leave it out."
    return None, ""


def _check_points(frame, name, path, decimal):
    """Raise if numbers that were read with decimal points may have been written with points between thousands."""
    if not _is_text(path) or decimal == ".":
        return
    other = None
    if decimal == _AUTO:
        other = None if _is_comma_separated(path) else _comma_column(frame)
        if other is None:
            return
    texts = _as_written(frame, name, path)
    points = texts.str.contains(".", regex=False, na=False).to_numpy()
    if not points.any():
        return
    position = np.argmax(points)
    reason = _POINT_BESIDE_COMMAS
    if other is not None:
        reason = f"has a point, but column {other!r} has decimal commas: {_SAY_WHICH}"
    shown = _short(texts.iloc[position])
    raise TableError(f"{_place(texts.index[position], path)}: {shown} in column {name!r} {reason}")


def _comma_column(frame):
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


def time_column(frame, name, path, timezone=None, date_format=_AUTO):
    """A column of times.

    Parameters
    ----------
    frame : pandas.DataFrame
        From ``read_table``.
    name : str
        Name of the column. Text follows ISO 8601, such as ``2024-01-31 13:30`` or ``2024-01-31T13:30:00+01:00``, or has
        dots and the day first, such as ``31.01.2024 13:30``.
    path : str or Path
        File of the table, where an error looks for the line.
    timezone : str or tzinfo, optional
        Zone to which times that know theirs are moved. Times without a zone stay as they are.
    date_format : str, default="auto"
        How times that are text are written, such as ``%d/%m/%Y %H:%M``, in the signs of Python's ``strptime``.

    Returns
    -------
    pandas.Series
        datetime64 with or without zone, on the index of the table, for :class:`CalendarPhases`. Missing times are NaT;
        at least one is there.
    """
    pandas = _import_pandas()
    check_date_format(date_format)
    column = _column(frame, name, path)
    zone = to_timezone(timezone)
    kind = column.dtype.kind
    if kind == "M":
        return column if zone is None or column.dt.tz is None else column.dt.tz_convert(zone)
    if date_format != _AUTO:
        column = _formatted_times(frame, name, path, date_format)
        if column.dtype.kind == "M":
            return column
    elif kind != "O":
        value = column.dropna().iloc[:1]
        raise TableError(
            f"{_place(value.index[0], path)}: {_short(value.iloc[0])} in column {name!r} is not a time. Write it like "
            '2024-01-31 13:30 (ISO 8601), or say how it is written, such as --date-format "%Y%m%d".'
        )
    try:
        times = read_times(column.astype(object).tolist())
    except UnreadableTimeError as error:
        place = _place(column.index[error.position], path)
        raise TableError(
            f"{place}, column {name!r}: {_one_line(error)}{_date_hint(column.iloc[error.position])}."
        ) from error
    if times.offsets is None:
        return pandas.Series(times.stamps, index=column.index, name=name)
    if zone is None:
        offsets = np.unique(times.offsets[~np.isnat(times.offsets)])
        if len(offsets) > 1:
            shown = ", ".join(str(datetime.timezone(offset.item())) for offset in offsets[:3])
            raise TableError(
                f"Column {name!r} of {path} has times with several offsets ({shown}): give the time zone whose clock "
                "matters, such as Europe/Berlin."
            )
        zone = datetime.timezone(offsets[0].item())
    return pandas.Series(times.moved_to(zone), index=column.index, name=name)


def check_date_format(date_format):
    """Raise if a format of times is none, or leaves out year, month or day."""
    if date_format == _AUTO:
        return
    example = 'Give one such as "%d/%m/%Y %H:%M".'
    if not isinstance(date_format, str) or "%" not in date_format:
        raise ValueError(f"date_format (--date-format) must be a format or 'auto', got {date_format!r}. {example}")
    try:
        returned = datetime.datetime.strptime(_PROBE.strftime(date_format), date_format)
    except ValueError as error:
        raise ValueError(
            f"date_format (--date-format) {date_format!r} is no format of times: {_one_line(error)}. {example}"
        ) from error
    if returned.date() != _PROBE.date():
        raise ValueError(f"date_format (--date-format) {date_format!r} does not tell year, month and day. {example}")


def _formatted_times(frame, name, path, date_format):
    """Times of a column that is written in a certain format: datetime64 without a zone, or Python's datetimes."""
    pandas = _import_pandas()
    column = frame[name]
    if column.dtype.kind != "O":
        if not _is_text(path):
            raise TableError(f"Column {name!r} of {path} holds {column.dtype}: a date format is for text.")
        column = _as_written(frame, name, path)  # digits alone were taken for numbers, which have no leading zeros
    if not re.search("%[zZ]", date_format) and all(isinstance(value, str) for value in column.dropna()):
        times = pandas.to_datetime(column.str.strip(), format=date_format, errors="coerce")  # fast
        if (times.notna() == column.notna()).all():
            return times
    times = []
    for row, value in column.items():
        if not isinstance(value, str):
            times.append(None if value != value else value)
            continue
        try:
            times.append(datetime.datetime.strptime(value.strip(), date_format))
        except ValueError:
            raise TableError(
                f"{_place(row, path)}, column {name!r}: {_short(value)} is not a time as {date_format!r} writes it "
                "(--date-format)."
            ) from None
    return pandas.Series(times, index=column.index, dtype=object)


def _date_hint(value):
    if isinstance(value, str) and value.count("/") == 2:
        return (
            '; or say which number is the day, with --date-format "%d/%m/%Y" or "%m/%d/%Y" (followed by " %H:%M" if '
            "there are hours)"
        )
    return ', or say how times are written, with --date-format (such as "%d/%m/%Y %H:%M")'


def complete_rows(columns, path, *, drop=False):
    """Which rows miss nothing.

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
    first = _place(columns[0].index[np.argmin(complete)], path)
    raise TableError(
        f"{np.sum(~complete)} of {len(complete)} rows of {path} miss a value (by column: {counts}; the first is "
        f"{first.removeprefix(f'{path}, ')}). "
        + ("No row is left." if drop else "Fill them in, or say that such rows are to be left out.")
    )


def _import_pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError('Tables need pandas. Install it with: pip install "torusgp[io]"') from error
    return pandas


def _check_file(path):
    if not path.exists():
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        raise TableError(f"{path} does not exist.{_did_you_mean(path.name, beside)}")
    if not path.is_file():
        raise TableError(f"{path} is not a file.")
    if not path.name.lower().endswith(_SUFFIXES):
        raise TableError(f"{path} is of no known kind: save it as one of {', '.join(_SUFFIXES)}.")
    if not path.stat().st_size:
        raise TableError(f"{path} is empty.")


def _is_text(path):
    return Path(path).name.lower().endswith(_TEXT_SUFFIXES)


def _is_compressed(path):
    return Path(path).name.lower().endswith(".gz")


def _read_parquet(path):
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Parquet needs pyarrow. Install it with: pip install "torusgp[io]"') from error

    try:
        # one file, whatever the folders above it are called; an index of pandas is a column like the others
        frame = pyarrow.parquet.ParquetFile(path).read().to_pandas(ignore_metadata=True)
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"{path} is no Parquet file, or a damaged one: {_one_line(error)}.") from error
    return frame.rename(columns={"__index_level_0__": "index"}) if "index" not in frame else frame


def _parse_text(path, delimiter, names, **options):
    return _import_pandas().read_csv(
        path,
        sep=delimiter,
        names=names,
        header=0,
        index_col=False,
        compression="gzip" if _is_compressed(path) else None,
        encoding="utf-8",
        low_memory=False,  # one type for all of a column
        **options,
    )


def _as_written(frame, name, path):
    """A column of a text file as text, though it looks like numbers."""
    delimiter = _delimiter(path)
    written = _parse_text(path, delimiter, _column_names(path, delimiter), usecols=[name], dtype=str)
    return written[name].loc[frame.index].astype(object)


def _read_text(path):
    pandas = _import_pandas()
    try:
        delimiter = _delimiter(path)
        names = _column_names(path, delimiter)
        frame = _parse_text(path, delimiter, names)
        if len(names) > 1 and frame.iloc[:, -1].isna().any():  # a row that is too short is filled up without a word
            _check_widths(path, delimiter, len(names))
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text{_first_undecodable(path)}. Save it as UTF-8.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{path} is no gzip file, or a damaged one: {_one_line(error)}.") from error
    except pandas.errors.ParserError as error:
        _check_widths(path, delimiter, len(names))
        reason = _one_line(error).rpartition("C error: ")[2]
        raise TableError(f"{path} cannot be read as a table: {reason}. Is a quotation mark left open?") from error
    except csv.Error as error:
        raise TableError(f"{path} cannot be read as a table: {_one_line(error)}.") from error
    return frame


def _open_text(path):
    opened = gzip.open if _is_compressed(path) else open
    return opened(path, "rt", encoding="utf-8-sig", newline="")


def _records(path, delimiter):
    """Rows of a text file that are not blank, each with the number of its first line."""
    with _open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter)
        line = 1
        for record in reader:
            if record and (len(record) > 1 or record[0] == "" or record[0].strip()):  # "" in quotes is a missing value
                yield line, record
            line = reader.line_num + 1


def _delimiter(path):
    with _open_text(path) as file:
        header = next((line for line in file if line.strip()), None)
    if header is None:
        raise TableError(f"{path} is empty: it has blank lines alone.")
    widths = {delimiter: len(next(csv.reader([header], delimiter=delimiter))) for delimiter in _DELIMITERS}
    return max(widths, key=widths.__getitem__) if max(widths.values()) > 1 else ","


def _is_comma_separated(path):
    """Whether commas part the columns of a file, or may have any meaning, as in tables that are no text files."""
    return not _is_text(path) or _delimiter(path) == ","


def _column_names(path, delimiter):
    records = _records(path, delimiter)
    _, header = next(records)
    names = [name.strip() or f"Unnamed: {position}" for position, name in enumerate(header)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableError(f"{path} has several columns called {', '.join(map(repr, repeated))}: rename them.")
    for line, record in records:  # pandas would drop values if the first row is too long
        _check_width(path, line, record, len(names))
        break
    return names


def _check_widths(path, delimiter, n_columns):
    for line, record in _records(path, delimiter):
        _check_width(path, line, record, n_columns)


def _check_width(path, line, record, n_columns):
    if len(record) != n_columns:
        raise TableError(
            f"{path}, line {line}: {len(record)} value(s), but the first line names {n_columns} column(s)."
        )


def _first_undecodable(path):
    opened = gzip.open if _is_compressed(path) else open
    with opened(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f": line {number} has the byte 0x{line[error.start]:02x}"
    return ""


def _column(frame, name, path):
    """A column of that name that is not empty throughout."""
    if name not in frame.columns:
        names = list(map(str, frame.columns))
        raise TableError(
            f"{path} has no column {name!r}.{_did_you_mean(name, names)} Its columns are {_listed(names)}."
            + (" Its first line has to name them." if _is_text(path) and all(map(_is_number, names)) else "")
        )
    column = frame[name]
    if column.isna().all():
        raise TableError(f"Column {name!r} of {path} is empty: no row has a value in it.")
    return column


def _did_you_mean(name, names):
    folded = {one.casefold(): one for one in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""


def _listed(names):
    more = f" and {len(names) - _MAX_COLUMNS} more" if len(names) > _MAX_COLUMNS else ""
    return ", ".join(map(repr, names[:_MAX_COLUMNS])) + more


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _place(row, path):
    """Where a person finds a row, counted from 0, of a file: its line in text, else its number counted from 1."""
    if not _is_text(path):
        return f"{path}, row {row + 1}"
    records = _records(path, _delimiter(path))
    line = next(line for position, (line, _) in enumerate(records) if position == row + 1)  # the header comes first
    return f"{path}, line {line}"


def _short(value):
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."


def _one_line(error):
    return " ".join(str(error).split()).rstrip(".")
