"""Regressors in files."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from torusgp.estimators.settings import Torch, make_settings
from torusgp.estimators.short_form import DEFAULT_FAMILY
from torusgp.fitting.changing_noise import ChangingNoise
from torusgp.fitting.files import check_fit, fit_from_archive, fit_to_archive
from torusgp.fitting.likelihoods import Likelihood, check_likelihood, likelihood_from_json, likelihood_to_json
from torusgp.fitting.noise_models import check_noise, noise_from_json, noise_to_json
from torusgp.storage.archives import decoding, load_archive, save_archive
from torusgp.storage.serialisation import from_json, to_json

_KIND, _LAYOUT = "TorusGPRegressor", 3
_NOISE = "noise_model_"  # before the names of arrays of a model of the noise
_TECHNICAL = ("n_threads", "verbose", "backend")  # parameters that say how, not what


def save_regressor(model: Any, path: Any, notes: Any = None) -> None:
    """Write a fitted regressor to a file, with notes that JSON can hold."""
    content, arrays = fit_to_archive(model.fit_)
    check_unchanged(model, "a file would say other things than the model does")
    if hasattr(model, "noise_"):
        content["noise"], own = fit_to_archive(model.noise_.fit)
        arrays |= {f"{_NOISE}{name}": array for name, array in own.items()}
    save_archive(path, _KIND, _LAYOUT, {**content, **describe(model), "notes": notes}, arrays)


def check_unchanged(model: Any, why: str) -> None:
    """Raise if parameters are other than those of the fit."""
    changed = _differences(type(model)(**model.parameters_of_fit_), model)
    if changed:
        raise ValueError(f"{', '.join(changed)} changed after the fit: {why}. Fit again, or set back what was changed.")


def load_regressor(cls: Any, path: Any) -> Any:
    """Read a regressor written by :func:`save_regressor`."""
    content, arrays = load_archive(path, _KIND, _LAYOUT)
    with decoding(path):
        model = regressor_from_archive(cls, content, arrays)
        model.notes_ = content["notes"]
    return model


def regressor_from_archive(cls: Any, content: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """A fitted regressor from what a file holds of it."""
    model = _unfitted(cls, content)
    model.forget()
    check_likelihood(model.likelihood)
    compute = make_settings(model).compute
    fit = fit_from_archive(content, arrays, compute)
    restore_inputs(model, content)
    check_fit(fit, model.n_features_in_)
    model.set_fit(fit)
    if "noise" in content:
        own = {name[len(_NOISE) :]: array for name, array in arrays.items() if name.startswith(_NOISE)}
        model.noise_ = ChangingNoise(fit_from_archive(content["noise"], own, compute))
    return model


def describe(model: Any) -> dict[str, Any]:
    """Parameters of an estimator and shape of its inputs and targets, for JSON."""
    return {
        "estimator": _to_stored(model),
        "n_features_in": model.n_features_in_,
        "feature_names_in": list(getattr(model, "feature_names_in_", [])) or None,
        "y_ndim": model.y_ndim_,
    }


def restore_inputs(model: Any, content: dict[str, Any]) -> None:
    """Give an estimator the shape of the inputs and targets that it had."""
    model.n_features_in_, model.y_ndim_ = content["n_features_in"], content["y_ndim"]
    if not isinstance(model.n_features_in_, int) or model.n_features_in_ < 1 or model.y_ndim_ not in (1, 2):
        raise ValueError(f"{model.n_features_in_!r} inputs and {model.y_ndim_!r} axes of targets are stored.")
    names = content["feature_names_in"]
    if names:
        if len(names) != model.n_features_in_ or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{names!r} are not the names of {model.n_features_in_} inputs.")
        model.feature_names_in_ = np.array(names, dtype=object)


def _to_stored(model: Any) -> Any:
    """Parameters of an estimator as JSON."""
    parameters = model.get_params(deep=False)
    if callable(parameters["verbose"]):
        parameters["verbose"] = 0  # a function is not data
    if isinstance(parameters["backend"], Torch):
        parameters["backend"] = asdict(parameters["backend"])
    if isinstance(parameters["likelihood"], Likelihood):
        parameters["likelihood"] = likelihood_to_json(parameters["likelihood"])
    if not isinstance(parameters["noise"], str):
        parameters["noise"] = noise_to_json(check_noise(parameters["noise"]))
    return to_json(parameters)


def _unfitted(cls: Any, content: dict[str, Any]) -> Any:
    """Estimator with the parameters of a file."""
    parameters = from_json(content["estimator"])
    if isinstance(parameters.get("backend"), dict):
        parameters["backend"] = Torch(**parameters["backend"])
    if isinstance(parameters.get("likelihood"), dict):
        parameters["likelihood"] = likelihood_from_json(parameters["likelihood"])
    if isinstance(parameters.get("noise"), dict):
        parameters["noise"] = noise_from_json(parameters["noise"])
    return cls(**parameters)


def same_parameters(model: Any, content: dict[str, Any]) -> bool:
    """True if a model would be fitted as the one that a file describes."""
    return not _differences(model, _unfitted(type(model), content))


def _differences(one: Any, other: Any) -> list[str]:
    """Names of the parameters that make two models different."""
    both = [_to_stored(each)["dict"] for each in (one, other)]
    for stored in both:
        stored["kernel"] = stored["kernel"] or DEFAULT_FAMILY
    names = [name for name in both[0] if name not in _TECHNICAL]
    return [name for name in names if json.dumps(both[0][name]) != json.dumps(both[1][name])]
