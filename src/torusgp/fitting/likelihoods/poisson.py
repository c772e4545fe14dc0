"""Targets are counts, whose variance is their mean."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from torusgp.fitting.likelihoods._base import Derivatives, Likelihood, refuse
from torusgp.fitting.likelihoods._quadrature import average, latent_mode, log_average, skewed_share

Array = NDArray[np.float64]

MOST_TABLED = 2**16  # counts up to here are looked up in a table: special functions cost more than all the rest


def evaluate_at_counts(function: Any, y: Array) -> Array:
    """A function of counts, from a table where they are small."""
    largest = np.max(y, initial=0.0)
    if largest > min(MOST_TABLED, np.size(y)):
        return function(y)
    return function(np.arange(largest + 1))[y.astype(np.intp)]


def log_halfway(y: Array, scale: Any) -> Array:
    """Logarithms of rates half-way between that of each row and the one of all."""
    exposure = np.broadcast_to(scale, np.shape(y))
    return np.log((y / exposure + max(float(np.sum(y)), 0.5) / float(np.sum(exposure))) / 2)


class Counts(Likelihood):
    """What counts have in common: the mean is the exposure times the exponential of the function."""

    takes: ClassVar[str | None] = "exposure"
    scale_name: ClassVar[str] = "log"
    is_discrete: ClassVar[bool] = True
    is_skewed: ClassVar[bool] = True

    def check(self, y: Array, first_row: int = 0) -> None:
        """Whole numbers from zero on."""
        bad = (y < 0) | (y != np.floor(y))
        refuse(self.name, "counts, whole numbers from zero on", y, bad, first_row, "other targets need 'normal'.")

    def center(self, y: Array, weight: Array, scale: Any) -> tuple[float, float]:
        """Logarithm of the counts for each unit of exposure; one count is added where there is none."""
        exposure = float(np.sum(weight * scale))
        return float(np.log(max(float(weight @ y), 0.5) / exposure)), 1.0

    def guess(self, y: Array, scale: Any = 1.0) -> Array:
        """Logarithms of rates half-way between each and that of all."""
        return log_halfway(y, scale)

    def function(self, f: Array, scale: Any = 1.0) -> Array:
        """Expected count."""
        return scale * np.exp(f)

    def mean_and_std(
        self, mean: Array, variance: Array, scale: Any = 1.0, noise: bool = True, information: Any = None
    ) -> tuple[Array, Array]:
        """Moments of the rate are log-normal, unless the function is hardly known."""
        center = scale * np.exp(mean + variance / 2)
        square = center**2 * np.expm1(variance)
        if information is not None and np.any(variance > 0.5):
            center = average(lambda f: self.function(f, scale), mean, variance, np.inf, information)
            square = average(lambda f: (self.function(f, scale) - center) ** 2, mean, variance, np.inf, information)
        return center, np.sqrt(square + self._noise(center, square) if noise else square)

    def log_predictive(
        self, y: Array, mean: Array, variance: Array, scale: Any = 1.0, information: Any = None
    ) -> Array:
        """Log probability of counts; where the function is hardly known, of the mixture that other predictions are of.

        The normal posterior of a variance v and the information w in it stand for a prior of precision 1 / v - w.
        """
        found = super().log_predictive(y, mean, variance, scale)
        share = skewed_share(variance, information)
        chosen = share > 0
        if not chosen.any():
            return found
        y, mean, variance, scale, w, share, plain = (
            np.broadcast_to(one, found.shape)[chosen] for one in (y, mean, variance, scale, information, share, found)
        )
        before = 1 / np.maximum(1 / variance - w, 1e-12)

        def seen(f: Array) -> Array:
            return -w * (np.expm1(f - mean) - (f - mean))

        def derivatives(f: Array) -> Derivatives:
            here, rise = self.derivatives(y, f, scale), w * np.exp(f - mean)
            return Derivatives(here.log_density + seen(f), here.first - rise + w, here.second - rise, here.third - rise)

        with np.errstate(over="ignore", divide="ignore"):
            center, spread = latent_mode(derivatives, mean, before)
            both = log_average(lambda f: derivatives(f).log_density, mean, before, center, spread, skewed=True)
            mass = log_average(seen, mean, before, mean, variance, skewed=True)
            found[chosen] = np.logaddexp(np.log1p(-share) + plain, np.log(share) + both - mass)
        return found

    def _noise(self, center: Array, square: Array) -> Array:
        """Average variance of observations whose rate has this mean and variance."""
        raise NotImplementedError

    def _width(self, mean: Array, variance: Array, scale: Any) -> Any:
        center = scale * np.exp(mean)
        return np.sqrt(np.maximum(self.variance(mean, scale), 1e-300)) / np.maximum(center, 1e-300)


class Poisson(Counts):
    """Counts of what happens independently, at a rate that is the exponential of the function, times an exposure."""

    name: ClassVar[str] = "poisson"

    def derivatives(self, y: Array, f: Array, scale: Any = 1.0) -> Derivatives:
        """The link is the canonical one."""
        rate = scale * np.exp(f)
        value = y * (f + np.log(scale)) - rate - evaluate_at_counts(lambda one: gammaln(one + 1), y)
        return Derivatives(value, y - rate, -rate, -rate)

    def variance(self, f: Array, scale: Any = 1.0) -> Array:
        """The rate."""
        return self.function(f, scale)

    def _noise(self, center: Array, square: Array) -> Array:
        return center

    def cumulative(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Probability of at most so many."""
        return np.where(y < 0, 0.0, gammaincc(np.maximum(np.floor(y), 0.0) + 1, self.function(f, scale)))

    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """Counts."""
        return random_state.poisson(self.function(f, scale)).astype(float)
