"""Tables larger than memory on the command line: PLINK, zarr and .npy files, and their outcome in a second table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data import Table
from ..data.outcome import check_column, second_table
from ..data.places import read_places, rows_of
from ..data.table import TableReport
from ..large import LargeTable, open_large_table, open_on_cluster
from ..large.genotypes import open_genotypes
from ..large.rows import SomeRows
from ..similarity import Positions
from .messages import Failure
from .outcomes import outcome_columns

LARGE = (".bed", ".zarr", ".npy")
IN_MEMORY = ("id_column", "exclude", "categorical", "classes", "delimiter", "compare", "frontier", "methods")
USUAL = {"samples": "rows", "missing": "error"}


def is_large(path: str) -> bool:
    """Whether a table is read in blocks, by the ending of its name."""
    return Path(path).suffix.lower() in LARGE


def read_large_table(options: Mapping[str, Any]) -> tuple[LargeTable, Table, list[str]]:
    """The rows of a large table whose outcome is known, their outcome, and notes."""
    _check_options(options)
    found = (open_on_cluster if options.get("cluster") else open_large_table)(options["table"])
    N, M = found.shape
    samples = found.samples if found.samples is not None else np.array([str(i + 1) for i in range(N)], dtype=object)
    names = found.names if found.names is not None else np.array([f"x{j}" for j in range(M)], dtype=object)
    y, where = _outcomes(options)
    rows = np.flatnonzero(np.isin(samples.astype(str), y.index.astype(str)))
    if not len(rows):
        raise Failure(
            f"{where}: no sample of {options['table']} has an outcome there: {str(samples[0])!r} against "
            f"{str(y.index[0]) if len(y) else ''!r}; use the same ids in both, or say --outcome-id COLUMN"
        )
    notes = [f"opened {N:,} samples and {M:,} features in {options['table']}"]
    if len(rows) < N:
        notes.append(f"{N - len(rows):,} samples have no outcome in {where} and are left out")
    outcome, columns = y.loc[samples[rows].astype(str)].reset_index(drop=True), list(y.columns)
    about = Table(
        X=np.empty((len(rows), 0)),
        features=tuple(map(str, names)),
        samples=tuple(map(str, samples[rows])),
        y=outcome[columns[0]].to_numpy() if len(columns) == 1 else outcome,
        outcome=columns[0] if len(columns) == 1 else None,
        groups=(None,) * M,
        report=TableReport(),
    )
    return (found if len(rows) == N else SomeRows(found, rows)), about, notes


def large_positions(options: Mapping[str, Any], features: tuple[str, ...]) -> Positions:
    """Positions of all features, from the table's own .bim or from another file."""
    path, table = Path(options["coordinates"]), Path(options["table"])
    how = {"bandwidth": options["bandwidth"] or "near", "rank": options["rank"], "seed": options["seed"]}
    if table.suffix.lower() == ".bed" and table.with_suffix(".bim").samefile(path):
        found = open_genotypes(table)
        return Positions.of(found.positions, found.chromosomes, **how)
    places = read_places(path)
    if places.points.shape[1] > 1 or options["lonlat"]:
        raise Failure(f"{path}: expected one position of each feature, since {table} is read in blocks; leave one")
    rows = rows_of(features, places.names, path, "the place")
    blocks = None if places.blocks is None else np.array(places.blocks, dtype=object)[rows]
    return Positions.of(places.points[rows, 0], blocks, **how)


def _outcomes(options: Mapping[str, Any]) -> tuple[pd.DataFrame, str]:
    """The outcomes of the samples that have them, by sample id, and the place that they are from."""
    second = second_table(options["outcome_table"], options["outcome_id"], None)
    columns = outcome_columns(options)
    for name in columns:
        check_column(second, name, "an outcome column")
    y = second.frame[columns].set_axis(pd.Index(second.ids or (), dtype=object))
    y = y[y.notna().all(axis=1) & (y.astype(str).apply(lambda c: c.str.strip()) != "").all(axis=1)]
    if y.index.duplicated().any():
        raise Failure(f"{second.where}: the sample {y.index[y.index.duplicated()][0]!r} is there twice; leave one out")
    return y, second.where


def _check_options(options: Mapping[str, Any]) -> None:
    if not options["outcome_table"]:
        raise Failure(
            f"{options['table']} holds no outcome: give --outcome FILE:COLUMN, or --outcome-table FILE with the column"
        )
    given = [name for name in IN_MEMORY if options.get(name)]
    given += [name for name, usual in USUAL.items() if options.get(name, usual) != usual]
    if given:
        raise Failure(
            f"--{given[0].replace('_', '-')} is for tables in memory, and {options['table']} is read in blocks; "
            "leave it out"
        )
