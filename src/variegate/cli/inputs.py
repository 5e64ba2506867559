"""From options to what a fit takes: a table, a task, a similarity, and notes on what was decided on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from ..data import Table, read_gene_sets, read_network, read_table
from ..data.frames import open_source
from ..data.text import trusting
from ..messages import Argument
from ..similarity import from_annotations, from_coordinates, from_groups, from_network
from .large_inputs import is_large, read_large_table
from .messages import Failure, as_option
from .outcomes import outcome_columns, read_outcome


@dataclass(frozen=True)
class Input:
    """A table with its outcome, ready for a fit; `notes` say what was decided for the user."""

    X: Any  # a data frame, or a table that is read in blocks
    y: NDArray[Any]
    task: str
    table: Table
    notes: tuple[str, ...]


def read_input(options: Mapping[str, Any], told: str | None = None) -> Input:
    """Read the table that the options name; `told` is what notes call it, if not by its path."""
    with trusting(options["trust"]):
        return _read_input(options, told)


def _read_input(options: Mapping[str, Any], told: str | None) -> Input:
    if is_large(options["table"]):
        X, table, notes = read_large_table(options)
        found = read_outcome(table.y, (), options)
        return Input(X, found.y, found.task, table, (*notes, *found.notes))
    table = read_table(
        options["table"],
        outcome_columns(options),
        outcome_table=options["outcome_table"],
        outcome_id=options["outcome_id"],
        classes=options["classes"] or (),
        always_include=options.get("always_include") or (),
        drop=options["exclude"] or (),
        **reading_options(options),
    )
    notes = [f"read {len(table.samples)} samples and {len(table.features)} features from {told or options['table']}"]
    notes += _happened(table, options["classes"])
    found = read_outcome(table.y, table.features, options)
    X = pd.DataFrame(table.X, columns=list(table.features), copy=False)
    return Input(X, found.y, found.task, table, (*notes, *found.notes))


def reading_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What `read_table` takes wherever a table is read."""
    return {
        "id_column": options["id_column"],
        "samples": options["samples"],
        "missing": options["missing"],
        "categorical": options["categorical"] or (),
        "delimiter": {"\\t": "\t", "tab": "\t"}.get(options["delimiter"], options["delimiter"]),
    }


def _happened(table: Table, classes: tuple[str, ...] | None) -> list[str]:
    """What reading did to the data."""
    report, said = table.report, []
    if classes:
        kept = len(table.samples) + len(report.dropped_samples)
        said.append(f"kept {kept} of {kept + report.other_classes} samples, those of class {', '.join(classes)}")
    if report.dropped_samples:
        said.append(f"left out {len(report.dropped_samples)} samples with missing values")
    if report.dropped_features:
        said.append(f"left out {len(report.dropped_features)} features with missing values")
    if report.imputed:
        said.append(f"imputed {sum(report.imputed.values())} missing values in {len(report.imputed)} columns")
    if report.constant:
        said.append(f"{len(report.constant)} features are constant and cannot be selected")
    if report.codes:
        names = ", ".join(map(repr, report.codes[:5])) + (", …" if len(report.codes) > 5 else "")
        codes = as_option(Argument("categorical", list(report.codes[:5])))
        said.append(f"{names}: few whole numbers, taken for quantities; if they are codes, say {codes}")
    return said


def read_similarity(options: Mapping[str, Any], features: tuple[str, ...]) -> tuple[Any, str]:
    """Φ of the features, or "columns", and a sentence about it."""
    with trusting(options["trust"]):
        return _read_similarity(options, features)


def _read_similarity(options: Mapping[str, Any], features: tuple[str, ...]) -> tuple[Any, str]:
    if options["network"]:
        return _from_network(options, features), f"similarity from the network {options['network']}"
    if options["coordinates"]:
        return _from_places(options, features), f"similarity from the coordinates in {options['coordinates']}"
    if options["groups"]:
        return _from_group_file(options["groups"], features), f"similarity from the groups in {options['groups']}"
    return "columns", "similarity from the correlations of the columns"


def _from_network(options: Mapping[str, Any], features: tuple[str, ...]) -> Any:
    network = read_network(options["network"])
    try:
        return from_network(network, features, rng=options["seed"])
    except ValueError as error:
        raise Failure(f"{options['network']}: {error}") from error


def _from_places(options: Mapping[str, Any], features: tuple[str, ...]) -> Any:
    path = options["coordinates"]
    raw = open_source(path).read()
    first = str(raw.frame.columns[0])
    places = read_table(path, id_column=first if raw.ids is None else None)
    rows = _rows_of(features, places.samples, path)
    return from_coordinates(places.X[rows], lonlat=options["lonlat"], rng=options["seed"]).named(features)


def _from_group_file(path: str, features: tuple[str, ...]) -> Any:
    if path.lower().endswith((".gmt", ".gmt.gz")):
        return from_annotations(read_gene_sets(path), features).named(features)
    raw = open_source(path).read()
    columns = raw.frame.shape[1]
    if columns != 2 - (raw.ids is not None):
        raise Failure(f"{path}: expected two columns, feature and group, got {columns}")
    names = list(raw.ids) if raw.ids is not None else [str(v) for v in raw.frame.iloc[:, 0]]
    groups = raw.frame.iloc[:, -1].tolist()
    rows = _rows_of(features, tuple(names), path)
    return from_groups([groups[i] for i in rows]).named(features)


def _rows_of(features: tuple[str, ...], names: tuple[str, ...], path: str) -> list[int]:
    """The row of each feature; all must be there."""
    row = {name: i for i, name in enumerate(names)}
    # the columns of a category are found by its name, too
    found = [row.get(name, row.get(name.partition("=")[0])) for name in features]
    missing = [name for name, i in zip(features, found, strict=True) if i is None]
    if missing:
        raise Failure(
            f"{path}: {len(missing)} of {len(features)} features are not in it, for instance {missing[0]!r}; "
            "add them, or leave them out with --exclude"
        )
    return [i for i in found if i is not None]
