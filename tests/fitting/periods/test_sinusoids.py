"""Evidence of waves beside a trend: the dense formula, and differences for every gradient."""

from itertools import product

import numpy as np
import pytest

from tests.exact_regression import central_differences, normal_log_density
from torusgp.fitting.periods import TrendColumns
from torusgp.fitting.periods._sinusoids import Block, Fit, ScaledRows, SinusoidModel, cell_and_errors, few_harmonics
from torusgp.kernels.lattices import shortest_basis

OBLIQUE = np.array([[6.0, 1.0], [-2.0, 7.5]])  # turns over the data


def make_rows(dimension, n=60, n_outputs=2, weighted=True):
    rng = np.random.default_rng(dimension)
    inputs = rng.uniform(-0.5, 0.5, (n, dimension))
    waves = np.sin(2 * np.pi * inputs @ rng.uniform(3, 8, (dimension, n_outputs)))
    targets = waves + inputs[:, :1] + 0.3 * rng.normal(size=(n, n_outputs))
    weight = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    return ScaledRows(inputs, (targets - targets.mean(axis=0)) / targets.std(axis=0), weight)


def make_block(dimension, by_length):
    basis = {1: np.array([[5.3]]), 2: OBLIQUE}[dimension]
    indices = np.array({1: [[1], [2], [3]], 2: [[1, 0], [0, 1], [1, 1], [2, -1]]}[dimension])
    if by_length:
        return Block(indices, basis, np.ones(basis.shape, bool), 1 / np.array([5.0, 9.0])[:dimension])
    return Block(indices, basis, np.eye(dimension, dtype=bool))


CASES = {
    "period": (1, (make_block(1, True),)),
    "two periods": (1, (make_block(1, True), Block(np.array([[1], [2]]), np.array([[7.9]]), np.ones((1, 1), bool)))),
    "known and unknown": (
        1,
        (Block(np.array([[1]]), np.array([[7.9]]), np.zeros((1, 1), bool)), make_block(1, True)),
    ),
    "lattice": (2, (make_block(2, True),)),
    "axes": (2, (make_block(2, False),)),
    "one axis": (2, (Block(make_block(2, False).indices, np.diag([6.0, 7.5]), np.diag([False, True])),)),
}


@pytest.fixture(params=CASES)
def case(request):
    """A model, blocks, and a vector somewhere off the optimum."""
    dimension, blocks = CASES[request.param]
    model = SinusoidModel(make_rows(dimension), TrendColumns.slow(dimension))
    vector = model.start(blocks)
    return model, blocks, vector + np.random.default_rng(0).uniform(-0.3, 0.3, len(vector))


def noise_of(model, vector):
    """Noise variances of the two outputs: the last of what is common to all blocks."""
    return np.exp(vector[model.n_common - 2 : model.n_common])


def posterior(columns, prior, noise, rows, output):
    """Mean and covariance of the weights, by the textbook formula."""
    precision = (columns.T * rows.weight) @ columns / noise + np.diag(1 / prior)
    moment = columns.T @ (rows.weight * rows.targets[:, output]) / noise
    return np.linalg.solve(precision, moment), np.linalg.inv(precision)


# --- the model ---------------------------------------------------------------------------------------------------


def test_columns_are_the_trend_and_waves_of_the_frequencies(case):
    model, blocks, _ = case
    n_trend = model.trend.n_columns
    columns = model.columns(blocks)
    np.testing.assert_array_equal(columns[:, :n_trend], model.trend(model.rows.inputs))
    frequencies = np.vstack([block.frequencies for block in blocks])
    waves = np.exp(2j * np.pi * model.rows.inputs @ frequencies.T)
    np.testing.assert_allclose(columns[:, n_trend::2] + 1j * columns[:, n_trend + 1 :: 2], waves, atol=1e-12)


