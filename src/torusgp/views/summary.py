"""Summaries of a fitted regressor, and how good it is, as JSON can hold them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.likelihoods import likelihood_to_json
from torusgp.kernels.terms import KernelTerm
from torusgp.views.analysis import sobol_indices
from torusgp.views.dimensions import find_dimensions, frequencies_by_order
from torusgp.views.model_findings import model_findings
from torusgp.views.scores import Scores

_DRAWS = 400  # functions that tell the errors of shares


def summarise_regressor(
    model: TorusGPRegressor, scores: Scores | None = None, *, target: str = "target", unit: str = "", output: int = 0
) -> dict[str, Any]:
    """Summary of a fitted regressor, and how good it is.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    scores : Scores, optional
        How its predictions fared on rows that it had not seen.
    target, unit : str, optional
        Name and unit of the target.
    output : int, default=0
        Which target, where there are several.

    Returns
    -------
    dict
        For JSON; None stands for what is not known.
    """
    fitted = model.fitted_
    is_worthless = scores is not None and scores.explains_nothing
    signal, noise = (np.atleast_1d(each)[output] for each in (model.signal_variance_, model.noise_variance_))
    return to_plain(
        {
            "target": target,
            "unit": unit,
            "rows": {"fitted": model.n_samples_seen_, "dropped": 0},
            "inputs": [{"name": one.name, "kind": one.kind, "period": one.period} for one in find_dimensions(fitted)],
            "kernel": " + ".join(describe_term(one) for one in fitted.prior.terms),
            "n_components": model.index_set_.n_components + len(fitted.prior.columns),
            "orders": sorted(frequencies_by_order(fitted).items()),
            "truncation_error": model.truncation_error_,
            "function_std": function_std(model, output),
            "signal_std": np.sqrt(signal),
            "noise_std": np.sqrt(noise),
            "likelihood": likelihood_to_json(model.likelihood_),
            "log_evidence": model.log_marginal_likelihood_,
            "holdout": None if scores is None else scores.to_json(),
            "explains_nothing": is_worthless,
            "attribution": [] if is_worthless else attribution(model, output),
            "quality": {},
            "findings": [asdict(one) for one in model_findings(model)],
        }
    )


def attribution(model: TorusGPRegressor, output: int = 0) -> list[dict[str, Any]]:
    """Shares of the inputs and of their interactions in the variance of a predicted function, the largest first.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    output : int, default=0
        Which target, where there are several.

    Returns
    -------
    list of dict
        Names of the component, its share, and the ends of a 95 % interval; empty for a constant function.
    """
    try:
        indices = sobol_indices(model, n_samples=_DRAWS)
    except ValueError:  # a constant function has none
        return []
    share, lower, upper = (
        each.reshape(len(indices.labels), -1)[:, output] for each in (indices.share, *indices.interval())
    )
    if np.isnan(share).any():
        return []
    order = np.argsort(-share, kind="stable")
    return [{"component": indices.labels[i], "share": share[i], "lower": lower[i], "upper": upper[i]} for i in order]


def function_std(model: TorusGPRegressor, output: int = 0) -> float:
    """Standard deviation of what repeats around its mean, of the first term over the torus."""
    fitted = model.fitted_
    frequencies = fitted.index_set.frequencies
    ratios = fitted.prior.at(fitted.parameters, frequencies).ratios()
    share = np.repeat(ratios[0, :, min(output, ratios.shape[2] - 1)], 2)[1:]
    weights = share * fitted.posterior.weights[: fitted.n_fourier, output]
    return float(np.sqrt(np.sum(weights[1:] ** 2) / 2))  # the mean square of a cosine is one half


def describe_term(term: KernelTerm) -> str:
    """A term in words: the families of its factors, or its name."""
    families = dict.fromkeys(type(factor.family).__name__ for factor in term.factors)
    return f"{term.name} ({', '.join(families)})"


def to_plain(value: Any) -> Any:
    """Copy of dictionaries, lists, arrays and numbers that JSON can hold; NaN and infinity become None."""
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
