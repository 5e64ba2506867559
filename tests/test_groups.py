"""Groups of features that can replace each other."""

import numpy as np
import pytest

import variegate as vg
from chain_problems import Enumerated, model_of
from inference_problems import correlated_data
from variegate import groups as module
from variegate.groups import Exchange, Likeness, Members, exchanges, find_groups
from variegate.inference import ChainSettings, Target, sample
from variegate.likelihoods import Gaussian
from variegate.tables import groups_table


def copies(rng, N=120, noise=0.02):
    """Three signals: one with four near-copies, one with two, one with a single column; then noise."""
    base = rng.normal(size=(N, 3))
    block = np.array([0, 0, 0, 0, 1, 1, 2])
    X = np.hstack([base[:, block] + noise * rng.normal(size=(N, 7)), rng.normal(size=(N, 5))])
    return X, base @ [2.0, -2.0, 2.0] + 0.5 * rng.normal(size=N)


@pytest.fixture(scope="module")
def model():
    X, y = copies(np.random.default_rng(3))
    return vg.DiverseRegressor(random_state=0).fit(X, y)


def test_blocks_are_groups(model):
    found = model.groups_
    assert sorted(sorted(g.positions.tolist()) for g in found) == [[0, 1, 2, 3], [4, 5], [6]]
    for g in found:
        assert g.probability > 0.95
        assert g.shares.sum() == pytest.approx(1.0)
        assert np.isin(g.chosen, model.posterior_.labels[model.selection_.chosen])
        assert g.likeness == ("alone" if len(g.positions) == 1 else "columns")
        assert g.purity == 1.0 if len(g.positions) == 1 else 0.99 < g.purity < 1.0
    assert max(model.inclusion_probabilities_[:4]) < 0.9  # no single feature is as probable as the group


def test_probability_of_a_group_is_that_of_enumeration():
    X, y = correlated_data(M=8, r=0.9)
    target = Target(Gaussian(X, y, slab_precision=1.0), vg.dpp_prior(vg.similarity.from_columns(X), expected_size=2))
    exact = Enumerated(model_of(target))
    found = vg.Posterior(sample(target, 0, ChainSettings(average_size=False, average_slab=False)))
    for level in (0.5, 0.9):
        for g in found.groups(level, threshold=0.05):
            holds = [np.isin(g.positions, S).any() for S in exact.sets]
            assert g.probability == pytest.approx(exact.probability[holds].sum(), abs=0.01)


def test_the_probability_of_one_feature_is_its_own(model):
    for g in model.groups_:
        p = model.posterior_.inclusion_prob()[g.positions]
        assert g.probability >= p.max() - 1e-12
        if len(p) == 1:
            assert g.probability == p[0]


@pytest.mark.parametrize("seed", range(8))
def test_every_probable_feature_is_in_one_group(seed):
    data = vg.datasets.make_blocks(n_samples=60, n_features=60, n_true=4, block_size=6, rng=seed)
    posterior = vg.DiverseRegressor(random_state=0, tol=0.1).fit(data.X, data.y).posterior_
    found = posterior.groups(threshold=0.1)
    members = np.concatenate([g.positions for g in found])
    assert len(np.unique(members)) == len(members)
    assert np.isin(np.flatnonzero(posterior.inclusion_prob() >= 0.1), members).all()
    assert np.isin(posterior.map(), members).all()
    r = np.abs(np.corrcoef(data.X.T))
    for g in found:
        assert r[np.ix_(g.positions, g.positions)].min() >= 0.5 - 1e-9
        assert g.probability >= 0.1 or g.chosen is not None
    again = posterior.groups(threshold=0.1)
    assert [g.positions.tolist() for g in again] == [g.positions.tolist() for g in found]


def test_many_copies_of_which_none_is_probable_are_a_group():
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    X = np.column_stack([z[:, None] + 0.001 * rng.normal(size=(200, 30)), rng.normal(size=(200, 5))])
    posterior = vg.DiverseRegressor(random_state=0).fit(X, z + rng.normal(size=200)).posterior_
    assert posterior.inclusion_prob().max() < 0.1
    first = posterior.groups()[0]
    assert first.probability >= 0.95
    assert (first.positions < 30).all()
    assert len(first.positions) > 20


