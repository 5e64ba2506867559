"""PLINK's binary genotypes: .bed with its .bim and .fam."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import UnreadableInput
from ..data.errors import optional
from ..types import IntArray
from .protocol import Block, Work, blocks_of, here

MAGIC = b"\x6c\x1b\x01"
MISSING = -127  # bed-reader's code in int8


@dataclass(frozen=True, eq=False)
class Genotypes:
    """Counts of an allele (0, 1, 2) in a .bed file, decoded block by block; two bits a genotype on disk.

    Missing genotypes count as the mean of their variant.
    """

    path: Path
    bim: Any  # data frame: chromosome, name, position, alleles
    fam: Any  # data frame: family, sample

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return len(self.fam), len(self.bim)

    @property
    def names(self) -> npt.NDArray[Any]:
        """Names of the variants (M,)."""
        return np.asarray(self.bim["name"], dtype=object)

    @property
    def samples(self) -> npt.NDArray[Any]:
        """Names of the individuals (N,)."""
        return np.asarray(self.fam["sample"], dtype=object)

    @cached_property
    def _bed(self) -> Any:
        bed_reader = optional("bed_reader", "genotypes")
        return bed_reader.open_bed(self.path, iid_count=self.shape[0], sid_count=self.shape[1], properties={})

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Some variants (N, |S|), NaN where missing."""
        return np.ascontiguousarray(self._bed.read(np.s_[:, S], dtype="float32"))

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """One pass, in blocks of variants."""
        return here(blocks_of(self.shape), self._read, work)

    def _read(self, block: Block) -> npt.NDArray[Any]:
        return np.asarray(self._bed.read(np.s_[:, block.columns], dtype="float32", order="F", num_threads=1))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "bim": self.bim, "fam": self.fam}


def open_genotypes(path: str | Path) -> Genotypes:
    """A .bed file with its .bim and .fam beside it."""
    import pandas as pd

    path = Path(path)
    _check_exists(path)
    fam = _side_file(path.with_suffix(".fam"), 6, ["family", "sample"], pd)
    bim = _side_file(
        path.with_suffix(".bim"), 6, ["chromosome", "name", "distance", "position", "allele1", "allele2"], pd
    )
    twice = bim["name"].duplicated()
    if twice.any():  # such as "."
        bim["name"] = np.where(twice, bim["chromosome"] + ":" + bim["position"] + ":" + bim["allele1"], bim["name"])
    _check_size(path, len(fam), len(bim))
    bim["position"] = pd.to_numeric(bim["position"], errors="coerce")
    return Genotypes(path, bim, fam)


def _check_exists(path: Path) -> None:
    for name in (path, path.with_suffix(".bim"), path.with_suffix(".fam")):
        if not name.is_file():
            raise UnreadableInput(
                f"{name}: expected a file, found none; a .bed file needs its .bim and .fam beside it"
            )
    with open(path, "rb") as file:
        magic = file.read(3)
    if magic != MAGIC:
        known = magic[:2] == MAGIC[:2]
        what = "individual-major, write it anew by plink --make-bed" if known else "no PLINK binary file"
        raise UnreadableInput(f"{path}: expected genotypes by variant, got {what}")


def _check_size(path: Path, n: int, m: int) -> None:
    """The size of the file follows from the numbers of individuals and variants."""
    expected, found = 3 + m * (-(-n // 4)), path.stat().st_size
    if found != expected:
        cut = "is cut short" if found < expected else "does not match them"
        raise UnreadableInput(
            f"{path}: expected {expected:,} bytes for the {n:,} individuals of {path.with_suffix('.fam').name} and "
            f"the {m:,} variants of {path.with_suffix('.bim').name}, got {found:,}: it {cut}; copy all three again"
        )


def _side_file(path: Path, columns: int, names: list[str], pd: Any) -> Any:
    try:
        frame = pd.read_csv(path, sep=r"\s+", header=None, dtype=str, na_filter=False, engine="c")
    except Exception as error:  # the parser raises many kinds
        raise UnreadableInput(f"{path}: not a readable PLINK file ({' '.join(str(error).split())[:120]})") from None
    if frame.shape[1] < columns:
        raise UnreadableInput(f"{path}: expected {columns} columns, got {frame.shape[1]}; is it PLINK's?")
    return frame.iloc[:, : len(names)].set_axis(names, axis=1)
