r"""Stationary kernels of the plane, restricted to the circle by the warping (cos, sin).

The distance between two points of the unit circle is :math:`2 |\sin(\theta / 2)|`. The squared exponential
has Bessel coefficients; Matern and rational quadratic are positive mixtures of it over its inverse squared
length scale, so theirs are positive integrals of Bessel functions and keep their relative accuracy in the tail.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from torusgp.kernels.spectra._base import Spectrum, check_frequency, check_positive
from torusgp.kernels.spectra._bessel import log_scaled_bessel
from torusgp.kernels.spectra._matern import check_smoothness, matern_correlation

_NEGLIGIBLE = 42.0  # exp(-42) = 6e-19
_TABLE_ORDERS = 64  # in the first table; each further one has twice as many as all before it
_MOST_TABLES = 7  # up to order 4096: beyond, orders are few and far between
_TABLE_CHUNK = 64


_SMALLEST_ALPHA = 0.01  # the integral over length scales is as long as the inverse
_LARGEST_ALPHA = 1e6


def chord(phase):
    """Distance in the plane between two points of the unit circle at these phases."""
    return 2 * np.abs(np.sin(np.asarray(phase, dtype=float) / 2))


@dataclass(frozen=True)
class SquaredExponential(Spectrum):
    r"""Squared exponential kernel after warping, scikit-learn's ``ExpSineSquared``.

    .. math:: \kappa(\theta) = \exp\left(\frac{\cos\theta - 1}{l^2}\right), \quad
              c_k = e^{-a} I_k(a), \quad a = 1 / l^2.

    Examples
    --------
    >>> import numpy as np
    >>> family = SquaredExponential()
    >>> c = family.coefficients(np.arange(-20, 21), length_scale=0.8)
    >>> bool(np.isclose(c @ np.cos(np.arange(-20, 21) * 0.3), family.kernel(0.3, 0.8), atol=1e-14))
    True
    """

    has_both_at_once = True

    def log_coefficients(self, frequency, length_scale):
        """Logarithms of the coefficients, accurate where the coefficients underflow."""
        return self.log_coefficients_and_gradient(frequency, length_scale)[0]

    def log_coefficients_gradient(self, frequency, length_scale):
        """Derivatives of the log coefficients with respect to the logarithm of the length scale."""
        return self.log_coefficients_and_gradient(frequency, length_scale)[1]

    def log_coefficients_and_gradient(self, frequency, length_scale):
        """Both of the above."""
        argument = check_positive(length_scale, "length_scale") ** -2
        log_value, slope = log_scaled_bessel(check_frequency(frequency), argument)
        return log_value, -2 * slope

    def kernel(self, phase, length_scale):
        """Evaluate the kernel itself at phase differences in radians."""
        return np.exp(-((chord(phase) / check_positive(length_scale, "length_scale")) ** 2) / 2)


class _GammaMixture(Spectrum):
    r"""Squared exponentials mixed over :math:`\log a = \text{offset} + \text{sign} \cdot s`, :math:`e^s \sim` Gamma.

    The trapezoidal rule in s converges geometrically: the integrand is analytic, log-concave and decays at both
    ends. Its step follows the sharpest peak of a block of frequencies, its range the flattest.
    """

    sign: int

    @property
    @abstractmethod
    def shape(self):
        """Shape of the Gamma distribution."""

    has_both_at_once = True

    def _offset(self, length_scale):
        return -self.sign * np.log(self.shape) - 2 * np.log(check_positive(length_scale, "length_scale"))

    def log_coefficients(self, frequency, length_scale):
        """Logarithms of the coefficients, accurate where the coefficients underflow."""
        return self._integrate(frequency, length_scale)[0]

    def log_coefficients_gradient(self, frequency, length_scale):
        """Derivatives of the log coefficients with respect to the logarithm of the length scale."""
        return self.log_coefficients_and_gradient(frequency, length_scale)[1]

    def log_coefficients_and_gradient(self, frequency, length_scale):
        """Both of the above."""
        log_value, mean = self._integrate(frequency, length_scale)
        # Integration by parts moves the derivative from the Bessel function to the density of s.
        return log_value, 2 * self.sign * (self.shape - mean)

    def _log_density(self, s):
        u = s - np.log(self.shape)
        return self.shape * (u - np.expm1(u)) + _log_gamma_peak(self.shape)

    def _log_integrand(self, frequency, s, offset):
        return self._log_density(s) + log_scaled_bessel(frequency, _argument(offset + self.sign * s))[0]

    def _integrate(self, frequency, length_scale):
        """Log coefficients, and the mean of the Gamma variable under the integrand of each."""
        frequency = check_frequency(frequency)
        offset = self._offset(length_scale)
        distinct, inverse = np.unique(frequency, return_inverse=True)
        log_value, mean = np.empty(distinct.size), np.empty(distinct.size)
        octave = np.maximum(np.frexp(distinct / _TABLE_ORDERS)[1], 0)  # number of the table of an order
        # Peaks of high orders stay wide only if their place depends on the length scale rather than on the order.
        tabulated = (octave < (_MOST_TABLES if self.sign < 0 else 1)) & (distinct == np.floor(distinct))
        for table in np.unique(octave[tabulated]).tolist():
            own = tabulated & (octave == table)
            log_value[own], mean[own] = self._integrate_tabulated(distinct[own].astype(int), offset, table)
        if not tabulated.all():
            log_value[~tabulated], mean[~tabulated] = self._integrate_in_blocks(distinct[~tabulated], offset)
        shape = frequency.shape
        return log_value[inverse].reshape(shape), mean[inverse].reshape(shape)

    def _integrate_tabulated(self, orders, offset, octave):
        """Orders of one table: one grid for all, aligned so that its Bessel functions serve all length scales."""
        lower, upper = self._range(float(orders.max()), offset)
        # A bound on the curvature of the log integrand at its peak, where e^s = shape + sign * slope.
        curvature = self.shape + 0.5 + (2 * float(orders.max()) if self.sign > 0 else 0.0)
        step = 0.2 / 2 ** np.ceil(max(0.0, np.log2(0.2 * np.sqrt(curvature) / 0.45)))
        ends = sorted((offset + self.sign * lower, offset + self.sign * upper))  # in log a
        first, last = int(ends[0] // (step * _TABLE_CHUNK)), int(ends[1] // (step * _TABLE_CHUNK))
        chunks = [_bessel_table(step, chunk, octave) for chunk in range(first, last + 1)]
        table = np.concatenate(chunks)[:, orders - _table_orders(octave)[0]]
        log_argument = step * np.arange(first * _TABLE_CHUNK, (last + 1) * _TABLE_CHUNK)
        s = self.sign * (log_argument - offset)
        with np.errstate(over="ignore"):  # far outside the range the density underflows to zero
            log_terms = self._log_density(s)[:, None] + table
        return _trapezoid(log_terms, s, step)

    def _integrate_in_blocks(self, frequency, offset):
        """High or fractional orders, in rising order: the grid follows the peaks, which are narrow and wander."""
        log_value, mean = np.empty(frequency.size), np.empty(frequency.size)
        # Within a factor of two in k, peaks have similar places and widths: one grid serves the block.
        octave = np.frexp(frequency)[1]
        starts = np.flatnonzero(np.diff(octave, prepend=octave[:1] - 1))
        stops = np.append(starts[1:], frequency.size)
        grids = self._grids(frequency[starts], frequency[stops - 1], offset)
        for start, stop, (s, step) in zip(starts, stops, grids, strict=True):
            block = slice(start, stop)
            log_terms = self._log_integrand(frequency[block], s[:, None], offset)
            log_value[block], mean[block] = _trapezoid(log_terms, s, step)
        return log_value, mean

    def _grids(self, first, last, offset):
        """One grid in s for each block of frequencies from ``first`` to ``last``."""
        ends = np.stack([first, last], axis=-1)  # (n_blocks, 2)
        lower, upper = self._range(last.max(), offset)
        coarse = np.linspace(lower, upper, max(100, int(2 * (upper - lower))))
        log_terms = self._log_integrand(ends[..., None], coarse, offset)  # (n_blocks, 2, n_coarse)
        spacing = coarse[1] - coarse[0]
        peak, peak_value = coarse[log_terms.argmax(axis=-1)], log_terms.max(axis=-1)
        for _ in range(3):  # the integrand is log-concave: the maximum lies next to the best node
            fine = peak[..., None] + np.linspace(-spacing, spacing, 17)
            fine_terms = self._log_integrand(ends[..., None], fine, offset)
            best = fine_terms.argmax(axis=-1)[..., None]
            peak = np.take_along_axis(fine, best, axis=-1)[..., 0]
            peak_value = np.maximum(peak_value, fine_terms.max(axis=-1))
            spacing /= 8
        argument = np.exp(offset + self.sign * peak)
        hypotenuse = np.hypot(ends, argument)
        curvature = np.exp(peak) + argument * ends**2 / (hypotenuse * (hypotenuse + argument))
        steps = np.minimum(0.2, 0.45 / np.sqrt(curvature.max(axis=-1)))
        for block, step in enumerate(steps):
            inside = (log_terms[block] > peak_value[block][:, None] - _NEGLIGIBLE).any(axis=0)
            kept = coarse[inside]
            margin = min(6.0, 12 / np.sqrt(curvature[block].max()))  # a narrow peak may fall between coarse nodes
            low = min(kept.min(initial=np.inf) - (coarse[1] - coarse[0]), peak[block].min() - margin)
            high = max(kept.max(initial=-np.inf) + (coarse[1] - coarse[0]), peak[block].max() + margin)
            yield np.arange(low, high + step, step), step

    def _range(self, largest, offset):
        """Range of s outside of which the integrand is negligible for every frequency up to ``largest``."""
        # The stationary point has e^s = shape + sign * slope, with -1/2 <= slope <= k.
        top = self.shape + 0.5 + (largest if self.sign > 0 else 0)
        upper = np.log(top + 60 + 12 * np.sqrt(top)) + 1
        # e^s at which the argument of the Bessel function equals 1 (left of it: c_0 ~ 1) or k^2 (right of it).
        knee = -self.sign * offset - (2 * np.log(max(largest, 1.0)) if self.sign < 0 else 0)
        decay = self.shape + (0.5 if self.sign < 0 else 0)
        lower = min(np.log(self.shape), knee + min(0.0, np.log(2 * decay))) - _NEGLIGIBLE / decay - 5
        return lower, upper


def _trapezoid(log_terms, s, step):
    """Logarithms of sums over a grid in s, and the means of exp(s) under their terms."""
    peak = log_terms.max(axis=0)
    terms = np.exp(log_terms - peak)
    used = (terms > 0).any(axis=1)  # elsewhere exp(s) may overflow
    total = terms.sum(axis=0)
    return peak + np.log(step * total), np.exp(s[used]) @ terms[used] / total


def _table_orders(octave):
    """Orders of a table: the first holds those below 64, every other one an octave."""
    return np.arange(_TABLE_ORDERS * 2 ** (octave - 1) if octave else 0, _TABLE_ORDERS * 2**octave)


@lru_cache(maxsize=1024)
def _bessel_table(step, chunk, octave):
    """Logarithms of the scaled Bessel functions of an octave of orders, on one chunk of a grid in log a."""
    log_argument = step * np.arange(chunk * _TABLE_CHUNK, (chunk + 1) * _TABLE_CHUNK)
    return log_scaled_bessel(_table_orders(octave), _argument(log_argument)[:, None])[0]


def _argument(log_argument):
    """Exponential without underflow: at so small an argument only order zero counts, whose function is one."""
    return np.exp(np.clip(log_argument, -700.0, 700.0))


def _log_gamma_peak(shape):
    """Log of shape^shape e^-shape / Gamma(shape), without cancellation for large shapes."""
    if shape < 50:
        return shape * np.log(shape) - shape - gammaln(shape)
    inverse_square = shape**-2
    stirling = (1 / 12 - inverse_square * (1 / 360 - inverse_square * (1 / 1260 - inverse_square / 1680))) / shape
    return 0.5 * np.log(shape / (2 * np.pi)) - stirling


@dataclass(frozen=True)
class Matern(_GammaMixture):
    r"""Matern kernel of smoothness ``nu`` after warping: a function of the chord.

    .. math:: \kappa(\theta) = \frac{2^{1-\nu}}{\Gamma(\nu)} z^\nu K_\nu(z), \quad
              z = \frac{\sqrt{2\nu}}{l} \, 2 |\sin(\theta/2)|.

    Parameters
    ----------
    nu : float, default=1.5
        Smoothness, in (0, 300]. Above that the kernel is :class:`SquaredExponential` for all purposes.
    """

    nu: float = 1.5
    sign = -1

    def __post_init__(self):
        check_smoothness(self.nu)

    @property
    def shape(self):
        """Shape of the Gamma distribution."""
        return float(self.nu)

    def kernel(self, phase, length_scale):
        """Evaluate the kernel itself at phase differences in radians."""
        return matern_correlation(chord(phase) / check_positive(length_scale, "length_scale"), self.nu)


@dataclass(frozen=True)
class RationalQuadratic(_GammaMixture):
    r"""Rational quadratic kernel after warping.

    .. math:: \kappa(\theta) = \left(1 + \frac{1 - \cos\theta}{\alpha l^2}\right)^{-\alpha}.

    Parameters
    ----------
    alpha : float, default=1.0
        Shape of the mixture of length scales, from 0.01 to 1e6; large values approach :class:`SquaredExponential`.
    """

    alpha: float = 1.0
    sign = 1

    def __post_init__(self):
        if not _SMALLEST_ALPHA <= check_positive(self.alpha, "alpha") <= _LARGEST_ALPHA:
            raise ValueError(
                f"alpha must lie between {_SMALLEST_ALPHA:g} and {_LARGEST_ALPHA:g}, got {self.alpha!r}: below, the "
                "kernel is all but constant; above, use SquaredExponential, its limit."
            )

    @property
    def shape(self):
        """Shape of the Gamma distribution."""
        return float(self.alpha)

    def kernel(self, phase, length_scale):
        """Evaluate the kernel itself at phase differences in radians."""
        scaled = (chord(phase) / check_positive(length_scale, "length_scale")) ** 2
        return np.exp(-self.alpha * np.log1p(scaled / (2 * self.alpha)))
