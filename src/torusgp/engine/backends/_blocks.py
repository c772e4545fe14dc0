r"""Sums over rows block by block: what two axes have to do with each other needs transforms of these two alone.

An additive model of many inputs has frequencies with one entry that is not zero. Products of two of its columns are
then sums and differences :math:`k e_i \pm l e_j`, so that :math:`F'F` consists of sums of one phase and of pairs of
phases, however many axes there are. Frequencies of several axes, the interactions, keep their dense products.
"""

from importlib.util import find_spec

import finufft
import numpy as np

from torusgp.engine.backends._cells import CellTransforms, pair_cost
from torusgp.engine.backends._dense import ColumnSums, DensePredictor, per_column, row_chunks, stored_count
from torusgp.engine.backends._nufft import moments_of_modes, turned_weights
from torusgp.engine.backends._resources import KERNEL_WIDTH, SECONDS_PER_CELL, SECONDS_PER_FLOP, SECONDS_PER_TRANSFORM
from torusgp.engine.basis import columns

_CHUNK_NUMBERS = 2**24  # phases that are worked on at once; many rows share what is done after them
_SECONDS_PER_VECTOR = 1.2e-9  # that a row adds to the moments of a cell
_SECONDS_PER_MOVE = 3e-9  # of a row to where the rows of its cell are
_SECONDS_TO_COMPILE = 0.7  # once in a process
_PREDICTION_TOLERANCE = 1e-13  # of the sum of the coefficients of a polynomial
_UNRELIABLE = 1e-7  # variances below this fraction of that sum are recomputed without cancellation


class PlanTransforms:
    """The same verbs as :class:`CellTransforms` by FINUFFT: better for many frequencies and few rows."""

    def __init__(self, largest, tolerance):
        self.largest, self.tolerance = [int(one) for one in largest], max(tolerance, 1e-14)

    def line_sums(self, axis, phase, strengths):
        """Sums of strengths (n, n_functions) on the frequencies 0, ..., 2 largest: (n_functions, n_frequencies)."""
        size = 2 * self.largest[axis]
        rows = [self._sums((phase,), np.ascontiguousarray(one), (2 * size + 1,))[size:] for one in strengths.T]
        return np.stack(rows)

    def line_values(self, axis, phase, modes):
        """Real parts of polynomials (n_functions, n_frequencies) of one phase: (n_functions, n)."""
        both = np.concatenate([np.zeros((len(modes), modes.shape[1] - 1)), modes], axis=1)
        return np.stack([self._values((phase,), one) for one in both])

    def pair_sums(self, axis, others, phases, strength):
        """Sums on the frequencies 0, ..., largest of an axis and all up to the largest ones of others."""
        own = self.largest[axis]
        return [
            self._sums((phases[axis], phases[other]), strength, (2 * own + 1, 2 * self.largest[other] + 1))[own:]
            for other in others
        ]

    def pair_values(self, axis, others, phases, modes):
        """Sum of the real parts of polynomials with coefficients such as :meth:`pair_sums` gives, at points (n,)."""
        total = np.zeros(phases.shape[1])
        for other, own in zip(others, modes, strict=True):
            both = np.concatenate([np.zeros((len(own) - 1, own.shape[1])), own])
            total += self._values((phases[axis], phases[other]), both)
        return total

    def _sums(self, points, strength, shape):
        plan = finufft.Plan(1, shape, eps=self.tolerance, isign=1, nthreads=1)
        plan.setpts(*points)
        return plan.execute(strength.astype(complex))

    def _values(self, points, modes):
        plan = finufft.Plan(2, modes.shape, eps=self.tolerance, isign=1, nthreads=1)
        plan.setpts(*points)
        return plan.execute(np.ascontiguousarray(modes.astype(complex))).real


