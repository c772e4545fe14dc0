"""Empty fields are missing, other values only if somebody says so; files and DataFrames are read alike."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from tests.cli.runner import assert_fails, run
from torusgp import PanelModel, TableModel
from torusgp.data.tables import read_table, without_marks
from torusgp.tables.table import column_kind

MARKS = ["NA", "None", "null", "n/a", "NULL", "nan", "N/A", "#N/A", "<NA>", "NaN", "none"]
QUICK = ("--components", 51, "--holdout", 0)


@pytest.fixture
def write(tmp_path):
    def write(frame, name="data.csv", **options):
        frame.to_csv(tmp_path / name, index=False, **options)
        return tmp_path / name

    return write


def make_countries(level="NA", seed=0):
    """Rows of three countries and some of none; those of one level lie higher."""
    rng = np.random.default_rng(seed)
    country = rng.choice([level, "DE", "FR", ""], 240)
    x = rng.normal(size=240)
    y = 5.0 * (country == level) - 3.0 * (country == "") + x + 0.1 * rng.normal(size=240)
    return pd.DataFrame({"country": country, "x": x, "y": y})


def quiet(fit, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*arguments, **options)


def both_ways(frame, write):
    """A table as a file, and as a DataFrame whose empty fields are missing."""
    return write(frame), frame.replace("", None)


class TestLevels:
    @pytest.mark.parametrize("mark", MARKS)
    def test_every_level_of_a_file_is_one(self, write, mark):
        assert read_table(write(make_countries(mark)))["country"].value_counts()[mark] > 30

    @pytest.mark.parametrize("mark", ["NA", "None", "null"])
    def test_their_effect_is_not_lost_and_they_are_said(self, write, mark):
        later = pd.DataFrame({"country": [mark, "DE", None], "x": 0.0})
        for table in both_ways(make_countries(mark), write):
            model = quiet(TableModel("y", n_components=51).fit, table)
            np.testing.assert_allclose(model.predict(later)["mean"], [5, 0, -3], atol=0.2)
            (said,) = (one for one in model.findings_ if "country" in one.text)
            n_rows = int((make_countries(mark)["country"] == mark).sum())
            assert said.level == "note"
            assert said.text == (
                f"country is {mark!r} in {n_rows} rows, a level like any other. If that stands for nothing, say so: "
                f"missing=[{mark!r}]."
            )

    def test_files_and_frames_give_the_same_model(self, write):
        models = [quiet(TableModel("y", n_components=51).fit, one) for one in both_ways(make_countries(), write)]
        np.testing.assert_array_equal(*(model.model_.coef_ for model in models))

    def test_usual_levels_are_not_talked_about(self, write):
        model = quiet(TableModel("y", n_components=51).fit, write(make_countries("NO")))
        assert not [one for one in model.findings_ if "country" in one.text]

    def test_a_mark_that_is_named_joins_the_empty_fields(self, write):
        frame = make_countries()
        for table in both_ways(frame, write):
            model = quiet(TableModel("y", n_components=51, missing="NA").fit, table)
            means = model.predict(pd.DataFrame({"country": ["NA", None, "DE"], "x": 0.0}))["mean"]
            assert means[0] == means[1]
            assert not [one for one in model.findings_ if "'NA'" in one.text]

    def test_the_command_says_them_and_takes_them(self, write, tmp_path):
        data = write(make_countries())
        content = json.loads(run("fit", data, "--target", "y", *QUICK, "--json").stdout)
        assert any('--missing "NA"' in one["text"] for one in content["findings"])
        assert 'If that stands for nothing, say so: --missing "NA".' in " ".join(
            run("fit", data, "--target", "y", *QUICK).output.split()
        )
        content = json.loads(run("fit", data, "--target", "y", *QUICK, "--json", "--missing", "NA,-999").stdout)
        assert not any("NA" in one["text"] for one in content["findings"])
        assert TableModel.load(tmp_path / "data-model.npz").missing == ["NA", "-999"]

    def test_models_for_each_level(self, write):
        frame = make_countries().replace("", "FR")
        panel = quiet(PanelModel(TableModel("y", inputs=["x"], n_components=11), "country").fit, write(frame))
        assert list(panel.models_) == ["DE", "FR", "NA"]
        named = TableModel("y", inputs=["x"], n_components=11, missing="NA", drop_missing=True)
        assert list(quiet(PanelModel(named, "country").fit, write(frame)).models_) == ["DE", "FR"]


def make_numbers(mark, seed=0):
    """Rows whose depth is a mark in some of them."""
    rng = np.random.default_rng(seed)
    depth = rng.uniform(0, 10, 200).round(3)
    frame = pd.DataFrame({"depth": depth.astype(str), "y": np.sin(depth) + 0.05 * rng.normal(size=200)})
    frame.loc[[3, 17, 99], "depth"] = mark
    return frame


class TestNumbers:
    @pytest.mark.parametrize("mark", [*MARKS, "unknown", "?"])
    def test_words_among_numbers_are_an_error_that_says_what_to_do(self, write, mark):
        for table in both_ways(make_numbers(mark), write):
            with pytest.raises(ValueError, match=r"in column 'depth' is not a number. 3 values") as told:
                TableModel("y", terms="line(depth)").fit(table)
            assert str(told.value).endswith(f"If {mark!r} stands for nothing, say so: missing=[{mark!r}].")

    def test_so_are_they_where_nothing_is_said_of_the_inputs(self, write):
        for table in both_ways(make_numbers("NA"), write):
            with pytest.raises(ValueError, match=r"If 'NA' stands for nothing, say so: missing=\['NA'\]"):
                TableModel("y").fit(table)

    def test_in_the_target_too(self, write):
        frame = pd.DataFrame({"x": np.arange(60.0), "y": np.where(np.arange(60) % 9, "1.5", "NA")})
        for table in both_ways(frame, write):
            with pytest.raises(ValueError, match=r"'NA' in column 'y' is not a number.*missing=\['NA'\]"):
                TableModel("y", terms="line(x)").fit(table)

    def test_several_words_are_all_named(self, write):
        frame = make_numbers("NA")
        frame.loc[50, "depth"] = "null"
        with pytest.raises(ValueError, match=r"If they stand for nothing, say so: missing=\['NA', 'null'\]"):
            TableModel("y", terms="line(depth)").fit(write(frame))

    def test_digits_are_no_mark(self, write):
        with pytest.raises(ValueError, match=r"'12x' in column 'depth' is not a number. 3 values of this"):
            TableModel("y", terms="line(depth)").fit(write(make_numbers("12x")))

    @pytest.mark.parametrize(
        ("mark", "missing"), [("NA", "NA"), ("-999", ["NA", -999]), ("-999.0", "-999"), (" NA", "NA")]
    )
    def test_marks_that_are_named_are_empty(self, write, mark, missing):
        options = {"terms": "line(depth)", "n_components": 21, "drop_missing": True}
        empty = quiet(TableModel("y", **options).fit, write(make_numbers("")))
        assert empty.n_dropped_ == 3
        frame = make_numbers(mark)
        for table in (write(frame), frame):
            model = quiet(TableModel("y", missing=missing, **options).fit, table)
            np.testing.assert_array_equal(model.model_.coef_, empty.model_.coef_)

    def test_numbers_that_are_named_in_a_column_of_numbers(self):
        frame = make_numbers("-999").astype({"depth": float})
        model = quiet(TableModel("y", terms="line(depth)", n_components=21, missing=-999, drop_missing=True).fit, frame)
        assert model.n_dropped_ == 3

    def test_later_tables_are_read_alike(self, write, tmp_path):
        data = write(make_numbers("NA"))
        arguments = ("--target", "y", "--terms", "line(depth)", *QUICK)
        assert_fails(run("fit", data, *arguments), 'say so: --missing "NA".')
        assert run("fit", data, *arguments, "--missing", "NA", "--drop-missing").exit_code == 0
        model, out = tmp_path / "data-model.npz", tmp_path / "out.csv"
        assert run("predict", model, data, "-o", out, "--drop-missing").exit_code == 0
        assert len(pd.read_csv(out)) == 197
        other = write(make_numbers("null"), "other.csv")
        assert_fails(run("predict", model, other, "-o", out), 'say so: --missing "null".')
        for command in (("predict", model, other), ("report", model, other)):
            assert run(*command, "--missing", "null,-9", "--drop-missing", "-o", out.with_suffix(".html")
                       if command[0] == "report" else out).exit_code == 0  # fmt: skip

    def test_what_is_written_again_is_as_it_was(self, write, tmp_path):
        frame = make_numbers("NA")
        data, out = write(frame.assign(depth_2=frame["depth"], depth=1.5)), tmp_path / "out.csv"
        rng = np.random.default_rng(0)
        known = write(pd.DataFrame({"depth": rng.uniform(0, 3, 60), "y": rng.normal(size=60)}), "known.csv")
        assert run("fit", known, "--target", "y", *QUICK, "-o", tmp_path / "model.npz").exit_code == 0
        assert run("predict", tmp_path / "model.npz", data, "-o", out).exit_code == 0
        assert pd.read_csv(out, dtype=str, keep_default_na=False)["depth_2"].tolist() == frame["depth"].tolist()


class TestTimes:
    def test_words_among_times_are_an_error_that_says_what_to_do(self, write):
        time = pd.Series(pd.date_range("2024-01-01", periods=80, freq="h").astype(str))
        time[5] = "NA"
        frame = pd.DataFrame({"time": time, "y": np.cos(np.arange(80.0))})
        for table in both_ways(frame, write):
            with pytest.raises(
                ValueError, match=r"'NA' is not a time.*if it stands for a missing time, say so, with --mi"
            ):
                TableModel("y", inputs=["hour"]).fit(table)
            model = quiet(TableModel("y", inputs=["hour"], missing=["NA"], drop_missing=True).fit, table)
            assert model.n_dropped_ == 1


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["NA", "1.5", "2.5", "3.5"], "number"),
        (["1.5", "NA", "2.5", "3.5"], "number"),
        (["0", "1", "NA", "1"], "category"),
        (["NA", "north", "south", "NA"], "category"),
        (["NA", "2024-01-31", "2024-02-01", "null"], "time"),
        (["NA", "NA", "NA", "NA"], "unused"),
        (["NA", "null", "NA", "NA"], "category"),
    ],
)
def test_kinds_of_columns_that_may_miss_values(write, values, kind):
    frame = pd.DataFrame({"x": values, "y": range(4)})
    path = write(frame, sep=";")
    assert column_kind(read_table(path), "x", path).name == kind
    assert column_kind(frame, "x", "table.parquet").name == kind


class TestMarks:
    def test_numbers_are_compared_as_numbers(self):
        frame = pd.DataFrame({"a": [-999, 1], "b": [-999.0, 1.0], "c": ["-999", "x"], "d": [True, False]})
        cleared = without_marks(frame, [-999, 1])
        assert cleared.isna().to_numpy().tolist() == [[True, True, True, False], [True, True, False, False]]

    def test_nothing_is_said_and_nothing_changes(self):
        frame = pd.DataFrame({"a": ["NA", None]})
        assert without_marks(frame, None) is frame
        assert without_marks(frame, "null") is frame

    def test_large_whole_numbers_stay(self):
        frame = pd.DataFrame({"id": [2**62 + 1, 2**62 + 3]})
        assert without_marks(frame, ["NA", "-9"])["id"].tolist() == [2**62 + 1, 2**62 + 3]

    @pytest.mark.parametrize("missing", [True, [None], [["NA"]], object(), [b"NA"], [False]])
    def test_what_is_no_mark_is_refused(self, missing):
        frame = pd.DataFrame({"x": np.arange(30.0), "y": np.arange(30.0)})
        with pytest.raises(ValueError, match=r"missing \(--missing\) must be values that stand for nothing"):
            TableModel("y", missing=missing).fit(frame)

    def test_the_option_needs_one(self, write):
        assert_fails(run("fit", write(make_countries()), "--target", "y", "--missing", " , "), "--missing needs values")


def test_decimal_commas_are_read_beside_marks(write):
    path = write(pd.DataFrame({"x": ["NA", "1,5", "2,25", "3"], "y": range(4)}), sep=";")
    assert column_kind(read_table(path), "x", path).name == "number"
