"""The page's figure of what diversity costs."""

import html
import re

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from variegate.report.frontier import frontier_chart


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(60, 3)), 2, axis=1) + 0.3 * rng.normal(size=(60, 6))
    y = X[:, 0] + X[:, 2] + 0.5 * rng.normal(size=60)
    frame = pd.DataFrame(X, columns=["a", "b<i>", "c", "d", "e", "f"])
    found = vg.frontier(frame, y, diversities=[0, 1, 8], sizes=[1, 3], methods=["omp"], cv=3, progress=False)
    return vg.DiverseRegressor(random_state=0).fit(frame, y), found


def test_every_point_is_on_the_page(problem, tmp_path):
    model, found = problem
    vg.write_report(tmp_path / "r.html", model, frontier=found)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count('class="pick') == len(found.points)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r'<tr id="point.*?</tr>', page)]
    told = [[html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in row] for row in rows]
    points = found.points
    assert [(row[0], int(row[1])) for row in told] == list(zip(points["method"], points["size"], strict=True))
    assert [float(row[3].split(" ")[0]) for row in told] == points["accuracy"].round(3).tolist()
    assert [tuple(row[5].split(", ")) for row in told] == points["names"].tolist()
    assert "<i>" not in page


def test_places_keep_the_order(problem):
    _, found = problem
    chart = frontier_chart(found)
    x, y = [mark.x for mark in chart.marks], [mark.y for mark in chart.marks]
    assert np.argsort(x, kind="stable").tolist() == found.points["log det"].argsort(kind="stable").tolist()
    assert np.argsort(y, kind="stable").tolist() == (-found.points["accuracy"]).argsort(kind="stable").tolist()
    assert chart.picked.features == found.recommended()["names"]


def test_sets_with_copies_are_in_the_table_only(problem):
    _, found = problem
    points = found.points.copy()
    points.loc[points["method"] == "omp", "log det"] = -np.inf
    chart = frontier_chart(vg.comparison.Frontier(points, found.table, found.metric, found.task))
    assert chart.lost == 2
    assert {mark.log_det for mark in chart.marks if mark.x is None} == {"−∞"}


@pytest.mark.real
def test_picking_a_point_shows_its_set(problem, open_report):
    model, found = problem
    report = open_report(model, frontier=found)
    last = len(found.points) - 1
    report.page.focus(f'.pick[data-point="{last}"]')
    report.page.keyboard.press("Enter")
    told = report.page.inner_text("#picked")
    assert told.startswith("omp")
    assert told.endswith(f"The set: {', '.join(found.points['names'][last])}.")
    assert report.page.get_attribute(f'.pick[data-point="{last}"]', "aria-pressed") == "true"
    assert report.quiet()
