"""Regression on the columns of a table."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from torusgp.analysis import sobol_indices
from torusgp.learning import limited_blas
from torusgp.regression import TorusGPRegressor
from torusgp.table_models._errors import bounds_reached, length_scale_errors
from torusgp.table_models._fitting import FEW_COLUMNS, fit_counted, fit_in_order
from torusgp.table_models._inputs import TableInputs, zone_name
from torusgp.table_models._judgement import Judgement, hold_out
from torusgp.table_models._trend import Line, TimeAxis, fit_with_line, unfinished_cycles
from torusgp.table_models._words import word
from torusgp.tables import TableError, _place, complete_rows, read_table

FEWEST_ROWS = 20  # to learn from
_LAYOUT = 1  # of the notes in the file
_LEARN = ("length_scale", "signal_variance", "noise_variance")
_DRAWS = 400  # functions that tell the errors of shares
_QUANTILES = (0.05, 0.5, 0.95)
_TABLE = "the table"


class TableModel(BaseEstimator):
    """Gaussian-process regression on the columns of a table, which repeat with known or unknown periods.

    It is what ``torusgp fit`` and ``torusgp predict`` do, in Python: a :class:`~torusgp.TorusGPRegressor` that knows
    which columns its inputs are, judges itself on rows held out, and minds that the noise of neighbouring rows may be
    correlated.

    Parameters
    ----------
    target : str
        Column to predict.
    periods : dict of str to number, "auto" or a sequence of these, optional
        Columns of numbers and the period of each, in its units. A column with several periods feeds several dimensions
        of the torus; "auto" is found and learned.
    calendar : dict of str to sequence of {"day", "week", "month", "year"}, optional
        A column of times and the cycles that are read off it; see :class:`~torusgp.CalendarPhases`.
    time : str, optional
        Column of times or numbers that orders the rows; by default that of the calendar, if there is one.
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
    learn_period : str or sequence of str, default=()
        Columns whose periods are learned: from where ``periods`` gives them, or from where they are found.
    trend : {"linear", None}, default=None
        "linear" for a target that also rises or falls steadily with ``time``: a straight line, estimated together with
        what repeats by generalised least squares, which goes on in forecasts. The uncertainty of its slope is part of
        their intervals; that the change goes on at all is taken for granted.
    noise : str, optional
        Column of known standard deviations of the target, such as error bars: positive numbers. They decide how much
        each row counts. Their common factor is learned, since error bars are often too small or too large alike: the
        noise of a row has the standard deviation ``noise_factor_`` times its own. Predictions of tables that have this
        column have the noise of their rows, others that of a typical row (the root mean square of the rows fitted).
    redundancy : float or "auto", default="auto"
        How many rows count as one, since the noise of neighbouring rows is correlated. "auto" estimates it where
        ``time`` orders the rows, and takes them for independent otherwise; see
        :func:`~torusgp.table_models.estimate_redundancy`. 1 takes them for independent.
    kernel : str, default="squared_exponential"
        Family of the kernel; see :class:`~torusgp.TorusKernel`.
    n_components : int or "auto", default="auto"
        Largest number of columns of the model.
    max_interaction : int, optional
        Largest number of dimensions that interact; 1 for effects that only add up.
    drop_missing : bool, default=False
        Leave out rows that miss a value, instead of raising an error that counts them.
    verbose : int or callable, default=0
        Print progress if positive; a callable takes each line of it.

    Attributes
    ----------
    model_ : TorusGPRegressor
        Fitted regressor. Its inputs are named after the columns of numbers and the calendar's cycles. With a trend it
        is the part that repeats.
    trend_ : Line or None
        The line beside it: its ``slope`` per year of dates, or per unit of a column of numbers, with standard error
        ``std``.
    inputs_ : TableInputs
        Where the inputs come from.
    noise_factor_ : float or None
        What standard deviations of the column ``noise`` are to be multiplied with; one if they are right. None without
        such a column.
    n_rows_ : int
        Number of rows that it was fitted to.
    n_dropped_ : int
        Number of rows that missed a value.
    redundancy_ : float
        How many rows counted as one; predicted noise is that of single rows nevertheless.
    correlation_ : Redundancy or None
        The estimate behind it, if there was one.
    n_effective_ : float
        Number of independent rows that the rows count as.
    judgement_ : Judgement or None
        How predictions fared on rows that were held out.
    is_refitted_ : bool
        Whether the model was fitted to these rows, too, after it was judged.

    Examples
    --------
    Eight weeks, hour by hour, whose evenings and weekends differ; the last fifth is held out to judge the forecast:

    >>> import numpy as np
    >>> import pandas as pd
    >>> time = pd.date_range("2024-01-01", periods=8 * 168, freq="h")
    >>> busy = np.where(time.day_of_week < 5, 2.0, 1.0) * np.cos(2 * np.pi * (time.hour - 19) / 24)
    >>> frame = pd.DataFrame({"time": time, "demand": 5 + busy + np.random.default_rng(0).normal(0, 0.3, len(time))})
    >>> model = TableModel("demand", calendar={"time": ["day", "week"]}).fit_and_judge(frame)
    >>> model.judgement_.n_rows, model.judgement_.r2 > 0.9
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
        time=None,
        timezone=None,
        whole_days=True,
        decimal="auto",
        date_format="auto",
        learn_period=(),
        trend=None,
        noise=None,
        redundancy="auto",
        kernel="squared_exponential",
        n_components="auto",
        max_interaction=None,
        drop_missing=False,
        verbose=0,
    ):
        self.target = target
        self.periods = periods
        self.calendar = calendar
        self.time = time
        self.timezone = timezone
        self.whole_days = whole_days
        self.decimal = decimal
        self.date_format = date_format
        self.learn_period = learn_period
        self.trend = trend
        self.noise = noise
        self.redundancy = redundancy
        self.kernel = kernel
        self.n_components = n_components
        self.max_interaction = max_interaction
        self.drop_missing = drop_missing
        self.verbose = verbose

    # Fitting -----------------------------------------------------------------------------------------------------

    def fit(self, frame, source=_TABLE):
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
        rows = self._read(*_to_table(frame, source))
        self.judgement_, self.is_refitted_ = None, False
        self._fit(rows)
        self._warn(rows)
        return self

    def fit_and_judge(self, frame, holdout=0.2, *, start=None, refit=True, random_state=0, source=_TABLE):
        """Fit to some rows, judge the predictions of the others, and then fit to all.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            The table, or its file.
        holdout : float, default=0.2
            Share of the rows to hold out: the last in time, or random ones where nothing orders them.
        start : str or number, optional
            Instead of a share: hold out rows from this time on.
        refit : bool, default=True
            Fit to all rows afterwards. What was judged is the model that had not seen the rows held out.
        random_state : int, default=0
            Determines random rows.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        self
        """
        rows = self._read(*_to_table(frame, source))
        held, words = hold_out(len(rows.y), rows.order, holdout, start, random_state)
        n_left = int(np.sum(~held))
        if n_left < FEWEST_ROWS:
            raise TableError(
                f"{held.sum()} of {len(held)} rows are held out, which leaves {n_left} to learn from; {FEWEST_ROWS} or "
                f"more are needed. To fit to all rows without judging, use {word('without_holdout')}."
            )
        with warnings.catch_warnings():
            if refit:  # what is wrong with the final model is told of that one
                warnings.simplefilter("ignore", UserWarning)
            self._fit(rows.take(~held))
        tested = rows.take(held)
        self._report("predicting the rows held out")
        mean, std = self._predict(tested)
        self.judgement_ = Judgement.from_predictions(
            tested.y,
            mean,
            std,
            words,
            constant=np.mean(rows.y[~held]),
            noise_std=self._noise_std(tested),
            redundancy=None if rows.order is None else self.redundancy_,
        )
        self.is_refitted_ = bool(refit)
        if refit:
            self._report("fitting to all rows")
            self._fit(rows, start=self.redundancy_)
        self._warn(rows if refit else rows.take(~held))
        if self.judgement_.drifts:
            warnings.warn(self._drift(self.judgement_), stacklevel=2)
        if self.judgement_.explains_nothing:
            warnings.warn(
                f"The model explains nothing of the rows held out (R2 {self.judgement_.r2:.2g}): their mean predicts "
                "them as well. Check the periods and their units (a turn is 360 degrees, or 6.2832 radians), and look "
                "for outliers.",
                stacklevel=2,
            )
        return self

    def _warn(self, rows):
        """Say which length scales cannot be right, and whether the trend may be part of a season."""
        reached = zip(self._dimension_names(), bounds_reached(self.model_), strict=True)
        names = [name for name, bound in reached if bound == "lower"]
        if names:
            verb = "is at its" if len(names) == 1 else "are at their"
            warnings.warn(
                f"The length scale{'s' * (len(names) > 1)} of {', '.join(names)} {verb} lower bound, "
                f"{self.model_.length_scale_bounds[0]:g}: the model follows single rows instead of what repeats. Check "
                "the period and its units, and look for outliers.",
                stacklevel=3,
            )
        if self.trend_ is None:
            return
        span = np.ptp(self.trend_.axis.to_numbers(rows.order, _TABLE))
        unfinished = unfinished_cycles(self.trend_.axis, self.inputs_, span)
        if unfinished:
            warnings.warn(
                f"The rows cover less than one turn of {', '.join(unfinished)}, part of which looks like a line: "
                f"forecasts along it may be far off. Leave out {word('trend')}, or fit to more rows.",
                stacklevel=3,
            )

    def _drift(self, judgement):
        """What is wrong if the rows held out lie above or below their predictions."""
        bias, error = judgement.bias, judgement.bias_std
        remedy = (
            f"If it goes on to change steadily, {word('trend')} takes that into account; if it has changed once, fit "
            "to the rows since then."
            if self.trend is None
            else "It has not gone on along the line of the rows before: fit to later rows, or expect wider intervals."
        )
        return (
            f"The level has changed: the rows held out lie {'above' if bias > 0 else 'below'} their predictions by "
            f"{abs(bias):.3g} ± {error:.2g} on average, more than chance would allow. {remedy}"
        )

    def _read(self, frame, source):
        """Checked rows, in order."""
        inputs = TableInputs.from_options(
            self.periods,
            self.calendar,
            self.time,
            self.timezone,
            self.learn_period,
            whole_days=self.whole_days,
            decimal=self.decimal,
            date_format=self.date_format,
        )
        self._check_parameters(inputs)
        frame = _numbered(frame, source)
        y = inputs.read_numbers(frame, self.target, source)
        columns = inputs.read(frame, source)
        order = inputs.read_order(frame, source, columns)
        scale = self._read_noise(frame, source, inputs)
        complete = self._complete([y, *columns.values(), *_others(order, columns), *_others(scale, columns)], source)
        self.n_dropped_ = int(np.sum(~complete))
        if complete.sum() < FEWEST_ROWS:
            raise TableError(f"{source} has {complete.sum()} complete rows; {FEWEST_ROWS} or more are needed.")
        if inputs.calendar is not None:
            inputs = replace(inputs, zone=zone_name(columns[inputs.calendar[0]]))
        self.inputs_ = inputs
        X = inputs.to_inputs({name: column[complete] for name, column in columns.items()})
        inputs.check_cycles(X, source)
        order = None if order is None else order[complete]
        scale = None if scale is None else scale[complete].to_numpy()
        return _Rows(X, y[complete].to_numpy(), order, scale).sorted()

    def _read_noise(self, frame, source, inputs):
        """Known standard deviations of the rows, checked; None if there are none."""
        if self.noise is None:
            return None
        scale = inputs.read_numbers(frame, self.noise, source)
        bad = np.flatnonzero(scale <= 0)
        if len(bad):
            others = f" {len(bad)} values of this column are not." if len(bad) > 1 else ""
            raise TableError(
                f"{_place(scale.index[bad[0]], source)}: {scale.iloc[bad[0]]:g} in column {self.noise!r} is no "
                f"standard deviation, which has to be positive.{others}"
            )
        return scale

    def _check_parameters(self, inputs):
        if not isinstance(self.target, str) or not self.target:
            raise ValueError(f"target must be the name of a column, got {self.target!r}.")
        if self.target in inputs.columns:
            raise ValueError(f"Column {self.target!r} is the target, so it cannot be an input.")
        if self.trend not in ("linear", None):
            raise ValueError(f"trend must be 'linear' or None, got {self.trend!r}.")
        if self.trend is not None and inputs.time is None:
            raise ValueError(
                f"{word('trend')} needs a column that orders the rows: name it ({word('time', 'date')}), or give times "
                f"to the calendar ({word('calendar', 'date')})."
            )
        if self.trend is not None and self.target == inputs.time:
            raise ValueError(f"Column {self.target!r} is the target, so it cannot be the time of the trend.")
        if self.noise is not None and (not isinstance(self.noise, str) or self.noise == self.target):
            raise ValueError(f"noise must be the name of a column other than the target, got {self.noise!r}.")
        value = self.redundancy
        if value != "auto" and not (isinstance(value, int | float) and 1 <= value < np.inf):
            raise ValueError(f"redundancy must be 'auto' or a number of rows, 1 or more, got {value!r}.")

    def _complete(self, columns, source):
        try:
            return complete_rows(columns, source, drop=self.drop_missing)
        except TableError as error:
            hint = "" if self.drop_missing else f" That is what {word('drop_missing')} does."
            raise TableError(f"{error}{hint}") from error

    def _fit(self, rows, start=1.0):
        if np.ptp(rows.y) == 0:
            raise TableError(f"Column {self.target!r} is {rows.y[0]:g} in all {len(rows.y)} rows to learn from.")
        self._typical_scale = 1.0 if rows.scale is None else float(np.sqrt(np.mean(rows.scale**2)))
        if rows.scale is not None:  # the noise variance that is learned is then that of a typical row
            rows = replace(rows, scale=rows.scale / self._typical_scale)
        if self.trend is None:
            fitted, self.trend_ = self._fit_regressor(rows, rows.y, start), None
        else:
            axis = TimeAxis.from_order(rows.order)
            *fitted, self.trend_ = fit_with_line(
                lambda y, start: self._fit_regressor(rows, y, start),
                axis,
                rows.X,
                rows.y,
                axis.to_numbers(rows.order, _TABLE),
                scout=None if self.inputs_.is_learned else lambda y, start: self._scout(rows, y, start),
                start=start,
                noise_scale=rows.scale,
                report=self._report,
            )
        self.model_, self.redundancy_, self.correlation_ = fitted
        self._set_noise_factor()
        self.n_rows_, self.n_effective_ = len(rows.y), len(rows.y) / self.redundancy_
        self.__dict__.pop("_summary", None)
        return self

    def _set_noise_factor(self):
        factor = float(np.sqrt(self.model_.noise_variance_) / self._typical_scale)
        self.noise_factor_ = None if self.noise is None else factor

    def _fit_regressor(self, rows, y, start):
        """A regressor fitted to the inputs of rows, how many of them count as one, and the estimate behind that."""
        if self.redundancy == "auto" and rows.order is not None:
            return fit_in_order(
                lambda n_components: self._make(self.inputs_).set_params(n_components=n_components),
                rows.X,
                y,
                n_components=self.n_components,
                start=start,
                noise_scale=rows.scale,
                report=self._report,
                hint="Does the level move in other ways than along a line?"
                if self.trend
                else f"If the level changes steadily, {word('trend')} takes that into account.",
            )
        value = 1.0 if self.redundancy == "auto" else float(self.redundancy)
        return fit_counted(self._make(self.inputs_), rows.X, y, value, rows.scale), value, None

    def _scout(self, rows, y, start):
        """Like :meth:`_fit_regressor`, but quick: few columns, and a redundancy that is taken as it is."""
        size = FEW_COLUMNS if self.n_components == "auto" else min(self.n_components, FEW_COLUMNS)
        value = start if self.redundancy == "auto" else float(self.redundancy)
        regressor = self._make(self.inputs_).set_params(n_components=size)
        return fit_counted(regressor, rows.X, y, value, rows.scale), value, None

    def _make(self, inputs):
        """An unfitted regressor."""
        periods = inputs.periods
        return TorusGPRegressor(
            self.kernel,
            period=periods[0] if len(periods) == 1 else periods,
            columns=inputs.positions,
            n_components=self.n_components,
            max_interaction=self.max_interaction,
            learn=(*_LEARN, "period") if inputs.is_learned else _LEARN,
            trend="auto" if inputs.has_trend and self.trend is None else None,
            verbose=self.verbose,
        )

    def _report(self, line):
        if callable(self.verbose):
            self.verbose(line)
        elif self.verbose:
            print(f"[torusgp] {line}")

    # Prediction --------------------------------------------------------------------------------------------------

    def predict(self, frame, quantiles=_QUANTILES, *, source=_TABLE):
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
        frame, source = _to_table(frame, source)
        rows, complete = self._read_inputs(frame, source)
        mean, std = self._predict(rows, source)
        values = {"mean": mean, "std": std}
        values |= {name: mean + ndtri(one) * std for name, one in zip(names, quantiles, strict=True)}
        return pandas.DataFrame(values, index=frame.index[complete])

    def judge(self, frame, *, source=_TABLE):
        """Compare predictions with the targets of a table that the model has not seen.

        Parameters
        ----------
        frame : pandas.DataFrame, str or Path
            A table with inputs and target, or its file. Rows that miss the target are left out.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        Judgement
        """
        frame, source = _to_table(frame, source)
        rows = self._read_targets(frame, source)
        mean, std = self._predict(rows, source)
        return Judgement.from_predictions(rows.y, mean, std, f"of {source}")

    def _predict(self, rows, source=_TABLE):
        """Means and standard deviations of observations."""
        mean, std = self.model_.predict(rows.X, return_std=True, include_noise=self.noise is None)
        if self.noise is not None:
            std = np.hypot(std, self._noise_std(rows))
        if self.trend_ is None:
            return mean, std
        return self.trend_.add_to(self.model_, rows.X, self.trend_.axis.to_numbers(rows.order, source), mean, std)

    def _noise_std(self, rows):
        """Standard deviation of the noise of rows."""
        typical = np.sqrt(self.model_.noise_variance_)
        return typical if rows.scale is None else typical * rows.scale / self._typical_scale

    def read(self, frame, *, source=_TABLE):
        """Inputs and targets of the regressor, from a table: with a trend, targets without the line.

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
        frame, source = _to_table(frame, source)
        rows = self._read_targets(frame, source)
        if self.trend_ is None:
            return rows.X, rows.y
        nothing, time = np.zeros(len(rows.y)), self.trend_.axis.to_numbers(rows.order, source)
        return rows.X, rows.y - self.trend_.add_to(self.model_, rows.X, time, nothing, nothing)[0]

    def _read_targets(self, frame, source):
        """Rows whose target is known."""
        rows, complete = self._read_inputs(frame, source)
        y = self.inputs_.read_numbers(_numbered(frame, source), self.target, source).to_numpy()[complete]
        return replace(rows, y=y).take(~np.isnan(y))

    def _read_inputs(self, frame, source):
        """Rows without targets, of which the order is known if there is a trend; and which rows are complete."""
        check_is_fitted(self, "model_")
        frame = _numbered(frame, source)
        columns = self.inputs_.read(frame, source)
        order = None if self.trend_ is None else self.inputs_.read_order(frame, source, columns)
        complete = self._complete([*columns.values(), *_others(order, columns)], source)
        X = self.inputs_.to_inputs({name: column[complete] for name, column in columns.items()})
        has_noise = self.noise in frame.columns and frame[self.noise].notna().any()
        scale = self._read_noise(frame, source, self.inputs_) if has_noise else None
        return _Rows(
            X,
            np.full(len(X), np.nan),
            None if order is None else order[complete],
            None if scale is None else scale[complete].fillna(self._typical_scale).to_numpy(),
        ), complete

    def read_as(self, *, decimal=None, date_format=None):
        """Read the tables that follow in another way than those that were fitted.

        Parameters
        ----------
        decimal, date_format : str, optional
            See :class:`TableModel`; by default as before.

        Returns
        -------
        self
        """
        given = {"decimal": decimal, "date_format": date_format}
        changes = {name: value for name, value in given.items() if value is not None}
        self.inputs_ = replace(self.inputs_, **changes)
        return self.set_params(**changes)

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
                self._summary = self._summarise()
        return self._summary

    def _summarise(self):
        model = self.model_
        size = len(self.inputs_.periods)
        periods = np.broadcast_to(model.kernel_.period, size)
        period_errors = np.broadcast_to(getattr(model, "period_std_", np.nan), size)
        unknown = [self.inputs_.is_learned and self._is_learned(d) for d in range(size)]
        scales = np.broadcast_to(model.kernel_.length_scale, size)
        bounds = bounds_reached(model)
        explains_nothing = self.judgement_ is not None and self.judgement_.explains_nothing
        if explains_nothing or "lower" in bounds:  # the curvature at a peak of noise is no error of a period
            period_errors = np.full(size, np.nan)
        names = self.inputs_.names
        inputs = [
            {
                "name": names[position],
                "period": periods[d],
                "period_std": period_errors[d] if unknown[d] else None,
                "period_is": "learned" if unknown[d] else "given",
                "length_scale": scales[d],
                "length_scale_std": error,
                "length_scale_bound": bounds[d],
            }
            for d, (position, error) in enumerate(
                zip(self.inputs_.positions, np.broadcast_to(length_scale_errors(model), size), strict=True)
            )
        ]
        found = self.correlation_
        return to_plain(
            {
                "target": self.target,
                "calendar": None if self.inputs_.calendar is None else self.inputs_.calendar[0],
                "clock": self.inputs_.timezone or self.inputs_.zone or None,
                "order": self.inputs_.time,
                "rows": {
                    "fitted": self.n_rows_,
                    "dropped": self.n_dropped_,
                    "effective": self.n_effective_,
                    "redundancy": self.redundancy_,
                    "redundancy_found": None if found is None else found.estimate,
                    "redundancy_std": None if found is None else found.std,
                    "redundancy_is": "estimated" if found is not None else "given",
                },
                "inputs": inputs,
                "kernel": self.kernel,
                "columns": model.index_set_.n_components,
                "max_interaction": self.max_interaction,
                "truncation_error": model.truncation_error_,
                "has_trend": model.trend_ is not None,
                "trend": None if self.trend_ is None else self.trend_.summary(),
                "signal_std": np.sqrt(model.signal_variance_),
                "noise_std": np.sqrt(model.noise_variance_),
                "noise_column": self.noise,
                "noise_factor": self.noise_factor_,
                "log_evidence": model.log_marginal_likelihood_,
                "holdout": None if self.judgement_ is None else self.judgement_.to_json(),
                "explains_nothing": explains_nothing,
                "is_refitted": self.is_refitted_,
                "attribution": _attribution(model),
            }
        )

    def _dimension_names(self):
        """Names of the dimensions of the torus; with the period where an input feeds several."""
        names = [self.inputs_.names[position] for position in self.inputs_.positions]
        periods = np.broadcast_to(self.model_.kernel_.period, len(names))
        return [
            repr(name) if names.count(name) == 1 else f"{name!r} (period {period:.6g})"
            for name, period in zip(names, periods, strict=True)
        ]

    def _is_learned(self, dimension):
        if dimension >= len(self.inputs_.dimensions):
            return False
        column, period = self.inputs_.dimensions[dimension]
        return period == "auto" or column in self.inputs_.learned

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
        summary = self.summary()
        table = {
            "layout": _LAYOUT,
            "parameters": to_plain(self.get_params() | {"verbose": 0}),
            "inputs": self.inputs_.to_json(),
            "trend": None if self.trend_ is None else self.trend_.to_json(),
            "typical_scale": self._typical_scale,
            "summary": summary,
            "notes": notes or {},
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
        if content["layout"] > _LAYOUT:
            raise ValueError(f"{path} was written by a newer version of torusgp: upgrade torusgp to read it.")
        table = cls(**({"whole_days": False} | content["parameters"]))  # days moved on before there was a choice
        table.model_, table.inputs_ = model, TableInputs.from_json(content["inputs"])
        line = content.get("trend")  # absent from files of before there was one
        table.trend_ = None if line is None else Line.from_json(line)
        table._typical_scale = content.get("typical_scale", 1.0)
        table._set_noise_factor()
        table._summary, table.notes_ = content["summary"], content["notes"]
        rows, holdout = table._summary["rows"], table._summary["holdout"]
        table.n_rows_, table.n_dropped_ = rows["fitted"], rows["dropped"]
        table.redundancy_, table.n_effective_ = rows["redundancy"], rows["effective"]
        table.judgement_ = None if holdout is None else Judgement.from_json(holdout)
        table.is_refitted_ = table._summary["is_refitted"]
        return table


def load_regressor(path):
    """Read a regressor from a file, with one line for whatever is wrong with it."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not the file of a model.")
    return TorusGPRegressor.load(path)


