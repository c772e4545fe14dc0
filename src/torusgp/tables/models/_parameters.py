"""Checks of the parameters of a model of a table."""

from collections.abc import Sequence, Set

from torusgp.checks import check_count, check_flag, check_verbose
from torusgp.data.tables import check_decimal, check_missing
from torusgp.fitting.likelihoods import check_likelihood


def check_reading(decimal, date_format, missing, drop_missing):
    """Raise if it is not right how tables are to be read."""
    check_decimal(decimal)
    if not isinstance(date_format, str):
        raise ValueError(f"date_format must be 'auto' or text such as '%d/%m/%Y %H:%M', got {date_format!r}.")
    check_missing(missing)
    check_flag(drop_missing, "drop_missing")


def check_options(table):
    """Raise if a parameter of a model of a table is wrong, whatever the inputs are."""
    check_reading(table.decimal, table.date_format, table.missing, table.drop_missing)
    check_flag(table.whole_days, "whole_days")
    check_verbose(table.verbose)
    if not isinstance(table.target, str) or not table.target:
        raise ValueError(f"target must be the name of a column, got {table.target!r}.")
    if table.noise is not None and (not isinstance(table.noise, str) or table.noise == table.target):
        raise ValueError(f"noise must be the name of a column other than the target, got {table.noise!r}.")
    if not (isinstance(table.n_components, str) and table.n_components == "auto"):
        check_count(table.n_components, "n_components")
    for name in ("time", "timezone", "exposure", "holidays"):
        value = getattr(table, name)
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name} must be text or None, got {value!r}.")
    given = table.noise_by
    is_word = isinstance(given, str)
    names = given if isinstance(given, Sequence | Set) and not is_word else [None]
    if given is not None and not (is_word and given == "auto") and not all(isinstance(one, str) for one in names):
        raise ValueError(f"noise_by must be 'auto' or a sequence of names of inputs, got {given!r}.")
    if not isinstance(table.errors, str) or table.errors not in ("auto", "independent"):
        raise ValueError(f"errors must be 'auto' or 'independent', got {table.errors!r}.")


def check_parameters(table, inputs):
    """Raise if a parameter of a model of a table does not fit the inputs, or the others."""
    if table.target in [*inputs.columns, *([inputs.time] if inputs.needs_time else [])]:
        raise ValueError(f"Column {table.target!r} is the target, so it cannot be an input.")
    likelihood = check_likelihood(table.likelihood)
    for name, meaning in (("noise", "noise_scale"), ("exposure", "exposure")):
        if getattr(table, name) is not None and likelihood.takes != meaning:
            raise ValueError(f"likelihood={likelihood.name!r} has no {name}: leave out the column of it.")
    if table.noise_by is not None and len(table.noise_by):
        if likelihood.takes != "noise_scale" or table.noise is not None:
            raise ValueError("noise_by is for targets with normal or Student's noise of unknown size.")
        unknown = [name for name in inputs.noise_names(table.noise_by) if name not in inputs.names]
        if unknown:
            raise ValueError(f"noise_by names {unknown[0]!r}, which is no input: they are {', '.join(inputs.names)}.")
