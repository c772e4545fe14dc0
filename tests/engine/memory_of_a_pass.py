"""Memory of a process that reads rows once: ``python -m tests.engine.memory_of_a_pass KIND FOLDER write|read ROWS``."""

import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import zarr

from torusgp import SufficientStatistics
from torusgp.kernels.index_sets import tensor

STEP = 500_000


def chunks(n_rows):
    rng = np.random.default_rng(0)
    for _ in range(0, n_rows, STEP):
        yield rng.uniform(size=(STEP, 2)), rng.normal(size=STEP)


def write(kind, folder, n_rows):
    if kind == "generator":
        return
    X, y = (np.concatenate(parts) for parts in zip(*chunks(n_rows), strict=True))
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    if kind == "memmap":
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
    elif kind == "zarr":
        zarr.create_array(str(folder / "X.zarr"), data=X, chunks=(100_000, 2))
        zarr.create_array(str(folder / "y.zarr"), data=y, chunks=(100_000,))
    elif kind == "csv":
        pyarrow.csv.write_csv(table, folder / "rows.csv")
    else:
        size = n_rows if kind == "one row group" else 200_000
        pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=size)


def read(kind, folder, n_rows):
    if kind == "memmap":
        given = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy"}
    elif kind == "zarr":
        given = {name: zarr.open_array(str(folder / f"{name}.zarr")) for name in "Xy"}
    elif kind == "generator":
        given = {"X": chunks(n_rows)}
    else:
        given = {"X": folder / ("rows.csv" if kind == "csv" else "rows.parquet"), "y": "y"}
    found = SufficientStatistics.from_source(
        **given, period=[1.0, 1.0], index_set=tensor(2, 3), backend="finufft", n_threads=1
    )
    assert found.n_samples == n_rows
    print(1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]))


if __name__ == "__main__":
    kind, folder, step, n_rows = sys.argv[1:]
    {"write": write, "read": read}[step](kind, Path(folder), int(n_rows))
