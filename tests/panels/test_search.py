"""The search against all sets of a size."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import variegate as vg
from panel_problems import every_set
from variegate.panels.search import EXACT

DIVERSITIES = (0.0, 1.0, 4.0)


def correlated(seed, M=25, N=60, r=0.9, K=1):
    """Columns in blocks of five, and predictions that some of them and noise make up."""
    rng = np.random.default_rng(seed)
    X = (
        np.sqrt(1 - r) * rng.normal(size=(N, M))
        + np.sqrt(r) * np.repeat(rng.normal(size=(N, M // 5 + 1)), 5, 1)[:, :M]
    )
    return X, X @ (rng.normal(size=(M, K)) * (rng.random((M, 1)) < 0.4)) + 0.5 * rng.normal(size=(N, K))


def values(search, sets):
    """J of many sets of one size, by dense algebra."""
    remainder, sets = search.remainder, np.array(sets)
    M, k = len(search.open), sets.shape[1]
    G = remainder.rows(np.arange(M))[sets[:, :, None], sets[:, None, :]] + search.ridge * np.eye(k)
    b = remainder.information[:, sets].transpose(1, 2, 0)
    left = remainder.total - np.einsum("nsk,nsk->nk", b, np.linalg.solve(G, b))
    cosines = search.volume.phi @ search.volume.phi.T if search.diversity else np.eye(M)
    volumes = np.linalg.slogdet(cosines[sets[:, :, None], sets[:, None, :]])[1]
    return -search.loss(np.maximum(left, 0)) + search.diversity * volumes


@pytest.mark.parametrize("diversity", DIVERSITIES)
def test_four_of_twenty_five(diversity):
    """The best of all 12,650 sets in 18 of 20 hard problems or more (blocks of near-copies), else within 0.2 nats."""
    sets, gaps = every_set(25, 4), []
    for seed in range(20):
        X, eta = correlated(seed)
        panel = vg.panel(X, eta, size=4, diversity=diversity)
        best = values(panel.among.search, sets).max()
        gaps.append(best - panel.among.search.value(panel.features))
    assert min(gaps) > -1e-7
    assert sum(gap < 1e-7 for gap in gaps) >= 18
    assert max(gaps) < 0.2


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_size_of_eleven(size, K):
    for seed in range(4):
        X, eta = correlated(seed, 11, K=K)
        panel = vg.panel(X, eta, size=size)
        found = values(panel.among.search, every_set(11, size))
        assert panel.among.search.value(panel.features) == pytest.approx(found.max(), abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_conditions_are_kept(seed):
    X, eta = correlated(seed, 11)
    panel = vg.panel(X, eta, size=4, include=[3], exclude=[0, 7])
    sets = every_set(11, 4, included=[3], excluded=[0, 7])
    found = values(panel.among.search, sets)
    assert panel.features.tolist() == sets[found.argmax()].tolist()
    assert 3 in panel.columns
    assert not {0, 7} & set(panel.columns.tolist())


@pytest.mark.parametrize("diversity", DIVERSITIES)
def test_changes_of_the_value_are_those_of_the_value_from_scratch(diversity):
    X, eta = correlated(2, 11, K=2)
    search = vg.panel(X, eta, size=3, diversity=diversity).among.search
    S = np.array([1, 4, 8])
    exchanged = search.exchanges(S)
    for j in range(3):
        for m in set(range(11)) - set(S.tolist()):
            T = np.sort(np.append(np.delete(S, j), m))
            assert exchanged[j, m] == pytest.approx(search.value(T), abs=1e-6)
    rest = [search.value(np.delete(S, j)) for j in range(3)]
    assert search.shrunk(S, 2).tolist() == np.delete(S, np.argmax(rest)).tolist()
    assert search.value(S) == pytest.approx(values(search, [S])[0])


def test_forward_paths_take_the_best_feature_each_time():
    X, eta = correlated(1, 11)
    search = vg.panel(X, eta, size=3).among.search
    sets = list(search.path(4))
    assert [len(S) for S in sets] == [0, 1, 2, 3, 4]
    for S, T in pairwise(sets):
        best = max((search.value(np.append(S, m)), m) for m in range(11) if m not in S)
        assert set(T.tolist()) == {*S.tolist(), best[1]}


def test_nested_sets_pass_through_a_set():
    X, eta = correlated(1, 11)
    search = vg.panel(X, eta, size=3).among.search
    S = np.array([0, 6, 9])
    sets = list(search.nested(S, 6))
    assert [len(T) for T in sets] == [0, 1, 2, 3, 4, 5, 6]
    assert sets[3].tolist() == S.tolist()
    assert all(set(T.tolist()) < set(U.tolist()) for T, U in pairwise(sets))


def test_without_diversity_the_loss_alone_decides_and_with_much_the_volume():
    X, eta = correlated(3, 11)
    sets = every_set(11, 3)
    loose, strict = (vg.panel(X, eta, size=3, diversity=beta) for beta in (0, 1e6))
    losses = values(loose.among.search, sets)
    assert loose.features.tolist() == sets[losses.argmax()].tolist()
    volumes = [strict.among.search.volume.log_volume(S) for S in sets]
    assert strict.log_volume == pytest.approx(max(volumes), abs=1e-6)
    assert loose.lost < strict.lost
    assert np.isnan(loose.log_volume)


@pytest.mark.parametrize("seed", range(6))
def test_budgets(seed):
    """Never exceeded; of all affordable sets, those found are within 3 % of what the best explains."""
    X, eta = correlated(seed, 10)
    search = vg.panel(X, eta, size=1).among.search
    costs = np.random.default_rng(seed).choice([0.1, 0.2, 0.3, 1.0, 2.5], size=10)
    sets = [S for k in range(1, 6) for S in every_set(10, k)]
    nothing = search.value(np.array([], dtype=int))
    for budget in (0.0, 0.3, 1.0, 2.5):
        S = search.affordable(6, costs, budget)
        assert costs[S].sum() <= budget + 1e-8
        best = max([nothing, *(search.value(T) for T in sets if costs[T].sum() <= budget + 1e-9)])
        assert search.value(S) - nothing >= 0.97 * (best - nothing)


def test_one_expensive_feature_against_cheap_ones():
    """For its cost it is the worst; it explains most."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    search = vg.panel(X, X @ [0.3, 0.3, 0.3, 3.0], size=1, diversity=0).among.search
    assert search.affordable(4, np.array([1.0, 1.0, 1.0, 50.0]), 50.0).tolist() == [3]
    assert search.affordable(4, np.array([1.0, 1.0, 1.0, 50.0]), 3.0).tolist() == [0, 1, 2]
    assert search.affordable(4, np.zeros(4), 0.0).tolist() == [0, 1, 2, 3]


