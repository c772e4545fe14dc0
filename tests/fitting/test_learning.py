"""Learning by evidence: its gradients, its schedule and its outcome."""

from dataclasses import replace

import numpy as np
import pytest

from tests.exact_regression import HEXAGONAL, central_differences, exact_log_evidence
from tests.expressions import circles, column_variances, lattice, prior_of
from torusgp import Category, Circle, Line, Slope, SufficientStatistics, TorusKernel
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.learning import (
    Objective,
    learn_spectrum,
    log_evidence_and_gradient,
    maximise,
    period_standard_errors,
)
from torusgp.fitting.line_circles import LineCircles
from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.prior import NOISE, scale_name
from torusgp.fitting.rows import Compute, Rows, RowSource
from torusgp.fitting.schedule import Schedule
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, TorusMatern

HOUR = Circle(0, 2.0, length_scale=0.6)
MODELS = {
    "1-D": circles(2.0, length_scale=0.6),
    "anisotropic": circles([2.0, 3.0], family=Matern(1.5), length_scale=[0.6, 0.9]),
    "hexagonal": lattice(HEXAGONAL, family=RationalQuadratic(0.7), length_scale=0.6),
    "additive": circles([1.0] * 3, length_scale=[0.6, 0.9, 0.7]).limited(1),
    "pairs": circles([1.0] * 3, family=TorusMatern(2.5), length_scale=[0.6, 0.9, 0.7]).limited(2),
    "mixed": circles([1.0] * 3, family=["squared_exponential", Matern(0.5), Heat()], length_scale=[0.6, 0.9, 0.7]),
    "Cartesian heat": lattice(HEXAGONAL, family=Heat("cartesian"), length_scale=0.3),
    "Cartesian Matern": lattice(HEXAGONAL, family=TorusMatern(1.5, "cartesian"), length_scale=0.3),
    "line": Line(0, "matern52", length_scale=0.4, range=(0, 1)),
    "sum": HOUR * Line(1, length_scale=0.5, range=(0, 1)) + HOUR + Line(1, "matern32", length_scale=2.0, range=(0, 1)),
    "category": HOUR * Category(1, levels=[0, 1, 2], correlation=0.3),
    "slopes": HOUR + Slope(1, learned=True) + Slope(0),
    "lattice beside a line": lattice(HEXAGONAL, length_scale=0.6) + Line(1, length_scale=0.5, range=(0, 1)),
}
PERIODIC = [name for name in MODELS if name not in ("line", "sum", "category", "slopes", "lattice beside a line")]
LEARNED = ("length_scale", "signal_variance", "noise_variance")


def make_problem(name):
    """Prior for two outputs, its parameters, and how many inputs it has."""
    prior, parameters = prior_of(MODELS[name], variance=[0.8, 1.3], noise=[0.1, 0.2], intercept=name != "additive")
    return prior, parameters, len(prior.torus.names)


def make_inputs(name, n=80):
    """Inputs, coordinates on the axes and plain columns."""
    prior, parameters, n_inputs = make_problem(name)
    X = np.random.default_rng(n_inputs).uniform(size=(n, n_inputs))
    if name == "category":
        X[:, 1] = np.floor(3 * X[:, 1])
    plain = np.stack([X[:, column.input] for column in prior.columns], axis=1) if prior.columns else None
    return prior.torus.coordinates(X, parameters.period), plain


def make_targets(X, n_outputs=2):
    rng = np.random.default_rng(7)
    waves = np.sin(2 * np.pi * X @ rng.integers(-2, 3, (X.shape[1], n_outputs)))
    return waves + 0.3 * rng.normal(size=(len(X), n_outputs))


def make_rows(dimension, n_outputs=2, n=80):
    rng = np.random.default_rng(dimension)
    X = rng.uniform(size=(n, dimension))
    waves = np.sin(2 * np.pi * X @ rng.integers(-2, 3, (dimension, n_outputs)))
    return X, waves + 0.3 * rng.normal(size=(n, n_outputs))


