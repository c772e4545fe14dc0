"""Ten tables whose models a reader meets, and what is said of them on the page, in the terminal and as JSON."""

import json
import warnings
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd

from tests.cli.runner import run
from torusgp import Category, Line, Slope, TableModel
from torusgp.tables.words import command_words

SHORT = ("periodic", "worthless", "drifting", "counts", "two stores", "star", "one input", "categories", "warnings")
CASES = (*SHORT, "many rows")


def hourly(n_rows, seed=0, noise=0.2, start="2024-01-01", step="h"):
    """Rows with a daily pattern that is weaker at weekends."""
    time = pd.date_range(start, periods=n_rows, freq=step)
    hour = (time - time[0]).total_seconds().to_numpy() / 3600
    busy = np.where(time.day_of_week < 5, 2.0, 1.0) * np.cos(2 * np.pi * hour / 24)
    y = 5 + busy + np.random.default_rng(seed).normal(0, noise, n_rows)
    return pd.DataFrame({"time": time, "demand": y})


def make_case(name):
    """Unfitted model and table."""
    rng = np.random.default_rng(1)
    calendar = {"calendar": {"time": ["day", "week"]}, "n_components": 41}
    match name:
        case "periodic":
            return TableModel("demand", unit="MW", **calendar), hourly(28 * 24)
        case "worthless":
            frame = pd.DataFrame({"hour": rng.uniform(0, 24, 300), "demand": rng.normal(size=300)})
            return TableModel("demand", {"hour": 24}), frame
        case "drifting":
            frame = hourly(28 * 24)
            frame["demand"] += 0.01 * np.arange(len(frame))
            return TableModel("demand", **calendar), frame
        case "counts":
            frame = hourly(28 * 24)
            frame["demand"] = rng.poisson(np.exp(frame["demand"] / 3))
            return TableModel("demand", likelihood="poisson", **calendar), frame
        case "two stores":
            frames = [hourly(21 * 24, seed).assign(store=store) for seed, store in enumerate(["north", "south"])]
            frames[1]["demand"] += 3
            return TableModel("demand", **calendar), pd.concat(frames, ignore_index=True)
        case "star":
            t = np.sort(rng.uniform(0, 60, 250))
            mag = np.cos(2 * np.pi * t / 3.7) + 0.4 * np.cos(4 * np.pi * t / 3.7) + 0.1 * rng.normal(size=250)
            return TableModel("mag", {"t": "auto"}, n_components=41), pd.DataFrame({"t": t, "mag": mag})
        case "one input":
            x = rng.uniform(0, 10, 200)
            frame = pd.DataFrame({"x": x, "y": np.sin(x) + 0.1 * rng.normal(size=200)})
            return TableModel("y", terms=Line("x"), periods={"x": 25.0}, n_components=41), frame
        case "categories":
            frame = pd.DataFrame({"shop": rng.choice(list("abcd"), 400), "kind": rng.choice(["x", "y"], 400)})
            frame["sales"] = frame["shop"].map(dict(zip("abcd", [1.0, 4, 2, 3], strict=True)))
            frame["sales"] += 2 * (frame["kind"] == "y") + 0.3 * rng.normal(size=400)
            return TableModel("sales", terms=Category("shop") + Category("kind")), frame
        case "warnings":
            frame = hourly(10 * 24, noise=0.05)
            frame["demand"] += 10
            frame.loc[[40, 90], "demand"] = 0.0
            frame.loc[150:, "demand"] += 4
            frame.loc[30, "demand"] = np.nan
            frame = pd.concat([frame.drop(range(100, 120)), frame.iloc[[5]]], ignore_index=True)
            frame["note"] = "x"
            model = TableModel("demand", terms=Slope("time"), drop_missing=True, **calendar)
            return model, frame
        case "many rows":
            return TableModel("demand", unit="MW", errors="independent", **calendar), hourly(300_000, step="10min")
    raise KeyError(name)


@cache
def fitted(name):
    """Fitted model of a case, and the texts of its warnings."""
    model, frame = make_case(name)
    with warnings.catch_warnings(record=True) as told, command_words():
        warnings.simplefilter("always", UserWarning)
        model.fit_and_evaluate(frame)
    return model, [" ".join(str(one.message).split()) for one in told]


def written(name, folder):
    """Page, text in the terminal and JSON of a case."""
    model, _ = fitted(name)
    model.save(folder / "model.npz")
    terminal = run("info", folder / "model.npz")
    content = run("info", folder / "model.npz", "--json")
    page = run("report", folder / "model.npz", "-o", folder / "page.html")
    assert (terminal.exit_code, content.exit_code, page.exit_code) == (0, 0, 0)
    text = (folder / "page.html").read_text(encoding="utf-8")
    return text, terminal.stdout, json.loads(content.stdout)


class Text(HTMLParser):
    """What a reader sees of a page."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.parts, self._hidden = [], 0
        self.feed(source)

    def handle_starttag(self, name, attributes):
        self._hidden += name in ("script", "style")
        self.parts.append(" ")

    def handle_endtag(self, name):
        self._hidden -= name in ("script", "style")
        self.parts.append(" ")

    def handle_data(self, text):
        if not self._hidden:
            self.parts.append(text)

    def __str__(self):
        return one_line("".join(self.parts))


def one_line(text):
    """Text without line breaks."""
    return " ".join(text.split())
