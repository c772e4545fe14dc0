"""Forecasts: predicted distributions of rows, rows of the future, and whole paths."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.utils import check_random_state

from torusgp.checks import is_real
from torusgp.data.tables import TableError, place_of_row
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.tables.clock import in_utc, on_wall, to_minutes
from torusgp.tables.inputs import Rows, check_order, numbered, to_table
from torusgp.tables.timeline import Horizon
from torusgp.tables.words import TABLE, some_of, word
from torusgp.views.metrics import deviances
from torusgp.views.numbers import listed
from torusgp.views.scores import LEVELS, Scores

LOW, HIGH = 0.025, 0.975  # ends of the intervals that are drawn


def quantile_names(quantiles):
    """Names of the columns of quantiles, or an error if they are not a collection of them."""
    if not np.iterable(quantiles) or isinstance(quantiles, str | bytes | dict):
        raise ValueError(f"quantiles must be a sequence of numbers between 0 and 1, got {quantiles!r}.")
    return [quantile_name(one) for one in quantiles]


def quantile_name(quantile):
    """Name of the column of a quantile.

    Examples
    --------
    >>> [quantile_name(quantile) for quantile in (0.05, 0.5, 0.975)]
    ['q05', 'q50', 'q97.5']
    """
    if not is_real(quantile) or not 0 < quantile < 1:
        raise ValueError(f"Quantiles must be between 0 and 1, got {quantile!r}.")
    whole, point, part = f"{100 * quantile:.10g}".partition(".")
    return f"q{whole.zfill(2)}{point}{part}"


Array = NDArray[np.float64]

SPANS = {"hour": "h", "day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}  # pandas' periods
HOWS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
}
_DRAWS = 2000  # of an aggregate: its 5 % quantile is then between the 4 and the 6 % quantile
_MOST_VALUES = 100_000_000  # of draws that are held at once


@dataclass(frozen=True, eq=False)
class Forecast:
    """Values that are expected at each time of the future, and how sure they are.

    Attributes
    ----------
    target : str
        Column that is forecast.
    times : pandas.Series
        Times, or numbers that order rows, named after their column; of aggregates the time at which each span begins.
    mean, std : ndarray of shape (n_times,)
        Means and standard deviations of observations.
    levels : tuple of float
        Probabilities of the quantiles.
    quantiles : ndarray of shape (n_times, n_levels)
        Quantiles of observations.
    n_rows : ndarray of shape (n_times,) or None
        Of aggregates: number of rows in each span. The first and the last span may be incomplete.
    """

    target: str
    times: Any
    mean: Array
    std: Array
    levels: tuple[float, ...]
    quantiles: Array
    n_rows: NDArray[np.int_] | None = None
    draw: Callable[[int, Any], Array] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.mean)

    def sample(self, n_draws: int = 100, random_state: Any = 0) -> Array:
        """Draw whole paths of observations: values of one path belong together.

        Parameters
        ----------
        n_draws : int, default=100
            Number of paths.
        random_state : int, RandomState or None, default=0
            Determines the paths.

        Returns
        -------
        ndarray of shape (n_draws, n_times)
        """
        if isinstance(n_draws, bool) or not isinstance(n_draws, int | np.integer) or n_draws < 1:
            raise ValueError(f"The number of draws must be a whole number, 1 or more, got {n_draws!r}.")
        if n_draws * len(self) > _MOST_VALUES:
            raise ValueError(
                f"{n_draws:,} draws of {len(self):,} times are more than {_MOST_VALUES:,} values: draw fewer paths, or "
                "give a shorter horizon."
            )
        if self.draw is None:
            raise ValueError("This forecast has no paths to draw: it was read from a table.")
        return self.draw(int(n_draws), random_state)

    def aggregate(
        self, span: str | float = "all", how: str = "sum", n_draws: int = _DRAWS, random_state: Any = 0
    ) -> Forecast:
        """Forecast what the values of a span add up to, or their mean, peak or smallest one.

        It is computed on paths that are drawn, so that the interval of a week's sum knows how far errors of its hours
        go together.

        Parameters
        ----------
        span : {"hour", "day", "week", "month", "quarter", "year", "all"} or float, default="all"
            Span of the calendar, or all times together. Weeks begin on Monday. Where numbers order the rows: the length
            of a span, counted from 0.
        how : {"sum", "mean", "max", "min"}, default="sum"
            What is made of the values of a span.
        n_draws : int, default=2000
            Number of paths.
        random_state : int, RandomState or None, default=0
            Determines the paths.

        Returns
        -------
        Forecast
            One row for each span, at the time at which it begins; its paths are these draws.
        """
        if how not in HOWS:
            raise ValueError(f"how must be one of {', '.join(HOWS)}, got {how!r}.")
        starts, first = _spans(self.times, span)
        bounds = [*first.tolist(), len(self)]

        def draw(number: int, state: Any) -> Array:
            paths = self.sample(number, state)
            parts = [paths[:, low:high] for low, high in pairwise(bounds)]
            return np.stack([HOWS[how](part, axis=1) for part in parts], axis=1)

        values = draw(n_draws, random_state)  # (n_draws, n_spans)
        return Forecast(
            self.target,
            starts,
            values.mean(axis=0),
            values.std(axis=0),
            self.levels,
            np.quantile(values, self.levels, axis=0).T,
            np.diff(bounds),
            draw,
        )

    def to_frame(self, n_draws: int = 0, random_state: Any = 0) -> Any:
        """The forecast as a table.

        Parameters
        ----------
        n_draws : int, default=0
            Number of paths to add, as columns ``draw1``, ``draw2`` and so on.
        random_state : int, RandomState or None, default=0
            Determines the paths.

        Returns
        -------
        pandas.DataFrame
            Columns: the time, ``mean``, ``std``, the quantiles, such as ``q05``, ``rows`` of aggregates, and draws.
        """
        import pandas

        values: dict[str, Any] = {"mean": self.mean, "std": self.std}
        values |= {quantile_name(one): self.quantiles[:, i] for i, one in enumerate(self.levels)}
        if self.n_rows is not None:
            values["rows"] = self.n_rows
        if n_draws:
            paths = self.sample(n_draws, random_state)
            values |= {f"draw{i + 1}": path for i, path in enumerate(paths)}
        frame = pandas.DataFrame(values)
        name = str(self.times.name)
        if name in values:
            raise ValueError(f"The column of times is called {name!r}, as one of the forecast is: rename it.")
        frame.insert(0, name, self.times.to_numpy() if self.times.dtype.kind != "M" else self.times.array)
        return frame

    def interval(self, coverage: float = 0.9) -> tuple[Array, Array]:
        """Bounds that contain a share of the values, from the quantiles of the forecast.

        Parameters
        ----------
        coverage : float, default=0.9
            The share; both its quantiles have to be among the levels.

        Returns
        -------
        lower, upper : ndarray of shape (n_times,)
        """
        wanted = ((1 - coverage) / 2, (1 + coverage) / 2)
        positions = [int(np.argmin(np.abs(np.subtract(self.levels, one)))) for one in wanted]
        if any(abs(self.levels[i] - one) > 1e-9 for i, one in zip(positions, wanted, strict=True)):
            names = ", ".join(quantile_name(one) for one in self.levels)
            raise ValueError(f"The forecast has the quantiles {names}, which do not bound {100 * coverage:g} %.")
        return self.quantiles[:, positions[0]], self.quantiles[:, positions[1]]


def check_levels(quantiles: Sequence[float]) -> tuple[float, ...]:
    """Probabilities of quantiles, checked.

    Parameters
    ----------
    quantiles : sequence of float
        Probabilities, in (0, 1), each once.

    Returns
    -------
    tuple of float
    """
    names = quantile_names(quantiles)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"The quantile {twice[0]} is given twice.")
    return tuple(float(one) for one in quantiles)


def _spans(times, span):
    """Times at which spans begin, and the positions of their first rows."""
    import pandas

    if span == "all":
        return times.iloc[:1].reset_index(drop=True), np.zeros(1, dtype=int)
    if times.dtype.kind != "M":
        if isinstance(span, str) or not (np.isfinite(span) and span > 0):
            raise ValueError(f"Numbers order the rows: span must be 'all' or a positive length, got {span!r}.")
        keys = np.floor(times.to_numpy() / span)
        starts = pandas.Series(keys * span, name=times.name)
    else:
        if span not in SPANS:
            raise ValueError(f"span must be one of {', '.join(SPANS)} or 'all', got {span!r}.")
        zone = times.dt.tz
        wall = on_wall(times)
        starts = wall.dt.to_period(SPANS[str(span)]).dt.start_time
        if zone is not None and span == "hour":
            starts = times - (wall - starts)  # an hour that comes twice is two
        elif zone is not None:
            first_of_two = np.ones(len(times), dtype=bool)
            starts = starts.dt.tz_localize(zone, nonexistent="shift_forward", ambiguous=first_of_two)
        keys = in_utc(starts).to_numpy()
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return starts.iloc[first].reset_index(drop=True), first


@dataclass(frozen=True)
class Predictions:
    """Predicted distributions of observations.

    Attributes
    ----------
    mean, std : ndarray of shape (n_rows,)
        Means and standard deviations.
    shown : ndarray of shape (n_rows, n_levels)
        Quantiles that were asked for.
    noise_std : ndarray of shape (n_rows,) or None
        The part of the standard deviations that is noise; None if there are no targets to score.
    deviances : ndarray of shape (n_rows,) or None
        Deviances of the targets, if they are counts or positive.
    quantiles : ndarray of shape (n_rows, n_levels) or None
        Quantiles that scores are made of; None if predictions are normal.
    log_density : ndarray of shape (n_rows,) or None
        Log densities of the targets; None if predictions are normal.
    """

    mean: Array
    std: Array
    shown: Array
    noise_std: Array | None = None
    deviances: Array | None = None
    quantiles: Array | None = None
    log_density: Array | None = None

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Predictions of several groups of rows, one after the other."""
        columns = {one.name: [getattr(part, one.name) for part in parts] for one in fields(cls)}
        joined: dict[str, Any] = {
            name: None if values[0] is None else np.concatenate(values) for name, values in columns.items()
        }
        return cls(**joined)

    def take(self, chosen: Any) -> Predictions:
        """Some of the predictions."""
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        some: dict[str, Any] = {name: None if values is None else values[chosen] for name, values in columns.items()}
        return Predictions(**some)

    def score(self, observed: Array, words: str, **others: Any) -> Scores:
        """Scores of observations; see :meth:`torusgp.views.scores.Scores.from_predictions`."""
        return Scores.from_predictions(
            observed,
            self.mean,
            self.std,
            words,
            noise_std=0.0 if self.noise_std is None else self.noise_std,
            quantiles=self.quantiles,
            log_density=self.log_density,
            deviances=self.deviances,
            **others,
        )


