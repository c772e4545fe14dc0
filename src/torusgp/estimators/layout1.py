"""Models in files of layout 1: one product of circles, a mean that was subtracted, and slow change beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.settings import Torch
from torusgp.estimators.short_form import is_searched
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.learning import Learned
from torusgp.fitting.noise_models import WhiteNoise
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.periods import Trend
from torusgp.fitting.prior import NOISE, Prior, scale_name, variance_name
from torusgp.fitting.rows import Compute
from torusgp.kernels.axes import Circle, Expression, Factor, Lattice, Product
from torusgp.kernels.resolve import Model, resolve
from torusgp.storage.serialisation import from_json

_OF_EXPRESSIONS: dict[str, Any] = {  # parameters whose place is now in expressions, and what they were by default
    "columns": None,
    "signal_variance": 1.0,
    "signal_variance_bounds": None,
    "length_scale_bounds": (1e-2, 1e2),
    "max_interaction": None,
}
_KEPT = ("length_scale", "noise_variance", "index_set", "n_components", "learn", "n_threads")


def parameters(content: dict[str, Any]) -> dict[str, Any]:
    """Parameters of an estimator that would be fitted alike today."""
    old = from_json(content["parameters"])
    new = {name: old[name] for name in _KEPT if name in old}
    new["intercept"] = old.get("center", True)
    new["noise"] = WhiteNoise(old["noise_variance_bounds"]) if old.get("noise_variance_bounds") else "white"
    backend, device, precision = old.get("backend", "auto"), old.get("device"), old.get("precision", "float64")
    if device is not None or precision != "float64":
        backend = Torch(device, precision, transforms=backend == "auto")
    new["backend"] = backend
    beyond = any(old.get(name, default) != default for name, default in _OF_EXPRESSIONS.items())
    if beyond and not is_searched(old["period"]):
        period = np.atleast_1d(np.asarray(old["period"], dtype=float))
        expression = _expression(old, period, _inputs(content))
        return {**new, "kernel": expression, "length_scale": 1.0}
    return {**new, "kernel": old["kernel"], "period": old["period"]}


def _inputs(content: dict[str, Any]) -> tuple[Any, ...]:
    """Input of each axis."""
    columns = from_json(content["parameters"]).get("columns")
    return tuple(range(content["n_features_in"])) if columns is None else tuple(columns)


def _expression(old: dict[str, Any], period: NDArray[np.float64], inputs: tuple[Any, ...]) -> Expression:
    """The product of circles, or the lattice, that the model had."""
    family, scales = old["kernel"], np.broadcast_to(old["length_scale"], len(inputs)).tolist()
    bounds = tuple(old.get("length_scale_bounds", _OF_EXPRESSIONS["length_scale_bounds"]))
    factors: tuple[Factor, ...]
    if period.ndim == 2:
        factors = (Lattice(inputs, period, family, scales[0], bounds),)
    else:
        families = list(family) if isinstance(family, list | tuple) else [family] * len(inputs)
        periods = np.broadcast_to(period, len(inputs)).tolist()
        factors = tuple(Circle(*one, bounds) for one in zip(inputs, periods, families, scales, strict=True))
    limit = old.get("max_interaction")
    limit = getattr(old["index_set"], "max_interaction", None) if limit is None else limit
    given = old.get("signal_variance", 1.0)
    variance = float(given) if np.ndim(given) == 0 and given != 1.0 else None
    return Product(factors, variance, old.get("signal_variance_bounds"), limit)


def outcome(content: dict[str, Any], arrays: dict[str, Any], period: Any) -> Preliminary:
    """What was learned."""
    index_set = from_json(content["index_set"])
    old, inputs = from_json(content["parameters"]), _inputs(content)
    names = content["feature_names_in"] or [f"x{d}" for d in range(content["n_features_in"])]
    period = np.atleast_1d(np.asarray(period, dtype=float))
    period = period if period.ndim == 2 else np.broadcast_to(period, len(inputs)).copy()
    model: Model = resolve(_expression(old, period, inputs), None, names)
    term = model.terms[0]
    # a number stood for all length scales, or there was one for each
    scales = np.broadcast_to(arrays["length_scale"], term.length_scale.shape)
    learn = set(old["learn"])
    spread = arrays["variance"]
    entries = {
        scale_name(term): Parameter.make(scales, term.bounds.T, "length_scale" in learn),
        variance_name(term): Parameter.make(
            arrays["signal_variance"], (1e-4 * spread, 1e4 * spread), "signal_variance" in learn
        ),
        NOISE: Parameter.make(arrays["noise_variance"], (1e-8 * spread, 10 * spread), "noise_variance" in learn),
    }
    learned = Learned(Parameters(entries, period), index_set, np.nan)
    return Preliminary(model, learned, _std(arrays.get("period_std")))


def _std(values: Any) -> Any:
    return None if values is None else np.atleast_1d(values)


def fit(content: dict[str, Any], arrays: dict[str, Any], compute: Compute) -> Fit:
    """The fitted model, which predicts as it did."""
    sums = {name[11:]: array for name, array in arrays.items() if name.startswith("statistics_")}
    statistics = SufficientStatistics.from_archive(content["statistics"], sums)
    found = outcome(content, arrays, statistics.period)
    prior = Prior(found.model.torus, found.model.terms, (), np.zeros(statistics.n_outputs))
    old = from_json(content["parameters"])
    common = (
        prior,
        found.learned.parameters,
        found.learned.index_set,
        statistics,
        old.get("center", True),
        arrays["prior_variances"],
        compute,
    )
    trend = {name[6:]: array for name, array in arrays.items() if name.startswith("trend_")}
    fitted = FittedWithTrend(*common, trend=Trend.from_arrays(trend)) if trend else FittedTorusGP(*common)
    return Fit(found.model, fitted, found.learned, found.period_std)


@dataclass(frozen=True)
class FittedWithTrend(FittedTorusGP):
    """A fitted model whose targets had slow change subtracted, which is added to predictions."""

    trend: Any = None

    @property
    def _inputs(self) -> NDArray[np.int64]:
        """Inputs of the slow change, each once, in the order of the axes."""
        inputs = self.prior.torus.inputs
        return inputs[np.sort(np.unique(inputs, return_index=True)[1])]

    def _slow(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return X[:, self._inputs]

    def mean(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Mean, with slow change."""
        return super().mean(X) + self.trend.mean(self._slow(X))

    def mean_and_variance(self, X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance, with slow change."""
        mean, variance = super().mean_and_variance(X)
        slow, outputs = self._slow(X), range(self.n_outputs)
        more = np.stack([self.trend.variance(slow, output) for output in outputs], axis=-1)
        return mean + self.trend.mean(slow), variance + more

    def covariance(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Covariance, with slow change."""
        slow = self._slow(X)
        more = np.stack([self.trend.covariance(slow, output) for output in range(self.n_outputs)], axis=-1)
        return super().covariance(X) + more

    def sample(self, X: NDArray[Any], n_samples: int, random_state: Any) -> NDArray[np.float64]:
        """Draws, with slow change."""
        draws = super().sample(X, n_samples, random_state)
        return draws + self.trend.sample(self._slow(X), n_samples, random_state)

    def gradient(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Derivatives, with slow change."""
        result = super().gradient(X)
        result[:, self._inputs] += self.trend.gradient(self._slow(X))
        return result

    def gradient_variance(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Variances of derivatives, with slow change."""
        result, slow = super().gradient_variance(X), self._slow(X)
        more = np.stack([self.trend.gradient_variance(slow, q) for q in range(self.n_outputs)], axis=-1)
        result[:, self._inputs] += more
        return result
