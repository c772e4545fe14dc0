"""Evidence learning for a fixed set of frequencies, from sufficient statistics: its cost does not depend on the rows.

Only a period that is learned too makes every step pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.inference import evidences, spectrum_step
from torusgp.fitting.ascent import ascend
from torusgp.fitting.descent import curvature, descend
from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior, derivative_noise, derivative_noise_name
from torusgp.kernels.index_sets import IndexSet


@dataclass(frozen=True)
class Round:
    """One round of choosing frequencies by the data.

    Attributes
    ----------
    n_components : int
        Components of the set.
    log_evidence : float
        Of the rows that took part in choosing.
    log_density : float
        Mean log predictive density of the rows that took no part; not a number where none could be spared.
    """

    n_components: int
    log_evidence: float
    log_density: float


@dataclass(frozen=True)
class Learned:
    """Outcome of learning: parameters, the set they go with, and what is to be said of the search.

    Attributes
    ----------
    parameters : Parameters
        What was learned.
    index_set : IndexSet
        Frequencies.
    log_evidence : float
        Its logarithm.
    converged : bool, default=True
        Whether it was the optimum that ended learning.
    capped : bool, default=False
        Whether the largest set was not large enough.
    rounds : tuple of Round, default=()
        How the frequencies were chosen, if by the data; the last one is the set that was kept.
    noise_factor : ndarray of shape (n_outputs,), optional
        By how much evidence makes the noise too small, where it chose the frequencies.
    left_over : ndarray of int, shape (dimension,), optional
        Frequency that the residuals show clearly, whatever length scales were tried.
    rest_share : float, default=0.0
        Of the prior variance outside the set that the function is taken to have there.
    """

    parameters: Parameters
    index_set: IndexSet
    log_evidence: float
    converged: bool = True
    capped: bool = False
    rounds: tuple[Round, ...] = ()
    noise_factor: NDArray[np.float64] | None = None
    left_over: NDArray[np.int64] | None = None
    rest_share: float = 0.0


@dataclass(frozen=True)
class EvidenceGradient:
    """Derivatives of the log evidence of all outputs in the logarithms of column and noise variances."""

    by_column: NDArray[np.float64]
    by_noise: NDArray[np.float64]
    by_derivative_noise: dict[str, NDArray[np.float64]]


def gradients(linear, results: list[Any]) -> EvidenceGradient:
    """Derivatives of the evidence of each output, from what :func:`evidences` gave."""
    parts = [result.gradient() for result in results]
    by_derivative_noise = {
        derivative_noise_name(name): np.array([result.by_derivative_noise[i] for result in results])
        for i, name in enumerate(linear.partials)
    }
    by_column = np.stack([by_prior for by_prior, _ in parts], axis=1)
    return EvidenceGradient(by_column, np.array([by_noise for _, by_noise in parts]), by_derivative_noise)


def log_evidence_and_gradient(
    linear, prior: Prior, frequencies: NDArray[np.int64], parameters: Parameters
) -> tuple[float, dict[str, NDArray[np.float64]]]:
    """Log evidence summed over outputs, and its gradient in the logarithms of all parameters, by name.

    Parameters
    ----------
    linear : LinearStatistics
        Statistics of the columns of the frequencies, and of the plain columns.
    prior : Prior
        The model.
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of the columns.
    parameters : Parameters
        Where to evaluate.
    """
    at = prior.at(parameters, frequencies)
    results = evidences(linear, at.variances, parameters[NOISE], derivative_noise(parameters, linear))
    total = gradients(linear, results)
    gradient = {**at.gradient(total.by_column), NOISE: total.by_noise, **total.by_derivative_noise}
    return sum(result.log_evidence for result in results), gradient


class Objective:
    """Negative log evidence of a fixed set of frequencies, as a function of a vector of what is learned.

    A learned noise variance is at least the variance that the set leaves out of the kernel, which the columns cannot
    explain. Otherwise a small set would do best with a length scale for which it is the wrong set.
    """

    def __init__(
        self,
        provider,
        prior: Prior,
        index_set: IndexSet,
        start: Parameters,
        moves: PeriodMoves | None,
        floor: bool = True,
        tilt: NDArray[np.float64] | None = None,
    ):
        self._provider, self.prior, self.index_set, self.tilt = provider, prior, index_set, tilt
        self.start, self.moves = start, moves
        is_known = bool(start.entry(NOISE).learned.any()) or getattr(provider, "is_pooled", False)
        self.floor = floor and is_known and getattr(provider, "counts_left_out", True)
        self._fixed = provider(index_set, start) if moves is None else None

    def unpack(self, vector: NDArray[np.float64]) -> Parameters:
        """Parameters of a vector; what the set leaves out is still to be added to the noise."""
        if self.moves is None:
            return self.start.with_vector(vector)
        n_steps = self.moves.size
        here = self.start.with_vector(vector[:-n_steps])
        return here.with_period(np.atleast_1d(self.moves.period(vector[-n_steps:], self.start.period)))

    def parameters(self, vector: NDArray[np.float64]) -> Parameters:
        """Parameters of a vector."""
        here = self.unpack(vector)
        if not self.floor:
            return here
        return here.with_value(NOISE, here[NOISE] + self.dropped(vector) / self.prior.noise_unit)

    def dropped(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variance that the set leaves out of each output."""
        return self.prior.at(self.unpack(vector), self.index_set.frequencies).dropped()

    @property
    def has_information(self) -> bool:
        """Whether second derivatives follow from the factor of the evidence: of values, for a fixed period."""
        return self._fixed is not None and not self._fixed.partials

    def at(self, vector: NDArray[np.float64]) -> EvidencePoint:
        """Log evidence at a vector, with derivatives on demand."""
        return EvidencePoint(self, vector)

    def __call__(self, vector: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Negative log evidence and its gradient."""
        point = self.at(vector)
        return -point.value, -point.gradient

    def statistics(self, here: Parameters) -> Any:
        """Statistics of the set, for the period of parameters."""
        return self._provider(self.index_set, here) if self._fixed is None else self._fixed

    def inverse_cell_gradient(self, here: Parameters, results: list[Any]) -> NDArray[np.float64]:
        """Derivatives of the log evidence in the inverse cell, through the phases of the rows."""
        return self._provider.inverse_cell_gradient(self.index_set, here, results)


class EvidencePoint:
    """Log evidence at one vector of what is learned; derivatives are computed when they are asked for."""

    def __init__(self, objective: Objective, vector: NDArray[np.float64]):
        self._objective = objective
        self._here = objective.unpack(vector)
        prior = objective.prior
        self._at = prior.at(self._here, objective.index_set.frequencies)
        self._noise = self._here[NOISE]
        if objective.floor:
            self._noise = self._noise + self._at.dropped() / prior.noise_unit
        self._linear = objective.statistics(self._here)
        self._of_derivatives = derivative_noise(self._here, self._linear)
        self._results = evidences(self._linear, self._at.variances, self._noise, self._of_derivatives)
        self.value = sum(result.log_evidence for result in self._results)
        if objective.tilt is not None:
            self.value += float(objective.tilt @ (vector - objective.start.to_vector()))

    @cached_property
    def gradient(self) -> NDArray[np.float64]:
        """Gradient of the log evidence."""
        objective, here, at = self._objective, self._here, self._at
        total = gradients(self._linear, self._results)
        by_dropped = total.by_noise / (self._noise * objective.prior.noise_unit) if objective.floor else None
        gradient = at.gradient(total.by_column, by_dropped) | total.by_derivative_noise
        gradient[NOISE] = total.by_noise * here[NOISE] / self._noise
        result = here.pack(gradient)
        if objective.moves is not None:
            by_phase = objective.inverse_cell_gradient(here, self._results)
            steps = objective.moves.gradient(by_phase) + at.by_period(total.by_column, objective.moves, by_dropped)
            result = np.append(result, steps)
        return result if objective.tilt is None else result + objective.tilt

    @cached_property
    def information(self) -> NDArray[np.float64]:
        """Average information, see :meth:`~torusgp.engine.inference.Evidence.information`."""
        here, n_outputs = self._here, len(self._noise)
        of_variances, of_dropped = self._at.jacobian()
        of_variances[NOISE] = np.zeros((n_outputs, *self._at.variances.shape))
        of_dropped[NOISE] = np.diag(here[NOISE])
        names = [name for name in here if here.entry(name).learned.any()]
        unit = self._objective.prior.noise_unit
        by_prior = np.concatenate([of_variances[name][here.entry(name).learned] for name in names])
        by_noise = np.concatenate(
            [
                of_dropped[name][here.entry(name).learned] / (1.0 if name == NOISE else unit)
                if self._objective.floor or name == NOISE
                else np.zeros((int(here.entry(name).learned.sum()), n_outputs))
                for name in names
            ]
        )
        return sum(
            result.information(by_prior[:, :, output].T, by_noise[:, output] / self._noise[output])
            for output, result in enumerate(self._results)
        )


def maximise(
    provider,
    prior: Prior,
    index_set: IndexSet,
    start: Parameters,
    moves: PeriodMoves | None = None,
    max_iter: int = 100,
    floor: bool = True,
    tilt: NDArray[np.float64] | None = None,
    reach: float = np.inf,
    negligible: float | None = None,
    goal: float = -np.inf,
) -> Learned:
    """Maximise the evidence over what is learned for a fixed set of frequencies.

    Parameters
    ----------
    provider : callable
        Linear statistics of an index set, given the parameters; its ``inverse_cell_gradient`` is used with ``moves``.
    prior : Prior
        The model.
    index_set : IndexSet
        Frequencies of the columns.
    start : Parameters
        Starting point, and what is learned within which bounds.
    moves : PeriodMoves, optional
        How the period may move.
    max_iter : int, default=100
        Largest number of iterations.
    floor : bool, default=True
        Whether a learned noise variance is at least what the set leaves out of the kernel; not of a set that was
        chosen by the data, whose few steps follow the gradient alone: its noise has no other bound below, and steps
        of Newton's kind reach it before the choice of frequencies does.
    tilt : ndarray of shape (n_learned,), optional
        Slope in the logarithms of what is learned that the statistics do not show: it is added to the evidence.
    reach : float, optional
        Largest change of these logarithms.
    negligible, goal : float, optional
        See :func:`~torusgp.fitting.ascent.ascend`; for a fixed period and without observed derivatives.

    Returns
    -------
    Learned
    """
    objective = Objective(provider, prior, index_set, start, moves, floor, tilt=tilt)
    limits = start.limits()
    first = start.to_vector()
    limits = np.clip(limits, (first - reach)[:, None], (first + reach)[:, None])
    if moves is not None:
        limits = np.concatenate([limits, moves.limits(start.period)])
        first = np.append(first, np.zeros(moves.size))
    first = np.clip(first, limits[:, 0], limits[:, 1])
    if not first.size:
        return Learned(start, index_set, -objective(first)[0])
    if floor and objective.has_information:
        end = ascend(objective.at, first, limits, max_iter, negligible=negligible, goal=goal)
        return Learned(objective.parameters(end.vector), index_set, end.value, end.converged)
    found = descend(objective, first, limits, max_iter)
    return Learned(objective.parameters(found.vector), index_set, -found.value, found.converged)


def period_standard_errors(
    provider, prior: Prior, learned: Learned, moves: PeriodMoves, together: bool = False
) -> NDArray[np.float64]:
    """Standard errors of a learned period or cell, from the curvature of the evidence.

    Parameters
    ----------
    provider, prior, moves
        See :func:`maximise`.
    learned : Learned
        Its outcome.
    together : bool, default=False
        Whether everything else that is learned is uncertain too: for circles that change their shape, whose period
        depends on how fast they do.

    Returns
    -------
    ndarray of the shape of the period or cell
        Not a number where the evidence has no maximum; zero where the period is given.
    """
    parameters = learned.parameters if together else learned.parameters.fixed()
    objective = Objective(provider, prior, learned.index_set, parameters, moves, floor=False)
    here, limits, step = parameters.to_vector(), parameters.limits(), 1e-3
    # what lies at a bound does not move
    free = np.flatnonzero((here - limits[:, 0] > step) & (limits[:, 1] - here > step))
    here = np.append(here, np.zeros(moves.size))
    free = np.append(free, np.arange(len(here) - moves.size, len(here)))

    def slope(moved: NDArray[np.float64]) -> NDArray[np.float64]:
        point = here.copy()
        point[free] = moved
        return objective(point)[1][free]

    matrix = curvature(slope, here[free], step)
    own = matrix[-moves.size :, -moves.size :]
    if np.linalg.eigvalsh(own)[0] <= 0:
        covariance: NDArray[Any] = np.full_like(own, np.nan)
    elif np.linalg.eigvalsh(matrix)[0] <= 0:
        covariance = np.linalg.inv(own)
    else:
        covariance = np.linalg.inv(matrix)[-moves.size :, -moves.size :]
    return moves.standard_errors(covariance, learned.parameters.period)


def learn_spectrum(
    linear,
    prior_variances,
    noise_variances,
    n_frequencies: int,
    learn_noise: bool,
    report,
    max_iter=200,
    tolerance=1e-3,
):
    """Learn the prior variance of every frequency but zero by expectation maximisation.

    The constant, which holds the intercept, and plain columns keep theirs.

    Returns
    -------
    prior_variances, noise_variances : ndarray
    log_evidences : list of float
        Before each step; they never fall.
    """
    pairs = (np.arange(len(prior_variances)) + 1) // 2
    kept = np.ones(len(prior_variances), dtype=bool)
    kept[1 : 2 * n_frequencies - 1] = False
    pairs[2 * n_frequencies - 1 :] = n_frequencies + np.arange(len(pairs) - (2 * n_frequencies - 1))
    history: list[float] = []
    for step in range(max_iter):
        new_prior, new_noise, value = spectrum_step(linear, prior_variances, noise_variances, pairs)
        history.append(value)
        if step and value - history[-2] < tolerance:
            break
        prior_variances = np.where(kept[:, None], prior_variances, new_prior)
        noise_variances = new_noise if learn_noise else noise_variances
    report(f"spectrum learned in {len(history)} steps, log evidence {history[-1]:.6g}")
    return prior_variances, noise_variances, history