def test_prices_that_add_up_to_the_budget():
    X = np.random.default_rng(0).normal(size=(50, 3))
    search = vg.panel(X, X.sum(axis=1), size=1, diversity=0).among.search
    assert search.affordable(3, np.array([0.1, 0.2, 9.0]), 0.3).tolist() == [0, 1]  # 0.1 + 0.2 > 0.3


def test_copies_are_not_chosen_twice():
    X, eta = correlated(0, 6)
    twice = np.column_stack([X, X])
    assert len({m % 6 for m in vg.panel(twice, eta, size=4).features.tolist()}) == 4
    loose = vg.panel(twice, eta, size=6, diversity=0)  # a ridge favours copies of strong columns a little
    assert loose.lost == pytest.approx(vg.panel(X, eta, size=6, diversity=0).lost, abs=0.01)
    assert np.isfinite(loose.predict(twice)).all()


def test_blocks_are_chosen_together():
    X, eta = correlated(0, 9)
    labels = [0, 0, 0, "b", "b", None, None, 7, 7]
    panel = vg.panel(X, eta, size=2, blocks=labels)
    sets = every_set(5, 2)
    found = [panel.among.search.value(S) for S in sets]
    assert panel.features.tolist() == sets[int(np.argmax(found))].tolist()
    assert panel.among.candidates.n_units == 5
    assert panel.columns.tolist() == np.flatnonzero(np.isin(panel.among.candidates.unit, panel.features)).tolist()
    assert vg.panel(X, eta, size=1, blocks=labels, include=[4]).columns.tolist() == [3, 4]
    assert 3 not in vg.panel(X, eta, size=4, blocks=labels, exclude=[4]).columns


def test_the_guarding_ridge_is_for_the_search_only():
    X, eta = correlated(0)
    panel = vg.panel(X, eta, size=4)
    search = panel.among.search
    assert search.ridge > EXACT * search.remainder.weight
    Z = np.column_stack([np.ones(60), X[:, panel.features]])
    left = np.linalg.lstsq(Z, eta[:, 0], rcond=None)[1][0]
    assert panel.lost == pytest.approx(left / np.square(eta - eta.mean()).sum(), rel=1e-6)
    same = replace(search, ridge=1e-6)
    assert same.value(panel.features) > search.value(panel.features)
