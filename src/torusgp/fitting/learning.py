"""Evidence learning of hyperparameters from sufficient statistics: its cost does not depend on the number of rows.

The evidence is smooth for a fixed set of frequencies, so a round maximises it there (L-BFGS); then the best set for the
new length scales takes its place, until that changes little. Small sets come first: they are cheap and their
evidence has fewer local maxima. Only a period that is learned too makes every step pass over the rows.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from torusgp.engine.inference import evidence, spectrum_step, with_wall
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.lattices import cell_errors

LEARNABLE = ("length_scale", "signal_variance", "noise_variance")

_STARTS = (1.0, 0.3, 3.0)  # factors of the given length scale that are tried on the smallest set
_FIRST_COLUMNS = (101, 401)  # of the smallest set, at least and at most
_MAX_ROUNDS = 6
_FEW_ROUNDS = 2  # on a set that is too small to be the last
_FEW_DIMENSIONS = 3  # up to here every length scale is learned on its own from the beginning
_MOST_TOGETHER = 1001  # columns, at most, while all dimensions share one
_SCOUT_STEPS = 8  # iterations from each start, before the best one goes on
_TIE = 0.5  # difference in log evidence between starts that decides nothing
_SETTLED = 0.02  # change of the logarithm of a length scale up to which the set is kept
_NEGLIGIBLE_GAIN = 0.1  # gain in log evidence that ends the exchange of sets
_WORTHWHILE = 1.0  # change of the log evidence that justifies twice the columns
_FEW_COLUMNS = 1001  # up to here one thread of BLAS is as fast as several, and much faster where cores are busy
MAX_COMPONENTS = 2000  # the most that n_components="auto" takes
SMALL_AGAINST_NOISE = 0.01  # truncated variance relative to the noise at which more columns are useless
# Variance of an intercept, relative to that of the targets: ten of their standard deviations to either side of their
# mean. The level of a function lies nearer even where rows cover a part of its period. Broader would change nothing: of
# n rows of noise, such a prior makes the variance of their mean smaller by one part in 100 n.
BROAD = 100.0


@dataclass(frozen=True)
class Hyperparameters:
    """Length scales of the dimensions, signal and noise variances of the outputs, and the period or cell.

    The variance of the intercept, of each output or zero, is no part of the kernel and is not learned.
    """

    length_scale: np.ndarray
    signal_variance: np.ndarray
    noise_variance: np.ndarray
    period: object
    intercept_variance: np.ndarray | float = 0.0

    def to_vector(self, names):
        """Logarithms of the named ones, one after the other."""
        return np.log(np.concatenate([[], *(getattr(self, name) for name in LEARNABLE if name in names)]))

    def with_vector(self, vector, names):
        """The named ones replaced by the exponentials of a vector."""
        changes, start = {}, 0
        for name in LEARNABLE:
            if name in names:
                size = len(getattr(self, name))
                changes[name] = np.exp(vector[start : start + size])
                start += size
        return replace(self, **changes)


def first_columns(dimension):
    """Number of columns to begin with: enough for the lowest harmonics of all triples of dimensions to be among them.

    Where a set has none of an interaction's columns, dimensions that matter only through it seem not to matter at all,
    and their length scales never come back.

    Examples
    --------
    >>> [first_columns(dimension) for dimension in (1, 2, 4, 6, 8)]
    [101, 101, 101, 257, 401]
    """
    triples = sum(2**order * comb(dimension, order) for order in range(4))
    return int(np.clip(triples * 11 // 10 | 1, *_FIRST_COLUMNS))


@dataclass(frozen=True)
class KernelTemplate:
    """A kernel without what is learned of it."""

    family: object
    dimension: int
    max_interaction: int | None

    def kernel(self, hyperparameters):
        """The kernel with these length scales and this period."""
        scale = hyperparameters.length_scale
        scale = float(scale[0]) if len(scale) == 1 else scale
        return TorusKernel(self.family, scale, hyperparameters.period, max_interaction=self.max_interaction)


@dataclass(frozen=True)
class Learned:
    """Outcome of learning: hyperparameters, the set they go with, and what is to be said of the search."""

    hyperparameters: Hyperparameters
    index_set: object
    log_evidence: float
    converged: bool = True
    capped: bool = False  # the largest set was not large enough


def column_variances(kernel, frequencies):
    """Prior variances of the weights of the unweighted columns, for unit signal variance."""
    return np.repeat(kernel.coefficients(frequencies), 2)[1:] * np.where(np.arange(2 * len(frequencies) - 1), 2.0, 1.0)


def prior_variances(unit_variances, hyperparameters):
    """Prior variances of the weights of every output, shape (n_columns, n_outputs).

    Parameters
    ----------
    unit_variances : ndarray of shape (n_columns,)
        Those of the kernel of signal variance one; see :func:`column_variances`.
    hyperparameters : Hyperparameters
        The intercept is a constant too: its variance adds to that of the constant column.
    """
    result = unit_variances[:, None] * hyperparameters.signal_variance
    result[0] += hyperparameters.intercept_variance
    return result


def log_evidence_and_gradient(linear, template, frequencies, hyperparameters):
    """Log evidence summed over outputs, and its gradient in the logarithms of all hyperparameters.

    Parameters
    ----------
    linear : LinearStatistics
        Statistics of the columns of the frequencies.
    template : KernelTemplate
        The kernel but for its length scales.
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of the columns.
    hyperparameters : Hyperparameters
        Where to evaluate.

    Returns
    -------
    log_evidence : float
    gradient : dict of ndarray
        By the names of the hyperparameters.
    """
    prior = _Prior(template, frequencies, hyperparameters)
    total = _sum_over_outputs(linear, prior.variances, hyperparameters)
    return total.log_evidence, {
        "length_scale": prior.by_length_scale(total.by_column),
        "signal_variance": total.by_signal,
        "noise_variance": total.by_noise,
    }


class _Prior:
    """Prior variances of the columns for unit signal variance, and their derivatives."""

    def __init__(self, template, frequencies, hyperparameters, moves=None):
        kernel = template.kernel(hyperparameters)
        self.variances = column_variances(kernel, frequencies)
        self._slopes = np.nan_to_num(kernel.log_coefficients_gradient(frequencies), posinf=0.0, neginf=0.0)
        self._n_length_scales = len(hyperparameters.length_scale)
        self._period_slopes = None
        if moves is not None and kernel.metric == "cartesian":
            step = 1e-5  # a hundred-thousandth of a radian over the extent of the data
            sides = [
                [
                    template.kernel(replace(hyperparameters, period=moves.period(sign * unit, hyperparameters.period)))
                    for sign in (step, -step)
                ]
                for unit in np.eye(moves.size)
            ]
            self._period_slopes = np.stack(
                [
                    (ahead.log_coefficients(frequencies) - behind.log_coefficients(frequencies)) / (2 * step)
                    for ahead, behind in sides
                ],
                axis=1,
            )

    def by_length_scale(self, by_column):
        """Derivatives in the logarithms of the length scales, from those in the logarithms of the column variances."""
        gradient = _by_frequency(by_column) @ self._slopes
        return gradient if len(gradient) == self._n_length_scales else gradient.sum(keepdims=True)

    def by_period(self, by_column):
        """Derivatives in the moves of the period; coefficients of product kernels do not depend on it."""
        return 0.0 if self._period_slopes is None else _by_frequency(by_column) @ self._period_slopes

    def dropped(self):
        """Variance that the columns leave out of the kernel's, and the shares of the columns in the rest."""
        shares = 0.5 * self.variances  # a cosine and a sine of variance 2 c add up to 2 c everywhere
        shares[0] *= 2
        return max(0.0, 1 - shares.sum()), shares


