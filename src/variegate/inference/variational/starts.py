"""Starting points: several, because the ELBO has local optima."""

from collections.abc import Iterator

import numpy as np

from ...types import FloatArray, IntArray
from .. import local_search
from ..chain.sample import quick_sets
from ..target import Target
from .statistics import LIMIT, log_ratio


def flat_start(target: Target) -> FloatArray:
    """θ with the expected size of the prior, or the fixed size. Paper: Algorithm 1, first line."""
    expected_size = target.size or target.prior.expected_size
    q = target.distribution(target.prior.theta - target.prior.theta.mean())
    # the rank is expensive, and not needed up to the prior's expected size
    if not target.prior_has_volume or expected_size > target.prior.expected_size:
        expected_size = min(expected_size, 0.9 * q.rank)
    return feasible(target, q.rescaled(expected_size).theta)


def feasible(target: Target, theta: FloatArray) -> FloatArray:
    """θ that rules out features of prior probability zero: if q drew one, the ELBO would be −inf."""
    return np.where(target.impossible, -LIMIT, theta)


def start_at(target: Target, S: IntArray) -> FloatArray:
    """θ from the flip gains at one set."""
    if target.family_has_volume:
        S = target.volume.independent(S, len(S))
    if len(S) == target.size and target.size < target.n_features:
        return feasible(target, _exchanged(target, S))
    batch = target.evaluate([S])
    _, change = log_ratio(target, np.zeros(target.n_features), batch)
    # a copy of a member gets its gain without the volume
    alone = batch.gains[0] + target.prior.theta
    return feasible(target, np.where(np.isfinite(batch.volume_gains[0]), change[0], alone))


def _exchanged(target: Target, S: IntArray) -> FloatArray:
    """θ for a fixed size: θ_m − θ_j is at least the gain of exchanging j for m, with equality for the best exchanges.

    Flip gains would compare sets of size k + 1 and k − 1, which have probability zero.
    """
    gains = target.exchanges(S, quick=False) - target.log_joint(S)
    if target.family_has_volume:
        with np.errstate(invalid="ignore"):  # −inf − (−inf) for a copy of a member
            gains = np.nan_to_num(gains - target.volume.exchange_gains(S), nan=-LIMIT)
    gains = np.clip(gains, -LIMIT, LIMIT)
    gains[:, S] = -LIMIT
    stays = -gains.max(axis=1)
    theta = (gains + stays[:, None]).max(axis=0)
    theta[S] = stays
    return np.asarray(theta)


def best_set(target: Target, start: IntArray) -> IntArray:
    """A set that no single move improves, according to the gains.

    With a fixed size every move is evaluated: later starts use the same gains for exchanges and would not improve it.
    """
    fixed = target.size is not None
    return local_search.polish(target, local_search.grow(target, target.size, start), keep_size=fixed, thorough=fixed)


def later_starts(target: Target, n: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield up to n starts: at sets from exact chains, if the likelihood allows them, and a flat one last."""
    if n > 1:
        for S in quick_sets(target, n - 1, rng):
            yield start_at(target, S)
    if n > 0:
        yield flat_start(target)
