"""Similarity from positions on one or several lines: features close to each other on the same line are similar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..checks import generator
from .factorise import MOST_COLUMNS, USUAL_RANK, check_rank, item_names
from .features import Array, SimilarityFeatures, unit_rows
from .labels import group_codes, members_of

_NEIGHBOURS = 5  # the bandwidth "near" is the distance to this neighbour
_CELLS = 2  # grid cells per bandwidth: K is accurate to 1e-4
FINEST = 1e-12  # smallest bandwidth, as a fraction of the whole line: the cells of a finer grid could not be numbered
_REACH = 2.25  # bandwidths from a feature to the farthest cell in which its bump is not cut off


def from_positions(
    positions: npt.ArrayLike | Any,
    blocks: Sequence[object] | Any = None,
    bandwidth: float | str = "near",
    *,
    rank: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> SimilarityFeatures:
    """Return Φ of features on a line, or on one of several, such as chromosomes.

        K_ij = exp(−(x_i − x_j)² / σ²) on the same line, 0 on different ones.

    φ_i holds the values of a bump around x_i on a grid of spacing σ/2, ten of which are not zero; the inner product of
    two bumps is K. Up to 1,000 cells of the grid, or `rank`, become columns of Φ, which is then accurate to 1e-4. More
    cells are mixed at random into `rank` columns: close features stay similar, and others have similarities of about
    ±1/√rank. Cost O(M · rank); no M×M array.

    Parameters
    ----------
    positions : (M,) numbers, such as base pairs or wavelengths; the text index of a pandas Series gives the names
    blocks : (M,) labels of the lines, such as chromosomes; None: all are on one
    bandwidth : σ, in the unit of the positions; "near": the median distance from a feature to its fifth neighbour
    rank : number of columns of Φ; None: 1,000 if that is exact, else 300
    rng : generator or seed of the random mixture; None is seed 0

    >>> phi = from_positions([100, 200, 100], blocks=["chr1", "chr1", "chr2"], bandwidth=200)
    >>> np.asarray(phi @ phi.T).round(2)
    array([[1.  , 0.78, 0.  ],
           [0.78, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    x, codes = _checked(positions, blocks)
    check_rank(rank)
    sigma = bandwidth_of(x, codes, bandwidth)
    bumps = _bumps(x, codes, sigma)
    n_cells = bumps.shape[1]
    if n_cells <= (rank or MOST_COLUMNS):
        return SimilarityFeatures(unit_rows(bumps.toarray()), item_names(positions))
    mixture = generator(rng).standard_normal((n_cells, rank or USUAL_RANK))
    return SimilarityFeatures(unit_rows(bumps @ mixture), item_names(positions))


@dataclass(frozen=True, eq=False)
class Positions:
    """Positions of M columns, for tables so wide that Φ is computed only for the columns that are fitted.

    Pass it to an estimator as `similarity`. The bandwidth depends on all positions.

    >>> there = Positions.of(np.arange(1_000_000) * 50.0)
    >>> there.bandwidth
    250.0
    >>> phi = there.features(np.array([7, 8, 9000]))
    >>> np.asarray(phi @ phi.T).round(2)
    array([[1.  , 0.96, 0.  ],
           [0.96, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    x: Array  # (M,)
    codes: Array  # (M,) the line that each is on
    bandwidth: float
    rank: int | None = None
    seed: int = 0

    @classmethod
    def of(
        cls, positions: npt.ArrayLike | Any, blocks: Sequence[object] | Any = None, bandwidth: float | str = "near",
        *, rank: int | None = None, seed: int = 0,
    ) -> Positions:  # fmt: skip
        """Make it from the arguments of `from_positions`."""
        x, codes = _checked(positions, blocks)
        check_rank(rank)
        return cls(x, codes, bandwidth_of(x, codes, bandwidth), rank, seed)

    def features(self, columns: npt.NDArray[np.int64]) -> SimilarityFeatures:
        """Φ of some columns (k,)."""
        return from_positions(
            self.x[columns], self.codes[columns], self.bandwidth, rank=self.rank, rng=np.random.default_rng(self.seed)
        )


def bandwidth_of(x: Array, codes: Array, rule: float | str) -> float:
    """The bandwidth that "near" means, or the given number.

    >>> bandwidth_of(np.arange(10.0), np.zeros(10, dtype=int), "near")
    5.0
    """
    if isinstance(rule, str) and rule != "near":
        raise ValueError(f'bandwidth must be "near" or a positive number, got {rule!r}')
    if not isinstance(rule, str):
        if isinstance(rule, bool) or not (np.isfinite(rule) and rule > 0):
            raise ValueError(f'bandwidth must be "near" or a positive number, got {rule!r}')
        return max(float(rule), FINEST * float(np.ptp(x)))
    distances = []
    for members in members_of(codes):
        steps = min(_NEIGHBOURS, len(members) - 1)
        line = np.sort(x[members])
        distances.append(line[steps:] - line[: len(line) - steps] if steps else line[:0])
    found = np.concatenate(distances)
    median = float(np.median(found)) if len(found) else 0.0
    apart = found[found > 0]
    return median or (float(np.median(apart)) if len(apart) else 1.0)


def _bumps(x: Array, codes: Array, sigma: float) -> Any:
    """Values of b(t) = exp(−2 (t − x_i)² / σ²) on the cells of the grids, sparse (M, cells in reach)."""
    spacing = sigma / _CELLS
    reach = int(np.ceil(_REACH * _CELLS))
    steps = np.arange(-reach + 1, reach + 1)
    scaled = (x - x.min()) / spacing
    first = np.floor(scaled).astype(np.int64)
    cells = first[:, None] + steps
    values = np.exp(-2 * ((cells - scaled[:, None]) / _CELLS) ** 2)
    keys = np.column_stack([np.repeat(codes, len(steps)), cells.ravel()])
    _, columns = np.unique(keys, axis=0, return_inverse=True)
    rows = np.repeat(np.arange(len(x)), len(steps))
    return sparse.csr_array((values.ravel(), (rows, columns.ravel())), shape=(len(x), int(columns.max()) + 1))


def _checked(positions: Any, blocks: Any) -> tuple[Array, Array]:
    try:
        x = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError):
        x = np.empty(0)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise ValueError("positions must be finite numbers, one for each feature")
    codes = np.zeros(len(x), dtype=np.int64) if blocks is None else group_codes(blocks)
    if len(codes) != len(x):
        raise ValueError(f"blocks must have a label for each of the {len(x)} positions, got {len(codes)}")
    return x, codes
