"""Noise as a process in time: its autocovariance, and how it goes on."""

from dataclasses import replace

import numpy as np
import pytest

from torusgp.engine import series
from torusgp.engine.series import Autocovariance, TimeGrid, parzen, summed_products
from torusgp.fitting.noise_process import NoiseProcess


def process(cells, residuals, autocovariance, scales=None):
    n = len(cells)
    return NoiseProcess(
        autocovariance,
        0.5,
        0,
        10.0,
        np.asarray(cells),
        0.5 * np.asarray(cells, dtype=float),
        np.asarray(residuals, dtype=float),
        np.zeros((n, 1)),
        np.empty((n, 0)),
        np.ones(n) if scales is None else scales,
    )


@pytest.fixture
def autoregression():
    return process(np.arange(40), np.random.default_rng(0).normal(size=40), Autocovariance(2.0 * 0.7 ** np.arange(300)))


def test_first_order_autoregression_forgets_geometrically(autoregression):
    ahead = np.arange(1, 20)
    mean, variance = autoregression.mean_and_variance(autoregression.last_time + 0.5 * ahead)
    assert np.allclose(mean, 0.7**ahead * autoregression.residuals[-1], atol=1e-10)
    assert np.allclose(variance, 2.0 * (1 - 0.49**ahead), atol=1e-10)


def test_intervals_grow_from_narrow_to_stationary(autoregression):
    times = autoregression.last_time + 0.5 * np.arange(1, 400)
    _, variance = autoregression.mean_and_variance(times)
    assert (np.diff(variance) > -1e-12).all()
    assert variance[-1] == pytest.approx(autoregression.variance)
    assert np.allclose(np.diag(autoregression.covariance(times[:50])), variance[:50])


def test_paths_have_the_conditional_mean_and_covariance(autoregression):
    times = autoregression.last_time + 0.5 * np.array([1, 2, 5, 30])
    paths = autoregression.sample(times, 40_000, np.random.RandomState(0))
    mean, variance = autoregression.mean_and_variance(times)
    assert np.abs(paths.mean(axis=1) - mean).max() < 0.03
    assert np.abs(np.cov(paths) - autoregression.covariance(times)).max() < 0.06
    assert np.allclose(variance, np.diag(autoregression.covariance(times)))


def test_rows_with_gaps_and_known_scales_are_conditioned_on_as_they_are():
    rng = np.random.default_rng(1)
    cells, scales = np.array([0, 1, 4, 5, 11]), rng.uniform(0.5, 2, 5)
    noise = Autocovariance(0.9 ** np.arange(100), nugget=0.3)
    given = process(cells, rng.normal(size=5), noise, scales)
    covariance = (0.9 ** np.abs(cells[:, None] - cells) + 0.3 * np.eye(5)) * np.outer(scales, scales)
    cross = 0.9 ** (14 - cells) * scales
    mean, variance = given.mean_and_variance([7.0])
    assert mean[0] == pytest.approx(cross @ np.linalg.solve(covariance, given.residuals))
    assert variance[0] == pytest.approx(1.3 - cross @ np.linalg.solve(covariance, cross))


def test_rows_of_long_series_are_regressed_on_those_near_their_gap():
    """Memory of a hundredth after thirteen rows: all others do not matter."""
    cells = np.delete(np.arange(2000), np.r_[300:320, 1200:1203, 1800])
    noise = Autocovariance(0.7 ** np.arange(300))
    given = process(cells, np.random.default_rng(0).normal(size=len(cells)), noise)
    missing = np.array([300, 310, 319, 1201, 1800, 2005])
    covariance, cross = noise.among(cells), noise.between(missing, cells)
    gain = np.linalg.solve(covariance, cross.T).T
    found = np.zeros_like(gain[:, 0]), np.zeros_like(gain[:, 0])
    for near, groups in given.windows(0.5 * missing):
        assert len(near.times) <= 1000
        for some in groups:
            mean, variance = near.mean_and_variance(0.5 * missing[some])
            found[0][some], found[1][some] = mean, variance
    assert np.allclose(found[0], gain @ given.residuals, atol=1e-10)
    assert np.allclose(found[1], 1 - np.einsum("ij,ij->i", gain, cross), atol=1e-10)


