"""The Chromium of this machine."""

import os
import shutil
from contextlib import contextmanager

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
HOW_TO_GET_ONE = "no Chromium on this machine (apt-get install chromium)"


def find_browser() -> str | None:
    """Where it is; None if there is none."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


@contextmanager
def started_browser(path):
    """A browser without a window, closed afterwards."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        as_root = hasattr(os, "geteuid") and os.geteuid() == 0
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])
        yield browser
        browser.close()
