"""Where times fall in the hour, the day, the week, the month, the quarter and the year."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from torusgp.checks import check_flag
from torusgp.tables.times import UnreadableTimeError, name_of_zone, to_timezone, wall_clock

_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class CalendarPhases(TransformerMixin, BaseEstimator):
    """Times, turned into where they fall in the hour, the day, the week, the month, the quarter and the year.

    ========= ================== ======== =====================================================
    cycle     column             period   meaning
    ========= ================== ======== =====================================================
    "hour"    ``minute_of_hour`` 60       minutes since the full hour
    "day"     ``hour_of_day``    24       hours since midnight
    "week"    ``day_of_week``    7        days since the midnight before Monday
    "month"   ``day_of_month``   30.4375  days since the month began, stretched to one length
    "quarter" ``day_of_quarter`` 91.3125  days since the quarter began, stretched to one length
    "year"    ``day_of_year``    365.25   days since New Year, stretched to one length
    ========= ================== ======== =====================================================

    All are read off the wall clock: 8 in the morning is hour 8 in summer and in winter, and also on the days of 23 or
    25 hours, on which the clocks change. Each month, quarter and year is exactly one turn: whatever its length, it is
    stretched or shrunk to a twelfth or a quarter of 365.25 days, or to 365.25 days.

    With "day" among the cycles, longer ones count whole days: they stand still from midnight to midnight, so that the
    hour and the date are inputs of their own. If they moved on with every hour, the hour would be part of them, and
    effects of the one could not be told from effects of the other. Without "day" they move on all the time.

    Parameters
    ----------
    cycles : sequence of {"hour", "day", "week", "month", "quarter", "year"}, default=("day", "week", "year")
        What to compute, in this order.
    timezone : str or tzinfo, optional
        Zone whose wall clock is read, such as "Australia/Melbourne". Times that know their zone are moved there; by
        default they stay in their own. Times without a zone are wall-clock times already, and stay as they are.
    column : str or int, optional
        Column of the times, by name or position, where the inputs have several.
    whole_days : bool, default=True
        Whether longer cycles count whole days beside "day". False lets them move on through the day. That suits what
        goes on around midnight, such as a busy night from Friday to Saturday: where days are whole, the end of Friday
        is next to its beginning, while it is next to Saturday where they move on.

    Attributes
    ----------
    period_ : ndarray of shape (n_cycles,)
        Period of each column, to give to :class:`TorusGPRegressor`. It is there before ``fit``, too.
    timezone_ : str or None
        Zone whose wall clock is read: ``timezone``, or else the zone of the times that were fitted; "fixed offsets"
        where each came with an offset such as +10:00, and None where they have no zone. Other times have to agree.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the inputs, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from torusgp import TorusGPRegressor
    >>> phases = CalendarPhases(["day", "week"])
    >>> phases.fit_transform(["2024-01-31 12:00", "2024-02-05"])  # a Wednesday, a Monday
    array([[12.,  2.],
           [ 0.,  0.]])
    >>> CalendarPhases(["week"]).fit_transform(["2024-01-31 12:00"])
    array([[2.5]])

    Three weeks whose weekends are quieter, and the fourth, which follows from them:

    >>> times = np.datetime64("2024-01-01") + np.arange(28 * 24).astype("timedelta64[h]")
    >>> hour, weekday = phases.fit_transform(times).T
    >>> demand = np.cos(2 * np.pi * hour / 24) * np.where(weekday < 5, 2.0, 1.0)
    >>> model = make_pipeline(phases, TorusGPRegressor(period=phases.period_)).fit(times[:504], demand[:504])
    >>> bool(model.score(times[504:], demand[504:]) > 0.99)
    True
    """

    def __init__(self, cycles=("day", "week", "year"), *, timezone=None, column=None, whole_days=True):
        self.cycles = cycles
        self.timezone = timezone
        self.column = column
        self.whole_days = whole_days

    @property
    def period_(self):
        """Period of each column."""
        return np.array([cycle.period for cycle in _resolve_cycles(self.cycles)])

    def fit(self, X, y=None):
        """Check the times, and remember their zone.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)
            Times: datetime64 of pandas or NumPy, Python's datetimes, or text such as ``2024-01-31 13:30`` or
            ``2024-01-31T13:30:00+01:00`` (ISO 8601), or ``31.01.2024 13:30``, where the day comes first.
        y : ignored
            Present for the interface.

        Returns
        -------
        self
        """
        _resolve_cycles(self.cycles)
        X = _to_table(X)
        # a sequence is one input without a name, so that any other sequence may follow it
        validate_data(self, X if X.ndim == 2 else np.empty((len(X), 1)), skip_check_array=True)
        zone = self._stamps(X)[1]
        self.timezone_ = zone if self.timezone is None else name_of_zone(to_timezone(self.timezone))
        return self

    def transform(self, X):
        """Place times in the cycles.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, n_features)
            Times, as in ``fit``; in the same zone, unless ``timezone`` is given.

        Returns
        -------
        ndarray of shape (n_samples, n_cycles)
            Numbers from 0 up to the period of their column, which they do not reach.
        """
        check_is_fitted(self)
        X = _to_table(X)
        if X.ndim == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        stamps, zone = self._stamps(X)
        if self.timezone is None and zone != self.timezone_:
            raise ValueError(
                f"These times have {zone or 'no time zone'}, but CalendarPhases was fitted to times with "
                f"{self.timezone_ or 'no time zone'}: their clocks differ. Say with timezone= whose clock matters."
            )
        cycles = _resolve_cycles(self.cycles)
        check_flag(self.whole_days, "whole_days")
        clock = _Clock.from_stamps(stamps)
        dates = clock.at_midnight() if self.whole_days and CYCLES["day"] in cycles else clock
        return np.column_stack([cycle.phase(dates if cycle.counts_days else clock) for cycle in cycles])

    def get_feature_names_out(self, input_features=None):
        """Names of the columns, such as ``hour_of_day``.

        Parameters
        ----------
        input_features : ignored
            Present for the interface.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        return np.array([cycle.column for cycle in _resolve_cycles(self.cycles)], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.no_validation = True  # scikit-learn's checks hand over numbers, which are no times
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _stamps(self, X):
        """Wall-clock times as datetime64 without NaT, and the name of their zone."""
        values, of_column = _select(X, self.column)
        if not len(values):
            raise ValueError("CalendarPhases needs at least one time, got 0 sample(s).")
        if values.dtype.kind not in "MOUT":
            raise ValueError(
                f"X{of_column} holds {values.dtype}, which is no type of times. If these are seconds since 1970: "
                "pandas.to_datetime(..., unit='s')."
            )
        try:
            stamps, zone = wall_clock(values, to_timezone(self.timezone))
        except UnreadableTimeError as error:
            raise ValueError(f"Row {error.position} (counted from 0){of_column}: {error}") from error
        missing = np.flatnonzero(np.isnat(stamps))
        if len(missing):
            raise ValueError(
                f"Row {missing[0]} (counted from 0){of_column} has no time (NaT), as have {len(missing)} of "
                f"{len(stamps)} rows. Leave them out first."
            )
        return stamps, zone


def _to_table(X):
    """X itself if it is of pandas, else as an array; of one or two dimensions."""
    X = X.to_pandas() if hasattr(X, "to_pandas") else X  # of polars; its array would have lost the zone
    X = X if hasattr(X, "to_frame") or hasattr(X, "iloc") else np.asarray(X)
    if X.ndim not in (1, 2):
        raise ValueError(f"Times must be a sequence or a column of a table, got an array of shape {X.shape}.")
    return X


def _select(X, column):
    """The column of the times, and words that name it."""
    if X.ndim == 1:
        return X, ""
    names = list(getattr(X, "columns", []))
    n_columns = X.shape[1]
    if column is None and n_columns == 1:
        position = 0
    elif column is None:
        raise ValueError(f"X has {n_columns} columns {names or ''}: say with column= which of them has the times.")
    elif isinstance(column, str) and column in names:
        position = names.index(column)
    elif isinstance(column, int | np.integer) and -n_columns <= column < n_columns:
        position = int(column) % n_columns
    else:
        raise ValueError(f"column is {column!r}, but X has {n_columns} columns {names or 'without names'}.")
    if not names:
        return X[:, position], f" of column {position}"
    return X.iloc[:, position], f" of column {names[position]!r}"


@dataclass(frozen=True)
class _Clock:
    """Times taken apart in integers, so that a phase is rounded a few times, whatever the year.

    Attributes
    ----------
    day : ndarray of int64
        Days since 1970 began.
    tick : ndarray of int64
        Ticks since midnight.
    ticks_per_day : int
        Length of a day in the same unit.
    """

    day: np.ndarray
    tick: np.ndarray
    ticks_per_day: int

    @classmethod
    def from_stamps(cls, stamps):
        unit, _ = np.datetime_data(stamps.dtype)
        if unit not in _TICKS_PER_SECOND:
            unit = "s" if unit in ("Y", "M", "W", "D", "h", "m") else "ns"
        stamps = stamps.astype(f"datetime64[{unit}]", copy=False)  # also from multiples, such as 15 minutes
        ticks_per_day = 86400 * _TICKS_PER_SECOND[unit]
        day, tick = np.divmod(stamps.astype(np.int64), ticks_per_day)
        return cls(day, tick, ticks_per_day)

    def at_midnight(self):
        """The clock at the beginning of each day."""
        return _Clock(self.day, np.zeros_like(self.tick), self.ticks_per_day)

    def minute_of_hour(self):
        ticks_per_hour = self.ticks_per_day // 24
        return self.tick % ticks_per_hour / (ticks_per_hour // 60)

    def hour_of_day(self):
        return self.tick / (self.ticks_per_day // 24)

    def day_of_week(self):
        return ((self.day + 3) % 7 * self.ticks_per_day + self.tick) / self.ticks_per_day  # 1970 began on a Thursday

    def stretched_day(self, n_months, n_days):
        """Days since a span of so many months began, stretched to a mean length."""
        month = self.day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        start = month - month % n_months  # months since 1970, which began a year and its quarters
        first, after = (_first_day(bound) for bound in (start, start + n_months))
        passed = ((self.day - first) * self.ticks_per_day + self.tick) / ((after - first) * self.ticks_per_day)
        return np.minimum(passed * n_days, np.nextafter(n_days, 0.0))  # the last nanoseconds might be rounded up


def _first_day(month):
    """Days since 1970 of the beginnings of months, counted from that year on."""
    return month.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


YEAR = 365.25  # days


@dataclass(frozen=True)
class Cycle:
    """A cycle of the calendar.

    Attributes
    ----------
    column : str
        What the clock shows of it: the name of the input.
    period : float
        Its length in the units of that column.
    n_days : float
        Its length in days.
    phase : callable
        Place in the cycle of a clock.
    words : tuple of str
        What people call the input.
    """

    column: str
    period: float
    n_days: float
    phase: Callable[[_Clock], np.ndarray]
    words: tuple[str, ...]

    @property
    def counts_days(self) -> bool:
        """Whether it is longer than a day."""
        return self.n_days > 1


CYCLES = {
    "hour": Cycle("minute_of_hour", 60.0, 1 / 24, _Clock.minute_of_hour, ("minute",)),
    "day": Cycle("hour_of_day", 24.0, 1.0, _Clock.hour_of_day, ("hour", "day")),
    "week": Cycle("day_of_week", 7.0, 7.0, _Clock.day_of_week, ("weekday", "week")),
    "month": Cycle("day_of_month", YEAR / 12, YEAR / 12, lambda clock: clock.stretched_day(1, YEAR / 12), ("month",)),
    "quarter": Cycle(
        "day_of_quarter", YEAR / 4, YEAR / 4, lambda clock: clock.stretched_day(3, YEAR / 4), ("quarter",)
    ),
    "year": Cycle("day_of_year", YEAR, YEAR, lambda clock: clock.stretched_day(12, YEAR), ("year", "season")),
}


def _resolve_cycles(cycles):
    known = ", ".join(map(repr, CYCLES))
    names = [] if isinstance(cycles, str) or not np.iterable(cycles) else list(cycles)
    are_known = all(isinstance(name, str) and name in CYCLES for name in names)
    if not names or not are_known or len(set(names)) < len(names):
        raise ValueError(f"cycles must be a sequence of some of {known}, each once, got {cycles!r}.")
    return [CYCLES[name] for name in names]


def cycle_of(word):
    """Name of the cycle that a word stands for in a formula, None if it is none.

    Parameters
    ----------
    word : str
        Such as "hour" (of the day), "weekday", "day of year", "day_of_year" or "year".

    Returns
    -------
    str or None

    Examples
    --------
    >>> [cycle_of(word) for word in ("hour", "weekday", "day of year", "minute", "price")]
    ['day', 'week', 'year', 'hour', None]
    """
    spoken = word.strip().lower().replace(" ", "_")
    return next((name for name, one in CYCLES.items() if spoken in (one.column, *one.words)), None)
