import base64
import hashlib
import re
import sys

import matplotlib
import numpy as np
import pytest

from tests.views.report.pages import (
    CASES,
    NASTY,
    Chart,
    Page,
    case,
    charts,
    fit,
    make_rows,
    mixed_rows,
    page,
    render,
    to_number,
)
from torusgp import TorusGPRegressor
from torusgp.kernels.index_sets import tensor
from torusgp.views.analysis import effect, sobol_indices
from torusgp.views.report import render_report, write_report

matplotlib.use("Agg")

ELSEWHERE = re.compile(
    r"https?:|//[\w-]+\.\w|url\s*\(|@import|\bimport\s*[(\"']|\bfetch\s*\(|XMLHttpRequest", re.IGNORECASE
)


class TestEveryPage:
    @pytest.mark.parametrize("name", CASES)
    def test_it_is_well_formed_and_small_and_needs_nothing_else(self, name):
        assert len(render(name).encode()) < 1_000_000
        root = page(name).root  # which fails on what is not nested
        (html,) = root.children
        assert [child.name for child in html.children] == ["head", "body"]
        ids = [node.attributes["id"] for node in root.find_all() if "id" in node.attributes]
        assert len(ids) == len(set(ids))
        for node in root.find_all():
            for key in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
                value = node.attributes.get(key, "#")
                assert value.startswith(("#", "data:image/svg+xml;base64,"))
                assert not value.startswith("#") or value[1:] in ["", *ids]
            for key in ("aria-labelledby", "aria-controls", "for"):
                assert node.attributes.get(key, ids[0]) in ids
            assert not any(key.startswith("on") for key in node.attributes)
            assert node.name != "img" or node.attributes["alt"]
        assert not ELSEWHERE.search(render(name))
        for image in page(name).images():
            assert not ELSEWHERE.search(re.sub(r'xmlns(:\w+)?="[^"]*"', "", image).replace("url(#", "("))
            assert "<script" not in image

    @pytest.mark.parametrize("name", ["seasons", "alone", "outputs"])
    def test_tabs_name_the_sections(self, name):
        root = page(name).root
        tabs = list(root.find("nav", id="tabs").find_all("a"))
        panels = list(root.find("main").find_all("section"))
        assert [tab.attributes["href"] for tab in tabs] == [f"#{panel.attributes['id']}" for panel in panels]
        assert [tab.text for tab in tabs] == [panel.find("h2").text for panel in panels]
        assert not any("hidden" in panel.attributes for panel in panels)  # readable without scripts

    def test_only_its_own_script_may_run(self):
        root = page("seasons").root
        scripts = [node.text for node in root.find_all("script") if "type" not in node.attributes]
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
        policy = root.find("meta", http_equiv="Content-Security-Policy").attributes["content"]
        assert re.findall(r"'sha256-(.+?)'", policy) == digests
        assert policy.startswith("default-src 'none'")

    def test_the_same_model_gives_the_same_bytes(self, tmp_path):
        model, X, y, arguments = case("seasons")
        model.save(tmp_path / "model.npz")
        with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "axes.facecolor": "red"}):
            again = render_report(TorusGPRegressor.load(tmp_path / "model.npz"), X, y, **arguments)
        assert again == render("seasons")


class TestNames:
    def test_they_are_shown_as_they_are(self):
        root = page("nasty").root
        assert root.find("title").text == root.find("h1").text == NASTY[0]
        text = root.find("body").all_text()
        for name in NASTY:
            assert name in text
        assert "<script>alert" not in render("nasty")
        assert "</style> {}" not in render("nasty")
        facts = page("nasty").facts()
        assert facts[NASTY[1]][0].text == NASTY[0]

    def test_images_show_them_too(self):
        images = "".join(page("nasty").images())
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in images
        assert "$x$ größe 日" in images

    def test_a_long_name_is_cut_in_figures_alone(self):
        X, y = make_rows((24.0,))
        long = "a" * 300
        content = render_report(fit(X, y, period=24.0, index_set=tensor(1, 2)), input_names=[long])
        (chart,) = charts(Page(content).section("effects"))
        labels = [one.text for one in chart.svg.find_all("text")]
        assert long not in labels
        assert any(label.startswith("aaa") and label.endswith("…") for label in labels)
        assert long in Page(content).facts()["inputs (1)"][0].text


