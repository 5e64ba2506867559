"""run.json: what was run on what, enough to repeat it exactly."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .files import fingerprint
from .inputs import Input
from .options import NOT_SETTINGS

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "skglm")


def run_record(command: str, options: Mapping[str, Any], data: Input) -> dict[str, Any]:
    """All that is known before the fit; `finished` adds the rest.

    Keys: command, settings, data {path, rows, columns, hash, outcome, task, classes, constant, notes}, inputs {path:
    hash}, versions, platform, seed, started. `variegate select --config run.json` runs the settings again.
    """
    settings = {name: value for name, value in options.items() if name not in NOT_SETTINGS}
    files = [settings.get(name) for name in ("table", "outcome_table", "network", "coordinates", "groups")]
    hashes = {str(path): fingerprint(path) for path in files if path}
    path = str(settings["table"])
    return {
        "command": shlex.join(["variegate", command, *sys.argv[2:]]) if sys.argv[1:2] == [command] else command,
        "settings": settings,
        "data": {
            "path": path,
            "rows": len(data.y),
            "columns": data.X.shape[1],
            "hash": hashes[path],
            "outcome": settings["outcome"],
            "task": data.task,
            "classes": class_counts(data),
            "constant": len(data.table.report.constant),
            "notes": list(data.notes),
        },
        "inputs": hashes,
        "versions": {"variegate": __version__, "python": platform.python_version(), **_versions()},
        "platform": platform.platform(),
        "seed": settings["seed"],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def class_counts(data: Input) -> dict[str, int] | None:
    """How many samples each class has; None in regression."""
    if data.task == "regression":
        return None
    names, counts = np.unique(data.y, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def earlier_hash(config: str | None) -> str | None:
    """The data's hash in the run.json that a run repeats."""
    if config is None or not config.endswith(".json"):
        return None
    data = json.loads(Path(config).read_text("utf-8")).get("data", {})
    return data.get("hash") if isinstance(data, dict) else None


def as_json(value: Any) -> str:
    """JSON that every reader takes: numbers that are not finite become null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
