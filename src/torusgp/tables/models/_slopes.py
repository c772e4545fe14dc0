"""Slopes of plain columns: how much the target changes along them, and how well that is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.tables.inputs import TableInputs


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
    """

    column: str
    slope: float
    std: float
    per: str
    is_time: bool

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
        variance = fitted.posterior.covariance(0)[fitted.n_fourier + position, fitted.n_fourier + position]
        unit = fitted.statistics.plain_units()[1][position]
        slope = float(fitted.posterior.weights[fitted.n_fourier + position, 0] / unit)
        std = float(np.sqrt(variance) / unit)
        found.append(SlopeEstimate(column, slope, std, inputs.unit(column), column == inputs.time))
    return found
