"""Numbers behind the page: the rounded kernel, charts, the map, verdicts."""

import base64

import numpy as np
import pytest

from variegate import LowRankDPP
from variegate.diagnostics import Diagnostics
from variegate.report import charts, kernel, trust
from variegate.report.content import Row, without
from variegate.report.similarity_map import HEIGHT, NODES, WIDTH, labelled, similarity_map


def unpacked(found):
    raw = np.frombuffer(base64.b64decode(found["rows"]), dtype=np.uint8).reshape(-1, 3)
    integers = (raw @ np.array([1, 256, 65536])).astype(np.int64)
    integers = np.where(integers >= 2**23, integers - 2**24, integers).reshape(-1, found["dimensions"])
    doubles = {name: np.frombuffer(base64.b64decode(found[name])) for name in ("scale", "rho", "log_diagonal")}
    lift = np.zeros(len(integers))
    lift[found["raised"]] = found["lift"]
    return integers * doubles["scale"][:, None], doubles["rho"], doubles["log_diagonal"], lift


@pytest.mark.parametrize("shape", [(20, 6), (6, 20)])
@pytest.mark.parametrize("strength", [-6.0, 8.0])
def test_the_rounded_rows_are_a_factor_of_the_calm_kernel(rng, shape, strength):
    phi, theta = rng.normal(size=shape), rng.normal(size=shape[0]) + strength
    units, rho, log_diagonal, lift = unpacked(kernel.embedded_kernel(LowRankDPP(phi, theta), np.arange(shape[0])))
    F = units * (rho * np.exp((log_diagonal - lift) / 2))[:, None]
    calm = LowRankDPP(phi, theta - lift)
    np.testing.assert_allclose(F @ F.T, calm.marginal_kernel(np.arange(shape[0])), atol=1e-6)
    assert (np.diag(calm.marginal_kernel(np.arange(shape[0]))) < 0.97).all()
    assert bool(len(lift.nonzero()[0])) == (strength > 0)


def test_the_triangle_gives_the_cosines(rng):
    phi = rng.normal(size=(15, 6))
    found = kernel.embedded_kernel(LowRankDPP(phi, rng.normal(size=15)), np.arange(15))
    units, rho, _, _ = unpacked(found)
    triangle = np.zeros((6, 6))
    triangle[np.tril_indices(6)] = np.frombuffer(base64.b64decode(found["triangle"]), dtype="<f4")
    B = (units * rho[:, None]) @ triangle
    rows = phi / np.linalg.norm(phi, axis=1, keepdims=True)
    np.testing.assert_allclose(B @ B.T, rows @ rows.T, atol=1e-5)


def test_rounding_to_24_bits(rng):
    rows = rng.normal(size=(5, 7)) * np.array([1e-9, 1, 1e9, 0, 1])[:, None]
    _, scale = kernel.rounded_rows(rows)
    np.testing.assert_allclose(scale, np.abs(rows).max(axis=1) / (2**23 - 1))


def test_the_most_probable_and_the_chosen_are_kept(rng):
    probability = rng.uniform(size=10_000)
    chosen = np.argsort(probability)[:3]
    kept = kernel.kept_candidates(probability, chosen, 8)
    assert len(kept) == kernel.KEPT
    assert set(chosen) <= set(kept)
    gone = np.setdiff1d(np.arange(10_000), kept)
    assert probability[gone].max() < np.sort(probability[kept])[3]
    assert len(kernel.kept_candidates(probability[:300], chosen[:0], 300)) == 300
    assert kernel.kept_candidates(probability, chosen, 5000).size ** 2 <= kernel.ROOM


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
def test_the_map_of_very_few(rng, n):
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
    rows = [Row("a", 1.0, 2.0, 1.0, 3.0, None, "chosen"), Row("b", 1.0, -20.0, -30.0, -10.0, None, "chosen")]
    first, second = charts.intervals(rows, {"a": 1.0, "b": 0.1})
    assert first.zero == second.zero
    assert second.lower < second.mean < second.upper < first.zero < first.lower < first.mean < first.upper
    assert charts.intervals(rows, {"a": 1.0})[1] is None


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-3.2, 8.9), (0.98, 0.991), (-50.0, -49.9)])
def test_ticks_hold_the_values(low, high):
    marks = charts.ticks(low, high)
    assert marks[0] <= low
    assert marks[-1] >= high
    assert 2 <= len(marks) <= 8 or low == high


def diagnosed(**changes):
    plain = {
        "elbo": -1.0, "elbo_error": 0.1, "converged": True, "n_iter": 10, "pareto_k": 0.2, "effective_size": 90.0,
        "n_sets": 100, "expected_size": 3.0, "prior_expected_size": 3.0, "slab_precision": 1.0, "overlooked": 0.0,
    }  # fmt: skip
    return Diagnostics(**{**plain, **changes})


@pytest.mark.parametrize(
    ("changes", "question", "grade"),
    [
        ({}, "settle", "good"),
        ({"converged": False}, "settle", "poor"),
        ({"pareto_k": 0.6}, "exact", "fair"),
        ({"pareto_k": 0.9}, "exact", "poor"),
        ({"pareto_k": np.inf}, "exact", "poor"),
        ({"overlooked": 5.0}, "stand in", "poor"),
    ],
)
def test_verdicts(model, changes, question, grade):
    (found,) = [v for v in trust.verdicts(model, diagnosed(**changes)) if question in v.question]
    assert found.grade == grade
    warned = trust.warnings_of(model, [found])
    assert (found.answer in warned) == (grade == "poor")


def test_without_a_feature_is_conditioning(model):
    expected = model.posterior_.condition(exclude=[4]).inclusion_prob()
    np.testing.assert_array_equal(without(model.posterior_, 4), expected)