def is_plain(table: Any) -> bool:
    """True if predictions are normal, with noise that does not change but for known standard deviations."""
    return check_likelihood(table.likelihood).name == "normal" and not table.noise_by


def continues_noise(table: Any) -> bool:
    """True if the noise of other rows follows from that of the rows of the fit."""
    return table.model_.noise_process_ is not None


def _predict_following(table: Any, rows: Rows, levels: Array, scored: bool) -> Predictions:
    """Predictions of rows whose noise follows from that of rows of the fit."""
    model, ahead = table.model_, forecast_arguments(table, rows)
    mean, std = model.forecast(rows.X, return_std=True, **ahead)
    if model.likelihood_.name == "normal":
        shown = mean[:, None] + ndtri(levels) * std[:, None]
    else:
        shown = model.forecast_quantiles(rows.X, levels, **ahead) if len(levels) else np.empty((len(mean), 0))
    if not scored:
        return Predictions(mean, std, shown)
    _, function_std = model.predict(rows.X, return_std=True, include_noise=False)
    noise_std = np.sqrt(np.maximum(std**2 - function_std**2, 0.0))
    if model.likelihood_.name == "normal":
        return Predictions(mean, std, shown, noise_std)
    # of logarithms that are normal: their mean, and one standard deviation more
    low, high = np.log(model.forecast_quantiles(rows.X, [0.5, float(ndtr(1.0))], **ahead)).T
    density = -0.5 * np.log(2 * np.pi) - np.log(high - low) - 0.5 * ((np.log(rows.y) - low) / (high - low)) ** 2
    quantiles = model.forecast_quantiles(rows.X, LEVELS, **ahead)
    return Predictions(mean, std, shown, noise_std, None, quantiles, density - np.log(rows.y))


