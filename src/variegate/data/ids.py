"""Find the column of sample ids, and handle repeated ids."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import pandas as pd

from ..messages import brief, counted
from .errors import DataWarning, UnreadableInput
from .raw import MISSING, RawTable
from .text import shortened

# "id", "Sample", "patient_id", "Subject No": numbers below such a title are names, not measurements
_ID_NAME = re.compile(
    r"(id|(sample|patient|subject|case|participant|barcode)s?([ _.]?(id|no|nr|number|name|barcode))?)",
    re.IGNORECASE,
)


def with_ids(raw: RawTable, id_column: str | None, features: Collection[str | None]) -> RawTable:
    """Move the ids out of the columns: the given column, or the first if it looks like ids and is not a known feature.

    A column that only looks like ids must differ in every row; one named by the caller, or an index, may repeat, with
    a warning. Other columns with the name of an id stay features, with a warning.
    """
    first = str(raw.frame.columns[0]) if len(raw.frame.columns) else None
    if id_column is not None:
        raw = _taken(raw, id_column)
    elif raw.ids is None and first is not None and first not in features and _looks_like_ids(raw.frame[first], first):
        _check_different(raw, first)
        raw = _taken(raw, first)
    _warn_repeated(raw)
    _warn_ids_as_features(raw, features)
    return raw


def _taken(raw: RawTable, column: str) -> RawTable:
    return replace(raw.without([column]), ids=tuple(map(str, raw.column(column))))


def _looks_like_ids(column: pd.Series, name: str) -> bool:
    if name in ("", "Unnamed: 0", "index"):
        return True
    if _ID_NAME.fullmatch(name):
        return not _is_indicator(column)
    words = column.dtype == object or isinstance(column.dtype, pd.StringDtype)
    if (column.isna() | column.isin(MISSING)).all():  # the only cell of a table with one row
        return False
    return words and column.is_unique and bool(pd.to_numeric(column, errors="coerce").isna().all())


def _is_indicator(column: pd.Series) -> bool:
    """Whether a column holds only zeros and ones, such as "case" for cases and controls, and so no ids."""
    return len(column) > 2 and set(pd.to_numeric(column, errors="coerce").unique()) == {0, 1}


def _check_different(raw: RawTable, column: str) -> None:
    cells = raw.frame[column].astype(str)
    repeated = cells[cells.duplicated(keep=False)]
    if not len(repeated):
        return
    rows = [str(i + 1) for i in repeated.index[repeated == repeated.iloc[0]][:3]]
    raise UnreadableInput(
        f"{raw.where}, column '{shortened(column)}': expected sample ids that differ in every row, "
        f"but '{shortened(repeated.iloc[0])}' is in rows {', '.join(rows)} "
        f"({counted(repeated.nunique(), 'such id')}); leave the column out by drop=[{column!r}], or "
        f"say id_column={column!r} if samples were measured repeatedly; as a feature it needs another name"
    )


def _warn_repeated(raw: RawTable) -> None:
    counts = Counter(raw.ids or ())
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        warnings.warn(
            f"{raw.where}: '{shortened(repeated[0])}' is the id of {counts[repeated[0]]} samples "
            f"({counted(len(repeated), 'such id')}): they count as different samples; keep them together when you "
            "split the data",
            DataWarning,
            stacklevel=4,
        )


def _warn_ids_as_features(raw: RawTable, features: Collection[str | None]) -> None:
    for name in raw.frame.columns:
        if name not in features and _ID_NAME.fullmatch(name) and not _is_indicator(raw.frame[name]):
            warnings.warn(
                brief(
                    f"{raw.where}: the column '{shortened(name)}' reads like ids, but is used as a feature; "
                    f"give id_column={name!r} or drop=[{name!r}]"
                ),
                DataWarning,
                stacklevel=4,
            )
