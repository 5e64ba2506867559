"""Algorithm 1: what it converges to, as printed and with the base measure subtracted."""

import numpy as np
import pytest

from inference_problems import Exact, make_target
from oracle import enumerate_dpp
from variegate import IndependentSets, LowRankDPP
from variegate.inference.fixed_form import fixed_form, second_moment
from variegate.inference.starts import flat_start


def run(target, seed=0, **kwargs):
    return fixed_form(target, flat_start(target, 3.0), np.random.default_rng(seed), **kwargs).theta


def test_as_printed_it_minimises_the_divergence_from_p_times_nu():
    """Regressing log p(y|γ)p(γ) with a Bernoulli prior on γ under a DPP is the DPP prior of the same α in disguise."""
    strict = make_target("bernoulli", "dpp", r=0.9, seed=0, M=10)
    printed = make_target("dpp", "dpp", r=0.9, seed=0, M=10)
    printed = printed.with_prior(LowRankDPP(printed.phi, strict.prior.theta))  # the same α
    theta = run(printed, n_iter=6000)
    over_nu, over_p = Exact(printed), Exact(strict)
    assert over_nu.divergence(theta)[0] - over_nu.smallest_divergence() < 0.02
    assert over_p.divergence(theta)[0] - over_p.smallest_divergence() > 0.1


def test_closed_form_covariance():
    """It converges to the same point; on collinear columns far more slowly, so an easy problem serves here."""
    target = make_target("dpp", "dpp", r=0.3, seed=0, M=6, expected_size=2.0)
    exact = Exact(target)
    assert exact.divergence(run(target, n_iter=4000, covariance="closed"))[0] - exact.smallest_divergence() < 0.005


def test_with_the_base_measure_subtracted_it_minimises_the_divergence_from_p():
    target = make_target("bernoulli", "dpp", r=0.9, seed=0, M=10)
    exact = Exact(target)
    theta = run(target, n_iter=6000)
    assert exact.divergence(theta)[0] - exact.smallest_divergence() < 0.02


def test_mean_field_and_fixed_size():
    target = make_target("bernoulli", "bernoulli", r=0.5, seed=1, M=8)
    exact = Exact(target)
    assert exact.divergence(run(target, n_iter=4000))[0] - exact.smallest_divergence() < 0.02
    sized = make_target("dpp", "dpp", r=0.5, seed=1, M=7, size=3)
    exact = Exact(sized)
    assert exact.divergence(run(sized, n_iter=4000))[0] - exact.smallest_divergence() < 0.05


@pytest.mark.parametrize("family", ["dpp", "independent"])
def test_second_moment(family):
    """E_q[γγᵀ] is not K, as the paper has it: off the diagonal it is K_iiK_jj − K_ij²."""
    rng = np.random.default_rng(0)
    phi, theta = rng.normal(size=(6, 4)), rng.normal(size=6)
    q = LowRankDPP(phi, theta) if family == "dpp" else IndependentSets(theta)
    oracle = enumerate_dpp(phi if family == "dpp" else np.eye(6), theta)
    gamma = np.column_stack([oracle.gamma, np.ones(len(oracle.sets))])
    np.testing.assert_allclose(second_moment(q), (gamma * oracle.prob[:, None]).T @ gamma, atol=1e-12)
    if family == "dpp":
        assert np.abs(second_moment(q)[:6, :6] - q.marginal_kernel(np.arange(6))).max() > 0.1
