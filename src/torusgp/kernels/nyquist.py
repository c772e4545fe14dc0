"""Index sets without the frequencies that the grids of the data cannot show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torusgp.kernels.index_sets import IndexSet, from_frequencies
from torusgp.kernels.index_sets._index_set import half_space
from torusgp.kernels.sums import SumKernel
from torusgp.kernels.terms import KernelTerm

_MOST_TRIED = 1_000_000  # frequencies below Nyquist's that are looked at one by one
_FARTHER = 16  # times the columns wanted, among which they are looked for if there are more


def below_nyquist(index_set: IndexSet, kernel: SumKernel, size: int, axes: NDArray[np.int64]) -> IndexSet:
    """An index set without frequencies that a grid cannot show; an adaptive one has the next best in their place.

    Parameters
    ----------
    index_set : IndexSet
        The set.
    kernel : SumKernel
        For which it was chosen.
    size : int
        Largest number of components.
    axes : ndarray of int
        Axes of the torus whose grids count.

    Returns
    -------
    IndexSet
    """
    torus = kernel.torus
    nyquist = np.full(torus.dimension, np.inf)
    nyquist[axes] = [torus.axes[axis].nyquist for axis in axes]
    if np.isinf(nyquist).all():
        return index_set

    def kept(frequencies: NDArray[np.int64]) -> NDArray[np.int64]:
        return frequencies[torus.shows(frequencies, kernel.period, axes)]

    inside = kept(index_set.frequencies)
    if len(inside) == len(index_set.frequencies):
        return index_set
    if index_set.name != "adaptive":
        return from_frequencies(inside)
    candidates = [
        half_space(_candidates(term, scales, kernel.period, size, nyquist))
        for term, scales, variance in zip(kernel.terms, kernel.scales, kernel.variances, strict=True)
        if variance > 0
    ]
    return kernel.largest_among(kept(from_frequencies(np.vstack(candidates)).frequencies[1:]), size)


def _candidates(
    term: KernelTerm, scales: NDArray[np.float64], period: NDArray[np.float64], size: int, nyquist: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Frequencies of a term among which are those that the grid can show, at least the largest."""
    dimension, axes = len(nyquist), list(term.axes)
    cell = np.abs(period if period.ndim == 2 else np.diag(period))
    reach = np.where(cell > 0, cell, 1.0) * np.where(cell > 0, nyquist, 0.0)  # an input on no grid has no limit
    reach = np.floor(reach.sum(axis=1)[axes])
    if np.prod(2 * reach + 1) > _MOST_TRIED:
        farther = _FARTHER if np.isfinite(reach).any() else 1
        return term.largest(farther * size, dimension, scales, period)[0]
    ranges = [np.arange(-k, k + 1) for k in reach.astype(np.int64)]
    box = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(axes))
    result = np.zeros((len(box) // 2 + 1, dimension), dtype=np.int64)
    result[:, axes] = box[len(box) // 2 :]  # of opposite ones the second half, zero first
    return result
