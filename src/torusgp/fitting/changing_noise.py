r"""Noise whose variance changes with the inputs: its logarithm is a second model, fitted in turns with the first.

Given the first model, squared residuals plus posterior variances :math:`e_i` are Gamma variables of shape one half
around the noise variance :math:`\exp g(x_i)`. Given that, the first model is regression with known noise scales. Each
turn raises the same lower bound of the evidence; the turns end when it hardly rises.

Where noise is correlated, rows are worth few: a fit follows the noise of rows that are taken for exact, which then seem
to be still more exact, without an end. So :math:`e_i` are expected squares of the noise, given residuals of blocks of
rows that are left out and what is not known of the function there. They count as the effective sample size of squares,
the number of rows over the sum of squared autocorrelations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.advice import advise
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.latent import LatentTorusGP
from torusgp.fitting.latent_fitter import LatentFitter, progress_of
from torusgp.fitting.likelihoods import Gamma, StudentT
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.refits import refit_rows
from torusgp.fitting.row_passes import DerivedPasses, RowPasses, with_scale
from torusgp.fitting.rows import Rows
from torusgp.kernels.resolve import Layout

Array = NDArray[np.float64]

_MOST_TURNS = 8
MOST_COLUMNS = 401  # of the model of log variances, which squared residuals show only roughly
ENOUGH = 0.01  # gain in its log evidence that is worth no more passes
_LEAST = 1e-3  # of the mean square: rows that are exactly predicted would count more and more, without an end
_SOME = 0.01  # share of the rows that are said to be so
_NEGLIGIBLE = 3e-2  # root mean square change of the log variance that ends the turns; a log loss changes by its square


@dataclass(frozen=True)
class ChangingNoise:
    """A fitted model of log variances.

    Attributes
    ----------
    fit : Fit
        Of a Gamma likelihood.
    """

    fit: Fit

    def scale(self, X: NDArray[Any]) -> Array:
        """Standard deviations of the noise at points, shape (n_samples, 1)."""
        mean, variance = self.fit.fitted.mean_and_variance(X)
        return np.exp(mean / 2 + variance / 4)


@dataclass(frozen=True)
class SideBySide:
    """Rows laid on the axes of two models at once: first those of the function, then those of log variances.

    Attributes
    ----------
    function, noise : Layout
        How rows are laid on either.
    """

    function: Layout
    noise: Layout

    def __call__(self, X: NDArray[Any], first_row: int = 0) -> tuple[Array, Array | None]:
        """Coordinates and plain columns of both models."""
        laid = [layout(X, first_row) for layout in (self.function, self.noise)]
        plain = [columns for _, columns in laid if columns is not None]
        return np.hstack([coordinates for coordinates, _ in laid]), np.hstack(plain) if plain else None

    def split(self, rows: Rows) -> tuple[Rows, Rows]:
        """The rows on the axes of either."""
        n_axes, n_plain = self.function.torus.dimension, len(self.function.plain)
        parts = []
        for layout, axes, plain in (
            (self.function, slice(n_axes), slice(n_plain)),
            (self.noise, slice(n_axes, None), slice(n_plain, None)),
        ):
            columns = rows.plain[:, plain] if layout.plain and rows.plain is not None else None
            parts.append(replace(rows, X=rows.X[:, axes], plain=columns))
        return parts[0], parts[1]


def fit_with_noise(
    fit_function: Callable[[Rows, Fit | None, bool], Fit],
    noise_fitter: LatentFitter,
    rows: Rows,
    both: SideBySide,
    start: tuple[Fit, ChangingNoise | None] | None = None,
) -> tuple[Fit, ChangingNoise]:
    """Fit both models in turns to rows in memory.

    Parameters
    ----------
    fit_function : callable
        Fits the model of the function to rows, perhaps from where an earlier fit of the same kind has ended; few
        components are enough unless, as is said last, it is the final one.
    noise_fitter : LatentFitter
        Fits log variances.
    rows : Rows
        On the axes of both models.
    both : SideBySide
        How they were laid there.
    start : pair of Fit and ChangingNoise, optional
        Where a fit of similar rows has ended; without noise, that of these rows with noise of one size.
    """
    report = noise_fitter.settings.report
    own_rows, noise_rows = both.split(rows)
    own = np.ones(len(rows)) if rows.noise_scale is None else rows.noise_scale
    noise = None if start is None or start[1] is None else start[1].fit
    before = np.zeros(len(rows)) if noise is None else _log_variance(noise, noise_rows)
    scale = np.exp(before / 2)
    if start is not None and noise is None:
        fit = start[0]
    else:
        known = own_rows if noise is None else replace(own_rows, noise_scale=own * scale)
        fit = fit_function(known, None if start is None else start[0], False)
    for turn in range(_MOST_TURNS):
        energy, share = _energy_of_fit(fit, own_rows, own, scale), 1 / fit.redundancy
        weight = noise_rows.sample_weight if share == 1 else np.full(len(rows), share)
        squares = replace(noise_rows, y=energy[:, None], sample_weight=weight, noise_scale=None)
        is_first = noise is None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of columns: few are enough
            noise = noise_fitter.fit_rows(squares, None if noise is None else progress_of(noise))
        log_variance = _log_variance(noise, noise_rows)
        change = np.inf if is_first else float(np.sqrt(np.mean((log_variance - before) ** 2)))
        report(f"noise model {turn + 1}: log variances changed by {change:.2g}")
        before, scale = log_variance, np.exp(log_variance / 2)
        is_final = change < _NEGLIGIBLE / np.sqrt(share) or turn == _MOST_TURNS - 1
        fit = fit_function(replace(own_rows, noise_scale=own * scale), fit, is_final)
        if is_final:
            break
    assert noise is not None
    _tell_of_certain_rows(energy, scale**2)
    return fit, ChangingNoise(noise)


def _tell_of_certain_rows(energy: Array, variance: Array) -> None:
    """Say so if the noise of some rows is so small that it is only bounded."""
    share = float(np.mean(variance < 2 * _LEAST * energy.mean()))
    if share > _SOME:
        advise(
            f"{share:.0%} of the rows are known nearly exactly. Their noise is taken to be {_LEAST**0.5:.0%} of its "
            "root mean square over all rows, or more, and intervals there may be too wide. Leave out rows that are "
            "certain beforehand, such as those of closed hours."
        )


def fit_passes_with_noise(
    fitter: Fitter, noise_fitter: LatentFitter, passes: RowPasses, sample: Rows, both: SideBySide
) -> tuple[Fit, ChangingNoise]:
    """The same for rows that are read again and again, of which a sample is in memory: it shows where to start.

    Parameters
    ----------
    fitter, noise_fitter : Fitter
        Fit the function, and log variances.
    passes : RowPasses
        All rows, on the axes of both models.
    sample : Rows
        Some of them.
    both : SideBySide
        How they were laid there.
    """
    fit, noise = fit_with_noise(function_fitter(fitter), noise_fitter, sample, both)
    own_rows, noise_rows = both.split(sample)
    before, change = _log_variance(noise.fit, noise_rows), np.inf
    for turn in range(_MOST_TURNS):
        fit = _fit_scaled(fitter, fit, passes, own_rows, Scaled(both, noise.fit), first=not turn)
        if change < _NEGLIGIBLE:
            break
        energies = Energies(both, fit.fitted, noise.fit)
        energies = replace(energies, least=_LEAST * float(energies(sample).y.mean()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            derived = DerivedPasses(passes, energies)
            found = noise_fitter.fit_passes(derived, energies(sample), False, progress_of(noise.fit))
        noise, log_variance = ChangingNoise(found), _log_variance(found, noise_rows)
        change = float(np.sqrt(np.mean((log_variance - before) ** 2)))
        noise_fitter.settings.report(f"noise model of all rows {turn + 1}: log variances changed by {change:.2g}")
        before = log_variance
    return fit, noise


def function_fitter(fitter: Fitter) -> Callable[[Rows, Fit | None, bool], Fit]:
    """How the function is fitted to rows in memory, perhaps from where an earlier fit has ended."""

    def fit(rows: Rows, start: Fit | None, is_final: bool) -> Fit:
        return fitter.fit_rows(rows) if start is None else refit_rows(fitter, rows, start)

    return fit


def _fit_scaled(fitter: Fitter, before: Fit, passes: RowPasses, sample: Rows, scaled: Scaled, first: bool) -> Fit:
    """Fit the function to all rows with the scales of a noise model: in one pass, where noise is normal."""
    derived = DerivedPasses(passes, scaled)
    if isinstance(fitter, LatentFitter):
        return fitter.fit_passes(derived, sample, False, progress_of(before))
    outcome = Preliminary(fitter.model, before.learned)
    empty = before.fitted.statistics.empty()
    if first:
        empty = fitter.empty_statistics(outcome, passes.n_rows, 1)
    return fitter.fit_statistics(outcome, derived.sum(Gathered(empty)), search=False)


@dataclass(frozen=True)
class Scaled:
    """Rows on the axes of the function, with the noise scales of a model of log variances."""

    both: SideBySide
    noise: Fit

    def __call__(self, rows: Rows) -> Rows:
        """Rows laid on one of the models."""
        own_rows, noise_rows = self.both.split(rows)
        return with_scale(own_rows, np.exp(_log_variance(self.noise, noise_rows) / 2))


@dataclass(frozen=True)
class Energies:
    """Rows on the axes of log variances, with expected squared residuals of the function as targets."""

    both: SideBySide
    fitted: FittedTorusGP
    noise: Fit
    least: float = 0.0

    def __call__(self, rows: Rows) -> Rows:
        """Rows laid on one of the models."""
        own_rows, noise_rows = self.both.split(rows)
        own = np.ones(len(rows)) if rows.noise_scale is None else rows.noise_scale
        scale = np.exp(_log_variance(self.noise, noise_rows) / 2)
        energy = np.maximum(_energy(self.fitted, own_rows, own, scale), self.least)
        return replace(noise_rows, y=energy[:, None], noise_scale=None)


@dataclass(frozen=True)
class Gathered:
    """Sums of rows."""

    empty: SufficientStatistics

    def __call__(self, rows: Rows) -> SufficientStatistics:
        """Sums of some rows."""
        return self.empty.empty().update(rows.X, rows.y, rows.sample_weight, rows.noise_scale, rows.plain)


def _log_variance(noise: Fit, rows: Rows) -> Array:
    assert isinstance(noise.fitted, LatentTorusGP)
    return noise.fitted.mean_and_variance_of_rows(rows)[0]


def _energy_of_fit(fit: Fit, rows: Rows, own: Array, scale: Array) -> Array:
    """Expected squares of the noise in units of known scales: from blocks left out where it is correlated."""
    squares = _energy(fit.fitted, rows, own, scale) if fit.noise_squares is None else fit.noise_squares * scale**2
    return np.maximum(squares, _LEAST * squares.mean())


def _energy(fitted: FittedTorusGP, rows: Rows, own: Array, scale: Array) -> Array:
    """Expected squared residuals, in units of known scales; of Student's t as far as rows count."""
    mean, variance = fitted.mean_and_variance_at(rows.X, fitted.plain_in_units(rows.plain, len(rows)))
    square = ((rows.y - mean) ** 2 + variance)[:, 0] / own**2
    if isinstance(fitted, LatentTorusGP) and isinstance(fitted.likelihood, StudentT):
        dof, noise_variance = fitted.likelihood.dof, fitted.likelihood.noise_variance
        assert dof is not None
        assert noise_variance is not None
        return square * (dof + 1) / (dof + square / (noise_variance * scale**2))
    return square


def noise_likelihood() -> Gamma:
    """Squared residuals of normal noise are Gamma variables of shape one half."""
    return Gamma(shape=0.5)
