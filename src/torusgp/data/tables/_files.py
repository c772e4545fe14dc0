"""Files of tables: text and Parquet; and where in a file a row is found."""

from pathlib import Path

from torusgp.data.tables._errors import TableError, did_you_mean, one_line
from torusgp.data.tables._missing import check_missing, without_marks
from torusgp.data.tables._text import TEXT_SUFFIXES, TextFile, import_pandas, is_text
from torusgp.libraries import require

PARQUET_SUFFIXES = (".parquet", ".pq")


def read_table(path, missing=None):
    r"""Read a table file.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.csv``, ``.tsv`` or ``.txt``, which may be compressed (``.csv.gz``), or in ``.parquet``.
        Text is UTF-8, its first line names the columns, and comma, semicolon, tab or bar parts them: the one that makes
        most. Numbers with decimal commas stay text; ``numeric_column`` reads them. Empty fields are missing, and
        nothing else: "NA" is text.
    missing : None, str, number or sequence of these, optional
        Other values that stand for nothing, such as ``["NA", -999]``.

    Returns
    -------
    pandas.DataFrame
        At least one row. The index counts the rows of the file from 0: keep it when you leave rows out, since errors
        find the place of a value by it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from torusgp.data.tables import numeric_column
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
        marks = check_missing(missing)
        frame = TextFile(path).frame(na_values=["", *marks]) if is_text(path) else _read_parquet(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {one_line(error.strerror or error)}.") from error
    if not len(frame):
        raise TableError(f"{path} has no rows: it names {len(frame.columns)} column(s), and nothing follows.")
    return without_marks(frame, marks)


def to_text_file(path):
    """The text file of a path; a text file or a block of one is returned as it is."""
    return path if isinstance(path, TextFile) else TextFile(path)


def place_of_row(row, path):
    """Place at which a person finds a row, counted from 0: its line in text, else its number counted from 1."""
    return f"{path}, line {to_text_file(path).line(row)}" if is_text(path) else f"{path}, row {row + 1}"


def as_written(frame, name, path):
    """A column of a text file as text, though it looks like numbers; missing where the table misses it."""
    texts = to_text_file(path).as_written(usecols=[name])[name].loc[frame.index].astype(object)
    return texts.where(frame[name].notna(), None)


def is_comma_separated(path):
    """True if commas separate the columns of a file, or may have any meaning, as in tables that are not text."""
    return not is_text(path) or to_text_file(path).delimiter == ","


def _check_file(path):
    if not path.exists():
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        raise TableError(f"{path} does not exist.{did_you_mean(path.name, beside)}")
    if not path.is_file():
        raise TableError(f"{path} is not a file.")
    if not is_text(path) and not path.name.lower().endswith(PARQUET_SUFFIXES):
        kinds = ", ".join((*TEXT_SUFFIXES, *PARQUET_SUFFIXES))
        raise TableError(f"{path} has an unknown ending: save it as one of {kinds}.")
    if not path.stat().st_size:
        raise TableError(f"{path} is empty.")


def _read_parquet(path, **options):
    parquet = require("pyarrow.parquet", "io", "Parquet needs")
    import pyarrow

    try:
        # one file, whatever the folders above it are called; an index of pandas is a column like the others
        frame = parquet.ParquetFile(path).read().to_pandas(ignore_metadata=True, **options)
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"{path} is no Parquet file, or a damaged one: {one_line(error)}.") from error
    return frame.rename(columns={"__index_level_0__": "index"}) if "index" not in frame else frame


def read_as_written(frame, path):
    """All columns of a file to be written again: of text as text, of Parquet with its own types."""
    if is_text(path):
        return TextFile(path).as_written(na_values=None).loc[frame.index]
    if Path(path).suffix.lower() in PARQUET_SUFFIXES:
        return _read_parquet(path, types_mapper=import_pandas().ArrowDtype).loc[frame.index]
    return frame


def read_without_loss(frame, path):
    """All columns of a file as numbers or text, where numbers would lose something, such as zeros before them."""
    written = read_as_written(frame, path)
    if not is_text(path):
        return written
    return written.assign(**{name: frame[name] for name in frame.columns if not _is_lossy(frame[name], written[name])})


def _is_lossy(column, written):
    """True if numbers that were read from text could not be written again as they were."""
    if column.dtype.kind not in "iuf":
        return False
    whole = written.str.fullmatch(r"\s*[+-]?\d+\s*")  # the digits of others may be rounded
    texts = written[whole].str.strip()
    return bool((texts != column[whole].map(int).astype(str)).any())