class TestNumbers:
    def test_facts_are_those_of_the_model(self):
        model, X, y, _ = case("seasons")
        mean, std = model.predict(X, return_std=True)
        score = np.abs(y - mean) / std
        wanted = {
            "rows fitted": 200,
            "columns": model.index_set_.n_components,
            "function varies by (standard deviation)": np.sqrt(sobol_indices(model).variance),
            "noise standard deviation": np.sqrt(model.noise_variance_),
            "log evidence": model.log_marginal_likelihood_,
            "truncation error of the kernel": model.truncation_error_,
            "these rows": 40,
            "these rows: RMSE": np.sqrt(np.mean((y - mean) ** 2)),
            "these rows: R²": model.score(X, y),
            "these rows: mean negative log loss": np.mean(0.5 * np.log(2 * np.pi * std**2) + score**2 / 2),
            "time to fit": 1.25,
        }
        facts = page("seasons").facts()
        for name, value in wanted.items():
            (cell,) = facts[name]
            assert float(cell.attributes["data-value"]) == pytest.approx(value, rel=1e-12)
            assert to_number(cell.text) == pytest.approx(value, rel=0.06)  # the truncation error has two digits
        for level, end in ((50, 0.6744898), (80, 1.2815516), (95, 1.959964)):
            (cell,) = facts[f"these rows: in {level}\N{NO-BREAK SPACE}% intervals"]
            assert float(cell.attributes["data-value"]) == pytest.approx(np.mean(score <= end))
        assert "MW" in facts["these rows: RMSE"][0].text

    def test_shares_are_those_of_the_analysis(self):
        model = case("seasons")[0]
        indices = sobol_indices(model, n_samples=400)  # as summaries of table models have it
        rows = list(page("seasons").section("attribution").find("tbody").find_all("tr"))
        order = np.argsort(-indices.share)
        names = ["hour_of_day", "day_of_week", "hour_of_day × day_of_week"]  # noqa: RUF001  # a multiplication sign
        assert [row.children[0].text for row in rows] == [names[i] for i in order]
        lower, upper = indices.interval()
        for row, i in zip(rows, order, strict=True):
            _, _, share, interval, total = row.children
            assert float(share.attributes["data-value"]) == indices.share[i]
            assert to_number(share.text) == pytest.approx(100 * indices.share[i], abs=0.05)
            ends = [to_number(text) for text in interval.text.split(" to ")]
            assert ends == pytest.approx([100 * lower[i], 100 * upper[i]], abs=0.0501)
            assert not total.text or to_number(total.text) == pytest.approx(100 * indices.total_order[i], abs=0.0501)
        assert sum(bool(row.children[4].text) for row in rows) == 2

    def test_parameters_are_those_of_the_kernel(self):
        model = case("searched")[0]
        parameters = model.fitted_.parameters
        row, slow = page("searched").section("parameters").find("tbody").find_all("tr")
        _, _, period, scale, harmonics, _ = row.children
        assert float(period.attributes["data-value"]) == parameters.period[0]
        shown, error = (to_number(text) for text in period.text.split("±"))
        std = model.fit_.period_std[0]
        assert shown == pytest.approx(parameters.period[0], abs=std)
        assert error == pytest.approx(std, rel=0.06)
        assert float(scale.attributes["data-value"]) == parameters["x0: length_scale"][0]
        assert to_number(harmonics.text) == np.abs(model.index_set_.frequencies[:, 0]).max()
        assert slow.children[0].text == "slow change"
        assert float(slow.children[3].attributes["data-value"]) == parameters["slow change: length_scale"][0]

    def test_the_cell_has_its_vectors_and_errors(self):
        model = case("cell")[0]
        tables = list(page("cell").section("parameters").find_all("table"))
        rows = [list(row.find_all("td")) for row in tables[1].find("tbody").find_all("tr")]
        found = [[float(cell.attributes["data-value"]) for cell in row[:2]] for row in rows]
        np.testing.assert_array_equal(found, model.fitted_.parameters.period)
        errors = [[to_number(cell.text.partition("±")[2]) for cell in row[:2]] for row in rows]
        np.testing.assert_allclose(errors, model.fit_.period_std)
        lengths = [to_number(row[2].text) for row in rows]
        assert lengths == pytest.approx(np.linalg.norm(model.fitted_.parameters.period, axis=1), rel=1e-3)
        one, other = model.fitted_.parameters.period
        angle = np.degrees(np.arccos(one @ other / np.linalg.norm(one) / np.linalg.norm(other)))
        text = page("cell").section("parameters").all_text()
        assert to_number(text.partition("angles are ")[2]) == pytest.approx(angle, abs=0.01)
        assert to_number(text.partition("area is ")[2]) == pytest.approx(
            abs(np.linalg.det(model.fitted_.parameters.period)), abs=0.01
        )

    def test_the_strongest_waves_are_the_largest_weights(self):
        model = case("seasons")[0]
        amplitude = np.hypot(model.coef_[1::2], model.coef_[2::2])
        cells = page("seasons").section("spectrum").find("tbody").find_all("td")
        found = [float(cell.attributes["data-value"]) for cell in cells]
        assert found == pytest.approx(np.sort(amplitude)[::-1][: len(found)])
        assert min(found) >= 1e-3 * max(found)

    def test_frequencies_of_which_nothing_is_expected_are_not_drawn(self):
        X, y = make_rows((24.0,))
        smooth = Page(render_report(fit(X, y, period=24.0, index_set=tensor(1, 30), length_scale=5.0)))
        assert "of which the model expects next to nothing are not drawn" in smooth.section("spectrum").all_text()
        assert "below 10⁻¹²" in smooth.facts()["truncation error of the kernel"][0].text
        assert "not drawn" not in page("seasons").section("spectrum").all_text()

    def test_the_constant_is_no_wave(self):
        n_sinusoids = len(case("seasons")[0].index_set_.frequencies) - 1
        text = page("seasons").section("spectrum").all_text()
        assert f"a constant and of waves of {n_sinusoids} frequencies" in text
        assert f"Of {n_sinusoids} frequencies, " in text
        assert f"a constant, and cosine and sine of {n_sinusoids} waves" in page("seasons").facts()["columns"][0].text