def forecast_arguments(table: Any, rows: Rows) -> dict[str, Any]:
    """Arguments of forecasts of rows beside their inputs: times, and known scales of their noise."""
    scale = None if rows.scale is None else rows.scale / table._typical_scale
    return {"time": table.inputs_.row_times(rows.order), "noise_scale": scale}


def predict_rows(table: Any, rows: Rows, levels: Sequence[float] = (), *, scored: bool = False) -> Predictions:
    """Predict the rows of a table.

    Where errors are correlated, the noise of rows to come, and of those in gaps, follows from that of the rows of the
    fit. That of rows at the same times as these does not, nor that of rows whose times are not known.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        Rows, with their targets if they are to be scored.
    levels : sequence of float
        Probabilities of quantiles.
    scored : bool, default=False
        Compute what scores need.

    Returns
    -------
    Predictions
    """
    wanted = np.asarray(levels, dtype=float)
    follows = _follows(table, rows)
    if not follows.any():
        return _predict_alone(table, rows, wanted, scored)
    groups = [
        (np.flatnonzero(chosen), predict(table, rows.take(np.flatnonzero(chosen)), wanted, scored))
        for predict, chosen in ((_predict_following, follows), (_predict_alone, ~follows))
        if chosen.any()
    ]
    places = np.argsort(np.concatenate([places for places, _ in groups]))
    return Predictions.joined([predicted for _, predicted in groups]).take(places)