def test_a_smaller_level_gives_smaller_groups(model):
    small, large = (max(len(g.positions) for g in model.posterior_.groups(level)) for level in (0.5, 0.99))
    assert small < large == 4


def seen(p, sets, weights=None):
    present = np.array(sets, dtype=np.float32)
    weights = np.full(len(sets), 1 / len(sets)) if weights is None else np.array(weights)
    return Members(present, weights, np.array(p))


def test_features_that_enter_together_do_not_stand_in_for_each_other():
    together = seen([0.5, 0.5], [[1, 1], [0, 0]])
    exchanged = seen([0.5, 0.5], [[1, 0], [0, 1]])
    alike, unlike = np.ones((2, 2)), np.eye(2)
    nobody = np.arange(0)
    assert len(find_groups(together, Likeness(unlike, alike, 0.5), nobody, 0.95, 0.1)) == 2
    assert len(find_groups(together, Likeness(alike, None, 0.5), nobody, 0.95, 0.1)) == 2
    assert len(find_groups(exchanged, Likeness(unlike, alike, 0.5), nobody, 0.95, 0.1)) == 1
    assert len(find_groups(exchanged, Likeness(unlike, None, 0.5), nobody, 0.95, 0.1)) == 2
    (group,) = find_groups(exchanged, Likeness(alike, unlike, 0.5), nobody, 0.95, 0.1)
    assert Likeness(alike, unlike, 0.5).holding(group) == (1.0, "columns")
    assert Likeness(unlike, alike, 0.5).holding(group) == (1.0, "similarity")


def test_a_feature_beside_one_that_is_always_in_does_not_stand_in_for_it():
    """README's first table: 'bmi' is in 997 sets of a thousand, 's4' in two thirds of them, whether it is or not."""
    present = np.ones((1000, 2), dtype=np.float32)
    present[:3, 0] = 0
    present[::3, 1] = 0
    seen = Members(present, np.full(1000, 1e-3), present.mean(axis=0).astype(float))
    assert not seen.apart(0, np.array([1])).any()
    assert not seen.apart(1, np.array([0])).any()


def test_a_network_s_neighbours_that_replace_each_other_say_so():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 5))
    X, _ = np.linalg.qr(X - X.mean(axis=0))  # columns 0 and 1 do equally well
    y = X[:, 0] + X[:, 1] + 3.0 * X[:, 4]
    phi = np.array([[1.0, 0.01, 0.0, 0.0], [1.0, -0.01, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    found = vg.DiverseRegressor(similarity=phi, choose="probability", random_state=0).fit(X[:, :4], y).groups_
    first = next(g for g in found if 0 in g.positions)
    assert set(first.positions.tolist()) == {0, 1}
    assert first.likeness == "similarity"


def test_groups_of_columns_are_alike_if_some_of_their_columns_are(rng):
    X, y = copies(rng)
    groups = [0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9]  # columns 2, 3 and 4, 5 enter together
    model = vg.DiverseRegressor(groups=groups, random_state=0).fit(X, y)
    first = next(g for g in model.groups_ if 0 in g.positions)
    assert set(first.positions.tolist()) == {0, 1, 2}


def test_only_the_most_probable_features_are_looked_at(model, monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    found = model.posterior_.groups()
    assert np.isin(model.selection_.chosen, np.concatenate([g.positions for g in found])).all()


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"threshold": -0.1}, {"purity": "high"}])
def test_wrong_shares(model, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be at least 0 and below 1"):
        model.posterior_.groups(**wrong)


def test_no_candidate_no_group():
    X = np.random.default_rng(0).normal(size=(60, 5))
    y = np.random.default_rng(1).normal(size=60)
    with pytest.warns(UserWarning, match="worth measuring"):
        model = vg.DiverseRegressor(random_state=0).fit(X, y)
    assert all(g.probability >= 0.1 for g in model.groups_)
    assert groups_table(model).columns.tolist()[:3] == ["group", "group_probability", "feature"]


def test_the_table_says_what_the_groups_say(model):
    table = groups_table(model)
    for number, g in enumerate(model.groups_, start=1):
        rows = table[table["group"] == number]
        assert rows["feature"].tolist() == [str(f) for f in g.features]
        assert (rows["group_probability"] == g.probability).all()
        assert rows["share"].sum() == pytest.approx(1.0)
        assert rows.loc[rows["selected"], "feature"].tolist() == [g.chosen]


def test_copies_that_the_prior_does_not_keep_apart_still_stand_in_for_each_other():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 6))
    X[:, 1:4] = X[:, :1] + 0.1 * rng.normal(size=(100, 3))
    model = vg.DiverseRegressor(similarity=np.eye(6), random_state=0).fit(X, 2 * X[:, 0] + rng.normal(size=100))
    first = model.groups_[0]
    assert first.probability > 0.95
    assert 0 in first.positions
    assert first.likeness == "columns"


