import sys

import matplotlib
import numpy as np
import pandas
import pytest
from scipy.stats import norm

from torusgp import Category, Circle, Lattice, Line, Slope, TorusGPRegressor
from torusgp.views.plotting import PartsDisplay

matplotlib.use("Agg")
from matplotlib import pyplot as plt

ROUNDING = 1e-9  # contributions of about one


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def make_rows(n_samples=200):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "hour": rng.uniform(0, 24, n_samples),
            "warmth": rng.normal(15, 6, n_samples),
            "shop": rng.choice(["north", "south", "west"], n_samples),
            "price": rng.uniform(1, 3, n_samples),
        }
    )
    hour = 2 * np.pi * frame["hour"] / 24
    return frame, np.cos(hour) * (1 + frame["warmth"] / 15) + (frame["shop"] == "west") - frame["price"]


FRAME, Y = make_rows()
DAY = Circle("hour", 24)
KERNEL = DAY + Line("warmth") + Category("shop") + DAY * Category("shop") + DAY * Line("warmth") + Slope("price")


@pytest.fixture(scope="module")
def model():
    return TorusGPRegressor(KERNEL, learn=(), n_components=201).fit(FRAME, Y)


@pytest.fixture(scope="module")
def display(model):
    return PartsDisplay.from_estimator(model, n_points=25, target="sales (t)")


def at(part):
    """Rows with the values of a part's grid, others anywhere."""
    mesh = np.meshgrid(*(np.arange(len(values)) for values in part.grid), indexing="ij")
    rows = FRAME.iloc[[3] * mesh[0].size].reset_index(drop=True)
    return rows.assign(
        **{name: values[where.ravel()] for name, values, where in zip(part.inputs, part.grid, mesh, strict=True)}
    )


def test_parts_are_those_of_the_model(model, display):
    assert [part.name for part in display.parts] == list(model.term_names_)
    for j, part in enumerate(display.parts):
        mean, std = model.predict_parts(at(part), return_std=True)
        np.testing.assert_allclose(part.mean.ravel(), mean[:, j], atol=ROUNDING)
        np.testing.assert_allclose(part.std.ravel(), std[:, j], atol=1e-7)


def test_ranges_are_periods_ranges_and_levels(display):
    hour, warmth, shop, pair, _, price = display.parts
    assert hour.grid[0][[0, -1]].tolist() == [0, 24]
    assert warmth.grid[0][[0, -1]].tolist() == [FRAME["warmth"].min(), FRAME["warmth"].max()]
    assert shop.grid[0].tolist() == ["north", "south", "west"]
    assert [len(values) for values in pair.grid] == [25, 3]
    assert price.grid[0].mean() == pytest.approx(FRAME["price"].mean())
    assert [part.kind for part in display.parts[:4]] == [("circle",), ("line",), ("category",), ("circle", "category")]


def test_curves_bars_and_maps(display):
    display.plot(coverage=0.8)
    hour, warmth, shop, pair, pair_std, other, _, price = display.axes_
    part = display.parts[0]
    line = max(hour.lines, key=lambda one: len(one.get_xdata()))
    np.testing.assert_array_equal(line.get_data(), (part.grid[0], part.mean))
    heights = hour.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((part.mean + norm.ppf(0.9) * part.std).max())
    assert [bar.get_height() for bar in shop.patches] == display.parts[2].mean.tolist()
    assert [label.get_text() for label in shop.get_xticklabels()] == ["north", "south", "west"]
    mesh = pair.collections[0]
    np.testing.assert_array_equal(np.asarray(mesh.get_array()).ravel(), display.parts[3].mean.T.ravel())
    low, high = mesh.get_clim()
    assert low == -high  # white is nothing
    np.testing.assert_array_equal(
        np.asarray(pair_std.collections[0].get_array()).ravel(), display.parts[3].std.T.ravel()
    )
    assert hour.get_ylabel() == "contribution to sales (t)"
    assert (warmth.get_xlabel(), warmth.get_title(loc="left")) == ("warmth", "warmth")
    assert (other.get_xlabel(), other.get_ylabel()) == ("hour", "warmth")
    assert hour.get_ylim() == warmth.get_ylim() == shop.get_ylim() == price.get_ylim()
    display.figure_.canvas.draw()


