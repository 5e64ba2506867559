"""PLINK's text files, which have no header: .bim and .map (variants), .fam (individuals)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import UnreadableInput, in_brief
from .raw import check_names
from .text import read_bytes, shortened

_VARIANT = {0: "chromosome", 1: "name", 3: "position"}
_ALLELES = {4: "allele1", 5: "allele2"}
NONE: Mapping[int, str] = MappingProxyType({})
_FEW_VALUES = {"chromosome", *_ALLELES.values()}  # in millions of rows


def read_variants(path: str | Path) -> pd.DataFrame:
    """Read chromosome, name, position (base pairs) and, if there are any, alleles of a .bim or .map file."""
    frame = _read(path, _VARIANT, _ALLELES)
    position = pd.to_numeric(frame["position"], errors="coerce")
    wrong = np.flatnonzero(~np.isfinite(position))
    if len(wrong):
        got = shortened(" ".join(map(str, frame.iloc[wrong[0]])))
        raise UnreadableInput(
            f"{path}, line {wrong[0] + 1}: expected chromosome, name, distance and base pair, got '{got}'; "
            "is it PLINK's?"
        )
    return frame.assign(position=position)


def variant_names(variants: pd.DataFrame, path: str | Path) -> npt.NDArray[np.object_]:
    """Return the names of variants (M,); duplicates such as "." are replaced by their place and alleles.

    >>> places = {"chromosome": [1, 1, 2], "name": [".", ".", "rs3"], "position": [5, 9, 7], "allele1": list("ACA")}
    >>> variant_names(pd.DataFrame(places), "x.bim").tolist()
    ['1:5:A', '1:9:C', 'rs3']
    """
    found = np.array(variants["name"], dtype=object)
    twice = variants["name"].duplicated(keep=False).to_numpy()
    if twice.any():
        some = variants.loc[twice].drop(columns="name")
        found[twice] = [":".join(place) for place in zip(*(some[c].astype(str) for c in some), strict=True)]
        check_names(found.tolist(), str(path), "variants")
    return found


def read_individuals(path: str | Path) -> pd.DataFrame:
    """Read family and name of the individuals in a .fam file."""
    return _read(path, {0: "family", 1: "sample"})


def _read(path: str | Path, columns: Mapping[int, str], optional: Mapping[int, str] = NONE) -> pd.DataFrame:
    names = {**columns, **optional}
    kinds = {i: "category" if name in _FEW_VALUES else str for i, name in names.items()}
    content = io.BytesIO(read_bytes(path))
    try:
        width = len(content.readline().split())
        content.seek(0)
        known = [i for i in names if i in columns or i < width]
        frame = pd.read_csv(content, sep=r"\s+", header=None, usecols=known, dtype=kinds, na_filter=False)
    except Exception as error:  # the parser raises many types
        raise UnreadableInput(
            f"{path}: expected columns as PLINK writes them, but it cannot be read ({in_brief(error)})"
        ) from None
    return frame.rename(columns=names)
