"""The commands that lead from a table to a forecast: fit, predict, info and report."""

import gzip
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from tests.cli.runner import assert_fails, run, tree
from tests.published_data import needs_demand
from torusgp import SufficientStatistics, TorusGPRegressor
from torusgp.cli import _fit
from torusgp.cli._fit import fit_file
from torusgp.cli._options import beside, check_output
from torusgp.data.tables import read_table
from torusgp.kernels.index_sets import tensor
from torusgp.tables.model import TableModel
from torusgp.views.findings import Findings

CALENDAR = ("--calendar", "time=day,week")
QUICK = ("--target", "demand", *CALENDAR, "--components", 41, "--errors", "independent")


def make_table(n_days=21):
    time = pd.date_range("2024-01-01", periods=24 * n_days, freq="h")
    busy = np.where(time.day_of_week < 5, 2.0, 1.0) * np.cos(2 * np.pi * time.hour / 24)
    noise = np.random.default_rng(0).normal(0, 0.2, len(time))
    return pd.DataFrame({"time": time.strftime("%Y-%m-%d %H:%M"), "hour": time.hour, "demand": 5 + busy + noise})


@pytest.fixture
def data(tmp_path):
    make_table().to_csv(tmp_path / "demand.csv", index=False)
    return tmp_path / "demand.csv"


@pytest.fixture
def model(data, tmp_path):
    table = TableModel("demand", calendar={"time": ["day", "week"]}, errors="independent", n_components=41)
    fit_file(table, data, tmp_path / "model.npz")
    return tmp_path / "model.npz"


