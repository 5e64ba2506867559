"""Numbers behind the page: what it holds, charts, the map, verdicts."""

import numpy as np
import pytest

import variegate as vg
from variegate.diagnostics import Diagnostics
from variegate.groups import Group
from variegate.report import charts, embedded, trust
from variegate.report.content import Member, Row, Stand
from variegate.report.similarity_map import HEIGHT, NODES, WIDTH, labelled, similarity_map
from variegate.report.summary import summary


def test_the_most_probable_and_the_chosen_are_kept(rng):
    probability, ones = rng.uniform(size=10_000), np.ones(10_000, dtype=int)
    chosen = np.argsort(probability)[:3]
    relatives = np.argsort(probability)[5:8]
    kept = embedded.kept_candidates(probability, chosen, relatives, ones, 2)
    assert len(kept) == embedded.KEPT
    assert {*chosen, *relatives} <= set(kept)
    gone = np.setdiff1d(np.arange(10_000), kept)
    assert probability[gone].max() < np.sort(probability[kept])[6]
    assert len(embedded.kept_candidates(probability[:300], chosen[:0], chosen[:0], ones[:300], 1)) == 300
    wide = embedded.kept_candidates(probability, chosen, chosen, 3 * ones, 4)  # classes, and blocks of three columns
    assert 4 * (3 * len(wide)) ** 2 / 2 <= embedded.ROOM


def test_copies_of_what_is_certain_are_kept(rng):
    """They have no probability until the reader excludes it."""
    X = rng.normal(size=(100, 500))
    X[:, 490:] = X[:, :1] + 0.3 * rng.normal(size=(100, 10))
    y = X[:, 0] + 0.1 * rng.normal(size=100)
    found = vg.DiverseRegressor(random_state=0, max_iter=3, tol=0.5).fit(X, y).selection_
    assert found.posterior.inclusion_prob()[0] > 0.99
    assert len(set(range(490, 500)) & set(embedded.relatives_of(found).tolist())) == 9  # and itself


def test_the_first_sentences():
    def stand(chosen, probability, *others):
        members = [Member(name, 0.5, name == chosen) for name in (chosen, *others) if name]
        return Stand(chosen, probability, members, 0.9, "columns", None)

    first, second, third = summary([stand("a", 0.99, "b", "c"), stand("d", 0.6)], "relapse", "gene")
    assert first == "a and d together predict relapse."
    assert second.startswith("For 1 of 2 it is nearly certain")
    assert second.endswith("less so for d.")
    assert third == "Some share their probability with a similar gene: a with b and c."
    alone = summary([stand("a", 0.99)], "relapse", "gene")
    assert alone[0] == "a predicts relapse."
    assert "nearly certain that it" in alone[1]
    assert alone[2].startswith("No other gene")
    assert summary([stand(None, 0.3, "x")], "relapse", "gene")[0].startswith("No gene stands out")
    assert summary([stand(None, 0.9, "x")], "y", "gene") == [
        "Nothing was chosen, although some genes probably predict y."
    ]
    chance = summary([stand("a", 0.4), stand("b", 0.4)], "y", "gene")
    assert chance[0] == "a and b are in the panel, but may be chance."
    assert chance[1].startswith("None of this is certain")
    assert "beyond what is in every set" in summary([], "y", "gene", always=True)[0]


def test_only_probable_members_that_say_the_same_are_called_replacements():
    members = [Member("a", 0.8, True), Member("b", 0.5, False), Member("c", 0.02, False)]
    assert Stand("a", 0.99, members, 0.9, "columns", None).stand_ins == ["b"]
    assert Stand("a", 0.99, members, 0.9, "similarity", None).stand_ins == []


def test_probabilities_along_the_columns():
    p = np.array([0.9, 0.001, 0.4, 0.5, 0.2])
    groups = [
        Group(np.array(["c", "d"]), np.array([2, 3]), np.array([0.5, 0.5]), 0.9, 0.9, "c", "columns"),
        Group(np.array(["a"]), np.array([0]), np.ones(1), 0.9, 1.0, "a", "alone"),
    ]
    found = charts.along_columns(p, groups, np.array(list("abcde")))
    assert {point.title: point.group for point in found.points} == {"a": 9, "c": 1, "d": 1, "e": 0}
    x = {point.title: point.x for point in found.points}
    assert x["a"] < x["c"] < x["d"] < x["e"]
    y = {point.title: point.y for point in found.points}
    assert y["a"] < y["d"] < y["c"]


