"""What may be known of the noise of rows: that they are independent, or autocorrelated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from torusgp.checks import is_real
from torusgp.kernels.checks import check_positive_array


@dataclass(frozen=True)
class WhiteNoise:
    """Noise that is independent from row to row.

    ``noise="white"`` is its short form.

    Parameters
    ----------
    variance_bounds : pair of float, optional
        Bounds of the learned variance; by default wide multiples of the variance of the targets.
    """

    variance_bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class CorrelatedNoise:
    """Noise that is correlated in time, whose spectrum is estimated from the residuals of blocks left out.

    ``noise="correlated"`` is its short form. Each frequency counts as much as the noise at it allows: a drift costs
    evidence at slow frequencies only. Nothing is assumed of the noise but that it is stationary.

    Parameters
    ----------
    time : str or int, optional
        Input that tells the time of a row, by name or position; the kernel need not use it. By default the input that
        is named "time", or the only one.
    autocovariance : array-like of shape (n_lags,), optional
        Known covariance of the noise of two rows, by the number of smallest distances between times that lie between
        them, from zero on. By default it is estimated.
    """

    time: str | int | None = None
    autocovariance: ArrayLike | None = None


@dataclass(frozen=True)
class ARNoise:
    """Autoregressive noise in time: generalised least squares, for models of circles on a regular grid of times.

    ``noise="ar"`` is its short form. It is more precise than :class:`CorrelatedNoise` where the model is right, and
    worse where inputs act otherwise in the short than in the long run.

    Parameters
    ----------
    order : int or "auto", default="auto"
        Number of rows before that the noise of a row depends on; "auto" takes that of the best information criterion.
    coefficients : array-like of shape (order,), optional
        Known coefficients of the rows before, the last one first; by default they are estimated.
    time : str or int, optional
        See :class:`CorrelatedNoise`.
    """

    order: int | str = "auto"
    coefficients: ArrayLike | None = None
    time: str | int | None = None


TimeNoise = CorrelatedNoise | ARNoise
Noise = WhiteNoise | TimeNoise
_NAMES: dict[str, Noise] = {"white": WhiteNoise(), "correlated": CorrelatedNoise(), "ar": ARNoise()}


def check_noise(noise: Any) -> Noise:
    """What is known of the noise, or an error that names what is wrong."""
    if isinstance(noise, str) and noise in _NAMES:
        return _NAMES[noise]
    if isinstance(noise, WhiteNoise):
        if noise.variance_bounds is not None:
            bounds = check_positive_array(noise.variance_bounds, "variance_bounds", max_ndim=1)
            if np.shape(bounds) != (2,) or bounds[0] > bounds[1]:
                raise ValueError(
                    f"variance_bounds must be two positive numbers, the lower one first, got {noise.variance_bounds!r}."
                )
        return noise
    if isinstance(noise, CorrelatedNoise):
        known = noise.autocovariance
        if known is not None and not (_are_finite(known) and np.asarray(known)[0] > 0):
            raise ValueError(
                f"autocovariance must be finite numbers from lag zero on, the first positive, got {known!r}."
            )
        _check_time(noise.time)
        return noise
    if isinstance(noise, ARNoise):
        is_count = isinstance(noise.order, int | np.integer) and not isinstance(noise.order, bool) and noise.order >= 1
        if not (is_count or (isinstance(noise.order, str) and noise.order == "auto")):
            raise ValueError(f"order must be a positive whole number or 'auto', got {noise.order!r}.")
        _check_time(noise.time)
        if noise.coefficients is not None:
            if not _are_finite(noise.coefficients):
                raise ValueError(f"coefficients must be finite numbers, got {noise.coefficients!r}.")
            values = np.asarray(noise.coefficients, dtype=float)
            if np.abs(np.roots(np.append(1.0, -values))).max() >= 1:
                raise ValueError(f"coefficients={values.tolist()} are not those of a stationary process.")
        return noise
    raise ValueError(f"noise must be one of {list(_NAMES)}, WhiteNoise, CorrelatedNoise or ARNoise, got {noise!r}.")


def _are_finite(values: Any) -> bool:
    """Whether something is a vector of finite numbers, with one at least."""
    array = np.asarray(values, dtype=object)
    return array.ndim == 1 and array.size > 0 and all(is_real(one) and np.isfinite(one) for one in array)


def _check_time(time: Any) -> None:
    is_position = isinstance(time, int | np.integer) and not isinstance(time, bool)
    if time is not None and not is_position and not isinstance(time, str):
        raise ValueError(f"time must be the name or the position of an input, or None, got {time!r}.")


def time_position(noise: TimeNoise, names: tuple[str, ...]) -> int:
    """Position of the input that tells the time, among the names of all inputs."""
    if isinstance(noise.time, str):
        if noise.time not in names:
            raise ValueError(f"The time of rows is {noise.time!r}, but the inputs are {list(names)}.")
        return names.index(noise.time)
    if noise.time is not None:
        position = noise.time
        if not -len(names) <= position < len(names):
            raise ValueError(f"The time of rows is input {position}, but there are {len(names)} inputs.")
        return position % len(names)
    if "time" in names:
        return names.index("time")
    if len(names) == 1:
        return 0
    raise ValueError(
        f"Correlated noise needs the time of rows, and none of the inputs {list(names)} is named 'time': say which one "
        "it is, as in noise=CorrelatedNoise(time=...)."
    )


def noise_to_json(noise: Noise) -> dict[str, Any]:
    """What JSON can hold of it."""
    content = {name: getattr(noise, name) for name in noise.__dataclass_fields__}
    for name in ("autocovariance", "coefficients", "variance_bounds"):
        if content.get(name) is not None:
            content[name] = np.asarray(content[name], dtype=float).tolist()
    return content


def noise_from_json(content: dict[str, Any]) -> Noise:
    """Invert :func:`noise_to_json`, or raise."""
    if "variance_bounds" in content:
        bounds = content["variance_bounds"]
        return check_noise(WhiteNoise(None if bounds is None else tuple(bounds)))
    return check_noise((ARNoise if "order" in content else CorrelatedNoise)(**content))
