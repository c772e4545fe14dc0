"""Chunks of rows: what they hold, how they are recognised, and how they are put together."""

import hashlib
from dataclasses import dataclass, fields

import numpy as np

CHUNK_ROWS = 2**19  # rows that are read at once where the source leaves the choice
_DIGEST_BYTES = 16  # as good as no chance that other rows have the same digest


class SourceError(ValueError):
    """Rows of a source cannot be used; the message says which."""


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows of a source, checked: two-dimensional float64 inputs and targets, all of them finite.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_inputs)
    y : ndarray of shape (n_rows, n_outputs)
    sample_weight, noise_scale : ndarray of shape (n_rows,) or None
    """

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None = None
    noise_scale: np.ndarray | None = None

    def __len__(self):
        return len(self.X)

    def arrays(self):
        """Inputs, targets, weights and noise scales, or None for those that are not there."""
        return [getattr(self, field.name) for field in fields(self)]

    def take(self, chosen):
        """Some of the rows."""
        return _chunk_of(lambda arrays: arrays[0][chosen], [self])

    def copy(self):
        """The same rows, in memory that nobody else writes to."""
        return _chunk_of(lambda arrays: arrays[0].copy(), [self])

    def digest(self, before=""):
        """Hash of all bytes and of the shapes, so that it matters how rows are cut, after the chunks before.

        Parameters
        ----------
        before : str, default=""
            Digest of the chunks before.

        Returns
        -------
        str
        """
        arrays = self.arrays()
        shapes = [None if array is None else array.shape for array in arrays]
        found = hashlib.blake2b(f"{before} {shapes}".encode(), digest_size=_DIGEST_BYTES)
        for array in arrays:
            if array is not None:
                found.update(np.ascontiguousarray(array, dtype="<f8").data)
        return found.hexdigest()


def joined(chunks):
    """Several chunks as one."""
    return chunks[0] if len(chunks) == 1 else _chunk_of(np.concatenate, chunks)


def _chunk_of(function, chunks):
    """The chunk that a function makes of others, array by array."""
    X, y, *extras = zip(*(chunk.arrays() for chunk in chunks), strict=True)
    return Chunk(function(X), function(y), *(None if arrays[0] is None else function(arrays) for arrays in extras))


def batches(chunks, due=lambda: False):
    """Put small chunks together: a transform costs the same for few rows as for some thousands.

    Yields lists of chunks, and whether no more follow; if reading fails, what had been read comes first, then the
    error.
    """
    waiting: list[Chunk] = []
    n_rows = 0
    try:
        for chunk in chunks:
            waiting.append(chunk)
            n_rows += len(chunk)
            if n_rows >= CHUNK_ROWS or due():
                yield waiting, False
                waiting, n_rows = [], 0
    except Exception:  # whatever it was, the rows before it are good
        yield waiting, True
        raise
    yield waiting, True
