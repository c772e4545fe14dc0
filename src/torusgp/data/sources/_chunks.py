"""Rows that come as an iterable of chunks."""

from collections.abc import Iterator

import numpy as np

from torusgp.checks import check_count
from torusgp.data.sources._base import Source, choose_rows
from torusgp.data.sources._check import Checker
from torusgp.data.sources._chunk import CHUNK_ROWS, SourceError, joined


class ChunkSource(Source):
    """Rows from an iterable of ``(X, y)``, ``(X, y, sample_weight)`` or ``(X, y, sample_weight, noise_scale)``.

    Chunks without rows are passed over. The arrays of a chunk may be used again for the next one.

    Parameters
    ----------
    chunks : iterable or callable
        The chunks, or a function without arguments that gives an iterable of them. A generator can be read once.
    n_rows : int, optional
        Number of rows of all chunks together, if it is known: then progress can tell the time left.
    """

    def __init__(self, chunks, n_rows=None):
        if not (callable(chunks) or np.iterable(chunks)):
            raise SourceError(f"chunks must be an iterable of (X, y) or a function that opens one, got {chunks!r}.")
        self._chunks, self.n_rows = chunks, check_count(n_rows, "n_rows", optional=True)
        self._started = False
        self._rest = self._open()
        first = next(self._rest, None)  # shows names and shapes
        if first is None:
            raise SourceError("The iterable of chunks has no rows.")
        self._head = [first.copy()]  # chunks that were read, but not yet by those who ask for them
        self.names, self.n_inputs, self.n_outputs = self._checker.names, first.X.shape[1], first.y.shape[1]
        self._layout = {
            "inputs": self.n_inputs if self.names is None else list(self.names),
            "targets": self.n_outputs,
            "sample_weight": first.sample_weight is not None,
            "noise_scale": first.noise_scale is not None,
        }

    def _open(self):
        """Checked chunks."""
        self._checker = Checker()
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not np.iterable(chunks):
            raise SourceError(f"The function of chunks must open an iterable of (X, y), it gave {chunks!r}.")
        for number, parts in enumerate(chunks):
            place = f"chunk {number}"
            if not isinstance(parts, tuple | list) or not 2 <= len(parts) <= 4:
                raise SourceError(
                    f"{place} must be a tuple (X, y), (X, y, sample_weight) or (X, y, sample_weight, noise_scale), "
                    f"got {type(parts).__name__}" + (f" of {len(parts)}." if hasattr(parts, "__len__") else ".")
                )
            X, y, weight, scale = (*parts, None, None)[:4]
            if hasattr(X, "__len__") and hasattr(y, "__len__") and len(X) == len(y) == 0:
                continue
            chunk = self._checker.check(X, y, weight, scale, place)
            self.y_ndim = np.ndim(y)
            # small chunks wait for each other, while their arrays may be overwritten
            yield chunk.copy() if len(chunk) < CHUNK_ROWS else chunk

    def chunks(self, skip=0):
        """Iterate over the chunks, except the first few, which are read too."""
        if self._started:
            if isinstance(self._chunks, Iterator):
                raise SourceError("An iterator of chunks can be read once: give a list, or a function that opens it.")
            self._head, self._rest = [], self._open()
        self._started = True
        return (chunk for number, chunk in enumerate(self._all()) if number >= skip)

    def _all(self):
        while self._head:
            yield self._head.pop(0)  # let go of it: chunks need not stay in memory
        yield from self._rest

    def sample(self, n_rows):
        """Some of the first rows; they are kept for the pass that follows."""
        if self._started:
            raise SourceError("A sample has to be drawn before the chunks are read.")
        check_count(n_rows, "n_rows")
        while sum(map(len, self._head)) < n_rows:
            following = next(self._rest, None)
            if following is None:
                break
            self._head.append(following.copy())
        head = joined(self._head)
        return head.take(choose_rows(len(head), n_rows))

    def layout(self):
        """Numbers of columns, and names where there are some."""
        return self._layout
