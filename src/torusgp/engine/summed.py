"""Sums over rows in memory that determine regressions: gathered, added, and turned into a linear model."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace

import numpy as np

from torusgp.checks import check_numbers
from torusgp.engine.backends import (
    MANY_ROWS,
    TRANSFORMS,
    InputSpace,
    check_n_threads,
    check_resources,
    choose_backend,
    count_threads,
    make_sums,
)
from torusgp.engine.derivatives import DerivativeSums
from torusgp.engine.inference import LinearStatistics
from torusgp.engine.marginals import Marginals
from torusgp.engine.row_checks import check_rows
from torusgp.kernels.checks import check_period
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.product import ProductKernel
from torusgp.kernels.torus import Sharing

_BLOCK_ROWS = 2**19  # rows that are worked on at once, by one thread
_SMALL_GRID = 2**20  # modes up to which threads take a block of rows each, instead of sharing a transform


class SummedStatistics:
    """Sums over rows; see :class:`~torusgp.engine.statistics.SufficientStatistics` for parameters and attributes."""

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
        kernel = ProductKernel(period=check_period(period))
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
        X, y, weight, precision = check_rows(
            X,
            y,
            sample_weight,
            noise_scale,
            plain,
            period=self.period,
            dimension=self.index_set.dimension,
            n_outputs=self.n_outputs,
            n_plain=self.n_plain,
        )
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
                f"{self._n_rows} rows were given, but {self._sums.n_rows} were summed: was adding rows interrupted? "
                "Gather the statistics anew, from all rows or from a checkpoint."
            )

    def __iadd__(self, other):
        if not isinstance(other, SummedStatistics):
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
        if not isinstance(other, SummedStatistics):
            return NotImplemented
        result = self.empty()
        result += self
        result += other
        return result

    def empty(self):
        """Statistics of no rows, otherwise like these."""
        partials = None if self.derivatives is None else self.derivatives.partials
        own = {"n_outputs": self.n_outputs, "sharing": self.sharing, "partials": partials}
        return type(self)(self.index_set, self.period, **own, **self._options())

    def _options(self):
        """Options that sums of other frequencies and targets have, too."""
        names = ("n_plain", "backend", "tolerance", "n_threads", "device", "precision")
        marginals = None if self.marginals is None else self.marginals.empty()
        return {name: getattr(self, name) for name in names} | {"marginals": marginals}

    def __repr__(self):
        return (
            f"{type(self).__name__}(n_samples={self.n_samples:g}, {self.index_set!r}, period={self.period!r}, "
            f"backend={self.backend!r})"
        )

    def holds(self, index_set):
        """True if the sums determine the regression on this set of frequencies."""
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