class TestCharts:
    def test_lines_are_the_effects(self):
        model = case("seasons")[0]
        share = sobol_indices(model).share
        drawn = charts(page("seasons").section("effects"))
        assert len(drawn) == 2
        for chart, d in zip(drawn, np.argsort(-share[:2]), strict=True):
            period = (24.0, 7.0)[d]
            x = np.linspace(0, period, len(chart.data["x"]))
            mean, std = effect(model, int(d))(x, return_std=True)
            np.testing.assert_allclose(chart.y_values(), mean, atol=0.01 * np.ptp(mean))
            for line, value, margin in zip(chart.data["lines"], mean, 1.959964 * std, strict=True):
                shown, _, half = line[1].partition(" ± ")
                assert to_number(shown) == pytest.approx(value, rel=1e-3)
                assert to_number(half) == pytest.approx(margin, rel=0.06)
        hours = next(chart for chart in drawn if chart.data["labels"][0] == "hour_of_day: ")
        assert hours.data["lines"][0][0] == hours.data["lines"][-1][0] == "0:00"

    def test_profiles_are_averages_of_the_prediction(self):
        model = case("seasons")[0]
        along_hour = charts(page("seasons").section("interactions"))[0]
        x = np.linspace(0, 24, len(along_hour.data["x"]))
        assert along_hour.data["labels"] == ["hour_of_day: ", "Mon: ", "Wed: ", "Fri: ", "Sat: "]
        for i, weekday in enumerate((0, 2, 4, 5)):
            # with two inputs there is nothing left to average over
            wanted = model.predict(np.column_stack([x, np.full(len(x), weekday)]))
            np.testing.assert_allclose(along_hour.y_values(i), wanted, atol=0.01 * np.ptp(wanted))
            shown = [to_number(line[i + 1]) for line in along_hour.data["lines"]]
            np.testing.assert_allclose(shown, wanted, rtol=1e-3)

    def test_points_are_the_rows(self):
        model, X, y, _ = case("seasons")
        scatter = charts(page("seasons").section("predictions"))[0]
        mean, std = model.predict(X, return_std=True)
        np.testing.assert_allclose(scatter.x_values(), mean, atol=0.03)
        np.testing.assert_allclose(scatter.y_values(), y, atol=0.03)
        for i, line in enumerate(scatter.data["lines"]):
            said = dict(zip(scatter.data["labels"], line, strict=True))
            assert to_number(said["row "]) == i + 1
            assert to_number(said["observed "]) == pytest.approx(y[i], rel=1e-3)
            shown, _, margin = said["predicted "].partition(" ± ")
            assert to_number(shown) == pytest.approx(mean[i], rel=1e-3)
            assert to_number(margin) == pytest.approx(std[i], rel=0.06)
            hours, minutes = said["hour_of_day: "].split(":")
            assert int(hours) + int(minutes) / 60 == pytest.approx(X[i, 0], abs=0.02)
        crosses = next(path for path in scatter.svg.find_all("path") if "m0" in path.attributes["d"])
        assert crosses.attributes["d"].count("M") == np.sum(np.abs(y - mean) > 1.959964 * std)

    def test_many_rows_are_sampled_and_all_are_judged(self):
        model = case("seasons")[0]
        X, y = make_rows((24.0, 7.0), 4000, seed=5)
        X[:, 1] = np.floor(X[:, 1])
        content = Page(render_report(model, X, y, holdout=True, input_names=["hour", "day_of_week"]))
        scatter = Chart(content.section("predictions").find("figure"))
        assert len(scatter.data["x"]) == 1500
        assert "1,500 rows of 4,000, chosen at random, are drawn" in scatter.caption
        assert float(content.facts()["these rows"][0].attributes["data-value"]) == 4000
        rmse = np.sqrt(np.mean((model.predict(X) - y) ** 2))
        assert float(content.facts()["these rows: RMSE"][0].attributes["data-value"]) == pytest.approx(rmse)
        # whole weekdays are marked, and are where the extremes are looked for
        weekdays = next(
            chart for chart in charts(content.section("effects")) if chart.title.startswith("Effect of day")
        )
        (marks,) = weekdays.svg.find_all("path", class_="marks")
        assert marks.attributes["d"].count("M") == 7
        mean = effect(model, 1)(np.arange(7.0))
        names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
        assert f"({names[mean.argmin()]}) to" in weekdays.caption
        assert f"({names[mean.argmax()]})" in weekdays.caption


