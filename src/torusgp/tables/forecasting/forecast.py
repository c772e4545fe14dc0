"""A forecast: what is expected at each time, how sure that is, and whole paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.tables.forecasting.quantiles import quantile_name, quantile_names

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
    """What is expected at each time of the future, and how sure that is.

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
    """Where spans begin: their times, and the positions of their first rows."""
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
        wall = times if zone is None else times.dt.tz_localize(None)
        starts = wall.dt.to_period(SPANS[str(span)]).dt.start_time
        if zone is not None and span == "hour":
            starts = times - (wall - starts)  # an hour that comes twice is two
        elif zone is not None:
            first_of_two = np.ones(len(times), dtype=bool)
            starts = starts.dt.tz_localize(zone, nonexistent="shift_forward", ambiguous=first_of_two)
        keys = (starts if zone is None else starts.dt.tz_convert("UTC").dt.tz_localize(None)).to_numpy()
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return starts.iloc[first].reset_index(drop=True), first
