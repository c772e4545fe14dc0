"""Checks of the parameters of index sets."""

import numpy as np


def is_whole(value):
    """Whether a value is an integer, and not a truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def check_dimension(dimension):
    """Return a dimension, or raise if it is not a positive integer."""
    if not is_whole(dimension) or dimension < 1:
        raise ValueError(f"dimension must be a positive integer, got {dimension!r}.")
    return int(dimension)


def check_budget(n_components):
    """Return a number of components, or raise if it is not a positive integer."""
    if not is_whole(n_components) or n_components < 1:
        raise ValueError(f"n_components must be a positive integer, got {n_components!r}.")
    return int(n_components)


def check_max_interaction(max_interaction):
    """Return a limit on the order of interactions, or raise if it is neither None nor a positive integer."""
    if max_interaction is None:
        return None
    if not is_whole(max_interaction) or max_interaction < 1:
        raise ValueError(f"max_interaction must be a positive integer or None, got {max_interaction!r}.")
    return int(max_interaction)


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