class TestFit:
    def test_the_summary_tells_what_was_learned(self, data, tmp_path):
        result = run("fit", data, *QUICK, "-o", tmp_path / "new" / "model.npz")
        assert result.exit_code == 0
        assert result.stderr == ""
        assert max(map(len, result.stdout.splitlines())) <= 80
        told = " ".join(result.stdout.split())
        table = TableModel.load(tmp_path / "new" / "model.npz")
        for words in (
            "target demand",
            "rows fitted 504",
            "hour_of_day 24 (given)",
            "held out 101 rows: the last 20 %, from 2024-01-17 19:00 on",
            f"RMSE, R2 {table.scores_.rmse:.4g}, {table.scores_.r2:.4f}",
            f"MNLL {table.scores_.mnll:.4f}",
            f"95 % intervals contain {100 * table.scores_.coverage:.1f} %",
            "fitted to all rows, after the evaluation",
            "41 components, squared exponential kernel",
            "hour_of_day \N{MULTIPLICATION SIGN} day_of_week",
        ):
            assert words in told
        assert table.scores_.r2 > 0.9
        assert table.notes_["data"] == str(data)

    def test_it_does_what_python_does(self, data, tmp_path):
        assert run("fit", data, "--target", "demand", *CALENDAR, "-o", tmp_path / "model.npz").exit_code == 0
        written = TableModel.load(tmp_path / "model.npz")
        table = TableModel("demand", calendar={"time": ["day", "week"]}).fit_and_evaluate(read_table(data))
        np.testing.assert_array_equal(written.model_.coef_, table.model_.coef_)
        assert written.summary() == table.summary()

    def test_json_is_all_there_is(self, data, tmp_path):
        result = run("fit", data, *QUICK, "-o", tmp_path / "model.npz", "--json")
        content = json.loads(result.stdout)
        assert result.stderr == ""
        assert content["rows"]["fitted"] == 504
        assert content["holdout"]["n_rows"] == 101
        assert [one["name"] for one in content["inputs"]] == ["hour_of_day", "day_of_week"]
        assert content["model"] == str(tmp_path / "model.npz")
        assert content["seconds"] > 0

    @pytest.mark.parametrize("ending", [".csv.gz", ".parquet", ".tsv"])
    def test_other_kinds_of_files(self, ending, data, tmp_path):
        other = tmp_path / f"other{ending}"
        if ending == ".parquet":
            make_table().to_parquet(other)
        else:
            make_table().to_csv(other, index=False, sep="\t" if ending == ".tsv" else ",")
        contents = [json.loads(run("fit", path, *QUICK, "--json").stdout) for path in (data, other)]
        for content in contents:
            del content["seconds"], content["model"], content["data"]
        assert contents[0] == contents[1]
        assert (tmp_path / "demand-model.npz").exists()
        assert (tmp_path / "other-model.npz").exists()

    def test_a_column_may_have_several_periods(self, tmp_path):
        hours = np.arange(800.0)
        y = np.cos(2 * np.pi * hours / 24) + np.sin(2 * np.pi * hours / 168)
        y += np.random.default_rng(0).normal(0, 0.1, 800)
        pd.DataFrame({"t": hours, "y": y}).to_csv(tmp_path / "data.csv", index=False)
        arguments = ("fit", tmp_path / "data.csv", "--target", "y", "--period", "t=24", "--period", "t=168", "--json")
        content = json.loads(run(*arguments).stdout)
        assert [one["period"] for one in content["inputs"]] == [24, 168]
        assert len(content["attribution"]) == 3
        assert content["holdout"]["rows"] == "20 % of the rows, drawn at random"

    def test_a_period_is_found(self, tmp_path):
        t = np.sort(np.random.default_rng(0).uniform(0, 200, 300))
        y = np.sin(2 * np.pi * t / 7.3) + 0.2 * np.random.default_rng(1).normal(size=300)
        pd.DataFrame({"t": t, "y": y}).to_csv(tmp_path / "data.csv", index=False)
        result = run("fit", tmp_path / "data.csv", "--target", "y", "--period", "t=auto", "--components", 21)
        assert result.exit_code == 0
        assert re.search(r"^t +7\.30\d+ ± 0\.0\d+ \(learned\)", result.stdout, re.MULTILINE)

    def test_what_is_held_out(self, data):
        content = json.loads(run("fit", data, *QUICK, "--holdout-from", "2024-01-15", "--no-refit", "--json").stdout)
        assert content["holdout"]["n_rows"] == 7 * 24
        assert content["rows"]["fitted"] == 14 * 24
        assert not content["is_refitted"]
        content = json.loads(run("fit", data, *QUICK, "--holdout", 0, "--json").stdout)
        assert content["holdout"] is None
        assert content["rows"]["fitted"] == 504
        without_order = ("fit", data, "--target", "demand", "--period", "hour=24", "--components", 21, "--json")
        assert "at random" in json.loads(run(*without_order).stdout)["holdout"]["rows"]
        assert "the last" in json.loads(run(*without_order, "--time", "time").stdout)["holdout"]["rows"]

    def test_rows_that_miss_an_input_are_dropped_if_allowed(self, tmp_path):
        table = make_table()
        table.loc[[4, 9], "time"] = np.nan
        table.to_csv(tmp_path / "data.csv", index=False)
        before = tree(tmp_path)
        assert_fails(run("fit", tmp_path / "data.csv", *QUICK), "2 of 504 rows")
        assert tree(tmp_path) == before
        result = run("fit", tmp_path / "data.csv", *QUICK, "--drop-missing")
        assert "2 rows of 504 miss a value and were left out." in " ".join(result.stdout.split())

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "data.csv is empty."),
            ("time,hour,demand\n", "has no rows"),
            ("time,hour,demand\n2024-01-01,3,7\n", "has 1 complete rows; 20 or more are needed"),
            ("time,hour,demnd\n2024-01-01,3,7\n", "has no column 'demand'. Did you mean 'demnd'?"),
            ("time,hour,demand\n2024-01-01,3,\n", "Column 'demand' of"),
            ("time,hour,demand\n2024-01-01,3,7\n2024-01-01,3,many\n", "line 3: 'many' in column 'demand' is not a"),
            ("time,hour,demand\n2024-01-01,3,7\n01/02/2024,3,7\n", "line 3, column 'time': '01/02/2024' is not a time"),
        ],
        ids=["empty", "no rows", "few rows", "other name", "no values", "text", "times"],
    )
    def test_bad_files(self, content, message, tmp_path):
        path = tmp_path / "data.csv"
        path.write_text(content)
        before = tree(tmp_path)
        assert_fails(run("fit", path, *QUICK), message)
        assert tree(tmp_path) == before

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--period", "hour"], "--period needs a column and a value, such as --period hour=24, got 'hour'"),
            (["--period", "hour=day"], "must be a positive number or 'auto', got 'day'"),
            (["--period", "hour=-24"], "must be a positive number or 'auto', got '-24'"),
            (["--period", "huor=24"], "Did you mean 'hour'?"),
            (["--period", "time=24"], "give it to the calendar (--calendar time=day,week,year)"),
            (["--calendar", "time=day,wek"], "some of 'hour', 'day', 'week', 'month'"),
            (["--calendar", "time"], "--calendar needs a column and a value"),
            (["--calendar", "time=day", "--holdout", "2"], "between 0 and 1, got 2.0"),
            (["--calendar", "time=day", "--holdout", "0.1", "--holdout-from", "2024-01-15"], "either --holdout or"),
            (["--calendar", "time=day", "--holdout-from", "2034-01-01"], "0 of 504 rows"),
            (["--calendar", "time=day", "--errors", "some"], "errors must be 'auto' or 'independent'"),
            (["--calendar", "time=day", "--components", "0"], "n_components must be"),
            (["--calendar", "time=day", "--kernel", "flat"], "Unknown family 'flat'"),
            (["--calendar", "time=day", "--timezone", "Europe/Berln"], "Did you mean 'Europe/Berlin'?"),
            (["--calendar", "time=day", "--terms", "line(tmie)"], "Did you mean 'time'?"),
            (["--calendar", "time=day", "--terms", "category(demand)"], "'demand' is the target"),
            (["--inputs", "hour,weekday"], "'hour' is a column of"),
            (
                ["--inputs", ","],
                "their periods (--period hour=24), or a column of times (--calendar time=day,week,year)",
            ),
            (["--period", "hour=24", "--holdout", "0.99"], "To fit to all rows without evaluation, use --holdout 0."),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_bad_options(self, arguments, message, data, tmp_path):
        before = tree(tmp_path)
        assert_fails(run("fit", data, "--target", "demand", *arguments), message)
        assert tree(tmp_path) == before

    def test_places_are_checked_before_the_work(self, data, tmp_path, monkeypatch):
        monkeypatch.setattr(_fit, "read_table", None)  # not reached
        (tmp_path / "file").write_text("")
        assert_fails(run("fit", data, *QUICK, "-o", tmp_path / "file" / "model.npz"), "is not a folder")
        assert_fails(run("fit", data, *QUICK, "-o", data), "it is one of the inputs")
        assert_fails(run("fit", data, *QUICK, "-o", tmp_path), "is there already, and is not a file")

    def test_a_place_where_writing_fails_later(self, tmp_path, monkeypatch):
        def refuse(dir):
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr("tempfile.TemporaryFile", refuse)
        with pytest.raises(OSError, match=r"Read-only file system\. Name another place"):
            check_output(tmp_path / "model.npz")

    def test_what_nobody_expected(self, data, monkeypatch):
        def break_down(*arguments, **options):
            raise KeyError("gears")

        monkeypatch.setattr(_fit, "fit_file", break_down)
        result = run("fit", data, *QUICK)
        assert result.exit_code == 1
        assert result.stderr == "Error: unexpected KeyError: 'gears'. Run it again with --debug to see where.\n"
        result = run("fit", data, *QUICK, "--debug")
        assert result.exit_code == 1
        assert "Traceback" in result.stderr
        assert result.stderr.endswith("Error: unexpected KeyError: 'gears'.\n")

    def test_debug_shows_where(self, data):
        result = run("fit", data, "--target", "demand", "--period", "huor=24", "--debug")
        assert result.exit_code == 2
        assert "Traceback" in result.stderr
        assert result.stderr.splitlines()[-1].startswith("Error: ")

    def test_a_worthless_model_is_not_praised(self, tmp_path):
        rng = np.random.default_rng(0)
        phi = rng.uniform(-180, 180, 400)
        table = pd.DataFrame({"phi": phi, "energy": np.cos(np.radians(phi)) + 0.2 * rng.normal(size=400)})
        table.to_csv(tmp_path / "angles.csv", index=False)
        result = run("fit", tmp_path / "angles.csv", "--target", "energy", "--period", "phi=6.2831853")
        assert result.exit_code == 0
        for text in (result.stdout, run("info", tmp_path / "angles-model.npz").stdout):
            assert "Problem: The model explains nothing of the rows held out" in " ".join(text.split())
            assert "Worthless as it is" in text
            assert "share of the variance" not in text
        result = run("fit", tmp_path / "angles.csv", "--target", "energy", "--period", "phi=360")
        assert "share of the variance" in result.stdout

    def test_a_trend(self, tmp_path):
        table = make_table(28)
        table["demand"] += 0.01 * np.arange(len(table))
        table.to_csv(tmp_path / "growing.csv", index=False)
        arguments = ("fit", tmp_path / "growing.csv", "--target", "demand", *CALENDAR, "--components", 41)
        result = run(*arguments)
        assert '--terms "slope(time)" takes that into account' in " ".join(result.stdout.split())
        result = run(*arguments, "--terms", "slope(time)")
        assert (result.exit_code, result.stderr) == (0, "")
        told = " ".join(result.stdout.split())
        assert re.search(r"trend 87\.\d+ ± \d\.\d+ per year, along a line in time", told)
        assert "along a line in time" in " ".join(run("info", tmp_path / "growing-model.npz").stdout.split())
        assert run("predict", tmp_path / "growing-model.npz", tmp_path / "growing.csv").exit_code == 0

    def test_other_columns(self, tmp_path):
        table = make_table(28)
        rng = np.random.default_rng(1)
        table["wind"], table["price"] = rng.uniform(0, 10, (2, len(table)))
        table["shop"] = rng.choice(["north", "south", "east"], len(table))
        table["demand"] += np.cos(table["wind"] / 3) - 0.3 * table["price"] + 2 * (table["shop"] == "east")
        table.to_csv(tmp_path / "shops.csv", index=False)
        options = ("--terms", "wind + slope(price) + shop", "--components", 201)
        result = run("fit", tmp_path / "shops.csv", "--target", "demand", *CALENDAR, *options)
        assert (result.exit_code, result.stderr) == (0, "")
        told = " ".join(result.stdout.split())
        assert re.search(r"slope of price -0\.(29|30)\d* ± 0\.00\d+ per unit of price", told)
        assert re.search(r"wind varies by 0\.\d+ over the rows \(standard deviation\), length scale", told)
        assert re.search(r"shop varies by (0\.9|1)\.?\d* over the rows", told)
        forecast = ("predict", tmp_path / "shops-model.npz", tmp_path / "shops.csv", "-o", tmp_path / "out.csv")
        assert run(*forecast).exit_code == 0
        assert np.std(pd.read_csv(tmp_path / "out.csv")["mean"] - table["demand"]) < 0.25

    def test_the_effective_sample_size_is_told(self, tmp_path):
        table = make_table(28)
        noise = np.random.default_rng(1).normal(size=len(table))
        table["demand"] += lfilter([1], [1, -0.8], noise)
        table.to_csv(tmp_path / "runs.csv", index=False)
        result = run("fit", tmp_path / "runs.csv", "--target", "demand", *CALENDAR, "--components", 41)
        rows = TableModel.load(tmp_path / "runs-model.npz").summary()["rows"]
        assert rows["errors"] == "autocorrelated"
        told = " ".join(result.stdout.split())
        assert f"{rows['effective']:,.0f}" in told
        assert "as errors are autocorrelated" in told

    def test_error_bars(self, tmp_path):
        rng = np.random.default_rng(0)
        t, error = np.sort(rng.uniform(0, 100, 200)), rng.uniform(0.05, 0.3, 200)
        table = pd.DataFrame({"t": t, "mag": np.cos(2 * np.pi * t / 7) + 2 * error * rng.normal(size=200), "e": error})
        table.to_csv(tmp_path / "star.csv", index=False)
        arguments = ("fit", tmp_path / "star.csv", "--target", "mag", "--period", "t=7", "--noise-column", "e")
        result = run(*arguments)
        assert re.search(r"error bars +the noise is (1\.[89]|2|2\.[01])\d* times what e says", result.stdout)
        table.loc[3, "e"] = -1
        table.to_csv(tmp_path / "star.csv", index=False)
        assert_fails(run(*arguments), "star.csv, line 5: -1 in column 'e' is no standard deviation")

    def test_brackets_in_names_are_no_markup(self, tmp_path):
        table = make_table(7).rename(columns={"demand": "demand [bold]"})
        table.to_csv(tmp_path / "data.csv", index=False)
        result = run(
            "fit", tmp_path / "data.csv", "--target", "demand [bold]", "--period", "hour=24", "--components", 21
        )
        assert "demand [bold]" in result.stdout

    def test_default_places(self):
        assert beside("data/demand.2024.csv.gz", "-model.npz").as_posix() == "data/demand-model.npz"


