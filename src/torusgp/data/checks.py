"""Checks of inputs in memory."""

import numpy as np


def check_no_times(X):
    """Raise if inputs are times: as numbers they would be nanoseconds or days, whichever the array happens to hold.

    Parameters
    ----------
    X : array-like or DataFrame
        Inputs that are meant to be numbers.
    """
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        kinds = {f"column {name!r} of X": dtype for name, dtype in zip(X.columns, X.dtypes, strict=True)}
    else:
        kinds = {"X": getattr(X, "dtype", None) or (np.asarray(X[:1]).dtype if isinstance(X, list) else None)}
    for what, dtype in kinds.items():
        if getattr(dtype, "kind", None) in ("m", "M"):
            raise ValueError(
                f"{what} holds times ({dtype}): turn them into hours of the day, days of the week and so on with "
                "torusgp.CalendarPhases, or into numbers in the unit of the period."
            )
