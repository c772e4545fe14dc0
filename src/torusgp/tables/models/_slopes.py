r"""Slopes of plain columns: how much the target changes along them, and how well that is known.

They belong to the posterior of the weights. Where rows count :math:`1 / r` each, as the correlation of their noise asks
for on average over the fit, a slope may still take up more of it: a line in time is slower than anything that repeats.
The redundancy along the direction of a slope is estimated on its own, and its variance is increased by the ratio to
:math:`r`. Predictions follow: with :math:`c(x) = \mathrm{cov}(f(x), b)` their variance grows by the same share
of :math:`c(x)^2 / \mathrm{var}(b)`, which is what the slope contributes to it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.tables.models._correlation import redundancy_along
from torusgp.tables.models._inputs import TableInputs
from torusgp.tables.models._rows import Rows


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
        Factor of its variance by noise that is correlated along the column.
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


def estimate_slopes(
    model: TorusGPRegressor, rows: Rows, inputs: TableInputs, redundancy: float, block_rows: int | None = None
) -> list[SlopeEstimate]:
    """Slopes of the plain columns of a regressor that a user asked for.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    rows : Rows
        The rows that it was fitted to.
    inputs : TableInputs
        Where the inputs come from.
    redundancy : float
        How many rows counted as one.
    block_rows : int, optional
        Consecutive rows whose noise is correlated; None if it is not.

    Returns
    -------
    list of SlopeEstimate
    """
    fitted, found = model.fitted_, []
    for position, column in enumerate(inputs.slopes):
        covariance, variance = _weights(fitted, position)
        unit = fitted.statistics.plain_units()[1][position]
        inflation = 1.0
        if block_rows is not None:
            weight = 1.0 if rows.scale is None else 1 / rows.scale**2
            direction = weight * fitted.values(rows.X.to_numpy(), covariance[:, None])[:, 0]
            along = redundancy_along(model, rows.X, rows.y, direction, block_rows, rows.scale)
            inflation = max(1.0, along / redundancy)
        found.append(
            SlopeEstimate(
                column,
                float(fitted.posterior.weights[fitted.n_fourier + position, 0] / unit),
                float(np.sqrt(inflation * variance) / unit),
                inputs.unit(column),
                column == inputs.time,
                float(inflation),
            )
        )
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
