"""Processes that are killed, compete for one checkpoint, or find the disk full: sums bit by bit, or a clear refusal.

Each pass is a forked process, which has everything imported: it is killed in the middle of its work.
"""

import multiprocessing
import signal
import subprocess
import time
import traceback

import numpy as np

from tests.fuzz.verdicts import FindingError
from torusgp import SufficientStatistics
from torusgp.data import sources
from torusgp.kernels.index_sets import hyperbolic_cross

FORK = multiprocessing.get_context("fork")
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


def attempt(folder, teller):
    """One pass that tells why it failed: "refused" if the library said what is wrong."""
    try:
        gather(folder)
    except (OSError, ValueError):
        teller.send(("refused", ""))
    except BaseException:
        teller.send(("broken", traceback.format_exc()))
    else:
        teller.send(("done", ""))


class Pass:
    """A pass in a process of its own."""

    def __init__(self, folder):
        self.listener, teller = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=attempt, args=(folder, teller))
        self.process.start()
        teller.close()

    def kill(self):
        self.process.kill()

    def finish(self):
        """Whether it is "done", "refused" or "killed"; anything else is a finding."""
        self.process.join(120)
        if self.process.is_alive():
            self.process.kill()
            raise FindingError("a pass did not end in two minutes")
        if self.process.exitcode == -signal.SIGKILL:
            return "killed"
        try:
            word, text = self.listener.recv()
        except EOFError:
            raise FindingError(f"a pass ended with exit code {self.process.exitcode} and said nothing") from None
        if word == "broken" or self.process.exitcode:
            raise FindingError(f"exit code {self.process.exitcode}: {text[-300:]}")
        return word


def undisturbed(folder):
    """Sums of a pass that nobody disturbs, and the seconds that it takes."""
    place = folder / "undisturbed"
    if not place.exists():
        place.mkdir()
        begin = time.monotonic()
        if Pass(place).finish() != "done":
            raise FindingError("a pass that nobody disturbs was refused")
        (place / "seconds").write_text(str(time.monotonic() - begin))
    return SufficientStatistics.load(place / "sums").to_archive(), float((place / "seconds").read_text())


def check_sums(folder):
    found, expected = SufficientStatistics.load(folder / "sums").to_archive(), undisturbed(folder)[0]
    if found[0] != expected[0] or any(not np.array_equal(found[1][name], expected[1][name]) for name in expected[1]):
        raise FindingError("the sums of a pass that was disturbed differ")


def clean(folder):
    for path in folder.glob("*"):
        if path.is_file():
            path.unlink()


def killed(folder, rng):
    """Kill a pass some times, let it finish, compare."""
    clean(folder)
    seconds, words = undisturbed(folder)[1], []
    for _ in range(int(rng.integers(1, 4))):
        one = Pass(folder)
        time.sleep(float(rng.uniform(0, seconds)))
        one.kill()
        words.append(one.finish())
    if Pass(folder).finish() != "done":
        raise FindingError("the last pass was refused")
    check_sums(folder)
    return f"{words.count('killed')} of {len(words)} killed before the end"


def paired(folder, rng):
    """Two passes on one checkpoint, of which one may die."""
    clean(folder)
    seconds = undisturbed(folder)[1]
    both = [Pass(folder)]
    time.sleep(float(rng.uniform(0, 0.5 * seconds)))
    both.append(Pass(folder))
    if rng.random() < 0.5:
        time.sleep(float(rng.uniform(0, 0.5 * seconds)))
        both[int(rng.integers(2))].kill()
    words = sorted(one.finish() for one in both)
    if "done" not in words and Pass(folder).finish() != "done":
        raise FindingError(f"no pass came through: {words}")
    check_sums(folder)
    return " and ".join(words)


def full_disk(folder, rng):
    """A file system of some kilobytes: what was written before stays, the error says so, and room mends it."""
    place = folder / "small"
    place.mkdir(exist_ok=True)
    size = int(rng.integers(8, 120))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", place], capture_output=True)
    if mounted.returncode:
        return "no mount"
    try:
        word = Pass(place).finish()
        if word == "refused":
            subprocess.run(["mount", "-o", "remount,size=8m", place], check=True)
            if Pass(place).finish() != "done":
                raise FindingError("room did not mend it")
        (folder / "sums").write_bytes((place / "sums").read_bytes())
    finally:
        subprocess.run(["umount", place], check=True)
    check_sums(folder)
    return "there was room" if word == "done" else "refused until there was room"
