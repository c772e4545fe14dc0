r"""What every likelihood can do: derivatives in the function, and predictions by quadrature.

Given the function f, an observation y has the density :math:`p(y | f)`. A fit needs derivatives of its logarithm, up to
the third; a prediction averages over a normal f.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from torusgp.fitting.likelihoods._quadrature import average, latent_mode, log_average, roots, skewed_values

Array = NDArray[np.float64]


class Derivatives(NamedTuple):
    """Log densities of observations, and their derivatives in the function; each of the shape of the observations."""

    log_density: Array
    first: Array
    second: Array
    third: Array


class OwnDerivatives(NamedTuple):
    """Derivatives of the log density and of its first two derivatives, in the logarithm of a parameter."""

    log_density: Array
    first: Array
    second: Array


@dataclass(frozen=True)
class Own:
    """A parameter of a likelihood: where learning starts, and within which bounds."""

    start: float
    lower: float
    upper: float


class Likelihood(ABC):
    """How observations follow from the function.

    ``scale`` is what is known of each row beside its target: the scale of its noise, or its exposure, see ``takes``;
    one for all rows by default.

    Attributes
    ----------
    name : str
        Name in lower case.
    takes : {"noise_scale", "exposure"} or None
        What the scale of a row means.
    scale_name : str
        What the function is of the mean: "log", "log odds", or nothing if it is the mean itself.
    own : dict of Own
        Parameters of its own, by name. One that is None is learned.
    needs_passes : bool
        Whether a fit reads the rows several times, instead of once.
    is_log_concave : bool
        Whether the log density is concave in the function.
    is_discrete : bool
        Whether observations are whole numbers.
    is_skewed : bool
        Whether predictions need to know how much observations told of the function.
    """

    name: ClassVar[str]
    takes: ClassVar[str | None] = None
    scale_name: ClassVar[str] = ""
    own: ClassVar[Mapping[str, Own]] = {}
    needs_passes: ClassVar[bool] = True
    is_log_concave: ClassVar[bool] = True
    is_discrete: ClassVar[bool] = False
    is_skewed: ClassVar[bool] = False

    # Of its own parameters ---------------------------------------------------------------------------------------

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the parameters that are not given."""
        return tuple(name for name in self.own if getattr(self, name) is None)

    def with_own(self, **values: float) -> Self:
        """The same with other values of its parameters."""
        return type(self)(**{**{name: getattr(self, name) for name in self.own}, **values})

    def starting(self, y: Array, weight: Array, scale: Any) -> Self:
        """The same with the values of its parameters that learning starts from."""
        return self.with_own(**{name: self.own[name].start for name in self.learned})

    # Of the rows -------------------------------------------------------------------------------------------------

    @abstractmethod
    def check(self, y: Array, first_row: int = 0) -> None:
        """Raise if a target cannot be, naming its row."""

    @abstractmethod
    def center(self, y: Array, weight: Array, scale: Any) -> tuple[float, float]:
        """Constant function that fits targets best, and a variance that a function may have."""

    @abstractmethod
    def derivatives(self, y: Array, f: Array, scale: Any = 1.0) -> Derivatives:
        """Log densities and their first three derivatives in the function."""

    def own_derivatives(self, name: str, y: Array, f: Array, scale: Any = 1.0) -> OwnDerivatives:
        """Derivatives in the logarithm of one of its own parameters."""
        raise NotImplementedError(f"{self.name} has no parameter {name!r}.")

    def safe_weights(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Weights of a step that always goes up: minus the second derivatives, where none of these is positive."""
        return -self.derivatives(y, f, scale).second

    def fisher(self, f: Array, scale: Any = 1.0) -> Array:
        """Expected weights: minus second derivatives at the mean, in which these are linear unless a class says so."""
        return -self.derivatives(self.function(f, scale), f, scale).second

    def guess(self, y: Array, scale: Any = 1.0) -> Array:
        """Values of the function near which each target is likely: where steps by working rows begin."""
        return np.full(np.shape(y), self.center(y, np.ones(np.shape(y)), scale)[0])

    # Of predictions ----------------------------------------------------------------------------------------------

    @abstractmethod
    def function(self, f: Array, scale: Any = 1.0) -> Array:
        """Mean of an observation given the function: rate or probability. It never falls as the function rises."""

    @abstractmethod
    def variance(self, f: Array, scale: Any = 1.0) -> Array:
        """Variance of an observation given the function."""

    @abstractmethod
    def cumulative(self, y: Array, f: Array, scale: Any = 1.0) -> Array:
        """Probability of an observation up to y, given the function."""

    @abstractmethod
    def sample(self, f: Array, random_state: np.random.RandomState, scale: Any = 1.0) -> Array:
        """Observations drawn, given the function."""

    def mean_and_std(
        self, mean: Array, variance: Array, scale: Any = 1.0, noise: bool = True, information: Array | None = None
    ) -> tuple[Array, Array]:
        """Mean and standard deviation of observations, or without noise of their rate, where the function is normal.

        ``information`` is the part of the precision of the function that observations gave, for likelihoods whose
        ``is_skewed`` says that it matters.
        """
        first = average(lambda f: self.function(f, scale), mean, variance)
        second = average(lambda f: (self.function(f, scale) - first) ** 2, mean, variance)
        if noise:
            second = second + average(lambda f: self.variance(f, scale), mean, variance)
        return first, np.sqrt(second)

    def quantiles(
        self,
        mean: Array,
        variance: Array,
        quantiles: Array,
        scale: Any = 1.0,
        noise: bool = True,
        information: Array | None = None,
    ) -> Array:
        """Quantiles of observations, or without noise of their rate, in a new last axis."""
        if not noise:
            scale = np.asarray(scale)[..., None] if np.ndim(scale) else scale
            f = mean[..., None] + np.sqrt(variance)[..., None] * ndtri(quantiles)
            return self.function(skewed_values(f, mean, variance, information), scale)
        center, std = self.mean_and_std(mean, variance, scale, True, information)

        def probability(y: Array) -> Array:
            return self.cumulative_predictive(y, mean, variance, scale, information)

        found = [roots(probability, float(one), *self._bracket(center, std), self.is_discrete) for one in quantiles]
        return np.stack(found, axis=-1)

    def cumulative_predictive(
        self, y: Array, mean: Array, variance: Array, scale: Any = 1.0, information: Array | None = None
    ) -> Array:
        """Probability of an observation up to y."""
        width = self._width(mean, variance, scale)
        return average(lambda f: self.cumulative(y, f, scale), mean, variance, width, information)

    def _bracket(self, center: Array, std: Array) -> tuple[Array, Array]:
        """Where quantiles are looked for first."""
        return center - 5 * std, center + 5 * std

    def _width(self, mean: Array, variance: Array, scale: Any) -> float:
        """Step of the function over which an observation's distribution moves by its own width, at least."""
        return np.inf

    def log_predictive(
        self, y: Array, mean: Array, variance: Array, scale: Any = 1.0, information: Array | None = None
    ) -> Array:
        """Log density of observations."""

        def log_density(f: Array) -> Array:
            return self.derivatives(y, f, scale).log_density

        if not self.is_log_concave:
            return log_average(log_density, mean, variance, mean, variance, self._width(mean, variance, scale))
        center, spread = latent_mode(lambda f: self.derivatives(y, f, scale), mean, variance)
        return log_average(log_density, mean, variance, center, spread)


def refuse(likelihood: str, wanted: str, y: Array, bad: NDArray[np.bool_], first_row: int, hint: str) -> None:
    """Raise if some target is bad, naming the first."""
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"likelihood={likelihood!r} needs {wanted}, but the target of row {first_row + row} is "
            f"{float(y.ravel()[row]):.6g}: {hint}"
        )


def refuse_parameter(name: str, value: float | None) -> None:
    """Raise unless a parameter is None or a positive number."""
    if value is not None and not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, or None to learn it; got {value!r}.")
