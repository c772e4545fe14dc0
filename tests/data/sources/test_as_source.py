"""Whatever holds rows becomes the right source."""

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.dataset
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

from tests.data.sources.stores import STORES, chunks_of, store_csv, store_parquet
from torusgp.data.sources import ArraySource, ChunkSource, CsvSource, ParquetSource, SourceError, as_source, is_streamed
from torusgp.data.sources._base import spread_parts

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)


def test_arrays(tmp_path):
    for one in (X, X.tolist(), pd.DataFrame(X), zarr.array(X)):
        assert isinstance(as_source(one, Y), ArraySource)
    assert as_source(pd.DataFrame(X, columns=["a", "b"]), Y).names == ("a", "b")
    assert as_source(X, Y).names is None


def test_chunks(table):
    for one in (chunks_of(table), iter(chunks_of(table)), lambda: chunks_of(table), tuple(chunks_of(table))):
        assert isinstance(as_source(one), ChunkSource)


def test_tables(table, tmp_path):
    parquet, csv = store_parquet(table, tmp_path)["X"], store_csv(table, tmp_path)["X"]
    upper = tmp_path / "ROWS.TSV"
    upper.write_text("a\ty\n1\t2\n")
    for one in (parquet, str(parquet), [parquet, str(parquet)], (parquet,), pyarrow.dataset.dataset(parquet)):
        assert isinstance(as_source(one, "first"), ParquetSource)
    for one in (csv, str(csv), [csv, csv]):
        assert isinstance(as_source(one, "first"), CsvSource)
    assert as_source(upper, "y").names == ("a",)


def test_sources_stay_what_they_are():
    source = ArraySource(X, Y)
    assert as_source(source) is source


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((X,), ValueError, "Targets y are needed beside inputs X of type ndarray"),
        ((ArraySource(X, Y), Y), ValueError, "ArraySource came with y"),
        ((iter([(X, Y)]), Y), ValueError, "list_iterator came with y"),
        ((lambda: [(X, Y)], None, Y), ValueError, "function came with y, sample_weight"),
        ((3,), ValueError, "Rows cannot be read from int: give arrays, chunks"),
        (([],), SourceError, "The iterable of chunks has no rows"),
        (([(X[:0], Y[:0])],), SourceError, "The iterable of chunks has no rows"),
        ((X[:0], Y[:0]), SourceError, "ndarray has no rows"),
        ((X, Y[1:]), SourceError, r"as many rows as each other, their shapes are .*\(6, 2\).*\(5,\)"),
        ((X, Y, Y[1:]), SourceError, "as many rows as each other"),
        ((X, 3.0), SourceError, "as many rows as each other"),
        ((Y, Y), SourceError, r"X must have two axes, rows and inputs; its shape is \(6,\)"),
        (("nowhere.parquet", "y"), FileNotFoundError, "nowhere.parquet does not exist"),
        (("nowhere.csv.gz", "y"), FileNotFoundError, "nowhere.csv.gz does not exist"),
        (("nowhere", "y"), FileNotFoundError, "nowhere does not exist"),
        (("rows.zarr", "y"), ValueError, r"rows.zarr: open Zarr arrays with zarr.open"),
        ((["a.csv", "b.parquet"], "y"), ValueError, "must be of one kind"),
    ],
)
def test_what_cannot_be_read(arguments, error, message):
    with pytest.raises(error, match=message):
        as_source(*arguments)


def test_another_file(tmp_path):
    (tmp_path / "rows.xls").write_text("")
    with pytest.raises(ValueError, match=r"rows.xls: files end in .parquet, .pq, .csv, .tsv, .txt, or in .gz"):
        as_source(tmp_path / "rows.xls", "y")


@pytest.mark.parametrize("n_rows", [0, 1.5, "many"])
def test_chunks_of_no_rows(n_rows):
    with pytest.raises(ValueError, match=f"chunk_rows must be a positive whole number, got {n_rows!r}"):
        ArraySource(X, Y, chunk_rows=n_rows)


