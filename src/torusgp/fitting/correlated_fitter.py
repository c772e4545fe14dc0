"""Fits to rows whose noise is correlated in time, by the likelihood of the moments."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm
from scipy.signal import fftconvolve

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.moments import Moments, noise_gram
from torusgp.engine.series import Autocovariance, TimeGrid, lagged_products, longest_lag, summed_products
from torusgp.fitting.advice import advise
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.forecasts import continued
from torusgp.fitting.learning import Learned
from torusgp.fitting.leftover import SURE, Leftover
from torusgp.fitting.levels import find_levels
from torusgp.fitting.moment_source import MomentSource, Series, SeriesColumns
from torusgp.fitting.noise_models import CorrelatedNoise
from torusgp.fitting.noise_process import NoiseProcess
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.prior import NOISE, NOISE_BOUNDS, Prior
from torusgp.fitting.problem import Problem, Settings, spread_of_rows
from torusgp.fitting.rows import Rows, RowSource
from torusgp.fitting.schedule import limited_blas
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.product import to_phases
from torusgp.kernels.resolve import Model

Array = NDArray[np.float64]

FEWEST_ROWS = 50  # from which a correlation is looked for
_FEW_COLUMNS = 401  # columns, at most, while the noise is still being estimated
_MOST_UNASKED = 801  # components where nobody says how many: the noise of each pair of them is computed
_SCOUT_ROWS = 10_000  # on which length scales are first looked for
_MOST_ROUNDS = 5
WORSE = 1.1  # ratio of squared residuals of blocks left out from which a round has made predictions worse
SETTLED = 0.1  # relative change of the autocovariance that ends the rounds
_WINDOW = 20.0  # correlation times over which the autocovariance reaches
_SOKAL = 5.0  # correlation times over which a correlation time is summed up
_FEWEST_LAGS = 16
_SIGNIFICANT = 3.0  # standard errors from which a ratio of variances shows that rows are not independent
_LARGER = 100.0  # factor by which the noise of moments may be larger than blocks left out show


class CorrelatedFitter(Fitter):
    """Fits one model to rows whose noise is correlated.

    A first fit takes them for independent. The autocovariance of residuals of blocks of rows that are left out of it
    gives the covariance of the moments, and with it the next fit, until both agree.
    """

    def __init__(self, model: Model, settings: Settings, noise: CorrelatedNoise):
        super().__init__(model, settings)
        self._noise = noise

    def fit_series(self, series: Series, is_final: bool = True) -> Fit:
        """Fit rows in the order of time; with few components, unless it is final."""
        given = self._noise.autocovariance
        if len(series.rows) < FEWEST_ROWS and given is None:
            advise(f"{len(series.rows)} rows cannot show how their noise is correlated: they count as independent.")
            return self.fit_rows(series.rows)
        self.model = _with_slow_lines(self.model, series)
        outcome, source = self._first(series)
        if given is not None:
            noise = Autocovariance(np.asarray(given, dtype=float))
            outcome, residuals = self._searched(series, outcome, source, noise, self._largest())
            return self._finished(series, outcome, source, noise, residuals)
        white = Autocovariance.white(float(outcome.learned.parameters[NOISE][0]))
        residuals = self._residuals(series, outcome, source, white)
        if not is_correlated(residuals.left_out, residuals.unknown_of_rows(series.grid)):
            self.settings.report("residuals of blocks left out show no correlation: rows count as independent")
            return self.fit_rows(series.rows)
        stepped = self._with_levels(series, residuals)
        if stepped.levels is not None:
            residuals = self._residuals(stepped, outcome, source, white)
        outcome, source, noise, residuals = self._settled(stepped, outcome, source, residuals)
        if stepped.levels is not None:
            without = self._residuals(series, outcome, source, noise)
            if self._with_levels(series, without).levels is None:  # the first fit had predicted a block badly
                self.settings.report("the level does not step beside what was learned since")
                stepped = series
                outcome, source, noise, residuals = self._settled(series, outcome, source, without)
        series = stepped
        if noise.is_cut_off:
            advise(
                f"Errors are autocorrelated over more than {noise.n_lags} rows, too long for {len(series.rows)} rows "
                "to show: standard errors of slow effects may be too small. If the level changes steadily, Slope of "
                "the time takes that into account."
            )
        finish = self._completed if is_final else self._finished
        return finish(series, outcome, source, noise, residuals)

    def _settled(
        self, series: Series, outcome: Preliminary, source: RowSource, residuals: Residuals
    ) -> tuple[Preliminary, RowSource, Autocovariance, Residuals]:
        """What is learned beside the noise that residuals show, and that noise, in rounds until both agree."""
        noise = self._estimated(series, residuals)
        if self.settings.index_set == "learned":
            outcome, source = self._chosen(series, outcome, source, noise)
            noise = self._estimated(series, self._residuals(series, outcome, source, noise), noise.n_lags)
        outcome, residuals = self._searched(series, outcome, source, noise)
        for turn in range(_MOST_ROUNDS):
            known, noise = noise, self._estimated(series, residuals, noise.n_lags)
            change = _change(known, noise)
            self.settings.report(f"autocovariance of the noise changed by {change:.2g}, variance {noise.variance:.4g}")
            if change < SETTLED or turn == _MOST_ROUNDS - 1:
                break
            found = self._relearned(series, outcome, source, noise)
            seen = self._residuals(series, found, source, noise)
            if seen.square > WORSE * residuals.square:  # a slow effect may have been taken for noise
                self.settings.report("blocks left out are predicted worse: the round before is kept")
                break
            outcome, residuals = found, seen
        return outcome, source, noise, residuals

    # Steps -------------------------------------------------------------------------------------------------------

    def _first(self, series: Series) -> tuple[Preliminary, RowSource]:
        """A fit with few columns that takes rows for independent."""
        settings = replace(self.settings, most_components=_FEW_COLUMNS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a fit that is not the last
            outcome = _FirstFitter(self.model, settings, series).learn()
        return outcome, self._source(series, outcome)

    def _with_levels(self, series: Series, residuals: Residuals) -> Series:
        """The series with the steps in its level, which are no noise that goes on."""

        def noise(rest: Array, grid: TimeGrid) -> Autocovariance:
            return Autocovariance.of_residuals(rest, grid, _reach(rest, grid))

        levels = find_levels(residuals.left_out, series.times, series.grid, noise)
        if levels is not None:
            self.settings.report(f"the level steps at {', '.join(f'{one:.6g}' for one in levels.starts)}")
        return replace(series, levels=levels)

    def _chosen(
        self, series: Series, outcome: Preliminary, source: RowSource, noise: Autocovariance
    ) -> tuple[Preliminary, RowSource]:
        """Frequencies that the data choose, each row counting for as much as rows do on average over the columns.

        Of rows that count as independent, quick changes of the noise would be chosen, too.
        """
        same_level = replace(series, levels=None)
        columns = SeriesColumns.of(same_level, source, outcome.learned, self.settings.intercept)
        with limited_blas(columns.n_columns):
            covariance = noise_gram(columns, columns.n_columns, noise, series.grid)
        gram = (
            source.covering(outcome.learned.index_set, outcome.learned.parameters)
            .linear(outcome.learned.index_set, self.settings.intercept)[0]
            .gram
        )
        seen = np.diagonal(gram) > 0
        ratios = np.diagonal(covariance)[seen] / np.diagonal(gram)[seen] / noise.variance
        share = min(1.0, float(np.exp(-np.log(ratios).mean())))
        self.settings.report(f"choosing frequencies again, {1 / share:.3g} rows counting as one")
        rows = replace(series.rows, sample_weight=np.full(len(series.rows), share))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a fit that is not the last
            most = self._largest()
            outcome, _ = Fitter(self.model, replace(self.settings, most_components=most))._learn_from_rows(rows)
        return outcome, self._source(series, outcome)

    def _wants_more(self, learned: Learned) -> bool:
        """Whether the columns so far are fewer than wanted."""
        settings, few = self.settings, learned.index_set.n_components + 2
        if settings.index_set == "learned" or isinstance(settings.index_set, IndexSet):
            return False
        if settings.n_components == "auto":
            return learned.capped and few < _MOST_UNASKED
        return int(settings.n_components) > max(few, _FEW_COLUMNS)

    def _largest(self) -> int | None:
        """Most components, where nobody says how many."""
        return _MOST_UNASKED if self.settings.n_components == "auto" else None

    def _problem(self, series: Series, outcome: Preliminary, cap: int | None = _FEW_COLUMNS) -> Problem:
        settings = replace(self.settings, most_components=cap)
        if settings.index_set == "learned":
            settings = replace(settings, index_set=outcome.learned.index_set)
        spread = spread_of_rows(series.rows, self.model, settings)
        return Problem(self.model, settings, spread, len(series.rows))

    def _source(self, series: Series, outcome: Preliminary) -> RowSource:
        """Sums over the rows; a pool of moments reaches beyond a set by itself."""
        return self._problem(series, outcome).source(series.rows, margin=1.0)

    def _searched(
        self,
        series: Series,
        outcome: Preliminary,
        source: RowSource,
        noise: Autocovariance,
        cap: int | None = _FEW_COLUMNS,
    ) -> tuple[Preliminary, Residuals]:
        """What is learned from what is known so far, or from anywhere, if that predicts blocks left out better.

        Rows that count as independent make all length scales short. Evidences of other moments would not compare.
        """
        searches = (False,) if self.settings.index_set == "learned" else (False, True)
        attempts = []
        for search in searches:
            found = self._relearned(series, outcome, source, noise, search, cap)
            attempts.append((found, self._residuals(series, found, source, noise)))
        return min(attempts, key=lambda one: one[1].square)

    def _relearned(
        self,
        series: Series,
        outcome: Preliminary,
        source: RowSource,
        noise: Autocovariance,
        search: bool = False,
        cap: int | None = _FEW_COLUMNS,
    ) -> Preliminary:
        """What is learned with a certain covariance of the noise, from what is known so far or from anywhere."""
        problem, start = self._problem(series, outcome, cap), outcome.learned.parameters
        first: int | None = outcome.learned.index_set.n_components
        if search:
            start, first = problem.start(start.period), None
        # moments may show that their noise is larger; a term at length scales that the set leaves out would, too
        start = with_noise(start, noise.variance, _LARGER if "noise_variance" in self.settings.learn else 1.0)

        def learn(series: Series, source: RowSource, start: Parameters, search: bool, first: int | None) -> Learned:
            moments = MomentSource(series, source, problem.prior, self.settings, noise)
            select = partial(moments.select_near, problem)
            is_free, is_final = self.settings.index_set != "learned", cap != _FEW_COLUMNS
            return problem.learn(moments, start, search, select, first, circles_move=is_free, is_final=is_final)

        if search and len(series.rows) > 2 * _SCOUT_ROWS:  # some of many show the landscape
            some = series.some(_SCOUT_ROWS, noise.n_lags)
            scouted = learn(some, problem.source(some.rows, margin=1.0), start, True, None)
            start, first, search = scouted.parameters, scouted.index_set.n_components, False
        return replace(outcome, learned=learn(series, source, start, search, first))

    def _residuals(self, series: Series, outcome: Preliminary, source: RowSource, noise: Autocovariance) -> Residuals:
        """Residuals of blocks of rows, each left out in turn."""
        learned = outcome.learned
        columns = SeriesColumns.of(series, source, learned, self.settings.intercept)
        prior = Prior.of(self.model, self.settings.intercept, spread_of_rows(series.rows, self.model, self.settings))
        variances = prior.variances(learned.parameters, learned.index_set.frequencies)[:, 0]
        with limited_blas(columns.n_columns):
            return left_out_residuals(columns, series, noise, variances)

    def _estimated(self, series: Series, residuals: Residuals, n_lags: int | None = None) -> Autocovariance:
        """Autocovariance of the noise, of the variance that rows have which a fit has not seen.

        It averages few values of the periodogram: with the spectrum as it is estimated, normal intervals would be too
        narrow. With the mean of its posterior, a scaled inverse chi-squared density at every frequency, they are right.
        """
        grid, given = series.grid, self.settings.noise_variance
        n_lags = n_lags or _reach(residuals.left_out, grid)
        noise = Autocovariance.of_residuals(residuals.left_out, grid, n_lags, residuals.unknown)
        variance = residuals.variance * (1 + noise.relative_variance(len(series.rows)))
        typical = spread_of_rows(series.rows, self.model, self.settings).typical_noise
        variance = max(variance, NOISE_BOUNDS[0] * float(typical[0]))  # of less, rounding would be all that is left
        if "noise_variance" not in self.settings.learn:
            variance = float(np.ravel(given)[0])
        return noise.scaled(variance / noise.variance)

    def _completed(
        self, series: Series, outcome: Preliminary, source: RowSource, noise: Autocovariance, residuals: Residuals
    ) -> Fit:
        """The fitted model, with as many components as are wanted."""
        if self._wants_more(outcome.learned):
            outcome = self._relearned(series, outcome, source, noise, cap=self._largest())
            residuals = self._residuals(series, outcome, source, noise)
            noise = self._estimated(series, residuals, noise.n_lags)
        return self._finished(series, outcome, source, noise, residuals)

    def _finished(
        self, series: Series, outcome: Preliminary, source: RowSource, noise: Autocovariance, residuals: Residuals
    ) -> Fit:
        """The fitted model, with the process that its noise is."""
        learned = outcome.learned
        problem = self._problem(series, outcome, None)
        # the posterior is that given the moments of its own columns
        settings = replace(self.settings, index_set=learned.index_set)
        moments = MomentSource(series, source, problem.prior, settings, noise)
        of_levels = 0.0 if series.levels is None else series.levels.variance
        parameters = with_noise(learned.parameters, noise.variance + of_levels)
        moments(learned.index_set, parameters)
        statistics = source.refined(learned.index_set, learned.parameters)
        own = moments.moments(learned.index_set)
        outcome = replace(outcome, learned=replace(learned, parameters=parameters))
        fit = self.finish(outcome, statistics, own, noise.redundancy(series.grid))
        shares = len(series.rows) / fit.fitted.effective_sample_size
        std = None if fit.period_std is None else fit.period_std * np.sqrt(max(1.0, shares))
        fitted = with_process(fit.fitted, series, noise)
        squares = residuals.noise_squares(noise.variance)
        return replace(fit, fitted=fitted, period_std=std, noise_squares=squares, left_out=residuals.left_out)


class _FirstFitter(Fitter):
    """Fits rows as if they were independent, but does not look for a frequency that their noise explains."""

    is_final = False

    def __init__(self, model: Model, settings: Settings, series: Series):
        super().__init__(model, settings)
        self._series = series

    def learn(self) -> Preliminary:
        """What is learned from the rows."""
        return self._learn_from_rows(self._series.rows)[0]

    def _leftover(self, problem: Problem, rows: Rows, source: RowSource, learned: Learned) -> Leftover | None:
        left = super()._leftover(problem, rows, source, learned)
        if left is None:
            return None
        rows, grid = self._series.rows, self._series.grid  # in the order of time
        phases = to_phases(rows.X, learned.parameters.period)
        pair = basis_columns(phases, np.vstack([0 * left.frequency, left.frequency]))[:, 1:]
        pair = pair / self._series.scale[:, None]
        residuals = problem.row_model(rows, source, learned).residuals(rows)[:, 0] / self._series.scale
        rest = residuals - pair @ np.linalg.lstsq(pair, residuals, rcond=None)[0]
        noise = Autocovariance.of_residuals(rest, grid, _reach(rest, grid))
        moments, covariance = pair.T @ residuals, noise_gram(pair.__getitem__, 2, noise, grid)
        gain = moments @ np.linalg.solve(covariance, moments) / 2 - np.log(len(rows))
        return left if gain > SURE else None


def with_process(fitted: FittedTorusGP, series: Series, noise: Autocovariance) -> FittedTorusGP:
    """A fitted model with the process that the noise of its rows is."""
    rows, none = series.rows, np.empty(0)
    own = noise, series.grid.step, series.time_input, series.block
    empty = NoiseProcess(*own, np.empty(0, dtype=np.int64), none, none, none, none, none, series.levels)
    return continued(fitted, empty, rows.X, rows.plain, rows.y[:, 0], series.times, series.scale)


@dataclass(frozen=True)
class Residuals:
    """Residuals of blocks left out, in units of the known noise scales, and what they show of the noise.

    Attributes
    ----------
    left_out : ndarray of shape (n_samples,)
        The residuals.
    variance : float
        That of the noise.
    unknown : pair of float and ndarray
        Sums of squares and of products by lag that the residuals have because the function was not known.
    uncertainty : ndarray of shape (n_samples,)
        These squares, row by row.
    """

    left_out: Array
    variance: float
    unknown: tuple[float, Array]
    uncertainty: Array

    @property
    def square(self) -> float:
        """Sum of squared residuals."""
        return float(np.sum(self.left_out**2))

    def unknown_of_rows(self, grid: TimeGrid) -> Array:
        """The autocovariance that they have because the function is not known, by the number of rows between."""
        squares, products = self.unknown
        spacing = max(1.0, grid.n_cells / len(grid))  # cells from row to row, on average
        lags = spacing * np.arange(int((len(products) - 1) / spacing) + 1)
        return np.append(squares, np.interp(lags[1:], np.arange(len(products)), products)) / len(grid)

    def noise_squares(self, variance: float) -> Array:
        """Expected squares of the noise of rows, of this variance, given their residuals."""
        share = variance / (variance + self.uncertainty)
        return (share * self.left_out) ** 2 + share * self.uncertainty


def left_out_residuals(columns: SeriesColumns, series: Series, noise: Autocovariance, variances: Array) -> Residuals:
    """Residuals of each block of rows, predicted by the posterior of the moments of all others.

    Correlation across the edge of two blocks is left out of the covariance of the moments.
    """
    folds, parts = series.folds(), []
    variances = np.append(variances, columns.level_variances)

    def moments(gram: Array, targets: Array, covariance: Array) -> Moments:
        return (
            Moments(gram / noise.variance, targets / noise.variance)
            if noise.is_white
            else Moments.of(gram, targets, covariance)
        )

    for fold in folds:
        own, targets = columns(fold), columns.targets(fold)
        gram = own.T @ own
        covariance = noise.variance * gram
        if not noise.is_white:
            covariance = noise_gram(own.__getitem__, own.shape[1], noise, series.grid.take(fold))
        parts.append((gram, own.T @ targets, covariance))
    whole = [np.sum([part[i] for part in parts], axis=0) for i in range(3)]
    result, seen, uncertainty = (np.empty(len(series.rows)) for _ in range(3))
    weights, root = moments(*whole).posterior(variances)
    unknown_at_last = float(np.sum((root.T @ whole[0]) * root.T))
    products = np.zeros(longest_lag(len(result)))
    for fold, part in zip(folds, parts, strict=True):
        others = [one - own for one, own in zip(whole, part, strict=True)]
        mean, root = moments(*others).posterior(variances)
        own, targets = columns(fold), columns.targets(fold)
        result[fold], seen[fold] = targets - own @ mean, targets - own @ weights
        # a matrix whose product with its transpose is the covariance of what is not known of these rows; the root is
        # an upper triangle
        rows = dtrmm(1.0, root, own.T, trans_a=1).T
        uncertainty[fold] = np.einsum("ij,ij->i", rows, rows)
        products += summed_products(rows, series.grid.take(fold), len(products))
    # what is not known of the function adds to residuals of rows left out, and lowers those of the others
    total, unknown = float(np.sum(result**2)), float(np.sum(uncertainty))
    squares = max(total - unknown, float(np.sum(seen**2)))
    share = float(np.clip((total - squares) / unknown, 0.0, 1.0)) if unknown > 0 else 0.0
    # a prediction adds what all rows leave unknown: then it has the variance that rows left out have shown
    variance = max(squares, total - unknown_at_last) / len(result)
    return Residuals(result, variance, (share * unknown, share * products), share * uncertainty)


def is_correlated(residuals: Array, unknown: Array | None = None) -> bool:
    """Whether the variance of sums of consecutive residuals shows that they are not independent.

    The ratio of variances of Lo and MacKinlay (1988) at distances that double.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples,)
        Residuals of rows left out.
    unknown : ndarray of shape (n_lags,), optional
        The autocovariance that they have because the function is not known. It lasts, but is no noise.
    """
    n_rows, distance = len(residuals), 2
    known = np.zeros(1) if unknown is None else unknown
    both = np.append(known[:0:-1], known)
    sums = np.append(0.0, np.cumsum(residuals - residuals.mean()))
    variance = float(np.var(residuals) - known[0])
    while variance > 0 and distance <= n_rows // 8:
        weights = distance - np.abs(np.arange(1.0 - distance, distance))  # of the covariances in that of two sums
        of_function = fftconvolve(both, weights)
        square = float(np.mean((sums[distance:] - sums[:-distance]) ** 2))
        expected = distance * variance + of_function[len(of_function) // 2]
        error = variance**2 * distance * (2 * distance - 1) * (distance - 1) / 3
        middle = slice(len(known) - 1, len(known) - 1 + len(weights))
        error += float(np.sum(of_function**2) + 2 * variance * weights @ of_function[middle])
        if abs(square - expected) > _SIGNIFICANT * np.sqrt(2 * error / n_rows):
            return True
        distance *= 2
    return False


def _reach(residuals: Array, grid: TimeGrid) -> int:
    """Number of lags over which an autocovariance reaches: several times that over which noise is correlated."""
    most = longest_lag(len(residuals))
    products, pairs = lagged_products(residuals, grid, most)
    squares = (products / np.maximum(pairs, 1.0) / np.mean(residuals**2)) ** 2
    squares[0] = 1.0
    sums = 2 * np.cumsum(squares) - 1
    inside = np.arange(len(sums)) < _SOKAL * sums
    time = sums[-1] if inside.all() else sums[np.argmin(inside)]
    return int(np.clip(np.ceil(_WINDOW * time), min(_FEWEST_LAGS, most), most))


def _change(one: Autocovariance, other: Autocovariance) -> float:
    """Relative change of an autocovariance."""
    return float(np.linalg.norm(one.values - other.values) / np.linalg.norm(other.values))


def with_noise(parameters: Parameters, variance: float, larger: float = 1.0) -> Parameters:
    """Parameters with a noise variance that is learned only in so far as it may be larger by a factor."""
    entries = {name: parameters.entry(name) for name in parameters}
    value = np.array([variance])
    noise = Parameter.make(value, (value, larger * value), larger > 1)
    return Parameters(entries | {NOISE: noise}, parameters.period)


def _with_slow_lines(model: Model, series: Series) -> Model:
    """The model with lines in time that are at least as slow as a block is long.

    What varies within it and was not seen is the noise: both would explain the same drift.
    """

    def slowed(factor: Any) -> Any:
        is_time = factor.is_line and model.torus.axes[factor.axes[0]].input == series.time_input
        if not is_time or not factor.learned:
            return factor
        low, high = factor.bounds
        low = max(low, min(series.block, high))
        return replace(factor, bounds=(low, high), length_scale=np.clip(factor.length_scale, low, high))

    terms = tuple(replace(term, factors=tuple(slowed(factor) for factor in term.factors)) for term in model.terms)
    return replace(model, terms=terms)
