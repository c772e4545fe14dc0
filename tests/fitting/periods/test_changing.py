"""Periods of shapes that change, on made series whose period is known."""

import numpy as np
import pytest

from torusgp import Circle, Line, TorusGPRegressor
from torusgp.fitting.periods._changing import find_changing_period

EXTENT = 100.0


def spotted_star(period, turns, seed, n=400, regular=True, noise=0.3):
    """Rows of a shape that repeats with a period and is forgotten over so many turns."""
    rng = np.random.default_rng(seed)
    times = np.arange(n) * EXTENT / n if regular else np.sort(rng.uniform(0, EXTENT, n))
    apart = times[:, None] - times
    covariance = np.exp((np.cos(2 * np.pi * apart / period) - 1) / 0.8**2 - 0.5 * (apart / (turns * period)) ** 2)
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(n))
    return times, root @ rng.normal(size=n) + noise * rng.normal(size=n)


def search(times, y, **limits):
    return find_changing_period(times, y[:, None], np.ones(len(y)), **limits)


@pytest.mark.parametrize(("period", "turns", "regular"), [(2.3, 2.0, True), (4.9, 1.5, False), (6.1, 3.0, False)])
def test_the_period_is_found_within_its_standard_error(period, turns, regular):
    found = search(*spotted_star(period, turns, seed=1, regular=regular))
    assert found.is_clear
    assert abs(found.period - period) <= 3 * found.period_std
    assert found.period_std <= 0.1 * period


def test_units_and_origin_of_time_do_not_matter():
    times, y = spotted_star(4.9, 2.0, seed=2)
    here, there = search(times, y), search(1e4 + 24 * times, 5 - 3 * y)
    np.testing.assert_allclose([there.period, there.period_std], [24 * here.period, 24 * here.period_std], rtol=1e-6)


def test_a_long_gap_parts_the_rows():
    times, y = spotted_star(4.9, 2.0, seed=3)
    there = np.where(times > EXTENT / 2, times + 1234.5, times)
    found = search(there, y)
    assert abs(found.period - 4.9) <= 3 * found.period_std


@pytest.mark.parametrize("seed", range(2))
def test_change_without_a_period_is_not_clear(seed):
    rng = np.random.default_rng(seed)
    times = np.arange(400) * EXTENT / 400
    apart = np.abs(times[:, None] - times)
    y = np.linalg.cholesky(np.exp(-apart / 4.0) + 1e-9 * np.eye(400)) @ rng.normal(size=400)
    assert not search(times, y).is_clear


def test_what_lasts_is_left_to_the_search_for_repetition():
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, EXTENT, 400))
    y = np.sin(2 * np.pi * times / 4.9) + 0.3 * rng.normal(size=400)
    assert not search(times, y).is_clear


def test_too_few_rows_have_none():
    assert search(np.arange(10.0), np.ones(10)) is None
    assert search(*spotted_star(4.9, 2.0, seed=0), shortest=90.0) is None


def test_a_model_of_a_circle_that_forgets_finds_it():
    times, y = spotted_star(6.1, 2.0, seed=1, n=250)
    model = TorusGPRegressor(Circle(0, "auto") * Line(0, length_scale=12.0), n_components=201).fit(times[:, None], y)
    expected = search(times, y)
    assert model.kernel_.period[0] == pytest.approx(expected.period)
    assert model.period_std_ == pytest.approx(expected.period_std)
