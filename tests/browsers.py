"""A browser for tests that look at pages, and the sizes of its window."""

import shutil
from pathlib import Path

import pytest

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if EXECUTABLE is None:
        pytest.skip("needs Chromium: none of chromium, chromium-browser and google-chrome is there")
    with playwright.sync_playwright() as started:
        yield started.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox", "--disable-gpu"])


def contrasts(page):
    """Contrast of texts, and of lines of charts, with what is behind them: by WCAG, the lowest of each."""
    return page.evaluate(Path(__file__).with_name("contrasts.js").read_text(encoding="utf-8"))
