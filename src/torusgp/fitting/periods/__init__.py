"""Periods and lattices found in data."""

from torusgp.fitting.periods._periodogram import Periodogram
from torusgp.fitting.periods._results import FoundPeriod, PeriodSearch
from torusgp.fitting.periods._sampling import Sampling
from torusgp.fitting.periods._search import MIN_GAIN, find_period
from torusgp.fitting.periods._setup import PeriodSetup, set_up_period
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
    "find_period",
    "set_up_period",
]