def everything(parameters):
    """The same parameters, all of them learned."""
    entries = {}
    for name in parameters:
        value = parameters[name]
        entries[name] = Parameter.make(value, (1e-6 * value, 1e6 * value), True)
    return Parameters(entries, parameters.period)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_gradient_is_the_difference_of_the_evidence(name, backend):
    prior, parameters, _ = make_problem(name)
    here = everything(parameters)
    X, plain = make_inputs(name)
    y = make_targets(X)
    index_set = prior.select(here, 41)
    linear, _ = SufficientStatistics.from_data(
        X, y, index_set, period=here.period, plain=plain, backend=backend
    ).linear()

    def value(vector):
        return log_evidence_and_gradient(linear, prior, index_set.frequencies, here.with_vector(vector))[0]

    total, gradient = log_evidence_and_gradient(linear, prior, index_set.frequencies, here)
    assert gradient.keys() == set(here)
    differences = central_differences(value, here.to_vector())
    np.testing.assert_allclose(here.pack(gradient), differences, rtol=1e-6, atol=2e-6)
    assert total == pytest.approx(value(here.to_vector()), rel=1e-14)


@pytest.mark.parametrize("name", ["anisotropic", "pairs"])
def test_one_length_scale_may_stand_for_all(name):
    prior, parameters, dimension = make_problem(name)
    (term,) = prior.terms
    here = everything(parameters.with_value(scale_name(term), [0.7]))
    X, y = make_rows(dimension)
    index_set = prior.select(here, 41)
    linear, _ = SufficientStatistics.from_data(X, y, index_set, period=here.period).linear()

    def value(vector):
        return log_evidence_and_gradient(linear, prior, index_set.frequencies, here.with_vector(vector))[0]

    gradient = here.pack(log_evidence_and_gradient(linear, prior, index_set.frequencies, here)[1])
    np.testing.assert_allclose(gradient, central_differences(value, here.to_vector()), rtol=1e-6, atol=1e-6)


def test_evidence_of_several_outputs_is_the_sum():
    X, y = make_rows(1)
    frequencies = tensor(1, 6).frequencies
    linear, _ = SufficientStatistics.from_data(X, y, tensor(1, 6), period=2.0).linear()
    both = log_evidence_and_gradient(
        linear, *with_frequencies(prior_of(MODELS["1-D"], variance=[0.8, 1.3], noise=[0.1, 0.2]), frequencies)
    )
    parts = 0.0
    for output, (variance, noise) in enumerate(((0.8, 0.1), (1.3, 0.2))):
        alone, _ = SufficientStatistics.from_data(X, y[:, output], tensor(1, 6), period=2.0).linear()
        one = prior_of(MODELS["1-D"], variance=variance, noise=noise)
        parts += log_evidence_and_gradient(alone, *with_frequencies(one, frequencies))[0]
    assert both[0] == pytest.approx(parts, rel=1e-13)


def with_frequencies(problem, frequencies):
    prior, parameters = problem
    return prior, frequencies, parameters


def make_moves(prior):
    """All entries of the inverse cell of a lattice, or of circles all periods but the last of three."""
    dimension = prior.torus.dimension
    periodic = np.array([axis.kind in ("circle", "lattice") for axis in prior.torus.axes])
    if len(prior.torus.kinds("lattice")):
        return PeriodMoves(np.outer(periodic, periodic), np.ones(dimension))
    free = np.diag(periodic)
    free[-1, -1] &= dimension < 3
    return PeriodMoves(free, np.linspace(1.0, 2.0, dimension))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "line"])
