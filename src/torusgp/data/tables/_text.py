"""CSV files in all their variants: one dialect for tables that are read whole and for those that are streamed."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from torusgp.data.tables._errors import TableError, one_line
from torusgp.libraries import require

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
COMPRESSIONS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}  # and .zst, by pyarrow
_ZSTANDARD = ".zst"
_DELIMITERS = "\t;|,"  # where two part as many names, the one that is less common in names
_EMPTY_ALONE = {"keep_default_na": False, "na_values": [""]}  # what "NA" means, nobody but its author knows
_LONGEST_VALUE = 2**17  # characters; a longer one in quotes is a quotation mark left open


def import_pandas() -> Any:
    """pandas, or an error that says how to install it."""
    return require("pandas", "io", "Tables need")


def is_number(text: str) -> bool:
    """True if Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_text(path: Any) -> bool:
    """True if a file is text, by its name."""
    if isinstance(path, TextFile):
        return True
    name = Path(path).name.lower()
    for suffix in (*COMPRESSIONS, _ZSTANDARD):
        name = name.removesuffix(suffix)
    return name.endswith(TEXT_SUFFIXES)


class TextFile:
    """A table in a text file: UTF-8, the first line names the columns.

    Parameters
    ----------
    path : str or Path
        The file, which may be compressed.

    Attributes
    ----------
    delimiter : str
        Sign that parts the columns: the one that makes most names.
    names : list of str
        Names of the columns.
    """

    def __init__(self, path: Any):
        self.path = Path(path)
        self._block: str | None = None
        self._lines_before = 0  # of what is read here
        with self._errors_told():
            headers = {sign: self._header(sign) for sign in _DELIMITERS}
            widths = {sign: len(header) for sign, (_, header) in headers.items()}
            self.delimiter = max(widths, key=widths.__getitem__) if max(widths.values()) > 1 else ","
        self._lines_before, header = headers[self.delimiter]
        self.names = [name.strip() or f"Unnamed: {position}" for position, name in enumerate(header)]
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise TableError(f"{path} has several columns called {', '.join(map(repr, repeated))}: rename them.")

    def __str__(self) -> str:
        return str(self.path)

    def _header(self, delimiter: str) -> tuple[int, list[str]]:
        """Number of lines up to the names of the columns, and these."""
        with _open(self.path) as file:
            reader = csv.reader(file, delimiter=delimiter)
            for record in reader:
                if _is_row(record):
                    return reader.line_num, record
        raise TableError(f"{self.path} is empty: it has blank lines alone.")

    @contextmanager
    def _rows(self) -> Iterator[TextIO]:
        """Rows after the header, or of the block."""
        if self._block is not None:
            yield io.StringIO(self._block, newline="")
            return
        with _open(self.path) as file:
            for _ in range(self._lines_before):
                file.readline()
            yield file

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not blank, each with the number of its first line."""
        with self._rows() as file:
            reader, line = csv.reader(file, delimiter=self.delimiter), self._lines_before + 1
            for record in reader:
                if _is_row(record):
                    yield line, record
                line = self._lines_before + reader.line_num + 1

    def line(self, row: int) -> int:
        """Line of a row that is counted from 0."""
        return next(islice(self.records(), row, None))[0]

    def frame(self, **options: Any) -> Any:
        """The rows as pandas reads them, its index counting them from 0."""
        with self._errors_told():
            self._check_widths(1)  # pandas would drop values if the first row is too long
            frame = self._parse(**options)
            if len(self.names) > 1 and frame.iloc[:, -1].isna().any():  # a short row is filled up without a word
                self._check_widths()
        return frame

    def _parse(self, **options: Any) -> Any:
        pandas = import_pandas()
        if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):  # later versions read every digit by themselves
            options = {"float_precision": "round_trip"} | options
        with self._rows() as file:
            try:
                return pandas.read_csv(
                    file,
                    sep=self.delimiter,
                    names=self.names,
                    header=None,
                    index_col=False,
                    low_memory=False,  # one type for all of a column
                    **(_EMPTY_ALONE | options),
                )
            except pandas.errors.EmptyDataError:
                return pandas.DataFrame(columns=self.names)

    def as_written(self, **options: Any) -> Any:
        """The rows as text, though they look like numbers."""
        return self._parse(dtype=str, **options)

    def blocks(self, n_characters: int) -> Iterator[TextFile]:
        """The rows, whole records at a time whose text has about this size."""
        with self._errors_told(), self._rows() as file:
            lines_before = self._lines_before
            while text := file.read(n_characters):
                text = self._to_end_of_record(text + file.readline(), file)
                if not text.isspace():
                    block = object.__new__(TextFile)
                    block.path, block.delimiter, block.names = self.path, self.delimiter, self.names
                    block._block, block._lines_before = text, lines_before
                    yield block
                lines_before += text.count("\n") + text.count("\r") - text.count("\r\n")

    def _to_end_of_record(self, text: str, file: TextIO) -> str:
        """Text up to the end of its last record, which may lie beyond line breaks in quotes."""
        if '"' not in text:
            return text
        # a mark inside a value that does not begin with one means itself
        quoted = re.compile(rf'(?:^|(?<=[\r\n{re.escape(self.delimiter)}]))"[^"]*+(?:""[^"]*+)*+("?)')
        cut = [found.start() for found in quoted.finditer(text) if not found[1]]
        if not cut:
            return text
        text, value = text[: cut[-1]], text[cut[-1] :]
        while not all(found[1] for found in quoted.finditer(value)):
            more = file.readline()
            value += more
            if not more or len(value) > _LONGEST_VALUE:
                raise TableError(
                    f"{self.path} cannot be read as a table: a quotation mark is left open, before {value[1:40]!r}."
                )
        return text + value

    def _check_widths(self, n_rows: int | None = None) -> None:
        for line, record in islice(self.records(), n_rows):
            if len(record) != len(self.names):
                raise TableError(
                    f"{self.path}, line {line}: {len(record)} value(s), but the first line names {len(self.names)} "
                    "column(s)."
                )

    @contextmanager
    def _errors_told(self) -> Iterator[None]:
        """Errors of libraries about the file, as one line that says what to do."""
        pandas = import_pandas()
        try:
            yield
        except UnicodeDecodeError as error:
            raise TableError(f"{self.path} is not UTF-8 text{self._first_undecodable()}. Save it as UTF-8.") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            kind = self.path.suffix.lower().removeprefix(".").replace("gz", "gzip")
            raise TableError(f"{self.path} is no {kind} file, or a damaged one: {one_line(error)}.") from error
        except OSError as error:
            raise TableError(f"{self.path} cannot be read: {one_line(error.strerror or error)}.") from error
        except pandas.errors.ParserError as error:
            self._check_widths()
            reason = one_line(error).rpartition("C error: ")[2]
            raise TableError(
                f"{self.path} cannot be read as a table: {reason}. Is a quotation mark left open?"
            ) from error
        except csv.Error as error:
            raise TableError(f"{self.path} cannot be read as a table: {one_line(error)}.") from error

    def _first_undecodable(self) -> str:
        with _open(self.path, "rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    return f": line {number} has the byte 0x{line[error.start]:02x}"
        return ""


def _open(path: Path, mode: str = "rt") -> Any:
    """A file as text or as bytes, unpacked."""
    options: dict[str, Any] = {"encoding": "utf-8-sig", "newline": ""} if mode == "rt" else {}
    suffix = path.suffix.lower()
    if suffix == _ZSTANDARD:
        unpacked = io.BufferedReader(require("pyarrow", "io", "Such a file needs").input_stream(str(path)))
        return unpacked if mode == "rb" else io.TextIOWrapper(unpacked, **options)
    return COMPRESSIONS.get(suffix, open)(path, mode, **options)


def _is_row(record: list[str]) -> bool:
    """True if a record is not blank; "" in quotes is a missing value."""
    return bool(record) and (len(record) > 1 or record[0] == "" or bool(record[0].strip()))
