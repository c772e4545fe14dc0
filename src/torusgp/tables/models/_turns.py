"""How often rows have seen what repeats: a cycle that came round once cannot be told from a single event."""

from dataclasses import dataclass

import numpy as np

from torusgp.tables.calendar import CYCLES, YEAR
from torusgp.tables.models._rows import TABLE
from torusgp.tables.models._time_axis import TimeAxis

_WHOLE = 0.99  # of a turn: the lengths of months and years differ


@dataclass(frozen=True)
class Turns:
    """How many turns of a cycle the rows cover.

    Attributes
    ----------
    name : str
        Cycle of the calendar, or period of a column of numbers.
    input : str
        Input of the regressor that tells where in the cycle a row is.
    number : float
        Turns, the time that the last row stands for included.
    is_calendar : bool
        Whether the cycle is one of the calendar.
    """

    name: str
    input: str
    number: float
    is_calendar: bool

    @property
    def is_unfinished(self):
        """Whether it has not come round once."""
        return self.number < _WHOLE

    @property
    def are_few(self):
        """Whether it has not come round twice."""
        return self.number < 2 * _WHOLE

    def __str__(self):
        number = f"{self.number:.1f}" if self.number >= _WHOLE else f"{self.number:.2g}"
        return f"{number} {self.name}s" if self.is_calendar else f"{number} periods of {self.input!r} ({self.name})"


def count_turns(inputs, order):
    """How many turns rows cover of each cycle that is known and goes on in the time that orders them.

    Parameters
    ----------
    inputs : TableInputs
        Inputs of the model.
    order : pandas.Series or None
        Times or numbers of the rows.

    Returns
    -------
    list of Turns
        Cycles of the calendar if times order the rows; periods of the column of numbers that orders them.
    """
    if order is None:
        return []
    if order.dtype.kind != "M":
        known = [one.period for one in inputs.circles if one.input == order.name and one.period != "auto"]
        return [Turns(f"{period:g}", str(order.name), covered(order) / period, False) for period in known]
    cycles = [] if inputs.calendar is None else inputs.calendar[1]
    return [Turns(cycle, CYCLES[cycle].column, n_turns(order, CYCLES[cycle].n_days), True) for cycle in cycles]


def n_turns(order, n_days):
    """How often rows have gone through a cycle of so many days.

    Parameters
    ----------
    order : pandas.Series
        Times.
    n_days : float
        Length of the cycle.

    Returns
    -------
    float
    """
    return covered(order) * YEAR / n_days


def covered(order):
    """Time that rows cover, the one that the last row stands for included: in years of dates, or units of numbers."""
    return float(np.ptp(TimeAxis.from_order(order).to_numbers(order, TABLE))) + spacing(order)


def spacing(order):
    """Time from one row to the next, the median of those that differ; zero if none do."""
    times = np.unique(TimeAxis.from_order(order).to_numbers(order, TABLE))
    return float(np.median(np.diff(times))) if len(times) > 1 else 0.0


def few_turns(inputs, order):
    """Cycles that the rows have not seen twice; see :func:`count_turns`."""
    return [turns for turns in count_turns(inputs, order) if turns.are_few]
