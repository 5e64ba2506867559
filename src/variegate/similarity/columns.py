"""Similarity from the columns of X: their correlations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import qr

from ..checks import generator
from ..design import Design, are_constant
from .factorise import check_rank, factorise, finite_matrix
from .features import Array, SimilarityFeatures, SimilarityWarning, unit_rows


def from_columns(
    X: npt.ArrayLike | Any,
    *,
    rank: int | None = None,
    tol: float = 1e-6,
    rng: np.random.Generator | int | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> SimilarityFeatures:
    """Return Φ whose inner products are the correlations of the columns of X.

    Φ = Z / √N with Z the standardised columns, so ΦΦᵀ = corr(X).  Paper: section 5.2, Φ = X.

    Parameters
    ----------
    X : (N, M) array, scipy.sparse table (never made dense) or data frame (its column names become those of Φ)
    rank : largest number of columns of Φ, by a low-rank factor of the correlations; None: exact, d = min(N, M)
    tol : with `rank`, stop earlier at this trace error
    rng : generator or seed of the low-rank factor; None is seed 0
    sample_weight : (N,) frequencies of the rows: weight 2 is the same as the row twice. Always uses the low-rank
        factor, which depends on X only through the correlations

    A constant column has no correlations: its row of Φ is zero, so it is never selected, and a warning counts such
    columns. float32 stays float32.

    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    >>> phi = from_columns(X)
    >>> np.asarray(phi @ phi.T).round(2) + 0.0
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    check_rank(rank)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if rank is not None or sample_weight is not None or sparse.issparse(X):
        design, weights = _measured(X, sample_weight)
        phi = factor_of_correlations(design, weights, rank or min(design.shape), tol, rng, names)
    else:
        phi = SimilarityFeatures(_exact(finite_matrix(X, "X")), names)
    _warn_constant(phi, names)
    return phi


def _exact(X: Array) -> Array:
    Z = _standardised_rows(X)
    if Z.shape[1] > Z.shape[0]:  # more samples than features: Zᵀ = QR keeps ΦΦᵀ with fewer columns
        Z = unit_rows(np.ascontiguousarray(qr(Z.T, mode="r", overwrite_a=True)[0][: len(Z)].T))
    return Z


@dataclass(frozen=True)
class CorrelationKernel:
    """Weighted correlations of the columns of a design; rows of constant columns are zero."""

    design: Design
    weights: Array  # (N,) summing to one

    def diagonal(self) -> Array:
        """Return ones, and zeros for constant columns."""
        return self.design.varying.astype(float)

    def block(self, rows: Array | slice, cols: Array) -> Array:
        """Return the entries K[rows][:, cols]."""
        weighted = self.weights[:, None] * self.design.columns(cols)
        if isinstance(rows, slice):
            return self.design.cross(np.ascontiguousarray(weighted.T))[:, rows].T
        product: Array = self.design.columns(rows).T @ weighted
        return product


def factor_of_correlations(
    design: Design, weights: Array, rank: int, tol: float, rng: Any = None, names: list[str] | None = None
) -> SimilarityFeatures:
    """Low-rank factor of the correlations of a design's columns under its row weights (N,)."""
    return factorise(CorrelationKernel(design, weights / weights.sum()), rank, tol, generator(rng), names)


def _measured(X: Any, sample_weight: Any) -> tuple[Design, Array]:
    table = sparse.csc_array(X) if sparse.issparse(X) else finite_matrix(X, "X")
    weights = np.ones(table.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != table.shape[:1] or not weights.min() >= 0 or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"sample_weight must hold {table.shape[0]} finite non-negative numbers, one per row, not all zero"
        )
    return Design.of(table, weights), weights


def _standardised_rows(X: Array) -> Array:
    """Return the columns of X as rows, centred and of unit norm; constant ones become zero."""
    Z = np.array(X.T, order="C")
    # scale to order one before and after centring: sums and squares cannot under- or overflow
    np.ldexp(Z, -np.frexp(np.abs(Z).max(axis=1, keepdims=True))[1], out=Z)
    constant = are_constant(Z.T)
    Z -= Z.mean(axis=1, dtype=np.float64)[:, None].astype(Z.dtype)
    scale = np.abs(Z).max(axis=1, keepdims=True)
    Z[constant] = 0
    return unit_rows(Z / np.where(scale > 0, scale, 1))


def _warn_constant(phi: Array, names: list[str] | None) -> None:
    constant = np.flatnonzero(~np.asarray(phi).any(axis=1))
    if len(constant):
        example = names[constant[0]] if names else f"number {constant[0]}"
        warnings.warn(
            f"{len(constant)} of {len(phi)} columns are constant (e.g. {example}): they are similar to no other "
            "column and are never selected",
            SimilarityWarning,
            stacklevel=3,
        )
