"""What the rows of a table look like: gaps, duplicates, zeros, columns that are not used."""

from typing import Any

import numpy as np

from torusgp.data.tables import looks_missing, place_of_row
from torusgp.tables.backtest import TOGETHER
from torusgp.tables.forecast import show_moment
from torusgp.tables.inputs import NOT_NAMED, category_inputs, numbered
from torusgp.tables.models._repeats import Repeats, repeated_times
from torusgp.tables.timeline import Timeline
from torusgp.tables.words import word
from torusgp.views.findings import NOTE, PROBLEM, Finding
from torusgp.views.numbers import count, listed, number, percent

_GAP = 1.5  # usual steps from which rows are missing between two
_USUAL = 0.5  # of the steps that are the usual one, at least: otherwise rows have no step
_STEP = 0.01  # of a step by which it may differ from the usual one
_MOST_ZEROS = 0.2  # of the rows: more are what the target is like
_FAR_FROM_ZERO = 1.5  # interquartile ranges, at least: how far from zero all others are where zeros stand out
_MOST_NAMED = 8  # columns, and rows, in a sentence
_TOGETHER = " Such rows are held out together or not at all."
_ON_BOTH_SIDES = (
    " They are among the rows held out and among those learned from, too: the evaluation says how well these inputs "
    "are predicted, not how well others are."
)
_UNITS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


def describe_data(table, frame, rows):
    """The rows of a fit in numbers, and what may be wrong with them.

    Parameters
    ----------
    table : TableModel
        Model that is fitted to them.
    frame : pandas.DataFrame
        The whole table.
    rows : Rows
        The complete rows, in their order.

    Returns
    -------
    data : dict
        For JSON: first and last moment, usual step, and numbers of gaps, duplicates, rows of equal inputs and zeros;
        None for what needs an order where rows have none.
    findings : list of Finding
    """
    unused = dict(table.inputs_.unused)
    data: dict[str, Any] = dict.fromkeys(("first", "last", "step", "gaps", "duplicates", "equal_inputs", "zeros"))
    data["mean"] = float(rows.y.mean())
    findings = []
    if rows.order is not None:
        data["first"], data["last"] = (show_moment(rows.order.iloc[i]) for i in (0, -1))
        findings += _of_steps(rows.order, data)
        findings += _of_duplicates(rows, data, numbered(frame, rows.source).loc[rows.X.index.sort_values()])
    else:
        findings += _of_repeats(repeats_of(table, rows), table, data, rows.source)
    findings += _of_zeros(rows, data, table.target)
    findings += _of_marks(rows.X[category_inputs(table.inputs_.model)])
    if table.n_dropped_:
        n_rows = len(rows.y) + table.n_dropped_
        miss = "misses a value and was" if table.n_dropped_ == 1 else "miss a value and were"
        text = f"{count(table.n_dropped_, 'row')} of {number(n_rows)} {miss} left out."
        findings.append(Finding(NOTE, "data", text))
    if unused:
        names = [name if reason == NOT_NAMED else f"{name} ({reason})" for name, reason in unused.items()]
        left = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        are = "Column not used" if len(names) == 1 else "Columns not used"
        findings.append(Finding(NOTE, "data", f"{are}: {', '.join(names[:_MOST_NAMED])}{left}."))
    return data, findings


def repeats_of(table, rows):
    """Rows of a table whose inputs are those of another row."""
    return Repeats(rows.X, rows.y, category_inputs(table.inputs_.model))


def _of_repeats(repeats, table, data, source):
    """Rows without an order whose inputs are those of others, which are there twice if targets are equal, too."""
    data["equal_inputs"], data["duplicates"] = repeats.n_equal_inputs, int(repeats.equal.sum())
    if not repeats.stay_together:
        return []
    rows = repeats.X.index.to_numpy()
    held = ""
    if table.scores_ is not None:
        held = _TOGETHER if TOGETHER in table.scores_.rows else _ON_BOTH_SIDES
    if not repeats.are_there_twice:
        text = f"{_of_all(repeats.n_equal_inputs, rows)} the same inputs as an earlier one.{held}"
        return [Finding(NOTE, "data", text)]
    first = place_of_row(rows[repeats.equal].min(), source)
    text = (
        f"{_of_all(repeats.equal.sum(), rows)} the same inputs and the same target as an earlier one; the first is "
        f"{first}.{held} Leave out what is there twice: it makes the model too sure of itself."
    )
    return [Finding(PROBLEM, "data", text)]