class TestKindsOfModels:
    def test_without_rows_there_are_no_predictions(self):
        assert page("alone").section("predictions") is None
        assert "No rows were given to compare its predictions with" in page("alone").root.all_text()
        assert not any("RMSE" in name for name in page("alone").facts())

    def test_one_input_has_no_interactions(self):
        assert "nothing to interact with" in page("one").section("interactions").all_text()
        assert len(charts(page("one").section("effects"))) == 1

    def test_of_six_inputs_few_pairs_have_pictures_and_all_are_listed(self):
        section = page("six").section("interactions")
        assert len(list(section.find_all("img"))) == 6
        text = section.all_text()
        for i in range(6):
            for j in range(i):
                assert f"x{j} × x{i}" in text  # noqa: RUF001  # a multiplication sign
        assert len(charts(page("six").section("effects"))) == 6

    def test_every_target_has_its_part(self):
        model, X, y, _ = case("outputs")
        root = page("outputs").root
        assert [one.text for one in root.find("select").find_all("option")] == ["a", "b", "all of them"]
        for key in ("effects", "interactions", "attribution", "predictions", "spectrum"):
            blocks = list(page("outputs").section(key).find_all("div", class_="output"))
            assert [block.find("h3").text for block in blocks] == ["a", "b"]
        cells = page("outputs").facts()["these rows: RMSE"]
        rmse = np.sqrt(np.mean((model.predict(X) - y) ** 2, axis=0))
        assert [float(cell.attributes["data-value"]) for cell in cells] == pytest.approx(rmse)
        assert [cell.text.partition("\N{NO-BREAK SPACE}")[2] for cell in cells] == ["MW", ""]
        lines = [charts(block) for block in page("outputs").section("effects").find_all("div", class_="output")]
        hours = [next(one for one in block if one.data["labels"][0] == "x0: ") for block in lines]
        found = effect(model, 0, n_points=len(hours[0].data["x"])).mean
        for q, chart in enumerate(hours):
            np.testing.assert_allclose(chart.y_values(), found[:, q], atol=0.02 * np.ptp(found[:, q]) + 1e-3)

    def test_an_input_with_two_periods_is_one_input(self):
        text = page("repeated").root.find("p", class_="opening").text
        assert text.count("time") == 1
        assert text.replace("\N{NO-BREAK SPACE}", " ").endswith("time (repeats every 7.3 s and every 11.9 s).")
        assert "The model lets no inputs interact" in page("repeated").section("interactions").all_text()

    def test_slow_change_is_drawn(self):
        model = case("searched")[0]
        drawn = charts(page("searched").section("effects"))
        (chart,) = (one for one in drawn if "slow change" in one.title)
        axis = model.fitted_.prior.torus.axes[1]
        x = np.linspace(axis.low, axis.high, len(chart.data["x"]))
        wanted = effect(model, 1)(x)
        np.testing.assert_allclose(chart.y_values(), wanted, atol=0.01 * np.ptp(wanted))
        section = page("searched").section("parameters")
        assert len(list(section.find_all("img"))) == 1  # the periodogram
        assert "Slow change beside the period was found" in page("searched").root.all_text()
        assert "target depends on x0 (repeats every 7.29" in page("searched").root.find("p", class_="opening").text

    def test_lines_levels_and_straight_lines(self):
        model, frame, y, _ = case("mixed")
        text = page("mixed").root.find("p", class_="opening").text.replace("\N{NO-BREAK SPACE}", " ")
        assert text.endswith("how sales depends on hour_of_day (repeats every 24 h), warmth, shop and price.")
        drawn = {one.data["labels"][0]: one for one in charts(page("mixed").section("effects"))}
        assert list(map(str.strip, sorted(drawn))) == ["hour_of_day:", "price:", "shop:", "warmth:"]
        shop = drawn["shop: "]
        assert [line[0] for line in shop.data["lines"]] == ["north", "south", "west"]
        np.testing.assert_allclose(shop.y_values(), effect(model, "shop").mean, atol=0.01)
        assert shop.svg.find("path", class_="bars") is not None
        warmth = drawn["warmth: "]
        axis = model.fitted_.prior.torus.axes[1]
        np.testing.assert_allclose(warmth.x_values()[[0, -1]], [axis.low, axis.high], atol=0.1)
        np.testing.assert_allclose(
            warmth.y_values(), effect(model, "warmth", n_points=len(warmth.data["x"])).mean, atol=0.01
        )
        assert "as often as the rows have them" in page("mixed").section("attribution").all_text()
        profiles = {one.title for one in charts(page("mixed").section("interactions"))}
        assert any("along hour_of_day for north, south and west of shop" in title for title in profiles)
        rmse = float(page("mixed").facts()["these rows: RMSE"][0].attributes["data-value"])
        assert rmse == pytest.approx(np.sqrt(np.mean((model.predict(frame) - y) ** 2)))

    def test_terms_are_told_with_what_they_contribute(self):
        model = case("mixed")[0]
        tables = list(page("mixed").section("parameters").find_all("table"))
        rows = list(tables[1].find("tbody").find_all("tr"))
        assert [row.children[0].text for row in rows] == list(model.term_names_)
        found = [float(row.children[1].attributes["data-value"]) for row in rows]
        assert found == pytest.approx(model.predict_parts(mixed_rows()[0][:200]).std(axis=0), rel=1e-6)

    def test_logarithms_are_called_so(self):
        X, y = make_rows((24.0,))
        model = fit(X, np.exp(y / 10), period=24.0, index_set=tensor(1, 3), likelihood="log_normal")
        content = Page(render_report(model, X, np.exp(y / 10), target_names="sales", target_units="t"))
        (chart,) = charts(content.section("effects"))
        assert chart.title.startswith("Effect of x0 on log of sales")
        assert "logarithms of single rows scatter" in content.root.all_text()
        assert "the 240 rows it was fitted to" in content.root.all_text()

    def test_a_constant_prediction_is_said_to_be_one(self):
        said = "not said. The predicted function of the target is constant: it has no variance to attribute."
        for key in ("interactions", "attribution"):
            assert said in page("constant").section(key).all_text()
        assert len(charts(page("constant").section("effects"))) == 2

    def test_it_says_whose_rows_these_are(self):
        assert "40 rows it was not fitted to" in page("seasons").root.all_text()
        assert "the 240 rows it was fitted to" in page("one").root.all_text()  # recognised
        assert "the 100 rows it was fitted to" in page("cell").root.all_text()  # said
        assert "not said whether the rows it is compared with are new" in page("outputs").root.all_text()

    def test_errors_that_come_in_runs_are_mentioned(self):
        X, y = make_rows((24.0,))
        model = fit(X, y, period=24.0, index_set=tensor(1, 2))
        slow = np.repeat([3.0, -3.0, 3.0, -3.0], 60)
        assert "they come in runs" in Page(render_report(model, X, y + slow, holdout=True)).root.all_text()
        assert "they come in runs" not in page("one").root.all_text()

    def test_rows_of_the_fit_that_are_said_to_be_new_are_questioned(self):
        X, y = make_rows((24.0,))
        content = render_report(fit(X, y, period=24.0, index_set=tensor(1, 2)), X, y, holdout=True)
        assert "Are they?" in Page(content).root.all_text()


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"X": np.zeros((3, 2))}, "X and y must be given together, got X alone"),
            ({"y": np.zeros(3)}, "X and y must be given together, got y alone"),
            ({"holdout": "yes"}, "holdout must be True, False or None, got 'yes'"),
            ({"input_names": ["a"]}, "input_names must hold 2"),
            ({"target_units": ["a", "b"]}, "target_units must hold 1"),
        ],
        ids=["no y", "no X", "holdout", "names", "units"],
    )
    def test_what_is_wrong_is_said(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            render_report(case("alone")[0], **arguments)

    def test_the_model_must_be_a_fitted_regressor(self):
        with pytest.raises(TypeError, match="TorusGPRegressor, got str"):
            render_report("model")
        with pytest.raises(ValueError, match="not fitted"):
            render_report(TorusGPRegressor())

    def test_without_matplotlib_it_says_how_to_install_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"torusgp\[plot\]"):
            render_report(case("alone")[0])


class TestFile:
    def test_it_holds_the_page(self, tmp_path):
        model, X, y, arguments = case("one")
        path = write_report(model, tmp_path / "new" / "report.html", X, y, **arguments)
        assert path.read_text(encoding="utf-8") == render("one")
        assert [one.name for one in path.parent.iterdir()] == ["report.html"]

    def test_what_was_there_stays_if_the_page_fails(self, tmp_path):
        path = tmp_path / "report.html"
        path.write_text("old")
        with pytest.raises(ValueError, match="holdout"):
            write_report(case("one")[0], path, holdout="yes")
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_place_that_cannot_be_written_is_found_before_the_work(self, tmp_path):
        with pytest.raises(OSError, match="not a file"):
            write_report("not even a model", tmp_path)
