"""Similarity from annotations: items that share terms (gene sets, tags, keywords) are alike."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ..checks import generator
from ..data.network import locate_names
from .factorise import check_rank, factorise_known, feature_names, item_names
from .features import SimilarityFeatures, SimilarityWarning
from .kernels import CosineKernel


def from_annotations(
    table: Mapping[str, Iterable[str]] | Any,
    features: Sequence[object] | None = None,
    *,
    weights: str = "idf",
    rank: int | None = 300,
    tol: float = 1e-6,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ of items described by terms: K_ij = cosine of the rows of an item × term table.

    With weights "idf" a term that n of the M items have counts log(M/n): sharing a rare term says more,
    and one that all items have says nothing. With "equal" all terms count alike.

    Parameters
    ----------
    table : (M, T) sparse matrix, array or data frame; or a mapping term → items (gene sets), with `features`
    features : the M names, in the order of the data's columns; looked up among the items as they are, then with
        upper and lower case ignored, where that leaves one candidate
    rank, tol : at most `rank` features (None: the tolerance decides), fewer at trace error `tol`
    rng : generator or seed; None is seed 0

    Items without any (informative) term are similar to none, and a warning counts them.

    >>> phi = from_annotations({"repair": ["A", "B"], "growth": ["B", "C"]}, ["A", "B", "C"])
    >>> np.asarray(phi @ phi.T).round(2) + 0.0
    array([[1.  , 0.71, 0.  ],
           [0.71, 1.  , 0.71],
           [0.  , 0.71, 1.  ]])
    """
    check_rank(rank)
    if weights not in ("idf", "equal"):
        raise ValueError(f'expected weights "idf" or "equal", got {weights!r}')
    names = item_names(table) if features is None else feature_names(features)
    counts = _membership(table, names) if isinstance(table, Mapping) else sparse.csr_array(_plain(table))
    if names is not None and len(names) != counts.shape[0]:
        raise ValueError(f"expected a table with one row per feature ({len(names)}), got {counts.shape[0]} rows")
    rows = _unit_sparse_rows(_weighted(counts) if weights == "idf" else counts)
    known = np.diff(rows.indptr) > 0
    if not known.any():
        raise ValueError(
            "expected items that have terms, but no item has an informative one; are the names of one kind?"
        )
    if not known.all():
        _warn_strangers(known, names)
    return factorise_known(CosineKernel(rows[known]), known, rank, tol, generator(rng)).named(names)


def _plain(table: Any) -> Any:
    values = table if sparse.issparse(table) else np.asarray(table)
    data = np.asarray(values.data) if sparse.issparse(values) else values
    if values.ndim != 2 or data.dtype.kind not in "biuf":
        raise ValueError(f"expected an item × term table of numbers, got {data.dtype} of shape {values.shape}")
    if not (np.isfinite(data).all() and (data >= 0).all()):
        raise ValueError("expected an item × term table of finite, non-negative numbers, got others")
    return values.astype(np.float64)


def _membership(sets: Mapping[str, Iterable[str]], names: Sequence[str] | None) -> Any:
    """Return the 0/1 table (M, T) of a mapping term → items; items that are not features are ignored."""
    if names is None:
        raise ValueError("expected features= with the items' names, since the table is a mapping of sets")
    for term, members in sets.items():
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise ValueError(f"expected a list of items for the term {term!r}, got {members!r}")
    pairs = [(str(item), t) for t, members in enumerate(sets.values()) for item in members]
    codes, items = pd.factorize(np.array([item for item, _ in pairs], dtype=object))
    where = codes, [t for _, t in pairs]
    table = sparse.csr_array((np.ones(len(codes)), where), shape=(len(items) + 1, len(sets)))
    table.data = np.ones(len(table.data))  # an item that a term lists twice has it once
    return table[locate_names(names, list(items))]  # −1, a stranger, is the last row, which is empty


def _weighted(counts: Any) -> Any:
    per_term = np.asarray((counts != 0).sum(axis=0)).ravel()
    idf = np.log(counts.shape[0] / np.maximum(per_term, 1))
    return counts @ sparse.dia_array((idf[None, :], [0]), shape=(len(idf), len(idf)))


def _unit_sparse_rows(table: Any) -> Any:
    table = sparse.csr_array(table)
    table.eliminate_zeros()
    largest = abs(table).max(axis=1).toarray().ravel()  # to order one first, so that squares cannot vanish or overflow
    table.data = table.data / np.repeat(largest, np.diff(table.indptr))
    norms = np.sqrt(np.asarray(table.multiply(table).sum(axis=1), dtype=float).ravel())
    table.data = table.data / np.repeat(norms, np.diff(table.indptr))
    return table


def _warn_strangers(known: Any, names: Sequence[str] | None) -> None:
    first = int(np.flatnonzero(~known)[0])
    warnings.warn(
        f"{int((~known).sum())} of {len(known)} items have no annotation (e.g. "
        f"{names[first] if names else f'number {first}'}): they are treated as similar to no other item",
        SimilarityWarning,
        stacklevel=3,
    )
