r"""Trigonometric sums of one and of two phases through polynomials that are local to cells of the circle.

On a cell of half width h around c, :math:`e^{i k \theta} = e^{i k c} \sum_s m_{ks} u^s` with the local coordinate u in
[-1, 1]: Chebyshev's series of :math:`e^{i k h u}`, whose coefficients are Bessel functions of kh, cut off where its
rest is below a tolerance. Sums over rows of products of powers of local coordinates, the moments of the cells, then
give all sums :math:`\sum_n w_n e^{i (k \theta_n + l \eta_n)}` up to given frequencies. A row adds about a hundred
products to them for two phases, side by side in memory.
"""

from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import jv

SIZE = 8  # powers of the first coordinate, which are one vector of the processor
_MOST_POWERS = 16
_FLOPS_PER_VECTOR = 40  # of a matrix product, in the time in which a row adds a vector
_LEAST_ERROR = 1e-15  # rounding


class Cells:
    """Division of a circle into cells, and the exponentials on them as polynomials."""

    def __init__(self, largest, n_powers, tolerance):
        self.largest, self.n_powers = largest, n_powers
        self.n_cells = int(np.ceil(np.pi * max(largest, 1) / _reach(n_powers, max(tolerance, _LEAST_ERROR))))
        self.per_radian = self.n_cells / (2 * np.pi)

    @cached_property
    def real_coefficients(self):
        """Real and imaginary parts of these below each other, shape (2 (largest + 1), n_cells n_powers)."""
        flat = self.exponentials.reshape(self.largest + 1, -1)
        return np.concatenate([flat.real, flat.imag])

    @cached_property
    def exponentials(self):
        """Coefficients of the exponentials of the frequencies 0, ..., largest: (largest + 1, n_cells, n_powers)."""
        k = np.arange(self.largest + 1)
        order = np.arange(self.n_powers)
        series = jv(order, k[:, None] * np.pi / self.n_cells) * 1j**order
        series[:, 1:] *= 2
        to_powers = np.zeros((self.n_powers, self.n_powers))
        for s in order:
            to_powers[s, : s + 1] = chebyshev.cheb2poly(np.eye(self.n_powers)[s])[: s + 1]
        centres = (np.arange(self.n_cells) + 0.5) / self.per_radian
        return np.exp(1j * k[:, None] * centres)[:, :, None] * (series @ to_powers)[:, None]


@lru_cache(maxsize=64)
def _reach(n_powers, tolerance):
    """Largest product of frequency and half width for which the rest of the series is below a tolerance."""
    low, high = 0.0, float(n_powers)
    orders = np.arange(n_powers, n_powers + 30)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * np.abs(jv(orders, middle)).sum() <= tolerance else (low, middle)
    return low


@lru_cache(maxsize=128)
def _make_cells(largest, n_powers, tolerance):
    return Cells(largest, n_powers, tolerance)


@lru_cache(maxsize=4096)
def pair_cost(first, second, n_samples, tolerance):
    """Cheapest sums of two phases.

    Returns the powers of the second phase, the vectors that rows add, and the operations of the products after that.
    """
    outer = _make_cells(first, SIZE, tolerance / 2).n_cells
    choices = []
    for n_powers in range(6, _MOST_POWERS + 1):
        inner = _make_cells(second, n_powers, tolerance / 2).n_cells
        vectors, flops = float(n_samples * n_powers), 4.0 * outer * (second + 1) * inner * n_powers * SIZE
        choices.append((vectors + flops / _FLOPS_PER_VECTOR, n_powers, vectors, flops))
    return min(choices)[1:]


