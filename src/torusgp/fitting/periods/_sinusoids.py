r"""Evidence of a few harmonics of candidate lattices beside a trend, with exact gradients in the lattices themselves.

A block of sinusoids has frequencies :math:`k B` with integer vectors :math:`k` and a reciprocal basis :math:`B`, the
transposed inverse of the cell. Inputs are scaled to their extent, so frequencies count turns over the data, and targets
to variance one. Everything is dense: the number of sinusoids is small.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.blas import dsyrk

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.inference import LinearStatistics, evidences
from torusgp.fitting.descent import curvature, descend
from torusgp.kernels.lattices import cell_errors, lattice_points, shortest_basis

_NOISE_BOUNDS = (1e-7, 10.0)  # of targets of variance one; less would let rounding outweigh the prior
_SIGNAL_BOUNDS = (1e-12, 1e2)
_TREND_BOUNDS = (1e-12, 1e2)
_LENGTH_BOUNDS = (1e-2, 10.0)
_LARGEST_MOVE = 0.5  # turns over the data that a polish may change a frequency by
_STEP = 0.03  # turns: the evidence then bends about as much along a frequency as along a logarithm


@dataclass(frozen=True)
class ScaledRows:
    """Inputs in [-1/2, 1/2], targets of mean zero and variance one, and weights of the rows."""

    inputs: np.ndarray
    targets: np.ndarray
    weight: np.ndarray

    def linear(self, columns):
        """Statistics of the linear model with these columns."""
        weighted = columns if (self.weight == 1).all() else columns * np.sqrt(self.weight)[:, None]
        upper = dsyrk(1.0, weighted.T)  # half the work of a product
        gram = upper + np.triu(upper, 1).T
        moments = columns.T @ (self.targets * self.weight[:, None])
        return LinearStatistics(gram, moments, self.weight @ self.targets**2, float(self.weight.sum()))

    def take(self, chosen):
        """Some of the rows."""
        return ScaledRows(self.inputs[chosen], self.targets[chosen], self.weight[chosen])


@dataclass(frozen=True)
class Block:
    """Sinusoids of one lattice.

    Attributes
    ----------
    indices : ndarray of int, shape (n_sinusoids, dimension)
        One of each pair of opposite vectors, without zero.
    reciprocal : ndarray of shape (dimension, n_inputs)
        Reciprocal basis, in turns over the data.
    free : ndarray of bool, shape (dimension, n_inputs)
        Entries of the basis that may move.
    unit : ndarray of shape (n_inputs,), optional
        With it, prior variances fall with the length of the frequency times this; else along each index.
    """

    indices: np.ndarray
    reciprocal: np.ndarray
    free: np.ndarray
    unit: np.ndarray | None = None

    @property
    def frequencies(self):
        """Turns of the sinusoids over the data, shape (n_sinusoids, n_inputs)."""
        return self.indices @ self.reciprocal

    @property
    def n_scales(self):
        """Number of length scales of the prior."""
        return self.indices.shape[1] if self.unit is None else 1

    def squares(self):
        """Squared sinusoid numbers that the prior falls with, shape (n_sinusoids, n_scales)."""
        if self.unit is None:
            return self.indices.astype(float) ** 2
        return ((self.frequencies * self.unit) ** 2).sum(axis=1, keepdims=True)

    def moved(self, steps):
        """The block with the free entries of its basis moved."""
        reciprocal = self.reciprocal.copy()
        reciprocal[self.free] += steps
        return replace(self, reciprocal=reciprocal)


def few_harmonics(basis, metric, highest, most):
    """Indices of the shortest vectors of a lattice, one of each pair of opposite ones, without zero.

    Parameters
    ----------
    basis : ndarray of shape (dimension, dimension)
        Reciprocal basis, in turns over the data.
    metric : ndarray of shape (dimension, dimension)
        The same in the units that lengths are measured in.
    highest : ndarray of shape (dimension,)
        Most turns along each input.
    most : int
        Largest number of vectors.

    Returns
    -------
    ndarray of int, shape (n_sinusoids, dimension)
    """
    radius, volume = np.linalg.norm(metric, axis=1).min(), abs(np.linalg.det(metric))
    while True:
        radius *= 1.2
        points = lattice_points(metric, radius)
        points = points[(np.abs(points @ basis) <= highest * (1 + 1e-9)).all(axis=1)]
        if len(points) > 2 * most or radius ** len(basis) > 1e3 * most * volume:  # the rest is too fast
            break
    lengths = np.linalg.norm(points @ metric, axis=1) / radius
    points = points[np.lexsort([*points.T, lengths.round(9)])]
    points = points[points.any(axis=1)]
    leading = points[np.arange(len(points)), (points != 0).argmax(axis=1)]
    return points[leading > 0][:most]


def cell_and_errors(block, covariance, extent, unit):
    """Cell of a block and standard errors of its entries, in the units of the inputs.

    Parameters
    ----------
    block : Block
        Sinusoids of a lattice.
    covariance : ndarray of shape (n_free, n_free)
        Covariance of the free entries of its reciprocal basis.
    extent : ndarray of shape (dimension,)
        Lengths of the ranges of the inputs.
    unit : ndarray of shape (dimension,) or None
        If given, report the vectors that are shortest in these units instead of those of the block.

    Returns
    -------
    cell, std : ndarray of shape (dimension, dimension)
    """
    turns = np.linalg.inv(block.reciprocal.T)  # rows are lattice vectors, relative to the extent
    change = np.eye(len(turns))
    if unit is not None:
        cell = turns * extent / unit
        change = np.rint(shortest_basis(cell) @ np.linalg.inv(cell))
    places = np.argwhere(block.free)
    inverse = np.zeros((len(places), *turns.shape))
    inverse[np.arange(len(places)), places[:, 1], places[:, 0]] = 1 / extent[places[:, 1]]
    cell = change @ turns * extent
    return cell, cell_errors(cell, inverse @ np.linalg.inv(change), covariance)


@dataclass(frozen=True, eq=False)
class Fit:
    """A model of blocks at an optimum of its evidence."""

    blocks: tuple
    vector: np.ndarray  # logarithms of all variances and length scales
    log_evidence: float


class SinusoidModel:
    """Trend plus blocks of sinusoids plus noise.

    Parameters
    ----------
    rows : ScaledRows
        The data.
    trend : TrendColumns
        Columns of slow change.
    """

    def __init__(self, rows, trend):
        self.rows, self.trend = rows, trend
        self._trend_columns = trend(rows.inputs)
        self._n_outputs = rows.targets.shape[1]
        self.n_common = 1 + self._n_outputs

    # A vector contains the logarithms of: amplitude of the trend's sinusoids, noise of each output, then for each block
    # its signal variance and length scales.

    def start(self, blocks):
        """A vector to begin with."""
        parts: list = [[np.log(0.1)], np.full(self._n_outputs, np.log(0.5))]
        parts += [[np.log(0.5 / (2 * len(block.indices))), *[np.log(0.3)] * block.n_scales] for block in blocks]
        return np.concatenate(parts)

    def _bounds(self, blocks):
        pairs = [_TREND_BOUNDS, *[_NOISE_BOUNDS] * self._n_outputs]
        for block in blocks:
            pairs += [_SIGNAL_BOUNDS, *[_LENGTH_BOUNDS] * block.n_scales]
        return np.log(pairs)

    def columns(self, blocks):
        """All columns: trend, then cosine and sine of every sinusoid of each block."""
        parts = [self._trend_columns]
        for block in blocks:
            phases = (2 * np.pi) * (self.rows.inputs @ block.reciprocal.T)
            zero = np.zeros((1, block.indices.shape[1]), dtype=block.indices.dtype)
            parts.append(basis_columns(phases, np.vstack([zero, block.indices]))[:, 1:])
        return np.hstack(parts)

    def prior(self, blocks, vector):
        """Prior variances of all columns."""
        parts = [self.trend.log_prior(vector[0])[0]]
        for block, (signal, *scales) in zip(blocks, self._split(blocks, vector), strict=True):
            parts.append(np.repeat(signal - 0.5 * block.squares() @ np.exp(2 * np.array(scales)), 2))
        return np.exp(np.concatenate(parts))

    def _split(self, blocks, vector):
        """Signal variance and length scales of each block."""
        start = self.n_common
        for block in blocks:
            yield vector[start : start + 1 + block.n_scales]
            start += 1 + block.n_scales

    def evidence(self, linear, blocks, vector):
        """Log evidence, its gradient in the vector, and the evidences of the outputs."""
        prior = self.prior(blocks, vector)
        noise = np.exp(vector[1 : 1 + self._n_outputs])
        results = evidences(linear, np.tile(prior[:, None], len(noise)), noise)
        total = sum(result.log_evidence for result in results)
        slopes, by_noise = zip(*(result.gradient() for result in results), strict=True)
        by_prior = sum(slopes)
        start = self.trend.n_columns
        parts: list = [[by_prior[:start] @ self.trend.log_prior(vector[0])[1]], by_noise]
        for block, (_, *scales) in zip(blocks, self._split(blocks, vector), strict=True):
            slope = by_prior[start : start + 2 * len(block.indices)].reshape(-1, 2).sum(axis=1)
            parts += [[slope.sum()], -(slope @ block.squares()) * np.exp(2 * np.array(scales))]
            start += 2 * len(block.indices)
        return total, np.concatenate(parts), by_prior, results

    def fit(self, blocks, vector=None, max_iter=40):
        """Maximise the evidence with the lattices as they are."""
        linear = self.rows.linear(self.columns(blocks))
        vector = self.start(blocks) if vector is None else vector

        def loss(vector):
            value, gradient, *_ = self.evidence(linear, blocks, vector)
            return -value, -gradient

        limits = self._bounds(blocks)
        found = descend(loss, np.clip(vector, *limits.T), limits, max_iter)
        return Fit(tuple(blocks), found.vector, -found.value)

    def evidence_and_gradient(self, blocks, vector):
        """Log evidence and its gradient in the vector and in the free entries of the bases, from the rows."""
        columns = self.columns(blocks)
        linear = self.rows.linear(columns)
        value, gradient, by_prior, results = self.evidence(linear, blocks, vector)
        n_trend = self.trend.n_columns
        sinusoids = columns[:, n_trend:]
        slope = np.zeros(sinusoids.shape)  # of the log evidence in the sinusoid columns
        for output, result in enumerate(results):
            quadratic = result.covariance() + np.outer(result.weights, result.weights)
            target = np.outer(self.rows.targets[:, output], result.weights[n_trend:])
            slope += (target - columns @ quadratic[:, n_trend:]) / result.noise_variance
        by_angle = sinusoids[:, 0::2] * slope[:, 1::2] - sinusoids[:, 1::2] * slope[:, 0::2]
        by_frequency = 2 * np.pi * by_angle.T @ (self.rows.inputs * self.rows.weight[:, None])
        by_log_prior = by_prior[n_trend:].reshape(-1, 2).sum(axis=1)
        parts, start = [gradient], 0
        for block, (_, *scales) in zip(blocks, self._split(blocks, vector), strict=True):
            own = slice(start, start + len(block.indices))
            start = own.stop
            by_sinusoid = by_frequency[own]
            if block.unit is not None:  # the prior depends on the frequencies, too
                change = block.frequencies * block.unit**2
                by_sinusoid = by_sinusoid - np.exp(2 * scales[0]) * by_log_prior[own, None] * change
            parts.append((block.indices.T @ by_sinusoid)[block.free])
        return value, np.concatenate(parts)

    def polish(self, fit, max_iter=60):
        """Maximise the evidence over the lattices as well, from a fit."""
        blocks, n_vector = fit.blocks, len(fit.vector)
        sizes = [int(block.free.sum()) for block in blocks]

        def moved(steps):
            parts = np.split(_STEP * steps, np.cumsum(sizes)[:-1])
            return tuple(block.moved(part) for block, part in zip(blocks, parts, strict=True))

        def loss(point):
            value, gradient = self.evidence_and_gradient(moved(point[n_vector:]), point[:n_vector])
            gradient[n_vector:] *= _STEP
            return -value, -gradient

        farthest = _LARGEST_MOVE / _STEP
        limits = np.vstack([self._bounds(blocks), np.tile([-farthest, farthest], (sum(sizes), 1))])
        start = np.clip(np.append(fit.vector, np.zeros(sum(sizes))), *limits.T)
        found = descend(loss, start, limits, max_iter)
        return Fit(moved(found.vector[n_vector:]), found.vector[:n_vector], -found.value)

    def curvature(self, fit, step=1e-4):
        """Negative second derivatives of the log evidence in the free entries of the bases, by differences."""
        sizes = [int(block.free.sum()) for block in fit.blocks]

        def gradient(steps):
            parts = np.split(steps, np.cumsum(sizes)[:-1])
            blocks = tuple(block.moved(part) for block, part in zip(fit.blocks, parts, strict=True))
            return self.evidence_and_gradient(blocks, fit.vector)[1][len(fit.vector) :]

        return -curvature(gradient, np.zeros(sum(sizes)), step)

    def trend_posterior(self, fit):
        """Means (n_columns, n_outputs) and covariances (n_outputs, n_columns, n_columns) of the trend's weights."""
        linear = self.rows.linear(self.columns(fit.blocks))
        *_, results = self.evidence(linear, fit.blocks, fit.vector)
        kept = slice(0, self.trend.n_columns)
        weights = np.stack([result.weights[kept] for result in results], axis=1)
        return weights, np.stack([result.covariance()[kept, kept] for result in results])
