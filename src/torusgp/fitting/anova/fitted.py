"""A fitted ANOVA sum: a posterior of centred columns, which predicts as one of Fourier columns does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from torusgp.engine.inference import Evidence, LinearStatistics, evidence
from torusgp.fitting.anova.prior import AnovaPrior
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.likelihoods import Likelihood
from torusgp.fitting.parts import Parts
from torusgp.kernels.anova import AnovaBasis

Array = NDArray[np.float64]

_MOST_OF_NOISE = 0.99  # that may be the function's: an observation is never free of noise
_CHUNK_ENTRIES = 2**22  # values of columns that are held at a time


@dataclass(frozen=True, eq=False)
class Sum:
    """What was learned of an ANOVA sum, in units in which targets have mean zero and variance one.

    Attributes
    ----------
    prior : AnovaPrior
        Terms.
    vector : ndarray of shape (n_parameters,)
        What was learned of them.
    basis : AnovaBasis
        Columns in use.
    linear : LinearStatistics
        What the rows say of their weights.
    noise_variance : float
        Of independent noise; one where the statistics know the noise.
    averages : ndarray of shape (n_columns,)
        Averages of the columns over the rows.
    scale : float
        Standard deviation of the targets.
    """

    prior: AnovaPrior
    vector: Array
    basis: AnovaBasis
    linear: LinearStatistics
    noise_variance: float
    averages: Array
    scale: float

    @cached_property
    def variances(self) -> Array:
        """Prior variances of the columns."""
        return self.prior.variances(self.basis, self.vector)

    @cached_property
    def result(self) -> Evidence:
        """Posterior of their weights."""
        return evidence(self.linear, self.variances, self.noise_variance)

    @property
    def to_basis(self) -> csr_array:
        """Matrix that makes Fourier columns those of the basis."""
        return self.basis.fourier[1]


class SumPosterior:
    """Posterior of the weights of Fourier columns, of which centred columns are combinations."""

    def __init__(self, learned: Sum):
        self._learned = learned
        self.weights = learned.scale * (learned.to_basis.T @ learned.result.weights)[:, None]
        self.log_evidence = learned.result.log_evidence

    def whiten(self, columns: Array, output: int) -> Array:
        """Vectors whose products are the posterior covariances of functions with these Fourier columns."""
        result = self._learned.result
        own = self._learned.scale * (columns @ self._learned.to_basis.T) * result.root
        return result.factor.solve(own.T)

    def covariance(self, output: int) -> Array:
        """Posterior covariance of the weights."""
        to_basis = self._learned.to_basis
        half = to_basis.T @ self._learned.result.covariance()
        return self._learned.scale**2 * (to_basis.T @ half.T)

    def shares(self, output: int) -> Array:
        """Share of its prior variance that each weight keeps."""
        prior = self.prior_variances
        return np.divide(np.diagonal(self.covariance(0)), prior, out=np.ones(len(prior)), where=prior > 0)

    @cached_property
    def prior_variances(self) -> Array:
        """Prior variances of the weights of the Fourier columns."""
        learned = self._learned
        return learned.scale**2 * (learned.to_basis.power(2).T @ learned.variances)

    def draw(self, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Draws of the weights of the basis, in units of the targets, shape (n_columns, n_samples)."""
        result = self._learned.result
        spread = result.factor.solve(random_state.standard_normal((len(result.root), n_samples)), transpose=True)
        return self._learned.scale * (result.weights[:, None] + result.root[:, None] * spread)

    def sample_weights(self, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Draws of the weights, shape (n_columns, 1, n_samples)."""
        return (self._learned.to_basis.T @ self.draw(n_samples, random_state))[:, None]


@dataclass(frozen=True)
class FittedAnova(FittedTorusGP):
    """A fitted ANOVA sum; see :class:`~torusgp.fitting.fitted.FittedTorusGP`.

    Attributes
    ----------
    learned : Sum
        What was learned.
    own_offset : float
        Mean of the targets.
    n_effective : float
        Effective sample size.
    likelihood : Likelihood or None
        With the learned values of its parameters; None for normal noise.
    """

    learned: Any = None
    own_offset: float = 0.0
    n_effective: float = 0.0
    likelihood: Likelihood | None = None

    @property
    def own_likelihood(self) -> Likelihood | None:
        """The likelihood with the learned values of its parameters, unless it is that of normal noise."""
        return self.likelihood

    def information(self, X: NDArray[Any], variance: Array) -> Array:
        """The part of the precision of the function that the rows gave, shape (n_samples, 1)."""
        learned = self.learned
        before = learned.scale**2 * learned.variances.sum()
        return np.maximum(1 / np.maximum(variance, 1e-300) - 1 / before, 0.0)

    @cached_property
    def posterior(self) -> Any:
        """Posterior of the weights of the Fourier columns."""
        return SumPosterior(self.learned)

    @property
    def learned_posterior(self) -> Any:
        """The same: nothing is integrated over."""
        return self.posterior

    @property
    def _fourier(self) -> Any:
        return self.posterior

    @property
    def linear(self) -> LinearStatistics:
        """Statistics of the centred columns."""
        return self.learned.linear

    @property
    def gram(self) -> None:
        """None: sums are of the centred columns."""
        return None

    @property
    def offset(self) -> Array:
        """What was subtracted from the targets."""
        return np.array([self.own_offset])

    @property
    def effective_sample_size(self) -> float:
        """How many independent rows would tell as much."""
        return self.n_effective

    @property
    def prior_variances(self) -> Array:
        """Prior variances of the weights of the Fourier columns, shape (n_columns, 1)."""
        return self.posterior.prior_variances[:, None]

    @property
    def log_evidence(self) -> float:
        """Log evidence, where rows are in time relative to rows that are noise alone."""
        return self.learned.result.log_evidence

    @cached_property
    def rest_variance(self) -> Array:
        """Variance of the function outside the pool: the rows cannot tell it from noise, so it is no more than that."""
        learned = self.learned
        dropped = learned.scale**2 * learned.prior.dropped(learned.basis, learned.vector).sum()
        if self.likelihood is not None:  # whose parameters follow from rows left out, this variance included
            return np.zeros(1)
        return np.minimum(dropped, _MOST_OF_NOISE * self.noise_variance)

    @cached_property
    def truncation_error(self) -> float:
        """Share of the prior variance that the pool leaves out."""
        learned = self.learned
        total = np.exp(learned.vector[: len(learned.prior.terms)]).sum()
        return float(learned.prior.dropped(learned.basis, learned.vector).sum() / total)

    @property
    def inexactness(self) -> float:
        """Error of the posterior precision by inexact sums: none but rounding."""
        return float(np.finfo(float).eps)

    @cached_property
    def parts(self) -> Parts:
        """What each term contributes."""
        return SumParts(self)

    def with_noise_variance(self, noise_variance: Array) -> FittedTorusGP:
        """Refused: the noise is that of blocks left out."""
        raise ValueError("The noise of an ANOVA sum is what blocks left out have shown: it cannot be set after a fit.")

    # Beyond the rows ---------------------------------------------------------------------------------------------

    def _later(self, X: NDArray[Any]) -> list[tuple[Array, Array]]:
        """Of each walk: how far points lie after the rows, and the variances that a unit of it adds to each pair."""
        learned, torus = self.learned, self.prior.torus
        coordinates = torus.coordinates(X, self.parameters.period)
        result = []
        for d, axis in enumerate(torus.axes):
            if axis.kind != "walk":
                continue
            beyond = np.maximum(np.asarray(X[:, axis.input], dtype=float) - axis.high, 0.0)
            after = np.flatnonzero(beyond)
            gain = np.zeros((len(after), len(after)))
            for t, term in enumerate(learned.prior.terms):
                if d in term and len(after):
                    own = np.full(gain.shape, np.exp(learned.vector[t]) * learned.prior.axes[d].rate)
                    for e, place in zip(term, learned.prior.places[t], strict=True):
                        if e != d:
                            scale = learned.vector[place] if place >= 0 else 0.0
                            own *= learned.prior.axes[e].kernel(coordinates[after, e], scale)
                    gain += own
            result.append((beyond, learned.scale**2 * gain))
        return result

    def later_variance(self, X: NDArray[Any]) -> Array:
        """Variance that walks gain after the rows: their rate times the time since, times the other axes' kernel."""
        result = np.zeros(len(X))
        step = 512  # kernels between points are squares
        for start in range(0, len(X), step):
            some = slice(start, start + step)
            for beyond, gain in self._later(X[some]):
                after = start + np.flatnonzero(beyond)
                result[after] += beyond[after - start] * np.diagonal(gain)
        return result

    def later_covariance(self, X: NDArray[Any]) -> Array:
        """The same between points: increments until the earlier of two are shared."""
        result = np.zeros((len(X), len(X)))
        for beyond, gain in self._later(X):
            after = np.flatnonzero(beyond)
            shared = np.minimum(beyond[after, None], beyond[after])
            result[np.ix_(after, after)] += shared * gain
        return result

    def mean_and_variance(self, X: NDArray[Any]) -> tuple[Array, Array]:
        """Posterior mean and variance of the function, each of shape (n_samples, 1)."""
        mean, variance = super().mean_and_variance(X)
        return mean, variance + self.later_variance(X)[:, None]

    def covariance(self, X: NDArray[Any]) -> Array:
        """Posterior covariance of the function between all points, shape (n_samples, n_samples, 1)."""
        return super().covariance(X) + self.later_covariance(X)[..., None]

    def sample(self, X: NDArray[Any], n_samples: int, random_state: np.random.RandomState) -> Array:
        """Functions drawn from the posterior, shape (n_points, 1, n_samples)."""
        values = super().sample(X, n_samples, random_state)
        return values + self.later_draws(X, n_samples, random_state)[:, None]


class SumParts(Parts):
    """The terms of an ANOVA sum: each has columns of its own."""

    @property
    def _masks(self) -> Array:
        """Which columns of the basis are each term's, shape (n_parts, n_columns)."""
        basis = self._fitted.learned.basis
        owner = np.append(-1, basis.owner[basis.group])
        return (owner == np.arange(len(basis.terms))[:, None]).astype(float)

    @cached_property
    def shares(self) -> Array:
        """Shares of the parts in the prior variance of each Fourier column, shape (n_parts, n_columns, 1)."""
        learned, whole = self._fitted.learned, self._fitted.prior_variances[:, 0]
        own = learned.scale**2 * (learned.to_basis.power(2).T @ (self._masks * learned.variances).T).T
        return np.divide(own, whole, out=np.zeros_like(own), where=whole > 0)[..., None]

    @cached_property
    def average_columns(self) -> Array:
        """Averages of the Fourier columns over the rows are not known; those of parts are in units of the basis."""
        raise AttributeError("The average of an ANOVA sum follows from its own columns.")

    @cached_property
    def _weights(self) -> Array:
        learned = self._fitted.learned
        return self._to_fourier(learned.scale * self._masks * learned.result.weights)[..., None]

    def _to_fourier(self, weights: Array) -> Array:
        """Weights of Fourier columns, (n_parts, n_fourier, ...), less the average in the constant."""
        learned = self._fitted.learned
        flat = np.moveaxis(weights, 1, 0).reshape(weights.shape[1], -1)
        result = learned.to_basis.T @ flat
        result[0] -= learned.averages @ flat
        return np.moveaxis(result.reshape(len(result), len(weights), *weights.shape[2:]), 0, 1)

    def _values(self, X: NDArray[Any], weights: Array) -> Array:
        flat = np.moveaxis(weights, 1, 0).reshape(weights.shape[1], -1)
        return self._fitted.values(X, flat).reshape(len(X), len(weights), *weights.shape[2:])

    def covariance(self, X: NDArray[Any]) -> Array:
        """Posterior covariances of the parts at each point, shape (n_samples, n_parts, n_parts, 1)."""
        fitted, learned = self._fitted, self._fitted.learned
        covariance = learned.scale**2 * learned.result.covariance()
        masks = self._masks
        n_parts = len(masks)
        result = np.zeros((len(X), n_parts, n_parts, 1))
        step = max(1, _CHUNK_ENTRIES // len(covariance))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            coordinates = fitted.prior.torus.coordinates(X[rows], fitted.parameters.period)
            columns = learned.basis.columns(coordinates) - learned.averages
            for j, mask in enumerate(masks):
                own = np.flatnonzero(mask)
                through = columns * (columns[:, own] @ covariance[own])
                result[rows, :, j, 0] = through @ masks.T
        return result

    def sample(self, X: NDArray[Any], n_samples: int, random_state: np.random.RandomState) -> Array:
        """Draws of the parts, shape (n_points, n_parts, 1, n_samples)."""
        draws = self._fitted.posterior.draw(n_samples, random_state)
        weights = self._to_fourier(self._masks[..., None] * draws)
        return self._values(X, weights)[:, :, None]

    @property
    def average(self) -> Array:
        """Average of the function over the rows less the offset."""
        learned = self._fitted.learned
        return learned.scale * np.array([learned.averages @ learned.result.weights])
