r"""The next rows of a series: a fitted model, and its noise that goes on from the last rows.

The noise of future rows is regressed on the residuals of the last ones, :math:`e_* \approx K (y - F w)`. What is not
known of the weights enters both: a forecast is :math:`(F_* - K F) w + K y` and noise, so that an error of the level,
which the last residuals show, does not widen the intervals of the next rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import columns as basis_columns
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.noise_process import NoiseProcess
from torusgp.kernels.product import to_phases

Array = NDArray[np.float64]

_CHUNK_ENTRIES = 2**22  # values of columns that are held at a time


def mean_and_variance(
    fitted: FittedTorusGP, process: NoiseProcess, X: NDArray[Any], scale: Array
) -> tuple[Array, Array]:
    """Means and variances of observations after the last row, whose noise has these scales; shape (n_samples,)."""
    times = X[:, process.time_input].astype(float)
    last = _last_columns(fitted, process)
    noise_mean, noise_variance = process.mean_and_variance(times)
    mean = fitted.mean(X)[:, 0] + scale * noise_mean
    variance = np.empty(len(X))
    step = max(1, _CHUNK_ENTRIES // last.shape[1])
    for start in range(0, len(X), step):
        some = slice(start, start + step)
        columns = _columns(fitted, X[some]) - scale[some, None] * process.gain(times[some]) @ last
        variance[some] = (fitted.posterior.whiten(columns, 0) ** 2).sum(axis=0)
    return mean, variance + scale**2 * noise_variance


def covariance(fitted: FittedTorusGP, process: NoiseProcess, X: NDArray[Any], scale: Array) -> Array:
    """Covariance of observations after the last row, shape (n_samples, n_samples)."""
    times = X[:, process.time_input].astype(float)
    columns = _columns(fitted, X) - scale[:, None] * process.gain(times) @ _last_columns(fitted, process)
    whitened = fitted.posterior.whiten(columns, 0)
    return whitened.T @ whitened + np.outer(scale, scale) * process.covariance(times)


def sample(
    fitted: FittedTorusGP,
    process: NoiseProcess,
    X: NDArray[Any],
    scale: Array,
    n_samples: int,
    random_state: np.random.RandomState,
) -> Array:
    """Paths of observations after the last row, shape (n_points, n_samples)."""
    times = X[:, process.time_input].astype(float)
    draws = fitted.posterior.sample_weights(n_samples, random_state)[:, 0]  # (n_columns, n_samples)
    moved = draws - fitted.posterior.weights
    before, after = process.sample_paths(times, n_samples, random_state)
    residuals = process.residuals[:, None] - _last_columns(fitted, process) @ moved
    noise = after + process.gain(times) @ (residuals - before)
    return fitted.values(X, draws) + fitted.offset + scale[:, None] * noise


def _last_columns(fitted: FittedTorusGP, process: NoiseProcess) -> Array:
    """Columns of the model at the last rows."""
    phases = to_phases(process.coordinates, fitted.parameters.period)
    plain = fitted.plain_in_units(process.plain if process.plain.shape[1] else None, len(phases))
    return np.hstack([basis_columns(phases, fitted.index_set.frequencies), plain])


def _columns(fitted: FittedTorusGP, X: NDArray[Any]) -> Array:
    return np.hstack([basis_columns(fitted.phases(X), fitted.index_set.frequencies), fitted.plain(X)])
