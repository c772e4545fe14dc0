import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import TOLERANCE, label
from torusgp import IndexSetFourierFeatures, TorusKernel
from torusgp.kernels.index_sets import (
    adaptive,
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    lp_ball,
    tensor,
    total_order,
)
from torusgp.kernels.lattices import lattice_points
from torusgp.kernels.product import to_phases
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern, Warped

HEXAGONAL = np.array([[1, 0], [0.5, np.sqrt(3) / 2]])
TRICLINIC = np.array([[1.0, 0, 0], [0.3, 0.8, 0], [0.2, 0.1, 1.5]])
OBLIQUE = np.array([[1.0, 0.1], [0.4, 1.7]])


def wendland(distance):
    """Compactly supported and positive definite in the plane, with a kink at its edge."""
    r = np.minimum(distance / 3, 1.0)
    return (1 - r) ** 6 * (35 * r**2 + 18 * r + 3) / 3


FAMILIES = [
    SquaredExponential(),
    Matern(0.5),
    Matern(3.3),
    RationalQuadratic(0.7),
    Heat(),
    TorusMatern(0.5),
    TorusMatern(2.5),
    Warped(wendland),
]
MIXED = [SquaredExponential(), Matern(1.5), Heat(), TorusMatern(1.5)]


def sets(dimension, kernel):
    return [
        tensor(dimension, 1),
        total_order(dimension, 3),
        euclidean(dimension, 2.5),
        lp_ball(dimension, 4, p=0.5),
        hyperbolic_cross(dimension, 4),
        hyperbolic_cross(dimension, 5, weights=0.6, max_interaction=2),
        energy_norm_hyperbolic_cross(dimension, 3),
        adaptive(kernel, 51, dimension=dimension),
    ]


def check_certificate(kernel, index_set, X):
    """The feature map differs from the exact kernel by the certificate at distance zero and nowhere by more."""
    features = IndexSetFourierFeatures(
        kernel.family,
        period=kernel.period,
        length_scale=kernel.length_scale,
        index_set=index_set,
        max_interaction=kernel.max_interaction,
    ).fit(X)
    phi = features.transform(X)
    error = np.abs(phi @ phi.T - features.kernel_(X))
    assert error.max() <= features.truncation_error_ + TOLERANCE["rounding"]
    assert np.abs(np.diag(error) - features.truncation_error_).max() <= TOLERANCE["rounding"]


@pytest.mark.parametrize("max_interaction", [None, 1, 2])
@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("family", [*FAMILIES, "mixed"], ids=label)
def test_features_reproduce_the_kernel_up_to_the_certificate(family, dimension, max_interaction):
    rng = np.random.default_rng(dimension)
    family = MIXED[:dimension] if family == "mixed" else family
    kernel = TorusKernel(
        family, np.linspace(0.5, 1.5, dimension), rng.uniform(0.5, 3, dimension), max_interaction=max_interaction
    )
    X = rng.normal(size=(30, dimension)) * 10
    for index_set in sets(dimension, kernel):
        check_certificate(kernel, index_set, X)


@pytest.mark.parametrize("family", [*FAMILIES, Heat("cartesian"), TorusMatern(1.5, "cartesian")], ids=label)
def test_certificate_on_a_hexagonal_cell(family):
    kernel = TorusKernel(family, 0.4, HEXAGONAL)
    for index_set in (hyperbolic_cross(2, 4), adaptive(kernel, 37)):
        check_certificate(kernel, index_set, np.random.default_rng(0).normal(size=(30, 2)) * 5)


@pytest.mark.parametrize("family", [SquaredExponential(), Heat(), RationalQuadratic(2.0)])
def test_large_sets_reach_rounding(family):
    X = np.random.default_rng(0).normal(size=(40, 2))
    features = IndexSetFourierFeatures(family, length_scale=[1.0, 1.4], period=[1.0, 2.0], n_components=3001).fit(X)
    phi = features.transform(X)
    assert features.truncation_error_ < 1e-13
    assert np.abs(phi @ phi.T - features.kernel_(X)).max() <= TOLERANCE["rounding"]


@pytest.mark.parametrize("family", ["squared_exponential", "matern32", "rational_quadratic", "heat", "torus_matern"])
def test_gram_matrix_is_the_product_of_one_dimensional_kernels(family):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    scales, periods = [0.5, 1.0, 2.0], [1.0, 2.0, 0.7]
    parts = [
        TorusKernel(family, s, p)(X[:, [d]], Y[:, [d]]) for d, (s, p) in enumerate(zip(scales, periods, strict=True))
    ]
    assert np.allclose(TorusKernel(family, scales, periods)(X, Y), np.prod(parts, axis=0), rtol=0, atol=1e-14)


