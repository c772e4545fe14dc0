"""What holds for every family: the series is the kernel, tails are what is left, n_terms cuts where it says."""

from functools import partial

import numpy as np
import pytest
from mpmath import mp, mpf
from sklearn.gaussian_process import kernels as sklearn_kernels

from tests import oracles
from tests.conftest import TOLERANCE, label
from torusgp.kernels.spectra import Heat, Levels, Matern, RationalQuadratic, SquaredExponential, TorusMatern, Warped


def cauchy(distance):
    return 1 / (1 + distance**2)


CASES = [
    *[(SquaredExponential(), length_scale) for length_scale in (0.02, 0.5, 10.0)],
    *[(RationalQuadratic(alpha), length_scale) for alpha, length_scale in ((0.5, 1.0), (2.3, 0.2))],
    *[(Matern(nu), length_scale) for nu, length_scale in ((0.5, 2.0), (1.5, 0.3), (2.5, 1.0), (40.0, 0.5))],
    *[(Heat(), length_scale) for length_scale in (0.05, 0.8, 5.0)],
    *[(TorusMatern(nu), length_scale) for nu, length_scale in ((0.5, 0.3), (1.5, 3.0), (4.2, 1.0))],
    *[(Warped(cauchy), length_scale) for length_scale in (0.3, 2.0)],
]
for_every_family = pytest.mark.parametrize(("family", "length_scale"), CASES, ids=label)


@for_every_family
def test_series_equals_the_kernel_within_the_tail(family, length_scale):
    k = np.arange(513)
    tail = 2 * family.tail_sums(k[-1], length_scale)[-1]
    phase = np.linspace(-7, 7, 101)
    series = np.cos(np.multiply.outer(phase, k)) @ (np.where(k, 2, 1) * family.coefficients(k, length_scale))
    error = np.abs(series - family.kernel(phase, length_scale))
    assert error.max() <= tail + TOLERANCE["rounding"]


@for_every_family
def test_coefficients_and_tail_sum_to_one(family, length_scale):
    k = np.arange(41)
    cumulative = np.cumsum(np.where(k, 2, 1) * family.coefficients(k, length_scale))
    tails = family.tail_sums(40, length_scale)
    np.testing.assert_allclose(cumulative + 2 * tails, 1, atol=TOLERANCE["rounding"])


@pytest.mark.parametrize(
    ("kernel", "family", "inputs"),
    [
        (sklearn_kernels.ExpSineSquared(0.7, 2 * np.pi), SquaredExponential(), "phase"),
        (sklearn_kernels.RBF(0.7), SquaredExponential(), "circle"),
        (sklearn_kernels.Matern(0.7, nu=1.5), Matern(1.5), "circle"),
        (sklearn_kernels.Matern(0.7, nu=0.8), Matern(0.8), "circle"),
        (sklearn_kernels.RationalQuadratic(0.7, 2.3), RationalQuadratic(2.3), "circle"),
    ],
    ids=label,
)
def test_kernel_equals_scikit_learn_on_the_circle(kernel, family, inputs):
    phase = np.linspace(0, 2 * np.pi, 30)
    X = phase[:, None] if inputs == "phase" else np.column_stack([np.cos(phase), np.sin(phase)])
    expected = kernel(X)
    np.testing.assert_allclose(family.kernel(phase[:, None] - phase, 0.7), expected, atol=TOLERANCE["rounding"])


def exact_tail(family, k, length_scale, power):
    """Sum of powers of the coefficients beyond k, on one side."""
    if isinstance(family, Matern):
        return oracles.matern_tail(k, length_scale, family.nu)
    if isinstance(family, TorusMatern):
        unit = oracles.torus_matern_coefficient(0, length_scale, family.nu)
        inverse_square, exponent = 2 * mpf(family.nu) / mpf(length_scale) ** 2, power * (mpf(family.nu) + 0.5)
        return unit**power * mp.nsum(lambda j: (1 + j * j / inverse_square) ** -exponent, [k + 1, mp.inf], method="e")
    total, block = mpf(0), range(k + 1, k + 33)
    while True:
        terms = [c**power for c in oracles.coefficients(family, list(block), length_scale)]
        total += sum(terms)
        if terms[-1] < mpf(10) ** -20 * total:
            return total
        block = range(block.stop, block.stop + 2 * len(block))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(
    ("family", "length_scale", "frequencies"),
    [
        (SquaredExponential(), 0.01, [0, 200, 1000]),
        (SquaredExponential(), 0.7, [0, 3, 50]),
        (SquaredExponential(), 300.0, [0, 5, 12]),
        (RationalQuadratic(0.5), 0.5, [0, 10, 100]),
        (RationalQuadratic(2.3), 3.0, [0, 30]),
        (Heat(), 0.05, [0, 60, 300]),
        (Heat(), 2.0, [0, 5]),
        (TorusMatern(0.5), 0.3, [0, 100, 3000]),
        (TorusMatern(1.5), 2.0, [0, 70, 3000]),
    ],
    ids=label,
)
def test_tail_sums_are_accurate_relative_to_themselves(family, length_scale, frequencies, power):
    tails = family.tail_sums(frequencies[-1], length_scale, power=power)
    exact = [exact_tail(family, k, length_scale, power) for k in frequencies]
    errors = [float(abs(mpf(tails[k]) / tail - 1)) for k, tail in zip(frequencies, exact, strict=True)]
    assert max(errors) <= TOLERANCE["tail_relative"]