def test_times_are_open_where_no_row_is_near():
    cells = np.delete(np.arange(40), np.r_[10:15])
    given = process(cells, np.zeros(35), Autocovariance(0.7 ** np.arange(20)))
    times = 0.5 * np.array([-1.0, 0, 3, 3.3, 9, 9.4, 10, 12, 14, 14.6, 15, 39, 39.1, 100])
    assert given.is_open(times).tolist() == [False] * 6 + [True] * 3 + [False] * 3 + [True] * 2
    with pytest.raises(ValueError, match=r"in gaps between rows; got 1\.65"):
        given.regression([1.65])


def test_gaps_that_no_correlation_reaches_across_are_shortened_and_forgotten():
    """Rows of a cut gap are as far from both sides as noise remembers."""
    noise = Autocovariance(0.7 ** np.arange(50))
    times = np.concatenate([np.arange(100.0), 5000 + np.arange(100.0)])
    grid = TimeGrid.of(times, 2 * noise.n_lags)
    residuals = np.random.default_rng(0).normal(size=200)
    given = replace(process(grid.cells, residuals, noise), times=times, step=1.0)
    mean, variance = given.mean_and_variance([100.0, 2000.0, 4999.0])
    assert np.allclose(mean, [0.7 * residuals[99], 0, 0.7 * residuals[100]], atol=1e-6)
    assert np.allclose(variance, [0.51, 1, 0.51], atol=1e-6)


def test_times_before_the_last_row_are_refused(autoregression):
    with pytest.raises(ValueError, match=r"after the last row, which is at 19\.5"):
        autoregression.mean_and_variance([19.5])


def test_stored_noise_that_does_not_fit_together_is_refused(autoregression):
    content, arrays = autoregression.to_archive()
    again = NoiseProcess.from_archive(content, arrays)
    assert np.array_equal(again.regression([20.0])[0], autoregression.regression([20.0])[0])
    with pytest.raises(ValueError, match="the rows of the stored noise"):
        NoiseProcess.from_archive(content, arrays | {"times": arrays["times"][:-1]})
    with pytest.raises(ValueError, match="not finite"):
        NoiseProcess.from_archive(content | {"step": -1.0}, arrays)


@pytest.mark.parametrize(
    ("times", "step", "is_regular"),
    [
        (np.arange(50) / 24, 1 / 24, True),
        (np.delete(np.arange(50.0), [3, 4, 20]), 1.0, True),
        (np.cumsum([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] * 3).astype(float), 30.4, True),
        (np.sort(np.random.default_rng(0).uniform(0, 50, 80)), None, False),
        (np.repeat(np.arange(30.0), 2), 0.5, False),
    ],
)
def test_grids_follow_the_times(times, step, is_regular):
    grid = TimeGrid.of(times)
    assert grid.is_regular == is_regular
    assert len(grid) == len(times)
    assert (np.diff(grid.cells) >= (1 if is_regular else 0)).all()
    if step is not None:
        assert grid.step == pytest.approx(step, rel=0.02)


def test_long_gaps_are_shortened():
    times = np.concatenate([np.arange(100.0), 1e9 + np.arange(100.0)])
    assert TimeGrid.of(times).n_cells == 239


@pytest.mark.parametrize("gaps", [False, True])
def test_product_with_the_covariance_is_that_of_the_matrix(gaps):
    rng = np.random.default_rng(2)
    times = np.sort(rng.uniform(0, 90, 120)) if gaps else np.arange(120.0)
    grid = TimeGrid.of(times)
    noise = Autocovariance(parzen(25) * 1.7, nugget=0.2)
    columns, size = rng.normal(size=(120, 3)), noise.transform_size(grid)
    whitened = np.empty((noise.whitened_rows(grid, size), 3))
    whitened[:120] = columns
    noise.whiten(whitened, grid, size)
    assert np.allclose(whitened.T @ whitened, columns.T @ noise.among(grid.cells) @ columns)


