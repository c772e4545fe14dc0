"""Processes that are killed, compete for one checkpoint, or find the disk full: sums bit by bit, or a clear refusal.

``python -m tests.fuzz.processes FOLDER`` is one pass, in a process of its own.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.fuzz.verdicts import FindingError
from torusgp import SufficientStatistics
from torusgp.data import sources
from torusgp.kernels.index_sets import hyperbolic_cross

CHUNK, N_CHUNKS = 400, 60
SET, PERIOD = hyperbolic_cross(2, 6), (24.0, 7.0)


def chunks():
    rng = np.random.default_rng(0)
    for _ in range(N_CHUNKS):
        time.sleep(0.002)  # so that there is time to be killed in
        yield rng.uniform(0, 100, (CHUNK, 2)), rng.normal(size=CHUNK)


def gather(folder):
    """One pass, written as often as can be."""
    sources._chunk.CHUNK_ROWS = CHUNK
    SufficientStatistics.from_source(
        chunks, SET, period=PERIOD, backend="finufft", n_threads=1, checkpoint=folder / "pass", checkpoint_seconds=0
    ).save(folder / "sums")


def start(folder):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.processes", str(folder)], stderr=subprocess.PIPE, text=True
    )


def finish(process):
    """Whether a process ended well; if not, it has to have said why."""
    error = process.communicate(timeout=120)[1]
    if process.returncode not in (0, 2, -signal.SIGKILL) or "Traceback" in error:
        raise FindingError(f"exit code {process.returncode}: {error[-300:]}")
    return process.returncode


def check_sums(folder):
    found = SufficientStatistics.load(folder / "sums").to_archive()
    rng_free = folder / "undisturbed"
    if not rng_free.exists():
        rng_free.mkdir()
        gather(rng_free)
    expected = SufficientStatistics.load(rng_free / "sums").to_archive()
    if found[0] != expected[0] or any(not np.array_equal(found[1][name], expected[1][name]) for name in expected[1]):
        raise FindingError("the sums of a pass that was disturbed differ")


def clean(folder):
    for path in folder.glob("*"):
        if path.is_file():
            path.unlink()


def killed(folder, rng):
    """Kill a pass some times, let it finish, compare."""
    clean(folder)
    for _ in range(int(rng.integers(1, 4))):
        process = start(folder)
        time.sleep(float(rng.uniform(1.0, 2.5)))
        process.kill()
        finish(process)
    if finish(start(folder)) != 0:
        raise FindingError("the last pass was refused")
    check_sums(folder)
    return "killed"


def paired(folder, rng):
    """Two passes on one checkpoint, of which one may die."""
    clean(folder)
    both = [start(folder)]
    time.sleep(float(rng.uniform(0, 0.3)))
    both.append(start(folder))
    if rng.random() < 0.5:
        time.sleep(float(rng.uniform(1.0, 2.0)))
        both[int(rng.integers(2))].kill()
    codes = [finish(one) for one in both]
    if 0 not in codes and finish(start(folder)) != 0:
        raise FindingError(f"no pass came through: {codes}")
    check_sums(folder)
    return "paired"


def full_disk(folder, rng):
    """A file system of some kilobytes: what was written before stays, the error says so, and room mends it."""
    place = folder / "small"
    place.mkdir(exist_ok=True)
    size = int(rng.integers(8, 120))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", place], capture_output=True)
    if mounted.returncode:
        return "no mount"
    try:
        code = finish(start(place))
        if code == 2:
            subprocess.run(["mount", "-o", "remount,size=8m", place], check=True)
            code = finish(start(place))
        if code:
            raise FindingError("room did not mend it")
        (folder / "sums").write_bytes((place / "sums").read_bytes())
    finally:
        subprocess.run(["umount", place], check=True)
    check_sums(folder)
    return "full disk"


if __name__ == "__main__":
    try:
        gather(Path(sys.argv[1]))
    except (OSError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        os._exit(2)
