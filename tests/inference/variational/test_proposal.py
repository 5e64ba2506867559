"""Draws from q and steps in its geometry."""

import numpy as np
import pytest

from inference_problems import Exact, make_target, similarity_of_columns
from variegate.inference import Target
from variegate.inference.variational import tuning
from variegate.inference.variational.proposal import propose
from variegate.likelihoods import Gaussian
from variegate.priors import dpp_prior


class TestProposal:
    def test_natural_direction_solves_for_the_covariance(self):
        target = make_target(M=8, r=0.9)
        theta = np.random.default_rng(0).normal(size=8)
        exact = Exact(target)
        q = np.exp(exact.log_q(theta))
        mean = q @ exact.gamma
        covariance = (exact.gamma * q[:, None]).T @ exact.gamma - np.outer(mean, mean)
        gradient = np.random.default_rng(1).normal(size=8)
        found = propose(target, theta).natural_direction(gradient, mean)
        ridge = tuning.RIDGE * np.diag(np.diag(covariance))
        np.testing.assert_allclose((covariance + ridge) @ found, gradient, rtol=1e-6, atol=1e-6)

    def test_improbable_features_are_left_out(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(50, 600))
        phi = similarity_of_columns(X)
        target = Target(Gaussian(X, X[:, 0] + rng.normal(size=50)), dpp_prior(phi, expected_size=2), "dpp")
        theta = np.where(np.arange(600) < 5, 0.0, -12.0)
        whole = propose(target, theta)
        part = propose(target, theta, whole.q.inclusion_prob())
        assert len(part.active) == tuning.ALWAYS
        assert set(range(5)) <= set(part.active)
        assert part.law.log_normalizer == pytest.approx(whole.law.log_normalizer, abs=0.02)
        assert all(np.isin(S, part.active).all() for S in part.draw(20, rng))
