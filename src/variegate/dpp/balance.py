"""A factor of the likelihood kernel that floating point can hold.

The rows of B = diag(e^{θ/2})Φ may differ by a hundred orders of magnitude: a feature that the data
demand has a log-odds of hundreds. BᵀB then rounds everything but the largest rows away, and
duplicates of a large row, which span nothing new, appear as noise of the size of e^θ·10⁻¹⁶. Here the
directions that large rows span are peeled off first, level by level, and each gets a scale of its own:

    L = BBᵀ = W diag(e^{log_scale}) Wᵀ,   entries of W moderate,
    Z = det(I + L) = det(G) ∏ e^{log_scale},   G = diag(e^{-log_scale}) + WᵀW,   K = W G⁻¹ Wᵀ.

Without large rows W is B, log_scale is 0, and W is never stored: its rows come from Φ in blocks.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from .sets import FloatArray, row_blocks

Float64Array = npt.NDArray[np.float64]

# A row counts as inside the span of others when less than this part of its length sticks out.
SPAN_TOLERANCE = 1e-12
# Rows with L_ii above this are peeled: below, BᵀB + I loses at most three digits, and one more for every tenfold
# number of such rows that are all alike.
MODERATE = np.log(1e3)
# Directions peeled in one round differ in size by at most this factor.
LEVEL = 1e-2
# e^{θ/2} is a normal double for |θ| below this.
LARGEST_EXPONENT = 1400.0
# Below this share of a row's squared length, subtraction has lost it and the residual is formed instead.
CANCELLED = 1e-8


def log_row_norms(phi: FloatArray) -> Float64Array:
    """Log ‖φ_m‖ for every row, −inf for zero rows; neither overflows nor underflows. O(Md)."""
    squares = np.empty(len(phi))
    for block in row_blocks(*phi.shape):
        rows = phi[block].astype(np.float64, copy=False)
        squares[block] = np.einsum("md,md->m", rows, rows)
    with np.errstate(divide="ignore"):
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
        with np.errstate(divide="ignore"):
            logs[doubtful] = np.log(largest) + np.log(np.linalg.norm(rows / largest[:, None], axis=1))
    return logs


def unit_rows(phi: FloatArray, log_norms: Float64Array) -> Float64Array:
    """Rows of Φ divided by their norms; zero rows stay zero."""
    log_norms = np.where(np.isfinite(log_norms), log_norms, 0.0)
    if (np.abs(log_norms) < 300).all():
        return np.asarray(phi * np.exp(-log_norms)[:, None], dtype=np.float64)
    halves = np.exp(-log_norms / 2)[:, None]  # in two steps, since 1/norm may overflow
    return np.asarray(phi * halves * halves, dtype=np.float64)


class Peeled(NamedTuple):
    """What `peel` found: directions with their scales, and the large rows in those terms."""

    basis: Float64Array  # (d, h), orthonormal
    log_scale: Float64Array  # (h,)
    components: Float64Array  # (large, h), entries at most one
    residual: Float64Array  # (large, d), rows of B outside the basis


def peel(units: Float64Array, log_diagonal: Float64Array) -> Peeled:
    """Peel off the directions that rows e^{log_diagonal/2}·unit span above the moderate level.

    A round takes the directions in which the largest remaining rows really extend, and gives them the
    size of these rows as their scale. O(rows·d·min(rows, d)) a round; a round for each level present.
    """
    residual = units.copy()
    d = units.shape[1]
    bases, scales, parts = [np.empty((d, 0))], [np.empty(0)], [np.empty((len(units), 0))]
    while True:
        length = np.linalg.norm(residual, axis=1)
        known = np.hstack(bases)
        # once the basis is complete, what is left is rounding
        inside = (length < SPAN_TOLERANCE) | (known.shape[1] >= d)
        residual[inside] = 0.0
        remaining = np.where(inside, -np.inf, log_diagonal + 2 * np.log(np.where(inside, 1.0, length)))
        top = remaining.max(initial=-np.inf)
        if top <= MODERATE:
            break
        # a row inside the span has no remaining part, however large e^{log_diagonal} is
        weight = np.exp(np.where(inside, 0.0, log_diagonal - top) / 2) * ~inside
        directions = dominant_directions(residual * weight[:, None])
        directions = np.linalg.qr(directions - known @ (known.T @ directions))[0][:, : d - known.shape[1]]
        along = residual @ directions
        residual -= along @ directions.T
        residual -= (residual @ directions) @ directions.T  # twice is enough
        parts.append(along * weight[:, None])
        bases.append(directions)
        scales.append(np.full(directions.shape[1], top))
    with np.errstate(divide="ignore"):
        outside = residual * np.exp(np.minimum(remaining / 2 - np.log(np.where(inside, 1.0, length)), 700.0))[:, None]
    return Peeled(np.hstack(bases), np.concatenate(scales), np.hstack(parts), outside)


def dominant_directions(rows: Float64Array) -> Float64Array:
    """Right singular vectors (d, h) of the rows whose singular value is within LEVEL of the largest."""
    if len(rows) > rows.shape[1]:  # squaring instead would blur the directions by eps/LEVEL², above the tolerance
        rows = linalg.qr(rows, mode="r", check_finite=False)[0][: rows.shape[1]]
    _, values, vectors = linalg.svd(rows, full_matrices=False)
    return np.asarray(vectors[values > LEVEL * values[0]].T)


def rotate(rows: Float64Array, reflectors: Float64Array, tau: Float64Array) -> Float64Array:
    """Rows times the orthogonal matrix (d, d) that h Householder reflectors make up. O(rows·d·h)."""
    # transposed, so that C-ordered rows are columns in LAPACK's order and nothing is copied
    lwork = max(1, len(rows)) * 64
    return np.asarray(linalg.lapack.dormqr("L", "T", reflectors, tau, rows.T, lwork)[0].T)


@dataclass(frozen=True, eq=False)
class BalancedFactor:
    """W and log_scale of the module's docstring, for Φ (M, d) and log-qualities θ (M,)."""

    phi: FloatArray
    theta: Float64Array
    log_norms: Float64Array

    @cached_property
    def large(self) -> npt.NDArray[np.int64]:
        """Items whose L_ii is above the moderate level."""
        return np.flatnonzero(self.theta + 2 * self.log_norms > MODERATE)

    @cached_property
    def peeled(self) -> Peeled:
        """The directions of the large rows."""
        units = unit_rows(self.phi[self.large], self.log_norms[self.large])
        return peel(units, (self.theta + 2 * self.log_norms)[self.large])

    @cached_property
    def log_scale(self) -> Float64Array:
        """(d,): zero for the directions that were not peeled."""
        scale = np.zeros(self.phi.shape[1])
        scale[: len(self.peeled.log_scale)] = self.peeled.log_scale
        return scale

    @cached_property
    def rotated(self) -> Float64Array | None:
        """W (M, d) where it differs from B; None otherwise. O(Mdh) for h peeled directions."""
        h = len(self.peeled.log_scale)
        if h == 0:
            return None
        reflectors, tau, _, _ = linalg.lapack.dgeqrf(self.peeled.basis)
        signs = np.sign(reflectors.diagonal())  # the basis is ± the first h columns of the rotation
        W = np.empty(self.phi.shape)
        for block in row_blocks(*self.phi.shape):
            W[block] = rotate(self._scaled(block), reflectors, tau)
        W[:, :h] *= signs * np.exp(-self.peeled.log_scale / 2)
        W[self.large, :h] = self.peeled.components
        W[self.large, h:] = rotate(self.peeled.residual, reflectors, tau)[:, h:]
        return W

    def _scaled(self, rows: slice | npt.NDArray[np.int64]) -> Float64Array:
        """Rows of B, with zeros for the large rows: those are filled in from `peeled`."""
        theta, log_norms = self.theta[rows], self.log_norms[rows]
        moderate = (theta + 2 * log_norms <= MODERATE) & (log_norms > -np.inf)
        if np.abs(theta).max(initial=0.0) < LARGEST_EXPONENT:
            quality = np.exp(theta / 2, where=moderate, out=np.zeros(moderate.shape))
            return np.asarray(self.phi[rows] * quality[:, None], dtype=np.float64)
        # e^{θ/2} alone overflows, times a tiny row it need not
        length = np.exp(theta / 2 + log_norms, where=moderate, out=np.zeros(moderate.shape))
        return unit_rows(self.phi[rows], log_norms) * length[:, None]

    def rows(self, rows: slice | npt.NDArray[np.int64]) -> Float64Array:
        """Rows of W."""
        return self._scaled(rows) if self.rotated is None else self.rotated[rows]

    @cached_property
    def gram(self) -> Float64Array:
        """WᵀW (d, d), accumulated over blocks of rows. O(Md²)."""
        M, d = self.phi.shape
        total = np.zeros((d, d))
        for block in row_blocks(M, d):
            rows = self.rows(block)
            total += rows.T @ rows  # numpy sees the symmetry and does half the work (syrk)
        return total
