"""Tables larger than memory: PLINK, zarr and .npy files, with the outcome in a second table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data import (
    DataWarning,
    RawTable,
    Table,
    TableReport,
    check_column,
    check_no_ids,
    read_places,
    rows_of,
    second_table,
    shortened,
)
from ..large import ArrayTable, LargeTable, SomeRows, WithColumns, open_genotypes, open_large_table, open_on_cluster
from ..messages import counted
from ..similarity import Positions
from .messages import Failure
from .outcomes import outcome_columns, outcome_name

LARGE = (".bed", ".zarr", ".npy")
IN_MEMORY = ("id_column", "exclude", "categorical", "classes", "delimiter", "compare", "frontier")
USUAL = {"samples": "rows", "missing": "error"}


def is_read_in_blocks(path: str) -> bool:
    """Whether a table is read in blocks, judged by its suffix."""
    return Path(path).suffix.lower() in LARGE


def read_large_table(options: Mapping[str, Any]) -> tuple[LargeTable, Table, list[str]]:
    """Return the rows of a large table that have an outcome, a Table with their outcome, and notes."""
    _check_outcome(options)
    _check_in_blocks(options)
    found = (open_on_cluster if options.get("cluster") else open_large_table)(options["table"])
    N, M = found.shape
    if not N or not M:
        raise Failure(f"{options['table']}: the table must have samples and features, got shape {(N, M)}")
    samples, names = _samples(found), names_of(found)
    second = second_table(options["outcome_table"], options["outcome_id"])
    y, where = _outcomes(options, second), second.where
    if not len(y):
        raise Failure(f"{where}: {outcome_name(options)} must have an outcome for some sample, got none")
    rows = _known_rows(options, samples, y.index, where, "has an outcome in it")
    notes = [f"opened {counted(N, 'sample')} and {counted(M, 'feature')} in {options['table']}"]
    if len(rows) < N:
        notes.append(f"dropped {counted(N - len(rows), 'sample')} without an outcome in {where}")
    ids = samples[rows]
    chosen = found if len(rows) == N else SomeRows(found, rows)
    further = [name for name in options.get("always_include") or () if name not in set(names)]
    if further:
        _check_apart(further, outcome_columns(options))
        chosen = WithColumns(chosen, _covariates(second, further, ids))
        names = np.concatenate([names, np.array(further, dtype=object)])
    outcome, columns = y.loc[ids].reset_index(drop=True), list(y.columns)
    about = Table(
        X=np.empty((len(rows), 0)),
        features=tuple(map(str, names)),
        samples=tuple(ids),
        y=outcome[columns[0]].to_numpy() if len(columns) == 1 else outcome,
        outcome=columns[0] if len(columns) == 1 else None,
        groups=(None,) * len(names),
        report=TableReport(),
    )
    return chosen, about, notes


class NewSamples(NamedTuple):
    """Samples to predict: their table, their ids, and what their counts are proportional to, if that was given."""

    table: LargeTable
    ids: NDArray[Any]
    exposure: NDArray[Any] | None


def read_new_samples(options: Mapping[str, Any], always: list[str]) -> NewSamples:
    """Open a large table for predictions; the exposure and columns of `always` that it lacks are elsewhere."""
    _check_in_blocks(options)
    found, exposure = open_large_table(options["table"]), options["exposure"]
    known, samples = set(names_of(found)), _samples(found)
    further = [name for name in always if name not in known]
    wanted = further if exposure is None else [*further, exposure]
    if not wanted:
        return NewSamples(found, samples, None)
    if not options["outcome_table"]:
        column = shortened(wanted[0])
        raise Failure(f"{options['table']} has no column '{column}'; give --outcome-table FILE with that column")
    second = second_table(options["outcome_table"], options["outcome_id"])
    rows = _known_rows(options, samples, second.ids or (), second.where, "is in it")
    if len(rows) < len(samples):
        left = f"{len(samples) - len(rows)} of {len(samples)} samples are not in {second.where} and were left out"
        warnings.warn(left, DataWarning, stacklevel=2)
        found, samples = SomeRows(found, rows), samples[rows]
    if further:
        found = WithColumns(found, _covariates(second, further, samples))
    sizes = None if exposure is None else _covariates(second, [exposure], samples).columns(np.array([0]))[:, 0]
    return NewSamples(found, samples, sizes)


def names_of(table: LargeTable) -> NDArray[Any]:
    """Return the names of the columns (M,); x0, x1, … if they have none."""
    return table.names if table.names is not None else np.array([f"x{j}" for j in range(table.shape[1])], dtype=object)


def _samples(table: LargeTable) -> NDArray[Any]:
    """Return the ids of the samples (N,) as text; 1, 2, … if the table has none."""
    ids = range(1, table.shape[0] + 1) if table.samples is None else table.samples
    return np.array([str(i) for i in ids], dtype=object)


def _known_rows(
    options: Mapping[str, Any], samples: NDArray[Any], known: Iterable[Any], where: str, what: str
) -> NDArray[np.int64]:
    """Return the rows whose samples are known in the second table; there must be one."""
    ids = [str(i) for i in known]
    rows = np.flatnonzero(np.isin(samples.astype(str), ids))
    if not len(rows):
        raise Failure(
            f"{where}: no sample of {options['table']} {what}: ids are {str(samples[0])!r} in {options['table']}, "
            f"{ids[0] if ids else ''!r} in {where}; use the same ids in both, or give --outcome-id COLUMN"
        )
    return rows


def _check_apart(further: list[str], outcomes: list[str]) -> None:
    for name in further:
        if name in outcomes:
            raise Failure(f"--always-include: '{shortened(name)}' belongs to the outcome; give others")


def _covariates(second: RawTable, names: list[str], ids: NDArray[Any]) -> ArrayTable:
    """Return columns of the outcome table for these samples, with NaN for missing entries."""
    for name in names:
        check_column(second, name, "a column to always include")
    check_no_ids(second, names)
    frame = second.frame[names].set_axis(pd.Index(second.ids or (), dtype=object))
    _check_once(frame, second.where)
    frame = frame.loc[ids]
    try:
        values = frame.replace("", np.nan).astype(float).to_numpy()
    except ValueError as error:
        raise Failure(
            f"{second.where}: {', '.join(names)} must hold numbers because the main table is read in blocks "
            f"({error}); encode categories as columns of 0 and 1"
        ) from None
    for name, column in zip(names, values.T, strict=True):
        if np.isinf(column).any():
            where = f"{second.where}, column '{shortened(name)}', sample '{shortened(ids[np.isinf(column).argmax()])}'"
            raise Failure(f"{where}: must be finite, got infinity; correct it, or leave it blank if missing")
    return ArrayTable(values, np.array(names, dtype=object))


def large_positions(options: Mapping[str, Any], features: tuple[str, ...]) -> Positions:
    """Read the positions of all features, from the table's own .bim or from another file."""
    path, table = Path(options["coordinates"]), Path(options["table"])
    how = {"bandwidth": options["bandwidth"] or "near", "rank": options["rank"], "seed": options["seed"]}
    if table.suffix.lower() == ".bed" and table.with_suffix(".bim").samefile(path):
        found = open_genotypes(table)
        return _placed(found.positions, found.chromosomes, len(features), how)
    places = read_places(path)
    if places.points.shape[1] > 1 or options["lonlat"]:
        raise Failure(f"{path}: must have one coordinate per feature because {table} is read in blocks; keep one")
    known = set(places.names)
    always = set(options.get("always_include") or ()) - known
    rows = rows_of([name for name in features if name not in always], places.names, path, "coordinates", False)
    blocks = None if places.blocks is None else np.array(places.blocks, dtype=object)[rows]
    return _placed(places.points[rows, 0], blocks, len(features), how)


