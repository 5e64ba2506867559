"""From a kernel to Φ: factor, unit rows, names; and items that are similar to none."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..checks import check_share
from ..messages import Argument, Message
from .cholesky import Kernel, pivoted_cholesky
from .features import Array, SimilarityFeatures, SimilarityWarning, unit_rows

# The tolerance decides the rank up to here; beyond it a user says so, since Φ takes 8 · M · rank bytes.
_RANK_CAP = 1000
_USUAL_RANK = 300


def factorise(
    kernel: Kernel,
    rank: int | None,
    tol: float,
    rng: np.random.Generator,
    names: Sequence[object] | None = None,
) -> SimilarityFeatures:
    """Return Φ with ΦΦᵀ ≈ K for a kernel with unit diagonal, shape (M, d), d ≤ rank.

    With the factor F of `pivoted_cholesky` and its trace error ε, Φ = diag(FFᵀ)^{−½} F: truncation shrinks
    the most distinct items most, and rows of unit norm undo that. The entries of ΦΦᵀ differ from those of K
    by at most 3ε on average.

    With `rank=None` the tolerance decides (up to 1,000; a warning says if that does not reach it).
    An item that the factor missed entirely gets a random direction; one of zero variance a zero row.
    """
    M = len(kernel.diagonal())
    check_rank(rank)
    check_share(tol, "tol, a share of the trace,")
    factor = pivoted_cholesky(kernel, min(M, rank or _RANK_CAP), tol, rng)
    if rank is None and factor.trace_error > tol:
        warnings.warn(
            Message(
                f"{_RANK_CAP} similarity features leave a trace error of {factor.trace_error:.1%}, more than the "
                f"tolerance {tol:.1%}: the items are too distinct for fewer; give ",
                Argument("rank"),
                " or a larger bandwidth",
            ),
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
    """Return Φ of M items, given the kernel of those in a mask (M,); the others are similar to none.

    Up to rank/4 strangers get a column of their own each and are exactly orthogonal to everything. More get
    random directions, so similarities of about ±1/√rank instead of 0. With `rank=None` it is 300.
    """
    strangers, width = int((~known).sum()), rank or _USUAL_RANK
    own_axes = strangers <= width // 4
    phi = factorise(kernel, rank - strangers if rank and own_axes else rank, tol, rng)
    d = phi.shape[1]
    full = np.zeros((len(known), d + strangers if own_axes or not strangers else max(d, width)))
    full[known, :d] = phi
    if own_axes:
        full[~known, d:] = np.eye(strangers)
    else:
        full[~known] = unit_rows(rng.standard_normal((strangers, full.shape[1])))
    return SimilarityFeatures(full, None, phi.trace_error)


def check_rank(rank: int | None) -> None:
    """Refuse a rank that is no positive whole number."""
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1):
        raise ValueError(f"expected rank to be a positive whole number or None, got {rank!r}")


def feature_names(features: Iterable[object]) -> list[str]:
    """Return the names as text; a single word or number is no list of names."""
    if isinstance(features, str | bytes) or not isinstance(features, Iterable):
        raise ValueError(f"expected features= with the list of the items' names, got {features!r}")
    return [str(name) for name in features]


def finite_matrix(values: Any, what: str) -> Array:
    """Return a two-dimensional float array without missing or infinite values, or say what is wrong."""
    try:
        array = np.asarray(values.toarray() if sparse.issparse(values) else values)
        if array.dtype.kind == "c":
            raise ValueError("complex numbers")
        array = array.astype(array.dtype if array.dtype == np.float32 else np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected {what} to be a table of numbers, got values that are not: {error}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"expected {what} to be a table with rows and columns, got shape {array.shape}")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"expected {what} without missing or infinite values, got {array[row, column]} in row {row}, "
            f"column {column}; drop or impute it first"
        )
    return array


def item_names(values: object) -> list[str] | None:
    """Return the row names of a data frame whose index was set on purpose, else None."""
    index = getattr(values, "index", None)
    kind = getattr(index, "inferred_type", None)
    return [str(name) for name in index] if index is not None and kind == "string" else None
