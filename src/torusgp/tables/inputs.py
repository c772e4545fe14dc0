"""Inputs of a model: columns of a table, chosen by type, by name or by a formula, and rows of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.data.tables import (
    NotNumbersError,
    TableError,
    complete_rows,
    did_you_mean,
    holds_numbers,
    import_pandas,
    numeric_column,
    place_of_row,
    read_table,
    without_marks,
)
from torusgp.estimators.settings import FEW_AXES
from torusgp.estimators.short_form import slow_change
from torusgp.kernels.axes import Category, Circle, Expression, Factor, Input, Lattice, Line, Product, Slope, Sum
from torusgp.libraries import require
from torusgp.storage.serialisation import from_json, to_json
from torusgp.tables.clock import (
    CYCLES,
    YEAR,
    CalendarPhases,
    TimeAxis,
    check_zone,
    cycle_of,
    in_utc,
    is_unix_time,
    n_turns,
    on_wall,
    read_times,
    spacing,
    time_column,
    to_timezone,
    to_zone,
)
from torusgp.tables.table import ColumnKind, column_kind, level_column, to_level
from torusgp.tables.words import TABLE, word
from torusgp.views.record import Record

_TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|`([^`]*)`|([+*(),])|([^+*(),"'`]+))""")
_EXAMPLE = "A formula is a sum of products of inputs, such as hour * temperature + hour * weekday + time"


@dataclass(frozen=True)
class _Token:
    text: str
    is_name: bool
    place: int


def parse_formula(
    text: str, leaf: Callable[[str], Expression], call: Callable[[str, list[str]], Expression]
) -> Expression:
    """Expression of a formula.

    Parameters
    ----------
    text : str
        Names with ``+`` and ``*`` between them, parentheses, and functions such as ``circle(angle, 360)``. Names may
        have spaces; those with signs of formulas are put into quotes.
    leaf : callable
        Makes an expression of a name.
    call : callable
        Makes an expression of the name of a function and its arguments.

    Returns
    -------
    Expression

    Examples
    --------
    >>> from torusgp import Line
    >>> parse_formula("(a + 'b+c') * wind speed", Line, None)
    Line('a') * Line('wind speed') + Line('b+c') * Line('wind speed')
    """
    return _Parser(text, leaf, call).parse()


class _Parser:
    def __init__(self, text, leaf, call):
        self._text, self._leaf, self._call = text, leaf, call
        self._tokens, self._position = list(_tokens(text)), 0

    def parse(self):
        if not self._tokens:
            raise ValueError(f"The formula is empty. {_EXAMPLE}.")
        result = self._sum()
        if self._next() is not None:
            raise self._unexpected()
        return result

    def _sum(self):
        result = self._product()
        while self._take("+"):
            result = result + self._product()
        return result

    def _product(self):
        result = self._factor()
        while self._take("*"):
            result = result * self._factor()
        return result

    def _factor(self):
        if self._take("("):
            result = self._sum()
            if not self._take(")"):
                raise ValueError(f"The formula {self._text!r} has a parenthesis that is not closed.")
            return result
        name = self._name()
        if not self._take("("):
            return self._leaf(name)
        arguments = [self._name()]
        while self._take(","):
            arguments.append(self._name())
        if not self._take(")"):
            raise self._unexpected()
        return self._call(name, arguments)

    def _name(self):
        token = self._next()
        if token is None or not token.is_name:
            raise self._unexpected()
        self._position += 1
        return token.text

    def _next(self):
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self, sign):
        token = self._next()
        found = token is not None and not token.is_name and token.text == sign
        self._position += found
        return found

    def _unexpected(self):
        token = self._next()
        where = "ends too early" if token is None else f"has {token.text!r} where it should not, at {token.place + 1}"
        return ValueError(f"The formula {self._text!r} {where}. {_EXAMPLE}; names with other characters need quotes.")


