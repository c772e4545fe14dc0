"""Seasonal naive forecasts."""

import numpy as np
import pandas as pd
import pytest

from torusgp.tables.backtest import SeasonalNaive, season_steps, step_numbers
from torusgp.tables.timeline import Timeline


def seasons_of(times):
    order = pd.Series(times, name="time")
    timeline = Timeline.from_order(order)
    return season_steps(timeline, {"25": 25.0}, order), step_numbers(order, timeline)


@pytest.mark.parametrize(
    ("frequency", "seasons"),
    [
        ("30min", {"day": 48, "week": 336, "year": 17472}),
        ("h", {"day": 24, "week": 168, "year": 8736}),
        ("D", {"week": 7, "year": 364}),
        ("W", {"year": 52}),
        ("MS", {"year": 12}),
        ("QS", {"year": 4}),
        ("YS", {}),
    ],
)
def test_seasons_follow_from_the_step(frequency, seasons):
    found, numbers = seasons_of(pd.date_range("2020-01-01", periods=40, freq=frequency, tz="Europe/Berlin"))
    assert found == seasons
    assert np.diff(numbers)[:20] == pytest.approx(1)


def test_numbers_have_the_periods_that_are_given():
    assert seasons_of(np.arange(0, 100, 0.5))[0] == {"25": 50}


def test_the_season_is_the_one_that_forecasts_the_past_best():
    hours, rng = np.arange(24.0 * 7 * 8), np.random.default_rng(0)
    day = np.cos(2 * np.pi * hours / 24)
    noise = rng.normal(0, 0.1, len(hours))
    seasons = {"day": 24, "week": 168, "year": 8736}
    assert SeasonalNaive.choose(hours, day + noise, seasons, 24).season == "day"
    assert SeasonalNaive.choose(hours, day * (hours % 168 < 120) + noise, seasons, 24).season == "week"
    walk = SeasonalNaive.choose(hours[:30], np.cumsum(noise[:30]), seasons, 24)
    assert (walk.season, walk.n_steps) == ("the last value", 0)


def test_rows_are_those_of_the_season_before():
    hours = np.arange(24.0 * 21)
    naive = SeasonalNaive("day", 24, 1.0, 2.0)
    mean, std = naive.forecast(hours, hours, 24.0 * 21 + np.arange(30))
    np.testing.assert_array_equal(mean, np.append(24 * 20 + np.arange(24), 24 * 20 + np.arange(6)))
    np.testing.assert_allclose(std, 2 * np.sqrt(np.append(np.ones(24), 2 * np.ones(6))))


def test_missing_rows_are_looked_for_further_back():
    hours = np.delete(np.arange(24.0 * 21), 24 * 20 + 3)
    mean, _ = SeasonalNaive("day", 24, 1.0, 1.0).forecast(hours, hours, 24.0 * 21 + np.arange(5))
    assert mean.tolist() == [480, 481, 482, 24 * 19 + 3, 484]


def test_its_error_is_that_of_one_season_ahead():
    hours = np.arange(24.0 * 21)
    naive = SeasonalNaive.choose(hours, 0.5 * hours, {"day": 24}, 24)
    assert (naive.error, naive.std) == (12, 12)


def test_without_a_season_it_is_the_last_value():
    mean, std = SeasonalNaive("the last value", 0, 1.0, 3.0).forecast(
        np.arange(5.0), np.arange(5.0), np.array([5.0, 8.0])
    )
    assert mean.tolist() == [4, 4]
    np.testing.assert_allclose(std, [3, 6])