def test_squared_exponential_is_the_exp_sine_squared_of_scikit_learn():
    from sklearn.gaussian_process.kernels import ExpSineSquared

    X = np.random.default_rng(0).normal(size=(20, 1))
    assert np.allclose(TorusKernel(length_scale=0.7, period=1.3)(X), ExpSineSquared(0.7, 1.3)(X), atol=1e-14)


@pytest.mark.parametrize("period", [2.0, [2.0, 3.0], HEXAGONAL])
def test_translation_by_a_period_changes_nothing(period):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    kernel = TorusKernel(length_scale=0.6, period=period)
    steps = rng.integers(-1000, 1000, (20, 2)) @ kernel.cell(2)
    assert np.allclose(kernel(X, X + steps), kernel(X, X), rtol=0, atol=1e-10)


def test_anova_kernel_is_the_normalised_sum_over_few_interactions():
    kernel = TorusKernel(length_scale=[0.8, 1.0, 1.3], max_interaction=2, period=1.0)
    plain = TorusKernel(length_scale=[0.8, 1.0, 1.3], period=1.0)
    box = tensor(3, 12).frequencies
    few = box[np.count_nonzero(box, axis=1) <= 2]
    total = 2 * plain.coefficients(few).sum() - plain.coefficients(few[:1])[0]
    assert np.allclose(kernel.coefficients(few), plain.coefficients(few) / total, rtol=1e-10)
    assert not kernel.coefficients(box[np.count_nonzero(box, axis=1) == 3]).any()


@pytest.mark.parametrize("max_interaction", [None, 1, 2])
def test_gradient_of_the_log_coefficients(max_interaction):
    frequencies = hyperbolic_cross(3, 4, max_interaction=max_interaction).frequencies
    scales, families = np.array([0.6, 1.0, 1.7]), ["squared_exponential", "matern32", "heat"]

    def log_coefficients(log_scales):
        return TorusKernel(families, np.exp(log_scales), max_interaction=max_interaction, period=1.0).log_coefficients(
            frequencies
        )

    gradient = TorusKernel(families, scales, max_interaction=max_interaction, period=1.0).log_coefficients_gradient(
        frequencies
    )
    for d, step in enumerate(1e-5 * np.eye(3)):
        difference = (log_coefficients(np.log(scales) + step) - log_coefficients(np.log(scales) - step)) / 2e-5
        assert np.allclose(gradient[:, d], difference, rtol=1e-6, atol=1e-6)


unimodular = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-2, 2)), max_size=4)


def unimodular_matrix(dimension, steps):
    matrix = np.eye(dimension, dtype=int)
    for row, other, multiple in steps:
        if row % dimension != other % dimension:
            matrix[row % dimension] += multiple * matrix[other % dimension]
    return matrix


def wave_set(kernel, index_set):
    waves = np.round(index_set.frequencies @ np.linalg.inv(kernel.cell()).T, 7) + 0.0
    return {max(tuple(wave), tuple(-wave + 0.0)) for wave in waves}


@pytest.mark.parametrize("family", [Heat("cartesian"), TorusMatern(1.5, "cartesian"), TorusMatern(0.7, "cartesian")])
@pytest.mark.parametrize("cell", [HEXAGONAL, OBLIQUE, TRICLINIC], ids=["hexagonal", "oblique", "triclinic"])
@given(steps=unimodular)
def test_cartesian_kernels_do_not_depend_on_the_basis(family, cell, steps):
    change = unimodular_matrix(len(cell), steps)
    kernel, other = TorusKernel(family, 0.3, cell), TorusKernel(family, 0.3, change @ cell)
    X = np.random.default_rng(0).normal(size=(12, len(cell)))
    assert np.abs(kernel(X) - other(X)).max() <= TOLERANCE["change_of_basis"]
    frequencies = adaptive(kernel, 41).frequencies
    moved = frequencies @ change.T
    assert (
        np.abs(other.coefficients(moved) / kernel.coefficients(frequencies) - 1).max() <= TOLERANCE["change_of_basis"]
    )
    for n_components in (9, 20, 41):
        assert wave_set(kernel, adaptive(kernel, n_components)) == wave_set(other, adaptive(other, n_components))


