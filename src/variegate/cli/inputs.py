"""Turn options into the inputs of a fit: table, task, similarity, and notes on choices made for the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data import (
    MissingValues,
    Table,
    read_gene_sets,
    read_groups,
    read_network,
    read_places,
    read_prices,
    read_table,
    rows_of,
    trusting,
)
from ..messages import Argument, counted
from ..similarity import (
    SimilarityFeatures,
    from_annotations,
    from_coordinates,
    from_groups,
    from_network,
    from_positions,
)
from ..types import FloatArray
from .large_inputs import is_read_in_blocks, large_positions, read_large_table
from .messages import Failure, as_option, told
from .outcomes import naming_columns, outcome_columns, read_outcome


@dataclass(frozen=True)
class Input:
    """A table and its outcome, ready to fit; `notes` say which choices were made for the user."""

    X: Any  # a data frame, or a table that is read in blocks
    y: NDArray[Any]
    task: str
    table: Table
    notes: tuple[str, ...]


def read_input(options: Mapping[str, Any], name: str | None = None) -> Input:
    """Read the table given by the options; notes call it `name`, by default its path."""
    with trusting(options["trust"]):
        return _read_input(options, name)


def _read_input(options: Mapping[str, Any], name: str | None) -> Input:
    if is_read_in_blocks(options["table"]):
        X, table, notes = read_large_table(options)
        with naming_columns(options, table.features, table.samples):
            found = read_outcome(table.y, (), options)
        return Input(X, found.y, found.task, table, (*notes, *found.notes))
    table = _read_table(options)
    samples, features = counted(len(table.samples), "sample"), counted(len(table.features), "feature")
    notes = [f"read {samples} and {features} from {name or options['table']}"]
    notes += _happened(table, options["classes"])
    with naming_columns(options, table.features, table.samples):
        found = read_outcome(table.y, table.features, options)
    X = pd.DataFrame(table.X, columns=list(table.features), copy=False)
    return Input(X, found.y, found.task, table, (*notes, *found.notes))


def _read_table(options: Mapping[str, Any]) -> Table:
    try:
        return read_table(
            options["table"],
            outcome_columns(options),
            outcome_table=options["outcome_table"],
            outcome_id=options["outcome_id"],
            classes=options["classes"] or (),
            always_include=options.get("always_include") or (),
            drop=options["exclude"] or (),
            **reading_options(options),
        )
    except MissingValues as error:
        if options["time"] not in error.outcomes:
            raise
        last = "but keep samples without the event: give the time when they were last seen"
        raise Failure(f"{told(error)}; {last} in --time {options['time']}") from error


def reading_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `read_table` that every command has as options."""
    return {
        "id_column": options["id_column"],
        "samples": options["samples"],
        "missing": options["missing"],
        "categorical": options["categorical"] or (),
        "delimiter": {"\\t": "\t", "tab": "\t"}.get(options["delimiter"], options["delimiter"]),
    }


def _happened(table: Table, classes: tuple[str, ...] | None) -> list[str]:
    """Describe what reading did to the data."""
    report, said = table.report, []
    if classes:
        kept = len(table.samples) + len(report.dropped_samples)
        said.append(f"kept {kept} of {kept + report.other_classes} samples, those of class {', '.join(classes)}")
    if report.dropped_samples:
        said.append(f"dropped {counted(len(report.dropped_samples), 'sample')} with missing values")
    if report.dropped_features:
        said.append(f"dropped {counted(len(report.dropped_features), 'feature')} with missing values")
    if report.imputed:
        values = counted(sum(report.imputed.values()), "missing value")
        said.append(f"imputed {values} in {counted(len(report.imputed), 'column')}")
    if report.codes:
        names = ", ".join(map(repr, report.codes[:5])) + (", …" if len(report.codes) > 5 else "")
        codes = as_option(Argument("categorical", list(report.codes[:5])))
        said.append(f"{names}: few distinct whole numbers, read as quantities; if they are codes, use {codes}")
    if looks_raw(table.X):
        said.append("the table looks like raw counts or intensities; logarithms, log2(x + 1), usually predict better")
    return said


def looks_raw(X: NDArray[Any]) -> bool:
    """Whether a table looks like expression before its logarithms are taken.

    It has many columns, none of its values is negative, and their scales differ. Of real tables: counts of reads
    (TCGA, up to 2 million, means of columns differ by a factor of 380) and intensities (colon, 20,903 and 18) do,
    logarithms of the former (21 and 5), spectra, genotypes and normalised intensities do not.
    """
    if X.shape[1] < 100 or not len(X) or X.min() < 0 or X.max() < 1000:
        return False
    low, high = np.quantile(X.mean(axis=0), (0.05, 0.95))
    return bool(high > 10 * low)


