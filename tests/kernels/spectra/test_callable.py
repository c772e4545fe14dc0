"""Kernels given as a function."""

import numpy as np
import pytest

from tests.conftest import TOLERANCE
from torusgp.kernels.spectra import Matern, RationalQuadratic, SquaredExponential, Warped


def matern32(distance):
    return (1 + np.sqrt(3) * distance) * np.exp(-np.sqrt(3) * distance)


def squared_cosine(distance):
    """Coefficients 1/2, 0, 1/4, 0, ...: they do not fall."""
    return (1 - distance**2 / 2) ** 2


PAIRS = [
    (lambda distance: np.exp(-(distance**2) / 2), SquaredExponential()),
    (lambda distance: np.exp(-distance), Matern(0.5)),
    (matern32, Matern(1.5)),
    (lambda distance: (1 + distance**2 / 4.6) ** -2.3, RationalQuadratic(2.3)),
]


@pytest.mark.parametrize("length_scale", [0.03, 0.5, 3.0])
@pytest.mark.parametrize(("function", "family"), PAIRS, ids=[str(family) for _, family in PAIRS])
def test_coefficients_equal_those_of_the_closed_form(function, family, length_scale):
    k = np.arange(1000)
    difference = Warped(function).coefficients(k, length_scale) - family.coefficients(k, length_scale)
    assert np.abs(difference).max() <= TOLERANCE["callable_coefficient"]


def test_coefficients_below_the_floor_are_zero_and_their_mass_is_in_the_tail():
    family, k = Warped(matern32), np.arange(200)
    coefficients = family.coefficients(k, 100.0)
    lost = (coefficients == 0) & (Matern(1.5).coefficients(k, 100.0) > 0)
    assert lost.any()
    assert (coefficients[~lost] >= TOLERANCE["callable_coefficient"]).all()
    assert np.isneginf(family.log_coefficients(k, 100.0)[lost]).all()


def test_coefficients_need_not_fall():
    family = Warped(squared_cosine)
    np.testing.assert_allclose(
        family.coefficients(np.arange(5), 1.0), [0.5, 0, 0.25, 0, 0], atol=TOLERANCE["callable_coefficient"]
    )
    assert not family.monotone


@pytest.mark.parametrize("length_scale", [0.3, 1.0])
def test_slope_equals_that_of_the_closed_form(length_scale):
    k = np.arange(20)
    slopes = Warped(matern32).log_coefficients_gradient(k, length_scale)
    exact = Matern(1.5).log_coefficients_gradient(k, length_scale)
    assert (np.abs(slopes - exact) / np.maximum(1, np.abs(exact))).max() <= TOLERANCE["slope_of_callable"]


@pytest.mark.parametrize(
    "function",
    [np.cos, lambda distance: np.maximum(0, 1 - distance**2), lambda distance: np.where(distance < 1, 1.0, 0.0)],
    ids=["cosine", "cut parabola", "step"],
)
def test_a_function_that_is_not_positive_definite_is_refused(function):
    with pytest.raises(
        ValueError, match=r"not positive definite on the circle with length_scale=0\.3: .*coefficient \d+ is -"
    ):
        Warped(function).coefficients(np.arange(3), 0.3)
