"""Length scales that were learned, with their standard errors and the bounds that they have run into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torusgp.fitting.curvature import bounds_reached, standard_errors
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.prior import scale_name


@dataclass(frozen=True)
class LengthScale:
    """Length scale of one factor of a term.

    Attributes
    ----------
    axis : int
        Axis of the torus, of a lattice one of its axes.
    value, std : float
        The length scale and its standard error: not a number if it was not learned, has run into a bound, or the
        evidence has no maximum.
    lower : float
        Its lower bound.
    bound : {"lower", "upper", None}
        The bound that it has run into. At the lower one a model follows single rows; at the upper one the axis has no
        effect.
    """

    axis: int
    value: float
    std: float
    lower: float
    bound: str | None


def length_scales(fitted: FittedTorusGP, errors: bool = True) -> list[list[LengthScale]]:
    """Length scales of a fitted model of one target.

    Signal and noise variances are taken to be learned along with them. The evidence is that of the rows as they were
    counted.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.
    errors : bool, default=True
        Whether to compute standard errors; otherwise they are not a number.

    Returns
    -------
    list of list of LengthScale
        For each term, those of its factors.
    """
    stds = standard_errors(fitted) if errors else {}
    result = []
    for term, scales in zip(fitted.prior.terms, fitted.prior.scales(fitted.parameters), strict=True):
        name = scale_name(term)
        lower, std = fitted.parameters.entry(name).lower, stds.get(name, np.nan)
        bounds = np.broadcast_to(np.array(bounds_reached(fitted, name), dtype=object), scales.shape)
        axes = [
            factor.axes[i] if len(factor.length_scale) > 1 else factor.axes[0]
            for factor in term.factors
            for i in range(len(factor.length_scale))
        ]
        columns = (scales, *(np.broadcast_to(one, scales.shape) for one in (std, lower)))
        result.append(
            [
                LengthScale(axis, float(value), float(error), float(low), bound)
                for axis, value, error, low, bound in zip(axes, *columns, bounds, strict=True)
            ]
        )
    return result
