"""The page as a file: complete in itself, safe, small, the same each time; pages of regressors and notebooks."""

import base64
import hashlib
import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from tests.views.report.cases import SHORT, Text, fitted, make_case
from torusgp import Category, Circle, Lattice, Line, TableModel, TorusGPRegressor, write_report
from torusgp.views.analysis import effect
from torusgp.views.plotting import (
    AttributionDisplay,
    CalibrationDisplay,
    EffectDisplay,
    PartsDisplay,
    PeriodogramDisplay,
    PredictionDisplay,
    RecordDisplay,
    ResidualDisplay,
    SpectrumDisplay,
    SurfaceDisplay,
)
from torusgp.views.record import unpack

NASTY = ("<script>alert(1)</script>", "\"quoted\" & 'single' größe 日", "]]> --> </style> {} %s \\ `")


@pytest.fixture
def page_of(tmp_path):
    def write(name):
        fitted(name)[0].report(tmp_path / "page.html")
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return write


def charts(page):
    """Data of the charts of a page, by kind."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, flags=re.S)
    return [json.loads(one) for one in found]


@pytest.mark.parametrize("name", SHORT)
def test_a_page_is_complete_in_itself(name, page_of):
    page = page_of(name)
    assert page == page_of(name)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert not re.search(r"<(link|img|iframe|object|embed)\b|@import|url\((?!#)", re.sub(r"`url\(#\$", "", page))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.replace("&#39;", "'").startswith("default-src 'none';")
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"sha256-{digest}" in policy.replace("&#43;", "+")
    assert len(page) < 150_000
    assert charts(page)


def test_the_opening_draws_history_held_out_rows_and_future(page_of):
    model, _ = fitted("periodic")
    layers = {one.get("name"): one for one in charts(page_of("periodic"))[0]["layers"]}
    assert list(layers) == ["observed", "forecast of rows held out", "held out", "forecast", "last row"]
    assert len(unpack(layers["observed"]["x"])) == model.n_rows_
    held, ahead = layers["forecast of rows held out"], layers["forecast"]
    assert len(unpack(held["x"])) == model.scores_.n_rows
    forecast = model.forecast(model.scores_.n_rows, quantiles=(0.025, 0.975))
    np.testing.assert_allclose(unpack(ahead["y"]), forecast.mean, atol=1e-3)
    np.testing.assert_allclose(unpack(ahead["low"]), forecast.quantiles[:, 0], atol=1e-3)
    assert unpack(ahead["x"])[0] - unpack(layers["observed"]["x"])[-1] == 3600e3


def test_the_predictions_of_rows_held_out_are_those_of_the_model_before_it_saw_them(page_of):
    layers = {one.get("name"): one for one in charts(page_of("drifting"))[0]["layers"]}
    held = layers["forecast of rows held out"]
    model, _ = fitted("drifting")
    observed = unpack(layers["observed"]["y"])[-len(unpack(held["y"])) :]
    assert np.sqrt(np.mean((observed - unpack(held["y"])) ** 2)) == pytest.approx(model.scores_.rmse, rel=1e-3)


def test_a_star_is_folded_at_its_period_and_has_a_periodogram(page_of):
    page = page_of("star")
    folded, history = charts(page)[:2]
    model, _ = fitted("star")
    period = model.summary()["inputs"][0]["period"]
    assert folded["x"]["high"] == pytest.approx(2 * period)
    phases = unpack(folded["layers"][0]["x"])
    assert len(phases) == 2 * model.n_rows_
    shape = folded["layers"][1]
    scatter = unpack(folded["layers"][0]["y"]) - np.interp(phases, unpack(shape["x"]), unpack(shape["y"]))
    assert np.std(scatter) < 0.12  # the noise, and not the spread of the rows
    assert history["layers"][0]["name"] == "observed"
    assert 'data-chart="Periodogram"' in page


def test_categories_are_bars_with_intervals(page_of):
    found = [one for one in charts(page_of("categories")) if one["kind"] == "bars" and one["labels"] == list("abcd")]
    values, low, high = (unpack(found[0][name]) for name in ("values", "low", "high"))
    truth = np.array([1, 4, 2, 3]) - 2.5
    assert ((low < values) & (values < high)).all()
    np.testing.assert_allclose(values - values.mean(), truth, atol=0.2)


def test_an_effect_is_the_one_of_the_analysis(page_of):
    model, _ = fitted("periodic")
    page = page_of("periodic")
    (chart,) = [one for one in charts(page) if one["kind"] == "curves" and one["x"].get("kind") == "hour"][:1]
    layer = chart["layers"][0]
    mean, std = effect(model.model_, 0)(unpack(layer["x"]), return_std=True)
    np.testing.assert_allclose(unpack(layer["y"]), mean, atol=1e-3)
    np.testing.assert_allclose(unpack(layer["high"]) - unpack(layer["low"]), 2 * 1.96 * std, rtol=1e-2, atol=1e-3)


def test_names_are_text_whatever_they_are(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({NASTY[0]: rng.uniform(0, 24, 200), NASTY[2]: rng.choice([NASTY[1], "b"], 200)})
    frame[NASTY[1]] = np.cos(frame[NASTY[0]] / 24 * 2 * np.pi) + 0.1 * rng.normal(size=200)
    model = TableModel(NASTY[1], {NASTY[0]: 24}, terms=Category(NASTY[2]), unit="<b>", n_components=41)
    model.fit_and_evaluate(frame).report(tmp_path / "page.html", title=NASTY[0])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "<b>)" not in page
    assert page.count("<script") == page.count("</script>")
    for name in (NASTY[0], NASTY[1], "<b>"):
        assert " ".join(name.split()) in str(Text(page))


@pytest.mark.slow
def test_fifty_thousand_rows_stay_below_a_megabyte(tmp_path):
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 5000, 50_000))  # at no step: times take the most room
    frame = pd.DataFrame({"t": t, "y": np.cos(2 * np.pi * t / 24) + rng.normal(size=len(t))})
    model = TableModel("y", {"t": 24}, time="t", errors="independent", n_components=21).fit_and_evaluate(frame)
    model.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 1_000_000


class TestRegressors:
    def make(self, n_rows=300, n_outputs=1):
        rng = np.random.default_rng(0)
        X = rng.uniform(0, [24, 7], (n_rows, 2))
        hour, day = 2 * np.pi * X.T / np.array([[24], [7]])
        y = np.column_stack([np.cos(hour) * (1 + 0.5 * np.sin(day)), np.sin(day)])[:, :n_outputs]
        return X, np.squeeze(y + 0.1 * rng.normal(size=y.shape))

    def test_with_rows_to_evaluate_it_on(self, tmp_path):
        X, y = self.make()
        model = TorusGPRegressor(period=[24, 7]).fit(X[:200], y[:200])
        assert (
            write_report(model, tmp_path / "new" / "page.html", X[200:], y[200:], unit="m")
            == tmp_path / "new/page.html"
        )
        text = str(Text((tmp_path / "new" / "page.html").read_text(encoding="utf-8")))
        assert "on 100 rows that it had not seen" in text
        assert " m)" in text

    def test_an_input_without_effect_is_named_and_not_drawn(self, tmp_path):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.uniform(0, 24, 400), rng.uniform(size=400)])
        y = np.exp(2 * np.cos(2 * np.pi * X[:, 0] / 24)) + 0.1 * rng.normal(size=400)
        learn = ("length_scale", "noise_variance")  # the set has no frequency of the line, whose variance is tiny
        model = TorusGPRegressor(Circle(0, 24) + 1e-9 * Line(1), n_components=15, learn=learn).fit(X, y)
        write_report(model, tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "Without an effect of its own: x1." in page
        assert "From 0 (" not in str(Text(page))

    def test_without_rows_it_says_that_nothing_is_known(self, tmp_path):
        X, y = self.make(n_outputs=2)
        model = TorusGPRegressor(period=[24, 7]).fit(X, y)
        pages = []
        for output in (0, 1):
            write_report(model, tmp_path / "page.html", output=output)
            pages.append((tmp_path / "page.html").read_text(encoding="utf-8"))
            assert "Not evaluated" in str(Text(pages[-1]))
        assert "comes from x0" in str(Text(pages[0]))
        assert "comes from x1" in str(Text(pages[1]))

    @pytest.mark.parametrize(
        "kernel",
        [
            Lattice((0, 1), [[3.0, 0.4], [0.1, 2.0]]),
            Circle(0, 24) + Line(1),
            Circle(0, 24) * Line(1),
            Circle(0, 24) * Circle(1, 7),
        ],
        ids=["lattice", "sum", "product", "circles"],
    )
    def test_other_kernels(self, kernel, tmp_path):
        X, y = self.make()
        model = TorusGPRegressor(kernel, n_components=31).fit(X[:250], y[:250])
        write_report(model, tmp_path / "page.html", X[250:], y[250:])
        assert charts((tmp_path / "page.html").read_text(encoding="utf-8"))

    @pytest.mark.slow
    def test_a_learned_index_set_shows_what_it_found(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.uniform(0, 2 * np.pi, size=(1000, 5))
        y = np.cos(X[:, 0] + X[:, 3] - X[:, 4]) + 0.1 * rng.normal(size=1000)
        model = TorusGPRegressor(period=2 * np.pi, index_set="learned").fit(X, y)
        write_report(model, tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert page.count('data-chart="Learned index set') == 3
        assert "frequencies: 1 of order 3" in str(Text(page))

    def test_errors(self, tmp_path):
        X, y = self.make()
        model = TorusGPRegressor(period=[24, 7], n_components=31).fit(X, y)
        for arguments, message in (
            ((X, None), "together"),
            ((X, y[:-1]), "y must have 1 target"),
            ((X, np.where(np.arange(len(y)) == 3, np.nan, y)), "the first is row 3"),
        ):
            with pytest.raises(ValueError, match=message):
                write_report(model, tmp_path / "page.html", *arguments)
        with pytest.raises(TypeError, match="its method report"):
            write_report(fitted("periodic")[0], tmp_path / "page.html")
        assert list(tmp_path.iterdir()) == []


class TestNotebooks:
    def test_a_fitted_model_shows_the_short_form_and_the_diagram(self):
        model, _ = fitted("warnings")
        shown = model._repr_mimebundle_()["text/html"]
        for sentence in model.findings().sentences():
            assert " ".join(sentence.split()) in str(Text(shown))
        assert "sk-container" in shown
        assert "<script>alert" not in shown

    def test_an_unfitted_model_shows_the_diagram(self):
        shown = TableModel("y", {"x": 24})._repr_mimebundle_()["text/html"]
        assert "verdict" not in shown
        assert "sk-container" in shown


class TestDisplays:
    @pytest.mark.parametrize(
        ("display", "arguments"),
        [
            (AttributionDisplay, ()),
            (EffectDisplay, (0,)),
            (EffectDisplay, ("hour_of_day",)),
            (PartsDisplay, ()),
            (SpectrumDisplay, ()),
            (PredictionDisplay, ()),
            (SurfaceDisplay, ()),
        ],
    )
    def test_what_needs_no_rows_takes_a_table_model(self, display, arguments):
        drawn = display.from_estimator(fitted("periodic")[0], *arguments).plot()
        assert drawn.figure_.axes
        plt.close(drawn.figure_)

    @pytest.mark.parametrize("display", [CalibrationDisplay, ResidualDisplay])
    def test_what_needs_rows_takes_the_table(self, display):
        model, table = fitted("periodic")[0], make_case("periodic")[1]
        drawn = display.from_estimator(model, table).plot()
        assert drawn.figure_.axes
        plt.close(drawn.figure_)

    def test_the_search_of_a_period(self):
        drawn = PeriodogramDisplay.from_estimator(fitted("star")[0]).plot()
        assert drawn.figure_.axes
        plt.close(drawn.figure_)


class TestPlot:
    @pytest.mark.parametrize("name", ["periodic", "categories", "star"])
    def test_rows_are_drawn_with_their_predictions(self, name):
        model, _ = fitted(name)
        display = model.plot()
        assert isinstance(display, RecordDisplay)
        assert display.ax_.get_ylabel().startswith("observed" if name == "categories" else model.target)
        assert len(display.ax_.lines) >= 2
        plt.close(display.figure_)
