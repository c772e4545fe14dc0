"""What a fitted model of a table does: predict, forecast, evaluate, and say what was learned."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.schedule import limited_blas
from torusgp.tables.backtest import backtest_rows
from torusgp.tables.forecast import continues_noise, forecast_table, predict_rows, quantile_names
from torusgp.tables.inputs import (
    Rows,
    TableInputs,
    check_order,
    find_complete,
    numbered,
    read_noise,
    to_table,
    unless_input,
)
from torusgp.tables.models._page import write_page
from torusgp.tables.models._parameters import check_reading
from torusgp.tables.models._summary import summarise
from torusgp.tables.timeline import Timeline
from torusgp.tables.words import TABLE
from torusgp.views.findings import Findings
from torusgp.views.plotting import RecordDisplay
from torusgp.views.report._page import short_form

_QUANTILES = (0.05, 0.5, 0.95)


class FittedTable(BaseEstimator):
    """Predictions, evaluation and description of a fitted :class:`~torusgp.TableModel`, which has the parameters."""

    target: str
    likelihood: Any
    noise: str | None
    exposure: str | None
    missing: Any
    drop_missing: bool
    unit: str
    model_: TorusGPRegressor
    inputs_: TableInputs
    n_rows_: int
    n_effective_: float
    timeline_: Timeline | None
    _typical_scale: float

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
        frame, source = to_table(frame, source, self.missing)
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
        scale = read_noise(frame, name, source, self.inputs_) if has_scale else None
        return Rows(
            X,
            np.full(len(X), np.nan),
            order,
            None if scale is None else scale[complete].fillna(self._typical_scale).to_numpy(),
        ), complete

    def _has_times(self, frame):
        """Whether a table has times from which noise can follow."""
        name = self.inputs_.time
        return continues_noise(self) and name in frame.columns and frame[name].notna().any()

    def _read_order(self, frame, source, columns):
        """What orders the rows, checked to be what ordered those of the fit."""
        order = self.inputs_.read_order(frame, source, columns)
        if self.timeline_ is not None:  # early files have none
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
