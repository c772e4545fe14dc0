"""Rows that are there twice, rows of the same inputs, and times of several series in one table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.data.tables import place_of_row
from torusgp.tables.table import MOST_LEVELS
from torusgp.tables.words import word

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
        """Whether rows repeat more often than targets of different rows are equal by chance.

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
        """Whether rows of equal inputs are no evidence of each other, so that a hold-out must not separate them.

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
    """What to do about times that come more than once.

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
    """Whether rows of one time mostly have the same level, too: they are there twice."""
    pairs = column[repeated].astype(str).str.cat(order[repeated].astype(str), sep="@")
    return bool((~pairs.duplicated(keep=False)).mean() < _ALONE)


def _parts_rows(column: Any, order: Any) -> bool:
    """Whether rows of the same level of a column have different times."""
    if column.dtype.kind == "f" or not 2 <= column.nunique() <= max(MOST_LEVELS, len(column) // 20):
        return False
    pairs = column.astype(str).str.cat(order.astype(str), sep="@")
    return bool((~pairs.duplicated()).mean() >= _ALONE)
