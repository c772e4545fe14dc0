"""Charts as inline SVG, drawn here so that a browser can say the value under the pointer.

A chart is complete without scripts. Beside it lies what the page's script needs for its values: where each point is
drawn, and what to say of it.
"""

from dataclasses import dataclass

import numpy as np

from torusgp.views.plotting._base import OKABE_ITO
from torusgp.views.report._labels import shorten
from torusgp.views.report._markup import Markup, data_block, element, join
from torusgp.views.report._numbers import number

_WIDTH, _HEIGHT = 440, 290
_TOP, _RIGHT, _BOTTOM = 12, 14, 46
_CHARACTER = 6.4  # width of a digit of tick labels
_DASHES = (None, "7 3", "2 3", "9 3 2 3")  # so that colour alone does not carry the meaning
_BESIDE = 9  # between points of several lines at one position
_CROSS = 2.6  # half the size of a cross


@dataclass(frozen=True)
class Line:
    """A line over the positions of a chart, with the half width of its band and points on it, if it has these."""

    name: str
    values: np.ndarray
    half: np.ndarray | None = None
    marks: tuple = ((), ())  # positions and values


@dataclass(frozen=True)
class Sayings:
    """What to say of each point: lines, each of which begins with the same label for all points."""

    labels: tuple
    lines: list  # for each point, a sequence of as many texts


@dataclass(frozen=True)
class Axis:
    """An axis: its label, its ends, and ticks with what is written there."""

    label: str
    low: float
    high: float
    ticks: tuple

    @classmethod
    def covering(cls, label, values, include=(), padding=0.04):
        """An axis over all finite values, with a little room, and round ticks."""
        values = np.concatenate([np.ravel(values), np.ravel(include)]).astype(float)
        values = values[np.isfinite(values)]
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        room = padding * (high - low) or 0.5 * (abs(low) or 1.0)
        if high - low <= 1e-9 * max(abs(low), abs(high)):  # constant but for rounding
            room = 0.5 * (abs(low) or 1.0)
        return cls.between(label, low - room, high + room)

    @classmethod
    def between(cls, label, low, high, ticks=None):
        """An axis with these ends, and the ticks that are given or round ones."""
        if ticks is None:
            places = round_ticks(low, high)
            digits = 1 + int(np.ceil(np.log10(max(abs(low), abs(high)) / (places[1] - places[0]))))
            ticks = places, [number(place, max(2, digits)) for place in places]
        return cls(label, float(low), float(high), tuple(zip(*ticks, strict=True)))

    @classmethod
    def along(cls, dimension):
        """The axis of a dimension."""
        low, high = dimension.ends
        return cls.between(dimension.axis_label, low, high, dimension.ticks())

    def scale(self, values, start, stop):
        """Places of values between two ends."""
        return start + (np.asarray(values, dtype=float) - self.low) / (self.high - self.low) * (stop - start)


