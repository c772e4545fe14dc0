"""CSV: delimiters, headers, compression, several files."""

import bz2
import gzip

import numpy as np
import pytest

from tests.data.sources.stores import STORES, TARGETS, store_csv
from torusgp.data.sources import CsvSource, SourceError


def read(source):
    chunks = list(source.chunks())
    return np.concatenate([np.column_stack([chunk.X, chunk.y]) for chunk in chunks])


@pytest.mark.parametrize(
    "text",
    [
        "x,z,y\n1,2,3\n4,5,6\n",
        "x,z,y\n1,2,3\n4,5,6",
        "x;z;y\r\n1;2;3\r\n4;5;6\r\n",
        "x\tz\ty\n1\t2\t3\n4\t5\t6\n",
        "x|z|y\n1|2|3\n4|5|6\n",
        "\ufeffx,z,y\n1,2,3\n4,5,6\n",
        '"x","z","y"\n1,2,3\n"4","5",6\n',
        "x, z, y\n1, 2, 3\n4, 5, 6\n",
        "note,x,z,y\na,1,2,3\n,4,5,6\n",
        '"note, with a comma",x,z,y\n"a,b",1,2,3\n,4,5,6\n',
        "x,z,y\n\n1,2,3\n\n4,5,6\n\n",
        "x,z,y\n1e0,+2,3.0\n4,5,6\n",
    ],
    ids=[
        "comma",
        "no end",
        "semicolon",
        "tab",
        "bar",
        "mark",
        "quotes",
        "blanks",
        "text",
        "names",
        "empty",
        "exponent",
    ],
)
def test_dialects(text, tmp_path):
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8", newline="")
    np.testing.assert_array_equal(read(CsvSource(tmp_path / "rows.csv", "y", ["x", "z"])), [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_compressed(suffix, compress, table, tmp_path):
    plain = store_csv(table, tmp_path)["X"]
    packed = tmp_path / f"rows.csv.{suffix}"
    packed.write_bytes(compress(plain.read_bytes()))
    np.testing.assert_array_equal(read(CsvSource(packed, TARGETS)), read(CsvSource(plain, TARGETS)))


def test_several_files_with_columns_in_any_order(tmp_path):
    (tmp_path / "0.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "1.csv").write_text("y;note;x\n6;a;5\n")
    np.testing.assert_array_equal(
        read(CsvSource([tmp_path / "0.csv", tmp_path / "1.csv"], "y", ["x"])), [[1, 2], [3, 4], [5, 6]]
    )


def test_the_line_is_that_of_its_file(tmp_path):
    (tmp_path / "0.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "1.csv").write_text("x,y\n1,2\n3,nan\n")
    with pytest.raises(SourceError, match=r"1.csv \(chunk 1\), line 3: y is nan"):
        list(CsvSource([tmp_path / "0.csv", tmp_path / "1.csv"], "y").chunks())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "rows.csv has no header"),
        (b"\n1,2\n", "rows.csv has no header"),
        (b"x,y\n", "rows.csv has no rows below the header"),
        (b"x,x,y\n1,2,3\n", "the header has 'x' more than once"),
        (b"x,z\n1,2\n", "column 'y' is missing; there are"),
        (b"x,Y\n1,2\n", "column 'y' is missing"),
        ("x\xe9,y\n1,2\n".encode("latin-1"), "rows.csv cannot be read as text"),
        (b"x,y\n1,2,3\n", r"rows.csv \(chunk 0, from line 2 on\) cannot be read: .*Expected 2 columns, got 3"),
        (b"x,y\n1,a\n", r"rows.csv \(chunk 0, from line 2 on\) cannot be read: .*line 2: .*invalid value 'a'"),
        (b"x,y\n1,\n", r"rows.csv \(chunk 0\), line 2: y is nan"),
        (b"x,y\n1,NA\n", r"rows.csv \(chunk 0\), line 2: y is nan"),
        (b"x,y\n1,inf\n", r"rows.csv \(chunk 0\), line 2: y is inf"),
    ],
)
def test_bad_files(content, message, tmp_path):
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        list(CsvSource(tmp_path / "rows.csv", "y").chunks())


def test_another_file_by_the_name_of_a_compressed_one(tmp_path):
    (tmp_path / "rows.csv.gz").write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match=r"rows.csv.gz cannot be read as text"):
        CsvSource(tmp_path / "rows.csv.gz", "y")


def test_the_number_of_rows_is_known_after_a_sample(table, tmp_path):
    stored = STORES["csv"](table, tmp_path)
    source = CsvSource(stored["X"], TARGETS)
    assert source.n_rows is None
    assert len(source.sample(20)) == 20
    assert source.n_rows == len(table)
