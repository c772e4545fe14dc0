r"""Evidence that further columns would add to a model, and what its own columns are worth.

For columns :math:`\Phi` of prior variance :math:`\lambda` beside a model with columns F, precisions P of the rows
and the posterior :math:`N(\mu, \Sigma)` of its weights, the gain is

.. math:: \tfrac12 Q' (S + I / \lambda)^{-1} Q - \tfrac12 \log\det(I + \lambda S), \quad
          Q = \Phi' P (y - F \mu) / s^2, \quad S = (\Phi' P \Phi - \Phi' P F \Sigma F' P \Phi / s^2) / s^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import columns
from torusgp.engine.inference import Evidence, LinearStatistics, evidence
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.rows import Rows
from torusgp.kernels.candidates import Patterns
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.product import to_phases

_BATCH = 512  # frequencies whose columns are held at once
_ROW_BLOCK = 2**13  # rows whose columns are held at once
_SHORTLIST = 3  # times as many candidates as are wanted are looked at exactly
_FEW_ROWS = 8000  # rows, at least, on which the overlap with the model is computed
_FEWER_ROWS = 1000  # rows that tell how long the columns of candidates are


def gains(
    moments: NDArray[np.float64], precision: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log evidence that groups of columns would add, by the formula of this module.

    Parameters
    ----------
    moments : ndarray of shape (n_groups, n_columns)
        The vectors Q.
    precision : ndarray of shape (n_groups, n_columns, n_columns)
        The matrices S.
    variance : ndarray of shape (n_groups,)
        Prior variances.
    """
    scaled = np.eye(moments.shape[1]) + variance[:, None, None] * precision
    explained = np.linalg.solve(scaled, variance[:, None, None] * moments[:, :, None])[:, :, 0]
    return np.asarray(0.5 * np.einsum("gc,gc->g", moments, explained) - 0.5 * np.linalg.slogdet(scaled)[1])


def paying(results: list[Evidence], groups: list[NDArray[np.int64]], price: float = 0.0) -> NDArray[np.bool_]:
    """Which groups of columns of a model add at least a price to its log evidence.

    The group that adds least is dropped, then the least of what remains, until all pay. What a group adds is the ratio
    of the prior to the posterior density of its weights at zero (Savage and Dickey), so nothing is fitted again.

    Parameters
    ----------
    results : list of Evidence
        Posterior of the weights, for each output.
    groups : list of ndarray of int
        Numbers of the columns of each group.
    price : float, default=0.0
        What each has to add.
    """
    kept, sizes = np.ones(len(groups), dtype=bool), np.array([len(group) for group in groups])
    # in units of the prior standard deviations, which may be tiny
    posteriors = [
        (
            np.divide(result.weights, result.root, out=np.zeros_like(result.root), where=result.root > 0),
            result.factor.covariance(np.ones_like(result.root)),
        )
        for result in results
    ]
    while kept.any():
        worth = np.full(len(groups), np.inf)
        for size in np.unique(sizes[kept]):
            own = np.flatnonzero(kept & (sizes == size))
            where = np.array([groups[i] for i in own])
            worth[own] = sum(_worth(where, *posterior) for posterior in posteriors)
        least = int(np.argmin(worth))
        if worth[least] >= price:
            break
        kept[least] = False
        where = groups[least]
        for mean, covariance in posteriors:  # given that the weights are zero
            response = np.linalg.solve(covariance[np.ix_(where, where)], covariance[where])
            mean -= response.T @ mean[where]
            covariance -= covariance[:, where] @ response
    return kept


def _worth(
    groups: NDArray[np.int64], mean: NDArray[np.float64], covariance: NDArray[np.float64]
) -> NDArray[np.float64]:
    blocks = covariance[groups[:, :, None], groups[:, None, :]]
    weights = mean[groups]
    explained = np.linalg.solve(blocks, weights[:, :, None])[:, :, 0]
    return np.asarray(0.5 * (np.einsum("gc,gc->g", weights, explained) + np.linalg.slogdet(blocks)[1]))


