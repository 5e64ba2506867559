"""A walk through the page of `variegate select`: every number on it is that of the CSV files, and of Python."""

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from variegate.cli import main

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    X, y = data
    out = tmp_path_factory.mktemp("walk")
    X.assign(y=y).to_csv(out / "table.csv", index=False)
    assert main(["select", f"{out}/table.csv", "--outcome", "y", "--size", "4", "--out", f"{out}/found"]) == 0
    return out / "found"


@pytest.fixture
def report(open_page, folder):
    return open_page(folder / "report.html")


@pytest.fixture
def page(report):
    return report.page


@pytest.fixture
def table(folder):
    return pd.read_csv(folder / "selection.csv").set_index("feature")


@pytest.fixture
def groups(folder):
    return pd.read_csv(folder / "groups.csv").set_index("feature")


def digits(p):
    return ">0.99" if 0.995 < p < 1 else "<0.01" if 0 < p < 0.005 else f"{p:.2f}"


def effect(value):
    return f"{value:.3g}".replace("-", "−") if value else "0"


def cells(page, selector):
    """[[texts of cells], …], without dividers."""
    return page.eval_on_selector_all(
        f"{selector} tbody tr:not(.divider)", "rows => rows.map(r => [...r.cells].map(c => c.innerText.trim()))"
    )


def share(value):
    text = f"{100 * value:.1f}"
    return "0 %" if text in ("0.0", "-0.0") else f"{text.replace('-', '−')} %"


def test_what_to_measure(page, folder):
    panel, rule = vg.load(folder / "model.vg").panel_, pd.read_csv(folder / "panel.csv", index_col="column")
    stand_ins = pd.read_csv(folder / "stand_ins.csv").drop_duplicates("member").set_index("member")
    family, rows = [one.features for one in panel.family()], cells(page, "#panel")
    assert [row[0] for row in rows] == panel.members == rule.index[1:].tolist()
    for u, (feature, size, limits, _, without, stand_in, with_it, panels) in zip(panel.features, rows, strict=True):
        found, instead = rule.loc[feature], stand_ins.loc[feature]
        assert (size, limits) == (effect(found["coefficient"]), f"{effect(found['low'])} to {effect(found['high'])}")
        assert (without, stand_in) == (share(instead["lost_without"]), instead["stand_in"])
        assert with_it == share(instead["lost_with"])
        having, of = map(int, panels.split(" of "))
        assert having == pytest.approx(sum(u in S for S in family), abs=3)  # of a loaded model, some are on the brink
        assert of == pytest.approx(len(family), abs=3)
    said, sizes = page.inner_text("#panel"), pd.read_csv(folder / "panel_curve.csv")["size"]
    assert f"loses {share(panel.lost)} of what the model predicts" in said
    assert len(page.locator("#panel .curve circle").all()) == len(sizes)
    (mark,) = page.eval_on_selector_all("#panel .mark title", "found => found.map(t => t.textContent)")
    assert mark == f"{len(panel.members)} features: {share(panel.lost)} lost"


def test_what_is_behind_it(page, table, groups):
    rows = cells(page, "#chosen")
    assert page.inner_text("#chosen > p").startswith(f"{table['selected'].sum()} of {len(table)} features were chosen")
    assert {row[0] for row in rows} >= set(table.index[table["selected"]])
    for feature, of_group, _, own, size, interval, _ in rows:
        found = table.loc[feature]
        assert own == digits(found["inclusion_probability"])
        assert of_group == (digits(groups.loc[feature, "group_probability"]) if feature in groups.index else "–")
        assert size == effect(found["coefficient"])
        assert interval == f"{effect(found['lower'])} to {effect(found['upper'])}"


def test_what_each_one_stands_for(page, table, groups, folder):
    posterior = vg.load(folder / "model.vg").selection_.posterior
    chosen = np.flatnonzero(np.isin(posterior.names, table.index[table["selected"]]))
    cards = page.locator("#stands article").all()
    shown = []
    for n, card in enumerate(cards, start=1):
        title = card.locator("h3 .tag").inner_text()
        members = [(row[0].removesuffix(" chosen"), row[1]) for row in cells(page, f"#stands article:nth-child({n})")]
        shown += [name for name, _ in members]
        group = groups[groups["group"] == groups.loc[members[0][0], "group"]]
        assert {name for name, _ in members} == set(group.index)
        assert title == digits(group["group_probability"].iloc[0])
        assert all(own == digits(table.loc[name, "inclusion_probability"]) for name, own in members)
        said = " ".join(card.locator(".aside").all_inner_texts())
        if len(group) > 1:
            assert f"at least {np.floor(100 * group['purity'].iloc[0]) / 100:.2f})" in said
        if "times as probable" in said:
            come, gone = card.locator(".aside bdi").all_inner_texts()
            S = np.sort([*np.setdiff1d(chosen, posterior.positions([gone])), *posterior.positions([come])])
            odds = np.exp(posterior.target.log_joint(S) - posterior.target.log_joint(chosen))
            assert f"{odds:.2f} times" in said if odds >= 0.01 else "less than 0.01 times" in said
    assert set(shown) >= set(table.index[table["selected"]])
    assert len(shown) == len(set(shown))


def most_probable(folder):
    found = vg.load(folder / "model.vg").selection_
    return set(found.posterior.names[found.posterior.map(found.size)])


def test_alternatives(page, folder):
    alternatives = pd.read_csv(folder / "alternatives.csv", keep_default_na=False)
    rows = cells(page, "#alternatives")
    assert len(rows) == len(alternatives)
    for (odds, size, changes), found in zip(rows, alternatives.itertuples(), strict=True):
        assert odds == (f"{found.odds:.2f}" if found.odds >= 0.01 else "<0.01")
        assert int(size) == found.size == len(found.features.split("; "))
        for column, kind in (("within", "stand-in"), ("between", "another explanation")):
            pairs = [pair.split(" -> ") for pair in getattr(found, column).split("; ") if pair]
            assert changes.count(kind) == len(pairs)
            assert all(f"{gone} → {come}" in changes for gone, come in pairs)
    own = {row.removesuffix(" itself") for *_, row in rows if "itself" in row}
    assert own <= {"the panel"}
    assert set(alternatives["features"][0].split("; ")) == most_probable(folder)


def test_the_map_the_first_sentences_and_how_far_to_trust_it(page, table, folder):
    posterior = vg.load(folder / "model.vg").selection_.posterior
    titles = page.eval_on_selector_all("#map circle title", "found => found.map(t => t.textContent)")
    for title in titles:
        name, p = title.split(": ")
        assert p == digits(table.loc[name, "inclusion_probability"])
    first = page.inner_text(".lead")
    assert all(name in first for name in table.index[table["selected"]])
    trust = page.inner_text("#trust")
    assert f"{posterior.inclusion_prob().sum():.1f} members on average" in trust
    assert f"known to ±{2 * posterior.inclusion_errors().max():.2g}" in page.inner_text("#chosen > p")


def test_the_explorer(report, page, table, folder):
    while page.is_visible("#more"):
        page.click("#more")
    rows = cells(page, "#others")
    assert len(rows) == len(table)
    for name, before, now, *_ in rows:
        assert before == now == digits(table.loc[name, "inclusion_probability"])
    assert f"{table['inclusion_probability'].sum():.1f} are expected in a set" in page.inner_text("#status")
    report.until("document.querySelectorAll('#best li').length > 0")
    assert set(page.locator("#best li").all_inner_texts()) == most_probable(folder)