@dataclass(frozen=True)
class _Rows:
    """Complete rows: inputs, targets, what orders them, and known standard deviations of their noise."""

    X: Any
    y: np.ndarray
    order: Any
    scale: np.ndarray | None

    def sorted(self):
        """The rows in their order."""
        if self.order is None:
            return self
        return self.take(self.order.reset_index(drop=True).sort_values(kind="stable").index.to_numpy())

    def take(self, chosen):
        """Some of the rows."""
        return _Rows(
            self.X.iloc[chosen],
            self.y[chosen],
            None if self.order is None else self.order.iloc[chosen],
            None if self.scale is None else self.scale[chosen],
        )


def quantile_name(quantile):
    """Name of the column of a quantile.

    Examples
    --------
    >>> [quantile_name(quantile) for quantile in (0.05, 0.5, 0.975)]
    ['q05', 'q50', 'q97.5']
    """
    if not 0 < quantile < 1:
        raise ValueError(f"Quantiles must be between 0 and 1, got {quantile!r}.")
    whole, point, part = f"{100 * quantile:.10g}".partition(".")
    return f"q{whole.zfill(2)}{point}{part}"


def to_plain(value):
    """What JSON can hold of dictionaries, lists, arrays and numbers; what is not a number becomes None."""
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _others(column, columns):
    """A column that may be there, unless it is one of the inputs."""
    return [] if column is None or column.name in columns else [column]


def _to_table(frame, source):
    """A table and where it comes from; it is read if it is a file."""
    if isinstance(frame, str | Path):
        return read_table(frame), frame
    if not hasattr(frame, "columns"):
        raise TypeError(f"A table must be a pandas DataFrame or the name of a file, got {type(frame).__name__}.")
    return frame, source


def _numbered(frame, source):
    """The table with its rows counted from 0, as errors need it; a file was read that way."""
    return frame.reset_index(drop=True) if source == _TABLE else frame


def _attribution(model):
    """Shares of the inputs and of their interactions in the variance of the function, the largest first."""
    try:
        indices = sobol_indices(model, n_samples=_DRAWS)
    except ValueError:  # a constant function has none
        return []
    lower, upper = indices.interval()
    order = np.argsort(-indices.share, kind="stable")
    return [
        {"component": indices.labels[i], "share": indices.share[i], "lower": lower[i], "upper": upper[i]} for i in order
    ]
