"""Evidence learning in a pool: hyperparameters from sums, at a cost that does not depend on the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.inference import Evidence, LinearStatistics, evidence
from torusgp.fitting.anova.prior import INTERCEPT_VARIANCE, AnovaPrior
from torusgp.fitting.ascent import ascend
from torusgp.kernels.anova import AnovaBasis

Array = NDArray[np.float64]

TOLERANCE = 0.1  # of log evidence: what is gained less by another step is not computed
_MOST_STEPS = 30
_NOISE_LIMITS = np.log([1e-10, 1e2])  # of the variance of independent noise, relative to that of the targets


@dataclass(frozen=True, eq=False)
class Learned:
    """Hyperparameters of the most evidence, under their stated prior.

    Attributes
    ----------
    vector : ndarray of shape (n_parameters,)
        Of the prior.
    noise_variance : float
        Variance of independent noise; one where the sums know the noise.
    log_evidence : float
        With the stated prior.
    result : Evidence
        Posterior of the weights.
    n_evaluations : int
        Evidences that it took.
    """

    vector: Array
    noise_variance: float
    log_evidence: float
    result: Evidence
    n_evaluations: int


def learn(
    prior: AnovaPrior, basis: AnovaBasis, statistics: LinearStatistics, vector: Array, noise_variance: float | None
) -> Learned:
    """Maximise the evidence of a basis from a vector on.

    Parameters
    ----------
    prior : AnovaPrior
        Terms.
    basis : AnovaBasis
        Columns.
    statistics : LinearStatistics
        Their sums.
    vector : ndarray of shape (n_parameters,)
        Where to start.
    noise_variance : float or None
        Where independent noise starts; None where the sums know the noise, in units of which they are.
    """
    objective = _Objective(prior, basis, statistics, noise_variance is not None)
    limits, start = prior.limits, vector
    if noise_variance is not None:
        limits, start = np.vstack([limits, _NOISE_LIMITS]), np.append(vector, np.log(noise_variance))
    end = ascend(objective.at, np.clip(start, limits[:, 0], limits[:, 1]), limits, _MOST_STEPS, negligible=TOLERANCE)
    last = objective.at(end.vector)
    return Learned(
        end.vector[: prior.n_parameters], last.noise_variance, last.value, last.result, objective.n_evaluations
    )


class _Objective:
    """Log evidence with the stated prior, of a fixed basis."""

    def __init__(self, prior: AnovaPrior, basis: AnovaBasis, statistics: LinearStatistics, learns_noise: bool):
        self.prior, self.basis, self.statistics, self.learns_noise = prior, basis, statistics, learns_noise
        self.n_evaluations = 0

    def at(self, vector: Array) -> _Point:
        """The value at a vector."""
        self.n_evaluations += 1
        return _Point(self, vector)


class _Point:
    """Log evidence at one vector; derivatives are computed when they are asked for."""

    def __init__(self, objective: _Objective, vector: Array):
        self._objective, self._vector = objective, vector
        prior = objective.prior
        own = vector[: prior.n_parameters]
        self.noise_variance = float(np.exp(vector[-1])) if objective.learns_noise else 1.0
        values, self._jacobian = prior.log_variances(objective.basis, own)
        variances = np.append(INTERCEPT_VARIANCE, np.exp(values)[objective.basis.group])
        self.result = evidence(objective.statistics, variances, self.noise_variance)
        self._log_prior, self._prior_gradient, self._prior_curvature = prior.log_density(own)
        self.value = self.result.log_evidence + self._log_prior

    @cached_property
    def gradient(self) -> Array:
        """Gradient in the vector."""
        by_column, by_noise = self.result.gradient()
        group = self._objective.basis.group
        by_group = np.bincount(group, by_column[1:], minlength=len(self._jacobian))
        result = by_group @ self._jacobian + self._prior_gradient
        return np.append(result, by_noise) if self._objective.learns_noise else result

    @cached_property
    def information(self) -> Array:
        """Average information, with that of the stated prior."""
        n = len(self._prior_curvature)
        size = n + self._objective.learns_noise
        by_prior = np.zeros((self._objective.basis.n_columns, size))
        by_prior[1:, :n] = self._jacobian[self._objective.basis.group]
        by_noise = np.zeros(size)
        by_noise[n:] = 1.0
        result: Any = self.result.information(by_prior, by_noise)
        result[np.arange(n), np.arange(n)] += self._prior_curvature
        return result