def _placed(positions: NDArray[Any], blocks: NDArray[Any] | None, n: int, how: Mapping[str, Any]) -> Positions:
    """Return positions of n features; the last ones are covariates, which have no position and are never selected."""
    further = n - len(positions)
    if blocks is not None:
        blocks = np.concatenate([blocks, np.array([""] * further, dtype=object)])
    return Positions.of(np.concatenate([positions, np.zeros(further)]), blocks, **how)


def _outcomes(options: Mapping[str, Any], second: RawTable) -> pd.DataFrame:
    """Return the known outcomes, indexed by sample id."""
    columns = outcome_columns(options)
    for name in columns:
        check_column(second, name, "an outcome column")
    y = second.frame[columns].set_axis(pd.Index(second.ids or (), dtype=object))
    y = y[y.notna().all(axis=1) & (y.astype(str).apply(lambda c: c.str.strip()) != "").all(axis=1)]
    _check_once(y, second.where)
    return y


def _check_once(frame: pd.DataFrame, where: str) -> None:
    if frame.index.duplicated().any():
        raise Failure(f"{where}: sample {frame.index[frame.index.duplicated()][0]!r} occurs twice; remove one")


def _check_outcome(options: Mapping[str, Any]) -> None:
    if "methods" in options:
        raise Failure(f"variegate compare needs a table in memory, but {options['table']} is read in blocks")
    if not options["outcome_table"]:
        raise Failure(
            f"{options['table']} has no outcome; give --outcome FILE:COLUMN, or --outcome-table FILE with the column"
        )


def _check_in_blocks(options: Mapping[str, Any]) -> None:
    """Reject options that need a table in memory."""
    given = [name for name in IN_MEMORY if options.get(name)]
    given += [name for name, usual in USUAL.items() if options.get(name, usual) != usual]
    if given:
        raise Failure(
            f"--{given[0].replace('_', '-')} needs a table in memory, but {options['table']} is read in blocks; "
            "remove it"
        )
