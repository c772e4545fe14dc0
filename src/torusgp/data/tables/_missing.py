"""Values that stand for nothing: those that a user names, and those that look like it."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from torusgp.data.tables._text import is_number

# How programs write that a value is not there. In files of this package's users they may as well be levels: Namibia, a
# part that a house does not have, a family name.
_LIKE_MISSING = {"na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "missing", "?", "-"}


def looks_missing(column: Any) -> Any:
    """Mask of the values of a column that are text which often stands for a value that is not there.

    Examples
    --------
    >>> import pandas as pd
    >>> looks_missing(pd.Series(["NA", "north", " null ", None, 3])).tolist()
    [True, False, True, False, False]
    """
    return column.map(_is_like_missing).astype(bool)


def check_missing(missing: Any) -> tuple[str, ...]:
    """Values that stand for nothing, as text; an error if they are not text or numbers."""
    if missing is None:
        return ()
    given = (missing,) if isinstance(missing, str | Real) else missing
    marks = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(one, str | Real) and not isinstance(one, bool) for one in marks):
        raise ValueError(
            f"missing (--missing) must be values that stand for nothing, such as ['NA', -999], got {missing!r}."
        )
    return tuple(str(one).strip() for one in marks)


def without_marks(frame: Any, missing: Any) -> Any:
    """A table whose fields are empty where they have one of certain values.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    missing : None, str, number or sequence of these
        Values that stand for nothing. Numbers are compared as numbers, text without the blanks around it.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"depth": [3.5, -999.0], "country": ["NA", "DE"]})
    >>> without_marks(frame, "-999")["depth"].isna().tolist(), without_marks(frame, ["NA"])["country"].isna().tolist()
    ([False, True], [True, False])
    """
    texts = check_missing(missing)
    if not texts:
        return frame
    numbers = {float(one) for one in texts if is_number(one)}

    def stands_for_nothing(value: Any) -> bool:
        if isinstance(value, str):
            return value.strip() in texts or (is_number(value) and float(value) in numbers)
        is_number_itself = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        return is_number_itself and value in numbers

    changed = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind in "biufcmM":
            marked = column.isin(numbers) if column.dtype.kind in "iuf" else None
        else:
            marked = column.astype(object).map(stands_for_nothing).astype(bool)
        if marked is not None and marked.any():
            changed[name] = column.mask(marked)
    return frame.assign(**changed) if changed else frame


def _is_like_missing(value: Any) -> bool:
    return isinstance(value, str) and value.strip().casefold() in _LIKE_MISSING
