r"""Linear algebra of the posterior on the CPU, by LAPACK.

Memory is counted in matrices of ``8 n_columns ** 2`` bytes: a factor takes one, and each of its verbs at most one more.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dlauum, dpotrf, dtrtri

_TILE = 256  # rows and columns that are mirrored at once


class LapackAlgebra:
    """Factors :math:`B = I + R G R / s^2` for one Gram matrix G and many prior and noise variances.

    Parameters
    ----------
    gram : ndarray of shape (n_columns, n_columns)
        Symmetric matrix G. It is not copied.
    """

    def __init__(self, gram):
        self.gram = gram

    def factor(self, root, noise_variance):
        """Factor B.

        Parameters
        ----------
        root : ndarray of shape (n_columns,)
            Diagonal of R.
        noise_variance : float
            The variance :math:`s^2`.

        Returns
        -------
        LapackFactor

        Raises
        ------
        numpy.linalg.LinAlgError
            Rounding made B indefinite.
        """
        scaled = self.gram * (root / noise_variance)
        scaled *= root[:, None]
        scaled[np.diag_indices_from(scaled)] += 1.0
        # the transpose of a C-ordered array is what the Fortran routine wants: the factor takes its place
        lower, info = dpotrf(scaled.T, lower=True, overwrite_a=True, clean=True)
        if info:
            raise np.linalg.LinAlgError(f"The leading minor of order {info} is not positive.")
        return LapackFactor(lower)


class LapackFactor:
    """Lower Cholesky factor L of B, and what follows from it.

    Attributes
    ----------
    lower : ndarray of shape (n_columns, n_columns)
        The factor, zero above its diagonal.
    """

    def __init__(self, lower):
        self.lower = lower

    def log_determinant(self):
        """Logarithm of the determinant of B."""
        return 2 * float(np.log(np.diag(self.lower)).sum())

    def solve(self, values, transpose=False):
        """Product of the inverse of L, or of its transpose, with a vector or the columns of a matrix."""
        return solve_triangular(self.lower, values, lower=True, trans="T" if transpose else "N", check_finite=False)

    def weights(self, root, moment, output):
        """Posterior mean of the weights, from the moments of an output over the noise variance."""
        return root * self.solve(self.solve(root * moment), transpose=True)

    def inverse_diagonal(self):
        """Diagonal of the inverse of B: sums of squares, which cannot cancel, of the columns of the inverse of L."""
        inverse = self._inverse()
        return np.einsum("ij,ij->j", inverse, inverse)

    def inverse_product(self, values):
        """Products of the columns of a matrix with the inverse of B between them."""
        whitened = self.solve(values)
        return whitened.T @ whitened

    def covariance(self, root):
        """The matrix :math:`R B^{-1} R`."""
        half = self._inverse()
        half *= root
        product, _ = dlauum(half, lower=True, overwrite_c=True)
        _mirror_lower(product)
        return product

    def _inverse(self):
        inverse, _ = dtrtri(self.lower, lower=True)  # a Cholesky factor has no zero on its diagonal
        return inverse


def _mirror_lower(matrix):
    """Make a matrix symmetric in place, from its lower triangle."""
    for start in range(0, len(matrix), _TILE):
        end = start + _TILE
        tile = matrix[start:end, start:end]
        tile += np.tril(tile, -1).T - np.triu(tile, 1)
        for left in range(0, start, _TILE):
            matrix[left : left + _TILE, start:end] = matrix[start:end, left : left + _TILE].T