def _by_frequency(by_column):
    return np.append(by_column[0], by_column[1::2] + by_column[2::2])


@dataclass(frozen=True)
class _Total:
    """Log evidence summed over outputs, and its derivatives."""

    log_evidence: float
    by_column: np.ndarray
    by_signal: np.ndarray
    by_noise: np.ndarray
    results: list


def _sum_over_outputs(linear, variances, hyperparameters):
    n_outputs = len(hyperparameters.signal_variance)
    total, by_column, results = 0.0, np.zeros(len(variances)), []
    by_signal, by_noise = np.empty(n_outputs), np.empty(n_outputs)
    priors = prior_variances(variances, hyperparameters)
    for output in range(n_outputs):
        prior = priors[:, output]
        result = evidence(linear, prior, hyperparameters.noise_variance[output], output)
        total += result.log_evidence
        by_prior, by_noise[output] = result.gradient()
        if prior[0] > 0:  # of the constant's variance, only the kernel's share follows the kernel
            by_prior[0] *= hyperparameters.signal_variance[output] * variances[0] / prior[0]
        by_signal[output] = by_prior.sum()
        by_column += by_prior
        results.append(result)
    return _Total(total, by_column, by_signal, by_noise, results)


class PeriodMoves:
    r"""Which entries of the inverse cell are learned, in steps that suit the data.

    A step of one turns the phase along an input by one radian over the extent of the data.

    Parameters
    ----------
    free : ndarray of bool, shape (dimension, dimension)
        Entries of :math:`\text{cell}^{-1}` that may move.
    extent : ndarray of shape (dimension,)
        Extents of the inputs of the dimensions.
    """

    def __init__(self, free, extent):
        self._where = np.nonzero(free)
        self._unit = 1 / (2 * np.pi * np.asarray(extent)[self._where[0]])
        self._whole = bool((free & ~np.eye(len(free), dtype=bool)).any())
        self._dimension = len(free)
        self.size = len(self._unit)

    def inverse_cell(self, steps, period):
        """Inverse cell, some steps from that of a period or cell."""
        inverse = inverse_cell(period, self._dimension)
        inverse[self._where] += steps * self._unit
        return inverse

    def period(self, steps, period):
        """Period or cell, some steps from another."""
        inverse = self.inverse_cell(steps, period)
        if self._whole or np.ndim(period) == 2:
            return np.linalg.inv(inverse)
        return 1 / np.diag(inverse) if self._dimension > 1 else float(1 / inverse[0, 0])

    def gradient(self, by_inverse_cell):
        """Derivatives in the steps, from those in the entries of the inverse cell."""
        return by_inverse_cell[self._where] * self._unit

    def standard_errors(self, covariance, period):
        """Standard errors of the entries of the period or cell, from the covariance of the steps."""
        inverse = np.zeros((self.size, self._dimension, self._dimension))
        inverse[np.arange(self.size), *self._where] = self._unit
        cell = np.linalg.inv(inverse_cell(period, self._dimension))
        errors = cell_errors(cell, inverse, covariance)
        if np.ndim(period) == 2:
            return errors
        return np.diag(errors).copy() if self._dimension > 1 else float(errors[0, 0])