@pytest.mark.parametrize(("nu", "length_scale"), [(0.5, 0.5), (1.5, 3.0), (2.5, 0.5)])
def test_matern_tail_sums_are_accurate_relative_to_themselves(nu, length_scale):
    frequencies = [40, 200, 5000]
    tails = Matern(nu).tail_sums(frequencies[-1], length_scale)
    errors = [float(abs(mpf(tails[k]) / exact_tail(Matern(nu), k, length_scale, 1) - 1)) for k in frequencies]
    assert max(errors) <= TOLERANCE["tail_relative"]


@for_every_family
def test_squared_tail_equals_the_mean_square_of_the_kernel(family, length_scale):
    # Parseval. Kinks lie at phase 0 only, so panels from 0 to pi see smooth functions.
    nodes, weights = np.polynomial.legendre.leggauss(20)
    phase = np.pi / 64 * (np.arange(64)[:, None] + (1 + nodes) / 2)
    mean_square = (family.kernel(phase, length_scale) ** 2 @ weights).sum() / 128
    squares = family.coefficients(0, length_scale) ** 2 + 2 * family.tail_sums(0, length_scale, power=2)[0]
    assert squares == pytest.approx(mean_square, rel=TOLERANCE["tail_relative"])


@pytest.mark.parametrize(
    ("family", "length_scale", "tolerance"),
    [
        (SquaredExponential(), 1e-3, 1e-8),
        (SquaredExponential(), 0.5, 1e-3),
        (SquaredExponential(), 0.5, 1e-30),
        (SquaredExponential(), 1e3, 1e-3),
        (RationalQuadratic(), 0.1, 1e-12),
        (Heat(), 1.0, 1e-100),
        (TorusMatern(0.5), 0.3, 1e-3),
        (TorusMatern(1.5), 0.3, 1e-9),
        (Matern(0.5), 0.5, 1e-3),
        (Matern(2.5), 0.5, 1e-8),
        (Warped(cauchy), 0.5, 1e-6),
    ],
    ids=label,
)
def test_n_terms_is_the_smallest_number_that_suffices(family, length_scale, tolerance):
    n_terms = family.n_terms(length_scale, tolerance)
    assert 2 * family.tail_sums(n_terms, length_scale)[-1] <= tolerance
    assert n_terms == 0 or 2 * family.tail_sums(n_terms - 1, length_scale)[-1] > tolerance


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *[
            (partial(SquaredExponential().coefficients, 1, bad), f"length_scale must be .* got {bad!r}")
            for bad in (0, -1.0, np.nan, np.inf, "long", None)
        ],
        (lambda: Heat().kernel(0.1, -2.0), r"length_scale must be .* got -2\.0"),
        (lambda: Matern(1.5).log_coefficients_gradient(1, 0.0), r"length_scale must be .* got 0\.0"),
        (lambda: SquaredExponential().coefficients([np.nan], 1.0), "frequency must be finite"),
        (lambda: SquaredExponential().coefficients(["one"], 1.0), r"frequency must hold integers, got \['one'\]"),
        (lambda: SquaredExponential().n_terms(1.0, 0.0), r"tolerance must be .* got 0\.0"),
        (lambda: TorusMatern(0.5).n_terms(1.0, 1e-15), "tolerance=1e-15 needs more than .* TorusMatern"),
        (lambda: Matern(-1.0), r"nu must be .* got -1\.0"),
        (lambda: Matern(1000.0), r"nu must be at most 300, got 1000\.0"),
        (lambda: Matern("rough"), "nu must be .* got 'rough'"),
        (lambda: TorusMatern(np.inf), "nu must be .* got inf"),
        (lambda: RationalQuadratic(0.0), r"alpha must be .* got 0\.0"),
        (lambda: RationalQuadratic(1e-300), r"alpha must lie between 0\.01 and 1e\+06, got 1e-300"),
        (lambda: RationalQuadratic(1e7), r"alpha must lie between 0\.01 and 1e\+06, got 10000000\.0"),
        (lambda: Levels(3, [1]), r"shared must be True or False, got \[1\]"),
        (lambda: Heat(np.zeros(2)), "metric must be 'phase' or 'cartesian'"),
        (lambda: Heat("euclidean"), "metric must be 'phase' or 'cartesian', got 'euclidean'"),
        (lambda: Warped(3), "function must be callable, got 3"),
        (lambda: Warped(lambda distance: 2 - distance), r"function\(0\) must be 1, got .*2\.0"),
        (lambda: Warped(lambda distance: 1.0), "function must be vectorised"),
        (lambda: Warped(lambda distance: np.sqrt(1 - distance)).coefficients(0, 1.0), "function must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in sqrt")  # what the last function is there for
def test_bad_input_is_named_with_its_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()
