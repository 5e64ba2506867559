"""The paper's methods behind the scikit-learn interface."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

from inference_problems import PAIRS, Exact
from variegate.datasets import make_blocks
from variegate.paper import VariationalClassifier, VariationalRegressor

DATA = make_blocks(60, 8, block_size=2, correlation=0.8, n_true=3, rng=0)


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_four_pairs(pair):
    model = VariationalRegressor(prior=pair[0], posterior=pair[1], n_starts=1, random_state=0).fit(DATA.X, DATA.y)
    target = model.fit_.target
    assert (target.prior_has_volume, target.family_has_volume) == (pair[0] == "dpp", pair[1] == "dpp")
    assert model.support_.sum() == len(model.fit_.q.map())
    assert np.corrcoef(model.predict(DATA.X), DATA.y)[0, 1] > 0.7
    assert (model.inclusion_probabilities_ <= 1).all()


def test_size_and_hyperparameters_may_be_given():
    options = {"n_features_to_select": 2, "expected_size": 2.0, "slab_precision": 5.0, "random_state": 0}
    model = clone(VariationalRegressor(**options)).fit(DATA.X, DATA.y)
    assert model.transform(DATA.X).shape == (60, 2)
    assert model.fit_.target.slab_precision == 5.0
    assert model.fit_.target.prior.expected_size == pytest.approx(2.0)


def test_algorithm_1():
    model = VariationalRegressor(algorithm="algorithm_1", max_iter=300, random_state=0).fit(DATA.X, DATA.y)
    assert len(model.fit_.elbo_trace) == 300


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    labels = np.array(["a", "b", "c"])[np.digitize(DATA.y, [0, 2] if classes == 3 else [0])]
    model = VariationalClassifier(n_starts=1, random_state=0).fit(DATA.X, labels)
    np.testing.assert_allclose(model.predict_proba(DATA.X).sum(axis=1), 1.0)
    assert (model.predict(DATA.X) == labels).mean() > 0.6


@pytest.mark.parametrize("wrong", [{"prior": "DPP"}, {"posterior": None}, {"algorithm": "mcmc"}])
def test_wrong_words(wrong):
    with pytest.raises(ValueError, match="must be"):
        VariationalRegressor(**wrong).fit(DATA.X, DATA.y)


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
    return np.clip(p, 1e-12, 1 - 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_spike_slab_is_coordinate_ascent(seed):
    data = make_blocks(60, 8, block_size=2, correlation=0.8, n_true=3, rng=seed)
    model = VariationalRegressor(prior="bernoulli", posterior="bernoulli", random_state=0).fit(data.X, data.y)
    exact = Exact(model.fit_.target)  # with the hyperparameters that were learned
    starts = np.clip(np.random.default_rng(1).random((12, 8)), 0.02, 0.98)
    best = min(exact.divergence(np.log(p / (1 - p)))[0] for p in (coordinate_ascent(exact, p) for p in starts))
    assert exact.divergence(model.fit_.q.theta)[0] < best + 0.003
