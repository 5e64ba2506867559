"""Similarity from annotations: features that share terms (gene sets, tags, keywords) are alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ..checks import generator
from ..data import locate_names
from .factorise import check_rank, factorise_known, feature_names, item_names, warn_unknown
from .features import Array, SimilarityFeatures


def from_annotations(
    table: Mapping[str, Iterable[str]] | Any,
    features: Sequence[object] | None = None,
    *,
    weights: str = "idf",
    rank: int | None = 300,
    tol: float = 1e-6,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ of features described by terms: K_ij = cosine of rows i and j of a feature × term table.

    With weights "idf" a term of n of the M features has the weight log(M/n): rare terms count more, and a term that
    all features have counts nothing. With "equal" all terms have the same weight.

    Parameters
    ----------
    table : (M, T) sparse matrix, array or data frame; or a mapping term → features (gene sets), with `features`
    features : the M names, in the order of the data's columns; looked up in the mapping as they are, then ignoring
        case, if that is unambiguous
    rank, tol : number of columns of Φ: at most `rank` (None: 1,000), fewer if they reach the trace error `tol`
    rng : generator or seed; None is seed 0

    Features without any term of positive weight are similar to no other, and a warning counts them.

    >>> phi = from_annotations({"repair": ["A", "B"], "growth": ["B", "C"]}, ["A", "B", "C"])
    >>> np.asarray(phi @ phi.T).round(2) + 0.0
    array([[1.  , 0.71, 0.  ],
           [0.71, 1.  , 0.71],
           [0.  , 0.71, 1.  ]])
    """
    check_rank(rank)
    if weights not in ("idf", "equal"):
        raise ValueError(f'weights must be "idf" or "equal", got {weights!r}')
    names = item_names(table) if features is None else feature_names(features)
    counts = _membership(table, names) if isinstance(table, Mapping) else sparse.csr_array(_plain(table))
    if names is not None and len(names) != counts.shape[0]:
        raise ValueError(f"the table must have {len(names)} rows, one per feature, got {counts.shape[0]}")
    rows = _unit_sparse_rows(_weighted(counts) if weights == "idf" else counts)
    known = np.diff(rows.indptr) > 0
    if not known.any():
        raise ValueError(
            "at least one feature must have a term of positive weight, got none; use the same kind of names in both"
        )
    warn_unknown(known, names, "have no annotation")
    return factorise_known(CosineKernel(rows[known]), known, rank, tol, generator(rng)).named(names)


@dataclass(frozen=True)
class CosineKernel:
    """Inner products of the rows of a sparse table, whose rows have unit norm or are zero."""

    table: Any

    def diagonal(self) -> Array:
        """Return ones, and zeros for zero rows."""
        return np.asarray(self.table.multiply(self.table).sum(axis=1), dtype=float).ravel()

    def block(self, rows: Array | slice, cols: Array) -> Array:
        """Return the entries K[rows][:, cols]."""
        return np.asarray((self.table[rows] @ self.table[cols].T).toarray())


def _plain(table: Any) -> Any:
    values = table if sparse.issparse(table) else np.asarray(table)
    data = np.asarray(values.data) if sparse.issparse(values) else values
    if values.ndim != 2 or data.dtype.kind not in "biuf":
        raise ValueError(f"the feature × term table must hold numbers, got {data.dtype} of shape {values.shape}")
    if not (np.isfinite(data).all() and (data >= 0).all()):
        raise ValueError("the feature × term table must hold finite, non-negative numbers, got other values")
    return values.astype(np.float64)


def _membership(sets: Mapping[str, Iterable[str]], names: Sequence[str] | None) -> Any:
    """Return the 0/1 table (M, T) of a mapping term → names; names that are not features are ignored."""
    if names is None:
        raise ValueError("features must be given, as a list of names, with a mapping of sets")
    for term, members in sets.items():
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise ValueError(f"the term {term!r} must have a list of names, got {members!r}")
    pairs = [(str(member), t) for t, members in enumerate(sets.values()) for member in members]
    codes, listed = pd.factorize(np.array([member for member, _ in pairs], dtype=object))
    where = codes, [t for _, t in pairs]
    table = sparse.csr_array((np.ones(len(codes)), where), shape=(len(listed) + 1, len(sets)))
    table.data = np.ones(len(table.data))  # a name that a term lists twice counts once
    return table[locate_names(names, list(listed))]  # −1 (not found) is the last row, which is empty


def _weighted(counts: Any) -> Any:
    per_term = np.asarray((counts != 0).sum(axis=0)).ravel()
    idf = np.log(counts.shape[0] / np.maximum(per_term, 1))
    return counts @ sparse.dia_array((idf[None, :], [0]), shape=(len(idf), len(idf)))


def _unit_sparse_rows(table: Any) -> Any:
    table = sparse.csr_array(table)
    table.eliminate_zeros()
    largest = abs(table).max(axis=1).toarray().ravel()  # scale rows to order one: squares cannot under- or overflow
    table.data = table.data / np.repeat(largest, np.diff(table.indptr))
    norms = np.sqrt(np.asarray(table.multiply(table).sum(axis=1), dtype=float).ravel())
    table.data = table.data / np.repeat(norms, np.diff(table.indptr))
    return table
