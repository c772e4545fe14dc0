"""The page in a browser: it opens without complaint, its tabs and charts work, and it fits a phone."""

import numpy as np
import pytest

from tests.browsers import DESKTOP, PHONE
from tests.views.report.pages import CASES, case, render, to_number
from torusgp.views.analysis import effect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def open_page(browser, folder):
    """Opens a case; complaints and requests are collected, and nothing is let out."""
    contexts = []

    def open_case(name, viewport=DESKTOP, address="", **options):
        file = folder / f"{name}.html"
        if not file.exists():
            file.write_text(render(name), encoding="utf-8")
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []

        def pass_on(route):
            if route.request.url.startswith(file.as_uri()):
                route.continue_()
            else:
                page.complaints.append(route.request.url)
                route.abort()

        context.route("**/*", pass_on)
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("requestfailed", lambda request: page.complaints.append(request.url[:200]))
        page.goto(file.as_uri() + address)
        return page

    yield open_case
    for context in contexts:
        context.close()


def shown(page):
    return page.evaluate(
        "Array.from(document.querySelectorAll('main > section')).filter(s => !s.hidden).map(s => s.id)"
    )


def overflow(page):
    """How much wider than the window the page is, and what reaches out of it without scrolling by itself."""
    return page.evaluate(
        """() => {
          const outside = (e) => e.getBoundingClientRect().right > window.innerWidth + 0.5;
          const fixed = (e) => !e.closest(".scroll, svg, [hidden]");  // what does not scroll by itself
          const all = Array.from(document.querySelectorAll("body *")).filter(fixed);
          const width = document.documentElement.scrollWidth - window.innerWidth;
          return [width, all.filter(outside).map((e) => e.outerHTML.slice(0, 80))];
        }"""
    )


def tabs_of(page):
    return page.locator("#tabs a")


@pytest.mark.parametrize("name", CASES)
def test_every_figure_of_every_tab_is_drawn(open_page, name):
    page = open_page(name)
    for i in range(tabs_of(page).count()):
        tabs_of(page).nth(i).click()
        section = page.locator(f"#{shown(page)[0]}")
        for image in section.locator("img:visible").all():
            assert image.evaluate("e => e.complete && e.naturalWidth > 100 && e.naturalHeight > 100")
            box = image.bounding_box()
            assert min(box["width"], box["height"]) > 100
        for chart in section.locator("figure.chart svg[role=img]:visible").all():
            box = chart.bounding_box()
            assert min(box["width"], box["height"]) > 100
            ink = chart.evaluate("e => Array.from(e.querySelectorAll('path')).some(p => p.getTotalLength() > 0)")
            assert ink or name == "constant"
    assert page.complaints == []


@pytest.mark.parametrize("name", CASES)
def test_nothing_reaches_out_of_a_phone(open_page, name):
    page = open_page(name, PHONE)
    for i in range(tabs_of(page).count()):
        tabs_of(page).nth(i).click()
        assert overflow(page) == [0, []]
    page.locator("#numbers summary").click()
    assert overflow(page) == [0, []]
    assert page.complaints == []


def test_tabs_switch_by_click(open_page):
    page = open_page("seasons")
    assert shown(page) == ["effects"]
    page.get_by_role("tab", name="Predictions").click()
    assert shown(page) == ["predictions"]
    assert page.url.endswith("#predictions")
    selected = page.get_by_role("tab", selected=True)
    assert selected.inner_text() == "Predictions"
    assert page.get_by_role("tabpanel", name="Predictions").is_visible()
    assert page.complaints == []


def test_tabs_switch_by_keyboard(open_page):
    page = open_page("seasons")
    page.get_by_role("tab", selected=True).focus()
    wanted = {
        "ArrowRight": "interactions",
        "End": "spectrum",
        "ArrowLeft": "parameters",
        "Home": "effects",
    }
    for key, section in wanted.items():
        page.keyboard.press(key)
        assert shown(page) == [section]
        assert page.evaluate("document.activeElement.id") == f"tab-{section}"
    page.keyboard.press("ArrowLeft")  # around the corner
    assert shown(page) == ["spectrum"]
    page.keyboard.press("Tab")  # one stop for all tabs
    assert page.evaluate("document.activeElement.closest('nav') === null")


def test_an_address_leads_to_its_tab(open_page):
    page = open_page("seasons", address="#attribution")
    assert shown(page) == ["attribution"]
    page.evaluate("location.hash = '#spectrum'")
    page.wait_for_function("!document.getElementById('spectrum').hidden")
    assert shown(page) == ["spectrum"]
    assert shown(open_page("seasons", address="#nowhere")) == ["effects"]


