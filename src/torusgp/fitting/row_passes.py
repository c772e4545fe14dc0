"""Rows that can be read again and again: sums over them of whatever a pass computes from some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from torusgp.data.sources import SourceError
from torusgp.data.sources._chunk import batches, joined
from torusgp.fitting.rows import Rows

_CHUNK_ROWS = 2**19  # rows that are worked on at once


class RowPasses:
    """Passes over rows in memory.

    Parameters
    ----------
    rows : Rows
        The rows.

    Attributes
    ----------
    count : int
        Number of passes so far.
    n_rows : int or None
        Number of rows, where it is known.
    rows : Rows or None
        The rows, where they are in memory.
    """

    rows: Rows | None = None

    def __init__(self, rows: Rows):
        self.rows = rows
        self.count = 0
        self.n_rows: int | None = len(rows)

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Sum of a function of chunks of rows: one pass."""
        self.count += 1
        total = None
        for chunk in self._chunks():
            part = function(chunk)
            if total is None:
                total = part
            else:
                total += part
        return total

    def _chunks(self) -> Iterator[Rows]:
        assert self.rows is not None
        for start in range(0, len(self.rows), _CHUNK_ROWS):
            yield self.rows if len(self.rows) <= _CHUNK_ROWS else self.rows.take(slice(start, start + _CHUNK_ROWS))


class SourcePasses(RowPasses):
    """Passes over a source that can be read again.

    Parameters
    ----------
    source : Source
        Where rows come from.
    layout : callable
        Coordinates on the axes of the torus and plain columns of the inputs of rows.
    check : callable
        Raises if a target cannot be; takes targets and the number of the first one.
    """

    def __init__(self, source: Any, layout: Any, check: Callable[[Any, int], None]):
        self._source, self._layout, self._check = source, layout, check
        self.count, self.n_rows = 0, source.n_rows
        self._n_read: int | None = None

    def _chunks(self) -> Iterator[Rows]:
        first = 0
        for some, _ in batches(self._source.chunks()):
            if not some:
                continue
            chunk = joined(some)
            if self.count == 1:
                self._check(chunk.y[:, 0], first)
            yield rows_of_chunk(chunk, self._layout, first)
            first += len(chunk)
        if self._n_read not in (None, first):
            raise SourceError(
                f"The source gave {self._n_read} rows in the first pass and {first} in pass {self.count}: it must give "
                "the same rows every time it is read."
            )
        self._n_read = first


def rows_of_chunk(chunk: Any, layout: Any, first_row: int = 0) -> Rows:
    """Rows of a chunk of a source, laid on the axes; those of weight zero are none."""
    coordinates, plain = layout(chunk.X, first_row)
    rows = Rows(coordinates, chunk.y, chunk.sample_weight, chunk.noise_scale, plain)
    if rows.sample_weight is not None and not rows.sample_weight.all():
        rows = rows.take(rows.sample_weight > 0)
    return rows


class BlockPasses(RowPasses):
    """Passes over the blocks of a Dask collection, computed by the scheduler in use.

    Parameters
    ----------
    blocks : Blocks
        The blocks.
    layout, check
        See :class:`SourcePasses`.
    """

    def __init__(self, blocks: Any, layout: Any, check: Callable[[Any, int], None]):
        self._blocks, self._layout, self._check = blocks, layout, check
        self.count, self.n_rows = 0, blocks.n_rows

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Sum of a function of the blocks: one pass."""
        self.count += 1
        return self._blocks.sum(_OfChunk(function, self._layout, self._check if self.count == 1 else None))


class _OfChunk:
    """A function of the rows of a chunk."""

    def __init__(self, function: Callable[[Rows], Any], layout: Any, check: Any):
        self._function, self._layout, self._check = function, layout, check

    def __call__(self, chunk: Any) -> Any:
        if self._check is not None:
            self._check(chunk.y[:, 0], 0)
        return self._function(rows_of_chunk(chunk, self._layout))


class DerivedPasses(RowPasses):
    """Passes over rows that are changed on the way: other targets or scales.

    Parameters
    ----------
    passes : RowPasses
        Passes over the rows as they are; they count these too.
    change : callable
        Rows from rows.
    """

    def __init__(self, passes: RowPasses, change: Callable[[Rows], Rows]):
        self._passes, self._change = passes, change
        self.n_rows = passes.n_rows

    @property
    def count(self) -> int:  # type: ignore[override]
        """Number of passes over the rows so far."""
        return self._passes.count

    def sum(self, function: Callable[[Rows], Any]) -> Any:
        """Sum of a function of changed rows: one pass."""
        return self._passes.sum(_Changed(function, self._change))


class _Changed:
    def __init__(self, function: Callable[[Rows], Any], change: Callable[[Rows], Rows]):
        self._function, self._change = function, change

    def __call__(self, rows: Rows) -> Any:
        return self._function(self._change(rows))


def with_scale(rows: Rows, scale: Any) -> Rows:
    """Rows whose noise scales are multiplied by these."""
    own = 1.0 if rows.noise_scale is None else rows.noise_scale
    return replace(rows, noise_scale=np.broadcast_to(own * scale, len(rows)))
