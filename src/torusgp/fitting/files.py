"""Fits in files: what a fitted model is made of, as content for JSON and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.engine.statistics import SufficientStatistics
from torusgp.engine.working import WorkingStatistics
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.fitter import Fit, Preliminary
from torusgp.fitting.latent import Latent, LatentTorusGP
from torusgp.fitting.latent_fitter import Progress
from torusgp.fitting.learning import Learned
from torusgp.fitting.likelihoods import likelihood_from_json, likelihood_to_json
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.rows import Compute
from torusgp.kernels.resolve import ColumnTerm, Model
from torusgp.kernels.terms import KernelTerm, TermFactor
from torusgp.kernels.torus import Axis, Torus
from torusgp.storage.serialisation import from_json, to_json


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
                    tuple(factor["bounds"]),
                    factor["learned"],
                    factor["is_line"],
                    factor["tolerance"],
                )
                for factor in term["factors"]
            ),
            term["variance"],
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
    )


def outcome_to_archive(outcome: Preliminary | Fit) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was learned before all rows were seen, or from all of them: content for JSON, and arrays."""
    parameters = outcome.learned.parameters
    content = {
        "model": model_to_json(outcome.model),
        "index_set": to_json(outcome.learned.index_set),
        "parameters": list(parameters),
    }
    arrays: dict[str, Any] = {"period": parameters.period}
    for i, name in enumerate(parameters):
        entry = parameters.entry(name)
        arrays[f"parameter_{i}"] = np.stack([entry.value, entry.lower, entry.upper, entry.learned.astype(float)])
    for name in ("nyquist", "period_std"):
        if getattr(outcome, name) is not None:
            arrays[name] = getattr(outcome, name)
    return content, arrays


def outcome_from_archive(content: dict[str, Any], arrays: dict[str, Any]) -> Preliminary:
    """Invert :func:`outcome_to_archive`."""
    entries = {}
    for i, name in enumerate(content["parameters"]):
        value, lower, upper, learned = arrays[f"parameter_{i}"]
        entries[name] = Parameter(value, lower, upper, learned.astype(bool))
    parameters = Parameters(entries, arrays["period"])
    learned = Learned(parameters, from_json(content["index_set"]), np.nan)
    return Preliminary(model_from_json(content["model"]), learned, arrays.get("nyquist"), arrays.get("period_std"))


def fit_to_archive(fit: Fit) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fit as content for JSON and arrays."""
    content, arrays = outcome_to_archive(fit)
    statistics, sums = fit.fitted.statistics.to_archive()
    arrays |= {f"statistics_{name}": array for name, array in sums.items()}
    arrays["intercept_variance"] = fit.fitted.prior.intercept_variance
    arrays["noise_variance"] = fit.fitted.noise_variance
    if fit.fitted.spectrum is not None:
        arrays["spectrum"] = fit.fitted.spectrum
    content |= {"statistics": statistics, "center": fit.fitted.center}
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
    prior = Prior(model.torus, model.terms, model.columns, arrays["intercept_variance"], model.has_trend)
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
        fitted = FittedTorusGP(*parts)
    else:
        fitted = LatentTorusGP(*parts, **(latent | {"likelihood": likelihood_from_json(latent["likelihood"])}))
    return Fit(model, fitted, outcome.learned, outcome.nyquist, outcome.period_std)


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
