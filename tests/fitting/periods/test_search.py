"""Searches for periods and lattices: what moves with the data moves the result, and what cannot work is named."""

import warnings

import numpy as np
import pytest
from scipy.signal import lfilter

from torusgp import find_period
from torusgp.fitting.periods import MIN_GAIN
from torusgp.fitting.periods._candidates import same_lattice
from torusgp.fitting.periods._checks import check_known, check_rows
from torusgp.kernels.lattices import canonical_signs

STANDARD_ERRORS = 4  # within which an estimate has to lie
OPTIMUM = 1e-4  # relative: where two climbs to the same maximum of the evidence stop
CELL = np.array([[3.0, 0.4], [-0.5, 2.2]])
CELL_3D = np.array([[3.0, 0.4, 0.0], [-0.5, 2.2, 0.3], [0.2, 0.1, 2.6]])
PERIOD, OTHER = 4.7, 11.9


def wave(t, period, phase=0.0):
    return np.sin(2 * np.pi * t / period + phase)


def make_series(n=120, noise=0.3, n_outputs=None, seed=0):
    """Rows over 60 units of a function of period 4.7 with a second harmonic; outputs differ in phase."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 60, n)
    y = np.stack([wave(t, PERIOD, i) + 0.6 * wave(t, PERIOD / 2, 1 + i) for i in range(n_outputs or 1)], axis=1)
    y += noise * rng.normal(size=y.shape)
    return t, y if n_outputs else y[:, 0]


def make_superposed(n=200, seed=0):
    t, y = make_series(n, seed=seed)
    return t, y + 0.9 * wave(t, OTHER)


def make_plane(n=250, noise=0.3, seed=0):
    """Rows of a function of period 24 along the first input and 7 along the second."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2)) * [90, 50]
    y = wave(X[:, 0], 24) * (1 + 0.5 * wave(X[:, 1], 7)) + wave(X[:, 1], 7, 1)
    return X, y + noise * rng.normal(size=n)


