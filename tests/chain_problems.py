"""Exact posteriors of small problems, hyperparameters included, by enumeration; and textbook samplers."""

from contextlib import contextmanager

import numpy as np
from scipy.special import expit, logsumexp

from inference_problems import make_target
from oracle import all_sets
from variegate.inference import ChainSettings
from variegate.inference.chain import enumeration
from variegate.inference.chain.grid import grid_of
from variegate.inference.chain.model import Model
from variegate.inference.chain.scope import draw_scope
from variegate.inference.chain.stretch import Pace, advance
from variegate.inference.chain.workspace import Workspace

NONE = np.empty(0, dtype=np.int64)


@contextmanager
def chains_only():
    """Chains instead of enumeration, even if there are few sets."""
    most, enumeration.MOST = enumeration.MOST, 0
    try:
        yield
    finally:
        enumeration.MOST = most


def model_of(target, average_size=False, average_slab=False, included=NONE, excluded=NONE):
    """The target as the chain sees it."""
    grid = grid_of(target, ChainSettings(average_size=average_size, average_slab=average_slab))
    return Model(target, grid, np.asarray(included, dtype=np.int64), np.asarray(excluded, dtype=np.int64))


class Enumerated:
    """Every set under every hyperparameter of the grid: probabilities (sets, I, J)."""

    def __init__(self, model):
        target, grid = model.target, model.grid
        self.sets = [np.array(S, dtype=np.int64) for S in all_sets(target.n_features) if self._fits(model, S)]
        prior = np.array([self._log_prior(target, S) for S in self.sets])
        sizes = np.array([len(S) for S in self.sets])
        every = [np.array(S, dtype=np.int64) for S in all_sets(target.n_features)]
        log_prior = np.array([self._log_prior(target, S) for S in every])
        number = np.array([len(S) for S in every])
        normalizer = np.array([logsumexp(log_prior + number * t) for t in grid.log_kappa])
        normalizer = normalizer if target.size is None else 0.0 * normalizer
        log_p = prior[:, None] + sizes[:, None] * grid.log_kappa - normalizer
        log_p = log_p[:, :, None] + grid.log_prior
        for j, log_c in enumerate(grid.log_c):
            slab = target.with_slab_precision(float(np.exp(log_c)))
            log_p[:, :, j] += np.array([slab.log_evidence(S) for S in self.sets])[:, None]
        joint = np.exp(log_p - logsumexp(log_p))
        self.probability = joint.sum(axis=(1, 2))
        self.hyperparameters = joint.sum(axis=0)
        self.inclusion = np.zeros(target.n_features)
        for S, p in zip(self.sets, self.probability, strict=True):
            self.inclusion[S] += p

    @staticmethod
    def _fits(model, S):
        right_size = model.target.size is None or len(S) == model.target.size
        return right_size and set(model.included) <= set(S) and not set(model.excluded) & set(S)

    @staticmethod
    def _log_prior(target, S):
        value = target.prior.theta[S].sum()
        return value + target.diversity * target.volume.log_volume(S) if target.prior_has_volume else value


def walk(model, pace, stretches, seed, scope=None, tilted=True):
    """One chain: weighted inclusion, share of time at each hyperparameter, and the set after each stretch."""
    rng, M = np.random.default_rng(seed), model.target.n_features
    S = model.possible(NONE, rng)
    position = model.at_start(S, rng)._replace(at=(0, len(model.grid.log_c) // 2))
    inclusion, weight, visits, sets = np.zeros(M), np.zeros(M), 0.0, []
    for _ in range(stretches):
        inside = np.ones(M, dtype=bool) if scope is None else draw_scope(position.S, scope, rng)
        local = Workspace.of(model, position.S, inside, scope if tilted else None)
        position, found = advance(local, position, pace, rng)
        inclusion[found.features] += found.inclusion
        weight += found.weight
        visits = visits + found.visits
        sets.append(position.S)
    probability = np.divide(inclusion, weight, out=np.zeros(M), where=weight > 0)
    probability[model.included] = 1.0
    return probability, visits / visits.sum(), sets


def textbook_chain(target, n_steps, seed, eta=0.1):
    """Tempered Gibbs as in the paper: states and weights of the jump chain, from flip gains."""
    rng, S = np.random.default_rng(seed), NONE
    states, weights = [], []
    for _ in range(n_steps):
        batch = target.evaluate([S])
        odds, inside = np.exp(target.log_odds(batch)[0]), batch.members[0]
        p = expit(np.log(odds))
        rates = (p + eta) / np.where(inside, p, 1 - p)
        states.append(S)
        weights.append(1 / rates.sum())
        S = np.setxor1d(S, [rng.choice(len(rates), p=rates / rates.sum())])
    return states, np.array(weights)


def g_test(sets, exact):
    """p-value of counts of sets against their probabilities, rare sets pooled."""
    from scipy.stats import chi2

    place = {S.tobytes(): i for i, S in enumerate(exact.sets)}
    counts = np.bincount([place[S.tobytes()] for S in sets], minlength=len(exact.sets))
    expected = len(sets) * exact.probability
    rare = expected < 8
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    keep = wanted > 0
    observed, wanted = observed[keep], wanted[keep]
    terms = np.where(observed > 0, observed * np.log(np.maximum(observed, 1) / wanted), 0.0)
    return float(chi2.sf(2 * terms.sum(), len(observed) - 1))


__all__ = ["Enumerated", "Pace", "g_test", "make_target", "model_of", "textbook_chain", "walk"]


def close(found, exact, unseen=1e-4):
    """Within four reported errors, and within 0.02. What no set shows has no error: it may be `unseen` off."""
    off = np.abs(found.inclusion - exact.inclusion)
    return (off <= np.minimum(4 * found.inclusion_errors + unseen, 0.02)).all()
