"""Targets are positive, and their errors relative: durations, amounts, squared residuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammainc, gammaln

from torusgp.fitting.likelihoods._base import Derivatives, Likelihood, Own, OwnDerivatives, refuse, refuse_parameter
from torusgp.fitting.likelihoods.poisson import log_halfway

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gamma(Likelihood):
    """Positive targets of mean m and variance m^2 / shape, where m is the exponential of the function.

    Parameters
    ----------
    shape : float, optional
        By default learned; 1 for exponential waiting times.
    """

    shape: float | None = None

    name: ClassVar[str] = "gamma"
    scale_name: ClassVar[str] = "log"
    own: ClassVar[Mapping[str, Own]] = {"shape": Own(1.0, 1e-2, 1e6)}

    def __post_init__(self) -> None:
        refuse_parameter("shape", self.shape)

    @property
    def _k(self) -> float:
        assert self.shape is not None
        return self.shape

    def check(self, y: Array, first_row: int = 0) -> None:
        """Positive numbers."""
        refuse(self.name, "positive targets", y, ~(y > 0), first_row, "leave such rows out, or use 'normal'.")

    def center(self, y: Array, weight: Array, scale: Any) -> tuple[float, float]:
        """Logarithm of the mean."""
        return float(np.log(np.average(y, weights=weight))), 1.0

    def derivatives(self, y: Array, f: Array, scale: Any = 1.0) -> Derivatives:
        """With the target over its mean, times the shape."""
        k = self._k
        ratio = k * y * np.exp(-f)
        value = k * (np.log(k) - f) + (k - 1) * np.log(y) - ratio - gammaln(k)
        return Derivatives(value, ratio - k, -ratio, ratio)

    def own_derivatives(self, name: str, y: Array, f: Array, scale: Any = 1.0) -> OwnDerivatives:
        """In the logarithm of the shape."""
        k = self._k
        ratio = k * y * np.exp(-f)
        return OwnDerivatives(k * (np.log(k * y) + 1 - f - digamma(k)) - ratio, ratio - k, -ratio)

    def guess(self, y: Array, scale: Any = 1.0) -> Array:
        """Logarithms of means half-way between each and that of all."""
        return log_halfway(y, scale)

    def function(self, f: Array, scale: Any = 1.0) -> Array:
        """The mean."""
        return np.exp(f)

    def variance(self, f: Array, scale: Any = 1.0) -> Array:
        """The square of the mean over the shape."""
        return np.exp(2 * f) / self._k

    def cumulative(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Probability of at most so much."""
        return gammainc(self._k, self._k * np.maximum(y, 0.0) * np.exp(-f))

    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """Positive numbers."""
        return random_state.gamma(self._k, np.exp(f) / self._k)

    def mean_and_std(
        self, mean: Array, variance: Array, scale: Any = 1.0, noise: bool = True, information: Any = None
    ) -> tuple[Array, Array]:
        """Moments of the mean are log-normal."""
        center = np.exp(mean + variance / 2)
        square = center**2 * np.expm1(variance)
        return center, np.sqrt(square + (center**2 + square) / self._k if noise else square)

    def _bracket(self, center: Array, std: Array) -> tuple[Array, Array]:
        return np.zeros_like(center), center + 5 * std

    def _width(self, mean: Array, variance: Array, scale: Any) -> float:
        return float(1 / np.sqrt(self._k))
