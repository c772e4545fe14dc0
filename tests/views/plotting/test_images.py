import sys
from dataclasses import replace
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import LogNorm

from tests.images.made_images import make_lattice_image, make_perforated_plate
from torusgp import Circle, TorusGPRegressor
from torusgp.images.inpainting import hole_mask, inpaint
from torusgp.views.plotting import InpaintingDisplay, PeriodogramDisplay

matplotlib.use("Agg")
from matplotlib import pyplot as plt

CELL = np.array([[12.0, 1.0], [-2.0, 9.0]])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def power_of(values):
    """Frequencies and shares of the variance of a series or an image on a unit grid, by the plain transform."""
    values = values - values.mean()
    transform = np.fft.fftshift(np.fft.fftn(values))
    frequencies = tuple(np.fft.fftshift(np.fft.fftfreq(n)) for n in values.shape)
    return frequencies, 2 * np.abs(transform) ** 2 / values.size**2 / values.var()


def as_search(values, periods):
    """What a search leaves behind, as far as displays use it."""
    frequencies, power = power_of(values)
    found = [SimpleNamespace(period=period) for period in periods]
    return type("Search", (list,), {"periodogram": SimpleNamespace(frequencies=frequencies, power=power)})(found)


IMAGE = make_lattice_image(CELL, (96, 90), noise=0.3)
SERIES = np.sin(2 * np.pi * np.arange(480) / 24) + np.sin(2 * np.pi * np.arange(480) / 8) ** 3


class TestPeriodogramLine:
    def test_power_and_harmonics(self):
        display = PeriodogramDisplay.from_search(as_search(SERIES, [24.0, 7.9]), names=["hour"]).plot()
        ax = display.ax_
        curve = ax.lines[-1]
        positive = display.frequencies[0] > 0
        np.testing.assert_array_equal(curve.get_xdata(), display.frequencies[0][positive])
        drawn, power = curve.get_ydata(), display.power[positive]
        np.testing.assert_array_equal(drawn[power > 0], power[power > 0])
        marks = {line.get_label(): line.get_xdata() for line in ax.lines if "period" in line.get_label()}
        assert list(marks) == ["period 24 and its harmonics", "period 7.9 and its harmonics"]
        first, second = marks.values()
        np.testing.assert_allclose(first, np.arange(1, 6) / 24)
        np.testing.assert_allclose(second, np.arange(1, 4) / 7.9)  # below half a cycle
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels == list(marks)
        assert ax.get_yscale() == "log"
        assert ax.get_xlabel() == "frequency (cycles per unit of hour)"
        assert ax.get_ylabel() == "share of the variance explained"

    def test_nothing_found(self):
        display = PeriodogramDisplay.from_search(as_search(SERIES, [])).plot(max_frequency=0.2, color="black")
        (curve,) = display.ax_.lines
        assert curve.get_color() == "black"
        assert display.ax_.get_legend() is None
        assert display.ax_.get_xlim() == (0, 0.2)
        assert display.ax_.get_xlabel() == "frequency (cycles per unit of x0)"
        assert len(display.reciprocal_points()) == 0

    def test_constant_targets_have_an_empty_plot(self):
        display = PeriodogramDisplay((np.linspace(-0.5, 0.5, 11),), np.zeros(11)).plot()
        display.figure_.canvas.draw()
        assert np.isnan(display.ax_.lines[0].get_ydata()).all()


