"""Rows, the statistics had from them, and the warnings about what they cannot tell."""

import warnings

import numpy as np
import pytest

from tests.expressions import circles, prior_of
from torusgp import SufficientStatistics
from torusgp.engine.backends import MANY_ROWS
from torusgp.fitting.prior import NOISE
from torusgp.fitting.rows import (
    INEXACT,
    Compute,
    Rows,
    RowSource,
    inexactness_ratio,
    transform_tolerance,
    warn_of_phases,
)
from torusgp.kernels.index_sets import tensor
from torusgp.kernels.torus import Axis, Torus


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(30, 2)), rng.normal(size=(30, 2))
    return Rows(X, y, rng.integers(0, 3, 30).astype(float), rng.uniform(1, 2, 30), rng.normal(size=(30, 1)))


@pytest.fixture
def problem():
    """Prior and parameters for two outputs on the unit square."""
    return prior_of(circles([1.0, 1.0]), noise=[0.1, 0.2], intercept=True)


def test_merged_rows_are_the_same_whatever_their_order(rows):
    order = np.random.default_rng(1).permutation(30)
    for one, other in zip(vars(rows.merged()).values(), vars(rows.take(order).merged()).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_merged_rows_count_repetitions(rows):
    times = rows.sample_weight.astype(int)
    parts = (rows.X, rows.y, None, rows.noise_scale, rows.plain)
    repeated = Rows(*(None if part is None else np.repeat(part, times, axis=0) for part in parts))
    for one, other in zip(vars(rows.merged()).values(), vars(repeated.merged()).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def at_scales(parameters, scales):
    return parameters.with_value("x0 * x1: length_scale", np.broadcast_to(scales, 2))


@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_the_source_gives_the_statistics_of_every_set(rows, problem, backend):
    prior, parameters = problem
    source = RowSource(rows, prior, Compute(backend, 1), True, "adaptive")
    options = {"sample_weight": rows.sample_weight, "noise_scale": rows.noise_scale, "plain": rows.plain}
    for length_scale in (1.0, 0.9, 0.3):
        here = at_scales(parameters, length_scale)
        index_set = prior.select(here, 21)
        direct = SufficientStatistics.from_data(rows.X, rows.y, index_set, period=1.0, backend=backend, **options)
        given, expected = source(index_set, here), direct.linear()[0]
        np.testing.assert_allclose(given.gram, expected.gram, atol=1e-10)
        np.testing.assert_allclose(given.moments, expected.moments, atol=1e-10)


@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_length_scales_may_move_a_little_without_another_pass(rows, problem, backend):
    prior, parameters = problem
    source = RowSource(rows, prior, Compute(backend, 1), True, "adaptive")
    here, nearby = (at_scales(parameters, scales) for scales in ([0.8, 0.5], [0.76, 0.52]))
    source(prior.select(here, 61), here)
    first = source.statistics
    source(prior.select(nearby, 61), nearby)
    assert source.statistics is first


def test_another_period_takes_another_pass(rows, problem):
    prior, parameters = problem
    source = RowSource(rows, prior, Compute("dense", 1), True, "adaptive")
    source.covering(prior.select(parameters, 21), parameters)
    first = source.statistics
    source.covering(prior.select(parameters, 21), parameters.with_period(np.array([1.0, 1.1])))
    assert source.statistics is not first


def test_a_given_set_is_not_widened(rows, problem):
    source = RowSource(rows, problem[0], Compute("dense", 1), True, tensor(2, 1))
    source(tensor(2, 1), problem[1])
    assert source.statistics.index_set == tensor(2, 1)


@pytest.mark.parametrize(
    ("noise", "backend", "tolerance"),
    [(0.1, "finufft", 1e-9), (1e-5, "finufft", 1e-14), (1e-9, "dense", 1e-14)],
    ids=["exact enough", "finer transforms", "no transforms"],
)
def test_sums_are_gathered_anew_if_their_rounding_matters(noise, backend, tolerance):
    rng = np.random.default_rng(0)
    rows = Rows(rng.uniform(size=(20_000, 1)), rng.normal(size=(20_000, 1)))
    prior, parameters = prior_of(circles(1.0), noise=noise)
    index_set = prior.select(parameters, 101)
    source = RowSource(rows, prior, Compute("auto", 1), True, "adaptive", tolerance=1e-9)
    assert source.covering(index_set, parameters).backend == "finufft"
    ratio = inexactness_ratio(prior, parameters, index_set) * 20_000
    assert (1e-9 * ratio > INEXACT) == (noise < 0.1)
    refined = source.refined(index_set, parameters)
    assert (refined.backend, refined.tolerance) == (backend, tolerance)


def test_an_intercept_does_not_count_as_inexact():
    free, broad = (prior_of(circles([1.0, 1.0]), intercept=intercept) for intercept in (False, True))
    index_set = free[0].select(free[1], 21)
    assert inexactness_ratio(*broad, index_set) == pytest.approx(inexactness_ratio(*free, index_set))


@pytest.mark.parametrize("noise", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("n_samples", [100, MANY_ROWS, 10**7])
def test_the_tolerance_of_transforms_keeps_their_errors_below_the_prior(noise, n_samples):
    prior, parameters = prior_of(circles(1.0))
    tolerance = transform_tolerance(prior, parameters.with_value(NOISE, [noise]), n_samples)
    assert 1e-14 <= tolerance <= 1e-12
    assert tolerance * n_samples / noise <= INEXACT or tolerance == 1e-14


def torus_of(n_axes):
    return Torus(tuple(Axis(f"x{d}", "circle", d) for d in range(n_axes)), tuple(f"x{d}" for d in range(n_axes)))


def test_integer_hours_with_period_one_are_warned_of():
    with pytest.warns(UserWarning, match=r"48 distinct values of 'x0' fall onto 1 phase.*in the units of X"):
        warn_of_phases(np.arange(48.0)[:, None], torus_of(1), np.array([1.0]))


@pytest.mark.parametrize("span", [0.04, 0.001])
def test_a_dimension_that_spans_little_of_its_period_is_warned_of(span):
    X = np.column_stack([np.linspace(0, 1, 50), np.linspace(3, 3 + 24 * span, 50)])
    with pytest.warns(UserWarning, match="'x1' spans .* of its period"):
        warn_of_phases(X, torus_of(2), np.array([1.0, 24.0]))


@pytest.mark.parametrize(
    ("X", "period"),
    [
        (np.arange(48.0)[:, None], 24.0),
        (np.arange(3.0)[:, None], 1.0),
        (np.repeat([0.0, 6.0, 12.0], 20)[:, None], 24.0),
        (np.random.default_rng(0).uniform(size=(500, 2)), 1.0),
        (np.arange(48_000.0)[:, None], 24.0),
        (np.arange(2_000.0 * 168)[:, None], 168.0),
    ],
    ids=["hours of two days", "three rows", "a few phases by design", "scattered", "hours of years", "hours of weeks"],
)
def test_sound_inputs_are_not_warned_of(X, period):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_phases(X, torus_of(X.shape[1]), np.full(X.shape[1], period))


def test_lines_are_not_warned_of():
    torus = Torus((Axis("x0", "line", 0, 0.0, 47.0),), ("x0",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_phases(np.arange(48.0)[:, None], torus, np.array([1.0]))
