"""The likelihood of the moments against its dense definition."""

import numpy as np
import pandas as pd
import pytest

from torusgp import Circle, CorrelatedNoise, Line, Slope, TorusGPRegressor
from torusgp.engine import moments as module
from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.inference import LinearStatistics, evidence
from torusgp.engine.moments import RANK_THRESHOLD, Moments, noise_gram
from torusgp.engine.series import Autocovariance, TimeGrid, parzen
from torusgp.fitting.noise_process import log_density

N_LAGS = 600


def ar1(n_lags=N_LAGS, coefficient=0.8, variance=0.3):
    """Autocovariance of a first-order autoregression."""
    return variance * coefficient ** np.arange(n_lags)


def series(n_samples=500, seed=0, gaps=False):
    """Times in whole hours, and a day and a week with autoregressive noise."""
    rng = np.random.default_rng(seed)
    cells = np.sort(rng.choice(560, n_samples, replace=False)) if gaps else np.arange(n_samples)
    noise = np.linalg.cholesky(ar1()[np.abs(cells[:, None] - cells)]) @ rng.normal(size=n_samples)
    time = cells.astype(float)
    return time, 3 + 1.5 * np.sin(2 * np.pi * time / 24) + 0.5 * np.cos(2 * np.pi * time / 7) + noise


def fitted_model(time, y, noise, noise_scale=None, **options):
    frame = pd.DataFrame({"time": time})
    options = {"kernel": Circle("time", 24.0) + Circle("time", 7.0), "n_components": 21, "learn": ()} | options
    return TorusGPRegressor(noise=noise, **options).fit(frame, y, noise_scale=noise_scale)


def dense_posterior(model, time, y, at, covariance, scale=1.0):
    """Mean and covariance of p(f | F'Py), from its definition."""
    fitted = model.fitted_

    def columns(times):
        X = times[:, None]
        return np.hstack([basis_columns(fitted.phases(X), fitted.index_set.frequencies), fitted.plain(X)])

    precision = np.broadcast_to(1 / np.square(scale), len(time))
    F, F_at, prior = columns(time), columns(at), np.diag(fitted.prior_variances[:, 0])
    weighted = F * precision[:, None]
    G, S = F.T @ weighted, weighted.T @ covariance @ weighted
    gain = np.linalg.solve(G @ prior @ G + S, G @ prior @ F_at.T).T
    mean = fitted.offset[0] + gain @ (weighted.T @ (y - fitted.offset[0]))
    return mean, F_at @ prior @ F_at.T - gain @ G @ prior @ F_at.T


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    "kernel", [Circle("time", 24.0) + Circle("time", 7.0), Circle("time", 24.0) * Circle("time", 7.0) + Slope("time")]
)
@pytest.mark.parametrize("is_scaled", [False, True])
def test_posterior_is_that_of_the_function_given_the_moments(kernel, gaps, is_scaled):
    time, y = series(gaps=gaps)
    scale = np.random.default_rng(1).uniform(0.5, 2, len(y)) if is_scaled else None
    model = fitted_model(time, y, CorrelatedNoise(autocovariance=ar1()), scale, kernel=kernel)
    at, factor = np.linspace(0, 700, 40), np.ones(len(y)) if scale is None else scale
    covariance = ar1()[np.abs(time[:, None] - time).astype(int)] * np.outer(factor, factor)
    mean, spread = dense_posterior(model, time, y, at, covariance, factor)
    found, found_spread = model.predict(pd.DataFrame({"time": at}), return_cov=True, include_noise=False)
    assert np.abs(found - mean).max() < 1e-8
    assert np.abs(found_spread - spread).max() < 1e-8


