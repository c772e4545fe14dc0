"""Targets are the function and normal noise, or their logarithms are."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from torusgp.fitting.likelihoods._base import Derivatives, Likelihood

Array = NDArray[np.float64]


class Normal(Likelihood):
    """Targets are the function and normal noise; one pass over the rows is enough.

    Parameters
    ----------
    noise_variance : float or ndarray of shape (n_outputs,), default=1.0
        Variance of the noise of a row of scale one; regressors learn it.
    """

    name: ClassVar[str] = "normal"
    takes: ClassVar[str | None] = "noise_scale"
    needs_passes: ClassVar[bool] = False

    def __init__(self, noise_variance: Any = 1.0):
        self.noise_variance = noise_variance

    def to_latent(self, y: Array) -> Array:
        """The targets themselves."""
        return y

    def check(self, y: Array, first_row: int = 0) -> None:
        """Any number will do."""

    def center(self, y: Array, weight: Array, scale: Any) -> tuple[float, float]:
        """Mean and variance of the targets, weighted by precision."""
        precision = weight / np.square(scale)
        mean = np.average(y, weights=precision)
        return float(mean), float(np.average((y - mean) ** 2, weights=precision)) or 1.0

    def derivatives(self, y: Array, f: Array, scale: Any = 1.0) -> Derivatives:
        """The log density is quadratic."""
        variance = self.noise_variance * np.square(scale)
        ones = np.ones_like(f)
        first = (y - f) / variance
        return Derivatives(-0.5 * (np.log(2 * np.pi * variance) + first * (y - f)), first, -ones / variance, 0 * ones)

    def function(self, f: Array, scale: Any = 1.0) -> Array:
        """The function itself."""
        return f

    def variance(self, f: Array, scale: Any = 1.0) -> Array:
        """The noise variance."""
        return np.broadcast_to(self.noise_variance * np.square(scale), np.shape(f))

    def cumulative(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Normal probability."""
        return ndtr((y - f) / np.sqrt(self.variance(f, scale)))

    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """The function and noise."""
        return f + np.sqrt(self.variance(f, scale)) * random_state.standard_normal(np.shape(f))

    def _total(self, variance: Array, scale: Any, noise: bool) -> Array:
        return variance + self.noise_variance * np.square(scale) if noise else variance

    def mean_and_std(
        self, mean: Array, variance: Array, scale: Any = 1.0, noise: bool = True, information: Any = None
    ) -> tuple[Array, Array]:
        """The mean, and the root of both variances."""
        return mean, np.sqrt(self._total(variance, scale, noise))

    def quantiles(
        self,
        mean: Array,
        variance: Array,
        quantiles: Array,
        scale: Any = 1.0,
        noise: bool = True,
        information: Any = None,
    ) -> Array:
        """Quantiles of a normal distribution."""
        return mean[..., None] + np.sqrt(self._total(variance, scale, noise))[..., None] * ndtri(quantiles)

    def cumulative_predictive(
        self, y: Array, mean: Array, variance: Array, scale: Any = 1.0, information: Any = None
    ) -> Array:
        """Normal probability."""
        return ndtr((y - mean) / np.sqrt(self._total(variance, scale, True)))

    def log_predictive(
        self, y: Array, mean: Array, variance: Array, scale: Any = 1.0, information: Any = None
    ) -> Array:
        """Log density of a normal distribution."""
        total = self._total(variance, scale, True)
        return -0.5 * (np.log(2 * np.pi * total) + (y - mean) ** 2 / total)


class LogNormal(Normal):
    """The logarithms of the targets are the function and normal noise: errors are relative, targets positive."""

    name: ClassVar[str] = "log_normal"
    scale_name: ClassVar[str] = "log"

    def to_latent(self, y: Array) -> Array:
        """Logarithms, or an error if some target is not positive."""
        self.check(y)
        return np.log(y)

    def check(self, y: Array, first_row: int = 0) -> None:
        """Targets are positive."""
        if not (y > 0).all():
            row = int(np.argmin((y > 0).reshape(len(y), -1).all(axis=1)))
            raise ValueError(
                f"likelihood='log_normal' needs positive targets, but row {first_row + row} has {np.min(y[row]):.6g}: "
                "use likelihood='normal', or leave such rows out."
            )

    def function(self, f: Array, scale: Any = 1.0) -> Array:
        """Exponentials."""
        return np.exp(f)

    def mean_and_std(
        self, mean: Array, variance: Array, scale: Any = 1.0, noise: bool = True, information: Any = None
    ) -> tuple[Array, Array]:
        """Moments of a log-normal distribution."""
        total = self._total(variance, scale, noise)
        center = np.exp(mean + total / 2)
        return center, center * np.sqrt(np.expm1(total))

    def quantiles(
        self,
        mean: Array,
        variance: Array,
        quantiles: Array,
        scale: Any = 1.0,
        noise: bool = True,
        information: Any = None,
    ) -> Array:
        """Quantiles of the logarithm, brought back: the median is the exponential of the mean."""
        return np.exp(super().quantiles(mean, variance, quantiles, scale, noise))

    def cumulative_predictive(
        self, y: Array, mean: Array, variance: Array, scale: Any = 1.0, information: Any = None
    ) -> Array:
        """Normal probability of the logarithm; none of these is up to zero or less."""
        with np.errstate(divide="ignore"):
            return super().cumulative_predictive(np.log(np.maximum(y, 0.0)), mean, variance, scale)

    def log_predictive(
        self, y: Array, mean: Array, variance: Array, scale: Any = 1.0, information: Any = None
    ) -> Array:
        """Log density of a log-normal distribution."""
        return super().log_predictive(np.log(y), mean, variance, scale) - np.log(y)

    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """Exponentials of the function and noise."""
        return np.exp(super().sample(f, random_state, scale))
