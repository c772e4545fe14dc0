"""Steps in the level of a series."""

import numpy as np
import pytest
from scipy.signal import lfilter

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.moments import Moments
from torusgp.engine.series import Autocovariance, TimeGrid, longest_lag
from torusgp.fitting.levels import find_levels
from torusgp.fitting.noise_process import Levels, NoiseProcess, Predecessors

N = 400
TIMES = np.arange(float(N))


def found(noise):
    def autocovariance(rest, grid):
        return Autocovariance.of_residuals(rest, grid, longest_lag(len(rest)))

    times = np.arange(float(len(noise)))
    return find_levels(noise, times, TimeGrid.of(times), autocovariance)


def autoregression(coefficient, shocks):
    return lfilter([1.0], [1, -coefficient], shocks)[-N:]


@pytest.mark.parametrize("coefficient", [0.0, 0.7])
def test_steps_are_found_where_they_are(coefficient):
    rng = np.random.default_rng(0)
    noise = autoregression(coefficient, rng.normal(size=N + 200))
    levels = found(noise + 10 * (TIMES >= 120) - 20 * (TIMES >= 300))
    assert np.array_equal(levels.starts, [120, 300])
    assert levels.variance == pytest.approx(np.var([0, 10, -10], ddof=1), rel=0.2)


def test_noise_that_is_slow_beside_its_rows_has_one_level():
    """Whose correlation lasts for many rows, of many more."""
    for seed in range(3):
        slow = lfilter([1.0], [1, -0.998], np.random.default_rng(seed).normal(size=24_000))[4000:]
        assert found(slow - slow.mean()) is None
        moved = slow + 15 * slow.std() * (np.arange(20_000) >= 9000)
        assert np.abs(found(moved - moved.mean()).starts - 9000).max() <= 40


@pytest.mark.parametrize("kind", ["white", "slow", "walk", "one large innovation", "one outlier"])
def test_noise_without_steps_has_one_level(kind):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        shocks = rng.normal(size=N + 200)
        if kind == "one large innovation":
            shocks[400] = 12.0
        noise = autoregression({"white": 0.0, "walk": 1.0}.get(kind, 0.95), shocks)
        if kind == "one outlier":
            noise[200] += 20.0
        assert found(noise - noise.mean()) is None


@pytest.mark.parametrize("gaps", [False, True])
def test_gains_are_those_of_a_column_of_ones(gaps):
    rng = np.random.default_rng(0)
    cells = np.sort(rng.choice(90, 55, replace=False)) if gaps else np.arange(150)
    noise, grid = Autocovariance(0.8 ** np.arange(400), nugget=0.2), TimeGrid(cells, 1.0, True)
    before = Predecessors.of(noise, grid)
    residuals = rng.normal(size=len(cells))
    factor = np.linalg.cholesky(noise.among(grid.cells))
    innovations, row = np.linalg.solve(factor, residuals), 40
    column = np.linalg.solve(factor, (np.arange(len(cells)) >= row).astype(float))
    whole, later = before.gains(before.innovations(residuals))
    assert whole[row] == pytest.approx((column @ innovations) ** 2 / (column @ column) / 2, rel=1e-6)
    column[row] = 0.0
    assert later[row] == pytest.approx((column @ innovations) ** 2 / (column @ column) / 2, rel=1e-6)


def test_posterior_and_evidence_have_the_levels_integrated_out():
    """Those of white noise and levels that rows of one stretch share."""
    rng = np.random.default_rng(0)
    levels = Levels(np.array([119.0, 299.0]), np.array([120.0, 300.0]), 5.0)
    F, L = basis_columns(2 * np.pi * TIMES[:, None] / 7, np.arange(4)[:, None]), levels.columns(TIMES)
    y, variances = rng.normal(size=N) + L @ [1.0, -2.0, 3.0], rng.uniform(0.5, 2, F.shape[1])
    both = np.hstack([F, L])
    alone = -0.5 * (N * np.log(2 * np.pi * 0.5) + y @ y / 0.5)
    moments = Moments.of(both.T @ both, both.T @ y, 0.5 * both.T @ both, alone).without(levels.variances)
    noise = 0.5 * np.eye(N) + levels.between(TIMES, TIMES)
    mean, root = moments.posterior(variances)
    precision = F.T @ np.linalg.solve(noise, F) + np.diag(1 / variances)
    assert np.allclose(root @ root.T, np.linalg.inv(precision))
    assert np.allclose(mean, np.linalg.solve(precision, F.T @ np.linalg.solve(noise, y)))
    assert moments.log_density == pytest.approx(
        -0.5 * (y @ np.linalg.solve(noise, y) + np.linalg.slogdet(2 * np.pi * noise)[1])
    )


