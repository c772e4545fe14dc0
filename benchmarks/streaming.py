"""One pass over rows that never are in memory together: its time against that of the bare transforms, and its memory.

Rows are made chunk by chunk, from a random chunk that is moved on, which takes little time; that time is subtracted.
Every so often a bare FINUFFT transform of the same chunk takes a turn, with everything prepared for it. Then the same
rows are read from files of several kinds.

    python -m benchmarks.streaming                # 10^8 rows, about a minute
    python -m benchmarks.streaming --rows 1e9
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import finufft
import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import zarr
from threadpoolctl import threadpool_limits

from benchmarks.engine import PERIOD, TOLERANCE, _memory, describe_machine, figure, format_table, make_data
from torusgp import SufficientStatistics, TorusKernel
from torusgp.data.sources import ArraySource, ChunkSource, CsvSource, ParquetSource
from torusgp.engine.backends import count_threads
from torusgp.kernels.index_sets import hyperbolic_cross

RESULTS = Path(__file__).parent / "results" / "streaming.json"
CHUNK_ROWS = 2**19
N_BARE = 40  # bare transforms that take a turn
N_FILE_ROWS = 8 * CHUNK_ROWS
INDEX_SET = hyperbolic_cross(2, 40)


class Rows:
    """Chunks of rows, and bare transforms of some of them between one and the next."""

    def __init__(self, n_rows, n_threads):
        self.n_rows = n_rows
        self._X, self._y = make_data(CHUNK_ROWS)
        self._every = max(1, -(-n_rows // CHUNK_ROWS) // N_BARE)
        modes = tuple(int(4 * k + 1) for k in INDEX_SET.frequencies.max(axis=0))
        self._plan = finufft.Plan(1, modes, eps=TOLERANCE, isign=1, nthreads=n_threads)
        self.seconds_making = self.seconds_aside = self.seconds_bare = 0.0
        self.rows_bare = 0

    def chunks(self):
        for number, start in enumerate(range(0, self.n_rows, CHUNK_ROWS)):
            begin = time.perf_counter()
            size = min(CHUNK_ROWS, self.n_rows - start)
            X = self._X[:size] + np.array([0.1234, 0.0567]) * number  # onwards, by parts of a period
            y = np.roll(self._y, 7919 * number)[:size]
            self.seconds_making += time.perf_counter() - begin
            if number % self._every == 0:
                begin = time.perf_counter()
                self._transform(X, y)
                self.seconds_aside += time.perf_counter() - begin
            yield X, y

    def _transform(self, X, y):
        phases = TorusKernel(period=PERIOD).phases(X)
        points = [np.ascontiguousarray(column) for column in phases.T]
        strengths = 1 + 1j * (y - y.mean()) / y.std()
        begin = time.perf_counter()
        self._plan.setpts(*points)
        self._plan.execute(strengths)
        self.seconds_bare += time.perf_counter() - begin
        self.rows_bare += len(y)


def gather(source, n_threads, **options):
    return SufficientStatistics.from_source(
        source, INDEX_SET, period=PERIOD, backend="finufft", tolerance=TOLERANCE, n_threads=n_threads, **options
    )


def benchmark_pass(n_rows, n_threads, folder):
    rows = Rows(n_rows, n_threads)
    begin = time.perf_counter()
    source = ChunkSource(rows.chunks, n_rows)
    found = gather(source, n_threads, checkpoint=folder / "checkpoint", progress=sys.stderr.isatty())
    wall = time.perf_counter() - begin - rows.seconds_aside
    if found.n_samples != n_rows:
        raise RuntimeError(f"{found.n_samples} rows were counted instead of {n_rows}.")
    bare = rows.seconds_bare * n_rows / rows.rows_bare
    outside = wall - rows.seconds_making
    return [
        figure("the pass (s)", wall),
        figure("  of which rows are made (s)", rows.seconds_making),
        figure("  without that (s)", outside),
        figure(f"bare transforms, scaled from {rows.rows_bare:.1e} rows (s)", bare),
        figure("pass without making rows / bare transforms", outside / bare, at_most=1.5),
        figure("rows a second, without making them", n_rows / outside),
        figure("largest memory of the process (GiB)", _memory("VmHWM:") / 2**30, at_most=2.0),
    ]


def write_files(folder):
    """The same rows in files of several kinds; returns functions that open them."""
    X, y = make_data(N_FILE_ROWS)
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    for name, array in (("X", X), ("y", y)):
        np.save(folder / f"{name}.npy", array)
        zarr.create_array(str(folder / f"{name}.zarr"), data=array, chunks=(2**17, *array.shape[1:]))
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    return {
        "memory map": lambda: ArraySource(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy")),
        "Zarr": lambda: ArraySource(*(zarr.open_array(str(folder / f"{name}.zarr")) for name in "Xy")),
        "Parquet": lambda: ParquetSource(folder / "rows.parquet", "y"),
        "CSV": lambda: CsvSource(folder / "rows.csv", "y"),
    }


def benchmark_files(n_threads, folder):
    """How much of a pass over files is reading them."""
    found = []
    for kind, opened in write_files(folder).items():
        seconds = {"reading": [], "pass": []}
        for _ in range(3):
            begin = time.perf_counter()
            for _ in opened().chunks():
                pass
            seconds["reading"].append(time.perf_counter() - begin)
            begin = time.perf_counter()
            gather(opened(), n_threads)
            seconds["pass"].append(time.perf_counter() - begin)
        reading, whole = (float(np.median(seconds[name])) for name in ("reading", "pass"))
        found += [
            figure(f"{kind}: rows read a second", N_FILE_ROWS / reading),
            figure(f"{kind}: rows a second in a pass", N_FILE_ROWS / whole),
            figure(f"{kind}: share of the reading", reading / whole),
        ]
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e8, help="number of rows, such as 1e9")
    parser.add_argument("--threads", type=int, help="threads of the transforms; by default all that are available")
    options = parser.parse_args(arguments)
    n_rows, n_threads = int(options.rows), count_threads(options.threads, CHUNK_ROWS)
    with threadpool_limits(n_threads), tempfile.TemporaryDirectory() as folder:
        groups = {
            f"{n_rows:.0e} rows, 2 dimensions, {INDEX_SET.n_components} columns, {n_threads} thread(s)": benchmark_pass(
                n_rows, n_threads, Path(folder)
            ),
            f"{N_FILE_ROWS:.1e} rows in files": benchmark_files(n_threads, Path(folder)),
        }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"versions": describe_machine(), "groups": groups}, indent=2) + "\n")
    print(format_table(groups))
    print(f"Written to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main()
