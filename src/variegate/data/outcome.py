"""The outcome: a column of the table, or of a second one that is joined by sample id."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..messages import Argument, Message
from .csv_table import MISSING, check_names
from .encode import check_scalar, place
from .errors import DataWarning, UnreadableInput, did_you_mean
from .frames import RawTable, load, without


@dataclass(frozen=True)
class Parts:
    """A table on its way: features still as a frame, ids, outcome."""

    raw: RawTable
    ids: tuple[str, ...]
    y: pd.DataFrame | None  # a column for each outcome


def second_table(source: Any, id_column: str | None, delimiter: str | None, exact: list[str] | None = None) -> RawTable:
    """Return the second table with its ids apart; `exact` as in `load`."""
    raw = load(source, delimiter, () if id_column is None else (id_column,), exact=exact)
    if id_column is None:
        ids = raw.ids if raw.ids is not None else tuple(map(str, raw.frame.iloc[:, 0]))
    else:
        check_column(raw, id_column, "an id column")
        ids = tuple(map(str, raw.frame[id_column]))
    return replace(raw, ids=ids)


def check_column(raw: RawTable, name: str, what: str) -> None:
    """Refuse a column that does not exist, showing those that do."""
    if name not in raw.frame.columns:
        known = [*(() if raw.beside is None else raw.beside.columns), *raw.frame.columns]
        way_out = did_you_mean(name, known) or "; check the name"
        raise UnreadableInput(f"{raw.where}: expected {what} '{name}', found {known[:8]}{way_out}")


def with_outcome(raw: RawTable, outcomes: list[str], second: RawTable | None) -> Parts:
    """Separate the outcomes from the features, or fetch them from the second table."""
    ids = raw.ids if raw.ids is not None else tuple(map(str, range(1, len(raw.frame) + 1)))
    if not outcomes:
        if second is not None:
            raise ValueError(
                Message("expected ", Argument("outcome"), ", the name of a column of ", Argument("outcome_table"))
            )
        return Parts(raw, ids, None)
    if second is not None:
        return _joined(raw, ids, outcomes, second)
    found, inside = {}, []
    for outcome in outcomes:
        if outcome not in raw.frame.columns and raw.beside is not None and outcome in raw.beside.columns:
            found[outcome] = _tidy(raw, raw.beside[outcome])
        else:
            check_column(raw, outcome, "an outcome column")
            found[outcome] = _tidy(raw, raw.frame[outcome])
            inside.append(outcome)
    return Parts(replace(raw, frame=without(raw.frame, inside)), ids, pd.DataFrame(found))


def _joined(raw: RawTable, ids: tuple[str, ...], outcomes: list[str], second: RawTable) -> Parts:
    for outcome in outcomes:
        check_column(second, outcome, "an outcome column")
    for outcome in set(outcomes) & set(raw.frame.columns):  # it would be a feature that predicts itself
        raise UnreadableInput(
            Message(
                f"{raw.where}: expected the outcome '{outcome}' in {second.where} only, but this table has such a "
                "column too; leave it out by ",
                Argument("drop", [outcome]),
                ", or give no ",
                Argument("outcome_table"),
            )
        )
    frame, keys = second.frame, list(second.ids or ())
    check_names(keys, second.where, "sample ids")
    check_names(ids, raw.where, "sample ids")
    y = pd.DataFrame({name: _tidy(second, frame[name]) for name in outcomes}).set_axis(keys)
    found = np.array([i in y.index for i in ids])
    if not found.any():
        raise UnreadableInput(
            Message(
                f"{second.where}: expected the sample ids of {raw.where}, but none is there: '{ids[0]}' against "
                f"'{keys[0] if keys else ''}'; give ",
                Argument("id_column"),
                ", or use the same ids in both",
            )
        )
    if not found.all():
        warnings.warn(
            f"{int((~found).sum())} of {len(ids)} samples are not in {second.where} and were left out",
            DataWarning,
            stacklevel=4,
        )
    kept = tuple(i for i, known in zip(ids, found, strict=True) if known)
    line_of = None if raw.line_of is None else _through(raw.line_of, np.flatnonzero(found))
    rest = replace(raw, frame=raw.frame.loc[found].reset_index(drop=True), ids=kept, beside=None, line_of=line_of)
    return Parts(rest, kept, y.loc[list(kept)].reset_index(drop=True))


def _through(line_of: Any, rows: npt.NDArray[np.intp]) -> Any:
    return lambda row: line_of(int(rows[row]))


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
            f"{place(raw, int(infinite.argmax()))}, outcome '{y.name}': expected finite numbers, got an infinite one; "
            "correct it, or leave it blank if missing"
        )
    return y
