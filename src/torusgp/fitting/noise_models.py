"""What may be known of the noise of rows: that they are independent, or how they hang together in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

NOISE_NAMES = ("white", "correlated")


@dataclass(frozen=True)
class CorrelatedNoise:
    """Noise that is correlated in time, with a spectrum that the residuals of blocks left out tell.

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


Noise = CorrelatedNoise


def check_noise(noise: Any) -> Noise | None:
    """What is known of the noise, None if rows are independent, or an error that names what is wrong."""
    if isinstance(noise, str):
        if noise not in NOISE_NAMES:
            raise ValueError(f"noise must be one of {list(NOISE_NAMES)} or CorrelatedNoise, got {noise!r}.")
        return None if noise == "white" else CorrelatedNoise()
    if isinstance(noise, CorrelatedNoise):
        if noise.autocovariance is not None:
            values = np.asarray(noise.autocovariance, dtype=float)
            if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or not values[0] > 0:
                raise ValueError(
                    f"autocovariance must be finite numbers from lag zero on, the first positive, got {values!r}."
                )
        return noise
    raise ValueError(f"noise must be one of {list(NOISE_NAMES)} or CorrelatedNoise, got {noise!r}.")


def time_position(noise: Noise, names: tuple[str, ...]) -> int:
    """Position of the input that tells the time, among the names of all inputs."""
    if isinstance(noise.time, str):
        if noise.time not in names:
            raise ValueError(f"The time of rows is {noise.time!r}, but the inputs are {list(names)}.")
        return names.index(noise.time)
    if noise.time is not None:
        position = int(noise.time)
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
    given = noise.autocovariance
    return {"time": noise.time, "autocovariance": None if given is None else np.asarray(given, dtype=float).tolist()}


def noise_from_json(content: dict[str, Any]) -> Noise:
    """Invert :func:`noise_to_json`, or raise."""
    found = check_noise(CorrelatedNoise(**content))
    assert found is not None
    return found
