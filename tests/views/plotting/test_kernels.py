import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import LogNorm, to_rgba

from torusgp import TorusKernel
from torusgp.kernels.index_sets import adaptive, euclidean, hyperbolic_cross, tensor, total_order
from torusgp.views.plotting import (
    CoefficientDisplay,
    IndexSetDisplay,
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


def test_without_matplotlib_the_install_line_is_given(monkeypatch):
    displays = [
        IndexSetDisplay.from_index_set(tensor(2, 1)),
        CoefficientDisplay.from_kernel(KERNEL, tensor(2, 1)),
    ]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in displays:
        with pytest.raises(ImportError, match=r'pip install "torusgp\[plot\]"'):
            display.plot()
