"""Certificates far below rounding, against explicit sums of everything that a set leaves out."""

import numpy as np
import pytest

from tests import oracles
from tests.conftest import TOLERANCE, label
from torusgp import TorusKernel
from torusgp.kernels.index_sets import adaptive, energy_norm_hyperbolic_cross, hyperbolic_cross, tensor, total_order
from torusgp.kernels.spectra import RationalQuadratic

CASES = [
    (TorusKernel(length_scale=[20.0, 30.0], period=1.0), tensor(2, 9)),
    (TorusKernel(length_scale=[5.0, 8.0], period=1.0), hyperbolic_cross(2, 9)),
    (TorusKernel(length_scale=[3.0, 5.0, 9.0], period=1.0), total_order(3, 6)),
    (TorusKernel(length_scale=[3.0, 5.0, 9.0], period=1.0), energy_norm_hyperbolic_cross(3, 4, sparsity=0.7)),
    (
        TorusKernel(length_scale=[3.0, 5.0, 9.0], period=1.0),
        adaptive(TorusKernel(length_scale=[3.0, 5.0, 9.0], period=1.0), 203),
    ),
    (TorusKernel(length_scale=[4.0, 4.0, 7.0], max_interaction=2, period=1.0), total_order(3, 7, max_interaction=2)),
    (TorusKernel("heat", [2.0, 3.0], period=1.0), tensor(2, 6)),
    (TorusKernel(RationalQuadratic(2.0), [8.0, 12.0], period=1.0), total_order(2, 10)),
]


def dropped_coefficients(kernel, index_set):
    """Coefficients outside a set, in a box so large that what lies outside of it is rounding."""
    largest = np.abs(index_set.frequencies).max(axis=0)
    box = oracles.grid(largest + (8 if len(largest) == 3 else 16))
    kept = {tuple(row) for row in np.vstack([index_set.frequencies, -index_set.frequencies]).tolist()}
    outside = np.array([tuple(row) not in kept for row in box.tolist()])
    return np.sort(kernel.coefficients(box[outside]))


@pytest.mark.parametrize(("kernel", "index_set"), CASES, ids=label)
def test_small_certificates_are_accurate_relative_to_themselves(kernel, index_set):
    dropped = dropped_coefficients(kernel, index_set)
    error = kernel.truncation_error(index_set)
    assert 0 < error < 1e-7
    assert error == pytest.approx(dropped.sum(), rel=TOLERANCE["certificate_relative"], abs=0)
    every = kernel.coefficients(oracles.grid([20] * index_set.dimension))
    expected = np.sqrt((dropped**2).sum() / (every**2).sum())
    assert kernel.frobenius_error(index_set) == pytest.approx(expected, rel=TOLERANCE["certificate_relative"], abs=0)


def test_some_certificates_are_far_below_rounding():
    assert min(kernel.truncation_error(index_set) for kernel, index_set in CASES) < 1e-35