def test_two_chosen_features_are_never_in_one_group():
    """In the chosen set neither replaces the other, however alike they are."""
    apart = seen([0.4, 0.3, 0.3], [[1, 0, 0]] * 4 + [[0, 1, 0]] * 3 + [[0, 0, 1]] * 3)
    alike = Likeness(np.full((3, 3), 0.9), None, 0.5)
    assert [g.tolist() for g in find_groups(apart, alike, np.array([0]), 0.95, 0.1)] == [[0, 1, 2]]
    assert [g.tolist() for g in find_groups(apart, alike, np.array([0, 2]), 0.95, 0.1)] == [[0, 1], [2]]
    assert [g.tolist() for g in find_groups(apart, alike, np.array([1, 2]), 0.3, 0.1)] == [[0, 1], [2]]


def test_chosen_features_that_join_are_like_each_other_too():
    r = np.array([[1.0, 0.8, 0.8], [0.8, 1.0, 0.1], [0.8, 0.1, 1.0]])
    apart = seen([0.4, 0.3, 0.3], [[1, 0, 0]] * 4 + [[0, 1, 0]] * 3 + [[0, 0, 1]] * 3)
    for group in find_groups(apart, Likeness(r, None, 0.5), np.array([1, 2]), 0.4, 0.1):
        assert r[np.ix_(group, group)].min() >= 0.5


def test_exchanges_are_paired_within_groups_first(model):
    groups = [g._replace(positions=np.array(p)) for g, p in zip(model.groups_, ([0, 1, 2], [4, 5], [6]), strict=True)]

    def paired(gone, come):
        return exchanges(model.posterior_.target, groups, np.array(gone, dtype=int), np.array(come, dtype=int))

    assert paired([0], [2]) == [Exchange(0, 2, True)]
    assert paired([0], [3]) == [Exchange(0, 3, True)]  # a copy that the group has no need of
    assert paired([0], [4]) == [Exchange(0, 4, False)]
    assert paired([6], [8]) == [Exchange(6, 8, False)]
    assert set(paired([0, 4], [5, 1])) == {Exchange(0, 1, True), Exchange(4, 5, True)}
    assert set(paired([0, 4, 6], [5, 9])) >= {Exchange(4, 5, True)}
    assert len(paired([0, 4, 6], [5, 9])) == 2
    assert paired([], [5]) == paired([5], []) == []


def test_a_feature_of_another_group_does_not_stand_in(model):
    """Alike, but each in a group of its own: sets hold both."""
    alone = [model.groups_[0]._replace(positions=np.array([i])) for i in range(7)]
    (found,) = exchanges(model.posterior_.target, alone, np.array([0]), np.array([1]))
    assert not found.within


def test_only_a_copy_stands_in_without_being_in_the_group():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1], X[:, 2] = X[:, 0] + 0.1 * X[:, 1], X[:, 0] + X[:, 2]  # correlations of about 0.99 and 0.7
    model = vg.DiverseRegressor(random_state=0).fit(X, X[:, 0] + rng.normal(size=200))
    alone = [model.groups_[0]._replace(positions=np.array([0]))]
    for come, within in ((1, True), (2, False)):
        assert exchanges(model.posterior_.target, alone, np.array([0]), np.array([come])) == [
            Exchange(0, come, within)
        ]
