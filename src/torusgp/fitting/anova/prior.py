r"""The ANOVA prior: every term has a variance, and length scales along its axes, of its own.

The column of harmonics :math:`(k_d)` of the term u has the prior variance :math:`s_u \prod_d c_{ud}(k_d)`, where the
shares :math:`c_{ud}` make :math:`s_u` the variance of the term over the rows. All is in units of the variance of the
targets and in logarithms. Two stated priors replace floors and bounds: a standard deviation is exponential, such that
one in a hundred terms would exceed the targets' own, and the logarithm of a length scale is normal about a tenth of its
circle. They are never re-centred, and matter only where rows say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from torusgp.kernels.anova import AnovaBasis, CentredAxis

Array = NDArray[np.float64]
Term = tuple[int, ...]

INTERCEPT_VARIANCE = 100.0  # in units of the variance of the targets: broad, but no danger to rounding
_EXCEEDS = -np.log(0.01)  # rate of the standard deviation of a term: P(sd > that of the targets) = .01
_CENTRE, _SPREAD = np.log(2 * np.pi / 10), 2.0  # of the logarithm of a length scale in radians
_START_VARIANCE = 0.005  # of a term, where learning starts: small, or a walk takes slow noise before others show more
_LIMITS = np.log([1e-10, 1e4])  # of a variance: beyond, only rounding changes
_SCALE_LIMITS = np.log([2 * np.pi / 2000, 2 * np.pi * 10])  # beyond, the shares of all harmonics are settled


@dataclass(frozen=True, eq=False)
class AnovaPrior:
    """Terms on centred axes; what is learned of them is one vector: log variances, then log length scales.

    Attributes
    ----------
    axes : tuple of CentredAxis
        Axes.
    terms : tuple of tuple of int
        Axes of the terms, rising.
    """

    axes: tuple[CentredAxis, ...]
    terms: tuple[Term, ...]

    @cached_property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the length scales of each term, -1 where an axis has none."""
        place, result = len(self.terms), []
        for term in self.terms:
            own = []
            for d in term:
                own.append(place if self.axes[d].has_scale else -1)
                place += self.axes[d].has_scale
            result.append(tuple(own))
        return tuple(result)

    @property
    def n_parameters(self) -> int:
        """Length of the vector."""
        return len(self.terms) + sum(self.axes[d].has_scale for term in self.terms for d in term)

    @cached_property
    def start(self) -> Array:
        """Vector where learning starts."""
        result = np.full(self.n_parameters, _CENTRE)
        result[: len(self.terms)] = np.log(_START_VARIANCE)
        return result

    @cached_property
    def limits(self) -> Array:
        """Bounds of the vector, shape (n_parameters, 2)."""
        n = len(self.terms)
        return np.concatenate([np.tile(_LIMITS, (n, 1)), np.tile(_SCALE_LIMITS, (self.n_parameters - n, 1))])

    def carried(self, other: AnovaPrior, vector: Array) -> Array:
        """The vector of another prior for the terms of this one; terms that it does not have start anew."""
        result, index = self.start.copy(), {term: t for t, term in enumerate(other.terms)}
        for t, term in enumerate(self.terms):
            if term in index:
                result[t] = vector[index[term]]
                for mine, theirs in zip(self.places[t], other.places[index[term]], strict=True):
                    if mine >= 0:
                        result[mine] = vector[theirs]
        return result

    def log_density(self, vector: Array) -> tuple[float, Array, Array]:
        """Logarithm of the stated prior, its gradient, and minus the diagonal of its second derivatives."""
        n = len(self.terms)
        std, off = np.exp(vector[:n] / 2), (vector[n:] - _CENTRE) / _SPREAD
        value = -_EXCEEDS * float(std.sum()) - float(off @ off) / 2
        gradient = np.concatenate([-_EXCEEDS / 2 * std, -off / _SPREAD])
        return value, gradient, np.concatenate([_EXCEEDS / 4 * std, np.full(len(off), 1 / _SPREAD**2)])

    def log_variances(self, basis: AnovaBasis, vector: Array) -> tuple[Array, Array]:
        """Logarithms of the prior variances of the groups of a basis, and their derivatives in the vector."""
        values, jacobian = np.empty(len(basis.owner)), np.zeros((len(basis.owner), self.n_parameters))
        for t, (term, places) in enumerate(zip(self.terms, self.places, strict=True)):
            own = np.flatnonzero(basis.owner == t)
            if not len(own):
                continue
            values[own], jacobian[own, t] = vector[t], 1.0
            for i, (d, place) in enumerate(zip(term, places, strict=True)):
                share, slope = self._shares(d, place, vector, basis.harmonics[own, i])
                values[own] += share
                if place >= 0:
                    jacobian[own, place] = slope
        return values, jacobian

    def _shares(self, d: int, place: int, vector: Array, harmonics: NDArray[np.int64]) -> tuple[Array, Array]:
        return self.axes[d].log_shares(harmonics, vector[place] if place >= 0 else 0.0)

    def variances(self, basis: AnovaBasis, vector: Array) -> Array:
        """Prior variances of the columns of a basis, the constant first."""
        return np.append(INTERCEPT_VARIANCE, np.exp(self.log_variances(basis, vector)[0])[basis.group])

    def dropped(self, basis: AnovaBasis, vector: Array) -> Array:
        """Variance over the rows that a basis leaves out of each term."""
        values = self.log_variances(basis, vector)[0]
        kept = np.zeros(len(self.terms))
        for t, term in enumerate(self.terms):
            own = np.flatnonzero(basis.owner == t)
            power = np.ones(len(own))
            for i, d in enumerate(term):
                power *= self.axes[d].powers[basis.harmonics[own, i] - 1]
            kept[t] = power @ np.exp(values[own])
        return np.maximum(np.exp(vector[: len(self.terms)]) - kept, 0.0)

    def largest(self, vector: Array, n_columns: int) -> AnovaBasis:
        """The basis of the columns with the largest prior variances, at most so many.

        Of a category all harmonics are in or out together, or the prior would depend on the order of its levels.
        """
        candidates, values, widths, owner = [], [], [], []
        for t in range(len(self.terms)):
            harmonics, log_variance, width = self._ranked(t, vector, n_columns)
            candidates.append(harmonics)
            values.append(log_variance)
            widths.append(np.full(len(log_variance), width))
            owner.append(np.full(len(log_variance), t))
        value, size, term_of = np.concatenate(values), np.concatenate(widths), np.concatenate(owner)
        first = np.concatenate([np.arange(len(one)) for one in values])
        order = np.lexsort((first, term_of, -value))
        chosen = order[1 + np.cumsum(size[order]) <= n_columns]
        largest_order = max(map(len, self.terms))
        rows, owners = [], []
        for t in range(len(self.terms)):
            own = candidates[t][np.sort(first[chosen[term_of[chosen] == t]])]
            own = self._expanded(t, own)
            rows.append(np.pad(own, ((0, 0), (0, largest_order - own.shape[1]))))
            owners.append(np.full(len(own), t, dtype=np.int64))
        return AnovaBasis(self.axes, self.terms, np.concatenate(owners), np.concatenate(rows))

    def _ranked(self, t: int, vector: Array, most: int) -> tuple[NDArray[np.int64], Array, int]:
        """Harmonics of a term by falling variance (those of categories are one), and columns of each."""
        grid, value, width = np.zeros((1, 0), np.int64), np.array([vector[t]]), 1
        for d, place in zip(self.terms[t], self.places[t], strict=True):
            axis = self.axes[d]
            every = np.arange(1, axis.n_harmonics + 1)
            shares = self._shares(d, place, vector, every)[0]
            width *= axis.width
            if axis.axis.kind == "category":
                width *= axis.n_harmonics
                every, shares = every[:1], shares[:1]
            total = value[:, None] + shares
            best = np.argsort(-total, axis=None, kind="stable")[:most]
            before, own = np.unravel_index(best, total.shape)
            grid, value = np.column_stack([grid[before], every[own]]), total.ravel()[best]
        return grid, value, width

    def _expanded(self, t: int, harmonics: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same with all harmonics of categories."""
        for i, d in enumerate(self.terms[t]):
            axis = self.axes[d]
            if axis.axis.kind == "category":
                count = axis.n_harmonics
                harmonics = np.repeat(harmonics, count, axis=0)
                harmonics[:, i] = np.tile(np.arange(1, count + 1), len(harmonics) // count)
        return harmonics
