"""Tolerances, fixtures and the hypothesis profiles of all tests."""

import os
import re

from hypothesis import HealthCheck, settings

from tests.browsers import browser  # noqa: F401  # a fixture that tests of pages share

# One entry for each kind of claim. Absolute unless the name says otherwise; kernels have variance one.
TOLERANCE = {
    # relative: three textbook expansions, each used where its first neglected term is below rounding
    "bessel_relative": 1e-13,
    # relative: a trapezoidal rule or an image sum of positive terms, so only rounding of logarithms remains
    "coefficient_relative": 1e-12,
    # times max(1, |log c|): rounding of a logarithm is relative to its size
    "log_coefficient": 1e-12,
    # times max(1, |slope|): a derivative under the same integrals; a mean of size alpha or k cancels
    "slope": 1e-10,
    # times max(1, |slope|): sixth-order differences, step 0.05, of coefficients known to 1e-14
    "slope_of_callable": 1e-5,
    # relative: slow sums end in an Euler-Maclaurin integral with its first two corrections
    "tail_relative": 1e-10,
    # quadrature of a user's function: Gauss-Legendre sums of terms of order one
    "callable_coefficient": 1e-14,
    # sums of a few thousand products of order one: kernels, Gram matrices, columns, feature maps
    "rounding": 1e-12,
    # relative: sums of positive products of coefficients that are themselves good to 1e-12
    "certificate_relative": 1e-10,
    # one minus what is kept: Cartesian and callable families state a floor of 1e-14 per coefficient
    "certificate_floor": 1e-13,
    # another basis of the same lattice: entries up to ten times larger, inverted, inside exponentials
    "change_of_basis": 1e-10,
    # float32 columns: 24 bits of each of a few factors
    "float32": 2e-6,
    # relative: fluctuation of measured Frobenius norms around their expectation
    "frobenius_relative": 0.02,
}

_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}  # shared machines stall
settings.register_profile("local", max_examples=40, **_common)
settings.register_profile("ci", max_examples=40, derandomize=True, **_common)  # the same examples in every run
settings.load_profile("ci" if os.environ.get("CI") else "local")


def label(parameter):
    """Name of a test's parameter, the same in every process: without the addresses of functions."""
    return re.sub(r"<function (\S+) at \w+>", r"\1", str(parameter)).replace("\n", "")
