"""Periods and lattices found in data."""

from torusgp.fitting.periods._periodogram import Periodogram
from torusgp.fitting.periods._results import FoundPeriod, PeriodSearch
from torusgp.fitting.periods._sampling import Sampling, nyquist_frequency
from torusgp.fitting.periods._search import MIN_GAIN, find_period
from torusgp.fitting.periods._setup import PeriodSetup, below_nyquist, set_up_period
from torusgp.fitting.periods._trend import Trend, TrendColumns

__all__ = [
    "MIN_GAIN",
    "FoundPeriod",
    "PeriodSearch",
    "PeriodSetup",
    "Periodogram",
    "Sampling",
    "Trend",
    "TrendColumns",
    "below_nyquist",
    "find_period",
    "nyquist_frequency",
    "set_up_period",
]
