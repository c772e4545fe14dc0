"""Autocorrelation of the errors of consecutive rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WINDOW = 5.0  # correlation times over which a correlation time is summed up (Sokal's rule)


def correlation_time(power: NDArray[np.float64]) -> float:
    """Rows over which noise is correlated: the sum of its autocorrelation or of its square, up to a few times itself.

    Squares tell that noise whose sign changes regularly is correlated, too.

    Parameters
    ----------
    power : ndarray
        Autocorrelation or its square, from lag 0 on.

    Returns
    -------
    float
        At least one.
    """
    sums = 2 * np.cumsum(power) - power[0]
    inside = np.arange(len(sums)) < _WINDOW * sums
    return float(sums[-1] if inside.all() else sums[np.argmin(inside)])


def autocorrelation(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlation of values with those a lag of rows later, from lag 0 on, as it is defined for a series."""
    centred = values - values.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(centred))) ** 2
    covariance = np.fft.irfft(spectrum)[: len(centred)]
    return covariance / covariance[0] if covariance[0] > 0 else np.eye(1, len(centred))[0]
