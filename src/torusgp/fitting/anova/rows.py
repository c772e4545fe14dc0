"""Rows in blocks: sums over them, and what blocks that are left out say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.blocks import BlockSums
from torusgp.engine.inference import Evidence, evidence
from torusgp.engine.moments import noise_gram
from torusgp.engine.series import Autocovariance, TimeGrid, Unknown
from torusgp.kernels.anova import AnovaBasis

Array = NDArray[np.float64]

N_BLOCKS = 10  # each left out of the others: nine tenths of the rows learn what all do
_HELD_ENTRIES = 2**26  # of columns that are kept between passes
_SEED = 0  # of the order of rows that have none, and of draws
_PROBES = 32  # random vectors, by which the spectrum of what is not known of the function is told from noise


@dataclass(frozen=True, eq=False)
class Working:
    """Rows as a linear model sees them.

    Attributes
    ----------
    target : ndarray of shape (n_samples,)
        Targets.
    root_weight : ndarray of shape (n_samples,)
        Roots of their precisions, in units of the noise.
    """

    target: Array
    root_weight: Array

    def residuals(self, values: Array) -> Array:
        """Residuals of a function, in units of the noise."""
        return self.root_weight * (self.target - values)


@dataclass(frozen=True, eq=False)
class BlockedRows:
    """Coordinates of rows, in blocks.

    Attributes
    ----------
    coordinates : ndarray of shape (n_samples, dimension)
        Coordinates on the axes of the torus.
    blocks : tuple of ndarray of int
        Rows of each block; those in time in its order.
    grid : TimeGrid or None
        Times of the rows, one block after the other; None of rows without an order.
    """

    coordinates: Array
    blocks: tuple[NDArray[np.int64], ...]
    grid: TimeGrid | None = None

    @classmethod
    def of(cls, coordinates: Array, times: Array | None = None, groups: NDArray[np.int64] | None = None) -> BlockedRows:
        """Blocks of consecutive rows by time; of groups, if these are given; otherwise of rows in a random order."""
        n_rows = len(coordinates)
        n_blocks = min(N_BLOCKS, n_rows)
        if groups is not None:
            return cls(coordinates, tuple(np.flatnonzero(groups == one) for one in np.unique(groups)))
        if times is None:
            order = np.random.default_rng(_SEED).permutation(n_rows)
            return cls(coordinates, tuple(np.sort(one) for one in np.array_split(order, n_blocks)))
        order = np.argsort(times, kind="stable")
        return cls(coordinates, tuple(np.array_split(order, n_blocks)), TimeGrid.of(times[order]))

    def __len__(self) -> int:
        return len(self.coordinates)

    @property
    def longest_lag(self) -> int:
        """Largest lag of noise that blocks tell: their own length."""
        return max(2, min(map(len, self.blocks)))

    def in_order(self, values: Array) -> Array:
        """Values of the rows, one block after the other, as the grid has them."""
        return values[np.concatenate(self.blocks)]

    def sums(self, basis: AnovaBasis, working: Working, noise: Autocovariance | None = None) -> BlockSums:
        """Sums of a basis over the blocks, in one pass."""
        parts, start = [], 0
        for rows, columns in self.columns(basis):
            root = working.root_weight[rows]
            own = columns if (root == 1.0).all() else columns * root[:, None]
            among = None
            if noise is not None:
                assert self.grid is not None
                grid = self.grid.take(slice(start, start + len(rows)))
                among = noise_gram(lambda some, own=own: own[some], basis.n_columns, noise, grid)  # type: ignore[misc]
            parts.append(BlockSums.of_rows(own, root * working.target[rows], len(rows), among))
            start += len(rows)
        return BlockSums.of(parts)

    def columns(self, basis: AnovaBasis) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """Rows of each block, and the columns of a basis at them."""
        if self._held.get("basis") is basis:
            yield from zip(self.blocks, self._held["columns"], strict=True)
            return
        held: list[Array] | None = [] if len(self) * basis.n_columns <= _HELD_ENTRIES else None
        for rows in self.blocks:
            columns = basis.columns(self.coordinates[rows])
            if held is not None:
                held.append(columns)
            yield rows, columns
        if held is not None:
            self._held.update(basis=basis, columns=held)

    @cached_property
    def _held(self) -> dict:
        return {}

    def values(self, basis: AnovaBasis, weights: Array) -> Array:
        """A function with these weights at the rows."""
        result = np.empty(len(self))
        for rows, columns in self.columns(basis):
            result[rows] = columns @ weights
        return result

    def averages(self, basis: AnovaBasis, weight: Array | None) -> Array:
        """Averages of the columns over the rows, with weights if these are given."""
        shares = np.ones(len(self)) if weight is None else weight
        total = sum(shares[rows] @ columns for rows, columns in self.columns(basis))
        return np.asarray(total / shares.sum())

    def left_out(
        self, basis: AnovaBasis, sums: BlockSums, variances: Array, noise_variance: float, root_weight: Array
    ) -> LeftOut:
        """Predictions of every block by the others."""
        values, unknown, images = np.empty(len(self)), np.empty(len(self)), np.empty((len(self), _PROBES))
        probes = self._probes
        for block, (rows, columns) in enumerate(self.columns(basis)):
            result = evidence(sums.without(block), variances, noise_variance)
            values[rows] = columns @ result.weights
            unknown[rows] = _unknown(result, sums, block)
            if self.grid is not None:
                root = root_weight[rows, None]
                through = result.factor.solve(result.root[:, None] * (columns.T @ (root * probes[rows])))
                images[rows] = root * (columns @ (result.root[:, None] * result.factor.solve(through, transpose=True)))
        covariance = None if self.grid is None else Unknown(self.in_order(probes), self.in_order(images))
        return LeftOut(values, unknown, np.arange(len(self)), covariance)

    @cached_property
    def _probes(self) -> Array:
        """Random vectors over the rows in their order."""
        result = np.empty((len(self), _PROBES))
        result[np.concatenate(self.blocks)] = np.random.default_rng(_SEED).standard_normal(result.shape)
        return result

    def forward(self, basis: AnovaBasis, sums: BlockSums, variances: Array, noise_variance: float) -> LeftOut:
        """Predictions of later blocks, from the middle on, by those before them."""
        first = len(self.blocks) // 2
        values, unknown = [], []
        for block, (rows, columns) in enumerate(self.columns(basis)):
            if block >= first:
                result = evidence(sums.before(block), variances, noise_variance)
                values.append(columns @ result.weights)
                unknown.append(np.full(len(rows), _unknown(result, sums, block)))
        return LeftOut(np.concatenate(values), np.concatenate(unknown), np.concatenate(self.blocks[first:]))


def _unknown(result: Evidence, sums: BlockSums, block: int) -> float:
    """Variance of a function over a block, on average over its rows, in units of weights."""
    spread = result.covariance()
    return float(np.einsum("ij,ij->", spread, sums.gram[block]) / sums.gram[block, 0, 0])


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of rows that took no part.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Means of the function.
    unknown : ndarray of shape (n_rows,)
        Variances of the function, on average over each block.
    rows : ndarray of int, shape (n_rows,)
        Which rows.
    covariance : Unknown, optional
        Covariance of the function between rows in time, in units of the noise.
    """

    values: Array
    unknown: Array
    rows: NDArray[np.int64]
    covariance: Unknown | None = None
