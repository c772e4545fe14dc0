"""Rows and points that users give, as estimators of scikit-learn check them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from torusgp.checks import check_numbers, check_sample_weight, check_scale, check_size
from torusgp.data.sources import is_streamed
from torusgp.engine.derivatives import Partials
from torusgp.fitting.likelihoods import LIKELIHOODS, check_likelihood
from torusgp.fitting.rows import DerivativeRows, Rows
from torusgp.kernels.axes import Expression
from torusgp.kernels.resolve import Model
from torusgp.kernels.torus import LARGEST_INTEGER, to_finite_numbers, to_numbers


class ObservedGradient(NamedTuple):
    """Points with observed derivatives, as the user gave them."""

    X: Any
    gradient: Any
    noise_scale: Any

    @property
    def is_given(self) -> bool:
        """True if there are any, or an error if only a part of them is there."""
        if (self.X is None) != (self.gradient is None) and not is_streamed(self.X, self.gradient):
            one, other = ("X_gradient", "gradient") if self.gradient is None else ("gradient", "X_gradient")
            raise ValueError(f"{one} was given without {other}: both are needed.")
        if self.X is None and self.noise_scale is not None:
            raise ValueError("gradient_noise_scale was given without X_gradient and gradient.")
        return self.X is not None


def check_inputs(estimator: Any, X: Any, reset: bool, y: Any = None) -> Any:
    """Inputs as an array: of floats, or of objects if the kernel has categories; with targets if there are any."""
    kernel = getattr(estimator, "kernel", None)
    if not isinstance(kernel, Expression) and getattr(kernel, "sum", None) is None:
        return check_number_inputs(estimator, X, reset, y)
    check_numbers(X)
    check_numbers(y, "y")
    check_targets_there(y)
    # columns that are not used may hold anything
    X, y = _validated(estimator, _with_exact_integers(X), y, reset, {"dtype": None, "ensure_all_finite": False})
    if X.dtype.kind in "iub" or X.dtype == np.float32:
        X = X.astype(np.float64)
    return X if y is None else (X, y)


def check_number_inputs(estimator: Any, X: Any, reset: bool, y: Any = None, dtype: Any = np.float64) -> Any:
    """Inputs as an array of finite floats, with targets if there are any; an error names the input that is none."""
    check_numbers(X)
    check_numbers(y, "y")
    check_targets_there(y)
    _check_words(X)
    X, y = _validated(estimator, _with_exact_integers(X), y, reset, {"dtype": dtype, "ensure_all_finite": False})
    if not np.isfinite(X).all():
        for position, name in enumerate(_names(estimator, X)):
            to_finite_numbers(X[:, position], name)
    return X if y is None else (X, y)


def _validated(estimator: Any, X: Any, y: Any, reset: bool, options: dict[str, Any]) -> tuple[Any, Any]:
    """Inputs, and targets or None, as scikit-learn checks them."""
    if y is None:
        return validate_data(estimator, X, reset=reset, **options), None
    return validate_data(estimator, X, y, multi_output=True, y_numeric=True, reset=reset, **options)


def _names(estimator: Any, X: Any) -> list[str]:
    """Names of inputs: those of a fit, or x0, x1 and so on."""
    named = getattr(estimator, "feature_names_in_", None)
    return [f"x{position}" for position in range(X.shape[1])] if named is None else list(map(str, named))


def _check_words(X: Any) -> None:
    """Raise if a column of inputs that have to be numbers has words, or integers that floats do not distinguish."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        columns = {str(name): np.asarray(X[name]) for name in X.columns}
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object) if isinstance(X, list) else np.empty(0)
        columns = {f"x{position}": array[:, position] for position in range(array.shape[1])} if array.ndim == 2 else {}
    for name, column in columns.items():
        is_object = column.dtype.kind == "O"
        if column.dtype.kind in "USTiu" or (is_object and any(isinstance(value, str | int) for value in column)):
            to_numbers(column.astype(object), name)


def check_targets_there(y: Any) -> None:
    """Raise if a target is missing, by the row of the first that is; no targets are none."""
    if y is None:
        return
    values = np.asarray(y)
    if values.dtype.kind not in "Of" or values.size == 0 or values.ndim == 0:
        return
    rows = values.reshape(len(values), -1)
    missing = np.isnan(rows) if values.dtype.kind == "f" else np.vectorize(_is_missing, otypes=[bool])(rows)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        raise ValueError(
            f"Input y contains NaN or None: it is {rows[row, column]} in row {row}, and missing in "
            f"{missing.any(axis=1).sum()} of {len(rows)} rows. Leave these out: nothing can be learned from them."
        )