def read_similarity(options: Mapping[str, Any], features: tuple[str, ...]) -> tuple[Any, str]:
    """Return Φ of the features, or "columns", and a sentence that says which."""
    with trusting(options["trust"]):
        return _read_similarity(options, features)


def _read_similarity(options: Mapping[str, Any], features: tuple[str, ...]) -> tuple[Any, str]:
    if options["network"]:
        return _from_network(options, features), f"similarity from the network {options['network']}"
    if options["coordinates"]:
        return _from_places(options, features), f"similarity from the coordinates in {options['coordinates']}"
    if options["groups"]:
        return _from_group_file(options, features), f"similarity from the groups in {options['groups']}"
    return "columns", "similarity from the correlations of the columns"


def _from_network(options: Mapping[str, Any], features: tuple[str, ...]) -> Any:
    network, placed = read_network(options["network"]), _to_choose_from(options, features)
    try:
        phi = from_network(network, placed, rng=options["seed"], **_rank(options))
    except ValueError as error:
        raise Failure(f"{options['network']}: {error}") from error
    return _with_others(phi, placed, features)


def _from_places(options: Mapping[str, Any], features: tuple[str, ...]) -> Any:
    """One coordinate is a position on a line (chromosome, wavelength), two or more a point in space."""
    path, rank = options["coordinates"], _rank(options)
    if is_read_in_blocks(options["table"]):
        return large_positions(options, features)
    places = read_places(path)
    placed = _to_choose_from(options, features)
    rows = rows_of(placed, places.names, path, "coordinates")
    points, seed = places.points[rows], options["seed"]
    if points.shape[1] > 1 or options["lonlat"]:
        phi = from_coordinates(points, options["bandwidth"] or "mean", lonlat=options["lonlat"], rng=seed, **rank)
    else:
        blocks = None if places.blocks is None else [places.blocks[i] for i in rows]
        phi = from_positions(points[:, 0], blocks, options["bandwidth"] or "near", rng=seed, **rank)
    return _with_others(phi, placed, features)


def _from_group_file(options: Mapping[str, Any], features: tuple[str, ...]) -> Any:
    path, rank, placed = options["groups"], _rank(options), _to_choose_from(options, features)
    if path.lower().endswith((".gmt", ".gmt.gz")):
        return _with_others(from_annotations(read_gene_sets(path), placed, **rank), placed, features)
    names, groups = read_groups(path)
    rows = rows_of(placed, names, path, "groups")
    return _with_others(from_groups([groups[i] for i in rows], **rank), placed, features)


def read_costs(options: Mapping[str, Any], features: tuple[str, ...]) -> FloatArray:
    """Return the price of each feature (M,) given by --costs; NaN for those that are always included."""
    placed, found = _to_choose_from(options, features), np.full(len(features), np.nan)
    with trusting(options["trust"]):
        names, prices = read_prices(options["costs"])
        rows = rows_of(placed, names, options["costs"], "costs", without=" and no --budget, but --size")
    found[np.isin(np.array(features, dtype=object), np.array(placed, dtype=object))] = prices[rows]
    return found


def _to_choose_from(options: Mapping[str, Any], features: tuple[str, ...]) -> list[str]:
    """Return the features that are not always included; only these need an entry in the similarity file."""
    always = set(options.get("always_include") or ())
    return [name for name in features if name not in always and name.partition("=")[0] not in always]


def _with_others(phi: Any, placed: list[str], features: tuple[str, ...]) -> Any:
    """Return Φ for all features; those without a place are similar to no other."""
    if len(placed) == len(features):
        return phi.named(features)
    has_place = np.isin(np.array(features, dtype=object), np.array(placed, dtype=object))
    others = np.flatnonzero(~has_place)
    full = np.zeros((len(features), phi.shape[1] + len(others)))
    full[has_place, : phi.shape[1]] = phi
    full[others, phi.shape[1] + np.arange(len(others))] = 1.0
    return SimilarityFeatures(full, features, phi.trace_error)


def _rank(options: Mapping[str, Any]) -> dict[str, Any]:
    return {} if options["rank"] is None else {"rank": options["rank"]}
