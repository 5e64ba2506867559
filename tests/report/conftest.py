"""Small fitted models, and a browser to open their reports in."""

import warnings

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from browsers import HOW_TO_GET_ONE, find_browser, started_browser


def blocks(rng, n_rows=80, n_blocks=12, of=4, noise=0.15):
    """Near-copies in blocks; features 0, 4 and 8 matter, 0 so much that it is certain."""
    Z = rng.normal(size=(n_rows, n_blocks))
    X = np.repeat(Z, of, axis=1) + noise * rng.normal(size=(n_rows, n_blocks * of))
    y = 4 * X[:, 0] + 0.5 * X[:, of] - 0.4 * X[:, 2 * of] + rng.normal(size=n_rows)
    return pd.DataFrame(X, columns=[f"GENE{i}" for i in range(X.shape[1])]), y


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short fits, and empty sets, say so
        kind = vg.DiverseClassifier if y.dtype.kind in "OU" else vg.DiverseRegressor
        return kind(random_state=0, **options).fit(X, y)


@pytest.fixture(scope="session")
def data():
    return blocks(np.random.default_rng(3))


@pytest.fixture(scope="session")
def model(data):
    return fitted(*data)


@pytest.fixture(scope="session")
def browser():
    found = find_browser()
    if found is None:
        pytest.skip(f"{HOW_TO_GET_ONE}: the report is not tested in a browser")
    with started_browser(found) as started:
        yield started


class Opened:
    """A report in a browser, with what it asked of the network and what it complained about."""

    def __init__(self, browser, path, before=None, ready=True, **options):
        self.context = browser.new_context(accept_downloads=True, **options)
        if before:
            self.context.add_init_script(before)
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda r: r.url.startswith("blob:") or self.requests.append(r.url))  # its own workers
        self.page.on("console", lambda m: self.complaints.append(m.text))
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("dialog", lambda d: (self.complaints.append(d.message), d.dismiss()))
        self.page.goto(path.as_uri())
        if ready:
            self.page.wait_for_selector("html[data-ready]", state="attached")
        self.requests.remove(path.as_uri())

    def include(self, name):
        self.page.fill("#search", name)
        self.page.press("#search", "Enter")

    def exclude(self, name):
        self.page.fill("#search", name)
        self.page.press("#search", "Shift+Enter")

    def shown(self):
        """{name: probability} in the table of the explorer, to the last digit."""
        while self.page.is_visible("#more"):
            self.page.click("#more")
        rows = self.page.eval_on_selector_all(
            "#others tbody tr",
            "rows => rows.map(r => [r.querySelector('bdi').textContent, +r.cells[2].dataset.value])",
        )
        return dict(rows)

    def until(self, holds):
        """Wait until an expression holds; the policy forbids Playwright's own way, which evaluates text."""
        for _ in range(200):
            if self.page.evaluate(holds):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{holds} does not hold: {self.page.inner_text('#explore')}")

    def settle(self):
        """Wait until the chains of the page have answered."""
        self.page.wait_for_selector("#explorer[data-state=settled]", timeout=20_000)

    def condition(self, include=(), exclude=()):
        """{name: probability} under conditions, asked as a reader would."""
        if self.page.is_visible("#clear"):
            self.page.click("#clear")
        for name in include:
            self.include(name)
        for name in exclude:
            self.exclude(name)
        self.settle()
        return self.shown()

    def quiet(self):
        return not self.requests and not self.complaints


@pytest.fixture
def open_report(browser, tmp_path):
    opened = []

    def open_(model, about=None, comparison=None, frontier=None, **options):
        path = tmp_path / f"report{len(opened)}.html"
        vg.write_report(path, model, about=about, comparison=comparison, frontier=frontier)
        opened.append(Opened(browser, path, **options))
        return opened[-1]

    yield open_
    for report in opened:
        report.context.close()


@pytest.fixture(scope="session")
def fitted_as():
    return fitted
