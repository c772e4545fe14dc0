import mpmath as mp
import numpy as np
import pytest

from tests.conftest import TOLERANCE
from torusgp import IndexSetFourierFeatures, TorusKernel
from torusgp.kernels.certificates import dropped_sum, mass_by_order, mass_without_each
from torusgp.kernels.index_sets import (
    adaptive,
    energy_norm_hyperbolic_cross,
    from_frequencies,
    hyperbolic_cross,
    tensor,
)


def short_series(seed, length=4):
    """Terms of a finite even series, and the sums beyond each."""
    values = np.random.default_rng(seed).uniform(0.1, 1.0, length)
    return values, np.append(np.cumsum(values[:0:-1])[::-1], 0.0)


@pytest.mark.parametrize("max_interaction", [None, 1, 2])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_dropped_sum_equals_the_complement_on_a_finite_grid(dimension, max_interaction):
    series = [short_series(d) for d in range(dimension)]
    values, tails = [v for v, _ in series], [t for _, t in series]
    grid = tensor(dimension, 3).frequencies
    order = dimension if max_interaction is None else max_interaction
    terms = np.prod([values[d][np.abs(grid[:, d])] for d in range(dimension)], axis=0)
    terms *= np.where(grid.any(axis=1), 2, 1) * (np.count_nonzero(grid, axis=1) <= order)
    rng = np.random.default_rng(7)
    for size in (1, 2, 5, len(grid) // 2, len(grid)):
        rows = np.append(0, 1 + rng.permutation(len(grid) - 1)[: size - 1])
        rows = rows[np.count_nonzero(grid[rows], axis=1) <= order]
        expected = terms.sum() - terms[rows].sum()
        assert dropped_sum(grid[rows], values, tails, max_interaction) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_mass_without_each_dimension_is_that_of_the_others(order):
    zero, beyond = np.random.default_rng(0).uniform(0, 1, (2, 5))
    expected = []
    for d in range(5):
        others = mass_by_order(np.delete(zero, d), np.delete(beyond, d))[0]
        expected.append(others[order] - others[order - 1])
    np.testing.assert_allclose(mass_without_each(zero, beyond, order), expected, rtol=1e-12)


def test_mass_by_order_counts_non_zero_entries():
    mass = mass_by_order(np.array([0.5, 0.25]), np.array([0.5, 0.75]))
    assert mass[0, 0] == pytest.approx(0.5 * 0.25)
    assert mass[0, 1] == pytest.approx(0.5 * 0.25 + 0.5 * 0.25 + 0.5 * 0.75)
    assert mass[0, 2] == pytest.approx(1.0)


def test_small_errors_are_accurate_relative_to_themselves():
    kernel = TorusKernel(length_scale=[2.0, 3.0], period=1.0)
    kept = hyperbolic_cross(2, 9)
    inside = {tuple(abs(k) for k in row) for row in kept.frequencies.tolist()}
    with mp.workdps(60):
        series = [[mp.exp(-1 / s**2) * mp.besseli(k, 1 / s**2) for k in range(40)] for s in (mp.mpf(2), mp.mpf(3))]
        exact = mp.fsum(
            series[0][i] * series[1][j] * (2 if i else 1) * (2 if j else 1)
            for i in range(40)
            for j in range(40)
            if (i, j) not in inside
        )
    assert exact < 1e-6  # far enough from one
    assert kernel.truncation_error(kept) == pytest.approx(float(exact), rel=TOLERANCE["certificate_relative"])
    tiny = TorusKernel(length_scale=[20.0, 30.0], period=1.0).truncation_error(tensor(2, 9))
    assert 0 < tiny < 1e-30


@pytest.mark.parametrize("family", ["squared_exponential", "matern12", "rational_quadratic", "heat", "torus_matern"])
def test_kept_and_dropped_sum_to_one(family):
    kernel = TorusKernel(family, [0.4, 1.1], period=1.0)
    for index_set in (tensor(2, 0), hyperbolic_cross(2, 6), energy_norm_hyperbolic_cross(2, 5), adaptive(kernel, 51)):
        coefficients = kernel.coefficients(index_set.frequencies)
        kept = coefficients[0] + 2 * coefficients[1:].sum()
        assert kept + kernel.truncation_error(index_set) == pytest.approx(1, abs=TOLERANCE["rounding"])


def measured_frobenius(kernel, index_set, n_samples, n_draws):
    rng = np.random.default_rng(0)
    features = IndexSetFourierFeatures(length_scale=kernel.length_scale, period=kernel.period, index_set=index_set)
    errors = []
    for _ in range(n_draws):
        X = rng.uniform(-2, 2, (n_samples, index_set.dimension))
        gram, phi = kernel(X), features.fit_transform(X)
        errors.append(np.linalg.norm(phi @ phi.T - gram) / np.linalg.norm(gram))
    return np.mean(errors)


FROBENIUS = [(2, 0.5, 101), (3, 1.0, 51), (5, 1.2, 101), (9, 2.0, 201)]


@pytest.mark.parametrize(("dimension", "length_scale", "n_components"), FROBENIUS)
@pytest.mark.parametrize("n_samples", [800, pytest.param(4000, marks=pytest.mark.slow)])
def test_frobenius_error_predicts_the_measured_one(dimension, length_scale, n_components, n_samples):
    kernel = TorusKernel(length_scale=length_scale, period=4.0)
    for index_set in (
        adaptive(kernel, n_components, dimension=dimension),
        hyperbolic_cross(dimension, 3, weights=0.6),
        from_frequencies(np.eye(dimension, dtype=int)),
    ):
        measured = measured_frobenius(kernel, index_set, n_samples, 3)
        expected = kernel.frobenius_error(index_set, n_samples=n_samples)
        assert measured == pytest.approx(expected, rel=TOLERANCE["frobenius_relative"])


def test_the_limit_of_many_samples():
    kernel, index_set = TorusKernel(length_scale=[0.5, 1.0], period=1.0), hyperbolic_cross(2, 4)
    assert kernel.frobenius_error(index_set, n_samples=10**9) == pytest.approx(
        kernel.frobenius_error(index_set), rel=1e-6
    )
    assert kernel.frobenius_error(index_set, n_samples=1) == pytest.approx(kernel.truncation_error(index_set))
