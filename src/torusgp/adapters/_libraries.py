"""Other libraries: loaded when an adapter is imported, and called by the names that NumPy gave to their functions."""

import importlib
from typing import Any

import numpy as np


def require(module: str, extra: str) -> Any:
    """Import a module of another library, or raise with the line that installs it.

    Parameters
    ----------
    module : str
        Name of the module.
    extra : str
        The adapter that needs it, which is also the name of the extra.

    Returns
    -------
    module
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(
            f'torusgp.adapters.{extra} needs {library}. Install it with: pip install "torusgp[{extra}]"'
        ) from error


class ArrayLibrary:
    """Functions of an array library, such as ``log`` and ``linalg.inv``, and its way to take constants.

    Parameters
    ----------
    module : module
        Where the functions are found.
    constant : callable
        Turns a NumPy array into one of the library.
    """

    def __init__(self, module, constant):
        self._module = module
        self.constant = constant

    def __getattr__(self, name):
        return getattr(self._module, name)


def known_shape(array):
    """Shape of an array of any library; PyTensor's may hold None for what is known only later."""
    symbolic = getattr(getattr(array, "type", None), "shape", None)
    return tuple(array.shape if symbolic is None else symbolic)


NUMPY = ArrayLibrary(np, np.asarray)
