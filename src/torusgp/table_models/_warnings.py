"""Warnings of models of tables that cannot be right, at the line that asked for the fit."""

import warnings

import numpy as np

from torusgp.table_models._errors import bounds_reached
from torusgp.table_models._rows import TABLE
from torusgp.table_models._trend import unfinished_cycles
from torusgp.table_models._words import word


def warn_of_fit(table, rows):
    """Say which length scales cannot be right, and whether the trend may be part of a season."""
    reached = zip(_dimension_names(table), bounds_reached(table.model_), strict=True)
    names = [name for name, bound in reached if bound == "lower"]
    if names:
        verb = "is at its" if len(names) == 1 else "are at their"
        warnings.warn(
            f"The length scale{'s' * (len(names) > 1)} of {', '.join(names)} {verb} lower bound, "
            f"{table.model_.length_scale_bounds[0]:g}: the model follows single rows instead of what repeats. Check "
            "the period and its units, and look for outliers.",
            stacklevel=3,
        )
    if table.trend_ is None:
        return
    span = np.ptp(table.trend_.axis.to_numbers(rows.order, TABLE))
    unfinished = unfinished_cycles(table.trend_.axis, table.inputs_, span)
    if unfinished:
        warnings.warn(
            f"The rows cover less than one turn of {', '.join(unfinished)}, part of which looks like a line: "
            f"forecasts along it may be far off. Leave out {word('trend')}, or fit to more rows.",
            stacklevel=3,
        )


def warn_of_judgement(table):
    """Say whether the rows held out contradict the model."""
    if table.judgement_.drifts:
        warnings.warn(_drift(table.judgement_, table.trend), stacklevel=3)
    if table.judgement_.explains_nothing:
        warnings.warn(
            f"The model explains nothing of the rows held out (R2 {table.judgement_.r2:.2g}): their mean predicts "
            "them as well. Check the periods and their units (a turn is 360 degrees, or 6.2832 radians), and look "
            "for outliers.",
            stacklevel=3,
        )


def _dimension_names(table):
    """Names of the dimensions of the torus; with the period where an input feeds several."""
    names = [table.inputs_.names[position] for position in table.inputs_.positions]
    periods = np.broadcast_to(table.model_.kernel_.period, len(names))
    return [
        repr(name) if names.count(name) == 1 else f"{name!r} (period {period:.6g})"
        for name, period in zip(names, periods, strict=True)
    ]


def _drift(judgement, trend):
    """What is wrong if the rows held out lie above or below their predictions."""
    bias, error = judgement.bias, judgement.bias_std
    remedy = (
        f"If it goes on to change steadily, {word('trend')} takes that into account; if it has changed once, fit "
        "to the rows since then."
        if trend is None
        else "It has not gone on along the line of the rows before: fit to later rows, or expect wider intervals."
    )
    return (
        f"The level has changed: the rows held out lie {'above' if bias > 0 else 'below'} their predictions by "
        f"{abs(bias):.3g} ± {error:.2g} on average, more than chance would allow. {remedy}"
    )
