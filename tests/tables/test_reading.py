import datetime
import gzip
import re
import sys
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from torusgp import TableModel
from torusgp.data.tables import TableError, complete_rows, holds_numbers, numeric_column, read_table, read_without_loss
from torusgp.tables.clock import CalendarPhases, time_column
from torusgp.tables.table import level_column

pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")


@pytest.fixture
def write(tmp_path):
    """Write a file, and return its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def raises(path, message):
    """The error of one line that names a file and says something of it."""
    return pytest.raises(TableError, match=rf"\A[^\n]*{re.escape(str(path))}(?=[^\n]*\Z).*{message}")


class TestReadTable:
    @pytest.mark.parametrize("name", ["table.csv", "TABLE.CSV", "table.csv.gz", "table.tsv", "table.tsv.gz"])
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
    def test_text(self, write, name, delimiter):
        path = write("time, load \n2024-01-01,1.5\n\n2024-01-02,\n  \n".replace(",", delimiter), name)
        frame = read_table(str(path))
        assert frame.columns.tolist() == ["time", "load"]
        assert frame["time"].tolist() == ["2024-01-01", "2024-01-02"]
        assert frame["load"].fillna(-1).tolist() == [1.5, -1.0]
        assert frame.index.tolist() == [0, 1]

    @pytest.mark.parametrize("start", ["\ufeff", "\n\n", "\r\n"], ids=["mark", "blank", "windows"])
    def test_what_may_come_first(self, write, start):
        assert read_table(write(f"{start}x,y\n1,2\n")).columns.tolist() == ["x", "y"]

    def test_the_delimiter_is_the_one_that_parts_most_names(self, write):
        frame = read_table(write('"a,b,c,d";y\n1,5;2\n'))
        assert frame.columns.tolist() == ["a,b,c,d", "y"]
        assert frame.iloc[0].tolist() == ["1,5", 2]
        assert read_table(write("only\n1\n2\n"))["only"].tolist() == [1, 2]

    def test_a_column_without_a_name(self, write):
        assert read_table(write(",y\n0,1\n")).columns.tolist() == ["Unnamed: 0", "y"]

    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
    def test_numbers_return(self, tmp_path_factory, numbers):
        path = tmp_path_factory.mktemp("numbers") / "table.csv"
        pd.DataFrame({"x": numbers, "row": range(len(numbers))}).to_csv(path, index=False)
        read = numeric_column(read_table(path), "x", path)
        assert np.allclose(read, numbers, rtol=4 * np.finfo(float).eps, atol=0)

    def test_parquet(self, tmp_path):
        path = tmp_path / "year=2024" / "table.parquet"
        path.parent.mkdir()
        times = pd.date_range("2024-01-01", periods=2, tz="Europe/Berlin")
        pd.DataFrame({"y": [1, 2]}, index=times.rename("time")).to_parquet(path)
        frame = read_table(path)
        assert sorted(frame.columns) == ["time", "y"]  # the index, but not the name of the folder
        assert time_column(frame, "time", path).tolist() == times.tolist()
        pd.DataFrame({"y": [1, 2]}, index=times.rename(None)).to_parquet(path)
        assert sorted(read_table(path).columns) == ["index", "y"]

    @pytest.mark.parametrize(
        ("content", "name", "message"),
        [
            ("", "table.csv", "is empty"),
            ("", "table.csv.gz", "is empty"),
            ("\n \n", "table.csv", "is empty: it has blank lines alone"),
            ("x,y\n", "table.csv", r"has no rows: it names 2 column\(s\)"),
            ("x,y\n", "table.csv.gz", "has no rows"),
            ("x,y\n1,2\n3\n", "table.csv", r"line 3: 1 value\(s\), but the first line names 2 column\(s\)"),
            ("x,y\n\n1,2\n3,4,5\n", "table.csv", r"line 4: 3 value\(s\), but the first line names 2"),
            ("x,y\n1,2,3\n4,5,6\n", "table.csv", r"line 2: 3 value\(s\), but the first line names 2"),
            ("x,y\n1,2,\n4,5,\n", "table.csv", r"line 2: 3 value\(s\), but the first line names 2"),
            ('x,y\n"a\nb",\n1\n', "table.csv", r"line 4: 1 value\(s\)"),
            ('x,y\n1,2\n1,"2\n', "table.csv", "EOF inside string .* Is a quotation mark left open"),
            ("x,y,x,y\n1,2,3,4\n", "table.csv", "several columns called 'x', 'y': rename them"),
            (
                "x,Länge\n1,2\n".encode("latin-1"),
                "table.csv",
                "is not UTF-8 text: line 1 has the byte 0xe4. Save it as",
            ),
            ("x,y\n1,a\n2,ä\n".encode("latin-1"), "table.csv.gz", "is not UTF-8 text: line 3 has the byte 0xe4"),
            ("x,y\n1,2\n".encode("utf-16"), "table.csv", "is not UTF-8 text: line 1 has the byte 0xff"),
            (b"x,y\n1,2\n", "table.xlsx", r"has an unknown ending: save it as one of \.csv, .*\.parquet"),
            (b"x,y\n1,2\n", "table", "has an unknown ending"),
            (b"", "table.parquet", "is empty"),
            (b"x,y\n1,2\n3,4\n", "table.parquet", "is no Parquet file, or a damaged one"),
            (b"PAR1" + bytes(100) + b"PAR1", "table.parquet", "is no Parquet file, or a damaged one"),
        ],
    )
    def test_files_that_are_not_tables(self, write, content, name, message):
        path = write(content, name)
        if not content:
            path.write_bytes(b"")
        with raises(path, message):
            read_table(path)

    def test_a_file_that_is_not_there(self, tmp_path, write):
        write("x\n1\n", "demand.csv")
        with raises(tmp_path / "Demnd.csv", r"does not exist\. Did you mean 'demand.csv'\?"):
            read_table(tmp_path / "Demnd.csv")
        with raises(tmp_path / "none" / "x.csv", r"does not exist\.\Z"):
            read_table(tmp_path / "none" / "x.csv")
        (tmp_path / "folder.csv").mkdir()
        with raises(tmp_path / "folder.csv", "is not a file"):
            read_table(tmp_path / "folder.csv")

    def test_damaged_gzip(self, write):
        path = write("x,y\n" + "".join(f"{i},{i * i}\n" for i in range(1000)), "table.csv.gz")
        whole = path.read_bytes()
        for content in (whole[:-100], whole[:200] + b"\xff" * 50 + whole[250:], b"x,y\n1,2\n"):
            path.write_bytes(content)
            with raises(path, "is no gzip file, or a damaged one"):
                read_table(path)

    def test_damaged_parquet(self, tmp_path):
        path = tmp_path / "table.parquet"
        pd.DataFrame({"y": np.random.default_rng(0).normal(size=1000)}).to_parquet(path)
        whole = path.read_bytes()
        for content in (whole[:-20], whole[len(whole) // 2 :], bytes(2000) + whole[2000:]):
            path.write_bytes(content)
            with raises(path, "is no Parquet file, or a damaged one"):
                read_table(path)

    def test_a_file_that_may_not_be_read(self, write, monkeypatch):
        path = write("x\n1\n")

        def refuse(*arguments, **options):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)
        with raises(path, "cannot be read: Permission denied"):
            read_table(path)

    @pytest.mark.parametrize(("missing", "suffix"), [("pandas", ".csv"), ("pyarrow.parquet", ".parquet")])
    def test_a_missing_library_names_the_extra(self, write, monkeypatch, missing, suffix):
        path = write("x\n1\n", f"table{suffix}")
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(ImportError, match=r'pip install "torusgp\[io\]"'):
            read_table(path)


class TestColumns:
    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (
                "demnd",
                r"has no column 'demnd'\. Did you mean 'demand'\? Its columns are 'time', 'demand', 'hour of day'",
            ),
            ("DEMAND", r"Did you mean 'demand'\?"),
            ("zzz", r"has no column 'zzz'\. Its columns are 'time'"),
            ("", "has no column ''"),
        ],
    )
    @pytest.mark.parametrize("column", [numeric_column, time_column])
    def test_missing_columns(self, write, column, name, message):
        path = write("time,demand,hour of day\n2024-01-01,1,2\n")
        with raises(path, message):
            column(read_table(path), name, path)

    def test_many_columns_are_not_all_listed(self, write):
        path = write(",".join(f"x{i}" for i in range(30)) + "\n" + ",".join(["1"] * 30) + "\n")
        with raises(path, "'x11' and 18 more"):
            numeric_column(read_table(path), "target", path)

    def test_a_file_without_names(self, write):
        path = write("1.5,2\n3,4\n")
        with raises(path, r"'1\.5', '2'\. Its first line has to name them"):
            numeric_column(read_table(path), "y", path)

    @pytest.mark.parametrize("column", [numeric_column, time_column])
    def test_empty_columns(self, write, column):
        path = write("x,y,z\n1,,1\n2,,1\n")
        with raises(path, "is empty: no row has a value in it"):
            column(read_table(path), "y", path)


class TestNumericColumn:
    @pytest.mark.parametrize(
        "values",
        [
            [1, 2, 3],
            [1.5, None, 3.0],
            [True, False, True],
            pd.array([1, None, 3], dtype="Int64"),
            [Decimal("1.5"), None, Decimal("3")],
            ["1.5", None, " 3e2 "],
            pd.Categorical([1.5, None, 3.0]),
        ],
        ids=["int", "float", "bool", "nullable", "decimal", "text", "category"],
    )
    def test_kinds_of_numbers(self, values):
        frame = pd.DataFrame({"y": values}, index=[5, 7, 9])
        numbers = numeric_column(frame, "y", "table.parquet")
        assert numbers.dtype == float
        assert numbers.index.tolist() == [5, 7, 9]
        assert numbers.name == "y"
        expected = [np.nan if value is None or value is pd.NA else float(value) for value in values]
        assert np.array_equal(numbers, expected, equal_nan=True)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("y;x\n1;0\n2;0\nhigh;0\n", r"line 4: 'high' in column 'y' is not a number\.\Z"),
            ("y;x\n1;0\n\n\nlow;0\n3;0\nhigh;0\n", "line 5: 'low' .* not a number. 2 values of this column are not"),
            ("\n\ny;x\n1;0\n  \nlow;0\n", "line 6: 'low'"),
            ('y;x\n1;0\n"2";"0\n0"\n"a\nb";0\n', r"line 5: 'a\\nb' in column 'y' is not a number"),
            ('y,x\n1,0\n"1,5",0\n', "line 3: '1,5' in column 'y' is not a number. If the comma .* --decimal , "),
            ("y;x\n1;0\n-inf;0\n", "line 3: -inf in column 'y' is infinite"),
            ("y;x\n1;0\n1_000;0\n", "line 3: '1_000'"),
            (f"y;x\n1;0\n{'x' * 500};0\n", r"line 3: 'x{50,60}\.\.\. in column"),
        ],
    )
    def test_values_that_are_not_numbers(self, write, text, message):
        path = write(text)
        with raises(path, message):
            numeric_column(read_table(path), "y", path)

    def test_an_empty_value_in_quotes_is_a_row(self, write):
        path = write('y\n1\n""\n\nbad\n')
        frame = read_table(path)
        assert frame["y"].isna().tolist() == [False, True, False]
        with raises(path, "line 5: 'bad'"):
            numeric_column(frame, "y", path)

    def test_a_bad_value_far_down(self, write):
        path = write("y\n" + "0\n" * 300_000 + "bad\n")
        with warnings.catch_warnings():  # of pandas, that it guessed other types further up
            warnings.simplefilter("error")
            frame = read_table(path)
        with raises(path, r"line 300002: 'bad' in column 'y' is not a number\.\Z"):
            numeric_column(frame, "y", path)

    def test_lines_are_found_after_rows_were_left_out(self, write):
        path = write("y\n1\nbad\n\n2\nworse\n", "table.csv.gz")
        frame = read_table(path)
        with raises(path, "line 6: 'worse'"):
            numeric_column(frame[frame["y"] != "bad"], "y", path)

    def test_rows_of_parquet_are_counted_from_one(self, tmp_path):
        path = tmp_path / "table.parquet"
        pd.DataFrame({"y": ["1", "2", "x"], "t": pd.date_range("2024", periods=3), "n": [1, 2, np.inf]}).to_parquet(
            path
        )
        frame = read_table(path)
        with raises(path, "row 3: 'x' in column 'y' is not a number"):
            numeric_column(frame, "y", path)
        with raises(path, "row 3: inf in column 'n' is infinite"):
            numeric_column(frame, "n", path)
        with raises(path, r"holds times \(datetime64.*\), not numbers"):
            numeric_column(frame, "t", path)


EUROPEAN = "Datum;Last;Preis;Rest\n01.02.2019 00:00;3,0;-0,5;\n2.2.2019 9:30:15;4;1,25e2;\n;,5;7,;\n"


class TestDecimalCommas:
    @pytest.mark.parametrize(
        "content",
        [
            EUROPEAN.encode(),
            EUROPEAN.replace("\n", "\r\n").encode(),
            b"\xef\xbb\xbf" + EUROPEAN.replace("\n", "\r\n").encode(),
            EUROPEAN.replace(";", "\t").encode(),
            EUROPEAN.replace("3,0", '"3,0"').replace("Last", '"Last"').encode(),
            EUROPEAN.replace("01.02.2019 00:00", '"01.02.2019 00:00"').encode(),
        ],
        ids=["plain", "windows", "mark", "tabs", "quotes", "quoted times"],
    )
    def test_a_table_of_the_continent(self, write, content):
        path = write(content)
        frame = read_table(path)
        assert numeric_column(frame, "Last", path).tolist() == [3.0, 4.0, 0.5]
        assert numeric_column(frame, "Preis", path).tolist() == [-0.5, 125.0, 7.0]
        times = time_column(frame, "Datum", path)
        assert times[:2].tolist() == [pd.Timestamp("2019-02-01"), pd.Timestamp("2019-02-02 09:30:15")]
        assert pd.isna(times[2])
        with raises(path, "is empty: no row has a value in it"):
            numeric_column(frame, "Rest", path)

    @given(
        numbers=st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 2)), min_size=1, max_size=20),
        end=st.sampled_from(["\n", "\r\n"]),
        packed=st.booleans(),
    )
    def test_numbers_return(self, tmp_path_factory, numbers, end, packed):
        path = tmp_path_factory.mktemp("numbers") / ("table.csv.gz" if packed else "table.csv")
        text = end.join(["x;y", *(f"{number:.2f};".replace(".", ",") + "0,5" for number in numbers)])
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        assert numeric_column(read_table(path), "x", path).tolist() == numbers

    @pytest.mark.parametrize(
        ("text", "decimal", "message"),
        [
            ("y;x\n1.234,5;0\n", "auto", "line 2: '1.234,5' in column 'y' is not a number. Leave out marks between"),
            ("y;x\n3,5;0\n1.234,5;0\n", ",", "line 3: '1.234,5' .* is not a number. Leave out marks between th"),
            ("y;x\n0,5;0\n1 234,5;0\n", "auto", "line 3: '1 234,5' .* Leave out marks between thousands"),
            ("y;x\n0,5;0\n1'234,5;0\n", "auto", r"line 3: \"1'234,5\" .* Leave out marks between thousands"),
            ("y;x\n0,5;0\n1,234,567;0\n", "auto", "line 3: '1,234,567' .* Leave out marks between thousands"),
            ("y;x\n1;0\n1,234;0\n12,500;0\n", "auto", "line 3: '1,234' .* three decimals or .* --decimal , "),
            ("y;x\n1.234;0\n1,5;0\n", "auto", r"line 3: '1,5' in column 'y' has a comma, but '1\.234' a point"),
            ("y;x\n1.234;0\n1,5;0\n", ",", r"line 2: '1\.234' in column 'y' has a point, but a comma marks"),
            ("y;x\n1;0,5\n1.234;0\n", "auto", r"line 3: '1\.234' in column 'y' has a point, but column 'x' has dec"),
            ("y;x\n1.536;0\n989;0\n", "auto", r"line 2: '1\.536' in column 'y' may .* in thousands.*--decimal \. "),
            ("y\tx\n1\t0\n12.500\t2.000\n", "auto", r"line 3: '12\.500' in column 'y' may .* in thousands"),
            ("y;x\n1.000;0\n2;0\n", ",", r"line 2: '1\.000' in column 'y' has a point, but a comma marks"),
            ("y;x\n1,5;0\n", ".", r"line 2: '1,5' in column 'y' is not a number, as a point marks decimals"),
            ("y;x\n1,5;0\nhigh;0\n", "auto", "line 3: 'high' in column 'y' is not a number"),
            ("y;x\n1,5;0\nhigh;0\n", ",", "line 3: 'high' in column 'y' is not a number"),
            ('y,x\n"1,5",0\n', "auto", "line 2: '1,5' in column 'y' is not a number. If the comma marks decimals"),
        ],
    )
    def test_what_may_mean_something_else(self, write, text, decimal, message):
        path = write(text)
        with raises(path, message):
            numeric_column(read_table(path), "y", path, decimal)

    @pytest.mark.parametrize("shown", ["0.500", "1.5", "1.5360", "0.0", "1234.567", "-0.125"])
    @pytest.mark.parametrize("column", ["y", "x"])
    def test_a_point_that_cannot_part_thousands_shows_what_the_others_mean(self, write, shown, column):
        row = {"y": "989", "x": "0"} | {column: shown}
        path = write(f"y;x\n1.536;0\n{row['y']};{row['x']}\n")
        assert numeric_column(read_table(path), "y", path)[0] == 1.536

    @pytest.mark.parametrize(
        ("text", "decimal", "values"),
        [
            ("y;x\n1;0\n1,234;0\n", ",", [1.0, 1.234]),
            ("y;x\n1,234;0,5\n2,500;0\n", "auto", [1.234, 2.5]),  # the comma of the other column tells
            ("y;x\n0,125;0\n2,500;0\n", "auto", [0.125, 2.5]),
            ('y,x\n"1,5",0\n"2",0\n', ",", [1.5, 2.0]),
            ("y;x\n1.5;0\n2;0,5\n", ".", [1.5, 2.0]),
            ("y;x\n1.5;a,b\n2;0,5\n", "auto", [1.5, 2.0]),  # words with commas are no numbers
            ("y;x\n15;0,5\n2;0,5\n", "auto", [15.0, 2.0]),
            ("y;x\n15;0\n;0\n", ",", [15.0, None]),
            ("Zeit, Ort;y\n1;2,5\n", "auto", [2.5]),  # as many names by commas: they are less common than semicolons
        ],
    )
    def test_what_is_plain_or_said(self, write, text, decimal, values):
        path = write(text)
        numbers = numeric_column(read_table(path), "y", path, decimal)
        assert numbers.astype(object).where(numbers.notna(), None).tolist() == values

    def test_tables_that_are_no_text_files(self, tmp_path):
        frame = pd.DataFrame({"y": ["1,5", 2, Decimal("2.5"), None], "z": [0.5, 1.5, 2.5, 3.5]})
        with pytest.raises(TableError, match=r"'1,5' in column 'y' is not a number. If the comma marks decimals"):
            numeric_column(frame, "y", "the table")
        assert numeric_column(frame, "y", "the table", ",")[:3].tolist() == [1.5, 2.0, 2.5]
        assert numeric_column(frame, "z", "the table", ",").tolist() == frame["z"].tolist()

    def test_a_sign_that_is_none(self, write):
        path = write("y\n1\n")
        with pytest.raises(ValueError, match=r"decimal \(--decimal\) must be a point, a comma or 'auto', got ';'"):
            numeric_column(read_table(path), "y", path, ";")

    def test_lines_are_found_after_rows_were_left_out(self, write):
        path = write("y;x\n1;0,5\n2.000;0\n3.000;0\n")
        frame = read_table(path)
        with raises(path, r"line 4: '3\.000'"):
            numeric_column(frame.drop(index=1), "y", path)

    def test_columns_that_hold_numbers(self):
        frame = pd.DataFrame({"a": [1, 2], "b": ["1,5", None], "c": ["1.1.2024", "x"], "d": [None, None]})
        assert [holds_numbers(frame, name) for name in "abcde"] == [True, True, False, False, False]


class TestDateFormat:
    @pytest.mark.parametrize(
        ("texts", "date_format", "expected"),
        [
            (["03/04/2019", "31/12/2019"], "%d/%m/%Y", ["2019-04-03", "2019-12-31"]),
            (["03/04/2019", "12/31/2019"], "%m/%d/%Y", ["2019-03-04", "2019-12-31"]),
            (["03/04/19 5:30", " 31/12/19 23:59 "], "%d/%m/%y %H:%M", ["2019-04-03T05:30", "2019-12-31T23:59"]),
            (["01012019", "31122019"], "%d%m%Y", ["2019-01-01", "2019-12-31"]),  # not the number 1012019
            (["20190101", ""], "%Y%m%d", ["2019-01-01", "NaT"]),
            (["2019.001", "2019.365"], "%Y.%j", ["2019-01-01", "2019-12-31"]),
        ],
    )
    def test_times_as_they_are_said_to_be(self, write, texts, date_format, expected):
        path = write("y;t\n" + "".join(f"1;{text}\n" for text in texts))
        times = time_column(read_table(path), "t", path, date_format=date_format)
        assert np.array_equal(times.to_numpy(), np.array(expected, "datetime64[us]"), equal_nan=True)

    @given(
        moments=st.lists(
            st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2068, 12, 31)), min_size=1, max_size=10
        ),
        date_format=st.sampled_from(
            ["%d/%m/%Y", "%m/%d/%y %H:%M", "%Y%m%d", "%d %b %Y %I:%M %p", "%Y-%j", "%d/%m/%Y %H:%M:%S.%f", "%Y-%m-%d"]
        ),
        odd=st.sampled_from(["", " x", "0", "1", "/", "-01", " 00:00"]),
    )
    def test_what_strptime_reads_is_read(self, tmp_path_factory, moments, date_format, odd):
        path = tmp_path_factory.mktemp("times") / "table.csv"
        texts = [moment.strftime(date_format) for moment in moments]
        assume(not (date_format.endswith("%f") and odd.isdigit()))  # nanoseconds, which strptime does not know
        texts[-1] += odd
        path.write_text("y;t\n" + "".join(f"1;{text}\n" for text in texts))
        try:
            expected = [datetime.datetime.strptime(text, date_format) for text in texts]
        except ValueError:
            with raises(path, f"line {len(texts) + 1}, column 't'"):
                time_column(read_table(path), "t", path, date_format=date_format)
        else:
            times = time_column(read_table(path), "t", path, date_format=date_format)
            assert times.dt.to_pydatetime().tolist() == expected

    def test_zones_are_read(self, write):
        path = write("y;t\n1;31/01/2024 13:30 +0200\n")
        times = time_column(read_table(path), "t", path, "Asia/Tokyo", "%d/%m/%Y %H:%M %z")
        assert times[0] == pd.Timestamp("2024-01-31 20:30", tz="Asia/Tokyo")

    @pytest.mark.parametrize(
        ("text", "date_format", "message"),
        [
            ("31/01/2024\n01/31/2024\n", "%d/%m/%Y", "line 3, column 't': '01/31/2024' is not a time as '%d/%m/%Y' wr"),
            ("2024-01-31\n", "%d/%m/%Y", "line 2, column 't': '2024-01-31' is not a time as"),
            ("31/01/2024 13:30\n", "%d/%m/%Y", "line 2, column 't': '31/01/2024 13:30' is not a time as"),
        ],
    )
    def test_values_that_are_written_otherwise(self, write, text, date_format, message):
        path = write(f"t\n{text}")
        with raises(path, message):
            time_column(read_table(path), "t", path, date_format=date_format)

    @pytest.mark.parametrize(
        ("date_format", "message"),
        [
            ("%d.%m.", "'%d.%m.' does not tell year, month and day. Give one such as"),
            ("%H:%M", "does not tell year"),
            ("%Y", '"%Y-%m" will do; years alone are numbers'),
            ("%Y-%m %H:%M", "does not tell year, month and day"),
            ("%m-%d", "does not tell year"),
            ("%d/%m/%Q", "'%d/%m/%Q' is no format of times: 'Q' is a bad directive"),
            ("mixed", "must be a format or 'auto', got 'mixed'"),
            ("ISO8601", "must be a format or 'auto', got 'ISO8601'"),
            (None, "must be a format or 'auto', got None"),
        ],
    )
    def test_formats_that_are_none(self, write, date_format, message):
        path = write("t\n2024-01-31\n")
        with pytest.raises(ValueError, match=message):
            time_column(read_table(path), "t", path, date_format=date_format)

    def test_times_that_know_what_they_are(self, tmp_path):
        path = tmp_path / "table.parquet"
        stamps = pd.date_range("2024-01-31 13:30", periods=2)
        pd.DataFrame({"t": stamps, "n": [20240131, 20240201]}).to_parquet(path)
        frame = read_table(path)
        assert time_column(frame, "t", path, date_format="%d/%m/%Y").tolist() == stamps.tolist()
        with raises(path, "holds int64: a date format is for text"):
            time_column(frame, "n", path, date_format="%Y%m%d")


class TestTimeColumn:
    @pytest.mark.parametrize(
        ("texts", "timezone", "zone", "hours"),
        [
            (["2024-01-31 13:30", "2024-02-01"], None, None, [13.5, 0]),
            (["2024-01-31 13:30", "2024-02-01"], "Asia/Tokyo", None, [13.5, 0]),
            (["2024-01-31 13:30Z", "2024-02-01T00:00Z"], None, "UTC", [13.5, 0]),
            (["2024-01-31 13:30Z", "2024-02-01T00:00Z"], "Asia/Tokyo", "Asia/Tokyo", [22.5, 9]),
            (["2024-01-31 13:30+02:00", "2024-02-01T00:00+02:00"], None, "UTC+02:00", [13.5, 0]),
            (["2024-01-31 13:30+02:00", "2024-02-01T00:00+01:00"], "Europe/Paris", "Europe/Paris", [12.5, 0]),
        ],
    )
    def test_text(self, write, texts, timezone, zone, hours):
        path = write("y,t\n" + "".join(f"1,{text}\n" for text in [*texts, ""]))
        times = time_column(read_table(path), "t", path, timezone)
        assert str(times.dt.tz) == str(zone)
        assert times.isna().tolist() == [False, False, True]
        assert times.name == "t"
        assert CalendarPhases(["day"], timezone=timezone).fit_transform(times[:2]).ravel().tolist() == hours

    @pytest.mark.parametrize("timezone", [None, "Asia/Tokyo"])
    def test_parquet(self, tmp_path, timezone):
        path = tmp_path / "table.parquet"
        stamps = pd.date_range("2024-01-31 13:30", periods=2, freq="D")
        days = [datetime.date(2024, 1, 31), None]
        pd.DataFrame({"naive": stamps, "aware": stamps.tz_localize("UTC"), "day": days}).to_parquet(path)
        frame = read_table(path)
        assert time_column(frame, "naive", path, timezone).tolist() == stamps.tolist()
        aware = time_column(frame, "aware", path, timezone)
        assert aware.tolist() == stamps.tz_localize("UTC").tolist()
        assert str(aware.dt.tz) == (timezone or "UTC")
        assert time_column(frame, "day", path, timezone)[0] == pd.Timestamp("2024-01-31")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "2024-01-31\n\n31.1.24\n",
                "line 4, column 't': '31.1.24' is not a time. Write it like 2024-01-31 13:30 .* --date-format",
            ),
            ("31.01.2024\n30.02.2024\n", "line 3, column 't': '30.02.2024' is not a time"),
            ("01.13.2024\n", "line 2, column 't': '01.13.2024' is not a time"),
            ("31/01/2024\n", "line 2, column 't': '31/01/2024' is not a time.* which number is the day, with --date-f"),
            ("2024-01-31\n2024-02-30\n", "line 3, column 't': '2024-02-30' is not a time"),
            ("20240131\n20240201\n", "line 2: 20240131 in column 't' is not a time. Write it like"),
            ("0.5\n", "line 2: 0.5 in column 't' is not a time"),
            (
                "2024-01-31\n2024-01-31T00:00Z\n",
                "line 3, column 't': .* has UTC, but times before it have no time zone",
            ),
            (
                "2024-01-31T00:00+02:00\n2024-01-31T00:00+01:00\n",
                r"\(UTC\+01:00, UTC\+02:00\): give the time zone whose",
            ),
        ],
    )
    def test_values_that_are_not_times(self, write, text, message):
        path = write(f"t\n{text}")
        with raises(path, message):
            time_column(read_table(path), "t", path)

    def test_an_unknown_zone(self, write):
        path = write("t\n2024-01-31\n")
        with pytest.raises(ValueError, match=r"'Europe/Berln' is not known. Did you mean 'Europe/Berlin'"):
            time_column(read_table(path), "t", path, "Europe/Berln")


class TestCompleteRows:
    @pytest.fixture
    def table(self, write):
        path = write("t,x,y\n2024-01-01,1,1\n2024-01-02,,2\n\n2024-01-03,3,\n,,4\n2024-01-05,5,5\n")
        frame = read_table(path)
        return path, [time_column(frame, "t", path), *(numeric_column(frame, name, path) for name in "xy")]

    def test_missing_values_are_counted(self, table):
        path, columns = table
        with raises(
            path, r"'t' 1, 'x' 2, 'y' 1; the first is line 3\)\. Fill them in, or say that such rows"
        ) as caught:
            complete_rows(columns, path)
        assert str(caught.value).startswith("3 of 5 rows of ")

    def test_rows_may_be_left_out(self, table):
        path, columns = table
        assert complete_rows(columns, path, drop=True).tolist() == [True, False, False, False, True]
        assert complete_rows(columns[:1], path, drop=True).tolist() == [True, True, True, False, True]

    def test_nothing_is_missing(self, write):
        path = write("x\n1\n2\n")
        assert complete_rows([numeric_column(read_table(path), "x", path)], path).tolist() == [True, True]

    def test_no_row_is_left(self, write):
        path = write("x,y\n1,\n,2\n")
        columns = [numeric_column(read_table(path), name, path) for name in "xy"]
        with raises(path, r"No row is left"):
            complete_rows(columns, path, drop=True)


class TestColumnsThatAreKept:
    """What is written again beside predictions is what was read."""

    LARGE = 2**53 + 1

    def test_text(self, write):
        path = write(f"id;large;gaps;x;y;name\n007;{self.LARGE};{self.LARGE};1;1.50;a\n010;1;;2;2;b\n")
        kept = read_without_loss(read_table(path), path)
        assert kept["id"].tolist() == ["007", "010"]
        assert kept["large"].tolist() == [self.LARGE, 1]
        assert kept["gaps"].tolist() == [str(self.LARGE), ""]
        assert kept["x"].tolist() == [1, 2]
        assert kept["y"].tolist() == [1.5, 2.0]
        assert kept["name"].tolist() == ["a", "b"]

    def test_parquet(self, tmp_path):
        path = tmp_path / "table.parquet"
        columns = {"id": ["007", None], "large": pd.array([self.LARGE, None], dtype="Int64")}
        pd.DataFrame(columns).to_parquet(path)
        kept = read_without_loss(read_table(path), path)
        assert kept["id"].tolist()[0] == "007"
        assert kept["large"].tolist()[0] == self.LARGE
        kept.to_parquet(tmp_path / "again.parquet")
        assert pq.read_table(tmp_path / "again.parquet").column("large").to_pylist() == [self.LARGE, None]


class TestLargeLevels:
    LARGE = 2**60

    def ids(self):
        return [self.LARGE + 1, None, self.LARGE + 2, self.LARGE + 3]

    def test_a_file_with_empty_fields_tells_them_apart(self, tmp_path):
        path = tmp_path / "ids.csv"
        pd.DataFrame({"id": pd.array(self.ids(), dtype="Int64"), "y": 1.5}).to_csv(path, index=False)
        assert read_table(path)["id"].dtype == float  # rounded already
        levels = level_column(read_table(path), "id", path)
        assert levels.dropna().tolist() == [str(one) for one in self.ids() if one is not None]
        assert levels.isna().tolist() == [False, True, False, False]

    def test_an_empty_field_may_be_a_level_beside_them(self, tmp_path):
        path = tmp_path / "ids.csv"
        ids = pd.array(self.ids() * 20, dtype="Int64")
        pd.DataFrame({"id": ids, "y": np.tile([1.0, 2.0, 3.0, 4.0], 20) + 0.1 * np.cos(np.arange(80))}).to_csv(
            path, index=False
        )
        model = TableModel("y", terms="category(id)").fit(path)
        np.testing.assert_allclose(model.predict(path)["mean"][:4], [1, 2, 3, 4], atol=0.1)

    def test_whole_numbers_of_any_type_are_kept(self):
        frame = pd.DataFrame({"a": pd.array(self.ids(), dtype="Int64"), "b": self.ids()}, dtype=object)
        for name in frame:
            assert level_column(frame, name, "the table").dropna().tolist() == [str(self.LARGE + i) for i in (1, 2, 3)]

    def test_rounded_numbers_of_a_frame_are_refused(self):
        with pytest.raises(TableError, match=r"row 1: 1152921504606846976 in column 'id' .* make the column text"):
            level_column(pd.DataFrame({"id": [2.0**60, None]}), "id", "the table")
