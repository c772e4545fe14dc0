import pickle
import sys
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from tests.images.made_images import make_lattice_image
from tests.oracles import HEXAGONAL, OBLIQUE, TRICLINIC
from torusgp import (
    BayesianFeatureRegressor,
    Category,
    Circle,
    IndexSetFourierFeatures,
    Line,
    Slope,
    TorusGPRegressor,
)
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat
from torusgp.views.analysis import effect, sobol_indices

ROUNDING = 1e-9  # sums of predictions of about one, by transforms or dense
PERIOD = (24.0, 7.0, 2.0)


def subsets(dimensions):
    """All subsets but the empty one, small ones first."""
    return list(chain.from_iterable(combinations(dimensions, size) for size in range(1, len(dimensions) + 1)))


def torus_grid(cell, n_points):
    """Points of a uniform grid over one cell; averages over it are exact for frequencies below n_points."""
    cell = np.asarray(cell, dtype=float)
    fractions = np.stack(np.meshgrid(*[np.arange(n_points) / n_points] * len(cell), indexing="ij"), axis=-1)
    return fractions @ cell


def averages(values, dimension):
    """Averages of values on a grid over all dimensions but those of each subset, with axes kept."""
    return {
        u: values.mean(axis=tuple(d for d in range(dimension) if d not in u), keepdims=True)
        for u in [(), *subsets(range(dimension))]
    }


def anova(values, dimension):
    """Components of values on a grid by their definition: averages less the components of all smaller sets."""
    components = {}
    for u, average in averages(values, dimension).items():
        components[u] = average - sum(components[v] for v in [(), *subsets(u)[:-1]] if v != u)
    return components


