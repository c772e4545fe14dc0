"""Parquet: many files, folders that stand for columns, row groups of any size, numbers of any type."""

import datetime
import decimal

import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

from tests.data.sources.stores import CHUNK, STORES, TARGETS, write_parquet
from torusgp.data.sources import ParquetSource, SourceError


def read(source):
    chunks = list(source.chunks())
    return np.concatenate([chunk.X for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])


def write(path, columns, **options):
    pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)


@pytest.mark.parametrize("size", [1, 7, 50, 333])
def test_large_row_groups_are_read_in_parts(size, table, tmp_path, monkeypatch):
    monkeypatch.setattr("torusgp.data.sources._parquet.CHUNK_ROWS", size)
    for number, rows in enumerate([(0, 100), (100, 333)]):
        written = pyarrow.Table.from_pandas(table.rows(*rows).frame())
        pyarrow.parquet.write_table(written, tmp_path / f"{number}.parquet", row_group_size=120)
    source = ParquetSource(tmp_path, TARGETS, ["c", "a"])
    X, y = read(source)
    np.testing.assert_array_equal(X, table.X[:, [2, 0]])
    np.testing.assert_array_equal(y, table.y)
    chunks = [chunk.digest() for chunk in source.chunks()]
    assert len(chunks) == sum(-(-rows // size) for rows in (100, 120, 113))
    for skip in {0, 1, 2, 100 // size, len(chunks) - 2, len(chunks)}:
        assert [chunk.digest() for chunk in source.chunks(skip)] == chunks[skip:]


def test_a_bad_row_in_a_part_of_a_row_group(table, tmp_path, monkeypatch):
    monkeypatch.setattr("torusgp.data.sources._parquet.CHUNK_ROWS", 30)
    bad = table.changed(217, "X", np.nan)
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(bad.frame()), tmp_path / "rows.parquet", row_group_size=100)
    source = ParquetSource(tmp_path / "rows.parquet", "first")
    with pytest.raises(SourceError, match=r"rows.parquet, row group 2 \(chunk 8\), row 217: a is nan"):
        list(source.chunks(6))


@pytest.mark.parametrize(
    "values",
    [
        pyarrow.array([1, 2, 3], pyarrow.int8()),
        pyarrow.array([1, 2, 3], pyarrow.uint64()),
        pyarrow.array([1.0, 2.0, 3.0], pyarrow.float32()),
        pyarrow.array([decimal.Decimal(n) for n in (1, 2, 3)], pyarrow.decimal128(10, 2)),
        pyarrow.array([1.0, 2.0, 3.0]).dictionary_encode(),
    ],
    ids=lambda values: str(values.type).split("<")[0],
)
def test_numbers_of_any_type(values, tmp_path):
    write(tmp_path / "rows.parquet", {"x": values, "y": values, "flag": [True, False, True]})
    X, y = read(ParquetSource(tmp_path / "rows.parquet", "y"))
    np.testing.assert_array_equal(X, [[1, 1], [2, 0], [3, 1]])
    np.testing.assert_array_equal(y, [[1], [2], [3]])


def test_types_may_differ_from_file_to_file(tmp_path):
    write(tmp_path / "0.parquet", {"x": [1, 2], "y": [0.5, 1.5]})
    write(tmp_path / "1.parquet", {"y": [1, 2], "x": [0.25, 2.5]})
    X, y = read(ParquetSource(tmp_path, "y"))
    np.testing.assert_array_equal(X[:, 0], [1, 2, 0.25, 2.5])
    np.testing.assert_array_equal(y[:, 0], [0.5, 1.5, 1, 2])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "two"], "row 1: x is 'two', which is not a number"),
        ([datetime.datetime(2024, 1, 1)] * 2, r"row 0: x is datetime.datetime\(2024, 1, 1, 0, 0\), which is not"),
        ([1.0, None], "row 1: x is nan, it must be finite"),
        ([1, None], "row 1: x is nan, it must be finite"),
        ([True, None], "row 1: x is nan, it must be finite"),
        ([[1.0], [2.0]], r"x is \[1.0\]|rows differ in length"),
    ],
)
def test_what_is_not_a_number(values, message, tmp_path):
    write(tmp_path / "rows.parquet", {"x": values, "y": [1.0, 2.0]})
    with pytest.raises(SourceError, match=message):
        list(ParquetSource(tmp_path / "rows.parquet", "y").chunks())


