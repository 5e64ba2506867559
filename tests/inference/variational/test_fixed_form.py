"""Algorithm 1: what it converges to, as printed and with the volume subtracted."""

import numpy as np
import pytest

from inference_problems import Exact, make_target
from oracle import enumerate_dpp
from variegate import IndependentSets, LowRankDPP
from variegate.inference import ConvergenceWarning, Settings, fit
from variegate.inference.variational.fixed_form import fixed_form, second_moment
from variegate.inference.variational.starts import flat_start


def run(target, seed=0, **kwargs):
    *_, end = fixed_form(target, flat_start(target), np.random.default_rng(seed), **kwargs)
    return end.theta


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


class TestThroughFit:
    def test_both_covariances_are_within_reach(self):
        """An easy problem that both solve: the same optimum, a trace of ELBO estimates around it."""
        target = make_target("dpp", "dpp", r=0.3, seed=0, M=6, expected_size=2.0)
        exact = Exact(target)
        for covariance in ("empirical", "closed"):
            given = Settings("fixed_form", learn_size=False, learn_slab=False, covariance=covariance)
            found = fit(target, np.random.default_rng(0), given)
            gap = exact.divergence(found.q.theta)[0] - exact.smallest_divergence()
            assert gap < 0.01
            assert found.converged
            truth = exact.log_evidence - exact.divergence(found.q.theta)[0]
            late = found.elbo_trace[-1000:]
            assert late.mean() == pytest.approx(truth, abs=0.1)  # an unbiased trace: θ and log Z of the same step

    @pytest.mark.parametrize("n_iter", [1, 3, 50, 200])
    def test_too_few_steps_have_not_settled(self, n_iter):
        target = make_target("dpp", "dpp", r=0.9, seed=0, M=10)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            found = fit(target, np.random.default_rng(0), Settings("fixed_form", max_iter=n_iter))
        assert not found.converged

    def test_a_run_that_calls_itself_converged_is_close(self):
        """r = 0.9 takes more than 1,000 steps (0.27 nats above the optimum then); 6,000 are enough."""
        target = make_target("dpp", "dpp", r=0.9, seed=0, M=10)
        exact = Exact(target)
        for n_iter in (1000, 6000):
            *_, point = fixed_form(target, flat_start(target), np.random.default_rng(0), n_iter=n_iter)
            gap = exact.divergence(point.theta)[0] - exact.smallest_divergence()
            assert point.converged == (n_iter == 6000)
            assert (gap < 0.05) == point.converged

    def test_hyperparameters_are_learned(self):
        target = make_target("dpp", "dpp", r=0.3, seed=0, M=6, expected_size=5.0)
        target = target.with_slab_precision(1e4)
        found = fit(target, np.random.default_rng(0), Settings("fixed_form", max_iter=3000))
        usual = fit(target, np.random.default_rng(0))
        assert found.n_iter == 3000
        assert found.target.likelihood.slab_precision < 3e3
        assert found.elbo > fit(target, np.random.default_rng(0), Settings(learn_size=False, learn_slab=False)).elbo
        assert found.target.prior.expected_size == pytest.approx(usual.target.prior.expected_size, rel=0.3)

    def test_interrupt_keeps_what_there_is(self):
        heard = []

        def impatient(progress):
            heard.append(progress)
            if len(heard) == 10:
                raise KeyboardInterrupt

        with pytest.warns(ConvergenceWarning, match="best found so far"):
            found = fit(make_target(M=6), np.random.default_rng(0), Settings("fixed_form"), callback=impatient)
        assert found.interrupted
        assert not found.converged
        np.testing.assert_allclose(found.q.theta, np.mean([p.theta for p in heard[4:9]], axis=0))

    def test_a_closed_form_for_a_fixed_size_is_refused(self):
        with pytest.raises(ValueError, match='must be "empirical" for a fixed size'):
            fit(make_target(M=6, size=2), np.random.default_rng(0), Settings("fixed_form", covariance="closed"))
