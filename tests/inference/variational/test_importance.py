"""Pareto-smoothed weights against distributions with known tails."""

import numpy as np
import pytest
from scipy import stats

from variegate.inference.variational.importance import fit_pareto, smooth


class TestImportance:
    @pytest.mark.parametrize("k", [0.1, 0.5, 0.9])
    def test_shape_of_a_known_tail(self, k):
        excess = np.sort(stats.genpareto(k).rvs(4000, random_state=0))
        found, sigma = fit_pareto(excess)
        assert found == pytest.approx(k, abs=0.08)
        assert sigma == pytest.approx(1.0, abs=0.12)

    def test_equal_weights_have_no_tail(self):
        found = smooth(np.zeros(100))
        assert found.pareto_k == 0
        assert found.effective_size == pytest.approx(100)

    @pytest.mark.parametrize("shares", [(0.99, 0.01), (0.5, 0.5), (0.01, 0.99)])
    def test_a_few_sets_that_recur_are_no_tail(self, shares):
        """Two weights, one twice the other: bounded, however often each is met."""
        counts = (400 * np.array(shares)).astype(int)
        found = smooth(np.repeat(np.log([1.0, 2.0]), counts))
        assert found.pareto_k < 0.5
        np.testing.assert_allclose(np.unique(found.weights), np.array([1, 2]) / (counts @ [1, 2]))

    def test_one_weight_that_carries_everything_is_the_worst(self):
        assert smooth(np.append(np.zeros(399), 20.0)).pareto_k == np.inf

    def test_a_hopeless_approximation_is_noticed(self):
        rng = np.random.default_rng(0)
        assert smooth(0.3 * rng.normal(size=1000)).pareto_k < 0.5
        assert smooth(6.0 * rng.normal(size=1000)).pareto_k > 0.7

    def test_smoothing_improves_a_heavy_tailed_average(self):
        """E_p[x] with p = N(0, 1) from a narrower q: smoothed weights are closer on average."""
        raw_error, smooth_error = [], []
        for seed in range(60):
            x = np.random.default_rng(seed).normal(scale=0.6, size=400)
            log_ratio = stats.norm.logpdf(x) - stats.norm.logpdf(x, scale=0.6)
            raw = np.exp(log_ratio) / np.exp(log_ratio).sum()
            raw_error.append((raw @ x**2 - 1) ** 2)
            smooth_error.append((smooth(log_ratio).weights @ x**2 - 1) ** 2)
        assert np.mean(smooth_error) < 1.05 * np.mean(raw_error)
