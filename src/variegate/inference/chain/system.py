"""A triangular system, updated when a member is added or removed, for every column at once.

For a quadratic form (Gram matrix G, information b, ridge c) and members S in the order in which they were added:

    A = G_SS + cI = LLᵀ,  W = L⁻¹G_S: (k, C),  Y = L⁻¹ (k, k),  u = L⁻¹b_S,
    d = diag(G) + c − Σ W²,  r = b − Wᵀu.

Column j outside S has Schur complement d_j and would explain r_j²/d_j more; member i has 1/[A⁻¹]_ii = 1/Σ Y²_:i and
mean μ_i = [Yᵀu]_i. An addition is one new row, a removal a sequence of Givens rotations: O(kC) each.

The arrays are packed because numba compiles every field of every argument again in each function.
"""

from typing import NamedTuple

import numpy as np

from ...compiled import numba
from ...types import FloatArray, IntArray

FAST = {"reassoc", "contract", "nsz"}  # fastmath without nnan and ninf: NaN and infinity keep their meaning
DIAGONAL, INFORMATION, D, R, U = range(5)  # rows of `vectors`
W, L, Y = range(3)  # of `tables`


class System(NamedTuple):
    """A system over C columns; the first k rows of W, L, Y, u and `members` are in use."""

    gram: FloatArray  # (C, C), with valid rows for members
    vectors: FloatArray  # (5, C): diag G, b, d, r, u
    tables: FloatArray  # (3, C, C): W, L, Y
    members: IntArray  # (C,) columns in order


@numba.njit(cache=True, nogil=True, error_model="numpy")
def clear(s: System, ridge: float) -> None:
    """Remove all members."""
    v = s.vectors
    for j in range(v.shape[1]):
        v[D, j] = v[DIAGONAL, j] + ridge
        v[R, j] = v[INFORMATION, j]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def append(s: System, k: int, j: int, least: float) -> None:
    """Make column j member number k; its Schur complement is at least `least` up to rounding."""
    v, w, low, y = s.vectors, s.tables[W], s.tables[L], s.tables[Y]
    length = np.sqrt(max(v[D, j], least))
    row, source = w[k], s.gram[j]
    for m in range(len(row)):
        row[m] = source[m]
    for i in range(k):
        f, above = w[i, j], w[i]
        low[k, i] = f
        for m in range(len(row)):
            row[m] -= f * above[m]
    low[k, k] = length
    inverse = 1.0 / length
    new = v[R, j] * inverse
    v[U, k] = new
    s.members[k] = j
    d, r = v[D], v[R]
    for m in range(len(row)):
        x = row[m] * inverse
        row[m] = x
        d[m] -= x * x
        r[m] -= x * new
    for i in range(k):
        total = 0.0
        for h in range(i, k):
            total += low[k, h] * y[h, i]
        y[k, i] = -total * inverse
        y[i, k] = 0.0
    y[k, k] = inverse


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def rotate(a: FloatArray, b: FloatArray, n: int, cosine: float, sine: float) -> None:
    """Rotate the first n entries of two rows."""
    for m in range(n):
        x, y = a[m], b[m]
        a[m] = cosine * x + sine * y
        b[m] = cosine * y - sine * x


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def delete(s: System, k: int, p: int) -> None:
    """Remove member number p of k."""
    v, w, low, y = s.vectors, s.tables[W], s.tables[L], s.tables[Y]
    for i in range(p + 1, k):  # drop its row of L and its column of Y
        for h in range(i + 1):
            low[i - 1, h] = low[i, h]
        s.members[i - 1] = s.members[i]
    for i in range(k):
        for h in range(p, k - 1):
            y[i, h] = y[i, h + 1]
    for i in range(p, k - 1):
        a, b = low[i, i], low[i, i + 1]
        length = np.sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        low[i, i] = length
        for h in range(i + 1, k - 1):
            a, b = low[h, i], low[h, i + 1]
            low[h, i] = cosine * a + sine * b
            low[h, i + 1] = cosine * b - sine * a
        rotate(w[i], w[i + 1], v.shape[1], cosine, sine)
        rotate(y[i], y[i + 1], k - 1, cosine, sine)
        a, b = v[U, i], v[U, i + 1]
        v[U, i] = cosine * a + sine * b
        v[U, i + 1] = cosine * b - sine * a
    last, row, d, r = v[U, k - 1], w[k - 1], v[D], v[R]
    for m in range(len(row)):
        x = row[m]
        d[m] += x * x
        r[m] += x * last


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def explained(s: System, k: int) -> float:
    """‖u‖² of k members."""
    total = 0.0
    for i in range(k):
        total += s.vectors[U, i] * s.vectors[U, i]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def member(s: System, k: int, p: int) -> tuple[float, float]:
    """[A⁻¹]_pp and μ_p of member number p."""
    variance = mean = 0.0
    for i in range(p, k):
        y = s.tables[Y, i, p]
        variance += y * y
        mean += y * s.vectors[U, i]
    return variance, mean


@numba.njit(cache=True, nogil=True, error_model="numpy")
def learn_row(row: FloatArray, j: int, columns: FloatArray, precision: FloatArray, fixed: FloatArray) -> None:
    """Fill in row j of G = Z diag(precision) Zᵀ − fixedᵀ fixed, for columns Z (C, N) and fixed (p, C)."""
    scaled = np.empty(len(precision))
    for n in range(len(scaled)):
        scaled[n] = precision[n] * columns[j, n]
    np.dot(columns, scaled, row[: len(columns)])
    for i in range(len(fixed)):
        f = fixed[i, j]
        for m in range(len(columns)):
            row[m] -= f * fixed[i, m]
