"""Sums over rows, predictions and factors: one chooser, implementations with the same verbs.

Sums (``add_weighted``, ``add``, ``gram``, ``moments``) are gathered from data and count the rows they add (``n_rows``),
predictors (``mean``, ``variance``, ``gradient``, ...) evaluate a posterior, and algebras (``factor``) factor its
precision. ``dense`` is the reference;
``finufft`` gives the same in a time that hardly depends on the number of components, for up to three dimensions, and
``type3`` for any number of axes that up to three inputs feed; ``blocks`` transforms pairs of axes for additive models
of many; ``torch`` is the dense one on a GPU. PyTorch is imported
when it is asked for, by its name or by a device. What they take as points is what ``locate`` makes of coordinates.
"""

import numpy as np

from torusgp.engine.backends._blocks import BlockPredictor, BlockSums, block_costs
from torusgp.engine.backends._dense import DensePredictor, GramSums
from torusgp.engine.backends._lapack import LapackAlgebra, LapackFactor
from torusgp.engine.backends._nufft import ModeSums, NufftPredictor
from torusgp.engine.backends._resources import (
    KERNEL_WIDTH,
    SECONDS_PER_CELL,
    SECONDS_PER_FFT_STEP,
    SECONDS_PER_FLOP,
    SECONDS_PER_TRANSFORM,
    Resources,
    TooLargeError,
    check_resources,
    estimate_resources,
)
from torusgp.engine.backends._threads import MANY_ROWS, check_n_threads, count_threads
from torusgp.engine.backends._type3 import (
    MOST_INPUTS,
    MOST_TURNS,
    InputSpace,
    Type3Predictor,
    Type3Sums,
    can_list_pairs,
)

BACKENDS = ("dense", "finufft", "type3", "blocks", "torch")
TRANSFORMS = ("finufft", "type3", "blocks")  # whose passes over rows are cheap, and whose sums have a tolerance

_NUFFT_DIMENSIONS = 3
_MEMORY = 2**30  # bytes that the transform's own grid may take
_SECONDS_PER_PAIR = 3e-7  # of frequencies, whose sums and differences are listed and looked up
_FEW_COLUMNS = 512  # up to here a core factors a matrix as fast as a device that waits for commands

__all__ = [
    "BACKENDS",
    "MANY_ROWS",
    "TRANSFORMS",
    "BlockPredictor",
    "BlockSums",
    "DensePredictor",
    "GramSums",
    "InputSpace",
    "LapackAlgebra",
    "LapackFactor",
    "ModeSums",
    "NufftPredictor",
    "Resources",
    "TooLargeError",
    "Type3Predictor",
    "Type3Sums",
    "check_n_threads",
    "check_resources",
    "choose_backend",
    "count_threads",
    "estimate_resources",
    "has_device",
    "make_algebra",
    "make_predictor",
    "make_sums",
]


def choose_backend(backend, frequencies, n_samples, device=None, space=None, extent=None):
    """Name of the implementation for this many rows: the one asked for, or the cheaper one that fits into memory.

    Parameters
    ----------
    backend : {"auto", "dense", "finufft", "type3", "blocks", "torch"}
        What the user asks for.
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of the columns.
    n_samples : int
        Number of rows.
    device : str, optional
        What "torch" runs on, such as "cuda". With a GPU, "auto" takes it for what would be dense.
    space : InputSpace, optional
        Inputs behind the axes, of which "type3" can have three; by default nothing is known of them.
    extent : ndarray of shape (dimension,), optional
        Extents of these inputs over the rows, on which the cost of "type3" depends; without them "auto" does not
        choose it.

    Returns
    -------
    str
    """
    if not isinstance(backend, str) or backend not in ("auto", *BACKENDS):
        raise ValueError(f"backend must be 'auto', {', '.join(map(repr, BACKENDS))}, got {backend!r}.")
    if device is not None and backend in ("dense", *TRANSFORMS):
        raise ValueError(
            f"device={device!r} cannot be used with backend={backend!r}, which runs on the CPU: use backend='torch' or "
            "'auto', or device=None."
        )
    on_gpu = False
    if backend == "torch" or device is not None:
        from torusgp.engine.backends._torch_device import resolve_device

        on_gpu = resolve_device(device) != "cpu"
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
    n_inputs = 0 if space is None else space.n_inputs
    if backend == "type3" and not (n_inputs <= MOST_INPUTS and can_list_pairs(frequencies)):
        reason = (
            f"it has at most {MOST_INPUTS} inputs, here are {n_inputs}"
            if n_inputs > MOST_INPUTS
            else f"the sums and differences of {len(frequencies)} frequencies are too many"
        )
        raise ValueError(f"backend='type3' cannot be used: {reason}. Use backend='dense'.")
    if backend != "auto":
        return backend
    costs = {"dense": n_samples * (2.0 * len(frequencies)) ** 2 * SECONDS_PER_FLOP}
    if possible:
        costs["finufft"] = (
            n_samples * KERNEL_WIDTH**dimension * SECONDS_PER_CELL
            + cells * np.log2(cells) * SECONDS_PER_FFT_STEP
            + SECONDS_PER_TRANSFORM
        )
    if extent is not None and 0 < n_inputs <= min(MOST_INPUTS, dimension - 1) and can_list_pairs(frequencies):
        costs["type3"] = _type3_cost(frequencies, n_samples, space.turns(frequencies, extent))
    n_single = np.count_nonzero(np.count_nonzero(frequencies, axis=1) <= 1)
    if not on_gpu and dimension > 1 and 2 * n_single > len(frequencies):
        costs["blocks"] = min(block_costs(frequencies, n_samples).values())
    name = min(costs, key=lambda one: (costs[one], one))
    return "torch" if on_gpu and name == "dense" else name


