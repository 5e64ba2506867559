"""All sets at once, where they are few, against the textbook's sum."""

import numpy as np
import pytest

from chain_problems import Enumerated, make_target, model_of
from inference_problems import correlated_data
from variegate import Posterior
from variegate.inference import ChainSettings, Target, sample
from variegate.inference.chain.enumeration import can_enumerate, enumerate_sets
from variegate.likelihoods import Gaussian, Logistic
from variegate.priors import bernoulli_prior

AVERAGED = {"average_size": True, "average_slab": True}


def shares(sets, M):
    return np.mean([np.isin(np.arange(M), S) for S in sets], axis=0)


@pytest.mark.parametrize("conditions", [{}, {"included": [2], "excluded": [0, 5]}])
@pytest.mark.parametrize("averaged", [{}, AVERAGED])
@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("prior", ["bernoulli", "dpp"])
def test_every_number_is_that_of_the_textbook(prior, size, averaged, conditions):
    model = model_of(make_target(prior, M=9, size=size), **averaged, **conditions)
    exact, found = Enumerated(model), enumerate_sets(model)
    assert np.allclose(found.averages.inclusion, exact.inclusion, atol=1e-12)
    assert np.allclose(found.visits, exact.hyperparameters, atol=1e-12)
    assert found.steps == len(exact.sets)
    assert (found.averages.error == 0).all()
    assert np.abs(shares([d.S for d in found.draws], 9) - exact.inclusion).max() < 2e-3  # 4,000 sets stand for all
    assert np.abs(shares([d.S for d in found.draws[::20]], 9) - exact.inclusion).max() < 0.03  # and so do 200 of them


def test_units_and_several_outcomes():
    X, y = correlated_data(M=8)
    other = Gaussian(X, X[:, 5] + np.random.default_rng(1).normal(size=len(X)))
    units = np.array([0, 0, 1, 2, 3, 3, 3, 4])
    for M, likelihood, given in ((5, Gaussian(X, y), units), (8, [Gaussian(X, y), other], None)):
        target = Target(likelihood, bernoulli_prior(M, expected_size=2), "bernoulli", units=given)
        model = model_of(target, **AVERAGED)
        assert can_enumerate(model)
        assert np.allclose(enumerate_sets(model).averages.inclusion, Enumerated(model).inclusion, atol=1e-10)


def test_few_sets_only():
    def possible(target):
        return can_enumerate(model_of(target))

    assert possible(make_target(M=12))
    assert not possible(make_target(M=13))
    assert possible(make_target(M=13, size=3))
    assert not possible(make_target(M=8, task="logistic"))  # classes need auxiliary variables
    X, y = correlated_data(M=8)
    assert not possible(Target(Logistic(X, y > 0), bernoulli_prior(8, expected_size=2), "bernoulli"))


def test_wide_groups_are_left_to_the_chains():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 120))
    likelihood, units = Gaussian(X, rng.normal(size=150)), np.repeat(np.arange(12), 10)
    target = Target(likelihood, bernoulli_prior(12, expected_size=2), "bernoulli", units=units)
    model = model_of(target, **AVERAGED)
    assert not can_enumerate(model)


def test_the_posterior_reads_it_as_it_reads_chains():
    target = make_target(M=10)
    found = sample(target, 0, ChainSettings())
    posterior = Posterior(found)
    assert posterior.diagnostics().largest_error == 0.0
    assert posterior.diagnostics().messages() == []
    assert np.abs(found.q.inclusion_prob() - found.inclusion).max() < 2e-3
    without = posterior.condition(exclude=posterior.map()[:1])
    exact = Enumerated(model_of(found.target, **AVERAGED, excluded=posterior.map()[:1]))
    assert without.inclusion_prob() == pytest.approx(exact.inclusion, abs=1e-10)
