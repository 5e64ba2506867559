"""Every formula against the enumeration of all sets, for every kind of distribution."""

import mpmath
import numpy as np
import pytest

from dpp_problems import NAMES, problem
from variegate import IndependentSets, LowRankDPP

pytestmark = pytest.mark.parametrize("name", NAMES)
close = {"rtol": 1e-9, "atol": 1e-13}


def test_log_normalizer(name):
    q, oracle = problem(name)
    assert q.log_normalizer == pytest.approx(oracle.log_total, rel=1e-9, abs=1e-12)


def test_log_prob_of_every_set(name):
    q, oracle = problem(name)
    got = np.array([q.log_prob(S) for S in oracle.sets])
    want = np.array([float(mpmath.log(w / oracle.total)) if w else -np.inf for w in oracle.weights])
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


def test_log_prob_takes_a_mask(name):
    q, _ = problem(name)
    mask = np.zeros(q.n_items, dtype=bool)
    mask[-1] = True
    assert q.log_prob(mask) == q.log_prob([q.n_items - 1])


def test_inclusion_prob_and_expected_size(name):
    q, oracle = problem(name)
    np.testing.assert_allclose(q.inclusion_prob(), oracle.expect(oracle.gamma), **close)
    assert q.expected_size == pytest.approx(oracle.expect(oracle.sizes), rel=1e-9)


def test_marginal_kernel_gives_joint_inclusion(name):
    q, oracle = problem(name)
    everything = np.arange(q.n_items)
    K = q.marginal_kernel(everything)
    for A in oracle.sets:
        joint = oracle.expect(oracle.gamma[:, A].all(axis=1))
        assert np.linalg.det(K[np.ix_(A, A)]) == pytest.approx(joint, rel=1e-9, abs=1e-12)
    rows, cols = everything[::2], everything[::-1]
    np.testing.assert_allclose(q.marginal_kernel(rows, cols), K[np.ix_(rows, cols)], **close)


def test_covariance_matvec(name):
    q, oracle = problem(name)
    mean = oracle.expect(oracle.gamma)
    covariance = (oracle.gamma * oracle.prob[:, None]).T @ oracle.gamma - np.outer(mean, mean)
    v = np.random.default_rng(1).normal(size=q.n_items)
    np.testing.assert_allclose(q.covariance_matvec(v), covariance @ v, rtol=1e-9, atol=1e-12)


def test_rank_is_the_largest_possible_size(name):
    q, oracle = problem(name)
    assert q.rank == oracle.sizes[oracle.prob > 0].max()


def test_fixed_size(name):
    q, oracle = problem(name)
    for k in range(q.rank + 1):
        prob, total = oracle.where(oracle.sizes == k)
        np.testing.assert_allclose(q.inclusion_prob_fixed_size(k), prob @ oracle.gamma, **close)
        assert q.log_normalizer_fixed_size(k) == pytest.approx(float(mpmath.log(total)), rel=1e-9, abs=1e-10)


def test_rescaled(name):
    q, _ = problem(name)
    for size in (0.01, 0.5 * q.rank, q.rank - 0.01):
        scaled = q.rescaled(expected_size=size)
        assert scaled.expected_size == pytest.approx(size, rel=1e-9)
        assert np.ptp(scaled.theta - q.theta) < 1e-12


def test_conditioning_is_renormalising(name):
    q, oracle = problem(name)
    cases = [([0], []), ([], [q.n_items - 1]), ([0], [q.n_items - 1]), ([1, 2], [0]), ([], np.arange(q.n_items))]
    for include, exclude in cases:
        if max([*include, 0]) >= q.n_items or set(include) & set(exclude):
            continue
        keep = oracle.gamma[:, include].all(axis=1) & ~oracle.gamma[:, exclude].any(axis=1)
        if oracle.prob[keep].sum() == 0:
            with pytest.raises(ValueError, match="linearly independent"):
                q.condition(include=include, exclude=exclude)
            continue
        given = q.condition(include=include, exclude=exclude)
        assert type(given) is type(q)
        prob, _ = oracle.where(keep)
        np.testing.assert_allclose(given.inclusion_prob(), (prob @ oracle.gamma)[given.items], **close)


def test_conditioning_twice_is_conditioning_once(name):
    q, _ = problem(name)
    if q.n_items < 4:
        return
    twice = q.condition(include=[0]).condition(exclude=[0])  # position 0 is now item 1
    once = q.condition(include=[0], exclude=[1])
    assert twice.items.tolist() == once.items.tolist()
    np.testing.assert_allclose(twice.inclusion_prob(), once.inclusion_prob(), **close)


def test_a_dpp_with_orthonormal_features_is_mean_field(name):
    theta = problem(name)[0].theta
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(len(theta), len(theta))))[0]
    dpp, independent = LowRankDPP(rotation, theta), IndependentSets(theta)
    np.testing.assert_allclose(dpp.inclusion_prob(), independent.inclusion_prob(), **close)
    assert dpp.log_normalizer == pytest.approx(independent.log_normalizer, rel=1e-9)
    assert dpp.map().tolist() == independent.map().tolist()
    np.testing.assert_allclose(dpp.marginal_kernel([0]), independent.marginal_kernel([0]), **close)
