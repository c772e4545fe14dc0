"""Fits in files: what a fitted model is made of, as content for JSON and arrays."""

from __future__ import annotations

import warnings
from dataclasses import astuple
from typing import Any

import numpy as np

from torusgp.engine.moments import Moments
from torusgp.engine.statistics import SufficientStatistics
from torusgp.engine.working import WorkingStatistics
from torusgp.fitting.anova.files import anova_from_archive, anova_to_archive
from torusgp.fitting.anova.fitted import FittedAnova
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.latent import Latent, LatentTorusGP
from torusgp.fitting.latent_fitter import Progress
from torusgp.fitting.learning import Learned, Round
from torusgp.fitting.likelihoods import likelihood_from_json, likelihood_to_json
from torusgp.fitting.noise_process import NoiseProcess
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.rows import Compute
from torusgp.kernels.resolve import ColumnTerm, Model
from torusgp.kernels.terms import KernelTerm, TermFactor
from torusgp.kernels.torus import Axis, Torus
from torusgp.storage.serialisation import from_json, to_json

_PROCESS = "noise_process_"  # before the names of arrays of a process in time


def model_to_json(model: Model) -> dict[str, Any]:
    """A model as JSON holds it."""
    return {
        "inputs": list(model.torus.names),
        "axes": [
            {
                "name": axis.name,
                "kind": axis.kind,
                "input": axis.input,
                "low": axis.low,
                "high": axis.high,
                "levels": [to_json(level) for level in axis.levels],
                "step": axis.step,
                "positions": axis.positions,
            }
            for axis in model.torus.axes
        ],
        "terms": [
            {
                "name": term.name,
                "variance": term.variance,
                "variance_bounds": to_json(term.variance_bounds),
                "max_interaction": term.max_interaction,
                "factors": [
                    {
                        "axes": list(factor.axes),
                        "family": to_json(factor.family),
                        "length_scale": factor.length_scale.tolist(),
                        "bounds": list(factor.bounds),
                        "learned": bool(factor.learned),
                        "is_line": factor.is_line,
                        "tolerance": factor.tolerance,
                    }
                    for factor in term.factors
                ],
            }
            for term in model.terms
        ],
        "columns": [
            {"name": one.name, "input": one.input, "variance": one.variance, "learned": one.learned}
            for one in model.columns
        ],
        "period": to_json(model.period),
        "moving": model.moving.tolist(),
        "period_bounds": to_json(model.period_bounds),
        "has_trend": model.has_trend,
        "is_anova": model.is_anova,
    }


def model_from_json(content: dict[str, Any]) -> Model:
    """Invert :func:`model_to_json`."""
    axes = tuple(
        Axis(**(axis | {"levels": tuple(from_json(level) for level in axis["levels"])})) for axis in content["axes"]
    )
    terms = tuple(
        KernelTerm(
            term["name"],
            tuple(
                TermFactor(
                    tuple(factor["axes"]),
                    from_json(factor["family"]),
                    np.array(factor["length_scale"], dtype=float),
                    _bounds(factor["bounds"]),
                    _flag(factor["learned"]),
                    _flag(factor["is_line"]),
                    None if factor["tolerance"] is None else _positive(factor["tolerance"]),
                )
                for factor in term["factors"]
            ),
            None if term["variance"] is None else _positive(term["variance"]),
            from_json(term["variance_bounds"]),
            term["max_interaction"],
        )
        for term in content["terms"]
    )
    return Model(
        Torus(axes, tuple(content["inputs"])),
        terms,
        tuple(ColumnTerm(**one) for one in content["columns"]),
        from_json(content["period"]),
        np.array(content["moving"], dtype=bool),
        from_json(content["period_bounds"]),
        content["has_trend"],
        content["is_anova"],
    )


