"""Checks of what a search for periods is given."""

from math import isnan

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from torusgp.checks import check_numbers, check_sample_weight, check_scale, check_size, is_real
from torusgp.fitting.periods._trend import TrendColumns

_MAX_DIMENSION = 3


def check_rows(X, y, sample_weight, noise_scale=None):
    """Inputs and targets of two dimensions and weights of the rows, without rows of weight zero."""
    check_numbers(X)
    check_numbers(y, "y")
    X = check_array(X, ensure_2d=False, dtype=np.float64, input_name="X")
    X = X[:, None] if X.ndim == 1 else X
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    y = y[:, None] if y.ndim == 1 else y
    check_size(y, "y")
    check_consistent_length(X, y)
    if X.ndim != 2 or not 1 <= X.shape[1] <= _MAX_DIMENSION:
        raise ValueError(f"X must have one to {_MAX_DIMENSION} columns, got shape {X.shape}.")
    weight = check_sample_weight(sample_weight, len(X))
    if noise_scale is not None:
        precision = weight / check_scale(noise_scale, "noise_scale", len(X)) ** 2
        weight = precision * (weight.sum() / precision.sum())  # rows count as many as before on average
    if not (weight > 0).all():
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    unknowns = TrendColumns.slow(X.shape[1]).n_columns + 2 * X.shape[1] + X.shape[1] ** 2
    if len(X) < unknowns:
        raise ValueError(
            f"{len(X)} rows are too few to find a period: slow change, one sinusoid along each input and the periods "
            f"are {unknowns} unknowns. Give more rows, or the period."
        )
    return X, y, weight


def is_unknown(entry):
    """Whether an entry of a period says that it is to be found."""
    return entry is None or (isinstance(entry, str) and entry == "auto") or (isinstance(entry, float) and isnan(entry))


def check_known(period, dimension):
    """Known periods, not a number where they are to be found."""
    if isinstance(period, str) and period == "auto":
        return np.full(dimension, np.nan)
    if np.asarray(period, dtype=object).ndim != 1 or (len(period) != dimension and dimension > 1):
        raise ValueError(f"period must be 'auto' or hold one entry for each of the {dimension} inputs, got {period!r}.")
    if not all(is_unknown(entry) or is_real(entry) for entry in period):
        raise ValueError(f"period must hold numbers, or 'auto' where it is to be found, got {period!r}.")
    known = np.array([np.nan if is_unknown(entry) else float(entry) for entry in period])
    if (known <= 0).any() or np.isinf(known).any():
        raise ValueError(f"period must be positive and finite where it is known, got {period!r}.")
    if np.isfinite(known).all():
        raise ValueError(f"period={period!r} leaves nothing to be found: put 'auto' for the inputs to search.")
    return known


def check_limit(value, name, dimension):
    """A positive number for each input."""
    given = np.asarray(value, dtype=object)
    is_given = given.shape in ((), (dimension,)) and all(is_real(entry) for entry in given.ravel())
    limit = given.astype(float) if is_given else np.empty(0)
    if not is_given or not ((limit > 0) & np.isfinite(limit)).all():
        raise ValueError(f"{name} must be a positive number, or one for each of the {dimension} inputs, got {value!r}.")
    return np.broadcast_to(limit, (dimension,))
