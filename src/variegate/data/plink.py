"""PLINK's text files, which have no header: .bim and .map (variants), .fam (individuals)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from .errors import UnreadableInput, in_brief
from .text import read_bytes, shortened

_VARIANT = {0: "chromosome", 1: "name", 3: "position"}
_ALLELES = {4: "allele1", 5: "allele2"}
_FEW_VALUES = {"chromosome", *_ALLELES.values()}  # in millions of rows


def read_variants(path: str | Path, *, alleles: bool = False) -> pd.DataFrame:
    """Read chromosome, name and position (base pairs) of the variants in a .bim or .map file, and their alleles."""
    frame = _read(path, _VARIANT | _ALLELES if alleles else _VARIANT)
    position = pd.to_numeric(frame["position"], errors="coerce")
    wrong = np.flatnonzero(~np.isfinite(position))
    if len(wrong):
        got = shortened(" ".join(map(str, frame.iloc[wrong[0]])))
        raise UnreadableInput(
            f"{path}, line {wrong[0] + 1}: expected chromosome, name, distance and base pair, got '{got}'; "
            "is it PLINK's?"
        )
    return frame.assign(position=position)


def read_individuals(path: str | Path) -> pd.DataFrame:
    """Read family and name of the individuals in a .fam file."""
    return _read(path, {0: "family", 1: "sample"})


def _read(path: str | Path, columns: Mapping[int, str]) -> pd.DataFrame:
    kinds = {i: "category" if name in _FEW_VALUES else str for i, name in columns.items()}
    content = io.BytesIO(read_bytes(path))
    try:
        frame = pd.read_csv(content, sep=r"\s+", header=None, usecols=list(columns), dtype=kinds, na_filter=False)
    except Exception as error:  # the parser raises many types
        raise UnreadableInput(
            f"{path}: expected columns as PLINK writes them, but it cannot be read ({in_brief(error)})"
        ) from None
    return frame.set_axis(list(columns.values()), axis=1)
