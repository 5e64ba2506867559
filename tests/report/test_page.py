"""The file itself: whole, self-contained, escaped, and honest where care is due."""

import base64
import json
import re
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from report_problems import HOSTILE, posterior_model
from variegate.report import names
from variegate.report.charts import column_spreads
from variegate.report.content import selection_rows
from variegate.report.page import SCRIPTS, escaped_json, rendered
from variegate.tables import findings


def page_of(model, about, comparison):
    return rendered(model.selection_, findings(model), about, comparison)


@pytest.fixture(scope="module")
def html(model):
    return page_of(model, {}, None)


def embedded(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def text_of(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.split("<main>")[1].split("<script")[0]))


def test_the_policy_names_each_script_and_the_style_by_hash(html):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        inline = re.findall(rf"<{tag}(?: class=\"chain\")?>(.*?)</{tag}>", html, re.DOTALL)
        hashes = [f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'" for text in inline]
        assert inline
        assert rules[rule].split() == hashes


def test_nothing_outside_of_the_file_is_named(html):
    assert (
        re.findall(r"""(?:src|href|action|url)\s*[=(]\s*["']?(?!#|data:,)[^>"'\s]+""", html.split("<script")[0]) == []
    )
    assert not re.search(r"<(iframe|object|embed|form|img|base)\b", html)
    assert not re.search(r"\s(on\w+|style)=", html.split("<script")[0])


def test_scripts_put_text_in_as_text():
    import importlib.resources

    for name in SCRIPTS:
        source = importlib.resources.files("variegate.report").joinpath(name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|</script", source
        )


@pytest.mark.parametrize("value", [*HOSTILE, "\u2028\u2029", "\ud800"])
def test_json_may_stand_inside_a_script_element(value):
    text = escaped_json({"names": [value]})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"names": [value]}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_short_and_tame(name):
    shown = names.shortened(name)
    assert 0 < len(shown) <= names.SHOWN
    assert shown.isprintable()
    inside = str(names.tag(name))
    assert re.fullmatch(r"<bdi(?: title=\"[^\"<>]*\")?>[^<>]*</bdi>", inside)


def test_a_lone_surrogate_does_not_stop_the_file(tmp_path, rng):
    model = posterior_model(rng.normal(size=(5, 4)), np.zeros(5))
    model.selection_.posterior.names[0] = "broken \ud800 name"
    vg.write_report(tmp_path / "r.html", model, about={"data": {"outcome": "\ud800"}})
    assert (tmp_path / "r.html").read_text(encoding="utf-8").endswith("</html>")


def test_the_data_are_those_of_the_model(html, model):
    data = embedded(html)
    assert data["names"] == list(model.selection_.posterior.names)
    assert data["probability"] == model.selection_.posterior.inclusion_prob().tolist()
    assert data["form"]["probable"] == model.posterior_.map().tolist()


def test_no_row_of_the_table_is_in_the_page(model, html):
    values = np.asarray(model.selection_.training.X).ravel()[:50]
    assert not any(repr(float(v)) in html for v in values)


def test_what_was_asked_and_how_to_repeat_it(model):
    about = {
        "command": ["variegate", "select", "genes.csv"],
        "settings": {"seed": 7},
        "data": {"path": "genes.csv", "hash": "sha256:abc", "outcome": "relapse", "notes": ["two rows dropped"]},
        "versions": {"numpy": "2.1"},
        "seed": 7,
        "seconds": 12.34,
        "warnings": ["something odd"],
    }
    text = text_of(page_of(model, about, None))
    for expected in (
        "variegate select genes.csv",
        "sha256:abc",
        "relapse",
        "two rows dropped",
        "12.3 s",
        "something odd",
    ):
        assert expected in text
    assert "Batmanghelich" in text


def facts_of(html):
    return dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", html))