@pytest.mark.parametrize("backend", ["dense", "finufft"])
@pytest.mark.parametrize("center", [True, False])
def test_gradient_in_the_period_is_the_difference_of_the_evidence(name, backend, center):
    prior, parameters, _ = make_problem(name)
    here = everything(parameters)
    X, plain = make_inputs(name, 40)
    rng = np.random.default_rng(1)
    rows = Rows(X, make_targets(X) + 3, rng.uniform(0.5, 2, len(X)), rng.uniform(0.5, 2, len(X)), plain)
    source = RowSource(rows, prior, Compute(backend, 1), center, "adaptive")
    index_set = prior.select(here, 21)
    moves = make_moves(prior)
    objective = Objective(source, prior, index_set, here, moves)
    point = np.append(here.to_vector(), rng.uniform(-0.3, 0.3, moves.size))
    value, gradient = objective(point)
    differences = central_differences(lambda vector: objective(vector)[0], point)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=2e-6 * np.abs(gradient).max())
    moved = objective.parameters(point)
    linear = source(index_set, moved)
    assert -value == pytest.approx(log_evidence_and_gradient(linear, prior, index_set.frequencies, moved)[0])


def silent(line):
    """A report that nobody reads."""


def test_a_period_is_learned_with_everything_else():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 30, (400, 2))
    true = np.array([[3.0, 0.4], [-0.5, 2.2]])
    phases = 2 * np.pi * X @ np.linalg.inv(true)
    y = np.sin(phases[:, :1]) + np.cos(phases @ [[1], [1]]) + 0.3 * rng.normal(size=(400, 1))
    moves = PeriodMoves(np.ones((2, 2), bool), np.ptp(X, axis=0))
    off = moves.period(np.array([0.5, -0.4, 0.3, 0.6]), true)
    prior, start = prior_of(lattice(off), noise=0.5)
    source = RowSource(Rows(X, y), prior, Compute("auto", 1), True, "adaptive")
    found = Schedule(source, prior.select, prior, silent, moves).learn(start, 41)
    std = period_standard_errors(source, prior, found, moves)
    assert np.abs(found.parameters.period - true).max() < 0.02
    assert (np.abs(found.parameters.period - true) < 4 * std).all()


def test_standard_errors_are_those_of_repeated_experiments():
    errors, stated = [], []
    moves = PeriodMoves(np.ones((1, 1), bool), np.array([20.0]))
    prior, start = prior_of(circles(1.7, bounds=(0.1, 10.0)), noise=0.25)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 20, (120, 1))
        y = np.sin(2 * np.pi * X / 1.7) + 0.5 * np.cos(4 * np.pi * X / 1.7) + 0.5 * rng.normal(size=(120, 1))
        source = RowSource(Rows(X, y), prior, Compute("dense", 1), True, tensor(1, 3))
        found = maximise(source, prior, tensor(1, 3), start, moves)
        errors.append(found.parameters.period[0] - 1.7)
        stated.append(period_standard_errors(source, prior, found, moves)[0])
    assert np.std(errors) == pytest.approx(np.mean(stated), rel=0.3)  # of 60 experiments


@pytest.mark.parametrize("name", ["anisotropic", "additive", "Cartesian heat", "sum", "category"])
def test_variances_of_the_columns_give_the_kernel_of_the_set(name):
    prior, parameters = prior_of(MODELS[name], variance=0.7)
    index_set = prior.select(parameters, 301)
    variances = prior.variances(parameters, index_set.frequencies)[:, 0]
    whole = prior.signal_variances(parameters).sum()
    left_out = prior.truncation_error(parameters, index_set)[0]
    assert variances[0] + variances[1::2].sum() == pytest.approx(whole - left_out, abs=1e-12)


def test_names_select_what_moves():
    X, y = make_rows(1, 1)
    linear, _ = SufficientStatistics.from_data(X, y, tensor(1, 8), period=2.0).linear()
    prior, start = prior_of(MODELS["1-D"], noise=0.3, learn=("noise_variance",))
    found = maximise(lambda *_: linear, prior, tensor(1, 8), start)
    for name in start:
        assert (found.parameters[name] == start[name]).all() == (name != NOISE)
    _, gradient = log_evidence_and_gradient(linear, prior, tensor(1, 8).frequencies, found.parameters)
    assert abs(gradient[NOISE][0]) < 1e-2