def test_prior_falls_like_a_gaussian_with_indices_or_lengths(case):
    model, blocks, vector = case
    expected, rest = [], vector[model.n_common :]
    for block in blocks:
        signal, scales = np.exp(rest[0]), np.exp(rest[1 : 1 + block.n_scales])
        rest = rest[1 + block.n_scales :]
        for index in block.indices:
            numbers = index if block.unit is None else [np.linalg.norm(index @ block.reciprocal * block.unit)]
            expected += 2 * [signal * np.exp(-0.5 * ((numbers * scales) ** 2).sum())]
    assert not len(rest)
    np.testing.assert_allclose(model.prior(blocks, vector)[model.trend.n_columns :], expected, rtol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2])
def test_evidence_is_the_density_of_the_targets(dimension):
    rows = make_rows(dimension, weighted=False)
    model, blocks = SinusoidModel(rows, TrendColumns.slow(dimension)), (make_block(dimension, True),)
    vector = model.start(blocks)
    columns, prior = model.columns(blocks), model.prior(blocks, vector)
    expected = sum(
        normal_log_density((columns * prior) @ columns.T + noise * np.eye(len(columns)), rows.targets[:, output])
        for output, noise in enumerate(noise_of(model, vector))
    )
    assert model.evidence(rows.linear(columns), blocks, vector)[0] == pytest.approx(expected, rel=1e-10)


def test_weights_are_repetitions(case):
    model, blocks, vector = case
    counts = np.random.default_rng(1).integers(1, 4, len(model.rows.inputs))
    weighted = ScaledRows(model.rows.inputs, model.rows.targets, counts.astype(float))
    repeated = weighted.take(np.repeat(np.arange(len(counts)), counts))
    repeated = ScaledRows(repeated.inputs, repeated.targets, np.ones(len(repeated.inputs)))
    one, other = (
        SinusoidModel(rows, model.trend).evidence_and_gradient(blocks, vector) for rows in (weighted, repeated)
    )
    assert one[0] == pytest.approx(other[0], rel=1e-10)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-7, atol=1e-7)


def test_posterior_of_the_trend_is_the_dense_formula(case):
    model, blocks, vector = case
    means, covariances = model.trend_posterior(Fit(blocks, vector, np.nan))
    columns, kept = model.columns(blocks), slice(0, model.trend.n_columns)
    for output, noise in enumerate(noise_of(model, vector)):
        mean, covariance = posterior(columns, model.prior(blocks, vector), noise, model.rows, output)
        np.testing.assert_allclose(means[:, output], mean[kept], atol=1e-8)
        np.testing.assert_allclose(covariances[output], covariance[kept, kept], atol=1e-8)


def test_taking_rows_keeps_all_their_parts():
    rows = make_rows(2)
    some = rows.take([3, 1])
    np.testing.assert_array_equal(some.inputs, rows.inputs[[3, 1]])
    np.testing.assert_array_equal(some.targets, rows.targets[[3, 1]])
    np.testing.assert_array_equal(some.weight, rows.weight[[3, 1]])


# --- gradients and optima ----------------------------------------------------------------------------------------


def with_steps(blocks, steps):
    parts = np.split(steps, np.cumsum([block.free.sum() for block in blocks])[:-1])
    return tuple(block.moved(part) for block, part in zip(blocks, parts, strict=True))


def test_gradient_is_the_difference_of_the_evidence(case):
    model, blocks, vector = case
    n_free = int(sum(block.free.sum() for block in blocks))

    def value(point):
        there = with_steps(blocks, point[len(vector) :])
        return model.evidence(model.rows.linear(model.columns(there)), there, point[: len(vector)])[0]

    total, gradient = model.evidence_and_gradient(blocks, vector)
    point = np.append(vector, np.zeros(n_free))
    assert total == pytest.approx(value(point), rel=1e-12)
    np.testing.assert_allclose(gradient, central_differences(value, point), rtol=1e-6, atol=1e-6)


