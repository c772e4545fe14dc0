"""Grids of inputs: their steps, positions on circles, and kernels on these."""

import numpy as np
import pytest

from torusgp.kernels.grids import circle_positions, grid_step
from torusgp.kernels.spectra import Folded, Heat, Matern, SquaredExponential, TorusMatern

FAMILIES = [TorusMatern(0.5), TorusMatern(1.5), Heat(), SquaredExponential(), Matern(2.5)]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("positions", [2, 3, 7, 24])
@pytest.mark.parametrize("length_scale", [0.1, 0.5, 3.0])
def test_folded_kernels_are_those_of_the_family_at_their_positions(family, positions, length_scale):
    phases = 2 * np.pi * np.arange(positions) / positions
    folded = Folded(family, positions)
    np.testing.assert_allclose(
        folded.kernel(phases, length_scale),
        family.kernel(phases, length_scale),
        atol=1e-4,  # of roughness beyond the aliases that are summed one by one
    )
    c = folded.coefficients(np.arange(positions), length_scale)
    assert c[0] + 2 * c[1:].sum() == pytest.approx(1.0, rel=1e-12)
    assert not c[positions // 2 + 1 :].any()


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("positions", [2, 7, 24])
def test_derivatives_of_folded_coefficients(family, positions):
    folded, k, h = Folded(family, positions), np.arange(positions // 2 + 1), 1e-5
    ahead, behind = (folded.log_coefficients(k, 0.4 * np.exp(sign * h)) for sign in (1, -1))
    np.testing.assert_allclose(folded.log_coefficients_gradient(k, 0.4), (ahead - behind) / (2 * h), atol=1e-6)


def test_coefficients_that_underflow_keep_their_logarithms():
    k = np.arange(13)
    family = SquaredExponential()
    np.testing.assert_allclose(
        Folded(family, 25).log_coefficients(k, 40.0), family.log_coefficients(k, 40.0), rtol=1e-6
    )


@pytest.mark.parametrize("unit", [1e-3, 1.0, 3600.0])
@pytest.mark.parametrize("origin", [0.0, 137.3, 1e6])
def test_positions_on_a_circle_depend_on_neither_unit_nor_origin(unit, origin):
    days = np.random.default_rng(0).permutation(400)[:100] * unit + origin
    step = grid_step(days)
    assert step == pytest.approx(unit)
    assert circle_positions(days, step, 7 * unit) == 7
    assert circle_positions(days, step, 365.25 * unit) == 0
    assert circle_positions(days + unit * np.random.default_rng(1).uniform(0, 0.5, 100), step, 7 * unit) == 0


@pytest.mark.parametrize(("family", "positions"), [(Heat("cartesian"), 5), ("heat", 5), (Heat(), 0), (Heat(), "5")])
def test_wrong_arguments_of_a_folded_family(family, positions):
    with pytest.raises(ValueError, match=r"family must be a Spectrum|positions must be a positive integer"):
        Folded(family, positions)
