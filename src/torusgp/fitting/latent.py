"""A fitted model of a function that is seen through a likelihood: its mode, and the normal approximation around it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import InputSpace
from torusgp.engine.inference import LinearStatistics
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.likelihoods import Likelihood, Poisson
from torusgp.fitting.rows import Compute, Rows

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LatentTorusGP(FittedTorusGP):
    """A fitted model whose statistics are those of Newton's method at the mode.

    With them the posterior is Laplace's approximation: mean, variance, parts, gradients and draws of the function
    follow as for normal noise, of which ``noise_variance`` is the size for a typical row.

    Attributes
    ----------
    likelihood : Likelihood
        With the learned values of its parameters.
    laplace_evidence : float
        Laplace's approximation of the log evidence.
    n_passes : int
        Passes over the rows that the fit took.
    """

    likelihood: Likelihood = field(default_factory=Poisson)
    laplace_evidence: float = np.nan
    n_passes: int = 0

    @property
    def own_likelihood(self) -> Likelihood:
        """The likelihood with the learned values of its parameters."""
        return self.likelihood

    @cached_property
    def _linear(self) -> tuple[LinearStatistics, Array]:
        linear, offset = self.statistics.linear(self.index_set)
        return scaled(linear, float(self.noise_variance[0])), offset

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation of the log evidence."""
        return self.laplace_evidence

    def with_noise_variance(self, noise_variance: Array) -> FittedTorusGP:
        """There is no noise variance to be set."""
        raise ValueError(
            f"likelihood={self.likelihood.name!r} has no noise variance that could be set after a fit: give its "
            "parameters with the likelihood, such as StudentT(noise_variance=0.1)."
        )

    def information(self, X: NDArray[Any], variance: Array) -> Array:
        """The part of the precision of the function that the rows gave, shape (n_samples, 1)."""
        n = self.n_fourier
        prior = self.prior_variances[:1].sum() + self.prior_variances[1:n:2].sum()
        before = prior + self.plain(X) ** 2 @ self.prior_variances[n:]
        return np.maximum(1 / np.maximum(variance, 1e-300) - 1 / np.maximum(before, 1e-300), 0.0)

    def mean_and_variance_of_rows(self, rows: Rows) -> tuple[Array, Array]:
        """Mean and variance of the function at rows, each of shape (n_samples,)."""
        mean, variance = self.mean_and_variance_at(rows.X, self.plain_in_units(rows.plain, len(rows)))
        return mean[:, 0], variance[:, 0]


def scaled(linear: LinearStatistics, noise: float) -> LinearStatistics:
    """Working statistics in units of the noise of a typical row, as evidence and posterior expect them."""
    return replace(linear, gram=noise * linear.gram, moments=noise * linear.moments)


@dataclass(frozen=True)
class Latent:
    """A function at which rows are looked at: a constant and weights of columns.

    Attributes
    ----------
    offset : float
        The constant.
    frequencies : ndarray of int, shape (n_frequencies, dimension), or None
        Of the columns; None for the constant alone.
    period : ndarray
        Period of the torus.
    weights : ndarray of shape (n_columns,)
        Of the frequencies, then of plain columns.
    units : pair of ndarray
        Means and spreads of plain columns.
    compute : Compute
        How values are computed.
    sharing : Sharing, optional
        Which axes share an input, for transforms of the inputs.
    """

    offset: float
    frequencies: NDArray[np.int64] | None = None
    period: Any = None
    weights: Any = None
    units: Any = None
    compute: Compute = field(default_factory=Compute)
    sharing: Any = None

    def __call__(self, rows: Rows) -> Array:
        """Values at rows."""
        if self.frequencies is None:
            return np.full(len(rows), self.offset)
        space = None if self.sharing is None else InputSpace(self.sharing, self.period)
        predictor = self.compute.make_predictor(self.frequencies, None, len(rows), space)
        n = 2 * len(self.frequencies) - 1
        points = predictor.locate(rows.X, self.period)
        values = predictor.mean(points, self.weights[:n, None])[:, 0] + self.offset
        if rows.plain is not None:
            values += ((rows.plain - self.units[0]) / self.units[1]) @ self.weights[n:]
        return values