def _of_all(number_of, rows):
    """A number of rows as a share of all that have something."""
    return f"{number(number_of)} of {count(len(rows), 'row')} {'has' if number_of == 1 else 'have'}"


def _of_steps(order, data):
    """The usual step between moments, and where rows are missing."""
    moments = order.drop_duplicates()
    is_time = order.dtype.kind == "M" or hasattr(order, "dt")
    steps = moments.diff().iloc[1:]
    steps = steps.dt.total_seconds().to_numpy() if is_time else steps.to_numpy(dtype=float)
    if len(steps) < 2:
        return []
    usual = float(np.median(steps))
    if np.mean(np.abs(steps - usual) <= _STEP * usual) < _USUAL:
        return []
    data["step"] = _duration(usual) if is_time else number(usual)
    gaps = np.flatnonzero(steps > _GAP * usual)
    # months and years differ in length, and summer time moves an hour
    gaps = gaps[steps[gaps] > _GAP * usual + (3700 if is_time else 0)] if usual < 80_000 else gaps
    missing = np.rint(steps[gaps] / usual) - 1
    timeline = Timeline.from_order(order) if is_time else None
    if timeline is not None and (timeline.slots or timeline.closed):  # nights and days off are no gaps
        expected = timeline.expected(moments.iloc[0])
        absent = expected[~expected.isin(moments)]
        missing = np.diff(np.searchsorted(absent, [*moments.iloc[gaps], moments.iloc[-1]]))
        gaps, missing = gaps[missing > 0], missing[missing > 0]
    data["gaps"] = len(gaps)
    if not len(gaps):
        return []
    n_missing = count(int(missing.sum()), "row")
    longest = int(gaps[np.argmax(missing)])
    size = _duration(steps[longest]) if is_time else number(steps[longest])
    return [
        Finding(
            NOTE,
            "data",
            f"{count(len(gaps), 'gap')} in {order.name}, in which about {n_missing} are missing; "
            f"the longest, of {size}, begins after {show_moment(moments.iloc[longest])}.",
        )
    ]


def _of_duplicates(rows, data, frame):
    """Moments that occur several times: by accident, or because the table has several series."""
    inputs = rows.X.assign(**{"(moment)": rows.order.to_numpy()})
    data["duplicates"] = int(inputs.duplicated().sum())  # rows of one moment that inputs tell apart are none
    text = repeated_times(frame, rows.order.sort_index(), rows.source) if data["duplicates"] else None
    return [] if text is None else [Finding(PROBLEM, "data", text)]


def _of_marks(levels):
    """Levels of categories that may stand for missing values, which they do only if somebody says so."""
    findings = []
    for name in levels:
        counts = levels[name][looks_missing(levels[name])].value_counts()
        if len(counts):
            told = listed(f"{level!r} in {count(number_of, 'row')}" for level, number_of in counts.items())
            hint = f"If that stands for nothing, say so: {word('missing', list(counts.index), ','.join(counts.index))}."
            findings.append(Finding(NOTE, "data", f"{name} is {told}, a level like any other. {hint}"))
    return findings


def _of_zeros(rows, data, target):
    """Zeros among values that are all far from zero: they may stand for missing ones."""
    zeros = rows.y == 0
    others = np.abs(rows.y[~zeros])
    if len(np.unique(np.sign(rows.y[~zeros]))) > 1 or zeros.mean() > _MOST_ZEROS:
        return []
    if not zeros.any() or others.min() < _FAR_FROM_ZERO * np.subtract(*np.quantile(others, [0.75, 0.25])):
        data["zeros"] = None if zeros.any() else 0
        return []
    data["zeros"] = int(zeros.sum())
    first = listed(place_of_row(row, rows.source) for row in sorted(rows.X.index[np.flatnonzero(zeros)[:3]]))
    return [
        Finding(
            PROBLEM,
            "data",
            f"{target} is 0 in {count(zeros.sum(), 'row')} ({percent(zeros.mean())}), and {number(others.min(), 3)} or "
            f"more in all others: do zeros stand for missing values? The first: {first}.",
        )
    ]


def _duration(seconds):
    """A length of time in the largest unit that suits it."""
    name, size = next(((name, size) for name, size in _UNITS if seconds >= size), _UNITS[-1])
    return count(round(seconds / size, 2), name)
