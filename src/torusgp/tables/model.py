"""Regression on the columns of a table: fits, predictions, evaluation, files and pages."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_count, check_flag, check_verbose
from torusgp.data.tables import TableError, check_decimal, check_missing
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.estimators.short_form import SLOW_CHANGE
from torusgp.fitting.likelihoods import check_likelihood, likelihood_to_json
from torusgp.fitting.schedule import limited_blas
from torusgp.kernels.axes import Circle, Line
from torusgp.storage.archives import archive_kind, check_layout, decoding, load_archive
from torusgp.storage.files import check_places, write_together
from torusgp.storage.serialisation import from_json, to_json
from torusgp.tables.backtest import FEWEST_ROWS, Backtest, Fold, backtest_rows, hold_out
from torusgp.tables.clock import show_moment, zone_name
from torusgp.tables.findings import Repeats, conclude, kept_warnings
from torusgp.tables.forecast import (
    HIGH,
    LOW,
    Forecast,
    check_levels,
    continues_noise,
    draw_rows,
    future_table,
    predict_rows,
    quantile_names,
)
from torusgp.tables.inputs import (
    Options,
    Rows,
    TableInputs,
    all_factors,
    check_order,
    choose_inputs,
    find_complete,
    numbered,
    to_table,
    unless_input,
    within,
)
from torusgp.tables.regressors import SlopeEstimate, estimate_slopes, fit_regressor, length_scales
from torusgp.tables.timeline import Timeline
from torusgp.tables.words import TABLE, word
from torusgp.views.dimensions import frequencies_by_order
from torusgp.views.findings import NOTE, Finding, Findings
from torusgp.views.numbers import number, with_error
from torusgp.views.plotting import RecordDisplay
from torusgp.views.record import Record, to_milliseconds
from torusgp.views.report._axes import Clock
from torusgp.views.report._page import render_page, short_form
from torusgp.views.report._subject import Future, Horizons, Subject
from torusgp.views.scores import Scores
from torusgp.views.selection import selection_summary
from torusgp.views.summary import attribution, function_std, to_plain


def _naive(evaluation):
    """The seasonal naive forecast that the rows held out are compared with."""
    return {"season": evaluation.season, **evaluation.naive.to_json()}


def _circle(model, scales, axis, period_error):
    """Period and length scale of a circle, in the first term that has it."""
    fitted, is_learned = model.fitted_, bool(model.fit_.model.moving[axis])
    scale = next(one for term in scales for one in term if one.axis == axis)
    return {
        "name": fitted.prior.torus.names[fitted.prior.torus.axes[axis].input],
        "period": fitted.parameters.period[axis],
        "period_std": period_error if is_learned else None,
        "period_is": "learned" if is_learned else "given",
        "length_scale": scale.value,
        "length_scale_std": scale.std,
        "length_scale_bound": scale.bound,
    }


def _is_seasonal(fitted):
    """True if the first term is what repeats: a product of circles."""
    return all(fitted.prior.torus.axes[axis].kind == "circle" for axis in fitted.prior.terms[0].axes)


def part_stds(model, X):
    """Standard deviations over rows of what the terms of a model contribute, by their names.

    Slow change beside a period that was found has the slopes that come with it. None is the name of the sum of all.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor of one target.
    X : pandas.DataFrame
        Inputs of the rows.

    Returns
    -------
    dict of str or None to float
    """
    parts = model.predict_parts(X)
    stds = dict(zip(model.term_names_, np.std(parts, axis=0).tolist(), strict=True))
    stds[None] = float(np.std(parts.sum(axis=1)))
    if SLOW_CHANGE in stds:
        first = model.term_names_.index(SLOW_CHANGE)
        stds[SLOW_CHANGE] = float(np.std(parts[:, first:].sum(axis=1)))
    return stds


def _families(model):
    """Families of the kernels of a model; of categories alone, that which they would have beside others."""
    families = [one.family for one in all_factors(model) if isinstance(one, Circle | Line)]
    return " and ".join(dict.fromkeys(map(str, families))) or "squared_exponential"


def check_reading(decimal, date_format, missing, drop_missing):
    """Raise if it is not right how tables are to be read."""
    check_decimal(decimal)
    if not isinstance(date_format, str):
        raise ValueError(f"date_format must be 'auto' or text such as '%d/%m/%Y %H:%M', got {date_format!r}.")
    check_missing(missing)
    check_flag(drop_missing, "drop_missing")


_MOST_ROWS = 2_000  # of a forecast that is drawn and put into words
_SHARE = 0.1  # of the rows, where none were held out
_WORSE = 1.5  # times as large as errors of rows held out are those of new rows that call for a note
_SAME = 1e-9  # relative difference of means of the same rows


def write_page(table, path, frame=None, *, new_rows=None, title=None, source=None):
    """Write a page about a table model, see :meth:`TableModel.report`; returns its findings."""
    path = Path(path)
    check_places([path])
    summary, record = table.summary(), table.record_
    if frame is not None:
        frame, source = to_table(frame, source, table.missing)
        summary, record = _compared(table, frame, source, new_rows)
    found = Findings.from_summary(summary, table.unit)
    subject = Subject(
        table.model_,
        found,
        record,
        None if frame is not None or table.inputs_.time is None else _drawn_forecast(table),
        horizons=_drawn_horizons(table) if record is table.record_ else None,
        clocks=_clocks(table),
        whole_days=bool(table.inputs_.whole_days) or "day" not in (table.inputs_.calendar or ("", ()))[1],
        tables={"Inputs that repeat": _input_table(summary)} if summary["inputs"] else {},
    )
    write_together({path: render_page(subject, title).encode("utf-8")})
    return found


def _drawn_forecast(table):
    """Forecast of what comes next; None where there is none, which the findings tell."""
    ahead = table._forecast_ahead()
    if isinstance(ahead, str):
        return None
    place = to_milliseconds(ahead.times) if ahead.times.dtype.kind == "M" else ahead.times.to_numpy(dtype=float)
    return Future(place, ahead.mean, ahead.quantiles[:, 0], ahead.quantiles[:, -1])


def _drawn_horizons(table):
    """Errors by how far ahead, beside those of a seasonal naive forecast."""
    found = table.evaluation_
    if found is None or len(found.by_horizon) < 2:
        return None
    steps = np.array([(one.first + one.last) / 2 for one in found.by_horizon])
    rmse, naive = (np.array([getattr(one, of).rmse for one in found.by_horizon]) for of in ("scores", "naive"))
    return Horizons(steps, rmse, naive, found.step, found.season)


def _compared(table, frame, source, new_rows):
    """Summary and record with the rows of a table in place of those held out."""
    if new_rows is not None:
        check_flag(new_rows, "new_rows")
    rows = table._read_targets(frame, source)
    if rows.order is None and table.inputs_.time is not None:
        frame = numbered(frame, source)  # as the rows are
        columns = table.inputs_.read(frame, source)
        order = table.inputs_.read_order(frame, source, columns)
        rows = replace(rows, order=order.loc[rows.X.index])
    rows = rows.sorted()
    summary = table.summary()
    is_same = len(rows.y) == table.n_rows_ and np.isclose(rows.y.mean(), table.quality_["mean"], rtol=_SAME)
    if is_same if new_rows is None else not new_rows:
        return summary, table.record_
    scores = table._score(rows, "given to the report, which are new to the model")
    findings = list(summary["findings"])
    if table.scores_ is not None and scores.rmse > _WORSE * table.scores_.rmse:
        text = (
            f"Errors of the rows given to the report are {number(scores.rmse / table.scores_.rmse, 2)} times as large "
            "as those of the rows held out at the fit: has something changed since?"
        )
        findings.append({"level": NOTE, "about": "predictions", "text": text})
    changed = {"holdout": scores.to_json(), "explains_nothing": scores.explains_nothing, "findings": findings}
    if rows.order is not None and rows.order.isna().any():  # pictures are drawn along the time
        is_timed = rows.order.notna().to_numpy()
        rows = rows.take(is_timed) if is_timed.any() else replace(rows, order=None)
    predicted = predict_rows(table, rows, (LOW, HIGH))
    return summary | changed, rows.record(np.ones(len(rows.y), dtype=bool), predicted)


def _clocks(table):
    """Inputs of the model that are times, with the moment that they count from."""
    axis = table.inputs_.axis
    if axis is None or axis.kind == "number" or not table.inputs_.needs_time:
        return {}
    zero = np.datetime64(axis.zero.partition("+")[0], "ms")
    return {table.inputs_.time: Clock(float(zero.astype(np.int64)))}


def _input_table(summary):
    """Periods and length scales."""
    rows = [["input", "period", "length scale"]]
    for one in summary["inputs"]:
        bound = {"lower": " (least allowed)", "upper": " (largest allowed)"}.get(one["length_scale_bound"], "")
        period = with_error(one["period"], one["period_std"])
        scale = with_error(one["length_scale"], one["length_scale_std"])
        rows.append([one["name"], f"{period} ({one['period_is']})", f"{scale}{bound}"])
    return rows


PANEL, PANEL_LAYOUT = "PanelModel", 2  # files with several models
_LAYOUT = 4  # of the notes in the file


def load_regressor(path):
    """Read a regressor from a file, with one line for whatever is wrong with it.

    Parameters
    ----------
    path : str or path
        The file; of one with a model for each level of a column, the file, a colon and the level.

    Returns
    -------
    TorusGPRegressor
    """
    whole, sign, level = str(path).rpartition(":")
    if sign and not Path(path).exists() and Path(whole).is_file():
        return _load_level(Path(whole), level)
    check_file(path)
    if is_panel(path):
        content, _ = load_archive(path, PANEL, PANEL_LAYOUT)
        raise ValueError(
            f"{path} has a model for each of {len(content['levels'])} values of {content['by']!r}, which predict and "
            f"forecast take together. For one of them write {path}:{content['levels'][0]}."
        )
    return TorusGPRegressor.load(path)


def is_panel(path):
    """True if a file has several models."""
    return Path(path).is_file() and archive_kind(path) == PANEL


def check_file(path):
    """Raise if there is no such file."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not the file of a model.")


