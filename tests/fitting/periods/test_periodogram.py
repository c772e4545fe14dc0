"""Periodograms against least squares and plain sums, and waves subtracted one after the other."""

import numpy as np
import pytest

from torusgp.fitting.periods import find_period
from torusgp.fitting.periods._periodogram import SinusoidFinder, find_sinusoids
from torusgp.fitting.periods._sinusoids import ScaledRows

TRANSFORM = 1e-5  # the transforms have a tolerance of 1e-6, and shares are squares of their values
SIDES = {1: (64,), 2: (20, 16), 3: (8, 10, 6)}


def constant(rows):
    return np.ones((len(rows.inputs), 1))


def scaled(inputs, targets, weight=None):
    """Rows with targets of mean zero and variance one."""
    weight = np.ones(len(inputs)) if weight is None else weight
    targets = targets.reshape(len(inputs), -1)
    targets = targets - np.average(targets, axis=0, weights=weight)
    return ScaledRows(inputs, targets / np.sqrt(np.average(targets**2, axis=0, weights=weight)), weight)


def make_grid(dimension, n_outputs=2):
    """Random targets on all points of a grid that closes after one turn."""
    sides = SIDES[dimension]
    axes = [np.arange(n) / n - 0.5 for n in sides]
    inputs = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimension)
    return scaled(inputs, np.random.default_rng(0).normal(size=(len(inputs), n_outputs)))


def make_scattered(dimension, n=100, n_outputs=2):
    rng = np.random.default_rng(dimension)
    return scaled(
        rng.uniform(-0.5, 0.5, (n, dimension)), rng.normal(size=(n, n_outputs)), rng.integers(1, 4, n).astype(float)
    )


def wave(inputs, frequency, phase=0.0):
    return np.cos(2 * np.pi * inputs @ np.asarray(frequency, dtype=float) + phase)


def pair(inputs, frequency):
    return np.column_stack([wave(inputs, frequency), wave(inputs, frequency, -np.pi / 2)])


def explained(rows, columns):
    """Share of the variance that columns explain by weighted least squares, of each output."""
    root = np.sqrt(rows.weight)[:, None]
    weights = np.linalg.lstsq(columns * root, rows.targets * root, rcond=None)[0]
    left = ((rows.targets - columns @ weights) ** 2 * root**2).sum(axis=0)
    return 1 - left / (rows.targets**2 * root**2).sum(axis=0)


def at(finder, power, frequency):
    """Power at a frequency of the grid."""
    place = [int(np.abs(axis - f).argmin()) for axis, f in zip(finder.axes(), frequency, strict=True)]
    assert all(axis[i] == f for axis, i, f in zip(finder.axes(), place, frequency, strict=True))
    return power[tuple(place)]


# --- power -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_power_on_a_grid_is_the_share_explained_by_least_squares(dimension):
    rows = make_grid(dimension)
    highest = np.array(SIDES[dimension]) // 2 - 1
    finder = SinusoidFinder(rows, highest, constant(rows))
    power = finder.power()
    rng = np.random.default_rng(1)
    for _ in range(10):
        frequency = rng.integers(-highest, highest + 1)
        frequency[0] = rng.integers(1, highest[0] + 1)
        share = explained(rows, pair(rows.inputs, frequency)).mean()
        assert at(finder, power, frequency) == pytest.approx(share, abs=TRANSFORM)


def test_shares_of_all_waves_of_a_grid_add_up_to_one():
    rows = make_grid(1)
    finder = SinusoidFinder(rows, np.array([31]), constant(rows))
    power = finder.power()
    shares = [at(finder, power, [k]) for k in range(1, 32)]
    fastest = explained(rows, wave(rows.inputs, [32])[:, None]).mean()  # at the edge a cosine has no sine beside it
    assert sum(shares) + fastest == pytest.approx(1, abs=TRANSFORM)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_power_is_the_sum_over_rows(dimension):
    rows = make_scattered(dimension)
    finder = SinusoidFinder(rows, np.array([5.0, 4.0, 3.0])[:dimension], constant(rows))
    power, total = finder.power(), rows.weight.sum()
    assert power.shape == tuple(len(axis) for axis in finder.axes())
    rng = np.random.default_rng(1)
    for _ in range(10):
        frequency = np.array([rng.choice(axis) for axis in finder.axes()])
        sums = (rows.weight * np.exp(2j * np.pi * rows.inputs @ frequency)) @ rows.targets
        expected = (2 / total * np.abs(sums) ** 2 / total).mean()
        assert at(finder, power, frequency) == pytest.approx(expected, abs=TRANSFORM)


