"""The noise of a fitted model as a process in time, which goes on from its last rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import cho_factor, cho_solve

from torusgp.engine.series import Autocovariance, TimeGrid

Array = NDArray[np.float64]

MOST_ROWS = 1000  # last rows that the future depends on
_PREDECESSORS = 60  # rows before that the density of a row depends on


@dataclass(frozen=True)
class Levels:
    """Another level of the noise from certain times on.

    Attributes
    ----------
    starts : ndarray of shape (n_steps,)
        Times of the first rows of each stretch but the first.
    variance : float
        That of the levels.
    """

    starts: Array
    variance: float

    @property
    def variances(self) -> Array:
        """Prior variances of the levels, shape (n_steps + 1,)."""
        return np.full(len(self.starts) + 1, self.variance)

    def columns(self, times: Array) -> Array:
        """Which stretch times are in, shape (n_times, n_steps + 1)."""
        stretches = np.searchsorted(self.starts, times, side="right")
        return np.eye(len(self.starts) + 1)[stretches]

    def between(self, times: Array, others: Array) -> Array:
        """Covariances of the levels at times, shape (n_times, n_others)."""
        return self.variance * self.columns(times) @ self.columns(others).T


@dataclass(frozen=True)
class NoiseProcess:
    """Stationary noise in time, beside steps in its level, given the residuals of the last rows.

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
    cells : ndarray of int, shape (n_last,)
        Cells of the last rows.
    times : ndarray of shape (n_last,)
        Their times.
    residuals : ndarray of shape (n_last,)
        Their targets less the posterior mean.
    coordinates : ndarray of shape (n_last, dimension)
        Their coordinates on the axes of the model.
    plain : ndarray of shape (n_last, n_plain)
        Their plain columns.
    scales : ndarray of shape (n_last,)
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

    def _cells(self, times: Any) -> NDArray[np.int64]:
        times = np.asarray(times, dtype=float)
        if len(times) and times.min() <= self.last_time:
            raise ValueError(
                f"A forecast is for times after the last row, which is at {self.last_time:.10g}; got "
                f"{times.min():.10g}. Use predict for times before it."
            )
        return self.cells[-1] + np.maximum(1, np.rint((times - self.last_time) / self.step)).astype(np.int64)

    @cached_property
    def _factor(self) -> Any:
        covariance = self.autocovariance.among(self.cells)
        if self.levels is not None:
            covariance += self.levels.between(self.times, self.times)
        return cho_factor(covariance, lower=True)

    def _cross(self, times: Any, cells: NDArray[np.int64]) -> Array:
        """Covariances of the noise of future times with that of the last rows, in units of the scales."""
        covariance = self.autocovariance.between(cells, self.cells)
        return covariance if self.levels is None else covariance + self.levels.between(times, self.times)

    def gain(self, times: Any) -> Array:
        """Regression of the noise at future times on the residuals of the last rows, shape (n_times, n_last)."""
        times, cells = np.asarray(times, dtype=float), self._cells(times)
        result = np.zeros((len(cells), len(self.cells)))
        near = cells - self.cells[-1] < (self.autocovariance.n_lags if self.levels is None else np.inf)
        cross = self._cross(times[near], cells[near])
        result[near] = cho_solve(self._factor, cross.T).T / self.scales
        return result

    def mean_and_variance(self, times: Any) -> tuple[Array, Array]:
        """Conditional mean and variance of the noise at future times."""
        gain = self.gain(times)
        variance = self.variance + (0.0 if self.levels is None else self.levels.variance)
        known = np.einsum("ij,ij->i", self._cross(times, self._cells(times)), gain * self.scales)
        return gain @ self.residuals, np.maximum(variance - known, 0.0)

    def covariance(self, times: Any) -> Array:
        """Conditional covariance of the noise between future times."""
        cells = self._cells(times)
        cross, own = self._cross(times, cells), self.autocovariance.among(cells)
        if self.levels is not None:
            own += self.levels.between(times, times)
        return own - cross @ cho_solve(self._factor, cross.T)

    def sample(self, times: Any, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Paths of the noise at future times, given the residuals of the last rows, shape (n_times, n_samples)."""
        before, after = self.sample_paths(times, n_samples, random_state)
        return after + self.gain(times) @ (self.residuals[:, None] - before)

    def sample_paths(self, times: Any, n_samples: int, random_state: np.random.RandomState) -> tuple[Array, Array]:
        """Paths of the noise at the last rows and at future times, independent of the residuals.

        Returns
        -------
        before : ndarray of shape (n_last, n_samples)
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
        n_last = len(self.cells)
        return drawn[:n_last] * self.scales[:, None], drawn[n_last:]

    def to_archive(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Content for JSON, and arrays."""
        names = ("cells", "times", "residuals", "coordinates", "plain", "scales")
        content = {"step": self.step, "time_input": self.time_input, "block": self.block}
        arrays = {"autocovariance": self.autocovariance.values, **{name: getattr(self, name) for name in names}}
        if self.levels is not None:
            arrays["level_starts"] = self.levels.starts
            content["level_variance"] = self.levels.variance
        return content | {"nugget": self.autocovariance.nugget}, arrays

    @classmethod
    def from_archive(cls, content: dict[str, Any], arrays: dict[str, Any]) -> NoiseProcess:
        """Invert :meth:`to_archive`, or raise if its parts do not fit together."""
        rest = {name: array for name, array in arrays.items() if name not in ("autocovariance", "level_starts")}
        own = {name: value for name, value in content.items() if name not in ("nugget", "level_variance")}
        levels = None
        if "level_starts" in arrays:
            levels = Levels(arrays["level_starts"], float(content["level_variance"]))
            starts, variance = levels.starts, levels.variance
            ordered = np.ndim(starts) == 1 and bool((np.diff(starts) > 0).all()) and np.isfinite(starts).all()
            if not (ordered and np.isfinite(variance) and variance > 0):
                raise ValueError(f"the stored steps in the level, at {starts}, have no order, or no variance.")
        autocovariance = Autocovariance(arrays["autocovariance"], float(content["nugget"]))
        process = cls(autocovariance, **own, **rest, levels=levels)
        n_last = len(process.cells)
        numbers = [process.step, process.block, process.variance, *(np.sum(one) for one in rest.values())]
        if not (np.isfinite(numbers).all() and process.step > 0 and process.variance > 0):
            raise ValueError("the stored noise is not finite, or has no variance.")
        if not n_last or any(len(one) != n_last for one in rest.values()) or not (np.diff(process.cells) >= 0).all():
            raise ValueError(f"the last rows of the stored noise are {[len(one) for one in rest.values()]}.")
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
