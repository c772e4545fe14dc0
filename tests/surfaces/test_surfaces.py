"""Stationary points, paths, Boltzmann averages and suggestions, against known surfaces and posterior draws."""

from functools import cache

import numpy as np
import pytest

from tests.surfaces.known import DIHEDRALS, DOUBLE_WELL, TORSION
from torusgp import Category, Circle, Lattice, Line, TorusGPRegressor
from torusgp.surfaces import (
    barrier,
    boltzmann_average,
    find_stationary_points,
    free_energy,
    minimum_energy_path,
    suggest,
)
from torusgp.surfaces._field import Field

KERNELS = {
    "dihedrals": (DIHEDRALS, lambda: Circle(0, 360) * Circle(1, 360), 12),
    "torsion": (TORSION, lambda: Circle(0, 360), 36),
    "double well": (DOUBLE_WELL, lambda: Line(0), 40),
}


@cache
def truth(name):
    return KERNELS[name][0].stationary()


@cache
def fitted(name, noise=0.05, seed=0, **options):
    known, kernel, n = KERNELS[name]
    X = known.grid(n)
    y = known.function(X) + noise * np.random.default_rng(seed).normal(size=len(X))
    return TorusGPRegressor(kernel()).fit(X, y)


def nearest(known, points, position):
    return min(points, key=lambda one: np.abs(known.difference(one.position, position)).max())


@pytest.mark.parametrize("name", KERNELS)
def test_all_stationary_points_are_found_and_none_is_invented(name):
    known, points = KERNELS[name][0], find_stationary_points(fitted(name))
    expected = truth(name)
    assert sorted(one.index for one in points) == sorted(index for _, index in expected)
    for position, index in expected:
        one = nearest(known, points.of_index(index), position)
        step = known.difference(one.position, position)
        assert (np.abs(step) < 4 * one.position_std).all()
        assert one.value == pytest.approx(known.function(position[None])[0], abs=4 * one.value_std)
    assert [one.value for one in points] == sorted(one.value for one in points)


def test_positions_do_not_depend_on_where_the_period_begins():
    known, kernel, n = KERNELS["dihedrals"]
    X = known.grid(n)
    y = known.function(X)
    around_zero, from_zero = (
        find_stationary_points(TorusGPRegressor(kernel()).fit(inputs, y)) for inputs in (X, X % 360)
    )
    assert len(around_zero) == len(from_zero)
    for one, other in zip(around_zero, from_zero, strict=True):
        np.testing.assert_allclose(known.difference(one.position, other.position), 0, atol=1e-4)
        assert (np.abs(one.position) <= 180).all()
        assert ((other.position >= 0) & (other.position < 360)).all()


def draws_of_stationary_points(field, point, n_draws=400):
    """Positions, values and curvatures of the same stationary point of functions drawn from the posterior."""
    units = np.eye(field.domain.dimension)
    weights = field.fitted.sample_weights(n_draws, np.random.RandomState(0))[:, 0].T
    x = np.tile(point.position, (n_draws, 1))
    for _ in range(6):
        slope = np.stack([(field.columns(x, u) * weights).sum(axis=1) for u in units], axis=1)
        curves = np.stack([[(field.columns(x, u, v) * weights).sum(axis=1) for u in units] for v in units]).T
        x = x - np.linalg.solve(curves, slope[..., None])[..., 0]
    return x, (field.columns(x) * weights).sum(axis=1), np.linalg.eigvalsh(curves)


@pytest.mark.parametrize("name", ["torsion", "dihedrals"])
def test_errors_by_the_delta_method_are_those_of_draws(name):
    model = fitted(name)
    field = Field(model)
    for point in (find_stationary_points(model).minima[0], find_stationary_points(model).saddles[0]):
        positions, values, curvatures = draws_of_stationary_points(field, point)
        np.testing.assert_allclose(positions.std(axis=0), point.position_std, rtol=0.15)
        np.testing.assert_allclose(values.std(), point.value_std, rtol=0.15)
        np.testing.assert_allclose(curvatures.std(axis=0), point.curvature_std, rtol=0.15)


