"""Which inputs matter: shares of the variance."""

import numpy as np

from torusgp.views.plotting._base import OKABE_ITO
from torusgp.views.report._markup import element, join, table
from torusgp.views.report._numbers import TIMES, listed, percent

_MOST_ROWS = 12
_COLOURS = (OKABE_ITO[0], OKABE_ITO[4], OKABE_ITO[2])  # one dimension, two, three or more
_BAR_HEIGHT = 16


def attribution(subject):
    """Section of the shares."""
    if len(subject.dimensions) == 1:
        return element("p", "There is one input: all that varies in predictions comes from it.")
    legend = element(
        "p",
        "How much of the variance of the predicted function comes from each input alone, and from inputs that act "
        f"together ({TIMES}). Shares add up to 100 %; the thin line is the 95 % interval. "
        '"Takes part in" adds up all shares that an input has a part in: what would be lost without it.'
        f"{_weighting(subject)}",
    )
    has_shares = any(subject.why_no_shares(output) is None for output in subject.drawn_outputs)
    shares = subject.for_each_output(lambda output: _shares(subject, output))
    return join([legend, shares]) if has_shares else shares


def _weighting(subject):
    """How values of inputs that do not repeat are weighted."""
    names = [one.name for one in subject.dimensions if not one.is_periodic]
    if not names:
        return ""
    return f" Values of {listed(names)} count as often as the rows have them, each on its own."


def _shares(subject, output):
    missing = subject.why_no_shares(output)
    return _table(subject, output) if missing is None else element("p", missing, class_="note")


def _table(subject, output):
    indices = subject.indices
    n_components = len(indices.components)
    share, lower, upper = (
        values.reshape(n_components, -1)[:, output] for values in (indices.share, *indices.interval())
    )
    total = indices.total_order.reshape(len(subject.dimensions), -1)[:, output]
    order = np.argsort(-share, kind="stable")
    end = max(float(upper.max()), 1e-6)
    rows = []
    for i in order[:_MOST_ROWS].tolist():
        component = indices.components[i]
        colour = _COLOURS[min(len(component), len(_COLOURS)) - 1]
        rows.append(
            [
                subject.component_name(component),
                element("td", _bar(share[i] / end, colour, lower[i] / end, upper[i] / end), class_="bar"),
                element("td", percent(share[i]), data_value=repr(float(share[i]))),
                f"{percent(lower[i])} to {percent(upper[i])}",
                percent(total[component[0]]) if len(component) == 1 else "",
            ]
        )
    others = order[_MOST_ROWS:]
    if len(others):
        rest = float(share[others].sum())
        name = f"{len(others)} smaller"
        rows.append([name, element("td", _bar(rest / end, "#999"), class_="bar"), percent(rest), "", ""])
    return table(["acting", "", "share", "95 % interval", "takes part in"], rows, class_="shares")


def _bar(share, colour, lower=None, upper=None):
    """A bar of a length between zero and one, with the line of its interval."""

    def place(value):
        return f"{min(100 * value, 100):.2f}%"

    middle = _BAR_HEIGHT / 2
    line = None
    if lower is not None:
        ends = {"x1": place(lower), "x2": place(upper)}
        line = element("line", **ends, y1=middle, y2=middle, stroke="currentColor", stroke_width="1.5")
    bar = element("rect", x=0, y=2, width=place(share), height=_BAR_HEIGHT - 4, fill=colour)
    return element("svg", bar, line, width="100%", height=_BAR_HEIGHT, aria_hidden="true")
