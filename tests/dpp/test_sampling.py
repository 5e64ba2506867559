"""Samplers against enumerated probabilities; the same tests must reject wrong samplers."""

import numpy as np
import pytest

from dpp_problems import NAMES, problem
from oracle import enumerate_dpp, g_test, g_test_counts
from variegate import IndependentSets, LowRankDPP
from variegate.dpp.poisson_binomial import size_table
from variegate.dpp.sampling import draw_projections

N = 20_000
FAIR = 1e-4  # one false alarm in ten thousand seeds; the seeds are fixed


@pytest.fixture(scope="module")
def dpp():
    rng = np.random.default_rng(5)
    phi, theta = rng.normal(size=(6, 4)), rng.normal(size=6) - 0.5
    return LowRankDPP(phi, theta), enumerate_dpp(phi, theta)


@pytest.mark.parametrize("name", NAMES)
def test_free_size(name):
    q, oracle = problem(name)
    assert g_test(q.sample(N, 0), oracle) > FAIR


@pytest.mark.parametrize("name", NAMES)
def test_fixed_size(name):
    q, oracle = problem(name)
    for k in range(1, q.rank + 1):
        prob, _ = oracle.where(oracle.sizes == k)
        assert g_test(q.sample_fixed_size(k, N // 4, k), oracle, prob) > FAIR


def test_the_rare_fallback_draws_from_the_same_law(dpp):
    q, oracle = dpp
    rng = np.random.default_rng(0)
    picks = [np.flatnonzero(rng.random(4) < q._numerics.spectrum.mu) for _ in range(N)]
    assert g_test(draw_projections(q._numerics.store, picks, rng, tries=0), oracle) > FAIR


def test_more_than_one_block_of_items():
    # the inverse distribution functions work in blocks of 64 items; counts of single items see them all
    rng = np.random.default_rng(3)
    q = LowRankDPP(rng.normal(size=(200, 3)), rng.normal(size=200) - 4)
    draws = q.sample_fixed_size(1, N, 0)
    assert g_test_counts(np.bincount(np.concatenate(draws), minlength=200), q.inclusion_prob_fixed_size(1)) > FAIR


def test_sizes_follow_the_poisson_binomial_law(dpp):
    q, oracle = dpp
    sizes = np.bincount([len(S) for S in q.sample(N, 1)], minlength=5)
    law = np.bincount(oracle.sizes, weights=oracle.prob)[:5]
    assert g_test_counts(sizes, law) > FAIR
    mu = np.linalg.eigvalsh(q.marginal_kernel(np.arange(6)))[2:]
    np.testing.assert_allclose(size_table(mu, 4)[-1], law, rtol=1e-9)


def test_conditioned_draws(dpp):
    q, oracle = dpp
    given = q.condition(include=[1], exclude=[4])
    prob, _ = oracle.where(oracle.gamma[:, 1] & ~oracle.gamma[:, 4])
    assert g_test([np.sort([1, *given.items[S]]) for S in given.sample(N, 3)], oracle, prob) > FAIR


def test_pairs_repel_by_the_squared_kernel(dpp):
    q, _ = dpp
    gamma = np.zeros((10 * N, 6))
    for row, S in zip(gamma, q.sample(10 * N, 2), strict=True):
        row[S] = 1
    K = q.marginal_kernel(np.arange(6))
    off = ~np.eye(6, dtype=bool)
    error = np.cov(gamma.T, bias=True)[off] + K[off] ** 2
    assert np.abs(error).max() < 5 * 0.25 / np.sqrt(len(gamma))  # five standard errors
    assert np.abs(K[off] ** 2).max() > 20 * np.abs(error).max()  # and the effect itself is far larger


class TestNegativeControls:
    """Each of these wrong samplers must be caught by the test that the right one passes."""

    def test_slightly_wrong_quality(self, dpp):
        q, oracle = dpp
        p = q.inclusion_prob()
        tilted = LowRankDPP(q.phi, q.theta + 0.15 * (np.arange(6) == np.argmax(p * (1 - p))))
        assert g_test(tilted.sample(N, 0), oracle) < FAIR

    def test_an_item_that_is_never_drawn(self, dpp):
        q, oracle = dpp
        rarest = int(np.argmin(q.inclusion_prob()))
        draws = [S[rarest != S] for S in q.sample(N, 0)]
        assert g_test(draws, oracle) < FAIR

    def test_no_repulsion(self, dpp):
        q, oracle = dpp
        p = q.inclusion_prob()
        independent = IndependentSets(np.log(p / (1 - p)))
        assert g_test(independent.sample(N, 0), oracle) < FAIR

    def test_fixed_size_without_the_polynomials(self, dpp):
        q, oracle = dpp
        rng = np.random.default_rng(0)
        mu = q._numerics.spectrum.mu
        picks = [np.sort(rng.choice(4, size=2, replace=False, p=mu / mu.sum())) for _ in range(N)]
        prob, _ = oracle.where(oracle.sizes == 2)
        assert g_test(draw_projections(q._numerics.store, picks, rng), oracle, prob) < FAIR


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_determines_the_draws(name):
    q, _ = problem(name)
    fresh = LowRankDPP(q.phi, q.theta) if isinstance(q, LowRankDPP) else IndependentSets(q.theta)
    for draw in (lambda q, seed: q.sample(20, seed), lambda q, seed: q.sample_fixed_size(1, 20, seed)):
        first, again = draw(q, np.random.default_rng(7)), draw(fresh, 7)
        assert [S.tolist() for S in first] == [S.tolist() for S in again]


def test_the_global_random_state_is_left_alone(dpp):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    dpp[0].sample(5, 0)
    dpp[0].sample_fixed_size(2, 5, 0)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_the_last_digit_of_the_data_changes_no_draw():
    """Several certain items: eigh may rotate their eigenvectors, which must not change the draws."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        phi, theta = rng.normal(size=(12, 12)), np.append(rng.uniform(40, 60, 4), rng.normal(-2, 1, 8))
        other = phi * (1 + 1e-15 * rng.normal(size=phi.shape))
        one, two = (LowRankDPP(p, theta).sample(200, np.random.default_rng(0)) for p in (phi, other))
        assert [S.tolist() for S in one] == [S.tolist() for S in two]
