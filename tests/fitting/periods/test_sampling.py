"""Grids and scattered inputs are distinguished, whatever their units and origin."""

import numpy as np
import pytest

from torusgp.fitting.periods import Sampling
from torusgp.kernels.grids import nyquist_frequency

GRID = np.arange(50.0)
SCATTERED = np.random.default_rng(0).uniform(0, 50, 60)


@pytest.mark.parametrize("step", [1e-3, 0.1, 1 / 3, 7.0, 1e6])
@pytest.mark.parametrize("origin", [0.0, -12.3, 1e4])
def test_a_grid_shows_two_points_per_turn(step, origin):
    values = origin * step + step * GRID
    assert nyquist_frequency(values) == pytest.approx(0.5 / step, rel=1e-9)


@pytest.mark.parametrize("kept", [0.3, 0.7])
def test_a_grid_with_gaps_repeats_and_any_order_is_still_one(kept):
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(GRID), int(kept * len(GRID)), replace=False)
    values = 0.25 * np.append(GRID[chosen], GRID[chosen[:5]])
    assert nyquist_frequency(rng.permutation(values)) == pytest.approx(2.0)


def test_rounding_of_computed_or_printed_coordinates_does_not_hide_a_grid():
    computed = np.append(np.arange(50) * 0.1, np.cumsum(np.full(49, 0.1)))  # differ in the last bits
    assert len(np.unique(computed)) > 50
    assert nyquist_frequency(computed) == pytest.approx(5.0)
    printed = np.round(np.arange(50) / 3, 3)
    assert nyquist_frequency(printed) == pytest.approx(1.5, rel=1e-3)


@pytest.mark.parametrize(
    "values", [SCATTERED, np.sort(SCATTERED), SCATTERED.round(3), GRID + 0.1 * np.sin(GRID), [0.0, 1.0], [2.0]]
)
def test_scattered_values_have_no_highest_frequency(values):
    assert nyquist_frequency(np.asarray(values)) == np.inf


def test_the_unit_of_rounding_is_not_a_grid():
    values = np.append(SCATTERED.round(3), [10.0, 10.001])  # whole numbers of thousandths
    assert nyquist_frequency(values) == np.inf


def test_even_positions_share_a_phase_at_twice_the_nyquist_frequency_only():
    values = np.random.default_rng(2).choice(0.4 * GRID, 30, replace=False)
    nyquist = nyquist_frequency(values)
    np.testing.assert_allclose(np.exp(2j * np.pi * 2 * nyquist * values), 1, atol=1e-10)
    assert np.abs(np.exp(2j * np.pi * nyquist * values) - 1).max() > 1


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_shift_and_scale_of_inputs(dimension):
    rng = np.random.default_rng(dimension)
    X = rng.uniform(size=(40, dimension))
    factor, shift = np.array([1e-3, 2.0, 1e5])[:dimension], np.array([5.0, -7.0, 0.0])[:dimension]
    one, other = Sampling.from_inputs(X), Sampling.from_inputs(factor * X + shift)
    np.testing.assert_allclose(other.extent, factor * one.extent)
    np.testing.assert_allclose(other.middle, factor * one.middle + shift)
    np.testing.assert_allclose(other.highest * factor, one.highest)
    assert (one.nyquist == np.inf).all()


def test_a_grid_bounds_what_is_worth_looking_for():
    rng = np.random.default_rng(0)
    X = np.column_stack([0.5 * rng.integers(0, 20, 4000), rng.uniform(0, 9.5, 4000)])
    sampling = Sampling.from_inputs(X)
    assert sampling.nyquist[0] == pytest.approx(1.0)
    assert sampling.highest[0] == sampling.nyquist[0]
    assert np.isinf(sampling.nyquist[1])
    assert sampling.highest[1] > sampling.highest[0]


def test_more_rows_show_higher_frequencies():
    X = np.random.default_rng(0).uniform(size=(400, 2))
    few, many = Sampling.from_inputs(X[:100]), Sampling.from_inputs(X)
    np.testing.assert_allclose(many.highest * many.extent, 2 * few.highest * few.extent)


def test_a_constant_input_is_named_with_its_value():
    X = np.column_stack([np.arange(5.0), np.full(5, 2.5)])
    with pytest.raises(ValueError, match=r"Input 1 has the value 2\.5 in every row"):
        Sampling.from_inputs(X)


@pytest.mark.parametrize(("ratio", "compared"), [(1.0, True), (5.0, True), (100.0, False)])
def test_lengths_are_compared_only_between_inputs_of_similar_extent(ratio, compared):
    X = np.random.default_rng(0).uniform(size=(50, 2)) * [1.0, ratio]
    sampling = Sampling.from_inputs(X)
    np.testing.assert_array_equal(sampling.unit, np.ones(2) if compared else sampling.extent)
