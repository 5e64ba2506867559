"""The outcome: a column of the table, or of a second table joined by sample id."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .column_names import ColumnNames, check_known
from .encode import check_finite, check_scalar, to_numeric
from .errors import DataWarning, UnreadableInput
from .frames import open_source
from .raw import MISSING, RawTable, Source, check_names


@dataclass(frozen=True)
class Parts:
    """A partly read table: features and ids, outcome, and the source of columns from a second table."""

    raw: RawTable
    y: pd.DataFrame | None  # a column for each outcome
    second: str | None = None
    joined: frozenset[str] = frozenset()  # features from there

    def rows(self, keep: npt.NDArray[np.bool_]) -> Parts:
        """Return some rows."""
        y = None if self.y is None else self.y[keep].reset_index(drop=True)
        return replace(self, raw=self.raw.rows(np.flatnonzero(keep)), y=y)

    @property
    def ids(self) -> tuple[str, ...]:
        """The samples' ids."""
        return self.raw.ids or ()


def second_table(source: Any, id_column: str | None) -> RawTable:
    """Open the second table, and separate its ids."""
    return read_second(open_source(source), id_column)


def read_second(source: Source, id_column: str | None, words: Collection[str] = ()) -> RawTable:
    """Read the second table and separate its ids: by default its first column, in PLINK's phenotypes IID."""
    if id_column is None and list(source.columns[:2]) == ["FID", "IID"]:
        id_column = "IID"
    raw = source.read({*words, *([] if id_column is None else [id_column])})
    if id_column is None:
        ids = raw.ids if raw.ids is not None else tuple(map(str, raw.frame.iloc[:, 0]))
    else:
        check_column(raw, id_column, "an id column")
        ids = tuple(map(str, raw.frame[id_column]))
    return replace(raw, ids=ids)


def check_column(raw: RawTable, name: str, what: str) -> None:
    """Reject a column that does not exist, and list those that do."""
    if name not in raw.frame.columns:
        check_known(raw.where, [other for other in raw.columns if other != name], name, what)


def check_no_ids(second: RawTable, names: list[str]) -> None:
    """Reject ids among the columns to always include: numbers of samples would pass for measurements."""
    for name in names:
        if tuple(map(str, second.frame[name])) == second.ids:
            raise UnreadableInput(f"always_include: '{name}' holds the ids of {second.where}; give others")


def with_outcome(raw: RawTable, named: ColumnNames, second: RawTable | None) -> Parts:
    """Separate the outcomes from the features, or take them from the second table."""
    if raw.ids is None:
        raw = replace(raw, ids=tuple(map(str, range(1, len(raw.frame) + 1))))
    if second is not None:
        if not named.outcomes and not named.always_include:
            raise ValueError("expected outcome, the name of a column of outcome_table")
        return _joined(raw, named, second)
    if not named.outcomes:
        return Parts(raw, None)
    y = pd.DataFrame({name: _tidy(raw, raw.column(name)) for name in named.outcomes})
    return Parts(raw.without(named.outcomes), y)


def of_classes(parts: Parts, classes: Collection[str]) -> Parts:
    """Keep the samples of some classes; the others may have missing values, even in the outcome."""
    if parts.y is None or len(parts.y.columns) != 1:
        raise ValueError("classes needs outcome: times and counts have no classes")
    (name,) = parts.y.columns
    missing = parts.y[name].isna().to_numpy()
    found = labels(parts.y[name])
    known = sorted(set(found[~missing].tolist()))
    unknown = [label for label in classes if label not in known]
    if unknown:
        raise UnreadableInput(
            f"classes: there is no class {unknown[0]!r} in {name!r}, which has {', '.join(known[:8])}"
        )
    return parts.rows(np.isin(found, list(classes)) & ~missing)


def labels(y: Any) -> npt.NDArray[Any]:
    """Return classes as text, whole numbers without a decimal point.

    >>> labels(np.array([1.0, 2.5])).tolist()
    ['1', '2.5']
    """
    return np.array(
        [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in np.asarray(y).tolist()]
    )


def _joined(raw: RawTable, named: ColumnNames, second: RawTable) -> Parts:
    ids, keys = raw.ids or (), second.ids or ()
    check_names(keys, second.where, "sample ids")
    check_names(ids, raw.where, "sample ids")
    row = pd.Index(keys, dtype=object).get_indexer(pd.Index(ids, dtype=object))
    found = np.flatnonzero(row >= 0)
    if not len(found):
        raise UnreadableInput(
            f"{second.where}: expected the sample ids of {raw.where}, but none is there: '{ids[0]}' "
            f"against '{keys[0] if keys else ''}'; give id_column or outcome_id, or use the same ids "
            "in both"
        )
    if len(found) < len(ids):
        warnings.warn(
            f"{len(ids) - len(found)} of {len(ids)} samples are not in {second.where} and were left out",
            DataWarning,
            stacklevel=4,
        )
    first, beside = raw if len(found) == len(ids) else raw.rows(found), second.rows(row[found])
    columns = {name: _tidy(beside, beside.frame[name]) for name in named.outcomes}
    y = pd.DataFrame(columns) if columns else None
    more = named.joined(raw.frame.columns, second.frame.columns)
    check_no_ids(second, more)
    if more:  # converted here, so that errors name the right file
        features = to_numeric(replace(beside, frame=beside.frame[more]), named.categorical)
        check_finite(replace(beside, frame=features))
        first = replace(first, frame=first.frame.assign(**features))
    return Parts(first, y, second.where, frozenset(more))


def _tidy(raw: RawTable, y: pd.Series) -> pd.Series:
    """Return the outcome with numbers as numbers and blanks as missing."""
    check_scalar(raw, str(y.name), y)
    if y.dtype == object:
        missing = y.isna() | y.isin(MISSING)
        numbers = pd.to_numeric(y.where(~missing, None), errors="coerce")
        y = numbers if not (numbers.isna() & ~missing).any() else y.where(~missing, None)
    infinite = np.isinf(y.to_numpy(np.float64, na_value=np.nan)) if pd.api.types.is_numeric_dtype(y) else np.zeros(0)
    if infinite.any():
        raise UnreadableInput(
            f"{raw.place(int(infinite.argmax()))}, outcome '{y.name}': expected finite numbers, got an infinite one; "
            "correct it, or leave it blank if missing"
        )
    return y
