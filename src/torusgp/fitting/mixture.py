r"""Uncertainty of what was learned: the posterior as a mixture over plausible hyperparameters.

With few rows the evidence has no sharp maximum, and predictions at the maximum alone are too sure of themselves. Let
:math:`\theta` be the logarithms of what is learned. Its posterior is the evidence times a weak normal prior around
where learning starts; a normal distribution with its mode and curvature proposes a few points, spread evenly and in
opposite pairs, and their weights are those of importance sampling. All of them share the columns, so their mixture has
a mean and a covariance of the weights, with which all that is linear in the function is exact; draws come from the
mixture itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from torusgp.engine.backends import LapackFactor
from torusgp.engine.inference import NotPositiveDefiniteError
from torusgp.fitting.descent import curvature, descend, with_wall
from torusgp.fitting.learning import Objective
from torusgp.fitting.line_circles import LineCircles
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import Prior
from torusgp.kernels.index_sets import IndexSet

PRIOR_STD = 2.0  # of the logarithms of hyperparameters: a factor of seven either way is not surprising
_WIDER = 1.1  # factor of the proposal, so that its tails are not too light
_POINTS_PER_DIRECTION = 4
_MOST_DIRECTIONS = 8  # those in which least is known; the others stay at the mode
_NEGLIGIBLE = 1e-3  # weight, relative to the largest, of a point that is not worth its posterior

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mixture:
    """Plausible hyperparameters.

    Attributes
    ----------
    parameters : tuple of Parameters
        The points.
    weights : ndarray of shape (n_points,)
        Their probabilities.
    dropped : ndarray of shape (n_points, n_outputs)
        Variance of the function beyond the frequencies of the set. Short length scales may be plausible that need far
        more of them than the most likely ones.
    """

    parameters: tuple[Parameters, ...]
    weights: Array
    dropped: Array


def find_mixture(linear: Any, prior: Prior, index_set: IndexSet, parameters: Parameters, centre: Array) -> Mixture:
    """Points that stand for the posterior of the hyperparameters.

    Parameters
    ----------
    linear : LinearStatistics or RowStatistics
        Statistics of the columns.
    prior : Prior
        The model.
    index_set : IndexSet
        Frequencies of the columns.
    parameters : Parameters
        What was learned.
    centre : ndarray of shape (n_learned,)
        Logarithms around which it is expected.

    Returns
    -------
    Mixture
        Of one point where nothing else can be evaluated.
    """
    bounded = LineCircles(prior).within_circles(parameters)
    objective = Objective(lambda *_: linear, prior, index_set, bounded, None)
    limits = bounded.limits()

    def loss(vector: Array) -> tuple[float, Array]:
        """Negative log posterior and its gradient; beyond the bounds the evidence is that at the bounds."""
        value, gradient = objective(np.clip(vector, *limits.T))
        off = vector - centre
        return value + float(off @ off) / (2 * PRIOR_STD**2), gradient + off / PRIOR_STD**2

    start = np.clip(bounded.to_vector(), *limits.T)
    mode = descend(loss, start, limits).vector
    try:
        values, directions = np.linalg.eigh(curvature(lambda vector: loss(vector)[1], mode))
    except NotPositiveDefiniteError:
        return Mixture((parameters,), np.ones(1), objective.dropped(start)[None])
    values, directions = values[:_MOST_DIRECTIONS], directions[:, :_MOST_DIRECTIONS]  # the flattest first
    std = 1 / np.sqrt(np.maximum(values, 1 / PRIOR_STD**2))
    steps = even_normal_points(len(std))
    points = mode + _WIDER * (steps * std) @ directions.T
    relative, _ = with_wall(loss, start)
    log_weights = np.array([-relative(point)[0] for point in points]) + (steps**2).sum(axis=1) / 2
    weights = np.exp(log_weights - log_weights.max())
    used = np.flatnonzero(weights > _NEGLIGIBLE)
    vectors = [np.clip(points[i], *limits.T) for i in used]
    chosen = tuple(objective.parameters(vector) for vector in vectors)
    dropped = np.array([objective.dropped(vector) for vector in vectors])
    return Mixture(chosen, weights[used] / weights[used].sum(), dropped)


def even_normal_points(dimension: int) -> Array:
    """Points that stand for a standard normal distribution: in opposite pairs, and with its covariance.

    They are those of the additive sequence with the generalised golden ratio, which fills a cube evenly, so they are
    the same everywhere.

    Parameters
    ----------
    dimension : int
        Number of coordinates.

    Returns
    -------
    ndarray of shape (4 * dimension, dimension)

    Examples
    --------
    >>> import numpy as np
    >>> points = even_normal_points(3)
    >>> bool(np.allclose(points.mean(axis=0), 0) and np.allclose(points.T @ points / len(points), np.eye(3)))
    True
    """
    n_pairs = _POINTS_PER_DIRECTION // 2 * dimension
    ratio = 2.0
    for _ in range(50):  # the root of x^(d+1) = x + 1
        ratio = (1 + ratio) ** (1 / (dimension + 1))
    steps = np.arange(1, n_pairs + 1)[:, None] * ratio ** -np.arange(1.0, dimension + 1)
    half = ndtri((0.5 + steps) % 1)
    values, directions = np.linalg.eigh(half.T @ half / n_pairs)
    half = half @ (directions / np.sqrt(values)) @ directions.T
    return np.concatenate([half, -half])


class MixedPosterior:
    """Posterior of the weights of columns as a mixture of normal distributions, through its mean and covariance.

    It has the verbs of :class:`~torusgp.engine.inference.Posterior` that predictors use.

    Parameters
    ----------
    posteriors : iterable
        Of the components; each is used once, and may be forgotten then.
    probabilities : ndarray of shape (n_components,)
        Their weights.
    n_columns : int, optional
        The first columns alone; by default all.
    """

    def __init__(self, posteriors: Any, probabilities: Array, n_columns: int | None = None):
        use, means = slice(n_columns), []
        covariances: Any = 0.0
        for posterior, probability in zip(posteriors, probabilities, strict=True):
            means.append(posterior.weights[use])
            outputs = range(means[-1].shape[1])
            covariances = covariances + probability * np.stack([posterior.covariance(q)[use, use] for q in outputs])
        self.weights = np.einsum("i,imq->mq", probabilities, means)
        self.roots: list[Array] = []
        self._factors: list[LapackFactor] = []
        for output, covariance in enumerate(covariances):
            off = np.sqrt(probabilities)[:, None] * (np.array(means)[..., output] - self.weights[:, output])
            factor, root = _factored(covariance + off.T @ off)
            self._factors.append(factor)
            self.roots.append(root)

    @property
    def factors(self) -> list[Array]:
        """Lower factors of the outputs: the covariance is the inverse of their squares, between roots."""
        return [factor.lower for factor in self._factors]

    def factor(self, output: int) -> LapackFactor:
        """Lower factor of one output."""
        return self._factors[output]

    def whiten(self, columns: Array, output: int) -> Any:
        """Product of the inverse of the factor with the scaled columns of points."""
        return self.factor(output).solve((columns * self.roots[output]).T)

    def covariance(self, output: int) -> Array:
        """Posterior covariance of the weights of one output."""
        covariance: Array = self.factor(output).covariance(self.roots[output])
        return covariance


def _factored(covariance: Array) -> tuple[LapackFactor, Array]:
    r"""Lower triangle L and scales R of a covariance matrix :math:`R (L L')^{-1} R`."""
    root = np.sqrt(np.diagonal(covariance)).copy()
    unit = np.where(root > 0, root, 1.0)
    correlation = covariance / np.outer(unit, unit)
    # what has no variance has no covariance, and rounding must not make the rest indefinite
    correlation[np.diag_indices_from(correlation)] = 1 + len(root) * np.finfo(float).eps
    reverse = np.linalg.cholesky(correlation[::-1, ::-1])
    lower = solve_triangular(reverse[::-1, ::-1].T, np.eye(len(root)), lower=True, check_finite=False)
    return LapackFactor(lower), root
