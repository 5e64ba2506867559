"""The same table from every source, and PLINK files."""

import numpy as np
import pandas as pd
from scipy import sparse

from variegate.large import ArrayTable, SomeRows, WithColumns, as_large_table, open_large_table

MISSING = 3  # PLINK's code 01, for a genotype that is not 0, 1 or 2


def genotypes(n=60, m=40, seed=0):
    """Counts of an allele with a dependence between neighbours, float32."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, size=(n, m)) + (rng.random((n, m)) < rng.uniform(0.05, 0.5, m))
    copied = rng.random((n, m)) < 0.5
    for j in range(1, m):
        first[:, j] = np.where(copied[:, j], first[:, j - 1], first[:, j])
    return first.astype(np.float32)


def write_bed(path, counts, names=None, samples=None, chromosomes=None, positions=None):
    """PLINK files from counts (n, m), NaN where missing, by the format's description."""
    n, m = counts.shape
    codes = np.array([0b11, 0b10, 0b00, 0b01])[np.nan_to_num(counts, nan=MISSING).astype(int)]
    data = bytearray(b"\x6c\x1b\x01")
    for column in codes.T:
        for start in range(0, n, 4):
            data.append(sum(int(code) << (2 * i) for i, code in enumerate(column[start : start + 4])))
    path.write_bytes(bytes(data))
    names = [f"v{j}" for j in range(m)] if names is None else names
    samples = [f"s{i}" for i in range(n)] if samples is None else samples
    chromosomes = np.ones(m, dtype=int) if chromosomes is None else chromosomes
    positions = 1000 * np.arange(1, m + 1) if positions is None else positions
    lines = [f"{c}\t{v}\t0\t{p}\tA\tG\n" for c, v, p in zip(chromosomes, names, positions, strict=True)]
    path.with_suffix(".bim").write_text("".join(lines))
    path.with_suffix(".fam").write_text("".join(f"f{i} {s} 0 0 0 -9\n" for i, s in enumerate(samples)))
    return path


def _npy(X, folder, order):
    np.save(folder / f"{order}.npy", np.asarray(X, order=order))
    return open_large_table(folder / f"{order}.npy")


def _zarr(X, folder, chunks):
    import zarr

    path = folder / f"{chunks[0]}.zarr"
    zarr.create_array(str(path), data=X, chunks=chunks)
    return open_large_table(path)


def _parquet(X, folder):
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
    frame.to_parquet(folder / "table.parquet", row_group_size=23)
    return open_large_table(folder / "table.parquet")


def _dask(X, chunks):
    import dask.array

    return as_large_table(dask.array.from_array(X, chunks=chunks))


SOURCES = {
    "array": lambda X, folder: as_large_table(X),
    "array by columns": lambda X, folder: as_large_table(np.asfortranarray(X)),
    "int8": lambda X, folder: as_large_table(X.astype(np.int8)),
    "double precision": lambda X, folder: as_large_table(X.astype(np.float64)),
    "sparse": lambda X, folder: as_large_table(sparse.csr_array(X)),
    "npy by rows": lambda X, folder: _npy(X, folder, "C"),
    "npy by columns": lambda X, folder: _npy(X, folder, "F"),
    "zarr": lambda X, folder: _zarr(X, folder, (17, 9)),
    "zarr by columns": lambda X, folder: _zarr(X, folder, (len(X), 3)),
    "bed": lambda X, folder: open_large_table(write_bed(folder / "table.bed", X)),
    "parquet": lambda X, folder: _parquet(X, folder),
    "dask": lambda X, folder: _dask(X, (25, 11)),
}


def some_rows(make, X, folder):
    """A table of X with further rows between its own."""
    more = np.vstack([X, X[::-1]])
    order = np.argsort(np.concatenate([2 * np.arange(len(X)), 2 * np.arange(len(X)) + 1]), kind="stable")
    return SomeRows(make(more[order], folder), np.flatnonzero(order < len(X)))


def with_columns(X, folder):
    """X with its last five columns in a table of their own."""
    return WithColumns(SOURCES["bed"](X[:, :-5], folder), ArrayTable(X[:, -5:]))
