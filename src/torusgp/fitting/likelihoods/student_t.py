"""Targets are the function and noise of Student's t: some lie far off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, stdtr

from torusgp.fitting.likelihoods._base import Derivatives, Likelihood, Own, OwnDerivatives, refuse_parameter

Array = NDArray[np.float64]

_TO_STD = 1.4826  # of the median absolute deviation of normal numbers


@dataclass(frozen=True)
class StudentT(Likelihood):
    """Noise of Student's t distribution: rows that lie far off hardly count.

    Parameters
    ----------
    noise_variance : float, optional
        Square of the scale of the noise, which is its variance for many degrees of freedom; by default learned.
    dof : float, optional
        Degrees of freedom; by default learned, at least 3.
    """

    noise_variance: float | None = None
    dof: float | None = None

    name: ClassVar[str] = "student_t"
    takes: ClassVar[str | None] = "noise_scale"
    is_log_concave: ClassVar[bool] = False
    own: ClassVar[Mapping[str, Own]] = {
        "noise_variance": Own(1.0, 1e-300, 1e300),
        # Where a few rows lie far off among normal noise, evidence prefers fewer, at the price of the function's error:
        # with 5 % of them 20 % above that without, at three degrees 9 %. And with two the noise has no variance.
        "dof": Own(5.0, 3.0, 1e3),
    }

    def __post_init__(self) -> None:
        refuse_parameter("noise_variance", self.noise_variance)
        refuse_parameter("dof", self.dof)

    def starting(self, y: Array, weight: Array, scale: Any) -> Self:
        """A tenth of the variance of the middle of the targets, as for normal noise."""
        spread = 0.1 * self.center(y, weight, scale)[1]
        start = {"noise_variance": spread, "dof": self.own["dof"].start}
        return self.with_own(**{name: start[name] for name in self.learned})

    def check(self, y: Array, first_row: int = 0) -> None:
        """Any number will do."""

    def center(self, y: Array, weight: Array, scale: Any) -> tuple[float, float]:
        """Weighted median, and the square of the median deviation in units of a standard deviation."""
        middle = _median(y, weight)
        spread = (_TO_STD * _median(np.abs(y - middle), weight)) ** 2
        return middle, spread or float(np.average((y - middle) ** 2, weights=weight)) or 1.0

    def _parts(self, y: Array, f: Array, scale: Any) -> tuple[Array, Any, Array, float, float]:
        assert self.dof is not None
        assert self.noise_variance is not None
        r, a = y - f, self.dof * self.noise_variance * np.square(scale)
        return r, a, a + r**2, self.dof, self.noise_variance

    def derivatives(self, y: Array, f: Array, scale: Any = 1.0) -> Derivatives:
        """With a = dof s2 and q = a + r^2 of the residual r."""
        r, a, q, dof, _ = self._parts(y, f, scale)
        constant = gammaln((dof + 1) / 2) - gammaln(dof / 2)
        value = constant - 0.5 * np.log(np.pi * a) - (dof + 1) / 2 * np.log(q / a)
        return Derivatives(
            value,
            (dof + 1) * r / q,
            (dof + 1) * (r**2 - a) / q**2,
            -2 * (dof + 1) * r * (3 * a - r**2) / q**3,
        )

    def safe_weights(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Weights of expectation maximisation, which are positive."""
        _, _, q, dof, _ = self._parts(y, f, scale)
        return (dof + 1) / q

    def fisher(self, f: Array, scale: Any = 1.0) -> Array:
        """Expected weights, the same for all rows of one scale."""
        _, a, _, dof, _ = self._parts(f, f, scale)
        return np.broadcast_to((dof + 1) * dof / ((dof + 3) * a), np.shape(f))

    def own_derivatives(self, name: str, y: Array, f: Array, scale: Any = 1.0) -> OwnDerivatives:
        """In the logarithms of the noise variance or of the degrees of freedom."""
        r, a, q, dof, _ = self._parts(y, f, scale)
        first, second = -(dof + 1) * r * a / q**2, -(dof + 1) * a * (3 * r**2 - a) / q**3
        if name == "noise_variance":
            return OwnDerivatives(-0.5 + (dof + 1) / 2 * r**2 / q, first, second)
        constant = dof / 2 * (digamma((dof + 1) / 2) - digamma(dof / 2)) - 0.5
        value = constant - dof / 2 * np.log(q / a) + (dof + 1) / 2 * r**2 / q
        return OwnDerivatives(value, first + dof * r / q, second + dof * (r**2 - a) / q**2)

    def function(self, f: Array, scale: Any = 1.0) -> Array:
        """The function itself."""
        return f

    def variance(self, f: Array, scale: Any = 1.0) -> Array:
        """The variance of Student's t, infinite for up to two degrees of freedom."""
        assert self.dof is not None
        assert self.noise_variance is not None
        wider = self.dof / (self.dof - 2) if self.dof > 2 else np.inf
        return np.broadcast_to(self.noise_variance * np.square(scale) * wider, np.shape(f))

    def cumulative(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Probability of Student's t."""
        r, a, _, dof, _ = self._parts(y, f, scale)
        return stdtr(dof, r / np.sqrt(a / dof))

    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """The function and noise."""
        assert self.noise_variance is not None
        assert self.dof is not None
        return f + np.sqrt(self.noise_variance) * scale * random_state.standard_t(self.dof, np.shape(f))

    def mean_and_std(
        self, mean: Array, variance: Array, scale: Any = 1.0, noise: bool = True, information: Any = None
    ) -> tuple[Array, Array]:
        """The mean, and the root of both variances."""
        return mean, np.sqrt(variance + self.variance(mean, scale) if noise else variance)

    def _bracket(self, center: Array, std: Array) -> tuple[Array, Array]:
        assert self.noise_variance is not None
        width = 3 * np.where(np.isfinite(std), std, np.sqrt(self.noise_variance))
        return center - width, center + width

    def _width(self, mean: Array, variance: Array, scale: Any) -> Any:
        assert self.noise_variance is not None
        return np.sqrt(self.noise_variance) * scale


def _median(y: Array, weight: Array) -> float:
    order = np.argsort(y)
    total = np.cumsum(weight[order])
    return float(y[order][np.searchsorted(total, total[-1] / 2)])
