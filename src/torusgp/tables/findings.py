"""Findings on a fitted model and its rows: problems, which are warnings, and notes."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from torusgp.data.tables import looks_missing, place_of_row
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.schedule import limited_blas
from torusgp.tables.backtest import TOGETHER
from torusgp.tables.clock import few_turns, show_moment
from torusgp.tables.inputs import NOT_NAMED, Rows, TableInputs, category_inputs, numbered
from torusgp.tables.regressors import length_scales
from torusgp.tables.table import MOST_LEVELS
from torusgp.tables.timeline import Timeline
from torusgp.tables.words import some_of, word
from torusgp.views.findings import NOTE, PROBLEM, Finding, describe_naive
from torusgp.views.model_findings import model_findings
from torusgp.views.numbers import count, listed, number, percent, quantity, with_unit

_FAR = 8.0  # standard deviations; heavy tails, too, have few rows so far out
_FEW = 0.02  # of the rows, at most: more of them are no accidents, but how the target is distributed
_SPOILT = 0.3  # of the squared residuals, at least: fewer do not make the noise much larger
_VISIBLE = 0.01  # of the spread of the targets, at least: what is smaller is a kink of a function without noise
_OWN = 2.0  # root mean squares of all residuals, at least: neighbours that outliers pull the function from stay below
_MOST_NAMED = 3
_BINS, _FEWEST_IN_BIN = 30, 50  # of an input, and rows in each
_CHANGE = 2.0  # ratio of typical sizes that is more than chance makes in such bins


@dataclass(frozen=True)
class Outliers:
    """A few rows that lie many standard deviations away.

    Attributes
    ----------
    n_rows : int
        Number of them.
    std : float
        Standard deviation of the noise of the other rows, from the median of all residuals.
    first : tuple of str
        Where a person finds the first of them, and what they hold.
    """

    n_rows: int
    std: float
    first: tuple


def find_outliers(table, rows):
    """Rows that a model was fitted to, but that do not belong with the others.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        The rows.

    Returns
    -------
    Outliers or None
        None where there are none, or where they are too many or too near to matter.
    """
    with limited_blas(table.model_.index_set_.n_components):
        mean = table.model_.predict(rows.X)
    residuals = rows.y - mean
    relative = residuals if rows.scale is None else residuals / rows.scale
    size = np.abs(relative)
    outlying = are_outlying(relative) & (np.abs(residuals) > _VISIBLE * np.std(rows.y))
    outlying &= size > _OWN * np.sqrt(np.mean(size**2))
    if outlying.sum() > max(1, _FEW * len(outlying)):
        return None
    outlying &= are_outlying(relative / _local_sizes(rows.X, size))
    if not outlying.any() or not np.sum(size[outlying] ** 2) > _SPOILT * np.sum(size**2) or _is_mostly_one(rows.y):
        return None
    order = np.sort(rows.X.index[outlying])[:_MOST_NAMED]  # as in the file
    values = dict(zip(rows.X.index[outlying], zip(rows.y[outlying], mean[outlying], strict=True), strict=True))
    first = tuple(
        f"{place_of_row(row, rows.source)} ({values[row][0]:.4g} instead of {values[row][1]:.4g})" for row in order
    )
    return Outliers(int(outlying.sum()), _robust_std(residuals), first)


def are_outlying(residuals):
    """Mask of the residuals that are so large that chance does not make them.

    Parameters
    ----------
    residuals : ndarray of shape (n_rows,)
        In units of their known standard deviations, if there are any.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.random.default_rng(0).normal(size=100)
    >>> residuals[17] = 15
    >>> np.flatnonzero(are_outlying(residuals)).tolist()
    [17]
    """
    return np.abs(residuals) > _FAR * _robust_std(residuals)


def _local_sizes(X, size):
    """Typical sizes of residuals near each row, along the input with which they change most, or one for all.

    Hours that are closed have small ones: those of all others would be outlying beside them.
    """
    found, largest = np.ones(len(size)), _CHANGE
    for name in X:
        bins = _bins(X[name])
        counts = np.bincount(bins)
        typical = np.array([np.median(size[bins == one]) if counts[one] else np.nan for one in range(len(counts))])
        typical = np.maximum(typical, np.finfo(float).tiny)
        low, high = np.nanquantile(typical, [0.1, 0.9])  # outliers may fill one bin
        if counts[counts > 0].min() >= _FEWEST_IN_BIN / 2 and high > largest * low:
            found, largest = typical[bins], high / low
    return found


def _bins(values):
    """Bin of an input that each row is in: one for each value, or for some of them beside each other."""
    codes, levels = values.factorize(sort=True)
    codes = np.where(codes < 0, len(levels), codes)  # what is missing is a level of its own
    n_bins = max(1, min(_BINS, len(values) // _FEWEST_IN_BIN))
    return codes if len(levels) <= n_bins else codes * n_bins // len(levels)


def _robust_std(residuals):
    """Standard deviation of normal residuals whose median absolute value is that of these."""
    return float(np.median(np.abs(residuals)) / ndtri(0.75))


def _is_mostly_one(y):
    """True if most targets are the same, such as counts that are mostly zero: the others are no outliers."""
    return np.mean(y == np.median(y)) > 0.5


_ALONE = 0.99  # of the rows, at least, that have their time to themselves among those of a level


@dataclass(frozen=True)
class Repeats:
    """Rows whose inputs are those of another row.

    Attributes
    ----------
    X : pandas.DataFrame
        Inputs of the rows.
    y : ndarray
        Their targets.
    categories : sequence of str
        Inputs that are categories.
    """

    X: Any
    y: Any
    categories: Any

    @classmethod
    def of_rows(cls, rows: Rows, inputs: TableInputs) -> Repeats:
        """Repeats among rows of a table."""
        return cls(rows.X, rows.y, category_inputs(inputs.model))

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """Numbers of the rows, equal where all inputs are."""
        return self.X.groupby(list(self.X.columns), sort=False, dropna=False).ngroup().to_numpy()

    @property
    def n_inputs(self) -> int:
        """Number of different inputs."""
        return int(self.groups.max()) + 1

    @property
    def n_equal_inputs(self) -> int:
        """Number of rows whose inputs are those of an earlier row."""
        return len(self.groups) - self.n_inputs

    @cached_property
    def equal(self) -> NDArray[np.bool_]:
        """Rows whose inputs and target are those of an earlier row."""
        import pandas

        return pandas.DataFrame({"inputs": self.groups, "target": self.y}).duplicated().to_numpy()

    @property
    def are_there_twice(self) -> bool:
        """True if rows repeat more often than targets of different rows are equal by chance.

        Counts of one cell are often equal; measurements with many digits are not, unless a row is there twice.
        """
        _, numbers = np.unique(self.y[~self.equal], return_counts=True)
        by_chance = numbers[numbers > 1].sum() / numbers.sum()
        return bool(self.equal.mean() > by_chance)

    @property
    def copies(self) -> NDArray[np.bool_]:
        """Rows that are there already, where that is no chance."""
        return self.equal & self.are_there_twice

    @property
    def stay_together(self) -> bool:
        """True if rows of equal inputs are no evidence of each other, so that a hold-out must not separate them.

        Where all inputs are categories, their cells are what is predicted, and rows of a cell are its replicates,
        unless rows are there twice.
        """
        return self.n_equal_inputs > 0 and (len(self.categories) < self.X.shape[1] or self.are_there_twice)

    def held(self, order: NDArray[np.int64], n_held: int) -> NDArray[np.bool_]:
        """Hold out about so many rows, those of equal inputs together.

        Levels of a category of which all rows have the same inputs are learned: nothing predicts them else.

        Parameters
        ----------
        order : ndarray of int
            The rows in random order.
        n_held : int
            Most rows to hold out.
        """
        sizes = np.bincount(self.groups)
        is_open = np.ones(len(sizes), dtype=bool)
        for name in self.categories:
            spread = self.X.groupby(name, sort=False, dropna=False)[name].ngroup().to_numpy()
            pairs = np.unique(np.column_stack([spread, self.groups]), axis=0)
            alone = np.bincount(pairs[:, 0])[pairs[:, 0]] == 1
            is_open[pairs[alone, 1]] = False
        is_open |= sizes == 1
        _, first = np.unique(self.groups[order], return_index=True)
        chosen, left = np.zeros(len(sizes), dtype=bool), n_held
        for group in np.argsort(first):
            if is_open[group] and sizes[group] <= left:
                chosen[group], left = True, left - sizes[group]
        return chosen[self.groups]


def repeated_times(frame: Any, order: Any, source: Any) -> str | None:
    """Advice for times that come more than once.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    order : pandas.Series or None
        Times of its rows, on the same index.
    source : str or Path
        What the message calls the table.

    Returns
    -------
    str or None
        None if there are none.
    """
    if order is None:
        return None
    again = order[order.notna() & order.duplicated()]
    if not len(again):
        return None
    share = f"{len(again):,} of {len(order):,} rows have the time of another"
    repeated = order.duplicated(keep=False) & order.notna()
    for name in frame.columns:
        if name != order.name and _parts_rows(frame[name], order) and not _repeats(frame[name], order, repeated):
            return (
                f"{share}: there are several series, which {name!r} distinguishes. Fit a model for each of its values: "
                f"{word('by', name)}."
            )
    return (
        f"{share}; the first is {place_of_row(again.index[0], source)}, {again.iloc[0]}. Leave out what is there "
        "twice, or name a column that distinguishes the rows."
    )


def _repeats(column: Any, order: Any, repeated: Any) -> bool:
    """True if rows of one time mostly have the same level, too: they are there twice."""
    pairs = column[repeated].astype(str).str.cat(order[repeated].astype(str), sep="@")
    return bool((~pairs.duplicated(keep=False)).mean() < _ALONE)


def _parts_rows(column: Any, order: Any) -> bool:
    """True if rows of the same level of a column have different times."""
    if column.dtype.kind == "f" or not 2 <= column.nunique() <= max(MOST_LEVELS, len(column) // 20):
        return False
    pairs = column.astype(str).str.cat(order.astype(str), sep="@")
    return bool((~pairs.duplicated()).mean() >= _ALONE)


_GAP = 1.5  # usual steps from which rows are missing between two
_USUAL = 0.5  # of the steps that are the usual one, at least: otherwise rows have no step
_STEP = 0.01  # of a step by which it may differ from the usual one
_MOST_ZEROS = 0.2  # of the rows: more are what the target is like
_FAR_FROM_ZERO = 1.5  # interquartile ranges, at least: how far from zero all others are where zeros stand out
_MOST_LISTED = 8  # columns, and rows, in a sentence
_TOGETHER = " Such rows are held out together or not at all."
_ON_BOTH_SIDES = (
    " They are among the rows held out and among those learned from, too: the evaluation says how well these inputs "
    "are predicted, not how well others are."
)
_UNITS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


@dataclass(frozen=True)
class Case:
    """Fitted model, its table and the rows that it was fitted to; what several checks ask of them is computed once.

    Attributes
    ----------
    model : TableModel
        Fitted model.
    frame : pandas.DataFrame
        The whole table.
    rows : Rows
        The complete rows, in their order.
    data : dict
        The rows in numbers, for JSON, as checks find them: first and last moment, usual step, and numbers of gaps,
        duplicates, rows of equal inputs and zeros; None for what needs an order where rows have none.
    """

    model: Any
    frame: Any
    rows: Rows
    data: dict[str, Any]

    @cached_property
    def few_turns(self):
        """Cycles that the rows have not seen twice."""
        return few_turns(self.model.inputs_, self.rows.order)

    @cached_property
    def outliers(self):
        """Rows that spoil the fit, if there are any."""
        return find_outliers(self.model, self.rows)


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
    numbers = ("first", "last", "step", "gaps", "duplicates", "equal_inputs", "zeros")
    case = Case(table, frame, rows, dict.fromkeys(numbers))
    warned, of_data, quiet = ([one for check in checks for one in check(case)] for checks in CHECKS)
    outliers = sum(one.about == "data" and one.level == PROBLEM for one in warned)
    table.quality_ = {**case.data, "mean": float(rows.y.mean()), "outliers": outliers}
    heard = [
        Finding(PROBLEM, "model", " ".join(str(one.message).split()))
        for one in told
        if issubclass(one.category, UserWarning)
    ]
    table.findings_ = list(dict.fromkeys([*heard, *warned, *of_data, *quiet]))
    for one in told:
        warnings.warn(one.message, one.category, stacklevel=3)
    for finding in [*warned, *(one for one in of_data if one.level == PROBLEM)]:
        warnings.warn(finding.text, stacklevel=3)


def _repeats_of_inputs(case):
    """Rows without an order whose inputs are those of others, which are there twice if targets are equal, too."""
    if case.rows.order is not None:
        return []
    repeats, source = Repeats.of_rows(case.rows, case.model.inputs_), case.rows.source
    case.data["equal_inputs"], case.data["duplicates"] = repeats.n_equal_inputs, int(repeats.equal.sum())
    if not repeats.stay_together:
        return []
    rows = repeats.X.index.to_numpy()
    held = ""
    if case.model.scores_ is not None:
        held = _TOGETHER if TOGETHER in case.model.scores_.rows else _ON_BOTH_SIDES
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


def _steps(case):
    """The usual step between moments, and where rows are missing."""
    order, data = case.rows.order, case.data
    if order is None:
        return []
    data["first"], data["last"] = (show_moment(order.iloc[i]) for i in (0, -1))
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
    text = (
        f"{count(len(gaps), 'gap')} in {order.name}, in which about {n_missing} are missing; the longest, of {size}, "
        f"begins after {show_moment(moments.iloc[longest])}."
    )
    return [Finding(NOTE, "data", text)]


def _repeated_moments(case):
    """Moments that occur several times: by accident, or because the table has several series."""
    rows, data = case.rows, case.data
    if rows.order is None:
        return []
    frame = numbered(case.frame, rows.source).loc[rows.X.index.sort_values()]
    inputs = rows.X.assign(**{"(moment)": rows.order.to_numpy()})
    data["duplicates"] = int(inputs.duplicated().sum())  # rows of one moment that inputs tell apart are none
    text = repeated_times(frame, rows.order.sort_index(), rows.source) if data["duplicates"] else None
    return [] if text is None else [Finding(PROBLEM, "data", text)]


def _marks(case):
    """Levels of categories that may stand for missing values, which they do only if somebody says so."""
    findings, levels = [], case.rows.X[category_inputs(case.model.inputs_.model)]
    for name in levels:
        counts = levels[name][looks_missing(levels[name])].value_counts()
        if len(counts):
            told = listed(f"{level!r} in {count(number_of, 'row')}" for level, number_of in counts.items())
            hint = f"If that stands for nothing, say so: {word('missing', list(counts.index), ','.join(counts.index))}."
            findings.append(Finding(NOTE, "data", f"{name} is {told}, a level like any other. {hint}"))
    return findings


def _zeros(case):
    """Zeros among values that are all far from zero: they may stand for missing ones."""
    rows, data = case.rows, case.data
    zeros = rows.y == 0
    others = np.abs(rows.y[~zeros])
    if len(np.unique(np.sign(rows.y[~zeros]))) > 1 or zeros.mean() > _MOST_ZEROS:
        return []
    if not zeros.any() or others.min() < _FAR_FROM_ZERO * np.subtract(*np.quantile(others, [0.75, 0.25])):
        data["zeros"] = None if zeros.any() else 0
        return []
    data["zeros"] = int(zeros.sum())
    first = listed(place_of_row(row, rows.source) for row in sorted(rows.X.index[np.flatnonzero(zeros)[:3]]))
    text = (
        f"{case.model.target} is 0 in {count(zeros.sum(), 'row')} ({percent(zeros.mean())}), and "
        f"{number(others.min(), 3)} or more in all others: do zeros stand for missing values? The first: {first}."
    )
    return [Finding(PROBLEM, "data", text)]


def _dropped(case):
    """Rows that were left out."""
    number_of, n_rows = case.model.n_dropped_, len(case.rows.y) + case.model.n_dropped_
    miss = "misses a value and was" if number_of == 1 else "miss a value and were"
    text = f"{count(number_of, 'row')} of {number(n_rows)} {miss} left out."
    return [Finding(NOTE, "data", text)] if number_of else []


def _unused(case):
    """Columns that are no inputs, and why."""
    unused = case.model.inputs_.unused
    names = [name if reason == NOT_NAMED else f"{name} ({reason})" for name, reason in unused]
    are = "Column not used" if len(names) == 1 else "Columns not used"
    return [Finding(NOTE, "data", f"{are}: {some_of(names, _MOST_LISTED)}.")] if unused else []


def _duration(seconds):
    """A length of time in the largest unit that suits it."""
    name, size = next(((name, size) for name, size in _UNITS if seconds >= size), _UNITS[-1])
    return count(round(seconds / size, 2), name)


_SEEN = 0.1  # of what varies in the predictions, at least, of a term whose length scales matter
_CLEAR_CHANGE = 2.0  # ratio of sizes of errors that is more than chance makes in bins of a dozen rows
_LARGE_FACTOR = 1.5  # of error bars: less is common, and no sign of another period


@contextmanager
def kept_warnings():
    """Keep the warnings of a fit, which are told when all is known."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        yield told


