"""Our method and the paper's as methods, and spike and slab against coordinate ascent."""

import numpy as np
import pytest
from scipy.special import expit

import variegate as vg
from inference_problems import Exact
from variegate.baselines import METHODS, Problem, chooses_size, select
from variegate.baselines.ours import Diverse, Variational
from variegate.datasets import make_blocks

VARIATIONAL = [name for name in METHODS if chooses_size(name)]
# what is tested is the set; that a short fit says it could be longer is right
pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


def problem(seed, task="regression", n_features=8):
    data = make_blocks(60, n_features, block_size=2, correlation=0.8, n_true=3, task=task, rng=seed)
    return Problem(data.X, data.y, task)


def test_four_of_them():
    assert VARIATIONAL == ["variegate", "most_probable", "bernoulli_dpp", "dpp_bernoulli", "spike_slab"]


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method", VARIATIONAL)
def test_exactly_k(method, seed, task):
    S = select(method, problem(seed, task), 3, np.random.default_rng(0))
    assert len(S) == 3
    np.testing.assert_array_equal(S, np.unique(S))


@pytest.mark.parametrize("method", VARIATIONAL)
def test_the_same_again(method):
    first, second = (select(method, problem(0), 3, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_ours_is_the_estimators():
    given = problem(1)
    model = vg.DiverseRegressor(n_features_to_select=2, random_state=np.random.default_rng(3)).fit(given.X, given.y)
    found = select("variegate", given, 2, np.random.default_rng(3))
    np.testing.assert_array_equal(found, np.flatnonzero(model.support_))


@pytest.mark.parametrize("size", [2, None])
def test_the_matched_dpp_is_the_posteriors_own(size):
    given = problem(1)
    model = vg.DiverseRegressor(prior="bernoulli", n_features_to_select=size, random_state=np.random.default_rng(3))
    q = model.fit(given.X, given.y).posterior_.q
    np.testing.assert_allclose(q.inclusion_prob(), model.inclusion_probabilities_, atol=2e-3)
    found = select(Variational("bernoulli", "dpp", solver="chain"), given, size, np.random.default_rng(3))
    np.testing.assert_array_equal(found, np.sort(q.map(size)))


def test_a_size_of_its_own():
    given = problem(2)
    model = vg.DiverseRegressor(random_state=np.random.default_rng(3)).fit(given.X, given.y)
    assert 0 < model.support_.sum() < 8
    found = select("variegate", given, None, np.random.default_rng(3))
    np.testing.assert_array_equal(found, np.flatnonzero(model.support_))


@pytest.mark.filterwarnings("error")
def test_a_fit_cut_short_has_the_same_set_and_does_not_warn():
    given = problem(3, "classification")
    model = vg.DiverseClassifier(n_features_to_select=3, max_iter=2, random_state=np.random.default_rng(0))
    with pytest.warns(vg.ConvergenceWarning):
        model.fit(given.X, given.y)
    found = select(Diverse(max_iter=2), given, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(found, select("variegate", given, 3, np.random.default_rng(0)))


def test_similarity_comes_from_the_problem():
    # columns 0 and 1 carry the signal but count as the same thing: ours then takes only one of them
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = 2 * X[:, 0] + 2 * X[:, 1] + 0.2 * X[:, 2] + rng.normal(size=80)
    phi = np.eye(5)[[0, 0, 1, 2, 3, 4]]  # a prior of exactly zero, which no evidence outweighs
    free = select("variegate", Problem(X, y, "regression"), 2, np.random.default_rng(0))
    told = select("variegate", Problem(X, y, "regression", phi), 2, np.random.default_rng(0))
    np.testing.assert_array_equal(free, [0, 1])
    assert len(np.intersect1d(told, [0, 1])) == 1


def coordinate_ascent(exact, start):
    """Textbook mean field: logit p_m = E_q[log p(y, γ_m = 1) − log p(y, γ_m = 0)], in turn until nothing moves."""
    p, gamma = start.copy(), exact.gamma
    for _ in range(2000):
        before = p.copy()
        for m in range(len(p)):
            others = np.delete(np.arange(len(p)), m)
            weight = np.where(gamma[:, others] == 1, p[others], 1 - p[others]).prod(axis=1)
            p[m] = expit(weight @ (exact.log_joint * np.where(gamma[:, m] == 1, 1.0, -1.0)))
        if np.abs(p - before).max() < 1e-10:
            break
    return p


def divergence(exact, p):
    return exact.divergence(np.log(p / (1 - p)))[0]


@pytest.mark.parametrize("seed", range(10))
def test_spike_slab_is_coordinate_ascent(seed):
    given = problem(seed)
    model = vg.DiverseRegressor(
        prior="bernoulli", posterior="bernoulli", solver="rao_blackwell", random_state=np.random.default_rng(0)
    )
    posterior = model.fit(given.X, given.y).posterior_
    exact = Exact(posterior.target)  # with the hyperparameters that were learned
    starts = np.clip(np.random.default_rng(1).random((12, 8)), 0.02, 0.98)
    best = min(
        (coordinate_ascent(exact, p) for p in starts), key=lambda p: divergence(exact, np.clip(p, 1e-12, 1 - 1e-12))
    )
    best = np.clip(best, 1e-12, 1 - 1e-12)
    ours = np.clip(posterior.inclusion_prob(), 1e-12, 1 - 1e-12)
    assert divergence(exact, ours) < divergence(exact, best) + 0.02
    ranked = np.sort(best)[::-1]
    k = 1 + int(np.argmax(ranked[:-1] - ranked[1:]))  # where the order is clearest
    assert ranked[k - 1] - ranked[k] > 0.2
    found = select("spike_slab", given, k, np.random.default_rng(0))
    np.testing.assert_array_equal(found, np.sort(np.argsort(-best)[:k]))
