"""What predictions of few rows are to hold, against dense processes; what does not yet is marked so, strictly.

Each mark goes when its promise is kept: a test that passes in spite of it is an error.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from torusgp import TableModel, TorusGPRegressor

pytestmark = pytest.mark.slow
WIDTH = 1.96  # standard deviations on each side of intervals of 95 %


def not_yet(reason):
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)


def fit(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TorusGPRegressor("squared_exponential", **options).fit(X, y)


class Dense:
    """A process with a squared-exponential kernel and a constant, by its formula.

    Hyperparameters are logarithms: length scales, variance of the function, variance of the noise.
    """

    def __init__(self, X, y, broad):
        self.X, self.y, self.broad = X, y, broad  # variance of the constant

    def kernel(self, A, B, theta):
        scaled = (A[:, None] - B[None]) / np.exp(theta[:-2])
        return np.exp(theta[-2] - 0.5 * (scaled**2).sum(axis=2)) + self.broad

    def factor(self, theta):
        covariance = self.kernel(self.X, self.X, theta) + np.exp(theta[-1]) * np.eye(len(self.y))
        return cho_factor(covariance, lower=True)

    def evidence(self, theta):
        factor = self.factor(theta)
        logarithm = np.log(np.diag(factor[0])).sum() + 0.5 * len(self.y) * np.log(2 * np.pi)
        return -0.5 * self.y @ cho_solve(factor, self.y) - logarithm

    def predict(self, points, theta):
        factor, cross = self.factor(theta), self.kernel(points, self.X, theta)
        variance = np.exp(theta[-2]) + self.broad - np.einsum("ij,ji->i", cross, cho_solve(factor, cross.T))
        return cross @ cho_solve(factor, self.y), np.maximum(variance, 0.0)

    def learned(self, start):
        """Hyperparameters of the largest evidence near those that are true."""
        found = minimize(lambda theta: -self.evidence(theta), start, method="L-BFGS-B", options={"maxiter": 40},
                         bounds=[(one - 2.5, one + 2.5) for one in start])  # fmt: skip
        return found.x

    def sampled(self, centre, rng, n_steps=3000):
        """Hyperparameters from their posterior under a normal prior of standard deviation 2, by Metropolis' walk."""
        theta, width, kept = centre.copy(), 0.5, []
        value = self.evidence(theta)
        for step in range(n_steps):
            other = theta + width * rng.normal(size=len(theta))
            new = self.evidence(other) - np.sum((other - centre) ** 2) / 8
            accepted = np.log(rng.uniform()) < new - value
            theta, value = (other, new) if accepted else (theta, value)
            if step < n_steps // 3:  # the width is settled before samples are kept
                width *= np.exp(0.05 * (accepted - 0.3))
            elif step % 25 == 0:
                kept.append(theta.copy())
        return kept

    def mixture(self, points, samples):
        means, variances = (np.array(one) for one in zip(*(self.predict(points, one) for one in samples), strict=True))
        return means.mean(axis=0), np.sqrt(variances.mean(axis=0) + means.var(axis=0))


def drawn(rng, X, points, length_scale, noise):
    """Targets from the family that is fitted, and the function at points."""
    places = np.vstack([X, points])
    scaled = (places[:, None] - places[None]) / length_scale
    covariance = np.exp(-0.5 * (scaled**2).sum(axis=2)) + 1e-9 * np.eye(len(places))
    function = np.linalg.cholesky(covariance) @ rng.normal(size=len(places))
    return function[: len(X)] + noise * rng.normal(size=len(X)), function[len(X) :]


class TestComponentsEnough:
    """With few rows "auto" has as many components as the kernel needs."""

    @pytest.mark.parametrize(
        ("dimension", "length_scales"),
        [
            pytest.param(
                1, (0.3, 0.5, 1.0), marks=not_yet("3 of 40 errors are 1.11 to 1.22 times those of the dense process")
            ),
            pytest.param(2, (0.3, 0.5), marks=not_yet("components stop at four a row, and the signal counts as noise")),
            pytest.param(3, (0.3, 0.5, 1.0), marks=not_yet("components stop at four a row, and the signal is noise")),
        ],
    )
    def test_errors_and_evidence_are_those_of_the_dense_process(self, dimension, length_scales):
        kept, n_fits = 0, 40
        for seed in range(n_fits):
            rng = np.random.default_rng([dimension, seed])
            n, length_scale = int(rng.choice([30, 60, 120, 250])), float(rng.choice(length_scales))
            noise = float(rng.choice([0.01, 0.1]))
            X, points = rng.uniform(size=(n, dimension)), rng.uniform(size=(200, dimension))
            y, function = drawn(rng, X, points, length_scale, noise)
            model = fit(X, y)
            dense = Dense(X, y - y.mean(), 100 * y.var())
            theta = dense.learned(np.log([*[length_scale] * dimension, 1.0, noise**2]))
            errors = [
                np.sqrt(np.mean((mean - function) ** 2))
                for mean in (model.predict(points), y.mean() + dense.predict(points, theta)[0])
            ]
            close = model.log_marginal_likelihood_ > dense.evidence(theta) - 2.0
            kept += bool(errors[0] <= 1.1 * errors[1] and close)
        assert kept >= 0.95 * n_fits


