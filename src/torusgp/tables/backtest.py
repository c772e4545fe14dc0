"""Backtests: rows held out, forecasts from times of the past, and a seasonal naive forecast to compare them with."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from torusgp.checks import is_real
from torusgp.data.tables import TableError
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_process import MOST_ROWS
from torusgp.tables.clock import to_minutes, to_moment
from torusgp.tables.forecast import Predictions, forecast_arguments, predict_rows, quantile_name, quantile_names
from torusgp.tables.timeline import Horizon, Timeline, wall_stamps
from torusgp.tables.words import word
from torusgp.views.scores import Scores

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
    wall = wall_stamps(order)
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
        values = order.to_numpy(dtype=float) if is_number else wall_stamps(order).astype(float) / 1e6
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


_MOST_GROUPS = 24  # of horizons, if there are more steps than this
SHOWN = ("mae", "rmse", "wape", "mase", "pinball", "crps", "middle", "coverage80", "coverage")


@dataclass(frozen=True)
class HorizonScores:
    """Scores of the forecasts so many steps ahead.

    Attributes
    ----------
    first, last : int
        Steps ahead, from 1 on.
    scores, naive : Scores
        Of the model, and of the seasonal naive forecast for the same rows.
    """

    first: int
    last: int
    scores: Scores
    naive: Scores

    @property
    def name(self) -> str:
        """The steps in words."""
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts from several origins, compared with what came.

    Attributes
    ----------
    target : str
        Column that was forecast.
    horizon, step : str
        How far ahead, and what a step is, in words.
    season : str
        Season of the naive forecast: the one that forecasts the rows before the first origin best.
    scores, naive : Scores
        Of all forecasts: of the model, and of the seasonal naive forecast for the same rows.
    by_horizon : tuple of HorizonScores
        The same by steps ahead.
    origins : list
        Last times that were known.
    n_fits : int
        Number of fits; forecasts from other origins use the fit before.
    forecasts : pandas.DataFrame or None
        One row for each forecast: ``origin``, the time, ``step``, ``observed``, ``mean``, ``std``, quantiles and
        ``naive``. None if it was read from a file.
    """

    target: str
    horizon: str
    step: str
    season: str
    scores: Scores
    naive: Scores
    by_horizon: tuple[HorizonScores, ...]
    origins: tuple[Any, ...]
    n_fits: int
    forecasts: Any = None

    @classmethod
    def from_folds(cls, table, rows, folds, predictions, *, horizon, n_fits=1, levels=(), words=None):
        """Compare forecasts with what came, beside a seasonal naive forecast.

        Parameters
        ----------
        table : TableModel
            What was forecast with.
        rows : Rows
            All rows, in order.
        folds : list of Fold
            Which were known, and which were forecast.
        predictions : list of Predictions
            Of each fold.
        horizon : str
            How far ahead, in words.
        n_fits : int
            Number of fits.
        levels : tuple of float
            Quantiles of the table of forecasts.
        words : str, optional
            Which rows they are.

        Returns
        -------
        Backtest
        """
        order = rows.order.reset_index(drop=True)
        timeline = Timeline.from_order(order)
        numbers = step_numbers(order, timeline)
        ahead = [numbers[fold.known : fold.end] - numbers[fold.known - 1] for fold in folds]
        steps = np.maximum(1, np.round(np.concatenate(ahead))).astype(int)
        known = folds[0].known
        seasons = season_steps(timeline, table.inputs_.time_periods, order)
        naive = SeasonalNaive.choose(numbers[:known], rows.y[:known], seasons, int(steps.max()))
        simple = [
            naive.forecast(numbers[: fold.known], rows.y[: fold.known], numbers[fold.known : fold.end])
            for fold in folds
        ]
        naive_mean, naive_std = (np.concatenate(parts) for parts in zip(*simple, strict=True))
        all_of_them, observed = (
            Predictions.joined(predictions),
            np.concatenate([rows.y[f.known : f.end] for f in folds]),
        )
        words = words or f"forecasts {horizon} ahead from {len(folds)} origins"

        def score(chosen, told, redundancy=None):
            some = all_of_them.take(chosen)
            own = some.score(
                observed[chosen],
                told,
                constant=float(np.mean(rows.y[:known])),
                redundancy=redundancy,
                naive_error=naive.error,
                likelihood=check_likelihood(table.likelihood),
            )
            smallest = 1e-9 * max(
                naive.std, float(np.std(rows.y[:known]))
            )  # a season that repeats exactly has no errors
            others = Scores.from_predictions(
                observed[chosen],
                naive_mean[chosen],
                np.maximum(naive_std[chosen], smallest),
                told,
                naive_error=naive.error,
            )
            return own, others

        by_horizon = []
        for first, last in horizon_groups(steps):
            chosen = (steps >= first) & (steps <= last)
            by_horizon.append(HorizonScores(first, last, *score(chosen, f"{first} to {last} steps ahead")))
        origins = [order.iloc[fold.known - 1] for fold in folds]
        own, others = score(np.ones(len(steps), dtype=bool), words, getattr(table, "redundancy_", 1.0))
        return cls(
            table.target,
            horizon,
            timeline.words,
            naive.season,
            own,
            others,
            tuple(by_horizon),
            tuple(origins),
            n_fits,
            _table(order, folds, steps, observed, all_of_them, naive_mean, levels),
        )

    @property
    def beats_naive(self) -> bool:
        """True if the mean absolute error is below that of the seasonal naive forecast."""
        return bool(self.scores.mae < self.naive.mae)  # type: ignore[operator]

    def to_frame(self) -> Any:
        """Scores by horizon as a table.

        Returns
        -------
        pandas.DataFrame
            Columns ``steps``, ``rows``, scores of the model, and those of the naive forecast with ``naive_`` before.
        """
        import pandas

        records = [
            {"steps": one.name, "rows": one.scores.n_rows}
            | {name: getattr(one.scores, name) for name in SHOWN}
            | {f"naive_{name}": getattr(one.naive, name) for name in SHOWN}
            for one in self.by_horizon
        ]
        return pandas.DataFrame(records)

    def to_json(self) -> dict[str, Any]:
        """Content for JSON: all but the forecasts."""
        content = asdict(replace(self, forecasts=None)) | {"origins": [str(origin) for origin in self.origins]}
        return {name: value for name, value in content.items() if name != "forecasts"}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Backtest:
        """Backtest from what :meth:`to_json` gave, without its forecasts."""
        scores = {name: Scores.from_json(content[name]) for name in ("scores", "naive")}
        by_horizon = tuple(
            HorizonScores(one["first"], one["last"], Scores.from_json(one["scores"]), Scores.from_json(one["naive"]))
            for one in content["by_horizon"]
        )
        return cls(**content | scores | {"by_horizon": by_horizon, "origins": tuple(content["origins"])})


