"""Coefficients and their derivatives against many-digit arithmetic."""

import numpy as np
import pytest
from mpmath import mp, mpf

from tests import oracles
from tests.conftest import TOLERANCE
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern

FREQUENCIES = np.unique([*range(40), *np.geomspace(40, 10**4, 60).astype(int)]).tolist()
FEW_FREQUENCIES = [0, 1, 7, 63, 64, 300, 10**4]

FAMILIES = [
    *[(Matern(nu), length_scale) for nu in (0.5, 1.5, 2.5) for length_scale in (0.3, 1e3)],
    (Matern(0.8), 3.0),
    (RationalQuadratic(0.05), 0.5),
    (RationalQuadratic(0.06), 0.5),
    (RationalQuadratic(0.5), 0.1),
    (RationalQuadratic(1.0), 0.01),
    (RationalQuadratic(2.3), 100.0),
    (RationalQuadratic(50.0), 0.01),
    (RationalQuadratic(1e4), 0.5),
    *[(Heat(), length_scale) for length_scale in (1e-3, 0.1, 0.99, 1.01, 5.0, 1e3)],
    *[(TorusMatern(nu), length_scale) for nu in (0.5, 1.5, 2.5) for length_scale in (1e-3, 0.5, 30.0)],
    (TorusMatern(0.8), 2.0),
    (TorusMatern(10.0), 0.5),
]


def relative_errors(values, expected):
    return [float(abs(mpf(value) / exact - 1)) for value, exact in zip(values, expected, strict=True)]


def scaled_errors(values, expected):
    return [float(abs(mpf(v) - exact) / max(1, abs(exact))) for v, exact in zip(values, expected, strict=True)]


@pytest.mark.parametrize("length_scale", [1e-4, 1e-3, 1e-2, 0.0316, 0.1, 0.3, 1.0, 3.0, 10.0, 1e3])
def test_squared_exponential_equals_the_backward_recurrence(length_scale):
    exact = oracles.coefficients(SquaredExponential(), FREQUENCIES, length_scale)
    logs = SquaredExponential().log_coefficients(FREQUENCIES, length_scale)
    assert max(scaled_errors(logs, map(mp.log, exact))) <= TOLERANCE["log_coefficient"]
    visible = [i for i, c in enumerate(exact) if c > mpf(10) ** -80]
    values = SquaredExponential().coefficients(np.array(FREQUENCIES)[visible], length_scale)
    assert max(relative_errors(values, [exact[i] for i in visible])) <= TOLERANCE["bessel_relative"]


@pytest.mark.parametrize(("family", "length_scale"), FAMILIES, ids=str)
def test_coefficients_equal_the_oracle(family, length_scale):
    exact = oracles.coefficients(family, FEW_FREQUENCIES, length_scale)
    logs = family.log_coefficients(FEW_FREQUENCIES, length_scale)
    assert max(scaled_errors(logs, map(mp.log, exact))) <= TOLERANCE["log_coefficient"]
    visible = [i for i, c in enumerate(exact) if c > mpf(10) ** -80]
    values = family.coefficients(np.array(FEW_FREQUENCIES)[visible], length_scale)
    assert max(relative_errors(values, [exact[i] for i in visible])) <= TOLERANCE["coefficient_relative"]


@pytest.mark.slow
@pytest.mark.parametrize(("nu", "length_scale"), [(0.1, 0.5), (0.8, 0.05), (7.3, 0.5), (7.3, 50.0), (30.0, 50.0)])
def test_matern_coefficients_equal_the_oracle_for_any_smoothness(nu, length_scale):
    frequencies = [0, 1, 2, 7, 1000, 3000, 10**4]
    with mp.workdps(60):  # the cosine integral cancels down to 1e-40
        exact = oracles.coefficients(Matern(nu), frequencies, length_scale)
    logs = Matern(nu).log_coefficients(frequencies, length_scale)
    assert max(scaled_errors(logs, map(mp.log, exact))) <= TOLERANCE["log_coefficient"]


def test_the_two_matern_oracles_agree():
    for nu in (0.5, 2.5):
        by_cosine = oracles.matern_coefficient_by_cosine(20, 3.0, nu)
        assert abs(oracles.matern_coefficient_by_contour(20, 3.0, nu) / by_cosine - 1) < 1e-20


@pytest.mark.parametrize(
    ("family", "length_scale"),
    [
        *[(SquaredExponential(), length_scale) for length_scale in (1e-4, 1e-2, 0.3, 3.0, 1e3)],
        (Matern(0.5), 0.3),
        (Matern(2.5), 2.0),
        (RationalQuadratic(0.5), 0.1),
        (RationalQuadratic(2.3), 3.0),
        (RationalQuadratic(1e4), 0.5),
        (Heat(), 0.1),
        (Heat(), 2.0),
        *[(TorusMatern(nu), length_scale) for nu in (0.5, 0.8, 1.5, 2.5, 10.0) for length_scale in (0.3, 1.0)],
    ],
    ids=str,
)
def test_slope_in_the_log_length_scale_equals_a_difference_of_the_oracle(family, length_scale):
    step, frequencies = mpf(10) ** -10, [0, 1, 7, 63, 64, 10**4]
    ahead, behind = (
        oracles.coefficients(family, frequencies, mpf(length_scale) * mp.exp(sign * step)) for sign in (1, -1)
    )
    exact = [(mp.log(a) - mp.log(b)) / (2 * step) for a, b in zip(ahead, behind, strict=True)]
    slopes = family.log_coefficients_gradient(frequencies, length_scale)
    assert max(scaled_errors(slopes, exact)) <= TOLERANCE["slope"]


@pytest.mark.parametrize("family", [SquaredExponential(), Matern(1.5), RationalQuadratic(), Heat(), TorusMatern()])
def test_coefficients_are_even_and_keep_the_shape_of_the_frequencies(family):
    frequencies = np.array([[0, 3], [-3, 50]])
    values = family.coefficients(frequencies, 0.7)
    assert values.shape == (2, 2)
    assert values[0, 1] == values[1, 0]
    assert family.coefficients(3, 0.7) == values[0, 1]


@pytest.mark.parametrize("length_scale", [1e-3, 0.02, 0.3, 2.0, 50.0, 1e3])
@pytest.mark.parametrize("nu", [0.5, 0.8, 1.5, 2.5, 7.3, 100.0])
def test_tabulated_matern_coefficients_equal_those_of_a_grid_for_every_octave(nu, length_scale):
    family = Matern(nu)
    orders = np.array([33, 50, 63, 64, 65, 127, 128, 255, 256, 400, 511, 512, 1000, 1024, 2047, 2048, 3333, 4095, 4096])
    tabulated = family.log_coefficients_and_gradient(orders, length_scale)
    log_value, mean = family._integrate_in_blocks(orders.astype(float), family._offset(length_scale))
    for one, other, tolerance in (
        (tabulated[0], log_value, TOLERANCE["log_coefficient"]),
        (tabulated[1], -2 * (nu - mean), TOLERANCE["slope"]),
    ):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
