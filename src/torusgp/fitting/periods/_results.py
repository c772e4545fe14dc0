"""What a search for periods returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from torusgp.fitting.periods._periodogram import Periodogram
from torusgp.fitting.periods._trend import Trend


@dataclass(frozen=True, eq=False)
class FoundPeriod:
    """A period or a cell, and how well the data support it.

    Attributes
    ----------
    period : float, or ndarray of shape (dimension,) or (dimension, dimension)
        Period, periods along the inputs, or cell with lattice vectors as rows, shortest first, right-handed.
    period_std : float or ndarray of the same shape
        Standard errors, from the curvature of the evidence.
    log_evidence : float
        Log evidence of slow change, a few harmonics of this and of the periods found before, and noise; for targets
        of variance one.
    gain : float
        Log evidence gained over a model without this period, less the price of having searched for it. The model
        without has constant, line and white noise or, where that explains more, noise as strong as it is right beside
        the frequencies of the period: a random walk gains nothing. Only the winner's is known; for others not a number.
    gain_over_line : float
        Log evidence gained over constant plus line, and the periods found before.
    """

    period: float | np.ndarray
    period_std: float | np.ndarray
    log_evidence: float
    gain: float
    gain_over_line: float


@dataclass(frozen=True, eq=False)
class PeriodSearch(Sequence):
    """Periods that were found, best first: a sequence of :class:`FoundPeriod`, empty if nothing repeats.

    Attributes
    ----------
    found : tuple of FoundPeriod
        The sequence itself.
    candidates : tuple of FoundPeriod
        All that were polished, reported or not, by evidence, those for the first period first.
    periodogram : Periodogram
        Share of the variance that single sinusoids explain.
    min_gain : float
        Gain from which a period is reported.
    trend : Trend
        Slow change beside the periods.
    nyquist : ndarray of shape (n_inputs,)
        Highest frequency along each input that the data can show; infinite where they lie on no grid.
    searched : ndarray of shape (2, n_inputs)
        Shortest and longest period along each input that were looked for.
    """

    found: tuple
    candidates: tuple
    periodogram: Periodogram = field(repr=False)
    min_gain: float
    trend: Trend = field(repr=False)
    nyquist: np.ndarray = field(repr=False)
    searched: np.ndarray = field(repr=False)

    def __len__(self):
        return len(self.found)

    def __getitem__(self, item):
        return self.found[item]


def describe(period):
    """A period or cell in one line."""
    return np.array2string(np.asarray(period), precision=5).replace("\n", "")


def too_few_rows(n_rows, candidates, min_gain):
    """What is said where nothing was found in rows that show only what is very clear."""
    tried = [one for one in candidates if np.isfinite(one.gain)]
    best = ""
    if tried:
        best = f" The best candidate, {describe(tried[0].period)}, gains {tried[0].gain:.1f} of {min_gain:g}."
    return (
        f"No period was found in {n_rows} rows, which are too few to tell any but a very clear one from noise.{best} "
        "Give more rows, or narrow the search with min_period and max_period."
    )
