"""`variegate report`: the page of a model that was fitted before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from ..saving import load
from .files import new_file
from .messages import Failure, heard_warnings, say


def run_report(options: Mapping[str, Any]) -> None:
    """Write the page, with what lies beside the model."""
    write_report = import_module("variegate.report").write_report  # templates and charts: only here

    path = Path(options["model"])
    out = path.with_name("report.html") if options["out"] is None else Path(options["out"])
    about, comparison = _beside(path, "run.json"), path.with_name("comparison.csv")
    with heard_warnings(options["quiet"]), new_file(out, options["overwrite"]) as file:
        table = pd.read_csv(comparison) if comparison.is_file() else None
        write_report(file, load(path), about=about, comparison=table)
    say(f"open {out}", options["quiet"])


def _beside(model: Path, name: str) -> dict[str, Any] | None:
    path = model.with_name(name)
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise Failure(f"{path}: not readable ({error}); move it away to write the page without it") from error
    return found
