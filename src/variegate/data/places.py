"""Read where features are: names with coordinates, or with chromosome and position as in genome maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..messages import counted
from .errors import UnreadableInput
from .frames import open_source
from .plink import read_variants, variant_names
from .raw import MISSING, RawTable, check_names
from .text import shortened

_CHROMOSOME = re.compile(r"#?(chr(om(osome)?)?|contig|seq(name|id)?|scaffold|linkage[ _.]?group)", re.IGNORECASE)
_ON_THE_GLOBE = re.compile("lon(gitude)?|lat(itude)?", re.IGNORECASE)
_SHOWN = 5  # names in messages
_PLINK = (".bim", ".map")


class Places(NamedTuple):
    """Names of M features, their coordinates (M, D), and the chromosome (or other line) of each, if known.

    With `lonlat` the coordinates are longitude and latitude.
    """

    names: tuple[str, ...]
    points: npt.NDArray[np.float64]
    blocks: tuple[str, ...] | None
    lonlat: bool = False


def read_places(path: str | Path) -> Places:
    r"""Read a table of places: names in the first column, then one or more columns of numbers.

    Two columns called lon and lat (or longitude and latitude), in either order, are places on the globe.
    A column called chromosome (chr, chrom, contig, …) says to which chromosome a position belongs. PLINK's .bim and
    .map files, which have no header, are recognised by their suffix.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "map.tsv")
    ...     _ = file.write_text("snp\tchr\tpos\nrs1\t1\t500\nrs2\tX\t700\n")
    ...     read_places(file)
    Places(names=('rs1', 'rs2'), points=array([[500.],
           [700.]]), blocks=('1', 'X'), lonlat=False)
    """
    if Path(path).suffix.lower() in _PLINK:
        variants = read_variants(path)
        points = variants[["position"]].to_numpy(float)
        return Places(tuple(variant_names(variants, path)), points, tuple(variants["chromosome"]))
    source = open_source(path)
    chromosome = [name for name in source.columns[1:] if _CHROMOSOME.fullmatch(name)]
    raw = source.read(chromosome)
    names = raw.ids if raw.ids is not None else tuple(map(str, raw.frame.iloc[:, 0]))
    if len(chromosome) > 1:
        raise UnreadableInput(f"{path}: expected one column of chromosomes, got {chromosome}; leave one out")
    frame = raw.frame if raw.ids is not None else raw.frame.iloc[:, 1:]
    blocks = _blocks(raw, chromosome[0]) if chromosome else None
    points = _points(raw, frame.drop(columns=chromosome))
    if blocks is not None and points.shape[1] != 1:
        columns = list(frame.columns.drop(chromosome))
        raise UnreadableInput(
            f"{path}: expected one column of positions beside '{chromosome[0]}', got {points.shape[1]}: {columns[:5]}"
            "; leave out the others"
        )
    check_names(names, str(path), "features")
    axes = [str(name).lower()[:3] for name in frame.columns if _ON_THE_GLOBE.fullmatch(str(name))]
    if sorted(axes) == ["lat", "lon"] and points.shape[1] == 2:
        return Places(names, points[:, ::-1] if axes[0] == "lat" else points, blocks, lonlat=True)
    return Places(names, points, blocks)


def _blocks(raw: RawTable, column: str) -> tuple[str, ...]:
    labels = [str(value) for value in raw.frame[column]]
    for row, label in enumerate(labels):
        if not label:
            raise UnreadableInput(f"{raw.place(row)}: expected a chromosome in '{column}', got none; fill it in")
    return tuple(labels)


def _points(raw: RawTable, frame: pd.DataFrame, what: str = "the place of a feature") -> npt.NDArray[np.float64]:
    """Return numbers, such as coordinates; every cell must be one."""
    if not len(frame.columns):
        raise UnreadableInput(f"{raw.where}: expected coordinates beside the names of features, got none")
    points = np.empty(frame.shape)
    for j, name in enumerate(frame.columns):
        points[:, j] = pd.to_numeric(frame[name], errors="coerce")
        wrong = np.flatnonzero(~np.isfinite(points[:, j]))
        if len(wrong):
            cell = frame[name].iloc[wrong[0]]
            got = "nothing" if pd.isna(cell) else f"'{shortened(str(cell))}'"
            raise UnreadableInput(
                f"{raw.place(int(wrong[0]))}: expected a number in '{shortened(str(name))}', {what}, "
                f"got {got} ({counted(len(wrong), 'such cell')}); fill it in"
            )
    return points


def rows_of(
    features: Sequence[str],
    names: Sequence[str],
    path: str | Path,
    option: str,
    droppable: bool = True,
    without: str = ", so that similarity comes from correlations",
) -> list[int]:
    """Return the row of each feature; all must be present. "sex=f" is also found as "sex".

    `option` is the option that named the file, and `without` says what happens without it; with `droppable` the error
    suggests dropping features.
    """
    row = {name: i for i, name in enumerate(names)}
    found = [row.get(name, row.get(name.partition("=")[0])) for name in features]
    missing = [name for name, i in zip(features, found, strict=True) if i is None]
    if missing:
        many = len(missing) > _SHOWN  # too many to type
        raise UnreadableInput(
            f"{path}: expected every feature, but {len(missing):,} of {len(features):,} are not in it "
            f"({', '.join(map(shortened, missing[:_SHOWN]))}{', …' if many else ''}); add them"
            f"{'' if many or not droppable else f', leave them out by drop={missing}'}, or give no {option}{without}"
        )
    return [i for i in found if i is not None]


def read_labels(path: str | Path) -> tuple[tuple[str, ...], list[str | None]]:
    r"""Read a table of two columns, features and their groups (blank: in none).

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "groups.csv")
    ...     _ = file.write_text("feature,group\na,1\nb,\n")
    ...     read_labels(file)
    (('a', 'b'), ['1', None])
    """
    raw, names = _two_columns(path, "group")
    labels = raw.frame.iloc[:, -1]
    return names, [None if pd.isna(label) or str(label) in MISSING else str(label) for label in labels]


def read_prices(path: str | Path) -> tuple[tuple[str, ...], npt.NDArray[np.float64]]:
    r"""Read a table of two columns, features and their prices.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "prices.csv")
    ...     _ = file.write_text("feature,price\na,1\nb,2.5\n")
    ...     read_prices(file)
    (('a', 'b'), array([1. , 2.5]))
    """
    raw, names = _two_columns(path, "price")
    prices = _points(raw, raw.frame.iloc[:, -1:], "the price of a feature")[:, 0]
    if (prices < 0).any():
        row = int((prices < 0).argmax())
        raise UnreadableInput(f"{raw.place(row)}: expected a price of at least 0, got {prices[row]:g}; correct it")
    return names, prices


def _two_columns(path: str | Path, second: str) -> tuple[RawTable, tuple[str, ...]]:
    """Return a table of features and one more column, and the features."""
    raw = open_source(path).read(None)
    columns = raw.frame.shape[1] + (raw.ids is not None)
    if columns != 2:
        raise UnreadableInput(f"{path}: expected two columns, feature and {second}, got {columns}; leave others out")
    names = raw.ids if raw.ids is not None else tuple(map(str, raw.frame.iloc[:, 0]))
    check_names(names, str(path), "features")
    return raw, names