class CellTransforms:
    """Sums and polynomials of the phases of several axes, each alone and in pairs, by moments of cells.

    The tolerance of sums is relative to the number of rows, that of values to the sum of the coefficients.
    """

    def __init__(self, largest, tolerance):
        self.largest, self.tolerance = [int(one) for one in largest], tolerance

    def line_sums(self, axis, phase, strengths):
        """Sums of strengths (n, n_functions) on the frequencies 0, ..., 2 largest: (n_functions, n_frequencies)."""
        add_rows, _ = _powers().make_line_loops(SIZE)
        cells = _make_cells(2 * self.largest[axis], SIZE, self.tolerance)
        moments = np.zeros((strengths.shape[1], cells.n_cells * SIZE))
        for own, strength in zip(moments, strengths.T, strict=True):
            add_rows(own, phase, cells.n_cells, cells.per_radian, np.ascontiguousarray(strength))
        return moments @ cells.exponentials.reshape(2 * self.largest[axis] + 1, -1).T

    def line_values(self, axis, phase, modes):
        """Real parts of polynomials (n_functions, n_frequencies) of one phase: (n_functions, n)."""
        _, evaluate_rows = _powers().make_line_loops(SIZE)
        cells = _make_cells(modes.shape[1] - 1, SIZE, self.tolerance)
        tables = np.ascontiguousarray((modes @ cells.exponentials.reshape(modes.shape[1], -1)).real)
        result = np.zeros((len(modes), len(phase)))
        for table, own in zip(tables, result, strict=True):
            evaluate_rows(table, phase, cells.n_cells, cells.per_radian, own)
        return result

    def pair_sums(self, axis, others, phases, strength):
        """Sums on the frequencies 0, ..., largest of an axis and all up to the largest ones of others.

        Shapes: phases (n_axes, n); strength (n,); returns (largest + 1, 2 * other_largest + 1).
        """
        ordered = _Ordered(self._outer(axis), phases[axis])
        strength = ordered.move(strength)
        exponentials = ordered.cells.exponentials.reshape(self.largest[axis] + 1, -1)
        result = []
        for other in others:
            inner = self._inner(axis, other, len(strength))
            add_rows, _ = _powers().make_loops(SIZE, inner.n_powers)
            phase, real = ordered.move(phases[other]), inner.real_coefficients
            moments = np.empty((inner.n_cells * inner.n_powers, SIZE))
            half = np.zeros((ordered.cells.n_cells, SIZE, len(real)))
            for cell, rows in ordered.rows():
                moments[:] = 0.0
                add_rows(
                    moments.ravel(), ordered.local[rows], phase[rows], inner.n_cells, inner.per_radian, strength[rows]
                )
                half[cell] = (real @ moments).T
            size = self.largest[other] + 1
            sums = (half[..., :size] + 1j * half[..., size:]).reshape(-1, size)
            positive, negative = exponentials @ sums, exponentials @ np.conj(sums)
            result.append(np.concatenate([negative[:, :0:-1], positive], axis=1))
        return result

    def pair_values(self, axis, others, phases, modes):
        """Sum of the real parts of polynomials with coefficients such as :meth:`pair_sums` gives, at points (n,)."""
        ordered = _Ordered(self._outer(axis), phases[axis])
        total = np.zeros(phases.shape[1])
        for other, own in zip(others, modes, strict=True):
            inner = self._inner(axis, other, len(total))
            _, evaluate_rows = _powers().make_loops(SIZE, inner.n_powers)
            phase, real, largest = ordered.move(phases[other]), inner.real_coefficients, self.largest[other]
            by_cell = np.tensordot(ordered.cells.exponentials, own, (0, 0))  # (n_cells, size, n_frequencies)
            positive, negative = by_cell[..., largest:], by_cell[..., largest::-1].copy()
            negative[..., 0] = 0.0
            weights = np.concatenate([(positive + negative).real, (negative - positive).imag], axis=-1)
            for cell, rows in ordered.rows():
                table = real.T @ weights[cell].T
                evaluate_rows(
                    table.ravel(), ordered.local[rows], phase[rows], inner.n_cells, inner.per_radian, total[rows]
                )
        return total[ordered.place]

    def _outer(self, axis):
        return _make_cells(self.largest[axis], SIZE, self.tolerance / 2)

    def _inner(self, axis, other, n_samples):
        n_powers = pair_cost(self.largest[axis], self.largest[other], n_samples, self.tolerance)[0]
        return _make_cells(self.largest[other], n_powers, self.tolerance / 2)


class _Ordered:
    """Rows in the order of the cells of one phase, so that the moments of a cell stay in the cache."""

    def __init__(self, cells, phase):
        self.cells, self.place = cells, np.empty(len(phase), dtype=np.int32)
        self._start, self.local = np.empty(cells.n_cells + 1, dtype=np.int64), np.empty(len(phase))
        _powers().sort_rows(phase, cells.n_cells, cells.per_radian, self.place, self._start, self.local)

    def move(self, values):
        """Values of rows in this order."""
        if values.strides == (0,):
            return values  # all the same
        result = np.empty(len(values))
        _powers().move(values, self.place, result)
        return result

    def rows(self):
        """Cells that have rows, and these."""
        for cell in np.flatnonzero(np.diff(self._start)):
            yield cell, slice(self._start[cell], self._start[cell + 1])


def _powers():
    """The compiled loops: Numba is imported on first use."""
    from torusgp.engine.backends import _powers

    return _powers
