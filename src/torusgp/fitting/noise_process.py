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
class NoiseProcess:
    """Stationary noise in time, given the residuals of the last rows.

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

    @property
    def variance(self) -> float:
        """Stationary variance, that of noise in the far future."""
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
        return cho_factor(self.autocovariance.among(self.cells), lower=True)

    def gain(self, times: Any) -> Array:
        """Regression of the noise at future times on the residuals of the last rows, shape (n_times, n_last)."""
        cells = self._cells(times)
        result = np.zeros((len(cells), len(self.cells)))
        near = cells - self.cells[-1] < self.autocovariance.n_lags
        cross = self.autocovariance.between(cells[near], self.cells)
        result[near] = cho_solve(self._factor, cross.T).T / self.scales
        return result

    def mean_and_variance(self, times: Any) -> tuple[Array, Array]:
        """Conditional mean and variance of the noise at future times."""
        cross = self.autocovariance.between(self._cells(times), self.cells)
        gain = self.gain(times)
        variance = self.variance - np.einsum("ij,ij->i", cross, gain * self.scales)
        return gain @ self.residuals, np.maximum(variance, 0.0)

    def covariance(self, times: Any) -> Array:
        """Conditional covariance of the noise between future times."""
        cells = self._cells(times)
        cross = self.autocovariance.between(cells, self.cells)
        return self.autocovariance.among(cells) - cross @ cho_solve(self._factor, cross.T)

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
        n_last = len(self.cells)
        return drawn[:n_last] * self.scales[:, None], drawn[n_last:]

    def to_archive(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Content for JSON, and arrays."""
        names = ("cells", "times", "residuals", "coordinates", "plain", "scales")
        content = {"step": self.step, "time_input": self.time_input, "block": self.block}
        arrays = {"autocovariance": self.autocovariance.values, **{name: getattr(self, name) for name in names}}
        return content | {"nugget": self.autocovariance.nugget}, arrays

    @classmethod
    def from_archive(cls, content: dict[str, Any], arrays: dict[str, Any]) -> NoiseProcess:
        """Invert :meth:`to_archive`, or raise if its parts do not fit together."""
        rest = {name: array for name, array in arrays.items() if name != "autocovariance"}
        own = {name: value for name, value in content.items() if name != "nugget"}
        process = cls(Autocovariance(arrays["autocovariance"], float(content["nugget"])), **own, **rest)
        n_last = len(process.cells)
        numbers = [process.step, process.block, process.variance, *(np.sum(one) for one in rest.values())]
        if not (np.isfinite(numbers).all() and process.step > 0 and process.variance > 0):
            raise ValueError("the stored noise is not finite, or has no variance.")
        if not n_last or any(len(one) != n_last for one in rest.values()) or not (np.diff(process.cells) >= 0).all():
            raise ValueError(f"the last rows of the stored noise are {[len(one) for one in rest.values()]}.")
        return process


def log_density(residuals: Array, noise: Autocovariance, grid: TimeGrid) -> tuple[float, float]:
    """Log density of noise, each row given at most sixty rows before it, and its quadratic form."""
    n_rows = len(residuals)
    total, square, solved = 0.0, 0.0, {}
    for row in range(n_rows):
        first = max(0, row - _PREDECESSORS)
        lags = grid.cells[row] - grid.cells[first:row]
        lags = lags[lags < noise.n_lags]
        before = residuals[row - len(lags) : row]
        key = lags.tobytes()
        if key not in solved:
            cells = -lags
            own, cross = noise.among(cells), noise.between(np.zeros(1, dtype=np.int64), cells)[0]
            weights = np.linalg.solve(own, cross) if len(cells) else cross
            solved[key] = weights, max(noise.variance - cross @ weights, 1e-12 * noise.variance)
        weights, variance = solved[key]
        total += np.log(2 * np.pi * variance)
        square += (residuals[row] - weights @ before) ** 2 / variance
    return -0.5 * float(total + square), float(square)
