import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ive
from scipy.stats import binom, norm
from sklearn.metrics import r2_score

from tests.views.report.pages import case, fit, make_rows
from torusgp.kernels.checks import check_family
from torusgp.kernels.index_sets import tensor
from torusgp.kernels.spectra import Heat, SquaredExponential
from torusgp.views.report._facts import (
    Judgement,
    entangled_components,
    errors_along,
    half_distance,
    is_fitted_to,
    judge,
    levels_along,
    places_along,
)
from torusgp.views.report._labels import Dimension, describe_dimensions, describe_inputs
from torusgp.views.report._scores import effective_rows
from torusgp.views.report._summary import verdict

HOUR, WEEK = Dimension("hour", "h", 24.0, axes=(0,)), Dimension("week", "", 7.0, axes=(1,), input=1)


def test_judgement_is_that_of_the_textbook():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=400), rng.uniform(0.5, 2, 400)
    observed = mean + 1.3 * std * rng.normal(size=400)
    found = Judgement.from_predictions(observed, mean, std)
    assert found.rmse == pytest.approx(np.sqrt(np.mean((observed - mean) ** 2)))
    assert found.log_loss == pytest.approx(-norm.logpdf(observed, mean, std).mean())
    assert found.r2 == pytest.approx(r2_score(observed, mean))
    for level, share in found.coverage.items():
        low, high = norm.interval(level, mean, std)
        assert share == pytest.approx(np.mean((low <= observed) & (observed <= high)))
    assert abs(found.run) < 0.2


def test_errors_that_come_in_runs_are_noticed():
    walk = np.cumsum(np.random.default_rng(0).normal(size=500))
    found = Judgement.from_predictions(walk, np.zeros(500), np.ones(500))
    assert found.run > 0.9
    assert np.isnan(Judgement.from_predictions(walk[:10], np.zeros(10), np.ones(10)).run)


def test_constant_observations_have_no_share_explained():
    assert np.isnan(Judgement.from_predictions(np.ones(3), np.zeros(3), np.ones(3)).r2)


def test_every_target_is_judged():
    model, X, y, _ = case("outputs")
    mean, std = model.predict(X, return_std=True)
    for q, found in enumerate(judge(model, X, y)):
        np.testing.assert_array_equal(found.observed, y[:, q])
        np.testing.assert_array_equal(found.mean, mean[:, q])
        np.testing.assert_array_equal(found.std, std[:, q])


def test_missing_observations_are_an_error():
    model, X, y, _ = case("seasons")
    with pytest.raises(ValueError, match=r"1 of 40 rows miss a value, the first is row 3"):
        judge(model, X, np.where(np.arange(40) == 3, np.nan, y))
    with pytest.raises(ValueError, match=r"got shapes \(40, 2\) and \(39,\)"):
        judge(model, X, y[1:])
    with pytest.raises(ValueError, match="1 target"):
        judge(model, X, np.column_stack([y, y]))


def test_the_rows_of_the_fit_are_recognised():
    X, y = make_rows((24.0, 7.0))
    model = fit(X, 1e6 + y, period=(24.0, 7.0), index_set=tensor(2, 1))
    assert is_fitted_to(model, 1e6 + y)
    assert is_fitted_to(model, 1e6 + y[::-1])
    assert not is_fitted_to(model, 1e6 + y[1:])
    assert not is_fitted_to(model, 1e6 + y + 1e-3 * np.cos(X[:, 0]))
    assert not is_fitted_to(fit(X, y, period=(24.0, 7.0), index_set=tensor(2, 1), intercept=False), 2 * y)
    assert is_fitted_to(fit(X, y, period=(24.0, 7.0), index_set=tensor(2, 1), intercept=False), y)