def small_model(dimension=3, *, random_state=0, period=None, n_outputs=None, **parameters):
    """A model with given hyperparameters on few, noisy data, so that much is uncertain."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0, 50, (60, dimension))
    y = rng.normal(size=(60, n_outputs or 1)) + np.cos(X[:, :1]) + 3
    period = PERIOD[:dimension] if period is None and "kernel" not in parameters else period
    settings = {"learn": (), "noise_variance": 0.3, "index_set": tensor(dimension, 2)} | parameters
    return TorusGPRegressor(period=period, **settings).fit(X, y if n_outputs else y[:, 0])


CELLS = {
    "one": [[24.0]],
    "two": np.diag([24.0, 7.0]),
    "three": np.diag(PERIOD),
    "hexagonal": HEXAGONAL,
    "oblique": 7 * OBLIQUE,
    "triclinic": TRICLINIC,
    "mirrored": [[-3.0, 0.0], [0.0, 2.0]],
}


@pytest.fixture(params=CELLS, scope="module")
def on_cell(request):
    """A model, its cell, a grid on the cell and the components of its predictions there."""
    cell = np.asarray(CELLS[request.param], dtype=float)
    model = small_model(len(cell), period=cell)
    points = torus_grid(cell, 8)
    values = model.predict(points.reshape(-1, len(cell))).reshape(points.shape[:-1])
    return model, cell, points, anova(values, len(cell))


class TestSobolIndices:
    def test_shares_are_the_variances_of_components_on_a_grid(self, on_cell):
        model, cell, _, components = on_cell
        indices = sobol_indices(model, n_samples=10)
        variances = np.array([(components[u] ** 2).mean() for u in subsets(range(len(cell)))])
        assert indices.components == tuple(subsets(range(len(cell))))
        np.testing.assert_allclose(indices.share, variances / variances.sum(), atol=ROUNDING)
        assert indices.variance == pytest.approx(variances.sum())
        assert indices.rest == 0

    def test_first_and_total_order(self, on_cell):
        model, cell, _, components = on_cell
        indices = sobol_indices(model, n_samples=10)
        total = sum((component**2).mean() for u, component in components.items() if u)
        for d in range(len(cell)):
            with_d = sum((component**2).mean() for u, component in components.items() if d in u)
            assert indices.first_order[d] == pytest.approx((components[(d,)] ** 2).mean() / total)
            assert indices.total_order[d] == pytest.approx(with_d / total)

    @given(seed=st.integers(0, 2**32 - 1), dimension=st.integers(1, 4), max_order=st.integers(1, 4))
    def test_shares_add_up(self, seed, dimension, max_order):
        model = small_model(
            dimension, random_state=seed, period=np.arange(2.0, 2 + dimension), index_set=tensor(dimension, 1)
        )
        indices = sobol_indices(model, max_order=max_order, n_samples=20)
        every = sobol_indices(model, n_samples=20)
        assert indices.share.sum() + indices.rest == pytest.approx(1)
        assert (indices.share >= 0).all()
        assert max(map(len, indices.components)) == min(max_order, dimension)
        np.testing.assert_allclose(every.share_draws.sum(axis=0), 1)
        np.testing.assert_allclose(indices.total_order, every.total_order)
        np.testing.assert_allclose(indices.total_order_draws, every.total_order_draws)
        assert (indices.total_order >= indices.first_order - ROUNDING).all()
        assert indices.total_order.sum() >= 1 - ROUNDING  # every component counts for each of its dimensions

    def test_ishigami_to_three_digits(self):
        # sin x1 + a sin^2 x2 + b x3^4 sin x1: the fourth power has a kink where the circle closes
        a, b = 7.0, 0.1
        rng = np.random.default_rng(0)
        X = rng.uniform(-np.pi, np.pi, (5000, 3))
        y = np.sin(X[:, 0]) * (1 + b * X[:, 2] ** 4) + a * np.sin(X[:, 1]) ** 2 + 0.01 * rng.normal(size=5000)
        model = TorusGPRegressor(period=2 * np.pi, n_components=401).fit(X, y)
        first, second = 0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8
        both = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
        variance = first + second + both
        indices = sobol_indices(model)
        expected = {(0,): first, (1,): second, (2,): 0, (0, 1): 0, (0, 2): both, (1, 2): 0, (0, 1, 2): 0}
        for component, value in expected.items():
            assert indices[component] == pytest.approx(value / variance, abs=5e-4), component
        np.testing.assert_allclose(
            indices.total_order, [(first + both) / variance, second / variance, both / variance], atol=5e-4
        )
        assert indices.variance == pytest.approx(variance, rel=1e-2)

    def test_pick_freeze_on_predictions_agrees(self):
        model = small_model(random_state=3)
        indices = sobol_indices(model, n_samples=10)
        rng = np.random.default_rng(0)
        n_points = 40_000
        first, second = rng.uniform(0, PERIOD, (2, n_points, 3))
        center = model.predict(first).mean()
        y = model.predict(first) - center
        variance = (y**2).mean()
        for u in subsets(range(3)):
            # keep the dimensions of u, draw the others anew: the covariance is the variance of the average given u
            mixed = np.where(np.isin(range(3), u), first, second)
            ratio = y * (model.predict(mixed) - center) / variance
            closed = sum(indices[v] for v in subsets(u))
            spread = (ratio - closed * y**2 / variance).std() / np.sqrt(n_points)  # of the ratio of both means
            assert abs(ratio.mean() - closed) < 5 * spread + 1e-12, u

    def test_a_kernel_of_the_lattice_alone(self):
        model = small_model(2, kernel=Heat(metric="cartesian"), period=HEXAGONAL, length_scale=0.3)
        values = model.predict(torus_grid(HEXAGONAL, 8).reshape(-1, 2)).reshape(8, 8)
        components = anova(values, 2)
        assert sobol_indices(model)[0, 1] == pytest.approx((components[(0, 1)] ** 2).mean() / values.var())

    def test_one_input_with_two_periods(self):
        rng = np.random.default_rng(0)
        time = rng.uniform(0, 300, (200, 1))
        y = rng.normal(size=200) + np.cos(2 * np.pi * time[:, 0] / 5)
        model = TorusGPRegressor(Circle(0, 5) * Circle(0, 7), learn=(), index_set=tensor(2, 2)).fit(time, y)
        indices = sobol_indices(model, n_samples=10)
        assert indices.names == ("x0 (period 5)", "x0 (period 7)")
        # over 35 both phases take all their values: frequency (k, l) is the harmonic 7 k + 5 l of it
        values = model.predict(np.arange(0, 35, 0.25)[:, None])
        power = 2 * np.abs(np.fft.rfft(values) / len(values)) ** 2
        total = power[1:].sum()
        assert indices[0] == pytest.approx(power[[7, 14]].sum() / total)
        assert indices[1] == pytest.approx(power[[5, 10]].sum() / total)
        assert indices[0, 1] == pytest.approx(1 - power[[5, 7, 10, 14]].sum() / total)
        main = effect(model, "x0 (period 7)")
        spectrum = np.fft.rfft(values)
        spectrum[~np.isin(np.arange(len(spectrum)), [5, 10])] = 0
        np.testing.assert_allclose(main(np.arange(0, 35, 0.25)), np.fft.irfft(spectrum, len(values)), atol=ROUNDING)

    def test_several_outputs_are_those_of_single_ones(self):
        model = small_model(n_outputs=2)
        indices = sobol_indices(model, max_order=2, n_samples=500)
        assert indices.share.shape == (6, 2)
        assert indices.share_draws.shape == (6, 2, 500)
        assert indices.total_order_draws.shape == (3, 2, 500)
        assert indices.rest.shape == indices.variance.shape == (2,)
        rng = np.random.default_rng(0)  # the data of small_model
        X = rng.uniform(0, 50, (60, 3))
        Y = rng.normal(size=(60, 2)) + np.cos(X[:, :1]) + 3
        for q in range(2):
            one = sobol_indices(TorusGPRegressor(**model.get_params()).fit(X, Y[:, q]), max_order=2, n_samples=500)
            np.testing.assert_allclose(indices.share[:, q], one.share, atol=ROUNDING)
            np.testing.assert_allclose(indices.total_order[:, q], one.total_order, atol=ROUNDING)
            assert indices.rest[q] == pytest.approx(one.rest)
            assert indices[0, 1][q] == pytest.approx(one[0, 1])
            for both, alone in zip(indices.interval(), one.interval(), strict=True):
                np.testing.assert_allclose(both[:, q], alone, atol=0.05)  # other draws
            for both, alone in zip(indices.total_order_interval(), one.total_order_interval(), strict=True):
                np.testing.assert_allclose(both[:, q], alone, atol=0.05)

    def test_an_additive_model_has_no_interactions(self):
        kernel = (Circle(0, 24) * Circle(1, 7) * Circle(2, 2)).limited(1)
        model = small_model(kernel=kernel, index_set="adaptive", n_components=21)
        indices = sobol_indices(model)
        assert indices.components == ((0,), (1,), (2,))
        assert indices[0, 1] == indices["x0", "x1", "x2"] == 0
        np.testing.assert_allclose(indices.total_order, indices.first_order)
        together = effect(model, (0, 1))
        assert (together.mean == 0).all()
        assert (together.std == 0).all()

    def test_dimensions_without_a_frequency_have_no_share(self):
        model = small_model(index_set=hyperbolic_cross(3, n_components=31, weights=[1, 0, 1]), noise_variance=10.0)
        indices = sobol_indices(model)
        assert indices.components == ((0,), (1,), (2,), (0, 2))
        assert indices[1] == indices.total_order[1] == 0
        assert (effect(model, 1).mean == 0).all()

    def test_the_same_after_saving(self, tmp_path):
        model = small_model()
        model.save(tmp_path / "model.npz")
        loaded = TorusGPRegressor.load(tmp_path / "model.npz")
        before, after = sobol_indices(model), sobol_indices(loaded)
        np.testing.assert_array_equal(before.share, after.share)
        np.testing.assert_array_equal(before.share_draws, after.share_draws)
        assert repr(before) == repr(after)
        np.testing.assert_array_equal(effect(model, (0, 1)).std, effect(loaded, (0, 1)).std)

    def test_rows_that_came_in_parts(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(0, PERIOD[:2], (200, 2))
        y = np.cos(2 * np.pi * X[:, 0] / 24) + 0.1 * rng.normal(size=200)
        settings = {"period": PERIOD[:2], "learn": (), "index_set": tensor(2, 2)}
        whole = TorusGPRegressor(**settings).fit(X, y)
        parts = TorusGPRegressor(**settings).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
        np.testing.assert_allclose(sobol_indices(parts).share, sobol_indices(whole).share, atol=ROUNDING)


class TestUncertainty:
    def test_draws_are_the_shares_of_drawn_functions(self):
        model = small_model(2)
        indices = sobol_indices(model, n_samples=3, random_state=5)
        points = torus_grid(np.diag(PERIOD[:2]), 8)
        functions = model.sample_y(points.reshape(-1, 2), n_samples=3, random_state=5)
        for i in range(3):
            components = anova(functions[:, i].reshape(8, 8), 2)
            variances = np.array([(components[u] ** 2).mean() for u in indices.components])
            np.testing.assert_allclose(indices.share_draws[:, i], variances / variances.sum(), atol=ROUNDING)

    @pytest.mark.parametrize("coverage", [0.5, 0.9])
    def test_intervals_hold_the_share_and_so_many_draws(self, coverage):
        indices = sobol_indices(small_model(), n_samples=2000)
        for values, draws, (lower, upper) in [
            (indices.share, indices.share_draws, indices.interval(coverage)),
            (indices.total_order, indices.total_order_draws, indices.total_order_interval(coverage)),
        ]:
            assert (lower <= values).all()
            assert (values <= upper).all()
            inside = (draws >= lower[:, None]) & (draws <= upper[:, None])
            np.testing.assert_allclose(inside.mean(axis=1), coverage, atol=1e-3)

    def test_intervals_reach_zero_for_what_is_absent_and_hold_what_is_there(self):
        # additive functions seen through noise by a model that allows interactions
        zero = one = 0
        for seed in range(12):
            rng = np.random.default_rng(seed)
            X = rng.uniform(size=(300, 2))
            y = np.cos(2 * np.pi * X) @ [1, 0.7] + 0.5 * rng.normal(size=300)
            indices = sobol_indices(TorusGPRegressor(period=1.0, n_components=41).fit(X, y))
            lower, upper = indices.interval(0.95)
            zero += lower[2] == 0
            one += lower[0] <= 1 / 1.49 <= upper[0]
            assert indices[0, 1] < 0.05
        assert zero >= 10
        assert one >= 10

    def test_the_state_determines_draws_and_not_shares(self):
        model = small_model(2)
        first, again, other = (sobol_indices(model, random_state=seed, n_samples=50) for seed in (0, 0, 1))
        np.testing.assert_array_equal(first.share_draws, again.share_draws)
        np.testing.assert_array_equal(first.share, other.share)
        assert not np.array_equal(first.share_draws, other.share_draws)


class TestEffects:
    @pytest.mark.parametrize("joint", [False, True], ids=["component", "joint"])
    def test_effects_are_averages_of_predictions(self, on_cell, joint):
        model, cell, _, components = on_cell
        lengths = [cell[d, d] if np.count_nonzero(cell[d]) == 1 else np.linalg.norm(cell[d]) for d in range(len(cell))]
        for u in subsets(range(len(cell))):
            axes = [np.arange(8) / 8 * lengths[d] for d in u]
            found = effect(model, u, joint=joint, grid=axes)
            parts = [(), *subsets(u)] if joint else [u]
            expected = np.squeeze(sum(components[v] for v in parts), tuple(d for d in range(len(cell)) if d not in u))
            np.testing.assert_allclose(found.mean, np.broadcast_to(expected, found.mean.shape), atol=ROUNDING)
            mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(u))
            shifted = mesh + 1000 * np.array([lengths[d] for d in u])
            np.testing.assert_allclose(found(shifted), found.mean.ravel(), atol=1e-8)

    @pytest.mark.parametrize("joint", [False, True], ids=["component", "joint"])
    @pytest.mark.parametrize("u", subsets(range(2)), ids=str)
    def test_standard_deviations_are_those_of_averaged_covariances(self, u, joint):
        model = small_model(2)
        points = torus_grid(np.diag(PERIOD[:2]), 6).reshape(-1, 2)
        _, covariance = model.predict(points, return_cov=True, include_noise=False)
        mean = np.full((6, 6), 1 / 6)
        own = [np.eye(6) - (0 if joint else mean) if d in u else mean for d in range(2)]
        linear = np.kron(*own)  # the effect on the grid is this matrix times the function there
        expected = np.sqrt(np.diag(linear @ covariance @ linear.T)).reshape(6, 6)
        expected = expected[:, 0] if u == (0,) else expected[0] if u == (1,) else expected
        axes = [np.arange(6) / 6 * PERIOD[d] for d in u]
        found = effect(model, u, joint=joint, grid=axes)
        np.testing.assert_allclose(found.std, expected, atol=1e-8)
        assert found.std.min() > 0.01

    def test_standard_deviations_are_those_of_drawn_functions(self):
        model = small_model(2)
        points = torus_grid(np.diag(PERIOD[:2]), 6)
        draws = model.sample_y(points.reshape(-1, 2), n_samples=4000, random_state=0).reshape(6, 6, -1)
        expected = (draws.mean(axis=1) - draws.mean(axis=(0, 1))).std(axis=1)
        found = effect(model, 0, grid=points[:, 0, 0])
        np.testing.assert_allclose(found.std, expected, rtol=5 / np.sqrt(2 * 4000))

    @pytest.mark.parametrize("intercept", [True, False])
    def test_all_components_and_the_mean_add_up_to_the_prediction(self, intercept):
        model = small_model(intercept=intercept)
        X = np.random.default_rng(1).uniform(-100, 100, (20, 3))
        total = sum(effect(model, u)(X[:, u]) for u in subsets(range(3)))
        constant = effect(model, 0, joint=True)(X[:, 0]) - effect(model, 0)(X[:, 0])
        np.testing.assert_allclose(total + constant, model.predict(X), atol=ROUNDING)
        mean, std = effect(model, (0, 1, 2), joint=True)(X, return_std=True)
        expected = model.predict(X, return_std=True, include_noise=False)
        np.testing.assert_allclose(mean, expected[0], atol=ROUNDING)
        np.testing.assert_allclose(std, expected[1], atol=1e-7)

    def test_the_order_of_dimensions_is_that_of_the_grid(self):
        model = small_model()
        forth, back = effect(model, (0, 2), n_points=7), effect(model, (2, 0), n_points=7)
        np.testing.assert_allclose(forth.mean, back.mean.T, atol=ROUNDING)
        np.testing.assert_allclose(forth.std, back.std.T, atol=ROUNDING)
        assert back.names == ("x2", "x0")
        assert back.period == (2.0, 24.0)
        np.testing.assert_array_equal(back.grid[0], np.linspace(0, 2, 7))

    def test_several_outputs(self):
        model = small_model(2, n_outputs=2)
        found = effect(model, (0, 1), joint=True, n_points=5)
        assert found.mean.shape == found.std.shape == (5, 5, 2)
        mesh = np.stack(np.meshgrid(*found.grid, indexing="ij"), axis=-1).reshape(-1, 2)
        mean, std = model.predict(mesh, return_std=True, include_noise=False)
        np.testing.assert_allclose(found.mean.reshape(-1, 2), mean, atol=ROUNDING)
        np.testing.assert_allclose(found.std.reshape(-1, 2), std, atol=1e-7)
        assert found(mesh[:3]).shape == (3, 2)

    def test_many_points_are_worked_on_in_parts(self, monkeypatch):
        model = small_model(2)
        whole = effect(model, (0, 1))
        monkeypatch.setattr("torusgp.views.effect_series._CHUNK_ENTRIES", 100)
        parts = effect(model, (0, 1))
        np.testing.assert_allclose(parts.mean, whole.mean, atol=ROUNDING)
        np.testing.assert_allclose(parts.std, whole.std, atol=ROUNDING)

    def test_default_grids(self):
        model = small_model()
        assert [effect(model, range(size)).mean.shape for size in (1, 2, 3)] == [(201,), (61, 61), (15, 15, 15)]
        assert effect(model, 1).grid[0][[0, -1]].tolist() == [0, 7]

    def test_an_effect_can_be_pickled(self):
        found = effect(small_model(), 0)
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again([1.0, 2.0]), found([1.0, 2.0]))


class TestPeriodsThatAreFound:
    def test_slow_change_is_a_dimension_of_its_own(self):
        rng = np.random.default_rng(0)
        time = np.sort(rng.uniform(0, 100, 400))[:, None]
        y = 0.05 * time[:, 0] + np.cos(2 * np.pi * time[:, 0] / 7.3) + 0.1 * rng.normal(size=400)
        model = TorusGPRegressor(period="auto").fit(time, y)
        indices = sobol_indices(model)
        period = model.fitted_.parameters.period[0]
        assert period == pytest.approx(7.3, rel=1e-2)
        assert indices.names == (f"x0 (period {period:.5g})", "x0 (line)")
        assert list(indices.measure.values()) == ["uniform", "rows"]
        # a cosine, and a line whose variance is that of the rows
        variances = np.array([0.5, np.var(0.05 * time)])
        np.testing.assert_allclose(indices.first_order, variances / variances.sum(), atol=0.05)
        slow, joint = effect(model, 1), effect(model, (0, 1), joint=True)
        np.testing.assert_allclose(joint(np.hstack([time, time])), model.predict(time), atol=ROUNDING)
        np.testing.assert_allclose(slow(time), 0.05 * (time[:, 0] - time.mean()), atol=0.2)
        assert np.ptp(effect(model, 0, joint=True).mean) < 2.5  # the line alone would be 5

    @pytest.mark.parametrize(
        "period",
        [pytest.param([[12.02, 1.0], [-2.0, 8.99]], id="learned"), pytest.param("auto", marks=pytest.mark.slow)],
    )
    def test_a_lattice(self, period):
        image = make_lattice_image(np.array([[12.0, 1.0], [-2.0, 9.0]]), (40, 40), noise=0.3).image
        X = np.argwhere(np.ones(image.shape, dtype=bool))
        learn = ("length_scale", "signal_variance", "noise_variance", "lattice")
        model = TorusGPRegressor(period=period, learn=learn, n_components=31).fit(X, image.ravel())
        learned = model.fitted_.parameters.period[:2, :2]
        points = torus_grid(learned, 32)
        lattice = model.predict_parts(points.reshape(-1, 2))[:, 0]
        components = anova(lattice.reshape(32, 32), 2)
        variances = np.array([(components[u] ** 2).mean() for u in subsets(range(2))])
        indices = sobol_indices(model)
        found = np.array([indices[u] for u in subsets(range(2))])
        np.testing.assert_allclose(found / found.sum(), variances / variances.sum(), atol=1e-7)
        assert found.sum() > 0.98
        assert all(name.startswith("along (") and name.count(",") == 1 for name in indices.names[:2])
        first = effect(model, 0, grid=np.arange(32) / 32 * np.linalg.norm(learned[0]))
        np.testing.assert_allclose(first.mean, components[(0,)][:, 0], atol=1e-7)


def weighted_anova(values, weights):
    """Components of values on a grid whose axes have weights, by their definition."""

    def average(array, axes):
        for axis in axes:
            shape = [-1 if d == axis else 1 for d in range(array.ndim)]
            array = (array * weights[axis].reshape(shape)).sum(axis=axis, keepdims=True)
        return array

    dimension, components = values.ndim, {}
    for u in [(), *subsets(range(dimension))]:
        mean = average(values, [d for d in range(dimension) if d not in u])
        components[u] = mean - sum(components[v] for v in [(), *subsets(u)[:-1]] if v != u)
    variances = {u: float(average(components[u] ** 2, range(dimension)).squeeze()) for u in components if u}
    return components, variances


MIXED = {
    "circle and line": Circle("hour", 24) * Line("warmth"),
    "lines": Line("warmth") * Line("price"),
    "two lines of one input": Line("warmth", length_scale=1.5) + Line("warmth", length_scale=9.0) * Circle("hour", 24),
    "line and slope": Line("warmth") * Category("shop") + Slope("warmth"),
    "slope alone": Circle("hour", 24) * Category("shop") + Slope("price"),
    "category": Category("shop") + Line("warmth"),
    "a number as line and level": Line("year") + Category("year") * Circle("hour", 24),
    "three": Circle("hour", 24) * Line("warmth") * Category("shop") + Slope("price"),
}


class TestLinesAndCategories:
    """Against averages of predictions over all combinations of what the rows have along each dimension."""

    @staticmethod
    def rows():
        pandas = pytest.importorskip("pandas")
        rng = np.random.default_rng(0)
        n = 80
        return pandas.DataFrame(
            {
                "hour": rng.uniform(0, 24, n),
                "warmth": rng.choice(np.round(rng.gamma(2.0, 4.0, 12), 2), n),
                "price": rng.choice(np.round(rng.lognormal(size=9), 2), n),
                "shop": rng.choice(["north", "south", "west"], n, p=[0.6, 0.3, 0.1]),
                "year": rng.choice([2001, 2002, 2004, 2008], n, p=[0.1, 0.2, 0.3, 0.4]),
            }
        )

    def model(self, name, **parameters):
        frame = self.rows()
        if "shop" not in repr(MIXED[name]):  # strings are for categories
            frame = frame.drop(columns="shop")
        rng = np.random.default_rng(1)
        y = rng.normal(size=len(frame)) + np.sin(frame["hour"]) + np.cos(frame["warmth"] / 5)
        settings = {"learn": (), "noise_variance": 0.2, "n_components": 121} | parameters
        return TorusGPRegressor(MIXED[name], **settings).fit(frame, y), frame

    @staticmethod
    def grid(model, frame, weight=None):
        """Values along each dimension, with weights."""
        names, axes, weights = sobol_indices(model, n_samples=2).names, [], []
        for name in names:
            if name == "hour":
                axes.append(np.arange(32) * 24 / 32)
                weights.append(np.full(32, 1 / 32))
            else:
                places, where = np.unique(frame[name], return_inverse=True)
                axes.append(places)
                weights.append(np.bincount(where, weight) / np.sum(1 if weight is None else weight))
                weights[-1] /= weights[-1].sum()
        return names, axes, weights

    @staticmethod
    def points(frame, names, axes):
        """All combinations of values, and the shape of their grid."""
        mesh = np.meshgrid(*(np.arange(len(one)) for one in axes), indexing="ij")
        points = frame.iloc[[0] * mesh[0].size].reset_index(drop=True)
        points = points.assign(
            **{name: places[where.ravel()] for name, places, where in zip(names, axes, mesh, strict=True)}
        )
        return points, mesh[0].shape

    def predictions(self, model, frame, names, axes):
        points, shape = self.points(frame, names, axes)
        return model.predict(points).reshape(shape)

    @pytest.mark.parametrize("name", MIXED)
    def test_shares_and_effects_are_those_of_averaged_predictions(self, name):
        model, frame = self.model(name)
        names, axes, weights = self.grid(model, frame)
        components, variances = weighted_anova(self.predictions(model, frame, names, axes), weights)
        indices = sobol_indices(model, n_samples=5)
        total = sum(variances.values())
        assert indices.variance == pytest.approx(total, rel=1e-7)
        assert indices.share.sum() == pytest.approx(1)
        np.testing.assert_allclose(indices.share_draws.sum(axis=0), 1)
        for u, variance in variances.items():
            assert indices[u] == pytest.approx(variance / total, abs=1e-7), u
        for d, one in enumerate(names):
            with_d = sum(variance for u, variance in variances.items() if d in u)
            assert indices.total_order[d] == pytest.approx(with_d / total, abs=1e-7)
            assert indices.measure[one] == ("uniform" if len(axes[d]) == 32 else "rows")
        for u in subsets(range(len(names))):
            if len(u) > 2:
                continue
            others = tuple(d for d in range(len(names)) if d not in u)
            found = effect(model, u, grid=[axes[d] for d in u])
            np.testing.assert_allclose(found.mean, components[u].squeeze(others), atol=1e-6)
            joint = effect(model, u, joint=True, grid=[axes[d] for d in u])
            wanted = sum(components[v] for v in [(), *subsets(u)])
            np.testing.assert_allclose(joint.mean, wanted.squeeze(others), atol=1e-6)

    def test_standard_deviations_are_those_of_drawn_functions(self):
        model, frame = self.model("line and slope")
        names, axes, weights = self.grid(model, frame)
        points, shape = self.points(frame, names, axes)
        draws = model.sample_y(points, n_samples=2000, random_state=0).reshape(*shape, -1)
        along = np.einsum("ijs,j->is", draws, weights[1])
        found = effect(model, names[0], joint=True, grid=axes[0])
        np.testing.assert_allclose(found.std, along.std(axis=1), rtol=5 / np.sqrt(2 * 2000))
        along -= weights[0] @ along
        found = effect(model, names[0], grid=axes[0])
        np.testing.assert_allclose(found.std, along.std(axis=1), rtol=5 / np.sqrt(2 * 2000))

    def test_draws_are_the_shares_of_drawn_functions(self):
        model, frame = self.model("circle and line")
        names, axes, weights = self.grid(model, frame)
        points, shape = self.points(frame, names, axes)
        functions = model.sample_y(points, n_samples=3, random_state=5).reshape(*shape, 3)
        indices = sobol_indices(model, n_samples=3, random_state=5)
        for i in range(3):
            _, variances = weighted_anova(functions[..., i], weights)
            wanted = np.array([variances[u] for u in indices.components])
            np.testing.assert_allclose(indices.share_draws[:, i], wanted / wanted.sum(), atol=1e-7)

    def test_pick_freeze_on_predictions_agrees(self):
        model, frame = self.model("three")
        indices = sobol_indices(model, n_samples=2)
        names = ("hour", "warmth", "shop", "price")
        assert indices.names == names
        rng = np.random.default_rng(0)
        n_points = 40_000

        def draw():
            columns = {name: frame[name].to_numpy()[rng.integers(len(frame), size=n_points)] for name in names}
            columns["hour"] = rng.uniform(0, 24, n_points)
            return columns

        def predict(columns):
            points = frame.iloc[[0] * n_points].reset_index(drop=True).assign(**columns)
            return model.predict(points)

        first, second = draw(), draw()
        values = predict(first)
        center, variance = values.mean(), values.var()
        for u in subsets(range(4)):
            mixed = predict({name: (first if d in u else second)[name] for d, name in enumerate(names)})
            ratio = (values - center) * (mixed - center) / variance
            closed = sum(indices[v] for v in subsets(u))
            spread = (ratio - closed * (values - center) ** 2 / variance).std() / np.sqrt(n_points)
            assert abs(ratio.mean() - closed) < 5 * spread + 1e-9, u

    def test_weights_and_noise_of_rows_count(self):
        frame = self.rows()
        rng = np.random.default_rng(1)
        y, weight, noise = rng.normal(size=80), rng.integers(1, 4, 80), rng.uniform(0.5, 2, 80)
        settings = {"learn": (), "n_components": 61}
        model = TorusGPRegressor(MIXED["category"], **settings).fit(frame, y, sample_weight=weight, noise_scale=noise)
        names, axes, weights = self.grid(model, frame, weight / noise**2)
        _, variances = weighted_anova(self.predictions(model, frame, names, axes), weights)
        assert sobol_indices(model, n_samples=2).variance == pytest.approx(sum(variances.values()), rel=1e-7)

    def test_many_rows_are_averaged_closely(self):
        rng = np.random.default_rng(0)
        X = rng.gamma(2.0, 1.0, (20_000, 1))
        y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=20_000)
        model = TorusGPRegressor(Line(0, length_scale=0.3), learn=(), noise_variance=0.01, n_components=201).fit(X, y)
        values = model.predict(X)
        assert sobol_indices(model, n_samples=2).variance == pytest.approx(values.var(), rel=1e-6)
        found = effect(model, 0, grid=X[:50, 0])
        np.testing.assert_allclose(found.mean, values[:50] - values.mean(), atol=1e-6)

    def test_rows_in_parts_and_in_files_count_the_same(self, tmp_path):
        model, frame = self.model("line and slope")
        y = np.random.default_rng(1).normal(size=80)
        settings = {"learn": (), "noise_variance": 0.2, "index_set": model.index_set_}
        kernel = Line("warmth", range=(-5, 50)) * Category("shop") + Slope("warmth")
        whole = TorusGPRegressor(kernel, **settings).fit(frame, y)
        parts = TorusGPRegressor(kernel, **settings).partial_fit(frame[:50], y[:50]).partial_fit(frame[50:], y[50:])
        # the broad prior of the slope is that of the first rows
        np.testing.assert_allclose(
            sobol_indices(parts, n_samples=2).share, sobol_indices(whole, n_samples=2).share, atol=1e-5
        )
        for axis in (0, 1):
            for one, other in zip(
                parts.statistics_.marginals.nodes(axis), whole.statistics_.marginals.nodes(axis), strict=True
            ):
                np.testing.assert_allclose(one, other)
        whole.save(tmp_path / "model.npz")
        loaded = TorusGPRegressor.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(sobol_indices(loaded).share, sobol_indices(whole).share)

    def test_without_the_rows_ranges_are_even(self):
        model, frame = self.model("circle and line")
        model.statistics_.marginals = None  # as in sums that were made without them
        indices = sobol_indices(model, n_samples=2)
        assert indices.measure == {"hour": "uniform", "warmth": "uniform over the range"}
        assert "Values of warmth are weighted evenly over the range." in repr(indices)
        axis = model.fitted_.prior.torus.axes[1]
        warmth, weights = np.polynomial.legendre.leggauss(60)
        axes = [np.arange(32) * 24 / 32, axis.low + axis.extent * (warmth + 1) / 2]
        _, variances = weighted_anova(
            self.predictions(model, frame, ["hour", "warmth"], axes), [np.full(32, 1 / 32), weights / 2]
        )
        assert indices.variance == pytest.approx(sum(variances.values()), rel=1e-7)

    def test_values_of_categories_are_levels(self):
        model, frame = self.model("category")
        found = effect(model, "shop")
        assert found.grid[0].tolist() == ["north", "south", "west"]
        assert found.kind == ("category",)
        assert found.period == (None,)
        np.testing.assert_allclose(found(["west", "north"]), found.mean[[2, 0]])
        share = frame["shop"].value_counts(normalize=True)[["north", "south", "west"]].to_numpy()
        assert share @ found.mean == pytest.approx(0, abs=1e-12)
        pair = effect(model, ("warmth", "shop"), joint=True, n_points=4)
        assert pair.mean.shape == (4, 3)
        value = pair([[pair.grid[0][1], "south"]])
        assert value[0] == pytest.approx(pair.mean[1, 1])
        assert effect(model, "warmth").grid[0][[0, -1]].tolist() == [frame["warmth"].min(), frame["warmth"].max()]

    def test_a_slope_is_drawn_around_its_mean(self):
        model, frame = self.model("slope alone")
        found = effect(model, "price", n_points=5)
        assert found.grid[0][2] == pytest.approx(frame["price"].mean())
        assert found.mean[2] == pytest.approx(0, abs=1e-12)
        steps = np.diff(found.mean)
        np.testing.assert_allclose(steps, steps[0])

    def test_a_slope_beside_a_circle_of_the_same_input(self):
        frame = self.rows()[["hour"]]
        y = np.sin(frame["hour"]) + 0.1 * frame["hour"]
        model = TorusGPRegressor(Circle("hour", 24) + Slope("hour"), learn=(), n_components=9).fit(frame, y)
        indices = sobol_indices(model, n_samples=2)
        assert indices.names == ("hour (period 24)", "hour (slope)")
        parts = model.predict_parts(frame)
        found = effect(model, "hour (slope)")(frame["hour"])
        np.testing.assert_allclose(found, parts[:, 1], atol=ROUNDING)
        circle = model.predict_parts(frame.iloc[[0] * 32].assign(hour=np.arange(32) * 24 / 32))[:, 0]
        variances = np.array([circle.var(), parts[:, 1].var()])
        np.testing.assert_allclose(indices.share, variances / variances.sum(), atol=ROUNDING)

    def test_the_text_says_how_values_are_weighted(self):
        model, _ = self.model("three")
        last = repr(sobol_indices(model, n_samples=10)).splitlines()[-1]
        assert last == "Values of warmth, shop, price are weighted as the rows are distributed."

    def test_names_that_were_given_are_kept(self):
        frame = self.rows()[["hour"]]
        kernel = Circle("hour", 24, name="daily") + Line("hour", name="drift") + Circle("hour", 12)
        model = TorusGPRegressor(kernel, learn=(), n_components=31).fit(frame, np.sin(frame["hour"]))
        assert sobol_indices(model, n_samples=2).names == ("daily", "drift", "hour (period 12)")


class TestNames:
    def frame_model(self, **parameters):
        pandas = pytest.importorskip("pandas")
        rng = np.random.default_rng(0)
        X = pandas.DataFrame(rng.uniform(0, 300, (100, 3)), columns=["hour", "weekday", "time"])
        return TorusGPRegressor(learn=(), noise_variance=10.0, n_components=41, **parameters).fit(
            X, rng.normal(size=100)
        )

    def test_names_of_inputs_and_their_periods(self):
        model = self.frame_model(kernel=Circle("time", 24) * Circle("weekday", 7) * Circle("time", 365.25))
        indices = sobol_indices(model)
        assert indices.names == ("time (period 24)", "weekday", "time (period 365.25)")
        cross = indices.labels[indices.components.index((0, 1))]
        assert cross == "time (period 24) \N{MULTIPLICATION SIGN} weekday"
        assert indices["weekday", "time (period 24)"] == indices[0, 1] == indices[1, 0]
        by_name, by_position = effect(model, ["time (period 365.25)", "weekday"]), effect(model, (2, 1))
        np.testing.assert_array_equal(by_name.mean, by_position.mean)
        with pytest.raises(ValueError, match=r"'time' is not one of the dimensions 0 to 2, which are \['time \(period"):
            effect(model, "time")

    def test_oblique_cells_are_named_by_their_vectors(self):
        cell = np.array([[12.0, 1.0, 0.0], [-2.0, 9.5, 0.0], [0.0, 0.0, 24.0]])
        assert sobol_indices(self.frame_model(period=cell)).names == ("along (12, 1, 0)", "along (-2, 9.5, 0)", "time")

    def test_names_survive_saving(self, tmp_path):
        self.frame_model(period=[24, 7, 365.25]).save(tmp_path / "model.npz")
        assert sobol_indices(TorusGPRegressor.load(tmp_path / "model.npz")).names == ("hour", "weekday", "time")


class TestTables:
    def test_text_has_the_largest_first(self):
        indices = sobol_indices(small_model())
        title, header, *lines = repr(indices).splitlines()
        assert title.startswith("Shares of the variance of the predicted function (variance ")
        assert header.split() == ["component", "share", "95", "%", "interval", "total", "order"]
        order = np.argsort(-indices.share, kind="stable")
        assert [line[: line.index("  ")] for line in lines] == [indices.labels[i] for i in order]
        for line, i in zip(lines, order, strict=True):
            assert f" {indices.share[i]:.3f} " in line
            if i < 3:
                assert line.endswith(f" {indices.total_order[i]:.3f}")

    def test_text_is_of_bounded_length(self):
        model = small_model(5, period=1.7, index_set=tensor(5, 1))
        lines = repr(sobol_indices(model, n_samples=10)).splitlines()
        assert len(lines) == 2 + 15 + 1
        assert lines[-1].startswith("16 smaller ")
        assert repr(sobol_indices(model, max_order=2, n_samples=10)).splitlines()[-1].startswith("higher orders")

    def test_text_of_several_outputs(self):
        text = repr(sobol_indices(small_model(n_outputs=2), n_samples=10))
        assert "(output 0, variance" in text
        assert "(output 1, variance" in text

    def test_frame(self):
        pytest.importorskip("pandas")
        indices = sobol_indices(small_model())
        frame = indices.to_frame(coverage=0.8)
        assert list(frame.columns) == ["component", "order", "share", "lower", "upper", "total_order"]
        assert tuple(frame["component"]) == indices.labels
        assert frame["order"].tolist() == [1, 1, 1, 2, 2, 2, 3]
        np.testing.assert_array_equal(frame["share"], indices.share)
        np.testing.assert_array_equal(frame[["lower", "upper"]].T, indices.interval(0.8))
        np.testing.assert_array_equal(frame["total_order"], np.append(indices.total_order, [np.nan] * 4))

    def test_frame_of_several_outputs(self):
        pytest.importorskip("pandas")
        indices = sobol_indices(small_model(n_outputs=2))
        frame = indices.to_frame()
        assert frame["output"].tolist() == [0] * 7 + [1] * 7
        for q, part in frame.groupby("output"):
            np.testing.assert_array_equal(part["share"], indices.share[:, q])
            np.testing.assert_array_equal(part["total_order"][:3], indices.total_order[:, q])

    def test_without_pandas_the_install_line_is_given(self, monkeypatch):
        indices = sobol_indices(small_model(), n_samples=10)
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r'pip install "torusgp\[io\]"'):
            indices.to_frame()


class TestWrongArguments:
    @pytest.mark.parametrize("call", [sobol_indices, lambda model: effect(model, 0)], ids=["indices", "effect"])
    def test_other_models(self, call):
        X = np.random.default_rng(0).uniform(size=(30, 1))
        other = BayesianFeatureRegressor(IndexSetFourierFeatures(n_components=11)).fit(X, X[:, 0])
        with pytest.raises(TypeError, match="TorusGPRegressor, got BayesianFeatureRegressor"):
            call(other)
        with pytest.raises(NotFittedError):
            call(TorusGPRegressor())

    @pytest.mark.parametrize("intercept", [True, False])
    def test_constant_targets_among_several_have_no_shares(self, intercept):
        X = np.random.default_rng(0).uniform(size=(50, 2))
        y = np.column_stack([np.cos(X[:, 0]), np.full(50, 1e6 * intercept)])
        settings = {"period": 1.0, "n_components": 21, "intercept": intercept, "learn": (), "noise_variance": 1e-3}
        model = TorusGPRegressor(**settings).fit(X, y)
        indices = sobol_indices(model)
        alone = sobol_indices(TorusGPRegressor(**settings).fit(X, y[:, 0]))
        np.testing.assert_allclose(indices.share[:, 0], alone.share, atol=ROUNDING)
        np.testing.assert_allclose(indices.total_order[:, 0], alone.total_order, atol=ROUNDING)
        assert np.isnan(indices.share[:, 1]).all()
        assert np.isnan(indices.total_order[:, 1]).all()
        assert np.isnan(indices.interval()[0][:, 1]).all()
        assert "nan" in repr(indices)

    def test_constant_targets_alone(self):
        X = np.random.default_rng(0).uniform(size=(50, 2))
        model = TorusGPRegressor(period=1.0, n_components=21, learn=()).fit(X, np.full((50, 2), 3.0))
        with pytest.raises(ValueError, match="predicted function of every output is constant"):
            sobol_indices(model)

    def test_a_constant_alone(self):
        model = small_model(2, index_set=tensor(2, 0), noise_variance=100.0)
        assert (effect(model, 0).mean == 0).all()
        with pytest.raises(ValueError, match="predicted function of the target is constant"):
            sobol_indices(model)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"max_order": 0}, "max_order must be a positive integer or None, got 0"),
            ({"max_order": 1.5}, "max_order"),
            ({"n_samples": 0}, "n_samples must be a positive integer, got 0"),
        ],
        ids=str,
    )
    def test_options_of_indices(self, options, message):
        with pytest.raises(ValueError, match=message):
            sobol_indices(small_model(1), **options)

    @pytest.mark.parametrize("coverage", [0, 1, 95])
    def test_coverage(self, coverage):
        indices = sobol_indices(small_model(1), n_samples=10)
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
            indices.interval(coverage)

    def test_components_beyond_the_order(self):
        indices = sobol_indices(small_model(), max_order=1)
        with pytest.raises(KeyError, match="raise max_order to 2"):
            indices[0, 1]
        with pytest.raises(ValueError, match="not one of the dimensions 0 to 2"):
            indices["hour"]

    @pytest.mark.parametrize("dimensions", [(), (0, 0), 2, -1, "hour", (0, 1.5)], ids=str)
    def test_dimensions(self, dimensions):
        with pytest.raises(ValueError, match="dimensions"):
            effect(small_model(2), dimensions)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"grid": [[0.0, 1.0]]}, "one vector for each of 2 dimensions"),
            ({"grid": [0.0, 1.0]}, "one vector for each of 2 dimensions"),
            ({"grid": [[0.0], [1.0]], "n_points": 3}, "cannot both be given"),
        ],
        ids=["too few", "numbers", "both"],
    )
    def test_grids(self, options, message):
        with pytest.raises(ValueError, match=message):
            effect(small_model(2), (0, 1), **options)

    def test_points(self):
        found = effect(small_model(2), (0, 1))
        with pytest.raises(ValueError, match=r"points must have shape \(n_points, 2\), got \(3,\)"):
            found([0.0, 1.0, 2.0])