def test_the_map_is_the_same_twice_and_holds_the_set(rng):
    similarity = rng.normal(size=(500, 5))
    similarity /= np.linalg.norm(similarity, axis=1, keepdims=True)
    probability, names = rng.uniform(size=500), np.array([f"x{i}" for i in range(500)])
    chosen = np.array([3, 77, 401])
    first = similarity_map(similarity, probability, chosen, names)
    assert first == similarity_map(similarity, probability, chosen, names)
    assert len(first.nodes) == NODES
    assert {node.unit for node in first.nodes if node.chosen} == set(chosen.tolist())
    assert all(0 <= node.x <= WIDTH and 0 <= node.y <= HEIGHT for node in first.nodes)
    assert all(node.label for node in first.nodes if node.chosen)


def test_labels_keep_clear_of_the_edge():
    """Four bold capitals, as genes are called, would end at the frame."""
    label = labelled(np.array([[WIDTH - 52.0, 200.0]]), np.array([9.7]), ["MYC1"], [0])[0]
    assert label.anchor == "end"
    label = labelled(np.array([[WIDTH - 90.0, 200.0]]), np.array([9.7]), ["MYC1"], [0])[0]
    assert label.anchor == "start"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_map_of_very_few(n):
    assert len(similarity_map(np.eye(n), np.ones(n), np.arange(0), np.array(["a"] * n)).nodes) == n


def test_like_features_are_near_each_other_on_the_map(rng):
    kinds = np.repeat(np.eye(6), 5, axis=0) + 0.05 * rng.normal(size=(30, 6))
    kinds /= np.linalg.norm(kinds, axis=1, keepdims=True)
    found = similarity_map(kinds, np.full(30, 0.2), np.arange(0), np.array([str(i) for i in range(30)]))
    places = np.array([[node.x, node.y] for node in found.nodes])
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    same = np.equal.outer(np.arange(30) // 5, np.arange(30) // 5)
    assert distance[same].max() < np.median(distance[~same])


def test_intervals_share_one_scale():
    rows = [
        Row(4, "a", None, 1.0, 2.0, 1.0, 3.0, None, "chosen"),
        Row(7, "b", None, 1.0, -20.0, -30.0, -10.0, None, "chosen"),
    ]
    first, second = charts.intervals(rows, {4: 1.0, 7: 0.1})
    assert first.zero == second.zero
    assert second.lower < second.mean < second.upper < first.zero < first.lower < first.mean < first.upper
    assert charts.intervals(rows, {4: 1.0})[1] is None


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-3.2, 8.9), (0.98, 0.991), (-50.0, -49.9)])
def test_ticks_hold_the_values(low, high):
    marks = charts.ticks(low, high)
    assert marks[0] <= low
    assert marks[-1] >= high
    assert 2 <= len(marks) <= 8 or low == high


COMMON = {
    "converged": True, "n_iter": 10, "expected_size": 3.0, "prior_expected_size": 3.0, "slab_precision": 1.0,
    "n_sets": 100,
}  # fmt: skip


def of_chains(**changes):
    plain = {"largest_error": 0.02, "tol": 0.03, "disagreement": 1.5, "effective_size": 600.0}
    return Diagnostics(**{**COMMON, **plain, **changes})


@pytest.mark.parametrize(
    ("diagnostics", "question", "grade"),
    [
        (of_chains(), "accurate", "good"),
        (of_chains(converged=False, largest_error=0.08), "accurate", "poor"),
    ],
)
def test_verdicts(model, diagnostics, question, grade):
    (found,) = [v for v in trust.verdicts(model.selection_, diagnostics) if question in v.question]
    assert found.grade == grade
    warned = trust.warnings_of(model.selection_, [found])
    assert (found.answer in warned) == (grade == "poor")


def test_verdicts_name_the_error():
    answer = trust._known(of_chains()).answer
    assert "±0.04 for the least certain, two Monte Carlo errors" in answer
    answer = trust._known(of_chains(converged=False, largest_error=0.08)).answer
    assert "±0.16" in answer
    assert "10 laps" in answer
