"""Targets are 0 or 1."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from torusgp.fitting.likelihoods._base import Derivatives, Likelihood, refuse

Array = NDArray[np.float64]


class Bernoulli(Likelihood):
    """Two classes, 0 and 1: the log odds of 1 are the function."""

    name: ClassVar[str] = "bernoulli"
    scale_name: ClassVar[str] = "log odds"
    is_discrete: ClassVar[bool] = True

    def check(self, y: Array, first_row: int = 0) -> None:
        """Zeros and ones."""
        refuse(self.name, "targets 0 or 1", y, (y != 0) & (y != 1), first_row, "other labels need TorusGPClassifier.")

    def center(self, y: Array, weight: Array, scale: Any) -> tuple[float, float]:
        """Log odds of one, half a row added to each class."""
        return float(logit((weight @ y + 0.5) / (weight.sum() + 1))), 1.0

    def derivatives(self, y: Array, f: Array, scale: Any = 1.0) -> Derivatives:
        """The link is the canonical one."""
        p = expit(f)
        second = -p * expit(-f)
        return Derivatives(log_expit(np.where(y > 0, f, -f)), y - p, second, second * (1 - 2 * p))

    def function(self, f: Array, scale: Any = 1.0) -> Array:
        """Probability of one."""
        return expit(f)

    def variance(self, f: Array, scale: Any = 1.0) -> Array:
        """Probability of one times that of zero."""
        return expit(f) * expit(-f)

    def cumulative(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Probability of at most this class."""
        return np.where(y < 0, 0.0, np.where(y < 1, expit(-f), 1.0))

    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """Zeros and ones."""
        return (random_state.uniform(size=np.shape(f)) < expit(f)).astype(float)
