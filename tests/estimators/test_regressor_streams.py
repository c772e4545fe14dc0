"""Fits to sources of any size: the same model as from arrays in memory, after one pass."""

import numpy as np
import pandas as pd
import pytest

from torusgp import TorusGPRegressor
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


def assert_same_model(found, expected, X, atol=1e-6):
    for ours, theirs in zip(found.predict(X, return_std=True), expected.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=atol)
    assert found.n_samples_seen_ == expected.n_samples_seen_
    assert found.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, abs=0.01)


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
        model = TorusGPRegressor(period=PERIOD, columns=["hour", "day"], n_components=101).fit(tmp_path / name, "y")
        assert list(model.feature_names_in_) == ["hour", "day"]
        assert_same_model(model, expected, frame[["hour", "day"]].to_numpy()[:50], atol=1e-4)
        assert np.ndim(model.predict(frame[["hour", "day"]][:3])) == 1


def test_one_column_of_a_table_with_two_periods(tmp_path):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 1000, 2000)
    y = np.sin(2 * np.pi * t / 24) + np.cos(2 * np.pi * t / 168) + 0.1 * rng.normal(size=2000)
    pd.DataFrame({"t": t, "y": y}).to_csv(tmp_path / "rows.csv", index=False)
    model = TorusGPRegressor(period=[24, 168], columns=["t", "t"], n_components=49).fit(tmp_path / "rows.csv", "y")
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
    monkeypatch.setattr("torusgp.estimators.regressor_streams.SAMPLE_ROWS", 300)
    X, y = make_rows()
    model = TorusGPRegressor(period=PERIOD, n_components=101).fit(chunks_of(X, y, 200))
    assert model.n_samples_seen_ == 3000
    assert_same_model(model, TorusGPRegressor(period=PERIOD, n_components=101).fit(X, y), X[:50], atol=1e-3)


def test_large_memory_maps_are_streamed(tmp_path, monkeypatch, expected):
    X, y = make_rows()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    monkeypatch.setattr("torusgp.data.sources._MANY_ROWS", 1000)
    monkeypatch.setattr(TorusGPRegressor, "_start", None)  # what arrays in memory begin with
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy")]
    assert_same_model(TorusGPRegressor(period=PERIOD, n_components=101).fit(*mapped), expected, X[:50], atol=1e-4)


def test_a_searched_period_with_a_trend():
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0, 120, 500))[:, None]
    y = np.sin(2 * np.pi * t[:, 0] / 7.3) + 0.03 * t[:, 0] + 0.1 * rng.normal(size=500)
    model = TorusGPRegressor(period="auto", learn=("length_scale", "noise_variance", "period"), n_components=21)
    model.fit(chunks_of(t, y, 100))
    assert model.kernel_.period == pytest.approx(7.3, rel=1e-3)
    assert model.period_std_ < 0.02
    assert model.trend_ is not None
    assert np.sqrt(np.mean((y - model.predict(t)) ** 2)) < 0.12


def test_a_checkpoint_holds_all_that_was_decided(tmp_path, monkeypatch):
    """After a crash in the middle nothing is decided anew: the sample is not even drawn."""
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0, 120, 500))[:, None]
    y = np.sin(2 * np.pi * t[:, 0] / 7.3) + 0.03 * t[:, 0] + 0.1 * rng.normal(size=500)
    parameters = {"period": "auto", "learn": ("length_scale", "noise_variance", "period"), "n_components": 21}
    monkeypatch.setattr("torusgp.estimators.regressor_streams.SAMPLE_ROWS", 300)  # the sample ends before the trouble
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
    monkeypatch.setattr("torusgp.estimators.regressor_streams.learn_from_sample", None)
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
