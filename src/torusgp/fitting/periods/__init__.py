"""Periods and lattices found in data."""

from torusgp.fitting.periods._periodogram import Periodogram
from torusgp.fitting.periods._results import FoundPeriod, PeriodSearch
from torusgp.fitting.periods._sampling import Sampling
from torusgp.fitting.periods._search import MIN_GAIN, find_period
from torusgp.fitting.periods._setup import (
    PERIOD_NAMES,
    PeriodSetup,
    below_nyquist,
    check_period_names,
    is_searched,
    set_up_period,
)
from torusgp.fitting.periods._trend import Trend, TrendColumns

__all__ = [
    "MIN_GAIN",
    "PERIOD_NAMES",
    "FoundPeriod",
    "PeriodSearch",
    "PeriodSetup",
    "Periodogram",
    "Sampling",
    "Trend",
    "TrendColumns",
    "below_nyquist",
    "check_period_names",
    "find_period",
    "is_searched",
    "set_up_period",
]