def _is_missing(value: Any) -> bool:
    """True if a value stands for one that is not there: None, not a number, or the like of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _with_exact_integers(X: Any) -> Any:
    """Inputs as objects where integers are so large that floats would not tell them apart."""
    columns = X.dtypes if hasattr(X, "dtypes") and hasattr(X, "columns") else [getattr(X, "dtype", None)]
    if not any(getattr(dtype, "kind", None) in ("i", "u") for dtype in columns) or not hasattr(X, "astype"):
        return X
    whole = X.select_dtypes("integer") if hasattr(X, "select_dtypes") else X
    values = whole.to_numpy() if hasattr(whole, "to_numpy") else np.asarray(whole)
    is_large = values.size and bool(((values > LARGEST_INTEGER) | (values < -LARGEST_INTEGER)).any())
    return X.astype(object) if is_large else X


def check_used(X: NDArray[Any], model: Model) -> None:
    """Raise if an input that the model uses as a number is none, or not finite."""
    torus = model.torus
    used = {axis.input for axis in torus.axes if axis.kind != "category"} | {one.input for one in model.columns}
    for position in sorted(used):
        to_finite_numbers(X[:, position], torus.names[position])


def row_scale(likelihood: Any, noise_scale: Any, exposure: Any) -> Any:
    """Scales of the noise of the rows, or their exposures."""
    given = {"noise_scale": noise_scale, "exposure": exposure}
    for name, value in given.items():
        if value is not None and likelihood.takes != name:
            those = ", ".join(repr(one) for one, kind in LIKELIHOODS.items() if kind.takes == name)
            raise ValueError(f"likelihood={likelihood.name!r} has no {name}, which is for {those}: leave it out.")
    return None if likelihood.takes is None else given[likelihood.takes]


def check_targets(likelihood: Any, y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Targets of shape (n_samples, n_outputs) that the likelihood can have, on the scale that a fit wants."""
    if not likelihood.needs_passes:
        return likelihood.to_latent(y)
    if y.shape[1] != 1:
        raise ValueError(
            f"likelihood={likelihood.name!r} takes one target at a time, got {y.shape[1]}: use scikit-learn's "
            "MultiOutputRegressor."
        )
    likelihood.check(y[:, 0])
    return y


def check_fit_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, scale: Any, model: Model | None, reset: bool
) -> Rows:
    """Checked rows: all inputs as they are for a model that is still to be made, else laid on its axes."""
    likelihood = check_likelihood(estimator.likelihood)
    X, y = check_inputs(estimator, X, reset, y if y is not None else _missing_targets())
    if reset:
        estimator.y_ndim_ = y.ndim
    check_size(y, "y")
    y = check_targets(likelihood, y.astype(float, copy=False).reshape(len(y), -1))
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, len(X))
    if scale is not None:
        scale = check_scale(scale, likelihood.takes, len(X))
    if sample_weight is not None and not sample_weight.all():  # such rows are none: they must not widen a range
        counted = sample_weight > 0
        X, y, sample_weight = X[counted], y[counted], sample_weight[counted]
        scale = None if scale is None else scale[counted]
    if model is None:
        return Rows(X, y, sample_weight, scale)
    check_used(X, model)
    coordinates, plain = model.layout(X)
    return Rows(coordinates, y, sample_weight, scale, plain)


def check_gradient_rows(estimator: Any, given: ObservedGradient, reset: bool) -> DerivativeRows:
    """Points with observed derivatives: all inputs as they are, and derivatives along all of them.

    Parameters
    ----------
    estimator : TorusGPRegressor
        Estimator whose inputs and targets are known, or else follow from these points.
    given : ObservedGradient
        What the user gave.
    reset : bool
        Whether there are no targets from which the shape of inputs and outputs is known.

    Returns
    -------
    DerivativeRows
        Its X holds all inputs, its gradient has the shape (n_points, n_features, n_outputs).
    """
    if check_likelihood(estimator.likelihood).name != "normal":
        raise ValueError(f"gradient is for likelihood='normal', got likelihood={estimator.likelihood!r}.")
    X = check_inputs(estimator, given.X, reset)
    check_numbers(given.gradient, "gradient")
    options: dict[str, Any] = {"ensure_all_finite": "allow-nan", "allow_nd": True, "input_name": "gradient"}
    gradient = check_array(given.gradient, dtype=np.float64, **options)
    if reset:
        estimator.y_ndim_ = gradient.ndim - 1
    ndim = estimator.y_ndim_ + 1
    if gradient.ndim != ndim or gradient.shape[:2] != X.shape:
        outputs = ", n_outputs" if ndim == 3 else ""
        raise ValueError(
            f"gradient must hold a derivative along each input, of shape ({X.shape[0]}, {X.shape[1]}{outputs}) for "
            f"X_gradient of shape {X.shape}; got {gradient.shape}. Where one was not observed it is NaN."
        )
    gradient = gradient.reshape(*X.shape, -1)
    missing = np.isnan(gradient)
    if missing.all():
        raise ValueError("gradient is NaN everywhere: no derivative was observed. Leave it out.")
    if (missing.any(axis=2) != missing.all(axis=2)).any():
        raise ValueError("gradient must be NaN for all outputs of a derivative or for none.")
    scale = given.noise_scale
    if scale is not None:
        scale = check_scale(scale, "gradient_noise_scale", len(X))
    return DerivativeRows(X, gradient, scale)


def lay_gradient_rows(rows: DerivativeRows, model: Model) -> DerivativeRows:
    """Points on the axes of a model, with derivatives along the inputs that it can be differentiated by."""
    check_used(rows.X, model)
    torus, layout = model.torus, model.layout
    partials = Partials.of(torus, layout.plain)
    levels = {axis.input for axis in torus.axes if axis.kind == "category"}
    for position, name in enumerate(torus.names):
        if position in partials.inputs or np.isnan(rows.gradient[:, position]).all():
            continue
        reason = "is a category, which has no derivative" if position in levels else "is no input of the kernel"
        raise ValueError(f"gradient holds derivatives along {name!r}, which {reason}: give NaN there.")
    return DerivativeRows(layout(rows.X)[0], rows.gradient[:, list(partials.inputs)], rows.noise_scale)


def _missing_targets() -> Any:
    raise ValueError(
        "This estimator requires y to be passed, but the target y is None: only sources of chunks hold targets in X."
    )


def check_points(estimator: Any, X: Any, model: Model) -> NDArray[Any]:
    """Inputs of points to predict at, finite where they are numbers."""
    X = check_inputs(estimator, X, reset=False)
    if isinstance(estimator.kernel, Expression):
        check_used(X, model)
    return X
