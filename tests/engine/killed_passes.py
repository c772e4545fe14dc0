"""Passes over sources that are killed again and again: ``python -m tests.engine.killed_passes FOLDER KILLS KIND ...``.

Each attempt is a child of this process, forked before anything has started a thread. It tells through a pipe when it
has counted a batch and when it is writing a file; then it is killed, after a random while. What happened is printed as
JSON.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

from torusgp import SufficientStatistics, sources
from torusgp.data import checkpoints
from torusgp.kernels.index_sets import hyperbolic_cross

ROWS_OF_A_CHUNK, N_CHUNKS = 4000, 120
SET, PERIOD = hyperbolic_cross(2, 12), (24.0, 7.0)


def make_rows():
    rng = np.random.default_rng(0)
    n_rows = ROWS_OF_A_CHUNK * N_CHUNKS
    return rng.uniform(0, 100, (n_rows, 2)), rng.normal(size=n_rows)


def store(kind, folder):
    X, y = make_rows()
    if kind == "memmap":
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
    if kind == "parquet":
        table = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "y": y})
        pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=ROWS_OF_A_CHUNK)


def open_source(kind, folder):
    if kind == "memmap":
        X, y = (np.load(folder / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
        return sources.ArraySource(X, y, chunk_rows=ROWS_OF_A_CHUNK)
    if kind == "parquet":
        return sources.ParquetSource(folder / "rows.parquet", "y")
    X, y = make_rows()
    starts = range(0, len(X), ROWS_OF_A_CHUNK)
    return sources.ChunkSource((X[s : s + ROWS_OF_A_CHUNK], y[s : s + ROWS_OF_A_CHUNK]) for s in starts)


def run(kind, folder, checkpoint=None):
    return SufficientStatistics.from_source(
        open_source(kind, folder),
        SET,
        period=PERIOD,
        backend="finufft",
        n_threads=1,
        checkpoint=checkpoint,
        checkpoint_seconds=0,
    )


def attempt(kind, folder, pipe):
    """What the child does."""
    sources._chunk.CHUNK_ROWS = ROWS_OF_A_CHUNK  # a batch is a chunk
    checkpoints._PATIENCE = 0  # and is written at once
    count, fsync = checkpoints.Checkpoint.count, os.fsync

    def count_and_tell(self, chunks):
        count(self, chunks)
        os.write(pipe, b"c" * len(chunks))

    def tell_and_write(file):
        os.write(pipe, b"w")
        time.sleep(0.002)
        fsync(file)
        time.sleep(0.002)
        os.write(pipe, b"d")

    checkpoints.Checkpoint.count = count_and_tell
    os.fsync = tell_and_write
    run(kind, folder, folder / "checkpoint").save(folder / "result")


def rows_in(path):
    if not path.exists():
        return 0
    with np.load(path) as archive:
        return json.loads(archive["header"].tobytes())["content"]["position"]["rows"]


def leftovers(folder):
    return [path.name for path in folder.glob("*.part")]


def kill_one(kind, folder, n_batches, at, wait):
    """Run an attempt until it has counted so many batches and is at some point; None lets it finish."""
    rows_at_start = rows_in(folder / "checkpoint")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            attempt(kind, folder, writing)
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    os.close(writing)
    told = ""
    while new := os.read(reading, 1).decode():
        told += new
        if n_batches is not None and told.count("c") >= n_batches and new == at:
            time.sleep(wait)
            os.kill(child, signal.SIGKILL)
            break
    _, status = os.waitpid(child, 0)
    while rest := os.read(reading, 4096).decode():
        told += rest
    os.close(reading)
    last = told.rstrip("c")[-1:]
    return {
        "rows_at_start": rows_at_start,
        "rows_counted": ROWS_OF_A_CHUNK * told.count("c"),
        "signal": status & 0x7F,
        "failed": status >> 8,
        "while_writing": last == "w",
        "leftovers": leftovers(folder),
    }


def main(folder, n_kills, *kinds):
    chance, reports = random.Random(0), []
    for kind in kinds:
        place = Path(folder) / kind
        place.mkdir()
        store(kind, place)
        attempts = []
        for number in range(int(n_kills)):
            at, longest = [("w", 0.0), ("d", 0.004), ("c", 0.008)][number % 3]  # in a write, after one, anywhere
            attempts.append(kill_one(kind, place, chance.randint(1, 8), at, chance.uniform(0, longest)))
        attempts.append(kill_one(kind, place, None, None, 0.0))
        report = {"n_rows": ROWS_OF_A_CHUNK * N_CHUNKS, "rows_of_a_batch": ROWS_OF_A_CHUNK, "attempts": attempts}
        reports.append(report | {"leftovers": leftovers(place)})
    for kind in kinds:  # last: from here on there may be threads, and no more forks
        run(kind, Path(folder) / kind).save(Path(folder) / kind / "undisturbed")
    print(json.dumps(reports))


if __name__ == "__main__":
    main(*sys.argv[1:])