def _positive(value: Any) -> float:
    """A stored number, which may be infinite where it is a bound."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{value!r} is stored where a positive number has to be.")
    return value


def _bounds(values: Any) -> tuple[float, float]:
    low, high = (_positive(value) for value in values)
    if low > high:
        raise ValueError(f"the stored bounds {values} are not in order.")
    return low, high


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is stored where true or false has to be.")
    return value


def outcome_to_archive(outcome: Preliminary | Fit) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was learned before all rows were seen, or from all of them: content for JSON, and arrays."""
    parameters = outcome.learned.parameters
    content = {
        "model": model_to_json(outcome.model),
        "index_set": to_json(outcome.learned.index_set),
        "parameters": list(parameters),
        "rounds": [astuple(one) for one in outcome.learned.rounds],
        "rest_share": outcome.fitted.rest_share if isinstance(outcome, Fit) else outcome.learned.rest_share,
    }
    arrays: dict[str, Any] = {"period": parameters.period}
    for i, name in enumerate(parameters):
        entry = parameters.entry(name)
        arrays[f"parameter_{i}"] = np.stack([entry.value, entry.lower, entry.upper, entry.learned.astype(float)])
    optional = {"period_std": outcome.period_std, "noise_factor": outcome.learned.noise_factor}
    arrays |= {name: array for name, array in optional.items() if array is not None}
    return content, arrays


def outcome_from_archive(content: dict[str, Any], arrays: dict[str, Any]) -> Preliminary:
    """Invert :func:`outcome_to_archive`."""
    entries = {}
    for i, name in enumerate(content["parameters"]):
        value, lower, upper, learned = arrays[f"parameter_{i}"]
        if not (np.isfinite(value) & (value > 0)).all():
            raise ValueError(f"the stored parameter {name!r} is {value}, it must be finite and positive.")
        entries[name] = Parameter(value, lower, upper, learned.astype(bool))
    parameters = Parameters(entries, arrays["period"])
    rounds = tuple(Round(*one) for one in content["rounds"])
    index_set, factor = from_json(content["index_set"]), arrays.get("noise_factor")
    share = float(content["rest_share"])
    if not 0 <= share <= 1:
        raise ValueError(f"the stored share of the prior variance outside the set is {share}, not between 0 and 1.")
    learned = Learned(parameters, index_set, np.nan, rounds=rounds, noise_factor=factor, rest_share=share)
    return Preliminary(model_from_json(content["model"]), learned, arrays.get("period_std"))


def check_outcome(outcome: Preliminary) -> None:
    """Raise if the parts of what was learned do not fit together."""
    model, learned = outcome.model, outcome.learned
    prior = Prior.of_model(model, np.zeros(len(learned.parameters[NOISE])))
    variances = prior.variances(learned.parameters, learned.index_set.frequencies)
    if not (np.isfinite(variances) & (variances >= 0)).all():
        raise ValueError("the prior variances are not finite.")