def test_what_is_streamed(tmp_path, monkeypatch):
    mapped = np.memmap(tmp_path / "mapped", dtype=float, mode="w+", shape=(10, 2))
    monkeypatch.setattr("torusgp.data.sources._MANY_ROWS", 5)
    assert is_streamed(mapped)
    assert not is_streamed(mapped[:5])
    assert is_streamed(zarr.array(X), zarr.array(Y))
    assert is_streamed("rows.csv", "y")
    assert is_streamed(ArraySource(X, Y))
    assert is_streamed([(X, Y)])
    assert is_streamed(lambda: [(X, Y)])
    assert not is_streamed(X, Y)
    assert not is_streamed(X)
    assert not is_streamed(X.tolist(), Y)
    assert not is_streamed(pd.DataFrame(X))


def open_store(kind, table, folder):
    stored = STORES[kind](table, folder)
    return as_source(**{name: value for name, value in stored.items() if name != "inputs"})


@pytest.mark.parametrize("kind", STORES)
def test_what_a_source_knows(kind, table, tmp_path):
    source = open_store(kind, table, tmp_path)
    assert source.n_outputs == 2
    assert source.y_ndim == 2
    assert source.n_inputs == 3
    assert source.n_rows in (len(table), None)
    assert list(source.layout()) == ["inputs", "targets", "sample_weight", "noise_scale"]
    chunk = next(iter(source.chunks()))
    assert chunk.X.shape[1:] == (3,)
    assert chunk.y.shape[1:] == (2,)


@pytest.mark.parametrize("kind", STORES)
def test_chunks_are_skipped(kind, table, tmp_path):
    chunks = [chunk.digest() for chunk in open_store(kind, table, tmp_path).chunks()]
    assert len(chunks) in (9, 10)
    for skip in (0, 1, 5, len(chunks)):
        found = open_store(kind, table, tmp_path).chunks(skip)
        assert [chunk.digest() for chunk in found] == chunks[skip:]


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("n_rows", [1, 50, 333, 10**6])
def test_samples(kind, n_rows, table, tmp_path):
    sample = open_store(kind, table, tmp_path).sample(n_rows)
    assert min(n_rows, len(table)) <= len(sample) <= min(len(table), n_rows + 32)
    rows = {tuple(row) for row in np.column_stack(table.arrays())}
    found = np.column_stack(sample.arrays())
    assert {tuple(row) for row in found} <= rows
    assert len(np.unique(found, axis=0)) == len(found)


@pytest.mark.parametrize("kind", [kind for kind in STORES if kind not in ("list", "generator", "function", "frames")])
def test_samples_come_from_everywhere(kind, table, tmp_path):
    sample = open_store(kind, table, tmp_path).sample(90)
    where = [np.flatnonzero((row == table.X).all(axis=1))[0] for row in sample.X]
    assert np.histogram(where, bins=3, range=(0, len(table)))[0].min() >= 15


@pytest.mark.parametrize("kind", STORES)
def test_a_pass_after_a_sample_has_all_rows(kind, table, tmp_path):
    source = open_store(kind, table, tmp_path)
    source.sample(100)
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in source.chunks()]), table.X)


@given(
    sizes=st.lists(st.integers(0, 1000), min_size=1, max_size=60).filter(any),
    n_rows=st.integers(1, 20_000),
    n_parts=st.integers(1, 40),
)
def test_parts_of_a_sample(sizes, n_rows, n_parts):
    shares = spread_parts(sizes, n_rows, n_parts)
    assert list(shares) == sorted(shares)
    assert all(0 < share <= sizes[part] for part, share in shares.items())
    total = sum(shares.values())
    assert min(n_rows, sum(sizes)) <= total <= n_rows + len(shares)
    if n_rows >= sum(sizes):
        assert shares == {part: size for part, size in enumerate(sizes) if size}


def test_large_parts_give_more_rows_to_a_sample():
    shares = spread_parts([10, 1000, 10, 500], 150)
    assert shares == {0: 1, 1: 99, 2: 1, 3: 50}
