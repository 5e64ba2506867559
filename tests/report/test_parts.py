"""Numbers behind the page: the rounded kernel, charts, the map, verdicts."""

import base64

import numpy as np
import pytest

from variegate import ConvergenceWarning, LowRankDPP
from variegate.diagnostics import Bound, Diagnostics
from variegate.report import charts, kernel, trust
from variegate.report.content import ENOUGH, Row, without
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


COMMON = {
    "converged": True, "n_iter": 10, "expected_size": 3.0, "prior_expected_size": 3.0, "slab_precision": 1.0,
    "n_sets": 100,
}  # fmt: skip


def of_chains(**changes):
    plain = {"largest_error": 0.02, "tol": 0.03, "disagreement": 1.5, "effective_size": 600.0}
    return Diagnostics(**{**COMMON, **plain, **changes})


def of_a_fit(converged=True, **changes):
    bound = Bound(elbo=-1.0, elbo_error=0.1, pareto_k=0.2, effective_size=90.0, n_sets=100)
    return Diagnostics(**{**COMMON, "converged": converged, "bound": bound._replace(**changes)})


@pytest.mark.parametrize(
    ("diagnostics", "question", "grade"),
    [
        (of_chains(), "those of the data", "good"),
        (of_chains(converged=False, largest_error=0.08), "those of the data", "poor"),
        (of_a_fit(), "settle", "good"),
        (of_a_fit(converged=False), "settle", "poor"),
        (of_a_fit(pareto_k=0.6), "exact", "fair"),
        (of_a_fit(pareto_k=0.9), "exact", "poor"),
        (of_a_fit(pareto_k=np.inf), "exact", "poor"),
        (of_a_fit(overlooked=5.0), "stand in", "poor"),
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


def test_without_a_certain_feature_chains_of_their_own_are_asked(model):
    posterior = model.posterior_
    unit = int(np.argmax(posterior.inclusion_prob()))
    assert sum(unit not in S for S in posterior.sets) < ENOUGH
    found, within = without(posterior, unit)
    np.testing.assert_array_equal(found, posterior.condition(exclude=[unit]).inclusion_prob())
    assert found[unit] == 0
    assert within is None


def test_chains_that_stopped_early_say_how_uncertain_they_are(data, fitted_as):
    posterior = fitted_as(*data, max_iter=2, tol=0.001).posterior_
    unit = int(np.argmax(posterior.inclusion_prob()))
    found, within = without(posterior, unit)  # without a warning: the page says it
    with pytest.warns(ConvergenceWarning):
        conditioned = posterior.condition(exclude=[unit])
    np.testing.assert_array_equal(found, conditioned.inclusion_prob())
    assert within == 2 * conditioned.inclusion_errors().max() > 0.002


def test_without_an_uncertain_feature_the_sets_that_lack_it_are_asked(data, fitted_as):
    posterior = fitted_as(*data, tol=0.002, max_iter=400).posterior_
    p = posterior.inclusion_prob()
    unit = int(np.argmin(np.abs(p - 0.2)))
    assert 0.1 < p[unit] < 0.9
    held = [S for S in posterior.sets if unit not in S]
    assert len(held) >= ENOUGH
    found, within = without(posterior, unit)
    assert within is None
    shares = np.bincount(np.concatenate(held), minlength=len(p)) / len(held)
    np.testing.assert_allclose(found, shares, atol=1e-12)
    conditioned = posterior.condition(exclude=[unit])
    error = np.hypot(conditioned.inclusion_errors(), np.sqrt(0.25 / ENOUGH))  # of both
    assert (np.abs(found - conditioned.inclusion_prob()) < 4 * error).all()
