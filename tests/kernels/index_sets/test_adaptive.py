from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from torusgp import TorusKernel
from torusgp.kernels.index_sets import (
    adaptive,
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    lp_ball,
    tensor,
    total_order,
)
from torusgp.kernels.spectra import Heat, Matern, Warped

length_scales = st.lists(st.floats(0.3, 3.0), min_size=1, max_size=3)


def half_grid(dimension, largest):
    grid = np.array(list(product(range(-largest, largest + 1), repeat=dimension)))
    return grid[len(grid) // 2 + 1 :]  # lexicographic order: after the zero vector come the positive ones


@given(length_scales, st.integers(1, 60), st.sampled_from(["squared_exponential", "matern32", "heat"]))
def test_equals_brute_force_on_a_grid(scales, n_components, family):
    kernel = TorusKernel(family, scales, period=1.0)
    chosen = adaptive(kernel, n_components).frequencies[1:]
    grid = half_grid(len(scales), {1: 40, 2: 20, 3: 8}[len(scales)])
    assume(np.abs(chosen).max(initial=0) < grid.max())  # otherwise the grid does not hold the set
    everything = np.sort(kernel.log_coefficients(grid))[::-1]
    assert len(chosen) == (n_components - 1) // 2
    assert np.allclose(kernel.log_coefficients(chosen), everything[: len(chosen)], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_components", [1, 3, 5, 9, 25, 51])
def test_is_optimal_for_every_odd_budget(n_components):
    kernel = TorusKernel(length_scale=[0.5, 1.3], period=1.0)
    best = adaptive(kernel, n_components)
    coefficients = np.sort(kernel.coefficients(half_grid(2, 12)))[::-1]
    n_pairs = (n_components - 1) // 2
    kept = kernel.coefficients(np.zeros((1, 2), int))[0] + 2 * coefficients[:n_pairs].sum()
    assert best.n_components == n_components
    assert kernel.truncation_error(best) == pytest.approx(1 - kept, rel=1e-9)


@pytest.mark.parametrize(
    "scales", [(0.3, 1.5), (0.5, 0.9, 2.0), (0.7, 1.0, 1.3, 1.6, 3.0), tuple(np.linspace(1, 3, 9))]
)
def test_is_never_worse_than_another_family_at_equal_budget(scales):
    kernel, dimension = TorusKernel(length_scale=np.array(scales), period=1.0), len(scales)
    weights = 2 / 3 if dimension > 4 else 1.0
    for family in (tensor, total_order, euclidean, hyperbolic_cross, energy_norm_hyperbolic_cross, lp_ball):
        # five dimensions: the smallest weighted cross has 163 columns at D = 9
        other = family(dimension, n_components=40000 if family is tensor and dimension == 9 else 1001, weights=weights)
        best = adaptive(kernel, other.n_components)
        assert best.n_components == other.n_components
        assert kernel.truncation_error(best) <= kernel.truncation_error(other) * (1 + 1e-9)
        assert kernel.frobenius_error(best) <= kernel.frobenius_error(other) * (1 + 1e-9)


def test_sets_are_nested_and_sorted_by_coefficient():
    kernel = TorusKernel(["squared_exponential", "matern32"], [0.6, 1.1], period=1.0)
    small, large = adaptive(kernel, 31), adaptive(kernel, 101)
    assert np.array_equal(small.frequencies, large.frequencies[: len(small.frequencies)])
    assert (np.diff(kernel.log_coefficients(large.frequencies)) <= 1e-9).all()


def test_ties_are_cut_in_lexicographic_order():
    found = adaptive(TorusKernel(length_scale=1.0, period=1.0), 5, dimension=3)
    assert found.frequencies.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_an_even_budget_gives_one_column_less():
    assert adaptive(TorusKernel(period=1.0), 8, dimension=2).n_components == 7


@pytest.mark.parametrize("n_components", [9, 20, 61, 200])
def test_sign_symmetric_keeps_whole_orbits(n_components):
    found = adaptive(TorusKernel(length_scale=[0.5, 0.8, 1.0], period=1.0), n_components, sign_symmetric=True)
    assert found.n_components <= n_components
    assert found.n_components == (2 ** np.count_nonzero(found.indices, axis=1)).sum()


def test_max_interaction_limits_the_non_zero_entries():
    kernel = TorusKernel(length_scale=0.5, period=1.0)
    found = adaptive(kernel, 201, dimension=5, max_interaction=2)
    assert np.count_nonzero(found.frequencies, axis=1).max() == 2
    assert found.max_interaction == 2


def test_coefficients_that_do_not_fall_are_ranked():
    # cos(theta) and cos(2 theta) in terms of the chord: c_0 = 0.2, c_1 = 0.1, c_2 = 0.3
    def function(distance):
        cosine = 1 - distance**2 / 2
        return 0.2 + 0.2 * cosine + 0.6 * (2 * cosine**2 - 1)

    kernel = TorusKernel(Warped(function), length_scale=[1.0, 1.0], period=1.0)
    assert kernel.coefficients(np.array([[0, 0], [1, 0], [2, 0]])) == pytest.approx([0.04, 0.02, 0.06])
    assert adaptive(kernel, 3).frequencies.tolist() == [[0, 0], [2, -2]]
    assert adaptive(kernel, 25).n_components == 25
    assert kernel.truncation_error(adaptive(kernel, 25)) == pytest.approx(0, abs=1e-12)


def test_a_short_length_scale_has_frequencies_without_gaps():
    kernel = TorusKernel(Matern(0.5), [0.005], period=1.0)
    assert adaptive(kernel, 301).frequencies[:, 0].tolist() == list(range(151))


def test_a_coefficient_far_out_is_found():
    kernel = TorusKernel(
        Warped(lambda distance: 0.4 + 0.6 * np.cos(40 * np.arccos(np.clip(1 - distance**2 / 2, -1, 1)))), period=1.0
    )
    assert adaptive(kernel, 3, dimension=1).frequencies.tolist() == [[0], [40]]


def test_a_family_without_constant_term():
    kernel = TorusKernel(Warped(lambda distance: 1 - distance**2 / 2), period=1.0)  # cos(theta)
    found = adaptive(kernel, 3, dimension=1)
    assert found.frequencies.tolist() == [[0], [1]]


def test_unequal_families_and_short_length_scales():
    kernel = TorusKernel([Matern(0.5), Heat()], [0.05, 3.0], period=1.0)
    found = adaptive(kernel, 401)
    assert np.abs(found.frequencies[:, 0]).max() > 100 * max(1, np.abs(found.frequencies[:, 1]).max())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adaptive(TorusKernel(period=1.0), 10), "dimension"),
        (
            lambda: adaptive(TorusKernel(length_scale=[1, 2], period=1.0), 10, dimension=3),
            "of length 2 cannot describe 3 periodic",
        ),
        (lambda: adaptive(TorusKernel(period=1.0), 9, dimension=np.zeros(0)), "dimension must be a positive integer"),
        (lambda: adaptive(TorusKernel(period=1.0), 9, dimension=2, sign_symmetric="no"), "sign_symmetric must be True"),
        (lambda: adaptive(TorusKernel(period=1.0), 0, dimension=2), "n_components.*0"),
        (lambda: adaptive(TorusKernel(period=1.0), 9, dimension=2, max_interaction=0), "max_interaction.*0"),
        (lambda: adaptive(TorusKernel(Heat("cartesian"), 1.0, np.eye(2)), 9, max_interaction=1), "max_interaction"),
        (lambda: adaptive(TorusKernel(Heat("cartesian"), 1.0, np.eye(2)), 9, sign_symmetric=True), "sign_symmetric"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("kernel", [None, 3, "text", [], TorusKernel])
def test_what_is_no_kernel_is_named(kernel):
    with pytest.raises(TypeError, match="kernel must be a TorusKernel, got"):
        adaptive(kernel, 9)


def test_a_cartesian_kernel_of_scalars_takes_the_dimension_asked_for():
    kernel = TorusKernel(Heat("cartesian"), 0.2, 1.5)
    assert adaptive(kernel, 21, dimension=1).frequencies.tolist() == [[k] for k in range(11)]
    assert adaptive(kernel, 21, dimension=2).dimension == 2
