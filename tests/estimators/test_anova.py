"""ANOVA sums through the regressor: predictions, parts, draws, forecasts, files, and what does not change them."""

import numpy as np
import pandas as pd
import pytest

from torusgp import (
    Anova,
    Category,
    Circle,
    CorrelatedNoise,
    Line,
    Slope,
    TorusGPRegressor,
    Walk,
    analysis,
    plotting,
    surfaces,
    write_report,
)
from torusgp.fitting.anova import fitter

N_ROWS = 400


def make_table(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    time = np.arange(n_rows, dtype=float)
    table = pd.DataFrame(
        {"hour": time % 24, "time": time, "rain": rng.uniform(0, 1, n_rows), "shop": rng.choice([*"abc"], n_rows)}
    )
    walk = np.cumsum(rng.normal(0, 0.03, n_rows))
    function = 2 * np.sin(2 * np.pi * time / 24) + walk + 2 * table.rain * (table.shop == "a")
    return table, function.to_numpy(), function.to_numpy() + 0.3 * rng.normal(size=n_rows)


AXES = Circle("hour", 24), Walk("time"), Line("rain"), Category("shop")
NOISE = {"independent": "white", "in time": CorrelatedNoise("time")}


@pytest.fixture(scope="module", params=NOISE, ids=str)
def fitted(request):
    table, function, y = make_table()
    return TorusGPRegressor(Anova(AXES), noise=NOISE[request.param]).fit(table, y), table, function, y


def test_it_finds_the_function_and_knows_how_well(fitted):
    model, table, function, _ = fitted
    mean, std = model.predict(table, return_std=True, include_noise=False)
    error = mean - function
    assert np.sqrt(np.mean(error**2)) < 0.13
    assert 0.9 < np.mean(np.abs(error) < 1.96 * std) <= 1
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.3, rel=0.1)


def test_parts_add_up_and_vanish_where_nothing_is(fitted):
    model, table, *_ = fitted
    parts, std = model.predict_parts(table, return_std=True)
    assert parts.sum(axis=1) + model.fitted_.intercept == pytest.approx(model.predict(table), abs=1e-9)
    assert parts.mean(axis=0) == pytest.approx(0, abs=1e-9)
    size = dict(zip(model.term_names_, parts.std(axis=0), strict=True))
    assert min(size["hour"], size["rain"], size["rain * shop"]) > 0.1
    assert max(size["hour * rain"], size["hour * shop"], size["time * rain"]) < 0.06
    covariance = model.predict_parts(table[:7], return_cov=True)[1]
    assert np.einsum("nppq->npq", covariance[..., None])[..., 0] == pytest.approx(std[:7] ** 2, rel=1e-9)
    with_level = covariance.sum(axis=(1, 2))
    whole = model.predict(table[:7], return_std=True, include_noise=False)[1] ** 2 - model.fitted_.rest_variance
    assert (with_level <= whole * 1.5).all()  # the average over the rows is no part


def test_draws_have_the_predicted_mean_and_covariance(fitted):
    model, table, *_ = fitted
    points = pd.concat([table[:3], table[-2:].assign(time=[N_ROWS + 50.0, N_ROWS + 400.0])])
    mean, covariance = model.predict(points, return_cov=True, include_noise=False)
    draws = model.sample_y(points, 20_000, random_state=0)
    expected = covariance - model.fitted_.rest_variance * np.eye(len(points))
    error = 4 * np.sqrt(np.diagonal(expected) / 20_000)
    assert (np.abs(draws.mean(axis=1) - mean) < error).all()
    assert np.cov(draws) == pytest.approx(expected, abs=0.05 * np.diagonal(expected).max())
    parts = model.sample_parts(points[:3], 50, random_state=0)
    assert parts.sum(axis=1).std() > 0


def test_derivatives_are_difference_quotients(fitted):
    model, table, *_ = fitted
    points, step = table[:6].assign(rain=np.linspace(0.1, 0.9, 6)), 1e-5
    gradient = model.predict_gradient(points)
    ahead, behind = (model.predict(points.assign(rain=points.rain + sign * step)) for sign in (1, -1))
    assert gradient[:, 2] == pytest.approx((ahead - behind) / (2 * step), abs=1e-4)
    assert np.isnan(gradient[:, 3]).all()


