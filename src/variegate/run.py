"""A finished run: what was found and how, and the folder with all of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from .comparison import Comparison, Frontier
from .estimators import DiverseSelector
from .report import write_report
from .saving import save
from .selection import Selection
from .tables import Findings, csv_text, findings, frontier_table
from .writing import as_json, fingerprint, new_folder, writing

FILES = (
    "panel.csv", "panel_curve.csv", "panel_frontier.csv", "stand_ins.csv", "selection.csv", "groups.csv",
    "alternatives.csv", "comparison.csv", "comparison_wide.csv", "frontier.csv",
    "model.vg", "report.html", "run.json",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted model with what was found beside it, which can be written as a folder of results.

    Parameters
    ----------
    model : a fitted estimator
    notes : sentences for the page and the record
    comparison, frontier : results of `compare` and `frontier`
    record : further facts for run.json, as for `write_report(about=)`

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import variegate as vg
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> run = vg.Run(vg.DiverseRegressor(random_state=0).fit(X, X[:, 1]), notes=["a test"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.write(f"{folder}/found")
    ...     sorted(path.name for path in Path(folder, "found").glob("*.*"))[-3:]
    ['run.json', 'selection.csv', 'stand_ins.csv']
    """

    model: DiverseSelector
    notes: Collection[str] = ()
    comparison: Comparison | None = None
    frontier: Frontier | None = None
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def selection(self) -> Selection:
        """What the fit found."""
        return self.model.selection_

    @cached_property
    def found(self) -> Findings:
        """The tables of the model, and its diagnostics."""
        return findings(self.model)

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """Panels of several sizes and diversities."""
        return frontier_table(self.model)

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write tables, model, page and record into a folder, all or none.

        With `overwrite`, results of an earlier run are replaced; other files in the folder are kept.
        """
        with new_folder(Path(folder), FILES, overwrite) as work, writing(Path(folder)):
            self.fill(work)

    def fill(self, folder: Path) -> None:
        """Write all files into an existing folder."""
        for name, table in self._tables():
            (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8")
        save(self.model, folder / "model.vg")
        data = dict(self.record.get("data") or {})
        about = {**self.record, "data": {**data, "notes": list(self.notes)}, "model": fingerprint(folder / "model.vg")}
        write_report(
            folder / "report.html", self.model, about=about, frontier=self.frontier, found=self.found,
            comparison=None if self.comparison is None else self.comparison.table,
        )  # fmt: skip
        (folder / "run.json").write_text(as_json(about) + "\n", encoding="utf-8")

    def _tables(self) -> Iterator[tuple[str, pd.DataFrame]]:
        found = self.found
        yield from (("panel", found.rule), ("panel_curve", found.curve), ("stand_ins", found.stand_ins))
        yield from (("panel_frontier", self.sizes), ("selection", found.selection), ("groups", found.groups))
        table = found.alternatives.copy()
        for column in ("features", "added", "removed"):
            table[column] = ["; ".join(map(str, names)) for names in table[column]]
        for column in ("within", "between"):
            table[column] = ["; ".join(f"{gone} -> {come}" for gone, come in pairs) for pairs in table[column]]
        yield "alternatives", table
        if self.comparison is not None:
            yield from (("comparison", self.comparison.table), ("comparison_wide", self.comparison.wide()))
        if self.frontier is not None:
            points = self.frontier.points
            joined = points["positions"].map(lambda positions: "; ".join(map(str, positions)))
            yield "frontier", points.assign(positions=joined, names=points["names"].map("; ".join))
