"""Evidence learning of hyperparameters from sufficient statistics: its cost does not depend on the number of rows.

The evidence is smooth for a fixed set of frequencies, so a round maximises it there (L-BFGS); then the best set for the
new length scales takes its place, until that changes little. Small sets come first: they are cheap and their
evidence has fewer local maxima.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from torusgp.inference import evidence, spectrum_step
from torusgp.kernel import TorusKernel

LEARNABLE = ("length_scale", "signal_variance", "noise_variance")

_STARTS = (1.0, 0.3, 3.0)  # factors of the given length scale that are tried on the smallest set
FIRST_COLUMNS = 101
_MAX_ROUNDS = 6
_SETTLED = 0.02  # change of the logarithm of a length scale up to which the set is kept
_NEGLIGIBLE_GAIN = 0.1  # gain in log evidence that ends the exchange of sets
_WORTHWHILE = 1.0  # change of the log evidence that justifies twice the columns
_FEW_COLUMNS = 1001  # up to here one thread of BLAS is as fast as several, and much faster where cores are busy
MAX_COMPONENTS = 2000  # the most that n_components="auto" takes
SMALL_AGAINST_NOISE = 0.01  # truncated variance relative to the noise at which more columns are useless


@dataclass(frozen=True)
class Hyperparameters:
    """Length scales of the dimensions, signal and noise variances of the outputs."""

    length_scale: np.ndarray
    signal_variance: np.ndarray
    noise_variance: np.ndarray

    def to_vector(self, names):
        """Logarithms of the named ones, one after the other."""
        return np.log(np.concatenate([getattr(self, name) for name in LEARNABLE if name in names]))

    def with_vector(self, vector, names):
        """The named ones replaced by the exponentials of a vector."""
        changes, start = {}, 0
        for name in LEARNABLE:
            if name in names:
                size = len(getattr(self, name))
                changes[name] = np.exp(vector[start : start + size])
                start += size
        return replace(self, **changes)


@dataclass(frozen=True)
class KernelTemplate:
    """A kernel without its length scales."""

    family: object
    period: object
    dimension: int
    max_interaction: int | None

    def kernel(self, length_scale):
        """The kernel with these length scales."""
        scale = float(length_scale[0]) if len(length_scale) == 1 else length_scale
        return TorusKernel(self.family, scale, self.period, max_interaction=self.max_interaction)


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
    prior = _Prior(template, frequencies, hyperparameters.length_scale)
    total, by_column, by_signal, by_noise = _sum_over_outputs(linear, prior.variances, hyperparameters)
    return total, {
        "length_scale": prior.by_length_scale(by_column),
        "signal_variance": by_signal,
        "noise_variance": by_noise,
    }


class _Prior:
    """Prior variances of the columns for unit signal variance, and their derivatives."""

    def __init__(self, template, frequencies, length_scale):
        kernel = template.kernel(length_scale)
        self.variances = column_variances(kernel, frequencies)
        self._slopes = np.nan_to_num(kernel.log_coefficients_gradient(frequencies), posinf=0.0, neginf=0.0)
        self._n_length_scales = len(length_scale)

    def by_length_scale(self, by_column):
        """Derivatives in the logarithms of the length scales, from those in the logarithms of the column variances."""
        by_frequency = np.append(by_column[0], by_column[1::2] + by_column[2::2])
        gradient = by_frequency @ self._slopes
        return gradient if len(gradient) == self._n_length_scales else gradient.sum(keepdims=True)

    def dropped(self):
        """Variance that the columns leave out of the kernel's, and its derivatives in the length scales."""
        shares = 0.5 * self.variances  # a cosine and a sine of variance 2 c add up to 2 c everywhere
        shares[0] *= 2
        return max(0.0, 1 - shares.sum()), -self.by_length_scale(shares)


def _sum_over_outputs(linear, variances, hyperparameters):
    n_outputs = len(hyperparameters.signal_variance)
    total, by_column = 0.0, np.zeros(len(variances))
    by_signal, by_noise = np.empty(n_outputs), np.empty(n_outputs)
    for output in range(n_outputs):
        signal, noise = hyperparameters.signal_variance[output], hyperparameters.noise_variance[output]
        result = evidence(linear, signal * variances, noise, output)
        total += result.log_evidence
        by_prior, by_noise[output] = result.gradient()
        by_signal[output] = by_prior.sum()
        by_column += by_prior
    return total, by_column, by_signal, by_noise