class TestPeriodogramMap:
    def test_power_and_reciprocal_lattice(self):
        display = PeriodogramDisplay.from_search(as_search(IMAGE.image, [CELL]), names=["row", "column"]).plot()
        (mesh,) = display.ax_.collections
        np.testing.assert_allclose(np.asarray(mesh.get_array()), display.power.T)
        assert isinstance(mesh.norm, LogNorm)
        assert mesh.norm.vmax == display.power.max()
        (marks,) = display.ax_.lines
        points = np.column_stack(marks.get_data())
        np.testing.assert_array_equal(points, display.reciprocal_points())
        assert "(12, 1), (-2, 9)" in display.ax_.get_title()
        assert display.ax_.get_xlabel() == "frequency along row (cycles per unit)"
        assert display.ax_.get_ylabel() == "frequency along column (cycles per unit)"
        assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["sinusoids of the cell"]

    def test_points_are_all_of_the_lattice_in_the_range(self):
        display = PeriodogramDisplay(*power_of(IMAGE.image), [CELL])
        points = display.reciprocal_points()
        turns = points @ CELL.T
        np.testing.assert_allclose(turns, np.rint(turns), atol=1e-9)
        integers = np.array([[i, j] for i in range(-20, 21) for j in range(-20, 21) if i or j])
        every = integers @ np.linalg.inv(CELL).T
        limits = np.array([np.abs(f).max() for f in display.frequencies])
        assert len(points) == (np.abs(every) <= limits).all(axis=1).sum()
        assert (np.diff(np.linalg.norm(points, axis=1)) >= -1e-12).all()

    def test_points_lie_where_the_power_is(self):
        frequencies, power = power_of(IMAGE.signal)
        points = PeriodogramDisplay(frequencies, power, [CELL]).reciprocal_points()
        place = np.array(np.unravel_index(power.argmax(), power.shape))
        strongest = np.array([f[i] for f, i in zip(frequencies, place, strict=True)])
        assert np.abs(points - strongest).max(axis=1).min() < 1 / 90  # a bin of the transform

    def test_periods_along_the_axes_are_a_rectangle(self):
        display = PeriodogramDisplay(*power_of(IMAGE.image), [(12.0, 9.0)])
        np.testing.assert_array_equal(display.periods[0], np.diag([12.0, 9.0]))

    def test_many_points_are_thinned_and_it_is_said(self):
        display = PeriodogramDisplay(*power_of(IMAGE.image), [3 * CELL]).plot(max_frequency=0.2)
        assert len(display.reciprocal_points()) > 600
        (marks,) = display.ax_.lines
        assert (len(marks.get_xdata()), marks.get_label()) == (600, "the 600 slowest sinusoids of the cell")
        assert display.ax_.get_xlim() == display.ax_.get_ylim() == (-0.2, 0.2)

    def test_axes_are_used(self):
        figure, ax = plt.subplots()
        display = PeriodogramDisplay(*power_of(IMAGE.image)).plot(ax, cmap="cividis")
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert ax.collections[0].get_cmap().name == "cividis"


class TestPeriodogramArguments:
    def test_from_a_regressor(self):
        frame = pytest.importorskip("pandas").DataFrame({"hour": np.arange(480.0)})
        y = SERIES + 0.5 * np.random.default_rng(0).normal(size=480)
        learn = ("length_scale", "signal_variance", "noise_variance", "period")
        model = TorusGPRegressor(period="auto", learn=learn, n_components=61).fit(frame, y)
        display = PeriodogramDisplay.from_estimator(model)
        assert display.periods == (model.fitted_.parameters.period[0],)
        assert display.periods[0] == pytest.approx(24.0, rel=1e-3)
        np.testing.assert_array_equal(display.power, model.period_search_.periodogram.power)
        assert display.plot().ax_.get_xlabel() == "frequency (cycles per unit of hour)"

    def test_one_input_with_two_periods(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.normal(size=600), rng.uniform(0, 400, 600)])
        y = np.sin(2 * np.pi * X[:, 1] / 24) + np.sin(2 * np.pi * X[:, 1] / 7) + 0.3 * rng.normal(size=600)
        model = TorusGPRegressor(Circle(1, "auto") + Circle(1, "auto"), n_components=61).fit(X, y)
        display = PeriodogramDisplay.from_estimator(model)
        assert sorted(display.periods) == pytest.approx([7.0, 24.0], rel=1e-2)
        assert display.names == ("x1",)

    def test_a_regressor_that_searched_nothing(self):
        noise = np.random.default_rng(0).normal(size=48)
        model = TorusGPRegressor(period=24.0, n_components=21).fit(np.arange(48.0)[:, None], SERIES[:48] + noise)
        with pytest.raises(ValueError, match="searched no period: fit it with period='auto', or use find_period"):
            PeriodogramDisplay.from_estimator(model)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([[0.0]] * 3, np.zeros((1, 1, 1))), "1 or 2 inputs, this one has 3"),
            (([[0.0, 1.0]], np.zeros(3)), r"power must have shape \(2,\).*got \(3,\)"),
            (([[0.0]], np.zeros(1), [CELL]), "must be a number"),
            (([[0.0]] * 2, np.zeros((1, 1)), [np.eye(3)]), "a pair or a 2 x 2 cell"),
            (([[0.0]], np.zeros(1), [], ["a", "b"]), r"names must be 1.*got \('a', 'b'\)"),
        ],
    )
    def test_wrong_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            PeriodogramDisplay(*arguments)

    def test_wrong_limit(self):
        with pytest.raises(ValueError, match="max_frequency must be positive, got 0"):
            PeriodogramDisplay(*power_of(SERIES)).plot(max_frequency=0)


SHAPE = (40, 60)
MASK = hole_mask("10:25,20:45", SHAPE)


def fill(colour=False, **options):
    plate = make_perforated_plate(SHAPE, spacing=9.0, colour=colour)
    return inpaint(255 * plate.image, MASK, TorusGPRegressor(period=plate.cell, n_components=61), **options)


def scaled_std(result):
    return result.std_map / (result.high - result.low)


