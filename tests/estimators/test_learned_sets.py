"""Index sets learned from the data, through the regressor."""

import numpy as np
import pandas as pd
import pytest

from tests.engine.backends.devices import DEVICES, check_device
from torusgp import Category, Circle, Line, Slope, Torch, TorusGPRegressor, TorusKernel
from torusgp.engine.basis import columns
from torusgp.fitting.rows import Rows
from torusgp.fitting.selection import split
from torusgp.kernels.index_sets import adaptive


def waves(frequencies, n_rows, noise, seed=0):
    """Rows of a sum of harmonics of equal strength on the torus, of variance one."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2 * np.pi, (n_rows, len(frequencies[0])))
    shifts = rng.uniform(0, 2 * np.pi, len(frequencies))
    y = np.cos(X @ np.array(frequencies).T + shifts).sum(axis=1) * np.sqrt(2 / len(frequencies))
    return X, y + noise * rng.normal(size=n_rows)


def learned(**others):
    others = {"kernel": "squared_exponential", "period": 2 * np.pi} | others
    return TorusGPRegressor(index_set="learned", **others)


def found(model):
    return {tuple(row) for row in model.index_set_.frequencies[1:].tolist()}


FREQUENCIES = [(1, 0, 0, 0, 0), (0, 2, 0, 0, 0), (1, 0, 1, 0, 0), (1, 0, 1, 0, -1), (1, 0, 1, 1, -1), (0, 2, 0, -1, 2)]


def test_the_frequencies_of_the_data_are_found_and_no_others():
    X, y = waves(FREQUENCIES, 3000, 1.0)
    model = learned(n_components=201).fit(X, y)
    assert found(model) == set(FREQUENCIES)
    assert model.noise_variance_ == pytest.approx(1.0, rel=0.1)
    again = learned(n_components=201).fit(X, y)
    np.testing.assert_array_equal(again.index_set_.frequencies, model.index_set_.frequencies)
    np.testing.assert_array_equal(again.predict(X[:50]), model.predict(X[:50]))


def test_a_function_of_a_difference_of_angles_is_found():
    """Its frequencies differ along two axes at once: none is a step from another."""
    frequencies = [
        (1, 0, 0, 2, 0),
        (1, 0, 0, 3, -1),
        (1, 0, 0, 4, -2),
        (1, 0, 0, 5, -3),
        (0, 1, 1, 0, 0),
        (0, 3, 3, 0, 0),
    ]
    X, y = waves(frequencies, 3000, 0.5)
    assert found(learned(n_components=201).fit(X, y)) == set(frequencies)


def weather(seed, n_rows=3000):
    """Hourly rows: hour, a temperature and its means over 3, 8 and 24 hours; and their effect with a little noise."""
    rng, hours = np.random.default_rng(seed), np.arange(n_rows)
    angle, steps = 2 * np.pi * hours / 24, 0.3 * rng.normal(size=n_rows)
    temperature = np.convolve(steps, 0.95 ** np.arange(200))[:n_rows] + np.cos(angle)
    short, middle, long = (np.convolve(temperature, np.full(n, 1 / n))[:n_rows] for n in (3, 8, 24))
    y = np.abs(temperature + 0.5) * (1 + 0.5 * np.cos(angle)) + np.cos(angle - 1) + np.abs(middle - 0.3)
    y += np.abs(long) * np.cos(angle) + 0.6 * np.cos(2 * angle) * np.tanh(2 * short) + 0.1 * rng.normal(size=n_rows)
    return np.column_stack([hours % 24, temperature, short, middle, long]), y


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_inputs_that_resemble_one_another_do_not_waste_components(seed):
    """Many candidates show the same there, and on long circles of lines nearly all do.

    Chosen by what each would add alone, 301 components had a log evidence of 343, 625 and 499 on these rows.
    """
    X, y = (rows[np.arange(3000) // 150 % 4 != 0] for rows in weather(seed))
    kernel = Circle(0, 24.0) * Line(1) * Line(2) * Line(3) * Line(4)
    model = learned(kernel=kernel, period=None, n_components=301, n_threads=1).fit(X, y)
    assert model.log_marginal_likelihood_ > 800.0


class TestWhatASetLeavesOut:
    """The intervals of the function count it, and rows cannot tell it from noise."""

    X, y = waves([(i, j, k, 0) for i in (1, 2) for j in (1, 2) for k in (-1, 0, 1, 2)], 2000, 0.3)

    def test_the_function_is_as_uncertain_as_its_error(self):
        model = learned(n_components=13).fit(self.X, self.y)
        truth = waves([(i, j, k, 0) for i in (1, 2) for j in (1, 2) for k in (-1, 0, 1, 2)], 2000, 0.0)[1]
        mean, std = model.predict(self.X, return_std=True, include_noise=False)
        alone = np.sqrt(model.fitted_.mean_and_variance_at(self.X, np.empty((2000, 0)))[1][:, 0])
        assert np.mean(np.abs(mean - truth) < 1.96 * alone) < 0.4
        assert np.mean(np.abs(mean - truth) < 1.96 * std) > 0.9

    def test_observations_have_the_variance_of_the_set_and_the_noise(self):
        model = learned(n_components=13).fit(self.X, self.y)
        alone = model.fitted_.mean_and_variance_at(self.X[:9], np.empty((9, 0)))[1][:, 0]
        std = model.predict(self.X[:9], return_std=True)[1]
        np.testing.assert_allclose(std**2, alone + model.noise_variance_, rtol=1e-10)
        covariance = model.predict(self.X[:9], return_cov=True)[1]
        np.testing.assert_allclose(np.diagonal(covariance), std**2, rtol=1e-10)

    def test_a_set_that_has_everything_leaves_out_nothing(self):
        model = learned(n_components=201).fit(self.X, self.y)
        assert model.fitted_.rest_variance[0] < 0.02 * model.noise_variance_

    def test_it_is_stored(self, tmp_path):
        model = learned(n_components=13).fit(self.X, self.y)
        model.save(tmp_path / "model.npz")
        loaded = TorusGPRegressor.load(tmp_path / "model.npz")
        assert loaded.fitted_.rest_share == model.fitted_.rest_share > 0


def test_many_rows_are_chosen_for_by_some_of_them(monkeypatch):
    monkeypatch.setattr("torusgp.fitting.fitter.SAMPLE_ROWS", 2000)
    X, y = waves(FREQUENCIES, 6000, 1.0)
    model = learned(n_components=201).fit(X, y)
    assert found(model) == set(FREQUENCIES)
    assert model.fitted_.statistics.n_samples == 6000


def test_nothing_to_find_is_a_constant_with_noise():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 2 * np.pi, (500, 5)), 5 + rng.normal(size=500)
    with pytest.warns(UserWarning, match="little evidence"):
        model = learned().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 5, atol=0.3)
    np.testing.assert_allclose(std, 1, rtol=0.15)


def test_a_function_of_many_weak_frequencies_keeps_those_of_the_prior():
    """No single frequency shows itself in few rows, but all together they do."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2 * np.pi, (700, 5))
    kernel = TorusKernel("squared_exponential", 0.9, 2 * np.pi)
    frequencies = adaptive(kernel, 1001, dimension=5).frequencies
    std = np.sqrt(2 * np.repeat(kernel.coefficients(frequencies), 2)[1:])
    y = columns(X, frequencies) @ (std * rng.normal(size=len(std))) + 0.1 * rng.normal(size=700)
    model = learned(n_components=401).fit(X[:300], y[:300])
    prior = TorusGPRegressor(period=2 * np.pi, n_components=401).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > prior.score(X[300:], y[300:]) - 0.05 > 0.05


