"""The parts of the engine, each against brute force."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer

from chain_problems import Enumerated, g_test, model_of
from inference_problems import PAIRS, Exact, correlated_data, make_target, similarity_of_columns
from variegate.dpp.volume import Volume
from variegate.inference import Settings, Target, fit
from variegate.inference.chain.sample import quick_sets
from variegate.inference.local_search import grow, polish
from variegate.inference.variational import tuning
from variegate.inference.variational.empirical_bayes import learn_size, learn_slab_precision
from variegate.inference.variational.importance import fit_pareto, smooth
from variegate.inference.variational.proposal import propose
from variegate.inference.variational.starts import flat_start, later_starts, start_at
from variegate.likelihoods import CustomLikelihood, Gaussian, Logistic, SumLikelihood, logistic
from variegate.priors import bernoulli_prior, dpp_prior


class TestVolume:
    @pytest.mark.parametrize("nugget", [0.0, 1e-3])
    def test_gains_are_differences(self, nugget):
        rng = np.random.default_rng(0)
        phi = rng.normal(size=(9, 5)) * 10.0 ** rng.integers(-3, 3, size=(9, 1))
        phi[3] = 2 * phi[0]
        volume = Volume(phi, nugget)
        gram = phi @ phi.T + nugget * np.diag((phi**2).sum(axis=1))
        for S in ([], [0], [1, 4, 7], [0, 2, 5, 8]):
            S = np.array(S, dtype=np.int64)
            found = volume.flip_gains(S)
            assert found.log_volume == pytest.approx(np.linalg.slogdet(gram[np.ix_(S, S)])[1], abs=1e-9)
            for m in range(9):
                with_m, without = np.union1d(S, [m]), np.setdiff1d(S, [m])
                want = volume.log_volume(with_m) - volume.log_volume(without)
                assert found.gains[m] == pytest.approx(want, abs=1e-7), (S, m)

    @pytest.mark.parametrize("nugget", [0.0, 1e-3])
    def test_exchanges_are_differences(self, nugget):
        rng = np.random.default_rng(0)
        phi = rng.normal(size=(9, 5)) * 10.0 ** rng.integers(-3, 3, size=(9, 1))
        volume = Volume(phi, nugget)
        for S in (np.array([1]), np.array([1, 4, 7]), np.array([0, 2, 5, 8])):
            found = volume.exchange_gains(S)
            for j in range(len(S)):
                for m in np.setdiff1d(np.arange(9), S):
                    want = volume.log_volume(np.union1d(np.delete(S, j), [m])) - volume.log_volume(S)
                    assert found[j, m] == pytest.approx(want, abs=1e-7), (S, j, m)
        if not nugget:
            with pytest.raises(ValueError, match="linearly dependent"):
                Volume(np.ones((3, 2))).exchange_gains(np.array([0, 1]))

    def test_a_copy_of_a_member_is_worth_nothing(self):
        phi = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1e-5]])
        gains = Volume(phi).flip_gains(np.array([0])).gains
        assert gains[1] == -np.inf
        assert gains[2] == pytest.approx(2 * np.log(1e-5), rel=1e-6)

    def test_dependent_sets(self):
        volume = Volume(np.ones((3, 2)))
        assert volume.log_volume(np.array([0, 1])) == -np.inf
        with pytest.raises(ValueError, match="linearly dependent"):
            volume.flip_gains(np.array([0, 1]))


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
        """A target whose likelihood does not know exchanges."""
        target = make_target(task="logistic", M=7, r=0.9, seed=2)
        return Target(SumLikelihood([target.likelihood]), target.prior)

    def test_exchanges_without_one_factor_are_the_gains_of_the_rests(self):
        target = self.without_one_factor()
        S = np.array([0, 3, 5])
        for j, found in enumerate(target.exchanges(S)):
            rest = np.delete(S, j)
            want = target.log_joint(rest) + target.log_odds(target.evaluate([rest]))[0]
            np.testing.assert_allclose(found, want, atol=1e-9)

    def test_exchanges_without_one_factor_run_expectation_propagation_once_for_each_rest(self, monkeypatch):
        assert self.solved(self.without_one_factor(), monkeypatch) == 3

    def test_exchanges_of_a_classification_run_expectation_propagation_for_the_set_alone(self, monkeypatch):
        target = make_target(task="logistic", M=7, r=0.9, seed=2)
        target.log_joint(np.array([0, 3, 5]))  # known to a search
        assert self.solved(target, monkeypatch) == 1

    def solved(self, target, monkeypatch):
        solve, solved = logistic.ep.solve, []
        monkeypatch.setattr(logistic.ep, "solve", lambda *given: (solved.append(1), solve(*given))[1])
        target.exchanges(np.array([0, 3, 5]))
        return len(solved)

    def test_exchanges_of_a_classification_are_those_of_gaussian_sites(self):
        """With the sites of S the evidence of any set is that of a weighted ridge regression."""
        X, y = correlated_data(M=7, r=0.9, seed=2, task="logistic")
        likelihood, S = Logistic(X, y, slab_precision=2.0), np.array([0, 3, 5])
        _, solution = likelihood._solve(S)
        precision, information = solution.sites[0], (2 * y - 1) * solution.sites[1]
        Z = (X - X.mean(axis=0)) / X.std(axis=0)

        def evidence(T):
            A = np.column_stack([np.ones(len(X)), Z[:, T]])
            prior = np.r_[1 / logistic.FIXED_VARIANCE, np.full(len(T), 2.0)]
            H, b = (A.T * precision) @ A + np.diag(prior), A.T @ information
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
            with pytest.raises(ValueError, match=r"S (must hold|names item)"):
                target.log_joint(wrong)


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


class TestStarts:
    @pytest.mark.parametrize("size", [None, 3])
    @pytest.mark.parametrize("prior", ["dpp", "bernoulli"])
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


class Bowl:
    """Log evidence −(log c − best)², whatever the set."""

    n_features = 3

    def __init__(self, best, c):
        self.best, self.slab_precision = best, c

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
        assert learn_size(make_target(M=8), 0.01).prior.expected_size == pytest.approx(1.0)

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
        assert learn_slab_precision(outside, [np.array([0])]).likelihood.slab_precision == pytest.approx(1e6)

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
