"""The report at M=2000: size of the file, time until the page is ready, and until a condition is answered."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import variegate as vg
from variegate.datasets import make_blocks

from .measure import milliseconds, table, versions

M, N, ROUNDS = 2000, 500, 10
PRECISE = 0.005  # Monte Carlo error of what the page is compared with,
PRECISE_CLASSES = 0.015  # and of two classes, where it takes a minute for each condition
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def fitted() -> Any:
    data = make_blocks(N, M, n_true=12, rng=0)
    return vg.DiverseRegressor(random_state=0, tol=PRECISE, max_iter=3000).fit(_named(data.X), data.y)


def fitted_classes() -> Any:
    """Two classes and six features, most of which nearly every set has."""
    data = make_blocks(N, M, n_true=6, correlation=0.8, snr=4.0, task="classification", rng=0)
    return vg.DiverseClassifier(random_state=0, tol=PRECISE_CLASSES, max_iter=3000).fit(_named(data.X), data.y)


def _named(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"GENE{i}" for i in range(M)])


def pairs(model: Any) -> list[list[int]]:
    """Ten random pairs of the forty most probable features."""
    rng, likely = np.random.default_rng(0), np.argsort(-model.posterior_.inclusion_prob())[:40]
    return [rng.choice(likely, size=2, replace=False).tolist() for _ in range(ROUNDS)]


def certain(model: Any) -> list[list[int]]:
    """Each of the five most probable features, and all pairs of them."""
    likely = np.argsort(-model.posterior_.inclusion_prob())[:5].tolist()
    return [*([m] for m in likely), *map(list, combinations(likely, 2))]


def in_the_browser(path: Path, model: Any, exclusions: list[list[int]]) -> dict[str, list[float]]:
    """Seconds until ready, until the first and the final answer to exclusions; reported and actual errors."""
    from playwright.sync_api import sync_playwright

    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise SystemExit("The benchmark of the report needs Chromium (apt-get install chromium).")
    names = ("ready", "first", "settled", "error", "off", "truth", "rough")
    found: dict[str, list[float]] = {name: [] for name in names}
    with sync_playwright() as playwright:
        as_root = hasattr(os, "geteuid") and os.geteuid() == 0
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"] if as_root else [])
        page = browser.new_page()
        for _ in range(3):
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            found["ready"].append(time.perf_counter() - start)
        for asked in exclusions:
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
            found["rough"].append("Rough" in page.inner_text("#status"))
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


def written(model: Any, exclusions: list[list[int]]) -> tuple[float, int, dict[str, list[float]]]:
    """Seconds to write the page, its size, and its measurements in the browser."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        start = time.perf_counter()
        vg.write_report(path, model)
        seconds, size = time.perf_counter() - start, path.stat().st_size
        return seconds, size, in_the_browser(path, model, exclusions)


def rows_of(writing: float, size: int, found: dict[str, list[float]], asked: str, bar: str) -> list[list[str]]:
    def shown(name: str) -> str:
        return f"{milliseconds(statistics.median(found[name]))} (slowest {milliseconds(max(found[name]))})"

    return [
        ["size of the file", f"{size / 1e6:.2f} MB", "3 MB"],
        ["written in", milliseconds(writing), ""],
        ["page ready", shown("ready"), "2 s"],
        [f"first answer to {asked}", shown("first"), "150 ms"],
        ["settled", shown("settled"), "1 s"],
        ["Monte Carlo error by then", f"{statistics.median(found['error']):.3f}", ""],
        ["Monte Carlo error of Python, largest", f"{max(found['truth']):.3f}", ""],
        ["off from Python, median", f"{statistics.median(found['off']):.3f}", ""],
        ["off from Python, largest", f"{max(found['off']):.3f}", bar],
        ['called "rough"', f"{sum(found['rough'])} of {len(found['rough'])}", ""],
    ]


def main() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit is cut short
        model, classes = fitted(), fitted_classes()
    numbers = rows_of(*written(model, pairs(model)), "two exclusions", "0.03")
    asked = [*certain(classes), *pairs(classes)[:5], np.argsort(-classes.posterior_.inclusion_prob())[:3].tolist()]
    seconds, size, found = written(classes, asked)
    three = {name: found[name].pop() for name in ("first", "settled", "error", "off", "truth", "rough")}
    of_classes = rows_of(seconds, size, found, "one or two exclusions", "0.06")
    head = ["", "measured", "bar"]
    return "\n\n".join(
        [
            "## The report",
            versions("numpy", "playwright"),
            f"M={M:,} features, 400 in the page, {len(model.selection_.chosen)} chosen; Chromium, two chains.",
            table(head, numbers),
            f"Two classes, {len(classes.selection_.chosen)} chosen, without each of the five most probable features, "
            "without each pair of them, and five times without two of the forty most probable ones:",
            table(head, of_classes),
            f"Without three of them it is off by {three['off']:.2f}, and "
            + ('calls its answer "rough".' if three["rough"] else "does not say so."),
        ]
    )