def make_lattice(n=250, noise=0.2, n_outputs=None, seed=0):
    """Rows of a function on an oblique lattice."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 20, (n, 2))
    u, v = 2 * np.pi * np.linalg.solve(CELL.T, X.T)
    y = np.stack([np.sin(u + i) + np.cos(v - i) + np.cos(u + v) for i in range(n_outputs or 1)], axis=1)
    y += noise * rng.normal(size=y.shape)
    return X, y if n_outputs else y[:, 0]


def assert_close(found, expected, std):
    assert (np.abs(found - expected) <= STANDARD_ERRORS * np.asarray(std)).all()


def assert_is_cell(found, expected):
    """The lattice is the expected one, in canonical form, and no entry is off by more than its error allows."""
    assert same_lattice(found.period, expected)
    change = np.rint(found.period @ np.linalg.inv(expected))
    assert_close(found.period, change @ expected, found.period_std)
    lengths = np.linalg.norm(found.period, axis=1)
    assert (np.diff(lengths) > 0).all()
    np.testing.assert_array_equal(canonical_signs(found.period), found.period)


@pytest.fixture(scope="module")
def series_search():
    return find_period(*make_series())


@pytest.fixture(scope="module")
def plane_search():
    return find_period(*make_plane())


@pytest.fixture(scope="module")
def lattice_search():
    return find_period(*make_lattice(), lattice=True)


# --- one input ---------------------------------------------------------------------------------------------------


def test_a_period_is_found_within_its_standard_error(series_search):
    (found,) = series_search
    assert_close(found.period, PERIOD, found.period_std)
    assert 0 < found.period_std < 0.01 * PERIOD
    assert MIN_GAIN <= found.gain <= found.gain_over_line


def test_a_search_is_a_sequence_whose_members_lead_the_candidates(series_search):
    assert len(series_search) == 1
    assert series_search[0] is series_search.found[0] is series_search.candidates[0]
    assert all(np.isnan(other.gain) for other in series_search.candidates[1:])
    assert series_search.min_gain == MIN_GAIN
    assert np.isinf(series_search.nyquist).all()


@pytest.mark.parametrize(("factor", "shift"), [(1e-6, 0.0), (86400.0, -1e5)])
def test_the_period_moves_with_the_units_of_the_input(series_search, factor, shift):
    t, y = make_series()
    (moved,) = find_period(factor * t + shift, y)
    assert moved.period == pytest.approx(factor * series_search[0].period, rel=OPTIMUM)
    assert moved.period_std == pytest.approx(factor * series_search[0].period_std, rel=0.01)
    assert moved.gain == pytest.approx(series_search[0].gain, abs=0.1)


def test_the_period_does_not_depend_on_the_units_of_the_target_or_the_direction_of_the_input(series_search):
    t, y = make_series()
    (moved,) = find_period(-t, 1e5 - 1e3 * y)
    assert moved.period == pytest.approx(series_search[0].period, rel=OPTIMUM)
    assert moved.log_evidence == pytest.approx(series_search[0].log_evidence, abs=0.1)
    assert moved.gain == pytest.approx(series_search[0].gain, abs=0.1)


def test_the_order_of_the_rows_does_not_matter(series_search):
    t, y = make_series()
    order = np.random.default_rng(1).permutation(len(t))
    (moved,) = find_period(t[order], y[order])
    assert moved.period == pytest.approx(series_search[0].period, rel=OPTIMUM)


def test_a_search_is_deterministic(series_search):
    again = find_period(*make_series())
    assert again[0].period == series_search[0].period
    assert again[0].gain == series_search[0].gain
    np.testing.assert_array_equal(again.periodogram.power, series_search.periodogram.power)
    np.testing.assert_array_equal(again.trend.weights, series_search.trend.weights)


def test_a_column_is_as_good_as_a_vector(series_search):
    t, y = make_series()
    assert find_period(t[:, None], y[:, None])[0].period == series_search[0].period


def test_slow_change_does_not_hide_a_period(series_search):
    t, y = make_series()
    (found,) = find_period(t, y + 20 - 0.3 * t + 0.002 * t**2)
    assert_close(found.period, PERIOD, found.period_std)
    assert found.period == pytest.approx(series_search[0].period, abs=2 * found.period_std)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    t = np.arange(80.0)  # on a grid, the highest frequency does not depend on the number of rows
    y = wave(t, 9.3) + 0.3 * rng.normal(size=80)
    counts = rng.integers(1, 4, 80)
    (weighted,) = find_period(t, y, sample_weight=counts, max_periods=1)
    (repeated,) = find_period(np.repeat(t, counts), np.repeat(y, counts), max_periods=1)
    assert weighted.period == pytest.approx(repeated.period, rel=OPTIMUM)
    assert weighted.period_std == pytest.approx(repeated.period_std, rel=0.01)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=0.1)
    assert weighted.gain == pytest.approx(repeated.gain, abs=0.2)


def test_rows_of_weight_zero_do_not_count(series_search):
    t, y = make_series()
    rng = np.random.default_rng(1)
    wrong = rng.uniform(-500, 500, 30), 100 * rng.normal(size=30)
    weight = np.append(np.ones(len(t)), np.zeros(30))
    search = find_period(np.append(t, wrong[0]), np.append(y, wrong[1]), sample_weight=weight)
    assert search[0].period == series_search[0].period


def test_rows_count_by_the_inverse_variance_of_their_noise():
    t, y = make_series()
    rng = np.random.default_rng(1)
    weight, scale = rng.integers(1, 4, len(t)), rng.uniform(0.5, 3, len(t))
    _, _, found = check_rows(t, y, weight, scale)
    np.testing.assert_allclose(found * scale**2 / weight, (found * scale**2 / weight)[0])
    assert found.sum() == pytest.approx(weight.sum())


def test_a_common_noise_scale_changes_nothing(series_search):
    t, y = make_series()
    (found,) = find_period(t, y, noise_scale=np.full(len(t), 7.0))
    assert found.period == pytest.approx(series_search[0].period, rel=OPTIMUM)
    assert found.gain == pytest.approx(series_search[0].gain, abs=0.1)


def test_rows_of_known_large_noise_do_not_hide_the_period(series_search):
    t, y = make_series()
    rng = np.random.default_rng(1)
    scale = np.where(rng.uniform(size=len(t)) < 0.2, 50.0, 1.0)
    noisy = y + np.where(scale > 1, 15 * rng.normal(size=len(t)), 0)
    (found,) = find_period(t, noisy, noise_scale=scale, max_periods=1)
    assert_close(found.period, PERIOD, found.period_std)
    assert found.period_std > series_search[0].period_std


def test_an_input_with_a_known_period_may_have_no_part():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 60, (200, 2))
    y = wave(X[:, 1], PERIOD) + 0.3 * rng.normal(size=200)
    (found,) = find_period(X, y, period=[24, "auto"])
    assert_close(found.period[1], PERIOD, found.period_std[1])


def test_a_second_output_sharpens_the_period(series_search):
    (both,) = find_period(*make_series(n_outputs=2))
    assert_close(both.period, PERIOD, both.period_std)
    assert both.period_std < series_search[0].period_std
    assert both.gain > series_search[0].gain


def test_an_output_of_noise_does_not_hide_the_period_of_another():
    t, y = make_series()
    noise = np.random.default_rng(5).normal(size=len(t))
    (found,) = find_period(t, np.column_stack([noise, y]), max_periods=1)
    assert_close(found.period, PERIOD, found.period_std)


def test_harmonics_alone_tell_their_fundamental():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 60, 150)
    y = wave(t, PERIOD / 2) + wave(t, PERIOD / 3, 1) + 0.3 * rng.normal(size=150)
    (found,) = find_period(t, y, max_periods=1)
    assert_close(found.period, PERIOD, found.period_std)


def test_noise_has_no_period():
    rng = np.random.default_rng(0)
    search = find_period(rng.uniform(0, 60, 150), rng.normal(size=150))
    assert len(search) == 0
    assert search.trend.mean(np.array([[30.0]])) == pytest.approx(0, abs=0.5)


def few_rows(n, seed, scattered):
    """A clear sine of five and a half turns."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, n, n)) if scattered else np.arange(float(n))
    return t, np.sin(11 * np.pi * t / n + seed) + 0.15 * rng.normal(size=n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "scattered"), [(25, False), (30, True), (50, True)])
