"""The best set under the target itself."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from inference_problems import Exact, make_target, similarity_of_columns
from variegate.inference import Target
from variegate.inference.local_search import grow, polish
from variegate.likelihoods import CustomLikelihood, Logistic
from variegate.priors import bernoulli_prior, dpp_prior


class TestLocalSearch:
    @pytest.mark.parametrize("task", ["gaussian", "logistic"])
    @pytest.mark.parametrize("size", [None, 4])
    def test_it_ends_where_no_move_helps(self, task, size):
        target = make_target(M=10, r=0.9, seed=3, task=task)
        exact = Exact(target)
        S = polish(target, grow(target, size), keep_size=size is not None)
        value = target.log_joint(S)
        for T, other in zip(exact.sets, exact.log_joint, strict=True):
            near = len(np.setxor1d(S, T)) <= (1 if len(S) != len(T) else 2)
            if near and (size is None or len(T) == size):
                assert other <= value + 1e-6

    def test_settled_features_stay(self):
        target = make_target(M=8, seed=1)
        start = np.array([0, 5])
        S = polish(target, start, keep_size=False, settled=np.array([5, 6]))
        assert 5 in S
        assert 6 not in S


def test_no_exchange_improves_a_polished_set_though_gains_are_approximate(rng):
    data = load_breast_cancer()
    target = Target(Logistic(data.data, data.target), dpp_prior(similarity_of_columns(data.data), expected_size=6))
    for _ in range(6):
        S = polish(target, np.sort(rng.choice(30, size=4, replace=False)), keep_size=True)
        others = np.setdiff1d(np.arange(30), S)
        best = max(target.log_joint(np.sort(np.append(np.delete(S, j), m))) for j in range(4) for m in others)
        assert best < target.log_joint(S) + 1e-6


def test_only_a_thorough_search_looks_behind_gains_that_underrate():
    worth = np.array([1.0, -1.0, 2.0])
    likelihood = CustomLikelihood(lambda S: float(worth[S].sum()), 3, flip_gains=lambda S: np.full(3, -1.0))
    likelihood.exact_gains = False
    target = Target(likelihood, bernoulli_prior(3, expected_size=1.5), "bernoulli")
    nothing = np.empty(0, dtype=np.int64)
    assert polish(target, nothing, keep_size=False, thorough=False).tolist() == []
    assert polish(target, nothing, keep_size=False).tolist() == [0, 2]
