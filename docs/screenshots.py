"""Pictures of the report in ``docs/images``, taken of the page that ``docs/report.md`` writes.

python docs/screenshots.py  # needs playwright and Chromium
"""

import re
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# Name, window, theme, and what is shown: from which screen, how many of them.
PICTURES = (
    ("report", DESKTOP, "light", 0, 1),
    ("report-dark", DESKTOP, "dark", 1, 1),
    ("report-phone-1", PHONE, "light", 0, 1),
    ("report-phone-2", PHONE, "light", 1, 1),
    ("report-phone-dark", PHONE, "dark", 0, 1),
)


def main():
    """Write the report and photograph it."""
    code = re.search(r"```python\n(.*?)```", (HERE / "report.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, chdir(folder), sync_playwright() as playwright:
        exec(code, {})  # our own page
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, window, theme, first, n_screens in PICTURES:
            page = browser.new_page(viewport=window, color_scheme=theme, device_scale_factor=1.5)
            page.goto(Path("report.html").resolve().as_uri())
            page.locator(".plot:not(:has(svg))").first.wait_for(state="detached")
            place = {"x": 0, "y": first * window["height"]}
            shown = place | {"width": window["width"], "height": n_screens * window["height"]}
            page.screenshot(path=HERE / f"images/{name}.png", full_page=True, clip=shown)


if __name__ == "__main__":
    main()
