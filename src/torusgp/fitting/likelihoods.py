"""How targets follow from the function: normal, or normal after a logarithm."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]


class Likelihood(Protocol):
    """What turns targets into what the model explains, and back."""

    name: str

    def to_latent(self, y: Array) -> Array:
        """Targets on the scale of the function."""

    def mean_and_std(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of targets, from those of the function, noise included or not."""

    def quantiles(self, mean: Array, variance: Array, quantiles: Array) -> Array:
        """Quantiles of targets, in a new last axis."""


class Normal:
    """Targets are the function and normal noise."""

    name = "normal"

    def to_latent(self, y: Array) -> Array:
        """The targets themselves."""
        return y

    def mean_and_std(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """The mean, and the root of the variance."""
        return mean, np.sqrt(variance)

    def quantiles(self, mean: Array, variance: Array, quantiles: Array) -> Array:
        """Quantiles of a normal distribution."""
        return mean[..., None] + np.sqrt(variance)[..., None] * ndtri(quantiles)


class LogNormal:
    """The logarithms of the targets are the function and normal noise: errors are relative, targets positive."""

    name = "log_normal"

    def to_latent(self, y: Array) -> Array:
        """Logarithms, or an error if some target is not positive."""
        if not (y > 0).all():
            row = int(np.argmin((y > 0).reshape(len(y), -1).all(axis=1)))
            raise ValueError(
                f"likelihood='log_normal' needs positive targets, but row {row} has {np.min(y[row]):.6g}: use "
                "likelihood='normal', or leave such rows out."
            )
        return np.log(y)

    def mean_and_std(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Moments of a log-normal distribution."""
        center = np.exp(mean + variance / 2)
        return center, center * np.sqrt(np.expm1(variance))

    def quantiles(self, mean: Array, variance: Array, quantiles: Array) -> Array:
        """Quantiles of the logarithm, brought back: the median is the exponential of the mean."""
        return np.exp(Normal().quantiles(mean, variance, quantiles))


LIKELIHOODS: dict[str, Likelihood] = {"normal": Normal(), "log_normal": LogNormal()}


def check_likelihood(name: object) -> Likelihood:
    """The likelihood of this name, or an error that lists those there are."""
    if not isinstance(name, str) or name not in LIKELIHOODS:
        raise ValueError(f"likelihood must be one of {', '.join(map(repr, LIKELIHOODS))}, got {name!r}.")
    return LIKELIHOODS[name]
