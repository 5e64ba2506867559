"""`variegate report`: rewrite the report of a saved model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..comparison import Frontier
from ..saving import load
from ..selection import Selection
from ..tasks import task_named
from .files import fingerprint, inputs_of, new_file, writing
from .messages import Failure, heard_warnings, say


def run_report(options: Mapping[str, Any]) -> None:
    """Write the report, with the record and the scores next to the model."""
    from ..report import write_report  # slow to import

    path = Path(options["model"])
    out = path.with_name("report.html") if options["out"] is None else Path(options["out"])
    beside = [path.with_name(name) for name in ("run.json", "comparison.csv", "frontier.csv")]
    inputs = [*inputs_of(options), *beside]
    with heard_warnings(options["quiet"]), new_file(out, options["overwrite"], inputs) as file:
        model = load(path)
        record, scores, points = beside
        about = _record(record, fingerprint(path))
        compared, traded = _scores(scores), _frontier(points, model.selection_)
        with writing(out):
            write_report(file, model, about=about, comparison=compared, frontier=traded)
    say(f"open {out}", options["quiet"])


def _record(path: Path, model: str | None) -> dict[str, Any] | None:
    """Read the record of the run that made this model; older records do not name their model."""
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise _strange(path, f"not readable ({error})") from error
    parts = (
        [found.get(name) or {} for name in ("data", "settings", "versions")] if isinstance(found, dict) else [found]
    )
    if not all(isinstance(part, dict) for part in parts):
        raise _strange(path, "not the record of a run")
    if found.get("model", model) != model:
        raise _strange(path, "the record of another model")
    return dict(found)


def _scores(path: Path) -> pd.DataFrame | None:
    if not path.is_file():
        return None
    try:
        found = pd.read_csv(path, dtype={"value": float})
    except ValueError as error:
        raise _strange(path, f"not readable ({error})") from error
    if not {"repeat", "method", "metric", "value"} <= set(found):
        raise _strange(path, "not the scores of a comparison")
    return found


def _frontier(path: Path, selection: Selection) -> Frontier | None:
    if not path.is_file():
        return None
    wanted = {"method", "diversity", "size", "accuracy", "error", "log det", "largest |r|", "positions"}
    try:
        points = pd.read_csv(path, dtype={"positions": str})
        if not wanted <= set(points):
            raise _strange(path, "not the points of a frontier")
        points["positions"] = [tuple(map(int, positions.split("; "))) for positions in points["positions"]]
        if any(position < 0 for positions in points["positions"] for position in positions):
            raise _strange(path, "not the points of a frontier")
        points["names"] = [tuple(selection.column_names[list(positions)]) for positions in points["positions"]]
    except (ValueError, IndexError, AttributeError) as error:
        raise _strange(path, f"not readable ({error})") from error
    return Frontier(points, pd.DataFrame(), task_named(selection.task).accuracy, selection.task)


def _strange(path: Path, what: str) -> Failure:
    return Failure(f"{path}: {what}; move it to write the report without it")
