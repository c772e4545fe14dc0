r"""The likelihood of the moments: regression on rows whose noise is correlated.

Whatever the covariance :math:`\Gamma` of the noise, the moments :math:`m = F' y` have the mean :math:`G w` and the
covariance :math:`S = F' \Gamma F`, with :math:`G = F' F`. They are taken for the data. For :math:`\Gamma = s^2 I` that
is all the rows say, so nothing is lost; otherwise a frequency counts as much as the noise at it allows.

:math:`S` is singular where columns are nearly dependent, as those of lines, or more than the rows. Moments are then
taken along an orthonormal basis :math:`U = F V d^{-1/2}` of what the rows can show, from :math:`G = V d V'`, with the
covariance :math:`C = U' \Gamma U`. Their likelihood has the precision
:math:`H = V d^{1/2} C^{-1} d^{1/2} V'` of the weights and the linear term :math:`h = V d^{1/2} C^{-1} d^{-1/2} V' m`,
of which those of fewer columns are a part: one pool of moments serves all sets of frequencies in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import dpocon

from torusgp.engine.inference import LinearStatistics
from torusgp.engine.series import Autocovariance, TimeGrid

Array = NDArray[np.float64]

RANK_THRESHOLD = 1e-10  # of the largest eigenvalue of the Gram matrix: what is below, rows hardly show
_BATCH = 256  # columns that are held at once, where all are too many
_BLOCK_ROWS = 2**12  # rows whose columns are computed at once
_HELD_ENTRIES = 2**26  # values of columns that are held at a time
_WELL_CONDITIONED = 1e-7  # reciprocal condition from which no basis is needed


def noise_gram(columns: Callable[[slice], Array], n_columns: int, noise: Autocovariance, grid: TimeGrid) -> Array:
    """Covariance matrix S of the moments of columns, by transforms along time.

    Parameters
    ----------
    columns : callable
        Columns of consecutive rows, shape (n_rows, n_columns).
    n_columns : int
        How many there are.
    noise : Autocovariance
        That of the rows.
    grid : TimeGrid
        Their times.
    """
    size = noise.transform_size(grid)
    width = n_columns if n_columns * size <= _HELD_ENTRIES else _BATCH
    batches = [slice(start, min(start + width, n_columns)) for start in range(0, n_columns, width)]
    result = np.empty((n_columns, n_columns))

    def whitened(some: slice) -> Array:
        """Some of the columns, of which those of a block of rows are computed at once."""
        own = np.empty((noise.whitened_rows(grid, size), some.stop - some.start))
        for start in range(0, len(grid), _BLOCK_ROWS):
            block = slice(start, min(start + _BLOCK_ROWS, len(grid)))
            own[block] = columns(block)[:, some]
        noise.whiten(own, grid, size)
        return own

    for i, some in enumerate(batches):
        own = whitened(some)
        result[some, some] = own.T @ own
        for others in batches[:i]:
            product = own.T @ whitened(others)
            result[some, others], result[others, some] = product, product.T
    return result


@dataclass(frozen=True)
class Moments:
    """Normal density of the weights that moments give, of precision H and linear term h.

    Attributes
    ----------
    precision : ndarray of shape (n_columns, n_columns)
        The matrix H.
    linear_term : ndarray of shape (n_columns,)
        The vector h.
    log_density : float
        Logarithm of the density of the rows if they were noise alone; the evidence is relative to it.
    square : float
        The quadratic form of the moments in their density if they were noise alone.
    n_values : float
        Number of values that it sums over, which show how large the noise is.
    """

    precision: Array
    linear_term: Array
    log_density: float = 0.0
    square: float = 0.0
    n_values: float = 0.0

    @classmethod
    def of(cls, gram: Array, moments: Array, noise: Array, log_density: float = 0.0) -> Moments:
        """Moments with Gram matrix G, of shape (n_columns,), and covariance S."""
        if _condition(gram) > _WELL_CONDITIONED and _condition(noise) > _WELL_CONDITIONED:
            lower = np.linalg.cholesky(noise)
            return cls._whitened(solve_triangular(lower, gram, lower=True), lower, moments, log_density)
        values, vectors = eigh(gram)
        kept = values > RANK_THRESHOLD * max(values[-1], 0.0)
        root, basis = np.sqrt(values[kept]), vectors[:, kept]
        scaled = basis / root
        inner = scaled.T @ noise @ scaled
        lower = np.linalg.cholesky((inner + inner.T) / 2)
        whitened = solve_triangular(lower, root[:, None] * basis.T, lower=True)
        return cls._whitened(whitened, lower, scaled.T @ moments, log_density)

    @classmethod
    def _whitened(cls, columns: Array, lower: Any, moments: Array, log_density: float) -> Moments:
        """From columns in units of the noise of moments, of which this is the factor."""
        targets = solve_triangular(lower, moments, lower=True)
        square = float(targets @ targets)
        return cls(columns.T @ columns, columns.T @ targets, log_density, square, float(len(targets)))

    @property
    def alone(self) -> tuple[float, float, float]:
        """Statistics of the rows if they were noise alone."""
        return self.log_density, self.square, self.n_values

    def posterior(self, variances: Array) -> tuple[Array, Array]:
        """Posterior of the weights, given their prior variances.

        Returns
        -------
        mean : ndarray of shape (n_columns,)
        root : ndarray of shape (n_columns, n_columns)
            An upper triangle; its product with its transpose is the covariance.
        """
        scale = np.sqrt(variances)
        whole = scale[:, None] * self.precision * scale
        whole[np.diag_indices_from(whole)] += 1.0
        lower = np.linalg.cholesky(whole)
        root = scale[:, None] * solve_triangular(lower, np.eye(len(scale)), lower=True).T
        return root @ (root.T @ self.linear_term), root

    def take(self, columns: NDArray[np.int64]) -> Moments:
        """Of some of the columns: the weights of the others are zero."""
        return replace(self, precision=self.precision[np.ix_(columns, columns)], linear_term=self.linear_term[columns])

    def without(self, variances: Array) -> Moments:
        """The same of the first columns, the weights of the last, with these prior variances, integrated out."""
        n_kept = len(self.linear_term) - len(variances)
        kept, gone = slice(n_kept), slice(n_kept, None)
        inner = self.precision[gone, gone] + np.diag(1 / variances)
        through = np.linalg.solve(inner, np.column_stack([self.precision[gone, kept], self.linear_term[gone]]))
        explained = float(self.linear_term[gone] @ through[:, -1])
        ratio = float(np.linalg.slogdet(variances[:, None] * inner)[1])
        return replace(
            self,
            precision=self.precision[kept, kept] - self.precision[kept, gone] @ through[:, :-1],
            linear_term=self.linear_term[kept] - self.precision[kept, gone] @ through[:, -1],
            log_density=self.log_density + 0.5 * (explained - ratio),
            square=self.square - explained,
        )

    def linear(self, rows: LinearStatistics, noise_variance: float) -> LinearStatistics:
        """Statistics that give the posterior and evidence of the moments with this noise variance.

        With another noise variance they are those of moments whose noise has the same spectrum and another size. That
        does not change the density of what else is in the rows, given the moments: of the model that knows nothing.

        Parameters
        ----------
        rows : LinearStatistics
            Sums over the rows, of the same columns.
        noise_variance : float
            That of the noise; if it is white, they are the sums over the rows.
        """
        return replace(
            rows,
            gram=noise_variance * self.precision,
            moments=noise_variance * self.linear_term[:, None],
            squares=np.array([noise_variance * self.square]),
            n_samples=self.n_values,
            log_precision=2 * self.log_density + self.n_values * np.log(2 * np.pi * noise_variance) + self.square,
        )


def _condition(matrix: Array) -> float:
    """Estimate of the reciprocal condition number of a symmetric matrix; zero if it is not positive definite."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return 0.0
    return float(dpocon(factor, np.abs(matrix).sum(axis=0).max(), uplo="L")[0])
