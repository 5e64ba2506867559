"""Whether rows with a higher risk have their event earlier."""

import numpy as np
import numpy.typing as npt

from ..compiled import numba
from ..types import FloatArray, IntArray


def concordance(time: npt.ArrayLike, event: npt.ArrayLike, risk: npt.ArrayLike) -> float:
    """Harrell's C: of the pairs whose order is known, the fraction in which the one with the higher risk comes first.

    The order of i and j is known if i has its event and j is observed longer, or as long without an event. Equal risks
    count half. 0.5 is guessing; nan if no order is known. O(N log N).

    >>> concordance([1.0, 2.0, 3.0], [True, True, False], [3.0, 1.0, 2.0])  # doctest: +ELLIPSIS
    0.666...
    """
    t, r = np.asarray(time, dtype=np.float64), np.asarray(risk, dtype=np.float64)
    happened = np.asarray(event).astype(bool)
    if not t.shape == r.shape == happened.shape or t.ndim != 1:
        raise ValueError(
            f"time, event and risk must have one entry per row, got {t.shape}, {happened.shape}, {r.shape}."
        )
    order = np.argsort(-t, kind="stable")
    rank = np.unique(r, return_inverse=True)[1].astype(np.int64)[order]
    known, right, equal = _count(t[order], happened[order], rank, int(rank.max(initial=0)) + 1)
    return float((right + 0.5 * equal) / known) if known else np.nan


@numba.njit(cache=True)
def _count(time: FloatArray, event: npt.NDArray[np.bool_], rank: IntArray, n: int) -> tuple[int, int, int]:
    """Known, concordant and tied pairs; rows by decreasing time. A Fenwick tree counts the risks seen so far."""
    tree = np.zeros(n + 1, dtype=np.int64)
    known = right = equal = seen = start = 0
    while start < len(time):
        stop = start
        while stop < len(time) and time[stop] == time[start]:
            stop += 1
        for i in range(start, stop):  # censored rows count as observed longer than events at the same time
            if not event[i]:
                seen += _add(tree, rank[i])
        for i in range(start, stop):
            if event[i]:
                below = _sum(tree, rank[i])
                known += seen
                right += below
                equal += _sum(tree, rank[i] + 1) - below
        for i in range(start, stop):
            if event[i]:
                seen += _add(tree, rank[i])
        start = stop
    return known, right, equal


@numba.njit(cache=True)
def _add(tree: IntArray, rank: int) -> int:
    i = rank + 1
    while i < len(tree):
        tree[i] += 1
        i += i & -i
    return 1


@numba.njit(cache=True)
def _sum(tree: IntArray, rank: int) -> int:
    """Number of entries in the tree with a smaller rank."""
    total, i = 0, rank
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total