def test_columns_that_are_not_asked_for_may_hold_anything(tmp_path):
    write(tmp_path / "rows.parquet", {"x": [1.0, 2.0], "y": [1.0, 2.0], "note": ["a", None]})
    X, _ = read(ParquetSource(tmp_path / "rows.parquet", "y", ["x"]))
    np.testing.assert_array_equal(X, [[1], [2]])


def test_folders_stand_for_columns(tmp_path):
    columns = {"x": [1.0, 2.0, 3.0, 4.0], "day": [1, 1, 2, 2], "y": [5.0, 6.0, 7.0, 8.0]}
    pyarrow.parquet.write_to_dataset(pyarrow.table(columns), tmp_path / "rows", partition_cols=["day"])
    X, y = read(ParquetSource(tmp_path / "rows", "y", ["day", "x"]))
    np.testing.assert_array_equal(
        np.column_stack([X, y]), np.column_stack([columns[name] for name in ("day", "x", "y")])
    )


def test_a_dataset_and_a_list_of_files(table, tmp_path):
    folder = STORES["parquet folder"](table, tmp_path)["X"]
    files = sorted(folder.iterdir())
    for given in (pyarrow.dataset.dataset(folder), files, list(map(str, files))):
        np.testing.assert_array_equal(read(ParquetSource(given, TARGETS, ["b"]))[0], table.X[:, 1:2])
    X, _ = read(ParquetSource(files[::-1], TARGETS, ["b"]))  # the order is the one that was given
    np.testing.assert_array_equal(X[-CHUNK:], table.X[:CHUNK, 1:2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: pyarrow.dataset.dataset(path).filter(pyarrow.dataset.field("a") > 0), "cannot be read file by"),
        (lambda path: pyarrow.dataset.dataset(pyarrow.table({"a": [1.0], "first": [1.0]})), "it is a InMemoryDataset"),
    ],
)
def test_other_datasets(make, message, table, tmp_path):
    write_parquet(table, tmp_path / "rows.parquet")
    with pytest.raises(SourceError, match=message):
        ParquetSource(make(tmp_path / "rows.parquet"), "first")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": None}, r"name the target, a column of \['a', 'b', 'c'"),
        ({"target": "frist"}, "column 'frist' is missing; did you mean 'first'?"),
        ({"target": "first", "inputs": ["zzz"]}, r"column 'zzz' is missing; there are \['a'"),
        ({"target": "first", "sample_weight": "w8"}, "column 'w8' is missing"),
        ({"target": np.zeros(3)}, "columns of a table go by their names, got float64"),
        ({"target": ["a", "b", "c", "first", "second", "weight", "scale"]}, "no column is left for the inputs"),
    ],
)
def test_columns_that_are_not_there(options, message, table, tmp_path):
    write_parquet(table, tmp_path / "rows.parquet")
    with pytest.raises(SourceError, match=message):
        ParquetSource(tmp_path / "rows.parquet", **options)


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "rows.parquet cannot be read as Parquet"), (b"PAR1 something else", "as Parquet")]
)
def test_other_files(content, message, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        ParquetSource(tmp_path / "rows.parquet", "y")


def test_a_later_file_that_is_damaged(table, tmp_path):
    folder = STORES["parquet folder"](table, tmp_path)["X"]
    (folder / "003.parquet").write_bytes(b"damaged")
    with pytest.raises(SourceError, match=r"003\.parquet cannot be read as Parquet"):
        ParquetSource(folder, "first")


def test_no_rows(tmp_path):
    write(
        tmp_path / "rows.parquet",
        {"x": pyarrow.array([], pyarrow.float64()), "y": pyarrow.array([], pyarrow.float64())},
    )
    with pytest.raises(SourceError, match=r"rows.parquet has no rows"):
        ParquetSource(tmp_path / "rows.parquet", "y")


def test_files_without_rows_are_passed_over(table, tmp_path):
    write_parquet(table.rows(0, 0), tmp_path / "0.parquet")
    write_parquet(table, tmp_path / "1.parquet")
    np.testing.assert_array_equal(read(ParquetSource(tmp_path, "first", ["a"]))[0], table.X[:, :1])


def test_a_file_that_changes_after_it_was_opened(table, tmp_path):
    write_parquet(table, tmp_path / "rows.parquet")
    source = ParquetSource(tmp_path / "rows.parquet", "first")
    (tmp_path / "rows.parquet").write_bytes(b"something else")
    with pytest.raises(SourceError, match=r"rows.parquet, row group 0 \(chunk 0\), from row 0 on, cannot be read"):
        list(source.chunks())
