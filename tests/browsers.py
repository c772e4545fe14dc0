"""A browser for tests that look at pages, and the sizes of its window."""

import shutil

import pytest

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DESKTOP, PHONE = {"width": 1100, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if EXECUTABLE is None:
        pytest.skip("needs Chromium: none of chromium, chromium-browser and google-chrome is there")
    with playwright.sync_playwright() as started:
        yield started.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox", "--disable-gpu"])
