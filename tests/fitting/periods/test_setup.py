"""What a regressor learns of its period: starts, moves, and frequencies that a grid can show."""

from itertools import product

import numpy as np
import pytest

from tests.exact_regression import HEXAGONAL
from torusgp import TorusKernel
from torusgp.fitting.learning import inverse_cell
from torusgp.fitting.periods import (
    FoundPeriod,
    Periodogram,
    PeriodSearch,
    Trend,
    TrendColumns,
    _setup,
    below_nyquist,
    check_period_names,
    is_searched,
    set_up_period,
)
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat

GRID = np.stack(np.meshgrid(np.arange(12.0), 0.5 * np.arange(10.0)), axis=-1).reshape(-1, 2)
EXTENT = np.ptp(GRID, axis=0)
TARGETS = np.sin(GRID.sum(axis=1))[:, None]


def set_up(period, learned=None, columns=(0, 1), cartesian=False, X=GRID, sample_weight=None, noise_scale=None):
    rows = X, TARGETS, sample_weight, noise_scale
    return set_up_period(period, learned, *rows, np.array(columns), cartesian, lambda line: None)


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


# --- what is asked for -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", ["auto", [24, "auto"], [None, 7.0], [np.nan, 7.0], ("auto",)])
def test_some_of_a_period_is_searched(period):
    assert is_searched(period)


@pytest.mark.parametrize("period", [1.0, 24, [24, 7], np.array([24.0, 7.0]), np.eye(2), [[1, 0], [0, 1]]])
def test_numbers_are_not_searched(period):
    assert not is_searched(period)


def test_other_words_are_refused():
    with pytest.raises(ValueError, match=r"period must be numbers or 'auto', got 'weekly'"):
        is_searched("weekly")


def test_one_name_may_concern_the_period():
    assert check_period_names(("length_scale", "noise_variance")) is None
    assert check_period_names(("length_scale", "period")) == "period"
    assert check_period_names(["lattice"]) == "lattice"
    with pytest.raises(ValueError, match="learn holds both 'period' and 'lattice'"):
        check_period_names(("period", "lattice"))


# --- given periods -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [3.0, [24.0, 7.0], HEXAGONAL])
def test_a_given_period_that_is_not_learned_is_left_alone(period, calls):
    setup = set_up(period)
    assert setup.periods == [period]
    assert setup.moves is setup.nyquist is setup.search is setup.period_std is setup.trend is None
    assert "options" not in calls


@pytest.mark.parametrize(("learned", "free"), [("period", np.eye(2)), ("lattice", np.ones((2, 2)))])
def test_a_given_period_moves_along_the_inputs_or_as_a_whole(learned, free, calls):
    setup = set_up([4.0, 3.0], learned)
    assert setup.periods == [[4.0, 3.0]]
    assert setup.moves.size == free.sum()
    start, steps = np.diag([1 / 4, 1 / 3]), np.linspace(0.1, 0.4, setup.moves.size)
    moved = setup.moves.inverse_cell(steps, [4.0, 3.0]) - start
    np.testing.assert_array_equal(moved[free == 0], 0)
    np.testing.assert_allclose((2 * np.pi * EXTENT[:, None] * moved)[free == 1], steps, rtol=1e-9)
    np.testing.assert_allclose(setup.nyquist, [0.5, 1.0])
    assert "options" not in calls


def test_a_cell_has_no_periods_along_the_inputs():
    with pytest.raises(ValueError, match="learn holds 'period', but period is a cell: use 'lattice'"):
        set_up(HEXAGONAL, "period")
    assert set_up(HEXAGONAL, "lattice").moves.size == 4


# --- searched periods --------------------------------------------------------------------------------------------


def test_a_period_along_each_input_is_searched(calls):
    calls["found"] = [[4.0, 3.0]]
    setup = set_up("auto")
    np.testing.assert_array_equal(setup.periods, [[4.0, 3.0]])
    np.testing.assert_array_equal(setup.period_std, [0.04, 0.03])
    assert setup.moves is None
    assert setup.trend is setup.search.trend
    np.testing.assert_array_equal(calls["X"], GRID)
    assert calls["options"]["period"] == "auto"
    assert not calls["options"]["lattice"]


