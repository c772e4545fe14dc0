"""Slow change: its columns, priors and posterior, each against its definition or a difference."""

from itertools import product

import numpy as np
import pytest

from tests.exact_regression import central_differences
from torusgp.fitting.periods import Trend, TrendColumns, find_period
from torusgp.fitting.periods._trend import FEWEST_TURNS, box_modes

STEP = 1e-5  # of scaled inputs; third derivatives of the columns are below 2e3
DIFFERENCE = 1e-6  # error of a central difference with this step


def make_trend(dimension, n_outputs=2):
    rng = np.random.default_rng(dimension)
    columns = TrendColumns.slow(dimension)
    roots = rng.normal(size=(n_outputs, columns.n_columns, columns.n_columns)) / 10
    return Trend(
        columns,
        rng.normal(size=dimension),
        rng.uniform(0.5, 3, dimension),
        rng.normal(size=(columns.n_columns, n_outputs)),
        roots @ roots.transpose(0, 2, 1),
    )


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("largest", [2.0, 3.5, 4.0])
def test_modes_are_half_of_the_short_integer_vectors(dimension, largest):
    modes = [tuple(mode) for mode in box_modes(dimension, largest).tolist()]
    lengths = np.linalg.norm(modes, axis=1)
    assert (np.diff(lengths) >= 0).all()
    both = {*modes, *(tuple(-i for i in mode) for mode in modes)}
    assert len(both) == 2 * len(modes)
    grid = product(range(-4, 5), repeat=dimension)
    assert both == {vector for vector in grid if 0 < np.linalg.norm(vector) < largest}


