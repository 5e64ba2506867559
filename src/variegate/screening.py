"""Screening: the columns with the strongest univariate relation to the outcome.

Call it inside training folds only: choosing columns on all samples before cross-validation makes results look
better than they are.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from .design import are_constant

Array = npt.NDArray[Any]

_NEWTON_STEPS = 50
_CHUNK = 2048  # columns at a time
_CHUNK_BYTES = 1 << 25  # or fewer, so that no array of the Newton iteration is larger than this


def screen(
    X: npt.ArrayLike, y: npt.ArrayLike, n: int, test: str = "f", *, sample_weight: npt.ArrayLike | None = None
) -> Array:
    """Return the n columns of X most related to y, as sorted indices.

    Parameters
    ----------
    X : (N, M) numbers, or scipy.sparse, which is made dense a few columns at a time
    y : (N,) numbers for "f" (or two classes, taken as 0 and 1); two classes for "likelihood_ratio"
    n : number of columns to keep; all, if there are fewer
    test : "f", the F test of a univariate linear regression; or "likelihood_ratio", that of a univariate
        logistic regression (the paper's).  Paper: section 5.1
    sample_weight : (N,) frequencies of the rows: weight 2 is the same as the row twice

    Constant columns come last; of columns with equal scores the first ones are kept.

    >>> X = np.array([[0.0, 1.0, 5.0], [1.0, 2.0, 5.0], [0.0, 3.5, 5.0], [1.0, 4.0, 5.0]])
    >>> screen(X, [1.0, 2.0, 3.0, 4.0], n=1)
    array([1])
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a positive whole number of columns, got {n!r}")
    if test not in ("f", "likelihood_ratio"):
        raise ValueError(f'test must be "f" or "likelihood_ratio", got {test!r}')
    return strongest((f_statistics if test == "f" else likelihood_ratios)(X, y, sample_weight), n)


def strongest(strengths: Array, n: int) -> Array:
    """Return the positions of the n largest values, sorted; ties go to the left.

    >>> strongest(np.array([0.3, 2.0, 0.3, 5.0]), 3)
    array([0, 1, 3])
    """
    return np.sort(np.argsort(-strengths, kind="stable")[:n])


def f_statistics(X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Array:
    """Return F = r² (n − 2) / (1 − r²) for each column, shape (M,); −1 for constant columns. n is N or Σw.

    >>> f_statistics([[1.0, 2.0], [2.0, 2.0], [3.0, 2.0], [4.0, 2.0]], [1.0, 2.0, 2.0, 4.0]).round(1)
    array([11.6, -1. ])
    """
    Z, outcome, w = _checked(X, y, sample_weight)
    t = outcome.astype(np.float64) if outcome.dtype.kind in "fiub" else _two_classes(outcome)
    if not np.isfinite(t).all():
        raise ValueError("y must be finite, got missing or infinite values; drop those samples")
    centred = _standardised(t[:, None], w)[:, 0] * w
    if not centred.any():
        raise ValueError("y must vary, got the same value for every sample")
    r2 = np.empty(Z.shape[1])
    for columns in _chunks(*Z.shape):
        S = _standardised(_dense(Z, columns), w)
        # not a matrix product: its rounding depends on the position, and copies would not tie
        r2[columns] = (S * centred[:, None]).sum(axis=0) ** 2
        r2[columns][~S.any(axis=0)] = -1.0
    constant = r2 < 0
    freedom = max(w.sum() - 2.0, 1.0)  # weights may sum to less than two, which would reverse the order
    with np.errstate(divide="ignore"):
        F = np.clip(r2, 0, 1) * freedom / (1 - np.clip(r2, 0, 1))
    return np.where(constant, -1.0, F)


def likelihood_ratios(X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Array:
    """Return 2 (log p(y | column) − log p(y)) of logistic regressions with intercept, shape (M,).

    Newton's method with step halving, for all columns at once; −1 for constant columns. If a column separates the
    classes, the slope is infinite and the statistic approaches its bound −2 log p(y).

    >>> likelihood_ratios([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]).round(2)
    array([0.85])
    """
    Z, outcome, w = _checked(X, y, sample_weight)
    t = _two_classes(outcome)
    p = w @ t / w.sum()
    null = w.sum() * (p * np.log(p) + (1 - p) * np.log(1 - p))
    statistics = np.empty(Z.shape[1])
    for columns in _chunks(*Z.shape):
        S = _standardised(_dense(Z, columns), w) * np.sqrt(w.sum())
        fitted = 2 * (_logistic_fits(S, t, w) - null)
        statistics[columns] = np.where(S.any(axis=0), np.maximum(fitted, 0.0), -1.0)
    return statistics


def _logistic_fits(S: Array, t: Array, w: Array) -> Array:
    """Return the maximum log likelihood of t given each column alone and an intercept, shape (M,)."""
    p = w @ t / w.sum()
    a = np.full(S.shape[1], np.log(p / (1 - p)))
    b = np.zeros(S.shape[1])
    best = _log_likelihood(a, b, S, t, w)
    active = np.arange(S.shape[1])
    for _ in range(_NEWTON_STEPS):
        columns = S[:, active]
        step = _newton_step(a[active], b[active], columns, t, w)
        gain = np.full(len(active), -np.inf)
        scale = np.ones(len(active))
        for _ in range(8):  # halve the steps that do not improve
            value = _log_likelihood(a[active] + scale * step[0], b[active] + scale * step[1], columns, t, w)
            gain = value - best[active]
            worse = gain < 0
            if not worse.any():
                break
            scale[worse] /= 2
        scale[gain < 0] = 0.0
        a[active] += scale * step[0]
        b[active] += scale * step[1]
        best[active] += np.maximum(gain, 0.0)
        active = active[gain > 1e-9]
        if not len(active):
            break
    return best


def _log_likelihood(a: Array, b: Array, S: Array, t: Array, w: Array) -> Array:
    eta = a + S * b
    terms = t[:, None] * eta - np.logaddexp(0.0, eta)
    values: Array = (w[:, None] * terms).sum(axis=0)  # not a matrix product, so that copies tie
    return values


def _newton_step(a: Array, b: Array, S: Array, t: Array, weights: Array) -> tuple[Array, Array]:
    """Solve the 2×2 Newton system of every column."""
    p = 1.0 / (1.0 + np.exp(-np.clip(a + S * b, -500, 500)))
    w = weights[:, None] * p * (1 - p)
    residual = weights[:, None] * (t[:, None] - p)
    g0, g1 = residual.sum(axis=0), np.einsum("nm,nm->m", residual, S)
    wS = w * S
    h00, h01, h11 = w.sum(axis=0), wS.sum(axis=0), np.einsum("nm,nm->m", wS, S)
    det = np.maximum(h00 * h11 - h01**2, 1e-12 * (1 + h00 * h11))
    return (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det


def _checked(X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> tuple[Any, Array, Array]:
    """Return X, dense or CSC, the outcome and the weights (N,), for rows with positive weight."""
    Z, t = (sparse.csc_array(X) if sparse.issparse(X) else np.asarray(X)), np.asarray(y)
    if Z.ndim != 2 or t.shape != Z.shape[:1] or len(t) < 3:
        raise ValueError(f"X and y must have shapes (N, M) and (N,) with N ≥ 3, got {Z.shape} and {t.shape}")
    if Z.dtype.kind not in "fiub" or not np.isfinite(Z.data if sparse.issparse(Z) else Z).all():
        raise ValueError("X must hold finite numbers, got other values; drop or impute missing values first")
    missing = pd.isna(t) if t.dtype.kind == "O" else ~np.isfinite(t) if t.dtype.kind == "f" else np.zeros(len(t), bool)
    if missing.any():
        raise ValueError(f"y must not have missing values, got {missing.sum()}; drop those samples")
    if sample_weight is None:
        return Z, t, np.ones(len(t))
    w = np.asarray(sample_weight, dtype=np.float64)
    if w.shape != t.shape or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise ValueError(f"sample_weight must hold {len(t)} finite non-negative numbers, not all zero")
    rows = w > 0
    return (Z, t, w) if rows.all() else (Z[rows], t[rows], w[rows])


def _two_classes(y: Array) -> Array:
    classes = np.unique(y.astype(str) if y.dtype.kind == "O" else y)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, got {len(classes)}: {classes[:4].tolist()}")
    second: Array = (y.astype(str) if y.dtype.kind == "O" else y) == classes[1]
    return second.astype(np.float64)


def _standardised(X: Array, w: Array) -> Array:
    """Return the columns centred and with unit norm under the weights; constant ones become zero."""
    S = X.astype(np.float64, order="C")  # the order in which numpy adds depends on the layout
    # scale to order one before and after centring: sums and squares cannot under- or overflow
    np.ldexp(S, -np.frexp(np.abs(S).max(axis=0))[1], out=S)
    constant = are_constant(S[w > 0])
    S -= (S * w[:, None]).sum(axis=0) / w.sum()
    largest = np.abs(S).max(axis=0)
    S[:, constant] = 0.0
    S /= np.where(largest > 0, largest, 1.0)
    norms = np.sqrt((S * S * w[:, None]).sum(axis=0))
    scaled: Array = S / np.where(norms > 0, norms, 1.0)
    return scaled


def _dense(Z: Any, columns: slice) -> Array:
    part = Z[:, columns]
    dense: Array = part.toarray() if sparse.issparse(part) else part
    return dense


def _chunks(N: int, M: int) -> list[slice]:
    """Slices of about equal width: numpy adds a single column in a different order, and copies would not tie."""
    width = int(np.clip(_CHUNK_BYTES // (8 * N), 4, _CHUNK))
    edges = np.linspace(0, M, -(-M // width) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]
