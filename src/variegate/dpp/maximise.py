"""The most probable set of a DPP: greedy growth, then exchange.

Growth is the fast greedy algorithm (Chen, Zhang & Zhou 2018), here on the rows of Φ: each step takes one
matrix-vector product, O(Md), and O(M) memory. Exchange then applies the best single addition, removal or swap until
none improves the set, O(Mdk) a step.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from .balance import SPAN_TOLERANCE, unit_rows
from .sets import FloatArray, IntArray, row_blocks

Float64Array = npt.NDArray[np.float64]

# An exchange has to raise log q(S) by more than this: rounding must not let it go round in circles.
IMPROVEMENT = 1e-9


class Rows(NamedTuple):
    """Φ (M, d) with log ‖φ_m‖ and log L_mm = θ_m + 2 log ‖φ_m‖, both (M,)."""

    phi: FloatArray
    log_norms: Float64Array
    log_diagonal: Float64Array

    def units(self, rows: slice | IntArray) -> Float64Array:
        """Rows of Φ at unit length."""
        return unit_rows(self.phi[rows], self.log_norms[rows])


class Move(NamedTuple):
    """Add an item, remove one, or (with both) swap them; `gain` is the change of log q."""

    gain: float
    add: int = -1
    remove: int = -1


def grow(rows: Rows, size: int | None) -> IntArray:
    """Add the item with the largest gain until `size` are in, or while gains are positive."""
    M, d = rows.phi.shape
    outside = np.ones(M)  # squared part of each unit row outside the span of the set, to rounding
    basis = np.empty((0, d))
    chosen: list[int] = []
    alive = rows.log_norms > -np.inf
    while len(chosen) < (min(M, d) if size is None else size):
        # subtraction leaves errors of this order: below it the value is an upper bound, checked when it matters
        bound = np.maximum(outside, 1e-14 * (len(chosen) + 1))
        gains = np.where(alive, rows.log_diagonal + np.log(bound), -np.inf)
        item, gain = _best_checked(rows, gains, basis)
        if item < 0 or (size is None and gain <= 0):
            break
        chosen.append(item)
        alive[item] = False
        direction = _residual(rows, item, basis)
        basis = np.vstack([basis, direction / np.linalg.norm(direction)])
        for block in row_blocks(M, d):
            outside[block] -= (rows.units(block) @ basis[-1]) ** 2
    return np.sort(np.array(chosen, dtype=np.int64))


def _residual(rows: Rows, item: int, basis: Float64Array) -> Float64Array:
    unit: Float64Array = rows.units(np.array([item]))[0]
    for _ in range(2):  # twice is enough
        unit = unit - basis.T @ (basis @ unit)
    return unit


def _best_checked(rows: Rows, gains: Float64Array, basis: Float64Array) -> tuple[int, float]:
    """The best item, with the gain of every candidate recomputed exactly before it is believed."""
    while True:
        item = int(np.argmax(gains))
        if gains[item] == -np.inf:
            return -1, -np.inf
        length = np.linalg.norm(_residual(rows, item, basis))
        exact = rows.log_diagonal[item] + 2 * np.log(length) if length >= SPAN_TOLERANCE else -np.inf
        if exact >= gains[item] - 1e-6:
            return item, float(exact)
        gains[item] = exact


def exchange(rows: Rows, S: IntArray, *, keep_size: bool) -> IntArray:
    """Apply the best single move until none improves log q(S)."""
    while True:
        move = best_move(rows, S, keep_size=keep_size)
        if move.gain <= IMPROVEMENT:
            return S
        S = S[move.remove != S]
        if move.add >= 0:
            S = np.sort(np.append(S, move.add))


def best_move(rows: Rows, S: IntArray, *, keep_size: bool) -> Move:
    r"""The best addition, removal or swap of a set of independent rows.

    With s_i the squared part of row i outside span(S), s_j^- the same for a member j given the others, and
    φ_i = Σ_j A_ij φ_j + rest, a swap of j for i multiplies the determinant by (s_i + A_ij² s_j^-) / s_j^-.
    """
    M, d = rows.phi.shape
    Q, R = linalg.qr(rows.units(S).T, mode="economic")
    inverse = linalg.solve_triangular(R, np.eye(len(S)))
    member = 1.0 / (inverse**2).sum(axis=1)  # s_j^-
    cost = rows.log_diagonal[S] + np.log(member)
    best = Move(0.0)
    if not keep_size and len(S):
        worst = int(np.argmin(cost))
        best = Move(-float(cost[worst]), remove=int(S[worst]))
    outsider = rows.log_norms > -np.inf
    outsider[S] = False
    for block in row_blocks(M, d):
        units = rows.units(block)
        along = units @ Q
        apart = ((units - along @ Q.T) ** 2).sum(axis=1)
        apart[apart < SPAN_TOLERANCE**2] = 0.0
        base = np.where(outsider[block], rows.log_diagonal[block], -np.inf)
        if not keep_size:
            best = max(best, _best_addition(base, apart, block.start), key=lambda move: move.gain)
        if len(S):
            replaced = apart[:, None] + (along @ inverse.T) ** 2 * member
            replaced[replaced < SPAN_TOLERANCE**2] = 0.0
            best = max(best, _best_swap(base, replaced, cost, S, block.start), key=lambda move: move.gain)
    return best


def _best_addition(base: Float64Array, apart: Float64Array, start: int) -> Move:
    with np.errstate(divide="ignore"):
        gains = base + np.log(apart)
    item = int(np.argmax(gains))
    return Move(float(gains[item]), add=start + item)


def _best_swap(base: Float64Array, replaced: Float64Array, cost: Float64Array, S: IntArray, start: int) -> Move:
    with np.errstate(divide="ignore"):
        gains = base[:, None] + np.log(replaced) - cost
    item, member = np.unravel_index(int(np.argmax(gains)), gains.shape)
    return Move(float(gains[item, member]), add=start + int(item), remove=int(S[member]))
