"""Regression on the columns of a table."""

from contextlib import contextmanager
from dataclasses import fields, replace

import numpy as np

from torusgp.checks import check_flag
from torusgp.data.tables import TableError
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.schedule import limited_blas
from torusgp.tables.backtest import FEWEST_ROWS, evaluate_last, hold_out
from torusgp.tables.clock import zone_name
from torusgp.tables.forecast import HIGH, LOW, predict_rows
from torusgp.tables.inputs import (
    Options,
    Rows,
    choose_inputs,
    find_complete,
    numbered,
    read_noise,
    to_table,
    unless_input,
    within,
)
from torusgp.tables.models._files import from_notes, load_regressor, to_notes
from torusgp.tables.models._fitted import FittedTable
from torusgp.tables.models._parameters import check_options, check_parameters
from torusgp.tables.models._quality import repeats_of
from torusgp.tables.models._record import make_record
from torusgp.tables.models._regressors import fit_regressor
from torusgp.tables.models._slopes import estimate_slopes
from torusgp.tables.models._summary import part_stds
from torusgp.tables.models._warnings import conclude, kept_warnings
from torusgp.tables.timeline import Timeline
from torusgp.tables.words import TABLE, word

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


class TableModel(FittedTable):
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
            self.record_ = make_record(rows)
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
            repeats = None if rows.order is not None else repeats_of(self, rows)
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
                self.evaluation_ = evaluate_last(self, rows, n_left, predicted, words)
                self.scores_ = self.evaluation_.scores
            else:
                likelihood, constant = check_likelihood(self.likelihood), np.mean(rows.y[~held])
                self.scores_ = predicted.score(tested.y, words, likelihood=likelihood, constant=constant)
            shown = counted | ~held
            self.record_ = make_record(rows.take(shown), counted[shown], predicted)
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
        check_options(self)
        inputs = choose_inputs(self._options(), frame, source)
        check_parameters(self, inputs)
        y = inputs.read_numbers(frame, self.target, source)
        columns = inputs.read(frame, source)
        order = inputs.read_order(frame, source, columns)
        scale = read_noise(frame, self._scale_column, source, inputs)
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

    def _options(self):
        """What was said of the inputs."""
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
