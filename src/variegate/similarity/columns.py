"""Similarity from the data's own columns: their correlations."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from .factorise import check_rank, factorise, finite_matrix
from .features import Array, SimilarityFeatures, SimilarityWarning, generator, unit_rows
from .kernels import CosineKernel


def from_columns(
    X: npt.ArrayLike | Any,
    *,
    rank: int | None = None,
    tol: float = 1e-6,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ whose inner products are the correlations of the columns of X.

    Φ = Z / √N with Z the standardised columns, so ΦΦᵀ = corr(X).  Paper: section 5.2, Φ = X.

    Parameters
    ----------
    X : (N, M) array or data frame (its column names become the names of Φ)
    rank : keep at most so many features, by a low-rank factor; None: exact, d = min(N, M)
    tol : with `rank`, stop earlier at this trace error
    rng : generator or seed of the low-rank factor; None is seed 0

    A constant column has no correlation: its row of Φ is zero, so that it is never selected, and a
    warning counts such columns. float32 stays float32.

    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    >>> phi = from_columns(X)
    >>> np.asarray(phi @ phi.T).round(2) + 0.0
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    check_rank(rank)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    Z = _standardised_rows(finite_matrix(X, "X"))
    _warn_constant(Z, names)
    if rank is not None and rank < min(Z.shape):
        return factorise(CosineKernel(Z), rank, tol, generator(rng), names)
    if Z.shape[1] > Z.shape[0]:  # more samples than features: Zᵀ = QR keeps ΦΦᵀ with fewer columns
        Z = unit_rows(np.ascontiguousarray(qr(Z.T, mode="r", overwrite_a=True)[0][: len(Z)].T))
    return SimilarityFeatures(Z, names)


def _standardised_rows(X: Array) -> Array:
    """Return the columns of X as rows, centred and of unit norm; constant ones become zero."""
    Z = np.array(X.T, order="C")
    mean = Z.mean(axis=1, dtype=np.float64)[:, None]
    size = np.abs(Z).max(axis=1, keepdims=True)
    Z -= mean.astype(Z.dtype)
    # what is left of a constant column is rounding error of its size
    Z[np.abs(Z).max(axis=1) <= 8 * np.finfo(Z.dtype).eps * size[:, 0]] = 0
    scale = np.abs(Z).max(axis=1, keepdims=True)  # first to order one, so that squares cannot under- or overflow
    return unit_rows(Z / np.where(scale > 0, scale, 1))


def _warn_constant(Z: Array, names: list[str] | None) -> None:
    constant = np.flatnonzero(~Z.any(axis=1))
    if len(constant):
        example = names[constant[0]] if names else f"number {constant[0]}"
        warnings.warn(
            f"{len(constant)} of {len(Z)} columns are constant (e.g. {example}): they are similar to nothing "
            "and will never be selected",
            SimilarityWarning,
            stacklevel=3,
        )