def _follows(table: Any, rows: Rows) -> NDArray[np.bool_]:
    """Mask of the rows whose noise follows from that of the rows of the fit."""
    follows = np.zeros(len(rows.X), dtype=bool)
    if continues_noise(table) and rows.order is not None:
        timed = np.flatnonzero(rows.order.notna())
        if len(timed):
            some = rows.take(timed)
            follows[timed] = table.model_.can_forecast(some.X, table.inputs_.row_times(some.order))
    return follows


def _predict_alone(table: Any, rows: Rows, levels: Array, scored: bool) -> Predictions:
    """Predictions of rows whose noise follows from no other."""
    model = table.model_
    if is_plain(table):
        noise_std = np.broadcast_to(row_noise_std(table, rows), len(rows.X))
        mean, std = model.predict(rows.X, return_std=True, include_noise=table.noise is None)
        std = np.hypot(std, noise_std) if table.noise is not None else std
        shown = mean[:, None] + ndtri(levels) * std[:, None]
        return Predictions(mean, std, shown, noise_std if scored else None)
    mean, std = model.predict(rows.X, return_std=True, exposure=rows.scale)
    shown = np.empty((len(mean), 0))
    if len(levels):
        shown = model.predict_quantiles(rows.X, levels, exposure=rows.scale)
    if not scored:
        return Predictions(mean, std, shown)
    _, function_std = model.predict(rows.X, return_std=True, include_noise=False, exposure=rows.scale)
    return Predictions(
        mean,
        std,
        shown,
        np.sqrt(np.maximum(np.where(np.isfinite(std), std, 0.0) ** 2 - function_std**2, 0.0)),
        deviances(model.likelihood_, rows.y, mean, 1.0 if rows.scale is None else rows.scale),
        model.predict_quantiles(rows.X, LEVELS, exposure=rows.scale),
        model.log_predictive_density(rows.X, rows.y, exposure=rows.scale),
    )


def draw_rows(table: Any, rows: Rows, n_draws: int, random_state: Any) -> Array:
    """Draw observations of rows to come, jointly.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        Rows; their targets do not matter.
    n_draws : int
        Number of draws.
    random_state : int, RandomState or None
        Determines the draws.

    Returns
    -------
    ndarray of shape (n_draws, n_rows)
    """
    random_state = check_random_state(random_state)
    if continues_noise(table):
        return table.model_.sample_forecast(rows.X, n_draws, random_state, **forecast_arguments(table, rows)).T
    if not is_plain(table):
        return table.model_.sample_y(rows.X, n_draws, random_state, include_noise=True, exposure=rows.scale).T
    values = table.model_.sample_y(rows.X, n_draws, random_state).T
    return values + random_state.normal(size=values.shape) * np.broadcast_to(row_noise_std(table, rows), len(rows.X))


def row_noise_std(table: Any, rows: Rows) -> Any:
    """Standard deviation of the noise of rows: one number, or one for each where they are known up to a factor."""
    typical = np.sqrt(table.model_.noise_variance_)
    return typical if rows.scale is None else typical * rows.scale / table._typical_scale


_MATCH = 1e-6  # of a step: numbers of two tables that are the same time
_MOST_DAYS = 5  # days that a warning names
_SHOWN = 3  # times that an error names


