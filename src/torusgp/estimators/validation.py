"""Rows and points that users give, as estimators of scikit-learn check them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, validate_data

from torusgp.checks import check_noise_size, check_numbers, check_size
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.rows import Rows
from torusgp.kernels.axes import Expression
from torusgp.kernels.resolve import Layout, Model
from torusgp.kernels.torus import to_finite_numbers


def check_inputs(estimator: Any, X: Any, reset: bool, y: Any = None) -> Any:
    """Inputs as an array: of floats, or of objects if the kernel has categories; with targets if there are any."""
    check_numbers(X)
    check_numbers(y, "y")
    options: dict[str, Any] = {"dtype": np.float64}
    if isinstance(estimator.kernel, Expression):  # columns that are not used may hold anything
        options = {"dtype": None, "ensure_all_finite": False}
    if y is None:
        X = validate_data(estimator, X, reset=reset, **options)
    else:
        X, y = validate_data(estimator, X, y, multi_output=True, y_numeric=True, reset=reset, **options)
    if X.dtype.kind in "iub" or X.dtype == np.float32:
        X = X.astype(np.float64)
    return X if y is None else (X, y)


def check_used(X: NDArray[Any], model: Model) -> None:
    """Raise if an input that the model uses as a number is none, or not finite."""
    torus = model.torus
    used = {axis.input for axis in torus.axes if axis.kind != "category"} | {one.input for one in model.columns}
    for position in sorted(used):
        to_finite_numbers(X[:, position], torus.names[position])


def check_fit_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, noise_scale: Any, model: Model | None, reset: bool
) -> Rows:
    """Checked rows: all inputs as they are for a model that is still to be made, else laid on its axes."""
    X, y = check_inputs(estimator, X, reset, y if y is not None else _missing_targets())
    if reset:
        estimator._y_ndim = y.ndim
    check_size(y, "y")
    y = check_likelihood(estimator.likelihood).to_latent(y.astype(float, copy=False).reshape(len(y), -1))
    check_numbers(sample_weight, "sample_weight")
    check_numbers(noise_scale, "noise_scale")
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if not sample_weight.any():
            raise ValueError("sample_weight is zero for every row: nothing is left to learn from.")
        check_size(sample_weight, "sample_weight")
    if noise_scale is not None:
        noise_scale = column_or_1d(check_array(noise_scale, ensure_2d=False, dtype=np.float64))
        check_consistent_length(X, noise_scale)
        if not (noise_scale > 0).all():
            raise ValueError(f"noise_scale must be positive, its smallest value is {noise_scale.min()!r}.")
        check_noise_size(noise_scale)
    if sample_weight is not None and not sample_weight.all():  # such rows are none: they must not widen a range
        counted = sample_weight > 0
        X, y, sample_weight = X[counted], y[counted], sample_weight[counted]
        noise_scale = None if noise_scale is None else noise_scale[counted]
    if model is None:
        return Rows(X, y, sample_weight, noise_scale)
    check_used(X, model)
    layout = Layout(model.torus, tuple(column.input for column in model.columns))
    coordinates, plain = layout(X)
    return Rows(coordinates, y, sample_weight, noise_scale, plain)


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
