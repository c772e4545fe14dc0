"""How many threads transforms have, and what is not a number of threads."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from torusgp import SufficientStatistics, TorusGPRegressor
from torusgp.engine.backends import MANY_ROWS, ModeSums, NufftPredictor, check_n_threads, count_threads
from torusgp.kernels.index_sets import tensor

SET = tensor(2, 2)
TIME_LIMIT = 60  # seconds; it takes a few, on a busy machine more
MESSAGE = r"n_threads must be an integer from 1 to 1024, -1 for all cores, or None .*got {}\. Try n_threads=-1"
IMPOSSIBLE = [0, -2, 1025, 10**5, 1.0, 2.5, True, False, np.True_, "all", (2,), np.array([1, 2]), float("nan")]


def make_rows(n_samples=400):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_samples, 2))
    return X, np.sin(2 * np.pi * X[:, 0]) + 0.1 * rng.normal(size=n_samples)


def test_they_follow_the_rows_and_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert count_threads(3, 10) == 3
    assert count_threads(None, MANY_ROWS - 1) == 1
    assert count_threads(None, MANY_ROWS) == 1


def test_minus_one_is_all_cores(monkeypatch):
    """Whatever the rows and the environment: it was asked for."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(5), raising=False)
    assert count_threads(-1, 10) == count_threads(-1, MANY_ROWS) == 5


@pytest.mark.parametrize("n_threads", [None, -1, 1, 1024, np.int32(2), np.uint8(3)])
def test_numbers_of_threads(n_threads):
    assert check_n_threads(n_threads) == n_threads


@pytest.mark.parametrize("n_threads", IMPOSSIBLE, ids=str)
def test_anything_else_is_refused(n_threads):
    with pytest.raises(ValueError, match=MESSAGE.format(".*")) as caught:
        check_n_threads(n_threads)
    assert repr(n_threads) in str(caught.value)


@pytest.mark.parametrize("backend", ["dense", "finufft", "auto"])
@pytest.mark.parametrize("n_threads", [0, -2, 10**5, True])
class TestEveryEntry:
    def test_statistics(self, backend, n_threads):
        X, y = make_rows()
        message, options = MESSAGE.format(n_threads), {"backend": backend, "n_threads": n_threads, "period": 1.0}
        if backend != "auto":
            with pytest.raises(ValueError, match=message):
                SufficientStatistics(SET, **options)
        with pytest.raises(ValueError, match=message):
            SufficientStatistics.from_data(X, y, SET, **options)
        with pytest.raises(ValueError, match=message):
            SufficientStatistics.from_source(X, SET, y=y, **options)

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    def test_rows(self, backend, n_threads, method):
        model = TorusGPRegressor(n_components=25, backend=backend, n_threads=n_threads, period=1.0)
        with pytest.raises(ValueError, match=MESSAGE.format(n_threads)):
            getattr(model, method)(*make_rows())

    def test_streams(self, backend, n_threads, tmp_path):
        rows, path = make_rows(), tmp_path / "checkpoint"
        model = TorusGPRegressor(n_components=25, backend=backend, n_threads=n_threads, period=1.0)
        for _ in range(2):  # the second time the pass is taken up
            with pytest.raises(ValueError, match=MESSAGE.format(n_threads)):
                model.fit([rows], checkpoint=path)
            TorusGPRegressor(n_components=25, backend=backend, period=1.0).fit([rows], checkpoint=path)

    def test_blocks(self, backend, n_threads):
        da = pytest.importorskip("dask.array")
        X, y = make_rows()
        model = TorusGPRegressor(n_components=25, backend=backend, n_threads=n_threads, period=1.0)
        with pytest.raises(ValueError, match=MESSAGE.format(n_threads)):
            model.fit(da.from_array(X), da.from_array(y))

    def test_predictions_of_a_model_whose_parameter_has_changed(self, backend, n_threads):
        X, y = make_rows()
        model = TorusGPRegressor(n_components=25, backend=backend, period=1.0).fit(X, y).set_params(n_threads=n_threads)
        with pytest.raises(ValueError, match=MESSAGE.format(n_threads)):
            model.predict(X)


@pytest.mark.parametrize("n_threads", [0, -2, 10**5])
def test_no_transform_is_planned_with_anything_else(n_threads):
    X, y = make_rows()
    with pytest.raises(ValueError, match=MESSAGE.format(n_threads)):
        ModeSums(SET.frequencies, 1, n_threads=n_threads).add_chunk(X, np.ones(len(X)), y[:, None])
    with pytest.raises(ValueError, match=MESSAGE.format(n_threads)):
        NufftPredictor(SET.frequencies, None, n_threads).mean(X, np.ones((SET.n_components, 1)))


@pytest.mark.filterwarnings("ignore:The 25 components leave out")
@pytest.mark.parametrize("n_threads", [-1, np.int64(1), np.int64(2)])
@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_no_row_is_dropped(backend, n_threads):
    X, y = make_rows()
    one, other = (
        TorusGPRegressor(n_components=25, backend=backend, n_threads=n, learn=(), period=1.0).fit(X, y)
        for n in (1, n_threads)
    )
    assert other.n_samples_seen_ == len(X)
    np.testing.assert_allclose(other.predict(X, return_std=True), one.predict(X, return_std=True), atol=1e-9)
    assert other.score(X, y) > 0.9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("backend", ["dense", "finufft", "torch"])
def test_forked_processes_return(backend):
    """Those of a process whose transforms had threads, which a fork does not copy."""
    if backend == "torch":
        pytest.importorskip("torch")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.forked_processes", backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        env=os.environ | {"OMP_NUM_THREADS": "2"},  # the tests have one, which never hangs
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the forked ones, too
        process.communicate()
        pytest.fail(f"The forked processes have not returned after {TIME_LIMIT} seconds.")
    assert process.returncode == 0, errors
    found = json.loads(output)
    assert max(found["errors"].values()) < 1e-8
    assert found["threads"] == [1, 1, 1]
