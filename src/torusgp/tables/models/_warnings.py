"""Warnings of models of tables that cannot be right, at the line that asked for the fit."""

import warnings

from torusgp.tables.models._errors import length_scales
from torusgp.tables.models._outliers import find_outliers
from torusgp.tables.models._turns import few_turns
from torusgp.tables.models._words import word

_LARGE_FACTOR = 1.5  # of error bars: less is common, and no sign of another period


def warn_about(table, rows):
    """Say what cannot be right about a fitted model, and whether the rows held out contradict it.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        The rows that it was fitted to.
    """
    few, outliers = few_turns(table.inputs_, rows.order), find_outliers(table, rows)
    messages = [*_of_length_scales(table), *_of_turns(few, table.inputs_.has_time_slope)]
    # what follows from a cause that is told is not told, too
    messages += _of_outliers(outliers) or _of_error_bars(table)
    if table.scores_ is not None:
        messages += _of_scores(table, bool(few), outliers is not None)
    for message in messages:
        warnings.warn(message, stacklevel=3)


def _of_length_scales(table):
    fitted = table.model_.fitted_
    found = [one for term in length_scales(fitted, errors=False) for one in term if one.bound == "lower"]
    found = [one for one in found if fitted.prior.torus.axes[one.axis].kind == "circle"]
    if not found:
        return []
    names = list(dict.fromkeys(_axis_name(fitted, one.axis) for one in found))
    verb = "is at its" if len(names) == 1 else "are at their"
    return [
        f"The length scale{'s' * (len(names) > 1)} of {', '.join(names)} {verb} lower bound, {found[0].lower:g}: the "
        "model follows single rows, or what repeats is finer than that. Check the period and its units, give a shorter "
        "one if the target repeats many times within it, and look for outliers."
    ]


def _of_turns(few, has_line):
    """What rests on less than two turns; what looks like a line on less than one."""
    unfinished = [turns for turns in few if turns.is_unfinished and has_line]
    messages = [
        f"The rows cover {turns}: what is said of {turns.input} rests on less than two of them. Give more rows, or "
        f"leave out {turns.name if turns.is_calendar else 'this period'}."
        for turns in few
        if turns not in unfinished
    ]
    if unfinished:
        messages.append(
            f"The rows cover less than one turn of {', '.join(turns.name for turns in unfinished)}, part of which "
            f"looks like a line: forecasts along it may be far off. Leave out {word('slope')}, or fit to more rows."
        )
    return messages


def _of_outliers(outliers):
    if outliers is None:
        return []
    one = outliers.n_rows == 1
    left = outliers.n_rows - len(outliers.first)
    more = f" and {left} more" if left else ""
    return [
        f"{outliers.n_rows} row{'' if one else 's'} {'lies' if one else 'lie'} many standard deviations (of about "
        f"{outliers.std:.2g}) from what the model makes of the others: "
        f"{', '.join(outliers.first)}{more}. {'It makes' if one else 'They make'} the noise too large and "
        f"{'pulls' if one else 'pull'} the function: look at {'it' if one else 'them'}, and fit without what is wrong."
    ]


def _of_error_bars(table):
    """What noise that is much larger than known may mean where there may be another period."""
    circles = table.inputs_.circles
    searched = [circle.input for circle in circles if circle.period == "auto"]
    if table.noise_factor_ is None or table.noise_factor_ < _LARGE_FACTOR or len(circles) > 1 or not searched:
        return []
    return [
        f"The noise is {table.noise_factor_:.3g} times what {table.noise!r} says: error bars are too small, or there "
        f"is another period; then give {word('two_periods', searched[0])}."
    ]


def _of_scores(table, has_few_turns, has_outliers):
    scores, messages = table.scores_, []
    if scores.is_biased and not has_few_turns:
        messages.append(_bias(scores, table.inputs_.has_time_slope))
    if scores.explains_nothing:
        messages.append(
            f"The model explains nothing of the rows held out (R2 {scores.r2:.2g}): their mean predicts them as "
            "well. Check the periods and their units (a turn is 360 degrees, or 6.2832 radians), give shorter ones if "
            "the target repeats many times within them, and look for outliers."
        )
    is_explained = has_outliers or has_few_turns or bool(messages)
    if scores.is_too_wide and not has_outliers:
        messages.append(
            "Errors are far from normal, or differ in size from row to row: 50 % intervals contain "
            f"{100 * scores.middle:.0f} % of the rows held out, and are not to be trusted. For counts or heavy "
            "tails take logarithms, add up over longer spans, or use another likelihood (documentation: "
            "interoperability)"
            + (f"; if error bars are known, give them ({word('noise', 'error')})." if table.noise is None else ".")
        )
    elif scores.is_too_narrow and not is_explained:
        messages.append(
            f"Intervals are too narrow for the rows held out: 50 % intervals contain {100 * scores.middle:.0f} % of "
            "them. They may differ from the rows before, or errors are far from normal."
        )
    return messages


def _axis_name(fitted, axis):
    """Name of an axis; with the period where an input feeds several."""
    axes, period = fitted.prior.torus.axes, fitted.parameters.period
    name = fitted.prior.torus.names[axes[axis].input]
    circles = [one for one in axes if one.kind == "circle" and one.input == axes[axis].input]
    return repr(name) if len(circles) == 1 else f"{name!r} (period {period[axis]:.6g})"


def bias_remedy(has_line):
    """What to do if the rows held out lie above or below their predictions."""
    if not has_line:
        return (
            f"If it goes on to change steadily, {word('slope')} takes that into account; if it has changed once, fit "
            "to the rows since then."
        )
    return "It has not gone on along the line of the rows before: fit to later rows, or expect wider intervals."


def _bias(scores, has_line):
    """What is wrong if the rows held out lie above or below their predictions."""
    bias, error = scores.bias, scores.bias_std
    return (
        f"The level has changed: the rows held out lie {'above' if bias > 0 else 'below'} their predictions by "
        f"{abs(bias):.3g} ± {error:.2g} on average, more than chance would allow. {bias_remedy(has_line)}"
    )
