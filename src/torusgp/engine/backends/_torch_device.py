"""PyTorch, its devices, precisions and columns, for sums, predictions and linear algebra.

PyTorch is an extra. This module can be imported without it; asking for a device then raises an error that
says how to install it.
"""

import importlib
import os
from contextlib import contextmanager
from typing import Any

import numpy as np

from torusgp.engine.backends._threads import is_forked

_ALIGNMENT = 8  # frequencies: rows of columns then begin at multiples of 64 bytes, as tensor cores like it
_CHUNK_BYTES = {"cpu": 2**26, "cuda": 2**31}  # columns of a chunk of rows: enough to keep the device busy
_CHUNK_ROWS = 2**18
_PINNED_BYTES = 2**26  # larger arrays are not copied to page-locked memory first: there is too little of it

# Rows whose products are summed in one go, before their sum goes to that of all rows in double precision.
_ROWS_AT_ONCE = {"float64": 2**12, "float32": 2**10, "tf32": 2**12}
_SLACK = 1.01  # for terms of second order

PRECISIONS = tuple(_ROWS_AT_ONCE)


def _find_torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


torch = _find_torch()


def _use_one_thread():
    """Keep PyTorch out of its OpenMP runtime, as it does itself in the workers that load its data."""
    if torch is not None:
        torch.set_num_threads(1)


if is_forked():
    _use_one_thread()
elif hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_use_one_thread)


def check_torch():
    """Raise unless PyTorch is installed."""
    if torch is None:
        raise ImportError('backend="torch" and device need PyTorch. Install it with: pip install "torusgp[torch]"')


def resolve_device(device):
    """Name of a device that is there: as asked for, or by default a GPU if there is one, else the CPU."""
    check_torch()
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, number = str(device).partition(":")
    if kind not in _CHUNK_BYTES or (colon and not (kind == "cuda" and number.isdigit())):
        raise ValueError(f"device must be None, 'cpu', 'cuda' or a numbered one as 'cuda:1', got {device!r}.")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(number or 0) >= count:
            raise ValueError(
                f"device={device!r} is not available: PyTorch {torch.__version__} sees {count} GPU(s). Use "
                "device=None, or install a PyTorch that is built for your GPU."
            )
    return str(device)


def resolve_stored_device(device):
    """Name of the device that something unpickled goes to: where it was, or the CPU if that is not there."""
    try:
        return resolve_device(device)
    except ValueError:
        return "cpu"


def free_memory(device):
    """Bytes that are free on a GPU, those that PyTorch holds in reserve included."""
    number = torch.device(device).index
    number = torch.cuda.current_device() if number is None else number
    reserve = torch.cuda.memory_reserved(number) - torch.cuda.memory_allocated(number)
    return torch.cuda.mem_get_info(number)[0] + reserve


def chunk_rows(device, bytes_per_row, n_rows):
    """Number of rows to work on at once: they take a fixed size, or a quarter of the memory of a small GPU."""
    size = _CHUNK_BYTES[device.partition(":")[0]]
    if device != "cpu":
        size = min(size, free_memory(device) // 4)
    return max(1, min(n_rows, _CHUNK_ROWS, max(_ALIGNMENT, size // bytes_per_row)))


def to_device(array, device):
    """Array as a tensor on a device. On the CPU they share memory; copies to a GPU do not keep the host waiting."""
    tensor = torch.from_numpy(np.require(array, requirements=["C", "W"]))
    if device != "cpu" and array.nbytes <= _PINNED_BYTES:
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


class DeviceColumns:
    r"""Columns of the basis on a device: real and imaginary parts of :math:`e^{i k \cdot \theta}`, side by side.

    The zero frequency has a sine too, a column of zeros, and the last frequency is followed by zero ones up to a
    multiple of eight: with rows aligned in memory, matrix products reach the speed of the device.

    Here cosines and sines of a matrix product are the fast way, unlike in :mod:`torusgp.engine.basis`: a device is
    short of memory bandwidth rather than of arithmetic, and this reads and writes fewest bytes.

    Shapes: frequencies (n_frequencies, dimension).
    """

    def __init__(self, frequencies, device):
        n_padded = -(-len(frequencies) // _ALIGNMENT) * _ALIGNMENT
        padded = np.zeros((frequencies.shape[1], n_padded))
        padded[:, : len(frequencies)] = frequencies.T
        self._frequencies = to_device(padded, device)
        self.width = 2 * n_padded
        self.device = device

    def workspace(self, n_rows):
        """Memory for angles and columns of n rows, to be passed to :meth:`evaluate`."""
        options = {"dtype": torch.float64, "device": self.device}
        return torch.empty((n_rows, self.width // 2), **options), torch.empty((n_rows, self.width), **options)

    def evaluate(self, phases, scale, workspace):
        """Columns of rows, times a factor of each row.

        Phases are in radians; the result, of shape (n_rows, width), is a part of the workspace.
        """
        angles, columns = (part[: len(phases)] for part in workspace)
        torch.mm(phases, self._frequencies, out=angles)
        pairs = torch.view_as_complex(columns.view(len(phases), -1, 2))
        torch.polar(scale.expand_as(angles), angles, out=pairs)
        return columns


# Precisions -----------------------------------------------------------------------------------------------------------


def check_precision(precision):
    """Return the precision, or raise unless it is known."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(map(repr, PRECISIONS))}, got {precision!r}.")
    return precision


def rows_at_once(precision):
    """Number of rows whose products are summed in one go: rounding grows with it."""
    return _ROWS_AT_ONCE[precision]


def rounding(precision):
    r"""Largest error of an entry of the Gram matrix, relative to the sum of the precisions of the rows.

    Products of columns are at most as large as the precision of their row. In single precision, :math:`u = 2^{-24}`,
    each of the two factors has an error of u and a sum of m products one of m u. TensorFloat-32 keeps 11 bits of the
    factors, so that they have errors of :math:`v = 2^{-11}`; their products are exact, and tensor cores cut sums off
    instead of rounding them, which makes 2 m u. The sums over chunks of m rows are added in double precision.

    These bounds hold for every order of the summands; errors of both kinds mostly cancel, and what remains is less by
    one or two orders of magnitude.

    Examples
    --------
    >>> [f"{rounding(precision):.1e}" for precision in PRECISIONS]
    ['8.9e-16', '6.2e-05', '1.5e-03']
    """
    unit, coarse = 2.0**-24, 2.0**-11
    if check_precision(precision) == "float64":
        return 4 * np.finfo(float).eps
    if precision == "float32":
        return _SLACK * (2 + rows_at_once(precision)) * unit
    return _SLACK * (2 * coarse + 2 * unit + 2 * rows_at_once(precision) * unit)


def round_to_tf32(tensor):
    """Round single-precision numbers to the 11 bits of TensorFloat-32, in place.

    Tensor cores would cut the other bits off instead. That makes all columns smaller, an error that does not average
    out over the rows.
    """
    bits = tensor.view(torch.int32)
    bits.add_(1 << 12).bitwise_and_(-(1 << 13))


@contextmanager
def single_products(precision):
    """Context in which products of single-precision matrices are those of this precision, whatever was set before."""
    settings = torch.backends.cuda.matmul
    # From PyTorch 2.9 on, the older name cannot be read where a user has set the newer one.
    name = "fp32_precision" if hasattr(settings, "fp32_precision") else "allow_tf32"
    values = {"fp32_precision": ("ieee", "tf32"), "allow_tf32": (False, True)}[name]
    before = getattr(settings, name)
    setattr(settings, name, values[precision == "tf32"])
    try:
        yield
    finally:
        setattr(settings, name, before)
