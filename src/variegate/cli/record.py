"""run.json: what was run on which data, enough to repeat it exactly."""

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
from .outcomes import outcome_name

INPUTS = ("table", "outcome_table", "network", "coordinates", "groups", "costs")
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas")


def run_record(command: str, options: Mapping[str, Any], data: Input) -> dict[str, Any]:
    """Record everything known before the fit.

    Keys: command, settings, data {path, rows, columns, hash, outcome, task, classes, constant, notes}, inputs {path:
    hash}, versions, platform, seed, started. `variegate select --config run.json` runs the settings again.
    """
    settings = {name: value for name, value in options.items() if name not in NOT_SETTINGS}
    hashes = {str(settings[name]): fingerprint(settings[name]) for name in INPUTS if settings.get(name)}
    path = str(settings["table"])
    return {
        "command": shlex.join(["variegate", command, *sys.argv[2:]]) if sys.argv[1:2] == [command] else command,
        "settings": settings,
        "data": {
            "path": path,
            "rows": len(data.y),
            "columns": data.X.shape[1],
            "hash": hashes[path],
            "outcome": outcome_name(settings),
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
    """Return the number of samples of each class, or None if there are no classes."""
    if data.task != "classification":
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


def unlike_before(about: Mapping[str, Any], config: str | None) -> list[str]:
    """List the inputs that cannot be read again or that differ from those in `config`.

    A file may have a different path than in the run.json that is repeated, but not different contents.
    """
    pipes = [path for path, found in about["inputs"].items() if found is None and not Path(path).is_dir()]
    said = [f"{path} can be read only once; this run cannot be repeated from its record" for path in pipes]
    if config is None or not config.endswith(".json"):
        return said
    before = json.loads(Path(config).read_text("utf-8"))
    for name in INPUTS:
        now, then = (_hash(record, name) for record in (about, before))
        if now and then and now != then:
            what = "the data differ" if name == "table" else f"--{name.replace('_', '-')} differs"
            said.append(f"{what} from the run being repeated: {about['settings'][name]} has changed")
    return said


def _hash(record: Mapping[str, Any], name: str) -> str | None:
    """Return the hash of an input in a record, or None; the record may be malformed."""
    settings, inputs = record.get("settings"), record.get("inputs")
    if not isinstance(settings, Mapping) or not isinstance(inputs, Mapping):
        return None
    return inputs.get(str(settings.get(name)))


def as_json(value: Any) -> str:
    """Serialise to strict JSON; non-finite numbers become null."""
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
