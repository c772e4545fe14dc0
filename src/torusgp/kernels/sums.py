"""Sums of products on one torus: their coefficients, exact Gram matrices, error certificates and largest sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.kernels.index_sets import IndexSet, from_frequencies
from torusgp.kernels.index_sets._index_set import half_space
from torusgp.kernels.terms import KernelTerm
from torusgp.kernels.torus import Torus

_TIE = 1e-10  # relative difference of coefficients up to which they are the same
_LARGEST_LIST = 2**18  # columns of one term, at most, among which those of a sum are looked for


@dataclass(frozen=True)
class SumKernel:
    r"""A kernel :math:`\sum_j s_j k_j` of products :math:`k_j` of variance one, on one torus.

    Attributes
    ----------
    torus : Torus
        Axes.
    terms : tuple of KernelTerm
        The products.
    scales : tuple of ndarray
        Length scales of each term.
    variances : ndarray of shape (n_terms,)
        Their variances :math:`s_j`.
    period : ndarray of shape (dimension,) or (dimension, dimension)
        Periods or cell of the axes.
    """

    torus: Torus
    terms: tuple[KernelTerm, ...]
    scales: tuple[NDArray[np.float64], ...]
    variances: NDArray[np.float64]
    period: NDArray[np.float64]

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return self.torus.dimension

    @property
    def variance(self) -> float:
        """Variance of the whole."""
        return float(self.variances.sum())

    def coordinates(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Coordinates on the axes, see :meth:`Torus.coordinates`."""
        return self.torus.coordinates(X, self.period)

    def gram(self, X: NDArray[Any], Y: NDArray[Any]) -> NDArray[np.float64]:
        """Exact kernel between rows of inputs, on the whole of every line."""
        # a circle so long that nothing is clamped
        free = np.where(np.isin(np.arange(self.dimension), self.torus.kinds("line")), np.inf, 1.0)
        x, y = self.torus.coordinates(X, free), self.torus.coordinates(Y, free)
        result = np.zeros((len(x), len(y)))
        for term, scales, variance in zip(self.terms, self.scales, self.variances, strict=True):
            if variance > 0:
                result += variance * term.gram(x, y, scales, self.period)
        return result

    def term_coefficients(self, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
        """Coefficients of the terms times their variances, shape (n_terms, n_frequencies)."""
        logs = [
            term.log_coefficients(frequencies, scales, self.period)
            for term, scales in zip(self.terms, self.scales, strict=True)
        ]
        return self.variances[:, None] * np.exp(logs)

    def coefficients(self, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
        """Coefficients of the sum."""
        return self.term_coefficients(frequencies).sum(axis=0)

    def truncation_errors(self, index_set: IndexSet) -> NDArray[np.float64]:
        """Sums of the coefficients that a set leaves out of each term, of variance one."""
        return np.array(
            [
                term.truncation_error(index_set, scales, self.period)
                for term, scales in zip(self.terms, self.scales, strict=True)
            ]
        )

    def aliasing_errors(self) -> NDArray[np.float64]:
        """Largest errors of the terms, of variance one, by the circles of lines being finite."""
        return np.array(
            [
                term.aliasing_error(self.torus, scales, self.period)
                for term, scales in zip(self.terms, self.scales, strict=True)
            ]
        )

    def largest(self, n_components: int) -> IndexSet:
        """The set of the largest coefficients of the sum with at most n components.

        Of a category all frequencies but zero are in or out together, for every frequency of the other axes: otherwise
        the kernel would depend on the order of the levels.
        """
        active = np.flatnonzero(self.variances > 0)
        whole = tuple(range(self.dimension))
        if len(active) == 1 and self.terms[active[0]].axes == whole and not len(self.torus.kinds("category")):
            return self.terms[active[0]].adaptive(n_components, self.scales[active[0]], self.period)
        n_pairs = (n_components - 1) // 2
        # ties between blocks of categories may be cut anywhere, so whole blocks need a longer list
        return self._cut(*self._largest_pool(n_pairs + 2 * self._largest_block()), n_components)

    def _largest_block(self) -> int:
        """Most frequencies of categories that are in or out together."""
        sizes = [
            np.prod([self.torus.axes[axis].modulus for axis in term.axes if self.torus.axes[axis].kind == "category"])
            for term in self.terms
        ]
        return int(max(sizes)) if len(self.torus.kinds("category")) else 0

    def smallest_size(self) -> int:
        """Columns of a set that can hold the first frequencies of every term: of categories all levels count."""
        return 1 + 4 * len(self.terms) * self._largest_block()

    def largest_among(self, frequencies: NDArray[np.int64], n_components: int) -> IndexSet:
        """The set of the largest coefficients among some frequencies, none of them zero."""
        return self._cut(frequencies, self.coefficients(frequencies), n_components)

    def _cut(self, frequencies: NDArray[np.int64], values: NDArray[np.float64], n_components: int) -> IndexSet:
        n_pairs = (n_components - 1) // 2
        categories = self.torus.kinds("category")
        if not len(frequencies):
            chosen = frequencies
        elif len(categories):
            chosen = _whole_blocks(frequencies, values, n_pairs, self.torus, categories)
        else:  # ties are cut in lexicographic order
            order = np.lexsort((*frequencies.T[::-1], -_rounded(values)))
            chosen = frequencies[order[:n_pairs]]
        if n_pairs and not len(chosen) and len(frequencies):
            names = [self.torus.axes[axis].name for axis in categories]
            raise ValueError(
                f"n_components={n_components} is too small: a category takes all of its components or none, and one of "
                f"{names} has more. Raise n_components."
            )
        return IndexSet(np.vstack([np.zeros((1, self.dimension), np.int64), chosen]), None, "adaptive")

    def _largest_pool(self, n_pairs: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Frequencies among which the largest of the sum are, and their coefficients.

        What is missing from every list is below the sum of the lists' bounds; the lists grow until that is below the
        smallest of those that are wanted.
        """
        active = [j for j in range(len(self.terms)) if self.variances[j] > 0]
        sizes = dict.fromkeys(active, 2 * n_pairs + 1)
        lists: dict[int, tuple[NDArray[np.int64], float]] = {}
        while True:
            for j in active:
                if j not in lists:
                    found, bound = self.terms[j].largest(sizes[j], self.dimension, self.scales[j], self.period)
                    lists[j] = found, self.variances[j] * bound
            pool = from_frequencies(np.vstack([half_space(found) for found, _ in lists.values()])).frequencies[1:]
            values = self.coefficients(pool)
            if len(values) < n_pairs:
                smallest = 0.0
            else:
                smallest = np.partition(values, len(values) - n_pairs)[len(values) - n_pairs] if n_pairs else np.inf
            if len(active) == 1 or sum(bound for _, bound in lists.values()) <= smallest * (1 + _TIE):
                return pool, values
            growing = [j for j in active if lists[j][1] > smallest / len(active) and sizes[j] < _LARGEST_LIST]
            if not growing:
                return pool, values
            for j in growing:
                sizes[j] *= 2
                del lists[j]


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of which those that differ by rounding alone are equal."""
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    starts = np.append(True, ordered[1:] < ordered[:-1] * (1 - _TIE))
    result = np.empty_like(values)
    result[order] = ordered[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return result


def _whole_blocks(
    frequencies: NDArray[np.int64],
    values: NDArray[np.float64],
    n_pairs: int,
    torus: Torus,
    categories: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The largest frequencies, block after block of those that categories keep together, until one does not fit."""
    patterns = frequencies.copy()
    patterns[:, categories] = patterns[:, categories] != 0
    patterns = _without_leading_sign(patterns, categories)
    distinct, block = np.unique(patterns, axis=0, return_inverse=True)
    sizes = np.bincount(block)
    order = np.lexsort((*frequencies.T[::-1], block, sizes[block], -_rounded(values)))  # of equal blocks the smaller
    whole = _block_sizes(distinct, torus, categories) == sizes
    ends = np.flatnonzero(np.append(np.diff(block[order]), 1))  # of each block
    fitting = (ends < n_pairs) & whole[block[order[ends]]]
    n_chosen = len(ends) if fitting.all() else int(np.argmin(fitting))
    return frequencies[order[: ends[n_chosen - 1] + 1]] if n_chosen else frequencies[:0]


def _without_leading_sign(patterns: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.int64]:
    """Patterns in which the entries off the categories have a positive leading one: of k and -k one is kept."""
    others = patterns.copy()
    others[:, categories] = 0
    positive = half_space(others)
    positive[:, categories] = patterns[:, categories]
    return positive


def _block_sizes(patterns: NDArray[np.int64], torus: Torus, categories: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of frequencies of blocks: each category takes all but zero, of opposite vectors one."""
    others = np.array([torus.axes[axis].modulus - 1 for axis in categories])
    sizes = np.where(patterns[:, categories] != 0, others, 1).prod(axis=1)
    alone = ~np.delete(patterns, categories, axis=1).any(axis=1)
    return np.where(alone & (sizes > 1), sizes // 2, sizes)
