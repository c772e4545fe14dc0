"""A wave against its neighbours: the local evidence as an integral, powers as sums of squares."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from torusgp.fitting.periods import TrendColumns
from torusgp.fitting.periods._periodogram import explained_beside
from torusgp.fitting.periods._significance import Contrasts, _neighbours, contrasts, odds_against_noise
from torusgp.fitting.periods._sinusoids import Block, Fit, ScaledRows, SinusoidModel
from torusgp.fitting.periods._trend import FEWEST_TURNS

OPTIMISER = 1e-3  # of a log evidence: where the simplex search stops


def integrated(x, known, extra):
    """Log evidence ratio of an extra variance, with the level of the noise integrated out numerically.

    The neighbours have mean power one. Powers are exponential, and the prior of the logarithm of the level is flat.
    """

    def likelihood(log_level, ratio):
        level = np.exp(log_level)
        wave = np.exp(-x / (level * (1 + ratio))) / (level * (1 + ratio))
        return wave * np.exp(-known / level) * level**-known

    areas = [quad(likelihood, -12, 12, args=(ratio,), points=[-1, 0, 1, 3], limit=200)[0] for ratio in (extra, 0.0)]
    return np.log(areas[0] / areas[1])


def evidence(x, known, squares=0.0, n_sinusoids=1, n_outputs=1):
    """Gain of equal waves with so many known neighbours each."""
    ratios, counts = np.full((n_sinusoids, n_outputs), x), np.full((n_sinusoids, 1), known)
    squares = np.broadcast_to(np.reshape(squares, (-1, 1)), (n_sinusoids, 1))
    return Contrasts(ratios, counts, squares).gain(np.ones(n_sinusoids, bool))


@pytest.mark.parametrize("x", [2.0, 7.0, 40.0])
@pytest.mark.parametrize("known", [1, 4, 12])
def test_evidence_of_one_wave_is_the_largest_integral(x, known):
    best = minimize_scalar(lambda log_extra: -integrated(x, known, np.exp(log_extra)), bounds=(-8, 8), method="bounded")
    assert evidence(x, known) == pytest.approx(-best.fun, abs=OPTIMISER)


def test_evidence_of_equal_waves_adds_up():
    one = evidence(20.0, 6)
    assert evidence(20.0, 6, n_sinusoids=3) == pytest.approx(3 * one, abs=3 * OPTIMISER)
    assert evidence(20.0, 6, n_outputs=2) == pytest.approx(2 * one, abs=2 * OPTIMISER)


def test_evidence_rises_with_the_power_and_with_what_is_known_of_the_noise():
    assert evidence(5.0, 6) < evidence(10.0, 6) < evidence(100.0, 6)
    assert evidence(50.0, 2) < evidence(50.0, 6) < evidence(50.0, 12)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
def test_waves_like_their_neighbours_gain_nothing(x):
    assert evidence(x, 8, np.arange(1.0, 5), n_sinusoids=4) == pytest.approx(0, abs=0.02)


def test_only_chosen_waves_count():
    powers = Contrasts(np.array([[30.0], [1.0], [50.0]]), np.full((3, 1), 8), np.ones((3, 1)))
    alone = Contrasts(np.array([[30.0], [50.0]]), np.full((2, 1), 8), np.ones((2, 1)))
    assert powers.gain(np.array([True, False, True])) == pytest.approx(alone.gain(np.ones(2, bool)), abs=OPTIMISER)
    assert powers.gain(np.zeros(3, bool)) == 0


def test_waves_along_the_strongest_direction():
    indices = np.array([[1, 0], [2, 0], [0, 1], [1, 1], [2, 2]])
    powers = Contrasts(np.array([[5.0], [1.0], [9.0], [8.0], [40.0]]), np.ones((5, 1)), np.ones((5, 1)))
    np.testing.assert_array_equal(powers.strongest_direction(indices), [False, False, False, True, True])


# --- neighbours --------------------------------------------------------------------------------------------------


def test_neighbours_lie_at_whole_turns_apart_from_waves_and_slow_change():
    waves = np.array([[6.2, 1.0], [3.9, -2.0], [-8.1, -1.0], [6.2, 4.0]])
    points = _neighbours(waves[0], waves)
    offsets = points - waves[0]
    np.testing.assert_allclose(offsets, np.rint(offsets), atol=1e-12)
    np.testing.assert_array_equal(np.count_nonzero(offsets, axis=1), 1)  # along one axis
    for wave in waves:
        for sign in (1, -1):
            assert np.abs(points - sign * wave).max(axis=1).min() >= 0.9
    assert np.linalg.norm(points, axis=1).min() >= FEWEST_TURNS


def test_all_turns_within_reach_are_used_if_nothing_is_in_the_way():
    points = _neighbours(np.array([30.0]), np.array([[30.0]]))
    np.testing.assert_array_equal(np.sort(points[:, 0]), [24, 25, 26, 27, 28, 29, 31, 32, 33, 34, 35, 36])
    points = _neighbours(np.array([30.0, 20.0]), np.array([[30.0, 20.0]]))
    expected = [[30 + i, 20] for i in range(-4, 5) if i] + [[30, 20 + i] for i in range(-4, 5) if i]
    assert sorted(points.tolist()) == sorted(expected)


# --- powers ------------------------------------------------------------------------------------------------------


def make_rows(inputs, y, weight=None):
    y = y.reshape(len(inputs), -1)
    return ScaledRows(inputs, (y - y.mean(axis=0)) / y.std(axis=0), np.ones(len(inputs)) if weight is None else weight)


def squares_left(rows, columns):
    """Weighted sum of squares that columns leave, of each output."""
    root = np.sqrt(rows.weight)[:, None]
    weights = np.linalg.lstsq(columns * root, rows.targets * root, rcond=None)[0]
    return ((rows.targets - columns @ weights) ** 2 * root**2).sum(axis=0)


def pair(rows, frequency):
    angles = 2 * np.pi * rows.inputs @ frequency
    return np.column_stack([np.cos(angles), np.sin(angles)])


def make_model(dimension, n=200, noise=0.5, n_outputs=2, turns=7.3):
    """Rows of a lattice's waves in noise, their model, and a block of its waves."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-0.5, 0.5, (n, dimension))
    basis = {1: np.array([[turns]]), 2: np.array([[7.0, 1.0], [-2.0, 9.5]])}[dimension]
    indices = np.array({1: [[1], [2], [3]], 2: [[1, 0], [0, 1], [1, 1], [2, 0]]}[dimension])
    phases = 2 * np.pi * inputs @ basis.T
    y = np.stack([np.sin(phases + i).sum(axis=1) + np.cos(phases.sum(axis=1)) for i in range(n_outputs)], axis=1)
    rows = make_rows(inputs, y + noise * rng.normal(size=y.shape), rng.uniform(0.5, 2, n))
    model = SinusoidModel(rows, TrendColumns.slow(dimension))
    return model, (Block(indices, basis, np.ones(basis.shape, bool), np.ones(dimension)),)


