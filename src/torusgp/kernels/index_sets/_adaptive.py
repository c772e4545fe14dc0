"""The set of the largest coefficients of a given kernel."""

import numpy as np

from torusgp.checks import check_count, check_flag
from torusgp.kernels.index_sets._ball import RELATIVE_TOLERANCE, Ball, n_columns, new_groups
from torusgp.kernels.index_sets._index_set import IndexSet, expand_signs, half_space
from torusgp.kernels.lattices import lattice_points

_NO_COEFFICIENT = 1e-13  # what a quadrature leaves of a tail that is empty
_LONGEST_TABLE = 2**13  # frequencies looked at on an axis of a family that need not fall
_SMALLEST_LOG_COEFFICIENT = -700.0  # stands for a constant term that a family does not have


def adaptive(kernel, n_components, *, dimension=None, max_interaction=None, sign_symmetric=False):
    """Frequencies of the largest coefficients of a kernel: the best set of its size.

    No set with as many components has a smaller largest error or a smaller Frobenius error.

    Parameters
    ----------
    kernel : TorusKernel
        Kernel to approximate.
    n_components : int
        Largest number of components. Frequencies come in pairs, so an even number gives one column less.
    dimension : int, optional
        Number of periodic inputs, where the kernel's own parameters do not tell.
    max_interaction : int, optional
        Largest number of non-zero entries in a frequency; by default the kernel's own.
    sign_symmetric : bool, default=False
        Keep or drop all sign changes of a frequency together. The default cuts ties in lexicographic order.

    Returns
    -------
    IndexSet
        In order of falling coefficients; ties in lexicographic order.

    Examples
    --------
    >>> from torusgp import TorusKernel
    >>> adaptive(TorusKernel(length_scale=[0.2, 2.0]), 9).frequencies.tolist()
    [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]
    """
    budget = check_count(n_components, "n_components")
    n_pairs = (budget - 1) // 2
    if isinstance(kernel, type) or not hasattr(kernel, "largest"):
        raise TypeError(f"kernel must be a TorusKernel, got {kernel!r}.")
    check_count(dimension, "dimension", optional=True)
    check_flag(sign_symmetric, "sign_symmetric")
    largest = kernel.largest(budget)
    if largest is not None:  # a sum of products
        if max_interaction is not None or sign_symmetric:
            raise ValueError(
                "max_interaction and sign_symmetric are for one product: limit the terms of a sum instead."
            )
        return largest
    dimension = _known_dimension(kernel, dimension)
    limit = kernel.max_interaction if max_interaction is None else check_count(max_interaction, "max_interaction")
    if kernel.metric == "cartesian":
        if limit is not None:
            raise ValueError(
                f"max_interaction={limit!r} has no meaning for a Cartesian kernel: the number of non-zero entries of a "
                "frequency depends on the basis of the lattice. Use a family with metric='phase'."
            )
        if sign_symmetric:
            raise ValueError("sign_symmetric=True has no meaning for a Cartesian kernel: signs depend on the basis.")
        return IndexSet(_largest_cartesian(kernel.cell(dimension), n_pairs), None, "adaptive")
    if n_pairs == 0:
        zero = np.zeros((1, dimension), np.int64)
        return IndexSet(zero, zero, "adaptive", limit)
    spectra = kernel.axis_spectra(dimension)
    if dimension == 1 and spectra[0][0].monotone:
        single = np.arange(n_pairs + 1)
        some = np.isfinite(spectra[0][0].log_coefficients(single, spectra[0][1]))
        some[0] = True
        single = single[some, None]
        return IndexSet(single, single if sign_symmetric else None, "adaptive", limit)
    ball = _CoefficientBall(spectra, limit, n_pairs)
    indices, weights = ball.enough_members(n_pairs)
    group = np.cumsum(new_groups(weights))
    if sign_symmetric:
        order = np.lexsort((*indices.T[::-1], group))
        pairs = np.cumsum(2.0 ** (np.count_nonzero(indices[order], axis=1) - 1))
        chosen = indices[order[pairs <= n_pairs]]
        indices = np.vstack([np.zeros((1, dimension), np.int64), chosen])
        return IndexSet(expand_signs(indices), indices, "adaptive", limit)
    # Whole groups of ties while they fit; the last one is cut in lexicographic order of the signed frequencies.
    pairs = np.cumsum(2.0 ** (np.count_nonzero(indices, axis=1) - 1))
    last_group = group[min(np.searchsorted(pairs, n_pairs), len(group) - 1)] if len(group) else 0
    indices, group = indices[group <= last_group], group[group <= last_group]
    signed = expand_signs(indices)
    signed_group = np.repeat(group, (2 ** (np.count_nonzero(indices, axis=1) - 1)))
    order = np.lexsort((*signed.T[::-1], signed_group))[:n_pairs]
    return IndexSet(np.vstack([np.zeros((1, dimension), np.int64), signed[order]]), None, "adaptive", limit)


def _known_dimension(kernel, dimension):
    known = kernel.resolve_dimension(dimension)
    if known is None:
        raise ValueError("All parameters of the kernel are scalars: say the dimension, as in dimension=2.")
    return known


