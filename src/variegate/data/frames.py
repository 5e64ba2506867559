"""Bring every source of a table into one form: a frame of features, ids, and further columns about the samples."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from ..messages import Argument, Message
from .csv_table import TextTable, check_names, open_text_table, parse_text_table
from .errors import DataWarning, UnreadableInput, optional
from .text import check_unpacked, read_bytes, shortened

_FEATURE_KEYS = ("features", "feature_names", "columns", "symbols", "genes", "names")
_SAMPLE_KEYS = ("samples", "sample_ids", "ids", "index")
_FEW = 16  # columns
_VAGUE_KEYS = ("names", "index")  # may mean something else, if their length does not fit


@dataclass(frozen=True)
class RawTable:
    """A table before its cells are interpreted.

    frame : the main table of the source; column names are unique
    ids : the rows' ids, if the source stores them separately from the columns
    beside : further columns about the samples (AnnData's obs, vectors in an .npz), same rows
    where : the name of the source in error messages
    line_of : row number → line of the file, for text files
    """

    frame: pd.DataFrame
    where: str
    ids: tuple[str, ...] | None = None
    beside: pd.DataFrame | None = None
    line_of: Callable[[int], int] | None = None

    @property
    def columns(self) -> list[str]:
        """Names of all columns, those of `beside` first."""
        return [*(() if self.beside is None else map(str, self.beside.columns)), *self.frame.columns]

    def read(self, words: Collection[str] | None = (), exact: Collection[str] | None = None) -> RawTable:
        """Return itself: only text files are read in two steps."""
        return self

    def column(self, name: str) -> pd.Series:
        """Return a column of the main table, or else of `beside`."""
        return self.frame[name] if self.beside is None or name in self.frame.columns else self.beside[name]

    def without(self, names: Collection[str]) -> RawTable:
        """Return the table without some columns; if these are few, the others are not copied.

        >>> RawTable(pd.DataFrame({"a": [1], "b": [2]}), "t").without(["a"]).columns
        ['b']
        """
        inside = set(names) & set(self.frame.columns)  # columns of `beside` are not features anyway
        if len(inside) > _FEW:
            return replace(self, frame=self.frame.drop(columns=list(inside)))
        rest = self.frame.copy(deep=False)
        for name in inside:
            del rest[name]
        return replace(self, frame=rest)


class Source(Protocol):
    """A table whose column names are known and whose cells may not have been read yet."""

    @property
    def where(self) -> str:
        """Its name in error messages."""

    @property
    def columns(self) -> list[str]:
        """Names of its columns, those outside the main table first."""

    def read(self, words: Collection[str] | None = (), exact: Collection[str] | None = None) -> RawTable:
        """Return the table. In text files the first column and those in `words` (None: all) are read as text.

        With `exact`, only these columns become integers if they hold whole numbers; others may be floats.
        """


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
    return TextSource(open_text_table(source, delimiter))


@dataclass(frozen=True)
class TextSource:
    """A text file whose header has been read."""

    table: TextTable

    @property
    def where(self) -> str:
        """The path."""
        return str(self.table.path)

    @property
    def columns(self) -> list[str]:
        """Names in the header."""
        return list(self.table.columns)

    def read(self, words: Collection[str] | None = (), exact: Collection[str] | None = None) -> RawTable:
        """Read the cells; see `Source`."""
        columns = self.table.columns
        text = [j for j, name in enumerate(columns) if j == 0 or words is None or name in words]
        whole = None if exact is None else [j for j, name in enumerate(columns) if name in exact]
        frame = parse_text_table(self.table, text, exact=whole)
        return RawTable(frame, self.where, line_of=self.table.line_of)


def _from_frame(source: Any) -> RawTable:
    where = f"the {type(source).__module__.split('.')[0]} table"
    if isinstance(source, pd.DataFrame):
        check_names([str(name) for name in source.columns], where, "columns")
        # an unnamed index of whole numbers holds row numbers left after filtering, not ids
        plain = source.index.name is None and source.index.inferred_type in ("integer", "empty")
        ids = None if plain else tuple(map(str, source.index))
        frame = source.set_axis([str(name) for name in source.columns], axis=1).reset_index(drop=True)
        return RawTable(frame, where, ids)
    try:
        eager = nw.from_native(source, eager_only=True)
    except TypeError:
        raise TypeError(
            "expected a table: a file, or a pandas, polars or pyarrow table, got " + type(source).__name__
        ) from None
    names = list(eager.columns)
    check_names(names, where, "columns")
    return RawTable(pd.DataFrame({name: _to_numpy(eager[name]) for name in names}), where)


def _to_numpy(column: Any) -> Any:
    """Return a column's values; text and categories as objects with None for missing."""
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        if column.null_count() == 0:
            return column.to_numpy()
        return np.array([np.nan if v is None else float(v) for v in column.to_list()])
    return pd.Series(
        column.to_list(), dtype=object
    ).to_numpy()  # numpy would turn lists of equal length into a 2-D array


def _from_parquet(path: str | Path) -> RawTable:
    content = read_bytes(path)
    parquet = optional("pyarrow.parquet", "tables")
    try:
        frame = parquet.read_table(io.BytesIO(content)).to_pandas()
    except Exception as error:  # pyarrow raises many types on damaged files
        raise UnreadableInput(f"{path}: expected a Parquet file, but it cannot be read ({in_brief(error)})") from None
    raw = _from_frame(frame)
    return RawTable(raw.frame, str(path), raw.ids)


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
            Message(
                f"{path}: expected a name in '{wrong[0]}' for each of the {shape[axis]} {('rows', 'columns')[axis]} "
                f"of X {shape}, got shape {arrays[wrong[0]].shape}; correct it, or turn X by ",
                Argument("samples", "columns"),
            )
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


def in_brief(error: Exception) -> str:
    """Return type and text of an error in one line."""
    return f"{type(error).__name__}: {shortened(str(error), 120)}"
