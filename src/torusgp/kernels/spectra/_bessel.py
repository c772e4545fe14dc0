r"""Scaled modified Bessel functions in the log domain.

The Fourier coefficients of the squared exponential kernel on the circle are :math:`e^{-a} I_k(a)`. SciPy's
``ive`` underflows at large order and its ratio loses digits at large argument, so three textbook expansions
share the work, each where it is accurate to rounding:

=====================  ==========================================  ==========================
where                  expansion                                   reference (DLMF)
=====================  ==========================================  ==========================
order > 32             uniform (Debye) expansion, any argument     10.41.3, 10.41.5
argument < 1           power series                                10.25.2
argument > 1000        Hankel's large-argument expansion           10.40.1
otherwise              SciPy's ``ive``
=====================  ==========================================  ==========================
"""

from fractions import Fraction

import numpy as np
from scipy.special import gammaln, ive

_LARGEST_SMALL_ORDER = 32
_SMALL_ARGUMENT = 1.0
_LARGE_ARGUMENT = 1e3
_N_DEBYE_TERMS = 13  # the first term left out is below 1e-17 at order 33
_N_SERIES_TERMS = 12  # (1/4)^12 / 12!^2 < 1e-24
_N_HANKEL_TERMS = 40  # each term is at most half the one before it


def _debye_polynomials(n_terms):
    """Coefficients of U_j(p) / p^j and (V_j(p) - U_j(p)) / p^j in powers of p^2, as matrices (power, j - 1)."""
    u = [Fraction(1)]  # u[i] multiplies p^i
    values, differences = [], []
    for j in range(1, n_terms):
        derivative = [i * c for i, c in enumerate(u)][1:] or [Fraction(0)]
        integrand = np.polynomial.polynomial.polymul(np.array(u, object), np.array([1, 0, -5], object))
        integral = [Fraction(0)] + [Fraction(c) / (i + 1) for i, c in enumerate(integrand)]
        following = _poly_sum(
            _shifted(derivative, 2, Fraction(1, 2)),
            _shifted(derivative, 4, Fraction(-1, 2)),
            [c / 8 for c in integral],
        )
        difference = _poly_sum(
            _shifted(u, 1, Fraction(-1, 2)),
            _shifted(u, 3, Fraction(1, 2)),
            _shifted(derivative, 2, Fraction(-1)),
            _shifted(derivative, 4, Fraction(1)),
        )
        u = following
        values.append(u[j : 3 * j + 1 : 2])
        differences.append(difference[j : 3 * j + 1 : 2])
    return tuple(
        np.array([[float(c) for c in one] + [0.0] * (n_terms - len(one)) for one in some]).T
        for some in (values, differences)
    )


def _shifted(polynomial, power, factor):
    """Factor * p^power * polynomial(p)."""
    return [Fraction(0)] * power + [factor * c for c in polynomial]


def _poly_sum(*polynomials):
    length = max(len(poly) for poly in polynomials)
    return [sum((p[i] for p in polynomials if i < len(p)), Fraction(0)) for i in range(length)]


_DEBYE_U, _DEBYE_V_MINUS_U = _debye_polynomials(_N_DEBYE_TERMS)


def _debye(order, argument):
    hypotenuse = np.hypot(order, argument)
    powers = np.vander((order / hypotenuse) ** 2, _N_DEBYE_TERMS, increasing=True)  # of p^2
    terms = np.vander(1 / hypotenuse, _N_DEBYE_TERMS, increasing=True)[:, 1:]  # (p / order)^j
    sum_u = 1 + np.einsum("ij,ij->i", terms, powers @ _DEBYE_U)
    sum_difference = np.einsum("ij,ij->i", terms, powers @ _DEBYE_V_MINUS_U)
    excess = order * (order / (hypotenuse + argument))  # hypotenuse - argument, without cancellation
    log_value = excess - order * np.arcsinh(order / argument) - 0.5 * np.log(2 * np.pi * hypotenuse) + np.log(sum_u)
    return log_value, excess + hypotenuse * (sum_difference / sum_u)


def _series(order, argument):
    quarter = argument * argument / 4
    term, total, moment = np.ones_like(argument), np.ones_like(argument), np.zeros_like(argument)
    for m in range(1, _N_SERIES_TERMS):
        term = term * quarter / (m * (order + m))
        total += term
        moment += 2 * m * term
    log_value = order * np.log(argument / 2) - argument - gammaln(order + 1) + np.log(total)
    return log_value, order - argument + moment / total


def _hankel(order, argument):
    term, total, moment = np.ones_like(argument), np.ones_like(argument), np.zeros_like(argument)
    for m in range(1, _N_HANKEL_TERMS):
        term = term * ((2 * m - 1) ** 2 - 4 * order * order) / (8 * m * argument)
        total += term
        moment -= m * term
    return np.log(total) - 0.5 * np.log(2 * np.pi * argument), moment / total - 0.5


def _scipy(order, argument):
    value = ive(order, argument)
    return np.log(value), order + argument * (ive(order + 1, argument) / value - 1)


def log_scaled_bessel(order, argument):
    r"""Logarithm of :math:`e^{-a} I_k(a)` and its derivative with respect to :math:`\log a`.

    Orders are integers or, above 32, any number; they and the positive arguments are broadcast against each other.
    """
    order, argument = np.broadcast_arrays(np.asarray(order, float), np.asarray(argument, float))
    log_value, log_slope = np.empty(order.shape), np.empty(order.shape)
    small_order = order <= _LARGEST_SMALL_ORDER
    small, large = argument < _SMALL_ARGUMENT, argument > _LARGE_ARGUMENT
    for expansion, where in (
        (_debye, ~small_order),
        (_series, small_order & small),
        (_hankel, small_order & large),
        (_scipy, small_order & ~small & ~large),
    ):
        if where.any():
            log_value[where], log_slope[where] = expansion(order[where], argument[where])
    return log_value, log_slope
