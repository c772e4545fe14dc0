"""The dense sums and predictor against their definition, matrix by matrix."""

import numpy as np
import pytest

from torusgp.engine.backends import DensePredictor, GramSums
from torusgp.engine.backends import _dense as dense_module
from torusgp.engine.basis import columns, reference_columns
from torusgp.engine.inference import LinearStatistics, Posterior
from torusgp.kernels.index_sets import from_frequencies, hyperbolic_cross

FREQUENCIES = hyperbolic_cross(2, 3).frequencies


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.uniform(0, 2 * np.pi, (150, 2)), rng.uniform(0.1, 2, 150), rng.normal(size=(150, 2))


@pytest.fixture
def predictor(rows):
    phases, precision, targets = rows
    F = columns(phases, FREQUENCIES)
    prior = np.random.default_rng(1).uniform(0.1, 1, (F.shape[1], 2))
    statistics = LinearStatistics((F.T * precision) @ F, (F.T * precision) @ targets, precision @ targets**2, 150.0)
    return DensePredictor(FREQUENCIES, Posterior(statistics, prior, np.array([0.1, 0.3])))


def sums_of(phases, precision, targets):
    sums = GramSums(FREQUENCIES, targets.shape[1])
    sums.add_chunk(phases, precision, targets)
    return sums


def test_sums_are_weighted_products_of_columns(rows):
    phases, precision, targets = rows
    sums, F = sums_of(*rows), columns(phases, FREQUENCIES)
    np.testing.assert_allclose(sums.gram(FREQUENCIES), (F.T * precision) @ F, atol=1e-12)
    np.testing.assert_allclose(sums.moments(FREQUENCIES), (F.T * precision) @ targets, atol=1e-12)
    np.testing.assert_allclose(sums.constant_sums()[0], precision.sum())
    np.testing.assert_allclose(sums.constant_sums()[1], precision @ targets)


def test_precisions_may_be_negative(rows):
    """As minus the second derivatives of likelihoods that are not concave are."""
    phases, precision, targets = rows
    precision = np.where(np.arange(len(precision)) % 3, precision, -precision)
    sums, F = GramSums(FREQUENCIES, 2), columns(phases, FREQUENCIES)
    sums.add_weighted(phases, precision, targets)
    np.testing.assert_allclose(sums.gram(FREQUENCIES), (F.T * precision) @ F, atol=1e-12)
    np.testing.assert_allclose(sums.moments(FREQUENCIES), F.T @ targets, atol=1e-12)


def test_chunks_inside_change_nothing(rows, monkeypatch):
    whole = sums_of(*rows)
    monkeypatch.setattr(dense_module, "_CHUNK_BYTES", 1)  # chunks of 64 rows
    parts = sums_of(*rows)
    np.testing.assert_allclose(parts.gram(FREQUENCIES), whole.gram(FREQUENCIES), atol=1e-12)
    np.testing.assert_allclose(parts.moments(FREQUENCIES), whole.moments(FREQUENCIES), atol=1e-12)


def test_sums_add_with_rescaled_targets(rows):
    phases, precision, targets = rows
    first, second = slice(0, 60), slice(60, None)
    factor, offset = np.array([2.0, -0.5]), np.array([0.3, 1.0])
    whole = sums_of(phases, precision, np.vstack([targets[first], factor * targets[second] + offset]))
    parts = sums_of(phases[first], precision[first], targets[first])
    parts.add(sums_of(phases[second], precision[second], targets[second]), factor, offset)
    np.testing.assert_allclose(parts.gram(FREQUENCIES), whole.gram(FREQUENCIES), atol=1e-12)
    np.testing.assert_allclose(parts.moments(FREQUENCIES), whole.moments(FREQUENCIES), atol=1e-12)


def test_sums_hold_subsets_in_any_order_only(rows):
    sums = sums_of(*rows)
    subset = FREQUENCIES[[0, 5, 2]]
    chosen = [0, 9, 10, 3, 4]
    np.testing.assert_array_equal(sums.gram(subset), sums.gram(FREQUENCIES)[np.ix_(chosen, chosen)])
    assert sums.holds(subset)
    assert not sums.holds(np.array([[0, 0], [7, 7]]))


@pytest.mark.parametrize("entries", [1, 100, 2**22])
def test_the_gram_matrix_is_gathered_in_blocks(rows, entries, monkeypatch):
    sums, F = sums_of(*rows), columns(rows[0], FREQUENCIES)
    monkeypatch.setattr(dense_module, "_BLOCK_ENTRIES", entries)
    gram = sums.gram(FREQUENCIES)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(gram, (F.T * rows[1]) @ F, atol=1e-12)


