"""What the inputs, the dimensions of the function and the targets are called, and how their values read."""

from dataclasses import dataclass

import numpy as np

from torusgp.views.dimensions import find_dimensions, to_levels
from torusgp.views.report._numbers import number, with_unit

_LONGEST = 36  # characters of a name in a figure
_LONGEST_LEVEL = 12  # characters of a level below an axis
_NEARLY = 1e-6  # of a period: less is rounding
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_STARTS = np.cumsum([0, 31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30])  # days of an average year
_KINDS = {"line": "slow change", "category": "level", "slope": "straight line"}  # beside the periods of an input
# Columns of torusgp.tables.calendar.CalendarPhases, whose values have names, and their periods.
_CALENDAR = {"hour_of_day": 24.0, "day_of_week": 7.0, "day_of_year": 365.25}


@dataclass(frozen=True)
class Dimension:
    """A dimension of the function. Places along it are numbers: those of its input, or positions of levels.

    Attributes
    ----------
    name : str
        Name of its input, with the period where the input feeds several dimensions.
    unit : str
        Unit of its values, or nothing.
    period : float or None
        Its period, or the length of its lattice vector; None where it does not repeat.
    calendar : str or None
        Column of a calendar that it is.
    kind : {"circle", "lattice", "line", "category", "slope"}
        What it is, see :class:`torusgp.views.dimensions.Dimension`.
    low, high : float
        Range of a line or slope.
    levels : tuple
        Levels of a category.
    input : int
        Position of its input.
    axes : tuple of int
        Axes of the torus that it feeds.
    """

    name: str
    unit: str
    period: float | None
    calendar: str | None = None
    kind: str = "circle"
    low: float = 0.0
    high: float = 0.0
    levels: tuple = ()
    input: int = 0
    axes: tuple = ()

    @property
    def is_periodic(self):
        """Whether it is a circle or a direction of a lattice."""
        return self.kind in ("circle", "lattice")

    @property
    def ends(self) -> tuple[float, float]:
        """Where an axis of it begins and ends."""
        if self.period is not None:
            return 0.0, self.period
        return (-0.5, len(self.levels) - 0.5) if self.kind == "category" else (self.low, self.high)

    def places(self, n_points):
        """So many places over its range; one for each level of a category."""
        if self.kind == "category":
            return np.arange(len(self.levels), dtype=float)
        return np.linspace(*self.ends, n_points)

    def points(self, places):
        """Values at places: levels of a category, else the same numbers."""
        if self.kind != "category":
            return np.asarray(places, dtype=float)
        return to_levels([self.levels[int(place)] for place in places])

    @property
    def axis_label(self):
        """Name for an axis, with the unit unless the values have names."""
        return with_parenthesis(shorten(self.name), "" if self.calendar else self.unit)

    def describe(self, value):
        """The value at a place in words: a time of day, a weekday, a date, a level, or a number with its unit.

        Examples
        --------
        >>> Dimension("hour", "h", 24.0, "hour_of_day").describe(18.25)
        '18:15'
        >>> Dimension("day_of_year", "", 365.25, "day_of_year").describe(31.5)
        '1 Feb'
        """
        if self.kind == "category":
            return str(self.levels[int(value)])
        if self.period is None:
            return with_unit(number(value, 4), self.unit)
        turned = (value + _NEARLY * self.period) % self.period  # 4.9999999 is 5
        if self.calendar == "hour_of_day":
            return _clock(turned)
        if self.calendar == "day_of_week":
            day = int(turned)
            clock = _clock(24 * (turned - day))
            return _WEEKDAYS[day % 7] + ("" if clock == "0:00" else f" {clock}")
        if self.calendar == "day_of_year":
            month = int(np.searchsorted(_MONTH_STARTS, turned, side="right")) - 1
            return f"{int(turned - _MONTH_STARTS[month]) + 1} {_MONTHS[month]}"
        return with_unit(number(value, 4), self.unit)

    def ticks(self):
        """Places to mark, and what to write there; None where any round numbers do."""
        if self.kind == "category":
            return list(range(len(self.levels))), [shorten(str(level), _LONGEST_LEVEL) for level in self.levels]
        if self.period is None:
            return None
        if self.calendar == "day_of_week":
            return list(range(8)), [*_WEEKDAYS, ""]
        if self.calendar == "day_of_year":
            return _MONTH_STARTS[::2].tolist(), list(_MONTHS[::2])
        if self.period == round(self.period):
            parts = next((n for n in (7, 6, 8, 5, 4) if self.period % n == 0), None)
            if parts is not None:
                places = [self.period / parts * i for i in range(parts + 1)]
                return places, [number(place) for place in places]
        return None

    def quarters(self):
        """Four places over its range; of a whole period whole ones, of a category the first levels."""
        if self.kind == "category":
            return self.places(4)[:4]
        if self.period is None:
            return self.low + (self.high - self.low) * (np.arange(4) + 0.5) / 4
        places = self.period * np.arange(4) / 4
        if self.period == round(self.period) and self.period >= 4:
            places = np.floor(places + 0.5)
        return places


