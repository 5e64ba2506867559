"""The report at M=2000: size of the file, time until the page is ready, and until a condition is answered."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import variegate as vg
from variegate.datasets import make_blocks

from .measure import milliseconds, table, versions

M, N, ROUNDS = 2000, 500, 10
PRECISE = 0.005  # Monte Carlo error of what the page is compared with
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def fitted() -> Any:
    data = make_blocks(N, M, n_true=12, rng=0)
    X = pd.DataFrame(data.X, columns=[f"GENE{i}" for i in range(M)])
    return vg.DiverseRegressor(random_state=0, tol=PRECISE, max_iter=3000).fit(X, data.y)


def in_the_browser(path: Path, model: Any) -> dict[str, list[float]]:
    """Seconds until ready, to the first answer to two exclusions and to the final one; reported and actual errors."""
    from playwright.sync_api import sync_playwright

    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise SystemExit("The benchmark of the report needs Chromium (apt-get install chromium).")
    found: dict[str, list[float]] = {"ready": [], "first": [], "settled": [], "error": [], "off": [], "truth": []}
    rng = np.random.default_rng(0)
    likely = np.argsort(-model.posterior_.inclusion_prob())[:40]
    with sync_playwright() as playwright:
        as_root = hasattr(os, "geteuid") and os.geteuid() == 0
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"] if as_root else [])
        for _ in range(3):
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            found["ready"].append(time.perf_counter() - start)
        for _ in range(ROUNDS):
            asked = rng.choice(likely, size=2, replace=False).tolist()
            if page.is_visible("#clear"):
                page.click("#clear")
            for unit in asked:
                page.fill("#search", f"GENE{unit}")
                page.press("#search", "Shift+Enter")
            page.wait_for_selector("#explorer[data-state=settled]", timeout=20_000)
            says = page.evaluate("({...document.getElementById('explorer').dataset})")
            for name, value in (("first", "first"), ("settled", "took")):
                found[name].append(float(says[value]) / 1e3)
            found["error"].append(float(says["error"]))
            while page.is_visible("#more"):
                page.click("#more")
            shown = page.eval_on_selector_all(
                "#others tbody tr",
                "rows => rows.map(r => [r.querySelector('bdi').textContent, +r.cells[2].dataset.value])",
            )
            conditioned = model.posterior_.condition(exclude=asked)
            truth = conditioned.inclusion_prob()
            found["truth"].append(float(conditioned.inclusion_errors().max()))
            found["off"].append(max(abs(p - truth[int(name[4:])]) for name, p in shown))
        browser.close()
    return found


def main() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit is cut short
        model = fitted()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        start = time.perf_counter()
        vg.write_report(path, model)
        writing, size = time.perf_counter() - start, path.stat().st_size
        found = in_the_browser(path, model)

    def shown(name: str) -> str:
        return f"{milliseconds(statistics.median(found[name]))} (slowest {milliseconds(max(found[name]))})"

    rows = [
        ["size of the file", f"{size / 1e6:.2f} MB", "3 MB"],
        ["written in", milliseconds(writing), ""],
        ["page ready", shown("ready"), "2 s"],
        ["first answer to two exclusions", shown("first"), "150 ms"],
        ["settled", shown("settled"), "1 s"],
        ["Monte Carlo error by then", f"{statistics.median(found['error']):.3f}", ""],
        ["Monte Carlo error of Python, largest", f"{max(found['truth']):.3f}", ""],
        ["off from Python, median", f"{statistics.median(found['off']):.3f}", ""],
        ["off from Python, largest", f"{max(found['off']):.3f}", "0.03"],
    ]
    return "\n\n".join(
        [
            "## The report",
            versions("numpy", "playwright"),
            f"M={M:,} features, 400 in the page, {len(model.selection_.chosen)} chosen; Chromium, two chains.",
            table(["", "measured", "bar"], rows),
        ]
    )
