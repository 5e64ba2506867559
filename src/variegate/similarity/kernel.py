"""Similarity from any kernel: a matrix, a sparse matrix, or a function that computes blocks of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..checks import generator
from .factorise import factorise, feature_names, finite_matrix, item_names
from .features import Array, SimilarityFeatures

_DIAGONAL_CHUNK = 256


def from_kernel(
    kernel: npt.ArrayLike | Callable[[Array, Array], Array] | Any,
    rank: int | None = None,
    *,
    features: Sequence[object] | int | None = None,
    tol: float = 0.01,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ with ΦΦᵀ ≈ K, for any positive semidefinite K scaled to unit diagonal.

    Parameters
    ----------
    kernel : (M, M) array, data frame or sparse matrix; or a function `kernel(rows, cols)` that returns the
        block K[rows][:, cols] for two index arrays, and is never asked for all of K
    rank, tol : number of columns of Φ: at most `rank` (None: 1,000), fewer if they reach the trace error `tol`
    features : names of the M features; with a function, names or just their number M
    rng : generator or seed; None is seed 0

    A feature with K_ii = 0 gets a zero row, so it is never selected.

    >>> phi = from_kernel(lambda rows, cols: 0.5 ** np.abs(rows[:, None] - cols), features=3, tol=0.0)
    >>> np.asarray(phi @ phi.T).round(2)
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """
    number = isinstance(features, int | np.integer) and not isinstance(features, bool)
    names = None if features is None or number else feature_names(features)  # type: ignore[arg-type]
    M = int(features) if number else None if names is None else len(names)  # type: ignore[arg-type]
    if callable(kernel):
        if M is None:
            raise ValueError("features must be given with a kernel function, as names or a number, got None")
        scaled = ScaledKernel(kernel, _diagonal_of(kernel, M))
    else:
        scaled = _matrix_kernel(kernel)
        if M is not None and len(scaled.variances) != M:
            raise ValueError(f"features must have {len(scaled.variances)} names, one per row of the kernel, got {M}")
        names = names if names is not None else item_names(kernel)
    _check_variances(scaled.variances)
    return factorise(scaled, rank, tol, generator(rng), names)


@dataclass(frozen=True)
class ScaledKernel:
    """Any kernel, scaled to unit diagonal: K_ij / √(K_ii K_jj); `entries(rows, cols)` returns blocks of K."""

    entries: Callable[[Array, Array], Array]
    variances: Array

    def diagonal(self) -> Array:
        """Return ones, and zeros where the variance is zero."""
        return (self.variances > 0).astype(float)

    def block(self, rows: Array | slice, cols: Array) -> Array:
        """Return the entries K[rows][:, cols] of the scaled kernel."""
        rows = np.arange(len(self.variances))[rows]
        scale = np.sqrt(np.where(self.variances > 0, self.variances, np.inf))
        values = np.asarray(self.entries(rows, cols))
        if values.shape != (len(rows), len(cols)):
            raise ValueError(
                f"kernel(rows, cols) must return an array of shape {(len(rows), len(cols))} for {len(rows)} rows "
                f"and {len(cols)} columns, got shape {values.shape}"
            )
        _check_real(values, rows[:, None], cols[None, :])
        return values / scale[rows][:, None] / scale[cols][None, :]


def _matrix_kernel(matrix: Any) -> ScaledKernel:
    shape = np.shape(matrix)
    if len(shape) == 2 and shape[0] != shape[1]:
        raise ValueError(f"the kernel must be square, got shape {shape}; for a table use from_columns")
    if sparse.issparse(matrix):
        K = sparse.csr_array(matrix)
        _check_real(K.data, np.repeat(np.arange(K.shape[0]), np.diff(K.indptr)), K.indices)
        difference, largest = abs(K - K.T).max(), abs(K).max()
        entries = lambda rows, cols: K[rows][:, cols].toarray()  # noqa: E731
        diagonal = K.diagonal().astype(np.float64)
    else:
        K = finite_matrix(matrix, "the kernel").astype(np.float64)
        difference, largest = np.abs(K - K.T).max(), np.abs(K).max()
        entries = lambda rows, cols: K[np.ix_(rows, cols)]  # noqa: E731
        diagonal = np.diagonal(K).copy()
    if difference > 1e-8 * largest:
        raise ValueError(f"the kernel must be symmetric, got one that differs from its transpose by {difference:.3g}")
    return ScaledKernel(entries, diagonal)


def _diagonal_of(kernel: Callable[[Array, Array], Array], M: int) -> Array:
    """Diagonal of a kernel function, from blocks of 256: M · 256 entries in few calls."""
    if M < 1:
        raise ValueError(f"features must be at least one, got {M}")
    chunks = [np.arange(i, min(i + _DIAGONAL_CHUNK, M)) for i in range(0, M, _DIAGONAL_CHUNK)]
    unscaled = ScaledKernel(kernel, np.ones(M))
    return np.concatenate([np.diagonal(unscaled.block(c, c)) for c in chunks])


def _check_variances(variances: Array) -> None:
    if not (np.isfinite(variances).all() and (variances >= 0).all()):
        worst = int(np.flatnonzero(~(variances >= 0) | ~np.isfinite(variances))[0])
        raise ValueError(
            f"the kernel's diagonal must be finite and non-negative, got {variances[worst]} for feature {worst}"
        )


def _check_real(values: Array, rows: Array, cols: Array) -> None:
    """Raise unless the entries at rows × cols of a kernel are finite real numbers."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"the kernel must hold real numbers, got {values.dtype}")
    if not np.isfinite(values).all():
        first = np.flatnonzero(~np.isfinite(values))[0]
        i, j = (np.broadcast_to(positions, values.shape).flat[first] for positions in (rows, cols))
        raise ValueError(f"the kernel must be finite, got {values.flat[first]} for features {i} and {j}")
