"""Learning by evidence: its gradients, its schedule and its outcome."""

import numpy as np
import pytest

from tests.exact_regression import HEXAGONAL, central_differences, exact_log_evidence
from torusgp import SufficientStatistics, TorusKernel
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting import learning
from torusgp.fitting.learning import (
    LEARNABLE,
    Hyperparameters,
    KernelTemplate,
    PeriodMoves,
    _Objective,
    column_variances,
    learn,
    learn_spectrum,
    log_evidence_and_gradient,
    maximise,
    period_standard_errors,
)
from torusgp.fitting.rows import Compute, Rows, RowSource
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern

TEMPLATES = {
    "1-D": (KernelTemplate(SquaredExponential(), 1, None), 2.0, 1),
    "anisotropic": (KernelTemplate(Matern(1.5), 2, None), np.array([2.0, 3.0]), 2),
    "one length scale for two dimensions": (KernelTemplate(SquaredExponential(), 2, None), 2.0, 1),
    "hexagonal": (KernelTemplate(RationalQuadratic(0.7), 2, None), np.array(HEXAGONAL), 2),
    "additive": (KernelTemplate(SquaredExponential(), 3, 1), 1.0, 3),
    "pairs": (KernelTemplate(TorusMatern(2.5), 3, 2), 1.0, 3),
    "mixed": (KernelTemplate((SquaredExponential(), Matern(0.5), Heat()), 3, None), 1.0, 3),
    "Cartesian heat": (KernelTemplate(Heat("cartesian"), 2, None), np.array(HEXAGONAL), 1),
    "Cartesian Matern": (KernelTemplate(TorusMatern(1.5, "cartesian"), 2, None), np.array(HEXAGONAL), 1),
}


def make_rows(dimension, n_outputs=2, n=80):
    rng = np.random.default_rng(dimension)
    X = rng.uniform(size=(n, dimension))
    waves = np.sin(2 * np.pi * X @ rng.integers(-2, 3, (dimension, n_outputs)))
    return X, waves + 0.3 * rng.normal(size=(n, n_outputs))


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_gradient_is_the_difference_of_the_evidence(name, backend):
    template, period, n_scales = TEMPLATES[name]
    X, y = make_rows(template.dimension)
    length_scale = np.array([0.3] if "Cartesian" in name else [0.6, 0.9, 0.7][:n_scales])
    here = Hyperparameters(length_scale, np.array([0.8, 1.3]), np.array([0.1, 0.2]), period)
    index_set = adaptive(template.kernel(here), 41, dimension=template.dimension)
    linear, _ = SufficientStatistics.from_data(X, y, index_set, period=period, backend=backend).linear()

    def value(vector):
        there = here.with_vector(vector, LEARNABLE)
        return log_evidence_and_gradient(linear, template, index_set.frequencies, there)[0]

    total, gradient = log_evidence_and_gradient(linear, template, index_set.frequencies, here)
    vector = np.concatenate([gradient[name] for name in LEARNABLE])
    differences = central_differences(value, here.to_vector(LEARNABLE))
    np.testing.assert_allclose(vector, differences, rtol=1e-6, atol=1e-6)
    assert total == pytest.approx(value(here.to_vector(LEARNABLE)), rel=1e-14)


def test_evidence_of_several_outputs_is_the_sum():
    template = TEMPLATES["1-D"][0]
    X, y = make_rows(1)
    frequencies = tensor(1, 6).frequencies
    both = Hyperparameters(np.array([0.5]), np.array([0.8, 1.3]), np.array([0.1, 0.2]), 2.0)
    linear, _ = SufficientStatistics.from_data(X, y, tensor(1, 6), period=2.0).linear()
    parts = 0.0
    for output in range(2):
        alone, _ = SufficientStatistics.from_data(X, y[:, output], tensor(1, 6), period=2.0).linear()
        one = Hyperparameters(both.length_scale, both.signal_variance[[output]], both.noise_variance[[output]], 2.0)
        parts += log_evidence_and_gradient(alone, template, frequencies, one)[0]
    assert log_evidence_and_gradient(linear, template, frequencies, both)[0] == pytest.approx(parts, rel=1e-13)


