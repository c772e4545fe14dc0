"""How many threads transforms have: as many as were asked for, or as suit the rows."""

import operator
import os

import numpy as np

MANY_ROWS = 200_000  # from here on transforms use all cores
MOST_THREADS = 1024  # more than any machine gains from, and few enough that any machine can start them


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
    """Number of threads of a transform: as asked for, or one for few rows and all available ones for many."""
    n_threads = check_n_threads(n_threads)
    if n_threads is not None:
        return _available() if n_threads == -1 else n_threads
    if n_samples < MANY_ROWS:
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(_available(), int(limit)) if limit.isdigit() and int(limit) else _available()


def _available():
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