def _runs(case):
    """Errors that are correlated for longer than the rows can tell, if no cycle explains it."""
    table, process = case.model, case.model.model_.fitted_.noise_process
    if case.few_turns or process is None or not process.autocovariance.is_cut_off:
        return []
    hint = f"If the level changes steadily, {word('slope')} takes that into account."
    if table.inputs_.has_time_slope:
        hint = "Does the level move in other ways than along a line?"
    text = (
        f"Errors are autocorrelated over more than {process.autocovariance.n_lags} rows, too long for {table.n_rows_} "
        f"rows to show: standard errors of slow effects may be too small. {hint}"
    )
    return [Finding(NOTE, "model", text)]


def _length_scales(case):
    """Length scales at their lower bound, of circles of terms that matter."""
    fitted, stds = case.model.model_.fitted_, case.model._part_stds
    terms = zip(case.model.model_.term_names_, length_scales(fitted, errors=False), strict=False)
    seen = [scales for name, scales in terms if stds.get(name, np.inf) > _SEEN * stds[None]]
    found = [one for scales in seen for one in scales if one.bound == "lower"]
    found = [one for one in found if fitted.prior.torus.axes[one.axis].kind == "circle"]
    if not found:
        return []
    names = list(dict.fromkeys(_axis_name(fitted, one.axis) for one in found))
    verb = "is at its" if len(names) == 1 else "are at their"
    text = (
        f"The length scale{'s' * (len(names) > 1)} of {', '.join(names)} {verb} lower bound, {found[0].lower:g}: the "
        "model follows single rows, or what repeats is finer than that. Check the period and its units, give a shorter "
        "one if the target repeats many times within it, and look for outliers."
    )
    return [Finding(PROBLEM, "model", text)]


