r"""The next rows of a series: a fitted model, and its noise that goes on from the last rows.

The noise of future rows is regressed on the residuals of the last ones, :math:`e_* \approx K (y - F w)`. What is not
known of the weights enters both: a forecast is :math:`(F_* - K F) w + K y` and noise, so that an error of the level,
which the last residuals show, does not widen the intervals of the next rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.series import TimeGrid
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.noise_process import MOST_ROWS, NoiseProcess
from torusgp.kernels.product import to_phases

Array = NDArray[np.float64]

_CHUNK_ENTRIES = 2**22  # values of components that are held at a time


@dataclass(frozen=True)
class SeriesForecast:
    """Observations of a series after its last row.

    Attributes
    ----------
    fitted : FittedTorusGP
        The function.
    process : NoiseProcess
        The noise.
    X : ndarray of shape (n_points, n_inputs)
        Inputs of the rows to come.
    times : ndarray of shape (n_points,)
        Their times.
    scale : ndarray of shape (n_points,)
        Their known noise scales; ones where there are none.
    """

    fitted: FittedTorusGP
    process: NoiseProcess
    X: NDArray[Any]
    times: Array
    scale: Array

    def mean_and_variance(self) -> tuple[Array, Array]:
        """Means and variances, each of shape (n_points,)."""
        noise_mean, noise_variance = self.process.mean_and_variance(self.times)
        variance = np.empty(len(self.X))
        step = max(1, _CHUNK_ENTRIES // self._last.shape[1])
        for start in range(0, len(self.X), step):
            some = slice(start, start + step)
            columns = self._columns(some)
            variance[some] = (self.fitted.posterior.whiten(columns, 0) ** 2).sum(axis=0)
        mean = self.fitted.mean(self.X)[:, 0] + self.scale * noise_mean
        return mean, variance + self.scale**2 * noise_variance

    def covariance(self) -> Array:
        """Covariance between them, shape (n_points, n_points)."""
        whitened = self.fitted.posterior.whiten(self._columns(slice(None)), 0)
        return whitened.T @ whitened + np.outer(self.scale, self.scale) * self.process.covariance(self.times)

    def sample(self, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Paths, shape (n_points, n_samples)."""
        fitted, process = self.fitted, self.process
        draws = fitted.sample_weights(n_samples, random_state)[:, 0]  # (n_columns, n_samples)
        before, after = process.sample_paths(self.times, n_samples, random_state)
        residuals = process.residuals[:, None] - self._last @ (draws - fitted.posterior.weights)
        noise = after + process.gain(self.times) @ (residuals - before)
        return fitted.values(self.X, draws) + fitted.offset + self.scale[:, None] * noise

    @cached_property
    def _last(self) -> Array:
        """Components at the last rows."""
        phases = to_phases(self.process.coordinates, self.fitted.parameters.period)
        plain = self.process.plain if self.process.plain.shape[1] else None
        beside = self.fitted.plain_in_units(plain, len(phases))
        return np.hstack([basis_columns(phases, self.fitted.index_set.frequencies), beside])

    def _columns(self, some: slice) -> Array:
        """Components at the rows to come, less what the last rows tell of them."""
        fitted, X = self.fitted, self.X[some]
        own = np.hstack([basis_columns(fitted.phases(X), fitted.index_set.frequencies), fitted.plain(X)])
        return own - self.scale[some, None] * (self.process.gain(self.times[some]) @ self._last)


def continued(
    fitted: FittedTorusGP,
    process: NoiseProcess,
    coordinates: Array,
    plain: Array | None,
    y: Array,
    times: Array,
    scale: Array,
) -> FittedTorusGP:
    """The same model, whose noise goes on from other rows, in the order of time: nothing is learned from them."""
    grid = TimeGrid.of(times, process.autocovariance.n_lags, process.step)
    last = slice(max(0, len(y) - MOST_ROWS), None)
    mean, _ = fitted.mean_and_variance_at(coordinates[last], fitted.plain_in_units(_some(plain, last), len(y[last])))
    process = replace(
        process,
        cells=grid.cells[last],
        times=times[last],
        residuals=y[last] - mean[:, 0],
        coordinates=coordinates[last],
        plain=np.empty((len(y[last]), 0)) if plain is None else plain[last],
        scales=scale[last],
    )
    return replace(fitted, noise_process=process, _predictors={})


def _some(plain: Array | None, rows: slice) -> Array | None:
    return None if plain is None else plain[rows]
