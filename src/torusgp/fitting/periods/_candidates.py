"""Lattices that the strongest sinusoids of a data set may belong to, before any of them is fitted.

A basis here is reciprocal: rows are frequencies, in turns over the data.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from torusgp.kernels.lattices import shortest_basis, sublattice_changes

_LARGEST_HARMONIC = {1: 12, 2: 5, 3: 5}  # beyond, a sinusoid says little about the fundamental
_SLACK = 0.3  # turns over the data by which a sinusoid may miss a lattice point
_STRONGEST = 10  # sinusoids whose combinations are tried
_FINER = {1: (2, 3, 4, 5), 2: (2, 3), 3: (2,)}  # indices of the lattices between the sinusoids
_PER_AXIS = 5  # fundamentals of one axis that are combined with those of the others


@dataclass(frozen=True)
class Sinusoids:
    """Strongest sinusoids of the data.

    Attributes
    ----------
    frequencies : ndarray of shape (n_sinusoids, dimension)
        In turns over the data.
    shares : ndarray of shape (n_sinusoids,)
        Share of the variance of each.
    n_samples : float
        Number of rows.
    """

    frequencies: np.ndarray
    shares: np.ndarray
    n_samples: float

    def assign(self, basis):
        """Lattice vectors nearest to the sinusoids, and which sinusoids they meet."""
        indices = np.rint(self.frequencies @ np.linalg.inv(basis)).astype(int)
        miss = np.abs(self.frequencies - indices @ basis).max(axis=1)
        order = np.abs(indices).max(axis=1)
        return indices, (miss <= _SLACK) & (order > 0) & (order <= _LARGEST_HARMONIC[basis.shape[1]])

    def refined(self, basis, free):
        """Basis that fits the sinusoids it meets best, moving only its free entries."""
        indices, met = self.assign(basis)
        basis = basis.copy()
        weight = np.sqrt(self.shares[met])[:, None]
        for column in range(basis.shape[1]):
            rows = free[:, column]
            if not rows.any():
                continue
            fixed = indices[met][:, ~rows] @ basis[~rows, column]
            design = indices[met][:, rows] * weight
            # NumPy 2.0 knows no rank of a matrix without rows
            if met.any() and np.linalg.matrix_rank(design) == rows.sum():
                target = (self.frequencies[met, column] - fixed) * weight[:, 0]
                basis[rows, column] = np.linalg.lstsq(design, target, rcond=None)[0]
        return basis

    def score(self, basis):
        """Rough gain in log evidence: what the sinusoids on the lattice explain, less the price of its points."""
        _, met = self.assign(basis)
        if not met.any():
            return -np.inf
        left = max(1 - self.shares[met].sum(), 1e-9)
        reach = np.linalg.norm(self.frequencies[met], axis=1).max()
        dimension = basis.shape[1]
        ball = {1: 2.0, 2: np.pi, 3: 4 / 3 * np.pi}[dimension] * reach**dimension
        points = max(met.sum(), 0.5 * ball / abs(np.linalg.det(basis)))
        return -0.5 * self.n_samples * np.log(left) - points * np.log(self.n_samples)


def lattice_candidates(sinusoids, fewest_turns, highest, most):
    """Reciprocal bases spanned by the sinusoids, or finer ones that contain them, best rough score first.

    Parameters
    ----------
    sinusoids : Sinusoids
        Strongest sinusoids.
    fewest_turns : float
        Fewest turns over the data of any sinusoid of a lattice.
    highest : ndarray of shape (dimension,)
        Most turns of its shortest vectors along each input.
    most : int
        Largest number of candidates.

    Returns
    -------
    list of ndarray of shape (dimension, dimension)
    """
    dimension = sinusoids.frequencies.shape[1]
    free = np.ones((dimension, dimension), dtype=bool)
    finer = [np.eye(dimension)] + [
        np.linalg.inv(change) for index in _FINER[dimension] for change in sublattice_changes(dimension, index)
    ]
    found = []
    for chosen in combinations(sinusoids.frequencies[:_STRONGEST], dimension):
        spanned = np.array(chosen)
        lengths = np.linalg.norm(spanned, axis=1)
        if abs(np.linalg.det(spanned / lengths[:, None])) < 0.05:
            continue
        for change in finer:
            basis = shortest_basis(change @ spanned)
            lengths = np.linalg.norm(basis, axis=1)
            if lengths.min() < fewest_turns - _SLACK or (np.abs(basis) > highest + _SLACK).any():
                continue
            basis = shortest_basis(sinusoids.refined(basis, free))
            if np.linalg.norm(basis, axis=1).min() >= fewest_turns - _SLACK:
                found.append((sinusoids.score(basis), basis))
    return _best(found, most)


def axis_candidates(sinusoids, known, fewest_turns, highest, most):
    """Diagonal reciprocal bases whose points meet the sinusoids, best rough score first.

    Parameters
    ----------
    sinusoids : Sinusoids
        Strongest sinusoids.
    known : ndarray of shape (dimension,)
        Frequencies of the axes that are known, in turns over the data; not a number for the others.
    fewest_turns : float
        Fewest turns over the data along an axis.
    highest : ndarray of shape (dimension,)
        Most turns along each axis.
    most : int
        Largest number of candidates.

    Returns
    -------
    list of ndarray of shape (dimension, dimension)
    """
    dimension = len(known)
    choices = []
    for axis in range(dimension):
        if np.isfinite(known[axis]):
            choices.append([known[axis]])
            continue
        turns = np.abs(sinusoids.frequencies[:, axis])
        single = Sinusoids(turns[:, None], sinusoids.shares, sinusoids.n_samples)
        strong = turns[turns > 0.5][:_STRONGEST]
        gaps = [abs(a - b) for a, b in combinations(strong, 2)]
        parts = [value / divisor for value in strong for divisor in (1, 2, 3, 4)]
        values = [value for value in (*parts, *gaps) if fewest_turns - _SLACK <= value <= highest[axis] + _SLACK]
        free = np.ones((1, 1), dtype=bool)
        bases = [single.refined(np.array([[value]]), free) for value in values]
        found = [(single.score(basis), basis) for basis in bases if basis[0, 0] >= fewest_turns - _SLACK]
        choices.append([basis[0, 0] for basis in _best(found, _PER_AXIS)])
    free = np.diag(~np.isfinite(known))
    bases = [sinusoids.refined(np.diag(values), free) for values in product(*choices)]
    bases = [basis for basis in bases if (np.diag(basis) > 0).all()]
    return _best([(sinusoids.score(basis), basis) for basis in bases], most)


def _best(found, most):
    """The best of scored bases, each lattice once."""
    kept: list[np.ndarray] = []
    for score, basis in sorted(found, key=lambda pair: -pair[0]):
        if len(kept) == most or not np.isfinite(score):
            break
        if not any(same_lattice(basis, other) for other in kept):
            kept.append(basis)
    return kept


def same_lattice(first, second, tolerance=0.02):
    """Whether two bases span the same lattice, nearly."""
    change = second @ np.linalg.inv(first)
    whole = np.rint(change)
    return bool(np.abs(change - whole).max() < tolerance and abs(round(np.linalg.det(whole))) == 1)
