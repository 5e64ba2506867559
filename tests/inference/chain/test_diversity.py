"""The exponent of the volume: chains, best sets and priors against enumeration."""

import numpy as np
import pytest

from chain_problems import Enumerated, Pace, close, g_test, make_target, model_of, walk
from inference_problems import correlated_data, similarity_of_columns
from oracle import all_sets
from variegate.dpp import Trials
from variegate.inference import ChainSettings, ConvergenceWarning, Target, sample
from variegate.inference.chain.enumeration import enumerate_sets
from variegate.inference.chain.grid import PriorSizes, grid_of
from variegate.likelihoods import Gaussian
from variegate.posterior import Posterior
from variegate.priors import dpp_prior

pytestmark = pytest.mark.usefixtures("chains")

GIVEN = ChainSettings(tol=0.006, average_size=False, average_slab=False)


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize(
    ("task", "diversity"), [("gaussian", 0.0), ("gaussian", 0.5), ("gaussian", 3.0), ("logistic", 3.0)]
)
def test_inclusion_probabilities_are_those_of_enumeration(task, diversity, size):
    target = make_target(task=task, diversity=diversity, size=size, M=10 if task == "gaussian" else 8)
    found = sample(target, 1, GIVEN)
    assert found.converged
    assert close(found, Enumerated(model_of(target)))


def test_sampled_sets_pass_the_g_test_and_those_of_another_diversity_fail_it():
    model = model_of(make_target(diversity=3.0, M=6))
    exact = Enumerated(model)
    _, _, sets = walk(model, Pace(0.1, 30.0, 1), 2000, seed=2)
    assert g_test(sets[1:], exact) > 1e-3
    _, _, sets = walk(model_of(make_target(diversity=2.0, M=6)), Pace(0.1, 30.0, 1), 2000, seed=2)
    assert g_test(sets[1:], exact) < 1e-6


def test_averaged_hyperparameters_are_those_of_numerical_integration():
    target = make_target(diversity=3.0, M=8)
    exact = Enumerated(model_of(target, average_size=True, average_slab=True))
    with pytest.warns(ConvergenceWarning):
        found = sample(target, 1, ChainSettings(tol=1e-9, max_laps=150))
    assert np.abs(found.inclusion - exact.inclusion).max() < 0.02
    assert np.abs(found.hyperparameters.probability - exact.hyperparameters).max() < 0.02


def test_a_random_scope_changes_nothing():
    model = model_of(make_target(diversity=2.5, M=7))
    scope = np.array([0.2, 0.1, 1.0, 0.1, 1.0, 0.1, 0.2])
    found, _, _ = walk(model, Pace(0.1, 2.0, 1), 12_000, seed=1, scope=scope)
    assert np.abs(found - Enumerated(model).inclusion).max() < 0.03


def test_a_chain_on_the_prior_has_the_expected_size():
    """Where the data say nothing, sets are those of the prior."""
    X, y = correlated_data(M=30, N=60)
    prior = dpp_prior(similarity_of_columns(X), expected_size=4.0, diversity=4.0)
    found = sample(Target(Gaussian(X, y, slab_precision=1e12), prior), 0, GIVEN)
    assert found.inclusion.sum() == pytest.approx(4.0, abs=0.1)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_with_a_large_exponent_the_best_set_is_the_most_diverse(size):
    target = make_target(diversity=1e6, M=8)
    best = Posterior(sample(target, 0, ChainSettings(max_laps=8, tol=1.0))).map(size)
    sets = [np.array(S) for S in all_sets(8) if len(S) == size]
    assert best.tolist() == max(sets, key=target.volume.log_volume).tolist()


def test_extreme_exponents_have_an_answer():
    """All weights but a few underflow; enumeration, too, must measure them from the largest."""
    target = make_target(diversity=1e3, M=6)
    model = model_of(target, average_size=True, average_slab=True)
    exact, found = enumerate_sets(model).averages.inclusion, sample(target, 0)
    assert (exact > 0.1).any()
    assert np.abs(found.inclusion - exact).max() < 0.01


def test_exchanges_and_odds_are_differences_of_the_joint():
    target, S = make_target(diversity=2.5, M=8), np.array([1, 4, 6])
    odds = target.log_odds(target.evaluate([S]))[0]
    for m in range(8):
        inside, outside = np.union1d(S, [m]), np.setdiff1d(S, [m])
        assert odds[m] == pytest.approx(target.log_joint(inside) - target.log_joint(outside))
    exchanged = target.exchanges(S)
    assert exchanged[0, 3] == pytest.approx(target.log_joint(np.array([3, 4, 6])))


@pytest.mark.parametrize("rank", [40, 300, 600])
def test_the_grid_of_expected_sizes_reaches_half_of_any_rank(rank):
    X = np.random.default_rng(0).normal(size=(20, rank))
    prior = dpp_prior(np.eye(rank), expected_size=3, diversity=2.0)
    grid = grid_of(Target(Gaussian(X, X[:, 0]), prior), ChainSettings(average_slab=False))
    assert np.isfinite(grid.log_kappa).all()
    assert (np.diff(grid.log_kappa) > 0).all()
    assert prior.shifted(grid.log_kappa[-1]).expected_size > 0.499 * rank


@pytest.mark.parametrize("size", [0.1, 2.0, 31.5, 32.5])
def test_any_expected_size_with_features_left_out_and_log_odds_of_500(size):
    sizes = PriorSizes(Trials(np.array([500.0, 0.0, -500.0])), others=30, log_other=0.0)
    assert sizes.expected(sizes.shift(size)) == pytest.approx(size)
