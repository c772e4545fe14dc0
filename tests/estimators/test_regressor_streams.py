"""Fits to sources of any size: the same model as from arrays in memory, after one pass."""

import numpy as np
import pandas as pd
import pytest

from torusgp import Category, Circle, Line, Slope, TorusGPRegressor
from torusgp.data.checkpoints import CheckpointError
from torusgp.data.sources import SourceError
from torusgp.kernels.index_sets import hyperbolic_cross

PERIOD = [24.0, 7.0]


def make_rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 500, (n, 2))
    wave = np.sin(2 * np.pi * X[:, 0] / 24) * np.cos(2 * np.pi * X[:, 1] / 7)
    return X, wave + np.cos(4 * np.pi * X[:, 0] / 24) + 0.1 * rng.normal(size=n)


def chunks_of(X, y, size=700):
    return [(X[start : start + size], y[start : start + size]) for start in range(0, len(X), size)]


def assert_same_model(found, expected, X, atol=1e-6, evidence=0.01):
    for ours, theirs in zip(found.predict(X, return_std=True), expected.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=atol)
    assert found.n_samples_seen_ == expected.n_samples_seen_
    assert found.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, abs=evidence)


@pytest.fixture(scope="module")
def expected():
    return TorusGPRegressor(period=PERIOD, n_components=101).fit(*make_rows())


@pytest.mark.parametrize(
    "opened", [list, iter, lambda chunks: lambda: iter(chunks)], ids=["list", "iterator", "function"]
)
def test_chunks_give_the_same_model(opened, expected):
    X, y = make_rows()
    model = TorusGPRegressor(period=PERIOD, n_components=101).fit(opened(chunks_of(X, y)))
    assert_same_model(model, expected, X[:50], atol=1e-4)


def test_without_learning_the_model_is_the_same_to_rounding():
    X, y = make_rows()
    parameters = {"period": PERIOD, "learn": (), "index_set": hyperbolic_cross(2, 6), "noise_variance": 0.01}
    expected = TorusGPRegressor(**parameters).fit(X, y)
    assert_same_model(TorusGPRegressor(**parameters).fit(chunks_of(X, y)), expected, X[:50], atol=1e-9)


def test_tables_by_name(tmp_path, expected):
    X, y = make_rows()
    frame = pd.DataFrame({"y": y, "hour": X[:, 0], "day": X[:, 1], "note": "text"})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for name in ("rows.parquet", "rows.csv"):
        model = TorusGPRegressor(Circle("hour", 24) * Circle("day", 7), n_components=101).fit(tmp_path / name, "y")
        assert list(model.feature_names_in_) == ["hour", "day"]
        assert_same_model(model, expected, frame[["hour", "day"]].to_numpy()[:50], atol=1e-4)
        assert np.ndim(model.predict(frame[["hour", "day"]][:3])) == 1


def test_one_column_of_a_table_with_two_periods(tmp_path):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 1000, 2000)
    y = np.sin(2 * np.pi * t / 24) + np.cos(2 * np.pi * t / 168) + 0.1 * rng.normal(size=2000)
    pd.DataFrame({"t": t, "y": y}).to_csv(tmp_path / "rows.csv", index=False)
    model = TorusGPRegressor(Circle("t", 24) * Circle("t", 168), n_components=49).fit(tmp_path / "rows.csv", "y")
    assert model.n_features_in_ == 1
    assert model.score(pd.DataFrame({"t": t}), y) > 0.98


def test_two_targets_of_a_table(tmp_path):
    X, y = make_rows(800)
    frame = pd.DataFrame({"hour": X[:, 0], "day": X[:, 1], "a": y, "b": -y})
    frame.to_parquet(tmp_path / "rows.parquet")
    model = TorusGPRegressor(period=PERIOD, n_components=49).fit(tmp_path / "rows.parquet", ["a", "b"])
    mean = model.predict(frame[["hour", "day"]])
    np.testing.assert_allclose(mean[:, 0], -mean[:, 1], atol=1e-6)


