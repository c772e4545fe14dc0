r"""Noise whose variance changes with the inputs: its logarithm is a second model, fitted in turns with the first.

Given the first model, squared residuals plus posterior variances :math:`e_i` are Gamma variables of shape one half
around the noise variance :math:`\exp g(x_i)`. Given that, the first model is regression with known noise scales. Each
turn raises the same lower bound of the evidence; the turns end when it hardly rises.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.fitter import Fit, Fitter
from torusgp.fitting.latent import LatentTorusGP
from torusgp.fitting.latent_fitter import LatentFitter, progress_of
from torusgp.fitting.likelihoods import Gamma, StudentT
from torusgp.fitting.rows import Rows

Array = NDArray[np.float64]

_MOST_TURNS = 8
MOST_COLUMNS = 401  # of the model of log variances, which squared residuals show only roughly
_NEGLIGIBLE = 1e-2  # root mean square change of the log variance that ends the turns; a log loss changes by its square


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


def fit_with_noise(
    fitter: Fitter, noise_fitter: LatentFitter, rows: Rows, noise_rows: Rows
) -> tuple[Fit, ChangingNoise]:
    """Fit both models in turns.

    Parameters
    ----------
    fitter : Fitter
        Fits the first model.
    noise_fitter : LatentFitter
        Fits log variances.
    rows, noise_rows : Rows
        The same rows on the axes of both models.
    """
    report = fitter.settings.report
    fit, change = fitter.fit_rows(rows), np.inf
    before = np.zeros(len(rows))
    own = np.ones(len(rows)) if rows.noise_scale is None else rows.noise_scale
    scale: Array | None = None
    noise: Fit | None = None
    for turn in range(_MOST_TURNS):
        energy = _energy(fit.fitted, rows, own, np.ones(len(rows)) if scale is None else scale)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of columns: few are enough
            start = None if noise is None else progress_of(noise)
            noise = noise_fitter.fit_rows(replace(noise_rows, y=energy[:, None], noise_scale=None), start)
        assert isinstance(noise.fitted, LatentTorusGP)
        log_variance, _ = noise.fitted.mean_and_variance_of_rows(noise_rows)
        change = float(np.sqrt(np.mean((log_variance - before) ** 2))) if turn else np.inf
        report(f"noise model {turn + 1}: log variances changed by {change:.2g}")
        before, scale = log_variance, np.exp(log_variance / 2)
        scaled = replace(rows, noise_scale=own * scale)
        if isinstance(fitter, LatentFitter):
            fit = fitter.fit_rows(scaled, progress_of(fit) if turn else None)
        else:
            fit = fitter.fit_rows(scaled)
        if change < _NEGLIGIBLE:
            break
    assert noise is not None
    return fit, ChangingNoise(noise)


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
