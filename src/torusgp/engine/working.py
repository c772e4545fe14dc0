r"""Sums of a step of Newton's method: Gram matrix and moments with weights that the function itself decides.

Where the log density of row i has the derivatives :math:`d_i` and :math:`-w_i` in the function f, a Newton step is
regression with the Gram matrix :math:`F' W F` and the moments :math:`F'(W f + d)`. The weighted targets are summed as
they are: dividing them by weights that may vanish would lose them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.dual import RowStatistics
from torusgp.engine.inference import LinearStatistics
from torusgp.engine.statistics import SufficientStatistics

Array = NDArray[np.float64]

_LEAST_WEIGHT = 1e-150  # of a row, whose root still multiplies without underflow


class WorkingStatistics(SufficientStatistics):
    """Sums of weights and weighted targets over rows, for a function that is a constant and columns.

    Parameters
    ----------
    index_set, period, **options
        See :class:`~torusgp.engine.statistics.SufficientStatistics`.
    offset : float, default=0.0
        The constant, which is no part of the weighted targets.
    units : pair of ndarray of shape (n_plain,), optional
        Means and spreads of plain columns; they must not depend on the weights.
    """

    def __init__(self, index_set: Any, period: Any, *, offset: float = 0.0, units: Any = None, **options: Any):
        super().__init__(index_set, period, **options)
        self.offset = offset
        self.units = (np.zeros(self.n_plain), np.ones(self.n_plain)) if units is None else units

    def add_working(self, X: Array, sample_weight: Array, weight: Array, weighted: Array, plain: Array | None) -> None:
        """Add rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, dimension)
            Coordinates on the axes.
        sample_weight : ndarray of shape (n_samples,)
            How often each row counts.
        weight : ndarray of shape (n_samples,)
            Weights, which may be negative; with sample weights.
        weighted : ndarray of shape (n_samples, n_outputs)
            Weighted targets.
        plain : ndarray of shape (n_samples, n_plain) or None
            Plain columns, in the units of the model.
        """
        if not len(X):
            return
        y = weighted if plain is None else np.hstack([weighted, plain])
        self._n_rows += len(X)
        self._add_blocks(X, y, weight)
        self._check_counts()
        if self.marginals is not None:
            self.marginals = self.marginals.with_rows(X, np.maximum(weight, 0.0))
        self.n_samples += float(sample_weight.sum())

    def _targets(self, y: Array, precision: Array) -> tuple[Array, Array]:
        targets, weighted = y.copy(), y.copy()
        targets[:, : self.n_outputs] = 0.0  # their squares have no meaning
        weighted[:, self.n_outputs :] *= precision[:, None]
        return targets, weighted

    def update(self, *rows: Any, **others: Any) -> Any:
        """Rows alone are not enough: their weights depend on the function."""
        raise TypeError("Working statistics are of a function that was fitted: rows cannot be added to them.")

    def linear(self, index_set: Any = None, center: bool = False) -> tuple[LinearStatistics, Array]:
        """Statistics of the columns of a set, plain columns last, and the constant beside them."""
        index_set = self.index_set if index_set is None else index_set
        if not self.holds(index_set):
            raise ValueError(f"{index_set!r} reaches beyond the frequencies of {self!r}.")
        self._check_counts()
        gram, moments = self._sums.gram(index_set.frequencies), self._sums.moments(index_set.frequencies)
        own = slice(self.n_outputs)
        if self.n_plain:
            beside, among = moments[:, self.n_outputs :], self._cross[self.n_outputs :]
            gram = np.block([[gram, beside], [beside.T, (among + among.T) / 2]])
            moments = np.concatenate([moments[:, own], self._cross[own].T])
        linear = LinearStatistics(
            gram,
            moments[:, own],
            np.zeros(self.n_outputs),
            self.n_samples,
            0.0,
            self._sums.rounding,
            getattr(self._sums, "device", self.device),
        )
        return linear, np.full(self.n_outputs, self.offset)

    def plain_units(self) -> tuple[Array, Array]:
        """Means and spreads of the plain columns."""
        return self.units

    def empty(self) -> WorkingStatistics:
        """Statistics of no rows, otherwise like these."""
        return self.like(self.index_set, self.period, self.n_outputs)

    def like(self, index_set: Any, period: Any, n_outputs: int) -> WorkingStatistics:
        """Statistics of no rows on other frequencies."""
        options = {"n_outputs": n_outputs} | self._options()
        return WorkingStatistics(index_set, period, offset=self.offset, units=self.units, **options)

    def to_archive(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Content for :mod:`torusgp.storage.archives`."""
        content, arrays = super().to_archive()
        return {**content, "offset": self.offset}, {**arrays, "units": np.stack(self.units)}

    @classmethod
    def from_archive(cls, content: dict[str, Any], arrays: dict[str, Any]) -> WorkingStatistics:
        """Invert :meth:`to_archive`."""
        result = super().from_archive(content, arrays)
        result.offset, result.units = content["offset"], tuple(arrays["units"])
        return result

    def _check_stored_sums(self) -> None:
        """Weights may be anything, so their sum shows nothing."""


def working_rows(columns: Array, sample_weight: Array, weight: Array, weighted: Array, unit: float) -> RowStatistics:
    """The same of few rows as rows, whose evidence costs less than that of many columns.

    Parameters
    ----------
    columns : ndarray of shape (n_samples, n_columns)
        Basis functions at the rows.
    sample_weight, weight, weighted
        See :meth:`WorkingStatistics.add_working`; weights must not be negative.
    unit : float
        Noise variance of a typical row: evidence expects precisions in units of its inverse.
    """
    weight = np.maximum(weight, _LEAST_WEIGHT)
    found = RowStatistics(columns, weighted / weight[:, None], sample_weight, unit * weight)
    found.squares, found.log_precision = np.zeros(weighted.shape[1]), 0.0  # as for sums: they have no meaning
    return found