def test_a_clear_sine_is_found_in_few_rows(n, scattered, seed):
    search = find_period(*few_rows(n, seed, scattered))
    assert len(search) == 1
    assert search[0].period == pytest.approx(n / 5.5, rel=0.02)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scattered", [False, True])
def test_a_clear_sine_is_found_in_twenty_rows_or_they_are_said_to_be_too_few(scattered, seed):
    """Beside slow change, a random walk of twenty rows is a sine with a chance of some percent."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        search = find_period(*few_rows(20, seed, scattered))
    assert search.candidates[0].period == pytest.approx(20 / 5.5, rel=0.03)
    assert len(search) == 1 or "too few to tell any but a very clear one" in str(told[0].message)


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_without_a_period_are_said_to_be_too_few(seed):
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.normal(size=25)) if seed % 2 else rng.normal(size=25)
    with pytest.warns(UserWarning, match="No period was found in 25 rows, which are too few"):
        assert not find_period(np.sort(rng.uniform(0, 25, 25)), y)


def test_fewer_than_two_turns_are_slow_change():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 10, 150)
    assert len(find_period(t, wave(t, 7.0) + 0.1 * rng.normal(size=150))) == 0


def test_a_grid_has_a_nyquist_frequency_beyond_which_nothing_is_found():
    rng = np.random.default_rng(0)
    t = 0.5 * np.arange(120)
    search = find_period(t, wave(t, 6.2) + 0.3 * rng.normal(size=120), max_periods=1)
    assert search.nyquist[0] == pytest.approx(1.0)
    assert_close(search[0].period, 6.2, search[0].period_std)
    assert search.periodogram.frequencies[0].max() <= 1.0 + 1e-9


def observe(n, period, noise, seed, *, nightly=True):
    """Brightness of a star that pulsates, at Julian days in random nights or at random times."""
    rng = np.random.default_rng(seed)
    t = rng.choice(900, n) + 0.8 + 0.35 * rng.beta(2, 2, n) if nightly else rng.uniform(0, 900, n)
    t = np.sort(t) + 2457000.0
    y = wave(t, period) + 0.5 * wave(t, period / 2, 0.6) + 0.25 * wave(t, period / 3, 1.2)
    return t, y + noise * rng.normal(size=n)


@pytest.mark.parametrize("nightly", [True, False], ids=["nightly", "any_time"])
@pytest.mark.parametrize(("n", "period"), [(100, 0.5674321), (420, 0.5674321), (420, 0.21), (420, 3.7), (1000, 0.35)])
def test_stars_pulsate_faster_than_they_are_observed(n, period, nightly):
    t, y = observe(n, period, 0.2, seed=1, nightly=nightly)
    search = find_period(t, y)
    assert len(search) == 1
    assert_close(search[0].period, period, search[0].period_std)
    assert search.searched[0, 0] < period < search.searched[1, 0] < 900


def test_a_fast_wave_beside_a_slow_one():
    t, y = observe(420, 12.3, 0.2, seed=2)
    fast, slow = sorted(find_period(t, y + wave(t, 0.4567)), key=lambda found: found.period)  # not its alias of 5.27
    assert_close(fast.period, 0.4567, fast.period_std)
    assert_close(slow.period, 12.3, slow.period_std)


def test_the_shortest_period_is_kept():
    t, y = observe(420, 0.5674321, 0.2, seed=1, nightly=False)
    search = find_period(t, y, min_period=1.0)
    assert search.searched[0, 0] == 1.0
    assert search[0].period == pytest.approx(2 * 0.5674321, rel=1e-4)  # the shortest multiple that is allowed


def test_noise_has_no_fast_period():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert len(find_period(rng.uniform(0, 900, 100), rng.normal(size=100))) == 0


def test_progress_is_told():
    lines = []
    find_period(*make_series(), max_periods=1, report=lines.append)
    assert any("sinusoids stand out" in line for line in lines)
    assert any("log evidence" in line for line in lines)


# --- superposed periods ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def superposed_search():
    return find_period(*make_superposed())


def test_superposed_periods_are_found_best_first(superposed_search):
    assert len(superposed_search) == 2
    by_period = sorted(superposed_search, key=lambda one: one.period)
    for one, true in zip(by_period, (PERIOD, OTHER), strict=True):
        assert_close(one.period, true, one.period_std)
    assert superposed_search[0].gain >= superposed_search[1].gain >= MIN_GAIN


def test_the_number_of_superposed_periods_is_bounded():
    assert len(find_period(*make_superposed(), max_periods=1)) <= 1


def test_what_is_unknown_is_found_beside_what_is_known(superposed_search):
    (found,) = find_period(*make_superposed(), period=[OTHER, "auto"])
    assert_close(found.period, PERIOD, found.period_std)
    expected = min(superposed_search, key=lambda one: one.period)
    assert found.period == pytest.approx(expected.period, abs=found.period_std)
    assert found.gain >= MIN_GAIN


@pytest.mark.parametrize("unknown", ["auto", None, np.nan, float("nan")])
@pytest.mark.parametrize("dimension", [1, 2])
def test_what_is_unknown_may_be_written_in_several_ways(unknown, dimension):
    np.testing.assert_array_equal(check_known([24, unknown], dimension), [24.0, np.nan])


def test_a_known_period_is_not_found_again():
    t, y = make_series()
    assert len(find_period(t, y, period=[PERIOD, "auto"])) == 0


# --- limits ------------------------------------------------------------------------------------------------------


def test_longer_periods_than_allowed_are_not_found():
    search = find_period(*make_superposed(), max_period=7.0)
    assert_close(search[0].period, PERIOD, search[0].period_std)
    assert all(one.period <= 7.0 for one in search.candidates)


def test_a_limit_that_allows_the_period_does_not_change_it(series_search):
    (found,) = find_period(*make_series(), min_period=4.0, max_period=6.0, max_periods=1)
    assert found.period == pytest.approx(series_search[0].period, rel=OPTIMUM)


def test_by_default_a_period_has_to_be_seen_twice():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 100, 150)
    search = find_period(t, np.sign(wave(t, 70.0)) + 0.1 * rng.normal(size=150))
    assert all(one.period <= 50.0 for one in search.candidates)


def test_a_gain_below_the_wanted_one_is_not_reported(series_search):
    gain = series_search[0].gain
    search = find_period(*make_series(), min_gain=gain + 1, max_periods=1)
    assert len(search) == 0
    assert search.candidates[0].period == pytest.approx(series_search[0].period, rel=OPTIMUM)
    assert search.candidates[0].gain == pytest.approx(gain, abs=0.1)
    assert len(find_period(*make_series(), min_gain=gain - 1, max_periods=1)) == 1


def test_of_many_rows_the_same_ones_are_taken():
    t, y = make_series(300)
    chosen = np.sort(np.random.default_rng(0).choice(300, 120, replace=False))
    some, limited = find_period(t[chosen], y[chosen]), find_period(t, y, max_samples=120)
    assert limited[0].period == some[0].period
    assert limited[0].gain == some[0].gain


# --- a period along each input -----------------------------------------------------------------------------------


def test_periods_along_two_inputs_are_found(plane_search):
    (found,) = plane_search
    assert found.period.shape == found.period_std.shape == (2,)
    assert_close(found.period, [24, 7], found.period_std)
    assert (found.period_std < [0.5, 0.1]).all()


def test_exchanged_inputs_exchange_the_periods(plane_search):
    X, y = make_plane()
    (found,) = find_period(X[:, ::-1], y)
    np.testing.assert_allclose(found.period[::-1], plane_search[0].period, rtol=OPTIMUM)
    assert found.gain == pytest.approx(plane_search[0].gain, abs=0.2)


def test_periods_move_with_the_units_of_each_input(plane_search):
    X, y = make_plane()
    (found,) = find_period(X * [1e-3, 60.0] + [5, -7], y)
    np.testing.assert_allclose(found.period / [1e-3, 60.0], plane_search[0].period, rtol=OPTIMUM)
    np.testing.assert_allclose(found.period_std / [1e-3, 60.0], plane_search[0].period_std, rtol=0.01)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_known_input_stays_and_the_other_is_found(plane_search, axis):
    true = np.array([24.0, 7.0])
    period = [24.0, 7.0]
    period[1 - axis] = "auto"
    (found,) = find_period(*make_plane(), period=period)
    assert found.period[axis] == pytest.approx(true[axis], rel=1e-12)
    assert found.period_std[axis] == 0
    assert_close(found.period, true, found.period_std + 1e-12)
    assert found.gain > plane_search[0].gain  # there was less to search


@pytest.mark.parametrize("seed", [0, 1])
def test_stripes_have_no_period_along_the_other_input(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 20, (250, 2))
    y = wave(X[:, 0], 3.0) + 0.5 * wave(X[:, 0], 1.5) + 0.2 * rng.normal(size=250)
    assert len(find_period(X, y)) == 0


# --- lattices ----------------------------------------------------------------------------------------------------


def test_a_lattice_is_found_in_canonical_form(lattice_search):
    (found,) = lattice_search
    assert_is_cell(found, CELL)
    assert (found.period_std < 0.02).all()


def test_the_lattice_grows_with_the_inputs(lattice_search):
    X, y = make_lattice()
    (found,) = find_period(50.0 * X + 3, y, lattice=True)
    np.testing.assert_allclose(found.period / 50, lattice_search[0].period, atol=1e-3)
    np.testing.assert_allclose(found.period_std / 50, lattice_search[0].period_std, rtol=0.01)
    assert found.gain == pytest.approx(lattice_search[0].gain, abs=0.2)


def test_exchanged_inputs_exchange_the_columns_of_the_cell(lattice_search):
    X, y = make_lattice()
    (found,) = find_period(X[:, ::-1], y, lattice=True)
    assert same_lattice(found.period[:, ::-1], lattice_search[0].period, tolerance=1e-3)


def test_a_turned_pattern_has_a_turned_lattice():
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    X, y = make_lattice()
    (found,) = find_period(X @ turn, y, lattice=True)
    assert_is_cell(found, CELL @ turn)


def test_a_lattice_of_several_outputs(lattice_search):
    X, y = make_lattice(n_outputs=2)
    (found,) = find_period(X, y, lattice=True)
    assert_is_cell(found, CELL)
    assert found.period_std.max() < lattice_search[0].period_std.max()


def test_stripes_have_no_lattice():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 20, (250, 2))
    phase = 2 * np.pi * X @ [0.4, 0.15]
    y = np.sin(phase) + 0.5 * np.cos(2 * phase) + 0.2 * rng.normal(size=250)
    assert len(find_period(X, y, lattice=True)) == 0


def test_the_lattice_of_one_input_is_its_period(series_search):
    (found,) = find_period(*make_series(), lattice=True, max_periods=1)
    assert found.period.shape == (1, 1)
    assert found.period[0, 0] == pytest.approx(series_search[0].period, rel=OPTIMUM)


@pytest.fixture(scope="module")
def space():
    rng = np.random.default_rng(0)
    return rng.uniform(0, 10, (700, 3)), 0.05 * rng.normal(size=700)


def bumps(phases):
    y = np.exp(0.6 * np.cos(2 * np.pi * phases).sum(axis=1))
    return y / y.std()


@pytest.mark.slow
def test_a_lattice_in_three_dimensions_is_found(space):
    X, noise = space
    (found,) = find_period(X, bumps(X @ np.linalg.inv(CELL_3D)) + noise, lattice=True)
    assert_is_cell(found, CELL_3D)


def test_periods_along_three_inputs_are_found(space):
    X, noise = space
    (found,) = find_period(X, bumps(X / [3.0, 2.2, 2.6]) + noise)
    assert_close(found.period, [3.0, 2.2, 2.6], found.period_std)


# --- what cannot work --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"period": 24.0}, r"period must be 'auto' or hold one entry for each of the 2 inputs, got 24\.0"),
        ({"period": "weekly"}, r"period must be 'auto' or .* got 'weekly'"),
        ({"period": [24, "auto", 7]}, r"one entry for each of the 2 inputs, got \[24, 'auto', 7\]"),
        ({"period": [-24, "auto"]}, r"period must be positive and finite where it is known, got \[-24, 'auto'\]"),
        ({"period": [np.inf, "auto"]}, r"period must be positive and finite where it is known, got \[inf, 'auto'\]"),
        ({"period": ["weekly", "auto"]}, r"period must hold numbers, or 'auto' .* got \['weekly', 'auto'\]"),
        ({"period": [True, "auto"]}, r"period must hold numbers, or 'auto' .* got \[True, 'auto'\]"),
        ({"period": [[24], "auto"]}, r"period must hold numbers, or 'auto' .* got \[\[24\], 'auto'\]"),
        ({"period": [1j, "auto"]}, r"period must hold numbers, or 'auto' .* got \[1j, 'auto'\]"),
        ({"period": [10**400, "auto"]}, r"period must hold numbers, or 'auto' .* got \[1000"),
        ({"period": [24, 7]}, r"period=\[24, 7\] leaves nothing to be found"),
        (
            {"period": [24, "auto"], "lattice": True},
            r"lattice=True finds a whole cell, so none of period=",
        ),
        ({"min_period": 0}, r"min_period must be a positive number, or one for each of the 2 inputs, got 0"),
        ({"min_period": [1, -1]}, r"min_period must be a positive number.* got \[1, -1\]"),
        ({"min_period": [1, 2, 3]}, r"min_period must be a positive number.* got \[1, 2, 3\]"),
        ({"min_period": np.array([1 + 1j, 1])}, r"min_period must be a positive number"),
        ({"min_period": True}, r"min_period must be a positive number.* got True"),
        ({"min_period": "5"}, r"min_period must be a positive number.* got '5'"),
        ({"max_period": np.inf}, r"max_period must be a positive number.* got inf"),
        ({"max_period": np.nan}, r"max_period must be a positive number.* got nan"),
        ({"max_period": 1e-3}, r"max_period=0\.001 is below the shortest period that can be found"),
        ({"sample_weight": -np.ones(250)}, r"sample_weight must be finite and at least zero, but row 0 has -1"),
        ({"sample_weight": np.ones(3)}, r"sample_weight must hold one number for each of the 250 rows"),
        ({"noise_scale": np.zeros(250)}, r"noise_scale must be finite and positive, but row 0 has 0"),
        ({"noise_scale": np.ones(3)}, r"noise_scale must hold one number for each of the 250 rows"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        find_period(*make_plane(), **changes)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.arange(50.0), np.full(50, 3.5), r"y is constant \(3\.5 in every row\)"),
        (np.full(50, 2.0), np.arange(50.0), r"Input 0 has the value 2 in every row"),
        (np.arange(5.0), np.arange(5.0), r"5 rows are too few to find a period"),
        (np.ones((50, 4)), np.arange(50.0), r"X must have one to 3 columns, got shape \(50, 4\)"),
        (np.arange(50.0), np.arange(49.0), r"inconsistent numbers of samples"),
        (np.append(np.arange(49.0), np.nan), np.arange(50.0), r"Input X contains NaN"),
        (np.arange(50.0), np.append(np.arange(49.0), np.inf), r"Input y contains infinity"),
    ],
    ids=["constant target", "constant input", "few rows", "many inputs", "lengths", "missing input", "infinite target"],
)
def test_data_without_a_period_to_find_are_named(X, y, message):
    with pytest.raises(ValueError, match=message):
        find_period(X, y)


def test_rows_of_weight_zero_do_not_make_enough():
    weight = np.zeros(50)
    weight[:5] = 1
    with pytest.raises(ValueError, match="5 rows are too few"):
        find_period(np.arange(50.0), np.arange(50.0), sample_weight=weight)


def test_periods_stay_within_their_limits():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 60, 120)
    y = np.sin(2 * np.pi * t / 4.7) + 0.6 * np.sin(4 * np.pi * t / 4.7 + 1) + 0.3 * rng.normal(size=120)
    assert all(one.period >= 6.0 for one in find_period(t, y, min_period=6.0).candidates)
    X = rng.uniform(0, 100, (500, 2))
    y = np.sin(2 * np.pi * X[:, 0] / 8) + np.sin(2 * np.pi * X[:, 1] / 30) + 0.2 * rng.normal(size=500)
    assert not find_period(X, y, max_period=[5, 50]).candidates
    np.testing.assert_allclose(find_period(X, y, max_period=[10, 50])[0].period, [8, 30], rtol=5e-3)


def test_a_given_period_beyond_nyquist_is_refused():
    t = np.arange(200.0)
    with pytest.raises(ValueError, match=r"period holds 0\.5, which is shorter than"):
        find_period(t, np.sin(t), period=[0.5, "auto"])


def red_noise(seed, n):
    return lfilter([1], [1, -0.9], 0.3 * np.random.default_rng(seed).normal(size=n))


@pytest.mark.parametrize("seed", [101, 102, 103])
def test_coloured_noise_does_not_make_a_multiple_of_the_period(seed):
    t = np.arange(500.0)
    y = np.sin(2 * np.pi * t / 17.3) + 0.5 * np.cos(4 * np.pi * t / 17.3) + red_noise(seed, 500)
    assert find_period(t, y, max_periods=1)[0].period == pytest.approx(17.3, rel=0.03)


SHAPES = {
    "square": lambda turns: np.sign(np.sin(2 * np.pi * turns)),
    "saw": lambda turns: turns % 1,
    "spike": lambda turns: 3.0 * (turns % 1 < 0.02),
    "impulses": lambda turns: 4.0 * (np.rint(turns * 37.3) % 37 == 0),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_many_harmonics_are_one_period(shape):
    t = np.arange(1000.0)
    y = SHAPES[shape](t / 37.3) + 0.2 * np.random.default_rng(0).normal(size=1000)
    found = find_period(t, y)
    assert len(found) == 1
    assert found[0].period == pytest.approx(37.0 if shape == "impulses" else 37.3, rel=1e-3)


@pytest.mark.parametrize("scale", [(1.0, 1000.0), (1e-9, 1e3)])
def test_units_of_the_inputs_do_not_matter(scale):
    rng = np.random.default_rng(0)
    grid = np.mgrid[:40, :50].reshape(2, -1).T.astype(float)
    phases = 2 * np.pi * grid @ np.linalg.inv([[7, 1], [2, 9]])
    y = np.cos(phases[:, 0]) + np.sin(phases[:, 1]) + 0.3 * rng.normal(size=len(grid))
    change = find_period(grid * scale, y, lattice=True)[0].period / scale @ np.linalg.inv([[7, 1], [2, 9]])
    assert np.abs(change - np.rint(change)).max() < 0.01
    assert abs(round(np.linalg.det(change))) == 1


@pytest.mark.parametrize("name", ["max_periods", "max_samples"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "many"])
def test_counts_are_checked(name, value):
    t = np.arange(100.0)
    with pytest.raises(ValueError, match=f"{name} must be a positive integer, got {value!r}"):
        find_period(t, np.sin(t), **{name: value})


@pytest.mark.parametrize("value", ["", "text", [], [1], {}, None, True, 1j, np.nan, np.inf, np.zeros(2), len, 10**400])
def test_the_gain_that_is_asked_for_is_a_number(value):
    t = np.arange(100.0)
    with pytest.raises(ValueError, match="min_gain must be a finite number, got "):
        find_period(t, np.sin(t), min_gain=value)


def test_progress_is_told_to_a_function():
    t = np.arange(100.0)
    with pytest.raises(TypeError, match="report must be a function of a line, or None, got 'text'"):
        find_period(t, np.sin(t), report="text")


def test_a_search_is_shown_in_few_lines():
    t = np.arange(100.0)
    assert len(repr(find_period(t, np.sin(t)))) < 2000