class TestTheDefaultSet:
    """Learned where more than three axes interact and everything needed can be learned, else adaptive."""

    X, y = waves([(1, 0, 0, 0), (0, 1, 1, 0)], 300, 0.3)

    def is_learned(self, X=X, y=y, **parameters):
        parameters = {"period": 2 * np.pi, "n_components": 61} | parameters
        return bool(TorusGPRegressor(**parameters).fit(X, y).fit_.learned.rounds)

    def test_it_is_learned_where_four_axes_interact(self):
        assert self.is_learned()
        assert self.is_learned(likelihood="student_t")
        assert self.is_learned([(self.X[:150], self.y[:150]), (self.X[150:], self.y[150:])], None)

    def test_few_axes_and_limited_interactions_have_the_set_of_the_prior(self):
        assert not self.is_learned(self.X[:, :3])
        product = Circle(0, 2 * np.pi) * Circle(1, 2 * np.pi) * Circle(2, 2 * np.pi) * Circle(3, 2 * np.pi)
        assert not self.is_learned(kernel=product.limited(2), period=None)

    def test_what_cannot_learn_a_set_does_not(self):
        assert not self.is_learned(learn=())
        model = TorusGPRegressor(period=2 * np.pi, n_components=61)
        model.fit(self.X, self.y, X_gradient=self.X[:5], gradient=np.cos(self.X[:5]))
        assert not model.fit_.learned.rounds

    def test_rows_added_later_keep_it(self):
        model = TorusGPRegressor(period=2 * np.pi, n_components=61)
        for some in (slice(0, 150), slice(150, 300)):
            model.partial_fit(self.X[some], self.y[some])
        assert model.fit_.learned.rounds


