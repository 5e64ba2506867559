"""Tables of samples and features, with an outcome: one reader for all sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..design import are_constant
from ..messages import Argument, Message
from .csv_table import check_names
from .encode import fill_missing, missing_counts, one_hot, place, to_numeric
from .errors import UnreadableInput, did_you_mean
from .frames import RawTable, load, without
from .ids import with_ids
from .outcome import Parts, check_column, second_table, with_outcome
from .text import shortened, trusting

_POLICIES = ("error", "drop_samples", "drop_features", "impute")


@dataclass(frozen=True)
class TableReport:
    """What happened on the way from file to numbers.

    >>> TableReport(imputed={"age": 3}).imputed["age"]
    3
    """

    constant: tuple[str, ...] = ()
    imputed: Mapping[str, int] = field(default_factory=dict)
    dropped_samples: tuple[str, ...] = ()
    dropped_features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table ready for a fit.

    Attributes
    ----------
    X : (N, M) numbers
        Without missing values, float64 (float32 where the source is).
    features : M names
    samples : N ids
        "1", "2", … where the source has none.
    y : (N,), data frame or None
        The outcome as it stands in the source; a column for each where several were named.
    outcome : name or None
    groups : M labels
        For 0/1 columns the categorical column they come from, else None; `similarity.from_groups(table.groups)`
        makes the categories of one column similar.
    report : TableReport
        Constant columns, and what was imputed or dropped.

    Examples
    --------
    >>> table = read_table(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0], "y": [3.0, 5.0]}), outcome="y")
    >>> table.X.shape, table.features, table.y
    ((2, 2), ('a', 'b'), array([3., 5.]))
    """

    X: npt.NDArray[Any]
    features: tuple[str, ...]
    samples: tuple[str, ...]
    y: Any
    outcome: str | None
    groups: tuple[str | None, ...]
    report: TableReport


