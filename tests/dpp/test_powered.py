"""Volumes to a power against enumeration, and the distribution of |S|."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oracle import all_sets
from variegate.dpp import IndependentSets, LowRankDPP, PoweredDPP, Sums, Trials, sizes

RNG = np.random.default_rng(0)
PHI, THETA = RNG.normal(size=(9, 6)) * RNG.uniform(0.5, 2.0, size=(9, 1)), RNG.normal(size=9)
SETS = [np.array(S, dtype=np.int64) for S in all_sets(9) if len(S) <= 6]


def log_weights(beta, phi=PHI, theta=THETA):
    return np.array([theta[S].sum() + beta * np.linalg.slogdet(phi[S] @ phi[S].T)[1] for S in SETS])


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_sums_over_sets_of_each_size_are_unbiased(beta, monkeypatch):
    monkeypatch.setattr(sizes, "MOST", 500)
    weights, norms = log_weights(beta), np.linalg.norm(PHI, axis=1)
    exact = [logsumexp(weights[[len(S) == k for S in SETS]]) for k in range(7)]
    arguments = PHI / norms[:, None], THETA + 2 * beta * np.log(norms), beta
    ratios = [np.exp(sizes.grown_sums(*arguments, np.random.default_rng(seed)).log_sums - exact) for seed in range(40)]
    mean, error = np.mean(ratios, axis=0), np.std(ratios, axis=0) / np.sqrt(40)
    assert mean[:2] == pytest.approx(1.0)
    assert (np.abs(mean - 1.0) <= 4 * error + 1e-9).all()
    assert (error[:5] < 0.06).all()  # the largest sets span the least: a few of them have most of the sum


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_probabilities_and_expected_size(beta):
    prior = PoweredDPP(PHI, THETA, beta).rescaled(2.0)
    assert prior.expected_size == pytest.approx(2.0)
    weights = log_weights(beta, theta=prior.theta)
    p = np.exp(weights - logsumexp(weights))
    assert p @ [len(S) for S in SETS] == pytest.approx(2.0, abs=0.02)
    assert np.exp([prior.log_prob(S) for S in SETS]).sum() == pytest.approx(1.0, abs=0.02)
    assert prior.log_prob(np.arange(7)) == -np.inf
    k_sets = logsumexp(weights[[len(S) == 3 for S in SETS]])
    assert prior.log_normalizer_fixed_size(3) == pytest.approx(k_sets, abs=0.03)


@pytest.mark.parametrize("log_odds", [5.0, 10.0, 40.0, 500.0])
def test_items_as_good_as_certain(log_odds):
    """Nearly every set with such an item can grow from nearly one set only: that without the item added last."""
    theta = np.concatenate([[log_odds, -log_odds], THETA[2:] - 1])
    prior, weights = PoweredDPP(PHI, theta, 0.5), log_weights(0.5, theta=theta)
    assert prior.log_normalizer == pytest.approx(logsumexp(weights), abs=0.01)
    for k in (1, 2, 3, 4):
        exact = logsumexp(weights[[len(S) == k for S in SETS]])
        assert prior.log_normalizer_fixed_size(k) == pytest.approx(exact, abs=0.02)


def test_with_power_one_it_is_the_dpp():
    phi = RNG.normal(size=(300, 40))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    estimated, exact = PoweredDPP(phi, np.zeros(300), 1.0).size_law, LowRankDPP(phi, np.zeros(300)).size_law
    for size in (0.1, 2.0, 10.0, 18.0):
        assert estimated.shift(size) == pytest.approx(exact.shift(size), abs=0.03)
        t = exact.shift(size)
        assert estimated.log_normalizer(t) == pytest.approx(exact.log_normalizer(t), abs=0.1)


def test_near_power_zero_items_are_independent():
    phi, theta = np.linalg.qr(RNG.normal(size=(8, 8)))[0] + 0.1, RNG.normal(size=8) - 1
    prior, independent = PoweredDPP(phi, theta, 1e-9), IndependentSets(theta)
    assert prior.log_normalizer == pytest.approx(independent.log_normalizer, abs=0.02)
    assert prior.log_prob([1, 4]) == pytest.approx(independent.log_prob([1, 4]), abs=0.02)


def test_shifting_adds_to_theta():
    prior = PoweredDPP(PHI, THETA, 2.0)
    moved, anew = prior.shifted(-1.0), PoweredDPP(PHI, THETA - 1.0, 2.0)
    assert moved.log_normalizer == pytest.approx(anew.log_normalizer, abs=1e-9)
    assert moved.expected_size < prior.expected_size
    np.testing.assert_array_equal(moved.theta, anew.theta)


def test_both_laws_of_the_size_agree():
    trials = Trials(RNG.normal(size=5))
    odds = np.exp(trials.log_odds)
    e = [sum(np.prod(odds[list(S)]) for S in all_sets(5) if len(S) == k) for k in range(6)]
    sums = Sums(np.log(e), 5)
    for t in (-3.0, 0.0, 1.5):
        assert sums.expected(t) == pytest.approx(trials.expected(t))
        assert sums.log_normalizer(t) == pytest.approx(trials.log_normalizer(t))
    assert sums.shift(1.7) == pytest.approx(trials.shift(1.7))
    assert sums.shift(1e-9) == pytest.approx(trials.shift(1e-9))


def test_zero_rows_and_copies():
    phi = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    prior = PoweredDPP(phi, np.zeros(4), 0.5)
    assert prior.rank == 2
    # the empty set, three single rows, and two pairs
    assert prior.log_normalizer == pytest.approx(np.log(6.0), abs=0.02)
    assert prior.log_prob([0, 1]) == prior.log_prob([2]) == -np.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((PHI, THETA, 0.0), "diversity must be a finite number above 0, got 0.0"),
        ((PHI, THETA, np.nan), "diversity must be"),
        ((PHI, THETA[1:], 2.0), "phi and theta must describe the same items"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        PoweredDPP(*arguments)


@pytest.mark.parametrize("size", [0.0, 3.5, np.nan])
def test_sizes_out_of_reach(size):
    with pytest.raises(ValueError, match="expected_size must be above 0 and at most 3, half of the rank"):
        PoweredDPP(PHI, THETA, 2.0).rescaled(size)
