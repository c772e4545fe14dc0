"""What fits decide and come to: preliminary outcomes, and fitted models with what later fits start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.learning import Learned
from torusgp.fitting.periods import PeriodSearch
from torusgp.kernels.resolve import Model


@dataclass(frozen=True)
class Fit:
    """A fitted model, and what a later fit of more rows starts from.

    Attributes
    ----------
    model : Model
        Axes and terms.
    fitted : FittedTorusGP
        The outcome.
    learned : Learned
        Where learning ended: parameters and set.
    period_std : ndarray or None
        Standard errors of periods that were found or learned.
    search : PeriodSearch or None
        Outcome of the search for periods.
    left_out, noise_squares : ndarray of shape (n_samples,) or None
        Where noise is correlated: residuals of blocks of rows, each predicted from all others, and expected squares of
        the noise by these; in units of their known scales.
    redundancy : float
        How many rows count as one, as their noise is correlated.
    """

    model: Model
    fitted: FittedTorusGP
    learned: Learned
    period_std: NDArray[np.float64] | None = None
    search: PeriodSearch | None = None
    noise_squares: NDArray[np.float64] | None = None
    left_out: NDArray[np.float64] | None = None
    redundancy: float = 1.0


@dataclass(frozen=True)
class Preliminary:
    """What is decided on some rows, before the sums over all of them are computed."""

    model: Model
    learned: Learned
    period_std: NDArray[np.float64] | None = None
    search: PeriodSearch | None = None
    extent: NDArray[np.float64] | None = None  # of the inputs of those rows
