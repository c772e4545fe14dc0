r"""Evidence that further columns would add to a model, and what its own columns are worth.

For columns :math:`\Phi` of prior variance :math:`\lambda` beside a model with columns F, precisions P of the rows
and the posterior :math:`N(\mu, \Sigma)` of its weights, the gain is

.. math:: \tfrac12 Q' (S + I / \lambda)^{-1} Q - \tfrac12 \log\det(I + \lambda S), \quad
          Q = \Phi' P (y - F \mu) / s^2, \quad S = (\Phi' P \Phi - \Phi' P F \Sigma F' P \Phi / s^2) / s^2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import make_predictor
from torusgp.engine.basis import columns
from torusgp.engine.inference import Evidence
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.rows import Rows, RowSource
from torusgp.kernels.candidates import Patterns
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.product import to_phases

_BATCH = 512  # frequencies whose columns are held at once
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
    same_size = {int(size): np.flatnonzero(sizes == size) for size in np.unique(sizes)}
    places = {size: np.array([groups[i] for i in own]) for size, own in same_size.items()}
    posteriors = [_Conditioned(result, places) for result in results]
    while kept.any():
        worth = np.full(len(groups), np.inf)
        for size, own in same_size.items():
            worth[own] = np.where(kept[own], sum(one.worth(size) for one in posteriors), np.inf)
        least = int(np.argmin(worth))
        if worth[least] >= price:
            break
        kept[least] = False
        for one in posteriors:
            one.set_to_zero(groups[least])
    return kept


class _Conditioned:
    """Posterior of weights, in units of their prior standard deviations, given that some of them are zero.

    Its covariance is that of all weights less a product of low rank, as in a pivoted Cholesky factorization. Only the
    blocks of the groups are kept up to date.
    """

    def __init__(self, result: Evidence, places: dict[int, NDArray[np.int64]]):
        # prior standard deviations may be tiny, or zero
        self._mean = np.divide(result.weights, result.root, out=np.zeros_like(result.root), where=result.root > 0)
        self._covariance = result.factor.covariance(np.ones_like(result.root))
        self._places = places
        self._blocks = {size: self._covariance[own[:, :, None], own[:, None, :]] for size, own in places.items()}
        self._less, self._rank = np.empty((len(self._mean), 64)), 0

    def worth(self, size: int) -> NDArray[np.float64]:
        """Log evidence that groups of so many columns add: the ratio of their densities at zero."""
        blocks, weights = self._blocks[size], self._mean[self._places[size]]
        explained = np.linalg.solve(blocks, weights[:, :, None])[:, :, 0]
        return np.asarray(0.5 * (np.einsum("gc,gc->g", weights, explained) + np.linalg.slogdet(blocks)[1]))

    def set_to_zero(self, where: NDArray[np.int64]) -> None:
        """Condition on these weights being zero."""
        known = self._less[:, : self._rank]
        columns = self._covariance[:, where] - known @ known[where].T
        both = np.linalg.solve(np.linalg.cholesky(columns[where]), np.column_stack([columns.T, self._mean[where]]))
        half = both[:, :-1].T
        self._mean -= half @ both[:, -1]
        if self._rank + len(where) > self._less.shape[1]:
            self._less = np.hstack([self._less, np.empty_like(self._less)])
        self._less[:, self._rank : self._rank + len(where)] = half
        self._rank += len(where)
        for size, own in self._places.items():
            self._blocks[size] -= np.einsum("gik,gjk->gij", half[own], half[own])
        dropped = self._places[len(where)][:, 0] == where[0]
        self._blocks[len(where)][dropped] = np.eye(len(where))  # not singular


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


def _on_cpu(frequencies: NDArray[np.int64]) -> Any:
    return make_predictor("dense", frequencies, None, 1)


@dataclass(frozen=True)
class RowModel(Model):
    """A model of rows at hand, in random order."""

    rows: Rows

    def columns(self, rows: Rows) -> NDArray[np.float64]:
        """Basis functions at rows, plain ones in the units that they have among its own rows."""
        basis = columns(to_phases(rows.X, self.parameters.period), self.index_set.frequencies)
        return basis if rows.plain is None else np.hstack([basis, self.plain_columns(rows)])

    def plain_columns(self, rows: Rows) -> NDArray[np.float64]:
        """Plain columns at rows, in the units that they have among the rows of the model."""
        if rows.plain is None or self.rows.plain is None:
            return np.zeros((len(rows), 0))
        precision = self.rows.precision
        mean = np.average(self.rows.plain, axis=0, weights=precision)
        spread = np.sqrt(np.average((self.rows.plain - mean) ** 2, axis=0, weights=precision))
        return np.asarray((rows.plain - mean) / np.where(spread > 0, spread, 1.0))

    def residuals(self, rows: Rows, predictor_of: Callable[[NDArray[np.int64]], Any] = _on_cpu) -> NDArray[np.float64]:
        """Targets of rows less their posterior means, shape (n_rows, n_outputs)."""
        weights, n = np.stack([result.weights for result in self.results], axis=1), self.index_set.n_components
        offset = np.average(self.rows.y, axis=0, weights=self.rows.precision) if self.center else 0.0
        phases = to_phases(rows.X, self.parameters.period)
        fourier = predictor_of(self.index_set.frequencies).mean(phases, weights[:n])
        return np.asarray(rows.y - offset - fourier - self.plain_columns(rows) @ weights[n:])


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


def _overlap(result: Evidence, cross: NDArray[np.float64], n_groups: int) -> NDArray[np.float64]:
    """Blocks of the products of new columns with the posterior covariance between them, one for each group."""
    seen = result.factor.solve(result.root[:, None] * cross)
    seen = seen.reshape(len(seen), n_groups, -1)
    return np.asarray(np.einsum("mgi,mgj->gij", seen, seen))


class RowGains:
    """Gains of candidates from rows, where sums do not cover them.

    How much a candidate explains is told by the residuals of all rows. How much of it the model has already is
    computed on some of the rows, and only for candidates that would be the best if it had nothing of them.

    Parameters
    ----------
    make_source : callable
        Source of the statistics of rows; it says on which device they are computed.
    """

    def __init__(self, make_source: Callable[[Rows], RowSource]):
        self._make_source = make_source

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
        look = _Look(model, self._make_source, patterns)
        best = np.argsort(-look.rough_gains(), kind="stable")[: _SHORTLIST * wanted]
        result = np.full(len(patterns), -np.inf)
        result[best] = look.exact_gains(best)
        return result


class _Look:
    """Candidates beside a model: what residuals show of them on all rows, and what the model has of them on some."""

    def __init__(self, model: RowModel, make_source: Callable[[Rows], RowSource], patterns: Patterns):
        rows = model.rows
        self._model, self._make_source, self._patterns = model, make_source, patterns
        self._predictor = make_source(rows).dense_predictor
        self._phases, self._precision = to_phases(rows.X, model.parameters.period), rows.precision[:, None]
        ends = 2 * np.cumsum(patterns.sizes)
        self._starts = ends - 2 * patterns.sizes
        self._moments = np.empty((int(ends[-1]) if len(ends) else 0, rows.y.shape[1]))

    def rough_gains(self) -> NDArray[np.float64]:
        """Gains of all candidates if the model had nothing of them."""
        weighted = self._precision * self._model.residuals(self._model.rows, self._predictor)
        result, some = np.empty(len(self._patterns)), slice(0, _FEWER_ROWS)
        for chosen, size in _batches(self._patterns):
            frequencies = self._patterns.frequencies(chosen)
            moments = self._predictor(frequencies).adjoint(self._phases, weighted)[1:]
            self._moments[self._places(chosen, size)] = moments.reshape(len(chosen), 2 * size, -1)
            result[chosen] = self._gains(chosen, size, self._own_products(frequencies, size, some), some)
        return result

    def exact_gains(self, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Gains of some of the candidates."""
        model, rows = self._model, self._model.rows
        some = slice(0, max(_FEW_ROWS, 3 * model.index_set.n_components))
        few = rows.take(some)
        results = model.results
        if len(few) < len(rows):
            results = self._make_source(few).posterior(model.index_set, model.parameters)
        predictor, plain = self._predictor(model.index_set.frequencies), model.plain_columns(few)
        result = np.empty(len(candidates))
        for chosen, size in _batches(self._patterns.take(candidates)):
            frequencies = self._patterns.frequencies(candidates[chosen])
            new = columns(self._phases[some], frequencies)[:, 1:] * self._precision[some]
            cross = np.vstack([predictor.adjoint(self._phases[some], new), plain.T @ new])
            own = self._own_products(frequencies, size, some)
            overlaps = [_overlap(one, cross, len(chosen)) for one in results]
            result[chosen] = self._gains(candidates[chosen], size, own, some, overlaps)
        return result

    def _places(self, chosen: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Numbers of the columns of candidates, shape (n_candidates, 2 * size)."""
        return np.asarray(self._starts[chosen][:, None] + np.arange(2 * size))

    def _own_products(self, frequencies: NDArray[np.int64], size: int, some: slice) -> NDArray[np.float64]:
        """Matrices of the products of the columns of each candidate with one another, over some of the rows."""
        phases, precision = self._phases[some], self._precision[some]
        if size > 1:
            new = columns(phases, frequencies)[:, 1:] * np.sqrt(precision)
            grouped = new.reshape(len(new), -1, 2 * size)
            return np.asarray(np.einsum("ngi,ngj->gij", grouped, grouped))
        # of a cosine and a sine: those of twice the frequency
        cosines, sines = self._predictor(2 * frequencies).adjoint(phases, precision)[1:, 0].reshape(-1, 2).T / 2
        half = precision.sum() / 2
        return np.stack([half + cosines, sines, sines, half - cosines], axis=1).reshape(-1, 2, 2)

    def _gains(
        self,
        chosen: NDArray[np.int64],
        size: int,
        own: NDArray[np.float64],
        some: slice,
        overlaps: list[NDArray[np.float64]] | None = None,
    ) -> NDArray[np.float64]:
        """Gains of candidates of one size, from products over some of the rows."""
        frequencies, moments = self._patterns.frequencies(chosen), self._moments[self._places(chosen, size)]
        variances = self._model.variances(frequencies)[1 : 2 * len(frequencies) - 1 : 2 * size]
        share = float(self._precision[some].sum() / self._precision.sum())
        result = np.zeros(len(chosen))
        for q, noise in enumerate(self._model.parameters[NOISE]):
            precision = own / noise
            if overlaps is not None:
                precision = precision - overlaps[q] / noise**2
            result += gains(moments[:, :, q] / noise, precision / share, variances[:, q])
        return result
