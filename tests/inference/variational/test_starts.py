"""Starts of the variational solver."""

import numpy as np
import pytest

from chain_problems import Enumerated, g_test, model_of
from inference_problems import make_target
from variegate.inference import Target
from variegate.inference.chain.sample import quick_sets
from variegate.inference.variational.starts import flat_start, later_starts, start_at
from variegate.likelihoods import CustomLikelihood
from variegate.priors import bernoulli_prior


class TestStarts:
    @pytest.mark.parametrize(("prior", "size"), [("dpp", None), ("bernoulli", 3)])
    def test_sets_of_short_chains_follow_the_posterior(self, prior, size):
        target = make_target(prior, "dpp", r=0.9, seed=0, M=6, size=size)
        found = [S for seed in range(60) for S in quick_sets(target, 3, np.random.default_rng(seed))]
        assert len(found) == 180
        assert g_test(found, Enumerated(model_of(target))) > 1e-3

    def test_where_chains_begin_is_not_what_they_return(self):
        """The check above sees a wrong law: the best set again and again."""
        target = make_target("dpp", "dpp", r=0.9, seed=0, M=6)
        exact = Enumerated(model_of(target))
        assert g_test([exact.sets[int(np.argmax(exact.probability))]] * 180, exact) < 1e-6

    def test_later_starts_are_at_such_sets_and_a_flat_one(self):
        target = make_target(M=6, r=0.9)
        found = list(later_starts(target, 4, np.random.default_rng(2)))
        expected = [start_at(target, S) for S in quick_sets(target, 3, np.random.default_rng(2))]
        np.testing.assert_array_equal(found, [*expected, flat_start(target)])
        assert len(list(later_starts(target, 1, np.random.default_rng(2)))) == 1
        assert list(later_starts(target, 0, np.random.default_rng(2))) == []

    def test_without_chains_only_the_flat_start_is_left(self):
        likelihood = CustomLikelihood(lambda S: float(len(S)), 3, flip_gains=lambda S: np.ones(3))
        target = Target(likelihood, bernoulli_prior(3, expected_size=1), "bernoulli")
        assert len(list(later_starts(target, 4, np.random.default_rng(0)))) == 1
