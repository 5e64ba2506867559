"""Index sets: checks of arguments, membership, and the distance between two sets."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .types import FloatArray, IntArray

# Rows are processed in blocks of about this size; larger ones do not fit in the caches and cost page faults.
BLOCK_BYTES = 1 << 22

NOTHING = np.empty(0, dtype=np.int64)  # the empty set

# For public methods: numbers too small for a double are zero, even if the caller set numpy to raise on underflow.
underflow_is_zero = np.errstate(under="ignore")


def as_index_set(S: npt.ArrayLike, n_items: int, name: str = "S") -> IntArray:
    """Sorted positions of a set given as positions or as a boolean mask (n_items,).

    >>> as_index_set([3, 1], 5)
    array([1, 3])
    >>> as_index_set([False, True, True], 3)
    array([1, 2])
    """
    given = np.asarray(sorted(S) if isinstance(S, set | frozenset) else S)
    if given.ndim != 1:
        raise ValueError(f"{name} must be a one-dimensional array of positions, got shape {given.shape}.")
    if given.dtype == bool:
        if len(given) != n_items:
            raise ValueError(f"{name}, a boolean mask, must have {n_items} entries, got {len(given)}.")
        return np.flatnonzero(given)
    if given.size == 0:
        return NOTHING
    if not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"{name} must hold integer positions or booleans, got {given.dtype}.")
    found = np.sort(given.astype(np.int64))
    if found[0] < 0 or found[-1] >= n_items:
        raise ValueError(
            f"{name} must hold positions from 0 to {n_items - 1}, got {found[0] if found[0] < 0 else found[-1]}."
        )
    if (found[1:] == found[:-1]).any():
        twice = found[1:][found[1:] == found[:-1]][0]
        raise ValueError(f"{name} must hold each position once, got {twice} more than once.")
    return found


def as_positions(positions: npt.ArrayLike, n_items: int, name: str) -> IntArray:
    """Positions in any order, repeats allowed, for blocks of a matrix."""
    found = np.atleast_1d(np.asarray(positions))
    if found.ndim != 1:
        raise ValueError(f"{name} must be a one-dimensional array of positions, got shape {found.shape}.")
    if found.dtype == bool:
        return as_index_set(found, n_items, name)
    if found.size:
        as_index_set(np.unique(found), n_items, name)
    return found.astype(np.int64)


def as_vector(v: npt.ArrayLike, n_items: int) -> FloatArray:
    """A vector with one number per item."""
    found = np.asarray(v, dtype=np.float64)
    if found.shape != (n_items,):
        raise ValueError(f"v must have one entry per item, shape ({n_items},), got {found.shape}.")
    return found


def as_theta(theta: npt.ArrayLike) -> FloatArray:
    """Finite log-qualities (M,), as a read-only float64 array."""
    found = np.array(theta, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"theta must have one entry per item, shape (M,), got shape {found.shape}.")
    if not np.isfinite(found).all():
        where = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(
            f"theta must be finite, got {found[where]} at item {where}. "
            "To force items in or out use condition(include=..., exclude=...)."
        )
    found.flags.writeable = False
    return found


def as_items(items: npt.ArrayLike | None, n_items: int) -> npt.NDArray[Any]:
    """Labels of the items, by default their positions, as a read-only copy."""
    found = np.arange(n_items) if items is None else np.array(items)
    if found.shape != (n_items,):
        raise ValueError(f"items must hold {n_items} labels, one per item, got shape {found.shape}.")
    found.flags.writeable = False
    return found


def as_size(k: int, largest: int, what: str) -> int:
    """A set size between 0 and `largest`; `what` explains that limit in the error."""
    try:
        size = int(operator.index(k))  # int, because operator.index(True) is True, which numba rejects
    except TypeError:
        raise ValueError(f"size must be a whole number, got {k!r}.") from None
    if not 0 <= size <= largest:
        raise ValueError(f"size must be between 0 and {largest} ({what}), got {size}.")
    return size


def as_count(n: int) -> int:
    """A number of sets to draw, zero or more."""
    try:
        count = int(operator.index(n))
    except TypeError:
        raise ValueError(f"n, the number of sets, must be a whole number, got {n!r}.") from None
    if count < 0:
        raise ValueError(f"n, the number of sets, must be at least 0, got {count}.")
    return count


def split_items(include: npt.ArrayLike, exclude: npt.ArrayLike, n_items: int) -> tuple[IntArray, IntArray]:
    """Positions to include, and those neither included nor excluded, for `condition`."""
    inside = as_index_set(include, n_items, "include")
    outside = as_index_set(exclude, n_items, "exclude")
    both = np.intersect1d(inside, outside)
    if len(both):
        raise ValueError(f"include and exclude must be disjoint, got {both[0]} in both.")
    rest = np.ones(n_items, dtype=bool)
    rest[inside] = rest[outside] = False
    return inside, np.flatnonzero(rest)


def row_blocks(n_rows: int, n_columns: int) -> list[slice]:
    """Slices that cover the rows in blocks of about BLOCK_BYTES, but with at least as many rows as columns.

    With fewer rows, adding up the products (d, d) of the blocks would cost more than computing them.
    """
    step = max(64, n_columns, BLOCK_BYTES // (8 * max(n_columns, 1)))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def jaccard_distance(S: IntArray, T: IntArray) -> float:
    """1 − |S ∩ T| / |S ∪ T|; zero for two empty sets.

    >>> jaccard_distance(np.array([0, 1]), np.array([1, 2]))  # doctest: +ELLIPSIS
    0.666...
    """
    union = len(np.union1d(S, T))
    return 1.0 - len(np.intersect1d(S, T)) / union if union else 0.0


def membership(sets: Sequence[IntArray], n_features: int) -> npt.NDArray[np.bool_]:
    """γ of each set (n, M).

    >>> membership([np.array([0, 2])], 3).astype(int)
    array([[1, 0, 1]])
    """
    members = np.zeros((len(sets), n_features), dtype=bool)
    for row, S in zip(members, sets, strict=True):
        row[S] = True
    return members
