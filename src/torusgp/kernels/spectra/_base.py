"""Base of all spectra, and the sums of their tails that are the same for all of them."""

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

_PANEL_NODES, _PANEL_WEIGHTS = np.polynomial.legendre.leggauss(16)
_SLOW_DECAY = 0.02  # log decay per term below which the midpoint integral is exact to 1e-9
_LONGEST_SUM = 10**7  # terms that n_terms is ready to count before it calls a tolerance out of reach


def gauss_legendre_panels(start, stop, width):
    """Nodes and weights of 16-point Gauss-Legendre rules on equal panels no wider than ``width``."""
    edges = np.linspace(start, stop, max(1, int(np.ceil((stop - start) / width))) + 1)
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half * (1 + _PANEL_NODES)).ravel()
    return nodes, (half * _PANEL_WEIGHTS).ravel()


def check_positive(value, name):
    """Return ``value`` as a float, or raise if it is not a positive finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a positive finite number, got {value!r}.")
    return number


def check_frequency(frequency):
    """Return absolute frequencies as floats, or raise if they are not finite numbers."""
    try:
        frequency = np.abs(np.asarray(frequency, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"frequency must hold integers, got {frequency!r}.") from None
    if not np.isfinite(frequency).all():
        raise ValueError("frequency must be finite, got NaN or infinity.")
    return frequency


class Spectrum(ABC):
    r"""Fourier series of a stationary kernel on the circle, period :math:`2 \pi`, variance one.

    .. math:: \kappa(\theta) = \sum_{k \in \mathbb{Z}} c_k e^{i k \theta}, \quad
              c_k = c_{-k} \ge 0, \quad \sum_k c_k = 1.

    Subclasses are frozen dataclasses that hold the shape parameters of the family; the length scale is an
    argument, because it is learned and differs between the dimensions of a product kernel.
    """

    #: Whether :math:`c_k` never rises with :math:`|k|`.
    monotone: bool = True
    #: "phase": a function of one angle. "cartesian": a function of the vector in the units of the inputs.
    metric: str = "phase"
    #: Whether ``log_coefficients_and_gradient`` gives both for the price of one.
    has_both_at_once: bool = False

    @abstractmethod
    def log_coefficients(self, frequency, length_scale):
        """Logarithms of the coefficients, accurate where the coefficients underflow."""

    @abstractmethod
    def log_coefficients_gradient(self, frequency, length_scale):
        """Derivatives of the log coefficients with respect to the logarithm of the length scale."""

    @abstractmethod
    def kernel(self, phase, length_scale):
        """Evaluate the kernel itself at phase differences in radians."""

    def coefficients(self, frequency, length_scale):
        """Coefficients of the Fourier series, one for each entry of ``frequency``."""
        return np.exp(self.log_coefficients(frequency, length_scale))

    def tail_sums(self, max_frequency, length_scale, power=1):
        r"""Sums :math:`\sum_{j > k} c_j^p` for k = 0 to ``max_frequency``, accurate relative to themselves.

        The families given by a formula sum the tail itself; :class:`Warped` has a floor of about 1e-14.
        """
        return _tail_sums(self, int(max_frequency), check_positive(length_scale, "length_scale"), power)

    def n_terms(self, length_scale, tolerance):
        r"""Smallest K such that the coefficients beyond it, on both sides, sum to at most ``tolerance``."""
        tolerance = check_positive(tolerance, "tolerance")
        upper = 0
        while 2 * self._tail_beyond(upper, length_scale) > tolerance:
            upper = 2 * upper + 1
            if upper > _LONGEST_SUM:
                raise ValueError(
                    f"tolerance={tolerance!r} needs more than {_LONGEST_SUM} terms of {self!r} with "
                    f"length_scale={length_scale!r}; ask for a larger tolerance or a smoother family."
                )
        if upper <= 4096:  # one sum gives every tail at once
            return int(np.argmax(2 * self.tail_sums(upper, length_scale) <= tolerance))
        lower = upper // 2  # the last value that was too small
        while upper - lower > 1:
            middle = (lower + upper) // 2
            if 2 * self._tail_beyond(middle, length_scale) > tolerance:
                lower = middle
            else:
                upper = middle
        return upper

    def _tail_beyond(self, frequency, length_scale, power=1):
        """Sum of the coefficients above ``frequency``: term by term while they fall fast, then as an integral.

        The integral from the midpoint replaces the rest of a slow sum (Euler-Maclaurin); it asks for
        coefficients at real frequencies, which all closed forms give.
        """
        total, start = 0.0, frequency + 1
        while True:
            terms = np.arange(start, start + 64 + start // 2)
            if start > 64:
                first = power * self.log_coefficients(terms[:2], length_scale)
                if first[0] - first[1] < _SLOW_DECAY:
                    return total + self._tail_integral(start - 0.5, length_scale, power)
            log_terms = power * self.log_coefficients(terms, length_scale)
            total += np.exp(log_terms[::-1]).sum()
            decay = log_terms[-2] - log_terms[-1]
            if np.exp(log_terms[-1]) <= 1e-17 * decay * total or log_terms[-1] < -740:
                return total
            start = terms[-1] + 1

    def _tail_integral(self, start, length_scale, power):
        # x = start * exp(y) turns power laws into exponentials; a stable exponent ends the sum in closed form.
        # The sum from the first term on is the integral from the midpoint before it plus f'/24 - 7 f'''/5760 there.
        around = self.coefficients(start + np.array([-1.5, -0.5, 0.5, 1.5]), length_scale) ** power
        total = (291 * (around[2] - around[1]) - 17 * (around[3] - around[0])) / 5760
        exponent = np.nan
        y, weights = gauss_legendre_panels(0.0, 4.0, 0.5)
        while True:
            x = start * np.exp(y)
            log_density = power * self.log_coefficients(x, length_scale) + np.log(x)
            total += np.exp(log_density) @ weights
            last = np.exp(log_density[-1])
            decay = (log_density[-2] - log_density[-1]) / (y[-1] - y[-2])
            if last <= 1e-17 * decay * total:
                return total
            if abs(decay - exponent) <= 1e-9 * decay:
                return total + last * np.exp(-decay * (4.0 - y[-1])) / decay
            start, exponent = start * np.exp(4.0), decay


@lru_cache(maxsize=512)
def _tail_sums(spectrum, max_frequency, length_scale, power):
    beyond = spectrum._tail_beyond(max_frequency, length_scale, power)
    coefficients = spectrum.coefficients(np.arange(max_frequency, 0, -1), length_scale)
    sums = np.cumsum(np.append(beyond, coefficients**power))[::-1]
    sums.flags.writeable = False  # it is shared by the cache
    return sums