def repeated(rng, n, dimension, distinct):
    """Inputs of which only so many are different."""
    places = rng.uniform(size=(distinct, dimension))
    return places[np.r_[np.arange(distinct), rng.integers(distinct, size=n - distinct)]]


class TestIntegration:
    """Predictions integrate over hyperparameters as a long chain under the same prior does."""

    @pytest.mark.parametrize(
        ("n", "dimension", "distinct"),
        [
            pytest.param(20, 2, 10, marks=not_yet("intervals hold .887, those of the chain .959")),
            (12, 1, 12),
            pytest.param(30, 2, 15, marks=not_yet("intervals hold .917, those of the chain .952")),
        ],
    )
    def test_intervals_hold_what_those_of_a_chain_do(self, n, dimension, distinct):
        inside, n_sets = [], 60
        for seed in range(n_sets):
            rng = np.random.default_rng([n, seed])
            X, points = repeated(rng, n, dimension, distinct), rng.uniform(size=(20, dimension))
            y, function = drawn(rng, X, points, 0.4, 0.05)
            mean, std = fit(X, y).predict(points, return_std=True, include_noise=False)
            dense = Dense(X, y - y.mean(), 100 * y.var())
            centre = np.log([*[0.25] * dimension, y.var(), 0.1 * y.var()])
            other, other_std = dense.mixture(points, dense.sampled(centre, rng))
            inside.append(
                [np.abs(mean - function) < WIDTH * std, np.abs(other + y.mean() - function) < WIDTH * other_std]
            )
        ours, chain = np.mean(inside, axis=(0, 2))
        assert ours == pytest.approx(chain, abs=0.03)

    @not_yet("points of the integral are spread along coordinates, whose order they follow")
    @pytest.mark.parametrize("seed", range(3))
    def test_the_order_of_the_inputs_changes_nothing(self, seed):
        rng = np.random.default_rng(seed)
        X, points = repeated(rng, 20, 2, 10), rng.uniform(size=(20, 2))
        y, _ = drawn(rng, X, points, 0.4, 0.2)
        mean, std = fit(X, y).predict(points, return_std=True)
        other, other_std = fit(X[:, ::-1], y).predict(points[:, ::-1], return_std=True)
        np.testing.assert_array_less(np.abs(mean - other) / std, 1e-3)
        np.testing.assert_allclose(other_std, std, rtol=1e-3)

    @not_yet("from 301 rows on nothing is integrated")
    def test_what_is_integrated_fades_with_the_number_of_rows(self):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            X, points = rng.uniform(size=(303, 2)), rng.uniform(size=(50, 2))
            y, _ = drawn(rng, X, points, 0.4, 0.3)
            stds = [
                np.sqrt(np.mean(fit(X[:n], y[:n]).predict(points, return_std=True, include_noise=False)[1] ** 2))
                for n in (299, 300, 301, 302)
            ]
            np.testing.assert_array_less(np.abs(np.diff(np.log(stds))), 0.03)


class TestIntervalsOfObservations:
    @pytest.mark.parametrize(
        "noise_by", [["time"], pytest.param(None, marks=not_yet("noise that grows is not looked for unless asked"))]
    )
    def test_forecasts_where_noise_grows(self, noise_by):
        inside = []
        for seed in range(40):
            rng = np.random.default_rng(seed)
            days = np.arange(360)
            y = 3 * np.sin(2 * np.pi * days / 7) + (0.2 + 1.8 * days / 300) * rng.normal(size=360)
            frame = pd.DataFrame({"date": pd.date_range("2023-01-02", periods=360, freq="D"), "y": y})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = TableModel("y", calendar={"date": ["week"]}, noise_by=noise_by, terms="time")
                model.fit(frame[:300])
                low, high = model.forecast(60, quantiles=[0.025, 0.975]).to_frame().to_numpy()[:, -2:].astype(float).T
            inside.append((low < y[300:]) & (y[300:] < high))
        assert 0.9 <= np.mean(inside) <= 0.97

    @not_yet("intervals are normal, with a noise variance that is too sure")
    @pytest.mark.parametrize("n", [2, 3, 5, 10])
    def test_white_noise_of_few_targets(self, n):
        inside = []
        for seed in range(200):
            rng = np.random.default_rng([n, seed])
            X, points = rng.uniform(size=(n, 1)), rng.uniform(size=(20, 1))
            mean, std = fit(X, rng.normal(size=n)).predict(points, return_std=True)
            inside.append(np.abs(rng.normal(size=20) - mean) < WIDTH * std)
        assert 0.9 <= np.mean(inside) <= 0.97
