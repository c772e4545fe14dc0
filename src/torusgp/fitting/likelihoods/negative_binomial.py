"""Targets are counts that vary more than independent events do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, digamma, gammaln

from torusgp.fitting.likelihoods._base import Derivatives, Own, OwnDerivatives, refuse_parameter
from torusgp.fitting.likelihoods.poisson import Counts, evaluate_at_counts

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NegativeBinomial(Counts):
    """Counts of mean m and variance m + dispersion m^2, where m is the exposure times the exponential of the function.

    Parameters
    ----------
    dispersion : float, optional
        By default learned. The smaller, the closer to Poisson counts.
    """

    dispersion: float | None = None

    name: ClassVar[str] = "negative_binomial"
    own: ClassVar[Mapping[str, Own]] = {"dispersion": Own(0.3, 1e-6, 1e3)}

    def __post_init__(self) -> None:
        refuse_parameter("dispersion", self.dispersion)

    @property
    def _r(self) -> float:
        assert self.dispersion is not None
        return 1 / self.dispersion

    def derivatives(self, y: Array, f: Array, scale: Any = 1.0) -> Derivatives:
        """With r, one over the dispersion, and the mean m."""
        r, m = self._r, scale * np.exp(f)
        share = m / (r + m)
        value = evaluate_at_counts(lambda one: gammaln(one + r) - gammaln(r) - gammaln(one + 1), y)
        # y log(m / (r + m)) + r log(r / (r + m)), also for large r
        value = value + y * (f + np.log(scale) - np.log(r + m)) - r * np.log1p(m / r)
        second = -(y + r) * share * (1 - share)
        return Derivatives(value, y - (y + r) * share, second, second * (1 - 2 * share))

    def own_derivatives(self, name: str, y: Array, f: Array, scale: Any = 1.0) -> OwnDerivatives:
        """In the logarithm of the dispersion, minus that of r."""
        r, m = self._r, scale * np.exp(f)
        share = m / (r + m)
        value = evaluate_at_counts(lambda one: digamma(one + r) - digamma(r), y) - np.log1p(m / r) + (m - y) / (r + m)
        by_first = (y - m) * share * (1 - share)
        by_second = -(1 - share) * share * ((y + 2 * r) - 2 * (y + r) * (1 - share))
        return OwnDerivatives(-r * value, -by_first, -by_second)

    def variance(self, f: Array, scale: Any = 1.0) -> Array:
        """That of Poisson counts and more."""
        m = self.function(f, scale)
        return m + m**2 / self._r

    def _noise(self, center: Array, square: Array) -> Array:
        return center + (center**2 + square) / self._r

    def cumulative(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Probability of at most so many."""
        r, m = self._r, self.function(f, scale)
        return np.where(y < 0, 0.0, betainc(r, np.maximum(np.floor(y), 0.0) + 1, r / (r + m)))

    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """Counts of a rate that varies by itself."""
        r = self._r
        return random_state.poisson(self.function(f, scale) * random_state.gamma(r, 1 / r, np.shape(f))).astype(float)
