"""Rows, the statistics had from them, and the warnings about what they cannot tell."""

import warnings

import numpy as np
import pytest

from torusgp import SufficientStatistics, TorusKernel
from torusgp.engine.backends import MANY_ROWS
from torusgp.fitting.learning import Hyperparameters
from torusgp.fitting.rows import INEXACT, Compute, Rows, RowSource, transform_tolerance, warn_of_phases
from torusgp.kernels.index_sets import adaptive, tensor


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(30, 2)), rng.normal(size=(30, 2))
    return Rows(X, y, rng.integers(0, 3, 30).astype(float), rng.uniform(1, 2, 30))


def test_merged_rows_are_the_same_whatever_their_order(rows):
    order = np.random.default_rng(1).permutation(30)
    for one, other in zip(vars(rows.merged()).values(), vars(rows.take(order).merged()).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_merged_rows_count_repetitions(rows):
    times = rows.sample_weight.astype(int)
    repeated = Rows(
        *(np.repeat(part, times, axis=0) for part in (rows.X, rows.y)), None, np.repeat(rows.noise_scale, times)
    )
    for one, other in zip(vars(rows.merged()).values(), vars(repeated.merged()).values(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_the_source_gives_the_statistics_of_every_set(rows, backend):
    source = RowSource(rows, Compute(backend, 1), True, "adaptive")
    for length_scale in (1.0, 0.9, 0.3):
        kernel = TorusKernel(length_scale=length_scale)
        index_set = adaptive(kernel, 21, dimension=2)
        direct = SufficientStatistics.from_data(
            rows.X, rows.y, index_set, sample_weight=rows.sample_weight, noise_scale=rows.noise_scale, backend=backend
        )
        given, expected = source(index_set, kernel), direct.linear()[0]
        np.testing.assert_allclose(given.gram, expected.gram, atol=1e-10)
        np.testing.assert_allclose(given.moments, expected.moments, atol=1e-10)


@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_length_scales_may_move_a_little_without_another_pass(rows, backend):
    source = RowSource(rows, Compute(backend, 1), True, "adaptive")
    kernel = TorusKernel(length_scale=[0.8, 0.5])
    source(adaptive(kernel, 61), kernel)
    first = source.statistics
    nearby = TorusKernel(length_scale=[0.76, 0.52])
    source(adaptive(nearby, 61), nearby)
    assert source.statistics is first


def test_a_given_set_is_not_widened(rows):
    source = RowSource(rows, Compute("dense", 1), True, tensor(2, 1))
    source(tensor(2, 1), TorusKernel())
    assert source.statistics.index_set == tensor(2, 1)


@pytest.mark.parametrize("noise", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("n_samples", [100, MANY_ROWS, 10**7])
def test_the_tolerance_of_transforms_keeps_their_errors_below_the_prior(noise, n_samples):
    tolerance = transform_tolerance(Hyperparameters(np.ones(1), np.ones(1), np.array([noise]), 1.0), n_samples)
    assert 1e-14 <= tolerance <= 1e-12
    assert tolerance * n_samples / noise <= INEXACT or tolerance == 1e-14


def test_integer_hours_with_period_one_are_warned_of():
    with pytest.warns(UserWarning, match=r"48 distinct values of dimension 0 fall onto 1 phase.*in the units of X"):
        warn_of_phases(np.arange(48.0)[:, None], TorusKernel(period=1.0))


@pytest.mark.parametrize("span", [0.04, 0.001])
def test_a_dimension_that_spans_little_of_its_period_is_warned_of(span):
    X = np.column_stack([np.linspace(0, 1, 50), np.linspace(3, 3 + 24 * span, 50)])
    with pytest.warns(UserWarning, match="Dimension 1 spans .* of its period"):
        warn_of_phases(X, TorusKernel(period=[1.0, 24.0]))


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
        warn_of_phases(X, TorusKernel(period=period))
