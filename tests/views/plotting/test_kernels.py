import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import LogNorm, to_rgba

from torusgp import TorusKernel
from torusgp.kernels.index_sets import adaptive, euclidean, hyperbolic_cross, tensor, total_order
from torusgp.views.plotting import (
    CoefficientDisplay,
    GramMatrixDisplay,
    IndexSetDisplay,
    KernelApproximationDisplay,
    TruncationErrorDisplay,
)
from torusgp.views.plotting._base import OKABE_ITO

matplotlib.use("Agg")
from matplotlib import pyplot as plt

KERNEL = TorusKernel(length_scale=[0.4, 1.0], period=[24.0, 7.0])
ROUNDING = 1e-13  # sums of a few hundred terms of at most one


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def as_set(rows):
    return {tuple(row) for row in np.asarray(rows).astype(int).tolist()}


def drawn_points(ax):
    """Frequencies of all markers in axes, in two or three dimensions."""
    parts = [np.column_stack(c._offsets3d) if hasattr(c, "_offsets3d") else c.get_offsets() for c in ax.collections]
    return np.concatenate(parts)


class TestIndexSet:
    @pytest.mark.parametrize(
        "index_set",
        [hyperbolic_cross(2, 7), tensor(3, 2), adaptive(KERNEL, 41), total_order(3, 3, max_interaction=2)],
        ids=repr,
    )
    def test_draws_every_signed_frequency_once(self, index_set):
        ax = IndexSetDisplay.from_index_set(index_set).plot().ax_
        points = drawn_points(ax)
        assert len(points) == index_set.n_components
        assert as_set(points) == as_set(index_set.frequencies) | as_set(-index_set.frequencies)

    def test_colours_and_legend_tell_the_order_of_interaction(self):
        display = IndexSetDisplay.from_index_set(tensor(3, 1)).plot()
        labels = [c.get_label() for c in display.ax_.collections]
        assert labels == ["constant", "one dimension", "two dimensions", "three dimensions"]
        assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == labels
        sizes = [len(c._offsets3d[0]) for c in display.ax_.collections]
        assert sizes == [1, 6, 12, 8]
        colours = {tuple(c.get_facecolor()[0]) for c in display.ax_.collections}
        assert len(colours) == 4
        assert colours <= {to_rgba(colour) for colour in OKABE_ITO}

    def test_labels(self):
        ax = IndexSetDisplay.from_index_set(hyperbolic_cross(2, 7)).plot().ax_
        assert ax.get_xlabel() == "frequency $k_1$ (cycles per period)"
        assert ax.get_ylabel() == "frequency $k_2$ (cycles per period)"
        assert ax.get_title() == "hyperbolic_cross, 93 columns"

    @pytest.mark.parametrize("dimension", [1, 4])
    def test_other_dimensions_are_refused(self, dimension):
        with pytest.raises(ValueError, match=rf"2 or 3 dimensions.*this one has {dimension}.*CoefficientDisplay"):
            IndexSetDisplay.from_index_set(tensor(dimension, 1))

    def test_other_things_are_refused(self):
        with pytest.raises(ValueError, match="must be an IndexSet"):
            IndexSetDisplay.from_index_set([[0, 0]])

    def test_axes_are_used_and_their_projection_checked(self):
        figure, ax = plt.subplots()
        display = IndexSetDisplay.from_index_set(tensor(2, 1)).plot(ax, legend=False, s=5)
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert ax.get_legend() is None
        assert all(c.get_sizes() == [5] for c in ax.collections)
        with pytest.raises(ValueError, match=r"3 dimensions.*projection"):
            IndexSetDisplay.from_index_set(tensor(3, 1)).plot(ax)


class TestCoefficients:
    def test_map_shows_the_coefficients(self):
        display = CoefficientDisplay.from_kernel(KERNEL, euclidean(2, 5)).plot()
        (points,) = display.ax_.collections
        frequencies = np.asarray(points.get_offsets()).astype(int)
        assert as_set(frequencies) == as_set(display.frequencies)
        assert len(frequencies) == euclidean(2, 5).n_components
        np.testing.assert_allclose(points.get_array(), KERNEL.coefficients(frequencies), rtol=1e-14)
        assert isinstance(points.norm, LogNorm)
        assert points.get_cmap().name == "viridis_r"
        assert [ax.get_ylabel() for ax in display.figure_.axes[1:]] == ["coefficient $c_k$"]

    def test_colours_span_a_bounded_number_of_decades(self):
        display = CoefficientDisplay.from_kernel(KERNEL, tensor(2, 30)).plot()
        (points,) = display.ax_.collections
        assert points.norm.vmax / points.norm.vmin == pytest.approx(1e12)
        assert points.colorbar.extend == "min"

    def test_zeros_are_drawn_without_colour(self):
        additive = TorusKernel(length_scale=0.5, max_interaction=1)
        display = CoefficientDisplay.from_kernel(additive, tensor(2, 2)).plot()
        zeros, points = display.ax_.collections
        assert (len(zeros.get_offsets()), len(points.get_offsets())) == (16, 9)
        assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["zero in float64"]
        decay = display.plot(kind="decay").ax_
        assert len(decay.lines[0].get_ydata()) == 9
        assert "16 zeros" in decay.get_xlabel()

    @pytest.mark.parametrize("dimension", [1, 2, 4])
    def test_decay_is_sorted_and_logarithmic(self, dimension):
        kernel, index_set = TorusKernel(length_scale=0.7), total_order(dimension, 4)
        display = CoefficientDisplay.from_kernel(kernel, index_set).plot(kind="decay", color="black")
        (line,) = display.ax_.lines
        rank, values = line.get_data()
        assert rank.tolist() == list(range(1, index_set.n_components + 1))
        assert (np.diff(values) <= 0).all()
        assert values.sum() == pytest.approx(1 - kernel.truncation_error(index_set))
        assert display.ax_.get_yscale() == "log"
        assert line.get_color() == "black"

    def test_kind(self):
        display = CoefficientDisplay.from_kernel(TorusKernel(), tensor(3, 1))
        assert len(display.plot().ax_.lines) == 1
        with pytest.raises(ValueError, match=r"needs 2 dimensions, the set has 3.*decay"):
            display.plot(kind="map")
        with pytest.raises(ValueError, match="kind must be"):
            display.plot(kind="bar")


