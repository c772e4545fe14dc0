import pickle
import sys
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from tests.oracles import HEXAGONAL, OBLIQUE, TRICLINIC
from torusgp import BayesianFeatureRegressor, IndexSetFourierFeatures, TorusGPRegressor
from torusgp.data.datasets import make_lattice_image
from torusgp.kernels.index_sets import tensor
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
    period = PERIOD[:dimension] if period is None else period
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
        model = TorusGPRegressor(columns=[0, 0], period=[5, 7], learn=(), index_set=tensor(2, 2)).fit(time, y)
        indices = sobol_indices(model, n_samples=10)
        assert indices.names == ("input 0 (period 5)", "input 0 (period 7)")
        # over 35 both phases take all their values: frequency (k, l) is the harmonic 7 k + 5 l of it
        values = model.predict(np.arange(0, 35, 0.25)[:, None])
        power = 2 * np.abs(np.fft.rfft(values) / len(values)) ** 2
        total = power[1:].sum()
        assert indices[0] == pytest.approx(power[[7, 14]].sum() / total)
        assert indices[1] == pytest.approx(power[[5, 10]].sum() / total)
        assert indices[0, 1] == pytest.approx(1 - power[[5, 7, 10, 14]].sum() / total)
        main = effect(model, "input 0 (period 7)")
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
        model = small_model(index_set="adaptive", n_components=21, max_interaction=1)
        indices = sobol_indices(model)
        assert indices.components == ((0,), (1,), (2,))
        assert indices[0, 1] == indices["input 0", "input 1", "input 2"] == 0
        np.testing.assert_allclose(indices.total_order, indices.first_order)
        together = effect(model, (0, 1))
        assert (together.mean == 0).all()
        assert (together.std == 0).all()

    def test_dimensions_without_a_frequency_have_no_share(self):
        model = small_model(index_set="hyperbolic_cross", n_components=31, weights=[1, 0, 1], noise_variance=10.0)
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
            indices = sobol_indices(TorusGPRegressor(n_components=41).fit(X, y))
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

    @pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "plain"])
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
        assert back.names == ("input 2", "input 0")
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
        monkeypatch.setattr("torusgp.views.analysis._CHUNK_ENTRIES", 100)
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
    def test_slow_change_is_left_out(self):
        rng = np.random.default_rng(0)
        time = np.sort(rng.uniform(0, 100, 400))[:, None]
        y = 0.05 * time[:, 0] + np.cos(2 * np.pi * time[:, 0] / 7.3) + 0.1 * rng.normal(size=400)
        model = TorusGPRegressor(period="auto").fit(time, y)
        assert model.trend_ is not None
        assert model.kernel_.period == pytest.approx(7.3, rel=1e-2)
        indices = sobol_indices(model)
        assert indices.share.tolist() == indices.total_order.tolist() == [1.0]
        joint = effect(model, 0, joint=True)
        np.testing.assert_allclose(joint(time) + model.trend_.mean(time)[:, 0], model.predict(time), atol=ROUNDING)
        assert np.ptp(joint.mean) < 2.5  # the line alone would be 5

    @pytest.mark.parametrize(
        "period",
        [pytest.param([[12.02, 1.0], [-2.0, 8.99]], id="learned"), pytest.param("auto", marks=pytest.mark.slow)],
    )
    def test_a_lattice(self, period):
        image = make_lattice_image(np.array([[12.0, 1.0], [-2.0, 9.0]]), (40, 40), noise=0.3).image
        X = np.argwhere(np.ones(image.shape, dtype=bool))
        learn = ("length_scale", "signal_variance", "noise_variance", "lattice")
        model = TorusGPRegressor(period=period, learn=learn, n_components=31).fit(X, image.ravel())
        learned = model.kernel_.cell(2)
        points = torus_grid(learned, 32)
        flat = points.reshape(-1, 2)
        values = model.predict(flat) - (0 if model.trend_ is None else model.trend_.mean(flat)[:, 0])
        components = anova(values.reshape(32, 32), 2)
        variances = np.array([(components[u] ** 2).mean() for u in subsets(range(2))])
        indices = sobol_indices(model)
        np.testing.assert_allclose(indices.share, variances / variances.sum(), atol=1e-7)
        assert all(name.startswith("along (") for name in indices.names)
        first = effect(model, 0, grid=np.arange(32) / 32 * np.linalg.norm(learned[0]))
        np.testing.assert_allclose(first.mean, components[(0,)][:, 0], atol=1e-7)


class TestNames:
    def frame_model(self, **parameters):
        pandas = pytest.importorskip("pandas")
        rng = np.random.default_rng(0)
        X = pandas.DataFrame(rng.uniform(0, 300, (100, 3)), columns=["hour", "weekday", "time"])
        return TorusGPRegressor(learn=(), noise_variance=10.0, n_components=41, **parameters).fit(
            X, rng.normal(size=100)
        )

    def test_names_of_inputs_and_their_periods(self):
        model = self.frame_model(columns=["time", "weekday", "time"], period=[24, 7, 365.25])
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

    @pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "plain"])
    def test_constant_targets(self, intercept):
        X = np.random.default_rng(0).uniform(size=(50, 2))
        y = np.column_stack([np.cos(X[:, 0]), np.full(50, 1e6 * intercept)])
        model = TorusGPRegressor(n_components=21, intercept=intercept).fit(X, y)
        with pytest.raises(ValueError, match="predicted function of output 1 is constant"):
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
