"""Forecasts from several times of the past: fits to the rows before each, and comparisons with what came."""

import os
import time
import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from torusgp.data.tables import TableError
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_process import MOST_ROWS
from torusgp.tables.clock import to_moment
from torusgp.tables.forecasting import Horizon, Timeline
from torusgp.tables.forecasting.backtest import Backtest, HorizonScores, horizon_groups
from torusgp.tables.forecasting.naive import SeasonalNaive, season_steps, step_numbers
from torusgp.tables.forecasting.quantiles import quantile_name, quantile_names
from torusgp.tables.models._holdout import FEWEST_ROWS
from torusgp.tables.models._predictions import Predictions, forecast_arguments, predict_rows
from torusgp.tables.words import word
from torusgp.views.scores import Scores

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
    return compare(table, rows, folds, predictions, horizon=str(horizon), n_fits=len(groups), levels=levels)


def evaluate_last(table, rows, n_known, predicted, words):
    """Compare the forecasts of the last rows with what came, by a model that was fitted to the rows before.

    Parameters
    ----------
    table : TableModel
        Fitted to the first rows.
    rows : Rows
        All rows, in order.
    n_known : int
        Number of rows that it was fitted to.
    predicted : Predictions
        Of the others.
    words : str
        Which rows are forecast.

    Returns
    -------
    Backtest
    """
    fold = Fold(n_known, len(rows.y))
    return compare(table, rows, [fold], [predicted], horizon=words, n_fits=1, levels=(), words=words)


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


def compare(table, rows, folds, predictions, *, horizon, n_fits, levels, words=None):
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
        naive.forecast(numbers[: fold.known], rows.y[: fold.known], numbers[fold.known : fold.end]) for fold in folds
    ]
    naive_mean, naive_std = (np.concatenate(parts) for parts in zip(*simple, strict=True))
    all_of_them, observed = Predictions.joined(predictions), np.concatenate([rows.y[f.known : f.end] for f in folds])
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
        smallest = 1e-9 * max(naive.std, float(np.std(rows.y[:known])))  # a season that repeats exactly has no errors
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
    return Backtest(
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
