r"""Everything that regression needs to know of the data, whatever the hyperparameters.

With unweighted columns F the sums :math:`(n, F'F, F'y, y'y)` determine posterior and evidence for every length scale,
variance and every subset of the frequencies. They add over chunks, machines and time.
"""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, dataclass, replace

import numpy as np

from torusgp.checks import check_noise_size, check_numbers, check_size
from torusgp.data.checkpoints import Checkpoint, CheckpointError, exclusive
from torusgp.data.progress import show_progress
from torusgp.data.sources import as_source
from torusgp.data.sources._chunk import batches, joined
from torusgp.engine.backends import (
    MANY_ROWS,
    TRANSFORMS,
    InputSpace,
    check_n_threads,
    check_resources,
    choose_backend,
    count_threads,
    has_device,
    make_sums,
)
from torusgp.engine.derivatives import DerivativeSums, Partials
from torusgp.engine.inference import LinearStatistics
from torusgp.engine.marginals import Marginals
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.product import ProductKernel, check_turns
from torusgp.kernels.torus import Sharing
from torusgp.storage.archives import decoding, load_archive, save_archive

_LAYOUT = 1  # version of the file
_BLOCK_ROWS = 2**19  # rows that are worked on at once, by one thread
_UNKNOWN_ROWS = 10**7  # what a source is taken to have that does not know how many it has
_SMALL_GRID = 2**20  # modes up to which threads take a block of rows each, instead of sharing a transform