def _tokens(text):
    place = 0
    while place < len(text) and text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"The formula {text!r} has a quote that is not closed.")
        *quoted, sign, name = match.groups()
        found = next((one for one in quoted if one is not None), None)
        if found is not None:
            yield _Token(found, True, place)
        elif sign is not None:
            yield _Token(sign, False, match.start(4))
        elif name.strip():
            yield _Token(name.strip(), True, match.start(5))
        place = match.end()


TIME = "time"  # what terms call the column that orders the rows, whatever its name


def check_terms(terms: Any) -> None:
    """Raise unless terms are an expression over names."""
    if not isinstance(terms, Expression):
        raise ValueError(
            "terms must be a formula such as 'hour * temperature + weekday' or an expression such as Slope('time') + "
            f"Line('temperature'), got {terms!r}."
        )
    for one in named_inputs(terms):
        if not isinstance(one, str):
            raise ValueError(f"terms name columns of the table, got the position {one!r}.")
    numbers = [name for one in all_factors(terms) if not isinstance(one, Category) for name in one.used]
    both = set(category_inputs(terms)) & {*slope_inputs(terms), *numbers}
    if both:
        raise ValueError(
            f"terms have {sorted(both)[0]!r} as a category and as a number: copy the column, and use each once."
        )


def rename_time(terms: Expression | None, column: str | None) -> Expression | None:
    """The terms with the name of the column that orders the rows in place of "time"."""
    if terms is None or column is None or column == TIME:
        return terms

    def renamed(name):
        return column if name == TIME else name

    def changed(factor):
        if isinstance(factor, Lattice):
            return replace(factor, inputs=tuple(map(renamed, factor.inputs)))
        return replace(factor, input=renamed(factor.input))

    def moved(slope):
        return replace(slope, input=renamed(slope.input))

    return _mapped(terms, changed, moved)


def named_inputs(terms: Expression) -> list[Any]:
    """Inputs of an expression, each once."""
    used = [
        [term.input] if isinstance(term, Slope) else [name for one in term.factors for name in one.used]
        for term in terms.terms
    ]
    return list(dict.fromkeys(name for names in used for name in names))


def distinct_circles(model: Expression) -> list[Circle]:
    """Circles of an expression, one for each axis: those of the same input and period are one, if it is not learned."""
    found: dict[Any, Circle] = {}
    for factor in all_factors(model):
        if isinstance(factor, Circle):
            found.setdefault(id(factor) if factor.learns_period else (factor.input, float(factor.period)), factor)
    return list(found.values())


def category_inputs(terms: Expression) -> list[Input]:
    """Inputs that are categories."""
    return [one.input for one in all_factors(terms) if isinstance(one, Category)]


def slope_inputs(terms: Expression) -> list[Input]:
    """Inputs of plain columns."""
    return [term.input for term in terms.terms if isinstance(term, Slope)]


def levels_as_text(terms: Expression) -> Expression:
    """The terms with levels of categories as tables have them."""

    def changed(factor):
        if not isinstance(factor, Category) or factor.levels is None:
            return factor
        return replace(factor, levels=tuple(to_level(level) for level in factor.levels))

    return _mapped(terms, changed)


def within(terms: Expression, X: Any) -> Expression:
    """The terms with the ranges and levels of inputs, where none are given: fits to some of the rows share them."""

    def changed(factor):
        if isinstance(factor, Category) and factor.levels is None:
            return replace(factor, levels=tuple(sorted(X[factor.input].dropna().unique())))
        if isinstance(factor, Line) and factor.range is None:
            low, high = float(X[factor.input].min()), float(X[factor.input].max())
            return factor if low == high else replace(factor, range=(low, high))
        return factor

    return _mapped(terms, changed)