def fit_to_archive(fit: Fit) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fit as content for JSON and arrays."""
    content, arrays = outcome_to_archive(fit)
    statistics, sums = fit.fitted.statistics.to_archive()
    arrays |= {f"statistics_{name}": array for name, array in sums.items()}
    arrays["intercept_variance"] = fit.fitted.prior.intercept_variance
    arrays["noise_variance"] = fit.fitted.noise_variance
    if fit.fitted.spectrum is not None:
        arrays["spectrum"] = fit.fitted.spectrum
    if fit.fitted.centre is not None:
        arrays["centre"] = fit.fitted.centre
    if fit.fitted.moments is not None:
        arrays["moments_precision"] = fit.fitted.moments.precision
        arrays["moments_linear_term"] = fit.fitted.moments.linear_term
        content["noise_alone"] = list(fit.fitted.moments.alone)
    if fit.fitted.noise_process is not None:
        content["noise_process"], own = fit.fitted.noise_process.to_archive()
        arrays |= {f"{_PROCESS}{name}": array for name, array in own.items()}
    if isinstance(fit.fitted, FittedAnova):
        content["anova"], own = anova_to_archive(fit.fitted)
        arrays |= own
    content |= {"statistics": statistics, "center": fit.fitted.center, "noise_unit": fit.fitted.prior.noise_unit}
    if isinstance(fit.fitted, LatentTorusGP):
        content["latent"] = {
            "likelihood": likelihood_to_json(fit.fitted.likelihood),
            "laplace_evidence": fit.fitted.laplace_evidence,
            "n_passes": fit.fitted.n_passes,
        }
    return content, arrays


def fit_from_archive(content: dict[str, Any], arrays: dict[str, Any], compute: Compute) -> Fit:
    """Invert :func:`fit_to_archive`."""
    outcome = outcome_from_archive(content, arrays)
    sums = {name[11:]: array for name, array in arrays.items() if name.startswith("statistics_")}
    latent = content.get("latent")
    kind = SufficientStatistics if latent is None else WorkingStatistics
    statistics = kind.from_archive(content["statistics"], sums)
    model = outcome.model
    unit = _positive(content["noise_unit"])
    prior = Prior.of_model(model, arrays["intercept_variance"], unit)
    parts = (
        prior,
        outcome.learned.parameters.with_value(NOISE, arrays["noise_variance"]),
        outcome.learned.index_set,
        statistics,
        content["center"],
        arrays.get("spectrum"),
        compute,
    )
    if latent is None:
        centre = _checked_centre(arrays.get("centre"), parts[1])
        fitted = FittedTorusGP(*parts, *_correlated_noise(content, arrays), centre, outcome.learned.rest_share)
        if "anova" in content:
            fitted = anova_from_archive(fitted, content["anova"], arrays)
    else:
        fitted = LatentTorusGP(*parts, **(latent | {"likelihood": likelihood_from_json(latent["likelihood"])}))
    return Fit(model, fitted, outcome.learned, outcome.period_std)


def _checked_centre(centre: Any, parameters: Parameters) -> Any:
    if centre is not None and (np.shape(centre) != parameters.to_vector().shape or not np.isfinite(centre).all()):
        raise ValueError(f"the stored centre of the learned parameters is {centre}, not one number for each of them.")
    return centre


def _correlated_noise(content: dict[str, Any], arrays: dict[str, Any]) -> tuple[Moments | None, NoiseProcess | None]:
    """Moments and noise of a stored model whose rows are not independent."""
    if "noise_process" not in content:
        return None, None
    own = {name[len(_PROCESS) :]: array for name, array in arrays.items() if name.startswith(_PROCESS)}
    process = NoiseProcess.from_archive(content["noise_process"], own)
    if "noise_alone" not in content:
        return None, process
    alone = (float(one) for one in content["noise_alone"])
    moments = Moments(arrays["moments_precision"], arrays["moments_linear_term"], *alone)
    size = len(moments.linear_term)
    finite = np.isfinite(moments.precision).all() and np.isfinite(moments.linear_term).all()
    if moments.precision.shape != (size, size) or not finite:
        raise ValueError("the stored moments are not finite, or do not fit together.")
    return moments, process


def check_fit(fit: Fit, n_inputs: int) -> None:
    """Raise if a model that was read cannot predict: its posterior is made sooner or later in any case."""
    fitted, torus = fit.fitted, fit.model.torus
    if len(torus.names) != n_inputs:
        raise ValueError(f"the model has {len(torus.names)} inputs, the estimator {n_inputs}.")
    point = np.zeros((1, n_inputs), dtype=object if len(torus.kinds("category")) else np.float64)
    for axis in torus.axes:
        point[0, axis.input] = axis.levels[0] if axis.kind == "category" else axis.low
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        mean, variance = fitted.mean_and_variance(point)
    if not (np.isfinite([*mean.ravel(), *variance.ravel(), fitted.log_evidence]).all() and (variance >= 0).all()):
        raise ValueError(f"the model would predict {mean.ravel()} with the variance {variance.ravel()}.")


def progress_to_archive(model: Model, progress: Progress) -> tuple[dict[str, Any], dict[str, Any]]:
    """Where a fit of several passes stands, as content for JSON and arrays."""
    learned = Learned(progress.parameters, progress.index_set, np.nan)
    content, arrays = outcome_to_archive(Preliminary(model, learned))
    latent = progress.latent
    content |= {"likelihood": likelihood_to_json(progress.likelihood), "offset": latent.offset}
    return content, {**arrays, "weights": latent.weights, "units": np.stack(latent.units)}


def progress_from_archive(content: dict[str, Any], arrays: dict[str, Any]) -> tuple[Model, Progress]:
    """Invert :func:`progress_to_archive`."""
    outcome = outcome_from_archive(content, arrays)
    parameters, index_set = outcome.learned.parameters, outcome.learned.index_set
    latent = Latent(
        content["offset"], index_set.frequencies, parameters.period, arrays["weights"], tuple(arrays["units"])
    )
    return outcome.model, Progress(parameters, index_set, likelihood_from_json(content["likelihood"]), latent)
