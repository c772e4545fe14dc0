"""Sums of pairs of axes against the dense reference: additive models, with interactions, on kind and unkind phases."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torusgp import Circle, Line, Slope, TorusGPRegressor
from torusgp.engine.backends import BlockPredictor, BlockSums, DensePredictor, GramSums, _blocks
from torusgp.engine.backends._blocks import PlanTransforms, block_costs
from torusgp.engine.backends._cells import Cells, CellTransforms
from torusgp.engine.inference import LinearStatistics, Posterior
from torusgp.engine.statistics import SufficientStatistics
from torusgp.kernels.index_sets import from_frequencies

SUM_ERROR = 1e-9  # per row
MEAN_ERROR = 1e-8  # of the largest value
REACH = (7, 3, 1, 12)
TRANSFORMS = {"cells": CellTransforms, "plans": PlanTransforms}


def additive(reach=REACH):
    units = np.eye(len(reach), dtype=int)
    return np.vstack([np.outer(np.arange(1, k + 1), unit) for k, unit in zip(reach, units, strict=True)])


def with_interactions():
    return np.vstack([additive(), [[1, 1, 0, 0], [1, -1, 0, 0], [0, 2, 1, 1]]])


def shuffled(frequencies, seed=0):
    return from_frequencies(np.random.default_rng(seed).permutation(frequencies)).frequencies


def even(rng, n):
    return rng.uniform(0, 2 * np.pi, (n, len(REACH)))


def clustered(rng, n):
    return np.mod(rng.choice([0.0, 3.0], (n, len(REACH))) + 1e-6 * rng.normal(size=(n, len(REACH))), 2 * np.pi)


def levels(rng, n):
    return 2 * np.pi * rng.integers(0, 5, (n, len(REACH))) / 5


def ends(rng, n):
    return rng.choice([0.0, np.pi, 2 * np.pi, np.nextafter(2 * np.pi, 0)], (n, len(REACH)))


@pytest.fixture(params=TRANSFORMS)
def transforms(request, monkeypatch):
    """Both ways to transform a pair of axes."""
    made = []

    def choose(frequencies, n_samples, largest, tolerance):
        made.append(TRANSFORMS[request.param])
        return made[-1](largest, tolerance)

    monkeypatch.setattr(_blocks, "_choose_transforms", choose)
    return made


def both_sums(phases, frequencies, n_outputs=2, seed=0, tolerance=1e-12):
    rng = np.random.default_rng(seed)
    precision = rng.uniform(0.5, 1, len(phases))
    targets = np.sin(phases[:, [0]]) + 0.3 * rng.normal(size=(len(phases), n_outputs))
    dense, fast = GramSums(frequencies, n_outputs), BlockSums(frequencies, n_outputs, tolerance)
    for sums in (dense, fast):
        sums.add_chunk(phases, precision, targets)
    return dense, fast


def assert_same_sums(fast, dense, frequencies, n):
    np.testing.assert_allclose(fast.gram(frequencies), dense.gram(frequencies), rtol=0, atol=SUM_ERROR * n)
    np.testing.assert_allclose(fast.moments(frequencies), dense.moments(frequencies), rtol=0, atol=SUM_ERROR * n)
    total, moment = fast.constant_sums()
    np.testing.assert_allclose(total, dense.constant_sums()[0], rtol=1e-12)
    np.testing.assert_allclose(moment, dense.constant_sums()[1], rtol=0, atol=SUM_ERROR * n)
    assert fast.n_rows == dense.n_rows


@pytest.mark.parametrize("phases", [even, clustered, levels, ends])
@pytest.mark.parametrize("make", [additive, with_interactions])
def test_sums_equal_dense(phases, make, transforms):
    frequencies, phases = shuffled(make()), phases(np.random.default_rng(0), 400)
    dense, fast = both_sums(phases, frequencies)
    assert transforms
    assert_same_sums(fast, dense, frequencies, len(phases))


@given(
    reach=st.lists(st.integers(1, 30), min_size=2, max_size=4),
    exponent=st.integers(-14, -8),
    n_rows=st.integers(1, 60),
    seed=st.integers(0, 1000),
)
@settings(max_examples=20)
def test_any_frequencies_and_tolerances_equal_dense(reach, exponent, n_rows, seed):
    tolerance, largest = 10.0**exponent, np.array(reach)
    rng = np.random.default_rng(seed)
    phases, strength = rng.uniform(0, 2 * np.pi, (len(reach), n_rows)), rng.uniform(-1, 1, n_rows)
    cells = CellTransforms(largest, tolerance)
    exact = [np.exp(1j * np.arange(-k, k + 1)[:, None] * one) for k, one in zip(reach, phases, strict=True)]
    sums = cells.pair_sums(0, range(1, len(reach)), phases, strength)
    for own, other in zip(sums, exact[1:], strict=True):
        expected = exact[0][reach[0] :] * strength @ other.T
        assert np.abs(own - expected).max() <= 2 * max(tolerance, 1e-14) * n_rows
    modes = [rng.normal(size=(*one.shape, 2)) @ [1, 1j] for one in sums]
    values = cells.pair_values(0, range(1, len(reach)), phases, modes)
    expected = sum(
        ((exact[0][reach[0] :].T @ own) * other.T).sum(axis=1).real for own, other in zip(modes, exact[1:], strict=True)
    )
    size = sum(np.abs(one).sum() for one in modes)
    assert np.abs(values - expected).max() <= 2 * max(tolerance, 1e-14) * size


@pytest.mark.parametrize("n_powers", [6, 8, 12, 16])
@pytest.mark.parametrize("tolerance", [1e-8, 1e-12])
def test_exponentials_on_cells_are_within_the_tolerance(n_powers, tolerance):
    cells = Cells(25, n_powers, tolerance)
    phase = np.linspace(0, 2 * np.pi, 5000, endpoint=False)
    cell = (phase * cells.per_radian).astype(int)
    local = 2 * (phase * cells.per_radian - cell) - 1
    approximate = (cells.exponentials[:, cell] * local[:, None] ** np.arange(n_powers)).sum(axis=-1)
    error = np.abs(approximate - np.exp(1j * np.arange(26)[:, None] * phase)).max()
    assert error <= tolerance
    assert error > 0.01 * tolerance or n_powers > 12  # and not wastefully so


def test_negative_precisions_and_zero_rows_equal_dense():
    frequencies, rng = shuffled(with_interactions()), np.random.default_rng(1)
    phases, precision, weighted = even(rng, 50), rng.normal(size=50), rng.normal(size=(50, 1))
    dense, fast = GramSums(frequencies, 1), BlockSums(frequencies, 1)
    for sums in (dense, fast):
        sums.add_weighted(phases, precision, weighted)
        sums.add_weighted(phases[:0], precision[:0], weighted[:0])
    assert_same_sums(fast, dense, frequencies, 50)


def test_sums_add_with_other_units_of_the_targets():
    frequencies, rng = shuffled(with_interactions()), np.random.default_rng(2)
    parts = [both_sums(even(rng, 40), frequencies, seed=seed) for seed in range(2)]
    dense, fast = parts[0]
    for mine, other in ((dense, parts[1][0]), (fast, parts[1][1])):
        mine.add(other, np.array([2.0, 0.5]), np.array([0.3, -1.0]))
    assert_same_sums(fast, dense, frequencies, 80)


def test_a_subset_is_that_of_dense_and_comes_from_the_larger_set():
    frequencies, rng = shuffled(with_interactions()), np.random.default_rng(3)
    dense, fast = both_sums(even(rng, 60), frequencies)
    fewer = frequencies[np.append(0, rng.permutation(np.arange(1, len(frequencies)))[:12])]
    assert fast.holds(fewer)
    assert_same_sums(fast.subset(fewer), dense, fewer, 60)
    assert not fast.holds(np.array([[0, 0, 0, 0], [50, 0, 0, 0]]))


def test_arrays_and_copies_hold_everything():
    frequencies = shuffled(with_interactions())
    dense, fast = both_sums(even(np.random.default_rng(4), 60), frequencies)
    again = fast.empty()
    assert again.n_rows == 0
    again.set_arrays(fast.to_arrays())
    for one in (again, pickle.loads(pickle.dumps(fast))):
        assert_same_sums(one, dense, frequencies, 60)


def make_posterior(frequencies, seed=0):
    rng = np.random.default_rng(seed)
    dense, _ = both_sums(even(rng, 300), frequencies)
    linear = LinearStatistics(dense.gram(frequencies), dense.moments(frequencies), np.full(2, 300.0), 300.0)
    variances = np.repeat(1 / (1 + np.abs(frequencies).sum(axis=1)) ** 2.0, 2)[1:, None] * [1.0, 2.0]
    return Posterior(linear, variances, np.array([0.1, 0.2]))


@pytest.mark.parametrize("make", [additive, with_interactions])
def test_means_variances_and_slopes_equal_dense(make, transforms):
    frequencies = shuffled(make())
    posterior = make_posterior(frequencies)
    fast, dense = BlockPredictor(frequencies, posterior), DensePredictor(frequencies, posterior)
    phases = even(np.random.default_rng(5), 500)
    mean = dense.mean(phases, posterior.weights)
    np.testing.assert_allclose(fast.mean(phases, posterior.weights), mean, rtol=0, atol=MEAN_ERROR * np.ptp(mean))
    waves = np.random.default_rng(6).normal(size=(2, len(frequencies)))
    slopes = dense.gradient(phases, posterior.weights, waves)
    found = fast.gradient(phases, posterior.weights, waves)
    np.testing.assert_allclose(found, slopes, rtol=0, atol=MEAN_ERROR * np.ptp(slopes))
    for output in range(2):
        variance = dense.variance(phases, output)
        for found in (fast.variance(phases, output), fast.mean_and_variance(phases, output)[1]):
            np.testing.assert_allclose(found, variance, rtol=1e-6, atol=MEAN_ERROR * variance.max())
    assert transforms


def test_variances_come_from_the_polynomials_unless_these_cancel(monkeypatch):
    frequencies = shuffled(additive())
    predictor = BlockPredictor(frequencies, make_posterior(frequencies))
    phases, exact = even(np.random.default_rng(7), 50), []
    real = DensePredictor.variance

    def count(self, phases, output):
        exact.append(len(phases))
        return real(self, phases, output)

    monkeypatch.setattr(DensePredictor, "variance", count)
    expected = predictor.variance(phases, 0)
    assert not exact
    monkeypatch.setattr(_blocks, "_UNRELIABLE", np.inf)
    np.testing.assert_allclose(predictor.variance(phases, 0), expected, rtol=1e-6)
    assert exact == [50]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_statistics_with_weights_and_plain_columns_equal_dense(n_threads):
    rng = np.random.default_rng(8)
    X, y, plain = rng.uniform(size=(300, 4)), rng.normal(5, 1, 300), rng.normal(size=(300, 1))
    index_set = from_frequencies(with_interactions())
    options = {"period": 1.0, "plain": plain, "sample_weight": rng.uniform(0, 2, 300), "n_threads": n_threads}
    fast, dense = (
        SufficientStatistics.from_data(X, y, index_set, backend=name, **options).linear()[0]
        for name in ("blocks", "dense")
    )
    np.testing.assert_allclose(fast.gram, dense.gram, rtol=0, atol=SUM_ERROR * 300)
    np.testing.assert_allclose(fast.moments, dense.moments, rtol=0, atol=SUM_ERROR * 300)


def test_a_model_of_several_inputs_is_that_of_dense(tmp_path):
    rng = np.random.default_rng(9)
    X = rng.uniform(size=(400, 4))
    y = np.sin(2 * np.pi * X[:, 0]) + X[:, 1] ** 2 + 0.5 * X[:, 3] + 0.1 * rng.normal(size=400)
    kernel = Circle(0, 1.0) + Line(1, length_scale=0.7) + Line(2, length_scale=0.7) + Slope(3)
    fast, dense = (
        TorusGPRegressor(kernel, n_components=81, learn=(), backend=name).fit(X, y) for name in ("blocks", "dense")
    )
    assert fast.backend_ == "blocks"
    np.testing.assert_allclose(fast.log_marginal_likelihood_, dense.log_marginal_likelihood_, atol=1e-6)
    for found, expected in zip(fast.predict(X, return_std=True), dense.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-7)
    fast.save(tmp_path / "model.npz")
    again = TorusGPRegressor.load(tmp_path / "model.npz")
    np.testing.assert_allclose(again.predict(X), fast.predict(X), atol=1e-12)


def test_without_numba_transforms_do_it(monkeypatch):
    frequencies = from_frequencies(additive()).frequencies
    assert set(block_costs(frequencies, 1000)) == {"cells", "plans"}
    monkeypatch.setattr(_blocks, "find_spec", lambda name: None)
    assert set(block_costs(frequencies, 1000)) == {"plans"}
    phases = even(np.random.default_rng(0), 100)
    assert_same_sums(*reversed(both_sums(phases, frequencies)), frequencies, 100)


def test_numba_is_imported_only_for_many_rows():
    check = (
        "import sys, numpy as np, torusgp\n"
        "from torusgp import SufficientStatistics, index_sets\n"
        "index_set = index_sets.total_order(3, 1)\n"
        "for backend in ('auto', 'blocks'):\n"
        "    SufficientStatistics.from_data(np.ones((9, 3)), np.ones(9), index_set, period=1.0, backend=backend)\n"
        "print('numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False"]