def inverse_cell(period, dimension):
    """Matrix W of the phases ``2 pi X @ W``."""
    if np.ndim(period) == 2:
        return np.linalg.inv(period)
    return np.diag(1 / np.broadcast_to(np.asarray(period, dtype=float), (dimension,)))


class _Objective:
    """Negative log evidence of a fixed set of frequencies, as a function of a vector of what is learned.

    A learned noise variance is at least the variance that the set leaves out of the kernel, which the columns cannot
    explain. Otherwise a small set would do best with a length scale for which it is the wrong set.
    """

    def __init__(self, provider, template, index_set, start, names, moves=None):
        self._provider, self._template, self._set = provider, template, index_set
        self._start, self._names, self._moves = start, names, moves
        self._fixed = provider(index_set, template.kernel(start)) if moves is None else None

    def unpack(self, vector):
        """Hyperparameters of a vector; the excess of the noise over what the set leaves out is still to be added."""
        if self._moves is None:
            return self._start.with_vector(vector, self._names)
        n_steps = self._moves.size
        here = self._start.with_vector(vector[:-n_steps], self._names)
        return replace(here, period=self._moves.period(vector[-n_steps:], self._start.period))

    def hyperparameters(self, vector):
        """Hyperparameters of a vector."""
        here = self.unpack(vector)
        if "noise_variance" in self._names:
            dropped, _ = _Prior(self._template, self._set.frequencies, here).dropped()
            here = replace(here, noise_variance=here.noise_variance + dropped * here.signal_variance)
        return here

    def __call__(self, vector):
        """Negative log evidence and its gradient."""
        here = self.unpack(vector)
        prior = _Prior(self._template, self._set.frequencies, here, self._moves)
        dropped, shares = prior.dropped() if "noise_variance" in self._names else (0.0, None)
        noise = here.noise_variance + dropped * here.signal_variance
        kernel = self._template.kernel(here)
        linear = self._fixed if self._moves is None else self._provider(self._set, kernel)
        total = _sum_over_outputs(linear, prior.variances, replace(here, noise_variance=noise))
        by_dropped = (total.by_noise * here.signal_variance / noise).sum()
        by_column = total.by_column if shares is None else total.by_column - by_dropped * shares
        gradient = {
            "length_scale": prior.by_length_scale(by_column),
            "signal_variance": total.by_signal + total.by_noise * dropped * here.signal_variance / noise,
            "noise_variance": total.by_noise * here.noise_variance / noise,
        }
        parts = [gradient[name] for name in LEARNABLE if name in self._names]
        if self._moves is not None:
            quadratic = sum(
                (result.covariance() + np.outer(result.weights, result.weights)) / result.noise_variance
                for result in total.results
            )
            weights = np.stack([result.weights / result.noise_variance for result in total.results], axis=1)
            by_phase = self._provider.inverse_cell_gradient(self._set, kernel, quadratic, weights)
            parts.append(self._moves.gradient(by_phase) + prior.by_period(by_column))
        return -total.log_evidence, -np.concatenate([[], *parts])


