"""Dask collections: statistics block by block on whatever scheduler or cluster the user has.

One task gathers the statistics of one block; they are added along a tree, and one small object comes back. Dask does
all the distribution, and runs tasks again that were lost with a worker.
"""

from copy import deepcopy

import numpy as np

from torusgp.data.sources import Chunk, SourceError
from torusgp.data.sources._base import choose_rows
from torusgp.data.sources._check import Checker
from torusgp.data.sources._chunk import joined

_FAN_IN = 8  # statistics that one task adds up
_SAMPLE_BLOCKS = 32  # blocks that a sample is drawn from


def is_dask(X):
    """True if this is a Dask collection; Dask is not imported to find out."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


class Blocks:
    """The blocks of Dask arrays or data frames, rows that belong together in one of them.

    Parameters
    ----------
    X : dask Array or DataFrame
        Inputs; a data frame may hold the other columns too.
    y : dask Array, Series or DataFrame, str or sequence of str
        Targets, or the names of their columns.
    sample_weight, noise_scale : dask Array, Series or str, optional
        The same for these.
    inputs : sequence of str, optional
        Columns of a data frame that are inputs; by default all that are nothing else.
    """

    def __init__(self, X, y, sample_weight=None, noise_scale=None, inputs=None):
        self.names: list[str] | None = None
        is_frame = hasattr(X, "npartitions") and hasattr(X, "columns")
        targets = [y] if isinstance(y, str) else y
        if is_frame:
            self.y_ndim = 1 if isinstance(y, str) else getattr(y, "ndim", 2)
            others = [name for name in (sample_weight, noise_scale) if isinstance(name, str)]
            taken = {*others, *(targets if isinstance(targets, list | tuple) else ())}
            available = list(X.columns)
            wanted = [name for name in available if name not in taken] if inputs is None else list(inputs)
            missing = [name for name in (*wanted, *taken) if name not in available]
            if missing:
                raise SourceError(f"The data frame has no column {missing[0]!r}; it has {available}.")
            self.names = wanted
            frame = X
            X = frame[wanted]
            if isinstance(targets, list | tuple):
                y = frame[list(targets)]
            sample_weight = frame[sample_weight] if isinstance(sample_weight, str) else sample_weight
            noise_scale = frame[noise_scale] if isinstance(noise_scale, str) else noise_scale
        else:
            self.y_ndim = getattr(y, "ndim", 1)
        given = {"X": X, "y": y, "sample_weight": sample_weight, "noise_scale": noise_scale}
        for name, values in given.items():
            if not is_dask(values) and (values is not None or name == "y"):
                raise SourceError(f"{name} must be a Dask collection like X, got {type(values).__name__}.")
        self.n_inputs = len(self.names) if self.names is not None else X.shape[1] if X.ndim == 2 else 1
        self.n_outputs = 1 if self.y_ndim == 1 else len(y.columns) if hasattr(y, "columns") else y.shape[1]
        self.parts = _aligned({name: values for name, values in given.items() if values is not None})
        self.n_rows = None

    def sample(self, n_rows):
        """Rows from blocks all over the collection."""
        import dask

        chosen = choose_rows(len(self.parts), _SAMPLE_BLOCKS)
        share = -(-n_rows // len(chosen))
        draw = dask.delayed(_draw, pure=True)
        chunks = dask.compute(*(draw(self.parts[block], block, share, self.names) for block in chosen.tolist()))
        chunks = [chunk for chunk in chunks if len(chunk)]
        if not chunks:
            raise SourceError("The Dask collection has no rows in the blocks that were looked at.")
        return joined(chunks)

    def sum(self, function):
        """Sum of a function of the rows of each block, computed by the scheduler that is in use.

        Parameters
        ----------
        function : callable
            Takes a chunk; what it gives can be added with ``+=``.

        Returns
        -------
        sum
        """
        import dask

        apply, add = dask.delayed(_apply, pure=True), dask.delayed(_add_all, pure=True)
        function = dask.delayed(function)  # one object for all tasks
        level = [apply(function, part, block, self.names) for block, part in enumerate(self.parts)]
        while len(level) > 1:
            level = [add(level[start : start + _FAN_IN]) for start in range(0, len(level), _FAN_IN)]
        return dask.compute(level[0])[0]

    def statistics(self, empty, layout):
        """Statistics of all blocks, computed by the scheduler that is in use.

        Parameters
        ----------
        empty : SufficientStatistics
            Statistics of no rows.
        layout : callable
            Coordinates on the axes of the torus and plain columns of the inputs of rows.

        Returns
        -------
        SufficientStatistics
        """
        import dask

        gather, add = dask.delayed(_gather, pure=True), dask.delayed(_add, pure=True)
        empty = dask.delayed(empty)  # one object for all tasks
        level = [gather(empty, part, block, layout, self.names) for block, part in enumerate(self.parts)]
        while len(level) > 1:
            level = [add(level[start : start + _FAN_IN]) for start in range(0, len(level), _FAN_IN)]
        return dask.compute(level[0])[0]


def _aligned(collections):
    """One dictionary of delayed blocks for each block of rows."""
    blocks = {}
    arrays = {name: values for name, values in collections.items() if hasattr(values, "chunks")}
    if arrays and len(arrays) == len(collections):
        first = arrays["X"]
        for name, values in arrays.items():
            if values.shape[0] != first.shape[0] and not np.isnan(values.shape[0] + first.shape[0]):
                raise SourceError(f"{name} has {values.shape[0]} rows, X has {first.shape[0]}.")
            if not np.isnan(sum(values.chunks[0])) and values.chunks[0] != first.chunks[0]:
                values = values.rechunk({0: first.chunks[0]})
            if values.ndim == 2 and values.numblocks[1] > 1:
                values = values.rechunk({1: -1})
            blocks[name] = values.to_delayed().reshape(values.numblocks[0], -1)[:, 0].tolist()
    else:
        for name, values in collections.items():
            delayed = values.to_delayed()
            blocks[name] = np.asarray(delayed, dtype=object).ravel().tolist()
    counts = {name: len(parts) for name, parts in blocks.items()}
    if len(set(counts.values())) > 1:
        raise SourceError(f"Collections must have the same blocks of rows, they have {counts} of them.")
    return [dict(zip(blocks, parts, strict=True)) for parts in zip(*blocks.values(), strict=True)]


def _read(part, block, names):
    checker = Checker(names)
    weight, scale = part.get("sample_weight"), part.get("noise_scale")
    return checker.check(part["X"], part["y"], weight, scale, f"block {block}")


def _draw(part, block, share, names):
    chunk = _read(part, block, names)
    return chunk.take(choose_rows(len(chunk), share))


def _gather(empty, part, block, layout, names):
    statistics = empty.empty()
    chunk: Chunk = _read(part, block, names)
    if not len(chunk):
        return statistics
    X, plain = layout(chunk.X)
    return statistics.update(X, chunk.y, chunk.sample_weight, chunk.noise_scale, plain)


def _apply(function, part, block, names):
    return function(_read(part, block, names))


def _add_all(parts):
    total = deepcopy(parts[0])  # what a task gets is not its own
    for part in parts[1:]:
        total += part
    return total


def _add(parts):
    total = parts[0] + parts[1] if len(parts) > 1 else parts[0]
    for part in parts[2:]:
        total += part
    return total
