"""What to measure, as the page says it: numbers, several classes, survival with blocks, and nothing."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from report_problems import HOSTILE
from variegate.report import measure
from variegate.report.page import rendered
from variegate.tables import findings


def section(model, about=None):
    html = rendered(model.selection_, findings(model), about or {})
    return html.split('<section id="panel"')[1].split("</section>")[0]


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 5)), columns=list("abcde"))
    y = np.where(X["a"] > 0.5, "high", np.where(X["b"] > 0.3, "odd", "low"))
    return vg.DiverseClassifier(n_features_to_select=2, max_iter=4, tol=0.5, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def survival():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc")).assign(age=rng.normal(60, 8, size=90))
    for i, site in enumerate(("north", "south", "west")):
        X[f"site={site}"] = (np.arange(90) % 3 == i).astype(float)
    time = rng.exponential(np.exp(-X["a"] - 1.5 * X["site=west"]))
    y = vg.tasks.survival_rows(time, np.ones(90, dtype=bool))
    groups = {name: "site" for name in X if name.startswith("site=")}
    asked = {"always_include": ["age"], "groups": groups, "n_features_to_select": 2}
    return vg.DiverseSurvival(max_iter=4, tol=0.5, random_state=0, **asked).fit(X, y)


def test_each_column_has_the_class_that_it_moves_most(classes):
    panel = classes.panel_
    rows = measure.rule_rows(classes.selection_, panel)
    assert [row.feature for row in rows] == panel.members
    table = panel.coefficients.set_index(["outcome", "column"])
    for row in rows:
        found = table.loc[row.of_class, row.feature]
        assert (row.coefficient, row.lower, row.upper) == (found["coefficient"], found["low"], found["high"])
        assert abs(row.coefficient) == table.xs(row.feature, level="column")["coefficient"].abs().max()
    assert '<th scope="col">Class</th>' in section(classes)


def test_a_block_is_one_member_and_what_is_in_every_set_stands_beside(survival):
    found = measure.measured(survival.selection_, findings(survival))
    lines = {tuple(row.feature for row, _ in member.lines): member for member in found["members"]}
    assert set(lines) == {("a",), ("site=south", "site=west")} or set(lines) == {("a",), ("site=north", "site=west")}
    assert all(0 < member.panels <= found["n_panels"] for member in lines.values())
    (beside,) = found["beside"]
    assert [row.feature for row, _ in beside.lines] == ["age"]
    html = section(survival)
    assert html.count('rowspan="2"') in (3, 4)
    assert "log hazard" in html


def test_nothing_to_measure(fitted_as, rng):
    model = fitted_as(pd.DataFrame(rng.normal(size=(60, 6))), rng.normal(size=60))
    assert measure.sentences(model.selection_) == []
    assert "The panel is empty: the model predicts next to nothing" in text_of(section(model))


def test_a_budget_that_allows_nothing(data, fitted_as):
    model = fitted_as(*data)
    nothing = replace(model.selection_, chosen=np.empty(0, dtype=np.int64))
    html = rendered(nothing, findings(nothing), {"settings": {"budget": 2.0}})
    assert "The panel is empty: no feature that the budget allows" in text_of(html)
    assert "0, within a budget of 2<" in html
    assert "may be chance" not in html


def test_only_what_was_asked_for_is_called_the_most_probable_set(data, fitted_as):
    for choose in ("prediction", "probability"):
        said = text_of(section(fitted_as(*data, n_features_to_select=3, choose=choose)))
        assert ("they are the most probable set of 3" in said) == (choose == "probability")
        assert ("and so that they differ" in said) == (choose == "prediction")


@pytest.mark.parametrize("n", [1, 4])
def test_the_panel_itself_is_the_mark_of_the_curve(data, fitted_as, n):
    model = fitted_as(*data, n_features_to_select=n)
    found, panel = findings(model), model.panel_
    drawn = measure.curve(found.curve, n, found.enough)
    assert drawn.mark[2] == f"{n} feature{'s' * (n > 1)}: {measure.percent(panel.lost)} lost"
    assert len(drawn.points) == len(found.curve) - 1
    x, y = np.array([point.split(",") for point in drawn.line.split()], dtype=float).T
    assert (np.diff(x) > 0).all()
    assert y[0] < y[-1]  # all is lost at first, at the top
    assert (drawn.enough is None) == (found.enough in (n, None))


def test_names_are_tame(rng):
    X = pd.DataFrame(rng.normal(size=(60, len(HOSTILE))), columns=HOSTILE)
    model = vg.DiverseRegressor(n_features_to_select=12, max_iter=3, tol=0.5, random_state=0)
    html = section(model.fit(X, X.iloc[:, 0] - X.iloc[:, 1] + 0.1 * rng.normal(size=60)))
    assert not re.search(r"<script|<img|onerror=\"window", html)
