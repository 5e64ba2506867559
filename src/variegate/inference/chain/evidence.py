"""The evidence of a set, and new hyperparameters given the set."""

import numpy as np
import numpy.typing as npt

from ...compiled import numba
from ...likelihoods import compiled_gain
from ...types import FloatArray
from .odds import block_gain
from .problem import Grid, Problem, State, part
from .system import DIAGONAL, INFORMATION, L, U

WINDOW = 8  # slab precisions per draw; each costs a factorisation of the members' columns


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_evidence(p: Problem, s: State, c: float) -> float:
    """Log evidence of the current set with slab precision c, up to a constant. The factors L are overwritten."""
    total = 0.0
    for k in range(len(p.noise)):
        system, n = part(p, k), 0
        factor, u = system.tables[L], system.vectors[U]
        for i in range(s.size[0]):
            for j in range(p.first[s.order[i]], p.first[s.order[i] + 1]):
                for h in range(n):
                    factor[n, h] = system.gram[j, system.members[h]]
                factor[n, n] = system.vectors[DIAGONAL, j] + c
                system.members[n] = j
                u[n] = system.vectors[INFORMATION, j]
                n += 1
        log_det, x = block_gain(factor, u, n)
        total += 0.5 * (n * np.log(c) - log_det) + compiled_gain(x, p.noise[k, 0], p.noise[k, 1], p.noise[k, 2])
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_evidences(p: Problem, s: State, inside: npt.NDArray[np.bool_], log_c: FloatArray) -> FloatArray:
    """Log evidences (n, J) of sets, given as rows of `inside` (n, M), for each slab precision."""
    found = np.empty((len(inside), len(log_c)))
    for i in range(len(inside)):
        members = np.flatnonzero(inside[i])
        s.order[: len(members)] = members
        s.size[0] = len(members)
        for j in range(len(log_c)):
            found[i, j] = log_evidence(p, s, np.exp(log_c[j]))
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_slab(p: Problem, s: State, grid: Grid, i: int, j: int, rng: np.random.Generator) -> int:
    """Draw a slab precision, as a position on the grid, given the set, within a random window around j."""
    J = len(grid.log_c)
    start = j - int(WINDOW * rng.random())
    weights = np.empty(WINDOW)
    for w in range(WINDOW):
        weights[w] = -np.inf
        if 0 <= start + w < J:
            weights[w] = log_evidence(p, s, np.exp(grid.log_c[start + w])) + grid.log_prior[i, start + w]
    return int(start + pick_log(weights, rng))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_size(size: int, grid: Grid, j: int, rng: np.random.Generator) -> int:
    """Draw a prior size, as a position on the grid, given the size of the set."""
    weights = np.empty(len(grid.log_kappa))
    for i in range(len(weights)):
        weights[i] = size * grid.log_kappa[i] - grid.log_normalizer[i] + grid.log_prior[i, j]
    return pick_log(weights, rng)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def pick_log(weights: FloatArray, rng: np.random.Generator) -> int:
    """Draw a position with the given log weights, which are overwritten."""
    most, total = -np.inf, 0.0
    for i in range(len(weights)):
        most = max(most, weights[i])
    for i in range(len(weights)):
        weights[i] = np.exp(weights[i] - most)
        total += weights[i]
    return int(pick(weights, rng.random() * total))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def pick(weights: FloatArray, aim: float) -> int:
    """The first position at which the running sum exceeds `aim`."""
    total, last = 0.0, -1
    for m in range(len(weights)):
        if weights[m] > 0.0:
            total += weights[m]
            last = m
            if total > aim:
                break
    return last