def test_more_rows_than_the_sample_are_all_counted(monkeypatch):
    monkeypatch.setattr("torusgp.estimators.passes.SAMPLE_ROWS", 300)
    X, y = make_rows()
    model = TorusGPRegressor(period=PERIOD, n_components=101).fit(chunks_of(X, y, 200))
    assert model.n_samples_seen_ == 3000
    assert_same_model(model, TorusGPRegressor(period=PERIOD, n_components=101).fit(X, y), X[:50], atol=1e-3)


def test_large_memory_maps_are_streamed(tmp_path, monkeypatch, expected):
    X, y = make_rows()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    monkeypatch.setattr("torusgp.data.sources._MANY_ROWS", 1000)
    monkeypatch.setattr("torusgp.estimators.regressor.check_fit_rows", None)  # what arrays in memory begin with
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy")]
    assert_same_model(TorusGPRegressor(period=PERIOD, n_components=101).fit(*mapped), expected, X[:50], atol=1e-4)


def test_a_searched_period_with_a_trend():
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0, 120, 500))[:, None]
    y = np.sin(2 * np.pi * t[:, 0] / 7.3) + 0.03 * t[:, 0] + 0.1 * rng.normal(size=500)
    model = TorusGPRegressor(period="auto", learn=("length_scale", "noise_variance", "period"), n_components=21)
    model.fit(chunks_of(t, y, 100))
    assert model.period_ == pytest.approx(7.3, rel=1e-3)
    assert model.period_std_ < 0.02
    assert model.term_names_ == ("x0", "slow change", "slope of x0")
    assert np.sqrt(np.mean((y - model.predict(t)) ** 2)) < 0.12


def test_a_checkpoint_holds_all_that_was_decided(tmp_path, monkeypatch):
    """After a crash in the middle nothing is decided anew: the sample is not even drawn."""
    rng = np.random.default_rng(1)
    t = rng.uniform(0, 120, (500, 1))
    y = np.sin(2 * np.pi * t[:, 0] / 7.3) + 0.03 * t[:, 0] + 0.1 * rng.normal(size=500)
    parameters = {"period": "auto", "learn": ("length_scale", "noise_variance", "period"), "n_components": 21}
    monkeypatch.setattr("torusgp.estimators.passes.SAMPLE_ROWS", 300)  # the sample ends before the trouble
    expected = TorusGPRegressor(**parameters).fit(chunks_of(t, y, 100))

    def broken():
        yield from chunks_of(t, y, 100)[:3]
        raise ConnectionError("the disk is gone")

    place = tmp_path / "fit.checkpoint"
    first = TorusGPRegressor(**parameters)
    with pytest.raises(ConnectionError):
        first.fit(broken, checkpoint=place)
    assert place.exists()
    assert not hasattr(first, "statistics_")
    monkeypatch.setattr("torusgp.estimators.passes._decide", None)
    model = TorusGPRegressor(**parameters).fit(lambda: iter(chunks_of(t, y, 100)), checkpoint=place)
    assert model.n_samples_seen_ == 500
    assert model.period_std_ == expected.period_std_
    np.testing.assert_allclose(model.predict(t), expected.predict(t), atol=1e-6)
    again = TorusGPRegressor(**parameters).fit(lambda: iter(chunks_of(t, y, 100)), checkpoint=place)
    np.testing.assert_array_equal(again.predict(t), model.predict(t))


def test_a_checkpoint_of_other_parameters_is_refused(tmp_path):
    X, y = make_rows(500)
    TorusGPRegressor(period=PERIOD, n_components=49).fit(X, y, checkpoint=tmp_path / "one")
    with pytest.raises(CheckpointError, match="other parameters"):
        TorusGPRegressor(period=PERIOD, n_components=25).fit(X, y, checkpoint=tmp_path / "one")
    more_threads = TorusGPRegressor(period=PERIOD, n_components=49, n_threads=2)
    assert more_threads.fit(X, y, checkpoint=tmp_path / "one").n_samples_seen_ == 500


def test_streamed_models_are_saved_and_loaded(tmp_path, expected):
    X, y = make_rows()
    model = TorusGPRegressor(period=PERIOD, n_components=101).fit(chunks_of(X, y))
    model.save(tmp_path / "model")
    loaded = TorusGPRegressor.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(X[:9]), model.predict(X[:9]), rtol=1e-12)


