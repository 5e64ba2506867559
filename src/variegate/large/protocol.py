"""What is asked of a table that does not fit into memory."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..threads import allowed
from ..types import IntArray

BLOCK_BYTES = 1 << 26  # of a block as float32: as fast as larger ones on 2,000 × 10⁶ genotypes, and ten fit anywhere


class Block(NamedTuple):
    """Where a block stands in the table."""

    rows: slice
    columns: slice


class Work(Protocol):
    """One pass over a table: something of each block, and from all blocks of some columns their result.

    Both are called wherever the block is, perhaps on another machine, so that a Work is a value that can be pickled.
    Blocks of the same columns come in the order of their rows: results do not depend on who computed what.
    """

    def of_block(self, values: npt.NDArray[Any], block: Block) -> Any:
        """What is needed of a block; `values` are numbers of any type, NaN where missing."""
        ...

    def of_columns(self, parts: Sequence[Any], columns: slice) -> Any:
        """The result for some columns, from what was found in each of their blocks."""
        ...


@runtime_checkable
class LargeTable(Protocol):
    """A table (N, M) that is read in blocks.

    >>> import numpy as np
    >>> from variegate.large import as_large_table
    >>> isinstance(as_large_table(np.eye(3)), LargeTable)
    True
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        ...

    @property
    def names(self) -> npt.NDArray[Any] | None:
        """Names of the columns (M,), if they have any."""
        ...

    @property
    def samples(self) -> npt.NDArray[Any] | None:
        """Names of the rows (N,), if they have any."""
        ...

    def columns(self, S: IntArray) -> Any:
        """Some columns (N, |S|), NaN where missing; scipy.sparse if the table is."""
        ...

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """One pass: the result of each group of columns, from left to right."""
        ...


def blocks_of(shape: tuple[int, int], rows: int | None = None, columns: int | None = None) -> list[list[Block]]:
    """Blocks of at most so many rows and columns, those of the same columns together.

    By default blocks have all rows and about BLOCK_BYTES.

    >>> [len(group) for group in blocks_of((10, 5), rows=4, columns=2)]
    [3, 3, 3]
    """
    N, M = shape
    height = N if rows is None else rows
    width = max(1, BLOCK_BYTES // (4 * max(height, 1))) if columns is None else columns
    return [
        [Block(slice(top, min(top + height, N)), slice(left, min(left + width, M))) for top in range(0, N, height)]
        for left in range(0, M, width)
    ]


def here(
    groups: Sequence[Sequence[Block]], read: Callable[[Block], npt.NDArray[Any]], work: Work
) -> Iterator[tuple[slice, Any]]:
    """A pass in this process: groups of columns side by side on threads, each with one BLAS thread."""

    def of_group(blocks: Sequence[Block]) -> tuple[slice, Any]:
        columns = blocks[0].columns
        return columns, work.of_columns([work.of_block(read(block), block) for block in blocks], columns)

    threads = min(allowed(), len(groups))
    with threadpool_limits(1, user_api="blas"):
        if threads < 2:
            yield from map(of_group, groups)
            return
        with ThreadPoolExecutor(threads) as pool:
            waiting = [pool.submit(of_group, group) for group in groups[: 2 * threads]]
            try:
                for i in range(len(groups)):
                    found = waiting.pop(0).result()
                    if i + 2 * threads < len(groups):  # no more at a time than can be computed: blocks take memory
                        waiting.append(pool.submit(of_group, groups[i + 2 * threads]))
                    yield found
            finally:
                for future in waiting:
                    future.cancel()
