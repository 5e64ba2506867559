"""Φ for the features to choose from, from whatever the user gives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import similarity
from .candidates import Candidates
from .design import Design
from .similarity import factor_of_correlations, item_names
from .types import FloatArray

RANK = 300  # of the correlations; the eigendecomposition at every θ costs its cube


def similarity_features(
    given: Any,
    design: Design,
    weights: FloatArray,
    candidates: Candidates,
    names: NDArray[Any] | None,
    rank: int = RANK,
) -> NDArray[Any]:
    """Return similarity features Φ (U, d) of the U features to choose from.

    "columns": from the correlations of the columns to choose from, up to `rank`. A callable gets those columns.
    An array has a row for each column of X, or, if both have names, at least a row for each column's name.
    """
    m = len(candidates.columns)
    if isinstance(given, str):
        if given != "columns":
            raise ValueError(f'similarity must be "columns", an array (M, d) or a function of X, got {given!r}.')
        phi: Any = factor_of_correlations(design, weights, min(rank, m), tol=1e-9)
    elif callable(given):
        phi = _matrix(given(design.X))
        if len(phi) != m:
            raise ValueError(
                f"similarity(X) must return a row for each of the {m} columns that it gets, got {len(phi)} rows."
            )
    elif isinstance(given, similarity.Positions):
        if len(given.x) != candidates.n_columns:
            raise ValueError(
                f"similarity must have the positions of all {candidates.n_columns} columns of X, got {len(given.x)}."
            )
        phi = given.features(candidates.columns)
    else:
        phi = rows_of_columns(given, candidates, names)
    return shared_directions(phi, candidates.unit) if candidates.is_grouped else np.asarray(phi)


def log_norms(given: Any, names: NDArray[Any] | None, n_columns: int) -> FloatArray | None:
    """Return log |φ|² of every column (M,), −inf for rows of zeros; None if all rows have unit length."""
    if isinstance(given, str | similarity.Positions) or callable(given):
        return None
    everything = np.arange(n_columns)
    phi = rows_of_columns(given, Candidates(everything, everything, np.empty(0, dtype=np.int64), n_columns), names)
    with np.errstate(divide="ignore"):
        found = np.log(np.einsum("md,md->m", phi, phi, dtype=np.float64))
    return None if np.abs(found).max() < 1e-6 else np.asarray(found)


def shared_directions(phi: NDArray[Any], unit: NDArray[np.int64]) -> NDArray[Any]:
    """Return one row for each group: the first right singular vector of its columns' rows.

    With Φ from the columns, that is the first principal component of the group's standardised columns.
    """
    out = np.zeros((int(unit.max()) + 1, phi.shape[1]))
    for g in range(len(out)):
        rows = np.asarray(phi[unit == g], dtype=np.float64)
        out[g] = rows[0] if len(rows) == 1 else np.linalg.svd(rows, full_matrices=False)[2][0]
        out[g] *= rows.any()  # constant columns are similar to nothing
    return out


def rows_of_columns(given: Any, candidates: Candidates, names: NDArray[Any] | None) -> NDArray[Any]:
    """Return the rows of Φ for the columns to choose from, matched by name if both have names."""
    phi = _matrix(given)
    known = _names(given)
    if known is not None and names is not None:
        row = {name: i for i, name in enumerate(known)}
        wanted = [str(name) for name in names[candidates.columns].tolist()]
        missing = [name for name in wanted if name not in row]
        if missing:
            raise ValueError(
                f"similarity has no row for {len(missing)} of {len(wanted)} columns, e.g. {missing[0]!r}; "
                "build it for all columns of X, or remove those columns."
            )
        return np.asarray(phi[[row[name] for name in wanted]])
    if len(phi) != candidates.n_columns:
        raise ValueError(
            f"similarity must have a row for each of the {candidates.n_columns} columns of X, got {len(phi)} rows."
        )
    return np.asarray(phi[candidates.columns])


def _names(given: Any) -> list[str] | None:
    """Return the names of the rows of Φ: its own, or the index of a data frame if that holds text."""
    names = getattr(given, "names", None) if isinstance(given, similarity.SimilarityFeatures) else None
    return item_names(given) if names is None else list(names)


def _matrix(given: Any) -> NDArray[Any]:
    try:
        phi = given.toarray() if sparse.issparse(given) else np.asarray(given)
        if np.iscomplexobj(phi):  # numpy would drop imaginary parts with only a warning
            raise TypeError
        phi = phi.astype(np.float32 if phi.dtype == np.float32 else np.float64, copy=False)
    except (TypeError, ValueError):
        phi = np.empty(0)
    if phi.ndim != 2 or 0 in phi.shape:
        shape = "" if isinstance(given, dict) else f" of shape {np.shape(given)}"
        raise ValueError(
            'similarity must be "columns", a function of X, or real numbers of shape (columns of X, d), got '
            f"{type(given).__name__}{shape}."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        strange = np.flatnonzero(~np.isfinite(phi.sum(axis=1, dtype=np.float64)))
    if len(strange):
        raise ValueError(
            f"similarity must be finite, got NaN or infinity in {len(strange)} of {len(phi)} rows, first in row "
            f"{strange[0]}; correct those rows, or remove those columns."
        )
    return phi