def test_the_sums_of_a_subset_go_on(rows):
    phases, precision, targets = rows
    first, second, subset = slice(0, 60), slice(60, None), FREQUENCIES[[0, 5, 2]]
    sums = sums_of(phases[first], precision[first], targets[first]).subset(subset)
    sums.add_chunk(phases[second], precision[second], targets[second])
    whole = sums_of(*rows)
    np.testing.assert_allclose(sums.gram(subset), whole.gram(subset), atol=1e-12)
    np.testing.assert_allclose(sums.moments(subset), whole.moments(subset), atol=1e-12)
    np.testing.assert_array_equal(sums.to_arrays()["gram"], np.triu(sums.to_arrays()["gram"]))


def test_predictor_is_the_linear_model(rows, predictor):
    phases = rows[0][:20]
    F = columns(phases, FREQUENCIES)
    mean, variance = predictor.mean_and_variance(phases, 1)
    covariance = F @ predictor.posterior.covariance(1) @ F.T
    np.testing.assert_allclose(mean, F @ predictor.posterior.weights[:, 1], atol=1e-12)
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-10)
    np.testing.assert_allclose(predictor.covariance(phases, 1), covariance, atol=1e-12)


def test_adjoint_is_the_transpose_of_the_mean(rows, predictor):
    phases, rng = rows[0], np.random.default_rng(5)
    weights = rng.normal(size=(2 * len(predictor.frequencies) - 1, 2))
    values = rng.normal(size=(len(phases), 3))
    left = predictor.mean(phases, weights).T @ values
    np.testing.assert_allclose(weights.T @ predictor.adjoint(phases, values), left, rtol=1e-11)


@pytest.mark.parametrize(
    "frequencies",
    [
        hyperbolic_cross(3, 6).frequencies,  # boxes, of which products serve many
        from_frequencies(np.random.default_rng(0).integers(-900, 900, (80, 3))).frequencies,  # each for itself
        from_frequencies([[0, 0, 0], [0, 5, 0]]).frequencies,
        np.zeros((1, 3), dtype=np.int64),
    ],
)
@pytest.mark.parametrize(("n_rows", "n_functions"), [(700, 1), (700, 2), (700, 40), (700, 0), (0, 2)])
def test_adjoint_is_the_product_with_the_columns(frequencies, n_rows, n_functions):
    rng = np.random.default_rng(5)
    phases, values = rng.uniform(0, 2 * np.pi, (n_rows, 3)), rng.normal(size=(n_rows, n_functions))
    sums = DensePredictor(frequencies, None).adjoint(phases, values)
    np.testing.assert_allclose(sums, reference_columns(phases, frequencies).T @ values, atol=1e-9)


def test_gradient_is_the_difference_of_the_mean(rows, predictor):
    phases, step = rows[0][:20], 1e-6
    weights = predictor.posterior.weights
    gradient = predictor.gradient(phases, weights, FREQUENCIES.T.astype(float))
    for d, shift in enumerate(step * np.eye(2)):
        difference = (predictor.mean(phases + shift, weights) - predictor.mean(phases - shift, weights)) / (2 * step)
        np.testing.assert_allclose(gradient[:, d], difference, atol=1e-7)


def test_phase_gradient_is_the_difference_of_the_form(rows, predictor):
    phases, _, targets = (part[:20] for part in rows)
    rng = np.random.default_rng(2)
    root = rng.normal(size=(2 * len(FREQUENCIES) - 1,) * 2)
    quadratic, weights, step = root @ root.T, rng.normal(size=(len(root), 2)), 1e-6

    def form(phases):
        F = columns(phases, FREQUENCIES)
        return (targets * (F @ weights)).sum(axis=1) - 0.5 * np.einsum("ni,ij,nj->n", F, quadratic, F)

    gradient = predictor.phase_gradient(phases, targets, quadratic, weights)
    for d, shift in enumerate(step * np.eye(2)):
        difference = (form(phases + shift) - form(phases - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[:, d], difference, atol=1e-7 * np.abs(gradient).max())


def test_chunks_inside_leave_the_phase_gradient_alone(rows, predictor, monkeypatch):
    phases, _, targets = rows
    size = 2 * len(FREQUENCIES) - 1
    arguments = (phases, targets, np.eye(size), np.ones((size, 2)))
    whole = predictor.phase_gradient(*arguments)
    monkeypatch.setattr(dense_module, "_CHUNK_BYTES", 1)  # chunks of 64 rows
    np.testing.assert_allclose(predictor.phase_gradient(*arguments), whole, atol=1e-12)
