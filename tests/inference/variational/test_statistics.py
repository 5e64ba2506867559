"""Gradient and step estimates from sets, against the exact gradient."""

import numpy as np
import pytest

from inference_problems import PAIRS, Exact, make_target
from variegate.inference.variational.proposal import propose
from variegate.inference.variational.statistics import (
    Statistics,
    Step,
    at_right_length,
    average_step,
    fixed_size_statistics,
    free_statistics,
    joint_step,
    least_variance,
    plain_statistics,
)


class TestStatistics:
    """Averages over many sets against the exact gradient of the ELBO."""

    def exact_gradient(self, target, theta):
        return -Exact(target).divergence(theta)[1]

    @pytest.mark.parametrize("pair", PAIRS, ids="/".join)
    def test_free_size(self, pair):
        target = make_target(*pair, M=7, r=0.9, seed=1)
        theta = np.random.default_rng(0).normal(size=7) - 0.5
        sets = propose(target, theta).draw(20_000, np.random.default_rng(1))
        want = self.exact_gradient(target, theta)
        spread = np.abs(want).max()
        found = free_statistics(target, theta, sets, np.random.default_rng(2))
        np.testing.assert_allclose(found.gradients.mean(axis=0), want, atol=0.04 * spread)
        np.testing.assert_allclose(
            plain_statistics(target, theta, sets).gradients.mean(axis=0), want, atol=0.08 * spread
        )
        np.testing.assert_allclose(found.inclusion, target.distribution(theta).inclusion_prob(), atol=0.01)

    @pytest.mark.parametrize("pair", PAIRS, ids="/".join)
    def test_fixed_size(self, pair):
        target = make_target(*pair, M=7, r=0.9, seed=1, size=3)
        theta = np.random.default_rng(0).normal(size=7)
        sets = propose(target, theta).draw(6000, np.random.default_rng(1))
        want = self.exact_gradient(target, theta)
        found = fixed_size_statistics(target, theta, sets, np.random.default_rng(2))
        np.testing.assert_allclose(found.gradients.mean(axis=0), want, atol=0.06 * np.abs(want).max())
        inclusion = target.distribution(theta).inclusion_prob_fixed_size(3)
        np.testing.assert_allclose(found.inclusion, inclusion, atol=0.02)

    @pytest.mark.parametrize("pair", PAIRS, ids="/".join)
    def test_a_nearly_certain_feature_of_a_fixed_size(self, pair):
        # the identity k E[q(m|T) h(T ∪ m)] alone has a hundred times its noise
        target = make_target(*pair, M=7, r=0.9, seed=1, size=3)
        theta = np.random.default_rng(0).normal(size=7)
        theta[2] = 9.0
        sets = propose(target, theta).draw(4000, np.random.default_rng(1))
        found = fixed_size_statistics(target, theta, sets, np.random.default_rng(2))
        p = target.distribution(theta).inclusion_prob_fixed_size(3)[2]
        assert p > 0.99
        assert found.inclusion[2] == pytest.approx(p, abs=0.2 * (1 - p))
        error = found.gradients[:, 2].std() / np.sqrt(len(sets))
        assert error < 0.2 * (1 - p)
        assert found.gradients[:, 2].mean() == pytest.approx(self.exact_gradient(target, theta)[2], abs=5 * error)

    def test_small_batches_are_not_biased(self):
        target = make_target(M=7, r=0.9, seed=1, size=3)
        theta = np.random.default_rng(0).normal(size=7)
        theta[2] = 9.0
        sets, rng = propose(target, theta).draw(600 * 16, np.random.default_rng(1)), np.random.default_rng(2)
        found = [fixed_size_statistics(target, theta, sets[i : i + 16], rng) for i in range(0, len(sets), 16)]
        for values, want in (
            (np.array([f.gradients.mean(axis=0) for f in found]), self.exact_gradient(target, theta)),
            (np.array([f.inclusion for f in found]), target.distribution(theta).inclusion_prob_fixed_size(3)),
        ):
            assert (np.abs(values.mean(axis=0) - want) < 4.5 * values.std(axis=0) / np.sqrt(600)).all()

    def test_a_mixture_has_the_least_variance_of_each_column(self):
        rng = np.random.default_rng(0)
        a, b = rng.normal(size=(2, 1000, 3)) * np.array([[1, 10, 1], [10, 1, 1]])[:, None, :] + 7.0
        found = least_variance(a, b)
        np.testing.assert_allclose(found.std(axis=0), [0.995, 0.995, np.sqrt(0.5)], rtol=0.08)
        np.testing.assert_allclose(found.mean(axis=0), 7.0, atol=0.15)
        for n in (1, 2, 3):  # too few to tell
            assert np.isfinite(least_variance(a[:n], b[:n])).all()


