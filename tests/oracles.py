"""Slow, independent values to compare with: many-digit arithmetic, explicit sums and brute force."""

from functools import lru_cache
from itertools import product

import numpy as np
from mpmath import mp, mpf

from torusgp import spectra

mp.dps = 30


# --- one-dimensional Fourier coefficients -----------------------------------------------------------------------


@lru_cache(maxsize=16)
def bessel_coefficients(argument, max_order):
    """Coefficients e^-a I_k(a) for k = 0 to max_order: Miller's backward recurrence, normalised to sum to one."""
    a = mpf(argument)
    start = int(mp.sqrt(max_order**2 + 300 * a)) + 60
    following, value = mpf(0), mpf(1)
    values = []
    total = mpf(0)
    with mp.workdps(35):
        for k in range(start, 0, -1):  # I_(k-1) = I_(k+1) + 2 k I_k / a
            total += value
            if k <= max_order:
                values.append(value)
            following, value = value, following + 2 * k / a * value
        total = value + 2 * total
        return [v / total for v in [value, *values[::-1]]]


def squared_exponential_coefficients(max_order, length_scale):
    return bessel_coefficients(mpf(length_scale) ** -2, max_order)


def rational_quadratic_coefficient(k, length_scale, alpha):
    """Product of two binomial series in z e^(+-i theta): a hypergeometric function of positive terms."""
    alpha = mpf(alpha)
    b = 1 / (alpha * mpf(length_scale) ** 2)
    z = b / (1 + b + mp.sqrt(1 + 2 * b))  # (A - sqrt(A^2 - B^2)) / B with A = 1 + B, without cancellation
    term = (2 * z / b) ** alpha * mp.rf(alpha, k) / mp.factorial(k) * z**k
    total, j = mpf(0), 0
    while term > mp.eps * total * (1 - z):
        total += term
        term *= (alpha + j) * (alpha + k + j) / ((k + 1 + j) * (1 + mpf(j))) * z * z
        j += 1
    return total


def matern_correlation(distance, nu):
    z = mp.sqrt(2 * mpf(nu)) * distance
    return mpf(1) if z == 0 else 2 ** (1 - mpf(nu)) / mp.gamma(nu) * z**nu * mp.besselk(nu, z)


def matern_coefficient_by_cosine(k, length_scale, nu):
    """Integral of the kernel times a cosine."""

    def integrand(angle):
        return matern_correlation(2 * mp.sin(angle / 2) / mpf(length_scale), nu) * mp.cos(k * angle)

    return mp.quad(integrand, mp.linspace(0, mp.pi, k + 2)) / mp.pi


def _matern_contour(length_scale, nu, factor, decay):
    # The integral of M(beta sin(phi)) e^(2 i k phi) over (0, pi), turned up along the imaginary axis, where
    # z^nu K_nu(z) at z = i x has the imaginary part -pi/2 x^nu J_nu(x).
    beta = 2 * mp.sqrt(2 * mpf(nu)) / mpf(length_scale)
    size = min(mpf(1), beta / decay) ** (2 * nu)  # of the integrand, for the absolute tolerance of the quadrature
    power = max(1, 1 / (2 * mpf(nu)))  # y^(2 nu - 1) at zero becomes regular in v = y^(1 / power)
    end = 100 + 2 * nu + 20 * mp.sqrt(2 * nu)

    def integrand(v):
        y = v**power / decay
        x = beta * mp.sinh(y)
        return power * v ** (power - 1) * x**nu * mp.besselj(nu, x) * factor(y) / size if v else mpf(0)

    cuts = [decay * mp.asinh(x / beta) for x in mp.arange(0, beta * mp.sinh(end / decay), 6)]
    cuts = sorted({v ** (1 / power) for v in [*cuts, *mp.linspace(0, end, 12)]})
    return 2 ** (1 - mpf(nu)) / mp.gamma(nu) * size / decay * mp.quad(integrand, cuts)


def matern_coefficient_by_contour(k, length_scale, nu):
    """Coefficient as an integral of exp(-2 k y), for k that are not small against 1 / length_scale."""
    return _matern_contour(length_scale, nu, lambda y: mp.exp(-2 * k * y), 2 * k)


def matern_tail(k, length_scale, nu):
    """Sum of the coefficients beyond k on one side: the geometric series under the same integral."""
    return _matern_contour(length_scale, nu, lambda y: -mp.exp(-2 * (k + 1) * y) / mp.expm1(-2 * y), 2 * (k + 1))


def heat_coefficient(k, length_scale):
    decay = mpf(length_scale) ** 2 / 2
    if length_scale < 1:  # Poisson: the theta function of the dual nome
        total = mp.sqrt(mp.pi / decay) * mp.jtheta(3, 0, mp.exp(-(mp.pi**2) / decay))
    else:
        total = mp.jtheta(3, 0, mp.exp(-decay))
    return mp.exp(-decay * mpf(k) ** 2) / total