def future_table(table, horizon, future, source=TABLE):
    """Table of the rows that come after those that a model has seen.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    horizon : int, str, timedelta, datetime or None
        How far ahead; None to the end of the table of the future.
    future : pandas.DataFrame, str, Path or None
        What is known of the future.
    source : str or Path
        File that it was read from.

    Returns
    -------
    frame : pandas.DataFrame
        Rows with all columns that predictions need.
    times : pandas.Series
        Their times, on the clock of the model.
    source : str or Path
        What errors call the table.
    """
    import pandas

    timeline = _timeline(table)
    needed = [name for name in table.inputs_.columns if name != timeline.column]
    if future is None:
        if needed:
            raise TableError(_unknown_future(timeline, horizon, needed))
        if horizon is None:
            raise ValueError(f"Say how far ahead: {word('horizon', '28d')}.")
        times = timeline.after(horizon)
        _tell_closed(timeline, horizon)
        return pandas.DataFrame({timeline.column: times.array}), times, TABLE
    frame, source = to_table(future, source, table.missing)
    frame = numbered(frame, source)
    absent = [name for name in [timeline.column, *needed] if name not in frame.columns]
    if absent:
        raise TableError(f"{source} lacks {listed(map(repr, absent))}, which the forecast needs.")
    if not len(frame):
        raise TableError(f"{source} has no rows.")
    known = _read_times(table, timeline, frame, source)
    times = _wanted(timeline, horizon, known, source)
    positions = _match(times, known, timeline)
    there = _check_gaps(timeline, times, positions, needed, source)
    times, positions = times[there].reset_index(drop=True), positions[there]
    chosen = frame.iloc[positions]
    _check_values(table, chosen, needed, times, source)
    chosen = chosen.assign(**{timeline.column: times.array})
    return chosen, times, source


def _unknown_future(timeline, horizon, needed):
    """Text that says what has to be known of the time to come, and of which times if the horizon says so."""
    when = f"after {to_minutes(timeline.last_time)}"
    if horizon is not None:
        times = timeline.after(horizon)
        when = f"for the {len(times)} rows from {to_minutes(times.iloc[0])} to {to_minutes(times.iloc[-1])}"
    return (
        f"The model has {listed(map(repr, needed))} as input{'s' * (len(needed) > 1)}, which must be known {when}: "
        f"give a table that has them, with a column {timeline.column!r} ({word('future')})."
    )


def _timeline(table):
    """Times of the rows that a model has seen; an error if they have none."""
    if table.inputs_.time is None:
        raise TableError(
            f"Nothing orders the rows, so nothing comes after them: name the column of times ({word('time', 'date')}) "
            "and fit again, or predict the rows of a table."
        )
    return table.timeline_


def _read_times(table, timeline, frame, source):
    """Times of a table of the future, checked: known, each once, and after the past; in their order."""
    times = table.inputs_.read_order(frame, source)
    missing = times.index[times.isna()]
    if len(missing):
        raise TableError(f"{place_of_row(missing[0], source)}: column {timeline.column!r} has no time.")
    last = timeline.last_time
    check_order(times, timeline, source)
    twice = times[times.duplicated()]
    if len(twice):
        raise TableError(
            f"{place_of_row(twice.index[0], source)}: {to_minutes(twice.iloc[0])} is there twice in column "
            f"{timeline.column!r}. A forecast has one row at a time."
        )
    past = times[times <= last]
    if len(past):
        first, place = to_minutes(past.iloc[0]), place_of_row(past.index[0], source)
        raise TableError(
            f"{place}: {first} is not after the last row that was fitted, at {to_minutes(last)}. {len(past)} of "
            f"{len(times)} rows of {source} overlap the past: leave them out."
        )
    return times


def _wanted(timeline, horizon, known, source):
    """Times to forecast."""
    last_known = known.max()
    if timeline.is_regular:
        if horizon is not None:
            return timeline.after(horizon, closed=False)
        if isinstance(last_known, float):
            return timeline.after(max(1, int(np.floor((last_known - timeline.last) / timeline.step + _MATCH))))
        return timeline.after(Horizon(str(last_known), end=last_known.isoformat()), closed=False)
    times = known.sort_values().reset_index(drop=True)
    if horizon is None:
        return times
    horizon = Horizon.parse(horizon)
    if horizon.rows is not None:
        if horizon.rows > len(times):
            raise TableError(f"The horizon is {horizon}, but {source} has {len(times)}.")
        return times[: horizon.rows]
    end = timeline.end(horizon)
    if not (times <= end).any():
        raise TableError(f"The horizon ends at {to_minutes(end)}, before the first row of {source}.")
    return times[times <= end]


def _match(times, known, timeline):
    """Position in the table of each time; -1 if it is not there."""
    wanted, there = _to_numbers(times, timeline), _to_numbers(known, timeline)
    order = np.argsort(there)
    tolerance = _MATCH * (timeline.step if timeline.unit == "number" else 1.0)
    nearest = np.searchsorted(there[order], wanted - tolerance)
    inside = nearest < len(order)
    positions = order[np.minimum(nearest, len(order) - 1)]
    return np.where(inside & (np.abs(there[positions] - wanted) <= tolerance), positions, -1)