def gain_of(model, blocks):
    """Gain of all waves of the last block."""
    found = contrasts(model, Fit(blocks, model.start(blocks), np.nan))
    return found.gain(np.ones(len(found.ratios), bool))


def whitened(columns):
    """Matrix that makes weighted columns orthonormal."""
    values, vectors = np.linalg.eigh(columns.T @ columns)
    return vectors / np.sqrt(values)


def test_power_of_a_frequency_is_half_the_squares_it_takes_away():
    model, blocks = make_model(2)
    rows, columns = model.rows, model.columns(blocks)
    root = np.sqrt(rows.weight)[:, None]
    whitening = whitened(columns * root)
    basis = columns * root @ whitening
    residual = rows.targets * root - basis @ (basis.T @ (rows.targets * root))
    frequencies = np.array([[5.0, 1.0], [7.0, -3.0], [10.0, 1.0]])
    explained, whole = explained_beside(rows.inputs, root, basis, residual, frequencies)
    assert whole.all()
    before = squares_left(rows, columns)
    for one, frequency in zip(explained, frequencies, strict=True):
        taken = before - squares_left(rows, np.hstack([columns, pair(rows, frequency)]))
        np.testing.assert_allclose(one, taken, rtol=1e-8)


def test_frequencies_that_other_columns_explain_have_no_power():
    model, blocks = make_model(1)
    rows, root = model.rows, np.sqrt(model.rows.weight)[:, None]
    columns = model.columns(blocks) * root
    basis = columns @ whitened(columns)
    residual = rows.targets * root - basis @ (basis.T @ (rows.targets * root))
    explained, whole = explained_beside(rows.inputs, root, basis, residual, np.array([[7.3 + 1e-3], [4.5]]))
    assert whole.tolist() == [False, True]
    assert (explained[0] == 0).all()
    assert (explained[1] > 0).all()


@pytest.mark.parametrize("dimension", [1, 2])
def test_contrasts_are_those_of_powers_from_sums_of_squares(dimension):
    model, blocks = make_model(dimension, turns=15.3)  # fast enough for no neighbour to look like slow change
    rows, (block,) = model.rows, blocks
    columns, n_trend = model.columns(blocks), model.trend.n_columns
    found, before = contrasts(model, Fit(blocks, model.start(blocks), np.nan)), squares_left(rows, columns)
    for i, frequency in enumerate(block.frequencies):
        own = [n_trend + 2 * i, n_trend + 2 * i + 1]
        power = 0.5 * (squares_left(rows, np.delete(columns, own, axis=1)) - before)
        powers = []
        for neighbour in _neighbours(frequency, block.frequencies):
            taken = before - squares_left(rows, np.hstack([columns, pair(rows, neighbour)]))
            steep = (np.linalg.norm(neighbour) / np.linalg.norm(frequency)) ** (dimension + 1)
            powers.append(0.5 * taken * max(1.0, steep))
        np.testing.assert_allclose(found.ratios[i], power / np.mean(powers, axis=0), rtol=1e-6)
        assert found.counts[i] == len(powers)
    lengths = np.linalg.norm(block.frequencies, axis=1) / np.linalg.norm(block.reciprocal, axis=1).mean()
    np.testing.assert_allclose(found.squares[:, 0], lengths**2)