def _turns(case):
    """Claims that rest on less than two turns; what looks like a line on less than one."""
    few, has_line = case.few_turns, case.model.inputs_.has_time_slope
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
    return [Finding(NOTE, "data", text) for text in messages]


def _outliers(case):
    """Rows that lie far off; where there are none, noise that is much larger than known."""
    outliers = case.outliers
    if outliers is None:
        return _error_bars(case.model)
    one = outliers.n_rows == 1
    left = outliers.n_rows - len(outliers.first)
    more = f" and {left} more" if left else ""
    text = (
        f"{outliers.n_rows} row{'' if one else 's'} {'lies' if one else 'lie'} many standard deviations (of about "
        f"{outliers.std:.2g}) from what the model makes of the others: "
        f"{', '.join(outliers.first)}{more}. {'It makes' if one else 'They make'} the noise too large and "
        f"{'pulls' if one else 'pull'} the function: look at {'it' if one else 'them'}, and fit without what is wrong."
    )
    return [Finding(PROBLEM, "data", text)]


def _naive(case):
    """A forecast without any model that is better."""
    found = case.model.evaluation_
    if found is None or found.beats_naive:
        return []
    errors = [quantity(one.mae, case.model.unit) for one in (found.naive, found.scores)]
    text = (
        f"A forecast by {describe_naive(found.season)} would predict the rows held out better: its mean absolute "
        f"error is {errors[0]}, that of the model {errors[1]}."
    )
    return [Finding(PROBLEM, "predictions", text)]


