"""Demand for electricity with the seasons of day, week and year."""

import csv
import gzip
import zlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from torusgp.data.datasets._sources import Source

_COLUMNS = ("time_utc", "hour_of_day", "day_of_week", "day_of_year", "demand_MW", "temperature_C", "holiday")
_HALF_HOUR = np.timedelta64(30, "m")
_N_SAMPLES = 52608
_START = np.datetime64("2011-12-31T13:00")  # midnight of New Year in Victoria, in UTC
_TEST_START = np.datetime64("2013-12-31T13:00")
SOURCE = Source(
    "vic_elec/vic_elec.csv.gz",
    repository="tidyverts/tsibbledata",
    commit="a9c811a5ca1748df885491a4bcebe024c9d48e08",
    path="data/vic_elec.rda",
    note=(
        "That is a file of R, which has to be written as a compressed CSV file first: the documentation of "
        "load_electricity_demand says with which columns."
    ),
)


@dataclass(frozen=True)
class ElectricityDemand:
    """Half-hourly demand for electricity in Victoria, Australia, over the years 2012 to 2014.

    All arrays have shape (52608,). Hours, days and years are those of clocks in Victoria, summer time included.

    Attributes
    ----------
    time : ndarray of datetime64[m]
        Start of each half hour, UTC.
    hour_of_day : ndarray of float
        Hours since midnight, in [0, 24).
    day_of_week : ndarray of float
        Days since the midnight before Monday, in [0, 7).
    day_of_year : ndarray of float
        Time since New Year, stretched so that every year has 365.25 days: in [0, 365.25).
    demand : ndarray of float
        Demand in MW.
    temperature : ndarray of float
        Temperature in Melbourne in degrees Celsius.
    holiday : ndarray of bool
        Whether the day is a public holiday.
    period : tuple of float
        Periods of the inputs of :meth:`split`: 24 hours, 7 days, 365.25 days.
    """

    time: np.ndarray
    hour_of_day: np.ndarray
    day_of_week: np.ndarray
    day_of_year: np.ndarray
    demand: np.ndarray
    temperature: np.ndarray
    holiday: np.ndarray
    period: ClassVar[tuple[float, float, float]] = (24.0, 7.0, 365.25)

    def split(self):
        """The years 2012 and 2013 to learn from, and 2014 to predict.

        Returns
        -------
        X_train, X_test : ndarray of shape (35088, 3) and (17520, 3)
            Hour of the day, day of the week and day of the year.
        y_train, y_test : ndarray of shape (35088,) and (17520,)
            Demand in MW.
        """
        X = np.column_stack([self.hour_of_day, self.day_of_week, self.day_of_year])
        later = self.time >= _TEST_START
        return X[~later], X[later], self.demand[~later], self.demand[later]


def load_electricity_demand():
    """Half-hourly demand for electricity in Victoria, Australia, with temperature and public holidays.

    The set ``vic_elec`` of the R package tsibbledata, from data of the Australian Energy Market Operator.

    Returns
    -------
    ElectricityDemand

    Notes
    -----
    Read from ``vic_elec/vic_elec.csv.gz`` in the folder that the environment variable ``TORUSGP_DATA`` names. It is
    not downloaded, as the published file is one of R. From that the compressed CSV file is made with a line for each
    half hour, in order, below the line
    ``time_utc,hour_of_day,day_of_week,day_of_year,demand_MW,temperature_C,holiday``:
    the time as in 2011-12-31T13:00Z, the calendar as in :class:`ElectricityDemand`, and holidays as 0 or 1.

    Examples
    --------
    >>> X_train, X_test, y_train, y_test = load_electricity_demand().split()  # doctest: +SKIP
    """
    path = SOURCE.locate()
    try:
        with gzip.open(path, "rt", encoding="ascii", newline="") as file:
            lines = csv.reader(file)
            header, rows = tuple(next(lines, ())), list(lines)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ValueError(f"Cannot read {path}: it is not a compressed CSV file, or damaged ({error}).") from error
    if header != _COLUMNS:
        raise ValueError(f"{path} must begin with the columns {','.join(_COLUMNS)}, got {','.join(header)[:200]!r}.")
    if len(rows) != _N_SAMPLES or any(len(row) != len(_COLUMNS) for row in rows):
        raise ValueError(
            f"{path} must have {_N_SAMPLES} lines of {len(_COLUMNS)} values below its first, got {len(rows)}."
        )
    times, *numbers = zip(*rows, strict=True)
    try:
        time = np.array([text.removesuffix("Z") for text in times], dtype="datetime64[m]")
        values = np.array(numbers, dtype=float)
    except ValueError as error:
        raise ValueError(f"{path} holds something that is no number or time: {error}.") from error
    if time[0] != _START or (np.diff(time) != _HALF_HOUR).any():
        raise ValueError(f"The times of {path} must be every half hour from {_START}Z on.")
    hour, weekday, yearday, demand, temperature, holiday = values
    for name, column, period in zip(_COLUMNS[1:4], values, ElectricityDemand.period, strict=False):
        if not ((column >= 0) & (column < period)).all():
            raise ValueError(f"{name} of {path} must be in [0, {period:g}), got {column.min()} to {column.max()}.")
    if not (np.isfinite(values).all() and np.isin(holiday, (0, 1)).all()):
        raise ValueError(f"{path} must hold finite numbers, and holidays as 0 or 1.")
    return ElectricityDemand(time, hour, weekday, yearday, demand, temperature, holiday == 1)
