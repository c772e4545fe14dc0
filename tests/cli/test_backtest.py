"""The command ``torusgp backtest``."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.runner import assert_fails, run, tree
from torusgp import TableModel
from torusgp.cli._backtest import to_origins

MODEL = ("--target", "demand", "--calendar", "time=day,week", "--components", 41, "--errors", "independent")


@pytest.fixture
def data(tmp_path):
    time = pd.date_range("2024-01-01", periods=24 * 28, freq="h")
    busy = np.where(time.day_of_week < 5, 2.0, 1.0) * np.cos(2 * np.pi * time.hour / 24)
    y = 5 + busy + np.random.default_rng(0).normal(0, 0.3, len(time))
    pd.DataFrame({"time": time.strftime("%Y-%m-%d %H:%M"), "demand": y}).to_csv(tmp_path / "demand.csv", index=False)
    return tmp_path / "demand.csv"


def test_errors_are_shown_by_horizon_beside_a_naive_forecast(data, tmp_path):
    options = ("--horizon", "24h", "--origins", 4, "--refit", "once")
    result = run("backtest", data, *MODEL, *options, "-o", tmp_path / "forecasts.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines()[:-1])) <= 80
    told = " ".join(result.stdout.split())
    table = TableModel("demand", calendar={"time": ["day", "week"]}, errors="independent", n_components=41)
    found = table.backtest(data, "24h", 4, refit=False)
    for words in (
        "ahead rows MAE naive MASE naive CRPS inside 50, 80, 95 %",
        f"all 96 {found.scores.mae:.4g} {found.naive.mae:.4g} {found.scores.mase:.3f} {found.naive.mase:.3f}",
        "steps of 1 hour: 4 origins from 2024-01-24 23:00:00 to 2024-01-27 23:00:00, 1 fit.",
        f"Naive is the value one {found.season} before. The model is better: mean absolute error",
        "96 forecasts",
    ):
        assert words in told
    written = pd.read_csv(tmp_path / "forecasts.csv", parse_dates=["origin", "time"])
    pd.testing.assert_frame_equal(written, found.forecasts, check_exact=False, rtol=1e-6, check_dtype=False)


def test_json(data):
    result = run("backtest", data, *MODEL, "--horizon", 12, "--origins", "2024-01-20, 2024-01-22 12:00", "--json")
    content = json.loads(result.stdout)
    assert content["origins"] == ["2024-01-20 00:00:00", "2024-01-22 12:00:00"]
    assert (content["n_fits"], content["horizon"], content["step"]) == (2, "12 rows", "1 hour")
    assert len(content["by_horizon"]) == 12
    assert content["scores"]["mae"] < content["naive"]["mae"]
    assert content["output"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--horizon", "0"), "The horizon must be positive, got '0'"),
        (("--horizon", "24h", "--origins", "0"), "1 or more"),
        (("--horizon", "24h", "--origins", "40"), "give fewer (--origins"),
        (("--horizon", "24h", "--origins", "soon"), "soon"),
        (("--horizon", "24h", "--refit", "often"), "The horizon cannot be 'often'"),
        (("--horizon", "24h", "-o", "forecasts.txt"), "its name has to end in .csv"),
    ],
)
def test_errors_are_one_line(data, tmp_path, options, message):
    before = tree(tmp_path)
    assert_fails(run("backtest", data, *MODEL, *options), message)
    assert tree(tmp_path) == before


def test_options_are_those_of_fit():
    listed = [
        {line.split()[0] for line in run(name, "--help").stdout.splitlines() if line.strip().startswith("--")}
        for name in ("fit", "backtest")
    ]
    own = {"--by", "--holdout", "--holdout-from", "--refit"}
    assert listed[0] - own <= listed[1]


def test_origins():
    assert to_origins("-3") == -3
    assert to_origins("2024-01-31") == ["2024-01-31"]