def test_curvature_is_the_negative_second_difference_of_the_evidence(case):
    model, blocks, vector = case
    n_free = int(sum(block.free.sum() for block in blocks))
    step = 1e-3  # turns: differences of differences lose half the digits

    def value(steps):
        return model.evidence_and_gradient(with_steps(blocks, steps), vector)[0]

    curvature = model.curvature(Fit(blocks, vector, np.nan))
    assert curvature.shape == (n_free, n_free)
    for i, j in product(range(n_free), repeat=2):
        a, b = step * np.eye(n_free)[[i, j]]
        difference = value(a + b) - value(a - b) - value(b - a) + value(-a - b)
        expected = -difference / (4 * step**2)
        assert curvature[i, j] == pytest.approx(expected, abs=2e-3 * np.abs(curvature).max())


def test_a_fit_has_no_slope_left_where_it_is_free(case):
    model, blocks, _ = case
    fit = model.fit(blocks, max_iter=200)
    _, gradient = model.evidence_and_gradient(blocks, fit.vector)
    lower, upper = model._bounds(blocks).T
    inside = (fit.vector > lower + 1e-6) & (fit.vector < upper - 1e-6)
    assert inside[: model.n_common].any()
    assert np.abs(gradient[: len(fit.vector)][inside]).max() < 0.05
    assert fit.log_evidence == pytest.approx(model.evidence_and_gradient(blocks, fit.vector)[0], abs=1e-6)


def test_a_polish_climbs_and_leaves_what_is_not_free(case):
    model, blocks, _ = case
    fit = model.fit(blocks)
    polished = model.polish(fit)
    assert polished.log_evidence >= fit.log_evidence
    for before, after in zip(blocks, polished.blocks, strict=True):
        np.testing.assert_array_equal(after.reciprocal[~before.free], before.reciprocal[~before.free])
        assert np.abs(after.reciprocal - before.reciprocal).max() <= 0.5 + 1e-12


@pytest.mark.parametrize("dimension", [1, 2])
def test_a_polish_finds_the_basis_from_nearby(dimension):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-0.5, 0.5, (200, dimension))
    block = make_block(dimension, True)
    phases = 2 * np.pi * inputs @ block.reciprocal.T
    y = np.sin(phases).sum(axis=1) + np.cos(phases.sum(axis=1)) + 0.05 * rng.normal(size=200)
    rows = ScaledRows(inputs, ((y - y.mean()) / y.std())[:, None], np.ones(200))
    model = SinusoidModel(rows, TrendColumns.slow(dimension))
    fit = model.polish(model.fit((block.moved(0.2 * rng.choice([-1, 1], dimension**2)),)))
    std = np.sqrt(np.diag(np.linalg.inv(model.curvature(fit))))
    error = (fit.blocks[0].reciprocal - block.reciprocal).ravel()
    assert np.abs(error).max() < 0.02
    assert (np.abs(error) < 4 * std).all()


# --- geometry ----------------------------------------------------------------------------------------------------


def test_blocks_move_their_free_entries_only():
    block = Block(np.array([[1, 0]]), OBLIQUE, np.array([[True, False], [False, True]]))
    moved = block.moved(np.array([0.1, -0.2]))
    np.testing.assert_allclose(moved.reciprocal - OBLIQUE, np.diag([0.1, -0.2]), atol=1e-12)
    np.testing.assert_array_equal(block.reciprocal, OBLIQUE)


BASES = {
    "1-D": np.array([[2.7]]),
    "oblique": OBLIQUE,
    "long and thin": np.array([[2.0, 0.0], [0.3, 11.0]]),
    "3-D": np.array([[3.0, 0.2, 0], [0.1, 4, 1], [-1, 0.5, 5]]),
}


