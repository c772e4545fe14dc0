"""Which columns of a table are inputs, with which periods, and what orders the rows."""

from dataclasses import asdict, dataclass, fields, replace

from torusgp.data.tables import NotNumbersError, TableError, holds_numbers, numeric_column
from torusgp.estimators.short_form import slow_change
from torusgp.kernels.axes import Circle, Expression
from torusgp.storage.serialisation import from_json, to_json
from torusgp.tables.clock import (
    CYCLES,
    CalendarPhases,
    TimeAxis,
    check_zone,
    cycle_of,
    is_unix_time,
    read_times,
    time_column,
    to_zone,
)
from torusgp.tables.models._holidays import NAME as HOLIDAYS
from torusgp.tables.models._holidays import holiday_levels
from torusgp.tables.models._lags import History, Lag
from torusgp.tables.models._terms import (
    TIME,
    all_factors,
    category_inputs,
    distinct_circles,
    named_inputs,
    slope_inputs,
)
from torusgp.tables.table import level_column
from torusgp.tables.words import TABLE, word

_MOST_MARKS = 3  # of values that may stand for nothing, in an error
EMPTY = "(empty)"  # level of fields without a value


@dataclass(frozen=True)
class TableInputs:
    """Inputs of a model, by the columns of a table.

    Attributes
    ----------
    model : Expression
        What the target depends on, over names of inputs.
    calendar : tuple or None
        Column of times and the cycles that are read off it.
    time : str or None
        Column that orders the rows.
    timezone : str or None
        Zone to which times that know theirs are moved.
    zone : str or None
        Zone of the calendar's times that were fitted, empty if they had none; None before.
    whole_days : bool
        Whether longer cycles count whole days beside "day".
    decimal, date_format : str
        How numbers and times that are text are written; "auto" where that is plain.
    axis : TimeAxis or None
        How the time of a row becomes a number, if the model has it; None before.
    lags : tuple of Lag
        Moving means that are inputs.
    history : History or None
        What moving means of later rows need to know of those that were fitted; None before.
    holidays : str or None
        Country whose holidays are an input.
    empty_levels : tuple of str
        Categories for which an empty field is a level of its own.
    unused : tuple of pairs
        Columns of the table that are no inputs, and why.
    """

    model: Expression
    calendar: tuple | None
    time: str | None
    timezone: str | None
    zone: str | None = None
    whole_days: bool = True
    decimal: str = "auto"
    date_format: str = "auto"
    axis: TimeAxis | None = None
    lags: tuple = ()
    history: History | None = None
    holidays: str | None = None
    empty_levels: tuple = ()
    unused: tuple = ()

    @classmethod
    def from_json(cls, content):
        """Inputs from what :meth:`to_json` gave."""
        calendar = None if content["calendar"] is None else (content["calendar"][0], tuple(content["calendar"][1]))
        return cls(
            **content
            | {
                "model": from_json(content["model"]),
                "calendar": calendar,
                "axis": None if content["axis"] is None else TimeAxis(**content["axis"]),
                "lags": tuple(Lag(**lag) for lag in content["lags"]),
                "history": None if content["history"] is None else History.from_json(content["history"]),
                "empty_levels": tuple(content["empty_levels"]),
                "unused": tuple(map(tuple, content["unused"])),
            }
        )

    def to_json(self):
        """What JSON can hold of it."""
        content = {one.name: getattr(self, one.name) for one in fields(self)}
        axis = None if self.axis is None else asdict(self.axis)
        history = None if self.history is None else self.history.to_json()
        lags = [asdict(lag) for lag in self.lags]
        return content | {"model": to_json(self.model), "axis": axis, "lags": lags, "history": history}

    @property
    def names(self):
        """Names of the inputs of the regressor."""
        return named_inputs(self.model)

    @property
    def calendar_names(self):
        """Names of the inputs that are read off the calendar."""
        return [] if self.calendar is None else [CYCLES[cycle].column for cycle in self.calendar[1]]

    @property
    def circles(self):
        """Circles of the model, each axis once."""
        return distinct_circles(self.model)

    def factor(self, name):
        """First factor of the model that an input has; None if it is a slope or no input."""
        return next((one for one in all_factors(self.model) if one.used == (name,)), None)

    @property
    def slopes(self):
        """Columns whose slopes are part of the model, in the order of its plain columns."""
        return slope_inputs(self.model)

    @property
    def has_time_slope(self):
        """Whether the model has a straight line in the time of the rows."""
        return self.time is not None and self.time in self.slopes

    @property
    def needs_time(self):
        """Whether the time of the rows is an input."""
        return self.time is not None and self.time in self.names

    @property
    def needs_order(self):
        """Whether inputs follow from the time of the rows, which has to be known then."""
        return self.needs_time or bool(self.lags)

    def input_name(self, word):
        """Name of the input that a word stands for: itself, the time, or a cycle of the calendar."""
        if word in self.names:
            return word
        cycle = cycle_of(word)
        return self.time if word == TIME else word if cycle is None else CYCLES[cycle].column

    def noise_names(self, noise_by):
        """Inputs that the size of the noise depends on: those named, or with "auto" all."""
        return self.names if noise_by == "auto" else [self.input_name(name) for name in noise_by or []]

    def unit(self, column):
        """What a slope along a column is told per."""
        if self.axis is not None and self.needs_time and column == self.time:
            return self.axis.unit
        return f"unit of {column}"

    def expression(self, X):
        """The model that is fitted to rows: with slow change beside what repeats, where no period is known.

        Parameters
        ----------
        X : pandas.DataFrame
            Inputs of the rows.

        Returns
        -------
        Expression
        """
        factors = [factor for term in self.model.terms for factor in getattr(term, "factors", (None,))]
        if all(isinstance(factor, Circle) and factor.period == "auto" for factor in factors):
            return self.model + slow_change(X[self.names].to_numpy(), self.names)
        return self.model

    @property
    def time_periods(self):
        """Known periods of the column of numbers that orders the rows, by their names."""
        known = [circle.period for circle in self.circles if circle.input == self.time and circle.period != "auto"]
        return {f"{period:g}": period for period in known}

    @property
    def columns(self):
        """Columns of the table that predictions need; the time of the rows is read on its own."""
        calendar = [] if self.calendar is None else [self.calendar[0]]
        return list(dict.fromkeys([*self._plain_columns, *(lag.column for lag in self.lags), *calendar]))

    @property
    def _plain_columns(self):
        """Columns of the table that are inputs as they are."""
        others = [*self.calendar_names, *self.derived, *([self.time] if self._counts_time else [])]
        return [name for name in self.names if name not in others]

    @property
    def derived(self):
        """Inputs that are made of columns: moving means, and holidays."""
        return [lag.name for lag in self.lags] + ([HOLIDAYS] if self.holidays is not None else [])

    @property
    def _counts_time(self):
        """Whether the time of the rows is counted from the first on, as no circle has the numbers themselves."""
        return self.needs_time and all(circle.input != self.time for circle in self.circles)

    def read(self, frame, source):
        """Columns of a table that predictions need, checked.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table.
        source : str or Path
            What errors call it.

        Returns
        -------
        dict of str to pandas.Series
        """
        levels = category_inputs(self.model)
        columns = {}
        for name in self._plain_columns:
            columns[name] = (self._read_levels if name in levels else self._read_numbers)(frame, name, source)
        if self.calendar is not None:
            times = columns[self.calendar[0]] = self._read_calendar(frame, self.calendar[0], source)
            if self.holidays is not None:
                columns[HOLIDAYS] = holiday_levels(times, self.holidays)
        return columns | self._read_lags(frame, source, columns)

    def _read_lags(self, frame, source, columns):
        """Moving means, with what is known of the rows before."""
        if not self.lags:
            return {}
        order = self.read_order(frame, source, columns)
        base = {lag.column: self.read_numbers(frame, lag.column, source) for lag in self.lags}
        history = self.history or History.from_rows(order, base, self.lags)
        return {lag.name: history.moving_mean(lag, order, base[lag.column]) for lag in self.lags}

    def with_history(self, frame, source, order):
        """The same, knowing what moving means of later rows need of these."""
        if not self.lags:
            return self
        base = {lag.column: self.read_numbers(frame, lag.column, source) for lag in self.lags}
        return replace(self, history=History.from_rows(order, base, self.lags))

    def read_numbers(self, frame, column, source):
        """A column of numbers, written as the model reads them."""
        try:
            return numeric_column(frame, column, source, self.decimal)
        except NotNumbersError as error:
            if not error.words:
                raise
            marks = f"{error.words[0]!r} stands for nothing" if len(error.words) == 1 else "they stand for nothing"
            named = error.words[:_MOST_MARKS]
            hint = f"If {marks}, say so: {word('missing', named, ','.join(named))}."
            raise NotNumbersError(f"{error} {hint}", error.values) from error

    def read_order(self, frame, source, columns=()):
        """Column that orders the rows, as times or numbers; None if there is none.

        Parameters
        ----------
        frame, source
            See :meth:`read`.
        columns : dict of str to pandas.Series, optional
            Columns that were read already.

        Returns
        -------
        pandas.Series or None
        """
        if self.time is None:
            return None
        if self.time in columns:
            return columns[self.time]
        is_circle = any(circle.input == self.time for circle in self.circles)
        is_time = self.date_format != "auto" or (
            self.time in frame.columns and is_unix_time(frame[self.time].dropna(), self.time)
        )
        if holds_numbers(frame, self.time) and (is_circle or not is_time):
            return self.read_numbers(frame, self.time, source)
        return _read_times(frame, self.time, source, self.timezone, self.date_format)

    def with_axis(self, order):
        """The same, knowing from when on the time of a row is counted, if the terms have it."""
        if not self.needs_time:
            return self
        axis = TimeAxis.from_order(order)
        return replace(self, axis=replace(axis, zero=0.0) if axis.kind == "number" else axis)

    def to_inputs(self, columns, order=None, source=TABLE):
        """Inputs of the regressor.

        Parameters
        ----------
        columns : dict of str to pandas.Series
            Complete columns, see :meth:`read`.
        order : pandas.Series, optional
            Times of the rows, if the model has them.
        source : str or Path, optional
            What errors call the table.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas

        values = {name: columns[name].to_numpy() for name in [*self._plain_columns, *self.derived]}
        index = order.index if not columns else next(iter(columns.values())).index
        if self.calendar is not None and self.calendar[1]:
            phases = CalendarPhases(self.calendar[1], whole_days=self.whole_days)
            phases = phases.fit_transform(columns[self.calendar[0]])
            values.update(zip(self.calendar_names, phases.T, strict=True))
        if self._counts_time:
            assert self.axis is not None
            values[self.time] = self.axis.to_numbers(order, source)
        return pandas.DataFrame({name: values[name] for name in self.names}, index=index)

    def check_cycles(self, X, source):
        """Raise if a cycle of the calendar has the same place in all of many rows, from which nothing can be learned.

        Parameters
        ----------
        X : pandas.DataFrame
            Inputs of the rows to fit, from :meth:`to_inputs`.
        source : str or Path
            What errors call the table.
        """
        if self.calendar is None:
            return
        column, cycles = self.calendar
        for cycle, name in zip(cycles, self.calendar_names, strict=True):
            if name not in X:
                continue
            values = X[name].to_numpy()
            if (values == values[0]).all():
                shared = {"hour": "minute", "day": "time of day"}.get(cycle, f"day of the {cycle}")
                shown = values[0] + (cycle in ("month", "quarter", "year"))  # whose days people count from 1
                raise TableError(
                    f"Every row of {column!r} in {source} has the same {shared} ({name} is {shown:g}): leave out "
                    f"{cycle!r}."
                )

    def _read_levels(self, frame, column, source):
        if column not in self.empty_levels or column not in frame.columns:
            return level_column(frame, column, source)
        filled = frame[column].astype(object).where(frame[column].notna(), EMPTY)
        return level_column(frame.assign(**{column: filled}), column, source)

    def _read_numbers(self, frame, column, source):
        try:
            return self.read_numbers(frame, column, source)
        except TableError as error:
            first = frame[column].dropna().iloc[:1].tolist() if column in frame.columns else []
            if not first:  # there is nothing that could be a time
                raise
            try:
                read_times(first)
            except ValueError:
                raise error from None
        raise TableError(
            f"Column {column!r} of {source} contains times, such as {first[0]}, not numbers: give it to the calendar "
            f"({word('calendar', column)}), or count hours or days from some start."
        )

    def _read_calendar(self, frame, column, source):
        """Times of the calendar on the clock of the model; an error if that is not known."""
        zone = self.timezone or (to_zone(self.zone) if self.zone else None)
        times = _read_times(frame, column, source, zone, self.date_format)
        if self.zone is not None and self.timezone is None:
            check_zone(times, self.zone, source)
        return times


def _read_times(frame, column, source, timezone, date_format):
    """A column of times; an error that asks for a time zone says how to give it."""
    try:
        return time_column(frame, column, source, timezone, date_format)
    except TableError as error:
        if timezone is not None or "several offsets" not in str(error):
            raise
        raise TableError(f"{str(error).removesuffix('.')} ({word('timezone', 'Europe/Berlin')}).") from error
