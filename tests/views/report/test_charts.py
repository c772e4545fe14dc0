import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.views.report.pages import Chart, Page
from torusgp.views.report._charts import Axis, Line, Sayings, legend, line_chart, round_ticks, scatter_chart
from torusgp.views.report._figures import figure

numbers = st.floats(-1e9, 1e9)


def drawn(content):
    return Chart(Page(figure(content, "caption", chart=True)).root.find("figure"))


@given(numbers, numbers)
def test_ticks_are_round_and_inside(one, other):
    low, high = sorted((one, other))
    assume(high - low > 1e-6 * max(abs(low), abs(high), 1e-6))
    ticks = np.array(round_ticks(low, high))
    assert 2 <= len(ticks) <= 7
    step = ticks[1] - ticks[0]
    np.testing.assert_allclose(np.diff(ticks), step, rtol=1e-6)
    assert ticks[0] >= low - 1e-6 * step
    assert ticks[-1] <= high + 1e-6 * step
    assert ticks[0] - step < low + 1e-6 * step
    assert ticks[-1] + step > high - 1e-6 * step
    assert f"{step:.0e}"[0] in "125"


@pytest.mark.parametrize("value", [0.0, 3.0, -1e9, 1e-12])
def test_an_axis_of_equal_values_has_room(value):
    axis = Axis.covering("label", [value, value])
    assert axis.low < value < axis.high
    assert len(axis.ticks) >= 2


def test_a_line_can_be_read_off_its_ticks():
    x = np.linspace(0, 24, 49)
    lines = [Line("a", 100 * np.sin(x), np.full(49, 20.0)), Line("b", x)]
    content = line_chart(
        x,
        lines,
        Axis.between("hour", 0, 24),
        Axis.covering("y", [line.values for line in lines]),
        "title <1>",
        Sayings(("x ", "y "), [(f"{place}", "<b>") for place in x]),
    )
    chart = drawn(content)
    assert chart.title == "title <1>"
    np.testing.assert_allclose(chart.x_values(), x, atol=0.01)
    for i, line in enumerate(lines):
        np.testing.assert_allclose(chart.y_values(i), line.values, atol=0.1)  # a tenth of a pixel
    assert chart.data["lines"][3] == ["1.5", "<b>"]
    paths = [path.attributes for path in chart.svg.find_all("path")]
    band = next(path for path in paths if "fill-opacity" in path)
    places = np.array([pair.split() for pair in band["d"].strip("MZ").split("L")], dtype=float)
    upper, lower = places[:49, 1], places[:48:-1, 1]
    np.testing.assert_allclose((upper + lower) / 2, chart.data["y"][0], atol=0.11)
    assert upper[0] < lower[0]  # heights count from the top
    assert len({path.get("stroke-dasharray") for path in paths if path.get("fill") == "none"}) == 2


def test_long_labels_of_ticks_do_not_run_into_each_other():
    x = 1e9 + np.arange(10.0)
    axis = Axis.covering("x", x)
    chart = drawn(line_chart(x, [Line("a", x)], axis, axis, "", Sayings((), [()] * 10)))
    labels = list(chart.svg.find_all("text", text_anchor="middle"))[:-2]
    assert 2 <= len(labels) < len(axis.ticks)
    places = [float(one.attributes["x"]) for one in labels]
    assert min(np.diff(places)) > 6 * max(len(one.text) for one in labels)
    lines = [line for line in chart.svg.find_all("line") if line.attributes["x1"] == line.attributes["x2"]]
    assert len(lines) == len(axis.ticks)


def test_a_scatter_parts_points_inside_from_those_outside():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    outside = np.arange(30) % 3 == 0
    axis = Axis.covering("both", [x, y])
    chart = drawn(scatter_chart(x, y, outside, axis, axis, "t", Sayings(("",), [("",)] * 30)))
    np.testing.assert_allclose(chart.x_values(), x, atol=0.02)
    np.testing.assert_allclose(chart.y_values(), y, atol=0.02)
    (dots,) = chart.svg.find_all("path", class_="dots")
    assert dots.attributes["d"].count("M") == 20
    crosses = next(path for path in chart.svg.find_all("path") if "m0" in path.attributes["d"])
    assert crosses.attributes["d"].count("M") == 10
    (diagonal,) = chart.svg.find_all("path", class_="diagonal")
    ends = np.array([pair.split() for pair in diagonal.attributes["d"].strip("M").split("L")], dtype=float)
    assert ends[0, 0] < ends[1, 0]
    assert ends[0, 1] > ends[1, 1]


def test_a_legend_has_the_dashes_of_its_lines():
    x = np.arange(3.0)
    axis = Axis.covering("", [0, 3])
    content = line_chart(x, [Line(str(i), x + i) for i in range(4)], axis, axis, "", Sayings((), [()] * 3))
    shown = Page(legend(["<a>", "b", "c", "d"])).root
    assert [item.all_text() for item in shown.find_all("li")] == ["<a>", "b", "c", "d"]

    def styles(root):
        found = (path.attributes for path in root.find_all("path") if "stroke" in path.attributes)
        return [(path["stroke"], path.get("stroke-dasharray")) for path in found]

    assert styles(shown) == styles(Page(content).root)
    assert len(set(styles(shown))) == 4
