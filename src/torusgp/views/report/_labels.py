"""What the inputs, the dimensions of the torus and the targets are called, and how their values read."""

from dataclasses import dataclass

import numpy as np

from torusgp.estimators.features import resolve_columns
from torusgp.views.analysis import effect
from torusgp.views.report._numbers import number, with_unit

_LONGEST = 36  # characters of a name in a figure
_NEARLY = 1e-6  # of a period: less is rounding
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_STARTS = np.cumsum([0, 31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30])  # days of an average year
# Columns of torusgp.tables.calendar.CalendarPhases, whose values have names, and their periods.
_CALENDAR = {"hour_of_day": 24.0, "day_of_week": 7.0, "day_of_year": 365.25}


@dataclass(frozen=True)
class Dimension:
    """A dimension of the torus.

    Attributes
    ----------
    name : str
        Name of its input, with the period where the input feeds several dimensions.
    unit : str
        Unit of its values, or nothing.
    period : float
        Its period, or the length of its lattice vector.
    calendar : str or None
        Column of a calendar that it is.
    """

    name: str
    unit: str
    period: float
    calendar: str | None = None

    @property
    def axis_label(self):
        """Name for an axis, with the unit unless the values have names."""
        return with_parenthesis(shorten(self.name), "" if self.calendar else self.unit)

    def describe(self, value):
        """A value in words: a time of day, a weekday, a date, or a number with its unit.

        Examples
        --------
        >>> Dimension("hour", "h", 24.0, "hour_of_day").describe(18.25)
        '18:15'
        >>> Dimension("day_of_year", "", 365.25, "day_of_year").describe(31.5)
        '1 Feb'
        """
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
        """Values to mark over one period, and what to write there; None where any round numbers do."""
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
        """Four values spread over the period, whole ones if the period is whole."""
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
    return tuple(Quantity(name or f"input {j}", unit) for j, (name, unit) in enumerate(zip(names, units, strict=True)))


def describe_dimensions(model, inputs):
    """The dimensions of the torus of a fitted model.

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
    columns = resolve_columns(model, model.columns)
    cell = model.kernel_.cell(len(columns))
    dimensions = []
    for d, position in enumerate(columns.tolist()):
        found = effect(model, d, n_points=2)
        period = abs(found.period[0])
        if np.count_nonzero(cell[d]) == np.count_nonzero(cell[:, d]) == 1 and cell[d, d]:
            name, unit = inputs[position].name, inputs[position].unit
            calendar = name if _CALENDAR.get(name) == period else None
            if calendar and not unit:
                unit = "h" if calendar == "hour_of_day" else "days"
            if np.sum(columns == position) > 1:
                name = f"{name} (period {with_unit(number(period, 5), unit)})"
            dimensions.append(Dimension(name, unit, period, calendar))
        else:  # an oblique lattice vector
            used = {inputs[j].unit for j, entry in zip(columns, cell[d], strict=True) if entry}
            dimensions.append(Dimension(found.names[0], used.pop() if len(used) == 1 else "", period))
    return tuple(dimensions)


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
