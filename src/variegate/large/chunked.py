"""Tables in chunks: zarr arrays, Parquet files by row groups, and Dask arrays on a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..data import UnreadableInput
from ..data.errors import optional
from ..types import IntArray
from .protocol import Block, Work, blocks_of, here


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
        """Some columns (N, |S|)."""
        return np.asarray(self.X.get_orthogonal_selection((slice(None), S)))

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """One pass, along the chunks of columns; all rows at once."""
        ((_, wide),) = [self.X.chunks]
        (((block, *_), *_),) = [blocks_of(self.shape)]
        fitting = max(1, (block.columns.stop - block.columns.start) // wide)
        return here(blocks_of(self.shape, columns=wide * fitting), self._read, work)

    def _read(self, block: Block) -> npt.NDArray[Any]:
        return np.asarray(self.X[block.rows, block.columns])


def open_zarr(path: str | Path) -> ZarrTable:
    """A zarr array, or a group with an array "X" and perhaps "columns" and "rows" (names)."""
    zarr = optional("zarr", "zarr")
    try:
        found = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr raises many kinds
        raise UnreadableInput(f"{path}: expected a zarr array or group, but it cannot be opened ({error})") from None
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
    _check_whole(path, found)
    return ZarrTable(found, names, samples)


def _check_whole(path: str | Path, X: Any) -> None:
    """Chunks that were never written read as the fill value, silently: most likely a copy that was cut short."""
    stored, wanted = int(X.nchunks_initialized), int(X.nchunks)
    if stored < wanted:
        raise UnreadableInput(
            f"{path}: {wanted - stored:,} of {wanted:,} chunks are not there, and would read as {X.fill_value}; write "
            "or copy it again"
        )


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Columns of numbers in a Parquet file, read by row groups."""

    file: Any  # pyarrow.parquet.ParquetFile
    names: npt.NDArray[Any]
    samples: npt.NDArray[Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return int(self.file.metadata.num_rows), len(self.names)

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Some columns (N, |S|), NaN where missing."""
        return _as_array(self.file.read(columns=[str(name) for name in self.names[S]]))

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """One pass, by row groups; all columns at once."""
        ends = np.cumsum([self.file.metadata.row_group(g).num_rows for g in range(self.file.num_row_groups)])
        starts = [0, *ends[:-1].tolist()]
        blocks = [Block(slice(a, int(b)), slice(0, len(self.names))) for a, b in zip(starts, ends, strict=True)]
        place = {block.rows.start: g for g, block in enumerate(blocks)}
        wanted = [str(name) for name in self.names]
        return here([blocks], lambda b: _as_array(self.file.read_row_group(place[b.rows.start], columns=wanted)), work)


def _as_array(table: Any) -> npt.NDArray[Any]:
    return np.column_stack([column.to_numpy() for column in table.columns])


def open_parquet(path: str | Path, without: tuple[str, ...] = ()) -> ParquetTable:
    """The columns of numbers of a Parquet file."""
    parquet, types = optional("pyarrow.parquet", "tables"), optional("pyarrow.types", "tables")
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:  # pyarrow raises many kinds
        raise UnreadableInput(f"{path}: expected a Parquet file, but it cannot be opened ({error})") from None
    numbers = (types.is_integer, types.is_floating, types.is_boolean)
    names = [f.name for f in file.schema_arrow if f.name not in without and any(is_(f.type) for is_ in numbers)]
    return ParquetTable(file, np.array(names, dtype=object))


@dataclass(frozen=True, eq=False)
class DaskTable:
    """A Dask array (N, M): each chunk is looked at where it is, and only what was found travels."""

    X: Any
    names: npt.NDArray[Any] | None = None
    samples: npt.NDArray[Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Some columns (N, |S|), gathered."""
        return np.asarray(self.X[:, S].compute())

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """One pass over the chunks."""
        dask = optional("dask", "cluster")
        rows, columns = (_slices(sizes) for sizes in self.X.chunks)
        # a task for each chunk, and one for what the chunks of some columns say together
        chunks = self.X.to_delayed()
        of_block, of_columns = dask.delayed(_of_block, pure=False), dask.delayed(_of_columns, pure=False)
        sent = dask.delayed(work, pure=False, traverse=False)
        found = [
            of_columns(sent, [of_block(sent, chunks[i, j], Block(rows[i], span)) for i in range(len(rows))], span)
            for j, span in enumerate(columns)
        ]
        yield from zip(columns, dask.compute(*found), strict=True)


def _slices(sizes: tuple[int, ...]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def _of_block(work: Work, values: npt.NDArray[Any], block: Block) -> Any:
    # one thread, as sums of another order differ in their last digits: where a chunk is must not change a result
    with threadpool_limits(1, user_api="blas"):
        return work.of_block(values, block)


def _of_columns(work: Work, parts: list[Any], columns: slice) -> Any:
    with threadpool_limits(1, user_api="blas"):
        return work.of_columns(parts, columns)
