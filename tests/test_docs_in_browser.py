"""The documentation in a browser, at two widths and in both themes: no page complains, overflows or is faint."""

import pytest

from tests.browsers import DESKTOP, PHONE, contrasts
from tests.test_docs import build_site

pytestmark = pytest.mark.slow

FAULTS = """() => {
  const faults = [];
  const name = (e) => e.outerHTML.slice(0, 100);
  const scrolls = (e) => {  // by itself, or inside something that does
    for (let p = e; p !== document.body; p = p.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(p).overflowX) && !p.matches(".content")) return true;
    return false;
  };
  const wider = document.documentElement.scrollWidth - window.innerWidth;
  if (wider > 0) faults.push(`wider than the window by ${wider}`);
  const article = document.querySelector("article") || document.body;
  for (const e of article.querySelectorAll("*"))
    if (e.checkVisibility() && e.getBoundingClientRect().right > window.innerWidth + 1 && !scrolls(e))
      faults.push(`reaches out: ${name(e)}`);
  let level = 0;
  for (const heading of article.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (Number(heading.tagName[1]) > level + 1) faults.push(`skips a level: ${name(heading)}`);
    level = Number(heading.tagName[1]);
  }
  const ids = Array.from(document.querySelectorAll("[id]"), (e) => e.id);
  faults.push(...ids.filter((id, i) => ids.indexOf(id) < i).map((id) => `id twice: ${id}`));
  for (const image of document.images) {
    if (!image.hasAttribute("alt")) faults.push(`no text for ${name(image)}`);
    if (image.loading !== "lazy" && !image.naturalWidth) faults.push(`not drawn: ${name(image)}`);
  }
  return faults;
}"""


def find_faults(browser, site, **options):
    """Faults of each page of a site that has any, with what the browser said and what was asked for elsewhere."""
    context = browser.new_context(**options)
    page = context.new_page()
    complaints, found = [], {}

    def pass_on(route):
        if route.request.url.startswith(site.as_uri()):
            route.continue_()
        else:
            complaints.append(f"asks for {route.request.url}")
            route.abort()

    context.route("**/*", pass_on)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(f"fails: {request.url}"))
    for file in sorted(site.rglob("*.html")):
        complaints.clear()
        page.goto(file.as_uri())
        contrast, text = contrasts(page)["text"]
        faint = [f"contrast {contrast:.2f}: {text}"] if contrast < 4.5 else []
        if faults := [*page.evaluate(FAULTS), *faint, *complaints]:
            found[file.relative_to(site).as_posix()] = faults
    context.close()
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_pages_have_no_faults(browser, tmp_path_factory, viewport, scheme):
    site = build_site(tmp_path_factory.getbasetemp() / "documentation")
    assert len(list(site.rglob("*.html"))) > 100
    assert find_faults(browser, site, viewport=viewport, color_scheme=scheme) == {}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<p style="width: 500px">wide</p>', "wider than the window by"),
        ('<div style="overflow: hidden"><p style="width: 500px">cut off</p></div>', "reaches out: <p"),
        ("<h1>one</h1><h3>three</h3>", "skips a level: <h3"),
        ('<p id="a"></p><p id="a"></p>', "id twice: a"),
        ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "no text for <img"),
        ('<img alt="a circle" src="nowhere.png">', "not drawn: <img"),
        ('<p style="color: #888">faint</p>', "contrast 3.54: <p"),
        ('<p style="color: rgba(0, 0, 0, 0.4)">faint</p>', "contrast 2.85: <p"),
        ("<script>missing()</script>", "missing is not defined"),
        ('<script src="https://example.org/x.js"></script>', "asks for https://example.org/x.js"),
    ],
)
def test_faults_are_noticed(browser, tmp_path, body, fault):
    (tmp_path / "a.html").write_text(f'<!doctype html><html lang="en"><body>{body}</body></html>')
    faults = find_faults(browser, tmp_path, viewport=PHONE)["a.html"]
    assert [one for one in faults if fault in one]


def test_what_scrolls_is_no_fault(browser, tmp_path):
    (tmp_path / "a.html").write_text(
        '<!doctype html><h1>one</h1><div style="overflow: auto"><p style="width: 500px">wide</p></div><h2>two</h2>'
    )
    assert find_faults(browser, tmp_path, viewport=PHONE) == {}
