"""CSV: delimiters, headers, compression, several files."""

import bz2
import gzip

import numpy as np
import pytest

from tests.data.sources.stores import STORES, TARGETS, store_csv
from torusgp.data.sources import CsvSource, SourceError
from torusgp.data.tables import TableError, numeric_column, read_table


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
    (tmp_path / "1.csv").write_text("x,y\n1,2\n3,\n")
    with pytest.raises(SourceError, match=r"1.csv \(chunk 1\), line 3: y is nan"):
        list(CsvSource([tmp_path / "0.csv", tmp_path / "1.csv"], "y").chunks())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "rows.csv is empty"),
        (b"\n1,2\n", "column 'y' is missing; there are .'1', '2'"),
        (b"x,y\n", "rows.csv has no rows below the header"),
        (b"x,x,y\n1,2,3\n", "several columns called 'x': rename them"),
        (b"x,z\n1,2\n", "column 'y' is missing; there are"),
        (b"x,Y\n1,2\n", "column 'y' is missing"),
        ("x\xe9,y\n1,2\n".encode("latin-1"), "rows.csv is not UTF-8 text: line 1 has the byte 0xe9"),
        (b"x,y\n1,2,3\n", r"rows.csv, line 2: 3 value\(s\), but the first line names 2"),
        (b"x,y\n1,a\n", "rows.csv, line 2: 'a' in column 'y' is not a number"),
        (b"x,y\n1,\n", r"rows.csv \(chunk 0\), line 2: y is nan"),
        (b"x,y\n1,NA\n", "rows.csv, line 2: 'NA' in column 'y' is not a number"),
        (b"x,y\n1,inf\n", "rows.csv, line 2: inf in column 'y' is infinite"),
    ],
)
def test_bad_files(content, message, tmp_path):
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        list(CsvSource(tmp_path / "rows.csv", "y").chunks())


def test_another_file_by_the_name_of_a_compressed_one(tmp_path):
    (tmp_path / "rows.csv.gz").write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match=r"rows.csv.gz is no gzip file, or a damaged one"):
        CsvSource(tmp_path / "rows.csv.gz", "y")


def test_the_number_of_rows_is_known_after_a_sample(table, tmp_path):
    stored = STORES["csv"](table, tmp_path)
    source = CsvSource(stored["X"], TARGETS)
    assert source.n_rows is None
    assert len(source.sample(20)) == 20
    assert source.n_rows == len(table)


class TestRecordsAcrossBlocks:
    """Wherever a block ends, rows are those of the whole file, as the reader of tables has them."""

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize(
        "notes",
        [
            ["a\nb", "plain", 'says ""no""\n', "", "\n\n\n", "3,4\n5,6"],
            ['5" pipe', 'a"b c"', "'", '""'],
        ],
        ids=["line breaks in quotes", "marks that mean themselves"],
    )
    def test_quotes(self, notes, end, tmp_path, monkeypatch):
        quoted = notes[0] == "a\nb"
        values = [f'"{note}"' if quoted else note for note in notes] * 7
        rows = [f"{number},{note},{number / 4}" for number, note in enumerate(values)]
        path = tmp_path / "rows.csv"
        path.write_text("\n".join(["x,note,y", *rows, ""]).replace("\n", end), newline="")
        expected = np.arange(len(values))[:, None] * [1, 0.25]
        for size in range(1, 60):
            monkeypatch.setattr("torusgp.data.sources._csv._BLOCK_CHARACTERS", size)
            np.testing.assert_array_equal(read(CsvSource(path, "y", ["x"])), expected)

    def test_the_line_of_a_value_after_quoted_line_breaks(self, tmp_path, monkeypatch):
        monkeypatch.setattr("torusgp.data.sources._csv._BLOCK_CHARACTERS", 10)
        (tmp_path / "rows.csv").write_text('x,note,y\n1,"a\nb\nc",2\n\n3,d,4\n5,e,bad\n')
        with pytest.raises(SourceError, match="line 7: 'bad' in column 'y' is not a number"):
            list(CsvSource(tmp_path / "rows.csv", "y", ["x"]).chunks())

    def test_a_mark_that_is_left_open(self, tmp_path, monkeypatch):
        monkeypatch.setattr("torusgp.data.sources._csv._BLOCK_CHARACTERS", 10)
        (tmp_path / "rows.csv").write_text('x,note,y\n1,"a,2\n' + "3,b,4\n" * 50_000)
        with pytest.raises(SourceError, match="a quotation mark is left open, before 'a,2"):
            list(CsvSource(tmp_path / "rows.csv", "y", ["x"]).chunks())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x;y\n0,5;1,25\n1;2,5\n", [[0.5, 1.25], [1, 2.5]]),
        ("x;y\n0.5;1.25\n1;2.5\n", [[0.5, 1.25], [1, 2.5]]),
        ("x;y\n1,234;2,5\n5,678;3\n", [[1.234, 2.5], [5.678, 3]]),
        ("x;y\n1,234;2\n5,678;3\n", None),
        ("x;y\n1.536;2\n989;3\n", None),
        ("x;y\n1.234,5;2\n", None),
        ('x,y\n"1,5",2\n', None),
    ],
)
@pytest.mark.parametrize("size", [5, 2**24], ids=["blocks", "whole"])
def test_a_stream_reads_numbers_as_a_table_does(text, expected, size, tmp_path, monkeypatch):
    """Decimal commas too; and what could be read in two ways is refused by both."""
    monkeypatch.setattr("torusgp.data.sources._csv._BLOCK_CHARACTERS", size)
    path = tmp_path / "rows.csv"
    path.write_text(text)
    if expected is None:
        with pytest.raises(TableError, match="line 2: "):
            numeric_column(read_table(path), "x", path)
        with pytest.raises(SourceError, match="line 2: "):
            read(CsvSource(path, "y"))
    else:
        np.testing.assert_array_equal(read(CsvSource(path, "y")), expected)
        frame = read_table(path)
        table = np.column_stack([numeric_column(frame, name, path) for name in ("x", "y")])
        np.testing.assert_array_equal(table, expected)


def test_the_sign_before_decimals_can_be_said(tmp_path):
    (tmp_path / "rows.csv").write_text("x;y\n1,536;2\n989;3\n")
    np.testing.assert_array_equal(read(CsvSource(tmp_path / "rows.csv", "y", decimal=",")), [[1.536, 2], [989, 3]])
    (tmp_path / "rows.csv").write_text("x;y\n1.536;2\n989;3\n")
    np.testing.assert_array_equal(read(CsvSource(tmp_path / "rows.csv", "y", decimal=".")), [[1.536, 2], [989, 3]])