@lru_cache
def _torus_matern_total(length_scale, nu):
    """Sum of the Matern correlation over all images at distances 2 pi j."""
    n_images = int(mpf(length_scale) / mp.sqrt(2 * mpf(nu)) * (100 + 3 * nu) / (2 * mp.pi)) + 2
    return 1 + 2 * sum(matern_correlation(2 * mp.pi * j / mpf(length_scale), nu) for j in range(1, n_images))


def torus_matern_coefficient(k, length_scale, nu):
    """Spectral density over the period, divided by the image sum at zero (Poisson)."""
    nu = mpf(nu)
    inverse_square = 2 * nu / mpf(length_scale) ** 2
    density = 2 * mp.sqrt(mp.pi) * mp.gamma(nu + 0.5) / mp.gamma(nu) * inverse_square**nu
    density *= (inverse_square + mpf(k) ** 2) ** -(nu + 0.5)
    return density / (2 * mp.pi * _torus_matern_total(length_scale, nu))


def coefficients(family, frequencies, length_scale):
    """Coefficients of a family of the package, by the functions above."""
    if isinstance(family, spectra.SquaredExponential):
        table = squared_exponential_coefficients(max(frequencies), length_scale)
        return [table[k] for k in frequencies]
    if isinstance(family, spectra.RationalQuadratic):
        return [rational_quadratic_coefficient(k, length_scale, family.alpha) for k in frequencies]
    if isinstance(family, spectra.Matern):
        methods = [matern_coefficient_by_cosine, matern_coefficient_by_contour]
        return [methods[k > 20](k, length_scale, family.nu) for k in frequencies]
    if isinstance(family, spectra.Heat):
        return [heat_coefficient(k, length_scale) for k in frequencies]
    return [torus_matern_coefficient(k, length_scale, family.nu) for k in frequencies]


# --- lattices ---------------------------------------------------------------------------------------------------

HEXAGONAL = np.array([[1.0, 0.0], [-0.5, np.sqrt(3) / 2]])
OBLIQUE = np.array([[1.3, 0.1], [0.4, 0.7]])
TRICLINIC = np.array([[1.0, 0.1, -0.2], [0.3, 1.2, 0.1], [-0.2, 0.4, 0.9]])


def grid(half_widths):
    """All integer vectors with entries from -h to h."""
    return np.array(list(product(*(range(-h, h + 1) for h in half_widths))), dtype=np.int64)


def image_sum(correlation, vectors, cell, n_images):
    """Sum of an isotropic function over all images of a vector in a large block of cells, one at the origin."""
    images = grid([n_images] * len(cell)) @ cell
    values = correlation(np.linalg.norm(vectors[..., None, :] + images, axis=-1)).sum(axis=-1)
    return values / correlation(np.linalg.norm(images, axis=-1)).sum()


# --- index sets -------------------------------------------------------------------------------------------------


def ball_weights(indices, kind, weights, parameter=None):
    """Weight of non-negative vectors in a family of the literature; infinite on axes of weight zero."""
    gamma = np.broadcast_to(np.asarray(weights, float), indices.shape[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.where(indices == 0, 0.0, indices / gamma)
    if kind == "lp":
        return scaled.max(axis=1) if np.isinf(parameter) else (scaled**parameter).sum(axis=1) ** (1 / parameter)
    product_of_entries = np.maximum(1, scaled).prod(axis=1)
    norm = np.maximum(1.0, indices.sum(axis=1))
    return product_of_entries ** (1 / (1 - parameter)) * norm ** (parameter / (parameter - 1))


def orthant_box(dimension, largest, max_interaction=None):
    """All non-negative vectors with entries up to a value, in lexicographic order."""
    box = np.indices((largest + 1,) * dimension).reshape(dimension, -1).T
    most = dimension if max_interaction is None else max_interaction
    return box[np.count_nonzero(box, axis=1) <= most]


def half_space_box(half_widths, max_interaction=None):
    """Signed vectors of a box, one of each pair of opposite ones, in lexicographic order."""
    box = grid(half_widths)
    most = len(half_widths) if max_interaction is None else max_interaction
    leading = np.take_along_axis(box, (box != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    return box[(leading >= 0) & (np.count_nonzero(box, axis=1) <= most)]


def tie_groups(values):
    """Number of the group of equal values to which each entry belongs, in rising order of the values."""
    order = np.argsort(values, kind="stable")
    new = np.diff(values[order], prepend=values[order[:1]]) > 1e-9 * np.maximum(1, np.abs(values[order]))
    groups = np.empty(len(values), int)
    groups[order] = np.cumsum(new)
    return groups
