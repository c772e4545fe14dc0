import numpy as np
import pytest

from torusgp.engine.marginals import Marginals
from torusgp.engine.statistics import SufficientStatistics
from torusgp.kernels.index_sets import tensor
from torusgp.kernels.torus import Axis, Torus

TORUS = Torus(
    (
        Axis("hour", "circle", 0),
        Axis("warmth", "line", 1, low=-3.0, high=7.0),
        Axis("shop", "category", 2, levels=("a", "b", "c")),
    ),
    ("hour", "warmth", "shop"),
)


def make_rows(n_samples=5000):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 24, n_samples), 10 * rng.beta(2, 5, n_samples), rng.integers(0, 3, n_samples)])
    return X, rng.uniform(0.5, 2, n_samples)


def test_averages_of_waves_are_those_over_the_rows():
    X, weight = make_rows()
    marginals = Marginals.of(TORUS).with_rows(X, weight)
    places, shares = marginals.nodes(1)
    assert shares.sum() == pytest.approx(1)
    assert len(places) < len(X)
    for turns in (1, 10, 60):
        wave = np.exp(2j * np.pi * turns * X[:, 1] / 10)
        found = shares @ np.exp(2j * np.pi * turns * places / 10)
        assert abs(found - np.average(wave, weights=weight)) < 1e-5 * (turns / 60) ** 3 + 1e-12
    for power in (1, 2):  # which are exact
        assert shares @ places**power == pytest.approx(np.average(X[:, 1] ** power, weights=weight), rel=1e-12)


def test_levels_and_values_far_apart_are_exact():
    X, weight = make_rows()
    X[:, 1] = np.array([0.0, 2.5, 7.1, 10.0])[np.random.default_rng(1).integers(0, 4, len(X))]
    marginals = Marginals.of(TORUS).with_rows(X, weight)
    for axis in (1, 2):
        places, shares = marginals.nodes(axis)
        np.testing.assert_allclose(np.unique(places.round(9)), np.unique(X[:, axis]), atol=1e-12)
        for value in np.unique(X[:, axis]):
            wanted = weight[X[:, axis] == value].sum() / weight.sum()
            assert shares[np.isclose(places, value)].sum() == pytest.approx(wanted)


def test_parts_add_up_and_survive_files(monkeypatch):
    X, weight = make_rows(1000)
    monkeypatch.setattr("torusgp.engine.marginals._BLOCK_ROWS", 300)
    empty = Marginals.of(TORUS)
    whole = empty.with_rows(X, weight)
    parts = empty.with_rows(X[:400], weight[:400]) + empty.with_rows(X[400:], weight[400:])
    np.testing.assert_allclose(parts.sums, whole.sums, atol=1e-9)
    again = Marginals.from_arrays(whole.to_arrays())
    np.testing.assert_array_equal(again.sums, whole.sums)
    assert Marginals.from_arrays({}) is None
    assert not empty.sums.any()


def test_circles_have_none():
    assert Marginals.of(Torus(TORUS.axes[:1], ("hour",))) is None
    marginals = Marginals.of(TORUS)
    assert marginals.nodes(0) is None
    assert marginals.nodes(1) is None  # no rows yet


def test_other_ranges_do_not_add_up():
    other = Torus((Axis("hour", "circle", 0), Axis("warmth", "line", 1, low=0.0, high=1.0)), ("hour", "warmth"))
    with pytest.raises(ValueError, match="bins agree"):
        Marginals.of(TORUS) + Marginals.of(other)


def test_statistics_carry_them(tmp_path):
    X, _ = make_rows(600)
    y = np.random.default_rng(2).normal(size=600)
    period = [24.0, 20.0, 5.0]
    noise = np.random.default_rng(3).uniform(0.5, 2, 600)

    def statistics(rows):
        marginals = Marginals.of(TORUS)
        options = {"period": period, "noise_scale": noise[rows], "marginals": marginals, "backend": "dense"}
        return SufficientStatistics.from_data(X[rows], y[rows], tensor(3, 1), **options)

    whole, parts = statistics(slice(None)), statistics(slice(200)) + statistics(slice(200, None))
    np.testing.assert_allclose(parts.marginals.sums, whole.marginals.sums, atol=1e-9)
    wanted = Marginals.of(TORUS).with_rows(X, noise**-2.0)
    np.testing.assert_allclose(whole.marginals.sums, wanted.sums, atol=1e-9)
    whole.save(tmp_path / "sums.npz")
    loaded = SufficientStatistics.load(tmp_path / "sums.npz")
    np.testing.assert_array_equal(loaded.marginals.sums, whole.marginals.sums)
    assert not whole.empty().marginals.sums.any()
    assert SufficientStatistics.from_data(X, y, tensor(3, 1), period=period).marginals is None
