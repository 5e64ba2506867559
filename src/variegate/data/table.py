"""Tables of samples and features, with an outcome: one reader for all sources."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .csv_table import check_names
from .encode import fill_missing, missing_counts, one_hot, to_numeric
from .errors import DataWarning, UnreadableInput
from .frames import RawTable, load

_POLICIES = ("error", "drop_samples", "drop_features", "impute")


@dataclass(frozen=True)
class TableReport:
    """What happened on the way from file to numbers."""

    constant: tuple[str, ...] = ()
    imputed: Mapping[str, int] | None = None
    dropped_samples: tuple[str, ...] = ()
    dropped_features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table ready for a fit.

    X : (N, M) numbers without missing values, float64 (float32 where the source is)
    features : M names
    samples : N ids; "1", "2", … where the source has none
    y : (N,) the outcome as it stands in the source, or None
    outcome : the outcome's name, or None
    groups : M labels: for 0/1 columns the categorical column they come from, else None;
        `similarity.from_groups(table.groups)` makes the categories of one column similar
    report : constant columns, and what was imputed or dropped
    """

    X: npt.NDArray[Any]
    features: tuple[str, ...]
    samples: tuple[str, ...]
    y: npt.NDArray[Any] | None
    outcome: str | None
    groups: tuple[str | None, ...]
    report: TableReport


@dataclass(frozen=True)
class _Parts:
    """A table on its way: features still as a frame, ids, outcome."""

    raw: RawTable
    ids: tuple[str, ...]
    y: pd.Series | None


def read_table(
    source: Any,
    outcome: str | None = None,
    *,
    outcome_table: Any = None,
    outcome_id: str | None = None,
    id_column: str | None = None,
    samples: str = "rows",
    missing: str = "error",
    categorical: Collection[str] = (),
    drop: Collection[str] = (),
    delimiter: str | None = None,
) -> Table:
    """Read a table of samples and features, and an outcome.

    Parameters
    ----------
    source : a file (CSV, TSV, Parquet, .npz, .h5ad; text possibly .gz) or a pandas, polars or pyarrow table
    outcome : name of the outcome, a column of the table or of `outcome_table` (or of AnnData's obs)
    outcome_table : a second source with the outcome, joined by sample id; samples that are not in it are
        left out, and a warning counts them
    outcome_id : column of the second source with the sample ids; None: its index or first column
    id_column : column with the sample ids; None: the index, or the first column if it has no name or is text
        that differs in every row. With samples in columns: the features' names; None: the first column
    samples : "rows", or "columns" where each row is a feature
    missing : "error" (names the columns and counts), "drop_samples", "drop_features" or "impute" (the median,
        or the commonest category). Blank, NA, N/A, NaN, null and ? mean missing
    categorical : columns to be read as categories although they hold numbers or many values
    drop : columns (and with samples in columns, features) to leave out
    delimiter : None: found in the header

    A column of text becomes one 0/1 column for each category, named "column=category".
    """
    if samples not in ("rows", "columns"):
        raise ValueError(f'expected samples "rows" or "columns", got {samples!r}')
    if missing not in _POLICIES:
        raise ValueError(f"expected missing to be one of {', '.join(_POLICIES)}, got {missing!r}")
    raw = load(source, delimiter, () if id_column is None else (id_column,))
    if samples == "columns":
        beside = [name for name in drop if name in raw.frame.columns]
        raw = _transposed(_without(raw, beside), id_column)
        drop = [name for name in drop if name not in beside]
    else:
        raw = _with_ids(raw, id_column, outcome)
    raw = _without(raw, drop)
    second = None if outcome_table is None else _second(outcome_table, outcome_id, delimiter)
    parts = _with_outcome(raw, outcome, second)
    frame = to_numeric(parts.raw, categorical)
    _check_finite(frame, raw.where)
    return _finish(replace(parts, raw=replace(parts.raw, frame=frame)), outcome, missing, categorical)