def _load_level(path, level):
    """The regressor of one level of a file with several."""
    content, arrays = load_archive(path, PANEL, PANEL_LAYOUT)
    if level not in content["levels"]:
        known = ", ".join(content["levels"])
        raise ValueError(f"{path} has no model of {content['by']} {level!r}; it has those of {known}.")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / path.name
        place.write_bytes(arrays[f"model_{content['levels'].index(level)}"].tobytes())
        return TorusGPRegressor.load(place)


_QUANTILES = (0.05, 0.5, 0.95)


@contextmanager
def _restored_on_failure(model):
    """Leave a model as it was if fitting it fails: what it reads and what it has learned belong together."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


class TableModel(BaseEstimator):
    """Gaussian-process regression on the columns of a table, whose inputs are given or chosen by their type.

    It is what ``torusgp fit`` and ``torusgp predict`` do, in Python: a :class:`~torusgp.TorusGPRegressor` that knows
    which columns its inputs are, evaluates itself on rows held out, and minds that the noise of neighbouring rows may
    be autocorrelated.

    Parameters
    ----------
    target : str
        Column to predict.
    periods : dict of str to number, "auto" or a sequence of these, optional
        Columns of numbers and the period of each, in its units. A column with several periods feeds several dimensions
        of the torus; "auto" is found and learned.
    calendar : dict of str to sequence of {"hour", "day", "week", "month", "quarter", "year"}, optional
        A column of times and the cycles that are read off it; see :class:`~torusgp.CalendarPhases`.
    inputs : sequence of str, optional
        Columns that the target depends on, by their type: numbers are lines; text, booleans and numbers with two values
        are categories; times are slow change and the cycles of day, week and year that they have gone through twice.
        Words for cycles ("hour" of the day, "weekday", "month", "quarter", "year", "minute") and "time" are inputs,
        too. Cycles of the time all interact if they are alone; beside others each cycle and each other input interacts
        with the fastest cycle, and any two others with each other. Without such cycles all inputs interact. Where there
        are more than three, slow change included, the data choose the frequencies; beside pairs all of them interact,
        too, where that clearly predicts blocks of rows left out better. If neither inputs, terms, periods nor calendar
        are given, all columns are inputs.
    terms : str or Expression, optional
        Which inputs interact: a formula such as ``"hour * temperature + hour * weekday + time"``. Inputs are those of
        ``inputs``; ``*`` is the product kernel, which contains the effects of each of its factors. Functions say what
        an input is: ``line(x)``, ``slope(x)`` for a straight line, which goes on in forecasts, ``category(x)``,
        ``circle(x, 360)``, ``circle(x, auto)`` for a period to be found and ``circle(x, 360, learned)``. Or an
        expression over names of columns, such as ``Slope("time") + Line("temperature")``, where cycles are called
        "hour_of_day" and so on. Time is in years of 365.25 days since the first row where it has dates, else in its own
        units. Inputs that are named elsewhere and not in terms are beside them, as without terms.
    lags : dict of str to sequence of str, optional
        Moving means of columns, such as ``{"temperature": ["3h", "24h"]}``: inputs called ``temperature_3h`` and
        ``temperature_24h``, over the time up to each row (min, h, d or w; numbers where numbers order the rows). They
        are not known where less than half of it has rows: at the beginning, and after gaps; such rows are left out of
        fits. Predictions know the last of the rows that were fitted.
    holidays : str, optional
        Country, or part of it, whose public holidays and the days before and after them are a category called
        "holidays", such as "AU-VIC"; needs the library of this name.
    time : str, optional
        Column of times or numbers that orders the rows; by default that of the calendar, or the only column of times
        where time is an input.
    timezone : str, optional
        Zone whose clock the calendar reads, such as "Australia/Melbourne". By default times stay in their own.
    whole_days : bool, default=True
        Whether the calendar's other cycles count whole days beside "day"; see :class:`~torusgp.CalendarPhases`.
    decimal : {"auto", ".", ","}, default="auto"
        Sign before the decimals of numbers that are text. "auto" takes a comma for it only where a file lets it mean
        nothing else.
    date_format : str, default="auto"
        How times that are text are written, such as ``%d/%m/%Y %H:%M``. "auto" reads ISO 8601 and dates with dots, such
        as 31.01.2024, whose day comes first.
    missing : str, number or sequence of these, optional
        Values that stand for nothing, such as ``["NA", -999]``. An empty field of a file, None and not a number always
        do, and no other value by itself: "NA" is a level of a category like any other, and an error among numbers.
    noise : str, optional
        Column of known standard deviations of the target, such as error bars: positive numbers. They decide how much
        each row counts. Their common factor is learned, since error bars are often too small or too large alike: the
        noise of a row has the standard deviation ``noise_factor_`` times its own. Predictions of tables that have this
        column have the noise of their rows, others that of a typical row (the root mean square of the rows fitted).
    likelihood : str or Likelihood, default="normal"
        Distribution of the target around the function, such as "negative_binomial" for counts; see
        :class:`~torusgp.TorusGPRegressor`.
    exposure : str, optional
        Column of exposures of counts: positive numbers. Rates are for each unit of it.
    noise_by : "auto" or sequence of str, optional
        Inputs that the variance of the noise depends on, such as "hour" or "temperature"; "auto" for all.
    errors : {"auto", "independent"}, default="auto"
        Whether errors of neighbouring rows may be autocorrelated. "auto" finds out where ``time`` orders the rows, and
        lets every frequency count as much as the errors at it allow; see :class:`~torusgp.CorrelatedNoise`. A product
        of circles then has the effects of single ones beside it. "independent" takes them for independent.
    kernel : str, default="auto"
        Family of the kernel; see :class:`~torusgp.TorusKernel`. "auto" is the squared exponential, but "matern52" for
        the product of all inputs that is beside pairs of them.
    n_components : int or "auto", default="auto"
        Largest number of components of the model.
    drop_missing : bool, default=False
        Leave out rows that miss an input, instead of raising an error that counts them. Rows without a target are
        always left out of fits.
    unit : str, default=""
        Unit of the target, which is said with its numbers.
    verbose : int or callable, default=0
        Print progress if positive; a callable takes each line of it.

    Attributes
    ----------
    model_ : TorusGPRegressor
        Fitted regressor. Its inputs are named after the columns of the table and the calendar's cycles.
    slopes_ : list of SlopeEstimate
        Slopes of the terms: each with its ``column``, its ``slope`` per year of dates or per unit of the column, and
        its standard error ``std``.
    inputs_ : TableInputs
        Where the inputs come from.
    unused_ : dict of str to str
        Columns of the table that are no inputs, and why.
    noise_factor_ : float or None
        What standard deviations of the column ``noise`` are to be multiplied with; one if they are right. None without
        such a column.
    timeline_ : Timeline or None
        Times of the rows that it was fitted to, and how they go on; None if nothing orders them.
    n_rows_ : int
        Number of rows that it was fitted to.
    n_dropped_ : int
        Number of rows that missed a value.
    n_effective_ : float
        Effective sample size, on average over the components.
    redundancy_ : float
        Number of rows over it.
    scores_ : Scores or None
        How predictions fared on rows that were held out.
    evaluation_ : Backtest or None
        The same by how far ahead they were, beside a seasonal naive forecast, if time orders the rows.
    is_refitted_ : bool
        Whether the model was fitted to these rows, too, after it was evaluated.
    findings_ : list of Finding
        Problems and notes, each with its ``level``, what it is ``about`` and its ``text``: all warnings of the fit and
        what is less than one, such as gaps.
    quality_ : dict
        The rows in numbers.
    record_ : Record
        Rows that pictures draw, with the predictions of those held out.

    Examples
    --------
    Eight weeks, hour by hour, whose evenings and weekends differ; the last fifth is held out to evaluate the forecast:

    >>> import numpy as np
    >>> import pandas as pd
    >>> time = pd.date_range("2024-01-01", periods=8 * 168, freq="h")
    >>> busy = np.where(time.day_of_week < 5, 2.0, 1.0) * np.cos(2 * np.pi * (time.hour - 19) / 24)
    >>> frame = pd.DataFrame({"time": time, "demand": 5 + busy + np.random.default_rng(0).normal(0, 0.3, len(time))})
    >>> model = TableModel("demand", calendar={"time": ["day", "week"]}).fit_and_evaluate(frame)
    >>> model.scores_.n_rows, model.scores_.r2 > 0.9
    (269, True)
    >>> later = pd.DataFrame({"time": ["2024-03-01 19:00", "2024-03-02 19:00"]})  # a Friday, a Saturday
    >>> forecast = model.predict(later)
    >>> forecast.columns.tolist()
    ['mean', 'std', 'q05', 'q50', 'q95']
    >>> bool(np.allclose(forecast["mean"], [7, 6], atol=0.3))
    True
    """

    def __init__(
        self,
        target,
        periods=None,
        calendar=None,
        *,
        inputs=None,
        terms=None,
        lags=None,
        holidays=None,
        time=None,
        timezone=None,
        whole_days=True,
        decimal="auto",
        date_format="auto",
        missing=None,
        noise=None,
        likelihood="normal",
        exposure=None,
        noise_by=None,
        errors="auto",
        kernel="auto",
        n_components="auto",
        drop_missing=False,
        unit="",
        verbose=0,
    ):
        self.target = target
        self.periods = periods
        self.calendar = calendar
        self.inputs = inputs
        self.terms = terms
        self.lags = lags
        self.holidays = holidays
        self.time = time
        self.timezone = timezone
        self.whole_days = whole_days
        self.decimal = decimal
        self.date_format = date_format
        self.missing = missing
        self.noise = noise
        self.likelihood = likelihood
        self.exposure = exposure
        self.noise_by = noise_by
        self.errors = errors
        self.kernel = kernel
        self.n_components = n_components
        self.drop_missing = drop_missing
        self.unit = unit
        self.verbose = verbose

    n_rows_: int
    n_effective_: float

    # Fitting -----------------------------------------------------------------------------------------------------

    def fit(self, frame, source=TABLE):
        """Fit to the rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            The table, or its file: CSV or Parquet.
        source : str or Path, optional
            File that it was read from, where errors find the line of a value.

        Returns
        -------
        self
        """
        with _restored_on_failure(self):
            frame, source = to_table(frame, source, self.missing)
            rows = self._read(frame, source)
            self.scores_, self.evaluation_, self.is_refitted_ = None, None, False
            with kept_warnings() as told:
                self._fit(rows)
            self.record_ = rows.record()
            conclude(self, frame, rows, told)
        return self

    def fit_and_evaluate(self, frame, holdout=0.2, *, start=None, refit=True, random_state=0, source=TABLE):
        """Fit to some rows, evaluate the predictions of the others, and then fit to all.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            The table, or its file.
        holdout : float, default=0.2
            Share of the rows to hold out: the last in time, or random ones where nothing orders them. Random rows whose
            inputs are equal are held out together, unless they are the cells of categories; of rows that are there
            twice one is evaluated.
        start : str or number, optional
            Instead of a share: hold out rows from this time on.
        refit : bool, default=True
            Fit to all rows afterwards. What was evaluated is the model that had not seen the rows held out.
        random_state : int, default=0
            Determines random rows.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        self
        """
        check_flag(refit, "refit")
        with _restored_on_failure(self):
            frame, source = to_table(frame, source, self.missing)
            rows = self._read(frame, source)
            repeats = None if rows.order is not None else Repeats.of_rows(rows, self.inputs_)
            held, words = hold_out(len(rows.y), rows.order, holdout, start, random_state, repeats)
            n_left = int(np.sum(~held))
            if n_left < FEWEST_ROWS:
                raise TableError(
                    f"{held.sum()} of {len(held)} rows are held out, which leaves {n_left} to learn from; "
                    f"{FEWEST_ROWS} or more are needed. To fit to all rows without evaluation, use "
                    f"{word('without_holdout')}."
                )
            with kept_warnings() as told:
                self._fit(rows.take(~held))
            self._report("predicting the rows held out")
            counted = held if repeats is None else held & ~repeats.copies  # a copy would count as evidence
            self.evaluation_, tested, ahead = None, rows.take(counted), rows.order is not None
            predicted = predict_rows(self, tested, (LOW, HIGH), scored=True)
            if ahead:
                fold, about = Fold(n_left, len(rows.y)), {"horizon": words, "words": words}
                self.evaluation_ = Backtest.from_folds(self, rows, [fold], [predicted], **about)
                self.scores_ = self.evaluation_.scores
            else:
                likelihood, constant = check_likelihood(self.likelihood), np.mean(rows.y[~held])
                self.scores_ = predicted.score(tested.y, words, likelihood=likelihood, constant=constant)
            shown = counted | ~held
            self.record_ = rows.take(shown).record(counted[shown], predicted)
            self.is_refitted_ = bool(refit)
            if refit:  # what is wrong with the final model is told of that one
                self._report("fitting to all rows")
                with kept_warnings() as told:
                    self._fit(rows, self.model_)
            conclude(self, frame, rows if refit else rows.take(~held), told)
        return self

    def _read(self, frame, source):
        """Checked rows, in order."""
        frame = numbered(frame, source)
        self._check_options()
        inputs = choose_inputs(self._options(), frame, source)
        self._check_parameters(inputs)
        y = inputs.read_numbers(frame, self.target, source)
        columns = inputs.read(frame, source)
        order = inputs.read_order(frame, source, columns)
        scale = inputs.read_scale(frame, self._scale_column, source)
        inputs = inputs.with_history(frame, source, order)
        lagged = {lag.name: columns[lag.name] for lag in inputs.lags}
        own = [column for name, column in columns.items() if name not in lagged]
        has_target = y.notna().to_numpy()  # rows without one are left out: nothing can be learned from them
        needed = [y, *own, *unless_input(order, columns), *unless_input(scale, columns)]
        complete = has_target.copy()
        complete[has_target] = find_complete([column[has_target] for column in needed], source, self.drop_missing)
        for column in lagged.values():  # of the first rows nothing is known of the time before
            complete = complete & column.notna().to_numpy()
        self.n_dropped_ = int(np.sum(~complete))
        if complete.sum() < FEWEST_ROWS:
            raise TableError(f"{source} has {complete.sum()} complete rows; {FEWEST_ROWS} or more are needed.")
        if inputs.calendar is not None:
            inputs = replace(inputs, zone=zone_name(columns[inputs.calendar[0]]))
        order = None if order is None else order[complete]
        inputs = inputs.with_axis(order)
        X = inputs.to_inputs({name: column[complete] for name, column in columns.items()}, order, source)
        inputs.check_cycles(X, source)
        self.inputs_ = replace(inputs, model=within(inputs.model, X))
        scale = None if scale is None else scale[complete].to_numpy()
        return Rows(X, y[complete].to_numpy(), order, scale, source).sorted()

    def _check_options(self):
        """Raise if a parameter of a model of a table is wrong, whatever the inputs are."""
        check_reading(self.decimal, self.date_format, self.missing, self.drop_missing)
        check_flag(self.whole_days, "whole_days")
        check_verbose(self.verbose)
        if not isinstance(self.target, str) or not self.target:
            raise ValueError(f"target must be the name of a column, got {self.target!r}.")
        if self.noise is not None and (not isinstance(self.noise, str) or self.noise == self.target):
            raise ValueError(f"noise must be the name of a column other than the target, got {self.noise!r}.")
        if not (isinstance(self.n_components, str) and self.n_components == "auto"):
            check_count(self.n_components, "n_components")
        for name in ("time", "timezone", "exposure", "holidays"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ValueError(f"{name} must be text or None, got {value!r}.")
        given = self.noise_by
        is_word = isinstance(given, str)
        names = given if isinstance(given, Sequence | Set) and not is_word else [None]
        if given is not None and not (is_word and given == "auto") and not all(isinstance(one, str) for one in names):
            raise ValueError(f"noise_by must be 'auto' or a sequence of names of inputs, got {given!r}.")
        if not isinstance(self.errors, str) or self.errors not in ("auto", "independent"):
            raise ValueError(f"errors must be 'auto' or 'independent', got {self.errors!r}.")

    def _check_parameters(self, inputs):
        """Raise if a parameter of a model of a table does not fit the inputs, or the others."""
        if self.target in [*inputs.columns, *([inputs.time] if inputs.needs_time else [])]:
            raise ValueError(f"Column {self.target!r} is the target, so it cannot be an input.")
        likelihood = check_likelihood(self.likelihood)
        for name, meaning in (("noise", "noise_scale"), ("exposure", "exposure")):
            if getattr(self, name) is not None and likelihood.takes != meaning:
                raise ValueError(f"likelihood={likelihood.name!r} has no {name}: leave out the column of it.")
        if self.noise_by is not None and len(self.noise_by):
            if likelihood.takes != "noise_scale" or self.noise is not None:
                raise ValueError("noise_by is for targets with normal or Student's noise of unknown size.")
            unknown = [name for name in inputs.noise_names(self.noise_by) if name not in inputs.names]
            if unknown:
                names = ", ".join(inputs.names)
                raise ValueError(f"noise_by names {unknown[0]!r}, which is no input: they are {names}.")

    def _options(self):
        """Choices about the inputs."""
        names = [one.name for one in fields(Options) if hasattr(self, one.name)]
        return Options(
            **{name: getattr(self, name) for name in names},
            reserved=tuple(one for one in (self.noise, self.exposure) if one is not None),
            fills_levels=not self.drop_missing,
        )

    def _fit(self, rows, before=None):
        """Fit to rows, perhaps from where a fit to others has ended."""
        if np.ptp(rows.y) == 0:
            raise TableError(f"Column {self.target!r} is {rows.y[0]:g} in all {len(rows.y)} rows to learn from.")
        self._typical_scale = 1.0 if self.noise is None else float(np.sqrt(np.mean(rows.scale**2)))
        if self.noise is not None:  # the noise variance that is learned is then that of a typical row
            rows = replace(rows, scale=rows.scale / self._typical_scale)
        share = None if before is None else self.n_effective_ / self.n_rows_
        self.model_, self.n_effective_ = fit_regressor(self, rows, before, share)
        self.n_rows_, self.redundancy_ = len(rows.y), len(rows.y) / self.n_effective_
        self._set_noise_factor()
        with limited_blas(len(self.model_.coef_)):
            self.slopes_ = estimate_slopes(self.model_, self.inputs_)
            self._part_stds = part_stds(self.model_, rows.X)
        for slope in self.slopes_:
            self._report(f"slope {slope.slope:.4g} ± {slope.std:.2g} per {slope.per}")
        self.timeline_ = None if rows.order is None else Timeline.from_order(rows.order)
        self.__dict__.pop("_summary", None)
        return self

    def _set_noise_factor(self):
        factor = float(np.sqrt(self.model_.noise_variance_) / self._typical_scale)
        self.noise_factor_ = None if self.noise is None else factor

    def _report(self, line):
        if callable(self.verbose):
            self.verbose(line)
        elif self.verbose:
            print(f"[torusgp] {line}")

    # Prediction --------------------------------------------------------------------------------------------------

    def predict(self, frame, quantiles=_QUANTILES, *, source=TABLE):
        """Predict the target for the rows of a table.

        Where errors are autocorrelated, rows after the last one, or in gaps, are predicted given those around them.
        Rows without a time are not, where no input needs it.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            A table with the columns that the model has as inputs, or its file.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Quantiles of the predicted distribution of an observation.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        pandas.DataFrame
            Columns ``mean``, ``std`` (of an observation) and one for each quantile, such as ``q05``, on the index of
            the table; without rows that miss an input, if ``drop_missing`` allows them.
        """
        import pandas

        names = quantile_names(quantiles)
        frame, source = to_table(frame, source, self.missing)
        rows, complete = self._read_inputs(frame, source)
        predicted = predict_rows(self, rows, quantiles)
        values = {"mean": predicted.mean, "std": predicted.std, **dict(zip(names, predicted.shown.T, strict=True))}
        return pandas.DataFrame(values, index=frame.index[complete])

    def forecast(self, horizon=None, future=None, quantiles=_QUANTILES, *, source=TABLE):
        """Forecast the rows that come after those of the table.

        Times go on as they do in the table: with its step, on its clock, and without hours or days of the week at which
        it has no rows.

        Parameters
        ----------
        horizon : int, str, timedelta or datetime, optional
            How far ahead: a number of rows, a span such as "24h", "28d", "4w" or "6mo", or the last time, such as
            "2025-01-31". By default to the end of ``future``.
        future : pandas.DataFrame, str or Path, optional
            A table of the time to come, or its file, with the inputs that do not follow from the time, such as a
            weather forecast. Where times have no regular step: the times to forecast.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Quantiles of the predicted distribution of an observation.
        source : str or Path, optional
            File that the table of the future was read from.

        Returns
        -------
        Forecast
        """
        check_is_fitted(self, "model_")
        levels = check_levels(quantiles)
        frame, times, source = future_table(self, horizon, future, source)
        rows, _ = self._read_inputs(frame, source, in_order=True)
        predicted = predict_rows(self, rows, levels)
        return Forecast(
            self.target,
            times.reset_index(drop=True),
            predicted.mean,
            predicted.std,
            levels,
            predicted.shown,
            draw=lambda number, state: draw_rows(self, rows, number, state),
        )

    def evaluate(self, frame, *, source=TABLE):
        """Compare predictions with the targets of a table that the model has not seen.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            A table with inputs and target, or its file. Rows that miss the target are left out.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        Scores
        """
        frame, source = to_table(frame, source, self.missing)
        return self._score(self._read_targets(frame, source), f"of {source}")

    def _score(self, rows, words, **others):
        """Scores of predictions of single rows."""
        predicted = predict_rows(self, rows, scored=True)
        return predicted.score(rows.y, words, likelihood=check_likelihood(self.likelihood), **others)

    def backtest(
        self,
        frame,
        horizon,
        origins=10,
        *,
        every=None,
        refit=True,
        quantiles=_QUANTILES,
        n_jobs=None,
        source=TABLE,
    ):
        """Forecast the past from several origins, and compare with what came, beside a seasonal naive forecast.

        The model itself stays as it is: each forecast comes from a fit to the rows up to its origin.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            The table, or its file.
        horizon : int, str or timedelta
            How far ahead: a number of rows, or a span such as "24h" or "28d".
        origins : int or sequence, default=10
            Number of origins, so that the last forecast ends with the rows; or the last times that are known.
        every : int, str or timedelta, optional
            Distance of origins; by default the horizon.
        refit : bool, int, str or timedelta, default=True
            Whether to fit at every origin, or only at the first; or after every so many origins, or after a span such
            as "7d". In between, forecasts start from the rows up to their origin with what was learned before.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Quantiles in the table of forecasts.
        n_jobs : int, optional
            Number of processes; by default one for each core where a fit takes more than some seconds.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        Backtest
        """
        table = clone(self)
        rows = table._read(*to_table(frame, source, self.missing))
        return backtest_rows(table, rows, horizon, origins, every, refit, quantiles, n_jobs)

    @property
    def unused_(self):
        """Columns of the table that are no inputs, and why."""
        return dict(self.inputs_.unused)

    @property
    def _scale_column(self):
        """Column of what is known of rows beside the target: standard deviations, or exposures."""
        return self.noise if self.noise is not None else self.exposure

    def read(self, frame, *, source=TABLE):
        """Inputs and targets of the regressor, from a table.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            A table with inputs and target, or its file. Rows that miss the target are left out.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        X : pandas.DataFrame
        y : ndarray
        """
        frame, source = to_table(frame, source, self.missing)
        rows = self._read_targets(frame, source)
        return rows.X, rows.y

    def _read_targets(self, frame, source):
        """Rows whose target is known."""
        rows, complete = self._read_inputs(frame, source)
        y = self.inputs_.read_numbers(numbered(frame, source), self.target, source).to_numpy()[complete]
        return replace(rows, y=y).take(~np.isnan(y))

    def _read_inputs(self, frame, source, in_order=False):
        """Rows without targets, and which are complete.

        Their order is read if inputs need it, or if asked for. It is, too, if noise follows from other rows and the
        table has times, of which some may then be missing.
        """
        check_is_fitted(self, "model_")
        frame = numbered(frame, source)
        columns = self.inputs_.read(frame, source)
        in_order = in_order or self.inputs_.needs_order
        order = self._read_order(frame, source, columns) if in_order or self._has_times(frame) else None
        needed = [*columns.values(), *(unless_input(order, columns) if in_order else [])]
        complete = find_complete(needed, source, self.drop_missing)
        order = None if order is None else order[complete]
        X = self.inputs_.to_inputs({name: column[complete] for name, column in columns.items()}, order, source)
        name = self._scale_column
        has_scale = name in frame.columns and frame[name].notna().any()
        scale = self.inputs_.read_scale(frame, name, source) if has_scale else None
        return Rows(
            X,
            np.full(len(X), np.nan),
            order,
            None if scale is None else scale[complete].fillna(self._typical_scale).to_numpy(),
        ), complete

    def _has_times(self, frame):
        """True if a table has times from which noise can follow."""
        name = self.inputs_.time
        return continues_noise(self) and name in frame.columns and frame[name].notna().any()

    def _read_order(self, frame, source, columns):
        """Column that orders the rows, checked to be like that of the fit."""
        order = self.inputs_.read_order(frame, source, columns)
        if order is not None:
            check_order(order, self.timeline_, source)
        return order

    def read_as(self, *, decimal=None, date_format=None, missing=None, drop_missing=None):
        """Read the tables that follow in another way than those that were fitted.

        Parameters
        ----------
        decimal, date_format, missing, drop_missing : optional
            See :class:`TableModel`; by default as before.

        Returns
        -------
        self
        """
        written = {"decimal": decimal, "date_format": date_format}
        given = {**written, "missing": missing, "drop_missing": drop_missing}
        changes = {name: value for name, value in given.items() if value is not None}
        check_reading(**{name: changes.get(name, getattr(self, name)) for name in given})
        self.inputs_ = replace(self.inputs_, **{name: one for name, one in changes.items() if name in written})
        return self.set_params(**changes)

    # What was learned --------------------------------------------------------------------------------------------

    def summary(self):
        """Content and quality of the model.

        Returns
        -------
        dict
            Of numbers, text and lists, for JSON; None stands for what is not known.
        """
        check_is_fitted(self, "model_")
        if not hasattr(self, "_summary"):
            with limited_blas(self.model_.index_set_.n_components):
                self._summary = self._summarise()
        return self._summary

    def _summarise(self):
        """Content and quality of the model; see :meth:`summary`."""
        model, inputs = self.model_, self.inputs_
        fitted, scales = model.fitted_, length_scales(model.fitted_)
        explains_nothing = self.scores_ is not None and self.scores_.explains_nothing
        # the curvature at a peak of noise is no error of a period
        is_peak = explains_nothing or any(one.bound == "lower" for one in scales[0])
        period_errors = np.atleast_1d(np.full(1, np.nan) if is_peak else getattr(model, "period_std_", np.nan))
        axes = [axis for axis, one in enumerate(fitted.prior.torus.axes) if one.kind == "circle"]
        errors = np.broadcast_to(period_errors, len(axes)) if len(period_errors) == 1 else period_errors
        circles = [_circle(model, scales, axis, error) for axis, error in zip(axes, errors, strict=True)]
        return to_plain(
            {
                "target": self.target,
                "unit": self.unit,
                "calendar": None if self.inputs_.calendar is None else self.inputs_.calendar[0],
                "clock": self.inputs_.timezone or self.inputs_.zone or None,
                "order": self.inputs_.time,
                "rows": {
                    "fitted": self.n_rows_,
                    "dropped": self.n_dropped_,
                    "effective": self.n_effective_,
                    "redundancy": self.redundancy_,
                    "errors": self._kind_of_errors(),
                },
                "inputs": circles,
                "kernel": _families(inputs.model),
                "n_components": len(model.coef_),
                "orders": sorted(frequencies_by_order(fitted).items()),
                "selection": selection_summary(model).to_dict() if model.fit_.learned.rounds else None,
                "truncation_error": model.truncation_error_,
                "has_slow_change": SLOW_CHANGE in model.term_names_,
                "slow_change_std": self._part_stds.get(SLOW_CHANGE),
                "terms": self._summarise_terms(scales),
                "unused": [{"column": column, "reason": reason} for column, reason in inputs.unused],
                "slopes": [slope.to_json() for slope in self.slopes_],
                "is_seasonal": _is_seasonal(fitted),
                "function_std": function_std(model) if _is_seasonal(fitted) else self._part_stds[None],
                "signal_std": np.sqrt(model.signal_variance_),
                "noise_std": np.sqrt(model.noise_variance_),
                "noise_column": self.noise,
                "noise_by": inputs.names if self.noise_by == "auto" else list(self.noise_by or []),
                "likelihood": likelihood_to_json(model.likelihood_),
                "noise_factor": self.noise_factor_,
                "log_evidence": model.log_marginal_likelihood_,
                "holdout": None if self.scores_ is None else self.scores_.to_json(),
                "naive": None if self.evaluation_ is None else _naive(self.evaluation_),
                "explains_nothing": explains_nothing,
                "is_refitted": self.is_refitted_,
                "attribution": [] if explains_nothing else attribution(model),
                "forecast": self._describe_forecast(),
                "quality": self.quality_,
                "findings": [asdict(one) for one in self.findings_],
            }
        )

    def _summarise_terms(self, scales):
        """Terms beside what repeats: how much they vary over the rows, and their length scales."""
        fitted, found = self.model_.fitted_, []
        for term, own in list(zip(fitted.prior.terms, scales, strict=True))[_is_seasonal(fitted) :]:
            if term.name == SLOW_CHANGE:  # which is told beside them
                continue
            axes = [fitted.prior.torus.axes[one.axis] for one in own]
            found.append(
                {
                    "name": term.name,
                    "std": self._part_stds[term.name],
                    "length_scales": [
                        {"axis": axis.name, "kind": axis.kind, "value": one.value, "std": one.std, "bound": one.bound}
                        for axis, one in zip(axes, own, strict=True)
                        if axis.kind != "category"
                    ],
                }
            )
        return found

    def _kind_of_errors(self):
        """Kind of errors of neighbouring rows: autocorrelated, not clearly so, or independent where nobody looked."""
        if self.inputs_.time is None or self.errors == "independent":
            return "independent"
        found = self.model_.fitted_.noise_process is not None or self.redundancy_ > 1
        return "autocorrelated" if found else "not clearly autocorrelated"

    def _forecast_ahead(self):
        """Forecast of as many rows as were held out.

        Returns
        -------
        Forecast or str
            Why there is none, where the time alone does not tell the inputs, or nothing orders the rows.
        """
        n_unseen = int(self.record_.is_unseen.sum())
        horizon = min(max(1, n_unseen or round(_SHARE * self.n_rows_)), _MOST_ROWS)
        try:
            return self.forecast(horizon, quantiles=(LOW, 0.5, HIGH))
        except TableError as error:
            return str(error)

    def _describe_forecast(self):
        """The forecast in a few numbers, for JSON; None where nothing orders the rows.

        Returns
        -------
        dict or None
            Number of rows, first and last time, mean, and the lowest and highest value with their times and 95 %
            intervals; or the reason why there is none.
        """
        if self.inputs_.time is None:
            return None
        ahead = self._forecast_ahead()
        if isinstance(ahead, str):
            return {"reason": ahead}
        lowest, highest = int(np.argmin(ahead.mean)), int(np.argmax(ahead.mean))
        margin = float(np.median(ahead.quantiles[:, -1] - ahead.quantiles[:, 0]) / 2)

        def at(i):
            low, _, high = ahead.quantiles[i].tolist()
            return {"time": show_moment(ahead.times.iloc[i]), "mean": float(ahead.mean[i]), "low": low, "high": high}

        return {
            "rows": len(ahead),
            "mean": float(np.mean(ahead.mean)),
            "margin": margin,
            "first": at(0),
            "last": at(len(ahead) - 1),
            "lowest": at(lowest),
            "highest": at(highest),
        }

    def findings(self):
        """Findings from the model's summary: verdict, figures, what matters, problems and notes.

        Returns
        -------
        torusgp.views.findings.Findings
        """
        return Findings.from_summary(self.summary(), self.unit)

    def report(self, path, frame=None, *, new_rows=None, title=None, source=TABLE):
        """Write a page about the model, to open in a browser.

        Parameters
        ----------
        path : str or Path
            File to write, such as ``report.html``.
        frame : pandas.DataFrame, str or Path, optional
            A table with inputs and target to compare predictions with, or its file, instead of the rows held out.
        new_rows : bool, optional
            Whether the model has not seen these rows; by default that is found out.
        title : str, optional
            Heading of the page.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        Path
        """
        write_page(self, path, frame, new_rows=new_rows, title=title, source=source)
        return Path(path)

    def plot(self, ax=None):
        """Draw the target with the predictions of the rows held out.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.

        Returns
        -------
        RecordDisplay
        """
        check_is_fitted(self, "model_")
        return RecordDisplay.from_estimator(self).plot(ax)

    def _html_repr(self):
        """HTML for notebooks: the findings, and scikit-learn's diagram below; the diagram alone before the fit."""
        said = short_form(self.findings()) if hasattr(self, "model_") else ""
        return f"{said}{super()._html_repr()}"

    # Storage -----------------------------------------------------------------------------------------------------

    def save(self, path, notes=None):
        """Write the model to a file that :meth:`load` and :meth:`torusgp.TorusGPRegressor.load` read.

        Parameters
        ----------
        path : str or path
            File to write. It appears as a whole or not at all.
        notes : dict, optional
            More that JSON can hold, such as where the table came from; ``notes_`` of a loaded model.
        """
        summary = self.summary()  # first: it says so if the model is not fitted
        table = {
            "layout": _LAYOUT,
            "parameters": to_plain(self.get_params() | {"verbose": 0, "terms": to_json(self.terms)}),
            "inputs": self.inputs_.to_json(),
            "slopes": [slope.to_json() for slope in self.slopes_],
            "typical_scale": self._typical_scale,
            "timeline": None if self.timeline_ is None else self.timeline_.to_json(),
            "evaluation": None if self.evaluation_ is None else to_plain(self.evaluation_.to_json()),
            "summary": summary,
            "record": self.record_.to_json(),
            "notes": {} if notes is None else notes,
        }
        self.model_.save(path, notes={"table": table})

    @classmethod
    def load(cls, path):
        """Read a model written by :meth:`save`.

        Parameters
        ----------
        path : str or path
            File to read.

        Returns
        -------
        TableModel
        """
        return cls.from_regressor(load_regressor(path), path)

    @classmethod
    def from_regressor(cls, model, path):
        """Table model of a regressor whose notes say what its inputs are.

        Parameters
        ----------
        model : TorusGPRegressor
            As :meth:`save` wrote it.
        path : str or path
            Its file, for errors.

        Returns
        -------
        TableModel
        """
        content = model.notes_.get("table") if isinstance(model.notes_, dict) else None
        if content is None:
            raise ValueError(
                f"{path} holds a TorusGPRegressor that does not know the columns of a table: it was not written by "
                "torusgp fit. Use it from Python with TorusGPRegressor.load."
            )
        with decoding(path):
            check_layout(path, content["layout"], _LAYOUT)
            table = cls(**(content["parameters"] | {"terms": from_json(content["parameters"]["terms"])}))
            table.model_, table.inputs_ = model, TableInputs.from_json(content["inputs"])
            table.slopes_ = [SlopeEstimate(**one) for one in content["slopes"]]
            stored_names = list(getattr(model, "feature_names_in_", ()))
            if table.inputs_.names != stored_names:
                raise ValueError(f"its table has the inputs {table.inputs_.names}, its regressor {stored_names}.")
            table._typical_scale = content["typical_scale"]
            table.timeline_ = None if content["timeline"] is None else Timeline.from_json(content["timeline"])
            table._set_noise_factor()
            table._summary, table.notes_ = content["summary"], content["notes"]
            rows, holdout = table._summary["rows"], table._summary["holdout"]
            table.n_rows_, table.n_dropped_ = rows["fitted"], rows["dropped"]
            table.redundancy_, table.n_effective_ = rows["redundancy"], rows["effective"]
            table.scores_ = None if holdout is None else Scores.from_json(holdout)
            evaluation = content["evaluation"]
            table.evaluation_ = None if evaluation is None else Backtest.from_json(evaluation)
            table.is_refitted_ = table._summary["is_refitted"]
            table.quality_ = table._summary["quality"]
            table.findings_ = [Finding(**one) for one in table._summary["findings"]]
            table.record_ = Record.from_json(content["record"])
        return table
