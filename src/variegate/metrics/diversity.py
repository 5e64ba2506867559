"""How different the features of a set are from each other."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.spatial.distance import pdist

from ..dpp import Rows, Volume
from ..sets import as_index_set


class Redundancy(NamedTuple):
    """Absolute correlations within a set.

    >>> Redundancy(0.9, 0.4).largest
    0.9
    """

    largest: float
    mean: float


def log_det(phi: Any, S: npt.ArrayLike) -> float:
    """log det([ΦΦᵀ]_S): 0 for orthogonal unit rows, −inf for linearly dependent ones.

    `phi` (M, d) similarity features, or a kernel with `diagonal()` and `block(rows, cols)`, such as
    `similarity.network_kernel`; S positions or a mask.  Paper: section 5, figures 2 and 3

    >>> log_det([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], [0, 2])  # doctest: +ELLIPSIS
    -0.446...
    """
    if hasattr(phi, "block"):
        return _log_det_block(phi, as_index_set(S, len(phi.diagonal())))
    rows = _matrix(phi, "phi")
    rows = rows[as_index_set(S, len(rows))]
    return Volume(Rows.of(rows)).log_volume(np.arange(len(rows)))


def _log_det_block(kernel: Any, S: npt.NDArray[np.int64]) -> float:
    values = np.linalg.eigvalsh(kernel.block(S, S)) if len(S) else np.ones(1)
    singular = values[0] <= len(values) * np.finfo(np.float64).eps * values[-1]
    return -np.inf if singular else float(np.log(values).sum())


def mean_pairwise_distance(points: npt.ArrayLike, S: npt.ArrayLike) -> float:
    """Mean Euclidean distance between the features in S; nan for fewer than two.

    `points` (M, p) coordinates of all features.  Paper: figure 3

    >>> mean_pairwise_distance([[0, 0], [3, 4], [9, 9]], [0, 1])
    5.0
    """
    places = _matrix(points, "points")
    chosen = places[as_index_set(S, len(places))]
    return float(pdist(chosen).mean()) if len(chosen) > 1 else np.nan


def communities_hit(labels: npt.ArrayLike, S: npt.ArrayLike) -> int:
    """Number of different labels in S; None and NaN do not count.

    >>> communities_hit(["a", "a", "b", None], [0, 1, 3])
    1
    """
    given = np.asarray(labels, dtype=object)
    return int(pd.Series(given[as_index_set(S, len(given))], dtype=object).nunique(dropna=True))


def redundancy(X: npt.ArrayLike, S: npt.ArrayLike) -> Redundancy:
    """Largest and mean |r| over the pairs of columns in S; nan for fewer than two.

    The correlation of a constant column is taken as 0.

    >>> round(redundancy([[1.0, 2.0, 1.0], [2.0, 4.0, -1.0], [3.0, 6.0, 1.0]], [0, 1, 2]).largest, 6)
    1.0
    """
    table = _matrix(X, "X")
    columns = table[:, as_index_set(S, table.shape[1])]
    if columns.shape[1] < 2:
        return Redundancy(np.nan, np.nan)
    centred = columns - columns.mean(axis=0)
    centred[:, np.ptp(columns, axis=0) == 0] = 0.0  # the mean of equal numbers may differ from them by rounding
    norms = np.linalg.norm(centred, axis=0)
    units = centred / np.where(norms > 0, norms, 1.0)
    r = np.clip(np.abs(units.T @ units)[np.triu_indices(columns.shape[1], k=1)], 0.0, 1.0)
    return Redundancy(float(r.max()), float(r.mean()))


def _matrix(given: Any, name: str) -> npt.NDArray[np.float64]:
    found = np.asarray(given, dtype=np.float64)
    if found.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, got shape {found.shape}.")
    return found