@pytest.mark.parametrize("highest", [np.inf, 14.0])
@pytest.mark.parametrize("name", BASES)
def test_few_harmonics_are_the_shortest_vectors(name, highest):
    basis = BASES[name]
    dimension = len(basis)
    metric, most = basis * np.array([1.0, 0.7, 1.3])[:dimension], {1: 6, 2: 24, 3: 40}[dimension]
    found = few_harmonics(basis, metric, np.full(dimension, highest), most)
    grid = np.array(list(product(range(-9, 10), repeat=dimension)))
    grid = grid[len(grid) // 2 + 1 :]
    grid = grid[(np.abs(grid @ basis) <= highest).all(axis=1)]
    lengths = np.linalg.norm(grid @ metric, axis=1)
    assert len(found) == min(most, len(grid))
    np.testing.assert_allclose(np.linalg.norm(found @ metric, axis=1), np.sort(lengths)[: len(found)])
    assert len({tuple(row) for row in np.vstack([found, -found]).tolist()}) == 2 * len(found)


def test_no_harmonics_remain_if_all_are_too_fast():
    assert not len(few_harmonics(np.array([[9.0]]), np.array([[9.0]]), np.array([8.0]), 6))


UNITS = [None, np.ones(2), np.array([3.0, 11.0])]  # of lengths by which to choose the shortest vectors, if at all


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("free", [np.ones((2, 2), bool), np.eye(2, dtype=bool)])
def test_errors_of_the_cell_are_those_of_its_differences(unit, free):
    rng = np.random.default_rng(0)
    basis = np.array([[1, 1], [0, 1]]) @ OBLIQUE  # not its shortest one
    block, extent = Block(np.array([[1, 0]]), basis, free), np.array([3.0, 11.0])
    n_free = int(free.sum())
    root = 1e-2 * rng.normal(size=(n_free, n_free))
    cell, std = cell_and_errors(block, root @ root.T, extent, unit)

    def entries(steps):
        there = block.moved(steps)
        return cell_and_errors(there, np.zeros((n_free, n_free)), extent, unit)[0].ravel()

    jacobian = central_differences(entries, np.zeros(n_free)).T
    expected = np.sqrt(np.diag(jacobian @ root @ root.T @ jacobian.T)).reshape(2, 2)
    np.testing.assert_allclose(std, expected, rtol=1e-6)
    np.testing.assert_allclose(cell.ravel(), entries(np.zeros(n_free)))


def test_errors_of_the_cell_are_the_scatter_of_random_bases():
    rng = np.random.default_rng(0)
    block, extent = Block(np.array([[1, 0]]), OBLIQUE, np.ones((2, 2), bool)), np.array([3.0, 11.0])
    root = 1e-3 * rng.normal(size=(4, 4))
    _, std = cell_and_errors(block, root @ root.T, extent, np.ones(2))
    moved = [block.moved(root @ rng.normal(size=4)) for _ in range(1000)]
    drawn = [cell_and_errors(one, np.zeros((4, 4)), extent, np.ones(2))[0] for one in moved]
    np.testing.assert_allclose(np.std(drawn, axis=0), std, rtol=0.1)  # of 1000 draws, four deviations


@pytest.mark.parametrize("unit", UNITS)
def test_waves_of_a_block_are_constant_along_the_vectors_of_its_cell(unit):
    extent = np.array([3.0, 11.0])
    block = Block(np.array([[1, 0], [0, 1], [2, -3]]), np.array([[1, 1], [0, 1]]) @ OBLIQUE, np.ones((2, 2), bool))
    cell, _ = cell_and_errors(block, np.zeros((4, 4)), extent, unit)
    turns = (cell / extent) @ block.frequencies.T
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-10)
    assert abs(np.linalg.det(cell)) == pytest.approx(np.prod(extent) / abs(np.linalg.det(block.reciprocal)))


@pytest.mark.parametrize("unit", UNITS[1:])
def test_a_reduced_cell_is_the_shortest_in_its_units(unit):
    extent = np.array([3.0, 11.0])
    block = Block(np.array([[1, 0]]), np.array([[1, 1], [0, 1]]) @ OBLIQUE, np.ones((2, 2), bool))
    cell, _ = cell_and_errors(block, np.zeros((4, 4)), extent, unit)
    plain, _ = cell_and_errors(block, np.zeros((4, 4)), extent, None)
    np.testing.assert_allclose(cell / unit, shortest_basis(plain / unit), atol=1e-10)
