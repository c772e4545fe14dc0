"""Maximising within bounds by steps of Newton's kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from torusgp.engine.inference import NotPositiveDefiniteError
from torusgp.fitting.ascent import _best_step, ascend

WIDE = 100.0


class Function:
    """A function with its gradient and a matrix that stands for its curvature; counts evaluations."""

    def __init__(self, value, gradient, information, wall=None):
        self._value, self._gradient, self._information, self._wall = value, gradient, information, wall
        self.count = 0

    def __call__(self, x):
        self.count += 1
        if self._wall is not None and self._wall(x):
            raise NotPositiveDefiniteError("no evidence here")
        return type(
            "Point",
            (),
            {"value": self._value(x), "gradient": self._gradient(x), "information": self._information(x)},
        )


def quadratic(matrix, centre, information=None):
    information = matrix if information is None else information
    return Function(
        lambda x: -0.5 * (x - centre) @ matrix @ (x - centre), lambda x: -matrix @ (x - centre), lambda x: information
    )


def positive(rng, size):
    root = rng.normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


@given(size=st.integers(1, 6), seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_the_best_step_in_a_box_is_that_of_least_squares(size, seed):
    rng = np.random.default_rng(seed)
    matrix, gradient = positive(rng, size), 3 * rng.normal(size=size)
    lower, upper = -rng.uniform(0, 1, size), rng.uniform(0, 1, size)
    lower[rng.uniform(size=size) < 0.2] = 0.0  # where one stands at a bound
    step = _best_step(gradient, matrix, lower, upper)
    root = np.linalg.cholesky(matrix).T
    away = np.where(upper > lower, upper, lower + 1e-12)
    expected = lsq_linear(root, np.linalg.solve(root.T, gradient), (lower - 1e-12, away), tol=1e-14).x
    assert (step >= lower).all()
    assert (step <= upper).all()
    np.testing.assert_allclose(step, expected, atol=1e-6)


def test_a_quadratic_takes_few_steps_and_ends_at_its_maximum():
    rng = np.random.default_rng(0)
    function = quadratic(positive(rng, 5), np.full(5, 1.5))
    found = ascend(function, np.zeros(5), np.array([[-WIDE, WIDE]] * 5))
    assert found.converged
    np.testing.assert_allclose(found.vector, 1.5, atol=1e-6)
    assert function.count <= 4


@pytest.mark.parametrize("factor", [0.2, 5.0])
def test_information_that_is_wrong_by_a_factor_is_corrected_by_the_gradients(factor):
    rng = np.random.default_rng(1)
    matrix = positive(rng, 4)
    function = quadratic(matrix, np.full(4, 2.0), factor * matrix)
    found = ascend(function, np.zeros(4), np.array([[-WIDE, WIDE]] * 4), value_tolerance=1e-12)
    assert found.converged
    np.testing.assert_allclose(found.vector, 2.0, atol=1e-4)
    assert function.count <= 25


def test_bounds_hold_and_do_not_stop_the_others():
    function = quadratic(np.array([[2.0, 0.9], [0.9, 1.0]]), np.array([3.0, -1.0]))
    found = ascend(function, np.zeros(2), np.array([[-1.0, 1.0], [-WIDE, WIDE]]))
    assert found.converged
    np.testing.assert_allclose(found.vector, [1.0, -1.0 + 0.9 * 2.0], atol=1e-6)


def test_a_curved_valley_is_followed_to_its_end():
    def residuals(x):
        return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])

    def slopes(x):
        return np.array([[-20 * x[0], 10.0], [-1.0, 0.0]])

    function = Function(
        lambda x: -0.5 * residuals(x) @ residuals(x),
        lambda x: -slopes(x).T @ residuals(x),
        lambda x: slopes(x).T @ slopes(x),
    )
    found = ascend(function, np.array([-1.2, 1.0]), np.array([[-WIDE, WIDE]] * 2), value_tolerance=1e-12)
    np.testing.assert_allclose(found.vector, 1.0, atol=1e-4)


def test_steps_turn_back_from_where_there_is_no_value():
    function = Function(
        lambda x: -0.5 * float((x - 2) @ (x - 2)), lambda x: 2 - x, lambda x: 0.1 * np.eye(1), lambda x: x[0] > 2.5
    )
    found = ascend(function, np.zeros(1), np.array([[-WIDE, WIDE]]))
    np.testing.assert_allclose(found.vector, 2.0, atol=1e-2)


def test_too_few_steps_are_said():
    found = ascend(quadratic(np.eye(1), np.full(1, 50.0)), np.zeros(1), np.array([[-WIDE, WIDE]]), max_iter=2)
    assert not found.converged
    assert found.value > -0.5 * 50**2


def test_without_information_steps_are_as_long_as_they_may_be():
    function = Function(lambda x: float(x.sum()), np.ones_like, lambda x: np.zeros((2, 2)))
    found = ascend(function, np.zeros(2), np.array([[-9.0, 9.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(found.vector, [9.0, 1.0])
    assert found.converged


def test_a_negligible_gain_ends_it_after_its_step():
    matrix = np.diag([1.0, 4.0])
    exact, rough = (quadratic(matrix, np.array([0.3, 0.1]), 1.2 * matrix) for _ in range(2))
    limits = np.array([[-WIDE, WIDE]] * 2)
    best, found = ascend(exact, np.zeros(2), limits), ascend(rough, np.zeros(2), limits, negligible=0.1)
    assert found.converged
    assert rough.count == 1 < exact.count
    np.testing.assert_allclose(found.vector, best.vector, atol=0.06)


def test_what_is_not_going_to_reach_its_goal_is_given_up():
    steep = np.array([[1.0, 0.0], [0.0, 100.0]])
    limits = np.array([[-WIDE, WIDE]] * 2)
    hopeless, hopeful = (quadratic(steep, np.full(2, 0.5), 2 * steep) for _ in range(2))
    assert not ascend(hopeless, np.zeros(2), limits, goal=100.0).converged
    assert hopeless.count == 1
    assert ascend(hopeful, np.zeros(2), limits, goal=-1.0).converged
