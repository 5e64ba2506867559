"""`variegate report`: rewrite the report of a saved model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from ..comparison import Frontier
from ..report import write_report
from ..saving import load
from ..selection import Selection
from ..tasks import task_named
from ..writing import fingerprint, new_file, writing
from .files import inputs_of, may_replace
from .messages import Failure, heard_warnings, say


def run_report(model: str, given: str | None, *, overwrite: bool, quiet: bool) -> None:
    """Write the report, with the record and the scores next to the model."""
    path = Path(model)
    out = path.with_name("report.html") if given is None else Path(given)
    beside = [path.with_name(name) for name in ("run.json", "comparison.csv", "frontier.csv")]
    with heard_warnings(quiet), new_file(out, may_replace(out, overwrite), [*inputs_of([model]), *beside]) as file:
        loaded, fitted = load(path), fingerprint(path)
        about = _beside(beside[0], lambda found: _record(found, fitted))
        scores = _beside(beside[1], _scores)
        points = _beside(beside[2], lambda found: _frontier(found, loaded.selection_))
        with writing(out):
            write_report(file, loaded, about=about, comparison=scores, frontier=points)
    say(f"open {out}", quiet)


def _beside(path: Path, read: Callable[[Path], Any]) -> Any:
    """Read a file that may stand beside the model."""
    if not path.is_file():
        return None
    try:
        return read(path)
    except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        why = f"{path}: not readable ({error}); move it to write the report without it"
        raise Failure(why) from error


def _record(path: Path, model: str | None) -> dict[str, Any]:
    """Read the record of the run that made this model; older records do not name their model."""
    found = json.loads(path.read_text("utf-8"))
    if found.get("model", model) != model:
        raise ValueError("it is the record of another model")
    return {**found, **{name: dict(found.get(name) or {}) for name in ("data", "settings", "versions")}}


def _scores(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"value": float})[["repeat", "method", "metric", "value"]]


def _frontier(path: Path, selection: Selection) -> Frontier:
    columns = ["method", "diversity", "size", "accuracy", "error", "log det", "largest |r|", "positions"]
    points = pd.read_csv(path, dtype={"positions": str})[columns]
    points["positions"] = [tuple(map(int, positions.split("; "))) for positions in points["positions"]]
    if any(position < 0 for positions in points["positions"] for position in positions):
        raise ValueError("positions must not be negative")
    points["names"] = [tuple(selection.column_names[list(positions)]) for positions in points["positions"]]
    return Frontier(points, pd.DataFrame(), task_named(selection.task).accuracy, selection.task)