def horizon_groups(steps: Any) -> list[tuple[int, int]]:
    """First and last steps of the groups by which errors are shown.

    Parameters
    ----------
    steps : sequence of int
        Steps ahead of forecasts.

    Returns
    -------
    list of pairs
        One for each step that there is, or groups of about the same number of steps.

    Examples
    --------
    >>> horizon_groups([1, 2, 3, 2, 1])
    [(1, 1), (2, 2), (3, 3)]
    >>> len(horizon_groups(range(1, 8761)))
    24
    """
    there = np.unique(np.asarray(steps, dtype=int))
    if len(there) <= _MOST_GROUPS:
        return [(int(step), int(step)) for step in there]
    return [(int(part[0]), int(part[-1])) for part in np.array_split(there, _MOST_GROUPS)]


def shown_horizons(by_horizon: Sequence[HorizonScores], number: int = 6) -> list[HorizonScores]:
    """A few horizons from the first to the last, closer together at the beginning.

    Parameters
    ----------
    by_horizon : sequence of HorizonScores
        All of them.
    number : int, default=6
        How many at most.

    Returns
    -------
    list of HorizonScores
    """
    if len(by_horizon) <= number:
        return list(by_horizon)
    chosen = np.unique(np.round(np.geomspace(1, len(by_horizon), number)).astype(int)) - 1
    return [by_horizon[i] for i in chosen]


