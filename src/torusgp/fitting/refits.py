"""Fits to other rows of the same kind, from where an earlier fit has ended: nothing is searched for again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from torusgp.engine.series import longest_lag
from torusgp.fitting.correlated_fitter import SETTLED, WORSE, CorrelatedFitter
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.latent_fitter import LatentFitter, progress_of
from torusgp.fitting.moment_source import Series
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.problem import spread_of_rows
from torusgp.fitting.rows import Rows

_MOST_ROUNDS = 3
_MOST_ROWS = 1.5  # times as many as before, at most: more could show more
_SAME_STEP = 1e-3  # relative difference of the steps of two series that are the same
_SAME_UNIT = 0.1  # relative difference of the squares of noise scales that are much alike


def can_refit(before: Fit, n_rows: int) -> bool:
    """Whether so many rows are much like those of a fit: it has no period to find, and they are not many more.

    Parameters
    ----------
    before : Fit
        Of other rows.
    n_rows : int
        Number of rows to fit.
    """
    model, n_before = before.model, before.fitted.statistics.n_samples
    finds = bool(model.moving.any() or np.isnan(model.period).any())
    return not finds and n_before / _MOST_ROWS <= n_rows <= n_before * _MOST_ROWS


def refit_rows(fitter: Fitter, rows: Rows, before: Fit) -> Fit:
    """Fit rows whose noise is independent; anew, if known noise scales are in other units than before.

    Parameters
    ----------
    fitter : Fitter
        Of the same model and settings as before.
    rows : Rows
        The rows, on the axes of the model.
    before : Fit
        Where to start.
    """
    if abs(_unit_ratio(fitter, rows, before) - 1) > _SAME_UNIT:
        return fitter.fit_rows(rows)
    if isinstance(fitter, LatentFitter):
        return fitter.fit_rows(rows, progress_of(before))
    fitter = Fitter(before.model, fitter.settings)
    outcome = _outcome(fitter, rows, before)
    statistics = fitter.empty_statistics(outcome, len(rows), rows.y.shape[1])
    statistics.update(rows.X, rows.y, rows.sample_weight, rows.noise_scale, rows.plain)
    return fitter.fit_statistics(outcome, statistics, search=False)


class SeriesRefitter(CorrelatedFitter):
    """Fits rows whose noise is correlated, from where a fit of others has ended."""

    def refit_series(self, series: Series, before: Fit, is_final: bool = True) -> Fit:
        """Learn from the parameters and the autocovariance that were learned before, with as many components.

        If it is final and they are fewer than wanted, more. If it is not, length scales stay: only the weights and the
        noise follow other scales of the rows, until these are known.
        """
        process = before.fitted.noise_process
        if process is None or not self._is_alike(series, before):
            return self.fit_series(series, is_final)
        self.model = before.model
        outcome = _outcome(self, series.rows, before)
        source, cap = self._source(series, outcome), outcome.learned.index_set.n_components
        ratio = _unit_ratio(self, series.rows, before)
        noise = process.autocovariance.scaled(ratio)
        if not is_final and process.levels is not None:
            series = replace(series, levels=replace(process.levels, variance=ratio * process.levels.variance))
        residuals = self._residuals(series, outcome, source, noise)
        if is_final:
            series = self._with_levels(series, residuals)
            if series.levels is not None:
                residuals = self._residuals(series, outcome, source, noise)
        if not is_final:
            noise = self._estimated(series, residuals, noise.n_lags)
            return self._finished(series, outcome, source, noise, residuals)
        for _ in range(_MOST_ROUNDS):
            known, found = noise, self._relearned(series, outcome, source, noise, search=False, cap=cap)
            seen = self._residuals(series, found, source, noise)
            if seen.square < WORSE * residuals.square:  # otherwise an effect may have been taken for noise
                outcome, residuals = found, seen
            noise = self._estimated(series, residuals, noise.n_lags)
            change = np.linalg.norm(noise.values - known.values) / np.linalg.norm(noise.values)
            self.settings.report(f"autocovariance of the noise changed by {change:.2g}, variance {noise.variance:.4g}")
            if change < SETTLED:
                break
        return self._completed(series, outcome, source, noise, residuals)

    @staticmethod
    def _is_alike(series: Series, before: Fit) -> bool:
        """Whether the same grid of times and the same number of lags serve."""
        process = before.fitted.noise_process
        assert process is not None
        same = abs(series.grid.step / process.step - 1) < _SAME_STEP
        return bool(same and process.autocovariance.n_lags <= longest_lag(len(series.rows)))


def _outcome(fitter: Fitter, rows: Rows, before: Fit) -> Preliminary:
    """What was learned before, with the noise in the units of these rows."""
    ratio = _unit_ratio(fitter, rows, before)
    parameters: Parameters = before.learned.parameters
    parameters = parameters.with_value(NOISE, parameters[NOISE] * ratio)
    learned = replace(before.learned, parameters=parameters)
    return Preliminary(before.model, learned, before.period_std, before.search)


def _unit_ratio(fitter: Fitter, rows: Rows, before: Fit) -> float:
    """By how much known noise scales make the noise variance another number than before."""
    prior = Prior.of(before.model, fitter.settings.intercept, spread_of_rows(rows, before.model, fitter.settings))
    return before.fitted.prior.noise_unit / prior.noise_unit