def test_what_is_known_stays_and_does_not_move(calls):
    calls["found"] = [[4.0, 3.0]]
    setup = set_up([4.5, "auto"], "period")
    np.testing.assert_array_equal(setup.periods, [[4.5, 3.0]])
    np.testing.assert_array_equal(setup.period_std, [0.0, 0.03])
    assert setup.moves.size == 1
    moved = setup.moves.period(np.array([0.3]), setup.periods[0])
    assert moved[0] == pytest.approx(4.5, rel=1e-14)
    assert moved[1] != 3.0


def test_superposed_periods_of_one_input_are_searched_together(calls):
    calls["found"] = [4.0, 3.0]
    setup = set_up("auto", columns=(0, 0), X=GRID[:, [0, 0]])
    np.testing.assert_array_equal(setup.periods, [[4.0, 3.0]])
    assert calls["X"].shape == (len(GRID), 1)
    assert calls["options"]["max_periods"] == 2


def test_one_period_is_a_number(calls):
    calls["found"] = [4.0]
    setup = set_up("auto", columns=(0,), X=GRID[:, :1])
    assert setup.periods == [4.0]
    assert setup.period_std == 0.04
    assert isinstance(setup.period_std, float)


def test_weights_and_scales_of_the_noise_are_passed_on(calls):
    calls["found"] = [[4.0, 3.0]]
    weight, scale = np.arange(1.0, 121), np.arange(2.0, 122)
    set_up("auto", sample_weight=weight, noise_scale=scale)
    assert calls["options"]["sample_weight"] is weight
    assert calls["options"]["noise_scale"] is scale


@pytest.mark.parametrize("cartesian", [True, False])
def test_a_kernel_that_tells_bases_apart_starts_from_several(calls, cartesian):
    calls["found"] = [[[3.0, 0.4], [-0.5, 2.2]]]
    setup = set_up("auto", "lattice", cartesian=cartesian)
    assert calls["options"]["lattice"]
    assert len(setup.periods) == (1 if cartesian else 4)
    for cell in setup.periods:
        change = np.asarray(cell) @ np.linalg.inv(calls["found"][0])
        np.testing.assert_allclose(change, np.rint(change), atol=1e-9)
    assert setup.moves.size == 4


@pytest.mark.parametrize("factor", [1e-4, 1e5])
def test_bases_to_start_from_do_not_depend_on_units_that_cannot_be_compared(calls, factor):
    cell, scale = np.array([[3.0, 0.4], [-0.5, 2.2]]), np.array([1e-2, 1.0])
    starts = []
    for unit in (scale, scale * [factor, 1.0]):
        calls["found"] = [cell * unit]
        starts.append([start / unit for start in set_up("auto", "lattice", X=GRID * unit).periods])
    np.testing.assert_allclose(starts[0], starts[1], atol=1e-9)


def test_a_weak_period_is_taken_with_a_warning(calls):
    calls["weak"] = [[4.0, 3.0]]
    with pytest.warns(UserWarning, match=r"takes \[4\. 3\.\], but its gain in log evidence of 1 .* is below 5"):
        setup = set_up("auto")
    np.testing.assert_array_equal(setup.periods, [[4.0, 3.0]])


def test_what_gains_nothing_is_not_taken(calls):
    calls["weak"], calls["weak_gain"] = [[4.0, 3.0]], -1.0
    with pytest.raises(ValueError, match=r"period='auto' found 0 of 1 periods"):
        set_up("auto")


def test_too_few_periods_are_told(calls):
    with pytest.raises(ValueError, match=r"period='auto' found 0 of 1 periods: nothing repeats.* periods from 1"):
        set_up("auto")
    calls["found"] = [4.0]
    with pytest.raises(ValueError, match=r"period='auto' found 1 of 2 periods: nothing else repeats"):
        set_up("auto", columns=(0, 0), X=GRID[:, [0, 0]])