def _finish(parts: _Parts, outcome: str | None, missing: str, categorical: Collection[str]) -> Table:
    where, frame = parts.raw.where, parts.raw.frame
    keep, columns, imputed = _resolve_missing(where, frame, parts.y, missing)
    frame = frame.loc[keep, columns]
    if not len(frame) or not len(frame.columns):
        raise UnreadableInput(
            f"{where}: nothing is left after missing values were dropped; use missing='impute'"
        )
    encoded = one_hot(fill_missing(frame) if imputed else frame, where, categorical)
    constant = (encoded.X[0] == encoded.X).all(axis=0)
    kept = set(columns)
    report = TableReport(
        constant=tuple(np.array(encoded.features, dtype=object)[constant]),
        imputed=imputed,
        dropped_samples=tuple(i for i, stays in zip(parts.ids, keep, strict=True) if not stays),
        dropped_features=tuple(c for c in parts.raw.frame.columns if c not in kept),
    )
    ids = tuple(i for i, stays in zip(parts.ids, keep, strict=True) if stays)
    y = None if parts.y is None else parts.y[keep].to_numpy()
    return Table(encoded.X, encoded.features, ids, y, outcome, encoded.groups, report)


def _resolve_missing(
    where: str, frame: pd.DataFrame, y: pd.Series | None, policy: str
) -> tuple[npt.NDArray[np.bool_], list[str], dict[str, int]]:
    """Return which rows and columns stay, and the counts of what is to be imputed."""
    counts = missing_counts(frame)
    no_outcome = np.zeros(len(frame), dtype=bool) if y is None else y.isna().to_numpy()
    if policy == "error" and (counts or no_outcome.any()):
        if no_outcome.any():
            counts = {f"{y.name} (outcome)" if y is not None else "outcome": int(no_outcome.sum()), **counts}
        named = ", ".join(f"{name} ({count})" for name, count in list(counts.items())[:5])
        more = f" and {len(counts) - 5} more columns" if len(counts) > 5 else ""
        raise UnreadableInput(
            f"{where}: expected no missing values, got some in {named}{more}; choose missing='drop_samples', "
            "'drop_features' or 'impute'"
        )
    keep = ~no_outcome
    if policy == "drop_samples" and counts:
        keep &= ~frame.isna().any(axis=1).to_numpy()
    gone = set(counts) if policy == "drop_features" else set()
    columns = [column for column in frame.columns if column not in gone]
    return keep, columns, counts if policy == "impute" else {}


def _with_ids(raw: RawTable, id_column: str | None, outcome: str | None) -> RawTable:
    """Take the ids out of the columns."""
    frame = raw.frame
    if id_column is not None:
        _check_column(raw, id_column, "an id column")
        chosen = id_column
    else:
        first = str(frame.columns[0]) if len(frame.columns) else None
        if (
            raw.ids is not None
            or first is None
            or first == outcome
            or not _looks_like_ids(frame[first], first)
        ):
            return raw
        chosen = first
    ids = tuple(str(value) for value in frame[chosen])
    return replace(raw, frame=frame.drop(columns=chosen), ids=ids)


def _looks_like_ids(column: pd.Series, name: str) -> bool:
    if name in ("", "Unnamed: 0", "index"):
        return True
    if column.dtype != object or not column.is_unique:
        return False
    return bool(pd.to_numeric(column, errors="coerce").isna().all())


def _transposed(raw: RawTable, id_column: str | None) -> RawTable:
    """Turn a table with one feature in each row on its side."""
    frame = raw.frame
    if id_column is None and raw.ids is not None:
        names, body = list(raw.ids), frame
    else:
        chosen = id_column or str(frame.columns[0])
        _check_column(raw, chosen, "a column of feature names")
        names, body = [str(value) for value in frame[chosen]], frame.drop(columns=chosen)
    if not len(body.columns):
        raise UnreadableInput(
            f"{raw.where}: expected a column for each sample, got only the names of the features"
        )
    check_names(names, raw.where, "rows (features)")
    turned = body.T.infer_objects()
    turned.columns = pd.Index(names)
    line_of = None  # a row is a sample now, and no line of the file
    return RawTable(turned.reset_index(drop=True), raw.where, tuple(map(str, body.columns)), None, line_of)