def block_costs(frequencies, n_samples, tolerance=1e-12):
    """Seconds of the sums of n rows by moments of cells, if Numba is there, and by FINUFFT; and of the rest.

    The keys are "cells" and "plans".
    """
    axes = _Axes(frequencies)
    n_wide, n_single = 2 * len(axes.wide), 2 * len(axes.single)
    dense = n_samples * (n_wide**2 + 2.0 * n_wide * n_single) * SECONDS_PER_FLOP
    n_axes = len(axes.largest)
    n_pairs = n_axes * (n_axes - 1) / 2
    costs = {
        "plans": n_samples * SECONDS_PER_CELL * KERNEL_WIDTH * (n_axes + KERNEL_WIDTH * n_pairs)
        + (n_axes + n_pairs) * SECONDS_PER_TRANSFORM
    }
    if find_spec("numba") is not None:
        vectors, flops = float(n_axes * n_samples), 0.0
        for number, first in enumerate(axes.largest):
            for second in axes.largest[number + 1 :]:
                _, more, products = pair_cost(int(first), int(second), n_samples, tolerance)
                vectors, flops = vectors + more, flops + products
        moves = n_samples * (n_axes + n_pairs)
        costs["cells"] = (
            vectors * _SECONDS_PER_VECTOR + flops * SECONDS_PER_FLOP + moves * _SECONDS_PER_MOVE + _SECONDS_TO_COMPILE
        )
    return {name: cost + dense for name, cost in costs.items()}


class _Axes:
    """Frequencies by the axis on which alone they are not zero."""

    def __init__(self, frequencies):
        n_entries = np.count_nonzero(frequencies, axis=1)
        self.single, self.wide = np.flatnonzero(n_entries <= 1), np.flatnonzero(n_entries > 1)
        own = frequencies[self.single]
        self.used = np.flatnonzero(own.any(axis=0))
        self.largest = np.abs(own[:, self.used]).max(axis=0).astype(np.int64)
        # for every axis the places among the single frequencies, and their entries
        where = [np.flatnonzero(own[:, axis]) for axis in self.used]
        self.members = [(places, own[places, axis]) for places, axis in zip(where, self.used, strict=True)]

    def pairs(self):
        """Axes with those after them."""
        for first in range(len(self.used) - 1):
            yield first, range(first + 1, len(self.used))


