"""What counts as a finding: an obscure error, or numbers that are not finite."""

import re
import warnings

import numpy as np

CLEAR = (ValueError, TypeError, OSError, ImportError, MemoryError)
# What Python and NumPy say of their own affairs, which tells a user nothing.
OBSCURE = re.compile(
    r"has no attribute|object is not (iterable|callable|subscriptable)|could not be broadcast|broadcast together|"
    r"unpack|out of bounds|unhashable|must be real number|ufunc|'NoneType'|need at least one array|zero-size array|"
    r"not supported between|unsupported operand|cannot be interpreted|invalid literal|array element with a sequence|"
    r"inhomogeneous|Singular matrix|only integers|bad operand|be normalized|truth value|empty sequence|"
    r"float\(\) argument|int\(\) argument|minlength|dimensions? of the array|all input arrays|cannot reshape"
)


class FindingError(AssertionError):
    """Something that has to be mended."""


def outcome(action, *, names=None):
    """Run an action: "refused" for a clear error, else its result; anything else is a finding.

    Parameters
    ----------
    action : callable
        What is tried.
    names : str, optional
        What the error has to name.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return action()
        except FindingError:
            raise
        except CLEAR as error:
            text = str(error)
            if not text.strip() or (OBSCURE.search(text) and "cannot be read" not in text):
                raise FindingError(f"obscure {type(error).__name__}: {text[:200]}") from error
            if names is not None and names not in text:
                raise FindingError(f"an error that does not name {names}: {text[:200]}") from error
            return "refused"
        except Exception as error:
            raise FindingError(f"{type(error).__name__}: {str(error)[:200]}") from error


def check_finite(*arrays):
    for array in arrays:
        if not np.isfinite(np.asarray(array, dtype=float)).all():
            raise FindingError(f"predictions that are not finite: {np.ravel(array)[:5]}")
