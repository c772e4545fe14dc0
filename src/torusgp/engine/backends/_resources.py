"""Memory and time that a regression takes, and memory that there is.

Memory is counted in matrices of ``8 n_columns ** 2`` bytes. The dense sums take one, the Gram matrix that they give out
one, the factor of each output one, and the gradient of the evidence, or a covariance, another.
"""

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# Seconds, measured on one core of a current machine; only their ratios matter for the choice of an implementation.
SECONDS_PER_FLOP = 4e-11
SECONDS_PER_CELL = 1.5e-9
SECONDS_PER_FFT_STEP = 1e-9
SECONDS_PER_TRANSFORM = 1e-3
_SECONDS_PER_DEVICE_FLOP = 3e-14  # of one H200
KERNEL_WIDTH = 13.0  # cells of a transform's grid that a point reaches in each dimension

_NEGLIGIBLE = 2**27  # bytes that are not worth a look at the memory
_ROOT = Path("/")


class TooLargeError(MemoryError):
    """A regression with this number of components does not fit into memory."""


@dataclass(frozen=True)
class Resources:
    """Memory and time that a regression takes.

    Attributes
    ----------
    memory : int
        Bytes at the peak.
    device_memory : int
        Bytes at the peak on the device; zero without one.
    seconds : float
        Rough time: on one core, or on one H200.
    """

    memory: int
    device_memory: int
    seconds: float


def estimate_resources(n_columns, n_samples, backend, device=None, *, n_outputs=1, dimension=3, n_evaluations=100):
    """Estimate what a regression takes; see :func:`check_resources`."""
    matrix = 8 * n_columns**2
    on_device = device not in (None, "cpu")
    factors = n_outputs + 1  # and what the gradient needs
    sums = 1 if backend in ("dense", "torch") else 0
    if not on_device:
        memory, device_memory = (sums + 1 + factors) * matrix, 0
    else:
        memory = (1 + (backend == "dense")) * matrix
        device_memory = ((backend == "torch") + 1 + factors) * matrix
    rate = _SECONDS_PER_DEVICE_FLOP if on_device else SECONDS_PER_FLOP
    if backend in ("finufft", "type3", "blocks"):
        seconds = n_samples * KERNEL_WIDTH**dimension * SECONDS_PER_CELL
    else:
        seconds = n_samples * float(n_columns) ** 2 * (rate if backend == "torch" else SECONDS_PER_FLOP)
    seconds += n_evaluations * n_outputs * 2 / 3 * float(n_columns) ** 3 * rate
    return Resources(int(memory), int(device_memory), float(seconds))


def check_resources(n_columns, n_samples, backend, device=None, *, n_outputs=1, dimension=3, n_evaluations=100):
    """Raise if a regression does not fit into the memory that is free.

    Parameters
    ----------
    n_columns : int
        Number of components.
    n_samples : int
        Number of rows.
    backend : {"dense", "finufft", "type3", "blocks", "torch"}
        Implementation of the sums.
    device : str, optional
        Where large matrices are multiplied and factored; by default the CPU, or what "torch" takes by itself.
    n_outputs : int, default=1
        Number of targets.
    dimension : int, default=3
        Number of dimensions of the torus; the time of transforms depends on it.
    n_evaluations : int, default=100
        How often learning evaluates the evidence.

    Returns
    -------
    Resources
        What it takes, if it fits.

    Raises
    ------
    TooLargeError
        It does not.

    Examples
    --------
    >>> check_resources(1001, 10**6, "dense").memory / 1001**2  # four matrices of eight bytes an entry
    32.0
    """
    if backend == "torch" and device is None:
        from torusgp.engine.backends._torch_device import resolve_device  # PyTorch is loaded only if it is used

        device = resolve_device(None)
    needed = estimate_resources(
        n_columns,
        n_samples,
        backend,
        device,
        n_outputs=n_outputs,
        dimension=dimension,
        n_evaluations=n_evaluations,
    )
    places = [("memory", needed.memory, available_memory)]
    if needed.device_memory:
        places.append((f"memory of {device!r}", needed.device_memory, lambda: _device_memory(device)))
    for name, size, free_of in places:
        free = free_of() if size > _NEGLIGIBLE else None
        if free is None or size <= free:
            continue
        n_matrices = size / (8 * n_columns**2)
        fitting = int((free / (8 * n_matrices)) ** 0.5)
        elsewhere = "a GPU (device='cuda')" if device in (None, "cpu") else "the CPU (device=None, backend='dense')"
        work = f"{n_samples:.3g} rows and {n_evaluations} evaluations of the evidence"
        time = f" It would take about {_duration(needed.seconds)} for {work}." if needed.seconds > 1 else ""
        raise TooLargeError(
            f"{n_columns} components need about {_gigabytes(size)} of {name} with backend={backend!r} "
            f"({n_matrices:g} matrices of {n_columns} x {n_columns} numbers), but {_gigabytes(free)} are free.{time} "
            f"Use at most {fitting} of them (n_components), {elsewhere}, or a machine with more memory."
        )
    return needed


def available_memory():
    """Bytes that this process may still take, on the machine and in its control groups; None where nobody tells."""
    known = [size for size in (_machine_memory(), *_control_group_memory()) if size is not None]
    return min(known, default=None)


def _machine_memory():
    for line in _read(_ROOT / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not every system has them
        return None


def _control_group_memory():
    """Memory that the limits of the control groups of this process leave: its own and all above it."""
    for line in _read(_ROOT / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, limit, usage, cache = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            folder, limit, usage = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        parts = PurePosixPath(path).parts[1:]
        for depth in range(len(parts) + 1):
            group = _ROOT.joinpath(folder, *parts[:depth])
            largest, used = _read(group / limit).strip(), _read(group / usage).strip()
            if largest.isdigit() and used.isdigit():
                counts = dict(row.split() for row in _read(group / "memory.stat").splitlines())
                yield max(0, int(largest) - int(used) + int(counts.get(cache, 0)))  # a cache of files gives way


def _device_memory(device):
    from torusgp.engine.backends._torch_device import free_memory

    return free_memory(device)


def _read(path):
    try:
        return path.read_text()
    except OSError:
        return ""


def _gigabytes(size):
    return f"{size / 1e9:.3g} GB"


def _duration(seconds):
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.2g} {name}"
    return f"{seconds:.2g} s"
