"""A factor of the likelihood kernel that fits in doubles.

The rows of B = diag(e^{θ/2})Φ may differ by a hundred orders of magnitude: a feature strongly supported by the
data has log-odds of several hundred. BᵀB then keeps only the largest rows, and copies of a large row, which add
nothing to the span, appear as noise of order e^θ·10⁻¹⁶. So the directions spanned by large rows are peeled off
first, level by level, each with its own scale:

    L = BBᵀ = W diag(e^{log_scale}) Wᵀ,   entries of W moderate,
    Z = det(I + L) = det(G) ∏ e^{log_scale},   G = diag(e^{-log_scale}) + WᵀW,   K = W G⁻¹ Wᵀ.

Without large rows W is B, log_scale is 0, and W is never stored: its rows are computed from Φ in blocks.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..sets import row_blocks
from ..types import FloatArray, IntArray
from .span import ROUNDING, Rows, propagate

# Rows with log L_ii above this are peeled. Below it, BᵀB + I loses at most three digits, plus one for each factor of
# ten in the number of such rows that are alike.
MODERATE = np.log(1e3)
# Ratio of the smallest to the largest row peeled in one round.
LEVEL = 1e-2
# e^{θ/2} is a normal double for |θ| below this.
LARGEST_EXPONENT = 1400.0


class Rotation(NamedTuple):
    """An orthogonal map of the coordinates from `start` on, as Householder reflectors."""

    start: int
    reflectors: FloatArray
    tau: FloatArray

    def apply(self, rows: FloatArray) -> None:
        """Rotate the rows (n, d) in place. O(ndh) for h reflectors."""
        for block in row_blocks(*rows.shape):
            # transposed: C-ordered rows are LAPACK's columns
            part = rows[block, self.start :].T
            lwork = 64 * max(1, part.shape[1])
            rows[block, self.start :] = linalg.lapack.dormqr("L", "T", self.reflectors, self.tau, part, lwork)[0].T


class Peeled(NamedTuple):
    """Result of `peel`: rotations onto the peeled directions, their scales (h,), and the large rows of W (n, d)."""

    rotations: list[Rotation]
    log_scale: FloatArray
    rows: FloatArray


def peel(units: FloatArray, log_diagonal: FloatArray, tolerance: FloatArray) -> Peeled:
    """Peel off the directions spanned by rows e^{log_diagonal/2}·unit above the moderate level; overwrites `units`.

    Each round takes the largest remaining independent rows, rotates them onto the next coordinates, and uses the size
    of the rows as the scale of these. Directions are those of rows, not averages: a peeled row leaves only rounding
    errors behind, and rows that depend on it stay dependent. O(rows·d·min(rows, d)) per round.
    """
    rotations: list[Rotation] = []
    scales: list[float] = []
    noise = np.full(len(units), ROUNDING)
    while True:
        rest = units[:, len(scales) :]
        length = np.sqrt(np.einsum("md,md->m", rest, rest))
        inside = length < np.maximum(tolerance, noise)
        rest[inside] = 0.0
        remaining = np.where(inside, -np.inf, log_diagonal + 2 * np.log(np.where(inside, 1.0, length)))
        top = remaining.max(initial=-np.inf)
        if top <= MODERATE:
            break
        weight = np.exp(np.where(inside, -np.inf, log_diagonal - top) / 2)
        pivots = largest_independent(rest, weight * length, weight)
        # again without the weights, up to the first row inside the span of the earlier ones
        reflectors, tau, _, _ = linalg.lapack.dgeqrf(rest[pivots].T)
        blur, h = propagate(np.triu(reflectors[: len(pivots)]), noise[pivots], tolerance[pivots])
        h = max(h, 1)  # the first row has nothing before it, so only rounding can reject it
        rotation = Rotation(len(scales), reflectors[:, :h], tau[:h])
        rotation.apply(units)
        along = rest[:, :h]
        noise = np.sqrt(noise**2 + np.einsum("mh,mh,h->m", along, along, np.square(blur[:h])))
        along *= weight[:, None]
        rotations.append(rotation)
        scales += [top] * h
    rest *= np.exp(np.where(inside, -np.inf, log_diagonal) / 2)[:, None]
    return Peeled(rotations, np.array(scales), units)


def largest_independent(rest: FloatArray, size: FloatArray, weight: FloatArray) -> IntArray:
    """Positions of weighted rows by pivoting: largest residual first, down to LEVEL times the largest size."""
    large = np.flatnonzero(size > LEVEL * size.max())  # residuals only shrink
    scaled = rest[large]
    scaled *= weight[large, None]
    # like linalg.qr, without a copy of the triangle
    R, order, *_ = linalg.lapack.dgeqp3(scaled.T, lwork=2 * len(large) + 32 * (len(large) + 1), overwrite_a=True)
    sizes = np.abs(R.diagonal())
    return np.asarray(large[order[: int((sizes > LEVEL * sizes[0]).sum())] - 1])


@dataclass(frozen=True, eq=False)
class BalancedFactor:
    """W and log_scale of the module docstring, for rows Φ (M, d) and log-qualities θ (M,)."""

    source: Rows
    theta: FloatArray

    @cached_property
    def _peeled(self) -> tuple[FloatArray, FloatArray | None]:
        """log_scale (d,), and W (M, d) if it differs from B. O(Mdh) for h peeled directions."""
        log_diagonal = self.theta + 2 * self.source.log_norms
        large = np.flatnonzero(log_diagonal > MODERATE)
        peeled = peel(self.source.units(large), log_diagonal[large], self.source.tolerance(large))
        h = len(peeled.log_scale)
        log_scale = np.append(peeled.log_scale, np.zeros(self.source.phi.shape[1] - h))
        if h == 0:
            return log_scale, None
        if len(large) == len(self.theta):
            return log_scale, peeled.rows
        W = np.empty(self.source.phi.shape)
        for block in row_blocks(*self.source.phi.shape):
            W[block] = self._scaled(block)
            for rotation in peeled.rotations:
                rotation.apply(W[block])
        W[:, :h] *= np.exp(-peeled.log_scale / 2)
        W[large] = peeled.rows
        return log_scale, W

    @property
    def log_scale(self) -> FloatArray:
        """Log scales (d,), zero for directions that were not peeled."""
        return self._peeled[0]

    def _scaled(self, rows: slice | IntArray) -> FloatArray:
        """Rows of B, with zeros for the large rows, which come from `peel`."""
        theta, log_norms = self.theta[rows], self.source.log_norms[rows]
        moderate = (theta + 2 * log_norms <= MODERATE) & (log_norms > -np.inf)
        if np.abs(theta).max(initial=0.0) < LARGEST_EXPONENT:
            quality = np.exp(theta / 2, where=moderate, out=np.zeros(moderate.shape))
            return np.asarray(self.source.phi[rows] * quality[:, None], dtype=np.float64)
        # e^{θ/2} overflows, its product with a tiny row need not
        length = np.exp(theta / 2 + log_norms, where=moderate, out=np.zeros(moderate.shape))
        return self.source.units(rows) * length[:, None]

    def rows(self, rows: slice | IntArray) -> FloatArray:
        """Rows of W."""
        W = self._peeled[1]
        return self._scaled(rows) if W is None else W[rows]

    @cached_property
    def gram(self) -> FloatArray:
        """WᵀW (d, d), accumulated over blocks of rows. O(Md²)."""
        M, d = self.source.phi.shape
        total = np.zeros((d, d))
        for block in row_blocks(M, d):
            rows = self.rows(block)
            total += rows.T @ rows  # numpy uses the symmetry (syrk)
        return total
