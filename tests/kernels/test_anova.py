"""Centred columns: their kernels, their Fourier columns, walks, and what does not change them."""

import numpy as np
import pytest

from tests import anova_oracle as oracle
from tests.conftest import TOLERANCE
from torusgp.engine.basis import reference_columns
from torusgp.kernels.anova import MOST_HARMONICS, AnovaBasis, CentredAxis
from torusgp.kernels.spectra import Brownian, Heat, Levels
from torusgp.kernels.torus import Axis

N_ROWS = 300
SCALE = 0.8


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    columns = rng.uniform(0, 24, N_ROWS), 3 * rng.beta(2, 5, N_ROWS), rng.integers(0, 3, N_ROWS), np.arange(N_ROWS) / 30
    return np.column_stack(columns)


@pytest.fixture
def axes(rows):
    made = [
        (Axis("hour", "circle", 0), 24.0, Heat()),
        (Axis("rain", "line", 1, 0.0, 3.0), 4.8, Heat()),
        (Axis("shop", "category", 2, levels=("a", "b", "c")), 5.0, Levels(5, False)),
        (Axis("time", "walk", 3, 0.0, rows[-1, 3]), 2 * rows[-1, 3], Brownian()),
    ]
    return tuple(CentredAxis.of(*one, rows[:, d]) for d, one in enumerate(made))


def kernels(rows):
    found = oracle.circle(24.0, SCALE), oracle.circle(4.8, SCALE), oracle.levels(), oracle.walk(0.0)
    return [oracle.centred(kernel, rows[:, d]) for d, kernel in enumerate(found)]


def test_kernels_of_axes_are_centred_kernels_of_variance_one_over_the_rows(rows, axes):
    for d, (axis, dense) in enumerate(zip(axes, kernels(rows), strict=True)):
        # two hundred cosines of Brownian motion leave out up to 12 / (200 pi^2) of its variance
        tolerance = 1e-2 if axis.axis.kind == "walk" else 1e-9
        found = axis.kernel(rows[:, d], np.log(SCALE))
        assert found == pytest.approx(dense(rows[:, d], rows[:, d]), abs=tolerance)
        assert np.mean(np.diagonal(found)) == pytest.approx(1)


def test_shares_have_the_slopes_of_difference_quotients(axes):
    for axis in axes:
        k, step = np.arange(1, axis.n_harmonics + 1), 1e-6
        ahead, behind = (axis.log_shares(k, np.log(SCALE) + sign * step)[0] for sign in (1, -1))
        slopes = axis.log_shares(k, np.log(SCALE))[1]
        assert slopes == pytest.approx((ahead - behind) / (2 * step), abs=1e-4 * max(1, np.abs(slopes).max()))


def basis_of(axes):
    terms = ((0,), (1,), (2,), (3,), (0, 1), (1, 2), (0, 3), (0, 1, 3))
    owner = np.array([0, 0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7])
    first = [1, 3, 2, 1, 2, 1, 4, 1, 3, 2, 2, 1, 1]
    second = [0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 2, 3, 1]
    third = [0] * 12 + [2]
    return AnovaBasis(axes, terms, owner, np.column_stack([first, second, third]))


def test_fourier_columns_and_their_matrix_are_the_basis(rows, axes):
    basis = basis_of(axes)
    frequencies, matrix = basis.fourier
    phases = 2 * np.pi * rows / [axis.period for axis in axes]
    assert not frequencies[0].any()
    assert matrix.shape == (basis.n_columns, 2 * len(frequencies) - 1)
    assert basis.columns(rows) == pytest.approx(reference_columns(phases, frequencies) @ matrix.T, abs=1e-12)


def test_columns_of_one_input_have_mean_zero_over_the_rows(rows, axes):
    basis = basis_of(axes)
    alone = basis.columns_of(np.arange(4))
    assert basis.columns(rows)[:, alone].mean(axis=0) == pytest.approx(0, abs=TOLERANCE["rounding"])


def test_columns_of_products_have_mean_zero_in_each_of_their_inputs(rows, axes):
    """Over the rows of one input, whatever the other is."""
    own = basis_of(axes).columns_of(np.array([4]))
    many = np.tile(rows, (3, 1))
    many[:, 1] = np.repeat([0.1, 1.0, 2.9], N_ROWS)
    means = basis_of(axes).columns(many)[:, own].reshape(3, N_ROWS, -1).mean(axis=1)
    assert means == pytest.approx(0, abs=TOLERANCE["rounding"])


def test_a_walk_holds_its_level_beyond_the_rows_and_has_a_rate(axes):
    walk = axes[3]
    end = walk.axis.high
    at_end, later = walk.harmonics(np.array([end, end + 5.0]), 7)
    assert np.array_equal(at_end, later)
    inside = np.array([3.0, 6.5])
    kernel = walk.kernel(inside, 0.0)
    increment = kernel[0, 0] + kernel[1, 1] - 2 * kernel[0, 1]
    assert increment == pytest.approx(walk.rate * 3.5, rel=0.01)  # of two hundred cosines


def test_harmonics_are_those_that_rows_can_tell_apart():
    weekday = CentredAxis.of(Axis("weekday", "circle", 0), 7.0, Heat(), np.arange(70) % 7.0)
    assert weekday.n_harmonics == 3
    free = CentredAxis.of(Axis("x", "circle", 0), 7.0, Heat(), np.random.default_rng(0).uniform(0, 7, 5000))
    assert free.n_harmonics == MOST_HARMONICS


def test_the_unit_and_origin_of_an_input_change_nothing(rows):
    axis, period = Axis("rain", "line", 1, 0.0, 3.0), 4.8
    other = CentredAxis.of(Axis("rain", "line", 1, 0.0, 3000.0), 1000 * period, Heat(), 1000 * rows[:, 1])
    one = CentredAxis.of(axis, period, Heat(), rows[:, 1])
    assert one.averages == pytest.approx(other.averages, abs=1e-11)
    k = np.arange(1, one.n_harmonics + 1)
    assert one.log_shares(k, -0.3)[0] == pytest.approx(other.log_shares(k, -0.3)[0], abs=1e-9)


def test_weights_are_repeats(rows):
    weight = np.random.default_rng(0).integers(1, 4, N_ROWS)
    axis = Axis("rain", "line", 1, 0.0, 3.0)
    one = CentredAxis.of(axis, 4.8, Heat(), rows[:, 1], weight.astype(float))
    other = CentredAxis.of(axis, 4.8, Heat(), np.repeat(rows[:, 1], weight))
    assert one.averages == pytest.approx(other.averages, abs=TOLERANCE["rounding"])
    assert one.powers == pytest.approx(other.powers, abs=TOLERANCE["rounding"])