def test_a_wave_at_the_nyquist_frequency_has_a_power_although_its_sine_is_none():
    rng = np.random.default_rng(0)
    inputs = (np.arange(40) / 39 - 0.5)[:, None]
    y = 2.0 * (-1.0) ** np.arange(40) + rng.normal(size=40)
    model = SinusoidModel(make_rows(inputs, y), TrendColumns.slow(1))
    block = Block(np.array([[1]]), np.array([[19.5]]), np.ones((1, 1), bool), np.ones(1))
    assert gain_of(model, (block,)) > 5


def test_gain_does_not_depend_on_the_scale_of_targets_or_weights():
    model, blocks = make_model(1)
    rows = model.rows
    scaled = SinusoidModel(ScaledRows(rows.inputs, 3 * rows.targets, 5 * rows.weight), model.trend)
    assert gain_of(scaled, blocks) == pytest.approx(gain_of(model, blocks), abs=2 * OPTIMISER)


def test_gain_falls_with_the_noise_and_is_none_for_noise_alone():
    clear, faint, none = (gain_of(*make_model(1, noise=noise)) for noise in (0.3, 2.0, 1e6))
    assert clear > faint > none
    assert clear > 20
    assert none < 3


def test_only_the_last_block_is_judged():
    model, (block,) = make_model(1)
    first, second = (Block(block.indices[[i]], block.reciprocal, block.free, block.unit) for i in (0, 2))
    strong, weak = gain_of(model, (second, first)), gain_of(model, (first, second))
    assert strong > weak + 5  # the fundamental is strong, the third harmonic is noise


def test_a_random_walk_gains_nothing_at_its_strongest_wave():
    y = np.cumsum(np.random.default_rng(3).normal(size=300))
    inputs = (np.arange(300) / 299 - 0.5)[:, None]
    model = SinusoidModel(make_rows(inputs, y), TrendColumns.slow(1))
    power = [squares_left(model.rows, np.hstack([model.columns(()), pair(model.rows, [f])]))[0] for f in range(2, 40)]
    frequency = 2.0 + int(np.argmin(power))
    block = Block(np.array([[1]]), np.array([[frequency]]), np.ones((1, 1), bool), np.ones(1))
    fit, without = model.fit((block,)), model.fit(())
    assert fit.log_evidence - without.log_evidence > 5  # a period it seems
    assert contrasts(model, fit).gain(np.ones(1, bool)) < 5


def test_stripes_gain_along_one_direction_only():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-0.5, 0.5, (300, 2))
    basis = np.array([[7.0, 1.0], [-2.0, 9.5]])
    block = Block(np.array([[1, 0], [2, 0], [0, 1], [1, 1]]), basis, np.ones((2, 2), bool), np.ones(2))
    phase = 2 * np.pi * inputs @ basis[0]
    model = SinusoidModel(
        make_rows(inputs, np.sin(phase) + np.cos(2 * phase) + 0.5 * rng.normal(size=300)), TrendColumns.slow(2)
    )
    found = contrasts(model, Fit((block,), model.start((block,)), np.nan))
    along = found.strongest_direction(block.indices)
    np.testing.assert_array_equal(along, [True, True, False, False])
    assert found.gain(along) > 20
    assert found.gain(~along) < 3


def few_rows(n, seed):
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(-0.5, 0.5, (n, 1)), axis=0), rng


def odds(inputs, y, turns):
    """Of one sinusoid beside slow change."""
    rows = ScaledRows(inputs, (y - y.mean())[:, None] / y.std(), np.ones(len(y)))
    model = SinusoidModel(rows, TrendColumns.slow(1))
    blocks = (Block(np.array([[1]]), np.array([[turns]]), np.ones((1, 1), dtype=bool), np.ones(1)),)
    return odds_against_noise(model, Fit(blocks, model.start(blocks), np.nan), np.arange(2.0, 2.5 * len(y), 0.25))


@pytest.mark.parametrize("seed", range(3))
def test_a_clear_sine_of_few_rows_is_no_noise_of_any_colour(seed):
    inputs, rng = few_rows(30, seed)
    assert odds(inputs, np.sin(11 * np.pi * inputs[:, 0]) + 0.15 * rng.normal(size=30), 5.5) > 5


@pytest.mark.parametrize("colour", ["white", "walk"])
def test_noise_of_few_rows_has_no_odds(colour):
    for seed in range(4):
        inputs, rng = few_rows(30, seed)
        noise = rng.normal(size=30)
        y = np.cumsum(noise * np.sqrt(np.diff(inputs[:, 0], prepend=-0.5))) if colour == "walk" else noise
        assert max(odds(inputs, y, turns) for turns in (3.0, 5.5)) < 3
