"""Kernels that every adapter is tested with, what it has to give for them, and how closely."""

import numpy as np

from torusgp import Category, Circle, Lattice, Line, Slope, TorusKernel
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


# Expressions -------------------------------------------------------------------------------------------------------


def _line(input, length_scale, **options):
    return Line(input, range=(0.0, 10.0), length_scale=length_scale, **options)


EXPRESSIONS = {
    "line": _line(0, 2.0),
    "rough_line": 1.7 * _line(0, 2.0, family="matern52"),
    "circle_by_line": Circle(0, 24.0, length_scale=0.8) * _line(1, 3.0),
    "sum": 1.3 * Circle(0, 24.0, length_scale=0.8) * _line(1, 3.0) + 0.6 * _line(1, 1.0, family="matern32"),
    "line_first": _line(1, 3.0) * Circle(0, 24.0, "matern52", 0.9) + 0.2 * Circle(0, 24.0),
    "one_input": Circle("time", 3.0) * _line("time", 4.0) + _line("time", 1.5) + 0.5 * Circle("time", 7.0),
    "three": (Circle(0, 24.0) * _line(1, 3.0) * Circle(2, 7.0, "heat")).limited(2) + 2.0 * _line(2, 4.0),
    "lattice": Lattice((0, 1), OBLIQUE, length_scale=0.9) * _line(2, 3.0) + Lattice((0, 1), OBLIQUE, Heat("cartesian")),
}


def sum_case(name, n_components=301):
    kernel = TorusKernel(EXPRESSIONS[name])
    return kernel, adaptive(kernel, n_components)


def sum_inputs(kernel, n_samples=25):
    """Rows within the ranges of all lines; circles take them too."""
    return np.random.default_rng(0).uniform(0, 10, (n_samples, len(kernel.sum.torus.names)))


def expected_sum_std(kernel, index_set):
    variances = np.repeat(kernel.coefficients(index_set.frequencies), 2)[1:]
    return np.sqrt(np.where(np.arange(len(variances)), 2.0, 1.0) * variances)


def expected_sum_slopes(kernel, index_set):
    """Derivatives of the logarithms of the standard deviations in those of all length scales, then of all variances."""
    frequencies, parts = index_set.frequencies, kernel.sum.term_coefficients(index_set.frequencies)
    shares = parts / parts.sum(axis=0)
    slopes = [
        share[:, None] * term.log_coefficients_gradient(frequencies, scales, kernel.period)
        for share, term, scales in zip(shares, kernel.sum.terms, kernel.sum.scales, strict=True)
    ]
    return 0.5 * np.hstack([*slopes, shares.T])[pair_of_column(index_set)]


REFUSED = {
    "Slope": (Circle(0, 24.0) + Slope(1), "plain column, not a kernel: add it to the mean of your model"),
    "Category": (Circle(0, 24.0) * Category(1, levels=[0, 1]), "category 1 cannot be used here"),
    "cell": (Lattice((0, 1), OBLIQUE, cell_bounds="free"), "give the cell that it has learned"),
    "auto": (Circle(0, "auto") + Circle(0, 24.0), "period that is to be found or learned: give a number"),
    "bounds": (Circle(0, 24.0, period_bounds=(20.0, 30.0)), "period that is to be found or learned: give a number"),
}
