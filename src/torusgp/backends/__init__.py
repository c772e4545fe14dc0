"""How sums over rows and predictions are computed: one chooser, implementations with the same verbs.

Sums (``add_chunk``, ``add``, ``gram``, ``moments``) are gathered from data, predictors (``mean``, ``variance``,
``gradient``, ...) evaluate a posterior. ``dense`` is the reference; ``finufft`` gives the same in a time that hardly
depends on the number of columns, for up to three dimensions.
"""

import numpy as np

from torusgp.backends._dense import DensePredictor, GramSums
from torusgp.backends._nufft import ModeSums, NufftPredictor

BACKENDS = ("dense", "finufft")

_NUFFT_DIMENSIONS = 3
_MEMORY = 2**30  # bytes that the transform's own grid may take

# Seconds, measured on one core of a current machine; only their ratios matter here.
_SECONDS_PER_FLOP = 4e-11
_SECONDS_PER_CELL = 1.5e-9
_SECONDS_PER_FFT_STEP = 1e-9
_SECONDS_PER_TRANSFORM = 1e-3

__all__ = [
    "BACKENDS",
    "DensePredictor",
    "GramSums",
    "ModeSums",
    "NufftPredictor",
    "choose_backend",
    "make_predictor",
    "make_sums",
]


def choose_backend(backend, frequencies, n_samples):
    """Name of the implementation for this many rows: the one asked for, or the cheaper one that fits into memory.

    Parameters
    ----------
    backend : {"auto", "dense", "finufft"}
        What the user asks for.
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of the columns.
    n_samples : int
        Number of rows.

    Returns
    -------
    str
    """
    if backend not in ("auto", *BACKENDS):
        raise ValueError(f"backend must be 'auto', {', '.join(map(repr, BACKENDS))}, got {backend!r}.")
    dimension = frequencies.shape[1]
    cells = float(np.prod(2.0 * (4.0 * np.abs(frequencies).max(axis=0) + 1)))  # of the oversampled grid
    possible = dimension <= _NUFFT_DIMENSIONS and 16 * cells <= _MEMORY
    if backend == "finufft" and not possible:
        reason = (
            f"it has at most {_NUFFT_DIMENSIONS} dimensions, here are {dimension}"
            if dimension > _NUFFT_DIMENSIONS
            else f"its grid would take {16 * cells / 2**30:.1f} GiB"
        )
        raise ValueError(f"backend='finufft' cannot be used: {reason}. Use backend='dense'.")
    if backend != "auto":
        return backend
    dense = n_samples * (2.0 * len(frequencies)) ** 2 * _SECONDS_PER_FLOP
    nufft = (
        n_samples * 13.0**dimension * _SECONDS_PER_CELL
        + cells * np.log2(cells) * _SECONDS_PER_FFT_STEP
        + _SECONDS_PER_TRANSFORM
    )
    return "finufft" if possible and nufft < dense else "dense"


def make_sums(name, frequencies, n_outputs, tolerance, n_threads):
    """Empty sums of the named implementation."""
    if name == "dense":
        return GramSums(frequencies, n_outputs)
    return ModeSums(frequencies, n_outputs, tolerance, n_threads)


def make_predictor(name, frequencies, posterior, n_threads):
    """Predictor of the named implementation."""
    if name == "dense":
        return DensePredictor(frequencies, posterior)
    return NufftPredictor(frequencies, posterior, n_threads)