def test_derivatives_of_columns_are_their_differences():
    model = TorusGPRegressor(Circle(0, 7.0) * Line(1), learn=()).fit(*_some_rows())
    field, x, step = Field(model), np.array([[1.0, 0.4]]), 1e-5
    along, across = np.array([1.0, 0.5]), np.array([-0.3, 1.0])
    for directions in ((), (along,), (along, across)):
        ahead, behind = (field.columns(x + sign * step * across, *directions) for sign in (1, -1))
        expected = field.columns(x, *directions, across)
        np.testing.assert_allclose((ahead - behind) / (2 * step), expected, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(field.hessian(x)[0, 0, 1], (field.columns(x, [1, 0], [0, 1]) @ field.weights)[0])


def _some_rows():
    X = np.random.default_rng(0).uniform(0, 2, (40, 2))
    return X, np.sin(X[:, 0]) + X[:, 1]


# Paths ---------------------------------------------------------------------------------------------------------------


def test_a_path_goes_down_on_both_sides_of_the_lowest_pass():
    model = fitted("dihedrals")
    points = find_stationary_points(model)
    path = minimum_energy_path(model, points.minima[0], points.minima[1], points=points)
    assert path.saddles == (points.saddles[0],)
    assert path.barrier == pytest.approx(points.saddles[0].value - points.minima[0].value)
    assert (path.barrier, path.barrier_std) == barrier(model, points.minima[0], points.saddles[0])
    top = int(np.argmax(path.values))
    assert (np.diff(path.values[: top + 1]) > -1e-9).all()
    assert (np.diff(path.values[top:]) < 1e-9).all()
    field = Field(model)
    np.testing.assert_allclose(path.values, field.value(path.points), atol=1e-9)
    assert np.abs(np.diff(path.points, axis=0)).max() < 10  # no jumps where a period ends
    # along it the gradient has no part across it
    middle = path.points[top // 2 : top // 2 + 2]
    tangent = np.diff(middle, axis=0)[0]
    slope = field.gradient(middle.mean(axis=0)[None])[0]
    cosine = abs(tangent @ slope) / np.linalg.norm(tangent) / np.linalg.norm(slope)
    assert cosine > 0.99


def test_the_error_of_a_barrier_is_that_of_draws():
    model = fitted("dihedrals")
    points = find_stationary_points(model)
    height, std = barrier(model, points.minima[0], points.saddles[0])
    field = Field(model)
    tops, bottoms = (draws_of_stationary_points(field, one)[1] for one in (points.saddles[0], points.minima[0]))
    assert std == pytest.approx((tops - bottoms).std(), rel=0.15)
    assert height == pytest.approx((tops - bottoms).mean(), abs=std)


def test_a_path_may_lead_over_several_passes():
    points = find_stationary_points(fitted("torsion"))
    ordered = sorted(points.minima, key=lambda one: one.position[0])
    path = minimum_energy_path(fitted("torsion"), ordered[0], [ordered[1].position[0] + 3])
    assert path.minima[-1].value == pytest.approx(ordered[1].value, abs=1e-6)
    well = minimum_energy_path(fitted("double well"), [-1.0], [1.0])
    assert len(well.saddles) == 1
    assert well.barrier == pytest.approx(3.5, abs=0.2)


def test_of_ways_as_low_the_one_with_fewer_passes_is_taken():
    """Three equal minima around a circle: over one pass, not over two around the other side."""
    for n_rows in (24, 36, 41):
        angle = np.linspace(-180, 180, n_rows, endpoint=False)[:, None]
        model = TorusGPRegressor(period=360).fit(angle, np.cos(np.radians(3 * angle[:, 0])))
        for ends in (([60.0], [180.0]), ([180.0], [60.0]), ([-60.0], [60.0])):
            path = minimum_energy_path(model, *ends)
            assert len(path.saddles) == 1
            assert path.barrier == pytest.approx(2.0, abs=1e-3)


def test_paths_that_do_not_exist_are_refused():
    model = fitted("dihedrals")
    minimum = find_stationary_points(model).minima[0]
    with pytest.raises(ValueError, match="same minimum"):
        minimum_energy_path(model, minimum, minimum)
    with pytest.raises(ValueError, match="2 coordinates"):
        minimum_energy_path(model, [1.0], minimum)
    minima = find_stationary_points(model).minima
    with pytest.raises(ValueError, match="connects the minima"):
        minimum_energy_path(model, *minima[:2], points=minima)
    with pytest.raises(ValueError, match="two minima"):
        minimum_energy_path(model, minimum, minimum, points=find_stationary_points(model).maxima)


# Boltzmann -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dihedrals", "double well"])
def test_boltzmann_averages_have_the_errors_of_draws(name):
    known, model = KERNELS[name][0], fitted(name)
    temperature = 1.0

    def observable(X):
        return np.cos(np.radians(X[:, 0])) if known.is_periodic else X[:, 0]

    mean, std = boltzmann_average(model, temperature, observable)
    X = known.grid(60 if known.dimension == 2 else 2000)
    draws = model.sample_y(X, 400, random_state=0)
    truth_and_draws = np.column_stack([known.function(X), draws])
    weights = np.exp(-(truth_and_draws - truth_and_draws.min()) / temperature)
    averages = (weights * observable(X)[:, None]).sum(axis=0) / weights.sum(axis=0)
    assert mean == pytest.approx(averages[0], abs=4 * std)
    assert std == pytest.approx(averages[1:].std(), rel=0.15)


def test_a_free_energy_is_a_projection_with_the_errors_of_draws():
    model, temperature = fitted("dihedrals"), 1.0
    profile = free_energy(model, temperature, 0, sizes=(24, 48))
    assert profile.names == ("x0",)
    assert profile.grid[0][0] == -180.0
    X = np.stack(np.meshgrid(profile.grid[0], np.arange(48) * 7.5 - 180, indexing="ij"), axis=-1).reshape(-1, 2)
    surfaces = np.column_stack([DIHEDRALS.function(X), model.sample_y(X, 400, random_state=0)]).reshape(24, 48, -1)
    projected = -temperature * np.log(np.exp(-surfaces / temperature).sum(axis=1))
    relative = projected - projected[np.argmin(profile.value)]
    np.testing.assert_allclose(profile.value, relative[:, 0], atol=4 * profile.std.max())
    np.testing.assert_allclose(profile.std, relative[:, 1:].std(axis=1), rtol=0.2, atol=1e-3)
    both = free_energy(model, temperature, ["x1", "x0"], sizes=(24, 48))
    assert both.value.shape == (48, 24)
    np.testing.assert_allclose(np.diff(both.value.T.ravel()), np.diff(model.predict(X)), atol=1e-9)


def test_a_surface_that_is_less_certain_than_the_temperature_is_warned_of():
    X = np.arange(-180.0, 180, 60)[:, None]
    model = TorusGPRegressor(Circle(0, 360), learn=(), noise_variance=1.0).fit(X, TORSION.function(X))
    with pytest.warns(UserWarning, match="more than kT"):
        boltzmann_average(model, 0.01, lambda X: X[:, 0])


# Suggestions ---------------------------------------------------------------------------------------------------------


def after(model, X, y, points, **gradient):
    """The model with the same parameters after more observations, whatever they are."""
    fixed = 1.0 * Circle(0, 360, length_scale=1.0)
    return TorusGPRegressor(fixed, n_components=41, learn=(), noise_variance=model.noise_variance_).fit(
        np.vstack([X, points]), np.append(y, np.zeros(len(points))), **gradient
    )


@pytest.mark.parametrize("with_gradient", [False, True])
def test_suggested_points_reduce_the_variance_as_much_as_can_be(with_gradient):
    X = np.array([-170.0, -150, -100, 20, 30])[:, None]
    y = TORSION.function(X)
    gradient = {"X_gradient": X, "gradient": np.zeros((5, 1))} if with_gradient else {}
    model = TorusGPRegressor(1.0 * Circle(0, 360), n_components=41, learn=(), noise_variance=1e-5)
    model.fit(X, y, **gradient)
    (chosen,) = suggest(model, with_gradient=with_gradient)
    everywhere = np.linspace(-180, 180, 180, endpoint=False)[:, None]

    def remaining(point):
        slopes = {}
        if with_gradient:
            slopes = {"X_gradient": np.vstack([X, [point]]), "gradient": np.zeros((6, 1))}
        more = after(model, X, y, [point], **slopes)
        return (more.predict(everywhere, return_std=True, include_noise=False)[1] ** 2).mean()

    others = [remaining([x]) for x in np.linspace(-180, 170, 36)]
    assert remaining(chosen) <= min(others) * 1.01


def test_several_suggestions_are_apart_and_a_barrier_draws_them_to_it():
    model = fitted("dihedrals", noise=0.3)
    points = suggest(model, 4)
    gaps = [np.abs(DIHEDRALS.difference(a, b)).max() for i, a in enumerate(points) for b in points[:i]]
    assert min(gaps) > 10
    found = find_stationary_points(model)
    path = minimum_energy_path(model, found.minima[0], found.minima[1], points=found)
    for point in suggest(model, 6, path=path):
        ends = [np.abs(DIHEDRALS.difference(point, one.position)).max() for one in (path.minima[0], path.highest)]
        assert min(ends) < 60


def test_bad_input_is_told():
    model = fitted("torsion")
    cases = [
        (lambda: find_stationary_points(model, min_significance=-1), "min_significance"),
        (lambda: find_stationary_points(model, output=1), "output must be one of 1"),
        (lambda: boltzmann_average(model, 0.0, np.cos), "kT"),
        (lambda: boltzmann_average(model, 1.0, np.cos), "one number for each point"),
        (lambda: boltzmann_average(model, 1.0, np.cos, sizes=(3, 3)), "sizes"),
        (lambda: free_energy(model, 1.0, "y"), "inputs must be some of"),
        (lambda: suggest(model, 0), "positive number"),
        (lambda: suggest(model, with_gradient=True), "none along 'x0' was observed"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
    X = np.column_stack([np.arange(20.0), np.arange(20) % 2])
    for kernel, message in ((Circle(0, 7) + Category(1), "is a category"), (Circle(0, 7), "is no input")):
        with pytest.raises(ValueError, match=message):
            find_stationary_points(TorusGPRegressor(kernel).fit(X, np.sin(X[:, 0])))
    with pytest.raises(ValueError, match="no common one"):
        find_stationary_points(TorusGPRegressor(Circle(0, 7) + Circle(0, 5)).fit(X[:, :1], np.sin(X[:, 0])))
    with pytest.raises(ValueError, match="likelihood='normal'"):
        find_stationary_points(
            TorusGPRegressor(likelihood="log_normal", period=7).fit(X[:, :1], np.exp(np.sin(X[:, 0])))
        )


def test_a_lattice_is_a_surface_too():
    cell = np.array([[1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (300, 2))
    phases = 2 * np.pi * X @ np.linalg.inv(cell)
    y = np.cos(phases[:, 0]) + np.cos(phases[:, 1]) + np.cos(phases.sum(axis=1))
    model = TorusGPRegressor(Lattice((0, 1), cell)).fit(X, y + 0.01 * rng.normal(size=len(X)))
    points = find_stationary_points(model)
    assert [len(points.minima), len(points.saddles), len(points.maxima)] == [2, 3, 1]
    np.testing.assert_allclose([one.value for one in points.minima], -1.5, atol=0.02)
    path = minimum_energy_path(model, *points.minima)
    assert path.barrier == pytest.approx(0.5, abs=0.03)


# What the errors are worth -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noise"), [("torsion", 0.15), ("dihedrals", 0.15), ("double well", 0.1)])
def test_errors_cover_the_truth_in_noisy_draws(name, noise):
    known, expected = KERNELS[name][0], truth(name)
    values = {index: [known.function(p[None])[0] for p, i in expected if i == index] for index in (0, 1)}
    lowest = [min((p for p, i in expected if i == k), key=lambda p: known.function(p[None])[0]) for k in (0, 1)]
    right, inside, covered = [], [], []
    for seed in range(200 if known.dimension == 2 else 300):
        model = fitted.__wrapped__(name, noise, seed)
        points = find_stationary_points(model)
        right.append(sorted(one.index for one in points) == sorted(i for _, i in expected))
        for position, index in expected:
            if index < 2 and points.of_index(index):
                one = nearest(known, points.of_index(index), position)
                inside.append(np.abs(known.difference(one.position, position)) < 2 * one.position_std)
        if not (points.minima and points.saddles):
            covered.append(False)
            continue
        bottom, top = (nearest(known, points.of_index(k), lowest[k]) for k in (0, 1))
        height, std = barrier(model, bottom, top)
        covered.append(abs(height - (min(values[1]) - min(values[0]))) < 1.96 * std)
    assert np.mean(right) >= 0.9
    assert np.mean(np.concatenate(inside)) >= 0.9
    assert 0.9 <= np.mean(covered) <= 0.97


@pytest.mark.slow
def test_suggestions_need_at_most_two_thirds_of_the_points_of_a_grid():
    known, noise = DIHEDRALS, 0.1
    X = known.grid(30)
    exact = TorusGPRegressor(period=360).fit(X, known.function(X))
    ends = [one.position for one in find_stationary_points(exact).minima]
    height = minimum_energy_path(exact, *ends).barrier

    def path_of(X, y):
        model = TorusGPRegressor(period=360).fit(X, y)
        try:
            return model, minimum_energy_path(model, *ends, points=find_stationary_points(model, min_significance=0))
        except ValueError:  # with so few points there is none yet
            return model, None

    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = known.grid(10)
        on_a_grid = path_of(X, known.function(X) + noise * rng.normal(size=100))[1]
        X = known.grid(5)
        y = known.function(X) + noise * rng.normal(size=25)
        while len(X) < 65:
            model, path = path_of(X, y)
            more = suggest(model, 4, path=path)
            X, y = np.vstack([X, more]), np.append(y, known.function(more) + noise * rng.normal(size=4))
        errors.append([path_of(X, y)[1].barrier - height, on_a_grid.barrier - height])
    suggested, of_grids = np.sqrt(np.mean(np.square(errors), axis=0))
    assert suggested <= of_grids
