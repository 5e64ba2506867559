"""Algorithm 1: what it converges to, as printed and with the volume subtracted."""

import numpy as np
import pytest

from inference_problems import Exact, make_target
from oracle import enumerate_dpp
from variegate import IndependentSets, LowRankDPP
from variegate.paper import algorithm_1
from variegate.paper.algorithm_1 import second_moment


def run(target, seed=0, **kwargs):
    return algorithm_1(target, seed, **kwargs).q.theta


def test_as_printed_it_minimises_the_divergence_from_p_times_nu():
    """Regressing log p(y|γ)p(γ) with a Bernoulli prior on γ under a DPP is the same as a DPP prior of the same α."""
    strict = make_target("bernoulli", "dpp", r=0.9, seed=0, M=10)
    printed = make_target("dpp", "dpp", r=0.9, seed=0, M=10)
    printed = printed.with_prior(LowRankDPP(printed.phi, strict.prior.theta))  # the same α
    theta = run(printed, n_iter=6000)
    over_nu, over_p = Exact(printed), Exact(strict)
    assert over_nu.divergence(theta)[0] - over_nu.smallest_divergence() < 0.02
    assert over_p.divergence(theta)[0] - over_p.smallest_divergence() > 0.1


def test_closed_form_covariance():
    """It converges to the same point; on collinear columns far more slowly, so the problem here is easy."""
    target = make_target("dpp", "dpp", r=0.3, seed=0, M=6, expected_size=2.0)
    exact = Exact(target)
    assert exact.divergence(run(target, n_iter=4000, covariance="closed"))[0] - exact.smallest_divergence() < 0.005


def test_with_the_volume_subtracted_it_minimises_the_divergence_from_p():
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


def test_the_trace_is_unbiased():
    """An easy problem: estimates of the ELBO around that of the result, θ and log Z of the same step."""
    target = make_target("dpp", "dpp", r=0.3, seed=0, M=6, expected_size=2.0)
    exact = Exact(target)
    found = algorithm_1(target, 0)
    truth = exact.log_evidence - exact.divergence(found.q.theta)[0]
    assert found.elbo_trace[-1000:].mean() == pytest.approx(truth, abs=0.1)
    assert found.elbo == pytest.approx(truth, abs=4 * found.elbo_error + 1e-9)


def test_a_closed_form_is_for_free_sizes_only():
    with pytest.raises(ValueError, match="fixed size"):
        algorithm_1(make_target(M=6, size=2), 0, covariance="closed")
    with pytest.raises(ValueError, match='"empirical" or "closed"'):
        algorithm_1(make_target(M=6), 0, covariance="K")