@pytest.mark.parametrize("screen", [None, 4])
@pytest.mark.parametrize("always", [None, ["age", "site"]])
def test_each_column_is_counted_once(fitted_as, rng, always, screen):
    """Nine columns vary, two are constant, one of the three of a category is its reference."""
    X = pd.DataFrame(rng.normal(size=(60, 8)), columns=list("abcdefgh"))
    X["age"] = rng.normal(size=60)
    for i, value in enumerate(("north", "south", "west")):
        X[f"site={value}"] = (np.arange(60) % 3 == i).astype(float)
    X["zero"], X["one"] = 0.0, 1.0
    y = X["a"] + X["site=west"] + 0.1 * rng.normal(size=60)
    groups = {name: "site" for name in X if name.startswith("site=")}
    model = fitted_as(X, y.to_numpy(), groups=groups, always_include=always, screen=screen)
    facts = facts_of(page_of(model, {}, None))
    candidates = model.selection_.candidates
    forced = 3 if always else 0  # the age and two values of the site
    left_out = 0 if screen is None else model.selection_.certificate.left_out
    assert (left_out > 0) == (screen is not None)
    assert facts.get("Constant, never chosen") == "2"
    assert facts.get("Most common values of categories, to which the others are compared") == "1"
    assert facts.get("In every set, as requested", "0") == str(forced)
    assert facts.get("Screened out beforehand", "0") == str(left_out)
    assert len(candidates.columns) == 14 - 2 - 1 - forced - left_out


def test_columns_of_the_same_name_keep_their_own_groups_and_effects(fitted_as, rng):
    """Two columns called gene: one is certain, the other hardly matters and varies a thousand times as much."""
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=["gene", "gene", "b", "c"])
    X.iloc[:, 1] *= 1000
    selection = fitted_as(X.to_numpy(), 2 * X.to_numpy()[:, 0] + 0.5 * rng.normal(size=80)).selection_
    selection = replace(selection, names=X.columns.to_numpy(dtype=object))
    rows = {row.column: row for row in selection_rows(findings(selection).selection, selection)}
    for column in (0, 1):
        assert rows[column].feature == "gene"
        assert rows[column].group is None or rows[column].group.positions.tolist() == [column]
    assert rows[0].group.probability > 0.99
    assert (rows[1].group is None) or rows[1].group.probability < 0.5
    spreads = column_spreads(selection)
    assert [round(np.log10(spreads[column])) for column in (0, 1)] == [0, 3]


def test_the_comparison_is_shown(model):
    rows = [
        (r, method, metric, value + 0.01 * r)
        for r in range(4)
        for method, value in (("variegate", 0.8), ("lasso", 0.7))
        for metric in ("R2", "log det", "MSE")
    ]
    table = pd.DataFrame(rows, columns=["repeat", "method", "metric", "value"])
    table.loc[0, "value"] = -np.inf
    html = page_of(model, {}, table)
    assert "lasso" in html.split('id="compared"')[1]
    assert "0.715 ± 0.013" in html
    assert "4 times" in text_of(html)
    assert "1 infinite" in html
    with pytest.raises(ValueError, match=r"compare\(...\).table"):
        page_of(model, {}, table.drop(columns="metric"))


def test_no_comparison_no_section(html):
    assert 'id="compared"' not in html


def test_an_empty_set_is_said_first(data, fitted_as, rng):
    X, _ = data
    model = fitted_as(X.iloc[:, :6], rng.normal(size=len(X)), expected_size=0.2, slab_precision=10.0)
    assert not len(model.selection_.chosen)
    text = text_of(page_of(model, {}, None))
    assert text.index("The panel is empty") < text.index("What was asked")
    assert "hardly support any feature" in text


def test_unbalanced_classes_and_several_of_them(data, fitted_as):
    X, y = data
    X = X.iloc[:, :8]
    classes = np.where(y > np.quantile(y, 0.95), "rare", np.where(y > np.median(y), "high", "low")).astype(object)
    model = fitted_as(X, classes, expected_size=2, slab_precision=1.0, max_iter=3)
    text = text_of(page_of(model, {}, None))
    assert "unbalanced: only 4 rows (5%) are “rare”" in text
    assert "Class" in text


def test_a_fit_cut_short_says_so(data, fitted_as):
    model = fitted_as(*data, max_iter=2, tol=0.001)
    assert not model.converged_
    text = text_of(page_of(model, {}, None))
    assert text.index("larger than requested") < text.index("What was asked")
    assert "stopped after 2 laps" in text


def test_words_of_exact_probabilities(html):
    exact = text_of(html)
    assert "computed without approximation" in exact
    assert "Largest Monte Carlo error of a probability" in exact
    assert "or better (two Monte Carlo errors)" in exact.split("What is behind it?")[1].split("The effect")[0]


def test_an_unfitted_model_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="fit"):
        vg.write_report(tmp_path / "r.html", vg.DiverseRegressor())
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_fails_leaves_the_old_one(tmp_path, model):
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="comparison"):
        vg.write_report(path, model, comparison=pd.DataFrame({"a": [1]}))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
