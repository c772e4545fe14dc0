"""Heat and Matern kernels on lattices, against sums over a large block of images."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sklearn_kernels

from tests import oracles
from tests.conftest import TOLERANCE, label
from torusgp.kernels.spectra import Heat, TorusMatern
from torusgp.kernels.spectra._lattice import MaternLatticeSum
from torusgp.kernels.spectra._matern import matern_sum

CELLS = {"hexagonal": oracles.HEXAGONAL, "oblique": oracles.OBLIQUE, "triclinic": oracles.TRICLINIC}


def correlation(family, length_scale):
    kernel = (
        sklearn_kernels.RBF(length_scale)
        if isinstance(family, Heat)
        else sklearn_kernels.Matern(length_scale, nu=family.nu)
    )
    return lambda distance: kernel(distance.reshape(-1, 1), np.zeros((1, 1))).reshape(distance.shape)


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize(
    ("family", "length_scale"),
    [
        *[(Heat("cartesian"), length_scale) for length_scale in (0.1, 0.5, 1.5)],  # summed over either lattice
        *[(TorusMatern(nu, "cartesian"), length_scale) for nu in (0.5, 0.8, 2.5) for length_scale in (0.1, 0.25)],
    ],
    ids=label,
)
def test_kernel_equals_the_image_sum(family, length_scale, cell):
    phases = np.random.default_rng(0).uniform(-10, 10, (6, len(cell)))
    n_images = 16 if len(cell) == 2 else 13
    images = oracles.image_sum(correlation(family, length_scale), (phases / (2 * np.pi)) % 1 @ cell, cell, n_images)
    np.testing.assert_allclose(family.kernel(phases, length_scale, cell), images, atol=TOLERANCE["rounding"])


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("family", [Heat("cartesian"), TorusMatern(4.0, "cartesian")], ids=label)
def test_series_equals_the_kernel_within_what_the_box_leaves(family, cell):
    frequencies = oracles.grid([12 if len(cell) == 2 else 7] * len(cell))
    coefficients = family.coefficients(frequencies, 0.4, cell)
    phases = np.random.default_rng(0).uniform(0, 2 * np.pi, (5, len(cell)))
    series = np.cos(phases @ frequencies.T) @ coefficients
    left = 1 - coefficients.sum()
    assert -TOLERANCE["rounding"] <= left < 1e-3
    assert np.abs(series - family.kernel(phases, 0.4, cell)).max() <= left + TOLERANCE["rounding"]


@pytest.mark.parametrize("family", [Heat("cartesian"), TorusMatern(4.0, "cartesian")], ids=label)
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_sum_of_squares_equals_the_explicit_sum(family, cell):
    frequencies = oracles.grid([20 if len(cell) == 2 else 9] * len(cell))
    squares = np.sum(family.coefficients(frequencies, 0.3, cell) ** 2)
    assert family.sum_of_squares(0.3, cell) == pytest.approx(squares, rel=1e-8)  # the box leaves 1e-9 of the Matern


@pytest.mark.parametrize(
    "family", [Heat("cartesian"), *[TorusMatern(nu, "cartesian") for nu in (0.5, 0.8, 1.5, 3.0)]], ids=label
)
@pytest.mark.parametrize("length_scale", [0.1, 0.5])
def test_slope_in_the_log_length_scale_equals_a_difference(family, length_scale):
    frequencies, step = oracles.grid([3, 3]), 1e-3
    stencil = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # sixth order
    difference = sum(
        sign
        * weight
        / step
        * family.log_coefficients(frequencies, length_scale * np.exp(sign * j * step), oracles.OBLIQUE)
        for j, weight in stencil.items()
        for sign in (1, -1)
    )
    slopes = family.log_coefficients_gradient(frequencies, length_scale, oracles.OBLIQUE)
    np.testing.assert_allclose(slopes, difference, rtol=1e-9, atol=1e-9)  # of the difference: rounding over the step


@pytest.mark.parametrize("family", [Heat, lambda metric: TorusMatern(1.5, metric)], ids=["heat", "torus_matern"])
def test_the_phase_metric_is_the_cartesian_one_on_a_circle(family):
    k, circle = np.arange(30), np.array([[2 * np.pi]])
    one, other = family("phase"), family("cartesian")
    np.testing.assert_allclose(
        one.log_coefficients(k, 0.4), other.log_coefficients(k[:, None], 0.4, circle), rtol=TOLERANCE["rounding"]
    )
    np.testing.assert_allclose(
        one.kernel(0.1 * k, 0.4), other.kernel(0.1 * k[:, None], 0.4, circle), rtol=TOLERANCE["rounding"]
    )


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("length_scale", [1e-3, 0.3, 2.0, 50.0, 1e4])
def test_the_sum_on_a_circle_in_closed_form_is_that_over_its_images(nu, length_scale):
    images = MaternLatticeSum(np.array([[2 * np.pi]]), length_scale, nu)
    value, derivative = matern_sum(2 * np.pi / length_scale, nu)
    assert value == pytest.approx(images.at_zero, rel=1e-13)
    assert derivative == pytest.approx(images.log_scale_derivative, abs=1e-13)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_the_sum_on_a_circle_at_extreme_length_scales(nu):
    assert matern_sum(2 * np.pi / 1e-200, nu) == (1.0, 0.0)
    value, derivative = matern_sum(2 * np.pi / 1e200, nu)
    assert value > 1e199
    assert derivative == pytest.approx(1.0)
