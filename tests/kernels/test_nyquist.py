"""Index sets without the frequencies that the grids of the data cannot show."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.exact_regression import HEXAGONAL
from tests.expressions import circles, lattice, prior_of
from torusgp import Category, Circle
from torusgp.fitting.moves import inverse_cell
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.nyquist import below_nyquist
from torusgp.kernels.spectra import Heat


def below(index_set, prior, parameters, size, nyquist):
    """The set, as if the inputs lay on grids with these highest frequencies."""
    kernel = prior.sum_kernel(parameters)
    axes = tuple(replace(axis, step=1 / (2 * one)) for axis, one in zip(kernel.torus.axes, nyquist, strict=True))
    kernel = replace(kernel, torus=replace(kernel.torus, axes=axes))
    return below_nyquist(index_set, kernel, size, np.arange(len(axes)))


PRIORS = {
    "1-D": (prior_of(circles(3.0), length_scale=0.05), [1.4]),
    "2-D": (prior_of(circles([3.0, 2.0]), length_scale=[0.1, 0.3]), [1.7, 2.1]),
    "one axis scattered": (prior_of(circles([3.0, 2.0]), length_scale=[0.2, 0.3]), [1.7, np.inf]),
    "cell": (prior_of(lattice(HEXAGONAL), length_scale=[0.2, 0.3]), [4.2, 5.1]),
    "Cartesian": (prior_of(lattice(HEXAGONAL, family=Heat("cartesian")), length_scale=0.01), [4.2, 5.1]),
    "3-D": (prior_of(circles([2.0] * 3, family="matern32"), length_scale=[0.5, 1.0, 1.0]), [1.1, 1.1, 1.6]),
    "sum": (prior_of(Circle(0, 3.0, length_scale=0.3) * Circle(1, 2.0) + Circle(1, 2.0)), [1.7, 2.1]),
}


def half_of_the_frequencies_inside(period, nyquist, reach):
    """Frequencies of a box that the grid can show, one of each pair, without zero."""
    dimension = len(nyquist)
    box = np.array(list(product(range(-reach, reach + 1), repeat=dimension)))
    box = box[len(box) // 2 + 1 :]
    waves = box @ inverse_cell(period, dimension).T
    return box[(np.abs(waves) <= np.array(nyquist) * (1 + 1e-9)).all(axis=1)]


@pytest.mark.parametrize("size", [9, 20, 41])
@pytest.mark.parametrize("name", PRIORS)
def test_the_largest_coefficients_inside_are_kept(name, size):
    (prior, parameters), nyquist = PRIORS[name]
    kernel, dimension = prior.sum_kernel(parameters), len(nyquist)
    found = below(prior.select(parameters, size), prior, parameters, size, nyquist)
    assert found.n_components <= size
    waves = found.frequencies @ inverse_cell(parameters.period, dimension).T
    assert (np.abs(waves) <= np.array(nyquist) * (1 + 1e-9)).all()
    possible = half_of_the_frequencies_inside(parameters.period, nyquist, {1: 200, 2: 25, 3: 8}[dimension])
    best = np.sort(kernel.coefficients(possible))[::-1][: (size - 1) // 2]
    kept = np.sort(kernel.coefficients(found.frequencies[1:]))[::-1]
    np.testing.assert_allclose(kept, best, rtol=1e-9)


def test_a_set_inside_is_returned_as_it_is():
    prior, parameters = prior_of(circles([3.0, 2.0]))
    index_set = prior.select(parameters, 21)
    for nyquist in ([np.inf, np.inf], [50.0, 50.0]):
        assert below(index_set, prior, parameters, 21, nyquist) is index_set


def test_the_nyquist_frequency_itself_can_be_seen():
    prior, parameters = prior_of(circles(3.0, length_scale=0.1))
    found = below(prior.select(parameters, 41), prior, parameters, 41, [4 / 3])
    np.testing.assert_array_equal(np.sort(found.frequencies[:, 0]), np.arange(5))


@pytest.mark.parametrize("index_set", [tensor(2, 4), hyperbolic_cross(2, 6)])
def test_other_sets_only_lose_frequencies(index_set):
    prior, parameters = prior_of(circles([3.0, 2.0], length_scale=0.5))
    found = below(index_set, prior, parameters, index_set.n_components, [0.7, 1.1])
    inside = (np.abs(index_set.frequencies / [3.0, 2.0]) <= [0.7, 1.1]).all(axis=1)
    np.testing.assert_array_equal(found.frequencies, index_set.frequencies[inside])
    assert 1 < len(found) < len(index_set)


def test_columns_of_a_category_stay_together():
    kernel = Circle(0, 3.0, length_scale=0.1) * Category(1, levels=["a", "b", "c"])
    prior, parameters = prior_of(kernel)
    found = below(prior.select(parameters, 60), prior, parameters, 60, [1.4, np.inf])
    levels = np.arange(-2, 3)  # of a circle of five places
    assert np.abs(found.frequencies[:, 0]).max() == 4
    for k in range(1, 5):
        assert set(found.frequencies[found.frequencies[:, 0] == k, 1]) in ({0}, set(levels))
