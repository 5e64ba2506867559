"""The record of a run: what was run on which data, enough to repeat it exactly."""

from __future__ import annotations

import json
import platform
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..settings import Settings, files_of
from ..writing import fingerprint
from .inputs import Input

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas")


def run_record(settings: Settings, data: Input) -> dict[str, Any]:
    """Record everything known before the fit.

    Keys: command, settings, data {path, rows, columns, hash, outcome, task, classes, constant}, inputs {path: hash},
    versions, platform, seed, started. `variegate select --config run.json` runs the settings again.
    """
    hashes = {path: fingerprint(path) for path in settings.files().values()}
    return {
        "command": shlex.join(["variegate", "select", *_as_typed(settings)]),
        "settings": asdict(settings),
        "data": {
            "path": settings.table,
            "rows": len(data.y),
            "columns": data.X.shape[1],
            "hash": hashes[settings.table],
            "outcome": settings.outcome_name,
            "task": data.task,
            "classes": _class_counts(data),
            "constant": len(data.table.report.constant),
        },
        "inputs": hashes,
        "versions": {"variegate": __version__, "python": platform.python_version(), **_versions()},
        "platform": platform.platform(),
        "seed": settings.seed,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _as_typed(settings: Settings) -> Iterator[str]:
    """Yield the words of the command: the table, and the options that are not at their defaults."""
    yield settings.table
    for field in fields(Settings)[1:]:
        value = getattr(settings, field.name)
        if value != field.default:
            yield f"--{field.name.replace('_', '-')}"
            if isinstance(value, tuple):
                yield ",".join(name.replace(",", ",,") for name in value)
            elif value is not True:
                yield str(value)


def _class_counts(data: Input) -> dict[str, int] | None:
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


def unlike_before(record: Mapping[str, Any], config: str | None) -> list[str]:
    """List the inputs that cannot be read again or that differ from those in `config`.

    A file may have a different path than in the run.json that is repeated, but not different contents.
    """
    pipes = [path for path, found in record["inputs"].items() if found is None and not Path(path).is_dir()]
    said = [f"{path} can be read only once; this run cannot be repeated from its record" for path in pipes]
    if config is None or not config.endswith(".json"):
        return said
    now, then = _hashes(record), _hashes(json.loads(Path(config).read_text("utf-8")))
    for name, path in files_of(record["settings"]).items():
        if now[name] and then.get(name) and now[name] != then[name]:
            what = "the data differ" if name == "table" else f"--{name} differs"
            said.append(f"{what} from the run being repeated: {path} has changed")
    return said


def _hashes(record: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the hashes of the inputs in a record by what they are; the record may be malformed."""
    settings, inputs = record.get("settings"), record.get("inputs")
    if not isinstance(settings, Mapping) or not isinstance(inputs, Mapping):
        return {}
    return {name: inputs.get(path) for name, path in files_of(settings).items()}
