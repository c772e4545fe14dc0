"""Rows and points that users give, as estimators of scikit-learn check them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import _check_sample_weight, validate_data

from torusgp.data.checks import check_no_times
from torusgp.fitting.likelihoods import LIKELIHOODS, check_likelihood
from torusgp.fitting.rows import Rows
from torusgp.kernels.axes import Expression
from torusgp.kernels.resolve import Layout, Model
from torusgp.kernels.torus import to_finite_numbers


def check_inputs(estimator: Any, X: Any, reset: bool, y: Any = None) -> Any:
    """Inputs as an array: of floats, or of objects if the kernel has categories; with targets if there are any."""
    check_no_times(X)
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


def check_numbers(X: NDArray[Any], model: Model) -> None:
    """Raise if an input that the model uses as a number is none, or not finite."""
    torus = model.torus
    used = {axis.input for axis in torus.axes if axis.kind != "category"} | {one.input for one in model.columns}
    for position in sorted(used):
        to_finite_numbers(X[:, position], torus.names[position])


def row_scale(likelihood: Any, noise_scale: Any, exposure: Any) -> Any:
    """What is known of each row beside its target: the scale of its noise, or its exposure."""
    given = {"noise_scale": noise_scale, "exposure": exposure}
    for name, value in given.items():
        if value is not None and likelihood.takes != name:
            those = ", ".join(repr(one) for one, kind in LIKELIHOODS.items() if kind.takes == name)
            raise ValueError(f"likelihood={likelihood.name!r} has no {name}, which is for {those}: leave it out.")
    return None if likelihood.takes is None else given[likelihood.takes]


def check_scale(scale: Any, name: str, n_rows: int) -> NDArray[np.float64]:
    """Positive numbers, one for each row."""
    scale = column_or_1d(check_array(scale, ensure_2d=False, dtype=np.float64, input_name=name))
    if len(scale) != n_rows:
        raise ValueError(f"{name} must hold one number for each of the {n_rows} rows, got {len(scale)}.")
    if not (scale > 0).all():
        row = int(np.argmin(scale > 0))
        raise ValueError(f"{name} must be positive, but row {row} has {scale[row]!r}: leave such rows out.")
    return scale


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
        estimator._y_ndim = y.ndim
    y = check_targets(likelihood, y.astype(float, copy=False).reshape(len(y), -1))
    if sample_weight is not None:
        sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if not sample_weight.any():
            raise ValueError("sample_weight is zero for every row: nothing is left to learn from.")
    if scale is not None:
        scale = check_scale(scale, likelihood.takes, len(X))
    if sample_weight is not None and not sample_weight.all():  # such rows are none: they must not widen a range
        counted = sample_weight > 0
        X, y, sample_weight = X[counted], y[counted], sample_weight[counted]
        scale = None if scale is None else scale[counted]
    if model is None:
        return Rows(X, y, sample_weight, scale)
    check_numbers(X, model)
    layout = Layout(model.torus, tuple(column.input for column in model.columns))
    coordinates, plain = layout(X)
    return Rows(coordinates, y, sample_weight, scale, plain)


def _missing_targets() -> Any:
    raise ValueError(
        "This estimator requires y to be passed, but the target y is None: only sources of chunks hold targets in X."
    )


def check_points(estimator: Any, X: Any, model: Model) -> NDArray[Any]:
    """Inputs of points to predict at, finite where they are numbers."""
    X = check_inputs(estimator, X, reset=False)
    if isinstance(estimator.kernel, Expression):
        check_numbers(X, model)
    return X