def test_forecasts_go_on_from_the_last_level():
    rng, later = np.random.default_rng(0), np.array([150.0, 151.0, 400.0])
    cells = np.arange(150)
    noise, levels = Autocovariance(0.8 ** np.arange(100)), Levels(np.array([59.0]), np.array([60.0]), 9.0)
    scales = rng.uniform(0.5, 2, 150)
    residuals = rng.normal(size=150) + 3 * (cells >= 60)
    none = np.empty((150, 0))
    process = NoiseProcess(noise, 1.0, 0, 10.0, cells, cells.astype(float), residuals, none, none, scales, levels)
    everything = np.append(cells, later).astype(int)
    covariance = noise.among(everything) + levels.between(everything, everything)
    unit = np.append(scales, np.ones(3))
    covariance *= np.outer(unit, unit)
    gain = np.linalg.solve(covariance[:150, :150], covariance[:150, 150:]).T
    mean, variance = process.mean_and_variance(later)
    expected = covariance[150:, 150:] - gain @ covariance[:150, 150:]
    assert np.allclose(mean, gain @ residuals)
    assert np.allclose(process.covariance(later), expected)
    assert np.allclose(variance, np.diag(expected))
    paths = process.sample(later, 40_000, np.random.RandomState(0))
    assert np.abs(paths.mean(axis=1) - mean).max() < 0.03
    assert np.abs(np.cov(paths) - expected).max() < 0.05
    again = NoiseProcess.from_archive(*process.to_archive())
    assert np.array_equal(again.mean_and_variance(later)[0], mean)


def test_steps_of_long_series_are_found_to_the_row():
    noise = np.random.default_rng(0).normal(size=3000)
    levels = found(noise + 10 * (np.arange(3000) >= 1403))
    assert np.array_equal(levels.starts, [1403])
    assert np.array_equal(levels.ends, [1402])


def test_a_step_is_anywhere_between_two_rows_that_are_far_apart():
    """The mean goes from level a to b with the share p of the time, and the variance is p (1 - p) (b - a)^2."""
    levels = Levels(np.array([10.0]), np.array([30.0]), 18.0)
    times = np.array([0.0, 10.0, 15.0, 20.0, 30.0, 40.0])
    p = np.array([0, 0, 0.25, 0.5, 1, 1])
    assert np.allclose(levels.columns(times), np.column_stack([1 - p, p]))
    known, gap = np.array([10.0, 30.0]), times[2:4]
    gain = np.linalg.solve(levels.between(known, known), levels.between(known, gap)).T
    assert np.allclose(gain, np.column_stack([1 - p, p])[2:4])
    left = levels.variance - np.sum(gain * levels.between(gap, known), axis=1)
    assert np.allclose(left, (p * (1 - p))[2:4] * 2 * levels.variance)  # (b - a)^2 is twice the variance of two levels


@pytest.mark.parametrize(
    ("starts", "variance"),
    [([np.nan], 1.0), ([60.0, 40.0], 1.0), ([40.0], 1.0), ([[60.0]], 1.0), ([60.0], -1.0), ([60.0], np.inf)],
)
def test_stored_steps_that_cannot_be_are_refused(starts, variance):
    none, some = np.empty((3, 0)), np.arange(3.0)
    levels = Levels(np.array([59.0]), np.array([60.0]), 1.0)
    noise = Autocovariance(np.array([1.0, 0.5]))
    process = NoiseProcess(noise, 1.0, 0, 10.0, np.arange(3), some, some, none, none, np.ones(3), levels)
    content, arrays = process.to_archive()
    NoiseProcess.from_archive(content, arrays)
    with pytest.raises(ValueError, match="steps in the level"):
        NoiseProcess.from_archive(content | {"level_variance": variance}, arrays | {"level_starts": np.array(starts)})