def _error_bars(table):
    """Noise that is much larger than known, where there may be another period."""
    circles = table.inputs_.circles
    searched = [circle.input for circle in circles if circle.period == "auto"]
    if table.noise_factor_ is None or table.noise_factor_ < _LARGE_FACTOR or len(circles) > 1 or not searched:
        return []
    text = (
        f"The noise is {table.noise_factor_:.3g} times what {table.noise!r} says: error bars are too small, or there "
        f"is another period; then give {word('two_periods', searched[0])}."
    )
    return [Finding(NOTE, "data", text)]


def _scores(case):
    """Problems that rows held out have with the predictions, unless another finding explains them."""
    table, has_few_turns, has_outliers = case.model, bool(case.few_turns), case.outliers is not None
    scores, messages = table.scores_, []
    if scores is None:
        return []
    if (scores.is_biased or scores.misses_level) and not has_few_turns:
        messages.append(_bias(scores, table.inputs_.has_time_slope, table.unit))
    if scores.explains_nothing:
        messages.append(
            f"The model explains nothing of the rows held out (R2 {scores.r2:.2g}): their mean predicts them as "
            "well. Check the periods and their units (a turn is 360 degrees, or 6.2832 radians), give shorter ones if "
            "the target repeats many times within them, and look for outliers."
        )
    is_explained = has_outliers or has_few_turns or bool(messages)
    changing = _sizes(table) if scores.is_too_wide or scores.intervals.endswith("narrow") else None
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
    return [Finding(PROBLEM, "predictions", text) for text in messages]


