"""The target and its flip gains, against brute force."""

import numpy as np
import pytest

from inference_problems import PAIRS, Exact, correlated_data, make_target, similarity_of_columns
from variegate.inference import Target
from variegate.likelihoods import Gaussian, Logistic, logistic
from variegate.priors import bernoulli_prior, dpp_prior


class TestTarget:
    @pytest.mark.parametrize("pair", PAIRS, ids="/".join)
    def test_log_odds_are_differences_of_the_log_joint(self, pair):
        target = make_target(*pair, M=7, seed=2)
        for S in (np.array([], dtype=np.int64), np.array([0, 3]), np.array([1, 2, 5])):
            log_odds = target.log_odds(target.evaluate([S]))[0]
            for m in range(7):
                want = target.log_joint(np.union1d(S, [m])) - target.log_joint(np.setdiff1d(S, [m]))
                assert log_odds[m] == pytest.approx(want, abs=1e-8)

    @pytest.mark.parametrize("pair", PAIRS, ids="/".join)
    def test_exchanges_are_values_of_the_log_joint(self, pair):
        target = make_target(*pair, M=7, r=0.9, seed=2)
        for S in (np.array([3]), np.array([0, 3]), np.array([0, 1, 2, 3, 5, 6])):
            found = target.exchanges(S)
            for j in range(len(S)):
                for m in np.setdiff1d(np.arange(7), S):
                    want = target.log_joint(np.union1d(np.delete(S, j), [m]))
                    assert found[j, m] == pytest.approx(want, abs=1e-8)

    def without_one_factor(self):
        """A target in which one feature is two columns, so that exchanges are not computed from one factor."""
        X, y = correlated_data(M=7, r=0.9, seed=2, task="logistic")
        return Target(Logistic(X, y), bernoulli_prior(6, expected_size=2), "bernoulli", units=[0, 1, 2, 3, 4, 5, 1])

    def test_exchanges_without_one_factor_are_the_gains_of_the_rests(self):
        target = self.without_one_factor()
        S = np.array([0, 3, 5])
        for j, found in enumerate(target.exchanges(S)):
            rest = np.delete(S, j)
            want = target.log_joint(rest) + target.log_odds(target.evaluate([rest]))[0]
            np.testing.assert_allclose(found, want, atol=1e-9)

    def test_exchanges_without_one_factor_run_expectation_propagation_once_for_each_rest(self, monkeypatch):
        assert self.solved(self.without_one_factor(), monkeypatch) == 3 + 3  # and with the feature of two columns

    def test_exchanges_of_a_classification_run_expectation_propagation_for_the_set_alone(self, monkeypatch):
        target = make_target(task="logistic", M=7, r=0.9, seed=2)
        target.log_joint(np.array([0, 3, 5]))  # known to a search
        assert self.solved(target, monkeypatch) == 1

    def test_exchanges_of_several_outcomes_add_up(self, monkeypatch):
        parts = [make_target(task=task, M=7, r=0.9, seed=2) for task in ("logistic", "gaussian")]
        both, S = Target([part.likelihood for part in parts], parts[0].prior), np.array([0, 3, 5])
        prior = both.exchanges(S) - sum(part.likelihood.exchange_gains(S) for part in parts) - both.log_joint(S)
        alone = parts[1].exchanges(S) - parts[1].likelihood.exchange_gains(S) - parts[1].log_joint(S)
        outside = np.setdiff1d(np.arange(7), S)
        np.testing.assert_allclose(prior[:, outside], alone[:, outside], atol=1e-6)
        assert self.solved(both, monkeypatch) == 1

    def solved(self, target, monkeypatch):
        solve, solved = logistic.ep.solve, []
        monkeypatch.setattr(logistic.ep, "solve", lambda *given: (solved.append(1), solve(*given))[1])
        target.exchanges(np.array([0, 3, 5]))
        return len(solved)

    def test_exchanges_of_a_classification_are_those_of_gaussian_sites(self):
        """With the sites of S the evidence of any set is that of a weighted ridge regression."""
        X, y = correlated_data(M=7, r=0.9, seed=2, task="logistic")
        likelihood, S = Logistic(X, y, slab_precision=2.0), np.array([0, 3, 5])
        given = likelihood._solve(S).given
        Z = (X - X.mean(axis=0)) / X.std(axis=0)

        def evidence(T):
            A = np.column_stack([np.ones(len(X)), Z[:, T]])
            prior = np.r_[1 / logistic.FIXED_VARIANCE, np.full(len(T), 2.0)]
            H, b = (A.T * given.precision) @ A + np.diag(prior), A.T @ given.information
            return 0.5 * (b @ np.linalg.solve(H, b) - np.linalg.slogdet(H)[1] + np.log(prior).sum())

        found = likelihood.exchange_gains(S)
        for j in range(3):
            for m in (1, 2, 4, 6):
                T = np.sort(np.append(np.delete(S, j), m))
                assert found[j, m] == pytest.approx(evidence(T) - evidence(S), abs=1e-8)

    def test_exchanges_with_copies(self):
        X, y = correlated_data(M=6)
        X[:, 3] = X[:, 0]
        target = Target(Gaussian(X, y), dpp_prior(similarity_of_columns(X), expected_size=2))
        found, S = target.exchanges(np.array([0, 1])), np.array([0, 1])
        assert found[0, 3] == pytest.approx(target.log_joint([1, 3]), abs=1e-8)  # a copy in its place changes nothing
        assert found[0, 3] == pytest.approx(target.log_joint(S), abs=1e-8)
        assert found[1, 3] < target.log_joint(S) - 25  # beside it, it is impossible
        only = Target(Gaussian(X, y), bernoulli_prior(6, expected_size=2), "bernoulli")
        assert only.exchanges(S)[1, 3] == pytest.approx(only.log_joint([0, 3]), abs=1e-8)

    @pytest.mark.parametrize("pair", PAIRS, ids="/".join)
    def test_the_prior_sums_to_one(self, pair):
        target = make_target(*pair, M=7)
        exact = Exact(target)
        prior = [target.log_joint(S) - target.log_evidence(S) for S in exact.sets]
        assert np.exp(prior).sum() == pytest.approx(1.0, rel=1e-9)

    def test_each_distinct_set_is_evaluated_once(self):
        target = make_target(M=7)
        calls = []
        inner = target.likelihood.flip_gains_many
        target.likelihood.flip_gains_many = lambda sets: (calls.append(len(sets)), inner(sets))[1]
        S = np.array([1, 2])
        batch = target.evaluate([S, S, np.array([3])])
        target.evaluate([S])
        assert calls == [2]
        np.testing.assert_array_equal(batch.gains[0], batch.gains[1])

    def test_the_evidence_of_a_set_is_computed_once(self):
        target = make_target(task="logistic", M=7)
        calls = []
        inner = target.likelihood.log_evidence
        target.likelihood.log_evidence = lambda S: (calls.append(S), inner(S))[1]
        for S in ([1, 2], [3], [1, 2]):
            target.log_joint(S)
        assert len(calls) == 2
        target.with_slab_precision(9.0).log_joint([3])  # of which the old values say nothing
        assert len(calls) == 3

    def test_a_set_may_be_a_list_or_a_mask(self):
        target = make_target(M=7)
        assert target.log_joint([4, 1]) == target.log_joint(np.array([1, 4]))
        assert target.log_joint(np.array([4, 1])) == target.log_joint([1, 4])
        assert target.log_joint(np.arange(7) == 4) == target.log_joint([4])
        for wrong in ([1, 9], np.array([-1]), np.array([1, 1])):
            with pytest.raises(ValueError, match="S must hold"):
                target.log_joint(wrong)
