"""Dask arrays: each chunk is processed where it is, and only results travel."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from ..data import optional
from ..types import IntArray
from .protocol import Block, Work, check_numbers, here

WAIT = 2.0  # seconds between checks for lost workers
LOOK = 0.005  # seconds between polls of a result
FETCHING = 30.0  # seconds to fetch a result, which is small
PATIENCE = 120.0  # seconds that a cluster may have no worker


@dataclass(frozen=True, eq=False)
class DaskTable:
    """A Dask array (N, M), computed on the cluster that this process is connected to, or else in this process."""

    X: Any
    names: npt.NDArray[Any] | None = None
    samples: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        check_numbers(self.X)
        if np.isnan(np.array(self.X.shape, dtype=float)).any():
            raise ValueError("X must have chunks of known sizes, got unknown ones; call X.compute_chunk_sizes().")

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Return some columns (N, |S|); only these are sent."""
        order = np.argsort(S, kind="stable")
        found = [part for _, part in self.over_columns(SomeColumns(S[order]))]
        out = np.empty((self.shape[0], len(S)), dtype=self.X.dtype)
        out[:, order] = np.hstack(found)
        return out

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass over the chunks."""
        groups, client = _blocks(self.X.chunks), _client()
        if client is not None:
            return on_cluster(client, self.X, groups, work)
        return here(groups, lambda block: self.X[block].compute(scheduler="synchronous"), work)


@dataclass(frozen=True)
class SomeColumns:
    """Gather some columns; S is sorted."""

    S: IntArray

    def of_block(self, values: npt.NDArray[Any], block: Block) -> npt.NDArray[Any]:
        """Return the columns of S in a block."""
        start, stop = block.columns.start, block.columns.stop
        return np.ascontiguousarray(values[:, self.S[(start <= self.S) & (stop > self.S)] - start])

    def together(self, upper: npt.NDArray[Any], lower: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Stack them."""
        return np.vstack([upper, lower])

    def of_columns(self, found: npt.NDArray[Any], columns: slice) -> npt.NDArray[Any]:
        """Return all rows."""
        return found


