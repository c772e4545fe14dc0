"""Slopes of plain columns: how much the target changes along them, and how well that is known.

They belong to the posterior of the weights. Files from before noise had a spectrum also contain by how much it made the
variance of a slope larger than the posterior says; their predictions stay as they were.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.tables.models._inputs import TableInputs


@dataclass(frozen=True)
class SlopeEstimate:
    """Slope of one plain column.

    Attributes
    ----------
    column : str
        Column of the table.
    slope, std : float
        Change of the target in a unit of the column, and its standard error.
    per : str
        The unit, in words: "year" of dates, else that of the column.
    is_time : bool
        Whether it is the column that orders the rows.
    inflation : float
        Of older files: factor of its variance by noise that is correlated along the column.
    """

    column: str
    slope: float
    std: float
    per: str
    is_time: bool
    inflation: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold of it."""
        return asdict(self)


def estimate_slopes(model: TorusGPRegressor, inputs: TableInputs) -> list[SlopeEstimate]:
    """Slopes of the plain columns of a regressor that a user asked for.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    inputs : TableInputs
        Where the inputs come from.

    Returns
    -------
    list of SlopeEstimate
    """
    fitted, found = model.fitted_, []
    for position, column in enumerate(inputs.slopes):
        _, variance = _weights(fitted, position)
        unit = fitted.statistics.plain_units()[1][position]
        slope = float(fitted.posterior.weights[fitted.n_fourier + position, 0] / unit)
        std = float(np.sqrt(variance) / unit)
        found.append(SlopeEstimate(column, slope, std, inputs.unit(column), column == inputs.time))
    return found


def inflated_std(
    model: TorusGPRegressor, X: Any, std: NDArray[np.float64], slopes: list[SlopeEstimate]
) -> NDArray[np.float64]:
    """Standard deviations of predictions, with what slopes add whose noise is correlated along them.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    X : pandas.DataFrame
        Inputs of the points.
    std : ndarray of shape (n_samples,)
        Standard deviations of the regressor.
    slopes : list of SlopeEstimate
        Those of its plain columns.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    more = sum(root**2 for root in inflation_roots(model, X, slopes))
    return np.sqrt(std**2 + more)


def inflation_roots(model: TorusGPRegressor, X: Any, slopes: list[SlopeEstimate]) -> list[NDArray[np.float64]]:
    """What noise along each slope adds to predictions, for one standard deviation of it; see :func:`inflated_std`."""
    roots = []
    for position, slope in enumerate(slopes):
        if slope.inflation > 1:
            covariance, variance = _weights(model.fitted_, position)
            through = model.fitted_.values(X.to_numpy(), covariance[:, None])[:, 0]
            roots.append(np.sqrt((slope.inflation - 1) / variance) * through)
    return roots


def _weights(fitted: FittedTorusGP, position: int) -> tuple[NDArray[np.float64], float]:
    """Posterior covariances of all weights with that of a plain column, and its variance."""
    covariance = fitted.posterior.covariance(0)[:, fitted.n_fourier + position]
    return covariance, float(covariance[fitted.n_fourier + position])
