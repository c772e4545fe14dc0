"""Seasonal naive forecasts, which every model has to beat: what was there a day, a week or a year before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.tables.forecasting.times import Timeline, wall_clock

Array = NDArray[np.float64]

_SEASONS = {  # in units of a timeline; a year is one of weeks, so that weekdays stay what they are
    "second": {"day": 86400.0, "week": 7 * 86400.0, "year": 364 * 86400.0},
    "day": {"week": 7.0, "year": 364.0},
    "month": {"year": 12.0},
}
_TURNS = 2  # of a season that the rows have to cover
_MOST_LAGS = 12  # at which seasons are compared
_FURTHER = 4  # seasons that a missing row is looked for further back


@dataclass(frozen=True)
class SeasonalNaive:
    """Forecast of each row by the last known row that is a whole number of seasons before.

    Attributes
    ----------
    season : str
        The season in words; "the last value" if there is none.
    n_steps : int
        Steps of a season; 0 if there is none.
    error : float
        Mean absolute error on the rows that it was chosen on, one season ahead.
    std : float
        Root mean square error there. It grows with the root of the number of seasons ahead.
    """

    season: str
    n_steps: int
    error: float
    std: float

    @classmethod
    def choose(cls, numbers: Array, y: Array, seasons: dict[str, int], n_ahead: int) -> SeasonalNaive:
        """Season that forecasts the rows learned from best, at the lags that a horizon needs.

        Parameters
        ----------
        numbers : ndarray of shape (n_rows,)
            Steps of the rows since some time, in order; see :func:`step_numbers`.
        y : ndarray of shape (n_rows,)
            Targets.
        seasons : dict of str to int
            Steps of each season.
        n_ahead : int
            Steps that are forecast.

        Returns
        -------
        SeasonalNaive

        Examples
        --------
        >>> hours = np.arange(24.0 * 28)
        >>> y = np.cos(2 * np.pi * hours / 24) * (hours % 168 < 120)
        >>> SeasonalNaive.choose(hours, y, {"day": 24, "week": 168}, n_ahead=24).season
        'week'
        """
        long_enough = {name: m for name, m in seasons.items() if numbers[-1] - numbers[0] >= _TURNS * m}
        ahead = np.unique(np.linspace(1, max(1, n_ahead), _MOST_LAGS).astype(int))
        best, least = ("the last value", 0), np.inf
        for name, m in sorted(long_enough.items(), key=lambda pair: pair[1]):
            errors = [_lagged(numbers, y, int(np.ceil(h / m)) * m) for h in ahead]
            errors = [np.mean(np.abs(one)) for one in errors if len(one)]
            if errors and np.mean(errors) < least:
                best, least = (name, m), float(np.mean(errors))
        differences = _lagged(numbers, y, best[1] or 1)
        differences = differences if len(differences) else np.diff(y)
        error, std = np.mean(np.abs(differences)), np.sqrt(np.mean(differences**2))
        return cls(*best, float(error), float(std))

    def forecast(self, numbers: Array, y: Array, ahead: Array) -> tuple[Array, Array]:
        """Forecast rows from those before.

        Parameters
        ----------
        numbers, y : ndarray of shape (n_rows,)
            Steps and targets of the rows that are known, in order.
        ahead : ndarray of shape (n_wanted,)
            Steps of the rows to forecast, all after the last one known.

        Returns
        -------
        mean, std : ndarray of shape (n_wanted,)
        """
        mean, seasons = np.full(len(ahead), y[-1]), ahead - numbers[-1]
        if not self.n_steps:
            return mean, self.std * np.sqrt(seasons)
        seasons = np.ceil(seasons / self.n_steps)
        missing = np.ones(len(ahead), dtype=bool)
        for further in range(_FURTHER + 1):
            position = _find(numbers, ahead - (seasons + further) * self.n_steps)
            found = missing & (position >= 0)
            mean[found] = y[position[found]]
            missing &= ~found
        return mean, self.std * np.sqrt(seasons)


def step_numbers(order: Any, timeline: Timeline) -> Array:
    """Times as numbers of steps, on the wall clock: a season is a whole number of them.

    Parameters
    ----------
    order : pandas.Series
        Times or numbers of rows.
    timeline : Timeline
        Of the rows. Without a regular step, times are counted in the median distance between rows.

    Returns
    -------
    ndarray of float
    """
    if order.dtype.kind != "M":
        return order.to_numpy(dtype=float) / _step(order.to_numpy(dtype=float), timeline)
    wall = wall_clock(order)
    if timeline.unit == "month":
        return wall.astype("datetime64[M]").astype(float) / timeline.step
    seconds = (wall - np.datetime64("1970-01-01")) / np.timedelta64(1, "s")
    return seconds / (timeline.step * 86400 if timeline.unit == "day" else _step(seconds, timeline))


def season_steps(timeline: Timeline, periods: dict[str, float], order: Any) -> dict[str, int]:
    """Seasons that a table may have, in steps.

    Parameters
    ----------
    timeline : Timeline
        Of the rows.
    periods : dict of str to float
        Known periods of a column of numbers that orders the rows, by their names.
    order : pandas.Series
        Times or numbers of rows.

    Returns
    -------
    dict of str to int
        Those of two steps or more.
    """
    is_number = order.dtype.kind != "M"
    known = periods if is_number else _SEASONS[timeline.unit or "second"]
    step = timeline.step
    if not timeline.is_regular:
        values = order.to_numpy(dtype=float) if is_number else wall_clock(order).astype(float) / 1e6
        step = _step(values, timeline)
    steps = {name: round(length / step) for name, length in known.items()}
    return {name: number for name, number in steps.items() if number >= 2}


def _step(values, timeline):
    if timeline.is_regular:
        return timeline.step
    gaps = np.diff(np.unique(values))
    return float(np.median(gaps)) if len(gaps) else 1.0


def _lagged(numbers, y, lag):
    """Differences of rows that are so many steps apart."""
    position = _find(numbers, numbers - lag)
    return y[position >= 0] - y[position[position >= 0]]


def _find(numbers, wanted):
    """Position of the row at each step, to half a step; -1 if there is none."""
    right = np.clip(np.searchsorted(numbers, wanted), 1, max(1, len(numbers) - 1))
    right = np.minimum(right, len(numbers) - 1)
    left = np.maximum(right - 1, 0)
    nearest = np.where(np.abs(numbers[left] - wanted) <= np.abs(numbers[right] - wanted), left, right)
    return np.where(np.abs(numbers[nearest] - wanted) < 0.5, nearest, -1)
