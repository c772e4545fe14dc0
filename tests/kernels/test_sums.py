"""Sums of products: features times features are the kernel, certificates hold, and the largest set is the largest."""

from itertools import product

import numpy as np
import pytest

from torusgp import Category, Circle, Lattice, Line, TorusKernel
from torusgp.engine.basis import reference_columns
from torusgp.kernels.index_sets import adaptive
from torusgp.kernels.spectra import Heat, Levels, TorusMatern

PHASE_FAMILIES = [
    "squared_exponential",
    "matern12",
    "matern32",
    "matern52",
    "rational_quadratic",
    "heat",
    "torus_matern",
]
LINE_FAMILIES = ["squared_exponential", "matern32", "matern52", TorusMatern(1.2)]


def approximate(kernel, X, Y, n_components):
    index_set = adaptive(kernel, n_components)
    frequencies = index_set.frequencies
    weights = np.repeat(np.where(np.arange(len(frequencies)), 2.0, 1.0) * kernel.coefficients(frequencies), 2)[1:]
    left, right = (reference_columns(kernel.phases(points), frequencies) for points in (X, Y))
    return (left * weights) @ right.T, kernel.truncation_error(index_set) + kernel.aliasing_error()


KINDS = {
    **{f"circle {family}": Circle(0, 24, family, length_scale=0.7) for family in PHASE_FAMILIES},
    **{
        f"line {family} {tolerance}": Line(0, family, length_scale=2.0, range=(0, 10), tolerance=tolerance)
        for family in LINE_FAMILIES
        for tolerance in (1e-3, 1e-8)
    },
    "category": Category(2, levels=[0, 1, 2, 3]),
    "category in a product": Category(2, 0.3, levels=range(5)) * Circle(0, 24),
    "lattice": Lattice((0, 1), [[8.0, 1.0], [0.0, 5.0]], length_scale=0.8),
    "cartesian lattice": Lattice((0, 1), [[8.0, 1.0], [0.0, 5.0]], Heat("cartesian"), length_scale=1.5),
    "cartesian lattice times a line": Lattice((0, 1), [[8.0, 1.0], [0.0, 5.0]], Heat("cartesian"), length_scale=1.5)
    * Line(2, length_scale=3.0, range=(0, 5)),
    "two lines": Line(0, length_scale=4.0, range=(0, 10)) * Line(1, length_scale=5.0, range=(0, 10), tolerance=1e-4),
    "a sum": 0.7 * Circle(0, 24) * Line(1, length_scale=3.0, range=(0, 10))
    + 0.2 * Circle(0, 24, "matern52", length_scale=0.5)
    + Line(1, "matern52", length_scale=4.0, range=(0, 10)),
}


@pytest.mark.parametrize("n_components", [31, 401])
@pytest.mark.parametrize("name", KINDS)
def test_the_error_of_the_kernel_is_within_the_certificate(name, n_components):
    kernel = TorusKernel(KINDS[name] + 1e-12 * Circle(0, 1.0) if "line" not in name else KINDS[name])
    rng = np.random.default_rng(0)
    n_inputs = len(kernel.sum.torus.names)
    inside = rng.uniform(0, 10, (80, n_inputs))
    if n_inputs > 2:
        inside[:, 2] = rng.integers(0, 4, 80)
    beyond = inside.copy()
    beyond[:, :2] = rng.uniform(-60, 70, (80, min(n_inputs, 2)))  # at least one of two points is in the range
    for other in (inside, beyond):
        values, certificate = approximate(kernel, inside, other, n_components)
        assert np.abs(values - kernel(inside, other)).max() <= certificate * (1 + 1e-9) + 1e-12


def test_a_finer_tolerance_gives_a_smaller_certificate():
    errors = [
        TorusKernel(Line(0, length_scale=1.0, range=(0, 10), tolerance=tolerance) + Circle(0, 3.0)).aliasing_error()
        for tolerance in (1e-3, 1e-8)
    ]
    assert errors[0] == pytest.approx(1e-3, rel=1e-2)
    assert errors[1] == pytest.approx(1e-8, rel=1e-2)


def random_sum(rng):
    """A sum of one to three products on up to three axes, with ties now and then."""
    has_category, n_levels = rng.random() < 0.5, int(rng.integers(2, 5))

    def factor(axis):
        scale = float(rng.uniform(0.4, 1.6))  # ties are those of signs alone
        if axis == 2 and has_category:
            return Category(2, correlation=float(rng.choice([0.0, rng.uniform(0.1, 0.9)])), levels=range(n_levels))
        family = str(rng.choice(["squared_exponential", "matern32", "matern52", "heat"]))
        return Circle(axis, 10.0 + axis, family, length_scale=scale)

    terms = []
    for _ in range(rng.integers(1, 4)):
        axes = rng.choice(3, rng.integers(1, 4), replace=False)
        term = factor(int(axes[0]))
        for axis in axes[1:]:
            term = term * factor(int(axis))
        terms.append(float(rng.choice([0.01, 0.3, 1.0, 5.0])) * term)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