def with_single_effects(kernel: Expression) -> Expression:
    """Products, and each of their inputs on its own beside them, as a * b is read in formulas: a + b + a:b.

    With correlated noise quick components are known much better than slow ones. They would decide alone how smooth
    everything is along a slow circle, such as the year, if its own effect had no variance and length scale of its own:
    it would be left to the noise, which is then larger, and so on. Of products of many inputs the data choose the
    frequencies, and need no such effects: beside them what interacts would start from nothing.
    """
    if any(len(term.factors) > FEW_AXES and _is_open(term) for term in kernel.terms if isinstance(term, Product)):
        return kernel
    alone = {_key(term.factors[0]) for term in kernel.terms if isinstance(term, Product) and len(term.factors) == 1}
    singles: dict[Any, Product] = {}
    for term in kernel.terms:
        if isinstance(term, Product) and 1 < len(term.factors) <= FEW_AXES and _is_open(term):
            for factor in term.factors:
                if _key(factor) not in alone:
                    singles.setdefault(_key(factor), Product((factor,)))
    return kernel if not singles else Sum((*kernel.terms, *singles.values()))


def _is_open(product: Product) -> bool:
    """True if all orders of a product are there, of given periods."""
    finds = any(isinstance(one, Circle | Lattice) and one.learns_period for one in product.factors)
    return product.max_interaction is None and not finds


def _key(factor: Factor) -> Any:
    """Key that two factors of the same effect share."""
    return type(factor), tuple(factor.used), getattr(factor, "period", None)


def all_factors(expression: Expression) -> list[Factor]:
    """Factors of all products."""
    return [factor for term in expression.terms if isinstance(term, Product) for factor in term.factors]


def _mapped(
    expression: Expression,
    factor_changed: Callable[[Any], Any],
    slope_changed: Callable[[Slope], Slope] = lambda slope: slope,
) -> Expression:
    """An expression with other factors and plain columns."""
    terms: list[Product | Slope] = []
    for term in expression.terms:
        if isinstance(term, Slope):
            terms.append(slope_changed(term))
        else:
            terms.append(replace(term, factors=tuple(factor_changed(factor) for factor in term.factors)))
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def check_calendar(calendar: Any) -> tuple[str | None, list[str] | None]:
    """Column and cycles of a calendar."""
    if calendar is None or not calendar:
        return None, None
    if not hasattr(calendar, "items") or len(calendar) > 1:
        raise ValueError(f"calendar must name one column and its cycles, as in {{'time': ['day']}}, got {calendar!r}.")
    ((column, cycles),) = calendar.items()
    cycles = list(cycles) if np.iterable(cycles) and not isinstance(cycles, str) else [cycles]
    try:
        _ = CalendarPhases(cycles).period_
    except ValueError as error:
        raise ValueError(f"The calendar of {column!r} is {', '.join(map(str, cycles))}: {error}") from error
    return str(column), cycles


def check_period(column: str, period: Any) -> Any:
    """A period as a number, or "auto"."""
    if isinstance(period, str) and period.strip() == "auto":
        return "auto"
    try:
        number = float(period)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"The period of {column!r} must be a positive number or 'auto', got {period!r}.")
    return number


def known_circles(periods: Any, family: str) -> dict[str, list[Circle]]:
    """Circles of columns with known or unknown periods, from a dictionary or pairs."""
    found: dict[str, list[Circle]] = {}
    are_pairs = periods is None or hasattr(periods, "items") or _are_pairs(periods)
    if not are_pairs:
        raise ValueError(f"periods must name columns and their periods, as in {{'hour': 24}}, got {periods!r}.")
    for column, given in [] if periods is None else list(periods.items() if hasattr(periods, "items") else periods):
        several = not isinstance(given, str) and np.iterable(given)
        for period in given if several else [given]:
            circle = Circle(str(column), check_period(column, period), family)
            known = found.setdefault(str(column), [])
            if circle.period != "auto" and circle.period in [one.period for one in known]:
                raise ValueError(f"Column {column!r} is given the period {circle.period:g} twice.")
            known.append(circle)
    return found


def _are_pairs(periods: Any) -> bool:
    is_some = np.iterable(periods) and not isinstance(periods, str | bytes)
    return is_some and all(isinstance(one, tuple | list) and len(one) == 2 for one in periods)


def listed_names(inputs: Any) -> list[str] | None:
    """Names of columns, from a list or a line with commas."""
    if inputs is None:
        return None
    names = inputs.split(",") if isinstance(inputs, str) else inputs
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"inputs must be names of columns, got {inputs!r}.")
    return [name.strip() for name in names if name.strip()]


