"""Observations as working rows: what a linear model sees of targets, given the function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from torusgp.fitting.anova.rows import LeftOut, Working
from torusgp.fitting.likelihoods import Likelihood

Array = NDArray[np.float64]

_LEARNING_ROWS = 5000  # on which the parameters of a likelihood are learned: each value averages over the function
_LEAST_WEIGHT = 1e-10  # of a row, relative to the largest: rows of weight zero have no working target


class Observation(Protocol):
    """Turns targets into working rows, given a function, and learns from rows that took no part."""

    @property
    def knows_noise(self) -> bool:
        """True where the variance of independent noise is one in units of the working rows, and not learned."""

    def working(self, values: Array | None) -> Working:
        """Working rows at values of the function; None before there are any."""

    def updated(self, left_out: LeftOut) -> Observation:
        """The same with what is learned from rows that took no part."""

    def loss(self, working: Working, left_out: LeftOut) -> float:
        """Mean loss of rows that took no part, in units of their log density, up to a constant."""


@dataclass(frozen=True, eq=False)
class NormalRows:
    """Targets with normal noise of one variance times the squares of known scales.

    Attributes
    ----------
    target : ndarray of shape (n_samples,)
        Targets, of mean zero and variance one.
    root_precision : ndarray of shape (n_samples,)
        One over the scales.
    """

    target: Array
    root_precision: Array
    knows_noise: bool = False

    def working(self, values: Array | None) -> Working:
        """The rows themselves."""
        return Working(self.target, self.root_precision)

    def updated(self, left_out: LeftOut) -> NormalRows:
        """Nothing but the noise itself is learned."""
        return self

    def loss(self, working: Working, left_out: LeftOut) -> float:
        """Half the logarithm of the mean square of the residuals."""
        return float(np.log(np.mean(working.residuals(left_out.values) ** 2)) / 2)


@dataclass(frozen=True, eq=False)
class LikelihoodRows:
    r"""Targets with another likelihood: steps of Fisher's scoring, :math:`f + g / W` of precision W.

    Here g is the derivative of the log density in the function f, and W the expectation of minus its second derivative.

    Attributes
    ----------
    likelihood : Likelihood
        With values of its parameters.
    y : ndarray of shape (n_samples,)
        Targets.
    scale : ndarray of shape (n_samples,) or float
        Exposures, or known scales of the noise.
    learned : tuple of str
        Which of its parameters are learned.
    offset, unit : float
        The function is the offset and units of what the prior is of.
    """

    likelihood: Likelihood
    y: Array
    scale: Array
    learned: tuple[str, ...]
    offset: float
    unit: float
    knows_noise: bool = True

    @classmethod
    def of(cls, likelihood: Likelihood, y: Array, scale: Array) -> LikelihoodRows:
        """Rows before anything is learned: the unit is the spread of where targets are likely."""
        start = likelihood.starting(y, np.ones(len(y)), scale)
        guess = start.guess(y, scale)
        rows = cls(start, y, scale, likelihood.learned, float(np.mean(guess)), 1.0)
        target = rows.working(None).target  # of a constant guess it has the spread of the targets
        spread = float(np.std(guess if np.ptp(guess) > 0 else target)) or 1.0
        return replace(rows, unit=spread)

    def function(self, values: Array) -> Array:
        """The function, from values of what the prior is of."""
        return self.offset + self.unit * values

    def working(self, values: Array | None) -> Working:
        """A step of Fisher's scoring."""
        f = self.likelihood.guess(self.y, self.scale) if values is None else self.function(values)
        weight = self.likelihood.fisher(f, self.scale)
        weight = np.maximum(weight, _LEAST_WEIGHT * weight.max())
        target = f + self.likelihood.derivatives(self.y, f, self.scale).first / weight
        return Working((target - self.offset) / self.unit, self.unit * np.sqrt(weight))

    def updated(self, left_out: LeftOut) -> LikelihoodRows:
        """The parameters by which rows that took no part are likeliest, given how well the function is known there."""
        if not self.learned:
            return self
        own = self.likelihood.own
        some = np.unique(np.linspace(0, len(self.y) - 1, _LEARNING_ROWS).astype(int))
        bounds = [tuple(np.log([own[name].lower, own[name].upper])) for name in self.learned]
        start = np.log([getattr(self.likelihood, name) for name in self.learned])

        def loss(logs: Array) -> float:
            return self._with(np.atleast_1d(logs))._loss(left_out, some)

        if len(start) == 1:
            low, high = bounds[0]
            inner = max(low, start[0] - _REACH), min(high, start[0] + _REACH)
            return self._with(np.atleast_1d(minimize_scalar(loss, bounds=inner, method="bounded").x))
        return self._with(minimize(loss, start, bounds=bounds, method="Nelder-Mead", options={"maxfev": 80}).x)

    def _with(self, logs: Array) -> LikelihoodRows:
        values = {name: float(np.exp(log)) for name, log in zip(self.learned, logs, strict=True)}
        return replace(self, likelihood=self.likelihood.with_own(**values))

    def loss(self, working: Working, left_out: LeftOut) -> float:
        """Mean negative log density."""
        return self._loss(left_out, np.arange(len(self.y)))

    def _loss(self, left_out: LeftOut, some: NDArray[np.int64]) -> float:
        mean, variance = self.function(left_out.values[some]), self.unit**2 * left_out.unknown[some]
        scale = np.broadcast_to(self.scale, len(self.y))[some]
        return -float(np.mean(self.likelihood.log_predictive(self.y[some], mean, variance, scale)))


_REACH = 3.0  # of the logarithm of a parameter, by which one round may change it
