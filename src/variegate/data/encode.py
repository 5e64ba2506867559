"""Turn cells into numbers: numeric columns, categories as 0/1 columns, missing values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..messages import brief, counted
from .errors import DataWarning, UnreadableInput
from .raw import MISSING, RawTable
from .text import shortened

_MOST_CATEGORIES = 50
_SEVERAL = (list, tuple, set, frozenset, dict, np.ndarray, pd.Series, complex, np.complexfloating)
_DATES = (date, time, timedelta, pd.Period)
_SOME_ROWS = 256
_MOST_CODES = 50
_NO_WORDS = {
    "percentages": r"[+-]?\d+([.,]\d+)?\s*%",
    "hexadecimal numbers": r"[+-]?0[xX][0-9a-fA-F]+",
    "dates": r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?",
    "times": r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?",
    "numbers with separators": r"[+-]?\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d+)?",
    "numbers with a limit": r"[<>≤≥]=?\s*\d+([.,]\d+)?",
}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True)
class Encoded:
    """Numbers X (N, M), the columns' names, and for 0/1 columns the categorical column they come from."""

    X: npt.NDArray[Any]
    features: tuple[str, ...]
    groups: tuple[str | None, ...]


def to_numeric(raw: RawTable, categorical: Collection[str] = ()) -> pd.DataFrame:
    """Return the frame with each column numeric (NaN: missing) or, if categorical, text (None: missing).

    A column of text is categorical if fewer than half of its cells are numbers; otherwise a cell that is not a number
    is an error, since it is probably a typo.
    """
    done = {}
    for name in [n for n, kind in zip(raw.frame.columns, raw.frame.dtypes, strict=True) if _needs_work(kind)]:
        cells = raw.frame[name]
        check_scalar(raw, name, cells)
        done[name] = _text(cells) if name in categorical else _number_or_text(raw, name, cells)
    for name in [n for n in categorical if n in raw.frame.columns and n not in done]:
        done[name] = _text(raw.frame[name])
    if not done:
        return raw.frame
    return pd.DataFrame({n: done.get(n, raw.frame[n]) for n in raw.frame.columns}, copy=False)


def one_hot(frame: pd.DataFrame, where: str, categorical: Collection[str] = ()) -> Encoded:
    """Return numbers: numeric columns unchanged, a column of text as one 0/1 column per category."""
    if not any(kind == object for kind in frame.dtypes):  # noqa: E721
        return Encoded(_float(frame), tuple(frame.columns), (None,) * len(frame.columns))
    pieces: list[Any] = []
    features: list[str] = []
    groups: list[str | None] = []
    for name in frame.columns:
        if frame[name].dtype != object:
            pieces.append(frame[name].to_numpy(float))
            features.append(name)
            groups.append(None)
            continue
        levels = _levels(frame[name], where, name in categorical)
        pieces += [(frame[name] == level).to_numpy(float) for level in levels]
        features += [f"{name}={level}" for level in levels]
        groups += [name] * len(levels)
    twice = pd.Index(features).duplicated()
    if twice.any():
        name = features[int(twice.argmax())]
        raise UnreadableInput(f"{where}: two features are called {name!r} after encoding; rename one of the columns")
    return Encoded(np.column_stack(pieces), tuple(features), tuple(groups))


def possible_codes(table: Encoded) -> tuple[str, ...]:
    """Return the numeric columns that may be codes: 3 to 10 consecutive whole numbers starting at 0 or 1.

    Return none if many columns look like that: genotypes and answers on a scale are meant to be numbers.
    """
    X = table.X
    whole = (X[:_SOME_ROWS] % 1 == 0).all(axis=0) & np.array([group is None for group in table.groups])
    found = [j for j in np.flatnonzero(whole) if _is_code(X[:, j])] if whole.sum() <= _MOST_CODES else []
    return tuple(table.features[j] for j in found)


