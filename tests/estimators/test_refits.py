"""Fits to other rows, from where an earlier fit has ended."""

import numpy as np
import pytest

from torusgp import Category, Circle, Line, TorusGPRegressor


def make_series(n, seed=0, rho=0.8):
    rng = np.random.default_rng(seed)
    t = np.arange(float(n))
    x = np.clip(np.cumsum(rng.normal(0, 0.3, n)) * 0.2, -2, 2)
    error = rng.normal(0, 0.5, n)
    for i in range(1, n):
        error[i] += rho * error[i - 1]
    return np.column_stack([t % 24, x]), 3 * np.cos(2 * np.pi * t / 24) + x**2 + error, t


KERNEL = Circle(0, 24) + Line(1, range=(-2.0, 2.0))


@pytest.mark.parametrize("noise", ["white", "correlated"])
def test_the_same_rows_give_the_same_fit(noise):
    X, y, t = make_series(600, rho=0.8 if noise == "correlated" else 0.0)
    time = {"time": t} if noise == "correlated" else {}
    model = TorusGPRegressor(KERNEL, noise=noise, n_components=61).fit(X, y, **time)
    again = model.refit(X, y, **time)
    assert again is not model
    mean, std = model.predict(X, return_std=True)
    mean_again, std_again = again.predict(X, return_std=True)
    np.testing.assert_allclose(mean_again, mean, atol=0.1 * std.min())
    np.testing.assert_allclose(std_again, std, rtol=0.05)


@pytest.mark.parametrize("noise", ["white", "correlated"])
def test_more_rows_give_what_a_fit_from_the_beginning_does(noise):
    X, y, t = make_series(900, seed=1, rho=0.8 if noise == "correlated" else 0.0)
    time = [{"time": t[:n]} if noise == "correlated" else {} for n in (700, 900)]
    model = TorusGPRegressor(KERNEL, noise=noise).fit(X[:700], y[:700], **time[0])
    warm = model.refit(X, y, **time[1])
    whole = TorusGPRegressor(KERNEL, noise=noise).fit(X, y, **time[1])
    mean, std = whole.predict(X, return_std=True)
    mean_warm, std_warm = warm.predict(X, return_std=True)
    np.testing.assert_allclose(mean_warm, mean, atol=0.15 * std.min())
    np.testing.assert_allclose(std_warm, std, rtol=0.05)
    assert model.fitted_.statistics.n_samples == 700  # the model itself stays as it is


def test_a_learned_set_is_kept_or_grows():
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 1, (700, 4))
    y = np.cos(2 * np.pi * (X[:, 0] + X[:, 1])) + np.sin(2 * np.pi * (X[:, 2] - X[:, 3])) + rng.normal(0, 0.2, 700)
    model = TorusGPRegressor(period=1.0, index_set="learned", n_components=201).fit(X[:600], y[:600])
    warm = model.refit(X, y)
    new = rng.uniform(0, 1, (200, 4))
    truth = np.cos(2 * np.pi * (new[:, 0] + new[:, 1])) + np.sin(2 * np.pi * (new[:, 2] - new[:, 3]))
    errors = [np.sqrt(np.mean((one.predict(new) - truth) ** 2)) for one in (model, warm)]
    assert errors[1] < 1.1 * errors[0]


def test_noise_that_changes():
    rng = np.random.default_rng(3)
    t = np.arange(1200.0)
    scale = np.where(t % 24 < 12, 0.2, 0.8)
    y = 3 * np.cos(2 * np.pi * t / 24) + scale * rng.normal(size=len(t))
    X = (t % 24)[:, None]
    model = TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24)).fit(X[:1000], y[:1000])
    warm, whole = model.refit(X, y), TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24)).fit(X, y)
    stds = [one.predict(X[:24], return_std=True)[1] for one in (warm, whole)]
    np.testing.assert_allclose(stds[0], stds[1], rtol=0.05)


def test_other_likelihoods():
    rng = np.random.default_rng(4)
    t = np.arange(500.0)
    rate = np.exp(1 + np.cos(2 * np.pi * t / 24))
    y = rng.poisson(rate).astype(float)
    X = (t % 24)[:, None]
    model = TorusGPRegressor(Circle(0, 24), likelihood="poisson").fit(X[:400], y[:400])
    np.testing.assert_allclose(
        model.refit(X, y).predict(X[:24]),
        TorusGPRegressor(Circle(0, 24), likelihood="poisson").fit(X, y).predict(X[:24]),
        rtol=0.02,
    )


def test_many_more_rows_are_fitted_from_the_beginning():
    X, y, _ = make_series(400, rho=0.0)
    kernel = Circle(0, 24) + Line(1)  # whose range a refit would keep
    model = TorusGPRegressor(kernel, n_components=41).fit(X[:100], y[:100])
    whole = TorusGPRegressor(kernel, n_components=41).fit(X, y)
    np.testing.assert_array_equal(model.refit(X, y).coef_, whole.coef_)


def test_rows_beyond_the_fit_are_refused():
    X, y, _ = make_series(120, rho=0.0)
    model = TorusGPRegressor(Circle(0, 24) + Line(1, range=(-2.0, 2.0)), n_components=21).fit(X[:100], y[:100])
    X[110, 1] = 3.0
    with pytest.raises(ValueError, match="range"):
        model.refit(X, y)
    frame = np.column_stack([X[:, :1].astype(object), np.where(X[:, 0] < 12, "a", "b")])
    category = TorusGPRegressor(Circle(0, 24) + Category(1), n_components=21).fit(frame[:100], y[:100])
    frame[110, 1] = "c"
    with pytest.raises(ValueError, match="'c'"):
        category.refit(frame, y)
