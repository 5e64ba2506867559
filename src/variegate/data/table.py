"""Read tables of samples and features, with an outcome, from any source."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..design import are_constant
from ..messages import counted
from .column_names import ColumnNames
from .encode import check_finite, fill_missing, missing_counts, one_hot, possible_codes, to_numeric
from .errors import MissingValues, UnreadableInput
from .frames import open_source
from .ids import with_ids
from .outcome import Parts, check_column, of_classes, read_second, with_outcome
from .raw import RawTable, check_names
from .text import shortened, trusting

_POLICIES = ("error", "drop_samples", "drop_features", "impute")


@dataclass(frozen=True)
class TableReport:
    """What reading did to the data.

    >>> TableReport(imputed={"age": 3}).imputed["age"]
    3
    """

    constant: tuple[str, ...] = ()
    imputed: Mapping[str, int] = field(default_factory=dict)
    dropped_samples: tuple[str, ...] = ()
    dropped_features: tuple[str, ...] = ()
    other_classes: int = 0  # samples of classes that were not requested
    codes: tuple[str, ...] = ()  # columns of few whole numbers, read as quantities, that may be codes


@dataclass(frozen=True)
class Table:
    """A table ready to fit.

    Attributes
    ----------
    X : (N, M) numbers
        Without missing values; float64 (float32 if the source is).
    features : M names
    samples : N ids
        "1", "2", … if the source has none.
    y : (N,), data frame or None
        The outcome as in the source; a data frame if several were named.
    outcome : name or None
    groups : M labels
        For 0/1 columns the categorical column they come from, else None; `similarity.from_labels(table.groups)`
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
    classes: Collection[str] = (),
    always_include: str | Collection[str] = (),
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
    classes : keep only samples of these classes, as text; the other samples may have missing values
    always_include : columns that the fit will always include; those found only in the second source (age, cohort)
        become features, too
    id_column : column with the sample ids; None: the index, or the first column if it has no name, is called "id",
        "sample", "patient_no" or the like (it must then differ in every row), or is text that does.
        With samples in columns: the features' names; None: the first column
    samples : "rows", or "columns" if each row is a feature
    missing : "error" (names the columns and counts), "drop_samples", "drop_features" or "impute" (the median,
        or the most common category), or {column: value} to impute these values, such as medians of the training rows;
        columns not named are treated as with "impute". Blank, NA, N/A, NaN, null and ? mean missing
    categorical : columns to read as categories although they hold numbers or many values; one name or several
    drop : columns (and with samples in columns, features) to leave out; one name or several
    delimiter : None: detected in the header
    trust : whether to read compressed files that unpack to more than a hundred times their size; otherwise they are
        refused, since a small file could exhaust memory

    A column of text becomes one 0/1 column per category, named "column=category".

    An .npz file holds the table as `X`, names of its columns as `features` (or feature_names, columns, symbols, genes,
    names) and of its rows as `samples` (or sample_ids, ids, index), and vectors with one entry per row, any of which
    may be the outcome; the columns of a 2-D array Y are called Y[0], Y[1], …. Other arrays are ignored, with a
    warning. All names are checked before any cell is read.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "t.csv")
    ...     _ = path.write_text('id,age,sex,y\nP1,50,f,1.5\nP2,61,m,2.5\n')
    ...     table = read_table(path, outcome="y")
    >>> table.X.shape, table.features, table.samples
    ((2, 3), ('age', 'sex=f', 'sex=m'), ('P1', 'P2'))
    """
    named = ColumnNames.of(outcome, id_column, outcome_id, always_include, categorical, drop)
    if samples not in ("rows", "columns"):
        raise ValueError(f'samples must be "rows" or "columns", got {samples!r}')
    missing, given = ("impute", dict(missing)) if isinstance(missing, Mapping) else (missing, {})
    if missing not in _POLICIES:
        raise ValueError(f"missing must be one of {', '.join(_POLICIES)}, or {{column: value}}, got {missing!r}")
    _check_values(given)
    with trusting(trust):
        parts = _read(source, outcome_table, named, delimiter, turned=samples == "columns")
    n_samples = len(parts.ids)
    parts = of_classes(parts, classes) if classes else parts
    if 0 in parts.raw.frame.shape:
        samples_left, features_left = parts.raw.frame.shape
        raise UnreadableInput(
            f"{parts.raw.where}: expected samples and features, got {counted(samples_left, 'sample')} "
            f"and {counted(features_left, 'feature')} beside ids and outcome; is this the right file, "
            "and the right delimiter?"
        )
    numeric = replace(parts.raw, frame=to_numeric(parts.raw, named.categorical))
    check_finite(numeric)
    found = _finish(replace(parts, raw=numeric), missing, given, named)
    return replace(found, report=replace(found.report, other_classes=n_samples - len(parts.ids)))


def _read(source: Any, outcome_table: Any, named: ColumnNames, delimiter: str | None, turned: bool) -> Parts:
    """Check all names against the headers, then read both tables."""
    first = open_source(source, delimiter, turned=turned)
    second = None if outcome_table is None else open_source(outcome_table, delimiter)
    if not turned:
        named.check(first.where, first.columns, second)
    # with samples in columns, each column holds all features, so none can be read by itself
    raw = first.read(None if turned and named.categorical else named.words)
    if turned:
        beside = [name for name in named.drop if name in raw.frame.columns]
        raw = _transposed(raw.without(beside), named.id_column)
        named = replace(named, id_column=None, drop=[name for name in named.drop if name not in beside])
        named.check(raw.where, raw.columns, second)
        raw = raw.without(named.drop)
    else:
        raw = with_ids(raw.without(named.drop), named.id_column, {*named.outcomes, *named.categorical})
    if second is None:
        return with_outcome(raw, named, None)
    return with_outcome(raw, named, read_second(second, named.outcome_id, named.categorical))


def _finish(parts: Parts, missing: str, given: Mapping[str, Any], named: ColumnNames) -> Table:
    where = parts.raw.where
    keep, gone, imputed = _resolve_missing(parts, missing, named.always_include)
    kept = parts if keep.all() else parts.rows(keep)  # avoid a needless copy
    frame = kept.raw.without(gone).frame
    if not len(frame) or not len(frame.columns):
        raise UnreadableInput(f"{where}: nothing is left after dropping missing values; use missing='impute'")
    encoded = one_hot(fill_missing(frame, where, given) if imputed else frame, where, named.categorical)
    constant = are_constant(encoded.X)
    report = TableReport(
        constant=tuple(np.array(encoded.features, dtype=object)[constant]),
        imputed=imputed,
        dropped_samples=tuple(i for i, stays in zip(parts.ids, keep, strict=True) if not stays),
        dropped_features=gone,
        codes=possible_codes(encoded),
    )
    y, outcome = kept.y, None
    if y is not None and len(y.columns) == 1:
        (outcome,) = y.columns
        y = y[outcome].to_numpy()
    return Table(encoded.X, encoded.features, kept.ids, y, outcome, encoded.groups, report)


def _resolve_missing(
    parts: Parts, policy: str, needed: Collection[str]
) -> tuple[npt.NDArray[np.bool_], tuple[str, ...], dict[str, int]]:
    """Return the rows to keep, the columns to drop, and the number of values to impute in each column."""
    frame, y = parts.raw.frame, parts.y
    counts = missing_counts(frame)
    no_outcome = np.zeros(len(frame), dtype=bool) if y is None else y.isna().any(axis=1).to_numpy()
    if policy == "error" and (counts or no_outcome.any()):
        _refuse_missing(parts, counts)
    keep = ~no_outcome
    if policy == "drop_samples" and counts:
        keep &= ~frame.isna().any(axis=1).to_numpy()
    gone = tuple(counts) if policy == "drop_features" else ()
    for name in set(gone) & set(needed):
        raise UnreadableInput(
            f"always_include: '{name}' has {counts[name]} missing values, but features with missing "
            "values are to be dropped; give missing='impute' or missing='drop_samples'"
        )
    return keep, gone, counts if policy == "impute" else {}


def _refuse_missing(parts: Parts, counts: dict[str, int]) -> NoReturn:
    """Raise an error that names the columns and files with missing values, and the options."""
    outcomes = {} if parts.y is None else missing_counts(parts.y)
    elsewhere = parts.second is not None and (bool(outcomes) or not parts.joined.isdisjoint(counts))
    here = not elsewhere or any(name not in parts.joined for name in counts)
    places = [*([parts.raw.where] if here else []), *([str(parts.second)] if elsewhere else [])]
    where = " and ".join(dict.fromkeys(places))
    # any choice drops samples without an outcome, which is never imputed
    others = ", missing='drop_features' or missing='impute'" if counts else " to leave these samples out"
    counts = {f"{name} (outcome)": n for name, n in outcomes.items()} | counts
    named = ", ".join(f"{shortened(name) or repr(name)} ({count})" for name, count in list(counts.items())[:5])
    more = f" and {len(counts) - 5} more columns" if len(counts) > 5 else ""
    raise MissingValues(
        f"{where}: expected no missing values, got some in {named}{more}; choose missing='drop_samples'{others}",
        outcomes,
    )


def _transposed(raw: RawTable, id_column: str | None) -> RawTable:
    """Transpose a table that has one feature per row."""
    frame = raw.frame
    if id_column is None and raw.ids is not None:
        names, body = list(raw.ids), frame
    else:
        chosen = id_column or str(frame.columns[0])
        check_column(raw, chosen, "a column of feature names")
        names, body = [str(value) for value in frame[chosen]], raw.without([chosen]).frame
    if not len(body.columns):
        raise UnreadableInput(f"{raw.where}: expected a column for each sample, got only feature names")
    check_names(names, raw.where, "rows (features)")
    turned = body.T.infer_objects()
    turned.columns = pd.Index(names)
    return RawTable(turned.reset_index(drop=True), raw.where, tuple(map(str, body.columns)))


def _check_values(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        number = isinstance(value, int | float | np.integer | np.floating) and bool(np.isfinite(value))
        if not number and not isinstance(value, str):
            raise ValueError(f"missing[{name!r}] must be text or a finite number, got {value!r}")
