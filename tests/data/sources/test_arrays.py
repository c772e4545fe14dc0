"""Arrays: memory maps and Zarr arrays are read chunk by chunk."""

import mmap
from pathlib import Path

import numpy as np
import pytest
import zarr

from torusgp.data.sources import ArraySource, SourceError


def lengths(source):
    return [len(chunk) for chunk in source.chunks()]


def test_chunks_of_a_chunked_array_are_read_whole(monkeypatch):
    monkeypatch.setattr("torusgp.data.sources._arrays.CHUNK_ROWS", 100)
    X = zarr.zeros((250, 2), chunks=(30, 2))
    assert lengths(ArraySource(X, np.zeros(250))) == [90, 90, 70]
    X = zarr.zeros((250, 2), chunks=(120, 2))
    assert lengths(ArraySource(X, np.zeros(250))) == [120, 120, 10]
    assert lengths(ArraySource(np.zeros((250, 2)), np.zeros(250))) == [100, 100, 50]


def test_the_file_is_named(tmp_path):
    X = np.memmap(tmp_path / "inputs.dat", dtype=float, mode="w+", shape=(10, 2))
    X[7, 1] = np.nan
    with pytest.raises(SourceError, match=r"inputs.dat, chunk 2, row 7: X\[:, 1\] is nan"):
        list(ArraySource(X, np.zeros(10), chunk_rows=3).chunks())


def test_an_array_that_cannot_be_read():
    class Damaged:
        shape = (10, 2)

        def __getitem__(self, rows):
            raise RuntimeError("disk error")

    with pytest.raises(SourceError, match=r"Damaged, chunk 0 \(from row 0 on\) cannot be read: disk error"):
        list(ArraySource(Damaged(), np.zeros(10), chunk_rows=3).chunks())


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="pages cannot be let go of here")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory from /proc")
def test_pages_that_were_read_do_not_stay(tmp_path):
    n_rows = 400_000
    X = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=(n_rows, 8))
    X[:] = 1.0
    X.flush()
    X = np.memmap(tmp_path / "X", dtype=float, mode="r", shape=(n_rows, 8))
    most = 0
    before = shared_pages()
    for chunk in ArraySource(X, np.zeros(n_rows), chunk_rows=20_000).chunks():
        assert (chunk.X == 1.0).all()
        most = max(most, shared_pages() - before)
    assert most * mmap.PAGESIZE < X.nbytes / 4


def shared_pages():
    """Pages of files that are mapped."""
    return int(Path("/proc/self/statm").read_text().split()[2])


def test_what_was_changed_in_memory_only_is_kept(tmp_path):
    """Pages of a private memory map are not in the file, and must not be let go of."""
    np.save(tmp_path / "X.npy", np.zeros((100, 2)))
    X = np.load(tmp_path / "X.npy", mmap_mode="c")
    X[:] = 5.0
    for _ in range(2):
        chunks = list(ArraySource(X, np.zeros(100), chunk_rows=10).chunks())
        assert all((chunk.X == 5.0).all() for chunk in chunks)


def test_what_is_being_written_is_kept(tmp_path):
    X = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=(100, 2))
    X[:] = 5.0
    list(ArraySource(X, np.zeros(100), chunk_rows=10).chunks())
    assert (X == 5.0).all()
    assert (np.memmap(tmp_path / "X", dtype=float, mode="r") == 5.0).all()
