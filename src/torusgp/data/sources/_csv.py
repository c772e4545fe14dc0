"""CSV files, parsed in blocks."""

import csv
import io
import re

import numpy as np

from torusgp.data.sources._base import Source
from torusgp.data.sources._check import Checker
from torusgp.data.sources._chunk import SourceError, joined
from torusgp.data.sources._files import Columns, file_stamp, need_pyarrow, one_line, to_paths

_BLOCK_BYTES = 2**24
_DELIMITERS = ",;\t|"


class CsvSource(Source):
    """Rows of CSV files with a header, columns by name; compressed ones too (.gz, .bz2, .zst).

    Parameters
    ----------
    paths : path or sequence of paths
        The files.
    target : str or sequence of str
        Column of the targets.
    inputs : sequence of str, optional
        Columns of the inputs; by default all others.
    sample_weight, noise_scale : str, optional
        Columns of these.
    """

    def __init__(self, paths, target, inputs=None, sample_weight=None, noise_scale=None):
        need_pyarrow()
        self._paths = to_paths(paths)
        self._stamps = [file_stamp(path) for path in self._paths]
        self._headers = [_read_header(path) for path in self._paths]
        self._columns = Columns.choose(
            self._headers[0][1], str(self._paths[0]), target, inputs, sample_weight, noise_scale
        )
        for path, (_, names) in zip(self._paths, self._headers, strict=True):
            self._columns.check(names, str(path))
        self.names, self.n_inputs = self._columns.inputs, len(self._columns.inputs)
        self.n_outputs, self.y_ndim = len(self._columns.targets), 1 if isinstance(target, str) else 2

    def chunks(self, skip=0):
        """Iterate over the chunks, but for the first few, which are not parsed."""
        import pyarrow

        checker = Checker(self.names, self._columns.targets, count="line")
        number = 0
        for path, (delimiter, names) in zip(self._paths, self._headers, strict=True):
            line = 2  # as editors count, blank lines aside; the header is the first
            blocks = _blocks(path)
            while True:
                try:
                    block = next(blocks, None)
                    if block is None:
                        break
                    table = self._parse(block, delimiter, names) if number >= skip else None
                except (pyarrow.ArrowException, OSError, EOFError) as error:
                    place = f"{path} (chunk {number}, from line {line} on)"
                    raise SourceError(f"{place} cannot be read: {_with_lines(error, line)}") from error
                if table is not None:
                    X, y, weight, scale = self._columns.split(table)
                    yield checker.check(X, y, weight, scale, f"{path} (chunk {number})", line)
                number += 1
                line += block.count(b"\n")
        if number == 0:
            raise SourceError(f"{', '.join(map(str, self._paths))} has no rows below the header.")

    def _parse(self, block, delimiter, names):
        """Columns of a block by name."""
        import pyarrow.csv

        wanted = self._columns.all()
        table = pyarrow.csv.read_csv(
            pyarrow.py_buffer(block),
            # threads would lose the line of an error
            pyarrow.csv.ReadOptions(block_size=len(block) + 1, use_threads=False, column_names=names),
            pyarrow.csv.ParseOptions(delimiter=delimiter),
            pyarrow.csv.ConvertOptions(
                include_columns=wanted, column_types={name: pyarrow.float64() for name in wanted}
            ),
        )
        return {name: table.column(name).to_numpy() for name in wanted}

    def sample(self, n_rows):
        """Rows from all over the files, for which all of them are parsed once."""
        random, kept, seen = np.random.default_rng(0), [], 0
        for chunk in self.chunks():
            seen += len(chunk)
            kept.append((random.random(len(chunk)), chunk))
            if sum(len(one) for _, one in kept) > 4 * n_rows:
                kept = [_lowest(kept, n_rows)]
        self.n_rows = seen
        return _lowest(kept, n_rows)[1]

    def layout(self):
        """Names of the columns."""
        return self._columns.layout()

    def stamps(self, n_chunks):
        """Bytes of a chunk, and the state of the files."""
        return [_BLOCK_BYTES, *self._stamps]


def _open(path):
    """A file as bytes, uncompressed."""
    import pyarrow

    return io.BufferedReader(pyarrow.input_stream(str(path), compression="detect"))


def _blocks(path):
    """Whole lines of a file below the header, so many bytes of them at once, and no blocks that are blank."""
    with _open(path) as file:
        file.readline()
        while block := file.read(_BLOCK_BYTES):
            block += file.readline()
            if not block.isspace():
                yield block


def _with_lines(error, first):
    """What the parser says, with lines of the file instead of rows of the block."""
    return re.sub(r"Row #(\d+)", lambda found: f"line {first + int(found[1]) - 1}", one_line(error))


def _lowest(kept, n_rows):
    """Rows with the lowest lots, in order: every row has the same chance."""
    lots, chunk = np.concatenate([one for one, _ in kept]), joined([one for _, one in kept])
    if len(lots) > n_rows:
        chosen = np.sort(np.argpartition(lots, n_rows)[:n_rows])
        lots, chunk = lots[chosen], chunk.take(chosen)
    return lots, chunk


def _read_header(path):
    """Delimiter and names of the columns, from the first line."""
    import pyarrow

    try:
        with _open(path) as file:
            line = file.readline().decode("utf-8-sig").strip("\r\n")
    except (pyarrow.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read as text: {one_line(error)}") from error
    if not line.strip():
        raise SourceError(f"{path} has no header: its first line is empty.")
    delimiter = max(_DELIMITERS, key=line.count)
    names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter))]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SourceError(f"{path}: the header has {sorted(twice)[0]!r} more than once.")
    return delimiter, names
