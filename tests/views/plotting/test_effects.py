import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.stats import norm

from torusgp import Category, Circle, Line, TorusGPRegressor
from torusgp.kernels.index_sets import tensor
from torusgp.views.analysis import effect, sobol_indices
from torusgp.views.plotting import AttributionDisplay, EffectDisplay

matplotlib.use("Agg")
from matplotlib import pyplot as plt

TIMES = " \N{MULTIPLICATION SIGN} "


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def make_model(n_outputs=None, period=(24.0, 7.0, 365.25)):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, period, (300, 3))
    hour, weekday, day = (2 * np.pi * X / period).T
    y = 3 + 2 * np.cos(hour) * (1 + 0.5 * np.sin(weekday)) + 0.5 * np.cos(day) + 0.3 * rng.normal(size=300)
    y = y if n_outputs is None else np.column_stack([y, np.cos(day)])
    return TorusGPRegressor(period=period, learn=(), noise_variance=0.1, index_set=tensor(3, 2)).fit(X, y)


def make_mixed_model():
    frame = pytest.importorskip("pandas").DataFrame({"warmth": np.linspace(-3, 9, 60), "shop": ["north", "south"] * 30})
    y = np.sin(frame["warmth"]) * (frame["shop"] == "north")
    return TorusGPRegressor(Line("warmth") * Category("shop"), learn=(), n_components=61).fit(frame, y)


@pytest.fixture(scope="module")
def model():
    return make_model()


