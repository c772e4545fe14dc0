"""Working rows of likelihoods: their fixed point is the mode, and their parameters are those of rows left out."""

import numpy as np
import pytest

from torusgp import Anova, Circle, CorrelatedNoise, Line, TorusGPRegressor, Walk
from torusgp.engine.inference import evidence
from torusgp.fitting.anova.observations import LikelihoodRows
from torusgp.fitting.anova.prior import AnovaPrior
from torusgp.fitting.anova.rows import BlockedRows, LeftOut
from torusgp.fitting.likelihoods import Bernoulli, Gamma, NegativeBinomial, Poisson, StudentT
from torusgp.kernels.anova import CentredAxis
from torusgp.kernels.spectra import Heat
from torusgp.kernels.torus import Axis

N_ROWS = 400
LIKELIHOODS = {
    "poisson": Poisson(),
    "negative_binomial": NegativeBinomial(dispersion=0.4),
    "bernoulli": Bernoulli(),
    "gamma": Gamma(shape=2.0),
    "student_t": StudentT(noise_variance=0.1, dof=4.0),
}


@pytest.fixture
def x():
    return np.random.default_rng(0).uniform(0, 2 * np.pi, (N_ROWS, 1))


def draw(likelihood, f, seed=1):
    return likelihood.sample(f, np.random.RandomState(seed))


def pool_of(x):
    prior = AnovaPrior((CentredAxis.of(Axis("x", "circle", 0), 2 * np.pi, Heat(), x[:, 0]),), ((0,),))
    basis = prior.largest(prior.start, 21)
    return prior, basis, prior.variances(basis, prior.start)


@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_the_fixed_point_of_working_rows_is_the_mode(likelihood, x):
    """Where the gradient of the log density and of the prior cancel."""
    y = draw(likelihood, 0.5 + np.sin(x[:, 0]))
    rows, (_, basis, variances) = LikelihoodRows.of(likelihood, y, np.ones(N_ROWS)), pool_of(x)
    blocked, values = BlockedRows.of(x), None
    for _ in range(60):
        result = evidence(blocked.sums(basis, rows.working(values)).total, variances, 1.0)
        values = blocked.values(basis, result.weights)
    slope = rows.unit * likelihood.derivatives(y, rows.function(values), 1.0).first
    assert basis.columns(x).T @ slope == pytest.approx(result.weights / variances, abs=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS)
def test_weights_are_expected_second_derivatives(likelihood):
    f = np.linspace(-1.5, 1.5, 7)
    random = np.random.RandomState(0)
    drawn = likelihood.sample(np.tile(f, (200_000, 1)), random)
    second = -likelihood.derivatives(drawn, np.broadcast_to(f, drawn.shape)).second.mean(axis=0)
    assert likelihood.fisher(f) == pytest.approx(second, rel=0.03)


@pytest.mark.parametrize(
    ("truth", "asked"),
    [
        (NegativeBinomial(dispersion=0.4), NegativeBinomial()),
        (Gamma(shape=3.0), Gamma()),
        (StudentT(noise_variance=0.2, dof=4.0), StudentT()),
    ],
    ids=["dispersion", "shape", "scale and degrees of freedom"],
)
def test_parameters_are_learned_from_rows_that_took_no_part(truth, asked):
    rng = np.random.default_rng(0)
    f = 1.0 + np.sin(rng.uniform(0, 2 * np.pi, 20_000))
    rows = LikelihoodRows.of(asked, draw(truth, f), np.ones(len(f)))
    known = LeftOut((f - rows.offset) / rows.unit, np.full(len(f), 1e-8), np.arange(len(f)))
    for _ in range(6):
        rows = rows.updated(known)
    for name in asked.learned:
        found, expected = getattr(rows.likelihood, name), getattr(truth, name)
        assert found == pytest.approx(expected, rel=0.35 if name == "dof" else 0.12)


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "gamma", "student_t"])
def test_a_regressor_knows_its_function(name):
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(0, 24, 1500), rng.uniform(0, 1, 1500)])
    f = 1.5 + np.sin(2 * np.pi * X[:, 0] / 24) + X[:, 1] ** 2
    y = draw(LIKELIHOODS[name], f)
    model = TorusGPRegressor(Anova([Circle(0, 24), Line(1)]), likelihood=name).fit(X, y)
    mean, std = model.predict_latent(X, return_std=True)
    assert np.sqrt(np.mean((mean - f) ** 2)) < 0.12
    assert 0.85 < np.mean(np.abs(mean - f) < 1.96 * std) <= 1
    low, high = model.predict_quantiles(X, (0.05, 0.95)).T
    assert 0.86 < np.mean((y >= low) & (y <= high)) < 0.97
    assert np.isfinite(model.log_predictive_density(X, y)).all()


def test_exposures_are_those_of_rows():
    rng = np.random.default_rng(3)
    X, exposure = rng.uniform(0, 24, (1200, 1)), rng.uniform(0.2, 5, 1200)
    rate = np.exp(np.sin(2 * np.pi * X[:, 0] / 24))
    y = rng.poisson(exposure * rate)
    model = TorusGPRegressor(Anova([Circle(0, 24)]), likelihood="poisson").fit(X, y, exposure=exposure)
    assert np.sqrt(np.mean((model.predict_latent(X) - np.log(rate)) ** 2)) < 0.1
    assert model.predict(X, exposure=2.0) == pytest.approx(2 * model.predict(X), rel=1e-9)


def test_files_keep_the_likelihood(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 24, (300, 1))
    y = rng.poisson(np.exp(1 + np.sin(2 * np.pi * X[:, 0] / 24)))
    model = TorusGPRegressor(Anova([Circle(0, 24)]), likelihood="negative_binomial").fit(X, y)
    model.save(tmp_path / "counts.tgp")
    found = TorusGPRegressor.load(tmp_path / "counts.tgp")
    assert found.likelihood_ == model.likelihood_
    assert np.array_equal(found.predict_quantiles(X), model.predict_quantiles(X))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.6, 3.0, 20.0])
def test_effects_of_counts_with_lasting_errors_hold_what_they_claim(rate):
    """Hourly counts of a Poisson process whose log rate is autocorrelated; of independent rows .72 to .86 hold."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        hours = np.arange(1200.0)
        error = np.zeros(len(hours))
        for i in range(1, len(hours)):
            error[i] = 0.8 * error[i - 1] + 0.3 * rng.normal()
        effect = 0.5 * np.sin(2 * np.pi * hours / 24) + 0.3 * np.cos(2 * np.pi * hours / 168)
        y = rng.poisson(rate * np.exp(effect + error))
        X = np.column_stack([hours % 24, hours % 168, hours])
        axes = Anova([Circle(0, 24), Circle(1, 168), Walk(2)], order=1)
        model = TorusGPRegressor(axes, likelihood="poisson", noise=CorrelatedNoise(2)).fit(X, y)
        parts, std = model.predict_parts(X[:168], return_std=True)
        day = 0.5 * np.sin(2 * np.pi * hours[:168] / 24)
        held.append(np.mean(np.abs(parts[:, 0] - day) < 1.96 * std[:, 0]))
    assert 0.88 <= np.mean(held) <= 0.99
