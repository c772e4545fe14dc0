"""Commands with targets that are counts, and with noise that changes."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.runner import assert_fails, run
from torusgp import TableModel

COMMON = ("--calendar", "time=day", "--errors", "independent", "--components", 31)


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    time = pd.date_range("2024-01-01", periods=24 * 20, freq="h")
    turn = 2 * np.pi * time.hour.to_numpy() / 24
    staff = rng.uniform(0.5, 2.0, len(time))
    table = pd.DataFrame(
        {
            "time": time.strftime("%Y-%m-%d %H:%M"),
            "staff": staff,
            "calls": rng.poisson(staff * np.exp(2 + np.cos(turn))),
            "power": np.cos(turn) + 0.05 * np.exp(1 - np.cos(turn)) * rng.normal(size=len(time)),
        }
    )
    table.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def fitted(data, *words):
    result = run("fit", data, *COMMON, *words, "-o", data.parent / "model.npz", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_counts_with_an_exposure(data):
    content = fitted(data, "--target", "calls", "--likelihood", "poisson", "--exposure", "staff")
    assert content["likelihood"] == {"name": "poisson"}
    options = {"calendar": {"time": ["day"]}, "errors": "independent", "n_components": 31}
    table = TableModel("calls", likelihood="poisson", exposure="staff", **options)
    table.fit_and_evaluate(pd.read_csv(data))
    assert content["holdout"]["deviance"] == pytest.approx(table.scores_.deviance)
    out = data.parent / "out.csv"
    assert run("predict", data.parent / "model.npz", data, "-o", out).exit_code == 0
    found = pd.read_csv(out)
    np.testing.assert_allclose(found["mean"], table.predict(pd.read_csv(data))["mean"], rtol=1e-6)
    quantiles = found[[name for name in found if name.startswith("q")]]
    assert (quantiles == quantiles.round()).all().all()


@pytest.mark.parametrize("word", ["hour_of_day", "auto"])
def test_noise_that_changes_by_hour(data, word):
    fitted(data, "--target", "power", "--noise-by", word)
    out = data.parent / "out.csv"
    assert run("predict", data.parent / "model.npz", data, "-o", out).exit_code == 0
    found = pd.read_csv(out)
    assert found["std"][12] > 4 * found["std"][0]


def test_what_does_not_go_together_is_refused_and_nothing_is_written(data):
    for words, message in (
        (("--target", "power", "--likelihood", "poisson"), "row"),
        (("--target", "power", "--likelihood", "poison"), "poisson"),
        (("--target", "power", "--exposure", "staff"), "no exposure"),
        (("--target", "calls", "--likelihood", "poisson", "--exposure", "people"), "people"),
        (("--target", "calls", "--likelihood", "poisson", "--noise-by", "hour_of_day"), "noise"),
        (("--target", "power", "--noise-by", "wind"), "wind"),
    ):
        assert_fails(run("fit", data, *COMMON, *words, "-o", data.parent / "none.npz"), message)
        assert not (data.parent / "none.npz").exists()
