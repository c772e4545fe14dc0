"""Kernels that every adapter is tested with, what it has to give for them, and how closely."""

import numpy as np

from torusgp import TorusKernel
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern

# One entry for each kind of claim, as in the table of all tests.
TOLERANCE = {
    # log coefficients times max(1, |log c|): Chebyshev series cut below 1e-12, and 250 terms of rounding
    "log_coefficient": 1e-12,
    # their slopes, times max(1, |slope|): a series' derivative loses a factor of about its length
    "slope": 5e-10,
    # the same where JAX works in single precision: the length scale itself is known to 6e-8, slopes reach 100
    "single_log_coefficient": 1e-4,
    # columns: a product of phases in turns with integers, a cosine; and their products
    "columns": 1e-11,
    # columns of single precision
    "single_columns": 2e-6,
}

HEXAGON = np.array([[3.0, 0.0], [1.5, 1.5 * np.sqrt(3)]])
OBLIQUE = np.array([[2.0, 0.3], [-0.4, 1.1]])


def _case(family, length_scale, period, index_set=None, **options):
    kernel = TorusKernel(family, length_scale, period, **options)
    return kernel, adaptive(kernel, 61) if index_set is None else index_set


CASES = {
    "squared_exponential": _case("squared_exponential", [0.4, 1.3], [24.0, 7.0]),
    "one_length_scale": _case("squared_exponential", 0.7, [24.0, 7.0]),
    "one_dimension": _case("squared_exponential", [0.3], [24.0]),
    "long": _case("squared_exponential", [60.0, 0.02], [1.0, 1.0], tensor(2, 8)),
    "families": _case([SquaredExponential(), Matern(0.5), RationalQuadratic(0.7)], [0.6, 1.5, 2.5], [3.0, 2.0, 1.0]),
    "matern": _case(Matern(1.7), [0.3, 2.0], [1.0, 2.0]),
    "heat": _case("heat", [0.4, 1.3], [24.0, 7.0]),
    "heat_long": _case("heat", [20.0], [1.0], tensor(1, 12)),
    "torus_matern": _case("torus_matern", [0.4, 1.3], [24.0, 7.0]),
    "additive": _case("squared_exponential", [0.5, 1.0, 2.0], [1.0, 2.0, 3.0], max_interaction=1),
    "pairs": _case(["heat", "matern52", "squared_exponential"], [0.5, 1.0, 0.02], [1.0, 2.0, 3.0], max_interaction=2),
    "beyond_the_limit": _case("matern32", [0.5, 1.0], [1.0, 2.0], hyperbolic_cross(2, 4), max_interaction=1),
    "limit_of_the_set": _case("matern32", [0.5, 1.0], [1.0, 2.0], hyperbolic_cross(2, 4, max_interaction=1)),
    "cell": _case("squared_exponential", [0.5, 0.9], OBLIQUE),
    "cartesian_heat": _case(Heat("cartesian"), 0.4, HEXAGON),
    "cartesian_matern": _case(TorusMatern(2.5, "cartesian"), 0.3, OBLIQUE),
}


def with_limit(kernel, index_set):
    """The kernel with the limit of interactions that the set implies."""
    limit = index_set.max_interaction if kernel.max_interaction is None else kernel.max_interaction
    return TorusKernel(kernel.family, kernel.length_scale, kernel.period, max_interaction=limit)


def pair_of_column(index_set):
    return np.append(0, np.repeat(np.arange(1, len(index_set.frequencies)), 2))


def expected_std(kernel, index_set):
    """Prior standard deviations of the columns' weights by the library's own coefficients."""
    pair = pair_of_column(index_set)
    log_coefficients = with_limit(kernel, index_set).log_coefficients(index_set.frequencies)[pair]
    # not the root of the coefficient, which is zero sooner
    return np.exp(0.5 * (log_coefficients + np.where(pair, np.log(2.0), 0.0)))


def expected_slopes(kernel, index_set):
    """Derivatives of their logarithms in the logarithm of each length scale, of shape (n_components, n_scales)."""
    gradient = with_limit(kernel, index_set).log_coefficients_gradient(index_set.frequencies)
    gradient = gradient if np.ndim(kernel.length_scale) else gradient.sum(axis=1, keepdims=True)
    return 0.5 * gradient[pair_of_column(index_set)]


def inputs(kernel, index_set, n_samples=25):
    return 40 * np.random.default_rng(0).normal(size=(n_samples, index_set.dimension))