@pytest.mark.parametrize("cell", [HEXAGONAL, TRICLINIC], ids=["hexagonal", "triclinic"])
def test_cartesian_kernels_are_sums_over_images(cell):
    X = np.random.default_rng(1).normal(size=(8, len(cell)))
    images = lattice_points(cell, 14.0) @ cell
    distances = np.linalg.norm(X[:, None, None] - X[:, None] + images, axis=-1)
    reach = np.linalg.norm(images, axis=-1)
    heat = np.exp(-(distances**2) / 0.32).sum(-1) / np.exp(-(reach**2) / 0.32).sum()
    assert np.allclose(TorusKernel(Heat("cartesian"), 0.4, cell)(X), heat, rtol=0, atol=1e-12)

    def matern32(r):
        return (1 + np.sqrt(3) * r / 0.4) * np.exp(-np.sqrt(3) * r / 0.4)

    matern = matern32(distances).sum(-1) / matern32(reach).sum()
    assert np.allclose(TorusKernel(TorusMatern(1.5, "cartesian"), 0.4, cell)(X), matern, rtol=0, atol=1e-12)


def test_phases_of_large_time_stamps_are_exact():
    seconds = 1.7e9 + np.array([[0.0], [86400.0], [43200.0]])
    phases = TorusKernel(period=86400.0).phases(seconds)[:, 0]
    assert phases[0] == phases[1]
    assert np.cos(phases[2] - phases[0]) == pytest.approx(-1, abs=1e-15)


@given(
    period=st.floats(1e-6, 1e9),
    turns=st.lists(st.integers(-(2**26) + 2, 2**26 - 2), min_size=1, max_size=20),
    nudge=st.floats(-1e-14, 1e-14),
)
def test_phases_are_reduced_as_remainders_are(period, turns, nudge):
    """The fast reduction is that of ``np.remainder`` to the last bit, right beside whole turns too."""
    X = (np.array(turns) * period * (1 + nudge))[:, None]
    X = np.vstack([X, X + 0.37 * period, [[0.0]]])
    expected = np.remainder(X, period) * (2 * np.pi / period)
    np.testing.assert_array_equal(to_phases(X, period), expected)


@pytest.mark.parametrize("x", [1e300, -1e25, np.finfo(float).tiny, -5e-324, 2.0**60])
def test_phases_of_extreme_inputs(x):
    X = np.array([[0.3], [x]])
    np.testing.assert_array_equal(to_phases(X, 0.7), np.remainder(X, 0.7) * (2 * np.pi / 0.7))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TorusKernel("matern99", period=1.0), "matern99"),
        (lambda: TorusKernel(3, period=1.0), "family.*3"),
        (lambda: TorusKernel(["heat", Heat("cartesian")], period=1.0), "family"),
        (lambda: TorusKernel(length_scale=0.0, period=1.0), "length_scale.*0.0"),
        (lambda: TorusKernel(length_scale=[1.0, -2.0], period=1.0), "length_scale.*-2.0"),
        (lambda: TorusKernel(length_scale="long", period=1.0), "length_scale.*'long'"),
        (lambda: TorusKernel(period=-1), "period.*-1"),
        (lambda: TorusKernel(period=[1.0, np.nan]), "period.*nan"),
        (lambda: TorusKernel(period=[[1.0, 2.0], [2.0, 4.0]]), "period.*singular"),
        (lambda: TorusKernel(period=[[1.0, 2.0]]), "period.*square"),
        (lambda: TorusKernel(length_scale=[1, 2], period=[1, 2, 3]), "length_scale has 2, period has 3"),
        (lambda: TorusKernel(max_interaction=0, period=1.0), "max_interaction.*0"),
        (lambda: TorusKernel(Heat("cartesian"), [1.0, 2.0], np.eye(2)), "length_scale"),
        (lambda: TorusKernel(period=[1, 2])(np.zeros((3, 3))), r"X.*\(3, 3\)"),
        (lambda: TorusKernel(period=1.0)(np.array([[np.inf]])), "X.*infinity"),
        (lambda: TorusKernel(period=1.0)([["a"]]), "X must hold numbers"),
        (lambda: TorusKernel(period=1.0).truncation_error(np.zeros((1, 2))), "index_set"),
        (lambda: TorusKernel(period=1.0).coefficients(np.array([[0.5]])), "frequencies"),
        (lambda: TorusKernel(period=1.0).frobenius_error(tensor(2, 1), n_samples=0), "n_samples.*0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
