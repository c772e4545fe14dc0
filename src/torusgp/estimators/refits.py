"""Regressors fitted to other rows, from where an earlier fit has ended."""

from __future__ import annotations

from copy import copy
from typing import Any

from torusgp.estimators.correlated import fit_correlated
from torusgp.estimators.noise import fit_changing_noise
from torusgp.estimators.regressor_files import check_unchanged
from torusgp.estimators.settings import make_fitter
from torusgp.estimators.validation import check_fit_rows, row_scale
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_models import CorrelatedNoise, WhiteNoise, check_noise
from torusgp.fitting.refits import can_refit, refit_rows
from torusgp.kernels.interactions import Anova


def refit(model: Any, X: Any, y: Any, sample_weight: Any, noise_scale: Any, exposure: Any, time: Any) -> Any:
    """A copy of a regressor that is fitted to other rows; see :meth:`TorusGPRegressor.refit`."""
    likelihood, noise = check_likelihood(model.likelihood), check_noise(model.noise)
    in_time = None if isinstance(noise, WhiteNoise) else noise
    before, result = model.fit_, copy(model)
    slopes = model.statistics_.derivatives
    if slopes is not None and slopes.n_samples.any():
        raise ValueError("refit takes rows alone, and this model was fitted with observed derivatives too: use fit.")
    check_unchanged(model, "a refit goes on from there")
    if isinstance(model.kernel, Anova):  # whose columns are centred over all rows
        return result.fit(X, y, sample_weight, noise_scale, exposure, time=time)
    is_known = in_time is None or (isinstance(in_time, CorrelatedNoise) and before.fitted.noise_process is not None)
    if not (can_refit(before, len(X)) and is_known):
        return result.fit(X, y, sample_weight, noise_scale, exposure, time=time)
    changing = getattr(model, "noise_", None)
    scale = row_scale(likelihood, noise_scale, exposure)
    result.forget()
    if changing is not None:
        return fit_changing_noise(result, X, y, sample_weight, scale, in_time, time, (before, changing))
    if in_time is not None:
        return fit_correlated(result, in_time, X, y, scale, time, before)
    fitter = make_fitter(result, before.model, bool(before.learned.rounds))
    rows = check_fit_rows(result, X, y, sample_weight, scale, before.model, reset=False)
    result.set_fit(refit_rows(fitter, rows, before))
    return result