def _to_numbers(times, timeline):
    """Times as seconds, or the numbers that they are."""
    if times.dtype.kind != "M":
        return times.to_numpy(dtype=float)
    return (times - timeline.last_time).dt.total_seconds().to_numpy()


def _tell_closed(timeline, horizon):
    """Say which days of the horizon are left out, as the table never has rows on them."""
    if timeline.closed:
        whole = timeline.after(horizon, closed=False)
        days = whole[timeline.on_closed_days(whole)].dt.strftime("%Y-%m-%d").unique()
        if len(days):
            warnings.warn(
                f"Nothing is forecast for {some_of(days, _MOST_DAYS, 'more days')}: on this day of the year the table "
                f"never has rows. Should there be some, give a table that has them ({word('future')}).",
                stacklevel=4,
            )


def _check_gaps(timeline, times, positions, needed, source):
    """Mask of the times that the table of the future has; days off are left out, other gaps raise an error.

    A day off has no row at all, or none before or after a certain time.
    """
    there = positions >= 0
    if there.all():
        return there
    is_off = np.zeros(len(times), dtype=bool)
    if times.dtype.kind == "M" and timeline.unit != "month" and there.any():
        days = times.dt.strftime("%Y-%m-%d").to_numpy()
        first, last = np.flatnonzero(there)[[0, -1]]
        is_off = ~there & _outside(there, days)
        is_off[:first] &= days[:first] != days[first]  # a table that begins too late
        is_off[last + 1 :] &= timeline.on_closed_days(times[last + 1 :])
    gaps = times[~there & ~is_off]
    if len(gaps):
        what = f" {listed(map(repr, needed))} must be known there." if needed else ""
        raise TableError(
            f"{source} has no row for {len(gaps)} of the {len(times)} times to forecast: {_first(gaps)}.{what}"
        )
    days = times[is_off].dt.strftime("%Y-%m-%d").unique()
    warnings.warn(
        f"{source} has no rows on {some_of(days, _MOST_DAYS, 'more days')}, or on a part of it: nothing is forecast "
        "there.",
        stacklevel=4,
    )
    return there


def _outside(there, days):
    """Mask of the times before the first or after the last of those of their day that are there."""
    found = np.zeros(len(days), dtype=bool)
    for day in np.unique(days[~there]):
        own = np.flatnonzero(days == day)
        inside = own[there[own]]
        found[own] = True if not len(inside) else (own < inside[0]) | (own > inside[-1])
    return found


def _check_values(table, frame, needed, times, source):
    """Raise if covariates are missing in some rows, with the names and times of all that miss some."""
    told = []
    needed = [name for name in needed if name not in table.inputs_.empty_levels]
    for name in needed:
        missing = frame[name].isna().to_numpy()
        if missing.any():
            told.append(f"{name!r} is missing at {missing.sum()} of {len(times)} times ({_first(times[missing])})")
    if told:
        first = min(int(np.argmax(frame[name].isna())) for name in needed if frame[name].isna().any())
        raise TableError(
            f"{place_of_row(frame.index[first], source)}: {'; '.join(told)}. A forecast needs all of them."
        )


def _first(times):
    shown = ", ".join(to_minutes(time) for time in times[:_SHOWN])
    return shown + (", ..." if len(times) > _SHOWN else "")


@dataclass(frozen=True)
class PanelForecast:
    """Forecasts of several series.

    Attributes
    ----------
    by : str
        Column of the levels.
    forecasts : dict of str to Forecast
        The forecasts, by their levels.
    """

    by: str
    forecasts: dict[str, Forecast]

    def aggregate(self, span="all", how="sum", **options):
        """Forecast what is made of the values of spans, for each level; see :meth:`.Forecast.aggregate`."""
        found = {level: one.aggregate(span, how, **options) for level, one in self.forecasts.items()}
        return PanelForecast(self.by, found)

    def to_frame(self, n_draws: int = 0, random_state: Any = 0) -> Any:
        """The forecasts as one table, whose first column has the levels; see :meth:`.Forecast.to_frame`."""
        import pandas

        found = []
        for level, one in self.forecasts.items():
            part = one.to_frame(n_draws, random_state)
            part.insert(0, self.by, level)
            found.append(part)
        return pandas.concat(found, ignore_index=True)