def make_moves(name, dimension):
    """All entries of the inverse cell, or the diagonal ones, or some of these."""
    if name in ("hexagonal", "Cartesian heat", "Cartesian Matern"):
        return PeriodMoves(np.ones((dimension, dimension), bool), np.ones(dimension))
    free = np.eye(dimension, dtype=bool)
    free[-1, -1] = dimension < 3
    return PeriodMoves(free, np.linspace(1.0, 2.0, dimension))


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("backend", ["dense", "finufft"])
@pytest.mark.parametrize("center", [True, False])
def test_gradient_in_the_period_is_the_difference_of_the_evidence(name, backend, center):
    template, period, n_scales = TEMPLATES[name]
    X, y = make_rows(template.dimension, n=40)
    rng = np.random.default_rng(1)
    rows = Rows(X, y + 3, rng.uniform(0.5, 2, len(X)), rng.uniform(0.5, 2, len(X)))
    source = RowSource(rows, Compute(backend, 1), center, "adaptive")
    length_scale = np.array([0.3] if "Cartesian" in name else [0.6, 0.9, 0.7][:n_scales])
    period = period if np.ndim(period) == 2 else np.broadcast_to(period, template.dimension)
    here = Hyperparameters(length_scale, np.array([0.8, 1.3]), np.array([0.1, 0.2]), period)
    index_set = adaptive(template.kernel(here), 21, dimension=template.dimension)
    moves = make_moves(name, template.dimension)
    objective = _Objective(source, template, index_set, here, LEARNABLE, moves)
    point = np.append(here.to_vector(LEARNABLE), rng.uniform(-0.3, 0.3, moves.size))
    value, gradient = objective(point)
    differences = central_differences(lambda vector: objective(vector)[0], point)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=2e-6 * np.abs(gradient).max())
    moved = objective.hyperparameters(point)
    linear = source(index_set, template.kernel(moved))
    assert -value == pytest.approx(log_evidence_and_gradient(linear, template, index_set.frequencies, moved)[0])


def test_a_period_is_learned_with_everything_else():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 30, (400, 2))
    true = np.array([[3.0, 0.4], [-0.5, 2.2]])
    phases = 2 * np.pi * X @ np.linalg.inv(true)
    y = np.sin(phases[:, :1]) + np.cos(phases @ [[1], [1]]) + 0.3 * rng.normal(size=(400, 1))
    template = KernelTemplate(SquaredExponential(), 2, None)
    moves = PeriodMoves(np.ones((2, 2), bool), np.ptp(X, axis=0))
    off = moves.period(np.array([0.5, -0.4, 0.3, 0.6]), true)
    start = Hyperparameters(np.ones(2), np.ones(1), np.full(1, 0.5), off)
    bounds = {"length_scale": (1e-2, 1e2), "signal_variance": (1e-4, 1e4), "noise_variance": (1e-8, 10.0)}
    source = RowSource(Rows(X, y, None, None), Compute("auto", 1), True, "adaptive")
    found = learn(source, adaptive, template, start, LEARNABLE, bounds, 41, lambda line: None, moves=moves)
    std = period_standard_errors(source, template, found, moves)
    assert np.abs(found.hyperparameters.period - true).max() < 0.02
    assert (np.abs(found.hyperparameters.period - true) < 4 * std).all()


