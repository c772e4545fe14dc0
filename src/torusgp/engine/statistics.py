r"""Everything that regression needs to know of the data, whatever the hyperparameters.

With unweighted columns F the sums :math:`(n, F'F, F'y, y'y)` determine posterior and evidence for every length scale,
variance and every subset of the frequencies. They add over chunks, machines and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from torusgp.data.checkpoints import Checkpoint, CheckpointError, exclusive
from torusgp.data.progress import show_progress
from torusgp.data.sources import as_source
from torusgp.data.sources._chunk import batches, joined
from torusgp.engine.backends import choose_backend
from torusgp.engine.statistics_files import StoredStatistics
from torusgp.storage.archives import decoding

_UNKNOWN_ROWS = 10**7  # what a source is taken to have that does not know how many it has


@dataclass(frozen=True)
class ChosenInputs:
    """Layout of rows whose inputs are the coordinates on the torus themselves.

    Attributes
    ----------
    inputs : sequence of int
        Input that feeds each dimension.
    """

    inputs: Sequence[int]

    def __call__(self, X, first_row=0):
        """The chosen inputs, and no plain columns."""
        return X[:, list(self.inputs)], None


class SufficientStatistics(StoredStatistics):
    r"""Sums over the rows of a data set that determine every regression on its periodic columns.

    Parameters
    ----------
    index_set : IndexSet
        Frequencies to cover. Sums of the ``finufft`` backend cover the whole box around them.
    period : float, array-like of shape (dimension,) or (dimension, dimension)
        Period of each input, or a cell whose rows are lattice vectors.
    n_outputs : int, default=1
        Number of targets.
    n_plain : int, default=0
        Number of plain columns beside those of the basis; they are summed like targets.
    backend : {"dense", "finufft", "type3", "blocks", "torch"}, default="dense"
        Implementation of the sums. Only sums of the same one can be added.
    tolerance : float, optional
        Error of the transforms' sums relative to the number of rows; by default 1e-14 for few rows, where it is cheap,
        and 1e-12 for many, 1e-10 for ``blocks``, whose cost grows most with it.
    n_threads : int, optional
        Threads of the transforms, at most 1024; -1 for all cores. By default one for few rows and all for many. In a
        process that was forked it is always one.
    device : str, optional
        Where the ``torch`` sums are gathered and large matrices are factored, such as "cuda".
    precision : {"float64", "float32", "tf32"}, default="float64"
        Of the columns and their products in the ``torch`` sums; they are added in float64.
    marginals : Marginals, optional
        Histograms to fill, of the axes that do not repeat; by default none.
    sharing : Sharing, optional
        Which axes share an input, for ``type3``; by default none do.
    partials : Partials, optional
        Inputs along which derivatives may be observed, see :meth:`update_gradient`; by default none.

    Attributes
    ----------
    n_samples : float
        Number of rows; the sum of their sample weights.
    shift, scale : ndarray of shape (n_outputs + n_plain,)
        Targets, and plain columns after them, are summed as ``(y - shift) / scale``, so that a large offset does no
        harm.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp.kernels.index_sets import tensor
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.uniform(size=(60, 2)), rng.normal(size=60)
    >>> whole = SufficientStatistics.from_data(X, y, tensor(2, 1), period=1.0)
    >>> parts = SufficientStatistics.from_data(X[:20], y[:20], tensor(2, 1), period=1.0)
    >>> parts += SufficientStatistics.from_data(X[20:], y[20:], tensor(2, 1), period=1.0)
    >>> bool(np.allclose(parts.linear()[0].moments, whole.linear()[0].moments))
    True
    """

    @classmethod
    def from_source(
        cls,
        X,
        index_set,
        *,
        y=None,
        sample_weight=None,
        noise_scale=None,
        inputs=None,
        period,
        backend="auto",
        tolerance=None,
        n_threads=None,
        device=None,
        precision="float64",
        checkpoint=None,
        checkpoint_seconds=30.0,
        progress=None,
    ):
        """Statistics of data of any size, in one pass over chunks of rows and in memory that their number does not fix.

        Parameters
        ----------
        X : Source, array, iterable or callable, path or pyarrow.dataset.Dataset
            Arrays of any kind that can be sliced, also memory maps and Zarr arrays; an iterable of chunks
            ``(X, y)``; Parquet or CSV files. See :func:`torusgp.data.sources.as_source`.
        index_set : IndexSet
            Frequencies to cover.
        y, sample_weight, noise_scale : array or str, optional
            Arrays beside an array X; names of the columns of a table.
        inputs : sequence of int or str, optional
            Input that feeds each dimension of the torus, by position or name; by default one each.
        period, backend, tolerance, n_threads, device, precision
            See :meth:`from_data`.
        checkpoint : path, optional
            File that holds the statistics so far and the position in the source. After a crash the same call goes on
            from there. It stays when the pass is complete, and then holds the result. While a pass lasts, another
            one with the same file is refused.
        checkpoint_seconds : float, default=30.0
            Time between two writes of it, at least.
        progress : bool or callable, optional
            True shows a bar; a callable takes the number of rows counted so far, after every batch.

        Returns
        -------
        SufficientStatistics

        Examples
        --------
        >>> import numpy as np
        >>> from torusgp.kernels.index_sets import tensor
        >>> rng = np.random.default_rng(0)
        >>> chunks = ((rng.uniform(size=(1000, 2)), rng.normal(size=1000)) for _ in range(5))
        >>> SufficientStatistics.from_source(chunks, tensor(2, 3), period=1.0).n_samples
        5000.0
        """
        if inputs is not None and not np.iterable(inputs):
            raise ValueError(f"inputs must be names or positions of columns, got {inputs!r}.")
        names = None
        if inputs is not None and all(isinstance(one, str) for one in inputs):
            names = list(dict.fromkeys(inputs))
        source = as_source(X, y, sample_weight, noise_scale, names)
        chosen = _input_positions(inputs, source, index_set.dimension)
        name = choose_backend(backend, index_set.frequencies, source.n_rows or _UNKNOWN_ROWS, device)
        empty = cls(
            index_set,
            period,
            n_outputs=source.n_outputs,
            backend=name,
            tolerance=tolerance,
            n_threads=n_threads,
            device=device,
            precision=precision,
        )
        with exclusive(checkpoint):
            point = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_seconds)
            return empty.add_source(source, ChosenInputs(chosen), point, progress)

    def add_source(self, source, layout, checkpoint=None, progress=None, saved=None):
        """Add the rows of a source, or what is left of it after a checkpoint.

        Parameters
        ----------
        source : Source
            Where rows come from.
        layout : callable
            Coordinates on the axes of the torus and plain columns, or None for these, from the inputs of rows and the
            number of the first one; its ``inputs`` are the positions of those that it uses.
        checkpoint : Checkpoint, optional
            Where the pass stands; statistics are taken from it if it has some.
        progress : bool or callable, optional
            See :meth:`from_source`.
        saved : pair of dict, optional
            What else the checkpoint shall hold: content for JSON, and arrays whose names do not start with "sums_".

        Returns
        -------
        SufficientStatistics
        """
        statistics = self if checkpoint is None else self._resumed(checkpoint, list(layout.inputs))
        more, others = ({}, {}) if saved is None else saved

        def write():
            content, arrays = statistics.to_archive()
            content = {"statistics": content, "columns": [int(one) for one in layout.inputs], "more": more}
            checkpoint.save(source, content, arrays | others)

        if checkpoint is not None and checkpoint.content is None:
            write()  # shows before the work that it can be done
        with show_progress(progress, source.n_rows) as show, ThreadPoolExecutor(1) as helper:
            chunks = source.chunks() if checkpoint is None else checkpoint.remaining(source, show)
            n_rows = 0 if checkpoint is None else checkpoint.n_rows
            show(n_rows)
            for some, last in batches(chunks) if checkpoint is None else batches(chunks, checkpoint.due):
                # Digests take a tenth of the time of transforms, so they are taken meanwhile; not longer, since the
                # source may use its memory again.
                counted = None if checkpoint is None else helper.submit(checkpoint.count, some)
                if some:
                    batch = joined(some)
                    X, plain = layout(batch.X, n_rows)
                    statistics.update(X, batch.y, batch.sample_weight, batch.noise_scale, plain)
                    n_rows += len(batch)
                if counted is not None:
                    counted.result()
                    if last or checkpoint.due():
                        write()
                show(n_rows)
        return statistics

    def _resumed(self, checkpoint, columns):
        """Statistics of a checkpoint, which have to be of the same kind as these."""
        if checkpoint.content is None:
            return self
        with decoding(checkpoint.path):
            found = self.from_archive(checkpoint.content["statistics"], checkpoint.arrays)
            their_columns = checkpoint.content["columns"]
        different = [
            name
            for name, same in (
                ("frequencies", found.index_set == self.index_set),
                ("period", np.array_equal(np.asarray(found.period), np.asarray(self.period))),
                ("choice of columns", np.array_equal(their_columns, columns)),
                ("number of outputs", (found.n_outputs, found.n_plain) == (self.n_outputs, self.n_plain)),
                ("backend", found.backend == self.backend),
                ("tolerance", found.tolerance == self.tolerance),
                ("precision", found.precision == self.precision),
            )
            if not same
        ]
        if different:
            raise CheckpointError(
                f"{checkpoint.path} was written with another {' and '.join(different)}: {found!r}, columns "
                f"{their_columns}. Delete that file to start anew, or name another one."
            )
        found.n_threads = self.n_threads
        return found


def _input_positions(inputs, source, dimension):
    """Positions of the inputs that feed the dimensions of the torus."""
    names = list(source.names or ())
    available = f"the source has {source.n_inputs} input(s)" + (f": {names}" if names else "")
    inputs = range(source.n_inputs) if inputs is None else inputs
    if len(inputs) != dimension:
        raise ValueError(f"{dimension} inputs are needed, one for each dimension; got {list(inputs)}, {available}.")
    positions = [names.index(one) if one in names else one for one in inputs]
    for one in positions:
        if isinstance(one, bool) or not isinstance(one, int | np.integer) or not 0 <= one < source.n_inputs:
            raise ValueError(f"There is no input {one!r}: {available}.")
    return positions
