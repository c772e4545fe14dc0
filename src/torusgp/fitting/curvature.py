"""Standard errors of what was learned, from the curvature of the evidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.descent import curvature
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.learning import log_evidence_and_gradient
from torusgp.fitting.parameters import Parameters

AT_BOUND = 1.01  # how near a parameter is to a bound that it has run into
_FLAT = 1e-10  # of the largest curvature: below it, differences of gradients are rounding
_INVOLVED = 1e-6  # share of a parameter in a direction along which the evidence is flat; less is rounding


def bounds_reached(fitted: FittedTorusGP, name: str) -> list[str | None]:
    """Which entries of a parameter have run into a bound while they were learned.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.
    name : str
        Name of the parameter.

    Returns
    -------
    list of {"lower", "upper", None}
        One for each entry.
    """
    entry = fitted.parameters.entry(name)
    return [
        None if not learned else "lower" if value <= low * AT_BOUND else "upper" if value >= high / AT_BOUND else None
        for value, low, high, learned in zip(entry.value, entry.lower, entry.upper, entry.learned, strict=True)
    ]


def standard_errors(fitted: FittedTorusGP) -> dict[str, NDArray[np.float64]]:
    """Standard errors of the learned parameters, for the frequencies and the periods of the fit.

    What has run into a bound, and what the evidence does not depend on, is held.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.

    Returns
    -------
    dict of ndarray
        By the names of the parameters; not a number where nothing was learned, at a bound, where the evidence is
        flat, as for the length scale of a term without variance, and everywhere if the evidence has no maximum.
    """
    errors = {name: np.full(len(fitted.parameters[name]), np.nan) for name in fitted.parameters}
    free, covariance = log_covariance(fitted)
    if covariance is None:
        return errors
    relative, start = np.sqrt(np.diag(covariance)), 0  # those of the logarithms
    for name in free:
        where = free.entry(name).learned
        count = int(where.sum())
        errors[name][where] = free[name][where] * relative[start : start + count]
        start += count
    return errors


def log_covariance(fitted: FittedTorusGP) -> tuple[Parameters, NDArray[np.float64] | None]:
    """Covariance of the logarithms of the learned parameters, for the frequencies and the periods of the fit.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.

    Returns
    -------
    parameters : Parameters
        With those as learned that did not run into a bound and that the evidence depends on: their vector has this
        covariance.
    covariance : ndarray of shape (n_learned, n_learned) or None
        None if nothing was learned, or the evidence has no maximum.
    """
    parameters = fitted.parameters
    free = {name: np.array([bound is None for bound in bounds_reached(fitted, name)]) for name in parameters}
    here = parameters.with_learned({name: inside & parameters.entry(name).learned for name, inside in free.items()})
    vector = here.to_vector()
    if not len(vector):
        return here, None

    def slope(point: NDArray[np.float64]) -> NDArray[np.float64]:
        at = here.with_vector(point)
        _, gradient = log_evidence_and_gradient(fitted.linear, fitted.prior, fitted.index_set.frequencies, at)
        return here.pack(gradient)

    matrix = -curvature(slope, vector)
    values, directions = np.linalg.eigh(matrix)
    is_flat = np.abs(values) <= _FLAT * values[-1]
    if is_flat.all() or not values[~is_flat][0] > 0:
        return here, None
    known = np.sum(directions[:, is_flat] ** 2, axis=1) < _INVOLVED
    here = _with_known(here, known)
    return here, np.asarray(np.linalg.inv(matrix[np.ix_(known, known)]), dtype=np.float64)


def _with_known(parameters: Parameters, known: NDArray[np.bool_]) -> Parameters:
    """Parameters of whose vector these entries alone are learned."""
    learned, start = {}, 0
    for name in parameters:
        learned[name] = parameters.entry(name).learned.copy()
        stop = start + int(learned[name].sum())
        learned[name][learned[name]] = known[start:stop]
        start = stop
    return parameters.with_learned(learned)
