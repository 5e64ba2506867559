"""The base measure ν(S) = det([ΦΦᵀ]_S), and what every single item would change in it."""

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from .balance import SPAN_TOLERANCE, Float64Array, log_row_norms, unit_rows
from .sets import FloatArray, IntArray, row_blocks

# below this share of a row's squared length, subtraction has lost it and the residual is formed instead
CANCELLED = 1e-8


@dataclass(frozen=True, eq=False)
class Volume:
    """log ν(S) and its flip gains log ν(S ∪ m) − log ν(S∖m) for all m at once.

    The gain of m is the log of its Schur complement s_m: the squared part of φ_m outside the span of the others.
    Products φ_mᵀφ_j are kept for items j that were in a set before: O(M) memory for each, at most `rows_kept` of them.
    """

    phi: FloatArray
    log_norms: Float64Array = field(init=False, repr=False)
    rows_kept: int = 512
    _products: dict[int, Float64Array] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_norms", log_row_norms(self.phi))

    def log_volume(self, S: IntArray) -> float:
        """log ν(S); −inf for dependent rows."""
        if len(S) == 0:
            return 0.0
        if len(S) > self.phi.shape[1]:
            return -np.inf
        diagonal = np.abs(np.diag(linalg.qr(self._units(S).T, mode="r", pivoting=True)[0]))
        if diagonal.min() < SPAN_TOLERANCE:
            return -np.inf
        return float(2 * self.log_norms[S].sum() + 2 * np.log(diagonal).sum())

    def flip_gains(self, S: IntArray) -> Float64Array:
        """log s_m for every item, shape (M,); −inf inside the span. S must be independent. O(M|S|²)."""
        if len(S) == 0:
            return 2 * self.log_norms
        products = self._product_rows(S)
        C = np.linalg.cholesky(products[:, S])
        V = linalg.solve_triangular(C, products, lower=True, check_finite=False)
        outside = 1.0 - np.einsum("km,km->m", V, V)
        inverse = linalg.solve_triangular(C, np.eye(len(S)), lower=True, check_finite=False)
        outside[S] = 1.0 / np.einsum("kj,kj->j", inverse, inverse)
        doubtful = np.setdiff1d(np.flatnonzero(outside < CANCELLED), S)
        if len(doubtful):
            outside[doubtful] = self._outside(doubtful, S)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(outside) + 2 * self.log_norms)

    def _units(self, rows: slice | IntArray) -> Float64Array:
        return unit_rows(self.phi[rows], self.log_norms[rows])

    def _product_rows(self, S: IntArray) -> Float64Array:
        """Cosines of the members of S with all items (|S|, M)."""
        new = [j for j in S.tolist() if j not in self._products]
        if new:
            units = self._units(np.array(new))
            found = np.empty((len(new), len(self.phi)))
            for block in row_blocks(*self.phi.shape):
                found[:, block] = units @ self._units(block).T
            self._products.update(zip(new, found, strict=True))
        rows = np.stack([self._products[j] for j in S.tolist()])
        while len(self._products) > self.rows_kept:  # the oldest first
            del self._products[next(iter(self._products))]
        return rows

    def _outside(self, items: IntArray, S: IntArray) -> Float64Array:
        """Squared parts outside the span of S, from the residuals themselves."""
        basis = linalg.qr(self._units(S).T, mode="economic")[0]
        units = self._units(items)
        for _ in range(2):
            units = units - (units @ basis) @ basis.T
        squares = np.einsum("md,md->m", units, units)
        return np.where(squares < SPAN_TOLERANCE**2, 0.0, squares)
