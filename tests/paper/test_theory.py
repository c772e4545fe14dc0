"""The worked expansions and the lemmas of the theory page, as they stand there."""

import numpy as np
import pytest

from torusgp import IndexSetFourierFeatures, TorusKernel
from torusgp.kernels.index_sets import hyperbolic_cross, tensor

SCALE = 0.8


@pytest.fixture
def theta():
    return np.random.default_rng(0).uniform(0, 2 * np.pi, (40, 3))


@pytest.fixture
def p():
    """Coefficients of the one-dimensional series of cosines."""
    c = TorusKernel(length_scale=SCALE).coefficients(np.arange(3)[:, None])
    return c * np.array([1.0, 2.0, 2.0])


def pairs(*angles):
    return [part(angle) for angle in angles for part in (np.cos, np.sin)]


def test_the_nine_columns_in_two_dimensions(theta, p):
    x, y = theta[:, 0], theta[:, 1]
    columns = [np.full(len(x), p[0])]
    columns += [np.sqrt(p[0] * p[1]) * column for column in (*pairs(y), *pairs(x))]
    columns += [p[1] / np.sqrt(2) * column for column in pairs(x + y, x - y)]
    ours = IndexSetFourierFeatures(period=2 * np.pi, length_scale=SCALE, index_set=tensor(2, 1)).fit_transform(
        theta[:, :2]
    )
    phi = np.column_stack(columns)
    assert phi.shape[1] == ours.shape[1] == 9
    np.testing.assert_allclose(phi @ phi.T, ours @ ours.T, atol=1e-14)


def test_the_full_map_repeats_cosines(theta, p):
    x, y = theta[:, 0], theta[:, 1]
    columns = []
    for first, second in ((0, 0), (0, 1), (1, 0), (1, 1)):
        angles = (first * x + second * y, first * x - second * y)
        columns += [np.sqrt(p[first] * p[second] / 2) * column for column in pairs(*angles)]
    ours = IndexSetFourierFeatures(period=2 * np.pi, length_scale=SCALE, index_set=tensor(2, 1)).fit_transform(
        theta[:, :2]
    )
    phi = np.column_stack(columns)
    assert phi.shape[1] == tensor(2, 1).n_components_full == 16
    np.testing.assert_allclose(phi @ phi.T, ours @ ours.T, atol=1e-14)


@pytest.mark.parametrize(
    ("index", "signs", "divisor"),
    [((1, 1, 1), [(1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1)], 4), ((1, 0, 2), [(1, 0, 1), (1, 0, -1)], 2)],
)
def test_two_indices_in_three_dimensions(theta, p, index, signs, divisor):
    angles = theta @ (np.array(signs) * index).T
    rho = np.prod(p[list(index)])
    phi = np.sqrt(rho / divisor) * np.hstack([np.cos(angles), np.sin(angles)])
    delta = theta[:, None] - theta
    product = rho * np.prod(np.cos(np.array(index) * delta), axis=-1)
    assert phi.shape[1] == 2 ** np.count_nonzero(index)
    np.testing.assert_allclose(phi @ phi.T, product, atol=1e-14)


def test_sizes_of_the_cross_in_three_dimensions():
    cross = hyperbolic_cross(3, 2)
    assert (len(cross), cross.n_components_full, cross.n_components) == (20, 160, 81)


@pytest.mark.parametrize("index_set", [tensor(2, 1), hyperbolic_cross(3, 2)], ids=["tensor", "cross"])
def test_no_map_of_the_same_kernel_has_fewer_columns(index_set):
    X = np.random.default_rng(1).uniform(size=(3 * index_set.n_components, index_set.dimension))
    phi = IndexSetFourierFeatures(period=1.0, length_scale=0.5, index_set=index_set).fit_transform(X)
    values = np.linalg.eigvalsh(phi @ phi.T)
    assert np.count_nonzero(values > 1e-10 * values.max()) == index_set.n_components
