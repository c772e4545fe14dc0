"""Checks of the parameters of index sets."""

import numpy as np


def check_radius(radius, smallest):
    """Return a radius, or raise if it is not a finite number of at least ``smallest``."""
    if not isinstance(radius, int | float | np.number) or not np.isfinite(radius) or radius < smallest:
        raise ValueError(f"radius must be a finite number, at least {smallest:g}, got {radius!r}.")
    return float(radius)


def check_weights(weights, dimension):
    """Return one weight for each dimension, or raise if they are not numbers in [0, 1]."""
    try:
        gamma = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"weights must be numbers in [0, 1], got {weights!r}.") from None
    if gamma.ndim > 1 or (gamma.ndim == 1 and len(gamma) != dimension):
        raise ValueError(f"weights must be one number or {dimension}, one for each dimension, got {weights!r}.")
    if not ((gamma >= 0) & (gamma <= 1)).all():
        raise ValueError(f"weights must lie in [0, 1], got {weights!r}.")
    return np.broadcast_to(gamma, (dimension,))
