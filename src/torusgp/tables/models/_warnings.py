"""What cannot be right about models of tables, and warnings of it at the line that asked for the fit."""

import warnings
from contextlib import contextmanager

import numpy as np

from torusgp.fitting.likelihoods import check_likelihood
from torusgp.tables.clock import few_turns
from torusgp.tables.models._errors import length_scales
from torusgp.tables.models._outliers import find_outliers
from torusgp.tables.models._quality import describe_data
from torusgp.tables.words import word
from torusgp.views.findings import NOTE, PROBLEM, Finding, describe_naive
from torusgp.views.model_findings import model_findings
from torusgp.views.numbers import number, percent, with_unit

_SEEN = 0.1  # of what varies in the predictions, at least, of a term whose length scales matter
_CLEAR_CHANGE = 2.0  # ratio of sizes of errors that is more than chance makes in bins of a dozen rows
_LARGE_FACTOR = 1.5  # of error bars: less is common, and no sign of another period


@contextmanager
def kept_warnings():
    """Keep the warnings of a fit, which are told when all is known."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        yield told


def conclude(table, frame, rows, told):
    """Collect all that is to be said of a fitted model and its rows, and warn of it.

    Parameters
    ----------
    table : TableModel
        Fitted model; its ``findings_`` and ``quality_`` are set.
    frame : pandas.DataFrame
        The whole table.
    rows : Rows
        The rows that it was fitted to.
    told : list of warnings.WarningMessage
        Warnings of the fit.
    """
    problems, notes = find_problems(table, rows)
    table.quality_, of_data = describe_data(table, frame, rows)
    table.quality_["outliers"] = sum(one.about == "data" and one.level == PROBLEM for one in problems)
    heard = [
        Finding(PROBLEM, "model", " ".join(str(one.message).split()))
        for one in told
        if issubclass(one.category, UserWarning)
    ]
    table.findings_ = list(dict.fromkeys([*heard, *problems, *of_data, *notes]))
    for one in told:
        warnings.warn(one.message, one.category, stacklevel=3)
    for finding in [*problems, *(one for one in of_data if one.level == PROBLEM)]:
        warnings.warn(finding.text, stacklevel=3)


def find_problems(table, rows):
    """What cannot be right about a fitted model, what to bear in mind, and whether rows held out contradict it.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        The rows that it was fitted to.

    Returns
    -------
    list of Finding
        Problems that a warning tells first.
    list of Finding
        What is not worth a warning.
    """
    few, outliers = few_turns(table.inputs_, rows.order), find_outliers(table, rows)
    told = [Finding(PROBLEM, "model", text) for text in _of_length_scales(table)]
    told += [Finding(NOTE, "data", text) for text in _of_turns(few, table.inputs_.has_time_slope)]
    # what follows from a cause that is told is not told, too
    own = [Finding(PROBLEM, "data", text) for text in _of_outliers(outliers)]
    told += own or [Finding(NOTE, "data", text) for text in _of_error_bars(table)]
    told += [] if few else [Finding(NOTE, "model", text) for text in _of_runs(table)]
    quiet = []
    if table.scores_ is not None:
        found = _of_scores(table, bool(few), outliers is not None)
        told += [Finding(PROBLEM, "predictions", text) for text in found]
        if table.scores_.intervals == "far too narrow" and not found:
            quiet = [Finding(PROBLEM, "predictions", _too_narrow(table.scores_))]
    return told, quiet + _of_naive(table) + model_findings(table.model_)


def _of_runs(table):
    """Errors that are correlated for longer than the rows can tell."""
    process = table.model_.fitted_.noise_process
    if process is None or not process.autocovariance.is_cut_off:
        return []
    hint = f"If the level changes steadily, {word('slope')} takes that into account."
    if table.inputs_.has_time_slope:
        hint = "Does the level move in other ways than along a line?"
    return [
        f"Errors are autocorrelated over more than {process.autocovariance.n_lags} rows, too long for {table.n_rows_} "
        f"rows to show: standard errors of slow effects may be too small. {hint}"
    ]


def _of_length_scales(table):
    fitted, stds = table.model_.fitted_, table._part_stds
    terms = zip(table.model_.term_names_, length_scales(fitted, errors=False), strict=False)
    seen = [scales for name, scales in terms if stds.get(name, np.inf) > _SEEN * stds[None]]
    found = [one for scales in seen for one in scales if one.bound == "lower"]
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


def _of_naive(table):
    """That a forecast without any model is better."""
    found = table.evaluation_
    if found is None or found.beats_naive:
        return []
    errors = [with_unit(number(one.mae, 3), table.unit) for one in (found.naive, found.scores)]
    return [
        Finding(
            PROBLEM,
            "predictions",
            f"A forecast by {describe_naive(found.season)} would predict the rows held out better: its mean absolute "
            f"error is {errors[0]}, that of the model {errors[1]}.",
        )
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
    if (scores.is_biased or scores.misses_level) and not has_few_turns:
        messages.append(_bias(scores, table.inputs_.has_time_slope, table.unit))
    if scores.explains_nothing:
        messages.append(
            f"The model explains nothing of the rows held out (R2 {scores.r2:.2g}): their mean predicts them as "
            "well. Check the periods and their units (a turn is 360 degrees, or 6.2832 radians), give shorter ones if "
            "the target repeats many times within them, and look for outliers."
        )
    is_explained = has_outliers or has_few_turns or bool(messages)
    changing = _of_sizes(table) if scores.is_too_wide or scores.intervals.endswith("narrow") else None
    if changing is not None and not has_outliers:
        messages.append(changing)
    elif scores.is_too_wide and not has_outliers:
        messages.append(
            "Errors are far from normal, or differ in size from row to row: 50 % intervals contain "
            f"{100 * scores.middle:.0f} % of the rows held out, and are not to be trusted. For counts or heavy "
            "tails take logarithms, add up over longer spans, or use another likelihood (documentation: "
            "interoperability)"
            + (f"; if error bars are known, give them ({word('noise', 'error')})." if table.noise is None else ".")
        )
    elif scores.is_too_narrow and not is_explained:
        messages.append(_too_narrow(scores))
    return messages


def _of_sizes(table):
    """Along which input the errors of rows held out change in size, if that may be what is wrong with intervals."""
    if table.noise_by or table.noise is not None or check_likelihood(table.likelihood).takes != "noise_scale":
        return None
    along = max(table.record_.errors, key=_change_of_size, default=None)
    if along is None or _change_of_size(along) < _CLEAR_CHANGE:
        return None
    sizes = [with_unit(number(size, 2), table.unit) for size in (along.rms.min(), along.rms.max())]
    return (
        f"The size of errors changes with {along.name}, from {sizes[0]} to {sizes[1]}, but that of intervals does not: "
        f"50 % intervals contain {percent(table.scores_.middle, 0)} of the rows held out, 95 % intervals "
        f"{percent(table.scores_.coverage, 0)}. Let it change "
        f"({word('noise_by', along.name)}). Rows that are certain beforehand, such as those of closed hours, are "
        "better left out; forecasts leave such hours out, too."
    )


def _change_of_size(along):
    """How many times as large errors are in the upper quarter of the bins of an input as in the lower one."""
    lower, upper = np.quantile(along.rms, [0.25, 0.75])
    return upper / max(lower, np.finfo(float).tiny)


def _too_narrow(scores):
    if scores.intervals == "two groups":
        return (
            f"Few errors are as small as stated: 50 % intervals contain {percent(scores.middle, 0)} of the rows held "
            f"out, 95 % intervals {percent(scores.coverage, 0)}. Does the table contain groups of rows that differ?"
        )
    middle = "" if scores.middle is None else f"50 % intervals contain {percent(scores.middle, 0)} of them, "
    return (
        f"Intervals are too narrow for the rows held out: {middle}95 % intervals {percent(scores.coverage, 0)}. They "
        "may differ from the rows before, or errors are far from normal."
    )


def _axis_name(fitted, axis):
    """Name of an axis; with the period where an input feeds several."""
    axes, period = fitted.prior.torus.axes, fitted.parameters.period
    name = fitted.prior.torus.names[axes[axis].input]
    circles = [one for one in axes if one.kind == "circle" and one.input == axes[axis].input]
    return repr(name) if len(circles) == 1 else f"{name!r} (period {period[axis]:.6g})"


def _remedy(has_line):
    """What to do if the rows held out lie above or below their predictions."""
    if not has_line:
        return (
            f"If it goes on to change steadily, {word('slope')} takes that into account; if it has changed once, fit "
            "to the rows since then."
        )
    return "It has not gone on along the line of the rows before: fit to later rows, or expect wider intervals."


def _bias(scores, has_line, unit):
    """What is wrong if the rows held out lie above or below their predictions."""
    bias, error = scores.bias, scores.bias_std
    beyond = "more than chance would allow" if scores.is_biased else "so that their own mean would predict them better"
    return (
        f"The level has changed: the rows held out lie {'above' if bias > 0 else 'below'} their predictions by "
        f"{with_unit(f'{number(abs(bias), 3)} ± {number(error, 2)}', unit)} on average, {beyond}. {_remedy(has_line)}"
    )
