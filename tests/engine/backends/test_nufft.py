"""The transforms against the dense reference, on kind and unkind points."""

import numpy as np
import pytest

from tests.expressions import column_variances
from torusgp.engine.backends import DensePredictor, GramSums, ModeSums, NufftPredictor
from torusgp.engine.inference import LinearStatistics, Posterior
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.product import to_phases

SUM_ERROR = 1e-9  # per row
MEAN_ERROR = 1e-8  # of the largest value of the signal
VARIANCE_ERROR = 1e-9  # of the prior variance


def uniform(rng, n, dimension):
    return rng.uniform(size=(n, dimension))


def clustered(rng, n, dimension):
    return 0.3 + 1e-3 * rng.normal(size=(n, dimension))


def far_away(rng, n, dimension):
    return rng.uniform(-1e6, 1e6, (n, dimension))


def with_a_hole(rng, n, dimension):
    X = rng.uniform(size=(4 * n, dimension))
    return X[(np.abs(X - 0.5) > 0.25).any(axis=1)][:n]


CASES = [
    (n, dimension, points)
    for n, dimension in [(3000, 1), (3000, 2), (3000, 3), (100_000, 2)]
    for points in (uniform, clustered, far_away, with_a_hole)
    if n < 10_000 or points is uniform
]


def frequencies_of(dimension):
    return hyperbolic_cross(dimension, {1: 20, 2: 6, 3: 3}[dimension]).frequencies


def both_sums(n, dimension, points, n_outputs=1, n_threads=1):
    rng = np.random.default_rng(dimension)
    phases = to_phases(points(rng, n, dimension), 1.0)
    frequencies = frequencies_of(dimension)
    precision = rng.uniform(0.5, 1, len(phases))
    targets = np.sin(phases.sum(axis=1))[:, None] + 0.3 * rng.normal(size=(len(phases), n_outputs))
    dense, modes = GramSums(frequencies, n_outputs), ModeSums(frequencies, n_outputs, n_threads=n_threads)
    for sums in (dense, modes):
        sums.add_chunk(phases, precision, targets)
    return frequencies, dense, modes


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}D-{case[2].__name__}", scope="module")
def predictors(request):
    """Both predictors of the same posterior, and new points that lie like the rows do, and elsewhere."""
    n, dimension, points = request.param
    frequencies, dense, _ = both_sums(n, dimension, points)
    statistics = LinearStatistics(dense.gram(frequencies), dense.moments(frequencies), np.array([1.0 * n]), float(n))
    prior = column_variances(TorusKernel(length_scale=0.7, period=1.0), frequencies)[:, None]
    posterior = Posterior(statistics, prior, np.array([0.1]))
    rng = np.random.default_rng(9)
    phases = to_phases(np.vstack([points(rng, 200, dimension), uniform(rng, 200, dimension)]), 1.0)
    return DensePredictor(frequencies, posterior), NufftPredictor(frequencies, posterior), phases


@pytest.mark.parametrize(
    ("n", "dimension", "points"),
    [*CASES, pytest.param(1_000_000, 2, uniform, marks=pytest.mark.slow)],
)
def test_sums_equal_dense(n, dimension, points):
    frequencies, dense, modes = both_sums(n, dimension, points)
    np.testing.assert_allclose(modes.gram(frequencies), dense.gram(frequencies), rtol=0, atol=SUM_ERROR * n)
    np.testing.assert_allclose(modes.moments(frequencies), dense.moments(frequencies), rtol=0, atol=SUM_ERROR * n)


@pytest.mark.parametrize("n_outputs", [2, 3, 4])
def test_moments_of_several_outputs_equal_dense(n_outputs):
    frequencies, dense, modes = both_sums(500, 2, uniform, n_outputs)
    np.testing.assert_allclose(modes.moments(frequencies), dense.moments(frequencies), rtol=0, atol=500 * SUM_ERROR)
    np.testing.assert_allclose(modes.constant_sums()[1], dense.constant_sums()[1], atol=500 * SUM_ERROR)


def test_two_threads_equal_dense():
    frequencies, dense, modes = both_sums(20_000, 2, uniform, n_threads=2)
    np.testing.assert_allclose(modes.gram(frequencies), dense.gram(frequencies), rtol=0, atol=20_000 * SUM_ERROR)


def test_sums_serve_every_frequency_of_their_box():
    frequencies, _, modes = both_sums(300, 2, uniform)
    box = modes.covered()
    assert modes.holds(box)
    assert len(box) == (np.prod(2 * np.abs(frequencies).max(axis=0) + 1) + 1) // 2
    rng = np.random.default_rng(2)
    phases = to_phases(uniform(rng, 300, 2), 1.0)
    precision, targets = rng.uniform(0.5, 1, 300), rng.normal(size=(300, 1))
    dense, modes = GramSums(box, 1), ModeSums(frequencies, 1)
    for sums in (dense, modes):
        sums.add_chunk(phases, precision, targets)
    np.testing.assert_allclose(modes.gram(box), dense.gram(box), rtol=0, atol=300 * SUM_ERROR)
    np.testing.assert_allclose(modes.moments(box), dense.moments(box), rtol=0, atol=300 * SUM_ERROR)


