"""Regression on the columns of a table."""

from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.schedule import limited_blas
from torusgp.tables.forecasting import Timeline, quantile_name
from torusgp.tables.models._backtesting import FEWEST_ROWS, backtest_rows, evaluate_last
from torusgp.tables.models._choice import Options, choose_inputs
from torusgp.tables.models._files import from_notes, load_regressor, to_notes
from torusgp.tables.models._forecasting import forecast_table
from torusgp.tables.models._holdout import hold_out
from torusgp.tables.models._page import write_page
from torusgp.tables.models._parameters import check_parameters
from torusgp.tables.models._predictions import predict_rows
from torusgp.tables.models._record import make_record
from torusgp.tables.models._regressors import fit_regressor
from torusgp.tables.models._rows import TABLE, Rows, find_complete, numbered, read_noise, to_table, unless_input
from torusgp.tables.models._slopes import estimate_slopes
from torusgp.tables.models._summary import part_stds, summarise
from torusgp.tables.models._warnings import conclude, kept_warnings
from torusgp.tables.models._words import word
from torusgp.tables.reading import TableError, zone_name
from torusgp.views.findings import Findings
from torusgp.views.plotting import RecordDisplay
from torusgp.views.report._page import short_form

_QUANTILES = (0.05, 0.5, 0.95)


