"""The same rows in everything that rows can be read from, in chunks of a few rows each."""

import itertools
import os
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import zarr

from torusgp import SufficientStatistics
from torusgp.data.sources import ArraySource
from torusgp.kernels.index_sets import hyperbolic_cross

NAMES = ("a", "b", "c")
TARGETS = ("first", "second")
COLUMNS = (2, 0, 2)  # one input feeds two dimensions, one feeds none
PERIOD = (1.5, 2.0, 7.0)
SET = hyperbolic_cross(3, 2)
CHUNK = 40
_clock = itertools.count(1)


@dataclass
class Table:
    """Rows with everything that they can have."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray
    noise_scale: np.ndarray

    @classmethod
    def make(cls, n_rows=333, seed=0):
        rng = np.random.default_rng(seed)
        return cls(
            rng.uniform(-9, 9, (n_rows, 3)),
            rng.normal([5.0, 0.0], 1.0, (n_rows, 2)),
            rng.integers(0, 4, n_rows).astype(float) + (np.arange(n_rows) == 0),
            rng.uniform(0.5, 2.0, n_rows),
        )

    def __len__(self):
        return len(self.X)

    def arrays(self):
        return self.X, self.y, self.sample_weight, self.noise_scale

    def rows(self, start, stop):
        return Table(*(array[start:stop] for array in self.arrays()))

    def changed(self, row, name="y", value=0.25):
        """A copy with another number in one row."""
        array = getattr(self, name).copy()
        array[row] = value
        return replace(self, **{name: array})

    def frame(self):
        columns = dict(zip(NAMES, self.X.T, strict=True)) | dict(zip(TARGETS, self.y.T, strict=True))
        return pd.DataFrame(columns | {"weight": self.sample_weight, "scale": self.noise_scale})

    def statistics(self, backend="finufft"):
        """Statistics of all rows at once."""
        return SufficientStatistics.from_data(
            self.X[:, list(COLUMNS)],
            self.y,
            SET,
            period=PERIOD,
            sample_weight=self.sample_weight,
            noise_scale=self.noise_scale,
            backend=backend,
        )


BY_NAME = {
    "y": list(TARGETS),
    "sample_weight": "weight",
    "noise_scale": "scale",
    "inputs": [NAMES[column] for column in COLUMNS],
}


def store_array(table, folder):
    return {"X": ArraySource(*table.arrays(), chunk_rows=CHUNK), "inputs": COLUMNS}


def store_memmap(table, folder):
    maps = []
    for name, array in zip(("X", "y", "weight", "scale"), table.arrays(), strict=True):
        path = folder / f"{name}.npy"
        np.save(path, array)
        touch(path)
        maps.append(np.load(path, mmap_mode="r"))
    return {"X": ArraySource(*maps, chunk_rows=CHUNK), "inputs": COLUMNS}


def store_zarr(table, folder):
    arrays = [
        zarr.create_array(str(folder / f"{name}.zarr"), data=array, chunks=(CHUNK, *array.shape[1:]), overwrite=True)
        for name, array in zip(("X", "y", "weight", "scale"), table.arrays(), strict=True)
    ]
    return {"X": ArraySource(*arrays, chunk_rows=CHUNK), "inputs": COLUMNS}


def chunks_of(table, size=CHUNK):
    return [table.rows(start, start + size).arrays() for start in range(0, len(table), size)]


def store_list(table, folder):
    return {"X": chunks_of(table), "inputs": COLUMNS}


def store_generator(table, folder):
    return {"X": (chunk for chunk in chunks_of(table)), "inputs": COLUMNS}


def store_function(table, folder):
    return {"X": lambda: iter(chunks_of(table)), "inputs": COLUMNS}


def store_frames(table, folder):
    chunks = [table.rows(start, start + CHUNK).frame() for start in range(0, len(table), CHUNK)]
    parts = [(one[list(NAMES)], one[list(TARGETS)], one["weight"], one["scale"]) for one in chunks]
    return {"X": parts, "inputs": BY_NAME["inputs"]}


def store_parquet(table, folder):
    path = folder / "rows.parquet"
    write_parquet(table, path)
    return {"X": path, **BY_NAME}


def store_parquet_folder(table, folder):
    """One chunk in each file; files that are the same already stay as they are."""
    folder = folder / "rows"
    folder.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, len(table), CHUNK)):
        path, part = folder / f"{number:03}.parquet", table.rows(start, start + CHUNK)
        if not path.exists() or not pd.read_parquet(path).equals(part.frame()):
            write_parquet(part, path)
    return {"X": folder, **BY_NAME}


def write_parquet(table, path, **options):
    written = pyarrow.Table.from_pandas(table.frame(), preserve_index=False)
    pyarrow.parquet.write_table(written, path, row_group_size=CHUNK, write_page_checksum=True, **options)
    touch(path)


def store_csv(table, folder, name="rows.csv"):
    path = folder / name
    table.frame().to_csv(path, index=False, float_format="%.16e")
    touch(path)
    return {"X": path, **BY_NAME}


def store_csv_gz(table, folder):
    return store_csv(table, folder, "rows.csv.gz")


def touch(path):
    """Give a file a time of change that no file had before: clocks of file systems are coarse."""
    moment = 1_600_000_000 + next(_clock)
    os.utime(path, (moment, moment))


STORES = {
    "array": store_array,
    "memmap": store_memmap,
    "zarr": store_zarr,
    "list": store_list,
    "generator": store_generator,
    "function": store_function,
    "frames": store_frames,
    "parquet": store_parquet,
    "parquet folder": store_parquet_folder,
    "csv": store_csv,
    "csv.gz": store_csv_gz,
}
CSV_BLOCK = CHUNK * 7 * 23  # bytes of so many rows


def gather(stored, **options):
    """Statistics from a store."""
    options = {"period": PERIOD, "backend": "finufft"} | options
    return SufficientStatistics.from_source(index_set=SET, **stored, **options)


def assert_same(found, expected, error=1e-12):
    """Sums agree relative to the number of rows, and to the spread of the targets, which is about one."""
    (one, center), (other, other_center) = found.linear(), expected.linear()
    n_samples = other.n_samples
    assert one.n_samples == n_samples
    np.testing.assert_allclose(center, other_center, rtol=0, atol=error * np.abs(other_center).max())
    for name in ("gram", "moments", "squares", "log_precision"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=error * n_samples)
