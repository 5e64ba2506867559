"""The first pass over a table: means and standard deviations of its columns, and their relation to the outcome."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..design import FAINT, check_scale
from ..types import FloatArray
from .protocol import Block, LargeTable


class Moments(NamedTuple):
    """Centre, scale and number of missing entries of each column (M,). Missing entries count as the column's mean.

    >>> Moments(np.zeros(2), np.array([2.0, 0.0]), np.zeros(2, dtype=int)).inverse_scale
    array([0.5, 0. ])
    """

    centre: FloatArray
    scale: FloatArray  # 0 for constant columns
    missing: npt.NDArray[np.int64]

    @property
    def inverse_scale(self) -> FloatArray:
        """One over the scale, 0 for constant columns."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)

    def take(self, columns: Any) -> "Moments":
        """Return the moments of some columns."""
        return Moments(*(values[columns] for values in self))


class Sums(NamedTuple):
    """Sums over a block; arrays (w,)."""

    weight: FloatArray  # of the entries present
    mean: FloatArray
    squares: FloatArray  # weighted, around the mean
    missing: npt.NDArray[np.int64]
    products: FloatArray  # (K, w) vectors times the entries present, minus the mean
    vectors: FloatArray  # (K, w) sums of the vectors over the entries present


@dataclass(frozen=True)
class FirstLook:
    """Weighted moments of every column, and the products of the centred columns with some vectors."""

    weights: FloatArray  # (N,)
    vectors: FloatArray  # (K, N)

    def of_block(self, values: npt.NDArray[Any], block: Block) -> Sums:
        """Return the sums of a block, in double precision."""
        X = values.astype(np.float64)
        w, V = self.weights[block.rows], self.vectors[:, block.rows]
        if not np.isfinite(X.sum()):
            return self._of_incomplete(X, w, V, block)
        total = np.full(X.shape[1], w.sum())
        mean = (w @ X) / np.where(total > 0, total, 1.0)
        X -= mean
        nothing, sums = np.zeros(X.shape[1], dtype=np.int64), np.repeat(V.sum(axis=1)[:, None], X.shape[1], axis=1)
        return Sums(total, mean, w @ np.square(X), nothing, V @ X, sums)

    def _of_incomplete(self, X: FloatArray, w: FloatArray, V: FloatArray, block: Block) -> Sums:
        gone = np.isnan(X)
        if np.isinf(X).any():
            column = block.columns.start + int(np.flatnonzero(np.isinf(X).any(axis=0))[0])
            raise ValueError(f"X must be finite, got infinity in column {column}. Drop or impute it.")
        total = w @ ~gone
        mean = (w @ np.where(gone, 0.0, X)) / np.where(total > 0, total, 1.0)
        X = np.where(gone, 0.0, X - mean)
        return Sums(total, mean, w @ np.square(X), gone.sum(axis=0), V @ X, V @ ~gone)

    def together(self, upper: Sums, lower: Sums) -> Sums:
        """Combine the sums of two blocks, around their common mean."""
        weight = upper.weight + lower.weight
        mean = (upper.weight * upper.mean + lower.weight * lower.mean) / np.where(weight > 0, weight, 1.0)
        squares, products = np.zeros_like(mean), np.zeros_like(upper.products)
        for part in (upper, lower):
            squares += part.squares + part.weight * np.square(part.mean - mean)
            products += part.products + (part.mean - mean) * part.vectors
        return Sums(weight, mean, squares, upper.missing + lower.missing, products, upper.vectors + lower.vectors)

    def of_columns(self, found: Sums, columns: slice) -> tuple[npt.NDArray[Any], ...]:
        """Return centre, scale, missing and products of the columns, with missing entries at the mean."""
        scale = np.sqrt(found.squares / self.weights.sum())
        scale = np.where(scale <= np.maximum(FAINT, 4 * np.finfo(float).eps * np.abs(found.mean)), 0.0, scale)
        return found.mean, scale, found.missing, found.products


def first_look(table: LargeTable, weights: FloatArray, vectors: FloatArray) -> tuple[Moments, FloatArray]:
    """Return moments of all columns, and products (K, M) of the centred columns with vectors (K, N), in one pass."""
    M = table.shape[1]
    centre, scale, missing = np.empty(M), np.empty(M), np.empty(M, dtype=np.int64)
    products = np.empty((len(vectors), M))
    with np.errstate(over="ignore", invalid="ignore"):
        for columns, found in table.over_columns(FirstLook(weights, vectors)):
            centre[columns], scale[columns], missing[columns], products[:, columns] = found
    check_scale(scale)
    return Moments(centre, scale, missing), products
