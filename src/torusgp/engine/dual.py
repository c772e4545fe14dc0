r"""Evidence of a linear model with more columns than rows, in the space of the rows.

With :math:`A = P^{1/2} F R / s` the precision of the weights is :math:`B = I + A'A`, of the order of the columns, and
:math:`C = I + A A'` is of the order of the rows. They have the same determinant, and :math:`B^{-1} A' = A' C^{-1}`:
learning costs :math:`O(n^2 M)` instead of :math:`O(M^3)`.
"""

from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dpotrf, dpstrf

from torusgp.engine.backends import LapackAlgebra

_FEWER = 2  # times as many components as rows, from which on rows are cheaper
_FEW = 2  # rows for each component, up to which their sums are not worth keeping


def prefers_row_space(n_rows, n_columns):
    """True if the space of the rows is so much smaller that learning is cheaper there."""
    return _FEWER * n_rows <= n_columns


def are_few_rows(n_rows, n_columns):
    """True if rows are so few that learning from them themselves is cheaper than from sums for several sets."""
    return n_rows <= _FEW * n_columns


class RowStatistics:
    """Few rows, with the attributes of :class:`LinearStatistics`.

    Its Gram matrix is built when something asks for it: where rows outnumber columns, or nearly do, that is learning.

    Parameters
    ----------
    columns : ndarray of shape (n_samples, n_columns)
        Basis functions at the rows.
    targets : ndarray of shape (n_samples, n_outputs)
        Targets, centred if the model's are.
    weight : ndarray of shape (n_samples,)
        Sample weights.
    precision : ndarray of shape (n_samples,)
        Sample weights over the squares of known noise scales.
    """

    device = None
    derivatives, partials = (), ()  # observed ones are summed, never kept as rows

    def __init__(self, columns, targets, weight, precision):
        root = np.sqrt(precision)[:, None]
        self.columns, self.targets = columns * root, targets * root
        self.n_samples = float(weight.sum())
        used = weight > 0
        self.log_precision = float(weight[used] @ np.log(precision[used] / weight[used]))
        self.squares = (self.targets**2).sum(axis=0)
        self.moments = self.columns.T @ self.targets
        self.rounding = 4 * np.finfo(float).eps

    @cached_property
    def gram(self):
        """Sums of products of columns."""
        gram = dsyrk(1.0, self.columns.T)
        return np.where(np.tri(len(gram), dtype=bool), gram.T, gram)

    @cached_property
    def algebra(self):
        """Algebra of these rows themselves, or of their Gram matrix."""
        return self if prefers_row_space(*self.columns.shape) else LapackAlgebra(self.gram)

    def factor(self, root, noise_variance):
        """Factor of :math:`C`; see :meth:`LapackAlgebra.factor`."""
        scaled = self.columns * (root / np.sqrt(noise_variance))
        # the transpose of a C-ordered array is what the Fortran routine wants: no copy is made
        outer = dsyrk(1.0, scaled.T, trans=True, lower=True)
        outer[np.diag_indices_from(outer)] += 1.0
        lower, info = dpotrf(outer, lower=True, overwrite_a=True, clean=True)
        if info:
            raise np.linalg.LinAlgError(f"The leading minor of order {info} is not positive.")
        return RowFactor(lower, scaled, self.targets / np.sqrt(noise_variance))


def few_rows(linear):
    """Rows that have the sums of statistics, where these are so few that evaluations are cheaper in their space.

    Their number is the rank of the Gram matrix, and one more for what the columns cannot reach of the targets.

    Parameters
    ----------
    linear : LinearStatistics
        Statistics of the data.

    Returns
    -------
    RowStatistics or LinearStatistics
        The statistics themselves, where rows are no fewer or derivatives were observed.
    """
    n_columns = len(linear.gram)
    if linear.derivatives or linear.device is not None or not prefers_row_space(linear.n_samples + 1, n_columns):
        return linear
    tolerance = max(linear.rounding, n_columns * np.finfo(float).eps) * np.diagonal(linear.gram).max()
    triangle, pivots, rank, _ = dpstrf(linear.gram, tol=tolerance)
    if not prefers_row_space(rank + 1, n_columns):
        return linear
    columns = np.zeros((rank + 1, n_columns))
    columns[:rank, pivots - 1] = np.triu(triangle)[:rank]
    targets = np.zeros((rank + 1, linear.moments.shape[1]))
    inside = columns[:rank]
    targets[:rank] = np.linalg.solve(inside @ inside.T, inside @ linear.moments)
    targets[rank] = np.sqrt(np.maximum(linear.squares - (targets**2).sum(axis=0), 0.0))
    rows = RowStatistics(columns, targets, np.ones(rank + 1), np.ones(rank + 1))
    rows.n_samples, rows.log_precision, rows.rounding = linear.n_samples, linear.log_precision, linear.rounding
    return rows


class RowFactor:
    """Lower Cholesky factor of C, with the verbs of :class:`LapackFactor` that learning uses.

    Attributes
    ----------
    lower : ndarray of shape (n_samples, n_samples)
        The factor.
    """

    def __init__(self, lower, scaled, targets):
        self.lower, self._scaled, self._targets = lower, scaled, targets

    def log_determinant(self):
        """Logarithm of the determinant of B, which is that of C."""
        return 2 * float(np.log(np.diag(self.lower)).sum())

    def weights(self, root, moment, output):
        """Posterior mean of the weights of one output; the moments are those of the rows."""
        return root * (self._scaled.T @ cho_solve((self.lower, True), self._targets[:, output], check_finite=False))

    def inverse_diagonal(self):
        """Diagonal of the inverse of B: one minus the squared norms of the whitened columns."""
        return 1 - np.einsum("ij,ij->i", self._whitened, self._whitened)

    def inverse_product(self, values):
        """Products of the columns of a matrix with the inverse of B between them."""
        whitened = solve_triangular(self.lower, self._scaled @ values, lower=True, check_finite=False)
        return values.T @ values - whitened.T @ whitened

    def covariance(self, root):
        """The matrix :math:`R B^{-1} R`."""
        half = self._whitened * root[:, None]
        return np.diag(root**2) - half @ half.T

    @cached_property
    def _whitened(self):
        """Transpose of the inverse of the factor times the scaled columns, shape (n_columns, n_samples)."""
        return dtrsm(1.0, self.lower, self._scaled.T, side=1, lower=1, trans_a=1)
