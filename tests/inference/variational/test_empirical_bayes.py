"""Prior size and slab precision where the ELBO is largest."""

import numpy as np
import pytest

from inference_problems import Exact, correlated_data, make_target, similarity_of_columns
from variegate.inference import Settings, Target, fit
from variegate.inference.variational.empirical_bayes import learn_size, learn_slab_precision
from variegate.likelihoods import Gaussian
from variegate.priors import bernoulli_prior, dpp_prior


class Bowl:
    """Log evidence −(log c − best)², whatever the set."""

    n_features = 3
    exact_gains = True

    def __init__(self, best, c):
        self.best, self.slab_precision = best, c

    def roughly(self, rough):
        return self

    def with_slab_precision(self, c):
        return Bowl(self.best, c)

    def log_evidence(self, S):
        return -((np.log(self.slab_precision) - self.best) ** 2)

    def flip_gains(self, S):
        raise NotImplementedError

    flip_gains_many = flip_gains


class TestHyperparameters:
    def test_size_of_the_prior_is_the_best_one(self):
        """E_q[log p(γ)] over prior sizes is largest at the expected size of q."""
        for kind in ("dpp", "bernoulli"):
            target = make_target(kind, "dpp", M=8, expected_size=1.2)
            q = target.distribution(np.random.default_rng(0).normal(size=8) - 0.3)
            log_q = Exact(target).log_q(q.theta)
            learned = learn_size(target, q.expected_size, least_change=0.0)

            def prior_term(prior, log_q=log_q, target=target):
                sets = Exact(target.with_prior(prior)).sets
                return np.exp(log_q) @ [prior.log_prob(S) for S in sets]

            best = prior_term(learned.prior)
            for factor in (0.8, 0.95, 1.05, 1.25):
                assert prior_term(target.prior.rescaled(factor * q.expected_size)) < best

    def test_never_below_one_feature(self):
        assert learn_size(make_target(M=8), 0.01, least_change=0.1).prior.expected_size == pytest.approx(1.0)

    def test_slab_precision_rises_to_the_best_value(self):
        target = make_target(M=8, seed=0)
        sets = [np.array([0, 2]), np.array([2, 4]), np.array([0, 4, 6])]

        def evidence(c):
            return np.mean([target.likelihood.with_slab_precision(c).log_evidence(S) for S in sets])

        for _ in range(6):
            target = learn_slab_precision(target, sets, least_change=0.01)
        c = target.likelihood.slab_precision
        assert evidence(c) > max(evidence(0.7 * c), evidence(1.4 * c))

    @pytest.mark.parametrize("c", [1.5e-3, 5e5])
    def test_a_parabola_next_to_the_end_of_the_range(self, c):
        """An even grid even there: the vertex of a parabola in log c is found exactly."""
        for best in (np.log(c) + 0.3, np.log(c) - 0.2):
            likelihood = Bowl(best, c)
            target = Target(likelihood, bernoulli_prior(3, expected_size=1), "bernoulli")
            learned = learn_slab_precision(target, [np.array([0])], least_change=0.01)
            assert np.log(learned.likelihood.slab_precision) == pytest.approx(best, abs=1e-9)
        outside = Target(Bowl(np.log(1e9), 5e5), bernoulli_prior(3, expected_size=1), "bernoulli")
        assert learn_slab_precision(
            outside, [np.array([0])], least_change=0.1
        ).likelihood.slab_precision == pytest.approx(1e6)

    def test_learning_raises_the_elbo(self):
        X, y = correlated_data(M=10, N=100, r=0.5, seed=4)
        phi = similarity_of_columns(X)
        target = Target(Gaussian(X, y, slab_precision=1e4), dpp_prior(phi, expected_size=8), "dpp")
        given = fit(target, np.random.default_rng(0), Settings(learn_size=False, learn_slab=False))
        learned = fit(target, np.random.default_rng(0))
        assert learned.elbo > given.elbo + 1
        assert learned.target.likelihood.slab_precision < 1e3

    def test_log_odds_tilt_the_prior(self):
        tilted = bernoulli_prior(3, expected_size=1.0, log_odds=[2.0, 0.0, 0.0])
        assert tilted.theta[0] - tilted.theta[1] == pytest.approx(2.0)
        assert tilted.expected_size == pytest.approx(1.0)
