"""Tempered Gibbs sampling that evaluates every set from scratch: an earlier sampler, kept for comparison.

Weighted tempered Gibbs for variable selection (Zanella & Roberts 2019): from S, feature m is flipped with
probability proportional to r_m(S) = η_m / p(γ_m | the rest), η_m = p(γ_m = 1 | the rest) + c/M, and S counts with
weight 1/Σ_m r_m(S). If the gains are approximate (EP), a Metropolis step on the evidence corrects for it.
One flip-gain evaluation, O(M|S|²), per step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, logsumexp

from variegate.inference import Target
from variegate.sets import as_index_set
from variegate.types import FloatArray, IntArray

UNIFORM_SHARE = 5.0  # c: how often improbable features are visited


@dataclass(frozen=True)
class PosteriorSample:
    """Weighted states of the chain and their averages."""

    sets: list[IntArray]
    weights: FloatArray  # (n,), summing to one
    inclusion: FloatArray  # (M,) conditionals averaged, not counts

    @property
    def effective_size(self) -> float:
        """Number of equally weighted states that the weights are worth; ignores autocorrelation."""
        return float(1.0 / np.square(self.weights).sum())

    def expected_size(self) -> float:
        """E|S|."""
        return float(self.inclusion.sum())


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


def sample_posterior(
    target: Target,
    n_steps: int,
    rng: np.random.Generator | int | None,
    *,
    burn_in: int | None = None,
    start: npt.ArrayLike = (),
    callback: Callable[[int], None] | None = None,
) -> PosteriorSample:
    """Run the chain for n_steps after `burn_in` (default: a tenth), from the set `start`. Free size only."""
    if target.size is not None:
        raise ValueError("The exact sampler works on sets of any size; give no fixed size.")
    if n_steps < 1:
        raise ValueError(f"n_steps must be at least 1, got {n_steps}.")
    burn_in = n_steps // 10 if burn_in is None else burn_in
    if burn_in < 0:
        raise ValueError(f"burn_in must not be negative, got {burn_in}.")
    rng = np.random.default_rng(rng)
    state = _state(target, _start(target, start))
    sets: list[IntArray] = []
    log_weights = np.empty(n_steps)
    inclusion, reference = np.zeros(target.n_features), -np.inf
    for step in range(burn_in + n_steps):
        log_total = state.log_total_rate
        if step >= burn_in:
            sets.append(state.S)
            log_weight = log_weights[step - burn_in] = -log_total
            if log_weight > reference:  # keep the running average on the scale of the largest weight
                inclusion *= np.exp(reference - log_weight)
                reference = log_weight
            inclusion += np.exp(log_weight - reference) * _inclusion(target, state)
        state = _move(target, state, log_total, rng)
        if callback is not None:
            callback(step)
    weights = np.exp(log_weights - reference)
    return PosteriorSample(sets, weights / weights.sum(), inclusion / weights.sum())


def _start(target: Target, start: npt.ArrayLike) -> IntArray:
    S = as_index_set(start, target.n_features, "start")
    if target.prior_has_volume and target.volume.log_volume(S) == -np.inf:
        raise ValueError(
            f"start has probability zero under the DPP prior: the rows of phi for {S.tolist()} are dependent. "
            "Start from fewer features, or none."
        )
    return S


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
