"""Standard errors of what was learned, from the curvature of the evidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.descent import curvature
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.learning import log_evidence_and_gradient
from torusgp.fitting.parameters import Parameters

AT_BOUND = 1.01  # how near a parameter is to a bound that it has run into


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

    What has run into a bound is held there.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.

    Returns
    -------
    dict of ndarray
        By the names of the parameters; not a number where nothing was learned, at a bound, and everywhere if the
        evidence has no maximum.
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
        With those as learned that did not run into a bound: their vector has this covariance.
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
    if not np.linalg.eigvalsh(matrix)[0] > 0:
        return here, None
    return here, np.asarray(np.linalg.inv(matrix), dtype=np.float64)
