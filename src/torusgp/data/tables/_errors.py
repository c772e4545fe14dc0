"""The error of a table file, and what its one line consists of."""

import difflib

import numpy as np

_MAX_CHARACTERS = 60  # of a value that an error shows


class TableError(ValueError):
    """A table file is not as it has to be; the message is one line that names the file and the place in it."""


class NotNumbersError(TableError):
    """A column of numbers has other values.

    Parameters
    ----------
    message : str
        What is wrong with the first of them.
    values : pandas.Series
        All of them.
    """

    def __init__(self, message, values):
        super().__init__(message)
        self.values = values

    @property
    def words(self):
        """Different values that are text without a digit: they may stand for numbers that are missing."""
        found = dict.fromkeys(one.strip() for one in self.values if isinstance(one, str))
        return [one for one in found if one and not any(sign.isdigit() for sign in one)]


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
    """Text of an error, on one line and without its last point."""
    return " ".join(str(error).split()).rstrip(".")