def maximise(provider, template, index_set, start, names, bounds, moves=None, max_iter=100):
    """Maximise the evidence over the named hyperparameters for a fixed set of frequencies.

    Parameters
    ----------
    provider : callable
        Linear statistics of an index set, given the kernel; its ``inverse_cell_gradient`` is used with ``moves``.
    template : KernelTemplate
        The kernel but for what is learned.
    index_set : IndexSet
        Frequencies of the columns.
    start : Hyperparameters
        Starting point.
    names : collection of str
        Which hyperparameters to learn.
    bounds : dict
        Lower and upper bound of each, as arrays or numbers.
    moves : PeriodMoves, optional
        How the period may move.
    max_iter : int, default=100
        Largest number of iterations.

    Returns
    -------
    Learned
    """
    objective = _Objective(provider, template, index_set, start, names, moves)
    limits = _limits(start, names, bounds, moves)
    first = np.append(start.to_vector(names), np.zeros(moves.size if moves else 0))
    first = np.clip(first, limits[:, 0], limits[:, 1])
    improvement, reference = with_wall(objective, first)
    if not first.size:
        return Learned(start, index_set, -reference)
    options = {"maxiter": max_iter, "ftol": 1e-7, "gtol": 1e-5}
    result = minimize(improvement, first, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    found = objective.hyperparameters(result.x)
    return Learned(found, index_set, -float(result.fun + reference), bool(result.status != 1))


def _limits(start, names, bounds, moves):
    """Bounds of the vector: logarithms of those of the hyperparameters, and half a turn for moves of the period."""
    pairs = [
        np.log(np.column_stack([np.broadcast_to(bound, len(getattr(start, name))) for bound in bounds[name]]))
        for name in LEARNABLE
        if name in names
    ]
    if moves is not None:
        pairs.append(np.tile([-np.pi, np.pi], (moves.size, 1)))
    return np.concatenate(pairs or [np.empty((0, 2))])


def period_standard_errors(provider, template, learned, moves):
    """Standard errors of a learned period or cell, from the curvature of the evidence in it.

    Parameters
    ----------
    provider, template, moves
        See :func:`maximise`.
    learned : Learned
        Outcome of learning.

    Returns
    -------
    float or ndarray of the shape of the period or cell
        Not a number where the evidence has no maximum.
    """
    objective = _Objective(provider, template, learned.index_set, learned.hyperparameters, (), moves)
    step = 1e-3
    slopes = [(objective(step * unit)[1] - objective(-step * unit)[1]) / (2 * step) for unit in np.eye(moves.size)]
    curvature = (np.array(slopes) + np.array(slopes).T) / 2
    if np.linalg.eigvalsh(curvature)[0] <= 0:
        curvature = np.full_like(curvature, np.nan)
    return moves.standard_errors(np.linalg.inv(curvature), learned.hyperparameters.period)


def learn(
    provider,
    select,
    template,
    start,
    names,
    bounds,
    n_components,
    report,
    *,
    search=True,
    first=None,
    cap=None,
    moves=None,
):
    """Learn hyperparameters from small sets to the final one.

    Parameters
    ----------
    provider : callable
        Linear statistics of an index set, given the kernel it was chosen for; see :func:`maximise`.
    select : callable
        Index set for a kernel and a number of columns.
    template : KernelTemplate
        The kernel but for its length scales.
    start : Hyperparameters
        Starting point.
    names : collection of str
        Which hyperparameters to learn; may be empty.
    bounds : dict
        Bounds of each.
    n_components : int or "auto"
        Number of columns, or "auto" to grow the set as long as that helps.
    report : callable
        Takes a line of progress.
    search : bool, default=True
        Try several starting length scales on a small set first.
    first : int, optional
        Number of columns to begin with; by default few, see :func:`first_columns`.
    cap : int, default=2000
        Largest number of columns of "auto".
    moves : PeriodMoves, optional
        How the period may move, if it is learned.

    Returns
    -------
    Learned
    """
    cap = MAX_COMPONENTS if cap is None else cap
    problem = _Problem(provider, select, template, names, bounds, report)
    first = first_columns(template.dimension) if first is None else first
    first = first if n_components == "auto" else min(first, n_components)
    size = first
    if search and "length_scale" in names:
        largest = cap if n_components == "auto" else n_components
        if template.dimension > _FEW_DIMENSIONS and np.ptp(start.length_scale) == 0:
            start, size = problem.start_together(start, first, min(largest, _MOST_TOGETHER))
        else:
            start = problem.best_start(start, first).hyperparameters
    problem = replace(problem, moves=moves)
    if n_components == "auto":
        return problem.grow(start, size, cap)
    while 4 * size < n_components and search:
        start = problem.settle(start, size, _FEW_ROUNDS).hyperparameters
        size *= 4
    return problem.settle(start, n_components)


def limited_blas(n_columns):
    """Context in which BLAS has one thread, if matrices of so many columns are no faster with several."""
    return _blas().limit(limits=1 if n_columns <= _FEW_COLUMNS else None, user_api="blas")


@lru_cache(maxsize=1)
def _blas():
    return ThreadpoolController()  # looks at all loaded libraries, so once is enough


@dataclass(frozen=True)
class _Problem:
    """Everything about a learning problem that stays the same while it is solved."""

    provider: Callable
    select: Callable
    template: KernelTemplate
    names: Collection[str]
    bounds: dict
    report: Callable
    moves: PeriodMoves | None = None

    def settle(self, start, size, max_rounds=_MAX_ROUNDS, max_iter=100):
        """Alternate between the best set and the best hyperparameters until the set hardly changes."""
        current, best = start, None
        for _ in range(max_rounds):
            index_set = self.select(self.template.kernel(current), size)
            with limited_blas(size):
                found = maximise(
                    self.provider, self.template, index_set, current, self.names, self.bounds, self.moves, max_iter
                )
            self.report(
                f"{index_set.n_components} columns, log evidence {found.log_evidence:.6g}, length scales "
                f"{np.array2string(found.hyperparameters.length_scale, precision=3)}"
            )
            change = np.abs(np.log(found.hyperparameters.length_scale / current.length_scale)).max()
            gain = found.log_evidence - best.log_evidence if best else np.inf
            if gain > 0:
                best = found
            current = found.hyperparameters
            if change < _SETTLED or gain < _NEGLIGIBLE_GAIN:
                break
        return best

    def best_start(self, start, size):
        """The best of several starting length scales, after a few steps from each.

        A set that is too small to show anything has next to the same evidence for all. Then the shortest goes on, as
        larger sets may show more; from a long one, which leaves everything to the intercept, nothing leads back.
        """
        scales = [np.clip(factor * start.length_scale, *self.bounds["length_scale"]) for factor in _STARTS]
        attempts = [self.settle(replace(start, length_scale=scale), size, 1, _SCOUT_STEPS) for scale in scales]
        best = max(attempt.log_evidence for attempt in attempts)
        ties = [attempt for attempt in attempts if attempt.log_evidence > best - _TIE]
        return min(ties, key=lambda attempt: np.log(attempt.hyperparameters.length_scale).sum())

    def start_together(self, start, size, cap):
        """Where many length scales start: one for all of them is learned first, on as many columns as that takes.

        A small set cannot hold the interactions of many dimensions. If each had a length scale of its own, the best
        use of few columns would be to give up some of the dimensions, and these would not come back.

        Returns
        -------
        start : Hyperparameters
            With a length scale for each dimension, learned together and then on their own.
        size : int
            Number of columns that they need.
        """
        found = self.best_start(replace(start, length_scale=start.length_scale[:1]), size)
        found = self.grow(found.hyperparameters, size, cap)
        common = found.hyperparameters
        size_together = found.index_set.n_components
        apart = replace(common, length_scale=np.repeat(common.length_scale, len(start.length_scale)))
        found = self.settle(apart, size_together, _FEW_ROUNDS)
        kernel = self.template.kernel(found.hyperparameters)
        needed = size_together
        while needed > size:  # dimensions that do not matter needed columns too, as long as all were alike
            fewer = replace(found, index_set=self.select(kernel, max(size, needed // 2)))
            if not small_against_noise(self.template, fewer):
                break
            needed = max(size, needed // 2)
        return found.hyperparameters, needed

    def grow(self, start, size, cap):
        """Double the set until what it leaves out is small against the noise or the evidence stops changing."""
        found = self.settle(start, size, _FEW_ROUNDS if size < cap else _MAX_ROUNDS)
        while not small_against_noise(self.template, found):
            if size >= cap:
                return replace(found, capped=True)
            size = min(2 * size, cap)
            larger = self.settle(found.hyperparameters, size, _FEW_ROUNDS if size < cap else _MAX_ROUNDS)
            exhausted = larger.index_set.n_components <= found.index_set.n_components  # no more frequencies are allowed
            change, found = abs(larger.log_evidence - found.log_evidence), larger
            if change < _WORTHWHILE or exhausted:
                break
        return found


def small_against_noise(template, learned, fraction=SMALL_AGAINST_NOISE):
    """Whether the variance that the set leaves out is at most this fraction of the noise of every output."""
    hyperparameters = learned.hyperparameters
    error = template.kernel(hyperparameters).truncation_error(learned.index_set)
    return bool((error * hyperparameters.signal_variance <= fraction * hyperparameters.noise_variance).all())


def learn_spectrum(
    linear, variances, noise_variances, pairs, learn_noise, report, *, keep_constant=False, max_iter=200, tolerance=1e-3
):
    """Learn the prior variance of every frequency by expectation maximisation.

    With ``keep_constant``, the constant keeps its variance: that of an intercept is broad, not learned. The steps of
    the others raise the evidence all the same.

    Returns
    -------
    prior_variances, noise_variances : ndarray
    log_evidences : list of float
        Before each step; they never fall.
    """
    history = []
    for step in range(max_iter):
        new_variances, new_noise, value = spectrum_step(linear, variances, noise_variances, pairs)
        history.append(value)
        if step and value - history[-2] < tolerance:
            break
        if keep_constant:
            new_variances[0] = variances[0]
        variances = new_variances
        noise_variances = new_noise if learn_noise else noise_variances
    report(f"spectrum learned in {len(history)} steps, log evidence {history[-1]:.6g}")
    return variances, noise_variances, history
