"""Progress, warnings and errors of the subcommands."""

import importlib.util
import json
import os
import re
import sys
import traceback
import warnings
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from torusgp.views.numbers import with_error

USER_ERROR, UNEXPECTED = 2, 1  # exit codes
_EXPECTED = (ImportError, MemoryError, OSError, ValueError)  # their messages are for users
_LIBRARIES = {
    "typer": "typer",
    "rich": "rich",
    "jinja2": "jinja2",
    "matplotlib": "matplotlib",
    "PIL": "pillow",
}  # by module
_LIBRARIES |= {name: name for name in ("pandas", "pyarrow")}
_ONE_EXTRA = re.compile(r' Install (?:it|them) with: pip install "torusgp\[(?:cli|report|plot|io)\]"')


def fail(error, code=USER_ERROR) -> NoReturn:
    """Say in one line what went wrong, and end."""
    text = " ".join(str(error).split())
    if isinstance(error, ImportError):
        text = _add_missing_libraries(text)
    print(f"Error: {printable(text)}", file=sys.stderr)
    raise SystemExit(code)


def printable(text):
    """Text with its control characters spelt out: names of columns must not move the cursor of a terminal.

    Examples
    --------
    >>> printable(chr(7)) == repr(chr(7))[1:-1]
    True
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in str(text))


def missing_libraries():
    """Names of the libraries that some subcommand needs and that are not installed."""
    return [library for module, library in _LIBRARIES.items() if importlib.util.find_spec(module) is None]


def _add_missing_libraries(text):
    """Name all libraries that subcommands miss, so that nobody has to install one after the other."""
    missing = missing_libraries()
    if not missing:
        return text
    return (
        f"{_ONE_EXTRA.sub('', text)} Not installed: {', '.join(missing)}. Install all that the command needs with: "
        'pip install "torusgp[cli,plot,io]"'
    )


@contextmanager
def exit_on_error(debug=False):
    """Turn errors into one line and an exit code: 2 for what a user can mend, 1 for what nobody expected."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to complain of at the end
        raise SystemExit(UNEXPECTED) from None
    except Exception as error:  # a command ends with one line, whatever went wrong
        if type(error).__module__.partition(".")[0] in ("click", "typer"):
            raise  # an exit, or an error of usage: the application tells it
        if debug:
            traceback.print_exc()
        if isinstance(error, _EXPECTED):
            fail(error)
        hint = "" if debug else " Run it again with --debug to see where."
        fail(f"unexpected {type(error).__name__}: {error}.{hint}", UNEXPECTED)


def print_json(content):
    """Print what machines read, and nothing else."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def progress_line(first_line, known=frozenset):
    """Show what is being done while it lasts; afterwards print warnings, in one line each.

    Where standard error is no terminal nothing is shown of the work.

    Yields what takes the next line of progress.
    """
    from rich.console import Console
    from rich.text import Text

    with warnings.catch_warnings(record=True) as caught, Console(stderr=True).status(first_line) as status:
        warnings.simplefilter("always", UserWarning)
        yield lambda line: status.update(Text(printable(" ".join(line.split()))))
    for message in dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught):
        if message not in known():
            print(f"Warning: {printable(message)}", file=sys.stderr)


def describe_cell(cell, cell_std=None):
    """Lines with the vectors of a cell, their standard errors and lengths, and the angle between them.

    Vectors are the rows of the cell, as (row, column) in pixels.
    """
    errors = np.full((2, 2), np.nan) if cell_std is None else cell_std
    lengths = np.linalg.norm(cell, axis=1)
    cosine = np.clip(cell[0] @ cell[1] / lengths.prod(), -1.0, 1.0)
    lines = ["Cell, as (row, column) in pixels:"]
    for name, vector, error, length in zip(("first", "second"), cell, errors, lengths, strict=True):
        parts = ", ".join(with_error(x, e) for x, e in zip(vector, error, strict=True))
        lines.append(f"  {name + ' vector':14} ({parts}), length {length:.3f}")
    lines.append(f"  angle between them {np.degrees(np.arccos(cosine)):.2f} degrees")
    return lines
