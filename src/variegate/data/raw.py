"""A table before its cells are interpreted: what every format is read into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import UnreadableInput
from .text import shortened

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?"]


@dataclass(frozen=True)
class RawTable:
    """A table before its cells are interpreted.

    frame : the main table of the source; column names are unique
    where : the name of the source in error messages
    ids : the rows' ids, if they are known
    beside : further columns about the samples (AnnData's obs, vectors in an .npz), same rows
    """

    frame: pd.DataFrame
    where: str
    ids: tuple[str, ...] | None = None
    beside: pd.DataFrame | None = None

    @property
    def columns(self) -> list[str]:
        """Names of all columns, those of `beside` first."""
        return [*(() if self.beside is None else map(str, self.beside.columns)), *self.frame.columns]

    def read(self, words: Collection[str] | None = ()) -> RawTable:
        """Return itself: only text files are read in two steps."""
        return self

    def column(self, name: str) -> pd.Series:
        """Return a column of the main table, or else of `beside`."""
        return self.frame[name] if self.beside is None or name in self.frame.columns else self.beside[name]

    def without(self, names: Collection[str]) -> RawTable:
        """Return the table without some columns.

        >>> RawTable(pd.DataFrame({"a": [1], "b": [2]}), "t").without(["a"]).columns
        ['b']
        """
        inside = set(names) & set(self.frame.columns)  # columns of `beside` are not features anyway
        return replace(self, frame=self.frame.drop(columns=list(inside))) if inside else self

    def rows(self, rows: npt.NDArray[np.intp]) -> RawTable:
        """Return some rows of the main table with their ids."""
        ids = None if self.ids is None else tuple(self.ids[i] for i in rows)
        return RawTable(self.frame.iloc[rows].reset_index(drop=True), self.where, ids)

    def place(self, row: int) -> str:
        """Return the place of a row for error messages: file and sample, or row below the header."""
        return f"{self.where}, " + (f"row {row + 1}" if self.ids is None else f"sample '{shortened(self.ids[row])}'")


class Source(Protocol):
    """A table whose column names are known and whose cells may not have been read yet."""

    @property
    def where(self) -> str:
        """Its name in error messages."""

    @property
    def columns(self) -> list[str]:
        """Names of its columns, those outside the main table first."""

    def read(self, words: Collection[str] | None = ()) -> RawTable:
        """Return the table. In text files the first column and those in `words` (None: all) are read as text."""


def check_names(names: Sequence[str], where: str, what: str) -> None:
    """Reject names that occur twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        positions = ", ".join([str(i + 1) for i, name in enumerate(names) if name == twice[0]][:5])
        more = f" ({len(twice)} such names)" if len(twice) > 1 else ""
        raise UnreadableInput(
            f"{where}: expected {what} with different names, but '{shortened(twice[0])}' is the name of numbers "
            f"{positions}{more}; rename or drop one"
        )
