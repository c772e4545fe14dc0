"""Panels: one model for each level of a column, for several series in one table."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_count
from torusgp.data.tables import TableError
from torusgp.storage.archives import load_archive, save_archive
from torusgp.tables.forecast import PanelForecast
from torusgp.tables.inputs import numbered, to_table
from torusgp.tables.model import PANEL, PANEL_LAYOUT, TableModel, is_panel
from torusgp.tables.table import level_column
from torusgp.tables.words import TABLE, command_words, some_of, speaks_command, word

_SHOWN = 8  # levels that an error names


class PanelModel(BaseEstimator):
    """One :class:`~torusgp.TableModel` for each level of a column, such as the sales of several stores.

    Parameters
    ----------
    model : TableModel
        What is fitted to the rows of each level.
    by : str
        Column of the levels: text, booleans or whole numbers.
    n_jobs : int, optional
        Number of processes; by default one for each core.

    Attributes
    ----------
    models_ : dict of str to TableModel
        Fitted models, by their levels.
    failed_ : dict of str to str
        Levels that could not be fitted, and why.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> time = pd.date_range("2024-01-01", periods=21 * 24, freq="h")
    >>> one = pd.DataFrame({"time": time, "sales": 5 + np.cos(2 * np.pi * time.hour / 24)})
    >>> stores = pd.concat([one.assign(store="north"), one.assign(store="south", sales=2 * one["sales"])])
    >>> stores["sales"] += np.random.default_rng(0).normal(0, 0.1, len(stores))
    >>> panel = PanelModel(TableModel("sales", terms="hour"), "store", n_jobs=1).fit(stores)
    >>> list(panel.models_)
    ['north', 'south']
    """

    def __init__(self, model, by, *, n_jobs=None):
        self.model = model
        self.by = by
        self.n_jobs = n_jobs

    def fit(self, frame, source=TABLE):
        """Fit to the rows of each level; see :meth:`TableModel.fit`."""
        return self._fit_each(frame, source, None)

    def fit_and_evaluate(self, frame, holdout=0.2, *, start=None, refit=True, random_state=0, source=TABLE):
        """Fit to some rows of each level and evaluate the others; see :meth:`TableModel.fit_and_evaluate`."""
        options = {"holdout": holdout, "start": start, "refit": refit, "random_state": random_state}
        return self._fit_each(frame, source, options)

    def _fit_each(self, frame, source, options):
        frame, source = to_table(frame, source, self.model.missing)
        if not isinstance(self.by, str):
            raise ValueError(f"by must be the name of a column, got {self.by!r}.")
        if not (isinstance(self.n_jobs, int) and self.n_jobs == -1):
            check_count(self.n_jobs, "n_jobs", optional=True)
        if self.by == self.model.target:
            raise ValueError(f"Column {self.by!r} is the target, so there cannot be a model for each of its values.")
        parts = self._split(numbered(frame, source), source)
        quiet = clone(self.model).set_params(verbose=0)
        self.model._report(f"{len(parts)} models, one for each value of {self.by}")
        results = Parallel(n_jobs=-1 if self.n_jobs is None else self.n_jobs)(
            delayed(_fit_one)(quiet, part, source, options, speaks_command()) for part in parts.values()
        )
        self.models_, self.failed_ = {}, {}
        for level, (model, told, error) in zip(parts, results, strict=True):
            for message in told:
                warnings.warn(f"{self.by} {level}: {message}", stacklevel=3)
            if error is None:
                self.models_[level] = model
            else:
                self.failed_[level] = error
        if not self.models_:
            raise TableError(f"No value of {self.by!r} could be fitted. {self.by} {level}: {error}")
        for level, reason in self.failed_.items():
            warnings.warn(f"{self.by} {level} is left out: {reason}", stacklevel=3)
        return self

    def _split(self, frame, source):
        """Rows of each level, without the column of the levels."""
        levels = level_column(frame, self.by, source)
        n_missing = int(levels.isna().sum())
        if n_missing and not self.model.drop_missing:
            raise TableError(
                f"{n_missing} of {len(levels)} rows of {source} have no value of {self.by!r}: fill it in, or leave "
                f"them out ({word('drop_missing')})."
            )
        others = frame.drop(columns=self.by)
        return {level: others[levels == level] for level in sorted(levels.dropna().unique())}

    # Prediction --------------------------------------------------------------------------------------------------

    def predict(self, frame, quantiles=(0.05, 0.5, 0.95), *, source=TABLE):
        """Predict the target for the rows of a table, by the models of their levels; see :meth:`TableModel.predict`."""
        import pandas

        frame, source = to_table(frame, source, self.model.missing)
        parts = self._known_parts(frame, source)
        found = [self.models_[level].predict(part, quantiles, source=source) for level, part in parts.items()]
        order = pandas.Series(np.arange(len(frame)), index=frame.index)
        result = pandas.concat(found)
        return result.iloc[np.argsort(order.loc[result.index].to_numpy(), kind="stable")]

    def forecast(self, horizon=None, future=None, quantiles=(0.05, 0.5, 0.95), *, source=TABLE):
        """Forecast the rows that come after those of each level; see :meth:`TableModel.forecast`.

        Returns
        -------
        PanelForecast
        """
        check_is_fitted(self, "models_")
        if future is None:
            found = {level: one.forecast(horizon, None, quantiles) for level, one in self.models_.items()}
            return PanelForecast(self.by, found)
        frame, source = to_table(future, source, self.model.missing)
        is_common = self.by not in frame.columns  # such as the weather
        parts = dict.fromkeys(self.models_, frame) if is_common else self._known_parts(frame, source)
        found = {k: self.models_[k].forecast(horizon, part, quantiles, source=source) for k, part in parts.items()}
        return PanelForecast(self.by, found)

    def evaluate(self, frame, *, source=TABLE):
        """Compare predictions with the targets of a table, for each level; see :meth:`TableModel.evaluate`.

        Returns
        -------
        dict of str to Scores
        """
        frame, source = to_table(frame, source, self.model.missing)
        parts = self._known_parts(frame, source)
        return {level: self.models_[level].evaluate(part, source=source) for level, part in parts.items()}

    def _known_parts(self, frame, source):
        check_is_fitted(self, "models_")
        parts = self._split(frame, source)
        unknown = [level for level in parts if level not in self.models_]
        if unknown:
            raise TableError(
                f"{source} has {self.by} {some_of(unknown, _SHOWN)}, of which there is no model; there are those of "
                f"{some_of(self.models_, _SHOWN)}."
            )
        return parts

    def read_as(self, **changes):
        """Read the tables that follow in another way; see :meth:`TableModel.read_as`."""
        for model in self.models_.values():
            model.read_as(**changes)
        self.model.set_params(**{name: value for name, value in changes.items() if value is not None})
        return self

    def summary(self):
        """Content and quality of each model; see :meth:`TableModel.summary`.

        Returns
        -------
        dict
        """
        check_is_fitted(self, "models_")
        return {
            "by": self.by,
            "target": self.model.target,
            "levels": {level: model.summary() for level, model in self.models_.items()},
            "failed": self.failed_,
        }

    # Storage -----------------------------------------------------------------------------------------------------

    def save(self, path, notes=None):
        """Write all models to one file.

        Parameters
        ----------
        path : str or path
            File to write. ``TableModel.load("file.npz:north")`` reads one of them.
        notes : dict, optional
            More that JSON can hold.
        """
        check_is_fitted(self, "models_")
        arrays = {}
        with tempfile.TemporaryDirectory() as folder:
            for i, model in enumerate(self.models_.values()):
                model.save(Path(folder) / "model.npz", notes)
                arrays[f"model_{i}"] = np.frombuffer((Path(folder) / "model.npz").read_bytes(), dtype=np.uint8)
        content = {"by": self.by, "levels": list(self.models_), "failed": self.failed_, "notes": notes or {}}
        save_archive(path, PANEL, PANEL_LAYOUT, content, arrays)

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            File to read.

        Returns
        -------
        PanelModel
        """
        content, _ = load_archive(path, PANEL, PANEL_LAYOUT)
        models = {level: TableModel.load(f"{path}:{level}") for level in content["levels"]}
        panel = cls(clone(next(iter(models.values()))), content["by"])
        panel.models_, panel.failed_, panel.notes_ = models, content["failed"], content["notes"]
        return panel


def load_tables(path):
    """A model of a table, or one for each level of a column, from a file.

    Parameters
    ----------
    path : str or path
        File that ``torusgp fit`` wrote; with a colon and a level, such as ``stores.npz:north``, the model of that.

    Returns
    -------
    TableModel or PanelModel
    """
    return PanelModel.load(path) if is_panel(path) else TableModel.load(path)


def _fit_one(model, part, source, options, in_command):
    """A fitted model, its warnings, and what went wrong; in a process of its own."""
    table = clone(model)
    with warnings.catch_warnings(record=True) as told, command_words(in_command):
        warnings.simplefilter("always", UserWarning)
        try:
            if options is None:
                table.fit(part, source)
            else:
                table.fit_and_evaluate(part, source=source, **options)
        except ValueError as error:
            return None, [], str(error)
    return table, list(dict.fromkeys(str(one.message) for one in told if issubclass(one.category, UserWarning))), None