class TestInpainting:
    def test_four_panels_on_one_scale(self):
        result = fill()
        display = InpaintingDisplay.from_result(result).plot()
        assert display.panels == ("truth", "given", "filled", "uncertainty")
        truth, given, filled, std = display.axes_
        np.testing.assert_allclose(truth.images[0].get_array(), result.scaled(result.image))
        np.testing.assert_allclose(filled.images[0].get_array(), result.scaled(result.filled))
        assert {ax.images[0].get_clim() for ax in (truth, given, filled)} == {(0.0, 1.0)}
        overlay = given.images[1].get_array()
        np.testing.assert_array_equal(overlay[..., 3] == 1, MASK)
        shown = std.images[0].get_array()
        np.testing.assert_allclose(shown[MASK], scaled_std(result)[MASK])
        assert np.isnan(np.ma.filled(shown, np.nan)[~MASK]).all()
        assert std.images[0].get_clim()[0] == 0

    def test_labels_and_units(self):
        result = fill()
        display = InpaintingDisplay.from_result(result).plot()
        assert display.ax_.get_ylabel() == "row (pixels)"
        assert {ax.get_xlabel() for ax in display.axes_} == {"column (pixels)"}
        assert display.axes_[2].get_title() == f"filled\nRMSE {result.rmse:.3g}, MNLL {result.mnll:.3g}"
        bars = [child.get_ylabel() for ax in display.axes_ for child in ax.child_axes]
        assert bars == ["grey (known pixels: 0 to 1)", "standard deviation\n(same scale)"]

    def test_the_cell_is_drawn_in_the_hole(self):
        result = fill()
        (outline,) = InpaintingDisplay.from_result(result).plot().axes_[1].lines
        corners = np.column_stack(outline.get_data())[:, ::-1]  # as (row, column)
        np.testing.assert_allclose(corners[1] - corners[0], result.cell[0])
        np.testing.assert_allclose(corners[2] - corners[1], result.cell[1])
        np.testing.assert_allclose(corners[:4].mean(axis=0), np.argwhere(MASK).mean(axis=0))

    def test_without_truth_or_cell(self):
        result = fill(truth=False)
        display = InpaintingDisplay(
            result.scaled(result.image), MASK, result.scaled(result.filled), scaled_std(result), truth_known=False
        ).plot()
        assert [ax.get_title() for ax in display.axes_] == ["given", "filled", "uncertainty"]
        assert not display.axes_[0].lines

    def test_colours_and_unknown_pixels(self):
        result = fill(colour=True)
        image = result.scaled(result.image)
        image[:3] = np.nan
        display = InpaintingDisplay(image, MASK, 2 * result.scaled(result.filled) - 0.5, scaled_std(result)).plot()
        shown = display.ax_.images[0].get_array()
        assert (shown[:3] == 1).all()
        np.testing.assert_array_equal(shown[3:], image[3:])
        filled = display.axes_[2].images[0].get_array()
        assert (filled.min(), filled.max()) == (0, 1)
        bars = [child.get_ylabel() for ax in display.axes_ for child in ax.child_axes]
        assert bars == ["standard deviation\n(known pixels: 0 to 1)"]

    def test_equal_channels_are_drawn_as_grey(self):
        result = fill()
        three = {name: np.repeat(getattr(result, name)[..., None], 3, axis=2) for name in ("image", "filled", "std")}
        display = InpaintingDisplay.from_result(replace(result, **three)).plot()
        np.testing.assert_allclose(display.axes_[2].images[0].get_array(), result.scaled(result.filled))
        assert display.axes_[2].child_axes

    def test_axes_are_used_and_counted(self):
        display = InpaintingDisplay.from_result(fill())
        figure, axes = plt.subplots(2, 2)
        assert display.plot(axes.ravel(), cmap="bone").figure_ is figure
        assert display.ax_ is axes[0, 0]
        assert axes[0, 0].images[0].get_cmap().name == "bone"
        with pytest.raises(ValueError, match=r"ax must be 4 axes, got an array of shape \(3,\)"):
            display.plot(axes.ravel()[:3])

    @pytest.mark.parametrize("shape", [(10, 400), (400, 10)])
    def test_long_images_have_a_bounded_figure(self, shape):
        width, height = InpaintingDisplay(np.zeros(shape), np.ones(shape, bool), np.zeros(shape), None).figure_size
        assert 2 < height < 10 < width < 15


def test_without_matplotlib_the_install_line_is_given(monkeypatch):
    displays = [InpaintingDisplay.from_result(fill()), PeriodogramDisplay(*power_of(SERIES))]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in displays:
        with pytest.raises(ImportError, match=r'pip install "torusgp\[plot\]"'):
            display.plot()
