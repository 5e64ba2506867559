"""Similarity from labels: features with the same label form a group, similar to each other and to nothing else."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..checks import check_share, generator
from .factorise import MOST_COLUMNS, check_rank, item_names
from .features import Array, SimilarityFeatures, unit_rows


def from_labels(
    labels: Sequence[object] | Any,
    within: float = 0.9,
    *,
    rank: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ with similarity `within` between members of a group and 0 between groups.

    φ_i = √r e_{g(i)} + √(1−r) u_i, where e_g is the direction of group g and u_i that of feature i.

    The kernel has full rank, so it takes G + M columns (G groups, M features) to be exact; they are used up to
    1,000, or `rank`. With fewer columns directions are random instead of orthogonal: the similarity within a group
    is still exactly r if the group is no larger than the number of columns left for the u_i, and across groups it is
    about ±(1−r)/√(columns left for the u_i) instead of 0 (plus ±r/√(columns of the e_g), if there are more groups
    than columns for them).

    Parameters
    ----------
    labels : (M,) any values; None and NaN mean "in no group" (each such feature is a group of its own)
    within : similarity r of two members of a group, 0 ≤ r < 1 (1 would rule out two members of a group)
    rank : largest number of columns of Φ; None: 1,000
    rng : generator or seed for the random directions; None is seed 0

    >>> phi = from_labels(["a", "a", "b"], within=0.9)
    >>> np.asarray(phi @ phi.T).round(2)
    array([[1. , 0.9, 0. ],
           [0.9, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    check_rank(rank)
    check_share(within, "within, a similarity,")
    codes = group_codes(labels)
    M, G, width = len(codes), int(codes.max()) + 1, rank or MOST_COLUMNS
    generator_ = generator(rng)
    exact = width >= M + G
    shared = G if exact else min(G, max(3 * width // 4, 1))
    left = M if exact else width - shared
    centres = _spread_directions(G, shared, generator_)
    own = np.eye(M) if exact else _own_directions(codes, left, generator_)
    shares = (within, 1 - within) if left else (1.0, 0.0)  # without columns left, members of a group are equal
    phi = np.hstack([np.sqrt(shares[0]) * centres[codes], np.sqrt(shares[1]) * own])
    return SimilarityFeatures(unit_rows(phi), item_names(labels))


def group_codes(labels: Sequence[object] | Any) -> Array:
    """Return group numbers 0, 1, … by first appearance, shape (M,); each missing label is its own group."""
    values = list(labels) if isinstance(labels, Iterable) else [[]]
    if isinstance(labels, str) or not all(isinstance(label, Hashable) for label in values):
        raise ValueError(f"labels must be a list with one label per feature, got {labels!r}")
    if not values:
        raise ValueError("labels must have at least one entry, got none")
    numbers: dict[object, int] = {}
    # NaN differs from itself, so the key of a missing label is its position
    missing = [label is None or label is pd.NA or label != label for label in values]
    keys = [("none", i) if missing[i] else label for i, label in enumerate(values)]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def members_of(codes: Array) -> list[Array]:
    """Return the positions of the members of each group, by group number."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _spread_directions(n: int, width: int, rng: np.random.Generator) -> Array:
    """Return n dissimilar unit vectors, shape (n, width).

    Up to `width` vectors are exactly orthogonal; more are drawn uniformly from the sphere and have
    similarities of about ±1/√width.
    """
    if n <= width:
        return np.eye(n, width)
    return unit_rows(rng.standard_normal((n, width)))


def _own_directions(codes: Array, width: int, rng: np.random.Generator) -> Array:
    """Return random unit vectors (M, width), orthogonal within each group of at most `width` members."""
    u = unit_rows(rng.standard_normal((len(codes), width)))
    for members in members_of(codes):
        if 1 < len(members) <= width:
            u[members] = np.linalg.qr(u[members].T)[0].T
    return u
