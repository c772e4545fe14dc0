"""Parquet files and datasets, streamed: files may be of any size, and so may their row groups."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from torusgp.data.sources._base import Source, choose_rows, spread_parts
from torusgp.data.sources._check import Checker
from torusgp.data.sources._chunk import CHUNK_ROWS, SourceError, joined
from torusgp.data.sources._files import Columns, to_paths
from torusgp.data.tables import one_line
from torusgp.libraries import require

_BUFFER_BYTES = 2**20


class _Place(NamedTuple):
    """Place of a chunk: a row group, or a part of it where that is large."""

    file: int
    group: int
    part: int
    n_rows: int
    first_row: int  # of the file


class ParquetSource(Source):
    """Rows of Parquet files, columns by name.

    Parameters
    ----------
    data : path, sequence of paths or pyarrow.dataset.Dataset
        A file, a folder of files (partitioned or not), several files, or a dataset.
    target : str or sequence of str
        Column of the targets.
    inputs : sequence of str, optional
        Columns of the inputs; by default all others.
    sample_weight, noise_scale : str, optional
        Columns of these.
    """

    def __init__(self, data, target, inputs=None, sample_weight=None, noise_scale=None):
        require("pyarrow", "io", "Parquet needs")
        import pyarrow.dataset

        name = str(data) if isinstance(data, str | Path) else "the dataset"
        dataset = data if isinstance(data, pyarrow.dataset.Dataset) else _open_dataset(data, name)
        if not isinstance(getattr(dataset, "format", None), pyarrow.dataset.ParquetFileFormat):
            raise SourceError(f"{name} must consist of Parquet files, it is a {type(dataset).__name__}.")
        self._columns = Columns.choose(dataset.schema.names, name, target, inputs, sample_weight, noise_scale)
        self.names, self.n_inputs = self._columns.inputs, len(self._columns.inputs)
        self.n_outputs, self.y_ndim = len(self._columns.targets), 1 if isinstance(target, str) else 2
        try:
            self._files = list(dataset.get_fragments())
        except ValueError as error:  # rows that a filter leaves out cannot be seen in the files
            raise SourceError(f"{name} cannot be read file by file: {one_line(error)}") from error
        self._stamps = [_stamp(file) for file in self._files]
        self._keys = [pyarrow.dataset.get_partition_keys(file.partition_expression) for file in self._files]
        self._places = [place for number in range(len(self._files)) for place in self._places_of(number)]
        self.n_rows = sum(place.n_rows for place in self._places)
        if self.n_rows == 0:
            raise SourceError(f"{name} has no rows.")

    def _places_of(self, number):
        file = self._files[number]
        try:
            sizes = [group.num_rows for group in file.row_groups]
            names = file.physical_schema.names
        except Exception as error:  # Arrow has many kinds of errors for a damaged file
            raise SourceError(f"{file.path} cannot be read as Parquet: {one_line(error)}") from error
        self._columns.check([*names, *self._keys[number]], file.path)
        first_row = 0
        for group, size in enumerate(sizes):
            for part, start in enumerate(range(0, size, CHUNK_ROWS)):
                yield _Place(number, group, part, min(CHUNK_ROWS, size - start), first_row + start)
            first_row += size

    def chunks(self, skip=0):
        """Iterate over the chunks, except the first few."""
        return self._read(range(skip, len(self._places)))

    def _read(self, numbers):
        """Chunks by their numbers, which ascend."""
        checker = Checker(self.names, self._columns.targets)
        opened, batches, position = None, iter(()), 0
        for number in numbers:
            place = self._places[number]
            if opened != (place.file, place.group):
                opened, batches, position = (place.file, place.group), self._batches(place), 0
            label = f"{self._files[place.file].path}, row group {place.group} (chunk {number})"
            try:
                batch = next(islice(batches, place.part - position, None), ())
                if len(batch) != place.n_rows:
                    raise ValueError("it has another number of rows than its file says")
                table = self._to_table(batch, place)
            except Exception as error:
                raise SourceError(
                    f"{label}, from row {place.first_row} on, cannot be read: {one_line(error)}"
                ) from error
            position = place.part + 1
            X, y, weight, scale = self._columns.split(table)
            yield checker.check(X, y, weight, scale, label, place.first_row)

    def _batches(self, place):
        """Parts of a row group, decoded one after the other."""
        from pyarrow.parquet import ParquetFile

        file, keys = self._files[place.file], self._keys[place.file]
        columns = [name for name in self._columns.all() if name not in keys]
        with file.open() as stream:
            reader = ParquetFile(
                stream,
                metadata=file.metadata,
                pre_buffer=False,  # or a whole row group would be in memory
                buffer_size=_BUFFER_BYTES,
                page_checksum_verification=True,
            )
            yield from reader.iter_batches(CHUNK_ROWS, [place.group], columns, use_threads=False)

    def _to_table(self, batch, place):
        """Columns by name: those of the file, and those that its folders stand for."""
        keys = self._keys[place.file]
        return {
            name: np.full(len(batch), keys[name]) if name in keys else _to_numpy(batch.column(name))
            for name in self._columns.all()
        }

    def sample(self, n_rows):
        """Rows from all over the files."""
        shares = spread_parts([place.n_rows for place in self._places], n_rows)
        chunks = zip(self._read(shares), shares.values(), strict=True)
        return joined([chunk.take(choose_rows(len(chunk), share)) for chunk, share in chunks])

    def layout(self):
        """Names of the columns."""
        return self._columns.layout()

    def stamps(self, n_chunks):
        """Rows of a chunk, and the files of the first chunks; None if these cannot be distinguished from others."""
        if n_chunks > len(self._places):
            return None
        stamps = self._stamps[: self._places[n_chunks - 1].file + 1] if n_chunks else []
        return None if None in stamps else [CHUNK_ROWS, *stamps]


def _open_dataset(data, name):
    import pyarrow.dataset

    paths = [str(path) for path in to_paths(data)]
    try:
        return pyarrow.dataset.dataset(paths if len(paths) > 1 else paths[0], format="parquet", partitioning="hive")
    except Exception as error:
        raise SourceError(f"{name} cannot be read as Parquet: {one_line(error)}") from error


def _stamp(file):
    """State of a file, where its file system knows when it was changed."""
    state = file.filesystem.get_file_info(file.path)
    return None if state.mtime_ns is None else [state.path, state.size, state.mtime_ns]


def _to_numpy(column):
    """Numbers with missing ones as NaN; what is not a number stays, for the check to find."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pyarrow.types.is_decimal(column.type) or pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.float64())
    if pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type):
        return column.to_numpy(zero_copy_only=False)
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values
