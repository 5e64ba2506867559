"""Dense or sparse tables whose columns are centred and scaled implicitly."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from .threads import side_by_side
from .types import FloatArray, IntArray

BLOCK_BYTES = 1 << 20  # dense tables are read through a float64 buffer of this size, which fits in cache
MANY_ROWS = BLOCK_BYTES // 128  # with more, a buffer of all rows would hold fewer than 16 columns
ROW_BLOCK_BYTES, GRAM_BYTES = 1 << 22, 1 << 23  # size of blocks of rows, for products and for Gram matrices
LARGE_PRODUCT = 1e8  # multiplications (5 ms) above which a product is computed as two halves in parallel
FAR = 1e-9  # if the standard deviation is a smaller fraction of the mean, deviations from the first value are used
ROUGH_BYTES = 1 << 26  # memory limit for columns in single precision and their squares
SOME_ROWS = 256  # enough to see most columns vary
FAINT = 1e-150  # smaller standard deviations have squares with few or no digits


class ImmoderateColumn(ValueError):
    """A column whose variance no float can hold.

    >>> str(ImmoderateColumn(3, "overflows"))
    'X must have columns of moderate size, got number 3, whose variance overflows; divide it by a number'
    """

    def __init__(self, column: int, variance: str) -> None:
        super().__init__(column, variance)
        self.column, self.why = column, f"whose variance {variance}; divide it by a number"

    def __str__(self) -> str:
        return f"X must have columns of moderate size, got number {self.column}, {self.why}"


@dataclass(frozen=True)
class Design:
    """A table X whose standardised columns x̃_m = (x_m − centre_m) / scale_m are never stored.

    Constant columns carry no information: their inverse scale is 0, so x̃_m = 0.
    """

    X: Any  # (N, M) float32 or float64 array, or sparse CSC
    centre: FloatArray  # (M,) weighted means
    inverse_scale: FloatArray  # (M,) one over weighted standard deviations, 0 for constant columns

    @classmethod
    def of(cls, X: Any, weights: FloatArray) -> "Design":
        """Measure the columns of X under the row weights (N,)."""
        n = weights.sum()
        plain = cls(X, np.zeros(X.shape[1]), np.ones(X.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):
            centre = plain.cross(weights[None, :])[0] / n
            centred = cls(X, centre, plain.inverse_scale)
            scale = np.sqrt(np.maximum(centred.squares(weights[None, :])[0] / n, 0.0))
        check_scale(scale)
        for column in _varying(X, np.flatnonzero(scale < FAINT), weights > 0):
            raise ImmoderateColumn(column, "underflows")
        for columns, values in _dense_parts(X, np.flatnonzero(scale <= FAR * np.abs(centre))):
            centre[columns], scale[columns] = _measured_closely(values, weights)
        constant = scale <= FAINT
        return cls(X, centre, np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, scale)))

    def take(self, columns: IntArray) -> "Design":
        """The design of some columns; X is copied unless they are all columns."""
        if len(columns) == self.X.shape[1]:
            return self
        return Design(self.X[:, columns], self.centre[columns], self.inverse_scale[columns])

    @property
    def scale(self) -> FloatArray:
        """Weighted standard deviations (M,), 0 for constant columns."""
        return np.divide(1.0, self.inverse_scale, out=np.zeros_like(self.centre), where=self.varying)

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Which columns (M,) are not constant."""
        return self.inverse_scale > 0

    @property
    def nbytes(self) -> int:
        """Bytes of X."""
        return int(self.X.data.nbytes)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        rows, columns = self.X.shape
        return int(rows), int(columns)

    def columns(self, S: IntArray) -> FloatArray:
        """Return X̃_S, dense (N, |S|)."""
        return self.standardised(self.X, S)

    def column_rows(self, S: IntArray) -> FloatArray:
        """Return X̃_Sᵀ, dense and contiguous (|S|, N)."""
        return np.ascontiguousarray(self.columns(S).T)

    def standardised(self, X: Any, S: IntArray) -> FloatArray:
        """Return columns S of another table with the same columns, on the scale of this one, dense (n, |S|)."""
        # np.take would first copy all of a Fortran-ordered table
        raw = X[:, S].toarray() if sparse.issparse(X) else X[:, S]
        out: FloatArray = raw.astype(np.float64, copy=False)
        out -= self.centre[S]
        out *= self.inverse_scale[S]
        return out

    def cross(self, A: FloatArray) -> FloatArray:
        """Return A X̃ for A (r, N), as (r, M)."""
        return self.cross_and_squares(A, A[:0])[0]

    def squares(self, T: FloatArray) -> FloatArray:
        """Return T (X̃ ∘ X̃) for T (n, N), as (n, M): weighted sums of squares of the columns."""
        return self.cross_and_squares(T[:0], T)[1]

    def cross_and_squares(self, A: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both at once, so that a dense table is read once."""
        cross, squares = self._sparse_products(A, T) if sparse.issparse(self.X) else self._dense_products(A, T)
        cross *= self.inverse_scale
        squares *= self.inverse_scale**2
        return cross, squares

    def roughly(self) -> "Design | RoughDesign":
        """Return a float32 copy for approximate products; self if X is large."""
        N, M = self.shape
        if 8 * N * M > ROUGH_BYTES:
            return self
        Z = np.empty((N, M), dtype=np.float32)
        width = max(16, BLOCK_BYTES // (8 * N))
        for start in range(0, M, width):
            some = np.arange(start, min(start + width, M))
            Z[:, some] = self.columns(some)
        return RoughDesign(Z, np.square(Z))

    def gram(self, weights: FloatArray) -> FloatArray:
        """Return X̃ᵀ diag(weights) X̃ (M, M) for weights (N,) ≥ 0. A dense table is read once, in blocks of rows."""
        if sparse.issparse(self.X):
            return self._sparse_gram(weights)
        M = self.shape[1]

        def product(rows: slice) -> FloatArray:
            G = np.zeros((M, M), order="F")
            for some, block in self._blocks_of_rows(rows, GRAM_BYTES):
                block *= np.sqrt(weights[some])[:, None]
                G = linalg.blas.dsyrk(1.0, block.T, beta=1.0, c=G, overwrite_c=1, lower=1)
            return G

        G = self._over_rows(product, M * M // 2)
        G *= np.outer(self.inverse_scale, self.inverse_scale)
        return np.asarray(np.tril(G) + np.tril(G, -1).T)

    def _over_rows(self, work: Callable[[slice], FloatArray], each: int) -> FloatArray:
        """The sum of `work` over the rows, as two halves in parallel if they have enough work, `each` per row."""
        halves = _halves(self.shape[0], each)
        found: list[FloatArray] = [np.empty(0)] * len(halves)

        def fill(i: int) -> None:
            found[i] = work(halves[i])

        side_by_side(fill, range(len(halves)))
        return found[0] if len(found) == 1 else found[0] + found[1]

    def _blocks_of_rows(self, rows: slice, most_bytes: int) -> Iterator[tuple[slice, FloatArray]]:
        """Centred blocks of rows, in a buffer that is reused."""
        M = self.shape[1]
        height = min(rows.stop - rows.start, max(64, most_bytes // (8 * M)))
        buffer = np.empty((height, M))
        for start in range(rows.start, rows.stop, height):
            some = slice(start, min(start + height, rows.stop))
            yield some, np.subtract(self.X[some], self.centre, out=buffer[: some.stop - start])

    def _products_by_rows(self, A: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Products for a C-ordered table with very many rows, where reading a few columns would touch all memory."""
        M = self.shape[1]

        def product(rows: slice) -> FloatArray:
            total = np.zeros((len(A) + len(T), M))
            for some, block in self._blocks_of_rows(rows, ROW_BLOCK_BYTES):
                total[: len(A)] += A[:, some] @ block
                if len(T):
                    total[len(A) :] += T[:, some] @ np.square(block, out=block)
            return total

        found = self._over_rows(product, M * (len(A) + len(T)))
        return found[: len(A)], found[len(A) :]

    def _dense_products(self, A: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        N, M = self.shape
        if N > MANY_ROWS and self.X.flags.c_contiguous and M > 1:
            return self._products_by_rows(A, T)
        cross, squares = np.empty((len(A), M)), np.empty((len(T), M))
        direct = self.X.dtype == np.float64 and self._near_origin
        side_by_side(partial(self._fill_products, A, T, cross, squares, direct), _halves(M, N * (len(A) + len(T))))
        return cross, squares

    def _fill_products(
        self, A: FloatArray, T: FloatArray, cross: FloatArray, squares: FloatArray, direct: bool, columns: slice
    ) -> None:
        if direct and len(A):
            np.matmul(A, self.X[:, columns], out=cross[:, columns])
            for row, total in zip(cross[:, columns], A.sum(axis=1), strict=True):  # avoids a second array of this size
                row -= total * self.centre[columns]
        for span, block in self._centred_blocks(columns) if len(T) or not direct else ():
            if not direct:
                np.matmul(A, block, out=cross[:, span])
            np.matmul(T, np.square(block, out=block), out=squares[:, span])

    @cached_property
    def _near_origin(self) -> bool:
        # if so, centring after the product loses at most two digits
        return bool((np.abs(self.centre) * self.inverse_scale).max() < 100.0)

    def _centred_blocks(self, columns: slice) -> Iterator[tuple[slice, FloatArray]]:
        # Centring before multiplying avoids the cancellation of Σ t x² − 2 x̄ Σ t x + x̄² Σ t, and converts float32.
        N = self.shape[0]
        width = min(columns.stop - columns.start, max(16, BLOCK_BYTES // (8 * N)))
        buffer = np.empty((N, width), order="F" if self.X.flags.f_contiguous else "C")
        for start in range(columns.start, columns.stop, width):
            span = slice(start, min(start + width, columns.stop))
            block = buffer[:, : span.stop - start]
            yield span, np.subtract(self.X[:, span], self.centre[span], out=block)

    def _sparse_products(self, A: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        X, centre = self.X, self.centre
        cross = (X.T @ A.T).T - A.sum(axis=1)[:, None] * centre
        if not len(T):
            return cross, np.empty((0, X.shape[1]))
        absent = T.sum(axis=1)[:, None] - (self._stored(np.ones(X.nnz)).T @ T.T).T
        absent[:, np.diff(X.indptr) == X.shape[0]] = 0.0  # otherwise rounding makes a full constant column vary
        deviations = X.data - np.repeat(centre, np.diff(X.indptr))
        return cross, (self._stored(deviations**2).T @ T.T).T + centre**2 * np.maximum(absent, 0.0)

    def _sparse_gram(self, weights: FloatArray) -> FloatArray:
        X, centre = self.X, self.centre
        raw = (X.T @ X.multiply(weights[:, None]).tocsc()).toarray()
        sums = X.T @ weights
        raw -= np.outer(centre, sums) + np.outer(sums, centre) - weights.sum() * np.outer(centre, centre)
        return np.asarray(raw * np.outer(self.inverse_scale, self.inverse_scale))

    def _stored(self, values: FloatArray) -> Any:
        return sparse.csc_array((values, self.X.indices, self.X.indptr), shape=self.X.shape)


@dataclass(frozen=True)
class RoughDesign:
    """Standardised columns in single precision, kept with their squares."""

    Z: NDArray[np.float32]  # (N, M)
    squared: NDArray[np.float32]  # (N, M)

    def cross_and_squares(self, A: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A X̃ and T (X̃ ∘ X̃), to about six digits of the largest term."""
        N, M = self.Z.shape
        cross, squares = np.empty((len(A), M)), np.empty((len(T), M))
        left, weights = A.astype(np.float32), T.astype(np.float32)

        def fill(columns: slice) -> None:
            cross[:, columns] = left @ self.Z[:, columns]
            squares[:, columns] = weights @ self.squared[:, columns]

        side_by_side(fill, _halves(M, N * (len(A) + len(T))))
        return cross, squares


def _halves(M: int, work: int) -> list[slice]:
    """All columns, or two halves if each takes enough `work` to be worth a thread."""
    return [slice(0, M // 2), slice(M // 2, M)] if M > 1 and M * work > LARGE_PRODUCT else [slice(0, M)]


def are_constant(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which columns of a dense table (n, m) are constant up to rounding.

    >>> are_constant(np.array([[0.3, 1e12], [0.1 + 0.2, 1e12 + 1]])).tolist()
    [True, False]
    """
    constant = _same(values[:SOME_ROWS])  # columns that vary here vary in all rows, too
    if len(values) > SOME_ROWS:
        constant[constant] = _same(values[:, constant])
    return constant


def _same(values: NDArray[Any]) -> NDArray[np.bool_]:
    high, low = values.max(axis=0).astype(np.float64), values.min(axis=0).astype(np.float64)
    rounding = 4 * np.finfo(np.float64).eps * np.maximum(np.abs(high), np.abs(low))
    return np.asarray(0.5 * high - 0.5 * low <= rounding)  # high − low may overflow


def _measured_closely(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted means and standard deviations of columns far from zero; 0 standard deviation for constant ones."""
    counted = weights > 0
    share = weights[counted] / weights.sum()
    base = values[counted][0]
    off = values[counted] - base
    mean = share @ off
    scale = np.sqrt(share @ np.square(off - mean))
    return base + mean, np.where(are_constant(values[counted]), 0.0, scale)


def _dense_parts(X: Any, columns: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield these columns, dense, a few at a time."""
    for start in range(0, len(columns), 64):
        some = columns[start : start + 64]
        values = X[:, some].toarray() if sparse.issparse(X) else X[:, some]
        yield some, values.astype(np.float64, copy=False)


def check_scale(scale: FloatArray) -> None:
    """Raise unless the standard deviations (M,) are finite."""
    if not np.isfinite(scale).all():
        raise ImmoderateColumn(int(np.isfinite(scale).argmin()), "overflows")


def _varying(X: Any, columns: IntArray, counted: NDArray[np.bool_]) -> Iterator[int]:
    """Yield those of these columns that vary in the counted rows."""
    for some, values in _dense_parts(X, columns):
        yield from some[np.ptp(values[counted], axis=0) > 0].tolist()
