"""Tempered Gibbs sampling that evaluates every set from scratch: an earlier sampler, kept for comparison.

Weighted tempered Gibbs for variable selection (Zanella & Roberts 2019): from S, feature m is flipped with
probability proportional to r_m(S) = η_m / p(γ_m | the rest), η_m = p(γ_m = 1 | the rest) + c/M, and S counts with
weight 1/Σ_m r_m(S). If the gains are approximate (EP), a Metropolis step on the evidence corrects for it.
One flip-gain evaluation, O(M|S|²), per step.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from variegate.inference import Target
from variegate.types import FloatArray, IntArray

UNIFORM_SHARE = 5.0  # c: how often improbable features are visited


class _State(NamedTuple):
    S: IntArray
    log_joint: float
    present: FloatArray  # (M,) p(γ_m = 1 | the rest)
    log_rate: FloatArray  # (M,) log r_m

    @property
    def log_total_rate(self) -> float:
        return float(logsumexp(self.log_rate))


def _state(target: Target, S: IntArray) -> _State:
    batch = target.evaluate([S])
    log_odds = target.log_odds(batch)[0]
    present = expit(log_odds)
    attention = np.log(present + UNIFORM_SHARE / target.n_features)
    log_rate = attention - log_expit(np.where(batch.members[0], log_odds, -log_odds))
    log_rate[log_odds == -np.inf] = -np.inf  # a copy of a member: impossible under a DPP prior
    return _State(S, target.log_joint(S), present, log_rate)


def inclusion_by_gibbs(
    target: Target, n_steps: int, seed: int, *, burn_in: int | None = None, start: IntArray | None = None
) -> FloatArray:
    """Run the chain for n_steps after `burn_in` (default: a tenth); return the weighted mean of the conditionals (M,).

    Sets have any size; the chain begins with the set `start`, or the empty one.
    """
    burn_in = n_steps // 10 if burn_in is None else burn_in
    rng = np.random.default_rng(seed)
    state = _state(target, np.empty(0, dtype=np.int64) if start is None else start)
    inclusion, total, reference = np.zeros(target.n_features), 0.0, -np.inf
    for step in range(burn_in + n_steps):
        log_weight = -state.log_total_rate
        if step >= burn_in:
            if log_weight > reference:  # keep the running sums on the scale of the largest weight
                scale = np.exp(reference - log_weight)
                inclusion, total, reference = inclusion * scale, total * scale, log_weight
            weight = np.exp(log_weight - reference)
            inclusion, total = inclusion + weight * _inclusion(target, state), total + weight
        state = _move(target, state, -log_weight, rng)
    return inclusion / total


def _inclusion(target: Target, state: _State) -> FloatArray:
    """Conditional probabilities if they are exact, otherwise membership."""
    if target.exact_gains:
        return state.present
    member = np.zeros(target.n_features)
    member[state.S] = 1.0
    return member


def _move(target: Target, state: _State, log_total: float, rng: np.random.Generator) -> _State:
    cumulative = np.cumsum(np.exp(state.log_rate - log_total))
    m = min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), target.n_features - 1)
    moved = _state(target, np.setxor1d(state.S, [m]))
    log_ratio = moved.log_joint + moved.log_rate[m] - state.log_joint - state.log_rate[m]
    return moved if target.exact_gains or np.log(rng.random()) < log_ratio else state