@pytest.mark.parametrize("held", [1, 2**26])
@pytest.mark.parametrize("n_columns", [6, 7])
def test_the_covariance_of_moments_is_that_of_the_matrix(n_columns, held, monkeypatch):
    """Whether columns are transformed all at once or a few at a time, and whatever rows are computed at once."""
    monkeypatch.setattr(module, "_HELD_ENTRIES", held)
    monkeypatch.setattr(module, "_BATCH", 3)
    monkeypatch.setattr(module, "_BLOCK_ROWS", 16)
    rng, asked = np.random.default_rng(0), []
    F, time = rng.normal(size=(50, n_columns)), np.sort(rng.choice(80, 50, replace=False)).astype(float)

    def columns(rows):
        asked.append(rows.stop - rows.start)
        return F[rows]

    found = noise_gram(columns, n_columns, Autocovariance(parzen(20), nugget=0.1), TimeGrid.of(time))
    distance = np.abs(time[:, None] - time).astype(int)
    covariance = np.append(parzen(20), np.zeros(80))[distance] + 0.1 * np.eye(50)
    np.testing.assert_allclose(found, F.T @ covariance @ F, rtol=1e-10, atol=1e-10)
    n_passes = sum(range(1, -(-n_columns // 3) + 1))  # every batch of columns, and those before it
    assert asked == [16, 16, 16, 2] * (1 if held > 1 else n_passes)


@pytest.mark.parametrize("unit", [1.0, 1e-7])
@pytest.mark.parametrize("n_repeated", [0, 2])
def test_moments_are_a_normal_density_of_the_weights(n_repeated, unit):
    """Also where columns depend on each other, in any unit."""
    rng = np.random.default_rng(0)
    F = unit * rng.normal(size=(60, 5))
    F, y, half = np.hstack([F, F[:, :n_repeated]]), rng.normal(size=60), rng.normal(size=(60, 60))
    G, S, m = F.T @ F, F.T @ (half @ half.T) @ F, F.T @ y
    found, inverse = Moments.of(G, m, S), np.linalg.pinv(S, rcond=1e-9, hermitian=True)
    np.testing.assert_allclose(found.precision, G @ inverse @ G, rtol=1e-7, atol=1e-7 * np.abs(found.precision).max())
    np.testing.assert_allclose(found.linear_term, G @ inverse @ m, rtol=1e-7)
    assert found.square == pytest.approx(m @ inverse @ m, rel=1e-7)
    assert found.n_values == 5
    variances = rng.uniform(0.5, 2.0, F.shape[1]) / unit**2
    expected = np.linalg.inv(found.precision + np.diag(1 / variances))
    mean, root = found.posterior(variances)
    np.testing.assert_allclose(root @ root.T, expected, rtol=1e-7)
    np.testing.assert_allclose(mean, expected @ found.linear_term, rtol=1e-8)


def test_white_noise_gives_the_posterior_and_evidence_of_independent_rows():
    time, y = series()
    white = fitted_model(time, y, "white", noise_variance=0.3)
    known = fitted_model(time, y, CorrelatedNoise(autocovariance=[0.3]))
    at = pd.DataFrame({"time": np.linspace(0, 700, 40)})
    for one, other in zip(white.predict(at, return_std=True), known.predict(at, return_std=True), strict=True):
        assert np.abs(one - other).max() < 1e-8
    assert known.log_marginal_likelihood_ == pytest.approx(white.log_marginal_likelihood_, abs=1e-6)


def test_columns_that_depend_on_each_other_have_moments_in_a_basis():
    """Lines have more components than rows can tell apart: moments are projections onto what rows show."""
    time, y = series(120)
    model = fitted_model(
        time, y, CorrelatedNoise(autocovariance=ar1()), kernel=Line("time", length_scale=60.0), n_components=41
    )
    fitted, at = model.fitted_, np.linspace(-30, 150, 40)
    F, F_at = (basis_columns(fitted.phases(one[:, None]), fitted.index_set.frequencies) for one in (time, at))
    left, singular, _ = np.linalg.svd(F, full_matrices=False)
    U = left[:, singular**2 > RANK_THRESHOLD * singular[0] ** 2]
    assert 5 < U.shape[1] < F.shape[1]
    prior, offset = np.diag(fitted.prior_variances[:, 0]), fitted.offset[0]
    noise = ar1()[np.abs(time[:, None] - time).astype(int)]
    whole = U.T @ (F @ prior @ F.T + noise) @ U
    gain = np.linalg.solve(whole, U.T @ F @ prior @ F_at.T).T
    variance = np.diag(F_at @ prior @ F_at.T - gain @ U.T @ F @ prior @ F_at.T)
    found, std = model.predict(pd.DataFrame({"time": at}), return_std=True, include_noise=False)
    assert np.abs(found - offset - gain @ (U.T @ (y - offset))).max() < 1e-6
    assert np.abs(std**2 - variance).max() < 1e-6


def test_evidence_is_a_density_of_the_rows():
    """The moments follow the model, and what else is in the rows follows the noise given them."""
    time, y = series(60)
    model = fitted_model(time, y, CorrelatedNoise(autocovariance=ar1()), n_components=9, intercept=False)
    fitted = model.fitted_
    F = basis_columns(fitted.phases(time[:, None]), fitted.index_set.frequencies)
    noise = ar1()[np.abs(time[:, None] - time).astype(int)]
    S, G, prior = F.T @ noise @ F, F.T @ F, np.diag(fitted.prior_variances[:, 0])

    def normal(x, covariance):
        return -0.5 * (x @ np.linalg.solve(covariance, x) + np.linalg.slogdet(2 * np.pi * covariance)[1])

    expected = normal(y, noise) + normal(F.T @ y, G @ prior @ G + S) - normal(F.T @ y, S)
    assert model.log_marginal_likelihood_ == pytest.approx(expected, abs=1e-6)


def test_moments_alone_tell_how_large_their_noise_is():
    """What else is in the rows is a density of noise alone: the function in it would make any noise too small."""
    time, y = series(300)
    F = basis_columns(2 * np.pi * time[:, None] / 24, np.arange(6)[:, None])
    noise = ar1()[np.abs(time[:, None] - time).astype(int)]
    S, G, m, prior = F.T @ noise @ F, F.T @ F, F.T @ y, np.ones(F.shape[1])
    rows = LinearStatistics(G, m[:, None], np.array([y @ y]), 300.0)
    linear = Moments.of(G, m, S, log_density=-700.0).linear(rows, 0.3)

    def normal(covariance):
        return -0.5 * (m @ np.linalg.solve(covariance, m) + np.linalg.slogdet(2 * np.pi * covariance)[1])

    for factor in (1.0, 2.5):
        expected = -700.0 + normal(G @ G + factor * S) - normal(S)
        assert evidence(linear, prior, 0.3 * factor).log_evidence == pytest.approx(expected, abs=1e-6)


def test_density_of_noise_is_that_of_a_normal_vector():
    time, y = series(60, gaps=True)
    cells = time.astype(int)
    covariance = ar1()[np.abs(cells[:, None] - cells)]
    expected = -0.5 * (y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(2 * np.pi * covariance)[1])
    found, square = log_density(y, Autocovariance(ar1()), TimeGrid.of(time, N_LAGS))
    assert square == pytest.approx(y @ np.linalg.solve(covariance, y))
    assert found == pytest.approx(expected, rel=1e-10)
