"""Regressors of rows whose noise is correlated in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d

from torusgp.estimators.settings import make_settings, settings_for
from torusgp.estimators.validation import check_fit_rows, check_inputs, check_used
from torusgp.fitting.ar_fitter import ARFitter
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.forecasts import continued
from torusgp.fitting.moment_source import Series
from torusgp.fitting.noise_models import ARNoise, CorrelatedNoise, TimeNoise, time_position
from torusgp.fitting.outcome import Fit
from torusgp.fitting.refits import SeriesRefitter
from torusgp.fitting.rows import Rows
from torusgp.kernels.resolve import Model
from torusgp.kernels.torus import to_finite_numbers


def fit_correlated(
    model: Any, noise: TimeNoise, X: Any, y: Any, scale: Any, time: Any, start: Fit | None = None
) -> Any:
    """Fit a regressor to rows in time, perhaps from where another fit has ended; see :meth:`TorusGPRegressor.fit`."""
    checked = check_fit_rows(model, X, y, None, scale, None, reset=True)
    if checked.y.shape[1] != 1:
        raise ValueError(
            f"noise={model.noise!r} takes one target at a time, got {checked.y.shape[1]}: use scikit-learn's "
            "MultiOutputRegressor."
        )
    resolved = model.resolve(checked.X) if start is None else start.model
    rows, fit = make_series(model, noise, checked, resolved, time)
    check_used(rows.X, resolved)
    coordinates, plain = Fitter(resolved, make_settings(model)).layout(rows.X)
    model.set_fit(fit(Rows(coordinates, rows.y, None, rows.noise_scale, plain), start, True))
    return model


def make_series(
    model: Any, noise: TimeNoise, checked: Rows, resolved: Model, time: Any = None
) -> tuple[Rows, Callable[[Rows, Fit | None, bool], Fit]]:
    """Rows in the order of time, and what fits them once they are laid on the axes."""
    position = None if time is not None and noise.time is None else time_position(noise, resolved.torus.names)
    times = row_times(checked.X, time, position, resolved.torus.names)
    order = np.argsort(times, kind="stable")
    given = noise.autocovariance if isinstance(noise, CorrelatedNoise) else None
    known = 0 if given is None else np.size(given)

    def fit(laid: Rows, start: Fit | None, is_final: bool = True) -> Fit:
        series = Series(laid, times[order], position, known)
        if isinstance(noise, ARNoise):
            return ARFitter(resolved, make_settings(model), noise).fit_series(series)
        fitter = SeriesRefitter(resolved, settings_for(model, resolved), noise)
        if start is None:
            return fitter.fit_series(series, is_final)
        return fitter.refit_series(series, start, is_final)

    return checked.take(order), fit


def row_times(X: NDArray[Any], time: Any, position: int | None, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Times of rows: those given, or an input."""
    if time is None and position is None:
        raise ValueError("The times of rows were given beside the inputs when the model was fitted: give time.")
    if time is None:
        assert position is not None
        return to_finite_numbers(X[:, position], names[position])
    times = column_or_1d(check_array(time, ensure_2d=False, dtype=np.float64, input_name="time"))
    if len(times) != len(X):
        raise ValueError(f"time must hold one number for each of the {len(X)} rows, got {len(times)}.")
    return times


def continue_from(model: Any, X: Any, y: Any, scale: Any, time: Any) -> FittedTorusGP:
    """The fitted model of a regressor, whose noise goes on from other rows; see :meth:`Forecasts.continue_from`."""
    fitted, resolved = model.fitted_, model.fit_.model
    process = fitted.noise_process
    rows = check_fit_rows(model, X, y, None, scale, resolved, reset=False)
    inputs = check_inputs(model, X, reset=False)
    times = row_times(inputs, time, process.time_input, resolved.torus.names)
    scales = np.ones(len(rows)) if rows.noise_scale is None else rows.noise_scale
    if hasattr(model, "noise_"):
        scales = scales * model.noise_.scale(inputs)[:, 0]
    order = np.argsort(times, kind="stable")
    rows = rows.take(order)
    return continued(fitted, process, rows.X, rows.plain, rows.y[:, 0], times[order], scales[order])


def check_alone(noise: Any, refused: dict[str, bool]) -> None:
    """Raise if correlated noise is combined with something that it does not support."""
    for what, is_there in refused.items():
        if is_there:
            raise ValueError(f"noise={noise!r} cannot be combined with {what}.")