def test_small_targets_keep_their_relative_accuracy():
    rng = np.random.default_rng(0)
    phases, targets = rng.uniform(0, 2 * np.pi, (500, 1)), rng.normal(size=(500, 1))
    frequencies = frequencies_of(1)
    unit, tiny = ModeSums(frequencies, 1, 1e-14), ModeSums(frequencies, 1, 1e-14)
    unit.add_chunk(phases, np.ones(500), targets)
    tiny.add_chunk(phases, np.ones(500), 1e-9 * targets)
    np.testing.assert_allclose(1e9 * tiny.moments(frequencies), unit.moments(frequencies), rtol=0, atol=500 * SUM_ERROR)


def test_large_targets_leave_the_gram_matrix_exact():
    rng = np.random.default_rng(0)
    phases, targets = rng.uniform(0, 2 * np.pi, (500, 1)), rng.normal(size=(500, 1))
    frequencies = frequencies_of(1)
    unit, huge = ModeSums(frequencies, 1, 1e-14), ModeSums(frequencies, 1, 1e-14)
    unit.add_chunk(phases, np.ones(500), targets)
    huge.add_chunk(phases, np.ones(500), 1e9 * targets)
    np.testing.assert_allclose(huge.gram(frequencies), unit.gram(frequencies), rtol=0, atol=500 * SUM_ERROR)


def test_mean_equals_dense(predictors):
    dense, fast, phases = predictors
    weights = dense.posterior.weights
    expected = dense.mean(phases, weights)
    np.testing.assert_allclose(fast.mean(phases, weights), expected, rtol=0, atol=MEAN_ERROR * np.abs(expected).max())


def test_variance_equals_dense(predictors):
    dense, fast, phases = predictors
    prior_variance = (dense.posterior.roots[0] ** 2)[1::2].sum()  # of the function, but for its constant
    np.testing.assert_allclose(
        fast.variance(phases, 0), dense.variance(phases, 0), rtol=0, atol=VARIANCE_ERROR * prior_variance
    )


def test_mean_and_variance_together_equal_dense(predictors):
    dense, fast, phases = predictors
    for value, expected, error in zip(
        fast.mean_and_variance(phases, 0), dense.mean_and_variance(phases, 0), (MEAN_ERROR, VARIANCE_ERROR), strict=True
    ):
        np.testing.assert_allclose(value, expected, rtol=0, atol=error)


def test_gradient_and_its_variance_equal_dense(predictors):
    dense, fast, phases = predictors
    waves = dense.frequencies.T.astype(float)
    weights = dense.posterior.weights
    expected = dense.gradient(phases, weights, waves)
    np.testing.assert_allclose(
        fast.gradient(phases, weights, waves), expected, rtol=0, atol=MEAN_ERROR * np.abs(expected).max()
    )
    prior_variance = (waves**2 * (dense.posterior.roots[0] ** 2)[np.r_[0, 1 : 2 * waves.shape[1] - 1 : 2]]).sum(axis=1)
    np.testing.assert_allclose(
        fast.gradient_variance(phases, waves, 0) / prior_variance,
        dense.gradient_variance(phases, waves, 0) / prior_variance,
        rtol=0,
        atol=VARIANCE_ERROR,
    )


def test_a_set_without_sign_symmetry_equals_dense():
    kernel = TorusKernel(length_scale=[0.5, 0.8], period=[[1.0, 0.0], [0.4, 0.9]])
    frequencies = adaptive(kernel, 33).frequencies
    rng = np.random.default_rng(3)
    phases, targets = rng.uniform(0, 2 * np.pi, (200, 2)), rng.normal(size=(200, 1))
    dense, modes = GramSums(frequencies, 1), ModeSums(frequencies, 1)
    for sums in (dense, modes):
        sums.add_chunk(phases, np.ones(200), targets)
    np.testing.assert_allclose(modes.gram(frequencies), dense.gram(frequencies), rtol=0, atol=200 * SUM_ERROR)


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("points", [uniform, clustered, far_away])
def test_phase_gradient_equals_dense(points, dimension, n_outputs):
    frequencies = frequencies_of(dimension)
    rng = np.random.default_rng(n_outputs)
    phases, targets = to_phases(points(rng, 300, dimension), 1.0), rng.normal(size=(300, n_outputs))
    root = rng.normal(size=(2 * len(frequencies) - 1,) * 2)
    arguments = (phases, targets, root @ root.T, rng.normal(size=(len(root), n_outputs)))
    expected = DensePredictor(frequencies, None).phase_gradient(*arguments)
    found = NufftPredictor(frequencies, None).phase_gradient(*arguments)
    np.testing.assert_allclose(found, expected, rtol=0, atol=MEAN_ERROR * np.abs(expected).max())


@pytest.mark.parametrize(("linear", "square"), [(0.0, 1.0), (1.0, 0.0), (1e-6, 1.0), (1.0, 1e-6)])
def test_parts_of_the_phase_gradient_keep_their_own_accuracy(linear, square):
    frequencies = frequencies_of(2)
    rng = np.random.default_rng(0)
    phases, targets = rng.uniform(0, 2 * np.pi, (200, 2)), rng.normal(size=(200, 1))
    root = rng.normal(size=(2 * len(frequencies) - 1,) * 2)
    arguments = (phases, targets, square * root @ root.T, linear * rng.normal(size=(len(root), 1)))
    expected = DensePredictor(frequencies, None).phase_gradient(*arguments)
    found = NufftPredictor(frequencies, None).phase_gradient(*arguments)
    np.testing.assert_allclose(found, expected, rtol=0, atol=MEAN_ERROR * np.abs(expected).max())
