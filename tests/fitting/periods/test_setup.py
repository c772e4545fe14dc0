"""What a regressor learns of its period: starts and moves."""

import numpy as np
import pytest

from tests.exact_regression import HEXAGONAL
from torusgp import Circle, Line
from torusgp.estimators.short_form import resolve_kernel
from torusgp.fitting.periods import (
    FoundPeriod,
    Periodogram,
    PeriodSearch,
    Trend,
    TrendColumns,
    _setup,
    set_up_period,
)
from torusgp.fitting.rows import Rows
from torusgp.kernels.resolve import Layout, resolve
from torusgp.kernels.spectra import Heat

GRID = np.stack(np.meshgrid(np.arange(12.0), 0.5 * np.arange(10.0)), axis=-1).reshape(-1, 2)
EXTENT = np.ptp(GRID, axis=0)
TARGETS = np.sin(GRID.sum(axis=1))[:, None]


def set_up_model(model, X=GRID, sample_weight=None, noise_scale=None):
    rows = Rows(Layout(model.torus, ())(X)[0], TARGETS, sample_weight, noise_scale)
    return set_up_period(model, rows, lambda line: None)


def set_up(period, learned=(), kernel=None, X=GRID, sample_weight=None, noise_scale=None):
    """Set up the period of the short form; learned lines of slow change come after the periodic axes."""
    model = resolve_kernel(kernel, period, 1.0, X, None, frozenset(learned))
    return set_up_model(model, X, sample_weight, noise_scale)


def periodic(period, n=2):
    """What concerns the first axes."""
    return period[:n, :n] if period.ndim == 2 else period[:n]


@pytest.fixture
def calls(monkeypatch):
    """Searches that are asked for; they find what the test puts under ``found`` and, below the wanted gain, others."""
    record = {"found": [], "weak": [], "weak_gain": 1.0}

    def find_period(X, y, **options):
        record["X"], record["options"] = X, options
        trend = Trend(TrendColumns.slow(X.shape[1]), X.mean(axis=0), np.ptp(X, axis=0), np.zeros((9, 1)), None)
        made = [
            FoundPeriod(np.asarray(period) if np.ndim(period) else period, np.asarray(period) / 100, 0.0, gain, 9.0)
            for name, gain in (("found", 9.0), ("weak", record["weak_gain"]))
            for period in record[name]
        ]
        periodogram = Periodogram((np.zeros(1),), np.zeros(1))
        return PeriodSearch(
            tuple(made[: len(record["found"])]), tuple(made), periodogram, 5.0, trend, np.ones(2), np.ones((2, 2))
        )

    monkeypatch.setattr(_setup, "find_period", find_period)
    return record


# --- given periods -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [3.0, [24.0, 7.0], HEXAGONAL])
def test_a_given_period_that_is_not_learned_is_left_alone(period, calls):
    setup = set_up(period)
    expected = period if np.ndim(period) == 2 else np.broadcast_to(period, 2)
    np.testing.assert_array_equal(setup.periods, [expected])
    assert setup.moves is setup.search is setup.period_std is None
    assert "options" not in calls


@pytest.mark.parametrize(("learned", "free"), [("period", np.eye(2)), ("lattice", np.ones((2, 2)))])
def test_a_given_period_moves_along_the_inputs_or_as_a_whole(learned, free, calls):
    setup = set_up([4.0, 3.0], [learned])
    (start,) = setup.periods
    assert setup.moves.size == free.sum()
    steps = np.linspace(0.1, 0.4, setup.moves.size)
    moved = setup.moves.inverse_cell(steps, start) - np.diag([1 / 4, 1 / 3])
    np.testing.assert_allclose(moved[free == 0], 0, atol=1e-15)
    np.testing.assert_allclose((2 * np.pi * EXTENT[:, None] * moved)[free == 1], steps, rtol=1e-9)
    assert "options" not in calls


def test_a_cell_moves_as_a_whole():
    assert set_up(HEXAGONAL, ["lattice"]).moves.size == 4


def test_circles_move_within_their_bounds_and_others_not_at_all():
    model = resolve(Circle(0, 4.0, period_bounds=(3.9, 4.2)) * Circle(1, 3.0) + Line(0), GRID)
    setup = set_up_model(model)
    assert setup.moves.size == 1
    ends = [setup.moves.period(end, setup.periods[0])[0] for end in setup.moves.limits(setup.periods[0]).T]
    np.testing.assert_allclose(ends, [4.2, 3.9])


# --- searched periods --------------------------------------------------------------------------------------------


def test_a_period_along_each_input_is_searched(calls):
    calls["found"] = [[4.0, 3.0]]
    setup = set_up("auto")
    np.testing.assert_array_equal([periodic(one) for one in setup.periods], [[4.0, 3.0]])
    np.testing.assert_array_equal(setup.period_std, [0.04, 0.03, 0.0, 0.0])
    assert setup.moves is None
    np.testing.assert_array_equal(calls["X"], GRID)
    assert np.isnan(calls["options"]["period"]).all()
    assert not calls["options"]["lattice"]


