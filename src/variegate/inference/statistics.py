"""What sampled sets say about θ: one value per feature, from every set.

With h(S) = log p(y, S) − θ(S) − [family is dpp] log ν(S), the ELBO is E_q[h] + log Z(θ) and its gradient Cov_q(γ,
h). Each set S gives information on all M features, since both conditionals of γ_m are known for all m: under q its
log-odds are θ_m + log s_m, under the target they are δ_m + log s_m. Stage A uses E[w_m(δ_m − θ_m)], w = π(1−π),
alone, which has very little noise; stage B uses the whole gradient.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from ..dpp.sets import IntArray
from .correction import GainCorrection
from .target import Batch, Float64Array, Target

REPLACED = 4  # members of a set that are replaced in turn, for a fixed size
LIMIT = 1e3  # a log-odds beyond this is certainty


class Statistics(NamedTuple):
    """Averages over a batch of n sets."""

    step: Float64Array  # (M,) stage A: where the conditionals of q and target agree, minus θ
    gradient: Float64Array  # (M,) stage B: of the ELBO, Cov_q(γ, h)
    inclusion: Float64Array  # (M,) P(m ∈ S) under q, conditionals averaged
    h: Float64Array  # (n,)


def log_ratio(target: Target, theta: Float64Array, batch: Batch) -> tuple[Float64Array, Float64Array]:
    """H (n,), and its change when m comes in, δ_m − θ_m (n, M)."""
    tilt = float(target.prior_has_volume) - float(target.family_has_volume)
    h = batch.log_evidence + batch.members @ (target.prior.theta - theta)
    change = batch.gains + (target.prior.theta - theta)
    if tilt:
        h = h + tilt * batch.log_volume
        change = change + tilt * batch.volume_gains
    # a copy of a member has probability zero under a DPP; what it would change is beside the point
    return h, np.nan_to_num(np.clip(change, -LIMIT, LIMIT), nan=0.0)


def free_statistics(
    target: Target,
    theta: Float64Array,
    sets: Sequence[IntArray],
    rng: np.random.Generator,
    correction: GainCorrection | None = None,
) -> Statistics:
    """Statistics for sets of any size."""
    batch = target.evaluate(sets)
    h, change = log_ratio(target, theta, batch)
    log_odds = theta + batch.volume_gains if target.family_has_volume else np.broadcast_to(theta, change.shape)
    pi = expit(log_odds)
    w = pi * expit(-log_odds)
    if correction is not None:
        correction.learn(target, sets, batch, w, rng)
        change = change + correction.error
    # E[h | all of γ but γ_m]
    averaged = h[:, None] + (pi - batch.members) * change
    gradient = (w * change).mean(axis=0) + _covariance(pi, averaged)
    total = w.sum(axis=0)
    step = (w * change).sum(axis=0) / np.where(total > 0, total, 1.0)
    step = np.where(total > 0, step, change.mean(axis=0))
    return Statistics(step, gradient, pi.mean(axis=0), h)


def _covariance(a: Float64Array, b: Float64Array) -> Float64Array:
    """Column by column."""
    return np.asarray(((a - a.mean(axis=0)) * (b - b.mean(axis=0))).sum(axis=0) / max(len(a) - 1, 1))


def fixed_size_statistics(
    target: Target, theta: Float64Array, sets: Sequence[IntArray], rng: np.random.Generator
) -> Statistics:
    """Statistics for sets of k features: one member at a time is replaced by every other feature.

    E[γ_m h] = k E[q(m|T) h(T ∪ m)], where T is S without a random member and q(m|T) ∝ e^{θ_m} s_m(T).
    """
    rests = [np.delete(S, j) for S in sets for j in rng.permutation(len(S))[:REPLACED]]
    batch = target.evaluate(rests)
    h_rest, change = log_ratio(target, theta, batch)
    log_q = np.where(batch.members, -np.inf, theta + (batch.volume_gains if target.family_has_volume else 0.0))
    q = np.exp(log_q - logsumexp(log_q, axis=1, keepdims=True))
    mean_change = (q * change).sum(axis=1)
    h = h_rest + mean_change
    k = len(sets[0])
    gradient = k * (q * (h_rest[:, None] + change - h.mean())).mean(axis=0)
    total = q.sum(axis=0)
    step = (q * (change - mean_change[:, None])).sum(axis=0) / np.where(total > 0, total, 1.0)
    return Statistics(step, gradient, np.minimum(k * q.mean(axis=0), 1.0), h)


def plain_statistics(target: Target, theta: Float64Array, sets: Sequence[IntArray]) -> Statistics:
    """Statistics without flip gains: the covariance of γ and h over the sets themselves."""
    members = np.zeros((len(sets), target.n_features))
    for row, S in zip(members, sets, strict=True):
        row[S] = 1.0
    h = np.array([target.log_weight(S) for S in sets]) - members @ theta
    return Statistics(np.zeros(target.n_features), _covariance(members, h[:, None]), members.mean(axis=0), h)