def test_every_round_is_told():
    X, y = waves(FREQUENCIES, 3000, 1.0)
    model = learned(n_components=201).fit(X, y)
    rounds = model.fit_.learned.rounds
    assert len(rounds) >= 2
    assert all(np.isfinite([one.log_evidence, one.log_density]).all() for one in rounds)
    *growing, kept = rounds
    assert [one.n_components for one in growing] == sorted(one.n_components for one in growing)
    assert kept.n_components == model.index_set_.n_components


def test_rows_that_take_no_part_are_blocks_of_the_given_order():
    rows = Rows(np.arange(1000.0)[:, None], np.zeros((1000, 1)))
    taking_part, others = split(rows)
    together = np.sort(np.concatenate([taking_part.X, others.X])[:, 0])
    np.testing.assert_array_equal(together, np.arange(1000.0))
    starts = np.flatnonzero(np.diff(np.sort(others.X[:, 0])) > 1)
    assert len(others) == 200
    assert len(starts) == 9
    assert len(split(rows.take(slice(0, 10)))[1]) == 0  # none can be spared


def test_choosing_by_evidence_never_makes_the_noise_smaller_than_learned():
    X, y = waves(FREQUENCIES, 400, 1.0)
    factor = learned().fit(X, y).fit_.learned.noise_factor
    assert (factor >= 1).all()


def make_table(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "hour": rng.uniform(0, 24, n_rows),
            "heat": rng.normal(20, 5, n_rows),
            "shop": rng.choice(["north", "south", "west"], n_rows),
            "price": rng.uniform(1, 2, n_rows),
        }
    )
    phase = 2 * np.pi * table["hour"] / 24
    y = np.cos(phase) * np.tanh((table["heat"] - 20) / 5) + (table["shop"] == "west") * np.sin(phase)
    return table, y.to_numpy() + 2 * table["price"].to_numpy() + 0.1 * rng.normal(size=n_rows)


KERNEL = Circle("hour", 24) * Line("heat") * Category("shop") + Slope("price")


def test_lines_categories_and_plain_columns():
    table, y = make_table()
    model = TorusGPRegressor(KERNEL, index_set="learned", n_components=301).fit(table, y)
    test, truth = make_table(seed=1)
    mean, std = model.predict(test, return_std=True)
    assert np.sqrt(np.mean((truth - mean) ** 2)) < 0.13
    assert 0.92 < np.mean(np.abs(truth - mean) < 1.96 * std) < 0.98


