"""Index sets by name, as estimators take them."""

from torusgp.checks import check_count
from torusgp.kernels.index_sets._families import (
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    tensor,
    total_order,
)
from torusgp.kernels.index_sets._index_set import IndexSet

_FUNCTIONS = {
    "tensor": tensor,
    "total_order": total_order,
    "euclidean": euclidean,
    "hyperbolic_cross": hyperbolic_cross,
    "energy_norm_hyperbolic_cross": energy_norm_hyperbolic_cross,
}
NAMES = ("adaptive", *_FUNCTIONS)


def check_index_set(index_set, more=()):
    """Raise unless this is a set, the name of one, or one of more names."""
    names = (*NAMES, *more)
    if not isinstance(index_set, IndexSet) and not (isinstance(index_set, str) and index_set in names):
        known = ", ".join(map(repr, names))
        raise ValueError(f"index_set must be an IndexSet or one of {known}, got {index_set!r}.")


def named_set(name, dimension, n_components, *, weights=1.0, max_interaction=None):
    """The largest set of this name with at most n components.

    Parameters
    ----------
    name : str
        Name of a function of :mod:`torusgp.kernels.index_sets`, except the adaptive one, which needs a kernel.
    dimension : int
        Number of axes.
    n_components : int
        Largest number of components.
    weights : float or array-like of shape (dimension,), default=1.0
        Weights of the axes.
    max_interaction : int, optional
        Largest number of axes that interact.

    Returns
    -------
    IndexSet
    """
    budget = check_count(n_components, "n_components")
    if not isinstance(name, str) or name not in _FUNCTIONS:
        raise ValueError(f"name must be one of {', '.join(map(repr, _FUNCTIONS))}, got {name!r}.")
    return _FUNCTIONS[name](dimension, n_components=budget, weights=weights, max_interaction=max_interaction)