def round_ticks(low, high, most=6):
    """Round numbers between two ends: multiples of 1, 2 or 5 times a power of ten, at least two.

    Examples
    --------
    >>> round_ticks(-0.3, 2.1)
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    power = 10.0 ** np.floor(np.log10((high - low) / most))
    for step in (power * factor for factor in (1, 2, 5, 10, 20)):
        first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
        if last - first < most:
            break
    return [float(i * step) + 0.0 for i in np.arange(first, last + 1)]  # without negative zeros


def line_chart(x, lines, x_axis, y_axis, title, sayings, *, zero=False, joined=True):
    """Lines with bands, the value of which is said under the pointer.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Positions, ascending.
    lines : sequence of Line
        What to draw.
    x_axis, y_axis : Axis
        The axes.
    title : str
        What the chart shows, for those who do not see it.
    sayings : Sayings
        What to say of each position.
    zero : bool, default=False
        Draw a line at zero.
    joined : bool, default=True
        Whether there is something between the positions. Otherwise points with bars take the place of lines with bands.

    Returns
    -------
    Markup
    """
    frame = _Frame(x_axis, y_axis, _HEIGHT)
    places = frame.x(x)
    drawn, dots = [], [_rounded(frame.y(line.values)) for line in lines]
    if zero and y_axis.low < 0 < y_axis.high:
        height = f"{frame.y(0.0):.1f}"
        drawn.append(element("line", x1=frame.left, x2=frame.right, y1=height, y2=height, class_="zero"))
    if joined:
        drawn += _bands_and_lines(frame, places, lines)
    else:
        drawn += [_points_and_bars(frame, places, i, line, len(lines)) for i, line in enumerate(lines)]
    return _chart(frame, drawn, {"kind": "line", "x": _rounded(places), "y": dots}, sayings, title)


def _bands_and_lines(frame, places, lines):
    drawn = []
    for i, line in enumerate(lines):
        colour = _colour(i)
        if line.half is not None:
            upper, lower = frame.y(line.values + line.half), frame.y(line.values - line.half)
            outline = _path(np.append(places, places[::-1]), np.append(upper, lower[::-1])) + "Z"
            drawn.append(element("path", d=outline, fill=colour, fill_opacity="0.22"))
    for i, line in enumerate(lines):
        style = {"fill": "none", "stroke": _colour(i), "stroke_width": 2, "stroke_dasharray": _DASHES[i % len(_DASHES)]}
        drawn.append(element("path", d=_path(places, frame.y(line.values)), **style))
        at, height = line.marks
        if len(at):
            points = "".join(f"M{u:.1f} {v:.1f}h0" for u, v in zip(frame.x(at), frame.y(height), strict=True))
            drawn.append(element("path", d=points, class_="marks", stroke=_colour(i)))
    return drawn


def _points_and_bars(frame, places, i, line, n_lines):
    """One of several lines as points beside those of the others, with the bars of their intervals."""
    x, y = places + _BESIDE * (i - (n_lines - 1) / 2), frame.y(line.values)
    points = "".join(f"M{u:.1f} {v:.1f}h0" for u, v in zip(x, y, strict=True))
    parts = [element("path", d=points, class_="marks", stroke=_colour(i))]
    if line.half is not None:
        ends = zip(x, frame.y(line.values - line.half), frame.y(line.values + line.half), strict=True)
        bars = "".join(f"M{u:.1f} {low:.1f}V{high:.1f}" for u, low, high in ends)
        style = {"fill": "none", "stroke": _colour(i), "stroke_width": 2, "stroke_dasharray": _DASHES[i % len(_DASHES)]}
        parts.append(element("path", d=bars, class_="bars", **style))
    return join(parts)


def scatter_chart(x, y, outside, x_axis, y_axis, title, sayings):
    """Points around the diagonal; those outside are crosses of another colour.

    Parameters
    ----------
    x, y : ndarray of shape (n_points,)
        Places.
    outside : ndarray of bool, shape (n_points,)
        Which points are crosses.
    x_axis, y_axis : Axis
        The axes.
    title : str
        What the chart shows, for those who do not see it.
    sayings : Sayings
        What to say of each point.

    Returns
    -------
    Markup
    """
    frame = _Frame(x_axis, y_axis, _WIDTH)
    places, heights = frame.x(x), frame.y(y)
    ends = np.array([max(x_axis.low, y_axis.low), min(x_axis.high, y_axis.high)])
    inside = "".join(f"M{u:.1f} {v:.1f}h0" for u, v in zip(places[~outside], heights[~outside], strict=True))
    crosses = "".join(
        f"M{u - _CROSS:.1f} {v - _CROSS:.1f}l{2 * _CROSS} {2 * _CROSS}m0 {-2 * _CROSS}l{-2 * _CROSS} {2 * _CROSS}"
        for u, v in zip(places[outside], heights[outside], strict=True)
    )
    drawn = [
        element("path", d=inside, class_="dots", stroke=OKABE_ITO[0]) if inside else None,
        element("path", d=crosses, fill="none", stroke=OKABE_ITO[1], stroke_width="1.4") if crosses else None,
        element("path", d=_path(frame.x(ends), frame.y(ends)), class_="diagonal"),
    ]
    data = {"kind": "scatter", "x": _rounded(places), "y": [_rounded(heights)]}
    return _chart(frame, drawn, data, sayings, title)


def legend(names):
    """What the lines of a chart are, below it."""
    return element(
        "ul",
        *(
            element(
                "li",
                element(
                    "svg",
                    element(
                        "path",
                        d="M0 5H30",
                        stroke=_colour(i),
                        stroke_width="2.5",
                        stroke_dasharray=_DASHES[i % len(_DASHES)],
                    ),
                    viewBox="0 0 30 10",
                    width="30",
                    height="10",
                    aria_hidden="true",
                ),
                name,
            )
            for i, name in enumerate(names)
        ),
        class_="legend",
    )


class _Frame:
    """Where the axes of a chart lie."""

    def __init__(self, x_axis, y_axis, height):
        widest = max(len(label) for _, label in y_axis.ticks)
        self.x_axis, self.y_axis, self.height = x_axis, y_axis, height
        self.left, self.right = round(30 + _CHARACTER * widest), _WIDTH - _RIGHT
        self.top, self.bottom = _TOP, height - _BOTTOM

    def x(self, values):
        return self.x_axis.scale(values, self.left, self.right)

    def y(self, values):
        return self.y_axis.scale(values, self.bottom, self.top)

    def draw(self):
        """Grid, ticks and labels."""
        parts = []
        widths = [len(label) + 2 for _, label in self.x_axis.ticks]
        every = int(np.ceil(_CHARACTER * sum(widths) / (self.right - self.left)))  # labels must not run into each other
        for i, (place, label) in enumerate(self.x_axis.ticks):
            x = f"{self.x(place):.1f}"
            parts.append(element("line", x1=x, x2=x, y1=self.top, y2=self.bottom, class_="grid"))
            if label and i % every == 0:
                parts.append(element("text", label, x=x, y=self.bottom + 17, text_anchor="middle"))
        for place, label in self.y_axis.ticks:
            y = f"{self.y(place):.1f}"
            parts.append(element("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="grid"))
            parts.append(element("text", label, x=self.left - 6, y=y, dy="0.35em", text_anchor="end"))
        middle_x, middle_y = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        x_label, y_label = (
            shorten(axis.label, int((last - first) / _CHARACTER))
            for axis, first, last in ((self.x_axis, self.left, self.right), (self.y_axis, 0, self.height - 20))
        )
        parts.append(element("text", x_label, x=middle_x, y=self.height - 8, text_anchor="middle"))
        turned = f"translate(14 {middle_y}) rotate(-90)"
        parts.append(element("text", y_label, transform=turned, text_anchor="middle"))
        return join(parts)


def _chart(frame, drawn, data, sayings, title):
    svg = element(
        "svg",
        frame.draw(),
        *drawn,
        viewBox=f"0 0 {_WIDTH} {frame.height}",
        role="img",
        aria_label=title,
    )
    said = {"labels": list(sayings.labels), "lines": [list(lines) for lines in sayings.lines]}
    return Markup(svg + data_block(data | said | {"top": frame.top, "bottom": frame.bottom}))


def _colour(i):
    return OKABE_ITO[i % len(OKABE_ITO)]


def _path(x, y):
    return "M" + "L".join(f"{u:.1f} {v:.1f}" for u, v in zip(x, y, strict=True))


def _rounded(values):
    return [round(float(value), 1) for value in values]
