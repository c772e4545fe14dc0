"""Numbers of threads of transforms: as many as were asked for, or as suit the rows.

In a process that was forked it is one. The OpenMP runtimes of FINUFFT and PyTorch wait for ever there for threads that
only the parent has; with a single one they are not entered.
"""

import operator
import os

import numpy as np

MANY_ROWS = 200_000  # from here on transforms use all cores
MOST_THREADS = 1024  # more than any machine gains from, and few enough that any machine can start them


class _Process:
    """State of this process."""

    is_forked = False


def is_forked():
    """True if this process is the copy of one that had imported torusgp."""
    return _Process.is_forked


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=lambda: setattr(_Process, "is_forked", True))


def check_n_threads(n_threads):
    """Raise unless this is a number of threads: None, -1 for all cores, or an integer from 1 to 1024.

    The limit does not depend on the machine, so that a model that works on one works on all.

    Returns
    -------
    int or None
    """
    if n_threads is None:
        return None
    try:
        number = 0 if isinstance(n_threads, bool | np.bool_) else operator.index(n_threads)
    except TypeError:
        number = 0
    if number != -1 and not 1 <= number <= MOST_THREADS:
        raise ValueError(
            f"n_threads must be an integer from 1 to {MOST_THREADS}, -1 for all cores, or None to follow the number of "
            f"rows; got {n_threads!r}. Try n_threads=-1."
        )
    return number


def count_threads(n_threads, n_samples):
    """Number of threads of a transform: as asked for, or one for few rows and all available ones for many.

    After a fork it is one, whatever was asked for: more would hang if the parent has had some.
    """
    n_threads = check_n_threads(n_threads)
    if is_forked():
        return 1
    if n_threads is not None:
        return _available() if n_threads == -1 else n_threads
    if n_samples < MANY_ROWS:
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(_available(), int(limit)) if limit.isdigit() and int(limit) else _available()


def _available():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