def _type3_cost(frequencies, n_samples, turns):
    """Seconds of a type-3 transform; infinite if its grid does not fit into memory."""
    pieces = np.ceil(np.maximum(turns / MOST_TURNS, 1.0))
    # Its own grid has 4 turns / pi cells and the width of its kernel, and the transform within has twice as many.
    cells = float(np.prod(2 * (4 / np.pi * turns / pieces + 2 * KERNEL_WIDTH)))
    if 16 * cells > _MEMORY:
        return np.inf
    n_pieces = min(float(np.prod(pieces)), n_samples)
    n_modes = min(2.0 * len(frequencies) ** 2, float(np.prod(4.0 * np.abs(frequencies).max(axis=0) + 1)))
    return (
        (n_samples + n_pieces * n_modes) * KERNEL_WIDTH ** len(turns) * SECONDS_PER_CELL
        + n_pieces * (cells * np.log2(cells) * SECONDS_PER_FFT_STEP + SECONDS_PER_TRANSFORM)
        + len(frequencies) ** 2 * _SECONDS_PER_PAIR
    )


def make_sums(name, frequencies, n_outputs, tolerance, n_threads, device=None, precision="float64", space=None):
    """Empty sums of the named implementation."""
    if name == "torch":
        from torusgp.engine.backends._torch import TorchSums

        return TorchSums(frequencies, n_outputs, device, precision)
    if not isinstance(precision, str) or precision != "float64":
        raise ValueError(f"precision={precision!r} needs backend='torch': backend={name!r} sums in 'float64'.")
    if name == "dense":
        return GramSums(frequencies, n_outputs)
    if name == "blocks":
        return BlockSums(frequencies, n_outputs, tolerance, n_threads)
    if name == "type3":
        return Type3Sums(frequencies, n_outputs, space, tolerance, n_threads)
    return ModeSums(frequencies, n_outputs, tolerance, n_threads)


def make_predictor(name, frequencies, posterior, n_threads, device=None, space=None):
    """Predictor of the named implementation."""
    if name == "torch":
        from torusgp.engine.backends._torch import TorchPredictor

        return TorchPredictor(frequencies, posterior, device)
    if name == "dense":
        return DensePredictor(frequencies, posterior)
    if name == "blocks":
        return BlockPredictor(frequencies, posterior, n_threads)
    if name == "type3":
        return Type3Predictor(frequencies, posterior, space, n_threads)
    return NufftPredictor(frequencies, posterior, n_threads)


def make_algebra(gram, device=None):
    """Factors of posterior precisions of a Gram matrix: by LAPACK, or by PyTorch for large ones on a device."""
    if device in (None, "cpu") or len(gram) <= _FEW_COLUMNS:
        return LapackAlgebra(gram)
    from torusgp.engine.backends._torch_algebra import TorchAlgebra

    return TorchAlgebra(gram, device)


def has_device(device):
    """True if PyTorch is there and has this device."""
    from torusgp.engine.backends._torch_device import resolve_device

    try:
        resolve_device(device)
    except (ImportError, ValueError):
        return False
    return True