class TestTruncationError:
    radii = range(1, 7)

    def test_one_line_for_each_length_scale(self):
        kernels = {f"l = {scale}": TorusKernel(length_scale=scale) for scale in (0.5, 1.0)}
        sets = [hyperbolic_cross(3, radius) for radius in self.radii]
        display = TruncationErrorDisplay.from_index_sets(kernels, sets, radii=self.radii).plot()
        assert [line.get_label() for line in display.ax_.lines] == list(kernels)
        for line, kernel in zip(display.ax_.lines, kernels.values(), strict=True):
            assert line.get_xdata().tolist() == list(self.radii)
            np.testing.assert_array_equal(line.get_ydata(), [kernel.truncation_error(one) for one in sets])
        assert len({line.get_color() for line in display.ax_.lines}) == 2
        assert display.ax_.get_yscale() == "log"
        assert display.ax_.get_xlabel() == "radius $R$ (cycles per period)"
        assert display.ax_.get_ylabel() == "largest error (variance of the kernel = 1)"
        assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == list(kernels)

    def test_families_against_columns(self):
        families = {
            "cross": [hyperbolic_cross(2, radius) for radius in self.radii],
            "adaptive": [adaptive(KERNEL, n) for n in (9, 25, 49)],
        }
        display = TruncationErrorDisplay.from_index_sets(KERNEL, families, error="frobenius").plot()
        for line, (label, family) in zip(display.ax_.lines, families.items(), strict=True):
            assert line.get_label() == label
            assert line.get_xdata().tolist() == [one.n_components for one in family]
            np.testing.assert_array_equal(line.get_ydata(), [KERNEL.frobenius_error(one) for one in family])
        assert display.ax_.get_xlabel() == "columns of the feature map"
        assert "Frobenius" in display.ax_.get_ylabel()

    def test_kernels_and_families_are_combined(self):
        kernels = {"a": KERNEL, "b": TorusKernel()}
        families = {"c": [tensor(2, 1)], "d": [tensor(2, 2)]}
        display = TruncationErrorDisplay.from_index_sets(kernels, families)
        assert list(display.errors) == ["a, c", "a, d", "b, c", "b, d"]

    def test_a_single_line_is_named_after_its_sets(self):
        assert list(TruncationErrorDisplay.from_index_sets(KERNEL, [tensor(2, 1)]).errors) == ["tensor"]

    def test_an_error_of_zero_ends_the_line(self):
        display = TruncationErrorDisplay({"a": np.arange(3)}, {"a": np.array([1.0, 0.5, 0.0])}).plot()
        np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), [1.0, 0.5, np.nan])

    @pytest.mark.parametrize(
        ("kernels", "sets", "options", "message"),
        [
            (KERNEL, [tensor(2, 1)], {"error": "mean"}, "error must be"),
            (KERNEL, [tensor(2, 1)], {"radii": [1, 2]}, "2 radii, but 1 index sets"),
            (KERNEL, [], {}, "must hold index sets"),
            (KERNEL, {"a": [3]}, {}, r"index_sets\['a'\] must hold index sets"),
            ("heat", [tensor(2, 1)], {}, "must be a TorusKernel"),
            ({}, [tensor(2, 1)], {}, "At least one kernel"),
        ],
    )
    def test_wrong_arguments(self, kernels, sets, options, message):
        with pytest.raises(ValueError, match=message):
            TruncationErrorDisplay.from_index_sets(kernels, sets, **options)