@dataclass(frozen=True)
class Quantity:
    """An input or a target: its name, and its unit or nothing."""

    name: str
    unit: str

    @property
    def axis_label(self):
        """Name for an axis."""
        return with_parenthesis(shorten(self.name), self.unit)


def describe_inputs(model, names=None, units=None):
    """The columns of X.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    names, units : sequence of str or None, optional
        Names and units; by default the names the model was fitted to, and no units.

    Returns
    -------
    tuple of Quantity
    """
    n_inputs = model.n_features_in_
    known = getattr(model, "feature_names_in_", None)
    names = _strings(known if names is None else names, n_inputs, "input_names")
    units = _strings(units, n_inputs, "input_units")
    return tuple(Quantity(name or f"x{j}", unit) for j, (name, unit) in enumerate(zip(names, units, strict=True)))


def describe_dimensions(model, inputs):
    """The dimensions of a fitted function.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    inputs : sequence of Quantity
        The columns of X.

    Returns
    -------
    tuple of Dimension
    """
    fitted = model.fitted_
    return tuple(_describe(one, fitted, inputs) for one in find_dimensions(fitted))


def _describe(one, fitted, inputs):
    torus, of = fitted.prior.torus, inputs[one.input]
    known, unit, calendar = torus.names[one.input], of.unit, None
    period = None if one.period is None else abs(one.period)
    if one.kind == "lattice":
        factors = (factor for term in fitted.prior.terms for factor in term.factors)
        block = next(factor.axes for factor in factors if one.axes[0] in factor.axes)
        cell = fitted.parameters.period[one.axes[0]]
        units = {inputs[torus.axes[d].input].unit for d in block if cell[d]}
        name, unit = one.name, units.pop() if len(units) == 1 else ""
    elif one.name == known:
        name = of.name
        calendar = name if one.kind == "circle" and _CALENDAR.get(name) == period else None
        if calendar and not unit:
            unit = "h" if calendar == "hour_of_day" else "days"
    elif one.kind == "circle" and one.name.startswith(f"{known} ("):
        name = f"{of.name} (period {with_unit(number(period, 5), unit)})"
    elif one.name == f"{known} ({one.kind})":
        name = f"{of.name} ({_KINDS[one.kind]})"
    else:  # named in the kernel
        name = one.name
    return Dimension(name, unit, period, calendar, one.kind, one.low, one.high, one.levels, one.input, one.axes)


def describe_targets(model, y=None, names=None, units=None):
    """The targets of a fitted model.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    y : array-like, optional
        Targets; a series or frame of pandas brings names.
    names, units : str or sequence of str, optional
        Names and units.

    Returns
    -------
    tuple of Quantity
    """
    n_outputs = len(np.atleast_1d(model.noise_variance_))
    if names is None and getattr(y, "columns", None) is not None:
        names = list(y.columns)
    elif names is None and getattr(y, "name", None) is not None:
        names = [y.name]
    names = _strings([names] if isinstance(names, str) else names, n_outputs, "target_names")
    units = _strings([units] * n_outputs if isinstance(units, str) else units, n_outputs, "target_units")
    default = "target" if n_outputs == 1 else "output {}"
    return tuple(
        Quantity(name or default.format(q), unit) for q, (name, unit) in enumerate(zip(names, units, strict=True))
    )


def shorten(text, longest=_LONGEST):
    """A name that fits into a figure, of so many characters at most.

    Examples
    --------
    >>> len(shorten("a" * 100)), shorten("hour")
    (36, 'hour')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def with_parenthesis(text, more):
    """A name and, in parentheses, more about it, if there is more."""
    return f"{text} ({more})" if more else text


def _strings(values, size, name):
    """So many texts in one line each, or an error that names the argument; empty ones for None."""
    values = [None] * size if values is None else values
    if isinstance(values, str) or len(values) != size:
        raise ValueError(f"{name} must hold {size}, one for each, got {values!r}.")
    return ["" if value is None else " ".join(str(value).split()) for value in values]


def _clock(hours):
    minutes = round(60 * hours) % (24 * 60)
    return f"{minutes // 60}:{minutes % 60:02d}"
