"""Pages of small models, and what is read from them."""

import base64
import json
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np

from torusgp import TorusGPRegressor
from torusgp.kernels.index_sets import tensor, total_order
from torusgp.tables.models import Judgement
from torusgp.views.report import render_report
from torusgp.views.report._numbers import MINUS, TIMES

NASTY = ("<script>alert(1)</script>", "\"quoted\" & 'single' $x$ größe 日", "]]> --> </style> {} %s \\ `")
VOID = {"img", "meta", "br", "input"}


class Node:
    """An element of a page."""

    def __init__(self, name, attributes):
        self.name, self.attributes, self.children, self.text = name, attributes, [], ""

    def find_all(self, name=None, **wanted):
        """Elements below this one with a name and attributes; a class among several counts."""
        for child in self.children:
            if (name is None or child.name == name) and all(child.has(*pair) for pair in wanted.items()):
                yield child
            yield from child.find_all(name, **wanted)

    def find(self, name=None, **wanted):
        return next(self.find_all(name, **wanted), None)

    def has(self, key, value):
        key = key.rstrip("_").replace("_", "-")
        found = self.attributes.get(key)
        return value in found.split() if key == "class" and found else found == value

    def all_text(self):
        return self.text + "".join(child.all_text() for child in self.children)


class Page(HTMLParser):
    """A page as a tree; it fails on elements that are not nested properly."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source = text
        self.root = Node("root", {})
        self._stack = [self.root]
        self.feed(text)
        self.close()
        assert [node.name for node in self._stack] == ["root"]

    def handle_starttag(self, name, attributes):
        assert len(dict(attributes)) == len(attributes), f"repeated attribute in {attributes}"
        node = Node(name, dict(attributes))
        self._stack[-1].children.append(node)
        if name not in VOID:
            self._stack.append(node)

    def handle_endtag(self, name):
        assert self._stack[-1].name == name, f"</{name}> ends <{self._stack[-1].name}>"
        self._stack.pop()

    def handle_startendtag(self, name, attributes):
        raise AssertionError(f"<{name}/> in HTML is not what it seems")

    def handle_data(self, text):
        self._stack[-1].text += text
        if self._stack[-1].name in ("script", "style"):
            return
        assert "\N{REPLACEMENT CHARACTER}" not in text

    def facts(self):
        """Cells of the tables of facts by the name of their row."""
        rows = [row for facts in self.root.find_all("table", class_="facts") for row in facts.find_all("tr")]
        return {row.children[0].text: row.children[1:] for row in rows if row.find("td")}

    def section(self, key):
        return self.root.find("section", id=key)

    def images(self):
        """Decoded images."""
        for image in self.root.find_all("img"):
            kind, content = image.attributes["src"].split(",", 1)
            assert kind == "data:image/svg+xml;base64"
            yield base64.b64decode(content).decode()


class Chart:
    """A chart, with its axes read off the labels of its ticks."""

    def __init__(self, figure):
        self.svg = figure.find("svg", role="img")
        self.data = json.loads(figure.find("script").text)
        self.title = self.svg.attributes["aria-label"]
        self.caption = figure.find("figcaption").all_text()

    def y_values(self, line=0):
        """Values of a line, from where it is drawn and the ticks beside it."""
        return self._read(self.data["y"][line], "end", "y")

    def x_values(self):
        return self._read(self.data["x"], "middle", "x")

    def _read(self, places, anchor, axis):
        ticks = [one for one in self.svg.find_all("text", text_anchor=anchor) if "transform" not in one.attributes]
        ticks = ticks[:-1] if axis == "x" else ticks  # the last one is the label of the axis
        at = [float(one.attributes[axis]) for one in ticks]
        slope, offset = np.polyfit(at, [to_number(one.text) for one in ticks], 1)
        return slope * np.array(places) + offset


def charts(node):
    return [Chart(figure) for figure in node.find_all("figure", class_="chart")]


def to_number(text):
    """The first number in a text, as the page writes them."""
    found = re.search(rf"([{MINUS}+]?[\d,]*\.?\d+)(?: {TIMES} 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text)
    power = (found[2] or "⁰").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(found[1].replace(MINUS, "-").replace(",", "")) * 10.0 ** int(power)


def make_rows(period, n_samples=240, seed=0):
    """Inputs, and targets in which every input and the first pair act."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, period, (n_samples, len(period)))
    theta = 2 * np.pi * X / period
    y = 5 + 2 * np.cos(theta[:, 0]) + 0.3 * rng.normal(size=n_samples)
    for d in range(1, len(period)):
        y += np.sin(theta[:, d] + d) * (1 + 0.7 * np.cos(theta[:, d - 1])) / d
    return X, y


