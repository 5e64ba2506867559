"""From a kernel to Φ: factor, unit rows, names, and features that are similar to no other."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..checks import check_share
from .cholesky import Kernel, pivoted_cholesky
from .features import Array, SimilarityFeatures, SimilarityWarning, unit_rows

MOST_COLUMNS = 1000  # of Φ, which takes 8 bytes for each entry; more only with a larger `rank`
USUAL_RANK = 300  # without a `rank`, if Φ holds random directions


def factorise(
    kernel: Kernel,
    rank: int | None,
    tol: float,
    rng: np.random.Generator,
    names: Sequence[object] | None = None,
) -> SimilarityFeatures:
    """Return Φ with ΦΦᵀ ≈ K for a kernel with unit diagonal, shape (M, d), d ≤ rank.

    With the factor F of `pivoted_cholesky` and its trace error ε, Φ = diag(FFᵀ)^{−½} F: truncation shrinks
    the most distinct features most, and rows of unit norm undo that. The entries of ΦΦᵀ differ from those of K
    by at most 3ε on average.

    With `rank=None` the tolerance decides, up to 1,000; a warning says if that is not enough.
    A feature that the factor misses entirely gets a random direction, a feature of zero variance a zero row.
    """
    M = len(kernel.diagonal())
    check_rank(rank)
    check_share(tol, "tol, a fraction of the trace,")
    factor = pivoted_cholesky(kernel, min(M, rank or MOST_COLUMNS), tol, rng)
    if rank is None and factor.trace_error > tol:
        warnings.warn(
            f"{MOST_COLUMNS} similarity features leave a trace error of {factor.trace_error:.1%}, above "
            f"the tolerance of {tol:.1%}: the features are too distinct; give rank or a larger bandwidth",
            SimilarityWarning,
            stacklevel=3,
        )
    F = factor.F if factor.F.shape[1] else np.zeros((M, 1))
    missed = (np.einsum("ij,ij->i", F, F) < 1e-12) & (kernel.diagonal() > 0)
    if missed.any():
        F[missed] = rng.standard_normal((int(missed.sum()), F.shape[1]))
    return SimilarityFeatures(unit_rows(F), names, factor.trace_error)


def factorise_known(
    kernel: Kernel, known: Array, rank: int | None, tol: float, rng: np.random.Generator
) -> SimilarityFeatures:
    """Return Φ of M features, given the kernel of those in a mask (M,); the others are similar to no feature.

    Up to rank/4 unknown features get one column each and are exactly orthogonal to all others. More get random
    directions, with similarities of about ±1/√rank instead of 0. With `rank=None` it is 300.
    """
    unknown, width = int((~known).sum()), rank or USUAL_RANK
    own_axes = unknown <= width // 4
    phi = factorise(kernel, rank - unknown if rank and own_axes else rank, tol, rng)
    d = phi.shape[1]
    full = np.zeros((len(known), d + unknown if own_axes else max(d, width)))
    full[known, :d] = phi
    if own_axes:
        full[~known, d:] = np.eye(unknown)
    else:
        full[~known] = unit_rows(rng.standard_normal((unknown, full.shape[1])))
    return SimilarityFeatures(full, None, phi.trace_error)


def check_rank(rank: int | None) -> None:
    """Raise unless the rank is None or a positive whole number."""
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1):
        raise ValueError(f"rank must be a positive whole number or None, got {rank!r}")


def feature_names(features: Iterable[object]) -> list[str]:
    """Return the names as text; a single word or number is rejected."""
    if isinstance(features, str | bytes) or not isinstance(features, Iterable):
        raise ValueError(f"features must be a list of names, got {features!r}")
    return [str(name) for name in features]


def warn_unknown(known: Array, names: Sequence[str] | None, what: str) -> None:
    """Say how many features (M,) are not known, and what follows."""
    if known.all():
        return
    first = int(np.flatnonzero(~known)[0])
    example = names[first] if names else f"number {first}"
    warnings.warn(
        f"{int((~known).sum())} of {len(known)} features {what} (e.g. {example}): "
        "they are treated as similar to no other feature",
        SimilarityWarning,
        stacklevel=3,
    )


def finite_matrix(values: Any, what: str) -> Array:
    """Return a two-dimensional float array without missing or infinite values, or raise."""
    try:
        array = np.asarray(values.toarray() if sparse.issparse(values) else values)
        if array.dtype.kind == "c":
            raise ValueError("complex numbers")
        array = array.astype(array.dtype if array.dtype == np.float32 else np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be a table of numbers, got other values: {error}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{what} must be a table with rows and columns, got shape {array.shape}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"{what} must be finite, got {array[row, column]} in row {row}, column {column}; drop or impute it first"
        )
    return array


def item_names(values: object) -> list[str] | None:
    """Return the row names of a data frame with a text index, else None."""
    index = getattr(values, "index", None)
    kind = getattr(index, "inferred_type", None)
    return [str(name) for name in index] if index is not None and kind == "string" else None
