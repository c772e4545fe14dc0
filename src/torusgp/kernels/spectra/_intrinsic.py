r"""Kernels of the torus itself: sums of a kernel of Euclidean space over all images of a point.

With ``metric="phase"`` they are functions of one angle, to be multiplied over dimensions like any other family.
With ``metric="cartesian"`` they are functions of the vector in the units of the inputs, on the lattice of a cell:
:math:`c_k \propto S(|q_k|)` with wave vectors :math:`q_k = 2\pi\,\text{cell}^{-1} k`, the same for every basis of the
lattice.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from torusgp.kernels.lattices import fold
from torusgp.kernels.spectra._base import Spectrum, check_frequency, check_positive
from torusgp.kernels.spectra._lattice import GaussianLatticeSum, MaternLatticeSum, lattice_sum
from torusgp.kernels.spectra._matern import LARGEST_SMOOTHNESS, check_smoothness, has_closed_sum, matern_sum

_CIRCLE = np.array([[2 * np.pi]])
_ROWS_AT_ONCE = 4096


class IntrinsicSpectrum(Spectrum):
    """Shared by the families that are image sums; subclasses give the spectral density and the sum."""

    has_both_at_once = True

    @abstractmethod
    def _sum(self, cell, length_scale):
        """Image sum over the lattice of a cell."""

    def _at_zero(self, cell, length_scale):
        """That sum at zero, and its derivative in the logarithm of the length scale over it."""
        total = self._sum(cell, length_scale)
        return total.at_zero, total.log_scale_derivative

    @abstractmethod
    def _squared(self, length_scale, dimension):
        """The family and length scale whose coefficients are proportional to the squares of these."""

    @abstractmethod
    def _log_density(self, squared_wave, length_scale, dimension):
        """Logarithm of the spectral density, and its derivative in the logarithm of the length scale."""

    def log_coefficients(self, frequency, length_scale, cell=None):
        """Logarithms of the coefficients; with a cell, of frequency vectors of shape (..., dimension)."""
        return self._log_coefficients(frequency, length_scale, cell)[0]

    def log_coefficients_gradient(self, frequency, length_scale, cell=None):
        """Derivatives of the log coefficients with respect to the logarithm of the length scale."""
        return self._log_coefficients(frequency, length_scale, cell)[1]

    def log_coefficients_and_gradient(self, frequency, length_scale):
        """Both, of the phase metric."""
        return self._log_coefficients(frequency, length_scale, None)

    def coefficients(self, frequency, length_scale, cell=None):
        """Coefficients of the Fourier series, one for each frequency (vector)."""
        return np.exp(self.log_coefficients(frequency, length_scale, cell))

    def kernel(self, phase, length_scale, cell=None):
        """Evaluate the kernel at phase differences in radians; with a cell, at vectors of shape (..., dimension)."""
        length_scale = check_positive(length_scale, "length_scale")
        phase = np.asarray(phase, dtype=float)
        vectors = phase[..., None] if cell is None else phase
        cell = _CIRCLE if cell is None else np.asarray(cell, dtype=float)
        shape = vectors.shape[:-1]
        # Reduced in turns, so that phases far away lose nothing
        folded = fold(vectors.reshape(-1, len(cell)) / (2 * np.pi), cell)
        total = self._sum(cell, length_scale)
        values = np.empty(len(folded))
        for start in range(0, len(folded), _ROWS_AT_ONCE):
            values[start : start + _ROWS_AT_ONCE] = total(folded[start : start + _ROWS_AT_ONCE])
        return (values / total.at_zero).reshape(shape)

    def sum_of_squares(self, length_scale, cell):
        """Sum of the squared coefficients over the whole reciprocal lattice of a cell."""
        length_scale = check_positive(length_scale, "length_scale")
        cell = np.asarray(cell, dtype=float)
        zero = np.zeros((1, len(cell)))
        squared, squared_length_scale = self._squared(length_scale, len(cell))
        log_peak = self.log_coefficients(zero, length_scale, cell)[0]
        return float(np.exp(2 * log_peak - squared._log_coefficients(zero, squared_length_scale, cell)[0][0]))

    def _log_coefficients(self, frequency, length_scale, cell):
        length_scale = check_positive(length_scale, "length_scale")
        if cell is None:
            cell, squared_wave = _CIRCLE, check_frequency(frequency) ** 2
        else:
            cell = np.asarray(cell, dtype=float)
            waves = 2 * np.pi * np.asarray(frequency, dtype=float) @ np.linalg.inv(cell).T
            squared_wave = (waves**2).sum(axis=-1)
        at_zero, by_log_scale = self._at_zero(cell, length_scale)
        log_density, derivative = self._log_density(squared_wave, length_scale, len(cell))
        # Poisson: the densities over the volume sum to the image sum at zero
        log_total = np.log(abs(np.linalg.det(cell))) + np.log(at_zero)
        return log_density - log_total, derivative - by_log_scale


def _check_metric(metric):
    if not isinstance(metric, str) or metric not in ("phase", "cartesian"):
        raise ValueError(f"metric must be 'phase' or 'cartesian', got {metric!r}.")


def _as_key(cell):
    return tuple(map(tuple, cell.tolist()))


@dataclass(frozen=True)
class Heat(IntrinsicSpectrum):
    r"""Heat kernel of the torus: a Gaussian summed over all images, :math:`c_k \propto \exp(-l^2 |q_k|^2 / 2)`.

    Parameters
    ----------
    metric : {"phase", "cartesian"}, default="phase"
        "phase": of one angle, ``length_scale`` in radians. "cartesian": of the vector on the lattice of a cell,
        ``length_scale`` in the units of the inputs.

    Examples
    --------
    >>> import numpy as np
    >>> k = np.arange(-20, 21)
    >>> bool(np.isclose(Heat().coefficients(k, 0.7) @ np.cos(k * 2.0), Heat().kernel(2.0, 0.7), atol=1e-14))
    True
    """

    metric: Literal["phase", "cartesian"] = "phase"

    def __post_init__(self):
        _check_metric(self.metric)

    def _sum(self, cell, length_scale):
        return lattice_sum(GaussianLatticeSum, _as_key(cell), length_scale)

    def _squared(self, length_scale, dimension):
        return self, np.sqrt(2) * length_scale

    def _log_density(self, squared_wave, length_scale, dimension):
        exponent = length_scale**2 * squared_wave
        log_peak = dimension * (0.5 * np.log(2 * np.pi) + np.log(length_scale))
        return log_peak - exponent / 2, dimension - exponent


@dataclass(frozen=True)
class TorusMatern(IntrinsicSpectrum):
    r"""Matern kernel of the torus, :math:`c_k \propto (2\nu / l^2 + |q_k|^2)^{-(\nu + D/2)}`, a sum over all images.

    :math:`D` is 1 for the phase metric and the dimension of the cell for the Cartesian one.

    Parameters
    ----------
    nu : float, default=1.5
        Smoothness, in (0, 300]. Above that the kernel is :class:`Heat` for all purposes.
    metric : {"phase", "cartesian"}, default="phase"
        "phase": of one angle, ``length_scale`` in radians. "cartesian": of the vector on the lattice of a cell,
        ``length_scale`` in the units of the inputs.
    """

    nu: float = 1.5
    metric: Literal["phase", "cartesian"] = "phase"

    def __post_init__(self):
        check_smoothness(self.nu)
        _check_metric(self.metric)

    def _sum(self, cell, length_scale):
        return lattice_sum(MaternLatticeSum, _as_key(cell), length_scale, float(self.nu))

    def _at_zero(self, cell, length_scale):
        if len(cell) > 1 or not has_closed_sum(self.nu):
            return super()._at_zero(cell, length_scale)
        return matern_sum(abs(cell[0, 0]) / length_scale, self.nu)

    def _squared(self, length_scale, dimension):
        nu = 2 * self.nu + dimension / 2
        family = Heat(self.metric) if nu > LARGEST_SMOOTHNESS else TorusMatern(nu, self.metric)
        return family, length_scale * np.sqrt(nu / self.nu)

    def _log_density(self, squared_wave, length_scale, dimension):
        inverse_square = 2 * self.nu / length_scale**2
        exponent = self.nu + dimension / 2
        # written with the ratio, so that long length scales do not overflow and small ones do not cancel
        ratio = squared_wave / inverse_square
        log_peak = dimension / 2 * np.log(4 * np.pi / inverse_square) + gammaln(exponent) - gammaln(self.nu)
        return log_peak - exponent * np.log1p(ratio), 2 * exponent / (1 + ratio) - 2 * self.nu
