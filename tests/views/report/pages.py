"""Pages of small models, and what is read from them."""

import base64
import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas

from torusgp import Category, Circle, Lattice, Line, Slope, TorusGPRegressor
from torusgp.kernels.axes import Product
from torusgp.kernels.index_sets import tensor, total_order
from torusgp.views.report import render_report
from torusgp.views.report._numbers import MINUS, TIMES
from torusgp.views.scores import Scores

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


def fit(X, y, period=None, kernel=None, length_scale=1.0, **parameters):
    """A model whose hyperparameters are as given, of variance four, so that it takes no time."""
    if kernel is None and np.ndim(period) == 2:
        kernel = 4.0 * Lattice(tuple(range(len(period))), period, length_scale=length_scale)
    elif kernel is None:
        circles = [
            Circle(d, float(one), length_scale=length_scale)
            for d, one in enumerate(np.broadcast_to(period, np.shape(X)[1]))
        ]
        kernel = 4.0 * Product(tuple(circles))
    return TorusGPRegressor(kernel, **{"learn": (), "noise_variance": 0.1} | parameters).fit(X, y)


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
        judgement = Scores(874, "the last 20 %, from 2024-05-25 14:00+10:00 on", 2.5, 2.4, -0.01, 0.951)
        model = fit(X, y, period=period, index_set=tensor(2, 2))
        return model, X, y, {"judgement": judgement, "whole_days": True, "input_names": ["hour_of_day", "day_of_week"]}
    if name == "one":
        X, y = make_rows((24.0,))
        return fit(X, y, period=24.0, index_set=tensor(1, 4)), X, y, {}
    if name == "six":
        X, y = make_rows((1.0,) * 6, 400)
        return fit(X[:300], y[:300], period=1.0, index_set=total_order(6, 2)), X[300:], y[300:], {"holdout": True}
    if name == "outputs":
        Y = np.column_stack([y, np.cos(2 * np.pi * X[:, 1] / 7)])
        model = fit(X[:200], Y[:200], period=period, index_set=tensor(2, 2))
        return model, X[200:], Y[200:], {"target_names": ["a", "b"], "target_units": ["MW", None]}
    if name == "repeated":
        t = np.linspace(0, 100, 300)[:, None]
        y = np.cos(2 * np.pi * t[:, 0] / 7.3) + np.sin(2 * np.pi * t[:, 0] / 11.9)
        model = fit(t, y, kernel=4.0 * (Circle(0, 7.3) * Circle(0, 11.9)).limited(1), index_set=tensor(2, 2))
        return model, t, y, {"input_names": ["time"], "input_units": ["s"]}
    if name == "cell":
        cell = np.array([[5.0, 0.3], [1.2, 6.1]])
        model = fit(X @ cell / period, y, period=cell, index_set=tensor(2, 2))
        model.set_fit(replace(model.fit_, period_std=np.array([[0.01, 0.02], [0.03, 0.04]])))
        return model, X[:100], y[:100], {"input_names": ["x", "y"], "input_units": ["Å", "Å"], "holdout": False}
    if name == "searched":
        t = np.random.default_rng(1).uniform(0, 100, 250)
        y = np.cos(2 * np.pi * t / 7.3) + 0.02 * t + 0.2 * np.random.default_rng(2).normal(size=250)
        model = TorusGPRegressor(period="auto", n_components=21).fit(t[:200, None], y[:200])
        return model, t[200:, None], y[200:], {"holdout": True}
    if name == "mixed":
        return mixed_case()
    assert name == "constant"
    return fit(X, np.full(len(X), 3.0), period=period, index_set=tensor(2, 1)), X, np.full(len(X), 3.0), {}


CASES = (
    "seasons",
    "nasty",
    "alone",
    "worthless",
    "one",
    "six",
    "outputs",
    "repeated",
    "cell",
    "searched",
    "constant",
    "mixed",
)


def mixed_rows():
    """Rows of circles, lines, categories and a straight line."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "hour_of_day": rng.uniform(0, 24, 300),
            "warmth": rng.normal(15, 6, 300),
            "shop": rng.choice(["north", "south", "west"], 300),
            "price": rng.uniform(1, 3, 300),
        }
    )
    hour = 2 * np.pi * frame["hour_of_day"] / 24
    y = 5 + np.cos(hour) * (1 + frame["warmth"] / 15) + (frame["shop"] == "west") * np.sin(hour) - frame["price"]
    return frame, (y + 0.2 * rng.normal(size=300)).to_numpy()


def mixed_case():
    """A model of circles, lines, categories and a straight line."""
    frame, y = mixed_rows()
    day = Circle("hour_of_day", 24)
    model = fit(
        frame[:200], y[:200], kernel=day * Line("warmth") + day * Category("shop") + Slope("price"), n_components=201
    )
    units = {"input_units": ["h", "°C", None, "€"], "target_names": "sales", "target_units": "t"}
    return model, frame[200:], y[200:], {"holdout": True, **units}


@cache
def render(name):
    model, X, y, arguments = case(name)
    return render_report(model, X, y, **arguments)


@cache
def page(name):
    return Page(render(name))
