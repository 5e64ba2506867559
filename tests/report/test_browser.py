"""The page in a real browser: what it shows is what Python computes, and nothing else happens."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from report_problems import HOSTILE, posterior_model

pytestmark = pytest.mark.real


def given(model, include=(), exclude=()):
    """Inclusion probabilities of q under conditions, by Python: the explorer conditions q, not the chain."""
    posterior = model.posterior_
    include, exclude = posterior.positions(list(include)), posterior.positions(list(exclude))
    q = posterior.q.condition(include=include, exclude=exclude)
    found = np.zeros(posterior.n_features)
    found[q.items], found[include] = q.inclusion_prob(), 1.0
    return found


def check_conditions(report, model, asked, tolerance=1e-4):
    for include, exclude in asked:
        found = report.condition(include, exclude)
        assert not isinstance(found, str), (include, exclude, found)
        np.testing.assert_allclose(
            found, given(model, include, exclude), atol=tolerance, err_msg=f"{include} {exclude}"
        )


def test_including_a_gene_changes_all_probabilities(open_report, model):
    report = open_report(model)
    before = report.shown()
    exact = model.posterior_.inclusion_prob()
    np.testing.assert_allclose([before[n] for n in model.posterior_.names], exact, atol=1e-12)
    np.testing.assert_allclose(given(model), exact, atol=0.002)  # q starts from the probabilities of the chain
    assert report.page.is_hidden("#rounded")
    assert "Once you set conditions it is an approximation" in report.page.inner_text("#explore")
    report.include("GENE5")
    expected = dict(zip(model.posterior_.names, given(model, ["GENE5"]), strict=True))
    shown = report.shown()
    assert "GENE5" not in shown
    assert len(shown) == len(expected) - 1
    assert max(abs(shown[name] - expected[name]) for name in shown) < 1e-4
    assert max(abs(shown[name] - before[name]) for name in shown) > 0.01  # it did matter
    status = report.page.inner_text("#status")
    assert "expected in a set" in status
    assert ("GENE5 are rare" in status) == (before["GENE5"] < 0.05)
    assert report.quiet()


def test_excluding_what_is_certain(open_report, model):
    certain = int(np.argmax(model.inclusion_probabilities_))
    assert model.inclusion_probabilities_[certain] > 0.999
    report = open_report(model)
    report.exclude(f"GENE{certain}")
    expected = dict(zip(model.posterior_.names, given(model, exclude=[certain]), strict=True))
    shown = report.shown()
    assert max(abs(shown[name] - expected[name]) for name in shown) < 1e-4
    assert max(abs(shown[name] - model.inclusion_probabilities_[int(name[4:])]) for name in shown) > 0.01
    status = report.page.inner_text("#status")
    assert f"without GENE{certain} are rare, and q knows little about them" in status
    assert "“What each one stands for”, above, has the answer of the data" in status
    stand = report.page.inner_text("#stands article")
    exact = model.posterior_.condition(exclude=[certain]).inclusion_prob()
    best = int(np.argmax(np.where(np.arange(len(exact)) // 4 == certain // 4, exact, 0)))
    assert exact[best] > shown[f"GENE{best}"] + 0.5  # so that the warning is due
    assert re.search(rf"GENE{best}\s+0\.9\d\s+\S+\s+{exact[best]:.2f}", stand)


def test_many_conditions(open_report, model, rng):
    report = open_report(model)
    M = model.n_features_in_
    asked = []
    for n_in, n_out in [(0, 1), (1, 0), (1, 1), (2, 0), (0, 3), (2, 2), (3, 5), (0, M // 2), (0, M)] * 3:
        order = rng.permutation(M)
        asked.append((order[:n_in], order[n_in : n_in + n_out]))
    check_conditions(report, model, asked)


def test_a_page_that_rounding_has_spoilt_says_so(open_report, model, tmp_path):
    report = open_report(model)
    text = (tmp_path / "report0.html").read_text(encoding="utf-8")
    spoilt = re.sub(r'("rho":")(.{32})', r"\1AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/", text)
    (tmp_path / "spoilt.html").write_text(spoilt, encoding="utf-8")
    report.page.goto((tmp_path / "spoilt.html").as_uri())
    report.page.wait_for_selector("html[data-ready]", state="attached")
    assert "off by up to" in report.page.inner_text("#rounded")


@pytest.mark.parametrize("strength", [1.0, 10.0, 60.0, 300.0])
def test_log_qualities_of_any_size(open_report, strength, rng):
    """Features that are all but certain, and exact and near-copies of them, stay exact to 1e-4."""
    phi = rng.normal(size=(30, 12))
    phi[10:14] = phi[:4]  # copies
    phi[14:18] = phi[4:8] + 0.1 * rng.normal(size=(4, 12))
    theta = rng.normal(size=30) - 1
    theta[:18] += rng.uniform(0, strength, size=18)
    model = posterior_model(phi, theta)
    report = open_report(model)
    asked = [([], [i]) for i in range(18)] + [([i], []) for i in range(30)]
    asked += [([], [0, 10]), ([1], [0, 10]), ([], range(10)), ([12], [2, 3]), ([20, 21], [4, 14])]
    check_conditions(report, model, asked)


def test_best_sets_are_as_good_as_those_of_python(open_report, model, rng):
    report = open_report(model)
    for n_in, n_out, size in [(0, 0, 3), (1, 0, 5), (0, 2, 5), (2, 2, 10), (0, 0, 20)]:
        order = rng.permutation(model.n_features_in_)
        include, exclude = order[:n_in].tolist(), order[n_in : n_in + n_out].tolist()
        found = report.page.evaluate("([k, a, b]) => variegate.page.bestSet(k, a, b)", [size, include, exclude])
        assert len(set(found)) == size
        assert set(include) <= set(found)
        assert not set(exclude) & set(found)
        q = model.posterior_.q.condition(include=include, exclude=exclude)
        rest = np.flatnonzero(np.isin(q.items, found))
        assert len(rest) == size - n_in
        assert q.log_prob(rest) > q.log_prob(q.map(size - n_in)) - 1e-3


def test_the_size_field_sets_the_size(open_report, model):
    report = open_report(model)
    report.page.fill("#size", "7")
    assert report.page.locator("#best li").count() == 7
    report.page.fill("#size", "")
    assert report.page.locator("#best li").count() == 1
    report.page.fill("#size", "999999")
    assert "impossible" in report.page.inner_text("#best-size") or report.page.locator("#best li").count() == 48
    assert report.quiet()


def test_the_export_is_what_is_shown(open_report, model):
    report = open_report(model)
    report.include("GENE5")
    report.exclude("GENE0")
    with report.page.expect_download() as waiting:
        report.page.click("#export")
    table = (
        pd.read_csv(waiting.value.path(), encoding="utf-8-sig").set_index("feature").loc[list(model.posterior_.names)]
    )
    np.testing.assert_allclose(table["probability"], model.posterior_.inclusion_prob(), atol=1e-12)
    np.testing.assert_allclose(table["conditional_probability"], given(model, ["GENE5"], ["GENE0"]), atol=1e-4)
    assert table["condition"].dropna().to_dict() == {"GENE5": "included", "GENE0": "excluded"}
    best = report.page.eval_on_selector_all("#best li bdi", "items => items.map(i => i.textContent)")
    assert sorted(table.index[table["in_best_set"]]) == sorted(best)


def test_impossible_wishes_get_a_kind_answer(open_report, rng):
    phi = rng.normal(size=(8, 5))
    phi[1], phi[2] = phi[0], 0.0  # a copy, and one that does not vary
    report = open_report(posterior_model(phi, np.zeros(8)))
    report.include("x0")
    report.include("x1")
    assert "copy" in report.page.inner_text("#status")
    assert report.page.locator("#conditions li").count() == 1
    report.page.click("#clear")
    report.include("x2")
    assert "never in a set" in report.page.inner_text("#status")
    assert report.page.locator("#conditions li").count() == 0
    assert report.quiet()


def test_mean_field_leaves_the_others_alone(open_report, data, fitted_as):
    model = fitted_as(*data, prior="bernoulli", posterior="bernoulli")
    report = open_report(model)
    report.include("GENE5")
    shown = report.shown()
    expected = model.posterior_.inclusion_prob()
    assert max(abs(shown[n] - expected[i]) for i, n in enumerate(model.posterior_.names) if n in shown) < 1e-12
    assert "All others stay as they were" in report.page.inner_text("#status")
    assert "The explorer treats features as independent" in report.page.inner_text("#explore")


def test_a_variational_fit_is_called_an_approximation(open_report, data, fitted_as):
    model = fitted_as(*data, solver="rao_blackwell", n_starts=1)
    report = open_report(model)
    text = report.page.inner_text("#explore")
    assert "which is an approximation with and without conditions" in text
    assert "Once you set conditions" not in text
    asked = [([], []), (["GENE5"], []), ([], ["GENE0"])]
    for include, exclude in asked:
        found = report.condition(*(model.posterior_.positions(list(names)) for names in (include, exclude)))
        expected = model.posterior_.condition(include=include, exclude=exclude).inclusion_prob()
        np.testing.assert_allclose(found, expected, atol=1e-4)
        np.testing.assert_allclose(given(model, include, exclude), expected, atol=1e-12)


def test_what_q_cannot_have_is_said(open_report, rng):
    """Two copies that are both in most sets, as when similarity knows less than the data: no DPP has that."""
    phi = np.zeros((3, 2))
    phi[:2, 0] = phi[2, 1] = 1.0
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=60)
    model = vg.DiverseRegressor(similarity=phi, prior="bernoulli", random_state=0).fit(X, y)
    assert model.inclusion_probabilities_[:2].min() > 0.9
    report = open_report(model)
    assert "without conditions q is off by up to 0." in report.page.inner_text("#explore")
    assert report.page.is_hidden("#rounded")


def test_a_fixed_size_says_what_it_cannot_do(open_report, data, fitted_as):
    model = fitted_as(*data, n_features_to_select=3, fixed_size=True)
    report = open_report(model)
    report.include("GENE5")
    assert "not computed in the page" in report.page.inner_text("#explore")
    shown, exact = report.shown(), model.posterior_.inclusion_prob()
    assert max(abs(shown[n] - p) for n, p in zip(model.posterior_.names, exact, strict=True) if n in shown) < 1e-12
    names = report.page.eval_on_selector_all("#best li bdi", "items => items.map(i => i.textContent)")
    assert len(names) == 3
    assert "GENE5" in names


def test_groups_and_columns_always_in(open_report, data, fitted_as):
    X, y = data
    groups = [f"g{i // 2}" for i in range(X.shape[1])]
    model = fitted_as(X, y, groups=groups, always_include=["GENE46", "GENE47"])
    report = open_report(model)
    assert "In every set" in report.page.inner_text("#chosen")
    check_conditions(report, model, [([3], []), ([], [0]), ([2], [0, 1])])
    assert next(iter(report.shown())) in list(model.posterior_.names)


def test_keyboard_only(open_report, model):
    report = open_report(model)
    page = report.page
    page.focus("#search")
    page.keyboard.type("gene1")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Include GENE1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.text_content("#conditions li") == "without GENE1×"
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Take back GENE1"
    page.keyboard.press("Space")
    assert page.locator("#conditions li").count() == 0
    assert report.quiet()


def test_acting_in_the_table_stays_in_the_table(open_report, model):
    report = open_report(model)
    page = report.page
    page.locator("#others tbody tr:nth-child(3) button").first.click()
    assert page.locator("#conditions li").count() == 1
    assert page.evaluate("document.activeElement.closest('tr')?.rowIndex") == 3
    assert page.evaluate("document.activeElement.textContent") == "+"
    assert report.quiet()


def test_matches_fit_a_phone(open_report, model):
    report = open_report(model, viewport={"width": 390, "height": 800})
    report.page.fill("#search", "gene1")
    tops = report.page.eval_on_selector_all(
        "#matches li:first-child button", "found => found.map(b => b.getBoundingClientRect().top)"
    )
    assert len(tops) == 2
    assert tops[0] == tops[1]


def test_everything_to_operate_has_a_name_and_a_visible_focus(open_report, model):
    report = open_report(model)
    report.page.fill("#search", "gene")
    unnamed = report.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, a[href]")].filter((e) => !(
             e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    assert report.page.evaluate("document.getElementById('status').getAttribute('aria-live')") == "polite"
    headings = report.page.eval_on_selector_all("h1, h2, h3", "found => found.map(h => +h.tagName[1])")
    assert headings[0] == 1
    assert max(np.diff(headings)) <= 1


# texts whose contrast with what is behind them is below 4.5 (WCAG AA)
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const rgb = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const weights = [0.2126, 0.7152, 0.0722];
  const light = (c) => c.reduce((sum, v, i) => sum + weights[i] * linear(v / 255), 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return rgb(colour);
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest("svg, script")) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push([e.textContent.trim().slice(0, 40), ratio]);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_contrast_and_width(open_report, model, scheme, width):
    report = open_report(
        model, about={"warnings": ["look out"]}, color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    report.page.fill("#search", "gene")
    report.include("GENE5")
    assert report.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert report.quiet()
    assert report.page.evaluate(CONTRAST) == []


def test_hostile_names_neither_run_nor_break_anything(open_report, data, fitted_as):
    X, y = data
    names = [*HOSTILE, *X.columns[len(HOSTILE) :]]
    model = fitted_as(X.set_axis(names, axis=1), y)
    about = {
        "command": HOSTILE[0],
        "settings": {name: name for name in HOSTILE},
        "data": {"outcome": HOSTILE[0], "path": HOSTILE[2], "notes": HOSTILE, "hash": HOSTILE[1]},
        "warnings": HOSTILE,
        "versions": {HOSTILE[0]: HOSTILE[0]},
    }
    comparison = pd.DataFrame(
        [(r, name, m, 0.5 + 0.01 * r) for r in range(3) for name in HOSTILE[:4] for m in ("R2", "log det")],
        columns=["repeat", "method", "metric", "value"],
    )
    report = open_report(model, about=about, comparison=comparison, viewport={"width": 390, "height": 800})
    assert report.page.evaluate("window.stolen") is None
    assert report.page.evaluate("document.querySelectorAll('img, iframe, object, [onerror], [onload]').length") == 0
    assert report.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for unit in range(len(HOSTILE)):
        found = report.condition([unit], [])
        np.testing.assert_allclose(found, given(model, [unit]), atol=1e-4)
    report.include(HOSTILE[0])
    assert report.page.inner_text("#conditions li bdi") == HOSTILE[0]
    with report.page.expect_download() as waiting:
        report.page.click("#export")
    text = waiting.value.path().read_text(encoding="utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 1 + len(names)
    assert not any(row[0].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
    assert {row[0].removeprefix("'") for row in rows[1:]} >= {n for n in HOSTILE if n.isprintable()}
    assert report.quiet()


def test_the_policy_stops_what_is_not_ours(open_report, model):
    report = open_report(model)
    report.page.evaluate(
        """() => { const script = document.createElement("script");
        script.textContent = "window.stolen = 1"; document.body.append(script); }"""
    )
    with report.page.expect_event("requestfailed") as stopped:
        report.page.evaluate("() => { new Image().src = 'https://example.org/x.png'; }")
    assert stopped.value.failure == "csp"
    assert report.page.evaluate("window.stolen") is None
    assert sum("Content Security Policy" in line for line in report.complaints) == 2


def test_a_loaded_model_gives_the_same_page(open_report, model, tmp_path):
    vg.save(model, tmp_path / "fit.vg")
    report = open_report(vg.load(tmp_path / "fit.vg"))
    report.include("GENE5")
    expected = given(model, ["GENE5"])
    shown = report.shown()
    assert max(abs(shown[n] - p) for n, p in zip(model.posterior_.names, expected, strict=True) if n in shown) < 1e-4


def test_large_pages_stay_small_and_quick(open_report, rng, tmp_path):
    """M=2000, d=300: under 4 MB, and a condition costs some passes over the factor; benchmarks/report.py has times."""
    phi = rng.normal(size=(2000, 300)) / np.sqrt(300)
    theta = rng.normal(size=2000) - 7
    theta[:20] += 17
    model = posterior_model(phi, theta)
    report = open_report(model)
    assert (tmp_path / "report0.html").stat().st_size < 4e6
    report.include("x7")
    report.exclude("x3")
    work = report.page.evaluate("+document.getElementById('explorer').dataset.work")
    assert work < 40 * phi.size
    check_conditions(report, model, [([7], [3]), ([100, 7], [0, 1])])


def test_more_candidates_than_fit_in(open_report, rng):
    phi = rng.normal(size=(5000, 8)) / np.sqrt(8)
    theta = rng.normal(size=5000) - 8
    model = posterior_model(phi, theta)
    report = open_report(model)
    assert "4,000 most probable of 5,000" in report.page.inner_text("#explore")
    kept = report.page.evaluate("JSON.parse(document.getElementById('data').textContent).positions")
    assert len(kept) == 4000
    found = report.condition([5], [7])
    np.testing.assert_allclose(found, given(model, [kept[5]], [kept[7]])[kept], atol=1e-4)
    assert report.quiet()


@pytest.mark.parametrize("n", [1, 2])
def test_very_few_candidates(open_report, rng, n):
    model = posterior_model(rng.normal(size=(n, 3)), np.full(n, 2.0))
    report = open_report(model)
    report.include("x0")
    assert report.page.locator("#conditions li").count() == 1
    check_conditions(report, model, [([0], []), ([], [0]), ([], list(range(n)))])
    assert report.quiet()
