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
_TOGETHER = 1024  # frequencies that are compared with one another
_SHORTLIST = 3  # times as many candidates as are wanted are looked at exactly
_FEW_ROWS, _ROWS_PER_COLUMN = 8000, 4  # rows, at least, that tell what the model and candidates have in common
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
    kept = np.ones(len(groups), dtype=bool)
    posteriors = _Reduced([_standardized(one) for one in results], groups)
    while kept.any():
        quadratic, log_determinant = posteriors.forms()
        worth = np.where(kept, quadratic + log_determinant, np.inf)
        least = int(np.argmin(worth))
        if worth[least] >= price:
            break
        kept[least] = False
        posteriors.remove(least)
    return kept


def _standardized(result: Evidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Posterior mean and covariance of weights in units of their prior standard deviations, which may be zero."""
    mean = np.divide(result.weights, result.root, out=np.zeros_like(result.root), where=result.root > 0)
    return mean, result.factor.covariance(np.ones_like(result.root))


def joint_gains(
    parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]], groups: list[NDArray[np.int64]], wanted: int
) -> NDArray[np.float64]:
    """Log evidence that groups of columns would add, each given the model and all groups that are better.

    Candidates that show the same thing have each a large gain and together hardly more than one of them.

    Parameters
    ----------
    parts : list of (moments, precision)
        For each output the vector Q and the matrix S of all columns, in units of their prior standard deviations.
    groups : list of ndarray of int
        Numbers of the columns of each group.
    wanted : int
        How many of the best are asked for; of others gains are given these.
    """
    left = _Reduced([(moments, np.eye(len(moments)) + precision) for moments, precision in parts], groups)
    result, chosen = np.empty(len(groups)), np.zeros(len(groups), dtype=bool)
    while True:
        quadratic, log_determinant = left.forms()
        gain = np.where(chosen, -np.inf, quadratic - log_determinant)
        best = int(np.argmax(gain))
        if gain[best] <= 0 or np.count_nonzero(chosen) == wanted:
            return np.where(chosen, result, gain)
        result[best], chosen[best] = gain[best], True
        left.remove(best)


class _Reduced:
    """Vectors v and matrices B, less what removed groups of columns explain: a pivoted Cholesky factorization.

    If v and B are mean and covariance of weights, removed ones are known to be zero. If they are moments and precision,
    removed ones have joined a model. Only the blocks of the groups are kept up to date.
    """

    def __init__(self, parts: list[tuple[NDArray[np.float64], NDArray[np.float64]]], groups: list[NDArray[np.int64]]):
        sizes = np.array([len(group) for group in groups])
        self._groups, self._same_size = groups, [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
        self._places = [np.array([groups[i] for i in own]) for own in self._same_size]
        self._vectors, self._matrices = [vector.copy() for vector, _ in parts], [matrix for _, matrix in parts]
        self._blocks = [[matrix[own[:, :, None], own[:, None, :]] for own in self._places] for matrix in self._matrices]
        self._less, self._rank = [np.empty((len(vector), 64)) for vector in self._vectors], 0

    def forms(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half of v'v / B and of log det B, of each group and summed over outputs."""
        quadratic, log_determinant = np.zeros(len(self._groups)), np.zeros(len(self._groups))
        for vector, blocks in zip(self._vectors, self._blocks, strict=True):
            for own, places, block in zip(self._same_size, self._places, blocks, strict=True):
                values = vector[places]
                solved = np.linalg.solve(block, values[:, :, None])[:, :, 0]
                quadratic[own] += 0.5 * np.einsum("gc,gc->g", values, solved)
                log_determinant[own] += 0.5 * np.linalg.slogdet(block)[1]
        return quadratic, log_determinant

    def remove(self, number: int) -> None:
        """Subtract what a group explains."""
        where = self._groups[number]
        end = self._rank + len(where)
        for q, (vector, matrix) in enumerate(zip(self._vectors, self._matrices, strict=True)):
            known = self._less[q][:, : self._rank]
            columns = matrix[:, where] - known @ known[where].T
            both = np.linalg.solve(np.linalg.cholesky(columns[where]), np.column_stack([columns.T, vector[where]]))
            half = both[:, :-1].T
            vector -= half @ both[:, -1]
            if end > self._less[q].shape[1]:
                self._less[q] = np.hstack([self._less[q], np.empty((len(vector), end))])
            self._less[q][:, self._rank : end] = half
            for own, places, block in zip(self._same_size, self._places, self._blocks[q], strict=True):
                block -= np.einsum("gik,gjk->gij", half[places], half[places])
                block[own == number] = np.eye(block.shape[1])  # not singular
        self._rank = end


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


def _together(patterns: Patterns, order: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Numbers of patterns in this order, few at a time."""
    places = np.cumsum(patterns.sizes[order]) // _TOGETHER
    for place in np.unique(places):
        yield order[places == place]


def _beside(
    model: Model,
    patterns: Patterns,
    moments: NDArray[np.float64],
    cross: NDArray[np.float64],
    own: NDArray[np.float64],
    wanted: int,
    some: tuple[list[Evidence], float] | None = None,
) -> NDArray[np.float64]:
    """Joint gains of patterns beside a model.

    Parameters
    ----------
    model : Model
        What they would join.
    patterns : Patterns
        Candidates.
    moments : ndarray of shape (n_new, n_outputs)
        Products of their columns with the residuals of the model.
    cross, own : ndarray of shape (n_old, n_new) and (n_new, n_new)
        Products of their columns with those of the model and with one another.
    wanted : int
        How many of the best are asked for.
    some : (list of Evidence, float), optional
        The posterior of the rows over which these products are summed, and their share, if they are not all.
    """
    results, share = (model.results, 1.0) if some is None else some
    variances, parts = model.variances(patterns.frequencies())[1 : len(own) + 1], []
    for q, (one, noise) in enumerate(zip(results, model.parameters[NOISE], strict=True)):
        root = np.sqrt(variances[:, q])
        seen = one.factor.solve(one.root[:, None] * cross)
        precision = (own - seen.T @ seen / noise) / (noise * share)
        parts.append((root * moments[:, q] / noise, root[:, None] * precision * root))
    return joint_gains(parts, [one - 1 for one in patterns.columns()], wanted)


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
        alone, result = np.empty(len(patterns)), np.full(len(patterns), -np.inf)
        for some in _together(patterns, np.arange(len(patterns))):
            alone[some] = self._gains(patterns.take(some), model, 0)
        for some in _together(patterns, np.argsort(-alone, kind="stable")[: _SHORTLIST * wanted]):
            result[some] = self._gains(patterns.take(some), model, wanted)
        return result

    def _gains(self, patterns: Patterns, model: Model, wanted: int) -> NDArray[np.float64]:
        both = IndexSet(np.vstack([model.index_set.frequencies, patterns.frequencies()[1:]]), None)
        linear, _ = self._statistics.linear(both, model.center)
        new = np.arange(model.index_set.n_components, both.n_components)
        old = np.delete(np.arange(len(linear.gram)), new)  # plain columns come last
        cross = linear.gram[np.ix_(old, new)]
        moments = linear.moments[new] - cross.T @ np.stack([one.weights for one in model.results], axis=1)
        return _beside(model, patterns, moments, cross, linear.gram[np.ix_(new, new)], wanted)


class RowGains:
    """Gains of candidates from rows, where sums do not cover them.

    How much a candidate explains is told by the residuals of all rows. How much of it the model and better candidates
    have already is computed on some of the rows, and only for candidates that would be the best if they had nothing.

    Parameters
    ----------
    make_source : callable
        Source of the statistics of rows; it says on which device they are computed.
    """

    def __init__(self, make_source: Callable[[Rows], RowSource]):
        self._make_source = make_source

    def __call__(self, patterns: Patterns, model: RowModel, wanted: int) -> NDArray[np.float64]:
        """Gain of each pattern given the better ones; minus infinity for those that are not among the best.

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
        for some in _together(patterns, best):
            result[some] = look.exact_gains(some, wanted)
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
        weighted = self._precision * model.residuals(rows, self._predictor)
        self._moments = self._predictor(patterns.frequencies()).adjoint(self._phases, weighted)[1:]

    def _some(self, n_new: int) -> tuple[Rows, list[Evidence], float]:
        """Some of the rows, the posterior that they give, and their share; they outnumber all columns."""
        model, rows = self._model, self._model.rows
        few = rows.take(slice(0, max(_FEW_ROWS, _ROWS_PER_COLUMN * (model.index_set.n_components + n_new))))
        if len(few) == len(rows):
            return rows, model.results, 1.0
        results = self._make_source(few).posterior(model.index_set, model.parameters)
        return few, results, float(few.precision.sum() / rows.precision.sum())

    def rough_gains(self) -> NDArray[np.float64]:
        """Gains of all candidates if the model had nothing of them."""
        result = np.empty(len(self._patterns))
        for chosen, size in _batches(self._patterns):
            frequencies = self._patterns.frequencies(chosen)
            moments = self._moments[self._places(chosen, size)]
            own = self._own_products(frequencies, size)
            variances = self._model.variances(frequencies)[1 : 2 * len(frequencies) - 1 : 2 * size]
            result[chosen] = sum(
                gains(moments[:, :, q] / noise, own / noise, variances[:, q])
                for q, noise in enumerate(self._model.parameters[NOISE])
            )
        return result

    def exact_gains(self, chosen: NDArray[np.int64], wanted: int) -> NDArray[np.float64]:
        """Joint gains of some of the candidates."""
        model, frequencies = self._model, self._patterns.frequencies(chosen)
        n_old, (rows, results, share) = model.index_set.n_components, self._some(2 * len(frequencies) - 2)
        phases = self._phases[: len(rows)]
        new = columns(phases, frequencies)[:, 1:] * self._precision[: len(rows)]
        both = self._predictor(np.vstack([model.index_set.frequencies, frequencies[1:]])).adjoint(phases, new)
        cross = np.vstack([both[:n_old], model.plain_columns(rows).T @ new])
        moments = self._moments[np.concatenate([self._places(i, self._patterns.sizes[i]) for i in chosen])]
        return _beside(model, self._patterns.take(chosen), moments, cross, both[n_old:], wanted, (results, share))

    def _places(self, chosen: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Numbers of the columns of candidates, shape (n_candidates, 2 * size)."""
        return np.asarray(self._starts[chosen][..., None] + np.arange(2 * size))

    def _own_products(self, frequencies: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        """Matrices of the products of the columns of each candidate with one another, from a few of the rows."""
        phases, precision = self._phases[:_FEWER_ROWS], self._precision[:_FEWER_ROWS]
        share = float(precision.sum() / self._precision.sum())
        if size > 1:
            new = columns(phases, frequencies)[:, 1:] * np.sqrt(precision)
            grouped = new.reshape(len(new), -1, 2 * size)
            return np.asarray(np.einsum("ngi,ngj->gij", grouped, grouped)) / share
        # of a cosine and a sine: those of twice the frequency
        cosines, sines = self._predictor(2 * frequencies).adjoint(phases, precision)[1:, 0].reshape(-1, 2).T / 2
        half = precision.sum() / 2
        return np.stack([half + cosines, sines, sines, half - cosines], axis=1).reshape(-1, 2, 2) / share
