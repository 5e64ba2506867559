"""Estimates from sampled sets: every set informs every θ_m.

With h(S) = log p(y, S) − θ(S) − [family is dpp] log ν(S), the ELBO is E_q[h] + log Z(θ) and its gradient Cov_q(γ,
h). Each set S informs all M features, since both conditionals of γ_m are known for all m: its log-odds are
θ_m + log s_m under q and δ_m + log s_m under the target. Stage A uses only E[w_m(δ_m − θ_m)], w = π(1−π), which has
very little noise; stage B uses the full gradient.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from ...sets import membership
from ...types import FloatArray, IntArray
from ..target import Batch, Target
from . import tuning
from .correction import GainCorrection

HALVES = slice(0, None, 2), slice(1, None, 2)  # of a batch, for cross-fitting
LIMIT = 1e6  # log-odds are clipped to ± this


class Step(NamedTuple):
    """A step in θ from the average of a batch, and its noise.

    With the metric F of the step (g = F·direction), the expectation of gᵀF⁻¹g is twice the rise of the ELBO that the
    direction promises, plus the noise of the average, which is estimated from the scatter of the sets.
    """

    direction: FloatArray  # (M,)
    squared: float  # gᵀF⁻¹g
    noise: float  # expectation of `squared` from noise alone

    @property
    def promise(self) -> float:
        """Expected rise of the ELBO, in nats."""
        return 0.5 * max(self.squared - self.noise, 0.0)

    @property
    def trust(self) -> float:
        """Length of the step, from 0 to 1, with the largest expected rise: the fraction that is not noise."""
        return 2.0 * self.promise / self.squared if self.squared > 0 else 1.0


class Statistics(NamedTuple):
    """Estimates from a batch of n sets."""

    step: Step  # stage A: towards agreement of the conditionals of q and target
    gradients: FloatArray  # (n, M) stage B: their mean is the gradient of the ELBO, Cov_q(γ, h)
    inclusion: FloatArray  # (M,) P(m ∈ S) under q, the average of the conditionals
    h: FloatArray  # (n,)
    sets: Sequence[IntArray]


def open_features(inclusion: FloatArray) -> npt.NDArray[np.bool_]:
    """Which features q is undecided about."""
    return np.asarray(inclusion * (1 - inclusion) > tuning.UNDECIDED)


def average_step(w: FloatArray, change: FloatArray) -> Step:
    """The step Σ w·change / Σ w of each feature, in the metric diag(mean w)."""
    weight = w.mean(axis=0)
    known = weight > 0
    step = np.where(known, (w * change).mean(axis=0) / np.where(known, weight, 1.0), change.mean(axis=0))
    error = np.square(w * (change - step)).mean(axis=0)[known] / weight[known]
    return Step(step, float(weight @ np.square(step)), float(error.sum()) / max(len(w) - 1, 1))


def joint_step(gradients: FloatArray, directions: FloatArray, inclusion: FloatArray) -> Step:
    """The step of the average gradient, where directions (n, M) are F⁻¹ times the gradients (n, M).

    Its promise and noise are those of the features that q is undecided about: the noise of a certain feature, divided
    by a variance near zero, would dominate all others.
    """
    direction = directions.mean(axis=0)
    judged = open_features(inclusion)
    squared = float(gradients.mean(axis=0)[judged] @ direction[judged])
    each = float(np.einsum("nm,nm,m->", gradients, directions, judged.astype(float))) / len(gradients)
    return Step(direction, squared, max(each - squared, 0.0) / max(len(gradients) - 1, 1))


def at_right_length(directions: FloatArray, found: Statistics) -> FloatArray:
    """Directions (n, M) for a fixed size, rescaled to the metric of its sets.

    Natural directions use the covariance of sets of any size, and are too long if few members vary: by a factor of two
    if one of two features is in. A direction d has the right length if dᵀg, with the gradient g, is the variance of
    d(S). A constant added to θ has no effect for a fixed size, so it is removed.
    """
    n, weight = len(directions), found.inclusion * (1 - found.inclusion)
    weight[~open_features(found.inclusion)] = 0.0
    if n < 2 or not weight.any():
        return directions
    directions = directions - (directions @ weight / weight.sum())[:, None]
    judged = np.where(weight > 0, directions, 0.0)
    members = membership(found.sets, judged.shape[1])
    members = members - members.mean(axis=0)
    # each set with the directions of the others: its own would inflate the variance
    others = (members @ judged.sum(axis=0) - np.einsum("nm,nm->n", members, judged)) / (n - 1)
    variance = float(np.square(others).mean())
    asked = float(judged.mean(axis=0) @ found.gradients.mean(axis=0))
    return directions * min(max(asked, 0.0) / variance, 1.0) if variance > 0 else directions


def log_ratio(target: Target, theta: FloatArray, batch: Batch) -> tuple[FloatArray, FloatArray]:
    """Return h (n,) and its change when m is added, δ_m − θ_m (n, M)."""
    h = batch.log_evidence + batch.members @ (target.prior.theta - theta)
    change = batch.gains + (target.prior.theta - theta)
    if target.excess_power:
        h = h + target.excess_power * batch.log_volume
        change += target.excess_power * batch.volume_gains
    # a copy of a member has probability zero under a DPP, so its change does not matter
    return h, np.nan_to_num(np.clip(change, -LIMIT, LIMIT, out=change), copy=False, nan=0.0)


def free_statistics(
    target: Target,
    theta: FloatArray,
    sets: Sequence[IntArray],
    rng: np.random.Generator,
    correction: GainCorrection | None = None,
) -> Statistics:
    """Statistics for sets of any size."""
    batch = target.evaluate(sets)
    h, change = log_ratio(target, theta, batch)
    log_odds = theta + batch.volume_gains if target.family_has_volume else np.broadcast_to(theta, change.shape)
    pi = expit(log_odds)
    w = expit(-log_odds)
    w *= pi
    if correction is not None:
        correction.learn(target, sets, batch, w, rng)
        change += correction.error
    step, inclusion = average_step(w, change), pi.mean(axis=0)
    # E[h | all of γ but γ_m]
    averaged = (pi - batch.members) * change
    averaged += h[:, None]
    gradients = _products(pi, averaged)
    gradients += w * change
    return Statistics(step, gradients, inclusion, h, sets)


def _products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products of deviations (n, M), whose mean is the covariance column by column."""
    product = a - a.mean(axis=0)
    product *= b - b.mean(axis=0)
    product *= len(a) / max(len(a) - 1, 1)
    return np.asarray(product)


