"""Open a large table, whatever its type or format."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..data import UnreadableInput
from .arrays import ArrayTable, SparseTable, open_npy
from .chunked import ZarrTable, check_whole, open_parquet, open_zarr
from .cluster import DaskTable, file_on_cluster
from .genotypes import open_genotypes
from .protocol import LargeTable

OPENERS: dict[str, Callable[[str | Path], LargeTable]] = {
    ".bed": open_genotypes,
    ".npy": open_npy,
    ".zarr": open_zarr,
    ".parquet": open_parquet,
    ".pq": open_parquet,
}
ON_CLUSTER = (".bed", ".npy", ".zarr")


def as_large_table(X: Any) -> LargeTable:
    """Wrap X to be read in blocks: an array, a memory map, a sparse table, a zarr or Dask array, or a LargeTable.

    >>> as_large_table(np.eye(3)).shape
    (3, 3)
    """
    if isinstance(X, LargeTable):
        return X
    if isinstance(X, np.ndarray):
        return ArrayTable(X)
    if sparse.issparse(X):
        return SparseTable(sparse.csc_array(X))
    if _is_zarr(X):
        check_whole(getattr(X, "store_path", "X"), X)
        return ZarrTable(X)
    if _is_dask(X):
        return DaskTable(X)
    raise TypeError(f"X must be an array, a sparse table, or a zarr or Dask array, got {type(X).__name__}.")


def _is_zarr(X: Any) -> bool:
    return type(X).__module__.startswith("zarr.") and type(X).__name__ == "Array"


def _is_dask(X: Any) -> bool:
    return type(X).__module__.startswith("dask.array.")


def is_out_of_core(X: Any) -> bool:
    """Whether the type of X says that it is not in memory.

    >>> is_out_of_core(np.eye(3))
    False
    """
    return isinstance(X, LargeTable) or _is_mapped(X) or _is_zarr(X) or _is_dask(X)


def _is_mapped(X: Any) -> bool:
    """Whether X is a memory map of the user's; joblib maps every array above 1 MB that it hands to a process."""
    return isinstance(X, np.memmap) and "joblib_memmapping_folder" not in str(X.filename)


def open_large_table(path: str | Path) -> LargeTable:
    """Open a file to be read in blocks: PLINK's .bed, .npy, .zarr, .parquet.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/t.npy", np.eye(3, dtype=np.int8))
    ...     open_large_table(f"{folder}/t.npy").shape
    (3, 3)
    """
    return _opener(path)(path)


def open_on_cluster(path: str | Path) -> DaskTable:
    """Open a file to be read by the workers of the connected Dask cluster: .bed, .npy, .zarr.

    All workers must see the file under the same path.
    """
    if Path(path).suffix.lower() not in ON_CLUSTER:
        raise UnreadableInput(f"{path}: must be one of {', '.join(ON_CLUSTER)} to be read on a cluster")
    return file_on_cluster(path, _opener(path))


def _opener(path: str | Path) -> Callable[[str | Path], LargeTable]:
    ending = Path(path).suffix.lower()
    if ending not in OPENERS:
        raise UnreadableInput(f"{path}: must be one of {', '.join(OPENERS)}")
    return OPENERS[ending]