class TestSteps:
    """What a step promises and how far it can be trusted, from known gradients and known noise."""

    def test_noise_is_taken_off_what_a_step_promises(self):
        rng = np.random.default_rng(0)
        truth, F = np.array([0.1, -0.05, 0.0]), np.array([0.25, 0.2, 0.1])
        found = []
        for _ in range(2000):
            gradients = truth + 0.3 * rng.normal(size=(20, 3))
            found.append(joint_step(gradients, gradients / F, np.full(3, 0.5)))
        promised = 0.5 * np.mean([step.squared - step.noise for step in found])
        assert promised == pytest.approx(0.5 * (truth**2 / F).sum(), rel=0.1)
        # without the correction noise alone would pass for a promise several times as large
        assert 0.5 * np.mean([step.squared for step in found]) > 2 * promised

    def test_steps_of_a_fixed_size_have_the_length_of_its_own_metric(self):
        # one of two equally likely features: F = [[v, -v], [-v, v]], v = 1/4, while one by one F would be v
        sets = [np.array([m]) for m in (0, 1) * 8]
        gradients = np.tile([0.1, -0.1], (16, 1))
        nothing = Step(np.zeros(2), 0.0, 0.0)
        found = Statistics(nothing, gradients, np.full(2, 0.5), np.zeros(16), sets)
        alone = gradients / 0.25 + 5.0  # a constant in all of θ means nothing
        np.testing.assert_allclose(at_right_length(alone, found), np.tile([0.2, -0.2], (16, 1)))

    def test_length_is_judged_by_other_sets(self):
        # with more features than sets a direction knows the very sets that it came from
        rng, n, M, p = np.random.default_rng(0), 16, 40, 3 / 40

        def draw(count):
            return [rng.choice(M, size=3, replace=False) for _ in range(count)]

        def members(sets):
            found = np.zeros((len(sets), M))
            for row, S in zip(found, sets, strict=True):
                row[S] = 1.0
            return found

        ratios, fresh = [], members(draw(5000))
        for _ in range(100):
            sets, h = draw(n), rng.normal(size=n)
            gradients = (members(sets) - p) * h[:, None]
            directions = gradients / (0.5 * p * (1 - p))  # twice too long
            found = Statistics(Step(np.zeros(M), 0.0, 0.0), gradients, np.full(M, p), h, sets)
            right = at_right_length(directions, found).mean(axis=0)
            ratios.append(float(np.var(fresh @ right) / (right @ gradients.mean(axis=0))))
        assert np.median(ratios) == pytest.approx(1.0, abs=0.25)

    def test_averages_of_one_feature_at_a_time(self):
        rng = np.random.default_rng(1)
        w, truth = np.array([0.25, 0.05]), np.array([0.2, -0.3])
        found = [average_step(np.tile(w, (16, 1)), truth + rng.normal(size=(16, 2))) for _ in range(2000)]
        np.testing.assert_allclose(np.mean([step.direction for step in found], axis=0), truth, atol=0.02)
        assert np.mean([step.squared - step.noise for step in found]) == pytest.approx(w @ truth**2, rel=0.15)

    def test_trust_is_the_share_that_is_not_noise(self):
        assert Step(np.zeros(1), squared=4.0, noise=1.0).trust == 0.75
        assert Step(np.zeros(1), squared=4.0, noise=5.0).trust == 0.0
        assert Step(np.zeros(1), squared=0.0, noise=0.0).trust == 1.0

    def test_a_feature_that_is_surely_in_does_not_drown_the_others(self):
        gradients = np.random.default_rng(2).normal(size=(50, 2))
        alone = joint_step(gradients[:, :1], gradients[:, :1] / 0.25, np.array([0.5]))
        both = joint_step(gradients, gradients / [0.25, 1e-10], np.array([0.5, 1 - 1e-10]))
        assert (both.squared, both.noise) == pytest.approx((alone.squared, alone.noise))