@pytest.mark.parametrize(
    ("period", "learned", "columns", "message"),
    [
        ("auto", None, (0, 0, 1), r"columns=\[0, 0, 1\] uses an input several times beside others"),
        ("auto", "lattice", (0, 0), "learn holds 'lattice', which needs period='auto' or a whole cell"),
        ([4.0, "auto"], "lattice", (0, 1), "learn holds 'lattice', which needs period='auto' or a whole cell"),
        ([4.0, "auto", 3.0], None, (0, 1), r"one entry for each of the 2 dimensions, got \[4\.0, 'auto', 3\.0\]"),
    ],
)
def test_searches_that_make_no_sense_are_refused(period, learned, columns, message):
    with pytest.raises(ValueError, match=message):
        set_up(period, learned, columns, X=GRID[:, list(columns)])


# --- frequencies that a grid can show ----------------------------------------------------------------------------

KERNELS = {
    "1-D": (TorusKernel(length_scale=0.05, period=3.0), [1.4]),
    "2-D": (TorusKernel(length_scale=[0.1, 0.3], period=[3.0, 2.0]), [1.7, 2.1]),
    "one axis scattered": (TorusKernel(length_scale=[0.2, 0.3], period=[3.0, 2.0]), [1.7, np.inf]),
    "cell": (TorusKernel(length_scale=[0.2, 0.3], period=HEXAGONAL), [4.2, 5.1]),
    "Cartesian": (TorusKernel(Heat("cartesian"), 0.01, HEXAGONAL), [4.2, 5.1]),
    "3-D": (TorusKernel("matern32", [0.5, 1.0, 1.0], period=2.0), [1.1, 1.1, 1.6]),
}


def half_of_the_frequencies_inside(kernel, nyquist, reach):
    """Frequencies of a box that the grid can show, one of each pair, without zero."""
    dimension = len(nyquist)
    box = np.array(list(product(range(-reach, reach + 1), repeat=dimension)))
    box = box[len(box) // 2 + 1 :]
    waves = box @ np.linalg.inv(kernel.cell(dimension)).T
    return box[(np.abs(waves) <= np.array(nyquist) * (1 + 1e-9)).all(axis=1)]


@pytest.mark.parametrize("size", [9, 20, 41])
@pytest.mark.parametrize("name", KERNELS)
def test_the_largest_coefficients_inside_are_kept(name, size):
    kernel, nyquist = KERNELS[name]
    index_set = adaptive(kernel, size, dimension=len(nyquist))
    found = below_nyquist(index_set, kernel, size, np.array(nyquist))
    assert found.n_components <= size
    waves = found.frequencies @ inverse_cell(kernel.period, len(nyquist)).T
    assert (np.abs(waves) <= np.array(nyquist) * (1 + 1e-9)).all()
    possible = half_of_the_frequencies_inside(kernel, nyquist, {1: 200, 2: 25, 3: 8}[len(nyquist)])
    best = np.sort(kernel.log_coefficients(possible))[::-1][: (size - 1) // 2]
    kept = np.sort(kernel.log_coefficients(found.frequencies[1:]))[::-1]
    np.testing.assert_allclose(kept, best, rtol=1e-9)


def test_a_set_inside_is_returned_as_it_is():
    kernel = TorusKernel(length_scale=1.0, period=[3.0, 2.0])
    index_set = adaptive(kernel, 21)
    for nyquist in ([np.inf, np.inf], [50.0, 50.0]):
        assert below_nyquist(index_set, kernel, 21, np.array(nyquist)) is index_set


def test_the_nyquist_frequency_itself_can_be_seen():
    kernel = TorusKernel(length_scale=0.1, period=3.0)
    found = below_nyquist(adaptive(kernel, 41, dimension=1), kernel, 41, np.array([4 / 3]))
    np.testing.assert_array_equal(np.sort(found.frequencies[:, 0]), np.arange(5))


@pytest.mark.parametrize("index_set", [tensor(2, 4), hyperbolic_cross(2, 6)])
def test_other_sets_only_lose_frequencies(index_set):
    kernel = TorusKernel(length_scale=0.5, period=[3.0, 2.0])
    found = below_nyquist(index_set, kernel, index_set.n_components, np.array([0.7, 1.1]))
    inside = (np.abs(index_set.frequencies / [3.0, 2.0]) <= [0.7, 1.1]).all(axis=1)
    np.testing.assert_array_equal(found.frequencies, index_set.frequencies[inside])
    assert 1 < len(found) < len(index_set)
