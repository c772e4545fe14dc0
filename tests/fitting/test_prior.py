"""Gradients of the evidence of sums in everything that is learned."""

import numpy as np
import pytest

from torusgp import Category, Circle, Line, Slope
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.learning import Objective, log_evidence_and_gradient
from torusgp.fitting.line_circles import LineCircles
from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.prior import Prior
from torusgp.fitting.problem import Settings, spread_of_rows
from torusgp.fitting.rows import Compute, Rows, RowSource
from torusgp.kernels.resolve import resolve

EXPRESSION = (
    Circle(0, 24, length_scale=0.8) * Line(1, length_scale=2.0)
    + Circle(0, 24, "matern52", length_scale=1.5)
    + Category(2, correlation=0.4) * Line(1, "matern52", length_scale=3.0)
    + Slope(3, learned=True)
)


def problem(n=150, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 50, n), rng.uniform(0, 10, n), rng.integers(0, 3, n), rng.normal(size=n)])
    y = rng.normal(size=(n, n_outputs)) + np.sin(2 * np.pi * X[:, :1] / 24) * X[:, 1:2]
    model = resolve(EXPRESSION, X)
    settings = Settings()
    coordinates, plain = Fitter(model, settings).layout(X)
    rows = Rows(coordinates, y, rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, n), plain)
    spread = spread_of_rows(rows, model, settings)
    prior = Prior.of(model, True, spread)
    start = prior.start(model.period, spread, settings.learn, np.array(0.1), None)
    return prior, rows, LineCircles(prior).with_circles(start)


def test_the_gradient_in_every_parameter_is_the_difference_of_the_evidence():
    prior, rows, start = problem()
    index_set = prior.select(start, 201)
    linear = RowSource(rows, prior, Compute(), True, "adaptive")(index_set, start)
    _, gradient = log_evidence_and_gradient(linear, prior, index_set.frequencies, start)
    step = 1e-5
    for name in start:
        for i in range(len(start[name])):
            values = []
            for sign in (1, -1):
                moved = start[name].copy()
                moved[i] *= np.exp(sign * step)
                values.append(
                    log_evidence_and_gradient(linear, prior, index_set.frequencies, start.with_value(name, moved))[0]
                )
            difference = (values[0] - values[1]) / (2 * step)
            assert gradient[name][i] == pytest.approx(difference, rel=1e-6, abs=1e-6), (name, i)


def test_the_information_is_that_of_the_covariance_of_the_targets():
    """With what a small set leaves out counted as noise: y' K^-1 K_i K^-1 K_j K^-1 y / 2, by differences of K."""
    prior, rows, start = problem(60)
    index_set = prior.select(start, 61)
    source = RowSource(rows, prior, Compute(), True, "adaptive")
    objective = Objective(source, prior, index_set, start, None)
    columns = source._row_statistics(rows, index_set, start)
    vector, step = start.to_vector(), 1e-5

    def covariances(vector):
        here = objective.parameters(vector)
        variances, noise = prior.variances(here, index_set.frequencies), here["noise_variance"]
        return [
            (columns.columns * variances[:, q]) @ columns.columns.T + noise[q] * np.eye(len(rows)) for q in range(2)
        ]

    expected = np.zeros((len(vector), len(vector)))
    units = step * np.eye(len(vector))
    slopes = [
        [(a - b) / (2 * step) for a, b in zip(covariances(vector + one), covariances(vector - one), strict=True)]
        for one in units
    ]
    for q, covariance in enumerate(covariances(vector)):
        alpha = np.linalg.solve(covariance, columns.targets[:, q])
        moved = np.stack([slope[q] @ alpha for slope in slopes])
        expected += moved @ np.linalg.solve(covariance, moved.T) / 2
    for found in (objective.at(vector).information, _row_objective(objective, columns).at(vector).information):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def _row_objective(objective, rows):
    """The same in the space of the rows."""
    return Objective(lambda *_: rows, objective.prior, objective.index_set, objective.start, None)


