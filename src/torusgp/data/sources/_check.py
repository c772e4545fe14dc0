"""Checks what a source reads: it becomes numbers, or an error names the place."""

import numpy as np

from torusgp.data.sources._chunk import Chunk, SourceError

_KINDS_WITHOUT_ONE = "cmM"  # complex numbers and times, which NumPy would cast all the same


class Checker:
    """Turns what a source reads into chunks that all look alike."""

    def __init__(self, names=None, targets=None):
        self._names = {name: tuple(given) for name, given in (("X", names), ("y", targets)) if given is not None}
        self._widths = {name: len(given) for name, given in self._names.items()}
        self._extras = None  # whether chunks have weights, and noise scales

    @property
    def names(self):
        """Names of the inputs, or None."""
        return self._names.get("X")

    def check(self, X, y, sample_weight, noise_scale, place, first_row=0, locate=None):
        """Return a chunk, or raise an error that names the place, the row and the column."""
        where = place, locate or (lambda row: f"row {first_row + row}")
        X = self._table(X, "X", where)
        y = self._table(y, "y", where)
        if len(y) != len(X):
            raise SourceError(f"{place}: y has {len(y)} rows, X has {len(X)}.")
        weights = self._column(sample_weight, "sample_weight", len(X), where, 0.0)
        scales = self._column(noise_scale, "noise_scale", len(X), where, np.finfo(float).tiny)
        extras = [name for name, one in (("sample_weight", weights), ("noise_scale", scales)) if one is not None]
        if self._extras is None:
            self._extras = extras
        elif extras != self._extras:
            given, before = (" and ".join(names) or "neither" for names in (extras, self._extras))
            raise SourceError(f"{place}: of sample_weight and noise_scale it has {given}, chunks before had {before}.")
        return Chunk(X, y, weights, scales)

    def _table(self, values, name, where):
        """Two-dimensional inputs or targets, as wide as before."""
        values = self._numbers(self._select(values, name, where[0]), name, where)
        if name == "y" and values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2:
            raise SourceError(f"{where[0]}: {name} must have two axes, rows and columns; its shape is {values.shape}.")
        width = self._widths.setdefault(name, values.shape[1])
        if values.shape[1] != width:
            raise SourceError(f"{where[0]}: {name} has {values.shape[1]} column(s), expected are {width}.")
        self._check_finite(values, name, where)
        return values

    def _select(self, values, name, place):
        """Columns of a data frame by name, in the order of the first one."""
        columns = getattr(values, "columns", None)
        if columns is None or not all(isinstance(one, str) for one in columns):
            return values
        expected = list(self._names.setdefault(name, tuple(columns)))
        different = set(expected).symmetric_difference(columns)
        if different:
            raise SourceError(
                f"{place}: {name} has the columns {list(columns)}, expected are {expected}; "
                f"{', '.join(map(repr, sorted(different)))} makes the difference."
            )
        return values[expected]

    def _column(self, values, name, n_rows, where, lower):
        if values is None:
            return None
        values = self._numbers(values, name, where)
        if values.shape not in ((n_rows,), (n_rows, 1)):
            raise SourceError(f"{where[0]}: {name} must have one value for each of {n_rows} rows, got {values.shape}.")
        values = values.reshape(-1)
        self._check_finite(values[:, None], name, where, lower)
        return values

    def _numbers(self, values, name, where):
        if np.ma.isMaskedArray(values):  # what is masked is missing, whatever number is below
            values = np.ma.filled(values.astype(np.float64), np.nan)
        try:
            array = np.asarray(values)
            if array.dtype.kind in _KINDS_WITHOUT_ONE:
                raise TypeError(array.dtype)
            return array.astype(np.float64, copy=False)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._not_a_number(values, name, where) from error

    def _not_a_number(self, values, name, where):
        """The error that names the first entry that is not a number."""
        place, locate = where
        array = np.asarray(values, dtype=object)
        table = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
        for row, column in np.ndindex(table.shape):
            value: object = table[row, column]
            if isinstance(value, list | tuple | np.ndarray):
                return SourceError(f"{place}: {name} is not a table, its rows differ in length.")
            try:
                float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError):
                what = f"{self._title(name, column, table.shape[1])} is {value!r}, which is not a number"
                return SourceError(f"{place}, {locate(row)}: {what}.")
        return SourceError(f"{place}: {name} does not hold numbers, but {getattr(values, 'dtype', type(values))}.")

    def _title(self, name, column, n_columns):
        names = self._names.get(name)
        if names is not None and len(names) == n_columns:
            return names[column]
        return name if n_columns == 1 and name != "X" else f"{name}[:, {column}]"

    def _check_finite(self, values, name, where, lower=-np.inf):
        with np.errstate(over="ignore", invalid="ignore"):  # one sum tells of most arrays that they are in order
            if np.isfinite(values.sum()) and (lower == -np.inf or values.min(initial=np.inf) >= lower):
                return
        wrong = ~(np.isfinite(values) & (values >= lower))
        if not wrong.any():  # only the sum is too large
            return
        row, column = np.argwhere(wrong)[0]
        bound = "" if lower == -np.inf else " and " + ("positive" if lower else "at least zero")
        raise SourceError(
            f"{where[0]}, {where[1](row)}: {self._title(name, column, values.shape[1])} is "
            f"{values[row, column]}, it must be finite{bound} ({wrong.any(axis=1).sum()} such row(s) in this chunk). "
            "Correct these rows or leave them out."
        )
