"""Which columns of a table become inputs, and how: by their type, by their names, or by a formula."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torusgp.data.tables import TableError, did_you_mean
from torusgp.kernels.axes import Category, Circle, Expression, Factor, Line, Product, Slope
from torusgp.tables.clock import CYCLES, YEAR, CalendarPhases, TimeAxis, cycle_of, n_turns, spacing, to_timezone
from torusgp.tables.models._formula import parse_formula
from torusgp.tables.models._given import check_calendar, check_period, known_circles, listed_names
from torusgp.tables.models._holidays import NAME as HOLIDAYS
from torusgp.tables.models._holidays import check_holidays
from torusgp.tables.models._inputs import TableInputs
from torusgp.tables.models._lags import parse_lags
from torusgp.tables.models._terms import (
    TIME,
    category_inputs,
    check_terms,
    distinct_circles,
    levels_as_text,
    named_inputs,
    rename_time,
)
from torusgp.tables.table import column_kind
from torusgp.tables.words import word

_BY_TYPE = ("day", "week", "year")  # cycles of a column of times whose cycles nobody named
_SLOW = (0.25, 10.0)  # bounds of the length scale of slow change, relative to the time that the rows cover
_FEW_AXES = 3  # up to so many interact freely; of more the data choose the frequencies
AUTO = "auto"  # the family of each term by what it is for
_FARTHEST = 2.0  # factor by which a learned period may be another than the one given
_OF_EFFECTS, _OF_ALL = "squared_exponential", "matern52"  # what pairs do is smooth; all inputs together have exceptions
NOT_NAMED = "it is not named"  # why most columns are not used
_FUNCTIONS = "line(x), slope(x), category(x) and circle(x, period)"


@dataclass(frozen=True)
class Options:
    """What a user says of the inputs; see :class:`TableModel`."""

    target: str
    inputs: Any = None
    terms: Any = None
    periods: Any = None
    calendar: Any = None
    time: str | None = None
    timezone: Any = None
    whole_days: bool = True
    decimal: str = "auto"
    date_format: str = "auto"
    lags: Any = None
    holidays: str | None = None
    kernel: str = AUTO
    reserved: tuple[str, ...] = ()  # columns with another role
    fills_levels: bool = True  # whether an empty field may be a level

    @property
    def family(self) -> str:
        """Family of all terms but the product of all inputs."""
        return _OF_EFFECTS if self.kernel == AUTO else self.kernel

    @property
    def family_of_all(self) -> str:
        """Family of the product of all inputs."""
        return _OF_ALL if self.kernel == AUTO else self.kernel


def choose_inputs(options: Options, frame: Any, source: Any) -> TableInputs:
    """Inputs of a model, from what a user says and from what the table has.

    What ``terms`` says is part of the model as it is. All other inputs that are named, or all columns if none is, are
    beside it: in one product, or in pairs where there are cycles and more; time adds a slow line to it.

    Parameters
    ----------
    options : Options
        What the user says.
    frame : pandas.DataFrame
        The table.
    source : str or Path
        What errors call it.

    Returns
    -------
    TableInputs
    """
    return _Chooser(options, frame, source).choose()


class _Chooser:
    def __init__(self, options: Options, frame: Any, source: Any):
        self._options, self._frame, self._source = options, frame, source
        self._names = [str(name) for name in frame.columns]
        self._circles = known_circles(options.periods, options.family)
        column, self._cycles = check_calendar(options.calendar)
        self._time = column if options.time is None else options.time
        self._calendar_column = column
        self._unused: dict[str, str] = {}
        self._lags = {lag.name: lag for lag in parse_lags(options.lags)}
        if options.timezone is not None:
            to_timezone(options.timezone)

    def choose(self) -> TableInputs:
        options = self._options
        inputs = listed_names(options.inputs)
        by_type = inputs is None and options.terms is None and not self._circles and not self._cycles
        terms = None if options.terms is None else self._terms(options.terms)
        named = [*(self._all_columns() if by_type else inputs or []), *self._derived()]
        mentioned = named_inputs(terms)
        circles = [circle for several in self._circles.values() for circle in several]
        in_circles = [] if terms is None else [circle.input for circle in distinct_circles(terms)]
        factors: list[Factor] = [circle for circle in circles if circle.input not in in_circles]
        factors += [self._cycle(name) for name in list(self._cycles or ()) if CYCLES[name].column not in mentioned]
        has_time = False
        for name in named:
            if self._is_time(name):
                factors += self._cycles_by_type(factors, mentioned)
                has_time = self._time not in mentioned
            elif name not in self._circles:  # which are there already
                factors += [one for one in self._factors(name) if one.used[0] not in mentioned]
        factors = _distinct(factors)
        slow = [self._slow_line()] if has_time else []
        parts = [*self._products(factors), *slow, *(self._together(factors, slow) if terms is None else [terms])]
        if not parts or all(isinstance(part, Slope) for part in parts):
            raise ValueError(self._nothing())
        model = levels_as_text(sum(parts[1:], parts[0]) if len(parts) > 1 else parts[0])
        assert model is not None
        self._check(model)
        return TableInputs(
            model,
            self._calendar(),
            self._time,
            None if options.timezone is None else str(options.timezone),
            whole_days=bool(options.whole_days),
            decimal=options.decimal,
            date_format=options.date_format,
            lags=tuple(self._lags.values()),
            holidays=options.holidays,
            empty_levels=self._empty_levels(model),
            unused=self._not_used(model, by_type),
        )

    def _derived(self) -> list[str]:
        """Inputs that are made of columns and need the time."""
        found = [*self._lags, *([HOLIDAYS] if self._options.holidays is not None else [])]
        for name in found:
            if name in self._names:
                raise ValueError(f"{self._source} has a column {name!r} already: rename it.")
        if not found:
            return []
        order = self._order()
        if self._options.holidays is not None:
            check_holidays(self._options.holidays)
            if order.dtype.kind != "M":
                raise TableError(f"holidays need times, but column {self._time!r} of {self._source} has numbers.")
        for lag in self._lags.values():
            if lag.column not in self._names:
                raise TableError(self._unknown(lag.column))
            if (order.dtype.kind == "M") == lag.text.replace(".", "").isdigit():
                units = "a span such as 24h" if order.dtype.kind == "M" else f"a number in the units of {self._time!r}"
                raise ValueError(f"The lag {lag.text!r} of {lag.column!r} must be {units}.")
        return found

    def _calendar(self) -> tuple[str | None, tuple[str, ...]] | None:
        """Column of times and the cycles that are read off it, maybe none if only holidays are."""
        if not self._cycles and self._options.holidays is None:
            return None
        return self._calendar_column or self._time, tuple(self._cycles or ())

    # Time --------------------------------------------------------------------------------------------------------

    def _find_time(self, needed_for: str) -> str:
        """Column of times, the only one unless it was named."""
        if self._time is None:
            found = [name for name in self._names if self._kind(name) == "time" and name not in self._reserved]
            if len(found) != 1:
                have = f"has several: {', '.join(map(repr, found))}" if found else "has none"
                raise TableError(
                    f"{needed_for} needs a column of times, but {self._source} {have}. Name it "
                    f"({word('time', found[0] if found else 'date')})."
                )
            self._time = found[0]
        return self._time

    def _is_time(self, name: str) -> bool:
        """Whether a name is that of the column which orders the rows, or stands for it."""
        if name == TIME and TIME not in self._names:
            self._find_time("time")
            return True
        if name == self._time:
            return True
        is_time = name in self._names and self._kind(name) == "time" and name not in self._circles
        if is_time and self._time is None:
            self._time = name
        elif is_time:
            raise ValueError(f"{name!r} has times, but those of {self._time!r} order the rows: leave one of them out.")
        return is_time

    def _order(self) -> Any:
        """Times of the rows, or numbers."""
        column = self._find_time("time")
        reader = TableInputs(
            Line(column),
            None,
            column,
            None if self._options.timezone is None else str(self._options.timezone),
            decimal=self._options.decimal,
            date_format=self._options.date_format,
        )
        return reader.read_order(self._frame, self._source).dropna()

    def _slow_line(self) -> Line:
        """Slow change in time: slower than every cycle, and over a good part of the rows."""
        column, order = self._find_time("time"), self._order()
        axis = TimeAxis.from_order(order)
        span = float(np.ptp(axis.to_numbers(order, self._source)))
        if span == 0:
            raise TableError(f"Column {self._time!r} of {self._source} has the same time in every row.")
        cycles = [] if axis.kind == "number" else [CYCLES[one].n_days / YEAR for one in self._cycles or ()]
        low = max(_SLOW[0] * span, *cycles, 0.0)
        bounds = (low, max(_SLOW[1] * span, low))
        return Line(column, self._options.family, length_scale=max(span / 2, low), length_scale_bounds=bounds)

    def _cycles_by_type(self, factors: list[Factor], mentioned: list[str]) -> list[Factor]:
        """Cycles that the times of the rows have gone through twice, unless some are named."""
        order = self._order()
        if order.dtype.kind != "M" or self._calendar_column is not None:
            return []
        phases = CalendarPhases(_BY_TYPE, whole_days=True).fit_transform(order)
        found: list[Factor] = []
        for name, values in zip(_BY_TYPE, phases.T, strict=True):
            is_fine = spacing(order) * YEAR <= CYCLES[name].n_days / 2
            if is_fine and n_turns(order, CYCLES[name].n_days) >= 2 and np.ptp(values) > 0:
                column = CYCLES[name].column
                if column not in mentioned and all(one.used[0] != column for one in factors):
                    found.append(self._cycle(name))
        return found

    def _cycle(self, name: str) -> Circle:
        """Circle of a cycle of the calendar."""
        self._find_time(f"The cycle {name!r}")
        self._cycles = list(dict.fromkeys([*(self._cycles or ()), name]))
        return Circle(CYCLES[name].column, CYCLES[name].period, self._options.family)

    # Columns -----------------------------------------------------------------------------------------------------

    @property
    def _reserved(self) -> tuple[str, ...]:
        return (self._options.target, *self._options.reserved)

    def _kind(self, name: str) -> str:
        options = self._options
        return column_kind(self._frame, name, self._source, options.decimal, options.date_format).name

    def _all_columns(self) -> list[str]:
        """Columns from which something can be learned; the reasons for the others are kept."""
        found, times = [], []
        for name in self._names:
            if name in self._reserved:
                continue
            kind = column_kind(self._frame, name, self._source, self._options.decimal, self._options.date_format)
            if kind.name == "unused":
                self._unused[name] = kind.reason
            elif kind.name == "time":
                times.append(name)
            else:
                found.append(name)
        if self._time is None and len(times) > 1:
            raise TableError(
                f"{self._source} has several columns of times, {', '.join(map(repr, times))}: say which orders the "
                f"rows ({word('time', times[0])})."
            )
        self._time = self._time or next(iter(times), None)
        for name in times:
            if name != self._time:
                self._unused[name] = f"its times do not order the rows, as those of {self._time!r} do"
        own = {one.column for one in CYCLES.values()}
        for name in [one for one in found if one in own and self._time is not None]:
            found.remove(name)
            self._unused[name] = f"it is read off {self._time!r}"
        return found if self._time is None else list(dict.fromkeys([self._time, *found]))

    def _factors(self, name: str) -> list[Factor]:
        """Axes of an input that is not the time, by its type."""
        if name in self._circles:
            return list(self._circles[name])
        if name in self._lags:
            return [Line(name, self._options.family)]
        if name == HOLIDAYS and self._options.holidays is not None:
            return [Category(name)]
        if name in self._names:
            return [self._by_type(name)]
        cycle = cycle_of(name)
        if cycle is not None:
            return [self._cycle(cycle)]
        raise TableError(self._unknown(name))

    def _by_type(self, name: str) -> Factor:
        cycle = cycle_of(name)
        if cycle is not None and (self._time is not None or any(self._kind(one) == "time" for one in self._names)):
            own = CYCLES[cycle].column if name != CYCLES[cycle].column else CYCLES[cycle].words[0]
            raise ValueError(
                f"{name!r} is a column of {self._source}, and the calendar has it, too: write {own} for the "
                f"calendar's, or line({name}) or circle({name}, {CYCLES[cycle].period:g}) for the column."
            )
        kind = column_kind(self._frame, name, self._source, self._options.decimal, self._options.date_format)
        if kind.name == "number":
            return Line(name, self._options.family)
        if kind.name == "category":
            return Category(name)
        if kind.name == "time":
            raise ValueError(f"{name!r} has times, but those of {self._time!r} order the rows: leave one of them out.")
        raise TableError(f"Column {name!r} of {self._source} cannot be an input: {kind.reason}.")

    def _unknown(self, name: str) -> str:
        known = [*self._names, *self._lags, *(one.words[0] for one in CYCLES.values()), TIME]
        text = f"{self._source} has no column {name!r}.{did_you_mean(name, known)}"
        if any(sign in name for sign in "~:^|/"):
            text += " In formulas + adds and * multiplies inputs; put names with other signs into quotes."
        columns, cycles = ", ".join(map(repr, self._names[:12])), ", ".join(one.words[0] for one in CYCLES.values())
        return f"{text} Its columns are {columns}; inputs of the calendar are {cycles}."

    # Terms -------------------------------------------------------------------------------------------------------

    def _terms(self, terms: Any) -> Expression:
        if isinstance(terms, str):
            parse_formula(terms, self._leaf, self._call)  # finds the cycles, than which slow change is slower
            terms = parse_formula(terms, self._leaf, self._call)
            check_terms(terms)
            return terms
        check_terms(terms)
        for name in named_inputs(terms):
            cycle = next((one for one in CYCLES if CYCLES[one].column == name), None)
            if name not in self._names and cycle is not None:
                self._cycle(cycle)
        if TIME in named_inputs(terms) and TIME not in self._names and self._time is None:
            self._find_time("time")
        renamed = rename_time(terms, self._time)
        assert renamed is not None
        for name in named_inputs(renamed):
            if name == self._time and self._time is not None:
                continue
            made = [*self._lags, HOLIDAYS, *self._calendar_inputs()]
            if name not in [*self._names, *made]:
                raise TableError(self._unknown(name))
        return renamed

    def _leaf(self, name: str) -> Expression:
        if self._is_time(name):
            return self._slow_line()
        factors = self._factors(name)
        return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def _call(self, function: str, arguments: list[str]) -> Expression:
        name, *more = arguments
        kinds = {"line": Line, "slope": Slope, "category": Category, "circle": Circle}
        if function not in kinds:
            raise ValueError(
                f"Formulas have no function {function!r}.{did_you_mean(function, list(kinds))} They have {_FUNCTIONS}; "
                "names of columns with parentheses need quotes."
            )
        if name == TIME or name == self._time:
            name = self._find_time("time") if TIME not in self._names else name
        elif name not in [*self._names, *self._lags]:
            raise TableError(self._unknown(name))
        if function == "circle":
            return self._circle(name, more)
        if more:
            raise ValueError(f"{function}({', '.join(arguments)}) has too many parts: formulas have {_FUNCTIONS}.")
        if function == "line":
            return Line(name, self._options.family)
        return Slope(name) if function == "slope" else Category(name)

    def _circle(self, name: str, more: list[str]) -> Circle:
        """Circle of a formula: ``circle(t, 24)``, ``circle(t, auto)``, or ``circle(t, 24, learned)``."""
        if not more or more[1:] not in ([], ["learned"]):
            raise ValueError(
                f"circle({', '.join([name, *more])}) needs a period: circle({name}, 24) for one that is known, "
                f"circle({name}, auto) for one to be found, circle({name}, 24, learned) for one that is about 24."
            )
        period = check_period(name, more[0])
        around = period != "auto" and len(more) > 1
        bounds = (period / _FARTHEST, period * _FARTHEST) if around else None
        return Circle(name, period, self._options.family, period_bounds=bounds)

    # What comes out ----------------------------------------------------------------------------------------------

    def _products(self, factors: list[Factor]) -> list[Expression]:
        """What interacts where no terms say so: all of it, or, where rows have a rhythm and more, pairs.

        Seasons and what else matters differ in size and smoothness, so that one variance for their product would give
        up some of them. Each cycle and each of the others may change the fastest cycle, and any two of the others may
        interact.
        """
        cycles = [one for one in factors if self._is_rhythm(one)]
        others = [one for one in factors if one not in cycles]
        finds_period = any(isinstance(one, Circle) and one.learns_period for one in factors)
        if not cycles or not others or finds_period:
            return [Product(tuple(factors))] if factors else []
        fastest = min(cycles, key=self._turn)
        pairs: list[Expression] = [Product((fastest, one)) for one in factors if one is not fastest]
        return pairs + ([Product(tuple(others), max_interaction=2)] if len(others) > 1 else [])

    def _together(self, factors: list[Factor], slow: list[Line]) -> list[Expression]:
        """The product of all inputs beside their pairs: three may interact, and pairs may change slowly.

        The data choose its frequencies, and whether it is there at all. It is rougher than the pairs: it has what is
        an exception to them.
        """
        together = [*factors, *slow]
        has_pairs = len(self._products(factors)) > 1
        if not has_pairs or len(together) <= _FEW_AXES:
            return []
        family = self._options.family_of_all
        rougher = (replace(one, family=family) if isinstance(one, Circle | Line) else one for one in together)
        return [Product(tuple(rougher))]

    def _is_rhythm(self, one: Factor) -> bool:
        """Whether a factor is a cycle of the calendar, or a period of what orders the rows."""
        return isinstance(one, Circle) and (one.input == self._time or one.input in self._calendar_inputs())

    def _turn(self, one: Factor) -> float:
        """How long a cycle takes: in days, or in the units of what orders the rows."""
        known: dict[Any, float] = {CYCLES[name].column: CYCLES[name].n_days for name in self._cycles or ()}
        assert isinstance(one, Circle)
        return known.get(one.input, float(one.period))

    def _check(self, model: Expression) -> None:
        names = named_inputs(model)
        clash = [name for name in names if name in self._names and name in self._calendar_inputs()]
        own = [circle.input for circle in distinct_circles(model)]
        if clash and clash[0] in self._circles:
            raise ValueError(
                f"{clash[0]!r} is a column with a period and part of the calendar, too: leave one of them out."
            )
        both = [name for name in category_inputs(model) if name in [*own, self._time]]
        if both:
            raise ValueError(f"{both[0]!r} has a period or is the time, so it cannot be a category.")

    def _calendar_inputs(self) -> list[str]:
        return [CYCLES[name].column for name in self._cycles or ()]

    def _empty_levels(self, model: Expression) -> tuple[str, ...]:
        if not self._options.fills_levels:
            return ()
        names = dict.fromkeys(name for name in category_inputs(model) if name in self._names)
        return tuple(name for name in names if self._frame[name].isna().any())

    def _not_used(self, model: Expression, by_type: bool) -> tuple[tuple[str, str], ...]:
        used = {
            *named_inputs(model),
            self._time,
            self._calendar_column,
            *self._reserved,
            *(lag.column for lag in self._lags.values()),
        } - set(self._calendar_inputs())
        reason = "" if by_type else NOT_NAMED
        return tuple((name, self._unused.get(name, reason)) for name in self._names if name not in used)

    def _nothing(self) -> str:
        return (
            f"Nothing to learn from: no column of {self._source} beside {self._options.target!r} can be an input"
            + "".join(f"; {name!r}: {reason}" for name, reason in self._unused.items())
            + f". Name columns with their periods ({word('period', 'hour', 24)}), or a column of times "
            f"({word('calendar', 'time')})."
        )


def _distinct(factors: list[Factor]) -> list[Factor]:
    """Factors without those that are named twice."""
    found: dict[Any, Factor] = {}
    for factor in factors:
        is_free = isinstance(factor, Circle) and factor.learns_period
        key: Any = id(factor) if is_free else (type(factor), factor.used, getattr(factor, "period", None))
        found.setdefault(key, factor)
    return list(found.values())
