"""Similarity from coordinates: features that are close together are similar."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..checks import generator
from .distances import Bandwidth, BumpKernel, RadialKernel, bump_kernel, radial_kernel
from .factorise import factorise, finite_matrix, item_names
from .features import Array, SimilarityFeatures

_EARTH_RADIUS_KM = 6371.0088


def from_coordinates(
    points: npt.ArrayLike | Any,
    bandwidth: Bandwidth = "mean",
    *,
    widths: npt.ArrayLike | None = None,
    lonlat: bool = False,
    rank: int | None = None,
    tol: float = 0.01,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ of features with coordinates: K_ij = exp(−‖x_i − x_j‖² / σ²).

    With several bandwidths, K is the average of their kernels. If the features are Gaussian bumps of different
    widths (the paper's spatial basis functions, on three scales), give `widths` instead: K_ij is the overlap of the
    bumps exp(−‖x − x_i‖² / w_i²),

        K_ij = (2 w_i w_j / (w_i² + w_j²))^{D/2} exp(−‖x_i − x_j‖² / (w_i² + w_j²)).

    Paper: sections 5.1 (kernel and bandwidth) and 5.2 (bumps on several scales).

    Parameters
    ----------
    points : (M, D) array or data frame (its text index gives the names), or (M,) positions on a line
    bandwidth : "mean" or "median" pairwise distance, a number, or a sequence of numbers (several scales)
    widths : (M,) one width per feature; replaces `bandwidth`
    lonlat : True if the two columns are longitude and latitude in degrees: distances, bandwidth and widths
        are then in kilometres, along straight lines through the globe
    rank, tol : number of columns of Φ: at most `rank` (None: 1,000), fewer if they reach the trace error `tol`
    rng : generator or seed of the low-rank factor; None is seed 0

    >>> phi = from_coordinates([[0.0], [0.1], [9.0]], bandwidth=1.0, tol=0.0)
    >>> np.asarray(phi @ phi.T).round(2) + 0.0
    array([[1.  , 0.99, 0.  ],
           [0.99, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    generator_ = generator(rng)
    places = np.asarray(points)
    values = finite_matrix(places[:, None] if places.ndim == 1 else places, "points").astype(np.float64)
    if lonlat:
        values = globe_points(values)
    kernel: RadialKernel | BumpKernel
    if widths is None:
        kernel = radial_kernel(values, bandwidth, generator_)
    else:
        kernel = bump_kernel(values, _checked_widths(widths, len(values)))
    return factorise(kernel, rank, tol, generator_, item_names(points))


def globe_points(lonlat: Array) -> Array:
    """Convert longitude and latitude in degrees (M, 2) to points on the globe in kilometres (M, 3)."""
    if lonlat.shape[1] != 2 or np.abs(lonlat[:, 1]).max() > 90 or np.abs(lonlat[:, 0]).max() > 360:
        raise ValueError(
            "points must have two columns, longitude (within ±360) and latitude (within ±90), in this order and in "
            f"degrees, got {lonlat.shape[1]} columns with values from {lonlat.min():g} to {lonlat.max():g}"
        )
    lon, lat = np.radians(lonlat).T
    return _EARTH_RADIUS_KM * np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _checked_widths(widths: npt.ArrayLike, M: int) -> Array:
    try:
        w = np.asarray(widths, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"widths must be {M} positive numbers, one per point, got {widths!r}") from None
    if w.shape != (M,) or not (np.isfinite(w) & (w > 0)).all():
        raise ValueError(f"widths must be {M} positive numbers, one per point, got an array of shape {w.shape}")
    return w
