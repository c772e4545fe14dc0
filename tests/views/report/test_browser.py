"""The page in a browser: at two widths and in both themes it fits, draws, can be read, and answers its reader."""

import pytest

from tests.browsers import DESKTOP, PHONE, contrasts
from tests.views.report.cases import CASES, fitted

QUICK = ("periodic", "warnings")
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
QUESTIONS = ("good", "next", "sure", "drives", "wrong")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def open_page(browser, folder):
    """Opens the page of a case; complaints and requests are collected, and nothing is let out."""
    contexts = []

    def open_case(name, viewport=DESKTOP, **options):
        file = folder / f"{name.replace(' ', '-')}.html"
        if not file.exists():
            fitted(name)[0].report(file)
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
        page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            page.locator(".plot:not(:has(svg))").first.wait_for(state="detached")  # the policy forbids evaluation
        return page

    yield open_case
    for context in contexts:
        context.close()


def overflow(page):
    """How much wider than the window the page is, and what reaches out of it without scrolling by itself."""
    return page.evaluate(
        """() => {
          const outside = (e) => e.getBoundingClientRect().right > window.innerWidth + 0.5;
          const fixed = (e) => !e.closest(".scroll, svg, [hidden]");
          const all = Array.from(document.querySelectorAll("body *")).filter(fixed);
          const width = document.documentElement.scrollWidth - window.innerWidth;
          return [width, all.filter(outside).map((e) => e.outerHTML.slice(0, 80))];
        }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_draws_and_can_be_read(open_page, name, viewport, scheme):
    page = open_page(name, viewport, color_scheme=scheme)
    assert overflow(page) == [0, []]
    for plot in page.locator(".plot").all():
        box = plot.bounding_box()
        assert min(box["width"], box["height"]) > 100
        drawn = plot.evaluate("e => Array.from(e.querySelectorAll('path, rect')).some((p) => p.getTotalLength() > 0)")
        assert drawn
        assert "NaN" not in plot.evaluate("e => e.querySelector('svg').outerHTML")
    dark = page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
    assert (dark == "rgb(255, 255, 255)") == (scheme == "light")
    found = contrasts(page)
    assert found["text"][0] >= 4.5, found
    assert found["line"][0] >= 3, found
    assert page.complaints == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", NAMES)
def test_five_questions_are_answered_on_the_first_two_screens(open_page, name, viewport):
    page = open_page(name, viewport)
    for question in QUESTIONS:
        answer = page.locator(f"[data-answers={question}]").first
        assert answer.inner_text().strip()
        if question == "wrong":  # there may be any number of problems: the first is seen whole
            answer = answer.locator("li").first
        box = answer.bounding_box()
        assert box["y"] + box["height"] < 2 * viewport["height"], question


def test_time_is_zoomed_by_buttons_and_by_dragging(open_page):
    page = open_page("periodic")
    plot = page.locator(".plot").first
    ticks = lambda: plot.locator("svg").first.locator("text").all_text_contents()  # noqa: E731
    whole = ticks()
    page.get_by_role("button", name="Week").first.click()
    week = ticks()
    assert week != whole
    assert page.get_by_role("button", name="Week").first.get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Earlier").first.click()
    assert ticks() != week
    page.get_by_role("button", name="All").first.click()
    assert ticks() == whole
    box = plot.locator("svg").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 100)
    page.mouse.up()
    assert ticks() != whole
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 100)
    assert ticks() == whole
    assert page.complaints == []


def test_the_value_under_the_pointer_is_said(open_page):
    page = open_page("periodic")
    tip = page.locator("#tip")
    assert not tip.is_visible()
    plot = page.locator(".plot").first
    box = plot.locator("svg").first.bounding_box()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 120)
    said = tip.inner_text()
    assert "forecast: " in said
    assert "MW (" in said
    assert " 2024" in said
    page.mouse.move(5, 5)
    assert not tip.is_visible()
    plot.focus()
    page.keyboard.press("ArrowRight")
    first = tip.inner_text()
    page.keyboard.press("End")
    assert tip.is_visible()
    assert tip.inner_text() != first
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_bars_and_maps_say_their_values(open_page):
    page = open_page("periodic")
    page.locator("#drivers .bar").first.hover(force=True)
    assert "%" in page.locator("#tip").inner_text()
    cells = page.locator("#interactions .plot rect")
    cells.nth(40).hover(force=True)
    assert "hour_of_day: " in page.locator("#tip").inner_text()


def test_on_paper_everything_is_there_in_black_on_white(open_page):
    page = open_page("periodic", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("nav").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor") == "rgb(255, 255, 255)"
    assert all(section.is_visible() for section in page.locator("main section").all())
    assert contrasts(page)["text"][0] >= 4.5


def test_without_scripts_the_words_are_there(open_page):
    page = open_page("periodic", java_script_enabled=False)
    assert page.locator(".verdict").is_visible()
    assert "does not run" in page.locator("noscript").inner_text()