@pytest.mark.parametrize("kind", ["regular", "gaps", "irregular", "repeated"])
def test_autocovariance_is_found_and_positive_definite(kind):
    rng = np.random.default_rng(3)
    n = 6000
    fine = np.empty(4 * n)
    fine[0] = 0.0
    shocks = rng.normal(0, np.sqrt(1 - 0.95**2), 4 * n)
    for i in range(1, len(fine)):
        fine[i] = 0.95 * fine[i - 1] + shocks[i]
    where = {
        "regular": np.arange(n),
        "gaps": np.delete(np.arange(n), np.r_[500:700, 2000:2500, 3000:5000:3]),
        "irregular": np.sort(rng.choice(4 * n, n, replace=False)),
        "repeated": np.repeat(np.arange(n // 2), 2),
    }[kind]
    nugget = 0.5 if kind in ("irregular", "repeated") else 0.0
    residuals = fine[where] + np.sqrt(nugget) * rng.normal(size=len(where))
    between = np.random.default_rng(4).uniform(-0.4, 0.4, len(where)) if kind == "irregular" else 0.0
    grid = TimeGrid.of(where + between)
    assert grid.is_regular == (nugget == 0)
    found = Autocovariance.of_residuals(residuals, grid, 400)
    assert found.variance == pytest.approx(np.mean(residuals**2))
    assert found.nugget == pytest.approx(nugget, abs=0.05)
    lags = np.array([1, 5, 10, 20])
    expected = 0.95 ** (lags * grid.step)
    assert np.abs(found.values[lags] / parzen(400)[lags] - expected).max() < 0.2
    some = grid.cells[:400]
    assert np.linalg.eigvalsh(found.among(some))[0] > 0


def test_where_no_rows_share_a_cell_small_lags_tell_the_nugget():
    """A straight line through the first two lags: without residuals at lag zero, what is above it is a nugget."""
    assert series._extrapolated(np.array([9.0, 5.0, 4.0, 1.0])) == 6.0
    assert series._extrapolated(np.array([9.0, 5.0])) == 9.0
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.8, 1.2, 4000))
    residuals = np.cos(times / 40) * np.sqrt(2) + 0.5 * rng.normal(size=4000)
    found = Autocovariance.of_residuals(residuals, TimeGrid.of(times, step=0.4), 40)
    assert found.nugget == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("kind", ["regular", "irregular"])
def test_what_is_not_known_of_a_function_is_no_noise(kind):
    """A wave of unknown size in the residuals, of the variance that a posterior would state."""
    rng = np.random.default_rng(5)
    times = np.arange(4000.0) if kind == "regular" else np.sort(rng.uniform(0, 4000, 4000))
    grid = TimeGrid.of(times)
    waves = np.column_stack([np.cos(2 * np.pi * times / 800), np.sin(2 * np.pi * times / 800)])
    noise = rng.normal(size=4000)
    residuals = noise + np.sqrt(2) * waves[:, 0]
    unknown = np.sqrt(1.0) * waves
    less = float(np.sum(unknown**2)), summed_products(unknown, grid, 100)
    found = Autocovariance.of_residuals(residuals, grid, 100, less)
    assert found.variance == pytest.approx(np.mean(noise**2), rel=0.1)
    assert np.abs(found.values[1:]).max() < 0.1
    assert Autocovariance.of_residuals(residuals, grid, 100).values[1:].max() > 0.8


def test_products_are_sums_over_pairs():
    rng = np.random.default_rng(6)
    grid = TimeGrid.of(np.sort(rng.uniform(0, 30, 40)))
    vectors = rng.normal(size=(40, 3))
    lags = np.abs(grid.cells[:, None] - grid.cells)
    products = vectors @ vectors.T
    once = np.array([products[lags == lag].sum() for lag in range(10)]) / np.where(np.arange(10), 2, 1)
    assert np.allclose(summed_products(vectors, grid, 10), once)


def test_an_estimated_spectrum_varies_as_it_says():
    rng, grid = np.random.default_rng(0), TimeGrid.of(np.arange(200.0))
    found = [Autocovariance.of_residuals(rng.normal(size=200), grid, 30) for _ in range(400)]
    powers = np.array([one.power(240)[10:-10:20] for one in found])
    spread = powers.var(axis=0) / powers.mean(axis=0) ** 2
    assert found[0].relative_variance(200) == pytest.approx(spread.mean(), rel=0.15)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("nugget", [0.0, 0.6])
def test_rows_count_as_one_by_their_squared_correlations(gaps, nugget):
    rng = np.random.default_rng(0)
    times = np.sort(rng.choice(400, 150, replace=False)).astype(float)
    if gaps:
        times = np.sort(rng.uniform(0, 300, 150))
    grid, noise = TimeGrid.of(times), Autocovariance(0.9 ** np.arange(40), nugget)
    matrix = noise.among(grid.cells) / noise.variance
    assert noise.redundancy(grid) == pytest.approx(np.mean(np.sum(matrix**2, axis=1)))
    assert noise.redundancy(grid) > 1
    assert Autocovariance.white(2.0).redundancy(grid) == 1
