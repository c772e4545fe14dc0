"""The error of a table file, and what its one line consists of."""

import difflib

import numpy as np

_MAX_CHARACTERS = 60  # of a value that an error shows


class TableError(ValueError):
    """A table file is not as it has to be; the message is one line that names the file and the place in it."""


def did_you_mean(name, names):
    """A question that names the nearest of the names there are; empty if none is near."""
    folded = {one.casefold(): one for one in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""


def short(value):
    """A value as an error shows it."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."


def one_line(error):
    """What an error says, on one line and without its last point."""
    return " ".join(str(error).split()).rstrip(".")
