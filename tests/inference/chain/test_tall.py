"""Tables with very many rows: Gram matrices instead of columns, and no auxiliary variables."""

import numpy as np
import pytest

from chain_problems import Enumerated, chains_only, make_target, model_of
from inference_problems import correlated_data
from variegate import groups
from variegate.inference import ChainSettings, Target, sample
from variegate.inference.chain import model
from variegate.likelihoods import NegativeBinomial, Poisson
from variegate.likelihoods.counts import PoissonTerms, likeliest
from variegate.priors import bernoulli_prior

SETTINGS = {"tol": 0.01, "average_size": False, "average_slab": False}


@pytest.fixture
def tall(monkeypatch):
    """Every table has very many rows."""
    monkeypatch.setattr(model, "COLUMN_BYTES", 0)
    for module in ("counts", "laplace", "logistic"):
        monkeypatch.setattr(f"variegate.likelihoods.{module}.TALL", 0)


def assert_exact(target):
    with chains_only():
        found = sample(target, 0, ChainSettings(**SETTINGS))
    exact = Enumerated(model_of(target))
    error = np.sqrt(found.inclusion_errors**2 + 1e-6)
    assert (np.abs(found.inclusion - exact.inclusion) <= 4 * error + 0.005).all()


@pytest.mark.parametrize("task", ["gaussian", "logistic", "cox", "poisson", "negative binomial"])
def test_the_posterior_is_the_exact_one(tall, task):
    target = make_target(M=7, N=80, task=task)
    assert task == "gaussian" or not target.likelihood.can_augment
    assert_exact(target)


def test_groups_of_columns(tall):
    X, y = correlated_data(M=8, N=80, task="poisson")
    likelihood, units = Poisson(X, y, slab_precision=2.0), np.array([0, 0, 1, 2, 2, 2, 3, 4])
    assert_exact(Target(likelihood, bernoulli_prior(5, expected_size=2), family="bernoulli", units=units))


def test_a_dispersion_that_is_learned(tall, monkeypatch):
    """It is the likeliest one, where auxiliary variables average over it: with 600 rows there is little difference."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 6))
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=600)
    rate = np.exp(1 + 0.3 * X[:, 0] + 0.08 * X[:, 3])
    y = rng.negative_binomial(2, 2 / (2 + rate))
    likelihood = NegativeBinomial(X, y, slab_precision=2.0)
    target = Target(likelihood, bernoulli_prior(6, expected_size=2), family="bernoulli")
    plugged = sample(target, 0, ChainSettings(**SETTINGS))
    assert 0.4 < plugged.nuisances[0] < 0.6
    assert len(set(plugged.nuisances)) == 1
    monkeypatch.undo()
    averaged = sample(target, 0, ChainSettings(**SETTINGS))
    assert len(set(averaged.nuisances)) > 1
    np.testing.assert_allclose(plugged.inclusion, averaged.inclusion, atol=0.05)


def test_the_likeliest_dispersion_is_known_better_than_the_grid_has_it():
    rng = np.random.default_rng(0)
    eta = 1 + 0.5 * rng.normal(size=20_000)
    rate = np.exp(eta)
    y = rng.negative_binomial(4, 4 / (4 + rate)).astype(float)
    counts = PoissonTerms(y, np.zeros(len(y)), np.ones(len(y)))
    fine = likeliest(counts, np.geomspace(0.2, 0.3, 200), eta)
    assert likeliest(counts, np.geomspace(0.01, 10, 30), eta) == pytest.approx(fine, rel=0.02)


def test_groups_hold_few_columns_at_a_time(monkeypatch):
    target = make_target(M=20, N=30)
    features = np.array([0, 1, 4, 5, 7, 8, 9, 12, 13, 17])
    at_once = groups._correlations(target, features)
    monkeypatch.setattr(groups, "COLUMN_BYTES", 0)
    np.testing.assert_allclose(groups._correlations(target, features), at_once, atol=1e-12)
