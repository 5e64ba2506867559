"""Bring every source of a table into one form: a frame of features, ids, and further columns about the samples."""

from __future__ import annotations

import io
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .csv_table import TextSource, open_text
from .errors import DataWarning, UnreadableInput, in_brief, optional
from .raw import RawTable, Source, check_names
from .text import check_unpacked, read_bytes, shortened

_FEATURE_KEYS = ("features", "feature_names", "columns", "symbols", "genes", "names")
_SAMPLE_KEYS = ("samples", "sample_ids", "ids", "index")
_VAGUE_KEYS = ("names", "index")  # may mean something else, if their length does not fit


def open_source(source: Any, delimiter: str | None = None, *, turned: bool = False) -> Source:
    """Open any source: a path by its suffix, or a pandas, polars or pyarrow table; one that is open stays as it is.

    `turned` says that samples are in columns, which matters if names are stored separately (.npz).
    """
    if isinstance(source, RawTable | TextSource):
        return source
    if not isinstance(source, str | Path):
        return _from_frame(source)
    endings = [ending.lower() for ending in Path(source).suffixes]
    kind = next((e for e in reversed(endings) if e != ".gz"), "")
    if kind in (".parquet", ".pq"):
        return _from_parquet(source)
    if kind == ".npz":
        return _from_npz(source, turned)
    if kind == ".h5ad":
        return _from_h5ad(source)
    if kind in (".xlsx", ".xls", ".ods"):
        raise UnreadableInput(f"{source}: expected CSV, TSV, Parquet, .npz or .h5ad; save the sheet as CSV")
    return open_text(source, delimiter)


def _from_frame(source: Any) -> RawTable:
    """Read a pandas data frame, or what has a method `to_pandas` (polars, pyarrow)."""
    frame = source.to_pandas() if hasattr(source, "to_pandas") else source
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"expected a table: a file, or a pandas, polars or pyarrow table, got {type(source).__name__}")
    where, names = f"the {type(source).__module__.split('.')[0]} table", [str(name) for name in frame.columns]
    check_names(names, where, "columns")
    # an unnamed index of whole numbers holds row numbers left after filtering, not ids
    plain = frame.index.name is None and frame.index.inferred_type in ("integer", "empty")
    ids = None if plain else tuple(map(str, frame.index))
    return RawTable(frame.set_axis(names, axis=1).reset_index(drop=True), where, ids)


def _from_parquet(path: str | Path) -> RawTable:
    content = read_bytes(path)
    parquet = optional("pyarrow.parquet", "tables")
    try:
        frame = parquet.read_table(io.BytesIO(content)).to_pandas()
    except Exception as error:  # pyarrow raises many types on damaged files
        raise UnreadableInput(f"{path}: expected a Parquet file, but it cannot be read ({in_brief(error)})") from None
    return replace(_from_frame(frame), where=str(path))


def _from_npz(path: str | Path, turned: bool) -> RawTable:
    content = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            check_unpacked(path, len(content), sum(member.file_size for member in file.infolist()))
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except UnreadableInput:
        raise
    except Exception as error:  # zipfile, zlib and numpy each raise their own types on damaged files
        raise UnreadableInput(
            f"{path}: expected an .npz file of plain arrays, but it cannot be read ({in_brief(error)})"
        ) from None
    tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiub"]
    key = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
    if key is None:
        raise UnreadableInput(f"{path}: expected a numeric array 'X' (samples × features), found {list(arrays)[:8]}")
    X = arrays.pop(key)
    row_keys, column_keys = (_FEATURE_KEYS, _SAMPLE_KEYS) if turned else (_SAMPLE_KEYS, _FEATURE_KEYS)
    columns = _labels(path, arrays, column_keys, X.shape, 1) or [f"x{j}" for j in range(X.shape[1])]
    check_names(columns, str(path), "samples" if turned else "features")
    ids = _labels(path, arrays, row_keys, X.shape, 0)
    vectors = {name: array for name, array in arrays.items() if array.shape == (X.shape[0],)}
    several = [name for name, array in arrays.items() if array.shape[:1] == X.shape[:1] and array.ndim == 2]
    vectors |= {f"{name}[{j}]": column for name in several for j, column in enumerate(arrays[name].T)}
    _warn_ignored(path, [name for name in arrays if name not in {*vectors, *several}])
    frame = pd.DataFrame(X, columns=columns)
    return RawTable(frame, str(path), tuple(ids) if ids else None, pd.DataFrame(vectors))


def _warn_ignored(path: str | Path, others: list[str]) -> None:
    """Warn of arrays that are neither names nor about the samples."""
    if others:
        warnings.warn(
            f"{path}: ignoring {', '.join(map(shortened, others[:5]))}: not names, and no entry for each sample",
            DataWarning,
            stacklevel=5,
        )


def _labels(
    path: str | Path, arrays: dict[str, Any], keys: tuple[str, ...], shape: tuple[int, int], axis: int
) -> list[str] | None:
    """Remove the names along an axis of X from the arrays and return them, or None if there are none."""
    present = [key for key in keys if key in arrays]
    found = next((key for key in present if arrays[key].shape == (shape[axis],)), None)
    wrong = [key for key in present if key not in _VAGUE_KEYS]
    if wrong and found is None:
        raise UnreadableInput(
            f"{path}: expected a name in '{wrong[0]}' for each of the {shape[axis]} {('rows', 'columns')[axis]} "
            f"of X {shape}, got shape {arrays[wrong[0]].shape}; correct it, or turn X by samples='columns'"
        )
    return [str(value) for value in arrays.pop(found)] if found else None


def _from_h5ad(path: str | Path) -> RawTable:
    if not Path(path).is_file():
        raise UnreadableInput(f"{path}: expected a file, found none; check the path")
    anndata = optional("anndata", "anndata")
    try:
        data = anndata.read_h5ad(path)
        X = data.X.toarray() if sparse.issparse(data.X) else np.asarray(data.X)
        frame = pd.DataFrame(X, columns=[str(name) for name in data.var_names])
    except Exception as error:  # h5py and anndata each raise their own types on damaged files
        raise UnreadableInput(f"{path}: expected an AnnData file, but it cannot be read ({in_brief(error)})") from None
    check_names(list(frame.columns), str(path), "variables")
    return RawTable(frame, str(path), tuple(map(str, data.obs_names)), data.obs.reset_index(drop=True))
