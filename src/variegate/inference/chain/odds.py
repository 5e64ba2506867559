"""The odds of every feature given the others, from the triangular systems and the prior."""

import numpy as np

from ...compiled import numba
from ...likelihoods import compiled_gain
from ...types import FloatArray
from .problem import DEPENDENT, Problem, State, part
from .system import FAST, D, R, System, U, W, Y, explained, member


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fill_log_odds(p: Problem, s: State, c: float, log_kappa: float, columns: int) -> None:
    """Fill `odds` and `log_odds`: the odds of every feature given the others are `odds` times e^`log_odds`."""
    n, single = len(p.tilt), len(p.tilt) == p.first[-1]
    for m in range(n):
        s.log_odds[m] = p.tilt[m] + log_kappa
        s.odds[m] = 1.0
    for k in range(len(p.noise)):
        system = part(p, k)
        a, floor = p.noise[k, 0], p.noise[k, 2]
        rate = max(p.noise[k, 1] - 0.5 * explained(system, columns), floor)
        if single:
            outside_odds(system.vectors[D], system.vectors[R], a, rate, floor, c, s)
        else:
            for m in range(n):
                start, stop = p.first[m], p.first[m + 1]
                if s.place[m] < 0:
                    log_det, x = outside_block(system, start, stop, columns, c)
                    s.log_odds[m] += 0.5 * ((stop - start) * np.log(c) - log_det) + compiled_gain(x, a, rate, floor)
    if len(p.gram) > len(p.noise):
        left = part(p, len(p.noise)).vectors[D]
        for m in range(n):
            multiply(s, m, left[m], p.power)
    start = 0
    for i in range(s.size[0]):
        m = s.order[i]
        wide = p.first[m + 1] - p.first[m]
        s.log_odds[m] = p.tilt[m] + log_kappa + member_gain(p, c, columns, start, wide)
        s.odds[m] = 1.0
        if len(p.gram) > len(p.noise):
            variance, _ = member(part(p, len(p.noise)), s.size[0], i)
            multiply(s, m, max(1.0 / variance, 2 * DEPENDENT), p.power)
        start += wide


@numba.njit(cache=True, nogil=True, error_model="numpy")
def multiply(s: State, m: int, left: float, power: float) -> None:
    """Multiply the odds of m by left^power; in logs unless the power is one, because a small number may underflow."""
    if left <= DEPENDENT:
        s.odds[m] = 0.0
    elif power == 1.0:
        s.odds[m] *= left
    else:
        s.log_odds[m] += power * np.log(left)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def outside_odds(d: FloatArray, r: FloatArray, a: float, rate: float, floor: float, c: float, s: State) -> None:
    """Add the gains of all columns as if none were a member; every feature has one column here.

    √(c/d) goes into `odds`, because a square root costs less than a logarithm.
    """
    log_odds, odds = s.log_odds, s.odds
    for m in range(len(log_odds)):
        share = 1.0 / max(d[m], c)
        log_odds[m] += compiled_gain(r[m] * r[m] * share, a, rate, floor)
        odds[m] *= np.sqrt(c * share)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def outside_block(s: System, start: int, stop: int, columns: int, c: float) -> tuple[float, float]:
    """log|D| and explained part of several columns that would be added together."""
    g = stop - start
    block, e = np.empty((g, g)), np.empty(g)
    for i in range(g):
        e[i] = s.vectors[R, start + i]
        block[i, i] = max(s.vectors[D, start + i], c)
        for j in range(i):
            block[i, j] = s.gram[start + i, start + j]
            for h in range(columns):
                block[i, j] -= s.tables[W, h, start + i] * s.tables[W, h, start + j]
    return block_gain(block, e, g)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def member_gain(p: Problem, c: float, columns: int, start: int, wide: int) -> float:
    """Gain of a member whose columns are in the systems from position `start` on."""
    total = 0.0
    for k in range(len(p.noise)):
        system = part(p, k)
        rate = max(p.noise[k, 1] - 0.5 * explained(system, columns), p.noise[k, 2])
        if wide == 1:
            variance, mean = member(system, columns, start)
            log_det, x = -np.log(variance), mean * mean / variance
        else:
            log_det, x = inside_block(system, start, wide, columns)
        total += 0.5 * (wide * np.log(c) - log_det) - compiled_gain(-x, p.noise[k, 0], rate, p.noise[k, 2])
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def inside_block(s: System, start: int, wide: int, columns: int) -> tuple[float, float]:
    """log|D| and explained part of `wide` members from position `start` on."""
    P, mu = np.zeros((wide, wide)), np.zeros(wide)
    for h in range(start, columns):
        for i in range(wide):
            y = s.tables[Y, h, start + i]
            mu[i] += y * s.vectors[U, h]
            for j in range(i + 1):
                P[i, j] += y * s.tables[Y, h, start + j]
    log_det, total = block_gain(P, mu, wide)
    return -log_det, total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def block_gain(D: FloatArray, e: FloatArray, g: int) -> tuple[float, float]:
    """log|D| and eᵀD⁻¹e of the first g rows; both arguments are overwritten."""
    log_det = total = 0.0
    for i in range(g):
        for j in range(i):
            D[i, i] -= D[i, j] * D[i, j]
            e[i] -= D[i, j] * e[j]
        length = np.sqrt(D[i, i])
        log_det += 2.0 * np.log(length)
        e[i] /= length
        total += e[i] * e[i]
        for h in range(i + 1, g):
            for j in range(i):
                D[h, i] -= D[h, j] * D[i, j]
            D[h, i] /= length
    return log_det, total
