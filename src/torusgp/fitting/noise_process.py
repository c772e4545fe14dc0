"""The noise of a fitted model as a process in time, which goes on from its last rows, and between rows around gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import cho_factor, cho_solve

from torusgp.engine.series import Autocovariance, TimeGrid

Array = NDArray[np.float64]

MOST_ROWS = 1000  # last rows that the future depends on
NEAR = 250  # rows before and after a gap that what is in it depends on, and at most twice as many
_MOST_TIMES = 1000  # whose noise is regressed on rows at a time
_PREDECESSORS = 60  # rows before that the density of a row depends on


@dataclass(frozen=True)
class Levels:
    """Another level of the noise from certain times on.

    Attributes
    ----------
    ends, starts : ndarray of shape (n_steps,)
        Times of the last row of each stretch but the last, and of the first of the next. The level steps anywhere
        between the two, as likely as anywhere else there.
    variance : float
        That of the levels.
    """

    ends: Array
    starts: Array
    variance: float

    @property
    def variances(self) -> Array:
        """Prior variances of the levels, shape (n_steps + 1,)."""
        return np.full(len(self.starts) + 1, self.variance)

    def columns(self, times: Array) -> Array:
        """How likely times are in each stretch, shape (n_times, n_steps + 1): certain, but where a gap has a step."""
        times = np.asarray(times, dtype=float)[:, None]
        room = np.maximum(self.starts - self.ends, np.finfo(float).tiny)  # two rows may share their time
        has_begun = np.where(times >= self.starts, 1.0, np.clip((times - self.ends) / room, 0.0, 1.0))
        return -np.diff(has_begun, axis=1, prepend=1.0, append=0.0)

    def between(self, times: Array, others: Array) -> Array:
        """Covariances of the levels at different times, shape (n_times, n_others)."""
        return self.variance * self.columns(times) @ self.columns(others).T


@dataclass(frozen=True)
class NoiseProcess:
    """Stationary noise in time, beside steps in its level, given the residuals of rows.

    These are the last ones; where there are gaps, the others too.

    Attributes
    ----------
    autocovariance : Autocovariance
        Covariance of the noise of two rows by their distance in cells of a grid of times.
    step : float
        Distance between cells, in units of the time input.
    time_input : int or None
        Which input tells the time; None if times are given beside the inputs.
    block : float
        Duration of the blocks of rows that were left out to estimate it: what lasts longer it cannot tell.
    cells : ndarray of int, shape (n_rows,)
        Cells of the rows. A gap has room for noise that is independent of the rows on both sides.
    times : ndarray of shape (n_rows,)
        Their times.
    residuals : ndarray of shape (n_rows,)
        Their targets less the posterior mean.
    coordinates : ndarray of shape (n_rows, dimension)
        Their coordinates on the axes of the model.
    plain : ndarray of shape (n_rows, n_plain)
        Their plain columns.
    scales : ndarray of shape (n_rows,)
        Their known noise scales; ones where there are none.
    levels : Levels or None, default=None
        Steps in the level of the noise, in the same units.
    """

    autocovariance: Autocovariance
    step: float
    time_input: int | None
    block: float
    cells: NDArray[np.int64]
    times: Array
    residuals: Array
    coordinates: Array
    plain: Array
    scales: Array
    levels: Levels | None = None

    @property
    def variance(self) -> float:
        """Stationary variance, that of noise in the far future of the same level."""
        return self.autocovariance.variance

    @property
    def last_time(self) -> float:
        """Time of the last row."""
        return float(self.times[-1])

    def autocovariance_at(self, lags: Any) -> Array:
        """Covariance of the noise of two rows that lie so far apart in time, between lags of the grid linearly.

        Parameters
        ----------
        lags : array-like
            Differences of times.
        """
        lags = np.abs(np.asarray(lags, dtype=float)) / self.step
        values = self.autocovariance.values
        result = np.interp(lags, np.arange(len(values) + 1), np.append(values, 0.0))
        return np.asarray(result + np.where(lags == 0, self.autocovariance.nugget, 0.0))

    def is_open(self, times: Any) -> NDArray[np.bool_]:
        """Whether times have no row, and rows before them: their noise follows from that of rows.

        A row that shares its time with one of these could have the same noise, or not: nothing is known of that.
        """
        times = np.asarray(times, dtype=float)
        before, after = self._neighbours(times)
        is_between = times > self.times[before]
        if not self.autocovariance.nugget:  # of two rows in one cell the noise would be the same
            cells = self._nearest_cells(times)
            is_between &= (cells != self.cells[before]) & ((cells != self.cells[after]) | (before == after))
        return (times > self.times[0]) & (times != self.times[after]) & is_between

    def windows(self, times: Any) -> Iterator[tuple[NoiseProcess, list[NDArray[np.intp]]]]:
        """The process of the rows near some times, and positions of these times, few at a time."""
        n_rows, after = len(self.times), np.searchsorted(self.times, times)
        groups = np.where(after == n_rows, -1, after // NEAR)
        for group in np.unique(groups):
            near = self.at_last() if group < 0 else self._take(slice(max(0, (group - 1) * NEAR), (group + 2) * NEAR))
            chosen = np.flatnonzero(groups == group)
            yield near, np.array_split(chosen, max(1, -(-len(chosen) // _MOST_TIMES)))

    def at_last(self) -> NoiseProcess:
        """The process of the last rows alone."""
        return self._take(slice(max(0, len(self.times) - MOST_ROWS), None))

    def _take(self, rows: slice) -> NoiseProcess:
        names = ("cells", "times", "residuals", "coordinates", "plain", "scales")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def _neighbours(self, times: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of the rows before and after times; the last row has none after it."""
        after = np.searchsorted(self.times, times)
        return np.maximum(after - 1, 0), np.minimum(after, len(self.times) - 1)

    def _nearest_cells(self, times: Array) -> NDArray[np.int64]:
        """Cells of times, counted from the nearer row: long gaps have fewer cells than time."""
        before, after = self._neighbours(times)
        steps = np.rint((times - self.times[before]) / self.step)
        left = np.rint((self.times[after] - times) / self.step)
        room = np.where(before == after, np.inf, (self.cells[after] - self.cells[before]) // 2)
        is_nearer = (before == after) | (steps <= left)
        cells = np.where(
            is_nearer, self.cells[before] + np.minimum(steps, room), self.cells[after] - np.minimum(left, room)
        )
        return np.where(times > self.last_time, np.maximum(cells, self.cells[-1] + 1), cells).astype(np.int64)

    def _cells(self, times: Any) -> NDArray[np.int64]:
        times = np.asarray(times, dtype=float)
        closed = times[~self.is_open(times)]
        if len(closed):
            raise ValueError(
                f"A forecast is for times after the last row, which is at {self.last_time:.10g}, or in gaps between "
                f"rows; got {closed.min():.10g}. Use predict for other times."
            )
        return self._nearest_cells(times)

    def _lags(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Distances of cells from those of the nearest rows."""
        after = np.searchsorted(self.cells, cells)
        around = [self.cells[np.clip(one, 0, len(self.cells) - 1)] for one in (after - 1, after)]
        return np.minimum(*(np.abs(cells - one) for one in around))

    @cached_property
    def _factor(self) -> Any:
        covariance = self.autocovariance.among(self.cells)
        if self.levels is not None:
            covariance += self.levels.between(self.times, self.times)
        return cho_factor(covariance, lower=True)

    def _cross(self, times: Any, cells: NDArray[np.int64]) -> Array:
        """Covariances of the noise of times with that of the rows, in units of the scales."""
        covariance = self.autocovariance.between(cells, self.cells)
        return covariance if self.levels is None else covariance + self.levels.between(times, self.times)

    def regression(self, times: Any) -> tuple[Array, Array]:
        """Regression of the noise at times on the residuals of the rows.

        Returns
        -------
        gain : ndarray of shape (n_times, n_rows)
        variance : ndarray of shape (n_times,)
            What the residuals leave of the variance.
        """
        times, cells = np.asarray(times, dtype=float), self._cells(times)
        gain = np.zeros((len(cells), len(self.cells)))
        variance = np.full(len(cells), self.variance + (0.0 if self.levels is None else self.levels.variance))
        near = self._lags(cells) < (self.autocovariance.n_lags if self.levels is None else np.inf)
        cross = self._cross(times[near], cells[near])
        known = cho_solve(self._factor, cross.T).T
        gain[near] = known / self.scales
        variance[near] = np.maximum(variance[near] - np.einsum("ij,ij->i", cross, known), 0.0)
        return gain, variance

    def mean_and_variance(self, times: Any) -> tuple[Array, Array]:
        """Conditional mean and variance of the noise at times."""
        gain, variance = self.regression(times)
        return gain @ self.residuals, variance

    def covariance(self, times: Any) -> Array:
        """Conditional covariance of the noise between times."""
        cells = self._cells(times)
        cross, own = self._cross(times, cells), self.autocovariance.among(cells)
        if self.levels is not None:
            own += self.levels.between(times, times)
        return own - cross @ cho_solve(self._factor, cross.T)

    def sample(self, times: Any, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Paths of the noise at times, given the residuals of the rows, shape (n_times, n_samples)."""
        before, after = self.sample_paths(times, n_samples, random_state)
        return after + self.regression(times)[0] @ (self.residuals[:, None] - before)

    def sample_paths(self, times: Any, n_samples: int, random_state: np.random.RandomState) -> tuple[Array, Array]:
        """Paths of the noise at the rows and at times, independent of the residuals.

        Returns
        -------
        before : ndarray of shape (n_rows, n_samples)
        after : ndarray of shape (n_times, n_samples)
        """
        cells = np.concatenate([self.cells, self._cells(times)]) - self.cells[0]
        noise = self.autocovariance
        size = next_fast_len(int(cells.max(initial=0)) + 1 + noise.n_lags, real=True)
        root = np.sqrt(noise.power(size))
        drawn = irfft(rfft(random_state.standard_normal((n_samples, size))) * root, size)[:, cells].T
        drawn += np.sqrt(noise.nugget) * random_state.standard_normal(drawn.shape)
        if self.levels is not None:
            levels = np.sqrt(self.levels.variances)[:, None] * random_state.standard_normal(
                (len(self.levels.variances), n_samples)
            )
            drawn += self.levels.columns(np.concatenate([self.times, times])) @ levels
        n_rows = len(self.cells)
        return drawn[:n_rows] * self.scales[:, None], drawn[n_rows:]

    def to_archive(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Content for JSON, and arrays."""
        names = ("cells", "times", "residuals", "coordinates", "plain", "scales")
        content = {"step": self.step, "time_input": self.time_input, "block": self.block}
        arrays = {"autocovariance": self.autocovariance.values, **{name: getattr(self, name) for name in names}}
        if self.levels is not None:
            arrays |= {"level_ends": self.levels.ends, "level_starts": self.levels.starts}
            content["level_variance"] = self.levels.variance
        return content | {"nugget": self.autocovariance.nugget}, arrays

    @classmethod
    def from_archive(cls, content: dict[str, Any], arrays: dict[str, Any]) -> NoiseProcess:
        """Invert :meth:`to_archive`, or raise if its parts do not fit together."""
        apart = ("autocovariance", "level_ends", "level_starts")
        rest = {name: array for name, array in arrays.items() if name not in apart}
        own = {name: value for name, value in content.items() if name not in ("nugget", "level_variance")}
        levels = None
        if "level_starts" in arrays:
            levels = Levels(arrays["level_ends"], arrays["level_starts"], float(content["level_variance"]))
            starts, variance = levels.starts, levels.variance
            alike = np.ndim(starts) == 1 and levels.ends.shape == starts.shape
            ordered = alike and bool((levels.ends <= starts).all() and (np.diff(starts) > 0).all())
            if not (ordered and np.isfinite(variance) and variance > 0):
                raise ValueError(f"the stored steps in the level, at {starts}, have no order, or no variance.")
        autocovariance = Autocovariance(arrays["autocovariance"], float(content["nugget"]))
        process = cls(autocovariance, **own, **rest, levels=levels)
        n_rows = len(process.cells)
        numbers = [process.step, process.block, process.variance, *(np.sum(one) for one in rest.values())]
        if not (np.isfinite(numbers).all() and process.step > 0 and process.variance > 0):
            raise ValueError("the stored noise is not finite, or has no variance.")
        if not n_rows or any(len(one) != n_rows for one in rest.values()) or not (np.diff(process.cells) >= 0).all():
            raise ValueError(f"the rows of the stored noise are {[len(one) for one in rest.values()]}.")
        return process


@dataclass(frozen=True)
class Predecessors:
    """How the noise of each row is expected given at most sixty rows before it.

    Attributes
    ----------
    weights : ndarray of shape (n_patterns, 60)
        Of the row before, the one before that, and so on, for each pattern of distances between them.
    variances : ndarray of shape (n_patterns,)
        What is left of the variance.
    patterns : ndarray of int, shape (n_samples,)
        Which one each row has.
    """

    weights: Array
    variances: Array
    patterns: NDArray[np.int64]

    @classmethod
    def of(cls, noise: Autocovariance, grid: TimeGrid) -> Predecessors:
        """Those of noise on a grid of times."""
        patterns, weights, variances = np.empty(len(grid), dtype=np.int64), [], []
        found: dict[bytes, int] = {}
        for row in range(len(grid)):
            lags = grid.cells[row] - grid.cells[max(0, row - _PREDECESSORS) : row]
            lags = lags[lags < noise.n_lags]
            key = lags.tobytes()
            if key not in found:
                found[key] = len(found)
                own, cross = noise.among(-lags), noise.between(np.zeros(1, dtype=np.int64), -lags)[0]
                known = np.linalg.solve(own, cross) if len(lags) else cross
                weights.append(np.pad(known[::-1], (0, _PREDECESSORS - len(lags))))
                variances.append(max(noise.variance - cross @ known, 1e-12 * noise.variance))
            patterns[row] = found[key]
        return cls(np.array(weights), np.array(variances), patterns)

    @property
    def row_variances(self) -> Array:
        """What is left of the variance of each row, shape (n_samples,)."""
        return self.variances[self.patterns]

    def innovations(self, residuals: Array) -> Array:
        """Residuals less what is expected of them, in units of their standard deviations."""
        rest = residuals.copy()
        for lag, weights in enumerate(self.weights.T[: len(rest) - 1], start=1):
            rest[lag:] -= weights[self.patterns[lag:]] * residuals[:-lag]
        return rest / np.sqrt(self.row_variances)

    def gains(self, innovations: Array) -> tuple[Array, Array]:
        """What another level from each row on adds to the log density of the rows, and to that of those after it.

        What is expected given rows before is subtracted from a column of ones from a certain row on, too: the more of
        these rows are in it, the less of it is left.
        """
        n_rows, left = len(innovations), np.ones(len(self.variances))
        products, squares = np.zeros((2, n_rows)), np.zeros((2, n_rows))
        for lag in range(_PREDECESSORS + 1):
            column = (left / np.sqrt(self.variances))[self.patterns[lag:]]
            product, square = column * innovations[lag:], column**2
            if lag == _PREDECESSORS:  # for all rows from here on
                product, square = (np.cumsum(one[::-1])[::-1] for one in (product, square))
            else:
                left = left - self.weights[:, lag]
            which, rows = int(lag > 0), slice(max(n_rows - lag, 0))
            products[which, rows] += product
            squares[which, rows] += square
        products[0] += products[1]
        squares[0] += squares[1]
        whole, later = products**2 / np.maximum(squares, np.finfo(float).tiny) / 2
        return whole, later


def log_density(residuals: Array, noise: Autocovariance, grid: TimeGrid) -> tuple[float, float]:
    """Log density of noise, each row given at most sixty rows before it, and its quadratic form."""
    before = Predecessors.of(noise, grid)
    square = float(np.sum(before.innovations(residuals) ** 2))
    return -0.5 * (float(np.log(2 * np.pi * before.row_variances).sum()) + square), square