def test_bounds_hold():
    X, y = make_rows(1, 1)
    linear, _ = SufficientStatistics.from_data(X, y, tensor(1, 8), period=2.0).linear()
    prior, start = prior_of(MODELS["1-D"], noise=0.3)
    bounds = dict(zip(start, ((5.0, 6.0), (0.5, 2.0), (1.0, 2.0)), strict=True))
    start = Parameters({name: Parameter.make(start[name], bounds[name]) for name in start}, start.period)
    found = maximise(lambda *_: linear, prior, tensor(1, 8), start).parameters
    for name, (low, high) in bounds.items():
        assert low * (1 - 1e-12) <= found[name][0] <= high * (1 + 1e-12)


def learn_rows(X, y, length_scale, n_components, search=True, cap=2000):
    """Learn one product of circles of period one: the outcome, its length scales, and what was reported."""
    prior, start = prior_of(circles(np.ones(X.shape[1]), length_scale=length_scale))
    source = RowSource(Rows(X, y), prior, Compute("auto", 1), True, "adaptive")
    lines = []
    schedule = Schedule(source, prior.select, prior, lines.append)
    learned = schedule.learn(start, n_components, search=search, cap=cap)
    return learned, learned.parameters[scale_name(prior.terms[0])], lines


def anisotropic_draw(length_scale=(0.3, 1.5), n=500):
    rng = np.random.default_rng(8)
    X = rng.uniform(size=(n, 2))
    factor = np.linalg.cholesky(TorusKernel(length_scale=length_scale, period=1.0)(X) + 1e-10 * np.eye(n))
    return X, (factor @ rng.normal(size=n) + 0.1 * rng.normal(size=n))[:, None]


def test_anisotropic_length_scales_are_recovered_and_the_set_moves_with_them():
    learned, scales, _ = learn_rows(*anisotropic_draw(), length_scale=1.0, n_components=301)
    np.testing.assert_allclose(scales, [0.3, 1.5], rtol=0.25)
    reach = np.abs(learned.index_set.frequencies).max(axis=0)
    assert reach[0] > 2 * reach[1]


@pytest.mark.parametrize("start", [0.05, 0.3, 10.0])
def test_the_outcome_does_not_depend_on_the_start(start):
    X, y = anisotropic_draw((0.4, 0.8))
    one, other = (learn_rows(X, y, scale, 301)[0] for scale in (start, 0.5))
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=0.5)


def test_the_set_stays_small_for_a_smooth_function():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2))
    y = np.sin(2 * np.pi * X[:, [0]]) + 0.1 * rng.normal(size=(500, 1))
    learned, scales, _ = learn_rows(X, y, 1.0, "auto")
    assert learned.index_set.n_components <= 101
    assert not learned.capped
    error = TorusKernel(length_scale=scales, period=1.0).truncation_error(learned.index_set)
    assert error * learned.parameters["x0 * x1: variance"][0] < 0.01 * learned.parameters[NOISE][0]


def test_the_set_grows_for_a_rough_function():
    learned, _, lines = learn_rows(*anisotropic_draw((0.25, 0.25), 800), 1.0, "auto")
    assert learned.index_set.n_components > 200
    assert lines


def test_the_cap_is_told():
    learned, _, _ = learn_rows(*anisotropic_draw((0.1, 0.1), 1500), 1.0, "auto", cap=150)
    assert learned.capped