def _client() -> Any:
    """Return the client of the connected cluster, or None."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def _blocks(chunks: tuple[tuple[int, ...], tuple[int, ...]]) -> list[list[Block]]:
    rows, columns = (_slices(sizes) for sizes in chunks)
    return [[Block(high, wide) for high in rows] for wide in columns]


def _slices(sizes: tuple[int, ...]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def on_cluster(client: Any, X: Any, groups: Sequence[Sequence[Block]], work: Work) -> Iterator[tuple[slice, Any]]:
    """Make a pass on the workers of a cluster. If one is lost, its tasks are submitted again."""
    alive = wait_for_workers(client)
    sent = client.scatter(work, broadcast=True, hash=False)
    chunks, submit = _chunks(client, sent, X)
    results = submit(list(zip(chunks, groups, strict=True)))
    for j, group in enumerate(groups):
        while True:
            try:
                if _is_done(results[j]):
                    yield group[0].columns, results[j].result(timeout=FETCHING)
                    break
            except TimeoutError:
                if results[j].status == "error":  # the timeout happened on a worker, not here
                    raise
            before, alive = alive, wait_for_workers(client)
            if before - alive:  # tasks are bound to the worker that held the chunk, which is gone
                late = [i for i in range(j, len(groups)) if results[i].status != "finished"]
                again = submit([(chunks[i], groups[i]) for i in late])
                results = [dict(zip(late, again, strict=True)).get(i, old) for i, old in enumerate(results)]


def _is_done(result: Any) -> bool:
    """Wait for a result up to WAIT; polls, because a result that arrives as a timeout ends breaks distributed."""
    end = time.monotonic() + WAIT
    while not result.done() and time.monotonic() < end:
        time.sleep(LOOK)
    return bool(result.done())


Submit = Callable[[list[tuple[list[Any], Sequence[Block]]]], list[Any]]


def _chunks(client: Any, sent: Any, X: Any) -> tuple[list[list[Any]], Submit]:
    """Return the chunks, grouped by columns, and the function that submits work on such groups."""
    rows, columns = X.numblocks
    held = {future.key: future for future in sys.modules["distributed"].futures_of(X)}
    keys = [[(X.name, i, j) for i in range(rows)] for j in range(columns)]
    if all(key in held for group in keys for key in group):
        return [[held[key] for key in group] for group in keys], partial(_where_they_are, client, sent)
    recipes = sys.modules["dask"].optimize(*(X.blocks[i, j] for j in range(columns) for i in range(rows)))
    cut = [[Recipe(chunk) for chunk in recipes[j * rows : (j + 1) * rows]] for j in range(columns)]
    return cut, partial(_anywhere, client, sent)


def _where_they_are(client: Any, sent: Any, groups: list[tuple[list[Any], Sequence[Block]]]) -> list[Any]:
    """Submit work on chunks in memory to the workers that hold them; Dask would move them to an idle one."""
    every = [chunk for chunks, _ in groups for chunk in chunks]
    sys.modules["distributed"].wait(every)
    places = client.who_has(every)
    return [
        _submitted(client, sent, chunks, blocks, [list(places[chunk.key]) or None for chunk in chunks])
        for chunks, blocks in groups
    ]


def _anywhere(client: Any, sent: Any, groups: list[tuple[list[Any], Sequence[Block]]]) -> list[Any]:
    return [_submitted(client, sent, chunks, blocks, [None] * len(chunks)) for chunks, blocks in groups]


def _submitted(client: Any, sent: Any, chunks: list[Any], blocks: Sequence[Block], places: list[Any]) -> Any:
    """Return the future of the result for one group of blocks."""
    parts = [
        client.submit(_of_block, sent, chunk, block, workers=place, pure=False)
        for chunk, block, place in zip(chunks, blocks, places, strict=True)
    ]
    return client.submit(_of_columns, sent, parts, blocks[0].columns, pure=False)


class Recipe:
    """How to make a chunk that is not in memory: made, processed and dropped in one task, so it never moves."""

    def __init__(self, chunk: Any) -> None:
        self.chunk = chunk

    def made(self) -> npt.NDArray[Any]:
        """Compute the numbers."""
        return np.asarray(self.chunk.compute(scheduler="synchronous"))


def wait_for_workers(client: Any) -> set[str]:
    """Return the addresses of the workers, after waiting for at least one."""
    for _ in range(int(PATIENCE / WAIT) + 1):
        found = set(client.nthreads())
        if found:
            return found
        time.sleep(WAIT)
    raise TimeoutError(
        f"The Dask cluster has had no worker for {PATIENCE:g} seconds; start some with `dask worker ADDRESS`."
    )


def _of_block(work: Work, chunk: Any, block: Block) -> Any:
    values = chunk.made() if isinstance(chunk, Recipe) else chunk
    # one thread, so that sums have the same order wherever the chunk is
    with threadpool_limits(1, user_api="blas"):
        return work.of_block(values, block)


def _of_columns(work: Work, parts: list[Any], columns: slice) -> Any:
    with threadpool_limits(1, user_api="blas"):
        return work.of_columns(reduce(work.together, parts), columns)


# --- files that all workers can read ---------------------------------------------------------------------------------


def file_on_cluster(path: str | Path, opened: Callable[[str], Any]) -> DaskTable:
    """Return a file as a Dask array whose chunks the workers read themselves, after opening it with `opened`."""
    dask_array = optional("dask.array", "cluster")
    path = str(Path(path).resolve())
    table = opened(path)
    groups = table.groups
    chunks = (
        tuple(block.rows.stop - block.rows.start for block in groups[0]),
        tuple(group[0].columns.stop - group[0].columns.start for group in groups),
    )
    nothing = np.empty((0, 0), dtype=table.dtype)
    X = dask_array.map_blocks(_read_block, path=path, opened=opened, chunks=chunks, dtype=table.dtype, meta=nothing)
    return DaskTable(X, table.names, table.samples)


@lru_cache(maxsize=4)
def _opened(path: str, opened: Callable[[str], Any]) -> Any:
    return opened(path)


def _read_block(path: str, opened: Callable[[str], Any], block_info: Any = None) -> npt.NDArray[Any]:
    rows, columns = (slice(*ends) for ends in block_info[None]["array-location"])
    return np.asarray(_opened(path, opened).read(Block(rows, columns)))
