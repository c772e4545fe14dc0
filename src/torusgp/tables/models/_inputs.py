"""Which columns of a table are inputs, with which periods, and what orders the rows."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from torusgp.estimators.short_form import slow_change
from torusgp.kernels.axes import Circle, Product
from torusgp.storage.serialisation import from_json, to_json
from torusgp.tables.calendar import CalendarPhases
from torusgp.tables.models._terms import (
    TIME,
    category_inputs,
    check_terms,
    levels_as_text,
    named_inputs,
    rename_time,
    slope_inputs,
)
from torusgp.tables.models._time_axis import TimeAxis
from torusgp.tables.models._words import word
from torusgp.tables.reading import (
    TableError,
    holds_numbers,
    level_column,
    numeric_column,
    time_column,
    to_zone,
    zone_name,
)
from torusgp.tables.times import read_times, to_timezone

TABLE = "the table"  # where rows come from that were not read from a file
_FARTHEST = 2.0  # factor by which a learned period may be another than the one given


@dataclass(frozen=True)
class TableInputs:
    """Inputs of a model, by the columns of a table.

    Attributes
    ----------
    dimensions : tuple of pairs
        Column and period of each dimension of the torus that a column of numbers feeds; "auto" for a period that is
        not known.
    learned : tuple of str
        Columns whose periods are learned, from where they are given or found.
    calendar : tuple or None
        Column of times and the cycles that are read off it.
    time : str or None
        Column that orders the rows.
    timezone : str or None
        Zone to which times that know theirs are moved.
    zone : str or None
        Zone of the calendar's times that were fitted, empty if they had none; None before.
    whole_days : bool
        Whether the calendar's other cycles count whole days beside "day".
    decimal, date_format : str
        How numbers and times that are text are written; "auto" where that is plain.
    terms : Expression or None
        What the model has beside the product of the periods, over names of inputs.
    axis : TimeAxis or None
        How the time of a row becomes a number, if the terms have it; None before.
    """

    dimensions: tuple
    learned: tuple
    calendar: tuple | None
    time: str | None
    timezone: str | None
    zone: str | None = None
    whole_days: bool = False  # as in files from before there was a choice
    decimal: str = "auto"
    date_format: str = "auto"
    terms: Any = None
    axis: TimeAxis | None = None

    @classmethod
    def from_options(
        cls,
        periods,
        calendar,
        time,
        timezone,
        learn_period,
        *,
        whole_days=True,
        decimal="auto",
        date_format="auto",
        terms=None,
    ):
        """Check what a user says of the inputs; see :class:`TableModel`."""
        dimensions = [(str(column), _check_period(column, one)) for column, one in _pairs(periods)]
        named = list(dict.fromkeys(column for column, _ in dimensions))
        learned = [learn_period] if isinstance(learn_period, str) else list(learn_period)
        dimensions += [(column, "auto") for column in dict.fromkeys(learned) if column not in named]
        repeated = [pair for pair in dimensions if dimensions.count(pair) > 1 and pair[1] != "auto"]
        if repeated:
            raise ValueError(f"Column {repeated[0][0]!r} is given the period {repeated[0][1]:g} twice.")
        column, cycles = _check_calendar(calendar)
        check_terms(terms)
        if not dimensions and column is None:
            raise ValueError(
                f"Nothing to learn from: name columns with their periods ({word('period', 'hour', 24)}), or a column "
                f"of times ({word('calendar', 'time')})."
            )
        if timezone is not None:
            to_timezone(timezone)
        inputs = cls(
            tuple(dimensions),
            tuple(dict.fromkeys(learned)),
            None if column is None else (column, cycles),
            column if time is None else time,
            None if timezone is None else str(timezone),
            whole_days=bool(whole_days),
            decimal=decimal,
            date_format=date_format,
            terms=levels_as_text(rename_time(terms, column if time is None else time)),
        )
        inputs._check_names()
        return inputs

    def _check_names(self):
        names = self.names
        clash = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if clash:
            raise ValueError(
                f"{clash[0]!r} is a column with a period and part of the calendar, too: leave one of them out."
            )
        numbers = [column for column, _ in self.dimensions] + self.calendar_names
        both = [name for name in category_inputs(self.terms) if name in [*numbers, self.time]]
        if both:
            raise ValueError(f"{both[0]!r} has a period or is the time, so it cannot be a category.")

    @classmethod
    def from_json(cls, content):
        """Inputs from what :meth:`to_json` gave."""
        calendar = content["calendar"]
        return cls(
            tuple((column, period) for column, period in content["dimensions"]),
            tuple(content["learned"]),
            None if calendar is None else (calendar[0], tuple(calendar[1])),
            content["time"],
            content["timezone"],
            content["zone"],
            terms=from_json(content.get("terms")),
            axis=None if content.get("axis") is None else TimeAxis(**content["axis"]),
            **{name: content[name] for name in ("whole_days", "decimal", "date_format") if name in content},
        )

    def to_json(self):
        """What JSON can hold of it."""
        content = {one.name: getattr(self, one.name) for one in fields(self)}
        axis = None if self.axis is None else asdict(self.axis)
        return content | {"terms": to_json(self.terms), "axis": axis}

    @property
    def names(self):
        """Names of the inputs of the regressor: columns with periods, those of the calendar, and those of terms."""
        own = list(dict.fromkeys(column for column, _ in self.dimensions)) + self.calendar_names
        return own + [name for name in named_inputs(self.terms) if name not in own]

    @property
    def calendar_names(self):
        """Names of the inputs that are read off the calendar."""
        if self.calendar is None:
            return []
        phases = CalendarPhases(self.calendar[1]).fit(["2000-01-01"])  # names do not depend on the times
        return phases.get_feature_names_out().tolist()

    @property
    def circles(self):
        """Name of the input of each period."""
        return [column for column, _ in self.dimensions] + self.calendar_names

    @property
    def slopes(self):
        """Columns whose slopes are part of the model, in the order of its plain columns."""
        return slope_inputs(self.terms)

    @property
    def has_time_slope(self):
        """Whether the model has a line in the time of the rows."""
        return self.time is not None and self.time in self.slopes

    @property
    def needs_time(self):
        """Whether the model has the time of the rows in its terms."""
        return self.time is not None and self.time in named_inputs(self.terms)

    def unit(self, column):
        """What a slope along a column is told per."""
        if self.axis is not None and self.needs_time and column == self.time:
            return self.axis.unit
        return f"unit of {column}"

    def expression(self, family, max_interaction, X):
        """The model as an expression over the names of the inputs.

        Where no period is known, slow change beside what repeats is part of it, unless terms are given.

        Parameters
        ----------
        family : str
            Family of the kernel along the periods.
        max_interaction : int or None
            Largest number of periods that interact.
        X : pandas.DataFrame
            Inputs of the rows to fit.

        Returns
        -------
        Expression
        """
        circles = tuple(
            Circle(name, period, family, period_bounds=self._period_bounds(name, period))
            for name, period in zip(self.circles, self.periods, strict=True)
        )
        product = Product(circles, max_interaction=max_interaction)
        if self.terms is not None:
            return product + self.terms
        if all(period == "auto" for period in self.periods):
            names = list(dict.fromkeys(self.circles))
            return product + slow_change(X[names].to_numpy(), names)
        return product

    def _period_bounds(self, name, period):
        if period == "auto" or name not in self.learned:
            return None
        return period / _FARTHEST, period * _FARTHEST

    @property
    def periods(self):
        """Period of each dimension of the torus, "auto" where it is not known."""
        calendar = [] if self.calendar is None else CalendarPhases(self.calendar[1]).period_.tolist()
        return [period for _, period in self.dimensions] + calendar

    @property
    def learns_period(self):
        """Which periods are learned."""
        return [
            period == "auto" or name in self.learned for name, period in zip(self.circles, self.periods, strict=True)
        ]

    @property
    def columns(self):
        """Columns of the table that predictions need."""
        calendar = [] if self.calendar is None else [self.calendar[0]]
        return list(dict.fromkeys([column for column, _ in self.dimensions] + calendar + self._term_columns))

    @property
    def _term_columns(self):
        """Columns that terms alone need; the time is read on its own."""
        known = [*self.circles, self.time]
        return [name for name in named_inputs(self.terms) if name not in known]

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
        columns = {column: self._read_dimension(frame, column, source) for column, _ in self.dimensions}
        if self.calendar is not None:
            columns[self.calendar[0]] = self._read_calendar(frame, self.calendar[0], source)
        for name in self._term_columns:
            is_category = name in category_inputs(self.terms)
            columns[name] = level_column(frame, name, source) if is_category else self._read_term(frame, name, source)
        return columns

    def read_numbers(self, frame, column, source):
        """A column of numbers, written as the model reads them."""
        return numeric_column(frame, column, source, self.decimal)

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
        is_formatted = self.date_format != "auto" and self.time not in dict(self.dimensions)
        if holds_numbers(frame, self.time) and not is_formatted:
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
            Times of the rows, if the terms have them.
        source : str or Path, optional
            What errors call the table.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas

        values = {column: columns[column].to_numpy() for column, _ in self.dimensions}
        index = next(iter(columns.values())).index
        if self.calendar is not None:
            phases = CalendarPhases(self.calendar[1], whole_days=self.whole_days)
            phases = phases.fit_transform(columns[self.calendar[0]])
            values.update(zip(self.calendar_names, phases.T, strict=True))
        values |= {name: columns[name].to_numpy() for name in self._term_columns}
        if self.axis is not None and self.needs_time and self.time not in values:
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
            values = X[name].to_numpy()
            if (values == values[0]).all():
                shared = "time of day" if cycle == "day" else f"day of the {cycle}"
                shown = values[0] + (cycle in ("month", "year"))  # whose days people count from 1
                raise TableError(
                    f"Every row of {column!r} in {source} has the same {shared} ({name} is {shown:g}): leave out "
                    f"{cycle!r}."
                )

    def _read_dimension(self, frame, column, source):
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
            f"Column {column!r} of {source} holds times, such as {first[0]}, not numbers: give it to the calendar "
            f"({word('calendar', column)}), or count hours or days from some start."
        )

    def _read_term(self, frame, column, source):
        if column == TIME and not holds_numbers(frame, column):
            raise TableError(
                f"terms have {TIME!r}, but nothing orders the rows: name the column that does ({word('time', 'date')}) "
                f"or give times to the calendar ({word('calendar', 'date')})."
            )
        return self._read_dimension(frame, column, source)

    def _read_calendar(self, frame, column, source):
        """Times of the calendar on the clock of the model; an error if that is not known."""
        zone = self.timezone or (to_zone(self.zone) if self.zone else None)
        times = _read_times(frame, column, source, zone, self.date_format)
        found = zone_name(times)
        if self.zone is not None and self.timezone is None and bool(found) != bool(self.zone):
            have, had = (f"the time zone {name}" if name else "no time zone" for name in (found, self.zone))
            raise TableError(
                f"Times in column {column!r} of {source} have {have}, but those that the model was fitted to have "
                f"{had}: their clocks differ."
            )
        return times


def _read_times(frame, column, source, timezone, date_format):
    """A column of times; an error that asks for a time zone says how to give it."""
    try:
        return time_column(frame, column, source, timezone, date_format)
    except TableError as error:
        if timezone is not None or "several offsets" not in str(error):
            raise
        raise TableError(f"{str(error).removesuffix('.')} ({word('timezone', 'Europe/Berlin')}).") from error


def _pairs(periods):
    """Columns and periods, each alone, from a dictionary or pairs."""
    pairs = [] if periods is None else list(periods.items() if hasattr(periods, "items") else periods)
    for column, given in pairs:
        several = not isinstance(given, str) and np.iterable(given)
        for period in given if several else [given]:
            yield column, period


def _check_period(column, period):
    if isinstance(period, str) and period.strip() == "auto":
        return "auto"
    try:
        number = float(period)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"The period of {column!r} must be a positive number or 'auto', got {period!r}.")
    return number


def _check_calendar(calendar):
    """Column and cycles of a calendar."""
    if calendar is None or not calendar:
        return None, None
    if not hasattr(calendar, "items") or len(calendar) > 1:
        raise ValueError(f"calendar must name one column and its cycles, as in {{'time': ['day']}}, got {calendar!r}.")
    ((column, cycles),) = calendar.items()
    cycles = (cycles,) if isinstance(cycles, str) else tuple(cycles)
    try:
        _ = CalendarPhases(cycles).period_
    except ValueError as error:
        raise ValueError(f"The calendar of {column!r} is {', '.join(map(str, cycles))}: {error}") from error
    return str(column), cycles
