"""Some rows of a large table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..types import IntArray
from .protocol import Block, LargeTable, Work


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
