"""From sets of q towards sets of the posterior: members exchanged at random, by the target's own probabilities.

q is one hill; features that can stand in for each other make many. From S a member j is taken out at random, and the
feature that comes in is drawn with the probability of its set, p(S∖j ∪ m) over all m: a Gibbs step, which leaves the
posterior as it is and jumps between look-alikes at once. Where gains are approximate the step is a proposal, and a
Metropolis step on the evidence itself makes up for it.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from ..dpp.sets import IntArray
from .local_search import NOTHING
from .target import Float64Array, Target


def exchange(
    target: Target, sets: Sequence[IntArray], rng: np.random.Generator, settled: IntArray = NOTHING
) -> list[IntArray]:
    """One round: in each set one member, not of `settled`, is exchanged. One flip-gain evaluation a set, O(M|S|²)."""
    takeable = [np.flatnonzero(~np.isin(S, settled)) for S in sets]
    open_ = [i for i, places in enumerate(takeable) if len(places)]
    if not open_:
        return list(sets)
    places = [int(rng.choice(takeable[i])) for i in open_]
    rests = [np.delete(sets[i], j) for i, j in zip(open_, places, strict=True)]
    out = np.array([sets[i][j] for i, j in zip(open_, places, strict=True)])
    log_p = _replacements(target, rests, settled)
    cumulative = np.exp(log_p).cumsum(axis=1)
    aim = rng.random((len(rests), 1)) * cumulative[:, -1:]
    into = np.minimum((cumulative <= aim).sum(axis=1), target.n_features - 1)
    moved = [np.sort(np.append(rest, m)) for rest, m in zip(rests, into, strict=True)]
    each = np.arange(len(rests))
    stays = _rejected(target, [sets[i] for i in open_], moved, log_p[each, out] - log_p[each, into], rng)
    result = list(sets)
    for i, new, stay in zip(open_, moved, stays, strict=True):
        result[i] = result[i] if stay else new
    return result


def _replacements(target: Target, rests: list[IntArray], settled: IntArray) -> Float64Array:
    """Log-probability of each feature (n, M) to come in, given the rest."""
    batch = target.evaluate(rests)
    log_odds = target.log_odds(batch)
    log_odds[batch.members] = -np.inf
    log_odds[:, settled] = -np.inf
    return np.asarray(log_odds - logsumexp(log_odds, axis=1, keepdims=True))


def _rejected(
    target: Target, old: list[IntArray], new: list[IntArray], log_back: Float64Array, rng: np.random.Generator
) -> list[bool]:
    """Which moves the Metropolis step takes back; none where gains are exact."""
    if target.exact_gains:
        return [False] * len(new)
    rise = np.array([target.log_joint(T) - target.log_joint(S) for S, T in zip(old, new, strict=True)])
    return list(np.log(rng.random(len(new))) >= rise + log_back)
