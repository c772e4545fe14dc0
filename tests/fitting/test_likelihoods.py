"""Derivatives of likelihoods equal differences, and predictions equal those by brute force."""

import numpy as np
import pytest
from scipy import stats

from tests.dense_laplace import DENSITIES
from torusgp.fitting.likelihoods import (
    Bernoulli,
    Gamma,
    LogNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    check_likelihood,
    likelihood_from_json,
    likelihood_to_json,
    skewed_values,
)

OBJECTS = [
    Normal(0.7),
    Poisson(),
    NegativeBinomial(dispersion=0.4),
    Gamma(shape=1.7),
    Bernoulli(),
    StudentT(noise_variance=0.5, dof=4.5),
]
every = pytest.mark.parametrize("likelihood", OBJECTS, ids=lambda one: one.name)
STEP = 1e-5


def make_rows(likelihood, n=40, spread=1.0):
    rng = np.random.RandomState(0)
    f = spread * rng.standard_normal(n)
    scale = rng.uniform(0.5, 2.0, n) if likelihood.takes else 1.0
    return likelihood.sample(f, rng, scale), f + 0.3 * rng.standard_normal(n), scale


@every
def test_derivatives_are_those_of_the_log_density(likelihood):
    y, f, scale = make_rows(likelihood)
    here = likelihood.derivatives(y, f, scale)
    ahead, behind = (likelihood.derivatives(y, f + sign * STEP, scale) for sign in (1, -1))
    for order in range(3):
        np.testing.assert_allclose((ahead[order] - behind[order]) / (2 * STEP), here[order + 1], atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("likelihood", OBJECTS[1:], ids=lambda one: one.name)
def test_log_densities_are_those_of_scipy(likelihood):
    y, f, scale = make_rows(likelihood)
    own = {name: getattr(likelihood, name) for name in likelihood.own}
    expected = DENSITIES[likelihood.name](y, f, scale, **own)
    np.testing.assert_allclose(likelihood.derivatives(y, f, scale).log_density, expected, rtol=1e-10, atol=1e-12)


def distribution_of(likelihood, f, scale):
    """The distribution of an observation given the function, by scipy."""
    if likelihood.name == "poisson":
        return stats.poisson(scale * np.exp(f))
    if likelihood.name == "negative_binomial":
        return stats.nbinom(1 / likelihood.dispersion, 1 / (1 + likelihood.dispersion * scale * np.exp(f)))
    if likelihood.name == "gamma":
        return stats.gamma(likelihood.shape, scale=np.exp(f) / likelihood.shape)
    if likelihood.name == "bernoulli":
        return stats.bernoulli(1 / (1 + np.exp(-f)))
    noise = scale * np.sqrt(likelihood.noise_variance)
    return stats.norm(f, noise) if likelihood.name == "normal" else stats.t(likelihood.dof, f, noise)


@every
def test_means_variances_and_probabilities_are_those_of_scipy(likelihood):
    y, f, scale = make_rows(likelihood)
    expected = distribution_of(likelihood, f, scale)
    np.testing.assert_allclose(likelihood.function(f, scale), expected.mean(), rtol=1e-10)
    np.testing.assert_allclose(likelihood.variance(f, scale), expected.var(), rtol=1e-10)
    for step in (-2.0, -0.5, 0.0, 0.5, 1.0):
        np.testing.assert_allclose(likelihood.cumulative(y + step, f, scale), expected.cdf(y + step), rtol=1e-9)


@every
def test_derivatives_in_own_parameters(likelihood):
    y, f, scale = make_rows(likelihood)
    for name in likelihood.own:
        by = likelihood.own_derivatives(name, y, f, scale)
        value = getattr(likelihood, name)
        ahead, behind = (
            likelihood.with_own(**{name: value * np.exp(sign * STEP)}).derivatives(y, f, scale) for sign in (1, -1)
        )
        for order in range(3):
            difference = (ahead[order] - behind[order]) / (2 * STEP)
            np.testing.assert_allclose(difference, by[order], atol=1e-7, rtol=1e-6)


@every
def test_safe_weights_are_positive_and_bound_the_log_density_from_below(likelihood):
    y, f, scale = make_rows(likelihood)
    assert (likelihood.safe_weights(y, f, scale) >= 0).all()
    if likelihood.name == "student_t":
        here, weight = likelihood.derivatives(y, f, scale), likelihood.safe_weights(y, f, scale)
        np.testing.assert_allclose(weight * (y - f), here.first)  # the bound touches on both sides of the target
        for step in (-1.0, 0.3, 2.0):
            bound = here.log_density + here.first * step - weight * step**2 / 2
            assert (likelihood.derivatives(y, f + step, scale).log_density >= bound - 1e-12).all()


@every
def test_predictions_equal_averages_over_many_draws_of_the_function(likelihood):
    """On a fine grid of quantiles of the function, which is as good as very many draws."""
    y, mean, scale = make_rows(likelihood, 12)
    variance = np.linspace(0.01, 0.4, 12)
    levels = (np.arange(20001) + 0.5) / 20001
    f = mean[:, None] + np.sqrt(variance)[:, None] * stats.norm.ppf(levels)
    column = scale[:, None] if np.ndim(scale) else scale
    density = np.exp(likelihood.derivatives(np.broadcast_to(y[:, None], f.shape), f, column).log_density)
    np.testing.assert_allclose(
        likelihood.log_predictive(y, mean, variance, scale), np.log(density.mean(axis=1)), atol=2e-3
    )
    center, std = likelihood.mean_and_std(mean, variance, scale)
    rate = likelihood.function(f, column)
    np.testing.assert_allclose(center, rate.mean(axis=1), rtol=2e-3, atol=2e-3)
    total = np.var(rate, axis=1) + likelihood.variance(f, column).mean(axis=1)
    np.testing.assert_allclose(std**2, total, rtol=2e-2)
    _, without = likelihood.mean_and_std(mean, variance, scale, noise=False)
    np.testing.assert_allclose(without**2, np.var(rate, axis=1), rtol=2e-2)


@every
def test_quantiles_reach_their_probabilities(likelihood):
    _, mean, scale = make_rows(likelihood, 12)
    variance = np.linspace(0.01, 1.5, 12)
    wanted = np.array([0.025, 0.5, 0.975])
    found = likelihood.quantiles(mean, variance, wanted, scale)
    levels = (np.arange(4001) + 0.5) / 4001
    f = mean[:, None] + np.sqrt(variance)[:, None] * stats.norm.ppf(levels)
    column = scale[:, None] if np.ndim(scale) else scale
    for i, level in enumerate(wanted):
        reached = likelihood.cumulative(found[:, i : i + 1], f, column).mean(axis=1)
        if likelihood.is_discrete:
            assert (found[:, i] == np.floor(found[:, i])).all()
            assert (reached >= level - 1e-4).all()
            below = likelihood.cumulative(found[:, i : i + 1] - 1, f, column).mean(axis=1)
            assert (below < level + 1e-4).all()
        else:
            np.testing.assert_allclose(reached, level, atol=1e-3)
    rate = likelihood.quantiles(mean, variance, wanted, scale, noise=False)
    np.testing.assert_allclose(rate[:, 1], likelihood.function(mean, scale))


@pytest.mark.parametrize("likelihood", [Poisson(), NegativeBinomial(dispersion=0.4)], ids=lambda one: one.name)
@pytest.mark.parametrize("variance", [0.6, 0.9, 4.0])
def test_hardly_known_counts_have_one_predictive_distribution(likelihood, variance):
    """Probabilities of all counts sum to one, and moments, quantiles and draws follow from them."""
    mean, variance, information = np.array([-0.5]), np.array([variance]), np.array([0.7 / variance])
    counts = np.arange(3000.0)
    alike = np.ones(len(counts))
    log_p = likelihood.log_predictive(counts, mean * alike, variance * alike, 1.0, information * alike)
    p = np.exp(log_p)
    assert p.sum() == pytest.approx(1.0, abs=1e-6)
    center, std = likelihood.mean_and_std(mean, variance, 1.0, True, information)
    assert p @ counts == pytest.approx(center[0], rel=1e-4)
    assert np.sqrt(p @ (counts - center) ** 2) == pytest.approx(std[0], rel=1e-3)
    cumulative = likelihood.cumulative_predictive(counts[:50], mean, variance, 1.0, information)
    np.testing.assert_allclose(np.cumsum(p)[:50], cumulative, atol=1e-6)
    levels = np.array([0.3, 0.5, 0.9, 0.975])
    found = likelihood.quantiles(mean, variance, levels, 1.0, True, information)[0]
    np.testing.assert_array_equal(found, np.searchsorted(np.cumsum(p), levels))
    f = mean[:, None] + np.sqrt(variance)[:, None] * stats.norm.ppf((np.arange(40001) + 0.5) / 40001)
    drawn = likelihood.function(skewed_values(f, mean, variance, information))
    rate_mean, rate_std = likelihood.mean_and_std(mean, variance, 1.0, False, information)
    assert drawn.mean() == pytest.approx(rate_mean[0], rel=1e-3)
    assert drawn.std() == pytest.approx(rate_std[0], rel=2e-2)
    rates = likelihood.quantiles(mean, variance, levels, 1.0, False, information)[0]
    np.testing.assert_allclose(np.quantile(drawn, levels), rates, rtol=2e-3)


def test_quantiles_of_large_counts_known_well_are_those_of_a_normal_count():
    rate = np.array([1e4])
    found = Poisson().quantiles(np.log(rate), np.array([1e-2]), np.array([0.5, 0.975]))
    assert found[0, 0] == pytest.approx(1e4, rel=1e-3)
    assert found[0, 1] == pytest.approx(1e4 * np.exp(0.1 * 1.96 + 0.0), rel=1e-2)


def test_the_log_density_of_a_surprise_is_not_cut_off():
    """A count far beyond what the function may be: the mass lies where no node of the function would be."""
    mean, variance, y = np.array([0.0]), np.array([0.01]), np.array([400.0])
    f = np.linspace(-1, 8, 200001)
    values = Poisson().derivatives(np.full_like(f, 400.0), f).log_density + stats.norm.logpdf(f, 0.0, 0.1)
    expected = np.log(np.sum(np.exp(values - values.max())) * (f[1] - f[0])) + values.max()
    assert Poisson().log_predictive(y, mean, variance)[0] == pytest.approx(expected, abs=1e-6)


def test_log_normal_is_normal_in_the_logarithm():
    y, mean, variance = np.array([2.0]), np.array([0.5]), np.array([0.1])
    expected = stats.lognorm.logpdf(2.0, np.sqrt(0.1 + 0.3), scale=np.exp(0.5))
    assert LogNormal(0.3).log_predictive(y, mean, variance)[0] == pytest.approx(expected)
    below = stats.lognorm.cdf(2.0, np.sqrt(0.1 + 0.3), scale=np.exp(0.5))
    assert LogNormal(0.3).cumulative_predictive(y, mean, variance)[0] == pytest.approx(below)
    assert Normal(0.3).cumulative_predictive(np.log(y), mean, variance)[0] == pytest.approx(below)


def test_noise_of_two_degrees_of_freedom_has_no_variance():
    assert StudentT(noise_variance=1.0, dof=2.0).variance(np.zeros(1))[0] == np.inf


def test_no_function_gives_no_error():
    assert Poisson().mean_and_std(np.array([0.0]), np.array([0.0]), noise=False)[1] == 0
    assert Bernoulli().log_predictive(np.array([1.0]), np.array([0.3]), np.array([0.0]))[0] == pytest.approx(
        np.log(1 / (1 + np.exp(-0.3)))
    )


@pytest.mark.parametrize(
    ("name", "bad", "value"),
    [
        ("poisson", -1.0, "-1"),
        ("negative_binomial", 2.5, "2.5"),
        ("gamma", 0.0, "0"),
        ("bernoulli", 0.5, "0.5"),
    ],
)
def test_a_target_outside_the_support_is_refused_by_row(name, bad, value):
    y = np.ones(5)
    y[3] = bad
    with pytest.raises(ValueError, match=rf"row 13 is {value}"):
        check_likelihood(name).check(y, first_row=10)


def test_names_and_parameters_are_checked():
    with pytest.raises(ValueError, match="'binomial'"):
        check_likelihood("binomial")
    with pytest.raises(ValueError, match="dispersion must be a positive number"):
        NegativeBinomial(dispersion=-1.0)
    with pytest.raises(ValueError, match="dof must be a positive number"):
        StudentT(dof=0.0)


@pytest.mark.parametrize("likelihood", OBJECTS[1:], ids=lambda one: one.name)
def test_likelihoods_survive_storage(likelihood):
    again = likelihood_from_json(likelihood_to_json(likelihood))
    assert type(again) is type(likelihood)
    assert likelihood_to_json(again) == likelihood_to_json(likelihood)
