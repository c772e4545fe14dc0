r"""The next rows of a series, and those of its gaps: a fitted model, and its noise that follows from that of rows.

The noise of later rows is regressed on the residuals of the last ones, :math:`e_* \approx K (y - F w)`, and that of
rows in a gap on those of the rows around it. What is not known of the weights enters both: a forecast is
:math:`(F_* - K F) w + K y` and noise, so that an error of the level, which these residuals show, does not widen the
intervals of the next rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.series import TimeGrid
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.noise_process import MOST_ROWS, NEAR, NoiseProcess
from torusgp.kernels.product import to_phases

Array = NDArray[np.float64]

_MOST_KEPT = 100_000  # last rows that are kept at most, for what is in gaps between them


@dataclass(frozen=True)
class SeriesForecast:
    """Observations of a series at times without a row.

    Attributes
    ----------
    fitted : FittedTorusGP
        The function.
    process : NoiseProcess
        The noise.
    X : ndarray of shape (n_points, n_inputs)
        Inputs at these times.
    times : ndarray of shape (n_points,)
        The times.
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
        mean, variance = self.fitted.mean(self.X)[:, 0], np.empty(len(self.X))
        for process, groups in self.process.windows(self.times):
            of_rows = self._columns_of(process)
            for some in groups:
                gain, left = process.regression(self.times[some])
                scale = self.scale[some]
                mean[some] += scale * (gain @ process.residuals)
                unknown = self.fitted.posterior.whiten(self._columns(some) - scale[:, None] * (gain @ of_rows), 0)
                variance[some] = (unknown**2).sum(axis=0) + scale**2 * left
        return mean, variance + self.fitted.later_variance(self.X)

    def covariance(self) -> Array:
        """Covariance between them, shape (n_points, n_points), after the last row."""
        process = self._process_at_last()
        gain = self.scale[:, None] * process.regression(self.times)[0]
        unknown = self.fitted.posterior.whiten(self._columns(slice(None)) - gain @ self._columns_of(process), 0)
        noise = np.outer(self.scale, self.scale) * process.covariance(self.times)
        return unknown.T @ unknown + noise + self.fitted.later_covariance(self.X)

    def sample(self, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Paths after the last row, shape (n_points, n_samples)."""
        fitted, process = self.fitted, self._process_at_last()
        draws = fitted.sample_weights(n_samples, random_state)[:, 0]  # (n_columns, n_samples)
        before, after = process.sample_paths(self.times, n_samples, random_state)
        residuals = process.residuals[:, None] - self._columns_of(process) @ (draws - fitted.posterior.weights)
        noise = after + process.regression(self.times)[0] @ (residuals - before)
        later = fitted.later_draws(self.X, n_samples, random_state)
        return fitted.values(self.X, draws) + fitted.offset + self.scale[:, None] * noise + later

    def _process_at_last(self) -> NoiseProcess:
        """The noise given the last rows alone, on which all times depend."""
        last = self.process.last_time
        if len(self.times) and self.times.min() <= last:
            raise ValueError(
                f"Joint forecasts are for times after the last row, which is at {last:.10g}; got "
                f"{self.times.min():.10g}. Means, standard deviations and quantiles are for gaps between rows, too."
            )
        return self.process.at_last()

    def _columns_of(self, process: NoiseProcess) -> Array:
        """Components at the rows of a process."""
        phases = to_phases(process.coordinates, self.fitted.parameters.period)
        plain = process.plain if process.plain.shape[1] else None
        beside = self.fitted.plain_in_units(plain, len(phases))
        return np.hstack([basis_columns(phases, self.fitted.index_set.frequencies), beside])

    def _columns(self, some: Any) -> Array:
        """Components at some of the times."""
        fitted, X = self.fitted, self.X[some]
        return np.hstack([basis_columns(fitted.phases(X), fitted.index_set.frequencies), fitted.plain(X)])


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
    noise = process.autocovariance
    grid = TimeGrid.of(times, 2 * noise.n_lags, process.step)
    kept = slice(_first_kept(grid), None)
    if not np.diff(grid.cells[kept]).all():
        noise = noise.apart()
    own = None if plain is None else plain[kept]
    mean = fitted.mean_at(coordinates[kept], fitted.plain_in_units(own, len(y[kept])))
    process = replace(
        process,
        autocovariance=noise,
        cells=grid.cells[kept],
        times=times[kept],
        residuals=y[kept] - mean[:, 0],
        coordinates=coordinates[kept],
        plain=np.empty((len(y[kept]), 0)) if own is None else own,
        scales=scale[kept],
    )
    return fitted.with_process(process)


def _first_kept(grid: TimeGrid) -> int:
    """First of the rows from which on they tell of the future, or of a gap."""
    n_rows = len(grid)
    gaps = np.flatnonzero(np.diff(grid.cells) > 1) if grid.is_regular else np.zeros(1, dtype=np.int64)
    first = min(n_rows - MOST_ROWS, gaps[0] - 2 * NEAR if len(gaps) else n_rows)
    return max(0, first, n_rows - _MOST_KEPT)
