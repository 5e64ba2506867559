"""Metropolis chains for a likelihood that is only a function of a set, against enumeration."""

import numpy as np
import pytest

from chain_problems import NONE, Enumerated, close, g_test, make_target, model_of
from variegate.inference import ChainSettings, Target, sample
from variegate.inference.chain import metropolis
from variegate.likelihoods import CustomLikelihood
from variegate.posterior import Posterior
from variegate.priors import bernoulli_prior
from variegate.sets import membership

GIVEN = {"average_size": False, "average_slab": False}
PRIORS = pytest.mark.parametrize(("prior", "size"), [("dpp", None), ("bernoulli", None), ("dpp", 3)])


def function_only(target):
    """The same target, of whose likelihood only the evidence is known."""
    custom = CustomLikelihood(target.likelihood.log_evidence, target.n_features)
    return Target(custom, target.prior, phi=target.phi, size=target.size)


def sets_of_walks(target, laps=40, seed=0):
    """Sets of one chain, far enough apart to count as independent."""
    model = model_of(target)
    start = membership([model.possible(NONE, np.random.default_rng(0))], target.n_features)[0]
    walker = metropolis.Walker(model, start, np.random.default_rng(seed))
    walker.lap()
    sets = []
    for _ in range(laps):
        walker.lap()
        sets += [draw.S for draw in walker.draws]
    return sets


@PRIORS
def test_sets_have_the_enumerated_probabilities(prior, size):
    known = make_target(prior, M=6, r=0.9, seed=1, size=size)
    sets = sets_of_walks(function_only(known))
    assert g_test(sets, Enumerated(model_of(known))) > 1e-3


def test_proposals_less_probable_than_their_reverse_are_noticed(monkeypatch):
    """Adding and dropping are chosen by a coin, so small sets are left too often."""

    def lopsided(gamma, free, rng, *, keep_size):
        pool = np.flatnonzero(gamma == (rng.random() < 0.5))
        return gamma ^ np.isin(free, rng.choice(pool)) if len(pool) else gamma

    known = make_target("dpp", M=6, r=0.9, seed=1)
    monkeypatch.setattr(metropolis, "proposed", lopsided)
    assert g_test(sets_of_walks(function_only(known)), Enumerated(model_of(known))) < 1e-3


@PRIORS
def test_inclusion_within_errors_with_the_prior_size_averaged_over(prior, size):
    known = make_target(prior, M=6, r=0.9, seed=1, size=size)
    found = sample(function_only(known), 0, ChainSettings(tol=0.01))
    assert found.converged
    assert close(found, Enumerated(model_of(known, average_size=size is None)))


def test_conditions_hold_and_have_the_enumerated_probabilities():
    known = make_target("dpp", M=6, r=0.9, seed=1)
    found = sample(function_only(known), 0, ChainSettings(tol=0.01, **GIVEN)).given(np.array([1]), np.array([4]))
    assert close(found, Enumerated(model_of(known, included=[1], excluded=[4])))
    assert all(1 in S and 4 not in S for S in found.sets)


def test_the_result_is_one_like_any_other():
    found = sample(function_only(make_target("dpp", M=6, r=0.9, seed=1)), 0)
    assert found.q_difference < 0.01
    posterior = Posterior(found)
    assert posterior.map().tolist() == Posterior(sample(make_target("dpp", M=6, r=0.9, seed=1), 0)).map().tolist()
    assert posterior.diagnostics().slab_precision is None
    assert posterior.diagnostics().messages() == []
    assert len(posterior.alternatives(2)) == 2


def test_a_seed_determines_the_sets():
    target = function_only(make_target("dpp", M=6))
    first, again, other = (sample(target, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.inclusion, again.inclusion)
    assert (first.inclusion != other.inclusion).any()


def test_a_single_feature_is_flipped_and_a_full_set_of_fixed_size_stays():
    likelihood = CustomLikelihood(lambda S: np.log(3.0) * len(S), n_features=1)
    target = Target(likelihood, bernoulli_prior(1, expected_size=0.5), family="bernoulli")
    found = sample(target, 0, ChainSettings(**GIVEN))
    assert found.inclusion[0] == pytest.approx(0.75, abs=0.03)
    everything = Target(likelihood, bernoulli_prior(1, expected_size=0.5), family="bernoulli", size=1)
    assert sample(everything, 0).inclusion.tolist() == [1.0]