def _sizes(table):
    """Input along which the errors of rows held out change in size, if that may be what is wrong with intervals."""
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


def _narrow_intervals(case):
    """Intervals that are far too narrow, which no other finding says."""
    scores = case.model.scores_
    if scores is None or scores.intervals != "far too narrow" or _scores(case):
        return []
    return [Finding(PROBLEM, "predictions", _too_narrow(scores))]


def _model(case):
    """Findings on the regressor alone."""
    return model_findings(case.model.model_)


def _change_of_size(along):
    """Ratio of errors in the upper quarter of the bins of an input to those in the lower one."""
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
    """Advice for rows held out that lie above or below their predictions."""
    if not has_line:
        return (
            f"If it goes on to change steadily, {word('slope')} takes that into account; if it has changed once, fit "
            "to the rows since then."
        )
    return "It has not gone on along the line of the rows before: fit to later rows, or expect wider intervals."


def _bias(scores, has_line, unit):
    """Text about rows held out that lie above or below their predictions."""
    bias, error = scores.bias, scores.bias_std
    beyond = "more than chance would allow" if scores.is_biased else "so that their own mean would predict them better"
    return (
        f"The level has changed: the rows held out lie {'above' if bias > 0 else 'below'} their predictions by "
        f"{with_unit(f'{number(abs(bias), 3)} ± {number(error, 2)}', unit)} on average, {beyond}. {_remedy(has_line)}"
    )


_OF_DATA = (_steps, _repeated_moments, _repeats_of_inputs, _zeros, _marks, _dropped, _unused)
CHECKS = (  # in the order in which they are told: all are warned of, problems are, none are
    (_length_scales, _turns, _outliers, _runs, _scores),
    _OF_DATA,
    (_narrow_intervals, _naive, _model),
)
