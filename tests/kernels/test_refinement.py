"""Refinement weights: a set with them is never worse than one without, at the same budget."""

from functools import partial

import numpy as np
import pytest

from torusgp import TorusKernel
from torusgp.kernels.index_sets import (
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    total_order,
)

FAMILIES = {
    "total order": total_order,
    "euclidean": euclidean,
    "cross": hyperbolic_cross,
    "energy-norm cross": partial(energy_norm_hyperbolic_cross, sparsity=0.5),
}


def random_kernel(number):
    """Kernels of two to five dimensions, families and length scales drawn; and a budget that every set fits into."""
    rng = np.random.default_rng(number)
    dimension = 2 + number % 4
    family = ("squared_exponential", "matern52", "rational_quadratic", "heat")[number // 4 % 4]
    kernel = TorusKernel(family, length_scale=np.exp(rng.uniform(np.log(0.15), np.log(2.5), dimension)))
    return kernel, dimension, int(rng.integers(3**dimension, 3**dimension + 200))


@pytest.mark.parametrize("number", range(40))
def test_weights_are_never_worse_than_one_at_equal_components(number):
    kernel, dimension, budget = random_kernel(number)
    for name, build in FAMILIES.items():
        try:
            plain = kernel.frobenius_error(build(dimension, n_components=budget))
        except ValueError:  # the smallest set with weights of one does not fit
            plain = np.inf
        weights = kernel.refinement_weights(build, budget)
        weighted = build(dimension, n_components=budget, weights=weights)
        assert weighted.n_components <= budget
        assert kernel.frobenius_error(weighted) <= plain, name
        assert ((weights > 0) & (weights <= 1)).all()


def test_longer_length_scales_have_smaller_weights():
    weights = TorusKernel(length_scale=[0.2, 0.6, 1.5]).refinement_weights("euclidean", 401)
    assert weights[0] == 1.0
    assert (np.diff(weights) < 0).all()


@pytest.mark.parametrize(
    ("build", "budget", "gain"),
    [
        (euclidean, 401, 300.0),
        (total_order, 401, 100.0),
        (hyperbolic_cross, 101, 1.4),
        (FAMILIES["energy-norm cross"], 101, 1.5),
    ],
)
def test_weights_make_up_for_length_scales(build, budget, gain):
    kernel = TorusKernel(length_scale=[0.15, 1.0])
    plain, weighted = (
        build(2, n_components=budget, weights=w) for w in (1.0, kernel.refinement_weights(build, budget))
    )
    assert kernel.frobenius_error(plain) > gain * kernel.frobenius_error(weighted)


def test_names_are_those_of_the_functions():
    kernel = TorusKernel(length_scale=[0.3, 1.0])
    assert np.array_equal(kernel.refinement_weights("total_order", 101), kernel.refinement_weights(total_order, 101))


def test_order_of_the_ANOVA_kernel_limits_the_sets():  # noqa: N802  an acronym
    kernel = TorusKernel(length_scale=[0.3, 1.0, 2.0], max_interaction=1)
    weights = kernel.refinement_weights("hyperbolic_cross", 21)
    index_set = hyperbolic_cross(3, n_components=21, weights=weights, max_interaction=1)
    plain = hyperbolic_cross(3, n_components=21, max_interaction=1)
    assert kernel.frobenius_error(index_set) < kernel.frobenius_error(plain)


@pytest.mark.parametrize(
    ("index_set", "n_components", "message"),
    [
        ("adaptive", 101, "must be one of"),
        (partial(energy_norm_hyperbolic_cross, sparsity=1.5), 101, "sparsity"),
        ("euclidean", 0, "n_components"),
    ],
)
def test_errors_say_what_is_wrong(index_set, n_components, message):
    with pytest.raises(ValueError, match=message):
        TorusKernel(length_scale=[1.0, 2.0]).refinement_weights(index_set, n_components)
