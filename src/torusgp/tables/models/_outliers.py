"""Rows that lie so far from all others that they spoil the fit."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from torusgp.data.tables import place_of_row
from torusgp.fitting.schedule import limited_blas

_FAR = 8.0  # standard deviations; heavy tails, too, have few rows so far out
_FEW = 0.02  # of the rows, at most: more of them are no accidents, but how the target is distributed
_SPOILT = 0.3  # of the squared residuals, at least: fewer do not make the noise much larger
_VISIBLE = 0.01  # of the spread of the targets, at least: what is smaller is a kink of a function without noise
_OWN = 2.0  # root mean squares of all residuals, at least: neighbours that outliers pull the function from stay below
_MOST_NAMED = 3
_BINS, _FEWEST_IN_BIN = 30, 50  # of an input, and rows in each
_CHANGE = 2.0  # ratio of typical sizes that is more than chance makes in such bins


@dataclass(frozen=True)
class Outliers:
    """A few rows that lie many standard deviations away.

    Attributes
    ----------
    n_rows : int
        Number of them.
    std : float
        Standard deviation of the noise of the other rows, from the median of all residuals.
    first : tuple of str
        Where a person finds the first of them, and what they hold.
    """

    n_rows: int
    std: float
    first: tuple


def find_outliers(table, rows):
    """Rows that a model was fitted to, but that do not belong with the others.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        The rows.

    Returns
    -------
    Outliers or None
        None where there are none, or where they are too many or too near to matter.
    """
    with limited_blas(table.model_.index_set_.n_components):
        mean = table.model_.predict(rows.X)
    residuals = rows.y - mean
    relative = residuals if rows.scale is None else residuals / rows.scale
    size = np.abs(relative)
    outlying = are_outlying(relative) & (np.abs(residuals) > _VISIBLE * np.std(rows.y))
    outlying &= size > _OWN * np.sqrt(np.mean(size**2))
    if outlying.sum() > max(1, _FEW * len(outlying)):
        return None
    outlying &= are_outlying(relative / _local_sizes(rows.X, size))
    if not outlying.any() or not np.sum(size[outlying] ** 2) > _SPOILT * np.sum(size**2) or _is_mostly_one(rows.y):
        return None
    order = np.sort(rows.X.index[outlying])[:_MOST_NAMED]  # as in the file
    values = dict(zip(rows.X.index[outlying], zip(rows.y[outlying], mean[outlying], strict=True), strict=True))
    first = tuple(
        f"{place_of_row(row, rows.source)} ({values[row][0]:.4g} instead of {values[row][1]:.4g})" for row in order
    )
    return Outliers(int(outlying.sum()), _robust_std(residuals), first)


def are_outlying(residuals):
    """Which residuals are so large that chance does not make them.

    Parameters
    ----------
    residuals : ndarray of shape (n_rows,)
        In units of their known standard deviations, if there are any.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> import numpy as np
    >>> residuals = np.random.default_rng(0).normal(size=100)
    >>> residuals[17] = 15
    >>> np.flatnonzero(are_outlying(residuals)).tolist()
    [17]
    """
    return np.abs(residuals) > _FAR * _robust_std(residuals)


def _local_sizes(X, size):
    """Typical sizes of residuals near each row, along the input with which they change most, or one for all.

    Hours that are closed have small ones: those of all others would be outlying beside them.
    """
    found, largest = np.ones(len(size)), _CHANGE
    for name in X:
        bins = _bins(X[name])
        counts = np.bincount(bins)
        typical = np.array([np.median(size[bins == one]) if counts[one] else np.nan for one in range(len(counts))])
        typical = np.maximum(typical, np.finfo(float).tiny)
        low, high = np.nanquantile(typical, [0.1, 0.9])  # outliers may fill one bin
        if counts[counts > 0].min() >= _FEWEST_IN_BIN / 2 and high > largest * low:
            found, largest = typical[bins], high / low
    return found


def _bins(values):
    """Which of a few bins of an input each row is in: its values, or some of them beside each other."""
    codes, levels = values.factorize(sort=True)
    codes = np.where(codes < 0, len(levels), codes)  # what is missing is a level of its own
    n_bins = max(1, min(_BINS, len(values) // _FEWEST_IN_BIN))
    return codes if len(levels) <= n_bins else codes * n_bins // len(levels)


def _robust_std(residuals):
    """Standard deviation of normal residuals whose median absolute value is that of these."""
    return float(np.median(np.abs(residuals)) / ndtri(0.75))


def _is_mostly_one(y):
    """Whether most targets are the same, such as counts that are mostly zero: the others are no outliers."""
    return np.mean(y == np.median(y)) > 0.5
