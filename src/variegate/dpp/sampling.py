"""Exact sampling of projection DPPs by accept/reject.

Given k orthonormal eigenvectors (columns of V, M×k), items are drawn one after another with probability
∝ ‖PV_i‖², where P projects out the rows drawn so far. Barthelmé, Tremblay & Amblard (2023) propose i ∝ ‖V_i‖²
and accept with probability ‖PV_i‖²/‖V_i‖²: k·H_k proposals in all. We propose in two steps, which is equivalent:
one of the k eigenvectors at random, then i ∝ V_ij². The sums of V_ij² over blocks of items are kept for each
eigenvector, so a proposal costs O(log M + k²) and a set O(k³ log k), for any M.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..compiled import numba
from ..sets import row_blocks
from ..types import FloatArray, IntArray

BLOCK = 64  # items per block of the inverse distribution functions
ROUNDING = 1e-12  # squared residuals below this fraction of the row are rounding errors


class EigenvectorStore:
    """Eigenvectors of one kernel as rows (d, M), computed when a draw first needs them: O(M) memory for each."""

    def __init__(self, n_items: int, transform: FloatArray, rows: Callable[[slice], FloatArray]) -> None:
        self._transform = transform  # (d, d): V = W·transform
        self._rows = rows
        d = transform.shape[1]
        self._known = np.zeros(d, dtype=bool)
        self.vectors = np.empty((d, n_items))
        self.mass = np.empty((d, n_items // BLOCK + 2))  # cumulative over blocks, starting at zero

    def prepare(self, needed: IntArray) -> None:
        """Compute the eigenvectors in `needed` that are not known yet. O(Md) for each."""
        new = needed[~self._known[needed]]
        if len(new) == 0:
            return
        n_items = self.vectors.shape[1]
        transform = self._transform[:, new].T
        for block in row_blocks(n_items, len(self._transform)):
            self.vectors[new, block] = transform @ self._rows(block).T
        _sum_blocks(self.vectors, self.mass, new)
        self._known[new] = True


@numba.njit(cache=True)
def _sum_blocks(vectors, mass, new):  # type: ignore[no-untyped-def]
    for j in new:
        total, end = 0.0, 0
        for b in range(mass.shape[1]):
            mass[j, b] = total
            start, end = end, min(end + BLOCK, vectors.shape[1])
            total += _dot(vectors[j, start:end], vectors[j, start:end])


def draw_projections(
    store: EigenvectorStore, chosen: Sequence[IntArray], rng: np.random.Generator, tries: int = 50
) -> list[IntArray]:
    """One sorted set for each array of chosen eigenvectors.

    After `tries`·k rejections in a row, which have probability below e^{-tries}, the item is drawn directly in
    O(Mk²), so this always terminates.
    """
    sizes = np.array([len(c) for c in chosen], dtype=np.int64)
    if sizes.sum() == 0:
        return [np.empty(0, dtype=np.int64) for _ in chosen]
    flat = np.concatenate(chosen)
    store.prepare(np.unique(flat))
    drawn = _draw_all(store.vectors, store.mass, flat, sizes, rng, tries)
    return [np.sort(part) for part in np.split(drawn, np.cumsum(sizes)[:-1])]


@numba.njit(cache=True)
def _draw_all(vectors, mass, flat, sizes, rng, tries):  # type: ignore[no-untyped-def]
    drawn = np.empty(len(flat), dtype=np.int64)
    start = 0
    for k in sizes:
        chosen = flat[start : start + k]
        basis = np.empty((k, k))
        row = np.empty(k)
        for t in range(k):
            item = _propose_until_accepted(vectors, mass, chosen, basis[:t], row, rng, tries * k)
            if item < 0:
                item = _draw_directly(vectors, chosen, basis[:t], row, rng)
            drawn[start + t] = item
            _extend(basis, t, row)
        start += k
    return drawn


@numba.njit(cache=True)
def _gather(vectors, chosen, item, row):  # type: ignore[no-untyped-def]
    for c in range(len(chosen)):
        row[c] = vectors[chosen[c], item]


@numba.njit(cache=True)
def _propose_until_accepted(vectors, mass, chosen, basis, row, rng, tries):  # type: ignore[no-untyped-def]
    k = len(chosen)
    for _ in range(tries):
        item = _item_from(vectors, mass, chosen[int(rng.random() * k)], rng.random())
        _gather(vectors, chosen, item, row)
        norm = _dot(row, row)
        # the residual of an item already in the set is rounding error, which must never be accepted
        threshold = norm * max(rng.random(), ROUNDING)
        left = norm
        for b in range(len(basis)):
            along = _dot(basis[b], row)
            left -= along * along
            if left <= threshold:  # the rest can only shrink it further
                break
        if left > threshold:
            return item
    return -1


@numba.njit(cache=True)
def _item_from(vectors, mass, j, u):  # type: ignore[no-untyped-def]
    """An item with probability V_ij², by bisection over blocks and a scan of one block."""
    n_items = vectors.shape[1]
    low, high = 0, (n_items - 1) // BLOCK
    target = u * mass[j, high + 1]
    while low < high:
        middle = (low + high) // 2
        if mass[j, middle + 1] > target:
            high = middle
        else:
            low = middle + 1
    left = target - mass[j, low]
    item = low * BLOCK
    for item in range(low * BLOCK, min(n_items, (low + 1) * BLOCK)):
        left -= vectors[j, item] * vectors[j, item]
        if left < 0.0:
            break
    return item


@numba.njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dot(a, b):  # type: ignore[no-untyped-def]
    """aᵀb by a loop: np.dot takes three seconds longer to compile and is no faster at this length."""
    total = 0.0
    for c in range(len(a)):
        total += a[c] * b[c]
    return total


@numba.njit(cache=True)
def _project_out(row, basis):  # type: ignore[no-untyped-def]
    for b in range(len(basis)):
        along = _dot(basis[b], row)
        for c in range(len(row)):
            row[c] -= along * basis[b, c]


@numba.njit(cache=True)
def _extend(basis, t, row):  # type: ignore[no-untyped-def]
    """Gram-Schmidt, twice, on the row of the drawn item, which becomes the next basis vector."""
    _project_out(row, basis[:t])
    _project_out(row, basis[:t])
    length = np.sqrt(_dot(row, row))
    for c in range(len(row)):
        basis[t, c] = row[c] / length


@numba.njit(cache=True)
def _draw_directly(vectors, chosen, basis, row, rng):  # type: ignore[no-untyped-def]
    """The same draw without proposals, from the weights of all items."""
    n_items = vectors.shape[1]
    cumulative = np.empty(n_items)
    total = 0.0
    for item in range(n_items):
        _gather(vectors, chosen, item, row)
        norm = _dot(row, row)
        _project_out(row, basis)
        left = _dot(row, row)
        total += left if left > ROUNDING * norm else 0.0
        cumulative[item] = total
    target = rng.random() * total
    item = 0
    while item < n_items - 1 and cumulative[item] <= target:
        item += 1
    _gather(vectors, chosen, item, row)
    return item
