"""Noise whose variance changes with the inputs."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from torusgp import Circle, Line, Slope, TorusGPRegressor
from torusgp.fitting.correlated_fitter import Residuals


def make_data(n, ratio, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 24, (n, 1))
    f = np.sin(2 * np.pi * X[:, 0] / 24)
    std = 0.1 * np.exp(0.5 * np.log(ratio) * (1 + np.cos(2 * np.pi * X[:, 0] / 24)))
    return X, f + std * rng.normal(size=n), f, std


@pytest.mark.parametrize("ratio", [10.0, 1.0])
def test_the_log_loss_is_that_of_the_truth(ratio):
    X, y, f, std = make_data(6000, ratio)
    train, test = slice(0, 1500), slice(1500, None)
    model = TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24)).fit(X[train], y[train])
    found = model.log_predictive_density(X[test], y[test]).mean()
    assert found > norm.logpdf(y[test], f[test], std[test]).mean() - 0.02
    if ratio == 1.0:
        plain = TorusGPRegressor(Circle(0, 24)).fit(X[train], y[train])
        assert found > plain.log_predictive_density(X[test], y[test]).mean() - 0.005
    _, predicted = model.predict(np.array([[0.0], [12.0]]), return_std=True)
    np.testing.assert_allclose(predicted, [0.1 * ratio, 0.1], rtol=0.15)


def test_every_prediction_knows_it_and_files_hold_it(tmp_path):
    X, y, _, _ = make_data(400, 10.0)
    model = TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24)).fit(X, y)
    points = np.array([[0.0], [6.0], [12.0]])
    mean, std = model.predict(points, return_std=True)
    _, covariance = model.predict(points, return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), std)
    quantiles = model.predict_quantiles(points)
    np.testing.assert_allclose((quantiles[:, 2] - quantiles[:, 0]) / 2, 1.959964 * std, rtol=1e-5)
    drawn = model.sample_y(points, 4000, 0, include_noise=True)
    np.testing.assert_allclose(drawn.std(axis=1), std, rtol=0.1)
    _, without = model.predict(points, return_std=True, include_noise=False)
    assert (without < std / 2).all()
    model.save(tmp_path / "model")
    again = TorusGPRegressor.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict(points, return_std=True)[1], std)
    np.testing.assert_allclose(mean, again.predict(points))
    model.noise_kernel = None
    model.fit(X, y)
    assert not hasattr(model, "noise_")


def test_known_scales_and_students_noise_go_with_it():
    X, y, _, _ = make_data(300, 10.0)
    scale = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    known = TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24) + Line(0)).fit(X, y, noise_scale=scale)
    assert known.predict(X[:2], return_std=True)[1].shape == (2,)
    rng = np.random.default_rng(2)
    tails = y + 0.3 * rng.standard_t(3, 300) * (1 + np.cos(2 * np.pi * X[:, 0] / 24))
    model = TorusGPRegressor(Circle(0, 24), likelihood="student_t", noise_kernel=Circle(0, 24)).fit(X, tails)
    plain = TorusGPRegressor(Circle(0, 24), likelihood="student_t").fit(X, tails)
    gain = model.log_predictive_density(X, tails).mean() - plain.log_predictive_density(X, tails).mean()
    assert gain > 0.1


@pytest.mark.parametrize(("kind", "likelihood"), [("chunks", "student_t"), ("dask", "normal")])
def test_sources_that_can_be_read_again_give_what_arrays_give(kind, likelihood, monkeypatch):
    """Also where the rows are more than the sample that shows where to start."""
    monkeypatch.setattr("torusgp.estimators.noise.SAMPLE_ROWS", 300)
    X, y, _, _ = make_data(600, 10.0)
    X = np.column_stack([X, X[:, 0] / 24])
    kernel, noise_kernel = Circle(0, 24), Circle(0, 24) + Slope(1, variance=0.1)
    arrays = TorusGPRegressor(kernel, likelihood=likelihood, noise_kernel=noise_kernel).fit(X, y)
    model = TorusGPRegressor(kernel, likelihood=likelihood, noise_kernel=noise_kernel)
    if kind == "dask":
        dask = pytest.importorskip("dask.array")
        model.fit(dask.from_array(X, chunks=(200, 2)), dask.from_array(y, chunks=200))
    else:
        model.fit([(X[start : start + 200], y[start : start + 200]) for start in (0, 200, 400)])
    points = np.column_stack([[0.0, 6.0, 12.0], np.array([0.0, 6.0, 12.0]) / 24])
    for ours, theirs in zip(
        model.predict(points, return_std=True), arrays.predict(points, return_std=True), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0.02, atol=0.01)


def test_files_may_have_more_inputs_for_the_noise(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, _, _ = make_data(300, 10.0)
    rng = np.random.default_rng(0)
    day = rng.uniform(0, 24, 300)
    frame = pandas.DataFrame({"day": day, "hour": X[:, 0], "y": y})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = TorusGPRegressor(Circle("day", 24), noise_kernel=Circle("hour", 24)).fit(tmp_path / "rows.csv", "y")
    assert list(model.feature_names_in_) == ["day", "hour"]
    _, std = model.predict(frame[["day", "hour"]][:5], return_std=True)
    assert std.shape == (5,)


def test_correlated_noise_may_change_too():
    """Noise of an autoregression whose size changes by a factor of ten over the day."""
    rng = np.random.default_rng(0)
    time = np.arange(1500.0)
    noise = np.empty(1500)
    noise[0] = rng.normal()
    for i in range(1, 1500):
        noise[i] = 0.8 * noise[i - 1] + 0.6 * rng.normal()
    scale = 0.3 * np.exp(0.5 * np.log(10) * np.cos(2 * np.pi * time / 24))
    y = np.sin(2 * np.pi * time / 24) + scale * noise
    X = time[:, None]
    circle = Circle(0, 24)
    model = TorusGPRegressor(circle, noise="correlated", noise_kernel=circle).fit(X[:-24], y[:-24])
    assert model.noise_process_ is not None
    _, std = model.predict(np.array([[0.0], [12.0]]), return_std=True)
    np.testing.assert_allclose(std, scale[[0, 12]], rtol=0.25)
    ahead, error = model.forecast(X[-24:], return_std=True)
    assert (np.abs(ahead - y[-24:]) < 4 * error).all()
    assert error[0] < 0.8 * model.predict(X[-24:-23], return_std=True)[1][0]  # the last rows tell it
    _, covariance = model.forecast(X[-24:], return_cov=True)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), error, rtol=1e-6)
    paths = model.sample_forecast(X[-24:], 2000, 0)
    np.testing.assert_allclose(paths.std(axis=1), error, rtol=0.1)


def test_turns_of_correlated_noise_settle_where_rows_are_worth_few():
    """1,200 rows count as about 60: what a fit follows of their noise must not make rows seem exact."""
    rng, time, lines = np.random.default_rng(1), np.arange(1200.0), []
    noise = np.zeros(1200)
    for i in range(1, 1200):
        noise[i] = 0.95 * noise[i - 1] + 0.31 * rng.normal()
    scale = 0.3 * np.exp(0.5 * np.log(10) * np.cos(2 * np.pi * time / 24))
    kernel = Circle(0, 24) * Circle(0, 168)
    model = TorusGPRegressor(
        kernel, noise="correlated", noise_kernel=kernel, n_components=81, verbose=lines.append
    ).fit(time[:, None], np.sin(2 * np.pi * time / 24) + scale * noise)
    changes = [float(line.split()[-1]) for line in lines if line.startswith("noise model")]
    assert len(changes) <= 3
    assert changes[1] < 0.5  # the first turn still took the noise for constant
    assert changes[2] < 0.05
    _, std = model.predict(time[:168, None], return_std=True)
    assert np.sqrt(np.mean(np.log(std**2 / scale[:168] ** 2) ** 2)) < 0.5


def test_what_is_not_known_of_the_function_is_no_noise():
    """Residuals of blocks left out are noise and errors of the function: the noise alone is told from them."""
    rng, variance = np.random.default_rng(0), 0.5
    uncertainty = np.repeat([0.0, 0.2, 3.0], 20_000)
    noise = np.sqrt(variance) * rng.normal(size=60_000)
    residuals = Residuals(noise + np.sqrt(uncertainty) * rng.normal(size=60_000), variance, (0.0, noise), uncertainty)
    found = residuals.noise_squares(variance).reshape(3, -1)
    np.testing.assert_allclose(found.mean(axis=1), variance, rtol=0.03)
    np.testing.assert_allclose(found[0], noise[:20_000] ** 2)
    assert (residuals.left_out[-20_000:] ** 2).mean() > 6 * variance


def test_rows_that_are_certain_do_not_take_over():
    """A shop sells nothing at night: the more the nights count, the more exact they seem to be."""
    rng, hours = np.random.default_rng(0), np.arange(3000.0)
    is_open = (hours % 24 >= 8) & (hours % 24 < 20)
    week = 20 + 8 * np.sin(2 * np.pi * hours / 168)
    y = np.where(is_open, week + rng.normal(size=3000), 0.0)
    X = pd.DataFrame({"hour": hours % 24, "time": hours})
    model = TorusGPRegressor(
        Circle("hour", 24) * Circle("time", 168), noise_kernel=Circle("hour", 24), n_components=401
    )
    with pytest.warns(UserWarning, match=r"5\d% of the rows are known nearly exactly"):
        model.fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - week)[is_open] ** 2)) < 1.0
    assert np.abs(mean[~is_open]).max() < 1.0
    assert np.median(std[~is_open]) < 0.3 * np.median(std[is_open])


def test_what_cannot_be_is_refused():
    X, y, _, _ = make_data(50, 1.0)
    with pytest.raises(ValueError, match="noise_kernel is for 'normal'"):
        TorusGPRegressor(Circle(0, 24), likelihood="poisson", noise_kernel=Circle(0, 24)).fit(X, np.ones(50))
    with pytest.raises(ValueError, match="must be an expression"):
        TorusGPRegressor(Circle(0, 24), noise_kernel="matern32").fit(X, y)
    model = TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24))
    with pytest.raises(ValueError, match="an iterator can be read once"):
        model.fit(iter([(X, y)]))
    with pytest.raises(ValueError, match="checkpoint is not possible with noise_kernel"):
        model.fit([(X, y)], checkpoint="never")
    with pytest.raises(ValueError, match="needs rows in memory"):
        TorusGPRegressor(Circle(0, 24), likelihood="log_normal", noise_kernel=Circle(0, 24)).fit([(X, y**2)])
    with pytest.raises(ValueError, match="one target at a time"):
        TorusGPRegressor(Circle(0, 24), noise_kernel=Circle(0, 24)).fit(X, np.column_stack([y, y]))
