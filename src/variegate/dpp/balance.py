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
from scipy import linalg

from ..sets import row_blocks
from ..types import FloatArray, IntArray
from .span import ROUNDING, Rows, propagate

# Rows with L_ii above this are peeled: below, BᵀB + I loses at most three digits, and one more for every tenfold
# number of such rows that are all alike.
MODERATE = np.log(1e3)
# Rows peeled in one round differ in size by at most this factor.
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
            # transposed, so that C-ordered rows are columns in LAPACK's order
            part = rows[block, self.start :].T
            lwork = 64 * max(1, part.shape[1])
            rows[block, self.start :] = linalg.lapack.dormqr("L", "T", self.reflectors, self.tau, part, lwork)[0].T


class Peeled(NamedTuple):
    """What `peel` found: the rotations onto the directions, their scales (h,), and the large rows of W (n, d)."""

    rotations: list[Rotation]
    log_scale: FloatArray
    rows: FloatArray


def peel(units: FloatArray, log_diagonal: FloatArray, tolerance: FloatArray) -> Peeled:
    """Peel off the directions that rows e^{log_diagonal/2}·unit span above the moderate level; overwrites `units`.

    A round takes the largest remaining rows that are independent, rotates them onto the next coordinates, and gives
    these the size of the rows as their scale. Directions are those of rows, not averages: once a row is peeled nothing
    but rounding is left of it, and rows that depend on it stay dependent. O(rows·d·min(rows, d)) a round.
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
        # once more without the weights, and only as far as rows stick out of the span of those before
        reflectors, tau, _, _ = linalg.lapack.dgeqrf(rest[pivots].T)
        blur, h = propagate(np.triu(reflectors[: len(pivots)]), noise[pivots], tolerance[pivots])
        h = max(h, 1)  # the first sticks out, if only by rounding
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
    """Positions of weighted rows that one after another stick out furthest, within LEVEL of the largest size."""
    large = np.flatnonzero(size > LEVEL * size.max())  # what sticks out of a row only shrinks
    scaled = rest[large]
    scaled *= weight[large, None]
    # as linalg.qr does it, without a copy of the triangle
    R, order, *_ = linalg.lapack.dgeqp3(scaled.T, lwork=2 * len(large) + 32 * (len(large) + 1), overwrite_a=True)
    sizes = np.abs(R.diagonal())
    return np.asarray(large[order[: int((sizes > LEVEL * sizes[0]).sum())] - 1])


@dataclass(frozen=True, eq=False)
class BalancedFactor:
    """W and log_scale of the module's docstring, for rows Φ (M, d) and log-qualities θ (M,)."""

    source: Rows
    theta: FloatArray

    @cached_property
    def _peeled(self) -> tuple[FloatArray, FloatArray | None]:
        """log_scale (d,), and W (M, d) where it differs from B. O(Mdh) for h peeled directions."""
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
        """(d,): zero for the directions that were not peeled."""
        return self._peeled[0]

    def _scaled(self, rows: slice | IntArray) -> FloatArray:
        """Rows of B, with zeros for the large rows: those are filled in from `peel`."""
        theta, log_norms = self.theta[rows], self.source.log_norms[rows]
        moderate = (theta + 2 * log_norms <= MODERATE) & (log_norms > -np.inf)
        if np.abs(theta).max(initial=0.0) < LARGEST_EXPONENT:
            quality = np.exp(theta / 2, where=moderate, out=np.zeros(moderate.shape))
            return np.asarray(self.source.phi[rows] * quality[:, None], dtype=np.float64)
        # e^{θ/2} alone overflows, times a tiny row it need not
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
            total += rows.T @ rows  # numpy sees the symmetry and does half the work (syrk)
        return total
