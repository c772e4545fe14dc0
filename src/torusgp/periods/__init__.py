"""Periods and lattices found in data."""

from torusgp.periods._periodogram import Periodogram
from torusgp.periods._results import FoundPeriod, PeriodSearch
from torusgp.periods._sampling import Sampling
from torusgp.periods._search import MIN_GAIN, find_period
from torusgp.periods._setup import (
    PERIOD_NAMES,
    PeriodSetup,
    below_nyquist,
    check_period_names,
    is_searched,
    set_up_period,
)
from torusgp.periods._trend import Trend, TrendColumns

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