def test_progress_is_reported():
    X, y = make_rows()
    lines = []
    TorusGPRegressor(period=PERIOD, n_components=25, verbose=lines.append).fit(chunks_of(X, y))
    assert "3000 rows" in lines


def test_bad_rows_are_named_and_nothing_is_fitted():
    X, y = make_rows()
    X[1500, 1] = np.nan
    model = TorusGPRegressor(period=PERIOD, n_components=25)
    with pytest.raises(SourceError, match="chunk 2"):
        model.fit(chunks_of(X, y))
    assert not hasattr(model, "statistics_")


def make_shops(n=3000, seed=0):
    """Rows of a table with an hour, a temperature, a shop and a price."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "hour": rng.uniform(0, 24, n),
            "warmth": rng.uniform(-5, 30, n),
            "price": rng.uniform(1, 3, n),
            "shop": rng.integers(0, 3, n),
        }
    )
    wave = np.sin(2 * np.pi * frame["hour"] / 24) * np.exp(-(((frame["warmth"] - 12) / 10) ** 2))
    frame["y"] = wave + 0.5 * frame["shop"] - 0.4 * frame["price"] + 0.1 * rng.normal(size=n)
    return frame


def shop_model(**given):
    hour = Circle("hour", 24)
    return hour * Line("warmth", **given) + Category("shop") + Slope("price")


def test_open_models_give_the_same_from_tables(tmp_path):
    frame = make_shops()
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    inputs = frame[["hour", "warmth", "shop", "price"]]
    expected = TorusGPRegressor(shop_model(), n_components=151).fit(inputs, frame["y"])
    model = TorusGPRegressor(shop_model(), n_components=151).fit(tmp_path / "rows.parquet", "y")
    assert list(model.feature_names_in_) == ["hour", "warmth", "shop", "price"]
    assert_same_model(model, expected, inputs[:50], atol=0.01, evidence=0.1)
    assert model.score(inputs, frame["y"]) > 0.9


def test_rows_beyond_the_range_of_the_sample_are_refused_by_number(tmp_path, monkeypatch):
    monkeypatch.setattr("torusgp.estimators.passes.SAMPLE_ROWS", 500)
    frame = make_shops()
    frame.loc[2000, "warmth"] = 45.0
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"Row 2000 has 'warmth' = 45, beyond the range .* range=\(low, high\)"):
        TorusGPRegressor(shop_model(), n_components=101).fit(tmp_path / "rows.csv", "y")
    model = TorusGPRegressor(shop_model(range=(-10, 50)), n_components=101).fit(tmp_path / "rows.csv", "y")
    assert model.n_samples_seen_ == 3000


def test_slow_change_needs_a_sample_of_the_whole_range(monkeypatch):
    monkeypatch.setattr("torusgp.estimators.passes.SAMPLE_ROWS", 300)
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0, 120, 500))[:, None]
    y = np.sin(2 * np.pi * t[:, 0] / 7.3) + 0.1 * rng.normal(size=500)
    with pytest.raises(ValueError, match=r"has 'x0' = .*, beyond the range .* Line\('x0', range=\(low, high\)\)"):
        TorusGPRegressor(period="auto", n_components=21).fit(chunks_of(t, y, 100))
    model = TorusGPRegressor(Circle(0, "auto") + Line(0, range=(0, 120)), n_components=41).fit(chunks_of(t, y, 100))
    assert model.period_ == pytest.approx(7.3, rel=1e-2)
    assert model.score(t, y) > 0.95


def test_levels_that_the_sample_lacks_are_refused_by_number(tmp_path, monkeypatch):
    monkeypatch.setattr("torusgp.estimators.passes.SAMPLE_ROWS", 500)
    frame = make_shops()
    frame.loc[2000, "shop"] = 7
    frame.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"Row 2000 has the level 7.* of the category 'shop'.* they had 0, 1, 2\."):
        TorusGPRegressor(shop_model(), n_components=101).fit(tmp_path / "rows.csv", "y")


def test_logarithms_need_rows_in_memory():
    X, y = make_rows(100)
    with pytest.raises(ValueError, match="likelihood='log_normal' needs rows in memory"):
        TorusGPRegressor(period=PERIOD, likelihood="log_normal").fit(chunks_of(X, np.exp(y)))