@dataclass(frozen=True)
class Model:
    """A set of frequencies with parameters and the posterior of its weights.

    Attributes
    ----------
    prior : Prior
        Axes and terms.
    center : bool
        Whether the mean of the targets is subtracted.
    index_set : IndexSet
        The set.
    parameters : Parameters
        Its parameters.
    results : list of Evidence
        Posterior of the weights, for each output.
    """

    prior: Prior
    center: bool
    index_set: IndexSet
    parameters: Parameters
    results: list[Evidence]

    def variances(self, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
        """Prior variances of columns, shape (n_columns, n_outputs)."""
        return self.prior.variances(self.parameters, frequencies)


@dataclass(frozen=True)
class RowModel(Model):
    """A model of rows at hand, in random order."""

    rows: Rows

    def columns(self, rows: Rows) -> NDArray[np.float64]:
        """Columns of the model at rows, plain ones in the units that they have among its own rows."""
        basis = columns(to_phases(rows.X, self.parameters.period), self.index_set.frequencies)
        if rows.plain is None or self.rows.plain is None:
            return basis
        precision = self.rows.precision
        mean = np.average(self.rows.plain, axis=0, weights=precision)
        spread = np.sqrt(np.average((self.rows.plain - mean) ** 2, axis=0, weights=precision))
        return np.hstack([basis, (rows.plain - mean) / np.where(spread > 0, spread, 1.0)])

    def residuals(self, rows: Rows) -> NDArray[np.float64]:
        """Targets of rows less their posterior means, shape (n_rows, n_outputs)."""
        weights = np.stack([result.weights for result in self.results], axis=1)
        offset = np.average(self.rows.y, axis=0, weights=self.rows.precision) if self.center else 0.0
        residuals = rows.y - offset
        for start in range(0, len(rows), _ROW_BLOCK):
            some = slice(start, start + _ROW_BLOCK)
            residuals[some] -= self.columns(rows.take(some)) @ weights
        return residuals


def _batches(patterns: Patterns) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Numbers of patterns that have the same number of frequencies, few at a time."""
    for size in np.unique(patterns.sizes).tolist():
        own, step = np.flatnonzero(patterns.sizes == size), max(1, _BATCH // size)
        for start in range(0, len(own), step):
            yield own[start : start + step], size


class SumGains:
    """Exact gains of candidates that sums over rows cover: no row is needed.

    Parameters
    ----------
    statistics : SufficientStatistics
        The sums.
    """

    def __init__(self, statistics: SufficientStatistics):
        self._statistics = statistics

    def __call__(self, patterns: Patterns, model: Model, wanted: int) -> NDArray[np.float64]:
        """Gain of each pattern, see :class:`RowGains`."""
        index_set, noise = model.index_set, model.parameters[NOISE]
        result, n_old = np.empty(len(patterns)), index_set.n_components
        for some, size in _batches(patterns):
            frequencies = patterns.frequencies(some)
            both = IndexSet(np.vstack([index_set.frequencies, frequencies[1:]]), None)
            linear, _ = self._statistics.linear(both, model.center)
            n_new, n_groups = 2 * len(frequencies) - 2, len(some)
            new = np.arange(n_old, n_old + n_new)
            old = np.delete(np.arange(len(linear.gram)), new)  # plain columns come last
            groups = new.reshape(n_groups, 2 * size)
            own, cross = linear.gram[groups[:, :, None], groups[:, None, :]], linear.gram[np.ix_(old, new)]
            variances = model.variances(frequencies)[1 : n_new + 1 : 2 * size]
            result[some] = 0.0
            for q, (one, s2) in enumerate(zip(model.results, noise, strict=True)):
                moments = (linear.moments[new, q] - cross.T @ one.weights).reshape(n_groups, -1) / s2
                precision = own / s2 - _overlap(one, cross, n_groups) / s2**2
                result[some] += gains(moments, precision, variances[:, q])
        return result


def _own_products(new: NDArray[np.float64], n_groups: int) -> NDArray[np.float64]:
    """Matrices of the products of the columns of each group with one another."""
    if new.shape[1] != 2 * n_groups:
        grouped = new.reshape(len(new), n_groups, -1)
        return np.asarray(np.einsum("ngi,ngj->gij", grouped, grouped))
    pairs = np.ascontiguousarray(new).view(complex)  # a cosine and a sine
    lengths, squares = np.einsum("ng,ng->g", pairs, pairs.conj()).real, np.einsum("ng,ng->g", pairs, pairs)
    cosines, sines, mixed = (lengths + squares.real) / 2, (lengths - squares.real) / 2, squares.imag / 2
    return np.stack([cosines, mixed, mixed, sines], axis=1).reshape(-1, 2, 2)


def _overlap(result: Evidence, cross: NDArray[np.float64], n_groups: int) -> NDArray[np.float64]:
    """Blocks of the products of new columns with the posterior covariance between them, one for each group."""
    seen = result.factor.solve(result.root[:, None] * cross)
    seen = seen.reshape(len(seen), n_groups, -1)
    return np.asarray(np.einsum("mgi,mgj->gij", seen, seen))


class RowGains:
    """Gains of candidates from rows, where sums do not cover them.

    How much a candidate explains is told by the residuals of all rows. How much of it the model has already is
    computed on some of the rows, and only for candidates that would be the best if it had nothing of them.
    """

    def __call__(self, patterns: Patterns, model: RowModel, wanted: int) -> NDArray[np.float64]:
        """Gain of each pattern; minus infinity for those that are not among the best.

        Parameters
        ----------
        patterns : Patterns
            Candidates.
        model : RowModel
            What they would join.
        wanted : int
            How many of the best are asked for.
        """
        look = _Look(model)
        best = np.argsort(-look.gains(patterns), kind="stable")[: _SHORTLIST * wanted]
        result = np.full(len(patterns), -np.inf)
        result[best] = look.gains(patterns.take(best), exact=True)
        return result


class _Look:
    """Rows and residuals of one model, beside which candidates are looked at."""

    def __init__(self, model: RowModel):
        rows, noise = model.rows, model.parameters[NOISE]
        self._model, self._noise = model, noise
        self._phases, self._root = to_phases(rows.X, model.parameters.period), np.sqrt(rows.precision)[:, None]
        self._residuals = self._root * model.residuals(rows)
        self._few = slice(0, max(_FEW_ROWS, 3 * model.index_set.n_components))
        parts = (slice(0, _FEWER_ROWS), self._few)
        self._shares = [float(rows.precision[part].sum() / rows.precision.sum()) for part in parts]
        self._basis = model.columns(rows.take(self._few)) * self._root[self._few]
        gram = self._basis.T @ self._basis
        linear = LinearStatistics(gram, np.zeros((len(gram), 1)), np.zeros(1), len(self._basis))
        self._results = [evidence(linear, one.root**2, s2) for one, s2 in zip(model.results, noise, strict=True)]

    def gains(self, patterns: Patterns, exact: bool = False) -> NDArray[np.float64]:
        """Gains of patterns; only if they are exact, what the model has of them already is accounted for."""
        result = np.zeros(len(patterns))
        for some, size in _batches(patterns):
            frequencies = patterns.frequencies(some)
            new = columns(self._phases, frequencies)[:, 1:]
            new *= self._root
            moments = (new.T @ self._residuals).reshape(len(some), 2 * size, -1) / self._noise
            new = new[self._few if exact else slice(0, _FEWER_ROWS)]
            own = _own_products(new, len(some))
            variances = self._model.variances(frequencies)[1 : len(new.T) + 1 : 2 * size]
            cross = self._basis.T @ new if exact else None
            for q, (one, s2) in enumerate(zip(self._results, self._noise, strict=True)):
                precision = own / s2
                if cross is not None:
                    precision = precision - _overlap(one, cross, len(some)) / s2**2
                share = self._shares[exact]
                result[some] += gains(moments[:, :, q], precision / share, variances[:, q])
        return result