def _without(raw: RawTable, drop: Collection[str]) -> RawTable:
    unknown = [name for name in drop if name not in raw.frame.columns]
    if unknown:
        raise UnreadableInput(f"{raw.where}: expected the columns to drop to exist, but {unknown[:3]} do not")
    return replace(raw, frame=raw.frame.drop(columns=list(drop))) if drop else raw


def _second(source: Any, id_column: str | None, delimiter: str | None) -> RawTable:
    """Return the second table with its ids apart."""
    raw = load(source, delimiter, () if id_column is None else (id_column,))
    if id_column is None:
        ids = raw.ids if raw.ids is not None else tuple(map(str, raw.frame.iloc[:, 0]))
    else:
        _check_column(raw, id_column, "an id column")
        ids = tuple(map(str, raw.frame[id_column]))
    return replace(raw, ids=ids)


def _check_column(raw: RawTable, name: str, what: str) -> None:
    if name not in raw.frame.columns:
        close = [column for column in raw.frame.columns if str(column).casefold() == name.casefold()]
        some = close or list(raw.frame.columns[:8])
        raise UnreadableInput(f"{raw.where}: expected {what} '{name}', found {some}; check the name")


def _with_outcome(raw: RawTable, outcome: str | None, second: RawTable | None) -> _Parts:
    """Separate the outcome from the features, or fetch it from the second table."""
    ids = raw.ids if raw.ids is not None else tuple(map(str, range(1, len(raw.frame) + 1)))
    if outcome is None:
        if second is not None:
            raise ValueError("expected outcome= with the name of a column of outcome_table")
        return _Parts(raw, ids, None)
    if second is not None:
        return _joined(raw, ids, outcome, second)
    if outcome not in raw.frame.columns and raw.beside is not None and outcome in raw.beside.columns:
        return _Parts(raw, ids, _tidy(raw.beside[outcome]))
    _check_column(raw, outcome, "an outcome column")
    y = raw.frame[outcome]
    return _Parts(replace(raw, frame=raw.frame.drop(columns=outcome)), ids, _tidy(y))


def _joined(raw: RawTable, ids: tuple[str, ...], outcome: str, second: RawTable) -> _Parts:
    _check_column(second, outcome, "an outcome column")
    frame, keys = second.frame, list(second.ids or ())
    check_names(keys, second.where, "sample ids")
    check_names(ids, raw.where, "sample ids")
    y = _tidy(frame[outcome]).set_axis(keys)
    found = np.array([i in y.index for i in ids])
    if not found.any():
        raise UnreadableInput(
            f"{second.where}: expected the sample ids of {raw.where}, but none is there: '{ids[0]}' against "
            f"'{keys[0] if keys else ''}'; give id_column=, or use the same ids in both"
        )
    if not found.all():
        warnings.warn(
            f"{int((~found).sum())} of {len(ids)} samples are not in {second.where} and were left out",
            DataWarning,
            stacklevel=4,
        )
    kept = tuple(i for i, known in zip(ids, found, strict=True) if known)
    line_of = None if raw.line_of is None else _through(raw.line_of, np.flatnonzero(found))
    rest = replace(
        raw, frame=raw.frame.loc[found].reset_index(drop=True), ids=kept, beside=None, line_of=line_of
    )
    return _Parts(rest, kept, y.loc[list(kept)].reset_index(drop=True))


def _through(line_of: Any, rows: npt.NDArray[np.intp]) -> Any:
    return lambda row: line_of(int(rows[row]))


def _tidy(y: pd.Series) -> pd.Series:
    """Return the outcome with numbers as numbers and blanks as missing."""
    if y.dtype != object:
        return y
    numbers = pd.to_numeric(y.where(y != "", None), errors="coerce")
    blank = y.isna() | (y == "")
    return numbers if not (numbers.isna() & ~blank).any() else y.where(~blank, None)


def _check_finite(frame: pd.DataFrame, where: str) -> None:
    numbers = frame.select_dtypes("number")
    if numbers.size and np.isinf(numbers.to_numpy()).any():
        name = next(name for name in numbers.columns if np.isinf(numbers[name].to_numpy()).any())
        raise UnreadableInput(
            f"{where}, column '{name}': expected finite numbers, got an infinite one; correct it"
        )