def test_later_times_hold_the_level_and_its_variance_grows_by_the_increments(fitted):
    model, table, *_ = fitted
    last = table[-1:]
    later = pd.concat([last.assign(time=last.time + ahead) for ahead in (0.0, 24.0, 240.0, 2400.0)])
    mean, covariance = model.predict(later, return_cov=True, include_noise=False)
    assert mean == pytest.approx(mean[0])
    learned = model.fitted_.learned
    t = learned.prior.terms.index((1,))
    rate = learned.scale**2 * np.exp(learned.vector[t]) * learned.prior.axes[1].rate
    own = np.diagonal(covariance) - covariance[0, 0]
    assert own[1] / 24 == pytest.approx(own[3] / 2400)  # in proportion to the time since
    assert own[1] / 24 >= rate * (1 - 1e-9)  # products with other axes drift, too
    assert covariance[1, 2] == pytest.approx(covariance[1, 1] - model.fitted_.rest_variance[0])  # a shared path


def test_forecasts_follow_the_errors_of_the_last_rows():
    rng = np.random.default_rng(0)
    table, function, _ = make_table()
    error = np.zeros(N_ROWS)
    for i in range(1, N_ROWS):
        error[i] = 0.9 * error[i - 1] + 0.3 * rng.normal()
    model = TorusGPRegressor(Anova(AXES), noise=CorrelatedNoise("time")).fit(table[:-24], (function + error)[:-24])
    mean, std = model.forecast(table[-24:], return_std=True)
    assert std[0] < 0.75 * std[-1]
    paths = model.sample_forecast(table[-24:], 4000, random_state=0)
    assert paths.std(axis=1) == pytest.approx(std, rel=0.1)
    assert paths.mean(axis=1) == pytest.approx(mean, abs=0.1)


def test_files_keep_it(fitted, tmp_path):
    model, table, *_ = fitted
    path = tmp_path / "model.tgp"
    model.save(path)
    found = TorusGPRegressor.load(path)
    later = table.assign(time=table.time + 300)
    for one, other in zip(found.predict(later, return_std=True), model.predict(later, return_std=True), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(found.predict_parts(table), model.predict_parts(table))
    assert found.term_names_ == model.term_names_
    if model.noise_process_ is not None:
        assert np.array_equal(found.forecast(later[-9:]), model.forecast(later[-9:]))


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.assign(rain=1000 * table.rain - 7),
        lambda table: table.assign(time=table.time / 365.25 + 2000, hour=(table.hour + 5) % 24),
        lambda table: table.assign(shop=table.shop.map({"a": "x", "b": "aa", "c": "m"})),
        lambda table: table[["shop", "rain", "hour", "time"]],
    ],
    ids=["unit and origin of a line", "unit and origin of time and phase", "names of levels", "order of columns"],
)
def test_how_inputs_are_written_changes_nothing(change, noise):
    """Up to a thousandth of the standard deviation, learned."""
    table, _, y = make_table()
    mean, std = TorusGPRegressor(Anova(AXES), noise=noise).fit(table, y).predict(table, return_std=True)
    changed = change(table)
    order = [factor for name in changed for factor in AXES if factor.input == name]
    other = TorusGPRegressor(Anova(order), noise=noise).fit(changed, y)
    found, other_std = other.predict(changed, return_std=True)
    assert np.abs(found - mean).max() < 1e-3 * std.min()
    assert other_std == pytest.approx(std, rel=1e-3)


def test_the_unit_and_level_of_the_target_change_nothing(fitted):
    model, table, _, y = fitted
    other = TorusGPRegressor(model.kernel, noise=model.noise).fit(table, 1000 * y + 1e6)
    mean, std = model.predict(table, return_std=True)
    found, other_std = other.predict(table, return_std=True)
    assert (found - 1e6) / 1000 == pytest.approx(mean, abs=1e-3 * std.min())
    assert other_std / 1000 == pytest.approx(std, rel=1e-3)


def test_known_noise_scales_are_those_of_the_rows():
    table, function, _ = make_table()
    rng = np.random.default_rng(5)
    scale = np.where(np.arange(N_ROWS) % 2, 0.1, 1.0)
    y = function + scale * rng.normal(size=N_ROWS)
    known = TorusGPRegressor(Anova(AXES)).fit(table, y, noise_scale=scale)
    plain = TorusGPRegressor(Anova(AXES)).fit(table, y)
    errors = [np.sqrt(np.mean((one.predict(table) - function) ** 2)) for one in (known, plain)]
    assert errors[0] < 0.7 * errors[1]
    assert np.sqrt(known.noise_variance_) == pytest.approx(1.0, rel=0.15)


def test_later_rows_change_no_fit_and_a_mirrored_time_mirrors_it():
    table, _, y = make_table()
    model = TorusGPRegressor(Anova(AXES), noise=CorrelatedNoise("time")).fit(table, y)
    mirrored = table.assign(time=-table.time)
    other = TorusGPRegressor(Anova(AXES), noise=CorrelatedNoise("time")).fit(mirrored, y)
    std = model.predict(table, return_std=True)[1]
    assert np.abs(other.predict(mirrored) - model.predict(table)).max() < 0.1 * std.min()


