"""Regressors of rows whose noise is correlated in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torusgp.estimators.settings import make_settings
from torusgp.estimators.validation import check_fit_rows, check_used
from torusgp.fitting.correlated_fitter import CorrelatedFitter, Series
from torusgp.fitting.fitter import Fit, Fitter
from torusgp.fitting.noise_models import Noise, time_position
from torusgp.fitting.rows import Rows
from torusgp.kernels.resolve import Model
from torusgp.kernels.torus import to_finite_numbers


def fit_correlated(model: Any, noise: Noise, X: Any, y: Any, scale: Any) -> Any:
    """Fit a regressor to rows in time; see :meth:`TorusGPRegressor.fit`."""
    checked = check_fit_rows(model, X, y, None, scale, None, reset=True)
    if checked.y.shape[1] != 1:
        raise ValueError(
            f"noise={model.noise!r} takes one target at a time, got {checked.y.shape[1]}: use scikit-learn's "
            "MultiOutputRegressor."
        )
    resolved = model.resolve(checked.X)
    rows, fit = make_series(model, noise, checked, resolved)
    check_used(rows.X, resolved)
    coordinates, plain = Fitter(resolved, make_settings(model)).layout(rows.X)
    model.set_fit(fit(Rows(coordinates, rows.y, None, rows.noise_scale, plain), None))
    return model


def make_series(
    model: Any, noise: Noise, checked: Rows, resolved: Model
) -> tuple[Rows, Callable[[Rows, Fit | None], Fit]]:
    """Rows in the order of time, and what fits them once they are laid on the axes."""
    position = time_position(noise, resolved.torus.names)
    times = to_finite_numbers(checked.X[:, position], resolved.torus.names[position])
    order = np.argsort(times, kind="stable")
    known = 0 if noise.autocovariance is None else np.size(noise.autocovariance)

    def fit(laid: Rows, _start: Fit | None) -> Fit:
        fitter = CorrelatedFitter(resolved, make_settings(model), noise)
        return fitter.fit_series(Series(laid, times[order], position, known))

    return checked.take(order), fit


def check_alone(noise: Any, refused: dict[str, bool]) -> None:
    """Raise if correlated noise is asked for beside something that it does not go with."""
    for what, is_there in refused.items():
        if is_there:
            raise ValueError(f"noise={noise!r} does not go with {what}.")