def test_slow_waves_have_fewer_turns_than_any_period():
    for dimension in (1, 2, 3):
        turns = np.linalg.norm(TrendColumns.slow(dimension).modes / 2, axis=1)  # modes count half turns
        assert turns.max() < FEWEST_TURNS


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_columns_are_constant_line_cosines_and_sines(dimension):
    columns = TrendColumns.slow(dimension)
    scaled = np.random.default_rng(0).uniform(-0.5, 0.5, (9, dimension))
    values = columns(scaled)
    assert values.shape == (9, columns.n_columns)
    np.testing.assert_array_equal(values[:, 0], 1)
    np.testing.assert_array_equal(values[:, 1 : 1 + dimension], scaled)
    for i, mode in enumerate(columns.modes):
        cosine, sine = values[:, 1 + dimension + i], values[:, 1 + dimension + len(columns.modes) + i]
        np.testing.assert_allclose(cosine + 1j * sine, np.exp(1j * np.pi * scaled @ mode), atol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_derivative_is_the_difference_of_the_columns(dimension):
    columns = TrendColumns.slow(dimension)
    scaled = np.random.default_rng(0).uniform(-0.5, 0.5, (9, dimension))
    for axis, shift in enumerate(STEP * np.eye(dimension)):
        difference = (columns(scaled + shift) - columns(scaled - shift)) / (2 * STEP)
        np.testing.assert_allclose(columns.derivative(scaled, axis), difference, atol=DIFFERENCE)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_slopes_of_the_prior_are_its_differences(dimension):
    columns = TrendColumns.slow(dimension)
    values, slopes = columns.log_prior(-2.0)
    assert values.shape == (columns.n_columns,)
    differences = central_differences(lambda point: columns.log_prior(point[0])[0], np.array([-2.0]))[0]
    np.testing.assert_allclose(slopes, differences, atol=1e-7)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_prior_variances_fall_like_those_of_a_random_walk(dimension):
    columns = TrendColumns.slow(dimension)
    waves = [0.3 * np.linalg.norm(mode) ** -(dimension + 1) for mode in columns.modes]
    variances = np.exp(columns.log_prior(np.log(0.3))[0])
    np.testing.assert_allclose(variances[1 + dimension :], [*waves, *waves], rtol=1e-12)
    assert (variances[: 1 + dimension] >= 10).all()  # hardly a prior at all: targets have variance one


@pytest.mark.parametrize("dimension", [1, 2])
def test_variance_is_the_diagonal_of_the_covariance(dimension):
    trend = make_trend(dimension)
    X = np.random.default_rng(1).normal(size=(12, dimension))
    for output in range(2):
        covariance = trend.covariance(X, output)
        np.testing.assert_allclose(trend.variance(X, output), np.diag(covariance), rtol=1e-10)
        assert np.linalg.eigvalsh(covariance).min() > -1e-10


@pytest.mark.parametrize("dimension", [1, 2])
def test_gradient_is_the_difference_of_the_mean(dimension):
    trend = make_trend(dimension)
    X = np.random.default_rng(1).normal(size=(12, dimension))
    gradient = trend.gradient(X)
    assert gradient.shape == (12, dimension, 2)
    for axis, shift in enumerate(STEP * np.eye(dimension)):
        difference = (trend.mean(X + shift) - trend.mean(X - shift)) / (2 * STEP)
        np.testing.assert_allclose(gradient[:, axis], difference, atol=1e-5)


@pytest.mark.parametrize("dimension", [1, 2])
def test_variance_of_the_gradient_is_the_mixed_difference_of_the_covariance(dimension):
    trend = make_trend(dimension)
    X, step = np.random.default_rng(1).normal(size=(12, dimension)), 1e-3
    for output, (axis, shift) in product(range(2), enumerate(step * np.eye(dimension))):
        covariance = trend.covariance(np.vstack([X + shift, X - shift]), output)
        same = np.diag(covariance[:12, :12]) + np.diag(covariance[12:, 12:])
        difference = (same - 2 * np.diag(covariance[:12, 12:])) / (2 * step) ** 2
        np.testing.assert_allclose(trend.gradient_variance(X, output)[:, axis], difference, rtol=1e-3)


def test_draws_have_the_mean_and_the_covariance():
    trend = make_trend(1)
    X = np.linspace(-2, 2, 4)[:, None]
    draws = trend.sample(X, 20_000, np.random.RandomState(0))
    assert draws.shape == (4, 2, 20_000)
    for output in range(2):
        covariance = trend.covariance(X, output)
        scale = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(draws[:, output].mean(axis=1), trend.mean(X)[:, output], atol=0.03 * scale.max())
        np.testing.assert_allclose(np.cov(draws[:, output]), covariance, atol=0.04 * scale.max() ** 2)


def test_the_same_state_draws_the_same_functions_at_any_points():
    trend = make_trend(2)
    X = np.random.default_rng(1).normal(size=(12, 2))
    whole = trend.sample(X, 3, np.random.RandomState(4))
    np.testing.assert_allclose(trend.sample(X[5:], 3, np.random.RandomState(4)), whole[5:], atol=1e-12)


def test_arrays_hold_the_whole_trend():
    trend = make_trend(2)
    again = Trend.from_arrays(trend.to_arrays())
    X = np.random.default_rng(1).normal(size=(12, 2))
    np.testing.assert_array_equal(again.mean(X), trend.mean(X))
    np.testing.assert_array_equal(again.covariance(X, 1), trend.covariance(X, 1))
    np.testing.assert_array_equal(again.gradient(X), trend.gradient(X))


@pytest.fixture(scope="module")
def line_and_wave():
    """Rows of a line and a wave of period 7, as they are and after an affine change of the inputs and the targets."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 60, 150)
    y = 3 + 0.05 * t + np.sin(2 * np.pi * t / 7) + 0.1 * rng.normal(size=150)
    return t, y, find_period(t, y, max_periods=1).trend, find_period(1e3 * t - 5, 7 * y + 100, max_periods=1).trend


def test_the_reported_trend_is_the_linear_regression_beside_the_wave(line_and_wave):
    t, y, trend, _ = line_and_wave
    design = np.column_stack([np.ones(150), t, np.cos(2 * np.pi * t / 7), np.sin(2 * np.pi * t / 7)])
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    X = t[:, None]
    line = design[:, :2] @ weights[:2]
    difference = trend.mean(X)[:, 0] - line
    assert np.abs(difference).max() < 0.1
    assert (np.abs(difference) < 4 * np.sqrt(trend.variance(X, 0))).all()
    assert trend.gradient(X).mean() == pytest.approx(weights[1], abs=0.005)


def test_the_reported_trend_moves_with_the_units(line_and_wave):
    t, _, trend, other = line_and_wave
    X, there = t[:, None], 1e3 * t[:, None] - 5
    np.testing.assert_allclose(other.mean(there), 7 * trend.mean(X) + 100, rtol=1e-4)
    np.testing.assert_allclose(other.variance(there, 0), 49 * trend.variance(X, 0), rtol=1e-2)
    np.testing.assert_allclose(other.gradient(there), 7e-3 * trend.gradient(X), atol=1e-3 * 7e-3)


def test_standard_deviations_of_the_trend_are_of_the_size_of_its_errors(line_and_wave):
    t, _, trend, _ = line_and_wave
    X = np.sort(t)[20:-20, None]  # between the ends, where the slow waves of the prior hardly matter
    errors = trend.mean(X)[:, 0] - (3 + 0.05 * X[:, 0])
    ratio = np.sqrt(np.mean(errors**2 / trend.variance(X, 0)))
    assert 0.1 < ratio < 3
