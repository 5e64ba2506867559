"""Our method and the paper's as methods."""

import numpy as np
import pytest

import variegate as vg
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


def test_the_paper_has_no_method_for_survival():
    with pytest.raises(ValueError, match="survival"):
        Variational("dpp", "dpp")(Problem(np.eye(3), np.ones(3), "survival"), 1, np.random.default_rng(0))
