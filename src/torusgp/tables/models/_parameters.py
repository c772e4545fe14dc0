"""Checks of the parameters of a model of a table."""

import numpy as np

from torusgp.tables.models._words import word


def check_parameters(table, inputs):
    """Raise if a parameter of a model of a table does not fit the inputs, or the others."""
    if not isinstance(table.target, str) or not table.target:
        raise ValueError(f"target must be the name of a column, got {table.target!r}.")
    if table.target in inputs.columns:
        raise ValueError(f"Column {table.target!r} is the target, so it cannot be an input.")
    if table.trend not in ("linear", None):
        raise ValueError(f"trend must be 'linear' or None, got {table.trend!r}.")
    if table.trend is not None and inputs.time is None:
        raise ValueError(
            f"{word('trend')} needs a column that orders the rows: name it ({word('time', 'date')}), or give times "
            f"to the calendar ({word('calendar', 'date')})."
        )
    if table.trend is not None and table.target == inputs.time:
        raise ValueError(f"Column {table.target!r} is the target, so it cannot be the time of the trend.")
    if table.noise is not None and (not isinstance(table.noise, str) or table.noise == table.target):
        raise ValueError(f"noise must be the name of a column other than the target, got {table.noise!r}.")
    value = table.redundancy
    if value != "auto" and not (isinstance(value, int | float) and 1 <= value < np.inf):
        raise ValueError(f"redundancy must be 'auto' or a number of rows, 1 or more, got {value!r}.")