class SufficientStatistics:
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

    def __init__(
        self,
        index_set,
        period,
        *,
        n_outputs=1,
        n_plain=0,
        backend="dense",
        tolerance=None,
        n_threads=None,
        device=None,
        precision="float64",
        marginals=None,
        sharing=None,
        partials=None,
    ):
        if not isinstance(index_set, IndexSet):
            raise ValueError(f"index_set must be an IndexSet, got {index_set!r}.")
        self.index_set = index_set
        kernel = ProductKernel(period=period)
        kernel.resolve_dimension(index_set.dimension)
        self.period = kernel.period
        self.n_outputs, self.n_plain = n_outputs, n_plain
        n_targets = n_outputs + n_plain
        self.sharing = Sharing.none(index_set.dimension) if sharing is None else sharing
        space = InputSpace(self.sharing, self.period)
        on_device = device if backend == "torch" else None
        self.backend = choose_backend(backend, index_set.frequencies, 0, on_device, space)
        self.device, self.precision = device, precision
        if self.backend not in TRANSFORMS:
            check_resources(index_set.n_components, 0, self.backend, device, n_outputs=0, n_evaluations=0)
        self.tolerance, self.n_threads = 1e-12 if tolerance is None else tolerance, check_n_threads(n_threads)
        self.n_samples = 0.0
        self._n_rows = 0  # that were given; the sums count those they have added
        self.log_precision = 0.0
        self.marginals: Marginals | None = marginals
        self.shift, self.scale = np.zeros(n_targets), np.ones(n_targets)
        self.squares = np.zeros(n_targets)
        self._cross = np.zeros((n_targets, n_plain))  # of targets and plain columns with plain columns
        rest = self.tolerance, n_threads, device, precision, space
        self._sums = make_sums(self.backend, index_set.frequencies, n_targets, *rest)
        self.derivatives: DerivativeSums | None = None
        if partials is not None:
            self.derivatives = DerivativeSums(partials, n_outputs, (self.backend, index_set.frequencies, *rest))

    @classmethod
    def from_data(
        cls,
        X,
        y,
        index_set,
        *,
        period,
        sample_weight=None,
        noise_scale=None,
        plain=None,
        backend="auto",
        tolerance=None,
        n_threads=None,
        device=None,
        precision="float64",
        marginals=None,
        sharing=None,
        partials=None,
    ):
        """Statistics of arrays.

        Parameters
        ----------
        X : array-like of shape (n_samples, dimension)
            Inputs, one column for each dimension of the torus.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        index_set : IndexSet
            Frequencies to cover.
        period : float or array-like
            Periods or cell.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.
        noise_scale : array-like of shape (n_samples,), optional
            Known standard deviation of the noise of each row, up to a common factor.
        plain : array-like of shape (n_samples, n_plain), optional
            Plain columns beside those of the basis.
        backend : {"auto", "dense", "finufft", "type3", "blocks", "torch"}, default="auto"
            Implementation of the sums; "auto" takes the cheapest one.
        tolerance, n_threads, device, precision, marginals, sharing, partials
            See the class.

        Returns
        -------
        SufficientStatistics
        """
        check_numbers(X)
        check_numbers(y, "y")
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        space = None if sharing is None else InputSpace(sharing, period)
        extent = None if space is None else space.extent(X)
        name = choose_backend(backend, index_set.frequencies, len(y), device, space, extent)
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        if tolerance is None:
            tolerance = 1e-14 if len(y) < MANY_ROWS else 1e-10 if name == "blocks" else 1e-12
        empty = cls(
            index_set,
            period,
            n_outputs=n_outputs,
            n_plain=0 if plain is None else np.shape(plain)[1],
            backend=name,
            tolerance=tolerance,
            n_threads=n_threads,
            device=device,
            precision=precision,
            marginals=marginals,
            sharing=sharing,
            partials=partials,
        )
        return empty.update(X, y, sample_weight, noise_scale, plain)

    @classmethod
    def from_source(
        cls,
        X,
        index_set,
        *,
        y=None,
        sample_weight=None,
        noise_scale=None,
        columns=None,
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
        columns : sequence of int or str, optional
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
        names = None if columns is None or not all(isinstance(one, str) for one in columns) else columns
        inputs = None if names is None else list(dict.fromkeys(names))
        source = as_source(X, y, sample_weight, noise_scale, inputs)
        chosen = _input_positions(columns, source, index_set.dimension)
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
            found = SufficientStatistics.from_archive(checkpoint.content["statistics"], checkpoint.arrays)
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

    def update(self, X, y, sample_weight=None, noise_scale=None, plain=None):
        """Add rows.

        Parameters
        ----------
        X, y, sample_weight, noise_scale, plain
            See :meth:`from_data`.

        Returns
        -------
        self
        """
        X, y, weight, precision = self._check_rows(X, y, sample_weight, noise_scale, plain)
        if not weight.any():
            return self
        if self.n_samples == 0:
            self.shift = np.average(y, axis=0, weights=precision)
            spread = np.sqrt(np.average((y - self.shift) ** 2, axis=0, weights=precision))
            # a spread that is all rounding would blow rounding up
            self.scale = np.where(spread > 1e-14 * np.abs(self.shift), spread, 1.0)
            self.scale[self.scale == 0] = 1.0
        self._n_rows += len(X)
        self._add_blocks(X, y, precision)
        self._check_counts()
        if self.marginals is not None:
            self.marginals = self.marginals.with_rows(X, precision)
        self.n_samples += float(weight.sum())
        if noise_scale is not None:
            used = weight > 0
            self.log_precision += float(weight[used] @ np.log(precision[used] / weight[used]))
        return self

    def update_gradient(self, X, gradient, noise_scale=None):
        """Add points where partial derivatives were observed.

        Parameters
        ----------
        X : array-like of shape (n_points, dimension)
            Inputs, one column for each dimension of the torus.
        gradient : array-like of shape (n_points, n_partials, n_outputs)
            Derivatives along the inputs of ``partials``, not a number where one was not observed.
        noise_scale : array-like of shape (n_points,), optional
            Known standard deviation of the noise of each point, up to a common factor.

        Returns
        -------
        self
        """
        if self.derivatives is None:
            raise ValueError("These statistics hold no derivatives: give partials when they are made.")
        self.derivatives.update(np.asarray(X, dtype=float), np.asarray(gradient, dtype=float), noise_scale, self.period)
        return self

    def _add_blocks(self, X, y, precision):
        """Add rows block by block: phases and scaled targets of all of them are never in memory at once."""
        threads = count_threads(self.n_threads, len(X)) if self.backend in TRANSFORMS else 1
        # type-3 transforms and blocks of axes share the work on their modes among rows, so these stay together
        most = 2 * _BLOCK_ROWS if self.backend in ("type3", "blocks") else _BLOCK_ROWS
        step = most if self.backend == "type3" else min(most, -(-len(X) // threads))
        blocks = [slice(start, start + step) for start in range(0, len(X), step)]

        def add_block(rows, sums):
            targets, weighted = self._targets(y[rows], precision[rows])
            sums.add_weighted(sums.locate(X[rows], self.period), precision[rows], weighted)
            return sums, np.einsum("nq,nq->q", weighted, targets), weighted.T @ targets[:, self.n_outputs :]

        if threads > 1 and self.backend in ("finufft", "blocks") and self._sums.size <= _SMALL_GRID:
            # Faster than sharing a transform; sums that are added in order do not depend on the number of threads.
            parts = _in_order(lambda rows: add_block(rows, self._sums.empty()), blocks, threads)
        else:
            if self.backend in TRANSFORMS:
                self._sums.n_threads = threads
            parts = (add_block(rows, self._sums) for rows in blocks)
        for sums, squares, cross in parts:
            if sums is not self._sums:
                self._sums.add(sums)
            self.squares = self.squares + squares
            self._cross = self._cross + cross

    def _targets(self, y, precision):
        """Targets and plain columns in the units of the sums, and the same times their precision."""
        targets = (y - self.shift) / self.scale
        return targets, targets * precision[:, None]

    def _check_counts(self):
        """Raise if the sums are not those of the rows that were given, which would be wrong results in silence."""
        if self._sums.n_rows != self._n_rows:
            raise RuntimeError(
                f"{self._n_rows} rows were given, but {self._sums.n_rows} were summed: was adding rows broken off? "
                "Gather the statistics anew, from all rows or from a checkpoint."
            )

    def _check_stored(self, sums):
        """Raise if stored numbers are not of the shapes that belong together, or cannot be sums of finite rows."""
        stored = {"shift": self.shift, "scale": self.scale, "squares": self.squares, "cross": self._cross, **sums}
        n_targets = self.n_outputs + self.n_plain
        shapes = dict.fromkeys(("shift", "scale", "squares"), (n_targets,)) | {"cross": (n_targets, self.n_plain)}
        shapes |= {name: array.shape for name, array in self._sums.to_arrays().items()}
        kinds = {name: array.dtype.kind for name, array in self._sums.to_arrays().items()}
        for name, array in stored.items():
            fits = array.shape == shapes.get(name, array.shape) and array.dtype.kind == kinds.get(name, "f")
            if not fits or not np.isfinite(array).all():
                raise ValueError(f"the stored array {name!r} is not finite, or not of the shape {shapes.get(name)}.")
        if not (self.n_samples >= 0 and np.isfinite([self.n_samples, self.log_precision]).all()):
            raise ValueError(f"the stored number of rows is {self.n_samples!r}.")
        if not ((self.scale > 0).all() and (self.squares >= 0).all()):
            raise ValueError("stored scales and sums of squares are negative.")

    def _check_stored_sums(self):
        r"""Raise if the sums of a file are of fewer rows than it says, as older versions wrote with ``n_threads=-1``.

        Sample weights :math:`w` and precisions :math:`w p` have :math:`\sum w p \ge n \exp(\sum w \log p / n)`, by
        the inequality of the means, with :math:`n = \sum w`.
        """
        if self.n_samples == 0:
            return
        least = self.n_samples * np.exp(self.log_precision / self.n_samples)
        total = self._sums.constant_sums()[0]
        if total < least * (1 - max(1e-6, 10 * self.tolerance)):
            raise ValueError(
                f"Stored statistics say that they are of {self.n_samples:g} rows, but their sums hold a weight of "
                f"{total:.6g} instead of at least {least:.6g}: rows were dropped when they were gathered, as older "
                "versions did with n_threads=-1. Fit again from the rows."
            )

    def _check_rows(self, X, y, sample_weight, noise_scale, plain):
        """Checked inputs, targets with plain columns after them, weights and precisions."""
        given = {"X": X, "y": y, "sample_weight": sample_weight, "noise_scale": noise_scale, "plain": plain}
        for name, values in given.items():
            check_numbers(values, name)
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        y = y[:, None] if y.ndim == 1 else y
        dimension, n_outputs = self.index_set.dimension, self.n_outputs
        if X.ndim != 2 or X.shape[1] != dimension:
            raise ValueError(f"X must have shape (n_samples, {dimension}), got {X.shape}.")
        if y.shape != (len(X), n_outputs):
            raise ValueError(f"y must have shape ({len(X)}, {n_outputs}), got {y.shape}.")
        plain = np.empty((len(X), 0)) if plain is None else np.asarray(plain, dtype=float)
        if plain.shape != (len(X), self.n_plain):
            raise ValueError(f"plain must have shape ({len(X)}, {self.n_plain}), got {plain.shape}.")
        if self.n_plain:
            y = np.hstack([y, plain])
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=float)
            if weight.shape != (len(X),) or not (np.isfinite(weight) & (weight >= 0)).all():
                raise ValueError("sample_weight must hold one finite, non-negative number for each row.")
        precision = weight
        if noise_scale is not None:
            noise_scale = np.asarray(noise_scale, dtype=float)
            if noise_scale.shape != (len(X),) or not (np.isfinite(noise_scale) & (noise_scale > 0)).all():
                raise ValueError("noise_scale must hold one finite, positive number for each row.")
            check_noise_size(noise_scale)
            precision = weight / noise_scale**2
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise ValueError("X and y must be finite, they hold NaN or infinity.")
        check_size(y, "y")
        check_turns(X, self.period)
        return X, y, weight, precision

    def __iadd__(self, other):
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        if (
            self.backend != other.backend
            or self.index_set != other.index_set
            or not np.array_equal(np.asarray(self.period), np.asarray(other.period))
            or (self.n_outputs, self.n_plain) != (other.n_outputs, other.n_plain)
        ):
            raise ValueError(
                "Statistics can be added only if their index sets, periods, columns and backends agree: "
                f"{self!r} and {other!r} do not."
            )
        self._check_counts()
        other._check_counts()
        if other.derivatives is not None:
            if self.derivatives is None or self.derivatives.partials != other.derivatives.partials:
                raise ValueError("Statistics with derivatives can be added only to others with the same partials.")
            self.derivatives.add(other.derivatives)
        if other.n_samples == 0:
            return self
        if self.n_samples == 0:
            self.shift, self.scale = other.shift.copy(), other.scale.copy()
        factor, offset = other.scale / self.scale, (other.shift - self.shift) / self.scale
        total, moment = other._sums.constant_sums()
        self.squares = self.squares + factor**2 * other.squares + 2 * factor * offset * moment + offset**2 * total
        plain = slice(self.n_outputs, None)
        self._cross = (
            self._cross
            + np.outer(factor, factor[plain]) * other._cross
            + np.outer(factor * moment, offset[plain])
            + np.outer(offset, factor[plain] * moment[plain])
            + np.outer(offset, offset[plain]) * total
        )
        self._sums.add(other._sums, factor, offset)
        self._n_rows += other._n_rows
        if self.marginals is not None:
            self.marginals = None if other.marginals is None else self.marginals + other.marginals
        self.n_samples += other.n_samples
        self.log_precision += other.log_precision
        return self

    def __add__(self, other):
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        result = self.empty()
        result += self
        result += other
        return result

    def empty(self):
        """Statistics of no rows, otherwise like these."""
        return SufficientStatistics(
            self.index_set,
            self.period,
            n_outputs=self.n_outputs,
            n_plain=self.n_plain,
            backend=self.backend,
            tolerance=self.tolerance,
            n_threads=self.n_threads,
            device=self.device,
            precision=self.precision,
            marginals=None if self.marginals is None else self.marginals.empty(),
            sharing=self.sharing,
            partials=None if self.derivatives is None else self.derivatives.partials,
        )

    def __repr__(self):
        return (
            f"SufficientStatistics(n_samples={self.n_samples:g}, {self.index_set!r}, period={self.period!r}, "
            f"backend={self.backend!r})"
        )

    def holds(self, index_set):
        """Whether the sums determine the regression on this set of frequencies."""
        return self._sums.holds(index_set.frequencies)

    def subset(self, index_set):
        """Statistics of the same rows for some of the frequencies only.

        Parameters
        ----------
        index_set : IndexSet
            Frequencies to keep, all of them covered.

        Returns
        -------
        SufficientStatistics
        """
        if not self.holds(index_set):
            raise ValueError(f"{index_set!r} reaches beyond the frequencies of {self!r}.")
        result = copy(self)
        result.index_set, result._sums = index_set, self._sums.subset(index_set.frequencies)
        if self.derivatives is not None:
            result.derivatives = self.derivatives.subset(index_set.frequencies)
        return result

    def covered(self):
        """All frequencies that the sums cover, one of each pair, the zero vector first."""
        return self._sums.covered()

    def linear(self, index_set=None, center=True):
        """Statistics of the linear model with the columns of an index set.

        Parameters
        ----------
        index_set : IndexSet, optional
            Subset of the frequencies that are covered; by default all.
        center : bool, default=True
            Take the mean of the targets off. It is exact, however the rows came in.

        Returns
        -------
        statistics : LinearStatistics
            In the units of the targets.
        center : ndarray of shape (n_outputs,)
            What was subtracted.
        """
        index_set = self.index_set if index_set is None else index_set
        if not self.holds(index_set):
            raise ValueError(f"{index_set!r} reaches beyond the frequencies of {self!r}.")
        self._check_counts()
        gram, moments = self._sums.gram(index_set.frequencies), self._sums.moments(index_set.frequencies)
        total = gram[0, 0]
        mean = moments[0] / total if total else np.zeros(len(self.shift))
        offset, taken_off = mean.copy(), self.shift + self.scale * mean
        if not center:  # plain columns are centred in any case
            own = slice(self.n_outputs)
            offset[own], taken_off[own] = -self.shift[own] / self.scale[own], 0.0
        squares = self.squares - 2 * offset * moments[0] + offset**2 * total
        squares = np.where(offset == mean, np.maximum(self.squares - offset**2 * total, 0.0), squares)
        cross = self._cross - np.outer(moments[0], mean[self.n_outputs :])  # plain columns are centred
        moments = (moments - offset * gram[:, :1]) * self.scale
        squares = squares[: self.n_outputs] * self.scale[: self.n_outputs] ** 2
        if self.n_plain:
            gram, moments = self._bordered(gram, moments, cross)
        linear = LinearStatistics(
            gram,
            moments,
            squares,
            self.n_samples,
            self.log_precision,
            self._sums.rounding,
            getattr(self._sums, "device", self.device),  # sums on a device know which one "by default" means
        )
        if self.derivatives is not None and self.derivatives.n_samples.any():
            spread = self.plain_units()[1]
            linear = replace(
                linear,
                derivatives=self.derivatives.linear(index_set.frequencies, self.period, spread),
                partials=self.derivatives.partials.names,
                derivative_squares=self.derivatives.squares,
                n_derivatives=self.derivatives.n_samples,
                derivative_log_precision=self.derivatives.log_precision,
            )
        return linear, taken_off[: self.n_outputs]

    def _bordered(self, gram, moments, cross):
        """Gram matrix and moments of the columns of the basis with the plain columns after them."""
        own, plain = slice(self.n_outputs), slice(self.n_outputs, None)
        _, spread = self.plain_units()
        beside = moments[:, plain] / spread
        unit = spread / self.scale[plain]
        among = cross[plain] / np.outer(unit, unit)
        targets = (cross[own] / unit).T * self.scale[own]
        return np.block([[gram, beside], [beside.T, among]]), np.concatenate([moments[:, own], targets])

    def plain_units(self):
        """Means and standard deviations of the plain columns over all rows: the model has them in these units."""
        plain = slice(self.n_outputs, None)
        total, moment = self._sums.constant_sums()
        total = total or 1.0
        mean = moment[plain] / total
        spread = np.sqrt(np.maximum(np.diag(self._cross[plain]) / total - mean**2, 0.0))
        spread[spread == 0] = 1.0
        return self.shift[plain] + self.scale[plain] * mean, self.scale[plain] * spread

    def save(self, path):
        """Write the statistics to a file of arrays and JSON."""
        save_archive(path, "SufficientStatistics", _LAYOUT, *self.to_archive())

    def to_archive(self):
        """What :mod:`torusgp.storage.archives` writes: a dictionary for JSON and a dictionary of arrays."""
        self._check_counts()
        content = {
            "backend": self.backend,
            "tolerance": self.tolerance,
            "device": self.device,
            "precision": self.precision,
            "n_samples": self.n_samples,
            "log_precision": self.log_precision,
            "n_plain": self.n_plain,
            "set_name": self.index_set.name,
            "max_interaction": self.index_set.max_interaction,
            "sharing": asdict(self.sharing),
            "partials": None if self.derivatives is None else asdict(self.derivatives.partials),
        }
        derivatives = {} if self.derivatives is None else self.derivatives.to_arrays()
        sums = {f"sums_{name}": array for name, array in self._sums.to_arrays().items()}
        indices = {} if self.index_set.indices is None else {"indices": self.index_set.indices}
        return content, {
            "frequencies": self.index_set.frequencies,
            "period": np.asarray(self.period),
            "shift": self.shift,
            "scale": self.scale,
            "squares": self.squares,
            **({"cross": self._cross} if self.n_plain else {}),
            **({} if self.marginals is None else self.marginals.to_arrays()),
            **indices,
            **sums,
            **{f"derivatives_{name}": array for name, array in derivatives.items()},
        }

    @classmethod
    def load(cls, path):
        """Read statistics written by :meth:`save`."""
        content, arrays, _ = load_archive(path, "SufficientStatistics", _LAYOUT)
        with decoding(path):
            return cls.from_archive(content, arrays)

    @classmethod
    def from_archive(cls, content, arrays):
        """Statistics from what :meth:`to_archive` gave."""
        frequencies = arrays["frequencies"]
        if frequencies.dtype.kind != "i" or frequencies.ndim != 2 or frequencies[0].any():
            raise ValueError("stored frequencies have to be whole numbers, the zero vector first.")
        index_set = IndexSet(frequencies, arrays.get("indices"), content["set_name"], content["max_interaction"])
        period = arrays["period"] if arrays["period"].ndim else float(arrays["period"])
        partials = content.get("partials")
        result = cls(
            index_set,
            period,
            n_outputs=len(arrays["shift"]) - content.get("n_plain", 0),
            n_plain=content.get("n_plain", 0),
            tolerance=content["tolerance"],
            sharing=_sharing_of(content),
            partials=None if partials is None else Partials(**{name: tuple(some) for name, some in partials.items()}),
            **_where_it_can_be(content),
        )
        result.n_samples, result.log_precision = content["n_samples"], content["log_precision"]
        result.shift, result.scale, result.squares = arrays["shift"], arrays["scale"], arrays["squares"]
        result._cross = arrays.get("cross", result._cross)
        result.marginals = Marginals.from_arrays(arrays)
        sums = {name[5:]: array for name, array in arrays.items() if name.startswith("sums_")}
        result._check_stored(sums)
        result._sums.set_arrays(sums)
        result._n_rows = result._sums.n_rows
        if result.derivatives is not None:
            result.derivatives.set_arrays(
                {name[12:]: array for name, array in arrays.items() if name.startswith("derivatives_")}
            )
        result._check_stored_sums()
        return result


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


def _sharing_of(content):
    """Which axes share an input; files from before that mattered do not tell."""
    stored = content.get("sharing")
    return None if stored is None else Sharing(**{name: tuple(values) for name, values in stored.items()})


def _where_it_can_be(content):
    """Backend, device and precision of stored sums; where that device is absent, their arrays serve on the CPU."""
    device, precision = content.get("device"), content.get("precision", "float64")
    if device is not None and not has_device(device):
        return {"backend": "dense" if content["backend"] == "torch" else content["backend"]}
    return {"backend": content["backend"], "device": device, "precision": precision}


def _input_positions(columns, source, dimension):
    """Positions of the inputs that feed the dimensions of the torus."""
    names = list(source.names or ())
    available = f"the source has {source.n_inputs} input(s)" + (f": {names}" if names else "")
    columns = range(source.n_inputs) if columns is None else columns
    if len(columns) != dimension:
        raise ValueError(f"{dimension} columns are needed, one for each dimension; got {list(columns)}, {available}.")
    positions = [names.index(one) if one in names else one for one in columns]
    for one in positions:
        if isinstance(one, bool) or not isinstance(one, int | np.integer) or not 0 <= one < source.n_inputs:
            raise ValueError(f"There is no column {one!r}: {available}.")
    return positions


def _in_order(function, items, n_threads):
    """Results of a function of each item, computed by threads that are never far ahead of what is asked for."""
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
