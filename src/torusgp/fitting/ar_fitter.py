r"""Fits of periodic models with autoregressive noise: generalised least squares by gains.

Noise with :math:`\sum_j a_j e_{t-j} = u_t`, :math:`a_0 = 1`, is white after the filter :math:`a`. That turns a harmonic
of frequency :math:`\omega` into itself times the gain :math:`A(\omega) = \sum_j a_j e^{-i \omega j}`, so the sums of
filtered components follow from those of the components. The first :math:`p` rows of every run without gaps have no
filtered targets: the evidence is that of all other rows given these.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.inference import LinearStatistics, evidence
from torusgp.engine.moments import Moments
from torusgp.engine.series import Autocovariance, TimeGrid, lagged_products
from torusgp.fitting.correlated_fitter import with_noise, with_process
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.moment_source import Series, SeriesColumns
from torusgp.fitting.noise_models import ARNoise
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.problem import Problem, Settings, spread_of_rows
from torusgp.fitting.rows import Rows, RowSource
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.resolve import Model

Array = NDArray[np.float64]

_FEW_COLUMNS = 401  # components, at most, of the first fit
_ROUNDS = 3
_ORDER_SHARE = 0.02  # of the rows, that "auto" takes for the order at most
_MOST_ORDER = 500
_FEWEST_ROWS = 50


class ARFitter(Fitter):
    """Fits a model of circles to rows with autoregressive noise."""

    def __init__(self, model: Model, settings: Settings, noise: ARNoise):
        super().__init__(model, settings)
        self._noise = noise

    def fit_series(self, series: Series) -> Fit:
        """Fit rows in the order of time."""
        self._check(series)
        settings = self.settings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a fit that is not the last
            first = Fitter(self.model, replace(settings, most_components=_FEW_COLUMNS))
            outcome, _ = first._learn_from_rows(series.rows)
        prior = Prior.of(self.model, settings.intercept, spread_of_rows(series.rows, self.model, settings))
        plain = RowSource(series.rows, prior, settings.compute, settings.intercept, settings.index_set)
        weights = self._weights(plain(outcome.learned.index_set, outcome.learned.parameters), prior, outcome)
        for _ in range(1 if self._noise.coefficients is not None else _ROUNDS):
            columns = SeriesColumns.of(series, plain, outcome.learned, settings.intercept)
            residuals = columns.targets(slice(None)) - columns(slice(None)) @ weights
            source = ARSource(series, prior, settings, self._filter(residuals, series.grid))
            problem = Problem(
                self.model,
                settings,
                spread_of_rows(series.rows, self.model, settings),
                len(series.rows),
            )
            start = problem.start(outcome.learned.parameters.period)
            if "noise_variance" not in settings.learn:
                given = float(np.ravel(settings.noise_variance)[0])
                start = with_noise(start, given / impulse_power(source.filter))
            outcome = replace(outcome, learned=problem.learn(source, start))
            weights = self._weights(source(outcome.learned.index_set, outcome.learned.parameters), prior, outcome)
        return self._finished(series, outcome, plain, source)

    def _check(self, series: Series) -> None:
        """Raise if the model is not periodic in time, or the times are not on a regular grid."""
        axes = self.model.torus.axes
        others = [one.name for one in axes if one.kind != "circle" or one.input != series.time_input]
        others += [column.name for column in self.model.columns]
        if others:
            raise ValueError(
                f"noise='ar' is for circles of the time alone, but the model has {others[0]!r}: use noise='correlated'."
            )
        if not series.grid.is_regular:
            raise ValueError("noise='ar' needs times on a regular grid, each at most once: use noise='correlated'.")
        if series.rows.noise_scale is not None:
            raise ValueError("noise_scale does not go with noise='ar': use noise='correlated'.")
        if self.settings.index_set == "learned":
            raise ValueError("index_set='learned' does not go with noise='ar': use index_set='adaptive'.")
        if len(series.rows) < _FEWEST_ROWS:
            raise ValueError(f"noise='ar' needs {_FEWEST_ROWS} rows or more, got {len(series.rows)}.")

    def _filter(self, residuals: Array, grid: TimeGrid) -> Array:
        """Filter that makes residuals white."""
        if self._noise.coefficients is not None:
            return np.append(1.0, -np.asarray(self._noise.coefficients, dtype=float))
        order = self._noise.order
        most = max(1, min(int(_ORDER_SHARE * len(residuals)), _MOST_ORDER)) if order == "auto" else int(order)
        found = autoregression(residuals, grid, most, is_best=order == "auto")
        self.settings.report(f"autoregression of order {len(found) - 1}")
        return found

    def _weights(self, linear: LinearStatistics, prior: Prior, outcome: Preliminary) -> Array:
        learned = outcome.learned
        variances = prior.variances(learned.parameters, learned.index_set.frequencies)
        return np.asarray(evidence(linear, variances[:, 0], float(learned.parameters[NOISE][0])).weights)

    def _finished(self, series: Series, outcome: Preliminary, plain: RowSource, source: ARSource) -> Fit:
        learned = outcome.learned
        linear, innovations = source(learned.index_set, learned.parameters), float(learned.parameters[NOISE][0])
        noise = Autocovariance.of_filter(source.filter, innovations, series.grid)
        square, n = float(linear.squares[0]) / innovations, linear.n_samples
        alone = -0.5 * (n * np.log(2 * np.pi * innovations) + square)
        moments = Moments(linear.gram / innovations, linear.moments[:, 0] / innovations, alone, square, n)
        statistics = plain.refined(learned.index_set, learned.parameters)
        parameters = with_noise(learned.parameters, noise.variance)
        outcome = replace(outcome, learned=replace(learned, parameters=parameters))
        fit = self.finish(outcome, statistics, moments, noise.redundancy(series.grid))
        return replace(fit, fitted=with_process(fit.fitted, series, noise))


@dataclass
class ARSource:
    """Statistics of filtered components and targets, of any index set.

    Attributes
    ----------
    series : Series
        The rows.
    prior : Prior
        The model.
    settings : Settings
        What the user asks for.
    filter : ndarray of shape (order + 1,)
        What makes the noise white, one first.
    """

    series: Series
    prior: Prior
    settings: Settings
    filter: Array

    def __post_init__(self) -> None:
        order, cells, y = len(self.filter) - 1, self.series.grid.cells, self.series.rows.y[:, 0]
        if self.settings.intercept:
            y = y - y.mean()
        rows = np.flatnonzero(cells[order:] - cells[: len(cells) - order] == order) + order
        if len(rows) < _FEWEST_ROWS:
            raise ValueError(f"Only {len(rows)} rows have {order} rows without a gap before them: lower the order.")
        targets = sum(a * y[rows - j] for j, a in enumerate(self.filter))
        filtered = Rows(self.series.rows.X[rows], np.asarray(targets)[:, None])
        self._source = RowSource(filtered, self.prior, self.settings.compute, False, self.settings.index_set)

    def __call__(self, index_set: IndexSet, parameters: Parameters) -> LinearStatistics:
        """Statistics of the components of a set."""
        linear = self._source(index_set, parameters)
        turns = index_set.frequencies @ (1 / parameters.period)
        lags = np.arange(len(self.filter))
        gains = np.exp(-2j * np.pi * self.series.grid.step * np.outer(turns, lags)) @ self.filter
        matrix = np.zeros_like(linear.gram)
        cos = np.arange(1, len(matrix), 2)
        matrix[0, 0] = gains[0].real
        matrix[cos, cos], matrix[cos + 1, cos] = gains[1:].real, -gains[1:].imag
        matrix[cos, cos + 1], matrix[cos + 1, cos + 1] = gains[1:].imag, gains[1:].real
        return replace(linear, gram=matrix.T @ linear.gram @ matrix, moments=matrix.T @ linear.moments)


def autoregression(residuals: Array, grid: TimeGrid, order: int, is_best: bool = False) -> Array:
    """Filter of an autoregression of some order, or of the order up to it that Akaike's criterion prefers.

    By the recursion of Levinson and Durbin on autocovariances, whose sums are divided by the number of rows.
    """
    products, pairs = lagged_products(residuals, grid, order + 1)
    lags = np.arange(order + 1)
    covariance = products / np.maximum(pairs, 1.0) * (1 - lags / grid.n_cells)
    filters, variance = [np.ones(1)], float(covariance[0])
    losses = [len(residuals) * np.log(variance)]
    for p in range(1, order + 1):
        before = filters[-1]
        reflection = -float(before @ covariance[p:0:-1]) / variance
        if abs(reflection) >= 1:  # autocovariances with gaps need not be those of a process
            break
        longer = np.append(before, 0.0)
        filters.append(longer + reflection * longer[::-1])
        variance *= 1 - reflection**2
        losses.append(len(residuals) * np.log(variance) + 2 * p)
    return filters[int(np.argmin(losses))] if is_best else filters[-1]


def impulse_power(coefficients: Array, n_lags: int = 10_000) -> float:
    """Variance of the process over that of its innovations."""
    return float(Autocovariance.response(coefficients, n_lags) @ Autocovariance.response(coefficients, n_lags))
