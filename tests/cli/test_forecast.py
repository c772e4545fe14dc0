"""The command ``torusgp forecast``."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.runner import assert_fails, run, tree
from torusgp import Line, TableModel
from torusgp.cli._fit import fit_file


def make_table(n_days=21):
    time = pd.date_range("2024-01-01", periods=24 * n_days, freq="h")
    rng = np.random.default_rng(0)
    temperature = rng.normal(15, 5, len(time))
    y = 5 + np.cos(2 * np.pi * time.hour / 24) + 0.1 * temperature + rng.normal(0, 0.2, len(time))
    return pd.DataFrame({"time": time.strftime("%Y-%m-%d %H:%M"), "temperature": temperature, "demand": y})


def fit(folder, frame=None, name="model.npz", calendar="time", **options):
    (make_table() if frame is None else frame).to_csv(folder / "demand.csv", index=False)
    table = TableModel("demand", calendar={calendar: ["day"]}, errors="independent", n_components=21, **options)
    fit_file(table, folder / "demand.csv", folder / name)
    return folder / name


@pytest.fixture
def model(tmp_path):
    return fit(tmp_path)


def test_the_result_is_that_of_python(model, tmp_path):
    result = run("forecast", model, "--horizon", "2d", "-o", tmp_path / "forecast.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "48 forecasts of demand" in result.stdout
    assert "from 2024-01-22 00:00 to 2024-01-23 23:00, step 1 hour" in result.stdout
    assert "q05 to q95: 90 % of the values" in result.stdout
    written = pd.read_csv(tmp_path / "forecast.csv", parse_dates=["time"])
    forecast = TableModel.load(model).forecast("2d").to_frame()
    pd.testing.assert_frame_equal(written, forecast, check_exact=False, rtol=1e-6, check_dtype=False)


def test_without_output_it_is_printed(model):
    result = run("forecast", model, "--horizon", 2, "--quantiles", "0.1,0.9")
    frame = pd.read_csv(io.StringIO(result.stdout))
    assert frame.columns.tolist() == ["time", "mean", "std", "q10", "q90"]
    assert frame["time"].tolist() == ["2024-01-22 00:00", "2024-01-22 01:00"]


def test_paths_and_aggregates(model, tmp_path):
    place = tmp_path / "peaks.parquet"
    result = run("forecast", model, "--horizon", "1w", "--aggregate", "day=max", "--draws", 3, "-o", place)
    assert result.exit_code == 0
    frame = pd.read_parquet(place)
    assert frame.columns.tolist() == ["time", "mean", "std", "q05", "q50", "q95", "rows", "draw1", "draw2", "draw3"]
    assert frame["rows"].tolist() == [24] * 7
    again = run("forecast", model, "--horizon", "1w", "--draws", 2, "--seed", 5)
    assert again.stdout == run("forecast", model, "--horizon", "1w", "--draws", 2, "--seed", 5).stdout
    assert again.stdout != run("forecast", model, "--horizon", "1w", "--draws", 2).stdout


def test_json(model):
    content = json.loads(run("forecast", model, "--horizon", 2, "--json").stdout)
    assert (content["target"], content["rows"], content["step"]) == ("demand", 2, "1 hour")
    assert [row["time"] for row in content["forecast"]] == ["2024-01-22 00:00:00", "2024-01-22 01:00:00"]
    assert content["interval"] == {"from": "q05", "to": "q95", "percent": 90.0}


def test_covariates_come_from_a_table(tmp_path):
    frame = make_table(22)
    model = fit(tmp_path, frame[:504], terms=Line("temperature"))
    frame[504:].drop(columns="demand").to_csv(tmp_path / "weather.csv", index=False)
    result = run("forecast", model, "--horizon", "24h", "--future", tmp_path / "weather.csv")
    assert len(result.stdout.splitlines()) == 25
    before = tree(tmp_path)
    for options, message in (
        ((), "The model has 'temperature' as input, which must be known for the 24 rows from 2024-01-22 00:00"),
        (("--future", tmp_path / "none.csv"), "none.csv"),
        (("--future", tmp_path / "demand.csv"), "demand.csv, line 2: 2024-01-01 00:00 is not after the last row"),
    ):
        result = run("forecast", model, "--horizon", "24h", *options, "-o", tmp_path / "forecast.csv")
        assert_fails(result, message)
    assert "--future FILE" in run("forecast", model, "--horizon", "24h").stderr
    assert_fails(run("forecast", model), "'temperature' as input, which must be known after 2024-01-21 23:00")
    frame[505:].drop(columns="demand").to_csv(tmp_path / "gap.csv", index=False)
    result = run("forecast", model, "--horizon", "24h", "--future", tmp_path / "gap.csv")
    assert_fails(result, "gap.csv has no row for 1 of the 24 times to forecast: 2024-01-22 00:00")
    (tmp_path / "gap.csv").unlink()
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Say how far ahead: --horizon 28d."),
        (("--horizon", "0"), "The horizon must be positive, got '0'"),
        (("--horizon", "-3d"), "The horizon must be positive, got '-3d'"),
        (("--horizon", "2d", "--aggregate", "day"), "--aggregate needs a span"),
        (("--horizon", "2d", "--aggregate", "day=most"), "how must be one of sum, mean, max, min, got 'most'"),
        (("--horizon", "2d", "--quantiles", "2"), "Quantiles must be between 0 and 1"),
        (("--horizon", "2d", "-o", "forecast.txt"), "its name has to end in .csv"),
    ],
)
def test_errors_are_one_line(model, options, message):
    assert_fails(run("forecast", model, *options), message)


def test_times_are_written_as_the_table_writes_them(tmp_path):
    frame = make_table()
    frame["time"] = pd.to_datetime(frame["time"]).dt.strftime("%d/%m/%Y %H:%M")
    model = fit(tmp_path, frame, date_format="%d/%m/%Y %H:%M")
    assert run("forecast", model, "--horizon", 1).stdout.splitlines()[1].startswith("22/01/2024 00:00,")


def test_zones_are_written(tmp_path):
    frame = make_table()
    frame["time"] = pd.to_datetime(frame["time"]).dt.tz_localize("UTC").dt.strftime("%Y-%m-%dT%H:%MZ")
    model = fit(tmp_path, frame, timezone="Europe/Berlin")
    assert run("forecast", model, "--horizon", 1).stdout.splitlines()[1].startswith("2024-01-22 01:00+01:00,")
