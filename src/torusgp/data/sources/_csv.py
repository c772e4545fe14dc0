"""CSV files, parsed in blocks."""

import numpy as np

from torusgp.data.sources._base import Source
from torusgp.data.sources._check import Checker
from torusgp.data.sources._chunk import SourceError, joined
from torusgp.data.sources._files import Columns, file_stamp, to_paths
from torusgp.data.tables import AUTO, TableError, TextFile, comma_column, numeric_column

_BLOCK_CHARACTERS = 2**24


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
    decimal : {"auto", ".", ","}, default="auto"
        Sign before decimals, "." or ","; "auto" goes by the first rows of a file.
    """

    def __init__(self, paths, target, inputs=None, sample_weight=None, noise_scale=None, decimal=AUTO):
        paths = to_paths(paths)
        self._stamps = [file_stamp(path) for path in paths]
        try:
            self._files = [TextFile(path) for path in paths]
        except TableError as error:
            raise SourceError(str(error)) from error
        self._decimal = decimal
        self._columns = Columns.choose(self._files[0].names, str(paths[0]), target, inputs, sample_weight, noise_scale)
        for file in self._files:
            self._columns.check(file.names, str(file))
        self.names, self.n_inputs = self._columns.inputs, len(self._columns.inputs)
        self.n_outputs, self.y_ndim = len(self._columns.targets), 1 if isinstance(target, str) else 2

    def chunks(self, skip=0):
        """Iterate over the chunks, except the first few, which are not parsed."""
        checker = Checker(self.names, self._columns.targets)
        number = 0
        try:
            for file in self._files:
                decimal = None
                for block in file.blocks(_BLOCK_CHARACTERS):
                    decimal = decimal or self._find_decimal(block)
                    if number >= skip:
                        X, y, weight, scale = self._columns.split(self._read(block, decimal))
                        yield checker.check(X, y, weight, scale, f"{file} (chunk {number})", locate=_line(block))
                    number += 1
        except TableError as error:
            raise SourceError(str(error)) from error
        if number == 0:
            raise SourceError(f"{', '.join(map(str, self._files))} has no rows below the header.")

    def _find_decimal(self, block):
        """Decimal separator of a file, from its first rows."""
        if self._decimal != AUTO or block.delimiter == ",":
            return "." if self._decimal == AUTO else self._decimal
        self._read(block, AUTO)  # raises if it is not plain
        return "." if comma_column(block.frame()) is None else ","

    def _read(self, block, decimal):
        """Columns of a block by name; those that are missing throughout are left for the check of the rows."""
        frame = block.frame()
        return {
            name: frame[name] if frame[name].isna().all() else numeric_column(frame, name, block, decimal)
            for name in self._columns.all()
        }

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
        """Size of a chunk, and the state of the files."""
        return [_BLOCK_CHARACTERS, *self._stamps]


def _line(block):
    """Line at which a row of a block is found, by its position."""
    return lambda row: f"line {block.line(row)}"


def _lowest(kept, n_rows):
    """Rows with the lowest lots, in order: every row has the same chance."""
    lots, chunk = np.concatenate([one for one, _ in kept]), joined([one for _, one in kept])
    if len(lots) > n_rows:
        chosen = np.sort(np.argpartition(lots, n_rows)[:n_rows])
        lots, chunk = lots[chosen], chunk.take(chosen)
    return lots, chunk
