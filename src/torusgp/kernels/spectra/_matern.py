"""The Matern correlation of the real line, shared by the warped and the intrinsic family."""

import numpy as np
from scipy.special import gammaln, kve

from torusgp.kernels.spectra._base import check_positive

LARGEST_SMOOTHNESS = 300.0  # beyond, Bessel functions overflow where the power series has not yet converged


def check_smoothness(nu):
    """Raise unless ``nu`` is in the range in which the Bessel functions of the kernel do not overflow."""
    if check_positive(nu, "nu") > LARGEST_SMOOTHNESS:
        raise ValueError(
            f"nu must be at most {LARGEST_SMOOTHNESS:g}, got {nu!r}: at this smoothness the kernel cannot be told "
            "from its limit; use SquaredExponential (or Heat) instead."
        )


def matern_correlation(distance, nu):
    """Matern correlation at distances in units of the length scale."""
    z = np.sqrt(2 * nu) * np.asarray(distance, dtype=float)
    if nu == 0.5:
        return np.exp(-z)
    if nu == 1.5:
        return (1 + z) * np.exp(-z)
    if nu == 2.5:
        return (1 + z + z * z / 3) * np.exp(-z)
    return _bessel_form(z, nu)


def matern_log_scale_derivative(distance, nu):
    """Derivative of the Matern correlation with respect to the logarithm of the length scale."""
    z = np.sqrt(2 * nu) * np.asarray(distance, dtype=float)
    if nu == 0.5:
        return z * np.exp(-z)
    if nu == 1.5:
        return z * z * np.exp(-z)
    if nu > 1:  # -z d/dz (z^nu K_nu) = z^2 (z^(nu-1) K_(nu-1))
        return z * z / (2 * (nu - 1)) * _bessel_form(z, nu - 1)
    return np.where(z > 0, _power_times_bessel(z, nu, nu + 1, 1 - nu), 0.0)


def has_closed_sum(nu):
    """True if :func:`matern_sum` is for this smoothness."""
    return nu in _POLYNOMIALS


def matern_sum(distance, nu):
    r"""Sum of the Matern correlation over all multiples of a distance, and of its derivative, over that sum.

    The derivative is that in the logarithm of the length scale. For half-integer smoothness both are sums of
    polynomials times powers, as :math:`\sum_{n \geq 1} n x^n = x / (1 - x)^2`, and no term is negative.
    """
    z = np.sqrt(2 * nu) * distance
    x, rest = np.exp(-z), -np.expm1(-z)
    if x == 0:
        return 1.0, 0.0
    powers = x / rest * np.array([1, 1, 1 + x, 1 + x * (4 + x)]) * (z / rest) ** np.arange(4)
    value, slope = (2 * float(one @ powers) for one in _POLYNOMIALS[nu])
    return 1 + value, slope / (1 + value)


# factors of powers of z in the correlation and in its derivative in the logarithm of the length scale
_POLYNOMIALS = {
    0.5: np.array([[1, 0, 0, 0], [0, 1, 0, 0]]),
    1.5: np.array([[1, 1, 0, 0], [0, 0, 1, 0]]),
    2.5: np.array([[1, 1, 1 / 3, 0], [0, 0, 1 / 3, 1 / 3]]),
}


def _bessel_form(z, nu):
    value = _power_times_bessel(z, nu, nu, nu)
    if nu >= 20:  # K_nu overflows at small z, where the power series without its singular term is exact
        small = z < (1 if nu < 100 else 2) * np.sqrt(nu)
        value = np.where(small, _power_series(np.where(small, z, 0.0), nu), value)
    return np.where(np.isfinite(value) & (z > 0), value, 1.0)


def _power_times_bessel(z, nu, power, order):
    """2^(1-nu) / Gamma(nu) z^power K_order(z); at z = 0 the value has no meaning."""
    z = np.where(z > 0, z, 1.0)
    log_factor = (1 - nu) * np.log(2) - gammaln(nu)
    with np.errstate(over="ignore", divide="ignore"):
        return np.exp(log_factor + power * np.log(z) + np.log(kve(order, z)) - z)


def _power_series(z, nu):
    quarter = z * z / 4
    term, total = np.ones_like(z), np.ones_like(z)
    for j in range(1, min(30, int(nu))):
        term = term * quarter / (j * (j - nu))
        total = total + term
    return total
