"""Rows of Φ of any magnitude, and the test of whether a row lies in the span of others.

A row counts as inside a span when its residual is shorter than its floor: 10⁻¹² of its length in the Φ given by the
user, so conditioning, which shortens rows, does not change the result. The directions of a span built from near-copies
are known to fewer digits, and a residual below that accuracy counts as inside too.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ..compiled import numba
from ..sets import row_blocks, underflow_is_zero
from ..types import AnyFloatArray, FloatArray, IntArray

# A row counts as inside a span when its residual is shorter than this fraction of its length.
SPAN_TOLERANCE = 1e-12
# Largest computed residual of a unit row that lies in a span.
ROUNDING = 1e-14
# Squared residuals below this, relative to the row, are computed from the residual: subtraction has lost their digits.
CANCELLED = 1e-8


def log_row_norms(phi: AnyFloatArray) -> FloatArray:
    """log ‖φ_m‖ for every row, −inf for zero rows; neither overflows nor underflows. O(Md)."""
    squares = np.empty(len(phi))
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):  # corrected below
        for block in row_blocks(*phi.shape):
            rows = phi[block].astype(np.float64, copy=False)
            squares[block] = np.einsum("md,md->m", rows, rows)
        logs = 0.5 * np.log(squares)
    doubtful = np.flatnonzero(~((squares > 1e-200) & (squares < 1e200)))
    if len(doubtful):
        rows = phi[doubtful].astype(np.float64)
        if not np.isfinite(rows).all():
            bad = doubtful[~np.isfinite(rows).all(axis=1)]
            raise ValueError(
                f"phi must be finite, got NaN or infinity in {len(bad)} of {len(phi)} rows, first in row "
                f"{bad[0]}. Drop those items or fill in the missing values."
            )
        largest = np.abs(rows).max(axis=1, initial=0.0)
        largest[largest == 0] = 1.0
        with np.errstate(divide="ignore", under="ignore"):
            logs[doubtful] = np.log(largest) + np.log(np.linalg.norm(rows / largest[:, None], axis=1))
    return logs


def unit_rows(phi: AnyFloatArray, log_norms: FloatArray) -> FloatArray:
    """Rows of Φ divided by their norms; zero rows stay zero."""
    log_norms = np.where(np.isfinite(log_norms), log_norms, 0.0)
    if (np.abs(log_norms) < 300).all():
        return np.asarray(phi * np.exp(-log_norms)[:, None], dtype=np.float64)
    halves = np.exp(-log_norms / 2)[:, None]  # in two steps because 1/norm may overflow
    return np.asarray(phi * halves * halves, dtype=np.float64)


def _read_only(values: AnyFloatArray) -> AnyFloatArray:
    view = values.view()
    view.flags.writeable = False
    return view


class Rows(NamedTuple):
    """Φ (M, d), log ‖φ_m‖ (M,), and the log of the length below which a residual of φ_m counts as zero (M,).

    Distributions accept it in place of an array, so that Φ is checked and measured once.

    >>> Rows.of([[3.0, 4.0], [0.0, 1.0]]).log_norms.round(2)
    array([1.61, 0.  ])
    """

    phi: AnyFloatArray
    log_norms: FloatArray
    log_floor: FloatArray

    @classmethod
    def of(cls, phi: "npt.ArrayLike | Rows") -> "Rows":
        """Check and measure Φ; float32 is kept. O(Md)."""
        if isinstance(phi, Rows):
            return phi._replace(phi=_read_only(phi.phi))  # a pickle does not keep the flag
        if hasattr(phi, "toarray"):
            raise ValueError("phi must be a dense matrix (items × features), got a sparse one. Pass phi.toarray().")
        features = np.asarray(phi)
        if np.iscomplexobj(features):
            raise ValueError(f"phi must be real, got {features.dtype}.")
        if features.dtype not in (np.float32, np.float64):
            features = features.astype(np.float64)
        if features.ndim != 2:
            raise ValueError(f"phi must be a matrix (items × features), got shape {features.shape}.")
        if features.shape[1] == 0:  # the same as one feature that is zero everywhere: only the empty set is possible
            features = np.zeros((len(features), 1))
        features = _read_only(features)
        log_norms = log_row_norms(features)
        return cls(features, log_norms, log_norms + np.log(SPAN_TOLERANCE))

    def take(self, rows: IntArray) -> "Rows":
        """Some of the rows."""
        return Rows(self.phi[rows], self.log_norms[rows], self.log_floor[rows])

    def units(self, rows: slice | IntArray) -> FloatArray:
        """Rows of Φ at unit length."""
        return unit_rows(self.phi[rows], self.log_norms[rows])

    def tolerance(self, rows: slice | IntArray) -> FloatArray:
        """Floors of the rows at unit length; one for zero rows."""
        log_norms = self.log_norms[rows]
        some = np.isfinite(log_norms)
        return np.exp(np.subtract(self.log_floor[rows], log_norms, where=some, out=np.zeros(len(log_norms))))

    def log_volume(self, S: IntArray) -> float:
        """log det([ΦΦᵀ]_S); −inf for dependent rows. O(d|S|²)."""
        if len(S) > self.phi.shape[1]:
            return -np.inf
        _, triangle = self.span(S)
        if len(triangle.order) < len(S):
            return -np.inf
        return float(2 * self.log_norms[S].sum() + 2 * np.log(np.abs(triangle.R.diagonal())).sum())

    def span(self, S: IntArray) -> tuple["Span", "Triangle"]:
        """The span of some rows. O(d|S|²)."""
        return NOTHING.extended(self.units(S), self.tolerance(S))

    @underflow_is_zero
    def rank(self) -> int:
        """Number of independent rows. O(Md·rank)."""
        span = NOTHING
        for block in row_blocks(*self.phi.shape):
            if len(span.blur) < self.phi.shape[1]:
                span = span.extended(self.units(block), self.tolerance(block))[0]
        return len(span.blur)


class Outside(NamedTuple):
    """Unit rows (n, d) relative to a span; residuals shorter than their floor have length zero."""

    along: FloatArray  # (n, k)
    residual: FloatArray  # (n, d)
    length: FloatArray  # (n,)
    floor: FloatArray  # (n,)


class Triangle(NamedTuple):
    """The rows that extended a span, in order (k,): they are RᵀQᵀ, with R (k, k), plus components in the old span."""

    R: FloatArray
    order: IntArray


class Span(NamedTuple):
    """Orthonormal directions (d, k), and the error of each (k,)."""

    basis: FloatArray
    blur: FloatArray

    def outside(self, units: FloatArray, tolerance: FloatArray) -> Outside:
        """Project the rows onto the span. O(ndk)."""
        if len(self.blur) == 0:
            along, residual = np.empty((len(units), 0)), units
        else:
            along = units @ self.basis
            residual = units - along @ self.basis.T
        length = np.linalg.norm(residual, axis=1)
        short = np.flatnonzero(length < 0.1)
        if len(short) and len(self.blur):  # the residual is not quite orthogonal to the basis: twice is enough
            residual[short] -= (residual[short] @ self.basis) @ self.basis.T
            length[short] = np.linalg.norm(residual[short], axis=1)
        floor = np.maximum(tolerance, uncertainty(along, self.blur))
        return Outside(along, residual, np.where(length < floor, 0.0, length), floor)

    def extended(self, units: FloatArray, tolerance: FloatArray) -> tuple["Span", Triangle]:
        """Add these rows to the span, the largest residual first. O(ndk + nd·min(n, d))."""
        along, residual, length, _ = self.outside(units, tolerance)
        new = np.flatnonzero(length)
        if len(new) == 0:
            return self, Triangle(np.empty((0, 0)), new)
        # relative to their floors, so that the order is the same before and after conditioning
        scaled = (residual[new] / tolerance[new, None]).T
        Q, R, order = linalg.qr(scaled, mode="economic", pivoting=True, overwrite_a=True, check_finite=False)
        order = new[order]
        R *= tolerance[order]
        blur, k = propagate(R, uncertainty(along[order], self.blur), tolerance[order])
        basis = np.hstack([self.basis, Q[:, :k]]) if len(self.blur) else Q[:, :k]
        return Span(basis, np.append(self.blur, blur[:k])), Triangle(R[:k, :k], order[:k])


NOTHING = Span(np.empty((0, 0)), np.empty(0))


def uncertainty(along: FloatArray, blur: FloatArray) -> FloatArray:
    """Error of rows with these components along inexact directions (n,); errors add in squares."""
    return np.asarray(np.sqrt(ROUNDING**2 + np.square(along) @ np.square(blur)))


@numba.njit(cache=True)
def propagate(R: FloatArray, noise: FloatArray, tolerance: FloatArray) -> tuple[FloatArray, int]:
    """Error of each direction of a triangular factor, and the number of leading independent columns.

    The columns of R (k, n) are rows with errors `noise`; direction j comes from column j.
    """
    blur = np.zeros(len(R))
    for j in range(len(R)):
        variance = noise[j] ** 2
        for i in range(j):
            variance += (R[i, j] * blur[i]) ** 2
        length, off = abs(R[j, j]), np.sqrt(variance)
        if length < tolerance[j] or length < off or length == 0.0:
            return blur, j
        blur[j] = off / length
    return blur, len(R)
