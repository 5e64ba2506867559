"""A smooth field on the unit square, made of a few bumps on several scales."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..checks import generator
from .simulation import Simulation, check_task, draw_outcome


def make_spatial_field(
    n_sites: int = 200,
    grid: int = 12,
    *,
    widths: Sequence[float] = (0.1, 0.2, 0.4),
    n_true: int = 8,
    snr: float = 10.0,
    n_test: int = 0,
    rng: np.random.Generator | int | None = None,
) -> Simulation:
    """Simulate measurements of a field; features are Gaussian bumps on a grid, in each of the widths.

    y = X coef + noise, X = `gaussian_bumps(sites, centres, widths)`, with normal coefficients for `n_true` bumps.
    `groups` is the number of the width. Similarity: `similarity.from_coordinates(data.centres, widths=data.widths)`.
    Paper: section 5.2 (process convolution).

    >>> data = make_spatial_field(50, grid=5, n_true=3)
    >>> data.X.shape, data.centres.shape, len(data.truth)
    ((50, 75), (75, 2), 3)
    """
    check_task("regression", snr)
    M = grid * grid * len(widths)
    if not 1 <= n_true <= M:
        raise ValueError(f"n_true must be from 1 to {M}, the number of bumps, got {n_true}")
    rng = generator(rng)
    ticks = (np.arange(grid) + 0.5) / grid
    places = np.column_stack([np.repeat(ticks, grid), np.tile(ticks, grid)])
    centres = np.tile(places, (len(widths), 1))
    width = np.repeat(np.asarray(widths, dtype=float), grid * grid)
    groups = np.repeat(np.arange(len(widths)), grid * grid)
    sites = rng.random((n_sites + n_test, 2))
    X = gaussian_bumps(sites, centres, width)
    truth = np.sort(rng.choice(M, size=n_true, replace=False))
    coef = np.zeros(M)
    coef[truth] = rng.standard_normal(n_true)
    signal = X @ coef
    y = draw_outcome(signal, float(signal.std() / np.sqrt(snr)), "regression", rng)
    return Simulation(
        X=X[:n_sites],
        y=y[:n_sites],
        truth=truth,
        coef=coef,
        groups=groups,
        features=tuple(f"w{w:g}_{x:.3g}_{y:.3g}" for w, (x, y) in zip(width, centres, strict=True)),
        X_test=X[n_sites:],
        y_test=y[n_sites:],
        sites=sites[:n_sites],
        centres=centres,
        widths=width,
    )


def gaussian_bumps(points: npt.ArrayLike, centres: npt.ArrayLike, widths: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return basis functions exp(−‖x_n − c_m‖² / w_m²), shape (N, M).  Paper: section 5.2.

    >>> gaussian_bumps([[0.0], [1.0]], [[0.0], [1.0]], [1.0, 1.0]).round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    """
    x, c = np.asarray(points, dtype=float), np.asarray(centres, dtype=float)
    w = np.broadcast_to(np.asarray(widths, dtype=float), len(c))
    d2 = np.zeros((len(x), len(c)))
    for axis in range(x.shape[1]):
        d2 += (x[:, None, axis] - c[None, :, axis]) ** 2
    bumps: npt.NDArray[np.float64] = np.exp(-d2 / w**2)
    return bumps
