"""Tables of samples and features, with an outcome: one reader for all sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .csv_table import check_names
from .encode import fill_missing, missing_counts, one_hot, to_numeric
from .errors import UnreadableInput
from .frames import RawTable, load
from .outcome import Parts, check_column, second_table, with_outcome

# "id", "Sample", "patient_id", "Subject No": numbers below such a title are names, not measurements
_ID_NAME = re.compile(
    r"(id|(sample|patient|subject|case|participant|barcode)s?([ _.]?(id|no|nr|number|name|barcode))?)",
    re.IGNORECASE,
)
_POLICIES = ("error", "drop_samples", "drop_features", "impute")


@dataclass(frozen=True)
class TableReport:
    """What happened on the way from file to numbers."""

    constant: tuple[str, ...] = ()
    imputed: Mapping[str, int] = field(default_factory=dict)
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
    id_column : column with the sample ids; None: the index, or the first column if it has no name, or if it
        differs in every row and is text or called "id", "sample", "patient_no" or the like.
        With samples in columns: the features' names; None: the first column
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
    second = None if outcome_table is None else second_table(outcome_table, outcome_id, delimiter)
    parts = with_outcome(raw, outcome, second)
    frame = to_numeric(parts.raw, categorical)
    _check_finite(frame, raw.where)
    return _finish(replace(parts, raw=replace(parts.raw, frame=frame)), outcome, missing, categorical)


def _finish(parts: Parts, outcome: str | None, missing: str, categorical: Collection[str]) -> Table:
    where, frame = parts.raw.where, parts.raw.frame
    keep, columns, imputed = _resolve_missing(where, frame, parts.y, missing)
    frame = frame.loc[keep, columns]
    if not len(frame) or not len(frame.columns):
        raise UnreadableInput(f"{where}: nothing is left after missing values were dropped; use missing='impute'")
    encoded = one_hot(fill_missing(frame, where) if imputed else frame, where, categorical)
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
        check_column(raw, id_column, "an id column")
        chosen = id_column
    else:
        first = str(frame.columns[0]) if len(frame.columns) else None
        if raw.ids is not None or first is None or first == outcome or not _looks_like_ids(frame[first], first):
            return raw
        chosen = first
    ids = tuple(str(value) for value in frame[chosen])
    return replace(raw, frame=frame.drop(columns=chosen), ids=ids)


def _looks_like_ids(column: pd.Series, name: str) -> bool:
    if name in ("", "Unnamed: 0", "index"):
        return True
    if not column.is_unique:
        return False
    if _ID_NAME.fullmatch(name):
        return True
    return column.dtype == object and bool(pd.to_numeric(column, errors="coerce").isna().all())


def _transposed(raw: RawTable, id_column: str | None) -> RawTable:
    """Turn a table with one feature in each row on its side."""
    frame = raw.frame
    if id_column is None and raw.ids is not None:
        names, body = list(raw.ids), frame
    else:
        chosen = id_column or str(frame.columns[0])
        check_column(raw, chosen, "a column of feature names")
        names, body = [str(value) for value in frame[chosen]], frame.drop(columns=chosen)
    if not len(body.columns):
        raise UnreadableInput(f"{raw.where}: expected a column for each sample, got only the names of the features")
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


def _check_finite(frame: pd.DataFrame, where: str) -> None:
    numbers = frame.select_dtypes("number")
    if numbers.size and np.isinf(numbers.to_numpy()).any():
        name = next(name for name in numbers.columns if np.isinf(numbers[name].to_numpy()).any())
        raise UnreadableInput(f"{where}, column '{name}': expected finite numbers, got an infinite one; correct it")
