"""Words of messages: how they call what a user can change, in Python or as options of the command."""

from contextlib import contextmanager
from contextvars import ContextVar

TABLE = "the table"  # where rows come from that were not read from a file
_speaks_command = ContextVar("speaks_command", default=False)
_WORDS = {
    "period": ("periods={{{0!r}: {1!r}}}", "--period {0}={1}"),
    "calendar": ("calendar={{{0!r}: ['day', 'week', 'year']}}", "--calendar {0}=day,week,year"),
    "time": ("time={0!r}", "--time {0}"),
    "timezone": ("timezone={0!r}", "--timezone {0}"),
    "slope": ("terms='slope(time)'", '--terms "slope(time)"'),
    "by": ("PanelModel(..., by={0!r})", "--by {0}"),
    "lags": ("lags={{{0!r}: ['3h', '24h']}}", "--lags {0}=3h,24h"),
    "noise": ("noise={0!r}", "--noise-column {0}"),
    "noise_by": ("noise_by=[{0!r}]", "--noise-by {0}"),
    "two_periods": (
        "terms='circle({0}, auto) + circle({0}, auto)'",
        '--terms "circle({0}, auto) + circle({0}, auto)"',
    ),
    "drop_missing": ("drop_missing=True", "--drop-missing"),
    "missing": ("missing={0!r}", '--missing "{1}"'),
    "horizon": ("horizon={0!r}", "--horizon {0}"),
    "origins": ("origins={0}", "--origins {0}"),
    "future": ("future=...", "--future FILE"),
    "without_holdout": ("fit instead of fit_and_evaluate", "--holdout 0"),
}


@contextmanager
def command_words(is_command=True):
    """Within it, messages name options of ``torusgp fit`` instead of parameters of ``TableModel``."""
    token = _speaks_command.set(is_command)
    try:
        yield
    finally:
        _speaks_command.reset(token)


def speaks_command():
    """True if messages name options of the command."""
    return _speaks_command.get()


def word(name, *values):
    """Text that a user writes to change something.

    Examples
    --------
    >>> word("period", "hour", 24)
    "periods={'hour': 24}"
    >>> with command_words():
    ...     print(word("period", "hour", 24))
    --period hour=24
    """
    return _WORDS[name][_speaks_command.get()].format(*values)


def some_of(parts, most, more="more"):
    """Up to so many pieces of a sentence with commas, and how many more there are.

    Examples
    --------
    >>> some_of(["north", "south", "east"], 2)
    'north, south and 1 more'
    """
    parts = [str(part) for part in parts]
    left = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {left} {more}" if left > 0 else "")
