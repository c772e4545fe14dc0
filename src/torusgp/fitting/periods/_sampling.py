"""How inputs are sampled: their extent, the grid they lie on if any, and the frequencies they can distinguish."""

from dataclasses import dataclass

import numpy as np

from torusgp.kernels.grids import nyquist_frequency

_SAME_UNITS = 10.0  # ratio of extents up to which inputs are taken to have the same units
_BEYOND_AVERAGE = {1: 5.0, 2: 2.0, 3: 1.5}  # highest frequency of scattered points, relative to evenly spread ones
_FAR_BEYOND = 100.0  # the same for a first look at a single input: stars pulsate far faster than they are observed
_MOST_TURNS = 2.0**16  # over the data, for that look


@dataclass(frozen=True)
class Sampling:
    """Extent and resolution of inputs of shape (n_samples, dimension).

    Attributes
    ----------
    middle, extent : ndarray of shape (dimension,)
        Middle and length of the range of each input.
    nyquist : ndarray of shape (dimension,)
        Highest frequency of inputs on a grid, in cycles per unit; infinite for scattered ones.
    highest : ndarray of shape (dimension,)
        Highest frequency that is worth looking for, in cycles per unit.
    extreme : ndarray of shape (dimension,)
        Highest frequency that is worth a look.
    unit : ndarray of shape (dimension,)
        Units in which vectors are compared by length: one, unless the extents are so different that the inputs cannot
        be in the same units; then the extents.
    """

    middle: np.ndarray
    extent: np.ndarray
    nyquist: np.ndarray
    highest: np.ndarray
    extreme: np.ndarray
    unit: np.ndarray

    @classmethod
    def from_inputs(cls, X):
        """Look at inputs."""
        low, high = X.min(axis=0), X.max(axis=0)
        extent = high - low
        if not (extent > 0).all():
            constant = int(np.flatnonzero(extent <= 0)[0])
            raise ValueError(f"Input {constant} has the value {low[constant]:g} in every row: it has no period.")
        nyquist = np.array([nyquist_frequency(column) for column in X.T])
        dimension = X.shape[1]
        spread = len(X) ** (1 / dimension) / (2 * extent)
        highest = np.minimum(nyquist, _BEYOND_AVERAGE.get(dimension, 1.0) * spread)
        far = np.minimum(_FAR_BEYOND * spread, _MOST_TURNS / extent) if dimension == 1 else highest
        extreme = np.minimum(nyquist, np.maximum(highest, far))
        unit = np.ones(dimension) if extent.max() <= _SAME_UNITS * extent.min() else extent
        return cls((low + high) / 2, extent, nyquist, highest, extreme, unit)
