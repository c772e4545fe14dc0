"""Sources of rows of any size: arrays, memory maps, Zarr arrays, iterables of chunks, Parquet and CSV files.

Rows are read chunk by chunk, always in the same order, so that a pass over them needs little memory and can be taken
up again where it was broken off.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from torusgp.data.sources._arrays import ArraySource
from torusgp.data.sources._base import Source
from torusgp.data.sources._chunk import CHUNK_ROWS, Chunk, SourceError
from torusgp.data.sources._chunks import ChunkSource
from torusgp.data.sources._csv import CsvSource
from torusgp.data.sources._parquet import ParquetSource
from torusgp.data.tables import PARQUET_SUFFIXES, TEXT_SUFFIXES, is_text

__all__ = [
    "CHUNK_ROWS",
    "ArraySource",
    "Chunk",
    "ChunkSource",
    "CsvSource",
    "ParquetSource",
    "Source",
    "SourceError",
    "as_source",
]

_ON_DISK = ("zarr", "h5py")  # libraries whose arrays stay in files
_MANY_ROWS = 2_000_000  # memory maps up to here are treated as arrays in memory


def is_streamed(X, y=None):
    """True if data are read chunk by chunk, instead of as arrays in memory."""
    if isinstance(X, np.memmap):
        return len(X) > _MANY_ROWS
    if isinstance(X, Source) or _is_table(X):
        return True
    if type(X).__module__.split(".")[0] in _ON_DISK:
        return True
    return y is None and not _is_array(X) and (callable(X) or hasattr(X, "__iter__"))


def as_source(X, y=None, sample_weight=None, noise_scale=None, inputs=None):
    """A source of rows from whatever holds them.

    Parameters
    ----------
    X : Source, array, iterable or callable, path or pyarrow.dataset.Dataset
        Inputs as an array of any kind that can be sliced; chunks ``(X, y)``, or a function that opens an iterable
        of these; or a table in one or more files (.parquet, a folder of these, .csv, .csv.gz).
    y : array, str or sequence of str, optional
        Targets, or for tables the names of their columns. Chunks hold their own.
    sample_weight, noise_scale : array or str, optional
        The same for the weights and known noise of the rows.
    inputs : sequence of str, optional
        Columns of a table that are inputs; by default all that are nothing else.

    Returns
    -------
    Source

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((1000, 2)), np.zeros(1000)
    >>> [len(chunk) for chunk in as_source((X[i:i + 400], y[i:i + 400]) for i in range(0, 1000, 400)).chunks()]
    [400, 400, 200]
    """
    if _is_table(X):
        kind = CsvSource if _are_csv(X) else ParquetSource
        return kind(X, y, inputs, sample_weight, noise_scale)
    if y is not None and not isinstance(X, Source | Iterator) and not callable(X):
        return ArraySource(X, y, sample_weight, noise_scale)
    if y is not None or sample_weight is not None or noise_scale is not None:
        raise ValueError(
            f"Chunks and sources hold their own targets and weights, but X of type {type(X).__name__} came with y, "
            "sample_weight or noise_scale beside it."
        )
    if isinstance(X, Source):
        return X
    if _is_array(X):
        raise ValueError(f"Targets y are needed beside inputs X of type {type(X).__name__}.")
    if not (callable(X) or hasattr(X, "__iter__")):
        raise ValueError(f"Rows cannot be read from {type(X).__name__}: give arrays, chunks (X, y), or a file.")
    return ChunkSource(X)


def _is_array(X):
    return hasattr(X, "shape") and hasattr(X, "__getitem__")


def _is_table(X):
    """True if X is a path, several of them, or a dataset of pyarrow."""
    if isinstance(X, list | tuple) and X:
        return all(isinstance(one, str | Path) for one in X)
    return isinstance(X, str | Path) or (type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments"))


def _are_csv(X):
    """True if files are to be read as CSV, and not as Parquet."""
    if not isinstance(X, str | Path | list | tuple):
        return False
    kinds = {_is_csv(Path(path)) for path in ([X] if isinstance(X, str | Path) else X)}
    if len(kinds) > 1:
        raise ValueError("Files of one source must be of one kind, here are CSV and Parquet files.")
    return kinds.pop()


def _is_csv(path):
    if path.suffix.lower() == ".zarr":
        raise ValueError(f"{path}: open Zarr arrays with zarr.open, and give them as X and y.")
    if path.is_dir() or path.suffix.lower() in PARQUET_SUFFIXES:
        return False
    if is_text(path):
        return True
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    raise ValueError(f"{path}: files end in {', '.join((*PARQUET_SUFFIXES, *TEXT_SUFFIXES))}, or in .gz after these.")