def test_power_has_a_mirror_image_and_does_not_depend_on_the_origin():
    rows = make_scattered(2)
    one = SinusoidFinder(rows, np.array([5.0, 5.0]), constant(rows)).power()
    moved = ScaledRows(rows.inputs + 0.3, rows.targets, rows.weight)
    other = SinusoidFinder(moved, np.array([5.0, 5.0]), constant(rows)).power()
    np.testing.assert_allclose(one, one[::-1, ::-1], atol=TRANSFORM)
    np.testing.assert_allclose(one, other, atol=TRANSFORM)


def test_weights_are_repetitions():
    rows = make_scattered(1)
    repeated = rows.take(np.repeat(np.arange(100), rows.weight.astype(int)))
    repeated = ScaledRows(repeated.inputs, repeated.targets, np.ones(len(repeated.inputs)))
    one, other = (SinusoidFinder(data, np.array([9.0]), constant(data)) for data in (rows, repeated))
    np.testing.assert_allclose(one.power(), other.power(), atol=TRANSFORM)
    assert one.unexplained() == pytest.approx(other.unexplained())


def test_a_grid_of_frequencies_beyond_memory_is_refused():
    rows = make_scattered(2)
    with pytest.raises(ValueError, match=r"up to \[100000\. 100000\.\] turns over the data.*Raise min_period"):
        SinusoidFinder(rows, np.array([1e5, 1e5]), constant(rows))


# --- columns subtracted -----------------------------------------------------------------------------------------


def test_what_is_left_is_the_residual_of_least_squares():
    rows = make_scattered(1)
    first, second = pair(rows.inputs, [3.3]), np.hstack([rows.inputs, rows.inputs**2])
    finder = SinusoidFinder(rows, np.array([9.0]), constant(rows))
    finder.subtract(first)
    finder.subtract(second)
    everything = np.hstack([constant(rows), first, second])
    assert finder.unexplained() == pytest.approx(1 - explained(rows, everything).mean(), rel=1e-10)


def test_columns_taken_off_before_change_nothing():
    rows = make_scattered(1)
    columns = np.hstack([constant(rows), pair(rows.inputs, [3.0])])
    finder = SinusoidFinder(rows, np.array([9.0]), columns)
    power, left = finder.power(), finder.unexplained()
    finder.subtract(columns @ np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]]))
    np.testing.assert_allclose(finder.power(), power, atol=TRANSFORM)
    assert finder.unexplained() == pytest.approx(left, rel=1e-10)


def test_a_wave_taken_off_has_no_power_left():
    rows = make_scattered(2)
    finder = SinusoidFinder(rows, np.array([5.0, 5.0]), constant(rows))
    frequency = np.array([3.0, -2.25])
    finder.subtract(pair(rows.inputs, frequency))
    assert at(finder, finder.power(), frequency) < TRANSFORM


# --- the strongest waves -----------------------------------------------------------------------------------------

PURE = {1: [4.3], 2: [4.3, -6.8], 3: [3.3, -1.7, 2.2]}


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_strongest_wave_is_found_between_the_points_of_the_grid(dimension):
    inputs = np.random.default_rng(0).uniform(-0.5, 0.5, (400, dimension))
    rows = scaled(inputs, wave(inputs, PURE[dimension], 0.7))
    finder = SinusoidFinder(rows, np.array([9.0, 9.0, 4.0])[:dimension], constant(rows))
    power = finder.power()
    frequency, share = finder.strongest(power, 2.0)
    np.testing.assert_allclose(frequency, PURE[dimension], atol=0.1)
    assert share == power.max()


def test_slow_waves_are_passed_over():
    inputs = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 2))
    rows = scaled(inputs, 3 * wave(inputs, [1.0, 1.0]) + wave(inputs, [2.0, 5.0]))
    finder = SinusoidFinder(rows, np.array([9.0, 9.0]), constant(rows))
    assert np.linalg.norm(finder.strongest(finder.power(), 0.5)[0]) < 2
    np.testing.assert_allclose(finder.strongest(finder.power(), 3.0)[0], [2, 5], atol=0.3)