def test_a_weekday_that_moves_on_with_the_hour_is_tied_to_it():
    hours = np.arange(24 * 70.0)
    theta = 2 * np.pi * hours / 24
    y = np.cos(theta) + 0.1 * np.random.default_rng(0).normal(size=len(hours))
    parameters = {"period": (24.0, 7.0), "index_set": tensor(2, 7), "length_scale": 0.3}
    moving = entangled_components(fit(np.column_stack([hours % 24, hours / 24 % 7]), y, **parameters), 0.9)
    # one turn of the hour is seven of the week
    assert ((0,), (1,), pytest.approx(1.0)) in moving
    assert all(one != other for one, other, _ in moving)
    whole = entangled_components(fit(np.column_stack([hours % 24, hours // 24 % 7]), y, **parameters), 0.9)
    assert ((0,), (1,)) not in [pair[:2] for pair in whole]


def test_inputs_that_fill_the_torus_are_not_tied():
    assert entangled_components(case("seasons")[0]) == []
    assert entangled_components(case("six")[0]) == []


def test_a_column_that_covers_part_of_its_period_is_tied_to_its_interactions():
    X, y = make_rows((24.0, 7.0))
    with pytest.warns(UserWarning, match="'x1' spans"):
        model = fit(X * [1.0, 0.05], y, period=(24.0, 7.0), index_set=tensor(2, 1))
    assert ((0,), (0, 1)) in [pair[:2] for pair in entangled_components(model)]


def test_half_of_the_correlation_is_lost_where_the_formula_says():
    scale, period = np.array([0.3, 0.9, 5.0]), np.array([24.0, 7.0, 365.25])
    found = [half_distance(SquaredExponential(), *pair) for pair in zip(scale, period, strict=True)]
    constant = ive(0, scale**-2.0)  # of exp((cos - 1) / scale^2)
    phase = np.arccos(1 + scale**2 * np.log((1 + constant) / 2))
    assert found == pytest.approx(phase * period / (2 * np.pi), rel=5e-3)


@pytest.mark.parametrize("name", ["squared_exponential", "matern32", "rational_quadratic", "heat"])
def test_a_long_length_scale_leaves_a_single_wave(name):
    longest, shortest = (half_distance(check_family(name), scale, 360.0) for scale in (30.0, 0.01))
    if name == "matern32":  # whose kink stays
        assert longest < 60
    else:
        assert longest == pytest.approx(60, rel=0.02)  # where the cosine is one half
    assert shortest < 2


def test_half_of_the_correlation_along_a_line():
    # a circle of length 100 is long against the length scale
    found = half_distance(Heat(), 2 * np.pi * 3.0 / 100, 100.0, is_line=True)
    assert found == pytest.approx(3.0 * np.sqrt(2 * np.log(2)), rel=5e-3)


def test_errors_along_a_dimension_are_means_over_bins():
    model = case("seasons")[0]
    X = make_rows((24.0, 7.0), 5000, seed=3)[0]
    error = np.random.default_rng(0).normal(size=5000) + X[:, 0]
    found = errors_along(places_along(model, X - [48.0, 7.0], HOUR), error, HOUR)
    assert len(found.place) == 24
    for i in range(24):
        near = np.floor(X[:, 0]) == i
        assert found.place[i] == pytest.approx(X[near, 0].mean())
        assert found.mean[i] == pytest.approx(error[near].mean())
        assert found.rms[i] == pytest.approx(np.sqrt(np.mean(error[near] ** 2)))
        assert found.n_rows[i] == near.sum()
    assert found.n_rows.sum() == 5000


def test_errors_at_few_values_are_means_over_each():
    model = case("seasons")[0]
    X = make_rows((24.0, 7.0), 700)[0]
    X[:, 1] = np.arange(700) % 7 + 14
    error = np.random.default_rng(0).normal(size=700)
    week, hour = places_along(model, X, WEEK), places_along(model, X, HOUR)
    found = errors_along(week, error, WEEK)
    assert found.place == pytest.approx(np.arange(7))
    assert found.mean == pytest.approx([error[i::7].mean() for i in range(7)])
    assert levels_along(week, 7.0) == pytest.approx(np.arange(7))
    assert levels_along(hour, 24.0) is None
    assert levels_along(week[:30], 7.0) is None  # few rows have few values by chance


def test_errors_along_lines_and_levels():
    model, frame, _, _ = case("mixed")
    X = frame.to_numpy()
    _, warmth, shop, _ = describe_dimensions(model, describe_inputs(model))
    error = np.random.default_rng(0).normal(size=len(X))
    found = errors_along(places_along(model, X, shop), error, shop)
    assert found.place.tolist() == [0, 1, 2]
    assert found.mean == pytest.approx([error[X[:, 2] == level].mean() for level in ("north", "south", "west")])
    found = errors_along(places_along(model, X, warmth), error, warmth)
    assert warmth.low <= found.place.min() < found.place.max() <= warmth.high
    X[0, 2] = "unheard of"
    assert np.isnan(places_along(model, X, shop)[0])


class TestVerdict:
    @pytest.mark.parametrize(
        ("coverage", "n_rows", "wanted"),
        [
            (0.95, 10**6, "as they should"),
            (0.965, 10**6, "slightly wider than needed"),
            (0.94, 10**6, "slightly too narrow"),
            (0.94, 1000, "as they should"),
            (0.918, 292, "somewhat too narrow"),
            (1.0, 96, "wider than needed"),  # happens once in 137 times
            (1.0, 10**4, "wider than needed"),
            (0.91, 10**4, "somewhat too narrow"),
            (0.7, 10**4, "too narrow"),
            (26 / 29, 29, "within what chance allows"),
            (0.85, 20, "within what chance allows"),
            (0.6, 29, "too narrow"),
        ],
    )
    def test_it_knows_chance(self, coverage, n_rows, wanted):
        assert verdict(coverage, n_rows) == wanted

    @pytest.mark.parametrize("n_rows", [29, 96, 292, 5000])
    def test_right_intervals_are_accused_once_in_twenty_times(self, n_rows):
        inside = np.arange(n_rows + 1)
        accused = [verdict(k / n_rows, n_rows).endswith(("narrow", "needed")) for k in inside]
        assert binom.pmf(inside[accused], n_rows, 0.95).sum() < 0.05
        assert binom.pmf(inside[accused], n_rows, 0.85).sum() > (0.3 if n_rows < 50 else 0.9)

    @pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
    def test_correlated_rows_tell_as_much_as_fewer_independent_ones(self, memory):
        rng, n_rows = np.random.default_rng(0), 2000
        start = rng.normal(size=(400, 1)) / np.sqrt(1 - memory**2)  # so that all rows have the same variance
        noise = np.hstack([start, rng.normal(size=(400, n_rows - 1))])
        noise = lfilter([1], [1, -memory], noise, axis=1) * np.sqrt(1 - memory**2)
        coverage = np.mean(np.abs(noise) < 1.959964, axis=1)
        n_effective = effective_rows(n_rows, (1 + memory) / (1 - memory))
        # a share of independent rows has this variance, and sizes of errors remember at most what their squares do
        assert np.var(coverage) < 1.25 * 0.95 * 0.05 / n_effective
        assert np.var(coverage) > 0.5 * 0.95 * 0.05 / n_effective
        accused = np.mean([verdict(one, n_effective) != "as they should" for one in coverage])
        assert accused < 0.08
