"""Files of tables: CSV in its variants, and Parquet; and where in a file a row is found."""

import csv
import gzip
import zlib
from pathlib import Path

from torusgp.tables.reading._errors import TableError, did_you_mean, one_line

_TEXT_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_SUFFIXES = (*_TEXT_SUFFIXES, ".parquet")
_DELIMITERS = "\t;,"  # where two part as many names, the one that is less common in names


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
    >>> from torusgp.tables.reading import numeric_column
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "demand.csv"
    ...     _ = path.write_text("time;demand\n2024-01-31 13:30;4.5\n")
    ...     frame = read_table(path)
    ...     demand = numeric_column(frame, "demand", path)
    >>> demand.tolist()
    [4.5]
    """
    path = Path(path)
    import_pandas()
    try:
        _check_file(path)
        frame = _read_text(path) if is_text(path) else _read_parquet(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {one_line(error.strerror or error)}.") from error
    if not len(frame):
        raise TableError(f"{path} has no rows: it names {len(frame.columns)} column(s), and nothing follows.")
    return frame


def place_of_row(row, path):
    """Where a person finds a row, counted from 0, of a file: its line in text, else its number counted from 1."""
    if not is_text(path):
        return f"{path}, row {row + 1}"
    records = _records(path, delimiter_of(path))
    line = next(line for position, (line, _) in enumerate(records) if position == row + 1)  # the header comes first
    return f"{path}, line {line}"


def as_written(frame, name, path):
    """A column of a text file as text, though it looks like numbers."""
    delimiter = delimiter_of(path)
    written = _parse_text(path, delimiter, _column_names(path, delimiter), usecols=[name], dtype=str)
    return written[name].loc[frame.index].astype(object)


def table_as_written(frame, path):
    """All columns of a text file as text, to be written again; the table itself if it comes from no text file."""
    if not is_text(path):
        return frame
    delimiter = delimiter_of(path)
    written = _parse_text(path, delimiter, _column_names(path, delimiter), dtype=str, keep_default_na=False)
    return written.loc[frame.index]


def is_comma_separated(path):
    """Whether commas part the columns of a file, or may have any meaning, as in tables that are no text files."""
    return not is_text(path) or delimiter_of(path) == ","


def is_text(path):
    """Whether a file is text, by its name."""
    return Path(path).name.lower().endswith(_TEXT_SUFFIXES)


def delimiter_of(path):
    """Sign that parts the columns of a text file."""
    with _open_text(path) as file:
        header = next((line for line in file if line.strip()), None)
    if header is None:
        raise TableError(f"{path} is empty: it has blank lines alone.")
    widths = {delimiter: len(next(csv.reader([header], delimiter=delimiter))) for delimiter in _DELIMITERS}
    return max(widths, key=widths.__getitem__) if max(widths.values()) > 1 else ","


def import_pandas():
    """pandas, or an error that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError('Tables need pandas. Install it with: pip install "torusgp[io]"') from error
    return pandas


def _is_compressed(path):
    return Path(path).name.lower().endswith(".gz")


def _check_file(path):
    if not path.exists():
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        raise TableError(f"{path} does not exist.{did_you_mean(path.name, beside)}")
    if not path.is_file():
        raise TableError(f"{path} is not a file.")
    if not path.name.lower().endswith(_SUFFIXES):
        raise TableError(f"{path} is of no known kind: save it as one of {', '.join(_SUFFIXES)}.")
    if not path.stat().st_size:
        raise TableError(f"{path} is empty.")


def _read_parquet(path):
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Parquet needs pyarrow. Install it with: pip install "torusgp[io]"') from error

    try:
        # one file, whatever the folders above it are called; an index of pandas is a column like the others
        frame = pyarrow.parquet.ParquetFile(path).read().to_pandas(ignore_metadata=True)
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"{path} is no Parquet file, or a damaged one: {one_line(error)}.") from error
    return frame.rename(columns={"__index_level_0__": "index"}) if "index" not in frame else frame


def _read_text(path):
    pandas = import_pandas()
    try:
        delimiter = delimiter_of(path)
        names = _column_names(path, delimiter)
        frame = _parse_text(path, delimiter, names)
        if len(names) > 1 and frame.iloc[:, -1].isna().any():  # a row that is too short is filled up without a word
            _check_widths(path, delimiter, len(names))
    except UnicodeDecodeError as error:
        raise TableError(f"{path} is not UTF-8 text{_first_undecodable(path)}. Save it as UTF-8.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{path} is no gzip file, or a damaged one: {one_line(error)}.") from error
    except pandas.errors.ParserError as error:
        _check_widths(path, delimiter, len(names))
        reason = one_line(error).rpartition("C error: ")[2]
        raise TableError(f"{path} cannot be read as a table: {reason}. Is a quotation mark left open?") from error
    except csv.Error as error:
        raise TableError(f"{path} cannot be read as a table: {one_line(error)}.") from error
    return frame


def _parse_text(path, delimiter, names, **options):
    return import_pandas().read_csv(
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


def _records(path, delimiter):
    """Rows of a text file that are not blank, each with the number of its first line."""
    with _open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter)
        line = 1
        for record in reader:
            if record and (len(record) > 1 or record[0] == "" or record[0].strip()):  # "" in quotes is a missing value
                yield line, record
            line = reader.line_num + 1


def _open_text(path):
    opened = gzip.open if _is_compressed(path) else open
    return opened(path, "rt", encoding="utf-8-sig", newline="")


def _first_undecodable(path):
    opened = gzip.open if _is_compressed(path) else open
    with opened(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f": line {number} has the byte 0x{line[error.start]:02x}"
    return ""
