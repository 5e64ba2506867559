"""The most probable set under the target: additions, removals and exchanges ranked by flip gains."""

import numpy as np

from ..sets import NOTHING, membership
from ..types import IntArray
from .target import Target

IMPROVEMENT = 1e-8  # nats by which a move must raise log p(y, S)
CHECKED = 3  # moves with the largest predicted value that are evaluated in each round


def polish(
    target: Target,
    S: IntArray,
    *,
    keep_size: bool,
    settled: IntArray = NOTHING,
    thorough: bool = True,
    max_moves: int = 200,
) -> IntArray:
    """Apply the best addition, removal or exchange until none raises log p(y, S).

    Features in `settled` stay in or out. For each member j the gains given S∖j rank all replacements of j: a round
    costs O(M|S|²) if the likelihood has exchange gains, else one flip-gain evaluation per member. If gains are
    approximate, `thorough` evaluates every possible move before stopping.
    """
    value = target.log_joint(S)
    for _ in range(max_moves):
        better = _best_checked_move(target, S, value, keep_size, settled, thorough and not target.exact_gains)
        if better is None:
            return S
        S, value = better
    return S


def _best_checked_move(
    target: Target, S: IntArray, value: float, keep_size: bool, settled: IntArray, thorough: bool
) -> tuple[IntArray, float] | None:
    moves = ([] if keep_size else _flips(target, S, value, settled)) + best_exchanges(target, S, settled)
    moves.sort(key=lambda move: -move[0])
    promising = [T for expected, T in moves[:CHECKED] if expected > value]
    better = _best_of(target, promising, value)
    if better is None and thorough:  # approximate gains may underrate a move
        seen = {T.tobytes() for T in promising}
        better = _best_of(target, [T for _, T in moves if T.tobytes() not in seen], value)
    return better


def _best_of(target: Target, sets: list[IntArray], value: float) -> tuple[IntArray, float] | None:
    values = [target.log_joint(T) for T in sets]
    best = int(np.argmax(values)) if values else -1
    return (sets[best], values[best]) if values and values[best] > value + IMPROVEMENT else None


def _flips(target: Target, S: IntArray, value: float, settled: IntArray) -> list[tuple[float, IntArray]]:
    """The best few additions and removals, with the value predicted by the gains."""
    gains = target.log_odds(target.evaluate([S]))[0]
    gains[S] *= -1
    gains[settled] = -np.inf
    return [(value + gains[m], np.setxor1d(S, [m])) for m in np.argsort(-gains)[:CHECKED] if gains[m] > -np.inf]


def best_exchanges(target: Target, S: IntArray, settled: IntArray = NOTHING) -> list[tuple[float, IntArray]]:
    """The best replacement of each member, with the value predicted by the gains."""
    if np.isin(S, settled).all():
        return []
    values = target.exchanges(S)
    values[:, S] = values[:, settled] = -np.inf
    best = values.argmax(axis=1)
    return [
        (values[j, m], np.sort(np.append(np.delete(S, j), m)))
        for j, m in enumerate(best)
        if S[j] not in settled and values[j, m] > -np.inf
    ]


def climb(
    target: Target, S: IntArray, *, keep_size: bool, settled: IntArray = NOTHING
) -> tuple[IntArray, list[IntArray]]:
    """The most probable set reached from S by exchanges and `polish`, and its rivals: the best exchange of each.

    No set is visited twice, so the climb ends even if the evidence of a set is not always the same to the last digit.
    """
    visited: set[bytes] = set()
    rivals: list[IntArray] = []
    while S.tobytes() not in visited:
        visited.add(S.tobytes())
        rivals = [T for _, T in best_exchanges(target, S, settled)]
        better = _best_of(target, rivals, target.log_joint(S))
        if better is not None:
            S = polish(target, better[0], keep_size=keep_size, settled=settled)
    return S, rivals


def grow(target: Target, size: int | None, start: IntArray = NOTHING, excluded: IntArray = NOTHING) -> IntArray:
    """Add the feature with the largest gain, except `excluded`, until there are `size` or while gains are positive."""
    S = start
    while len(S) < (target.n_features if size is None else size):
        m, gain = _best_flip(target, S, excluded, add=True)
        if gain == -np.inf or (size is None and gain <= 0):
            break
        S = np.setxor1d(S, [m])
    return S


def resize(target: Target, S: IntArray, size: int, settled: IntArray = NOTHING) -> IntArray:
    """Add or remove features one by one, by flip gains, until S has `size`; those in `settled` stay in or out.

    S stays smaller if no more features can be added.
    """
    while len(S) != size:
        m, gain = _best_flip(target, S, settled, add=len(S) < size)
        if gain == -np.inf:
            break
        S = np.setxor1d(S, [m])
    return S


def _best_flip(target: Target, S: IntArray, settled: IntArray, *, add: bool) -> tuple[int, float]:
    """The best addition, or the best removal, and its gain; −inf if there is none."""
    gains = target.log_odds(target.evaluate([S]))[0]
    possible = membership([S], target.n_features)[0] != add
    possible[settled] = False
    gains = np.where(possible, gains if add else -gains, -np.inf)
    m = int(np.argmax(gains))
    return m, float(gains[m])
