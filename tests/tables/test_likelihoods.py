"""Models of tables whose target is a count, a class, positive, or noisy at certain hours."""

import numpy as np
import pandas as pd
import pytest

from torusgp import Line, TableModel


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    time = pd.date_range("2024-01-01", periods=30 * 24, freq="h")
    hour = time.hour.to_numpy()
    rain = rng.gamma(1.0, 1.0, len(time))
    rate = np.exp(2 + np.cos(2 * np.pi * (hour - 17) / 24) - 0.2 * rain)
    exposure = rng.uniform(0.5, 2.0, len(time))
    return pd.DataFrame(
        {
            "time": time,
            "rain": rain,
            "staff": exposure,
            "count": rng.poisson(rate * exposure),
            "late": (rng.uniform(size=len(time)) < rate / (5 + rate)).astype(int),
            "power": np.log(rate) + 0.1 * rng.normal(size=len(time)),
        }
    )


def fit(frame, target, **options):
    model = TableModel(target, calendar={"time": ["day"]}, terms=Line("rain"), errors="independent", **options)
    return model.fit_and_evaluate(frame)


def test_counts_with_exposure(frame, tmp_path):
    model = fit(frame, "count", likelihood="poisson", exposure="staff")
    scores = model.scores_
    assert 0.9 < scores.coverage <= 1
    assert 0.8 < scores.deviance < 1.3
    assert scores.crps < scores.rmse
    assert scores.brier is None
    found = model.predict(frame.iloc[:5])
    assert (found[["q05", "q50", "q95"]] == found[["q05", "q50", "q95"]].round()).all().all()
    without = model.predict(frame.iloc[:5].drop(columns="staff"))
    np.testing.assert_allclose(found["mean"], without["mean"] * frame["staff"][:5])
    model.save(tmp_path / "model.npz")
    again = TableModel.load(tmp_path / "model.npz")
    np.testing.assert_allclose(again.predict(frame.iloc[:5]), found)
    assert again.scores_ == scores
    assert model.summary()["likelihood"] == {"name": "poisson"}


@pytest.mark.parametrize("likelihood", ["negative_binomial", "gamma"])
def test_targets_whose_spread_is_learned_have_a_deviance(frame, likelihood):
    """By the spread that was learned, in evaluations of all kinds."""
    frame = frame.assign(count=frame["count"] + (likelihood == "gamma"))
    model = fit(frame, "count", likelihood=likelihood)
    assert 0.01 < model.scores_.deviance < 2
    assert model.evaluate(frame).deviance == pytest.approx(model.scores_.deviance, rel=0.5)
    assert 0.01 < model.backtest(frame, "12h", 2, refit=False).scores.deviance < 2


def test_counts_of_many_inputs_have_frequencies_that_the_data_choose():
    """Three inputs that act together are found, as with a normal likelihood."""
    rng = np.random.default_rng(0)
    time = pd.date_range("2024-01-01", periods=3000, freq="h")
    warm, wind = rng.uniform(-1, 1, (2, len(time)))
    day = np.cos(2 * np.pi * time.hour.to_numpy() / 24)
    rate = np.exp(1.5 + 2.25 * day * warm * wind + 0.5 * warm)
    frame = pd.DataFrame({"time": time, "warm": warm, "wind": wind, "count": rng.poisson(rate)})
    inputs = {"calendar": {"time": ["day", "week"]}, "inputs": ["time", "warm", "wind"]}
    model = TableModel("count", likelihood="poisson", errors="independent", **inputs).fit(frame[:2500])
    assert model.model_.index_set_.name == "learned"
    mean = model.predict(frame[2500:])["mean"]
    assert np.mean((mean - rate[2500:]) ** 2) < 0.2 * np.var(rate[2500:])


def test_classes_have_a_brier_score(frame):
    scores = fit(frame, "late", likelihood="bernoulli").scores_
    assert scores.brier == pytest.approx(scores.rmse**2)
    assert scores.mnll < np.log(2)


@pytest.mark.parametrize("noise_by", [["hour_of_day"], "auto"])
def test_noise_that_changes_by_hour(frame, noise_by):
    smooth = frame.copy()
    hour = frame["time"].dt.hour.to_numpy()
    std = 0.05 * np.exp(1 - np.cos(2 * np.pi * hour / 24))
    smooth["power"] = np.cos(2 * np.pi * hour / 24) + std * np.random.default_rng(1).normal(size=len(frame))
    changing = fit(smooth, "power", noise_by=noise_by, n_components=51)
    plain = fit(smooth, "power", n_components=51)
    assert changing.scores_.mnll < plain.scores_.mnll - 0.2
    assert "hour_of_day" in changing.summary()["noise_by"]
    found = changing.predict(pd.DataFrame({"time": ["2024-03-01 00:00", "2024-03-01 12:00"], "rain": [0.0, 0.0]}))
    assert found["std"][1] > 4 * found["std"][0]


def test_the_effective_sample_size_of_counts_is_estimated_where_time_orders_them(frame):
    model = TableModel("count", calendar={"time": ["day"]}, likelihood="poisson", exposure="staff").fit(frame)
    assert 1 <= model.redundancy_ < 3
    assert model.summary()["rows"]["errors"].endswith("autocorrelated")


def test_what_does_not_go_together_is_refused(frame):
    with pytest.raises(ValueError, match="'normal' has no exposure"):
        fit(frame, "count", exposure="staff")
    with pytest.raises(ValueError, match="'poisson' has no noise"):
        fit(frame, "count", likelihood="poisson", noise="staff")
    with pytest.raises(ValueError, match="noise_by names 'wind'"):
        fit(frame, "power", noise_by=["wind"])
    with pytest.raises(ValueError, match="noise_by is for targets with normal"):
        fit(frame, "count", likelihood="poisson", noise_by=["hour_of_day"])
    with pytest.raises(ValueError, match="row"):
        fit(frame, "power", likelihood="poisson")
