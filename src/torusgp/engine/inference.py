r"""Posterior and evidence of a Bayesian linear model, from its sufficient statistics alone.

The model is :math:`y = F w + \varepsilon` with independent weights :math:`w_j \sim N(0, \lambda_j)` and noise of
variance :math:`s^2`; F may hold any columns. With :math:`R = \mathrm{diag}(\sqrt{\lambda})` everything follows from
the Cholesky factor of :math:`B = I + R F'F R / s^2`, whose condition number the prior keeps at bay. It is computed by
LAPACK, or on a device; see :func:`torusgp.engine.backends.make_algebra`.

Memory grows as ``8 n_columns ** 2`` bytes, the size of a Gram matrix. Beside the Gram matrix of the statistics, the
evidence holds its factor; its gradient and the posterior covariance need one matrix more.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from torusgp.engine.backends import make_algebra


@dataclass(frozen=True)
class Derivatives:
    """Statistics of observed partial derivatives of the function of a linear model, at a group of points.

    Every column of a derivative is a multiple of a column of some basis, the same one along all inputs: of a cosine it
    is the sine times a wave number. So one matrix of products serves all inputs.

    Attributes
    ----------
    factors : ndarray of shape (n_partials, n_columns)
        Factors of the columns of the derivative along each input.
    gram : ndarray of shape (n_columns, n_columns)
        Sums of products of the columns that these multiply, weighted by precision.
    moments : ndarray of shape (n_partials, n_columns, n_outputs)
        Sums of products of these columns with the observed derivatives.
    """

    factors: np.ndarray
    gram: np.ndarray
    moments: np.ndarray


@dataclass(frozen=True)
class LinearStatistics:
    """Statistics of the data of a linear model.

    Attributes
    ----------
    gram : ndarray of shape (n_columns, n_columns)
        Sums of products of columns, weighted by precision.
    moments : ndarray of shape (n_columns, n_outputs)
        Sums of products of columns and targets.
    squares : ndarray of shape (n_outputs,)
        Sums of squared targets.
    n_samples : float
        Number of rows; the sum of the sample weights.
    log_precision : float
        Sum of the logarithms of the precisions that known noise scales give the rows.
    rounding : float
        Error of the entries of the Gram matrix, relative to the number of rows.
    device : str, optional
        Where large matrices are factored, such as "cuda"; by default on the CPU.
    derivatives : tuple of Derivatives
        Observed partial derivatives, in groups of points.
    partials : tuple of str
        Names of the inputs along which they are.
    derivative_squares : ndarray of shape (n_partials, n_outputs)
        Sums of their squares.
    n_derivatives, derivative_log_precision : ndarray of shape (n_partials,)
        How many there are along each input, and the sums of the logarithms of their precisions.
    """

    gram: np.ndarray
    moments: np.ndarray
    squares: np.ndarray
    n_samples: float
    log_precision: float = 0.0
    rounding: float = np.finfo(float).eps
    device: str | None = None
    derivatives: tuple[Derivatives, ...] = ()
    partials: tuple[str, ...] = ()
    derivative_squares: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_derivatives: np.ndarray = field(default_factory=lambda: np.empty(0))
    derivative_log_precision: np.ndarray = field(default_factory=lambda: np.empty(0))

    def joined(self, ratios, output):
        r"""Statistics of values and derivatives together, for given ratios of their noise.

        A derivative whose noise variance is :math:`s^2 / \rho` is a row of precision :math:`\rho`.

        Parameters
        ----------
        ratios : ndarray of shape (n_partials,) or None
            Noise variance of values over that of the derivatives along each input, if there are any.
        output : int
            Which output.

        Returns
        -------
        LinearStatistics
            Of this output alone, without derivatives apart.
        """
        if not self.derivatives:
            return replace(self, moments=self.moments[:, [output]], squares=self.squares[[output]])
        gram, moments = self.gram, self.moments[:, [output]]
        for group in self.derivatives:
            gram = gram + group.gram * (group.factors.T @ (ratios[:, None] * group.factors))
            moments = moments + ((ratios[:, None] * group.factors) * group.moments[..., output]).sum(axis=0)[:, None]
        return replace(
            self,
            gram=gram,
            moments=moments,
            squares=self.squares[[output]] + ratios @ self.derivative_squares[:, [output]],
            n_samples=self.n_samples + self.n_derivatives.sum(),
            log_precision=self.log_precision
            + self.derivative_log_precision.sum()
            + self.n_derivatives @ np.log(ratios),
            derivatives=(),
        )

    def without(self, n_columns, prior_variance, noise_variance):
        """Statistics of the first columns of one output, the others integrated out: their evidence is the same.

        Parameters
        ----------
        n_columns : int
            How many columns stay.
        prior_variance : ndarray of shape (n_columns,)
            Prior variances of the weights of all columns.
        noise_variance : float
            Variance of the noise of a row of unit precision.

        Returns
        -------
        LinearStatistics
        """
        kept, gone = slice(n_columns), slice(n_columns, None)
        inner = self.gram[gone, gone] + np.diag(noise_variance / prior_variance[gone])
        through = np.linalg.solve(inner, np.column_stack([self.gram[gone, kept], self.moments[gone, 0]]))
        gram = self.gram[kept, kept] - self.gram[kept, gone] @ through[:, :-1]
        ratio = np.linalg.slogdet(inner * (prior_variance[gone] / noise_variance))[1]
        return replace(
            self,
            gram=(gram + gram.T) / 2,
            moments=self.moments[kept] - self.gram[kept, gone] @ through[:, -1:],
            squares=self.squares - self.moments[gone, 0] @ through[:, -1],
            log_precision=self.log_precision - ratio,
        )

    @cached_property
    def algebra(self):
        """Algebra of the posterior precision; it keeps the Gram matrix on the device between evaluations."""
        return make_algebra(self.gram, self.device)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "algebra"}


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """The posterior precision is not positive definite: the statistics are too inexact for this noise."""


@dataclass(frozen=True)
class Evidence:
    """Log evidence of one output and what its gradient needs.

    Attributes
    ----------
    log_evidence : float
        Logarithm of the marginal likelihood.
    weights : ndarray of shape (n_columns,)
        Posterior mean of the weights.
    factor : LapackFactor or TorchFactor
        Cholesky factor of B.
    root : ndarray of shape (n_columns,)
        Prior standard deviations of the weights.
    residual : float
        Sum of squares that the posterior mean leaves, weighted by precision.
    by_derivative_noise : ndarray of shape (n_partials,), optional
        Derivatives of the log evidence in the logarithms of the noise variances of observed derivatives.
    """

    log_evidence: float
    weights: np.ndarray
    factor: Any
    root: np.ndarray
    residual: float
    n_samples: float
    noise_variance: float
    by_derivative_noise: np.ndarray | None = None

    def inverse_diagonal(self):
        """Diagonal of the inverse of B: the share of its prior variance that each weight keeps."""
        return self.factor.inverse_diagonal()

    def covariance(self):
        """Posterior covariance of the weights."""
        return self.factor.covariance(self.root)

    def gradient(self):
        """Derivatives of the log evidence in the logarithms of the prior variances and of the noise variance."""
        shrunk = self.inverse_diagonal()
        ratio = np.divide(self.weights**2, self.root**2, out=np.zeros_like(self.root), where=self.root > 0)
        by_prior = -0.5 * (1 - shrunk - ratio)
        effective = len(shrunk) - shrunk.sum()  # degrees of freedom that the data determine
        by_noise = -0.5 * (self.n_samples - self.residual / self.noise_variance - effective)
        if self.by_derivative_noise is not None:  # the above is for a fixed ratio of the two kinds of noise
            by_noise -= self.by_derivative_noise.sum()
        return by_prior, by_noise

    def information(self, by_prior, by_noise):
        r"""Average of the observed and the expected information of parameters.

        For a covariance K of the targets y it is :math:`y' K^{-1} K_i K^{-1} K_j K^{-1} y / 2` with the derivatives
        :math:`K_i`, which needs no inverse.

        Parameters
        ----------
        by_prior : ndarray of shape (n_columns, n_parameters)
            Derivatives of the logarithms of the prior variances.
        by_noise : ndarray of shape (n_parameters,)
            Derivatives of the logarithm of the noise variance.

        Returns
        -------
        ndarray of shape (n_parameters, n_parameters)
        """
        ratio = np.divide(self.weights, self.root, out=np.zeros_like(self.root), where=self.root > 0)
        moved = by_prior * ratio[:, None]
        shrunk = self.factor.inverse_product(np.column_stack([moved, ratio]))
        cross = np.outer(by_noise, shrunk[:-1, -1])
        noise = self.residual / self.noise_variance - shrunk[-1, -1]
        return (moved.T @ moved - shrunk[:-1, :-1] + cross + cross.T + noise * np.outer(by_noise, by_noise)) / 2


def inexactness(statistics, prior_variance, noise_variance):
    r"""Error of B that inexact sums cause; unity would be as large as the prior precision.

    The first column does not count, which is the constant where there is one, however broad its prior. Once it is
    eliminated, the rest of B has the products :math:`g_{jk} - g_{j0} g_{0k} / (g_{00} + s^2 / \lambda_0)`, with errors
    of the size of those of :math:`g_{jk}`, times the prior variances of the others; and the precision of the constant
    itself is a sum of positive terms, known to as many digits as they are.

    Parameters
    ----------
    statistics, prior_variance, noise_variance
        See :func:`evidence`.

    Returns
    -------
    float
    """
    return float(statistics.rounding * statistics.n_samples * prior_variance[1:].max(initial=0.0) / noise_variance)


def evidence(statistics, prior_variance, noise_variance, output=0, derivative_noise=None):
    """Log evidence and posterior of one output of a linear model.

    Parameters
    ----------
    statistics : LinearStatistics
        Statistics of the data.
    prior_variance : ndarray of shape (n_columns,)
        Prior variances of the weights, zero allowed.
    noise_variance : float
        Variance of the noise of a row of unit precision.
    output : int, default=0
        Which column of the targets.
    derivative_noise : ndarray of shape (n_partials,), optional
        Variances of the noise of observed derivatives of unit precision; needed where the statistics hold some.

    Returns
    -------
    Evidence
    """
    if statistics.derivatives:
        return _joint_evidence(statistics, prior_variance, noise_variance, output, derivative_noise)
    root = np.sqrt(prior_variance)
    try:
        factor = statistics.algebra.factor(root, noise_variance)
    except np.linalg.LinAlgError:
        inexact = inexactness(statistics, prior_variance, noise_variance)
        raise NotPositiveDefiniteError(
            f"The posterior precision of {len(root)} weights is not positive definite: rounding of the statistics "
            f"amounts to {inexact:.1e} of the prior precision at noise_variance={noise_variance:.3g}. Raise the noise "
            "variance or its lower bound, use fewer components, or backend='dense', whose statistics are more exact."
        ) from None
    moment = statistics.moments[:, output]
    weights = factor.weights(root, moment / noise_variance, output)
    fit = float(moment @ weights)
    square = float(statistics.squares[output])
    n = statistics.n_samples
    log_evidence = -0.5 * (
        n * np.log(2 * np.pi * noise_variance)
        - statistics.log_precision
        + factor.log_determinant()
        + (square - fit) / noise_variance
    )
    ratio = np.divide(weights, root, out=np.zeros_like(root), where=root > 0)
    residual = max(0.0, square - fit - noise_variance * float(ratio @ ratio))
    return Evidence(log_evidence, weights, factor, root, residual, n, noise_variance)


def evidences(statistics, prior_variances, noise_variances, derivative_noise=None):
    """Evidence of each output.

    Parameters
    ----------
    statistics : LinearStatistics
        Statistics of the data.
    prior_variances : ndarray of shape (n_columns, n_outputs)
        Prior variances of the weights.
    noise_variances : ndarray of shape (n_outputs,)
        Noise variances.
    derivative_noise : ndarray of shape (n_partials, n_outputs), optional
        Noise variances of observed derivatives.

    Returns
    -------
    list of Evidence
    """
    of_derivatives = [None] * len(noise_variances) if derivative_noise is None else derivative_noise.T
    return [
        evidence(statistics, prior_variances[:, output], noise, output, of_derivatives[output])
        for output, noise in enumerate(noise_variances)
    ]


def _joint_evidence(statistics, prior_variance, noise_variance, output, derivative_noise):
    """Evidence of values and derivatives; see :func:`evidence`."""
    result = evidence(statistics.joined(noise_variance / derivative_noise, output), prior_variance, noise_variance)
    second_moment = result.covariance() + np.outer(result.weights, result.weights)
    squares = statistics.derivative_squares[:, output].copy()  # left by the posterior, its spread included
    for group in statistics.derivatives:
        squares -= 2 * (group.factors * group.moments[..., output]) @ result.weights
        squares += np.einsum("di,ij,dj->d", group.factors, group.gram * second_moment, group.factors, optimize=True)
    by_noise = -0.5 * (statistics.n_derivatives - squares / derivative_noise)
    return replace(result, by_derivative_noise=by_noise)


def spectrum_step(statistics, prior_variances, noise_variances, pairs):
    """One step of expectation maximisation: new prior and noise variances of no smaller evidence.

    Parameters
    ----------
    statistics : LinearStatistics
        Statistics of the data.
    prior_variances : ndarray of shape (n_columns, n_outputs)
        Prior variances of the weights.
    noise_variances : ndarray of shape (n_outputs,)
        Noise variances.
    pairs : ndarray of int, shape (n_columns,)
        Columns with the same number share a prior variance.

    Returns
    -------
    prior_variances, noise_variances : ndarray
        Updated variances.
    log_evidence : float
        Log evidence before the step.
    """
    new_prior, new_noise = np.empty_like(prior_variances), np.empty_like(noise_variances)
    total = 0.0
    counts = np.bincount(pairs)
    for output, result in enumerate(evidences(statistics, prior_variances, noise_variances)):
        total += result.log_evidence
        shrunk = result.inverse_diagonal()
        second_moment = result.weights**2 + prior_variances[:, output] * shrunk
        new_prior[:, output] = (np.bincount(pairs, second_moment) / counts)[pairs]
        spread = noise_variances[output] * (len(shrunk) - shrunk.sum())
        new_noise[output] = (result.residual + spread) / statistics.n_samples
    return new_prior, new_noise, total


class Posterior:
    """Posterior of the weights of a linear model with several independent outputs.

    Parameters
    ----------
    statistics, prior_variances, noise_variances, derivative_noise
        See :func:`evidences`.
    n_columns : int, optional
        The first columns alone, the others integrated out; by default all.
    """

    def __init__(self, statistics, prior_variances, noise_variances, derivative_noise=None, n_columns=None):
        if n_columns is None:
            self._results = evidences(statistics, prior_variances, noise_variances, derivative_noise)
        else:
            self._results = []
            for output, noise in enumerate(noise_variances):
                ratios = None if derivative_noise is None else noise / derivative_noise[:, output]
                variances = prior_variances[:, output]
                first = statistics.joined(ratios, output).without(n_columns, variances, noise)
                self._results.append(evidence(first, variances[:n_columns], noise))
        self.weights = np.stack([result.weights for result in self._results], axis=1)
        self.roots = [result.root for result in self._results]
        self.log_evidence = sum(result.log_evidence for result in self._results)

    @property
    def factors(self):
        """Lower Cholesky factors of B of the outputs, as arrays; those of a device are copied from there."""
        return [result.factor.lower for result in self._results]

    def factor(self, output):
        """Cholesky factor of B of one output, where it was computed."""
        return self._results[output].factor

    def whiten(self, columns, output):
        """Product of the inverse of L with the scaled columns of points.

        Parameters
        ----------
        columns : ndarray of shape (n_points, n_columns)
            Basis functions at the points.
        output : int
            Which output.

        Returns
        -------
        ndarray of shape (n_columns, n_points)
            Its columns have the posterior variances of the points as squared norms.
        """
        return self.factor(output).solve((columns * self.roots[output]).T)

    def shares(self, output):
        """Share of its prior variance that each weight of one output keeps."""
        return self._results[output].inverse_diagonal()

    def covariance(self, output):
        """Posterior covariance of the weights of one output."""
        return self._results[output].covariance()

    def sample_weights(self, n_samples, random_state):
        """Draws of the weights, shape (n_columns, n_outputs, n_samples)."""
        draws = np.empty((*self.weights.shape, n_samples))
        for output, root in enumerate(self.roots):
            noise = random_state.standard_normal((len(root), n_samples))
            spread = self.factor(output).solve(noise, transpose=True)
            draws[:, output] = self.weights[:, [output]] + root[:, None] * spread
        return draws