def test_what_is_known_stays_and_does_not_move(calls):
    calls["found"] = [[4.0, 3.0]]
    setup = set_up([4.5, "auto"], ["period"])
    np.testing.assert_array_equal(calls["options"]["period"], [4.5, np.nan])
    np.testing.assert_array_equal(setup.axes, [0, 1])
    np.testing.assert_array_equal([periodic(one) for one in setup.periods], [[4.5, 3.0]])
    np.testing.assert_array_equal(periodic(setup.period_std), [0.0, 0.03])
    assert setup.moves.size == 1
    moved = setup.moves.period(np.array([0.3]), setup.periods[0])
    assert moved[0] == pytest.approx(4.5, rel=1e-14)
    assert moved[1] != 3.0


def test_superposed_periods_of_one_input_are_searched_together(calls):
    calls["found"] = [4.0, 3.0]
    setup = set_up_model(resolve(Circle(0, "auto") * Circle(0, "auto"), GRID))
    np.testing.assert_array_equal(setup.periods, [[4.0, 3.0]])
    assert calls["X"].shape == (len(GRID), 1)
    assert calls["options"]["max_periods"] == 2
    assert setup.moves.size == 2


def test_a_known_period_of_the_same_input_is_told_to_the_search(calls):
    calls["found"] = [4.0]
    setup = set_up_model(resolve(Circle(0, "auto") * Circle(0, 3.0) + Circle(1, 2.0), GRID))
    np.testing.assert_array_equal(setup.periods, [[4.0, 3.0, 2.0]])
    np.testing.assert_array_equal(calls["options"]["period"], [np.nan, 3.0])
    assert calls["options"]["max_periods"] == 1
    assert setup.moves.size == 1


def test_bounds_of_a_circle_are_limits_of_the_search(calls):
    calls["found"] = [4.0]
    set_up_model(resolve(Circle(0, "auto", period_bounds=(2.0, 5.0)), GRID))
    assert (calls["options"]["min_period"], calls["options"]["max_period"]) == (2.0, 5.0)


def test_one_period_is_searched_along_one_input(calls):
    calls["found"] = [4.0]
    setup = set_up("auto", X=GRID[:, :1])
    np.testing.assert_array_equal([periodic(one, 1) for one in setup.periods], [[4.0]])
    np.testing.assert_array_equal(setup.period_std, [0.04, 0.0])


def test_weights_and_scales_of_the_noise_are_passed_on(calls):
    calls["found"] = [[4.0, 3.0]]
    weight, scale = np.arange(1.0, 121), np.arange(2.0, 122)
    set_up("auto", sample_weight=weight, noise_scale=scale)
    assert calls["options"]["sample_weight"] is weight
    assert calls["options"]["noise_scale"] is scale


@pytest.mark.parametrize("cartesian", [True, False])
def test_a_kernel_that_tells_bases_apart_starts_from_several(calls, cartesian):
    calls["found"] = [[[3.0, 0.4], [-0.5, 2.2]]]
    setup = set_up("auto", ["lattice"], Heat("cartesian") if cartesian else None)
    assert calls["options"]["lattice"]
    assert len(setup.periods) == (1 if cartesian else 4)
    for cell in setup.periods:
        change = periodic(cell) @ np.linalg.inv(calls["found"][0])
        np.testing.assert_allclose(change, np.rint(change), atol=1e-9)
        assert not cell[:2, 2:].any()
    assert setup.moves.size == 4


@pytest.mark.parametrize("factor", [1e-4, 1e5])
def test_bases_to_start_from_do_not_depend_on_units_that_cannot_be_compared(calls, factor):
    cell, scale = np.array([[3.0, 0.4], [-0.5, 2.2]]), np.array([1e-2, 1.0])
    starts = []
    for unit in (scale, scale * [factor, 1.0]):
        calls["found"] = [cell * unit]
        starts.append([periodic(start) / unit for start in set_up("auto", ["lattice"], X=GRID * unit).periods])
    np.testing.assert_allclose(starts[0], starts[1], atol=1e-9)


def test_a_weak_period_is_taken_with_a_warning(calls):
    calls["weak"] = [[4.0, 3.0]]
    with pytest.warns(UserWarning, match=r"takes \[4\. 3\.\], but its gain in log evidence of 1 .* is below 5"):
        setup = set_up("auto")
    np.testing.assert_array_equal([periodic(one) for one in setup.periods], [[4.0, 3.0]])


def test_what_gains_nothing_is_not_taken(calls):
    calls["weak"], calls["weak_gain"] = [[4.0, 3.0]], -1.0
    with pytest.raises(ValueError, match=r"period='auto' found 0 of 1 periods"):
        set_up("auto")


def test_too_few_periods_are_told(calls):
    with pytest.raises(ValueError, match=r"period='auto' found 0 of 1 periods: nothing repeats.* periods from 1"):
        set_up("auto")
    calls["found"] = [4.0]
    with pytest.raises(ValueError, match=r"period='auto' found 1 of 2 periods: nothing else repeats"):
        set_up_model(resolve(Circle(0, "auto") * Circle(0, "auto"), GRID))


def test_several_periods_of_one_input_beside_others_are_not_searched():
    unknown = Circle(0, "auto") * Circle(0, "auto") * Circle(1, "auto")
    with pytest.raises(ValueError, match="are to be found, but an input has several beside those of others"):
        set_up_model(resolve(unknown, GRID))
