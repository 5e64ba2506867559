"""PLINK's binary genotypes: .bed with its .bim and .fam."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..data import UnreadableInput, check_names, optional, read_individuals, read_variants, variant_names
from ..types import IntArray
from .protocol import Block, Work, blocks_of, here

MAGIC = b"\x6c\x1b\x01"


@dataclass(frozen=True, eq=False)
class Genotypes:
    """Allele counts (0, 1, 2) in a .bed file, decoded block by block; two bits per genotype on disk."""

    path: Path
    names: npt.NDArray[Any]  # (M,) of the variants
    samples: npt.NDArray[Any]  # (N,) of the individuals
    chromosomes: npt.NDArray[Any]  # (M,)
    positions: npt.NDArray[np.int64]  # (M,) base pairs

    @property
    def shape(self) -> tuple[int, int]:
        """(N, M)."""
        return len(self.samples), len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers as read; NaN if missing."""
        return np.dtype(np.float32)

    @cached_property
    def _bed(self) -> Any:
        bed_reader = optional("bed_reader", "genotypes")
        return bed_reader.open_bed(self.path, iid_count=self.shape[0], sid_count=self.shape[1], properties={})

    def columns(self, S: IntArray) -> npt.NDArray[Any]:
        """Return some variants (N, |S|), NaN if missing."""
        return np.ascontiguousarray(self._bed.read(np.s_[:, S], dtype="float32"))

    def over_columns(self, work: Work) -> Iterator[tuple[slice, Any]]:
        """Make one pass, in blocks of variants."""
        return here(self.groups, self.read, work)

    @property
    def groups(self) -> list[list[Block]]:
        """Blocks of variants, which are contiguous in the file."""
        return blocks_of(self.shape)

    def read(self, block: Block) -> npt.NDArray[Any]:
        """Read the numbers of a block."""
        found = self._bed.read(np.s_[block.rows, block.columns], dtype="float32", order="F", num_threads=1)
        return np.asarray(found)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_bed"}


def open_genotypes(path: str | Path) -> Genotypes:
    """Open a .bed file with its .bim and .fam."""
    path = Path(path)
    _check_exists(path)
    bim, fam = read_variants(path.with_suffix(".bim")), read_individuals(path.with_suffix(".fam"))
    _check_size(path, len(fam), len(bim))
    return Genotypes(
        path,
        names=variant_names(bim, path.with_suffix(".bim")),
        samples=_samples(fam, path.with_suffix(".fam")),
        chromosomes=bim["chromosome"].to_numpy(dtype=object),
        positions=bim["position"].to_numpy(dtype=np.int64),
    )


def _samples(fam: pd.DataFrame, path: Path) -> npt.NDArray[Any]:
    """Return the names of the individuals, with the family's name if two families use the same."""
    if fam["sample"].duplicated().any():
        together = (fam["family"] + "_" + fam["sample"]).to_numpy(dtype=object)
        check_names(together.tolist(), str(path), "individuals")
        return np.asarray(together)
    return np.asarray(fam["sample"], dtype=object)


def _check_exists(path: Path) -> None:
    for name in (path, path.with_suffix(".bim"), path.with_suffix(".fam")):
        if not name.is_file():
            raise UnreadableInput(
                f"{name}: expected a file, found none; a .bed file needs its .bim and .fam next to it"
            )
    with open(path, "rb") as file:
        magic = file.read(3)
    if magic != MAGIC:
        older = magic[:2] == MAGIC[:2]
        what = "genotypes by individual; rewrite it with plink --make-bed" if older else "no PLINK binary file"
        raise UnreadableInput(f"{path}: expected genotypes by variant, got {what}")


def _check_size(path: Path, n: int, m: int) -> None:
    """Check the size of the file, which follows from the numbers of individuals and variants."""
    expected, found = 3 + m * (-(-n // 4)), path.stat().st_size
    if found != expected:
        why = "it is truncated" if found < expected else "they do not belong together"
        raise UnreadableInput(
            f"{path}: expected {expected:,} bytes for the {n:,} individuals of {path.with_suffix('.fam').name} and "
            f"the {m:,} variants of {path.with_suffix('.bim').name}, got {found:,}: {why}; copy all three again"
        )