class _CoefficientBall(Ball):
    """Vectors by the logarithm of the ratio of the coefficient at zero to theirs: the sum of a cost for each axis.

    Costs are sorted on each axis, so families whose coefficients do not fall with the frequency are no exception;
    theirs may be negative, which the best completion of a vector takes into account.
    """

    def __init__(self, axis_spectra, max_interaction, n_pairs):
        super().__init__(len(axis_spectra), max_interaction)
        self.free_axes = np.arange(self.dimension)
        self._spectra = axis_spectra
        self._n_pairs = n_pairs
        self._tables = {}  # axes with the same spectrum share a table
        self._axis_tables = [self._table(axis, 32) for axis in range(self.dimension)]

    def _table(self, axis, length):
        """Costs of the frequencies below ``length`` in rising order, the frequencies, and their costs by frequency."""
        spectrum, length_scale = self._spectra[axis]
        key = (spectrum, length_scale, length)
        if key not in self._tables:
            log_c = spectrum.log_coefficients(np.arange(length), length_scale)
            by_frequency = np.maximum(log_c[0], _SMALLEST_LOG_COEFFICIENT) - log_c
            by_frequency[0] = 0.0
            order = 1 + np.argsort(by_frequency[1:], kind="stable")
            order = order[np.isfinite(by_frequency[order])]
            self._tables[key] = by_frequency[order], order, by_frequency
        return self._tables[key]

    def _reach(self, radius):
        """Lengthen the tables until they hold every frequency whose cost is at most the radius."""
        radius = radius - sum(min(0.0, costs.min(initial=0.0)) for costs, _, _ in self._axis_tables)
        for axis in range(self.dimension):
            while not self._complete(axis, radius):
                self._axis_tables[axis] = self._table(axis, 4 * len(self._axis_tables[axis][2]))

    def _complete(self, axis, radius):
        costs, _, by_frequency = self._axis_tables[axis]
        spectrum, length_scale = self._spectra[axis]
        length = len(by_frequency)
        if spectrum.monotone:
            return costs[-1] > radius or length > self._n_pairs
        # No coefficient beyond the table is larger than their sum.
        largest = np.exp(-radius) * spectrum.coefficients(0, length_scale)
        beyond = spectrum.tail_sums(length - 1, length_scale)[-1]
        return length >= _LONGEST_TABLE or beyond < max(largest, _NO_COEFFICIENT)

    def weights(self, indices):
        costs = np.stack([self._axis_tables[axis][2][indices[:, axis]] for axis in range(self.dimension)], axis=1)
        costs.sort(axis=1)  # the same costs on other axes then have the same sum, to the last digit
        return costs.sum(axis=1)

    def enough_members(self, n_pairs):
        """Non-zero vectors by rising weight, with at least ``n_pairs`` pairs if there are that many."""
        budget = 2 * n_pairs + 1
        allowed = 4 * budget + 4096
        lower, upper = sum(min(0.0, table[0].min(initial=0.0)) for table in self._axis_tables) - 1, 1.0
        while (found := self.members(upper, allowed)) is not None and n_columns(found) < budget:
            # a family that falls to zero has finitely many coefficients
            if upper > sum(table[0].max(initial=0.0) for table in self._axis_tables):
                break
            lower, upper = upper, 2 * upper
        while found is None:
            # One tie that is larger than allowed has to be enumerated as a whole.
            single_tie = upper - lower <= RELATIVE_TOLERANCE * max(1.0, abs(upper))
            middle = upper if single_tie else (lower + upper) / 2
            found = self.members(middle, None if single_tie else allowed)
            if found is None and single_tie:
                raise ValueError(
                    "A tie between coefficients is too large to enumerate; limit max_interaction or use unequal "
                    "length scales."
                )
            if found is None:
                upper = middle
            elif n_columns(found) < budget:
                lower, found = middle, None
        found = found[found.any(axis=1)]
        weights = self.weights(found)
        order = np.argsort(weights, kind="stable")
        return found[order], weights[order]

    def members(self, radius, max_columns=None):
        self._reach(radius)
        gains = np.array([min(0.0, table[0][0]) if len(table[0]) else 0.0 for table in self._axis_tables])
        # completion[a, m]: the most that m further entries on the axes from a on can gain
        self._completion = np.zeros((self.dimension + 1, self.dimension + 1))
        for axis in range(self.dimension):
            ordered = np.sort(gains[axis:])
            self._completion[axis, 1 : len(ordered) + 1] = np.cumsum(ordered)
        return super().members(radius, max_columns)

    def _start(self):
        return (0.0,)

    def _choices(self, state, axis, remaining, radius):
        best = self._completion[axis + 1, min(remaining, self.dimension - axis - 1)]
        slack = 10 * RELATIVE_TOLERANCE * max(1.0, abs(radius))
        return np.searchsorted(self._axis_tables[axis][0], radius + slack - state[0] - best, side="right")

    def _extend(self, state, axis, choice):
        costs, values, _ = self._axis_tables[axis]
        return values[choice], (state[0] + costs[choice],)


def _largest_cartesian(cell, n_pairs):
    """The shortest wave vectors; ties by their Cartesian coordinates, which do not depend on the basis."""
    reciprocal = 2 * np.pi * np.linalg.inv(cell).T
    dimension = len(reciprocal)
    zero = np.zeros((1, dimension), np.int64)
    if n_pairs == 0:
        return zero
    # radius of a ball that holds the wanted number of points on average, enlarged until it does
    radius = abs(np.linalg.det(reciprocal)) ** (1 / dimension)
    while len(points := lattice_points(reciprocal, radius)) < 2 * n_pairs + 1:
        radius *= 1.3
    points = points[(half_space(points) == points).all(axis=1) & points.any(axis=1)]
    waves = points @ reciprocal
    scale = np.abs(waves).max()
    waves[np.abs(waves) < 1e-9 * scale] = 0.0
    leading = np.take_along_axis(waves, (waves != 0).argmax(axis=1)[:, None], axis=1)
    waves = np.rint(np.where(leading < 0, -waves, waves) / scale * 1e9)
    norms = ((points @ reciprocal) ** 2).sum(axis=1)
    order = np.argsort(norms, kind="stable")
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(new_groups(norms[order] / norms.max()))
    order = np.lexsort((*waves.T[::-1], group))[:n_pairs]
    return np.vstack([zero, points[order]])
