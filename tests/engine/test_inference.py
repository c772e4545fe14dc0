"""Posterior and evidence of a linear model against the normal distribution of its targets."""

import pickle

import numpy as np
import pytest

from tests.engine.backends.devices import DEVICES, check_device
from tests.exact_regression import central_differences, normal_log_density
from torusgp.engine import inference
from torusgp.engine.inference import (
    Derivatives,
    LinearStatistics,
    NotPositiveDefiniteError,
    Posterior,
    evidence,
    spectrum_step,
)

N, COLUMNS = 40, 7


@pytest.fixture
def model():
    """Columns, targets of two outputs, prior and noise variances."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(N, COLUMNS))
    prior = rng.uniform(0.2, 2, (COLUMNS, 2))
    noise = np.array([0.3, 0.05])
    y = F @ (np.sqrt(prior) * rng.normal(size=(COLUMNS, 2))) + np.sqrt(noise) * rng.normal(size=(N, 2))
    return F, y, prior, noise


@pytest.fixture(params=["lapack", *DEVICES])
def algebra(request, monkeypatch):
    """LAPACK as it is; or PyTorch for these small matrices too."""
    if request.param == "lapack":
        return
    check_device(request.param)
    from torusgp.engine.backends._torch_algebra import TorchAlgebra

    monkeypatch.setattr(inference, "make_algebra", lambda gram, device: TorchAlgebra(gram, request.param))


def statistics_of(F, y, weight=None, **extra):
    weight = np.ones(len(F)) if weight is None else weight
    return LinearStatistics((F.T * weight) @ F, (F.T * weight) @ y, weight @ y**2, float(len(F)), **extra)


@pytest.mark.usefixtures("algebra")
@pytest.mark.parametrize("output", [0, 1])
def test_evidence_is_the_density_of_the_targets(model, output):
    F, y, prior, noise = model
    covariance = (F * prior[:, output]) @ F.T + noise[output] * np.eye(N)
    result = evidence(statistics_of(F, y), prior[:, output], noise[output], output)
    assert result.log_evidence == pytest.approx(normal_log_density(covariance, y[:, output]), rel=1e-12)


def test_known_precisions_enter_the_density(model):
    F, y, prior, noise = model
    scale = np.random.default_rng(1).uniform(0.5, 2, N)
    statistics = statistics_of(F, y, scale**-2, log_precision=float(-2 * np.log(scale).sum()))
    covariance = (F * prior[:, 0]) @ F.T + noise[0] * np.diag(scale**2)
    result = evidence(statistics, prior[:, 0], noise[0])
    assert result.log_evidence == pytest.approx(normal_log_density(covariance, y[:, 0]), rel=1e-12)


@pytest.mark.usefixtures("algebra")
def test_posterior_is_that_of_ridge_regression(model):
    F, y, prior, noise = model
    posterior = Posterior(statistics_of(F, y), prior, noise)
    for output in range(2):
        covariance = np.linalg.inv(F.T @ F / noise[output] + np.diag(1 / prior[:, output]))
        np.testing.assert_allclose(posterior.covariance(output), covariance, rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(
            posterior.weights[:, output], covariance @ F.T @ y[:, output] / noise[output], rtol=1e-10
        )


@pytest.mark.usefixtures("algebra")
@pytest.mark.parametrize("output", [0, 1])
def test_gradient_is_the_difference_of_the_evidence(model, output):
    F, y, prior, noise = model
    statistics = statistics_of(F, y)

    def value(vector):
        return evidence(statistics, np.exp(vector[:-1]), np.exp(vector[-1]), output).log_evidence

    by_prior, by_noise = evidence(statistics, prior[:, output], noise[output], output).gradient()
    differences = central_differences(value, np.log([*prior[:, output], noise[output]]))
    np.testing.assert_allclose([*by_prior, by_noise], differences, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("output", [0, 1])
def test_observed_derivatives_are_further_rows_with_noise_of_their_own(model, output):
    """Two groups of points, two partial derivatives at each."""
    F, y, prior, noise = model
    rng = np.random.default_rng(2)
    of_derivatives, groups, rows, targets, precisions = np.array([0.7, 0.02]), [], [], [], []
    for n_points in (15, 8):
        basis, factors = rng.normal(size=(n_points, COLUMNS)), rng.normal(size=(2, COLUMNS))
        slopes, precision = rng.normal(size=(2, n_points, 2)), rng.uniform(0.5, 2, n_points)
        weighted = basis.T * precision
        groups.append(Derivatives(factors, weighted @ basis, np.stack([weighted @ own for own in slopes])))
        rows.append(basis * factors[:, None])
        targets.append(slopes)
        precisions.append(precision)
    rows, targets, precision = np.hstack(rows), np.hstack(targets), np.concatenate(precisions)
    statistics = statistics_of(
        F,
        y,
        derivatives=tuple(groups),
        partials=("first", "second"),
        derivative_squares=precision @ targets**2,
        n_derivatives=np.full(2, len(precision)),
        derivative_log_precision=np.full(2, np.log(precision).sum()),
    )
    start = np.log([*prior[:, output], noise[output], *of_derivatives])

    def value(vector):
        variances = np.exp(vector)
        return evidence(statistics, variances[:-3], variances[-3], output, variances[-2:])

    everything = np.vstack([F, *rows])
    variances = np.concatenate([np.full(N, noise[output]), *(one / precision for one in of_derivatives)])
    covariance = (everything * prior[:, output]) @ everything.T + np.diag(variances)
    observed = np.concatenate([y[:, output], *targets[..., output]])
    result = value(start)
    assert result.log_evidence == pytest.approx(normal_log_density(covariance, observed), rel=1e-12)
    by_prior, by_noise = result.gradient()
    differences = central_differences(lambda vector: value(vector).log_evidence, start)
    found = [*by_prior, by_noise, *result.by_derivative_noise]
    np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-6)
    both = np.stack([of_derivatives, of_derivatives], axis=1)
    whole, first = (Posterior(statistics, prior, noise, both, n_columns=n) for n in (None, 4))
    assert first.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    np.testing.assert_allclose(first.weights, whole.weights[:4], rtol=1e-9)


@pytest.mark.usefixtures("algebra")
def test_a_weight_without_prior_variance_is_as_if_its_column_were_not_there(model):
    F, y, prior, noise = model
    prior = prior.copy()
    prior[3] = 0.0
    with_it = evidence(statistics_of(F, y), prior[:, 0], noise[0])
    without = evidence(statistics_of(np.delete(F, 3, axis=1), y), np.delete(prior[:, 0], 3), noise[0])
    assert with_it.log_evidence == pytest.approx(without.log_evidence, rel=1e-13)
    assert with_it.weights[3] == 0
    assert with_it.gradient()[0][3] == 0
    np.testing.assert_allclose(with_it.gradient()[1], without.gradient()[1], rtol=1e-10)
    by_prior, by_noise = np.random.default_rng(1).normal(size=(COLUMNS, 2)), np.array([0.5, -2.0])
    expected = without.information(np.delete(by_prior, 3, axis=0), by_noise)
    np.testing.assert_allclose(with_it.information(by_prior, by_noise), expected, rtol=1e-10)


@pytest.mark.usefixtures("algebra")
def test_the_step_of_the_spectrum_never_lowers_the_evidence(model):
    F, y, prior, noise = model
    statistics, pairs = statistics_of(F, y), np.array([0, 1, 1, 2, 2, 3, 3])
    values, first = [], Posterior(statistics, prior, noise).log_evidence
    for _ in range(30):
        prior, noise, value = spectrum_step(statistics, prior, noise, pairs)
        values.append(value)
    assert values[0] == pytest.approx(first, rel=1e-12)
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0] + 0.1
    np.testing.assert_array_equal(prior[1::2], prior[2::2])


@pytest.mark.usefixtures("algebra")
def test_draws_have_the_posterior_mean_and_covariance(model):
    F, y, prior, noise = model
    posterior = Posterior(statistics_of(F, y), prior, noise)
    draws = posterior.sample_weights(20_000, np.random.RandomState(0))
    for output in range(2):
        covariance = posterior.covariance(output)
        deviation = draws[:, output].mean(axis=1) - posterior.weights[:, output]
        assert np.abs(deviation / np.sqrt(np.diag(covariance) / 20_000)).max() < 4.5
        assert np.abs(np.cov(draws[:, output]) - covariance).max() < 0.05 * covariance.max()


@pytest.mark.usefixtures("algebra")
def test_inexact_statistics_fail_clearly(model):
    F, y, prior, _ = model
    gram = F.T @ F - 1e3 * np.eye(COLUMNS)
    with pytest.raises(NotPositiveDefiniteError, match=r"noise_variance=1e-08. Raise the noise variance"):
        evidence(LinearStatistics(gram, F.T @ y, (y**2).sum(axis=0), float(N)), prior[:, 0], 1e-8)


def test_inexactness_compares_rounding_with_the_prior(model):
    F, y, _, noise = model
    statistics = statistics_of(F, y, rounding=1e-6)
    prior = np.array([50.0, 0.3, *np.full(COLUMNS - 2, 0.1)])  # the first is the constant, which does not count
    assert inference.inexactness(statistics, prior, noise[0]) == pytest.approx(1e-6 * N * 0.3 / noise[0])
    assert inference.inexactness(statistics, prior[:1], noise[0]) == 0.0


@pytest.mark.usefixtures("algebra")
def test_whitened_columns_have_the_posterior_variances_as_squared_norms(model):
    F, y, prior, noise = model
    posterior = Posterior(statistics_of(F, y), prior, noise)
    for output in range(2):
        expected = np.einsum("ni,ij,nj->n", F, posterior.covariance(output), F)
        np.testing.assert_allclose((posterior.whiten(F, output) ** 2).sum(axis=0), expected, rtol=1e-10)
        np.testing.assert_array_equal(posterior.factor(output).lower, posterior.factors[output])


@pytest.mark.parametrize("n_columns", [1, 4])
def test_the_first_columns_alone_are_the_marginal_of_all(model, n_columns):
    F, y, prior, noise = model
    whole = Posterior(statistics_of(F, y), prior, noise)
    first = Posterior(statistics_of(F, y), prior, noise, n_columns=n_columns)
    assert first.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    np.testing.assert_allclose(first.weights, whole.weights[:n_columns], rtol=1e-10)
    for output in range(2):
        expected = whole.covariance(output)[:n_columns, :n_columns]
        np.testing.assert_allclose(first.covariance(output), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.usefixtures("algebra")
def test_a_posterior_can_be_pickled(model):
    F, y, prior, noise = model
    posterior = Posterior(statistics_of(F, y), prior, noise)
    restored = pickle.loads(pickle.dumps(posterior))
    np.testing.assert_array_equal(restored.weights, posterior.weights)
    np.testing.assert_allclose(restored.covariance(1), posterior.covariance(1), rtol=1e-12)


def test_the_algebra_is_made_once_and_stays_out_of_pickles(model, monkeypatch):
    F, y, prior, noise = model
    made = []

    def make(gram, device):
        made.append(device)
        return inference_make(gram)

    inference_make = inference.make_algebra
    monkeypatch.setattr(inference, "make_algebra", make)
    statistics = statistics_of(F, y, device="cuda")
    Posterior(statistics, prior, noise)
    spectrum_step(statistics, prior, noise, np.arange(COLUMNS))
    assert made == ["cuda"]
    restored = pickle.loads(pickle.dumps(statistics))
    assert "algebra" not in vars(restored)
    np.testing.assert_array_equal(restored.gram, statistics.gram)
    assert restored.device == "cuda"


@pytest.mark.gpu
@pytest.mark.parametrize("device", DEVICES[1:])
def test_many_columns_on_a_device_equal_those_on_the_cpu(device):
    check_device(device)
    rng = np.random.default_rng(0)
    F, y = rng.normal(size=(2000, 1200)), rng.normal(size=(2000, 2))
    prior, noise = rng.uniform(0.2, 2, (1200, 2)), np.array([0.3, 0.05])
    statistics = [statistics_of(F, y), statistics_of(F, y, device=device)]
    expected, found = (evidence(each, prior[:, 1], noise[1], 1) for each in statistics)
    assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-11)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.gradient()[0], expected.gradient()[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.gradient()[1], expected.gradient()[1], rtol=1e-9)
