"""Turn options into the inputs of a fit: table, task, similarity, and notes on choices made for the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data import (
    MissingValues,
    Table,
    read_gene_sets,
    read_labels,
    read_network,
    read_places,
    read_prices,
    read_table,
    rows_of,
)
from ..messages import counted
from ..settings import Settings
from ..similarity import (
    SimilarityFeatures,
    from_annotations,
    from_coordinates,
    from_labels,
    from_network,
    from_positions,
)
from ..types import FloatArray
from .large_inputs import is_read_in_blocks, large_positions, read_large_table
from .messages import Failure
from .outcomes import naming_columns, read_outcome


@dataclass(frozen=True)
class Input:
    """A table and its outcome, ready to fit; `notes` say which choices were made for the user."""

    X: Any  # a data frame, or a table that is read in blocks
    y: NDArray[Any]
    task: str
    table: Table
    notes: tuple[str, ...]


def read_input(settings: Settings, *, cluster: bool = False) -> Input:
    """Read the table of a run."""
    if is_read_in_blocks(settings.table):
        X, table, notes = read_large_table(settings, cluster)
        with naming_columns(settings.table, settings.second, settings.columns, table):
            found = read_outcome(table.y, (), settings)
        return Input(X, found.y, found.task, table, (*notes, *found.notes))
    table = _read_table(settings)
    samples, features = counted(len(table.samples), "sample"), counted(len(table.features), "feature")
    notes = [f"read {samples} and {features} from {settings.table}", *_happened(table, settings.classes)]
    with naming_columns(settings.table, settings.second, settings.columns, table):
        found = read_outcome(table.y, table.features, settings)
    X = pd.DataFrame(table.X, columns=list(table.features), copy=False)
    return Input(X, found.y, found.task, table, (*notes, *found.notes))


def _read_table(settings: Settings) -> Table:
    try:
        return read_table(
            settings.table,
            list(settings.columns.values()),
            outcome_table=settings.second,
            classes=settings.classes,
            always_include=settings.always_include,
            drop=settings.drop,
            id_column=settings.id_column,
            samples=settings.samples,
            missing=settings.missing,
            categorical=settings.categorical,
        )
    except MissingValues as error:
        if settings.columns.get("time") not in error.outcomes:
            raise
        last = "but keep samples without the event: give the time when they were last seen"
        raise Failure(f"{error}; {last} in --time {settings.time}") from error


def _happened(table: Table, classes: tuple[str, ...]) -> list[str]:
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
        said.append(f"{names}: few distinct whole numbers, read as quantities; if they are codes, use --categorical")
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


def read_similarity(settings: Settings, features: tuple[str, ...]) -> tuple[Any, str]:
    """Return Φ of the features, or "columns", and a sentence that says which."""
    if settings.network:
        return _from_network(settings, features), f"similarity from the network {settings.network}"
    if settings.coordinates:
        return _from_places(settings, features), f"similarity from the coordinates in {settings.coordinates}"
    if settings.labels:
        return _from_labels(settings, features), f"similarity from the labels in {settings.labels}"
    return "columns", "similarity from the correlations of the columns"


def _from_network(settings: Settings, features: tuple[str, ...]) -> Any:
    placed = _to_choose_from(settings, features)
    try:
        phi = from_network(read_network(str(settings.network)), placed, rng=settings.seed)
    except ValueError as error:
        raise Failure(f"{settings.network}: {error}") from error
    return _with_others(phi, placed, features)


def _from_places(settings: Settings, features: tuple[str, ...]) -> Any:
    """One coordinate is a position on a line (chromosome, wavelength), two or more a point in space."""
    if is_read_in_blocks(settings.table):
        return large_positions(settings, features)
    path, seed = str(settings.coordinates), settings.seed
    places, placed = read_places(path), _to_choose_from(settings, features)
    rows = rows_of(placed, places.names, path, "coordinates")
    points = places.points[rows]
    if points.shape[1] > 1:
        phi = from_coordinates(points, settings.bandwidth or "mean", lonlat=places.lonlat, rng=seed)
    else:
        blocks = None if places.blocks is None else [places.blocks[i] for i in rows]
        phi = from_positions(points[:, 0], blocks, settings.bandwidth or "near", rng=seed)
    return _with_others(phi, placed, features)


def _from_labels(settings: Settings, features: tuple[str, ...]) -> Any:
    path, placed = str(settings.labels), _to_choose_from(settings, features)
    if path.lower().endswith((".gmt", ".gmt.gz")):
        return _with_others(from_annotations(read_gene_sets(path), placed), placed, features)
    names, labels = read_labels(path)
    rows = rows_of(placed, names, path, "labels")
    return _with_others(from_labels([labels[i] for i in rows]), placed, features)


def read_costs(settings: Settings, features: tuple[str, ...]) -> FloatArray:
    """Return the price of each feature (M,) given by --costs; NaN for those that are always included."""
    placed, found = _to_choose_from(settings, features), np.full(len(features), np.nan)
    names, prices = read_prices(str(settings.costs))
    rows = rows_of(placed, names, str(settings.costs), "costs", without=" and no --budget, but --size")
    found[np.isin(np.array(features, dtype=object), np.array(placed, dtype=object))] = prices[rows]
    return found


def _to_choose_from(settings: Settings, features: tuple[str, ...]) -> list[str]:
    """Return the features that are not always included; only these need an entry in the similarity file."""
    always = set(settings.always_include)
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