@pytest.mark.parametrize("seed", [*range(60), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60, 300))])
def test_the_largest_set_of_a_sum_is_that_of_brute_force(seed):
    kernel, rng = random_kernel(seed)
    n_pairs = int(rng.integers(3, 40 if kernel.dimension < 3 else 15))
    expected = brute_force(kernel, n_pairs)
    if not len(expected):
        with pytest.raises(ValueError, match="a category takes all of its columns or none"):
            adaptive(kernel, 2 * n_pairs + 1)
    else:
        chosen = kernel.coefficients(adaptive(kernel, 2 * n_pairs + 1).frequencies[1:])
        seen = [
            np.sort(values[values > 1e-250])[::-1] for values in (chosen, expected)
        ]  # others underflow in a product
        np.testing.assert_allclose(*seen, rtol=1e-9)


def random_kernel(seed):
    rng = np.random.default_rng(seed)
    while True:
        try:
            return TorusKernel(random_sum(rng)), rng
        except ValueError:  # two terms that are equal
            continue


def brute_force(kernel, n_pairs):
    """Coefficients of the largest frequencies of a large box; those of a category but zero all or none."""
    reach = {1: 50, 2: 45, 3: 15}[kernel.dimension]
    box = np.array(list(product(range(-reach, reach + 1), repeat=kernel.dimension)))
    box = box[len(box) // 2 + 1 :]
    categories = kernel.sum.torus.kinds("category")
    blocks = {}
    for frequency, value in zip(box.tolist(), kernel.coefficients(box), strict=True):
        if value > 0:
            rest = tuple(0 if d in categories else k for d, k in enumerate(frequency))
            positive = max(rest, tuple(-k for k in rest))
            pattern = tuple(frequency[d] != 0 for d in categories)
            blocks.setdefault((positive, pattern) if len(categories) else tuple(frequency), []).append(value)
    chosen = []
    for values in sorted(blocks.values(), key=lambda values: (-float(f"{values[0]:.9e}"), len(values))):
        if len(chosen) + len(values) > n_pairs:
            break
        chosen += values
    return np.array(chosen)


def test_only_categories_ask_for_larger_sets():
    """Of four levels blocks of five frequencies are in or out together: four blocks for each of two terms."""
    circles = Circle(0, 24) + Circle(1, 7)
    assert TorusKernel(circles).sum.smallest_size() == 1
    assert TorusKernel(Circle(0, 24) * Category(2, levels=[0, 1, 2, 3]) + Circle(1, 7)).sum.smallest_size() == 41


def test_levels_have_the_coefficients_of_their_kernel():
    for modulus, odds in [(3, 0.5), (7, 2.0), (101, 0.01)]:
        k = np.arange(-(modulus // 2), modulus // 2 + 1)
        steps = np.arange(modulus)
        rho = odds / (1 + odds)
        expected = np.where(steps == 0, 1.0, rho)
        series = np.cos(2 * np.pi * np.outer(steps, k) / modulus) @ Levels(modulus).coefficients(k, odds)
        np.testing.assert_allclose(series, expected, atol=4e-15)
        for turns in (-2, 0, 1):
            phases = 2 * np.pi * (steps / modulus + turns)
            np.testing.assert_allclose(Levels(modulus).kernel(phases, odds), expected, atol=1e-12)
        assert Levels(modulus).coefficients(modulus // 2 + 1, odds) == 0
        slope = Levels(modulus).log_coefficients_gradient(k, odds)
        ahead, behind = (Levels(modulus).log_coefficients(k, odds * np.exp(step)) for step in (1e-5, -1e-5))
        np.testing.assert_allclose(slope, (ahead - behind) / 2e-5, atol=1e-8)


def test_circles_of_one_input_and_period_are_one_axis():
    kernel = TorusKernel(Circle(0, 24) * Circle(1, 7) + Circle(0, 24, "matern32") + Circle(0, 168))
    assert [axis.name for axis in kernel.sum.torus.axes] == ["x0", "x1", "x0 (2)"]
    learned = Circle(0, 24, period_bounds=(20, 28))
    again = Circle(0, 24, period_bounds=(20, 28))
    assert TorusKernel(learned * Circle(1, 7) + learned).dimension == 2
    assert TorusKernel(learned * Circle(1, 7) + again).dimension == 3
