r"""Smooth functions of the length scale as Chebyshev series, which any array library can evaluate and differentiate.

Logarithms of Fourier coefficients are analytic in the logarithm of the length scale, at least within
:math:`|\mathrm{Im} \log l| < \pi / 4` (there :math:`I_k(l^{-2})` has no zero), and nearly linear at both ends. Their
series converge geometrically: some 100 to 250 terms give four decades of length scales to about 1e-12, also where the
coefficients themselves are far below rounding.
"""

from dataclasses import dataclass

import numpy as np
from scipy.fft import dct

_EDGE = 0.98  # the bounds in the variable of the series: arccos has no derivative at one
_FEWEST, _MOST = 64, 2048  # terms
_TOLERANCE = 1e-12  # of the last terms, relative to the largest
_NOISE = 1e-8  # the same where the functions are known no better, so that more terms bring nothing


@dataclass(frozen=True, eq=False)
class ChebyshevTable:
    """Functions of the log length scale within bounds; beyond them they go on as straight lines.

    The coefficients have the shape (n_terms, n_functions), the slopes at both bounds (2, n_functions), in the variable
    of the series.
    """

    centre: float
    half_width: float
    coefficients: np.ndarray
    end_slopes: np.ndarray

    def __call__(self, xp, log_length_scale):
        """Values of shape (..., n_functions) at logarithms of shape (..., 1)."""
        x = (log_length_scale - self.centre) / self.half_width
        degrees = xp.constant(np.arange(len(self.coefficients), dtype=float))
        inside = xp.cos(xp.arccos(xp.clip(x, -_EDGE, _EDGE)) * degrees) @ xp.constant(self.coefficients)
        below, above = xp.clip(x + _EDGE, -np.inf, 0.0), xp.clip(x - _EDGE, 0.0, np.inf)
        first, last = xp.constant(self.end_slopes[0]), xp.constant(self.end_slopes[1])
        return inside + below * first + above * last


def tabulate(function, bounds, name):
    """Chebyshev series of functions of the logarithm of the length scale, of as many terms as they need.

    The function takes a length scale and returns an array of shape (n_functions,).
    """
    low, high = np.log(bounds)
    centre, half_width = (low + high) / 2, (high - low) / (2 * _EDGE)

    def evaluate(x):
        values = np.array([function(float(np.exp(centre + half_width * one))) for one in x])
        if not np.isfinite(values).all():
            raise ValueError(
                f"{name} has coefficients that are zero, or too small to be known, for length scales within {bounds}, "
                "and the adapters interpolate their logarithms. Take narrower length_scale_bounds, a smaller index "
                "set, or a family that is given by a formula."
            )
        return values

    n_terms, previous = _FEWEST, np.inf
    values = evaluate(_nodes(n_terms))
    while True:
        coefficients = _series(values)
        size = np.maximum(1.0, np.abs(coefficients).max(axis=0))
        last_terms = float((np.abs(coefficients[-n_terms // 8 :]) / size).max())
        if last_terms <= _TOLERANCE or (last_terms <= _NOISE and last_terms > previous / 10):
            break
        if n_terms == _MOST:
            raise ValueError(
                f"{name} is not smooth enough in the length scale within {bounds} to be interpolated: after {n_terms} "
                f"terms the error is {last_terms:.1e}. Take narrower length_scale_bounds."
            )
        n_terms, previous = 2 * n_terms, last_terms
        refined = np.empty((n_terms + 1, values.shape[1]))
        refined[::2] = values
        refined[1::2] = evaluate(_nodes(n_terms)[1::2])
        values = refined
    slopes = np.polynomial.chebyshev.chebder(coefficients)
    ends = np.polynomial.chebyshev.chebval(np.array([-_EDGE, _EDGE]), slopes).T
    return ChebyshevTable(float(centre), float(half_width), coefficients, ends)


def _nodes(n_terms):
    return np.cos(np.pi * np.arange(n_terms + 1) / n_terms)


def _series(values):
    """Coefficients of the polynomials through values at the extrema of the last Chebyshev polynomial."""
    coefficients = dct(values, type=1, axis=0) / (len(values) - 1)
    coefficients[[0, -1]] /= 2
    return coefficients
