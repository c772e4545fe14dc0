import tracemalloc

import numpy as np
import pytest

from tests.conftest import TOLERANCE
from torusgp import IndexSetFourierFeatures, TorusKernel
from torusgp.engine.basis import columns, full_feature_map, reference_columns
from torusgp.kernels.index_sets import adaptive, from_frequencies, hyperbolic_cross, total_order


@pytest.mark.parametrize("n_components", [1, 3, 101, 1001])
@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_columns_equal_their_definition(dimension, n_components):
    frequencies = adaptive(TorusKernel(length_scale=0.4, period=1.0), n_components, dimension=dimension).frequencies
    phases = np.random.default_rng(0).uniform(0, 2 * np.pi, (537, dimension))
    assert np.abs(columns(phases, frequencies) - reference_columns(phases, frequencies)).max() <= TOLERANCE["rounding"]


def test_columns_of_sparse_high_frequencies():
    frequencies = from_frequencies([[1000, -3], [0, 777], [5, 5]]).frequencies
    phases = np.random.default_rng(0).uniform(0, 2 * np.pi, (100, 2))
    assert np.abs(columns(phases, frequencies) - reference_columns(phases, frequencies)).max() <= TOLERANCE["rounding"]


def test_scale_multiplies_pairs_of_columns():
    frequencies = hyperbolic_cross(2, 4).frequencies
    phases, scale = np.ones((3, 2)), np.arange(1.0, len(frequencies) + 1)
    assert np.allclose(columns(phases, frequencies, scale), columns(phases, frequencies) * np.repeat(scale, 2)[1:])


def test_no_rows_give_no_rows():
    assert columns(np.empty((0, 2)), hyperbolic_cross(2, 2).frequencies).shape == (0, 21)


def test_memory_beyond_the_result_does_not_grow_with_the_rows():
    frequencies = hyperbolic_cross(2, 13).frequencies
    overheads = []
    for n_rows in (5_000, 50_000):
        phases = np.random.default_rng(0).uniform(0, 2 * np.pi, (n_rows, 2))
        tracemalloc.start()
        result = columns(phases, frequencies)
        overheads.append(tracemalloc.get_traced_memory()[1] - result.nbytes)
        tracemalloc.stop()
    assert overheads[1] <= 1.2 * overheads[0] + 2**16


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_full_construction_has_the_same_products(dimension):
    kernel = TorusKernel(length_scale=np.linspace(0.5, 1.2, dimension), period=1.5)
    index_set = total_order(dimension, 4)
    X = np.random.default_rng(0).normal(size=(20, dimension))
    full = full_feature_map(kernel, X, index_set.indices)
    sparse = IndexSetFourierFeatures(length_scale=kernel.length_scale, period=1.5, index_set=index_set).fit_transform(X)
    assert full.shape[1] == index_set.n_components_full
    assert sparse.shape[1] == index_set.n_components
    assert np.abs(full @ full.T - sparse @ sparse.T).max() <= TOLERANCE["rounding"]