TOGETHER = "those of equal inputs together"
FEWEST_ROWS = 20  # to learn from


def hold_out(n_rows, order, fraction=0.2, start=None, random_state=0, repeats=None):
    """Mask of the rows that are held out, and words for them.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    order : pandas.Series or None
        Times or numbers that order them.
    fraction : float, default=0.2
        Share of the rows to hold out: the last ones in their order, or random ones if they have none.
    start : str or number, optional
        Instead of a fraction: hold out the rows from there on.
    random_state : int, default=0
        Determines random rows.
    repeats : Repeats, optional
        Rows of equal inputs, which random rows do not separate.

    Returns
    -------
    held : ndarray of bool, shape (n_rows,)
        True for rows that are held out.
    rows : str
        Which they are, in words.
    """
    if start is not None:
        if order is None:
            raise ValueError(
                f"To hold out rows from {start} on, name the column that has their time ({word('time', 'date')})."
            )
        held = (order >= to_moment(start, order)).to_numpy()
        if not held.any() or held.all():
            raise ValueError(
                f"From {start} on there are {held.sum()} of {n_rows} rows, and {np.sum(~held)} before, of column "
                f"{order.name!r}: it goes from {order.min()} to {order.max()}."
            )
        return held, f"from {start} on"
    if not is_real(fraction) or not 0 < fraction < 1:
        raise ValueError(f"The share of rows to hold out must be between 0 and 1, got {fraction!r}.")
    n_held = max(1, round(fraction * n_rows))
    if order is None:
        drawn = np.random.default_rng(random_state).permutation(n_rows)
        if repeats is not None and repeats.stay_together:
            held = repeats.held(drawn, n_held)
            if held.any() and len(np.unique(repeats.groups[~held])) >= FEWEST_ROWS:
                return held, f"{100 * held.mean():.0f} % of the rows, drawn at random, {TOGETHER}"
        held = np.zeros(n_rows, dtype=bool)
        held[drawn[:n_held]] = True
        return held, f"{100 * held.mean():.0f} % of the rows, drawn at random"
    first = order.sort_values(kind="stable").iloc[n_rows - n_held]
    held = (order >= first).to_numpy()  # rows of one moment stay together
    if held.all():
        raise ValueError(
            f"All of the last rows in the order of {order.name!r} have the same value {first}: hold out rows from a "
            "certain value on, or none."
        )
    return held, f"the last {100 * held.mean():.0f} %, from {_distinct(first, order)} on"