class TestKernelApproximation:
    def test_data_are_the_kernels(self):
        index_set = adaptive(KERNEL, 31)
        display = KernelApproximationDisplay.from_kernel(KERNEL, index_set, direction=[1, -2], n_points=51)
        X = np.linspace(-0.5, 0.5, 51)[:, None] * np.array([24.0, -14.0])
        np.testing.assert_allclose(display.exact, KERNEL(X, np.zeros((1, 2)))[:, 0], atol=ROUNDING)
        frequencies = np.concatenate([index_set.frequencies, -index_set.frequencies[1:]])
        series = np.exp(2j * np.pi * X / [24.0, 7.0] @ frequencies.T) @ KERNEL.coefficients(frequencies)
        np.testing.assert_allclose(display.approximate, series.real, atol=ROUNDING)
        assert display.truncation_error == KERNEL.truncation_error(index_set)
        # the certificate is attained where the points coincide
        assert np.abs(display.error).max() == pytest.approx(display.truncation_error)
        assert np.abs(display.error).argmax() == 25

    def test_oblique_cell(self):
        kernel = TorusKernel(length_scale=0.6, period=[[1.0, 0.0], [0.5, 0.8]])
        display = KernelApproximationDisplay.from_kernel(kernel, euclidean(2, 4), direction=[0, 1])
        assert display.exact[0] == pytest.approx(display.exact[-1])  # the line closes
        assert np.abs(display.error).max() <= display.truncation_error + ROUNDING

    def test_drawing(self):
        display = KernelApproximationDisplay.from_kernel(KERNEL, adaptive(KERNEL, 31)).plot()
        kernels, errors = display.axes_
        assert display.ax_ is kernels
        lines = {line.get_label(): line for line in kernels.lines}
        np.testing.assert_array_equal(lines["exact"].get_ydata(), display.exact)
        np.testing.assert_array_equal(lines["approximate"].get_ydata(), display.approximate)
        lines = {line.get_label(): line for line in errors.lines}
        np.testing.assert_array_equal(lines["|error|"].get_ydata(), np.abs(display.error))
        certificate = lines[f"certificate, {display.truncation_error:.1e}"]
        assert set(certificate.get_ydata()) == {display.truncation_error}
        assert errors.get_yscale() == "log"
        assert errors.get_xlabel() == "displacement along (1, 1) (periods)"
        (band,) = kernels.collections
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.max() == pytest.approx(display.exact.max() + display.truncation_error)
        assert heights.min() == pytest.approx(display.exact.min() - display.truncation_error)

    def test_a_certificate_below_rounding_is_said_so(self):
        display = KernelApproximationDisplay.from_kernel(TorusKernel(period=1.0), tensor(2, 40)).plot()
        assert display.truncation_error < 1e-30
        assert any("rounding; the certificate is" in line.get_label() for line in display.axes_[1].lines)

    def test_one_axes_shows_the_kernels_alone(self):
        figure, ax = plt.subplots()
        display = KernelApproximationDisplay.from_kernel(KERNEL, tensor(2, 3)).plot(ax, color="black")
        assert figure.axes == [ax]
        assert display.axes_.tolist() == [ax]
        assert ax.lines[1].get_color() == "black"

    @pytest.mark.parametrize("direction", [[1], [0, 0], [0.5, 1.0]])
    def test_wrong_direction(self, direction):
        with pytest.raises(ValueError, match="direction must be 2 integers"):
            KernelApproximationDisplay.from_kernel(KERNEL, tensor(2, 1), direction=direction)

    def test_wrong_axes(self):
        display = KernelApproximationDisplay.from_kernel(KERNEL, tensor(2, 1))
        with pytest.raises(ValueError, match="one axes or two"):
            display.plot(plt.subplots(3)[1])


class TestGramMatrix:
    X = np.random.default_rng(0).uniform(0, 24, (30, 2))

    def test_data_and_drawing(self):
        index_set = euclidean(2, 3)
        display = GramMatrixDisplay.from_kernel(KERNEL, index_set, self.X).plot()
        np.testing.assert_array_equal(display.exact, KERNEL(self.X))
        assert np.abs(display.error).max() == pytest.approx(KERNEL.truncation_error(index_set))
        shown = [np.asarray(ax.images[0].get_array()) for ax in display.axes_]
        for image, expected in zip(shown, (display.exact, display.approximate, np.abs(display.error)), strict=True):
            np.testing.assert_array_equal(image, expected)
        assert display.axes_[0].images[0].get_clim() == display.axes_[1].images[0].get_clim()
        assert [ax.get_title() for ax in display.axes_] == ["exact", "approximate", "difference"]

    def test_wrong_axes(self):
        display = GramMatrixDisplay.from_kernel(KERNEL, tensor(2, 1), self.X)
        with pytest.raises(ValueError, match="three axes"):
            display.plot(plt.subplots()[1])


def test_without_matplotlib_the_install_line_is_given(monkeypatch):
    displays = [
        IndexSetDisplay.from_index_set(tensor(2, 1)),
        CoefficientDisplay.from_kernel(KERNEL, tensor(2, 1)),
        TruncationErrorDisplay.from_index_sets(KERNEL, [tensor(2, 1)]),
        KernelApproximationDisplay.from_kernel(KERNEL, tensor(2, 1)),
        GramMatrixDisplay.from_kernel(KERNEL, tensor(2, 1), np.zeros((2, 2))),
    ]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in displays:
        with pytest.raises(ImportError, match=r'pip install "torusgp\[plot\]"'):
            display.plot()
