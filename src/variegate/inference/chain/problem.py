"""The posterior over sets for the compiled loop, and the triangular systems of the current set."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...compiled import numba
from ...types import FloatArray, IntArray
from .system import System, append, clear, delete, learn_row

DEPENDENT = 1e-12  # a feature whose unit row has a smaller squared residual counts as dependent on the others


class Problem(NamedTuple):
    """The posterior over sets of the n features in scope, given everything else.

    log p(S | …) = Σ_k evidence_k(S) + tilt(S) + |S| log κ + β log ν(S), where evidence k is a `Form` over
    the C columns of the features.
    """

    gram: FloatArray  # (K or K + 1, C, C), `known` rows; if the prior has ν, its cosines are the last system
    known: npt.NDArray[np.bool_]  # (K or K + 1, C)
    vectors: FloatArray  # (K or K + 1, 5, C)
    tables: FloatArray  # (K or K + 1, 3, C, C)
    members: IntArray  # (K or K + 1, C)
    columns: FloatArray  # Z (C, N)
    units: FloatArray  # (n, d) rows of Φ at unit length, or (n, 0)
    precision: FloatArray  # (K, N)
    fixed: FloatArray  # (K, p, C)
    first: IntArray  # (n + 1,) first column of each feature
    tilt: FloatArray  # (n,) log-odds of the prior for each feature alone, without log κ
    noise: FloatArray  # (K, 3) shape, rate, floor; shape = 0 if the noise is known
    movable: npt.NDArray[np.bool_]  # (n,) other features stay in or out
    nugget: float
    power: float  # β


class Grid(NamedTuple):
    """Hyperparameters that are averaged over: I prior sizes and J slab precisions; 1 if the value is given."""

    log_kappa: FloatArray  # (I,) constants added to the prior's log-odds
    log_normalizer: FloatArray  # (I,) of the prior for each
    log_c: FloatArray  # (J,) evenly spaced
    log_prior: FloatArray  # (I, J)


class State(NamedTuple):
    """The set, in the order in which its members were added, and workspace."""

    order: IntArray  # (n,) the first size[0] entries are the members
    place: IntArray  # (n,) position in `order`, −1 outside
    size: IntArray  # (1,)
    log_odds: FloatArray  # (n,)
    odds: FloatArray  # (n,)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def part(p: Problem, k: int) -> System:
    """System number k."""
    return System(p.gram[k], p.vectors[k], p.tables[k], p.members[k])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def learn(p: Problem, k: int, j: int) -> None:
    """Compute row j of the Gram matrix of system k unless it is known."""
    if p.known[k, j]:
        return
    p.known[k, j] = True
    if k < len(p.noise):
        learn_row(p.gram[k, j], j, p.columns, p.precision[k], p.fixed[k])
    else:
        learn_row(p.gram[k, j], j, p.units, np.ones(p.units.shape[1]), np.empty((0, 0)))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add(p: Problem, s: State, m: int, columns: int, c: float) -> int:
    """Add feature m; returns the new number of columns."""
    wide = p.first[m + 1] - p.first[m]
    for k in range(len(p.gram)):
        volume = k == len(p.noise)
        for j in range(1 if volume else wide):
            column = m if volume else p.first[m] + j
            learn(p, k, column)
            append(part(p, k), s.size[0] if volume else columns + j, column, DEPENDENT if volume else c)
    s.place[m] = s.size[0]
    s.order[s.size[0]] = m
    s.size[0] += 1
    return int(columns + wide)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def remove(p: Problem, s: State, m: int, columns: int) -> int:
    """Remove feature m; returns the new number of columns."""
    position, before = s.place[m], 0
    for i in range(position):
        before += p.first[s.order[i] + 1] - p.first[s.order[i]]
    wide = p.first[m + 1] - p.first[m]
    for k in range(len(p.gram)):
        volume = k == len(p.noise)
        for j in range(1 if volume else wide):
            delete(part(p, k), s.size[0] if volume else columns - j, position if volume else before + wide - 1 - j)
    for i in range(position + 1, s.size[0]):
        s.order[i - 1] = s.order[i]
        s.place[s.order[i]] = i - 1
    s.place[m] = -1
    s.size[0] -= 1
    return int(columns - wide)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def rebuild(p: Problem, s: State, c: float) -> int:
    """Rebuild the systems of the current set, which also removes accumulated rounding errors; returns the columns."""
    for k in range(len(p.gram)):
        clear(part(p, k), c if k < len(p.noise) else p.nugget)
    size, columns = s.size[0], s.size[0] * 0  # an int64, as in the loop
    s.size[0] = 0
    for i in range(size):
        columns = add(p, s, s.order[i], columns, c)
    return int(columns)