def _is_code(column: npt.NDArray[Any]) -> bool:
    values = np.unique(column)
    few = 3 <= len(values) <= min(10, len(column) // 3)
    return few and values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def check_scalar(raw: RawTable, name: str, cells: pd.Series) -> None:
    """Reject a column whose cells are lists, arrays, dictionaries, complex numbers or dates."""
    for row, cell in enumerate(cells.array if _needs_work(cells.dtype) else ()):
        if isinstance(cell, _SEVERAL + _DATES) and cell is not pd.NaT:
            raise UnreadableInput(
                f"{raw.place(row)}, column '{shortened(name)}': expected a number or a word in each cell, got "
                f"{type(cell).__name__}; make numbers of it, or drop it"
            )


def check_finite(raw: RawTable) -> None:
    """Reject infinite numbers."""
    words = [not isinstance(kind, np.dtype) or kind.kind not in "fiu" for kind in raw.frame.dtypes]
    numbers = raw.frame.loc[:, ~np.array(words)] if any(words) else raw.frame  # select_dtypes would copy all of it
    infinite = np.isinf(numbers.to_numpy()) if numbers.size else np.zeros((0, 0), dtype=bool)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise UnreadableInput(
            f"{raw.place(int(row))}, column '{shortened(numbers.columns[column])}': expected finite numbers, got an "
            f"infinite one ({counted(int(infinite.sum()), 'such cell')}); correct it, or leave it blank if missing"
        )


def missing_counts(frame: pd.DataFrame) -> dict[str, int]:
    """Return the number of missing cells of each column that has any."""
    counts = frame.isna().sum()
    return {str(name): int(count) for name, count in counts[counts > 0].items()}


def fill_missing(frame: pd.DataFrame, where: str, given: Mapping[str, float | str]) -> pd.DataFrame:
    """Fill columns with their given value, others with their median or, if text, their most common value."""
    filled = {}
    for name in missing_counts(frame):
        column, value = frame[name], given.get(name)
        words = column.dtype == object
        if value is not None and isinstance(value, str) != words:
            kinds = ("words", "numbers") if words else ("numbers", "words")
            raise UnreadableInput(
                f"{where}, column '{shortened(name)}': expected {kinds[1]}, because missing cells are filled "
                f"with {value!r}, got {kinds[0]}; is it the same column?"
            )
        value = _typical(column, where) if value is None else value
        filled[name] = column.where(column.notna(), value) if words else column.fillna(value)
    return frame.assign(**filled) if filled else frame


def _typical(column: pd.Series, where: str) -> Any:
    if column.isna().all():
        name = shortened(str(column.name))
        raise UnreadableInput(f"{where}, column '{name}': expected values to impute from, got none; drop it")
    return column.mode().iloc[0] if column.dtype == object else column.median()


def _needs_work(kind: Any) -> bool:
    return not (isinstance(kind, np.dtype) and kind.kind in "fiub")


def _number_or_text(raw: RawTable, name: str, cells: pd.Series) -> pd.Series:
    text = _text(cells)
    numbers = pd.to_numeric(text, errors="coerce").astype(float)
    present = text.notna()
    wrong = present & numbers.isna()
    if not wrong.any():  # float, since pandas can miss the last digit
        return text.map(lambda v: np.nan if v is None else float(v)).astype(float)
    row = int(wrong.to_numpy().argmax())
    if _DECIMAL_COMMA.fullmatch(text.iloc[row]):
        raise UnreadableInput(
            f"{raw.where}, column '{shortened(name)}': expected decimal points, got a comma in "
            f"'{shortened(text.iloc[row])}'; write 1.5, not 1,5"
        )
    if 2 * int((present & ~wrong).sum()) < int(present.sum()):
        return text
    raise UnreadableInput(
        f"{raw.place(row)}, column '{shortened(name)}': expected a number, got '{shortened(text.iloc[row])}' "
        f"({counted(int(wrong.sum()), 'such cell')}); correct it, leave it blank if missing, or "
        f"say categorical=[{shortened(name)!r}]"
    )


def _text(cells: pd.Series) -> pd.Series:
    values = [None if v is None or v is pd.NA or v is pd.NaT or v != v else str(v).strip() for v in cells.array]
    return pd.Series([None if v in MISSING else v for v in values], index=cells.index, dtype=object)


def _levels(column: pd.Series, where: str, asked_for: bool) -> Sequence[str]:
    words = column.dropna()
    levels, name = sorted(set(words)), shortened(str(column.name))
    if len(levels) > _MOST_CATEGORIES and not asked_for:
        raise UnreadableInput(
            f"{where}, column '{name}': expected numbers or at most {_MOST_CATEGORIES} categories, "
            f"got text with {len(levels)} different values (e.g. '{shortened(levels[0])}'); leave it "
            f"out by drop=[{name!r}], or say id_column={name!r} or categorical=[{name!r}]"
        )
    strange = None if asked_for else _no_categories(words, len(levels))
    if strange:
        warnings.warn(
            brief(
                f"{where}, column '{name}': {strange}, such as '{shortened(levels[0])}', became {len(levels)} "
                f"columns of 0 and 1; make numbers of it, or leave it out by drop=[{name!r}]; if it does "
                f"hold categories, say categorical=[{name!r}]"
            ),
            DataWarning,
            stacklevel=6,
        )
    return levels or ["missing"]


def _no_categories(words: pd.Series, levels: int) -> str | None:
    """Return what the words of a column look like, if not like categories."""
    for kind, pattern in _NO_WORDS.items():
        if 2 * int(words.str.fullmatch(pattern).sum()) > len(words):
            return kind
    return "words that differ in nearly every row" if len(words) > 3 and 4 * levels > 3 * len(words) else None


def _float(frame: pd.DataFrame) -> npt.NDArray[Any]:
    single = all(kind == np.float32 for kind in frame.dtypes)
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float32 if single else np.float64))
