"""Checks of arrays that are meant to hold numbers, before a library takes something else for them."""

# By hand: scikit-learn's constraints are private, do not name units or rows, and stop at the type of an array.

from __future__ import annotations

import datetime
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e100  # whose square is still a number with room for sums, and that of its inverse
_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def check_numbers(values: Any, name: str = "X") -> None:
    """Raise if values are masked, or times: these would be nanoseconds or days, whichever the array happens to hold.

    Parameters
    ----------
    values : array-like or data frame
        What is meant to be numbers; None is.
    name : str, default="X"
        What it is called.
    """
    if type(values) in (dict, set, bytes) or (callable(values) and not hasattr(values, "__array__")):
        raise TypeError(f"{name} must be an array of numbers, got {type(values).__name__}.")
    if np.ma.is_masked(values):
        mask = np.ma.getmaskarray(values)
        row = int(np.argmax(mask.reshape(len(mask), -1).any(axis=1)))
        raise ValueError(f"{name} is masked in {mask.sum()} place(s), first in row {row}: leave such rows out.")
    if hasattr(values, "dtypes") and hasattr(values, "columns"):
        kinds = {f"column {one!r} of {name}": dtype for one, dtype in zip(values.columns, values.dtypes, strict=True)}
    else:
        first = values[:1] if isinstance(values, list) else None
        kinds = {name: getattr(values, "dtype", None) if first is None else np.asarray(first).dtype}
    for what, dtype in kinds.items():
        if _is_time(dtype) or holds_times(values):
            raise ValueError(
                f"{what} holds times ({dtype}): turn them into hours of the day, days of the week and so on with "
                "torusgp.CalendarPhases, or into numbers in the unit of the period."
            )


def _is_time(dtype: Any) -> bool:
    """True if a type of NumPy, pandas or polars is one of times."""
    return getattr(dtype, "kind", None) in ("m", "M") or bool(hasattr(dtype, "is_temporal") and dtype.is_temporal())


def holds_times(values: Any) -> bool:
    """True if an array of objects has some that are times."""
    is_mixed = isinstance(values, np.ndarray) and values.dtype.kind == "O"
    return is_mixed and any(issubclass(kind, _TIMES) for kind in set(map(type, values.ravel().tolist())))


def check_sample_weight(values: Any, n_rows: int, any_counts: bool = True) -> NDArray[np.float64]:
    """Weights of the rows, at least zero and not zero for all if some has to count; ones if nothing is given."""
    if values is None:
        return np.ones(n_rows)
    weight = _one_per_row(values, "sample_weight", n_rows)
    _check_all(np.isfinite(weight) & (weight >= 0), weight, "sample_weight must be finite and at least zero")
    check_size(weight, "sample_weight")
    if any_counts and n_rows and not weight.any():
        raise ValueError("sample_weight is zero for every row: nothing is left to learn from.")
    return weight


def check_scale(values: Any, name: str, n_rows: int) -> NDArray[np.float64]:
    """Standard deviations or exposures of the rows: positive, and their inverse squares numbers."""
    scale = _one_per_row(values, name, n_rows)
    _check_all(np.isfinite(scale) & (scale > 0), scale, f"{name} must be finite and positive")
    low, high = float(np.min(scale, initial=1.0)), float(np.max(scale, initial=1.0))
    if low < 1 / LARGEST or high > LARGEST:
        hint = ", only ratios matter" if name.endswith("noise_scale") else ""
        raise ValueError(f"{name} goes from {low:.3g} to {high:.3g}: use other units{hint}.")
    return scale


def _one_per_row(values: Any, name: str, n_rows: int) -> NDArray[np.float64]:
    array = to_floats(values, name)
    array = array[:, 0] if array.shape == (n_rows, 1) else array
    if array.shape not in ((), (n_rows,)):
        raise ValueError(f"{name} must hold one number for each of the {n_rows} rows, got the shape {array.shape}.")
    return np.array(np.broadcast_to(array, n_rows))


def _check_all(is_right: NDArray[np.bool_], values: NDArray[np.float64], rule: str) -> None:
    if not is_right.all():
        row = int(np.argmin(is_right))
        raise ValueError(f"{rule}, but row {row} has {values[row]:.6g}: leave such rows out.")


def check_count(value: Any, name: str, optional: bool = False) -> Any:
    """A positive whole number as it is, or None where that is allowed; else raise."""
    if value is None and optional:
        return None
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < 1:
        raise ValueError(f"{name} must be a positive integer{' or None' if optional else ''}, got {value!r}.")
    return int(value)


def is_real(value: Any) -> bool:
    """True if something is a number that a float can hold; a switch is none."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and not (isinstance(value, int) and abs(value) > sys.float_info.max)


def check_number(value: Any, name: str) -> float:
    """A finite number as a float; else raise."""
    if not is_real(value) or not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    return float(value)


def check_share(value: Any, name: str) -> float:
    """A number between zero and one as a float; else raise."""
    if not is_real(value) or not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}.")
    return float(value)


def check_output(output: Any, n_outputs: int) -> int:
    """The number of a target, from zero on; else raise."""
    is_whole = isinstance(output, int | np.integer) and not isinstance(output, bool)
    if not is_whole or not 0 <= output < n_outputs:
        raise ValueError(f"output must be one of {n_outputs} target(s), counted from 0, got {output!r}.")
    return int(output)


def to_floats(values: Any, name: str) -> NDArray[np.float64]:
    """An array of floats, or an error that says what is none."""
    check_numbers(values, name)
    try:
        given = np.asarray(values)
        return np.asarray(None if given.dtype.kind == "c" else given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must hold numbers, got {values!r}.") from None


def check_flag(value: Any, name: str) -> None:
    """Raise if a switch is neither on nor off."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_verbose(value: Any) -> None:
    """Raise unless something says whether progress is printed, or takes lines of it."""
    if not callable(value) and not isinstance(value, bool | int | np.integer | np.bool_):
        raise ValueError(f"verbose must be a number or a function that takes lines of text, got {value!r}.")


def check_size(values: Any, name: str) -> None:
    """Raise if the squares of numbers would be too large or too small for any result to be right."""
    largest = float(np.max(np.abs(np.asarray(values, dtype=float)), initial=0.0))
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        raise ValueError(f"{name} is as {'large' if largest > 1 else 'small'} as {largest:.3g}: use other units.")
