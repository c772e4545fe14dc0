"""Rows in the order of time, their columns, and statistics of any index set by the likelihood of the moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.inference import LinearStatistics
from torusgp.engine.moments import Moments, noise_gram
from torusgp.engine.series import Autocovariance, TimeGrid
from torusgp.fitting.learning import Learned
from torusgp.fitting.noise_process import Levels, log_density
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import Prior
from torusgp.fitting.problem import Problem, Settings
from torusgp.fitting.rows import Rows, RowSource
from torusgp.fitting.schedule import limited_blas
from torusgp.kernels.index_sets import IndexSet, from_frequencies
from torusgp.kernels.product import to_phases

Array = NDArray[np.float64]

_FOLDS = 10  # blocks of consecutive rows that are left out in turn
_BLOCKS = 20  # the same of rows that some are chosen from
_FEW_MISSING = 0.1  # of the frequencies of a set that a pool may lack
_BLOCK_ROWS = 2**14  # whose columns are computed at once
_MARGIN, _SHORTER = 1.25, 1.2  # by how much a pool of moments reaches beyond a set


@dataclass(frozen=True)
class Series:
    """Rows in the order of time.

    Attributes
    ----------
    rows : Rows
        On the axes of the torus.
    times : ndarray of shape (n_samples,)
        Times, in order.
    time_input : int or None
        Which input they are, if they are one.
    longest : int, default=0
        Lags, in cells, over which noise is known to be correlated.
    levels : Levels or None, default=None
        Steps in the level of the noise.
    """

    rows: Rows
    times: Array
    time_input: int | None
    longest: int = 0
    levels: Levels | None = None

    @cached_property
    def grid(self) -> TimeGrid:
        """Their cells."""
        return TimeGrid.of(self.times, self.longest)

    @property
    def scale(self) -> Array:
        """Known noise scales of the rows, or ones."""
        return np.ones(len(self.rows)) if self.rows.noise_scale is None else self.rows.noise_scale

    def folds(self) -> list[slice]:
        """Blocks of consecutive rows."""
        edges = np.linspace(0, len(self.rows), min(_FOLDS, len(self.rows)) + 1).astype(int)
        return [slice(*pair) for pair in pairwise(edges.tolist())]

    def some(self, n_rows: int, longest: int) -> Series:
        """About so many rows, in blocks spread evenly over time; noise is correlated over at most so many cells."""
        starts = np.linspace(0, len(self.rows), _BLOCKS, endpoint=False).astype(int)
        chosen = (starts[:, None] + np.arange(n_rows // _BLOCKS)).ravel()
        return Series(self.rows.take(chosen), self.times[chosen], self.time_input, longest, self.levels)

    @property
    def block(self) -> float:
        """Duration of such a block."""
        return float(self.times[-1] - self.times[0]) / _FOLDS


@dataclass(frozen=True)
class SeriesColumns:
    """Columns of a model at rows of a series, those of levels of the noise last, and targets, in units of the noise."""

    series: Series
    phases: Array
    frequencies: NDArray[np.int64]
    units: tuple[Array, Array]
    offset: float

    @classmethod
    def of(cls, series: Series, source: RowSource, learned: Learned, center: bool) -> SeriesColumns:
        """Columns of what was learned."""
        statistics = source.covering(learned.index_set, learned.parameters)
        offset = float(statistics.linear(learned.index_set, center)[1][0])
        phases = to_phases(series.rows.X, learned.parameters.period)
        return cls(series, phases, learned.index_set.frequencies, statistics.plain_units(), offset)

    @property
    def n_columns(self) -> int:
        """Number of components, plain columns and levels included."""
        plain = self.series.rows.plain
        own = 2 * len(self.frequencies) - 1 + (0 if plain is None else plain.shape[1])
        return own + len(self.level_variances)

    @property
    def level_variances(self) -> Array:
        """Prior variances of the levels of the noise."""
        return np.empty(0) if self.series.levels is None else self.series.levels.variances

    def __call__(self, rows: slice) -> Array:
        """Columns of consecutive rows."""
        columns = basis_columns(self.phases[rows], self.frequencies)
        if self.series.rows.plain is not None:
            mean, spread = self.units
            columns = np.hstack([columns, (self.series.rows.plain[rows] - mean) / spread])
        columns = columns if self.series.rows.noise_scale is None else columns / self.series.scale[rows, None]
        if self.series.levels is None:
            return columns
        return np.hstack([columns, self.series.levels.columns(self.series.times[rows])])

    def targets(self, rows: slice) -> Array:
        """Targets of consecutive rows, without the mean."""
        return (self.series.rows.y[rows, 0] - self.offset) / self.series.scale[rows]

    def moments(self, rows: LinearStatistics, noise: Autocovariance, log_density: float) -> Moments:
        """What the rows say of the weights, without the levels of the noise.

        Parameters
        ----------
        rows : LinearStatistics
            Sums over the rows, of the columns without levels.
        noise : Autocovariance
            That of the rows.
        log_density : float
            That of the rows if they were noise alone.
        """
        gram, moments = rows.gram, rows.moments[:, 0]
        with limited_blas(self.n_columns):
            if self.series.levels is not None:
                gram, moments = self._with_levels(gram, moments)
            covariance = noise_gram(self, self.n_columns, noise, self.series.grid)
            found = Moments.of(gram, moments, covariance, log_density)
        return found if self.series.levels is None else found.without(self.level_variances)

    def _with_levels(self, gram: Array, moments: Array) -> tuple[Array, Array]:
        """Sums of products with levels beside those of other columns."""
        n_own = len(moments)
        gram, moments = np.pad(gram, (0, self.n_columns - n_own)), np.pad(moments, (0, self.n_columns - n_own))
        for start in range(0, len(self.series.rows), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            columns = self(block)
            levels = columns[:, n_own:]
            gram[n_own:] += levels.T @ columns
            moments[n_own:] += levels.T @ self.targets(block)
        gram[:n_own, n_own:] = gram[n_own:, :n_own].T
        return gram, moments


class MomentSource:
    """Statistics of any index set by the likelihood of the moments, from one pool of them as long as it covers the set.

    Parameters
    ----------
    series : Series
        The rows.
    source : RowSource
        Their plain sums.
    prior : Prior
        The model.
    settings : Settings
        What the user asks for.
    noise : Autocovariance
        Of the rows.
    """

    is_pooled = True  # evidences of two sets compare if one pool covers both

    def __init__(self, series: Series, source: RowSource, prior: Prior, settings: Settings, noise: Autocovariance):
        self._series, self._source, self._prior, self._settings = series, source, prior, settings
        self._noise = noise
        # what data left out who chose the frequencies is not in them, however likely it was
        self.counts_left_out = settings.index_set != "learned"
        self._pool: IndexSet | None = None
        self._moments: Moments | None = None
        self._period: Array | None = None
        self._log_density: float | None = None

    def __call__(self, index_set: IndexSet, parameters: Parameters) -> LinearStatistics:
        """Statistics of the columns of a set."""
        if self._period is None or not np.array_equal(self._period, parameters.period) or self._missing(index_set):
            self._gather(index_set, parameters)
        rows = self._source.covering(index_set, parameters).linear(index_set, self._settings.intercept)[0]
        return self.moments(index_set).linear(rows, self._noise.variance)

    def moments(self, index_set: IndexSet) -> Moments:
        """Moments of a set in the pool."""
        assert self._pool is not None
        assert self._moments is not None
        return self._moments.take(_positions(self._pool, index_set, len(self._prior.columns)))

    def select_near(self, problem: Problem, parameters: Parameters, size: int) -> IndexSet:
        """The set of so many components, or of a pool that has nearly all of them: another pool takes long."""
        wanted = problem.select(parameters, size)
        is_free = self._settings.index_set == "adaptive" and not self._prior.has_trend
        is_at_hand = self._period is not None and np.array_equal(self._period, parameters.period)
        if self._pool is None or not (is_free and is_at_hand):
            return wanted
        if not 0 < self._missing(wanted) <= _FEW_MISSING * len(wanted.frequencies):
            return wanted
        return self._prior.sum_kernel(parameters).largest_among(self._pool.frequencies[1:], size)

    def _missing(self, index_set: IndexSet) -> int:
        """How many frequencies of a set the pool lacks."""
        assert self._pool is not None
        held = set(map(bytes, self._pool.frequencies))
        return sum(bytes(one) not in held for one in index_set.frequencies)

    def _gather(self, index_set: IndexSet, parameters: Parameters) -> None:
        """Moments of a set and what lies around it."""
        pool = index_set
        if self._settings.index_set == "adaptive":
            shorter = self._prior.with_scaled_lengths(parameters, 1 / _SHORTER)
            wider = self._prior.select(shorter, int(_MARGIN * index_set.n_components))
            before = np.empty((0, index_set.dimension), dtype=np.int64)
            if self._period is not None and np.array_equal(self._period, parameters.period) and self._pool is not None:
                before = self._pool.frequencies
            pool = from_frequencies(np.vstack([index_set.frequencies, before, wider.frequencies]))
        statistics = self._source.covering(pool, parameters)
        learned = Learned(parameters, pool, np.nan)
        columns = SeriesColumns.of(self._series, self._source, learned, self._settings.intercept)
        rows = statistics.linear(pool, self._settings.intercept)[0]
        if self._log_density is None:
            density, _ = log_density(columns.targets(slice(None)), self._noise, self._series.grid)
            self._log_density = density - float(np.log(self._series.scale).sum())
        self._moments = columns.moments(rows, self._noise, self._log_density)
        self._pool, self._period = pool, parameters.period


def _positions(pool: IndexSet, index_set: IndexSet, n_plain: int) -> NDArray[np.int64]:
    """Columns of a set, plain ones last, among those of a pool."""
    where = {bytes(one): i for i, one in enumerate(pool.frequencies)}
    numbers = np.array([where[bytes(one)] for one in index_set.frequencies])
    pairs = np.stack([2 * numbers - 1, 2 * numbers], axis=1).ravel()[1:]
    pairs[0] = 0
    return np.append(pairs, 2 * len(pool.frequencies) - 1 + np.arange(n_plain))