@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_the_gradient_of_the_objective_with_a_period_is_its_difference(backend):
    """With what a small set leaves out counted as noise, and a period that moves beside a line and a plain column."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 50, 120), rng.uniform(0, 10, 120), rng.normal(size=120)])
    y = (np.sin(2 * np.pi * X[:, 0] / 24) * X[:, 1] + X[:, 2])[:, None]
    clock = Circle(0, 24, length_scale=0.8, period_bounds=(20, 28))
    model = resolve(clock * Line(1, length_scale=2.0) + clock + Slope(2), X)
    coordinates, plain = Fitter(model, Settings()).layout(X)
    rows = Rows(coordinates, y, None, None, plain)
    spread = spread_of_rows(rows, model, Settings())
    prior = Prior.of(model, True, spread)
    start = LineCircles(prior).with_circles(prior.start(model.period, spread, Settings().learn, np.array(0.1), None))
    index_set = prior.select(start, 41)
    moves = PeriodMoves(np.diag(model.moving), np.ptp(rows.X, axis=0), model.period_bounds)
    source = RowSource(rows, prior, Compute(backend), True, "adaptive")
    objective = Objective(source, prior, index_set, start, moves)
    vector = np.append(start.to_vector(), np.zeros(moves.size))
    _, gradient = objective(vector)
    step = 1e-5
    for i, unit in enumerate(np.eye(len(vector))):
        difference = (objective(vector + step * unit)[0] - objective(vector - step * unit)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(difference, rel=2e-6, abs=2e-5), i


def test_variances_of_columns_are_the_sum_over_terms():
    prior, _, start = problem()
    index_set = prior.select(start, 101)
    at = prior.at(start, index_set.frequencies)
    kernel = prior.sum_kernel(start)
    parts = kernel.term_coefficients(index_set.frequencies) / kernel.variances[:, None]
    expected = np.einsum("jk,jq->kq", parts, prior.signal_variances(start))
    expected[0] += prior.intercept_variance
    expected[1:] *= 2
    np.testing.assert_allclose(at.variances[: index_set.n_components : 2][1:], expected[1:], rtol=1e-12)
    ratios = at.ratios()
    np.testing.assert_allclose(ratios[:, 1:].sum(axis=0), 1.0, rtol=1e-12)


def test_circles_of_lines_follow_their_length_scales():
    prior, _, start = problem()
    name = next(one for one in start if "length_scale" in one)
    long = start.with_value(name, start[name] * np.array([1.0, 10.0]))
    moved = LineCircles(prior).with_circles(long)
    line = int(prior.torus.kinds("line")[0])
    assert moved.period[line] > 3 * start.period[line]
    assert LineCircles(prior).with_circles(moved) is moved
    bounded = LineCircles(prior).within_circles(start)
    assert (bounded.entry(name).upper[1] < start.entry(name).upper[1]) or start.entry(name).upper[1] < start.period[
        line
    ]


def test_a_length_scale_that_its_circle_holds_back_gets_a_longer_one():
    prior, _, start = problem()
    name = next(one for one in start if "length_scale" in one)
    bound = LineCircles(prior).within_circles(start).entry(name).upper[1]
    held = start.with_value(name, np.array([start[name][0], bound]))
    line = int(prior.torus.kinds("line")[0])
    np.testing.assert_array_equal(LineCircles(prior).with_circles(held).period, start.period)
    assert LineCircles(prior).are_pressed(LineCircles(prior).within_circles(held))
    assert LineCircles(prior).with_circles(held, 3.0, pressed=True).period[line] > 1.5 * start.period[line]


def test_first_circles_are_those_of_the_first_length_scales():
    prior, _, start = problem()
    lines, name = LineCircles(prior), next(one for one in start if "length_scale" in one)
    first = lines.with_first_circles(start, 1.5)
    np.testing.assert_array_equal(first[name], start[name])
    assert not lines.are_pressed(lines.within_circles(first))
    np.testing.assert_allclose(first.period, start.period, rtol=0.4)
    long = lines.with_circles(start.with_value(name, start[name] * np.array([1.0, 10.0])))
    back = lines.with_first_circles(long, 1.5)
    np.testing.assert_allclose(back.period, first.period)
    assert back[name][0] == long[name][0]
    assert start[name][1] < back[name][1] < long[name][1]
    assert lines.are_pressed(lines.within_circles(back))