_HOURS = {"min": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}
_WINDOW = re.compile(r"(\d+(?:\.\d+)?) *([a-z]+)", re.IGNORECASE)
_ENOUGH = 0.5  # of the rows that a window should have: with fewer the mean is not known

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lag:
    """A moving mean of a column, over a window that ends with the row itself.

    Attributes
    ----------
    column : str
        Column of the table.
    text : str
        The window as it was given, such as "24h".
    window : float
        Its length: in hours, or in the units of numbers that order the rows.
    """

    column: str
    text: str
    window: float

    @property
    def name(self) -> str:
        """Name of the input."""
        return f"{self.column}_{self.text}"


def parse_lags(lags: Any) -> tuple[Lag, ...]:
    """Lags from what a user gives.

    Parameters
    ----------
    lags : dict of str to str, number or a sequence of these, or None
        Columns and windows: spans such as "3h", "24h" or "7d", or numbers where numbers order the rows.

    Returns
    -------
    tuple of Lag

    Examples
    --------
    >>> [(lag.name, lag.window) for lag in parse_lags({"temperature": ["3h", "2d"]})]
    [('temperature_3h', 3.0), ('temperature_2d', 48.0)]
    """
    if lags is None:
        return ()
    if not hasattr(lags, "items"):
        raise ValueError(f"lags must name columns and windows, as in {{'temperature': ['3h', '24h']}}, got {lags!r}.")
    found = []
    for column, given in lags.items():
        several = not isinstance(given, str) and isinstance(given, Sequence)
        windows = list(given) if several else [given]
        found += [Lag(str(column), str(one).replace(" ", ""), _window(column, one)) for one in windows]
    names = [lag.name for lag in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"The lag {twice[0]} is given twice.")
    return tuple(found)


def _window(column: Any, given: Any) -> float:
    span = _WINDOW.fullmatch(str(given).strip())
    try:
        value = float(given) if span is None else float(span[1]) * _HOURS[span[2].lower()]
    except (KeyError, TypeError, ValueError):
        value = np.nan
    if not (np.isfinite(value) and value > 0):
        raise ValueError(
            f"The lag {given!r} of {column!r} must be a span such as 3h, 24h or 7d ({', '.join(_HOURS)}): "
            f"{word('lags', column)}."
        )
    return value


@dataclass(frozen=True)
class History:
    """Last values of columns whose moving means are inputs, for rows that come after them.

    Attributes
    ----------
    times : tuple of float
        Times of rows: hours since 1970, or numbers.
    values : dict of str to tuple of float
        Values of the columns at these times, not a number where they are missing.
    spacing : float
        Time from one row to the next.
    """

    times: tuple[float, ...]
    values: dict[str, tuple[float, ...]]
    spacing: float

    @classmethod
    def from_rows(cls, order: Any, columns: dict[str, Any], lags: Sequence[Lag]) -> History:
        """Rows that later ones need to know.

        Parameters
        ----------
        order : pandas.Series
            Times of the rows.
        columns : dict of str to pandas.Series
            The columns.
        lags : sequence of Lag
            The moving means.
        """
        times, values = _sorted(order, columns)
        spacing = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
        kept = times > times[-1] - max(lag.window for lag in lags)
        last = {name: tuple(one[kept].tolist()) for name, one in values.items()}
        return cls(tuple(times[kept].tolist()), last, spacing)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> History:
        """History from what :meth:`to_json` gave."""
        values = {name: tuple(np.nan if v is None else v for v in one) for name, one in content["values"].items()}
        return cls(tuple(content["times"]), values, content["spacing"])

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        values = {name: [None if np.isnan(v) else v for v in one] for name, one in self.values.items()}
        return {"times": list(self.times), "values": values, "spacing": self.spacing}

    def moving_mean(self, lag: Lag, order: Any, column: Any) -> Any:
        """Moving mean of a column, not a number where too little of its window is known.

        Parameters
        ----------
        lag : Lag
            Column and window.
        order : pandas.Series
            Times of the rows.
        column : pandas.Series
            Values of the column, in the same rows.

        Returns
        -------
        pandas.Series
        """
        import pandas

        times, values = _sorted(order, {lag.column: column})
        own = values[lag.column]
        before = np.array(self.times)
        is_new = ~np.isin(before, times)  # values of the table come first
        all_times = np.concatenate([before[is_new], times])
        all_values = np.concatenate([np.array(self.values[lag.column])[is_new], own])
        where = np.argsort(all_times, kind="stable")
        all_times, all_values = all_times[where], all_values[where]
        mean = window_means(all_times, all_values, lag.window, self.spacing)
        hours = to_hours(order)
        known = np.isfinite(hours)
        result = np.full(len(order), np.nan)
        result[known] = mean[np.searchsorted(all_times, hours[known])]
        return pandas.Series(result, index=column.index, name=lag.name)


