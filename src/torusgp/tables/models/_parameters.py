"""Checks of the parameters of a model of a table."""

import numpy as np


def check_parameters(table, inputs):
    """Raise if a parameter of a model of a table does not fit the inputs, or the others."""
    if not isinstance(table.target, str) or not table.target:
        raise ValueError(f"target must be the name of a column, got {table.target!r}.")
    if table.target in inputs.columns:
        raise ValueError(f"Column {table.target!r} is the target, so it cannot be an input.")
    if inputs.needs_time and table.target == inputs.time:
        raise ValueError(f"Column {table.target!r} is the target, so it cannot be the time of a term.")
    if table.noise is not None and (not isinstance(table.noise, str) or table.noise == table.target):
        raise ValueError(f"noise must be the name of a column other than the target, got {table.noise!r}.")
    value = table.redundancy
    if value != "auto" and not (isinstance(value, int | float) and 1 <= value < np.inf):
        raise ValueError(f"redundancy must be 'auto' or a number of rows, 1 or more, got {value!r}.")
