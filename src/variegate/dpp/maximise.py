"""The most probable set of a DPP: greedy growth, then exchanges.

Growth is the fast greedy algorithm (Chen, Zhang & Zhou 2018) on the rows of Φ: each step takes one matrix-vector
product, O(Md), and O(M) memory. Then the best single addition, removal or exchange is applied until none improves the
set, O(Mdk) per step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ..sets import row_blocks
from ..types import FloatArray, IntArray
from .span import CANCELLED, NOTHING, Rows, Span

# A move must raise log q(S) by more than this, so that rounding cannot make the search cycle.
IMPROVEMENT = 1e-9
# After this many moves in a row that did not improve log q(S), the remaining gains are rounding errors.
REFUSALS = 20
NOBODY = np.array([-1])


class Weights(NamedTuple):
    """Rows of Φ with log-qualities θ (M,)."""

    rows: Rows
    theta: FloatArray

    @property
    def log_diagonal(self) -> FloatArray:
        """log L_mm = θ_m + 2 log ‖φ_m‖ (M,)."""
        return self.theta + 2 * self.rows.log_norms

    def log_weight(self, S: IntArray) -> float:
        """θ(S) + log det([ΦΦᵀ]_S); −inf for dependent rows. O(d|S|²)."""
        return float(self.theta[S].sum()) + self.rows.log_volume(S)


class Move(NamedTuple):
    """Add an item, remove one, or exchange the two; `gain` is the change of log q."""

    gain: float
    add: int = -1
    remove: int = -1


def grow(weights: Weights, size: int | None) -> IntArray:
    """Add the item with the largest gain until there are `size`, or while gains are positive."""
    rows = weights.rows
    M, d = rows.phi.shape
    outside = np.ones(M)  # squared residual of each unit row after projection onto the span of the set
    span = NOTHING
    chosen: list[int] = []
    alive = rows.log_norms > -np.inf  # items inside the span never come back
    while len(chosen) < (min(M, d) if size is None else size):
        item = _best_item(weights, outside, alive, span, at_least=0.0 if size is None else -np.inf)
        if item < 0:
            break
        chosen.append(item)
        alive[item] = False
        span, _ = span.extended(rows.units(np.array([item])), rows.tolerance(np.array([item])))
        for block in row_blocks(M, d):
            outside[block] -= (rows.units(block) @ span.basis[:, -1]) ** 2
    return np.sort(np.array(chosen, dtype=np.int64))


def _best_item(
    weights: Weights, outside: FloatArray, alive: npt.NDArray[np.bool_], span: Span, at_least: float
) -> int:
    """The item with the largest gain if that is above `at_least`, else −1.

    Subtraction leaves errors of 10⁻¹⁴ in `outside`. If an item below CANCELLED would win, all such entries are
    computed from the residuals in one product, and items inside the span are ruled out: O(Mdk) in total, however
    many copies there are.
    """
    rows = weights.rows
    for checked in (False, True):
        bound = np.maximum(outside, 0.0 if checked else 1e-14 * (len(span.blur) + 1))
        with np.errstate(divide="ignore"):
            gains = np.where(alive, weights.log_diagonal + np.log(bound), -np.inf)
        item = int(np.argmax(gains)) if len(gains) else -1
        if item < 0 or gains[item] <= at_least:
            return -1
        if outside[item] > CANCELLED or checked:
            break
        doubtful = np.flatnonzero(alive & (outside <= CANCELLED))
        for block in row_blocks(len(doubtful), rows.phi.shape[1]):
            some = doubtful[block]
            outside[some] = span.outside(rows.units(some), rows.tolerance(some)).length ** 2
            alive[some] = outside[some] > 0
    return item


def exchange(weights: Weights, S: IntArray, *, keep_size: bool) -> IntArray:
    """Apply the best single move until none improves log q(S).

    Gains among near-copies suffer from rounding, so a move is kept only if it raises the recomputed log q(S): the
    search cannot cycle. Otherwise the move is refused and the next best one is tried.
    """
    weight = weights.log_weight(S)
    refused: list[Move] = []
    while len(refused) < REFUSALS:
        move = best_move(weights, S, keep_size=keep_size, refused=refused)
        if move.gain <= IMPROVEMENT:
            break
        moved = S[move.remove != S]
        if move.add >= 0:
            moved = np.sort(np.append(moved, move.add))
        new = weights.log_weight(moved)
        if new > weight + IMPROVEMENT:
            S, weight, refused = moved, new, []
        else:
            refused.append(move)
    return S


def best_move(weights: Weights, S: IntArray, *, keep_size: bool, refused: Sequence[Move] = ()) -> Move:
    """The best addition, removal or exchange for a set of independent rows, apart from those refused.

    With s_i the squared residual of row i given S, s_j^- that of a member j given the others, and
    φ_i = Σ_j A_ij φ_j + residual, exchanging j for i multiplies the determinant by (s_i + A_ij² s_j^-) / s_j^-.
    """
    rows, log_diagonal = weights.rows, weights.log_diagonal
    span, triangle = rows.span(S)
    S = S[triangle.order]
    inverse = linalg.solve_triangular(triangle.R, np.eye(len(S))) if len(S) else np.empty((0, 0))
    member = 1.0 / (inverse**2).sum(axis=1)  # s_j^-
    cost = log_diagonal[S] + np.log(member)
    moves = [Move(0.0)]
    if not keep_size:
        moves += [Move(-float(c), remove=int(j)) for c, j in zip(cost, S, strict=True)]
    gone = {(move.add, move.remove) for move in refused}
    best = max((move for move in moves if (move.add, move.remove) not in gone), key=lambda move: move.gain)
    outsider = rows.log_norms > -np.inf
    outsider[S] = False
    for block in row_blocks(*rows.phi.shape):
        along, _, length, floor = span.outside(rows.units(block), rows.tolerance(block))
        apart = np.square(length)
        replaced = apart[:, None] + (along @ inverse.T) ** 2 * member
        replaced[replaced < np.square(floor)[:, None]] = 0.0
        base = np.where(outsider[block], log_diagonal[block], -np.inf)[:, None]
        with np.errstate(divide="ignore"):
            best = max(best, _best_in(base + np.log(replaced) - cost, block, S, gone), key=lambda move: move.gain)
            if not keep_size:
                gains = base + np.log(apart)[:, None]
                best = max(best, _best_in(gains, block, NOBODY, gone), key=lambda move: move.gain)
    return best


def _best_in(gains: FloatArray, block: slice, leaving: IntArray, gone: set[tuple[int, int]]) -> Move:
    """The best entry of a table of gains: items of the block to add × items to remove in exchange."""
    for add, remove in gone:
        if block.start <= add < block.stop:
            gains[add - block.start, leaving == remove] = -np.inf
    if gains.size == 0:
        return Move(-np.inf)
    item, member = np.unravel_index(int(np.argmax(gains)), gains.shape)
    return Move(float(gains[item, member]), add=block.start + int(item), remove=int(leaving[member]))
