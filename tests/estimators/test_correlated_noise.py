"""Regressors of rows whose noise is correlated in time, and their forecasts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter
from sklearn.base import clone

from torusgp import ARNoise, Category, Circle, CorrelatedNoise, Line, Slope, TorusGPRegressor
from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.series import Autocovariance, TimeGrid, summed_products
from torusgp.fitting import correlated_fitter
from torusgp.fitting.correlated_fitter import CorrelatedFitter, is_correlated
from torusgp.fitting.levels import find_levels
from torusgp.fitting.noise_process import Levels
from torusgp.fitting.prior import NOISE

WEEK = Circle("time", 7.0)


def weekly(n_rows=400, coefficient=0.7, seed=0):
    """Days, a weekly season of amplitude two, and autoregressive noise of variance one."""
    rng = np.random.default_rng(seed)
    noise = lfilter([np.sqrt(1 - coefficient**2)], [1, -coefficient], rng.normal(size=n_rows + 200))[200:]
    time = np.arange(float(n_rows))
    return pd.DataFrame({"time": time}), 5 + 2 * np.sin(2 * np.pi * time / 7) + noise


@pytest.fixture(scope="module")
def fitted():
    X, y = weekly()
    return TorusGPRegressor(WEEK, noise="correlated").fit(X, y)


def test_a_step_in_the_level_leaves_the_weekly_season():
    rng, time = np.random.default_rng(0), np.arange(800.0)
    season = 10 * np.sin(2 * np.pi * time / 7) + 20 * np.cos(2 * np.pi * time / 365.25)
    y = season + 3 * rng.normal(size=800) + 40 * (time >= 400)
    model = TorusGPRegressor(WEEK + Circle("time", 365.25), noise="correlated").fit(pd.DataFrame({"time": time}), y)
    effect, std = model.predict_parts(pd.DataFrame({"time": time[:7]}), return_std=True)
    truth = 10 * np.sin(2 * np.pi * time[:7] / 7)
    assert np.abs(effect[:, 0] - truth).max() < 1
    assert np.abs((effect[:, 0] - truth) / std[:, 0]).max() < 3
    assert std[:, 0].max() < 0.5


def test_a_step_that_only_the_first_fit_shows_is_given_up(monkeypatch):
    """Which a block that it predicts badly, left out of it, looks like."""
    X, y = weekly()
    before = TorusGPRegressor(WEEK, noise="correlated").fit(X, y)
    found = []

    def steps(*residuals_and_more):
        first = Levels(np.array([359.0]), np.array([360.0]), 4.0)
        found.append(find_levels(*residuals_and_more) if found else first)
        return found[-1]

    monkeypatch.setattr(correlated_fitter, "find_levels", steps)
    model = TorusGPRegressor(WEEK, noise="correlated").fit(X, y)
    assert found[1:] == [None]
    assert model.noise_process_.levels is None
    assert model.noise_variance_ == pytest.approx(before.noise_variance_, rel=0.05)
    np.testing.assert_allclose(model.predict(X), before.predict(X), atol=0.1)


def test_forecasts_go_on_from_the_level_after_a_step(tmp_path):
    """With intervals of the noise, which does not step; predictions of any time count the step as noise."""
    X, y = weekly(400, 0.5)
    y += 10 * (X["time"] >= 170)
    known, later = slice(350), slice(350, 400)
    for model in (
        TorusGPRegressor(WEEK, noise="correlated").fit(X[known], y[known]),
        TorusGPRegressor(WEEK, noise="correlated").fit(X[:165], y[:165]).refit(X[known], y[known]),
    ):
        assert np.array_equal(model.noise_process_.levels.starts, [170])
        mean, std = model.forecast(X[later], return_std=True)
        assert np.abs(y[later] - mean).mean() < 1.2
        assert 0.7 < std[0] < std[-1] < 1.2
        assert np.abs(model.predict(X[known]) - y[known]).max() < 2 * model.predict(X[:1], return_std=True)[1]
    model.save(tmp_path / "model.npz")
    again = TorusGPRegressor.load(tmp_path / "model.npz")
    assert np.array_equal(again.forecast(X[later]), mean)


def test_a_step_in_a_gap_may_be_anywhere_in_it():
    """Means go from one level to the other, and intervals hold both."""
    X, y = weekly(1000)
    y += 30 * (X["time"] >= 600)
    gap = ((X["time"] >= 590) & (X["time"] < 610)).to_numpy()
    model = TorusGPRegressor(WEEK, noise="correlated", n_components=21).fit(X[~gap], y[~gap])
    mean, std = model.forecast(X[gap], return_std=True)
    assert np.array_equal(model.noise_process_.levels.starts, [610])
    assert (np.abs(y[gap] - mean) < 1.96 * std).all()
    assert std[[0, -1]].max() < 0.6 * std.max() < 12


def test_targets_that_repeat_exactly_are_fitted():
    """With the least noise there is, not what rounding leaves."""
    time = np.arange(300.0)
    X, y = pd.DataFrame({"time": time}), np.where(time % 7 < 1, 1.0, 0.0)
    model = TorusGPRegressor(WEEK, noise="correlated").fit(X, y)
    assert model.noise_variance_ == pytest.approx(1e-8 * y.var(), rel=0.01)
    np.testing.assert_allclose(model.forecast(X + 300), np.where((time + 300) % 7 < 1, 1.0, 0.0), atol=1e-3)


def test_later_rows_may_share_their_time_or_lie_between_the_steps(fitted):
    later, y = [400.0, 401.0, 401.0, 401.5, 403.0], np.array([5.0, 6.0, 8.0, 7.0, 5.0])
    going_on = fitted.continue_from(pd.DataFrame({"time": later}), y)
    mean, std = going_on.forecast(pd.DataFrame({"time": [404.0]}), return_std=True)
    apart = fitted.continue_from(pd.DataFrame({"time": [400.0, 401.0, 403.0]}), np.array([5.0, 7.0, 5.0]))
    expected, expected_std = apart.forecast(pd.DataFrame({"time": [404.0]}), return_std=True)
    assert mean == pytest.approx(expected, abs=0.1)
    assert std == pytest.approx(expected_std, rel=0.05)


def test_what_was_computed_serves_wherever_the_series_goes_on(monkeypatch):
    X, y = weekly(300)
    model = TorusGPRegressor(WEEK, noise="correlated").fit(X[:200], y[:200])
    expected = model.forecast(X[200:201])
    assert model.fitted_.mixture is not None
    monkeypatch.setattr("torusgp.fitting.fitted.find_mixture", None)
    for known in (200, 250):
        found = model.continue_from(X[:known], y[:known]).forecast(X[known : known + 1])
        if known == 200:
            np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_what_is_not_known_of_the_function_is_no_correlation_of_the_noise(memory):
    n_rows = 2000
    time = np.arange(float(n_rows))
    columns = 0.05 * basis_columns(2 * np.pi * time[:, None] / n_rows, np.arange(101)[:, None])
    unknown = summed_products(columns, TimeGrid.of(time), 400) / n_rows
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n_rows + 200))[200:]
        residuals = columns @ rng.normal(size=columns.shape[1]) + noise
        assert is_correlated(residuals)
        assert is_correlated(residuals, unknown) == (memory > 0)


def test_white_noise_is_noticed_and_loses_nothing():
    X, y = weekly(coefficient=0.0)
    white = TorusGPRegressor(WEEK).fit(X, y)
    model = TorusGPRegressor(WEEK, noise="correlated").fit(X, y)
    assert model.noise_process_ is None
    assert np.array_equal(model.predict(X), white.predict(X))
    assert model.log_marginal_likelihood_ == white.log_marginal_likelihood_


def test_noise_has_the_variance_and_correlation_of_the_truth(fitted):
    process = fitted.noise_process_
    assert process.variance == pytest.approx(1.0, rel=0.25)
    assert process.autocovariance_at(1.0) / process.variance == pytest.approx(0.7, abs=0.1)
    assert fitted.noise_variance_ == pytest.approx(process.variance)


def test_forecasts_start_narrow_and_grow_to_predictions(fitted):
    later = pd.DataFrame({"time": 399.0 + np.arange(1, 200)})
    mean, std = fitted.forecast(later, return_std=True)
    predicted, stationary = fitted.predict(later, return_std=True)
    assert std[0] == pytest.approx(np.sqrt(1 - 0.49), rel=0.15)
    assert std[-1] == pytest.approx(stationary[-1], rel=1e-6)
    assert mean[-1] == pytest.approx(predicted[-1], rel=1e-6)
    last = fitted.noise_process_.residuals[-1]
    assert mean[0] - predicted[0] == pytest.approx(0.7 * last, abs=0.2 * abs(last))


@pytest.mark.parametrize("learn", [(), ("length_scale", "signal_variance")])
def test_forecasts_are_those_of_the_joint_normal_distribution(learn):
    """Of weights given the moments, and of noise given the weights and the last rows; whatever parameters are."""
    X, y = weekly(120)
    known = 0.7 ** np.arange(400)
    model = TorusGPRegressor(WEEK, noise=CorrelatedNoise(autocovariance=known), learn=learn, n_components=9).fit(X, y)
    assert (model.fitted_.mixture is None) == (not learn)
    later = pd.DataFrame({"time": 119.0 + np.array([1, 2, 3, 10, 50])})
    fitted, times = model.fitted_, np.concatenate([X["time"], later["time"]])
    covariance = known[np.abs(times[:, None] - times).astype(int)]
    gain = covariance[120:, :120] @ np.linalg.inv(covariance[:120, :120])
    both = np.hstack([np.eye(5), -gain])  # of the function, at later and at past times
    points = pd.concat([later, X])
    mean, spread = model.predict(points, return_cov=True, include_noise=False)
    found, found_covariance = model.forecast(later, return_cov=True)
    assert np.allclose(found, both @ mean + gain @ y, atol=1e-8)
    noise = covariance[120:, 120:] - gain @ covariance[:120, 120:]
    assert np.allclose(found_covariance, both @ spread @ both.T + noise, atol=1e-8)
    assert np.allclose(model.forecast(later, return_std=True)[1] ** 2, np.diag(found_covariance), atol=1e-10)
    paths = model.sample_forecast(later, 20_000, random_state=0)
    assert np.abs(np.cov(paths) - found_covariance).max() < 0.06
    assert np.abs(paths.mean(axis=1) - found).max() < 0.05
    assert fitted.noise_process.last_time == 119


def test_rows_of_a_gap_are_those_of_the_joint_normal_distribution():
    """The same, given the rows on both sides."""
    known = 0.7 ** np.arange(400)
    X, y = weekly(120)
    X, y = X.drop(index=range(50, 70)), np.delete(y, range(50, 70))
    model = TorusGPRegressor(WEEK, noise=CorrelatedNoise(autocovariance=known), learn=(), n_components=9).fit(X, y)
    missing = pd.DataFrame({"time": [69.0, 50.0, 55.0, 125.0]})
    times = np.concatenate([X["time"], missing["time"]])
    covariance = known[np.abs(times[:, None] - times).astype(int)]
    gain = covariance[100:, :100] @ np.linalg.inv(covariance[:100, :100])
    both = np.hstack([np.eye(4), -gain])
    mean, spread = model.predict(pd.concat([missing, X]), return_cov=True, include_noise=False)
    found, std = model.forecast(missing, return_std=True)
    assert np.allclose(found, both @ mean + gain @ y, atol=1e-8)
    variance = np.diag(both @ spread @ both.T + covariance[100:, 100:] - gain @ covariance[:100, 100:])
    assert np.allclose(std**2, variance, atol=1e-8)
    assert model.can_forecast(missing).all()
    assert not model.can_forecast(pd.concat([X[:3], X[-3:], X[:1] - 5])).any()
    with pytest.raises(ValueError, match="Joint forecasts are for times after the last row"):
        model.forecast(missing, return_cov=True)


def test_effects_of_rows_that_count_as_few_integrate_over_what_is_uncertain_of_length_scales():
    """Three hundred independent rows tell as much as many more of noise that lasts."""
    X, y = weekly(600, coefficient=0.8)
    model, alone = (
        TorusGPRegressor(WEEK, noise="correlated", n_components=9, integrate=one).fit(X, y) for one in ("auto", False)
    )
    components = list(model.fitted_.components())
    assert len(components) > 3
    expected = model.fitted_.component_weights @ [one.mean(X[:7].to_numpy())[:, 0] for one in components]
    assert np.allclose(model.predict(X[:7]), expected, rtol=1e-9)
    stds = [one.predict_parts(X[:7], return_std=True)[1] for one in (model, alone)]
    assert (stds[0] > stds[1]).all()
    rest = model.predict(X, return_std=True)[1] ** 2 - model.predict(X, return_std=True, include_noise=False)[1] ** 2
    assert np.allclose(rest, model.noise_process_.variance)  # blocks left out have shown what the set leaves out, too
    many, target = weekly(6000, coefficient=0.8)
    assert TorusGPRegressor(WEEK, noise="correlated", n_components=9).fit(many, target).fitted_.mixture is None


def test_without_correlation_forecasts_are_predictions():
    X, y = weekly(200, 0.0)
    model = TorusGPRegressor(WEEK).fit(X, y)
    later = X + 200
    for one, other in zip(model.forecast(later, return_std=True), model.predict(later, return_std=True), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(model.forecast_quantiles(later), model.predict_quantiles(later))
    assert np.array_equal(
        model.sample_forecast(later, 2, 0), model.sample_y(later, 2, random_state=0, include_noise=True)
    )


def test_log_normal_targets_are_forecast_on_their_scale():
    X, y = weekly()
    model = TorusGPRegressor(WEEK, noise="correlated", likelihood="log_normal").fit(X, np.exp(0.2 * y))
    later = X.iloc[:10] + 400
    quantiles = model.forecast_quantiles(later, [0.1, 0.5, 0.9])
    paths = model.sample_forecast(later, 4000, random_state=0)
    mean, std = model.forecast(later, return_std=True)
    assert np.allclose(np.quantile(paths, [0.1, 0.5, 0.9], axis=1).T, quantiles, rtol=0.05)
    assert np.allclose(paths.mean(axis=1), mean, rtol=0.03)
    assert np.allclose(paths.std(axis=1), std, rtol=0.1)


def test_a_stored_model_forecasts_as_before(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    again = TorusGPRegressor.load(tmp_path / "model.npz")
    later = pd.DataFrame({"time": [400.0, 410.0, 500.0]})
    assert np.allclose(again.forecast(later, return_std=True), fitted.forecast(later, return_std=True))
    assert again.log_marginal_likelihood_ == pytest.approx(fitted.log_marginal_likelihood_)
    named = TorusGPRegressor(WEEK, noise=CorrelatedNoise("time", [1.0, 0.5])).fit(*weekly(100))
    named.save(tmp_path / "named.npz")
    assert TorusGPRegressor.load(tmp_path / "named.npz").noise == named.noise
    clone(named)


def test_rows_out_of_order_are_put_in_order(fitted):
    X, y = weekly()
    order = np.random.default_rng(1).permutation(len(y))
    shuffled = TorusGPRegressor(WEEK, noise="correlated").fit(X.iloc[order], y[order])
    assert np.allclose(shuffled.predict(X), fitted.predict(X), atol=1e-4)
    later = X.iloc[:5] + 400
    assert np.allclose(shuffled.forecast(later), fitted.forecast(later), atol=1e-3)


def test_times_that_occur_twice_share_their_noise():
    """Two sensors of one process: their rows are not twice as much information."""
    X, y = weekly(400, 0.95)
    white = np.random.default_rng(2).normal(size=(2, 400))
    both = np.concatenate([y + 0.1 * white[0], y + 0.1 * white[1]])
    double = TorusGPRegressor(WEEK, noise="correlated").fit(pd.concat([X, X]), both)
    single = TorusGPRegressor(WEEK, noise="correlated").fit(X, y)
    at = X.iloc[:7]
    one, other = (model.predict(at, return_std=True, include_noise=False)[1] for model in (double, single))
    assert (one > 0.7 * other).all()


def test_known_noise_scales_count():
    X, y = weekly(400)
    rng = np.random.default_rng(3)
    scale = np.where(rng.uniform(size=400) < 0.5, 1.0, 8.0)
    noise = y - 5 - 2 * np.sin(2 * np.pi * X["time"] / 7)
    y = y + (scale - 1) * noise
    model = TorusGPRegressor(WEEK, noise="correlated").fit(X, y, noise_scale=scale)
    truth = 5 + 2 * np.sin(2 * np.pi * X["time"][:7] / 7)
    mean, std = model.predict(X[:7], return_std=True, include_noise=False)
    assert np.abs(mean - truth).max() < 4 * std.max() < 2.5
    assert model.noise_process_.variance == pytest.approx(1.0, rel=0.4)


def test_inputs_beside_time_may_be_of_any_kind():
    X, y = weekly(600)
    rng = np.random.default_rng(4)
    frame = X.assign(day=X["time"] % 7, price=rng.normal(size=600), sale=rng.choice(["no", "yes"], 600))
    y = y + 0.5 * frame["price"] + (frame["sale"] == "yes")
    kernel = Circle("day", 7.0) + Slope("price") + Category("sale")
    model = TorusGPRegressor(kernel, noise=CorrelatedNoise(time="time")).fit(frame, y)
    later = frame.iloc[:14].assign(time=600.0 + np.arange(14), day=(600.0 + np.arange(14)) % 7)
    std = model.forecast(later, return_std=True)[1]
    assert model.score(frame, y) > 0.6
    assert std[0] < 0.9 * std[-1]


def test_a_line_in_time_is_no_faster_than_a_block_that_is_left_out():
    X, y = weekly(500, 0.9)
    model = TorusGPRegressor(WEEK + Line("time"), noise="correlated").fit(X, y)
    scales = model.fitted_.prior.scales(model.fitted_.parameters)
    assert scales[1][0] >= model.noise_process_.block * (1 - 1e-9) > 49


def test_noise_of_rows_left_out_counts_what_a_fit_takes_for_signal():
    """Two years with harmonics as slow as the seasons but not the same in both: half of them look like a season."""
    rng, days = np.random.default_rng(0), np.arange(730.0)[:, None]
    weather = np.where(days[:, 0] < 365, 1.0, -0.2) * np.sin(2 * np.pi * 3 * days[:, 0] / 365)
    y = np.cos(2 * np.pi * days[:, 0] / 365) + weather + 0.1 * rng.normal(size=730)
    white, model = (TorusGPRegressor(period=365, noise=noise).fit(days, y) for noise in ("white", "correlated"))
    assert model.noise_variance_ > 1.3 * white.noise_variance_


def test_a_season_seen_twice_is_not_taken_for_noise():
    """Over a block that is left out it is known from one other year only: that is no noise of the rows."""
    rng, days = np.random.default_rng(0), np.arange(730.0)
    angle = 2 * np.pi * days / 365
    season = np.cos(angle) + 0.5 * np.sin(3 * angle)
    slow = np.zeros(730)
    for i in range(1, 730):
        slow[i] = 0.8 * slow[i - 1] + 0.3 * rng.normal()
    model = TorusGPRegressor(Circle("time", 365.0), noise="correlated").fit(pd.DataFrame({"time": days}), season + slow)
    effect, std = model.predict(pd.DataFrame({"time": days[:365]}), return_std=True, include_noise=False)
    assert 1 - np.var(effect - season[:365]) / np.var(season) > 0.9
    assert model.noise_process_.variance == pytest.approx(np.var(slow), rel=0.25)
    assert np.mean(np.abs(effect - season[:365]) < 1.96 * std) > 0.8


def test_a_high_harmonic_that_the_first_fit_finds_is_kept():
    rng, time = np.random.default_rng(0), np.arange(1600.0) / 80
    noise = np.zeros(1600)
    for i in range(1, 1600):
        noise[i] = 0.8 * noise[i - 1] + 0.3 * rng.normal()
    y = np.sin(2 * np.pi * 40 * time + 0.7) + noise
    frame = pd.DataFrame({"time": time + 0.003 * rng.uniform(-1, 1, 1600)}).sort_values("time")
    y = np.sin(2 * np.pi * 40 * frame["time"].to_numpy() + 0.7) + noise
    model = TorusGPRegressor(Circle("time", 1.0), noise="correlated").fit(frame, y)
    assert model.noise_process_ is not None
    assert np.corrcoef(model.predict(frame), y - noise)[0, 1] > 0.95


def test_frequencies_that_noise_explains_are_not_searched_for():
    rng, days, lines = np.random.default_rng(3), np.arange(420.0), []
    slow = np.zeros(420)
    for i in range(1, 420):
        slow[i] = 0.95 * slow[i - 1] + 0.31 * rng.normal()
    y = np.sin(2 * np.pi * days / 7) + slow + 0.7 * rng.normal(size=420)
    kernel = WEEK + Circle("time", 30.0)
    for noise, is_searched in (("white", True), ("correlated", False)):
        lines.clear()
        TorusGPRegressor(kernel, noise=noise, n_components=31, verbose=lines.append).fit(
            pd.DataFrame({"time": days}), y
        )
        assert any("residuals show the frequency" in line for line in lines) == is_searched


def test_a_round_that_predicts_blocks_left_out_worse_is_not_kept(monkeypatch):
    """Here one that has given up the season, as for noise that seems to explain it."""
    relearned, rounds = CorrelatedFitter._relearned, []

    def without_season(self, series, outcome, *others, **options):
        found = relearned(self, series, outcome, *others, **options)
        rounds.append(found)
        if len(rounds) < 3:  # the two starts of the first
            return found
        parameters = found.learned.parameters
        name = next(name for name in parameters if name.endswith("variance") and name != NOISE)
        flat = parameters.with_value(name, 1e-9 * parameters[name])
        return replace(found, learned=replace(found.learned, parameters=flat))

    monkeypatch.setattr(CorrelatedFitter, "_relearned", without_season)
    monkeypatch.setattr("torusgp.fitting.correlated_fitter.SETTLED", 0.0)
    (X, y), lines = weekly(), []
    model = TorusGPRegressor(WEEK, noise="correlated", verbose=lines.append).fit(X, y)
    assert len(rounds) == 3
    assert lines[-1].startswith("blocks left out are predicted worse")
    assert np.ptp(model.predict(X)) > 0.5 * np.ptp(TorusGPRegressor(WEEK).fit(X, y).predict(X))


def test_a_refit_that_predicts_blocks_left_out_worse_is_not_kept(monkeypatch):
    """As where learning gives the season up for noise that is known to be small on some rows."""
    X, y = weekly()
    model = TorusGPRegressor(WEEK, noise="correlated").fit(X, y)
    relearned = CorrelatedFitter._relearned

    def without_season(self, *arguments, **options):
        found = relearned(self, *arguments, **options)
        parameters = found.learned.parameters
        name = next(name for name in parameters if name.endswith("variance") and name != NOISE)
        flat = parameters.with_value(name, 1e-9 * parameters[name])
        return replace(found, learned=replace(found.learned, parameters=flat))

    monkeypatch.setattr(CorrelatedFitter, "_relearned", without_season)
    again = model.refit(X, y)
    assert np.allclose(again.predict(X), model.predict(X), atol=0.05)
    assert again.noise_process_.variance == pytest.approx(model.noise_process_.variance, rel=0.1)


def test_many_axes_that_interact_get_frequencies_that_the_data_choose():
    rng, n = np.random.default_rng(1), 1500
    X = pd.DataFrame({name: rng.uniform(0, 1, n) for name in "abcd"}).assign(time=np.arange(float(n)))
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = 0.9 * noise[i - 1] + 0.2 * rng.normal()
    truth = np.sin(2 * np.pi * (X["a"] + X["b"])) + np.cos(2 * np.pi * X["c"])
    kernel = Circle("a", 1.0) * Circle("b", 1.0) * Circle("c", 1.0) * Circle("d", 1.0)
    model = TorusGPRegressor(kernel, noise=CorrelatedNoise(time="time"), n_components=101).fit(X, truth + noise)
    assert model.noise_process_ is not None
    assert np.mean((model.predict(X) - truth) ** 2) < 0.05


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, {"sample_weight": np.ones(80)}, "sample_weight"),
        ({"likelihood": "student_t"}, {}, "student_t"),
        ({}, {"checkpoint": "nowhere.npz"}, "checkpoints"),
        ({"noise": "pink"}, {}, "noise must be one of"),
        ({"noise": 3}, {}, "noise must be one of"),
        ({"noise": CorrelatedNoise(autocovariance=[-1.0])}, {}, "autocovariance must be"),
        ({"noise": CorrelatedNoise(autocovariance={"a": 1})}, {}, "autocovariance must be"),
        ({"noise": CorrelatedNoise(autocovariance=[True])}, {}, "autocovariance must be"),
        ({"noise": ARNoise(coefficients={"a": 1})}, {}, "coefficients must be finite numbers"),
        (
            {"noise": CorrelatedNoise(time=())},
            {},
            r"time must be the name or the position of an input, or None, got \(\)",
        ),
        ({"noise": ARNoise(time=True)}, {}, "time must be the name or the position of an input, or None, got True"),
        ({"noise": CorrelatedNoise(time="date")}, {}, "'date', but the inputs are"),
        ({"noise": CorrelatedNoise(time=4)}, {}, "input 4, but there are 1"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options, arguments, message):
    X, y = weekly(80)
    with pytest.raises(ValueError, match=message):
        TorusGPRegressor(WEEK, **{"noise": "correlated", **options}).fit(X, y, **arguments)


def test_several_targets_and_later_rows_are_refused():
    X, y = weekly(80)
    model = TorusGPRegressor(WEEK, noise="correlated")
    with pytest.raises(ValueError, match="one target at a time, got 2"):
        model.fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="sees rows once"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="none of the inputs"):
        TorusGPRegressor(period=[7, 7], noise="correlated").fit(np.random.default_rng(0).normal(size=(80, 2)), y)


def test_a_forecast_of_the_past_and_another_noise_variance_are_refused(fitted):
    with pytest.raises(ValueError, match="after the last row, which is at 399"):
        fitted.forecast(pd.DataFrame({"time": [399.0]}))
    with pytest.raises(ValueError, match="cannot both be true"):
        fitted.forecast(pd.DataFrame({"time": [400.0]}), return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="has a covariance"):
        fitted.set_noise_variance(1.0)


def test_few_rows_are_said_to_show_no_correlation():
    with pytest.warns(UserWarning, match="cannot show how their noise is correlated"):
        model = TorusGPRegressor(WEEK, noise="correlated").fit(*weekly(40))
    assert model.noise_process_ is None


def test_predictions_have_the_variance_that_blocks_left_out_have_shown(monkeypatch):
    """What all rows leave unknown of the function is added to the noise, so it is not in that a second time."""
    given, X = [], pd.DataFrame({"time": np.arange(300.0)})
    y = weekly(300)[1] + 3 * np.sin(2 * np.pi * X["time"] / 250)
    original = correlated_fitter.left_out_residuals

    def spy(*arguments):
        given.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(correlated_fitter, "left_out_residuals", spy)
    TorusGPRegressor(WEEK + Circle("time", 250.0), noise="correlated", n_components=31).fit(X, y)
    columns, series, _, variances = given[0]
    white = Autocovariance(np.array([0.5, 0.0]))
    found = original(columns, series, white, variances)
    F = columns(slice(None))
    unknown = np.sum(F * np.linalg.solve(F.T @ F / 0.5 + np.diag(1 / variances), F.T).T)
    assert found.variance * 300 + unknown == pytest.approx(found.square, rel=1e-6)
    assert unknown < 0.9 * np.sum(found.uncertainty)