def least_variance(a: FloatArray, b: FloatArray) -> FloatArray:
    """The mixture of two estimates (n, M) of the same means that has the least variance, for each column.

    The weight of a in even rows is learned from odd rows and vice versa: rows that influenced their own weight would
    bias the mean.
    """
    mixed = b.copy()
    for mine, theirs in (HALVES, HALVES[::-1]) if len(a) > 1 else ():
        difference = a[theirs] - b[theirs]
        scatter = difference - difference.mean(axis=0)
        variance = np.square(scatter).sum(axis=0)
        covariance = (scatter * b[theirs]).sum(axis=0)
        share = np.clip(-covariance / np.where(variance > 0, variance, 1.0), 0.0, 1.0)
        mixed[mine] += share * (a[mine] - b[mine])
    return mixed


def fixed_size_statistics(
    target: Target, theta: FloatArray, sets: Sequence[IntArray], rng: np.random.Generator
) -> Statistics:
    """Statistics for sets of k features: one member at a time is replaced by every other feature.

    E[γ_m h] = k E[q(m|T) h(T ∪ m)], where T is S without a random member and q(m|T) ∝ e^{θ_m} s_m(T). This estimate is
    noisy for features that are nearly always in; the covariance given T plus that over T, which counts the members of
    T, is noisy for the others. Each feature gets the mixture of the two with the least variance.
    """
    k, replaced = len(sets[0]), min(len(sets[0]), tuning.REPLACED)
    rests = [np.delete(S, j) for S in sets for j in rng.permutation(k)[:replaced]]
    batch = target.evaluate(rests)
    h_rest, change = log_ratio(target, theta, batch)
    log_q = np.where(batch.members, -np.inf, theta + (batch.volume_gains if target.family_has_volume else 0.0))
    q = np.exp(log_q - logsumexp(log_q, axis=1, keepdims=True))
    mean_change = (q * change).sum(axis=1)
    h = h_rest + mean_change

    def of_sets(values: FloatArray) -> FloatArray:
        # the rests of one set are correlated, so the noise is estimated from whole sets
        return np.asarray(values.reshape(len(sets), replaced, *values.shape[1:]).mean(axis=1))

    def covariance(products: FloatArray, values: FloatArray) -> FloatArray:
        # within the sets, and between the sets of each half
        found = of_sets(products) - values * h_sets
        for half in HALVES[: len(sets)]:  # a single set has no second half
            found[half] += _products(values[half], h_sets[half])
        return found

    h_sets, entering, there = of_sets(h)[:, None], of_sets(k * q), of_sets(q + batch.members)
    gradients = least_variance(
        covariance(k * q * (h_rest[:, None] + change), entering),
        covariance(q * (change - mean_change[:, None]) + (q + batch.members) * h[:, None], there),
    )
    inclusion = least_variance(entering, there).mean(axis=0)
    step = average_step(k * q, change - mean_change[:, None])
    return Statistics(step, gradients, np.clip(inclusion, 0.0, 1.0), h_sets[:, 0], sets)


def plain_statistics(target: Target, theta: FloatArray, sets: Sequence[IntArray]) -> Statistics:
    """Statistics without flip gains: the covariance of γ and h over the sets."""
    members = membership(sets, target.n_features).astype(np.float64)
    h = np.array([target.log_weight(S) for S in sets]) - members @ theta
    nowhere = Step(np.zeros(target.n_features), 0.0, 0.0)
    return Statistics(nowhere, _products(members, h[:, None]), members.mean(axis=0), h, sets)
