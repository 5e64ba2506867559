"""Some rows of a large table, and a large table with further columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import IntArray
from .arrays import ArrayTable
from .protocol import Block, LargeTable, Work, here


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some rows of a table; `rows` (n,) are sorted.

    >>> from variegate.large import as_large_table
    >>> SomeRows(as_large_table(np.eye(3)), np.array([0, 2])).columns(np.array([2]))
    array([[0.],
           [1.]])
    """

    table: LargeTable
    rows: IntArray

    @property
    def shape(self) -> tuple[int, int]:
        """(n, M)."""
        return len(self.rows), self.table.shape[1]

    @property
    def names(self) -> npt.NDArray[Any] | None:
        """Names of the columns."""
        return self.table.names

    @property
    def samples(self) -> npt.NDArray[Any] | None:
        """Names of these rows."""
        return None if self.table.samples is None else self.table.samples[self.rows]

    def columns(self, S: IntArray) -> Any:
        """Return some columns (n, |S|)."""
        return self.table.columns(S)[self.rows]

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass over the whole table, ignoring the other rows."""
        return self.table.over_columns(_OnRows(work, self.rows))


@dataclass(frozen=True)
class _OnRows:
    work: Work
    rows: IntArray

    def of_block(self, values: npt.NDArray[Any], block: Block) -> Any:
        start, stop = np.searchsorted(self.rows, [block.rows.start, block.rows.stop]).tolist()
        mine = values[self.rows[start:stop] - block.rows.start]
        return self.work.of_block(mine, Block(slice(start, stop), block.columns))

    def together(self, upper: Any, lower: Any) -> Any:
        return self.work.together(upper, lower)

    def of_columns(self, found: Any, columns: slice) -> Any:
        return self.work.of_columns(found, columns)


@dataclass(frozen=True, eq=False)
class WithColumns:
    """A table with columns in memory appended on the right, such as covariates of genotypes.

    >>> from variegate.large import as_large_table
    >>> both = WithColumns(as_large_table(np.eye(2)), ArrayTable(np.array([[50.0], [60.0]])))
    >>> both.columns(np.array([2, 0]))
    array([[50.,  1.],
           [60.,  0.]])
    """

    table: LargeTable
    further: ArrayTable

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return self.table.shape[0], self.table.shape[1] + self.further.shape[1]

    @property
    def names(self) -> npt.NDArray[Any] | None:
        """Names of all columns."""
        own, further = self.table.names, self.further.names
        if own is None:
            own = np.array([f"x{j}" for j in range(self.table.shape[1])], dtype=object)
        return None if further is None else np.concatenate([own, further])

    @property
    def samples(self) -> npt.NDArray[Any] | None:
        """Names of the rows."""
        return self.table.samples

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Return some columns (N, |S|)."""
        M = self.table.shape[1]
        own = S < M
        if own.all():
            return np.asarray(self.table.columns(S))
        out = np.empty((self.shape[0], len(S)))
        out[:, own] = self.table.columns(S[own]) if own.any() else 0.0
        out[:, ~own] = self.further.columns(S[~own] - M)
        return out

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass over both."""
        yield from self.table.over_columns(work)
        M = self.table.shape[1]
        groups = [[_shifted(block, M) for block in group] for group in self.further.groups]
        yield from here(groups, lambda block: self.further.read(_shifted(block, -M)), work)


def _shifted(block: Block, by: int) -> Block:
    return Block(block.rows, slice(block.columns.start + by, block.columns.stop + by))