def read_table(
    source: Any,
    outcome: str | Collection[str] | None = None,
    *,
    outcome_table: Any = None,
    outcome_id: str | None = None,
    id_column: str | None = None,
    samples: str = "rows",
    missing: str | Mapping[str, float | str] = "error",
    categorical: str | Collection[str] = (),
    drop: str | Collection[str] = (),
    delimiter: str | None = None,
    trust: bool = False,
) -> Table:
    r"""Read a table of samples and features, and an outcome.

    Parameters
    ----------
    source : a file (CSV, TSV, Parquet, .npz, .h5ad; text possibly .gz) or a pandas, polars or pyarrow table
    outcome : name of the outcome, a column of the table or of `outcome_table` (or of AnnData's obs); or several names
    outcome_table : a second source with the outcome, joined by sample id; samples that are not in it are
        left out, and a warning counts them
    outcome_id : column of the second source with the sample ids; None: its index or first column
    id_column : column with the sample ids; None: the index, or the first column if it has no name, is called "id",
        "sample", "patient_no" or the like (it must then differ in every row), or is text that does.
        With samples in columns: the features' names; None: the first column
    samples : "rows", or "columns" where each row is a feature
    missing : "error" (names the columns and counts), "drop_samples", "drop_features" or "impute" (the median,
        or the commonest category), or {column: value}: impute these (for new samples, say, what is usual in training),
        and what "impute" does in columns that it does not name. Blank, NA, N/A, NaN, null and ? mean missing
    categorical : columns to be read as categories although they hold numbers or many values; one name or several
    drop : columns (and with samples in columns, features) to leave out; one name or several
    delimiter : None: found in the header
    trust : whether to read compressed files that unpack to more than a hundred times their size, which are refused
        otherwise: a small file could fill the memory

    A column of text becomes one 0/1 column for each category, named "column=category".

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "t.csv")
    ...     _ = path.write_text('id,age,sex,y\nP1,50,f,1.5\nP2,61,m,2.5\n')
    ...     table = read_table(path, outcome="y")
    >>> table.X.shape, table.features, table.samples
    ((2, 3), ('age', 'sex=f', 'sex=m'), ('P1', 'P2'))
    """
    outcomes, id_column = _several(outcome, "outcome"), _name(id_column, "id_column")
    outcome_id = _name(outcome_id, "outcome_id")
    categorical, drop = _several(categorical, "categorical"), _several(drop, "drop")
    if samples not in ("rows", "columns"):
        raise ValueError(f'expected samples "rows" or "columns", got {samples!r}')
    missing, given = ("impute", dict(missing)) if isinstance(missing, Mapping) else (missing, {})
    if missing not in _POLICIES:
        raise ValueError(
            f"expected missing to be one of {', '.join(_POLICIES)}, or {{column: value}}, got {missing!r}"
        )
    _check_values(given)
    # codes stay word for word: "00" and "0" are two categories; with samples in columns, each has a cell of each
    words = {name for name in (*categorical, id_column) if name is not None and name not in outcomes}
    turned = samples == "columns"
    exact = None if turned else outcomes
    with trusting(trust):
        raw = load(source, delimiter, None if turned and categorical else words, turned=turned, exact=exact)
        second = None if outcome_table is None else second_table(outcome_table, outcome_id, delimiter, outcomes)
    if turned:
        beside = [name for name in drop if name in raw.frame.columns]
        raw = _transposed(_without(raw, beside), id_column)
        raw = _without(raw, [name for name in drop if name not in beside])
    else:
        raw = with_ids(_without(raw, drop), id_column, {*outcomes, *categorical})
    _check_exist(raw, categorical, "categorical columns", (*outcomes, id_column))
    parts = with_outcome(raw, outcomes, second)
    if 0 in parts.raw.frame.shape:
        samples_left, features_left = parts.raw.frame.shape
        raise UnreadableInput(
            Message(
                f"{raw.where}: expected samples and features, got {samples_left} samples and {features_left} features "
                "beside ids and outcome; is this the right file, and the right ",
                Argument("delimiter"),
                "?",
            )
        )
    numeric = replace(parts.raw, frame=to_numeric(parts.raw, categorical))
    _check_finite(numeric)
    return _finish(replace(parts, raw=numeric), missing, given, categorical)


def _finish(parts: Parts, missing: str, given: Mapping[str, Any], categorical: Collection[str]) -> Table:
    where, frame = parts.raw.where, parts.raw.frame
    keep, columns, imputed = _resolve_missing(where, frame, parts.y, missing)
    if not keep.all() or len(columns) < len(frame.columns):  # otherwise a copy for nothing
        frame = frame.loc[keep, columns]
    if not len(frame) or not len(frame.columns):
        raise UnreadableInput(
            Message(f"{where}: nothing is left after missing values were dropped; use ", Argument("missing", "impute"))
        )
    encoded = one_hot(fill_missing(frame, where, given) if imputed else frame, where, categorical)
    constant = are_constant(encoded.X)
    kept = set(columns)
    report = TableReport(
        constant=tuple(np.array(encoded.features, dtype=object)[constant]),
        imputed=imputed,
        dropped_samples=tuple(i for i, stays in zip(parts.ids, keep, strict=True) if not stays),
        dropped_features=tuple(c for c in parts.raw.frame.columns if c not in kept),
    )
    ids = tuple(i for i, stays in zip(parts.ids, keep, strict=True) if stays)
    y = None if parts.y is None else parts.y[keep].reset_index(drop=True)
    if y is None or len(y.columns) > 1:
        return Table(encoded.X, encoded.features, ids, y, None, encoded.groups, report)
    (outcome,) = y.columns
    return Table(encoded.X, encoded.features, ids, y[outcome].to_numpy(), str(outcome), encoded.groups, report)


