"""Type-3 transforms in the space of the inputs against the dense reference, on kind and unkind times."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torusgp.engine.backends._type3 as type3_module
from torusgp.engine.backends import (
    DensePredictor,
    GramSums,
    InputSpace,
    Type3Predictor,
    Type3Sums,
    choose_backend,
    make_sums,
)
from torusgp.engine.backends._type3 import MOST_TURNS, pair_modes
from torusgp.engine.inference import LinearStatistics, Posterior
from torusgp.engine.statistics import SufficientStatistics
from torusgp.kernels.index_sets import from_frequencies, hyperbolic_cross, tensor, total_order
from torusgp.kernels.product import to_phases
from torusgp.kernels.torus import Axis, Sharing, Torus

SUM_ERROR = 1e-9  # per row
MEAN_ERROR = 1e-8  # of the largest value of the signal
GRADIENT_ERROR = 1e-8  # of the largest slope
PERIODS = {
    "calendar": (1.0, 7.0, 365.25),
    "nearly multiples": (1.0, 7.0 * (1 + 1e-10), 7.0),
    "multiples": (1.0, 2.0, 4.0),
}


def even(rng, n):
    return rng.uniform(0, 1000, n)


def clustered(rng, n):
    return np.concatenate([500 + 1e-4 * rng.normal(size=n // 2), rng.uniform(0, 1, n - n // 2)])


def with_gaps(rng, n):
    return 2e4 * rng.integers(0, 4, n) + rng.uniform(0, 30, n)


def far_away(rng, n):
    return 1e9 + rng.uniform(0, 1000, n)


def many_turns(rng, n):
    return rng.uniform(0, 6e4, n)


TIMES = (even, clustered, with_gaps, far_away, many_turns)


def clock(times, periods):
    """Coordinates and space of circles of one input, and of a line along it."""
    extent = np.ptp(times)
    X = np.column_stack([*[times] * len(periods), times - times.min()])
    lead = (0,) * X.shape[1]
    shift = (*[0.0] * len(periods), -times.min())
    clamps = (*[False] * len(periods), True)
    return X, InputSpace(Sharing(lead, shift, clamps), np.array([*periods, 1.6 * extent]))


def both_sums(X, space, frequencies, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    precision = rng.uniform(0.5, 1, len(X))
    targets = np.sin(X[:, [0]]) + 0.3 * rng.normal(size=(len(X), n_outputs))
    dense, fast = GramSums(frequencies, n_outputs), Type3Sums(frequencies, n_outputs, space)
    dense.add_chunk(to_phases(X, space.period), precision, targets)
    fast.add_chunk(X, precision, targets)
    return dense, fast


def assert_same_sums(fast, dense, frequencies, n):
    np.testing.assert_allclose(fast.gram(frequencies), dense.gram(frequencies), rtol=0, atol=SUM_ERROR * n)
    np.testing.assert_allclose(fast.moments(frequencies), dense.moments(frequencies), rtol=0, atol=SUM_ERROR * n)


@pytest.mark.parametrize("periods", PERIODS.values(), ids=PERIODS)
@pytest.mark.parametrize("times", TIMES)
def test_sums_equal_dense(times, periods):
    X, space = clock(times(np.random.default_rng(0), 2000), periods)
    frequencies = hyperbolic_cross(4, 4).frequencies
    dense, fast = both_sums(X, space, frequencies, n_outputs=4)
    assert_same_sums(fast, dense, frequencies, len(X))
    np.testing.assert_allclose(fast.constant_sums()[1], dense.constant_sums()[1], rtol=0, atol=SUM_ERROR * len(X))
    difference = np.abs(fast.gram(frequencies) - dense.gram(frequencies)).max() / len(X)
    assert difference <= fast.rounding <= SUM_ERROR


@pytest.mark.slow
@pytest.mark.parametrize("times", TIMES)
def test_sums_of_ten_million_turns_equal_dense(times):
    X, space = clock(times(np.random.default_rng(0), 3000), (1.0, 7.0, 365.25))
    frequencies = hyperbolic_cross(4, 12).frequencies
    dense, fast = both_sums(X, space, frequencies)
    assert_same_sums(fast, dense, frequencies, len(X))


@given(st.data())
def test_any_times_and_periods_equal_dense(data):
    finite = {"allow_nan": False, "allow_infinity": False}
    offset = data.draw(st.sampled_from([0.0, 1.0, -1e4, 1e9]))
    extent = 10.0 ** data.draw(st.integers(-3, 4))
    unit = st.floats(0, 1, **finite)
    times = offset + extent * np.array([0.0, 1.0, *data.draw(st.lists(unit, min_size=1, max_size=30))])
    periods = tuple(extent * data.draw(st.floats(0.01, 100, **finite)) for _ in range(3))
    X, space = clock(times, periods)
    frequencies = total_order(4, 3).frequencies
    dense, fast = both_sums(X, space, frequencies)
    assert_same_sums(fast, dense, frequencies, len(X))


def several_inputs(rng, n):
    """Two circles of one input, two of another, and a lattice of the second and a third."""
    day, place, height = rng.uniform(0, 50, n), rng.uniform(0, 9, n), rng.uniform(0, 4, n)
    X = np.column_stack([day, day, place, place, height])
    cell = np.diag([1.0, 7.0, 2.0, 3.0, 1.5])
    cell[3, 4] = 0.4
    return X, InputSpace(Sharing((0, 0, 2, 2, 4), (0.0,) * 5, (False,) * 5), cell)


def test_three_inputs_and_a_lattice_equal_dense():
    X, space = several_inputs(np.random.default_rng(1), 3000)
    assert space.n_inputs == 3
    frequencies = total_order(5, 2).frequencies
    dense, fast = both_sums(X, space, frequencies, n_outputs=2)
    assert_same_sums(fast, dense, frequencies, len(X))


def test_parts_merge_to_the_whole_and_targets_may_be_rescaled():
    X, space = clock(even(np.random.default_rng(0), 900), PERIODS["calendar"])
    frequencies = hyperbolic_cross(4, 3).frequencies
    rng = np.random.default_rng(3)
    precision, targets = rng.uniform(0.5, 1, 900), rng.normal(size=(900, 2))
    whole, first, second = (Type3Sums(frequencies, 2, space) for _ in range(3))
    factor, offset = np.array([2.0, 0.5]), np.array([1.0, -3.0])
    whole.add_chunk(X[:400], precision[:400], targets[:400])
    whole.add_chunk(X[400:], precision[400:], factor * targets[400:] + offset)
    first.add_chunk(X[:400], precision[:400], targets[:400])
    second.add_chunk(X[400:], precision[400:], targets[400:])
    first.add(second, factor, offset)
    assert_same_sums(first, whole, frequencies, 900)
    assert first.n_rows == whole.n_rows == 900
    for copy in (pickle.loads(pickle.dumps(whole)), whole.empty()):
        copy.set_arrays(whole.to_arrays())
        assert_same_sums(copy, whole, frequencies, 900)


def test_a_subset_has_the_sums_of_its_frequencies():
    X, space = clock(even(np.random.default_rng(0), 300), PERIODS["calendar"])
    frequencies = hyperbolic_cross(4, 4).frequencies
    _, fast = both_sums(X, space, frequencies)
    few = from_frequencies(frequencies[1::3]).frequencies
    assert fast.holds(few)
    assert not fast.holds(tensor(4, 9).frequencies)
    small = fast.subset(few)
    np.testing.assert_array_equal(small.gram(few), fast.gram(few))
    np.testing.assert_array_equal(small.moments(few), fast.moments(few))
    assert small.size < fast.size


def test_modes_are_the_distinct_sums_and_differences():
    frequencies = hyperbolic_cross(3, 4).frequencies
    pairs = pair_modes(frequencies)
    both = np.vstack([(frequencies[:, None] + sign * frequencies).reshape(-1, 3) for sign in (1, -1)])
    expected = np.unique(np.vstack([both, -both]), axis=0)
    np.testing.assert_array_equal(pairs.modes, expected)
    np.testing.assert_array_equal(pairs.modes[::-1], -expected)
    np.testing.assert_array_equal(pairs.modes[pairs.own], frequencies)
    difference, total = pairs.places(slice(3, 5))
    np.testing.assert_array_equal(pairs.modes[difference], frequencies[3:5, None] - frequencies)
    np.testing.assert_array_equal(pairs.modes[total], frequencies[3:5, None] + frequencies)


def test_equal_real_frequencies_are_one_target():
    X, space = clock(even(np.random.default_rng(0), 300), PERIODS["multiples"])
    _, fast = both_sums(X, space, tensor(4, 2).frequencies)
    assert fast._merged[0].distinct.shape[1] < fast.size / 4


@pytest.mark.parametrize("coarse", [1e-9, 1e-7, 1e-5])
def test_what_merging_costs_is_part_of_the_rounding(coarse, monkeypatch):
    monkeypatch.setattr(type3_module, "_EQUAL", coarse)
    rng = np.random.default_rng(0)
    X, space = clock(even(rng, 300), PERIODS["nearly multiples"])
    frequencies = tensor(4, 2).frequencies
    dense, fast = both_sums(X, space, frequencies)
    error = np.abs(fast.gram(frequencies) - dense.gram(frequencies)).max() / len(X)
    assert fast.tolerance < error <= fast.rounding


# Predictions --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=TIMES, scope="module")
def predictors(request):
    """Both predictors of one posterior, and points inside the range, beyond both of its ends, and among the rows."""
    rng = np.random.default_rng(5)
    times = request.param(rng, 1500)
    X, space = clock(times, PERIODS["calendar"])
    frequencies = hyperbolic_cross(4, 4).frequencies
    dense, _ = both_sums(X, space, frequencies)
    linear = LinearStatistics(dense.gram(frequencies), dense.moments(frequencies), np.array([1500.0]), 1500.0)
    decay = np.repeat(1.0 / (1 + np.abs(frequencies).sum(axis=1)) ** 2, 2)[1:, None]
    posterior = Posterior(linear, decay, np.array([0.1]))
    extent, low = np.ptp(times), times.min()
    torus = Torus((*[Axis(str(d), "circle", 0) for d in range(3)], Axis("line", "line", 0, low, low + extent)), ("t",))
    assert torus.sharing(space.period) == space.sharing
    new = np.concatenate(
        [times[:100], rng.uniform(low, low + extent, 100), rng.uniform(low - extent, low + 2 * extent, 150)]
    )
    points = torus.coordinates(new[:, None], space.period)
    assert len(space.classes(points)) == 3
    return DensePredictor(frequencies, posterior), Type3Predictor(frequencies, posterior, space), points


def test_means_equal_dense(predictors):
    dense, fast, X = predictors
    weights = np.random.default_rng(0).normal(size=(2 * len(dense.frequencies) - 1, 3))
    expected = dense.mean(fast._to_phases(X), weights)
    np.testing.assert_allclose(fast.mean(X, weights), expected, rtol=0, atol=MEAN_ERROR * np.abs(expected).max())


def test_means_and_variances_equal_dense(predictors):
    dense, fast, X = predictors
    expected = dense.mean_and_variance(fast._to_phases(X), 0)
    for found, exact in zip(fast.mean_and_variance(X, 0), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=0, atol=MEAN_ERROR * np.abs(exact).max())
    np.testing.assert_allclose(fast.variance(X, 0), expected[1], rtol=0, atol=MEAN_ERROR * expected[1].max())
    np.testing.assert_allclose(fast.covariance(X[:9], 0), dense.covariance(fast._to_phases(X[:9]), 0), atol=1e-12)


def test_gradients_along_inputs_equal_dense(predictors):
    dense, fast, X = predictors
    waves = fast.space.wave_numbers(dense.frequencies)
    weights = dense.posterior.weights
    for found, exact in (
        (fast.gradient(X, weights, waves), dense.gradient(fast._to_phases(X), weights, waves)),
        (fast.gradient_variance(X, waves, 0), dense.gradient_variance(fast._to_phases(X), waves, 0)),
    ):
        np.testing.assert_allclose(found, exact, rtol=0, atol=GRADIENT_ERROR * np.abs(exact).max())


def test_gradients_in_the_phases_equal_dense(predictors):
    dense, fast, X = predictors
    rng = np.random.default_rng(0)
    targets, weights = rng.normal(size=(len(X), 2)), rng.normal(size=(len(dense.posterior.weights), 2))
    quadratic = dense.posterior.covariance(0)
    exact = dense.phase_gradient(fast._to_phases(X), targets, quadratic, weights)
    found = fast.phase_gradient(X, targets, quadratic, weights)
    np.testing.assert_allclose(found, exact, rtol=0, atol=GRADIENT_ERROR * np.abs(exact).max())


@pytest.mark.parametrize("times", TIMES)
def test_gradients_in_the_cell_equal_dense(times):
    rng = np.random.default_rng(2)
    X, space = clock(times(rng, 700), PERIODS["calendar"])
    frequencies = hyperbolic_cross(4, 3).frequencies
    precision, targets = rng.uniform(0.5, 1, 700), rng.normal(size=(700, 2))
    weights, half = (rng.normal(size=(2 * len(frequencies) - 1, size)) for size in (2, 9))
    arguments = (X, space.period, precision, targets, half @ half.T, weights)
    exact = DensePredictor(frequencies, None).cell_gradient(*arguments)
    found = Type3Predictor(frequencies, None, space).cell_gradient(*arguments)
    np.testing.assert_allclose(found, exact, rtol=0, atol=GRADIENT_ERROR * np.abs(exact).max())


def test_a_predictor_survives_pickling(predictors):
    _, fast, X = predictors
    again = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(again.variance(X[:50], 0), fast.variance(X[:50], 0))


# The choice ---------------------------------------------------------------------------------------------------------


def test_one_clock_of_many_axes_is_transformed_in_its_input():
    X, space = clock(even(np.random.default_rng(0), 50), PERIODS["calendar"])
    frequencies, extent = hyperbolic_cross(4, 6).frequencies, np.ptp(X, axis=0)
    assert choose_backend("auto", frequencies, 10**5, None, space, extent) == "type3"
    assert choose_backend("auto", frequencies, 10**5) == "dense"  # nothing is known of its inputs
    assert choose_backend("auto", frequencies, 20, None, space, extent) == "dense"
    assert choose_backend("auto", frequencies, 10**5, None, space, 1e9 * extent) == "dense"  # too many turns


def test_axes_of_their_own_inputs_have_uniform_modes():
    space = InputSpace(Sharing.none(2), np.ones(2))
    assert choose_backend("auto", tensor(2, 10).frequencies, 10**5, None, space, np.ones(2)) == "finufft"


def test_more_than_three_inputs_are_refused_with_the_reason():
    with pytest.raises(ValueError, match=r"at most 3 inputs, here are 4\. Use backend='dense'"):
        choose_backend("type3", tensor(4, 1).frequencies, 10, space=InputSpace(Sharing.none(4), np.ones(4)))


def test_statistics_are_stored_with_what_they_need_to_go_on(tmp_path):
    X, space = clock(many_turns(np.random.default_rng(0), 500), PERIODS["calendar"])
    y, index_set = np.sin(X[:, 0]), hyperbolic_cross(4, 3)
    options = {"period": space.period, "sharing": space.sharing, "backend": "type3"}
    half = SufficientStatistics.from_data(X[:250], y[:250], index_set, **options)
    half.save(tmp_path / "sums.npz")
    again = SufficientStatistics.load(tmp_path / "sums.npz").update(X[250:], y[250:])
    whole, exact = (
        SufficientStatistics.from_data(X, y, index_set, **options | {"backend": backend}).linear()[0]
        for backend in ("type3", "dense")
    )
    for one in (again.linear()[0], whole):
        np.testing.assert_allclose(one.gram, exact.gram, rtol=0, atol=500 * SUM_ERROR)
    assert whole.rounding > exact.rounding
    assert space.turns(index_set.frequencies, np.ptp(X, axis=0)).max() > MOST_TURNS
    assert make_sums("type3", index_set.frequencies, 1, 1e-12, 1, space=space).rounding == 1e-12