def test_the_order_of_rows_is_of_no_matter_where_time_says_it():
    table, _, y = make_table()
    order = np.random.default_rng(0).permutation(N_ROWS)
    noise = CorrelatedNoise("time")
    model = TorusGPRegressor(Anova(AXES), noise=noise).fit(table, y)
    other = TorusGPRegressor(Anova(AXES), noise=noise).fit(table.iloc[order], y[order])
    assert other.predict(table) == pytest.approx(model.predict(table), abs=1e-6)


REFUSED = {
    "sample weights": (dict(), dict(sample_weight=np.ones(N_ROWS)), "sample_weight"),
    "noise that changes": (dict(noise_kernel=Line("rain")), dict(), "noise_kernel"),
    "no intercept": (dict(intercept=False), dict(), "intercept=False"),
    "a set": (dict(index_set="learned"), dict(), "index_set='learned'"),
    "what is learned": (dict(learn=("length_scale",)), dict(), "learn="),
    "times of independent rows": (dict(), dict(time=np.arange(N_ROWS)), "time is for rows whose noise"),
}


@pytest.mark.parametrize(("parameters", "arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_take_is_refused_by_name(parameters, arguments, words):
    table, _, y = make_table()
    with pytest.raises(ValueError, match=words):
        TorusGPRegressor(Anova(AXES), **parameters).fit(table, y, **arguments)


def test_expressions_say_what_they_may_hold():
    for wrong, words in (
        (lambda: Anova([]), "at least one axis"),
        (lambda: Anova([Slope("time")]), "The axes of Anova are"),
        (lambda: Anova([Circle("hour", "auto")]), "periods of Anova are given"),
        (lambda: Anova([Walk("time")], order=0), "order"),
        (lambda: Anova([Walk("time")], family="rational_quadratic"), "cannot be used on a Line"),
        (lambda: Anova([Walk("time")]) + Line("rain"), "more axes"),
        (lambda: Anova([Walk("time")]) * Line("rain"), "more axes"),
        (lambda: Walk("time", range=(1, 0)), "lower one first"),
        (
            lambda: TorusGPRegressor(Walk("x") + Line("y")).fit(pd.DataFrame({"x": [0, 1], "y": [0, 1]}), [0, 1]),
            "Anova",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(ValueError, match="all 3"):
        TorusGPRegressor(Anova([Line(0)])).fit(np.arange(30.0)[:, None], np.full(30, 3.0))
    with pytest.raises(ValueError, match="partial_fit is not possible with Anova"):
        TorusGPRegressor(Anova([Line(0)])).partial_fit(np.arange(30.0)[:, None], np.arange(30.0))


def test_views_show_it(fitted, tmp_path):
    model, table, *_ = fitted
    path = tmp_path / "page.html"
    write_report(model, path)
    assert "rain" in path.read_text(encoding="utf-8")
    assert "hour" in str(analysis.sobol_indices(model))
    effect = analysis.effect(model, "hour")
    assert np.isfinite(effect.mean).all()
    assert (effect.std > 0).all()
    for display in (plotting.AttributionDisplay, plotting.PartsDisplay, plotting.SpectrumDisplay):
        display.from_estimator(model)
    smooth = TorusGPRegressor(Anova([Circle("hour", 24), Walk("time")])).fit(table[["hour", "time"]], table["rain"])
    assert surfaces.find_stationary_points(smooth) is not None


def test_more_rows_than_memory_holds_are_refused(monkeypatch):
    table, _, y = make_table()
    monkeypatch.setattr(fitter, "MOST_ROWS", 300)
    with pytest.raises(ValueError, match="takes up to 300 rows, got 400"):
        TorusGPRegressor(Anova(AXES)).fit(table, y)


def test_a_refit_is_a_fit_to_all_rows(fitted):
    model, table, _, y = fitted
    again = model.refit(table, y)
    assert np.array_equal(again.predict(table), model.predict(table))


@pytest.mark.parametrize("n_rows", [1, 2, 3, 11, 60])
def test_few_rows_are_fitted_or_refused_in_words(n_rows):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (n_rows, 2)), rng.normal(size=n_rows)
    model = TorusGPRegressor(Anova([Line(0), Line(1)]))
    if n_rows == 1:
        with pytest.raises(ValueError, match="distinct value"):
            model.fit(X, y)
        return
    mean, std = model.fit(X, y).predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
