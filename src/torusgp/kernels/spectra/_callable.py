"""Any stationary kernel of the plane, given as a function, restricted to the circle by the warping (cos, sin)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from torusgp.kernels.spectra._base import Spectrum, check_frequency, check_positive
from torusgp.kernels.spectra._warped import chord

_FLOOR = 1e-14  # absolute error of the quadrature; smaller values carry no information
_CHECKED_TERMS = 128  # positive definiteness is looked at this far, also if fewer terms are asked for
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_MAX_DEPTH = 60
_STENCIL = np.array([3 / 4, -3 / 20, 1 / 60])  # sixth-order central difference
_STENCIL_STEP = 0.05


@dataclass(frozen=True)
class Warped(Spectrum):
    r"""A user's own kernel after warping: :math:`\kappa(\theta) = f(2 |\sin(\theta/2)| / l)`.

    Coefficients come from adaptive Gauss-Legendre quadrature with an absolute error of about 1e-14. Values
    below that are set to zero, and so count as truncation error; values significantly below zero mean that the
    function is not positive definite on the circle, which is an error.

    Parameters
    ----------
    function : callable
        Vectorised function of the distance in units of the length scale, with ``function(0) == 1``. A kink at 0
        does no harm.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp.kernels.spectra import Matern
    >>> own = Warped(lambda distance: (1 + np.sqrt(3) * distance) * np.exp(-np.sqrt(3) * distance))
    >>> k = np.arange(50)
    >>> bool(np.allclose(own.coefficients(k, 0.5), Matern(1.5).coefficients(k, 0.5), rtol=0, atol=1e-14))
    True
    """

    function: Callable
    monotone = False

    def __post_init__(self):
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}.")
        at_zero = _evaluate(self.function, np.zeros(1))[0]
        if abs(at_zero - 1) > 1e-12:
            raise ValueError(f"function(0) must be 1, got {at_zero!r}: divide the kernel by its value at zero.")

    def coefficients(self, frequency, length_scale):
        """Coefficients of the Fourier series, one for each entry of ``frequency``."""
        index = check_frequency(frequency).astype(int)
        n_terms = max(_CHECKED_TERMS, int(index.max(initial=0)) + 1)
        size = 1 << (n_terms - 1).bit_length()  # few distinct sizes, so that the cache is hit
        return _fourier_coefficients(self.function, check_positive(length_scale, "length_scale"), size)[index]

    def log_coefficients(self, frequency, length_scale):
        """Logarithms of the coefficients: minus infinity below the floor of the quadrature."""
        with np.errstate(divide="ignore"):
            return np.log(self.coefficients(frequency, length_scale))

    def log_coefficients_gradient(self, frequency, length_scale):
        """Derivatives of the log coefficients with respect to the logarithm of the length scale.

        By finite differences; zero where the coefficient is below the floor of the quadrature.
        """
        length_scale = check_positive(length_scale, "length_scale")
        centre = self.coefficients(frequency, length_scale)
        difference = np.zeros_like(centre)
        for j, weight in enumerate(_STENCIL, start=1):
            factor = np.exp(j * _STENCIL_STEP)
            ahead = self.coefficients(frequency, length_scale * factor)
            behind = self.coefficients(frequency, length_scale / factor)
            difference += weight / _STENCIL_STEP * (ahead - behind)
        return np.divide(difference, centre, out=np.zeros_like(centre), where=centre > 0)

    def kernel(self, phase, length_scale):
        """Evaluate the kernel itself at phase differences in radians."""
        return _evaluate(self.function, chord(phase) / check_positive(length_scale, "length_scale"))

    def _tail_beyond(self, frequency, length_scale, power=1):
        if power == 1:  # what the kept terms leave of one
            kept = self.coefficients(np.arange(frequency + 1), length_scale)
            return max(0.0, (1 - kept[0]) / 2 - kept[:0:-1].sum())
        further = np.arange(2 * frequency + 1024, frequency, -1)
        return (self.coefficients(further, length_scale) ** power).sum()


def _evaluate(function, distance):
    values = np.asarray(function(distance), dtype=float)
    if values.shape != np.shape(distance):
        raise ValueError(
            f"function must be vectorised: for distances of shape {np.shape(distance)} it returned {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError("function must be finite at every distance on the circle, it returned NaN or infinity.")
    return values


@lru_cache(maxsize=64)
def _fourier_coefficients(function, length_scale, n_terms):
    """Coefficients 0 to ``n_terms - 1``, a power of two."""
    nodes, weighted = _quadrature(function, length_scale, n_terms)
    # cos(k theta) with k = 32 g + b is a sum of two products, so all sums are two matrix products
    strides = np.multiply.outer(np.arange(0, n_terms, 32), nodes)
    steps = np.multiply.outer(np.arange(32), nodes)
    products = (np.cos(strides) * weighted) @ np.cos(steps).T - (np.sin(strides) * weighted) @ np.sin(steps).T
    coefficients = products.ravel()[:n_terms] / np.pi
    worst = int(coefficients.argmin())
    if coefficients[worst] < -_FLOOR:
        raise ValueError(
            f"function is not positive definite on the circle with length_scale={length_scale!r}: its Fourier "
            f"coefficient {worst} is {coefficients[worst]:.3g}. Use a kernel that is positive definite in the plane."
        )
    coefficients[coefficients < _FLOOR] = 0.0
    coefficients.flags.writeable = False  # it is shared by the cache
    return coefficients


def _quadrature(function, length_scale, n_terms):
    """Nodes in [0, pi], and the function there times the weights; panels split until all agree with their halves."""
    n_panels = max(4, n_terms // 8)  # at most about four oscillations of the last cosine in a panel
    edges = np.linspace(0, np.pi, n_panels + 1)
    low, high = edges[:-1], edges[1:]
    probes = np.array([0, n_terms // 2, n_terms])
    done_nodes, done_values = [], []
    nodes, values = _panel_rule(function, length_scale, low, high)
    for _ in range(_MAX_DEPTH):
        middle = (low + high) / 2
        halves = [_panel_rule(function, length_scale, *ends) for ends in ((low, middle), (middle, high))]
        whole = _probe(nodes, values, probes)
        split = sum(_probe(half[0], half[1], probes) for half in halves)
        resolved = np.abs(whole - split).max(axis=-1) <= 1e-17
        for half_nodes, half_values in halves:
            done_nodes.append(half_nodes[resolved].ravel())
            done_values.append(half_values[resolved].ravel())
        if resolved.all():
            return np.concatenate(done_nodes), np.concatenate(done_values)
        low, high = (
            np.concatenate([low[~resolved], middle[~resolved]]),
            np.concatenate([middle[~resolved], high[~resolved]]),
        )
        nodes, values = (np.concatenate([halves[0][i][~resolved], halves[1][i][~resolved]]) for i in range(2))
    raise ValueError(f"function has too many kinks or jumps to be integrated with length_scale={length_scale!r}.")


def _panel_rule(function, length_scale, low, high):
    half = (high - low)[:, None] / 2
    nodes = low[:, None] + half * (1 + _NODES)
    return nodes, _evaluate(function, chord(nodes) / length_scale) * half * _WEIGHTS


def _probe(nodes, values, frequencies):
    return np.stack([(np.cos(k * nodes) * values).sum(axis=-1) for k in frequencies], axis=-1)
