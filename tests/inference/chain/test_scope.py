"""Features that take turns."""

import numpy as np
import pytest

from chain_problems import Enumerated, Pace, Workspace, advance, close, make_target, model_of, walk
from variegate.inference import ChainSettings, ConvergenceWarning, Target, sample
from variegate.inference.chain import run
from variegate.inference.chain.sample import CHAINS
from variegate.inference.chain.scope import scope_probabilities, survey
from variegate.likelihoods import Gaussian
from variegate.priors import bernoulli_prior

pytestmark = pytest.mark.usefixtures("chains")

NOT = {"average_size": False, "average_slab": False}
GIVEN = ChainSettings(**NOT)
NONE = np.empty(0, dtype=np.int64)
RARELY = np.array([0.2, 0.1, 1.0, 0.1, 1.0, 0.1, 0.2])


@pytest.mark.parametrize("size", [None, 3])
def test_a_random_scope_changes_nothing(size):
    model = model_of(make_target("dpp", M=7, size=size))
    inclusion, _, _ = walk(model, Pace(0.1, 3.0, 2), 6000, seed=1, scope=RARELY)
    exact = Enumerated(model).inclusion
    assert np.abs(inclusion - exact).max() < 0.02
    wrong, _, _ = walk(model, Pace(0.1, 3.0, 2), 6000, seed=1, scope=RARELY, tilted=False)
    assert np.abs(wrong - exact).max() > 0.06  # members always in scope, without the odds that make up for it


@pytest.mark.parametrize("size", [None, 4])
def test_many_features_most_of_which_take_turns(size):
    """Features of noise come and go with the scope; sets have as many of them as the probabilities say."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3000))
    y = X[:, :2] @ [1.0, -1.0] + rng.normal(size=60)
    target = Target(Gaussian(X, y), bernoulli_prior(3000, expected_size=6), "bernoulli", size=size)
    found = sample(target, 1, ChainSettings(tol=0.02, average_size=False, average_slab=False))
    sizes = np.array([len(S) for S in found.sets])
    assert found.inclusion.sum() == pytest.approx(size or sizes.mean(), rel=1e-9 if size else 0.15)
    assert (found.inclusion_errors[2:] > 0).mean() > 0.99


@pytest.mark.parametrize("size", [None, 2])
def test_scopes_of_part_of_the_features_give_the_same_answer(monkeypatch, size):
    target = make_target("dpp", M=9, size=size)
    monkeypatch.setattr(run, "ALL", 1)
    monkeypatch.setattr(run, "SCOPE", 5)
    settings = ChainSettings(tol=0.008, max_laps=600, average_size=False, average_slab=False)
    found = sample(target, 1, settings, starts=[np.arange(size or 0)] * CHAINS)  # the scope is four times a start
    assert close(found, Enumerated(model_of(target)))


def test_chains_can_start_empty_if_features_have_more_columns_than_the_scope(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 9))
    target = Target(
        Gaussian(X, X[:, 4] + rng.normal(size=30)),
        bernoulli_prior(3, expected_size=1),
        "bernoulli",
        units=np.repeat(np.arange(3), 3),
    )
    monkeypatch.setattr(run, "ALL", 1)
    monkeypatch.setattr(run, "SCOPE", 2)
    found = sample(target, 1, ChainSettings(tol=0.02, **NOT), starts=[NONE] * CHAINS)
    off = np.abs(found.inclusion - Enumerated(model_of(target)).inclusion)
    assert (off <= 4 * found.inclusion_errors + 2e-3).all()


def test_surveys_are_few_after_burn_in(monkeypatch):
    """A survey of very many features takes longer than a lap, and says little that is new."""
    surveyed, look = [], run.survey
    monkeypatch.setattr(run, "survey", lambda *given: surveyed.append(1) or look(*given))
    monkeypatch.setattr(run, "ALL", 1)
    monkeypatch.setattr(run, "SCOPE", 5)
    with pytest.warns(ConvergenceWarning):
        found = sample(make_target("dpp", M=9), 1, ChainSettings(tol=1e-9, max_laps=17), starts=[NONE] * CHAINS)
    assert (found.inclusion > 0).all()
    assert len(surveyed) == CHAINS * (1 + run.BURN_IN + 3)  # before, in burn-in, and in laps 1, 9 and 17


def test_scope_probabilities_sum_to_the_number_asked_for():
    score = np.random.default_rng(0).random(1000) ** 8
    scope = scope_probabilities(score, 100)
    assert abs(scope.sum() - 100) < 1e-6
    assert scope.min() >= 0.5 * 100 / 1000
    assert (np.argsort(-scope)[:5] == np.argsort(-score)[:5]).all()
    assert (scope_probabilities(score, 1000) == 1.0).all()


@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_a_survey_has_the_conditionals_of_all_features(task):
    target = make_target("dpp", task=task, M=8)
    model, S, rng = model_of(target), np.array([1, 5]), np.random.default_rng(0)
    position = model.at_start(S, rng)
    local = Workspace.of(model, S, np.ones(8, dtype=bool))
    found = survey(model, position)
    # the same from the chain's own kernel: no time passes, so ∫ p dt / t is p at S
    tiny = advance(local, position, Pace(0.1, 1e-12, 1), rng)[1]
    assert np.allclose(found.probability, tiny.inclusion / tiny.weight)
    assert (found.score >= found.probability - 1e-9).sum() >= 6  # similarity of the prior is left out of the score


@pytest.mark.parametrize("prior", ["bernoulli", "dpp"])
def test_a_survey_of_a_fixed_size_is_an_exchange_away(prior):
    """The mean of surveys over the posterior is the posterior's own probability; so are conditions."""
    model = model_of(make_target(prior, M=8, size=3), included=[1], excluded=[6])
    exact, rng, mean = Enumerated(model), np.random.default_rng(0), 0.0
    for S, p in zip(exact.sets, exact.probability, strict=True):
        mean = mean + p * survey(model, model.at_start(S, rng)).probability
    assert np.allclose(mean, exact.inclusion, atol=1e-8)
