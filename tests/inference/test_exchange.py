"""Exchanges leave the posterior as it is: against enumeration, with wrong moves that the same check rejects."""

import numpy as np
import pytest

from inference_problems import Exact, make_target
from oracle import g_test_counts
from variegate.inference import starts
from variegate.inference.exchange import exchange
from variegate.inference.starts import EXPLORED

N, ROUNDS = 4000, 3


class Blind:
    """A likelihood whose gains are those of the true one, halved: approximate, as expectation propagation's are."""

    def __init__(self, likelihood, admits_it):
        self.likelihood, self.exact_gains = likelihood, not admits_it
        self.n_features, self.log_evidence = likelihood.n_features, likelihood.log_evidence

    def flip_gains(self, S):
        return 0.5 * self.likelihood.flip_gains(S)

    def flip_gains_many(self, sets):
        values, gains = self.likelihood.flip_gains_many(sets)
        return values, [0.5 * gain for gain in gains]


def p_value(target, kernel, settled=()):
    """Sets of the enumerated posterior, moved; do they still follow it?"""
    exact, rng, settled = Exact(target), np.random.default_rng(3), np.array(settled, dtype=np.int64)
    fits = np.array([np.isin(settled[:1], S).all() and not np.isin(settled[1:], S).any() for S in exact.sets])
    prob = np.where(fits, exact.posterior, 0.0)
    prob /= prob.sum()
    sets = [exact.sets[i] for i in rng.choice(len(prob), size=N, p=prob)]
    for _ in range(ROUNDS):
        sets = kernel(target, sets, rng, settled)
    index = {S.tobytes(): i for i, S in enumerate(exact.sets)}
    return g_test_counts(np.bincount([index[S.tobytes()] for S in sets], minlength=len(prob)), prob)


@pytest.mark.parametrize("prior", ["dpp", "bernoulli"])
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
@pytest.mark.parametrize("size", [None, 3])
def test_the_posterior_is_left_as_it_is(task, prior, size):
    target = make_target(prior, "dpp", task=task, r=0.9, seed=0, M=8, size=size)
    assert p_value(target, exchange) > 1e-3


def test_settled_features_stay():
    target = make_target("bernoulli", "dpp", r=0.9, seed=0, M=8)
    assert p_value(target, exchange, settled=[2, 5, 0]) > 1e-3  # the first is in, the others are out


def test_wrong_gains_are_made_up_for_by_the_metropolis_step_only():
    target = make_target("bernoulli", "dpp", r=0.9, seed=0, M=8)
    assert p_value(target.with_likelihood(Blind(target.likelihood, admits_it=True)), exchange) > 1e-3
    assert p_value(target.with_likelihood(Blind(target.likelihood, admits_it=False)), exchange) < 1e-6


def test_the_check_sees_a_uniform_choice():
    def uniform(target, sets, rng, settled):
        def moved(S):
            rest = np.delete(S, rng.integers(len(S))) if len(S) else S
            return np.sort(np.append(rest, rng.choice(np.setdiff1d(np.arange(8), rest)))) if len(S) else S

        return [moved(S) for S in sets]

    assert p_value(make_target("bernoulli", "dpp", r=0.9, seed=0, M=8), uniform) < 1e-6


def test_look_alikes_are_reached_from_one_of_them():
    target = make_target("bernoulli", "dpp", r=0.98, seed=1, M=8)
    exact, rng = Exact(target), np.random.default_rng(0)
    sets = [exact.sets[int(np.argmax(exact.posterior))]] * 2000
    for _ in range(12):
        sets = exchange(target, sets, rng)
    same_size = np.array([len(S) == len(sets[0]) for S in exact.sets])
    given_size = np.where(same_size, exact.posterior, 0.0) @ exact.gamma / exact.posterior[same_size].sum()
    share = np.bincount(np.concatenate(sets), minlength=8) / len(sets)
    np.testing.assert_allclose(share, given_size, atol=0.04)


@pytest.mark.parametrize(("steps", "follows"), [(EXPLORED, True), (0, False)])
def test_later_starts_of_a_fixed_size_follow_the_posterior(steps, follows, monkeypatch):
    monkeypatch.setattr(starts, "EXPLORED", steps)
    target = make_target("bernoulli", "dpp", r=0.9, seed=0, M=8, size=3)
    exact, rng, best = Exact(target), np.random.default_rng(0), starts.best_set(target)
    index = {S.tobytes(): i for i, S in enumerate(exact.sets)}
    reached = [index[starts._explore(target, best, rng).tobytes()] for _ in range(200)]
    found = g_test_counts(np.bincount(reached, minlength=len(exact.sets)), exact.posterior)
    assert (found > 1e-3) == follows
