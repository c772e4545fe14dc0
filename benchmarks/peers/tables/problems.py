"""Published tables, as rows to learn from and rows to predict, with the inputs that every method gets."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.tseries.holiday import USFederalHolidayCalendar

YEAR = 365.25
HOUR, WEEKDAY, SEASON = "hour", "weekday", "season"
LUNAR_DAY, LUNAR_MONTH = "lunar day", "lunar month"
PERIODS = {
    HOUR: 24.0,
    WEEKDAY: 7.0,
    SEASON: YEAR,
    "wind direction": 360.0,
    LUNAR_DAY: 24.84120241,
    LUNAR_MONTH: 27.321582,
}
CLOCK = (HOUR, WEEKDAY, SEASON, LUNAR_DAY, LUNAR_MONTH, "years")  # what follows from the time alone


@dataclass(frozen=True)
class Problem:
    """A table, of which some rows are held out.

    Attributes
    ----------
    title : str
        In the words of the page.
    frame : pandas.DataFrame
        The table as it is published: the column "time", the target and covariates.
    target : str
        Column to predict.
    unit : str
        Of the target.
    held_out : ndarray of bool
        Rows to predict; all others are learned from.
    X : pandas.DataFrame
        Inputs that are made of it: cycles of the calendar, "years", covariates. Those of text are categories.
    terms : tuple of tuple of str
        Inputs that are expected to act together, for the methods that want to be told.
    holidays : pandas.DataFrame or None
        Dates ("ds") and names ("holiday").
    counts : bool
        Whether targets are counts.
    """

    title: str
    frame: pd.DataFrame
    target: str
    unit: str
    held_out: np.ndarray
    X: pd.DataFrame
    terms: tuple
    holidays: pd.DataFrame | None = None
    counts: bool = False
    formula: str = ""  # the same terms for torusgp.TableModel, which reads the table itself
    settings: dict = field(default_factory=dict)  # further ones of it, as a user would give them

    @property
    def y(self):
        return self.frame[self.target].to_numpy(float)

    @property
    def is_forecast(self):
        """Whether all rows held out lie after those learned from."""
        years = self.X["years"]
        return bool(years[self.held_out].min() > years[~self.held_out].max())

    @property
    def spline_terms(self):
        """Terms for methods whose splines run away beyond the data: in a forecast time enters as a straight line."""
        if not self.is_forecast:
            return self.terms
        short = [tuple(name for name in term if name != "years") for term in self.terms]
        return tuple(dict.fromkeys(term for term in short if term))

    @property
    def numbers(self):
        """Inputs as numbers; categories are counted."""
        return self.X.apply(lambda one: one if one.dtype.kind in "fi" else one.astype("category").cat.codes)

    def take(self, rows):
        """The problem with some of its rows."""
        changes = {name: getattr(self, name) for name in self.__dataclass_fields__}
        changes |= {"frame": self.frame[rows], "held_out": self.held_out[rows], "X": self.X[rows]}
        return Problem(**changes)


def calendar_inputs(time):
    """Hour, weekday, day of the year, and time in years."""
    clock = time.dt
    return pd.DataFrame(
        {
            HOUR: clock.hour + clock.minute / 60,
            WEEKDAY: clock.day_of_week.astype(float),
            SEASON: (clock.day_of_year - 1).astype(float),
            "years": (time - time.iloc[0]) / pd.Timedelta(days=YEAR),
        }
    )


def electricity(folder):
    table = pd.read_csv(folder / "vic_elec/vic_elec.csv.gz")
    utc = pd.to_datetime(table.pop("time_utc"), utc=True)
    local = utc.dt.tz_convert("Australia/Melbourne")
    table = table.drop(columns=["hour_of_day", "day_of_week", "day_of_year"])
    table.insert(0, "time", local)
    X = calendar_inputs(local.dt.tz_localize(None))
    X["years"] = (utc - utc.iloc[0]) / pd.Timedelta(days=YEAR)
    X["temperature"] = table["temperature_C"]
    X["mean of 3 hours"] = table["temperature_C"].rolling(6, min_periods=1).mean()
    X["mean of 24 hours"] = table["temperature_C"].rolling(48, min_periods=1).mean()
    X["holiday"] = np.where(table["holiday"], "holiday", "other")
    days = local[table["holiday"] == 1].dt.tz_localize(None).dt.normalize().unique()
    return Problem(
        "Electricity demand in Victoria, half-hourly; 2014 from 2012 and 2013",
        table,
        "demand_MW",
        "MW",
        (local.dt.year == 2014).to_numpy(),
        X,
        (
            (HOUR, WEEKDAY),
            (HOUR, SEASON),
            (HOUR, "temperature"),
            (HOUR, "mean of 24 hours"),
            ("temperature", "mean of 24 hours"),
            ("mean of 3 hours",),
            (HOUR, "holiday"),
            ("years",),
        ),
        pd.DataFrame({"ds": days, "holiday": "public holiday"}),
        formula="hour * weekday + hour * year + hour * temperature_C + hour * temperature_C_24h + temperature_C_3h"
        " + temperature_C * temperature_C_24h + holiday * hour + time",
        settings={"lags": {"temperature_C": ["3h", "24h"]}},
    )


def nox(folder):
    table = pd.read_csv(folder / "openair/london_nox.csv.gz", parse_dates=["time_utc"])
    columns = {"time_utc": "time", "wind_speed_m_s": "wind speed", "wind_direction_deg": "wind direction"}
    table = table.rename(columns=columns)[[*columns.values(), "nox_ppb"]].dropna()
    table = table[table["nox_ppb"] > 0].reset_index(drop=True)
    table["log NOx"] = np.log(table.pop("nox_ppb"))
    table["time"] = table["time"].dt.tz_convert("Europe/London")
    local = table["time"].dt.tz_localize(None)
    X = calendar_inputs(local)
    X["wind speed"], X["wind direction"] = table["wind speed"], table["wind direction"].astype(float)
    fortnight = ((local - local.iloc[0]) // pd.Timedelta(days=14)).to_numpy()
    return Problem(
        "Nitrogen oxides in a London street, hourly; every other fortnight",
        table,
        "log NOx",
        "log ppb",
        fortnight % 2 == 1,
        X,
        (("wind direction", "wind speed"), (HOUR, WEEKDAY), (HOUR, "wind direction"), (HOUR, SEASON), ("years",)),
        formula="circle('wind direction', 360) * 'wind speed' + hour * weekday + hour * circle('wind direction', 360)"
        " + hour * year + time",
        settings={"inputs": ["time", "wind direction", "wind speed"], "periods": {"wind direction": 360}},
    )


def bicycles(folder):
    table = pd.read_csv(folder / "fremont/fremont_bridge_hourly.csv.gz", parse_dates=["time_local"])
    weather = pd.read_csv(folder / "fremont/seatac_weather_daily.csv.gz", parse_dates=["date"])
    table = table.rename(columns={"time_local": "time"})
    table["date"], table["bicycles"] = table["time"].dt.normalize(), table["west"] + table["east"]
    table = table.merge(weather, on="date").dropna(subset=["bicycles"])
    table = table[table["time"] < "2015-09-01"].reset_index(drop=True)
    table["rain"], table["warmest"] = np.log1p(table["rain_tenth_mm"] / 10), table["max_tenth_C"] / 10
    dates = USFederalHolidayCalendar().holidays("2012-01-01", "2016-12-31")
    table["holiday"] = np.where(table["date"].isin(dates), "holiday", "other")
    table = table[["time", "bicycles", "rain", "warmest", "holiday"]]
    X = calendar_inputs(table["time"])
    X[["rain", "warmest", "holiday"]] = table[["rain", "warmest", "holiday"]]
    return Problem(
        "Bicycles over the Fremont bridge in Seattle, hourly; a year from the 23 months before",
        table,
        "bicycles",
        "bicycles",
        (table["time"] >= "2014-09-01").to_numpy(),
        X,
        ((HOUR, WEEKDAY), (HOUR, SEASON), (HOUR, "rain"), (HOUR, "warmest"), (HOUR, "holiday"), ("years",)),
        pd.DataFrame({"ds": dates, "holiday": "public holiday"}),
        counts=True,
        formula="hour * weekday + hour * year + hour * rain + hour * warmest + hour * holiday + time",
        settings={"likelihood": "negative_binomial"},
    )


def births(folder):
    table = pd.read_csv(folder / "births/us_births_1969_1988.csv.gz", parse_dates=["date"])
    table = table.rename(columns={"date": "time"})
    dates = USFederalHolidayCalendar().holidays("1969-01-01", "1988-12-31")
    table["holiday"] = np.where(table["time"].isin(dates), "holiday", "other")
    X = calendar_inputs(table["time"]).drop(columns=HOUR)
    X["holiday"] = table["holiday"]
    return Problem(
        "Births in the USA, daily; 1987 and 1988 from 18 years",
        table,
        "births",
        "births",
        (table["time"] >= "1987-01-01").to_numpy(),
        X,
        ((SEASON,), (WEEKDAY, "years"), (WEEKDAY, "holiday"), ("years",)),
        pd.DataFrame({"ds": dates, "holiday": "public holiday"}),
        formula="year + weekday * time + weekday * holiday + time",
    )


def tides(folder):
    table = pd.read_csv(folder / "tides/portland.csv.gz", parse_dates=["time_utc"])
    table = table.rename(columns={"time_utc": "time"})
    table["time"] = table["time"].dt.tz_localize(None)
    table = table.dropna(subset=["sea_level_m"]).reset_index(drop=True)
    hours = (table["time"] - table["time"].iloc[0]) / pd.Timedelta(hours=1)
    X = calendar_inputs(table["time"]).drop(columns=WEEKDAY)
    X[LUNAR_DAY], X[LUNAR_MONTH] = hours % PERIODS[LUNAR_DAY], hours / 24 % PERIODS[LUNAR_MONTH]
    table[[LUNAR_DAY, LUNAR_MONTH]] = X[[LUNAR_DAY, LUNAR_MONTH]]
    day, month = (f"circle('{name}', {PERIODS[name]})" for name in (LUNAR_DAY, LUNAR_MONTH))
    return Problem(
        "Sea level at Portland, hourly; 2014 from 2012 and 2013",
        table,
        "sea_level_m",
        "m",
        (table["time"] >= "2014-01-01").to_numpy(),
        X,
        ((LUNAR_DAY, LUNAR_MONTH), (LUNAR_DAY, SEASON), (HOUR, SEASON), (LUNAR_MONTH, SEASON), ("years",)),
        formula=f"{day} * {month} + {day} * year + hour * year + {month} * year + time",
        settings={
            "inputs": ["time", LUNAR_DAY, LUNAR_MONTH],
            "periods": {name: PERIODS[name] for name in (LUNAR_DAY, LUNAR_MONTH)},
        },
    )


PROBLEMS = {one.__name__: one for one in (electricity, nox, bicycles, births, tides)}


def load(name, folder):
    """A problem, read from the folder of published data."""
    return PROBLEMS[name](Path(folder))