class TestEffect:
    def test_a_line_shows_the_effect_and_its_band(self, model):
        display = EffectDisplay.from_estimator(model, 0, n_points=40, target="demand (MW)").plot(coverage=0.8)
        found = effect(model, 0, n_points=40)
        zero, line = sorted(display.ax_.lines, key=lambda line: len(line.get_xdata()))
        np.testing.assert_array_equal(line.get_data(), (found.grid[0], found.mean))
        assert list(zero.get_ydata()) == [0, 0]
        (band,) = display.ax_.collections
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.max() == pytest.approx((found.mean + norm.ppf(0.9) * found.std).max())
        assert heights.min() == pytest.approx((found.mean - norm.ppf(0.9) * found.std).min())
        assert band.get_label() == "80% interval"
        assert display.ax_.get_xlabel() == "x0"
        assert display.ax_.get_ylabel() == "effect on demand (MW)"
        assert display.ax_.get_xlim() == (0, 24)
        assert display.ax_.get_xticks().tolist() == [0, 4, 8, 12, 16, 20, 24]

    def test_an_average_has_no_line_at_zero(self, model):
        display = EffectDisplay.from_estimator(model, 2, joint=True).plot(color="black")
        (line,) = display.ax_.lines
        assert line.get_color() == "black"
        assert display.ax_.get_ylabel() == "average target"
        assert display.mean.mean() == pytest.approx(3, abs=0.2)

    def test_maps_show_effect_and_uncertainty(self, model):
        display = EffectDisplay.from_estimator(model, (1, 0), n_points=12).plot()
        found = effect(model, (1, 0), n_points=12)
        shown = [ax.collections[0] for ax in display.axes_]
        for mesh, values in zip(shown, (found.mean, found.std), strict=True):
            np.testing.assert_array_equal(np.asarray(mesh.get_array()).ravel(), values.T.ravel())
            corners = mesh.get_coordinates()
            np.testing.assert_array_equal(corners[0, :, 0], found.grid[0])
            np.testing.assert_array_equal(corners[:, 0, 1], found.grid[1])
        reach = np.abs(found.mean).max()
        assert shown[0].get_clim() == (-reach, reach)  # white is no effect
        assert shown[1].get_clim()[0] == 0
        assert shown[1].get_clim()[1] >= found.std.max()
        ax = display.ax_
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x0")
        assert ax.get_xticks().tolist() == list(range(8))
        bars = [other.get_ylabel() for other in display.figure_.axes if other not in display.axes_]
        assert bars == ["interaction effect on target", "standard deviation, in the same unit"]

    def test_the_map_of_an_average(self, model):
        display = EffectDisplay.from_estimator(model, (0, 1), joint=True, n_points=5).plot(cmap="magma")
        mesh, spread = (ax.collections[0] for ax in display.axes_)
        assert mesh.get_clim() == (display.mean.min(), display.mean.max())
        assert (mesh.get_cmap().name, spread.get_cmap().name) == ("magma", "cividis")

    def test_one_axes_shows_the_effect_alone(self, model):
        figure, ax = plt.subplots()
        display = EffectDisplay.from_estimator(model, (0, 1), n_points=5).plot(ax)
        assert display.axes_.tolist() == [ax]
        assert display.figure_ is figure

    def test_no_effect_at_all(self):
        kernel = (Circle(0, 1.0) * Circle(1, 1.0)).limited(1)
        additive = TorusGPRegressor(kernel, learn=(), noise_variance=1.0, n_components=11)
        additive.fit(np.random.default_rng(0).uniform(size=(30, 2)), np.arange(30.0))
        display = EffectDisplay.from_estimator(additive, (0, 1), n_points=5).plot()
        display.figure_.canvas.draw()
        assert display.ax_.collections[0].get_clim() == (-1, 1)

    def test_levels_are_bars_with_errors(self):
        mixed = make_mixed_model()
        display = EffectDisplay.from_estimator(mixed, "shop").plot(coverage=0.8)
        found = effect(mixed, "shop")
        assert [bar.get_height() for bar in display.ax_.patches] == found.mean.tolist()
        assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["north", "south"]
        (segments,) = display.ax_.collections
        ends = np.array([segment[:, 1] for segment in segments.get_segments()])
        np.testing.assert_allclose(np.ptp(ends, axis=1) / 2, norm.ppf(0.9) * found.std)
        assert display.ax_.get_xlim() == (-0.5, 1.5)

    def test_a_map_of_a_line_and_a_category(self):
        mixed = make_mixed_model()
        display = EffectDisplay.from_estimator(mixed, ("warmth", "shop"), n_points=9).plot()
        mesh = display.ax_.collections[0]
        np.testing.assert_array_equal(np.asarray(mesh.get_array()).ravel(), display.mean.T.ravel())
        assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["north", "south"]
        low, high = display.grid[0][[0, -1]]
        assert display.ax_.get_xlim() == (low, high)

    def test_outputs(self):
        both = make_model(n_outputs=2)
        first, second = (EffectDisplay.from_estimator(both, 0, output=q) for q in range(2))
        assert np.ptp(first.mean) > 3
        assert np.ptp(second.mean) < 0.5

    @pytest.mark.parametrize(
        ("period", "limits", "ticks"),
        [
            (24.0, (0, 24), [0, 4, 8, 12, 16, 20, 24]),
            (7.0, (-2, 3), [-2, -1, 0, 1, 2, 3]),
            (360.0, (0, 360), [0, 60, 120, 180, 240, 300, 360]),
            (168.0, (0, 168), [0, 24, 48, 72, 96, 120, 144, 168]),
        ],
        ids=str,
    )
    def test_ticks_divide_a_whole_period(self, period, limits, ticks):
        grid = (np.linspace(*limits, 11),)
        display = EffectDisplay(grid, np.zeros(11), np.ones(11), ("input",), period=(period,)).plot()
        assert display.ax_.get_xticks().tolist() == ticks

    @pytest.mark.parametrize(
        ("period", "limits"),
        [((365.25,), (0, 365.25)), ((11.0,), (0, 11)), ((24.0,), (0, 240)), (None, (0, 24))],
        ids=["fraction", "prime", "many periods", "unknown"],
    )
    def test_other_ticks_are_those_of_matplotlib(self, period, limits):
        grid = (np.linspace(*limits, 11),)
        display = EffectDisplay(grid, np.zeros(11), np.ones(11), ("input",), period=period).plot()
        _, other = plt.subplots()
        other.set_xlim(limits)
        assert display.ax_.get_xticks().tolist() == other.get_xticks().tolist()

    def test_wrong_arguments(self, model):
        with pytest.raises(ValueError, match="one or two dimensions can be drawn, got 3"):
            EffectDisplay.from_estimator(model, (0, 1, 2), n_points=3)
        line, maps = (EffectDisplay.from_estimator(model, u, n_points=3) for u in (0, (0, 1)))
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1, got 95"):
            line.plot(coverage=95)
        with pytest.raises(ValueError, match="ax must be one axes, got"):
            line.plot(plt.subplots(2)[1])
        with pytest.raises(ValueError, match="ax must be one axes or two"):
            maps.plot(plt.subplots(3)[1])


