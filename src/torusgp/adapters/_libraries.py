"""Other libraries, called by the names that NumPy gave to their functions."""

import numpy as np


class ArrayLibrary:
    """Functions of an array library, such as ``log`` and ``linalg.inv``, and its way to take constants."""

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