def test_waves_come_by_strength_and_noise_ends_them():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-0.5, 0.5, (400, 1))
    true, sizes = np.array([7.3, 21.6, 3.9]), np.array([1.0, 0.6, 0.3])
    y = sum(size * wave(inputs, [f], f) for size, f in zip(sizes, true, strict=True)) + 0.2 * rng.normal(size=400)
    rows = scaled(inputs, y)
    frequencies, shares = find_sinusoids(SinusoidFinder(rows, np.array([40.0]), constant(rows)), inputs, 2.0, 24)
    np.testing.assert_allclose(frequencies[:, 0], true, atol=0.1)
    np.testing.assert_allclose(shares, sizes**2 / 2 / y.var(), rtol=0.25)  # between points of the grid it is less


def test_noise_has_no_waves():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        inputs = rng.uniform(-0.5, 0.5, (200, 1))
        rows = scaled(inputs, rng.normal(size=200))
        found += len(find_sinusoids(SinusoidFinder(rows, np.array([50.0]), constant(rows)), inputs, 2.0, 24)[0])
    assert found <= 3  # a threshold two units of log evidence above what the best of the grid has


def test_waves_of_weighted_rows_are_those_of_repeated_ones():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-0.5, 0.5, (150, 1))
    counts = rng.integers(1, 5, 150)
    y = wave(inputs, [9.3]) + 0.5 * wave(inputs, [17.1]) + 0.5 * rng.normal(size=150)
    weighted = scaled(inputs, y, counts.astype(float))
    again = np.repeat(np.arange(150), counts)
    repeated = ScaledRows(inputs[again], weighted.targets[again], np.ones(len(again)))
    one, other = (
        find_sinusoids(SinusoidFinder(rows, np.array([30.0]), constant(rows)), rows.inputs, 2.0, 24)
        for rows in (weighted, repeated)
    )
    np.testing.assert_allclose(one[0], other[0], atol=1e-3)
    np.testing.assert_allclose(one[1], other[1], atol=TRANSFORM)


def test_the_number_of_waves_is_bounded_and_satellites_are_left_out():
    inputs = np.linspace(-0.5, 0.5, 300)[:, None]
    y = wave(inputs, [9.0]) * (1 + 0.4 * inputs[:, 0]) + 0.5 * wave(inputs, [25.0]) + 0.3 * wave(inputs, [40.0])
    rows = scaled(inputs, y)
    frequencies, _ = find_sinusoids(SinusoidFinder(rows, np.array([60.0]), constant(rows)), inputs, 2.0, 24)
    apart = np.abs(np.subtract.outer(frequencies[:, 0], frequencies[:, 0]))[np.triu_indices(len(frequencies), 1)]
    assert (apart > 1).all()
    few, _ = find_sinusoids(SinusoidFinder(rows, np.array([60.0]), constant(rows)), inputs, 2.0, 2)
    assert len(few) <= 2


def test_waves_end_when_nothing_is_left():
    inputs = np.random.default_rng(0).uniform(-0.5, 0.5, (64, 1))
    rows = scaled(inputs, wave(inputs, [5.0]))
    finder = SinusoidFinder(rows, np.array([20.0]), np.hstack([constant(rows), rows.targets]))
    assert not len(find_sinusoids(finder, inputs, 2.0, 24)[0])


# --- what a search reports ---------------------------------------------------------------------------------------


def test_the_reported_periodogram_is_in_cycles_per_unit():
    rng = np.random.default_rng(0)
    t = rng.uniform(100, 250, 200)
    y = 2 * t + 30 * np.sin(2 * np.pi * t / 12.5) + rng.normal(size=200)
    periodogram = find_period(t, y, max_periods=1).periodogram
    (frequencies,), power = periodogram.frequencies, periodogram.power
    assert power.shape == frequencies.shape
    np.testing.assert_allclose(frequencies, -frequencies[::-1])
    assert abs(frequencies[power.argmax()]) == pytest.approx(1 / 12.5, rel=0.02)
    assert (power >= 0).all()
    assert power.max() <= 1
