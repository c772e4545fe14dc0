"""Minimising a loss that cannot be had everywhere, and second derivatives by differences."""

import numpy as np
import pytest

from torusgp.engine.inference import NotPositiveDefiniteError
from torusgp.fitting.descent import curvature, descend, with_wall


class TestWall:
    """Values relative to a start, and high where the loss cannot be had."""

    @staticmethod
    def steep(point):
        """A parabola that can be had up to 2 alone, with its minimum there at 1.5; at 0 it has the value 1000."""
        if point[0] > 2:
            raise NotPositiveDefiniteError("beyond the wall")
        return 1000 - 2.25 + (point[0] - 1.5) ** 2, 2 * (point - 1.5)

    def test_values_are_relative_and_gradients_as_they_were(self):
        relative, reference = with_wall(self.steep, np.zeros(1))
        assert reference == 1000
        assert relative(np.zeros(1))[0] == 0
        value, gradient = relative(np.array([1.0]))
        assert value == pytest.approx(-2.0)
        np.testing.assert_array_equal(gradient, self.steep(np.array([1.0]))[1])

    def test_beyond_the_wall_it_is_high_and_flat(self):
        relative, reference = with_wall(self.steep, np.zeros(1))
        value, gradient = relative(np.array([2.5]))
        assert value > abs(reference)
        assert gradient.tolist() == [0.0]

    def test_an_optimiser_turns_back_from_it(self):
        met = []

        def nearly_straight(point):  # so that steps become long, and go far beyond the minimum at 1.5
            met.append(point[0])
            if point[0] > 2:
                raise NotPositiveDefiniteError("beyond the wall")
            value = np.hypot(1, point[0] - 1.5)
            return 1000 + value, (point - 1.5) / value

        start = np.array([-30.0])
        found = descend(nearly_straight, start, np.array([[-np.inf, np.inf]]), value_tolerance=1e-9)
        assert max(met) > 2
        assert found.converged
        assert found.vector[0] == pytest.approx(1.5, abs=1e-3)
        assert found.value == pytest.approx(1001, abs=1e-6)

    def test_a_start_without_a_value_is_not_hidden(self):
        with pytest.raises(NotPositiveDefiniteError, match="beyond the wall"):
            with_wall(self.steep, np.array([3.0]))

    def test_other_errors_pass(self):
        def broken(point):
            if point[0]:
                raise ZeroDivisionError
            return 0.0, point

        relative, _ = with_wall(broken, np.zeros(1))
        with pytest.raises(ZeroDivisionError):
            relative(np.ones(1))


def test_too_few_steps_are_said():
    found = descend(lambda x: (float(np.exp(x) @ x), np.exp(x) * (1 + x)), np.array([3.0]), np.array([[-9.0, 9.0]]), 1)
    assert not found.converged


def test_the_curvature_of_a_quadratic_is_its_matrix():
    matrix = np.array([[3.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(curvature(lambda x: matrix @ x, np.array([0.3, -2.0])), matrix, rtol=1e-10)
