"""The family of a kernel, chosen by evidence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from torusgp.fitting.fitter import Fitter
from torusgp.fitting.outcome import Fit
from torusgp.fitting.rows import Rows

AUTO = "auto"
FAMILIES = ("squared_exponential", "matern52", "matern32")  # from infinitely many derivatives to one


def is_automatic(kernel: object) -> bool:
    """True if the family of a kernel is to be chosen."""
    return isinstance(kernel, str) and kernel == AUTO


def check_comparable(kernel: object, comparable: bool) -> None:
    """Raise if the family is to be chosen where fits cannot be compared."""
    if is_automatic(kernel) and not comparable:
        raise ValueError(
            "kernel='auto' compares families on rows in memory, with likelihood='normal' or 'log_normal' and white "
            f"noise: give a family, such as one of {', '.join(map(repr, FAMILIES))}."
        )


def best_fit(problems: Iterable[tuple[Rows, Fitter]]) -> Fit:
    """The fit of the most evidence; only its own warnings are shown."""
    best, its_warnings = None, []
    for rows, fitter in problems:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = fitter.fit_rows(rows)
        if best is None or found.fitted.log_evidence > best.fitted.log_evidence:
            best, its_warnings = found, caught
    for one in its_warnings:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    assert best is not None
    return best
