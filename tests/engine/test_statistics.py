"""Sums over rows: they add, they can be cut down to smaller sets, and they never depend on how the rows came."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.exact_regression import HEXAGONAL, columns_by_definition
from torusgp import SufficientStatistics
from torusgp.kernels.index_sets import hyperbolic_cross, tensor

BACKENDS = ["dense", "finufft"]
SET = hyperbolic_cross(2, 3)
PERIOD = (2.0, 3.0)
N = 60


@pytest.fixture(params=[0.0, 1e9], ids=["no offset", "offset 1e9"])
def rows(request):
    return make_rows(request.param)


def make_rows(offset=0.0, n_outputs=2):
    rng = np.random.default_rng(4)
    return rng.uniform(-10, 10, (N, 2)), rng.normal(size=(N, n_outputs)) + offset


def gather(X, y, backend, sizes=(N,), **extra):
    """Statistics of rows that come in chunks of these sizes."""
    result = SufficientStatistics(SET, PERIOD, n_outputs=y.shape[1], backend=backend, tolerance=1e-14)
    for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
        chunk = slice(stop - size, stop)
        result.update(X[chunk], y[chunk], **{name: values[chunk] for name, values in extra.items()})
    return result


def assert_same(one, other, error=1e-10):
    """The linear statistics agree, relative to the number of rows and to the spread of the targets, which is one."""
    (first, center), (second, other_center) = one.linear(), other.linear()
    np.testing.assert_allclose(center, other_center, rtol=4e-16, atol=error)
    np.testing.assert_allclose(first.gram, second.gram, rtol=0, atol=error * N)
    np.testing.assert_allclose(first.moments, second.moments, rtol=0, atol=error * N)
    np.testing.assert_allclose(first.squares, second.squares, rtol=0, atol=error * N)
    assert first.n_samples == pytest.approx(second.n_samples, rel=1e-14)
    assert first.log_precision == pytest.approx(second.log_precision, rel=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("period", [1.7, (2.0, 3.0), HEXAGONAL], ids=["scalar", "vector", "cell"])
def test_they_are_products_of_the_columns(backend, period):
    X, y = make_rows()
    linear, center = SufficientStatistics.from_data(X, y, SET, period=period, backend=backend).linear(center=False)
    F = columns_by_definition(X, SET.frequencies, period)
    np.testing.assert_allclose(linear.gram, F.T @ F, atol=1e-9)
    np.testing.assert_allclose(linear.moments, F.T @ y, atol=1e-9)
    np.testing.assert_allclose(linear.squares, (y**2).sum(axis=0), rtol=1e-12)
    assert not center.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_centering_takes_the_mean_off(backend, rows):
    X, y = rows
    linear, center = gather(X, y, backend).linear()
    shifted, _ = gather(X, y - y.mean(axis=0), backend).linear(center=False)
    np.testing.assert_allclose(center, y.mean(axis=0), rtol=1e-15)
    rounding = np.abs(y).max() * np.finfo(float).eps  # of the mean, which the right-hand side takes off in float64
    np.testing.assert_allclose(linear.moments, shifted.moments, rtol=0, atol=1e-9 + 2 * N * rounding)
    np.testing.assert_allclose(linear.squares, shifted.squares, rtol=0, atol=1e-9 + 2 * N * rounding)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sizes", [(1,) * N, (1, N - 1), (N - 1, 1), (7, 13, 40)])
def test_chunks_do_not_matter(backend, sizes, rows):
    assert_same(gather(*rows, backend, sizes), gather(*rows, backend))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first_spread", [1e-5, 1e-9])
def test_a_first_chunk_of_almost_equal_targets_does_no_harm(backend, first_spread):
    X, y = make_rows()
    y[:2] = [[0.5], [0.5 + first_spread]]
    assert_same(gather(X, y, backend, (2, N - 2)), gather(X, y, backend))


@given(
    cuts=st.lists(st.integers(1, N - 1), max_size=6, unique=True).map(sorted),
    order=st.randoms(use_true_random=False),
    backend=st.sampled_from(BACKENDS),
    offset=st.sampled_from([0.0, 1e9]),
)
@settings(max_examples=30, deadline=None)
def test_parts_add_up_in_any_order(cuts, order, backend, offset):
    X, y = make_rows(offset)
    edges = [0, *cuts, N]
    parts = [gather(X[a:b], y[a:b], backend, (b - a,)) for a, b in pairwise(edges)]
    order.shuffle(parts)
    total = SufficientStatistics(SET, PERIOD, n_outputs=2, backend=backend, tolerance=1e-14)
    for part in parts:
        total = total + part
    assert_same(total, gather(X, y, backend))


@pytest.mark.parametrize("backend", BACKENDS)
def test_adding_leaves_the_summands_alone(backend):
    X, y = make_rows()
    one, other = gather(X[:20], y[:20], backend, (20,)), gather(X[20:], y[20:], backend, (40,))
    _ = one + other
    assert_same(one, gather(X[:20], y[:20], backend, (20,)), error=0)
    assert other.n_samples == 40


@pytest.mark.parametrize("backend", BACKENDS)
def test_sample_weight_means_repetition(backend):
    X, y = make_rows()
    times = np.random.default_rng(0).integers(0, 4, N)
    weighted = gather(X, y, backend, (20, 40), sample_weight=times.astype(float))
    repeated = gather(np.repeat(X, times, axis=0), np.repeat(y, times, axis=0), backend, (times.sum(),))
    assert_same(weighted, repeated)
    assert weighted.n_samples == times.sum()


@pytest.mark.parametrize("backend", BACKENDS)
def test_noise_scale_weights_rows_by_precision(backend):
    X, y = make_rows()
    scale = np.random.default_rng(0).uniform(0.5, 3, N)
    linear, center = gather(X, y, backend, (20, 40), noise_scale=scale).linear()
    F, precision = columns_by_definition(X, SET.frequencies, PERIOD), scale**-2
    mean = np.average(y, axis=0, weights=precision)
    np.testing.assert_allclose(center, mean)
    np.testing.assert_allclose(linear.gram, (F.T * precision) @ F, atol=1e-9)
    np.testing.assert_allclose(linear.moments, (F.T * precision) @ (y - mean), atol=1e-9)
    assert linear.log_precision == pytest.approx(np.log(precision).sum())
    assert linear.n_samples == N


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_nested_set_has_the_same_statistics(backend):
    X, y = make_rows()
    small = tensor(2, 1)
    nested, _ = gather(X, y, backend).linear(small)
    direct, _ = SufficientStatistics.from_data(X, y, small, period=PERIOD, backend=backend).linear()
    np.testing.assert_allclose(nested.gram, direct.gram, rtol=0, atol=1e-10 * N)
    np.testing.assert_allclose(nested.moments, direct.moments, rtol=0, atol=1e-10 * N)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_subset_stands_alone_and_adds_up(backend):
    X, y = make_rows()
    small = hyperbolic_cross(2, 2)
    subset = gather(X[:20], y[:20], backend).subset(small)
    direct = SufficientStatistics.from_data(X[:20], y[:20], small, period=PERIOD, backend=backend, tolerance=1e-14)
    assert_same(subset, direct)
    assert_same(subset + gather(X[20:], y[20:], backend).subset(small), gather(X, y, backend).subset(small))
    assert subset.index_set == small
    with pytest.raises(ValueError, match="reaches beyond"):
        subset.subset(SET)


def test_a_set_beyond_them_is_refused():
    with pytest.raises(ValueError, match="reaches beyond the frequencies"):
        gather(*make_rows(), "dense").linear(tensor(2, 9))


@pytest.mark.parametrize("backend", BACKENDS)
def test_save_and_load_keep_everything(backend, tmp_path):
    X, y = make_rows(1e9)
    statistics = gather(X, y, backend, (20, 40), noise_scale=np.linspace(1, 2, N))
    statistics.save(tmp_path / "sums")
    loaded = SufficientStatistics.load(tmp_path / "sums")
    assert_same(loaded, statistics, error=0)
    assert (loaded.backend, loaded.index_set) == (statistics.backend, statistics.index_set)
    assert_same(loaded.update(X, y), statistics.update(X, y), error=0)


@pytest.mark.parametrize("period", [1.5, (2.0, 3.0), HEXAGONAL], ids=["scalar", "vector", "cell"])
def test_save_and_load_keep_the_period(period, tmp_path):
    SufficientStatistics(SET, period).save(tmp_path / "sums")
    loaded = SufficientStatistics.load(tmp_path / "sums")
    np.testing.assert_array_equal(loaded.period, period)
    assert np.ndim(loaded.period) == np.ndim(period)


@pytest.mark.parametrize(
    "other",
    [
        SufficientStatistics(tensor(2, 1), PERIOD),
        SufficientStatistics(SET, (2.0, 4.0)),
        SufficientStatistics(SET, PERIOD, backend="finufft"),
    ],
    ids=["set", "period", "backend"],
)
def test_unlike_ones_cannot_be_added(other):
    with pytest.raises(ValueError, match="index sets, periods, columns and backends agree"):
        SufficientStatistics(SET, PERIOD) + other


def test_only_statistics_can_be_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        SufficientStatistics(SET, PERIOD) + 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros((N, 3))}, r"X must have shape \(n_samples, 2\), got \(60, 3\)"),
        ({"y": np.zeros(N - 1)}, r"y must have shape \(60, 1\), got \(59, 1\)"),
        ({"y": np.full(N, np.nan)}, "must be finite"),
        ({"X": np.full((N, 2), np.inf)}, "must be finite"),
        ({"sample_weight": -np.ones(N)}, "sample_weight must be finite and at least zero, but row 0 has -1"),
        ({"noise_scale": np.zeros(N)}, "noise_scale must be finite and positive, but row 0 has 0"),
    ],
)
def test_impossible_rows_are_refused(changes, message):
    arguments = {"X": np.zeros((N, 2)), "y": np.zeros(N), **changes}
    with pytest.raises(ValueError, match=message):
        SufficientStatistics(SET, PERIOD).update(**arguments)


def test_a_set_by_name_is_refused():
    with pytest.raises(ValueError, match="must be an IndexSet"):
        SufficientStatistics("adaptive", period=1.0)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_sums_do_not_depend_on_the_number_of_threads(n_threads, monkeypatch):
    """Blocks of rows are summed by threads and added in order, so not even rounding depends on who did it."""
    monkeypatch.setattr("torusgp.engine.summed._BLOCK_ROWS", 100)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(1050, 2)), rng.normal(size=(1050, 2))
    one, several = (
        SufficientStatistics(SET, PERIOD, n_outputs=2, backend="finufft", n_threads=n).update(X, y)
        for n in (1, n_threads)
    )
    assert_same(several, one, 1e-13)
    again = SufficientStatistics(SET, PERIOD, n_outputs=2, backend="finufft", n_threads=n_threads).update(X, y)
    np.testing.assert_array_equal(again.linear()[0].gram, several.linear()[0].gram)
    np.testing.assert_array_equal(again.linear()[0].moments, several.linear()[0].moments)


def test_large_grids_share_their_threads(monkeypatch):
    monkeypatch.setattr("torusgp.engine.summed._SMALL_GRID", 1)
    X, y = make_rows()
    shared = SufficientStatistics(SET, PERIOD, n_outputs=2, backend="finufft", n_threads=2).update(X, y)
    assert_same(shared, gather(X, y, "finufft"), 1e-10)


@pytest.mark.parametrize("backend", [*BACKENDS, "torch"])
class TestRowsAreCountedWhereTheyAreSummed:
    @staticmethod
    def make(backend):
        if backend == "torch":
            pytest.importorskip("torch")
        device = "cpu" if backend == "torch" else None
        return SufficientStatistics(SET, PERIOD, n_outputs=2, backend=backend, device=device)

    def test_by_sums(self, backend, monkeypatch):
        monkeypatch.setattr("torusgp.engine.summed._BLOCK_ROWS", 7)
        statistics = self.make(backend).update(*make_rows(), sample_weight=np.arange(N))
        assert statistics._sums.n_rows == N
        assert (statistics + statistics)._sums.n_rows == 2 * N
        assert statistics.subset(tensor(2, 1))._sums.n_rows == N
        assert pickle.loads(pickle.dumps(statistics))._sums.n_rows == N
        assert SufficientStatistics.from_archive(*statistics.to_archive())._sums.n_rows == N
        assert statistics.empty()._sums.n_rows == 0

    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_a_difference_is_an_error(self, backend, n_threads, monkeypatch):
        statistics = self.make(backend)
        statistics.n_threads = n_threads
        monkeypatch.setattr(type(statistics._sums), "add_weighted", lambda *rows: None)
        with pytest.raises(RuntimeError, match="60 rows were given, but 0 were summed"):
            statistics.update(*make_rows())

    def test_an_update_that_was_broken_off_leaves_nothing_to_use(self, backend, monkeypatch):
        statistics, other = self.make(backend).update(*make_rows()), self.make(backend).update(*make_rows())
        monkeypatch.setattr("torusgp.engine.summed._BLOCK_ROWS", 40)
        add_chunk = type(statistics._sums).add_weighted

        def break_off(sums, phases, *rest):
            if len(phases) < 40:
                raise KeyboardInterrupt
            add_chunk(sums, phases, *rest)

        monkeypatch.setattr(type(statistics._sums), "add_weighted", break_off)
        with pytest.raises(KeyboardInterrupt):
            statistics.update(*make_rows())
        for use in (statistics.linear, statistics.to_archive, lambda: other + statistics):
            with pytest.raises(RuntimeError, match=r"120 rows were given, but 100 were summed: was .* interrupted"):
                use()

    def test_stored_sums_of_fewer_rows_than_they_say_are_refused(self, backend):
        scale = np.exp(np.linspace(-1, 1, N))
        content, arrays = self.make(backend).update(*make_rows(), noise_scale=scale).to_archive()
        assert_same(
            SufficientStatistics.from_archive(content, arrays), gather(*make_rows(), "dense", noise_scale=scale)
        )
        empty = self.make(backend).to_archive()[1]
        dropped = {name: empty[name] if name.startswith("sums_") else array for name, array in arrays.items()}
        with pytest.raises(ValueError, match=r"are of 60 rows, but their sums hold a weight of 0 .*Fit again"):
            SufficientStatistics.from_archive(content, dropped)


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    def fail(*_):
        raise RuntimeError("the transform failed")

    statistics = SufficientStatistics(SET, PERIOD, n_outputs=2, backend="finufft", n_threads=2)
    monkeypatch.setattr(type(statistics._sums), "add_weighted", fail)
    with pytest.raises(RuntimeError, match="the transform failed"):
        statistics.update(*make_rows())


def test_noise_scales_whose_precision_is_infinite_are_refused():
    X, y = make_rows()
    with pytest.raises(ValueError, match="noise_scale goes from 1e-200"):
        gather(X, y, "dense", noise_scale=np.full(N, 1e-200))


def test_sums_need_a_period():
    with pytest.raises(ValueError, match="period must be positive"):
        SufficientStatistics.from_data(np.zeros((3, 2)), np.zeros(3), tensor(2, 1), period=None)