@pytest.mark.parametrize("learn_noise", [False, True])
def test_evidence_never_falls_while_the_spectrum_is_learned(learn_noise):
    X, y = make_rows(2)
    index_set = hyperbolic_cross(2, 5)
    kernel = TorusKernel(length_scale=1.0, period=1.0)
    linear, _ = SufficientStatistics.from_data(X, y, index_set, period=1.0, plain=X[:, :1]).linear()
    prior = np.repeat(column_variances(kernel, index_set.frequencies)[:, None], 2, axis=1)
    prior = np.vstack([prior, [[50.0, 60.0]]])
    noise, n_frequencies = np.array([0.1, 0.1]), len(index_set.frequencies)
    new_prior, new_noise, history = learn_spectrum(linear, prior, noise, n_frequencies, learn_noise, silent)
    assert (np.diff(history) > -1e-8).all()
    assert history[-1] > history[0] + 1
    np.testing.assert_array_equal(new_prior[1:-1:2], new_prior[2:-1:2])
    np.testing.assert_array_equal(new_prior[[0, -1]], prior[[0, -1]])  # the constant, and a plain column
    assert learn_noise or (new_noise == noise).all()


def test_evidence_of_the_learned_values_is_the_exact_one():
    X, y = anisotropic_draw((0.6, 0.9), 200)
    learned, scales, _ = learn_rows(X, y, 1.0, 501)
    values = learned.parameters
    exact = exact_log_evidence(
        TorusKernel(length_scale=scales, period=1.0),
        X,
        y[:, 0] - y.mean(),
        values["x0 * x1: variance"][0],
        values[NOISE][0],
    )
    assert learned.log_evidence == pytest.approx(exact, abs=1e-4)


def test_circles_of_lines_follow_their_length_scales():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 1))
    y = (X - 0.5) ** 2 + 0.01 * rng.normal(size=(300, 1))  # much smoother than where learning starts
    prior, start = prior_of(Line(0, length_scale=0.05, length_scale_bounds=(0.01, 10.0), range=(0, 1)), noise=0.01)
    source = RowSource(Rows(X, y - y.mean()), prior, Compute("auto", 1), True, "adaptive")
    learned = Schedule(source, prior.select, prior, silent).learn(LineCircles(prior).with_circles(start), "auto")
    scale = learned.parameters[scale_name(prior.terms[0])][0]
    assert prior.aliasing_error(learned.parameters)[0] <= 0.03 * learned.parameters[NOISE][0]
    exact = TorusKernel(Line(0, length_scale=scale, range=(0, 1)))
    values = learned.parameters["x0: variance"][0], learned.parameters[NOISE][0]
    assert learned.log_evidence == pytest.approx(exact_log_evidence(exact, X, y[:, 0] - y.mean(), *values), abs=0.01)
    best = max(
        exact_log_evidence(TorusKernel(Line(0, length_scale=other, range=(0, 1))), X, y[:, 0] - y.mean(), *values)
        for other in (0.8 * scale, 1.25 * scale)
    )
    assert best < learned.log_evidence
    still = Schedule(source, prior.select, prior, silent, circles_move=False).learn(start, "auto")
    np.testing.assert_array_equal(still.parameters.period, start.period)
    assert still.parameters[scale_name(prior.terms[0])][0] < 0.5 * scale


def test_few_components_are_not_spent_on_the_long_circle_of_a_term_that_hardly_matters():
    """Both terms share the circle of the line, which is too long for what the first one needs."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(2000, 2))
    y = np.sin(25 * X[:, [0]]) * np.cos(2 * np.pi * X[:, [1]]) + 0.05 * rng.normal(size=(2000, 1))
    fine, smooth = Line(0, range=(0, 1)) * Circle(1, 1.0), Line(0, range=(0, 1))
    prior, start = prior_of(fine + smooth, noise=0.01)
    source = RowSource(Rows(X, y - y.mean()), prior, Compute("auto", 1), True, "adaptive")
    schedule = Schedule(source, prior.select, prior, silent)
    first = LineCircles(prior).with_circles(start)
    name = scale_name(prior.terms[1])
    long = LineCircles(prior).with_circles(first.with_value(name, np.array([8.0])))
    assert long.period[0] > 5 * first.period[0]
    learned = schedule.learn(long, 101, search=False)
    kept = replace(schedule, circles_move=False).learn(long, 101, search=False)
    assert learned.log_evidence > kept.log_evidence + 100
    assert learned.parameters.period[0] < 2 * first.period[0]


def test_an_interaction_of_three_without_effects_of_fewer_is_found():
    """Dimensions that matter together only must not be given up while the set is too small to show them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 6))
    phases = 2 * np.pi * X
    y = np.sin(phases[:, 0] + phases[:, 1]) * np.cos(phases[:, 2]) + 0.5 * np.cos(phases[:, 3] - phases[:, 4])
    model = TorusGPRegressor(n_components=301, period=1.0).fit(X[:2000], y[:2000] + 0.1 * rng.normal(size=2000))
    assert model.score(X[2000:], y[2000:]) > 0.97