def test_standard_errors_are_those_of_repeated_experiments():
    errors, stated = [], []
    template = KernelTemplate(SquaredExponential(), 1, None)
    moves = PeriodMoves(np.ones((1, 1), bool), np.array([20.0]))
    bounds = {"length_scale": (1e-1, 1e1), "signal_variance": (1e-4, 1e4), "noise_variance": (1e-8, 10.0)}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 20, (120, 1))
        y = np.sin(2 * np.pi * X / 1.7) + 0.5 * np.cos(4 * np.pi * X / 1.7) + 0.5 * rng.normal(size=(120, 1))
        source = RowSource(Rows(X, y, None, None), Compute("dense", 1), True, tensor(1, 3))
        start = Hyperparameters(np.ones(1), np.ones(1), np.full(1, 0.25), 1.7)
        found = maximise(source, template, tensor(1, 3), start, LEARNABLE, bounds, moves)
        errors.append(found.hyperparameters.period - 1.7)
        stated.append(period_standard_errors(source, template, found, moves))
    assert np.std(errors) == pytest.approx(np.mean(stated), rel=0.3)  # of 60 experiments


@pytest.mark.parametrize("name", ["anisotropic", "additive", "Cartesian heat"])
def test_column_variances_give_the_kernel_of_the_set(name):
    template, period, n_scales = TEMPLATES[name]
    kernel = template.kernel(Hyperparameters(np.full(n_scales, 0.8), np.ones(1), np.ones(1), period))
    index_set = adaptive(kernel, 301, dimension=template.dimension)
    variances = column_variances(kernel, index_set.frequencies)
    assert variances[0] + variances[1::2].sum() == pytest.approx(1 - kernel.truncation_error(index_set), abs=1e-12)


def test_names_select_what_moves():
    template = TEMPLATES["1-D"][0]
    X, y = make_rows(1, 1)
    linear, _ = SufficientStatistics.from_data(X, y, tensor(1, 8), period=2.0).linear()
    start = Hyperparameters(np.array([0.5]), np.array([1.0]), np.array([0.3]), 2.0)
    bounds = {name: (1e-3, 1e3) for name in LEARNABLE}
    found = maximise(lambda *_: linear, template, tensor(1, 8), start, ("noise_variance",), bounds)
    assert found.hyperparameters.length_scale == start.length_scale
    assert found.hyperparameters.signal_variance == start.signal_variance
    assert found.hyperparameters.noise_variance != start.noise_variance
    _, gradient = log_evidence_and_gradient(linear, template, tensor(1, 8).frequencies, found.hyperparameters)
    assert abs(gradient["noise_variance"][0]) < 1e-2


def test_bounds_hold():
    template = TEMPLATES["1-D"][0]
    X, y = make_rows(1, 1)
    linear, _ = SufficientStatistics.from_data(X, y, tensor(1, 8), period=2.0).linear()
    start = Hyperparameters(np.array([0.5]), np.array([1.0]), np.array([0.3]), 2.0)
    bounds = {"length_scale": (5.0, 6.0), "signal_variance": (0.5, 2.0), "noise_variance": (1.0, 2.0)}
    found = maximise(lambda *_: linear, template, tensor(1, 8), start, LEARNABLE, bounds).hyperparameters
    for name in LEARNABLE:
        low, high = bounds[name]
        assert low * (1 - 1e-12) <= getattr(found, name)[0] <= high * (1 + 1e-12)


def learn_rows(X, y, length_scale, n_components, search=True, dimension=2):
    template = KernelTemplate(SquaredExponential(), dimension, None)
    source = RowSource(Rows(X, y, None, None), Compute("auto", 1), True, "adaptive")
    start = Hyperparameters(np.full(dimension, length_scale), np.array([1.0]), np.array([0.1]), 1.0)
    bounds = {"length_scale": (1e-2, 1e2), "signal_variance": (1e-4, 1e4), "noise_variance": (1e-8, 10.0)}
    lines = []

    def select(kernel, size):
        return adaptive(kernel, size, dimension=dimension)

    return learn(source, select, template, start, LEARNABLE, bounds, n_components, lines.append, search=search), lines


def anisotropic_draw(length_scale=(0.3, 1.5), n=500):
    rng = np.random.default_rng(8)
    X = rng.uniform(size=(n, 2))
    factor = np.linalg.cholesky(TorusKernel(length_scale=length_scale)(X) + 1e-10 * np.eye(n))
    return X, (factor @ rng.normal(size=n) + 0.1 * rng.normal(size=n))[:, None]


