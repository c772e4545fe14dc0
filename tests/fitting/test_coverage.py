"""Intervals of the function hold what they promise, in simulations; the benchmark of likelihoods has more of them."""

import numpy as np
import pytest
from scipy.stats import kstest

from benchmarks.likelihoods import coverage, outliers


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", coverage.LIKELIHOODS, ids=lambda one: one.name)
def test_intervals_of_the_function_are_right(likelihood):
    found = [coverage.simulate(likelihood, 2000, seed) for seed in range(24)]
    inside = np.array([one for one, _ in found])
    error = 3 * inside.std() / np.sqrt(len(inside))
    assert 0.92 - error < inside.mean() < 0.97 + error
    levels = np.concatenate([one for _, one in found])
    if len(levels):
        assert kstest(levels[::5], "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_rows_far_off_hardly_change_the_function():
    (figures,) = outliers.run(None, range(2000, 2005)).values()
    ratio = next(one for one in figures if one["label"].startswith("Student-t with outliers"))
    assert ratio["value"] <= 1.2