def test_the_order_of_the_levels_changes_nothing():
    table, y = make_table(600)
    other = table.assign(shop=table["shop"].map({"north": "c", "south": "a", "west": "b"}))
    first = TorusGPRegressor(KERNEL, index_set="learned", n_components=151).fit(table, y)
    second = TorusGPRegressor(KERNEL, index_set="learned", n_components=151).fit(other, y)
    np.testing.assert_allclose(second.predict(other[:50]), first.predict(table[:50]), rtol=1e-4, atol=1e-4)


def test_several_outputs_weights_and_noise_scales():
    X, y = waves(FREQUENCIES, 2000, 0.5)
    rng = np.random.default_rng(2)
    scale = rng.uniform(0.5, 2, 2000)
    Y = np.column_stack([y, np.cos(X[:, 1] * 2) + 0.3 * scale * rng.normal(size=2000)])
    model = learned(n_components=201).fit(X, Y, sample_weight=rng.integers(1, 3, 2000), noise_scale=scale)
    assert set(FREQUENCIES) <= found(model)
    assert model.predict(X).shape == (2000, 2)


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_learns_the_same_set(device):
    check_device(device)
    X, y = waves(FREQUENCIES[:4], 800, 0.5)
    model = learned(n_components=61).fit(X, y)
    there = learned(n_components=61, backend=Torch(device)).fit(X, y)
    assert found(there) == found(model)
    np.testing.assert_allclose(there.predict(X[:50]), model.predict(X[:50]), rtol=1e-6, atol=1e-6)


def test_a_stream_has_the_set_of_its_sample():
    X, y = waves(FREQUENCIES, 3000, 1.0)
    whole = learned(n_components=201).fit(X, y)
    chunks = [(X[i : i + 500], y[i : i + 500]) for i in range(0, 3000, 500)]
    stream = learned(n_components=201).fit(chunks)
    assert found(stream) == found(whole)
    np.testing.assert_allclose(stream.predict(X[:100]), whole.predict(X[:100]), atol=0.02)


def test_rows_added_later_choose_within_the_pool():
    X, y = waves(FREQUENCIES, 3000, 1.0)
    model = learned(n_components=201)
    for start in range(0, 3000, 1000):
        model.partial_fit(X[start : start + 1000], y[start : start + 1000])

    assert found(model) <= {tuple(row) for row in model.statistics_.covered().tolist()}
    assert model.score(X, y) > 0.45


def test_saved_and_loaded(tmp_path):
    table, y = make_table(600)
    model = TorusGPRegressor(KERNEL, index_set="learned", n_components=151).fit(table, y)
    model.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(table[:20]), model.predict(table[:20]))
    assert loaded.index_set == "learned"
    assert loaded.fit_.learned.rounds == model.fit_.learned.rounds


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_a_set_is_never_larger_than_asked_for(n_components):
    X, y = waves(FREQUENCIES, 100, 0.1)
    assert learned(n_components=n_components).fit(X, y).index_set_.n_components <= n_components


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_few_rows_of_noise_are_not_explained():
    """Too few to check what was chosen: the set and so the intervals are those of the prior."""
    inside = []
    for seed in (2, 3, 5):
        rng = np.random.default_rng(seed)
        X, new, y, y_new = (rng.uniform(size=(n, 4)) if wide else rng.normal(size=n) for n, wide in SHAPES)
        mean, std = TorusGPRegressor(period=1.0, index_set="learned").fit(X, y).predict(new, return_std=True)
        inside.append(np.abs(y_new - mean) < 1.96 * std)
    assert np.mean(inside) > 0.75


SHAPES = [(30, True), (200, True), (30, False), (200, False)]  # of inputs and of noise, few rows and new ones


def test_very_few_rows_are_saved_too(tmp_path):
    X, y = waves(FREQUENCIES, 12, 0.1)
    model = learned().fit(X, y)
    model.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    assert np.isnan(loaded.fit_.learned.rounds[0].log_density)  # no rows could be spared


def test_features_cannot_learn_a_set():
    from torusgp import IndexSetFourierFeatures

    with pytest.raises(ValueError, match="index_set must be"):
        IndexSetFourierFeatures(period=1.0, index_set="learned").fit(np.zeros((3, 1)))
