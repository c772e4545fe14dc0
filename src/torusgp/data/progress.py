"""Progress of a long pass over rows, in one line that is rewritten."""

# By hand: tqdm starts a thread, beside which a process is not safely forked, and writes carriage returns into logs.

import sys
import time
from collections import deque
from contextlib import nullcontext

_WIDTH = 30
_INTERVAL = 0.5  # seconds between two states of the line
_PLAIN_INTERVAL = 15.0  # the same where a line cannot be written again
_RECENT = 20  # states that the rate is taken from: what was slow long ago does not tell the time left


def show_progress(progress, n_rows=None):
    """Context in which the rows counted so far are given to a function.

    Parameters
    ----------
    progress : bool, callable or None
        True for a bar; a function to call instead; False or None for nothing.
    n_rows : int or None
        Number of rows in all, if it is known.

    Returns
    -------
    context manager of a callable
    """
    if progress is True:
        return ProgressBar(n_rows)
    if not callable(progress) and not (progress is None or progress is False):
        raise ValueError(f"progress must be True, False or a function of the number of rows, got {progress!r}.")
    return nullcontext(progress if callable(progress) else (lambda n_rows: None))


class ProgressBar:
    """A bar with rate and time left, on a terminal; on anything else a line now and then.

    Parameters
    ----------
    n_rows : int or None
        Number of rows in all, if it is known.
    file : text file, optional
        Where to write; by default standard error.
    """

    def __init__(self, n_rows=None, file=None):
        self._total, self._file = n_rows, sys.stderr if file is None else file
        self._live = self._file.isatty()
        self._states: deque[tuple[float, int]] = deque(maxlen=_RECENT)  # moments and rows
        self._first: tuple[float, int] | None = None
        self._last = (0.0, 0)

    def __enter__(self):
        return self

    def __call__(self, n_rows):
        """Show the number of rows counted so far."""
        self._last = time.monotonic(), n_rows
        if self._first is None:
            self._first = self._last
            self._states.append(self._last)
        elif self._last[0] - self._states[-1][0] >= (_INTERVAL if self._live else _PLAIN_INTERVAL):
            (start, before), (now, _) = self._states[0], self._last
            self._write(describe(n_rows, n_rows - before, self._total, now - start))
            self._states.append(self._last)

    def __exit__(self, *error):
        """Show the last state, which stays."""
        if self._first is not None:
            (start, before), (_, n_rows) = self._first, self._last
            self._write(describe(n_rows, n_rows - before, self._total, time.monotonic() - start, done=True))
            if self._live:
                self._file.write("\n")
                self._file.flush()

    def _write(self, line):
        self._file.write(f"\r{line}\x1b[K" if self._live else f"{line}\n")
        self._file.flush()


def describe(n_rows, n_recent, total, seconds, done=False):
    """One line: a bar if the total is known, the rows so far, the rate and the time left.

    Parameters
    ----------
    n_rows : int
        Rows so far.
    n_recent, seconds : int and float
        Rows of the last seconds, which give the rate.
    total : int or None
        Rows in all, if known.
    done : bool, default=False
        Whether this was all: then the seconds are shown instead of the time left.

    Returns
    -------
    str

    Examples
    --------
    >>> describe(3_000_000, 3_000_000, 12_000_000, 2.0)
    '[#######-----------------------]  25 %  3.0 M rows  1.5 M rows/s  6 s left'
    """
    rate = n_recent / max(seconds, 1e-9)
    parts = [f"{_short(n_rows)} rows", f"{_short(rate)} rows/s"]
    if total:
        share = min(1.0, n_rows / total)
        filled = int(_WIDTH * share)
        parts.insert(0, f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {100 * share:3.0f} %")
    if done:
        parts.append(f"in {_duration(seconds)}")
    elif total and rate:
        parts.append(f"{_duration(max(0, total - n_rows) / rate)} left")
    return "  ".join(parts)


def _short(number):
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:.0f}"


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
