"""Dask collections: the same statistics as one process, on any scheduler, whatever happens to its workers."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from torusgp import Circle, SufficientStatistics, TorusGPRegressor
from torusgp.data.blocks import Blocks, is_dask
from torusgp.data.sources import SourceError
from torusgp.engine.statistics import ChosenInputs
from torusgp.kernels.index_sets import hyperbolic_cross, total_order

PERIOD = [24.0, 7.0]
BY_NAME = Circle("hour", PERIOD[0]) * Circle("day", PERIOD[1])


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 500, (n, 2))
    y = np.sin(2 * np.pi * X[:, 0] / 24) * np.cos(2 * np.pi * X[:, 1] / 7) + 0.1 * rng.normal(size=n)
    return X, 1e3 + y


def assert_same_statistics(found, expected):
    """Equal to 1e-12 of the number of rows, whatever shifts and scales they carry."""
    (ours, our_center), (theirs, their_center) = found.linear(), expected.linear()
    size = theirs.gram[0, 0]
    np.testing.assert_allclose(ours.gram, theirs.gram, atol=1e-12 * size, rtol=0)
    np.testing.assert_allclose(ours.moments, theirs.moments, atol=1e-12 * size * abs(their_center).max(), rtol=0)
    np.testing.assert_allclose(ours.squares, theirs.squares, rtol=1e-11)
    np.testing.assert_allclose(our_center, their_center, rtol=1e-12)
    assert ours.n_samples == pytest.approx(theirs.n_samples, rel=1e-14)


@pytest.mark.parametrize("backend", ["dense", "finufft"])
@pytest.mark.parametrize("n_blocks", [1, 2, 9, 70])
def test_blocks_equal_the_whole(backend, n_blocks):
    X, y = make_rows(3000)
    weight, noise = np.random.default_rng(1).uniform(0.5, 2, (2, 3000))
    index_set = hyperbolic_cross(2, 5)
    size = -(-3000 // n_blocks)
    collections = [da.from_array(values, chunks=size) for values in (X, y, weight, noise)]
    empty = SufficientStatistics(index_set, PERIOD, backend=backend, n_threads=1)
    found = Blocks(*collections).statistics(empty, ChosenInputs([0, 1]))
    expected = SufficientStatistics.from_data(
        X, y, index_set, period=PERIOD, sample_weight=weight, noise_scale=noise, backend=backend, n_threads=1
    )
    assert_same_statistics(found, expected)
    assert empty.n_samples == 0


def test_chunks_of_inputs_and_targets_need_not_agree():
    X, y = make_rows(1000)
    empty = SufficientStatistics(total_order(2, 2), PERIOD)
    found = Blocks(da.from_array(X, chunks=(300, 1)), da.from_array(y, chunks=170)).statistics(
        empty, ChosenInputs([0, 1])
    )
    assert_same_statistics(found, SufficientStatistics.from_data(X, y, total_order(2, 2), period=PERIOD))


def test_several_targets():
    X, y = make_rows(500)
    Y = np.column_stack([y, -2 * y])
    model = TorusGPRegressor(period=PERIOD, n_components=49).fit(
        da.from_array(X, chunks=100), da.from_array(Y, chunks=100)
    )
    expected = TorusGPRegressor(period=PERIOD, n_components=49).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-3)
    assert model.predict(da.from_array(X, chunks=(200, 2))).compute().shape == (500, 2)


def frame_of(X, y):
    return pd.DataFrame({"hour": X[:, 0], "y": y, "day": X[:, 1], "w": np.ones(len(y))})


def test_fit_to_a_data_frame_takes_columns_by_name():
    X, y = make_rows(2000)
    frame = dd.from_pandas(frame_of(X, y), npartitions=4)
    model = TorusGPRegressor(BY_NAME, n_components=49).fit(frame, "y", sample_weight="w")
    expected = TorusGPRegressor(period=PERIOD, n_components=49).fit(X, y)
    assert list(model.feature_names_in_) == ["hour", "day"]
    assert model.n_samples_seen_ == 2000
    inputs = frame_of(X, y)[["hour", "day"]]
    np.testing.assert_allclose(model.predict(inputs), expected.predict(X), atol=1e-3)


def test_fit_to_inputs_and_a_series():
    X, y = make_rows(600)
    frame = dd.from_pandas(frame_of(X, y), npartitions=3)
    model = TorusGPRegressor(period=PERIOD, n_components=21).fit(frame[["hour", "day"]], frame["y"])
    assert model.coef_.shape == (model.index_set_.n_components,)


def test_predictions_are_lazy_and_equal():
    X, y = make_rows(800)
    model = TorusGPRegressor(period=PERIOD, n_components=49).fit(X, y)
    calls = []
    lazy = da.from_array(X, chunks=(300, 2)).map_blocks(lambda block: calls.append(len(block)) or block, meta=X[:0])
    mean, std = model.predict(lazy, return_std=True)
    assert is_dask(mean)
    assert is_dask(std)
    assert calls == []
    expected = model.predict(X, return_std=True)
    for ours, theirs in zip(dask.compute(mean, std, scheduler="synchronous"), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert sorted(calls) == [200, 300, 300]
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))


def test_predictions_for_a_data_frame():
    X, y = make_rows(300)
    frame = frame_of(X, y)[["hour", "day"]]
    model = TorusGPRegressor(period=PERIOD, n_components=21).fit(frame, y)
    lazy = model.predict(dd.from_pandas(frame, npartitions=3), include_noise=False)
    np.testing.assert_allclose(lazy.compute(), model.predict(frame), rtol=1e-12)


def test_slow_change_is_part_of_the_model():
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(0, 100, 400))
    y = np.sin(2 * np.pi * t / 5.3) + 0.05 * t + 0.1 * rng.normal(size=400)
    model = TorusGPRegressor(period="auto", n_components=21)
    model.fit(da.from_array(t[:, None], chunks=80), da.from_array(y, chunks=80))
    assert model.term_names_ == ("x0", "slow change", "slope of x0")
    assert model.n_samples_seen_ == 400
    residual = y - model.predict(t[:, None])
    assert np.sqrt(np.mean(residual**2)) < 0.12


def test_a_bad_block_is_named():
    X, y = make_rows(400)
    y[250] = np.nan
    model = TorusGPRegressor(period=PERIOD)
    with pytest.raises(SourceError, match="block 2, row 50: y is nan"):
        model.fit(da.from_array(X, chunks=100), da.from_array(y, chunks=100))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, y.compute()), "y must be a Dask collection"),
        (lambda X, y: (X, y[:-1]), "rows"),
    ],
    ids=["array", "length"],
)
def test_collections_that_do_not_fit_together(change, message):
    X, y = make_rows(400)
    with pytest.raises(SourceError, match=message):
        TorusGPRegressor(period=PERIOD).fit(*change(da.from_array(X, chunks=100), da.from_array(y, chunks=100)))


def test_missing_columns_are_named():
    X, y = make_rows(100)
    frame = dd.from_pandas(frame_of(X, y), npartitions=2)
    with pytest.raises(SourceError, match="no column 'demand'"):
        TorusGPRegressor(BY_NAME).fit(frame, "demand")


def test_options_that_dask_does_not_have():
    X, y = make_rows(100)
    lazy = da.from_array(X, chunks=50)
    with pytest.raises(ValueError, match="checkpoint is for sources"):
        TorusGPRegressor(period=PERIOD).fit(lazy, da.from_array(y, chunks=50), checkpoint="unused")
    with pytest.raises(ValueError, match="return_cov needs all points"):
        TorusGPRegressor(period=PERIOD).fit(X, y).predict(lazy, return_cov=True)


def make_block(number, size, pause):
    time.sleep(pause)
    return make_rows(size, seed=number)


def lazy_rows(n_blocks, size, pause=0.0):
    """Rows that are made where they are needed."""
    blocks = [dask.delayed(make_block, pure=True)(number, size, pause) for number in range(n_blocks)]
    X = da.concatenate([da.from_delayed(block[0], (size, 2), float) for block in blocks])
    y = da.concatenate([da.from_delayed(block[1], (size,), float) for block in blocks])
    return X, y


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_cluster_equals_one_process(client):
    X, y = lazy_rows(12, 2000)
    index_set = hyperbolic_cross(2, 10)
    empty = SufficientStatistics(index_set, PERIOD, backend="finufft", n_threads=1)
    found = Blocks(X, y).statistics(empty, ChosenInputs([0, 1]))
    arrays = [np.concatenate(parts) for parts in zip(*(make_rows(2000, seed) for seed in range(12)), strict=True)]
    expected = SufficientStatistics.from_data(
        *arrays, index_set, period=PERIOD, backend="finufft", tolerance=1e-12, n_threads=1
    )
    assert_same_statistics(found, expected)


def test_a_killed_worker_changes_nothing(client):
    n_blocks = 24
    X, y = lazy_rows(n_blocks, 2000, pause=0.1)
    index_set = hyperbolic_cross(2, 10)
    empty = SufficientStatistics(index_set, PERIOD, backend="finufft", n_threads=1)
    undisturbed = Blocks(*lazy_rows(n_blocks, 2000)).statistics(empty, ChosenInputs([0, 1]))
    workers = list(client.run(os.getpid).values())
    killer = threading.Timer(0.7, os.kill, (workers[0], signal.SIGKILL))  # in the middle: all take about 1.2 s
    killer.start()
    found = Blocks(X, y).statistics(empty, ChosenInputs([0, 1]))
    killer.join()
    assert workers[0] not in client.run(os.getpid).values()
    assert_same_statistics(found, undisturbed)
