r"""Sums of Gaussians and Matern functions over the points of a lattice.

A cell has lattice vectors as rows; its reciprocal lattice is spanned by the rows of :math:`2\pi\,\text{cell}^{-T}`.
A slowly converging sum over one lattice is a fast one over the other (Poisson); the Matern sum, a mixture of
Gaussians of all widths, is split between the two (Ewald).
"""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from torusgp.kernels.lattices import lattice_points, reduced_basis
from torusgp.kernels.spectra._base import gauss_legendre_panels
from torusgp.kernels.spectra._matern import matern_correlation, matern_log_scale_derivative

_NEGLIGIBLE = 40.0  # exp(-40) = 4e-18
_N_CHEBYSHEV = 72  # resolves exp(-40 u) on [0, 1] to rounding


class GaussianLatticeSum:
    r"""Periodic Gaussian :math:`\sum_R \exp(-|x + R|^2 / 2 l^2)` over the lattice of a cell."""

    def __init__(self, cell, length_scale):
        self.cell, self.length_scale = cell, length_scale
        dimension, volume = len(cell), abs(np.linalg.det(cell))
        self._direct = length_scale <= volume ** (1 / dimension) / np.sqrt(2 * np.pi)
        if self._direct:
            reach = length_scale * np.sqrt(2 * _NEGLIGIBLE) + _fold_reach(cell)
            self._images = lattice_points(cell, reach) @ cell
            distances = (self._images**2).sum(axis=1) / length_scale**2
            values = np.exp(-distances / 2)
            self.at_zero = values.sum()
            self.log_scale_derivative = values @ distances / self.at_zero
        else:
            reciprocal = 2 * np.pi * np.linalg.inv(cell).T
            self._waves = lattice_points(reciprocal, np.sqrt(2 * _NEGLIGIBLE) / length_scale) @ reciprocal
            squares = length_scale**2 * (self._waves**2).sum(axis=1)
            self._amplitudes = (2 * np.pi) ** (dimension / 2) * length_scale**dimension / volume * np.exp(-squares / 2)
            self.at_zero = self._amplitudes.sum()
            self.log_scale_derivative = dimension - self._amplitudes @ squares / self.at_zero

    def __call__(self, vectors):
        """Evaluate the sum at folded vectors of shape (n, dimension)."""
        if self._direct:
            squares = ((vectors[:, None] + self._images) ** 2).sum(axis=-1)
            return np.exp(-squares / (2 * self.length_scale**2)).sum(axis=1)
        return np.cos(vectors @ self._waves.T) @ self._amplitudes


class MaternLatticeSum:
    r"""Periodic Matern function :math:`\sum_R M_\nu(|x + R| / l)` over the lattice of a cell.

    :math:`M_\nu` is a Gamma mixture of Gaussians over their squared width. Widths up to ``split`` are summed over
    the lattice, as the closed form of all widths less a smooth integral over the larger ones; widths beyond
    over the reciprocal lattice.
    """

    def __init__(self, cell, length_scale, nu):
        self.length_scale, self.nu = length_scale, nu
        dimension, volume = len(cell), abs(np.linalg.det(cell))
        split = volume ** (2 / dimension) / (8 * np.pi)  # squared width
        self._reach = np.sqrt(2 * _NEGLIGIBLE * split)
        self._images = lattice_points(cell, self._reach + _fold_reach(cell)) @ cell
        square, weight, gamma = self._wide_gaussians(split, dimension)
        # chebyshev series of the wide part, a smooth function of the squared distance
        grid = np.polynomial.chebyshev.chebpts1(_N_CHEBYSHEV)
        distance = self._reach**2 * (1 + grid) / 2
        table = np.exp(-distance[:, None] / (2 * square)) @ np.stack([weight, 2 * (gamma - nu) * weight], axis=-1)
        self._wide, self._wide_derivative = np.polynomial.chebyshev.chebfit(grid, table, _N_CHEBYSHEV - 1).T
        reciprocal = 2 * np.pi * np.linalg.inv(cell).T
        self._waves = lattice_points(reciprocal, np.sqrt(2 * _NEGLIGIBLE / split)) @ reciprocal
        squares = (self._waves**2).sum(axis=1)
        weight = weight * (2 * np.pi * square) ** (dimension / 2) / volume
        terms = np.exp(-squares[:, None] * square / 2)
        self._amplitudes = terms @ weight
        self.at_zero = self(np.zeros((1, dimension)))[0]
        narrow = self._narrow(np.sum(self._images**2, axis=1), matern_log_scale_derivative, self._wide_derivative)
        self.log_scale_derivative = (narrow.sum() + (terms @ (2 * (gamma - nu) * weight)).sum()) / self.at_zero

    def _wide_gaussians(self, split, dimension):
        """Squared widths above ``split``, their weights in the mixture, and the Gamma variable there."""
        nu, largest = self.nu, self.nu + dimension / 2
        stop = np.log(largest + 60 + 12 * np.sqrt(largest))
        start = np.log(split * nu / self.length_scale**2)
        if start >= stop:  # all Gaussians are narrow
            return np.array([split]), np.zeros(1), np.array([nu])
        negligible_below = np.log(nu) - np.sqrt(90 / nu) - 45 / nu
        log_gamma, weight = gauss_legendre_panels(max(start, negligible_below), stop, min(0.5, 1.5 / np.sqrt(largest)))
        gamma = np.exp(log_gamma)
        return self.length_scale**2 * gamma / nu, weight * np.exp(nu * log_gamma - gamma - gammaln(nu)), gamma

    def _narrow(self, squared_distance, closed_form, wide):
        inside = squared_distance <= self._reach**2
        values = np.zeros(squared_distance.shape)
        near = squared_distance[inside]
        smooth = np.polynomial.chebyshev.chebval(2 * near / self._reach**2 - 1, wide)
        values[inside] = closed_form(np.sqrt(near) / self.length_scale, self.nu) - smooth
        return values

    def __call__(self, vectors):
        """Evaluate the sum at folded vectors of shape (n, dimension)."""
        squares = ((vectors[:, None] + self._images) ** 2).sum(axis=-1)
        narrow = self._narrow(squares, matern_correlation, self._wide).sum(axis=1)
        return narrow + np.cos(vectors @ self._waves.T) @ self._amplitudes


def _fold_reach(cell):
    """Largest length of a folded vector."""
    return 0.5 * np.linalg.norm(reduced_basis(cell) @ cell, axis=1).sum()


@lru_cache(maxsize=32)
def lattice_sum(kind, cell, *parameters):
    """Build the sum for a cell given as nested tuples, and keep it: learning asks for the same one repeatedly."""
    return kind(np.array(cell), *parameters)
