"""The interface of a table larger than memory, and passes over it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..threads import allowed
from ..types import IntArray

BLOCK_BYTES = 1 << 25  # of a block as float32; larger is no faster on 2,000 × 10⁶ genotypes, and ten fit anywhere
WIDEST = 1 << 13  # columns of a block, since products with a few hundred vectors are kept for all of them


class Block(NamedTuple):
    """The position of a block in the table."""

    rows: slice
    columns: slice


class Work(Protocol):
    """One pass over a table: compute something from each block, and combine all blocks of the same columns.

    Methods run where the block is, perhaps on another machine, so a Work must be picklable. Blocks of the same columns
    are combined in row order, so results do not depend on who computed what.
    """

    def of_block(self, values: npt.NDArray[Any], block: Block) -> Any:
        """Compute what is needed from a block; `values` are numbers of any type, NaN if missing."""
        ...

    def together(self, upper: Any, lower: Any) -> Any:
        """Combine the results of two blocks of the same columns, one above the other."""
        ...

    def of_columns(self, found: Any, columns: slice) -> Any:
        """Return the final result for some columns, from the combined result of all rows."""
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
        """Return some columns (N, |S|), NaN if missing; scipy.sparse if the table is."""
        ...

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass; yield the result for each group of columns, from left to right."""
        ...


def check_numbers(X: Any) -> None:
    """Reject an array, of any library, that is not a table of numbers."""
    if len(X.shape) != 2 or X.dtype.kind not in "fiub":
        raise ValueError(f"X must be a table of numbers (N, M), got {X.dtype} of shape {X.shape}.")


def blocks_of(shape: tuple[int, int], rows: int | None = None, columns: int | None = None) -> list[list[Block]]:
    """Return blocks of at most `rows` × `columns`, grouped by columns; by default all rows and about BLOCK_BYTES.

    >>> [len(group) for group in blocks_of((10, 5), rows=4, columns=2)]
    [3, 3, 3]
    """
    N, M = shape
    height = N if rows is None else rows
    width = min(max(1, BLOCK_BYTES // (4 * max(height, 1))), WIDEST) if columns is None else columns
    return [
        [Block(slice(top, min(top + height, N)), slice(left, min(left + width, M))) for top in range(0, N, height)]
        for left in range(0, M, width)
    ]


def by_rows(shape: tuple[int, int]) -> list[list[Block]]:
    """Return blocks for a table stored row by row, where reading few columns of all rows would touch the whole file.

    >>> [[block.rows.stop for block in group] for group in by_rows((3, 8192))]
    [[3]]
    """
    width = min(shape[1], WIDEST)
    return blocks_of(shape, max(1, BLOCK_BYTES // (4 * width)), width)


def here(
    groups: Sequence[Sequence[Block]], read: Callable[[Block], npt.NDArray[Any]], work: Work
) -> Iterator[tuple[slice, Any]]:
    """Make a pass in this process: blocks in parallel threads, each with one BLAS thread."""

    def of_block(block: Block) -> Any:
        return work.of_block(read(block), block)

    with threadpool_limits(1, user_api="blas"):
        found = in_order(of_block, [block for group in groups for block in group])
        for group in groups:
            part = next(found)
            for lower in islice(found, len(group) - 1):
                part = work.together(part, lower)
            columns = group[0].columns
            yield columns, work.of_columns(part, columns)


def in_order(work: Callable[[Block], Any], blocks: Sequence[Block]) -> Iterator[Any]:
    """Yield results in the order of the blocks; only a few are computed ahead, to limit memory."""
    threads = min(allowed(), len(blocks))
    if threads < 2:
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        coming, waiting = iter(blocks), []
        try:
            waiting = [pool.submit(work, block) for block in islice(coming, threads + 1)]
            while waiting:
                found: Future[Any] = waiting.pop(0)
                yield found.result()
                waiting += [pool.submit(work, block) for block in islice(coming, 1)]
        finally:
            for future in waiting:
                future.cancel()
