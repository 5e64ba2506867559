"""The report at M=2000, d=300: size of the file, time until the page is ready, and until a condition is answered."""

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

M, N, ROUNDS = 2000, 500, 15
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def fitted() -> Any:
    data = make_blocks(N, M, rng=0)
    X = pd.DataFrame(data.X, columns=[f"GENE{i}" for i in range(M)])
    model = vg.DiverseRegressor(max_iter=3, n_starts=1, slab_precision=10.0, expected_size=20, random_state=0)
    return model.fit(X, data.y)


def in_the_browser(path: Path, model: Any) -> dict[str, list[float]]:
    """Seconds until ready, for probabilities and best set after a click, and the largest error."""
    from playwright.sync_api import sync_playwright

    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise SystemExit("The benchmark of the report needs Chromium (apt-get install chromium).")
    found: dict[str, list[float]] = {"ready": [], "condition": [], "best set": [], "error": []}
    rng = np.random.default_rng(0)
    likely = np.argsort(-model.posterior_.inclusion_prob())[:40]
    with sync_playwright() as playwright:
        as_root = hasattr(os, "geteuid") and os.geteuid() == 0
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"] if as_root else [])
        for _ in range(5):
            page = browser.new_page()
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            found["ready"].append(time.perf_counter() - start)
        for _ in range(ROUNDS):
            a, b, *c = rng.choice(likely, size=4, replace=False).tolist()
            answer = page.evaluate(
                """([a, b]) => { const start = performance.now(); const p = variegate.page.condition(a, b);
                const middle = performance.now(); variegate.page.bestSet(20, a, b);
                return [[...p], middle - start, performance.now() - middle]; }""",
                [[a, b], c],
            )
            found["condition"].append(answer[1] / 1e3)
            found["best set"].append(answer[2] / 1e3)
            truth = model.posterior_.condition(include=[a, b], exclude=c).inclusion_prob()
            found["error"].append(float(np.abs(truth - answer[0]).max()))
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

    d = model.posterior_.q.phi.shape[1]
    rows = [
        ["size of the file", f"{size / 1e6:.2f} MB", "4 MB"],
        ["written in", milliseconds(writing), ""],
        ["page ready", shown("ready"), "2 s"],
        ["probabilities given two in and two out", shown("condition"), "100 ms"],
        ["best set of 20 given the same", shown("best set"), ""],
        ["largest error of these probabilities", f"{max(found['error']):.1e}", "1e-4"],
    ]
    return "\n\n".join(
        [
            "## The report",
            versions("numpy", "playwright"),
            f"M={M:,} candidates, {d} dimensions, {len(model.selection_.chosen)} chosen; headless Chromium.",
            table(["", "measured", "bar"], rows),
        ]
    )
