"""Fits of ANOVA sums: from rows on the axes of a model to a fitted one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.marginals import Marginals
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.anova.fitted import FittedAnova, Sum
from torusgp.fitting.anova.loop import N_COLUMNS, State, fit
from torusgp.fitting.anova.observations import LikelihoodRows, NormalRows, Observation
from torusgp.fitting.anova.rows import BlockedRows
from torusgp.fitting.forecasts import continued
from torusgp.fitting.learning import Learned
from torusgp.fitting.likelihoods import Likelihood
from torusgp.fitting.noise_process import NoiseProcess
from torusgp.fitting.outcome import Fit
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.prior import NOISE, Prior, scale_name, variance_name
from torusgp.fitting.rows import Compute, Rows
from torusgp.kernels.anova import CentredAxis
from torusgp.kernels.index_sets import IndexSet, from_frequencies
from torusgp.kernels.resolve import Model

Array = NDArray[np.float64]

MOST_ROWS = 2_000_000  # whose columns are held a tenth at a time: 2 GiB of a thousand components
_FEWEST_IN_TIME = 50  # rows from which a correlation in time is looked for
_LEAST_NOISE = 0.01  # of the mean square of residuals of blocks left out: the function explains no more of it


@dataclass(frozen=True, eq=False)
class AnovaFitter:
    """Fits one ANOVA sum with one set of settings.

    Attributes
    ----------
    model : Model
        Axes and terms.
    order : int
        Largest number of axes that interact.
    n_columns : int or "auto"
        Size of the pool.
    compute : Compute
        How predictions are computed.
    likelihood : Likelihood
        How targets follow from the function.
    report : callable
        Takes lines of progress.
    """

    model: Model
    order: int
    n_columns: int | str
    compute: Compute
    likelihood: Likelihood
    report: Callable[[str], None]

    def fit_rows(self, rows: Rows, times: Array | None = None, time_input: int | None = None) -> Fit:
        """Fit rows, whose noise is a process in time where their times are given."""
        if len(rows) > MOST_ROWS:
            raise ValueError(
                f"Anova takes up to {MOST_ROWS:,} rows, got {len(rows):,}: fit some of them, or a sum of your own "
                "terms, whose sums are gathered in chunks."
            )
        torus, model = self.model.torus, self.model
        is_exposure = self.likelihood.takes == "exposure"
        weight = None if rows.noise_scale is None or is_exposure else rows.precision
        families = {axis: factor.family for term in model.terms for factor in term.factors for axis in factor.axes}
        axes = tuple(
            CentredAxis.of(axis, float(model.period[d]), families[d], rows.X[:, d], weight)
            for d, axis in enumerate(torus.axes)
        )
        observation, offset, spread = self._observation(rows, weight)
        in_time = times is not None and len(rows) >= _FEWEST_IN_TIME
        blocked = BlockedRows.of(rows.X, times if in_time else None)
        size = N_COLUMNS if self.n_columns == "auto" else int(self.n_columns)
        state = fit(blocked, axes, observation, self.order, size, self.report)
        return self._fit(rows, blocked, state, weight, offset, spread, times if in_time else None, time_input)

    def _observation(self, rows: Rows, weight: Array | None) -> tuple[Observation, float, float]:
        """The rows as they are observed, and the offset and unit of the function."""
        y, scales = rows.y[:, 0], np.ones(len(rows)) if rows.noise_scale is None else rows.noise_scale
        if np.ptp(y) <= 1e-14 * np.abs(y).max():
            raise ValueError(f"The targets are all {y[0]:.6g}: nothing can be learned from them.")
        if self.likelihood.needs_passes:
            latent = LikelihoodRows.of(self.likelihood, y, scales)
            return latent, latent.offset, latent.unit
        offset = float(np.average(y, weights=weight))
        spread = float(np.sqrt(np.average((y - offset) ** 2, weights=weight)))
        return NormalRows((y - offset) / spread, 1 / scales), offset, spread

    def _fit(
        self,
        rows: Rows,
        blocked: BlockedRows,
        state: State,
        weight: Array | None,
        offset: float,
        spread: float,
        times: Array | None,
        time_input: int | None,
    ) -> Fit:
        assert state.left_out is not None
        learned = Sum(
            state.prior,
            state.learned.vector,
            state.basis,
            state.sums.total,
            state.learned.noise_variance,
            blocked.averages(state.basis, weight),
            spread,
        )
        residuals, precision = state.working.residuals(state.left_out.values), state.working.root_weight**2
        squares, unknown = float(np.mean(residuals**2)), float(np.mean(precision * state.left_out.unknown))
        noise_variance = max(squares - unknown, _LEAST_NOISE * squares) * spread**2
        likelihood = state.observation.likelihood if isinstance(state.observation, LikelihoodRows) else None
        if likelihood is not None:  # working rows have the noise of a typical row
            noise_variance = float(1 / np.mean(precision)) * spread**2
        parameters = self._parameters(state, spread, noise_variance)
        frequencies = state.basis.fourier[0]
        index_set = IndexSet(frequencies, None, "adaptive")
        model = self.model
        prior = Prior(model.torus, model.terms, (), np.array([100.0 * spread**2]))
        constant = from_frequencies(np.zeros((1, model.torus.dimension), dtype=np.int64))
        latent = likelihood is not None
        statistics = SufficientStatistics.from_data(
            rows.X,
            rows.y,
            constant,
            period=model.period,
            noise_scale=None if latent else rows.noise_scale,
            backend="dense",
            marginals=Marginals.of(model.torus),
        )
        redundancy = 1.0 if state.noise is None else state.noise.redundancy(_grid(blocked))
        fitted = FittedAnova(
            prior,
            parameters,
            index_set,
            statistics,
            True,
            compute=self.compute,
            learned=learned,
            own_offset=offset,
            n_effective=len(rows) / redundancy,
            likelihood=likelihood,
        )
        result: FittedAnova = fitted
        if state.noise is not None and times is not None and likelihood is None:
            result = self._in_time(fitted, rows, blocked, state, noise_variance, times, time_input)
        outcome = Learned(parameters, index_set, fitted.log_evidence)
        return Fit(model, result, outcome, left_out=None if latent else spread * residuals, redundancy=redundancy)

    def _in_time(
        self,
        fitted: FittedAnova,
        rows: Rows,
        blocked: BlockedRows,
        state: State,
        noise_variance: float,
        times: Array,
        time_input: int | None,
    ) -> FittedAnova:
        """The model with its noise as a process that goes on from the rows."""
        assert state.noise is not None
        noise = state.noise.scaled(noise_variance / state.noise.variance)
        order = np.argsort(times, kind="stable")
        scales = np.ones(len(rows)) if rows.noise_scale is None else rows.noise_scale
        block = float(np.ptp(times)) / len(blocked.blocks)
        none: Array = np.empty(0)
        empty = NoiseProcess(
            noise, _grid(blocked).step, time_input, block, np.empty(0, dtype=np.int64), none, none, none, none, none
        )
        result = continued(fitted, empty, rows.X[order], None, rows.y[order, 0], times[order], scales[order])
        assert isinstance(result, FittedAnova)
        return result

    def _parameters(self, state: State, spread: float, noise_variance: float) -> Parameters:
        """What was learned, by names and in the units of the inputs and targets."""
        entries, vector = {}, state.learned.vector
        positions = {term: t for t, term in enumerate(state.prior.terms)}
        for term in self.model.terms:
            t = positions[term.axes]
            scales = []
            for d, place in zip(term.axes, state.prior.places[t], strict=True):
                axis = self.model.torus.axes[d]
                value = float(np.exp(vector[place])) if place >= 0 else 1.0
                scales.append(value * self.model.period[d] / (2 * np.pi) if axis.kind == "line" else value)
            entries[scale_name(term)] = _learned(np.array(scales))
            entries[variance_name(term)] = _learned(np.exp(vector[[t]]) * spread**2)
        entries[NOISE] = _learned(np.array([noise_variance]))
        return Parameters(entries, self.model.period)


def _grid(blocked: BlockedRows):
    assert blocked.grid is not None
    return blocked.grid


def _learned(value: Array) -> Parameter:
    """A learned number: bounds that do not bite."""
    return Parameter.make(value, (np.zeros_like(value), np.full_like(value, np.inf)))
