"""Arrays in memory or in a memory-mapped file, and sparse tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import UnreadableInput, check_names
from ..types import IntArray
from .protocol import Block, Work, blocks_of, by_rows, check_numbers, here


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A numeric array (N, M), perhaps a memory map; integers keep their type.

    >>> ArrayTable(np.arange(6, dtype=np.int8).reshape(2, 3)).columns(np.array([2]))
    array([[2],
           [5]], dtype=int8)
    """

    X: npt.NDArray[Any]
    names: npt.NDArray[Any] | None = None
    samples: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        check_numbers(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Return some columns (N, |S|)."""
        return np.ascontiguousarray(self.X[:, S])

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass, in storage order."""
        return here(self.groups, self.read, work)

    @property
    def groups(self) -> list[list[Block]]:
        """The blocks to read, grouped by columns."""
        return blocks_of(self.shape) if self.X.flags.f_contiguous else by_rows(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.X.dtype

    def read(self, block: Block) -> npt.NDArray[Any]:
        """Read the numbers of a block."""
        return np.asarray(self.X[block.rows, block.columns])


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A scipy.sparse table; a pass makes some columns at a time dense.

    >>> from scipy import sparse
    >>> SparseTable(sparse.csc_array(np.eye(2))).columns(np.array([1])).toarray()
    array([[0.],
           [1.]])
    """

    X: Any  # CSC
    names: npt.NDArray[Any] | None = None
    samples: npt.NDArray[Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def columns(self, S: IntArray) -> Any:
        """Return some columns (N, |S|), sparse."""
        return self.X[:, S]

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass, in blocks of columns."""
        return here(blocks_of(self.shape), lambda block: self.X[:, block.columns].toarray(), work)


def open_npy(path: str | Path) -> ArrayTable:
    """Memory-map a .npy file of numbers; text files next to it may name its columns and rows, one name per line.

    For genes.npy these are genes.columns.txt and genes.rows.txt.
    """
    path = Path(path)
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises many types for bytes that are not an array
        objects = any(word in str(error) for word in ("pickle", "Python objects"))
        reason = "it holds objects, not numbers" if objects else f"it cannot be read ({error})"
        raise UnreadableInput(f"{path}: expected an array in .npy format, but {reason}") from None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise UnreadableInput(f"{path}: expected a table of numbers (rows, columns), got {X.dtype} of shape {X.shape}")
    names, samples = (
        _lines(path.with_suffix(f".{axis}.txt"), X.shape[i]) for i, axis in ((1, "columns"), (0, "rows"))
    )
    return ArrayTable(X, names, samples)


def _lines(path: Path, n: int) -> npt.NDArray[Any] | None:
    if not path.is_file():
        return None
    try:
        found = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise UnreadableInput(f"{path}: expected UTF-8 text, one name per line; save it as UTF-8") from None
    if len(found) != n:
        raise UnreadableInput(f"{path}: expected {n:,} names, one per line, got {len(found):,}")
    check_names(found, str(path), "lines")
    return np.array(found, dtype=object)
