"""Models in files: what a fitted regressor is made of, as arrays and JSON."""

import numpy as np

from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.features import interaction_limit, resolve_columns
from torusgp.fitting.learning import Hyperparameters, KernelTemplate, Learned
from torusgp.fitting.periods import Trend
from torusgp.kernels.kernel import TorusKernel
from torusgp.storage.archives import load_archive, save_archive
from torusgp.storage.serialisation import from_json, to_json

_KIND, _LAYOUT = "TorusGPRegressor", 2  # the first had no variance of the intercept
_RENAMED = {"center": "intercept"}  # parameters of the first layout
_TECHNICAL = ("n_threads", "verbose", "device")  # parameters that say how, not what


def save_model(model, path, notes=None):
    """Write a fitted model to a file, with notes that JSON can hold."""
    fitted = model._fitted()
    content, arrays = model.statistics_.to_archive()
    more, others = describe(model, fitted.hyperparameters, fitted.index_set)
    content = {"statistics": content, **more, "notes": notes}
    arrays = {f"statistics_{name}": array for name, array in arrays.items()}
    save_archive(path, _KIND, _LAYOUT, content, arrays | others | {"prior_variances": fitted.prior_variances})


def load_model(cls, path):
    """Read a model written by :func:`save_model`."""
    content, arrays = load_archive(path, _KIND, _LAYOUT)
    model = cls(**_renamed(from_json(content["parameters"])))
    model.statistics_ = SufficientStatistics.from_archive(
        content["statistics"],
        {name[11:]: array for name, array in arrays.items() if name.startswith("statistics_")},
    )
    restore(model, content, arrays, model.statistics_.period)
    model.notes_ = content.get("notes")
    learned = model._first_guess
    linear, center = model.statistics_.linear(learned.index_set, model.intercept)
    model._set_model(learned.hyperparameters, learned.index_set, arrays["prior_variances"], linear, center)
    return model


def describe(model, hyperparameters, index_set):
    """What a model is besides its statistics: content for JSON, and arrays.

    Parameters
    ----------
    model : TorusGPRegressor
        A model, not necessarily fitted to all rows.
    hyperparameters : Hyperparameters
        What was learned.
    index_set : IndexSet
        Frequencies in use.

    Returns
    -------
    content, arrays : dict
    """
    parameters = model.get_params(deep=False)
    if callable(parameters["verbose"]):
        parameters["verbose"] = 0  # a function is not data
    content = {
        "parameters": to_json(parameters),
        "n_features_in": model.n_features_in_,
        "feature_names_in": list(getattr(model, "feature_names_in_", [])) or None,
        "y_ndim": model._y_ndim,
        "cap": model._cap,
        "index_set": to_json(index_set),
    }
    arrays = {
        "length_scale": hyperparameters.length_scale,
        "signal_variance": hyperparameters.signal_variance,
        "noise_variance": hyperparameters.noise_variance,
        "intercept_variance": hyperparameters.intercept_variance,
        "variance": model._variance,
    }
    if model.trend_ is not None:
        arrays |= {f"trend_{name}": array for name, array in model.trend_.to_arrays().items()}
    if model._nyquist is not None:
        arrays["nyquist"] = model._nyquist
    if hasattr(model, "period_std_"):
        arrays["period_std"] = np.asarray(model.period_std_)
    return content, arrays


def restore(model, content, arrays, period):
    """Give a model back what :func:`describe` took down; what was learned becomes its first guess."""
    model.n_features_in_ = content["n_features_in"]
    if content["feature_names_in"]:
        model.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
    model._y_ndim, model._variance, model._cap = content["y_ndim"], arrays["variance"], content["cap"]
    model._columns = resolve_columns(model, model.columns)
    trend = {name[6:]: array for name, array in arrays.items() if name.startswith("trend_")}
    model.trend_, model._nyquist = Trend.from_arrays(trend) if trend else None, arrays.get("nyquist")
    if "period_std" in arrays:
        std = arrays["period_std"]
        model.period_std_ = std if std.ndim else float(std)
    index_set = from_json(content["index_set"])
    kernel = TorusKernel(model.kernel, model.length_scale, period)
    limit = interaction_limit(model.max_interaction, model.index_set)
    model._template = KernelTemplate(kernel.family, index_set.dimension, limit)
    hyperparameters = Hyperparameters(
        arrays["length_scale"],
        arrays["signal_variance"],
        arrays["noise_variance"],
        kernel.period,
        arrays.get("intercept_variance", np.zeros(len(arrays["noise_variance"]))),
    )
    model._has_one_row = False
    model._first_guess = Learned(hyperparameters, index_set, np.nan)


def same_parameters(model, content):
    """Whether a model would be fitted as the one that :func:`describe` took down."""
    here = to_json(model.get_params(deep=False) | {"verbose": 0})["dict"]
    # parameters that did not exist then had the effect of what is the default now
    there = to_json(type(model)().get_params(deep=False))["dict"] | _renamed(content["parameters"]["dict"])
    return all(here[name] == there[name] for name in here if name not in _TECHNICAL)


def _renamed(parameters):
    """Parameters by the names that they have now."""
    return {_RENAMED.get(name, name): value for name, value in parameters.items()}