def test_anisotropic_length_scales_are_recovered_and_the_set_moves_with_them():
    learned, _ = learn_rows(*anisotropic_draw(), length_scale=1.0, n_components=301)
    np.testing.assert_allclose(learned.hyperparameters.length_scale, [0.3, 1.5], rtol=0.25)
    reach = np.abs(learned.index_set.frequencies).max(axis=0)
    assert reach[0] > 2 * reach[1]


@pytest.mark.parametrize("start", [0.05, 0.3, 10.0])
def test_the_outcome_does_not_depend_on_the_start(start):
    X, y = anisotropic_draw((0.4, 0.8))
    one, _ = learn_rows(X, y, start, 301)
    other, _ = learn_rows(X, y, 0.5, 301)
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=0.5)


def test_the_set_stays_small_for_a_smooth_function():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2))
    y = np.sin(2 * np.pi * X[:, [0]]) + 0.1 * rng.normal(size=(500, 1))
    learned, _ = learn_rows(X, y, 1.0, "auto")
    assert learned.index_set.n_components <= 101
    assert not learned.capped
    error = TorusKernel(length_scale=learned.hyperparameters.length_scale).truncation_error(learned.index_set)
    assert error * learned.hyperparameters.signal_variance[0] < 0.01 * learned.hyperparameters.noise_variance[0]


def test_the_set_grows_for_a_rough_function():
    learned, lines = learn_rows(*anisotropic_draw((0.25, 0.25), 800), 1.0, "auto")
    assert learned.index_set.n_components > 200
    assert lines


def test_the_cap_is_told(monkeypatch):
    monkeypatch.setattr(learning, "MAX_COMPONENTS", 150)
    learned, _ = learn_rows(*anisotropic_draw((0.1, 0.1), 1500), 1.0, "auto")
    assert learned.capped


@pytest.mark.parametrize("learn_noise", [False, True])
def test_evidence_never_falls_while_the_spectrum_is_learned(learn_noise):
    X, y = make_rows(2)
    index_set = hyperbolic_cross(2, 5)
    kernel = TorusKernel(length_scale=1.0)
    linear, _ = SufficientStatistics.from_data(X, y, index_set).linear()
    prior = np.repeat(column_variances(kernel, index_set.frequencies)[:, None], 2, axis=1)
    pairs = (np.arange(len(prior)) + 1) // 2
    noise = np.array([0.1, 0.1])
    new_prior, new_noise, history = learn_spectrum(linear, prior, noise, pairs, learn_noise, lambda line: None)
    assert (np.diff(history) > -1e-8).all()
    assert history[-1] > history[0] + 1
    np.testing.assert_array_equal(new_prior[1::2], new_prior[2::2])
    assert learn_noise or (new_noise == noise).all()


def test_evidence_of_the_learned_values_is_the_exact_one():
    X, y = anisotropic_draw((0.6, 0.9), 200)
    learned, _ = learn_rows(X, y, 1.0, 501)
    values = learned.hyperparameters
    exact = exact_log_evidence(
        TorusKernel(length_scale=values.length_scale),
        X,
        y[:, 0] - y.mean(),
        values.signal_variance[0],
        values.noise_variance[0],
    )
    assert learned.log_evidence == pytest.approx(exact, abs=1e-4)


def test_an_interaction_of_three_without_effects_of_fewer_is_found():
    """Dimensions that matter together only must not be given up while the set is too small to show them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 6))
    phases = 2 * np.pi * X
    y = np.sin(phases[:, 0] + phases[:, 1]) * np.cos(phases[:, 2]) + 0.5 * np.cos(phases[:, 3] - phases[:, 4])
    model = TorusGPRegressor(n_components=301).fit(X[:2000], y[:2000] + 0.1 * rng.normal(size=2000))
    assert model.score(X[2000:], y[2000:]) > 0.97