def test_terms_can_be_chosen_and_named(model):
    display = PartsDisplay.from_estimator(
        model, "warmth", names=["hour (h)", "warmth (°C)", "shop", "price (€)"], n_points=5
    ).plot(color="black")
    (ax,) = display.axes_
    assert ax.get_xlabel() == "warmth (°C)"
    assert max(ax.lines, key=lambda one: len(one.get_xdata())).get_color() == "black"
    both = PartsDisplay.from_estimator(model, ["slope of price", "shop"], n_points=5)
    assert [part.name for part in both.parts] == ["slope of price", "shop"]


def test_axes_that_are_given_show_a_term_each(display):
    _, axes = plt.subplots(2, 3)
    assert display.plot(axes).axes_.tolist() == axes.ravel().tolist()
    with pytest.raises(ValueError, match="ax must be 6 axes, one for each term, got 1"):
        display.plot(axes[0, 0])


def test_terms_of_three_inputs_are_left_out():
    kernel = DAY * Line("warmth") * Line("price") + Line("price")
    model = TorusGPRegressor(kernel, learn=(), n_components=101).fit(FRAME.drop(columns="shop"), Y)
    display = PartsDisplay.from_estimator(model, n_points=5)
    assert [part.name for part in display.parts] == ["price"]
    assert display.left_out == ("hour * warmth * price",)
    with pytest.raises(ValueError, match="depends on 3 inputs, and one or two can be drawn: use EffectDisplay"):
        PartsDisplay.from_estimator(model, "hour * warmth * price")
    alone = TorusGPRegressor(kernel.terms[0], learn=(), n_components=101).fit(FRAME.drop(columns="shop"), Y)
    with pytest.raises(ValueError, match="No term depends on one or two inputs"):
        PartsDisplay.from_estimator(alone).plot()


def test_lattices_two_periods_and_slow_change():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 60, (300, 2))
    y = np.cos(2 * np.pi * X[:, 0] / 12) + 0.1 * rng.normal(size=300)
    cell = [[12.0, 1.0], [-2.0, 9.0]]
    lattice = TorusGPRegressor(Lattice((0, 1), cell) + Slope(0), learn=(), n_components=61).fit(X, y)
    part, slope = PartsDisplay.from_estimator(lattice, n_points=7).parts
    assert [values[-1] for values in part.grid] == [12.0, 9.0]
    points = np.stack(np.meshgrid(*part.grid, indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(part.mean.ravel(), lattice.predict_parts(points)[:, 0], atol=ROUNDING)
    assert slope.mean[0] == pytest.approx(-slope.mean[-1])
    two = TorusGPRegressor(Circle(0, 12) * Circle(0, 30) + Line(0) + Slope(0), learn=(), n_components=61)
    day, slow, line = PartsDisplay.from_estimator(two.fit(X, y), n_points=7).parts
    assert day.grid[0][-1] == 30.0
    np.testing.assert_array_equal(slow.grid[0], line.grid[0])


def test_outputs():
    both = TorusGPRegressor(KERNEL, learn=(), n_components=101).fit(FRAME, np.column_stack([Y, -2 * Y]))
    first, second = (PartsDisplay.from_estimator(both, "shop", output=q).parts[0] for q in (0, 1))
    np.testing.assert_allclose(second.mean, -2 * first.mean, rtol=0.05, atol=0.02)


def test_wrong_arguments(model, display, monkeypatch):
    with pytest.raises(ValueError, match="'day' is not one of the terms, which are"):
        PartsDisplay.from_estimator(model, "day")
    with pytest.raises(ValueError, match="names must be 4, one for each input"):
        PartsDisplay.from_estimator(model, names=["a"])
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        display.plot(coverage=1.0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "torusgp\[plot\]"'):
        display.plot()