class TestAttribution:
    def test_a_constant_target_has_nothing_to_draw(self):
        X = np.random.default_rng(0).uniform(size=(50, 1))
        both = TorusGPRegressor(period=1.0, learn=(), n_components=5).fit(X, np.hstack([X, np.ones((50, 1))]))
        assert AttributionDisplay.from_estimator(both, n_samples=2).share == pytest.approx([1.0])
        with pytest.raises(ValueError, match="function of output 1 is constant"):
            AttributionDisplay.from_estimator(both, output=1, n_samples=2)

    def test_bars_fall_and_name_the_interactions(self, model):
        indices = sobol_indices(model)
        display = AttributionDisplay.from_estimator(model).plot()
        ax = display.ax_
        bars = sorted(ax.patches, key=lambda bar: bar.get_y())
        order = np.argsort(-indices.share)
        np.testing.assert_allclose([bar.get_width() for bar in bars], 100 * indices.share[order])
        labels = [text.get_text() for text in ax.get_yticklabels()]
        assert labels == [indices.labels[i] for i in order]
        assert labels[:3] == ["x0", f"x0{TIMES}x1", "x2"]
        low, high = ax.get_ylim()
        assert low > high  # the largest is on top

    def test_intervals_are_drawn(self, model):
        indices = sobol_indices(model)
        display = AttributionDisplay.from_indices(indices, coverage=0.8).plot()
        (lines,) = display.ax_.collections
        ends = np.array([segment[:, 0] for segment in lines.get_segments()])
        order = np.argsort(-indices.share)
        lower, upper = indices.interval(0.8)
        np.testing.assert_allclose(ends, 100 * np.column_stack([lower, upper])[order])
        assert display.ax_.get_xlim()[1] > 100 * upper.max()

    def test_colour_and_hatch_tell_the_order(self, model):
        display = AttributionDisplay.from_estimator(model).plot()
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == ["one dimension alone", "two together", "three or more together", "95% interval"]
        first, second = sorted(display.ax_.patches, key=lambda bar: bar.get_y())[:2]
        assert to_hex(first.get_facecolor()) != to_hex(second.get_facecolor())
        assert (first.get_hatch() or "") != second.get_hatch()

    def test_the_smaller_ones_are_lumped(self, model):
        display = AttributionDisplay.from_estimator(model).plot(n_bars=3)
        bars = sorted(display.ax_.patches, key=lambda bar: bar.get_y())
        assert len(bars) == 4
        assert sum(bar.get_width() for bar in bars) == pytest.approx(100)
        assert display.ax_.get_yticklabels()[-1].get_text() == "4 smaller ones"

    @pytest.mark.parametrize(("n_bars", "label"), [(2, "1 smaller one and higher orders"), (3, "higher orders")])
    def test_higher_orders_are_lumped(self, model, n_bars, label):
        display = AttributionDisplay.from_estimator(model, max_order=1).plot(n_bars=n_bars)
        assert display.ax_.get_yticklabels()[-1].get_text() == label
        assert sum(bar.get_width() for bar in display.ax_.patches) == pytest.approx(100)

    def test_numbers_stand_beside_the_bars(self, model):
        display = AttributionDisplay(("a", "b"), (1, 1), np.array([0.9996, 0.0004]), np.zeros(2), np.ones(2), 0.95)
        assert [text.get_text() for text in display.plot().ax_.texts] == ["100.0 %", "< 0.1 %"]

    def test_outputs_axes_and_options(self):
        both = make_model(n_outputs=2)
        figure, ax = plt.subplots()
        display = AttributionDisplay.from_estimator(both, output=1, max_order=1).plot(ax, alpha=0.5)
        assert display.figure_ is figure
        assert display.labels[display.share.argmax()] == "x2"
        assert all(bar.get_alpha() == 0.5 for bar in ax.patches)
        with pytest.raises(ValueError, match="n_bars must be positive, got 0"):
            display.plot(n_bars=0)


def test_without_matplotlib_the_install_line_is_given(model, monkeypatch):
    displays = [EffectDisplay.from_estimator(model, 0), AttributionDisplay.from_estimator(model)]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in displays:
        with pytest.raises(ImportError, match=r'pip install "torusgp\[plot\]"'):
            display.plot()