def fit(X, y, **parameters):
    """A model whose hyperparameters are as given, so that it takes no time."""
    given = {"learn": (), "length_scale": 1.0, "signal_variance": 4.0, "noise_variance": 0.1}
    return TorusGPRegressor(**given | parameters).fit(X, y)


@cache
def case(name):
    """A model, rows for its page, and the arguments of the page."""
    period = (24.0, 7.0)
    X, y = make_rows(period)
    if name == "seasons":
        model = fit(X[:200], y[:200], period=period, index_set=tensor(2, 3))
        names = {"input_names": ["hour_of_day", "day_of_week"], "target_names": "demand", "target_units": "MW"}
        return model, X[200:], y[200:], {"holdout": True, "title": "Demand", "fit_seconds": 1.25, **names}
    if name == "nasty":
        model = fit(X[:200], y[:200], period=period, index_set=tensor(2, 2))
        names = {"input_names": NASTY[:2], "input_units": NASTY[1:], "target_names": NASTY[2]}
        return model, X[200:], y[200:], {"title": NASTY[0], "details": {NASTY[1]: NASTY[0]}, **names}
    if name == "alone":
        return fit(X, y, period=period, index_set=tensor(2, 2)), None, None, {}
    if name == "worthless":
        judgement = Judgement(874, "the last 20 %, from 2024-05-25 14:00+10:00 on", 2.5, 2.4, -0.01, 0.951)
        model = fit(X, y, period=period, index_set=tensor(2, 2))
        return model, X, y, {"judgement": judgement, "whole_days": True, "input_names": ["hour_of_day", "day_of_week"]}
    if name == "one":
        X, y = make_rows((24.0,))
        return fit(X, y, period=24.0, index_set=tensor(1, 4)), X, y, {}
    if name == "six":
        X, y = make_rows((1.0,) * 6, 400)
        return fit(X[:300], y[:300], index_set=total_order(6, 2)), X[300:], y[300:], {"holdout": True}
    if name == "outputs":
        Y = np.column_stack([y, np.cos(2 * np.pi * X[:, 1] / 7)])
        model = fit(X[:200], Y[:200], period=period, index_set=tensor(2, 2))
        return model, X[200:], Y[200:], {"target_names": ["a", "b"], "target_units": ["MW", None]}
    if name == "repeated":
        t = np.linspace(0, 100, 300)[:, None]
        y = np.cos(2 * np.pi * t[:, 0] / 7.3) + np.sin(2 * np.pi * t[:, 0] / 11.9)
        model = fit(t, y, columns=[0, 0], period=[7.3, 11.9], index_set=tensor(2, 2), max_interaction=1)
        return model, t, y, {"input_names": ["time"], "input_units": ["s"]}
    if name == "cell":
        cell = np.array([[5.0, 0.3], [1.2, 6.1]])
        model = fit(X @ cell / period, y, period=cell, index_set=tensor(2, 2))
        model.period_std_ = np.array([[0.01, 0.02], [0.03, 0.04]])
        return model, X[:100], y[:100], {"input_names": ["x", "y"], "input_units": ["Å", "Å"], "holdout": False}
    if name == "searched":
        t = np.random.default_rng(1).uniform(0, 100, 250)
        y = np.cos(2 * np.pi * t / 7.3) + 0.02 * t + 0.2 * np.random.default_rng(2).normal(size=250)
        model = TorusGPRegressor(period="auto", n_components=21).fit(t[:200, None], y[:200])
        return model, t[200:, None], y[200:], {"holdout": True}
    assert name == "constant"
    return fit(X, np.full(len(X), 3.0), period=period, index_set=tensor(2, 1)), X, np.full(len(X), 3.0), {}


CASES = ("seasons", "nasty", "alone", "worthless", "one", "six", "outputs", "repeated", "cell", "searched", "constant")


@cache
def render(name):
    model, X, y, arguments = case(name)
    return render_report(model, X, y, **arguments)


@cache
def page(name):
    return Page(render(name))