class TestCirclesThatChangeTheirShape:
    expression = Circle(0, 2.0, length_scale=1.0, period_bounds=(1.4, 2.8)) * Line(0, length_scale=6.0, range=(0, 40))

    def test_phases_mean_something_over_the_length_scale_of_the_line(self):
        prior, parameters = prior_of(self.expression + Circle(0, 7.0) + Line(0, length_scale=1.0, range=(0, 40)))
        circle, line, strict, other = prior.coherence(parameters)
        assert (circle, line, other) == (6.0, 6.0, 1.0)
        assert strict == np.inf

    def test_a_circle_that_also_stands_alone_keeps_its_phase(self):
        circle = Circle(0, 2.0)
        prior, parameters = prior_of(circle * Line(0, length_scale=6.0, range=(0, 40)) + circle)
        assert prior.coherence(parameters)[0] == np.inf

    def test_steps_are_radians_over_shorter_lengths(self):
        moves = PeriodMoves(np.eye(2, dtype=bool), np.array([40.0, 40.0]))
        shorter = moves.within(np.array([6.0, np.inf]))
        assert moves.are_limited(np.array([6.0, np.inf]))
        assert not moves.are_limited(np.array([100.0, np.inf]))
        period = shorter.period(np.array([0.1, 0.1]), np.array([2.0, 3.0]))
        np.testing.assert_allclose(1 / period, [1 / 2 + 0.1 / (2 * np.pi * 6), 1 / 3 + 0.1 / (2 * np.pi * 40)])

    @pytest.mark.slow
    def test_standard_errors_are_those_of_repeated_experiments(self):
        kernel = TorusKernel(Circle(0, 2.0) * Line(0, length_scale=6.0, range=(0, 40)))
        errors, stated = [], []
        for seed in range(30):
            rng = np.random.default_rng(seed)
            X = np.sort(rng.uniform(0, 40, (250, 1)), axis=0)
            y = rng.multivariate_normal(np.zeros(250), kernel(X) + 0.04 * np.eye(250), method="cholesky")
            model = TorusGPRegressor(self.expression, intercept=False, n_components=301).fit(X, y)
            errors.append(model.kernel_.period[0] - 2.0)
            stated.append(model.period_std_)
        ratio = np.array(errors) / np.array(stated)
        # the median of thirty absolute normal numbers is 0.67 +- 0.15
        assert 0.3 < np.median(np.abs(ratio)) < 1.1


def test_the_first_set_shows_every_term():
    X = np.linspace(0, 45, 500)[:, None]
    rng = np.random.default_rng(0)
    rough = TorusKernel(0.04 * Line(0, length_scale=0.15, range=(0, 45)))(X)
    y = 5 * np.sin(X[:, 0] / 10) + rng.multivariate_normal(np.zeros(500), rough + 0.01 * np.eye(500), method="cholesky")
    quick = Line(0, length_scale=0.1, length_scale_bounds=(0.01, 10))
    model = TorusGPRegressor(25.0 * Line(0) + 0.1 * quick, intercept=False).fit(X, y)
    variance = model.fitted_.parameters["x0 (2): variance"][0]
    assert variance == pytest.approx(0.04, rel=0.5)  # on fewer columns it would have been taken for noise
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.5)