def _distinct(value, order):
    """A time or number of a column, with the digits that tell it from others."""
    if hasattr(value, "isoformat"):
        return to_minutes(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{value:.0f}"
    range_in_it = np.abs(order).max() / max(np.ptp(order), np.finfo(float).tiny)
    return f"{value:.{int(np.clip(np.ceil(np.log10(range_in_it)) + 4, 6, 17))}g}"


_WORTH_A_PROCESS = 3.0  # seconds of a fit, from which on others are done by more processes


@dataclass(frozen=True)
class Fold:
    """Rows that are known, and rows that are forecast from there: all before a position, and those up to another."""

    known: int
    end: int


def backtest_rows(table, rows, horizon, origins, every, refit, quantiles, n_jobs):
    """Forecasts of rows from several origins; see :meth:`TableModel.backtest`."""
    if rows.order is None:
        raise TableError(
            f"Nothing orders the rows, so they have no past: name the column of times ({word('time', 'date')})."
        )
    horizon = Horizon.parse(horizon)
    every = horizon if every is None else Horizon.parse(every)
    folds = make_folds(rows.order, horizon, origins, every)
    groups = group_folds(folds, rows.order, refit)
    quantile_names(quantiles)
    levels = tuple(quantiles)
    model = clone(table)
    model.inputs_ = table.inputs_
    first, seconds, told = _first(model, rows, groups[0], levels)
    results = [first]
    if len(groups) > 1:
        n_jobs = (_n_cores() if seconds > _WORTH_A_PROCESS else 1) if n_jobs is None else n_jobs
        quiet = model.set_params(verbose=0)
        table._report(f"{len(groups) - 1} more fits, each to the rows before an origin")
        results += Parallel(n_jobs=min(n_jobs, len(groups) - 1))(
            delayed(_forecast_group)(copy(quiet), rows, group, levels, quiet.model_) for group in groups[1:]
        )
    for message in told:
        warnings.warn(message, stacklevel=3)
    predictions = [one for result in results for one in result]
    return Backtest.from_folds(table, rows, folds, predictions, horizon=str(horizon), n_fits=len(groups), levels=levels)


def _n_cores():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _first(model, rows, group, levels):
    """Forecasts after the first fit, the seconds that it took, and its warnings."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = _forecast_group(model, rows, group, levels)
    return result, time.perf_counter() - began, dict.fromkeys(str(one.message) for one in caught)


def _forecast_group(model, rows, folds, levels, before=None):
    """Forecasts from origins that share one fit, to the rows before the first; it starts from an earlier fit."""
    with warnings.catch_warnings():
        if before is not None:
            warnings.simplefilter("ignore", UserWarning)  # they were told of the first fit
        model._fit(rows.take(slice(0, folds[0].known)), before)
        fitted, predictions = model.model_, []
        for fold in folds:
            if fold.known > folds[0].known:
                last = rows.take(slice(max(0, fold.known - MOST_ROWS), fold.known))
                model.model_ = fitted.continue_from(last.X, last.y, **forecast_arguments(model, last))
            predictions.append(forecast_fold(model, rows, fold, levels))
        model.model_ = fitted
        return predictions


def forecast_fold(model, rows, fold, levels):
    """Predictions of the rows of a fold, by a model that has seen the rows before."""
    return predict_rows(model, rows.take(slice(fold.known, fold.end)), levels, scored=True)


def make_folds(order, horizon, origins, every):
    """Folds of rows in their order.

    Parameters
    ----------
    order : pandas.Series
        Times of the rows, sorted.
    horizon : Horizon
        How far ahead: rows or a span.
    origins : int or sequence
        Number of origins, the last of which has its horizon at the end of the rows; or the last times that are known.
    every : Horizon
        Distance of origins.

    Returns
    -------
    list of Fold
        In the order of time.
    """
    for one in (horizon, every):
        if one.end is not None:
            raise ValueError(f"A backtest has several horizons: give a number of rows or a span, not {one.text!r}.")
    order = order.reset_index(drop=True)
    moments = order.drop_duplicates().reset_index(drop=True)
    is_number = isinstance(origins, int | np.integer) and not isinstance(origins, bool)
    if not is_number and (isinstance(origins, str) or not np.iterable(origins)):
        raise ValueError(f"origins must be a number or a list of times, got {origins!r}.")
    if is_number:
        known = _last_origins(moments, horizon, int(origins), every)
    else:
        known = sorted(to_moment(origin, order) for origin in origins)
        if not known:
            raise ValueError("origins must be a number, 1 or more, or a list of times, got none.")
        outside = [one for one in known if not moments.iloc[0] <= one < moments.iloc[-1]]
        if outside:
            raise ValueError(
                f"The origin {outside[0]} has no rows before or after it: column {order.name!r} goes from "
                f"{moments.iloc[0]} to {moments.iloc[-1]}."
            )
    folds = []
    for origin in known:
        n_known = int((order <= origin).sum())
        n_end = int((order <= _end(moments, origin, horizon)).sum())
        if n_known < FEWEST_ROWS:
            raise TableError(
                f"The origin {origin} has {n_known} rows before it; {FEWEST_ROWS} or more are needed. Give fewer or "
                f"later origins ({word('origins', 3)})."
            )
        if n_end > n_known:
            folds.append(Fold(n_known, n_end))
    if not folds:
        raise TableError(f"There are no rows within {horizon} after any of the origins.")
    if len(folds) < len(known):
        warnings.warn(
            f"{len(known) - len(folds)} of {len(known)} origins have no rows within {horizon} after them, and are left "
            "out.",
            stacklevel=4,
        )
    return folds


def _last_origins(moments, horizon, number, every):
    """Last known times, such that the last horizon ends with the rows."""
    if number < 1:
        raise ValueError(f"origins must be a number, 1 or more, or a list of times, got {number!r}.")
    if (horizon.rows is None) != (every.rows is None):
        raise ValueError(
            f"The horizon is {horizon} and origins are {every} apart: give both as numbers of rows, or both as spans."
        )
    found: list[Any] = []
    for turn in range(number):
        if horizon.rows is not None:
            position = len(moments) - 1 - horizon.rows - turn * every.rows
            found.append(moments.iloc[position] if position >= 0 else None)
        else:
            found.append(_before(_before(moments.iloc[-1], every, turn), horizon, 1))
            found[-1] = found[-1] if found[-1] >= moments.iloc[0] else None
        if found[-1] is None:
            raise TableError(
                f"The rows of {moments.name!r}, from {moments.iloc[0]} to {moments.iloc[-1]}, are too few for {number} "
                f"origins with a horizon of {horizon}: give fewer ({word('origins', turn or 1)}) or a shorter horizon."
            )
    return found[::-1]


def _before(moment, span, turns):
    if isinstance(moment, float | np.floating | int):
        raise ValueError(f"The horizon is {span.text!r}, but the rows are ordered by numbers: give a number of rows.")
    import pandas

    if span.unit == "seconds":
        return moment - pandas.Timedelta(seconds=span.amount * turns)
    return moment - pandas.DateOffset(**{span.unit: span.amount * turns})


def _end(moments, origin, horizon):
    """Last time that is forecast from an origin."""
    if horizon.rows is None:
        return _before(origin, horizon, -1)
    position = int((moments <= origin).sum()) - 1 + horizon.rows
    return moments.iloc[min(position, len(moments) - 1)]


def group_folds(folds, order, refit):
    """Folds that share one fit.

    Parameters
    ----------
    folds : list of Fold
        In the order of time.
    order : pandas.Series
        Times of the rows, sorted.
    refit : bool, int, str or timedelta
        Whether to fit at every origin or only at the first; or at every so many origins, or after such a span.

    Returns
    -------
    list of list of Fold
    """
    if isinstance(refit, bool | np.bool_):
        return [[fold] for fold in folds] if refit else [list(folds)]
    if isinstance(refit, int | np.integer):
        if refit < 1:
            raise ValueError(f"refit must be True, False, a number of origins or a span, got {refit!r}.")
        return [folds[first : first + refit] for first in range(0, len(folds), refit)]
    span = Horizon.parse(refit)
    if span.unit is None:
        return group_folds(folds, order, span.rows if span.rows is not None else True)
    groups: list[list[Fold]] = []
    for fold in folds:
        origin = order.iloc[fold.known - 1]
        if not groups or origin >= _before(order.iloc[groups[-1][0].known - 1], span, -1):
            groups.append([])
        groups[-1].append(fold)
    return groups


def _table(order, folds, steps, observed, predictions, naive, levels):
    """Forecasts as a table."""
    import pandas

    positions = np.concatenate([np.arange(fold.known, fold.end) for fold in folds])
    origins = np.repeat([fold.known - 1 for fold in folds], [fold.end - fold.known for fold in folds])
    quantiles = {quantile_name(one): predictions.shown[:, i] for i, one in enumerate(levels)}
    values = {"step": steps, "observed": observed, "mean": predictions.mean, "std": predictions.std, **quantiles}
    return pandas.DataFrame(
        {
            "origin": order.iloc[origins].array,
            str(order.name): order.iloc[positions].array,
            **values,
            "naive": naive,
        }
    )