@contextmanager
def _all_or_nothing(model):
    """Leave a model as it was if fitting it fails: what it reads and what it has learned belong together."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


class TableModel(BaseEstimator):
    """Gaussian-process regression on the columns of a table, which repeat with known or unknown periods.

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
        too. All of them may interact; where there are more than three, the data choose the frequencies. If neither
        inputs, terms, periods nor calendar are given, all columns are inputs.
    terms : str or Expression, optional
        Which inputs interact: a formula such as ``"hour * temperature + hour * weekday + time"``. Inputs are those of
        ``inputs``; ``*`` is the product kernel, which contains the effects of each of its factors. Functions say what
        an input is: ``line(x)``, ``slope(x)`` for a straight line, which goes on in forecasts, ``category(x)``,
        ``circle(x, 360)``, ``circle(x, auto)`` for a period to be found and ``circle(x, 360, learned)``. Or an
        expression over names of columns, such as ``Slope("time") + Line("temperature")``, where cycles are called
        "hour_of_day" and so on. Time is in years of 365.25 days since the first row where it has dates, else in its own
        units. Inputs that are named elsewhere and not in terms make up one product beside them.
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
    noise : str, optional
        Column of known standard deviations of the target, such as error bars: positive numbers. They decide how much
        each row counts. Their common factor is learned, since error bars are often too small or too large alike: the
        noise of a row has the standard deviation ``noise_factor_`` times its own. Predictions of tables that have this
        column have the noise of their rows, others that of a typical row (the root mean square of the rows fitted).
    likelihood : str or Likelihood, default="normal"
        How the target follows from the function, such as "negative_binomial" for counts; see
        :class:`~torusgp.TorusGPRegressor`.
    exposure : str, optional
        Column of exposures of counts: positive numbers. Rates are for each unit of it.
    noise_by : sequence of str, optional
        Inputs that the variance of the noise depends on, such as "hour" or "temperature".
    errors : {"auto", "independent"}, default="auto"
        Whether errors of neighbouring rows may be autocorrelated. "auto" finds out where ``time`` orders the rows, and
        lets every frequency count as much as the errors at it allow; see :class:`~torusgp.CorrelatedNoise`. A product
        of circles then has the effects of single ones beside it. "independent" takes them for independent.
    kernel : str, default="squared_exponential"
        Family of the kernel; see :class:`~torusgp.TorusKernel`.
    n_components : int or "auto", default="auto"
        Largest number of components of the model.
    drop_missing : bool, default=False
        Leave out rows that miss a value, instead of raising an error that counts them.
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
        what is not worth one, such as gaps.
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
        noise=None,
        likelihood="normal",
        exposure=None,
        noise_by=None,
        errors="auto",
        kernel="squared_exponential",
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
        with _all_or_nothing(self):
            frame, source = to_table(frame, source)
            rows = self._read(frame, source)
            self.scores_, self.evaluation_, self.is_refitted_ = None, None, False
            with kept_warnings() as told:
                self._fit(rows)
            self.record_ = make_record(self, rows)
            conclude(self, frame, rows, told)
        return self

    def fit_and_evaluate(self, frame, holdout=0.2, *, start=None, refit=True, random_state=0, source=TABLE):
        """Fit to some rows, evaluate the predictions of the others, and then fit to all.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            The table, or its file.
        holdout : float, default=0.2
            Share of the rows to hold out: the last in time, or random ones where nothing orders them.
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
        with _all_or_nothing(self):
            frame, source = to_table(frame, source)
            rows = self._read(frame, source)
            held, words = hold_out(len(rows.y), rows.order, holdout, start, random_state)
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
            self.evaluation_ = None
            if rows.order is None:
                constant = np.mean(rows.y[~held])
                self.scores_ = self._score(rows.take(held), words, constant=constant)
            else:
                self.evaluation_ = evaluate_last(self, rows, n_left, words)
                self.scores_ = self.evaluation_.scores
            self.record_ = make_record(self, rows, held, ahead=rows.order is not None)
            self.is_refitted_ = bool(refit)
            if refit:  # what is wrong with the final model is told of that one
                self._report("fitting to all rows")
                with kept_warnings() as told:
                    self._fit(rows)
            conclude(self, frame, rows if refit else rows.take(~held), told)
        return self

    def _read(self, frame, source):
        """Checked rows, in order."""
        frame = numbered(frame, source)
        inputs = choose_inputs(self._options(), frame, source)
        check_parameters(self, inputs)
        y = inputs.read_numbers(frame, self.target, source)
        columns = inputs.read(frame, source)
        order = inputs.read_order(frame, source, columns)
        scale = read_noise(frame, self._scale_column, source, inputs)
        inputs = inputs.with_history(frame, source, order)
        lagged = {lag.name: columns[lag.name] for lag in inputs.lags}
        own = [column for name, column in columns.items() if name not in lagged]
        needed = [y, *own, *unless_input(order, columns), *unless_input(scale, columns)]
        complete = find_complete(needed, source, self.drop_missing)
        for column in lagged.values():  # of the first rows nothing is known of the time before
            complete = complete & column.notna().to_numpy()
        self.n_dropped_ = int(np.sum(~complete))
        if complete.sum() < FEWEST_ROWS:
            raise TableError(f"{source} has {complete.sum()} complete rows; {FEWEST_ROWS} or more are needed.")
        if inputs.calendar is not None:
            inputs = replace(inputs, zone=zone_name(columns[inputs.calendar[0]]))
        order = None if order is None else order[complete]
        self.inputs_ = inputs = inputs.with_axis(order)
        X = inputs.to_inputs({name: column[complete] for name, column in columns.items()}, order, source)
        inputs.check_cycles(X, source)
        scale = None if scale is None else scale[complete].to_numpy()
        return Rows(X, y[complete].to_numpy(), order, scale, source).sorted()

    def _options(self):
        """What was said of the inputs."""
        names = [one.name for one in fields(Options) if hasattr(self, one.name)]
        return Options(
            **{name: getattr(self, name) for name in names},
            family=self.kernel,
            reserved=tuple(one for one in (self.noise, self.exposure) if one is not None),
            learns_sets=check_likelihood(self.likelihood).name in ("normal", "log_normal"),
            fills_levels=not self.drop_missing,
        )

    def _fit(self, rows):
        if np.ptp(rows.y) == 0:
            raise TableError(f"Column {self.target!r} is {rows.y[0]:g} in all {len(rows.y)} rows to learn from.")
        self._typical_scale = 1.0 if self.noise is None else float(np.sqrt(np.mean(rows.scale**2)))
        if self.noise is not None:  # the noise variance that is learned is then that of a typical row
            rows = replace(rows, scale=rows.scale / self._typical_scale)
        self.model_, self.n_effective_ = fit_regressor(self, rows)
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

        names = [quantile_name(quantile) for quantile in quantiles]
        frame, source = to_table(frame, source)
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
        return forecast_table(self, horizon, future, quantiles, source)

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
        frame, source = to_table(frame, source)
        return self._score(self._read_targets(frame, source), f"of {source}")

    def _score(self, rows, words, **others):
        """How predictions of single rows compare with their targets."""
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
        rows = table._read(*to_table(frame, source))
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
        frame, source = to_table(frame, source)
        rows = self._read_targets(frame, source)
        return rows.X, rows.y

    def _read_targets(self, frame, source):
        """Rows whose target is known."""
        rows, complete = self._read_inputs(frame, source)
        y = self.inputs_.read_numbers(numbered(frame, source), self.target, source).to_numpy()[complete]
        return replace(rows, y=y).take(~np.isnan(y))

    def _read_inputs(self, frame, source, in_order=False):
        """Rows without targets, and which are complete; their order is read if terms need it, or if asked for."""
        check_is_fitted(self, "model_")
        frame = numbered(frame, source)
        columns = self.inputs_.read(frame, source)
        order = self.inputs_.read_order(frame, source, columns) if in_order or self.inputs_.needs_time else None
        complete = find_complete([*columns.values(), *unless_input(order, columns)], source, self.drop_missing)
        order = None if order is None else order[complete]
        X = self.inputs_.to_inputs({name: column[complete] for name, column in columns.items()}, order, source)
        name = self._scale_column
        has_scale = name in frame.columns and frame[name].notna().any()
        scale = read_noise(frame, name, source, self.inputs_) if has_scale else None
        return Rows(
            X,
            np.full(len(X), np.nan),
            order,
            None if scale is None else scale[complete].fillna(self._typical_scale).to_numpy(),
        ), complete

    def read_as(self, *, decimal=None, date_format=None, drop_missing=None):
        """Read the tables that follow in another way than those that were fitted.

        Parameters
        ----------
        decimal, date_format, drop_missing : optional
            See :class:`TableModel`; by default as before.

        Returns
        -------
        self
        """
        given = {"decimal": decimal, "date_format": date_format}
        changes = {name: value for name, value in given.items() if value is not None}
        self.inputs_ = replace(self.inputs_, **changes)
        return self.set_params(**changes, **({} if drop_missing is None else {"drop_missing": drop_missing}))

    # What was learned --------------------------------------------------------------------------------------------

    def summary(self):
        """What the model consists of and how good it is.

        Returns
        -------
        dict
            Of numbers, text and lists, for JSON; None stands for what is not known.
        """
        check_is_fitted(self, "model_")
        if not hasattr(self, "_summary"):
            with limited_blas(self.model_.index_set_.n_components):
                self._summary = summarise(self)
        return self._summary

    def findings(self):
        """What is said of the model, from its summary: verdict, figures, what matters, problems and notes.

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
        """What notebooks show: the findings, and scikit-learn's diagram below; the diagram alone before the fit."""
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
        table = to_notes(self, notes)
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
        return from_notes(cls, model, path)
