"""Rows of arrays: in memory, mapped from a file, or anything with a shape that can be sliced, such as Zarr arrays."""

import mmap

import numpy as np

from torusgp.checks import check_count
from torusgp.data.sources._base import Source, choose_rows, spread_parts
from torusgp.data.sources._check import Checker
from torusgp.data.sources._chunk import CHUNK_ROWS, SourceError, joined
from torusgp.data.sources._files import file_stamp


class ArraySource(Source):
    """Rows of arrays that are sliced chunk by chunk.

    Parameters
    ----------
    X : array of shape (n_samples, n_inputs)
        Inputs: numpy array, memory map, Zarr array or the like, or a data frame.
    y : array of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    sample_weight, noise_scale : array of shape (n_samples,), optional
        How often each row counts, and the known standard deviation of its noise.
    chunk_rows : int, optional
        Rows that are read at once; by default about half a million, whole chunks of a chunked array.
    """

    def __init__(self, X, y, sample_weight=None, noise_scale=None, chunk_rows=None):
        columns = getattr(X, "columns", ())
        if len(columns) and all(isinstance(name, str) for name in columns):
            self.names = tuple(columns)
        given = {"X": X, "y": y, "sample_weight": sample_weight, "noise_scale": noise_scale}
        if X is None or y is None:
            raise SourceError(f"{'X' if X is None else 'y'} is needed: it was given as None.")
        self._arrays = {name: _to_array(array) for name, array in given.items() if array is not None}
        shapes = {name: tuple(array.shape) for name, array in self._arrays.items()}
        if len(shapes["X"]) != 2:
            raise SourceError(f"X must have two axes, rows and inputs; its shape is {shapes['X']}.")
        if len({shape[:1] for shape in shapes.values()}) > 1:
            raise SourceError(f"Arrays of one source must have as many rows as each other, their shapes are {shapes}.")
        self.n_rows, self.n_inputs = shapes["X"]
        if self.n_rows == 0:
            raise SourceError(f"{self._place()} has no rows.")
        self.y_ndim = len(shapes["y"])
        self.n_outputs = 1 if self.y_ndim == 1 else shapes["y"][1]
        chunk_rows = _chunk_rows(self._arrays["X"]) if chunk_rows is None else chunk_rows
        if not (isinstance(chunk_rows, int) and chunk_rows >= 1):
            raise ValueError(f"chunk_rows must be a positive whole number, got {chunk_rows!r}.")
        self._starts = range(0, self.n_rows, chunk_rows)
        self._stamps = [_stamp(array) for array in self._arrays.values()]

    def _place(self):
        array = self._arrays["X"]
        path = getattr(array, "filename", None) or getattr(array, "store_path", None)
        return type(array).__name__ if path is None else str(path)

    def chunks(self, skip=0):
        """Iterate over the chunks, except the first few."""
        checker = Checker(self.names)
        for number in range(skip, len(self._starts)):
            yield self._read(checker, number)
            for array in self._arrays.values():
                _let_go(array)

    def _read(self, checker, number):
        start = self._starts[number]
        return self._take(checker, slice(start, start + self._starts.step), f", chunk {number}", start)

    def _take(self, checker, rows, part, first_row=0):
        place = self._place() + part
        try:
            values = {name: _plain(array[rows]) for name, array in self._arrays.items()}
        except Exception as error:  # whatever a storage library raises about a damaged chunk
            raise SourceError(f"{place} (from row {first_row} on) cannot be read: {error}") from error
        return checker.check(
            values["X"], values["y"], values.get("sample_weight"), values.get("noise_scale"), place, first_row
        )

    def sample(self, n_rows):
        """Rows from all over the arrays."""
        check_count(n_rows, "n_rows")
        checker = Checker(self.names)
        if isinstance(self._arrays["X"], np.ndarray):
            return self._take(checker, choose_rows(self.n_rows, n_rows), ", a sample")
        sizes = [min(self._starts.step, self._starts.stop - start) for start in self._starts]
        parts = []
        for number, share in spread_parts(sizes, n_rows).items():
            chunk = self._read(checker, number)
            parts.append(chunk.take(choose_rows(len(chunk), share)))
        return joined(parts)

    def layout(self):
        """Numbers of columns, and names where there are some."""
        return {
            "inputs": self.n_inputs if self.names is None else list(self.names),
            "targets": self.n_outputs,
            "sample_weight": "sample_weight" in self._arrays,
            "noise_scale": "noise_scale" in self._arrays,
        }

    def stamps(self, n_chunks):
        """Rows of a chunk, and the files that are mapped; None if an array has no file."""
        return None if None in self._stamps else [self._starts.step, *self._stamps]


def _plain(values):
    """A plain array, unless it has a mask: every operation on a memory map would make a memory map again."""
    return values if np.ma.isMaskedArray(values) else np.asarray(values)


def _to_array(values):
    """Return what can be sliced as it is; frames and lists as arrays."""
    if hasattr(values, "shape") and hasattr(values, "__getitem__") and not hasattr(values, "iloc"):
        return values
    try:
        return np.asarray(values)
    except ValueError as error:  # rows of several lengths
        raise SourceError(f"Rows must be as long as each other to be an array, got {type(values).__name__}.") from error


def _chunk_rows(array):
    """Rows to read at once: whole chunks, where the array is stored in chunks."""
    chunks = getattr(array, "chunks", None)
    own = chunks[0] if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], int) else 1
    return own * max(1, CHUNK_ROWS // own)


def _stamp(array):
    """State of the file behind a memory map, and which part of it the array is; None for any other array."""
    mapped = _mapped(array)
    if mapped is None:
        return None
    start = array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    part = [start, list(array.shape), list(array.strides), array.dtype.str]
    return [*file_stamp(array.filename), part]


def _let_go(array):
    """Pages of a memory map that have been read need not stay in memory; they are in the file."""
    mapped = _mapped(array)
    if mapped is not None and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _mapped(array):
    """The mapping behind a memory map that shows its file as it is, else None."""
    if isinstance(array, np.memmap) and array.filename is not None and array.mode != "c":
        return array._mmap  # type: ignore[attr-defined]
    return None
