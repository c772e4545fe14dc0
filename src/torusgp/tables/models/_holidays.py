"""Public holidays, and the days before and after them, as levels of a category."""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.data.tables import did_you_mean
from torusgp.libraries import require

NAME = "holidays"  # of the input
ORDINARY, BEFORE, HOLIDAY, AFTER = "no", "day before", "holiday", "day after"


def check_holidays(code: Any) -> None:
    """Raise if a country or its part has no holidays that are known.

    Parameters
    ----------
    code : str
        Country of ISO 3166, such as "DE", and part of it, such as "AU-VIC".
    """
    holidays = require("holidays", "holidays", "Public holidays need")
    known = holidays.list_supported_countries(include_aliases=True)
    country, _, part = str(code).partition("-")
    if country not in known:
        hint = did_you_mean(country, list(known))
        raise ValueError(f"holidays: there is no country {country!r}.{hint} Give a code such as DE, US-CA or AU-VIC.")
    if part and part not in known[country]:
        parts = ", ".join(sorted(known[country])) or "none"
        raise ValueError(f"holidays: {country} has no part {part!r}; it has {parts}.")


def holiday_levels(times: Any, code: str) -> Any:
    """Whether the dates of times are holidays, or next to one.

    Parameters
    ----------
    times : pandas.Series
        Times on the clock that matters.
    code : str
        See :func:`check_holidays`.

    Returns
    -------
    pandas.Series
        "no", "day before", "holiday" or "day after"; missing where a time is.
    """
    import pandas

    holidays = require("holidays", "holidays", "Public holidays need")
    wall = times if times.dt.tz is None else times.dt.tz_localize(None)
    dates = wall.to_numpy().astype("datetime64[D]")
    known = ~np.isnat(dates)
    country, _, part = code.partition("-")
    years = range(dates[known].min().item().year - 1, dates[known].max().item().year + 2)
    found = holidays.country_holidays(country, subdiv=part or None, years=years)
    days = np.array(sorted(found), dtype="datetime64[D]")
    levels = np.full(len(times), None, dtype=object)
    levels[known] = ORDINARY
    for shift, level in ((1, AFTER), (-1, BEFORE), (0, HOLIDAY)):  # a day is what is named last
        levels[known & np.isin(dates, days + np.timedelta64(shift, "D"))] = level
    return pandas.Series(levels, index=times.index, name=NAME)
