"""Results on stdout: a table for people, tab-separated text for programs, or JSON."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import click
import pandas as pd

from ..comparison import MEASURES
from ..data import shortened
from ..messages import counted
from ..run import Run
from ..tables import csv_text, enough_in_words
from ..tasks import task_named
from ..writing import as_json
from .messages import is_terminal, one_line, say

NAMED = 12  # members of a panel in a message


def show_selection(run: Run, out: Path, json: bool) -> None:
    """Show the selected features with their probabilities and coefficients."""
    table = run.found.selection
    chosen = table[table["selected"]]
    if json:
        click.echo(as_json(selection_summary(run, chosen, out)))
        return
    title = counted(len(run.selection.chosen), "selected feature")
    show_table(chosen.drop(columns=["selected", "rank"]), title)


def panel_lines(run: Run) -> list[str]:
    """Say what to measure, what that loses, and how many would be enough."""
    selection, found = run.selection, run.found
    panel = selection.chosen_panel
    if not panel.members:
        return []
    names = [shortened(name) for name in panel.members]
    more = f", … ({len(names) - NAMED} more)" if len(names) > NAMED else ""
    lost = panel.among.summary(panel.features)
    limits = f"90% limits {lost['lost_low']:.1%} to {lost['lost_high']:.1%}"
    return [
        f"measure {counted(len(names), 'feature')}: {', '.join(names[:NAMED])}{more}",
        f"a rule on them alone loses {lost['lost']:.1%} of what the model predicts ({limits})",
        enough_in_words(len(names), found.enough, int(found.curve["size"].max())),
    ]


def show_comparison(comparison: Any, quiet: bool) -> None:
    """Show accuracy and diversity of the methods: a table on a terminal, else a line each on stderr."""
    accuracy = task_named(comparison.task).accuracy
    found, splits = comparison.summary(), comparison.selections["repeat"].nunique()
    names = {name: MEASURES[name] for name in (accuracy, "log det", "largest |r|", "stability") if name in found}
    title = f"Methods on the same {counted(splits, 'split')}: mean ± sd"
    if is_terminal(sys.stdout):
        show_table(found[list(names)].rename(columns=names).reset_index(), title)
        return
    for method, row in found[list(names)].iterrows():
        said = "; ".join(f"{name} {_shown(row[column])}" for column, name in names.items())
        say(f"{method}: {said}", quiet)


def selection_summary(run: Run, chosen: pd.DataFrame, out: Path) -> dict[str, Any]:
    """Return what `--json` prints: the selection, the paths of the files, and the diagnostics."""
    return {
        "selected": chosen.drop(columns="selected").to_dict("records"),
        "panel": panel_summary(run),
        "groups": run.found.groups.to_dict("records"),
        "alternatives": run.found.alternatives.to_dict("records"),
        "comparison": None if run.comparison is None else run.comparison.statistics().to_dict("records"),
        "frontier": None if run.frontier is None else frontier_summary(run.frontier),
        "diagnostics": run.record["diagnostics"],
        "certificate": run.record.get("certificate"),
        "out": str(out),
        "report": str(out / "report.html"),
        "data": {**run.record["data"], "notes": list(run.notes)},
        "seconds": run.record["seconds"],
        "warnings": run.record["warnings"],
    }


def panel_summary(run: Run) -> dict[str, Any]:
    """Return what to measure: members, rule, what it loses, and what other sizes and members lose."""
    panel, found = run.selection.chosen_panel, run.found
    tables = {"rule": found.rule, "stand_ins": found.stand_ins, "curve": found.curve, "frontier": run.sizes}
    return {
        "members": panel.members,
        **panel.among.summary(panel.features),
        "size_enough": found.enough,
        **{name: table.to_dict("records") for name, table in tables.items()},
    }


def printable(text: str) -> str:
    r"""Replace control characters other than tabs and newlines, so that names cannot change the terminal.

    >>> printable("a" + chr(27) + "[2J" + chr(10))
    'a?[2J\n'
    """
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "?", text)


def frontier_summary(frontier: Any) -> dict[str, Any]:
    """Return all points and the recommended one."""
    return {
        "points": frontier.points.to_dict("records"),
        "recommended": frontier.recommended().to_dict(),
        "sentence": frontier.sentence(),
    }


def show_table(table: pd.DataFrame, title: str) -> None:
    """Show a framed table on a terminal, tab-separated text elsewhere."""
    if not is_terminal(sys.stdout):
        click.echo(printable(csv_text(table, sep="\t", float_format="%.6g")), nl=False)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    framed = Table(title=title, title_justify="left")
    for name, kind in zip(table.columns, table.dtypes, strict=True):
        framed.add_column(Text(one_line(str(name)).replace("_", " ")), justify="left" if kind == object else "right")  # noqa: E721
    for row in table.itertuples(index=False):
        framed.add_row(*(Text(_shown(value)) for value in row))  # as Text: names may look like markup
    Console().print(framed)


def _shown(value: Any) -> str:
    """Format a cell; undefined values (stability of one split, |r| of one feature) become a dash."""
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.3g}"
    return one_line(str(value))