class BlockSums(ColumnSums):
    """Sums of exponentials of one phase and of two, and dense products for frequencies of several axes.

    Parameters
    ----------
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of the columns, the zero vector first.
    n_outputs : int
        Number of targets.
    tolerance : float, default=1e-12
        Error of the sums, relative to the number of rows.
    n_threads : int, default=1
        Not used: rows are worked on by one thread, and blocks of rows by several.
    """

    name = "blocks"

    def __init__(self, frequencies, n_outputs, tolerance=1e-12, n_threads=1):
        super().__init__(np.asarray(frequencies, dtype=np.int64))
        self.tolerance, self.n_threads, self.n_outputs = tolerance, n_threads, n_outputs
        self._axes = _Axes(self.frequencies)
        self._lines = [np.zeros(2 * size + 1, dtype=complex) for size in self._axes.largest]
        self._targets = np.zeros((n_outputs, len(self._axes.single)), dtype=complex)
        sizes = self._axes.largest
        self._pairs = {
            (first, second): np.zeros((sizes[first] + 1, 2 * sizes[second] + 1), dtype=complex)
            for first, others in self._axes.pairs()
            for second in others
        }
        n_wide = 2 * len(self._axes.wide)
        self._products = np.zeros((n_wide, n_wide + 2 * len(self._axes.single) - 1))  # of interactions with all
        self._wide_targets = np.zeros((n_wide, n_outputs))
        self._total = 0.0

    @property
    def size(self):
        """Number of sums."""
        return sum(one.size for one in self._pairs.values()) + self._products.size

    @property
    def rounding(self):
        """Largest error of the entries of the Gram matrix, relative to the number of rows."""
        return self.tolerance

    def empty(self):
        """Sums of no rows, otherwise like these."""
        return BlockSums(self.frequencies, self.n_outputs, self.tolerance)

    def add_weighted(self, phases, precision, weighted):
        """Add rows: phases (n, dimension), precision (n,), which may be negative, weighted targets (n, n_outputs)."""
        axes = self._axes
        transforms = _choose_transforms(self.frequencies, len(phases), axes.largest, self.tolerance)
        step = max(2**16, _CHUNK_NUMBERS // max(len(axes.used), 1))
        for start in range(0, len(phases), step):
            rows = slice(start, start + step)
            self._add_rows(transforms, phases[rows], precision[rows], weighted[rows])

    def _add_rows(self, transforms, phases, precision, weighted):
        axes = self._axes
        own = np.ascontiguousarray(phases.T[axes.used])
        strengths = np.column_stack([precision, weighted])
        self._total += precision.sum()
        self._targets[:, 0] += weighted.sum(axis=0)
        for axis, (places, entries) in enumerate(axes.members):
            sums = transforms.line_sums(axis, own[axis], strengths)
            self._lines[axis] += sums[0]
            self._targets[:, places] += _at(sums[1:], entries)
        if len(precision) and (precision == precision[0]).all():
            precision = np.broadcast_to(precision[0], len(precision))  # needs no sorting
        for first, others in axes.pairs():
            for second, sums in zip(others, transforms.pair_sums(first, others, own, precision), strict=True):
                self._pairs[first, second] += sums
        if len(axes.wide):
            order = np.concatenate([[0], axes.wide, axes.single[1:]])
            for rows in row_chunks(len(phases), 2 * len(order)):
                features = columns(phases[rows], self.frequencies[order])
                wide = features[:, 1 : 1 + 2 * len(axes.wide)]
                self._wide_targets += wide.T @ weighted[rows]
                self._products += (wide * precision[rows, None]).T @ np.roll(features, -1, axis=1)
        self.n_rows += len(phases)

    def add(self, other, factor=1.0, offset=0.0):
        """Add the sums of other rows, whose targets become ``factor * target + offset``."""
        factor, offset = (np.broadcast_to(value, self.n_outputs) for value in (factor, offset))
        self._targets += factor[:, None] * other._targets + offset[:, None] * other._single_modes()
        # the last column of the products is that of the constant
        self._wide_targets += factor * other._wide_targets + offset * other._products[:, -1:]
        for own, one in zip(self._lines, other._lines, strict=True):
            own += one
        for pair, one in other._pairs.items():
            self._pairs[pair] += one
        self._products += other._products
        self._total += other._total
        self.n_rows += other.n_rows

    def _single_modes(self):
        """Sums of the precisions on the single frequencies."""
        result = np.full(len(self._axes.single), self._total, dtype=complex)
        for line, (places, entries) in zip(self._lines, self._axes.members, strict=True):
            result[places] = _at(line, entries)
        return result

    def constant_sums(self):
        """Sum of the precisions, and of their products with the targets."""
        return self._total, self._targets[:, 0].real

    def gram(self, frequencies):
        """Matrix of the sums of products of the columns of these frequencies."""
        axes, size = self._axes, 2 * len(self.frequencies)
        whole = np.zeros((size, size))  # with a sine of the zero frequency, which is left out at the end
        constant = np.zeros(1, dtype=np.int64)
        _fill(whole, constant, constant, np.full((1, 1), self._total + 0j), np.full((1, 1), self._total + 0j))
        for axis, (places, entries) in enumerate(axes.members):
            own = axes.single[places]
            line = _at(self._lines[axis], entries)[:, None]
            _fill(whole, own, constant, line, line)
            both = entries[:, None] - entries, entries[:, None] + entries
            _fill(whole, own, own, *(_at(self._lines[axis], modes) for modes in both))
        for (first, second), sums in self._pairs.items():
            (places, entries), (others, more) = axes.members[first], axes.members[second]
            middle = sums.shape[1] // 2
            # the first entry of a frequency that is not zero is positive
            pairs = [sums[entries[:, None], middle + sign * more] for sign in (-1, 1)]
            _fill(whole, axes.single[places], axes.single[others], *pairs)
        if len(axes.wide):
            order = np.concatenate([axes.wide, axes.single[1:]])
            beside = np.append(np.stack([2 * order, 2 * order + 1], axis=1).ravel(), 0)
            rows = beside[: len(self._products)]
            whole[np.ix_(rows, beside)] = self._products
            whole[np.ix_(beside, rows)] = self._products.T
        kept = np.delete(np.arange(size), 1)[self._columns(frequencies)]
        return whole[np.ix_(kept, kept)]

    def moments(self, frequencies):
        """Sums of products of the components with the targets, shape (n_columns, n_outputs)."""
        values = np.empty((self.n_outputs, len(self.frequencies)), dtype=complex)
        values[:, self._axes.single] = self._targets
        values[:, self._axes.wide] = (self._wide_targets[0::2] + 1j * self._wide_targets[1::2]).T
        return moments_of_modes(values[:, self._positions(frequencies)])

    def subset(self, frequencies):
        """Sums of these frequencies alone."""
        result = BlockSums(frequencies, self.n_outputs, self.tolerance, self.n_threads)
        result._total, result.n_rows = self._total, self.n_rows
        mine = {int(axis): number for number, axis in enumerate(self._axes.used)}
        which = [mine[int(axis)] for axis in result._axes.used]
        for line, number in zip(result._lines, which, strict=True):
            line[:] = self._lines[number][: len(line)]
        for (first, second), sums in result._pairs.items():
            other = self._pairs[which[first], which[second]]
            middle, reach = other.shape[1] // 2, sums.shape[1] // 2
            sums[:] = other[: len(sums), middle - reach : middle + reach + 1]
        where = self._positions(frequencies)
        single = {int(one): place for place, one in enumerate(self._axes.single)}
        result._targets[:] = self._targets[:, [single[int(one)] for one in where[result._axes.single]]]
        if len(result._axes.wide):
            wide = {int(one): place for place, one in enumerate(self._axes.wide)}
            chosen = np.array([wide[int(one)] for one in where[result._axes.wide]])
            others = np.array([single[int(one)] for one in where[result._axes.single[1:]]], dtype=np.int64)
            order = np.concatenate([chosen, len(self._axes.wide) + others - 1])
            beside = np.append(np.stack([2 * order, 2 * order + 1], axis=1).ravel(), self._products.shape[1] - 1)
            rows = beside[: 2 * len(chosen)]
            result._products[:] = self._products[np.ix_(rows, beside)]
            result._wide_targets[:] = self._wide_targets[rows]
        return result

    def to_arrays(self):
        """Arrays that hold the sums, by name."""
        empty = np.zeros(0, dtype=complex)
        return {
            "total": np.array(self._total),
            "lines": np.concatenate([empty, *self._lines]),
            "pairs": np.concatenate([empty, *(one.ravel() for one in self._pairs.values())]),
            "targets": self._targets,
            "products": self._products,
            "wide_targets": self._wide_targets,
            "n_rows": np.array(self.n_rows),
        }

    def set_arrays(self, arrays):
        """Take sums over from arrays of the same names and shapes."""
        for name, parts in (("lines", self._lines), ("pairs", list(self._pairs.values()))):
            start = 0
            for part in parts:
                part[:] = arrays[name][start : start + part.size].reshape(part.shape)
                start += part.size
        self._targets[:], self._products[:] = arrays["targets"], arrays["products"]
        self._wide_targets[:] = arrays["wide_targets"]
        self._total, self.n_rows = float(arrays["total"]), stored_count(arrays)


class BlockPredictor(DensePredictor):
    """Mean and variance of the posterior at points, as sums of polynomials of one phase and of two."""

    name = "blocks"

    def __init__(self, frequencies, posterior, n_threads=1):
        super().__init__(np.asarray(frequencies, dtype=np.int64), posterior)
        self.n_threads, self._axes = n_threads, _Axes(self.frequencies)
        self._variances = {}  # polynomials of the variances, by output

    def mean(self, phases, weights):
        """Values of functions with these weights, shape (n, n_functions)."""
        result = np.zeros((weights.shape[1], len(phases)))
        result += weights[0][:, None]
        for rows, own, transforms in self._chunks(phases):
            for axis, (places, entries) in enumerate(self._axes.members):
                number = self._axes.single[places]
                modes = np.zeros((weights.shape[1], self._axes.largest[axis] + 1), dtype=complex)
                modes[:, entries] = (weights[2 * number - 1] - 1j * weights[2 * number]).T
                result[:, rows] += transforms.line_values(axis, own[axis], modes)
        return result.T + self._wide_mean(phases, weights)

    def _wide_mean(self, phases, weights):
        wide = self._axes.wide
        if not len(wide):
            return 0.0
        own = np.concatenate([np.zeros_like(weights[:1]), weights[np.stack([2 * wide - 1, 2 * wide], axis=1).ravel()]])
        return DensePredictor(self.frequencies[np.append(0, wide)], None).mean(phases, own)

    def variance(self, phases, output):
        """Posterior variance of one output; where the polynomials would cancel, the squared norm instead."""
        if len(self._axes.wide):
            return super().variance(phases, output)
        constant, lines, pairs = self._variance_modes(output)
        size = abs(constant) + sum(np.abs(modes).sum() for modes in (*lines, *pairs.values()))
        result = np.full(len(phases), constant)
        for rows, own, transforms in self._chunks(phases):
            for axis, modes in enumerate(lines):
                result[rows] += transforms.line_values(axis, own[axis], modes[None])[0]
            for first, others in self._axes.pairs():
                result[rows] += transforms.pair_values(first, others, own, [pairs[first, other] for other in others])
        doubtful = np.flatnonzero(result < _UNRELIABLE * size)
        if doubtful.size:
            result[doubtful] = super().variance(phases[doubtful], output)
        return result

    def gradient(self, phases, weights, waves):
        """Derivatives along inputs: ``waves`` (n_inputs, n_frequencies) are the wave numbers along each of them."""
        turned = turned_weights(weights)
        return np.stack([self.mean(phases, turned * per_column(wave)[:, None]) for wave in waves], axis=1)

    def _chunks(self, phases):
        axes = self._axes
        step = max(2**16, _CHUNK_NUMBERS // max(len(axes.used), 1))
        transforms = _choose_transforms(self.frequencies, min(len(phases), step), axes.largest, _PREDICTION_TOLERANCE)
        for start in range(0, len(phases), step):
            rows = slice(start, start + step)
            yield rows, np.ascontiguousarray(phases[rows].T[axes.used]), transforms

    def _variance_modes(self, output):
        """Constant, polynomials of one phase and of two whose sum is the variance."""
        if output not in self._variances:
            axes, covariance = self._axes, self.posterior.covariance(output)
            constant, lines, pairs = covariance[0, 0], [], {}
            for axis, (places, entries) in enumerate(axes.members):
                number = axes.single[places]
                modes = np.zeros(2 * axes.largest[axis] + 1, dtype=complex)
                modes[entries] += 2 * (covariance[0, 2 * number - 1] - 1j * covariance[0, 2 * number])
                difference, total = _product_modes(covariance, number, number)
                np.add.at(modes, entries[:, None] + entries, total)
                apart = entries[:, None] - entries
                np.add.at(modes, np.abs(apart), np.where(apart < 0, np.conj(difference), difference))
                constant, modes[0] = constant + modes[0].real, 0.0
                lines.append(modes)
            for first, others in axes.pairs():
                for second in others:
                    (places, entries), (more, values) = axes.members[first], axes.members[second]
                    difference, total = _product_modes(covariance, axes.single[places], axes.single[more])
                    reach = axes.largest[second]
                    modes = np.zeros((axes.largest[first] + 1, 2 * reach + 1), dtype=complex)
                    modes[entries[:, None], reach - values] = 2 * difference
                    modes[entries[:, None], reach + values] = 2 * total
                    pairs[first, second] = modes
            self._variances[output] = constant, lines, pairs
        return self._variances[output]

    def __getstate__(self):
        return {**self.__dict__, "_variances": {}}


def _choose_transforms(frequencies, n_samples, largest, tolerance):
    costs = block_costs(frequencies, n_samples, tolerance)
    return {"cells": CellTransforms, "plans": PlanTransforms}[min(costs, key=costs.__getitem__)](largest, tolerance)


def _at(modes, entries):
    """Sums on frequencies of either sign, from those that are not negative, along the last axis."""
    values = modes[..., np.abs(entries)]
    return np.where(entries < 0, np.conj(values), values)


def _fill(gram, rows, others, difference, total):
    """Write the products of columns of two groups of frequencies, on both sides of the diagonal."""
    parts = {
        (0, 0): (total.real + difference.real) / 2,
        (1, 1): (difference.real - total.real) / 2,
        (1, 0): (total.imag + difference.imag) / 2,
        (0, 1): (total.imag - difference.imag) / 2,
    }
    for (one, other), block in parts.items():
        gram[np.ix_(2 * rows + one, 2 * others + other)] = block
        gram[np.ix_(2 * others + other, 2 * rows + one)] = block.T


def _product_modes(covariance, rows, others):
    """Coefficients on differences and sums of the quadratic form between the columns of two groups of frequencies."""
    cos_cos, cos_sin, sin_cos, sin_sin = (
        covariance[np.ix_(2 * rows - 1 + one, 2 * others - 1 + other)] for one in (0, 1) for other in (0, 1)
    )
    difference = (cos_cos + sin_sin - 1j * (sin_cos - cos_sin)) / 2
    return difference, (cos_cos - sin_sin - 1j * (sin_cos + cos_sin)) / 2