def test_without_scripts_all_sections_follow_each_other(open_page):
    page = open_page("outputs", java_script_enabled=False)
    for section in page.locator("main > section").all():
        assert section.is_visible()
    assert page.locator("#effects .output:visible").count() == 2
    assert not page.locator("#choice").is_visible()
    page.get_by_role("link", name="Spectrum").click()
    assert page.url.endswith("#spectrum")


def test_on_paper_all_sections_follow_each_other(open_page):
    page = open_page("outputs")
    page.emulate_media(media="print")
    assert all(section.is_visible() for section in page.locator("main > section").all())
    assert page.locator("#effects .output:visible").count() == 2
    assert not page.locator("nav").is_visible()


def test_one_of_several_targets_is_chosen(open_page):
    page = open_page("outputs")
    for value, names in (("0", ["a"]), ("1", ["b"]), ("all", ["a", "b"])):
        page.locator("#output").select_option(value)
        assert page.locator("#effects .output:visible h3").all_inner_texts() == names
    assert page.complaints == []


def point_at(page, chart, index):
    """Move the pointer to a point of a chart."""
    data = chart.evaluate("f => JSON.parse(f.querySelector('script').textContent)")
    svg = chart.locator("svg[role=img]")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    scale = box["width"] / svg.evaluate("e => e.viewBox.baseVal.width")
    page.mouse.move(box["x"] + data["x"][index] * scale, box["y"] + data["y"][0][index] * scale)
    return data


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_value_under_the_pointer_is_said(open_page, viewport):
    page = open_page("seasons", viewport)
    model = case("seasons")[0]
    chart = page.locator("#effects figure.chart", has_text="hour_of_day").first
    tip = page.locator("#tip")
    assert not tip.is_visible()
    for index in (0, 30, 60, 100):
        data = point_at(page, chart, index)
        hour = 24 * index / (len(data["x"]) - 1)
        mean, std = effect(model, 0)([hour], return_std=True)
        when, said = tip.inner_text().split("\n")
        hours, minutes = when.removeprefix("hour_of_day: ").split(":")
        assert int(hours) + int(minutes) / 60 == pytest.approx(hour % 24, abs=0.01)
        value, _, margin = said.removeprefix("effect ").partition(" ± ")
        assert to_number(value) == pytest.approx(mean[0], rel=1e-3)
        assert to_number(margin) == pytest.approx(1.959964 * std[0], rel=0.06)
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= viewport["width"]
        assert box["y"] >= 0
        assert chart.locator(".dot").count() == 1
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    assert chart.locator(".dot").count() == 0
    assert page.complaints == []


def test_the_row_under_the_pointer_is_said(open_page):
    page = open_page("seasons", address="#predictions")
    model, X, y, _ = case("seasons")
    mean, std = model.predict(X, return_std=True)
    chart = page.locator("#predictions figure.chart").first
    alone = int(np.argmax(np.abs(y - mean)))  # no other point is near
    point_at(page, chart, alone)
    row, _, _, observed, predicted = page.locator("#tip").inner_text().split("\n")
    assert row == f"row {alone + 1}"
    assert to_number(observed) == pytest.approx(y[alone], rel=1e-3)
    shown_mean, _, shown_std = predicted.partition(" ± ")
    assert to_number(shown_mean) == pytest.approx(mean[alone], rel=1e-3)
    assert to_number(shown_std) == pytest.approx(std[alone], rel=0.06)
    box = chart.locator("svg[role=img]").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 90)  # far from any
    assert not page.locator("#tip").is_visible()


def test_charts_speak_to_the_keyboard(open_page):
    page = open_page("seasons")
    canvas = page.locator("#effects figure.chart .canvas").first
    lines = canvas.evaluate("c => JSON.parse(c.querySelector('script').textContent).lines")
    canvas.focus()
    for key, index in (("ArrowRight", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("End", len(lines) - 1)):
        page.keyboard.press(key)
        text = page.locator("#tip").inner_text().split("\n")
        assert [line.partition(" ")[2] for line in text] == lines[index]
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()


def test_a_name_runs_no_script(open_page):
    page = open_page("nasty")
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for tab in tabs_of(page).all():
        tab.click()
    assert dialogs == []
    assert page.title() == "<script>alert(1)</script>"
    assert page.complaints == []


def test_figures_stay_white_in_the_dark(open_page):
    page = open_page("seasons", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    colours = page.locator(".canvas").evaluate_all("all => all.map(c => getComputedStyle(c).backgroundColor)")
    assert set(colours) == {"rgb(255, 255, 255)"}