def maximise(linear, template, index_set, start, names, bounds, max_iter=100):
    """Maximise the evidence over the named hyperparameters for a fixed set of frequencies.

    A learned noise variance is at least the variance that the set leaves out of the kernel, which the columns cannot
    explain. Otherwise a small set would do best with a length scale for which it is the wrong set.

    Parameters
    ----------
    linear : LinearStatistics
        Statistics of the columns of the set.
    template : KernelTemplate
        The kernel but for its length scales.
    index_set : IndexSet
        Frequencies of the columns.
    start : Hyperparameters
        Starting point.
    names : collection of str
        Which hyperparameters to learn.
    bounds : dict
        Lower and upper bound of each, as arrays or numbers.
    max_iter : int, default=100
        Largest number of iterations.

    Returns
    -------
    Learned
    """
    if not names:
        value, _ = log_evidence_and_gradient(linear, template, index_set.frequencies, start)
        return Learned(start, index_set, value)
    limits = np.log(
        np.concatenate(
            [
                np.column_stack([np.broadcast_to(bound, len(getattr(start, name))) for bound in bounds[name]])
                for name in LEARNABLE
                if name in names
            ]
        )
    )

    def objective(vector):
        here = start.with_vector(vector, names)
        prior = _Prior(template, index_set.frequencies, here.length_scale)
        dropped, dropped_slope = prior.dropped() if "noise_variance" in names else (0.0, 0.0)
        noise = here.noise_variance + dropped * here.signal_variance
        value, by_column, by_signal, by_noise = _sum_over_outputs(
            linear, prior.variances, replace(here, noise_variance=noise)
        )
        gradient = {
            "length_scale": prior.by_length_scale(by_column)
            + (by_noise * here.signal_variance / noise).sum() * dropped_slope,
            "signal_variance": by_signal + by_noise * dropped * here.signal_variance / noise,
            "noise_variance": by_noise * here.noise_variance / noise,
        }
        return -value, -np.concatenate([gradient[name] for name in LEARNABLE if name in names])

    first = np.clip(start.to_vector(names), limits[:, 0], limits[:, 1])
    reference = objective(first)[0]  # with many rows the evidence is large, and a relative tolerance of it blunt

    def improvement(vector):
        value, gradient = objective(vector)
        return value - reference, gradient

    options = {"maxiter": max_iter, "ftol": 1e-7, "gtol": 1e-5}
    result = minimize(improvement, first, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    found = start.with_vector(result.x, names)
    if "noise_variance" in names:
        dropped, _ = _Prior(template, index_set.frequencies, found.length_scale).dropped()
        found = replace(found, noise_variance=found.noise_variance + dropped * found.signal_variance)
    return Learned(found, index_set, -float(result.fun + reference), bool(result.status != 1))


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
    first=FIRST_COLUMNS,
    cap=None,
):
    """Learn hyperparameters from small sets to the final one.

    Parameters
    ----------
    provider : callable
        Linear statistics of an index set, given the kernel it was chosen for.
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
    first : int, default=101
        Number of columns to begin with.
    cap : int, default=2000
        Largest number of columns of "auto".

    Returns
    -------
    Learned
    """
    cap = MAX_COMPONENTS if cap is None else cap
    problem = _Problem(provider, select, template, names, bounds, report)
    first = first if n_components == "auto" else min(first, n_components)
    if search and "length_scale" in names:
        scales = [np.clip(factor * start.length_scale, *bounds["length_scale"]) for factor in _STARTS]
        attempts = [problem.settle(replace(start, length_scale=scale), first, max_iter=30) for scale in scales]
        start = max(attempts, key=lambda attempt: attempt.log_evidence).hyperparameters
    if n_components == "auto":
        return problem.grow(start, first, cap)
    size = first
    while 4 * size < n_components and search:
        start = problem.settle(start, size).hyperparameters
        size *= 4
    return problem.settle(start, n_components)


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

    def settle(self, start, size, max_iter=100):
        """Alternate between the best set and the best hyperparameters until the set hardly changes."""
        current, best = start, None
        for _ in range(_MAX_ROUNDS):
            kernel = self.template.kernel(current.length_scale)
            index_set = self.select(kernel, size)
            linear = self.provider(index_set, kernel)
            with _blas().limit(limits=1 if size <= _FEW_COLUMNS else None, user_api="blas"):
                found = maximise(linear, self.template, index_set, current, self.names, self.bounds, max_iter)
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

    def grow(self, start, size, cap):
        """Double the set until what it leaves out is small against the noise or the evidence stops changing."""
        found = self.settle(start, size)
        while not small_against_noise(self.template, found):
            if size >= cap:
                return replace(found, capped=True)
            size = min(2 * size, cap)
            larger = self.settle(found.hyperparameters, size)
            change, found = abs(larger.log_evidence - found.log_evidence), larger
            if change < _WORTHWHILE:
                break
        return found


def small_against_noise(template, learned, fraction=SMALL_AGAINST_NOISE):
    """Whether the variance that the set leaves out is at most this fraction of the noise of every output."""
    hyperparameters = learned.hyperparameters
    error = template.kernel(hyperparameters.length_scale).truncation_error(learned.index_set)
    return bool((error * hyperparameters.signal_variance <= fraction * hyperparameters.noise_variance).all())


def learn_spectrum(linear, prior_variances, noise_variances, pairs, learn_noise, report, max_iter=200, tolerance=1e-3):
    """Learn the prior variance of every frequency by expectation maximisation.

    Returns
    -------
    prior_variances, noise_variances : ndarray
    log_evidences : list of float
        Before each step; they never fall.
    """
    history = []
    for step in range(max_iter):
        new_prior, new_noise, value = spectrum_step(linear, prior_variances, noise_variances, pairs)
        history.append(value)
        if step and value - history[-2] < tolerance:
            break
        prior_variances = new_prior
        noise_variances = new_noise if learn_noise else noise_variances
    report(f"spectrum learned in {len(history)} steps, log evidence {history[-1]:.6g}")
    return prior_variances, noise_variances, history
