"""Column names given by the caller, checked against the headers before any cell is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..messages import counted
from .errors import UnreadableInput, did_you_mean
from .raw import Source


@dataclass(frozen=True)
class ColumnNames:
    """Column names in the table, in the second table (outcomes, `outcome_id`), or in either (`always_include`)."""

    outcomes: list[str]
    id_column: str | None
    outcome_id: str | None
    always_include: list[str]
    categorical: list[str]
    drop: list[str]

    @classmethod
    def of(
        cls, outcome: Any, id_column: Any, outcome_id: Any, always_include: Any, categorical: Any, drop: Any
    ) -> ColumnNames:
        """Take one name or several, as text or (in data frames) as numbers."""
        return cls(
            _several(outcome, "outcome"),
            _name(id_column, "id_column"),
            _name(outcome_id, "outcome_id"),
            _several(always_include, "always_include"),
            _several(categorical, "categorical"),
            _several(drop, "drop"),
        )

    @property
    def words(self) -> set[str]:
        """Columns that are read as text: "00" and "0" are two codes."""
        given = (*self.categorical, self.id_column)
        return {name for name in given if name is not None and name not in self.outcomes}

    def check(self, where: str, known: Collection[str], second: Source | None) -> None:
        """Reject names that neither the table (`known`) nor the second table has."""
        check_known(where, known, self.drop, "a column to drop")
        self._check_outcomes(second is not None)
        check_known(where, known, _some(self.id_column), "an id column")
        if second is None:
            check_known(where, known, self.outcomes, "an outcome column")
        else:
            self._check_second(where, known, second)
        beside = () if second is None else second.columns
        elsewhere = {*self.outcomes, *beside}
        here = [name for name in self.categorical if name not in elsewhere]
        check_known(where, known, here, "a categorical column")
        for name in self.always_include:
            self._check_included(where, known, beside, name)

    def joined(self, known: Collection[str], second: Collection[str]) -> list[str]:
        """Return the columns of the second table that become features: always included, and only found there."""
        return [name for name in self.always_include if name not in known and name in second]

    def _check_outcomes(self, elsewhere: bool) -> None:
        """Reject an outcome that holds ids or is left out; with `elsewhere` it is in the second table."""
        here: dict[str, list[Any]] = {"drop": self.drop, "id_column": [self.id_column]}
        taken = {"outcome_id": [self.outcome_id]} if elsewhere else here
        for option, names in taken.items():
            for name in names:
                if name in self.outcomes:
                    said = f": '{name}' belongs to the outcome; give another column"
                    raise UnreadableInput(f"{option}{said}")

    def _check_second(self, where: str, known: Collection[str], second: Source) -> None:
        check_known(second.where, second.columns, _some(self.outcome_id), "an id column")
        check_known(second.where, second.columns, self.outcomes, "an outcome column")
        for name in self.outcomes:
            if name in known and name not in self.drop:  # it would be a feature that predicts itself
                raise UnreadableInput(
                    f"{where}: expected the outcome '{name}' in {second.where} only, but this table has such "
                    f"a column too; leave it out by drop=[{name!r}], or give no outcome_table"
                )

    def _check_included(self, where: str, known: Collection[str], beside: Collection[str], name: str) -> None:
        taken = {*self.drop, *self.outcomes, self.id_column}
        if name in taken:
            raise UnreadableInput(f"always_include: '{name}' is the outcome, holds ids or is left out; give others")
        either = [other for other in (*known, *beside) if other not in taken]
        category = name.partition("=")[0]  # one of its columns: "sex=f"
        if name not in either and (category == name or category not in either):
            raise UnreadableInput(
                f"always_include: there is no feature called '{name}' in {where}"
                f"{' or the second table' if beside else ''}, which has {either[:8]}{did_you_mean(name, either)}"
            )


def check_known(where: str, known: Collection[str], names: str | Collection[str], what: str) -> None:
    """Reject columns that do not exist, and list those that do."""
    present = set(known)
    unknown = [name for name in ([names] if isinstance(names, str) else names) if name not in present]
    if unknown:
        others = f" ({counted(len(unknown), 'such name')})" if len(unknown) > 1 else ""
        raise UnreadableInput(
            f"{where}: expected {what} '{unknown[0]}', found {list(known)[:8]}"
            f"{did_you_mean(unknown[0], known) or '; check the name'}{others}"
        )


def _some(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _name(name: Any, option: str) -> str | None:
    """Return a column's name as text (in data frames it may be a number)."""
    if isinstance(name, bool) or not (name is None or isinstance(name, str | int | np.integer)):
        raise ValueError(f"{option} must be the name of a column, got {name!r}")
    return None if name is None else str(name)


def _several(names: Any, option: str) -> list[str]:
    """Return one name or several as a list."""
    some = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    return [name for name in (_name(name, option) for name in some) if name is not None]
