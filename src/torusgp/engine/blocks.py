r"""Sums over blocks of rows, from which every block can be left out without the rows.

The sums :math:`G_b = F_b' F_b`, :math:`m_b = F_b' y_b` of blocks b add up to those of all rows. The posterior without a
block follows from :math:`G - G_b`, that of the blocks before it from their sums, for any prior variances of the columns
and any subset of these. Where noise is correlated each block has the covariance :math:`S_b = F_b' \Gamma_b F_b` of its
moments too: noise of different blocks counts as independent, which blocks much longer than the correlation allow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dtrtrs

from torusgp.engine.inference import LinearStatistics

Array = NDArray[np.float64]

_RIDGE = 1e-9  # of the mean variance of moments: what is added to those of columns that the rows hardly show


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums of columns and one target over blocks of rows.

    Attributes
    ----------
    gram : ndarray of shape (n_blocks, n_columns, n_columns)
        Products of columns.
    moments : ndarray of shape (n_blocks, n_columns)
        Products of columns with the target.
    squares : ndarray of shape (n_blocks,)
        Squares of the target.
    n_rows : ndarray of shape (n_blocks,)
        Numbers of rows; sums of their sample weights.
    noise : ndarray of shape (n_blocks, n_columns, n_columns) or None
        Covariances of the moments, where the noise is correlated and known; None where it is independent.
    """

    gram: Array
    moments: Array
    squares: Array
    n_rows: Array
    noise: Array | None = None

    @classmethod
    def of(cls, blocks: Iterable[BlockSums]) -> BlockSums:
        """Blocks side by side."""
        parts = list(blocks)
        noise = [part.noise for part in parts if part.noise is not None]
        return cls(
            np.concatenate([part.gram for part in parts]),
            np.concatenate([part.moments for part in parts]),
            np.concatenate([part.squares for part in parts]),
            np.concatenate([part.n_rows for part in parts]),
            np.concatenate(noise) if noise else None,
        )

    @classmethod
    def of_rows(cls, columns: Array, target: Array, n_rows: float, noise: Array | None = None) -> BlockSums:
        """One block, of columns (n_samples, n_columns) and targets that are multiplied by roots of weights."""
        return cls(
            cross_products(columns)[None],
            (columns.T @ target)[None],
            np.array([float(target @ target)]),
            np.array([n_rows]),
            None if noise is None else noise[None],
        )

    def __len__(self) -> int:
        return len(self.n_rows)

    def take(self, columns: NDArray[np.int64]) -> BlockSums:
        """The sums of some of the columns."""
        block = np.ix_(np.arange(len(self)), columns, columns)
        noise = None if self.noise is None else self.noise[block]
        return BlockSums(self.gram[block], self.moments[:, columns], self.squares, self.n_rows, noise)

    def merged(self) -> BlockSums:
        """Neighbouring blocks added, two and two: for a stream whose length is not known."""
        starts = np.arange(0, len(self), 2)

        def added(one: Array) -> Array:
            return np.add.reduceat(one, starts, axis=0)

        noise = None if self.noise is None else added(self.noise)
        return BlockSums(added(self.gram), added(self.moments), added(self.squares), added(self.n_rows), noise)

    @cached_property
    def total(self) -> LinearStatistics:
        """Statistics of all blocks."""
        return self._statistics(
            self.gram.sum(axis=0),
            self.moments.sum(axis=0),
            float(self.squares.sum()),
            float(self.n_rows.sum()),
            None if self.noise is None else self.noise.sum(axis=0),
        )

    def without(self, block: int) -> LinearStatistics:
        """Statistics of all blocks but one."""
        others = np.arange(len(self)) != block
        return self._of(others)

    def before(self, block: int) -> LinearStatistics:
        """Statistics of the blocks before one."""
        return self._of(np.arange(len(self)) < block)

    def _of(self, chosen: NDArray[np.bool_]) -> LinearStatistics:
        """Statistics of some blocks, added directly: differences would lose digits."""
        share = chosen.astype(float)
        return self._statistics(
            np.einsum("b,bij->ij", share, self.gram),
            share @ self.moments,
            float(share @ self.squares),
            float(share @ self.n_rows),
            None if self.noise is None else np.einsum("b,bij->ij", share, self.noise),
        )

    @staticmethod
    def _statistics(
        gram: Array, moments: Array, squares: float, n_rows: float, noise: Array | None
    ) -> LinearStatistics:
        if noise is None:
            return LinearStatistics(gram, moments[:, None], np.array([squares]), n_rows)
        precision, linear_term = moment_likelihood(gram, moments, noise)
        # relative to rows that are noise alone, and in units of their noise: its variance is one
        return LinearStatistics(precision, linear_term[:, None], np.zeros(1), 0.0)


def cross_products(columns: Array) -> Array:
    """Symmetric matrix of the products of columns (n_samples, n_columns)."""
    in_order = columns.T if columns.flags.f_contiguous else np.ascontiguousarray(columns.T)
    # the transpose of columns that lie one after the other is C-ordered, and its own transpose what Fortran wants
    upper = dsyrk(1.0, in_order.T, trans=1)
    return np.triu(upper) + np.triu(upper, 1).T


def moment_likelihood(gram: Array, moments: Array, noise: Array) -> tuple[Array, Array]:
    r"""Precision :math:`G S^{-1} G` and linear term :math:`G S^{-1} m` of weights by moments of covariance S."""
    ridge = _RIDGE * float(np.trace(noise)) / len(noise)
    lower, info = dpotrf(noise + ridge * np.eye(len(noise)), lower=1)
    if info:
        raise np.linalg.LinAlgError("The covariance of the moments is not positive definite.")
    half = dtrtrs(lower, np.asfortranarray(gram), lower=1)[0]
    target = dtrtrs(lower, moments, lower=1)[0]
    return cross_products(half), half.T @ target
