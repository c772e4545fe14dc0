"""Regression on the columns of a table."""

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
from torusgp.table_models._errors import length_scale_errors
from torusgp.table_models._fitting import fit_counted, fit_in_order
from torusgp.table_models._inputs import TableInputs, zone_name
from torusgp.table_models._judgement import Judgement, hold_out
from torusgp.tables import TableError, complete_rows, numeric_column

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
    learn_period : str or sequence of str, default=()
        Columns whose periods are learned: from where ``periods`` gives them, or from where they are found.
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
        Fitted regressor. Its inputs are named after the columns of numbers and the calendar's cycles.
    inputs_ : TableInputs
        Where the inputs come from.
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
        learn_period=(),
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
        self.learn_period = learn_period
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
        frame : pandas.DataFrame
            The table.
        source : str or Path, optional
            File that it was read from, where errors find the line of a value.

        Returns
        -------
        self
        """
        rows = self._read(frame, source)
        self.judgement_, self.is_refitted_ = None, False
        return self._fit(rows)

    def fit_and_judge(self, frame, holdout=0.2, *, start=None, refit=True, random_state=0, source=_TABLE):
        """Fit to some rows, judge the predictions of the others, and then fit to all.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table.
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
        rows = self._read(frame, source)
        held, words = hold_out(len(rows.y), rows.order, holdout, start, random_state)
        self._fit(rows.take(~held))
        tested = rows.take(held)
        self._report("predicting the rows held out")
        mean, std = self.model_.predict(tested.X, return_std=True)
        self.judgement_ = Judgement.from_predictions(tested.y, mean, std, words)
        self.is_refitted_ = bool(refit)
        if refit:
            self._report("fitting to all rows")
            self._fit(rows, start=self.redundancy_)
        return self

    def _read(self, frame, source):
        """Checked rows, in order."""
        inputs = TableInputs.from_options(self.periods, self.calendar, self.time, self.timezone, self.learn_period)
        self._check_parameters(inputs)
        frame = _numbered(frame, source)
        y = numeric_column(frame, self.target, source)
        columns, order = inputs.read(frame, source), inputs.read_order(frame, source)
        used = [y, *columns.values(), *([] if order is None or order.name in columns else [order])]
        complete = self._complete(used, source)
        self.n_dropped_ = int(np.sum(~complete))
        if complete.sum() < FEWEST_ROWS:
            raise TableError(f"{source} has {complete.sum()} complete rows; {FEWEST_ROWS} or more are needed.")
        if inputs.calendar is not None:
            inputs = replace(inputs, zone=zone_name(columns[inputs.calendar[0]]))
        self.inputs_ = inputs
        X = inputs.to_inputs({name: column[complete] for name, column in columns.items()})
        order = None if order is None else order[complete]
        return _Rows(X, y[complete].to_numpy(), order).sorted()

    def _check_parameters(self, inputs):
        if not isinstance(self.target, str) or not self.target:
            raise ValueError(f"target must be the name of a column, got {self.target!r}.")
        if self.target in inputs.columns:
            raise ValueError(f"Column {self.target!r} is the target, so it cannot be an input.")
        value = self.redundancy
        if value != "auto" and not (isinstance(value, int | float) and 1 <= value < np.inf):
            raise ValueError(f"redundancy must be 'auto' or a number of rows, 1 or more, got {value!r}.")

    def _complete(self, columns, source):
        try:
            return complete_rows(columns, source, drop=self.drop_missing)
        except TableError as error:
            hint = "" if self.drop_missing else " That is what drop_missing (--drop-missing) does."
            raise TableError(f"{error}{hint}") from error

    def _fit(self, rows, start=1.0):
        if len(rows.y) < FEWEST_ROWS:
            raise TableError(f"{len(rows.y)} rows are left to learn from; {FEWEST_ROWS} or more are needed.")
        if np.ptp(rows.y) == 0:
            raise TableError(f"Column {self.target!r} is {rows.y[0]:g} in all {len(rows.y)} rows to learn from.")
        value, self.correlation_ = self.redundancy, None
        if value == "auto" and rows.order is not None:
            self.model_, value, self.correlation_ = fit_in_order(
                lambda n_components: self._make(self.inputs_).set_params(n_components=n_components),
                rows.X,
                rows.y,
                n_components=self.n_components,
                start=start,
                report=self._report,
            )
        else:
            value = 1.0 if value == "auto" else float(value)
            self.model_ = fit_counted(self._make(self.inputs_), rows.X, rows.y, value)
        self.redundancy_, self.n_rows_, self.n_effective_ = value, len(rows.y), len(rows.y) / value
        self.__dict__.pop("_summary", None)
        return self

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
            trend="auto" if inputs.has_trend else None,
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
        frame : pandas.DataFrame
            A table with the columns that the model has as inputs.
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
        X, complete = self._read_inputs(frame, source)
        mean, std = self.model_.predict(X, return_std=True)
        values = {"mean": mean, "std": std}
        values |= {name: mean + ndtri(one) * std for name, one in zip(names, quantiles, strict=True)}
        return pandas.DataFrame(values, index=frame.index[complete])

    def judge(self, frame, *, source=_TABLE):
        """Compare predictions with the targets of a table that the model has not seen.

        Parameters
        ----------
        frame : pandas.DataFrame
            A table with inputs and target. Rows that miss the target are left out.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        Judgement
        """
        X, y = self.read(frame, source=source)
        mean, std = self.model_.predict(X, return_std=True)
        return Judgement.from_predictions(y, mean, std, f"of {source}")

    def read(self, frame, *, source=_TABLE):
        """Inputs and targets of the regressor, from a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            A table with inputs and target. Rows that miss the target are left out.
        source : str or Path, optional
            File that the table was read from.

        Returns
        -------
        X : pandas.DataFrame
        y : ndarray
        """
        X, complete = self._read_inputs(frame, source)
        y = numeric_column(_numbered(frame, source), self.target, source).to_numpy()[complete]
        known = ~np.isnan(y)
        return X[known], y[known]

    def _read_inputs(self, frame, source):
        check_is_fitted(self, "model_")
        columns = self.inputs_.read(_numbered(frame, source), source)
        complete = self._complete(list(columns.values()), source)
        return self.inputs_.to_inputs({name: column[complete] for name, column in columns.items()}), complete

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
        names = self.inputs_.names
        inputs = [
            {
                "name": names[position],
                "period": periods[d],
                "period_std": period_errors[d] if unknown[d] else None,
                "period_is": "learned" if unknown[d] else "given",
                "length_scale": scales[d],
                "length_scale_std": error,
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
                    "redundancy_std": None if found is None else found.std,
                    "redundancy_is": "estimated" if found is not None else "given",
                },
                "inputs": inputs,
                "kernel": self.kernel,
                "columns": model.index_set_.n_components,
                "max_interaction": self.max_interaction,
                "truncation_error": model.truncation_error_,
                "has_trend": model.trend_ is not None,
                "signal_std": np.sqrt(model.signal_variance_),
                "noise_std": np.sqrt(model.noise_variance_),
                "log_evidence": model.log_marginal_likelihood_,
                "holdout": None if self.judgement_ is None else self.judgement_.to_json(),
                "is_refitted": self.is_refitted_,
                "attribution": _attribution(model),
            }
        )

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
        table = cls(**content["parameters"])
        table.model_, table.inputs_ = model, TableInputs.from_json(content["inputs"])
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
    """Complete rows: inputs, targets, and what orders them."""

    X: Any
    y: np.ndarray
    order: Any

    def sorted(self):
        """The rows in their order."""
        if self.order is None:
            return self
        return self.take(self.order.reset_index(drop=True).sort_values(kind="stable").index.to_numpy())

    def take(self, chosen):
        """Some of the rows."""
        return _Rows(self.X.iloc[chosen], self.y[chosen], None if self.order is None else self.order.iloc[chosen])


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
