"""The page in a real browser: what it shows is what Python computes, and nothing else happens."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import variegate as vg
from report_problems import HOSTILE

pytestmark = pytest.mark.real
FIXED = {"average_size": False, "average_slab": False}


SURE = {"tol": 0.005, "max_iter": 2000}  # so that Python's own error does not count


@pytest.fixture(scope="module")
def precise(data, fitted_as):
    return fitted_as(*data, **SURE)


def of_two_classes(n_rows, of):
    """Near-copies in blocks of `of`."""
    rng = np.random.default_rng(2)
    effects = np.array([1.5, -1.2, 1.0, 0.8, 0.5, 0.4, 0, 0][: 4 if of == 2 else 8])
    Z = rng.normal(size=(n_rows, len(effects)))
    X = np.repeat(Z, of, axis=1) + 0.3 * rng.normal(size=(n_rows, of * len(effects)))
    y = np.where(Z @ effects + rng.logistic(size=n_rows) > 0, "ill", "well")
    return pd.DataFrame(X, columns=[f"GENE{i}" for i in range(X.shape[1])]), y.astype(object)


@pytest.fixture(scope="module")
def classes(fitted_as):
    return fitted_as(*of_two_classes(120, of=2), tol=0.01, max_iter=2000)


@pytest.fixture(scope="module")
def many_classes(fitted_as):
    return fitted_as(*of_two_classes(200, of=4), tol=0.01, max_iter=4000)


def off(shown, posterior):
    """The largest difference between what a page shows and a posterior."""
    p = dict(zip(posterior.names, posterior.inclusion_prob(), strict=True))
    return max(abs(shown[name] - p[name]) for name in shown)


def test_the_explorer_starts_from_the_table(open_report, model):
    report = open_report(model)
    assert off(report.shown(), model.selection_.posterior) < 1e-12
    assert "expected in a set" in report.page.inner_text("#status")
    assert report.quiet()


CONDITIONS = [(0, 1), (1, 0), (1, 1), (0, 2), (1, 0), (0, 3), (1, 2), (1, 1), (0, 1), (0, 2)]  # included, excluded


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [("precise", 0.03), ("classes", 0.06), pytest.param("many_classes", 0.06, marks=pytest.mark.slow)],
)
def test_conditions_are_answered_by_the_posterior(open_report, request, kind, tolerance):
    posterior, rng = request.getfixturevalue(kind).selection_.posterior, np.random.default_rng(0)
    report = open_report(request.getfixturevalue(kind))
    for n_in, n_out in CONDITIONS:
        some = rng.permutation(posterior.names)
        include, exclude = some[:n_in].tolist(), some[n_in : n_in + n_out].tolist()
        shown = report.condition(include, exclude)
        assert len(shown) == len(posterior.names) - n_in - n_out
        assert off(shown, posterior.condition(include, exclude)) < tolerance, (include, exclude)
    assert float(report.page.get_attribute("#explorer", "data-error")) < 0.02
    assert "Known to ±0.0" in report.page.inner_text("#status")
    assert report.quiet()


# the largest difference, over the members of a set, between log-odds without one and those after its removal
LEFT_OUT = """() => {
  const form = variegate.open(JSON.parse(document.getElementById("data").textContent).form);
  const odds = (state) => Array.from(state.logOdds, (x, m) => x + Math.log(state.factor[m]));
  const differences = [0, 3, 6, 9].map((m, _, set) => {
    const state = new variegate.State(form, [], []);
    set.forEach((h) => state.add(h));
    state.fillOdds(m);
    const left = odds(state);
    state.remove(m);
    state.fillOdds();
    return odds(state).map((x, h) => (x === left[h] ? 0 : Math.abs(x - left[h])));
  });
  return Math.max(...differences.flat());
}"""


@pytest.mark.parametrize("options", [{}, {"groups": [f"g{i // 3}" for i in range(48)]}], ids=["columns", "blocks"])
def test_leaving_a_member_out_is_removing_it(open_report, data, fitted_as, options):
    report = open_report(fitted_as(*data, max_iter=1, **options))
    assert report.page.evaluate(LEFT_OUT) < 1e-8


def test_chains_that_disagree_are_not_certain(open_report, model):
    report = open_report(model)
    merged = (
        "(a, b) => variegate.merged([a, b].map((p) => ({sum: [40 * p, 20], squares: [40 * p * p, 10.1], count: 40})))"
    )
    error = report.page.evaluate(f"([a, b]) => ({merged})(a, b).error", [0.3, 0.7])
    assert error == pytest.approx(0.2)
    assert report.page.evaluate(f"([a, b]) => ({merged})(a, b).error", [0.5, 0.5]) < 0.01


@pytest.mark.parametrize("out", [["GENE0"], ["GENE0", "GENE2"]])
def test_without_certain_features_classes_have_a_form_of_their_own(open_report, fitted_as, out):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(150, 7)), columns=[f"GENE{i}" for i in range(7)])
    X["GENE1"] = 0.7 * (X["GENE0"] + X["GENE1"])
    y = np.where(4 * X["GENE0"] + 3 * X["GENE2"] + X["GENE3"] + rng.logistic(size=150) > 0, "ill", "well")
    model = fitted_as(X, y.astype(object), tol=0.01, max_iter=2000)
    report = open_report(model)
    assert off(report.condition([], out), model.selection_.posterior.condition(exclude=out)) < 0.06
    assert "Rough" not in report.page.inner_text("#status")
    assert report.quiet()


def test_it_says_where_the_approximation_is_rough(open_report, classes):
    """Without a block that explains much, sets are unlike those that the form was fitted to."""
    report = open_report(classes)
    report.condition([], ["GENE0"])  # GENE1 takes its place
    assert "Rough" not in report.page.inner_text("#status")
    report.condition([], ["GENE0", "GENE1"])
    assert "Rough: with this choice" in report.page.inner_text("#status")


def test_diversity_is_the_power_of_the_volume(open_report, data, fitted_as):
    X, y = data
    phi = np.eye(5)
    phi[2, 1] = 3.0  # GENE8 is called like GENE4
    models = [fitted_as(X.iloc[:, ::4].iloc[:, :5], y, similarity=phi, diversity=power) for power in (3.0, 1.0)]
    report, (cubed, plain) = open_report(models[0]), [model.selection_.posterior for model in models]
    for include, exclude in ((["GENE4"], []), (["GENE8"], ["GENE0"]), ([], ["GENE4"])):
        shown = report.condition(include, exclude)
        assert off(shown, cubed.condition(include, exclude)) < 0.02  # all sets are summed there
    assert off(report.condition(["GENE4"]), plain.condition(["GENE4"])) > 0.1


def test_without_workers_the_page_computes_by_itself(open_report, precise):
    report = open_report(precise, before="delete window.Worker")
    shown = report.condition([], ["GENE4"])
    assert off(shown, precise.selection_.posterior.condition(exclude=["GENE4"])) < 0.03
    assert report.quiet()


def test_without_a_certain_feature_its_copies_come_up(open_report, precise):
    p = precise.selection_.posterior.inclusion_prob()
    certain = int(np.argmax(p))
    assert p[certain] > 0.999
    report = open_report(precise)
    shown = report.condition([], [f"GENE{certain}"])
    exact = precise.selection_.posterior.condition(exclude=[certain])
    assert off(shown, exact) < 0.03
    best = int(np.argmax(np.where(np.arange(len(p)) // 4 == certain // 4, exact.inclusion_prob(), 0)))
    assert shown[f"GENE{best}"] > 0.5
    assert f"Rises most: GENE{best}" in report.page.inner_text("#status")


def test_best_sets_are_as_good_as_those_of_python(open_report, precise, rng):
    report, posterior = open_report(precise), precise.selection_.posterior
    for n_in, n_out, size in [(0, 0, 3), (1, 0, 5), (0, 2, 5), (2, 2, 8)]:
        some = rng.permutation(posterior.names)
        include, exclude = some[:n_in].tolist(), some[n_in : n_in + n_out].tolist()
        report.page.fill("#size", str(size))
        report.condition(include, exclude)
        report.until(f"document.querySelectorAll('#best li').length === {size}")
        found = report.page.eval_on_selector_all("#best li bdi", "items => items.map(i => i.textContent)")
        best = posterior.condition(include, exclude).map(size)
        value = posterior.target.log_joint(np.sort(posterior.positions(found)))
        assert value > posterior.target.log_joint(best) - 0.05
        assert set(include) <= set(found)
        assert not set(exclude) & set(found)


def test_the_first_set_is_the_most_probable_one(open_report, precise):
    report, probable = open_report(precise), precise.posterior_.map()
    n = len(probable)
    report.until(f"document.querySelectorAll('#best li').length === {n}")
    found = report.page.eval_on_selector_all("#best li bdi", "items => items.map(i => i.textContent)")
    assert sorted(found) == sorted(precise.posterior_.names[probable])


def test_the_size_field_sets_the_size(open_report, model):
    report = open_report(model)
    for text, size in (("7", 7), ("", 1), ("999999", 48)):
        report.page.fill("#size", text)
        report.until(
            f"document.querySelectorAll('#best li').length === {size} || "
            "document.getElementById('best-size').textContent.includes('impossible')"
        )
    assert report.quiet()


def test_the_export_is_what_is_shown(open_report, model):
    report = open_report(model)
    shown = report.condition(["GENE5"], ["GENE0"])
    with report.page.expect_download() as waiting:
        report.page.click("#export")
    posterior = model.selection_.posterior
    table = pd.read_csv(waiting.value.path(), encoding="utf-8-sig").set_index("feature").loc[list(posterior.names)]
    np.testing.assert_allclose(table["probability"], posterior.inclusion_prob(), atol=1e-12)
    now = table["conditional_probability"]
    assert (now["GENE5"], now["GENE0"]) == (1.0, 0.0)
    np.testing.assert_allclose(now[list(shown)], list(shown.values()), atol=1e-12)
    assert table["condition"].dropna().to_dict() == {"GENE5": "included", "GENE0": "excluded"}
    best = report.page.eval_on_selector_all("#best li bdi", "items => items.map(i => i.textContent)")
    assert sorted(table.index[table["in_best_set"]]) == sorted(best)


def test_impossible_wishes_get_a_kind_answer(open_report, data, fitted_as):
    X, y = data
    phi = np.eye(8)
    phi[1], phi[2] = phi[0], 0.0  # a copy, and one that similarity never lets in
    model = fitted_as(X.iloc[:, :8], y, similarity=phi)
    report = open_report(model)
    report.include("GENE0")
    report.settle()
    report.include("GENE1")
    report.until("document.getElementById('status').textContent.includes('copy')")
    assert report.page.locator("#conditions li").count() == 1
    report.page.click("#clear")
    report.include("GENE2")
    report.until("document.getElementById('status').textContent.includes('never in a set')")
    assert report.page.locator("#conditions li").count() == 0
    assert report.quiet()


def test_a_likelihood_without_a_form_has_no_explorer(open_report, model, monkeypatch):
    monkeypatch.setattr("variegate.report.page.can_sample", lambda target: False)
    report = open_report(model, ready=False)
    assert "needs a likelihood with a quadratic form" in report.page.inner_text("#explore")
    assert report.page.locator("#explorer").count() == 0
    assert report.quiet()


def test_a_fixed_size_is_conditioned_too(open_report, data, fitted_as):
    model = fitted_as(*data, n_features_to_select=3, fixed_size=True, **SURE)
    report = open_report(model)
    for include, exclude in ((["GENE5"], []), ([], ["GENE0"]), (["GENE9"], ["GENE4"])):
        shown = report.condition(include, exclude)
        assert off(shown, model.selection_.posterior.condition(include, exclude)) < 0.03
        assert sum(shown.values()) == pytest.approx(3 - len(include), abs=1e-6)
    for name in ("GENE1", "GENE2", "GENE3"):
        report.include(name)
    report.until("document.getElementById('status').textContent.includes('cannot hold that many')")
    assert report.page.locator("#conditions li").count() == 4


def test_blocks_of_columns_and_columns_always_in(open_report, data, fitted_as):
    X, y = data
    groups = [f"g{i // 2}" for i in range(X.shape[1])]
    model = fitted_as(X, y, groups=groups, always_include=["GENE46", "GENE47"], **SURE)
    report = open_report(model)
    assert "In every set" in report.page.inner_text("#chosen")
    names = model.selection_.posterior.names
    for include, exclude in (([names[3]], []), ([], [names[0]]), ([names[2]], [names[0], names[1]])):
        assert off(report.condition(include, exclude), model.selection_.posterior.condition(include, exclude)) < 0.03


def test_questions_in_quick_succession(open_report, data, fitted_as):
    """An impossible one must not take back the next one, nor be asked for ever."""
    X, y = data
    phi = np.eye(8)
    phi[1] = phi[0]
    report = open_report(fitted_as(X.iloc[:, :8], y, similarity=phi))
    report.condition(["GENE0"])
    report.page.evaluate(
        """() => { const search = document.getElementById("search");
        for (const name of ["GENE1", "GENE7"]) { search.value = name;
          search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" })); } }"""
    )
    report.until("document.getElementById('status').textContent.includes('is a copy')")
    report.settle()
    shown = report.page.eval_on_selector_all("#conditions li bdi", "items => items.map(i => i.textContent)")
    assert shown == ["GENE0", "GENE7"]
    assert "is a copy" in report.page.inner_text("#status")  # until there is another choice
    report.page.fill("#size", "8")
    report.until("document.getElementById('best-size').textContent === '7 features: larger sets are impossible'")
    assert report.quiet()


def test_a_worker_that_fails_is_replaced(open_report, precise):
    broken = """window.Worker = class { constructor() { setTimeout(() => this.onerror({ preventDefault() {} }), 50) }
        postMessage() {} terminate() {} }"""
    report = open_report(precise, before=broken)
    assert off(report.condition([], ["GENE4"]), precise.selection_.posterior.condition(exclude=["GENE4"])) < 0.03


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
@pytest.mark.parametrize("width", [1200, 320])
def test_contrast_and_width(open_report, model, scheme, width):
    report = open_report(
        model, about={"warnings": ["look out"]}, color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    report.page.fill("#search", "gene")
    report.include("GENE5")
    assert report.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert report.quiet()
    assert report.page.evaluate(CONTRAST) == []


def edges(page, selector):
    """Lightness of what is behind the left and the right edge of an element, 0 to 1."""
    png = page.locator(selector).screenshot()
    light = np.asarray(Image.open(io.BytesIO(png)).convert("L")) / 255
    return np.median(light[:, 1]), np.median(light[:, -2])


@pytest.mark.parametrize("part", ["#chosen .scroll", "#map .scroll"])
def test_what_scrolls_on_a_phone_says_so(open_report, model, part):
    report = open_report(model, viewport={"width": 320, "height": 800}, color_scheme="light")
    assert report.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    left, right = edges(report.page, part)
    assert right < left - 0.1  # a shadow: there is more
    report.page.eval_on_selector(part, "box => (box.scrollLeft = 1e6)")
    left, right = edges(report.page, part)
    assert left < right - 0.1
    report.page.set_viewport_size({"width": 1200, "height": 800})
    left, right = edges(report.page, part)
    assert left == right > 0.95


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


def test_a_loaded_model_gives_the_same_page(open_report, precise, tmp_path):
    vg.save(precise, tmp_path / "fit.vg")
    report = open_report(vg.load(tmp_path / "fit.vg"))
    assert off(report.condition(["GENE5"]), precise.selection_.posterior.condition(["GENE5"])) < 0.03


def test_large_pages_stay_small(open_report, rng, tmp_path):
    """M=2000: under 3 MB, and the page says what it left out."""
    X = rng.normal(size=(120, 2000))
    model = vg.DiverseRegressor(random_state=0).fit(X, X[:, 0] - X[:, 1] + rng.normal(size=120))
    report = open_report(model)
    assert (tmp_path / "report0.html").stat().st_size < 3e6
    assert "400 of 2,000 features" in report.page.inner_text("#explore")
    shown = report.condition(["x7"], ["x0"])
    assert len(shown) == 398
    assert report.quiet()


@pytest.mark.parametrize("n", [1, 2])
def test_very_few_candidates(open_report, rng, n):
    X = rng.normal(size=(40, n))
    model = vg.DiverseRegressor(random_state=0).fit(X, X[:, 0] + 0.3 * rng.normal(size=40))
    report = open_report(model)
    assert len(report.condition(["x0"])) == n - 1
    assert report.page.locator("#conditions li").count() == 1
    assert len(report.condition([], [f"x{i}" for i in range(n)])) == 0
    assert report.quiet()
