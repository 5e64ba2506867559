"""Prior size and slab precision where the ELBO is largest."""

import numpy as np
import pytest

from inference_problems import Exact, correlated_data, make_target, similarity_of_columns
from variegate.inference import Target
from variegate.likelihoods import Gaussian
from variegate.paper import empirical_bayes, natural_gradient
from variegate.paper.empirical_bayes import with_best_slab, with_size
from variegate.priors import dpp_prior


def test_size_of_the_prior_is_the_best_one():
    """E_q[log p(γ)] over prior sizes is largest at the expected size of q."""
    for kind in ("dpp", "bernoulli"):
        target = make_target(kind, "dpp", M=8, expected_size=1.2)
        q = target.distribution(np.random.default_rng(0).normal(size=8) - 0.3)
        log_q = Exact(target).log_q(q.theta)
        learned = with_size(target, q.expected_size)

        def prior_term(prior, log_q=log_q, target=target):
            sets = Exact(target.with_prior(prior)).sets
            return np.exp(log_q) @ [prior.log_prob(S) for S in sets]

        best = prior_term(learned.prior)
        for factor in (0.8, 0.95, 1.05, 1.25):
            assert prior_term(target.prior.rescaled(factor * q.expected_size)) < best


def test_never_below_one_feature_and_a_fixed_size_stays():
    assert with_size(make_target(M=8), 0.01).prior.expected_size == pytest.approx(1.0)
    fixed = make_target(M=8, size=3)
    assert with_size(fixed, 1.0) is fixed


def test_slab_precision_is_the_best_value():
    target = make_target(M=8, seed=0)
    sets = [np.array([0, 2]), np.array([2, 4]), np.array([0, 4, 6]), np.array([], dtype=np.int64)]

    def evidence(c):
        return np.mean([target.likelihood.with_slab_precision(c).log_evidence(S) for S in sets])

    c = with_best_slab(target, sets).slab_precision
    assert evidence(c) > max(evidence(0.7 * c), evidence(1.4 * c))
    assert with_best_slab(target, sets[-1:]) is target


def test_learning_raises_the_elbo():
    X, y = correlated_data(M=10, N=100, r=0.5, seed=4)
    target = Target(Gaussian(X, y, slab_precision=1e4), dpp_prior(similarity_of_columns(X), expected_size=8), "dpp")
    learned = empirical_bayes(target, 0)
    assert natural_gradient(learned, 0).elbo > natural_gradient(target, 0).elbo + 1
    assert learned.slab_precision < 1e3
    given = empirical_bayes(target, 0, size=False, slab=False)
    assert (given.slab_precision, given.prior.expected_size) == (1e4, pytest.approx(8.0))