class TestPredict:
    def test_predictions_beside_the_columns(self, model, data, tmp_path):
        output = tmp_path / "new" / "out.csv"
        result = run("predict", model, data, "-o", output)
        assert result.exit_code == 0
        assert result.stderr == ""
        table, written = TableModel.load(model), pd.read_csv(output)
        assert written.columns.tolist() == ["time", "hour", "demand", "mean", "std", "q05", "q50", "q95"]
        expected = table.predict(read_table(data))
        np.testing.assert_allclose(written[expected.columns], expected, atol=1e-6 * expected["std"].min())
        assert f"RMSE, R2        {table.evaluate(read_table(data)).rmse:.4g}" in result.stdout
        assert f"504 predictions: {output}" in result.stdout

    def test_formats_hold_the_same(self, model, data, tmp_path):
        options = ("--quantiles", "0.1,0.975", "--no-keep", "--prefix", "forecast_")
        for ending in (".csv", ".csv.gz", ".parquet"):
            assert run("predict", model, data, "-o", tmp_path / f"out{ending}", *options).exit_code == 0
        csv, packed, parquet = (
            pd.read_csv(tmp_path / "out.csv"),
            pd.read_csv(tmp_path / "out.csv.gz"),
            pd.read_parquet(tmp_path / "out.parquet"),
        )
        assert csv.columns.tolist() == ["forecast_mean", "forecast_std", "forecast_q10", "forecast_q97.5"]
        pd.testing.assert_frame_equal(csv, packed)
        pd.testing.assert_frame_equal(csv, parquet)
        assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == (tmp_path / "out.csv").read_bytes()

    def test_without_a_place_it_is_printed(self, model, data, tmp_path):
        result = run("predict", model, data)
        run("predict", model, data, "-o", tmp_path / "out.csv")
        assert result.stdout == (tmp_path / "out.csv").read_text()
        assert result.stderr == ""

    def test_times_that_no_input_needs_may_be_missing(self, tmp_path):
        frame, data = make_table(), tmp_path / "later.csv"
        frame["demand"] = lfilter([1], [1, -0.9], np.random.default_rng(0).normal(size=len(frame))) + frame["hour"] % 7
        table = TableModel("demand", terms="line(hour)", time="time", n_components=21).fit(
            frame.drop(index=range(100, 110))
        )
        table.save(tmp_path / "model.npz")
        rows = frame[98:112].assign(time=frame["time"][98:112].mask(frame.index[98:112] % 2 == 0))
        for some, words, option in (
            (rows, "", ()),
            (rows, "n/a", ("--missing", "n/a")),
            (rows.assign(time=None), "", ()),
        ):
            some.to_csv(data, index=False, na_rep=words)
            result = run("predict", tmp_path / "model.npz", data, "-o", tmp_path / "out.csv", *option)
            assert (result.exit_code, result.stderr) == (0, "")
            expected = table.predict(some)
            np.testing.assert_allclose(
                pd.read_csv(tmp_path / "out.csv")[expected.columns], expected, atol=1e-6 * expected["std"].min()
            )
        rows.to_csv(data, index=False, na_rep="soon")
        assert_fails(run("predict", tmp_path / "model.npz", data), "line 2, column 'time': 'soon' is not a time")

    def test_json(self, model, data, tmp_path):
        content = json.loads(run("predict", model, data, "--json").stdout)
        assert content["rows"] == len(content["predictions"]) == 504
        assert content["predictions"][0]["time"] == "2024-01-01 00:00"
        assert content["scores"]["r2"] > 0.9
        assert content["interval"] == {"from": "q05", "to": "q95", "percent": 90}
        content = json.loads(run("predict", model, data, "--json", "-o", tmp_path / "out.parquet").stdout)
        assert "predictions" not in content
        assert content["output"] == str(tmp_path / "out.parquet")

    def test_future_rows_need_no_target(self, model, tmp_path):
        (tmp_path / "later.csv").write_text("time\n2024-03-01 00:00\n2024-03-01 12:00\n")
        result = run("predict", model, tmp_path / "later.csv", "-o", tmp_path / "out.csv")
        assert result.stdout == f"2 predictions: {tmp_path / 'out.csv'}\n  q05 to q95: 90 % of the values\n"
        noon_is_low = pd.read_csv(tmp_path / "out.csv")["mean"]
        assert noon_is_low[0] > noon_is_low[1] + 3

    def test_rows_that_miss_an_input(self, model, tmp_path):
        (tmp_path / "later.csv").write_text("time,note\n2024-03-01 00:00,a\n,b\n2024-03-01 12:00,c\n")
        assert_fails(run("predict", model, tmp_path / "later.csv"), "1 of 3 rows")
        result = run("predict", model, tmp_path / "later.csv", "--drop-missing")
        assert [line.split(",")[1] for line in result.stdout.splitlines()] == ["note", "a", "c"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["-o", "out.xlsx"], "its name has to end in .csv, .csv.gz, .parquet"),
            (["-o", "demand.csv"], "it is one of the inputs"),
            (["-o", "model.npz/out.csv"], "is not a folder"),
            (["--quantiles", "5,95"], "Quantiles must be between 0 and 1, got 5.0"),
            (["--quantiles", "low"], "--quantiles needs numbers"),
        ],
        ids=" ".join,
    )
    @pytest.mark.usefixtures("data")
    def test_bad_options(self, arguments, message, model, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        before = tree(tmp_path)
        assert_fails(run("predict", model.name, "demand.csv", *arguments), message)
        assert tree(tmp_path) == before

    def test_columns_of_the_same_name(self, model, data, tmp_path):
        run("predict", model, data, "-o", tmp_path / "out.csv")
        assert_fails(run("predict", model, tmp_path / "out.csv"), "has a column 'mean' already: use --prefix")
        assert run("predict", model, tmp_path / "out.csv", "--prefix", "new_").exit_code == 0

    def test_other_files(self, data, tmp_path):
        assert_fails(run("predict", tmp_path / "absent.npz", data), "absent.npz does not exist")
        assert_fails(run("predict", data, data), "is not a torusgp file")
        SufficientStatistics(tensor(1, 1), 1.0).save(tmp_path / "sums.npz")
        assert_fails(run("predict", tmp_path / "sums.npz", data), "holds a SufficientStatistics, not a Torus")
        TorusGPRegressor(period=1).fit([[0.1], [0.5], [0.7]], [1.0, 2.0, 3.0]).save(tmp_path / "plain.npz")
        assert_fails(run("predict", tmp_path / "plain.npz", data), "was not written by torusgp fit")

    def test_a_reader_that_has_seen_enough(self, model, data):
        code = "from torusgp.cli import main; main()"  # prints more than a pipe holds
        command = f"{sys.executable} -c '{code}' predict {model} {data} --json | head -n 1"
        result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert result.stdout == "{\n"
        assert result.stderr == ""


def to_european(table, date_format="%d.%m.%Y %H:%M", delimiter=";"):
    """The bytes of a table as a spreadsheet on the continent writes it."""
    times = pd.to_datetime(table["time"]).dt.strftime(date_format)
    return table.assign(time=times).to_csv(index=False, sep=delimiter, decimal=",", lineterminator="\r\n").encode()


class TestOtherCustoms:
    def fit(self, data, *options):
        result = run("fit", data, *QUICK, *options, "--json")
        assert result.exit_code == 0
        content = json.loads(result.stdout)
        return {name: content[name] for name in ("inputs", "holdout", "log_evidence", "rows")}

    @pytest.mark.parametrize(
        ("date_format", "delimiter", "options"),
        [
            ("%d.%m.%Y %H:%M", ";", ()),
            ("%d.%m.%Y %H:%M", "\t", ()),
            ("%d/%m/%Y %H:%M", ";", ("--date-format", "%d/%m/%Y %H:%M")),
            ("%m/%d/%Y %I:%M %p", ",", ("--date-format", "%m/%d/%Y %I:%M %p", "--decimal", ",")),
        ],
        ids=["semicolons", "tabs", "slashes", "commas"],
    )
    def test_the_model_is_the_same(self, date_format, delimiter, options, data, tmp_path):
        other = tmp_path / "last.csv"
        other.write_bytes(b"\xef\xbb\xbf" + to_european(make_table(), date_format, delimiter))
        assert self.fit(other, *options) == self.fit(data)
        later = tmp_path / "later.csv"
        later.write_bytes(to_european(make_table(28)[-168:], date_format, delimiter))
        plain = tmp_path / "plain.csv"
        make_table(28)[-168:].to_csv(plain, index=False)
        # how fit was told to read is how predict reads, unless it is told otherwise
        read = run("predict", tmp_path / "last-model.npz", later, "--no-keep")
        as_told = ("--decimal", "auto", "--date-format", "auto")
        in_points = run("predict", tmp_path / "demand-model.npz", plain, "--no-keep").stdout
        assert in_points == run("predict", tmp_path / "last-model.npz", plain, "--no-keep", *as_told).stdout
        assert read.stdout == run("predict", tmp_path / "demand-model.npz", later, "--no-keep", *options).stdout
        # and how it writes
        in_commas = pd.read_csv(io.StringIO(read.stdout), sep=delimiter, decimal=",")
        pd.testing.assert_frame_equal(in_commas, pd.read_csv(io.StringIO(in_points)), check_exact=True)
        assert read.stdout != in_points
        assert run("predict", tmp_path / "last-model.npz", later, "-o", tmp_path / "forecast.csv").exit_code == 0
        again = ("--target", "mean", "--components", 51, *options, "-o", tmp_path / "again.npz")
        assert run("fit", tmp_path / "forecast.csv", "--calendar", "time=day", *again).exit_code == 0
        assert read_table(tmp_path / "forecast.csv")["demand"].tolist() == read_table(later)["demand"].tolist()

    def test_a_table_of_one_column_is_written_as_the_one_learned_from(self, tmp_path):
        (tmp_path / "last.csv").write_bytes(to_european(make_table()))
        self.fit(tmp_path / "last.csv")
        (tmp_path / "later.csv").write_text("time\n01.02.2024 12:00\n")
        header, row, _ = run("predict", tmp_path / "last-model.npz", tmp_path / "later.csv").stdout.split("\n")
        assert header == "time;mean;std;q05;q50;q95"
        assert row.startswith("01.02.2024 12:00;")
        assert row.count(",") == 5

    def test_columns_stay_as_they_were(self, tmp_path):
        (tmp_path / "last.csv").write_bytes(to_european(make_table()))
        self.fit(tmp_path / "last.csv")
        rows = ["007;01.02.2024 12:00;3;NA;1.234", "008;02.02.2024 12:00;;x;1.5", '"9;9";03.02.2024 12:00;4,5;;2']
        (tmp_path / "later.csv").write_text("\n".join(["id;time;load;note;version", *rows, ""]))
        _, *found = run("predict", tmp_path / "last-model.npz", tmp_path / "later.csv").stdout.splitlines()
        assert [row.rsplit(";", 5)[0] for row in found] == rows
        assert all("." not in part for row in found for part in row.rsplit(";", 5)[1:])

    def test_months_are_read(self, tmp_path):
        months = pd.date_range("2012-01-01", periods=96, freq="MS")
        total = 1000 + 200 * np.cos(2 * np.pi * months.month / 12) + np.random.default_rng(0).normal(0, 40, 96)
        written = {}
        for name, form in (("days", "%Y-%m-%d"), ("months", "%Y-%m"), ("slashes", "%m/%Y")):
            path = tmp_path / f"{name}.csv"
            pd.DataFrame({"month": months.strftime(form), "total": total.round(1)}).to_csv(path, index=False)
            options = () if name == "days" else ("--date-format", form)
            options = ("--target", "total", "--calendar", "month=year", "--components", 21, "--json", *options)
            written[name] = json.loads(run("fit", path, *options).stdout)["holdout"]
        assert written["days"] == written["months"] == written["slashes"]
        plain = run("fit", tmp_path / "months.csv", "--target", "total", "--calendar", "month=year", "--components", 21)
        assert "from 2018-06-01" in plain.stdout

    @pytest.mark.parametrize(
        ("content", "options", "message"),
        [
            (b"time;demand\n03/04/2019;3,0\n", (), "line 2, column 'time': '03/04/2019' is not a time"),
            (b"time;demand\n03/04/2019;3,0\n", (), '--date-format "%d/%m/%Y" or "%m/%d/%Y"'),
            (
                b"time;demand\n01.01.2019;1.234,5\n",
                (),
                "line 2: '1.234,5' in column 'demand' is not a number. Leave out",
            ),
            (b"time;demand\n01.01.2019;3,0\n", ("--decimal", "."), "line 2: '3,0' in column 'demand' is not a number"),
            (
                b"time;demand\n01.01.2019;3,0\n",
                ("--decimal", "comma"),
                "must be a point, a comma or 'auto', got 'comma'",
            ),
            (b"time;demand\n01.01.2019;3,0\n", ("--date-format", "%d.%m."), "does not tell year, month and day"),
            (b"time;L\xe4nge\n01.01.2019;3,0\n", (), "is not UTF-8 text: line 1 has the byte 0xe4"),
        ],
    )
    def test_what_is_not_plain(self, content, options, message, tmp_path):
        path = tmp_path / "data.csv"
        path.write_bytes(content.replace(b"\n", b"\r\n"))
        assert_fails(run("fit", path, *QUICK, *options), message)

    def test_a_page_reads_as_it_is_told(self, model, tmp_path):
        other = tmp_path / "other.csv"
        other.write_bytes(to_european(make_table(), "%d/%m/%Y %H:%M", ","))
        make_table().to_csv(tmp_path / "plain.csv", index=False)
        pages = []
        for arguments in ((tmp_path / "plain.csv",), (other, "--decimal", ",", "--date-format", "%d/%m/%Y %H:%M")):
            assert run("report", model, *arguments, "--new-rows", "-o", tmp_path / "page.html").exit_code == 0
            pages.append((tmp_path / "page.html").read_text())
        assert pages[0] == pages[1]
        assert_fails(run("report", model, other, "--decimal", ","), "is not a time")

    def test_numbers_may_order_the_rows(self, tmp_path):
        hours = np.arange(400) / 2
        y = np.cos(2 * np.pi * hours / 24) + np.random.default_rng(0).normal(0, 0.1, 400)
        path = tmp_path / "data.csv"
        pd.DataFrame({"t": hours, "y": y}).to_csv(path, index=False, sep=";", decimal=",")
        options = ("--target", "y", "--period", "t=24", "--time", "t", "--components", 21, "--json")
        options += ("--errors", "independent")
        assert json.loads(run("fit", path, *options).stdout)["holdout"]["rows"] == "the last 20 %, from 160 on"


class TestCalendar:
    @pytest.mark.parametrize(
        ("start", "step", "cycles", "message"),
        [
            ("2023-01-01", "D", "day,week,year", "Every row of 'date' in {} has the same time of day"),
            ("2023-01-01", "D", "day", "(hour_of_day is 0): leave out 'day'."),
            (
                "2023-01-02 06:00",
                "W-MON",
                "week,year",
                "the same day of the week (day_of_week is 0.25): leave out 'week'",
            ),
            ("2023-01-01", "YS", "year", "the same day of the year (day_of_year is 1): leave out 'year'"),
            ("2023-01-01", "MS", "month,year", "the same day of the month (day_of_month is 1): leave out 'month'"),
        ],
    )
    def test_cycles_that_do_not_turn_are_named_before_the_fit(self, start, step, cycles, message, tmp_path):
        path = tmp_path / "data.csv"
        times = pd.date_range(start, periods=60, freq=step).strftime("%Y-%m-%d %H:%M")
        pd.DataFrame({"date": times, "y": np.arange(60.0)}).to_csv(path, index=False)
        result = run("fit", path, "--target", "y", "--calendar", f"date={cycles}")
        assert_fails(result, message.format(path))

    def test_one_row_is_predicted(self, model, tmp_path):
        (tmp_path / "later.csv").write_text("time\n2024-03-01 12:00\n")
        assert run("predict", model, tmp_path / "later.csv").stdout.count("\n") == 2

    def test_days_may_move_on(self, data, tmp_path):
        whole = TestOtherCustoms().fit(data)
        moving = TestOtherCustoms().fit(data, "--moving-days", "-o", tmp_path / "moving.npz")
        assert whole["log_evidence"] != moving["log_evidence"]
        loaded = TableModel.load(tmp_path / "moving.npz")
        X, _ = loaded.read(read_table(data))
        assert X["day_of_week"][1] == 1 / 24
        assert loaded.whole_days is False


class TestInfo:
    def test_a_table_model(self, model):
        result = run("info", model)
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 80
        assert "hour_of_day \N{MULTIPLICATION SIGN} day_of_week" in result.stdout
        told = " ".join(result.stdout.split())
        assert "held out 101 rows" in told
        content = json.loads(run("info", model, "--json").stdout)
        assert content["kind"] == "table model"
        assert {**TableModel.load(model).summary(), **content} == content
        assert f"function varies by {content['function_std']:.4g} (standard deviation)" in told
        assert f"noise {content['noise_std']:.4g} (standard deviation)" in told

    def test_slow_change_is_told_if_it_can_be_seen(self, model):
        summary = TableModel.load(model).summary()
        noise = summary["noise_std"]
        assert "slow change" not in Findings.from_summary(summary).facts
        for size, is_told in ((0.05 * noise, False), (0.2 * noise, True)):
            changed = Findings.from_summary(summary | {"has_slow_change": True, "slow_change_std": size}).facts
            assert ("slow change" in changed) == is_told
        assert f"standard deviation {size:.3g} over the rows" in changed["slow change"]

    def test_a_regressor(self, tmp_path):
        TorusGPRegressor(period=2).fit([[0.1], [0.5], [0.7]], [1.0, 2.0, 3.0]).save(tmp_path / "plain.npz", "by hand")
        assert "notes: by hand" in run("info", tmp_path / "plain.npz").stdout
        content = json.loads(run("info", tmp_path / "plain.npz", "--json").stdout)
        assert (content["kind"], content["rows"], content["period"]) == ("regressor", 3, 2)

    def test_other_files(self, tmp_path):
        (tmp_path / "note.txt").write_text("hello")
        assert_fails(run("info", tmp_path / "note.txt"), "is not a torusgp file")
        assert_fails(run("info", tmp_path), "is a folder")


class TestReport:
    def test_a_page_is_written(self, model, data, tmp_path):
        result = run("report", model, data, "--new-rows", "-o", tmp_path / "page.html", "--title", "Demand <today>")
        assert result.exit_code == 0
        assert result.stdout.endswith(f"Page: {tmp_path / 'page.html'}\n")
        page = (tmp_path / "page.html").read_text()
        assert "Demand &lt;today&gt;" in page
        assert "demand" in page

    def test_new_rows_take_the_place_of_those_held_out(self, model, data, tmp_path):
        found = json.loads(run("report", model, "--json", "--unit", "MW").stdout)
        assert found["output"] == str(tmp_path / "model-report.html")
        assert "101 rows that it had not seen" in found["sentences"]["verdict"]
        assert found["figures"][0]["value"].endswith(" MW")
        for option, verdict in (("--fitted-rows", "101 rows"), ("--new-rows", "504 rows")):
            found = json.loads(run("report", model, data, option, "--json").stdout)
            assert f"{verdict} that it had not seen" in found["sentences"]["verdict"]
        later = make_table()[:100]
        later["demand"] += np.random.default_rng(1).normal(0, 3, 100)
        later.to_csv(tmp_path / "later.csv", index=False)
        found = json.loads(run("report", model, tmp_path / "later.csv", "--json").stdout)
        assert "100 rows that it had not seen" in found["sentences"]["verdict"]
        assert any("has something changed since?" in one["text"] for one in found["findings"])

    def test_errors(self, model, data, tmp_path):
        before = tree(tmp_path)
        assert_fails(run("report", model, "-o", tmp_path / "page.pdf"), "has to end in .html")
        assert_fails(run("report", data), "is not a torusgp file")
        data.with_name("later.csv").write_text("time\n2024-03-01 00:00\n")
        before["later.csv"] = b"time\n2024-03-01 00:00\n"
        assert_fails(run("report", model, tmp_path / "later.csv"), "has no column 'demand'")
        assert tree(tmp_path) == before


@pytest.mark.parametrize("command", ["fit", "predict", "info", "report"])
def test_help_shows_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"  torusgp {command} " in result.stdout
    assert "--json" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@needs_demand
class TestDemand:
    arguments = (
        *("--target", "demand_MW", "--calendar", "time_utc=day,week,year"),
        *("--timezone", "Australia/Melbourne", "--holdout-from", "2014-01-01", "--json"),
    )

    @pytest.fixture
    def demand(self):
        return os.path.join(os.environ["TORUSGP_DATA"], "vic_elec", "vic_elec.csv.gz")

    def test_every_third_hour(self, demand, tmp_path):
        pd.read_csv(demand)[::6].to_csv(tmp_path / "demand.csv", index=False)
        options = ("--components", 201, "--no-refit")
        content = json.loads(run("fit", tmp_path / "demand.csv", *self.arguments, *options).stdout)
        assert content["rows"]["fitted"] == 5848
        assert content["holdout"]["n_rows"] == 2920
        assert content["holdout"]["r2"] > 0.685
        assert 0.9 < content["holdout"]["coverage"] < 0.97

    @pytest.mark.slow
    def test_all_rows(self, demand, tmp_path):
        command = ("fit", demand, *self.arguments, "-o", tmp_path / "model.npz")
        content = json.loads(run(*command).stdout)
        additive = json.loads(run(*command, "--terms", "hour + weekday + year").stdout)["holdout"]
        interacting = content["holdout"]
        assert interacting["r2"] > 0.691
        assert 0.9 < interacting["coverage"] < 0.97
        assert interacting["mnll"] < additive["mnll"] - 0.02
        assert interacting["r2"] > additive["r2"] + 0.01
        shares = {one["component"]: one for one in content["attribution"]}
        for pair in (
            "hour_of_day \N{MULTIPLICATION SIGN} day_of_week",
            "hour_of_day \N{MULTIPLICATION SIGN} day_of_year",
        ):
            assert shares[pair]["lower"] > 0.01

    @pytest.mark.slow
    def test_weather_and_holidays_of_which_no_terms_are_told(self, demand, tmp_path):
        options = ("--timezone", "Australia/Melbourne", "--holdout-from", "2014-01-01", "--no-refit", "--json")
        inputs = ("--inputs", "time_utc,temperature_C,holiday", "--lags", "temperature_C=3h,24h")
        command = ("fit", demand, "--target", "demand_MW", *inputs, *options, "--components", 1001)
        found = json.loads(run(*command, "-o", tmp_path / "model.npz").stdout)["holdout"]
        assert found["r2"] > 0.92  # seasons that were one product gave .913
        assert found["mnll"] < 6.92
        assert 0.92 < found["coverage"] < 0.97


def test_names_of_columns_do_not_reach_the_terminal_raw(tmp_path):
    name = "hour\x1b[2J"
    hours = np.arange(200.0)
    frame = pd.DataFrame({name: hours, "y": np.sin(hours / 24 * 2 * np.pi) + 0.1 * np.cos(hours**2)})
    frame.to_csv(tmp_path / "table.csv", index=False)
    result = run("fit", tmp_path / "table.csv", "--target", "y", "--period", f"{name}=24")
    assert result.exit_code == 0
    assert "\x1b[2J" not in result.output
    assert "hour\\x1b[2J" in result.output
