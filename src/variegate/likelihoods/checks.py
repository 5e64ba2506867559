"""Input checks: errors say what was expected, what was given, and what to do."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..checks import check_rows
from ..design import Design
from ..types import FloatArray

LARGEST_WEIGHT = 1e9
LARGEST_VALUE = 1e150  # of new rows: squares must not overflow
LARGEST_COUNT = 1e10  # log-likelihoods are sums of terms of about 20 y, and floats keep 16 digits
OUT = "; leave such rows out"


def table(X: Any, name: str = "X", n_columns: int | None = None) -> Any:
    """Return a finite (N, M) table: dense float32 or float64, without a copy if possible, or sparse CSC."""
    X = sparse.csc_array(X) if sparse.issparse(X) else _numbers(X, name)
    if X.ndim != 2:
        raise ValueError(f"{name} must be a table (rows, columns), got {X.ndim} dimension(s) of shape {X.shape}.")
    if sparse.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()  # the arrays are the caller's
            X.sum_duplicates()
        X = X.astype(_float_type(X.dtype), copy=False)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name} must have at least one row and one column, got shape {X.shape}.")
    if n_columns is not None and X.shape[1] != n_columns:
        raise ValueError(f"{name} must have {n_columns} columns, as when fitted, got {X.shape[1]}.")
    _finite(X.data if sparse.issparse(X) else X, name)
    if n_columns is not None:  # new rows; those of a fit are checked by their variance
        _holdable(X.data if sparse.issparse(X) else X, name)
    return X


def measured(X: Any, sample_weight: Any) -> tuple[Design, FloatArray]:
    """The design of a table under the row weights, and the weights (N,). A `Design` has been checked before."""
    table_ = X.X if isinstance(X, Design) else table(X)
    weights = sample_weights(sample_weight, table_.shape[0])
    return (X if isinstance(X, Design) else Design.of(table_, weights)), weights


class NewRows(NamedTuple):
    """Rows to predict, checked."""

    X: Any  # (n, M)
    covariates: FloatArray  # (n, p)


def new_rows(X: Any, covariates: Any, n_columns: int, n_covariates: int) -> NewRows:
    """Check the rows to predict, unless that has been done."""
    if isinstance(X, NewRows):
        return X
    X = table(X, "X_new", n_columns)
    return NewRows(X, covariate_table(covariates, X.shape[0], n_covariates))


def _holdable(values: NDArray[Any], name: str) -> None:
    largest = max(-float(values.min(initial=0.0)), float(values.max(initial=0.0)))
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"{name} has values of about {largest:.0e}, whose squares no float can hold; use the units of the fit."
        )


def vector(y: Any, name: str, length: int) -> FloatArray:
    """Return a finite float64 vector of the given length."""
    v = _numbers(y, name).astype(np.float64)
    if v.ndim == 2 and v.shape[1] == 1:
        v = v[:, 0]
    if v.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), one value for each row of X, got {v.shape}.")
    _finite(v, name)
    return v


def labels(y: Any, length: int, weights: FloatArray) -> FloatArray:
    """Return a vector of zeros and ones in which both classes have weight."""
    v = vector(y, "y", length)
    strange = np.setdiff1d(v, [0.0, 1.0])
    if strange.size:
        raise ValueError(
            f"y must hold only 0 and 1 (or booleans), got {strange[:3].tolist()}; encode the classes as 0/1."
        )
    present = np.unique(v[weights > 0])
    if present.size < 2:
        raise ValueError(
            f"y must hold both classes among the rows with positive weight, got only {present.tolist()}: "
            "with one class there is nothing to tell apart."
        )
    return v


def check_counts(y: FloatArray, exposure: FloatArray) -> None:
    """Raise unless y (N,) holds counts, and exposures (N,) are above zero."""
    check_rows((y >= 0) & (y % 1 == 0), "y", "be a count, a whole number from 0", y.item)
    many = "; if it is an amount, make a regression of its logarithm"
    check_rows(y <= LARGEST_COUNT, "y", f"be a count of at most {LARGEST_COUNT:g}", y.item, many)
    check_rows((exposure > 0) & np.isfinite(exposure), "exposure", "be above zero and finite", exposure.item, OUT)


def check_times(time: FloatArray, entry: FloatArray | None = None) -> None:
    """Raise unless times (N,) are not negative, and entries (N,) are before them."""
    check_rows(time >= 0, "time", "not be negative", time.item, f"{OUT}, or count from another day")
    if entry is not None:
        check_rows(entry < time, "entry", "be before time", lambda i: f"{entry[i]:g} and {time[i]:g}", OUT)


def sample_weights(weights: Any, length: int, what: str = "sample_weight") -> FloatArray:
    """Return non-negative weights, ones if None; their sum must be positive, and none above LARGEST_WEIGHT."""
    if weights is None:
        return np.ones(length)
    w = vector(weights, what, length)
    if w.max() > LARGEST_WEIGHT:
        raise ValueError(
            f"{what} must be at most {LARGEST_WEIGHT:g}, since a row with weight w counts as w rows, got "
            f"{w.max():g}; divide all weights by a number."
        )
    if w.min() < 0 or w.sum() <= 0:
        raise ValueError(f"{what} must be non-negative and not all zero, got minimum {w.min():g}, sum {w.sum():g}.")
    return w


def covariate_table(C: Any, length: int, n_columns: int | None = None) -> FloatArray:
    """Return covariates as a dense (N, p) array, p = 0 if None."""
    if C is None:
        if n_columns:
            raise ValueError(
                f"covariates must be given for the new rows: the model has {n_columns} covariate(s), got None."
            )
        return np.empty((length, 0))
    C = C.toarray() if sparse.issparse(C) else np.asarray(C)
    C = C[:, None] if C.ndim == 1 else C
    if C.ndim == 2 and C.shape == (length, 0) and not n_columns:
        return np.empty((length, 0))
    checked: FloatArray = np.asarray(table(C, "covariates", n_columns), dtype=np.float64)
    if checked.shape[0] != length:
        raise ValueError(f"covariates must have {length} rows, as many as X, got {checked.shape[0]}.")
    return checked


def positive(value: Any, name: str) -> float:
    """Return a finite number above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be a finite number above zero, got {value!r}.")
    return number


def _numbers(values: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must have rows of equal length; fill in or drop the shorter ones.") from error
    if array.dtype.kind in "cmM":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}; encode it as numbers.")
    try:
        return array.astype(_float_type(array.dtype), copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers, got dtype {array.dtype} that does not convert; encode it as numbers."
        ) from error


def _float_type(dtype: Any) -> Any:
    return np.float32 if dtype == np.float32 else np.float64


def _finite(values: NDArray[Any], name: str) -> None:
    # a finite sum means finite values: no boolean copy of a large table in the usual case
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = int(values.size - np.count_nonzero(np.isfinite(values)))
    if bad:
        raise ValueError(f"{name} must be finite, got {bad} NaN or infinite value(s); drop or impute them.")
