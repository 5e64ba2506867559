"""Tables stored in chunks on disk: zarr arrays, and Parquet files by row groups."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import UnreadableInput, check_names, in_brief, optional
from ..types import IntArray
from .protocol import BLOCK_BYTES, WIDEST, Block, Work, blocks_of, here


@dataclass(frozen=True, eq=False)
class ZarrTable:
    """A zarr array (N, M), read along its chunks."""

    X: Any
    names: npt.NDArray[Any] | None = None
    samples: npt.NDArray[Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Return some columns (N, |S|)."""
        return np.asarray(self.X.get_orthogonal_selection((slice(None), S)))

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass, by whole chunks."""
        return here(self.groups, self.read, work)

    @property
    def groups(self) -> list[list[Block]]:
        """Blocks of one chunk, or of as many neighbouring chunks as fit into a block."""
        (N, M), (high, wide) = self.shape, self.X.chunks
        rows = min(high * max(1, BLOCK_BYTES // (4 * high * wide)), N)
        beside = max(1, min(BLOCK_BYTES // (4 * rows * wide), WIDEST // wide)) if rows == N else 1
        return blocks_of(self.shape, rows, min(wide * beside, M))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        kind: np.dtype[Any] = self.X.dtype
        return kind

    def read(self, block: Block) -> npt.NDArray[Any]:
        """Read the numbers of a block."""
        return np.asarray(self.X[block.rows, block.columns])


def open_zarr(path: str | Path) -> ZarrTable:
    """Open a zarr array, or a group with an array "X" and perhaps "columns" and "rows" (names)."""
    zarr = optional("zarr", "zarr")
    try:
        found = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr raises many types
        raise UnreadableInput(
            f"{path}: expected a zarr array or group, but it cannot be opened ({in_brief(error)})"
        ) from None
    names = samples = None
    if not hasattr(found, "shape"):
        if "X" not in found:
            raise UnreadableInput(f"{path}: expected an array 'X' in the zarr group, found {sorted(found)[:8]}")
        names, samples = (np.array(found[k][:], dtype=object) if k in found else None for k in ("columns", "rows"))
        found = found["X"]
    if len(found.shape) != 2 or found.dtype.kind not in "fiub":
        raise UnreadableInput(f"{path}: expected a table of numbers, got {found.dtype} of shape {found.shape}")
    for labels, n, what in ((names, found.shape[1], "columns"), (samples, found.shape[0], "rows")):
        if labels is not None and len(labels) != n:
            raise UnreadableInput(f"{path}: expected {n:,} names in {what!r}, got {len(labels):,}")
        if labels is not None:
            check_names(labels.tolist(), str(path), what)
    check_whole(path, found)
    return ZarrTable(found, names, samples)


def check_whole(path: str | Path, X: Any) -> None:
    """Reject missing chunks: they read as the fill value, and most likely the copy is incomplete."""
    stored, wanted = int(X.nchunks_initialized), int(X.nchunks)
    if stored < wanted:
        raise UnreadableInput(
            f"{path}: {wanted - stored:,} of {wanted:,} chunks are missing and would read as {X.fill_value}; copy it "
            f"again, or, if they hold only {X.fill_value}, write it with config={{'write_empty_chunks': True}}"
        )


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Columns of numbers in a Parquet file, read by row groups, and some columns at a time."""

    file: Any  # pyarrow.parquet.ParquetFile
    names: npt.NDArray[Any]
    samples: npt.NDArray[Any] | None = None
    _one_reader: Lock = field(default_factory=Lock, repr=False)  # the file has a single read position

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return int(self.file.metadata.num_rows), len(self.names)

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Return some columns (N, |S|), NaN if missing."""
        with self._one_reader:
            found = self.file.read(columns=self.names[S].tolist())
        return _as_array(found) if len(S) else np.empty((self.shape[0], 0))

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass, by row groups."""
        heights = [self.file.metadata.row_group(g).num_rows for g in range(self.file.num_row_groups)]
        ends = np.cumsum(heights).tolist()
        number = {end - height: g for g, (end, height) in enumerate(zip(ends, heights, strict=True))}
        width = min(max(1, BLOCK_BYTES // (4 * max([*heights, 1]))), WIDEST, self.shape[1])
        groups = [
            [
                Block(slice(end - height, end), slice(left, min(left + width, self.shape[1])))
                for end, height in zip(ends, heights, strict=True)
            ]
            for left in range(0, self.shape[1], width)
        ]
        return here(groups, lambda block: self._read(number[block.rows.start], block.columns), work)

    def _read(self, group: int, columns: slice) -> npt.NDArray[Any]:
        with self._one_reader:
            return _as_array(self.file.read_row_group(group, columns=self.names[columns].tolist()))


def _as_array(table: Any) -> npt.NDArray[Any]:
    return np.column_stack([column.to_numpy() for column in table.columns])


def open_parquet(path: str | Path) -> ParquetTable:
    """Open the numeric columns of a Parquet file."""
    parquet, types = optional("pyarrow.parquet", "tables"), optional("pyarrow.types", "tables")
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:  # pyarrow raises many types
        raise UnreadableInput(
            f"{path}: expected a Parquet file, but it cannot be opened ({in_brief(error)})"
        ) from None
    numbers = (types.is_integer, types.is_floating, types.is_boolean)
    names = [f.name for f in file.schema_arrow if any(is_(f.type) for is_ in numbers)]
    if not names:
        raise UnreadableInput(f"{path}: expected columns of numbers, found none")
    check_names(names, str(path), "columns")
    return ParquetTable(file, np.array(names, dtype=object))
