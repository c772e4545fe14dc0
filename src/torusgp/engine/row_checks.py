"""Checks of the rows that statistics are gathered from."""

import numpy as np

from torusgp.checks import check_numbers, check_sample_weight, check_scale, check_size
from torusgp.kernels.product import check_turns


def check_rows(X, y, sample_weight, noise_scale, plain, *, period, dimension, n_outputs, n_plain):
    """Checked inputs, targets with plain columns after them, weights and precisions.

    Parameters
    ----------
    X, y, sample_weight, noise_scale, plain
        Rows as they are given, see :meth:`SufficientStatistics.from_data`.
    period : float or ndarray
        Periods or cell of the axes.
    dimension, n_outputs, n_plain : int
        How many axes, targets and plain columns there have to be.

    Returns
    -------
    X, y, weight, precision : ndarray
    """
    for name, values in {"X": X, "y": y, "plain": plain}.items():
        check_numbers(values, name)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    y = y[:, None] if y.ndim == 1 else y
    if X.ndim != 2 or X.shape[1] != dimension:
        raise ValueError(f"X must have shape (n_samples, {dimension}), got {X.shape}.")
    if y.shape != (len(X), n_outputs):
        raise ValueError(f"y must have shape ({len(X)}, {n_outputs}), got {y.shape}.")
    plain = np.empty((len(X), 0)) if plain is None else np.asarray(plain, dtype=float)
    if plain.shape != (len(X), n_plain):
        raise ValueError(f"plain must have shape ({len(X)}, {n_plain}), got {plain.shape}.")
    if n_plain:
        y = np.hstack([y, plain])
    weight = precision = check_sample_weight(sample_weight, len(X), any_counts=False)
    if noise_scale is not None:
        precision = weight / check_scale(noise_scale, "noise_scale", len(X)) ** 2
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError("X and y must be finite, they hold NaN or infinity.")
    check_size(y, "y")
    check_turns(X, period)
    return X, y, weight, precision
