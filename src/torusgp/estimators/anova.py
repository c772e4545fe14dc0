"""Regressors of ANOVA sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.data.blocks import is_dask
from torusgp.data.sources import is_streamed
from torusgp.estimators.correlated import row_times
from torusgp.estimators.settings import make_settings
from torusgp.estimators.validation import ObservedGradient, check_fit_rows, check_used
from torusgp.fitting.anova.fitter import AnovaFitter
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_models import CorrelatedNoise, WhiteNoise, check_noise, time_position
from torusgp.fitting.problem import LEARNABLE
from torusgp.fitting.rows import Rows
from torusgp.kernels.interactions import Anova
from torusgp.kernels.resolve import Layout


def fit_anova(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    scale: Any,
    checkpoint: Any,
    observed: ObservedGradient,
    time: Any,
) -> Any:
    """Fit a regressor whose kernel is :class:`torusgp.Anova`; see :meth:`TorusGPRegressor.fit`."""
    noise, settings = check_noise(model.noise), make_settings(model)
    likelihood = check_likelihood(model.likelihood)
    given_noise = isinstance(noise, WhiteNoise) and noise.variance_bounds is not None
    given_noise |= isinstance(noise, CorrelatedNoise) and noise.autocovariance is not None
    _refuse(
        {
            "sample_weight: give noise_scale where rows differ": sample_weight is not None,
            "sources, Dask collections and checkpoints: give arrays": checkpoint is not None
            or is_dask(X)
            or is_streamed(X, y),
            "gradient": observed.is_given,
            f"noise={model.noise!r}: use 'white' or CorrelatedNoise()": given_noise
            or not isinstance(noise, WhiteNoise | CorrelatedNoise),
            "noise_kernel": model.noise_kernel is not None,
            f"learn={model.learn!r}: all is learned": settings.learn != frozenset(LEARNABLE[:3]),
            f"index_set={model.index_set!r}: the pool follows the prior": settings.index_set != "adaptive",
            "intercept=False": not model.intercept,
        }
    )
    if time is not None and isinstance(noise, WhiteNoise):
        raise ValueError(f"time is for rows whose noise is correlated, but noise is {model.noise!r}.")
    model.forget()
    checked = check_fit_rows(model, X, y, None, scale, None, reset=True)
    if checked.y.shape[1] != 1:
        raise ValueError(
            f"Anova takes one target at a time, got {checked.y.shape[1]}: use scikit-learn's MultiOutputRegressor."
        )
    resolved = model.resolve(checked.X)
    check_used(checked.X, resolved)
    times = position = None
    if isinstance(noise, CorrelatedNoise):
        position = None if time is not None and noise.time is None else time_position(noise, resolved.torus.names)
        times = row_times(checked.X, time, position, resolved.torus.names)
    coordinates, _ = Layout(resolved.torus, ())(checked.X)
    rows = Rows(np.ascontiguousarray(coordinates), checked.y, None, checked.noise_scale)
    order = model.kernel.order
    fitter = AnovaFitter(resolved, order, settings.n_components, settings.compute, likelihood, settings.report)
    model.set_fit(fitter.fit_rows(rows, times, position))
    return model


def check_no_anova(model: Any, what: str) -> None:
    """Raise if the kernel is an ANOVA sum, for which a verb is not there."""
    if isinstance(model.kernel, Anova):
        raise ValueError(f"{what} is not possible with Anova, whose columns are centred over all rows: use fit.")


def _refuse(combinations: dict[str, bool]) -> None:
    for what, is_there in combinations.items():
        if is_there:
            raise ValueError(f"Anova cannot be combined with {what}.")