def _resolve_missing(
    where: str, frame: pd.DataFrame, y: pd.DataFrame | None, policy: str
) -> tuple[npt.NDArray[np.bool_], list[str], dict[str, int]]:
    """Return which rows and columns stay, and the counts of what is to be imputed."""
    counts = missing_counts(frame)
    no_outcome = np.zeros(len(frame), dtype=bool) if y is None else y.isna().any(axis=1).to_numpy()
    if policy == "error" and (counts or no_outcome.any()):
        if y is not None:
            counts = {f"{name} (outcome)": n for name, n in missing_counts(y).items()} | counts
        named = ", ".join(f"{shortened(name) or repr(name)} ({count})" for name, count in list(counts.items())[:5])
        more = f" and {len(counts) - 5} more columns" if len(counts) > 5 else ""
        raise UnreadableInput(
            Message(
                f"{where}: expected no missing values, got some in {named}{more}; choose ",
                Argument("missing", "drop_samples"),
                ", 'drop_features' or 'impute'",
            )
        )
    keep = ~no_outcome
    if policy == "drop_samples" and counts:
        keep &= ~frame.isna().any(axis=1).to_numpy()
    gone = set(counts) if policy == "drop_features" else set()
    columns = [column for column in frame.columns if column not in gone]
    return keep, columns, counts if policy == "impute" else {}


def _transposed(raw: RawTable, id_column: str | None) -> RawTable:
    """Turn a table with one feature in each row on its side."""
    frame = raw.frame
    if id_column is None and raw.ids is not None:
        names, body = list(raw.ids), frame
    else:
        chosen = id_column or str(frame.columns[0])
        check_column(raw, chosen, "a column of feature names")
        names, body = [str(value) for value in frame[chosen]], without(frame, [chosen])
    if not len(body.columns):
        raise UnreadableInput(f"{raw.where}: expected a column for each sample, got only the names of the features")
    check_names(names, raw.where, "rows (features)")
    turned = body.T.infer_objects()
    turned.columns = pd.Index(names)
    line_of = None  # a row is a sample now, and no line of the file
    return RawTable(turned.reset_index(drop=True), raw.where, tuple(map(str, body.columns)), None, line_of)


def _name(name: Any, option: str) -> str | None:
    """Return a column's name as text (in data frames it may be a number)."""
    if isinstance(name, bool) or not (name is None or isinstance(name, str | int | np.integer)):
        raise ValueError(f"expected {option}= to be the name of a column, got {name!r}")
    return None if name is None else str(name)


def _several(names: Any, option: str) -> list[str]:
    """Return one name or several as a list."""
    some = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    return [name for name in (_name(name, option) for name in some) if name is not None]


def _check_values(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        number = isinstance(value, int | float | np.integer | np.floating) and bool(np.isfinite(value))
        if not number and not isinstance(value, str):
            raise ValueError(f"expected a word or a finite number for missing[{name!r}], got {value!r}")


def _without(raw: RawTable, drop: Collection[str]) -> RawTable:
    _check_exist(raw, drop, "columns to drop")
    return replace(raw, frame=without(raw.frame, drop)) if drop else raw


def _check_exist(raw: RawTable, names: Collection[str], what: str, others: Collection[str | None] = ()) -> None:
    unknown = [name for name in names if name not in raw.frame.columns and name not in others]
    if unknown:
        raise UnreadableInput(
            f"{raw.where}: expected the {what} to exist, but {unknown[:3]} do not; the columns are "
            f"{list(raw.frame.columns[:8])}{did_you_mean(unknown[0], raw.frame.columns)}"
        )


def _check_finite(raw: RawTable) -> None:
    words = [not isinstance(kind, np.dtype) or kind.kind not in "fiu" for kind in raw.frame.dtypes]
    numbers = raw.frame.loc[:, ~np.array(words)] if any(words) else raw.frame  # select_dtypes would copy all of it
    infinite = np.isinf(numbers.to_numpy()) if numbers.size else np.zeros((0, 0), dtype=bool)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise UnreadableInput(
            f"{place(raw, int(row))}, column '{shortened(numbers.columns[column])}': expected finite numbers, got an "
            f"infinite one ({int(infinite.sum())} such cells); correct it, or leave it blank if missing"
        )
