r"""Cramer-Rao bounds of frequencies and cells, and a judgement of found cells against them.

The model is :math:`y = c + \sum_h a_h \cos 2\pi x \cdot G k_h + s_h \sin 2\pi x \cdot G k_h` plus normal noise of known
standard deviation, with integer wave vectors :math:`k_h`. ``G`` is (n_features, dimension): the inverse of a cell, or
the reciprocals of several periods of one column side by side. Weights and constant are unknown too.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Signal:
    """A trigonometric sum: G, wave vectors (n_sinusoids, dimension), weights of cosines and sines (n_sinusoids, 2)."""

    G: np.ndarray
    wave_vectors: np.ndarray
    weights: np.ndarray
    offset: float = 0.0

    def phases(self, X):
        """Phases of all waves, (n_samples, n_sinusoids)."""
        return 2 * np.pi * X @ (self.G @ self.wave_vectors.T)

    def __call__(self, X):
        phases = self.phases(X)
        return self.offset + np.cos(phases) @ self.weights[:, 0] + np.sin(phases) @ self.weights[:, 1]

    def columns(self, X):
        """Derivatives by offset and weights."""
        phases = self.phases(X)
        return np.hstack([np.ones((len(X), 1)), np.cos(phases), np.sin(phases)])

    def jacobian(self, X):
        """Derivatives by the entries of G, row by row: (n_samples, n_features * dimension)."""
        phases = self.phases(X)
        by_phase = np.cos(phases) * self.weights[:, 1] - np.sin(phases) * self.weights[:, 0]
        by_projection = 2 * np.pi * by_phase @ self.wave_vectors  # derivative by x @ G
        return (X[:, :, None] * by_projection[:, None, :]).reshape(len(X), -1)


def frequency_covariance(signal, X, noise_std):
    """Least covariance of an unbiased estimate of the entries of G, row by row, all weights unknown."""
    # Where waves coincide (one period a multiple of the other) weights are not unique; the projection is.
    orthogonal, singular, _ = np.linalg.svd(signal.columns(X), full_matrices=False)
    orthogonal = orthogonal[:, singular > 1e-10 * singular[0]]
    jacobian = signal.jacobian(X)
    jacobian -= orthogonal @ (orthogonal.T @ jacobian)
    return noise_std**2 * np.linalg.inv(jacobian.T @ jacobian)


def cell_covariance(signal, X, noise_std):
    """Least covariance of the entries of the cell inv(G), row by row: by the rule d cell = -cell dG cell."""
    cell = np.linalg.inv(signal.G)
    change = np.kron(cell, cell.T)
    return change @ frequency_covariance(signal, X, noise_std) @ change.T


def judge_cell(found, true, covariance, *, relative=0.002, n_std=3.0, integer_tolerance=0.1):
    """Whether a found cell spans the true lattice, to within a share of its vectors or some bounds.

    Parameters
    ----------
    found, true : ndarray of shape (dimension, dimension)
        Cells, one lattice vector a row.
    covariance : ndarray
        Of the entries of the true cell, see :func:`cell_covariance`.
    relative, n_std : float
        A vector may be off by the larger of this share of its length and this many Cramer-Rao deviations.
    integer_tolerance : float
        Distance of ``found @ inv(true)`` from integers.

    Returns
    -------
    dict
        ``success``; ``failure``, why not; ``index``, volume of the found cell in true ones; and for the right lattice
        ``relative_error`` (largest over the vectors), ``error_over_bound`` (root mean square over the vectors),
        ``bound`` (largest relative to the vector) and ``std`` (of each vector).
    """
    dimension = len(true)
    quotient = np.asarray(found) @ np.linalg.inv(true)
    change = np.rint(quotient)
    index = float(abs(np.linalg.det(quotient)))
    if np.abs(quotient - change).max() > integer_tolerance or round(abs(np.linalg.det(change))) != 1:
        shown = "; ".join(" ".join(f"{entry:.2f}" for entry in row) for row in quotient)
        return {"success": False, "failure": f"another lattice, found = [{shown}] @ true", "index": index}
    target = change @ true
    lengths = np.linalg.norm(target, axis=1)
    errors = np.linalg.norm(found - target, axis=1)
    mapped = np.kron(change, np.eye(dimension))
    std = np.sqrt(np.diag(mapped @ covariance @ mapped.T).reshape(dimension, dimension).sum(axis=1))
    success = bool((errors <= np.maximum(relative * lengths, n_std * std)).all())
    return {
        "success": success,
        "failure": "" if success else f"off by {(errors / lengths).max():.2%}, {(errors / std).max():.1f} bounds",
        "index": index,
        "relative_error": float((errors / lengths).max()),
        "error_over_bound": float(np.sqrt(np.mean((errors / std) ** 2))),
        "bound": float((std / lengths).max()),
        "std": std,
    }