def window_means(times: Array, values: Array, window: float, spacing: float) -> Array:
    """Means over the window that ends with each row.

    Parameters
    ----------
    times : ndarray of shape (n_rows,)
        Distinct times in their order.
    values : ndarray of shape (n_rows,)
        Values, not a number where they are missing.
    window, spacing : float
        Length of the window, and of the step from one row to the next.

    Returns
    -------
    ndarray of shape (n_rows,)
        Not a number where fewer than half of the rows that the window should have are known.

    Examples
    --------
    >>> window_means(np.arange(5.0), np.array([1.0, 2.0, np.nan, 4.0, 6.0]), 2.0, 1.0).tolist()
    [1.0, 1.5, 2.0, 4.0, 5.0]
    """
    is_known = np.isfinite(values)
    count = np.concatenate([[0], np.cumsum(is_known)])
    start = np.searchsorted(times, times - window * (1 - 1e-9), side="right")
    end = np.arange(1, len(times) + 1)
    n_known = count[end] - count[start]
    wanted = max(1.0, window / spacing) if spacing > 0 else 1.0
    total, rounding = window_sums(np.where(is_known, values, 0.0), start, end)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n_known + rounding / n_known
    return np.where(n_known >= _ENOUGH * wanted, mean, np.nan)


def window_sums(values: Array, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[Array, Array]:
    """Sums of values from one row to before another, and what rounding has taken from each.

    A window is a sum of stretches of 1, 2, 4, ... rows, each of which is a sum of two halves: no value enters a sum
    whose window does not have it, as it would the difference of two running sums.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Finite values.
    start, end : ndarray of shape (n_windows,)
        First row of each window, and the row after its last.

    Returns
    -------
    sum, rounding : ndarray of shape (n_windows,)
    """
    left, place = end - start, start.copy()
    total, rounding = np.zeros(len(start)), np.zeros(len(start))
    stretch, lost, size = values, np.zeros(len(values)), 1
    while True:
        has = (left & size) > 0
        total[has], error = _exact_sum(total[has], stretch[place[has]])
        rounding[has] += error + lost[place[has]]
        place[has] += size
        if not (left >= 2 * size).any():
            return total, rounding
        stretch, error = _exact_sum(stretch[:-size], stretch[size:])
        lost, size = lost[:-size] + lost[size:] + error, 2 * size


def _exact_sum(one: Array, other: Array) -> tuple[Array, Array]:
    """The sum of two numbers, and what its rounding has taken from it (Knuth's two-sum)."""
    total = one + other
    shadow = total - one
    return total, (one - (total - shadow)) + (other - shadow)


def to_hours(order: Any) -> Array:
    """Times as hours since 1970, numbers as they are."""
    if order.dtype.kind != "M":
        return order.to_numpy(dtype=float)
    hours = in_utc(order).to_numpy().astype("datetime64[us]").astype(np.int64) / 3.6e9
    return np.where(order.isna().to_numpy(), np.nan, hours)


def _sorted(order: Any, columns: dict[str, Any]) -> tuple[Array, dict[str, Array]]:
    """Distinct times in their order, and means of the values that columns have at each."""
    hours = to_hours(order)
    known = np.isfinite(hours)
    times, where = np.unique(hours[known], return_inverse=True)
    found = {}
    for name, column in columns.items():
        values = column.to_numpy(dtype=float)[known]
        is_there = np.isfinite(values)
        count = np.bincount(where[is_there], minlength=len(times))
        total = np.bincount(where[is_there], weights=values[is_there], minlength=len(times))
        with np.errstate(invalid="ignore"):
            found[name] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return times, found


HOLIDAYS = "holidays"  # of the input
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
    """Levels of dates: holidays, the days beside them, and others.

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
    dates = on_wall(times).to_numpy().astype("datetime64[D]")
    known = ~np.isnat(dates)
    country, _, part = code.partition("-")
    years = range(dates[known].min().item().year - 1, dates[known].max().item().year + 2)
    found = holidays.country_holidays(country, subdiv=part or None, years=years)
    days = np.array(sorted(found), dtype="datetime64[D]")
    levels = np.full(len(times), None, dtype=object)
    levels[known] = ORDINARY
    for shift, level in ((1, AFTER), (-1, BEFORE), (0, HOLIDAY)):  # a day is what is named last
        levels[known & np.isin(dates, days + np.timedelta64(shift, "D"))] = level
    return pandas.Series(levels, index=times.index, name=HOLIDAYS)


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
        """Content for JSON."""
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
        """True if the model has a straight line in the time of the rows."""
        return self.time is not None and self.time in self.slopes

    @property
    def needs_time(self):
        """True if the time of the rows is an input."""
        return self.time is not None and self.time in self.names

    @property
    def needs_order(self):
        """True if inputs follow from the time of the rows, which has to be known then."""
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
        """Unit of the column for a slope along it."""
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
        """True if the time of the rows is counted from the first on, as no circle has the numbers themselves."""
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

    def row_times(self, order):
        """Times of rows as numbers, in days where they are dates; None if they are an input of the regressor."""
        if order is None or self.needs_time:
            return None
        if order.dtype.kind != "M":
            return order.to_numpy(dtype=float)
        return (in_utc(order).to_numpy() - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")

    def read_scale(self, frame, name, source):
        """Known standard deviations or exposures of the rows, checked; None if there are none."""
        if name is None:
            return None
        scale = self.read_numbers(frame, name, source)
        bad = np.flatnonzero(scale <= 0)
        if len(bad):
            others = f" {len(bad)} values of this column are not." if len(bad) > 1 else ""
            raise TableError(
                f"{place_of_row(scale.index[bad[0]], source)}: {scale.iloc[bad[0]]:g} in column {name!r} is no "
                f"standard deviation or exposure, which has to be positive.{others}"
            )
        return scale

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


@dataclass(frozen=True)
class Rows:
    """Complete rows: inputs, targets, what orders them, known standard deviations of their noise, and their file."""

    X: Any
    y: np.ndarray
    order: Any
    scale: np.ndarray | None
    source: str | Path = TABLE

    def sorted(self):
        """The rows in their order."""
        if self.order is None:
            return self
        return self.take(self.order.reset_index(drop=True).sort_values(kind="stable").index.to_numpy())

    def record(self, unseen=None, predicted=None):
        """Record of the rows, which are in their order, with predictions of those that a model has not seen.

        Parameters
        ----------
        unseen : ndarray of bool, optional
            Which of them the model has not seen; none by default.
        predicted : Predictions, optional
            Of these, with the ends of intervals.

        Returns
        -------
        Record
        """
        along, place = "", None
        if self.order is not None:
            along, place = str(self.order.name), self.order
        elif self.X.shape[1] == 1 and self.X.dtypes.iloc[0].kind == "f":
            along, place = str(self.X.columns[0]), self.X.iloc[:, 0]
        tested: dict[str, Any] = {}
        if unseen is not None:
            inputs = {str(name): column.to_numpy() for name, column in self.take(unseen).X.items()}
            tested = {"unseen": np.asarray(unseen), "predicted": (predicted.mean, *predicted.shown.T), "inputs": inputs}
        return Record.from_rows(self.y, along=along, place=place, is_ordered=self.order is not None, **tested)

    def take(self, chosen):
        """Some of the rows."""
        return Rows(
            self.X.iloc[chosen],
            self.y[chosen],
            None if self.order is None else self.order.iloc[chosen],
            None if self.scale is None else self.scale[chosen],
            self.source,
        )


def check_order(order, timeline, source):
    """Raise if what orders rows differs from what the model was fitted to: numbers or times, with a zone or without."""
    are_numbers = (order.dtype.kind != "M", isinstance(timeline.last, float))
    has, had = ("numbers" if one else "times" for one in are_numbers)
    if has != had:
        raise TableError(f"Column {order.name!r} of {source} has {has}, but the model was fitted to {had}.")
    if has == "times":  # those of a calendar may be on one clock by now, but still count from different moments
        check_zone(order, timeline.zone, source)


def to_table(frame, source, missing=None):
    """A table, empty where values stand for nothing, and where it comes from; it is read if it is a file."""
    if isinstance(frame, str | Path):
        return read_table(frame, missing), frame
    if hasattr(frame, "to_pandas"):  # of polars or Arrow; times keep their zones
        frame = frame.to_pandas()
    if not isinstance(frame, import_pandas().DataFrame):
        raise TypeError(f"A table must be a pandas DataFrame or the name of a file, got {type(frame).__name__}.")
    return without_marks(frame, missing), source


def numbered(frame, source):
    """The table with its rows counted from 0, as errors need it; a file was read that way."""
    return frame.reset_index(drop=True) if source == TABLE else frame


def unless_input(column, columns):
    """A column that may be there, unless it is one of the inputs."""
    return [] if column is None or column.name in columns else [column]


def find_complete(columns, source, drop):
    """Mask of the rows that miss nothing; if some do and may not be left out, an error says how to allow it."""
    try:
        return complete_rows(columns, source, drop=drop)
    except TableError as error:
        hint = "" if drop else f" That is what {word('drop_missing')} does."
        raise TableError(f"{error}{hint}") from error


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
    """Choices of a user about the inputs; see :class:`TableModel`."""

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
        mentioned = [] if terms is None else named_inputs(terms)
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
            found = [name for name in self._names if self._kind(name).name == "time" and name not in self._reserved]
            if len(found) != 1:
                have = f"has several: {', '.join(map(repr, found))}" if found else "has none"
                raise TableError(
                    f"{needed_for} needs a column of times, but {self._source} {have}. Name it "
                    f"({word('time', found[0] if found else 'date')})."
                )
            self._time = found[0]
        return self._time

    def _is_time(self, name: str) -> bool:
        """True if a name is that of the column which orders the rows, or stands for it."""
        if name == TIME and TIME not in self._names:
            self._find_time("time")
            return True
        if name == self._time:
            return True
        is_time = name in self._names and self._kind(name).name == "time" and name not in self._circles
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

    def _kind(self, name: str) -> ColumnKind:
        options = self._options
        return column_kind(self._frame, name, self._source, options.decimal, options.date_format)

    def _all_columns(self) -> list[str]:
        """Columns from which something can be learned; the reasons for the others are kept."""
        found, times = [], []
        for name in self._names:
            if name in self._reserved:
                continue
            kind = self._kind(name)
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
        if cycle is not None and (self._time is not None or any(self._kind(one).name == "time" for one in self._names)):
            own = CYCLES[cycle].column if name != CYCLES[cycle].column else CYCLES[cycle].words[0]
            raise ValueError(
                f"{name!r} is a column of {self._source}, and the calendar has it, too: write {own} for the "
                f"calendar's, or line({name}) or circle({name}, {CYCLES[cycle].period:g}) for the column."
            )
        kind = self._kind(name)
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
        """Products where no terms say so: one of all inputs, or pairs where rows have a rhythm and more.

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
        """True if a factor is a cycle of the calendar, or a period of what orders the rows."""
        return isinstance(one, Circle) and (one.input == self._time or one.input in self._calendar_inputs())

    def _turn(self, one: Factor) -> float:
        """Length of a cycle: in days, or in the units of what orders the rows."""
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
