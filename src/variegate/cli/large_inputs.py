"""Tables larger than memory: PLINK, zarr and .npy files, with the outcome in a second table."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from ..settings import Settings
from ..similarity import Positions
from .messages import Failure

LARGE = (".bed", ".zarr", ".npy")
IN_MEMORY = ("id_column", "drop", "categorical", "classes", "compare", "frontier", "samples", "missing")


def is_read_in_blocks(path: str) -> bool:
    """Whether a table is read in blocks, judged by its suffix."""
    return Path(path).suffix.lower() in LARGE


def read_large_table(settings: Settings, cluster: bool) -> tuple[LargeTable, Table, list[str]]:
    """Return the rows of a large table that have an outcome, a Table with their outcome, and notes."""
    check_in_blocks(settings)
    if settings.second is None:
        raise Failure(f"{settings.table} has no outcome; give --outcome FILE:COLUMN")
    found = (open_on_cluster if cluster else open_large_table)(settings.table)
    N, M = found.shape
    if not N or not M:
        raise Failure(f"{settings.table}: the table must have samples and features, got shape {(N, M)}")
    samples, names = _samples(found), names_of(found)
    second = second_table(settings.second, None)
    y, where = _outcomes(list(settings.columns.values()), second), second.where
    if not len(y):
        raise Failure(f"{where}: {settings.outcome_name} must have an outcome for some sample, got none")
    rows = _known_rows(settings.table, samples, y.index, where, "has an outcome in it")
    notes = [f"opened {counted(N, 'sample')} and {counted(M, 'feature')} in {settings.table}"]
    if len(rows) < N:
        notes.append(f"dropped {counted(N - len(rows), 'sample')} without an outcome in {where}")
    ids = samples[rows]
    chosen = found if len(rows) == N else SomeRows(found, rows)
    further = [name for name in settings.always_include if name not in set(names)]
    if further:
        _check_apart(further, list(settings.columns.values()))
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


@dataclass(frozen=True)
class NewData:
    """What `variegate predict` was asked."""

    model: str
    table: str
    panel: bool
    samples: str
    missing: str
    id_column: str | None
    categorical: tuple[str, ...]
    outcome_table: str | None
    exposure: str | None
    level: float


class NewSamples(NamedTuple):
    """Samples to predict: their table, their ids, and what their counts are proportional to, if that was given."""

    table: LargeTable
    ids: NDArray[Any]
    exposure: NDArray[Any] | None


def read_new_samples(new: NewData, always: list[str]) -> NewSamples:
    """Open a large table for predictions; the exposure and columns of `always` that it lacks are elsewhere."""
    check_in_blocks(new)
    found = open_large_table(new.table)
    known, samples = set(names_of(found)), _samples(found)
    further = [name for name in always if name not in known]
    wanted = further if new.exposure is None else [*further, new.exposure]
    if not wanted:
        return NewSamples(found, samples, None)
    if not new.outcome_table:
        column = shortened(wanted[0])
        raise Failure(f"{new.table} has no column '{column}'; give --outcome-table FILE with that column")
    second = second_table(new.outcome_table, None)
    rows = _known_rows(new.table, samples, second.ids or (), second.where, "is in it")
    if len(rows) < len(samples):
        left = f"{len(samples) - len(rows)} of {len(samples)} samples are not in {second.where} and were left out"
        warnings.warn(left, DataWarning, stacklevel=2)
        found, samples = SomeRows(found, rows), samples[rows]
    if further:
        found = WithColumns(found, _covariates(second, further, samples))
    sizes = None if new.exposure is None else _covariates(second, [new.exposure], samples).columns(np.array([0]))[:, 0]
    return NewSamples(found, samples, sizes)


def names_of(table: LargeTable) -> NDArray[Any]:
    """Return the names of the columns (M,); x0, x1, … if they have none."""
    return table.names if table.names is not None else np.array([f"x{j}" for j in range(table.shape[1])], dtype=object)


def _samples(table: LargeTable) -> NDArray[Any]:
    """Return the ids of the samples (N,) as text; 1, 2, … if the table has none."""
    ids = range(1, table.shape[0] + 1) if table.samples is None else table.samples
    return np.array([str(i) for i in ids], dtype=object)


def _known_rows(table: str, samples: NDArray[Any], known: Iterable[Any], where: str, what: str) -> NDArray[np.int64]:
    """Return the rows whose samples are known in the second table; there must be one."""
    ids = [str(i) for i in known]
    rows = np.flatnonzero(np.isin(samples.astype(str), ids))
    if not len(rows):
        raise Failure(
            f"{where}: no sample of {table} {what}: ids are {str(samples[0])!r} in {table}, "
            f"{ids[0] if ids else ''!r} in {where}; use the same ids in both, in the first column of {where}"
        )
    return rows


def _check_apart(further: list[str], outcomes: list[str]) -> None:
    for name in further:
        if name in outcomes:
            raise Failure(f"always_include: '{shortened(name)}' belongs to the outcome; give others")


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


def large_positions(settings: Settings, features: tuple[str, ...]) -> Positions:
    """Read the positions of all features, from the table's own .bim or from another file."""
    path, table = Path(str(settings.coordinates)), Path(settings.table)
    how = {"bandwidth": settings.bandwidth or "near", "rank": None, "seed": settings.seed}
    if table.suffix.lower() == ".bed" and table.with_suffix(".bim").samefile(path):
        found = open_genotypes(table)
        return _placed(found.positions, found.chromosomes, len(features), how)
    places = read_places(path)
    if places.points.shape[1] > 1:
        raise Failure(f"{path}: must have one coordinate per feature because {table} is read in blocks; keep one")
    always = set(settings.always_include) - set(places.names)
    rows = rows_of([name for name in features if name not in always], places.names, path, "coordinates", False)
    blocks = None if places.blocks is None else np.array(places.blocks, dtype=object)[rows]
    return _placed(places.points[rows, 0], blocks, len(features), how)


def _placed(positions: NDArray[Any], blocks: NDArray[Any] | None, n: int, how: Mapping[str, Any]) -> Positions:
    """Return positions of n features; the last ones are covariates, which have no position and are never selected."""
    further = n - len(positions)
    if blocks is not None:
        blocks = np.concatenate([blocks, np.array([""] * further, dtype=object)])
    return Positions.of(np.concatenate([positions, np.zeros(further)]), blocks, **how)


def _outcomes(columns: list[str], second: RawTable) -> pd.DataFrame:
    """Return the known outcomes, indexed by sample id."""
    for name in columns:
        check_column(second, name, "an outcome column")
    y = second.frame[columns].set_axis(pd.Index(second.ids or (), dtype=object))
    y = y[y.notna().all(axis=1) & (y.astype(str).apply(lambda c: c.str.strip()) != "").all(axis=1)]
    _check_once(y, second.where)
    return y


def _check_once(frame: pd.DataFrame, where: str) -> None:
    if frame.index.duplicated().any():
        raise Failure(f"{where}: sample {frame.index[frame.index.duplicated()][0]!r} occurs twice; remove one")


def check_in_blocks(given: Any) -> None:
    """Reject settings that need a table in memory."""
    for name in IN_MEMORY:
        if getattr(given, name, None) not in (None, (), False, "rows", "error"):
            option = f"--{name.replace('_', '-')}"
            raise Failure(f"{option} needs a table in memory, but {given.table} is read in blocks; remove it")
