"""Libraries that are not installed with the package, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, extra: str, what: str, advice: str = "") -> Any:
    """Import a module of another library, or raise with the line that installs it.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        Extra of this package that holds the library.
    what : str
        What needs it, as the beginning of a sentence.
    advice : str, default=""
        What else can be done.

    Returns
    -------
    module

    Examples
    --------
    >>> require("json", "io", "A table needs").dumps([1])
    '[1]'
    """
    try:
        importlib.import_module(module.partition(".")[0])  # what is inside a library may be loaded without it
        return importlib.import_module(module)
    except ImportError as error:
        library = {"PIL": "Pillow"}.get(module.partition(".")[0], module.partition(".")[0])
        raise ImportError(f'{what} {library}. Install it with: pip install "torusgp[{extra}]"{advice}') from error
