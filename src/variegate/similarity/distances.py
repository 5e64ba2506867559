"""Kernels of distances, whose blocks are computed on demand: radial kernels, and overlaps of bumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from .features import Array

Bandwidth = str | float | Sequence[float]
_FEW_DIMENSIONS = 4  # up to which distances are computed from differences
_EXTREME_LENGTHS = 1e-150, 1e150  # limits of bandwidths and widths, for points of order one
# Pairwise distances of this many features give a mean or median to three digits.
_BANDWIDTH_SAMPLE = 1500


@dataclass(frozen=True)
class RadialKernel:
    """Average over the scales σ of exp(−‖x_i − x_j‖² / σ²), for points of shape (M, D)."""

    points: Array
    bandwidths: tuple[float, ...]

    def diagonal(self) -> Array:
        """Return ones."""
        return np.ones(len(self.points))

    def block(self, rows: Array | slice, cols: Array) -> Array:
        """Return the entries K[rows][:, cols]."""
        d2 = squared_distances(self.points[rows], self.points[cols])
        if len(self.bandwidths) == 1:
            d2 *= -1.0 / self.bandwidths[0] ** 2
            return np.exp(d2, out=d2)
        total = np.zeros_like(d2)
        for b in self.bandwidths:
            total += np.exp(-d2 / b**2)
        return total / len(self.bandwidths)


@dataclass(frozen=True)
class BumpKernel:
    """Overlap (cosine) of Gaussian bumps exp(−‖x − c_i‖² / w_i²) with centres (M, D) and widths (M,).

    K_ij = (2 w_i w_j / (w_i² + w_j²))^{D/2} exp(−‖c_i − c_j‖² / (w_i² + w_j²)).
    """

    points: Array
    widths: Array

    def diagonal(self) -> Array:
        """Return ones."""
        return np.ones(len(self.points))

    def block(self, rows: Array | slice, cols: Array) -> Array:
        """Return the entries K[rows][:, cols]."""
        w, v = self.widths[rows][:, None], self.widths[cols][None, :]
        total = w**2 + v**2
        overlap = (2 * w * v / total) ** (self.points.shape[1] / 2)
        entries: Array = overlap * np.exp(-squared_distances(self.points[rows], self.points[cols]) / total)
        return entries


def squared_distances(A: Array, B: Array) -> Array:
    """‖a_i − b_j‖² for all pairs; never negative.

    In up to four dimensions by differences, which keep all digits; otherwise by one matrix product, accurate to about
    1e-7 of the points' size.
    """
    if A.shape[1] <= _FEW_DIMENSIONS:
        total = np.zeros((len(A), len(B)))
        for a, b in zip(A.T, B.T, strict=True):
            difference = np.subtract.outer(a, b)
            total += np.multiply(difference, difference, out=difference)
        return total
    d2 = A @ (-2.0 * B.T)
    sizes = np.add.outer(np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B))
    d2 += sizes
    # the distance of a point to itself is a rounding error, possibly negative
    d2[d2 <= A.shape[1] * np.finfo(np.float64).eps * sizes] = 0.0
    return d2


def radial_kernel(points: Array, rule: Bandwidth, rng: np.random.Generator) -> RadialKernel:
    """Return the kernel of points in any unit, with the bandwidth given by a rule or a number."""
    moved, exponent = _moved_to_order_one(points)
    if isinstance(rule, str):
        return RadialKernel(moved, bandwidths(moved, rule, rng))
    return RadialKernel(moved, tuple(_relative(np.array(bandwidths(moved, rule, rng)), exponent).tolist()))


def bump_kernel(points: Array, widths: Array) -> BumpKernel:
    """Return the overlaps of bumps at these points, in any unit."""
    moved, exponent = _moved_to_order_one(points)
    return BumpKernel(moved, _relative(widths, exponent))


def _moved_to_order_one(points: Array) -> tuple[Array, int]:
    """Return the points centred and divided by 2^exponent, and that exponent.

    Distances by inner products lose digits far from the origin, and squares of very small or large numbers underflow
    or overflow; scaling by a power of two is exact.
    """
    exponent = int(np.frexp(np.abs(points).max())[1])
    scaled = np.ldexp(points, -exponent)
    scaled -= scaled.mean(axis=0)
    left = int(np.frexp(np.abs(scaled).max())[1])
    return np.ldexp(scaled, -left), exponent + left


def _relative(lengths: Array, exponent: int) -> Array:
    """Divide by 2^exponent and clip: beyond the limits the kernel no longer changes, but squares would overflow."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(np.ldexp(lengths, -exponent), *_EXTREME_LENGTHS)


def bandwidths(points: Array, rule: Bandwidth, rng: np.random.Generator) -> tuple[float, ...]:
    """Return the bandwidths meant by "mean" or "median" (pairwise distance), a number, or several numbers.

    Paper: section 5.1, "σ is set to … approximately the average pairwise distance".

    >>> bandwidths(np.array([[0.0], [3.0]]), "mean", np.random.default_rng(0))
    (3.0,)
    """
    if isinstance(rule, str):
        if rule not in ("mean", "median"):
            raise ValueError(f'bandwidth must be "mean", "median", a number or several, got "{rule}"')
        if len(points) > _BANDWIDTH_SAMPLE:
            points = points[rng.choice(len(points), _BANDWIDTH_SAMPLE, replace=False)]
        distances = pdist(points) if len(points) > 1 else np.ones(1)
        found: tuple[float, ...] = (float(np.mean(distances) if rule == "mean" else np.median(distances)),)
    else:
        found = _numbers(rule)
    if not found or not all(np.isfinite(b) and b > 0 for b in found):
        raise ValueError(
            f"bandwidth must be positive, got {rule!r} = {found}; if most features coincide, give a number"
        )
    return found


def _numbers(rule: Any) -> tuple[float, ...]:
    try:
        values = np.asarray(rule, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim > 1 or isinstance(rule, bool):
        raise ValueError(f'bandwidth must be "mean", "median", a number or several, got {rule!r}')
    return tuple(np.atleast_1d(values).tolist())
